//! [`Key`]: hash of everything that determines the result of a run, by content.
//!
//! A run is a pure function of machine, workload, scheduler, configuration and seed, and of the code that computes it.
//! [`CODE`] is the hash of that code: whole crates, without comments and tests (`crates/run/build/code_hash.rs`).

use std::fmt;
use std::io;
use std::str::FromStr;

use fairground_machine::Machine;
use fairground_sim::Config;
use fairground_workload::Workload;
use xxhash_rust::xxh3::Xxh3;

use crate::experiment::Experiment;

/// Hash of the code that computes runs, 32 hex digits. With other code, the same run has another key.
pub const CODE: &str = env!("FAIRGROUND_CODE");

/// Identifies a run: equal keys have equal results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u128);

impl Key {
    /// The key of the run that these parts describe, computed by this code.
    pub fn of_parts(parts: &[&[u8]]) -> Key {
        let mut hash = Xxh3::new();
        for part in [CODE.as_bytes()].iter().chain(parts) {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Key(hash.digest128())
    }

    /// The key as bytes, least significant first.
    pub fn bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// The key of these bytes; none if they are not 16.
    pub fn from_bytes(bytes: &[u8]) -> Option<Key> {
        Some(Key(u128::from_le_bytes(bytes.try_into().ok()?)))
    }
}

/// A key is written as 32 hex digits.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Key, String> {
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let key = digits.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        key.map(Key).ok_or_else(|| format!("{text:?} is not a key: expected 32 hex digits"))
    }
}

/// Hash of a machine's content, sources of its figures included, 32 hex digits.
pub fn machine_hash(machine: &Machine) -> String {
    content_hash(&machine.to_toml())
}

/// Hash of what a workload's threads do, 32 hex digits. Its name, the spelling of its options, does not count.
pub fn workload_hash(workload: &Workload) -> String {
    // Plain data with string keys: there is nothing that could fail.
    content_hash(&serde_json::to_string(&nameless(workload)).unwrap_or_default())
}

fn content_hash(content: &str) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(content.as_bytes()))
}

fn nameless(workload: &Workload) -> Workload {
    Workload { name: String::new(), ..workload.clone() }
}

/// Identifies a scheduler of an experiment, without the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnKey(Key);

impl ColumnKey {
    /// The key of the scheduler at `sched`. It hashes the content of machine, workload and configuration. The name of a
    /// workload (its file's name, or the spelling of its options) does not count. Our own scheduler counts by its name
    /// and its features, a kernel by its name and the content of its library.
    ///
    /// # Errors
    /// If the library cannot be read.
    pub fn of(experiment: &Experiment, sched: usize) -> io::Result<ColumnKey> {
        let spec = &experiment.scheds[sched];
        let config = Config { seed: 0, ..experiment.config };
        let content = match spec.features() {
            Some(features) => format!("{features:?}"),
            None => format!("library {:032x}", spec.library_digest()?),
        };
        let parts = [
            experiment.machine.to_toml(),
            serde_json::to_string(&nameless(&experiment.workload))?,
            serde_json::to_string(&config)?,
            spec.to_string(),
            content,
        ];
        Ok(ColumnKey(Key::of_parts(&parts.each_ref().map(|part| part.as_bytes()))))
    }

    /// The key of runs that cannot be made, for this reason.
    #[cfg(unix)]
    pub(crate) fn of_impossible(spec: &str, reason: &str) -> ColumnKey {
        ColumnKey(Key::of_parts(&[b"impossible", spec.as_bytes(), reason.as_bytes()]))
    }

    /// The key of the run with this seed.
    pub fn with(self, seed: u64) -> Key {
        Key::of_parts(&[&self.0.bytes(), &seed.to_le_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::sched_spec::SchedSpec;

    fn experiment(workload: &str, sched: SchedSpec) -> Experiment {
        let machine = Machine::preset("hikey").unwrap();
        let workload = Workload::find(workload, &machine).unwrap().0;
        let (machine, workload) = (Arc::new(machine), Arc::new(workload));
        let (config, workers) = Default::default();
        Experiment { machine, workload, scheds: vec![sched], config, workers }
    }

    fn fair(workload: &str, sched: &str) -> Experiment {
        experiment(workload, sched.parse().unwrap())
    }

    fn key(experiment: &Experiment) -> Key {
        ColumnKey::of(experiment, 0).unwrap().with(1)
    }

    #[test]
    fn all_that_determines_a_run_is_in_its_key() {
        let plain = fair("sched-pipe:loops=10", "fair:v5.9");
        let config = Config { hz: 100, ..Default::default() };
        let keys = BTreeSet::from([
            key(&plain),
            ColumnKey::of(&plain, 0).unwrap().with(2),
            key(&fair("sched-pipe:loops=11", "fair:v5.9")),
            key(&fair("sched-pipe:loops=10", "fair:v5.9+asym-prev-first")),
            key(&plain.with_machine(|m| m.costs.rescale(2.0))),
            key(&Experiment { config, ..fair("sched-pipe:loops=10", "fair:v5.9") }),
        ]);
        assert_eq!(keys.len(), 6);
        let renamed = fair("sched-pipe:loops=10", "fair:v5.9");
        let renamed = renamed.with_workload(Workload { name: "x.json".into(), ..Workload::clone(&renamed.workload) });
        assert_eq!(key(&plain), key(&renamed));
        let seeded =
            Experiment { config: Config { seed: 9, ..Default::default() }, ..fair("sched-pipe:loops=10", "fair:v5.9") };
        assert_eq!(key(&plain), key(&seeded), "the seed of the configuration is replaced by that of each run");
    }

    #[test]
    fn a_kernel_counts_by_the_content_of_its_library() {
        let kernel = |content: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            io::Write::write_all(&mut file, content).unwrap();
            key(&experiment("sched-pipe:loops=10", SchedSpec::of_library("linux:mine", file, None)))
        };
        assert_eq!(kernel(b"one build"), kernel(b"one build"));
        assert_ne!(kernel(b"one build"), kernel(b"another"));
    }

    #[test]
    fn a_key_is_read_as_it_is_written() {
        let key = Key::of_parts(&[b"a", b"b"]);
        assert_eq!(key.to_string().parse(), Ok(key));
        assert_eq!(Key::from_bytes(&key.bytes()), Some(key));
        assert_ne!(key, Key::of_parts(&[b"ab", b""]));
        for bad in ["", "+1", "zz", &"0".repeat(33), "é".repeat(16).as_str()] {
            assert!(bad.parse::<Key>().is_err(), "{bad}");
        }
    }
}

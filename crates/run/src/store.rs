//! Results of runs, kept as they are made: a command that is killed begins again where it was.
//!
//! A run is a pure function of machine, workload, scheduler, circumstances and seed, and of the code that computes it.
//! All of these make its [`Key`]; what it gave is one file, `HH/HASH` by the key's hash, below the directory of the
//! code. A file gets its name when it is whole. Its first line is a checksum of the rest: what was damaged since is
//! told, and the run is made again.
//!
//! Failures of runs are results too: the same code would fail again.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use miette::Diagnostic;
use nix::errno::Errno;
use nix::sys::signal;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use xxhash_rust::xxh3::{xxh3_128, Xxh3};

use crate::batch::RunReport;
use crate::experiment::Experiment;

/// Hash of the sources that a run's figures come from.
const CODE: &str = env!("FAIRGROUND_CODE");

/// Ends the names of files that are being written; in front of it stands who does.
const UNFINISHED: &str = ".part";

/// A result is written in far less; what was last written to longer ago is nobody's work.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A directory of results.
#[derive(Clone, Debug)]
pub struct Store {
    /// Of this code.
    dir: PathBuf,
}

/// Why there is no store.
#[derive(Debug, Error, Diagnostic)]
#[error("cannot keep results in {path}: {cause}")]
#[diagnostic(help("name another directory with --store DIR, or keep nothing with --no-store"))]
pub struct StoreError {
    path: String,
    cause: io::Error,
}

/// All that determines what a run gives, hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u128);

/// A scheduler of an experiment, without seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnKey(u128);

/// A result on record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Of what, for people.
    pub what: String,
    /// How long the run took, ns of wall time; no part of any result.
    pub wall_ns: u64,
    /// What it gave, or why it failed.
    pub outcome: Result<RunReport, String>,
}

/// What a store has of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// Its result.
    Whole(Kept),
    /// Nothing.
    Nothing,
    /// A file that is not as it was written: which, and what is wrong.
    Damaged(String),
}

impl ColumnKey {
    /// Of the scheduler at `sched`. None for a kernel: its code is not ours, and it may end by limits of time.
    pub fn of(experiment: &Experiment, sched: usize) -> Option<ColumnKey> {
        let spec = &experiment.scheds[sched];
        let features = spec.features().filter(|_| !experiment.workers.always)?;
        let circumstances = fairground_sim::Config { seed: 0, ..experiment.config };
        let parts = [
            experiment.machine.to_toml(),
            // Plain structs of integers and strings: there is nothing that could fail.
            serde_json::to_string(&*experiment.workload).unwrap_or_else(|e| unreachable!("{e}")),
            serde_json::to_string(&circumstances).unwrap_or_else(|e| unreachable!("{e}")),
            format!("{spec} {features:?}"),
        ];
        let mut hash = Xxh3::new();
        for part in parts {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        Some(ColumnKey(hash.digest128()))
    }

    /// With a seed.
    pub fn with(self, seed: u64) -> Key {
        Key(xxh3_128(&[&self.0.to_le_bytes()[..], &seed.to_le_bytes()].concat()))
    }
}

impl Store {
    /// The results in `dir` that this code has made; the directory is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made or written to.
    pub fn open(dir: &Path) -> Result<Store, StoreError> {
        let store = Store { dir: dir.join(CODE) };
        let tried = fs::create_dir_all(&store.dir).and_then(|()| {
            // Whether one may write here is known before hours of runs, not after.
            let probe = store.dir.join(format!("{}{UNFINISHED}", std::process::id()));
            fs::write(&probe, "")?;
            fs::remove_file(probe)
        });
        tried.map_err(|cause| StoreError { path: dir.display().to_string(), cause })?;
        store.sweep();
        Ok(store)
    }

    /// Removes what processes began to write that are gone. One in another container, or on another machine with the same
    /// directory, cannot be asked for; so what has been written to of late stays.
    fn sweep(&self) {
        let below =
            |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect::<Vec<_>>();
        for file in below(&self.dir).iter().flat_map(|dir| below(dir)) {
            let name = file.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(UNFINISHED));
            let writer = name.and_then(|n| n.rsplit('.').next()).and_then(|pid| pid.parse().ok());
            if writer.is_some_and(|pid| signal::kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH))
                && is_abandoned(&file)
            {
                // It is garbage: if it stays, it stays.
                let _ = fs::remove_file(file);
            }
        }
    }

    fn path(&self, key: Key) -> PathBuf {
        let name = format!("{:032x}", key.0);
        self.dir.join(&name[..2]).join(name)
    }

    /// What is on record.
    pub fn get(&self, key: Key) -> Found {
        let path = self.path(key);
        let damaged = |what: &str| Found::Damaged(format!("{}: {what}", path.display()));
        match fs::read_to_string(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Found::Nothing,
            Err(e) => damaged(&e.kind().to_string()),
            Ok(text) => match text.split_once('\n') {
                Some((sum, body)) if sum == checksum(body) => match serde_json::from_str(body) {
                    Ok(kept) => Found::Whole(kept),
                    Err(e) => damaged(&format!("not understood: {e}")),
                },
                _ => damaged("its checksum is another"),
            },
        }
    }

    /// Puts a result on record.
    ///
    /// # Errors
    /// If it cannot be written; what was on record before stays.
    pub fn put(&self, key: Key, what: &str, took: Duration, outcome: &Result<RunReport, String>) -> io::Result<()> {
        let wall_ns = took.as_nanos() as u64;
        let kept = Kept { what: what.into(), wall_ns, outcome: outcome.clone() };
        let body = serde_json::to_string(&kept)? + "\n";
        let path = self.path(key);
        // Threads never make the same run twice at once, processes might.
        let part = path.with_extension(format!("{}{UNFINISHED}", std::process::id()));
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mut file = fs::File::create(&part)?;
        let written = write!(file, "{}\n{body}", checksum(&body)).and_then(|()| fs::rename(&part, &path));
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written
    }
}

fn checksum(body: &str) -> String {
    format!("{:032x}", xxh3_128(body.as_bytes()))
}

fn is_abandoned(file: &Path) -> bool {
    let written = fs::metadata(file).and_then(|m| m.modified());
    written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fairground_machine::Machine;
    use fairground_workload::Workload;

    use std::time::SystemTime;

    use super::*;

    fn experiment(workload: &str, sched: &str) -> Experiment {
        let machine = Machine::preset("hikey").unwrap();
        let workload = Workload::find(workload, &machine).unwrap().0;
        let (machine, workload) = (Arc::new(machine), Arc::new(workload));
        let (config, workers) = Default::default();
        Experiment { machine, workload, scheds: vec![sched.parse().unwrap()], config, workers }
    }

    fn key(experiment: &Experiment) -> Key {
        ColumnKey::of(experiment, 0).unwrap().with(1)
    }

    fn report() -> Result<RunReport, String> {
        Ok(RunReport { metrics: vec![], hash: u128::MAX - 5, notes: vec!["a note".into()] })
    }

    #[test]
    fn all_that_determines_a_run_is_in_its_key() {
        let plain = experiment("sched-pipe:loops=10", "fair:v5.9");
        let mut keys = vec![
            key(&plain),
            ColumnKey::of(&plain, 0).unwrap().with(2),
            key(&experiment("sched-pipe:loops=11", "fair:v5.9")),
            key(&experiment("sched-pipe:loops=10", "fair:v5.9+asym-prev-first")),
            key(&plain.with_machine(|m| m.costs.rescale(2.0))),
            key(&Experiment {
                config: fairground_sim::Config { hz: 100, ..Default::default() },
                ..experiment("sched-pipe:loops=10", "fair:v5.9")
            }),
        ];
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 6);
        let seeded = Experiment {
            config: fairground_sim::Config { seed: 9, ..Default::default() },
            ..experiment("sched-pipe:loops=10", "fair:v5.9")
        };
        assert_eq!(key(&plain), key(&seeded), "the seed of the circumstances is replaced by that of each run");
    }

    #[test]
    fn a_result_comes_back_as_it_was_put() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let took = Duration::from_millis(3);
        for outcome in [report(), Err("task 7 lost".into())] {
            store.put(Key(7), "a run", took, &outcome).unwrap();
            let what = "a run".into();
            assert_eq!(store.get(Key(7)), Found::Whole(Kept { what, wall_ns: 3_000_000, outcome }));
        }
        assert_eq!(store.get(Key(8)), Found::Nothing);
    }

    #[test]
    fn what_was_damaged_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        store.put(Key(7), "a run", Duration::ZERO, &report()).unwrap();
        let path = store.path(Key(7));
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        for bad in [&whole[..whole.len() / 2], &whole[..10], &[], &flipped, &[0xff; 40]] {
            fs::write(&path, bad).unwrap();
            let Found::Damaged(words) = store.get(Key(7)) else { panic!("{} bytes pass", bad.len()) };
            assert!(words.contains(&path.display().to_string()), "{words}");
        }
    }

    /// A process that is gone left half a file; another one is at work on its own; a third cannot be seen from here.
    #[test]
    fn what_nobody_writes_any_more_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        store.put(Key(7), "a run", Duration::ZERO, &report()).unwrap();
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let file = |pid: u32| store.path(Key(7)).with_extension(format!("{pid}{UNFINISHED}"));
        let (left, in_work) = (file(gone.id()), file(std::process::id()));
        let unseen = left.with_file_name(format!("other.{}{UNFINISHED}", gone.id()));
        [&left, &in_work, &unseen].into_iter().for_each(|path| fs::write(path, "half").unwrap());
        let long_ago = SystemTime::now() - 2 * ABANDONED;
        for path in [&left, &in_work] {
            fs::File::options().append(true).open(path).unwrap().set_modified(long_ago).unwrap();
        }
        let store = Store::open(dir.path()).unwrap();
        assert_eq!((left.exists(), in_work.exists(), unseen.exists()), (false, true, true));
        assert!(matches!(store.get(Key(7)), Found::Whole(_)));
    }

    #[test]
    fn a_place_that_cannot_be_written_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let error = Store::open(&dir.path().join("file")).unwrap_err();
        assert!(error.to_string().contains("file"), "{error}");
    }
}

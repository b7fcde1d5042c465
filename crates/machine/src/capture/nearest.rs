//! Chooses the preset that lends the figures that sysfs does not give.

use crate::error::MachineError;
use crate::{presets, Machine};

use super::kinds::Isa;

/// What is compared of two machines.
pub(super) struct Traits {
    pub isa: Option<Isa>,
    /// Names of the kinds of cores, where they are known.
    pub cores: Vec<String>,
    pub is_asymmetric: bool,
    pub has_smt: bool,
    pub top_khz: Option<u32>,
    pub has_nodes: bool,
    /// Whether clusters are a level of their own.
    pub has_clusters: bool,
    /// Number of last-level caches.
    pub nr_llcs: usize,
    pub nr_cpus: usize,
}

impl Traits {
    fn from_machine(machine: &Machine) -> Traits {
        Traits {
            isa: Isa::from_machine(machine),
            cores: machine.cpu_types.iter().map(|of| of.name.clone()).collect(),
            is_asymmetric: machine.is_asymmetric(),
            has_smt: machine.has_smt(),
            top_khz: (0..machine.nr_cpus() as u32).map(|cpu| machine.max_khz(cpu)).max(),
            has_nodes: machine.nodes.len() > 1,
            has_clusters: machine.clusters.iter().any(|cluster| cluster.shares_cache),
            nr_llcs: machine.llcs.len(),
            nr_cpus: machine.nr_cpus(),
        }
    }

    /// How far a preset is, most important first: costs belong to a core and its clock, so what a core is comes before
    /// what the machine around it looks like. What is not known of the captured machine says nothing.
    fn distance(&self, preset: &Traits) -> [u32; 9] {
        let differ = |differs: bool| u32::from(differs);
        let has = |name: &&String| preset.cores.iter().any(|known| known.eq_ignore_ascii_case(name));
        let foreign = self.cores.iter().filter(|name| !has(name)).count();
        [
            foreign as u32,
            differ(self.isa.is_some() && self.isa != preset.isa),
            differ(self.is_asymmetric != preset.is_asymmetric),
            differ(self.has_smt != preset.has_smt),
            ratio(self.top_khz.or(preset.top_khz), preset.top_khz),
            differ(self.has_nodes != preset.has_nodes),
            differ(self.has_clusters != preset.has_clusters),
            ratio(Some(self.nr_cpus as u32), Some(preset.nr_cpus as u32)),
            ratio(Some(self.nr_llcs as u32), Some(preset.nr_llcs as u32)),
        ]
    }

    fn words(&self) -> String {
        let number_of_nodes = if self.has_nodes { "several nodes" } else { "one node" };
        let mut words = vec![
            if self.cores.is_empty() { "cores of unknown name".into() } else { self.cores.join(" + ") },
            self.isa.map_or("unknown architecture", Isa::name).into(),
            if self.is_asymmetric { "asymmetric" } else { "symmetric" }.into(),
            if self.has_smt { "SMT" } else { "no SMT" }.into(),
            self.top_khz.map_or("unknown clock".into(), |khz| format!("{} MHz", khz / 1000)),
            number_of_nodes.into(),
        ];
        words.extend(self.has_clusters.then(|| "clusters below the cache".into()));
        let caches = if self.nr_llcs == 1 { "last-level cache" } else { "last-level caches" };
        words.extend([format!("{} CPUs", self.nr_cpus), format!("{} {caches}", self.nr_llcs)]);
        words.join(", ")
    }
}

/// The greater over the lesser, in eighths.
fn ratio(a: Option<u32>, b: Option<u32>) -> u32 {
    let (a, b) = (a.unwrap_or(1).max(1), b.unwrap_or(1).max(1));
    (8 * u64::from(a.max(b)) / u64::from(a.min(b))).min(u64::from(u32::MAX)) as u32
}

/// The nearest preset and why it is: that of the least distance, compared from the first number on; of several, the
/// first of the list.
pub(super) fn nearest(captured: &Traits) -> Result<(Machine, String), MachineError> {
    let machines = presets().map(Machine::preset).collect::<Result<Vec<_>, _>>()?;
    let chosen = machines.into_iter().min_by_key(|preset| captured.distance(&Traits::from_machine(preset)));
    let preset = chosen.ok_or_else(|| MachineError::Unknown { name: String::new(), help: "no preset".into() })?;
    let why = format!(
        "the nearest preset: this machine is {}; that is {}",
        captured.words(),
        Traits::from_machine(&preset).words()
    );
    Ok((preset, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of which nothing is known but what a virtual one shows.
    fn unknown() -> Traits {
        Traits {
            isa: None,
            cores: Vec::new(),
            is_asymmetric: false,
            has_smt: false,
            top_khz: None,
            has_nodes: false,
            has_clusters: false,
            nr_llcs: 1,
            nr_cpus: 4,
        }
    }

    fn core(name: &str) -> Traits {
        Traits { cores: vec![name.into()], ..unknown() }
    }

    #[test]
    fn every_preset_is_nearest_to_itself() {
        for name in presets() {
            let its = Traits::from_machine(&Machine::preset(name).expect("a preset"));
            let found = nearest(&its).expect("a preset").0;
            assert_eq!(found.name, name);
        }
    }

    #[test]
    fn what_a_core_is_outweighs_what_is_around_it() {
        let captured = Traits { isa: Some(Isa::Arm64), nr_cpus: 96, has_nodes: true, ..core("Cortex-A76") };
        let [same_core, same_isa, same_size] = [
            core("Cortex-A76"),
            Traits { isa: Some(Isa::Arm64), ..core("Cortex-A53") },
            Traits { isa: Some(Isa::X86), nr_cpus: 96, has_nodes: true, ..core("Zen2") },
        ];
        let distances = [same_core, same_isa, same_size].map(|preset| captured.distance(&preset));
        assert!(distances.is_sorted(), "{distances:?}");
    }

    #[test]
    fn what_is_unknown_says_nothing() {
        let slow = Traits { top_khz: Some(1_000_000), isa: Some(Isa::Arm64), ..unknown() };
        let fast = Traits { top_khz: Some(3_000_000), isa: Some(Isa::X86), ..unknown() };
        assert_eq!(unknown().distance(&slow), unknown().distance(&fast));
        let clocked = Traits { top_khz: Some(2_900_000), ..unknown() };
        assert!(clocked.distance(&fast) < clocked.distance(&slow));
    }
}

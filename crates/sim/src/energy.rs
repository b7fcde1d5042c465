//! Energy, by who takes it and what for.
//!
//! Sums are whole nW x ns (attojoules), so that they do not depend on the order of adding: parts add up to the whole,
//! and the pieces of a run that is cut in two to the run.

use fairground_machine::Machine;

/// nW x ns in one joule.
const PER_J: f64 = 1e18;

/// Energy in nW x ns.
pub type Energy = i128;

/// As joules.
pub fn joules(energy: Energy) -> f64 {
    energy as f64 / PER_J
}

/// Energy of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuEnergy {
    /// Running, in overhead, entering and leaving idle.
    pub active: Energy,
    /// In each idle state that the hardware was in.
    pub idle: Vec<Energy>,
    /// Of entries and exits, beyond power x time.
    pub transitions: Energy,
}

impl CpuEnergy {
    /// None yet, for so many idle states.
    pub fn new(nr_states: usize) -> Self {
        CpuEnergy { idle: vec![0; nr_states], ..CpuEnergy::default() }
    }

    /// All of it.
    pub fn sum(&self) -> Energy {
        self.active + self.idle.iter().sum::<Energy>() + self.transitions
    }

    fn since(&self, earlier: &Self) -> Self {
        CpuEnergy {
            active: self.active - earlier.active,
            idle: minus(&self.idle, &earlier.idle),
            transitions: self.transitions - earlier.transitions,
        }
    }
}

/// Energy of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnergyBook {
    /// By CPU.
    pub cpus: Vec<CpuEnergy>,
    /// Static energy, by cluster.
    pub clusters: Vec<Energy>,
    /// Static energy of supplies, by frequency domain.
    pub supplies: Vec<Energy>,
}

impl EnergyBook {
    /// All of it.
    pub fn sum(&self) -> Energy {
        let cpus: Energy = self.cpus.iter().map(CpuEnergy::sum).sum();
        cpus + self.clusters.iter().chain(&self.supplies).sum::<Energy>()
    }

    /// Of running CPUs.
    pub fn active(&self) -> Energy {
        self.cpus.iter().map(|c| c.active).sum()
    }

    /// Of idle CPUs.
    pub fn idle(&self) -> Energy {
        self.cpus.iter().flat_map(|c| &c.idle).sum()
    }

    /// Of entering and leaving idle states.
    pub fn transitions(&self) -> Energy {
        self.cpus.iter().map(|c| c.transitions).sum()
    }

    /// What was added since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        EnergyBook {
            cpus: self.cpus.iter().zip(&earlier.cpus).map(|(a, b)| a.since(b)).collect(),
            clusters: minus(&self.clusters, &earlier.clusters),
            supplies: minus(&self.supplies, &earlier.supplies),
        }
    }

    /// The energy that is taken at each CPU: its own, and what is static of the clusters and supplies whose first CPU it
    /// is.
    pub fn by_cpu(&self, machine: &Machine) -> Vec<Energy> {
        let mut all: Vec<Energy> = self.cpus.iter().map(CpuEnergy::sum).collect();
        let clusters = machine.clusters.iter().map(|c| c.cpus).zip(&self.clusters);
        let supplies = machine.freq_domains.iter().map(|d| d.cpus).zip(&self.supplies);
        for (cpus, energy) in clusters.chain(supplies) {
            if let Some(first) = cpus.first() {
                all[first as usize] += energy;
            }
        }
        all
    }

    /// By rail, see [`Machine::rails`].
    pub fn by_rail(&self, machine: &Machine) -> Vec<Energy> {
        let by_cpu = self.by_cpu(machine);
        let sum = |cpus: fairground_machine::CpuMask| cpus.iter().map(|cpu| by_cpu[cpu as usize]).sum();
        machine.rails().into_iter().map(|(_, cpus)| sum(cpus)).collect()
    }
}

fn minus(a: &[Energy], b: &[Energy]) -> Vec<Energy> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

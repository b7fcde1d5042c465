//! Energy, by consumer and purpose.
//!
//! Sums are whole nW x ns (attojoules), so that they do not depend on the order of adding: parts add up to the whole,
//! and the pieces of a run that is cut in two to the run.

use fairground_machine::{CpuId, CpuMask, Machine};

/// nW x ns in one joule.
const PER_J: f64 = 1e18;

/// Energy in nW x ns.
pub type Energy = i128;

/// Converts an [`Energy`] to joules.
pub fn joules(energy: Energy) -> f64 {
    energy as f64 / PER_J
}

/// Energy of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuEnergy {
    /// Running, in overhead, entering and leaving idle.
    pub active: Energy,
    /// In idle states of the hardware, by index of the state.
    pub idle: Vec<Energy>,
    /// Of entries and exits, beyond power x time.
    pub transitions: Energy,
}

impl CpuEnergy {
    /// All zero, for a CPU with `nr_states` idle states.
    pub fn new(nr_states: usize) -> Self {
        CpuEnergy { idle: vec![0; nr_states], ..CpuEnergy::default() }
    }

    /// Sum of all parts.
    pub fn sum(&self) -> Energy {
        self.active + self.idle.iter().sum::<Energy>() + self.transitions
    }

    fn add(&mut self, other: &Self) {
        self.active += other.active;
        self.idle.resize(self.idle.len().max(other.idle.len()), 0);
        self.idle.iter_mut().zip(&other.idle).for_each(|(sum, idle)| *sum += idle);
        self.transitions += other.transitions;
    }

    fn since(&self, earlier: &Self) -> Self {
        CpuEnergy {
            active: self.active - earlier.active,
            idle: minus(&self.idle, &earlier.idle),
            transitions: self.transitions - earlier.transitions,
        }
    }
}

/// For what energy is consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EnergyPart {
    /// Running, in overhead, entering and leaving idle.
    Active,
    /// In the idle state of this index.
    Idle(u8),
    /// Entries and exits of idle states, beyond power x time.
    Transitions,
    /// Clusters and supplies, whatever their CPUs do.
    Static,
}

/// Energy of a rail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RailEnergy {
    /// Energy of the rail's CPUs.
    pub cpus: CpuEnergy,
    /// Static, of the clusters and supplies whose first CPU is on it.
    pub fixed: Energy,
}

impl RailEnergy {
    /// Sum of all parts.
    pub fn sum(&self) -> Energy {
        self.cpus.sum() + self.fixed
    }

    /// Energy by purpose; idle states that the rail does not have are missing.
    pub fn parts(&self) -> Vec<(EnergyPart, Energy)> {
        let idle = (0..=u8::MAX).map(EnergyPart::Idle).zip(self.cpus.idle.iter().copied());
        let rest = [(EnergyPart::Transitions, self.cpus.transitions), (EnergyPart::Static, self.fixed)];
        std::iter::once((EnergyPart::Active, self.cpus.active)).chain(idle).chain(rest).collect()
    }
}

/// Energy of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnergyBook {
    /// Energy of each CPU, by id.
    pub cpus: Vec<CpuEnergy>,
    /// Static energy, by cluster.
    pub clusters: Vec<Energy>,
    /// Static energy of supplies, by frequency domain.
    pub supplies: Vec<Energy>,
}

impl EnergyBook {
    /// Sum of all parts.
    pub fn sum(&self) -> Energy {
        let cpus: Energy = self.cpus.iter().map(CpuEnergy::sum).sum();
        cpus + self.clusters.iter().chain(&self.supplies).sum::<Energy>()
    }

    /// Energy of CPUs that run, are in overhead, or enter or leave idle.
    pub fn active(&self) -> Energy {
        self.cpus.iter().map(|c| c.active).sum()
    }

    /// Energy of CPUs in idle states, without that of entering and leaving them.
    pub fn idle(&self) -> Energy {
        self.cpus.iter().flat_map(|c| &c.idle).sum()
    }

    /// Energy of entries and exits of idle states, beyond power x time.
    pub fn transitions(&self) -> Energy {
        self.cpus.iter().map(|c| c.transitions).sum()
    }

    /// What was added since `earlier`, an older state of the same sums.
    pub fn since(&self, earlier: &Self) -> Self {
        EnergyBook {
            cpus: self.cpus.iter().zip(&earlier.cpus).map(|(a, b)| a.since(b)).collect(),
            clusters: minus(&self.clusters, &earlier.clusters),
            supplies: minus(&self.supplies, &earlier.supplies),
        }
    }

    /// The energy that is taken at each CPU: its own, and what is static of the clusters and supplies whose first CPU
    /// it is.
    pub fn by_cpu(&self, machine: &Machine) -> Vec<Energy> {
        let mut all: Vec<Energy> = self.cpus.iter().map(CpuEnergy::sum).collect();
        self.fixed(machine).for_each(|(cpu, energy)| all[cpu as usize] += energy);
        all
    }

    /// The energy by rail, see [`Machine::rails`].
    pub fn by_rail(&self, machine: &Machine) -> Vec<RailEnergy> {
        let of_rail = |(_, cpus): (&str, CpuMask)| {
            let mut rail = RailEnergy::default();
            cpus.iter().for_each(|cpu| rail.cpus.add(&self.cpus[cpu as usize]));
            rail.fixed = self.fixed(machine).filter(|(cpu, _)| cpus.test(*cpu)).map(|(_, energy)| energy).sum();
            rail
        };
        machine.rails().into_iter().map(of_rail).collect()
    }

    /// Static energy of each cluster and supply, and the first CPU of it.
    fn fixed<'a>(&'a self, machine: &'a Machine) -> impl Iterator<Item = (CpuId, Energy)> + 'a {
        let clusters = machine.clusters.iter().map(|c| c.cpus).zip(&self.clusters);
        let supplies = machine.freq_domains.iter().map(|d| d.cpus).zip(&self.supplies);
        clusters.chain(supplies).filter_map(|(cpus, energy)| Some((cpus.first()?, *energy)))
    }
}

fn minus(a: &[Energy], b: &[Energy]) -> Vec<Energy> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

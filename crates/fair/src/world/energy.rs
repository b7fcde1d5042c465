//! Energy models and performance domains: what an energy-aware wakeup goes by (spec 1.11 and 8.2).
//!
//! A partition has performance domains if, and only if, wakeups in it may be energy-aware: its capacities differ, no CPU
//! has a sibling thread, schedutil sets every clock, and the power of every operating point is known.

use fairground_machine::{CpuMask, FreqDomain, Machine, Opp};

use super::World;
use crate::ffi::*;
use crate::storage::Slab;
use crate::topology::Topology;

/// What the performance domains of all partitions consist of.
pub(super) struct EnergyModels {
    opps: Slab<FgOpp>,
    ems: Slab<FgEm>,
    pds: Slab<FgPd>,
}

impl EnergyModels {
    pub fn none() -> EnergyModels {
        EnergyModels { opps: Slab::new(Vec::new()), ems: Slab::new(Vec::new()), pds: Slab::new(Vec::new()) }
    }
}

impl World {
    /// schedutil is there: builds the performance domains of the partitions that may have some.
    pub fn start_energy_awareness(&mut self, machine: &Machine, topology: &Topology) {
        self.build_models(machine);
        let eligible = (0..topology.partitions().len()).filter(|root| self.may_be_aware(machine, *root));
        // The list of a partition grows at its head, from its first CPU to its last.
        let members: Vec<_> = eligible.flat_map(|root| clocks_of(machine, &self.roots[root].span, root)).collect();
        self.energy.pds = Slab::new(members.iter().map(|_| FgPd::zeroed()).collect());
        for (id, (root, domain)) in members.iter().enumerate() {
            let pd = self.energy.pds.ptr(id);
            self.energy.pds[id] = FgPd { em: self.energy.ems.ptr(*domain), next: self.roots[*root].pd };
            self.roots[*root].pd = pd;
        }
        self.sys_mut().eas = u32::from(!members.is_empty());
    }

    fn may_be_aware(&self, machine: &Machine, root: usize) -> bool {
        let span = &self.roots[root].span;
        let asymmetric = span.iter().any(|cpu| !self.cpus[cpu as usize].sd_asym_cpucapacity.is_null());
        let known = machine.freq_domains.iter().filter(|d| d.cpus.intersects(span)).all(is_known);
        asymmetric && !machine.has_smt() && known
    }

    /// One model a clock, in the machine's order.
    fn build_models(&mut self, machine: &Machine) {
        let opp = |o: &Opp| FgOpp { khz: o.khz, power: o.model_uw(), ..FgOpp::zeroed() };
        let domains = &machine.freq_domains;
        self.energy.opps = Slab::new(domains.iter().flat_map(|d| d.opps.iter().map(opp)).collect());
        self.energy.ems = Slab::new(domains.iter().map(|_| FgEm::zeroed()).collect());
        let mut first = 0;
        for (id, domain) in domains.iter().enumerate() {
            let em = &mut self.energy.ems[id];
            (em.opps, em.nr_opps, em.span) = (self.energy.opps.ptr(first), domain.opps.len() as u32, domain.cpus);
            first += domain.opps.len();
        }
    }
}

/// A partition and each of the clocks of its CPUs, by first CPU.
fn clocks_of(machine: &Machine, span: &CpuMask, root: usize) -> Vec<(usize, usize)> {
    let mut clocks: Vec<usize> = Vec::new();
    for cpu in span.iter() {
        let clock = machine.cpus[cpu as usize].freq_domain as usize;
        if !clocks.contains(&clock) {
            clocks.push(clock);
        }
    }
    clocks.into_iter().map(|clock| (root, clock)).collect()
}

fn is_known(domain: &FreqDomain) -> bool {
    domain.opps.iter().all(|o| o.model_uw() > 0)
}

//! Energy models and performance domains, which energy-aware wakeups read (spec 1.11 and 8.2).
//!
//! A partition has performance domains if, and only if, wakeups in it may be energy-aware: its capacities differ, there
//! is no SMT, schedutil sets every clock, and the power of every operating point is known.

use fairground_machine::{CpuMask, FreqDomain, Machine, Opp};

use super::slabs::World;
use crate::ffi::*;
use crate::storage::Slab;
use crate::topology::Topology;

/// EM_MAX_COMPLEXITY: up to v6.6 a partition of greater complexity gets no performance domains.
const MAX_COMPLEXITY: usize = 2048;

impl World {
    /// Builds the energy models, and the performance domains of the partitions that may have them. Called once
    /// schedutil sets the clocks.
    pub fn start_energy_awareness(&mut self, machine: &Machine, topology: &Topology) {
        self.build_models(machine);
        let eligible = (0..topology.partitions().len()).filter(|root| self.may_be_aware(machine, *root));
        // As in build_perf_domains(): walks a partition from its first CPU to its last and adds to the list's head.
        let members: Vec<_> = eligible.flat_map(|root| clocks_of(machine, &self.roots[root].span, root)).collect();
        self.energy.pds = Slab::new(members.iter().map(|_| FgPd::zeroed()).collect());
        for (id, (root, domain)) in members.iter().enumerate() {
            let pd = self.energy.pds.ptr(id);
            self.energy.pds[id] = FgPd { em: self.energy.ems.ptr(*domain), next: self.roots[*root].pd };
            self.roots[*root].pd = pd;
        }
        self.sys_mut().eas = u32::from(!members.is_empty());
    }

    /// The energy models of the performance domains of a CPU's partition, in the list's order.
    pub fn models(&self, cpu: usize) -> Vec<(CpuMask, Vec<FgOpp>)> {
        let mut models = Vec::new();
        // SAFETY: link_cpus points it at a root of the slab.
        let mut at = unsafe { &*self.cpus[cpu].rd }.pd.cast_const();
        while let Some(id) = self.energy.pds.index_of(at) {
            let Some(em) = self.energy.ems.index_of(self.energy.pds[id].em).map(|em| &self.energy.ems[em]) else {
                break;
            };
            let first = self.energy.opps.index_of(em.opps).unwrap_or(0);
            let opps = (first..first + em.nr_opps as usize).map(|opp| self.energy.opps[opp].clone());
            models.push((em.span, opps.collect()));
            at = self.energy.pds[id].next;
        }
        models
    }

    fn may_be_aware(&self, machine: &Machine, root: usize) -> bool {
        let span = &self.roots[root].span;
        let domains: Vec<_> = machine.freq_domains.iter().filter(|d| d.cpus.intersects(span)).collect();
        let known = domains.iter().all(|d| is_known(d));
        let simple = !self.has(FG_EAS_COMPLEXITY) || complexity(span, &domains) <= MAX_COMPLEXITY;
        self.is_asymmetric(span) && !machine.has_smt() && known && simple
    }

    fn is_asymmetric(&self, span: &CpuMask) -> bool {
        let asked = if self.has(FG_EAS_FIRST_CPU) { 1 } else { span.count() };
        span.iter().take(asked).any(|cpu| !self.cpus[cpu as usize].sd_asym_cpucapacity.is_null())
    }

    fn has(&self, feature: usize) -> bool {
        self.sys().feat.value[feature] != 0
    }

    /// One model for each clock, in the machine's order.
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
            let orig = domain.cpus.first().map_or(0, |cpu| machine.cpus[cpu as usize].capacity);
            self.em_init(id, orig);
        }
    }
}

/// Pairs of the partition `root` and a clock of its CPUs, by first CPU.
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

/// The number of performance domains times the number of operating points and CPUs.
fn complexity(span: &CpuMask, domains: &[&FreqDomain]) -> usize {
    let opps: usize = domains.iter().map(|d| d.opps.len()).sum();
    domains.len() * (opps + span.count())
}

fn is_known(domain: &FreqDomain) -> bool {
    domain.opps.iter().all(|o| o.model_uw() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Features, Options};

    /// A world with schedutil; `change` edits it before its performance domains are built.
    fn started(machine: &Machine, scheduler: &str, change: impl FnOnce(&mut World)) -> World {
        let features = Features::parse(scheduler).unwrap();
        let topology = Topology::new(machine, &features, &Options::default()).unwrap();
        let mut world = World::new(machine, &features, &topology);
        change(&mut world);
        world.start_energy_awareness(machine, &topology);
        world
    }

    fn is_aware(machine: &Machine, scheduler: &str) -> bool {
        started(machine, scheduler, |_| {}).sys().eas != 0
    }

    fn hikey960() -> Machine {
        Machine::preset("hikey960").unwrap()
    }

    #[test]
    fn the_clock_of_the_last_cpu_comes_first() {
        let world = started(&hikey960(), "v6.12", |_| {});
        let of = |pd: *mut FgPd| world.energy.pds.index_of(pd).map(|id| &world.energy.pds[id]);
        let first = of(world.roots[0].pd).unwrap();
        let second = of(first.next).unwrap();
        assert!(second.next.is_null());
        let span = |pd: &FgPd| world.energy.ems[world.energy.ems.index_of(pd.em).unwrap()].span;
        assert_eq!([span(first).to_string(), span(second).to_string()], ["4-7", "0-3"]);
    }

    #[test]
    fn the_fastest_operating_point_has_all_of_the_capacity() {
        let machine = hikey960();
        let world = started(&machine, "v6.12", |_| {});
        let mut last = 0;
        for domain in &machine.freq_domains {
            last += domain.opps.len();
            let capacity = machine.cpus[domain.cpus.first().unwrap() as usize].capacity;
            assert_eq!(world.energy.opps[last - 1].performance, capacity);
            assert_eq!(world.energy.opps[last - 1].inefficient, 0);
        }
        let complete = |o: &FgOpp| o.cost > 0 && o.performance > 0;
        assert!((0..last).all(|id| complete(&world.energy.opps[id])));
    }

    #[test]
    fn too_many_operating_points_were_too_much_up_to_v66() {
        let mut machine = hikey960();
        assert!(is_aware(&machine, "v6.3"));
        // Two clocks: 2 * (points + 8 CPUs) is at most 2048.
        let of_big = 1016 - machine.freq_domains[0].opps.len();
        let opps = &mut machine.freq_domains[1].opps;
        let fastest = opps[opps.len() - 1].clone();
        opps.resize(of_big, fastest.clone());
        assert!(is_aware(&machine, "v6.3"));
        machine.freq_domains[1].opps.push(fastest);
        assert!(!is_aware(&machine, "v6.3"));
        assert!(is_aware(&machine, "v6.7"));
        assert!(is_aware(&machine, "v6.3-eas-complexity"));
    }

    #[test]
    fn up_to_v66_the_first_cpu_speaks_for_its_partition() {
        let without = |cpu: usize| move |w: &mut World| w.cpus[cpu].sd_asym_cpucapacity = std::ptr::null_mut();
        let aware = |scheduler, cpu| started(&hikey960(), scheduler, without(cpu)).sys().eas != 0;
        assert!(!aware("v6.3", 0));
        assert!(aware("v6.3", 1));
        assert!(aware("v6.7", 0));
    }

    #[test]
    fn what_is_symmetric_or_of_unknown_power_is_not_aware() {
        assert!(!is_aware(&Machine::symmetric(4), "v6.12"));
        let mut machine = hikey960();
        machine.freq_domains[0].opps[0].active_mw = 0.0;
        assert!(!is_aware(&machine, "v6.12"));
    }
}

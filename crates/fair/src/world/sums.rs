//! Sums over the CPUs of groups (`fg_group.sums`), updated instead of computed again at each balance pass.
//!
//! A pass over all nodes of a large machine, or over the CPUs of a large cache, reads every CPU, although hardly any has
//! changed since the last pass. So
//! [`Cpus`](super::cpus::Cpus) marks the run queues that were touched. Before a pass those are read once, and the
//! difference is added to the sums of their groups. In rings of single CPUs it is then noted what each can be to a pass
//! (`fg_ring`), which looks only at those that may be the busiest. No decision depends on it: `audit_sums` and the tests
//! below check that.

use std::collections::{BTreeMap, BTreeSet};

use fairground_machine::{CpuId, CpuMask};

use super::slabs::{RingGroup, Sums, World};
use crate::ffi::*;
use crate::storage::Slab;

/// For groups of fewer CPUs, reading the CPUs is as fast.
const CPUS_MIN: u32 = 8;
/// In rings of so many single CPUs, what passes read of each fills the host's first cache.
const RING_MIN: usize = 16;

impl World {
    /// Whether the sums of a group in a ring of `nr` groups are kept.
    fn keeps_sums(&self, group: usize, nr: usize) -> bool {
        let weight = self.groups[group].weight;
        weight >= CPUS_MIN || weight == 1 && nr >= RING_MIN
    }

    /// Gives large groups, and CPUs in large rings, their sums. Groups and domains must be linked.
    pub(super) fn link_sums(&mut self) {
        let rings: Vec<Vec<usize>> = (0..self.domains.len()).map(|sd| self.ring(sd).collect()).collect();
        let kept = rings.iter().map(|ring| ring.iter().filter(|g| self.keeps_sums(**g, ring.len())).copied());
        let kept: Vec<Vec<usize>> = kept.map(Iterator::collect).collect();
        let large: BTreeSet<usize> = kept.iter().flatten().copied().collect();
        let mut ids = BTreeMap::<CpuMask, usize>::new();
        for group in &large {
            let next = ids.len();
            ids.entry(self.groups[*group].span).or_insert(next);
        }
        let nr_cpus = self.cpus.len();
        let (rings, in_rings) = self.link_rings(&kept);
        let mut of_cpu = vec![Vec::new(); nr_cpus];
        ids.iter().for_each(|(span, id)| span.iter().for_each(|cpu| of_cpu[cpu as usize].push(*id)));
        self.sums = Sums {
            kept: Slab::new(vec![FgSums::zeroed(); ids.len()]),
            of_cpu: of_cpu.into_iter().map(Vec::into_boxed_slice).collect(),
            own: vec![FgSums::zeroed(); nr_cpus],
            domains: kept.iter().map(|groups| !groups.is_empty()).collect(),
            rings,
            in_rings,
            terms: self.terms(),
        };
        for group in large {
            let id = ids[&self.groups[group].span];
            self.groups[group].sums = self.sums.kept.ptr(id);
        }
    }

    /// Links the domains whose groups are many single CPUs to rings; `kept`: by domain the groups whose sums are kept.
    /// Returns the rings, and by CPU its groups in them.
    fn link_rings(&mut self, kept: &[Vec<usize>]) -> (Slab<FgRing>, Vec<Box<[RingGroup]>>) {
        let mut in_rings = vec![Vec::new(); self.cpus.len()];
        // The rings of groups by their first one, and imbalance_pct, on which classes depend.
        let mut ids = BTreeMap::<(usize, u32), usize>::new();
        let of_domain: Vec<Option<usize>> = (0..self.domains.len())
            .map(|sd| {
                let single = |group: &usize| self.groups[*group].weight == 1;
                let first = kept[sd].iter().min().filter(|_| kept[sd].iter().all(single))?;
                let key = (*first, self.domains[sd].imbalance_pct);
                let next = ids.len();
                let ring = *ids.entry(key).or_insert(next);
                if ring == next {
                    for group in kept[sd].iter().copied() {
                        let of_cpu: &mut Vec<RingGroup> = &mut in_rings[self.groups[group].balance_cpu as usize];
                        let place = FgRingPlace { imbalance_pct: key.1, ..FgRingPlace::zeroed() };
                        of_cpu.push(RingGroup { ring, group, place });
                    }
                }
                Some(ring)
            })
            .collect();
        let mut rings = Slab::new(vec![FgRing::zeroed(); ids.len()]);
        for (cpu, groups) in in_rings.iter().enumerate() {
            for in_ring in groups {
                let ring = &mut rings[in_ring.ring];
                ring.of_class[FG_RING_NONE as usize].set(cpu as CpuId);
                ring.group[cpu] = self.groups.ptr(in_ring.group);
            }
        }
        for (sd, ring) in of_domain.into_iter().enumerate() {
            self.domains[sd].ring = ring.map_or(std::ptr::null_mut(), |ring| rings.ptr(ring));
        }
        (rings, in_rings.into_iter().map(Vec::into_boxed_slice).collect())
    }

    fn terms(&self) -> (u8, u32) {
        (self.sys().uclamp_used, self.sys().eas)
    }

    /// Updates the sums that a pass over `sd` reads.
    pub(super) fn renew_sums(&mut self, sd: usize) {
        if !self.sums.domains[sd] {
            return;
        }
        let terms = self.terms();
        let touched = match terms == self.sums.terms {
            true => self.cpus.take_touched(&self.domains[sd].span),
            false => CpuMask::first_n(self.cpus.len()),
        };
        self.sums.terms = terms;
        for cpu in touched.iter() {
            self.renew_cpu(cpu as usize);
        }
    }

    fn renew_cpu(&mut self, cpu: usize) {
        let now = self.sums_of_cpu(cpu);
        let was = std::mem::replace(&mut self.sums.own[cpu], now.clone());
        for id in &self.sums.of_cpu[cpu] {
            change(&mut self.sums.kept[*id], &was, &now);
        }
        for at in 0..self.sums.in_rings[cpu].len() {
            let place = self.ring_place_of(&self.sums.in_rings[cpu][at], &now);
            let in_ring = &mut self.sums.in_rings[cpu][at];
            let ring = &mut self.sums.rings[in_ring.ring];
            change(&mut ring.sums, &was, &now);
            ring.capacity = ring.capacity + place.capacity - in_ring.place.capacity;
            ring.of_class[in_ring.place.class as usize].clear(cpu as CpuId);
            ring.of_class[place.class as usize].set(cpu as CpuId);
            ring.rank[cpu] = place.rank;
            in_ring.place = place;
        }
    }

    /// Where a CPU with these sums stands in a ring.
    fn ring_place_of(&self, at: &RingGroup, sums: &FgSums) -> FgRingPlace {
        let FgGroup { capacity, imbalance, .. } = self.groups[at.group];
        let mut place = FgRingPlace { capacity: capacity.max(1), imbalance, ..at.place };
        self.ring_place(sums, &mut place);
        place
    }

    fn sums_of_cpu(&self, cpu: usize) -> FgSums {
        let mut sums = FgSums::zeroed();
        self.cpu_sums(cpu, &mut sums);
        sums
    }

    /// Checks that no CPU has changed without being marked as touched, and that the sums are those of their CPUs.
    pub fn audit_sums(&self) -> Result<(), String> {
        let kept = || (0..self.sums.own.len()).filter(|_| self.sums.kept.len() > 0 && self.terms() == self.sums.terms);
        let untouched = kept().filter(|cpu| !self.cpus.touched().test(*cpu as CpuId));
        match untouched.into_iter().find(|cpu| numbers(&self.sums_of_cpu(*cpu)) != numbers(&self.sums.own[*cpu])) {
            Some(cpu) => Err(format!("CPU {cpu} has changed, but is not marked for an update of its groups' sums")),
            None => self.audit_groups().and_then(|()| self.audit_rings()),
        }
    }

    /// Checks that rings know of each CPU that is not marked what it is.
    fn audit_rings(&self) -> Result<(), String> {
        let current = self.terms() == self.sums.terms;
        for (cpu, groups) in self.sums.in_rings.iter().enumerate().filter(|_| current) {
            for at in groups.iter().filter(|_| !self.cpus.touched().test(cpu as CpuId)) {
                let (ring, was) = (&self.sums.rings[at.ring], &at.place);
                let now = self.ring_place_of(at, &self.sums.own[cpu]);
                let noted = ring.of_class[was.class as usize].test(cpu as CpuId) && ring.rank[cpu] == was.rank;
                if (now.class, now.rank, now.capacity) != (was.class, was.rank, was.capacity) || !noted {
                    return Err(format!(
                        "the group of CPU {cpu} has changed, but is not marked for an update of its ring"
                    ));
                }
            }
        }
        let added = |ring: usize| self.sums.in_rings.iter().flatten().filter(move |at| at.ring == ring);
        let capacity = |ring: usize| added(ring).map(|at| at.place.capacity).sum::<u64>();
        match (0..self.sums.rings.len()).find(|ring| self.sums.rings[*ring].capacity != capacity(*ring)) {
            Some(ring) => Err(format!("the capacity of ring {ring} is not that of its CPUs")),
            None => Ok(()),
        }
    }

    /// Checks that each of the sums is that of its CPUs' contributions.
    fn audit_groups(&self) -> Result<(), String> {
        let mut added = vec![[0; 9]; self.sums.kept.len()];
        for (own, ids) in self.sums.own.iter().map(numbers).zip(&self.sums.of_cpu) {
            for id in ids {
                added[*id].iter_mut().zip(own).for_each(|(sum, n): (&mut u64, u64)| *sum = sum.wrapping_add(n));
            }
        }
        match added.iter().enumerate().find(|(id, added)| numbers(&self.sums.kept[*id]) != **added) {
            Some((id, _)) => Err(format!("sums {id} are not those of their CPUs")),
            None => Ok(()),
        }
    }
}

/// Replaces a CPU's contribution `was` by `now`.
fn change(sums: &mut FgSums, was: &FgSums, now: &FgSums) {
    let long = |sum: &mut u64, was: u64, now: u64| *sum = sum.wrapping_add(now).wrapping_sub(was);
    let short = |sum: &mut u32, was: u32, now: u32| *sum = sum.wrapping_add(now).wrapping_sub(was);
    // Destructured, so that a new member does not compile until it is added here.
    let FgSums { load, util, runnable, h_nr, nr, idle_cpus, crowded_cpus, overutilized_cpus, squeezed_cpus } = sums;
    long(load, was.load, now.load);
    long(util, was.util, now.util);
    long(runnable, was.runnable, now.runnable);
    short(h_nr, was.h_nr, now.h_nr);
    short(nr, was.nr, now.nr);
    short(idle_cpus, was.idle_cpus, now.idle_cpus);
    short(crowded_cpus, was.crowded_cpus, now.crowded_cpus);
    short(overutilized_cpus, was.overutilized_cpus, now.overutilized_cpus);
    short(squeezed_cpus, was.squeezed_cpus, now.squeezed_cpus);
}

fn numbers(sums: &FgSums) -> [u64; 9] {
    let FgSums { load, util, runnable, h_nr, nr, idle_cpus, crowded_cpus, overutilized_cpus, squeezed_cpus } = *sums;
    let counts = [h_nr, nr, idle_cpus, crowded_cpus, overutilized_cpus, squeezed_cpus].map(u64::from);
    let [a, b, c, d, e, f] = counts;
    [load, util, runnable, a, b, c, d, e, f]
}

#[cfg(test)]
mod tests {
    use fairground_machine::{Cluster, Machine};
    use fairground_sim::{draw, Purpose};

    use super::super::wake::WakeArgs;
    use super::*;
    use crate::topology::Topology;
    use crate::{Features, Options};

    /// Two packages of 16 CPUs in caches of 8. The CPUs of the first cache are big, all others little. So the first
    /// package's domain, with groups of 8, is asymmetric, the second's is not, and the domain of both packages is.
    fn two_capacities() -> Machine {
        let mut m = Machine::symmetric(32);
        for cpu in &mut m.cpus {
            (cpu.llc, cpu.cluster) = (cpu.id / 8, cpu.id / 8);
            (cpu.node, cpu.package) = (cpu.id / 16, cpu.id / 16);
            cpu.capacity = if cpu.llc == 0 { 1024 } else { 600 };
        }
        let part = |size: u32| (0..32 / size).map(|i| (i * size..(i + 1) * size).collect()).collect::<Vec<CpuMask>>();
        (m.nodes, m.packages, m.llcs) = (part(16), part(16), part(8));
        let clusters = part(8).into_iter();
        m.clusters = clusters.map(|cpus| Cluster { cpus, ..m.clusters[0].clone() }).collect();
        m.numa_distance = vec![vec![10, 20], vec![20, 10]];
        m
    }

    fn world(machine: &str, scheduler: &str) -> World {
        let machine = match machine {
            "two capacities" => two_capacities(),
            "one cache" => Machine::symmetric(32),
            preset => Machine::preset(preset).unwrap(),
        };
        let features = Features::parse(scheduler).unwrap();
        let topology = Topology::new(&machine, &features, &Options::default()).unwrap();
        let mut world = World::new(&machine, &features, &topology);
        world.set_hz(250);
        world
    }

    /// Random numbers of one round of a test.
    struct Dice(u64, u64);

    impl Dice {
        fn below(&mut self, n: u64) -> u64 {
            self.1 += 1;
            draw(self.0, Purpose::Program, self.1, 0) % n
        }
    }

    /// Changes a run queue at random, in every way that may happen between two passes.
    fn disturb(world: &mut World, dice: &mut Dice) {
        let cpu = dice.below(world.cpus.len() as u64) as usize;
        let rq = &mut world.cpus[cpu];
        rq.nr_running = dice.below(4) as u32;
        rq.h_nr_running = dice.below(u64::from(rq.nr_running) + 1) as u32;
        rq.curr_is_idle = u8::from(rq.nr_running == 0);
        rq.ttwu_pending = u8::from(dice.below(8) == 0);
        rq.cfs.load_avg = dice.below(3_000);
        rq.cfs.runnable_avg = dice.below(3_000);
        rq.cfs.util_avg = dice.below(1_100);
        rq.est_enqueued = dice.below(1_100) as u32;
        rq.queued.load_avg = dice.below(3_000);
        rq.misfit_task_load = dice.below(3) / 2 * dice.below(3_000);
        rq.uclamp[FG_UCLAMP_MIN as usize].value = (dice.below(2) * dice.below(1_024)) as u32;
        rq.uclamp[FG_UCLAMP_MAX as usize].value = 1_024 - (dice.below(2) * dice.below(1_024)) as u32;
        press(rq, dice);
        if dice.below(200) == 0 {
            world.sys_mut().uclamp_used ^= 1;
        }
        if dice.below(200) == 0 {
            world.sys_mut().eas ^= 1;
        }
    }

    /// Thermal pressure and interrupt time. The latter is rare: the CPUs of a group with a squeezed CPU are read in any
    /// case.
    fn press(rq: &mut FgCpu, dice: &mut Dice) {
        let mut once_in = |of: u64, n: u32| if dice.below(of) == 0 { dice.below(u64::from(n)) as u32 } else { 0 };
        (rq.thermal_pressure, rq.hw_pressure) = (once_in(4, 300), once_in(4, 300));
        rq.cpu_capacity_inverted = once_in(4, rq.cpu_capacity_orig);
        rq.cpu_capacity = rq.cpu_capacity_orig - once_in(100, 300);
    }

    /// One search for a busiest queue, from a CPU in one of its domains, with some CPUs excluded; its result.
    fn look(world: &mut World, dice: &mut Dice, jiffies: u64) -> [u64; 9] {
        let cpu = dice.below(world.cpus.len() as u64) as usize;
        let sd = world.chain(cpu)[dice.below(world.chain(cpu).len() as u64) as usize];
        let mut b = world.new_balance(sd, cpu, dice.below(3) as u32, jiffies);
        if dice.below(4) == 0 {
            b.cpus.clear(dice.below(world.cpus.len() as u64) as CpuId);
        }
        world.find_busiest_queue(&mut b);
        let root = world.root(cpu);
        let flags = u64::from(root.overload) << 1 | u64::from(root.overutilized);
        let group = world.busiest_group(&b).map_or(u64::MAX, u64::from);
        let (rule, kind, of) = (u64::from(b.rule), u64::from(b.migration), u64::from(b.src_type));
        let looks = u64::from(b.group_cpus);
        [sd as u64, group, b.src_cpu as u64, b.imbalance as u64, rule, kind, of, looks, flags]
    }

    /// How often each case was tested: `moves`: a source was found; `large`: the domain has large groups. Of the
    /// latter: clamps were in use, a group had a squeezed CPU, the domain was asymmetric.
    #[derive(Clone, Copy, Debug, Default)]
    struct Met {
        moves: u64,
        large: u64,
        clamped: u64,
        squeezed: u64,
        asymmetric: u64,
    }

    impl Met {
        fn count(&mut self, world: &World, seen: &[u64; 9]) {
            let sd = seen[0] as usize;
            self.moves += u64::from(seen[2] as i64 >= 0);
            if !world.sums.domains[sd] {
                return;
            }
            self.large += 1;
            self.clamped += u64::from(world.sys().uclamp_used);
            self.squeezed += u64::from((0..world.sums.kept.len()).any(|id| world.sums.kept[id].squeezed_cpus > 0));
            self.asymmetric += u64::from(world.domains[sd].flags & FG_SD_ASYM_CPUCAPACITY != 0);
        }
    }

    #[test]
    fn a_look_finds_the_same_with_sums_that_are_kept_and_without() {
        let mut met = Met::default();
        for (machine, scheduler) in [
            ("kunpeng920", "v6.12"),
            ("kunpeng920", "v6.7"),
            ("two capacities", "v6.12"),
            ("two capacities", "v6.7"),
            ("two capacities", "v5.4"),
            ("kunpeng920", "v5.4"),
            ("kunpeng920", "v5.4+lb-p01+lb-p02+lb-p03+lb-p04+lb-p05+lb-p06"),
            ("thunderx2-224", "v5.11"),
            ("one cache", "v6.12"),
            ("one cache", "v5.4"),
            ("one cache", "v5.11"),
            ("one cache", "v7.1"),
            ("one cache", "v7.3"),
        ] {
            let (mut keeps, mut looks) = (world(machine, scheduler), world(machine, scheduler));
            (0..looks.groups.len()).for_each(|group| looks.groups[group].sums = std::ptr::null_mut());
            (0..looks.domains.len()).for_each(|sd| looks.domains[sd].ring = std::ptr::null_mut());
            for round in 0..4_000 {
                for change in 0..draw(round, Purpose::Program, 0, 1) % 6 {
                    disturb(&mut keeps, &mut Dice(round, 100 * change));
                    disturb(&mut looks, &mut Dice(round, 100 * change));
                }
                let seen = look(&mut keeps, &mut Dice(round, 1_000), round);
                assert_eq!(seen, look(&mut looks, &mut Dice(round, 1_000), round), "{machine} {scheduler} {round}");
                keeps.audit_sums().unwrap();
                met.count(&keeps, &seen);
            }
        }
        let Met { moves, large, clamped, squeezed, asymmetric } = met;
        let rare = [clamped, squeezed, asymmetric];
        assert!(moves > 4_000 && large > 10_000 && rare.iter().all(|n| *n > 1_000), "{met:?}");
        assert!(squeezed < large / 2, "{met:?}");
    }

    /// The placement of a new task from some CPU, by the sums or not; its result.
    fn fork(world: &mut World, dice: &mut Dice, by_sums: bool) -> [u64; 5] {
        let cpu = dice.below(world.cpus.len() as u64) as usize;
        let mut allowed = CpuMask::first_n(world.cpus.len());
        if dice.below(4) == 0 {
            (0..world.cpus.len() as u32).filter(|_| dice.below(3) == 0).for_each(|cpu| allowed.clear(cpu));
            allowed.set(cpu as CpuId);
        }
        world.tasks.grow_to(0);
        let (flags, weight) = (FG_TASK_NEW, super::super::weight_of_nice(0));
        let nr_allowed = allowed.count() as u32;
        *world.task_mut(0) = FgTask { cpu: cpu as i32, flags, weight, allowed, nr_allowed, ..FgTask::zeroed() };
        let sums = if by_sums { world.renew_sums_for_fork(cpu) } else { 0 };
        let args = WakeArgs { current: None, now: 0, this_cpu: cpu as CpuId, flags: FG_WF_FORK | sums };
        let FgVerdict { cpu, rule, probes, group_cpus, writes, .. } = world.select(0, &args, None);
        [cpu as u64, rule.into(), probes.into(), group_cpus.into(), writes.into()]
    }

    #[test]
    fn a_new_task_is_placed_the_same_by_sums_that_are_kept_and_without() {
        for (machine, scheduler) in [
            ("kunpeng920", "v6.12"),
            ("thunderx2-224", "v5.11"),
            ("two capacities", "v6.12"),
            ("one cache", "v7.3"),
            ("kunpeng920", "v5.4"),
        ] {
            let (mut keeps, mut looks) = (world(machine, scheduler), world(machine, scheduler));
            let mut moved = 0;
            for round in 0..1_000 {
                for change in 0..draw(round, Purpose::Program, 0, 1) % 6 {
                    disturb(&mut keeps, &mut Dice(round, 100 * change));
                    disturb(&mut looks, &mut Dice(round, 100 * change));
                }
                let seen = fork(&mut keeps, &mut Dice(round, 1_000), true);
                assert_eq!(seen, fork(&mut looks, &mut Dice(round, 1_000), false), "{machine} {scheduler} {round}");
                moved += u64::from(seen[0] as i32 != keeps.task(0).cpu);
            }
            assert!(moved > 100, "{machine} {scheduler}: {moved}");
        }
    }

    #[test]
    fn a_change_of_which_nobody_tells_is_noticed() {
        let mut world = world("kunpeng920", "v6.12");
        let top = *world.chain(0).last().unwrap();
        world.renew_sums(top);
        world.audit_sums().unwrap();
        // SAFETY: an element of the slab, to which no reference is alive.
        unsafe { (*world.cpus.peek(77).cast_mut()).nr_running += 1 };
        assert!(world.audit_sums().is_err_and(|what| what.starts_with("CPU 77 ")));
        world.renew_cpu(77);
        world.audit_sums().unwrap();
        world.sums.kept[0].squeezed_cpus += 1;
        assert!(world.audit_sums().is_err_and(|what| what.starts_with("sums 0 ")));
    }

    #[test]
    fn a_change_of_a_ring_of_which_nobody_tells_is_noticed() {
        let mut world = world("one cache", "v6.12");
        let sd = world.chain(0)[0];
        world.renew_sums(sd);
        world.audit_sums().unwrap();
        let in_ring = world.sums.in_rings[17][0].clone();
        world.groups[in_ring.group].capacity -= 1;
        assert!(world.audit_sums().is_err_and(|what| what.starts_with("the group of CPU 17 ")));
        world.renew_cpu(17);
        world.audit_sums().unwrap();
        world.sums.rings[in_ring.ring].rank[17] += 1;
        assert!(world.audit_sums().is_err_and(|what| what.starts_with("the group of CPU 17 ")));
        world.renew_cpu(17);
        world.sums.rings[in_ring.ring].capacity += 1;
        assert!(world.audit_sums().is_err_and(|what| what.starts_with("the capacity of ring 0 ")));
    }
}

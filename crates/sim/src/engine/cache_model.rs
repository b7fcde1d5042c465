//! Cache model: how much of a task's footprint is still cached where it runs, and what refilling the rest costs.
//!
//! ```text
//!                 brought by others since         left of a footprint F that fits in the cache
//!   share 1 |------------------.
//!           |                    `-.              S - F: room not needed so far
//!         0 |________________________`-.____      S: all of the cache is theirs
//!           0                S - F      S
//! ```
//!
//! Each cache counts the bytes that were brought into it. A task remembers the caches it left last and their counts of
//! then; the difference is what others brought since, as the task's own fetches fall into its stays. Replacement is
//! least recently used: what a task used last goes after everything older. Bytes are counted as they are fetched, so
//! tasks that fit together cost each other nothing however often they take turns, and in a round of tasks that do not
//! fit none finds anything. A task whose lines are older than others' that stay may here keep what it would lose, up to
//! the room that those others took before. (With random replacement each line would outlast B bytes with the
//! probability e^(-B/S): some loss even where all fits.)
//!
//! Lines that are gone come from the nearest cache that has them, else from the caches that the task left, else from
//! memory. A task that changed its CPU finds the share that it writes ([`Caches::modified`]) nowhere but where it ran;
//! these lines come from there at their own price: what [`fairground_machine::Costs::refill_kib_ns`] charges beyond
//! unmodified lines from the nearest cache that both CPUs have. On a CPU without anything of the task, and all
//! of it in that cache, the sum is `refill_kib_ns`, no more.
//!
//! DEVIATION: a task brings its whole footprint at once, interrupts and the kernel bring nothing, what does not fit in
//! a cache is never missed there, and a farther cache need not hold what a nearer one has.

use fairground_machine::{Caches, CpuId, IdleScope, Machine};

use crate::coherence::LINE_BYTES;
use crate::TaskId;

use super::cpu::Mode;
use super::Engine;

/// How many caches a task remembers; of those that it left before it finds nothing.
const REMEMBERED: usize = 8;

/// All of a footprint, in the fixed point of shares of it.
const WHOLE: u64 = 1 << 10;

/// The caches of a machine.
pub(super) struct CacheModel {
    caches: Vec<Cache>,
    /// The caches of each CPU, nearest first.
    of: Vec<Box<[u16]>>,
    /// What a task writes of its footprint, share x [`WHOLE`].
    modified: u64,
}

struct Cache {
    size: u64,
    /// Bytes brought into it so far.
    brought: u64,
    /// Of 1 KiB from here, ns.
    refill_kib_ns: u64,
}

/// The caches that may hold a task's lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct CacheHistory {
    /// The CPU on which it last ran; none: it has no working set (new, or a new program).
    on: Option<CpuId>,
    /// The CPU on which it first ran, in whose node its memory is.
    home: CpuId,
    /// Caches that it used before, last first.
    left: [Visit; REMEMBERED],
}

/// A cache that a task left.
#[derive(Clone, Copy, Debug)]
struct Visit {
    cache: u16,
    /// The cache's fill count at that time.
    brought: u64,
}

impl Default for Visit {
    fn default() -> Self {
        Visit { cache: u16::MAX, brought: 0 }
    }
}

impl CacheHistory {
    /// The task leaves a cache.
    fn leave(&mut self, cache: u16, brought: u64) {
        let known = self.left.iter().position(|visit| visit.cache == cache).unwrap_or(REMEMBERED - 1);
        self.left[..=known].rotate_right(1);
        self.left[0] = Visit { cache, brought };
    }
}

impl CacheModel {
    pub(super) fn new(machine: &Machine) -> CacheModel {
        let stated = machine.caches.as_ref();
        let all = stated.map_or(&[][..], |caches| &caches.all[..]);
        let cache = |cache: &fairground_machine::Cache| Cache {
            size: u64::from(cache.size_kib) << 10,
            brought: 0,
            refill_kib_ns: cache.refill_kib_ns,
        };
        let of = |cpu: CpuId| stated.map_or(Box::default(), |caches| caches.for_cpu(cpu).map(|i| i as u16).collect());
        CacheModel {
            caches: all.iter().map(cache).collect(),
            of: (0..machine.nr_cpus() as CpuId).map(of).collect(),
            modified: stated.map_or(0, |caches| (caches.modified * WHOLE as f64) as u64),
        }
    }

    /// A task begins to run: returns what is missing of its footprint. A task without a working set misses nothing:
    /// making one is part of what it does.
    pub(super) fn arrive(
        &mut self,
        machine: &Machine,
        history: &mut CacheHistory,
        cpu: CpuId,
        kib: u32,
    ) -> CacheMisses {
        let from = history.on.replace(cpu);
        let bytes = u64::from(kib) << 10;
        let lacks = self.bring(history, cpu, bytes);
        let Some(from) = from else {
            history.home = cpu;
            return CacheMisses::default();
        };
        if from == cpu && lacks.iter().all(|lack| *lack == 0) {
            return CacheMisses::default();
        }
        Refill { cache_model: self, machine, history, cpu, from, bytes }.missed(&lacks)
    }

    /// Called when a task stops running.
    pub(super) fn depart(&self, history: &mut CacheHistory, cpu: CpuId) {
        for cache in self.of[cpu as usize].iter().rev() {
            history.leave(*cache, self.caches[*cache as usize].brought);
        }
    }

    /// Fetches what is missing into all caches of a CPU; returns the bytes that each lacked, nearest first.
    fn bring(&mut self, history: &CacheHistory, cpu: CpuId, bytes: u64) -> [u64; Caches::MAX_LEVELS] {
        let mut lacks = [0; Caches::MAX_LEVELS];
        for (lack, cache) in lacks.iter_mut().zip(&self.of[cpu as usize]) {
            *lack = bytes.min(self.caches[*cache as usize].size) - self.kept(history, *cache, bytes);
            self.caches[*cache as usize].brought += *lack;
        }
        lacks
    }

    /// How many of `bytes` of a sleeping task a cache still holds.
    fn kept(&self, history: &CacheHistory, cache: u16, bytes: u64) -> u64 {
        let Some(visit) = history.left.iter().find(|visit| visit.cache == cache) else { return 0 };
        let Cache { size, brought, .. } = self.caches[cache as usize];
        size.saturating_sub(brought - visit.brought).min(bytes)
    }
}

/// The cache misses of a task that begins to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheMisses {
    /// Refill time, without waiting for links between nodes, ns.
    ns: u64,
    /// Bytes from where it ran last.
    there: u64,
    /// Bytes from the memory of its node.
    memory: u64,
}

struct Refill<'a> {
    cache_model: &'a CacheModel,
    machine: &'a Machine,
    history: &'a CacheHistory,
    cpu: CpuId,
    from: CpuId,
    bytes: u64,
}

impl Refill<'_> {
    /// What is missed if the CPU's caches lack these bytes, by level.
    fn missed(&self, lacks: &[u64; Caches::MAX_LEVELS]) -> CacheMisses {
        let moved = self.machine.costs.refill_kib_ns[self.machine.distance(self.from, self.cpu) as usize];
        if self.cache_model.caches.is_empty() {
            return CacheMisses { ns: moved * (self.bytes >> 10), there: self.bytes, memory: 0 };
        }
        let modified = if self.from == self.cpu { 0 } else { self.cache_model.modified };
        let unmodified = WHOLE - modified;
        // What a move costs beyond the unmodified part, all of which is where both CPUs may get it.
        let modified_kib_ns = match modified {
            0 => 0,
            _ => (moved * WHOLE).saturating_sub(self.shared_kib_ns().unwrap_or(moved) * unmodified),
        };
        let (near, lack) = self.cost_from_own_caches(lacks);
        let (far, there) = self.cost_from_elsewhere(lack, moved);
        let clean = (near + far).saturating_mul(u128::from(unmodified));
        let ns = (clean + u128::from(self.bytes) * u128::from(modified_kib_ns)) >> 20;
        CacheMisses {
            ns: u64::try_from(ns).unwrap_or(u64::MAX),
            there: (self.bytes * modified + there * unmodified) / WHOLE,
            memory: (lack - there) * unmodified / WHOLE,
        }
    }

    /// As if nothing was modified: price x bytes of what the CPU's nearer caches lack and its farther ones have, and
    /// the bytes that none has. Of each cache is wanted what the nearer one lacks, which has its price, and what never
    /// fits there, which has none as long as it is here.
    fn cost_from_own_caches(&self, lacks: &[u64; Caches::MAX_LEVELS]) -> (u128, u64) {
        let (mut sum, mut wanted, mut fits) = (0, 0, 0);
        for (lack, cache) in lacks.iter().zip(&self.cache_model.of[self.cpu as usize]) {
            let cache = &self.cache_model.caches[*cache as usize];
            let fits_here = self.bytes.min(cache.size);
            let missing = (*lack).min(wanted + fits_here.saturating_sub(fits));
            sum += u128::from(wanted.saturating_sub(missing)) * u128::from(cache.refill_kib_ns);
            (wanted, fits) = (missing, fits.max(fits_here));
        }
        (sum, wanted)
    }

    /// Price x bytes of what no cache of the CPU has, and how much of it comes from the caches that the task left: as
    /// far as these have it; the rest is in memory.
    fn cost_from_elsewhere(&self, lack: u64, moved: u64) -> (u128, u64) {
        let there = match (self.shared_kib_ns(), self.cache_model.of[self.from as usize].last()) {
            (None, Some(last)) => self.cache_model.kept(self.history, *last, self.bytes).min(lack),
            _ => 0,
        };
        let home = self.machine.distance(self.history.home, self.cpu);
        let memory = self.machine.caches.as_ref().map_or(0, |caches| caches.memory_kib(home));
        (u128::from(there) * u128::from(moved) + u128::from(lack - there) * u128::from(memory), there)
    }

    /// 1 KiB from the nearest cache that both CPUs have, ns; none if they share none.
    fn shared_kib_ns(&self) -> Option<u64> {
        let theirs = &self.cache_model.of[self.from as usize];
        let shared = self.cache_model.of[self.cpu as usize].iter().find(|cache| theirs.contains(cache))?;
        Some(self.cache_model.caches[*shared as usize].refill_kib_ns)
    }
}

impl Engine {
    /// The task, which is current on `cpu` now, waits for what is not in the CPU's caches.
    pub(super) fn warm_up(&mut self, cpu: CpuId, task: TaskId) {
        let t = &mut self.tasks[task as usize];
        let from = t.history.on.unwrap_or(cpu);
        let missed = self.cache_model.arrive(&self.machine, &mut t.history, cpu, t.footprint_kib);
        let home = t.history.home;
        let mut ns = missed.ns;
        for (from, bytes) in [(from, missed.there), (home, missed.memory)] {
            ns = ns.saturating_add(self.env.lines.pass(
                &self.machine,
                self.now,
                from,
                cpu,
                bytes / u64::from(LINE_BYTES),
            ));
        }
        t.stall_ns = t.stall_ns.saturating_add(ns);
        self.meters.refill_ns += ns;
    }

    /// The current task has loaded a new program, if it did not come to this CPU while at it.
    pub(super) fn settle_in(&mut self, cpu: CpuId, task: TaskId) {
        if self.tasks[task as usize].history.on.is_none() {
            self.warm_up(cpu, task);
        }
    }

    /// The CPU begins to leave idle, its hardware in state `held`: what did not outlast the stay is empty. A core loses
    /// what it has for itself when all its threads are in states that lose it; a cluster, when the first of its CPUs
    /// ends a state of all that does.
    pub(super) fn empty_caches(&mut self, cpu: CpuId, held: usize) {
        let states = self.machine.idle_states(cpu);
        if states[self.cpus[cpu as usize].stay.reached].keeps_cache {
            return;
        }
        let Some(stated) = &self.machine.caches else { return };
        let hw = &self.machine.cpus[cpu as usize];
        let (core, cluster) = (&self.machine.cores[hw.core as usize], &self.machine.clusters[hw.cluster as usize].cpus);
        let is_core_lost = core.iter().all(|thread| thread == cpu || self.loses_cache(thread));
        let is_cluster_lost = states[held].scope == IdleScope::Cluster && !states[held].keeps_cache;
        for cache in &self.cache_model.of[cpu as usize] {
            let cpus = &stated.all[*cache as usize].cpus;
            let is_own = cpus.is_subset(core);
            if (is_own && is_core_lost) || (!is_own && is_cluster_lost && cpus.is_subset(cluster)) {
                empty(&mut self.cache_model.caches[*cache as usize]);
            }
        }
    }

    /// Whether a CPU sleeps in a state in which its core loses its caches.
    fn loses_cache(&self, cpu: CpuId) -> bool {
        let sleeps = self.cpus[cpu as usize].mode == Mode::Asleep;
        sleeps && !self.machine.idle_states(cpu)[self.held_state(cpu)].keeps_cache
    }
}

/// The cache loses all that is in it.
fn empty(cache: &mut Cache) {
    cache.brought += cache.size;
}

#[cfg(test)]
mod tests {
    use fairground_machine::{Cache, CpuMask, Distance};
    use proptest::prelude::*;

    use super::*;

    /// Prices of 1 KiB, ns: out of the second level, a move within and across it, memory.
    const SHARED: u64 = 80;
    const NEAR: u64 = 180;
    const ACROSS: u64 = 900;
    const MEMORY: u64 = 1000;
    /// What a move within costs beyond the three quarters that are not modified.
    const MODIFIED: u64 = NEAR - 60;

    /// CPUs in pairs: 64 KiB each, 512 KiB a pair. A quarter of a footprint is modified.
    struct Pairs {
        machine: Machine,
        cache_model: CacheModel,
    }

    impl Pairs {
        fn new(cpus: u32) -> Pairs {
            let mut machine = Machine::symmetric(cpus as usize);
            machine.cpus.iter_mut().for_each(|cpu| cpu.llc = cpu.id / 2);
            machine.llcs = (0..cpus / 2).map(|pair| [2 * pair, 2 * pair + 1].into_iter().collect()).collect();
            machine.costs.refill_kib_ns = [0, 0, 0, NEAR, ACROSS, ACROSS, ACROSS];
            let own = (0..cpus).map(|cpu| Cache { cpus: CpuMask::single(cpu), size_kib: 64, refill_kib_ns: 0 });
            let pairs = machine.llcs.iter().map(|cpus| Cache { cpus: *cpus, size_kib: 512, refill_kib_ns: SHARED });
            let memory_kib_ns = [0, 0, 0, 0, MEMORY, MEMORY, MEMORY];
            machine.caches = Some(Caches { all: own.chain(pairs).collect(), modified: 0.25, memory_kib_ns });
            let cache_model = CacheModel::new(&machine);
            Pairs { machine, cache_model }
        }

        /// A task with a footprint of `kib` KiB runs on a CPU; returns its cache stall, ns.
        fn run(&mut self, task: &mut CacheHistory, cpu: CpuId, kib: u32) -> u64 {
            let missed = self.cache_model.arrive(&self.machine, task, cpu, kib);
            self.cache_model.depart(task, cpu);
            missed.ns
        }

        /// A task of 16 KiB runs on these CPUs in turn.
        fn wander(&mut self, task: &mut CacheHistory, cpus: &[CpuId]) {
            cpus.iter().for_each(|cpu| _ = self.run(task, *cpu, 16));
        }

        /// A task that is new runs.
        fn run_another(&mut self, cpu: CpuId, kib: u32) {
            assert_eq!(
                self.run(&mut CacheHistory::default(), cpu, kib),
                0,
                "a new task has nothing that it could miss"
            );
        }

        /// The cache stall, ns, of a task of `kib` KiB that ran on CPU 0 before `others` and now runs on `cpu`.
        fn wait_after(others: &[(CpuId, u32)], cpu: CpuId, kib: u32) -> u64 {
            let (mut pairs, mut task) = (Pairs::new(4), CacheHistory::default());
            pairs.run(&mut task, 0, kib);
            others.iter().for_each(|(cpu, kib)| pairs.run_another(*cpu, *kib));
            pairs.run(&mut task, cpu, kib)
        }
    }

    #[test]
    fn who_returns_to_the_cpu_at_once_finds_everything() {
        assert_eq!(Pairs::wait_after(&[], 0, 16), 0);
        // Also what is larger than the cache: the rest is missed however long it stays.
        assert_eq!(Pairs::wait_after(&[], 0, 2000), 0);
    }

    #[test]
    fn the_first_time_on_a_cpu_costs_the_whole_price_of_the_move() {
        assert_eq!(Pairs::wait_after(&[], 1, 16), 16 * NEAR);
        assert_eq!(Pairs::wait_after(&[], 2, 16), 16 * ACROSS);
    }

    #[test]
    fn who_alternates_between_two_cpus_pays_for_what_it_modified_on_the_other() {
        let (mut pairs, mut task) = (Pairs::new(4), CacheHistory::default());
        pairs.wander(&mut task, &[0, 1]);
        assert_eq!([0, 1, 0].map(|cpu| pairs.run(&mut task, cpu, 16)), [16 * MODIFIED; 3]);
        pairs.run(&mut task, 2, 16);
        assert_eq!([0, 2, 0].map(|cpu| pairs.run(&mut task, cpu, 16)), [16 * ACROSS / 4; 3]);
    }

    #[test]
    fn another_task_of_the_size_of_the_cache_leaves_nothing_in_it() {
        assert_eq!(Pairs::wait_after(&[(0, 64)], 0, 16), 16 * SHARED);
        assert_eq!(Pairs::wait_after(&[(0, 512)], 0, 16), 16 * MEMORY);
        // On the other CPU of the pair it empties the second level only, which the private one does not need.
        assert_eq!(Pairs::wait_after(&[(1, 64)], 0, 16), 0);
        assert_eq!(Pairs::wait_after(&[(2, 512)], 0, 16), 0);
    }

    /// 64 KiB less 48 leaves 16 of 32.
    #[test]
    fn a_task_that_needs_some_of_the_room_leaves_the_rest() {
        assert_eq!(Pairs::wait_after(&[(0, 32)], 0, 32), 0);
        assert_eq!(Pairs::wait_after(&[(0, 48)], 0, 32), 16 * SHARED);
    }

    #[test]
    fn tasks_that_fit_together_take_turns_for_nothing() {
        let (mut pairs, mut tasks) = (Pairs::new(4), [CacheHistory::default(), CacheHistory::default()]);
        for _ in 0..10 {
            for task in &mut tasks {
                assert_eq!(pairs.run(task, 0, 32), 0);
            }
        }
    }

    #[test]
    fn of_tasks_that_do_not_fit_together_none_finds_anything() {
        let (mut pairs, mut tasks) =
            (Pairs::new(4), [CacheHistory::default(), CacheHistory::default(), CacheHistory::default()]);
        tasks.iter_mut().for_each(|task| assert_eq!(pairs.run(task, 0, 32), 0));
        for _ in 0..10 {
            for task in &mut tasks {
                assert_eq!(pairs.run(task, 0, 32), 32 * SHARED);
            }
        }
    }

    /// The task is larger than what a core has for itself: 64 KiB come from the second level, no more.
    #[test]
    fn what_does_not_fit_is_not_missed() {
        assert_eq!(Pairs::wait_after(&[(0, 64)], 0, 100), 64 * SHARED);
    }

    /// Unmodified lines are neither with CPU 2 nor on the side that it left, where another task has taken all room.
    #[test]
    fn what_the_other_side_has_lost_comes_from_memory() {
        assert_eq!(Pairs::wait_after(&[(1, 512)], 2, 16), 16 * (ACROSS / 4 + MEMORY * 3 / 4));
    }

    #[test]
    fn a_task_remembers_the_caches_that_it_left_last() {
        let (mut pairs, mut task) = (Pairs::new(16), CacheHistory::default());
        // Each pair is two caches to remember: five of them are too many.
        pairs.wander(&mut task, &[0, 2, 4, 6, 8]);
        assert_eq!(pairs.run(&mut task, 0, 16), 16 * ACROSS);
        assert_eq!(pairs.run(&mut task, 8, 16), 16 * ACROSS / 4);
    }

    #[test]
    fn memory_is_where_the_task_first_ran() {
        let mut pairs = Pairs::new(4);
        pairs.machine.cpus.iter_mut().for_each(|cpu| (cpu.node, cpu.package) = (cpu.llc, cpu.llc));
        if let Some(caches) = &mut pairs.machine.caches {
            caches.memory_kib_ns[Distance::Remote as usize] = 3000;
        }
        let mut task = CacheHistory::default();
        pairs.wander(&mut task, &[0, 2]);
        pairs.run_another(2, 512);
        assert_eq!(pairs.run(&mut task, 2, 16), 16 * 3000);
    }

    /// A quarter is modified on CPU 1; the rest is in neither its pair nor any other and comes from the first CPU's
    /// memory.
    #[test]
    fn lines_from_elsewhere_are_counted_by_where_they_come_from() {
        let (mut pairs, mut task) = (Pairs::new(4), CacheHistory::default());
        pairs.wander(&mut task, &[0, 1]);
        pairs.run_another(0, 512);
        let missed = pairs.cache_model.arrive(&pairs.machine, &mut task, 2, 16);
        assert_eq!((missed.there, missed.memory), (4 << 10, 12 << 10));
        pairs.cache_model.depart(&mut task, 2);
        let missed = pairs.cache_model.arrive(&pairs.machine, &mut task, 3, 16);
        assert_eq!((missed.there, missed.memory), (4 << 10, 0), "its unmodified lines are in the cache of both");
    }

    #[test]
    fn without_caches_a_move_finds_nothing_and_who_stays_everything() {
        let mut pairs = Pairs::new(4);
        pairs.machine.caches = None;
        pairs.cache_model = CacheModel::new(&pairs.machine);
        let mut task = CacheHistory::default();
        pairs.run(&mut task, 0, 16);
        assert_eq!([1, 0, 0, 2].map(|cpu| pairs.run(&mut task, cpu, 16)), [16 * NEAR, 16 * NEAR, 0, 16 * ACROSS]);
    }

    proptest! {
        /// However tasks migrate, none pays more than if all of its footprint came from the most expensive place.
        #[test]
        fn no_task_pays_more_than_for_everything(runs in prop::collection::vec((0..4usize, 0..4u32), 1..60)) {
            let (mut pairs, mut tasks) = (Pairs::new(4), vec![CacheHistory::default(); 4]);
            for (task, cpu) in runs {
                let kib = [4, 40, 64, 700][task];
                prop_assert!(pairs.run(&mut tasks[task], cpu, kib) <= u64::from(kib) * MEMORY.max(ACROSS));
            }
        }

        /// The more others bring in, the more is missed.
        #[test]
        fn what_others_bring_never_helps(
            others in prop::collection::vec((0..4u32, 1..600u32), 0..10), more in (0..4u32, 1..600u32), cpu in 0..4u32,
            kib in 1..600u32,
        ) {
            let without = Pairs::wait_after(&others, cpu, kib);
            let with = [others, vec![more]].concat();
            prop_assert!(Pairs::wait_after(&with, cpu, kib) >= without);
        }
    }
}

//! Processes, whose threads sched-cache gathers behind one cache, and the counts of tasks that prefer a cache.
//!
//! The policy's struct of a process has a part for each CPU, so both exist only while sched-cache decides something: on a
//! partition with several last-level caches.

use std::collections::BTreeMap;

use fairground_machine::Machine;

use super::slabs::World;
use crate::ffi::*;
use crate::storage::{Pool, Slab};
use crate::topology::Topology;

/// The processes that have living threads.
pub(crate) struct Processes {
    pool: Pool<FgProcess>,
    slots: Vec<Slot>,
    /// Slots without a process.
    free: Vec<usize>,
    /// Slots by number of the process.
    of_number: BTreeMap<u32, usize>,
    /// fg_cpu.llc_counts of all CPUs.
    counts: Slab<u32>,
}

struct Slot {
    /// The first thread. As in the kernel it counts as a thread until all others have exited.
    leader: u32,
    /// Threads that have not exited.
    members: u32,
    /// fg_process.cpus
    times: Slab<FgCacheTime>,
}

impl Processes {
    pub fn none() -> Processes {
        Processes {
            pool: Pool::new(FgProcess::zeroed),
            slots: Vec::new(),
            free: Vec::new(),
            of_number: BTreeMap::new(),
            counts: Slab::new(Vec::new()),
        }
    }

    /// Puts a process without threads into a slot.
    fn add(&mut self, number: u32, nr_cpus: usize) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            let (slot, times) = (self.slots.len(), Slab::new(vec![FgCacheTime::zeroed(); nr_cpus]));
            self.pool.grow_to(slot);
            self.slots.push(Slot { leader: 0, members: 0, times });
            slot
        });
        self.of_number.insert(number, slot);
        let of = &mut self.slots[slot];
        of.members = 0;
        self.pool[slot] = FgProcess { cpus: of.times.ptr(0), cpu: -1, id: number, ..FgProcess::zeroed() };
        slot
    }
}

impl World {
    /// Sets the parameters of sched-cache to their defaults, and makes the counts if it decides something here.
    pub(super) fn link_caches(&mut self, machine: &Machine, topology: &Topology) {
        let nr_cpus = self.cpus.len();
        let active = self.sys().feat.value[FG_SCHED_CACHE] != 0 && topology.has_many_llcs();
        let smt_threads = machine.cores.iter().map(|core| core.count()).max().unwrap_or(1);
        self.sys_mut().llc_balancing = FgLlcBalancing {
            active: u32::from(active),
            aggr_tolerance: 1,
            epoch_affinity_timeout: 5,
            imb_pct: 20,
            overaggr_pct: 50,
            smt_threads: smt_threads as u32,
            ..FgLlcBalancing::zeroed()
        };
        if !active {
            return;
        }
        self.processes.counts = Slab::new(vec![0; nr_cpus * nr_cpus]);
        for cpu in (0..nr_cpus).filter(|cpu| !self.chains[*cpu].is_empty()).collect::<Vec<usize>>() {
            self.cpus[cpu].llc_counts = self.processes.counts.ptr(cpu * nr_cpus);
        }
    }

    /// EPOCH_PERIOD follows HZ.
    pub(super) fn set_epoch_period(&mut self) {
        let sys = self.sys_mut();
        sys.llc_balancing.epoch_period = (sys.hz / 100).max(1);
    }

    /// Makes a task a thread of the process of this number; the first one is its leader. None: of no process.
    pub fn join_process(&mut self, task: u32, number: Option<u32>, jiffies: u64) {
        let Some(number) = number.filter(|_| self.sys().llc_balancing.active != 0) else { return };
        let slot = match self.processes.of_number.get(&number) {
            Some(slot) => *slot,
            None => self.new_process(number, task, jiffies),
        };
        self.processes.slots[slot].members += 1;
        self.processes.pool[slot].nr_threads += 1;
        self.task_mut(task).process = self.processes.pool.ptr(slot);
    }

    /// mm_init_sched: the process begins with the epochs of the CPUs.
    fn new_process(&mut self, number: u32, leader: u32, jiffies: u64) -> usize {
        let slot = self.processes.add(number, self.cpus.len());
        self.processes.slots[slot].leader = leader;
        self.processes.pool[slot].next_scan = jiffies;
        for cpu in 0..self.cpus.len() {
            let epoch = self.cpus[cpu].cpu_epoch;
            self.processes.slots[slot].times[cpu] = FgCacheTime { epoch, ..FgCacheTime::zeroed() };
            self.processes.pool[slot].epoch = epoch;
        }
        slot
    }

    /// A thread exits, or executes a program: it is of no process any more.
    pub fn leave_process(&mut self, task: u32) {
        let Some(number) = self.process_of(task) else { return };
        let slot = self.processes.of_number[&number];
        self.task_mut(task).process = std::ptr::null_mut();
        let of = &mut self.processes.slots[slot];
        of.members -= 1;
        if of.leader != task {
            self.processes.pool[slot].nr_threads -= 1;
        }
        if of.members == 0 {
            self.processes.of_number.remove(&number);
            self.processes.free.push(slot);
        }
    }

    /// Sets the process of a task whose state is another scheduler's; none: it has none.
    pub fn point_process(&mut self, task: u32, number: Option<u32>) {
        let slot = number.map(|number| self.shown_process(number));
        self.task_mut(task).process = slot.map_or(std::ptr::null_mut(), |slot| self.processes.pool.ptr(slot));
    }

    /// A process of another scheduler; it is made if it does not exist.
    fn shown_process(&mut self, number: u32) -> usize {
        match self.processes.of_number.get(&number) {
            Some(slot) => *slot,
            None => self.processes.add(number, self.cpus.len()),
        }
    }

    /// A process of another scheduler, to be overwritten.
    pub fn process_mut(&mut self, number: u32) -> &mut FgProcess {
        let slot = self.shown_process(number);
        &mut self.processes.pool[slot]
    }

    /// The part of a process of another scheduler that belongs to a CPU, to be overwritten.
    pub fn cache_time_mut(&mut self, number: u32, cpu: usize) -> &mut FgCacheTime {
        let slot = self.shown_process(number);
        &mut self.processes.slots[slot].times[cpu]
    }

    /// Number of the process of a task; none: it has none.
    pub fn process_of(&self, task: u32) -> Option<u32> {
        // SAFETY: null, or a process of the pool.
        unsafe { self.task(task).process.as_ref() }.map(|process| process.id)
    }

    /// How many tasks queued on a CPU prefer the cache of this id; to be overwritten. None: nobody counts.
    pub fn llc_count_mut(&mut self, cpu: usize, llc: usize) -> Option<&mut u32> {
        let at = cpu * self.cpus.len() + llc;
        (!self.cpus[cpu].llc_counts.is_null()).then(|| &mut self.processes.counts[at])
    }

    /// The same, by id of the cache; empty: nobody counts.
    pub fn llc_counts(&self, cpu: usize) -> impl Iterator<Item = u32> + '_ {
        let nr_cpus = self.cpus.len();
        let ids = if self.cpus[cpu].llc_counts.is_null() { 0..0 } else { cpu * nr_cpus..(cpu + 1) * nr_cpus };
        ids.map(|at| self.processes.counts[at])
    }
}

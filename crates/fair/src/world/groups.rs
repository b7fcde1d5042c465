//! Task groups with weights: the structs of those that compete as one entity. Their slabs are filled once, at the
//! start.

use super::slabs::World;
use crate::ffi::{self, *};
use crate::storage::Slab;

/// Set in the id of an entity that is a group; the other bits are its number. Task ids are small numbers from 0.
const GROUP: u32 = 1 << 31;

/// The group that an entity is; none: it is a task.
pub(crate) fn group_of_entity(id: u32) -> Option<usize> {
    (id & GROUP != 0).then_some((id & !GROUP) as usize)
}

/// The sort keys of a queued entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub vruntime: u64,
    pub deadline: u64,
}

impl World {
    /// Makes the groups, with these shares (see `FgTg::shares`). No task exists yet.
    pub fn make_groups(&mut self, shares: &[u64]) {
        let nr_cpus = self.cpus.len();
        let new = |at: usize| {
            let mut group = FgTgCpu::zeroed();
            group.entity.id = GROUP | (at / nr_cpus) as u32;
            group
        };
        self.tg_cpus = Slab::new((0..shares.len() * nr_cpus).map(new).collect());
        let first = |at: usize| self.tg_cpus.ptr(at * nr_cpus);
        let group = |(at, shares): (usize, &u64)| FgTg { cpus: first(at), shares: *shares, ..FgTg::zeroed() };
        self.tgs = Slab::new(shares.iter().enumerate().map(group).collect());
        let tgs = if shares.is_empty() { std::ptr::null_mut() } else { self.tgs.ptr(0) };
        (self.sys_mut().tgs, self.sys_mut().nr_tgs) = (tgs, shares.len() as u32);
        for tg in 0..shares.len() {
            self.tg_init(tg);
        }
    }

    /// Number of groups.
    pub fn nr_groups(&self) -> usize {
        self.tgs.len()
    }

    /// Puts a task that is on no queue into a group; none: the root group.
    pub fn join_group(&mut self, task: u32, tg: Option<usize>) {
        let tg = tg.map_or(std::ptr::null_mut(), |tg| self.tgs.ptr(tg));
        self.task_mut(task).tg = tg;
    }

    /// The group of a task; none: the root group. Hot: called at nearly every event, mostly without any groups.
    #[inline(always)]
    pub fn group_of(&self, task: u32) -> Option<usize> {
        let tg = self.task(task).tg;
        if tg.is_null() {
            return None;
        }
        self.tgs.index_of(tg)
    }

    /// The policy's struct of a task group.
    pub fn group(&self, tg: usize) -> &FgTg {
        &self.tgs[tg]
    }

    /// The entity and the queue of a group on a CPU.
    pub fn group_on(&self, cpu: usize, tg: usize) -> &FgTgCpu {
        &self.tg_cpus[tg * self.cpus.len() + cpu]
    }

    /// An entity of a CPU's queue: a task, or a group on that CPU.
    pub fn entity(&self, cpu: usize, id: u32) -> &FgTask {
        match group_of_entity(id) {
            Some(tg) => &self.group_on(cpu, tg).entity,
            None => self.task(id),
        }
    }

    /// The policy's queue of a CPU, or of a group there.
    pub fn fair_queue_mut(&mut self, cpu: usize, tg: Option<usize>) -> &mut FgQueue {
        let nr_cpus = self.cpus.len();
        match tg {
            None => &mut self.cpus[cpu].fair,
            Some(tg) => &mut self.tg_cpus[tg * nr_cpus + cpu].queue,
        }
    }

    /// The sort keys of a group in a CPU's tree; none: it is not queued there, or one of its tasks is current.
    pub fn group_place(&self, cpu: usize, tg: usize) -> Option<Place> {
        let e = &self.group_on(cpu, tg).entity;
        (e.on_rq != 0 && e.on_cpu == 0).then_some(Place { vruntime: e.vruntime, deadline: e.deadline })
    }

    /// avg_vruntime() of a CPU's queue.
    pub fn avg_vruntime(&self, cpu: usize) -> u64 {
        ffi::avg_vruntime(&self.cpus[cpu].fair)
    }

    /// avg_vruntime() of a group's queue.
    pub fn tg_avg_vruntime(&self, cpu: usize, tg: usize) -> u64 {
        ffi::avg_vruntime(&self.group_on(cpu, tg).queue)
    }

    /// The address of an entity of a CPU's queue, null for none.
    #[inline(always)]
    pub(super) fn entity_ptr(&self, cpu: usize, id: Option<u32>) -> *mut FgTask {
        match id.map(|id| (id, group_of_entity(id))) {
            None => std::ptr::null_mut(),
            Some((id, None)) => self.tasks.ptr(id as usize),
            Some((_, Some(tg))) => {
                let group = self.tg_cpus.ptr(tg * self.cpus.len() + cpu);
                // SAFETY: within an element of the slab.
                unsafe { &raw mut (*group).entity }
            }
        }
    }
}

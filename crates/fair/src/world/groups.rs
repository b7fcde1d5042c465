//! Task groups with weights: the structs of those that compete as one entity. Their slabs are filled once, at the
//! start. The policy wants each group before the one around it, so its numbers of groups are not those of the workload.

use super::rt::is_rt;
use super::slabs::World;
use crate::ffi::{self, *};
use crate::storage::Slab;

/// Set in the id of an entity that is a group; the other bits are its number. Task ids are small numbers from 0.
const GROUP: u32 = 1 << 31;

/// The group that an entity is; none: it is a task.
pub(crate) fn group_of_entity(id: u32) -> Option<usize> {
    (id & GROUP != 0).then_some((id & !GROUP) as usize)
}

/// The group as an entity.
pub(crate) fn entity_of_group(tg: usize) -> u32 {
    GROUP | tg as u32
}

/// The sort keys of a queued entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub vruntime: u64,
    pub deadline: u64,
}

/// A task group that competes as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NewGroup {
    /// The group around it, an index into the same list; none: the root group.
    pub parent: Option<usize>,
    /// See `FgTg::shares`.
    pub shares: u64,
    /// `cpu.idle`.
    pub idle: bool,
    /// `cpu.max`; none: no limit.
    pub quota: Option<Quota>,
}

/// What a group may use of CPU time, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quota {
    /// In each period.
    pub quota: u64,
    pub period: u64,
    /// What may be left over from earlier periods.
    pub burst: u64,
}

/// Number of groups around each. Parents come before their children.
pub(crate) fn depths(parents: impl Iterator<Item = Option<usize>>) -> Vec<u32> {
    let mut depths = Vec::new();
    for parent in parents {
        let depth = parent.map_or(0, |parent| depths[parent] + 1);
        depths.push(depth);
    }
    depths
}

impl World {
    /// Makes the groups, of which parents come before their children. No task exists yet.
    pub fn make_groups(&mut self, wanted: &[NewGroup]) {
        let nr_cpus = self.cpus.len();
        let depths = depths(wanted.iter().map(|group| group.parent));
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(depths[*at]));
        let mut tg_of = vec![0; wanted.len()];
        order.iter().enumerate().for_each(|(tg, at)| tg_of[*at] = tg);
        let new = |at: usize| {
            let mut group = FgTgCpu::zeroed();
            group.entity.id = entity_of_group(at / nr_cpus);
            group
        };
        self.tg_cpus = Slab::new((0..wanted.len() * nr_cpus).map(new).collect());
        let group = |(tg, at): (usize, &usize)| FgTg {
            cpus: self.tg_cpus.ptr(tg * nr_cpus),
            shares: wanted[*at].shares,
            idle: u32::from(wanted[*at].idle),
            depth: depths[*at],
            bandwidth: wanted[*at].quota.map_or(FgBandwidth::zeroed(), |given| FgBandwidth {
                quota: given.quota,
                period: given.period,
                burst: given.burst,
                ..FgBandwidth::zeroed()
            }),
            ..FgTg::zeroed()
        };
        self.tgs = Slab::new(order.iter().enumerate().map(group).collect());
        for (at, group) in wanted.iter().enumerate() {
            let parent = group.parent.map_or(std::ptr::null_mut(), |parent| self.tgs.ptr(tg_of[parent]));
            self.tgs[tg_of[at]].parent = parent;
        }
        let tgs = if wanted.is_empty() { std::ptr::null_mut() } else { self.tgs.ptr(0) };
        (self.sys_mut().tgs, self.sys_mut().nr_tgs) = (tgs, wanted.len() as u32);
        for tg in 0..wanted.len() {
            self.tg_init(tg);
        }
        self.tg_of = tg_of;
    }

    /// Number of groups.
    pub fn nr_groups(&self) -> usize {
        self.tgs.len()
    }

    /// Puts a task that is on no queue into a group, by its place in the list of [`Self::make_groups`]; none, or beyond
    /// that: the root group.
    pub fn join_group(&mut self, task: u32, group: Option<usize>) {
        let tg = group.and_then(|group| self.tg_of.get(group).copied());
        let tg = tg.map_or(std::ptr::null_mut(), |tg| self.tgs.ptr(tg));
        self.task_mut(task).tg = tg;
    }

    /// The group around a group; none: the root group.
    pub fn parent_group(&self, tg: usize) -> Option<usize> {
        self.tgs.index_of(self.tgs[tg].parent)
    }

    /// The group itself and those around it, the innermost first; nothing for none.
    pub fn groups_from(&self, tg: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(tg, |tg| self.parent_group(*tg))
    }

    /// The innermost group that both tasks are in; none: the root group.
    pub fn common_group(&self, a: u32, b: u32) -> Option<usize> {
        let (a, b) = (self.group_of(a), self.group_of(b));
        if a == b {
            return a;
        }
        self.groups_from(a).find(|tg| self.groups_from(b).any(|other| other == *tg))
    }

    /// Whether a task waits on a queue because its group, or one around it, has used up its quota.
    pub fn is_held_back(&self, task: u32) -> bool {
        let cpu = self.task(task).cpu as usize;
        let throttled = |tg| self.group_on(cpu, tg).throttle_count != 0;
        match u32::from(self.sys().feat.value[FG_THROTTLE]) {
            FG_THROTTLE_GROUP => self.group_of(task).is_some_and(throttled),
            _ => self.task(task).flags & FG_TASK_THROTTLED != 0,
        }
    }

    /// FLAT_PICK: all fair tasks of a CPU compete in one queue, and groups in none.
    #[inline(always)]
    pub fn is_flat(&self) -> bool {
        self.sys().feat.value[FG_FLAT_PICK] != 0
    }

    /// The group whose queue a task competes in; none: the CPU's.
    #[inline(always)]
    pub fn competes_in(&self, task: u32) -> Option<usize> {
        self.group_of(task).filter(|_| !self.is_flat())
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

    /// The number here of a group in the list of [`Self::make_groups`]. Panics if there is none.
    pub fn tg_of(&self, group: usize) -> usize {
        self.tg_of[group]
    }

    /// The struct of a task group, for writing.
    pub fn group_mut_of(&mut self, tg: usize) -> &mut FgTg {
        &mut self.tgs[tg]
    }

    /// The entity and the queue of a group on a CPU, for writing.
    pub fn group_on_mut(&mut self, cpu: usize, tg: usize) -> &mut FgTgCpu {
        let nr_cpus = self.cpus.len();
        &mut self.tg_cpus[tg * nr_cpus + cpu]
    }

    /// Sets the next, last and skip buddy in the queue of a group on a CPU; none: the CPU's.
    pub fn point_queue(&mut self, cpu: usize, tg: Option<usize>, buddies: [Option<u32>; 3]) {
        let [next, last, skip] = buddies.map(|entity| self.entity_ptr(cpu, entity));
        let queue = self.fair_queue_mut(cpu, tg);
        (queue.next, queue.last, queue.skip) = (next, last, skip);
    }

    /// The entity in the queue of a group on a CPU (none: the CPU's) that the current fair task is, or is in.
    pub fn current_in(&self, cpu: usize, at: Option<usize>) -> Option<u32> {
        let curr = self.curr(cpu).filter(|curr| !is_rt(self.task(*curr)))?;
        let inner = self.competes_in(curr);
        if inner == at {
            return Some(curr);
        }
        self.groups_from(inner).find(|tg| self.parent_group(*tg) == at).map(entity_of_group)
    }

    /// The current entity in the queue of a group on a CPU (none: the CPU's) has no protection.
    pub fn cancel_protection(&mut self, cpu: usize, tg: Option<usize>) {
        let Some(curr) = self.curr(cpu) else { return };
        let groups: Vec<usize> = self.groups_from(self.competes_in(curr)).collect();
        let within = match tg {
            None => groups.last().copied(),
            Some(tg) => match groups.iter().position(|of| *of == tg) {
                None => return,
                Some(at) => at.checked_sub(1).map(|at| groups[at]),
            },
        };
        let entity = match within {
            None => self.task_mut(curr),
            Some(tg) => &mut self.group_on_mut(cpu, tg).entity,
        };
        (entity.flags, entity.vprot) = (entity.flags & !FG_TASK_PROTECTED, entity.vruntime);
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
    pub fn fair_queue(&self, cpu: usize, tg: Option<usize>) -> &FgQueue {
        match tg {
            None => &self.cpus[cpu].fair,
            Some(tg) => &self.group_on(cpu, tg).queue,
        }
    }

    /// The same, to be changed.
    pub fn fair_queue_mut(&mut self, cpu: usize, tg: Option<usize>) -> &mut FgQueue {
        let nr_cpus = self.cpus.len();
        match tg {
            None => &mut self.cpus[cpu].fair,
            Some(tg) => &mut self.tg_cpus[tg * nr_cpus + cpu].queue,
        }
    }

    /// The sort keys of a group where it competes on a CPU; none: it is not queued, one of its tasks is current, or
    /// groups do not compete.
    pub fn group_place(&self, cpu: usize, tg: usize) -> Option<Place> {
        let e = &self.group_on(cpu, tg).entity;
        (e.on_rq != 0 && e.on_cpu == 0 && !self.is_flat())
            .then_some(Place { vruntime: e.vruntime, deadline: e.deadline })
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

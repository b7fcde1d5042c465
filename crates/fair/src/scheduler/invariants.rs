//! The invariants of the run queues, checked after the last event of each time.

use std::fmt::Display;

use fairground_sim::{Env, TaskId};

use super::host::StopWork;
use crate::ffi::*;
use crate::world::{group_of_entity, is_rt};
use crate::Fair;

/// util_avg may pass 1024 by rounding.
const UTIL_MAX: u64 = 1024 + 8;

/// MAX_PINNED_INTERVAL, ms: an interval below it is doubled while everything is pinned.
const PINNED_INTERVAL_MAX: u32 = 512;

impl Fair {
    pub(crate) fn check_invariants(&self, env: &Env) -> Result<(), String> {
        (0..self.queues.rqs.len()).try_for_each(|cpu| {
            let audited = self.audit_cpu(cpu).and_then(|()| self.audit_balance(cpu, env.jiffies()));
            audited.map_err(|what| format!("CPU {cpu}: {what}"))
        })?;
        self.audit_group_loads()?;
        self.queues.world.audit_sums()
    }

    fn audit_cpu(&self, cpu: usize) -> Result<(), String> {
        let (rq, queues) = (&self.queues.world.cpus[cpu], &self.queues.rqs[cpu]);
        let curr = self.queues.world.curr(cpu).map(|p| self.queues.world.task(p));
        let fair_curr = curr.filter(|p| !is_rt(p) && p.on_rq != 0);
        self.audit_members(cpu)?;
        self.audit_limbo(cpu)?;
        let queued = || self.waiting(cpu).map(|p| self.queues.world.task(p)).chain(fair_curr);
        let count = |wanted: fn(&FgTask) -> bool| queued().filter(|p| wanted(p)).count() as u64;
        let counted = || queued().filter(|p| self.reaches(cpu, p, None));
        same("h_nr_running", rq.h_nr_running as usize, counted().count())?;
        let idle = counted().filter(|p| self.counts_as_idle(p, None)).count();
        same("idle_h_nr_running", rq.idle_h_nr_running as usize, idle)?;
        same("h_nr_delayed", rq.h_nr_delayed as usize, counted().filter(|p| is_delayed(p)).count())?;
        let awake = queued().filter(|p| !is_delayed(p));
        let (est, awake) = (u64::from(rq.est_enqueued), awake.map(|p| u64::from(self.estimate(p))).sum::<u64>());
        // Without est-delayed an estimate may have left twice.
        if est > awake || self.features.on(FG_EST_DELAYED) {
            same("est_enqueued", est, awake)?;
        }
        let preferred = |p: &FgTask| p.preferred_llc != 0;
        let caches = || self.queues.world.llc_counts(cpu).map(u64::from);
        same("llc_counts", caches().sum(), if caches().next().is_some() { count(preferred) } else { 0 })?;
        self.audit_clamps(cpu)?;
        self.audit_order(cpu)?;
        self.audit_queues(cpu)?;
        same("rt_nr_running", u64::from(rq.rt_nr_running), queues.rt.len() as u64)?;
        let all = rq.h_nr_running + rq.rt_nr_running + u32::from(queues.stopper);
        same("nr_running", u64::from(rq.nr_running), u64::from(all))?;
        same("ttwu_pending", u64::from(rq.ttwu_pending), u64::from(!self.sim.pending[cpu].wake_list.is_empty()))?;
        same("curr_is_idle with a current task", u64::from(rq.curr_is_idle != 0 && curr.is_some()), 0)?;
        // The sum of a queue may pass 1024 for a while, when tasks come from other CPUs with their averages.
        in_range("rt util_avg", rq.rt.util_avg)?;
        curr.map_or(Ok(()), |p| in_range("util_avg of the current task", p.avg.util_avg))
    }

    /// The fair tasks in the trees of a CPU.
    fn waiting(&self, cpu: usize) -> impl Iterator<Item = TaskId> + '_ {
        let queues = &self.queues.rqs[cpu];
        let all = [&queues.fair].into_iter().chain(&queues.nested).flat_map(|queue| queue.iter().map(|(_, id)| id));
        all.filter(|id| group_of_entity(*id).is_none())
    }

    /// The current task, if it is a fair one that is still queued.
    fn fair_curr(&self, cpu: usize) -> Option<TaskId> {
        self.queues
            .world
            .curr(cpu)
            .filter(|p| !is_rt(self.queues.world.task(*p)) && self.queues.world.task(*p).on_rq != 0)
    }

    /// The sums of the CPU's queue and those of groups against what is in them.
    fn audit_queues(&self, cpu: usize) -> Result<(), String> {
        let world = &self.queues.world;
        let tasks: Vec<&FgTask> = self.waiting(cpu).chain(self.fair_curr(cpu)).map(|p| world.task(p)).collect();
        let rq = &world.cpus[cpu];
        let entities = self.entities_of(cpu, None, &tasks);
        same("entities", i64::from(rq.h_nr_running) - i64::from(rq.nr_nested), entities.len() as i64)?;
        self.audit_sums(&rq.fair, &entities, if world.is_flat() { &tasks } else { &entities })?;
        (0..world.nr_groups())
            .try_for_each(|tg| self.audit_group(cpu, tg, &tasks).map_err(|what| format!("group {tg}: {what}")))
    }

    /// The tasks and groups in a group on a CPU, queued or current; none: in the root group. `tasks`: all of the CPU.
    fn entities_of<'a>(&'a self, cpu: usize, tg: Option<usize>, tasks: &[&'a FgTask]) -> Vec<&'a FgTask> {
        let world = &self.queues.world;
        let tasks = tasks.iter().copied().filter(|p| world.group_of(p.id) == tg);
        let groups = (0..world.nr_groups()).filter(|group| world.parent_group(*group) == tg);
        tasks.chain(groups.map(|group| &world.group_on(cpu, group).entity).filter(|e| e.on_rq != 0)).collect()
    }

    /// Whether a group is throttled and has left the queue with its tasks.
    fn is_off(&self, cpu: usize, tg: usize) -> bool {
        let as_a_whole = u32::from(self.features().get(FG_THROTTLE)) == FG_THROTTLE_GROUP;
        as_a_whole && self.queues.world.group_on(cpu, tg).throttled != 0
    }

    /// Tasks that left a throttled group are on no queue.
    fn audit_limbo(&self, cpu: usize) -> Result<(), String> {
        self.queues.rqs[cpu].limbo.iter().try_for_each(|task| {
            let p = self.queues.world.task(*task);
            match p.on_rq == 0 && p.flags & FG_TASK_THROTTLED != 0 && p.cpu as usize == cpu {
                true => Ok(()),
                false => Err(format!("task {task} is in limbo: on_rq {}, cpu {}, flags {}", p.on_rq, p.cpu, p.flags)),
            }
        })
    }

    /// Whether a task counts in a group that it is in (none: the root group): no group within that is throttled.
    fn reaches(&self, cpu: usize, p: &FgTask, tg: Option<usize>) -> bool {
        let world = &self.queues.world;
        let mut within = world.groups_from(world.group_of(p.id)).take_while(|of| Some(*of) != tg);
        within.all(|of| !self.is_off(cpu, of))
    }

    /// Whether it counts as SCHED_IDLE there.
    fn counts_as_idle(&self, p: &FgTask, tg: Option<usize>) -> bool {
        let world = &self.queues.world;
        let mut groups = world.groups_from(world.group_of(p.id)).take_while(|of| Some(*of) != tg);
        u32::from(p.policy) == FG_SCHED_IDLE || groups.any(|tg| world.group(tg).idle != 0)
    }

    /// The weight of an entity among those that it competes with.
    fn weight_in_order(&self, e: &FgTask) -> u64 {
        let weight = u64::from(e.weight);
        match (self.queues.world.is_flat(), u32::from(self.features().get(FG_WEIGHT_BITS))) {
            (true, _) => e.h_load,
            (false, FG_WEIGHT_BITS_10) => weight,
            _ if e.shares != 0 => e.shares,
            _ => weight * 1024,
        }
    }

    /// A queue against the entities whose load it has, and those that compete in it.
    fn audit_sums(&self, queue: &FgQueue, entities: &[&FgTask], compete: &[&FgTask]) -> Result<(), String> {
        same("load_weight", queue.load_weight, entities.iter().map(|e| u64::from(e.weight)).sum())?;
        if u32::from(self.features().get(FG_RQ)) == FG_RQ_CFS {
            return Ok(());
        }
        same("sum_weight", queue.sum_weight, compete.iter().map(|e| self.weight_in_order(e)).sum())?;
        let key = |e: &FgTask| i128::from(e.vruntime.wrapping_sub(queue.min_vruntime) as i64);
        let terms = compete.iter().map(|e| i128::from(self.weight_in_order(e)) * key(e));
        same("avg_vruntime", i128::from(queue.avg_vruntime), terms.sum())
    }

    /// A group on a CPU against what is in it there. `tasks`: all of the CPU.
    fn audit_group(&self, cpu: usize, tg: usize, tasks: &[&FgTask]) -> Result<(), String> {
        let world = &self.queues.world;
        let group = world.group_on(cpu, tg);
        let is_in = |p: &FgTask| world.groups_from(world.group_of(p.id)).any(|of| of == tg);
        let within = || tasks.iter().filter(|p| is_in(p) && self.reaches(cpu, p, Some(tg)));
        same("h_nr_running", group.h_nr_running as usize, within().count())?;
        same("h_nr_delayed", group.h_nr_delayed as usize, within().filter(|p| is_delayed(p)).count())?;
        let idle = within().filter(|p| self.counts_as_idle(p, Some(tg))).count();
        same("idle_h_nr_running", group.idle_h_nr_running as usize, idle)?;
        let throttled = world.groups_from(Some(tg)).filter(|of| world.group_on(cpu, *of).throttled != 0).count();
        same("throttle_count", group.throttle_count as usize, throttled)?;
        same("a place among the throttled", group.throttled_seq != 0, group.throttled != 0)?;
        let entities = self.entities_of(cpu, Some(tg), tasks);
        same("entities", i64::from(group.h_nr_running) - i64::from(group.nr_nested), entities.len() as i64)?;
        let shares = |e: &&FgTask| if e.shares != 0 { e.shares } else { u64::from(e.weight) * 1024 };
        same("load_shares", group.load_shares, entities.iter().map(shares).sum())?;
        self.audit_sums(&group.queue, &entities, if world.is_flat() { &[] } else { &entities })?;
        let (queued, owes) = (group.entity.on_rq != 0, is_delayed(&group.entity));
        let held_back = self.is_off(cpu, tg);
        let should = !held_back && (owes || !entities.is_empty());
        if queued != should || owes && (held_back || !entities.is_empty()) {
            let nr = entities.len();
            return Err(format!("queued {queued}, delayed {owes}, throttled {held_back}, with {nr} entities"));
        }
        let place = world.group_place(cpu, tg).map(|place| (place.vruntime, place.deadline));
        let queues = &self.queues.rqs[cpu];
        let queue = world.parent_group(tg).map_or(&queues.fair, |parent| &queues.nested[parent]);
        let mut tree = queue.iter().filter(|(_, id)| *id == group.entity.id);
        let key = place.map(|_| queue.key(&group.entity));
        if tree.next().map(|(key, _)| key) != key || tree.next().is_some() {
            return Err(format!("in the tree elsewhere than at {place:?}"));
        }
        Ok(())
    }

    /// The load of each group against the contributions of the CPUs, and its throttled queues.
    fn audit_group_loads(&self) -> Result<(), String> {
        (0..self.queues.world.nr_groups()).try_for_each(|tg| {
            let throttled = |cpu: &usize| self.queues.world.group_on(*cpu, tg).throttled != 0;
            let throttled = (0..self.queues.rqs.len()).filter(throttled).count();
            same("nr_throttled", self.queues.world.group(tg).bandwidth.nr_throttled as usize, throttled)?;
            let parts = (0..self.queues.rqs.len()).map(|cpu| self.queues.world.group_on(cpu, tg).contribution);
            same("load_avg", self.queues.world.group(tg).load_avg, parts.sum())
                .map_err(|what| format!("group {tg}: {what}"))
        })
    }

    /// The clamps of the queue against its runnable tasks.
    fn audit_clamps(&self, cpu: usize) -> Result<(), String> {
        let (rq, queues) = (&self.queues.world.cpus[cpu], &self.queues.rqs[cpu]);
        let queued = self.waiting(cpu).chain(queues.rt.iter()).chain(self.fair_curr(cpu));
        let counted = queued.map(|task| self.queues.world.task(task)).filter(|p| p.uclamp_active != 0);
        let (min, max): (Vec<u32>, Vec<u32>) = counted.map(|p| (p.uclamp_min, p.uclamp_max)).unzip();
        self.audit_clamp("min", &rq.uclamp[FG_UCLAMP_MIN as usize], &min)?;
        self.audit_clamp("max", &rq.uclamp[FG_UCLAMP_MAX as usize], &max)
    }

    /// One clamp of the queue against the maximum of its tasks: in the same bucket, and not below it. Up to v5.15 a
    /// change of the only task leaves the queue marked as idle, so that the next one may lower the clamp.
    fn audit_clamp(&self, name: &str, uclamp: &FgUclamp, counted: &[u32]) -> Result<(), String> {
        let tasks: u32 = uclamp.bucket.iter().map(|b| b.tasks).sum();
        same(&format!("tasks in the buckets of uclamp {name}"), u64::from(tasks), counted.len() as u64)?;
        let Some(largest) = counted.iter().copied().max().filter(|_| self.features().on(FG_UCLAMP_REINC)) else {
            return Ok(());
        };
        let (nr, width) = if self.features().on(FG_UCLAMP_NR_BUCKETS) { (20, 51) } else { (5, 205) };
        let part = |value: u32| (value / width).min(nr - 1);
        if uclamp.value >= largest && part(uclamp.value) == part(largest) {
            return Ok(());
        }
        Err(format!("uclamp {name} is {}, the largest of its tasks {largest}", uclamp.value))
    }

    /// The tasks that balancing may move are the queued and the current ones, each once, and linked both ways.
    fn audit_order(&self, cpu: usize) -> Result<(), String> {
        let mut queued: Vec<TaskId> = self.waiting(cpu).chain(self.fair_curr(cpu)).collect();
        let mut ordered: Vec<TaskId> = self.queues.cfs_tasks.iter(cpu).collect();
        same("tasks in the order of moving", ordered.len(), self.queues.cfs_tasks.len(cpu))?;
        queued.sort_unstable();
        ordered.sort_unstable();
        if queued != ordered {
            return Err(format!("tasks {queued:?} are queued, but {ordered:?} are in the order of moving"));
        }
        same("tasks taken off a queue and put on none", self.queues.detached.len(), 0)
    }

    /// The balancing state of this CPU and its domains.
    fn audit_balance(&self, cpu: usize, jiffies: u64) -> Result<(), String> {
        let pushes = self.sim.pending[cpu].stop_work.iter().filter(|work| matches!(work, StopWork::Push)).count();
        same("pushes asked for with active_balance", pushes as u32, self.queues.world.cpus[cpu].active_balance)?;
        self.queues.world.chain(cpu).iter().try_for_each(|sd| {
            let level = self.topology().level_name(self.topology().level_of(*sd));
            let sd = &self.queues.world.domains[*sd];
            let longest = sd.max_interval.max(2 * PINNED_INTERVAL_MAX - 1);
            if !(sd.min_interval..=longest).contains(&sd.balance_interval) {
                let (is, min) = (sd.balance_interval, sd.min_interval);
                return Err(format!("{level}: balance_interval is {is} ms, should be within {min}..={longest}"));
            }
            // A domain fails at most once a jiffy, and an active balance sets the failures to a high count (up to
            // v5.11).
            if u64::from(sd.nr_balance_failed) > jiffies + u64::from(sd.cache_nice_tries) + 2 {
                return Err(format!("{level}: {} failures by jiffy {jiffies}", sd.nr_balance_failed));
            }
            Ok(())
        })
    }

    /// What a queued task adds to the estimate of its queue (spec 2.6).
    fn estimate(&self, p: &FgTask) -> u32 {
        p.est.enqueued.max(p.est.ewma) | u32::from(self.features().on(FG_EST_LSB))
    }

    /// Queued tasks are runnable, belong to this CPU, and are in order.
    fn audit_members(&self, cpu: usize) -> Result<(), String> {
        let curr = self.queues.world.curr(cpu);
        let queues = &self.queues.rqs[cpu];
        let nested = queues.nested.iter().enumerate().map(|(tg, queue)| (Some(tg), queue));
        for (tg, queue) in nested.chain([(None, &queues.fair)]) {
            for (key, task) in queue.iter().filter(|(_, id)| group_of_entity(*id).is_none()) {
                let p = self.queues.world.task(task);
                if p.on_rq == 0 || p.cpu as usize != cpu || is_rt(p) || curr == Some(task) {
                    return Err(format!(
                        "task {task} is queued: on_rq {}, cpu {}, policy {}",
                        p.on_rq, p.cpu, p.policy
                    ));
                }
                if self.queues.world.competes_in(task) != tg {
                    return Err(format!("task {task} is queued in {tg:?}, not in its group"));
                }
                same("vruntime or deadline of a queued task against its key", queue.key(p), key)?;
                in_range("util_avg of a queued task", p.avg.util_avg)?;
            }
        }
        match self.queues.rqs[cpu].rt.iter().find(|p| self.queues.world.task(*p).cpu as usize != cpu) {
            Some(task) => {
                Err(format!("RT task {task} is queued, it belongs to CPU {}", self.queues.world.task(task).cpu))
            }
            None => Ok(()),
        }
    }
}

fn is_delayed(p: &FgTask) -> bool {
    p.flags & FG_TASK_DELAYED != 0
}

fn same<T: PartialEq + Display>(what: &str, is: T, should: T) -> Result<(), String> {
    if is == should {
        return Ok(());
    }
    Err(format!("{what} is {is}, should be {should}"))
}

fn in_range(what: &str, util: u64) -> Result<(), String> {
    if util <= UTIL_MAX {
        return Ok(());
    }
    Err(format!("{what} is {util}, above {}", FG_CAPACITY_SCALE))
}

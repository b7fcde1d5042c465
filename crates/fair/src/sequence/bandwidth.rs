//! Bandwidth control of groups (`cpu.max`): queues that are throttled, and the timers that let them go on.
//!
//! Up to v6.17 a throttled group leaves the queue as a whole (THROTTLE of the policy is `group`). Later its tasks stay; each leaves
//! when it would return to user mode after it was picked, and is kept in [`RunQueue::limbo`](super::RunQueue::limbo).
//!
//! DEVIATION: since v6.3 a timer asks the CPUs of other queues by an interrupt to let them go on, and so it is here with all
//! presets; before, it did so itself. The random offset of the first period is that of newer releases too.

use fairground_machine::SoftCost;

use fairground_sim::TaskId;

use super::{Host, RunQueues};
use crate::ffi::{self, *};
use crate::world::is_rt;

/// A group with a quota, and the CPUs on which its timers are set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitedGroup {
    tg: usize,
    period_cpu: Option<usize>,
    slack_cpu: Option<usize>,
}

impl RunQueues {
    /// tg_set_cfs_bandwidth of all groups with a quota, whose first periods end at these times of the list of groups, ns.
    pub fn start_bandwidth(&mut self, groups: usize, first_end: impl Fn(usize) -> u64) {
        for group in 0..groups {
            let tg = self.world.tg_of(group);
            if self.world.group(tg).bandwidth.quota != 0 {
                self.world.group_mut_of(tg).bandwidth.expires = first_end(group);
                self.world.tg_start_bandwidth(tg, 0);
                self.limited.push(LimitedGroup { tg, period_cpu: None, slack_cpu: None });
            }
        }
    }

    /// check_cfs_rq_runtime: throttles a group on `cpu` if its quota is used up. Whether it is throttled.
    pub fn check_runtime<H: Host>(&mut self, host: &mut H, cpu: usize, tg: Option<usize>) -> bool {
        if self.limited.is_empty() || self.throttles() == FG_THROTTLE_EARLY {
            return false;
        }
        let Some(tg) = tg else { return false };
        let (quota, on) = (self.world.group(tg).bandwidth.quota, self.world.group_on(cpu, tg));
        if quota == 0 || on.runtime_remaining > 0 || on.throttled != 0 {
            return quota != 0 && on.throttled != 0 && on.runtime_remaining <= 0;
        }
        let mut throttled = false;
        self.around_groups_from(cpu, tg, |world| throttled = world.tg_throttle(cpu, tg));
        if throttled && self.throttles() == FG_THROTTLE_GROUP {
            host.charge(SoftCost::Dequeue, 1);
            self.request_frequency(host, cpu);
            self.update_min_vruntime(cpu, self.world.parent_group(tg));
        }
        throttled
    }

    /// unthrottle_cfs_rq, if it is throttled.
    fn unthrottle<H: Host>(&mut self, host: &mut H, cpu: usize, tg: usize) {
        host.update_clock(&mut self.world, cpu);
        if self.world.group_on(cpu, tg).throttled == 0 {
            return;
        }
        if self.throttles() == FG_THROTTLE_GROUP {
            host.charge(SoftCost::Enqueue, 1);
            self.around_groups_from(cpu, tg, |world| _ = world.tg_unthrottle(cpu, tg));
            self.request_frequency(host, cpu);
        } else {
            self.update_early(host, cpu);
            if !self.world.tg_unthrottle(cpu, tg) {
                return;
            }
            self.leave_limbo(host, cpu);
        }
        let rq = &self.world.cpus[cpu];
        let waits = rq.curr_is_idle != 0 && rq.h_nr_running != 0;
        if waits || self.server_asks(cpu) {
            self.resched(host, cpu);
        }
    }

    /// Since v7.2 what runs is charged before its group gets more.
    fn update_early<H: Host>(&mut self, host: &mut H, cpu: usize) {
        if self.throttles() == FG_THROTTLE_EARLY {
            self.update_curr(host, cpu);
        }
    }

    /// The form of throttling, `FG_THROTTLE_*`.
    fn throttles(&self) -> u32 {
        self.world.sys().feat.value[FG_THROTTLE].into()
    }

    /// tg_unthrottle_up: tasks whose groups go on are queued again, of groups within others first, of a group the one that left
    /// last first. A group that is throttled again by that keeps the rest.
    fn leave_limbo<H: Host>(&mut self, host: &mut H, cpu: usize) {
        for tg in 0..self.world.nr_groups() {
            let of_group = |task: &&TaskId| self.world.group_of(**task) == Some(tg);
            let tasks: Vec<TaskId> = self.rqs[cpu].limbo.iter().rev().filter(of_group).copied().collect();
            for task in tasks {
                if self.world.group_on(cpu, tg).throttle_count != 0 {
                    break;
                }
                self.forget_limbo(cpu, task);
                self.enqueue(host, cpu, task, FG_ENQUEUE_WAKEUP);
            }
        }
    }

    /// A task that left because its group is throttled is kept apart no more. Whether it was.
    pub fn forget_limbo(&mut self, cpu: usize, task: TaskId) -> bool {
        let was = self.world.task(task).flags & FG_TASK_THROTTLED != 0;
        if was {
            self.world.task_mut(task).flags &= !FG_TASK_THROTTLED;
            self.rqs[cpu].limbo.retain(|kept| *kept != task);
        }
        was
    }

    /// enqueue_throttled_task: a task that is runnable and was taken from limbo goes back there, or onto the queue if its group is
    /// not throttled on `cpu`. Whether it is queued.
    pub fn enqueue_unless_throttled<H: Host>(&mut self, host: &mut H, cpu: usize, task: TaskId) -> bool {
        let throttled = |tg: usize| self.world.group_on(cpu, tg).throttle_count != 0;
        if !is_rt(self.world.task(task)) && self.world.group_of(task).is_some_and(throttled) {
            self.world.task_mut(task).flags |= FG_TASK_THROTTLED;
            self.rqs[cpu].limbo.push(task);
            return false;
        }
        self.enqueue(host, cpu, task, 0);
        true
    }

    /// throttle_cfs_rq_work: the current task of `cpu`, which is about to return to user mode, leaves if that is planned and its group
    /// still is throttled. Whether it has left.
    #[inline]
    pub fn throttle_current<H: Host>(&mut self, host: &mut H, cpu: usize) -> bool {
        self.has_quotas() && self.throttle_limited(host, cpu)
    }

    fn throttle_limited<H: Host>(&mut self, host: &mut H, cpu: usize) -> bool {
        let Some(task) = self.world.curr(cpu).filter(|_| !self.rqs[cpu].resched) else { return false };
        let p = self.world.task(task);
        if p.flags & FG_TASK_THROTTLE_WORK == 0 || p.on_rq == 0 || p.flags & FG_TASK_DELAYED != 0 {
            return false;
        }
        let leaves = !is_rt(p) && p.flags & FG_TASK_EXITING == 0;
        self.world.task_mut(task).flags &= !FG_TASK_THROTTLE_WORK;
        let Some(tg) = self.world.group_of(task).filter(|_| leaves) else { return false };
        if self.world.group_on(cpu, tg).throttle_count == 0 {
            return false;
        }
        host.update_clock(&mut self.world, cpu);
        self.dequeue(host, cpu, task, FG_DEQUEUE_SLEEP | FG_DEQUEUE_SPECIAL);
        self.world.task_mut(task).flags |= FG_TASK_THROTTLED;
        self.rqs[cpu].limbo.push(task);
        self.resched(host, cpu);
        true
    }

    /// __cfsb_csd_unthrottle: the queues of `cpu` go on that a timer has asked for, of another CPU mostly.
    pub fn unthrottle_asked<H: Host>(&mut self, host: &mut H, cpu: usize) {
        for tg in std::mem::take(&mut self.rqs[cpu].unthrottling) {
            self.unthrottle(host, cpu, tg);
        }
    }

    /// distribute_cfs_runtime: throttled queues pay their debts from the pool, the one that is throttled longest first, and go
    /// on. Whether some stay throttled. `here`: the CPU of the timer.
    fn distribute<H: Host>(&mut self, host: &mut H, here: usize, tg: usize) -> bool {
        let seq = |cpu| (self.world.group_on(cpu, tg).throttled_seq, cpu);
        let mut throttled: Vec<(u64, usize)> = (0..self.rqs.len()).map(seq).filter(|(seq, _)| *seq != 0).collect();
        throttled.sort_unstable();
        let (mut stay, mut local) = (false, false);
        for (at, (_, cpu)) in throttled.into_iter().enumerate() {
            if at > 0 && self.world.group(tg).bandwidth.runtime == 0 {
                stay = true;
                break;
            }
            if self.rqs[cpu].unthrottling.contains(&tg) {
                continue;
            }
            if self.throttles() == FG_THROTTLE_EARLY && self.world.curr(cpu).is_some() {
                host.update_clock(&mut self.world, cpu);
                self.update_early(host, cpu);
            }
            if !self.world.tg_hand_out(cpu, tg) {
                stay = true;
                if self.throttles() == FG_THROTTLE_EARLY {
                    break;
                }
            } else if cpu == here {
                local = true;
            } else {
                self.rqs[cpu].unthrottling.push(tg);
                if self.rqs[cpu].unthrottling.len() == 1 {
                    host.call_unthrottle(cpu);
                }
            }
        }
        if local {
            self.unthrottle(host, here, tg);
        }
        stay
    }

    /// sched_cfs_period_timer, which has expired on `here` by `now`, ns.
    fn period_timer<H: Host>(&mut self, host: &mut H, here: usize, tg: usize, now: u64) {
        while ffi::period_forward(self.bandwidth_mut(tg), now) != 0 {
            let mut throttled = ffi::period_begin(self.bandwidth_mut(tg));
            while throttled && self.world.group(tg).bandwidth.runtime > 0 {
                throttled = self.distribute(host, here, tg);
            }
        }
    }

    fn bandwidth_mut(&mut self, tg: usize) -> &mut FgBandwidth {
        &mut self.world.group_mut_of(tg).bandwidth
    }

    /// The timers of `cpu` that have expired by `now`, ns.
    pub fn bandwidth_timers<H: Host>(&mut self, host: &mut H, cpu: usize, now: u64) {
        for i in 0..self.limited.len() {
            let LimitedGroup { tg, period_cpu, slack_cpu } = self.limited[i];
            let b = &self.world.group(tg).bandwidth;
            let (period, slack) = (b.expires <= now, b.slack_expires <= now);
            if period_cpu == Some(cpu) && period {
                self.period_timer(host, cpu, tg, now);
                self.limited[i].period_cpu = period_cpu.filter(|_| self.world.group(tg).bandwidth.period_active != 0);
            }
            if slack_cpu == Some(cpu) && slack {
                self.limited[i].slack_cpu = None;
                if ffi::slack_due(self.bandwidth_mut(tg), now) {
                    self.distribute(host, cpu, tg);
                }
            }
        }
    }

    /// Sets the timers that were asked for since the last call, on `cpu`. Whether there were any.
    pub fn start_bandwidth_timers(&mut self, cpu: usize) -> bool {
        let mut started = false;
        for i in 0..self.limited.len() {
            let tg = self.limited[i].tg;
            if std::mem::take(&mut self.bandwidth_mut(tg).asked) == 0 {
                continue;
            }
            let b = &self.world.group(tg).bandwidth;
            let group = &mut self.limited[i];
            group.period_cpu = group.period_cpu.or((b.period_active != 0).then_some(cpu));
            group.slack_cpu = group.slack_cpu.or((b.slack_active != 0).then_some(cpu));
            started = true;
        }
        started
    }

    /// When the first timer of a group that is set on `cpu` expires, ns.
    pub fn next_bandwidth_timer(&self, cpu: usize) -> Option<u64> {
        let of = |group: &LimitedGroup| {
            let b = &self.world.group(group.tg).bandwidth;
            let period = group.period_cpu.filter(|on| *on == cpu).map(|_| b.expires);
            period.into_iter().chain(group.slack_cpu.filter(|on| *on == cpu).map(|_| b.slack_expires)).min()
        };
        self.limited.iter().filter_map(of).min()
    }

    /// Whether a group has a quota.
    pub fn has_quotas(&self) -> bool {
        !self.limited.is_empty()
    }
}

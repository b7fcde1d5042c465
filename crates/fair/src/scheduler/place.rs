//! Placement: fork, wakeup, exec, and the migration of a woken task.

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::{Decision, DecisionKind, Env, Ipi, MigrateCause, TaskId, TaskInfo, WakeContext};

use super::host::{RemoteWake, StopWork};
use super::TaskState;
use crate::ffi::*;
use crate::world::{is_rt, WakeArgs};
use crate::{why, Fair};

impl Fair {
    /// select_task_rq with its cost: commits the policy's verdict and reports it as a decision. `flags` are FG_WF_*;
    /// `current` is the current task of this CPU, which may be interrupted.
    fn select(&mut self, env: &mut Env, task: TaskId, flags: u32, current: Option<TaskId>) -> CpuId {
        let kind = match flags {
            f if f & FG_WF_FORK != 0 => DecisionKind::Fork,
            f if f & FG_WF_EXEC != 0 => DecisionKind::Exec,
            _ => DecisionKind::Wake,
        };
        let prev = self.queues.world.task(task).cpu as CpuId;
        let mut decision = Decision { kind, task, prev, chosen: prev, rule: 0, probes: 0, group_cpus: 0 };
        if is_rt(self.queues.world.task(task)) {
            let (cpu, rule) = match kind {
                DecisionKind::Exec => (prev, FG_RULE_RT_PREV),
                _ => self.select_rt(task),
            };
            decision.chosen = cpu;
            decision.rule = rule as u16;
        } else {
            let verdict = self.select_fair(env, task, flags, current);
            decision.chosen = verdict.cpu as CpuId;
            decision.rule = verdict.rule as u16;
            decision.probes = verdict.probes;
            decision.group_cpus = verdict.group_cpus + verdict.energy_cpus;
        }
        if kind != DecisionKind::Exec {
            let (cpu, fell_back) = self.make_sure(env, task, decision.chosen);
            decision.chosen = cpu;
            decision.rule = if fell_back { FG_RULE_FALLBACK as u16 } else { decision.rule };
        }
        env.decided(decision);
        decision.chosen
    }

    fn select_fair(&mut self, env: &mut Env, task: TaskId, flags: u32, current: Option<TaskId>) -> FgVerdict {
        let here = self.sim.here;
        let sums = match flags & FG_WF_FORK {
            0 => 0,
            _ => self.queues.world.renew_sums_for_fork(here as usize),
        };
        let args = WakeArgs { current, now: env.clock(here), this_cpu: here, flags: flags | sums };
        let mut why = env.wants_reasons().then(|| why::take(&mut self.why));
        let verdict = self.queues.world.select(task, &args, why.as_deref_mut());
        if let Some(why) = why {
            why::reasons(flags, &why).for_each(|reason| env.reason(reason));
            self.why = Some(why);
        }
        env.charge(here, SoftCost::Probe, verdict.probes);
        // An energy estimate reads the same of each CPU as group statistics do: its run queue and its signals.
        env.charge(here, SoftCost::GroupCpu, verdict.group_cpus + verdict.energy_cpus);
        let scan_ns = env.price(here, SoftCost::Probe, verdict.scanned);
        self.queues.world.commit(task, &args, &verdict, scan_ns);
        verdict
    }

    /// sched_fork and wake_up_new_task. No parent: it exists from time 0.
    pub(crate) fn place_child(&mut self, env: &mut Env, parent: Option<TaskId>, child: &TaskInfo) {
        let (here, task) = (self.sim.here as usize, child.id);
        self.new_task(child, env.jiffies());
        if let Some(parent) = parent {
            self.inherit_wakees(parent, task);
        }
        self.clock(env, here);
        self.queues.update_curr(&mut self.sim.on(env), here);
        let fair = !is_rt(self.queues.world.task(task));
        if fair {
            self.queues.world.task_fork(here, task);
        }
        let cpu = self.select(env, task, FG_WF_FORK, self.queues.world.curr(here));
        if cpu as usize != here {
            self.queues.set_task_cpu(&mut self.sim.on(env), task, cpu, MigrateCause::Fork);
        }
        let cpu = cpu as usize;
        self.clock(env, cpu);
        if fair {
            self.queues.world.post_init_util(cpu, task);
        }
        self.queues.enqueue(&mut self.sim.on(env), cpu, task, FG_ENQUEUE_INITIAL);
        env.enqueued(task, cpu as CpuId);
        self.queues.check_preempt(&mut self.sim.on(env), cpu, task, FG_WF_FORK);
    }

    /// The structs of a task born on this CPU.
    fn new_task(&mut self, info: &TaskInfo, jiffies: u64) {
        let (here, index) = (self.sim.here, info.id as usize);
        self.queues.world.tasks.grow_to(index);
        if self.states.len() <= index {
            self.states.resize(index + 1, TaskState::default());
        }
        self.states[index] = TaskState { group: info.group, ..TaskState::default() };
        let mut p = FgTask::zeroed();
        p.id = info.id;
        p.cpu = here as i32;
        p.recent_used = here as i32;
        p.flags = FG_TASK_NEW | if info.kthread_cpu.is_some() { FG_TASK_PERCPU_KTHREAD } else { 0 };
        *self.queues.world.task_mut(info.id) = p;
        self.queues.world.join_group(info.id, info.group.map(|g| g as usize));
        self.queues.world.join_process(info.id, info.process, jiffies);
        self.write_affinity(info.id, &info.affinity);
        self.write_attr(info.id, &info.attr);
        if is_rt(self.queues.world.task(info.id)) {
            // It has no load. If it becomes fair, its next enqueue does not attach any.
            let p = self.queues.world.task_mut(info.id);
            p.flags = p.flags & !FG_TASK_NEW | FG_TASK_MIGRATED;
        }
    }

    /// A child starts as a copy of its parent, including the wakee statistics.
    fn inherit_wakees(&mut self, parent: TaskId, child: TaskId) {
        let parent = self.queues.world.task(parent);
        let wakees = (parent.last_wakee, parent.wakee_flips, parent.wakee_flip_ts);
        let p = self.queues.world.task_mut(child);
        (p.last_wakee, p.wakee_flips, p.wakee_flip_ts) = wakees;
    }

    /// sched_exec: the stopper moves the running task if another CPU is better.
    pub(crate) fn place_exec(&mut self, env: &mut Env, task: TaskId) {
        let here = self.sim.here;
        let cpu = self.select(env, task, FG_WF_EXEC, Some(task));
        if cpu != here {
            self.sim.ask_stopper(env, here as usize, StopWork::Move { task, dest: cpu, cause: MigrateCause::Exec });
        }
    }

    /// try_to_wake_up, by the state of the task:
    ///
    /// ```text
    /// runnable already            -> preemption check only
    /// asleep but delayed          -> the same; it is not delayed any more
    /// still being switched away   -> its own CPU's wake list, or after the switch (the kernel spins)
    /// asleep                      -> select, commit, migrate -> wake list of a CPU behind another cache, or idle (v6.0)
    ///                                                        -> run queue otherwise
    /// ```
    pub(crate) fn try_to_wake_up(&mut self, env: &mut Env, ctx: WakeContext, task: TaskId) {
        env.charge(self.sim.here, SoftCost::Wakeup, 1);
        let (state, p) = (self.states[task as usize], self.queues.world.task(task));
        if state.on_wake_list || state.deferred {
            return;
        }
        let (cpu, delayed) = (p.cpu as usize, p.flags & FG_TASK_DELAYED != 0);
        let current = self.queues.world.curr(cpu) == Some(task);
        if p.flags & FG_TASK_THROTTLED != 0 {
            env.enqueued(task, cpu as CpuId);
        } else if p.on_rq != 0 && !(delayed && current) {
            self.wake_queued(env, task, cpu);
        } else if current {
            self.wake_on_cpu(env, ctx, task, cpu);
        } else {
            self.place_sleeper(env, ctx, task, self.sim.here);
        }
    }

    /// ttwu_runnable: no choice of a CPU.
    fn wake_queued(&mut self, env: &mut Env, task: TaskId, cpu: usize) {
        self.clock(env, cpu);
        if self.queues.world.task(task).flags & FG_TASK_DELAYED != 0 {
            self.queues.requeue_delayed(&mut self.sim.on(env), cpu, task);
        }
        if self.queues.world.curr(cpu) != Some(task) {
            self.queues.check_preempt(&mut self.sim.on(env), cpu, task, 0);
        }
        env.enqueued(task, cpu as CpuId);
    }

    /// The task has blocked but schedule() has not run yet (WF_ON_CPU).
    fn wake_on_cpu(&mut self, env: &mut Env, ctx: WakeContext, task: TaskId, cpu: usize) {
        // A delayed task is still queued. The waker sees that under the run queue's lock, so after the switch.
        let asleep = self.queues.world.task(task).on_rq == 0;
        let queue = match u32::from(self.queues.world.sys().feat.value[FG_WAKE_LIST]) {
            FG_WAKE_LIST_LLC => false,
            FG_WAKE_LIST_ON_CPU => {
                cpu != self.sim.here as usize
                    && (self.behind_another_cache(cpu) || self.queues.world.cpus[cpu].nr_running <= 1)
            }
            _ => self.enqueues_itself(cpu),
        };
        if asleep && queue {
            self.queue_remote(env, cpu, RemoteWake { task, migrated: false });
        } else {
            self.states[task as usize].deferred = true;
            self.sim.pending[cpu].deferred.push((ctx, task));
        }
    }

    /// Wakeups that waited for the switch on `cpu`, which is the CPU of this call. The waker has been spinning on its
    /// own CPU since: it is that CPU's view that counts.
    pub(crate) fn deferred_wakes(&mut self, env: &mut Env, cpu: usize) {
        for i in 0..self.sim.pending[cpu].deferred.len() {
            let (ctx, task) = self.sim.pending[cpu].deferred[i];
            self.states[task as usize].deferred = false;
            let here = std::mem::replace(&mut self.sim.here, ctx.cpu);
            if self.queues.world.task(task).on_rq != 0 {
                self.wake_queued(env, task, cpu);
            } else {
                self.place_sleeper(env, ctx, task, here);
            }
            self.sim.here = here;
        }
        self.sim.pending[cpu].deferred.clear();
    }

    /// `caller` is the CPU of this call, which after a switch is not the waker's. A task placed on it is enqueued at
    /// once: after its switch that CPU reads its wake list without an IPI.
    fn place_sleeper(&mut self, env: &mut Env, ctx: WakeContext, task: TaskId, caller: CpuId) {
        let prev = self.queues.world.task(task).cpu as CpuId;
        let sync = if ctx.sync { FG_WF_SYNC } else { 0 };
        let irq = if ctx.waker.is_none() { FG_WF_IRQ } else { 0 };
        let current = ctx.waker.or(self.queues.world.curr(self.sim.here as usize));
        let cpu = self.select(env, task, FG_WF_TTWU | sync | irq, current);
        let migrated = cpu != prev;
        if migrated {
            if !is_rt(self.queues.world.task(task)) {
                self.queues.world.migrate_task(prev as usize, task);
                self.queues.world.migrate_lag(prev as usize, task, env.clock(self.sim.here));
            }
            self.queues.set_task_cpu(&mut self.sim.on(env), task, cpu, MigrateCause::Wake);
        }
        if cpu != caller && self.enqueues_itself(cpu as usize) {
            self.queue_remote(env, cpu as usize, RemoteWake { task, migrated });
        } else {
            self.activate(env, cpu as usize, task, migrated);
        }
    }

    /// ttwu_queue_cond of an asleep task: its data is far away, or (v6.0) the CPU has time to fetch it.
    fn enqueues_itself(&self, cpu: usize) -> bool {
        let to_idle = u32::from(self.queues.world.sys().feat.value[FG_WAKE_LIST]) == FG_WAKE_LIST_IDLE;
        self.behind_another_cache(cpu)
            || to_idle && cpu != self.sim.here as usize && self.queues.world.cpus[cpu].nr_running == 0
    }

    fn behind_another_cache(&self, cpu: usize) -> bool {
        let (here, there) = (&self.queues.world.cpus[self.sim.here as usize], &self.queues.world.cpus[cpu]);
        here.id != there.id && here.sd_llc_id != there.sd_llc_id
    }

    /// ttwu_queue_wakelist: the target enqueues it itself; an interrupt for the first of a list.
    fn queue_remote(&mut self, env: &mut Env, cpu: usize, wake: RemoteWake) {
        self.states[wake.task as usize].on_wake_list = true;
        self.queues.world.cpus[cpu].ttwu_pending = 1;
        self.sim.pending[cpu].wake_list.push(wake);
        if self.sim.pending[cpu].wake_list.len() == 1 {
            env.send_ipi(cpu as CpuId, Ipi::WakeQueue);
        }
    }

    /// sched_ttwu_pending: enqueues the tasks on the wake list of `cpu`, which is the target.
    pub(crate) fn drain_wake_list(&mut self, env: &mut Env, cpu: usize) {
        self.queues.world.cpus[cpu].ttwu_pending = 0;
        let mut list = std::mem::take(&mut self.sim.pending[cpu].wake_list);
        for wake in &list {
            self.states[wake.task as usize].on_wake_list = false;
            self.activate(env, cpu, wake.task, wake.migrated);
            self.leave_forbidden(env, wake.task);
        }
        list.clear();
        self.sim.pending[cpu].wake_list = list;
    }

    /// ttwu_do_activate: enqueues a woken task and checks whether it preempts the current one.
    fn activate(&mut self, env: &mut Env, cpu: usize, task: TaskId, migrated: bool) {
        self.clock(env, cpu);
        let flags = FG_ENQUEUE_WAKEUP | if migrated { FG_ENQUEUE_MIGRATED } else { 0 };
        self.queues.enqueue(&mut self.sim.on(env), cpu, task, flags);
        env.enqueued(task, cpu as CpuId);
        self.queues.check_preempt(&mut self.sim.on(env), cpu, task, 0);
        if self.queues.world.sys().feat.value[FG_AVG_IDLE_ANY] == 0 {
            self.queues.world.wake_from_idle(cpu);
        }
    }
}

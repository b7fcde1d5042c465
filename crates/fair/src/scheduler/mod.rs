//! [`Fair`]: what the engine calls, and the path of one schedule().
//!
//! | module | what |
//! |---|---|
//! | this one | the calls of the engine, and schedule() |
//! | `host` | the engine's time, costs and reports, for the sequences |
//! | `place` | fork, wakeup, exec, and the migration of a woken task |
//! | `setattr` | sched_setattr, affinity, and the stopper |
//! | `groups` | the files of task groups |
//! | `hotplug` | CPUs that go offline and come back |
//! | `rt` | the RT class |
//! | `softirq` | ticks, softirqs and interrupts that start a balance pass |
//! | `tracepoints` | PELT signals and clamps for traces |
//! | `invariants` | checks of the run queues, after the last event of each time |

mod groups;
mod host;
mod hotplug;
mod invariants;
mod place;
mod rt;
mod setattr;
mod softirq;
mod tracepoints;

use std::mem::offset_of;
use std::sync::Arc;

use fairground_machine::{CpuId, CpuMask, Machine, SoftCost};
use fairground_sim::{
    prefetch_start, prefetch_value, Change, ClampLimits, Config, Env, Governor, Hotplug, IdleView, Ipi, Pick, Rule,
    Scheduler, TaskId, TaskInfo, Time, WakeContext,
};
use fairground_workload::{GroupClamp, GroupId, Workload};

use self::groups::Groups;
use self::host::SimState;
use crate::ffi::*;
use crate::sequence::RunQueues;
use crate::topology::{Options, Topology};
use crate::world::{is_rt, World};
use crate::{ffi, rules, why, FairError, Features};

/// The state of a task that is not in `FgTask`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TaskState {
    /// Woken, but not enqueued yet on the CPU in `FgTask::cpu`.
    pub on_wake_list: bool,
    /// Its wakeup waits until it is switched away from.
    pub deferred: bool,
    /// Ended; gone after the next schedule().
    pub dead: bool,
    /// Ticks of its RR slice so far.
    pub rr_ticks: u32,
    /// Its task group; none: the root group.
    pub group: Option<GroupId>,
}

/// The scheduler. Owns all of its state: many of them run in one process.
pub struct Fair {
    features: Features,
    pub(crate) queues: RunQueues,
    pub(crate) sim: SimState,
    pub(crate) states: Vec<TaskState>,
    /// The task groups of the run, with their clamps.
    pub(crate) groups: Groups,
    /// System-wide limits of utilization clamps (the sysctls `sched_util_clamp_*`).
    pub(crate) limits: ClampLimits,
    options: Options,
    online: hotplug::Online,
    /// The policy's notes of a placement, while an observer wants reasons.
    pub(crate) why: Option<Box<FgWhy>>,
}

impl Fair {
    /// A scheduler for `machine`, nothing running.
    ///
    /// # Errors
    /// Partitions that the machine does not have, a machine whose levels do not nest, a C policy built with another
    /// struct layout.
    pub fn new(machine: Arc<Machine>, features: Features, options: Options) -> Result<Fair, FairError> {
        ffi::check_layout()?;
        let topology = Topology::new(&machine, &features, &options)?;
        let world = World::new(&machine, &features, &topology);
        Ok(Fair {
            options,
            online: hotplug::Online::all(machine.nr_cpus()),
            features,
            queues: RunQueues::new(world),
            sim: SimState::new(topology, machine.nr_cpus()),
            states: Vec::new(),
            groups: Groups::default(),
            limits: ClampLimits::default(),
            why: None,
        })
    }

    /// The features of the scheduler's policy.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The scheduling domains and groups.
    pub fn topology(&self) -> &Topology {
        &self.sim.topology
    }

    /// The policy's global state, for calls of the policy outside a run.
    pub fn sys(&self) -> &FgSys {
        self.queues.world.sys()
    }

    /// The policy's state of a CPU.
    pub fn cpu(&self, cpu: CpuId) -> &FgCpu {
        &self.queues.world.cpus[cpu as usize]
    }

    /// The policy's state of a task. Panics if the task never existed.
    pub fn task(&self, task: TaskId) -> &FgTask {
        self.queues.world.task(task)
    }

    /// Begins a call of the scheduler: notes its CPU and the tick rate. Returns the CPU as an index.
    pub(crate) fn enter(&mut self, env: &Env, cpu: CpuId) -> usize {
        self.sim.here = cpu;
        if self.queues.world.sys().hz != env.hz() {
            self.queues.world.set_hz(env.hz());
        }
        cpu as usize
    }

    /// The end of a call: the CPU leaves the kernel, so it carries out a lazy request for a reschedule.
    fn leave(&mut self, env: &mut Env, cpu: CpuId) {
        if self.queues.has_quotas() && self.queues.start_bandwidth_timers(cpu as usize) {
            self.renew_timer(env, cpu);
        }
        if self.queues.rqs[cpu as usize].had_rt {
            self.renew_server_timer(env, cpu);
        }
        if self.queues.rqs[cpu as usize].resched_lazy {
            env.resched(cpu);
        } else if !self.queues.throttle_current(&mut self.sim.on(env), cpu as usize) {
            self.queues.return_to_user(&mut self.sim.on(env), cpu as usize);
        }
    }

    /// Sets the engine's timer of the CPU to the first of its own: hrtick, those of groups with a quota, and the deadline
    /// server's.
    fn renew_timer(&mut self, env: &mut Env, cpu: CpuId) {
        let timers = &mut self.sim.timers[cpu as usize];
        timers.bandwidth = self.queues.next_bandwidth_timer(cpu as usize);
        timers.server = self.queues.next_server_timer(cpu as usize);
        self.sim.set_timer(env, cpu, self.queues.rqs[cpu as usize].hrtick_at);
    }

    /// The same, if the deadline server of the CPU has moved its timer, or the last RT task has left.
    fn renew_server_timer(&mut self, env: &mut Env, cpu: CpuId) {
        self.queues.rqs[cpu as usize].had_rt = self.queues.world.cpus[cpu as usize].rt_nr_running != 0;
        if self.sim.timers[cpu as usize].server != self.queues.next_server_timer(cpu as usize) {
            self.renew_timer(env, cpu);
        }
    }

    /// hrtick: the slice of the current task is over.
    fn hrtick(&mut self, env: &mut Env, cpu: usize) {
        self.queues.rqs[cpu].hrtick_at = None;
        env.charge(cpu as CpuId, SoftCost::Tick, 1);
        self.clock(env, cpu);
        match self.queues.world.curr(cpu) {
            Some(task) if is_rt(self.queues.world.task(task)) => self.tick_rt(env, cpu, task),
            Some(_) => self.queues.hrtick_fair(&mut self.sim.on(env), cpu),
            None => {}
        }
    }

    /// update_rq_clock, with the time of the CPU of this call.
    pub(crate) fn clock(&mut self, env: &Env, cpu: usize) {
        self.sim.update_clock(env, &mut self.queues.world, cpu);
    }

    fn pick(&mut self, env: &mut Env, cpu: usize) -> Pick {
        let prev = self.queues.world.curr(cpu);
        let prev_rt = prev.is_some_and(|p| is_rt(self.queues.world.task(p)));
        if let Some(next) = self.queues.rqs[cpu].rt.first() {
            if let Some(fair) = self.queues.pick_before_rt(&mut self.sim.on(env), cpu) {
                return Pick::Task(fair);
            }
            if prev != Some(next) {
                self.queues.put_prev(&mut self.sim.on(env), cpu);
                self.queues.world.set_next_rt(cpu, next, prev_rt);
            }
            return Pick::Task(next);
        }
        if prev_rt {
            self.queues.put_prev(&mut self.sim.on(env), cpu);
        }
        loop {
            if let Some(next) = self.queues.pick_next_task(&mut self.sim.on(env), cpu) {
                return Pick::Task(next);
            }
            self.queues.found_nothing(cpu);
            self.queues.put_prev(&mut self.sim.on(env), cpu);
            if !self.queues.newly_idle(&mut self.sim.on(env), cpu) {
                return Pick::Idle;
            }
        }
    }

    /// put_prev_task_idle and set_next_task_idle: the idle task leaves the CPU or gets it. `idled`: it had it before.
    fn replace_idle(&mut self, cpu: usize, idled: bool, pick: Pick) {
        let idles = pick == Pick::Idle;
        if idled && !idles {
            self.queues.world.put_prev_idle(cpu);
            if self.queues.world.sys().feat.value[FG_AVG_IDLE_ANY] != 0 {
                self.queues.world.wake_from_idle(cpu);
            }
        }
        if !idled && idles {
            self.queues.world.set_next_idle(cpu);
        }
    }

    fn start_stopper(&mut self, env: &mut Env, cpu: usize) -> Pick {
        self.queues.put_prev(&mut self.sim.on(env), cpu);
        self.queues.start_stopper(cpu);
        Pick::Stopper
    }

    /// finish_task_switch: the task that was current is off the CPU now.
    fn finish_switch(&mut self, env: &mut Env, cpu: usize, prev: Option<TaskId>) {
        let Some(prev) = prev.filter(|p| self.queues.world.curr(cpu) != Some(*p)) else { return };
        if self.states[prev as usize].dead {
            if !is_rt(self.queues.world.task(prev)) {
                self.queues.world.migrate_task(cpu, prev);
            }
        } else if self.states[prev as usize].deferred {
            self.deferred_wakes(env, cpu);
        }
    }
}

impl Scheduler for Fair {
    fn boot(&mut self, env: &mut Env, workload: &Workload, config: &Config) -> Result<(), String> {
        self.start_groups(env, workload, &config.clamps)?;
        self.refuse_hotplug(workload)?;
        if self.queues.start_bandwidth_timers(0) {
            self.renew_timer(env, 0);
        }
        if config.governor == Governor::Schedutil {
            self.queues.world.start_energy_awareness(env.machine(), &self.sim.topology);
            self.queues.world.start_governor(env.machine());
        }
        Ok(())
    }

    fn fork(&mut self, env: &mut Env, cpu: CpuId, parent: Option<TaskId>, child: &TaskInfo) {
        self.enter(env, cpu);
        self.place_child(env, parent, child);
        self.leave(env, cpu);
    }

    fn exec(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.enter(env, cpu);
        self.place_exec(env, task);
        self.leave(env, cpu);
    }

    fn new_process(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, process: u32) {
        self.enter(env, cpu);
        self.queues.world.leave_process(task);
        self.queues.world.join_process(task, Some(process), env.jiffies());
    }

    fn wake(&mut self, env: &mut Env, ctx: WakeContext, task: TaskId) {
        self.enter(env, ctx.cpu);
        self.try_to_wake_up(env, ctx, task);
        self.leave(env, ctx.cpu);
    }

    fn block(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        let cpu = self.enter(env, cpu);
        self.clock(env, cpu);
        // Throttled at this very time, it is off the queue already.
        if !self.queues.forget_limbo(cpu, task) {
            self.queues.dequeue(&mut self.sim.on(env), cpu, task, FG_DEQUEUE_SLEEP);
        }
    }

    fn exit(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        let cpu = self.enter(env, cpu);
        self.clock(env, cpu);
        self.queues.world.task_mut(task).flags |= FG_TASK_EXITING;
        self.states[task as usize].dead = true;
        self.queues.world.leave_process(task);
        if !self.queues.forget_limbo(cpu, task) {
            self.queues.dequeue(&mut self.sim.on(env), cpu, task, FG_DEQUEUE_SLEEP);
        }
    }

    fn yield_now(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        let cpu = self.enter(env, cpu);
        self.clock(env, cpu);
        if is_rt(self.queues.world.task(task)) {
            self.requeue_rt(cpu, task);
        } else if self.queues.world.task(task).on_rq != 0 {
            self.queues.update_curr(&mut self.sim.on(env), cpu);
            self.queues.world.yield_now(cpu);
        }
    }

    fn change(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, change: &Change) {
        self.enter(env, cpu);
        match change {
            Change::Attr(attr) => self.set_attr(env, task, attr),
            Change::Affinity(allowed) => self.set_affinity(env, task, allowed),
        }
        self.leave(env, cpu);
    }

    fn change_group(&mut self, env: &mut Env, cpu: CpuId, new: &GroupClamp) {
        self.enter(env, cpu);
        self.set_group_clamp(env, new);
        self.leave(env, cpu);
    }

    fn has_hotplug(&self) -> bool {
        true
    }

    fn hotplug(&mut self, env: &mut Env, cpu: CpuId, step: Hotplug) {
        let cpu = self.enter(env, cpu);
        self.change_online(env, cpu, step);
        self.leave(env, cpu as CpuId);
    }

    fn schedule(&mut self, env: &mut Env, cpu: CpuId) -> Pick {
        let cpu = self.enter(env, cpu);
        env.charge(cpu as CpuId, SoftCost::Pick, 1);
        self.clock(env, cpu);
        self.queues.rqs[cpu].clear_resched();
        self.queues.hrtick_clear(&mut self.sim.on(env), cpu, false);
        let (prev, idled) = (self.queues.world.curr(cpu), self.queues.world.cpus[cpu].curr_is_idle != 0);
        let pick = loop {
            let pick = match self.sim.pending[cpu].stop_work.is_empty() {
                true => self.pick(env, cpu),
                false => self.start_stopper(env, cpu),
            };
            // The reschedule that a pull of newidle balancing requested is this schedule().
            self.queues.rqs[cpu].clear_resched();
            // A picked task of a throttled group leaves before it runs.
            if !self.queues.throttle_current(&mut self.sim.on(env), cpu) {
                break pick;
            }
            self.queues.rqs[cpu].clear_resched();
            env.charge(cpu as CpuId, SoftCost::Pick, 1);
        };
        self.replace_idle(cpu, idled, pick);
        self.queues.world.cpus[cpu].curr_is_idle = u8::from(pick == Pick::Idle);
        if pick == Pick::Idle {
            self.queues.hrtick_clear(&mut self.sim.on(env), cpu, true);
        }
        self.emit_switch(env, cpu, prev, pick);
        self.finish_switch(env, cpu, prev);
        if let Pick::Task(task) = pick {
            self.push_off(env, cpu, task);
        }
        self.queues.request_frequency(&mut self.sim.on(env), cpu);
        self.leave(env, cpu as CpuId);
        pick
    }

    fn stopper(&mut self, env: &mut Env, cpu: CpuId) {
        let cpu = self.enter(env, cpu);
        self.run_stopper(env, cpu);
        self.leave(env, cpu as CpuId);
    }

    fn tick(&mut self, env: &mut Env, cpu: CpuId) {
        let cpu = self.enter(env, cpu);
        env.charge(cpu as CpuId, SoftCost::Tick, 1);
        self.clock(env, cpu);
        if self.queues.rqs[cpu].resched_lazy {
            self.queues.resched(&mut self.sim.on(env), cpu);
        }
        match self.queues.world.curr(cpu) {
            Some(task) if is_rt(self.queues.world.task(task)) => {
                self.queues.world.update_thermal(cpu);
                self.tick_rt(env, cpu, task);
            }
            Some(_) => self.queues.tick_fair(&mut self.sim.on(env), cpu),
            None => self.queues.world.idle_tick(cpu),
        }
        self.trigger_balance(env, cpu);
        self.leave(env, cpu as CpuId);
    }

    fn ipi(&mut self, env: &mut Env, cpu: CpuId, ipi: Ipi) {
        let cpu = self.enter(env, cpu);
        match ipi {
            Ipi::Resched => {}
            Ipi::WakeQueue => self.drain_wake_list(env, cpu),
            Ipi::NohzKick => self.take_nohz_kick(env, cpu),
            Ipi::Hrtick => self.sim.set_timer(env, cpu as CpuId, self.queues.rqs[cpu].hrtick_at),
            Ipi::Unthrottle => self.queues.unthrottle_asked(&mut self.sim.on(env), cpu),
        }
        self.leave(env, cpu as CpuId);
    }

    fn timer(&mut self, env: &mut Env, cpu: CpuId) {
        let (cpu, now) = (self.enter(env, cpu), env.clock(cpu));
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        let (hrtick, bandwidth, server) = (
            is_due(self.queues.rqs[cpu].hrtick_at),
            is_due(self.queues.next_bandwidth_timer(cpu)),
            is_due(self.sim.timers[cpu].server),
        );
        if bandwidth {
            self.queues.bandwidth_timers(&mut self.sim.on(env), cpu, now);
        }
        if server {
            self.queues.server_timer(&mut self.sim.on(env), cpu, now);
        }
        if hrtick {
            self.hrtick(env, cpu);
        }
        if server || self.queues.has_quotas() {
            self.queues.start_bandwidth_timers(cpu);
            self.renew_timer(env, cpu as CpuId);
        }
        if hrtick || bandwidth || server {
            self.leave(env, cpu as CpuId);
        }
    }

    fn balance(&mut self, env: &mut Env, cpu: CpuId) {
        let cpu = self.enter(env, cpu);
        self.balance_softirq(env, cpu);
        self.leave(env, cpu as CpuId);
    }

    fn idle_enter(&mut self, env: &mut Env, cpu: CpuId, state: IdleView) {
        let cpu = self.enter(env, cpu);
        let entered = FgIdleState {
            index: i32::from(state.index),
            exit_latency: state.exit_latency_ns,
            residency: state.target_residency_ns,
            ..FgIdleState::zeroed()
        };
        self.queues.world.set_idle_state(cpu, &entered, state.since);
    }

    fn idle_exit(&mut self, env: &mut Env, cpu: CpuId) {
        let cpu = self.enter(env, cpu);
        self.queues.world.set_idle_state(cpu, &FgIdleState { index: -1, ..FgIdleState::zeroed() }, env.now());
    }

    fn tick_stopped(&mut self, env: &mut Env, cpu: CpuId, stopped: bool) {
        let cpu = self.enter(env, cpu);
        if stopped {
            self.queues.world.cpus[cpu].idle_calls += 1;
            self.queues.world.nohz_balance_enter_idle(cpu);
        }
    }

    fn frequency_limits(&mut self, env: &mut Env, cpus: &CpuMask) {
        for cpu in cpus.iter() {
            let limits = env.cpu(cpu).limits;
            let limits = FgFrequencyLimits {
                top: env.machine().max_khz(cpu),
                hardware: limits.hardware_khz,
                cooling: limits.cooling_khz,
                policy: limits.policy_khz,
            };
            self.queues.world.set_frequency_limits(cpu as usize, &limits);
            self.queues.world.limit_governor(cpu as usize, limits.policy);
        }
    }

    fn foresee(&self, cpu: CpuId, task: Option<TaskId>) {
        prefetch_start(&self.queues.world.cpus[cpu as usize], offset_of!(FgCpu, rt));
        prefetch_value(&self.queues.rqs[cpu as usize]);
        if let Some(task) = task {
            prefetch_start(self.queues.world.task(task), offset_of!(FgTask, allowed));
        }
    }

    fn may_hold_back(&self, task: TaskId) -> bool {
        self.queues.world.is_held_back(task)
    }

    fn rule(&self, rule: u16) -> Rule<'_> {
        rules::numbered(&RULES, rule.into())
    }

    fn balance_rule(&self, rule: u16) -> Rule<'_> {
        rules::numbered(&BALANCE_RULES, rule.into())
    }

    fn pick_rule(&self, rule: u16) -> Rule<'_> {
        rules::numbered(&PICK_RULES, rule.into())
    }

    fn level_name(&self, level: u8) -> &str {
        self.sim.topology.level_name(level)
    }

    fn note_text(&self, note: u16) -> &str {
        why::note_text(note)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.features.notes();
        notes.extend(self.sim.topology.partitions().iter().skip(1).map(|p| format!("partition: {p}")));
        notes
    }

    fn audit(&self, env: &Env) -> Result<(), String> {
        self.check_invariants(env)
    }
}

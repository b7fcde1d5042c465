//! [`Fair`]: what the engine calls, and the path of one schedule().

use std::sync::Arc;

use fairground_machine::{CpuId, CpuMask, Machine, SoftCost};
use fairground_sim::{
    prefetch_value, Change, ClampLimits, Config, Env, Governor, IdleView, Ipi, Pick, Scheduler, TaskId, TaskInfo,
    WakeContext,
};
use fairground_workload::{GroupClamp, GroupId, Workload};

use crate::balance::PUSH_RULE;
use crate::ffi::*;
use crate::groups::Groups;
use crate::order::TaskOrder;
use crate::rq::RunQueue;
use crate::rt::{is_rt, RT_RULES};
use crate::told::Told;
use crate::topology::{Options, Topology};
use crate::world::{group_of_entity, World};
use crate::{ffi, why, FairError, Features};

/// What is known of a task besides `FgTask`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TaskState {
    /// Woken, on its way to the CPU in `FgTask::cpu`.
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
    topology: Topology,
    pub(crate) world: World,
    pub(crate) rqs: Vec<RunQueue>,
    pub(crate) states: Vec<TaskState>,
    /// Which task of a run queue is moved first.
    pub(crate) order: TaskOrder,
    /// Task groups.
    pub(crate) groups: Groups,
    /// Limits of clamps.
    pub(crate) limits: ClampLimits,
    /// Somebody has asked for a clamp.
    pub(crate) clamps_asked: bool,
    /// What traces were told of clamps.
    pub(crate) told: Told,
    /// Tasks on their way from one run queue to another; empty between calls.
    pub(crate) taken: Vec<TaskId>,
    /// CPU of the present call.
    pub(crate) here: CpuId,
    /// Room for what the policy notes, while somebody asks why.
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
        let rqs = (0..machine.nr_cpus()).map(|_| RunQueue::new(features.get(FG_RQ))).collect();
        let order = TaskOrder::new(machine.nr_cpus());
        Ok(Fair {
            features,
            topology,
            world,
            rqs,
            states: Vec::new(),
            order,
            groups: Groups::default(),
            limits: ClampLimits::default(),
            clamps_asked: false,
            told: Told::default(),
            taken: Vec::new(),
            here: 0,
            why: None,
        })
    }

    /// What it is.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Its scheduling domains.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// What the policy sees of the whole, for asking it questions beside a run.
    pub fn sys(&self) -> &FgSys {
        self.world.sys()
    }

    /// What the policy sees of a CPU.
    pub fn cpu(&self, cpu: CpuId) -> &FgCpu {
        &self.world.cpus[cpu as usize]
    }

    /// What the policy sees of a task. Panics if there never was such a task.
    pub fn task(&self, task: TaskId) -> &FgTask {
        self.world.task(task)
    }

    /// Starts a call on `cpu`.
    pub(crate) fn enter(&mut self, env: &Env, cpu: CpuId) -> usize {
        self.here = cpu;
        if self.world.sys().hz != env.hz() {
            self.world.set_hz(env.hz());
        }
        cpu as usize
    }

    /// Brings the clocks of a run queue up to what this CPU sees.
    pub(crate) fn clock(&mut self, env: &Env, cpu: usize) {
        let view = env.cpu(cpu as CpuId);
        self.world.cpus[cpu].freq_scale = view.freq_scale;
        self.world.update_rq_clock(cpu, env.clock(self.here), view.irq_ns);
    }

    /// Passes on what schedutil wants of the clock of `cpu`, if anything, since signals of the CPU were updated.
    pub(crate) fn ask_frequency(&mut self, env: &mut Env, cpu: usize) {
        if let Some(khz) = self.world.take_frequency(cpu) {
            env.request_frequency(cpu as CpuId, khz);
        }
    }

    /// resched_curr: once, until schedule() runs there.
    pub(crate) fn resched(&mut self, env: &mut Env, cpu: usize) {
        if !self.rqs[cpu].resched {
            self.rqs[cpu].resched = true;
            env.resched(cpu as CpuId);
        }
    }

    /// Takes the current task of `cpu` off it; back into the queue if it is still runnable.
    pub(crate) fn put_prev(&mut self, cpu: usize) {
        let Some(prev) = self.world.curr(cpu) else { return };
        if is_rt(self.world.task(prev)) {
            self.world.put_prev_rt(cpu, prev);
        } else {
            self.put_prev_fair(cpu, prev);
            self.put_prev_group(cpu, prev);
        }
    }

    /// The same of a fair task, whose group may keep the CPU.
    fn put_prev_fair(&mut self, cpu: usize, prev: TaskId) {
        self.charge_curr(cpu);
        self.world.put_prev_entity(cpu, prev);
        self.insert_if_queued(cpu, prev);
    }

    /// Makes a queued fair task current.
    pub(crate) fn set_next_fair(&mut self, cpu: usize, next: TaskId) {
        self.remove_from_tree(cpu, next);
        self.around_group(cpu, next, |world| world.set_next_entity(cpu, next));
        self.order.renew(cpu, next);
    }

    fn pick(&mut self, env: &mut Env, cpu: usize) -> Pick {
        let prev = self.world.curr(cpu);
        let prev_rt = prev.is_some_and(|p| is_rt(self.world.task(p)));
        if let Some(next) = self.rqs[cpu].rt.first() {
            if prev != Some(next) {
                self.put_prev(cpu);
                self.world.set_next_rt(cpu, next, prev_rt);
            }
            return Pick::Task(next);
        }
        if prev_rt {
            self.put_prev(cpu);
        }
        loop {
            if let Some(next) = self.pick_fair(env, cpu) {
                return Pick::Task(next);
            }
            self.put_prev(cpu);
            if !self.newly_idle(env, cpu) {
                return Pick::Idle;
            }
        }
    }

    /// pick_next_task_fair. Delayed sleepers whose turn comes are dequeued on the way.
    fn pick_fair(&mut self, env: &mut Env, cpu: usize) -> Option<TaskId> {
        self.charge_curr(cpu);
        let next = loop {
            let (first, second) = self.candidates(cpu);
            let entity = self.world.pick_entity(cpu, first, second)?;
            let next = match group_of_entity(entity) {
                None => entity,
                Some(tg) if self.world.entity(cpu, entity).flags & FG_TASK_DELAYED != 0 => {
                    self.dequeue_delayed_group(env, cpu, tg);
                    continue;
                }
                Some(tg) => self.pick_in_group(cpu, tg)?,
            };
            if self.world.task(next).flags & FG_TASK_DELAYED == 0 {
                break next;
            }
            self.dequeue_delayed(env, cpu, next);
        };
        let prev = self.world.curr(cpu);
        if prev == Some(next) {
            self.world.clear_buddies(cpu, next);
            if u32::from(self.features.get(FG_RQ)) != FG_RQ_EEVDF612 {
                self.order.renew(cpu, next);
            }
        } else {
            match prev.filter(|prev| self.shares_group(*prev, next)) {
                Some(prev) => self.put_prev_fair(cpu, prev),
                None => self.put_prev(cpu),
            }
            self.set_next_fair(cpu, next);
        }
        Some(next)
    }

    fn start_stopper(&mut self, cpu: usize) -> Pick {
        self.put_prev(cpu);
        if !self.rqs[cpu].stopper {
            self.rqs[cpu].stopper = true;
            self.world.add_nr_running(cpu);
        }
        Pick::Stopper
    }

    /// finish_task_switch: the task that was current is off the CPU now.
    fn finish_switch(&mut self, env: &mut Env, cpu: usize, prev: Option<TaskId>) {
        let Some(prev) = prev.filter(|p| self.world.curr(cpu) != Some(*p)) else { return };
        if self.states[prev as usize].dead {
            if !is_rt(self.world.task(prev)) {
                self.world.migrate_task(cpu, prev);
            }
        } else if self.states[prev as usize].deferred {
            self.deferred_wakes(env, cpu);
        }
    }
}

/// Name and text of a rule: the policy's, then those of RT placement.
fn rule_words(rule: u16) -> Option<(&'static str, &'static str)> {
    RULES.iter().chain(&RT_RULES).nth(usize::from(rule)).copied()
}

/// The same of a rule of balancing.
fn balance_rule_words(rule: u16) -> Option<(&'static str, &'static str)> {
    BALANCE_RULES.iter().chain([&PUSH_RULE]).nth(usize::from(rule)).copied()
}

impl Scheduler for Fair {
    fn boot(&mut self, env: &mut Env, workload: &Workload, config: &Config) -> Result<(), String> {
        self.start_groups(workload, &config.clamps)?;
        if config.governor == Governor::Schedutil {
            self.world.start_energy_awareness(env.machine(), &self.topology);
            self.world.start_governor(env.machine());
        }
        Ok(())
    }

    fn fork(&mut self, env: &mut Env, cpu: CpuId, parent: Option<TaskId>, child: &TaskInfo) {
        self.enter(env, cpu);
        self.place_child(env, parent, child);
    }

    fn exec(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.enter(env, cpu);
        self.place_exec(env, task);
    }

    fn wake(&mut self, env: &mut Env, ctx: WakeContext, task: TaskId) {
        self.enter(env, ctx.cpu);
        self.try_to_wake_up(env, ctx, task);
    }

    fn block(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        let cpu = self.enter(env, cpu);
        self.clock(env, cpu);
        self.dequeue(env, cpu, task, FG_DEQUEUE_SLEEP);
    }

    fn exit(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        let cpu = self.enter(env, cpu);
        self.clock(env, cpu);
        self.world.task_mut(task).flags |= FG_TASK_EXITING;
        self.states[task as usize].dead = true;
        self.dequeue(env, cpu, task, FG_DEQUEUE_SLEEP);
    }

    fn yield_now(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        let cpu = self.enter(env, cpu);
        self.clock(env, cpu);
        if is_rt(self.world.task(task)) {
            self.requeue_rt(cpu, task);
        } else {
            self.update_curr(env, cpu);
            self.world.yield_entity(cpu);
        }
    }

    fn change(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, change: &Change) {
        self.enter(env, cpu);
        match change {
            Change::Attr(attr) => self.set_attr(env, task, attr),
            Change::Affinity(allowed) => self.set_affinity(env, task, allowed),
        }
    }

    fn change_group(&mut self, env: &mut Env, cpu: CpuId, new: &GroupClamp) {
        self.enter(env, cpu);
        self.set_group_clamp(env, new);
    }

    fn schedule(&mut self, env: &mut Env, cpu: CpuId) -> Pick {
        let cpu = self.enter(env, cpu);
        env.charge(cpu as CpuId, SoftCost::Pick, 1);
        self.clock(env, cpu);
        self.rqs[cpu].resched = false;
        let prev = self.world.curr(cpu);
        let pick = match self.rqs[cpu].stop_work.is_empty() {
            true => self.pick(env, cpu),
            false => self.start_stopper(cpu),
        };
        // What newly idle balancing pulled asked for one: this is it.
        self.rqs[cpu].resched = false;
        self.world.cpus[cpu].curr_is_idle = u8::from(pick == Pick::Idle);
        self.tell_switch(env, cpu, prev, pick);
        self.finish_switch(env, cpu, prev);
        self.ask_frequency(env, cpu);
        pick
    }

    fn stopper(&mut self, env: &mut Env, cpu: CpuId) {
        let cpu = self.enter(env, cpu);
        self.run_stopper(env, cpu);
    }

    fn tick(&mut self, env: &mut Env, cpu: CpuId) {
        let cpu = self.enter(env, cpu);
        env.charge(cpu as CpuId, SoftCost::Tick, 1);
        self.clock(env, cpu);
        match self.world.curr(cpu) {
            Some(task) if is_rt(self.world.task(task)) => {
                self.world.update_thermal(cpu);
                self.tick_rt(env, cpu, task);
            }
            Some(_) => self.tick_fair(env, cpu),
            None => self.world.update_thermal(cpu),
        }
        self.trigger_balance(env, cpu);
    }

    fn ipi(&mut self, env: &mut Env, cpu: CpuId, ipi: Ipi) {
        let cpu = self.enter(env, cpu);
        match ipi {
            Ipi::Resched => {}
            Ipi::WakeQueue => self.drain_wake_list(env, cpu),
            Ipi::NohzKick => self.take_nohz_kick(env, cpu),
        }
    }

    fn balance(&mut self, env: &mut Env, cpu: CpuId) {
        let cpu = self.enter(env, cpu);
        self.balance_softirq(env, cpu);
    }

    fn idle_enter(&mut self, env: &mut Env, cpu: CpuId, state: IdleView) {
        let cpu = self.enter(env, cpu);
        let entered = FgIdleState {
            index: i32::from(state.index),
            exit_latency: state.exit_latency_ns,
            residency: state.target_residency_ns,
            ..FgIdleState::zeroed()
        };
        self.world.set_idle_state(cpu, &entered, state.since);
    }

    fn idle_exit(&mut self, env: &mut Env, cpu: CpuId) {
        let cpu = self.enter(env, cpu);
        self.world.set_idle_state(cpu, &FgIdleState { index: -1, ..FgIdleState::zeroed() }, env.now());
    }

    fn tick_stopped(&mut self, env: &mut Env, cpu: CpuId, stopped: bool) {
        let cpu = self.enter(env, cpu);
        if stopped {
            self.world.cpus[cpu].idle_calls += 1;
            self.world.nohz_balance_enter_idle(cpu);
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
            self.world.set_frequency_limits(cpu as usize, &limits);
            self.world.limit_governor(cpu as usize, limits.policy);
        }
    }

    fn foresee(&self, cpu: CpuId, task: Option<TaskId>) {
        prefetch_value(&self.world.cpus[cpu as usize]);
        prefetch_value(&self.rqs[cpu as usize]);
        if let Some(task) = task {
            prefetch_value(self.world.task(task));
        }
    }

    fn rule_name(&self, rule: u16) -> &str {
        rule_words(rule).map_or("unknown", |(name, _)| name)
    }

    fn rule_text(&self, rule: u16) -> &str {
        rule_words(rule).map_or("", |(_, text)| text)
    }

    fn balance_rule_name(&self, rule: u16) -> &str {
        balance_rule_words(rule).map_or("unknown", |(name, _)| name)
    }

    fn balance_rule_text(&self, rule: u16) -> &str {
        balance_rule_words(rule).map_or("", |(_, text)| text)
    }

    fn level_name(&self, level: u8) -> &str {
        self.topology.level_name(level)
    }

    fn note_text(&self, note: u16) -> &str {
        why::note_text(note)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.features.notes();
        notes.extend(self.topology.partitions().iter().skip(1).map(|p| format!("partition: {p}")));
        notes
    }

    fn audit(&self, env: &Env) -> Result<(), String> {
        self.audit_books(env)
    }
}

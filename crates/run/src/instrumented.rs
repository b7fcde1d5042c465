//! [`Instrumented`]: a scheduler that passes every call on to another and reports its begin and end to [`CallHooks`].

use fairground_machine::{CpuId, CpuMask};
use fairground_sim::{
    Change, Config, Env, Hotplug, IdleView, Ipi, Pick, Rule, Scheduler, TaskId, TaskInfo, Time, WakeContext,
};
use fairground_workload::{GroupClamp, Workload};

/// The calls of [`Scheduler`] that decide or do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Call {
    /// Construction of the scheduler for a machine, and [`Scheduler::boot`].
    Boot,
    /// [`Scheduler::fork`]: a new task is placed and enqueued.
    Fork,
    /// [`Scheduler::exec`]: a task that calls exec is placed. [`Scheduler::new_process`]: it is of a process of its own.
    Exec,
    /// [`Scheduler::wake`]: a sleeping task becomes runnable.
    Wake,
    /// [`Scheduler::block`]: the current task sleeps.
    Block,
    /// [`Scheduler::exit`]: the current task ends.
    Exit,
    /// [`Scheduler::yield_now`]: the current task yields.
    Yield,
    /// [`Scheduler::change`] or [`Scheduler::change_group`]: attributes of a task or of a group change.
    Change,
    /// [`Scheduler::schedule`]: a CPU picks its next task.
    Schedule,
    /// [`Scheduler::stopper`]: a CPU's stopper task runs.
    Stopper,
    /// [`Scheduler::tick`]: the periodic tick of a CPU.
    Tick,
    /// [`Scheduler::ipi`]: an inter-processor interrupt arrives.
    Ipi,
    /// [`Scheduler::timer`]: a CPU's timer expires.
    Timer,
    /// [`Scheduler::balance`]: the load balancing softirq of a CPU runs.
    Balance,
    /// [`Scheduler::idle_enter`]: a CPU enters an idle state.
    IdleEnter,
    /// [`Scheduler::idle_exit`]: a CPU leaves its idle state.
    IdleExit,
    /// [`Scheduler::tick_stopped`]: an idle CPU stops or restarts its tick.
    TickStopped,
    /// [`Scheduler::hotplug`].
    Hotplug,
    /// [`Scheduler::frequency_limits`]: the limits of a frequency domain change.
    FrequencyLimits,
    /// [`Scheduler::frequency_changed`]: the frequency of a frequency domain changes.
    FrequencyChanged,
}

impl Call {
    /// All of them, in the order of their numbers.
    pub const ALL: [Call; 20] = [
        Call::Boot,
        Call::Fork,
        Call::Exec,
        Call::Wake,
        Call::Block,
        Call::Exit,
        Call::Yield,
        Call::Change,
        Call::Schedule,
        Call::Stopper,
        Call::Tick,
        Call::Ipi,
        Call::Timer,
        Call::Balance,
        Call::IdleEnter,
        Call::IdleExit,
        Call::TickStopped,
        Call::Hotplug,
        Call::FrequencyLimits,
        Call::FrequencyChanged,
    ];

    /// Name of the call in messages.
    pub fn word(self) -> &'static str {
        match self {
            Call::Boot => "boot",
            Call::Fork => "fork",
            Call::Exec => "exec",
            Call::Wake => "wake",
            Call::Block => "block",
            Call::Exit => "exit",
            Call::Yield => "yield",
            Call::Change => "change",
            Call::Schedule => "schedule",
            Call::Stopper => "stopper",
            Call::Tick => "tick",
            Call::Ipi => "ipi",
            Call::Timer => "timer",
            Call::Balance => "balance",
            Call::IdleEnter => "idle_enter",
            Call::IdleExit => "idle_exit",
            Call::TickStopped => "tick_stopped",
            Call::Hotplug => "hotplug",
            Call::FrequencyLimits => "frequency_limits",
            Call::FrequencyChanged => "frequency_changed",
        }
    }
}

/// A call of the scheduler, with its CPU, its task and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The method that is called.
    pub call: Call,
    /// The CPU on which the scheduler is called. [`Call::Boot`]: 0. [`Call::FrequencyLimits`] and
    /// [`Call::FrequencyChanged`]: the first CPU of the frequency domain.
    pub cpu: CpuId,
    /// The task that the call is about; `None` if it is not about a task.
    pub task: Option<TaskId>,
    /// Virtual time of the call, ns.
    pub time: Time,
}

/// Receives the begin and the end of every call.
pub trait CallHooks {
    /// Called before each call of the scheduler.
    fn enter(&mut self, site: CallSite);
    /// Called after each call of the scheduler.
    fn leave(&mut self, call: Call);
}

/// A scheduler that passes every call on to another one.
pub struct Instrumented<H> {
    inner: Box<dyn Scheduler>,
    hooks: H,
}

impl<H: CallHooks> Instrumented<H> {
    /// Passes calls on to `inner` and reports them to `hooks`.
    pub fn new(inner: Box<dyn Scheduler>, hooks: H) -> Self {
        Instrumented { inner, hooks }
    }

    fn watched<R>(
        &mut self,
        env: &mut Env,
        (call, cpu, task): (Call, CpuId, Option<TaskId>),
        f: impl FnOnce(&mut dyn Scheduler, &mut Env) -> R,
    ) -> R {
        self.hooks.enter(CallSite { call, cpu, task, time: env.now() });
        let answer = f(&mut *self.inner, env);
        self.hooks.leave(call);
        answer
    }
}

impl<H: CallHooks> Scheduler for Instrumented<H> {
    fn boot(&mut self, env: &mut Env, workload: &Workload, config: &Config) -> Result<(), String> {
        self.watched(env, (Call::Boot, 0, None), |s, e| s.boot(e, workload, config))
    }

    fn fork(&mut self, env: &mut Env, cpu: CpuId, parent: Option<TaskId>, child: &TaskInfo) {
        self.watched(env, (Call::Fork, cpu, Some(child.id)), |s, e| s.fork(e, cpu, parent, child));
    }

    fn exec(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.watched(env, (Call::Exec, cpu, Some(task)), |s, e| s.exec(e, cpu, task));
    }

    fn new_process(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, process: u32) {
        self.watched(env, (Call::Exec, cpu, Some(task)), |s, e| s.new_process(e, cpu, task, process));
    }

    fn wake(&mut self, env: &mut Env, ctx: WakeContext, task: TaskId) {
        self.watched(env, (Call::Wake, ctx.cpu, Some(task)), |s, e| s.wake(e, ctx, task));
    }

    fn block(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.watched(env, (Call::Block, cpu, Some(task)), |s, e| s.block(e, cpu, task));
    }

    fn exit(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.watched(env, (Call::Exit, cpu, Some(task)), |s, e| s.exit(e, cpu, task));
    }

    fn yield_now(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.watched(env, (Call::Yield, cpu, Some(task)), |s, e| s.yield_now(e, cpu, task));
    }

    fn change(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, change: &Change) {
        self.watched(env, (Call::Change, cpu, Some(task)), |s, e| s.change(e, cpu, task, change));
    }

    fn change_group(&mut self, env: &mut Env, cpu: CpuId, new: &GroupClamp) {
        self.watched(env, (Call::Change, cpu, None), |s, e| s.change_group(e, cpu, new));
    }

    fn has_hotplug(&self) -> bool {
        self.inner.has_hotplug()
    }

    fn hotplug(&mut self, env: &mut Env, cpu: CpuId, step: Hotplug) {
        self.watched(env, (Call::Hotplug, cpu, None), |s, e| s.hotplug(e, cpu, step));
    }

    fn schedule(&mut self, env: &mut Env, cpu: CpuId) -> Pick {
        self.watched(env, (Call::Schedule, cpu, None), |s, e| s.schedule(e, cpu))
    }

    fn stopper(&mut self, env: &mut Env, cpu: CpuId) {
        self.watched(env, (Call::Stopper, cpu, None), |s, e| s.stopper(e, cpu));
    }

    fn tick(&mut self, env: &mut Env, cpu: CpuId) {
        self.watched(env, (Call::Tick, cpu, None), |s, e| s.tick(e, cpu));
    }

    fn ipi(&mut self, env: &mut Env, cpu: CpuId, ipi: Ipi) {
        self.watched(env, (Call::Ipi, cpu, None), |s, e| s.ipi(e, cpu, ipi));
    }

    fn timer(&mut self, env: &mut Env, cpu: CpuId) {
        self.watched(env, (Call::Timer, cpu, None), |s, e| s.timer(e, cpu));
    }

    fn balance(&mut self, env: &mut Env, cpu: CpuId) {
        self.watched(env, (Call::Balance, cpu, None), |s, e| s.balance(e, cpu));
    }

    fn idle_enter(&mut self, env: &mut Env, cpu: CpuId, state: IdleView) {
        self.watched(env, (Call::IdleEnter, cpu, None), |s, e| s.idle_enter(e, cpu, state));
    }

    fn idle_exit(&mut self, env: &mut Env, cpu: CpuId) {
        self.watched(env, (Call::IdleExit, cpu, None), |s, e| s.idle_exit(e, cpu));
    }

    fn tick_stopped(&mut self, env: &mut Env, cpu: CpuId, stopped: bool) {
        self.watched(env, (Call::TickStopped, cpu, None), |s, e| s.tick_stopped(e, cpu, stopped));
    }

    fn frequency_limits(&mut self, env: &mut Env, cpus: &CpuMask) {
        let cpu = cpus.first().unwrap_or_default();
        self.watched(env, (Call::FrequencyLimits, cpu, None), |s, e| s.frequency_limits(e, cpus));
    }

    fn frequency_changed(&mut self, env: &mut Env, cpus: &CpuMask) {
        let cpu = cpus.first().unwrap_or_default();
        self.watched(env, (Call::FrequencyChanged, cpu, None), |s, e| s.frequency_changed(e, cpus));
    }

    fn foresee(&self, cpu: CpuId, task: Option<TaskId>) {
        self.inner.foresee(cpu, task);
    }

    fn may_hold_back(&self, task: TaskId) -> bool {
        self.inner.may_hold_back(task)
    }

    fn has_own_rules(&self) -> bool {
        self.inner.has_own_rules()
    }

    fn rule(&self, rule: u16) -> Rule<'_> {
        self.inner.rule(rule)
    }

    fn pick_rule(&self, rule: u16) -> Rule<'_> {
        self.inner.pick_rule(rule)
    }

    fn balance_rule(&self, rule: u16) -> Rule<'_> {
        self.inner.balance_rule(rule)
    }

    fn level_name(&self, level: u8) -> &str {
        self.inner.level_name(level)
    }

    fn note_text(&self, note: u16) -> &str {
        self.inner.note_text(note)
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }

    fn audit(&self, env: &Env) -> Result<(), String> {
        self.inner.audit(env)
    }
}

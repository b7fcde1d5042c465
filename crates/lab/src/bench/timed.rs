//! A scheduler whose wakeups and forks are timed in host time. Everything is passed on.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use fairground_machine::{CpuId, CpuMask};
use fairground_sim::{Change, Config, Env, IdleView, Ipi, Pick, Scheduler, TaskId, TaskInfo, WakeContext};
use fairground_workload::Workload;

/// Host time spent in timed calls.
#[derive(Default)]
pub struct Meter {
    total: Cell<Duration>,
    calls: Cell<u64>,
}

impl Meter {
    fn add(&self, time: Duration) {
        self.total.set(self.total.get() + time);
        self.calls.set(self.calls.get() + 1);
    }

    /// ns per call, without what reading the clock takes; 0 without calls.
    pub fn mean_ns(&self) -> f64 {
        if self.calls.get() == 0 {
            return 0.0;
        }
        let mean = self.total.get().as_nanos() as f64 / self.calls.get() as f64;
        (mean - clock_ns()).max(0.0)
    }
}

/// What an empty measurement shows, ns: the quietest of some rounds, for one that is preempted says nothing of the clock.
fn clock_ns() -> f64 {
    const ROUNDS: u32 = 20;
    const N: u32 = 500;
    let round = || (0..N).map(|_| Instant::now().elapsed()).sum::<Duration>();
    let total = (0..ROUNDS).map(|_| round()).min().unwrap_or_default();
    total.as_nanos() as f64 / f64::from(N)
}

/// The scheduler around another.
pub struct Timed {
    inner: Box<dyn Scheduler>,
    meter: Rc<Meter>,
}

impl Timed {
    /// Around `inner`; the meter can be read after the run.
    pub fn new(inner: Box<dyn Scheduler>) -> (Timed, Rc<Meter>) {
        let meter = Rc::new(Meter::default());
        (Timed { inner, meter: Rc::clone(&meter) }, meter)
    }

    /// The scheduler inside.
    pub fn into_inner(self) -> Box<dyn Scheduler> {
        self.inner
    }
}

impl Scheduler for Timed {
    fn boot(&mut self, env: &mut Env, workload: &Workload, config: &Config) -> Result<(), String> {
        self.inner.boot(env, workload, config)
    }

    fn fork(&mut self, env: &mut Env, cpu: CpuId, parent: Option<TaskId>, child: &TaskInfo) {
        let start = Instant::now();
        self.inner.fork(env, cpu, parent, child);
        self.meter.add(start.elapsed());
    }

    fn wake(&mut self, env: &mut Env, ctx: WakeContext, task: TaskId) {
        let start = Instant::now();
        self.inner.wake(env, ctx, task);
        self.meter.add(start.elapsed());
    }

    fn exec(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.inner.exec(env, cpu, task);
    }

    fn block(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.inner.block(env, cpu, task);
    }

    fn exit(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.inner.exit(env, cpu, task);
    }

    fn yield_now(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.inner.yield_now(env, cpu, task);
    }

    fn change(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, change: &Change) {
        self.inner.change(env, cpu, task, change);
    }

    fn schedule(&mut self, env: &mut Env, cpu: CpuId) -> Pick {
        self.inner.schedule(env, cpu)
    }

    fn stopper(&mut self, env: &mut Env, cpu: CpuId) {
        self.inner.stopper(env, cpu);
    }

    fn tick(&mut self, env: &mut Env, cpu: CpuId) {
        self.inner.tick(env, cpu);
    }

    fn ipi(&mut self, env: &mut Env, cpu: CpuId, ipi: Ipi) {
        self.inner.ipi(env, cpu, ipi);
    }

    fn timer(&mut self, env: &mut Env, cpu: CpuId) {
        self.inner.timer(env, cpu);
    }

    fn balance(&mut self, env: &mut Env, cpu: CpuId) {
        self.inner.balance(env, cpu);
    }

    fn idle_enter(&mut self, env: &mut Env, cpu: CpuId, state: IdleView) {
        self.inner.idle_enter(env, cpu, state);
    }

    fn idle_exit(&mut self, env: &mut Env, cpu: CpuId) {
        self.inner.idle_exit(env, cpu);
    }

    fn tick_stopped(&mut self, env: &mut Env, cpu: CpuId, stopped: bool) {
        self.inner.tick_stopped(env, cpu, stopped);
    }

    fn frequency_limits(&mut self, env: &mut Env, cpus: &CpuMask) {
        self.inner.frequency_limits(env, cpus);
    }

    fn frequency_changed(&mut self, env: &mut Env, cpus: &CpuMask) {
        self.inner.frequency_changed(env, cpus);
    }

    fn may_hold_back(&self, task: TaskId) -> bool {
        self.inner.may_hold_back(task)
    }

    fn rule_name(&self, rule: u16) -> &str {
        self.inner.rule_name(rule)
    }

    fn rule_text(&self, rule: u16) -> &str {
        self.inner.rule_text(rule)
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

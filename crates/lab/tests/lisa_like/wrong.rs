//! Policies that are wrong on purpose: a scheduler around the right one that meddles with what it is asked or with
//! what it has computed.

use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::{Change, Config, Env, IdleView, Ipi, Pick, Rule, Scheduler, TaskId, TaskInfo, WakeContext};
use fairground_workload::{GroupClamp, SchedAttr, Workload};

use crate::bench::{Subject, Tape};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// A wakeup goes to the largest CPU that is free.
    Dearest,
    /// All wakeups go to CPU 0.
    Crowd,
    /// A wakeup never leaves the cluster of its previous CPU, and nothing is pulled out of it.
    Clannish,
    /// Nobody hears of clamps.
    NoClamps,
    /// The clocks are kept at their slowest.
    SlowClock,
    /// No task is ever too big for its CPU.
    NoMisfit,
    /// The estimate of utilization never falls.
    EstimateStuck,
    /// The estimate of utilization is half of what it was to be.
    EstimateHalved,
}

impl Wrong {
    /// Whether it takes a scheduler whose state can be written.
    pub fn writes_state(self) -> bool {
        matches!(self, Wrong::NoMisfit | Wrong::EstimateStuck | Wrong::EstimateHalved)
    }
}

/// A scheduler, right or wrong, whose estimates are noted.
pub struct Meddled {
    pub inner: Subject,
    pub wrong: Option<Wrong>,
    pub tape: Tape,
}

impl Meddled {
    fn is(&self, wrong: Wrong) -> bool {
        self.wrong == Some(wrong)
    }

    fn sched(&mut self) -> &mut dyn Scheduler {
        self.inner.sched()
    }

    /// Where this task may go with its next wakeup or from its birth on; none: as it likes.
    fn confines(&self, env: &Env, cpu: CpuId) -> Option<CpuMask> {
        match self.wrong? {
            Wrong::Dearest => Some(CpuMask::single(largest_free(env.machine(), &self.tape))),
            Wrong::Crowd => Some(CpuMask::single(0)),
            Wrong::Clannish => Some(env.machine().clusters[env.machine().cpus[cpu as usize].cluster as usize].cpus),
            _ => None,
        }
    }

    fn heard(&self, attr: SchedAttr) -> SchedAttr {
        match self.is(Wrong::NoClamps) {
            true => SchedAttr { uclamp_min: 0, uclamp_max: 1024, ..attr },
            false => attr,
        }
    }

    /// After whatever may have asked for a faster clock: the last word counts.
    fn slow_down(&mut self, env: &mut Env) {
        if self.is(Wrong::SlowClock) {
            let clocks = env.machine().freq_domains.iter();
            let slowest: Vec<_> = clocks.filter_map(|d| Some((d.cpus.first()?, d.opps.first()?.khz))).collect();
            slowest.into_iter().for_each(|(cpu, khz)| env.request_frequency(cpu, khz));
        }
    }

    fn forget_misfit(&mut self) {
        if let (true, Subject::Fair(fair)) = (self.is(Wrong::NoMisfit), &self.inner) {
            let sys = fair.sys();
            for cpu in 0..sys.nr_cpus as usize {
                // SAFETY: the scheduler's own array of so many CPUs, to which nobody holds a reference between calls.
                unsafe { (*sys.cpus.add(cpu)).misfit_task_load = 0 };
            }
        }
    }

    /// The estimate of `task`, current on `cpu`, before and after what `dequeue` learns.
    fn meddle_with_estimate(&mut self, cpu: CpuId, task: TaskId, dequeue: impl FnOnce(&mut dyn Scheduler)) {
        let wrong = self.wrong.filter(|w| matches!(w, Wrong::EstimateStuck | Wrong::EstimateHalved));
        let (Some(wrong), Subject::Fair(fair)) = (wrong, &mut self.inner) else { return dequeue(self.sched()) };
        let (before, running) = (fair.task(task).est.ewma, fair.cpu(cpu).curr);
        dequeue(&mut **fair);
        let after = fair.task(task).est.ewma;
        let ewma = if wrong == Wrong::EstimateStuck { before.max(after) } else { after / 2 };
        // SAFETY: the task that was current is still one of the scheduler's, and nobody holds a reference to it.
        unsafe { (*running).est.ewma = ewma };
    }
}

/// The largest CPU that runs nobody, the lowest of these; else the largest.
fn largest_free(machine: &Machine, tape: &Tape) -> CpuId {
    let busy = tape.busy();
    let rank = |cpu: CpuId| (!busy.test(cpu), machine.cpus[cpu as usize].capacity, std::cmp::Reverse(cpu));
    machine.all_cpus().iter().max_by_key(|cpu| rank(*cpu)).unwrap_or(0)
}

impl Scheduler for Meddled {
    fn boot(&mut self, env: &mut Env, workload: &Workload, config: &Config) -> Result<(), String> {
        self.sched().boot(env, workload, config)
    }

    fn fork(&mut self, env: &mut Env, cpu: CpuId, parent: Option<TaskId>, child: &TaskInfo) {
        let confines = self.confines(env, cpu).filter(|_| child.affinity == env.machine().all_cpus());
        let affinity = confines.filter(|_| !self.is(Wrong::Clannish)).unwrap_or(child.affinity);
        let told = TaskInfo { attr: self.heard(child.attr), affinity, ..child.clone() };
        self.sched().fork(env, cpu, parent, &told);
    }

    fn wake(&mut self, env: &mut Env, ctx: WakeContext, task: TaskId) {
        self.tape.waking(env.now(), &self.inner, task);
        let confines = self.tape.last(task).and_then(|prev| self.confines(env, prev));
        if let Some(cpus) = confines {
            self.tape.sent(&cpus);
            self.sched().change(env, ctx.cpu, task, &Change::Affinity(cpus));
        }
        self.sched().wake(env, ctx, task);
        self.slow_down(env);
    }

    fn block(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.meddle_with_estimate(cpu, task, |s| s.block(env, cpu, task));
        self.slow_down(env);
    }

    fn change(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, change: &Change) {
        let mut told = match change {
            Change::Attr(attr) => Change::Attr(self.heard(*attr)),
            Change::Affinity(_) => change.clone(),
        };
        if let (Change::Affinity(cpus), Some(confines)) = (&mut told, self.confines(env, cpu)) {
            *cpus = if cpus.and(&confines).is_empty() { *cpus } else { cpus.and(&confines) };
        }
        self.sched().change(env, cpu, task, &told);
        self.slow_down(env);
    }

    fn schedule(&mut self, env: &mut Env, cpu: CpuId) -> Pick {
        let pick = self.sched().schedule(env, cpu);
        self.tape.picked(cpu, pick);
        self.forget_misfit();
        self.slow_down(env);
        pick
    }

    fn tick(&mut self, env: &mut Env, cpu: CpuId) {
        self.sched().tick(env, cpu);
        self.forget_misfit();
        self.slow_down(env);
    }

    fn balance(&mut self, env: &mut Env, cpu: CpuId) {
        self.sched().balance(env, cpu);
        self.slow_down(env);
    }

    fn exec(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.sched().exec(env, cpu, task);
    }

    fn new_process(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, process: u32) {
        self.sched().new_process(env, cpu, task, process);
    }

    fn exit(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.sched().exit(env, cpu, task);
    }

    fn yield_now(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.sched().yield_now(env, cpu, task);
    }

    fn change_group(&mut self, env: &mut Env, cpu: CpuId, new: &GroupClamp) {
        self.sched().change_group(env, cpu, new);
    }

    fn stopper(&mut self, env: &mut Env, cpu: CpuId) {
        self.sched().stopper(env, cpu);
    }

    fn ipi(&mut self, env: &mut Env, cpu: CpuId, ipi: Ipi) {
        self.sched().ipi(env, cpu, ipi);
    }

    fn timer(&mut self, env: &mut Env, cpu: CpuId) {
        self.sched().timer(env, cpu);
    }

    fn idle_enter(&mut self, env: &mut Env, cpu: CpuId, state: IdleView) {
        self.sched().idle_enter(env, cpu, state);
    }

    fn idle_exit(&mut self, env: &mut Env, cpu: CpuId) {
        self.sched().idle_exit(env, cpu);
    }

    fn tick_stopped(&mut self, env: &mut Env, cpu: CpuId, stopped: bool) {
        self.sched().tick_stopped(env, cpu, stopped);
    }

    fn frequency_limits(&mut self, env: &mut Env, cpus: &CpuMask) {
        self.sched().frequency_limits(env, cpus);
    }

    fn frequency_changed(&mut self, env: &mut Env, cpus: &CpuMask) {
        self.sched().frequency_changed(env, cpus);
    }

    fn may_hold_back(&self, task: TaskId) -> bool {
        self.inner.as_sched().may_hold_back(task)
    }

    fn has_own_rules(&self) -> bool {
        self.inner.as_sched().has_own_rules()
    }

    fn rule(&self, rule: u16) -> Rule<'_> {
        self.inner.as_sched().rule(rule)
    }

    fn notes(&self) -> Vec<String> {
        self.inner.as_sched().notes()
    }

    fn audit(&self, env: &Env) -> Result<(), String> {
        self.inner.as_sched().audit(env)
    }
}

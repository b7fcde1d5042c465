//! The engine as host of the sequences: time, costs and reports.

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::{
    draw, Balance, BalanceAttempt, Env, Ipi, MigrateCause, PickKind, Purpose, TaskId, Time, WakeContext,
};

use super::tracepoints::Tracepoints;
use crate::ffi::*;
use crate::sequence::Host;
use crate::topology::Topology;
use crate::world::World;
use crate::{passes, picks};

/// A woken task on its way to another CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemoteWake {
    pub task: TaskId,
    /// Whether the task slept on another CPU.
    pub migrated: bool,
}

/// Work that the stopper of a CPU is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StopWork {
    /// Move a task to `dest` if it is still here.
    Move { task: TaskId, dest: CpuId, cause: MigrateCause },
    /// Move a task off the CPU, which goes offline, if it is still here.
    Vacate { task: TaskId },
    /// Push some task to where active balance wants one.
    Push,
}

/// The pending requests of a CPU, and its private counters.
pub(crate) struct PendingWork {
    /// Remote wakeups, oldest first (wake_list).
    pub wake_list: Vec<RemoteWake>,
    /// Wakeups of a task that is still being switched away from; carried out when that is done.
    pub deferred: Vec<(WakeContext, TaskId)>,
    /// Work for the stopper, oldest first.
    pub stop_work: Vec<StopWork>,
    /// NOHZ_KICK_MASK: the reasons (FG_NOHZ_*_KICK) of all kicks since `nohz_kick` was last taken over.
    pub nohz_kick: u32,
    /// As taken over from `nohz_kick` when the interrupt arrived.
    pub nohz_pending: u32,
    /// Last CPU chosen here by cpumask_any_and_distribute.
    pub distribute_prev: CpuId,
    /// Draws made here for domains that newly idle balancing may pass over (NI_RANDOM).
    draws: u64,
}

impl PendingWork {
    fn none() -> PendingWork {
        PendingWork {
            wake_list: Vec::new(),
            deferred: Vec::new(),
            stop_work: Vec::new(),
            nohz_kick: FG_NOHZ_NO_KICK,
            nohz_pending: FG_NOHZ_NO_KICK,
            distribute_prev: 0,
            draws: 0,
        }
    }
}

/// When timers of a CPU expire, of which the engine knows the first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timers {
    /// The first of a group with a quota.
    pub bandwidth: Option<Time>,
    /// The deadline server's.
    pub server: Option<Time>,
}

/// The state of a simulation besides the run queues.
pub(crate) struct SimState {
    pub topology: Topology,
    pub pending: Vec<PendingWork>,
    /// CPU on which the engine has called the scheduler; during a deferred wakeup, the waker's.
    pub here: CpuId,
    /// The timers besides hrtick, by CPU.
    pub timers: Vec<Timers>,
    /// Some task or group asks for a clamp.
    pub clamps_requested: bool,
    tracepoints: Tracepoints,
    /// The report of the balance attempt whose tasks are being moved.
    report: Option<(BalanceAttempt, Balance)>,
}

impl SimState {
    pub fn new(topology: Topology, nr_cpus: usize) -> SimState {
        SimState {
            topology,
            pending: (0..nr_cpus).map(|_| PendingWork::none()).collect(),
            here: 0,
            timers: vec![Timers::default(); nr_cpus],
            clamps_requested: false,
            tracepoints: Tracepoints::default(),
            report: None,
        }
    }

    /// The host of the sequences of this call.
    #[inline(always)]
    pub fn on<'a>(&'a mut self, env: &'a mut Env) -> SimHost<'a> {
        SimHost { sim: self, env }
    }

    /// update_rq_clock, with the time of the CPU of this call.
    pub fn update_clock(&self, env: &Env, world: &mut World, cpu: usize) {
        let view = env.cpu(cpu as CpuId);
        world.cpus[cpu].freq_scale = view.freq_scale;
        world.update_rq_clock(cpu, env.clock(self.here), view.irq_ns);
    }

    /// Sets the engine's timer of `cpu`, of which there is one, to what comes first: hrtick, or another of its timers.
    pub fn set_timer(&self, env: &mut Env, cpu: CpuId, hrtick: Option<Time>) {
        let timers = &self.timers[cpu as usize];
        let first = [hrtick, timers.bandwidth, timers.server].into_iter().flatten().min();
        env.set_timer(cpu, first.unwrap_or(Time::MAX));
    }

    /// Asks the stopper of `cpu` to move a task.
    pub fn ask_stopper(&mut self, env: &mut Env, cpu: usize, work: StopWork) {
        self.pending[cpu].stop_work.push(work);
        env.stop(cpu as CpuId);
    }
}

/// The host of the sequences during a call of the engine.
pub(crate) struct SimHost<'a> {
    sim: &'a mut SimState,
    env: &'a mut Env,
}

impl Host for SimHost<'_> {
    fn update_clock(&mut self, world: &mut World, cpu: usize) {
        self.sim.update_clock(self.env, world, cpu);
    }

    fn jiffies(&self) -> u64 {
        self.env.jiffies()
    }

    fn charge(&mut self, work: SoftCost, n: u32) {
        self.env.charge(self.sim.here, work, n);
    }

    fn elapsed_ns(&self) -> u64 {
        self.env.clock(self.sim.here)
    }

    fn resched(&mut self, cpu: usize) {
        self.env.resched(cpu as CpuId);
    }

    /// A CPU sets its own timer only.
    fn set_hrtick(&mut self, cpu: usize, at: Option<u64>) {
        match at {
            Some(_) if cpu as CpuId != self.sim.here => self.env.send_ipi(cpu as CpuId, Ipi::Hrtick),
            _ => self.sim.set_timer(self.env, cpu as CpuId, at),
        }
    }

    fn call_unthrottle(&mut self, cpu: usize) {
        self.env.send_ipi(cpu as CpuId, Ipi::Unthrottle);
    }

    fn request_frequency(&mut self, cpu: usize, khz: u32) {
        self.env.request_frequency(cpu as CpuId, khz);
    }

    fn signals_updated(&mut self, world: &World, cpu: usize, task: Option<TaskId>) {
        let clamps = self.env.wants_clamps() && self.sim.clamps_requested;
        if clamps || self.env.wants_signals() {
            self.sim.tracepoints.emit(self.env, world, clamps, cpu, task);
        }
    }

    fn migrated(&mut self, task: TaskId, from: CpuId, to: CpuId, cause: MigrateCause) {
        self.env.migrated(task, from, to, cause);
    }

    fn picked(&mut self, world: &World, cpu: usize, task: TaskId, rule: u32) {
        if self.env.wants_reasons() {
            self.env.picked(picks::report(world, PickKind::Pick, cpu, task, rule));
        }
    }

    fn wakeup_tested(&mut self, world: &World, cpu: usize, task: TaskId, rule: u32) {
        if self.env.wants_reasons() {
            self.env.picked(picks::report(world, PickKind::Wakeup, cpu, task, rule));
        }
    }

    fn slice_ended(&mut self, world: &World, cpu: usize, rule: u32) {
        if let Some(curr) = world.curr(cpu).filter(|_| self.env.wants_reasons()) {
            self.env.picked(picks::report(world, PickKind::Slice, cpu, curr, rule));
        }
    }

    fn draw(&mut self, world: &World, cpu: usize) -> u32 {
        if u32::from(world.sys().feat.value[FG_NEWIDLE_FAIL]) < FG_NEWIDLE_RANDOM {
            return 0;
        }
        let draws = &mut self.sim.pending[cpu].draws;
        *draws += 1;
        (draw(self.env.seed(), Purpose::NewIdle, cpu as u64, *draws) % 1024) as u32
    }

    fn balance_looked(&mut self, world: &World, b: &FgBalance, found: bool) {
        let Some(sd) = world.domain_of(b).filter(|_| found) else { return };
        let look = passes::source_found(b, self.sim.topology.level_of(sd));
        self.sim.report = Some((self.env.balancing(look), look));
    }

    fn balance_pulled(&mut self, moved: u32, active: bool) {
        if let Some((report, look)) = self.sim.report.take() {
            self.env.balanced(report, Balance { moved, active, ..look });
        }
    }

    fn push_requested(&mut self, _world: &mut World, cpu: usize) {
        self.sim.ask_stopper(self.env, cpu, StopWork::Push);
    }

    fn pushing(&mut self, sd: usize, src: CpuId, dst: CpuId) {
        let push = passes::task_pushed(self.sim.topology.level_of(sd), src, dst);
        let report = self.env.balancing(push);
        self.env.balanced(report, push);
    }
}

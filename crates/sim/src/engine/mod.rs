//! The engine: virtual time, what CPUs physically do, programs, interrupts. It asks the scheduler and obeys.
//!
//! Where the costs of one wakeup fall. Effects happen at the instant (`*`), their cost follows (`=`); a CPU in `=`
//! has interrupts off. `e` entering, `i` idle, `x` leaving an idle state, `w` work of a task, `~` IPI in flight.
//!
//! ```text
//!            t0                                t0: write() has done its work; the reader is woken:
//! waker  wwww*==wakeup,probe,enqueue,ipi_send==wwww   Scheduler::wake, then the waker goes on
//!             |                            ^ sent: the instant plus what was charged until then
//!                                          ~~~~~|
//! target iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii*xxxxxxx*===ipi_irq,pick,switch===ssww
//!                                               |       |                          ^ reader runs: stall (refill),
//!                                          arrival     awake: idle_exit, ipi,        then its return half,
//!                                                      schedule, all at one instant  then it looks for data again
//! ```
//!
//! One instant: all events in (class, sequence) order, then one reschedule per flagged CPU in id order, and again
//! while the instant yields more. Nothing here decides where a task runs.
//!
//! Every event bears the instant's time, not the instant plus the cost so far: a switch is seen where it is decided,
//! its cost follows, and the event says how much. Delays that must contain the cost are measured here ([`Meters`]).
//!
//! DEVIATION: a task may be woken onto another CPU while its old CPU still pays for switching it out (the kernel
//! waits for on_cpu to clear, under a microsecond). DEVIATION: the tick runs at its time even
//! where the kernel would merge it with a late interrupt; behind a late timer interrupt, timers whose hard ends are after a
//! tick that waits with it run before that tick.

mod cache_model;
mod clamps;
mod cpu;
mod cpusets;
mod duration_meter;
mod energy;
mod freq_limits;
mod hotplug;
mod idle;
mod interp;
mod irq;
mod kernel_mutex;
mod measure;
mod messages;
mod objects;
mod queue;
mod report;
mod roster;
mod sample;
mod set_speed;
mod task;
mod thermal;
mod ticket;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

use fairground_machine::{CpuId, CpuMask, Machine, SoftCost};
use fairground_workload::{Cpusets, Mark, SpecId, Workload, MAX_DURATION_NS, MAX_TASKS};
use serde::{Deserialize, Serialize};

use crate::checkers::{EventChecker, WasteMeter};
use crate::draw::{draw, lineage_of_start, program_amount, Purpose};
use crate::env::Request;
use crate::metrics::Meters;
use crate::misplacement::MisplacementMeter;
use crate::prefetch::{prefetch_start, prefetch_value};
use crate::{Env, Event, EventKind, MigrateCause, Observer, Reason, Scheduler, SimError, Step, TaskId, TaskInfo, Time};

use cache_model::CacheModel;
pub use clamps::ClampLimits;
use cpu::Cpu;
use duration_meter::DurationMeter;
use energy::{ClusterState, Power};
use hotplug::HotplugState;
pub use idle::IdleStats;
use objects::Obj;
use queue::{EngineEvent, Queue};
pub use report::{Account, Outcome, Totals};
pub use set_speed::{InvalidSpeed, NoSuchClock, SetSpeed};
use task::Task;
use thermal::Heat;

/// Events of one instant after which time is taken to stand still.
const INSTANT_EVENTS_MAX: u64 = 10_000_000;
/// Reschedules of one instant after which time is taken to stand still.
const INSTANT_RESCHEDS_MAX: u64 = 1_000_000;

/// Machines of this many CPUs and more are simulated with prefetching: the host's caches do not hold their state.
const LARGE: usize = 64;

/// The cpufreq governor of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Governor {
    /// Every domain at its top operating point.
    Performance,
    /// Every domain at its bottom operating point.
    Powersave,
    /// Every domain at the operating point that the user sets.
    Userspace(SetSpeed),
    /// The scheduler's own: it asks through [`Env::request_frequency`], and begins at the bottom.
    Schedutil,
}

/// The cpuidle governor of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IdleGovernor {
    /// After Linux's menu governor: the pattern of past stays, and the next timer.
    Menu,
    /// After Linux's timer events oriented governor: the next timer, unless stays were mostly cut before it.
    Teo,
    /// Always the shallowest state, tick always kept.
    Shallowest,
    /// Always the deepest state, tick always stopped.
    Deepest,
}

/// Which kernel locks make threads wait; switched off to measure what they contribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockCosts {
    /// Whether threads wait for the mutexes of pipes.
    pub pipe: bool,
    /// Whether CPUs wait for the locks of run queues and their cache lines.
    pub run_queue: bool,
}

impl Default for LockCosts {
    /// All locks make threads wait, as in the kernel.
    fn default() -> Self {
        LockCosts { pipe: true, run_queue: true }
    }
}

/// Configuration of a run: everything that is neither machine nor workload nor scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Ticks per second: 100, 250, 300 or 1000.
    pub hz: u32,
    /// Seed of all random draws.
    pub seed: u64,
    /// Frequency governor of all domains.
    pub governor: Governor,
    /// Idle governor of all CPUs.
    pub idle: IdleGovernor,
    /// System-wide limits of utilization clamps (the sysctls `sched_util_clamp_*`).
    pub clamps: ClampLimits,
    /// Longest exit latency that the idle governor may choose, ns.
    pub latency_limit_ns: u64,
    /// Start the workload at a point of the first tick drawn from the seed, instead of at its beginning.
    pub start_phase: bool,
    /// A reader of a full pipe wakes a writer even if it has not drained a page; the writer sleeps again: Linux 5.5 to
    /// 6.13 ("pipe_read: don't wake up the writer if the pipe is still full" landed in 6.14).
    pub pipe_eager_writer_wake: bool,
    /// Kernel locks that make threads wait.
    pub locks: LockCosts,
    /// A run whose workload has no duration of its own fails if it takes longer, ns of virtual time. A workload whose
    /// duration is longer is refused.
    pub max_time_ns: Time,
    /// The run fails when it has taken this many events.
    pub max_events: u64,
    /// Ambient temperature, thousandths of a degree Celsius; none: as the machine file says. Has no effect on a machine
    /// without thermal figures.
    pub ambient_mc: Option<i32>,
    /// How often the energy of each rail is reported ([`EventKind::Energy`]), ns, besides at the beginning and the end;
    /// none: never. Not part of the run's hash.
    pub energy_every_ns: Option<u64>,
    /// Whether the scheduler reports its load-tracking signals ([`EventKind::Signals`]). Not part of the run's hash.
    pub signals: bool,
    /// Time between two calls of [`Scheduler::audit`], ns of virtual time.
    pub audit_every_ns: u64,
    /// Which draw of their figures in doubt machine and workload are; 0: as they are stated. For reports: the engine does
    /// not read it.
    pub draw: u64,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            hz: 250,
            seed: 1,
            governor: Governor::Performance,
            idle: IdleGovernor::Menu,
            clamps: ClampLimits::default(),
            latency_limit_ns: u64::MAX,
            start_phase: true,
            pipe_eager_writer_wake: false,
            locks: LockCosts::default(),
            max_time_ns: MAX_DURATION_NS,
            max_events: 20_000_000_000,
            ambient_mc: None,
            energy_every_ns: None,
            signals: false,
            audit_every_ns: 100_000_000,
            draw: 0,
        }
    }
}

/// One run: machine x workload x scheduler x configuration. Used once.
pub struct Engine {
    machine: Arc<Machine>,
    workload: Arc<Workload>,
    sched: Box<dyn Scheduler>,
    config: Config,
    env: Env,
    now: Time,
    queue: Queue,
    /// The machine has at least [`LARGE`] CPUs.
    is_large: bool,
    nr_events: u64,
    cpus: Vec<Cpu>,
    tasks: Vec<Task>,
    objects: Vec<Obj>,
    clusters: Vec<ClusterState>,
    power: Power,
    /// None on a machine without thermal figures.
    heat: Option<Heat>,
    /// Busy threads of each core.
    core_busy: Vec<u32>,
    /// Threads of each core.
    siblings: Vec<Vec<CpuId>>,
    /// Operating point of each frequency domain.
    opp: Vec<u32>,
    /// How long each frequency domain was at its highest operating point.
    at_top: Vec<DurationMeter>,
    /// The operating point that its governor wants, without limits.
    wished_opp: Vec<u32>,
    /// The scheduler's last request; reached after the transition time.
    asked_opp: Vec<u32>,
    /// The time of that request, by the clock of the CPU that made it; by domain.
    asked_at: Vec<Time>,
    /// Work of each [`SoftCost`], work ns x 2^20.
    soft_q20: [u64; SoftCost::COUNT],
    /// Spread of a task's software steps, share of the price x 2^20.
    jitter_q20: u64,
    cache_model: CacheModel,
    /// CPUs to reschedule at the end of the instant.
    flagged: Vec<u64>,
    nr_flagged: u32,
    /// Periods drawn so far, by device.
    device_draws: Vec<u64>,
    nr_spaces: u32,
    /// Live threads that keep the run alive.
    nr_vital: u64,
    /// Threads that are neither asleep nor dead.
    nr_awake: u64,
    /// Timers that will wake a task.
    nr_timers: u64,
    /// Timers armed so far.
    timers_armed: u64,
    requests: Vec<Request>,
    /// The CPU whose schedule() is under way.
    scheduling: Option<CpuId>,
    /// Migrations of the task that is current there (task, from, to, cause): they follow the switch.
    put_off: Vec<(TaskId, CpuId, CpuId, MigrateCause)>,
    events: Vec<Event>,
    /// What led to decisions among `events`, and for each such event its index and how many of these are its.
    reasons: Vec<Reason>,
    reasons_of: Vec<(usize, usize)>,
    /// Steps that threads reached at this instant; stays empty unless an observer wants steps.
    steps: Option<Vec<Step>>,
    cpusets: Cpusets,
    hotplug: HotplugState,
    waste: WasteMeter,
    misplacement: MisplacementMeter,
    meters: Meters,
    failure: Option<SimError>,
    /// A flag by which the caller may end the run early.
    stop: Option<Arc<AtomicBool>>,
    shown_time: Option<Arc<AtomicU64>>,
    /// When the initial threads came into being.
    started: Option<Time>,
    next_audit: Time,
    /// The last instant of the run at most.
    limit: Time,
    /// Statistics begin at a mark of the program.
    begins_by_mark: bool,
    begin: Option<Totals>,
    end: Option<(Totals, Meters)>,
}

impl Engine {
    /// A run that has not begun. The workload is checked when it does.
    pub fn new(machine: Arc<Machine>, workload: Arc<Workload>, sched: Box<dyn Scheduler>, config: Config) -> Self {
        let n = machine.nr_cpus();
        let nr = n as CpuId;
        let opp = machine.freq_domains.iter().map(|d| match config.governor {
            Governor::Performance => d.opps.len() as u32 - 1,
            Governor::Powersave | Governor::Schedutil => 0,
            // A run with clocks that the machine does not have is refused when it begins.
            Governor::Userspace(speed) => speed.opp(d).unwrap_or(0),
        });
        let opp: Vec<u32> = opp.collect();
        let mut at_top = vec![DurationMeter::default(); opp.len()];
        let tops = machine.freq_domains.iter().map(|d| d.opps.len() as u32 - 1);
        at_top.iter_mut().zip(opp.iter().zip(tops)).for_each(|(watch, (opp, top))| watch.set(0, *opp == top));
        let mut env = Env::new(Arc::clone(&machine), config.hz, config.seed);
        env.contend_for_queues(config.locks.run_queue);
        let marks = |m: Mark| workload.tasks.iter().any(|t| t.program.contains(&fairground_workload::Op::Mark(m)));
        Engine {
            env,
            now: 0,
            queue: Queue::default(),
            is_large: n >= LARGE,
            nr_events: 0,
            cpus: (0..nr).map(|c| Cpu::new(config.idle, machine.idle_states(c).len())).collect(),
            tasks: Vec::new(),
            objects: workload.objects.iter().map(Obj::new).collect(),
            clusters: machine.clusters.iter().map(|c| ClusterState::new(&machine, c)).collect(),
            power: Power::new(&machine),
            heat: Heat::new(&machine, config.ambient_mc),
            core_busy: vec![0; machine.cores.len()],
            siblings: machine.cores.iter().map(|c| c.iter().collect()).collect(),
            wished_opp: opp.clone(),
            asked_opp: opp.clone(),
            asked_at: vec![0; opp.len()],
            opp,
            at_top,
            cache_model: CacheModel::new(&machine),
            jitter_q20: (machine.costs.jitter * (1u64 << 20) as f64) as u64,
            soft_q20: machine.costs.soft_ns.map(|ns| (ns * (1u64 << 20) as f64) as u64),
            flagged: vec![0; n.div_ceil(64)],
            nr_flagged: 0,
            device_draws: vec![0; workload.irqs.len()],
            nr_spaces: workload.start.iter().map(|start| start.process.saturating_add(1)).max().unwrap_or(1),
            nr_vital: 0,
            nr_awake: 0,
            nr_timers: 0,
            timers_armed: 0,
            requests: Vec::new(),
            scheduling: None,
            put_off: Vec::new(),
            events: Vec::new(),
            reasons: Vec::new(),
            reasons_of: Vec::new(),
            steps: None,
            cpusets: Cpusets::new(&workload.groups, machine.all_cpus()),
            hotplug: HotplugState::default(),
            waste: WasteMeter::new(n),
            misplacement: MisplacementMeter::new(&machine),
            meters: Meters::new(machine.cpu_types.len()),
            failure: None,
            stop: None,
            shown_time: None,
            started: None,
            next_audit: config.audit_every_ns,
            limit: workload.duration_ns.unwrap_or(config.max_time_ns),
            begins_by_mark: marks(Mark::Begin),
            begin: None,
            end: None,
            machine,
            workload,
            sched,
            config,
        }
    }

    /// The run ends with [`SimError::Stopped`] soon after `stop` becomes true.
    pub fn stop_on(&mut self, stop: Arc<AtomicBool>) {
        self.stop = Some(stop);
    }

    /// The run writes the virtual time that it has reached, ns, for others to look at.
    pub fn show_time(&mut self, time: Arc<AtomicU64>) {
        self.shown_time = Some(time);
    }

    /// The scheduler under test, e.g. to name its rules.
    pub fn scheduler(&self) -> &dyn Scheduler {
        &*self.sched
    }

    /// Units of a kind of work that the scheduler was charged for since time 0.
    pub fn charged(&self, kind: SoftCost) -> u64 {
        self.env.charged(kind)
    }

    /// Orders a frequency change: the domain runs at operating point `opp` from `at` plus its transition time, or from
    /// the next slot after `at` plus that time.
    /// Unknown domains and points are ignored.
    pub fn set_frequency(&mut self, at: Time, domain: u32, opp: u32) {
        let known = self.machine.freq_domains.get(domain as usize);
        if let Some(d) = known.filter(|d| (opp as usize) < d.opps.len()) {
            self.queue.push(d.changed_at(at.max(self.now)), EngineEvent::Frequency { domain, opp });
        }
    }

    /// Runs to the end and reports every event to the observers, in order.
    ///
    /// # Errors
    /// See [`SimError`].
    pub fn run(&mut self, observers: &mut [&mut dyn Observer]) -> Result<Outcome, SimError> {
        self.refuse()?;
        self.env.want_reasons(observers.iter().any(|o| o.wants_reasons()));
        self.env.want_clamps(observers.iter().any(|o| o.wants_clamps()));
        self.env.want_signals(self.config.signals);
        self.steps = observers.iter().any(|o| o.wants_steps()).then(Vec::new);
        self.boot()?;
        let mut checker = EventChecker::new(self.machine.nr_cpus());
        self.prepare();
        let limit = self.limit;
        let end = loop {
            match self.queue.next_time() {
                Some(t) if t <= limit => self.now = t,
                Some(_) => break self.past_limit(limit),
                None => break self.ran_dry(limit),
            }
            self.instant();
            if !self.events.is_empty() || self.steps.is_some() {
                self.deliver_events(&mut checker, observers);
            }
            if let Some(time) = &self.shown_time {
                time.store(self.now, Ordering::Relaxed);
            }
            if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                break Err(SimError::Stopped { at: self.now });
            }
            // Taken only if there is one: a failure is large.
            if self.failure.is_some() {
                return Err(self.failure.take().unwrap_or_else(|| unreachable!("just seen")));
            }
            if self.started.is_some() && self.nr_vital == 0 && self.workload.duration_ns.is_none() {
                break Ok(self.now);
            }
        }?;
        self.now = end;
        if self.config.energy_every_ns.is_some() {
            self.report_energy();
            self.deliver_events(&mut checker, observers);
        }
        let outcome = self.outcome();
        outcome.check(&self.machine).map_err(|what| SimError::Invariant { at: end, what })?;
        Ok(outcome)
    }

    /// The scheduler sets itself up. No CPU is charged for it.
    fn boot(&mut self) -> Result<(), SimError> {
        let (workload, config) = (Arc::clone(&self.workload), self.config);
        let booted = self.call(0, |s, e| s.boot(e, &workload, &config));
        self.cpus.iter_mut().for_each(|c| (c.busy_until, c.overhead_ns) = (0, 0));
        booted.map_err(|what| SimError::Refused { what })
    }

    /// Checks what the interpreter relies on; and refuses at once a duration that is longer than a run may take.
    fn refuse(&self) -> Result<(), SimError> {
        let fail = |what: String| Err(SimError::Program { workload: self.workload.name.clone(), what });
        if let Err(problem) = self.workload.problem(&self.machine) {
            return fail(problem.to_string());
        }
        self.refuse_hotplug()?;
        if let Governor::Userspace(speed) = self.config.governor {
            let what = |no: NoSuchClock| SimError::Refused { what: format!("{no}; {}", no.help) };
            speed.check(&self.machine).map_err(what)?;
        }
        let (s, max) = (|ns: Time| ns as f64 / 1e9, self.config.max_time_ns);
        match self.workload.duration_ns.filter(|d| *d > max) {
            None => Ok(()),
            Some(duration) => fail(format!("its duration is {} s; a run may take {} s", s(duration), s(max))),
        }
    }

    fn past_limit(&self, limit: Time) -> Result<Time, SimError> {
        match self.workload.duration_ns {
            Some(end) => Ok(end),
            None => Err(SimError::TimeLimit { at: limit, report: self.report_threads() }),
        }
    }

    /// No event is left: fine if all have exited and the run has a fixed length.
    fn ran_dry(&self, limit: Time) -> Result<Time, SimError> {
        if self.nr_vital == 0 {
            return Ok(if self.workload.duration_ns.is_some() { limit } else { self.now });
        }
        let what = format!("a runnable thread was forgotten by the scheduler\n{}", self.report_threads());
        Err(SimError::Invariant { at: self.now, what })
    }

    /// Time 0: every CPU is in its idle loop, devices and ticks are armed.
    fn prepare(&mut self) {
        self.arm_caps();
        for domain in 0..self.machine.freq_domains.len() as u32 {
            self.apply_frequency(domain, self.permitted_opp(domain));
        }
        self.arm_heat();
        self.arm_hotplug();
        self.arm_samples();
        for cpu in 0..self.cpus.len() as CpuId {
            self.set_busy(cpu, true);
            self.waste.set_idle(0, cpu, true);
            self.arm_tick(cpu);
            self.retime(cpu);
        }
        for i in 0..self.workload.irqs.len() {
            self.arm_device(i as u32);
        }
        if !self.begins_by_mark {
            self.queue.push(self.workload.warmup_ns, EngineEvent::WarmedUp);
        }
        let phase = draw(self.config.seed, Purpose::StartPhase, 0, 0) % self.env.tick_ns();
        self.queue.push(if self.config.start_phase { phase } else { 0 }, EngineEvent::Start);
    }

    /// All that happens at `now`.
    fn instant(&mut self) {
        let (mut events, mut rescheds) = (0, 0);
        loop {
            while self.queue.is_due(self.now) {
                let what = self.queue.pop();
                if self.is_large {
                    self.foresee();
                }
                self.dispatch(what);
                events += 1;
                if self.failure.is_some() || self.over_limit(events, what) {
                    return;
                }
            }
            while let Some(cpu) = self.next_flagged() {
                self.reschedule(cpu);
                rescheds += 1;
                if rescheds > INSTANT_RESCHEDS_MAX {
                    self.fail_livelock(format!("CPU {cpu} is rescheduled over and over"));
                }
                if self.failure.is_some() {
                    return;
                }
            }
            if !self.queue.is_due(self.now) {
                break;
            }
        }
        self.end_of_instant();
    }

    /// Whether nothing happens until `due`, neither at the end of this instant, where no CPU is to be rescheduled.
    #[inline]
    fn may_run_ahead_to(&self, due: Time) -> bool {
        self.now < due
            && due < self.queue.next_of_others()
            && due <= self.limit
            && self.now < self.next_audit
            && self.nr_vital > 0
            && self.nr_events + 1 < self.config.max_events
            && self.steps.is_none()
    }

    /// Counts an event; true if there have been too many.
    fn over_limit(&mut self, in_instant: u64, what: EngineEvent) -> bool {
        self.nr_events += 1;
        if in_instant > INSTANT_EVENTS_MAX {
            self.fail_livelock(format!("{what:?} comes over and over"));
        } else if self.nr_events >= self.config.max_events {
            let (at, events) = (self.now, self.nr_events);
            self.fail(SimError::EventLimit { at, events, what: format!("{what:?}") });
        }
        self.failure.is_some()
    }

    fn end_of_instant(&mut self) {
        if self.started.is_some()
            && self.nr_awake == 0
            && self.nr_timers == 0
            && self.nr_vital > 0
            && !self.awaits_device()
        {
            let at = self.now;
            self.fail(SimError::Deadlock { at, report: self.report_threads() });
        }
        if self.now >= self.next_audit {
            self.next_audit = self.now + self.config.audit_every_ns;
            if let Err(what) = self.sched.audit(&self.env) {
                self.fail_invariant(format!("the scheduler's own audit: {what}"));
            }
        }
    }

    /// Whether a thread sleeps that a device will wake. Others may then be woken by it.
    fn awaits_device(&self) -> bool {
        let mut posted = self.workload.irqs.iter().filter_map(|irq| irq.posts);
        posted.any(|s| matches!(&self.objects[s as usize], Obj::Semaphore { waiters, .. } if !waiters.is_empty()))
    }

    fn deliver_events(&mut self, checker: &mut EventChecker, observers: &mut [&mut dyn Observer]) {
        if !self.reasons_of.is_empty() {
            self.deliver_with_reasons(checker, observers);
        }
        for event in &self.events {
            checker.event(event);
            for o in observers.iter_mut() {
                o.event(event);
            }
        }
        self.events.clear();
        if let Some(steps) = &mut self.steps {
            for step in steps.drain(..) {
                observers.iter_mut().for_each(|o| o.step(&step));
            }
        }
        if let Some(what) = checker.take_error() {
            self.fail_invariant(what);
        }
    }

    /// The events up to the last one that has reasons. Apart, so that runs without reasons do not pay for it.
    #[cold]
    fn deliver_with_reasons(&mut self, checker: &mut EventChecker, observers: &mut [&mut dyn Observer]) {
        let mut reasons = self.reasons.drain(..);
        let mut delivered = 0;
        for (at, n) in self.reasons_of.drain(..) {
            let its: Vec<Reason> = reasons.by_ref().take(n).collect();
            for event in self.events.drain(..at + 1 - delivered) {
                checker.event(&event);
                for o in observers.iter_mut() {
                    if delivered == at {
                        o.reasons(&event, &its);
                    }
                    o.event(&event);
                }
                delivered += 1;
            }
        }
    }

    /// The next `n` reasons belong to the next event.
    #[cold]
    fn keep_reasons(&mut self, n: usize) {
        self.env.drain_reasons(&mut self.reasons);
        self.reasons_of.push((self.events.len(), n));
    }

    /// Asks the memory for what the next event needs.
    fn foresee(&self) {
        let (cpu, task) = match self.queue.likely_next() {
            Some(EngineEvent::Timer { cpu, task }) => (cpu, Some(task)),
            Some(EngineEvent::Cpu(cpu)) => (cpu, self.cpus[cpu as usize].curr),
            Some(
                EngineEvent::SchedTimer(cpu)
                | EngineEvent::Ipi { to: cpu, .. }
                | EngineEvent::Tick(cpu)
                | EngineEvent::Balance(cpu),
            ) => (cpu, None),
            _ => return,
        };
        prefetch_value(&self.cpus[cpu as usize]);
        prefetch_value(self.env.cpu(cpu));
        if let Some(task) = task {
            prefetch_start(&self.tasks[task as usize], Task::HOT);
        }
        self.sched.foresee(cpu, task);
    }

    #[inline]
    fn dispatch(&mut self, what: EngineEvent) {
        match what {
            EngineEvent::Cpu(cpu) => self.cpu_due(cpu),
            EngineEvent::Timer { task, .. } => self.timer_fires(task),
            what => self.dispatch_rarer(what),
        }
    }

    #[inline(never)]
    fn dispatch_rarer(&mut self, what: EngineEvent) {
        match what {
            EngineEvent::Cpu(_) | EngineEvent::Timer { .. } => {}
            EngineEvent::SchedTimer(cpu) => self.sched_timer_fires(cpu),
            EngineEvent::Device(i) => self.device_fires(i),
            EngineEvent::Frequency { domain, opp } => {
                self.wished_opp[domain as usize] = opp;
                self.apply_frequency(domain, self.permitted_opp(domain));
            }
            EngineEvent::Limits { domain } => self.limits_change(domain),
            EngineEvent::Reclock { domain } => self.reclock(domain),
            EngineEvent::Heat => self.heat_step(),
            EngineEvent::Hotplug { span, online } => self.hotplug_due(span, online),
            EngineEvent::EnergySample => self.sample_energy(),
            EngineEvent::WarmedUp => self.begin_statistics(),
            EngineEvent::Start => self.start(),
            EngineEvent::Ipi { to, ipi, polled } => {
                self.cpus[to as usize].ipis_in_flight -= 1;
                self.deliver(to, irq::Irq::Ipi { ipi, polled });
            }
            EngineEvent::Tick(cpu) => self.tick_fires(cpu),
            EngineEvent::Balance(cpu) => self.balance_softirq(cpu),
        }
    }

    /// Creates the initial threads. No CPU is charged for placing them: they exist from the start.
    #[cold]
    fn start(&mut self) {
        self.started = Some(self.now);
        let workload = Arc::clone(&self.workload);
        for (i, start) in workload.start.iter().enumerate() {
            for n in 0..start.count {
                let lineage = lineage_of_start(self.config.seed, i as u32, n);
                let space = start.process;
                let (busy, overhead) = {
                    let c = &self.cpus[start.cpu as usize];
                    (c.busy_until, c.overhead_ns)
                };
                self.give_birth(start.spec, start.cpu, None, true, space, lineage);
                let c = &mut self.cpus[start.cpu as usize];
                (c.busy_until, c.overhead_ns) = (busy, overhead);
                self.retime(start.cpu);
                if self.failure.is_some() {
                    return;
                }
            }
        }
    }

    /// A new thread, placed by the scheduler from `cpu`.
    fn give_birth(&mut self, spec: SpecId, cpu: CpuId, parent: Option<TaskId>, thread: bool, space: u32, lineage: u64) {
        let workload = Arc::clone(&self.workload);
        let template = &workload.tasks[spec as usize];
        let id = self.tasks.len() as TaskId;
        if self.tasks.len() as u64 >= MAX_TASKS {
            // Ids are never reused, so that the dead take memory too.
            return self.fail(SimError::TooManyThreads { at: self.now, max: MAX_TASKS, name: template.name.clone() });
        }
        let affinity = match (template.kthread_cpu, template.affinity) {
            (Some(bound), _) => CpuMask::single(bound),
            (None, asked) => self.cpusets.allow(template.group, asked),
        };
        let space = template.kthread_cpu.is_none().then_some(space);
        let class = self.class_of(&self.usable(&affinity));
        let begun = parent.and_then(|parent| self.tasks[parent as usize].creating_since.take());
        self.tasks.push(Task {
            spec,
            program: Some(Arc::clone(&template.program)),
            footprint_kib: template.footprint_kib,
            attr: template.attr,
            asked: template.affinity,
            affinity,
            class,
            recorded: template.is_recorded(),
            timer_slack_ns: template.timer_slack_ns,
            space,
            parent,
            thread,
            lineage,
            rq: cpu,
            first_period: self.now,
            born_at: begun.unwrap_or(self.now),
            queued_at: self.now,
            ..task::unborn()
        });
        let (name, kthread_cpu, group) = (template.name.clone(), template.kthread_cpu, template.group);
        let process = space.filter(|_| !template.is_recorded());
        let info = TaskInfo { id, name, attr: template.attr, affinity, kthread_cpu, group, process };
        self.nr_vital += u64::from(!template.daemon);
        self.nr_awake += 1;
        self.emit(cpu, EventKind::Fork { parent, child: id });
        self.call(cpu, |s, e| s.fork(e, cpu, parent, &info));
    }

    /// Calls the scheduler on `cpu` and carries out its requests.
    fn call<R>(&mut self, cpu: CpuId, f: impl FnOnce(&mut dyn Scheduler, &mut Env) -> R) -> R {
        self.settle(cpu);
        self.env.begin(self.now, cpu);
        self.env.cpu_mut(cpu).charged_ns = self.cpus[cpu as usize].busy_until.saturating_sub(self.now);
        let answer = f(&mut *self.sched, &mut self.env);
        let charged = self.env.take_charge(cpu);
        // The frequency change of an idle CPU is accounted to the CPU that sets it.
        let c = &mut self.cpus[cpu as usize];
        if !c.sleeps() {
            c.extend_overhead(self.now, self.now + charged);
        }
        while let Some(other) = self.env.take_charged_other() {
            let ns = self.env.take_charge(other);
            self.charge_other(other, ns);
        }
        if !self.env.has_requests() {
            return answer;
        }
        let mut requests = std::mem::take(&mut self.requests);
        self.env.drain(&mut requests);
        for request in &requests {
            self.carry_out(request);
        }
        self.requests = requests;
        answer
    }

    fn carry_out(&mut self, request: &Request) {
        match *request {
            Request::Resched { from, to, sent } => self.request_resched(from, to, sent),
            Request::Stop { from, to, sent } => self.request_resched(from, to, sent),
            Request::Ipi { from, to, ipi, sent } => self.send_ipi(from, to, ipi, sent),
            Request::Balance(cpu) => self.raise_balance(cpu),
            Request::Timer { cpu, at } => self.set_sched_timer(cpu, at),
            Request::Frequency { cpu, khz, sent } => self.frequency_requested(cpu, khz, sent),
            Request::Enqueued { task, cpu } => self.task_enqueued(task, cpu),
            Request::Migrated { task, from, to, cause } => self.task_migrated(task, from, to, cause),
            Request::Widened(task) => self.task_widened(task),
            Request::Reasons(n) => self.keep_reasons(n),
            Request::Decided(decision) => self.emit(self.env_cpu(), EventKind::Decision(decision)),
            Request::Clamps(clamps) => self.emit(self.env_cpu(), EventKind::Clamps(clamps)),
            Request::Picked(report) => self.emit(self.env_cpu(), EventKind::Pick(report)),
            Request::Left(left) => self.emit(self.env_cpu(), EventKind::Left(left)),
            Request::Signals(signals) => self.emit(self.env_cpu(), EventKind::Signals(signals)),
            Request::UtilEst(estimate) => self.emit(self.env_cpu(), EventKind::UtilEst(estimate)),
            Request::Balanced(balance) => self.emit(self.env_cpu(), EventKind::Balance(balance)),
        }
    }

    fn env_cpu(&self) -> CpuId {
        self.env.caller()
    }

    fn emit(&mut self, cpu: CpuId, kind: EventKind) {
        self.events.push(Event { time: self.now, cpu, kind });
    }

    /// Keeps the first failure; the run ends before the next event.
    fn fail(&mut self, error: SimError) {
        self.failure.get_or_insert(error);
    }

    fn fail_invariant(&mut self, what: String) {
        self.fail(SimError::Invariant { at: self.now, what });
    }

    fn fail_livelock(&mut self, what: String) {
        self.fail(SimError::Livelock { at: self.now, what });
    }

    /// Time that `n` modified cache lines take to come from the CPU `from`, ns.
    fn fetch(&mut self, from: CpuId, to: CpuId, n: u64) -> u64 {
        self.env.lines.fetch(&self.machine, self.now, from, to, n)
    }

    /// Draws a value for a thread's program.
    fn draw_for(&mut self, task: TaskId, amount: fairground_workload::Amount) -> u64 {
        let t = &mut self.tasks[task as usize];
        t.draws += 1;
        program_amount(self.config.seed, t.lineage, t.draws, amount)
    }

    /// Name of the thread in messages.
    fn name_of(&self, task: TaskId) -> String {
        match self.tasks.get(task as usize) {
            Some(t) => format!("{}/{task}", self.workload.tasks[t.spec as usize].name),
            None => format!("?/{task}"),
        }
    }

    fn flag(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu as usize];
        c.need_resched = true;
        if !std::mem::replace(&mut c.flagged, true) {
            self.flagged[cpu as usize / 64] |= 1 << (cpu % 64);
            self.nr_flagged += 1;
        }
    }

    fn is_flagged(&self, cpu: CpuId) -> bool {
        self.cpus[cpu as usize].flagged
    }

    fn unflag(&mut self, cpu: CpuId) {
        if !std::mem::take(&mut self.cpus[cpu as usize].flagged) {
            return;
        }
        self.flagged[cpu as usize / 64] &= !(1 << (cpu % 64));
        self.nr_flagged -= 1;
    }

    fn next_flagged(&mut self) -> Option<CpuId> {
        if self.nr_flagged == 0 {
            return None;
        }
        let word = self.flagged.iter().position(|w| *w != 0)?;
        let cpu = word as CpuId * 64 + self.flagged[word].trailing_zeros();
        self.unflag(cpu);
        Some(cpu)
    }
}

/// An empty queue of interrupts.
type Pending = VecDeque<irq::Irq>;

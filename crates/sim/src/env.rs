//! The scheduler's view of the hardware, and its requests to the engine.

use std::sync::Arc;

use fairground_machine::{CpuId, Machine, SoftCost};

use crate::coherence::LineTransfers;
use crate::event::{Balance, Clamps, Decision, LeftBehind, MigrateCause, PickReport, Reason, Signals, UtilEst};
use crate::queue_lock::QueueLock;
use crate::sched::Ipi;
use crate::{TaskId, Time};

/// The idle state that the idle loop has recorded for a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleView {
    /// Index into the machine's idle states of this CPU.
    pub index: u8,
    /// Virtual time at which the state was entered, ns.
    pub since: Time,
    /// Exit latency of the state, as the kernel sees it, ns.
    pub exit_latency_ns: u64,
    /// Target residency of the state, as the kernel sees it, ns.
    pub target_residency_ns: u64,
}

/// Limits of the clock of a CPU, kHz; the highest operating point if there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrequencyLimits {
    /// Limit by the hardware or its firmware, kHz.
    pub hardware_khz: u32,
    /// Limit by cooling devices, kHz.
    pub cooling_khz: u32,
    /// cpufreq's policy maximum: the lower of cooling devices' and the user's limit, kHz.
    pub policy_khz: u32,
}

impl FrequencyLimits {
    /// No limit: all three are `khz`, the top frequency.
    pub fn unlimited(khz: u32) -> Self {
        FrequencyLimits { hardware_khz: khz, cooling_khz: khz, policy_khz: khz }
    }

    /// The limit in effect: the lowest of all, kHz.
    pub fn lowest_khz(&self) -> u32 {
        self.hardware_khz.min(self.policy_khz)
    }
}

/// What the engine publishes of one CPU.
#[derive(Clone, Debug)]
pub struct CpuView {
    /// The recorded idle state; none while the CPU is not in one, and never one without a cpuidle driver.
    pub idle: Option<IdleView>,
    /// Current over top frequency, 1..=1024 (arch_scale_freq_capacity).
    pub freq_scale: u32,
    /// Limits of its frequency; [`crate::Scheduler::frequency_limits`] reports a change.
    pub limits: FrequencyLimits,
    /// Current speed: capacity x frequency x SMT share, 2^20 = capacity 1024 at top frequency.
    pub speed_q20: u64,
    /// Time spent in interrupts so far, ns.
    pub irq_ns: u64,
    /// Cost charged in the present call and not yet passed, ns.
    pub charged_ns: u64,
}

/// A request of the scheduler to the engine, which carries requests out in order after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Reschedule this CPU: at the end of the instant if it is the caller's own, by IPI otherwise.
    Resched {
        /// The CPU on which the scheduler was called.
        from: CpuId,
        /// The CPU that reschedules.
        to: CpuId,
        /// Time of the request: the instant plus the cost that the call had charged by then.
        sent: Time,
    },
    /// Send an inter-processor interrupt.
    Ipi {
        /// The CPU that sends.
        from: CpuId,
        /// The CPU that receives the interrupt; never the sender.
        to: CpuId,
        /// What the interrupt is for.
        ipi: Ipi,
        /// Time at which it is sent, ns.
        sent: Time,
    },
    /// Run the balance softirq on this CPU within this instant.
    Balance(CpuId),
    /// The scheduler's own timer of this CPU.
    Timer {
        /// The CPU that the timer interrupts.
        cpu: CpuId,
        /// Virtual time at which the timer expires, ns; [`Time::MAX`] cancels it.
        at: Time,
    },
    /// Change the frequency of the CPU's frequency domain.
    Frequency {
        /// A CPU of the frequency domain.
        cpu: CpuId,
        /// The requested frequency, kHz.
        khz: u32,
        /// Virtual time of the request, ns.
        sent: Time,
    },
    /// Run the stopper on this CPU: [`crate::Scheduler::schedule`] will answer [`crate::Pick::Stopper`].
    Stop {
        /// The CPU on which the scheduler was called.
        from: CpuId,
        /// The CPU whose stopper thread runs.
        to: CpuId,
        /// Virtual time of the request, ns.
        sent: Time,
    },
    /// A task is on a run queue after a wakeup or birth.
    Enqueued {
        /// Id of the task: its index in order of creation.
        task: TaskId,
        /// CPU of the run queue.
        cpu: CpuId,
    },
    /// A task's CPU changed.
    Migrated {
        /// Id of the task: its index in order of creation.
        task: TaskId,
        /// The CPU that the task leaves.
        from: CpuId,
        /// The CPU that the task moves to.
        to: CpuId,
        /// What caused the migration.
        cause: MigrateCause,
    },
    /// The CPUs that a task may use are all of the machine, because none of its own is online (select_fallback_rq).
    Widened(TaskId),
    /// A placement was decided.
    Decided(Decision),
    /// Balancing found a source.
    Balanced(Balance),
    /// A signal under clamps was updated.
    Clamps(Clamps),
    /// A task was picked or tested, or has to leave the CPU.
    Picked(PickReport),
    /// A decision has changed a value.
    Left(LeftBehind),
    /// A load-tracking signal was updated.
    Signals(Signals),
    /// An estimate of utilization has changed.
    UtilEst(UtilEst),
    /// The number of reasons from [`Env::drain_reasons`] that belong to the decision that follows.
    Reasons(usize),
}

/// A balance attempt whose outcome is still to be reported, within the call that began it.
#[derive(Debug)]
#[must_use]
pub struct BalanceAttempt(usize);

/// The scheduler's view of time and hardware during one call.
#[derive(Clone, Debug)]
pub struct Env {
    now: Time,
    cpu: CpuId,
    hz: u32,
    tick_ns: u64,
    /// [`Self::jiffies`] at `now`, and when that tick began.
    jiffies: u64,
    tick_from: Time,
    seed: u64,
    machine: Arc<Machine>,
    cpus: Vec<CpuView>,
    requests: Vec<Request>,
    /// CPUs other than the caller's that were charged in this call.
    charged_others: Vec<CpuId>,
    /// By kind: a speed, and what one unit takes at it. Most work is counted one by one on CPUs of equal speed, and a
    /// division for each costs more than much of the work.
    unit_prices: [(u64, u64); SoftCost::COUNT],
    pub(crate) lines: LineTransfers,
    /// By CPU; empty if run-queue locks cost nothing.
    queue_locks: Vec<QueueLock>,
    /// By kind: units charged so far.
    work: [u64; SoftCost::COUNT],
    wants_reasons: bool,
    wants_clamps: bool,
    wants_signals: bool,
    /// Reasons given in this call, and how many of them belong to decisions already reported.
    reasons: Vec<Reason>,
    reported: usize,
}

impl Env {
    /// At time 0, every CPU running at top frequency. `hz`: 100, 250, 300 or 1000.
    pub fn new(machine: Arc<Machine>, hz: u32, seed: u64) -> Self {
        let cpus = machine
            .cpus
            .iter()
            .map(|c| CpuView {
                idle: None,
                freq_scale: 1024,
                limits: FrequencyLimits::unlimited(machine.max_khz(c.id)),
                speed_q20: u64::from(c.capacity) << 10,
                irq_ns: 0,
                charged_ns: 0,
            })
            .collect();
        Env {
            now: 0,
            cpu: 0,
            hz,
            tick_ns: 1_000_000_000 / u64::from(hz),
            jiffies: 0,
            tick_from: 0,
            seed,
            lines: LineTransfers::new(&machine),
            queue_locks: Vec::new(),
            machine,
            cpus,
            requests: Vec::new(),
            charged_others: Vec::new(),
            unit_prices: [(0, 0); SoftCost::COUNT],
            work: [0; SoftCost::COUNT],
            wants_reasons: false,
            wants_clamps: false,
            wants_signals: false,
            reasons: Vec::new(),
            reported: 0,
        }
    }

    /// Virtual time of the call, ns.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The instant plus what this call has charged to `cpu` so far: what sched_clock would show there.
    pub fn clock(&self, cpu: CpuId) -> Time {
        self.now + self.cpus[cpu as usize].charged_ns
    }

    /// Scheduler ticks per second (CONFIG_HZ).
    pub fn hz(&self) -> u32 {
        self.hz
    }

    /// Length of a tick, ns.
    pub fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    /// The jiffies counter: whole ticks since time 0.
    pub fn jiffies(&self) -> u64 {
        self.jiffies
    }

    /// Whole ticks from time 0 to `time`.
    pub fn jiffies_at(&self, time: Time) -> u64 {
        time / self.tick_ns
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The machine that the run simulates.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The state of a CPU that the engine publishes.
    pub fn cpu(&self, cpu: CpuId) -> &CpuView {
        &self.cpus[cpu as usize]
    }

    /// Charges `n` units of work to `cpu` at its present speed; returns the ns it takes.
    #[inline]
    pub fn charge(&mut self, cpu: CpuId, kind: SoftCost, n: u32) -> u64 {
        let view = &mut self.cpus[cpu as usize];
        let (at, price) = self.unit_prices[kind as usize];
        let ns = match n {
            1 if at == view.speed_q20 => price,
            // A charge of nothing to another CPU counts as one: that CPU settles.
            0 if cpu == self.cpu => return 0,
            n => return self.charge_several(cpu, kind, n),
        };
        if cpu != self.cpu && view.charged_ns == 0 {
            self.charged_others.push(cpu);
        }
        view.charged_ns += ns;
        self.work[kind as usize] += 1;
        ns
    }

    /// The same for any number, and at a speed whose unit price is not known.
    #[inline(never)]
    fn charge_several(&mut self, cpu: CpuId, kind: SoftCost, n: u32) -> u64 {
        let ns = match n {
            1 => self.new_unit_price(cpu, kind),
            n => self.price(cpu, kind, n),
        };
        let view = &mut self.cpus[cpu as usize];
        if cpu != self.cpu && view.charged_ns == 0 {
            self.charged_others.push(cpu);
        }
        view.charged_ns += ns;
        self.work[kind as usize] += u64::from(n);
        ns
    }

    /// Units of a kind of work that were charged since time 0.
    pub fn charged(&self, kind: SoftCost) -> u64 {
        self.work[kind as usize]
    }

    /// What `n` units of work would take on `cpu` now, ns.
    pub fn price(&self, cpu: CpuId, kind: SoftCost, n: u32) -> u64 {
        let ns = self.machine.costs.soft(kind) * f64::from(n);
        (ns * (1u64 << 20) as f64 / self.cpus[cpu as usize].speed_q20 as f64) as u64
    }

    /// What one unit of work would take on `cpu` now, ns.
    #[inline]
    pub(crate) fn unit_price(&mut self, cpu: CpuId, kind: SoftCost) -> u64 {
        let speed = self.cpus[cpu as usize].speed_q20;
        let (at, ns) = self.unit_prices[kind as usize];
        if at == speed {
            return ns;
        }
        self.new_unit_price(cpu, kind)
    }

    #[inline(never)]
    fn new_unit_price(&mut self, cpu: CpuId, kind: SoftCost) -> u64 {
        let ns = self.price(cpu, kind, 1);
        self.unit_prices[kind as usize] = (self.cpus[cpu as usize].speed_q20, ns);
        ns
    }

    /// For the engine and for tests of schedulers: whether acquiring a run-queue lock waits for its holder.
    pub fn contend_for_queues(&mut self, contended: bool) {
        let locks = (0..self.cpus.len() as CpuId).map(QueueLock::new);
        self.queue_locks = if contended { locks.collect() } else { Vec::new() };
    }

    /// The CPU of this call has just done one unit of `work` under the lock of a run queue: charges the wait for the
    /// lock and for its cache line.
    pub(crate) fn held_queue_lock(&mut self, queue: CpuId, work: SoftCost) {
        let here = self.cpu;
        // Empty if locks cost nothing.
        if queue as usize >= self.queue_locks.len() {
            return;
        }
        let work_ns = self.unit_price(here, work);
        let lock = &mut self.queue_locks[queue as usize];
        let view = &mut self.cpus[here as usize];
        let clock = self.now + view.charged_ns;
        let line_ns = match lock.moves_to(here) {
            last if last == here => 0,
            last => self.lines.fetch(&self.machine, clock, last, here, 1),
        };
        let wait_ns = lock.hold(clock.saturating_sub(work_ns), work_ns + line_ns);
        self.lines.traffic.queue_wait_ns += wait_ns;
        view.charged_ns += line_ns + wait_ns;
    }

    /// Reports that a task, none of whose CPUs is online, may use all CPUs of the machine from now on
    /// (select_fallback_rq).
    pub fn widened(&mut self, task: TaskId) {
        self.requests.push(Request::Widened(task));
    }

    /// Asks for a reschedule of `cpu`; sends an IPI if it is not the CPU of this call.
    pub fn resched(&mut self, cpu: CpuId) {
        if cpu != self.cpu {
            self.charge(self.cpu, SoftCost::IpiSend, 1);
        }
        self.requests.push(Request::Resched { from: self.cpu, to: cpu, sent: self.clock(self.cpu) });
    }

    /// Sends an IPI. To the CPU of this call itself: not allowed.
    pub fn send_ipi(&mut self, to: CpuId, ipi: Ipi) {
        debug_assert_ne!(to, self.cpu);
        self.charge(self.cpu, SoftCost::IpiSend, 1);
        self.requests.push(Request::Ipi { from: self.cpu, to, ipi, sent: self.clock(self.cpu) });
    }

    /// Asks for the balance softirq on `cpu`, within this instant. `cpu` is the CPU of this call.
    pub fn raise_balance(&mut self, cpu: CpuId) {
        self.requests.push(Request::Balance(cpu));
    }

    /// Sets the scheduler's own timer of `cpu`, of which there is one: [`crate::Scheduler::timer`] is called at `at`,
    /// at once if that is past. [`Time::MAX`]: not any more.
    pub fn set_timer(&mut self, cpu: CpuId, at: Time) {
        self.requests.push(Request::Timer { cpu, at });
    }

    /// Asks for a frequency of the clock of `cpu`, kHz: it takes the lowest operating point that is at least as fast,
    /// after its transition time. For [`crate::Governor::Schedutil`].
    pub fn request_frequency(&mut self, cpu: CpuId, khz: u32) {
        self.requests.push(Request::Frequency { cpu, khz, sent: self.clock(self.cpu) });
    }

    /// Asks for the stopper on `cpu`.
    pub fn stop(&mut self, cpu: CpuId) {
        self.requests.push(Request::Stop { from: self.cpu, to: cpu, sent: self.clock(self.cpu) });
    }

    /// Reports that a woken or new task is on the run queue of `cpu`, where the CPU of this call has just put it.
    pub fn enqueued(&mut self, task: TaskId, cpu: CpuId) {
        self.held_queue_lock(cpu, SoftCost::Enqueue);
        self.requests.push(Request::Enqueued { task, cpu });
    }

    /// Reports that a task's CPU changed. One that was queued has just been taken off by the CPU of this call.
    pub fn migrated(&mut self, task: TaskId, from: CpuId, to: CpuId, cause: MigrateCause) {
        if from != self.cpu && matches!(cause, MigrateCause::Balance | MigrateCause::NewIdle | MigrateCause::Rt) {
            self.held_queue_lock(from, SoftCost::Dequeue);
        }
        self.requests.push(Request::Migrated { task, from, to, cause });
    }

    /// Reports a placement decision, with the reasons given since the last one.
    pub fn decided(&mut self, decision: Decision) {
        let new = self.reasons.len() - self.reported;
        if new > 0 {
            self.reported = self.reasons.len();
            self.requests.push(Request::Reasons(new));
        }
        self.requests.push(Request::Decided(decision));
    }

    /// Reports an attempt to balance that has found a source, before it moves anything.
    pub fn balancing(&mut self, found: Balance) -> BalanceAttempt {
        self.requests.push(Request::Balanced(found));
        BalanceAttempt(self.requests.len() - 1)
    }

    /// Completes the report of an attempt that this call began, with its outcome.
    pub fn balanced(&mut self, balancing: BalanceAttempt, balance: Balance) {
        debug_assert!(matches!(self.requests[balancing.0], Request::Balanced(_)));
        self.requests[balancing.0] = Request::Balanced(balance);
    }

    /// Whether an observer wants reasons; if not, they are dropped. A scheduler must decide the same in both cases.
    pub fn wants_reasons(&self) -> bool {
        self.wants_reasons
    }

    /// Something looked at on the way to the next decision.
    pub fn reason(&mut self, reason: Reason) {
        if self.wants_reasons {
            self.reasons.push(reason);
        }
    }

    /// Reports why a task runs or does not, if an observer wants reasons.
    pub fn picked(&mut self, report: PickReport) {
        if self.wants_reasons {
            self.requests.push(Request::Picked(report));
        }
    }

    /// Reports a value that a decision has changed, if an observer wants reasons.
    pub fn left(&mut self, left: LeftBehind) {
        if self.wants_reasons {
            self.requests.push(Request::Left(left));
        }
    }

    /// Whether an observer wants [`crate::EventKind::Clamps`]. A scheduler must decide the same in both cases.
    pub fn wants_clamps(&self) -> bool {
        self.wants_clamps
    }

    /// Reports an update of a clamped utilization, if an observer wants it.
    pub fn clamps(&mut self, clamps: Clamps) {
        if self.wants_clamps {
            self.requests.push(Request::Clamps(clamps));
        }
    }

    /// For the engine and for tests of schedulers: whether an observer wants [`crate::EventKind::Clamps`].
    pub fn want_clamps(&mut self, wanted: bool) {
        self.wants_clamps = wanted;
    }

    /// Whether PELT signals and estimates are reported ([`crate::EventKind::Signals`], [`crate::EventKind::UtilEst`]). A scheduler must decide the same in both cases.
    pub fn wants_signals(&self) -> bool {
        self.wants_signals
    }

    /// Reports an update of a PELT signal, if an observer wants it.
    pub fn signals(&mut self, signals: Signals) {
        if self.wants_signals {
            self.requests.push(Request::Signals(signals));
        }
    }

    /// Reports a change of an estimate of utilization, if an observer wants it.
    pub fn util_est(&mut self, estimate: UtilEst) {
        if self.wants_signals {
            self.requests.push(Request::UtilEst(estimate));
        }
    }

    /// For the engine and for tests of schedulers: whether [`crate::EventKind::Signals`] are reported.
    pub fn want_signals(&mut self, wanted: bool) {
        self.wants_signals = wanted;
    }

    /// Begins a call on `cpu` at `now`. For the engine and for tests of schedulers.
    pub fn begin(&mut self, now: Time, cpu: CpuId) {
        debug_assert!(self.requests.is_empty());
        // Mostly still the tick of the call before.
        if now.wrapping_sub(self.tick_from) >= self.tick_ns {
            self.jiffies = now / self.tick_ns;
            self.tick_from = self.jiffies * self.tick_ns;
        }
        self.now = now;
        self.cpu = cpu;
    }

    /// The CPU of the present call.
    pub fn caller(&self) -> CpuId {
        self.cpu
    }

    /// Whether the call has made a request.
    #[inline]
    pub(crate) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Takes the requests of the call, oldest first, into `into` (which is emptied first).
    pub fn drain(&mut self, into: &mut Vec<Request>) {
        into.clear();
        std::mem::swap(into, &mut self.requests);
    }

    /// Takes the reasons of decisions reported so far, oldest first, behind what is in `onto`.
    pub fn drain_reasons(&mut self, onto: &mut Vec<Reason>) {
        onto.extend(self.reasons.drain(..self.reported));
        self.reported = 0;
    }

    /// For the engine and for tests of schedulers: whether an observer wants reasons.
    pub fn want_reasons(&mut self, wanted: bool) {
        self.wants_reasons = wanted;
    }

    /// Takes the next CPU besides the caller's that was charged in this call; [`Self::take_charge`] returns the cost.
    pub fn take_charged_other(&mut self) -> Option<CpuId> {
        self.charged_others.pop()
    }

    /// Takes what was charged to `cpu`, ns.
    pub fn take_charge(&mut self, cpu: CpuId) -> u64 {
        std::mem::take(&mut self.cpus[cpu as usize].charged_ns)
    }

    /// For the engine and for tests: what schedulers shall see of a CPU.
    pub fn cpu_mut(&mut self, cpu: CpuId) -> &mut CpuView {
        &mut self.cpus[cpu as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_each_cpu_what_its_own_speed_makes_of_it() {
        let machine = Arc::new(Machine::find("hikey960").unwrap());
        let mut env = Env::new(Arc::clone(&machine), 250, 1);
        let kinds = [SoftCost::Probe, SoftCost::Tick];
        let (mut one_by_one, mut asked) = (Vec::new(), Vec::new());
        for (round, cpu) in [0, 4, 4, 0, 0, 4].into_iter().enumerate() {
            // A clock that changes between two charges of a kind.
            env.cpu_mut(0).speed_q20 = if round < 4 { 400 << 10 } else { 200 << 10 };
            one_by_one.extend(kinds.map(|kind| env.charge(cpu, kind, 1)));
            asked.extend(kinds.map(|kind| env.price(cpu, kind, 1)));
        }
        assert_eq!(one_by_one, asked);
        assert_eq!(env.clock(0), one_by_one[..2].iter().chain(&one_by_one[6..10]).sum::<u64>());
        assert!(asked[0] > asked[2] && asked[8] > asked[0]);
        env.charge(4, SoftCost::GroupCpu, 5);
        let units = [SoftCost::Probe, SoftCost::Tick, SoftCost::GroupCpu, SoftCost::Pick].map(|kind| env.charged(kind));
        assert_eq!(units, [6, 6, 5, 0]);
    }
}

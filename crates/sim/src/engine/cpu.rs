//! The physical state of one CPU: the task's work, kernel overhead, the stopper, idle; and its switches.
//!
//! ```text
//!            busy_until      due
//! now ----=======|wwwwwwwwwww|        Mode::Task: overhead, then work, which ends at `due`
//! now ----=======|                    Mode::Awake: the idle loop; then idle is entered. Mode::Stopper: likewise
//! now ----xxxxxxx|                    Mode::Exiting: leaving an idle state
//! now ----iiiiiiiiiiiii...            Mode::Asleep: until an interrupt
//! ```
//!
//! `due` moves when overhead is added or the speed changes. The queue holds at most one live event per CPU, at
//! `event_at <= due`; one that comes too early pushes itself on, so that moving `due` later costs nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairground_machine::{CpuId, CpuMask, SoftCost};

use super::idle::{self, IdlePeriod};
use super::queue::{EngineEvent, Queue};
use super::task::{SleepTimer, State, Task};
use super::{Engine, IdleGovernor, Pending};
use crate::{CpuEnergy, EventKind, IdleStats, MigrateCause, Pick, SwitchState, TaskId, Time};

/// What a CPU is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Task,
    Stopper,
    Awake,
    Asleep,
    Exiting,
}

pub(crate) struct Cpu {
    pub mode: Mode,
    /// The current task; none: the idle task or the stopper.
    pub curr: Option<TaskId>,
    /// Overhead lasts until here; interrupts wait for it.
    pub busy_until: Time,
    /// The current task has made progress up to here.
    pub progressed: Time,
    pub due: Time,
    /// Time of the live event in the queue; `Time::MAX`: none.
    pub event_at: Time,
    pub need_resched: bool,
    /// It is rescheduled at the end of the instant: its bit in [`Engine::flagged`].
    pub flagged: bool,
    /// IPIs on their way here.
    pub ipis_in_flight: u32,
    /// A reschedule IPI is on its way.
    pub resched_ipi: bool,
    pub pending: Pending,
    /// The balance softirq is raised: it comes in this instant, before the CPU may sleep.
    pub softirq: bool,
    pub nr_queued: u32,
    /// The queued thread for which this idle CPU is being woken.
    pub promised: Option<TaskId>,
    pub tick_at: Time,
    /// Its number among timers.
    pub tick_number: u64,
    /// Time of its tick's event in the queue, void or not; `Time::MAX`: none.
    pub tick_event: Time,
    pub tick_stopped: bool,
    pub timers: BinaryHeap<Reverse<SleepTimer>>,
    /// When the scheduler's own timer is due; `Time::MAX`: not set.
    pub sched_timer_at: Time,
    /// Time of its one event in the queue, no later than that; `Time::MAX`: none.
    pub sched_timer_event: Time,
    /// When a timer interrupt was last taken: several at one instant are one interrupt.
    pub timer_irq_at: Option<Time>,
    pub governor: idle::Governor,
    pub stay: IdlePeriod,
    /// The tick ended the present stay.
    pub woken_by_tick: bool,
    /// Wakes whose length was drawn.
    pub wakes: u64,
    pub idle_stats: Vec<IdleStats>,
    pub task_ns: u64,
    pub overhead_ns: u64,
    pub idle_ns: u64,
    pub irq_ns: u64,
    /// Energy accounted up to `energy_at`.
    pub energy: CpuEnergy,
    pub energy_at: Time,
}

impl Cpu {
    pub(crate) fn new(which: IdleGovernor, nr_states: usize) -> Self {
        Cpu {
            mode: Mode::Awake,
            curr: None,
            busy_until: 0,
            progressed: 0,
            due: Time::MAX,
            event_at: Time::MAX,
            need_resched: false,
            flagged: false,
            ipis_in_flight: 0,
            resched_ipi: false,
            pending: Pending::new(),
            softirq: false,
            nr_queued: 0,
            promised: None,
            tick_at: Time::MAX,
            tick_number: 0,
            tick_event: Time::MAX,
            tick_stopped: false,
            timers: BinaryHeap::new(),
            sched_timer_at: Time::MAX,
            sched_timer_event: Time::MAX,
            timer_irq_at: None,
            governor: idle::Governor::new(which, nr_states),
            stay: IdlePeriod::default(),
            woken_by_tick: false,
            wakes: 0,
            idle_stats: vec![IdleStats::default(); nr_states],
            task_ns: 0,
            overhead_ns: 0,
            idle_ns: 0,
            irq_ns: 0,
            energy: CpuEnergy::new(nr_states),
            energy_at: 0,
        }
    }

    /// It is in hardware idle, or on its way out.
    pub(crate) fn sleeps(&self) -> bool {
        matches!(self.mode, Mode::Asleep | Mode::Exiting)
    }

    /// The idle task is current (asleep or not).
    pub(crate) fn is_idle(&self) -> bool {
        self.curr.is_none() && matches!(self.mode, Mode::Awake | Mode::Asleep | Mode::Exiting)
    }

    /// Credits the current task with the work done up to now, at `speed_q20`.
    #[inline]
    fn credit_work(&mut self, now: Time, speed_q20: u64, tasks: &mut [Task]) {
        let dt = now - self.progressed;
        // Only a recorded thread makes progress while there is overhead.
        let own = dt.saturating_sub(self.busy_until.saturating_sub(self.progressed));
        self.progressed = now;
        self.task_ns += own;
        if let Some(task) = self.curr {
            let t = &mut tasks[task as usize];
            t.run_ns += own;
            t.progress(dt, speed_q20);
        }
    }

    /// Overhead lasts until `until` at least.
    #[inline]
    pub(super) fn extend_overhead(&mut self, now: Time, until: Time) {
        let from = self.busy_until.max(now);
        if until > from {
            self.overhead_ns += until - from;
            self.busy_until = until;
        }
    }

    /// CPU `id` is due at `due`, for which the queue has an event.
    #[inline]
    pub(super) fn set_due(&mut self, id: CpuId, due: Time, queue: &mut Queue) {
        self.due = due;
        if due < self.event_at {
            self.event_at = due;
            queue.push(due, EngineEvent::Cpu(id));
        }
    }
}

/// From where on a current task makes progress: from the end of overhead, a recorded one at once.
#[inline]
fn resumes_at(task: &Task, now: Time, free: Time) -> Time {
    if task.recorded {
        now
    } else {
        free
    }
}

impl Engine {
    /// Credits the current task with the work done up to now.
    #[inline]
    pub(super) fn settle(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu as usize];
        if c.mode == Mode::Task && c.progressed < self.now {
            c.credit_work(self.now, self.env.cpu(cpu).speed_q20, &mut self.tasks);
        }
    }

    /// For how long overhead lasts from now on, ns.
    fn overhead_left(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu as usize].busy_until.saturating_sub(self.now)
    }

    /// Adds overhead of the engine's own.
    pub(super) fn charge(&mut self, cpu: CpuId, kind: SoftCost) {
        let ns = self.env.unit_price(cpu, kind);
        self.add_overhead(cpu, ns);
    }

    pub(super) fn add_overhead(&mut self, cpu: CpuId, ns: u64) {
        self.settle(cpu);
        let c = &mut self.cpus[cpu as usize];
        c.extend_overhead(self.now, c.busy_until.max(self.now) + ns);
    }

    /// The scheduler charged a CPU that it was not called on. One that sleeps is not delayed by it.
    pub(super) fn charge_other(&mut self, cpu: CpuId, ns: u64) {
        if self.cpus[cpu as usize].sleeps() {
            return;
        }
        self.add_overhead(cpu, ns);
        self.retime(cpu);
    }

    /// Computes again when this CPU is done with its overhead or work. Work must be settled.
    pub(super) fn retime(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu as usize];
        let free = c.busy_until.max(self.now);
        let due = match c.mode {
            Mode::Awake | Mode::Stopper => free,
            Mode::Exiting => c.due,
            Mode::Asleep => Time::MAX,
            Mode::Task => {
                let curr = c.curr.map(|task| &self.tasks[task as usize]);
                c.progressed = curr.map_or(free, |t| resumes_at(t, self.now, free));
                match curr {
                    _ if !c.pending.is_empty() => free,
                    // About to be rescheduled, which retimes again.
                    _ if c.flagged => return,
                    Some(t) => t.done_at(c.progressed, self.env.cpu(cpu).speed_q20).max(free),
                    None => Time::MAX,
                }
            }
        };
        c.set_due(cpu, due, &mut self.queue);
    }

    /// Goes on to where the current task is done with its work, if nothing happens until then: no event is needed. Work
    /// must be settled. False: the caller retimes.
    pub(super) fn run_ahead(&mut self, cpu: CpuId, task: TaskId) -> bool {
        let c = &self.cpus[cpu as usize];
        if self.nr_flagged > 0 || !c.pending.is_empty() {
            return false;
        }
        let free = c.busy_until.max(self.now);
        let speed_q20 = self.env.cpu(cpu).speed_q20;
        let t = &self.tasks[task as usize];
        let resumes = resumes_at(t, self.now, free);
        let due = t.done_at(resumes, speed_q20).max(free);
        let ahead = self.may_run_ahead_to(due);
        if ahead {
            self.nr_events += 1;
            self.now = due;
            let c = &mut self.cpus[cpu as usize];
            c.progressed = resumes;
            c.credit_work(due, speed_q20, &mut self.tasks);
        }
        ahead
    }

    /// A CPU's event has come: if it is done, go on to what follows.
    pub(super) fn cpu_due(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu as usize];
        if c.event_at != self.now {
            return;
        }
        c.event_at = Time::MAX;
        if c.due > self.now {
            if c.due < Time::MAX {
                c.set_due(cpu, c.due, &mut self.queue);
            }
            return;
        }
        c.due = Time::MAX;
        let (mode, curr, interrupted) = (c.mode, c.curr, !c.pending.is_empty());
        self.settle(cpu);
        match mode {
            Mode::Exiting => self.finish_exit(cpu),
            Mode::Stopper => self.run_stopper(cpu),
            Mode::Asleep => {}
            Mode::Task | Mode::Awake if interrupted => {
                self.take_pending(cpu);
                self.after_interrupt(cpu);
            }
            Mode::Task | Mode::Awake => match curr {
                Some(task) => self.advance(cpu, task),
                None => self.enter_idle(cpu),
            },
        }
    }

    /// Interrupts are handled: reschedule if wanted, else go on where the CPU was.
    pub(super) fn after_interrupt(&mut self, cpu: CpuId) {
        if self.cpus[cpu as usize].need_resched {
            self.flag(cpu);
        }
        self.retime(cpu);
    }

    /// The stop work itself. The stopper was switched to before.
    fn run_stopper(&mut self, cpu: CpuId) {
        self.call(cpu, |s, e| s.stopper(e, cpu));
        self.emit(cpu, EventKind::Stopper(false));
        self.cpus[cpu as usize].mode = Mode::Awake;
        self.take_pending(cpu);
        self.flag(cpu);
        self.retime(cpu);
    }

    /// One call of schedule() and the switch that follows.
    pub(super) fn reschedule(&mut self, cpu: CpuId) {
        self.unflag(cpu);
        if self.is_atomic(cpu) {
            return self.retime(cpu);
        }
        match self.cpus[cpu as usize].mode {
            Mode::Asleep => return self.begin_exit(cpu, false),
            // These reschedule when they are done.
            Mode::Exiting | Mode::Stopper => return,
            Mode::Task | Mode::Awake => {}
        }
        self.scheduling = Some(cpu);
        let pick = self.call(cpu, |s, e| {
            let pick = s.schedule(e, cpu);
            e.held_queue_lock(cpu, SoftCost::Pick);
            pick
        });
        self.scheduling = None;
        // On a CPU that goes offline the stopper pushes away what was picked, at once (balance_push).
        let leaves = self.is_leaving(cpu) && self.is_flagged(cpu);
        self.unflag(cpu);
        self.cpus[cpu as usize].need_resched = false;
        match pick {
            Pick::Task(task) if self.may_run(task, cpu) => self.switch_to(cpu, task),
            Pick::Task(_) => {}
            Pick::Idle => self.switch_to_idle(cpu),
            Pick::Stopper => self.switch_to_stopper(cpu),
        }
        self.carry_out_put_off();
        if pick == Pick::Idle && self.cpus[cpu as usize].nr_queued > 0 {
            self.expect_none_waiting(cpu);
        }
        if leaves {
            self.flag(cpu);
        }
        self.retime(cpu);
    }

    /// Migrations that the last schedule() reported of the task it took off the CPU: a real-time task that is preempted
    /// is pushed on at once.
    fn carry_out_put_off(&mut self) {
        if self.put_off.is_empty() {
            return;
        }
        for (task, from, to, cause) in std::mem::take(&mut self.put_off) {
            self.task_migrated(task, from, to, cause);
        }
    }

    /// Whether a pick is one that a correct scheduler may make; fails the run if not.
    fn may_run(&mut self, task: TaskId, cpu: CpuId) -> bool {
        let Some(t) = self.tasks.get(task as usize) else {
            self.fail_invariant(format!("CPU {cpu} picked task {task}, which was never born"));
            return false;
        };
        let wrong = match t.state {
            State::Running if t.on_cpu == Some(cpu) => return true,
            State::Running => format!("which is current on CPU {}", t.on_cpu.unwrap_or(t.rq)),
            State::Queued if t.rq != cpu => format!("which is queued on CPU {}", t.rq),
            State::Queued if !t.affinity.test(cpu) && !self.is_being_moved(t) => {
                format!("which may only run on {}", t.affinity)
            }
            State::Queued => return true,
            State::Blocked(_) => "which is asleep".into(),
            State::Dead => "which has exited".into(),
            State::Placing => "whose wakeup was not reported as enqueued".into(),
        };
        self.fail_invariant(format!("CPU {cpu} picked {}, {wrong}", self.name_of(task)));
        false
    }

    /// A task that has forbidden itself its CPU runs on there until the stopper comes, which may be on its way from
    /// another CPU: for a tick at most. DEVIATION: in the kernel it sleeps until it is moved.
    fn is_being_moved(&self, task: &Task) -> bool {
        task.moving_since.is_some_and(|since| self.now <= since + self.env.tick_ns())
    }

    fn switch_to(&mut self, cpu: CpuId, task: TaskId) {
        let prev = self.cpus[cpu as usize].curr;
        if prev == Some(task) {
            return;
        }
        let (prev_space, prev_state) = self.put_current(cpu);
        let space = self.tasks[task as usize].space;
        let same = prev.is_none() || prev_space.is_none() || space.is_none() || prev_space == space;
        self.charge(cpu, if same { SoftCost::SwitchThread } else { SoftCost::SwitchProcess });
        self.leave_queue(task);
        self.waste.set_idle(self.now, cpu, false);
        self.emit(cpu, EventKind::Switch { prev, prev_state, next: Some(task), cost: self.overhead_left(cpu) });
        let c = &mut self.cpus[cpu as usize];
        c.curr = Some(task);
        c.mode = Mode::Task;
        c.progressed = if self.tasks[task as usize].recorded { self.now } else { c.busy_until.max(self.now) };
        self.break_promise(cpu);
        self.restart_tick(cpu);
        self.bring_in(cpu, task);
    }

    /// The new current task: where it is, what it waited, what its cache needs.
    fn bring_in(&mut self, cpu: CpuId, task: TaskId) {
        let runs_from = self.cpus[cpu as usize].busy_until.max(self.now);
        self.warm_up(cpu, task);
        let t = &mut self.tasks[task as usize];
        t.state = State::Running;
        t.on_cpu = Some(cpu);
        self.meters.run_delay.record(runs_from - t.queued_at);
        if let Some(woken) = t.woken_at.take() {
            let cpu_type = self.machine.cpus[cpu as usize].cpu_type as usize;
            self.meters.wakeup_latency[cpu_type].record(runs_from - woken);
        }
    }

    /// Takes the current task off the CPU; returns its address space and the state it leaves in.
    fn put_current(&mut self, cpu: CpuId) -> (Option<u32>, SwitchState) {
        let Some(task) = self.cpus[cpu as usize].curr.take() else { return (None, SwitchState::Runnable) };
        let t = &mut self.tasks[task as usize];
        t.on_cpu = None;
        self.cache_model.depart(&mut t.history, cpu);
        let (space, class) = (t.space, t.class);
        let state = match t.state {
            State::Running => {
                t.preemptions += 1;
                t.state = State::Queued;
                t.queued_at = self.now;
                let mutex = t.mutex;
                self.join_queue(task, cpu);
                if let Some(mutex) = mutex {
                    self.preempted_at_mutex(task, mutex);
                }
                SwitchState::Runnable
            }
            State::Dead => SwitchState::Dead,
            _ => SwitchState::Sleeping,
        };
        if state != SwitchState::Runnable {
            self.misplacement.remove(self.now, class, cpu);
        }
        (space, state)
    }

    fn switch_to_idle(&mut self, cpu: CpuId) {
        if let Some(prev) = self.cpus[cpu as usize].curr {
            let (_, prev_state) = self.put_current(cpu);
            self.charge(cpu, SoftCost::SwitchThread);
            let cost = self.overhead_left(cpu);
            self.emit(cpu, EventKind::Switch { prev: Some(prev), prev_state, next: None, cost });
        }
        self.cpus[cpu as usize].mode = Mode::Awake;
        self.waste.set_idle(self.now, cpu, true);
    }

    /// An idle CPU whose run queue is not empty: right only if what waits there is held back.
    fn expect_none_waiting(&mut self, cpu: CpuId) {
        let waits = |(_, t): &(usize, &Task)| t.state == State::Queued && t.rq == cpu;
        let mut waiting = self.tasks.iter().enumerate().filter(waits).map(|(id, _)| id as TaskId);
        if let Some(lost) = waiting.find(|task| !self.sched.may_hold_back(*task)) {
            let who = self.name_of(lost);
            self.fail_invariant(format!("CPU {cpu} goes idle while {who} is on its run queue"));
        }
    }

    fn switch_to_stopper(&mut self, cpu: CpuId) {
        if let Some(prev) = self.cpus[cpu as usize].curr {
            // `next: None` is not idle here: Stopper(true) follows at once.
            self.cpus[cpu as usize].mode = Mode::Stopper;
            let (_, prev_state) = self.put_current(cpu);
            let cost = self.overhead_left(cpu);
            self.emit(cpu, EventKind::Switch { prev: Some(prev), prev_state, next: None, cost });
        }
        self.waste.set_idle(self.now, cpu, false);
        self.cpus[cpu as usize].mode = Mode::Stopper;
        self.break_promise(cpu);
        self.restart_tick(cpu);
        self.charge(cpu, SoftCost::SwitchThread);
        self.emit(cpu, EventKind::Stopper(true));
    }

    /// The class of an affinity in the meters.
    pub(super) fn class_of(&mut self, affinity: &CpuMask) -> usize {
        let class = self.waste.class_of(affinity);
        if class == self.misplacement.nr_classes() {
            self.misplacement.add_class(affinity);
        }
        class
    }

    /// A thread starts to wait on a run queue. The first on a CPU that idles is what that CPU will wake for: neither
    /// the one nor the other is waste.
    fn join_queue(&mut self, task: TaskId, cpu: CpuId) {
        let c = &mut self.cpus[cpu as usize];
        c.nr_queued += 1;
        if c.is_idle() && c.promised.is_none() {
            c.promised = Some(task);
            self.waste.set_idle(self.now, cpu, false);
        } else {
            self.waste.add_waiting(self.now, self.tasks[task as usize].class, 1);
        }
    }

    /// The CPU runs something else than the thread it woke for, which now waits like any other.
    fn break_promise(&mut self, cpu: CpuId) {
        if let Some(task) = self.cpus[cpu as usize].promised.take() {
            self.waste.add_waiting(self.now, self.tasks[task as usize].class, 1);
        }
    }

    fn leave_queue(&mut self, task: TaskId) {
        let (cpu, class) = (self.tasks[task as usize].rq, self.tasks[task as usize].class);
        let c = &mut self.cpus[cpu as usize];
        c.nr_queued -= 1;
        if c.promised == Some(task) {
            c.promised = None;
            let idle = c.is_idle();
            self.waste.set_idle(self.now, cpu, idle);
        } else {
            self.waste.add_waiting(self.now, class, -1);
        }
    }

    /// The scheduler reports a woken or new thread on a run queue.
    pub(super) fn task_enqueued(&mut self, task: TaskId, cpu: CpuId) {
        let known = self.tasks.get(task as usize).is_some_and(|t| t.state == State::Placing);
        if !known || cpu as usize >= self.cpus.len() {
            let who = self.name_of(task);
            return self.fail_invariant(format!("{who} reported as enqueued on CPU {cpu}, but it is not being woken"));
        }
        let t = &mut self.tasks[task as usize];
        if t.rq != cpu {
            let rq = t.rq;
            let who = self.name_of(task);
            return self.fail_invariant(format!("{who} enqueued on CPU {cpu}, but its CPU is {rq}: not migrated"));
        }
        t.state = State::Queued;
        t.queued_at = self.now;
        let class = t.class;
        self.expect_online(cpu, task);
        self.misplacement.add(self.now, class, cpu);
        self.emit(self.env_cpu(), EventKind::Wakeup { task, target: cpu });
        self.join_queue(task, cpu);
    }

    /// The scheduler reports that a thread's CPU changed. It may keep a sleeping one on a run queue for a while
    /// (delayed dequeue) and move it like any other.
    pub(super) fn task_migrated(&mut self, task: TaskId, from: CpuId, to: CpuId, cause: MigrateCause) {
        let on_cpu = self.tasks.get(task as usize).and_then(|t| t.on_cpu);
        if on_cpu.is_some() && on_cpu == self.scheduling {
            return self.put_off.push((task, from, to, cause));
        }
        let state = self.tasks.get(task as usize).map(|t| (t.rq, t.state));
        let movable = matches!(state, Some((rq, State::Queued | State::Placing | State::Blocked(_))) if rq == from);
        if !movable || to as usize >= self.cpus.len() {
            let who = self.name_of(task);
            return self.fail_invariant(format!("{who} migrated from CPU {from} to {to}, but it is {state:?}"));
        }
        let queued = self.tasks[task as usize].state == State::Queued;
        if queued {
            self.expect_online(to, task);
            self.leave_queue(task);
        }
        self.tasks[task as usize].rq = to;
        self.tasks[task as usize].moving_since = None;
        if queued {
            let class = self.tasks[task as usize].class;
            self.misplacement.remove(self.now, class, from);
            self.misplacement.add(self.now, class, to);
            self.join_queue(task, to);
        }
        self.emit(self.env_cpu(), EventKind::Migrate { task, from, to, cause });
    }

    /// The CPU starts or stops competing for its core.
    pub(super) fn set_busy(&mut self, cpu: CpuId, busy: bool) {
        let core = self.machine.cpus[cpu as usize].core as usize;
        if busy {
            self.core_busy[core] += 1;
        } else {
            self.core_busy[core] -= 1;
        }
        if self.siblings[core].len() > 1 {
            for i in 0..self.siblings[core].len() {
                self.update_speed(self.siblings[core][i]);
            }
        }
    }

    /// Speed = capacity x frequency x SMT share. A CPU that idles is shown the speed it would have.
    pub(super) fn update_speed(&mut self, cpu: CpuId) {
        let hw = &self.machine.cpus[cpu as usize];
        let domain = &self.machine.freq_domains[hw.freq_domain as usize];
        let khz = u64::from(domain.opps[self.opp[hw.freq_domain as usize] as usize].khz);
        let top = domain.opps.last().map_or(khz, |o| u64::from(o.khz));
        let idles = self.cpus[cpu as usize].sleeps();
        let threads = u64::from(self.core_busy[hw.core as usize]) + u64::from(idles);
        let shares = &self.machine.cpu_types[hw.cpu_type as usize].smt_throughput;
        let throughput = shares.get((threads.max(1) - 1) as usize).or(shares.last()).map_or(1000, |s| u64::from(*s));
        let alone = (u64::from(hw.capacity) << 10) * khz / top;
        let speed = (alone * throughput / (1000 * threads.max(1))).max(1);
        if speed != self.env.cpu(cpu).speed_q20 {
            self.settle(cpu);
            self.env.cpu_mut(cpu).speed_q20 = speed;
            self.retime(cpu);
        }
    }
}

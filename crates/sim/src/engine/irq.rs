//! Interrupts: timers, ticks, IPIs, devices; entering and leaving idle. A CPU in overhead takes them at its end; one
//! that sleeps wakes up first.

use std::cmp::Reverse;

use fairground_machine::{standard_normal, CpuId, SoftCost};

use super::cpu::Mode;
use super::idle::{account_idle_period, IdlePeriod, IdleResult, SelectInput, FAR_NS};
use super::objects::Obj;
use super::queue::EngineEvent;
use super::task::{SleepTimer, State};
use super::Engine;
use crate::draw::{draw, in_amount, Purpose};
use crate::{EventKind, IdleView, Ipi, TaskId, Time, WakeContext};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Irq {
    /// Timers of sleeping threads expire (hrtimer_interrupt).
    Timer,
    /// The scheduler's own timer.
    SchedTimer,
    Tick,
    /// `polled`: seen in memory by a CPU that polls, no interrupt.
    Ipi {
        ipi: Ipi,
        polled: bool,
    },
    Device(u32),
    /// The CPU begins to go offline, or has come online.
    Hotplug {
        online: bool,
    },
}

impl Engine {
    /// An interrupt reaches a CPU.
    pub(super) fn deliver(&mut self, cpu: CpuId, irq: Irq) {
        let c = &mut self.cpus[cpu as usize];
        match c.mode {
            Mode::Asleep => {
                c.pending.push_back(irq);
                c.woken_by_tick = irq == Irq::Tick;
                let by_other = matches!(irq, Irq::Ipi { polled: false, .. });
                self.begin_exit(cpu, by_other);
            }
            Mode::Exiting => c.pending.push_back(irq),
            _ if c.busy_until > self.now => {
                c.pending.push_back(irq);
                let until = c.busy_until;
                if until < c.due {
                    c.set_due(cpu, until, &mut self.queue);
                }
            }
            _ => {
                self.settle(cpu);
                self.take(cpu, irq);
                self.after_interrupt(cpu);
            }
        }
    }

    /// Takes the interrupts that waited, if any.
    pub(super) fn take_pending(&mut self, cpu: CpuId) -> bool {
        let mut any = false;
        while let Some(irq) = self.cpus[cpu as usize].pending.pop_front() {
            self.take(cpu, irq);
            any = true;
        }
        any
    }

    fn take(&mut self, cpu: CpuId, irq: Irq) {
        let before = self.cpus[cpu as usize].busy_until.max(self.now);
        match irq {
            // An interrupt before this one may have run them all.
            Irq::Timer if self.next_expired(cpu).is_none() => {}
            Irq::Timer => {
                self.charge_timer_irq(cpu);
                self.run_timers(cpu);
            }
            Irq::SchedTimer => {
                self.charge_timer_irq(cpu);
                self.call(cpu, |s, e| s.timer(e, cpu));
                self.run_timers(cpu);
            }
            Irq::Tick => {
                self.charge_timer_irq(cpu);
                self.call(cpu, |s, e| {
                    s.tick(e, cpu);
                    e.held_queue_lock(cpu, SoftCost::Tick);
                });
                self.run_timers(cpu);
            }
            Irq::Ipi { ipi, polled } => {
                if ipi == Ipi::Resched {
                    self.cpus[cpu as usize].resched_ipi = false;
                }
                if !polled {
                    self.charge(cpu, SoftCost::IpiIrq);
                }
                self.call(cpu, |s, e| s.ipi(e, cpu, ipi));
            }
            Irq::Device(i) => self.serve_device(cpu, i),
            Irq::Hotplug { online: false } => self.deactivate(cpu),
            Irq::Hotplug { online: true } => self.activate(cpu),
        }
        let c = &mut self.cpus[cpu as usize];
        let spent = c.busy_until.max(self.now) - before;
        c.irq_ns += spent;
        self.env.cpu_mut(cpu).irq_ns += spent;
    }

    /// Timers that expire together are one interrupt.
    fn charge_timer_irq(&mut self, cpu: CpuId) {
        if self.cpus[cpu as usize].timer_irq_at.replace(self.now) != Some(self.now) {
            self.charge(cpu, SoftCost::TimerIrq);
        }
    }

    /// A sleeping task becomes runnable. One that is still on a CPU, blocked in this very instant, is first switched
    /// out there.
    pub(super) fn wake(&mut self, ctx: WakeContext, task: TaskId) {
        if !self.tasks[task as usize].is_blocked() {
            return;
        }
        if let Some(on) = self.tasks[task as usize].on_cpu {
            self.reschedule(on);
        }
        let t = &mut self.tasks[task as usize];
        t.state = State::Placing;
        t.woken_at = Some(self.now);
        let prev = t.rq;
        self.nr_awake += 1;
        self.emit(ctx.cpu, EventKind::Waking { task, prev, waker: ctx.waker, sync: ctx.sync });
        self.call(ctx.cpu, |s, e| s.wake(e, ctx, task));
    }

    /// A reschedule of `to` is wanted. Remote: by IPI, unless one is coming or `to` will look anyway; a CPU that
    /// polls in idle sees the flag as soon as its cache line arrives.
    pub(super) fn request_resched(&mut self, from: CpuId, to: CpuId, sent: Time) {
        let Some(c) = self.cpus.get_mut(to as usize) else {
            return self.fail_invariant(format!("a reschedule was sent to CPU {to}, which does not exist"));
        };
        if from == to {
            return self.flag(to);
        }
        if c.need_resched || c.resched_ipi {
            c.need_resched = true;
            return;
        }
        c.need_resched = true;
        c.resched_ipi = true;
        self.send_ipi(from, to, Ipi::Resched, sent);
    }

    pub(super) fn send_ipi(&mut self, from: CpuId, to: CpuId, ipi: Ipi, sent: Time) {
        if to as usize >= self.cpus.len() {
            return self.fail_invariant(format!("an IPI was sent to CPU {to}, which does not exist"));
        }
        if self.hotplug.is_offline(to) {
            return self.fail_invariant(format!("an IPI was sent to CPU {to}, which is offline"));
        }
        self.cpus[to as usize].ipis_in_flight += 1;
        let polled = self.is_polling(to);
        let (costs, distance) = (&self.machine.costs, self.machine.distance(from, to));
        let flight = if polled { costs.line_read(distance) } else { costs.ipi_ns[distance as usize] }.max(1);
        self.queue.push(sent.max(self.now) + flight, EngineEvent::Ipi { to, ipi, polled });
    }

    fn is_polling(&self, cpu: CpuId) -> bool {
        let c = &self.cpus[cpu as usize];
        c.mode == Mode::Asleep && self.machine.idle_states(cpu)[c.stay.asked].polling
    }

    /// Starts a sleep of the current task until `at`, on the CPU it runs on: hrtimer_start_range_ns. The CPU is interrupted
    /// at the end of the task's timer slack; a timer interrupt between `at` and that ends the sleep, too.
    pub(super) fn arm_timer(&mut self, cpu: CpuId, task: TaskId, at: Time) {
        self.nr_timers += 1;
        self.timers_armed += 1;
        let timer = SleepTimer { hard: self.hard_end(task, at), number: self.timers_armed, soft: at, task };
        self.tasks[task as usize].timer = Some((cpu, timer.hard));
        self.cpus[cpu as usize].timers.push(Reverse(timer));
        self.queue_timer(task);
    }

    /// When a sleep of the task until `at` ends at the latest.
    pub(super) fn hard_end(&self, task: TaskId, at: Time) -> Time {
        let t = &self.tasks[task as usize];
        at.saturating_add(if t.attr.policy.is_rt() { 0 } else { t.timer_slack_ns })
    }

    /// Puts the event of an armed timer into the queue, unless an earlier one of the task's is there: when that fires, it
    /// comes here again. A task has two at most, one from times with slack and one from times without, as each of these come
    /// one after the other.
    fn queue_timer(&mut self, task: TaskId) {
        let t = &mut self.tasks[task as usize];
        let Some((cpu, hard)) = t.timer else { return };
        let own = usize::from(t.attr.policy.is_rt());
        if t.timer_events.iter().all(|queued| hard < *queued) {
            t.timer_events[own] = hard;
            self.queue.push(hard, EngineEvent::Timer { cpu, task });
        }
    }

    /// The event of a task's timer: void if the timer has run, early if another one was armed since.
    pub(super) fn timer_fires(&mut self, task: TaskId) {
        let t = &mut self.tasks[task as usize];
        for queued in t.timer_events.iter_mut().filter(|queued| **queued <= self.now) {
            *queued = Time::MAX;
        }
        match t.timer {
            Some((cpu, hard)) if hard <= self.now => match self.is_behind_tick(cpu) {
                true => self.tick_fires(cpu),
                false => self.deliver(cpu, Irq::Timer),
            },
            _ => self.queue_timer(task),
        }
    }

    /// Whether the CPU's tick expires now and was armed before its first timer, so it comes first.
    fn is_behind_tick(&self, cpu: CpuId) -> bool {
        let c = &self.cpus[cpu as usize];
        c.tick_at == self.now && c.timers.peek().is_some_and(|Reverse(first)| first.number > c.tick_number)
    }

    /// The timer that comes first at its CPU, if it may run now.
    fn next_expired(&self, cpu: CpuId) -> Option<TaskId> {
        let first = self.cpus[cpu as usize].timers.peek();
        first.filter(|Reverse(timer)| timer.soft <= self.now).map(|Reverse(timer)| timer.task)
    }

    /// __hrtimer_run_queues: timers in the order of their hard ends, up to the first whose soft end is not reached.
    fn run_timers(&mut self, cpu: CpuId) {
        while let Some(task) = self.next_expired(cpu) {
            self.cpus[cpu as usize].timers.pop();
            self.tasks[task as usize].timer = None;
            self.nr_timers -= 1;
            self.wake(WakeContext { cpu, waker: None, sync: false }, task);
        }
    }

    /// The scheduler sets its own timer of a CPU. Moving it to later costs nothing: the event in the queue pushes
    /// itself on when it comes too early.
    pub(super) fn set_sched_timer(&mut self, cpu: CpuId, at: Time) {
        let Some(c) = self.cpus.get_mut(cpu as usize) else {
            return self.fail_invariant(format!("a timer was set on CPU {cpu}, which does not exist"));
        };
        c.sched_timer_at = at;
        let at = at.max(self.now);
        if at < c.sched_timer_event {
            c.sched_timer_event = at;
            self.queue.push(at, EngineEvent::SchedTimer(cpu));
        }
    }

    pub(super) fn sched_timer_fires(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu as usize];
        if c.sched_timer_event != self.now {
            return;
        }
        c.sched_timer_event = Time::MAX;
        let at = c.sched_timer_at;
        if at > self.now {
            if at < Time::MAX {
                self.set_sched_timer(cpu, at);
            }
            return;
        }
        c.sched_timer_at = Time::MAX;
        self.deliver(cpu, Irq::SchedTimer);
    }

    /// Sets the next tick of a CPU.
    pub(super) fn arm_tick(&mut self, cpu: CpuId) {
        let at = (self.env.jiffies_at(self.now) + 1) * self.env.tick_ns();
        self.timers_armed += 1;
        let c = &mut self.cpus[cpu as usize];
        (c.tick_at, c.tick_number) = (at, self.timers_armed);
        // A tick that was stopped and restarted within its period finds its event.
        if c.tick_event != at {
            c.tick_event = at;
            self.queue.push(at, EngineEvent::Tick(cpu));
        }
    }

    pub(super) fn tick_fires(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu as usize];
        if c.tick_event == self.now {
            c.tick_event = Time::MAX;
        }
        if c.tick_at != self.now {
            return;
        }
        self.arm_tick(cpu);
        self.deliver(cpu, Irq::Tick);
    }

    pub(super) fn restart_tick(&mut self, cpu: CpuId) {
        if std::mem::take(&mut self.cpus[cpu as usize].tick_stopped) {
            self.arm_tick(cpu);
            self.call(cpu, |s, e| s.tick_stopped(e, cpu, false));
        }
    }

    fn stop_tick(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu as usize];
        if !c.tick_stopped {
            c.tick_stopped = true;
            c.tick_at = Time::MAX;
            self.call(cpu, |s, e| s.tick_stopped(e, cpu, true));
        }
    }

    pub(super) fn raise_balance(&mut self, cpu: CpuId) {
        let Some(c) = self.cpus.get_mut(cpu as usize) else {
            return self.fail_invariant(format!("a balance softirq was raised on CPU {cpu}, which does not exist"));
        };
        c.softirq = true;
        self.queue.push(self.now, EngineEvent::Balance(cpu));
    }

    pub(super) fn balance_softirq(&mut self, cpu: CpuId) {
        self.cpus[cpu as usize].softirq = false;
        self.call(cpu, |s, e| s.balance(e, cpu));
        self.after_interrupt(cpu);
    }

    pub(super) fn arm_device(&mut self, i: u32) {
        self.device_draws[i as usize] += 1;
        let n = self.device_draws[i as usize];
        let raw = draw(self.config.seed, Purpose::DevicePeriod, i.into(), n);
        let period = in_amount(self.workload.irqs[i as usize].period, raw);
        self.queue.push(self.now + period, EngineEvent::Device(i));
    }

    pub(super) fn device_fires(&mut self, i: u32) {
        self.arm_device(i);
        self.deliver(self.workload.irqs[i as usize].cpu, Irq::Device(i));
    }

    /// The handler: `busy` is all of it, entry and exit included; then the post.
    fn serve_device(&mut self, cpu: CpuId, i: u32) {
        let source = &self.workload.irqs[i as usize];
        let (busy, posts) = (source.busy, source.posts);
        let raw = draw(self.config.seed, Purpose::DeviceBusy, i.into(), self.device_draws[i as usize]);
        let work_q20 = in_amount(busy, raw).saturating_mul(1 << 20);
        self.add_overhead(cpu, work_q20.div_ceil(self.env.cpu(cpu).speed_q20));
        let Some(sem) = posts else { return };
        let Obj::Semaphore { value, waiters } = &mut self.objects[sem as usize] else { return };
        *value += 1;
        if let Some(task) = waiters.pop_front() {
            self.wake(WakeContext { cpu, waker: None, sync: false }, task);
        }
    }

    /// The idle loop has nothing left to do: choose a state and go in.
    pub(super) fn enter_idle(&mut self, cpu: CpuId) {
        if self.cpus[cpu as usize].need_resched {
            return self.flag(cpu);
        }
        if self.cpus[cpu as usize].softirq {
            return;
        }
        if self.may_die(cpu) {
            return self.die(cpu);
        }
        let (asked, stop_tick) = self.select_state(cpu);
        if stop_tick {
            self.stop_tick(cpu);
        }
        let state = &self.machine.idle_states(cpu)[asked];
        let recorded = self.machine.type_of(cpu).cpuidle.then_some(IdleView {
            index: asked as u8,
            since: self.now,
            exit_latency_ns: state.exit_latency_ns,
            target_residency_ns: state.target_residency_ns,
        });
        self.env.cpu_mut(cpu).idle = recorded;
        self.emit(cpu, EventKind::Idle { state: Some(asked as u8) });
        if let Some(view) = recorded {
            self.call(cpu, |s, e| s.idle_enter(e, cpu, view));
        }
        self.fall_asleep(cpu, asked);
    }

    /// The hardware goes into this idle state.
    pub(super) fn fall_asleep(&mut self, cpu: CpuId, asked: usize) {
        let from = self.cpus[cpu as usize].busy_until.max(self.now);
        let c = &mut self.cpus[cpu as usize];
        c.mode = Mode::Asleep;
        c.stay = IdlePeriod { asked, from, entered: from, reached: 0 };
        c.woken_by_tick = false;
        self.set_busy(cpu, false);
        self.energy_asleep(cpu);
        let held = self.held_state(cpu);
        self.cpus[cpu as usize].stay.entered = from + self.machine.idle_states(cpu)[held].entry_ns;
    }

    /// The state to ask for, and whether to stop the tick. Without a cpuidle driver it is the first, and the tick
    /// always stops. DEVIATION: some stable releases without a driver keep the tick until it has come once.
    fn select_state(&mut self, cpu: CpuId) -> (usize, bool) {
        if !self.machine.type_of(cpu).cpuidle {
            return (0, true);
        }
        let c = &mut self.cpus[cpu as usize];
        let next = c.timers.peek().map_or(Time::MAX, |t| t.0.hard).min(c.sched_timer_at);
        let timer = next.saturating_sub(self.now).min(FAR_NS);
        let outlook = SelectInput {
            now: self.now,
            timer_ns: timer,
            tick_ns: timer.min(c.tick_at.saturating_sub(self.now)),
            period_ns: self.env.tick_ns(),
            tick_stopped: c.tick_stopped,
            latency_limit_ns: self.config.latency_limit_ns,
        };
        c.governor.select(self.machine.idle_states(cpu), &outlook)
    }

    /// Something wakes the CPU, an interrupt of another CPU (`by_other`) or one of its own: wait for the end of entry, then
    /// leave the state the hardware is in.
    pub(super) fn begin_exit(&mut self, cpu: CpuId, by_other: bool) {
        let held = self.held_state(cpu);
        let transition_uj = self.machine.idle_states(cpu)[held].transition_uj;
        let wake_ns = self.wake_ns(cpu, held, by_other);
        self.cpus[cpu as usize].stay.reach(held);
        self.empty_caches(cpu, held);
        let starts = self.cpus[cpu as usize].stay.entered.max(self.now);
        self.energy_awake(cpu, starts, transition_uj);
        let c = &mut self.cpus[cpu as usize];
        c.mode = Mode::Exiting;
        c.set_due(cpu, starts + wake_ns, &mut self.queue);
    }

    /// How long this wake from a state takes, ns.
    fn wake_ns(&mut self, cpu: CpuId, held: usize, by_other: bool) -> u64 {
        let state = &self.machine.idle_states(cpu)[held];
        if state.wake_scatter == 1.0 && state.late_share == 0.0 {
            return state.wake_ns;
        }
        let c = &mut self.cpus[cpu as usize];
        c.wakes += 1;
        let raw = |i: u64| draw(self.config.seed, Purpose::Wake, cpu.into(), 3 * c.wakes + i);
        let factor = libm::exp(libm::log(state.wake_scatter) * standard_normal([raw(0), raw(1)]));
        let scattered = (state.wake_ns as f64 * factor).round() as u64;
        // Of 2^53 equal parts.
        let is_late = by_other && ((raw(2) >> 11) as f64) < state.late_share * (1u64 << 53) as f64;
        scattered.saturating_add(if is_late { state.late_ns } else { 0 })
    }

    /// Awake: books the stay, then interrupts are handled and the CPU reschedules or goes back to idle.
    pub(super) fn finish_exit(&mut self, cpu: CpuId) {
        let saved_mw = self.saved_mw(cpu, self.cpus[cpu as usize].stay.reached);
        let states = self.machine.idle_states(cpu);
        let c = &mut self.cpus[cpu as usize];
        c.mode = Mode::Awake;
        let slept_ns = self.now.saturating_sub(c.stay.from);
        c.idle_ns += slept_ns;
        account_idle_period(&mut c.idle_stats, states, &c.stay, slept_ns, saved_mw);
        let cpuidle = self.machine.type_of(cpu).cpuidle;
        if cpuidle {
            let woken = IdleResult { now: self.now, slept_ns, by_tick: c.woken_by_tick, period_ns: self.env.tick_ns() };
            c.governor.reflect(states, c.stay.asked, &woken);
        }
        self.env.cpu_mut(cpu).idle = None;
        self.set_busy(cpu, true);
        self.emit(cpu, EventKind::Idle { state: None });
        if cpuidle {
            self.call(cpu, |s, e| s.idle_exit(e, cpu));
        }
        self.take_pending(cpu);
        self.after_interrupt(cpu);
    }
}

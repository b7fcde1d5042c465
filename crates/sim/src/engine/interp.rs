//! Programs: what a thread's step does when its work is done.
//!
//! A step is a few phases; each sets some work (ordinary, preemptible) and takes effect when that is done. A blocking
//! step: pre-cost, then look; nothing there: sleep, and when switched in again pay the return half and look again.
//! Effects with a wake happen at the instant; what the scheduler charges for it delays what follows.

use std::collections::VecDeque;

use fairground_machine::{CpuId, SoftCost};
use fairground_workload::{Amount, ClampOdds, GroupClamp, Mark, ObjId, Op, SchedAttr, SpecId};

use super::cache_model::CacheHistory;
use super::objects::Obj;
use super::task::{State, Wait};
use super::Engine;
use crate::draw::{draw, jittered, lineage_of_child, program_floor, Purpose};
use crate::{Change, EventKind, Step, TaskId, Time, WakeContext};

/// Steps of one thread at one instant after which time is taken to stand still.
const INSTANT_STEPS_MAX: u32 = 1 << 20;

/// What follows a phase of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// Work is set; the next phase comes when it is done.
    Work,
    /// The step is over.
    Next,
    /// As [`Flow::Next`], and the next step is this one.
    Jump(u32),
    /// The thread left the CPU, or may be about to.
    Stop,
}

impl Engine {
    /// The current task's work is done: takes its steps until one takes time.
    pub(super) fn advance(&mut self, cpu: CpuId, task: TaskId) {
        let Some(program) = self.tasks[task as usize].program.take() else {
            return self.fail_invariant(format!("{} takes a step within a step", self.name_of(task)));
        };
        self.take_steps(cpu, task, &program);
        self.tasks[task as usize].program = Some(program);
    }

    #[inline]
    fn take_steps(&mut self, cpu: CpuId, task: TaskId, program: &[Op]) {
        let mut in_instant = 0;
        while in_instant < INSTANT_STEPS_MAX {
            in_instant += 1;
            let t = &self.tasks[task as usize];
            let (op, begins) = (program.get(t.pc as usize).unwrap_or(&Op::Exit), t.phase == 0);
            if begins && acts_at_once(op) && self.cpus[cpu as usize].busy_until > self.now {
                if !self.run_ahead(cpu, task) {
                    return self.retime(cpu);
                }
                in_instant = 0;
            }
            if self.steps.is_some() && begins {
                self.report_step(cpu, task, op);
            }
            let flow = self.step(cpu, task, op);
            let free = self.cpus[cpu as usize].busy_until <= self.now;
            let t = &mut self.tasks[task as usize];
            match flow {
                Flow::Next | Flow::Jump(_) => {
                    t.pc = if let Flow::Jump(pc) = flow { pc } else { t.pc + 1 };
                    t.phase = 0;
                    t.scratch = 0;
                    t.slept = false;
                }
                Flow::Work if (free || t.recorded) && t.is_done(self.now) => {}
                Flow::Work if self.run_ahead(cpu, task) => in_instant = 0,
                Flow::Work | Flow::Stop => return self.retime(cpu),
            }
            let flagged = self.nr_flagged > 0 && self.is_flagged(cpu);
            if self.failure.is_some() || flagged && !self.goes_on_at_once(task, program) {
                return self.retime(cpu);
            }
        }
        let t = &self.tasks[task as usize];
        let what = format!("{} loops at step {} without using any time", self.name_of(task), t.pc);
        self.fail_livelock(what);
    }

    #[cold]
    fn report_step(&mut self, cpu: CpuId, task: TaskId, op: &Op) {
        let due = match *op {
            Op::TimerWait { timer, period_ns, .. } => Some(self.last_expiry(task, timer).saturating_add(period_ns)),
            _ => None,
        };
        let time = self.now.max(self.cpus[cpu as usize].busy_until);
        let step = Step { time, task, op: self.tasks[task as usize].pc, due };
        self.steps.iter_mut().for_each(|steps| steps.push(step));
    }

    fn step(&mut self, cpu: CpuId, task: TaskId, op: &Op) -> Flow {
        let t = &mut self.tasks[task as usize];
        t.leading &= op.may_lead();
        let phase = t.phase;
        match *op {
            Op::Run(amount) => self.compute(task, phase, amount),
            Op::Recorded => Flow::Next,
            Op::Work(ps) => self.recorded_work(task, phase, ps),
            Op::RunWall(amount) => self.run_wall(task, phase, amount),
            Op::Sleep(amount) => self.sleep(cpu, task, phase, amount),
            Op::SleepUntil(at) => self.sleep_until(cpu, task, phase, at),
            Op::TimerWait { timer, period_ns, relative } => {
                self.timer_wait(cpu, task, phase, timer, period_ns, relative)
            }
            Op::PipeWrite { pipe, bytes } => self.pipe_write(cpu, task, phase, pipe, bytes),
            Op::PipeRead { pipe, bytes } => self.pipe_read(cpu, task, phase, pipe, bytes),
            Op::SockSend { sock, bytes } => self.sock_send(cpu, task, phase, sock, bytes),
            Op::SockRecv { sock, bytes } => self.sock_recv(cpu, task, phase, sock, bytes),
            Op::Poll(id) => self.poll(cpu, task, phase, id),
            Op::FutexStore { futex, value } => self.futex_store(futex, value),
            Op::FutexWait { futex, expected } => self.futex_wait(cpu, task, phase, futex, expected),
            Op::FutexWake { futex, count } => self.futex_wake(cpu, task, phase, futex, count),
            Op::Lock(mutex) => self.lock(cpu, task, phase, mutex),
            Op::Unlock(mutex) => self.unlock(cpu, task, phase, mutex),
            Op::CondWait { cond, mutex } => self.cond_wait(cpu, task, phase, cond, mutex),
            Op::Signal(cond) => self.cond_wake(cpu, task, phase, cond, 1),
            Op::Broadcast(cond) => self.cond_wake(cpu, task, phase, cond, usize::MAX),
            Op::BarrierWait(barrier) => self.barrier_wait(cpu, task, phase, barrier),
            Op::SemWait(sem) => self.sem_wait(cpu, task, phase, sem),
            Op::SemPost(sem) => self.sem_post(cpu, task, phase, sem),
            Op::Rouse { sem, sync } => self.rouse(cpu, task, sem, sync),
            Op::Rest => self.wait_forever(cpu, task),
            Op::Yield => self.sched_yield(cpu, task, phase),
            Op::Spawn { spec, count, thread } => self.spawn(cpu, task, phase, spec, count, thread),
            Op::Exec => self.exec(cpu, task, phase),
            Op::WaitChildren => self.wait_children(cpu, task, phase),
            Op::WaitChild => self.wait_child(cpu, task, phase),
            Op::Exit => self.exit(cpu, task, phase),
            Op::SetAttr(attr) => self.set_attr(cpu, task, phase, attr),
            Op::DrawUclampMin(ref odds) => self.draw_uclamp_min(cpu, task, phase, odds),
            Op::SetAffinity(mask) => self.set_affinity(cpu, task, phase, mask),
            Op::SetGroupClamp(new) => self.set_group_clamp(cpu, task, phase, new),
            Op::SetGroupCpus(new) => self.set_group_cpus(cpu, task, phase, new),
            Op::Loop { times: Some(0), end } => Flow::Jump(end),
            Op::Loop { times, .. } => {
                self.tasks[task as usize].loops.push(times);
                Flow::Next
            }
            Op::EndLoop { begin } => self.end_loop(task, begin),
            Op::Mark(mark) => self.mark(cpu, task, mark),
            Op::Stamp(stamp) => self.note_time(stamp),
            Op::StampCall(stamp) => self.note_call(task, stamp),
            Op::Sample { since, to } => self.sample(task, since, to),
            Op::Conclude(tally) => self.conclude(tally),
            Op::Enlist(roster) => self.enlist(cpu, task, phase, roster),
            Op::CallListed(roster) => self.call_listed(cpu, task, phase, roster),
            Op::AwaitListed(roster) => self.await_listed(cpu, task, phase, roster),
            Op::Serial { lock, hold, lines } => match self.objects[lock as usize] {
                Obj::KernelMutex(_) => self.under_mutex(cpu, task, phase, lock, (hold, lines)),
                _ => self.serial(cpu, task, phase, lock, (hold, lines)),
            },
        }
    }

    /// Sets soft work, and the phase that follows it.
    pub(super) fn work(&mut self, task: TaskId, then: u8, kinds: &[SoftCost]) -> Flow {
        let price: u64 = kinds.iter().map(|k| self.soft_q20[*k as usize]).sum();
        let t = &mut self.tasks[task as usize];
        t.steps += 1;
        t.work_q20 = match self.jitter_q20 {
            _ if t.recorded => 0,
            0 => price,
            jitter => jittered(price, jitter, draw(self.config.seed, Purpose::StepCost, t.lineage, t.steps)),
        };
        t.phase = then;
        Flow::Work
    }

    pub(super) fn copy_q20(&self, bytes: u32) -> u64 {
        (u128::from(self.soft_q20[SoftCost::CopyKib as usize]) * u128::from(bytes) / 1024) as u64
    }

    /// The current task goes to sleep. When it runs again it pays `back`, then takes `phase`.
    pub(super) fn block(&mut self, cpu: CpuId, task: TaskId, wait: Wait, phase: u8, back: &[SoftCost]) -> Flow {
        self.work(task, phase, back);
        self.tasks[task as usize].state = State::Blocked(wait);
        self.nr_awake -= 1;
        self.call(cpu, |s, e| {
            s.block(e, cpu, task);
            e.held_queue_lock(cpu, SoftCost::Dequeue);
        });
        self.flag(cpu);
        Flow::Stop
    }

    pub(super) fn wake_from(&mut self, cpu: CpuId, waker: TaskId, sync: bool, wakee: Option<TaskId>) {
        if let Some(wakee) = wakee {
            self.wake(WakeContext { cpu, waker: Some(waker), sync }, wakee);
        }
    }

    fn compute(&mut self, task: TaskId, phase: u8, amount: Amount) -> Flow {
        if phase == 1 {
            return Flow::Next;
        }
        let work = self.draw_for(task, amount).saturating_mul(1 << 20);
        let t = &mut self.tasks[task as usize];
        t.work_q20 = work;
        t.phase = 1;
        Flow::Work
    }

    /// What was done in advance, as the step before ended in overhead, is done.
    fn recorded_work(&mut self, task: TaskId, phase: u8, ps: u64) -> Flow {
        if phase == 1 {
            return Flow::Next;
        }
        let t = &mut self.tasks[task as usize];
        let asked = u64::try_from((u128::from(ps) << 20) / 1000).unwrap_or(u64::MAX);
        let done = asked.min(t.ahead_q20);
        t.ahead_q20 -= done;
        t.work_q20 = asked - done;
        t.phase = 1;
        Flow::Work
    }

    /// Recorded steps without work between them happened at one instant; no reschedule comes between them.
    fn goes_on_at_once(&self, task: TaskId, program: &[Op]) -> bool {
        let t = &self.tasks[task as usize];
        t.recorded && (t.phase != 0 || !matches!(program.get(t.pc as usize), Some(Op::Work(_))))
    }

    fn run_wall(&mut self, task: TaskId, phase: u8, amount: Amount) -> Flow {
        if phase == 1 {
            return Flow::Next;
        }
        let until = self.now.saturating_add(self.draw_for(task, amount));
        let t = &mut self.tasks[task as usize];
        t.wall_until = until;
        t.phase = 1;
        Flow::Work
    }

    fn sleep(&mut self, cpu: CpuId, task: TaskId, phase: u8, amount: Amount) -> Flow {
        match phase {
            0 => self.work(task, 1, &[SoftCost::Syscall, SoftCost::TimerArm]),
            1 => {
                let at = self.now.saturating_add(self.draw_for(task, amount));
                self.sleep_till(cpu, task, at)
            }
            _ => Flow::Next,
        }
    }

    /// `after` counts from the start of the workload, which is not time 0 ([`super::Config::start_phase`]).
    fn sleep_until(&mut self, cpu: CpuId, task: TaskId, phase: u8, after: Time) -> Flow {
        let at = self.started.unwrap_or(0).saturating_add(after);
        match phase {
            0 if self.hard_end(task, at) <= self.now => {
                self.lead_until(task, at);
                self.work(task, 2, &[SoftCost::Syscall])
            }
            0 => self.work(task, 1, &[SoftCost::Syscall, SoftCost::TimerArm]),
            1 => self.sleep_till(cpu, task, at),
            _ => Flow::Next,
        }
    }

    /// Sleeps until `at`, then takes phase 2; goes on if that is past by more than the timer slack: a sleep of no time at all
    /// lasts as long as the slack.
    fn sleep_till(&mut self, cpu: CpuId, task: TaskId, at: Time) -> Flow {
        self.lead_until(task, at);
        if self.hard_end(task, at) <= self.now {
            return Flow::Next;
        }
        self.arm_timer(cpu, task, at);
        self.block(cpu, task, Wait::Timer(at), 2, &[])
    }

    /// Phase 0 moves the timer on; a missed period costs nothing (the program only reads the clock).
    fn timer_wait(&mut self, cpu: CpuId, task: TaskId, phase: u8, timer: ObjId, period: u64, relative: bool) -> Flow {
        match phase {
            0 => {
                let next = self.last_expiry(task, timer).saturating_add(period);
                let missed = next <= self.now;
                let at = if missed && relative { self.now } else { next };
                self.set_expiry(task, timer, at);
                if missed {
                    return Flow::Next;
                }
                self.tasks[task as usize].scratch = next;
                self.work(task, 1, &[SoftCost::Syscall, SoftCost::TimerArm])
            }
            1 => self.sleep_till(cpu, task, self.tasks[task as usize].scratch),
            _ => Flow::Next,
        }
    }

    /// Where the timer's next period starts; at first where those of its first user do.
    fn last_expiry(&self, task: TaskId, timer: ObjId) -> Time {
        let t = &self.tasks[task as usize];
        let last = match self.objects[timer as usize] {
            Obj::Timer { per_task: false, last } => last,
            _ => t.timers.iter().find(|(id, _)| *id == timer).map(|(_, at)| *at),
        };
        last.unwrap_or(t.first_period)
    }

    fn set_expiry(&mut self, task: TaskId, timer: ObjId, at: Time) {
        if let Obj::Timer { per_task: false, last } = &mut self.objects[timer as usize] {
            *last = Some(at);
            return;
        }
        let timers = &mut self.tasks[task as usize].timers;
        match timers.iter_mut().find(|(id, _)| *id == timer) {
            Some(slot) => slot.1 = at,
            None => timers.push((timer, at)),
        }
    }

    /// A leading wait of the thread ends at `at` (or would have, had the thread been in time): as rt-app counts the
    /// periods of a thread from its start command, not from when it got a CPU.
    fn lead_until(&mut self, task: TaskId, at: Time) {
        let t = &mut self.tasks[task as usize];
        if t.leading {
            t.first_period = at;
        }
    }

    fn futex_store(&mut self, id: ObjId, new: u32) -> Flow {
        if let Obj::Futex { value, .. } = &mut self.objects[id as usize] {
            *value = new;
        }
        Flow::Next
    }

    fn futex_wait(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId, expected: u32) -> Flow {
        match (phase, &mut self.objects[id as usize]) {
            (0, _) => self.work(task, 1, &[SoftCost::Syscall, SoftCost::Futex]),
            (1, Obj::Futex { value, waiters }) if *value == expected => {
                waiters.push_back(task);
                self.block(cpu, task, Wait::Object(id), 2, &[SoftCost::Futex])
            }
            _ => Flow::Next,
        }
    }

    fn futex_wake(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId, count: u32) -> Flow {
        if phase == 0 {
            return self.work(task, 1, &[SoftCost::Syscall, SoftCost::Futex]);
        }
        self.wake_waiters(cpu, task, id, count as usize);
        Flow::Next
    }

    /// Wakes up to `count` of the threads that wait now, longest waiting first.
    fn wake_waiters(&mut self, cpu: CpuId, task: TaskId, id: ObjId, count: usize) {
        let waiting = self.waiters(id).len();
        for _ in 0..count.min(waiting) {
            let wakee = self.waiters(id).pop_front();
            self.wake_from(cpu, task, false, wakee);
        }
    }

    fn waiters(&mut self, id: ObjId) -> &mut VecDeque<TaskId> {
        match &mut self.objects[id as usize] {
            Obj::Futex { waiters, .. }
            | Obj::Mutex { waiters, .. }
            | Obj::Cond { waiters }
            | Obj::Semaphore { waiters, .. } => waiters,
            other => unreachable!("validated: object {id} is not {other:?}"),
        }
    }

    /// Takes a free mutex.
    fn try_lock(&mut self, task: TaskId, id: ObjId) -> bool {
        match &mut self.objects[id as usize] {
            Obj::Mutex { owner: owner @ None, .. } => {
                *owner = Some(task);
                true
            }
            _ => false,
        }
    }

    /// 0: the fast path. 1: taken, or into the kernel. 2: look again, or sleep. As glibc's normal mutex: one that is
    /// woken competes again with threads that come meanwhile (no handoff), and queues at the end if it loses.
    fn lock(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId) -> Flow {
        match phase {
            0 => self.work(task, 1, &[SoftCost::LockFast]),
            _ if self.try_lock(task, id) => Flow::Next,
            1 => self.work(task, 2, &[SoftCost::Syscall, SoftCost::Futex]),
            _ => self.sleep_on(cpu, task, id, phase),
        }
    }

    /// Sleeps in the queue of a lock and takes `phase` when back.
    fn sleep_on(&mut self, cpu: CpuId, task: TaskId, id: ObjId, phase: u8) -> Flow {
        self.waiters(id).push_back(task);
        self.block(cpu, task, Wait::Object(id), phase, &[SoftCost::Futex])
    }

    fn unlock(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId) -> Flow {
        match phase {
            0 => self.work(task, 1, &[SoftCost::LockFast]),
            1 if !self.release(task, id) => Flow::Stop,
            1 if self.waiters(id).is_empty() => Flow::Next,
            1 => self.work(task, 2, &[SoftCost::Syscall, SoftCost::Futex]),
            _ => {
                self.wake_waiters(cpu, task, id, 1);
                Flow::Next
            }
        }
    }

    /// Gives a mutex up; an error of the program if the thread does not hold it.
    fn release(&mut self, task: TaskId, id: ObjId) -> bool {
        if let Obj::Mutex { owner, .. } = &mut self.objects[id as usize] {
            if *owner == Some(task) {
                *owner = None;
                return true;
            }
        }
        let what =
            format!("{} unlocks mutex {}, which it does not hold", self.name_of(task), self.workload.object_label(id));
        let workload = self.workload.name.clone();
        self.fail(crate::SimError::Program { workload, what });
        false
    }

    /// 0: the call. 1: give up the mutex and sleep, at one instant. 2: back; 3, 4: take the mutex as in `lock`.
    fn cond_wait(&mut self, cpu: CpuId, task: TaskId, phase: u8, cond: ObjId, mutex: Option<ObjId>) -> Flow {
        match (phase, mutex) {
            (0, _) => self.work(task, 1, &[SoftCost::Syscall, SoftCost::Futex]),
            (1, Some(m)) if !self.release(task, m) => Flow::Stop,
            (1, _) => {
                if let Some(m) = mutex {
                    self.wake_waiters(cpu, task, m, 1);
                }
                self.sleep_on(cpu, task, cond, 2)
            }
            (_, None) => Flow::Next,
            (2, _) => self.work(task, 3, &[SoftCost::LockFast]),
            (_, Some(m)) if self.try_lock(task, m) => Flow::Next,
            (3, _) => self.work(task, 4, &[SoftCost::Syscall, SoftCost::Futex]),
            (_, Some(m)) => self.sleep_on(cpu, task, m, 4),
        }
    }

    /// Signal and broadcast: the kernel is entered only if a thread waits. Without waiters the signal is lost.
    fn cond_wake(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId, count: usize) -> Flow {
        match phase {
            0 => self.work(task, 1, &[SoftCost::LockFast]),
            1 if self.waiters(id).is_empty() => Flow::Next,
            1 => self.work(task, 2, &[SoftCost::Syscall, SoftCost::Futex]),
            _ => {
                self.wake_waiters(cpu, task, id, count);
                Flow::Next
            }
        }
    }

    /// 0: the fast path. 1: arrive. 2: not the last: sleep unless released meanwhile. 3: the last: wake the others.
    fn barrier_wait(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId) -> Flow {
        if phase == 0 {
            return self.work(task, 1, &[SoftCost::LockFast]);
        }
        let now = self.now;
        let Obj::Barrier { parties, arrived, generation, released_at, waiters } = &mut self.objects[id as usize] else {
            unreachable!("validated: object {id} is a barrier")
        };
        let released = *released_at;
        match phase {
            1 if *arrived + 1 < *parties => {
                *arrived += 1;
                self.tasks[task as usize].scratch = *generation;
                self.work(task, 2, &[SoftCost::Syscall, SoftCost::Futex])
            }
            1 => {
                *arrived = 0;
                *generation += 1;
                *released_at = now;
                let alone = *parties == 1;
                self.lead_until(task, now);
                if alone {
                    return Flow::Next;
                }
                self.work(task, 3, &[SoftCost::Syscall, SoftCost::Futex])
            }
            2 if *generation == self.tasks[task as usize].scratch => {
                waiters.push_back((task, *generation));
                self.block(cpu, task, Wait::Object(id), 4, &[SoftCost::Futex])
            }
            3 => {
                while let Some(wakee) = self.released_from_barrier(id) {
                    self.wake_from(cpu, task, false, Some(wakee));
                }
                Flow::Next
            }
            _ => {
                self.lead_until(task, released);
                Flow::Next
            }
        }
    }

    /// The next thread that waits for a generation that is over.
    fn released_from_barrier(&mut self, id: ObjId) -> Option<TaskId> {
        let Obj::Barrier { generation, waiters, .. } = &mut self.objects[id as usize] else { return None };
        waiters.front().filter(|(_, g)| g < generation)?;
        waiters.pop_front().map(|(task, _)| task)
    }

    fn try_take(&mut self, id: ObjId) -> bool {
        match &mut self.objects[id as usize] {
            Obj::Semaphore { value, .. } if *value > 0 => {
                *value -= 1;
                true
            }
            _ => false,
        }
    }

    fn sem_wait(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId) -> Flow {
        match phase {
            0 => self.work(task, 1, &[SoftCost::LockFast]),
            _ if self.try_take(id) => Flow::Next,
            1 => self.work(task, 2, &[SoftCost::Syscall, SoftCost::Futex]),
            _ => self.sleep_on(cpu, task, id, phase),
        }
    }

    fn sem_post(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId) -> Flow {
        if phase == 1 {
            if let Obj::Semaphore { value, .. } = &mut self.objects[id as usize] {
                *value += 1;
            }
        }
        match phase {
            0 => self.work(task, 1, &[SoftCost::LockFast]),
            1 if self.waiters(id).is_empty() => Flow::Next,
            1 => self.work(task, 2, &[SoftCost::Syscall, SoftCost::Futex]),
            _ => {
                self.wake_waiters(cpu, task, id, 1);
                Flow::Next
            }
        }
    }

    fn rouse(&mut self, cpu: CpuId, task: TaskId, id: ObjId, sync: bool) -> Flow {
        if let Obj::Semaphore { value, .. } = &mut self.objects[id as usize] {
            *value += 1;
        }
        let wakee = self.waiters(id).pop_front();
        self.wake_from(cpu, task, sync, wakee);
        Flow::Next
    }

    fn wait_forever(&mut self, cpu: CpuId, task: TaskId) -> Flow {
        let spec = self.tasks[task as usize].spec;
        self.nr_vital -= u64::from(!self.workload.tasks[spec as usize].daemon);
        self.block(cpu, task, Wait::Nothing, 0, &[])
    }

    fn sched_yield(&mut self, cpu: CpuId, task: TaskId, phase: u8) -> Flow {
        if phase == 0 {
            return self.work(task, 1, &[SoftCost::Syscall, SoftCost::SchedCall]);
        }
        self.call(cpu, |s, e| s.yield_now(e, cpu, task));
        self.flag(cpu);
        Flow::Next
    }

    /// 1: one more child, if any; `scratch` counts. 2: it is made.
    fn spawn(&mut self, cpu: CpuId, task: TaskId, phase: u8, spec: SpecId, count: u32, thread: bool) -> Flow {
        let made = self.tasks[task as usize].scratch;
        if phase == 2 {
            self.tasks[task as usize].scratch += 1;
            self.spawn_one(cpu, task, spec, thread);
            return self.work(task, 1, &[]);
        }
        if made == u64::from(count) {
            return Flow::Next;
        }
        self.tasks[task as usize].creating_since = Some(self.now);
        self.work(task, 2, &[SoftCost::Syscall, if thread { SoftCost::CloneThread } else { SoftCost::Fork }])
    }

    fn spawn_one(&mut self, cpu: CpuId, task: TaskId, spec: SpecId, thread: bool) {
        let t = &mut self.tasks[task as usize];
        t.live_children += 1;
        t.born += 1;
        let lineage = lineage_of_child(self.config.seed, t.lineage, t.born);
        let space = match t.space {
            Some(space) if thread => space,
            _ => {
                self.nr_spaces += 1;
                self.nr_spaces - 1
            }
        };
        self.give_birth(spec, cpu, Some(task), thread, space, lineage);
    }

    /// 1: the scheduler may move the thread, which has no working set now. 2: loaded, in an address space of its own.
    fn exec(&mut self, cpu: CpuId, task: TaskId, phase: u8) -> Flow {
        match phase {
            0 => self.work(task, 1, &[SoftCost::Syscall]),
            1 => {
                self.tasks[task as usize].history = CacheHistory::default();
                self.call(cpu, |s, e| s.exec(e, cpu, task));
                self.work(task, 2, &[SoftCost::Exec])
            }
            _ => {
                self.settle_in(cpu, task);
                if self.tasks[task as usize].space.is_some() {
                    let space = self.nr_spaces;
                    self.tasks[task as usize].space = Some(space);
                    self.nr_spaces += 1;
                    if !self.tasks[task as usize].recorded {
                        self.call(cpu, |s, e| s.new_process(e, cpu, task, space));
                    }
                }
                self.emit(cpu, EventKind::Exec { task });
                Flow::Next
            }
        }
    }

    fn wait_children(&mut self, cpu: CpuId, task: TaskId, phase: u8) -> Flow {
        match phase {
            0 => self.work(task, 1, &[SoftCost::Syscall]),
            _ if self.tasks[task as usize].live_children == 0 => {
                self.tasks[task as usize].zombies = 0;
                Flow::Next
            }
            _ => self.block(cpu, task, Wait::Children, 1, &[SoftCost::Syscall]),
        }
    }

    fn wait_child(&mut self, cpu: CpuId, task: TaskId, phase: u8) -> Flow {
        if phase == 0 {
            return self.work(task, 1, &[SoftCost::Syscall]);
        }
        let t = &mut self.tasks[task as usize];
        match t.zombies {
            0 if t.live_children == 0 => Flow::Next,
            0 => self.block(cpu, task, Wait::Child, 1, &[SoftCost::Syscall]),
            _ => {
                t.zombies -= 1;
                Flow::Next
            }
        }
    }

    /// 1: it wakes a parent that waits for any child, the last also one that waits for all (sync for a process, as the
    /// kernel does); then the thread is gone.
    fn exit(&mut self, cpu: CpuId, task: TaskId, phase: u8) -> Flow {
        if phase == 0 {
            return self.work(task, 1, &[SoftCost::Exit]);
        }
        self.emit(cpu, EventKind::Exit { task });
        let (parent, sync) = (self.tasks[task as usize].parent, !self.tasks[task as usize].thread);
        if let Some(parent) = parent {
            let p = &mut self.tasks[parent as usize];
            p.live_children -= 1;
            p.zombies += 1;
            let all_gone = p.live_children == 0 && p.state == State::Blocked(Wait::Children);
            if all_gone || p.state == State::Blocked(Wait::Child) {
                self.wake_from(cpu, task, sync, Some(parent));
            }
        }
        let t = &mut self.tasks[task as usize];
        t.state = State::Dead;
        self.nr_awake -= 1;
        self.nr_vital -= u64::from(!self.workload.tasks[t.spec as usize].daemon);
        self.call(cpu, |s, e| s.exit(e, cpu, task));
        self.flag(cpu);
        Flow::Stop
    }

    fn set_attr(&mut self, cpu: CpuId, task: TaskId, phase: u8, attr: SchedAttr) -> Flow {
        if phase == 0 {
            return self.work(task, 1, &[SoftCost::Syscall, SoftCost::SchedCall]);
        }
        self.tasks[task as usize].attr = attr;
        self.call(cpu, |s, e| s.change(e, cpu, task, &Change::Attr(attr)));
        Flow::Next
    }

    /// As [`Self::set_attr`], with a floor that is drawn.
    fn draw_uclamp_min(&mut self, cpu: CpuId, task: TaskId, phase: u8, odds: &[ClampOdds]) -> Flow {
        let mut attr = self.tasks[task as usize].attr;
        if phase == 1 {
            let t = &mut self.tasks[task as usize];
            t.draws += 1;
            attr.uclamp_min = program_floor(self.config.seed, t.lineage, t.draws, odds);
        }
        self.set_attr(cpu, task, phase, attr)
    }

    fn set_group_clamp(&mut self, cpu: CpuId, task: TaskId, phase: u8, new: GroupClamp) -> Flow {
        if phase == 0 {
            return self.work(task, 1, &[SoftCost::Syscall, SoftCost::SchedCall]);
        }
        self.call(cpu, |s, e| s.change_group(e, cpu, &new));
        Flow::Next
    }

    fn end_loop(&mut self, task: TaskId, begin: u32) -> Flow {
        let loops = &mut self.tasks[task as usize].loops;
        match loops.last_mut() {
            Some(None) => Flow::Jump(begin + 1),
            Some(Some(left)) if *left > 1 => {
                *left -= 1;
                Flow::Jump(begin + 1)
            }
            _ => {
                loops.pop();
                Flow::Next
            }
        }
    }

    fn mark(&mut self, cpu: CpuId, task: TaskId, mark: Mark) -> Flow {
        self.emit(cpu, EventKind::Mark { task, mark });
        match mark {
            Mark::Begin => self.begin_statistics(),
            Mark::End => self.end_statistics(),
            Mark::Steady | Mark::Op => {}
        }
        Flow::Next
    }
}

/// Steps that act or read the clock before any work: they wait for the end of overhead.
fn acts_at_once(op: &Op) -> bool {
    matches!(
        op,
        Op::Mark(_)
            | Op::FutexStore { .. }
            | Op::RunWall(_)
            | Op::SleepUntil(_)
            | Op::TimerWait { .. }
            | Op::Stamp(_)
            | Op::StampCall(_)
            | Op::Sample { .. }
            | Op::Serial { .. }
    )
}

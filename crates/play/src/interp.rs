//! Programs, executed: each step is the call that it stands for.
//!
//! What a step means is the simulator's interpreter (`crates/sim/src/engine/interp.rs`); draws of amounts are the same
//! functions with the same keys.

use std::io;
use std::sync::atomic::Ordering;

use fairground_machine::CpuMask;
use fairground_sim::{lineage_of_child, program_amount, program_floor};
use fairground_workload::{
    Amount, Mark, ObjId, Object, Op, Report, SchedAttr, Since, SpecId, TaskSpec, MAX_LOOP_DEPTH,
};
use serde::{Deserialize, Serialize};

use crate::calibrate::Footprint;
use crate::exec;
use crate::shared::{end, fault, Record, Slot};
use crate::sys;
use crate::world::World;

/// What follows a step.
enum Flow {
    Next,
    Jump(u32),
    Exec,
    Exit,
}

/// A thread of the workload.
pub struct Task {
    world: &'static World,
    spec: SpecId,
    /// Number of its record.
    id: u32,
    lineage: u64,
    /// Amounts that its program has used.
    draws: u64,
    /// Children that it has created.
    born: u64,
    born_at: u64,
    attr: SchedAttr,
    affinity: Option<CpuMask>,
    /// Whether all steps so far may stand before the part that a timer's periods count from.
    leading: bool,
    first_period: u64,
    loops: [Option<u64>; MAX_LOOP_DEPTH],
    depth: usize,
    /// Last expiries of timers that are its own.
    timers: Vec<(ObjId, u64)>,
    /// Threads that it has created and will await.
    threads: Vec<libc::pthread_t>,
    buffer: Vec<u8>,
    footprint: Option<Footprint>,
}

/// What a thread is born with.
pub struct Birth {
    /// The round it belongs to.
    pub world: &'static World,
    /// Index of its template in the workload.
    pub spec: SpecId,
    /// Number of its record.
    pub id: u32,
    /// Key of all its random draws ([`lineage_of_child`]).
    pub lineage: u64,
    /// Attributes of who creates it.
    pub inherited: SchedAttr,
    /// CPUs of who creates it; `None`: unknown.
    pub inherited_cpus: Option<CpuMask>,
    /// Timer slack of who creates it, ns.
    pub inherited_slack_ns: u64,
    /// When that was, ns; `None`: it is one of the start, and waits to be let go.
    pub born_at: Option<u64>,
}

/// A thread between two steps, as an execve carries it over.
#[derive(Serialize, Deserialize)]
pub struct State {
    spec: SpecId,
    id: u32,
    lineage: u64,
    draws: u64,
    born: u64,
    born_at: u64,
    attr: SchedAttr,
    affinity: Option<CpuMask>,
    first_period: u64,
    /// Those that it is in.
    loops: Vec<Option<u64>>,
    timers: Vec<(ObjId, u64)>,
    /// The step that is next.
    pc: u32,
}

impl Task {
    /// Makes the calling thread a thread of the workload, carries out its program and takes leave.
    pub fn live(birth: Birth) {
        let Birth { world, spec, id, lineage, inherited, inherited_cpus, inherited_slack_ns, born_at } = birth;
        let template = world.template(spec);
        let mut task = Task {
            world,
            spec,
            id,
            lineage,
            draws: 0,
            born: 0,
            born_at: 0,
            attr: inherited,
            affinity: inherited_cpus,
            leading: true,
            first_period: 0,
            loops: [None; MAX_LOOP_DEPTH],
            depth: 0,
            timers: Vec::new(),
            threads: Vec::new(),
            buffer: buffer(template),
            footprint: None,
        };
        if let Err(error) = task.settle_in() {
            return world.fail(fault::STEP, &error, spec, u32::MAX);
        }
        if template.timer_slack_ns != inherited_slack_ns {
            sys::set_timer_slack(template.timer_slack_ns);
        }
        task.born_at = born_at.unwrap_or_else(|| world.await_go());
        task.first_period = task.born_at;
        task.carry_out(0);
        task.leave();
    }

    /// As [`Self::live`], for a thread that has executed the calling program: its kernel attributes have outlasted that.
    ///
    /// # Errors
    /// If it is no thread of the round.
    pub fn live_on(world: &'static World, state: State) -> io::Result<()> {
        let State { spec, id, lineage, draws, born, born_at, attr, affinity, first_period, loops: open, timers, pc } =
            state;
        let mut loops = [None; MAX_LOOP_DEPTH];
        let depth = open.len();
        let template = world.workload.tasks.get(spec as usize);
        let Some((template, room)) = template.zip(loops.get_mut(..depth)) else {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        };
        room.copy_from_slice(&open);
        let mut task = Task {
            world,
            spec,
            id,
            lineage,
            draws,
            born,
            born_at,
            attr,
            affinity,
            leading: false,
            first_period,
            loops,
            depth,
            timers,
            threads: Vec::new(),
            buffer: buffer(template),
            footprint: None,
        };
        task.take_name();
        match task.map_footprint() {
            Ok(()) => task.carry_out(pc),
            Err(error) => world.fail(fault::STEP, &error, spec, pc),
        }
        task.leave();
        Ok(())
    }

    fn state(&self, pc: u32) -> State {
        State {
            spec: self.spec,
            id: self.id,
            lineage: self.lineage,
            draws: self.draws,
            born: self.born,
            born_at: self.born_at,
            attr: self.attr,
            affinity: self.affinity,
            first_period: self.first_period,
            loops: self.loops[..self.depth].to_vec(),
            timers: self.timers.clone(),
            pc,
        }
    }

    fn take_name(&self) {
        let mut name = [0u8; 16];
        let bytes = self.world.template(self.spec).name.bytes();
        name.iter_mut().zip(bytes.take(15)).for_each(|(to, from)| *to = from);
        // SAFETY: the name ends in a zero.
        unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
    }

    /// The working set of its template, for a thread that computes.
    fn map_footprint(&mut self) -> io::Result<()> {
        let template = self.world.template(self.spec);
        let computes = template.program.iter().any(|op| matches!(op, Op::Run(_)));
        if computes && template.footprint_kib > 0 {
            self.footprint = Some(Footprint::new(template.footprint_kib)?);
        }
        Ok(())
    }

    /// Name, CPUs, attributes and working set of its template.
    fn settle_in(&mut self) -> io::Result<()> {
        let template = self.world.template(self.spec);
        self.take_name();
        // First: what a group's cpuset leaves of an affinity is the kernel's to say.
        template.group.map_or(Ok(()), |group| self.world.join_group(group))?;
        self.set_affinity(template.affinity.unwrap_or(self.world.cpus))?;
        if template.attr != self.attr {
            self.set_attr(template.attr)?;
        }
        self.map_footprint()
    }

    /// Unless it has these CPUs already.
    fn set_affinity(&mut self, cpus: CpuMask) -> io::Result<()> {
        if self.affinity != Some(cpus) {
            sys::set_affinity(&cpus)?;
            self.affinity = Some(cpus);
        }
        Ok(())
    }

    fn set_attr(&mut self, attr: SchedAttr) -> io::Result<()> {
        let clamps = |attr: &SchedAttr| (attr.uclamp_min, attr.uclamp_max);
        sys::set_attr(&attr, clamps(&attr) != clamps(&self.attr))?;
        // Kernels from v6.12 on take the slack away with the real-time policy, and give it back as the parent's.
        if self.attr.policy.is_rt() && !attr.policy.is_rt() {
            sys::set_timer_slack(self.world.template(self.spec).timer_slack_ns);
        }
        self.attr = attr;
        Ok(())
    }

    fn carry_out(&mut self, mut pc: u32) {
        let program = &self.world.template(self.spec).program;
        while let Some(op) = program.get(pc as usize) {
            match self.step(op) {
                Ok(Flow::Next) => pc += 1,
                Ok(Flow::Jump(to)) => pc = to,
                Ok(Flow::Exit) => return,
                Ok(Flow::Exec) => {
                    let error = exec::execute(self.world, self.state(pc + 1));
                    return self.world.fail(fault::STEP, &error, self.spec, pc);
                }
                Err(error) => return self.world.fail(fault::STEP, &error, self.spec, pc),
            }
        }
    }

    /// It counts no longer; the last one that counted ends a round without a duration.
    fn leave(&self) {
        if !self.world.template(self.spec).daemon {
            let c = self.world.shared.control();
            if c.vital.fetch_sub(1, Ordering::AcqRel) == 1 && self.world.workload.duration_ns.is_none() {
                c.ended_at.store(sys::now(), Ordering::Release);
                self.world.shared.finish(end::COMPLETE);
            }
        }
    }

    fn record(&self) -> &'static Record {
        self.world.shared.record(self.id)
    }

    fn slot(&self, id: ObjId) -> &'static Slot {
        self.world.shared.slot(id)
    }

    fn draw(&mut self, amount: Amount) -> u64 {
        self.draws += 1;
        program_amount(self.world.seed, self.lineage, self.draws, amount)
    }

    fn step(&mut self, op: &Op) -> io::Result<Flow> {
        self.leading &= op.may_lead();
        match *op {
            Op::Run(amount) => {
                let work = self.draw(amount);
                self.world.calibration.work(work, self.footprint.as_mut());
            }
            Op::RunWall(amount) => {
                let until = sys::now().saturating_add(self.draw(amount));
                while sys::now() < until {
                    std::hint::spin_loop();
                }
            }
            Op::Sleep(amount) => {
                let ns = self.draw(amount);
                if self.leading {
                    self.first_period = sys::now().saturating_add(ns);
                }
                sys::sleep_for(ns);
            }
            Op::SleepUntil(after) => {
                let at = self.world.started_at().saturating_add(after);
                if self.leading {
                    self.first_period = at;
                }
                sys::sleep_until(at);
            }
            Op::TimerWait { timer, period_ns, relative } => self.timer_wait(timer, period_ns, relative),
            Op::PipeWrite { pipe: id, bytes } | Op::SockSend { sock: id, bytes } => {
                sys::write_all(self.world.channel(id).write, &self.buffer[..bytes as usize])?;
            }
            Op::PipeRead { pipe: id, bytes } | Op::SockRecv { sock: id, bytes } => {
                sys::read_exact(self.world.channel(id).read, &mut self.buffer[..bytes as usize])?;
            }
            Op::Poll(id) => sys::poll_readable(self.world.channel(id).read)?,
            Op::FutexStore { futex, value } => self.slot(futex).futexes[0].store(value, Ordering::SeqCst),
            Op::FutexWait { futex, expected } => {
                sys::futex_wait(&self.slot(futex).futexes[0], expected, self.world.scope, None);
            }
            Op::FutexWake { futex, count } => {
                sys::futex_wake(&self.slot(futex).futexes[0], count, self.world.scope);
            }
            Op::Lock(mutex) => self.lock(mutex)?,
            Op::Unlock(mutex) => self.unlock(mutex)?,
            Op::CondWait { cond, mutex } => self.cond_wait(cond, mutex)?,
            // SAFETY: initialised by `Shared::new`.
            Op::Signal(cond) => call(unsafe { libc::pthread_cond_signal(self.slot(cond).cond()) })?,
            // SAFETY: as above.
            Op::Broadcast(cond) => call(unsafe { libc::pthread_cond_broadcast(self.slot(cond).cond()) })?,
            Op::BarrierWait(barrier) => self.barrier_wait(barrier)?,
            Op::SemWait(sem) => self.sem_wait(sem)?,
            // SAFETY: as above.
            Op::SemPost(sem) => sys::checked(unsafe { libc::sem_post(self.slot(sem).semaphore()) }.into()).map(drop)?,
            // SAFETY: no arguments.
            Op::Yield => sys::checked(unsafe { libc::sched_yield() }.into()).map(drop)?,
            Op::Spawn { spec, count, thread } => {
                for _ in 0..count {
                    if !self.spawn(spec, thread)? {
                        return Ok(Flow::Exit);
                    }
                }
            }
            Op::WaitChildren => self.wait_children()?,
            Op::WaitChild => _ = self.wait_for_process()?,
            Op::Exec => return Ok(Flow::Exec),
            Op::Exit => return Ok(Flow::Exit),
            Op::SetAttr(attr) => self.set_attr(attr)?,
            Op::DrawUclampMin(ref odds) => {
                self.draws += 1;
                let uclamp_min = program_floor(self.world.seed, self.lineage, self.draws, odds);
                let attr = SchedAttr { uclamp_min, ..self.attr };
                sys::set_attr(&attr, true)?;
                self.attr = attr;
            }
            Op::SetAffinity(mask) => {
                sys::set_affinity(&mask)?;
                self.affinity = Some(mask);
            }
            Op::Loop { times: Some(0), end } => return Ok(Flow::Jump(end)),
            Op::Loop { times, .. } => {
                self.loops[self.depth] = times;
                self.depth += 1;
            }
            Op::EndLoop { begin } => return Ok(self.end_loop(begin)),
            Op::Mark(mark) => self.mark(mark),
            Op::Stamp(stamp) => self.slot(stamp).words[0].store(sys::now(), Ordering::Release),
            Op::StampCall(stamp) => {
                self.slot(stamp).words[0].store(self.record().called_at.load(Ordering::Acquire), Ordering::Release);
            }
            Op::Sample { since, to } => self.sample(since, to),
            Op::Conclude(tally) => self.conclude(tally),
            Op::Enlist(roster) => self.enlist(roster),
            Op::CallListed(roster) => self.call_listed(roster),
            Op::AwaitListed(roster) => self.await_listed(roster),
            // Refused before anything runs (`refuse.rs`).
            Op::SetGroupClamp(_)
            | Op::SetGroupCpus(_)
            | Op::Serial { .. }
            | Op::Recorded
            | Op::Work(_)
            | Op::Rouse { .. }
            | Op::Rest => return Err(io::Error::from_raw_os_error(libc::ENOSYS)),
        }
        Ok(Flow::Next)
    }

    fn end_loop(&mut self, begin: u32) -> Flow {
        let Some(innermost) = self.depth.checked_sub(1) else { return Flow::Next };
        match &mut self.loops[innermost] {
            None => Flow::Jump(begin + 1),
            Some(left) if *left > 1 => {
                *left -= 1;
                Flow::Jump(begin + 1)
            }
            Some(_) => {
                self.depth = innermost;
                Flow::Next
            }
        }
    }

    /// A missed period costs nothing but the look at the clock.
    fn timer_wait(&mut self, timer: ObjId, period: u64, relative: bool) {
        let now = sys::now();
        let first = self.first_period;
        let moved = |last: u64| {
            let next = last.saturating_add(period);
            if next <= now && relative {
                now
            } else {
                next
            }
        };
        let next = if let Some(Object::Timer { per_task: false }) = self.world.workload.objects.get(timer as usize) {
            // 0: nobody has used it yet.
            let word = &self.slot(timer).words[0];
            let started = |last: u64| if last == 0 { first } else { last };
            let update = |last| Some(moved(started(last)));
            match word.fetch_update(Ordering::AcqRel, Ordering::Acquire, update) {
                Ok(last) | Err(last) => started(last).saturating_add(period),
            }
        } else {
            let position = self.timers.iter().position(|(id, _)| *id == timer).unwrap_or_else(|| {
                self.timers.push((timer, first));
                self.timers.len() - 1
            });
            let last = &mut self.timers[position].1;
            let next = last.saturating_add(period);
            *last = moved(*last);
            next
        };
        if next > now {
            sys::sleep_until(next);
        }
    }

    fn lock(&self, mutex: ObjId) -> io::Result<()> {
        // SAFETY: initialised by `Shared::new`.
        call(unsafe { libc::pthread_mutex_lock(self.slot(mutex).mutex()) })
    }

    fn unlock(&self, mutex: ObjId) -> io::Result<()> {
        // SAFETY: initialised; that this thread holds it is checked by `Workload::validate` as far as can be told.
        call(unsafe { libc::pthread_mutex_unlock(self.slot(mutex).mutex()) })
    }

    /// Without a mutex, the one in the condition variable's own slot is held around the wait.
    fn cond_wait(&self, cond: ObjId, mutex: Option<ObjId>) -> io::Result<()> {
        let held = self.slot(mutex.unwrap_or(cond)).mutex();
        if mutex.is_none() {
            self.lock(cond)?;
        }
        // SAFETY: both are initialised, and the mutex is held.
        call(unsafe { libc::pthread_cond_wait(self.slot(cond).cond(), held) })?;
        if mutex.is_none() {
            self.unlock(cond)?;
        }
        Ok(())
    }

    fn barrier_wait(&mut self, barrier: ObjId) -> io::Result<()> {
        let slot = self.slot(barrier);
        // The last to arrive has the latest time: when it let the others go.
        slot.words[0].fetch_max(sys::now(), Ordering::AcqRel);
        // SAFETY: initialised by `Shared::new`.
        match unsafe { libc::pthread_barrier_wait(slot.barrier()) } {
            0 | libc::PTHREAD_BARRIER_SERIAL_THREAD => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
        if self.leading {
            self.first_period = slot.words[0].load(Ordering::Acquire);
        }
        Ok(())
    }

    fn sem_wait(&self, sem: ObjId) -> io::Result<()> {
        loop {
            // SAFETY: initialised by `Shared::new`.
            match sys::checked(unsafe { libc::sem_wait(self.slot(sem).semaphore()) }.into()) {
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                other => return other.map(drop),
            }
        }
    }

    /// Creates a thread or a process; returns in the parent, and with `false` in a process that has lived.
    fn spawn(&mut self, spec: SpecId, thread: bool) -> io::Result<bool> {
        self.born += 1;
        let lineage = lineage_of_child(self.world.seed, self.lineage, self.born);
        let Some(birth) = self.world.birth(spec, lineage, self.attr, Some(sys::now())) else { return Ok(true) };
        let inherited_slack_ns = self.world.template(self.spec).timer_slack_ns;
        let birth = Birth { inherited_cpus: self.affinity, inherited_slack_ns, ..birth };
        if thread {
            let awaited = self.world.awaits_children(self.spec);
            let made = start_thread(birth, awaited)?;
            if awaited {
                self.threads.push(made);
            }
            return Ok(true);
        }
        // SAFETY: the child goes on with what was made before the fork, and leaves by `exit_thread`. It allocates, which
        // glibc and musl allow after a fork of several threads.
        match sys::checked(unsafe { libc::fork() }.into())? {
            0 => {
                Task::live(birth);
                exit_thread()
            }
            _ => Ok(true),
        }
    }

    fn wait_children(&mut self) -> io::Result<()> {
        for thread in self.threads.drain(..) {
            // SAFETY: created joinable by this thread or, before a fork, never in this process: `threads` begins empty.
            call(unsafe { libc::pthread_join(thread, std::ptr::null_mut()) })?;
        }
        while self.wait_for_process()? {}
        Ok(())
    }

    /// Waits until one more process that this very thread has created has ended; false if there is none.
    fn wait_for_process(&self) -> io::Result<bool> {
        loop {
            let mut status = 0;
            // SAFETY: the status is ours.
            match unsafe { libc::waitpid(-1, &mut status, libc::__WNOTHREAD) } {
                -1 if sys::errno() == libc::EINTR => {}
                -1 if sys::errno() == libc::ECHILD => return Ok(false),
                -1 => return Err(io::Error::last_os_error()),
                _ => {
                    // One that was killed never took leave.
                    if libc::WIFSIGNALED(status) {
                        self.world.shared.fail(fault::KILLED, libc::WTERMSIG(status), self.spec, u32::MAX);
                    }
                    return Ok(true);
                }
            }
        }
    }

    fn mark(&self, mark: Mark) {
        let shared = &self.world.shared;
        match mark {
            Mark::Begin => shared.begin_window(sys::now(), self.world.migrations()),
            Mark::End => shared.end_window(sys::now(), self.world.migrations()),
            Mark::Op => {
                // Its own line, which nobody else writes.
                let ops = &self.record().ops;
                ops.store(ops.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            }
            Mark::Steady => {
                let c = shared.control();
                if c.begin_at.load(Ordering::Acquire) > 0 {
                    c.steady_migrations.store(self.world.migrations(), Ordering::Release);
                    c.steady_ops.store(shared.all_ops(), Ordering::Release);
                }
            }
        }
    }

    fn sample(&self, since: Since, to: Report) {
        let from = match since {
            Since::Birth => self.born_at,
            Since::Call => self.record().called_at.load(Ordering::Acquire),
            Since::Stamp(id) => self.slot(id).words[0].load(Ordering::Acquire),
        };
        // What was never noted is 0 in the simulator: the start of the run.
        let from = if from == 0 { self.world.started_at() } else { from };
        let now = sys::now();
        match to {
            Report::Series(series) => {
                let tick = self.world.tick_ns(series);
                self.world.shared.log(series as usize, now / tick - from / tick);
            }
            Report::Tally(id) => {
                let Object::Tally { series } = self.world.workload.objects[id as usize] else { return };
                let tick = self.world.tick_ns(series);
                let [sum, count, ..] = &self.slot(id).words;
                sum.fetch_add(now / tick - from / tick, Ordering::AcqRel);
                count.fetch_add(1, Ordering::AcqRel);
            }
            Report::Phase(phase) => {
                let log = self.world.workload.series.len() + phase as usize;
                self.world.shared.log(log, now.saturating_sub(from));
            }
        }
    }

    fn conclude(&self, id: ObjId) {
        let Object::Tally { series } = self.world.workload.objects[id as usize] else { return };
        let [sum, count, ..] = &self.slot(id).words;
        let (sum, count) = (sum.swap(0, Ordering::AcqRel), count.swap(0, Ordering::AcqRel));
        if let Some(mean) = sum.checked_div(count) {
            self.world.shared.log(series as usize, mean);
        }
    }

    /// Onto the stack of the roster; a keeper that sleeps is woken; then sleeps on a futex of its own.
    fn enlist(&self, roster: ObjId) {
        let ([head, sleeping, events, _], record) = (&self.slot(roster).futexes, self.record());
        record.called.store(0, Ordering::SeqCst);
        let mut top = head.load(Ordering::SeqCst);
        loop {
            record.below.store(top, Ordering::SeqCst);
            match head.compare_exchange(top, self.id + 1, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => break,
                Err(other) => top = other,
            }
        }
        if sleeping.load(Ordering::SeqCst) > 0 {
            events.fetch_add(1, Ordering::SeqCst);
            sys::futex_wake(events, 1, self.world.scope);
        }
        while record.called.load(Ordering::SeqCst) == 0 {
            sys::futex_wait(&record.called, 0, self.world.scope, None);
        }
    }

    /// All who are on the list have the same time; who is woken may be on the list again before the next is.
    fn call_listed(&self, roster: ObjId) {
        let top = self.slot(roster).futexes[0].swap(0, Ordering::SeqCst);
        let at = sys::now();
        let mut next = top;
        while let Some(id) = next.checked_sub(1) {
            let called = self.world.shared.record(id);
            next = called.below.load(Ordering::SeqCst);
            called.called_at.store(at, Ordering::SeqCst);
            called.called.store(1, Ordering::SeqCst);
            sys::futex_wake(&called.called, 1, self.world.scope);
        }
    }

    fn await_listed(&self, roster: ObjId) {
        let [head, sleeping, events, _] = &self.slot(roster).futexes;
        if head.load(Ordering::SeqCst) != 0 {
            return;
        }
        sleeping.fetch_add(1, Ordering::SeqCst);
        loop {
            let seen = events.load(Ordering::SeqCst);
            if head.load(Ordering::SeqCst) != 0 {
                break;
            }
            sys::futex_wait(events, seen, self.world.scope, None);
        }
        sleeping.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Room for the largest message.
fn buffer(template: &TaskSpec) -> Vec<u8> {
    vec![0; template.program.iter().map(message_bytes).max().unwrap_or(0) as usize]
}

/// The bytes that a step reads or writes.
fn message_bytes(op: &Op) -> u32 {
    match *op {
        Op::PipeWrite { bytes, .. }
        | Op::PipeRead { bytes, .. }
        | Op::SockSend { bytes, .. }
        | Op::SockRecv { bytes, .. } => bytes,
        _ => 0,
    }
}

/// The result of a library call that returns its error.
fn call(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Stack of a thread, bytes. The interpreter needs a few KiB.
const STACK: usize = 128 << 10;

/// Starts a thread with this birth.
pub fn start_thread(birth: Birth, joinable: bool) -> io::Result<libc::pthread_t> {
    extern "C" fn begin(birth: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: made by `Box::into_raw` below, and passed on once.
        let birth = unsafe { Box::from_raw(birth.cast::<Birth>()) };
        Task::live(*birth);
        std::ptr::null_mut()
    }
    sys::note_thread();
    let birth = Box::into_raw(Box::new(birth));
    // A number in glibc, a pointer in musl.
    // SAFETY: zeros are a valid value of both.
    let mut thread: libc::pthread_t = unsafe { std::mem::zeroed() };
    // SAFETY: the attributes are initialised before use and destroyed after it; `birth` is the new thread's.
    let result = unsafe {
        let mut attr = std::mem::zeroed();
        libc::pthread_attr_init(&mut attr);
        libc::pthread_attr_setstacksize(&mut attr, STACK);
        let state = if joinable { libc::PTHREAD_CREATE_JOINABLE } else { libc::PTHREAD_CREATE_DETACHED };
        libc::pthread_attr_setdetachstate(&mut attr, state);
        let result = libc::pthread_create(&mut thread, &attr, begin, birth.cast());
        libc::pthread_attr_destroy(&mut attr);
        result
    };
    if result != 0 {
        // SAFETY: no thread has it.
        drop(unsafe { Box::from_raw(birth) });
    }
    call(result).map(|()| thread)
}

/// Ends the calling thread, the first of its process, and the process with its last thread. Nothing of the program that
/// was forked is cleaned up.
pub fn exit_thread() -> ! {
    loop {
        // SAFETY: ends this thread alone.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
}

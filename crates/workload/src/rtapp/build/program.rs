//! The program of one task.

use fairground_machine::CpuMask;

use super::objects::{Kind, Objects, SAMPLES};
use super::{Action, Build, Event, Program, Source, Task};
use crate::error::WorkloadError;
use crate::json::Span;
use crate::program::{Amount, ObjId, Op, Report, SchedAttr, Since};
use crate::rtapp::event::{GroupChange, SampledSince};
use crate::rtapp::log::{LoggedEvent, LoggedStep};
use crate::rtapp::sched;
use crate::warning::WarningKind;

/// Filling memory, work ps per byte; an estimate: 10 GB/s.
const MEM_PS_PER_BYTE: u64 = 100;
/// One write() to /dev/null, work ns; an estimate.
const NULL_WRITE_NS: u64 = 300;
/// One access of `memrun`, work ns; estimates: streams hit a cache, random ones the last level.
const SEQUENTIAL_ACCESS_NS: u64 = 1;
const RANDOM_ACCESS_NS: u64 = 10;

const NS_PER_US: u64 = 1000;

/// What a thread has set for itself when a phase begins.
#[derive(Clone, Copy, PartialEq)]
struct State {
    attr: SchedAttr,
    cpus: CpuMask,
}

impl Program {
    fn push(&mut self, op: Op, span: Span) {
        self.push_logged(op, span, LoggedEvent::Other);
    }

    /// As [`Self::push`], of an event whose figures are logged.
    fn push_logged(&mut self, op: Op, span: Span, event: LoggedEvent) {
        self.ops.push(op);
        self.spans.push(span);
        self.logged.push(LoggedStep { event, ..LoggedStep::default() });
    }

    /// These are the steps of a phase: each round of them is a line of the log.
    fn log_as_phase(&mut self, number: u32) {
        self.logged.iter_mut().for_each(|step| step.phase = number);
        if let Some(first) = self.logged.first_mut() {
            first.begins = true;
        }
    }

    /// Appends `body`, in a loop unless it runs once.
    fn repeat(&mut self, times: Option<u64>, body: &Program, span: Span) {
        if times == Some(1) {
            return self.append(body);
        }
        let begin = self.ops.len() as u32;
        let end = begin + body.ops.len() as u32 + 2;
        self.push(Op::Loop { times, end }, span);
        self.append(body);
        self.push(Op::EndLoop { begin }, span);
    }

    fn append(&mut self, body: &Program) {
        let by = self.ops.len() as u32;
        self.ops.extend(body.ops.iter().map(|op| op.shifted(by)));
        self.spans.extend_from_slice(&body.spans);
        self.logged.extend_from_slice(&body.logged);
    }
}

impl Build<'_> {
    /// The program of the threads of `task`: of those of the start, or of forked ones.
    pub fn program(&mut self, source: &mut Source, task: &Task, forked: bool) -> Result<Program, WorkloadError> {
        let mut program = Program::default();
        if !forked {
            program.push(Op::BarrierWait(Objects::START), task.span);
        }
        if task.delay > 0 {
            program.push(Op::SleepUntil(task.delay * NS_PER_US), task.span);
        }
        // rt-app sets what a phase asks for whenever it begins, so the first round may set other things than all later
        // rounds, which begin where the last phase left off.
        let mut state = State { attr: task.attr, cpus: task.cpus.unwrap_or_else(|| self.machine.all_cpus()) };
        let first = self.round(source, task, &mut state)?;
        let later = self.round(source, task, &mut state)?;
        if task.times == Some(0) {
            source.warn(WarningKind::Suspicious, task.span, &task.name, "has `loop` 0 and does nothing");
        } else if first.ops == later.ops {
            program.repeat(task.times, &later, task.span);
        } else {
            program.append(&first);
            match task.times {
                Some(1) => {}
                times => program.repeat(times.map(|n| n - 1), &later, task.span),
            }
        }
        Ok(program)
    }

    /// All phases once, from `state` to what they leave.
    fn round(&mut self, source: &mut Source, task: &Task, state: &mut State) -> Result<Program, WorkloadError> {
        let mut round = Program::default();
        for (i, phase) in task.phases.iter().enumerate() {
            let cpus = phase.cpus.or(task.cpus).unwrap_or_else(|| self.machine.all_cpus());
            if cpus != state.cpus {
                round.push(Op::SetAffinity(cpus), phase.span);
            }
            let attr = match phase.change.is_empty() {
                true => state.attr,
                false => sched::apply(source, state.attr, &phase.change)?,
            };
            if attr != state.attr {
                round.push(Op::SetAttr(attr), phase.span);
            }
            *state = State { attr, cpus };
            let mut body = Program::default();
            phase.events.iter().for_each(|e| self.event(source, task, e, &mut body));
            body.log_as_phase(i as u32 + 1);
            round.repeat(phase.times, &body, phase.span);
            if phase.times.is_none() {
                if i + 1 < task.phases.len() {
                    source.warn(
                        WarningKind::Suspicious,
                        phase.span,
                        &task.name,
                        "loops for ever in this phase: later phases never run",
                    );
                }
                break;
            }
        }
        Ok(round)
    }

    fn event(&mut self, source: &mut Source, task: &Task, event: &Event, out: &mut Program) {
        let span = event.span;
        let o = &mut self.objects;
        match &event.action {
            Action::Lock(name) => out.push(Op::Lock(o.get(Kind::Mutex, name)), span),
            Action::Unlock(name) => out.push(Op::Unlock(o.get(Kind::Mutex, name)), span),
            Action::Signal(name) => out.push(Op::Signal(o.get(Kind::Cond, name)), span),
            Action::Broadcast(name) => out.push(Op::Broadcast(o.get(Kind::Cond, name)), span),
            Action::Barrier(name) => out.push(Op::BarrierWait(o.get(Kind::Barrier, name)), span),
            Action::SemPost(name) => out.push(Op::SemPost(o.get(Kind::Semaphore, name)), span),
            Action::SemWait(name) => out.push(Op::SemWait(o.get(Kind::Semaphore, name)), span),
            Action::PipeWrite { pipe, bytes } => {
                out.push(Op::PipeWrite { pipe: o.get(Kind::Pipe, pipe), bytes: *bytes }, span);
            }
            Action::PipeRead { pipe, bytes } => {
                out.push(Op::PipeRead { pipe: o.get(Kind::Pipe, pipe), bytes: *bytes }, span);
            }
            Action::SockSend { sock, bytes } => {
                out.push(Op::SockSend { sock: o.get(Kind::Socket, sock), bytes: *bytes }, span);
            }
            Action::SockRecv { sock, bytes } => {
                out.push(Op::SockRecv { sock: o.get(Kind::Socket, sock), bytes: *bytes }, span);
            }
            Action::PipePoll(name) => out.push(Op::Poll(o.get(Kind::Pipe, name)), span),
            Action::SockPoll(name) => out.push(Op::Poll(o.get(Kind::Socket, name)), span),
            Action::Yield => out.push(Op::Yield, span),
            Action::Reap { all: true } => out.push(Op::WaitChildren, span),
            Action::Reap { all: false } => out.push(Op::WaitChild, span),
            Action::Execve => out.push(Op::Exec, span),
            Action::Cgroup(changes) => changes.iter().for_each(|new| match new {
                GroupChange::Clamp(new) => out.push(Op::SetGroupClamp(*new), span),
                GroupChange::Cpus(new) => out.push(Op::SetGroupCpus(*new), span),
            }),
            Action::Mark(mark) => out.push(Op::Mark(*mark), span),
            Action::Fork(name) => {
                if let Some(spec) = self.forked.get(name) {
                    out.push(Op::Spawn { spec: *spec, count: 1, thread: true }, span);
                }
            }
            Action::Wait { cond, mutex, signal_first } => {
                self.wait(source, event, (cond, mutex.as_deref(), *signal_first), out);
            }
            Action::Suspend(given) => {
                let named = given.as_deref().filter(|_| source.dialect.named_suspend);
                let (mutex, cond) = self.gate(named.unwrap_or(&task.name));
                out.push(Op::Lock(mutex), span);
                out.push(Op::CondWait { cond, mutex: Some(mutex) }, span);
                out.push(Op::Unlock(mutex), span);
            }
            Action::Resume(name) => {
                let (mutex, cond) = self.gate(name);
                out.push(Op::Lock(mutex), span);
                out.push(Op::Broadcast(cond), span);
                out.push(Op::Unlock(mutex), span);
            }
            action => match self.measuring(action) {
                Some(op) => out.push(op, span),
                None => self.timed(source, task, event, out),
            },
        }
    }

    /// Samples, what serves them, and what is drawn; none for other events.
    fn measuring(&mut self, action: &Action) -> Option<Op> {
        let o = &mut self.objects;
        Some(match action {
            Action::Stamp(name) => Op::Stamp(o.get(Kind::Stamp, name)),
            Action::StampCall(name) => Op::StampCall(o.get(Kind::Stamp, name)),
            Action::DrawClamp(odds) => Op::DrawUclampMin(odds.as_slice().into()),
            Action::Sample { since, tally } => {
                let since = match since {
                    SampledSince::Birth => Since::Birth,
                    SampledSince::Call => Since::Call,
                    SampledSince::Stamp(name) => Since::Stamp(o.get(Kind::Stamp, name)),
                };
                let to = tally.as_ref().map_or(Report::Series(SAMPLES), |t| Report::Tally(o.get(Kind::Tally, t)));
                Op::Sample { since, to }
            }
            Action::Conclude(name) => Op::Conclude(o.get(Kind::Tally, name)),
            Action::Enlist(name) => Op::Enlist(o.get(Kind::Roster, name)),
            Action::CallListed(name) => Op::CallListed(o.get(Kind::Roster, name)),
            Action::AwaitListed(name) => Op::AwaitListed(o.get(Kind::Roster, name)),
            Action::Serial { lock, hold, lines } => {
                let ns = hold * NS_PER_US * u64::from(self.global.calibration_capacity) / 1024;
                Op::Serial { lock: o.get(Kind::Ticket, lock), hold: Amount::fixed(ns), lines: *lines }
            }
            _ => return None,
        })
    }

    /// The mutex and condition variable behind `suspend` and `resume` of a name.
    fn gate(&mut self, name: &str) -> (ObjId, ObjId) {
        (self.objects.get(Kind::Mutex, name), self.objects.get(Kind::Cond, name))
    }

    /// `wait` and `sync`: (condition, mutex, whether it signals first).
    fn wait(&mut self, source: &mut Source, event: &Event, what: (&str, Option<&str>, bool), out: &mut Program) {
        let (cond, mutex, signal_first) = what;
        let cond = self.objects.get(Kind::Cond, cond);
        if signal_first {
            out.push(Op::Signal(cond), event.span);
        }
        if mutex.is_none() {
            let text = "has no `mutex`; rt-app then waits with one it does not hold, here it just waits";
            source.warn(WarningKind::Suspicious, event.span, &event.key, text);
        }
        let mutex = mutex.map(|m| self.objects.get(Kind::Mutex, m));
        out.push(Op::CondWait { cond, mutex }, event.span);
    }

    /// Events with a fixed duration.
    fn timed(&mut self, source: &mut Source, task: &Task, event: &Event, out: &mut Program) {
        let span = event.span;
        match &event.action {
            Action::Run(us) => {
                let ns = us * NS_PER_US * u64::from(self.global.calibration_capacity) / 1024;
                let perf = us / self.global.ns_per_loop;
                out.push_logged(Op::Run(Amount::fixed(ns)), span, LoggedEvent::Run { us: *us, perf });
            }
            Action::RunTime(us) => {
                let logged = LoggedEvent::Run { us: *us, perf: 0 };
                out.push_logged(Op::RunWall(Amount::fixed(us * NS_PER_US)), span, logged);
            }
            Action::Sleep(us) => out.push(Op::Sleep(Amount::fixed(us * NS_PER_US)), span),
            Action::Timer { period: 0, .. } => {
                source.warn(WarningKind::Ignored, span, &event.key, "has period 0 and never waits");
            }
            Action::Timer { name, unique, period, .. } => {
                let (timer, relative) = self.objects.timer(task, name, *unique);
                let op = Op::TimerWait { timer, period_ns: period * NS_PER_US, relative };
                out.push_logged(op, span, LoggedEvent::Timer { us: *period });
            }
            action => self.memory(source, event, action, out),
        }
    }

    /// Events whose time depends on memory and devices: run as work that takes about as long.
    fn memory(&mut self, source: &mut Source, event: &Event, action: &Action, out: &mut Program) {
        let (ns, how) = match action {
            Action::Mem { bytes } => (bytes * MEM_PS_PER_BYTE / 1000, "filling memory at 10 GB/s".to_string()),
            Action::IoRun { bytes } if self.global.null_device => {
                let writes = bytes.div_ceil(self.global.mem_buffer);
                (writes * NULL_WRITE_NS, format!("a write to /dev/null of {NULL_WRITE_NS} ns per buffer"))
            }
            Action::IoRun { bytes } => {
                (bytes * MEM_PS_PER_BYTE / 1000, "a write at 10 GB/s that never waits for the device".to_string())
            }
            Action::MemRun { accesses, random, .. } => {
                let each = if *random { RANDOM_ACCESS_NS } else { SEQUENTIAL_ACCESS_NS };
                (accesses * each, format!("`count` accesses of {each} ns"))
            }
            _ => return,
        };
        let text = format!("is run as work on a CPU of capacity 1024: {how}");
        source.warn(WarningKind::Approximated, event.span, &event.key, text);
        out.push(Op::Run(Amount::fixed(ns)), event.span);
    }
}

//! Checks each value by itself: references, ranges, CPUs.

use fairground_machine::{suggest_from, CpuId, CpuMask, Machine};

use super::{offline, Problem, Remark, Step, Subject, MAX_TIME_NS};
use crate::cpuset::Cpusets;
use crate::program::*;
use crate::warning::WarningKind;

/// The kernel keeps 15 bytes of a thread's name.
const MAX_NAME: usize = 15;
/// What a pipe message may have, bytes; beyond it a write is not atomic.
const MAX_MESSAGE: i128 = 4096;
/// Slots of a pipe at the greatest size a privileged user may set by default, 1 MiB.
const MAX_SLOTS: i128 = 256;
/// Shortest time between interrupts of a device, ns.
const MIN_IRQ_PERIOD_NS: i128 = 1000;
const MAX_U32: i128 = u32::MAX as i128;
/// Coarsest clock that a program may read, ns: a second.
const MAX_TICK_NS: i128 = 1_000_000_000;
/// Most cache lines under a lock: 64 KiB.
const MAX_LINES: i128 = 1024;
/// 100 % in hundredths, what a clamp of a task group may be.
const MAX_PERCENT: i128 = 10_000;
/// Most of what scores, deadlines and odds count, so that sums stay far inside 64 bits.
const MAX_COUNT: i128 = 1_000_000_000_000_000;

/// Where a value is, for messages.
pub(super) struct ValueLocation<'a> {
    subject: &'a str,
    step: Option<Step>,
}

impl ValueLocation<'_> {
    fn range(&self, what: &'static str, value: impl Into<i128>, min: i128, max: i128) -> Result<(), Problem> {
        let value = value.into();
        if (min..=max).contains(&value) {
            return Ok(());
        }
        Err(Problem::OutOfRange { subject: self.subject.into(), what, step: self.step, value, min, max })
    }

    fn amount(&self, amount: Amount) -> Result<(), Problem> {
        match amount.base.checked_add(amount.jitter) {
            Some(most) if u128::from(most) <= MAX_TIME_NS => Ok(()),
            _ => Err(Problem::TimeOverflow { task: self.subject.into(), step: self.step }),
        }
    }

    fn attr(&self, a: SchedAttr) -> Result<(), Problem> {
        self.range("nice", a.nice, -20, 19)?;
        match a.policy {
            Policy::Fifo | Policy::Rr => self.range("priority", a.rt_priority, 1, 99)?,
            _ => self.range("rt_priority", a.rt_priority, 0, 0)?,
        }
        self.range("util_min", a.uclamp_min, 0, 1024)?;
        self.range("util_max", a.uclamp_max, 0, 1024)?;
        if a.slice_ns > 0 {
            self.range("slice in ns", a.slice_ns, MIN_SLICE_NS.into(), MAX_SLICE_NS.into())?;
        }
        if a.uclamp_min > a.uclamp_max {
            let (min, max) = (a.uclamp_min, a.uclamp_max);
            return Err(Problem::ClampsCross { task: self.subject.into(), step: self.step, min, max });
        }
        Ok(())
    }

    fn affinity(&self, mask: &CpuMask, machine: &Machine) -> Result<(), Problem> {
        if mask.intersects(&machine.all_cpus()) {
            return Ok(());
        }
        Err(Problem::NoCpuAllowed { task: self.subject.into(), step: self.step, mask: Box::new(*mask) })
    }

    fn cpu(&self, cpu: CpuId, machine: &Machine) -> Result<(), Problem> {
        let last = machine.nr_cpus().saturating_sub(1) as CpuId;
        if (cpu as usize) < machine.nr_cpus() {
            return Ok(());
        }
        Err(Problem::NoSuchCpu { subject: self.subject.into(), cpu, last })
    }

    fn series(&self, w: &Workload, series: SeriesId) -> Result<(), Problem> {
        if (series as usize) < w.series.len() {
            return Ok(());
        }
        Err(Problem::NoSuchSeries { subject: self.subject.into(), step: self.step, series })
    }

    fn phase(&self, w: &Workload, phase: PhaseId) -> Result<(), Problem> {
        let known = match &w.score {
            Score::Points(points) => points.sections.iter().map(|s| s.phases.len()).sum(),
            _ => 0,
        };
        if (phase as usize) < known {
            return Ok(());
        }
        Err(Problem::NoSuchPhase { task: self.subject.into(), step: self.step, phase })
    }

    fn object(&self, w: &Workload, object: ObjId, wanted: &'static str) -> Result<(), Problem> {
        let Some(o) = w.objects.get(object as usize) else {
            return Err(Problem::NoSuchObject { task: self.subject.into(), step: self.step, object });
        };
        let found = o.kind();
        if found == wanted {
            return Ok(());
        }
        Err(Problem::WrongObject { task: self.subject.into(), step: self.step, object, wanted, found })
    }
}

/// Checks every value of the workload.
pub(super) fn check(w: &Workload, machine: &Machine) -> Result<(), Problem> {
    if w.start.iter().all(|s| s.count == 0) {
        return Err(Problem::NoThreads);
    }
    let whole = ValueLocation { subject: &w.name, step: None };
    whole.amount(Amount::fixed(w.duration_ns.unwrap_or(0)))?;
    whole.amount(Amount::fixed(w.warmup_ns))?;
    if let Some(duration) = w.duration_ns {
        whole.range("duration in ns", duration, 1, i128::MAX)?;
    }
    score(&w.score, &whole)?;
    w.series.iter().try_for_each(series)?;
    w.objects.iter().try_for_each(|o| object_ranges(w, o, &whole))?;
    w.groups.iter().enumerate().try_for_each(|(known, g)| group(&g.path, g.parent, known))?;
    w.tasks.iter().try_for_each(|t| group(&t.name, t.group, w.groups.len()))?;
    w.tasks.iter().try_for_each(|t| task(t, machine))?;
    cpusets(w, machine)?;
    w.start.iter().try_for_each(|s| start(w, s, machine))?;
    w.irqs.iter().try_for_each(|i| irq(w, i, machine))?;
    w.frequency_caps.iter().try_for_each(|c| frequency_cap(c, machine))?;
    offline::check(w, machine)?;
    w.steps().try_for_each(|(step, op)| {
        let at = ValueLocation { subject: &w.tasks[step.spec as usize].name, step: Some(step) };
        op_objects(w, op, &at)?;
        op_ranges(w, op, &at, machine)
    })
}

fn object_ranges(w: &Workload, o: &Object, at: &ValueLocation) -> Result<(), Problem> {
    match o {
        Object::Pipe { slots } => at.range("slots of a pipe", *slots, 1, MAX_SLOTS),
        Object::Socket { sndbuf, .. } => at.range("sndbuf of a socket", *sndbuf, 1, MAX_U32),
        Object::Barrier { parties } => at.range("parties of a barrier", *parties, 1, MAX_U32),
        Object::Tally { series } => at.series(w, *series),
        Object::Futex { .. } | Object::Mutex | Object::Cond | Object::Semaphore { .. } | Object::Timer { .. } => Ok(()),
        Object::Stamp | Object::Roster | Object::Ticket | Object::KernelMutex => Ok(()),
    }
}

fn score(score: &Score, at: &ValueLocation) -> Result<(), Problem> {
    match score {
        Score::None | Score::OpsPerSec | Score::LoopsPerMin => Ok(()),
        Score::Elapsed { parts } => at.range("parts of the work", *parts, 1, MAX_U32),
        Score::Throughput { bytes_per_op } => at.range("bytes of an operation", *bytes_per_op, 1, MAX_U32),
        Score::Points(points) => {
            at.range("thousandths of a point", points.full_speed, 1, MAX_COUNT)?;
            at.range("parts of the work", points.parts, 1, MAX_U32)?;
            at.range("number of sections", points.sections.len() as i128, 1, MAX_U32)?;
            points.sections.iter().try_for_each(section)
        }
    }
}

fn section(section: &Section) -> Result<(), Problem> {
    let at = ValueLocation { subject: &section.name, step: None };
    at.range("weight", section.weight, 1, MAX_U32)?;
    at.range("number of phases", section.phases.len() as i128, 1, MAX_U32)?;
    section.phases.iter().try_for_each(|p| at.range("work of a phase in ns", p.work_ns, 1, MAX_COUNT))
}

fn series(series: &Series) -> Result<(), Problem> {
    let at = ValueLocation { subject: &series.name, step: None };
    at.range("resolution of the clock in ns", series.tick_ns, 1, MAX_TICK_NS)?;
    series.permilles.iter().try_for_each(|p| at.range("percentile in thousandths", *p, 1, 1000))?;
    series.deadlines.iter().try_for_each(|d| at.range("deadline in ticks", d.ticks, 0, MAX_COUNT))
}

/// Whether a group may be named where `known` of them are known.
fn group(subject: &str, group: Option<GroupId>, known: usize) -> Result<(), Problem> {
    match group.filter(|g| *g as usize >= known) {
        None => Ok(()),
        Some(group) => Err(Problem::NoSuchGroup { subject: subject.into(), group }),
    }
}

/// The cpusets of the start, and who is in a group that has one then or later.
fn cpusets(w: &Workload, machine: &Machine) -> Result<(), Problem> {
    let written = w.groups.iter().filter_map(|g| g.cpus.as_ref().map(|cpus| (g, cpus)));
    written.into_iter().try_for_each(|(g, cpus)| cpuset(&g.path, None, cpus, machine))?;
    let mut sets = Cpusets::new(&w.groups, machine.all_cpus());
    for (_, op) in w.steps() {
        match op {
            Op::SetGroupCpus(new) if (new.group as usize) < w.groups.len() => drop(sets.write(new)),
            _ => {}
        }
    }
    let bound = w.tasks.iter().find(|t| t.kthread_cpu.is_some() && sets.is_limited(t.group));
    match bound.and_then(|t| Some((t, t.group?))) {
        None => Ok(()),
        Some((t, group)) => {
            Err(Problem::KthreadInCpuset { task: t.name.clone(), path: w.groups[group as usize].path.clone() })
        }
    }
}

fn cpuset(path: &str, step: Option<Step>, mask: &CpuMask, machine: &Machine) -> Result<(), Problem> {
    if !mask.is_empty() && mask.minus(&machine.all_cpus()).is_empty() {
        return Ok(());
    }
    let last = machine.nr_cpus().saturating_sub(1) as CpuId;
    Err(Problem::BadCpuset { path: path.into(), step, mask: Box::new(*mask), last })
}

/// Whether some thread is in the group or in one within it.
fn has_threads(w: &Workload, group: GroupId, at: &ValueLocation) -> Result<(), Problem> {
    let is_within = |path: &str, of: &str| path == of || path.strip_prefix(of).is_some_and(|p| p.starts_with('/'));
    let path = &w.groups[group as usize].path;
    let used = w.tasks.iter().filter_map(|t| t.group).map(|g| w.groups[g as usize].path.as_str());
    if used.clone().any(|inner| is_within(inner, path)) {
        return Ok(());
    }
    let help = match used.clone().next() {
        None => "give a task that `taskgroup`".into(),
        Some(_) => suggest_from(path, "tasks are in:", used),
    };
    Err(Problem::EmptyCpuset { task: at.subject.into(), step: at.step, path: path.clone(), help })
}

fn task(t: &TaskSpec, machine: &Machine) -> Result<(), Problem> {
    let at = ValueLocation { subject: &t.name, step: None };
    at.range("length of the name", t.name.len() as i128, 0, MAX_NAME as i128)?;
    at.attr(t.attr)?;
    at.amount(Amount::fixed(t.timer_slack_ns))?;
    if let Some(mask) = &t.affinity {
        at.affinity(mask, machine)?;
    }
    match t.kthread_cpu {
        Some(cpu) => at.cpu(cpu, machine),
        None => Ok(()),
    }
}

fn start(w: &Workload, s: &Start, machine: &Machine) -> Result<(), Problem> {
    if s.spec as usize >= w.tasks.len() {
        return Err(Problem::NoSuchTask { step: None, spec: s.spec });
    }
    let at = ValueLocation { subject: &w.tasks[s.spec as usize].name, step: None };
    at.range("number of the process", s.process, 0, w.start.len() as i128 - 1)?;
    at.cpu(s.cpu, machine)
}

fn irq(w: &Workload, i: &IrqSource, machine: &Machine) -> Result<(), Problem> {
    let at = ValueLocation { subject: &i.name, step: None };
    at.cpu(i.cpu, machine)?;
    at.amount(i.period)?;
    at.amount(i.busy)?;
    at.range("period in ns", i.period.base, MIN_IRQ_PERIOD_NS, i128::MAX)?;
    i.posts.map_or(Ok(()), |sem| at.object(w, sem, "semaphore"))
}

/// Checks a frequency cap by itself.
pub(crate) fn frequency_cap(cap: &FrequencyCap, machine: &Machine) -> Result<(), Problem> {
    let at = ValueLocation { subject: "a frequency cap", step: None };
    at.range("number of CPUs", cap.cpus.count() as i128, 1, machine.nr_cpus() as i128)?;
    cap.cpus.iter().try_for_each(|cpu| at.cpu(cpu, machine))?;
    for domain in machine.freq_domains.iter().filter(|d| d.cpus.intersects(&cap.cpus)) {
        let (cpus, others) = (Box::new(domain.cpus.and(&cap.cpus)), Box::new(domain.cpus.minus(&cap.cpus)));
        if !others.is_empty() {
            return Err(Problem::SplitsClock { cpus, others });
        }
        let lowest = domain.opps.first().map_or(0, |o| o.khz);
        if cap.max_khz < lowest {
            return Err(Problem::CapTooLow { cpus, khz: cap.max_khz, lowest });
        }
    }
    at.amount(Amount::fixed(cap.from_ns))?;
    let Some(to) = cap.to_ns else { return Ok(()) };
    at.amount(Amount::fixed(to))?;
    match to > cap.from_ns {
        true => Ok(()),
        false => Err(Problem::CapBackwards { cpus: Box::new(cap.cpus), from: cap.from_ns, to }),
    }
}

/// The objects and templates a step names.
fn op_objects(w: &Workload, op: &Op, at: &ValueLocation) -> Result<(), Problem> {
    match op {
        Op::TimerWait { timer, .. } => at.object(w, *timer, "timer"),
        Op::PipeWrite { pipe, .. } | Op::PipeRead { pipe, .. } => at.object(w, *pipe, "pipe"),
        Op::SockSend { sock, .. } | Op::SockRecv { sock, .. } => at.object(w, *sock, "socket"),
        Op::Poll(o) if matches!(w.objects.get(*o as usize), Some(Object::Socket { .. })) => Ok(()),
        Op::Poll(pipe) => at.object(w, *pipe, "pipe"),
        Op::Stamp(s) | Op::StampCall(s) => at.object(w, *s, "stamp"),
        Op::Sample { since, to } => sample_objects(w, since, to, at),
        Op::Conclude(t) => at.object(w, *t, "tally"),
        Op::Enlist(r) | Op::CallListed(r) | Op::AwaitListed(r) => at.object(w, *r, "roster"),
        Op::Serial { lock, .. } if is_lock(w, *lock) => Ok(()),
        Op::Serial { lock, .. } => at.object(w, *lock, "ticket lock or kernel mutex"),
        Op::FutexStore { futex, .. } | Op::FutexWait { futex, .. } | Op::FutexWake { futex, .. } => {
            at.object(w, *futex, "futex")
        }
        Op::Lock(m) | Op::Unlock(m) => at.object(w, *m, "mutex"),
        Op::CondWait { cond, mutex } => {
            at.object(w, *cond, "condition variable")?;
            mutex.map_or(Ok(()), |m| at.object(w, m, "mutex"))
        }
        Op::Signal(c) | Op::Broadcast(c) => at.object(w, *c, "condition variable"),
        Op::BarrierWait(b) => at.object(w, *b, "barrier"),
        Op::SemWait(s) | Op::SemPost(s) | Op::Rouse { sem: s, .. } => at.object(w, *s, "semaphore"),
        Op::SetGroupClamp(new) => group(at.subject, Some(new.group), w.groups.len()),
        Op::SetGroupCpus(new) => {
            group(at.subject, Some(new.group), w.groups.len())?;
            has_threads(w, new.group, at)
        }
        Op::Spawn { spec, .. } if *spec as usize >= w.tasks.len() => {
            Err(Problem::NoSuchTask { step: at.step, spec: *spec })
        }
        _ => Ok(()),
    }
}

/// Whether the object is a lock that [`Op::Serial`] takes.
fn is_lock(w: &Workload, object: ObjId) -> bool {
    matches!(w.objects.get(object as usize), Some(Object::Ticket | Object::KernelMutex))
}

fn sample_objects(w: &Workload, since: &Since, to: &Report, at: &ValueLocation) -> Result<(), Problem> {
    if let Since::Stamp(stamp) = since {
        at.object(w, *stamp, "stamp")?;
    }
    match to {
        Report::Series(series) => at.series(w, *series),
        Report::Tally(tally) => at.object(w, *tally, "tally"),
        Report::Phase(phase) => at.phase(w, *phase),
    }
}

/// The numbers and CPUs of a step.
fn op_ranges(w: &Workload, op: &Op, at: &ValueLocation, machine: &Machine) -> Result<(), Problem> {
    match op {
        Op::Run(a) | Op::RunWall(a) | Op::Sleep(a) => at.amount(*a),
        Op::SleepUntil(t) => at.amount(Amount::fixed(*t)),
        Op::Work(ps) => at.amount(Amount::fixed(ps / 1000)),
        Op::TimerWait { period_ns, .. } => {
            at.amount(Amount::fixed(*period_ns))?;
            at.range("period in ns", *period_ns, 1, i128::MAX)
        }
        Op::PipeWrite { bytes, .. } => at.range("message size", *bytes, 1, MAX_MESSAGE),
        Op::SockSend { sock, bytes } => {
            // A message that the empty buffer cannot take would block for ever.
            let room = match w.objects[*sock as usize] {
                Object::Socket { sndbuf, overhead } => i128::from(sndbuf) - i128::from(overhead),
                _ => MAX_U32,
            };
            at.range("message size", *bytes, 1, room)
        }
        Op::PipeRead { bytes, .. } | Op::SockRecv { bytes, .. } => at.range("message size", *bytes, 1, MAX_U32),
        Op::Serial { hold, lines, .. } => {
            at.amount(*hold)?;
            at.range("lines under a lock", *lines, 0, MAX_LINES)
        }
        Op::SetAttr(a) => at.attr(*a),
        Op::SetGroupClamp(new) => at.range(new.clamp.file(), new.value.hundredths, 0, MAX_PERCENT),
        Op::SetGroupCpus(new) => cpuset(&w.groups[new.group as usize].path, at.step, &new.cpus, machine),
        Op::DrawUclampMin(odds) => clamp_odds(w, odds, at),
        Op::SetAffinity(mask) => at.affinity(mask, machine),
        _ => Ok(()),
    }
}

/// Floors to draw from, which every ceiling that the thread may have allows.
fn clamp_odds(w: &Workload, odds: &[ClampOdds], at: &ValueLocation) -> Result<(), Problem> {
    at.range("number of floors to draw from", odds.len() as i128, 1, MAX_U32)?;
    odds.iter().try_for_each(|o| {
        at.range("util_min", o.uclamp_min, 0, 1024)?;
        at.range("weight of a floor", o.weight, 1, MAX_U32)
    })?;
    let min = odds.iter().map(|o| o.uclamp_min).max().unwrap_or(0);
    let Some(task) = at.step.map(|step| &w.tasks[step.spec as usize]) else { return Ok(()) };
    let later = task.program.iter().filter_map(|op| if let Op::SetAttr(a) = op { Some(a.uclamp_max) } else { None });
    let max = later.fold(task.attr.uclamp_max, u16::min);
    if min > max {
        return Err(Problem::ClampsCross { task: at.subject.into(), step: at.step, min, max });
    }
    Ok(())
}

/// Affinities that name some CPUs the machine has and some it has not.
pub(super) fn remarks(w: &Workload, machine: &Machine, out: &mut Vec<Remark>) {
    let mut strays = Vec::new();
    let mut look = |task: &TaskSpec, place: Subject, mask: &CpuMask| {
        let absent = mask.minus(&machine.all_cpus());
        if !absent.is_empty() {
            let message = format!("may use CPUs {mask}, of which {} has no {absent}", machine.name);
            out.push(Remark { kind: WarningKind::Suspicious, place, subject: task.name.clone(), message });
        }
    };
    let sets = Cpusets::new(&w.groups, machine.all_cpus());
    for (spec, t) in w.tasks.iter().enumerate() {
        let (asked, group) = (t.affinity.unwrap_or(machine.all_cpus()), sets.effective(t.group));
        if !asked.intersects(&group) && t.kthread_cpu.is_none() {
            let message = format!("asks for CPUs {asked}, of which its task group may use none: it starts on {group}");
            strays.push(Remark {
                kind: WarningKind::Suspicious,
                place: Subject::Task(spec as SpecId),
                subject: t.name.clone(),
                message,
            });
        }
        t.affinity.iter().for_each(|mask| look(t, Subject::Task(spec as SpecId), mask));
    }
    for (step, op) in w.steps() {
        if let Op::SetAffinity(mask) = op {
            look(&w.tasks[step.spec as usize], Subject::Step(step), mask);
        }
    }
    out.append(&mut strays);
}

//! Checks waiters and wakers of each object: whether a wait can ever end.

use std::collections::BTreeMap;

use super::spawns::Population;
use super::{stuck, Problem, Remark, Step};
use crate::program::*;

/// Threads of a recording that are named in a remark on all.
const NAMED: usize = 5;

/// Who does one thing at one object.
#[derive(Default)]
struct Users {
    /// The first step that does it.
    first: Option<Step>,
    /// Threads that come by, by template.
    threads: BTreeMap<SpecId, u64>,
}

impl Users {
    fn add(&mut self, step: Step, threads: u64) {
        self.first.get_or_insert(step);
        self.threads.insert(step.spec, threads);
    }

    fn total(&self) -> u64 {
        self.threads.values().fold(0, |sum, n| sum.saturating_add(*n))
    }
}

/// Waiting and waking at one object. Writing to a pipe is waking its reader, and waiting for it.
#[derive(Default)]
struct WaitPoint {
    waiters: Users,
    wakers: Users,
}

/// Finds barriers that cannot fill (an error) and waits that no thread ends (a remark: rt-app's own examples have them,
/// and they are run as written).
pub(super) fn check(w: &Workload, population: &Population, remarks: &mut Vec<Remark>) -> Result<(), Problem> {
    let mut meetings: Vec<WaitPoint> = w.objects.iter().map(|_| WaitPoint::default()).collect();
    for (step, op) in w.steps() {
        let threads = population.threads[step.spec as usize];
        if threads > 0 {
            note(&mut meetings, step, op, threads);
        }
    }
    for sem in w.irqs.iter().filter_map(|i| i.posts) {
        let device = Step { spec: SpecId::MAX, op: 0 };
        meetings[sem as usize].wakers.add(device, 1);
    }
    let stuck = stuck::find(w, population);
    let mut at_rest: Vec<(Step, u64)> = Vec::new();
    for (id, (object, meeting)) in w.objects.iter().zip(&meetings).enumerate() {
        let what = format!("{} {}", object.kind(), w.object_label(id as ObjId));
        let said = remarks.len();
        if let Some(waits) = rest(w, object, meeting, stuck[id]) {
            at_rest.push(waits);
            continue;
        }
        match object {
            Object::Barrier { parties } => barrier(id as ObjId, *parties, &meeting.waiters)?,
            Object::Semaphore { value } if *value > 0 => {}
            _ => lonely(w, &what, object, meeting, remarks),
        }
        if let (Some((step, threads)), true) = (stuck[id], remarks.len() == said) {
            let who = if threads == 1 { String::new() } else { format!(" (with it {} more)", threads - 1) };
            let message = format!(
                "waits for {what} for ever{who}: every thread that could wake it also waits for ever or never gets there"
            );
            remarks.push(Remark::suspicious(step, w.name_of(step.spec), message));
        }
    }
    remarks.extend(resting(w, &at_rest));
    Ok(())
}

/// The recorded threads that wait for ever at this semaphore, and how many: where a recording ends, those sleep who were
/// woken later.
fn rest(w: &Workload, object: &Object, meeting: &WaitPoint, stuck: Option<(Step, u64)>) -> Option<(Step, u64)> {
    let lonely = || match meeting.wakers.first {
        None => meeting.waiters.first.map(|step| (step, meeting.waiters.total())),
        Some(_) => None,
    };
    let Object::Semaphore { value: 0 } = object else { return None };
    stuck.or_else(lonely).filter(|(step, _)| w.tasks.get(step.spec as usize).is_some_and(TaskSpec::is_recorded))
}

/// One remark for all of them: there is one for nearly each thread of a recording.
fn resting(w: &Workload, at_rest: &[(Step, u64)]) -> Option<Remark> {
    let (step, _) = *at_rest.first()?;
    let threads = at_rest.iter().fold(0, |sum: u64, (_, n)| sum.saturating_add(*n));
    let mut names: Vec<String> = at_rest.iter().map(|(step, _)| w.name_of(step.spec)).collect();
    names.dedup();
    let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
    names.truncate(NAMED);
    let message = match threads {
        1 => "waits for ever at the end of the recording: nobody in it wakes the thread any more".to_owned(),
        _ => format!("{threads} threads wait for ever at the end of the recording, as nobody in it wakes them any more: {}{more}", names.join(", ")),
    };
    let subject = if threads == 1 { w.name_of(step.spec) } else { w.name.clone() };
    Some(Remark::suspicious(step, subject, message))
}

fn note(meetings: &mut [WaitPoint], step: Step, op: &Op, threads: u64) {
    let (object, waits) = match op {
        Op::PipeRead { pipe: o, .. } | Op::SockRecv { sock: o, .. } | Op::Poll(o) => (*o, true),
        Op::PipeWrite { pipe: o, .. } | Op::SockSend { sock: o, .. } => (*o, false),
        Op::Enlist(r) => (*r, true),
        Op::CallListed(r) => (*r, false),
        Op::FutexWait { futex, .. } => (*futex, true),
        Op::FutexWake { futex, count } if *count > 0 => (*futex, false),
        Op::CondWait { cond, .. } => (*cond, true),
        Op::Signal(c) | Op::Broadcast(c) => (*c, false),
        Op::BarrierWait(b) => (*b, true),
        Op::SemWait(s) => (*s, true),
        Op::SemPost(s) | Op::Rouse { sem: s, .. } => (*s, false),
        _ => return,
    };
    let meeting = &mut meetings[object as usize];
    if waits { &mut meeting.waiters } else { &mut meeting.wakers }.add(step, threads);
}

fn barrier(object: ObjId, parties: u32, waiters: &Users) -> Result<(), Problem> {
    match waiters.first {
        Some(step) if waiters.total() < parties.into() => {
            Err(Problem::BarrierNeverFills { step, object, parties, users: waiters.total() })
        }
        _ => Ok(()),
    }
}

fn lonely(w: &Workload, what: &str, object: &Object, meeting: &WaitPoint, remarks: &mut Vec<Remark>) {
    let (waits, wakes) = match object {
        Object::Pipe { .. } => ("reads from", "writes to"),
        Object::Socket { .. } => ("receives from", "sends to"),
        Object::Cond => ("waits for", "signals"),
        Object::Futex { .. } => ("sleeps on", "wakes"),
        Object::Semaphore { .. } => ("waits for", "posts"),
        Object::Roster => ("enlists on", "calls"),
        Object::Mutex | Object::Barrier { .. } | Object::Timer { .. } => return,
        Object::Stamp | Object::Tally { .. } | Object::Ticket | Object::KernelMutex => return,
    };
    let mut remark = |step: Step, message: String| {
        remarks.push(Remark::suspicious(step, w.name_of(step.spec), message));
    };
    let (waiters, wakers) = (&meeting.waiters, &meeting.wakers);
    if let Some(step) = waiters.first {
        if wakers.first.is_none() {
            remark(step, format!("{waits} {what}, which no thread ever {wakes}"));
        } else if is_one_thread(waiters, wakers)
            && matches!(object, Object::Cond | Object::Futex { .. } | Object::Roster)
        {
            remark(step, format!("{waits} {what}, which no other thread ever {wakes}"));
        }
    }
    let fills = matches!(object, Object::Pipe { .. } | Object::Socket { .. });
    if let (Some(step), None, true) = (wakers.first, waiters.first, fills) {
        remark(step, format!("{wakes} {what}, which no thread ever {waits}: it fills up"));
    }
}

/// Whether one and the same thread does all the waiting and waking.
fn is_one_thread(waiters: &Users, wakers: &Users) -> bool {
    waiters.threads == wakers.threads && waiters.total() == 1
}

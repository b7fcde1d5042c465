//! What the programs tell a recorder (`struct live_event`), as the events of a run.
//!
//! Events come from all CPUs, nearly in the order of time. They are put in order, threads become tasks, and a trace gets them.

use std::collections::BTreeMap;

use fairground_fair::ffi::{FgBalance, FgTask, FG_WF_EXEC, FG_WF_FORK};
use fairground_fair::{queued_task, source_found, task_pushed};
use fairground_sim::{
    Balance, Decision, DecisionKind, Event, EventKind, MigrateCause, PickKind, PickReport, QueuedTask, Reason,
    SwitchState, TaskId,
};
use fairground_trace::{Export, RealThread};

use crate::decision::{Arguments, Verdict};
use crate::structs::{member, number, size, Build};

/// One is passed on when another is this much later, ns.
const DISORDER: u64 = 1_000_000;
/// Bits of a task's state when it is dead (TASK_DEAD, EXIT_DEAD, EXIT_ZOMBIE).
const DEAD: u64 = 0x80 | 0x10 | 0x20;
/// `value` of a LIVE_IDLE when the CPU leaves idle.
const IDLE_EXIT: u64 = u32::MAX as u64;
/// `kind` of a live_pass that is a push.
const ACTIVE: u32 = 3;
/// `kind` of a live_pick_event, by number.
const PICK_KINDS: [PickKind; 3] = [PickKind::Pick, PickKind::Wakeup, PickKind::Slice];
/// What is written of a thread without a name, as ftrace has it.
const NAMELESS: &str = "<...>";

/// A thread as an event has it.
#[derive(Clone, Copy, Debug)]
pub struct RawThread {
    /// 0: an idle task.
    pub pid: u32,
    /// The kernel's priority.
    pub prio: i32,
    /// The name, up to a 0.
    pub comm: [u8; 16],
}

impl RawThread {
    /// The name, without control characters.
    pub fn name(&self) -> String {
        let end = self.comm.iter().position(|byte| *byte == 0).unwrap_or(self.comm.len());
        String::from_utf8_lossy(&self.comm[..end]).replace(char::is_control, "?")
    }
}

/// An event of the map `events`.
#[derive(Clone, Copy, Debug)]
pub struct RawEvent {
    /// ns of CLOCK_MONOTONIC.
    pub time: u64,
    /// As the kind says.
    pub value: u64,
    /// Which event, one of [`kinds`].
    pub kind: u32,
    /// Where it happened.
    pub cpu: u32,
    /// Two threads; the second may be the first again.
    pub threads: [RawThread; 2],
    /// Of the kinds that have more to say.
    pub details: Details,
}

/// What some kinds of events have beside the rest.
#[derive(Clone, Copy, Debug)]
pub enum Details {
    /// Nothing.
    None,
    /// Of [`kinds::BALANCE`].
    Balance(Balance),
    /// Of [`kinds::PICK`].
    Pick(RawPick),
    /// Of [`kinds::PLACED`].
    Placed(RawPlaced),
}

/// A placement without its state; the task is the event's first thread.
#[derive(Clone, Copy, Debug)]
pub struct RawPlaced {
    /// The CPU where the task was.
    pub prev: u32,
    /// The CPU that was chosen.
    pub chosen: u32,
    /// `FG_RULE_*`.
    pub rule: u16,
    /// `FG_WF_*`.
    pub flags: u32,
    /// CPUs that were probed.
    pub probes: u32,
    /// CPUs of groups that were looked at.
    pub group_cpus: u32,
}

/// A pick, but for the tasks, which are the event's threads.
#[derive(Clone, Copy, Debug)]
pub struct RawPick {
    /// What it is about.
    pub kind: PickKind,
    /// `FG_PICK_RULE_*`.
    pub rule: u16,
    /// Fair tasks on the run queue.
    pub queued: u32,
    /// The CPU of the run queue.
    pub cpu: u32,
    /// Of both threads.
    pub states: [QueuedTask; 2],
}

/// Values of the features that say how a queue is ordered.
#[derive(Clone, Copy, Debug)]
pub struct QueueOrder {
    /// Of `rq`.
    pub rq: u8,
    /// Of `protect`.
    pub protect: u8,
}

/// Kinds of events: LIVE_* of live.h.
pub mod kinds {
    pub const SWITCH: u32 = 1;
    pub const WAKING: u32 = 2;
    pub const WAKEUP: u32 = 3;
    pub const WAKEUP_NEW: u32 = 4;
    pub const MIGRATE: u32 = 5;
    pub const FORK: u32 = 6;
    pub const EXIT: u32 = 7;
    pub const IDLE: u32 = 8;
    pub const DECISION: u32 = 9;
    pub const FREQUENCY: u32 = 10;
    pub const BALANCE: u32 = 11;
    pub const PICK: u32 = 12;
    pub const PLACED: u32 = 13;
}

/// Numbers of a struct of live.h that begins somewhere in an event.
struct Fields<'b> {
    bytes: &'b [u8],
    of: usize,
}

impl<'b> Fields<'b> {
    /// Of the struct called `name`, which `bytes` begins with; none: it is cut short.
    fn read(bytes: &'b [u8], name: &str) -> Option<Fields<'b>> {
        let of = number(name);
        Some(Fields { bytes: bytes.get(..size(of, Build::Small))?, of })
    }

    /// The struct of this type that is the member `name`.
    fn within(&self, name: &str, of: &str) -> Option<Fields<'b>> {
        Fields::read(&self.bytes[member(self.of, name).offset..], of)
    }

    fn get<const N: usize>(&self, name: &str) -> [u8; N] {
        self.bytes[member(self.of, name).offset..].first_chunk().copied().unwrap_or([0; N])
    }

    fn half(&self, name: &str) -> u32 {
        u32::from_ne_bytes(self.get(name))
    }

    fn whole(&self, name: &str) -> u64 {
        u64::from_ne_bytes(self.get(name))
    }
}

/// A `struct live_pass`.
fn pass(fields: &Fields) -> Balance {
    let (src_cpu, dst_cpu) = (fields.half("src_cpu") as i32, fields.half("dst_cpu") as i32);
    let (kind, level) = (fields.half("kind"), fields.half("level") as u8);
    if kind == ACTIVE {
        return task_pushed(level, src_cpu as u32, dst_cpu as u32);
    }
    let imbalance = fields.whole("imbalance") as i64;
    let (migration, rule) = (fields.half("migration"), fields.half("rule"));
    let moved = fields.half("moved");
    let found = FgBalance { kind, src_cpu, dst_cpu, migration, imbalance, rule, moved, ..FgBalance::zeroed() };
    Balance { active: fields.half("active") != 0, ..source_found(&found, level) }
}

/// A `struct live_placed_event`.
fn placed(fields: &Fields) -> RawPlaced {
    RawPlaced {
        prev: fields.half("prev_cpu"),
        chosen: fields.half("cpu"),
        rule: fields.half("rule") as u16,
        flags: fields.half("flags"),
        probes: fields.half("probes"),
        group_cpus: fields.half("group_cpus"),
    }
}

/// A `struct live_pick_event`.
fn pick(fields: &Fields, order: QueueOrder) -> Option<RawPick> {
    let average = fields.whole("average");
    let state = |name| {
        let queued = fields.within(name, "live_queued")?;
        let task = FgTask {
            vruntime: queued.whole("vruntime"),
            deadline: queued.whole("deadline"),
            vprot: queued.whole("vprot"),
            flags: queued.half("flags"),
            on_cpu: queued.half("on_cpu") as _,
            ..FgTask::zeroed()
        };
        Some(queued_task(&task, average, order.rq, order.protect))
    };
    Some(RawPick {
        kind: *PICK_KINDS.get(fields.half("kind") as usize)?,
        rule: fields.half("rule") as u16,
        queued: fields.half("queued"),
        cpu: fields.half("cpu"),
        states: [state("task")?, state("current")?],
    })
}

impl RawEvent {
    /// From the bytes of a `struct live_event`, and of what is around it for its kind; none: there are too few.
    pub fn read(bytes: &[u8], order: QueueOrder) -> Option<RawEvent> {
        let event = Fields::read(bytes, "live_event")?;
        let kind = event.half("kind");
        let details = match kind {
            kinds::BALANCE => {
                Details::Balance(pass(&Fields::read(bytes, "live_balance_event")?.within("pass", "live_pass")?))
            }
            kinds::PLACED => Details::Placed(placed(&Fields::read(bytes, "live_placed_event")?)),
            kinds::PICK => Details::Pick(pick(&Fields::read(bytes, "live_pick_event")?, order)?),
            _ => Details::None,
        };
        let thread = |pid, prio, comm: [u8; 16]| RawThread { pid, prio: prio as i32, comm };
        // Names of the others are not filled in.
        let threads = match details {
            Details::None | Details::Placed(_) => [
                thread(event.half("pid"), event.half("prio"), event.get("comm")),
                thread(event.half("other"), event.half("other_prio"), event.get("other_comm")),
            ],
            Details::Balance(_) => [thread(0, 0, [0; 16]); 2],
            Details::Pick(_) => [event.half("pid"), event.half("other")].map(|pid| thread(pid, 0, [0; 16])),
        };
        Some(RawEvent {
            time: event.whole("time"),
            value: event.whole("value"),
            kind,
            cpu: event.half("cpu"),
            threads,
            details,
        })
    }
}

/// A placement: its arguments, how it came out, and why.
pub type Placed = (Arguments, Verdict, Vec<Reason>);

/// Threads by pid, as tasks of a run.
#[derive(Default)]
struct Threads {
    tasks: BTreeMap<u32, (TaskId, RealThread)>,
    next: TaskId,
}

impl Threads {
    /// The task of a thread, which the trace gets to know if its name is new. None: an idle task.
    fn task(&mut self, raw: &RawThread, out: &mut Option<Box<dyn Export + '_>>) -> Option<TaskId> {
        let pid = raw.pid;
        if pid == 0 {
            return None;
        }
        let known = self.tasks.get(&pid);
        let task = known.map_or(self.next, |(task, _)| *task);
        let thread = match raw.comm[0] {
            0 if known.is_some() => return Some(task),
            0 => RealThread { comm: NAMELESS.into(), pid, prio: 120 },
            _ => RealThread { comm: raw.name(), pid, prio: raw.prio },
        };
        if known.is_none_or(|(_, known)| *known != thread) {
            self.next = self.next.max(task + 1);
            if let Some(out) = out {
                out.name_thread(task, &thread);
            }
            self.tasks.insert(pid, (task, thread));
        }
        Some(task)
    }

    /// The pid is another thread's from now on.
    fn forget(&mut self, pid: u32) {
        self.tasks.remove(&pid);
    }
}

/// Puts events in order and writes them to a trace, if there is one.
pub struct Stream<'o> {
    out: Option<Box<dyn Export + 'o>>,
    threads: Threads,
    /// By time, then in the order in which they came.
    pending: BTreeMap<(u64, u64), (RawEvent, Option<Placed>)>,
    came: u64,
    newest: u64,
}

impl<'o> Stream<'o> {
    /// An empty one. None: nothing is written.
    pub fn new(out: Option<Box<dyn Export + 'o>>) -> Stream<'o> {
        Stream { out, threads: Threads::default(), pending: BTreeMap::new(), came: 0, newest: 0 }
    }

    /// An event came. `placed`: of a placement.
    pub fn take(&mut self, raw: RawEvent, placed: Option<Placed>) {
        self.newest = self.newest.max(raw.time);
        self.pending.insert((raw.time, self.came), (raw, placed));
        self.came += 1;
    }

    /// How many came.
    pub fn count(&self) -> u64 {
        self.came
    }

    /// Writes what no earlier event can precede any more; at the end all.
    pub fn pass_on(&mut self, at_end: bool) {
        while let Some(first) = self.pending.first_entry() {
            if !at_end && first.key().0 + DISORDER > self.newest {
                break;
            }
            let (raw, placed) = first.remove();
            self.write(&raw, placed);
        }
    }

    fn write(&mut self, raw: &RawEvent, placed: Option<Placed>) {
        let [first, second] = &raw.threads;
        if raw.kind == kinds::FORK {
            self.threads.forget(second.pid);
        }
        let tasks = [self.threads.task(first, &mut self.out), self.threads.task(second, &mut self.out)];
        let Some(kind) = event_kind(raw, tasks, placed.as_ref()) else { return };
        let Some(out) = &mut self.out else { return };
        // Of another CPU than the one that changes it.
        let cpu = if raw.kind == kinds::FREQUENCY { (raw.value >> 32) as u32 } else { raw.cpu };
        let event = Event { time: raw.time, cpu, kind };
        if let Some((_, _, reasons)) = placed.filter(|(.., reasons)| !reasons.is_empty()) {
            out.reasons(&event, &reasons);
        }
        out.event(&event);
    }

    /// Writes all that is left, and ends the trace.
    ///
    /// # Errors
    /// The trace cannot be written.
    pub fn finish(mut self) -> std::io::Result<()> {
        self.pass_on(true);
        self.out.map_or(Ok(()), |out| out.finish())
    }
}

fn decision(task: TaskId, placed: RawPlaced) -> Decision {
    let RawPlaced { prev, chosen, rule, flags, probes, group_cpus } = placed;
    let kind = match flags {
        flags if flags & FG_WF_FORK != 0 => DecisionKind::Fork,
        flags if flags & FG_WF_EXEC != 0 => DecisionKind::Exec,
        _ => DecisionKind::Wake,
    };
    Decision { kind, task, prev, chosen, rule, probes, group_cpus }
}

/// The event of a run that this is; none: it has none, e.g. for an idle task.
fn event_kind(raw: &RawEvent, [task, other]: [Option<TaskId>; 2], placed: Option<&Placed>) -> Option<EventKind> {
    Some(match raw.kind {
        kinds::SWITCH => {
            let prev_state = match raw.value {
                0 => SwitchState::Runnable,
                state if state & DEAD != 0 => SwitchState::Dead,
                _ => SwitchState::Sleeping,
            };
            EventKind::Switch { prev: task, prev_state, next: other, cost: 0 }
        }
        kinds::WAKING => EventKind::Waking { task: task?, prev: raw.value as u32, waker: other, sync: false },
        kinds::WAKEUP | kinds::WAKEUP_NEW => EventKind::Wakeup { task: task?, target: raw.value as u32 },
        kinds::MIGRATE => EventKind::Migrate {
            task: task?,
            from: (raw.value >> 32) as u32,
            to: raw.value as u32,
            cause: MigrateCause::Balance,
        },
        kinds::FORK => EventKind::Fork { parent: task, child: other? },
        kinds::EXIT => EventKind::Exit { task: task? },
        kinds::IDLE => EventKind::Idle { state: (raw.value != IDLE_EXIT).then_some(raw.value as u8) },
        kinds::FREQUENCY => EventKind::Frequency { khz: raw.value as u32 },
        kinds::DECISION => {
            let (arguments, verdict, _) = placed?;
            let of_verdict = RawPlaced {
                prev: arguments.prev as u32,
                chosen: verdict.cpu as u32,
                rule: verdict.rule as u16,
                flags: arguments.flags,
                probes: verdict.counts[0],
                group_cpus: verdict.counts[2],
            };
            EventKind::Decision(decision(task?, of_verdict))
        }
        kinds::BALANCE | kinds::PICK | kinds::PLACED => match raw.details {
            Details::Placed(placed) => EventKind::Decision(decision(task?, placed)),
            Details::Balance(balance) => EventKind::Balance(balance),
            Details::Pick(pick) => {
                let other = other.filter(|other| Some(*other) != task);
                EventKind::Pick(PickReport {
                    kind: pick.kind,
                    cpu: pick.cpu,
                    task: task?,
                    rule: pick.rule,
                    queued: pick.queued,
                    state: pick.states[0],
                    current: other.map(|other| (other, pick.states[1])),
                })
            }
            Details::None => return None,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use fairground_sim::BalanceKind;
    use fairground_trace::{FtraceText, Names, RuleNames};

    use super::*;

    /// A writer whose text the test can read afterwards.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn thread(pid: u32, name: &str) -> RawThread {
        let mut comm = [0; 16];
        comm[..name.len()].copy_from_slice(name.as_bytes());
        RawThread { pid, prio: 120, comm }
    }

    fn event(time: u64, kind: u32, value: u64, threads: [RawThread; 2]) -> RawEvent {
        RawEvent { time, value, kind, cpu: 1, threads, details: Details::None }
    }

    fn written(events: &[RawEvent]) -> String {
        let shared = Shared::default();
        let words = RuleNames::new(&[], &[]);
        let out = FtraceText::new(shared.clone(), 2, Names::without_workload(), words, false);
        let mut stream = Stream::new(Some(Box::new(out)));
        events.iter().for_each(|event| stream.take(*event, None));
        stream.finish().unwrap();
        let text = shared.0.lock().unwrap().clone();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn events_are_written_in_the_order_of_time() {
        let (cat, dog) = (thread(7, "cat"), thread(8, "dog"));
        let text = written(&[
            event(3000, kinds::SWITCH, 1, [cat, dog]),
            event(1000, kinds::SWITCH, 0, [thread(0, "swapper"), cat]),
            event(2000, kinds::MIGRATE, 1 << 32, [dog, dog]),
        ]);
        let switch = |line: &str| line.contains("sched_switch");
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            switch(lines[0]) && lines[1].contains("sched_migrate_task: comm=dog pid=8 prio=120 orig_cpu=1 dest_cpu=0")
        );
        assert!(lines[2].starts_with("cat-7 [001] 0.000003000: sched_switch: prev_comm=cat prev_pid=7"), "{text}");
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn a_pid_that_is_used_again_is_another_task_and_a_new_name_is_not() {
        let text = written(&[
            event(1, kinds::FORK, 0, [thread(7, "cat"), thread(8, "cat")]),
            event(2, kinds::WAKEUP, 0, [thread(8, "kitten"), thread(8, "kitten")]),
            event(3, kinds::FORK, 0, [thread(7, "cat"), thread(8, "cat")]),
            event(4, kinds::WAKEUP, 0, [thread(8, "cat"), thread(8, "cat")]),
        ]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains("sched_wakeup_new: comm=kitten pid=8"), "{text}");
        assert!(lines[3].contains("sched_wakeup_new: comm=cat pid=8"), "{text}");
    }

    #[test]
    fn an_event_that_is_cut_short_is_none() {
        let order = QueueOrder { rq: 0, protect: 0 };
        for (kind, name) in [
            (0, "live_event"),
            (kinds::BALANCE, "live_balance_event"),
            (kinds::PICK, "live_pick_event"),
            (kinds::PLACED, "live_placed_event"),
        ] {
            let mut whole = vec![0; size(number(name), Build::Small)];
            let at = member(number("live_event"), "kind").offset;
            whole[at..at + 4].copy_from_slice(&kind.to_ne_bytes());
            assert!(RawEvent::read(&whole, order).is_some(), "{name}");
            assert!(RawEvent::read(&whole[..whole.len() - 1], order).is_none(), "{name}");
        }
    }

    /// Writes members of four bytes of a struct that begins at `begin`.
    fn fill(bytes: &mut [u8], of: &str, begin: usize, values: &[(&str, u32)]) {
        for (name, value) in values {
            let at = begin + member(number(of), name).offset;
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
    }

    #[test]
    fn a_pass_is_what_the_run_of_a_simulation_reports() {
        let of = number("live_balance_event");
        let mut bytes = vec![0; size(of, Build::Small)];
        fill(&mut bytes, "live_event", 0, &[("kind", kinds::BALANCE), ("cpu", 2)]);
        let values =
            [("src_cpu", 5), ("dst_cpu", 2), ("kind", 1), ("imbalance", 300), ("rule", 7), ("level", 3), ("moved", 2)];
        fill(&mut bytes, "live_pass", member(of, "pass").offset, &values);
        let raw = RawEvent::read(&bytes, QueueOrder { rq: 0, protect: 0 }).unwrap();
        let Some(EventKind::Balance(balance)) = event_kind(&raw, [None, None], None) else { panic!("{raw:?}") };
        assert_eq!((balance.src, balance.dst, balance.amount, balance.level), (5, 2, 300, 3));
        assert_eq!((balance.kind, balance.rule, balance.moved), (BalanceKind::Idle, 7, 2));
    }

    #[test]
    fn picks_of_unknown_threads_get_a_name_later() {
        let state = QueuedTask { lag: -5, ..QueuedTask::default() };
        let pick = RawPick { kind: PickKind::Slice, rule: 1, queued: 3, cpu: 1, states: [state; 2] };
        let nameless = |pid| RawThread { pid, prio: 0, comm: [0; 16] };
        let picked = RawEvent { details: Details::Pick(pick), ..event(1, kinds::PICK, 0, [nameless(7), nameless(8)]) };
        let text = written(&[picked, event(2, kinds::WAKEUP, 0, [thread(7, "cat"); 2])]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("fairground_pick: kind=slice comm=<...> pid=7 prio=120"), "{text}");
        assert!(lines[0].contains("lag=-5") && lines[0].contains("curr_pid=8"), "{text}");
        assert!(lines[1].contains("sched_wakeup: comm=cat pid=7"), "{text}");
    }
}

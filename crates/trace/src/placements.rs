//! The placements of one of our traces, each with the steps that led to it, assembled from `fairground_` lines. A task
//! that balancing moves is placed too, by the attempt that moved it.

use std::collections::BTreeMap;

use fairground_sim::Rule;

use crate::note::Note;
use crate::rule_names::OwnedRule;
use crate::text::{named, value, Thread, TraceError, TraceEvent, TraceEventKind};
use crate::EventSource;

/// The cause of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Wakeup of a sleeping task.
    Wake,
    /// Fork: the first placement of a new task.
    Fork,
    /// Exec: balancing before the new program starts.
    Exec,
    /// Load balancing: a periodic pass of a CPU, or a pass on its behalf.
    Balance,
    /// Newidle balancing: a CPU pulls tasks before it idles.
    NewIdle,
    /// Active balancing: the stopper pushes a task that could not be pulled.
    Active,
}

impl Cause {
    /// The name in traces.
    pub fn word(self) -> &'static str {
        ["wake", "fork", "exec", "balance", "newidle", "active"][self as usize]
    }
}

/// A thread; pid 0 is a CPU's idle task.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// The thread's comm, at most 255 bytes.
    pub comm: String,
    /// The thread's pid; 0: an idle task.
    pub pid: u32,
}

impl From<Thread<'_>> for Task {
    fn from(thread: Thread) -> Task {
        Task { comm: thread.comm.to_owned(), pid: thread.pid }
    }
}

/// Writes `comm-pid`.
impl std::fmt::Display for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.comm, self.pid)
    }
}

/// A step on the way to a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The rule that was being tried, if any.
    pub rule: Option<String>,
    /// The scheduler's number of the note.
    pub note: u16,
    /// The CPU that the step is about, if any.
    pub cpu: Option<u32>,
    /// The numbers that were compared, as the text describes them.
    pub numbers: [u64; 3],
    /// The step as text.
    pub text: String,
}

/// A balance attempt that found a source CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pull {
    /// The kind of balancing: busy, idle, newidle, active.
    pub kind: String,
    /// Name of the domain level.
    pub level: String,
    /// CPU that pulled the task.
    pub dst: u32,
    /// What `amount` counts: load, util, task, misfit.
    pub unit: String,
    /// The imbalance, in `unit`.
    pub amount: u64,
    /// Number of tasks moved.
    pub moved: u64,
}

/// A decision where a task goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Time, ns.
    pub time: u64,
    /// The cause.
    pub cause: Cause,
    /// The task that is placed.
    pub task: Task,
    /// CPU on which the wakeup, fork, exec or migration by balancing happened.
    pub on_cpu: u32,
    /// The thread that ran there: the waker, or the thread that the interrupt of the wakeup met.
    pub by: Task,
    /// The task's previous CPU.
    pub prev: u32,
    /// CPU that was chosen.
    pub chosen: u32,
    /// Name of the rule that decided.
    pub rule: String,
    /// Number of CPUs that the search probed.
    pub probes: u64,
    /// Number of CPUs that the search read for group statistics.
    pub group_cpus: u64,
    /// The balance attempt that moved the task; `None` for a wakeup, fork or exec.
    pub pull: Option<Pull>,
    /// The steps that led to the decision, oldest first; empty in a trace without reasons.
    pub steps: Vec<Step>,
}

/// The head of a trace: facts about its run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Machine, workload, sched and seed, with their values.
    pub meta: Vec<(String, String)>,
    /// The rules by name.
    pub rules: BTreeMap<String, OwnedRule>,
    /// Notes that every output of the run must have.
    pub notes: Vec<String>,
    /// Whether the trace records the reasons of decisions.
    pub why: bool,
}

impl Head {
    /// The notes of the run before those on its trace.
    pub(crate) fn notes_with(&self, of_trace: Vec<Note>) -> Vec<Note> {
        self.notes.iter().cloned().map(Note::Hint).chain(of_trace).collect()
    }

    /// The rule with this name; only its name is known if the trace does not describe it.
    pub fn rule<'a>(&'a self, name: &'a str) -> Rule<'a> {
        self.rules.get(name).map_or(Rule::named(name), OwnedRule::as_rule)
    }
}

/// Reads the placements of a trace one by one.
pub struct Placements<S> {
    source: S,
    head: Head,
    /// Steps of the next placement, each with the pid of its task.
    steps: Vec<(u32, Step)>,
    /// By pid: the CPU and the waker of the last wakeup, until the task is placed.
    wakers: BTreeMap<u32, (u32, Task)>,
    /// By CPU: the last balance attempt and its time.
    attempts: BTreeMap<u32, (u64, Attempt)>,
    /// By pid: the CPU that was chosen, and why, until the task has moved there.
    chosen: BTreeMap<u32, (u32, Cause)>,
    moves: BTreeMap<Move, u64>,
}

/// A change of CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    /// The cause; `None` if the trace does not show it: a change of affinity, a move between RT queues, or a trace that
    /// is not ours.
    pub cause: Option<Cause>,
    /// CPU that the task leaves.
    pub from: u32,
    /// CPU that the task moves to.
    pub to: u32,
}

impl<S: EventSource> Placements<S> {
    /// Reads a trace from its first event.
    pub fn new(source: S) -> Placements<S> {
        Placements {
            source,
            head: Head::default(),
            steps: Vec::new(),
            wakers: BTreeMap::new(),
            attempts: BTreeMap::new(),
            chosen: BTreeMap::new(),
            moves: BTreeMap::new(),
        }
    }

    /// The head of the trace as far as it has been read; complete with the first placement.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The changes of CPU so far, with their numbers; complete after the last placement.
    pub fn moves(&self) -> &BTreeMap<Move, u64> {
        &self.moves
    }

    /// Notes on the trace and its run; complete at the end of the trace.
    pub fn notes(&self) -> Vec<Note> {
        self.head.notes_with(self.source.notes())
    }

    /// The next placement; `None` at the end.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn next_placement(&mut self) -> Result<Option<Placement>, TraceError> {
        while let Some(event) = self.source.next_event()? {
            let ours = match event.what {
                TraceEventKind::Waking { task, .. } => {
                    self.wakers.insert(task.pid, (event.cpu, event.context.into()));
                    continue;
                }
                TraceEventKind::Migrate { task, from, to } => {
                    let placed = self.chosen.remove(&task.pid).filter(|(chosen, _)| *chosen == to);
                    let moved = if placed.is_none() { moved(&mut self.attempts, &event, from) } else { None };
                    let cause = placed.map(|(_, cause)| cause).or(moved.as_ref().map(|m| m.cause));
                    *self.moves.entry(Move { cause, from, to }).or_default() += 1;
                    let Some(moved) = moved else { continue };
                    return Ok(Some(Placement { task: task.into(), prev: from, chosen: to, ..moved }));
                }
                TraceEventKind::Print(text) => parse_own_record(text),
                _ => continue,
            };
            let (time, cpu, context) = (event.time, event.cpu, event.context);
            match ours {
                Ok(OwnRecord::Decision(mut placement)) => {
                    placement.time = time;
                    let waker = self.wakers.remove(&placement.task.pid);
                    let waker = waker.filter(|_| placement.cause == Cause::Wake);
                    (placement.on_cpu, placement.by) = waker.unwrap_or_else(|| (cpu, context.into()));
                    let pid = placement.task.pid;
                    match placement.chosen == placement.prev {
                        true => self.chosen.remove(&pid),
                        false => self.chosen.insert(pid, (placement.chosen, placement.cause)),
                    };
                    placement.steps = self.steps.drain(..).filter(|(of, _)| *of == pid).map(|(_, step)| step).collect();
                    return Ok(Some(*placement));
                }
                Ok(OwnRecord::Why(pid, step)) => {
                    self.head.why = true;
                    self.steps.push((pid, step));
                }
                Ok(OwnRecord::Attempt(attempt)) => drop(self.attempts.insert(cpu, (time, attempt))),
                Ok(OwnRecord::Meta(key, value)) => self.head.meta.push((key, value)),
                Ok(OwnRecord::Rule(rule)) => drop(self.head.rules.insert(rule.name.clone(), rule)),
                Ok(OwnRecord::Note(note)) => self.head.notes.push(note),
                Ok(OwnRecord::Other) => {}
                Err(expected) => return Err(self.source.unexpected(expected)),
            }
        }
        Ok(None)
    }
}

/// A balance attempt, from its `fairground_balance` line.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    src: u32,
    rule: String,
    pull: Pull,
    /// Number of tasks whose migration has not been read yet.
    left: u64,
}

/// The placement of the task that leaves `from` at this event, if the last balance attempt at that time and CPU moves
/// it.
fn moved(attempts: &mut BTreeMap<u32, (u64, Attempt)>, event: &TraceEvent, from: u32) -> Option<Placement> {
    let (time, attempt) = attempts.get_mut(&event.cpu)?;
    if *time != event.time || attempt.src != from || attempt.left == 0 {
        return None;
    }
    attempt.left -= 1;
    let cause = match attempt.pull.kind.as_str() {
        "newidle" => Cause::NewIdle,
        "active" => Cause::Active,
        _ => Cause::Balance,
    };
    Some(Placement {
        time: event.time,
        cause,
        task: Task::default(),
        on_cpu: event.cpu,
        by: event.context.into(),
        prev: from,
        chosen: from,
        rule: attempt.rule.clone(),
        probes: 0,
        group_cpus: 0,
        pull: Some(attempt.pull.clone()),
        steps: Vec::new(),
    })
}

/// A parsed `fairground_*` line.
pub(crate) enum OwnRecord {
    Decision(Box<Placement>),
    Why(u32, Step),
    Attempt(Attempt),
    Meta(String, String),
    Rule(OwnedRule),
    Note(String),
    Other,
}

pub(crate) fn parse_own_record(text: &str) -> Result<OwnRecord, &'static str> {
    let Some((kind, fields)) = text.strip_prefix("fairground_").and_then(|t| t.split_once(": ")) else {
        return Ok(OwnRecord::Other);
    };
    let (parsed, expected) = match kind {
        "decision" => (
            parse_decision(fields),
            "fairground_decision with kind, comm, pid, prev_cpu, cpu, rule, probes, group_cpus",
        ),
        "why" => (parse_why(fields), "fairground_why with pid, rule, note, cpu, a, b, c, text"),
        "balance" => (
            parse_attempt(fields),
            "fairground_balance with kind, level, src_cpu, dst_cpu, unit, amount, rule, moved, active",
        ),
        "meta" => {
            let parts = fields.split_once('=');
            (parts.map(|(key, value)| OwnRecord::Meta(key.into(), value.into())), "fairground_meta with KEY=VALUE")
        }
        "rule" => (rule(fields), "fairground_rule with name, function, label, text"),
        "note" => (Some(OwnRecord::Note(fields.into())), ""),
        _ => (Some(OwnRecord::Other), ""),
    };
    parsed.ok_or(expected)
}

fn parse_decision(fields: &str) -> Option<OwnRecord> {
    let (kind, fields) = fields.strip_prefix("kind=")?.split_once(' ')?;
    let cause = [Cause::Wake, Cause::Fork, Cause::Exec].into_iter().find(|c| c.word() == kind)?;
    let (task, rest) = named(fields.strip_prefix("comm=")?, " pid=")?;
    Some(OwnRecord::Decision(Box::new(Placement {
        time: 0,
        cause,
        task: task.into(),
        on_cpu: 0,
        by: Task::default(),
        prev: value(rest, "prev_cpu=")?.parse().ok()?,
        chosen: value(rest, "cpu=")?.parse().ok()?,
        rule: value(rest, "rule=")?.to_owned(),
        probes: value(rest, "probes=")?.parse().ok()?,
        group_cpus: value(rest, "group_cpus=")?.parse().ok()?,
        pull: None,
        steps: Vec::new(),
    })))
}

fn parse_attempt(fields: &str) -> Option<OwnRecord> {
    let word = |key| value(fields, key).map(str::to_owned);
    let number = |key| value(fields, key)?.parse::<u64>().ok();
    let cpu = |key| value(fields, key)?.parse::<u32>().ok();
    let moved = number("moved=")?;
    number("active=")?;
    let pull = Pull {
        kind: word("kind=").filter(|kind| ["busy", "idle", "newidle", "active"].contains(&kind.as_str()))?,
        level: word("level=")?,
        dst: cpu("dst_cpu=")?,
        unit: word("unit=")?,
        amount: number("amount=")?,
        moved,
    };
    Some(OwnRecord::Attempt(Attempt { src: cpu("src_cpu=")?, rule: word("rule=")?, pull, left: moved }))
}

fn parse_why(fields: &str) -> Option<OwnRecord> {
    let (fields, text) = fields.split_once(" text=")?;
    let number = |key| value(fields, key)?.parse().ok();
    let rule = Some(value(fields, "rule=")?).filter(|rule| *rule != "-");
    let cpu = Some(value(fields, "cpu=")?).filter(|cpu| *cpu != "-1");
    let step = Step {
        rule: rule.map(str::to_owned),
        note: value(fields, "note=")?.parse().ok()?,
        cpu: cpu.map(str::parse).transpose().ok()?,
        numbers: [number("a=")?, number("b=")?, number("c=")?],
        text: text.to_owned(),
    };
    Some(OwnRecord::Why(value(fields, "pid=")?.parse().ok()?, step))
}

fn rule(fields: &str) -> Option<OwnRecord> {
    let (name, rest) = fields.strip_prefix("name=")?.split_once(" function=")?;
    let (function, rest) = rest.split_once(" label=")?;
    let (label, text) = rest.split_once(" text=")?;
    Some(OwnRecord::Rule(Rule { name, function, label, text }.into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::explain::{in_short, in_words};
    use crate::text::tests::damaged;
    use crate::Reader;

    const HEAD: &str = "\
<idle>-0 [000] 0.0: print: tracing_mark_write: fairground_meta: machine=my board.toml
<idle>-0 [000] 0.0: print: tracing_mark_write: fairground_rule: name=A2 function=select_idle_sibling label=previous CPU text=it is idle
<idle>-0 [000] 0.0: print: tracing_mark_write: fairground_note: partition: 0-3
<idle>-0 [000] 0.0: print: tracing_mark_write: fairground_mark: comm=x pid=1 prio=120 mark=Op
";

    fn read(text: impl AsRef<[u8]>) -> Result<(Vec<Placement>, Head), TraceError> {
        let mut placements = Placements::new(Reader::new("t", text.as_ref()));
        let mut all = Vec::new();
        while let Some(placement) = placements.next_placement()? {
            all.push(placement);
        }
        Ok((all, placements.head().clone()))
    }

    /// A wakeup that the waker's CPU began, decided where the sleeper was still being switched away: the waker counts.
    #[test]
    fn a_placement_has_its_waker_and_its_steps() {
        let text = format!(
            "{HEAD}\
my writer-8 [004] 1.5: sched_waking: comm=a reader pid=7 prio=120 target_cpu=005
a reader-7 [005] 1.5: print: tracing_mark_write: fairground_why: pid=7 rule=- note=9 cpu=-1 a=0 b=0 c=0 text=sync
a reader-7 [005] 1.5: print: tracing_mark_write: fairground_why: pid=7 rule=A2 note=2 cpu=5 a=12 b=462 c=0 text=CPU 5 fits: 12 text=1
a reader-7 [005] 1.5: print: tracing_mark_write: fairground_decision: kind=wake comm=a reader pid=7 prio=120 prev_cpu=5 cpu=6 rule=A2 probes=2 group_cpus=0
a reader-7 [005] 1.6: print: tracing_mark_write: fairground_decision: kind=fork comm=child pid=9 prio=120 prev_cpu=5 cpu=5 rule=fork-local probes=0 group_cpus=12
"
        );
        let (all, head) = read(&text).unwrap();
        let task = |comm: &str, pid| Task { comm: comm.into(), pid };
        let step = |rule: Option<&str>, note, cpu, a, b, text: &str| Step {
            rule: rule.map(str::to_owned),
            note,
            cpu,
            numbers: [a, b, 0],
            text: text.into(),
        };
        let wakeup = Placement {
            time: 1_500_000_000,
            cause: Cause::Wake,
            task: task("a reader", 7),
            on_cpu: 4,
            by: task("my writer", 8),
            prev: 5,
            chosen: 6,
            rule: "A2".into(),
            probes: 2,
            group_cpus: 0,
            pull: None,
            steps: vec![
                step(None, 9, None, 0, 0, "sync"),
                step(Some("A2"), 2, Some(5), 12, 462, "CPU 5 fits: 12 text=1"),
            ],
        };
        let fork = Placement {
            time: 1_600_000_000,
            cause: Cause::Fork,
            task: task("child", 9),
            on_cpu: 5,
            by: task("a reader", 7),
            chosen: 5,
            rule: "fork-local".into(),
            probes: 0,
            group_cpus: 12,
            steps: vec![],
            ..wakeup.clone()
        };
        assert_eq!(all, [wakeup, fork]);
        assert_eq!(head.meta, [("machine".to_owned(), "my board.toml".to_owned())]);
        assert_eq!(head.rule("A2").title(), "select_idle_sibling: previous CPU (A2)");
        assert_eq!((head.rule("A2").text, head.rule("A3")), ("it is idle", Rule::named("A3")));
        assert_eq!((head.notes.as_slice(), head.why), (&["partition: 0-3".to_owned()][..], true));
    }

    const SAMPLE: &str = "\
w-8 [004] 1.5: sched_waking: comm=a pid=7 prio=120 target_cpu=005
w-8 [004] 1.5: print: tracing_mark_write: fairground_rule: name=A2 function=f label=l text=x
w-8 [004] 1.5: print: tracing_mark_write: fairground_why: pid=7 rule=A2 note=2 cpu=5 a=12 b=462 c=0 text=CPU 5 fits
w-8 [004] 1.5: print: tracing_mark_write: fairground_decision: kind=wake comm=a pid=7 prio=120 prev_cpu=5 cpu=6 rule=A2 probes=2 group_cpus=1
";

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_damage_is_explained_or_refused(bytes in damaged(SAMPLE)) {
            if let Ok((placements, head)) = read(bytes) {
                placements.iter().for_each(|p| drop((in_words(p, &head), in_short(p, &head))));
            }
        }
    }

    /// The wakeup of a runnable task is not a placement. Neither its waker nor the reasons of another placement belong
    /// to the exec that follows.
    #[test]
    fn a_placement_has_nothing_of_others() {
        let text = "\
w-8 [002] 1.0: sched_waking: comm=a pid=7 prio=120 target_cpu=005
a-7 [005] 1.5: print: tracing_mark_write: fairground_why: pid=9 rule=- note=9 cpu=-1 a=0 b=0 c=0 text=sync
a-7 [005] 1.5: print: tracing_mark_write: fairground_decision: kind=exec comm=a pid=7 prio=120 prev_cpu=5 cpu=6 rule=x probes=0 group_cpus=4
";
        let (all, _) = read(text).unwrap();
        assert_eq!((all[0].on_cpu, all[0].by.pid, all[0].steps.len()), (5, 7, 0));
    }

    /// A wakeup elsewhere is identified by its decision; of two tasks that leave the source in the same instant the
    /// attempt moved one.
    #[test]
    fn a_pull_is_a_placement_by_its_attempt() {
        let balance = "print: tracing_mark_write: fairground_balance: kind=newidle level=PKG src_cpu=3 dst_cpu=0";
        let migrate = |pid: u32| format!("<idle>-0 [000] 1.0: sched_migrate_task: comm=a b pid={pid} prio=120");
        let text = format!(
            "{}<idle>-0 [000] 1.0: {balance} unit=task amount=2 rule=sibling moved=1 active=0\n{} orig_cpu=3 dest_cpu=0\n\
             {} orig_cpu=3 dest_cpu=0\n{} orig_cpu=3 dest_cpu=0\n",
            "w-8 [000] 1.0: print: tracing_mark_write: fairground_decision: kind=wake comm=a pid=5 prio=120 prev_cpu=3 \
             cpu=0 rule=A2 probes=1 group_cpus=0\n",
            migrate(5),
            migrate(7),
            migrate(9),
        );
        let (all, _) = read(&text).unwrap();
        let mut trace = Placements::new(Reader::new("t", text.as_bytes()));
        while trace.next_placement().unwrap().is_some() {}
        let moves: Vec<_> = trace.moves().iter().map(|(m, n)| (m.cause, m.from, m.to, *n)).collect();
        assert_eq!(moves, [(None, 3, 0, 1), (Some(Cause::Wake), 3, 0, 1), (Some(Cause::NewIdle), 3, 0, 1)]);
        let short: Vec<_> = all.iter().map(|p| (p.cause, p.task.pid, p.prev, p.chosen, p.rule.as_str())).collect();
        assert_eq!(short, [(Cause::Wake, 5, 3, 0, "A2"), (Cause::NewIdle, 7, 3, 0, "sibling")]);
        let pull = all[1].pull.clone().unwrap();
        assert_eq!(
            (pull.level.as_str(), pull.dst, pull.unit.as_str(), pull.amount, pull.moved),
            ("PKG", 0, "task", 2, 1)
        );
    }

    #[test]
    fn a_broken_line_of_ours_is_refused() {
        let message = |line: &str| {
            read(format!("{HEAD}x-1 [0] 1.0: print: tracing_mark_write: fairground_{line}\n")).unwrap_err().to_string()
        };
        assert!(message("decision: kind=wake comm=a pid=x").starts_with("t:5: expected fairground_decision with"));
        let other_kind = "decision: kind=nap comm=a pid=1 prio=120 prev_cpu=0 cpu=0 rule=A2 probes=0 group_cpus=0";
        assert!(message(other_kind).contains("expected fairground_decision"));
        assert!(message("why: pid=1 rule=- note=70000 cpu=0 a=0 b=0 c=0 text=x").contains("expected fairground_why"));
        let balance =
            |kind| format!("balance: kind={kind} level=MC src_cpu=1 dst_cpu=0 unit=load amount=1 rule=x moved=1");
        assert!(message(&balance("idle")).contains("expected fairground_balance"), "no active");
        assert!(message(&(balance("nap") + " active=0")).contains("expected fairground_balance"));
        assert!(message("rule: A2").contains("expected fairground_rule"));
        assert!(message("meta: machine").contains("expected fairground_meta"));
    }
}

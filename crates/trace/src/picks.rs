//! The picks of one of our traces: why fair tasks run, wait, or leave the CPU; from `fairground_pick` lines.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::explain::seconds;
use crate::note::Note;
use crate::placements::{Head, OwnRecord, Task};
use crate::text::{named, value, TraceError, TraceEventKind};
use crate::EventSource;

/// A fair task on its run queue, ns of virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnQueue {
    /// What the queue's average vruntime (CFS: min_vruntime) exceeds the task's by; not negative: it is eligible.
    pub lag: i64,
    /// From the queue's average vruntime to the task's deadline; CFS: 0.
    pub deadline: i64,
    /// How long the task is still protected (RUN_TO_PARITY); 0: it is not.
    pub protection: i64,
}

/// Why a fair task runs, waits, or leaves the CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    /// Time, ns.
    pub time: u64,
    /// `pick`: it was picked; `wakeup`: it was tested against the current task; `slice`: it has to leave the CPU.
    pub kind: String,
    /// The task.
    pub task: Task,
    /// CPU of the run queue.
    pub cpu: u32,
    /// Name of the rule.
    pub rule: String,
    /// Number of fair tasks on the run queue.
    pub queued: u32,
    /// The task on its queue.
    pub state: OnQueue,
    /// The current task, if it is another one that is still runnable.
    pub current: Option<(Task, OnQueue)>,
}

/// Reads the picks of a trace one by one.
pub struct Picks<S> {
    source: S,
    head: Head,
}

impl<S: EventSource> Picks<S> {
    /// Reads a trace from its first event.
    pub fn new(source: S) -> Picks<S> {
        Picks { source, head: Head::default() }
    }

    /// The head of the trace as far as it has been read.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Notes on the trace and its run; complete at the end of the trace.
    pub fn notes(&self) -> Vec<Note> {
        self.head.notes_with(self.source.notes())
    }

    /// The next pick; `None` at the end.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn next_pick(&mut self) -> Result<Option<Pick>, TraceError> {
        while let Some(event) = self.source.next_event()? {
            let TraceEventKind::Print(text) = event.what else { continue };
            let time = event.time;
            if let Some(fields) = text.strip_prefix("fairground_pick: ") {
                let Some(pick) = parse(fields) else { return Err(self.source.unexpected(EXPECTED)) };
                return Ok(Some(Pick { time, ..pick }));
            }
            match crate::placements::parse_own_record(text) {
                Ok(OwnRecord::Meta(key, value)) => self.head.meta.push((key, value)),
                Ok(OwnRecord::Rule(rule)) => drop(self.head.rules.insert(rule.name.clone(), rule)),
                Ok(OwnRecord::Note(note)) => self.head.notes.push(note),
                Ok(_) => {}
                Err(expected) => return Err(self.source.unexpected(expected)),
            }
        }
        Ok(None)
    }
}

pub(crate) const EXPECTED: &str =
    "fairground_pick with kind, comm, pid, cpu, rule, queued, lag, deadline, protection, curr_comm, \
                        curr_pid, curr_lag, curr_deadline, curr_protection";

pub(crate) fn parse(fields: &str) -> Option<Pick> {
    let (kind, fields) = fields.strip_prefix("kind=")?.split_once(' ')?;
    let kind = Some(kind).filter(|kind| ["pick", "wakeup", "slice"].contains(kind))?;
    // A thread may be named like a field: its own comes first, the last one of the current task counts.
    let (own, current) = fields.rsplit_once(" curr_comm=")?;
    let (task, own) = named(own.strip_prefix("comm=")?, " pid=")?;
    let (curr, current) = named(current, " curr_pid=")?;
    let on_queue = |text: &str, keys: [&str; 3]| {
        let number = |key| value(text, key)?.parse::<i64>().ok();
        Some(OnQueue { lag: number(keys[0])?, deadline: number(keys[1])?, protection: number(keys[2])? })
    };
    let curr_state = on_queue(current, ["curr_lag=", "curr_deadline=", "curr_protection="])?;
    Some(Pick {
        time: 0,
        kind: kind.into(),
        task: task.into(),
        cpu: value(own, "cpu=")?.parse().ok()?,
        rule: value(own, "rule=")?.into(),
        queued: value(own, "queued=")?.parse().ok()?,
        state: on_queue(own, ["lag=", "deadline=", "protection="])?,
        current: (curr.pid != 0).then(|| (curr.into(), curr_state)),
    })
}

impl Pick {
    /// Whether a woken task preempts by this rule; of other kinds always true.
    pub fn happens(&self) -> bool {
        self.kind != "wakeup" || self.rule.starts_with("preempt-")
    }
}

impl Pick {
    /// What was decided about the task: `a-7`, `a-7 preempts`, `a-7 waits`, `a-7 has to leave`.
    pub fn verdict(&self) -> String {
        match self.kind.as_str() {
            "pick" => self.task.to_string(),
            "slice" => format!("{} has to leave", self.task),
            _ if self.happens() => format!("{} preempts", self.task),
            _ => format!("{} waits", self.task),
        }
    }
}

/// `12.5 us`.
fn micros(ns: i64) -> String {
    format!("{:.3} us", ns as f64 / 1000.0)
}

fn state_words(state: &OnQueue) -> String {
    let eligible = if state.lag >= 0 { "eligible" } else { "not eligible" };
    let protected = match state.protection {
        0 => String::new(),
        left => format!(", protected for {}", micros(left)),
    };
    format!("lag {} ({eligible}), deadline in {}{protected}", micros(state.lag), micros(state.deadline))
}

fn what(p: &Pick) -> String {
    match p.kind.as_str() {
        "pick" => format!("{} picked on CPU {}", p.task, p.cpu),
        "slice" => format!("{} has to leave CPU {}", p.task, p.cpu),
        _ if p.happens() => format!("{} preempts on CPU {}", p.task, p.cpu),
        _ => format!("{} waits on CPU {}", p.task, p.cpu),
    }
}

/// A pick in full, on several lines.
pub fn in_words(p: &Pick, head: &Head) -> String {
    let rule = head.rule(&p.rule);
    let queued = format!("{} fair task{} queued", p.queued, if p.queued == 1 { "" } else { "s" });
    let mut out = format!("{}  {}, {queued}\n", seconds(p.time), what(p));
    let _ = writeln!(out, "  {}: {}", p.task, state_words(&p.state));
    if let Some((task, state)) = &p.current {
        let _ = writeln!(out, "  {task}, current: {}", state_words(state));
    }
    let by = crate::explain::by(head, &p.rule);
    let _ = writeln!(out, "{by} {}", rule.title());
    if !rule.text.is_empty() {
        let _ = writeln!(out, "  {}", rule.text);
    }
    out
}

/// A pick on one line.
pub fn in_short(p: &Pick, head: &Head) -> String {
    let other = p.current.as_ref().map_or(String::new(), |(task, _)| format!(", current {task}"));
    format!("{}  {:<7} {}{other}: {}", seconds(p.time), p.kind, what(p), head.rule(&p.rule).title())
}

/// Counts of rules by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PickCounts(BTreeMap<(String, String), u64>);

impl PickCounts {
    /// Counts a pick.
    pub fn add(&mut self, pick: &Pick) {
        *self.0.entry((pick.kind.clone(), pick.rule.clone())).or_default() += 1;
    }

    /// Number of those counted.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Kind, rule and number; kinds by name, of each the most frequent rule first.
    pub fn rows(&self) -> Vec<(&str, &str, u64)> {
        let mut rows: Vec<_> = self.0.iter().map(|((kind, rule), n)| (kind.as_str(), rule.as_str(), *n)).collect();
        rows.sort_by_key(|(kind, _, n)| (kind.to_string(), std::cmp::Reverse(*n)));
        rows
    }
}

/// A pick as far as two traces are compared by it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Short {
    task: Task,
    rule: usize,
    happens: bool,
}

/// The picks of a trace, for [`PickDiff`].
#[derive(Default)]
pub struct PickSide {
    /// By kind and place: the indices of its picks, in order. A pick is of its CPU, a test of a wakeup of its task.
    nth: BTreeMap<(String, String), Vec<usize>>,
    all: Vec<Short>,
    rules: Vec<String>,
    /// Counts of rules.
    pub counts: PickCounts,
    /// The head of the trace.
    pub head: Head,
}

impl PickSide {
    /// Reads a trace to its end.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn read<S: EventSource>(mut picks: Picks<S>) -> Result<PickSide, TraceError> {
        let mut side = PickSide::default();
        while let Some(pick) = picks.next_pick()? {
            side.counts.add(&pick);
            let place = if pick.kind == "pick" { format!("{}", pick.cpu) } else { pick.task.to_string() };
            side.nth.entry((pick.kind.clone(), place)).or_default().push(side.all.len());
            let known = side.rules.iter().position(|rule| *rule == pick.rule);
            let rule = known.unwrap_or_else(|| {
                side.rules.push(pick.rule.clone());
                side.rules.len() - 1
            });
            let happens = pick.happens();
            side.all.push(Short { task: pick.task, rule, happens });
        }
        side.head = picks.head().clone();
        Ok(side)
    }
}

/// How the picks of two traces differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PickDiff {
    /// Pairs: the n-th pick of a CPU in each trace, the n-th test of a woken task.
    pub pairs: u64,
    /// Pairs that pick the same task, or preempt or not in both.
    pub agree: u64,
    /// Pairs before the first that differs, in the order of the base.
    pub agree_before: u64,
    /// The first pair that differs: indices in the base and in the test, from 0.
    pub first: Option<(usize, usize)>,
    /// Kind, rule, and their number in the base and in the test.
    pub shifts: Vec<(String, String, u64, u64)>,
}

impl PickDiff {
    /// Pairs the picks of both traces and compares them.
    pub fn new(base: &PickSide, test: &PickSide) -> PickDiff {
        let none = Vec::new();
        let compared = base.nth.iter().filter(|((kind, _), _)| kind != "slice");
        let turns = compared.map(|(key, turns)| (turns, test.nth.get(key).unwrap_or(&none)));
        let mut pairs: Vec<_> = turns.flat_map(|(b, t)| b.iter().copied().zip(t.iter().copied())).collect();
        pairs.sort_unstable();
        let mut diff = PickDiff::default();
        for (in_base, in_test) in pairs {
            let (b, t) = (&base.all[in_base], &test.all[in_test]);
            diff.pairs += 1;
            if b.task == t.task && b.happens == t.happens {
                diff.agree += 1;
                diff.agree_before += u64::from(diff.first.is_none());
            } else if diff.first.is_none() {
                diff.first = Some((in_base, in_test));
            }
        }
        let mut all: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
        for (kind, rule, n) in base.counts.rows() {
            all.entry((kind, rule)).or_default().0 = n;
        }
        for (kind, rule, n) in test.counts.rows() {
            all.entry((kind, rule)).or_default().1 = n;
        }
        let row = |((kind, rule), (base, test)): ((&str, &str), (u64, u64))| (kind.into(), rule.into(), base, test);
        diff.shifts = all.into_iter().map(row).collect();
        diff
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    const HEAD: &str = "\
<idle>-0 [000] 0.0: print: tracing_mark_write: fairground_rule: name=buddy function=pick_next_entity label=next buddy text=it is eligible
";

    fn line(kind: &str, task: &str, rule: &str, curr: &str) -> String {
        format!(
            "x-1 [002] 1.5: print: tracing_mark_write: fairground_pick: kind={kind} comm={task} pid=7 prio=120 cpu=2 \
             rule={rule} queued=3 lag=-1500 deadline=2000000 protection=0 {curr}\n"
        )
    }

    const CURR: &str = "curr_comm=my task curr_pid=8 curr_lag=500 curr_deadline=-4 curr_protection=1000";
    const NOBODY: &str = "curr_comm=- curr_pid=0 curr_lag=0 curr_deadline=0 curr_protection=0";

    fn picks(text: &str) -> Vec<Pick> {
        let mut picks = Picks::new(Reader::new("t", text.as_bytes()));
        let mut all = Vec::new();
        while let Some(pick) = picks.next_pick().unwrap() {
            all.push(pick);
        }
        all
    }

    #[test]
    fn a_pick_is_told_with_both_tasks_as_their_queue_sees_them() {
        let text = HEAD.to_owned() + &line("pick", "curr_comm=a b", "buddy", CURR);
        let mut reader = Picks::new(Reader::new("t", text.as_bytes()));
        let pick = reader.next_pick().unwrap().unwrap();
        assert_eq!((pick.task.comm.as_str(), pick.queued, pick.state.lag), ("curr_comm=a b", 3, -1500));
        let expected = "\
1.500000000  curr_comm=a b-7 picked on CPU 2, 3 fair tasks queued
  curr_comm=a b-7: lag -1.500 us (not eligible), deadline in 2000.000 us
  my task-8, current: lag 0.500 us (eligible), deadline in -0.004 us, protected for 1.000 us
by pick_next_entity: next buddy (buddy)
  it is eligible
";
        assert_eq!(in_words(&pick, reader.head()), expected);
        assert_eq!(picks(&line("pick", "a", "only", NOBODY))[0].current, None);
    }

    #[test]
    fn a_line_that_is_cut_is_refused() {
        let cut = line("pick", "a", "only", "curr_comm=- curr_pid=0 curr_lag=0");
        let error = Picks::new(Reader::new("t", cut.as_bytes())).next_pick().unwrap_err().to_string();
        assert!(error.contains("expected fairground_pick with kind"), "{error}");
    }

    #[test]
    fn picks_are_paired_by_cpu_and_tests_by_task() {
        let side = |lines: &[String]| PickSide::read(Picks::new(Reader::new("t", lines.concat().as_bytes()))).unwrap();
        let base = [
            line("wakeup", "a", "wake-protected", CURR),
            line("pick", "b", "protected", NOBODY),
            line("pick", "a", "earliest", NOBODY),
            line("slice", "a", "slice", NOBODY),
        ];
        let test = [
            line("wakeup", "a", "wake-deadline", CURR),
            line("pick", "a", "buddy", NOBODY),
            line("pick", "a", "earliest", NOBODY),
        ];
        let diff = PickDiff::new(&side(&base), &side(&test));
        assert_eq!((diff.pairs, diff.agree, diff.agree_before, diff.first), (3, 2, 1, Some((1, 1))));
        let shift = |kind: &str, rule: &str, base, test| (kind.to_owned(), rule.to_owned(), base, test);
        assert!(diff.shifts.contains(&shift("pick", "buddy", 0, 1)), "{:?}", diff.shifts);
        assert!(diff.shifts.contains(&shift("slice", "slice", 1, 0)), "{:?}", diff.shifts);
        let same = PickDiff::new(&side(&base), &side(&base));
        assert_eq!((same.pairs, same.agree, same.first), (3, 3, None));
    }
}

//! Values that decisions have changed and that later decisions read, from `fairground_left` lines, and where two traces
//! first differ in them.
//!
//! Two runs of the same workload and seed are the same run until something differs. So the first value that the one
//! leaves otherwise than the other is where they part, and what a change of the scheduler does before any task moves.

use std::fmt::{self, Write};

use crate::explain::seconds;
use crate::placements::Task;
use crate::text::{named, value, TraceError, TraceEventKind};
use crate::EventSource;

/// A value that a decision has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Time, ns.
    pub time: u64,
    /// The kernel's function that has changed it.
    pub function: String,
    /// Name of the value.
    pub value: String,
    /// What it belongs to.
    pub of: Owner,
    /// The value before the decision, in its own unit.
    pub before: i64,
    /// The value after the decision.
    pub after: i64,
}

/// What a value belongs to: a task, a CPU, or a domain of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// `None` for values of CPUs, domains and the system.
    pub task: Option<Task>,
    /// `None` for values of tasks and the system.
    pub cpu: Option<u32>,
    /// Number of the domain among those of the CPU, 0 is the smallest; `None` for values of anything else.
    pub domain: Option<u32>,
}

impl Left {
    /// Whether the other is the same value of the same decision.
    fn is_same_value(&self, other: &Left) -> bool {
        (self.time, &self.function, &self.value, &self.of) == (other.time, &other.function, &other.value, &other.of)
    }

    /// `update_idle_cpu_scan: nr_idle_scan of CPU 0`.
    pub fn name(&self) -> String {
        let Owner { task, cpu, domain } = &self.of;
        let of = match (task, cpu, domain) {
            (Some(task), ..) => task.to_string(),
            (None, Some(cpu), Some(domain)) => format!("CPU {cpu}, domain {domain}"),
            (None, Some(cpu), None) => format!("CPU {cpu}"),
            (None, None, _) => "the system".into(),
        };
        format!("{}: {} of {of}", self.function, self.value)
    }
}

/// Reads these values one by one.
pub struct LeftValues<S> {
    source: S,
}

pub(crate) const EXPECTED: &str = "fairground_left with comm, pid, cpu, domain, function, before, after, value";

impl<S: EventSource> LeftValues<S> {
    /// Reads a trace from its first event.
    pub fn new(source: S) -> LeftValues<S> {
        LeftValues { source }
    }

    /// The next value; `None` at the end.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn next_left(&mut self) -> Result<Option<Left>, TraceError> {
        while let Some(event) = self.source.next_event()? {
            let TraceEventKind::Print(text) = event.what else { continue };
            let time = event.time;
            let Some(fields) = text.strip_prefix("fairground_left: ") else { continue };
            let Some(left) = parse(fields, time) else { return Err(self.source.unexpected(EXPECTED)) };
            return Ok(Some(left));
        }
        Ok(None)
    }
}

pub(crate) fn parse(fields: &str, time: u64) -> Option<Left> {
    // Names of values have spaces, so that field is the last.
    let (fields, name) = fields.rsplit_once(" value=")?;
    let (task, fields) = named(fields.strip_prefix("comm=")?, " pid=")?;
    let number = |key| value(fields, key)?.parse::<i64>().ok();
    // -1: of none.
    let (cpu, domain) = (number("cpu=")?, number("domain=")?);
    Some(Left {
        time,
        function: value(fields, "function=")?.into(),
        value: name.into(),
        of: Owner {
            task: (task.pid != 0).then(|| task.into()),
            cpu: u32::try_from(cpu).ok(),
            domain: u32::try_from(domain).ok(),
        },
        before: number("before=")?,
        after: number("after=")?,
    })
}

/// A value that two traces leave otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferentValue {
    /// Both change the value, to another one.
    Both(Left, Left),
    /// Only the base changes this value there.
    OnlyBase(Left),
    /// Only the test changes this value there.
    OnlyTest(Left),
}

impl DifferentValue {
    /// From the changes by the base and by the test; `None` if neither changes it.
    pub fn of_sides(base: Option<Left>, test: Option<Left>) -> Option<DifferentValue> {
        match (base, test) {
            (Some(base), Some(test)) => Some(DifferentValue::Both(base, test)),
            (Some(base), None) => Some(DifferentValue::OnlyBase(base)),
            (None, Some(test)) => Some(DifferentValue::OnlyTest(test)),
            (None, None) => None,
        }
    }

    /// The value that differs, with the change by the base or, if the base does not change it, by the test.
    pub fn change(&self) -> &Left {
        match self {
            DifferentValue::Both(left, _) | DifferentValue::OnlyBase(left) | DifferentValue::OnlyTest(left) => left,
        }
    }

    /// The change by the base; none if it does not change the value there.
    pub fn base(&self) -> Option<&Left> {
        match self {
            DifferentValue::Both(left, _) | DifferentValue::OnlyBase(left) => Some(left),
            DifferentValue::OnlyTest(_) => None,
        }
    }

    /// The change by the test; none if it does not change the value there.
    pub fn test(&self) -> Option<&Left> {
        match self {
            DifferentValue::Both(_, left) | DifferentValue::OnlyTest(left) => Some(left),
            DifferentValue::OnlyBase(_) => None,
        }
    }

    /// Whether both change the value.
    pub fn is_of_both(&self) -> bool {
        matches!(self, DifferentValue::Both(..))
    }
}

/// `check_preempt_wakeup_fair: next of CPU 4: test -1 to 1, base does not change it there`.
impl fmt::Display for DifferentValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes = |left: &Left| format!("{} to {}", left.before, left.after);
        write!(f, "{}: ", self.change().name())?;
        match self {
            DifferentValue::Both(b, t) => write!(f, "base {}, test {}", changes(b), changes(t)),
            DifferentValue::OnlyBase(b) => write!(f, "base {}, test does not change it there", changes(b)),
            DifferentValue::OnlyTest(t) => write!(f, "test {}, base does not change it there", changes(t)),
        }
    }
}

/// Most values that the text shows.
const SHOWN: usize = 8;

/// The values of two traces, compared up to the decision that first leaves one otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftDiff {
    /// Values that are alike, in the order of both traces, before the first that differs.
    pub alike: u64,
    /// The first that differs, and all others that the same function leaves otherwise at that instant; empty if all are
    /// alike.
    pub first: Vec<DifferentValue>,
}

impl LeftDiff {
    /// Compares the values of two traces; `None` if a trace has none.
    ///
    /// # Errors
    /// If a trace cannot be read.
    pub fn compare<S: EventSource>(
        mut base: LeftValues<S>,
        mut test: LeftValues<S>,
    ) -> Result<Option<LeftDiff>, TraceError> {
        let mut diff = LeftDiff::default();
        let (mut b, mut t) = (base.next_left()?, test.next_left()?);
        if b.is_none() || t.is_none() {
            return Ok(None);
        }
        while b.is_some() || t.is_some() {
            if b == t {
                diff.alike += 1;
                (b, t) = (base.next_left()?, test.next_left()?);
                continue;
            }
            let instant = b.iter().chain(&t).map(|left| left.time).min().unwrap_or(0);
            let (in_base, after_base) = at_instant(b, &mut base, instant)?;
            let (in_test, after_test) = at_instant(t, &mut test, instant)?;
            diff.first = different_values(&in_base, &in_test);
            if !diff.first.is_empty() {
                break;
            }
            // The same values in another order.
            diff.alike += in_base.len() as u64;
            (b, t) = (after_base, after_test);
        }
        Ok(Some(diff))
    }

    /// The comparison as lines of text.
    pub fn text(&self) -> String {
        let mut out = format!("values that decisions leave behind: {} alike", self.alike);
        let Some(first) = self.first.first() else { return out + ", none differs\n" };
        let _ = writeln!(out, "; then, at {} s:", seconds(first.change().time));
        for different in self.first.iter().take(SHOWN) {
            let _ = writeln!(out, "  {different}");
        }
        if let Some(more) = self.first.len().checked_sub(SHOWN + 1) {
            let _ = writeln!(out, "  and {} more", more + 1);
        }
        out
    }
}

/// The values of an instant, from `next` on, and the first of a later one.
fn at_instant<S: EventSource>(
    mut next: Option<Left>,
    trace: &mut LeftValues<S>,
    instant: u64,
) -> Result<(Vec<Left>, Option<Left>), TraceError> {
    let mut all = Vec::new();
    while let Some(left) = next.take_if(|left| left.time == instant) {
        all.push(left);
        next = trace.next_left()?;
    }
    Ok((all, next))
}

/// Something of the base and something of the test, at least one of them.
pub type Sides<T> = (Option<T>, Option<T>);

/// What two lists of one instant have otherwise, in their order: pairs of what belongs together, or what only one list
/// has. The n-th item of the base for which `is_same` holds belongs to the n-th of the test.
pub fn unlike<T: Clone>(
    base: &[T],
    test: &[T],
    is_same: impl Fn(&T, &T) -> bool,
    is_alike: impl Fn(&T, &T) -> bool,
) -> Vec<Sides<T>> {
    let mut taken = vec![false; test.len()];
    let mut found: Vec<(usize, Sides<T>)> = Vec::new();
    for (at, b) in base.iter().enumerate() {
        match (0..test.len()).find(|n| !taken[*n] && is_same(b, &test[*n])) {
            Some(n) => {
                taken[n] = true;
                if !is_alike(b, &test[n]) {
                    found.push((at, (Some(b.clone()), Some(test[n].clone()))));
                }
            }
            None => found.push((at, (Some(b.clone()), None))),
        }
    }
    let only_test = test.iter().enumerate().filter(|(at, _)| !taken[*at]);
    found.extend(only_test.map(|(at, t)| (at, (None, Some(t.clone())))));
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, sides)| sides).collect()
}

/// The values that two lists of an instant have otherwise, of the function that the first such value is of.
fn different_values(base: &[Left], test: &[Left]) -> Vec<DifferentValue> {
    let sides = unlike(base, test, |b, t| b.is_same_value(t), |b, t| b == t);
    let all: Vec<DifferentValue> = sides.into_iter().filter_map(|(b, t)| DifferentValue::of_sides(b, t)).collect();
    let function = all.first().map(|different| different.change().function.clone());
    all.into_iter().filter(|different| Some(&different.change().function) == function.as_ref()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    /// `TIME VALUE BEFORE AFTER` of CPU 2, a line each.
    fn trace(rows: &[&str]) -> String {
        let line = |row: &&str| {
            let mut words = row.split(' ');
            let mut next = || words.next().unwrap();
            let (time, value, before, after) = (next(), next(), next(), next());
            format!(
                "x-1 [002] {time}: print: tracing_mark_write: fairground_left: comm=- pid=0 cpu=2 domain=-1 \
                 function=task_tick_fair before={before} after={after} value=cfs {value}\n"
            )
        };
        rows.iter().map(line).collect()
    }

    fn compared(base: &[&str], test: &[&str]) -> Option<LeftDiff> {
        let (base, test) = (trace(base), trace(test));
        let reader = |text: &'static str| LeftValues::new(Reader::new("t", text.as_bytes()));
        LeftDiff::compare(reader(base.leak()), reader(test.leak())).unwrap()
    }

    fn text(base: &[&str], test: &[&str]) -> String {
        compared(base, test).unwrap().text()
    }

    #[test]
    fn the_first_value_that_differs_is_told_with_both_sides() {
        let told = text(
            &["1.0 a 0 1", "2.0 b 3 4", "2.0 c 0 1", "2.0 d 0 1"],
            &["1.0 a 0 1", "2.0 b 3 5", "2.0 c 0 1", "2.0 d 0 9"],
        );
        let expected = "values that decisions leave behind: 1 alike; then, at 2.000000000 s:\n  \
                        task_tick_fair: cfs b of CPU 2: base 3 to 4, test 3 to 5\n  \
                        task_tick_fair: cfs d of CPU 2: base 0 to 1, test 0 to 9\n";
        assert_eq!(told, expected);
        assert_eq!(text(&["1.0 a 0 1"], &["1.0 a 0 1"]), "values that decisions leave behind: 1 alike, none differs\n");
    }

    #[test]
    fn what_only_one_side_changes_is_told_as_that() {
        let rest = ["2.0 b 3 4", "2.0 c 0 1"];
        let with = ["1.0 a 0 1", "2.0 x 7 8", "2.0 b 3 4", "2.0 c 0 1"];
        let without = ["1.0 a 0 1", rest[0], rest[1]];
        assert!(text(&with, &without).contains("cfs x of CPU 2: base 7 to 8, test does not change it there"));
        assert!(text(&without, &with).contains("cfs x of CPU 2: test 7 to 8, base does not change it there"));
        let late = text(&["1.0 a 0 1", "3.0 b 3 4"], &["1.0 a 0 1", "2.0 b 3 4"]);
        assert!(late.contains("at 2.000000000 s:\n  task_tick_fair: cfs b of CPU 2: test 3 to 4, base"), "{late}");
        assert!(text(&with[..2], &with[..1]).contains("cfs x of CPU 2: base 7 to 8"));
    }

    #[test]
    fn the_order_of_an_instant_does_not_part_two_traces() {
        let base = ["1.0 a 0 1", "2.0 b 0 1", "2.0 c 0 1", "3.0 d 0 1"];
        let told = text(&base, &["1.0 a 0 1", "2.0 c 0 1", "2.0 b 0 1", "3.0 d 0 2"]);
        assert!(told.starts_with("values that decisions leave behind: 3 alike; then, at 3.000000000 s:"), "{told}");
        assert!(told.contains("cfs d of CPU 2: base 0 to 1, test 0 to 2"), "{told}");
    }

    #[test]
    fn nothing_is_said_of_a_trace_without_values() {
        assert_eq!(compared(&[], &["1.0 a 0 1"]), None);
    }

    #[test]
    fn a_value_is_of_a_task_a_cpu_or_a_domain() {
        let name = |of: &str| {
            let fields = format!("{of} function=f before=-5 after=6 value=cfs util_avg");
            let left = parse(&fields, 0).unwrap();
            assert_eq!((left.before, left.after), (-5, 6));
            left.name()
        };
        assert_eq!(name("comm=my value= pid=7 cpu=-1 domain=-1"), "f: cfs util_avg of my value=-7");
        assert_eq!(name("comm=- pid=0 cpu=3 domain=1"), "f: cfs util_avg of CPU 3, domain 1");
        assert_eq!(name("comm=- pid=0 cpu=3 domain=-1"), "f: cfs util_avg of CPU 3");
        let text = "x-1 [002] 1.0: print: tracing_mark_write: fairground_left: comm=- pid=0\n";
        let error = LeftValues::new(Reader::new("t", text.as_bytes())).next_left().unwrap_err().to_string();
        assert!(error.contains("expected fairground_left with comm"), "{error}");
    }
}

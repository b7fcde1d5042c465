//! What is shown, as data.
//!
//! A [`Model`] has one side or two, base before test. A [`Side`] has names and texts as lists, and figures as tables of
//! columns, because there may be millions of them. Times in tables are ns since the side's first event.

use std::ops::Range;

use fairground_sim::Rule;
use fairground_trace::Note;
use serde::Serialize;

/// Name and version of the format.
pub const SCHEMA: &str = "fairground-view-1";

/// What a page shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What it is, in a few words.
    pub title: String,
    /// Where the sides begin, ns since the first event.
    pub from_ns: u64,
    /// Where the longest side ends, ns since the first event.
    pub to_ns: u64,
    /// Number of leading decisions of both sides up to each of which all events were the same: the scheduler of the other
    /// side decided on the same state. 0 with one side.
    pub in_step: usize,
    /// Base, and test if there is one.
    pub sides: Vec<Side>,
}

/// A run or a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Side {
    /// `base`, `test`, `run` or `trace`.
    pub name: String,
    /// Scheduler or file.
    pub label: String,
    /// Time of the first event, ns of its own clock, as decimal digits: it may exceed what JavaScript's numbers hold.
    pub begin_ns: String,
    /// Begin of the part that is shown, ns since the first event.
    pub from_ns: u64,
    /// Its end, the last event or earlier, ns since the first event.
    pub to_ns: u64,
    /// Number of events in it.
    pub events: u64,
    /// Facts about the run, in order: machine, workload, sched, seed.
    pub facts: Vec<(String, String)>,
    /// What is to be known when reading it.
    pub notes: Vec<Note>,
    /// Which kinds of events there are. What is not there is shown as such, and not as nothing.
    pub has: Has,
    /// The CPUs, ascending. `first` of tables by CPU has this order.
    pub cpus: Vec<Cpu>,
    /// Threads by number. One pid with several names is several threads.
    pub threads: Vec<Thread>,
    /// Rules by number.
    pub rules: Vec<RuleText>,
    /// Texts of steps, with U+0001 for each number.
    pub texts: Vec<String>,
    /// Names of the rails.
    pub rails: Vec<String>,
    /// The other scheduler that was asked.
    pub asked: Option<Asked>,
    /// By CPU, what ran: `begin`, `length`, `thread`.
    #[serde(skip)]
    pub runs: Table,
    /// By CPU, idle states: `begin`, `length`, `state`.
    #[serde(skip)]
    pub idles: Table,
    /// By CPU, changes of frequency: `time`, `khz`.
    #[serde(skip)]
    pub clocks: Table,
    /// By CPU, utilization of the run queue (PELT, 1024 is a CPU of full capacity): `time`, `util`.
    #[serde(skip)]
    pub utils: Table,
    /// By CPU, the capacity that cooling leaves it: `time`, `capacity`. Of machines that are known.
    #[serde(skip)]
    pub caps: Table,
    /// By rail, energy between two readings: `begin`, `length`, `pj`.
    #[serde(skip)]
    pub power: Table,
    /// Wakeups, forks, execs and moves by balancing: `time`, `kind` (0 wake, 1 fork, 2 exec, 3 balance, 4 newidle, 5 active),
    /// `thread`, `on` (CPU where it happened), `by` (thread there + 1; 0: idle), `prev` (CPU + 1; 0: not known), `chosen`
    /// (CPU), `rule` (+ 1; 0: the trace names none), `probes`, `group_cpus`, `wait` (until the thread runs, ns + 1; 1: it runs
    /// already; 0: it does not), `steps` (how many of the table `steps`). In the order of `time`: where a wakeup begins.
    #[serde(skip)]
    pub decisions: Table,
    /// Steps that led to decisions, in their order: `rule` (+ 1; 0: none), `cpu` (+ 1; 0: none), `text`.
    #[serde(skip)]
    pub steps: Table,
    /// The numbers in the texts of steps: `value`.
    #[serde(skip)]
    pub numbers: Table,
    /// What the other scheduler would have chosen: `decision`, `chosen`, `rule` (of [`Asked::rules`], + 1), `doubt` (of
    /// [`Asked::doubts`], + 1; 0: sure), `probes`, `possible` (how many of the table of this name), `steps`.
    #[serde(skip)]
    pub answers: Table,
    /// CPUs that an unsure answer may be: `cpu`.
    #[serde(skip)]
    pub possible: Table,
    /// As `steps`, of answers; rules are those of [`Asked::rules`].
    #[serde(skip)]
    pub answer_steps: Table,
    /// As `numbers`, of answers.
    #[serde(skip)]
    pub answer_numbers: Table,
    /// By decision: a hash of all events before it.
    #[serde(skip)]
    pub(crate) so_far: Vec<u64>,
}

/// Which kinds of events a trace has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Has {
    /// sched_switch.
    pub switches: bool,
    /// cpu_idle.
    pub idle: bool,
    /// cpu_frequency.
    pub frequency: bool,
    /// sched_pelt_cfs.
    pub utilization: bool,
    /// Readings of rails.
    pub energy: bool,
    /// Decisions by rule.
    pub decisions: bool,
    /// Reasons of decisions.
    pub reasons: bool,
}

/// A CPU, and what the machine's description says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cpu {
    /// Its number.
    pub cpu: u32,
    /// Name of its type; `None` without a machine, as all that follows.
    pub kind: Option<String>,
    /// Capacity, 1024 for the fastest.
    pub capacity: Option<u32>,
    /// Highest frequency, kHz.
    pub max_khz: Option<u32>,
    /// Names of its idle states by number; empty without a machine.
    pub idle_states: Vec<String>,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Thread {
    /// Its comm, without control characters.
    pub name: String,
    /// Its pid.
    pub pid: u32,
}

/// A rule by which a scheduler decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleText {
    /// Function of the kernel, exit, and id: `select_idle_sibling: previous CPU (A2)`.
    pub title: String,
    /// When it decides; empty if the trace does not say.
    pub text: String,
}

impl From<Rule<'_>> for RuleText {
    fn from(rule: Rule) -> RuleText {
        RuleText { title: crate::texts::plain(&rule.title()), text: crate::texts::plain(rule.text) }
    }
}

/// Another scheduler, which was asked about the state before each wakeup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Its name.
    pub label: String,
    /// Its rules by number.
    pub rules: Vec<RuleText>,
    /// Why answers are not sure, by number.
    pub doubts: Vec<String>,
    /// What is to be known of its answers.
    pub notes: Vec<Note>,
}

/// Columns of numbers, all equally long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Where the rows of each CPU or rail begin, and where the last of them end; empty if the rows are of all.
    pub first: Vec<usize>,
    /// Name, whether differences of rows are stored (of times, which rise), and values.
    pub columns: Vec<(&'static str, bool, Vec<u64>)>,
}

impl Table {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, _, values)| values.len())
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The column of this name; empty if there is none.
    pub fn column(&self, name: &str) -> &[u64] {
        self.columns.iter().find(|(known, ..)| *known == name).map_or(&[], |(_, _, values)| values)
    }

    /// A table without rows.
    pub(crate) fn with_columns(names: &[(&'static str, bool)]) -> Table {
        Table { first: Vec::new(), columns: names.iter().map(|(name, rises)| (*name, *rises, Vec::new())).collect() }
    }

    pub(crate) fn push<const N: usize>(&mut self, row: [u64; N]) {
        self.columns.iter_mut().zip(row).for_each(|((_, _, values), value)| values.push(value));
    }

    /// Appends these rows of another table with the same columns.
    pub(crate) fn append(&mut self, other: &Table, rows: Range<usize>) {
        for ((_, _, values), (_, _, more)) in self.columns.iter_mut().zip(&other.columns) {
            values.extend(&more[rows.clone()]);
        }
    }
}

impl Model {
    /// A model of one side or of two.
    pub fn new(title: &str, sides: Vec<Side>) -> Model {
        let in_step = match sides.as_slice() {
            [base, test] => base.so_far.iter().zip(&test.so_far).take_while(|(b, t)| b == t).count(),
            _ => 0,
        };
        let from_ns = sides.iter().map(|side| side.from_ns).min().unwrap_or(0);
        let to_ns = sides.iter().map(|side| side.to_ns).max().unwrap_or(0);
        Model { schema: SCHEMA, title: crate::texts::plain(title), from_ns, to_ns, in_step, sides }
    }
}

//! Reads the events of a run or trace once, and makes a [`Side`] of them.
//!
//! Lanes, energy and decisions are taken from the same pass: [`Placements`] assembles the decisions of our traces, and sees each
//! event behind [`Tap`], which gives it to the lanes first. A wakeup without a decision of ours is taken from sched_waking and
//! sched_wakeup: where the thread went, and not why.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use fairground_machine::Machine;
use fairground_sim::Rule;
use fairground_trace::energy::Rails;
use fairground_trace::explain::pulled;
use fairground_trace::placements::{Cause, Head, Placement, Placements, Step};
use fairground_trace::{EventSource, Note, TraceError, TraceEvent, TraceEventKind};
use miette::Diagnostic;
use thiserror::Error;

use crate::lanes::{Lanes, Window, CPUS_MAX};
use crate::model::{Asked, Has, RuleText, Side, Table, Thread};
use crate::texts::{plain, Texts};

/// Rows of all tables together: a page of some hundred megabytes.
const ROWS_MAX: usize = 60_000_000;

/// Time since the first event, ns: 104 days, up to which JavaScript's numbers hold every one.
const TIME_MAX: u64 = 1 << 53;

/// What another scheduler would have chosen at a wakeup, in the state before it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The wakeup, with the placement of that scheduler.
    pub placement: Placement,
    /// Why the answer is not sure; `None`: it is.
    pub doubt: Option<String>,
    /// All possible answers.
    pub possible: Vec<u32>,
}

/// A scheduler that is asked about each wakeup of a trace.
pub trait OtherScheduler {
    /// Its name.
    fn label(&self) -> String;

    /// Takes the next event of the trace. With the sched_wakeup that completes a wakeup it returns the answer on it.
    ///
    /// # Errors
    /// Says why it cannot go on.
    fn event(&mut self, event: &TraceEvent) -> Result<Option<Answer>, String>;

    /// Its rule of this name.
    fn rule<'a>(&'a self, name: &'a str) -> Rule<'a>;

    /// What is to be known of its answers, after the last event.
    fn notes(&self) -> Vec<Note>;
}

/// Why a trace cannot be shown.
#[derive(Debug, Error, Diagnostic)]
pub enum ViewError {
    /// The trace cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Trace(#[from] TraceError),
    /// An event that cannot be.
    #[error("{label}: event at {time} ns: {problem}")]
    Event {
        /// Name of the side.
        label: String,
        /// Time of the event, ns.
        time: u64,
        /// What is wrong, and what was expected.
        problem: String,
    },
    /// More than a page can hold.
    #[error("{label} has more than a page can hold: {ROWS_MAX} spans, decisions and steps by {seconds:.3} s")]
    #[diagnostic(help("show less of it with --from and --to"))]
    TooMuch {
        /// Name of the side.
        label: String,
        /// Time since the first event, s.
        seconds: f64,
    },
    /// Nothing in it can be shown.
    #[error("{label} has no event that can be shown")]
    #[diagnostic(help("the lanes are of sched_switch, the decisions of sched_waking and sched_wakeup"))]
    Empty {
        /// Name of the side.
        label: String,
    },
}

/// How to read a side.
pub struct SideReader<'a> {
    name: String,
    label: String,
    machine: Option<&'a Machine>,
    other: Option<Box<dyn OtherScheduler + 'a>>,
    window: Window,
}

impl<'a> SideReader<'a> {
    /// `name` is `base`, `test`, `run` or `trace`; `label` the scheduler or file.
    pub fn new(name: &str, label: &str) -> SideReader<'a> {
        let window = Window { from: 0, to: u64::MAX };
        SideReader { name: name.to_owned(), label: plain(label), machine: None, other: None, window }
    }

    /// The machine of the run, for types, capacities and the names of idle states.
    pub fn on(self, machine: Option<&'a Machine>) -> SideReader<'a> {
        SideReader { machine, ..self }
    }

    /// Asks this scheduler about each wakeup.
    pub fn asking(self, other: Option<Box<dyn OtherScheduler + 'a>>) -> SideReader<'a> {
        SideReader { other, ..self }
    }

    /// Keeps only what happens between these times, ns since the first event.
    pub fn between(self, from: u64, to: u64) -> SideReader<'a> {
        SideReader { window: Window { from, to }, ..self }
    }

    /// Reads a trace to its end.
    ///
    /// # Errors
    /// If the trace cannot be read, has nothing to show, or more than a page can hold.
    pub fn read<S: EventSource>(self, source: S) -> Result<Side, ViewError> {
        let state = Rc::new(RefCell::new(State::new(self)));
        let mut placements = Placements::new(Tap { source, state: Rc::clone(&state) });
        while let Some(placement) = placements.next_placement()? {
            state.borrow_mut().decision(&placement, placements.head());
        }
        let (head, notes) = (placements.head().clone(), placements.notes());
        drop(placements);
        match Rc::try_unwrap(state) {
            Ok(state) => state.into_inner().finish(&head, notes),
            Err(_) => unreachable!("the tap is gone"),
        }
    }
}

/// A source that shows each event to the state too.
struct Tap<'a, S> {
    source: S,
    state: Rc<RefCell<State<'a>>>,
}

impl<S: EventSource> EventSource for Tap<'_, S> {
    fn next_event(&mut self) -> Result<Option<TraceEvent<'_>>, TraceError> {
        let Some(event) = self.source.next_event()? else { return Ok(None) };
        Ok(self.state.borrow_mut().event(&event).then_some(event))
    }

    fn unknown(&self) -> u64 {
        self.source.unknown()
    }

    fn notes(&self) -> Vec<Note> {
        self.source.notes()
    }

    fn unexpected(&self, expected: &str) -> TraceError {
        self.source.unexpected(expected)
    }
}

/// A wakeup that has begun.
struct Waking {
    time: u64,
    on: u32,
    by: u64,
    prev: u32,
}

/// Steps with the numbers of their texts and rules.
struct Steps {
    steps: Table,
    numbers: Table,
    rules: Vec<RuleText>,
    by_name: BTreeMap<String, u64>,
}

impl Steps {
    fn new() -> Steps {
        Steps {
            steps: Table::with_columns(&[("rule", false), ("cpu", false), ("text", false)]),
            numbers: Table::with_columns(&[("value", false)]),
            rules: Vec::new(),
            by_name: BTreeMap::new(),
        }
    }

    /// The number of a rule, + 1.
    fn rule<'a>(&mut self, name: &'a str, find: &dyn Fn(&'a str) -> Rule<'a>) -> u64 {
        if let Some(number) = self.by_name.get(name) {
            // A rule is described before its first use; the text of an earlier one may have come later.
            return *number;
        }
        self.rules.push(find(name).into());
        let number = self.rules.len() as u64;
        self.by_name.insert(name.to_owned(), number);
        number
    }

    /// Adds the steps of a decision.
    fn add<'a>(&mut self, steps: &'a [Step], texts: &mut Texts, find: &dyn Fn(&'a str) -> Rule<'a>) {
        for step in steps {
            let rule = step.rule.as_deref().map_or(0, |rule| self.rule(rule, find));
            self.step(rule, step.cpu, &step.text, texts);
        }
    }

    fn step(&mut self, rule: u64, cpu: Option<u32>, text: &str, texts: &mut Texts) {
        let number = texts.number(text, |value| self.numbers.push([value]));
        self.steps.push([rule, cpu.map_or(0, |cpu| u64::from(cpu) + 1), number]);
    }

    fn rows(&self) -> usize {
        self.steps.len() + self.numbers.len()
    }

    /// The rows so far.
    fn end(&self) -> [usize; 2] {
        [self.steps.len(), self.numbers.len()]
    }

    /// The rows since [`Self::end`].
    fn since(&self, [steps, numbers]: [usize; 2]) -> Rows {
        Rows { steps: steps..self.steps.len(), numbers: numbers..self.numbers.len() }
    }

    /// Puts the rows of one decision after another into this order.
    fn sort<'a>(&mut self, order: impl Iterator<Item = &'a Rows>) {
        let mut sorted = Steps::new();
        for rows in order {
            sorted.steps.append(&self.steps, rows.steps.clone());
            sorted.numbers.append(&self.numbers, rows.numbers.clone());
        }
        [self.steps, self.numbers] = [sorted.steps, sorted.numbers];
    }
}

/// The rows of one decision in [`Steps`].
struct Rows {
    steps: Range<usize>,
    numbers: Range<usize>,
}

/// A decision, until all are put in order.
struct Decided {
    /// As in [`Side::decisions`].
    row: [u64; 12],
    /// Of all events before it.
    so_far: u64,
    steps: Rows,
    answer: Option<Answered>,
}

/// An answer, until all are put in order.
struct Answered {
    /// As in [`Side::answers`], without the number of the decision.
    row: [u64; 6],
    possible: Vec<u32>,
    steps: Rows,
}

/// Hashes all events so far, so that two runs that were alike are known to be.
#[derive(Default)]
struct SoFar(u64);

impl SoFar {
    fn mix(&mut self, parts: &[u64]) {
        for part in parts {
            self.0 = (self.0 ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
    }

    /// Our own lines are left out, and signals, which one of two traces may lack.
    fn event(&mut self, time: u64, event: &TraceEvent) {
        let pid = |thread: fairground_trace::Thread| u64::from(thread.pid);
        let parts = match event.what {
            TraceEventKind::Switch { prev, next, .. } => [1, pid(prev), pid(next)],
            TraceEventKind::Waking { task, cpu } => [2, pid(task), cpu.into()],
            TraceEventKind::Wakeup { task, cpu, .. } => [3, pid(task), cpu.into()],
            TraceEventKind::Migrate { task, to, .. } => [4, pid(task), to.into()],
            TraceEventKind::Fork { parent, child } => [5, pid(parent), pid(child)],
            TraceEventKind::Exec { pid } => [6, pid.into(), 0],
            TraceEventKind::Exit { task } => [7, pid(task), 0],
            TraceEventKind::Idle { cpu, state } => [8, cpu.into(), state.map_or(u64::MAX, u64::from)],
            TraceEventKind::Frequency { cpu, khz } => [9, cpu.into(), khz.into()],
            _ => return,
        };
        self.mix(&[time, event.cpu.into()]);
        self.mix(&parts);
    }
}

/// Which thread runs where, as far as the CPUs have switched.
#[derive(Default)]
struct Running {
    /// Pids by CPU, 0: the idle task.
    on: BTreeMap<u32, u32>,
    /// CPUs by pid.
    cpus: BTreeMap<u32, u32>,
}

impl Running {
    fn switch(&mut self, cpu: u32, next: u32) {
        let before = self.on.insert(cpu, next);
        if let Some(pid) = before.filter(|pid| self.cpus.get(pid) == Some(&cpu)) {
            self.cpus.remove(&pid);
        }
        if next != 0 {
            self.cpus.insert(next, cpu);
        }
    }

    fn has(&self, pid: u32) -> bool {
        self.cpus.contains_key(&pid)
    }
}

/// What has been read.
struct State<'a> {
    reader: SideReader<'a>,
    began: Option<u64>,
    now: u64,
    read: u64,
    /// Those of the window.
    events: u64,
    backwards: u64,
    has: Has,
    lanes: Lanes,
    rails: Rails,
    so_far: SoFar,
    threads: BTreeMap<Thread, u64>,
    texts: Texts,
    /// In the order in which they ended.
    decisions: Vec<Decided>,
    steps: Steps,
    wakings: BTreeMap<u32, Waking>,
    running: Running,
    /// By pid: the decision on it whose thread does not run yet, and its time.
    waiting: BTreeMap<u32, (usize, u64)>,
    /// By pid: the decision of its wakeup that is under way.
    decided: BTreeMap<u32, Option<usize>>,
    /// Number of rows of answers and of what they may be.
    answer_rows: usize,
    answer_steps: Steps,
    doubts: BTreeMap<String, u64>,
    problem: Option<ViewError>,
}

impl<'a> State<'a> {
    fn new(reader: SideReader<'a>) -> State<'a> {
        State {
            began: None,
            now: 0,
            read: 0,
            events: 0,
            backwards: 0,
            has: Has::default(),
            lanes: Lanes::new(reader.window),
            rails: Rails::default(),
            so_far: SoFar::default(),
            threads: BTreeMap::new(),
            texts: Texts::default(),
            decisions: Vec::new(),
            steps: Steps::new(),
            wakings: BTreeMap::new(),
            running: Running::default(),
            waiting: BTreeMap::new(),
            decided: BTreeMap::new(),
            answer_rows: 0,
            answer_steps: Steps::new(),
            doubts: BTreeMap::new(),
            problem: None,
            reader,
        }
    }

    fn thread(&mut self, thread: fairground_trace::Thread) -> u64 {
        thread_number(&mut self.threads, thread)
    }

    /// Takes an event; returns whether to go on.
    fn event(&mut self, event: &TraceEvent) -> bool {
        let began = *self.began.get_or_insert(event.time);
        let time = event.time.saturating_sub(began);
        if time > self.reader.window.to {
            // What is under way lasts to the end of what is shown.
            self.now = self.reader.window.to;
            return false;
        }
        self.backwards += u64::from(time < self.now);
        self.now = self.now.max(time);
        self.read += 1;
        self.events += u64::from(self.reader.window.has(self.now));
        let now = self.now;
        let taken = match now {
            ..=TIME_MAX => self.take(now, event),
            _ => Err(format!("expected at most {TIME_MAX} ns after the first event, found {now}")),
        };
        if let Err(problem) = taken {
            let label = self.reader.label.clone();
            self.problem = Some(ViewError::Event { label, time: event.time, problem });
        } else if self.read % 4096 == 0 && self.rows() > ROWS_MAX {
            let label = self.reader.label.clone();
            self.problem = Some(ViewError::TooMuch { label, seconds: now as f64 / 1e9 });
        }
        self.problem.is_none()
    }

    fn rows(&self) -> usize {
        let tables = self.decisions.len() + self.answer_rows;
        self.lanes.rows() + tables + self.steps.rows() + self.answer_steps.rows()
    }

    fn take(&mut self, time: u64, event: &TraceEvent) -> Result<(), String> {
        let threads = &mut self.threads;
        let taken = self.lanes.take(time, event, &mut |thread| thread_number(threads, thread));
        taken.map_err(|cpu| format!("expected a CPU below {CPUS_MAX}, found {cpu}"))?;
        self.rails.take(event, None).map_err(|expected| format!("expected {expected}"))?;
        match event.what {
            TraceEventKind::Switch { next, .. } => {
                self.has.switches = true;
                self.running.switch(event.cpu, next.pid);
                if let Some((decision, since)) = self.waiting.remove(&next.pid) {
                    self.decisions[decision].row[WAIT] = time.saturating_sub(since) + 1;
                }
            }
            TraceEventKind::Waking { task, cpu } => {
                let by = self.context(event);
                self.wakings.insert(task.pid, Waking { time, on: event.cpu, by, prev: cpu });
                self.decided.remove(&task.pid);
            }
            TraceEventKind::Wakeup { task, cpu, new } => {
                self.wakeup(time, event, task, cpu, new);
                if event.context.pid == task.pid || self.running.has(task.pid) {
                    self.waits_not(task.pid);
                }
            }
            // The pid may come again.
            TraceEventKind::Exit { task } => {
                self.wakings.remove(&task.pid);
                self.waiting.remove(&task.pid);
                self.decided.remove(&task.pid);
            }
            TraceEventKind::Idle { .. } => self.has.idle = true,
            TraceEventKind::Frequency { .. } => self.has.frequency = true,
            TraceEventKind::Signals { task: None, .. } => self.has.utilization = true,
            _ => {}
        }
        self.ask(event)?;
        if let TraceEventKind::Wakeup { task, .. } = event.what {
            self.decided.remove(&task.pid);
        }
        self.so_far.event(time, event);
        Ok(())
    }

    /// A thread that was placed runs already.
    fn waits_not(&mut self, pid: u32) {
        if let Some((decision, _)) = self.waiting.remove(&pid) {
            self.decisions[decision].row[WAIT] = 1;
        }
    }

    /// The thread in whose context an event is, + 1; 0: the idle task.
    fn context(&mut self, event: &TraceEvent) -> u64 {
        match event.context.pid {
            0 => 0,
            _ => self.thread(event.context) + 1,
        }
    }

    /// A wakeup of which the trace says no decision.
    fn wakeup(&mut self, time: u64, event: &TraceEvent, task: fairground_trace::Thread, cpu: u32, new: bool) {
        let waking = self.wakings.remove(&task.pid);
        if self.decided.contains_key(&task.pid) {
            return;
        }
        let (kind, thread) = (u64::from(new), self.thread(task));
        let by = self.context(event);
        let at = waking.map_or((time, event.cpu, by, 0), |w| (w.time, w.on, w.by, u64::from(w.prev) + 1));
        let (began, on, by, prev) = at;
        let row = [began, kind, thread, on.into(), by, prev, cpu.into(), 0, 0, 0, 0, 0];
        self.push_decision(task.pid, row, self.steps.since(self.steps.end()));
    }

    /// Adds a decision, if it is to be shown.
    fn push_decision(&mut self, pid: u32, row: [u64; 12], steps: Rows) {
        let number = self.reader.window.has(row[0]).then_some(self.decisions.len());
        if let Some(number) = number {
            self.decisions.push(Decided { row, so_far: self.so_far.0, steps, answer: None });
            self.waiting.insert(pid, (number, row[0]));
        }
        self.decided.insert(pid, number);
    }

    /// A decision of our traces.
    fn decision(&mut self, placement: &Placement, head: &Head) {
        let Some(began) = self.began else { return };
        let time = placement.time.saturating_sub(began);
        let thread = self.thread(fairground_trace::Thread { comm: &placement.task.comm, pid: placement.task.pid });
        let by = match placement.by.pid {
            0 => 0,
            pid => self.thread(fairground_trace::Thread { comm: &placement.by.comm, pid }) + 1,
        };
        self.has.decisions = true;
        let is_shown = self.reader.window.has(time);
        let find = |name| head.rule(name);
        let rule = self.steps.rule(&placement.rule, &find);
        let end = self.steps.end();
        if is_shown {
            if placement.pull.is_some() {
                self.steps.step(0, None, &pulled(placement), &mut self.texts);
            }
            self.steps.add(&placement.steps, &mut self.texts, &find);
        }
        let steps = self.steps.since(end);
        let kind = placement.cause as u64;
        let (prev, chosen) = (u64::from(placement.prev) + 1, u64::from(placement.chosen));
        let [on, probes, group_cpus] = [placement.on_cpu.into(), placement.probes, placement.group_cpus];
        let pid = placement.task.pid;
        let waits = self.waiting.get(&pid).copied();
        let row = [time, kind, thread, on, by, prev, chosen, rule, probes, group_cpus, 0, steps.steps.len() as u64];
        self.push_decision(pid, row, steps);
        if placement.cause == Cause::Exec && placement.chosen == placement.on_cpu {
            self.waits_not(pid);
        }
        if placement.pull.is_some() {
            // A task that balancing moves has waited since it woke; its move is no wakeup.
            self.decided.remove(&pid);
            match waits {
                Some(waits) => self.waiting.insert(pid, waits),
                None => self.waiting.remove(&pid),
            };
        }
    }

    /// Shows an event to the other scheduler, and keeps its answer.
    fn ask(&mut self, event: &TraceEvent) -> Result<(), String> {
        let Some(other) = &mut self.reader.other else { return Ok(()) };
        let Some(answer) = other.event(event)? else { return Ok(()) };
        let Answer { placement, doubt, possible } = answer;
        let Some(Some(decision)) = self.decided.get(&placement.task.pid).copied() else { return Ok(()) };
        if self.decisions[decision].answer.is_some() {
            return Ok(());
        }
        let find = |name| other.rule(name);
        let rule = self.answer_steps.rule(&placement.rule, &find);
        let end = self.answer_steps.end();
        self.answer_steps.add(&placement.steps, &mut self.texts, &find);
        let steps = self.answer_steps.since(end);
        let doubt = doubt.map_or(0, |doubt| {
            let next = self.doubts.len() as u64 + 1;
            *self.doubts.entry(doubt).or_insert(next)
        });
        let possible = if doubt == 0 { Vec::new() } else { possible };
        let counts = [possible.len(), steps.steps.len()].map(|n| n as u64);
        let row = [placement.chosen.into(), rule, doubt, placement.probes, counts[0], counts[1]];
        self.answer_rows += 1 + possible.len();
        self.decisions[decision].answer = Some(Answered { row, possible, steps });
        Ok(())
    }

    fn finish(mut self, head: &Head, mut notes: Vec<Note>) -> Result<Side, ViewError> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        if !self.has.switches && self.decisions.is_empty() {
            return Err(ViewError::Empty { label: self.reader.label });
        }
        self.rails.end();
        notes.extend(self.rails.notes());
        let what = "events are out of order in time: taken to happen together with the event before";
        notes.extend(Note::losses(&[(self.backwards, what)]));
        self.has.reasons = head.why;
        // A wakeup may begin before another one and end after it.
        self.decisions.sort_by_key(|decided| decided.row[0]);
        self.steps.sort(self.decisions.iter().map(|decided| &decided.steps));
        self.answer_steps.sort(self.decisions.iter().filter_map(|decided| Some(&decided.answer.as_ref()?.steps)));
        let tables = tables(&self.decisions);
        let mut threads: Vec<(Thread, u64)> = self.threads.into_iter().collect();
        threads.sort_by_key(|(_, number)| *number);
        let end = self.now.min(self.reader.window.to);
        let mut side = Side {
            name: self.reader.name,
            label: self.reader.label,
            begin_ns: self.began.unwrap_or(0).to_string(),
            from_ns: self.reader.window.from.min(end),
            to_ns: end,
            events: self.events,
            facts: head.meta.iter().filter(|(key, _)| !is_rail(key)).map(|(k, v)| (plain(k), plain(v))).collect(),
            notes: notes.iter().map(|note| note.reworded(plain)).collect(),
            threads: threads.into_iter().map(|(thread, _)| thread).collect(),
            rules: self.steps.rules,
            texts: self.texts.texts,
            decisions: tables.0,
            steps: self.steps.steps,
            numbers: self.steps.numbers,
            answers: tables.1,
            possible: tables.2,
            answer_steps: self.answer_steps.steps,
            answer_numbers: self.answer_steps.numbers,
            so_far: self.decisions.iter().map(|decided| decided.so_far).collect(),
            ..Side::default()
        };
        side.asked = self.reader.other.map(|other| Asked {
            label: plain(&other.label()),
            rules: self.answer_steps.rules,
            doubts: in_order(self.doubts),
            notes: other.notes().iter().map(|note| note.reworded(plain)).collect(),
        });
        add_power(&mut side, &self.rails, self.began.unwrap_or(0), self.reader.window);
        self.has.energy = !side.power.is_empty();
        side.has = self.has;
        self.lanes.finish(end, self.reader.machine, &mut side);
        Ok(side)
    }
}

/// The column `wait` of decisions.
const WAIT: usize = 10;

/// Decisions, answers, and CPUs that answers may be, as in [`Side`].
fn tables(all: &[Decided]) -> (Table, Table, Table) {
    let decisions = [
        ("time", true),
        ("kind", false),
        ("thread", false),
        ("on", false),
        ("by", false),
        ("prev", false),
        ("chosen", false),
        ("rule", false),
        ("probes", false),
        ("group_cpus", false),
        ("wait", false),
        ("steps", false),
    ];
    let answers = [
        ("decision", true),
        ("chosen", false),
        ("rule", false),
        ("doubt", false),
        ("probes", false),
        ("possible", false),
        ("steps", false),
    ];
    let [mut decisions, mut answers] = [Table::with_columns(&decisions), Table::with_columns(&answers)];
    let mut possible = Table::with_columns(&[("cpu", false)]);
    for (number, decided) in all.iter().enumerate() {
        decisions.push(decided.row);
        let Some(answer) = &decided.answer else { continue };
        let [chosen, rule, doubt, probes, cpus, steps] = answer.row;
        answers.push([number as u64, chosen, rule, doubt, probes, cpus, steps]);
        answer.possible.iter().for_each(|cpu| possible.push([u64::from(*cpu)]));
    }
    (decisions, answers, possible)
}

fn thread_number(threads: &mut BTreeMap<Thread, u64>, thread: fairground_trace::Thread) -> u64 {
    let next = threads.len() as u64;
    *threads.entry(Thread { name: plain(thread.comm), pid: thread.pid }).or_insert(next)
}

/// Whether a fact is the name of a rail, which has a list of its own.
fn is_rail(key: &str) -> bool {
    key.strip_prefix("rail").is_some_and(|number| number.parse::<u16>().is_ok())
}

fn in_order(numbers: BTreeMap<String, u64>) -> Vec<String> {
    let mut all: Vec<(String, u64)> = numbers.into_iter().collect();
    all.sort_by_key(|(_, number)| *number);
    all.into_iter().map(|(text, _)| text).collect()
}

/// The energy of each rail between two readings.
fn add_power(side: &mut Side, rails: &Rails, began: u64, window: Window) {
    let mut by_rail: BTreeMap<String, Table> = BTreeMap::new();
    let columns = [("begin", true), ("length", false), ("pj", false)];
    for row in rails.rows() {
        let (Some(_), Some(rail)) = (row.window, &row.rail) else { continue };
        let [from, to] = [row.from, row.to].map(|time| time.saturating_sub(began));
        if window.has(from) && window.has(to) && to > from {
            let table = by_rail.entry(plain(rail)).or_insert_with(|| Table::with_columns(&columns));
            table.push([from, to - from, row.sum()]);
        }
    }
    side.power = Table::with_columns(&columns);
    for (rail, table) in by_rail {
        side.rails.push(rail);
        side.power.first.push(side.power.len());
        side.power.append(&table, 0..table.len());
    }
    side.power.first.push(side.power.len());
}

// Kinds of decisions in columns are the numbers of `Cause`.
const _: () = assert!(Cause::Wake as u64 == 0 && Cause::Fork as u64 == 1 && Cause::Active as u64 == 5);

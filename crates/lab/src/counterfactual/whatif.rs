//! What one of our schedulers would have chosen at each wakeup of a recording: the request, and its answer as text,
//! JSON and rows.
//!
//! [`WhatIf`] names the scheduler and selects wakeups. [`WhatIf::ask`] reads a trace and returns a [`Report`].

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use fairground_fair::{FairError, Features};
use fairground_machine::{CpuMask, Machine};
use fairground_run::sched_spec;
use fairground_sim::Rule;
use fairground_sim::{Config, Governor};
use fairground_trace::explain::{in_words, seconds};
use fairground_trace::placements::Head;
use fairground_trace::{EventSource, Note, RuleNames, RunHead, TraceError};
use miette::Diagnostic;
use serde_json::{json, Map, Value};
use thiserror::Error;

use super::{
    Agreement, AgreementCounts, Confidence, Counterfactual, Disagreement, JudgedWakeup, NoSuchCpu, RecordingConfig,
    RuleAgreement, QUEUED,
};
use crate::explain::{full_json, hint_of_task, rule_words, Wanted};
use crate::recorded::{recorded_config, recorded_sched};

/// Name and version of the schema.
const SCHEMA: &str = "fairground-explain-trace-1";

/// Most disagreements that the text shows.
const WAYS_MAX: usize = 12;

/// Not a rule of the policy: a sleeper whose dequeue EEVDF delays stays on its run queue.
const QUEUED_RULE: Rule = Rule {
    name: QUEUED,
    function: "ttwu_runnable",
    label: "sched_delayed",
    text: "the task is still queued (sched_delayed), so no CPU is chosen",
};

/// Why a request has no answer.
#[derive(Debug, Error, Diagnostic)]
pub enum WhatIfError {
    /// The trace cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Trace(#[from] TraceError),
    /// The scheduler or the machine cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Fair(#[from] FairError),
    /// The trace was recorded on a larger machine.
    #[error("{trace} has events of CPU {cpu}; {machine} has CPUs 0 to {last}")]
    #[diagnostic(help("name the machine that was recorded with --machine"))]
    NoSuchCpu {
        /// Name of the trace.
        trace: String,
        /// The CPU of the event.
        cpu: u32,
        /// Name of the machine.
        machine: String,
        /// The machine's last CPU.
        last: usize,
    },
    /// The trace has no events of wakeups.
    #[error("{trace} has no wakeup that can be judged")]
    #[diagnostic(help("it takes sched_switch, sched_waking and sched_wakeup, and sched_migrate_task if it is there"))]
    Empty {
        /// Name of the trace.
        trace: String,
    },
    /// The trace has sched_waking events and no sched_wakeup.
    #[error("{trace} has no wakeup that can be judged: no sched_wakeup follows any of {wakings} sched_waking")]
    #[diagnostic(help(
        "sched_wakeup says where a thread went; `perf sched record` leaves it out, `perf record -a -e 'sched:*'` has it"
    ))]
    NoWakeup {
        /// Name of the trace.
        trace: String,
        /// Number of sched_waking events without a sched_wakeup.
        wakings: u64,
    },
    /// No wakeup of the trace matches the request.
    #[error("{trace}: no such wakeup; {judged} were judged{hint}")]
    NoMatch {
        /// Name of the trace.
        trace: String,
        /// Number of wakeups that were judged.
        judged: u64,
        /// Text "; did you mean NAME?" with the nearest name of a task, or "; there are NAMES"; empty if the task is there.
        hint: String,
    },
}

/// A request: a scheduler, and a selection of wakeups of a trace. A time or a number selects one wakeup, which is
/// explained in full. A task alone selects each of its wakeups. Otherwise the answer is how often the recording agrees.
#[derive(Clone, Debug)]
pub struct WhatIf {
    /// The machine that was recorded.
    pub machine: Arc<Machine>,
    /// Name of the machine, for messages.
    pub machine_name: String,
    /// The CPUs to which all threads are bound; `None`: threads are not bound.
    pub allowed: Option<CpuMask>,
    /// The scheduler, `fair:...`. `None`: the scheduler that ran, if the trace names one of ours, else the latest.
    pub sched: Option<String>,
    /// Whether schedutil was the frequency governor. `None`: as the trace says.
    pub schedutil: Option<bool>,
    /// Ticks per second. `None`: as the trace says, else the default of a run.
    pub hz: Option<u32>,
    /// Which wakeups are selected.
    pub wanted: Wanted,
    /// Number of the selected wakeup to explain, from 1. `None`: the first if a time is selected, else all.
    pub nth: Option<u64>,
}

/// The answer to a [`WhatIf`].
#[derive(Clone, Debug)]
pub struct Report {
    trace: String,
    machine: String,
    sched: String,
    head: Head,
    notes: Vec<Note>,
    found: Found,
}

/// The content of an answer.
#[derive(Clone, Debug)]
pub enum Found {
    /// How often the recording agrees.
    Agreement(AgreementCounts),
    /// The wakeups of a task, oldest first.
    Wakeups(Vec<JudgedWakeup>),
    /// One wakeup, with reasons.
    Wakeup(Box<JudgedWakeup>),
}

/// A trace that is being read for a request.
struct Reading<'a> {
    ask: &'a WhatIf,
    trace: &'a str,
    source: &'a mut dyn EventSource,
    progress: &'a mut dyn FnMut(u64),
    counterfactual: Counterfactual<'a>,
    seen: JudgedSummary,
}

impl WhatIf {
    /// A request for each wakeup, on what the trace says of the system.
    pub fn of_all(machine: Arc<Machine>, machine_name: &str, allowed: Option<CpuMask>, sched: String) -> WhatIf {
        WhatIf {
            machine,
            machine_name: machine_name.to_owned(),
            allowed,
            sched: Some(sched),
            schedutil: None,
            hz: None,
            wanted: Wanted::default(),
            nth: None,
        }
    }

    /// Reads a trace from its first event. `head` is the trace's head. `progress` is called with the time of each
    /// event, ns.
    ///
    /// # Errors
    /// If the scheduler is invalid or does not support the machine; if the trace cannot be read, is from a larger
    /// machine, or has no wakeup that the request selects.
    pub fn ask(
        &self,
        trace: &str,
        head: &RunHead,
        source: &mut dyn EventSource,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Report, WhatIfError> {
        let (counterfactual, sched, placements) = self.counterfactual(head)?;
        let mut reading =
            Reading { ask: self, trace, source, progress, counterfactual, seen: JudgedSummary::default() };
        let (found, notes) = reading.read()?;
        let (trace, machine) = (trace.to_owned(), self.machine_name.clone());
        Ok(Report { trace, machine, sched, head: placements, notes, found })
    }

    /// The replay of a trace with this head that is asked; the scheduler's name, and its rules.
    ///
    /// # Errors
    /// If the scheduler is invalid or does not support the machine.
    pub fn counterfactual(&self, head: &RunHead) -> Result<(Counterfactual<'_>, String, Head), WhatIfError> {
        let sched = self.sched.clone().unwrap_or_else(|| recorded_sched(head));
        let sched = Features::full_name(&sched).into_owned();
        let features = Features::parse(&sched)?;
        let words = RuleNames::from_scheduler(&*sched_spec::fair(&features, &self.machine)?);
        let rules = words.rules().chain([QUEUED_RULE]).map(|rule| (rule.name.to_owned(), rule.into())).collect();
        let placements = Head { rules, why: true, ..Head::default() };
        let recorded = recorded_config(head);
        let schedutil = self.schedutil.unwrap_or(recorded.governor == Governor::Schedutil);
        let hz = self.hz.or(recorded.hz).unwrap_or(Config::default().hz);
        let config = RecordingConfig { hz, schedutil, allowed: self.allowed };
        let counterfactual = Counterfactual::new(&self.machine, &features, config, words)?;
        Ok((counterfactual, sched, placements))
    }
}

impl Reading<'_> {
    fn read(&mut self) -> Result<(Found, Vec<Note>), WhatIfError> {
        let found = match (self.ask.wanted.at, self.ask.nth, &self.ask.wanted.task) {
            (None, None, None) => Found::Agreement(self.tally()?),
            (None, None, Some(_)) => Found::Wakeups(self.list()?),
            _ => return Ok((Found::Wakeup(self.single()?), Vec::new())),
        };
        Ok((found, [self.counterfactual.notes(), self.source.notes()].concat()))
    }

    /// Calls `take` with each judged wakeup until it returns false.
    fn each(&mut self, take: &mut dyn FnMut(JudgedWakeup) -> bool) -> Result<(), WhatIfError> {
        while let Some(event) = self.source.next_event()? {
            (self.progress)(event.time);
            let judged = self.counterfactual.event(&event).map_err(|NoSuchCpu(cpu)| WhatIfError::NoSuchCpu {
                trace: self.trace.to_owned(),
                cpu,
                machine: self.ask.machine_name.clone(),
                last: self.ask.machine.nr_cpus() - 1,
            })?;
            let Some(judged) = judged else { continue };
            self.seen.note(&judged);
            if !take(judged) {
                break;
            }
        }
        Ok(())
    }

    fn tally(&mut self) -> Result<AgreementCounts, WhatIfError> {
        let (ask, mut tally) = (self.ask, AgreementCounts::default());
        self.each(&mut |judged| {
            if ask.wanted.is_cpu(&judged.ours) {
                tally.add(&judged, &ask.machine);
            }
            true
        })?;
        if tally.all().judged == 0 {
            return Err(self.no_match());
        }
        Ok(tally)
    }

    fn list(&mut self) -> Result<Vec<JudgedWakeup>, WhatIfError> {
        let (ask, mut wakeups) = (self.ask, Vec::new());
        self.each(&mut |judged| {
            if ask.wanted.is(&judged.ours) {
                wakeups.push(judged);
            }
            true
        })?;
        if wakeups.is_empty() {
            return Err(self.no_match());
        }
        Ok(wakeups)
    }

    /// One wakeup in full. The rest of the trace is not read.
    fn single(&mut self) -> Result<Box<JudgedWakeup>, WhatIfError> {
        let (ask, mut found, mut left) = (self.ask, None, self.ask.nth.unwrap_or(1));
        self.counterfactual.ask_why(true);
        self.each(&mut |judged| {
            left -= u64::from(ask.wanted.is(&judged.ours));
            if left == 0 {
                found = Some(Box::new(judged));
            }
            left > 0
        })?;
        found.ok_or_else(|| self.no_match())
    }

    /// The error that explains why no wakeup was found.
    fn no_match(&self) -> WhatIfError {
        let trace = self.trace.to_owned();
        match (self.seen.judged, self.counterfactual.counts().open) {
            (0, 0) => WhatIfError::Empty { trace },
            (0, wakings) => WhatIfError::NoWakeup { trace, wakings },
            (judged, _) => {
                let unknown = self.ask.wanted.task.as_deref().filter(|task| !self.seen.tasks.contains(*task));
                let hint = unknown.map_or(String::new(), |task| hint_of_task(task, &self.seen.tasks));
                WhatIfError::NoMatch { trace, judged, hint }
            }
        }
    }
}

/// Number and tasks of the judged wakeups, for the message if no wakeup matches.
#[derive(Default)]
struct JudgedSummary {
    judged: u64,
    tasks: BTreeSet<String>,
}

/// Most names of tasks that are stored for the hint in a message.
const NAMES_MAX: usize = 4096;

impl JudgedSummary {
    fn note(&mut self, judged: &JudgedWakeup) {
        self.judged += 1;
        if self.tasks.len() < NAMES_MAX && !self.tasks.contains(&judged.ours.task.comm) {
            self.tasks.insert(judged.ours.task.comm.clone());
        }
    }
}

impl Report {
    /// The content of the answer.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// Assumptions, and what could not be judged. [`Self::text`] contains them if the answer is an agreement.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The rule with this name of the requested scheduler.
    pub fn rule<'a>(&'a self, name: &'a str) -> Rule<'a> {
        self.head.rule(name)
    }

    /// The answer as text.
    pub fn text(&self) -> String {
        match &self.found {
            Found::Agreement(tally) => self.tally_text(tally),
            Found::Wakeups(wakeups) => wakeups.iter().map(|judged| in_short(judged, &self.head)).collect(),
            Found::Wakeup(judged) => self.full_text(judged),
        }
    }

    /// The answer as JSON in the documented schema.
    pub fn json(&self) -> Value {
        let fields = match &self.found {
            Found::Agreement(tally) => {
                let confidences = tally.confidences().map(|(c, n)| (c.word().to_owned(), json!(n)));
                vec![
                    ("agreement", agreement_json(&tally.all())),
                    ("certainty", confidences.collect::<Map<_, _>>().into()),
                    ("rules", self.rows().into()),
                    ("disagreements", tally.disagreements().iter().map(disagreement_json).collect()),
                    ("notes", json!(self.notes)),
                ]
            }
            Found::Wakeups(_) => vec![("wakeups", self.rows().into()), ("notes", json!(self.notes))],
            Found::Wakeup(judged) => {
                let mut object = brief(judged);
                object.insert("ours".into(), full_json(&judged.ours, &self.head));
                vec![("wakeup", Value::Object(object))]
            }
        };
        let mut object = Map::new();
        object.insert("schema".into(), json!(SCHEMA));
        object.insert("file".into(), json!(self.trace));
        object.insert("machine".into(), json!(self.machine));
        object.insert("sched".into(), json!(self.sched));
        object.extend(fields.into_iter().map(|(key, value)| (key.to_owned(), value)));
        Value::Object(object)
    }

    /// Rows for a table, all with the same members: a row for each rule of an agreement, else a row for each wakeup.
    pub fn rows(&self) -> Vec<Value> {
        match &self.found {
            Found::Agreement(tally) => tally.rules().iter().map(|row| self.rule_json(row)).collect(),
            Found::Wakeups(wakeups) => wakeups.iter().map(|judged| Value::Object(brief(judged))).collect(),
            Found::Wakeup(judged) => vec![Value::Object(brief(judged))],
        }
    }

    fn rule_json(&self, row: &RuleAgreement) -> Value {
        let mut object = Map::new();
        object.insert("rule".into(), json!(row.rule));
        if let Value::Object(agreement) = agreement_json(&row.agreement) {
            object.extend(agreement);
        }
        object.extend(rule_words(&self.head.rule(&row.rule)));
        Value::Object(object)
    }

    fn tally_text(&self, tally: &AgreementCounts) -> String {
        let (all, sched) = (tally.all(), &self.sched);
        let mut out = format!("machine   {}\nasked     {sched}\nwakeups   {} judged\n", self.machine, all.judged);
        for (confidence, count) in tally.confidences() {
            let share = count as f64 / all.judged as f64 * 100.0;
            let _ = writeln!(out, "{:>9} {share:>5.1} %  {}", count, confidence.text());
        }
        let _ = writeln!(
            out,
            "agreement with {sched}: {} of all wakeups, {} of the sure ones\n",
            pct(all.agree_pct()),
            pct(all.sure_agree_pct())
        );
        let _ = writeln!(out, "{:>9} {:>8} {:>8} {:>10}  rule", "count", "agree", "sure", "sure agree");
        for row in tally.rules() {
            let (a, rule) = (row.agreement, self.head.rule(&row.rule).title());
            let [agree, sure, sure_agree] = [a.agree_pct(), a.sure_pct(), a.sure_agree_pct()].map(pct);
            let _ = writeln!(out, "{:>9} {agree:>8} {sure:>8} {sure_agree:>10}  {rule}", a.judged);
        }
        out.push_str(&self.disagreements_text(&tally.disagreements()));
        let _ = writeln!(out);
        self.notes.iter().for_each(|note| {
            let _ = writeln!(out, "note: {note}");
        });
        out
    }

    /// A table of the most frequent disagreements; empty without disagreements.
    fn disagreements_text(&self, ways: &[Disagreement]) -> String {
        let mut out = String::new();
        if !ways.is_empty() {
            let _ = writeln!(
                out,
                "\n{:>9} {:>9}  {:<14} {:<14} {:>14}  rule; recorded by",
                "differ", "sure", "goes to", "recorded", "first"
            );
        }
        for way in ways.iter().take(WAYS_MAX) {
            let (ours, recorded, first) = (way.ours.text(), way.recorded.text(), seconds(way.first));
            let rule = self.head.rule(&way.rule).title();
            let by = way.recorded_rule.as_ref().map_or("-".into(), |by| self.head.rule(by).title());
            let _ =
                writeln!(out, "{:>9} {:>9}  {ours:<14} {recorded:<14} {first:>14}  {rule}; {by}", way.count, way.sure);
        }
        out
    }

    fn full_text(&self, judged: &JudgedWakeup) -> String {
        let mut out = in_words(&judged.ours, &self.head);
        let title = |rule: &String| format!(" by {}", self.head.rule(rule).title());
        let by = judged.recorded_rule.as_ref().map_or(String::new(), title);
        let verdict = if judged.agrees() { "the same CPU" } else { "another CPU" };
        let _ = writeln!(out, "recorded: CPU {}{by}, {verdict}", judged.recorded);
        let _ = match judged.confidence {
            Confidence::Sure => writeln!(out, "sure"),
            other => writeln!(out, "not sure: {}; possible: CPU {}", other.text(), cpus(judged)),
        };
        out
    }
}

fn pct(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{share:.1} %"))
}

/// The possible CPUs as a list: `0, 3, 4`.
fn cpus(judged: &JudgedWakeup) -> String {
    judged.possible.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// A wakeup as one line of text.
fn in_short(judged: &JudgedWakeup, head: &Head) -> String {
    let ours = &judged.ours;
    let (time, task, rule) = (seconds(ours.time), ours.task.to_string(), head.rule(&ours.rule).title());
    let verdict = if judged.agrees() { "agrees" } else { "differs" };
    let sure = match judged.confidence {
        Confidence::Sure => "sure".into(),
        other => format!("{}: CPU {}", other.word(), cpus(judged)),
    };
    format!(
        "{time}  {task:<22}  CPU {:>3} -> {:<3}  recorded {:<3}  {verdict:<7}  {rule}; {sure}\n",
        ours.prev, ours.chosen, judged.recorded
    )
}

fn agreement_json(a: &Agreement) -> Value {
    json!({
        "judged": a.judged,
        "agree": a.agree,
        "agree_pct": a.agree_pct(),
        "sure": a.sure,
        "sure_pct": a.sure_pct(),
        "sure_agree": a.sure_agree,
        "sure_agree_pct": a.sure_agree_pct(),
        "possible": a.possible,
    })
}

fn disagreement_json(way: &Disagreement) -> Value {
    json!({
        "rule": way.rule,
        "goes_to": way.ours.text(),
        "recorded": way.recorded.text(),
        "recorded_rule": way.recorded_rule,
        "count": way.count,
        "sure": way.sure,
        "first_ns": way.first,
    })
}

fn brief(judged: &JudgedWakeup) -> Map<String, Value> {
    let ours = &judged.ours;
    let object = json!({
        "time_ns": ours.time,
        "task": ours.task.comm,
        "pid": ours.task.pid,
        "on_cpu": ours.on_cpu,
        "prev_cpu": ours.prev,
        "recorded_cpu": judged.recorded,
        "recorded_rule": judged.recorded_rule,
        "cpu": ours.chosen,
        "rule": ours.rule,
        "agrees": judged.agrees(),
        "certainty": judged.confidence.word(),
        "possible": judged.possible,
    });
    match object {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

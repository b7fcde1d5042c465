//! `fairground explain --trace`: what a scheduler of ours would have chosen at each recorded wakeup.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use fairground_fair::Features;
use fairground_lab::explain::{full_json, Wanted};
use fairground_lab::tables::nearest;
use fairground_machine::{CpuMask, Machine};
use fairground_run::sched_spec;
use fairground_sim::Config;
use fairground_trace::explain::{in_words, seconds};
use fairground_trace::hindsight::{Agreement, Certainty, Circumstances, Hindsight, Judged, Refused, Tally, QUEUED};
use fairground_trace::placements::Head;
use fairground_trace::{open_watched, RuleNames};
use miette::Diagnostic;
use serde_json::{json, Map, Value};
use thiserror::Error;

use super::{Explain, ExplainFormat};
use crate::circumstances::GovernorName;
use crate::commands::import::{machine_of, noted, told};
use crate::commands::stats::comma_separated;
use crate::error::Failure;
use crate::input::trace_notes;
use crate::progress::Reading;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-explain-trace-1";

/// Who is asked where the trace does not say who ran.
const LATEST: &str = "fair:v6.12";

/// Ways to disagree that are shown.
const WAYS_MAX: usize = 12;

/// What a rule says that is not the policy's.
const QUEUED_TEXT: &str = "asleep, but still queued until its debt is paid: no CPU is chosen";

/// Why a trace cannot be judged.
#[derive(Debug, Error, Diagnostic)]
enum NotJudged {
    #[error("{trace} has events of CPU {cpu}; {machine} has CPUs 0 to {last}")]
    #[diagnostic(help("name the machine that was recorded with --machine"))]
    NoSuchCpu { trace: String, cpu: u32, machine: String, last: usize },
    #[error("{trace} has no wakeup that can be judged")]
    #[diagnostic(help("it takes sched_switch, sched_waking and sched_wakeup, and sched_migrate_task if it is there"))]
    Empty { trace: String },
    #[error("{trace} has no wakeup that can be judged: no sched_wakeup follows any of {wakings} sched_waking")]
    #[diagnostic(help(
        "sched_wakeup says where a thread went; `perf sched record` leaves it out, `perf record -a -e 'sched:*'` has it"
    ))]
    NoWakeup { trace: String, wakings: u64 },
    #[error("{trace}: no such wakeup; {judged} were judged{hint}")]
    None { trace: String, judged: u64, hint: String },
}

/// A trace that is judged.
pub struct Recorded<'a> {
    trace: &'a Path,
    asked: &'a Explain,
    machine: Arc<Machine>,
    machine_name: String,
    cpus: Option<CpuMask>,
    sched: String,
    features: Features,
    head: Head,
}

impl<'a> Recorded<'a> {
    /// Finds out what was recorded and who is asked.
    pub fn new(trace: &'a Path, asked: &'a Explain) -> Result<Recorded<'a>, Failure> {
        let named = machine_of(trace, asked.machine.as_deref())?;
        let sched = match &asked.sched {
            Some(sched) => sched.clone(),
            None => told(trace, "sched")?.filter(|sched| sched.starts_with("fair:")).unwrap_or_else(|| LATEST.into()),
        };
        let features = Features::parse(&sched)?;
        let machine = Arc::new(named.machine);
        let (machine_name, cpus) = (named.name, named.cpus);
        Ok(Recorded { trace, asked, machine, machine_name, cpus, sched, features, head: Head::default() })
    }

    /// What was asked for.
    pub fn explain(mut self) -> Result<String, Failure> {
        let words = RuleNames::from_scheduler(&*sched_spec::fair(&self.features, &self.machine)?);
        let rules = words.rules().map(|(name, text)| (name.to_owned(), text.to_owned()));
        self.head.rules = rules.chain([(QUEUED.to_owned(), QUEUED_TEXT.to_owned())]).collect();
        self.head.why = true;
        let machine = Arc::clone(&self.machine);
        let schedutil = match self.asked.governor {
            Some(governor) => matches!(governor, GovernorName::Schedutil),
            None => noted(self.trace, "governor: ")?.is_some_and(|name| name == "schedutil"),
        };
        let hz = match self.asked.hz {
            Some(hz) => hz,
            None => noted(self.trace, "hz: ")?.and_then(|hz| hz.parse().ok()).unwrap_or(Config::default().hz),
        };
        let circumstances = Circumstances { hz, schedutil, allowed: self.cpus };
        let mut hindsight = Hindsight::new(&machine, &self.features, circumstances, words)?;
        match (self.asked.at, self.asked.nth, &self.asked.task) {
            (None, None, None) => self.tally(&mut hindsight),
            (None, None, Some(_)) => self.list(&mut hindsight),
            _ => self.one(&mut hindsight),
        }
    }

    fn wanted(&self) -> Wanted {
        self.asked.wanted()
    }

    /// Gives each judged wakeup to `take` until that says enough. Notes of the reader.
    fn each(
        &self,
        hindsight: &mut Hindsight,
        take: &mut dyn FnMut(&mut Hindsight, &Judged) -> bool,
    ) -> Result<Vec<String>, Failure> {
        let (mut reader, position) = open_watched(self.trace)?;
        let mut progress = Reading::new(position);
        while let Some(event) = reader.next_event()? {
            progress.event(event.time);
            let judged = hindsight.event(&event).map_err(|Refused::NoSuchCpu(cpu)| NotJudged::NoSuchCpu {
                trace: self.trace.display().to_string(),
                cpu,
                machine: self.machine_name.clone(),
                last: self.machine.nr_cpus() - 1,
            })?;
            if judged.is_some_and(|judged| !take(hindsight, &judged)) {
                break;
            }
        }
        Ok(reader.notes())
    }

    fn tally(&self, hindsight: &mut Hindsight) -> Result<String, Failure> {
        let (mut tally, wanted, mut judged_ones) = (Tally::default(), self.wanted(), 0);
        let notes = self.each(hindsight, &mut |_, judged| {
            judged_ones += 1;
            if wanted.is_cpu(&judged.ours) {
                tally.add(judged, &self.machine);
            }
            true
        })?;
        if tally.all().judged == 0 {
            return Err(match judged_ones {
                0 => self.empty(hindsight),
                judged => NotJudged::None { trace: self.trace.display().to_string(), judged, hint: String::new() },
            }
            .into());
        }
        let notes = [hindsight.notes(), notes].concat();
        Ok(match self.asked.format {
            ExplainFormat::Text => self.tally_text(&tally, &notes),
            ExplainFormat::Json => self.document([
                ("agreement", agreement_json(&tally.all())),
                (
                    "certainty",
                    tally.certainties().map(|(c, n)| (c.word().to_owned(), json!(n))).collect::<Map<_, _>>().into(),
                ),
                ("rules", self.rules_json(&tally).into()),
                ("disagreements", disagreements_json(&tally).into()),
                ("notes", json!(notes)),
            ]),
            ExplainFormat::Csv => {
                trace_notes(&notes);
                comma_separated(&self.rules_json(&tally))
            }
        })
    }

    fn tally_text(&self, tally: &Tally, notes: &[String]) -> String {
        let (all, sched) = (tally.all(), &self.sched);
        let mut out = format!("machine   {}\nasked     {sched}\nwakeups   {} judged\n", self.machine_name, all.judged);
        for (certainty, count) in tally.certainties() {
            let share = count as f64 / all.judged as f64 * 100.0;
            let _ = writeln!(out, "{:>9} {share:>5.1} %  {}", count, certainty.text());
        }
        let _ = writeln!(
            out,
            "recorded where {sched} goes: {} of all, {} of the sure ones\n",
            pct(all.agree_pct()),
            pct(all.sure_agree_pct())
        );
        let _ =
            writeln!(out, "{:<12} {:>9} {:>8} {:>8} {:>10}  meaning", "rule", "count", "agree", "sure", "sure agree");
        for row in tally.rules() {
            let (a, meaning) = (row.agreement, self.head.rule_text(&row.rule));
            let [agree, sure, sure_agree] = [a.agree_pct(), a.sure_pct(), a.sure_agree_pct()].map(pct);
            let _ = writeln!(out, "{:<12} {:>9} {agree:>8} {sure:>8} {sure_agree:>10}  {meaning}", row.rule, a.judged);
        }
        let ways = tally.disagreements();
        if !ways.is_empty() {
            let _ = writeln!(
                out,
                "\n{:>9} {:>9}  {:<12} {:<14} {:<14} {:<12} {:>14}",
                "differ", "sure", "rule", "goes to", "recorded", "by", "first"
            );
        }
        for way in ways.iter().take(WAYS_MAX) {
            let (ours, recorded, by) =
                (way.ours.text(), way.recorded.text(), way.recorded_rule.as_deref().unwrap_or("-"));
            let _ = writeln!(
                out,
                "{:>9} {:>9}  {:<12} {ours:<14} {recorded:<14} {by:<12} {:>14}",
                way.count,
                way.sure,
                way.rule,
                seconds(way.first)
            );
        }
        let _ = writeln!(out);
        notes.iter().for_each(|note| {
            let _ = writeln!(out, "note: {note}");
        });
        out
    }

    fn rules_json(&self, tally: &Tally) -> Vec<Value> {
        let row = |row: &fairground_trace::hindsight::RuleAgreement| {
            let mut object = Map::new();
            object.insert("rule".into(), json!(row.rule));
            if let Value::Object(agreement) = agreement_json(&row.agreement) {
                object.extend(agreement);
            }
            object.insert("text".into(), json!(self.head.rule_text(&row.rule)));
            Value::Object(object)
        };
        tally.rules().iter().map(row).collect()
    }

    fn list(&self, hindsight: &mut Hindsight) -> Result<String, Failure> {
        let (wanted, mut seen) = (self.wanted(), Seen::default());
        let (mut lines, mut rows) = (String::new(), Vec::new());
        let notes = self.each(hindsight, &mut |_, judged| {
            seen.note(judged);
            match (wanted.is(&judged.ours), self.asked.format) {
                (false, _) => {}
                (true, ExplainFormat::Text) => lines.push_str(&in_short(judged)),
                (true, _) => rows.push(Value::Object(brief(judged))),
            }
            true
        })?;
        if lines.is_empty() && rows.is_empty() {
            return Err(self.nothing(hindsight, &seen));
        }
        let notes = [hindsight.notes(), notes].concat();
        if self.asked.format != ExplainFormat::Json {
            trace_notes(&notes);
        }
        Ok(match self.asked.format {
            ExplainFormat::Text => lines,
            ExplainFormat::Json => self.document([("wakeups", rows.into()), ("notes", json!(notes))]),
            ExplainFormat::Csv => comma_separated(&rows),
        })
    }

    /// One wakeup in full. What comes after it is not read.
    fn one(&self, hindsight: &mut Hindsight) -> Result<String, Failure> {
        let (wanted, mut seen) = (self.wanted(), Seen::default());
        let (mut found, mut left) = (None, self.asked.nth.unwrap_or(1));
        hindsight.ask_why(true);
        self.each(hindsight, &mut |_, judged| {
            seen.note(judged);
            left -= u64::from(wanted.is(&judged.ours));
            if left == 0 {
                found = Some(judged.clone());
            }
            left > 0
        })?;
        let judged = found.ok_or_else(|| self.nothing(hindsight, &seen))?;
        Ok(match self.asked.format {
            ExplainFormat::Text => self.full_text(&judged),
            ExplainFormat::Json => {
                let mut object = brief(&judged);
                object.insert("ours".into(), full_json(&judged.ours, &self.head));
                self.document([("wakeup", Value::Object(object))])
            }
            ExplainFormat::Csv => comma_separated(&[Value::Object(brief(&judged))]),
        })
    }

    fn full_text(&self, judged: &Judged) -> String {
        let mut out = in_words(&judged.ours, &self.head);
        let by = judged.recorded_rule.as_ref().map_or(String::new(), |rule| format!(" by {rule}"));
        let verdict = if judged.agrees() { "as here" } else { "not as here" };
        let _ = writeln!(out, "recorded: CPU {}{by}, {verdict}", judged.recorded);
        let _ = match judged.certainty {
            Certainty::Sure => writeln!(out, "sure"),
            other => writeln!(out, "not sure: {}; possible: CPU {}", other.text(), cpus(judged)),
        };
        out
    }

    /// Why nothing was judged.
    fn empty(&self, hindsight: &Hindsight) -> NotJudged {
        let trace = self.trace.display().to_string();
        match hindsight.counts().open {
            0 => NotJudged::Empty { trace },
            wakings => NotJudged::NoWakeup { trace, wakings },
        }
    }

    fn nothing(&self, hindsight: &Hindsight, seen: &Seen) -> Failure {
        if seen.judged == 0 {
            return self.empty(hindsight).into();
        }
        let trace = self.trace.display().to_string();
        let near = self.asked.task.as_deref().filter(|task| !seen.tasks.contains(*task));
        let near = near.and_then(|task| nearest(task, seen.tasks.iter().map(String::as_str)));
        let hint = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
        NotJudged::None { trace, judged: seen.judged, hint }.into()
    }

    /// A document with the head of every document.
    fn document<const N: usize>(&self, fields: [(&str, Value); N]) -> String {
        let mut object = Map::new();
        object.insert("schema".into(), json!(SCHEMA));
        object.insert("file".into(), json!(self.trace.display().to_string()));
        object.insert("machine".into(), json!(self.machine_name));
        object.insert("sched".into(), json!(self.sched));
        object.extend(fields.map(|(key, value)| (key.to_owned(), value)));
        format!("{:#}\n", Value::Object(object))
    }
}

/// What was judged, for a message if it was not what was asked for.
#[derive(Default)]
struct Seen {
    judged: u64,
    tasks: BTreeSet<String>,
}

/// Names that are kept for a hint.
const NAMES_MAX: usize = 4096;

impl Seen {
    fn note(&mut self, judged: &Judged) {
        self.judged += 1;
        if self.tasks.len() < NAMES_MAX && !self.tasks.contains(&judged.ours.task.comm) {
            self.tasks.insert(judged.ours.task.comm.clone());
        }
    }
}

fn pct(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{share:.1} %"))
}

/// `0, 3, 4`.
fn cpus(judged: &Judged) -> String {
    judged.possible.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// A wakeup on a line.
fn in_short(judged: &Judged) -> String {
    let ours = &judged.ours;
    let (time, task) = (seconds(ours.time), ours.task.to_string());
    let verdict = if judged.agrees() { "agrees" } else { "differs" };
    let sure = match judged.certainty {
        Certainty::Sure => "sure".into(),
        other => format!("{}: CPU {}", other.word(), cpus(judged)),
    };
    format!(
        "{time}  {task:<22}  CPU {:>3} -> {:<3}  {:<12} recorded {:<3}  {verdict:<7}  {sure}\n",
        ours.prev, ours.chosen, ours.rule, judged.recorded
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

fn disagreements_json(tally: &Tally) -> Vec<Value> {
    let row = |way: &fairground_trace::hindsight::Disagreement| {
        json!({
            "rule": way.rule,
            "goes_to": way.ours.text(),
            "recorded": way.recorded.text(),
            "recorded_rule": way.recorded_rule,
            "count": way.count,
            "sure": way.sure,
            "first_ns": way.first,
        })
    };
    tally.disagreements().iter().map(row).collect()
}

fn brief(judged: &Judged) -> Map<String, Value> {
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
        "certainty": judged.certainty.word(),
        "possible": judged.possible,
    });
    match object {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

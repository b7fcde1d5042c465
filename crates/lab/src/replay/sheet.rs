//! A table for a replay: recorded, simulated, difference, and a verdict on fidelity; and two schedulers on one
//! recording.

use std::fmt::Write;

use comfy_table::{presets, CellAlignment, Table};
use fairground_run::batch::{Results, RunReport};
use fairground_run::metrics::{Metric, MetricValue};
use fairground_run::run_config::notes;
use fairground_trace::Note;
use serde::Serialize;
use serde_json::{json, Value};

use super::{LeftOut, ReplayRunner};
use crate::comparison::{Report, Settings};
use crate::stats::Summary;
use crate::tables::{documents, finish, number, pairs, percent, seed_range, trailer};

/// Name and version of the schema.
const SCHEMA: &str = "fairground-replay-1";

/// A row is within the limit if the difference is at most this, percent of the recorded value.
pub const WITHIN_PCT: f64 = 10.0;
/// A row that is a share, in percent, is within the limit if the difference is at most this, percentage points.
pub const WITHIN_POINTS: f64 = 5.0;
/// A replay is faithful if the load is repeated and this share of rows is within the limit, percent.
pub const FAITHFUL_PCT: f64 = 75.0;

/// Whether schedulers are compared by this row: less is better.
fn is_compared(row: &str) -> bool {
    row.starts_with("wakeup_latency_") || ["switches_per_s", "migrations"].contains(&row)
}

/// Whether the row is a run time. An import puts run times into the workload: they are the same unless the load is not
/// repeated.
fn is_imported(row: &str) -> bool {
    row.starts_with("run_s(")
}

/// One metric under one scheduler.
#[derive(Clone, Debug)]
pub struct SheetRow {
    /// The metric, with unit.
    pub metric: Metric,
    /// The recorded value; `None` for a row that compares the run with the recording.
    pub recorded: Option<f64>,
    /// Values of the runs, by seed.
    pub simulated: Vec<f64>,
}

impl SheetRow {
    fn summary(&self) -> Summary {
        Summary::of(&self.simulated)
    }

    /// Mean of the runs minus the recorded value, in the row's unit; `None` without a recorded value.
    pub fn off_by(&self) -> Option<f64> {
        Some(self.summary().mean - self.recorded?)
    }

    /// Mean of the runs minus the recorded value, percent of the recorded value; `None` if that is 0 or missing.
    pub fn off_by_pct(&self) -> Option<f64> {
        let recorded = self.recorded.filter(|recorded| *recorded != 0.0)?;
        Some(self.off_by()? / recorded * 100.0)
    }

    /// Whether the row is within the limit ([`WITHIN_PCT`], [`WITHIN_POINTS`]); `None` for a row that is not judged.
    pub fn is_within(&self) -> Option<bool> {
        let off = self.off_by().filter(|_| !is_imported(&self.metric.name))?;
        let near = self.off_by_pct().map_or(off == 0.0, |pct| pct.abs() <= WITHIN_PCT);
        Some(near || self.metric.unit == "%" && off.abs() <= WITHIN_POINTS)
    }

    fn cells(&self) -> [String; 5] {
        let Metric { name, unit, .. } = &self.metric;
        let Summary { mean, sd, .. } = self.summary();
        let simulated = if sd == 0.0 { number(mean) } else { format!("{} ± {}", number(mean), number(sd)) };
        let off_by = self.off_by().map_or("-".into(), |off| match self.off_by_pct() {
            _ if unit == "%" => format!("{} points", signed(off)),
            Some(_) => percent(self.off_by_pct()),
            None => format!("{} {unit}", signed(off)),
        });
        [name.clone(), unit.clone(), self.recorded.map_or("-".into(), number), simulated, off_by]
    }

    fn json(&self) -> Value {
        json!({
            "name": self.metric.name,
            "unit": self.metric.unit,
            "recorded": self.recorded,
            "simulated": self.summary(),
            "off_by": self.off_by(),
            "off_by_pct": self.off_by_pct(),
            "within": self.is_within(),
        })
    }
}

fn signed(x: f64) -> String {
    format!("{}{}", if x > 0.0 { "+" } else { "" }, number(x))
}

/// Whether the load is repeated. `wakeups_pct`: wakeups of a run, percent of the recorded ones.
fn is_repeated(wakeups_pct: f64) -> bool {
    (wakeups_pct - 100.0).abs() <= WITHIN_PCT
}

/// How closely a replay follows its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// The load is repeated, and [`FAITHFUL_PCT`] of the rows are within the limit.
    Faithful,
    /// The load is repeated, but fewer rows are within the limit.
    PartlyFaithful,
    /// The load is not repeated: wakeups or run times are off by more than [`WITHIN_PCT`].
    NotFaithful,
    /// No run completed.
    Unknown,
}

/// The replay of a recording under one scheduler.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Name of the scheduler.
    pub sched: String,
    /// One row for each metric.
    pub rows: Vec<SheetRow>,
    /// Wakeups of the runs, percent of the recorded ones; `None` without recorded wakeups or completed runs.
    wakeups_pct: Option<f64>,
    /// Run time by which threads differ from the recording, percent of all; `None` without completed runs.
    run_off_pct: Option<f64>,
}

impl Sheet {
    fn new(sched: String, replay: &ReplayRunner, runs: &[Result<RunReport, String>]) -> Sheet {
        let done: Vec<&RunReport> = runs.iter().flatten().collect();
        let recorded = replay.recorded();
        let row = |MetricValue { metric, .. }: &MetricValue| {
            let value = |run: &&RunReport| run.metrics.iter().find(|m| m.metric.name == metric.name).map(|m| m.value);
            let recorded = recorded.iter().find(|m| m.metric.name == metric.name).map(|m| m.value);
            SheetRow { metric: metric.clone(), recorded, simulated: done.iter().filter_map(value).collect() }
        };
        let rows: Vec<SheetRow> = done.first().map_or(Vec::new(), |run| run.metrics.iter().map(row).collect());
        let find = |name: &str| rows.iter().find(|row| row.metric.name == name);
        let wakeups_pct = find("wakeups").and_then(SheetRow::off_by_pct).map(|off| 100.0 + off);
        let run_off_pct = find("run_off_pct").map(|row| row.summary().mean);
        Sheet { sched, rows, wakeups_pct, run_off_pct }
    }

    /// Number of rows within the limit, and number of judged rows.
    pub fn within(&self) -> (usize, usize) {
        let judged: Vec<bool> = self.rows.iter().filter_map(SheetRow::is_within).collect();
        (judged.iter().filter(|within| **within).count(), judged.len())
    }

    /// How closely the replay follows the recording.
    pub fn grade(&self) -> Grade {
        let (within, of) = self.within();
        let repeated = self.wakeups_pct.is_none_or(is_repeated) && self.run_off_pct.is_none_or(|off| off <= WITHIN_PCT);
        match (of, repeated) {
            (0, _) => Grade::Unknown,
            (_, false) => Grade::NotFaithful,
            _ if within as f64 >= of as f64 * FAITHFUL_PCT / 100.0 => Grade::Faithful,
            _ => Grade::PartlyFaithful,
        }
    }

    /// The grade as a sentence, with its reason.
    pub fn verdict(&self) -> String {
        let (within, of) = self.within();
        let rows = format!("{within} of {of} rows are within {WITHIN_PCT} %");
        match self.grade() {
            Grade::Faithful => format!("faithful: the load is repeated, and {rows}"),
            Grade::PartlyFaithful => format!("partly faithful: the load is repeated, but only {rows}"),
            Grade::NotFaithful => {
                let wakeups = self.wakeups_pct.filter(|pct| !is_repeated(*pct));
                let wakeups = wakeups.map(|pct| format!("{pct:.0} % of the recorded wakeups happen"));
                let run = self.run_off_pct.filter(|off| *off > WITHIN_PCT);
                let run = run.map(|off| format!("run times of threads are off by {off:.0} %"));
                let why: Vec<String> = wakeups.into_iter().chain(run).collect();
                format!("not faithful: {}: do not read latencies from it", why.join(" and "))
            }
            Grade::Unknown => "unknown: no run completed".into(),
        }
    }

    fn text(&self, out: &mut String) {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_header(["row", "unit", "recorded", "simulated", "off by"]);
        for row in &self.rows {
            table.add_row(row.cells());
        }
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let _ = writeln!(out, "sched      {}\n\n{}", self.sched, finish(&mut table));
        let _ = writeln!(out, "fidelity   {}\n", self.verdict());
    }

    fn json(&self) -> Value {
        let (within, of) = self.within();
        json!({
            "sched": self.sched,
            "rows": self.rows.iter().map(SheetRow::json).collect::<Vec<_>>(),
            "fidelity": { "grade": self.grade(), "within": within, "of": of, "verdict": self.verdict() },
        })
    }
}

/// A recording under one or several schedulers.
#[derive(Clone, Debug)]
pub struct ReplayReport {
    /// One sheet a scheduler, in the order given.
    pub sheets: Vec<Sheet>,
    /// The first scheduler against each other one.
    pub comparison: Report,
    of_trace: Vec<Note>,
    machine: String,
    recording: String,
    left_out: Vec<LeftOut>,
}

impl ReplayReport {
    /// The report on all runs: `results` is `[scheduler][seed]`.
    pub fn new(
        replay: &ReplayRunner,
        [machine, recording]: [&str; 2],
        seeds: &[u64],
        results: &Results,
    ) -> ReplayReport {
        let scheds: Vec<String> = replay.experiment.scheds.iter().map(ToString::to_string).collect();
        let sheet = |(sched, runs): (&String, &Vec<_>)| Sheet::new(sched.clone(), replay, runs);
        let sides: Vec<Settings> = scheds.iter().map(|sched| Settings::new(machine, recording, sched)).collect();
        let mut comparison = Report::new(&sides, seeds, results);
        comparison.comparisons.iter_mut().for_each(|c| c.rows.retain(|row| is_compared(&row.metric.name)));
        let of_trace = replay.imported.notes.iter().map(ToString::to_string);
        of_trace.chain(notes(&replay.experiment.config)).for_each(|note| comparison.note(note));
        ReplayReport {
            sheets: scheds.iter().zip(results).map(sheet).collect(),
            comparison,
            of_trace: replay.imported.notes.clone(),
            machine: machine.into(),
            recording: recording.into(),
            left_out: replay.imported.events.left_out(),
        }
    }

    /// Notes on the recording, its runs and their comparison.
    pub fn notes(&self) -> Vec<Note> {
        let of_trace = |text: &String| self.of_trace.iter().find(|note| **note == text.as_str()).cloned();
        self.comparison.notes.iter().map(|text| of_trace(text).unwrap_or_else(|| Note::Hint(text.clone()))).collect()
    }

    /// The report as text for a terminal of so many columns.
    pub fn text(&self, columns: usize) -> String {
        let mut out = format!("machine    {}\nrecording  {}\n", self.machine, self.recording);
        let _ = writeln!(out, "seeds      {}\n", seed_range(&self.comparison.seeds));
        self.sheets.iter().for_each(|sheet| sheet.text(&mut out));
        self.meanings(&mut out);
        for LeftOut { rows, lacks } in &self.left_out {
            let _ = writeln!(out, "left out: {rows}: the recording has no {lacks}");
        }
        if self.sheets.len() > 1 {
            let _ = write!(out, "\n{}", pairs(&self.comparison, columns));
        }
        trailer(&mut out, &self.comparison, "");
        out
    }

    /// Appends the meaning of each row.
    fn meanings(&self, out: &mut String) {
        let rows = self.sheets.iter().map(|sheet| sheet.rows.as_slice()).find(|rows| !rows.is_empty()).unwrap_or(&[]);
        // Rows of threads of a name are explained together.
        let name = |row: &SheetRow| match row.metric.name.split_once('(') {
            Some((name, _)) => format!("{name}(NAME)"),
            None => row.metric.name.clone(),
        };
        let mut lines: Vec<(String, &str)> = rows.iter().map(|row| (name(row), row.metric.meaning.as_str())).collect();
        lines.dedup();
        let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max("simulated".len());
        for (name, meaning) in lines {
            let _ = writeln!(out, "{name:width$}  {meaning}");
        }
        let _ = writeln!(
            out,
            "\n{:width$}  mean ± standard deviation over the seeds, measured as the recording is\n\
             {:width$}  simulated less recorded, in percent of recorded; of shares in points",
            "simulated", "off by"
        );
    }

    /// The report as JSON in the documented schema.
    pub fn json(&self) -> Value {
        json!({
            "schema": SCHEMA,
            "machine": self.machine,
            "recording": self.recording,
            "seeds": self.comparison.seeds.len(),
            "scheds": self.sheets.iter().map(Sheet::json).collect::<Vec<_>>(),
            "left_out": self.left_out,
            "comparisons": documents(&self.comparison),
            "notes": self.comparison.notes,
            "failures": self.comparison.failures,
        })
    }

    /// Rows for a table, all with the same members: a row for each scheduler and metric.
    pub fn rows(&self) -> Vec<Value> {
        let rows = |sheet: &Sheet| {
            let row = |row: &SheetRow| {
                let mut object = json!({ "sched": sheet.sched });
                if let (Some(object), Value::Object(row)) = (object.as_object_mut(), row.json()) {
                    object.extend(row);
                }
                object
            };
            sheet.rows.iter().map(row).collect::<Vec<_>>()
        };
        self.sheets.iter().flat_map(rows).collect()
    }
}

#[cfg(test)]
mod tests {
    use fairground_run::metrics::Better;

    use super::*;

    fn row(name: &str, unit: &str, recorded: Option<f64>, simulated: f64) -> SheetRow {
        let metric = Metric::new(name, unit, Better::Lower, "");
        SheetRow { metric, recorded, simulated: vec![simulated; 2] }
    }

    fn sheet(wakeups_pct: f64, latency: f64) -> Sheet {
        let rows = vec![
            row("wakeup_latency_p50_us", "us", Some(100.0), latency),
            row("idle_state0_pct", "%", Some(1.0), 5.5),
            row("same_cpu_pct", "%", None, 12.0),
            row("run_s(a)", "s", Some(1.0), 1.0),
        ];
        Sheet { sched: "fair:v6.12".into(), rows, wakeups_pct: Some(wakeups_pct), run_off_pct: Some(0.0) }
    }

    #[test]
    fn rows_are_off_in_percent_or_in_points_and_never_better_or_worse() {
        let off = |row: SheetRow| row.cells()[4].clone();
        assert_eq!(off(row("span_s", "s", Some(2.0), 2.5)), "+25.00 %");
        assert_eq!(off(row("span_s", "s", Some(2.0), 2.0)), "0.00 %");
        assert_eq!(off(row("idle_state0_pct", "%", Some(2.0), 1.5)), "-0.5000 points");
        assert_eq!(off(row("migrations", "count", Some(0.0), 3.0)), "+3 count");
        assert_eq!(off(row("same_cpu_pct", "%", None, 3.0)), "-");
        let within = |recorded, simulated| row("x", "us", Some(recorded), simulated).is_within();
        assert_eq!(
            [within(10.0, 11.0), within(10.0, 11.5), within(0.0, 0.0), within(0.0, 0.1)].map(Option::unwrap),
            [true, false, true, false]
        );
    }

    #[test]
    fn a_verdict_is_one_sentence_by_the_rule() {
        assert_eq!(sheet(98.0, 105.0).verdict(), "faithful: the load is repeated, and 2 of 2 rows are within 10 %");
        assert_eq!(
            sheet(98.0, 150.0).verdict(),
            "partly faithful: the load is repeated, but only 1 of 2 rows are within 10 %"
        );
        assert_eq!(
            sheet(60.0, 105.0).verdict(),
            "not faithful: 60 % of the recorded wakeups happen: do not read latencies from it"
        );
        assert_eq!(Sheet { rows: vec![], ..sheet(1.0, 1.0) }.grade(), Grade::Unknown);
    }
}

//! The table of a grid as CSV and JSON: a row for each run on record, in the order of the experiment.
//!
//! Columns are those of the Python package's tables: one for each axis, `seed`, `hash` of the event stream, then all figures
//! by name, then [`Provenance::COLUMNS`], what the run was made by and from. A figure with the name of another column has `_`
//! appended. Runs are given twice: first for the names of their figures, then for their rows, so that no table is held in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::rc::Rc;

use fairground_run::batch::RunReport;
use fairground_run::experiment::Experiment;
use fairground_run::metrics::Better;
use fairground_run::sweep_file::SweepFile;
use serde_json::{json, Map, Value};

use crate::provenance::{MadeBy, Provenance, RunColumns};
use crate::tables::{printable, CsvWriter};

/// Version of the JSON.
pub const SCHEMA: &str = "fairground-sweep-1";

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepFormat {
    /// Comma-separated values; a figure that a run does not have is empty.
    Csv,
    /// One object with `rows[]`; a figure that a run does not have is `null`.
    Json,
}

/// The columns of a grid's table.
pub struct SweepTable<'a> {
    sweep: &'a SweepFile,
    by: MadeBy,
    /// Unit and direction of each figure.
    figures: BTreeMap<String, (String, Better)>,
    /// What points were made from, each once.
    made_from: BTreeSet<Rc<RunColumns>>,
}

impl<'a> SweepTable<'a> {
    /// The table without figures. `by`: the program that writes it.
    pub fn new(sweep: &'a SweepFile, by: MadeBy) -> SweepTable<'a> {
        SweepTable { sweep, by, figures: BTreeMap::new(), made_from: BTreeSet::new() }
    }

    /// Adds the names of the figures of a run.
    pub fn add_figures(&mut self, run: &RunReport) {
        for value in &run.metrics {
            let metric = &value.metric;
            if !self.figures.contains_key(&metric.name) {
                self.figures.insert(metric.name.clone(), (metric.unit.clone(), metric.better));
            }
        }
    }

    /// What the runs of an experiment are made from, for their rows. Equal ones are kept once: a grid may have a million points.
    pub fn made_from(&mut self, experiment: &Experiment) -> Rc<RunColumns> {
        let made_from = Provenance::new(self.by.clone(), [(experiment, 0)]).run_columns();
        if let Some(known) = self.made_from.get(&made_from) {
            return Rc::clone(known);
        }
        let made_from = Rc::new(made_from);
        self.made_from.insert(Rc::clone(&made_from));
        made_from
    }

    /// Begins the table: what stands before its rows is written.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn begin<W: Write>(&self, format: SweepFormat, mut out: W) -> io::Result<SweepRows<'_, W>> {
        let mut columns: Vec<String> = self.sweep.axes.iter().map(|axis| axis.name.clone()).collect();
        columns.extend(["seed".to_owned(), "hash".to_owned()]);
        let mut add = |name: &str| {
            let mut name = name.to_owned();
            while columns.contains(&name) {
                name.push('_');
            }
            columns.push(name.clone());
            name
        };
        let figures: Vec<String> = self.figures.keys().map(|name| add(name)).collect();
        let rows = match format {
            SweepFormat::Csv => {
                Provenance::COLUMNS.iter().for_each(|name| drop(add(name)));
                let mut csv = CsvWriter::new(out);
                csv.row(columns.iter().map(|name| printable(name)))?;
                Rows::Csv(Box::new(csv))
            }
            SweepFormat::Json => {
                let about = |(name, (unit, better)): (&String, &(String, Better))| {
                    (name.clone(), json!({ "unit": unit, "better": better.word() }))
                };
                let metrics: Map<String, Value> = figures.iter().zip(self.figures.values()).map(about).collect();
                let axes: Vec<&str> = self.sweep.axes.iter().map(|axis| axis.name.as_str()).collect();
                let mut head = json!({ "schema": SCHEMA, "name": self.sweep.name, "seeds": self.sweep.seeds, "axes": axes, "metrics": metrics });
                self.by.object().into_iter().for_each(|(name, value)| head[name] = value);
                Provenance::RUN_COLUMNS.iter().for_each(|name| drop(add(name)));
                // The rows take the place of the closing brace.
                let head = head.to_string();
                write!(out, "{},\n\"rows\": [", printable(head.strip_suffix('}').unwrap_or(&head)))?;
                Rows::Json { out, is_first: true }
            }
        };
        Ok(SweepRows { table: self, columns, rows })
    }
}

enum Rows<W: Write> {
    Csv(Box<CsvWriter<W>>),
    Json { out: W, is_first: bool },
}

/// A table that is being written.
pub struct SweepRows<'a, W: Write> {
    table: &'a SweepTable<'a>,
    columns: Vec<String>,
    rows: Rows<W>,
}

impl<W: Write> SweepRows<'_, W> {
    /// Writes the row of a run: its point, by its number in [`SweepFile::grid`], what it was made from
    /// ([`SweepTable::made_from`]), and its seed.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn row(&mut self, point: u64, made_from: &RunColumns, seed: u64, run: &RunReport) -> io::Result<()> {
        let figure = |name: &String| run.metrics.iter().find(|value| value.metric.name == *name).map(|m| m.value);
        let figures = self.table.figures.keys().map(figure);
        let axes = self.table.sweep.levels(point).into_iter();
        let hash = format!("{:032x}", run.hash);
        match &mut self.rows {
            Rows::Csv(csv) => {
                let cells = axes.map(text).chain([seed.to_string(), hash]);
                let figures = figures.map(|value| value.map_or(String::new(), |value| value.to_string()));
                csv.row(cells.chain(figures).chain(self.table.by.columns(made_from.clone())))
            }
            Rows::Json { out, is_first } => {
                let cells = axes.cloned().chain([json!(seed), json!(hash)]).chain(figures.map(|f| json!(f)));
                let made = made_from.iter().map(|made| json!(made));
                let row: Map<String, Value> = self.columns.iter().cloned().zip(cells.chain(made)).collect();
                let comma = if std::mem::take(is_first) { "" } else { "," };
                write!(out, "{comma}\n{}", printable(&Value::Object(row).to_string()))
            }
        }
    }

    /// Writes what stands behind the rows.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(self) -> io::Result<()> {
        match self.rows {
            Rows::Csv(csv) => csv.finish(),
            Rows::Json { mut out, .. } => {
                out.write_all(b"\n]}\n")?;
                out.flush()
            }
        }
    }
}

/// A level as text; whole numbers without a point, as in the Python package's CSV.
fn text(level: &Value) -> String {
    match level {
        Value::String(text) => printable(text).into_owned(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string()),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use fairground_run::metrics::{Metric, MetricValue};
    use fairground_run::run_spec::{Inputs, Resolver};

    use super::*;

    fn sweep() -> SweepFile {
        let text = "experiment = { name = \"s\", seeds = 2 }\n\
                    fixed = { machine = \"hikey960\", sched = \"fair:v5.9\" }\n\
                    [axes]\nworkload = [\"sched-pipe:loops=10\", \"sched-pipe:loops=20\"]\n\
                    features = { asym-prev-first = [false, true] }\nsettings = { ambient = [20, 30.5] }\n";
        SweepFile::read("s.toml", text, ".".as_ref(), Inputs::default()).unwrap()
    }

    fn run(names: &[(&str, f64)]) -> RunReport {
        let metrics = names
            .iter()
            .map(|(name, value)| MetricValue { metric: Metric::new(*name, "us", Better::Lower, ""), value: *value });
        RunReport { metrics: metrics.collect(), hash: 0xab, notes: Vec::new() }
    }

    fn written(format: SweepFormat) -> String {
        let sweep = sweep();
        let by = MadeBy::new("1.2.3", "0123456789ab", Some("fairground sweep s.toml".into()));
        let by = MadeBy { program_hash: "aabb", ..by };
        let runs = [(0, 1, run(&[("b", 1.5), ("a", -2.0)])), (7, 2, run(&[("seed", 3.0)]))];
        let resolver = Resolver::new(Inputs::default());
        let mut table = SweepTable::new(&sweep, by);
        runs.iter().for_each(|(.., run)| table.add_figures(run));
        let made_from = [0, 7].map(|point| {
            let spec = sweep.grid().nth(point).unwrap();
            table.made_from(&spec.experiment(&resolver).unwrap().0)
        });
        let mut out = Vec::new();
        let mut rows = table.begin(format, &mut out).unwrap();
        for ((point, seed, run), made_from) in runs.iter().zip(&made_from) {
            rows.row(*point, made_from, *seed, run).unwrap();
        }
        rows.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn csv_has_the_columns_of_the_python_package() {
        let hash = "000000000000000000000000000000ab";
        let csv = written(SweepFormat::Csv);
        let lines: Vec<&str> = csv.lines().collect();
        let head = "workload,asym-prev-first,ambient,seed,hash,a,b,seed_";
        assert_eq!(lines[0], format!("{head},{}", Provenance::COLUMNS.join(",")));
        let program = "1.2.3,0123456789ab,aabb";
        let first = format!("sched-pipe:loops=10,false,20,1,{hash},-2,1.5,,{program},");
        let second = format!("sched-pipe:loops=20,true,30.5,2,{hash},,,3,{program},");
        assert!(lines[1].starts_with(&first) && lines[2].starts_with(&second) && lines.len() == 3, "{csv}");
        assert!(lines[1..].iter().all(|line| line.ends_with(",fairground sweep s.toml")), "{csv}");
    }

    /// The machine of all points is one, the workloads are two.
    #[test]
    fn rows_say_what_they_were_made_from() {
        let json: Value = serde_json::from_str(&written(SweepFormat::Json)).unwrap();
        let [first, second] = [&json["rows"][0], &json["rows"][1]];
        assert_eq!(json["command"], "fairground sweep s.toml");
        assert_eq!(first["machine_hash"], second["machine_hash"]);
        assert_ne!(first["workload_hash"], second["workload_hash"]);
        let settings =
            |ambient: &str| json!(format!("governor=performance idle_governor=menu hz=250 ambient={ambient}"));
        assert_eq!((&first["settings"], &second["settings"]), (&settings("20"), &settings("30.5")));
        assert!(first["figures"].as_str().unwrap().contains("figures sourced"));
        assert_eq!((&first["kernel_hash"], &first["workload_estimates"]), (&json!(""), &json!("2")));
    }

    #[test]
    fn json_has_types_units_and_the_program() {
        let text = written(SweepFormat::Json);
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&json["schema"], &json["name"], &json["commit"]),
            (&json!(SCHEMA), &json!("s"), &json!("0123456789ab"))
        );
        assert_eq!(json["axes"], json!(["workload", "asym-prev-first", "ambient"]));
        assert_eq!(json["metrics"]["seed_"], json!({ "unit": "us", "better": "lower" }));
        let rows = json["rows"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[1]["asym-prev-first"], &rows[1]["ambient"]), (2, &json!(true), &json!(30.5)));
        assert_eq!((&rows[1]["seed"], &rows[1]["seed_"], &rows[1]["a"]), (&json!(2), &json!(3.0), &Value::Null));
        assert_eq!(text.lines().count(), 3 + 2, "a line for each run");
    }

    #[test]
    fn a_table_without_runs_is_whole() {
        let sweep = sweep();
        let table = SweepTable::new(&sweep, MadeBy::new("1", "c", None));
        for (format, parts) in [(SweepFormat::Csv, "ambient,seed,hash,version"), (SweepFormat::Json, "\"rows\": [\n]}")]
        {
            let mut out = Vec::new();
            table.begin(format, &mut out).unwrap().finish().unwrap();
            assert!(String::from_utf8(out).unwrap().contains(parts));
        }
    }
}

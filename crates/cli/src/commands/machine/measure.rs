//! `fairground machine measure`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use fairground_host::{Host, Keeper};
use fairground_lab::tables::number;
use fairground_machine::{preset_text, Machine, MachineSpec};
use fairground_measure::{
    check_arrangement, measure, ClockFigure, FigureEstimate, MeasureError, MeasureOptions, Measurement, PowerFigure,
    PowerFit, PowerReading, Powers, RowFit, Rule, SmtFigure, Standing, WakeFigure,
};
use fairground_validate::report::date;
use serde_json::{json, Value};

use crate::commands::calibrate::NotAFile;
use crate::commands::play::kernel;
use crate::commands::run::RunFormat;
use crate::error::{run_failed, End, Failure};
use crate::input::capture_this;
use crate::output::{note, print, print_beside, stop_on_signals, OutputFile};
use crate::progress::Progress;
use crate::provenance::made_by;
use crate::restore::{hold, restore, restore_left};

/// Name and version of the schema.
const SCHEMA: &str = "fairground-measure-1";

/// Measures the costs of this machine.
#[derive(Args)]
pub struct Measure {
    /// Preset or file that describes this machine [default: as `machine capture` sees it]
    #[arg(value_name = "FILE")]
    machine: Option<String>,
    /// Rounds, in each of which everything is measured once
    #[arg(long, value_name = "N", default_value = "40", value_parser = clap::value_parser!(u64).range(3..=10_000))]
    rounds: u64,
    /// Time after which no further round begins, s
    #[arg(long, value_name = "S", default_value = "300", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    budget: u64,
    /// Write the machine file with the measured figures here; - is standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write the measured figures into FILE, its other text stays
    #[arg(long, requires = "machine", conflicts_with = "output")]
    write: bool,
    /// Change nothing on this machine: what only root can set, and is restored, is not measured
    #[arg(long)]
    no_change: bool,
    /// Restore what a command that was killed has changed on this machine, and do nothing else
    #[arg(long, exclusive = true)]
    restore: bool,
    /// How to print the figures
    #[arg(long, value_enum, default_value_t)]
    format: RunFormat,
}

impl Measure {
    pub fn run(self) -> Result<End, Failure> {
        if self.restore {
            return restore();
        }
        let spec = self.machine.as_deref().map(MachineSpec::parse);
        let file = spec.as_ref().and_then(MachineSpec::file);
        if let (true, None, Some(name)) = (self.write, file, &self.machine) {
            return Err(NotAFile(name.clone()).into());
        }
        let out = match (&self.output, file) {
            (Some(path), file) => Some(OutputFile::beside(path, &[file])?),
            (None, Some(file)) if self.write => Some(OutputFile::create(file)?),
            _ => None,
        };
        // First of all: what a killed command left, idle states that are disabled say, would be captured.
        let keeper = self.keeper()?;
        let allowed = fairground_play::affinity().map_err(run_failed)?;
        let captured = capture_this()?;
        let (name, text, machine) = match &self.machine {
            None => {
                captured.notes.iter().for_each(|text| note(text));
                ("captured.toml".to_owned(), captured.to_toml(), captured.machine.clone())
            }
            Some(name) => {
                let machine = Machine::find(name)?;
                check_arrangement(&machine, &captured.machine, name)?;
                let text = match file {
                    Some(path) => Machine::read(path)?,
                    None => preset_text(name).unwrap_or_default().to_owned(),
                };
                (name.clone(), text, machine)
            }
        };
        let (kernel, stop, progress) = (kernel(), stop_on_signals(), Progress::endless());
        let host = Host::new(Path::new("/"), true);
        let options = MeasureOptions {
            rounds: self.rounds as usize,
            budget: Duration::from_secs(self.budget),
            kernel: &kernel,
            host: &host,
            keeper: keeper.as_ref().map_err(String::as_str),
            stop: &stop,
            tell: &|_| progress.step(),
        };
        let measurement = measure(&machine, &allowed, &options).map_err(|error| match error {
            MeasureError::Interrupted => Failure::Interrupted("interrupted; nothing was written".into()),
            MeasureError::OtherMachine { .. } | MeasureError::NoCpu { .. } | MeasureError::Restore(_) => error.into(),
            _ => run_failed(error),
        })?;
        drop(progress);
        let today = date(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()));
        let stated = Machine::restated(&name, &text, &measurement.new_figures(&machine, &kernel, &today))?;
        let report = Report { asked: &self, machine: &machine, kernel: &kernel, measurement: &measurement };
        let shown = match self.format {
            RunFormat::Text => report.text(),
            RunFormat::Json => report.json(),
        };
        match out {
            None => print(&shown)?,
            Some(mut out) => {
                let path = out.path().to_owned();
                out.write_all(stated.as_bytes()).map_err(|e| cannot_write(&path, &e))?;
                out.finish()?;
                print_beside(&path, &shown)?;
            }
        }
        Ok(End::Done)
    }
}

impl Measure {
    /// The place of the record of what is to be restored; else why nothing is changed.
    fn keeper(&self) -> Result<Result<Keeper, String>, Failure> {
        if self.no_change {
            return Ok(Err("--no-change".into()));
        }
        match hold() {
            Ok(keeper) => restore_left(&keeper).map(|()| Ok(keeper)),
            Err(Failure::Run(why) | Failure::Input(why)) => Ok(Err(why.to_string())),
            Err(interrupted) => Err(interrupted),
        }
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    run_failed(format!("cannot write {}: {error}", path.display()))
}

/// What was measured, as text or JSON.
struct Report<'a> {
    asked: &'a Measure,
    machine: &'a Machine,
    kernel: &'a str,
    measurement: &'a Measurement,
}

/// How a figure came out, in a word of tables and JSON.
fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Measured => "measured",
        Standing::PartOfSum => "part of a sum",
        Standing::Unsettled => "not settled",
        Standing::TooSmall => "too small",
    }
}

fn is_taken(figure: &FigureEstimate) -> bool {
    matches!(figure.standing, Standing::Measured | Standing::PartOfSum)
}

/// By how much `ours` is off, percent.
fn off_pct(ours: f64, ns: f64) -> f64 {
    100.0 * (ours / ns - 1.0)
}

impl Report<'_> {
    /// The sums, each with its members in the order of the file, and its value.
    fn sums(&self) -> Vec<(Vec<&FigureEstimate>, f64)> {
        let mut sums: Vec<(Vec<&FigureEstimate>, f64)> = Vec::new();
        let figures = &self.measurement.estimate.figures;
        for figure in figures.iter().filter(|figure| figure.standing == Standing::PartOfSum) {
            match sums.iter_mut().find(|(members, _)| members.iter().any(|member| member.with.contains(&figure.path))) {
                Some((members, sum)) => {
                    members.push(figure);
                    *sum += figure.ns;
                }
                None => sums.push((vec![figure], figure.ns)),
            }
        }
        sums
    }

    /// The median of the spreads of what is written.
    fn median_spread(&self) -> Option<f64> {
        let taken = self.measurement.estimate.figures.iter().filter(|figure| is_taken(figure));
        let mut spreads: Vec<f64> = taken.map(|figure| figure.spread).collect();
        spreads.sort_by(f64::total_cmp);
        spreads.get(spreads.len() / 2).copied()
    }

    fn text(&self) -> String {
        let Measurement { estimate, places, sched, rounds, took, overhead_ns, notes, .. } = self.measurement;
        let mut out = String::new();
        let _ = writeln!(out, "machine    {}", self.machine.name);
        let there: Vec<String> = places.there.iter().map(|(far, cpu)| format!("{cpu} ({})", far.name())).collect();
        let there = if there.is_empty() { "no other".into() } else { there.join(", ") };
        let _ = writeln!(out, "measured   on this machine, Linux {}, CPU {} and {there}", self.kernel, places.here);
        let _ = writeln!(out, "simulated  with {sched}");
        let _ = writeln!(out, "rounds     {rounds} in {:.0} s", took.as_secs_f64());
        let [clock, step] = overhead_ns.map(number);
        let _ = writeln!(out, "taken off  {clock} ns of the clock a batch, {step} ns a step");

        let width = estimate.figures.iter().map(|figure| figure.path.len()).max().unwrap_or(0).max("figure".len());
        let _ = writeln!(out, "\n{:width$}  {:>9}  {:>9}  {:>6}  ", "figure", "before ns", "now ns", "spread");
        for figure in &estimate.figures {
            let (path, before) = (&figure.path, number(figure.before_ns));
            let (now, spread) = match figure.standing {
                Standing::TooSmall => ("-".into(), "-".into()),
                _ => (number(figure.ns), format!("{:.2}", figure.spread)),
            };
            let _ = writeln!(out, "{path:width$}  {before:>9}  {now:>9}  {spread:>6}  {}", word(figure.standing));
        }
        if let Some(spread) = self.median_spread() {
            let taken = estimate.figures.iter().filter(|figure| is_taken(figure)).count();
            let _ = writeln!(
                out,
                "\n{taken} figures, median spread {spread:.2}; misfit of the rows {:.1} %",
                100.0 * estimate.misfit
            );
        }
        for (members, sum) in self.sums() {
            let names: Vec<&str> = members.iter().map(|member| &*member.path).collect();
            let _ = writeln!(out, "sum: {} = {} ns", names.join(" + "), number(sum));
        }
        self.text_of_wakes(&mut out);
        self.text_of_smt(&mut out);
        self.text_of_clocks(&mut out);
        self.text_of_powers(&mut out);
        self.text_of_rows(&mut out);
        notes.iter().for_each(|note| _ = writeln!(out, "note: {note}"));
        out
    }

    fn text_of_wakes(&self, out: &mut String) {
        let wakes = &self.measurement.wakes;
        let Some(width) = wakes.iter().map(|figure| figure.path.len()).max() else { return };
        let _ = writeln!(
            out,
            "\n{:width$}  {:>9}  {:>9}  {:6}  {:>6}  {:>5}",
            "single wakes of idle CPUs", "before", "now", "unit", "spread", "n"
        );
        for WakeFigure { path, before, value, unit, spread, samples, settled } in wakes {
            let [before, value] = [*before, *value].map(number);
            let standing = word(if *settled { Standing::Measured } else { Standing::Unsettled });
            let _ = writeln!(
                out,
                "{path:width$}  {before:>9}  {value:>9}  {unit:6}  {spread:>6.2}  {samples:>5}  {standing}"
            );
        }
    }

    fn text_of_smt(&self, out: &mut String) {
        let cores = &self.measurement.smt;
        let Some(width) = cores.iter().map(|figure| figure.path.len()).max() else { return };
        let list = |values: &[f64]| values.iter().map(|value| number(*value)).collect::<Vec<_>>().join(" ");
        let longest =
            |of: fn(&SmtFigure) -> &Vec<f64>| cores.iter().map(|figure| list(of(figure)).len()).max().unwrap_or(0);
        let (before_width, now_width) = (longest(|of| &of.before).max(6), longest(|of| &of.value).max(3));
        let _ = writeln!(
            out,
            "\n{:width$}  {:>before_width$}  {:>now_width$}  {:>6}  {:>5}",
            "busy threads 1, 2, ...", "before", "now", "spread", "n"
        );
        for SmtFigure { path, before, value, spread, samples, settled } in cores {
            let [before, value] = [before, value].map(|values| list(values));
            let standing = word(if *settled { Standing::Measured } else { Standing::Unsettled });
            let _ = writeln!(
                out,
                "{path:width$}  {before:>before_width$}  {value:>now_width$}  {spread:>6.2}  {samples:>5}  {standing}"
            );
        }
    }

    fn text_of_clocks(&self, out: &mut String) {
        let clocks = &self.measurement.clocks;
        let Some(width) = clocks.iter().map(|figure| figure.path.len()).max() else { return };
        let width = width.max("change of a clock".len());
        let _ = writeln!(
            out,
            "\n{:width$}  {:>9}  {:>9}  {:>6}  {:>5}  {:13}  between",
            "change of a clock", "before ns", "now ns", "spread", "n", ""
        );
        for figure in clocks {
            let ClockFigure { path, before_ns, ns, up_down_ns, khz, spread, samples, settled } = figure;
            let [before, now] = [*before_ns, *ns].map(number);
            let ([low, high], [up, down]) = (khz, up_down_ns.map(|ns| number((ns / 100.0).round() / 10.0)));
            let standing = word(if *settled { Standing::Measured } else { Standing::Unsettled });
            let _ = writeln!(
                out,
                "{path:width$}  {before:>9}  {now:>9}  {spread:>6.2}  {samples:>5}  {standing:13}  \
                 {low} and {high} kHz: up in {up} us, down in {down} us"
            );
        }
    }

    fn text_of_powers(&self, out: &mut String) {
        let Powers { readings, fits, figure, .. } = &self.measurement.powers;
        let Some(width) = readings.iter().map(|reading| reading.meter.len()).max() else { return };
        let clock = |khz: &Option<u64>| khz.map_or("as it is".into(), |khz| khz.to_string());
        let _ = writeln!(
            out,
            "\n{:width$}  {:>9}  {:>9}  {:>9}  {:>7}  {:>3}",
            "meter", "kHz", "busy CPUs", "mW", "error %", "n"
        );
        for PowerReading { meter, khz, busy, mw, error, samples } in readings {
            let (khz, mw, error) = (clock(khz), number(mw.round()), 100.0 * error);
            let _ = writeln!(out, "{meter:width$}  {khz:>9}  {busy:>9}  {mw:>9}  {error:>7.1}  {samples:>3}");
        }
        let _ = writeln!(
            out,
            "\n{:width$}  {:>9}  {:>9}  {:>9}  {:>6}",
            "line through them", "kHz", "mW a CPU", "rest mW", "spread"
        );
        for PowerFit { meter, khz, cpu_mw, rest_mw, spread, settled } in fits {
            let (khz, [cpu, rest]) = (clock(khz), [*cpu_mw, *rest_mw].map(|mw| number(mw.round())));
            let standing = word(if *settled { Standing::Measured } else { Standing::Unsettled });
            let _ = writeln!(out, "{meter:width$}  {khz:>9}  {cpu:>9}  {rest:>9}  {spread:>6.2}  {standing}");
        }
        if let Some(PowerFigure { path, before_mw, mw, spread }) = figure {
            let list = |values: &[f64]| values.iter().map(|mw| number(*mw)).collect::<Vec<_>>().join(" ");
            let _ = writeln!(out, "{path}: {} mW, before {}, spread {spread:.2}", list(mw), list(before_mw));
        }
    }

    fn text_of_rows(&self, out: &mut String) {
        let estimate = &self.measurement.estimate;
        let width = estimate.rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max("operation".len());
        let _ = writeln!(
            out,
            "\n{:width$}  {:>11}  {:>7}  {:>3}  {:>9}  {:>9}  {:>8}",
            "operation", "measured ns", "error %", "n", "before ns", "model ns", "off %"
        );
        for row in &estimate.rows {
            let RowFit { name, ns, error, rounds, before_ns, model_ns, .. } = row;
            let (error, off) = (100.0 * error, off_pct(*model_ns, *ns));
            let [ns, before, model] = [*ns, *before_ns, *model_ns].map(number);
            let _ = writeln!(
                out,
                "{name:width$}  {ns:>11}  {error:>7.1}  {rounds:>3}  {before:>9}  {model:>9}  {off:>+8.1}"
            );
        }
        let _ = writeln!(
            out,
            "\n{:width$}  {:>11}  {:>12}  {:>8}",
            "whole from its parts", "measured ns", "from parts", "off %"
        );
        for Rule { name, ns, predicted_ns } in &estimate.rules {
            let (predicted, off) = match predicted_ns {
                Some(predicted) => (number(*predicted), format!("{:+.1}", off_pct(*predicted, *ns))),
                None => ("not known".into(), "-".into()),
            };
            let _ = writeln!(out, "{name:width$}  {:>11}  {predicted:>12}  {off:>8}", number(*ns));
        }
        let outliers = estimate.rows.iter().map(|row| row.outliers * row.rounds as f64).sum::<f64>();
        let all = estimate.rows.iter().map(|row| row.rounds).sum::<usize>();
        let _ =
            writeln!(out, "\nnote: {outliers:.0} of {all} readings are more than three deviations off their median");
    }

    fn json(&self) -> String {
        let Measurement { estimate, wakes, smt, clocks, powers, places, sched, rounds, took, overhead_ns, notes } =
            self.measurement;
        let figures = estimate.figures.iter().map(|figure| {
            json!({
                "path": figure.path, "before_ns": figure.before_ns, "ns": figure.ns, "spread": figure.spread,
                "standing": word(figure.standing), "written": is_taken(figure), "with": figure.with,
            })
        });
        let rows = estimate.rows.iter().map(|row| {
            json!({
                "name": row.name, "ns": row.ns, "error_pct": 100.0 * row.error, "n": row.rounds,
                "outliers_pct": 100.0 * row.outliers, "before_ns": row.before_ns, "model_ns": row.model_ns,
            })
        });
        let rules = estimate
            .rules
            .iter()
            .map(|rule| json!({ "name": rule.name, "ns": rule.ns, "predicted_ns": rule.predicted_ns }));
        let wakes = wakes.iter().map(|figure| {
            json!({
                "path": figure.path, "before": figure.before, "value": figure.value, "unit": figure.unit,
                "spread": figure.spread, "n": figure.samples, "written": figure.settled,
            })
        });
        let clocks = clocks.iter().map(|figure| {
            json!({
                "path": figure.path, "before_ns": figure.before_ns, "ns": figure.ns, "up_ns": figure.up_down_ns[0],
                "down_ns": figure.up_down_ns[1], "khz": figure.khz, "spread": figure.spread, "n": figure.samples,
                "written": figure.settled && !figure.path.is_empty(),
            })
        });
        let Powers { readings, fits, figure, .. } = powers;
        let readings = readings.iter().map(|reading| {
            json!({
                "meter": reading.meter, "khz": reading.khz, "busy_cpus": reading.busy, "mw": reading.mw,
                "error_pct": 100.0 * reading.error, "n": reading.samples,
            })
        });
        let fits = fits.iter().map(|fit| {
            json!({
                "meter": fit.meter, "khz": fit.khz, "cpu_mw": fit.cpu_mw, "rest_mw": fit.rest_mw, "spread": fit.spread,
                "settled": fit.settled,
            })
        });
        let figure = figure.as_ref().map(|figure| {
            json!({ "path": figure.path, "before_mw": figure.before_mw, "mw": figure.mw, "spread": figure.spread })
        });
        let smt = smt.iter().map(|figure| {
            json!({
                "path": figure.path, "before": figure.before, "value": figure.value, "spread": figure.spread,
                "n": figure.samples, "written": figure.settled,
            })
        });
        let there = places.there.iter().map(|(far, cpu)| json!({ "distance": far.name(), "cpu": cpu }));
        let document = json!({
            "schema": SCHEMA,
            "machine": self.asked.machine,
            "kernel": self.kernel,
            "sched": sched,
            "cpus": { "here": places.here, "there": there.collect::<Vec<Value>>() },
            "rounds": rounds,
            "took_s": took.as_secs_f64(),
            "overhead_ns": { "clock": overhead_ns[0], "step": overhead_ns[1] },
            "misfit_pct": 100.0 * estimate.misfit,
            "median_spread": self.median_spread(),
            "figures": figures.collect::<Vec<Value>>(),
            "wakes": wakes.collect::<Vec<Value>>(),
            "smt": smt.collect::<Vec<Value>>(),
            "clocks": clocks.collect::<Vec<Value>>(),
            "power": {
                "readings": readings.collect::<Vec<Value>>(), "fits": fits.collect::<Vec<Value>>(), "figure": figure,
            },
            "rows": rows.collect::<Vec<Value>>(),
            "rules": rules.collect::<Vec<Value>>(),
            "notes": notes,
            "made_by": made_by(),
        });
        format!("{document:#}\n")
    }
}

//! The search for the largest regression and the largest gain: `fairground review --hunt MINUTES`.
//!
//! A *field* is a machine, as it is stated or on a draw of what is not known of it, and a built-in workload with ranges of its
//! options. In each field CMA-ES (crate `cmaes`; the options are its coordinates, each from 0 to 1 over the logarithm of its
//! range) looks for the options with the largest change from base to series, once to each side. Fields take turns, a
//! generation each; after each round the half with the smaller changes leaves, down to a few.
//!
//! The search sees two seeds and reports the smaller change of both. What it finds is a maximum over many noisy values, so it is
//! *confirmed* on seeds that were not searched, all findings judged together. A confirmed one is *shrunk*: option by option
//! towards the smallest value, and off its draw, as long as it stays better or worse and keeps half of its size. The smallest is
//! confirmed once more on seeds of its own; if it does not hold, the point that was found stays. Then it is saved as a machine file
//! and a matrix of one cell.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cmaes::{CMAESOptions, DVector, CMAES};
use fairground_lab::doubt::change_pct;
use fairground_lab::stats::{judge, Change, Terms, Verdict};
use fairground_machine::Machine;
use fairground_run::batch::RunReport;
use fairground_run::executor::{Asked, Executor};
use fairground_run::experiment::Experiment;
use fairground_run::metrics::{main_metric, Metric};
use fairground_run::run_config::RunConfig;
use serde_json::json;

use crate::answer::{percent, range};
use crate::matrix::Cell;
use crate::measure::{sides, Means, ReviewError};
use crate::series::plural;
use crate::stages::Stages;

/// Seeds of the search.
const SEARCHED: [u64; 2] = [1, 2];
/// Seeds of the confirmation, and of shrinking: none of them is searched.
const CONFIRMED: std::ops::RangeInclusive<u64> = 101..=116;
const SHRUNK: std::ops::RangeInclusive<u64> = 201..=208;
/// Seeds of the smallest point alone: shrinking selects among many on its own.
const REPEATED: std::ops::RangeInclusive<u64> = 301..=316;
/// Fields that stay to the end, for each side.
const FIELDS_MIN: usize = 4;
/// Findings that are confirmed, for each side.
const FINDINGS: usize = 5;
/// Part of the time that is kept for confirming and shrinking.
const SEARCH_PART: f64 = 0.7;
/// Draws of each machine, 0 being as it is stated.
const DRAWS: u64 = 3;
/// Largest change that counts, percent: beyond it figures differ in kind and not in size.
const MOST_PCT: f64 = 1000.0;

/// An option of a workload and its range.
struct Dimension {
    name: &'static str,
    from: f64,
    to: f64,
    is_whole: bool,
}

/// A built-in workload whose options are searched.
struct Family {
    name: &'static str,
    /// Options that stay as they are: they bound the length of a run.
    fixed: &'static str,
    dimensions: &'static [Dimension],
    /// The metric; `None`: the workload's main one.
    metric: Option<&'static str>,
}

const fn whole(name: &'static str, from: f64, to: f64) -> Dimension {
    Dimension { name, from, to, is_whole: true }
}

const fn real(name: &'static str, from: f64, to: f64) -> Dimension {
    Dimension { name, from, to, is_whole: false }
}

/// Ranges are what the benchmarks of the list use, from one thread to some more than CPUs of a large node.
const FAMILIES: [Family; 9] = [
    Family { name: "hackbench", fixed: "loops=20", dimensions: &[whole("groups", 1.0, 8.0)], metric: None },
    Family {
        name: "schbench",
        fixed: "runtime=0.15",
        dimensions: &[
            whole("message-threads", 1.0, 6.0),
            whole("threads", 1.0, 24.0),
            real("cputime", 100.0, 20_000.0),
            real("sleeptime", 100.0, 20_000.0),
        ],
        metric: Some("wakeup_latency_mean_us"),
    },
    Family {
        name: "periodic",
        fixed: "duration=0.3",
        dimensions: &[whole("tasks", 1.0, 64.0), real("duty", 2.0, 95.0), real("periods", 2.0, 40.0)],
        metric: Some("wakeup_latency_mean_us"),
    },
    Family {
        name: "fork-burst",
        fixed: "bursts=10",
        dimensions: &[whole("children", 1.0, 64.0), real("work", 20.0, 5000.0), real("gap", 1.0, 50.0)],
        metric: None,
    },
    Family {
        name: "dbench",
        fixed: "duration=0.05",
        dimensions: &[whole("clients", 1.0, 64.0), real("think", 2.0, 200.0), real("hold", 0.2, 20.0)],
        metric: None,
    },
    Family {
        name: "server",
        fixed: "duration=0.1",
        dimensions: &[whole("connections", 1.0, 64.0), real("think", 50.0, 5000.0), real("work", 5.0, 2000.0)],
        metric: None,
    },
    Family {
        name: "oltp",
        fixed: "duration=0.1",
        dimensions: &[
            whole("clients", 1.0, 48.0),
            real("work", 5.0, 500.0),
            real("locked", 1.0, 100.0),
            real("flush", 5.0, 1000.0),
        ],
        metric: None,
    },
    Family {
        name: "kbuild",
        fixed: "files=16",
        dimensions: &[whole("jobs", 1.0, 32.0), real("compile", 0.5, 10.0), real("link", 0.5, 10.0)],
        metric: None,
    },
    Family {
        name: "shell8",
        fixed: "duration=0.2",
        dimensions: &[whole("scripts", 1.0, 24.0), real("program", 50.0, 3000.0)],
        metric: None,
    },
];

/// A point of a field: what is run.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    machine: String,
    draw: u64,
    family: usize,
    values: Vec<f64>,
}

impl Point {
    /// The options at coordinates, each taken into 0 to 1.
    fn at(machine: &str, draw: u64, family: usize, coordinates: &[f64]) -> Point {
        let value = |(dimension, x): (&Dimension, &f64)| {
            let x = x.clamp(0.0, 1.0);
            let value = (dimension.from.ln() + x * (dimension.to.ln() - dimension.from.ln())).exp();
            rounded(dimension, value)
        };
        let values = FAMILIES[family].dimensions.iter().zip(coordinates).map(value).collect();
        Point { machine: machine.into(), draw, family, values }
    }

    fn workload(&self) -> String {
        let family = &FAMILIES[self.family];
        let options = family.dimensions.iter().zip(&self.values).map(|(d, value)| format!("{}={value}", d.name));
        let options: Vec<String> = std::iter::once(family.fixed.to_owned()).chain(options).collect();
        format!("{}:{}", family.name, options.join(","))
    }

    fn cell(&self) -> Cell {
        let options = if self.draw == 0 { Vec::new() } else { vec!["--draw".into(), self.draw.to_string()] };
        Cell {
            machine: self.machine.clone(),
            workload: self.workload(),
            config: RunConfig { draw: self.draw, ..RunConfig::default() },
            options,
            metrics: None,
        }
    }

    /// Smaller points, the boldest first.
    fn smaller(&self) -> Vec<Point> {
        let mut points = Vec::new();
        if self.draw != 0 {
            points.push(Point { draw: 0, ..self.clone() });
        }
        for (at, dimension) in FAMILIES[self.family].dimensions.iter().enumerate() {
            for part in [0.0, 0.5, 0.75] {
                let value = rounded(dimension, dimension.from + (self.values[at] - dimension.from) * part);
                if value < self.values[at] {
                    let mut smaller = self.clone();
                    smaller.values[at] = value;
                    points.push(smaller);
                }
            }
        }
        points
    }
}

/// Three significant digits, or a whole number.
fn rounded(dimension: &Dimension, value: f64) -> f64 {
    if dimension.is_whole {
        return value.round().clamp(dimension.from, dimension.to);
    }
    let step = 10f64.powi(value.abs().log10().floor() as i32 - 2);
    // Divided, so that 0.3 is written as such.
    let value = (value / step).round() / (1.0 / step).round().max(1.0) * if step > 1.0 { step } else { 1.0 };
    value.clamp(dimension.from, dimension.to)
}

/// The values of a metric for base and series.
struct Measured {
    metric: Metric,
    base: Vec<f64>,
    test: Vec<f64>,
}

/// What was found and confirmed.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What the search found.
    pub found: Cell,
    /// The smallest cell that still shows it.
    pub smallest: Cell,
    /// The metric.
    pub metric: String,
    /// The smaller change of the seeds that were searched, percent, positive = better.
    pub searched_pct: f64,
    /// The change on other seeds.
    pub confirmed: Change,
    /// That of the smallest cell, on seeds of its own.
    pub shrunk: Option<Change>,
}

impl Finding {
    /// Whether it holds on seeds that were not searched.
    pub fn is_confirmed(&self) -> bool {
        match self.searched_pct < 0.0 {
            true => self.confirmed.verdict == Verdict::Worse,
            false => self.confirmed.verdict == Verdict::Better,
        }
    }
}

/// What a hunt comes to.
pub struct Hunt {
    /// Points that were run.
    pub points: usize,
    /// Fields.
    pub fields: usize,
    /// Regressions first, then gains; the largest change of each first.
    pub findings: Vec<Finding>,
    /// Cells in which a run failed, with its message.
    pub failures: Vec<(Cell, String)>,
}

type Objective<'a> = Box<dyn FnMut(&DVector<f64>) -> f64 + Send + 'a>;

/// One machine and family, searched to one side.
struct Field<'a> {
    ground: &'a Ground<'a>,
    machine: String,
    draw: u64,
    family: usize,
    /// -1: a regression is looked for; 1: a gain.
    side: f64,
    /// Change of the best point so far, percent, and the point.
    best: Option<(f64, Point)>,
    search: CMAES<Objective<'a>>,
    is_done: bool,
}

/// What all fields share.
struct Ground<'a> {
    scheds: [String; 2],
    means: &'a Means<'a>,
    /// Smaller change of the searched seeds, percent, by cell; `None` where it has none.
    known: Mutex<BTreeMap<String, Option<f64>>>,
    failures: Mutex<Vec<(Cell, String)>>,
}

impl Ground<'_> {
    /// Runs base and series at a point.
    fn run(&self, point: &Point, seeds: &[u64], jobs: usize) -> Result<Option<Measured>, ReviewError> {
        let cell = point.cell();
        let scheds = [self.scheds[0].as_str(), self.scheds[1].as_str()];
        let experiments = sides(&cell, &scheds, cell.config, &self.means.workers)?.experiments;
        let metric = metric(&experiments[0], FAMILIES[point.family].metric);
        let mut executor = Executor::default();
        let asked: Vec<Asked> = experiments.iter().map(|experiment| executor.ask(experiment, 0, seeds)).collect();
        let outcomes = executor.carry_out(self.means.store, jobs, self.means.stop, &|_| ())?;
        let columns: Vec<Vec<Result<RunReport, String>>> = asked.into_iter().map(|asked| outcomes.of(asked)).collect();
        if let Some(message) = columns.iter().flatten().find_map(|run| run.as_ref().err()) {
            let mut failures = self.failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if failures.iter().all(|(_, known)| known != message) {
                failures.push((cell, message.clone()));
            }
            return Ok(None);
        }
        let Some(metric) = metric else { return Ok(None) };
        let value = |run: &Result<RunReport, String>| {
            let found = run.as_ref().ok()?.metrics.iter().find(|value| value.metric.name == metric.name);
            found.map(|value| value.value)
        };
        let pairs = columns[0].iter().zip(&columns[1]).filter_map(|(b, t)| Some((value(b)?, value(t)?)));
        let (base, test): (Vec<f64>, Vec<f64>) = pairs.unzip();
        Ok((base.len() == seeds.len()).then_some(Measured { metric, base, test }))
    }

    /// The smaller change of the searched seeds, 0 where they do not agree in sign, where a run failed, and where the change is not
    /// of interest.
    fn search(&self, point: &Point) -> f64 {
        let name = point.cell().name();
        let known = |ground: &Self| ground.known.lock().ok().and_then(|known| known.get(&name).copied());
        if let Some(known) = known(self) {
            return known.unwrap_or(0.0);
        }
        let found = match self.run(point, &SEARCHED, 1) {
            Ok(Some(measured)) => smaller_pct(&measured),
            _ => None,
        };
        if let Ok(mut known) = self.known.lock() {
            known.insert(name, found);
        }
        found.unwrap_or(0.0)
    }
}

fn metric(experiment: &Experiment, name: Option<&str>) -> Option<Metric> {
    let name = name.map(str::to_owned).or_else(|| main_metric(&experiment.workload))?;
    experiment.metrics().into_iter().find(|metric| metric.name == name)
}

fn smaller_pct(measured: &Measured) -> Option<f64> {
    let Measured { metric, base, test } = measured;
    let smallest = metric.smallest.on(base.first().copied()?);
    let changes: Vec<f64> = base
        .iter()
        .zip(test)
        .filter(|(b, t)| (*t - *b).abs() > smallest)
        .filter_map(|(b, t)| change_pct(*b, *t, metric.better))
        .collect();
    let is_one_sided = changes.iter().all(|pct| *pct > 0.0) || changes.iter().all(|pct| *pct < 0.0);
    let least = changes.iter().copied().min_by(|a, b| a.abs().total_cmp(&b.abs()))?;
    (changes.len() == base.len() && is_one_sided).then(|| least.clamp(-MOST_PCT, MOST_PCT))
}

/// Searches for so long, on these machines; what is found is saved below `dir`.
///
/// # Errors
/// If a machine is unknown, or what is found cannot be run again.
pub fn hunt(stages: &Stages, machines: &[&str], time: Duration, means: &Means) -> Result<Hunt, ReviewError> {
    let begin = Instant::now();
    let scheds = [&stages.stages[0].sched, &stages.stages[stages.stages.len() - 1].sched].map(String::clone);
    let ground = Ground { scheds, means, known: Mutex::default(), failures: Mutex::default() };
    // A machine that cannot be run at all is an error before anything is searched.
    for machine in machines {
        let point = Point::at(machine, 0, 0, &[0.0]);
        let cell = point.cell();
        sides(&cell, &[&ground.scheds[0], &ground.scheds[1]], cell.config, &means.workers)?;
    }
    let mut fields = fields(&ground, machines);
    let all = fields.len();
    let is_over = |part: f64| begin.elapsed() >= time.mul_f64(part) || means.stop.load(Ordering::Relaxed);
    search(&mut fields, means.jobs, &|| is_over(SEARCH_PART));
    let mut findings = confirm(&ground, &fields)?;
    for finding in findings.iter_mut().filter(|(_, finding)| finding.is_confirmed()) {
        if is_over(1.0) {
            break;
        }
        shrink(&ground, finding, &|| is_over(1.0))?;
    }
    drop(fields);
    let points = ground.known.lock().map_or(0, |known| known.len());
    let failures = ground.failures.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let findings = findings.into_iter().map(|(_, finding)| finding).collect();
    Ok(Hunt { points, fields: all, findings, failures })
}

fn fields<'a>(ground: &'a Ground<'a>, machines: &[&str]) -> Vec<Field<'a>> {
    let mut fields = Vec::new();
    for draw in 0..DRAWS {
        for machine in machines {
            for (family, searched) in FAMILIES.iter().enumerate() {
                for side in [-1.0, 1.0] {
                    let seed = fields.len() as u64 + 1;
                    let machine = machine.to_string();
                    let options = CMAESOptions::new(vec![0.5; searched.dimensions.len()], 0.3).seed(seed);
                    // Its parameters are valid for any number of dimensions from 1 on.
                    let Ok(search) = options.build(objective(ground, machine.clone(), draw, family, side)) else {
                        continue;
                    };
                    fields.push(Field { ground, machine, draw, family, side, best: None, search, is_done: false });
                }
            }
        }
    }
    fields
}

/// What CMA-ES minimizes: the change to the other side, and how far coordinates are outside of their ranges.
fn objective<'a>(ground: &'a Ground, machine: String, draw: u64, family: usize, side: f64) -> Objective<'a> {
    Box::new(move |coordinates| {
        let outside: f64 = coordinates.iter().map(|x| (x - x.clamp(0.0, 1.0)).abs()).sum();
        let point = Point::at(&machine, draw, family, coordinates.as_slice());
        -side * ground.search(&point) + outside
    })
}

/// Rounds until the time is over or all searches have ended by themselves, which they do when they have converged.
fn search(fields: &mut Vec<Field>, jobs: usize, is_over: &(dyn Fn() -> bool + Sync)) {
    while !is_over() && fields.iter().any(|field| !field.is_done) {
        round(fields, jobs, is_over);
        if !is_over() {
            cull(fields);
        }
    }
}

/// A generation of each field, on a number of threads.
fn round(fields: &mut [Field], jobs: usize, is_over: &(dyn Fn() -> bool + Sync)) {
    let left = Mutex::new(fields.iter_mut().filter(|field| !field.is_done).rev().collect::<Vec<&mut Field>>());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| loop {
                let next = left.lock().ok().and_then(|mut left| left.pop());
                let Some(field) = next.filter(|_| !is_over()) else { return };
                generation(field);
            });
        }
    });
}

/// One generation of a field's search.
fn generation(field: &mut Field) {
    field.is_done |= field.search.next().is_some();
    let Some(best) = field.search.overall_best_individual() else { return };
    let point = Point::at(&field.machine, field.draw, field.family, best.point.as_slice());
    // Its value has how far the coordinates are outside; the change of the point itself is known.
    let pct = field.ground.search(&point);
    let size = field.best.as_ref().map_or(0.0, |(pct, _)| pct * field.side);
    if pct * field.side > size {
        field.best = Some((pct, point));
    }
}

/// Keeps the better half of the fields of each side.
fn cull(fields: &mut Vec<Field>) {
    let size = |field: &Field| field.best.as_ref().map_or(0.0, |(pct, _)| pct.abs());
    fields.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let of_side = |side: f64| fields.iter().filter(|field| field.side == side).count().div_ceil(2).max(FIELDS_MIN);
    let mut left = [of_side(-1.0), of_side(1.0)];
    fields.retain(|field| {
        let left = &mut left[usize::from(field.side > 0.0)];
        let is_kept = *left > 0;
        *left = left.saturating_sub(1);
        is_kept
    });
}

/// The largest changes of each side, one of each machine and family, on other seeds.
fn confirm(ground: &Ground, fields: &[Field]) -> Result<Vec<(Point, Finding)>, ReviewError> {
    let seeds: Vec<u64> = CONFIRMED.collect();
    let mut findings: Vec<(Point, Finding)> = Vec::new();
    for side in [-1.0, 1.0] {
        let mut best: Vec<&(f64, Point)> =
            fields.iter().filter(|field| field.side == side).filter_map(|field| field.best.as_ref()).collect();
        best.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
        let mut taken: Vec<(&str, usize)> = Vec::new();
        for (pct, point) in best {
            let field = (point.machine.as_str(), point.family);
            if taken.len() == FINDINGS || taken.contains(&field) {
                continue;
            }
            taken.push(field);
            let Some(measured) = ground.run(point, &seeds, ground.means.jobs)? else { continue };
            findings.push((point.clone(), finding(point, *pct, &measured)));
        }
    }
    judge(findings.iter_mut().map(|(_, finding)| &mut finding.confirmed));
    Ok(findings)
}

fn finding(point: &Point, searched_pct: f64, measured: &Measured) -> Finding {
    Finding {
        found: point.cell(),
        smallest: point.cell(),
        metric: measured.metric.name.clone(),
        searched_pct,
        confirmed: Change::new(&measured.base, &measured.test, &Terms::of_metric(&measured.metric)),
        shrunk: None,
    }
}

/// Takes the point smaller, as long as the change is there with at least half of its size, and confirms the last one.
fn shrink(
    ground: &Ground,
    (point, finding): &mut (Point, Finding),
    is_over: &dyn Fn() -> bool,
) -> Result<(), ReviewError> {
    let wanted = finding.confirmed;
    let holds = |point: &Point, seeds: &[u64]| -> Result<Option<Change>, ReviewError> {
        let Some(measured) = ground.run(point, seeds, ground.means.jobs)? else { return Ok(None) };
        let change = Change::new(&measured.base, &measured.test, &Terms::of_metric(&measured.metric));
        let half = wanted.improvement_pct.map_or(0.0, f64::abs) / 2.0;
        let is_large = change.improvement_pct.is_some_and(|pct| pct.abs() >= half);
        Ok(Some(change).filter(|change| change.verdict == wanted.verdict && is_large))
    };
    let seeds: Vec<u64> = SHRUNK.collect();
    let smallest = descend(point, &mut |smaller| Ok(holds(smaller, &seeds)?.is_some()), is_over)?;
    if smallest != *point {
        let seeds: Vec<u64> = REPEATED.collect();
        if let Some(change) = holds(&smallest, &seeds)? {
            (finding.smallest, finding.shrunk) = (smallest.cell(), Some(change));
            *point = smallest;
        }
    }
    Ok(())
}

/// The last of ever smaller points, option by option, each of which `holds`.
fn descend(
    point: &Point,
    holds: &mut dyn FnMut(&Point) -> Result<bool, ReviewError>,
    is_over: &dyn Fn() -> bool,
) -> Result<Point, ReviewError> {
    let mut point = point.clone();
    'smaller: loop {
        for smaller in point.smaller() {
            if is_over() {
                return Ok(point);
            }
            if holds(&smaller)? {
                point = smaller;
                continue 'smaller;
            }
        }
        return Ok(point);
    }
}

impl Hunt {
    /// The hunt as text.
    pub fn text(&self, stages: &Stages) -> String {
        let confirmed = self.findings.iter().filter(|finding| finding.is_confirmed()).count();
        let mut out = format!(
            "{}\n{} in {}; {} confirmed of {}\n",
            stages.source,
            plural(self.points, "point"),
            plural(self.fields, "field"),
            confirmed,
            plural(self.findings.len(), "finding")
        );
        for (number, finding) in (1..).zip(&self.findings) {
            let word = if finding.searched_pct < 0.0 { "regression" } else { "gain" };
            let holds = if finding.is_confirmed() { "confirmed" } else { "not confirmed" };
            out += &format!("\n{number}. {word}, {holds}: {}\n", finding.metric);
            out += &format!("   {}\n", finding.found.name());
            out += &format!(
                "   searched {}, on other seeds {}",
                percent(Some(finding.searched_pct)),
                words(&finding.confirmed)
            );
            if let Some(shrunk) = &finding.shrunk {
                out += &format!("\n   smallest: {}\n   {}", finding.smallest.name(), words(shrunk));
            }
            out += "\n";
        }
        for (cell, message) in &self.failures {
            out += &format!("\nfailed: {}: {message}\n", cell.name());
        }
        out
    }

    /// The hunt in the documented schema.
    pub fn json(&self, stages: &Stages) -> String {
        let cell = |cell: &Cell| json!({ "machine": cell.machine, "workload": cell.workload, "options": cell.options });
        let change = |change: &Change| json!({ "improvement_pct": change.improvement_pct, "ci95": change.ci95, "p_adjusted": change.p_adjusted, "verdict": change.verdict });
        let findings = self.findings.iter().map(|finding| {
            json!({
                "metric": finding.metric,
                "confirmed": finding.is_confirmed(),
                "found": cell(&finding.found),
                "searched_pct": finding.searched_pct,
                "on_other_seeds": change(&finding.confirmed),
                "smallest": cell(&finding.smallest),
                "smallest_change": finding.shrunk.as_ref().map(change),
            })
        });
        let failures =
            self.failures.iter().map(|(failed, message)| json!({ "cell": cell(failed), "message": message }));
        let document = json!({
            "schema": "fairground-hunt-1",
            "stages": stages.stages,
            "points": self.points,
            "fields": self.fields,
            "findings": findings.collect::<Vec<_>>(),
            "failures": failures.collect::<Vec<_>>(),
        });
        format!("{document:#}\n")
    }

    /// Saves each confirmed finding as a machine file and a matrix of one cell. Returns the matrices' paths.
    ///
    /// # Errors
    /// If a file cannot be written; the message names it.
    pub fn save(&self, dir: &Path) -> Result<Vec<String>, String> {
        fs::create_dir_all(dir).map_err(|e| format!("cannot create {}: {e}", dir.display()))?;
        let mut saved = Vec::new();
        for (number, finding) in (1..).zip(&self.findings).filter(|(_, finding)| finding.is_confirmed()) {
            let Cell { machine, workload, config, .. } = &finding.smallest;
            let machine_file = dir.join(format!("hunt-{number}.machine.toml"));
            let machine = Machine::find(machine).map_err(|e| e.to_string())?;
            let settings =
                if config.draw == 0 { String::new() } else { format!("settings = {{ draw = {} }}\n", config.draw) };
            let matrix = format!(
                "# fairground review ... --matrix {}: {} {}\nseeds = 16\n[[block]]\nmachines = [{:?}]\nworkloads = [{workload:?}]\nmetrics = [{:?}]\n{settings}",
                dir.join(format!("hunt-{number}.toml")).display(),
                finding.metric,
                percent(finding.shrunk.unwrap_or(finding.confirmed).improvement_pct),
                machine_file.display().to_string(),
                finding.metric
            );
            let matrix_file = dir.join(format!("hunt-{number}.toml"));
            for (path, text) in [(&machine_file, machine.to_toml()), (&matrix_file, matrix)] {
                fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
            }
            saved.push(matrix_file.display().to_string());
        }
        Ok(saved)
    }
}

fn words(change: &Change) -> String {
    format!("{} ({}), {}", percent(change.improvement_pct), range(change.ci95), change.verdict)
}

#[cfg(test)]
mod tests {
    use fairground_run::experiment::Stop;
    use fairground_run::worker::Workers;
    use fairground_workload::Workload;

    use super::*;

    #[test]
    fn all_corners_of_all_families_are_workloads() {
        let machine = Machine::find("rpi5").unwrap();
        for (family, searched) in FAMILIES.iter().enumerate() {
            for corner in [0.0, 0.37, 1.0, 7.0] {
                let point = Point::at("rpi5", 0, family, &vec![corner; searched.dimensions.len()]);
                let (_, warnings) = Workload::find(&point.workload(), &machine).unwrap();
                assert!(warnings.is_empty(), "{}", point.workload());
                for (dimension, value) in searched.dimensions.iter().zip(&point.values) {
                    assert!((dimension.from..=dimension.to).contains(value), "{}", point.workload());
                }
                assert!(point.smaller().iter().all(|smaller| *smaller != point));
            }
        }
        assert_eq!(Point::at("m", 0, 3, &[0.5, 0.0, 1.0]).workload(), "fork-burst:bursts=10,children=8,work=20,gap=50");
    }

    #[test]
    fn a_point_is_shrunk_as_long_as_it_holds() {
        let point = Point::at("rpi5", 2, 3, &[1.0, 1.0, 1.0]);
        let needs = |point: &Point| Ok(point.values[0] >= 30.0);
        let smallest = descend(&point, &mut |point| needs(point), &|| false).unwrap();
        assert_eq!((smallest.draw, &smallest.values[1..]), (0, [20.0, 1.0].as_slice()));
        assert!((30.0..40.0).contains(&smallest.values[0]), "{smallest:?}");
        assert_eq!(descend(&point, &mut |point| needs(point), &|| true).unwrap(), point);
    }

    /// No point has a change: every search converges at once, long before the time is over.
    #[test]
    fn a_hunt_ends_when_all_searches_have_converged() {
        let stop = Stop::default();
        let means = Means { jobs: 2, store: None, stop: &stop, progress: &|_| (), workers: Workers::default() };
        let hackbench = FAMILIES.iter().position(|family| family.name == "hackbench").unwrap();
        let point = |groups: u32| Point { values: vec![groups.into()], ..Point::at("rpi5", 0, hackbench, &[0.0]) };
        let known = (1..=8).map(|groups| (point(groups).cell().name(), None)).collect();
        let scheds = ["fair:v5.9", "fair:v5.9"].map(str::to_owned);
        let ground = Ground { scheds, means: &means, known: Mutex::new(known), failures: Mutex::default() };
        let mut fields = fields(&ground, &["rpi5"]);
        fields.retain(|field| field.draw == 0 && field.family == hackbench);
        search(&mut fields, 2, &|| false);
        assert!(fields.iter().all(|field| field.is_done && field.best.is_none()));
        assert!(
            ground.failures.lock().unwrap().is_empty() && ground.known.lock().unwrap().len() == 8,
            "nothing was run"
        );
    }

    /// On hikey960 `asym-prev-first` makes the wakeups of pairs cheaper, and nothing else differs.
    #[test]
    fn a_change_is_found_confirmed_shrunk_and_repeated_by_its_files() {
        let stages = Stages::of_features("fair:v5.9+wa-prev-idle+asym-prev-first").unwrap();
        let stop = Stop::default();
        let means = Means { jobs: 2, store: None, stop: &stop, progress: &|_| (), workers: Workers::default() };
        let scheds = [stages.stages[0].sched.clone(), stages.stages[2].sched.clone()];
        let ground = Ground { scheds, means: &means, known: Mutex::default(), failures: Mutex::default() };
        let mut fields = fields(&ground, &["hikey960"]);
        // One generation of three families: the time that a hunt has is no part of what is tested.
        fields
            .retain(|field| field.draw == 0 && ["server", "oltp", "hackbench"].contains(&FAMILIES[field.family].name));
        round(&mut fields, 2, &|| false);
        assert!(ground.known.lock().unwrap().len() > 10);
        for (pct, point) in fields.iter().filter_map(|field| field.best.as_ref()) {
            assert_eq!(
                *pct,
                ground.search(point),
                "{}: the change of the point, not of coordinates outside",
                point.workload()
            );
        }
        let mut findings = confirm(&ground, &fields).unwrap();
        let found =
            findings.iter_mut().find(|(_, finding)| finding.is_confirmed() && finding.searched_pct > 0.0).unwrap();
        let before = found.0.clone();
        shrink(&ground, found, &|| false).unwrap();
        assert!(found.0 != before && found.1.shrunk.unwrap().verdict == Verdict::Better);
        let dir = tempfile::tempdir().unwrap();
        let hunt = Hunt { points: 1, fields: 1, findings: vec![found.1.clone()], failures: Vec::new() };
        let saved = hunt.save(dir.path()).unwrap();
        let matrix = crate::matrix::Matrix::load(Path::new(&saved[0])).unwrap();
        let again = crate::measure::measure(&stages, &matrix, None, &means).unwrap();
        assert_eq!(again.cells[0].rows[0].row.change.verdict, Verdict::Better);
    }
}

//! The search for the largest regression and the largest gain: `fairground review --hunt MINUTES`.
//!
//! A *field* is a machine, as it is stated or on a draw of what is not known of it, and a workload with ranges of its options. Machines are
//! those of the matrix and some that are made up, workloads built-ins and generated programs: which ones is drawn by the schedulers' names,
//! so that the same hunt meets the same ones. Main metrics, latency, and energy under schedutil are searched
//! beside each other, for percentages of one say nothing of another. In each field CMA-ES (crate `cmaes`; the options are its coordinates, each from 0 to 1 over the logarithm of its
//! range) looks for the options with the largest change from base to series, once to each side. Fields take turns, a
//! generation each; after each round the half with the smaller changes leaves, down to a few. A search that has converged begins anew
//! elsewhere with twice the points in a generation, until it meets nothing new.
//!
//! The search sees two seeds and reports the smaller change of both. What it finds is a maximum over many noisy values, so it is
//! *confirmed* on seeds that were not searched, all findings judged together. A confirmed one is *shrunk*: off its draw, to
//! fewer CPUs, and option by option towards the smallest value, as long as it stays better or worse and keeps half of its size. The smallest is
//! confirmed once more on seeds of its own; if it does not hold, the point that was found stays. Then it is saved as a machine file
//! and a matrix of one cell.

mod machines;
mod point;
mod programs;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cmaes::{CMAESOptions, DVector, CMAES};
use fairground_lab::doubt::change_pct;
use fairground_lab::stats::{judge, Change, Terms, Verdict};
use fairground_machine::{Machine, MachineSpec};
use fairground_run::batch::RunReport;
use fairground_run::executor::{Asked, Executor};
use fairground_run::experiment::Experiment;
use fairground_run::metrics::{main_metric, Metric};
use fairground_workload::Workload;
use serde_json::json;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

pub use self::point::Named;
use self::point::{Goal, Kind, Point, FAMILIES};
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
/// Fields that stay to the end, for each side of what is judged.
const FIELDS_MIN: usize = 3;
/// Findings that are confirmed, for each side of what is judged.
const FINDINGS: usize = 3;
/// Part of the time that is kept for confirming and shrinking.
const SEARCH_PART: f64 = 0.7;
/// Draws of each machine, 0 being as it is stated.
const DRAWS: u64 = 3;
/// Machines that are made up, and generated programs.
const MADE_UP: u64 = 4;
const PROGRAMS: u64 = 3;
/// Largest factor on the number of points in a generation.
const MOST_POINTS: usize = 8;
/// Largest change that counts, percent: beyond it figures differ in kind and not in size.
const MOST_PCT: f64 = 1000.0;

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
    pub found: Named,
    /// The smallest point that still shows it.
    point: Point,
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
    /// The smallest cell that still shows it.
    pub fn smallest(&self) -> Named {
        self.point.named()
    }

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
    /// By what is judged; regressions first, then gains; the largest change of each first.
    pub findings: Vec<Finding>,
    /// Cells in which a run failed, with its message.
    pub failures: Vec<(Named, String)>,
    /// Machines and programs of the cells, until they are saved.
    files: Arc<TempDir>,
}

type Objective<'a> = Box<dyn FnMut(&DVector<f64>) -> f64 + Send + 'a>;

/// One machine and family, searched to one side.
struct Field<'a> {
    ground: &'a Ground<'a>,
    machine: String,
    draw: u64,
    kind: Kind,
    /// -1: a regression is looked for; 1: a gain.
    side: f64,
    /// Of its first search; the further ones follow from it.
    seed: u64,
    /// Change of the best point so far, percent, and the point.
    best: Option<(f64, Point)>,
    search: CMAES<Objective<'a>>,
    /// Searches that have converged.
    converged: usize,
    /// Points that the search was the first to meet since it began.
    new: Arc<AtomicUsize>,
    is_done: bool,
}

/// What is looked for, and to which side, in the order in which findings are told.
const SIDES: [(Goal, f64); 6] = [
    (Goal::Main, -1.0),
    (Goal::Main, 1.0),
    (Goal::Latency, -1.0),
    (Goal::Latency, 1.0),
    (Goal::Energy, -1.0),
    (Goal::Energy, 1.0),
];

impl Field<'_> {
    fn is_of(&self, goal: Goal, side: f64) -> bool {
        self.kind.family().goal == goal && self.side == side
    }
}

/// What all fields share.
struct Ground<'a> {
    scheds: [String; 2],
    means: &'a Means<'a>,
    /// Smaller change of the searched seeds, percent, by cell; `None` where it has none.
    known: Mutex<BTreeMap<String, Option<f64>>>,
    failures: Mutex<Vec<(Named, String)>>,
    /// Machines and programs that are no presets and built-ins.
    files: Arc<TempDir>,
}

impl<'a> Ground<'a> {
    fn new(scheds: [String; 2], means: &'a Means<'a>) -> Result<Ground<'a>, ReviewError> {
        let failed = |e: std::io::Error| ReviewError::File(format!("cannot make a temporary directory: {e}"));
        let files = Arc::new(TempDir::with_prefix("fairground-hunt-").map_err(failed)?);
        Ok(Ground { scheds, means, known: Mutex::default(), failures: Mutex::default(), files })
    }

    /// Runs base and series at a point.
    fn run(&self, point: &Point, seeds: &[u64], jobs: usize) -> Result<Option<Measured>, ReviewError> {
        let cell = self.cell(point)?;
        let scheds = [self.scheds[0].as_str(), self.scheds[1].as_str()];
        let experiments = sides(&cell, &scheds, cell.config, &self.means.workers)?.experiments;
        let metric = metric(&experiments[0], point.kind.family().goal);
        let mut executor = Executor::default();
        let asked: Vec<Asked> = experiments.iter().map(|experiment| executor.ask(experiment, 0, seeds)).collect();
        let outcomes = executor.carry_out(self.means.store, jobs, self.means.stop, &|_| ())?;
        let columns: Vec<Vec<Result<RunReport, String>>> = asked.into_iter().map(|asked| outcomes.of(asked)).collect();
        if let Some(message) = columns.iter().flatten().find_map(|run| run.as_ref().err()) {
            let mut failures = self.failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if failures.iter().all(|(_, known)| known != message) {
                failures.push((point.named(), message.clone()));
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

    fn cell(&self, point: &Point) -> Result<Cell, ReviewError> {
        point.cell(self.files.path()).map_err(ReviewError::File)
    }

    /// The smaller change of the searched seeds, 0 where they do not agree in sign, where a run failed, and where the change is not
    /// of interest. `new` is counted up if the point was not known.
    fn search(&self, point: &Point, new: &AtomicUsize) -> f64 {
        let name = point.named().name();
        let known = |ground: &Self| ground.known.lock().ok().and_then(|known| known.get(&name).copied());
        if let Some(known) = known(self) {
            return known.unwrap_or(0.0);
        }
        new.fetch_add(1, Ordering::Relaxed);
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

fn metric(experiment: &Experiment, goal: Goal) -> Option<Metric> {
    let name = goal.metric().map(str::to_owned).or_else(|| main_metric(&experiment.workload))?;
    experiment.metrics().into_iter().find(|metric| metric.name == name)
}

fn smaller_pct(measured: &Measured) -> Option<f64> {
    let Measured { metric, base, test } = measured;
    let smallest = metric.smallest.on(base.first().copied()?);
    let changes: Vec<f64> = base
        .iter()
        .zip(test)
        .filter(|(b, t)| (*t - *b).abs() > smallest)
        .map(|(b, t)| change_pct(*b, *t, metric.better))
        .filter(|pct| pct.is_finite())
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
    let ground = Ground::new(scheds, means)?;
    // A machine that cannot be run at all is an error before anything is searched.
    for machine in machines {
        let cell = ground.cell(&Point::at(machine, 0, Kind::Builtin(0), &[0.0]))?;
        sides(&cell, &[&ground.scheds[0], &ground.scheds[1]], cell.config, &means.workers)?;
    }
    let mut fields = fields(&ground, machines)?;
    let all = fields.len();
    let is_over = |part: f64| begin.elapsed() >= time.mul_f64(part) || means.stop.load(Ordering::Relaxed);
    search(&mut fields, means.jobs, &|| is_over(SEARCH_PART));
    let mut findings = confirm(&ground, &fields)?;
    for finding in findings.iter_mut().filter(|finding| finding.is_confirmed()) {
        if is_over(1.0) {
            break;
        }
        shrink(&ground, finding, &|| is_over(1.0))?;
    }
    drop(fields);
    let files = ground.files.clone();
    let points = ground.known.lock().map_or(0, |known| known.len());
    let failures = ground.failures.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(Hunt { points, fields: all, findings, failures, files })
}

fn fields<'a>(ground: &'a Ground<'a>, machines: &[&str]) -> Result<Vec<Field<'a>>, ReviewError> {
    let number = |n: u64| xxh3_64(format!("{} {} {n}", ground.scheds[0], ground.scheds[1]).as_bytes()) % 1_000_000;
    let made_up = (0..MADE_UP).map(|n| machines::make_up(number(n), ground.files.path()));
    let made_up: Vec<String> = made_up.collect::<Result<_, _>>().map_err(ReviewError::File)?;
    let kinds: Vec<Kind> =
        (0..FAMILIES.len()).map(Kind::Builtin).chain((0..PROGRAMS).map(|n| Kind::Program(number(n)))).collect();
    let stated = machines.iter().map(|name| (*name).to_owned()).chain(made_up).map(|machine| (0, machine));
    let drawn = (1..DRAWS).flat_map(|draw| machines.iter().map(move |name| (draw, (*name).to_owned())));
    let mut fields = Vec::new();
    for (draw, machine) in stated.chain(drawn) {
        let (found, _) = MachineSpec::parse(&machine).find().map_err(|e| ReviewError::File(e.to_string()))?;
        let has_clocks = found.freq_domains.iter().any(|domain| domain.opps.len() > 1);
        for kind in kinds.iter().filter(|kind| has_clocks || kind.family().goal != Goal::Energy) {
            for side in [-1.0, 1.0] {
                let new = Arc::new(AtomicUsize::new(0));
                let seed = fields.len() as u64 + 1;
                let Some(search) = begin(ground, (&machine, draw, *kind), side, seed, 0, &new) else { continue };
                let (machine, kind) = (machine.clone(), *kind);
                fields.push(Field {
                    ground,
                    machine,
                    draw,
                    kind,
                    side,
                    seed,
                    best: None,
                    search,
                    converged: 0,
                    new,
                    is_done: false,
                });
            }
        }
    }
    Ok(fields)
}

/// A search of a field: the first from the middle, each further one from a point that is drawn, with twice the points in a generation.
fn begin<'a>(
    ground: &'a Ground<'a>,
    (machine, draw, kind): (&str, u64, Kind),
    side: f64,
    seed: u64,
    converged: usize,
    new: &Arc<AtomicUsize>,
) -> Option<CMAES<Objective<'a>>> {
    let dimensions = kind.family().dimensions.len();
    let drawn = |n: usize| xxh3_64(format!("{seed} {converged} {n}").as_bytes()) as f64 / u64::MAX as f64;
    let begin: Vec<f64> = (0..dimensions).map(|n| if converged == 0 { 0.5 } else { drawn(n) }).collect();
    let options = CMAESOptions::new(begin, 0.3).seed(seed + 1_000_000 * converged as u64);
    let points = options.population_size * (1 << converged).min(MOST_POINTS);
    let machine = machine.to_owned();
    let new = new.clone();
    // What is minimized: the change to the other side, and how far coordinates are outside of their ranges.
    let objective: Objective = Box::new(move |coordinates| {
        let outside: f64 = coordinates.iter().map(|x| (x - x.clamp(0.0, 1.0)).abs()).sum();
        let point = Point::at(&machine, draw, kind, coordinates.as_slice());
        -side * ground.search(&point, &new) + outside
    });
    // Its parameters are valid for any number of dimensions from 1 on.
    options.population_size(points).build(objective).ok()
}

/// Rounds until the time is over or no search meets anything new.
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
    let has_converged = field.search.next().is_some();
    if let Some(best) = field.search.overall_best_individual() {
        let point = Point::at(&field.machine, field.draw, field.kind, best.point.as_slice());
        // Its value has how far the coordinates are outside; the change of the point itself is known.
        let pct = field.ground.search(&point, &field.new);
        let size = field.best.as_ref().map_or(0.0, |(pct, _)| pct * field.side);
        if pct * field.side > size {
            field.best = Some((pct, point));
        }
    }
    if has_converged {
        field.converged += 1;
        let is_exhausted = field.new.swap(0, Ordering::Relaxed) == 0;
        let place = (field.machine.as_str(), field.draw, field.kind);
        match begin(field.ground, place, field.side, field.seed, field.converged, &field.new) {
            Some(search) if !is_exhausted => field.search = search,
            _ => field.is_done = true,
        }
    }
}

/// Keeps the better half of the fields of each side of what is judged.
fn cull(fields: &mut Vec<Field>) {
    let size = |field: &Field| field.best.as_ref().map_or(0.0, |(pct, _)| pct.abs());
    fields.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let mut kept = Vec::new();
    for (goal, side) in SIDES {
        let (mut of_side, others): (Vec<Field>, Vec<Field>) =
            fields.drain(..).partition(|field| field.is_of(goal, side));
        of_side.truncate(of_side.len().div_ceil(2).max(FIELDS_MIN));
        kept.append(&mut of_side);
        *fields = others;
    }
    *fields = kept;
}

/// The largest changes of each side of what is judged, one of each machine and family, on other seeds.
fn confirm(ground: &Ground, fields: &[Field]) -> Result<Vec<Finding>, ReviewError> {
    let seeds: Vec<u64> = CONFIRMED.collect();
    let mut findings: Vec<Finding> = Vec::new();
    for (goal, side) in SIDES {
        let of_side = fields.iter().filter(|field| field.is_of(goal, side));
        let mut best: Vec<&(f64, Point)> = of_side.filter_map(|field| field.best.as_ref()).collect();
        best.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
        let mut taken: Vec<(&str, Kind)> = Vec::new();
        for (pct, point) in best {
            let field = (point.machine.as_str(), point.kind);
            if taken.len() == FINDINGS || taken.contains(&field) {
                continue;
            }
            taken.push(field);
            let Some(measured) = ground.run(point, &seeds, ground.means.jobs)? else { continue };
            findings.push(finding(point, *pct, &measured));
        }
    }
    judge(findings.iter_mut().map(|finding| &mut finding.confirmed));
    Ok(findings)
}

fn finding(point: &Point, searched_pct: f64, measured: &Measured) -> Finding {
    Finding {
        found: point.named(),
        point: point.clone(),
        metric: measured.metric.name.clone(),
        searched_pct,
        confirmed: Change::new(&measured.base, &measured.test, &Terms::of_metric(&measured.metric)),
        shrunk: None,
    }
}

/// Takes the point smaller, as long as the change is there with at least half of its size, and confirms the last one.
fn shrink(ground: &Ground, finding: &mut Finding, is_over: &dyn Fn() -> bool) -> Result<(), ReviewError> {
    let wanted = finding.confirmed;
    let holds = |point: &Point, seeds: &[u64]| -> Result<Option<Change>, ReviewError> {
        let Some(measured) = ground.run(point, seeds, ground.means.jobs)? else { return Ok(None) };
        let change = Change::new(&measured.base, &measured.test, &Terms::of_metric(&measured.metric));
        let half = wanted.improvement_pct.map_or(0.0, f64::abs) / 2.0;
        let is_large = change.improvement_pct.is_some_and(|pct| pct.abs() >= half);
        Ok(Some(change).filter(|change| change.verdict == wanted.verdict && is_large))
    };
    let seeds: Vec<u64> = SHRUNK.collect();
    let smaller = |point: &Point| point.smaller(ground.files.path());
    let smallest = descend(&finding.point, &smaller, &mut |smaller| Ok(holds(smaller, &seeds)?.is_some()), is_over)?;
    if smallest != finding.point {
        let seeds: Vec<u64> = REPEATED.collect();
        if let Some(change) = holds(&smallest, &seeds)? {
            finding.shrunk = Some(change);
            finding.point = smallest;
        }
    }
    Ok(())
}

/// The last of ever smaller points each of which `holds`.
fn descend(
    point: &Point,
    smaller: &dyn Fn(&Point) -> Vec<Point>,
    holds: &mut dyn FnMut(&Point) -> Result<bool, ReviewError>,
    is_over: &dyn Fn() -> bool,
) -> Result<Point, ReviewError> {
    let mut point = point.clone();
    'smaller: loop {
        for smaller in smaller(&point) {
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
                out += &format!("\n   smallest: {}\n   {}", finding.smallest().name(), words(shrunk));
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
        let change = |change: &Change| json!({ "improvement_pct": change.improvement_pct, "ci95": change.ci95, "p_adjusted": change.p_adjusted, "verdict": change.verdict });
        let findings = self.findings.iter().map(|finding| {
            json!({
                "metric": finding.metric,
                "confirmed": finding.is_confirmed(),
                "found": finding.found,
                "searched_pct": finding.searched_pct,
                "on_other_seeds": change(&finding.confirmed),
                "smallest": finding.smallest(),
                "smallest_change": finding.shrunk.as_ref().map(change),
            })
        });
        let failures = self.failures.iter().map(|(failed, message)| json!({ "cell": failed, "message": message }));
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

    /// Saves each confirmed finding as a machine file, a matrix of one cell, and the program if it is a generated one. Returns the matrices'
    /// paths.
    ///
    /// # Errors
    /// If a file cannot be written; the message names it.
    pub fn save(&self, dir: &Path) -> Result<Vec<String>, String> {
        fs::create_dir_all(dir).map_err(|e| format!("cannot create {}: {e}", dir.display()))?;
        let mut saved = Vec::new();
        for (number, finding) in (1..).zip(&self.findings).filter(|(_, finding)| finding.is_confirmed()) {
            let Cell { machine, workload, .. } = &finding.point.cell(self.files.path())?;
            let program = self.program(workload).map(|(text, options)| {
                let path = dir.join(format!("hunt-{number}.workload.json"));
                (format!("{}{options}", path.display()), path, text)
            });
            let workload = program.as_ref().map_or(workload, |(typed, ..)| typed);
            let machine_file = dir.join(format!("hunt-{number}.machine.toml"));
            let MachineSpec { name, subset } = MachineSpec::parse(machine);
            let machine = Machine::find(name).map_err(|e| e.to_string())?;
            let subset = subset.map_or(String::new(), |cpus| format!("@{cpus}"));
            let settings: Vec<String> =
                finding.point.settings().iter().map(|(name, value)| format!("{name} = {value}")).collect();
            let settings = match settings.is_empty() {
                true => String::new(),
                false => format!("settings = {{ {} }}\n", settings.join(", ")),
            };
            let matrix = format!(
                "# fairground review ... --matrix {}: {} {}\nseeds = 16\n[[block]]\nmachines = [{:?}]\nworkloads = [{workload:?}]\nmetrics = [{:?}]\n{settings}",
                dir.join(format!("hunt-{number}.toml")).display(),
                finding.metric,
                percent(finding.shrunk.unwrap_or(finding.confirmed).improvement_pct),
                format!("{}{subset}", machine_file.display()),
                finding.metric
            );
            let matrix_file = dir.join(format!("hunt-{number}.toml"));
            let program = program.map(|(_, path, text)| (path, text));
            let files = [(machine_file, machine.to_toml()), (matrix_file.clone(), matrix)];
            for (path, text) in files.into_iter().chain(program) {
                fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
            }
            saved.push(matrix_file.display().to_string());
        }
        Ok(saved)
    }

    /// The text of a generated program and the options behind the name of its file; `None` of a built-in.
    fn program(&self, workload: &str) -> Option<(String, String)> {
        let path = Workload::file(workload).filter(|path| path.starts_with(self.files.path()))?;
        let options = workload.strip_prefix(&*path.to_string_lossy()).unwrap_or_default().to_owned();
        Some((fs::read_to_string(path).ok()?, options))
    }
}

fn words(change: &Change) -> String {
    format!("{} ({}), {}", percent(change.improvement_pct), range(change.ci95), change.verdict)
}

#[cfg(test)]
mod tests {
    use fairground_run::experiment::Stop;
    use fairground_run::worker::Workers;

    use super::*;

    const FORK_BURST: Kind = Kind::Builtin(3);

    /// Runs are made here and not stored.
    fn means(jobs: usize, stop: &Stop) -> Means<'_> {
        Means { jobs, store: None, stop, progress: &|_| (), workers: Workers::default(), farm: None }
    }

    #[test]
    fn all_corners_of_all_families_are_workloads() {
        let machine = Machine::find("rpi5").unwrap();
        let files = tempfile::tempdir().unwrap();
        let kinds = (0..FAMILIES.len()).map(Kind::Builtin).chain((0..40).map(Kind::Program));
        for kind in kinds {
            let dimensions = kind.family().dimensions;
            for corner in [0.0, 0.37, 1.0, 7.0] {
                let point = Point::at("rpi5", 0, kind, &vec![corner; dimensions.len()]);
                let cell = point.cell(files.path()).unwrap();
                let (_, warnings) =
                    Workload::find(&cell.workload, &machine).unwrap_or_else(|e| panic!("{}: {e}", point.workload()));
                assert!(warnings.is_empty(), "{}: {warnings:?}", point.workload());
                for (dimension, value) in dimensions.iter().zip(&point.values) {
                    assert!((dimension.from..=dimension.to).contains(value), "{}", point.workload());
                }
                assert!(point.smaller(files.path()).iter().all(|smaller| *smaller != point));
            }
        }
        let point = Point::at("m", 0, FORK_BURST, &[0.5, 0.0, 1.0]);
        assert_eq!(point.workload(), "fork-burst:bursts=10,children=8,work=20,gap=50");
    }

    #[test]
    fn a_point_is_shrunk_as_long_as_it_holds() {
        let files = tempfile::tempdir().unwrap();
        let smaller = |point: &Point| point.smaller(files.path());
        let point = Point::at("hikey960", 2, FORK_BURST, &[1.0, 1.0, 1.0]);
        let cpus = |point: &Point| Machine::find(&point.machine).unwrap().nr_cpus();
        let needs = |point: &Point| Ok(point.values[0] >= 30.0 && cpus(point) >= 3);
        let smallest = descend(&point, &smaller, &mut |point| needs(point), &|| false).unwrap();
        assert_eq!((smallest.draw, &smallest.values[1..]), (0, [20.0, 1.0].as_slice()));
        assert!((30.0..40.0).contains(&smallest.values[0]), "{smallest:?}");
        assert_eq!(cpus(&smallest), 3, "{smallest:?}");
        assert_eq!(descend(&point, &smaller, &mut |point| needs(point), &|| true).unwrap(), point);
    }

    /// No point has a change: every search converges at once, again and again, and then has met all there is.
    #[test]
    fn a_hunt_ends_when_no_search_meets_anything_new() {
        let stop = Stop::default();
        let means = means(2, &stop);
        let hackbench = Kind::Builtin(FAMILIES.iter().position(|family| family.name == "hackbench").unwrap());
        let point = |groups: u32| Point { values: vec![groups.into()], ..Point::at("rpi5", 0, hackbench, &[0.0]) };
        // Two of its points are new.
        let known = (3..=8).map(|groups| (point(groups).named().name(), None)).collect();
        let scheds = ["fair:v5.9", "fair:v5.9"].map(str::to_owned);
        let ground = Ground { known: Mutex::new(known), ..Ground::new(scheds, &means).unwrap() };
        let mut fields = fields(&ground, &["rpi5"]).unwrap();
        fields.retain(|field| field.machine == "rpi5" && field.draw == 0 && field.kind == hackbench);
        search(&mut fields, 2, &|| false);
        assert!(fields.iter().all(|field| field.is_done && field.best.is_none()));
        assert!(fields.iter().any(|field| field.converged > 1), "who met something new begins anew");
        assert!(ground.failures.lock().unwrap().is_empty() && ground.known.lock().unwrap().len() == 8);
    }

    /// The CPUs of pixel6 have several clocks, those of thunderx2-224 have one.
    #[test]
    fn energy_is_searched_where_clocks_change_and_each_kind_of_change_keeps_its_fields() {
        let stop = Stop::default();
        let means = means(1, &stop);
        let scheds = ["fair:v6.1", "fair:v6.2"].map(str::to_owned);
        let ground = Ground::new(scheds, &means).unwrap();
        let mut fields = fields(&ground, &["pixel6", "thunderx2-224"]).unwrap();
        let has_energy = |machine: &str| {
            let mut of_machine = fields.iter().filter(|field| field.machine == machine);
            of_machine.any(|field| field.kind.family().goal == Goal::Energy)
        };
        assert!(has_energy("pixel6") && !has_energy("thunderx2-224"));
        // Latency changes most.
        let size = |field: &Field| if field.kind.family().goal == Goal::Latency { 900.0 } else { 9.0 };
        for field in &mut fields {
            let point =
                Point::at(&field.machine, field.draw, field.kind, &vec![0.5; field.kind.family().dimensions.len()]);
            field.best = Some((field.side * size(field), point));
        }
        for _ in 0..12 {
            cull(&mut fields);
        }
        for (goal, side) in SIDES {
            assert_eq!(fields.iter().filter(|field| field.is_of(goal, side)).count(), FIELDS_MIN, "{goal:?}");
        }
        assert_eq!(fields.len(), SIDES.len() * FIELDS_MIN);
    }

    /// On hikey960 `asym-prev-first` makes the wakeups of pairs cheaper, and nothing else differs.
    #[test]
    fn a_change_is_found_confirmed_shrunk_and_repeated_by_its_files() {
        let stages = Stages::of_features("fair:v5.9+wa-prev-idle+asym-prev-first").unwrap();
        let stop = Stop::default();
        let means = means(2, &stop);
        let scheds = [stages.stages[0].sched.clone(), stages.stages[2].sched.clone()];
        let ground = Ground::new(scheds, &means).unwrap();
        let mut fields = fields(&ground, &["hikey960"]).unwrap();
        // One generation of three families: the time that a hunt has is no part of what is tested.
        let families = ["server", "oltp", "hackbench"];
        fields.retain(|field| {
            field.machine == "hikey960" && field.draw == 0 && families.contains(&field.kind.family().name)
        });
        round(&mut fields, 2, &|| false);
        assert!(ground.known.lock().unwrap().len() > 10);
        for (pct, point) in fields.iter().filter_map(|field| field.best.as_ref()) {
            assert_eq!(
                *pct,
                ground.search(point, &AtomicUsize::new(0)),
                "{}: the change of the point, not of coordinates outside",
                point.workload()
            );
        }
        let mut findings = confirm(&ground, &fields).unwrap();
        let found = findings.iter_mut().find(|finding| finding.is_confirmed() && finding.searched_pct > 0.0).unwrap();
        let before = found.point.clone();
        shrink(&ground, found, &|| false).unwrap();
        assert!(found.point != before && found.shrunk.unwrap().verdict == Verdict::Better);
        let dir = tempfile::tempdir().unwrap();
        let files = ground.files.clone();
        let hunt = Hunt { points: 1, fields: 1, findings: vec![found.clone()], failures: Vec::new(), files };
        let saved = hunt.save(dir.path()).unwrap();
        let matrix = crate::matrix::Matrix::load(Path::new(&saved[0])).unwrap();
        let again = crate::measure::measure(&stages, &matrix, None, &means).unwrap();
        assert_eq!(again.cells[0].rows[0].row.change.verdict, Verdict::Better);
    }

    #[test]
    fn what_is_saved_of_a_draw_on_some_cpus_under_schedutil_is_the_same_cell() {
        let stop = Stop::default();
        let means = means(1, &stop);
        let scheds = ["fair:misfit-unlink-baseline", "fair:misfit-unlink-ufc"].map(str::to_owned);
        let ground = Ground::new(scheds, &means).unwrap();
        let jankbench = Kind::Builtin(FAMILIES.iter().position(|family| family.name == "jankbench").unwrap());
        let point = Point::at("pixel6@4-7", 1, jankbench, &[0.0, 0.0]);
        let measured = ground.run(&point, &SEARCHED, 1).unwrap().unwrap();
        let all = vec![1.0; 16];
        let halved =
            Measured { metric: measured.metric, base: all.clone(), test: all.iter().map(|v| v / 2.0).collect() };
        let finding = finding(&point, 50.0, &halved);
        assert!(finding.is_confirmed());
        let dir = tempfile::tempdir().unwrap();
        let files = ground.files.clone();
        let saved =
            Hunt { points: 1, fields: 1, findings: vec![finding], failures: Vec::new(), files }.save(dir.path());
        let matrix = crate::matrix::Matrix::load(Path::new(&saved.unwrap()[0])).unwrap();
        let cell = &matrix.cells[0];
        assert_eq!(cell.options, ["--governor", "schedutil", "--draw", "1"]);
        assert_eq!(cell.metrics.as_deref(), Some(["energy_j".to_owned()].as_slice()));
        let (machine, cpus) = MachineSpec::parse(&cell.machine).find().unwrap();
        assert_eq!((machine.nr_cpus(), cpus.unwrap().count()), (8, 4));
        assert_eq!(format!("{:?}", cell.config), format!("{:?}", ground.cell(&point).unwrap().config));
    }
}

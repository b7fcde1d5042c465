//! Base cells as evidence: what they make of the doubt of a machine's figures (design, decision 6).
//!
//! **Unknowns** are the deviations that a draw consists of: one for each figure in doubt, one for what figures share, of
//! the machine and of the workloads of the cells. A cell often says only what a price and a size of a workload come to
//! together, so a draw keeps both: drawn apart, they would miss the cell again. Each draw has a seed of its own.
//!
//! **Prior.** [`DrawLaw::before_fits`]: the stated doubt round the values of the file, as if nothing had been fitted.
//! Fitted figures have the spread of estimates, and software costs have a common factor though their scale is fitted:
//! the cell that was fitted is evidence now, and must not count twice.
//!
//! **Likelihood.** The logarithm of our value is normal round that of the published one. Its variance is the sum of the
//! printed error squared, [`DRIFT`] squared, the variance of one short run, from seeds of the machine as it stands, and
//! that of the ratio below. A run's own noise is in each draw too, so it counts twice: on the side of saying less.
//!
//! **Cells** are the base cells of scored rows, [`super::targets`], each figure that a mail prints once. Left out are
//! those that an option of a workload was fitted to: it would follow any machine. Test cells are no targets.
//!
//! A cell that the prior excludes ([`CellEvidence::is_excluded`]) says that something is missing in the model or in the row, not
//! what a figure is: draws would only bend until they give it. Then there is no posterior.
//!
//! **Runs** are short (`short` of a row). By how much a short run differs from that of the row is taken out: the
//! mean ratio of both on the machine as it stands, same seeds. That this ratio holds for all draws is an
//! approximation.
//!
//! **Sampling** is `super::population`'s. What comes out, for [`fairground_machine::Posterior`], are draws that all count the same, of the
//! unknowns that are told to have an influence on a cell. Of the others cells say nothing, and draws are of the prior.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use fairground_machine::{DrawLaw, Machine, MachineSpec, EFFECTIVE_MIN};
use fairground_run::executor::{Asked, Executor};
use fairground_run::run_config::{ExperimentAndNotes, RunConfig};
use fairground_workload::Workload;

use super::population::{sample, Effort, Observation, Population, Sample};
use super::{target, CalibrateError, FitRuns, Target};
use crate::published::{Mail, PublishedError, PublishedRun};

/// Drift of a base cell between kernels, relative (docs/spec/measured.md, section 3): a floor below the error of a cell.
pub const DRIFT: f64 = 0.06;

/// Draws of a posterior that are kept.
const KEPT: usize = 128;

/// Draws that are run together; more would take memory, fewer leave threads idle.
const TOGETHER: usize = 8;

/// Factor of a standard deviation within which 90 % of a normal distribution lie.
const WITHIN_90: f64 = 1.645;

/// Standard deviations beyond which less than one in a thousand of a normal distribution lies.
const EXCLUDED: f64 = 3.3;

/// A base cell as evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The cell, and the run of its row.
    pub target: Target,
    /// Relative error that the mail prints; 0 if it prints none.
    pub error: f64,
}

/// The base cells that weigh the figures of the machine called `name`.
///
/// # Errors
/// If the published rows do not load.
pub fn cells(name: &str) -> Result<Vec<Cell>, PublishedError> {
    let mut cells: Vec<Cell> = Vec::new();
    for mail in Mail::known() {
        let mail = Mail::find(mail)?;
        for row in mail.rows.iter().filter(|row| !mail.fitted_base(row)) {
            let Some(target) = target(row, name) else { continue };
            let error = row.base.as_ref().and_then(|base| base.error_pct()).map_or(0.0, |pct| pct / 100.0);
            let is_known =
                |cell: &Cell| cell.target.published == target.published && has_base_of(&cell.target.run, &target.run);
            if !cells.iter().any(is_known) {
                cells.push(Cell { target, error });
            }
        }
    }
    Ok(cells)
}

/// Whether the base of both is the same metric of the same run.
fn has_base_of(a: &PublishedRun, b: &PublishedRun) -> bool {
    a.metric == b.metric && is_run_of(a, b)
}

fn is_run_of(a: &PublishedRun, b: &PublishedRun) -> bool {
    let of = |run: &PublishedRun| [&run.machine, &run.workload, &run.base, &run.governor].map(String::clone);
    of(a) == of(b) && a.short == b.short
}

/// What base cells say of a machine.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// Name of the machine.
    pub machine: String,
    /// Each cell with what draws give.
    pub cells: Vec<CellEvidence>,
    /// Each figure in doubt, those that moved or narrowed most first.
    pub figures: Vec<FigureEvidence>,
    /// Number of draws that were run.
    pub draws: usize,
    /// How many of these are effective.
    pub effective: f64,
    /// How many had no value of a cell, and why the first had none.
    pub failed: Option<(usize, String)>,
    /// The posterior as data; none where fewer than [`EFFECTIVE_MIN`] draws are effective, no cell tells anything, or the
    /// prior excludes one.
    pub posterior: Option<String>,
}

/// A base cell, and what draws give for it.
#[derive(Clone, Debug, PartialEq)]
pub struct CellEvidence {
    /// What the mail prints, and the run that gives ours.
    pub cell: Cell,
    /// Standard deviation of its logarithm, all that counts in its likelihood.
    pub sigma: f64,
    /// Mean of the short runs on the machine as it stands, the ratio to the row's run taken out.
    pub stated: f64,
    /// 5, 50 and 95 % quantile over draws of the prior.
    pub prior: [f64; 3],
    /// The same over weighed draws.
    pub posterior: [f64; 3],
}

impl CellEvidence {
    /// By how many standard deviations, of the prior and of all that counts in its likelihood together, the published value
    /// is off the median of the prior. Both are taken for log-normal.
    pub fn distance(&self) -> f64 {
        let [low, median, high] = self.prior.map(libm::log);
        let prior = (high - low) / (2.0 * WITHIN_90);
        let sd = libm::sqrt(prior * prior + self.sigma * self.sigma);
        (libm::log(self.cell.target.published) - median).abs() / sd
    }

    /// Whether the published value is farther off than figures and errors in doubt explain: once in a thousand times.
    pub fn is_excluded(&self) -> bool {
        self.distance() > EXCLUDED
    }
}

/// A figure in doubt, as a factor of its stated value.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureEvidence {
    /// Path in the machine file.
    pub path: String,
    /// 95 % quantile of the prior; the 5 % quantile is one divided by this, the median is 1.
    pub prior: f64,
    /// 5, 50 and 95 % quantile of the posterior; none if no cell tells anything of it.
    pub posterior: Option<[f64; 3]>,
}

impl FigureEvidence {
    /// How much the posterior tells: by how many standard deviations of the prior the median moved, plus the part of the
    /// interval's width that is gone.
    fn news(&self) -> f64 {
        let Some(ends) = self.posterior else { return 0.0 };
        let [low, median, high] = ends.map(|factor| libm::log(factor) / libm::log(self.prior));
        WITHIN_90 * median.abs() + (1.0 - (high - low) / 2.0).max(0.0)
    }
}

/// Runs draws of `machine` until enough are effective, `least` at least, four times as many at most. `report` is given
/// the number of draws and how many of them are effective, several times.
///
/// # Errors
/// If the machine has no base cells, a run of the machine as it stands fails, or `runs` is stopped.
pub fn weigh(
    machine: &Machine,
    least: usize,
    runs: &FitRuns,
    report: &mut dyn FnMut(usize, f64),
) -> Result<Evidence, CalibrateError> {
    let cells = cells(&machine.name)?;
    if cells.is_empty() {
        return Err(CalibrateError::NoCells { machine: machine.name.clone() });
    }
    let shorts = ShortRuns::find(machine, &cells)?;
    let stated = shorts.stated(runs)?;
    let observations: Vec<Observation> = cells
        .iter()
        .zip(&stated)
        .map(|(cell, stated)| {
            let variance = cell.error * cell.error + DRIFT * DRIFT + stated.variance;
            // What our short run is to give.
            Observation { value: libm::log(cell.target.published) - stated.ratio, variance }
        })
        .collect();
    let law = DrawLaw::before_fits(machine);
    let of_workloads = shorts.names_in_doubt();
    let names: BTreeSet<&str> = law.names().into_iter().chain(of_workloads.iter().map(String::as_str)).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let effort = Effort { least, most: 4 * least, effective: EFFECTIVE_MIN as usize };
    let mut failures: Vec<String> = Vec::new();
    let model = |samples: &[Sample]| {
        let mut predicted = Vec::new();
        for samples in samples.chunks(TOGETHER) {
            for outcome in shorts.of_draws(&law, &names, samples, runs)? {
                predicted.push(outcome.map_err(|message| failures.push(message)).ok());
            }
        }
        Ok::<_, CalibrateError>(predicted)
    };
    let population = sample(&names, &observations, effort, model, report)?;
    let failed = failures.first().map(|first| (failures.len(), first.clone()));
    let mut evidence = Evidence {
        machine: machine.name.clone(),
        cells: cells_with_draws(cells, &stated, &observations, &population),
        figures: figures(&law, &names, &population),
        draws: population.samples.len(),
        effective: population.effective,
        failed,
        posterior: None,
    };
    let is_excluded = evidence.cells.iter().any(CellEvidence::is_excluded);
    if population.effective >= EFFECTIVE_MIN && !population.told.is_empty() && !is_excluded {
        evidence.posterior = Some(evidence.data(machine, &names, &population));
    }
    Ok(evidence)
}

const QUANTILES: [f64; 3] = [0.05, 0.5, 0.95];

fn cells_with_draws(
    cells: Vec<Cell>,
    stated: &[Stated],
    observations: &[Observation],
    population: &Population,
) -> Vec<CellEvidence> {
    let of_cell = |(c, cell): (usize, Cell)| {
        let ours =
            |sample: &Sample| sample.predicted.as_ref().map(|predicted| libm::exp(predicted[c] + stated[c].ratio));
        let values: Vec<Option<f64>> = population.samples.iter().map(ours).collect();
        CellEvidence {
            cell,
            sigma: libm::sqrt(observations[c].variance),
            stated: libm::exp(stated[c].log + stated[c].ratio),
            prior: QUANTILES.map(|p| population.prior_quantile(&values, p)),
            posterior: QUANTILES.map(|p| population.quantile(&values, p)),
        }
    };
    cells.into_iter().enumerate().map(of_cell).collect()
}

fn figures(law: &DrawLaw, names: &[&str], population: &Population) -> Vec<FigureEvidence> {
    let place = |name: &str| names.binary_search(&name).ok();
    let is_told = |name: &str| place(name).is_some_and(|place| population.told.contains(&place));
    let of_figure = |(path, doubt): &(String, fairground_machine::Doubt)| {
        let is_told = is_told(path) || doubt.shares.is_some_and(is_told);
        let factor = |sample: &Sample| {
            let off = |name: &str| place(name).map_or(0.0, |place| sample.deviations[place]);
            Some(doubt.factor(path, off))
        };
        let factors: Vec<Option<f64>> = population.samples.iter().map(factor).collect();
        FigureEvidence {
            path: path.clone(),
            prior: libm::exp(WITHIN_90 * libm::log(doubt.spread)),
            posterior: is_told.then(|| QUANTILES.map(|p| population.quantile(&factors, p))),
        }
    };
    let mut figures: Vec<FigureEvidence> = law.doubts().iter().map(of_figure).collect();
    figures.sort_by(|a, b| b.news().total_cmp(&a.news()).then_with(|| a.path.cmp(&b.path)));
    figures
}

impl Evidence {
    /// The text of [`Posterior`]'s file.
    fn data(&self, machine: &Machine, names: &[&str], population: &Population) -> String {
        let name = &machine.name;
        let mut out = format!(
            "# Draws of the figures of {name}, weighed by the base cells below; see \"Doubt\" in machines/README.md.\n\
             # machine: {name}\n\
             # figures: {}\n\
             {VERSION}fairground {}, calibrate machines/{name}.toml --posterior --write\n\
             # draws: {}\n\
             # effective: {:.1}\n\
             # drift: {DRIFT}\n",
            machine.figures_hash(),
            env!("CARGO_PKG_VERSION"),
            self.draws,
            self.effective,
        );
        for CellEvidence { cell, prior, posterior, .. } in &self.cells {
            let [prior, posterior] = [prior, posterior].map(|ends| ends.map(digits));
            let Target { cell: id, published, unit, .. } = &cell.target;
            let _ = writeln!(
                out,
                "# cell: {id}; published {published} {unit}, error {} %; prior {} ({} to {}), posterior {} ({} to {})",
                digits(cell.error * 100.0),
                prior[1],
                prior[0],
                prior[2],
                posterior[1],
                posterior[0],
                posterior[2],
            );
        }
        let told: Vec<&str> = population.told.iter().map(|place| names[*place]).collect();
        let _ = writeln!(out, "{}", told.join("\t"));
        for place in population.resampled(KEPT) {
            let deviations = &population.samples[place].deviations;
            let row: Vec<String> = population.told.iter().map(|j| format!("{:.4}", deviations[*j])).collect();
            let _ = writeln!(out, "{}", row.join("\t"));
        }
        out
    }
}

/// Begins the line of a file that says which program made it.
const VERSION: &str = "# made by: ";

/// Whether two texts are the same posterior, whatever version of the program made them.
pub fn is_same(a: &str, b: &str) -> bool {
    let data = |text: &'_ str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with(VERSION)).map(str::to_owned).collect()
    };
    data(a) == data(b)
}

/// Four digits, as far as they are not 0 behind the point.
fn digits(value: f64) -> String {
    crate::tables::number(value)
}

/// What short runs give on the machine as it stands.
struct Stated {
    /// Mean of the logarithms of the short runs, one for each seed.
    log: f64,
    /// Logarithm of the row's run over the short run.
    ratio: f64,
    /// Variance of the logarithm of one short run, and of the ratio.
    variance: f64,
}

/// The short runs that all cells need, each once.
struct ShortRuns<'a> {
    machine: &'a Machine,
    runs: Vec<ShortRun>,
    /// The run of each cell, by its place, and the cell's metric.
    of_cells: Vec<(usize, String)>,
}

struct ShortRun {
    /// As found for the machine as it stands.
    workload: Workload,
    /// That of the row, if it is another.
    long: Option<Workload>,
    config: RunConfig,
    sched: String,
}

impl<'a> ShortRuns<'a> {
    fn find(machine: &'a Machine, cells: &[Cell]) -> Result<ShortRuns<'a>, CalibrateError> {
        let mut known: Vec<&PublishedRun> = Vec::new();
        let mut of_cells = Vec::new();
        for Cell { target, .. } in cells {
            let place = known.iter().position(|run| is_run_of(run, &target.run)).unwrap_or(known.len());
            if place == known.len() {
                known.push(&target.run);
            }
            of_cells.push((place, target.run.metric.clone()));
        }
        let run = |run: &&PublishedRun| {
            let subset = MachineSpec::parse(&run.machine).subset;
            let cpus = subset.map(|subset| machine.subset(subset)).transpose()?;
            let workload = |name: &str| Ok::<_, CalibrateError>(Workload::find_bound(name, machine, cpus.as_ref())?.0);
            Ok(ShortRun {
                workload: workload(run.short.as_ref().unwrap_or(&run.workload))?,
                long: run.short.as_ref().map(|_| workload(&run.workload)).transpose()?,
                config: RunConfig { governor: run.governor()?, ..RunConfig::default() },
                sched: run.base.clone(),
            })
        };
        let runs = known.iter().map(run).collect::<Result<Vec<_>, CalibrateError>>()?;
        Ok(ShortRuns { machine, runs, of_cells })
    }

    /// What is in doubt of the workloads.
    fn names_in_doubt(&self) -> BTreeSet<String> {
        self.runs.iter().flat_map(|run| run.workload.names_in_doubt()).collect()
    }

    /// Runs on the machine as it stands: the short ones with all seeds, those of the rows with half of them.
    fn stated(&self, runs: &FitRuns) -> Result<Vec<Stated>, CalibrateError> {
        let seeds = &runs.seeds;
        let paired = &seeds[..seeds.len().div_ceil(2)];
        let mut executor = Executor::default();
        let machine = Arc::new(self.machine.clone());
        let mut ask = |run: &ShortRun, workload: &Workload, seeds: &[u64]| {
            let (experiment, _) = run.experiment(&machine, workload.clone())?;
            Ok::<Asked, CalibrateError>(executor.ask(&Arc::new(experiment), 0, seeds))
        };
        let mut asked = Vec::new();
        for run in &self.runs {
            let long = run.long.as_ref().map(|long| ask(run, long, paired)).transpose()?;
            asked.push((ask(run, &run.workload, seeds)?, long));
        }
        let outcomes = executor.carry_out(runs.store, runs.jobs, runs.stop, runs.tell)?;
        let of_cell = |(place, metric): &(usize, String)| {
            let logs = |asked: Asked| {
                let values = outcomes.of(asked).into_iter().map(|run| log_of(run, metric));
                values.collect::<Result<Vec<f64>, String>>().map_err(CalibrateError::Run)
            };
            let (short, long) = &asked[*place];
            let short = logs(*short)?;
            let (log, variance) = mean_and_variance(&short);
            let (ratio, of_ratio) = match long {
                None => (0.0, 0.0),
                Some(long) => {
                    let ratios: Vec<f64> = logs(*long)?.iter().zip(&short).map(|(long, short)| long - short).collect();
                    let (mean, variance) = mean_and_variance(&ratios);
                    (mean, variance / ratios.len() as f64)
                }
            };
            Ok(Stated { log, ratio, variance: variance + of_ratio })
        };
        self.of_cells.iter().map(of_cell).collect()
    }

    /// The logarithm of each cell's value on each draw, or why a draw has none.
    fn of_draws(
        &self,
        law: &DrawLaw,
        names: &[&str],
        samples: &[Sample],
        runs: &FitRuns,
    ) -> Result<Vec<Result<Vec<f64>, String>>, CalibrateError> {
        let mut executor = Executor::default();
        let mut ask = |sample: &Sample| -> Result<Vec<Asked>, String> {
            let off = |name: &str| names.binary_search(&name).map_or(0.0, |place| sample.deviations[place]);
            let machine = self.machine.with_factors(&law.factors_by(off)).map_err(|e| e.to_string())?;
            let machine = Arc::new(machine);
            let ask = |run: &ShortRun| {
                let workload = run.workload.drawn(self.machine, Some(&off)).map_err(|e| e.to_string())?;
                let (experiment, _) = run.experiment(&machine, workload).map_err(|e| e.to_string())?;
                Ok(executor.ask(&Arc::new(experiment), 0, &[sample.number]))
            };
            self.runs.iter().map(ask).collect()
        };
        let asked: Vec<Result<Vec<Asked>, String>> = samples.iter().map(&mut ask).collect();
        let outcomes = executor.carry_out(runs.store, runs.jobs, runs.stop, runs.tell)?;
        let logs = |asked: Result<Vec<Asked>, String>| {
            let asked = asked?;
            let of_cell = |(place, metric): &(usize, String)| {
                let mut runs = outcomes.of(asked[*place]);
                log_of(runs.pop().unwrap_or_else(|| Err("no run".into())), metric)
            };
            self.of_cells.iter().map(of_cell).collect()
        };
        Ok(asked.into_iter().map(logs).collect())
    }
}

impl ShortRun {
    fn experiment(&self, machine: &Arc<Machine>, workload: Workload) -> Result<ExperimentAndNotes, CalibrateError> {
        Ok(self.config.experiment(Arc::clone(machine), workload, std::slice::from_ref(&self.sched))?)
    }
}

/// The logarithm of a run's metric.
fn log_of(run: Result<fairground_run::batch::RunReport, String>, metric: &str) -> Result<f64, String> {
    let report = run?;
    let value = report.metrics.iter().find(|value| value.metric.name == metric).map(|value| value.value);
    match value {
        Some(value) if value > 0.0 && value.is_finite() => Ok(libm::log(value)),
        Some(value) => Err(format!("{metric} is {value}, which has no logarithm")),
        None => Err(format!("no metric {metric}")),
    }
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, squares / (n - 1.0).max(1.0))
}

#[cfg(test)]
mod tests {
    use fairground_machine::{presets, Draw};
    use fairground_run::experiment::Stop;

    use super::*;

    fn ids(name: &str) -> Vec<String> {
        cells(name).unwrap().into_iter().map(|cell| cell.target.cell).collect()
    }

    /// Test cells are no evidence, nor is what an option was fitted to, what counts the patched column, or what a mail
    /// contradicts itself in.
    #[test]
    fn evidence_is_base_cells_alone() {
        let mails: Vec<Mail> = Mail::known().map(|name| Mail::find(name).unwrap()).collect();
        for name in presets() {
            for cell in cells(name).unwrap() {
                let id = cell.target.cell.strip_suffix("/base").expect("a base cell");
                let row = mails.iter().flat_map(|mail| &mail.rows).find(|row| row.id == id).unwrap();
                let base = row.base.as_ref().unwrap();
                assert_eq!((base.value, row.not_scored.is_none()), (cell.target.published, true));
                assert!(mails.iter().all(|mail| !mail.fitted_base(row)), "{id}");
            }
        }
        assert_eq!(ids("hikey960"), ["asym-prev-first/hikey960/sched-pipe/ops_per_sec/base"], "no migrations");
        assert_eq!(ids("hikey").len(), 7);
        assert!(ids("kunpeng920").iter().all(|id| !id.contains("busy")) && ids("kunpeng920").len() == 6);
        let pixel6 = ids("pixel6");
        assert!(pixel6.iter().all(|id| !id.contains("score") && !id.contains("jankbench")), "{pixel6:?}");
        assert_eq!(pixel6.iter().filter(|id| id.contains("geekbench5/power")).count(), 1, "printed once: {pixel6:?}");
        assert!(ids("rpi5").is_empty());
    }

    fn weighed(jobs: usize) -> Evidence {
        let machine = Machine::preset("hikey960").unwrap();
        let stop = Stop::default();
        let runs = FitRuns { seeds: vec![1, 2], jobs, store: None, stop: &stop, tell: &|_| () };
        weigh(&machine, 8, &runs, &mut |_, _| {}).unwrap()
    }

    #[test]
    fn the_same_evidence_comes_out_to_the_bit_and_few_draws_are_no_posterior() {
        let (first, again) = (weighed(1), weighed(2));
        assert_eq!((first.draws, first.effective.to_bits()), (32, again.effective.to_bits()));
        assert_eq!((&first.cells, &first.figures), (&again.cells, &again.figures));
        assert!(first.posterior.is_none() && first.effective < 32.0 && first.failed.is_none());
        let cell = &first.cells[0];
        // No error above the drift of 6 %, next to no noise; and the file's scale is fitted to this cell.
        assert!((cell.sigma - 0.06).abs() < 0.005, "{}", cell.sigma);
        assert!((cell.stated / 149_313.0 - 1.0).abs() < 0.02, "{}", cell.stated);
        let [low, median, high] = cell.posterior;
        assert!(low <= median && median <= high && (median / 149_313.0 - 1.0).abs() < 0.1, "{:?}", cell.posterior);
    }

    #[test]
    fn data_are_read_as_they_are_written() {
        let machine = Machine::preset("hikey960").unwrap();
        let law = DrawLaw::before_fits(&machine);
        let names: Vec<&str> = law.names().into_iter().collect();
        let sample = |i: u64| Sample { number: i, deviations: vec![i as f64 / 100.0; names.len()], predicted: None };
        let population = Population {
            samples: (0..200).map(sample).collect(),
            prior: 200,
            weights: vec![1.0 / 200.0; 200],
            effective: 200.0,
            told: [2, 5].into(),
        };
        let cells = cells("hikey960").unwrap().into_iter();
        let of_cell = |cell| CellEvidence { cell, sigma: 0.06, stated: 1.0, prior: [1.0; 3], posterior: [2.0; 3] };
        let evidence = Evidence {
            machine: machine.name.clone(),
            cells: cells.map(of_cell).collect(),
            figures: Vec::new(),
            draws: 200,
            effective: 200.0,
            failed: None,
            posterior: None,
        };
        let text = evidence.data(&machine, &names, &population);
        let posterior = fairground_machine::Posterior::parse("x.tsv", &text, "hikey960").unwrap();
        assert_eq!((posterior.len(), posterior.cells, posterior.effective), (KEPT, 1, 200.0));
        assert_eq!(posterior.figures, machine.figures_hash());
        assert_eq!(posterior.names().collect::<Vec<_>>(), [names[2], names[5]]);
        let rows: BTreeSet<u64> = (1..=KEPT as u64)
            .map(|draw| (posterior.deviation(Draw(draw), names[2]).unwrap() * 100.0).round() as u64)
            .collect();
        assert_eq!(rows.len(), KEPT, "of 200 that count the same none comes twice");
        assert!(
            is_same(&text, &text.replace("fairground ", "another ")) && !is_same(&text, &text.replace("200", "201"))
        );
    }

    #[test]
    fn names_of_recorded_posteriors_are_in_doubt_of_the_machine_or_of_its_cells_workloads() {
        for name in presets() {
            let machine = Machine::preset(name).unwrap();
            let Some(posterior) = fairground_machine::Posterior::recorded(&machine).unwrap() else { continue };
            let of_workloads = ShortRuns::find(&machine, &cells(name).unwrap()).unwrap().names_in_doubt();
            let law = DrawLaw::before_fits(&machine);
            let known: BTreeSet<&str> =
                law.names().into_iter().chain(of_workloads.iter().map(String::as_str)).collect();
            let unknown: Vec<&str> = posterior.names().filter(|name| !known.contains(name)).collect();
            assert_eq!(unknown, [""; 0], "machines/posterior/{name}.tsv");
        }
    }

    #[test]
    fn a_machine_without_base_cells_is_refused() {
        let machine = Machine::preset("rpi5").unwrap();
        let runs = FitRuns { seeds: vec![1], jobs: 1, store: None, stop: &Stop::default(), tell: &|_| () };
        let error = weigh(&machine, 8, &runs, &mut |_, _| {}).unwrap_err();
        assert_eq!(error.to_string(), "no published base cell weighs the figures of rpi5");
    }

    /// 57 us where the prior has 10 to 20; and 1.176 s where it has 0.6 to 1.5, which is within it.
    #[test]
    fn a_cell_far_off_the_prior_is_excluded() {
        let cell = |published: f64, sigma, prior| {
            let mut cell = cells("hikey960").unwrap().remove(0);
            cell.target.published = published;
            CellEvidence { cell, sigma, stated: 1.0, prior, posterior: [1.0; 3] }
        };
        let far = cell(57.0, 0.06, [10.0, 14.0, 20.0]);
        assert!(far.is_excluded() && (far.distance() - 6.4).abs() < 0.1, "{}", far.distance());
        let near = cell(1.176, 0.065, [0.6, 0.9, 1.5]);
        assert!(!near.is_excluded() && near.distance() < 1.0, "{}", near.distance());
    }

    #[test]
    fn figures_that_moved_or_narrowed_come_first() {
        let figure = |posterior: Option<[f64; 3]>| FigureEvidence { path: "x".into(), prior: 2.0, posterior }.news();
        assert_eq!(figure(None), 0.0);
        assert_eq!(figure(Some([0.5, 1.0, 2.0])), 0.0);
        assert!(figure(Some([0.9, 1.0, 1.1])) > 0.8 && figure(Some([1.0, 2.0, 4.0])) > 1.6);
    }
}

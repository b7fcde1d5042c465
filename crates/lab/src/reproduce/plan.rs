//! The plan of a reproduction: the runs that published rows need, requested together, and the rows made from their
//! outcomes.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairground_machine::{Machine, MachineSpec, Source};

use super::request::{RequestError, Supplements};
use super::rows::{reproduce, runs_of, Executed, Reproduction};
use crate::ablation::{Ablation, AblationError};
use crate::comparison::{Report, Settings};
use crate::cost_attribution::TERMS;
use crate::doubt::{draws_and_seeds, note_on_draw_law, AskedDraws};
use crate::published::{Mail, PublishedRun};
use crate::robustness::{self, Robustness};
use crate::sensitivity::{self, PerturbedMachine, Sensitivity, SkippedFigure, Trial};
use crate::shortened::shortened;
use fairground_run::executor::{Asked, Executor, Outcomes};
use fairground_run::experiment::Experiment;
use fairground_run::run_config::{ExperimentError, RunConfig};
use fairground_run::sched_spec::SchedSpec;
use fairground_run::worker::Workers;
use fairground_sim::Config;

/// The base and test columns of one run specification.
struct PairedColumns {
    spec: PublishedRun,
    seeds: Vec<u64>,
    columns: [Asked; 2],
}

impl PairedColumns {
    fn report(&self, outcomes: &Outcomes) -> Report {
        let PublishedRun { machine, workload, .. } = &self.spec;
        let both = self.columns.map(|asked| outcomes.of(asked)).into();
        let sides = self.spec.ends().map(|sched| Settings::new(machine, workload, sched));
        Report::new(&sides, &self.seeds, &both)
    }
}

/// The runs of some rows.
struct PlannedRun {
    pair: PairedColumns,
    /// Base and test on draws of the figures in doubt.
    drawn: AskedDraws,
    /// What part of the row's length they take, as the number it is divided by.
    part_on_draws: u32,
    /// Whether rows are scored over them.
    scores_draws: bool,
    /// What these draws are of; none without draws.
    draw_law: Option<String>,
    sources: Vec<Source>,
    /// The same columns without each of [`TERMS`]; `None` for a term that is absent.
    without: Vec<Option<PairedColumns>>,
    ablation: Option<(Ablation, Vec<Asked>)>,
}

/// The run as it is on draws, and what part of the length that is, as the number it is divided by.
fn on_draws(spec: &PublishedRun) -> (PublishedRun, u32) {
    let part = spec.part_on_draws.unwrap_or(1);
    let mut short = spec.clone();
    for workload in short.workloads_mut().filter(|_| part > 1) {
        *workload = shortened(workload, part).unwrap_or_else(|| workload.clone());
    }
    let is_short = short.columns() != spec.columns();
    (short, if is_short { part } else { 1 })
}

/// Whether a row of both columns needs the run.
fn is_compared(spec: &PublishedRun, mail: &Mail) -> bool {
    let mut compared = mail.rows.iter().filter(|row| row.test.is_some()).filter_map(|row| row.run.as_ref());
    compared.any(|run| run.has_runs_of(spec))
}

/// One point of a robustness check: each published run, and its columns at that point.
type Point = Vec<(PublishedRun, PairedColumns)>;

/// A perturbed figure of a machine: its path, the factor, and the runs with it.
type PerturbedRun = (String, f64, PairedColumns);

/// The scored runs, unchanged and with each estimate perturbed.
#[derive(Default)]
struct SensitivityRuns {
    runs: Vec<(PairedColumns, Vec<PerturbedRun>)>,
    skipped: Vec<SkippedFigure>,
}

/// Collects the runs that rows need.
pub(super) struct Planner<'a> {
    supplements: &'a Supplements,
    seeds: Option<u64>,
    /// Where neither the user nor the row says how many.
    default_seeds: u64,
    /// Draws of the figures in doubt on which rows are run besides.
    draws: u64,
    /// Whether rows are scored over them.
    scores_draws: bool,
    workers: &'a Workers,
    executor: Executor,
    experiments: BTreeMap<[String; 4], Arc<Experiment>>,
    /// Of each machine, governor, workload and draw, with any scheduler.
    drawn: BTreeMap<([String; 3], u64), Arc<Experiment>>,
    /// Warnings about machines and workloads.
    warnings: Vec<String>,
}

/// What a [`Planner`] has collected.
pub(super) struct Planned<'a> {
    pub plan: Plan<'a>,
    pub executor: Executor,
    /// Warnings about machines and workloads.
    pub warnings: Vec<String>,
}

/// Everything that will be run, and how the result is made from the outcomes.
pub(super) struct Plan<'a> {
    supplements: &'a Supplements,
    runs: Vec<PlannedRun>,
    sweeps: Vec<(usize, Vec<Point>)>,
    sensitivity_runs: Option<SensitivityRuns>,
}

impl<'a> Planner<'a> {
    pub fn new(
        supplements: &'a Supplements,
        seeds: Option<u64>,
        default_seeds: u64,
        draws: u64,
        scores_draws: bool,
        workers: &'a Workers,
    ) -> Planner<'a> {
        let (executor, experiments, drawn, warnings) = Default::default();
        Planner {
            supplements,
            seeds,
            default_seeds,
            draws,
            scores_draws,
            workers,
            executor,
            experiments,
            drawn,
            warnings,
        }
    }

    /// Plans the rows of `mails`: everything they need, and the runs.
    pub fn plan(mut self, mails: &[Mail]) -> Result<Planned<'a>, RequestError> {
        let mut runs = Vec::new();
        for mail in mails {
            for spec in runs_of(mail) {
                runs.push(self.run(spec, mail)?);
            }
        }
        let sweeps = self.sweeps(mails)?;
        let sensitivity_runs = if self.supplements.sensitivity { Some(self.request_sensitivity(mails)?) } else { None };
        let plan = Plan { supplements: self.supplements, runs, sweeps, sensitivity_runs };
        Ok(Planned { plan, executor: self.executor, warnings: self.warnings })
    }

    fn run(&mut self, spec: PublishedRun, mail: &Mail) -> Result<PlannedRun, RequestError> {
        let seeds: Vec<u64> = (1..=self.seeds.or(spec.seeds).unwrap_or(self.default_seeds)).collect();
        let pair = self.request_pair(&spec, &seeds, &|experiment| Arc::clone(experiment))?;
        let (short, part_on_draws) = on_draws(&spec);
        let drawn = if is_compared(&spec, mail) { self.request_draws(&short)? } else { AskedDraws::default() };
        let mut without = Vec::new();
        if self.supplements.attribute_costs {
            let base = &self.experiments_of(&spec)?[0];
            for term in &TERMS {
                let off = |experiment: &Arc<Experiment>| {
                    term.switch_off(experiment).map_or_else(|| Arc::clone(experiment), Arc::new)
                };
                without.push(term.switch_off(base).map(|_| self.request_pair(&spec, &seeds, &off)).transpose()?);
            }
        }
        let [base, test] = self.experiments_of(&spec)?;
        let ablation = match self.supplements.each_feature {
            false => None,
            true => Some(self.request_ablation(&spec, [&base, &test], &mail.based_on, &seeds)?),
        };
        let sources = base.machine.figures.iter().map(|f| f.source.clone()).collect();
        let law = || base.machine.draw_law().map(|law| note_on_draw_law(&law, self.draws));
        let draw_law = (self.draws > 0).then(law).transpose().map_err(ExperimentError::from)?;
        let scores_draws = self.scores_draws;
        Ok(PlannedRun { pair, drawn, part_on_draws, scores_draws, draw_law, sources, without, ablation })
    }

    /// Base and test on each draw.
    fn request_draws(&mut self, spec: &PublishedRun) -> Result<AskedDraws, RequestError> {
        let mut asked = AskedDraws::default();
        for (draw, seed) in draws_and_seeds(self.draws) {
            let [(base_workload, base), (test_workload, test)] = spec.columns();
            let sides = [
                self.experiment_on_draw(spec, base_workload, base, draw)?,
                self.experiment_on_draw(spec, test_workload, test, draw)?,
            ];
            asked.ask(&mut self.executor, (draw, seed), &sides);
        }
        Ok(asked)
    }

    /// One scheduler under one workload on a draw. Schedulers share the drawn machine and workload.
    fn experiment_on_draw(
        &mut self,
        spec: &PublishedRun,
        workload: &str,
        sched: &str,
        draw: u64,
    ) -> Result<Arc<Experiment>, RequestError> {
        let stated = self.experiment(spec, workload, sched)?;
        let key = ([&spec.machine, &spec.governor, workload].map(|part: &str| part.to_owned()), draw);
        if !self.drawn.contains_key(&key) {
            let config =
                RunConfig { governor: spec.governor()?, hz: Some(stated.config.hz), draw, ..RunConfig::default() };
            let (machine, workload) = (Arc::clone(&stated.machine), Arc::clone(&stated.workload));
            // The warnings are those of the stated one.
            let (drawn, _) = config.experiment_of(machine, workload, stated.scheds.clone())?;
            self.drawn.insert(key.clone(), Arc::new(drawn));
        }
        let drawn = &self.drawn[&key];
        Ok(Arc::new(Experiment {
            machine: Arc::clone(&drawn.machine),
            workload: Arc::clone(&drawn.workload),
            scheds: stated.scheds.clone(),
            config: Config { draw, ..stated.config },
            workers: self.workers.clone(),
        }))
    }

    /// Base and test on experiments that `change` has changed.
    fn request_pair(
        &mut self,
        spec: &PublishedRun,
        seeds: &[u64],
        change: &dyn Fn(&Arc<Experiment>) -> Arc<Experiment>,
    ) -> Result<PairedColumns, RequestError> {
        let experiments = self.experiments_of(spec)?;
        let columns = experiments.map(|experiment| self.executor.ask(&change(&experiment), 0, seeds));
        Ok(PairedColumns { spec: spec.clone(), seeds: seeds.to_vec(), columns })
    }

    fn experiments_of(&mut self, spec: &PublishedRun) -> Result<[Arc<Experiment>; 2], RequestError> {
        let [(base_workload, base), (test_workload, test)] = spec.columns();
        Ok([self.experiment(spec, base_workload, base)?, self.experiment(spec, test_workload, test)?])
    }

    /// One scheduler under one workload; looked up once, so that its warnings are shown once.
    fn experiment(
        &mut self,
        spec: &PublishedRun,
        workload: &str,
        sched: &str,
    ) -> Result<Arc<Experiment>, RequestError> {
        let key = [&spec.machine, &spec.governor, workload, sched].map(|part: &str| part.to_owned());
        if let Some(experiment) = self.experiments.get(&key) {
            return Ok(Arc::clone(experiment));
        }
        let config = RunConfig { governor: spec.governor()?, ..RunConfig::default() };
        let (experiment, said) = config.find(&spec.machine, workload, &[sched.to_owned()])?;
        self.warnings.extend(said);
        let experiment = Arc::new(Experiment { workers: self.workers.clone(), ..experiment });
        self.experiments.insert(key, Arc::clone(&experiment));
        Ok(experiment)
    }

    /// Plans the ablation of the change between base and test.
    fn request_ablation(
        &mut self,
        spec: &PublishedRun,
        [base, test]: [&Experiment; 2],
        based_on: &BTreeMap<String, Vec<String>>,
        seeds: &[u64],
    ) -> Result<(Ablation, Vec<Asked>), RequestError> {
        let features =
            |sched: &SchedSpec| sched.features().cloned().ok_or_else(|| AblationError::NoFeatures(sched.to_string()));
        let mut ablation = Ablation::plan(&features(&base.scheds[0])?, &features(&test.scheds[0])?, based_on)?;
        let [(base_workload, _), (test_workload, _)] = spec.columns();
        if base_workload != test_workload {
            ablation = ablation.with_test_workload();
        }
        let mut columns = Vec::new();
        for column in &ablation.columns {
            let workload = if column.test_workload { test_workload } else { base_workload };
            let experiment = self.experiment(spec, workload, &column.sched)?;
            columns.push(self.executor.ask(&experiment, 0, seeds));
        }
        Ok((ablation, columns))
    }

    /// Plans the scored rows at each point of the parameters that their mails leave open.
    fn sweeps(&mut self, mails: &[Mail]) -> Result<Vec<(usize, Vec<Point>)>, RequestError> {
        let Some(points) = self.supplements.robustness else { return Ok(Vec::new()) };
        let seeds: Vec<u64> = (1..=self.supplements.robustness_seeds).collect();
        let mut sweeps = Vec::new();
        for (m, mail) in mails.iter().enumerate().filter(|(_, mail)| !mail.sweep.is_empty()) {
            let mut at = Vec::new();
            for values in robustness::points(&mail.sweep, points.into()) {
                at.push(self.point(mail, &values, &seeds)?);
            }
            sweeps.push((m, at));
        }
        match sweeps.is_empty() {
            true => {
                Err(RequestError::NoSweep(mails.iter().map(|mail| mail.mail.as_str()).collect::<Vec<_>>().join(", ")))
            }
            false => Ok(sweeps),
        }
    }

    fn point(&mut self, mail: &Mail, values: &[f64], seeds: &[u64]) -> Result<Point, RequestError> {
        let mut point = Vec::new();
        for run in judged_runs(mail, &[]) {
            // Checks that the machine has these figures before any run is planned.
            robustness::set_figures(&mut MachineSpec::parse(&run.machine).find()?.0, &mail.sweep, values)?;
            let turn = |machine: &mut Machine| drop(robustness::set_figures(machine, &mail.sweep, values));
            let there = robustness::run_at(&run, &mail.sweep, values);
            let pair = self.request_pair(&there, seeds, &|experiment| Arc::new(experiment.with_machine(turn)))?;
            point.push((run, pair));
        }
        Ok(point)
    }

    /// The scored rows with each estimate of their machines perturbed.
    fn request_sensitivity(&mut self, mails: &[Mail]) -> Result<SensitivityRuns, RequestError> {
        let seeds: Vec<u64> = (1..=self.supplements.sensitivity_seeds).collect();
        let mut machines: BTreeMap<String, Vec<PerturbedMachine>> = BTreeMap::new();
        let mut sensitivity_runs = SensitivityRuns::default();
        for run in mails.iter().flat_map(|mail| judged_runs(mail, &self.supplements.sensitivity_rows)) {
            let stands = self.request_pair(&run, &seeds, &|experiment| Arc::clone(experiment))?;
            if !machines.contains_key(&run.machine) {
                let (perturbed, not) = sensitivity::perturbed_machines(&MachineSpec::parse(&run.machine).find()?.0);
                sensitivity_runs.skipped.extend(not);
                machines.insert(run.machine.clone(), perturbed);
            }
            let mut perturbed = Vec::new();
            for t in &machines[&run.machine] {
                let pair =
                    self.request_pair(&run, &seeds, &|experiment| Arc::new(with_machine(experiment, &t.machine)))?;
                perturbed.push((t.figure.clone(), t.factor, pair));
            }
            sensitivity_runs.runs.push((stands, perturbed));
        }
        let parts = &self.supplements.sensitivity_rows;
        match sensitivity_runs.runs.is_empty() {
            true if parts.is_empty() => Err(RequestError::NothingJudged(String::new())),
            true => Err(RequestError::NothingJudged(format!(" has {} in its id", parts.join(" or ")))),
            false => Ok(sensitivity_runs),
        }
    }
}

/// The distinct runs of the rows of a mail that are judged; of those with one of `parts` in their ids if there are any.
fn judged_runs(mail: &Mail, parts: &[String]) -> Vec<PublishedRun> {
    let mut judged = mail.clone();
    judged.rows.retain(|row| row.not_scored.is_none());
    judged.rows.retain(|row| parts.is_empty() || parts.iter().any(|part| row.id.contains(part)));
    runs_of(&judged)
}

fn with_machine(experiment: &Experiment, machine: &Arc<Machine>) -> Experiment {
    Experiment {
        machine: Arc::clone(machine),
        workload: Arc::clone(&experiment.workload),
        scheds: experiment.scheds.clone(),
        config: experiment.config,
        workers: experiment.workers.clone(),
    }
}

impl Plan<'_> {
    /// Makes the result from the outcomes of all runs.
    pub fn result(&self, mails: &[Mail], outcomes: &Outcomes) -> Result<Reproduction, RequestError> {
        let executed: Vec<(PublishedRun, Executed)> =
            self.runs.iter().map(|run| (run.pair.spec.clone(), run.executed(outcomes))).collect();
        let mut result = reproduce(mails, &executed)?;
        let point = |point: &Point| point.iter().map(|(run, pair)| (run.clone(), pair.report(outcomes))).collect();
        for (m, points) in &self.sweeps {
            let at: Vec<Vec<(PublishedRun, Report)>> = points.iter().map(point).collect();
            result.sweeps.push(Robustness::from_points(&mails[*m], self.supplements.robustness_seeds as usize, &at));
        }
        result.sensitivity =
            self.sensitivity_runs.as_ref().map(|sensitivity_runs| self.sensitivity(mails, sensitivity_runs, outcomes));
        Ok(result)
    }

    fn sensitivity(&self, mails: &[Mail], sensitivity_runs: &SensitivityRuns, outcomes: &Outcomes) -> Sensitivity {
        let tried = |(stands, perturbed): &(PairedColumns, Vec<PerturbedRun>)| Trial {
            run: stands.spec.clone(),
            stands: stands.report(outcomes),
            perturbed: perturbed
                .iter()
                .map(|(path, factor, pair)| (path.clone(), *factor, pair.report(outcomes)))
                .collect(),
        };
        let tried: Vec<Trial> = sensitivity_runs.runs.iter().map(tried).collect();
        Sensitivity::from_trials(
            mails,
            &tried,
            sensitivity_runs.skipped.clone(),
            self.supplements.sensitivity_seeds as usize,
        )
    }
}

impl PlannedRun {
    fn executed(&self, outcomes: &Outcomes) -> Executed {
        let ablation = self
            .ablation
            .as_ref()
            .map(|(ablation, columns)| (ablation.clone(), columns.iter().map(|asked| outcomes.of(*asked)).collect()));
        let (mut report, drawn) = (self.pair.report(outcomes), self.drawn.runs(outcomes));
        report.add_model(&drawn);
        self.draw_law.iter().for_each(|law| report.note(law));
        Executed {
            report,
            drawn,
            part_on_draws: self.part_on_draws,
            scores_draws: self.scores_draws,
            sources: self.sources.clone(),
            without: self.without.iter().map(|pair| pair.as_ref().map(|pair| pair.report(outcomes))).collect(),
            ablation,
        }
    }
}

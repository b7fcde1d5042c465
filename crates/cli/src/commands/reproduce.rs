//! `fairground reproduce`.

use std::collections::BTreeMap;

use clap::Args;
use fairground_lab::comparison::Report;
use fairground_lab::dissect::{DissectError, Dissection};
use fairground_lab::experiment::{self, Plan, Results, RunReport};
use fairground_lab::published::{Mail, RunSpec};
use fairground_lab::reproduce::{self, Executed};
use fairground_lab::setup::Setup;
use fairground_lab::spec::SchedSpec;
use fairground_lab::stats::FEW_SEEDS;
use fairground_lab::sweep::{self, Sweep};
use fairground_lab::terms::{self, TERMS};
use fairground_machine::{Machine, MachineSpec};
use miette::Diagnostic;
use thiserror::Error;

use super::run::RunFormat;
use crate::circumstances::{Circumstances, GovernorName, Jobs};
use crate::error::{End, Failure};
use crate::output::print;
use crate::progress::Progress;

/// Repeats published figures and prints ours beside them.
#[derive(Args)]
pub struct Reproduce {
    /// First three digits of a mail, or all
    #[arg(default_value = "all")]
    mail: String,
    /// Only the rows with this in their ids, e.g. hackbench; may be given several times
    #[arg(long, value_name = "PART")]
    row: Vec<String>,
    /// Pairs of runs per row: seeds 1 to N; rows are scored from 8 on [default: 8, or as many as a row needs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: Option<u64>,
    /// Run every row at the mail's own length; some are shortened otherwise
    #[arg(long)]
    full_length: bool,
    /// How to print the rows
    #[arg(long, value_enum, default_value_t)]
    format: RunFormat,
    /// Split each row's change by the physical term that carries it: the row again, once per term without it
    #[arg(long)]
    terms: bool,
    /// Split each row's change by the features between base and test: added one by one, and left out one at a time
    #[arg(long, alias = "each-patch")]
    each_feature: bool,
    /// Repeat the rows at N points of what the mail leaves open, and tell in which share each published sign holds
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "32",
        value_parser = clap::value_parser!(u16).range(1..=10_000))]
    sweep: Option<u16>,
    /// Pairs of runs at each point of a sweep: seeds 1 to N
    #[arg(long, value_name = "N", default_value = "2", requires = "sweep",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    sweep_seeds: u64,
    #[command(flatten)]
    jobs: Jobs,
}

/// No row was asked for.
#[derive(Debug, Error, Diagnostic)]
#[error("no published row has {parts} in its id")]
#[diagnostic(help("ids are {example} and so on"))]
struct NoRow {
    parts: String,
    example: String,
}

/// A row's circumstances are not ours.
#[derive(Debug, Error, Diagnostic)]
#[error("published rows: no governor {0:?}")]
struct UnknownGovernor(String);

/// There is nothing to sweep.
#[derive(Debug, Error, Diagnostic)]
#[error("--sweep: published/{0}.toml has no [[sweep]]: the mail leaves nothing open that could be moved")]
struct NoSweep(String);

/// The runs of some rows, with what their mail says of its patches.
struct Job {
    spec: RunSpec,
    based_on: BTreeMap<String, Vec<String>>,
}

impl Job {
    fn setup(&self, scheds: &[String]) -> Result<Setup, Failure> {
        setup(&self.spec, &self.spec.workload, scheds)
    }
}

fn setup(spec: &RunSpec, workload: &str, scheds: &[String]) -> Result<Setup, Failure> {
    Circumstances::with_governor(governor(&spec.governor)?).setup(&spec.machine, workload, scheds)
}

fn ends(spec: &RunSpec) -> [String; 2] {
    spec.ends().map(String::from)
}

/// Runs of one scheduler, kept for the next row that asks for them.
#[derive(Default)]
struct Columns(BTreeMap<[String; 4], (Vec<u64>, Runs)>);

type Runs = Vec<Result<RunReport, String>>;

impl Columns {
    /// Base against test on a machine that `turn` has changed.
    fn report(&mut self, spec: &RunSpec, plan: &Plan, turn: &dyn Fn(&mut Machine)) -> Result<Report, Failure> {
        let mut both = Vec::new();
        for (workload, sched) in spec.columns() {
            both.push(self.runs(spec, workload, sched, plan, turn)?);
        }
        Ok(Report::new(&spec.machine, &spec.workload, &ends(spec), &plan.seeds, &both))
    }

    fn runs(
        &mut self,
        spec: &RunSpec,
        workload: &str,
        sched: &str,
        plan: &Plan,
        turn: &dyn Fn(&mut Machine),
    ) -> Result<Runs, Failure> {
        let key = [&spec.machine, &spec.governor, workload, sched].map(|part: &str| part.to_owned());
        if let Some((seeds, runs)) = self.0.get(&key) {
            if *seeds == plan.seeds {
                return Ok(runs.clone());
            }
        }
        let setup = setup(spec, workload, &[sched.to_owned()])?.with_machine(turn);
        let progress = Progress::of(format!("{} {workload} {sched}", spec.machine), plan.seeds.len());
        let runs = experiment::run(&Plan { scheds: 1, ..plan.clone() }, &setup, &|| progress.step())?.swap_remove(0);
        self.0.insert(key, (plan.seeds.clone(), runs.clone()));
        Ok(runs)
    }
}

impl Reproduce {
    pub fn run(self) -> Result<End, Failure> {
        let mails = self.mails()?;
        let job = |mail: &Mail, spec| Job { spec, based_on: mail.based_on.clone() };
        let of_mail = |mail| reproduce::runs_of(mail).into_iter().map(move |spec| job(mail, spec));
        let jobs: Vec<Job> = mails.iter().flat_map(of_mail).collect();
        // What cannot be set up is told before hours of runs, not after.
        for job in &jobs {
            self.setup(job)?;
        }
        self.check_sweeps(&mails)?;
        let mut columns = Columns::default();
        let mut executed = Vec::new();
        for (i, job) in jobs.iter().enumerate() {
            let what = format!("{} of {}: {} {}", i + 1, jobs.len(), job.spec.machine, job.spec.workload);
            executed.push((job.spec.clone(), self.execute(job, &what, &mut columns)?));
        }
        let mut result = reproduce::reproduce(&mails, &executed)?;
        result.sweeps = self.sweeps(&mails)?;
        print(&match self.format {
            RunFormat::Text => reproduce::render(&result),
            RunFormat::Json => reproduce::json(&result),
        })?;
        Ok(if result.failed { End::RunFailed } else { End::Done })
    }

    /// The rows that were asked for, at the length that was asked for.
    fn mails(&self) -> Result<Vec<Mail>, Failure> {
        let mut mails = match self.mail.as_str() {
            "all" => Mail::known().map(Mail::find).collect::<Result<Vec<_>, _>>()?,
            name => vec![Mail::find(name)?],
        };
        let example = mails.iter().flat_map(|m| &m.rows).map(|row| row.id.clone()).next();
        for mail in &mut mails {
            if !self.row.is_empty() {
                mail.keep(&self.row);
            }
            if self.full_length {
                mail.at_full_length();
            }
        }
        if mails.iter().all(|mail| mail.rows.is_empty()) {
            return Err(NoRow { parts: self.row.join(" or "), example: example.unwrap_or_default() }.into());
        }
        Ok(mails)
    }

    /// A job's runs: its base and its test, and with `--each-feature` what takes the change between them apart.
    fn setup(&self, job: &Job) -> Result<(Setup, Option<Dissection>), Failure> {
        let ends = job.setup(&ends(&job.spec))?;
        if !self.each_feature {
            return Ok((ends, None));
        }
        let features =
            |sched: &SchedSpec| sched.features().cloned().ok_or_else(|| DissectError::NoFeatures(sched.to_string()));
        let dissection = Dissection::of(&features(&ends.scheds[0])?, &features(&ends.scheds[1])?, &job.based_on)?;
        Ok((job.setup(&dissection.scheds)?, Some(dissection)))
    }

    fn execute(&self, job: &Job, what: &str, columns: &mut Columns) -> Result<Executed, Failure> {
        let (setup, dissection) = self.setup(job)?;
        let plan = self.plan(self.seeds.or(job.spec.seeds).unwrap_or(FEW_SEEDS as u64));
        let mut dissected = None;
        let report = match dissection {
            None => columns.report(&job.spec, &plan, &|_| ())?,
            Some(dissection) => {
                let plan = Plan { scheds: setup.scheds.len(), ..plan.clone() };
                let progress = Progress::of(what.into(), plan.scheds * plan.seeds.len());
                let results = experiment::run(&plan, &setup, &|| progress.step())?;
                let both: Results = [0, dissection.test].map(|i| results[i].clone()).into();
                dissected = Some((dissection, results));
                Report::new(&job.spec.machine, &job.spec.workload, &ends(&job.spec), &plan.seeds, &both)
            }
        };
        let without = if self.terms { without_terms(job, &plan)? } else { Vec::new() };
        let sources = setup.machine.figures.iter().map(|f| f.source.clone()).collect();
        Ok(Executed { report, sources, without, dissected })
    }

    fn plan(&self, seeds: u64) -> Plan {
        Plan { scheds: 2, seeds: (1..=seeds).collect(), jobs: self.jobs.count(), check_determinism: false }
    }

    /// Whether there is something to sweep, and the machines have it.
    fn check_sweeps(&self, mails: &[Mail]) -> Result<(), Failure> {
        let swept = || mails.iter().filter(|mail| !mail.sweep.is_empty());
        if self.sweep.is_none() {
            return Ok(());
        } else if swept().next().is_none() {
            return Err(NoSweep(self.mail.clone()).into());
        }
        for mail in swept() {
            let lowest: Vec<f64> = mail.sweep.iter().map(|s| s.at(0.0)).collect();
            for run in reproduce::runs_of(mail) {
                sweep::turn(&mut MachineSpec::of(&run.machine).find()?.0, &mail.sweep, &lowest)?;
                let run = sweep::run_at(&run, &mail.sweep, &lowest);
                run.columns()
                    .map(|(workload, sched)| setup(&run, workload, &[sched.into()]))
                    .into_iter()
                    .collect::<Result<Vec<_>, _>>()?;
            }
        }
        Ok(())
    }

    /// The rows again at each point of what their mails leave open.
    fn sweeps(&self, mails: &[Mail]) -> Result<Vec<Sweep>, Failure> {
        let Some(points) = self.sweep else { return Ok(Vec::new()) };
        let plan = self.plan(self.sweep_seeds);
        let mut sweeps = Vec::new();
        for mail in mails.iter().filter(|mail| !mail.sweep.is_empty()) {
            let mut at = Vec::new();
            for values in sweep::points(&mail.sweep, points.into()) {
                at.push(point(mail, &values, &plan)?);
            }
            sweeps.push(Sweep::of(mail, plan.seeds.len(), &at));
        }
        Ok(sweeps)
    }
}

/// What the runs of a mail give at one point of its sweep.
fn point(mail: &Mail, values: &[f64], plan: &Plan) -> Result<Vec<(RunSpec, Report)>, Failure> {
    let mut columns = Columns::default();
    let mut reports = Vec::new();
    let judged =
        Mail { rows: mail.rows.iter().filter(|row| row.not_scored.is_none()).cloned().collect(), ..mail.clone() };
    for run in reproduce::runs_of(&judged) {
        // That the machine has these figures was checked before the first run.
        let turn = |machine: &mut Machine| drop(sweep::turn(machine, &mail.sweep, values));
        let report = columns.report(&sweep::run_at(&run, &mail.sweep, values), plan, &turn)?;
        reports.push((run, report));
    }
    Ok(reports)
}

fn without_terms(job: &Job, plan: &Plan) -> Result<Vec<Option<Report>>, Failure> {
    let setup = job.setup(&ends(&job.spec))?;
    let plan = Plan { scheds: setup.scheds.len(), ..plan.clone() };
    let present = TERMS.iter().filter(|term| term.without(&setup).is_some()).count();
    let progress = Progress::new(present * plan.scheds * plan.seeds.len());
    Ok(terms::runs(&setup, &plan, &|| progress.step())?)
}

/// The governor that a published row names.
pub fn governor(name: &str) -> Result<GovernorName, Failure> {
    match name {
        "performance" => Ok(GovernorName::Performance),
        "powersave" => Ok(GovernorName::Powersave),
        "schedutil" => Ok(GovernorName::Schedutil),
        other => Err(UnknownGovernor(other.into()).into()),
    }
}

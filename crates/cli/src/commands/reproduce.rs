//! `fairground reproduce`.

use std::collections::BTreeMap;

use clap::Args;
use fairground_lab::comparison::Report;
use fairground_lab::dissect::{DissectError, Dissection};
use fairground_lab::experiment::{self, Plan, Results};
use fairground_lab::published::{Mail, RunSpec};
use fairground_lab::reproduce::{self, Executed};
use fairground_lab::setup::Setup;
use fairground_lab::spec::SchedSpec;
use fairground_lab::stats::FEW_SEEDS;
use fairground_lab::terms::{self, TERMS};
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

/// The runs of some rows, with what their mail says of its patches.
struct Job {
    spec: RunSpec,
    based_on: BTreeMap<String, Vec<String>>,
}

impl Job {
    fn setup(&self, scheds: &[String]) -> Result<Setup, Failure> {
        let circumstances = Circumstances::with_governor(governor(&self.spec.governor)?);
        circumstances.setup(&self.spec.machine, &self.spec.workload, scheds)
    }

    fn ends(&self) -> [String; 2] {
        [self.spec.base.clone(), self.spec.test.clone()]
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
        let mut executed = Vec::new();
        for (i, job) in jobs.iter().enumerate() {
            let what = format!("{} of {}: {} {}", i + 1, jobs.len(), job.spec.machine, job.spec.workload);
            executed.push((job.spec.clone(), self.execute(job, &what)?));
        }
        let result = reproduce::reproduce(&mails, &executed)?;
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
        let ends = job.setup(&job.ends())?;
        if !self.each_feature {
            return Ok((ends, None));
        }
        let features =
            |sched: &SchedSpec| sched.features().cloned().ok_or_else(|| DissectError::NoFeatures(sched.to_string()));
        let dissection = Dissection::of(&features(&ends.scheds[0])?, &features(&ends.scheds[1])?, &job.based_on)?;
        Ok((job.setup(&dissection.scheds)?, Some(dissection)))
    }

    fn execute(&self, job: &Job, what: &str) -> Result<Executed, Failure> {
        let (setup, dissection) = self.setup(job)?;
        let seeds = self.seeds.or(job.spec.seeds).unwrap_or(FEW_SEEDS as u64);
        let plan = Plan {
            scheds: setup.scheds.len(),
            seeds: (1..=seeds).collect(),
            jobs: self.jobs.count(),
            check_determinism: false,
        };
        let progress = Progress::of(what.into(), plan.scheds * plan.seeds.len());
        let results = experiment::run(&plan, &setup, &|| progress.step())?;
        drop(progress);
        let test = dissection.as_ref().map_or(1, |d| d.test);
        let ends: Results = [0, test].map(|i| results[i].clone()).into();
        let report = Report::new(&job.spec.machine, &job.spec.workload, &job.ends(), &plan.seeds, &ends);
        let without = if self.terms { without_terms(job, &plan)? } else { Vec::new() };
        let sources = setup.machine.figures.iter().map(|f| f.source.clone()).collect();
        Ok(Executed { report, sources, without, dissected: dissection.map(|d| (d, results)) })
    }
}

fn without_terms(job: &Job, plan: &Plan) -> Result<Vec<Report>, Failure> {
    let setup = job.setup(&job.ends())?;
    let plan = Plan { scheds: setup.scheds.len(), ..plan.clone() };
    let progress = Progress::new(TERMS.len() * plan.scheds * plan.seeds.len());
    Ok(terms::runs(&setup, &plan, &|| progress.step())?)
}

/// The governor that a published row names.
pub fn governor(name: &str) -> Result<GovernorName, Failure> {
    match name {
        "performance" => Ok(GovernorName::Performance),
        "powersave" => Ok(GovernorName::Powersave),
        other => Err(UnknownGovernor(other.into()).into()),
    }
}

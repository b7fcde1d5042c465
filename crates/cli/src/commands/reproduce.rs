//! `fairground reproduce`.

use clap::Args;
use fairground_lab::comparison::Report;
use fairground_lab::experiment::Plan;
use fairground_lab::published::{Mail, RunSpec};
use fairground_lab::reproduce::{self, Executed};
use fairground_lab::setup::Setup;
use fairground_lab::terms::{self, TERMS};
use miette::Diagnostic;
use thiserror::Error;

use super::compare::compare;
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
    /// Pairs of runs per row: seeds 1 to N; rows are scored from 8 on
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: u64,
    /// How to print the rows
    #[arg(long, value_enum, default_value_t)]
    format: RunFormat,
    /// Split each row's change by the physical term that carries it: the row again, once per term without it
    #[arg(long)]
    terms: bool,
    #[command(flatten)]
    jobs: Jobs,
}

/// A row's circumstances are not ours.
#[derive(Debug, Error, Diagnostic)]
#[error("published rows: no governor {0:?}")]
struct UnknownGovernor(String);

impl Reproduce {
    pub fn run(self) -> Result<End, Failure> {
        let mails = match self.mail.as_str() {
            "all" => Mail::known().map(Mail::find).collect::<Result<Vec<_>, _>>()?,
            name => vec![Mail::find(name)?],
        };
        let mut executed = Vec::new();
        for spec in mails.iter().flat_map(reproduce::runs_of) {
            let result = self.execute(&spec)?;
            executed.push((spec, result));
        }
        let result = reproduce::reproduce(&mails, &executed)?;
        print(&match self.format {
            RunFormat::Text => reproduce::render(&result),
            RunFormat::Json => reproduce::json(&result),
        })?;
        Ok(if result.failed { End::RunFailed } else { End::Done })
    }

    fn execute(&self, spec: &RunSpec) -> Result<Executed, Failure> {
        let scheds = [spec.base.clone(), spec.test.clone()];
        let setup =
            Circumstances::with_governor(governor(&spec.governor)?).setup(&spec.machine, &spec.workload, &scheds)?;
        let plan = Plan {
            scheds: scheds.len(),
            seeds: (1..=self.seeds).collect(),
            jobs: self.jobs.count(),
            check_determinism: false,
        };
        let report = compare(&setup, &plan, [&spec.machine, &spec.workload], &scheds)?;
        let sources = setup.machine.figures.iter().map(|f| f.source.clone()).collect();
        let without = if self.terms { self.without_terms(&setup, &plan)? } else { Vec::new() };
        Ok(Executed { report, sources, without })
    }

    fn without_terms(&self, setup: &Setup, plan: &Plan) -> Result<Vec<Report>, Failure> {
        let progress = Progress::new(TERMS.len() * plan.scheds * plan.seeds.len());
        Ok(terms::runs(setup, plan, &|| progress.step())?)
    }
}

/// The governor that a published row names.
pub fn governor(name: &str) -> Result<GovernorName, Failure> {
    match name {
        "performance" => Ok(GovernorName::Performance),
        "powersave" => Ok(GovernorName::Powersave),
        other => Err(UnknownGovernor(other.into()).into()),
    }
}

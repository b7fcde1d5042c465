//! `fairground compare --trace`: the simulation of a trace beside the trace.

use std::path::Path;

use fairground_lab::comparison::Report;
use fairground_lab::fail_if::FailIf;
use fairground_lab::replay::Replay;
use fairground_run::metrics::Selected;
use fairground_trace::import::Selection;
use miette::Diagnostic;
use thiserror::Error;

use super::Compare;
use crate::commands::import::{machine_of, read};
use crate::error::Failure;
use crate::progress::Progress;
use fairground_run::{batch, run_config};

/// What stands for the scheduler of the trace.
const RECORDED: &str = "recorded";

/// No run of it would come to its end.
#[derive(Debug, Error, Diagnostic)]
#[error("{trace}: {why}")]
struct TooLong {
    trace: String,
    why: String,
}

impl Compare {
    /// The trace as base, and each scheduler under test as it runs what the trace recorded.
    pub(super) fn of_trace(&self, trace: &Path, conditions: &[FailIf]) -> Result<Report, Failure> {
        let machine = machine_of(trace, self.of_machine.as_deref())?;
        let imported = read(trace, &machine.machine, Selection::default())?;
        if let Some(why) = &imported.too_long {
            return Err(TooLong { trace: trace.display().to_string(), why: why.clone() }.into());
        }
        let mut workload = imported.recording.workload(&trace.display().to_string());
        if let Some(cpus) = machine.cpus {
            workload.bind(&cpus);
        }
        let mut experiment = self.circumstances.experiment_of(machine.machine, workload, &self.test)?;
        experiment.workers = self.workers.workers();
        let replay = Replay { imported: &imported, experiment: &experiment };
        let metrics: Vec<_> = replay.readings(&imported.figures).into_iter().map(|r| r.metric).collect();
        for condition in conditions {
            condition.check(&metrics)?;
        }
        let all = metrics.iter().map(|m| m.name.clone()).collect();
        let selected: Selected = self.metrics.among(&metrics, all)?;
        let scheds: Vec<String> = std::iter::once(RECORDED.to_owned()).chain(self.test.iter().cloned()).collect();
        let plan = self.plan(scheds.len());
        let progress = Progress::new(plan.scheds * plan.seeds.len());
        let results = batch::run(&plan, &replay, &|| progress.step())?;
        drop(progress);
        let mut report = Report::new(&machine.name, &trace.display().to_string(), &scheds, &plan.seeds, &results);
        run_config::notes(&experiment.config).into_iter().for_each(|note| report.note(note));
        report.keep(&conditions.iter().fold(selected, |selected, c| selected.with(c.metric())));
        Ok(report)
    }
}

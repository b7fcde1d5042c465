//! `fairground compare --trace`: the simulation of a trace beside the trace.

use std::path::Path;

use fairground_lab::comparison::{Report, Settings};
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
use crate::run_options::warned;
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
        let found = self.options.config()?.experiment(machine.machine, workload, &self.test)?;
        let mut experiment = warned(found);
        experiment.workers = self.workers.workers();
        let replay = Replay { imported: &imported, experiment: &experiment };
        let metrics: Vec<_> = replay.readings(&imported.figures).into_iter().map(|r| r.metric).collect();
        for condition in conditions {
            condition.check(&metrics)?;
        }
        let all = metrics.iter().map(|m| m.name.clone()).collect();
        let selected: Selected = self.metrics.among(&metrics, all)?;
        let trace = trace.display().to_string();
        let scheds = std::iter::once(RECORDED).chain(self.test.iter().map(String::as_str));
        let sides: Vec<Settings> = scheds.map(|sched| Settings::new(&machine.name, &trace, sched)).collect();
        let plan = self.plan(sides.len());
        let progress = Progress::new(plan.scheds * plan.seeds.len());
        let results = batch::run(&plan, &replay, &|| progress.step())?;
        drop(progress);
        let mut report = Report::new(&sides, &plan.seeds, &results);
        run_config::notes(&experiment.config).into_iter().for_each(|note| report.note(note));
        let selected = conditions.iter().fold(selected, |selected, c| selected.with(c.metric()));
        report.keep(&vec![selected; self.test.len()]);
        Ok(report)
    }
}

//! Runs as sides of a page ([`fairground_view`]): their events, and another scheduler of ours that is asked at each wakeup.

use fairground_run::experiment::{run_facts, Experiment, Recorded, RunError, Stop, TraceFormat, TraceHead};
use fairground_run::run_config;
use fairground_sim::Rule;
use fairground_trace::placements::Head;
use fairground_trace::{Note, RunHead, TraceEvent};
use fairground_view::{Answer, OtherScheduler};

use crate::counterfactual::{Confidence, Counterfactual, JudgedWakeup, NoSuchCpu, WhatIf, WhatIfError};

/// Makes a run with all events that a page shows: reasons, readings of energy each `energy_every_ns`, and signals if the scheduler reports
/// them. `names`: machine, workload and scheduler.
///
/// # Errors
/// As [`Experiment::recorded`].
pub fn record(
    experiment: &Experiment,
    names: [&str; 3],
    seed: u64,
    energy_every_ns: u64,
    stop: &Stop,
) -> Result<Recorded, RunError> {
    let mut experiment = experiment.with_machine(|_| ());
    experiment.config.energy_every_ns = Some(energy_every_ns);
    // Only our own scheduler reports them.
    experiment.config.signals = experiment.scheds[0].features().is_some();
    let meta = run_facts(names, seed, Some(&experiment.machine));
    let notes = run_config::notes(&experiment.config);
    let head = TraceHead { format: TraceFormat::Recording, meta, notes, why: true, marks: None };
    experiment.recorded(0, seed, head, stop)
}

/// The scheduler of the other side, if it can be asked about this one: ours, and not the same.
pub fn other_sched<'a>(own: &RunHead, other: &'a RunHead) -> Option<&'a str> {
    other.meta("sched").filter(|sched| sched.starts_with("fair:") && Some(*sched) != own.meta("sched"))
}

/// Asks about each wakeup of a side whose events begin with this head, on the state before it.
///
/// # Errors
/// If the scheduler is invalid or does not support the machine.
pub fn ask<'m>(what_if: &'m WhatIf, head: &RunHead) -> Result<Box<dyn OtherScheduler + 'm>, WhatIfError> {
    let (mut counterfactual, sched, head) = what_if.counterfactual(head)?;
    counterfactual.ask_why(true);
    Ok(Box::new(AskedScheduler { counterfactual, sched, head, cpus: what_if.machine.nr_cpus() }))
}

struct AskedScheduler<'m> {
    counterfactual: Counterfactual<'m>,
    sched: String,
    head: Head,
    cpus: usize,
}

impl OtherScheduler for AskedScheduler<'_> {
    fn label(&self) -> String {
        self.sched.clone()
    }

    fn event(&mut self, event: &TraceEvent) -> Result<Option<Answer>, String> {
        let judged = self.counterfactual.event(event);
        let judged = judged
            .map_err(|NoSuchCpu(cpu)| format!("expected one of the machine's {} CPUs, found CPU {cpu}", self.cpus))?;
        Ok(judged.map(|JudgedWakeup { ours, confidence, possible, .. }| {
            let doubt = (confidence != Confidence::Sure).then(|| confidence.text().to_owned());
            Answer { placement: ours, doubt, possible }
        }))
    }

    fn rule<'a>(&'a self, name: &'a str) -> Rule<'a> {
        self.head.rule(name)
    }

    fn notes(&self) -> Vec<Note> {
        self.counterfactual.notes()
    }
}

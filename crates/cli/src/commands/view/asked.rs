//! A scheduler of ours that is asked at each wakeup of a side, on the state before it.

use fairground_lab::counterfactual::{Confidence, Counterfactual, JudgedWakeup, NoSuchCpu, WhatIf, WhatIfError};
use fairground_sim::Rule;
use fairground_trace::placements::Head;
use fairground_trace::{RunHead, TraceEvent};
use fairground_view::{Answer, OtherScheduler};

/// Another scheduler of ours, asked about what a trace repeats.
pub struct Asked<'m> {
    counterfactual: Counterfactual<'m>,
    sched: String,
    head: Head,
    cpus: usize,
}

impl<'m> Asked<'m> {
    /// `head`: that of the trace.
    pub fn new(what_if: &'m WhatIf, head: &RunHead) -> Result<Asked<'m>, WhatIfError> {
        let (mut counterfactual, sched, head) = what_if.counterfactual(head)?;
        counterfactual.ask_why(true);
        Ok(Asked { counterfactual, sched, head, cpus: what_if.machine.nr_cpus() })
    }
}

impl OtherScheduler for Asked<'_> {
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

    fn notes(&self) -> Vec<String> {
        self.counterfactual.notes()
    }
}

//! What is checked before any workload runs, built-in or file. The engine relies on it and checks again, so that one
//! that was built by hand cannot trip it either.
//!
//! Checks go from the small to the large: each value (`ranges`), the shape of each program (`programs`), mutexes
//! along each program (`locks`), then who creates (`spawns`) and who wakes (`wakers`) whom. A later check may
//! rely on the earlier ones.

mod locks;
mod offline;
mod problem;
mod programs;
mod ranges;
mod spawns;
mod stuck;
#[cfg(test)]
mod tests;
mod wakers;

use fairground_machine::Machine;

use crate::error::WorkloadError;
use crate::program::{ObjId, Op, SpecId, Workload};
use crate::warning::{Warning, WarningKind};

pub(crate) use offline::{bound_offline, offline_span};
pub use problem::{Problem, Step};
pub use programs::{MAX_DURATION_NS, MAX_LOOP_DEPTH, MAX_SPIN_STEPS, MAX_TIME_NS};
pub(crate) use ranges::frequency_cap;
pub use spawns::MAX_TASKS;

/// What a remark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Task(SpecId),
    Step(Step),
}

/// A remark, before a file and line are put to it.
pub(crate) struct Remark {
    pub kind: WarningKind,
    pub place: Subject,
    pub subject: String,
    pub message: String,
}

impl Remark {
    /// That something at `step` is probably not what was meant.
    fn suspicious(step: Step, subject: String, message: String) -> Remark {
        Remark { kind: WarningKind::Suspicious, place: Subject::Step(step), subject, message }
    }
}

impl Workload {
    /// Checks that the workload is consistent in itself and fits the machine.
    ///
    /// # Errors
    /// The first [`Problem`] that keeps it from running.
    pub fn validate(&self, machine: &Machine) -> Result<Vec<Warning>, WorkloadError> {
        let remarks = self.check(machine).map_err(|problem| problem.into_error(self.name.clone()))?;
        let warning = |r: Remark| Warning { kind: r.kind, at: None, subject: r.subject, message: r.message };
        Ok(remarks.into_iter().map(warning).collect())
    }

    /// As [`Self::validate`], for callers that have shown the remarks before.
    ///
    /// # Errors
    /// The first [`Problem`] that keeps it from running.
    pub fn problem(&self, machine: &Machine) -> Result<(), Problem> {
        self.check(machine).map(drop)
    }

    /// How many threads of each template a whole run creates; `u64::MAX`: without end.
    ///
    /// # Errors
    /// If templates create each other without end, or more than [`MAX_TASKS`] in all.
    pub fn thread_counts(&self) -> Result<Vec<u64>, Problem> {
        spawns::check(self, &mut Vec::new()).map(|population| population.threads)
    }

    /// As [`Self::validate`], for callers that know where each step is written.
    pub(crate) fn check(&self, machine: &Machine) -> Result<Vec<Remark>, Problem> {
        ranges::check(self, machine)?;
        programs::check(self, machine)?;
        let mut remarks = Vec::new();
        ranges::remarks(self, machine, &mut remarks);
        locks::check(self, &mut remarks)?;
        let population = spawns::check(self, &mut remarks)?;
        wakers::check(self, &population, &mut remarks)?;
        Ok(remarks)
    }

    /// All steps with their places.
    fn steps(&self) -> impl Iterator<Item = (Step, &Op)> {
        self.tasks.iter().enumerate().flat_map(|(spec, t)| {
            t.program.iter().enumerate().map(move |(op, o)| (Step { spec: spec as SpecId, op: op as u32 }, o))
        })
    }

    /// The name of a template, for messages.
    fn name_of(&self, spec: SpecId) -> String {
        self.tasks.get(spec as usize).map_or_else(|| format!("task {spec}"), |t| t.name.clone())
    }

    /// An object as messages call it: its name if it has one, else its index.
    pub fn object_label(&self, id: ObjId) -> String {
        self.object_names.get(id as usize).map_or_else(|| id.to_string(), |name| format!("`{name}`"))
    }
}

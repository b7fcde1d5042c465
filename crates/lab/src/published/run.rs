//! The run that repeats a row.

use fairground_run::run_config::{self, InvalidSetting};
use fairground_sim::Governor;
use serde::Deserialize;

use super::beside::without_length;

/// The run that repeats a row.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRun {
    /// Machine, as on the command line; with CPUs behind an `@` where the workload was bound.
    pub machine: String,
    /// Workload, as on the command line; short where the mail's own length takes long.
    pub workload: String,
    /// The test's workload, where it differs from the base's.
    pub test_workload: Option<String>,
    /// The workload at the mail's own length, where `workload` is shorter.
    pub full: Option<String>,
    /// A shorter form of `workload`, which is run many times where the base weighs the figures of the machine.
    pub short: Option<String>,
    /// What part of `workload` its runs on draws take, as the number it is divided by; `None`: all of it.
    pub part_on_draws: Option<u32>,
    /// Number of seeds, where the default is too small.
    pub seeds: Option<u64>,
    /// Name of our metric.
    pub metric: String,
    /// Another metric of the run, by whose values the runs of the row are grouped.
    pub by: Option<String>,
    /// Name of the base scheduler.
    pub base: String,
    /// Name of the test scheduler; `None` where the mail prints the base alone.
    pub test: Option<String>,
    /// Further test schedulers, which the mail does not measure: only our values are shown.
    #[serde(default)]
    pub also: Vec<FormSpec>,
    /// Name of the frequency governor.
    pub governor: String,
}

/// Another variant of a patch, run like the row.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormSpec {
    /// Name of its base scheduler, where that differs from the row's.
    pub base: Option<String>,
    /// Name of its test scheduler.
    pub test: String,
}

impl PublishedRun {
    /// The frequency governor.
    ///
    /// # Errors
    /// If no governor has this name.
    pub fn governor(&self) -> Result<Governor, InvalidSetting> {
        run_config::governor(&self.governor)
    }

    /// Whether the same runs answer both rows: the rows differ at most in what is read from the runs.
    pub(crate) fn has_runs_of(&self, other: &PublishedRun) -> bool {
        self.machine == other.machine
            && self.workload == other.workload
            && self.test_workload == other.test_workload
            && self.ends() == other.ends()
            && self.governor == other.governor
            && self.seeds == other.seeds
            && self.part_on_draws == other.part_on_draws
    }

    /// All workloads that the run names.
    pub(crate) fn workloads_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let others = [self.test_workload.as_mut(), self.full.as_mut(), self.short.as_mut()];
        [&mut self.workload].into_iter().chain(others.into_iter().flatten())
    }

    /// The names of the schedulers that are run: base and test, or the base twice if there is no test.
    pub fn ends(&self) -> [&str; 2] {
        [&self.base, self.test.as_ref().unwrap_or(&self.base)]
    }

    /// Workload and scheduler of the base, and of the test.
    pub fn columns(&self) -> [(&str, &str); 2] {
        let [base, test] = self.ends();
        [(&self.workload, base), (self.test_workload.as_ref().unwrap_or(&self.workload), test)]
    }

    /// The runs of the variants that the mail does not measure.
    pub fn forms(&self) -> impl Iterator<Item = PublishedRun> + '_ {
        self.also.iter().map(|form| PublishedRun {
            base: form.base.as_ref().unwrap_or(&self.base).clone(),
            test: Some(form.test.clone()),
            also: Vec::new(),
            ..self.clone()
        })
    }

    /// Why the run is invalid; `None` if it is valid.
    pub(super) fn problem(&self) -> Option<&'static str> {
        if self.seeds == Some(0) {
            return Some("expected at least one seed");
        }
        if self.part_on_draws == Some(0) {
            return Some("expected part_on_draws to be at least 1");
        }
        if self.short.as_ref().is_some_and(|short| without_length(short) != without_length(&self.workload)) {
            return Some("expected short to be the workload but for its length");
        }
        let twice = |form: PublishedRun| form.ends() == self.ends() || form.ends()[0] == form.ends()[1];
        self.forms().any(twice).then_some("expected in also another pair than base and test")
    }
}

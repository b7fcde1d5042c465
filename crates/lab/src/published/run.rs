//! How a row is repeated.

use fairground_run::run_config::{self, InvalidSetting};
use fairground_sim::Governor;
use serde::Deserialize;

/// How a row is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRun {
    /// Machine, as on the command line; with CPUs behind an `@` where the workload was bound.
    pub machine: String,
    /// Workload, as on the command line; short where the mail's own length takes long.
    pub workload: String,
    /// The test's workload, where what is given differs.
    pub test_workload: Option<String>,
    /// The same at the mail's own length, where `workload` is shorter.
    pub full: Option<String>,
    /// Seeds, where fewer than these say too little.
    pub seeds: Option<u64>,
    /// Our metric.
    pub metric: String,
    /// Another metric of the run, by whose values the runs of the row are told apart.
    pub by: Option<String>,
    /// Base scheduler.
    pub base: String,
    /// Test scheduler; none where the mail prints the base alone.
    pub test: Option<String>,
    /// More test schedulers, of which nothing is printed: ours alone are shown.
    #[serde(default)]
    pub also: Vec<FormSpec>,
    /// Frequency governor.
    pub governor: String,
}

/// Another form of a patch, run as the row is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormSpec {
    /// Its base, where that is another than the row's.
    pub base: Option<String>,
    /// The scheduler under test.
    pub test: String,
}

impl PublishedRun {
    /// Who chooses frequencies.
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
    }

    /// Every workload that it names.
    pub(crate) fn workloads_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [Some(&mut self.workload), self.test_workload.as_mut(), self.full.as_mut()].into_iter().flatten()
    }

    /// The schedulers that are run: base, and test or the base again.
    pub fn ends(&self) -> [&str; 2] {
        [&self.base, self.test.as_ref().unwrap_or(&self.base)]
    }

    /// What its base and its test run: workload and scheduler.
    pub fn columns(&self) -> [(&str, &str); 2] {
        let [base, test] = self.ends();
        [(&self.workload, base), (self.test_workload.as_ref().unwrap_or(&self.workload), test)]
    }

    /// The runs of the schedulers of which nothing is printed.
    pub fn forms(&self) -> impl Iterator<Item = PublishedRun> + '_ {
        self.also.iter().map(|form| PublishedRun {
            base: form.base.as_ref().unwrap_or(&self.base).clone(),
            test: Some(form.test.clone()),
            also: Vec::new(),
            ..self.clone()
        })
    }

    /// Why it makes no sense.
    pub(super) fn problem(&self) -> Option<&'static str> {
        if self.seeds == Some(0) {
            return Some("expected at least one seed");
        }
        let twice = |form: PublishedRun| form.ends() == self.ends() || form.ends()[0] == form.ends()[1];
        self.forms().any(twice).then_some("expected in also another pair than base and test")
    }
}

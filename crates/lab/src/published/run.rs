//! How a row is repeated.

use serde::Deserialize;

/// How a row is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
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
    /// More test schedulers, of which nothing is printed: ours alone are shown, against the same base.
    #[serde(default)]
    pub also: Vec<String>,
    /// Frequency governor.
    pub governor: String,
}

impl RunSpec {
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
    pub fn forms(&self) -> impl Iterator<Item = RunSpec> + '_ {
        self.also.iter().map(|form| RunSpec { test: Some(form.clone()), also: Vec::new(), ..self.clone() })
    }

    /// Why it makes no sense.
    pub(super) fn problem(&self) -> Option<&'static str> {
        if self.seeds == Some(0) {
            return Some("expected at least one seed");
        }
        let twice = |form: &String| self.ends().contains(&form.as_str());
        self.also.iter().any(twice).then_some("expected in also what is neither base nor test")
    }
}

//! A printed figure with its error.

use serde::Deserialize;

/// A printed figure and its error.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Heading of the column in the mail.
    pub label: String,
    /// The value, as printed.
    pub value: f64,
    /// Printed error, percent of the value, at least 0.
    error_pct: Option<f64>,
    /// Values of the runs whose mean the figure is; empty if the mail does not print them.
    #[serde(default)]
    pub samples: Vec<f64>,
}

impl Cell {
    /// Error in percent of the value: as printed, or the standard deviation of the printed runs. `None` if the mail
    /// prints neither.
    pub fn error_pct(&self) -> Option<f64> {
        let n = self.samples.len();
        if n < 2 {
            return self.error_pct;
        }
        let squares: f64 = self.samples.iter().map(|x| (x - self.value) * (x - self.value)).sum();
        Some((squares / (n - 1) as f64).sqrt() / self.value.abs() * 100.0)
    }

    /// Why the cell is invalid; `None` if it is valid.
    pub(super) fn problem(&self) -> Option<String> {
        if !self.value.is_finite() || self.error_pct.is_some_and(|error| error.is_nan() || error < 0.0) {
            return Some(format!("{}: expected a value, and an error of at least 0", self.label));
        }
        let mean = self.samples.iter().sum::<f64>() / self.samples.len() as f64;
        match self.samples.len() {
            0 => None,
            1 => Some(format!("{}: expected several samples or none", self.label)),
            _ if self.error_pct.is_some() => Some(format!("{}: has both error_pct and samples", self.label)),
            _ if self.value == 0.0 || ((mean - self.value) / self.value).abs() > 1e-4 => {
                Some(format!("{}: the samples have a mean of {mean}, the value is {}", self.label, self.value))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(rest: &str) -> Cell {
        toml::from_str(&format!("label = \"x\"\n{rest}")).unwrap()
    }

    #[test]
    fn the_error_is_that_of_the_runs_where_they_are_printed() {
        assert_eq!(cell("value = 10").error_pct(), None);
        assert_eq!(cell("value = 10\nerror_pct = 3").error_pct(), Some(3.0));
        let of_runs = cell("value = 10\nsamples = [9, 10, 11]");
        assert_eq!((of_runs.error_pct(), of_runs.problem()), (Some(10.0), None));
    }

    #[test]
    fn a_value_that_is_not_the_mean_of_its_runs_is_refused() {
        let problem = |rest| cell(rest).problem().unwrap();
        assert!(problem("value = 10\nsamples = [9, 10, 14]").contains("have a mean of 11, the value is 10"));
        assert!(problem("value = 10\nsamples = [10]").contains("several samples"));
        assert!(problem("value = 10\nerror_pct = 1\nsamples = [9, 11]").contains("both"));
        assert!(problem("value = 10\nerror_pct = -1").contains("at least 0"));
        assert!(problem("value = nan").contains("expected a value"));
    }
}

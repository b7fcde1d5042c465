//! Conditions that turn an experiment into a gate: `METRIC COMPARISON THRESHOLD`, e.g. `ops_per_sec<-2%`.
//!
//! With `%` the improvement is compared (positive is better, in percent of base): `ops_per_sec<-2%` holds if test is
//! more than 2 % worse. Without `%`, it is the mean of test in the metric's own unit: `wakeup_latency_p99_us>500`.
//! Comparisons: `<`, `<=`, `>`, `>=`. `METRIC=VERDICT` holds if the row has this verdict: `ops_per_sec=worse`. A change from a base of 0 counts as infinitely better or worse. With several
//! tests the condition holds if it holds for any of them.
//!
//! `kernel agree` has the same form over its own metrics ([`crate::conformance::agree::Gate`]).

use std::fmt;
use std::str::FromStr;

use fairground_machine::{nearest, suggest_from};
use miette::Diagnostic;
use thiserror::Error;

use crate::comparison::{Comparison as Compared, Report, Row};
use crate::stats::Verdict;
use crate::tables::{number, percent};
use fairground_run::metrics::{help_on_metric, Metric};

/// A parsed condition.
#[derive(Clone, Debug, PartialEq)]
pub struct FailIf {
    metric: String,
    condition: Condition,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Condition {
    Number { comparison: Comparison, threshold: f64, percent: bool },
    Verdict(Verdict),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// Longest first, so that `<=` is not read as `<`.
const COMPARISONS: [(&str, Comparison); 4] = [
    ("<=", Comparison::LessEqual),
    (">=", Comparison::GreaterEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// Why a condition is refused.
#[derive(Clone, Debug, Error, Diagnostic, PartialEq, Eq)]
pub enum FailIfError {
    /// The text does not parse.
    #[error("--fail-if {text:?}: {problem}")]
    #[diagnostic(help("write METRIC<NUMBER or METRIC<NUMBER%, with one of < <= > >=, or METRIC=VERDICT"))]
    Syntax {
        /// The condition, as typed.
        text: String,
        /// Description of the error.
        problem: String,
    },
    /// The workload or command does not report the metric.
    #[error("--fail-if {text:?}: {reporter} does not report metric {metric:?}")]
    #[diagnostic(help("{help}"))]
    UnknownMetric {
        /// The condition, as typed.
        text: String,
        /// What reports metrics, e.g. `this workload`.
        reporter: &'static str,
        /// Name of the metric.
        metric: String,
        /// The nearest name, and the names of all metrics or what prints them.
        help: String,
    },
}

impl FromStr for FailIf {
    type Err = FailIfError;

    fn from_str(text: &str) -> Result<FailIf, FailIfError> {
        let fault = |problem: &str| FailIfError::Syntax { text: text.into(), problem: problem.into() };
        let Some(at) = text.find(['<', '>']) else {
            let (metric, word) = text.split_once('=').ok_or_else(|| fault("no comparison"))?;
            return FailIf::by_verdict(metric.trim(), word.trim()).map_err(|problem| fault(&problem));
        };
        let (metric, rest) = text.split_at(at);
        let found = COMPARISONS.iter().find_map(|(sign, c)| Some((rest.strip_prefix(sign)?, *c)));
        let (number, comparison) = found.ok_or_else(|| fault("no comparison"))?;
        let number = number.trim();
        let (number, percent) = number.strip_suffix('%').map_or((number, false), |n| (n.trim(), true));
        let threshold: f64 = number.parse().map_err(|_| fault("the threshold is not a number"))?;
        if metric.trim().is_empty() {
            return Err(fault("no metric"));
        }
        if !threshold.is_finite() {
            return Err(fault("the threshold is not a finite number"));
        }
        let condition = Condition::Number { comparison, threshold, percent };
        Ok(FailIf { metric: metric.trim().into(), condition })
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.condition {
            Condition::Verdict(verdict) => write!(f, "{}={verdict}", self.metric),
            Condition::Number { comparison, threshold, percent } => {
                let sign = COMPARISONS.iter().find(|(_, c)| *c == comparison).map_or("", |(s, _)| s);
                let unit = if percent { "%" } else { "" };
                write!(f, "{}{sign}{threshold}{unit}", self.metric)
            }
        }
    }
}

impl FailIf {
    fn by_verdict(metric: &str, word: &str) -> Result<FailIf, String> {
        if metric.is_empty() {
            return Err("no metric".into());
        }
        let names = Verdict::ALL.map(Verdict::word);
        let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.word() == word).ok_or_else(|| {
            let near = nearest(word, names).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            format!("{word:?} is not a verdict{near} (known: {})", names.join(", "))
        })?;
        Ok(FailIf { metric: metric.into(), condition: Condition::Verdict(verdict) })
    }

    /// Name of the metric.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// Checks, before anything runs, that the metric is one of `metrics`.
    ///
    /// # Errors
    /// If the metric is not one of them.
    pub fn check(&self, metrics: &[Metric]) -> Result<(), FailIfError> {
        let names: Vec<&str> = metrics.iter().map(|m| m.name.as_str()).collect();
        self.check_among(&names, "this workload", help_on_metric)
    }

    /// Checks that the metric is one of these few names. `reporter`: what reports them, for the message.
    ///
    /// # Errors
    /// If the metric is not one of them.
    pub fn check_names(&self, names: &[&str], reporter: &'static str) -> Result<(), FailIfError> {
        self.check_among(names, reporter, |name, names| suggest_from(name, "it reports:", names))
    }

    fn check_among<'a>(
        &self,
        names: &[&'a str],
        reporter: &'static str,
        help: impl Fn(&str, Vec<&'a str>) -> String,
    ) -> Result<(), FailIfError> {
        if names.contains(&self.metric.as_str()) {
            return Ok(());
        }
        let help = help(&self.metric, names.to_vec());
        Err(FailIfError::UnknownMetric { text: self.to_string(), reporter, metric: self.metric.clone(), help })
    }

    /// Whether the threshold is a percentage.
    pub fn is_percent(&self) -> bool {
        matches!(self.condition, Condition::Number { percent: true, .. })
    }

    /// Whether the condition is on a verdict.
    pub fn is_verdict(&self) -> bool {
        matches!(self.condition, Condition::Verdict(_))
    }

    /// Whether the comparison holds for this value. A condition on a verdict holds for none.
    pub fn holds_for(&self, value: f64) -> bool {
        let Condition::Number { comparison, threshold, .. } = self.condition else { return false };
        match comparison {
            Comparison::Less => value < threshold,
            Comparison::LessEqual => value <= threshold,
            Comparison::Greater => value > threshold,
            Comparison::GreaterEqual => value >= threshold,
        }
    }

    /// One line for every test for which the condition holds or cannot be judged, because no pair of runs has a sample.
    /// There is no line if no pair of runs completed, which is a failure of its own.
    pub fn held(&self, report: &Report) -> Vec<String> {
        let of = |c: &Compared| match c.rows.iter().find(|r| r.metric.name == self.metric) {
            Some(row) => self.holds(row).then(|| format!("{self} holds for {}: {}", c.test.name, self.shown(row))),
            None if c.pairs.is_empty() => None,
            None => Some(format!("{self} cannot be judged for {}: no pair of runs has a sample", c.test.name)),
        };
        report.comparisons.iter().filter_map(of).collect()
    }

    fn holds(&self, row: &Row) -> bool {
        match self.condition {
            Condition::Verdict(verdict) => row.change.verdict == verdict,
            Condition::Number { .. } => self.holds_for(self.value(row)),
        }
    }

    fn value(&self, row: &Row) -> f64 {
        if !self.is_percent() {
            return row.test_summary().mean;
        }
        let direction = row.metric.better.sign() * row.change.diff;
        let without_base = if direction > 0.0 { f64::INFINITY } else { f64::NEG_INFINITY };
        row.change.improvement_pct.unwrap_or(without_base)
    }

    fn shown(&self, row: &Row) -> String {
        if (self.is_percent() || self.is_verdict()) && row.change.improvement_pct.is_some() {
            percent(row.change.improvement_pct)
        } else {
            format!("{} {}", number(row.test_summary().mean), row.metric.unit)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Pair;
    use fairground_run::metrics::Better;

    fn report() -> Report {
        let row = |name: &str, unit: &str, better, base: f64, test: f64| {
            let metric = Metric::new(name, unit, better, "");
            Row::new(metric, vec![base; 8], vec![test; 8])
        };
        let rows = vec![
            row("ops_per_sec", "ops/s", Better::Higher, 1000.0, 975.0),
            row("wakeup_latency_p99_us", "us", Better::Lower, 400.0, 500.0),
            row("migrations", "count", Better::Lower, 0.0, 3.0),
        ];
        let compared = Compared {
            base: "fair:a".into(),
            test: "fair:b".into(),
            rows,
            pairs: vec![],
            published: vec![],
            doubt: None,
        };
        Report {
            common: Default::default(),
            seeds: (1..=8).collect(),
            comparisons: vec![compared],
            notes: vec![],
            failures: vec![],
            provenance: None,
        }
    }

    fn holds(text: &str) -> bool {
        !text.parse::<FailIf>().unwrap().held(&report()).is_empty()
    }

    #[test]
    fn what_has_no_samples_cannot_pass() {
        let mut report = report();
        let condition: FailIf = "latency_p99_us>1".parse().unwrap();
        assert!(condition.held(&report).is_empty(), "no pair completed");
        report.comparisons[0].pairs.push(Pair { seed: 1, base: 0, test: 0 });
        let notes = condition.held(&report);
        assert_eq!(notes, ["latency_p99_us>1 cannot be judged for fair:b: no pair of runs has a sample"]);
    }

    #[test]
    fn percentages_are_improvements() {
        assert!(holds("ops_per_sec<-2%") && !holds("ops_per_sec<-3%"));
        assert!(holds("ops_per_sec <= -2.5 %") && !holds("ops_per_sec<-2.5%"));
        assert!(holds("wakeup_latency_p99_us<-24%"));
    }

    #[test]
    fn verdicts_are_conditions() {
        assert!(holds("ops_per_sec=worse") && holds("wakeup_latency_p99_us = worse") && !holds("ops_per_sec=better"));
        assert!(holds("migrations=same"), "three migrations more are not of interest");
        let parsed: FailIf = "ops_per_sec=worse".parse().unwrap();
        assert_eq!((parsed.to_string().as_str(), parsed.is_verdict()), ("ops_per_sec=worse", true));
        let problem = "ops_per_sec=wrose".parse::<FailIf>().unwrap_err().to_string();
        assert!(
            problem.contains("did you mean worse?") && problem.contains("better, worse, same, unsure"),
            "{problem}"
        );
    }

    #[test]
    fn plain_numbers_are_the_test_mean() {
        assert!(holds("wakeup_latency_p99_us>499") && !holds("wakeup_latency_p99_us>500"));
        assert!(holds("wakeup_latency_p99_us>=500"));
    }

    #[test]
    fn a_change_from_zero_is_infinitely_worse() {
        assert!(holds("migrations<-1000000%"));
    }

    #[test]
    fn an_unknown_metric_names_the_nearest() {
        let metrics: Vec<Metric> = report().comparisons[0].rows.iter().map(|r| r.metric.clone()).collect();
        let error = "ops_per_sce<0%".parse::<FailIf>().unwrap().check(&metrics).unwrap_err();
        let FailIfError::UnknownMetric { help, .. } = error else { panic!("{error}") };
        assert!(help.starts_with("did you mean ops_per_sec? `fairground run "), "{help}");
        assert!(!help.contains("migrations"), "there are a hundred names: {help}");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "ops_per_sec",
            "<3",
            "ops_per_sec<",
            "ops_per_sec<x%",
            "ops_per_sec=3",
            "=worse",
            "ops_per_sec=",
            "ops_per_sec<inf",
        ] {
            assert!(text.parse::<FailIf>().is_err(), "{text}");
        }
    }
}

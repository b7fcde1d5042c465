//! Ablation: which feature carries a change. The features that differ between base and test are added one after
//! another, and left out one at a time.
//!
//! **Added.** The features are added in the table's order, each as soon as the features it needs are there. What a step
//! *adds* is the difference from the step before; all steps together are the whole change.
//!
//! **Left out.** All features but one, and without those that need it: by the rules of [`Features`], and by what the
//! mail states about its patches ([`crate::published::Mail::based_on`]). What a feature *carries* is the whole change
//! minus the change without it. The two differ where features interact.
//!
//! Where base and test have different workloads ([`crate::published::PublishedRun::test_workload`]), the change of
//! workload is treated like a feature, before all others.
//!
//! Points are percent of the base's mean, positive = better; intervals are those of [`crate::stats`], paired over the
//! seeds that every scheduler completed.

use std::collections::BTreeMap;

use fairground_fair::{features, FairError, Features};
use miette::Diagnostic;
use serde::Serialize;
use thiserror::Error;

use crate::stats::{Change, Terms};
use fairground_run::batch::{Results, RunReport};
use fairground_run::metrics::Better;

/// Name of the step that changes the workload to the test's, and not a feature.
const TEST_WORKLOAD: &str = "test_workload";

/// What to run to take a change apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ablation {
    /// The distinct runs; the first is the base.
    pub columns: Vec<Column>,
    /// Index of the test in `columns`.
    pub test: usize,
    steps: Vec<Step>,
}

/// One of the runs between base and test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Scheduler of the column, as a user types it.
    pub sched: String,
    /// Whether it runs the test's workload, where that is not the base's.
    pub test_workload: bool,
}

/// One feature, added or left out.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    feature: &'static str,
    /// Index of the column with this feature and those before it.
    added: usize,
    /// Index of the column without this feature and without `along`.
    left_out: usize,
    along: Vec<&'static str>,
}

/// Why the ablation of a change is impossible.
#[derive(Debug, Error, Diagnostic)]
pub enum AblationError {
    /// The scheduler is a kernel and has no features.
    #[error("{0} has no features to separate")]
    #[diagnostic(help("only rows of which both schedulers are fair: can be"))]
    NoFeatures(String),
    /// A mail names a feature that does not exist.
    #[error("published rows: no feature {0:?}")]
    Unknown(String),
    /// The difference contains a feature that needs another one.
    #[error("{feature}, one of the differences between {base} and {test}, cannot be used alone: {cause}")]
    Stuck {
        /// Scheduler of the base.
        base: String,
        /// Scheduler of the test.
        test: String,
        /// The first feature that is refused.
        feature: &'static str,
        /// Why the combination of features is refused.
        cause: Box<FairError>,
    },
}

/// Effect of one feature on a metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Piece {
    /// The feature, as in `fairground feature list`; or `test_workload`.
    pub feature: &'static str,
    /// The change with it and those before it, percent of base.
    pub with_pct: Option<f64>,
    /// Its effect when added to those before it; `None` without seeds, or if the base's mean is 0.
    pub adds: Option<Points>,
    /// Features that are left out with it because they need it.
    pub along: Vec<&'static str>,
    /// The change without it and those features, percent of base.
    pub without_pct: Option<f64>,
    /// The whole change minus the change without it; `None` without seeds, or if the base's mean is 0.
    pub carries: Option<Points>,
}

/// A difference of two changes, percentage points of the base's mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Points {
    /// Arithmetic mean of the values.
    pub mean: f64,
    /// 95 % interval; `None` below two seeds.
    pub ci95: Option<[f64; 2]>,
    /// Whether the interval excludes zero; `None` below [`crate::stats::SIGNIFICANT_PAIRS_MIN`] seeds.
    pub significant: Option<bool>,
}

impl Ablation {
    /// The runs between `base` and `test`, under one workload. `based_on` maps a feature to the features that it needs
    /// beside the rules of [`Features`].
    ///
    /// # Errors
    /// If no order of the features works, or `based_on` names an unknown feature.
    pub fn plan(
        base: &Features,
        test: &Features,
        based_on: &BTreeMap<String, Vec<String>>,
    ) -> Result<Ablation, AblationError> {
        let parts = Parts { base, test, based_on: read_based_on(based_on)? };
        let order = parts.order()?;
        let mut scheds = vec![base.to_string()];
        let mut place = |set: &Features| {
            let name = set.to_string();
            scheds.iter().position(|known| *known == name).unwrap_or_else(|| {
                scheds.push(name);
                scheds.len() - 1
            })
        };
        let added: Vec<usize> = order.iter().map(|(_, with)| place(with)).collect();
        let last = added.last().copied().unwrap_or(0);
        let ids: Vec<usize> = order.iter().map(|(id, _)| *id).collect();
        let steps = ids
            .iter()
            .zip(added)
            .map(|(id, added)| {
                let (along, rest) = parts.features_without(*id, &ids);
                Step { feature: name_of(*id), added, left_out: place(&rest), along }
            })
            .collect();
        // The last step is the test, which may start from another preset.
        scheds[last] = test.to_string();
        let columns = scheds.into_iter().map(|sched| Column { sched, test_workload: false }).collect();
        Ok(Ablation { columns, test: last, steps })
    }

    /// Adds the change of workload as the first step: from the base under its own workload to the base under the
    /// test's. The features come after it. The run without this step is the test under the base's workload.
    pub fn with_test_workload(self) -> Ablation {
        let base = self.columns[0].clone();
        let left_out = Column { test_workload: false, ..self.columns[self.test].clone() };
        let under_test = self.columns.into_iter().map(|column| Column { test_workload: true, ..column });
        let columns: Vec<Column> = std::iter::once(base).chain(under_test).chain([left_out]).collect();
        let first = Step { feature: TEST_WORKLOAD, added: 1, left_out: columns.len() - 1, along: Vec::new() };
        let later = self.steps.into_iter().map(|s| Step { added: s.added + 1, left_out: s.left_out + 1, ..s });
        Ablation { columns, test: self.test + 1, steps: std::iter::once(first).chain(later).collect() }
    }

    /// What each feature does to `metric`. `results` is `[column][seed]`, with the same seeds in all columns.
    pub fn pieces(&self, results: &Results, metric: &str) -> Vec<Piece> {
        let columns = Columns::from_results(results, metric);
        let change = |sched| columns.points(0, sched).map(|p| p.mean);
        let mut before = 0;
        self.steps
            .iter()
            .map(|step| {
                let from = std::mem::replace(&mut before, step.added);
                Piece {
                    feature: step.feature,
                    with_pct: change(step.added),
                    adds: columns.points(from, step.added),
                    along: step.along.clone(),
                    without_pct: change(step.left_out),
                    carries: columns.points(step.left_out, self.test),
                }
            })
            .collect()
    }
}

fn name_of(id: usize) -> &'static str {
    features()[id].name
}

fn read_based_on(based_on: &BTreeMap<String, Vec<String>>) -> Result<Vec<(usize, usize)>, AblationError> {
    let find = |name: &String| {
        features().iter().position(|f| f.name == name).ok_or_else(|| AblationError::Unknown(name.clone()))
    };
    let pairs = based_on.iter().flat_map(|(feature, others)| others.iter().map(move |other| (feature, other)));
    pairs.map(|(feature, other)| Ok((find(feature)?, find(other)?))).collect()
}

/// The two ends of an ablation, and pairs of a feature and a feature that it needs.
struct Parts<'a> {
    base: &'a Features,
    test: &'a Features,
    based_on: Vec<(usize, usize)>,
}

impl Parts<'_> {
    /// The features that differ, in the order in which they are added, each with the set of features after that step.
    fn order(&self) -> Result<Vec<(usize, Features)>, AblationError> {
        let mut left = self.test.differing(self.base);
        let mut taken = Vec::new();
        let mut order = Vec::new();
        while let Some(first) = left.first() {
            let stuck = |cause| AblationError::Stuck {
                base: self.base.to_string(),
                test: self.test.to_string(),
                feature: name_of(*first),
                cause: Box::new(cause),
            };
            let with = |id: &usize| self.base.with_values_of(&[&taken[..], &[*id]].concat(), self.test);
            let ready = left.iter().position(|id| with(id).is_ok()).unwrap_or(0);
            let set = with(&left[ready]).map_err(stuck)?;
            let id = left.remove(ready);
            taken.push(id);
            order.push((id, set));
        }
        Ok(order)
    }

    /// The test without feature `id` and without those of `ids` that need it. Returns the names of the latter, and the
    /// features that remain. If no such set is valid, returns no names, and the features of the base.
    fn features_without(&self, id: usize, ids: &[usize]) -> (Vec<&'static str>, Features) {
        let mut out = vec![id];
        loop {
            let kept: Vec<usize> = ids.iter().copied().filter(|i| !out.contains(i)).collect();
            let orphan = self.based_on.iter().find(|(f, other)| kept.contains(f) && out.contains(other));
            let next = match (orphan, self.base.with_values_of(&kept, self.test)) {
                (Some((feature, _)), _) => Some(*feature),
                (None, Ok(rest)) => {
                    let along = ids.iter().filter(|i| **i != id && out.contains(i));
                    return (along.map(|i| name_of(*i)).collect(), rest);
                }
                // The feature that the conflict names. If that one is not in `kept`, e.g. a feature of the base, the
                // last one in `kept`.
                (None, Err(error)) => complainant(&error).filter(|f| kept.contains(f)).or(kept.last().copied()),
            };
            match next {
                Some(feature) => out.push(feature),
                None => return (Vec::new(), self.base.clone()),
            }
        }
    }
}

/// The feature that a conflict names; its text may be `feature=value`.
fn complainant(error: &FairError) -> Option<usize> {
    let FairError::Conflict { feature, .. } = error else { return None };
    let name = feature.split('=').next().unwrap_or(feature);
    features().iter().position(|f| f.name == name)
}

/// Values of a metric by column, for the seeds in which all columns have it.
struct Columns {
    by_sched: Vec<Vec<f64>>,
    better: Option<Better>,
}

impl Columns {
    fn from_results(results: &Results, metric: &str) -> Columns {
        let seeds = results.first().map_or(0, Vec::len);
        let reading = |run: &RunReport| run.metrics.iter().find(|r| r.metric.name == metric).cloned();
        let of = |run: &Result<RunReport, String>| reading(run.as_ref().ok()?);
        let have: Vec<usize> = (0..seeds).filter(|s| results.iter().all(|runs| of(&runs[*s]).is_some())).collect();
        let column = |runs: &Vec<Result<RunReport, String>>| {
            have.iter().filter_map(|s| of(&runs[*s])).map(|reading| reading.value).collect()
        };
        let first = results.iter().flatten().flatten().find_map(reading);
        Columns { by_sched: results.iter().map(column).collect(), better: first.map(|r| r.metric.better) }
    }

    /// The difference between column `to` and column `from`; `None` without seeds, or if the base's mean is 0.
    fn points(&self, from: usize, to: usize) -> Option<Points> {
        let better = self.better?;
        let (from, to) = (&self.by_sched[from], &self.by_sched[to]);
        let base = &self.by_sched[0];
        let mean = base.iter().sum::<f64>() / base.len() as f64;
        if base.is_empty() || mean == 0.0 {
            return None;
        }
        let change = Change::new(from, to, &Terms::of_any_values(better));
        let points = |diff: f64| better.sign() * diff / mean.abs() * 100.0 + 0.0;
        let ci95 = change.diff_ci95.map(|[a, b]| [points(a), points(b)]);
        Some(Points {
            mean: points(change.diff),
            ci95: ci95.map(|[a, b]| if a <= b { [a, b] } else { [b, a] }),
            significant: change.significant,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_run::metrics::{Metric, MetricValue};

    fn features_of(text: &str) -> Features {
        Features::parse(text).expect("features")
    }

    /// Patches 09 to 11 of mail 002; 10 and 11 need 09.
    fn dissected(based_on: &[(&str, &[&str])]) -> Ablation {
        let based_on = based_on.iter().map(|(f, on)| (f.to_string(), on.iter().map(|o| o.to_string()).collect()));
        let (base, test) = (features_of("v5.4"), features_of("v5.4+lb-p09+lb-p10+lb-p11"));
        Ablation::plan(&base, &test, &based_on.collect()).expect("a dissection")
    }

    fn scheds(d: &Ablation) -> Vec<&str> {
        d.columns.iter().map(|column| column.sched.as_str()).collect()
    }

    #[test]
    fn features_are_added_in_order_and_left_out_with_what_needs_them() {
        let d = dissected(&[]);
        assert_eq!(
            scheds(&d),
            [
                "fair:v5.4",
                "fair:v5.4+lb-p09",
                "fair:v5.4+lb-p09+lb-p10",
                "fair:v5.4+lb-p09+lb-p10+lb-p11",
                "fair:v5.4+lb-p09+lb-p11",
            ]
        );
        let steps: Vec<_> = d.steps.iter().map(|s| (s.feature, s.added, s.left_out, s.along.join(" "))).collect();
        let expected = [("lb-p09", 1, 0, "lb-p10 lb-p11"), ("lb-p10", 2, 4, ""), ("lb-p11", 3, 2, "")];
        assert_eq!(steps, expected.map(|(f, a, l, along)| (f, a, l, along.to_string())));
        assert_eq!(d.test, 3);
    }

    #[test]
    fn what_the_mail_says_of_its_patches_counts_too() {
        let d = dissected(&[("lb-p11", &["lb-p10"])]);
        let p10 = &d.steps[1];
        assert_eq!((p10.along.as_slice(), scheds(&d)[p10.left_out]), (&["lb-p11"][..], "fair:v5.4+lb-p09"));
    }

    #[test]
    fn unknown_features_are_named() {
        let v54 = features_of("v5.4");
        let based_on = BTreeMap::from([("lb-p11".to_string(), vec!["lb-p12".to_string()])]);
        let error = Ablation::plan(&v54, &v54, &based_on).unwrap_err();
        assert_eq!(error.to_string(), "published rows: no feature \"lb-p12\"");
    }

    #[test]
    fn a_change_of_one_feature_is_that_feature() {
        let d = Ablation::plan(&features_of("v5.9"), &features_of("v5.9+asym-prev-first"), &BTreeMap::new()).unwrap();
        assert_eq!(scheds(&d), ["fair:v5.9", "fair:v5.9+asym-prev-first"]);
        assert_eq!((d.steps[0].added, d.steps[0].left_out), (1, 0));
    }

    #[test]
    fn a_feature_that_needs_a_later_one_waits_for_it() {
        // Both cls-select=landed and what it needs change; the table has asym-prev-first first and sis-merged last.
        let (base, test) = (features_of("v5.9+cls-domain"), features_of("v6.7"));
        let d = Ablation::plan(&base, &test, &BTreeMap::new()).unwrap();
        let at = |name: &str| d.steps.iter().position(|s| s.feature == name).expect("a step");
        assert!(at("cls-select") > at("sis-merged"));
        assert_eq!(scheds(&d)[d.test], "fair:v6.7");
    }

    /// Elapsed seconds by scheduler, seeds apart by their number.
    fn results(elapsed: &[f64], seeds: usize) -> Results {
        let run = |seconds: f64, seed: usize| {
            let metric = Metric::new("elapsed_s", "s", Better::Lower, "");
            let value = seconds + seed as f64;
            Ok(RunReport { metrics: vec![MetricValue { metric, value }], hash: 0, notes: vec![] })
        };
        elapsed.iter().map(|s| (0..seeds).map(|seed| run(*s, seed)).collect()).collect()
    }

    #[test]
    fn pieces_are_points_of_the_base_and_the_added_ones_sum_to_the_whole() {
        // base 99.5 + 0.5 on average 100; 09 saves 2, 10 costs 1, 11 saves 8; without 10 it is 88.
        let pieces = dissected(&[]).pieces(&results(&[99.5, 97.5, 98.5, 90.5, 87.5], 2), "elapsed_s");
        let adds: Vec<f64> = pieces.iter().map(|p| p.adds.unwrap().mean).collect();
        assert_eq!(adds, [2.0, -1.0, 8.0]);
        let carries: Vec<f64> = pieces.iter().map(|p| p.carries.unwrap().mean).collect();
        assert_eq!(carries, [9.0, -3.0, 8.0]);
        assert_eq!(pieces[1].without_pct, Some(12.0));
        let p11 = pieces[2].adds.unwrap();
        assert_eq!((p11.ci95, p11.significant), (Some([8.0, 8.0]), None));
    }

    /// The test's workload saves 5, each patch as above; without the change of workload the whole change is 4.
    #[test]
    fn a_workload_that_differs_is_the_first_of_what_parts_base_and_test() {
        let d = dissected(&[]).with_test_workload();
        let under = |own: &str| d.columns.iter().filter(|c| c.test_workload == (own == "test")).count();
        assert_eq!((scheds(&d)[0], scheds(&d)[1], under("base"), under("test")), ("fair:v5.4", "fair:v5.4", 2, 5));
        let last = &d.columns[d.columns.len() - 1];
        assert_eq!((&last.sched, last.test_workload), (&d.columns[d.test].sched, false));
        let pieces = d.pieces(&results(&[99.5, 94.5, 92.5, 93.5, 85.5, 82.5, 95.5], 2), "elapsed_s");
        let adds: Vec<(&str, f64)> = pieces.iter().map(|p| (p.feature, p.adds.unwrap().mean)).collect();
        assert_eq!(adds, [("test_workload", 5.0), ("lb-p09", 2.0), ("lb-p10", -1.0), ("lb-p11", 8.0)]);
        assert_eq!((pieces[0].without_pct, pieces[0].carries.unwrap().mean), (Some(4.0), 10.0));
    }

    #[test]
    fn a_seed_that_one_scheduler_failed_counts_for_none() {
        let mut results = results(&[99.0, 97.0, 98.0, 90.0, 87.0], 3);
        results[4][1] = Err("lost".into());
        // Seeds 0 and 2 are left: the base's mean is 100.
        let pieces = dissected(&[]).pieces(&results, "elapsed_s");
        assert_eq!(pieces[0].adds.unwrap().mean, 2.0);
        results.iter_mut().for_each(|runs| runs.iter_mut().for_each(|r| *r = Err("lost".into())));
        assert_eq!(dissected(&[]).pieces(&results, "elapsed_s")[0].adds, None);
    }
}

//! Robustness: the parameters that a mail leaves open are varied over their ranges. At how many points does each sign
//! hold?
//!
//! The points are a Latin hypercube: each range is cut into as many equal parts as there are points, each part has one
//! point, and which parts meet in a point is drawn. The draw is fixed: a sweep repeats.

use fairground_machine::{Machine, Perturbation};
use miette::Diagnostic;
use serde::Serialize;
use thiserror::Error;

use crate::comparison::Report;
use crate::published::{with_option, Mail, Moved, PublishedRow, PublishedRun, Swept};
use crate::stats::splitmix64;

/// Result of a robustness check of one mail.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Robustness {
    /// Id of the mail.
    pub mail: String,
    /// Number of points of the Latin hypercube.
    pub points: usize,
    /// Pairs of runs at each point.
    pub seeds: usize,
    /// Parameters that were varied, with their ranges.
    pub moved: Vec<VariedRange>,
    /// Result of each published row.
    pub rows: Vec<RobustnessRow>,
}

/// A parameter that was varied, and its range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariedRange {
    /// Description of the parameter.
    pub what: String,
    /// Lower end of the range.
    pub low: f64,
    /// Upper end of the range.
    pub high: f64,
}

/// A published change, and our changes over the range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RobustnessRow {
    /// Id of the row.
    pub id: String,
    /// The published change, percent, positive = better.
    pub published_pct: f64,
    /// Number of points at which our change has the published sign.
    pub holds: usize,
    /// Number of points at which there is a change of ours.
    pub of: usize,
    /// Share of `holds` in `of`, percent; `None` if `of` is 0.
    pub share_pct: Option<f64>,
    /// Our least and our greatest change, percent; `None` if `of` is 0.
    pub ours_pct: Option<[f64; 2]>,
}

/// A mail varies a figure that the machine does not have.
#[derive(Debug, Error, Diagnostic)]
#[error("machine {machine} has no figure {path} that could be moved")]
pub struct NoSuchFigure {
    machine: String,
    path: String,
}

/// The values of each point, in the order of `swept`.
pub fn points(swept: &[Swept], n: usize) -> Vec<Vec<f64>> {
    let orders: Vec<Vec<usize>> = (0..swept.len()).map(|range| shuffled(range, n)).collect();
    let part = |range: usize, point: usize| (orders[range][point] as f64 + 0.5) / n as f64;
    let values = |point| swept.iter().enumerate().map(|(range, s)| s.at(part(range, point))).collect();
    (0..n).map(values).collect()
}

/// The numbers 0 to n - 1 in a pseudorandom order, which is fixed for each range.
fn shuffled(range: usize, n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|i| splitmix64(((range as u64) << 32) | *i as u64));
    order
}

/// `run` with the options of its workloads at these values.
pub fn run_at(run: &PublishedRun, swept: &[Swept], values: &[f64]) -> PublishedRun {
    let mut run = run.clone();
    for (swept, value) in swept.iter().zip(values) {
        let Some(Moved::Option(name, option)) = swept.moved() else { continue };
        for workload in run.workloads_mut() {
            *workload = with_option(workload, name, option, *value).unwrap_or(std::mem::take(workload));
        }
    }
    run
}

/// Sets figures of the machine: each to its value, or multiplied by its factor.
///
/// # Errors
/// If the machine lacks one of the figures.
pub fn set_figures(machine: &mut Machine, swept: &[Swept], values: &[f64]) -> Result<(), NoSuchFigure> {
    for (swept, value) in swept.iter().zip(values) {
        let Some(Moved::Figures(paths)) = swept.moved() else { continue };
        let turn = if swept.times.is_some() { Perturbation::Times(*value) } else { Perturbation::To(*value) };
        for path in paths {
            if !machine.thermal.as_mut().is_some_and(|thermal| thermal.perturb(path, turn)) {
                return Err(NoSuchFigure { machine: machine.name.clone(), path: path.clone() });
            }
        }
    }
    Ok(())
}

impl Robustness {
    /// Robustness of a mail's rows from the reports at each point.
    pub fn from_points(mail: &Mail, seeds: usize, at: &[Vec<(PublishedRun, Report)>]) -> Robustness {
        let range = |s: &Swept| {
            let [low, high] = s.ends();
            VariedRange { what: s.what.clone(), low, high }
        };
        let judged = mail.rows.iter().filter(|row| row.not_scored.is_none());
        Robustness {
            mail: mail.mail.clone(),
            points: at.len(),
            seeds,
            moved: mail.sweep.iter().map(range).collect(),
            rows: judged.filter_map(|row| RobustnessRow::from_points(row, at)).collect(),
        }
    }
}

impl RobustnessRow {
    /// `None` for a row that is not run or that publishes no change.
    fn from_points(row: &PublishedRow, at: &[Vec<(PublishedRun, Report)>]) -> Option<RobustnessRow> {
        let (run, published) = (row.run.as_ref()?, row.improvement_pct().filter(|pct| *pct != 0.0)?);
        let change = |point: &Vec<(PublishedRun, Report)>| {
            let report = &point.iter().find(|(spec, _)| spec.has_runs_of(run))?.1;
            let rows = &report.comparisons.first()?.rows;
            rows.iter().find(|r| r.metric.name == run.metric)?.change.improvement_pct
        };
        let ours: Vec<f64> = at.iter().filter_map(change).collect();
        let holds = ours.iter().filter(|pct| **pct * published > 0.0).count();
        let end = |pick: fn(f64, f64) -> f64| ours.iter().copied().reduce(pick);
        Some(RobustnessRow {
            id: row.id.clone(),
            published_pct: published,
            holds,
            of: ours.len(),
            share_pct: (!ours.is_empty()).then(|| holds as f64 / ours.len() as f64 * 100.0),
            ours_pct: end(f64::min).zip(end(f64::max)).map(|(least, greatest)| [least, greatest]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Comparison, Row};
    use fairground_run::metrics::{Better, Metric};

    fn mail() -> Mail {
        let mut mail = Mail::find("misfit-unlink").unwrap();
        mail.keep(&["jankbench/power/ufc".into()]);
        mail
    }

    #[test]
    fn each_part_of_each_range_has_one_point() {
        let mail = mail();
        let points = points(&mail.sweep, 7);
        assert_eq!(points, super::points(&mail.sweep, 7));
        for (i, swept) in mail.sweep.iter().enumerate() {
            let mut seen: Vec<f64> = points.iter().map(|p| p[i]).collect();
            seen.sort_by(f64::total_cmp);
            let expected: Vec<f64> = (0..7).map(|part| swept.at((f64::from(part) + 0.5) / 7.0)).collect();
            assert_eq!(seen, expected, "{}", swept.what);
        }
        let of = |i: usize| points.iter().map(|p| p[i]).collect::<Vec<_>>();
        assert_ne!(shuffled(0, 7), shuffled(1, 7), "{:?} {:?}", of(0), of(1));
    }

    #[test]
    fn a_point_moves_the_machine_and_the_workloads() {
        let mail = mail();
        let middle: Vec<f64> = mail.sweep.iter().map(|s| s.at(0.25)).collect();
        let mut machine = Machine::preset("pixel6").unwrap();
        set_figures(&mut machine, &mail.sweep, &middle).unwrap();
        let thermal = machine.thermal.as_ref().unwrap();
        assert_eq!(thermal.ambient_mc, 20_000);
        // 60 J/K over the square root of two, in four digits.
        assert!((thermal.nodes[4].j_per_k - 42.426).abs() < 1e-9, "{}", thermal.nodes[4].j_per_k);
        let run = run_at(mail.rows[0].run.as_ref().unwrap(), &mail.sweep, &middle);
        assert_eq!(run.workload, "jankbench:frame-scale=0.6875,background=3");
        let mut symmetric = Machine::symmetric(4);
        let error = set_figures(&mut symmetric, &mail.sweep, &middle).unwrap_err();
        assert!(error.to_string().contains("thermal.ambient"), "{error}");
    }

    /// Theirs is 14.6 % worse. Ours is worse at two of three points, and a fourth has no run.
    #[test]
    fn a_sign_holds_in_a_share_of_the_range() {
        let mail = mail();
        let run = mail.rows[0].run.clone().unwrap();
        let point = |test: f64| {
            let metric = Metric::new(&run.metric, "", Better::Lower, "");
            let rows = vec![Row::new(metric, vec![100.0], vec![test])];
            let comparisons = vec![Comparison {
                base: "b".into(),
                test: "t".into(),
                rows,
                pairs: vec![],
                published: vec![],
                doubt: None,
            }];
            let (notes, failures) = Default::default();
            let common = Default::default();
            vec![(run.clone(), Report { common, seeds: vec![1], comparisons, notes, failures, provenance: None })]
        };
        let sweep = Robustness::from_points(&mail, 1, &[point(110.0), point(105.0), point(90.0), vec![]]);
        let row = &sweep.rows[0];
        assert_eq!((row.holds, row.of, row.ours_pct), (2, 3, Some([-10.0, 10.0])));
        assert!((row.share_pct.unwrap() - 66.67).abs() < 0.01);
    }
}

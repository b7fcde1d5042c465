//! Sensitivity of our changes: every estimate of a machine 30 % up and 30 % down, one at a time.
//!
//! A figure of the machine that is an `estimate` is a guess with a written reason. This is the honest error bar of a
//! row: how far its change moves when guesses move, whether its sign or its verdict flips, and which guess does it.
//! Fits are not repeated. A figure that is not a magnitude (an arrangement, a distance table, the clocks of operating
//! points) is listed as not perturbed.

use std::sync::Arc;

use fairground_machine::{Machine, Perturbation, Source};
use serde::Serialize;

use crate::comparison::{Report, Row};
use crate::published::{Mail, PublishedRow, PublishedRun};
use crate::reproduce::rows::judge_row;

/// The factors by which each estimate is multiplied.
pub const FACTORS: [f64; 2] = [0.7, 1.3];

/// Most figures that are listed as moving a row's change most.
const NAMED: usize = 3;

/// Result of a sensitivity analysis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The factors by which each estimate was multiplied.
    pub factors: [f64; 2],
    /// Pairs of runs of each row with each perturbed figure.
    pub seeds: usize,
    /// One row for each published row that is judged.
    pub rows: Vec<SensitiveRow>,
    /// Estimates that were not perturbed.
    pub not_turned: Vec<SkippedFigure>,
}

/// A row's change, and its range over all perturbations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SensitiveRow {
    /// Id of the row.
    pub id: String,
    /// The published change, percent, positive = better.
    pub published_pct: Option<f64>,
    /// Our change with unchanged figures, percent.
    pub ours_pct: Option<f64>,
    /// Whether the unperturbed row is a hit by the rule, whatever the number of pairs; `None` if the rule does not
    /// apply.
    pub hit: Option<bool>,
    /// Number of perturbations with which the runs gave a change.
    pub tried: usize,
    /// Our least and our greatest change, percent, with unchanged figures or with a perturbation.
    pub range_pct: Option<[f64; 2]>,
    /// Perturbations that flip the sign of the change; empty where the published change is within 2 sigma of zero.
    pub sign: Vec<FigureEffect>,
    /// Perturbations that flip the verdict.
    pub verdict: Vec<FigureEffect>,
    /// The perturbations that move the change most, whether or not they flip anything.
    pub most: Vec<FigureEffect>,
}

/// A perturbed figure, and the change with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureEffect {
    /// Path of the figure in the machine's file.
    pub figure: String,
    /// The factor by which the figure was multiplied.
    pub factor: f64,
    /// Our change with this perturbation, percent.
    pub ours_pct: f64,
}

/// An estimate that was not perturbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedFigure {
    /// Name of the machine.
    pub machine: String,
    /// Path of the figure.
    pub figure: String,
    /// The factor that the machine refuses; `None` if no factor applies.
    pub times: Option<String>,
    /// Why it was not perturbed.
    pub why: String,
}

/// A machine with one estimate perturbed.
#[derive(Clone)]
pub struct PerturbedMachine {
    /// Path of the figure.
    pub figure: String,
    /// The factor by which the figure was multiplied.
    pub factor: f64,
    /// The machine with the perturbed figure.
    pub machine: Arc<Machine>,
}

/// `machine` once for each of its estimates and each of [`FACTORS`], and the estimates that cannot be perturbed.
pub fn perturbed_machines(machine: &Machine) -> (Vec<PerturbedMachine>, Vec<SkippedFigure>) {
    let (mut perturbed, mut not) = (Vec::new(), Vec::new());
    let mut plain = machine.clone();
    plain.restate_figures();
    let estimates = machine.figures.iter().filter(|f| matches!(f.source, Source::Estimate(_)));
    for figure in estimates {
        let mut stands = |times: Option<String>, why: String| {
            let (machine, figure) = (machine.name.clone(), figure.path.clone());
            not.push(SkippedFigure { machine, figure, times, why });
        };
        for factor in FACTORS {
            match machine.perturbed(&figure.path, Perturbation::Times(factor)) {
                Ok(None) => {
                    stands(None, format!("no magnitude: {}", figure.value));
                    break;
                }
                Ok(Some(same)) if same == plain => {
                    stands(None, format!("it is {}", figure.value));
                    break;
                }
                Ok(Some(machine)) => {
                    perturbed.push(PerturbedMachine {
                        figure: figure.path.clone(),
                        factor,
                        machine: Arc::new(machine),
                    });
                }
                Err(e) => stands(Some(format!("{factor}")), format!("refused: {}", e.to_string().trim_end())),
            }
        }
    }
    (perturbed, not)
}

/// Results of a run specification with unchanged figures, and with each perturbed one.
pub struct Trial {
    /// The run specification of base and test.
    pub run: PublishedRun,
    /// The runs with unchanged figures.
    pub stands: Report,
    /// For each perturbation: path of the figure, factor, and runs.
    pub perturbed: Vec<(String, f64, Report)>,
}

impl Sensitivity {
    /// Sensitivity of the judged rows from their runs.
    pub fn from_trials(mails: &[Mail], tried: &[Trial], not_turned: Vec<SkippedFigure>, seeds: usize) -> Sensitivity {
        let judged = mails.iter().flat_map(|mail| &mail.rows).filter(|row| row.not_scored.is_none());
        let of_row = |row: &PublishedRow| {
            let run = row.run.as_ref()?;
            Some(SensitiveRow::from_trial(row, &run.metric, tried.iter().find(|t| t.run.has_runs_of(run))?))
        };
        Sensitivity { factors: FACTORS, seeds, rows: judged.filter_map(of_row).collect(), not_turned }
    }
}

impl SensitiveRow {
    fn from_trial(row: &PublishedRow, metric: &str, tried: &Trial) -> SensitiveRow {
        let figures = |report: &Report| {
            let ours = figures_of(report, metric)?;
            Some((ours.change.improvement_pct?, judge_row(row, ours).map(|(hit, _)| hit)))
        };
        let stands = figures(&tried.stands);
        let (ours_pct, hit) = (stands.map(|(pct, _)| pct), stands.and_then(|(_, hit)| hit));
        let perturbed = tried.perturbed.iter();
        let mut all: Vec<(FigureEffect, Option<bool>)> = perturbed
            .filter_map(|(figure, factor, report)| {
                let (pct, hit) = figures(report)?;
                Some((FigureEffect { figure: figure.clone(), factor: *factor, ours_pct: pct }, hit))
            })
            .collect();
        let away = |moved: &FigureEffect| ours_pct.map_or(0.0, |pct| (moved.ours_pct - pct).abs());
        // Those that move it most come first; a stable sort keeps the file's order among equals.
        all.sort_by(|(a, _), (b, _)| away(b).total_cmp(&away(a)));
        let published = row.improvement_pct().filter(|pct| pct.abs() > 2.0 * row.sigma_pct());
        let other_sign =
            |moved: &FigureEffect| published.is_some() && ours_pct.is_some_and(|pct| pct * moved.ours_pct < 0.0);
        let changes = all.iter().map(|(moved, _)| moved.ours_pct).chain(ours_pct);
        let end = |pick: fn(f64, f64) -> f64| changes.clone().reduce(pick);
        let moved = |keep: &dyn Fn(&FigureEffect, Option<bool>) -> bool| -> Vec<FigureEffect> {
            all.iter().filter(|(moved, now)| keep(moved, *now)).map(|(moved, _)| moved.clone()).collect()
        };
        SensitiveRow {
            id: row.id.clone(),
            published_pct: row.improvement_pct(),
            ours_pct,
            hit,
            tried: all.len(),
            range_pct: end(f64::min).zip(end(f64::max)).map(|(least, most)| [least, most]),
            sign: moved(&|moved, _| other_sign(moved)),
            verdict: moved(&|_, now| now.zip(hit).is_some_and(|(now, hit)| now != hit)),
            most: moved(&|moved, _| away(moved) > 0.0).into_iter().take(NAMED).collect(),
        }
    }
}

fn figures_of<'a>(report: &'a Report, metric: &str) -> Option<&'a Row> {
    report.comparisons.first()?.rows.iter().find(|row| row.metric.name == metric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Comparison;
    use fairground_run::metrics::{Better, Metric};

    #[test]
    fn every_estimate_is_turned_both_ways_or_named() {
        let machine = Machine::preset("hikey960").unwrap();
        let estimates = machine.figures.iter().filter(|f| matches!(f.source, Source::Estimate(_)));
        let (perturbed, not) = perturbed_machines(&machine);
        for figure in estimates {
            let ways = perturbed.iter().filter(|t| t.figure == figure.path).count();
            let named = not.iter().any(|n| n.figure == figure.path);
            assert!(ways == 2 || named, "{}: {ways} ways", figure.path);
        }
        assert!(perturbed.len() > 40, "{}", perturbed.len());
        // Fitted and published figures stand.
        let is = |path: &str| perturbed.iter().any(|t| t.figure == path);
        assert!(is("costs.soft.probe") && !is("costs.scale"), "{:?}", not);
    }

    /// 3 pairs of runs, all with this change in percent of 100.
    fn report(run: &PublishedRun, pct: f64) -> Report {
        let metric = Metric::new(&run.metric, "", Better::Higher, "");
        let rows = vec![Row::new(metric, vec![100.0; 3], vec![100.0 + pct; 3])];
        let comparisons = vec![Comparison {
            base: "b".into(),
            test: "t".into(),
            rows,
            pairs: vec![],
            published: vec![],
            doubt: None,
        }];
        let (notes, failures) = Default::default();
        Report { common: Default::default(), seeds: vec![1, 2, 3], comparisons, notes, failures, provenance: None }
    }

    /// Theirs is +22.3 %, within 3 of which is a hit. Ours is +20, and a, b, c make it +27, -1 and +20.5.
    #[test]
    fn a_row_says_what_turns_its_sign_and_its_verdict() {
        let mut mail = Mail::find("asym-prev-first").unwrap();
        mail.keep(&["hikey960/sched-pipe/ops".into()]);
        let run = mail.rows[0].run.clone().unwrap();
        let at = |figure: &str, pct| (figure.to_string(), 1.3, report(&run, pct));
        let perturbed = vec![at("a", 27.0), at("b", -1.0), at("c", 20.5)];
        let tried = Trial { run: run.clone(), stands: report(&run, 20.0), perturbed };
        let row = Sensitivity::from_trials(&[mail], &[tried], vec![], 3).rows.remove(0);
        let names = |moved: &[FigureEffect]| moved.iter().map(|m| m.figure.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!((row.hit, row.tried, row.range_pct), (Some(true), 3, Some([-1.0, 27.0])));
        assert_eq!([&row.sign, &row.verdict, &row.most].map(|m| names(m)), ["b", "b a", "b a c"]);
    }
}

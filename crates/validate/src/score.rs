//! The score: measured changes against predicted ones, in log ratios.
//!
//! A *cell* is a figure of an intervention. Its change is the natural logarithm of test over base: half and twice weigh the
//! same, whichever is better. Of the pairs played it is the mean of their log ratios, with the interval of the lab's paired
//! statistics. What is predicted is a sample, one change for each draw; its median is the point prediction. The predicted
//! distribution is that sample with the measured change's own error, as the lab's proper score has it: whether it holds the
//! measured change is counted, and its CRPS compared with that of *no change*.
//!
//! Draws say nothing of what the model lacks. By how much it is off beyond them, one half of the knobs can tell, and the
//! other half be judged with: a *model error*, a normal error of the log ratio ([`learned_error`]).
//!
//! Every part is computed of each knob's cells, and the median over the knobs is what counts: neither a knob with many cells
//! nor one large effect carries it. The share over all cells is given besides.

use fairground_lab::reproduce::score::Predictive;
use fairground_lab::stats::{Change, Terms};
use fairground_run::metrics::Better;
use serde::{Deserialize, Serialize};

use crate::matrix::Family;

/// Fewest pairs of which a cell is made.
pub const PAIRS_MIN: usize = 3;

/// What a cell is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct CellInput {
    /// The intervention's knob.
    pub knob: String,
    /// The knob's family.
    pub family: Family,
    /// Name of the intervention.
    pub intervention: String,
    /// Name of the figure.
    pub metric: String,
    /// Base and test of each pair that was played and has the figure.
    pub measured: Vec<(f64, f64)>,
    /// Base and test of each draw.
    pub predicted: Vec<(f64, f64)>,
    /// Whether the change has no counterpart in the simulator.
    pub beyond_model: bool,
}

/// What was measured for a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Median of base, in the figure's unit.
    pub base: f64,
    /// Median of test.
    pub test: f64,
    /// Mean of the log ratios of the pairs.
    pub change: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
    /// Standard error of the mean.
    pub error: f64,
    /// Whether the interval excludes no change; `false` also of fewer than 6 pairs.
    pub significant: bool,
    /// Number of pairs.
    pub pairs: usize,
}

/// What was predicted for a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// Median of base over draws.
    pub base: f64,
    /// Median of test.
    pub test: f64,
    /// Median of the log ratios of the draws.
    pub change: f64,
    /// 50 % model interval; `None` below 3 draws.
    pub ci50: Option<[f64; 2]>,
    /// 90 % model interval; `None` below 19 draws.
    pub ci90: Option<[f64; 2]>,
    /// Number of draws.
    pub draws: usize,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The intervention's knob.
    pub knob: String,
    /// The knob's family.
    pub family: Family,
    /// Name of the intervention.
    pub intervention: String,
    /// Name of the figure.
    pub metric: String,
    /// The change and both sides' figures on this machine.
    pub measured: Measured,
    /// The change over draws, and both sides' figures in the simulator.
    pub predicted: Predicted,
    /// Whether the measured change is in the 50 % interval of what is predicted for it, its own error included.
    pub in50: Option<bool>,
    /// The same of the 90 % interval.
    pub in90: Option<bool>,
    /// CRPS of the prediction, log ratio.
    pub crps: f64,
    /// CRPS of no change with the measured change's error.
    pub crps_no_change: f64,
    /// Whether the change has no counterpart in the simulator.
    pub beyond_model: bool,
}

impl Cell {
    /// The cell; or why it has none, in words. `model_error`: standard deviation of the log ratio by which predictions may
    /// be off beyond their draws, 0: none.
    ///
    /// # Errors
    /// Where there are too few pairs or no draw, or no ratio.
    pub fn new(input: &CellInput, model_error: f64) -> Result<Cell, String> {
        if input.measured.len() < PAIRS_MIN {
            return Err(format!("{} pairs of rounds have {}", input.measured.len(), input.metric));
        }
        if input.predicted.is_empty() {
            return Err(format!("no run has {} of both sides", input.metric));
        }
        let no_ratio = || format!("{} is 0 in some round or run", input.metric);
        let measured = Measured::new(&input.measured).ok_or_else(no_ratio)?;
        let (ratios, predicted) = Predicted::new(&input.predicted).ok_or_else(no_ratio)?;
        let error = measured.error.hypot(model_error);
        let (predictive, none) = (Predictive::new(&ratios, error), Predictive::new(&[0.0], measured.error));
        let (predictive, none) = predictive.zip(none).ok_or_else(no_ratio)?;
        let summary = predictive.summary();
        let holds = |[lo, hi]: [f64; 2]| (lo..=hi).contains(&measured.change);
        Ok(Cell {
            knob: input.knob.clone(),
            family: input.family,
            intervention: input.intervention.clone(),
            metric: input.metric.clone(),
            measured,
            predicted,
            in50: summary.ci50.map(holds),
            in90: summary.ci90.map(holds),
            crps: predictive.crps(measured.change),
            crps_no_change: none.crps(measured.change),
            beyond_model: input.beyond_model,
        })
    }

    /// Absolute error of the predicted change.
    pub fn error(&self) -> f64 {
        (self.predicted.change - self.measured.change).abs()
    }

    /// Whether the predicted change has the sign of the measured one; `None` if that is not significant. A predicted change
    /// of nothing has no sign.
    pub fn sign_is_right(&self) -> Option<bool> {
        self.measured.significant.then_some(self.predicted.change * self.measured.change > 0.0)
    }

    /// Absolute log error of the levels of base and test.
    pub fn level_errors(&self) -> [f64; 2] {
        let off = |predicted: f64, measured: f64| libm::log(predicted / measured).abs();
        [off(self.predicted.base, self.measured.base), off(self.predicted.test, self.measured.test)]
    }
}

/// Steps in which a model error is looked for, and the greatest, as log ratios.
const ERROR_STEP: f64 = 0.005;
const ERROR_MAX: f64 = 2.3;
/// Share of the cells that a 90 % interval is to hold.
const HELD: f64 = 0.9;

/// The least model error with which 90 % intervals hold nine of ten cells, each knob weighing the same; `None` without
/// intervals, or if none up to a factor of 10 does.
pub fn learned_error(inputs: &[CellInput]) -> Option<f64> {
    let held = |error: f64| {
        let cells: Vec<Cell> = inputs.iter().filter_map(|input| Cell::new(input, error).ok()).collect();
        let knobs = by_knob(&cells.iter().collect::<Vec<_>>());
        let shares = knobs.iter().map(|own| {
            let answers: Option<Vec<bool>> = own.iter().map(|cell| cell.in90).collect();
            answers.map(|answers| answers.iter().filter(|held| **held).count() as f64 / answers.len() as f64)
        });
        let shares: Vec<f64> = shares.collect::<Option<_>>()?;
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    };
    let steps = (ERROR_MAX / ERROR_STEP) as u32;
    held(0.0)?;
    (0..=steps).map(|step| f64::from(step) * ERROR_STEP).find(|error| held(*error).is_some_and(|share| share >= HELD))
}

/// Log ratios; `None` if a value is not above 0.
fn log_ratios(pairs: &[(f64, f64)]) -> Option<Vec<f64>> {
    let is_positive = |value: f64| value > 0.0 && value.is_finite();
    let ratio = |(base, test): &(f64, f64)| {
        (is_positive(*base) && is_positive(*test)).then(|| libm::log(*test) - libm::log(*base))
    };
    pairs.iter().map(ratio).collect()
}

/// The middle value, or the mean of the two in the middle; `None` without any.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    fairground_lab::doubt::quantile(&sorted, 0.5)
}

impl Measured {
    fn new(pairs: &[(f64, f64)]) -> Option<Measured> {
        let ratios = log_ratios(pairs)?;
        let logs = |side: fn(&(f64, f64)) -> f64| pairs.iter().map(|pair| libm::log(side(pair))).collect::<Vec<f64>>();
        let change = Change::new(&logs(|p| p.0), &logs(|p| p.1), &Terms::of_any_values(Better::Higher));
        let n = ratios.len() as f64;
        let error = fairground_lab::stats::Summary::of(&ratios).sd / n.sqrt();
        Some(Measured {
            base: median(pairs.iter().map(|p| p.0))?,
            test: median(pairs.iter().map(|p| p.1))?,
            change: change.diff,
            ci95: change.diff_ci95?,
            error,
            significant: change.significant == Some(true),
            pairs: pairs.len(),
        })
    }
}

impl Predicted {
    /// The log ratios in ascending order, and what is told of them.
    fn new(draws: &[(f64, f64)]) -> Option<(Vec<f64>, Predicted)> {
        let mut ratios = log_ratios(draws)?;
        ratios.sort_by(f64::total_cmp);
        let at = |p: f64| fairground_lab::doubt::quantile(&ratios, p);
        let between = |lo, hi| Some([at(lo)?, at(hi)?]);
        let predicted = Predicted {
            base: median(draws.iter().map(|p| p.0))?,
            test: median(draws.iter().map(|p| p.1))?,
            change: at(0.5)?,
            ci50: between(0.25, 0.75),
            ci90: between(0.05, 0.95),
            draws: draws.len(),
        };
        Some((ratios, predicted))
    }
}

/// A part of a score: over all cells, and the median over the knobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Share of the cells in percent, or median over all cells of an error.
    pub cells: f64,
    /// Median over the knobs of the same, computed of each knob's cells.
    pub knobs: f64,
    /// Number of cells that count.
    pub of_cells: usize,
    /// Number of knobs that count.
    pub of_knobs: usize,
}

/// The score of some cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Number of cells.
    pub cells: usize,
    /// Number of knobs.
    pub knobs: usize,
    /// Number of cells whose measured change is significant.
    pub significant: usize,
    /// Percent of the cells in the 50 % interval; `None` if no cell has one.
    pub in50: Option<Part>,
    /// Percent of the cells in the 90 % interval.
    pub in90: Option<Part>,
    /// Percent of the significant cells whose sign is right; `None` if none is significant.
    pub sign: Option<Part>,
    /// Absolute log error of the predicted change.
    pub error: Part,
    /// That of no change.
    pub error_no_change: Part,
    /// CRPS of the prediction, log ratio.
    pub crps: Part,
    /// CRPS of no change.
    pub crps_no_change: Part,
    /// Absolute log error of levels, those of base and test of each cell.
    pub level: Part,
}

impl Score {
    /// The score of these cells; `None` without any.
    pub fn of(cells: &[&Cell]) -> Option<Score> {
        let error = |of: fn(&Cell) -> f64| Part::median(cells, |cell| vec![of(cell)]);
        Some(Score {
            cells: cells.len(),
            knobs: by_knob(cells).len(),
            significant: cells.iter().filter(|cell| cell.measured.significant).count(),
            in50: Part::share(cells, |cell| cell.in50),
            in90: Part::share(cells, |cell| cell.in90),
            sign: Part::share(cells, Cell::sign_is_right),
            error: error(Cell::error)?,
            error_no_change: error(|cell| cell.measured.change.abs())?,
            crps: error(|cell| cell.crps)?,
            crps_no_change: error(|cell| cell.crps_no_change)?,
            level: Part::median(cells, |cell| cell.level_errors().to_vec())?,
        })
    }

    /// The score of a family.
    pub fn of_family(cells: &[Cell], family: Family) -> Option<Score> {
        Score::of(&cells.iter().filter(|cell| cell.family == family).collect::<Vec<_>>())
    }
}

/// The cells of each knob, in the order in which the knobs come.
fn by_knob<'a>(cells: &[&'a Cell]) -> Vec<Vec<&'a Cell>> {
    let mut knobs: Vec<Vec<&Cell>> = Vec::new();
    for cell in cells {
        match knobs.iter_mut().find(|own| own[0].knob == cell.knob && own[0].family == cell.family) {
            Some(own) => own.push(cell),
            None => knobs.push(vec![cell]),
        }
    }
    knobs
}

impl Part {
    /// The share of the cells for which `is` holds, percent, of those for which it says something.
    fn share(cells: &[&Cell], is: impl Fn(&Cell) -> Option<bool>) -> Option<Part> {
        let share = |cells: &[&Cell]| {
            let answers: Vec<bool> = cells.iter().filter_map(|cell| is(cell)).collect();
            let right = answers.iter().filter(|right| **right).count();
            (!answers.is_empty()).then(|| (100.0 * right as f64 / answers.len() as f64, answers.len()))
        };
        let (all, of_cells) = share(cells)?;
        let knobs: Vec<f64> = by_knob(cells).iter().filter_map(|own| Some(share(own)?.0)).collect();
        let of_knobs = knobs.len();
        Some(Part { cells: all, knobs: median(knobs)?, of_cells, of_knobs })
    }

    /// The median of what `of` gives for the cells.
    fn median(cells: &[&Cell], of: impl Fn(&Cell) -> Vec<f64>) -> Option<Part> {
        let values = |cells: &[&Cell]| cells.iter().flat_map(|cell| of(cell)).collect::<Vec<f64>>();
        let all = values(cells);
        let knobs: Vec<f64> = by_knob(cells).iter().filter_map(|own| median(values(own))).collect();
        let (of_cells, of_knobs) = (cells.len(), knobs.len());
        Some(Part { cells: median(all)?, knobs: median(knobs)?, of_cells, of_knobs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// A change measured exactly, by 8 pairs, and predicted by 19 draws that differ by a percent each.
    fn input(knob: &str, measured: f64, predicted: f64) -> CellInput {
        let pairs = |ratio: f64| (100.0, 100.0 * ratio);
        CellInput {
            knob: knob.into(),
            family: Family::Knob,
            intervention: format!("{knob}/x"),
            metric: "m".into(),
            measured: vec![pairs(measured); 8],
            predicted: (-9..=9).map(|d| pairs(predicted * libm::exp(0.01 * f64::from(d)))).collect(),
            beyond_model: false,
        }
    }

    fn cell(knob: &str, measured: f64, predicted: f64) -> Cell {
        Cell::new(&input(knob, measured, predicted), 0.0).unwrap()
    }

    #[test]
    fn a_cell_has_log_ratios_and_the_intervals_of_its_draws() {
        let c = cell("k", 2.0, 1.0);
        assert!(close(c.measured.change, 2f64.ln()) && c.measured.ci95 == [c.measured.change; 2], "{c:?}");
        assert!(c.measured.significant && c.measured.error == 0.0);
        assert!(close(c.predicted.change, 0.0) && c.predicted.draws == 19);
        // The first and the last of 19, the fifth and the fifteenth.
        let [lo, hi] = c.predicted.ci90.unwrap();
        assert!(close(lo, -0.09) && close(hi, 0.09));
        let [lo, hi] = c.predicted.ci50.unwrap();
        assert!(close(lo, -0.05) && close(hi, 0.05));
        assert_eq!((c.in50, c.in90), (Some(false), Some(false)));
        assert!(close(c.error(), 2f64.ln()) && close(c.crps_no_change, 2f64.ln()));
        let [base, test] = c.level_errors();
        assert!(close(base, 0.0) && close(test, 2f64.ln()));
    }

    #[test]
    fn what_lies_between_the_intervals_is_in_the_wider_one() {
        let at = |x: f64| {
            let c = cell("k", libm::exp(x), 1.0);
            (c.in50.unwrap(), c.in90.unwrap())
        };
        assert_eq!([0.03, 0.07, 0.1].map(at), [(true, true), (false, true), (false, false)]);
    }

    /// A measured change that is uncertain widens what is predicted for it.
    #[test]
    fn the_measured_error_is_part_of_the_prediction() {
        let mut noisy = input("k", 1.0, 1.0);
        noisy.measured = [0.7, 1.5, 1.2, 1.6, 0.8, 1.5, 1.1, 1.4].map(|x| (1.0, x)).into();
        let c = Cell::new(&noisy, 0.0).unwrap();
        assert!(c.measured.change > 0.09 && c.in90 == Some(true), "{c:?}");
        assert!(!c.measured.significant && c.sign_is_right().is_none());
    }

    #[test]
    fn signs_count_where_the_change_is_significant_and_nothing_has_none() {
        assert_eq!(cell("k", 1.5, 1.2).sign_is_right(), Some(true));
        assert_eq!(cell("k", 1.5, 0.8).sign_is_right(), Some(false));
        assert_eq!(cell("k", 1.0, 0.8).sign_is_right(), None);
        let mut same = input("k", 1.5, 1.0);
        same.predicted = vec![(1.0, 1.0)];
        assert_eq!(Cell::new(&same, 0.0).unwrap().sign_is_right(), Some(false));
    }

    /// Knob a has one cell that is right, knob b one that is far off and two that are right, knob c two that are wrong.
    #[test]
    fn medians_over_knobs_are_of_each_knobs_own_cells() {
        let cells = [
            cell("a", 2.0, 2.0),
            cell("b", 100.0, 1.5),
            cell("b", 2.0, 2.0),
            cell("b", 2.0, 2.0),
            cell("c", 0.5, 2.0),
            cell("c", 0.5, 2.0),
        ];
        let score = Score::of(&cells.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((score.cells, score.knobs, score.significant), (6, 3, 6));
        let sign = score.sign.unwrap();
        // 4 of 6 cells; of the knobs 100, 100 and 0 %.
        assert!(close(sign.cells, 400.0 / 6.0) && sign.knobs == 100.0 && (sign.of_cells, sign.of_knobs) == (6, 3));
        let in90 = score.in90.unwrap();
        // 3 of 6 cells; of the knobs 100, 67 and 0 %.
        assert!(close(in90.cells, 50.0) && close(in90.knobs, 200.0 / 3.0), "{in90:?}");
        // Errors of the knobs: 0, 0 and ln 4; of the cells 0, 0, 0, ln 4, ln 4, ln 66.7.
        assert!(close(score.error.knobs, 0.0) && close(score.error.cells, 4f64.ln() / 2.0), "{:?}", score.error);
        assert!(close(score.error_no_change.knobs, 2f64.ln()));
    }

    #[test]
    fn families_are_scored_apart_and_nothing_has_no_score() {
        let knob = cell("a", 2.0, 2.0);
        let choice = Cell { family: Family::Choice, ..cell("a", 2.0, 0.5) };
        let both = [knob, choice];
        assert_eq!(Score::of_family(&both, Family::Knob).unwrap().sign.unwrap().cells, 100.0);
        assert_eq!(Score::of_family(&both, Family::Choice).unwrap().sign.unwrap().cells, 0.0);
        assert_eq!(Score::of(&both.iter().collect::<Vec<_>>()).unwrap().knobs, 2, "a name may be in both");
        assert_eq!(Score::of(&[]), None);
    }

    #[test]
    fn a_cell_without_pairs_draws_or_ratio_says_so() {
        let good = input("k", 2.0, 2.0);
        let why = |change: fn(&mut CellInput)| {
            let mut bad = good.clone();
            change(&mut bad);
            Cell::new(&bad, 0.0).unwrap_err()
        };
        assert!(why(|i| i.measured.truncate(2)).starts_with("2 pairs"));
        assert!(why(|i| i.predicted.clear()).starts_with("no run has m"));
        assert!(why(|i| i.measured[0].0 = 0.0).starts_with("m is 0"));
        assert!(why(|i| i.predicted[0].1 = 0.0).starts_with("m is 0"));
    }

    /// Ten cells of a knob, changes that draws miss by 0.1 to 1.0 in logarithms: nine are within 1.645 of a normal error of
    /// 0.9 / 1.645, give or take the draws' own width and a step. A knob of one cell that is right weighs as much.
    #[test]
    fn a_model_error_is_learned_from_what_draws_miss() {
        let inputs: Vec<CellInput> = (1..=10).map(|k| input("far", libm::exp(0.1 * f64::from(k)), 1.0)).collect();
        let error = learned_error(&inputs).unwrap();
        assert!((0.5..0.6).contains(&error), "{error}");
        let held = inputs.iter().filter(|input| Cell::new(input, error).unwrap().in90 == Some(true)).count();
        assert_eq!(held, 9);
        let both: Vec<CellInput> = inputs.into_iter().chain([input("near", 1.0, 1.0)]).collect();
        let of_both = learned_error(&both).unwrap();
        assert!(of_both < error, "eight of ten and one of one are nine of ten: {of_both}");
        assert_eq!(learned_error(&[input("near", 1.0, 1.0)]), Some(0.0));
        assert_eq!(learned_error(&[input("lost", 1e6, 1.0)]), None);
    }
}

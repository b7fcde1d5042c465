//! The paired change of two columns: its size, its interval, how sure it is, and the verdict.

use std::fmt;

use fairground_run::metrics::{Better, Metric, Range, SmallestEffect};
use serde::Serialize;

use super::{mean as mean_of, mean_interval, ratio_pct, student};

/// Below this many pairs nothing is called significant or not, and every verdict is [`Verdict::Unsure`].
///
/// Sides that do not differ show `n` equal values each, and other ones, in at most 2 of 4^n comparisons: 3 % of rows with
/// 3 pairs, but 0.05 % with 6, so that a table of a dozen rows stays below 1 %.
pub const SIGNIFICANT_PAIRS_MIN: usize = 6;

/// A change is called better or worse if, were there none, less than this share of tables had one so large.
const ALPHA: f64 = 0.05;

/// How the number of pairs was chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// Before the runs were made.
    #[default]
    Fixed,
    /// Pairs were added until an interval was narrow. A spread that looks small by chance ends the sampling too early, so
    /// three fifths of the degrees of freedom count: as many as give intervals and p values what they name.
    UntilNarrow,
}

impl Sampling {
    /// Degrees of freedom of `n` pairs, at least 1.
    fn df(self, n: usize) -> u64 {
        let df = n.saturating_sub(1) as u64;
        match self {
            Sampling::Fixed => df.max(1),
            Sampling::UntilNarrow => (df * 3 / 5).max(1),
        }
    }
}

/// What a change is judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Which way is better.
    pub better: Better,
    /// The values that both columns can take.
    pub range: Range,
    /// The smallest difference that is of interest.
    pub smallest: SmallestEffect,
    /// How the number of pairs was chosen.
    pub sampling: Sampling,
}

impl Terms {
    /// The terms of a metric, for a number of pairs that was fixed.
    pub fn of_metric(metric: &Metric) -> Terms {
        let Metric { better, range, smallest, .. } = *metric;
        Terms { better, range, smallest, sampling: Sampling::Fixed }
    }

    /// The terms of values of which nothing is known but which way is better: any difference is of interest.
    pub fn of_any_values(better: Better) -> Terms {
        let smallest = SmallestEffect { pct: 0.0, amount: 0.0 };
        Terms { better, range: Range::Any, smallest, sampling: Sampling::Fixed }
    }
}

/// What a row says of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The difference is above the smallest of interest, and not by chance: the interval excludes zero, and the p value that
    /// counts all rows of the table is below 5 %.
    Better,
    /// The same, to the other side.
    Worse,
    /// The whole interval is within the smallest effect of interest.
    Same,
    /// Neither is known.
    Unsure,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Verdict; 4] = [Verdict::Better, Verdict::Worse, Verdict::Same, Verdict::Unsure];

    /// The word in tables, JSON and CSV.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Same => "same",
            Verdict::Unsure => "unsure",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The paired difference of two columns, test minus base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Mean difference, in the metric's unit, raw sign.
    pub diff: f64,
    /// 95 % interval of `diff`, within what the range of the values allows; `None` below two pairs.
    pub diff_ci95: Option<[f64; 2]>,
    /// Mean difference in percent of the base's mean, positive = better; `None` where base is 0 and test is not.
    pub improvement_pct: Option<f64>,
    /// 95 % interval of the change of the mean in percent of the base's mean, positive = better, low end first, within
    /// what the range of the values allows. `None` below two pairs, where base is 0 and test is not, and where the
    /// base's mean is so uncertain that it may be 0.
    pub ci95: Option<[f64; 2]>,
    /// Whether no pair differs from another: all differences are zero, or both columns are constant. The intervals have
    /// no width then.
    pub exact: bool,
    /// Two-sided probability of such a difference, or a larger one, if there were none; `None` below two pairs.
    pub p: Option<f64>,
    /// `p` by Holm's rule over all rows of the table ([`judge`]); `p` where the change stands alone.
    pub p_adjusted: Option<f64>,
    /// Smallest difference of interest, in the metric's unit.
    pub smallest: f64,
    /// Whether the values are percentiles of too few samples: the verdict is [`Verdict::Unsure`] then.
    pub few_samples: bool,
    /// What the change is called.
    pub verdict: Verdict,
    /// Whether the interval excludes zero; `None` below [`SIGNIFICANT_PAIRS_MIN`] pairs. It does not count other rows.
    pub significant: Option<bool>,
    /// Number of pairs in which test is better, and in which it is worse.
    pub signs: [usize; 2],
    pub(super) better: Better,
    pub(super) base_mean: f64,
    pub(super) pairs: usize,
}

impl Change {
    /// The change between two columns of equal length, paired by position. Values are finite.
    pub fn new(base: &[f64], test: &[f64], terms: &Terms) -> Change {
        assert_eq!(base.len(), test.len(), "paired columns");
        let Terms { better, range, .. } = *terms;
        let (pairs, df) = (base.len(), terms.sampling.df(base.len()));
        let diffs: Vec<f64> = base.iter().zip(test).map(|(b, t)| t - b).collect();
        let (diff, base_mean) = match pairs {
            0 => (0.0, 0.0),
            _ => (mean_of(&diffs), mean_of(base)),
        };
        let t = student::quantile(df);
        let means = [base, test].map(|column| mean_interval::interval(column, t));
        let diff_ci95 = mean_interval::interval(&diffs, t).map(|ci| possible_diff(ci, means, range));
        let wins = diffs.iter().filter(|d| better.sign() * **d > 0.0).count();
        let losses = diffs.iter().filter(|d| better.sign() * **d < 0.0).count();
        let p = p_value(base, &diffs, df);
        let mut change = Change {
            diff,
            diff_ci95,
            improvement_pct: ratio_pct(better.sign() * diff, base_mean.abs()),
            ci95: relative_ci95(base, &diffs, means[0], terms, t),
            exact: pairs >= 2 && is_constant(&diffs) && (diff == 0.0 || is_constant(base)),
            p,
            p_adjusted: p,
            smallest: terms.smallest.on(base_mean),
            few_samples: false,
            verdict: Verdict::Unsure,
            significant: diff_ci95.filter(|_| pairs >= SIGNIFICANT_PAIRS_MIN).map(|[lo, hi]| lo > 0.0 || hi < 0.0),
            signs: [wins, losses],
            better,
            base_mean,
            pairs,
        };
        change.verdict = change.verdict_by(p);
        change
    }

    /// The change of percentiles of which runs have too few samples, if `few`.
    pub fn with_few_samples(self, few: bool) -> Change {
        let mut change = Change { few_samples: few, ..self };
        change.verdict = change.verdict_by(change.p_adjusted);
        change
    }

    /// Whether tables mark the change with a star: the verdict is better or worse.
    pub fn starred(&self) -> bool {
        matches!(self.verdict, Verdict::Better | Verdict::Worse)
    }

    /// Half of the width of the interval in percent of the base; `None` without such an interval.
    pub fn half_width_pct(&self) -> Option<f64> {
        self.ci95.map(|[lo, hi]| (hi - lo) / 2.0)
    }

    fn verdict_by(&self, p_adjusted: Option<f64>) -> Verdict {
        if self.pairs < SIGNIFICANT_PAIRS_MIN || self.few_samples {
            return Verdict::Unsure;
        }
        let is_sure = self.significant == Some(true) && p_adjusted.is_some_and(|p| p < ALPHA);
        if is_sure && self.diff.abs() > self.smallest {
            return if self.better.sign() * self.diff > 0.0 { Verdict::Better } else { Verdict::Worse };
        }
        match self.is_within_smallest() {
            true => Verdict::Same,
            false => Verdict::Unsure,
        }
    }

    /// Whether the whole interval is within the smallest effect of interest.
    fn is_within_smallest(&self) -> bool {
        let within = |[lo, hi]: [f64; 2], margin: f64| -margin <= lo && hi <= margin;
        match (self.ci95, self.diff_ci95) {
            (Some(ci), _) if self.base_mean != 0.0 => within(ci, 100.0 * self.smallest / self.base_mean.abs()),
            (_, Some(ci)) => within(ci, self.smallest),
            _ => false,
        }
    }
}

/// Judges the changes of a table together: with Holm's rule no more than 5 % of tables in which nothing differs have a
/// row that is called better or worse. Holm, "A simple sequentially rejective multiple test procedure" (1979).
pub fn judge<'a>(changes: impl Iterator<Item = &'a mut Change>) {
    let mut by_p: Vec<(f64, &mut Change)> = changes.filter_map(|change| Some((change.p?, change))).collect();
    by_p.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let rows = by_p.len();
    let mut greatest = 0.0f64;
    for (place, (p, change)) in by_p.into_iter().enumerate() {
        greatest = greatest.max(((rows - place) as f64 * p).min(1.0));
        change.p_adjusted = Some(greatest);
        change.verdict = change.verdict_by(change.p_adjusted);
    }
}

fn is_constant(column: &[f64]) -> bool {
    column.iter().all(|x| *x == column[0])
}

/// Probability of such differences if there were none. Differences that are all equal have no spread to be measured by:
/// of sides drawn alike `n` pairs differ by the same, to one side, in at most 2 of 2^n cases, and in 2 of 4^n if neither
/// side varies.
fn p_value(base: &[f64], diffs: &[f64], df: u64) -> Option<f64> {
    let pairs = diffs.len();
    if pairs < 2 {
        return None;
    }
    if !is_constant(diffs) {
        return mean_interval::p_value(diffs, df);
    }
    if diffs[0] == 0.0 {
        return Some(1.0);
    }
    let sides = if is_constant(base) { 2 } else { 1 };
    // Beyond 1100 halvings it is 0.
    Some((1..(sides * pairs).min(1100)).fold(1.0, |p, _| p / 2.0))
}

/// The part of an interval of differences in which both means are within their range. `means`: intervals of the means of
/// base and test.
fn possible_diff([lo, hi]: [f64; 2], means: [Option<[f64; 2]>; 2], range: Range) -> [f64; 2] {
    let [Some([base_lo, base_hi]), Some([test_lo, test_hi])] = means else { return [lo, hi] };
    match range {
        Range::Any => [lo, hi],
        Range::NotNegative => [lo.max(-base_hi), hi.min(test_hi)],
        Range::Percent => [lo.max(-base_hi).max(test_lo - 100.0), hi.min(test_hi).min(100.0 - base_lo)],
    }
}

fn relative_ci95(base: &[f64], diffs: &[f64], base_ci: Option<[f64; 2]>, terms: &Terms, t: f64) -> Option<[f64; 2]> {
    let [base_lo, _] = base_ci?;
    let base_mean = mean_of(base);
    if base_mean == 0.0 {
        return is_constant(diffs).then_some([0.0; 2]).filter(|_| diffs[0] == 0.0);
    }
    let [lo, hi] = mean_interval::relative_interval(base, diffs, mean_of(diffs) / base_mean, t)?;
    let (lo, hi) = match terms.range {
        Range::Any => (lo, hi),
        Range::NotNegative => (lo.max(-1.0), hi),
        Range::Percent if base_lo > 0.0 => (lo.max(-1.0), hi.min(100.0 / base_lo - 1.0)),
        Range::Percent => (lo.max(-1.0), hi),
    };
    // Changes of a negative base have the other sign.
    let sign = terms.better.sign() * if base_mean < 0.0 { -1.0 } else { 1.0 };
    let [a, b] = [lo, hi].map(|x| ratio_pct(sign * x, 1.0).unwrap_or(0.0));
    Some(if a <= b { [a, b] } else { [b, a] })
}

//! Paired statistics: two columns that share their seeds, and what can honestly be said of their difference.
//!
//! The interval is the percentile bootstrap of the mean paired difference: seeds are drawn with replacement
//! [`RESAMPLES`] times, base and test together, and the middle 95 % of the resampled mean differences is kept. Draws
//! are counter-based and fixed, so that the same columns always give the same interval; only integers and IEEE
//! `+ - * / sqrt` are used.
//!
//! With few seeds the percentile method is too narrow, as it can only see differences that occurred: of normal
//! differences 88 % of its intervals hold the true mean with 8 seeds, 92 % with 16 (a test measures it).
//! Below [`FEW_SEEDS`] a note says so, and one seed gives no interval at all.
//!
//! In percent it is the same interval, divided by the base's mean over the seeds as if that were known exactly.
//! Where the base varies widely between seeds, an end may so be a change that no seed could show, such as a latency that
//! improves by more than 100 %.

use serde::Serialize;

use fairground_run::metrics::Better;

/// Number of bootstrap resamples.
pub const RESAMPLES: u32 = 10_000;

/// Below this many pairs a note warns that the interval is too narrow.
pub const FEW_SEEDS: usize = 8;

/// Resamples cut off at either end: 2.5 %.
const TAIL: usize = RESAMPLES as usize / 40;

/// A column of figures in short.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Arithmetic mean; 0 of an empty column.
    pub mean: f64,
    /// Sample standard deviation (n - 1); 0 below two values.
    pub sd: f64,
    /// Number of values.
    pub n: usize,
}

impl Summary {
    /// Of a column.
    pub fn of(column: &[f64]) -> Summary {
        let n = column.len();
        if n == 0 {
            return Summary { mean: 0.0, sd: 0.0, n };
        }
        let mean = mean(column);
        let squares: f64 = column.iter().map(|x| (x - mean) * (x - mean)).sum();
        let sd = if n < 2 { 0.0 } else { (squares / (n - 1) as f64).sqrt() };
        Summary { mean, sd, n }
    }

    /// Coefficient of variation in percent; 0 where the mean is 0.
    pub fn cv_pct(&self) -> f64 {
        ratio_pct(self.sd, self.mean.abs()).unwrap_or(0.0)
    }
}

/// The paired difference of two columns, test minus base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Mean difference, in the metric's unit, raw sign.
    pub diff: f64,
    /// 95 % interval of `diff`; none below two pairs.
    pub diff_ci95: Option<[f64; 2]>,
    /// Mean difference in percent of the base's mean, positive = better; none where base is 0 and test is not.
    pub improvement_pct: Option<f64>,
    /// `diff_ci95` in percent of the base's mean, positive = better, low end first.
    pub ci95: Option<[f64; 2]>,
    /// The interval excludes zero.
    pub significant: bool,
    /// Pairs in which test is better, and in which it is worse.
    pub signs: [usize; 2],
}

impl Change {
    /// Of two columns of equal length, paired by position. Values are finite.
    pub fn of(base: &[f64], test: &[f64], better: Better) -> Change {
        assert_eq!(base.len(), test.len(), "paired columns");
        let diffs: Vec<f64> = base.iter().zip(test).map(|(b, t)| t - b).collect();
        let diff = if diffs.is_empty() { 0.0 } else { mean(&diffs) };
        let diff_ci95 = bootstrap_ci95(&diffs);
        let base_mean = Summary::of(base).mean;
        let improvement = |d: f64| ratio_pct(better.sign() * d, base_mean.abs());
        let wins = diffs.iter().filter(|d| better.sign() * **d > 0.0).count();
        let losses = diffs.iter().filter(|d| better.sign() * **d < 0.0).count();
        Change {
            diff,
            diff_ci95,
            improvement_pct: improvement(diff),
            ci95: diff_ci95.and_then(|[lo, hi]| ordered(improvement(lo)?, improvement(hi)?)),
            significant: diff_ci95.is_some_and(|[lo, hi]| lo > 0.0 || hi < 0.0),
            signs: [wins, losses],
        }
    }
}

fn ordered(a: f64, b: f64) -> Option<[f64; 2]> {
    Some(if a <= b { [a, b] } else { [b, a] })
}

/// 100 x part / whole; 0 for 0/0, none for a part of nothing. Never -0.
fn ratio_pct(part: f64, whole: f64) -> Option<f64> {
    if part == 0.0 {
        Some(0.0)
    } else if whole == 0.0 {
        None
    } else {
        Some(part / whole * 100.0)
    }
}

fn mean(column: &[f64]) -> f64 {
    // A constant column is its own mean: rounding must not give a spread where there is none.
    if column.iter().all(|x| *x == column[0]) {
        return column[0];
    }
    column.iter().sum::<f64>() / column.len() as f64
}

/// The middle 95 % of the resampled means; none below two values.
fn bootstrap_ci95(column: &[f64]) -> Option<[f64; 2]> {
    if column.len() < 2 {
        return None;
    }
    let mut resample = vec![0.0; column.len()];
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|r| {
            for (i, slot) in resample.iter_mut().enumerate() {
                *slot = column[draw(r, i, column.len())];
            }
            mean(&resample)
        })
        .collect();
    means.sort_by(f64::total_cmp);
    // As far from the top as from the bottom: negating a column negates its interval exactly.
    Some([means[TAIL], means[means.len() - 1 - TAIL]])
}

/// Draw number `i` of a resample: uniform in `0..n`, a function of its arguments and nothing else.
fn draw(resample: u32, i: usize, n: usize) -> usize {
    let bits = splitmix64((u64::from(resample) << 32) ^ i as u64);
    ((u128::from(bits) * n as u128) >> 64) as usize
}

/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014), the finalizer over a Weyl step.
pub(crate) fn splitmix64(x: u64) -> u64 {
    let mut z = x.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn summary_of_a_hand_computed_column() {
        // mean 5, squares 9+1+1+1+0+0+4+16 = 32, 32/7
        let s = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((s.mean, s.n), (5.0, 8));
        assert_eq!(s.sd, (32.0f64 / 7.0).sqrt());
    }

    #[test]
    fn empty_and_single_columns_have_no_spread_and_no_interval() {
        assert_eq!(Summary::of(&[]), Summary { mean: 0.0, sd: 0.0, n: 0 });
        assert_eq!(Summary::of(&[3.0]), Summary { mean: 3.0, sd: 0.0, n: 1 });
        let one = Change::of(&[100.0], &[110.0], Better::Higher);
        assert_eq!((one.improvement_pct, one.ci95, one.significant), (Some(10.0), None, false));
    }

    #[test]
    fn constant_zero_columns_are_no_change() {
        let c = Change::of(&[0.0; 8], &[0.0; 8], Better::Lower);
        assert_eq!((c.improvement_pct, c.ci95, c.significant), (Some(0.0), Some([0.0, 0.0]), false));
    }

    #[test]
    fn a_change_from_zero_has_no_percentage_but_can_be_significant() {
        let c = Change::of(&[0.0; 8], &[5.0; 8], Better::Lower);
        assert_eq!((c.diff, c.diff_ci95), (5.0, Some([5.0, 5.0])));
        assert_eq!((c.improvement_pct, c.ci95, c.significant), (None, None, true));
        assert_eq!(c.signs, [0, 8]);
    }

    #[test]
    fn constant_columns_that_differ_are_significant() {
        let c = Change::of(&[0.1; 9], &[0.05; 9], Better::Lower);
        assert_eq!((c.improvement_pct, c.ci95, c.significant), (Some(50.0), Some([50.0, 50.0]), true));
    }

    #[test]
    fn fewer_migrations_are_an_improvement() {
        let c = Change::of(&[99_936.0, 99_937.0], &[0.0, 0.0], Better::Lower);
        assert_eq!(c.improvement_pct, Some(100.0));
        assert_eq!(c.signs, [2, 0]);
    }

    /// The exact bootstrap distribution of two values is 1/4, 1/2, 1/4: both ends are inside the middle 95 %.
    #[test]
    fn interval_of_two_values_is_the_two_values() {
        let c = Change::of(&[10.0, 10.0], &[11.0, 13.0], Better::Higher);
        assert_eq!(c.diff_ci95, Some([1.0, 3.0]));
    }

    #[test]
    fn draws_are_uniform_enough() {
        let mut counts = [0u32; 8];
        for r in 0..RESAMPLES {
            for i in 0..8 {
                counts[draw(r, i, 8)] += 1;
            }
        }
        // 80,000 draws, 10,000 expected a bin, sd 94: 5 sd.
        assert!(counts.iter().all(|c| c.abs_diff(10_000) < 470), "{counts:?}");
    }

    /// How many of 100 intervals of `n` normal differences hold their true mean, 0.
    fn coverage_pct(n: usize) -> usize {
        const TRIALS: u64 = 1500;
        // Sums of twelve uniform draws have variance 1, and are normal enough.
        let uniform = |draw: u64| splitmix64(draw) as f64 / u64::MAX as f64;
        let normal = |i: u64| (0..12).map(|k| uniform(i * 12 + k)).sum::<f64>() - 6.0;
        let column = |trial: u64| (0..n as u64).map(|i| normal(trial * n as u64 + i)).collect::<Vec<_>>();
        let holds = |trial: &u64| bootstrap_ci95(&column(*trial)).is_some_and(|[lo, hi]| lo <= 0.0 && 0.0 <= hi);
        (0..TRIALS).filter(holds).count() * 100 / TRIALS as usize
    }

    #[test]
    fn coverage_of_intervals_is_as_documented() {
        for (n, expected) in [(8, 88), (16, 92)] {
            let ours = coverage_pct(n);
            assert!(ours.abs_diff(expected) <= 1, "{n} seeds: {ours} %");
        }
    }

    /// Paired columns of 2..20 plausible figures.
    fn columns() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        prop::collection::vec((1.0..1e6f64, 1.0..1e6f64), 2..20).prop_map(|pairs| pairs.into_iter().unzip())
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn identical_columns_do_not_differ((base, _) in columns()) {
            let c = Change::of(&base, &base, Better::Higher);
            prop_assert_eq!((c.improvement_pct, c.ci95, c.significant), (Some(0.0), Some([0.0, 0.0]), false));
            prop_assert_eq!(c.signs, [0, 0]);
        }

        #[test]
        fn units_do_not_matter((base, test) in columns(), scale in 1e-3..1e3f64) {
            let scaled = |v: &[f64]| v.iter().map(|x| x * scale).collect::<Vec<_>>();
            let a = Change::of(&base, &test, Better::Lower);
            let b = Change::of(&scaled(&base), &scaled(&test), Better::Lower);
            prop_assert!(close(a.improvement_pct.unwrap(), b.improvement_pct.unwrap()));
            let (x, y) = (a.ci95.unwrap(), b.ci95.unwrap());
            prop_assert!(close(x[0], y[0]) && close(x[1], y[1]), "{:?} {:?}", x, y);
        }

        #[test]
        fn direction_flips_the_sign((base, test) in columns()) {
            let up = Change::of(&base, &test, Better::Higher);
            let down = Change::of(&base, &test, Better::Lower);
            prop_assert_eq!(up.improvement_pct.unwrap(), 0.0 - down.improvement_pct.unwrap());
            let (u, d) = (up.ci95.unwrap(), down.ci95.unwrap());
            prop_assert_eq!(u, [0.0 - d[1], 0.0 - d[0]]);
            prop_assert_eq!(up.significant, down.significant);
            prop_assert_eq!(up.signs, [down.signs[1], down.signs[0]]);
        }

        #[test]
        fn swapping_base_and_test_negates_the_difference((base, test) in columns()) {
            let a = Change::of(&base, &test, Better::Higher);
            let b = Change::of(&test, &base, Better::Higher);
            let (x, y) = (a.diff_ci95.unwrap(), b.diff_ci95.unwrap());
            prop_assert_eq!(a.diff, -b.diff);
            prop_assert_eq!(x, [-y[1], -y[0]]);
        }

        #[test]
        fn the_interval_holds_the_mean_and_stays_within_the_data((base, test) in columns()) {
            let c = Change::of(&base, &test, Better::Higher);
            let [lo, hi] = c.diff_ci95.unwrap();
            let diffs: Vec<f64> = base.iter().zip(&test).map(|(b, t)| t - b).collect();
            let least = diffs.iter().copied().fold(f64::INFINITY, f64::min);
            let most = diffs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let slack = 1e-9 * (1.0 + least.abs() + most.abs());
            prop_assert!(lo <= c.diff + slack && c.diff <= hi + slack);
            prop_assert!(least - slack <= lo && hi <= most + slack);
        }
    }
}

//! Paired statistics: two columns that share their seeds, and what their difference honestly shows.
//!
//! The interval is Student's paired t interval: the mean difference, plus or minus the 97.5 % quantile of the t
//! distribution with n - 1 degrees of freedom times the standard error of the differences. Of normal differences
//! 95 % of such intervals hold the true mean whatever the number of pairs (tests measure 6, 8 and 16); a percentile
//! bootstrap holds it in 88 % with 8 pairs, and in half of the cases with 2. Quantiles are computed with integers and
//! IEEE `+ - * / sqrt` only, so that the same columns give the same bytes on every machine.
//!
//! Below [`SIGNIFICANT_PAIRS_MIN`] pairs nothing is called significant or not: [`Change::significant`] is none. The
//! differences of a few runs are too few to tell whether they are nearly normal. Columns whose differences
//! are all equal have an interval without width: the difference is exact.
//!
//! In percent it is the same interval, divided by the base's mean over the seeds as if that were known exactly.
//! Where the base varies widely between seeds, an end may so be a change that no seed could show, such as a latency that
//! improves by more than 100 %.

use serde::Serialize;

use fairground_run::metrics::Better;

/// Below this many pairs no difference is called significant, nor insignificant.
pub const SIGNIFICANT_PAIRS_MIN: usize = 6;

/// Mean and spread of a column of values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Arithmetic mean; 0 for an empty column.
    pub mean: f64,
    /// Sample standard deviation (n - 1); 0 below two values.
    pub sd: f64,
    /// Number of values.
    pub n: usize,
}

impl Summary {
    /// The summary of a column.
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

    /// Coefficient of variation, percent; 0 where the mean is 0.
    pub fn cv_pct(&self) -> f64 {
        ratio_pct(self.sd, self.mean.abs()).unwrap_or(0.0)
    }
}

/// The paired difference of two columns, test minus base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Mean difference, in the metric's unit, raw sign.
    pub diff: f64,
    /// 95 % interval of `diff`; `None` below two pairs.
    pub diff_ci95: Option<[f64; 2]>,
    /// Mean difference in percent of the base's mean, positive = better; `None` where base is 0 and test is not.
    pub improvement_pct: Option<f64>,
    /// `diff_ci95` in percent of the base's mean, positive = better, low end first; `None` below two pairs, or where
    /// base is 0 and test is not.
    pub ci95: Option<[f64; 2]>,
    /// Whether the interval excludes zero; `None` below [`SIGNIFICANT_PAIRS_MIN`] pairs.
    pub significant: Option<bool>,
    /// Number of pairs in which test is better, and in which it is worse.
    pub signs: [usize; 2],
}

impl Change {
    /// The change between two columns of equal length, paired by position. Values are finite.
    pub fn of(base: &[f64], test: &[f64], better: Better) -> Change {
        assert_eq!(base.len(), test.len(), "paired columns");
        let diffs: Vec<f64> = base.iter().zip(test).map(|(b, t)| t - b).collect();
        let diff = if diffs.is_empty() { 0.0 } else { mean(&diffs) };
        let diff_ci95 = t_interval(&diffs);
        let base_mean = Summary::of(base).mean;
        let improvement = |d: f64| ratio_pct(better.sign() * d, base_mean.abs());
        let wins = diffs.iter().filter(|d| better.sign() * **d > 0.0).count();
        let losses = diffs.iter().filter(|d| better.sign() * **d < 0.0).count();
        Change {
            diff,
            diff_ci95,
            improvement_pct: improvement(diff),
            ci95: diff_ci95.and_then(|[lo, hi]| ordered(improvement(lo)?, improvement(hi)?)),
            significant: diff_ci95
                .filter(|_| diffs.len() >= SIGNIFICANT_PAIRS_MIN)
                .map(|[lo, hi]| lo > 0.0 || hi < 0.0),
            signs: [wins, losses],
        }
    }

    /// Whether tables mark the change with a star.
    pub fn starred(&self) -> bool {
        self.significant == Some(true)
    }
}

fn ordered(a: f64, b: f64) -> Option<[f64; 2]> {
    Some(if a <= b { [a, b] } else { [b, a] })
}

/// 100 x part / whole; 0 for 0/0, `None` for any other division by 0. Never -0.
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

/// The 95 % interval of the mean of independent, nearly normal values; `None` below two values.
fn t_interval(column: &[f64]) -> Option<[f64; 2]> {
    let Summary { mean, sd, n } = Summary::of(column);
    let reach = t_quantile(n.checked_sub(1).filter(|df| *df > 0)? as u64) * sd / (n as f64).sqrt();
    Some([mean - reach, mean + reach])
}

/// The t that a t-distributed value exceeds, to either side, with a probability of 5 %; `df`: degrees of freedom, from 1.
fn t_quantile(df: u64) -> f64 {
    // 12.706 with one degree of freedom, falling to the normal distribution's 1.960.
    let (mut lo, mut hi) = (1.9, 13.0);
    loop {
        let middle = (lo + hi) / 2.0;
        if middle <= lo || middle >= hi {
            return middle;
        }
        if central_probability(middle, df) < 0.95 {
            lo = middle;
        } else {
            hi = middle;
        }
    }
}

/// Probability of a t-distributed value within -t to t.
///
/// Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 26.7.3 and 26.7.4, with tan(theta) = t / sqrt(df):
/// finite sums of powers of cos(theta), for even numbers of degrees of freedom
///
/// ```text
///     sin (1 + 1/2 cos^2 + 1 3/(2 4) cos^4 + ... + cos^(df-2))
/// ```
///
/// and for odd ones `2/pi (theta + sin (cos + 2/3 cos^3 + 2 4/(3 5) cos^5 + ... + cos^(df-2)))`.
fn central_probability(t: f64, df: u64) -> f64 {
    let n = df as f64;
    let hypotenuse = (n + t * t).sqrt();
    let (sin, cos) = (t / hypotenuse, n.sqrt() / hypotenuse);
    let odd = df % 2;
    // The first term, and how many there are; each further one is the one before times cos^2 (k - 1) / k.
    let (first, terms) = if odd == 1 { (cos, (df - 1) / 2) } else { (1.0, df / 2) };
    let (mut sum, mut term) = (0.0, first);
    for i in 1..=terms {
        sum += term;
        let k = (2 * i + odd) as f64;
        term *= cos * cos * (k - 1.0) / k;
    }
    if odd == 1 {
        2.0 / std::f64::consts::PI * (arc_tangent(t / n.sqrt()) + sin * sum)
    } else {
        sin * sum
    }
}

/// The angle with this positive tangent: halved until its series converges fast, for libm's differs between systems.
fn arc_tangent(tangent: f64) -> f64 {
    const HALVINGS: u32 = 6;
    let half = |x: f64, _| x / (1.0 + (1.0 + x * x).sqrt());
    let x = (0..HALVINGS).fold(tangent, half);
    // x is below tan(pi / 2 / 64) = 0.025: the tenth term is below 1e-30.
    let (mut sum, mut power) = (0.0, x);
    for k in 0..10 {
        sum += power / f64::from(2 * k + 1);
        power *= -x * x;
    }
    sum * f64::from(1 << HALVINGS)
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
        assert_eq!((one.improvement_pct, one.ci95, one.significant), (Some(10.0), None, None));
    }

    #[test]
    fn constant_zero_columns_are_not_a_change() {
        let c = Change::of(&[0.0; 8], &[0.0; 8], Better::Lower);
        assert_eq!((c.improvement_pct, c.ci95, c.significant), (Some(0.0), Some([0.0, 0.0]), Some(false)));
    }

    #[test]
    fn a_change_from_zero_has_no_percentage_but_can_be_significant() {
        let c = Change::of(&[0.0; 8], &[5.0; 8], Better::Lower);
        assert_eq!((c.diff, c.diff_ci95), (5.0, Some([5.0, 5.0])));
        assert_eq!((c.improvement_pct, c.ci95, c.significant), (None, None, Some(true)));
        assert_eq!(c.signs, [0, 8]);
    }

    #[test]
    fn constant_columns_that_differ_are_significant() {
        let c = Change::of(&[0.1; 9], &[0.05; 9], Better::Lower);
        assert_eq!((c.improvement_pct, c.ci95, c.significant), (Some(50.0), Some([50.0, 50.0]), Some(true)));
    }

    #[test]
    fn fewer_migrations_are_an_improvement() {
        let c = Change::of(&[99_936.0, 99_937.0], &[0.0, 0.0], Better::Lower);
        assert_eq!(c.improvement_pct, Some(100.0));
        assert_eq!(c.signs, [2, 0]);
    }

    /// Differences 1, 2, ..., 8: mean 4.5, sd sqrt(6), standard error sqrt(6/8); t of 7 degrees of freedom is 2.3646.
    #[test]
    fn interval_of_a_hand_computed_column() {
        let test: Vec<f64> = (11..=18).map(f64::from).collect();
        let [lo, hi] = Change::of(&[10.0; 8], &test, Better::Higher).diff_ci95.unwrap();
        let reach = 2.364_624_251_6 * 0.75f64.sqrt();
        assert!((lo - (4.5 - reach)).abs() < 1e-9 && (hi - (4.5 + reach)).abs() < 1e-9, "{lo} {hi}");
    }

    /// The values of every printed t table, in more digits.
    #[test]
    fn quantiles_are_students() {
        let table = [
            (1, 12.706_204_736_4),
            (2, 4.302_652_729_9),
            (3, 3.182_446_305_3),
            (4, 2.776_445_105_2),
            (5, 2.570_581_835_6),
            (7, 2.364_624_251_6),
            (15, 2.131_449_545_6),
            (39, 2.022_690_911_7),
            (1000, 1.962_339_080_8),
            (99_999, 1.959_987_708_0),
        ];
        for (df, expected) in table {
            assert!((t_quantile(df) - expected).abs() < 1e-8, "{df}: {}", t_quantile(df));
        }
    }

    #[test]
    fn few_pairs_are_neither_significant_nor_not() {
        for n in 2..SIGNIFICANT_PAIRS_MIN {
            let c = Change::of(&vec![1.0; n], &vec![2.0; n], Better::Lower);
            assert_eq!((c.ci95, c.significant, c.starred()), (Some([-100.0, -100.0]), None, false), "{n}");
        }
        assert!(Change::of(&[1.0; SIGNIFICANT_PAIRS_MIN], &[2.0; SIGNIFICANT_PAIRS_MIN], Better::Lower).starred());
    }

    /// Column number `trial` of `n` normal values of mean 0: sums of twelve uniform draws have variance 1, and are
    /// normal enough.
    fn noise(n: usize, trial: u64) -> Vec<f64> {
        let uniform = |draw: u64| splitmix64(draw) as f64 / u64::MAX as f64;
        let normal = |i: u64| (0..12).map(|k| uniform(i * 12 + k)).sum::<f64>() - 6.0;
        (0..n as u64).map(|i| normal(trial * n as u64 + i)).collect()
    }

    /// Of 4000 pairs of columns that differ by chance alone 5 % are expected, sd 0.34 %: 3 sd.
    #[test]
    fn stars_for_nothing_are_one_in_twenty_and_intervals_hold_the_truth_nineteen_times() {
        const TRIALS: u64 = 4000;
        const SHIFT: f64 = 0.5;
        for n in [6, 8, 16] {
            let (mut stars, mut holds) = (0, 0);
            for trial in 0..TRIALS {
                let (base, test) = (noise(n, 2 * trial), noise(n, 2 * trial + 1));
                stars += u64::from(Change::of(&base, &test, Better::Higher).starred());
                let shifted: Vec<f64> = test.iter().map(|x| x + SHIFT).collect();
                let interval = Change::of(&base, &shifted, Better::Higher).diff_ci95;
                holds += u64::from(interval.is_some_and(|[lo, hi]| lo <= SHIFT && SHIFT <= hi));
            }
            let pct = |count: u64| count as f64 * 100.0 / TRIALS as f64;
            assert!((4.0..=6.0).contains(&pct(stars)), "{n} pairs: {} % of stars are false", pct(stars));
            assert!((94.0..=96.0).contains(&pct(holds)), "{n} pairs: {} % of intervals hold", pct(holds));
        }
    }

    /// Paired columns of 2..20 plausible figures.
    fn columns() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        prop::collection::vec((1.0..1e6f64, 1.0..1e6f64), 2..20).prop_map(|pairs| pairs.into_iter().unzip())
    }

    fn enough(column: &[f64]) -> bool {
        column.len() >= SIGNIFICANT_PAIRS_MIN
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn identical_columns_do_not_differ((base, _) in columns()) {
            let c = Change::of(&base, &base, Better::Higher);
            prop_assert_eq!((c.improvement_pct, c.ci95, c.significant), (Some(0.0), Some([0.0, 0.0]), enough(&base).then_some(false)));
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
        fn the_interval_holds_the_mean_in_its_middle((base, test) in columns()) {
            let c = Change::of(&base, &test, Better::Higher);
            let [lo, hi] = c.diff_ci95.unwrap();
            prop_assert!(lo <= c.diff && c.diff <= hi);
            prop_assert!(close(c.diff - lo, hi - c.diff), "{} {} {}", lo, c.diff, hi);
        }
    }
}

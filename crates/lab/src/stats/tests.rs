use fairground_run::metrics::{Better, Metric, Range, SmallestEffect};
use proptest::prelude::*;

use super::*;

mod coverage;

/// Terms without a range and a smallest effect.
fn terms(better: Better) -> Terms {
    Terms::of_any_values(better)
}

fn change(base: &[f64], test: &[f64], better: Better) -> Change {
    Change::new(base, test, &terms(better))
}

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
    let none = change(&[], &[], Better::Higher);
    assert_eq!((none.diff, none.ci95, none.p, none.verdict), (0.0, None, None, Verdict::Unsure));
    let one = change(&[100.0], &[110.0], Better::Higher);
    assert_eq!((one.improvement_pct, one.ci95, one.significant), (Some(10.0), None, None));
    assert_eq!((one.exact, one.p, one.verdict), (false, None, Verdict::Unsure));
}

#[test]
fn constant_zero_columns_are_the_same() {
    let c = change(&[0.0; 8], &[0.0; 8], Better::Lower);
    assert_eq!((c.improvement_pct, c.ci95, c.significant), (Some(0.0), Some([0.0, 0.0]), Some(false)));
    assert_eq!((c.exact, c.p, c.verdict), (true, Some(1.0), Verdict::Same));
}

#[test]
fn a_change_from_zero_has_no_percentage_but_a_verdict() {
    let c = change(&[0.0; 8], &[5.0; 8], Better::Lower);
    assert_eq!((c.diff, c.diff_ci95), (5.0, Some([5.0, 5.0])));
    assert_eq!((c.improvement_pct, c.ci95, c.significant), (None, None, Some(true)));
    assert_eq!((c.signs, c.verdict), ([0, 8], Verdict::Worse));
}

#[test]
fn constant_columns_that_differ_are_exact_and_judged_by_size() {
    let c = change(&[0.1; 9], &[0.05; 9], Better::Lower);
    assert_eq!((c.improvement_pct, c.ci95, c.significant), (Some(50.0), Some([50.0, 50.0]), Some(true)));
    assert_eq!((c.exact, c.verdict), (true, Verdict::Better));
    // 2 of 4^9
    assert_eq!(c.p, Some(0.5f64.powi(17)));
    let metric = Metric::new("energy_j", "J", Better::Lower, "");
    let small = Change::new(&[1000.0; 9], &[991.0; 9], &Terms::of_metric(&metric));
    assert_eq!((small.exact, small.verdict, small.smallest), (true, Verdict::Same, 10.0));
}

/// With one value of the base more than by chance, equal differences are as rare as heads in a row.
#[test]
fn equal_differences_of_columns_that_vary_are_not_exact() {
    let base: Vec<f64> = (0..8).map(f64::from).collect();
    let test: Vec<f64> = base.iter().map(|x| x + 1.0).collect();
    let c = change(&base, &test, Better::Higher);
    assert_eq!((c.exact, c.p, c.verdict), (false, Some(0.5f64.powi(7)), Verdict::Better));
}

#[test]
fn fewer_migrations_are_an_improvement() {
    let c = change(&[99_936.0, 99_937.0], &[0.0, 0.0], Better::Lower);
    assert_eq!(c.improvement_pct, Some(100.0));
    assert_eq!(c.signs, [2, 0]);
}

/// Differences 1, 2, ..., 8: mean 4.5, sd sqrt(6), standard error sqrt(6/8), no skew; t of 7 degrees of freedom is 2.3646.
#[test]
fn interval_of_a_hand_computed_column() {
    let test: Vec<f64> = (11..=18).map(f64::from).collect();
    let c = change(&[10.0; 8], &test, Better::Higher);
    let [lo, hi] = c.diff_ci95.unwrap();
    let reach = 2.364_624_251_6 * 0.75f64.sqrt();
    assert!((lo - (4.5 - reach)).abs() < 1e-9 && (hi - (4.5 + reach)).abs() < 1e-9, "{lo} {hi}");
    // The base does not vary: in percent it is the same interval.
    let [lo, hi] = c.ci95.unwrap();
    assert!((lo - 10.0 * (4.5 - reach)).abs() < 1e-8 && (hi - 10.0 * (4.5 + reach)).abs() < 1e-8, "{lo} {hi}");
}

/// Fieller's interval of a base of mean 10 and differences of mean 1 that vary on their own: the ends are the roots of
/// (1 - 10 x)^2 = t^2 / n var(d - x b), by hand with var(b) = 8/7, var(d) = 8/7 / 4 and no covariance. No column is skewed.
#[test]
fn relative_interval_of_hand_computed_columns() {
    let base = [9.0, 11.0, 9.0, 11.0, 9.0, 11.0, 9.0, 11.0];
    let diffs = [0.5, 0.5, 1.5, 1.5, 0.5, 0.5, 1.5, 1.5];
    let test: Vec<f64> = base.iter().zip(diffs).map(|(b, d)| b + d).collect();
    let [lo, hi] = change(&base, &test, Better::Higher).ci95.unwrap();
    let k = 2.364_624_251_6f64.powi(2) / 8.0 * (8.0 / 7.0);
    let (a, b, c) = (100.0 - k, -20.0, 1.0 - k / 4.0);
    let root = (b * b - 4.0 * a * c).sqrt();
    let expected = [(-b - root) / (2.0 * a), (-b + root) / (2.0 * a)].map(|x| 100.0 * x);
    assert!((lo - expected[0]).abs() < 1e-7 && (hi - expected[1]).abs() < 1e-7, "{lo} {hi} {expected:?}");
}

#[test]
fn a_base_that_may_be_zero_bounds_no_percentage() {
    let base = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0];
    let c = change(&base, &[1.0; 8], Better::Lower);
    assert_eq!((c.improvement_pct, c.ci95), (Some(0.0), None));
    assert!(c.diff_ci95.is_some_and(|[lo, hi]| lo < 0.0 && hi > 0.0));
}

/// Nothing takes less than no time, and no share is above 100 %.
#[test]
fn ends_stay_within_what_the_metric_can_be() {
    let base = [10.0, 20.0, 15.0, 12.0, 18.0, 14.0, 16.0, 11.0];
    let test = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0];
    let of = |range, test: &[f64]| Change::new(&base, test, &Terms { range, ..terms(Better::Lower) });
    assert!(of(Range::Any, &test).ci95.unwrap()[1] > 100.0);
    let bounded = of(Range::NotNegative, &test);
    assert_eq!(bounded.ci95.unwrap()[1], 100.0);
    let base_hi = Change::new(&[0.0; 8], &base, &terms(Better::Lower)).diff_ci95.unwrap()[1];
    assert!(bounded.diff_ci95.unwrap()[0] >= -base_hi);
    let shares = [100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 10.0];
    let mut base = base.map(|x| x + 60.0);
    let of = |range, base: &[f64]| Change::new(base, &shares, &Terms { range, ..terms(Better::Higher) });
    let (any, share) = (of(Range::Any, &base), of(Range::Percent, &base));
    assert!(share.diff_ci95.unwrap()[1] < any.diff_ci95.unwrap()[1]);
    assert!(share.ci95.unwrap()[1] < any.ci95.unwrap()[1]);
    base = [80.0; 8];
    let share = of(Range::Percent, &base);
    assert_eq!((share.diff_ci95.unwrap()[1], share.ci95.unwrap()[1]), (20.0, 25.0));
}

#[test]
fn few_pairs_are_neither_significant_nor_not_and_unsure() {
    for n in 2..SIGNIFICANT_PAIRS_MIN {
        let c = change(&vec![1.0; n], &vec![2.0; n], Better::Lower);
        assert_eq!((c.ci95, c.significant, c.verdict), (Some([-100.0, -100.0]), None, Verdict::Unsure), "{n}");
        assert!(c.exact && !c.starred());
    }
    assert!(change(&[1.0; SIGNIFICANT_PAIRS_MIN], &[2.0; SIGNIFICANT_PAIRS_MIN], Better::Lower).starred());
}

/// Changes of about 2 %, sure to a tenth of that, of which 1 % or 5 % is of interest; and of 2 %, sure to 4 %.
#[test]
fn verdicts_need_size_and_certainty() {
    let verdict = |noise: f64, pct: f64, better| {
        let base = [100.0; 8];
        let test = [1.0, -1.0, 0.5, -0.5, 0.25, -0.25, 0.75, -0.75].map(|x| 102.0 + noise * x);
        let smallest = SmallestEffect { pct, amount: 0.0 };
        Change::new(&base, &test, &Terms { smallest, ..terms(better) }).verdict
    };
    assert_eq!(verdict(0.3, 1.0, Better::Higher), Verdict::Better);
    assert_eq!(verdict(0.3, 1.0, Better::Lower), Verdict::Worse);
    assert_eq!(verdict(0.3, 5.0, Better::Lower), Verdict::Same);
    assert_eq!(verdict(6.0, 1.0, Better::Lower), Verdict::Unsure);
    assert_eq!(verdict(6.0, 5.0, Better::Lower), Verdict::Unsure, "an end lies beyond 5 %");
    assert_eq!(verdict(0.3, 2.0, Better::Lower), Verdict::Unsure, "on the border");
}

/// p of 0.01, 0.03 and 0.04: times 3, 2 and 1, none below the one before. 0.01 alone is below 5 %.
#[test]
fn rows_of_a_table_are_judged_together() {
    let large = change(&[1.0; 8], &[1.0, 3.0, 2.0, 3.0, 2.0, 1.5, 2.5, 3.0], Better::Higher);
    assert_eq!(large.significant, Some(true));
    let mut changes = [0.03, 0.01, 0.04].map(|p| Change { p: Some(p), ..large });
    let none = Change { p: None, ..large };
    judge(changes.iter_mut());
    assert_eq!(changes.map(|c| c.p_adjusted.unwrap()), [0.06, 0.03, 0.06]);
    assert_eq!(changes.map(|c| c.verdict), [Verdict::Unsure, Verdict::Better, Verdict::Unsure]);
    let mut with_none = [none, changes[1]];
    judge(with_none.iter_mut());
    assert_eq!((with_none[0].p_adjusted, with_none[1].p_adjusted), (none.p_adjusted, Some(0.01)));
}

/// Paired columns of 2..20 plausible figures.
fn columns() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    prop::collection::vec((1.0..1e6f64, 1.0..1e6f64), 2..20).prop_map(|pairs| pairs.into_iter().unzip())
}

fn enough(column: &[f64]) -> bool {
    column.len() >= SIGNIFICANT_PAIRS_MIN
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn identical_columns_do_not_differ((base, _) in columns()) {
        let c = change(&base, &base, Better::Higher);
        prop_assert_eq!((c.improvement_pct, c.ci95, c.significant), (Some(0.0), Some([0.0, 0.0]), enough(&base).then_some(false)));
        prop_assert_eq!((c.signs, c.exact, c.p), ([0, 0], true, Some(1.0)));
        prop_assert_eq!(c.verdict, if enough(&base) { Verdict::Same } else { Verdict::Unsure });
    }

    #[test]
    fn units_do_not_matter((base, test) in columns(), scale in 1e-3..1e3f64) {
        let scaled = |v: &[f64]| v.iter().map(|x| x * scale).collect::<Vec<_>>();
        let a = change(&base, &test, Better::Lower);
        let b = change(&scaled(&base), &scaled(&test), Better::Lower);
        prop_assert!(close(a.improvement_pct.unwrap(), b.improvement_pct.unwrap()));
        prop_assert!(close(a.p.unwrap(), b.p.unwrap()));
        if let (Some(x), Some(y)) = (a.ci95, b.ci95) {
            prop_assert!(close(x[0], y[0]) && close(x[1], y[1]), "{:?} {:?}", x, y);
        }
    }

    #[test]
    fn direction_flips_the_sign((base, test) in columns()) {
        let up = change(&base, &test, Better::Higher);
        let down = change(&base, &test, Better::Lower);
        prop_assert_eq!(up.improvement_pct.unwrap(), 0.0 - down.improvement_pct.unwrap());
        prop_assert_eq!(up.ci95, down.ci95.map(|d| [0.0 - d[1], 0.0 - d[0]]));
        prop_assert_eq!((up.significant, up.p), (down.significant, down.p));
        prop_assert_eq!(up.signs, [down.signs[1], down.signs[0]]);
    }

    #[test]
    fn swapping_base_and_test_negates_the_difference((base, test) in columns()) {
        for range in [Range::Any, Range::NotNegative] {
            let terms = Terms { range, ..terms(Better::Higher) };
            let a = Change::new(&base, &test, &terms);
            let b = Change::new(&test, &base, &terms);
            let (x, y) = (a.diff_ci95.unwrap(), b.diff_ci95.unwrap());
            prop_assert_eq!((a.diff, a.p), (-b.diff, b.p));
            prop_assert_eq!(x, [-y[1], -y[0]]);
        }
    }

    /// Each interval holds its mean, the two exclude zero together, and both are wider where the pairs were added one by one.
    #[test]
    fn intervals_and_p_values_agree((base, test) in columns()) {
        let c = change(&base, &test, Better::Higher);
        let [lo, hi] = c.diff_ci95.unwrap();
        prop_assert!(lo <= c.diff && c.diff <= hi);
        if let (Some([pct_lo, pct_hi]), Some(pct)) = (c.ci95, c.improvement_pct) {
            prop_assert!(pct_lo <= pct && pct <= pct_hi);
            prop_assert_eq!(lo > 0.0 || hi < 0.0, pct_lo > 0.0 || pct_hi < 0.0);
        }
        let added = Change::new(&base, &test, &Terms { sampling: Sampling::UntilNarrow, ..terms(Better::Higher) });
        let [added_lo, added_hi] = added.diff_ci95.unwrap();
        prop_assert!(added_lo <= lo && hi <= added_hi && added.p >= c.p);
    }
}

/// Residuals of these are skewed one way at the change found and the other way at none: there is a gap at zero.
#[test]
fn both_intervals_hold_zero_or_neither() {
    let base = [935_152.772_605_171, 525_265.861_420_69, 520_372.211_039_139_25];
    let test = [734_120.599_903_168_7, 171_060.157_147_536_3, 379_264.010_501_416_8];
    let c = change(&base, &test, Better::Higher);
    let ([_, hi], [_, pct_hi]) = (c.diff_ci95.unwrap(), c.ci95.unwrap());
    assert!(hi < 0.0 && pct_hi < 0.0, "{c:?}");
}

#[test]
fn two_groups_are_named_with_their_means() {
    let column = [3.0, 9.0, 3.5, 2.5, 9.5, 8.5, 3.0, 3.0];
    let found = two_modes(&column, 1.0).unwrap();
    assert_eq!((found.lower, found.upper), ((5, 3.0), (3, 9.0)));
    assert_eq!(two_modes(&column, 6.0), None, "nobody is interested in a distance of 6");
    assert_eq!(two_modes(&column[..7], 1.0), None, "too few");
    assert_eq!(two_modes(&[1.0; 8], 0.0), None);
    // One value apart is not a group.
    assert_eq!(two_modes(&[1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 9.0], 0.0), None);
}

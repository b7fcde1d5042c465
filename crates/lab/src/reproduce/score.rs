//! A proper score of predicted changes: coverage of intervals, and CRPS, ours and that of two rivals (design, decision 7).
//!
//! What we predict for a published row is a sample of changes, one for each draw of the machine's figures. The mail prints
//! the change with an error, so the predictive distribution is the sample convolved with a normal distribution of the
//! row's sigma. Of `n` draws, the one at place `k` stands for the quantile k / (n + 1): fewer than 19 draws have no 90 %
//! interval.
//!
//! The CRPS (continuous ranked probability score) is the integral of (F(x) - [x >= y])^2 over x: for a prediction of one
//! value it is the absolute error, and it is least, in the mean, for the distribution that is true. Gneiting, Raftery,
//! "Strictly proper scoring rules, prediction, and estimation" (2007). Of mixtures of normal distributions it has a closed
//! form: Grimit et al., "The continuous ranked probability score for circular variables and its application to mesoscale
//! forecast ensemble verification" (2006).
//!
//! The rivals are *no change*, with the error that the mail prints, and *no change with the spread of other mails' changes*:
//! what the other mails print, centred. `erf` and `exp` are those of the crate libm, which gives the same on every system.

use std::f64::consts::{PI, SQRT_2};

use serde::Serialize;

use crate::stats::splitmix64;

/// A published row, and what is predicted for it. Percent of the base, positive = better.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredRow {
    /// Slug of the mail.
    pub mail: String,
    /// Machine, as the mail describes it.
    pub machine: String,
    /// The change that the mail prints.
    pub published_pct: f64,
    /// Its standard deviation, percentage points.
    pub sigma_pct: f64,
    /// Our changes, one for each draw.
    pub draws: Vec<f64>,
}

/// A sample convolved with a normal distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictive {
    /// Changes, percent, in ascending order.
    sample: Vec<f64>,
    sigma: f64,
}

/// Median and intervals of a predictive distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PredictiveSummary {
    /// Median, percent.
    pub median_pct: f64,
    /// 50 % interval, percent; `None` with fewer than 3 draws.
    pub ci50: Option<[f64; 2]>,
    /// 90 % interval, percent; `None` with fewer than 19 draws.
    pub ci90: Option<[f64; 2]>,
}

impl PredictiveSummary {
    /// Whether `observed` is outside the 90 % interval; `None` if there is none.
    pub fn is_outside90(&self, observed: f64) -> Option<bool> {
        self.ci90.map(|interval| !is_within(interval, observed))
    }
}

/// Whether a value is in an interval, its ends included.
fn is_within([lo, hi]: [f64; 2], value: f64) -> bool {
    (lo..=hi).contains(&value)
}

impl Predictive {
    /// The distribution of a sample with an error of standard deviation `sigma`, from 0. `None` without a sample.
    pub fn new(sample: &[f64], sigma: f64) -> Option<Predictive> {
        let mut sample = sample.to_vec();
        sample.sort_by(f64::total_cmp);
        (!sample.is_empty()).then_some(Predictive { sample, sigma })
    }

    /// Median, 50 and 90 % interval by [`Self::quantile`].
    pub fn summary(&self) -> PredictiveSummary {
        let interval = |lo, hi| Some([self.quantile(lo)?, self.quantile(hi)?]);
        PredictiveSummary {
            // Of any number of draws the median is known: k = (n + 1) / 2.
            median_pct: self.quantile(0.5).unwrap_or(self.sample[0]),
            ci50: interval(0.25, 0.75),
            ci90: interval(0.05, 0.95),
        }
    }

    /// The value below which a share `p` lies; `None` where `p` is beyond the first or the last of the draws.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        let of_sample = crate::doubt::quantile(&self.sample, p)?;
        if self.sigma == 0.0 {
            return Some(of_sample);
        }
        let reach = 10.0 * self.sigma;
        let (mut lo, mut hi) = (self.sample[0] - reach, self.sample[self.sample.len() - 1] + reach);
        for _ in 0..200 {
            let middle = (lo + hi) / 2.0;
            if middle <= lo || middle >= hi {
                break;
            }
            *(if self.smoothed(middle) < p { &mut lo } else { &mut hi }) = middle;
        }
        // What lies beyond the first and the last draw is taken for these draws. It is not at them, so the error moves no
        // quantile that is next to them inwards.
        let from_end = p.min(1.0 - p) * (self.sample.len() + 1) as f64;
        let is_outermost = from_end < 2.0;
        Some(match is_outermost {
            true if p < 0.5 => hi.min(of_sample),
            true if p > 0.5 => hi.max(of_sample),
            _ => hi,
        })
    }

    /// The probability of a value of at most `x`, where between two draws that follow each other lies a (n + 1)-th of the
    /// sample's distribution, evenly, and as much at the first and at the last one: what lies beyond is not known.
    fn smoothed(&self, x: f64) -> f64 {
        let normal_about = |draw: f64| normal_cumulative((x - draw) / self.sigma);
        let between = |pair: &[f64]| match (pair[0], pair[1]) {
            (a, b) if b - a < 1e-6 * self.sigma => normal_about((a + b) / 2.0),
            (a, b) => {
                let integral = |draw: f64| normal_cumulative_integral((x - draw) / self.sigma);
                self.sigma * (integral(a) - integral(b)) / (b - a)
            }
        };
        let (first, last) = (self.sample[0], self.sample[self.sample.len() - 1]);
        let within = self.sample.windows(2).map(between).sum::<f64>();
        (normal_about(first) + within + normal_about(last)) / (self.sample.len() + 1) as f64
    }

    /// The continuous ranked probability score of this prediction if `observed` happens, in the unit of the sample; 0 is
    /// best.
    pub fn crps(&self, observed: f64) -> f64 {
        let n = self.sample.len() as f64;
        let error = self.sample.iter().map(|m| mean_distance(observed - m, self.sigma)).sum::<f64>() / n;
        let spread = |m: &f64| self.sample.iter().map(|k| mean_distance(m - k, SQRT_2 * self.sigma)).sum::<f64>();
        error - self.sample.iter().map(spread).sum::<f64>() / (2.0 * n * n)
    }
}

/// Mean absolute value of a normal variable.
fn mean_distance(mean: f64, sigma: f64) -> f64 {
    if sigma == 0.0 {
        return mean.abs();
    }
    let z = mean / sigma;
    2.0 * sigma * normal_density(z) + mean * (2.0 * normal_cumulative(z) - 1.0)
}

/// The probability that a standard normal variable is at most `z`.
fn normal_cumulative(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// The integral of [`normal_cumulative`] up to `z`.
fn normal_cumulative_integral(z: f64) -> f64 {
    z * normal_cumulative(z) + normal_density(z)
}

fn normal_density(z: f64) -> f64 {
    libm::exp(-z * z / 2.0) / (2.0 * PI).sqrt()
}

/// How many rows lie within an interval of the predictive distribution, and how wide it is. Of the rows that have one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// Share of the rows within it, percent.
    pub pct: f64,
    /// 95 % interval of that share, percent: mails and their machines drawn anew. `None` for rows of one machine of one mail.
    pub ci95: Option<[f64; 2]>,
    /// Mean width of the interval, percentage points.
    pub width: f64,
    /// Number of rows that have the interval.
    pub rows: usize,
}

/// Mean CRPS of ours and of the rivals over the same rows, percentage points; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Crps {
    /// The draws of the figures, convolved with the printed error.
    pub ours: f64,
    /// No change, with the error that the mail prints.
    pub no_change: f64,
    /// The changes of the other mails, centred; `None` if there is no other mail.
    pub no_change_wide: Option<f64>,
}

/// Coverage and CRPS of some rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ProperScore {
    /// Number of rows.
    pub drawn_rows: usize,
    /// Coverage of the 50 % intervals; `None` if every row has too few draws.
    pub coverage50: Option<Coverage>,
    /// Coverage of the 90 % intervals; `None` if every row has too few draws.
    pub coverage90: Option<Coverage>,
    /// Mean CRPS.
    pub crps: Crps,
}

/// The score of all rows, and what it is without the weight of a mail or of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProperScores {
    /// Of all rows.
    #[serde(flatten)]
    pub all: ProperScore,
    /// Median over the mails of each CRPS.
    pub crps_median: Crps,
    /// CRPS without the row with the largest published change, in the rivals too; `None` if there is no other row.
    pub crps_without_largest: Option<Crps>,
    /// Of each mail, by its slug, in the order of the rows. JSON has it with the mail's hits.
    #[serde(skip)]
    pub by_mail: Vec<(String, ProperScore)>,
}

/// A row with what is computed of it.
struct Predicted<'a> {
    row: &'a ScoredRow,
    summary: PredictiveSummary,
    crps: Crps,
}

impl<'a> Predicted<'a> {
    /// A row among all rows; `None` without draws.
    fn new(row: &'a ScoredRow, rows: &[ScoredRow]) -> Option<Predicted<'a>> {
        let ours = Predictive::new(&row.draws, row.sigma_pct)?;
        Some(Predicted { row, summary: ours.summary(), crps: crps_of(row, &ours, rows) })
    }
}

/// Scores rows that all have draws. `None` without rows, or if one has no draw.
pub fn score(rows: &[ScoredRow]) -> Option<ProperScores> {
    let predicted = rows.iter().map(|row| Predicted::new(row, rows)).collect::<Option<Vec<_>>>()?;
    let mut mails: Vec<&str> = Vec::new();
    for row in rows {
        if !mails.contains(&row.mail.as_str()) {
            mails.push(&row.mail);
        }
    }
    let score_mail = |mail: &&str| {
        let own: Vec<&Predicted> = predicted.iter().filter(|predicted| predicted.row.mail == **mail).collect();
        Some((mail.to_string(), ProperScore::from_rows(&own)?))
    };
    let by_mail: Vec<(String, ProperScore)> = mails.iter().filter_map(score_mail).collect();
    // Nor is the largest among what the other mails print.
    let left = without_largest(rows, |row| row.published_pct);
    let others = left.iter().map(|row| Some(Predicted::new(row, &left)?.crps)).collect::<Option<Vec<Crps>>>()?;
    Some(ProperScores {
        all: ProperScore::from_rows(&predicted.iter().collect::<Vec<_>>())?,
        crps_median: median_crps(&by_mail),
        crps_without_largest: mean_crps(&others),
        by_mail,
    })
}

/// The rows but the one with the largest published change.
pub(super) fn without_largest<T: Clone>(rows: &[T], published_pct: impl Fn(&T) -> f64) -> Vec<T> {
    let size = |i: &usize| published_pct(&rows[*i]).abs();
    let largest = (0..rows.len()).max_by(|a, b| size(a).total_cmp(&size(b)));
    (0..rows.len()).filter(|i| Some(*i) != largest).map(|i| rows[i].clone()).collect()
}

impl ProperScore {
    /// `None` without rows.
    fn from_rows(rows: &[&Predicted]) -> Option<ProperScore> {
        Some(ProperScore {
            drawn_rows: rows.len(),
            coverage50: coverage(rows, |summary| summary.ci50),
            coverage90: coverage(rows, |summary| summary.ci90),
            crps: mean_crps(&rows.iter().map(|predicted| predicted.crps).collect::<Vec<_>>())?,
        })
    }
}

fn crps_of(row: &ScoredRow, ours: &Predictive, rows: &[ScoredRow]) -> Crps {
    let observed = row.published_pct;
    let others: Vec<f64> =
        rows.iter().filter(|other| other.mail != row.mail).map(|other| other.published_pct).collect();
    let mean = others.iter().sum::<f64>() / others.len().max(1) as f64;
    let centred: Vec<f64> = others.iter().map(|change| change - mean).collect();
    let no_change = Predictive { sample: vec![0.0], sigma: row.sigma_pct };
    Crps {
        ours: ours.crps(observed),
        no_change: no_change.crps(observed),
        // Printed changes have their errors in them.
        no_change_wide: Predictive::new(&centred, 0.0).map(|wide| wide.crps(observed)),
    }
}

/// `None` without rows.
fn mean_crps(rows: &[Crps]) -> Option<Crps> {
    let n = rows.len() as f64;
    let mean = |part: fn(&Crps) -> Option<f64>| Some(rows.iter().map(part).sum::<Option<f64>>()? / n);
    (n > 0.0).then_some(())?;
    Some(Crps {
        ours: mean(|crps| Some(crps.ours))?,
        no_change: mean(|crps| Some(crps.no_change))?,
        no_change_wide: mean(|crps| crps.no_change_wide),
    })
}

/// The median of each score over the mails.
fn median_crps(mails: &[(String, ProperScore)]) -> Crps {
    let median = |part: fn(&Crps) -> Option<f64>| {
        let mut values = mails.iter().map(|(_, score)| part(&score.crps)).collect::<Option<Vec<f64>>>()?;
        values.sort_by(f64::total_cmp);
        let n = values.len();
        Some((values[(n - 1) / 2] + values[n / 2]) / 2.0)
    };
    Crps {
        ours: median(|crps| Some(crps.ours)).unwrap_or_default(),
        no_change: median(|crps| Some(crps.no_change)).unwrap_or_default(),
        no_change_wide: median(|crps| crps.no_change_wide),
    }
}

/// Resamples of the bootstrap, and its draws.
const RESAMPLES: u64 = 4000;

/// Coverage of an interval, of the rows that have it; `None` if there are none.
fn coverage(rows: &[&Predicted], interval: fn(&PredictiveSummary) -> Option<[f64; 2]>) -> Option<Coverage> {
    let (rows, intervals): (Vec<&ScoredRow>, Vec<[f64; 2]>) =
        rows.iter().filter_map(|predicted| Some((predicted.row, interval(&predicted.summary)?))).unzip();
    if rows.is_empty() {
        return None;
    }
    let covered: Vec<bool> =
        rows.iter().zip(&intervals).map(|(row, interval)| is_within(*interval, row.published_pct)).collect();
    Some(Coverage {
        pct: share_pct(covered.iter().filter(|is| **is).count(), covered.len()),
        ci95: resampled(&rows, &covered),
        width: intervals.iter().map(|[lo, hi]| hi - lo).sum::<f64>() / intervals.len() as f64,
        rows: rows.len(),
    })
}

/// `part` in percent of `whole`.
fn share_pct(part: usize, whole: usize) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

/// The rows of a machine, by mail: what is resampled together.
fn clusters(rows: &[&ScoredRow]) -> Vec<Vec<Vec<usize>>> {
    type Machines<'a> = Vec<(&'a str, Vec<usize>)>;
    let mut mails: Vec<(&str, Machines)> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let mail = match mails.iter().position(|(mail, _)| *mail == row.mail) {
            Some(known) => known,
            None => {
                mails.push((&row.mail, Vec::new()));
                mails.len() - 1
            }
        };
        let machines = &mut mails[mail].1;
        match machines.iter_mut().find(|(machine, _)| *machine == row.machine) {
            Some((_, own)) => own.push(i),
            None => machines.push((&row.machine, vec![i])),
        }
    }
    mails.into_iter().map(|(_, machines)| machines.into_iter().map(|(_, own)| own).collect()).collect()
}

/// The 95 % interval of the share of covered rows over resamples: mails with replacement, of each as many of its machines
/// with replacement, of these all rows. Rows of one machine share what is wrong with its figures. `None` if there is but
/// one machine of one mail: it would be drawn each time.
fn resampled(rows: &[&ScoredRow], covered: &[bool]) -> Option<[f64; 2]> {
    let mails = clusters(rows);
    if mails.iter().map(Vec::len).sum::<usize>() < 2 {
        return None;
    }
    let mut number = 0u64;
    let mut pick = |n: usize| {
        number += 1;
        // The high half of the product is below n.
        ((u128::from(splitmix64(number)) * n as u128) >> 64) as usize
    };
    let mut shares: Vec<f64> = Vec::new();
    for _ in 0..RESAMPLES {
        let (mut within, mut drawn) = (0, 0);
        for _ in 0..mails.len() {
            let machines = &mails[pick(mails.len())];
            for _ in 0..machines.len() {
                let own = &machines[pick(machines.len())];
                within += own.iter().filter(|i| covered[**i]).count();
                drawn += own.len();
            }
        }
        shares.push(share_pct(within, drawn));
    }
    shares.sort_by(f64::total_cmp);
    let share_at = |part: f64| shares[((shares.len() - 1) as f64 * part) as usize];
    Some([share_at(0.025), share_at(0.975)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    /// The probability of a value of at most `x`, the sample taken as the distribution.
    fn cumulative(predictive: &Predictive, x: f64) -> f64 {
        let Predictive { sample, sigma } = predictive;
        sample.iter().map(|m| normal_cumulative((x - m) / sigma)).sum::<f64>() / sample.len() as f64
    }

    /// The integral of (F(x) - [x >= y])^2 by the trapezoidal rule.
    fn crps_by_integration(predictive: &Predictive, observed: f64) -> f64 {
        let (first, last) = (predictive.sample[0], predictive.sample[predictive.sample.len() - 1]);
        let reach = 9.0 * predictive.sigma;
        let (lo, hi) = (first.min(observed) - reach, last.max(observed) + reach);
        let square = |x: f64, above: bool| (cumulative(predictive, x) - f64::from(u8::from(above))).powi(2);
        // Up to the observation and from there on: the integrand has a step.
        let part = |from: f64, to: f64, above: bool| {
            const STEPS: usize = 20_000;
            let h = (to - from) / STEPS as f64;
            let inner: f64 = (1..STEPS).map(|i| square(from + i as f64 * h, above)).sum();
            h * (inner + (square(from, above) + square(to, above)) / 2.0)
        };
        part(lo, observed, false) + part(observed, hi, true)
    }

    #[test]
    fn the_normal_distribution_has_its_printed_values() {
        for (z, p) in
            [(0.0, 0.5), (1.0, 0.841_344_746_068_543), (-1.959_963_984_540_054, 0.025), (-6.0, 9.865_876_450_377e-10)]
        {
            assert!(close(normal_cumulative(z), p, 1e-14), "{z}: {}", normal_cumulative(z));
        }
    }

    /// A prediction of one value scores its absolute error; of 0 and 2, for 3: mean error 2, less half of the mean
    /// distance of two draws, (0 + 2 + 2 + 0) / 4 / 2 = 0.5.
    #[test]
    fn scores_of_hand_computed_samples() {
        let crps = |sample: &[f64], observed| Predictive::new(sample, 0.0).unwrap().crps(observed);
        assert_eq!(crps(&[4.0], 1.0), 3.0);
        assert_eq!(crps(&[0.0, 2.0], 3.0), 1.5);
        // Of a standard normal distribution at its mean: (sqrt(2) - 1) / sqrt(pi).
        let normal = Predictive::new(&[0.0], 1.0).unwrap().crps(0.0);
        assert!(close(normal, (SQRT_2 - 1.0) / PI.sqrt(), 1e-15), "{normal}");
    }

    #[test]
    fn scores_are_the_integral() {
        for (sample, sigma, observed) in
            [(&[0.0][..], 2.0, 1.5), (&[-3.0, 1.0, 1.5, 8.0], 0.7, 2.0), (&[5.0, 5.5, 20.0], 3.0, -40.0)]
        {
            let predictive = Predictive::new(sample, sigma).unwrap();
            let (closed, summed) = (predictive.crps(observed), crps_by_integration(&predictive, observed));
            assert!(close(closed, summed, 1e-5), "{sample:?}: {closed} {summed}");
        }
    }

    #[test]
    fn quantiles_are_at_k_of_n_plus_1() {
        let draws_to = |n: u32, sigma| Predictive::new(&(1..=n).map(f64::from).collect::<Vec<_>>(), sigma).unwrap();
        let exact = draws_to(19, 0.0);
        assert_eq!(
            (exact.quantile(0.05), exact.quantile(0.5), exact.quantile(0.95)),
            (Some(1.0), Some(10.0), Some(19.0))
        );
        assert_eq!(exact.quantile(0.975), None, "beyond the last draw");
        assert_eq!(exact.quantile(0.525), Some(10.5));
        assert_eq!(draws_to(18, 1.0).summary().ci90, None, "18 draws show no twentieth");
        assert!(draws_to(18, 1.0).summary().ci50.is_some() && draws_to(2, 1.0).summary().ci50.is_none());
        assert_eq!(draws_to(1, 0.0).summary().median_pct, 1.0);
        // A narrow error leaves the quantiles where they are.
        let narrow = draws_to(19, 1e-6);
        for p in [0.05, 0.25, 0.5, 0.95] {
            assert!(close(narrow.quantile(p).unwrap(), exact.quantile(p).unwrap(), 1e-5), "{p}");
        }
    }

    /// One draw, nineteen times: the normal distribution's quartile is 0.6745 sd from the mean. A wide sample has little of the
    /// error in it: between the draws lies what is even.
    #[test]
    fn quantiles_of_a_convolution_are_the_normal_ones() {
        let predictive = Predictive::new(&[3.0; 19], 2.0).unwrap();
        let PredictiveSummary { median_pct, ci50, ci90 } = predictive.summary();
        assert!(close(median_pct, 3.0, 1e-9));
        assert!(
            close(ci50.unwrap()[1], 3.0 + 2.0 * 0.674_49, 1e-4) && close(ci90.unwrap()[0], 3.0 - 2.0 * 1.644_85, 1e-4)
        );
        // By numerical integration: the mean of the normal distributions about 0, about 8, and about all between.
        let wide = Predictive::new(&[0.0, 8.0], 2.0).unwrap();
        let steps = (0..10_000).map(|i| normal_cumulative((3.0 - 8.0 * (f64::from(i) + 0.5) / 10_000.0) / 2.0));
        let even = steps.sum::<f64>() / 10_000.0;
        let expected = (normal_cumulative(1.5) + even + normal_cumulative(-2.5)) / 3.0;
        assert!(close(wide.smoothed(3.0), expected, 1e-8), "{} {expected}", wide.smoothed(3.0));
    }

    #[test]
    fn an_error_makes_no_interval_of_90_percent_narrower() {
        for n in [19, 24] {
            let draws: Vec<f64> = (1..=n).map(f64::from).collect();
            let ci90 = |sigma| Predictive::new(&draws, sigma).unwrap().summary().ci90.unwrap();
            let [lo, hi] = ci90(0.0);
            for sigma in [0.01, 0.2, 0.5, 2.0] {
                assert!(ci90(sigma)[0] <= lo && ci90(sigma)[1] >= hi, "{n} draws, sigma {sigma}: {:?}", ci90(sigma));
            }
            assert!(ci90(5.0)[0] < lo - 1.0 && ci90(5.0)[1] > hi + 1.0);
        }
    }

    /// The truth is a draw of the same distribution as the sample: 90 % of the intervals hold it, from 19 draws on.
    #[test]
    fn intervals_of_few_draws_hold_what_they_say() {
        const TRIALS: u64 = 4000;
        let mut number = 0;
        let mut uniform = || {
            number += 1;
            splitmix64(number) as f64 / u64::MAX as f64
        };
        for n in [19, 24] {
            let holds = (0..TRIALS).filter(|_| {
                let draws: Vec<f64> = (0..n).map(|_| uniform()).collect();
                let [lo, hi] = Predictive::new(&draws, 0.0).unwrap().summary().ci90.unwrap();
                (lo..=hi).contains(&uniform())
            });
            let pct = holds.count() as f64 * 100.0 / TRIALS as f64;
            assert!((88.5..=91.5).contains(&pct), "{n} draws: {pct}");
        }
    }

    fn row(mail: &str, machine: &str, published_pct: f64, draws: &[f64]) -> ScoredRow {
        ScoredRow { mail: mail.into(), machine: machine.into(), published_pct, sigma_pct: 0.0, draws: draws.into() }
    }

    /// Errors of ours: 1, 1 and 50; of no change: 2, 4 and 100. The other mails' changes, centred: for `a` -50 and 50... of
    /// one other row it is 0, of the two of `a` it is -1 and 1.
    #[test]
    fn rivals_are_scored_on_the_same_rows() {
        let rows = [row("a", "m", 2.0, &[1.0]), row("a", "n", 4.0, &[5.0]), row("b", "m", 100.0, &[50.0])];
        let found = score(&rows).unwrap();
        let crps = |ours, no_change, wide| Crps { ours, no_change, no_change_wide: Some(wide) };
        // Of -1 and 1, for 100: mean error 100, less half of the mean distance, (0 + 2 + 2 + 0) / 4 / 2 = 0.5.
        let by_mail: Vec<(&str, usize, Crps)> =
            found.by_mail.iter().map(|(mail, score)| (mail.as_str(), score.drawn_rows, score.crps)).collect();
        assert_eq!(by_mail, [("a", 2, crps(1.0, 3.0, 3.0)), ("b", 1, crps(50.0, 100.0, 99.5))]);
        assert_eq!(found.all.crps, crps(52.0 / 3.0, 106.0 / 3.0, 105.5 / 3.0));
        assert_eq!(found.crps_median, crps(25.5, 51.5, 51.25));
        let without = Some(Crps { ours: 1.0, no_change: 3.0, no_change_wide: None });
        assert_eq!(found.crps_without_largest, without, "the largest was the only row of the other mail");
        assert_eq!((found.all.coverage50, found.all.coverage90), (None, None), "one draw has no interval");
        let alone = score(&rows[..2]).unwrap();
        assert_eq!(alone.all.crps.no_change_wide, None, "there is no other mail");
        assert_eq!(score(&[]), None);
        assert_eq!(score(&[row("a", "m", 1.0, &[])]), None);
    }

    /// Nineteen draws from 1 to 19: the 50 % interval is 5 to 15, the 90 % interval 1 to 19. Of four rows two and three lie
    /// within. Both machines of the one mail are in each resample or twice one of them: 0, 50 or 100 % at the extremes.
    #[test]
    fn coverage_counts_rows_and_draws_machines_anew() {
        let draws: Vec<f64> = (1..=19).map(f64::from).collect();
        let rows = [10.0, 12.0, 18.0, 30.0]
            .map(|published| row("a", if published < 15.0 { "m" } else { "n" }, published, &draws));
        let ProperScore { coverage50, coverage90, .. } = score(&rows).unwrap().all;
        let (half, most) = (coverage50.unwrap(), coverage90.unwrap());
        assert_eq!((half.pct, half.width, half.rows), (50.0, 10.0, 4));
        assert_eq!((most.pct, most.width), (75.0, 18.0));
        assert_eq!((half.ci95, most.ci95), (Some([0.0, 100.0]), Some([50.0, 100.0])));
        let first = score(&rows[..2]).unwrap().all;
        assert_eq!(
            first.coverage50.map(|of_one| (of_one.pct, of_one.ci95)),
            Some((100.0, None)),
            "there is one machine"
        );
    }
    /// A row whose draws mostly have no percentage has no 90 % interval: the others are counted, it is not.
    #[test]
    fn rows_with_few_draws_are_not_counted_as_covered_or_missed() {
        let draws: Vec<f64> = (1..=19).map(f64::from).collect();
        let rows = [row("a", "m", 10.0, &draws), row("a", "n", 10.0, &draws[..18]), row("b", "m", 10.0, &draws[..2])];
        let ProperScore { drawn_rows, coverage50, coverage90, .. } = score(&rows).unwrap().all;
        assert_eq!((drawn_rows, coverage50.unwrap().rows, coverage90.unwrap().rows), (3, 2, 1));
        assert_eq!((coverage90.unwrap().pct, coverage90.unwrap().ci95), (100.0, None));
    }

    #[test]
    fn the_ends_of_an_interval_are_in_it() {
        let summary = PredictiveSummary { median_pct: 0.0, ci50: None, ci90: Some([-1.0, 2.0]) };
        assert_eq!([-1.0, 2.0, 2.1].map(|x| summary.is_outside90(x)), [Some(false), Some(false), Some(true)]);
        assert_eq!(PredictiveSummary { ci90: None, ..summary }.is_outside90(0.0), None);
    }
}

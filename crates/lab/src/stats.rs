//! Paired statistics: two columns that share their seeds, and what their difference honestly shows.
//!
//! A [`Change`] is judged by an interval whose coverage is measured, for the number of pairs that it has (`mean_interval`
//! says how it is made): `tests` has the coverage for normal, log-normal and bimodal values, of differences and of
//! changes in percent. Quantiles are computed with integers and IEEE `+ - * / sqrt` only, so that the same columns give
//! the same bytes on every machine.
//!
//! The rows of a table are judged together ([`judge`]).

mod change;
mod mean_interval;
mod modes;
mod student;

use serde::Serialize;

pub use self::change::{judge, Change, Sampling, Terms, Verdict, SIGNIFICANT_PAIRS_MIN};
pub use self::modes::{two_modes, TwoModes};

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

/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014), the finalizer over a Weyl step.
pub(crate) fn splitmix64(x: u64) -> u64 {
    let mut z = x.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;

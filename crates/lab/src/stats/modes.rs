//! Columns whose values fall into two groups.

/// Fewest values of which a column is said to have two groups: of fewer nothing but chance can be seen.
const VALUES_MIN: usize = 8;

/// Two groups of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoModes {
    /// Number and mean of the lower values.
    pub lower: (usize, f64),
    /// Number and mean of the upper values.
    pub upper: (usize, f64),
}

/// The two groups of a column, if it has them: cut in two, each part at least a fifth of the values and at least two, so
/// little of the sum of squares is left within the parts as of no more than 1 in 500 columns of normal values (a test
/// counts them; of log-normal ones, sigma 0.5, 1 in 100). `apart`: the least distance of the means that is of interest.
pub fn two_modes(column: &[f64], apart: f64) -> Option<TwoModes> {
    let n = column.len();
    if n < VALUES_MIN {
        return None;
    }
    let mut sorted = column.to_vec();
    sorted.sort_by(f64::total_cmp);
    let least = n.div_ceil(5).max(2);
    let squares = |part: &[f64]| {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        (part.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>(), mean)
    };
    let (all, _) = squares(&sorted);
    let cuts = (least..=n - least).map(|cut| {
        let (lower, upper) = sorted.split_at(cut);
        let ((within_lower, lower_mean), (within_upper, upper_mean)) = (squares(lower), squares(upper));
        let modes = TwoModes { lower: (lower.len(), lower_mean), upper: (upper.len(), upper_mean) };
        (within_lower + within_upper, modes)
    });
    let (within, modes) = cuts.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let found = within < share_within(n) * all && modes.upper.1 - modes.lower.1 > apart;
    found.then_some(modes)
}

/// The greatest share of the sum of squares within the parts of a column of `n` values that has two groups. A fit to
/// simulated columns of normal values, of which 1 in 500 has less; at most that of two equal modes 4 sd apart, for what is
/// spread evenly is not in two groups, however sure its shape is.
fn share_within(n: usize) -> f64 {
    let n = n as f64;
    (0.36 - 1.0 / n.sqrt() + 1.8 / (n * n)).min(0.2)
}

//! Least squares with non-negative unknowns.
//!
//! The method is Lawson and Hanson's (Solving Least Squares Problems, 1974, chapter 23), on normal equations: problems here have
//! some thirty unknowns whose columns are scaled to one length, and columns that are nearly parallel have been joined before. Ours,
//! as nalgebra has no such solver, and the crates that have one bring another library of matrices along.

use nalgebra::{Cholesky, DMatrix, DVector};

/// Non-negative x that minimises |a x - b|. Unknowns without a column of their own (all zeros) are 0.
pub fn nnls(a: &DMatrix<f64>, b: &DVector<f64>) -> Vec<f64> {
    let n = a.ncols();
    let lengths: Vec<f64> = a.column_iter().map(|column| column.norm()).collect();
    let mut scaled = a.clone();
    for (mut column, length) in scaled.column_iter_mut().zip(&lengths) {
        if *length > 0.0 {
            column /= *length;
        }
    }
    let (gram, right) = (scaled.transpose() * &scaled, scaled.transpose() * b);
    let tolerance = 1e-12 * right.amax().max(f64::MIN_POSITIVE);
    let mut x = DVector::zeros(n);
    let mut free: Vec<usize> = Vec::new();
    // Those that were tried and came back at once: rounding, which would be tried for ever.
    let mut barred = vec![false; n];
    loop {
        let gradient = &right - &gram * &x;
        let held = (0..n).filter(|j| !free.contains(j) && !barred[*j] && lengths[*j] > 0.0);
        let best = held.fold(None, |best: Option<usize>, j| match best {
            Some(i) if gradient[i] >= gradient[j] => best,
            _ => Some(j),
        });
        let Some(new) = best.filter(|j| gradient[*j] > tolerance) else { break };
        free.push(new);
        free.sort_unstable();
        // Each turn takes at least one out.
        while let Some(trial) = solve(&gram, &right, &free) {
            let below: Vec<usize> = (0..free.len()).filter(|i| trial[*i] <= 0.0).collect();
            if below.is_empty() {
                x.fill(0.0);
                free.iter().zip(trial.iter()).for_each(|(j, value)| x[*j] = *value);
                break;
            }
            let step = |i: &usize| x[free[*i]] / (x[free[*i]] - trial[*i]);
            let least = below.iter().map(step).fold(1.0, f64::min);
            for (i, j) in free.iter().enumerate() {
                x[*j] += least * (trial[i] - x[*j]);
            }
            let gone: Vec<usize> = below.iter().map(|i| free[*i]).filter(|j| x[*j] <= 1e-12).collect();
            gone.iter().for_each(|j| x[*j] = 0.0);
            barred[new] |= gone.contains(&new);
            free.retain(|j| !gone.contains(j));
            if gone.is_empty() {
                break;
            }
        }
        if solve(&gram, &right, &free).is_none() {
            barred[new] = true;
            free.retain(|j| *j != new);
            x[new] = 0.0;
        }
    }
    x.iter().zip(&lengths).map(|(value, length)| if *length > 0.0 { value / length } else { 0.0 }).collect()
}

/// The unknowns `free` alone, without a bound; `None` if their columns depend on each other.
fn solve(gram: &DMatrix<f64>, right: &DVector<f64>, free: &[usize]) -> Option<DVector<f64>> {
    let part = DMatrix::from_fn(free.len(), free.len(), |i, j| gram[(free[i], free[j])]);
    let side = DVector::from_fn(free.len(), |i, _| right[free[i]]);
    Cholesky::new(part).map(|factor| factor.solve(&side))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(rows: &[&[f64]], right: &[f64]) -> Vec<f64> {
        let a = DMatrix::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j]);
        nnls(&a, &DVector::from_row_slice(right))
    }

    fn near(x: &[f64], expected: &[f64]) {
        assert!(x.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{x:?}, expected {expected:?}");
    }

    #[test]
    fn what_has_a_positive_solution_is_solved() {
        near(&solved(&[&[1.0, 1.0], &[1.0, 2.0], &[2.0, 1.0]], &[3.0, 5.0, 4.0]), &[1.0, 2.0]);
    }

    /// Without the bound x = (3, -1). With it x2 = 0 and x1 is that of one column: (2 + 2 + 0) / 3, worked out by hand.
    #[test]
    fn what_would_be_negative_is_zero_and_the_others_make_up_for_it() {
        near(&solved(&[&[1.0, 1.0], &[1.0, 1.0], &[1.0, 3.0]], &[2.0, 2.0, 0.0]), &[4.0 / 3.0, 0.0]);
    }

    #[test]
    fn nothing_is_negative_however_the_right_side_is() {
        near(&solved(&[&[1.0, 2.0], &[3.0, 1.0]], &[-1.0, -2.0]), &[0.0, 0.0]);
    }

    /// Columns of very different lengths, and one of zeros.
    #[test]
    fn lengths_of_columns_do_not_matter() {
        near(&solved(&[&[1e3, 0.0, 1e-2], &[0.0, 0.0, 2e-2]], &[2e3, 4e-2]), &[2.0 - 2e-5, 0.0, 2.0]);
    }

    /// Of two equal columns one is taken; their sum is right.
    #[test]
    fn equal_columns_share_the_sum_and_the_search_ends() {
        let x = solved(&[&[1.0, 1.0], &[2.0, 2.0]], &[3.0, 6.0]);
        assert!((x[0] + x[1] - 3.0).abs() < 1e-9, "{x:?}");
    }

    /// The conditions of an optimum on problems of all kinds: no gradient along which a variable could rise, none where it
    /// is free.
    #[test]
    fn solutions_are_optimal() {
        let mut state = 1u64;
        let mut number = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / (1u64 << 31) as f64 - 0.3
        };
        for _ in 0..200 {
            let a = DMatrix::from_fn(12, 7, |_, _| number());
            let b = DVector::from_fn(12, |_, _| number());
            let x = DVector::from_vec(nnls(&a, &b));
            let gradient = a.transpose() * (&b - &a * &x);
            for j in 0..7 {
                assert!(x[j] >= 0.0 && gradient[j] < 1e-8 && (x[j] == 0.0 || gradient[j] > -1e-8), "{x} {gradient}");
            }
        }
    }
}

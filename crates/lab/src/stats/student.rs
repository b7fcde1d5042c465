//! Student's t distribution, by integers and IEEE `+ - * / sqrt` alone: libm differs between systems.

/// The t that a value of that distribution exceeds, to either side, with a probability of 5 %; `df`: degrees of freedom, from 1.
pub(super) fn quantile(df: u64) -> f64 {
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
pub(super) fn central_probability(t: f64, df: u64) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!((quantile(df) - expected).abs() < 1e-8, "{df}: {}", quantile(df));
        }
    }
}

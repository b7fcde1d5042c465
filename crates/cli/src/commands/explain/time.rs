//! Reads times on the command line.

/// A time in ns: a number, with a fraction or not, in s or in the unit behind it.
pub fn parse_time(text: &str) -> Result<u64, String> {
    let units = [("ns", 0), ("us", 3), ("ms", 6), ("s", 9)];
    let (number, digits) =
        units.iter().find_map(|(unit, digits)| Some((text.strip_suffix(unit)?, *digits))).unwrap_or((text, 9));
    parse_decimal(number.trim(), digits)
        .ok_or_else(|| "expected a time: 1.25, 1.25s, 1250ms, 1250000us or 1250000000ns".into())
}

/// A decimal number times 10^digits. Further digits of its fraction must be 0.
fn parse_decimal(text: &str, digits: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let (kept, beyond) = fraction.split_at_checked(digits).unwrap_or((fraction, ""));
    let valid = !(whole.is_empty() && fraction.is_empty())
        && [whole, kept].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()))
        && beyond.bytes().all(|b| b == b'0');
    valid.then(|| format!("{whole}{kept:0<digits$}").parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        for (text, ns) in [
            ("1.000004000", 1_000_004_000),
            ("0", 0),
            (".5", 500_000_000),
            ("2.", 2_000_000_000),
            ("1.25s", 1_250_000_000),
            ("1250ms", 1_250_000_000),
            ("0.5 us", 500),
            ("7ns", 7),
            ("0.1000000000", 100_000_000),
        ] {
            assert_eq!(parse_time(text), Ok(ns), "{text}");
        }
        for text in ["", ".", "s", "-1", "1e3", "1.5ns", "0.0000000001", "1.2.3", "99999999999", "1 0", "1.é"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}

//! The option `--seeds`.

use std::str::FromStr;

/// The most seeds of a command.
const MOST: u64 = 1_000_000;

/// Consecutive seeds: `16` stands for 1 to 16, `9-16` for these eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    first: u64,
    last: u64,
}

impl Seeds {
    /// The seeds 1 to `count`.
    pub fn first(count: u64) -> Seeds {
        Seeds { first: 1, last: count }
    }

    /// Each seed, from the first to the last.
    pub fn list(self) -> Vec<u64> {
        (self.first..=self.last).collect()
    }

    /// Their number, if they begin with 1.
    pub fn count_from_one(self) -> Option<u64> {
        (self.first == 1).then_some(self.last)
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Seeds, String> {
        let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
        let seeds = match text.split_once('-') {
            None => number(text).map(Seeds::first),
            Some((first, last)) => number(first).zip(number(last)).map(|(first, last)| Seeds { first, last }),
        };
        let seeds = seeds.filter(|seeds| seeds.first <= seeds.last && seeds.last != 0);
        let few = seeds.filter(|seeds| seeds.last - seeds.first < MOST);
        few.ok_or_else(|| format!("expected a number of seeds, 1 to {MOST}, or the first and last, as in 9-16"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_a_range() {
        let list = |text: &str| text.parse::<Seeds>().ok().map(Seeds::list);
        assert_eq!(list("3"), Some(vec![1, 2, 3]));
        assert_eq!(list("9-11"), Some(vec![9, 10, 11]));
        assert_eq!((list("0-1"), list("7-7")), (Some(vec![0, 1]), Some(vec![7])));
        for bad in ["0", "-1", "x", "", "3-2", "1-", "-", "+3", "1-2-3", "1000001", "0-1000000", "99999999999999999999"]
        {
            assert_eq!(list(bad), None, "{bad}");
        }
        assert_eq!(list("18446744073709551614-18446744073709551615").map(|seeds| seeds.len()), Some(2));
    }
}

//! How long something that comes and goes has held.

use crate::Time;

/// Time for which a condition has held, in one or more stretches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stopwatch {
    since: Option<Time>,
    ns: u64,
}

impl Stopwatch {
    /// From now on the condition holds, or no longer.
    pub fn set(&mut self, now: Time, holds: bool) {
        match (self.since, holds) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => *self = Stopwatch { since: None, ns: self.ns + (now - since) },
            _ => {}
        }
    }

    /// Up to now, ns.
    pub fn read(&self, now: Time) -> u64 {
        self.ns + self.since.map_or(0, |since| now - since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_add_up_and_the_present_one_counts() {
        let mut watch = Stopwatch::default();
        for (now, holds) in [(10, true), (12, true), (15, false), (16, false), (20, true)] {
            watch.set(now, holds);
        }
        assert_eq!([watch.read(20), watch.read(27)], [5, 12]);
    }
}

//! Accumulated time for which a condition was true.

use crate::Time;

/// Accumulates the time for which a condition holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DurationMeter {
    since: Option<Time>,
    ns: u64,
}

impl DurationMeter {
    /// Sets whether the condition holds from `now` on.
    pub fn set(&mut self, now: Time, holds: bool) {
        match (self.since, holds) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => *self = DurationMeter { since: None, ns: self.ns + (now - since) },
            _ => {}
        }
    }

    /// The time accumulated up to `now`, ns.
    pub fn read(&self, now: Time) -> u64 {
        self.ns + self.since.map_or(0, |since| now - since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_add_up_and_the_present_one_counts() {
        let mut watch = DurationMeter::default();
        for (now, holds) in [(10, true), (12, true), (15, false), (16, false), (20, true)] {
            watch.set(now, holds);
        }
        assert_eq!([watch.read(20), watch.read(27)], [5, 12]);
    }
}

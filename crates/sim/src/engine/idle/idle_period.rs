//! Idle periods, and how idle states were used.
//!
//! *Asked* is the state that the governor chose. *Reached* is the deepest that the hardware was in during the period: a
//! cluster state needs the others, so it may be shallower. cpuidle counts by the first (`above`, `below`); energy is
//! lost by the second.

use fairground_machine::IdleState;

use crate::Time;

/// How one idle state of one CPU was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleStats {
    /// Number of times the governor chose it.
    pub usage: u64,
    /// Time for which it was chosen, entry and exit included, ns.
    pub asked_ns: u64,
    /// Time for which the hardware was in it, entry and exit not included, ns.
    pub held_ns: u64,
    /// Idle periods that were too short for it (a shallower state exists).
    pub above: u64,
    /// Idle periods that a deeper state would have suited.
    pub below: u64,
    /// Idle periods in which it was the deepest state that the hardware reached.
    pub reached: u64,
    /// Of these, those that ended before its target residency (a shallower state exists): before break-even.
    pub cut: u64,
    /// Energy lost by these: what the next shallower state would have saved, pJ.
    pub lost_pj: u64,
}

impl IdleStats {
    /// What was added since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        IdleStats {
            usage: self.usage - earlier.usage,
            asked_ns: self.asked_ns - earlier.asked_ns,
            held_ns: self.held_ns - earlier.held_ns,
            above: self.above - earlier.above,
            below: self.below - earlier.below,
            reached: self.reached - earlier.reached,
            cut: self.cut - earlier.cut,
            lost_pj: self.lost_pj - earlier.lost_pj,
        }
    }

    /// Adds the counts of `other` to these.
    pub fn add(&mut self, other: &Self) {
        self.usage += other.usage;
        self.asked_ns += other.asked_ns;
        self.held_ns += other.held_ns;
        self.above += other.above;
        self.below += other.below;
        self.reached += other.reached;
        self.cut += other.cut;
        self.lost_pj += other.lost_pj;
    }
}

/// The present idle period of a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdlePeriod {
    /// Index of the state asked for.
    pub asked: usize,
    /// Start of the idle period.
    pub from: Time,
    /// When entry into the state is complete; a wakeup waits for this.
    pub entered: Time,
    /// Index of the deepest state that the hardware has been in so far.
    pub reached: usize,
}

impl IdlePeriod {
    /// The hardware has been in this state.
    pub(crate) fn reach(&mut self, state: usize) {
        self.reached = self.reached.max(state);
    }
}

/// Accounts a finished idle period of `slept_ns`, entry and exit included. `saved_mw`: what the state reached saves
/// over the next shallower one.
pub(crate) fn account_idle_period(
    stats: &mut [IdleStats],
    states: &[IdleState],
    stay: &IdlePeriod,
    slept_ns: u64,
    saved_mw: f64,
) {
    let state = &states[stay.asked];
    let asked = &mut stats[stay.asked];
    asked.usage += 1;
    asked.asked_ns += slept_ns;
    if slept_ns < state.target_residency_ns {
        asked.above += u64::from(stay.asked > 0);
    } else if let Some(deeper) = states.get(stay.asked + 1) {
        let useful = slept_ns.saturating_sub(state.exit_latency_ns);
        asked.below += u64::from(useful >= deeper.target_residency_ns);
    }
    let needed_ns = states[stay.reached].target_residency_ns;
    let reached = &mut stats[stay.reached];
    reached.reached += 1;
    if stay.reached > 0 && slept_ns < needed_ns {
        reached.cut += 1;
        reached.lost_pj += loss_pj(saved_mw, needed_ns, slept_ns);
    }
}

/// What a stay shorter than `needed_ns` cost more than the next shallower state would have, pJ.
///
/// By definition of the target residency, a stay of just that length costs the same in both. From there on the deeper
/// state saves `saved_mw`, and up to there it has as much to make good: (target residency - stay) x power saved. This
/// is what the stay cost by the firmware's own figures; what transitions cost by the machine's is in the energy anyway.
fn loss_pj(saved_mw: f64, needed_ns: u64, slept_ns: u64) -> u64 {
    // mW x ns = pJ. A state that saves nothing loses nothing; the cast turns a negative product into 0.
    (saved_mw * (needed_ns - slept_ns) as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::idle_state;

    fn stay(asked: usize, reached: usize) -> IdlePeriod {
        IdlePeriod { asked, reached, ..IdlePeriod::default() }
    }

    /// Slept 1.4 ms where 1.5 was needed: above. In WFI for 2 ms where sleep needs 1.5: below, but not for 1.5005 ms,
    /// of which leaving took 1 us.
    #[test]
    fn above_and_below_are_counted_as_cpuidle_does() {
        let states = [idle_state("WFI", 1_000, 1_000), idle_state("sleep", 500_000, 1_500_000)];
        let mut stats = [IdleStats::default(); 2];
        account_idle_period(&mut stats, &states, &stay(1, 1), 1_400_000, 0.0);
        account_idle_period(&mut stats, &states, &stay(0, 0), 2_000_000, 0.0);
        account_idle_period(&mut stats, &states, &stay(0, 0), 1_500_500, 0.0);
        account_idle_period(&mut stats, &states, &stay(0, 0), 500, 0.0);
        assert_eq!((stats[1].above, stats[1].below), (1, 0));
        assert_eq!((stats[0].above, stats[0].below, stats[0].usage), (0, 1, 3));
    }

    #[test]
    fn the_deepest_state_that_a_stay_has_reached_counts() {
        let mut stay = stay(2, 0);
        stay.reach(2);
        stay.reach(1);
        assert_eq!(stay.reached, 2);
    }

    /// Asked for the deepest, the hardware got no further than `sleep`, which pays after 1.5 ms and saves 20 mW: stays
    /// of 1 ms lose 0.5 ms x 20 mW = 10 uJ each; one of just 1.5 ms loses nothing; one in WFI never does.
    #[test]
    fn a_stay_is_cut_if_the_state_that_was_reached_had_not_paid() {
        let deep = idle_state("cluster", 1_000_000, 5_000_000);
        let states = [idle_state("WFI", 1_000, 1_000), idle_state("sleep", 500_000, 1_500_000), deep];
        let mut stats = [IdleStats::default(); 3];
        for slept in [1_000_000, 1_000_000, 1_500_000] {
            account_idle_period(&mut stats, &states, &stay(2, 1), slept, 20.0);
        }
        account_idle_period(&mut stats, &states, &stay(2, 0), 10, 20.0);
        assert_eq!((stats[1].reached, stats[1].cut, stats[1].lost_pj), (3, 2, 20_000_000));
        assert_eq!((stats[0].reached, stats[0].cut, stats[0].lost_pj), (1, 0, 0));
        assert_eq!((stats[2].usage, stats[2].above, stats[2].cut), (4, 4, 0));
    }
}

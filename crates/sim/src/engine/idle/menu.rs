//! After the menu governor as in Linux 5.4 to 6.11 (behaviour spec 8.3); tasks that wait for I/O are not distinguished.
//!
//! Prediction = the lesser of
//!   * the typical interval: the mean of the last 8 stays if they are steady (standard deviation below a sixth of
//!     the mean over at least 6 of them, or at most 20 us; the longest are dropped one by one as outliers), and
//!   * the time to this CPU's next timer times a correction learnt per order of magnitude (6 buckets, decay 1/8).
//!
//! State = the deepest whose target residency is within the prediction and whose exit latency is within the limit and,
//! while the tick runs, within the prediction. The tick is kept where the prediction is shorter than a tick (or the
//! state polls); the state must then pay before the next tick. Where timer or limit leave only the first state, it is
//! taken without a look at the past, and the tick stops unless it polls.

use fairground_machine::IdleState;

use super::{pays_within, IdleResult, SelectInput};

const INTERVALS: usize = 8;
const BUCKETS: usize = 6;
/// Unity of a correction is `RESOLUTION * DECAY`.
const RESOLUTION: u64 = 1024;
const DECAY: u64 = 8;
/// Longer idle periods are not distinguished, ns.
const MAX_INTERESTING_NS: u64 = 50_000_000;

/// The memory of one CPU's governor.
#[derive(Clone, Debug)]
pub(crate) struct Menu {
    intervals_us: [u32; INTERVALS],
    at: usize,
    correction: [u64; BUCKETS],
    bucket: usize,
    /// Until the next timer at the last selection, ns.
    timer_ns: u64,
}

impl Default for Menu {
    fn default() -> Self {
        Menu { intervals_us: [0; INTERVALS], at: 0, correction: [RESOLUTION * DECAY; BUCKETS], bucket: 0, timer_ns: 0 }
    }
}

impl Menu {
    /// The state to ask for, and whether to stop the tick.
    pub(super) fn select(&mut self, states: &[IdleState], o: &SelectInput) -> (usize, bool) {
        self.timer_ns = o.timer_ns;
        self.bucket = bucket_of(o.timer_ns);
        let second = states.get(1).filter(|s| s.target_residency_ns <= o.timer_ns);
        if o.latency_limit_ns == 0 || second.is_none_or(|s| s.exit_latency_ns > o.latency_limit_ns) {
            return (0, !states[0].polling);
        }
        let mut predicted = self.predicted_ns();
        if o.tick_stopped && predicted < o.period_ns {
            // The tick will not end a stay that turns out longer: trust only the timer.
            predicted = o.timer_ns;
        }
        let (idx, predicted, settled) = deepest(states, predicted, o);
        if settled || o.tick_stopped || !(states[idx].polling || predicted < o.period_ns) {
            return (idx, true);
        }
        (pays_within(states, idx, o.tick_ns), false)
    }

    /// Learns from a stay in a state.
    pub(super) fn reflect(&mut self, state: &IdleState, woken: &IdleResult) {
        let exit = state.exit_latency_ns;
        let mut stay = match woken.slept_ns {
            // Only the tick kept the CPU from sleeping much longer.
            _ if woken.by_tick && self.timer_ns > woken.period_ns => MAX_INTERESTING_NS / 10 * 9,
            t if t > 2 * exit => t - exit,
            t => t / 2,
        };
        stay = stay.min(self.timer_ns);
        let c = &mut self.correction[self.bucket];
        *c -= *c / DECAY;
        *c +=
            if self.timer_ns > 0 && stay < MAX_INTERESTING_NS { RESOLUTION * stay / self.timer_ns } else { RESOLUTION };
        self.intervals_us[self.at] = u32::try_from(stay / 1000).unwrap_or(u32::MAX);
        self.at = (self.at + 1) % INTERVALS;
    }

    /// How long the stay will be, in whole us.
    fn predicted_ns(&self) -> u64 {
        let us = u128::from(RESOLUTION * DECAY * 1000);
        let by_timer = u128::from(self.timer_ns) * u128::from(self.correction[self.bucket]);
        let by_timer_us = (by_timer + us / 2) / us;
        (by_timer_us as u64 * 1000).min(self.typical_ns())
    }

    /// The typical stay, ns; `u64::MAX` if stays are not steady.
    fn typical_ns(&self) -> u64 {
        let mut limit = u32::MAX;
        loop {
            let kept = || self.intervals_us.iter().filter(|v| **v <= limit).map(|v| u64::from(*v));
            let n = kept().count() as u64;
            if n == 0 {
                return u64::MAX;
            }
            let mean = kept().sum::<u64>() / n;
            let variance = kept().map(|v| u128::from(v.abs_diff(mean)).pow(2)).sum::<u128>() / u128::from(n);
            let steady = u128::from(mean).pow(2) > variance * 36 && n * 4 >= INTERVALS as u64 * 3;
            if steady || variance <= 400 {
                return mean * 1000;
            }
            if n * 4 <= INTERVALS as u64 * 3 {
                return u64::MAX;
            }
            limit = kept().max().map_or(0, |m| (m as u32).saturating_sub(1));
        }
    }
}

/// The deepest state within prediction and latency limit; the prediction as corrected; whether that is final.
fn deepest(states: &[IdleState], mut predicted: u64, o: &SelectInput) -> (usize, u64, bool) {
    let limit_ns = if o.tick_stopped { o.latency_limit_ns } else { o.latency_limit_ns.min(predicted) };
    let mut idx = 0;
    for (i, s) in states.iter().enumerate().skip(1) {
        if s.target_residency_ns > predicted {
            if states[idx].polling && s.exit_latency_ns <= limit_ns {
                // Rather stop than spin: no timer is that near.
                return (i, s.target_residency_ns, false);
            }
            if predicted < o.period_ns {
                break;
            }
            if !o.tick_stopped {
                // A shallow state so far: keep the tick, which will let the governor look again.
                predicted = states[idx].target_residency_ns;
                break;
            }
            if states[idx].target_residency_ns < o.period_ns && s.target_residency_ns <= o.tick_ns {
                // Nothing will come before the timer: do not stay shallow for so long.
                idx = i;
            }
            return (idx, predicted, true);
        }
        if s.exit_latency_ns > limit_ns {
            break;
        }
        idx = i;
    }
    (idx, predicted, false)
}

fn bucket_of(ns: u64) -> usize {
    let us = ns / 1000;
    [10, 100, 1000, 10_000, 100_000].iter().filter(|limit| us >= **limit).count()
}

#[cfg(test)]
mod tests {
    use super::super::FAR_NS;
    use super::*;
    use crate::testing::idle_state;

    fn outlook(timer_ns: u64, tick_ns: u64) -> SelectInput {
        SelectInput { now: 0, timer_ns, tick_ns, period_ns: 4_000_000, tick_stopped: false, latency_limit_ns: u64::MAX }
    }

    fn steady(us: u32) -> Menu {
        Menu { intervals_us: [us; INTERVALS], ..Menu::default() }
    }

    /// States pay from 1 us and 1500 us. Steady stays of 100 us: shallow, tick kept. Steady stays of 3 ms (under a
    /// tick) with 1 ms to the tick: the deep one does not pay before the tick.
    #[test]
    fn the_prediction_chooses_the_state() {
        let states = [idle_state("WFI", 1_000, 1_000), idle_state("sleep", 500_000, 1_500_000)];
        assert_eq!(steady(100).select(&states, &outlook(FAR_NS, 4_000_000)), (0, false));
        assert_eq!(steady(3000).select(&states, &outlook(FAR_NS, 4_000_000)), (1, false));
        assert_eq!(steady(3000).select(&states, &outlook(FAR_NS, 1_000_000)), (0, false));
        assert_eq!(steady(40_000).select(&states, &outlook(FAR_NS, 4_000_000)), (1, true));
        let limited = SelectInput { latency_limit_ns: 100_000, ..outlook(FAR_NS, 4_000_000) };
        assert_eq!(steady(40_000).select(&states, &limited).0, 0);
    }

    /// A timer in 2 ms leaves room for the deep state, one in 800 us does not: then the past is not looked at.
    #[test]
    fn a_near_timer_outweighs_long_stays() {
        let states = [idle_state("WFI", 1_000, 1_000), idle_state("sleep", 500_000, 1_500_000)];
        assert_eq!(steady(40_000).select(&states, &outlook(2_000_000, 2_000_000)), (1, false));
        assert_eq!(steady(40_000).select(&states, &outlook(800_000, 800_000)), (0, true));
        let mut polling = states;
        polling[0].polling = true;
        assert_eq!(steady(40_000).select(&polling, &outlook(800_000, 800_000)), (0, false));
    }

    /// Pays from 3.5 ms on but takes 3.7 ms to leave: no use for stays of 3.6 ms, unless the tick is stopped and cannot
    /// end a stay that turns out longer.
    #[test]
    fn a_state_that_takes_longer_to_leave_than_the_stay_is_passed_over() {
        let states = [idle_state("WFI", 1_000, 1_000), idle_state("off", 3_700_000, 3_500_000)];
        assert_eq!(steady(3600).select(&states, &outlook(FAR_NS, 4_000_000)), (0, false));
        assert_eq!(steady(3800).select(&states, &outlook(FAR_NS, 4_000_000)), (1, false));
        let stopped = SelectInput { tick_stopped: true, ..outlook(FAR_NS, FAR_NS) };
        assert_eq!(steady(3600).select(&states, &stopped), (1, true));
    }

    /// A timer in 10 ms that always comes: the correction stays at unity. If wakes come after 5 ms it halves, by an
    /// eighth of the way each time; after one: 8192 - 1024 + 512.
    #[test]
    fn the_correction_learns_how_often_the_timer_is_waited_for() {
        let states = [idle_state("WFI", 0, 1_000), idle_state("sleep", 0, 1_500_000)];
        let mut menu = steady(40_000);
        let mut live = |slept_ns| {
            menu.select(&states, &outlook(10_000_000, 4_000_000));
            menu.reflect(&states[1], &IdleResult { now: 0, slept_ns, by_tick: false, period_ns: 4_000_000 });
            menu.correction[4]
        };
        assert_eq!(live(10_000_000), 8192);
        // The way out of the state takes it past the timer.
        assert_eq!(live(12_000_000), 8192);
        assert_eq!(live(5_000_000), 7680);
        assert!((0..50).map(|_| live(5_000_000)).last().is_some_and(|c| (4096..4110).contains(&c)));
    }

    /// A state that takes up to 500 us to leave: of 2 ms asleep 1.5 were idle, of 800 us half.
    #[test]
    fn the_way_out_is_not_counted_as_idle() {
        let states = [idle_state("WFI", 1_000, 1_000), idle_state("sleep", 500_000, 1_500_000)];
        let mut menu = Menu::default();
        menu.select(&states, &outlook(FAR_NS, 4_000_000));
        for slept_ns in [2_000_000, 800_000] {
            menu.reflect(&states[1], &IdleResult { now: 0, slept_ns, by_tick: false, period_ns: 4_000_000 });
        }
        assert_eq!(menu.intervals_us[..2], [1500, 400]);
    }

    /// Once the tick is stopped, short stays do not keep the choice shallow: nothing would end a stay that lasts
    /// longer.
    #[test]
    fn with_the_tick_stopped_a_short_past_gives_way_to_the_timer() {
        let states = [idle_state("WFI", 1_000, 1_000), idle_state("sleep", 500_000, 1_500_000)];
        let stopped = SelectInput { tick_stopped: true, ..outlook(FAR_NS, FAR_NS) };
        assert_eq!(steady(100).select(&states, &stopped), (1, true));
    }

    /// Stays of 600 us are too short for what pays from 1.5 ms on, but rather that than spin; of 100 us, it would take
    /// longer to leave than to stay.
    #[test]
    fn rather_stop_than_spin_if_it_can_be_left_in_time() {
        let mut states = [idle_state("POLL", 0, 0), idle_state("sleep", 500_000, 1_500_000)];
        states[0].polling = true;
        assert_eq!(steady(600).select(&states, &outlook(FAR_NS, 4_000_000)), (1, false));
        assert_eq!(steady(100).select(&states, &outlook(FAR_NS, 4_000_000)), (0, false));
    }

    /// The deepest pays from 100 ms on, stays are of 40 ms. The tick is kept in WFI, to look again. With the tick
    /// stopped already nothing comes for 4 s: rather too deep than WFI for so long; with a timer in 50 ms rather WFI.
    #[test]
    fn a_shallow_state_is_not_held_for_long_without_a_tick() {
        let states = [idle_state("WFI", 1_000, 1_000), idle_state("off", 500_000, 100_000_000)];
        assert_eq!(steady(40_000).select(&states, &outlook(FAR_NS, 4_000_000)), (0, false));
        let stopped = |ns| SelectInput { tick_stopped: true, ..outlook(ns, ns) };
        assert_eq!(steady(40_000).select(&states, &stopped(FAR_NS)), (1, true));
        assert_eq!(steady(40_000).select(&states, &stopped(50_000_000)), (0, true));
    }

    /// Stays of 950 to 1050 us are steady if six of eight are; stays of 10 and 40 us are by their small deviation.
    #[test]
    fn a_steady_pattern_needs_six_of_eight_or_a_small_deviation() {
        let typical = |intervals_us| Menu { intervals_us, ..Menu::default() }.typical_ns();
        assert_eq!(typical([950, 1050, 950, 1050, 950, 1050, 40_000, 50_000]), 1_000_000);
        assert_eq!(typical([950, 1050, 950, 1050, 1000, 30_000, 40_000, 50_000]), u64::MAX);
        assert_eq!(typical([10, 40, 10, 40, 10, 40, 10, 40]), 25_000);
    }

    /// Seven stays of 1 ms and one of 50 ms: the outlier is dropped, 1 ms is typical.
    #[test]
    fn an_outlier_does_not_spoil_a_steady_pattern() {
        let mut menu = steady(1000);
        menu.intervals_us[3] = 50_000;
        assert_eq!(menu.typical_ns(), 1_000_000);
        menu.intervals_us = [1, 1000, 20_000, 5, 70, 900, 30_000, 12];
        assert_eq!(menu.typical_ns(), u64::MAX);
    }
}

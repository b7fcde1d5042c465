//! The idle governor: which state, and whether the tick stops. After Linux's menu governor (behaviour spec 8.3).
//!
//! Prediction = the lesser of
//!   * the typical interval: the mean of the last 8 stays if they are steady (standard deviation below a sixth of
//!     the mean over at least 6 of them, or below 20 us; the longest are dropped one by one as outliers), and
//!   * the time to this CPU's next timer times a correction learnt per order of magnitude (6 buckets, decay 1/8).
//!
//! State = the deepest whose target residency is within the prediction and whose exit latency is within the limit.
//! The tick is kept where the prediction is shorter than a tick (or the state polls); the state must then pay before
//! the next tick.

use fairground_machine::IdleState;

use crate::Time;

const INTERVALS: usize = 8;
const BUCKETS: usize = 6;
/// Unity of a correction is `RESOLUTION * DECAY`.
const RESOLUTION: u64 = 1024;
const DECAY: u64 = 8;
/// Longer stays are not told apart, ns.
const MAX_INTERESTING_NS: u64 = 50_000_000;
/// The farthest timer the governor is told of, ns: a kernel with default options arms its lockup watchdog on every CPU
/// each 4 s (watchdog_thresh 10 s x 2 / 5). The watchdog itself is not simulated.
pub(crate) const FAR_NS: u64 = 4_000_000_000;

/// What the governor is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outlook {
    /// Until this CPU's next timer, the tick not counted, ns.
    pub timer_ns: u64,
    /// Until the next event with the tick kept, ns.
    pub tick_ns: u64,
    /// Length of a tick, ns.
    pub period_ns: u64,
    pub tick_stopped: bool,
    /// Longest exit latency that is tolerated, ns.
    pub latency_limit_ns: u64,
}

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
    pub(crate) fn select(&mut self, states: &[IdleState], o: &Outlook) -> (usize, bool) {
        self.timer_ns = o.timer_ns;
        self.bucket = bucket_of(o.timer_ns);
        if states.len() == 1 {
            return (0, !states[0].polling);
        }
        let unity = RESOLUTION * DECAY;
        let by_timer = (u128::from(o.timer_ns) * u128::from(self.correction[self.bucket]) / u128::from(unity)) as u64;
        let mut predicted = by_timer.min(self.typical_ns());
        if o.tick_stopped && predicted < o.period_ns {
            // The tick will not end a stay that turns out longer: trust only the timer.
            predicted = o.timer_ns;
        }
        let (idx, predicted, settled) = deepest(states, predicted, o);
        if settled || o.tick_stopped || !(states[idx].polling || predicted < o.period_ns) {
            return (idx, true);
        }
        let within = |s: &IdleState| s.target_residency_ns <= o.tick_ns;
        (states[..=idx].iter().rposition(within).unwrap_or(0), false)
    }

    /// Learns from a stay of `slept_ns` (exit included) in a state; `by_tick`: the tick ended it.
    pub(crate) fn reflect(&mut self, state: &IdleState, slept_ns: u64, by_tick: bool, period_ns: u64) {
        let exit = state.exit_latency_ns;
        let mut stay = match slept_ns {
            // Only the tick kept the CPU from sleeping much longer.
            _ if by_tick && self.timer_ns > period_ns => MAX_INTERESTING_NS / 10 * 9,
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
fn deepest(states: &[IdleState], mut predicted: u64, o: &Outlook) -> (usize, u64, bool) {
    let mut idx = 0;
    for (i, s) in states.iter().enumerate().skip(1) {
        if s.target_residency_ns > predicted {
            if states[idx].polling && s.exit_latency_ns <= o.latency_limit_ns && s.target_residency_ns <= o.timer_ns {
                // Rather stop than spin, unless a timer is near.
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
        if s.exit_latency_ns > o.latency_limit_ns {
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

/// How one idle state of one CPU was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleStats {
    /// Times it was asked for.
    pub usage: u64,
    /// Time for which it was asked for, entry and exit included, ns.
    pub asked_ns: u64,
    /// Time for which the hardware was in it, entry and exit not included, ns.
    pub held_ns: u64,
    /// Stays that were too short for it (a shallower state exists).
    pub above: u64,
    /// Stays that a deeper state would have suited.
    pub below: u64,
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
        }
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        self.usage += other.usage;
        self.asked_ns += other.asked_ns;
        self.held_ns += other.held_ns;
        self.above += other.above;
        self.below += other.below;
    }
}

/// Books a finished stay of `slept_ns` in `states[asked]`: above and below as cpuidle counts them.
pub(crate) fn book_stay(stats: &mut [IdleStats], states: &[IdleState], asked: usize, slept_ns: u64) {
    let state = &states[asked];
    stats[asked].usage += 1;
    stats[asked].asked_ns += slept_ns;
    if slept_ns < state.target_residency_ns {
        stats[asked].above += u64::from(asked > 0);
    } else if let Some(deeper) = states.get(asked + 1) {
        let useful = slept_ns.saturating_sub(state.exit_latency_ns);
        stats[asked].below += u64::from(useful >= deeper.target_residency_ns);
    }
}

/// An idle stay under way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stay {
    /// Index of the state asked for.
    pub asked: usize,
    /// When idle began.
    pub from: Time,
    /// When the hardware is in; a wake waits for this.
    pub entered: Time,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::idle_state;

    fn outlook(timer_ns: u64, tick_ns: u64) -> Outlook {
        Outlook { timer_ns, tick_ns, period_ns: 4_000_000, tick_stopped: false, latency_limit_ns: u64::MAX }
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
        let limited = Outlook { latency_limit_ns: 100_000, ..outlook(FAR_NS, 4_000_000) };
        assert_eq!(steady(40_000).select(&states, &limited).0, 0);
    }

    #[test]
    fn a_near_timer_outweighs_long_stays() {
        let states = [idle_state("WFI", 1_000, 1_000), idle_state("sleep", 500_000, 1_500_000)];
        assert_eq!(steady(40_000).select(&states, &outlook(800_000, 800_000)), (0, false));
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

    /// Slept 1.4 ms where 1.5 was needed: above. In WFI for 2 ms where sleep needs 1.5: below.
    #[test]
    fn above_and_below_are_counted_as_cpuidle_does() {
        let states = [idle_state("WFI", 1_000, 1_000), idle_state("sleep", 500_000, 1_500_000)];
        let mut stats = [IdleStats::default(); 2];
        book_stay(&mut stats, &states, 1, 1_400_000);
        book_stay(&mut stats, &states, 0, 2_000_000);
        book_stay(&mut stats, &states, 0, 500);
        assert_eq!((stats[1].above, stats[1].below), (1, 0));
        assert_eq!((stats[0].above, stats[0].below, stats[0].usage), (0, 1, 2));
    }
}

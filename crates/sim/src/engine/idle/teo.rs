//! After the timer events oriented governor as in Linux 6.12.
//!
//! Stays are sorted into bins, one per state: from its target residency up to the next state's. A stay whose length
//! falls into the bin of the time to the next timer, as known when the state was chosen, is a *hit* of that bin; a
//! shorter one is an *intercept* of the bin it falls into. All counts decay by 1/8 at every stay; the one that grows
//! gets 1024. A bin beyond the last, of hits only, counts stays of a tick and more if all states pay within a tick.
//!
//! State = the deepest; unless intercepts of the bins before it outweigh what is left for it and beyond: then the
//! deepest at or beyond which more than half of those intercepts lie. Then no deeper than the latency limit, and no
//! deeper than pays before the next timer. The tick is kept where that is less than a tick, or where intercepts are
//! more than 5/8 of all stays and the state pays within a tick; the state must then pay before the next tick.

use fairground_machine::IdleState;

use super::{pays_within, IdleResult, SelectInput, RESIDENCY_THRESHOLD_NS};
use crate::Time;

const PULSE: u32 = 1024;
const DECAY_SHIFT: u32 = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bin {
    intercepts: u32,
    hits: u32,
}

fn decay(count: &mut u32) {
    *count -= *count >> DECAY_SHIFT;
}

/// The memory of one CPU's governor.
#[derive(Clone, Debug)]
pub(crate) struct Teo {
    bins: Vec<Bin>,
    /// Stays of a tick and more that ended with the timer.
    tick_hits: u32,
    total: u32,
    chosen_at: Time,
    /// Until the next timer at the last choice, ns; `u64::MAX`: it was not looked at.
    timer_ns: u64,
}

/// What follows from a choice of state.
enum Tick {
    Keep,
    /// As the expected length of the stay says, ns.
    By(u64),
}

impl Teo {
    pub(super) fn new(nr_states: usize) -> Self {
        Teo { bins: vec![Bin::default(); nr_states], tick_hits: 0, total: 0, chosen_at: 0, timer_ns: u64::MAX }
    }

    /// The state to ask for, and whether to stop the tick.
    pub(super) fn select(&mut self, states: &[IdleState], o: &SelectInput) -> (usize, bool) {
        (self.chosen_at, self.timer_ns) = (o.now, u64::MAX);
        if states.len() == 1 {
            return (0, false);
        }
        match self.choose(states, o) {
            (idx, Tick::Keep) => (idx, false),
            (idx, Tick::By(_)) if o.tick_stopped => (idx, true),
            (idx, Tick::By(stay)) if !states[idx].polling && stay >= o.period_ns => (idx, true),
            (idx, Tick::By(_)) => (pays_within(states, idx, o.tick_ns), false),
        }
    }

    fn choose(&mut self, states: &[IdleState], o: &SelectInput) -> (usize, Tick) {
        let wanted = self.unintercepted(states, o);
        if wanted == 0 {
            // Known all the same, so that the guess can be judged.
            self.timer_ns = o.timer_ns;
            return (0, Tick::Keep);
        }
        let permitted = states.iter().rposition(|s| s.exit_latency_ns <= o.latency_limit_ns).unwrap_or(0);
        let idx = wanted.min(permitted);
        if idx == 0 || states[0].polling && states[idx].target_residency_ns < RESIDENCY_THRESHOLD_NS {
            return (idx, Tick::Keep);
        }
        self.timer_ns = o.timer_ns;
        let idx = pays_within(states, idx, o.timer_ns);
        let intercepts: u32 = self.bins.iter().map(|b| b.intercepts).sum();
        if states[idx].target_residency_ns < o.period_ns && intercepts > self.total / 2 + self.total / 8 {
            return (idx, Tick::By(o.period_ns / 2));
        }
        (idx, Tick::By(o.timer_ns))
    }

    /// The deepest state that stays were not mostly too short for.
    fn unintercepted(&self, states: &[IdleState], o: &SelectInput) -> usize {
        let deepest = states.len() - 1;
        let early: u32 = self.bins[..deepest].iter().map(|b| b.intercepts).sum();
        let hits: u32 = self.bins[..deepest].iter().map(|b| b.hits).sum();
        if 2 * early <= self.total - hits {
            return deepest;
        }
        // With the tick stopped nothing ends a stay in a state that is too shallow.
        let suits = |i: usize| !o.tick_stopped || states[i].target_residency_ns >= o.period_ns;
        let (mut sum, mut suitable) = (0, deepest);
        for i in (0..deepest).rev() {
            sum += self.bins[i].intercepts;
            if 2 * sum > early {
                return if suits(i) { i } else { suitable };
            }
            if suits(i) {
                suitable = i;
            } else if suitable == deepest {
                break;
            }
        }
        deepest
    }

    /// Learns from a stay in `states[asked]`.
    pub(super) fn reflect(&mut self, states: &[IdleState], asked: usize, woken: &IdleResult) {
        let by_safety_net = woken.by_tick && self.timer_ns > woken.period_ns;
        let measured_ns = if by_safety_net || woken.now - self.chosen_at >= self.timer_ns {
            u64::MAX
        } else {
            // A wake seldom takes the worst case: half of it, roughly.
            let exit = states[asked].exit_latency_ns;
            let slept = woken.slept_ns;
            if slept >= exit {
                slept - exit / 2
            } else {
                slept / 2
            }
        };
        for bin in &mut self.bins {
            decay(&mut bin.hits);
            decay(&mut bin.intercepts);
        }
        self.count(states, measured_ns, woken.period_ns);
        self.total = self.tick_hits + self.bins.iter().map(|b| b.hits + b.intercepts).sum::<u32>();
    }

    fn count(&mut self, states: &[IdleState], measured_ns: u64, period_ns: u64) {
        let by_timer = pays_within(states, states.len() - 1, self.timer_ns);
        let by_length = pays_within(states, by_timer, measured_ns);
        let beyond = states.last().is_some_and(|s| s.target_residency_ns < period_ns);
        if beyond {
            decay(&mut self.tick_hits);
        }
        if beyond && self.timer_ns >= period_ns {
            if measured_ns >= period_ns {
                self.tick_hits += PULSE;
            } else {
                self.bins[by_length].intercepts += PULSE;
            }
        } else if by_timer == by_length {
            self.bins[by_timer].hits += PULSE;
        } else {
            self.bins[by_length].intercepts += PULSE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::FAR_NS;
    use super::*;
    use crate::testing::idle_state;

    const MS: u64 = 1_000_000;

    /// Pay from 1 us, 1.5 ms and 3.5 ms on; a tick is 4 ms.
    fn states() -> Vec<IdleState> {
        vec![idle_state("WFI", 1_000, 1_000), idle_state("sleep", 0, 1_500_000), idle_state("off", 0, 3_500_000)]
    }

    fn outlook(timer_ns: u64) -> SelectInput {
        let tick_ns = timer_ns.min(4 * MS);
        SelectInput { now: 0, timer_ns, tick_ns, period_ns: 4 * MS, tick_stopped: false, latency_limit_ns: u64::MAX }
    }

    /// A stay with `timer_ns` to go that takes `slept_ns`; what was chosen.
    fn live(teo: &mut Teo, timer_ns: u64, slept_ns: u64) -> (usize, bool) {
        let chosen = teo.select(&states(), &outlook(timer_ns));
        let woken = IdleResult { now: slept_ns, slept_ns, by_tick: false, period_ns: 4 * MS };
        teo.reflect(&states(), chosen.0, &woken);
        chosen
    }

    fn bins(teo: &Teo) -> Vec<(u32, u32)> {
        teo.bins.iter().map(|b| (b.intercepts, b.hits)).collect()
    }

    /// Nothing learnt: the deepest that pays before the timer; the tick goes if that is a tick away.
    #[test]
    fn at_first_the_timer_decides() {
        let select = |timer| Teo::new(3).select(&states(), &outlook(timer));
        assert_eq!(select(FAR_NS), (2, true));
        assert_eq!(select(2 * MS), (1, false));
        assert_eq!(select(MS), (0, false));
        let limited = SelectInput { latency_limit_ns: 500, ..outlook(FAR_NS) };
        assert_eq!(Teo::new(3).select(&states(), &limited), (2, true));
        let mut slow = states();
        slow[2].exit_latency_ns = 700;
        assert_eq!(Teo::new(3).select(&slow, &limited).0, 1);
    }

    /// A timer in 2 ms that comes: a hit of the second bin. A wake after 1 ms of these: an intercept of the first. A
    /// far timer and a wake after 2 ms: an intercept of the second. A far timer that comes: a hit beyond the tick.
    /// Counts lose an eighth each time: 1024, 896, 784, 686.
    #[test]
    fn a_stay_goes_into_the_bin_of_its_length_as_hit_or_intercept() {
        let mut teo = Teo::new(3);
        live(&mut teo, 2 * MS, 2 * MS);
        assert_eq!(bins(&teo), [(0, 0), (0, 1024), (0, 0)]);
        live(&mut teo, 2 * MS, MS);
        assert_eq!(bins(&teo), [(1024, 0), (0, 896), (0, 0)]);
        live(&mut teo, FAR_NS, 2 * MS);
        assert_eq!(bins(&teo), [(896, 0), (1024, 784), (0, 0)]);
        live(&mut teo, FAR_NS, FAR_NS);
        assert_eq!(bins(&teo), [(784, 0), (896, 686), (0, 0)]);
        assert_eq!((teo.tick_hits, teo.total), (1024, 784 + 896 + 686 + 1024));
    }

    /// With the timer far away, a stay of a tick and more is as good as one until the timer.
    #[test]
    fn a_stay_of_a_tick_is_long() {
        let mut teo = Teo::new(3);
        live(&mut teo, FAR_NS, 4 * MS);
        assert_eq!((bins(&teo), teo.tick_hits), (vec![(0, 0); 3], 1024));
    }

    #[test]
    fn where_there_is_no_choice_the_tick_is_kept() {
        assert_eq!(Teo::new(1).select(&states()[..1], &outlook(FAR_NS)), (0, false));
    }

    /// Wakes after 1 ms whatever the timer says: the shallowest, tick kept. Once they cease the deepest returns.
    #[test]
    fn early_wakes_make_it_shallow_until_they_cease() {
        let mut teo = Teo::new(3);
        assert_eq!(live(&mut teo, FAR_NS, MS), (2, true));
        assert_eq!(live(&mut teo, FAR_NS, MS), (0, false));
        for _ in 0..20 {
            assert_eq!(live(&mut teo, FAR_NS, MS), (0, false));
        }
        let chosen: Vec<usize> = (0..20).map(|_| live(&mut teo, FAR_NS, FAR_NS).0).collect();
        assert_eq!((chosen[0], chosen[19]), (0, 2));
    }

    /// Wakes after 2 ms: the middle state suits. They are most of all stays, so the tick stays to correct an error.
    #[test]
    fn intercepts_name_the_state_they_suit() {
        let mut teo = Teo::new(3);
        live(&mut teo, FAR_NS, 2 * MS);
        assert_eq!(live(&mut teo, FAR_NS, 2 * MS), (1, false));
        // With the tick stopped already, no state that pays within a tick is taken for a guess: none is left but the
        // deepest, which the timer allows.
        let stopped = SelectInput { tick_stopped: true, ..outlook(FAR_NS) };
        assert_eq!(teo.select(&states(), &stopped), (2, true));
    }

    /// A timer of 1 ms steadily: hits of the first bin do not make a later long stay shallow.
    #[test]
    fn timers_that_come_are_no_reason_to_stay_shallow() {
        let mut teo = Teo::new(3);
        for _ in 0..20 {
            assert_eq!(live(&mut teo, MS, MS), (0, false));
        }
        assert_eq!(live(&mut teo, FAR_NS, FAR_NS), (2, true));
    }

    /// The tick ends a stay that might have gone on to the timer: taken for one that did.
    #[test]
    fn a_stay_that_the_tick_ends_counts_as_long() {
        let mut teo = Teo::new(3);
        teo.select(&states(), &outlook(FAR_NS));
        teo.reflect(&states(), 2, &IdleResult { now: 2 * MS, slept_ns: 2 * MS, by_tick: true, period_ns: 4 * MS });
        assert_eq!((bins(&teo), teo.tick_hits), (vec![(0, 0); 3], 1024));
    }
}

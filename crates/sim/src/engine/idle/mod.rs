//! The cpuidle governors: which state, and whether the tick stops; and the accounting of idle periods.

mod idle_period;
mod menu;
mod teo;

use fairground_machine::IdleState;

use super::IdleGovernor;
use crate::Time;

pub use idle_period::IdleStats;
pub(crate) use idle_period::{account_idle_period, IdlePeriod};
use menu::Menu;
use teo::Teo;

/// The farthest timer that a governor sees, ns: a kernel with default options arms its lockup watchdog on every CPU
/// each 4 s (watchdog_thresh 10 s x 2 / 5). The watchdog itself is not simulated.
pub(crate) const FAR_NS: u64 = 4_000_000_000;

/// A governor may take a state that pays this soon without looking at timers, ns.
const RESIDENCY_THRESHOLD_NS: u64 = 15_000;

/// Input of an idle governor's selection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SelectInput {
    pub now: Time,
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

/// Outcome of an idle period, from which the governor learns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleResult {
    pub now: Time,
    /// Length of the idle period, exit latency included, ns.
    pub slept_ns: u64,
    pub by_tick: bool,
    /// Length of a tick, ns.
    pub period_ns: u64,
}

/// One CPU's governor with its memory.
#[derive(Clone, Debug)]
pub(crate) enum Governor {
    Menu(Menu),
    Teo(Teo),
    Shallowest,
    Deepest,
}

impl Governor {
    /// One that has seen nothing yet.
    pub(crate) fn new(which: IdleGovernor, nr_states: usize) -> Self {
        match which {
            IdleGovernor::Menu => Governor::Menu(Menu::default()),
            IdleGovernor::Teo => Governor::Teo(Teo::new(nr_states)),
            IdleGovernor::Shallowest => Governor::Shallowest,
            IdleGovernor::Deepest => Governor::Deepest,
        }
    }

    /// The state to ask for, and whether to stop the tick.
    pub(crate) fn select(&mut self, states: &[IdleState], o: &SelectInput) -> (usize, bool) {
        match self {
            Governor::Menu(menu) => menu.select(states, o),
            Governor::Teo(teo) => teo.select(states, o),
            Governor::Shallowest => (0, false),
            Governor::Deepest => (states.len() - 1, true),
        }
    }

    /// Learns from a stay in `states[asked]`.
    pub(crate) fn reflect(&mut self, states: &[IdleState], asked: usize, woken: &IdleResult) {
        match self {
            Governor::Menu(menu) => menu.reflect(&states[asked], woken),
            Governor::Teo(teo) => teo.reflect(states, asked, woken),
            Governor::Shallowest | Governor::Deepest => {}
        }
    }
}

/// The deepest of the states up to `from` that pays within `ns`; the shallowest if none does.
fn pays_within(states: &[IdleState], from: usize, ns: u64) -> usize {
    states[..=from].iter().rposition(|s| s.target_residency_ns <= ns).unwrap_or(0)
}

//! Power over time: the mean of each rail since the last look, for those who want to see more than a run's sums.

use super::queue::What;
use super::Engine;
use crate::{Energy, EventKind};

/// nW in one uW.
const NW_PER_UW: Energy = 1000;

impl Engine {
    /// Time 0: the first sample is awaited, if any is wanted.
    pub(super) fn arm_samples(&mut self) {
        if let Some(every) = self.config.power_every_ns {
            self.queue.push(every.max(1), What::PowerSample);
        }
    }

    /// Reports what each rail has drawn since the last sample, and awaits the next.
    pub(super) fn sample_power(&mut self) {
        let Some(every) = self.config.power_every_ns.map(|ns| ns.max(1)) else { return };
        let machine = std::sync::Arc::clone(&self.machine);
        let now = self.energy_now().by_rail(&machine);
        let before = std::mem::replace(&mut self.sampled, now.clone());
        for (rail, (_, cpus)) in machine.rails().into_iter().enumerate() {
            let drawn = now[rail] - before.get(rail).copied().unwrap_or(0);
            let microwatts = (drawn / NW_PER_UW / Energy::from(every)) as u64;
            self.emit(cpus.first().unwrap_or(0), EventKind::Power { rail: rail as u16, microwatts });
        }
        self.queue.push(self.now + every, What::PowerSample);
    }
}

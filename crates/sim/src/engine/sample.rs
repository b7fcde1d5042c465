//! Energy samples over time: what each rail has consumed so far, by purpose, as a
//! meter that only counts up shows it. Readings may be left out without losing anything, and the last one is the sum.

use std::sync::Arc;

use super::queue::EngineEvent;
use super::Engine;
use crate::{Energy, EventKind};

/// nW x ns in one pJ.
const PER_PJ: Energy = 1_000_000;

impl Engine {
    /// Time 0: meters show nothing, and the first look is awaited, if any is wanted.
    pub(super) fn arm_samples(&mut self) {
        if self.config.energy_every_ns.is_some() {
            self.sample_energy();
        }
    }

    /// Reports, and awaits the next look.
    pub(super) fn sample_energy(&mut self) {
        let Some(every) = self.config.energy_every_ns else { return };
        self.report_energy();
        self.queue.push(self.now + every.max(1), EngineEvent::EnergySample);
    }

    /// Reports what each rail has taken for what.
    pub(super) fn report_energy(&mut self) {
        let machine = Arc::clone(&self.machine);
        let rails = self.energy_now().by_rail(&machine);
        for (id, ((_, cpus), rail)) in machine.rails().into_iter().zip(rails).enumerate() {
            for (part, energy) in rail.parts() {
                let picojoules = (energy / PER_PJ).clamp(0, Energy::from(u64::MAX)) as u64;
                self.emit(cpus.first().unwrap_or(0), EventKind::Energy { rail: id as u16, part, picojoules });
            }
        }
    }
}

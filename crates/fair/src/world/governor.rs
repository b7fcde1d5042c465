//! schedutil: one `FgSugov` for each clock of the machine.
//!
//! DEVIATION: workloads have no I/O waits, so there is no I/O wait boost (`FG_ENQUEUE_IOWAIT`).

use fairground_machine::{CpuMask, Machine};

use super::slabs::World;
use crate::ffi::*;
use crate::storage::Slab;

impl World {
    /// schedutil sets all clocks from now on. Called after [`Self::start_energy_awareness`], which builds their energy
    /// models.
    pub fn start_governor(&mut self, machine: &Machine) {
        let clock = |id| FgSugov { em: self.energy.ems.ptr(id), ..FgSugov::zeroed() };
        self.sugovs = Slab::new((0..machine.freq_domains.len()).map(clock).collect());
        for (id, domain) in machine.freq_domains.iter().enumerate() {
            self.sugov_start(id, domain.reported_transition_ns());
            domain.cpus.iter().for_each(|cpu| self.cpus[cpu as usize].sugov = self.sugovs.ptr(id));
        }
    }

    /// The frequency that schedutil requested for the clock of a CPU since the last call, kHz; none: no new request.
    pub fn take_frequency(&mut self, cpu: usize) -> Option<u32> {
        let clock = self.sugovs.index_of(self.cpus[cpu].sugov)?;
        let sugov = &mut self.sugovs[clock];
        (std::mem::take(&mut sugov.asked) != 0).then_some(sugov.khz)
    }

    /// schedutil's state of the clock of a CPU; none if it does not set it.
    pub fn sugov_mut(&mut self, cpu: usize) -> Option<&mut FgSugov> {
        let clock = self.sugovs.index_of(self.cpus[cpu].sugov)?;
        Some(&mut self.sugovs[clock])
    }

    /// The CPUs on the clock of a CPU; none if schedutil does not set it.
    pub fn clock_cpus(&self, cpu: usize) -> CpuMask {
        let clock = self.sugovs.index_of(self.cpus[cpu].sugov);
        let em = clock.and_then(|clock| self.energy.ems.index_of(self.sugovs[clock].em));
        em.map_or(CpuMask::EMPTY, |em| self.energy.ems[em].span)
    }

    /// Sets cpufreq's maximum of the clock of a CPU to `khz`.
    pub fn limit_governor(&mut self, cpu: usize, khz: u32) {
        if let Some(clock) = self.sugovs.index_of(self.cpus[cpu].sugov) {
            self.sugov_limits(clock, khz);
        }
    }
}

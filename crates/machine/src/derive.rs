//! Values derived from the machine: distances between CPUs, capacity at a frequency.

use crate::{CpuId, CpuMask, Distance, Machine};

impl Machine {
    /// The CPUs no farther from `cpu` than `distance`, `cpu` included. Panics if `cpu` is no CPU of this machine.
    pub fn cpus_within(&self, cpu: CpuId, distance: Distance) -> CpuMask {
        (0..self.nr_cpus() as CpuId).filter(|other| self.distance(cpu, *other) <= distance).collect()
    }

    /// The distances that occur between two CPUs of this machine, nearest first; always starts with `Same`.
    pub fn distances(&self) -> Vec<Distance> {
        let mut seen = [false; Distance::COUNT];
        for a in 0..self.nr_cpus() as CpuId {
            (0..self.nr_cpus() as CpuId).for_each(|b| seen[self.distance(a, b) as usize] = true);
        }
        Distance::ALL.into_iter().filter(|d| seen[*d as usize]).collect()
    }

    /// Top frequency of a CPU, kHz.
    pub fn max_khz(&self, cpu: CpuId) -> u32 {
        self.freq_domain_of(cpu).opps.last().map_or(0, |opp| opp.khz)
    }

    /// Capacity of a CPU while its clock runs at `khz`: capacity x khz / top frequency, 0.0..=1024.0. SMT siblings
    /// are not considered.
    pub fn capacity_at(&self, cpu: CpuId, khz: u32) -> f64 {
        f64::from(self.cpus[cpu as usize].capacity) * f64::from(khz) / f64::from(self.max_khz(cpu).max(1))
    }

    /// SLIT distance between the nodes of two CPUs, 10 = local.
    pub fn slit(&self, a: CpuId, b: CpuId) -> u32 {
        self.numa_distance[self.cpus[a as usize].node as usize][self.cpus[b as usize].node as usize]
    }

    /// Whether not all CPUs have the same capacity (SD_ASYM_CPUCAPACITY).
    pub fn is_asymmetric(&self) -> bool {
        self.cpus.iter().any(|cpu| cpu.capacity != self.cpus[0].capacity)
    }
}

//! Power over time, frequencies, and which idle state the hardware is in.
//!
//! A CPU that runs, is in overhead, enters or leaves idle takes the active power of its operating point; in idle that
//! of the state the hardware holds. A cluster state is held while every CPU of the cluster asks for it or a deeper
//! one; until then each holds its deepest state of its own. Sums are f64, added in event order: reproducible.

use fairground_machine::{Cluster, CpuId, IdleScope, Machine};

use super::cpu::Mode;
use super::Engine;
use crate::{EventKind, Time};

/// mW x ns in one joule.
const MW_NS_PER_J: f64 = 1e12;
/// mW x ns in one microjoule.
const MW_NS_PER_UJ: f64 = 1e6;

/// Who of a cluster asks for what.
#[derive(Debug)]
pub(crate) struct ClusterState {
    nr_cpus: u32,
    /// Sleeping CPUs by the index they ask for, if it is a cluster state.
    asks: Vec<u32>,
    /// The cluster state that the hardware holds.
    held: Option<usize>,
    /// Static energy up to `energy_at`, mW x ns.
    energy: f64,
    energy_at: Time,
}

impl ClusterState {
    pub(crate) fn new(machine: &Machine, cluster: &Cluster) -> Self {
        let states = cluster.cpus.iter().map(|c| machine.idle_states(c).len()).max().unwrap_or(1);
        ClusterState {
            nr_cpus: cluster.cpus.count() as u32,
            asks: vec![0; states],
            held: None,
            energy: 0.0,
            energy_at: 0,
        }
    }

    /// The deepest state that all ask for at least.
    fn agreed(&self) -> Option<usize> {
        let mut asking = 0;
        for (i, n) in self.asks.iter().enumerate().rev() {
            asking += n;
            if asking == self.nr_cpus {
                return Some(i);
            }
        }
        None
    }
}

impl Engine {
    /// The state that a sleeping CPU's hardware is in.
    pub(super) fn held_state(&self, cpu: CpuId) -> usize {
        let states = self.machine.idle_states(cpu);
        let asked = self.cpus[cpu as usize].stay.asked;
        if states[asked].scope == IdleScope::Cpu {
            return asked;
        }
        let cluster = &self.clusters[self.machine.cpus[cpu as usize].cluster as usize];
        let own = || states[..asked].iter().rposition(|s| s.scope == IdleScope::Cpu).unwrap_or(0);
        cluster.held.unwrap_or_else(own)
    }

    /// What an idle state of a CPU saves over the next shallower one, mW. The first cluster state saves the CPU's part of
    /// the cluster's static power too.
    pub(super) fn saved_mw(&self, cpu: CpuId, state: usize) -> f64 {
        let states = self.machine.idle_states(cpu);
        let Some(shallower) = state.checked_sub(1).map(|i| &states[i]) else { return 0.0 };
        let own = shallower.power_mw - states[state].power_mw;
        if shallower.scope == states[state].scope {
            return own;
        }
        let cluster = &self.machine.clusters[self.machine.cpus[cpu as usize].cluster as usize];
        own + (cluster.active_mw - cluster.idle_mw) / cluster.cpus.count() as f64
    }

    fn active_mw(&self, cpu: CpuId) -> f64 {
        let domain = self.machine.cpus[cpu as usize].freq_domain as usize;
        self.machine.freq_domains[domain].opps[self.opp[domain] as usize].active_mw
    }

    /// Adds `power` from where the CPU's account stands to `until`. Going back undoes.
    fn add_energy(&mut self, cpu: CpuId, power_mw: f64, until: Time) {
        let c = &mut self.cpus[cpu as usize];
        let dt = until as f64 - c.energy_at as f64;
        c.energy += power_mw * dt;
        c.energy_at = until;
    }

    /// Brings a CPU's account up to `until` in whatever it is doing.
    fn settle_energy(&mut self, cpu: CpuId, until: Time) {
        if self.cpus[cpu as usize].mode != Mode::Asleep {
            return self.add_energy(cpu, self.active_mw(cpu), until);
        }
        let entered = self.cpus[cpu as usize].stay.entered;
        if self.cpus[cpu as usize].energy_at < entered {
            self.add_energy(cpu, self.active_mw(cpu), until.min(entered));
        }
        if until > self.cpus[cpu as usize].energy_at {
            let held = self.held_state(cpu);
            let c = &mut self.cpus[cpu as usize];
            c.stay.reach(held);
            c.idle_stats[held].held_ns += until - c.energy_at;
            let power = self.machine.idle_states(cpu)[held].power_mw;
            self.add_energy(cpu, power, until);
        }
    }

    /// The CPU has gone to sleep: its stay is set up.
    pub(super) fn energy_asleep(&mut self, cpu: CpuId) {
        let from = self.cpus[cpu as usize].stay.from;
        self.add_energy(cpu, self.active_mw(cpu), from);
        self.ask(cpu, 1);
    }

    /// The sleeping CPU begins to wake at `starts` (the end of entry, if that is later).
    pub(super) fn energy_awake(&mut self, cpu: CpuId, starts: Time, transition_uj: f64) {
        self.settle_energy(cpu, starts);
        self.cpus[cpu as usize].energy += transition_uj * MW_NS_PER_UJ;
        self.ask(cpu, -1);
    }

    /// A CPU starts (+1) or ceases (-1) to ask for its state; the cluster follows.
    ///
    /// DEVIATION: the cluster's static power changes when the last CPU asks, not when that CPU has finished entering:
    /// at most `entry_ns` (tens of microseconds) too early a stay, and an event of its own would be needed for it.
    fn ask(&mut self, cpu: CpuId, change: i32) {
        let asked = self.cpus[cpu as usize].stay.asked;
        if self.machine.idle_states(cpu)[asked].scope != IdleScope::Cluster {
            return;
        }
        let id = self.machine.cpus[cpu as usize].cluster as usize;
        let cluster = &mut self.clusters[id];
        cluster.asks[asked] = cluster.asks[asked].wrapping_add_signed(change);
        let agreed = cluster.agreed();
        if agreed == cluster.held {
            return;
        }
        self.settle_cluster(id);
        // Rare (the whole cluster falls asleep or its first CPU wakes), hence may look at every member.
        let members = self.machine.clusters[id].cpus;
        for member in members.iter().filter(|m| *m != cpu) {
            if self.cpus[member as usize].mode == Mode::Asleep {
                self.settle_energy(member, self.now);
            }
        }
        self.clusters[id].held = agreed;
    }

    fn settle_cluster(&mut self, id: usize) {
        let hw = &self.machine.clusters[id];
        let c = &mut self.clusters[id];
        let power = if c.held.is_some() { hw.idle_mw } else { hw.active_mw };
        c.energy += power * (self.now - c.energy_at) as f64;
        c.energy_at = self.now;
    }

    /// Brings all accounts up to now; energy by CPU and by cluster, J.
    pub(super) fn energy_now(&mut self) -> (Vec<f64>, Vec<f64>) {
        for cpu in 0..self.cpus.len() as CpuId {
            self.settle_energy(cpu, self.now);
        }
        for id in 0..self.clusters.len() {
            self.settle_cluster(id);
        }
        let cpus = self.cpus.iter().map(|c| c.energy / MW_NS_PER_J).collect();
        (cpus, self.clusters.iter().map(|c| c.energy / MW_NS_PER_J).collect())
    }

    /// A frequency domain now runs at this operating point.
    pub(super) fn apply_frequency(&mut self, domain: u32, opp: u32) {
        let members = self.machine.freq_domains[domain as usize].cpus;
        for cpu in members.iter() {
            self.settle_energy(cpu, self.now);
        }
        self.opp[domain as usize] = opp;
        let opps = &self.machine.freq_domains[domain as usize].opps;
        let khz = opps[opp as usize].khz;
        let top = opps.last().map_or(khz, |o| o.khz);
        let scale = (u64::from(khz) * 1024 / u64::from(top)) as u32;
        for cpu in members.iter() {
            self.env.cpu_mut(cpu).freq_scale = scale.max(1);
            self.update_speed(cpu);
            self.emit(cpu, EventKind::Frequency { khz });
        }
        if let Some(first) = members.first() {
            self.call(first, |s, e| s.frequency_changed(e, &members));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_agrees_on_the_shallowest_request() {
        let mut c = ClusterState { nr_cpus: 3, asks: vec![0; 4], held: None, energy: 0.0, energy_at: 0 };
        c.asks[3] = 2;
        assert_eq!(c.agreed(), None);
        c.asks[2] = 1;
        assert_eq!(c.agreed(), Some(2));
    }
}

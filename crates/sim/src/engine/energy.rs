//! Power over time, frequencies, and which idle state the hardware is in.
//!
//! A CPU that runs, is in overhead, enters or leaves idle takes the active power of its operating point; in idle that
//! of the state the hardware holds. A cluster state is held while every CPU of the cluster asks for it or a deeper
//! one; until then each holds its deepest state of its own. The voltage of a supply is that of its clock's operating
//! point or a higher one that other clocks vote for: running, the shallowest idle state and the supply's static power
//! follow it.

use std::sync::Arc;

use fairground_machine::{Cluster, CpuId, CpuType, FreqDomain, IdleScope, Machine};

use super::cpu::Mode;
use super::idle::IdlePeriod;
use super::Engine;
use crate::{Energy, EnergyBook, EventKind, Time};

/// nW in one mW.
const NW_PER_MW: f64 = 1e6;
/// nW x ns in one microjoule.
const PER_UJ: f64 = 1e12;

/// In whole nW: what is added up is exact.
fn nw(mw: f64) -> i64 {
    (mw * NW_PER_MW).round() as i64
}

/// Power x time. Time may run backwards, which undoes.
fn energy(nw: i64, from: Time, to: Time) -> Energy {
    Energy::from(nw) * (Energy::from(to) - Energy::from(from))
}

/// What a clock and its supply draw at the present operating point and voltage, nW.
#[derive(Debug, Default)]
struct Draw {
    active: i64,
    /// One CPU in its shallowest idle state; none: as the state says.
    wfi: Option<i64>,
    fixed: i64,
    /// Static energy up to `energy_at`.
    energy: Energy,
    energy_at: Time,
}

/// Powers of the moment.
#[derive(Debug)]
pub(crate) struct Power {
    draws: Vec<Draw>,
    /// By core type, then by idle state, nW.
    idle: Vec<Vec<i64>>,
}

impl Power {
    pub(crate) fn new(machine: &Machine) -> Self {
        let states = |t: &CpuType| t.idle_states.iter().map(|s| nw(s.power_mw)).collect();
        Power {
            draws: machine.freq_domains.iter().map(|_| Draw::default()).collect(),
            idle: machine.cpu_types.iter().map(states).collect(),
        }
    }
}

/// Idle states that the CPUs of a cluster ask for.
#[derive(Debug)]
pub(crate) struct ClusterState {
    nr_cpus: u32,
    /// Sleeping CPUs by the index they ask for, if it is a cluster state.
    asks: Vec<u32>,
    /// The cluster state that the hardware holds.
    held: Option<usize>,
    /// Static energy up to `energy_at`.
    energy: Energy,
    energy_at: Time,
}

impl ClusterState {
    pub(crate) fn new(machine: &Machine, cluster: &Cluster) -> Self {
        let states = cluster.cpus.iter().map(|c| machine.idle_states(c).len()).max().unwrap_or(1);
        ClusterState {
            nr_cpus: cluster.cpus.count() as u32,
            asks: vec![0; states],
            held: None,
            energy: 0,
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
        let IdlePeriod { asked, from, .. } = self.cpus[cpu as usize].stay;
        if !self.machine.type_of(cpu).cpuidle {
            let slept_ns = self.now.saturating_sub(from);
            return states.iter().rposition(|state| state.target_residency_ns <= slept_ns).unwrap_or(0);
        }
        if states[asked].scope == IdleScope::Cpu {
            return asked;
        }
        let cluster = &self.clusters[self.machine.cpus[cpu as usize].cluster as usize];
        let own = || states[..asked].iter().rposition(|s| s.scope == IdleScope::Cpu).unwrap_or(0);
        cluster.held.unwrap_or_else(own)
    }

    /// What an idle state of a CPU saves over the next shallower one, mW. The first cluster state saves the CPU's part
    /// of the cluster's static power too.
    pub(super) fn saved_mw(&self, cpu: CpuId, state: usize) -> f64 {
        let states = self.machine.idle_states(cpu);
        let Some(above) = state.checked_sub(1) else { return 0.0 };
        let shallower = &states[above];
        let own = (self.idle_nw(cpu, above) - self.idle_nw(cpu, state)) as f64 / NW_PER_MW;
        if shallower.scope == states[state].scope {
            return own;
        }
        let cluster = &self.machine.clusters[self.machine.cpus[cpu as usize].cluster as usize];
        own + (cluster.active_mw - cluster.idle_mw) / cluster.cpus.count() as f64
    }

    fn active_nw(&self, cpu: CpuId) -> i64 {
        self.power.draws[self.machine.cpus[cpu as usize].freq_domain as usize].active
    }

    fn idle_nw(&self, cpu: CpuId, state: usize) -> i64 {
        let hw = &self.machine.cpus[cpu as usize];
        let at_voltage = self.power.draws[hw.freq_domain as usize].wfi.filter(|_| state == 0);
        at_voltage.unwrap_or(self.power.idle[hw.cpu_type as usize][state])
    }

    /// Adds active power from where the CPU's account stands to `until`. Going back undoes.
    fn add_active(&mut self, cpu: CpuId, until: Time) {
        let nw = self.active_nw(cpu);
        let c = &mut self.cpus[cpu as usize];
        c.energy.active += energy(nw, c.energy_at, until);
        c.energy_at = until;
    }

    /// Brings a CPU's account up to `until` in whatever it is doing.
    fn settle_energy(&mut self, cpu: CpuId, until: Time) {
        if self.cpus[cpu as usize].mode != Mode::Asleep {
            return self.add_active(cpu, until);
        }
        let entered = self.cpus[cpu as usize].stay.entered;
        if self.cpus[cpu as usize].energy_at < entered {
            self.add_active(cpu, until.min(entered));
        }
        if until > self.cpus[cpu as usize].energy_at {
            let held = self.held_state(cpu);
            let nw = self.idle_nw(cpu, held);
            let c = &mut self.cpus[cpu as usize];
            c.stay.reach(held);
            c.idle_stats[held].held_ns += until - c.energy_at;
            c.energy.idle[held] += energy(nw, c.energy_at, until);
            c.energy_at = until;
        }
    }

    /// The CPU has gone to sleep: its stay is set up.
    pub(super) fn energy_asleep(&mut self, cpu: CpuId) {
        let from = self.cpus[cpu as usize].stay.from;
        self.add_active(cpu, from);
        self.ask(cpu, 1);
    }

    /// The sleeping CPU begins to wake at `starts` (the end of entry, if that is later).
    pub(super) fn energy_awake(&mut self, cpu: CpuId, starts: Time, transition_uj: f64) {
        self.settle_energy(cpu, starts);
        self.cpus[cpu as usize].energy.transitions += (transition_uj * PER_UJ).round() as Energy;
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
        c.energy += energy(nw(power), c.energy_at, self.now);
        c.energy_at = self.now;
    }

    fn settle_supply(&mut self, domain: usize) {
        let draw = &mut self.power.draws[domain];
        draw.energy += energy(draw.fixed, draw.energy_at, self.now);
        draw.energy_at = self.now;
    }

    /// Brings all accounts up to now.
    pub(super) fn energy_now(&mut self) -> EnergyBook {
        (0..self.cpus.len() as CpuId).for_each(|cpu| self.settle_energy(cpu, self.now));
        (0..self.clusters.len()).for_each(|id| self.settle_cluster(id));
        (0..self.power.draws.len()).for_each(|domain| self.settle_supply(domain));
        EnergyBook {
            cpus: self.cpus.iter().map(|c| c.energy.clone()).collect(),
            clusters: self.clusters.iter().map(|c| c.energy).collect(),
            supplies: self.power.draws.iter().map(|d| d.energy).collect(),
        }
    }

    /// The operating point whose voltage a domain's supply has.
    fn voltage_point(&self, domain: u32) -> u32 {
        let votes = self.machine.votes.iter().filter(|v| v.on == domain);
        let least = votes.map(|v| v.voltage[self.opp[v.from as usize] as usize]);
        least.fold(self.opp[domain as usize], u32::max)
    }

    /// The operating point that other clocks vote for.
    pub(super) fn voted_opp(&self, domain: u32) -> u32 {
        let votes = self.machine.votes.iter().filter(|v| v.on == domain);
        votes.map(|v| v.clock[self.opp[v.from as usize] as usize]).max().unwrap_or(0)
    }

    /// The clock or the voltage of a domain is new: what was drawn up to now is booked, from now on it is this.
    fn redraw(&mut self, domain: u32) {
        let members = self.machine.freq_domains[domain as usize].cpus;
        members.iter().for_each(|cpu| self.settle_energy(cpu, self.now));
        self.settle_supply(domain as usize);
        let opps = &self.machine.freq_domains[domain as usize].opps;
        let voltage = &opps[self.voltage_point(domain) as usize];
        let draw = &mut self.power.draws[domain as usize];
        draw.active = nw(opps[self.opp[domain as usize] as usize].active_mw_at(voltage));
        draw.wfi = voltage.wfi_mw.map(nw);
        draw.fixed = nw(voltage.static_mw);
    }

    /// A frequency domain now runs at this operating point, and those that it votes on follow.
    pub(super) fn apply_frequency(&mut self, domain: u32, opp: u32) {
        self.opp[domain as usize] = opp;
        self.redraw(domain);
        let FreqDomain { cpus: members, opps, .. } = &self.machine.freq_domains[domain as usize];
        let members = *members;
        let khz = opps[opp as usize].khz;
        let top = opps.last().map_or(khz, |o| o.khz);
        self.at_top[domain as usize].set(self.now, khz == top);
        let scale = (u64::from(khz) * 1024 / u64::from(top)) as u32;
        for cpu in members.iter() {
            self.env.cpu_mut(cpu).freq_scale = scale.max(1);
            self.update_speed(cpu);
            self.emit(cpu, EventKind::Frequency { khz });
        }
        if let Some(first) = members.first() {
            self.call(first, |s, e| s.frequency_changed(e, &members));
        }
        let machine = Arc::clone(&self.machine);
        machine.votes.iter().filter(|v| v.from == domain).for_each(|v| self.follow_votes(v.on));
    }

    /// A clock that votes on this one has changed. Votes end here: a clock that others vote on does not vote.
    ///
    /// DEVIATION: the hardware raises what is voted on before the voter; here both change at one instant.
    fn follow_votes(&mut self, domain: u32) {
        let opp = self.permitted_opp(domain);
        if opp == self.opp[domain as usize] {
            self.redraw(domain);
        } else {
            self.apply_frequency(domain, opp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_agrees_on_the_shallowest_request() {
        let mut c = ClusterState { nr_cpus: 3, asks: vec![0; 4], held: None, energy: 0, energy_at: 0 };
        c.asks[3] = 2;
        assert_eq!(c.agreed(), None);
        c.asks[2] = 1;
        assert_eq!(c.agreed(), Some(2));
    }
}

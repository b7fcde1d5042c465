//! Power of a placement of steady tasks: by the energy model, and by the machine.
//!
//! | | busy CPU | the rest |
//! |---|---|---|
//! | [`Price::model_mw`] | power of the operating point in the kernel's energy model, for its share of busy time | nothing |
//! | [`Price::power_mw`] | power of the operating point at the voltage of its supply | idle states, clusters, supplies, votes of clocks: what the simulated machine draws |
//!
//! The scheduler optimizes the first; the second is the true power. Both use the frequencies that schedutil would
//! set for the utilization of the tasks: the slowest efficient operating point that leaves the busiest CPU of the clock a
//! fifth to spare, within the clamps.
//!
//! DEVIATION: of the simulated machine the price leaves out ticks, switches, entries and exits of idle; phases of tasks
//! on different CPUs are taken to be independent; a clock without running CPUs is at its slowest, and sleeps are as
//! long as those of tasks that come one after another with equal gaps.

use fairground_machine::{CpuId, FreqDomain, IdleScope, Machine, Opp};

use super::steady::{Steady, PERIOD};

/// schedutil's headroom (x 1.25), and the margin of fits_capacity: spec 7 and 8.
const HEADROOM: f64 = 1.25;
const FITS: f64 = 1.25;
/// Full scale of clamps and capacities.
const SCALE: f64 = 1024.0;

/// Mean power of a placement, by two measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// By the kernel's energy model, mW.
    pub model_mw: f64,
    /// By the simulated machine, mW.
    pub power_mw: f64,
}

/// Sums over the tasks of a CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Load {
    util: f64,
    min: f64,
    max: f64,
    nr: u32,
}

const NONE: Load = Load { util: 0.0, min: 0.0, max: 0.0, nr: 0 };

impl Load {
    fn add(&mut self, task: &Steady) {
        self.util += task.util;
        self.min = self.min.max(f64::from(task.min));
        self.max = self.max.max(f64::from(task.max));
        self.nr += 1;
    }

    /// The utilization that schedutil requests. If the maximum is below the minimum, the minimum wins.
    fn request(&self) -> f64 {
        if self.nr == 0 {
            0.0
        } else {
            (self.util * HEADROOM).min(self.max).max(self.min)
        }
    }
}

/// Prices placements on a machine.
pub struct Pricer<'m> {
    machine: &'m Machine,
    /// By frequency domain: indices of the operating points that schedutil uses.
    efficient: Vec<Vec<usize>>,
}

impl<'m> Pricer<'m> {
    /// A pricer for states of this machine.
    pub fn new(machine: &'m Machine) -> Pricer<'m> {
        Pricer { machine, efficient: machine.freq_domains.iter().map(efficient).collect() }
    }

    /// The price of `placement` (the CPU of each task). None: a CPU is overloaded, cannot reach a `uclamp.min`, or has
    /// more to do than it gets done at its clock.
    pub fn price(&self, tasks: &[Steady], placement: &[CpuId]) -> Option<Price> {
        let mut loads = vec![NONE; self.machine.nr_cpus()];
        tasks.iter().zip(placement).for_each(|(task, cpu)| loads[*cpu as usize].add(task));
        if !self.machine.cpus.iter().all(|c| fits(&loads[c.id as usize], f64::from(c.capacity))) {
            return None;
        }
        let own: Vec<usize> = (0..self.efficient.len()).map(|clock| self.point(clock, &loads)).collect();
        let clocks: Vec<usize> = (0..own.len()).map(|clock| self.voted(clock, &own, |v| &v.clock)).collect();
        let busy: Vec<f64> = self.machine.cpus.iter().map(|c| self.busy(c.id, &loads, &clocks)).collect();
        if busy.iter().any(|busy| *busy > 1.0) {
            return None;
        }
        Some(Price { model_mw: self.model_mw(&loads, &own), power_mw: self.power_mw(&loads, &clocks, &busy) })
    }

    fn capacity_at(&self, cpu: CpuId, opp: &Opp) -> f64 {
        self.machine.capacity_at(cpu, opp.khz)
    }

    /// The operating point that schedutil selects.
    fn point(&self, clock: usize, loads: &[Load]) -> usize {
        let FreqDomain { cpus, opps, .. } = &self.machine.freq_domains[clock];
        let enough = |point: &&usize| {
            cpus.iter().all(|cpu| loads[cpu as usize].request() <= self.capacity_at(cpu, &opps[**point]))
        };
        self.efficient[clock].iter().find(enough).copied().unwrap_or(opps.len() - 1)
    }

    /// Lowest operating point of a clock, or of its voltage, that votes of other clocks allow.
    fn voted<'v>(
        &'v self,
        clock: usize,
        at: &[usize],
        of: impl Fn(&'v fairground_machine::Vote) -> &'v Vec<u32>,
    ) -> usize {
        let votes = self.machine.votes.iter().filter(|v| v.on as usize == clock);
        votes.map(|v| of(v)[at[v.from as usize]] as usize).fold(at[clock], usize::max)
    }

    fn busy(&self, cpu: CpuId, loads: &[Load], clocks: &[usize]) -> f64 {
        let clock = self.machine.cpus[cpu as usize].freq_domain as usize;
        loads[cpu as usize].util / self.capacity_at(cpu, &self.machine.freq_domains[clock].opps[clocks[clock]])
    }

    /// Power of a frequency domain at an operating point, by the busy shares of its CPUs.
    fn model_mw(&self, loads: &[Load], points: &[usize]) -> f64 {
        let of_clock = |(domain, point): (&FreqDomain, &usize)| {
            let opp = &domain.opps[*point];
            let busy = domain.cpus.iter().map(|cpu| loads[cpu as usize].util / self.capacity_at(cpu, opp));
            opp.model_uw() as f64 / 1e3 * busy.sum::<f64>()
        };
        self.machine.freq_domains.iter().zip(points).map(of_clock).sum()
    }

    fn power_mw(&self, loads: &[Load], clocks: &[usize], busy: &[f64]) -> f64 {
        let states: Vec<usize> = (0..busy.len()).map(|cpu| self.state(cpu as CpuId, loads, busy)).collect();
        let clusters: f64 = (0..self.machine.clusters.len()).map(|id| self.cluster_mw(id, &states, busy)).sum();
        let of_clock = |clock: usize| {
            let FreqDomain { cpus, opps, .. } = &self.machine.freq_domains[clock];
            let voltage = &opps[self.voted(clock, clocks, |v| &v.voltage)];
            let active = opps[clocks[clock]].active_mw_at(voltage);
            let of_cpu = |cpu: CpuId| {
                let busy_share = busy[cpu as usize];
                active * busy_share + self.idle_mw(cpu, &states, busy, voltage) * (1.0 - busy_share)
            };
            voltage.static_mw + cpus.iter().map(of_cpu).sum::<f64>()
        };
        clusters + (0..clocks.len()).map(of_clock).sum::<f64>()
    }

    /// The deepest idle state that the sleeps of a CPU are long enough for.
    fn state(&self, cpu: CpuId, loads: &[Load], busy: &[f64]) -> usize {
        let states = self.machine.idle_states(cpu);
        let Load { nr, .. } = loads[cpu as usize];
        let sleep = (1.0 - busy[cpu as usize]) * PERIOD as f64 / f64::from(nr.max(1));
        let pays = |state: &fairground_machine::IdleState| nr == 0 || state.target_residency_ns as f64 <= sleep;
        states.iter().rposition(pays).unwrap_or(0)
    }

    /// The share of time in which all CPUs of a cluster except `but` request a cluster idle state.
    fn down(&self, cluster: usize, states: &[usize], busy: &[f64], but: Option<CpuId>) -> f64 {
        let members = self.machine.clusters[cluster].cpus.iter().filter(|cpu| Some(*cpu) != but);
        let asks = |cpu: CpuId| self.machine.idle_states(cpu)[states[cpu as usize]].scope == IdleScope::Cluster;
        members.map(|cpu| if asks(cpu) { 1.0 - busy[cpu as usize] } else { 0.0 }).product()
    }

    fn cluster_mw(&self, id: usize, states: &[usize], busy: &[f64]) -> f64 {
        let (cluster, down) = (&self.machine.clusters[id], self.down(id, states, busy, None));
        cluster.idle_mw * down + cluster.active_mw * (1.0 - down)
    }

    /// Power of a sleeping CPU: in the cluster state while the others request it too, else in its deepest CPU state.
    fn idle_mw(&self, cpu: CpuId, states: &[usize], busy: &[f64], voltage: &Opp) -> f64 {
        let all = self.machine.idle_states(cpu);
        let power = |state: usize| voltage.wfi_mw.filter(|_| state == 0).unwrap_or(all[state].power_mw);
        let asked = states[cpu as usize];
        if all[asked].scope == IdleScope::Cpu {
            return power(asked);
        }
        let own = all[..asked].iter().rposition(|s| s.scope == IdleScope::Cpu).unwrap_or(0);
        let down = self.down(self.machine.cpus[cpu as usize].cluster as usize, states, busy, Some(cpu));
        power(asked) * down + power(own) * (1.0 - down)
    }
}

/// Spec 7.1 with everything at hand: utilization has a fifth to spare, or a ceiling that the CPU reaches; a floor is
/// reached, by utilization or by size.
fn fits(load: &Load, capacity: f64) -> bool {
    if load.nr == 0 {
        return true;
    }
    let is_unlimited = capacity == SCALE && load.max == SCALE;
    let is_capped = !is_unlimited && load.max <= capacity;
    let has_room = load.util * FITS < capacity || is_capped;
    let min = load.min.min(load.max);
    has_room && (load.util >= min || min <= capacity)
}

/// The operating points whose busy time costs less than that of every faster one.
fn efficient(domain: &FreqDomain) -> Vec<usize> {
    let cost = |opp: &Opp| opp.model_uw() as f64 / f64::from(opp.khz);
    let mut least = f64::INFINITY;
    let mut kept: Vec<usize> = Vec::new();
    for (point, opp) in domain.opps.iter().enumerate().rev() {
        if cost(opp) < least {
            least = cost(opp);
            kept.push(point);
        }
    }
    kept.reverse();
    kept
}

//! The power that a placement of tasks takes, and the least there is, by trying all placements.
//!
//! A task is its utilization. A clock runs at the slowest operating point that leaves each of its CPUs a fifth to
//! spare; a CPU is busy in proportion, and takes what its shallowest idle state does otherwise; a cluster with nobody
//! in it is off. Nothing is charged for going in and out of idle.
//!
//! This is not [`fairground_lab::regret::Pricer`], which has no price for placements that do not fit: those are what wrong
//! policies are caught by.

use fairground_lab::regret::each_placement;
use fairground_machine::{CpuId, FreqDomain, Machine, Opp};

/// The share of a CPU's capacity at an operating point that utilization may fill.
const FILL: f64 = 0.8;

pub struct Power<'m> {
    machine: &'m Machine,
}

impl<'m> Power<'m> {
    pub fn of(machine: &'m Machine) -> Power<'m> {
        Power { machine }
    }

    /// mW with each of the tasks `utils` on its CPU of `placement`, whether or not there is room: time beyond a CPU's
    /// capacity is not charged.
    pub fn at(&self, utils: &[f64], placement: &[CpuId]) -> f64 {
        self.of_loads(&self.loads(utils, placement))
    }

    /// The least over all placements that leave room everywhere; none: there is no such placement.
    pub fn least(&self, utils: &[f64]) -> Option<f64> {
        let mut least: Option<f64> = None;
        each_placement(self.machine, utils.len(), &mut |placement| {
            let loads = self.loads(utils, placement);
            if self.have_room(&loads) {
                let power = self.of_loads(&loads);
                least = Some(least.map_or(power, |least| least.min(power)));
            }
        });
        least
    }

    fn loads(&self, utils: &[f64], placement: &[CpuId]) -> Vec<f64> {
        let mut loads = vec![0.0; self.machine.nr_cpus()];
        utils.iter().zip(placement).for_each(|(util, cpu)| loads[*cpu as usize] += util);
        loads
    }

    fn have_room(&self, loads: &[f64]) -> bool {
        self.machine.cpus.iter().all(|c| loads[c.id as usize] <= FILL * f64::from(c.capacity))
    }

    fn of_loads(&self, loads: &[f64]) -> f64 {
        let is_used = |cpu: CpuId| loads[cpu as usize] > 0.0;
        let clusters = self.machine.clusters.iter();
        let clusters: f64 = clusters.map(|c| if c.cpus.iter().any(is_used) { c.active_mw } else { c.idle_mw }).sum();
        let clocks = self.machine.freq_domains.iter();
        let clocks: f64 = clocks
            .map(|clock| {
                let opp = self.opp(clock, loads);
                opp.static_mw + clock.cpus.iter().map(|cpu| self.of_cpu(cpu, opp, loads)).sum::<f64>()
            })
            .sum();
        clusters + clocks
    }

    /// The slowest point that leaves room, or the fastest.
    fn opp<'o>(&self, clock: &'o FreqDomain, loads: &[f64]) -> &'o Opp {
        let leaves_room = |opp: &Opp| {
            let mut cpus = clock.cpus.iter();
            cpus.all(|cpu| loads[cpu as usize] <= FILL * self.machine.capacity_at(cpu, opp.khz))
        };
        let last = &clock.opps[clock.opps.len() - 1];
        clock.opps.iter().find(|opp| leaves_room(opp)).unwrap_or(last)
    }

    fn of_cpu(&self, cpu: CpuId, opp: &Opp, loads: &[f64]) -> f64 {
        let busy = (loads[cpu as usize] / self.machine.capacity_at(cpu, opp.khz)).min(1.0);
        let idle = opp.wfi_mw.unwrap_or(self.machine.idle_states(cpu)[0].power_mw);
        opp.active_mw * busy + idle * (1.0 - busy)
    }
}

/// juno-r2 has two operating points for a task of 100: 800 MHz on an A53 gives 322 of 383, and 0.8 * 181 at 450 MHz is
/// enough. By hand: clusters 57 + 24, A53 42.4 * 100 / 181.4 + 6 * (1 - 100 / 181.4) + 3 * 6, A72 2 * 15.
#[test]
fn the_least_power_of_one_small_task_is_as_by_hand() {
    let machine = Machine::preset("juno-r2").unwrap();
    let busy = 100.0 / (383.0 * 450.0 / 950.0);
    let by_hand = 57.0 + 24.0 + 42.4 * busy + 6.0 * (1.0 - busy) + 3.0 * 6.0 + 2.0 * 15.0;
    let power = Power::of(&machine);
    let least = power.least(&[100.0]).unwrap();
    assert!((least - by_hand).abs() < 1e-9, "{least} {by_hand}");
    assert!((power.at(&[100.0], &[4]) - least).abs() < 1e-9 && power.at(&[100.0], &[1]) > least);
    assert_eq!(power.least(&[900.0]), None);
}

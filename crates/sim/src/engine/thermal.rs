//! Temperatures and thermal governors.
//!
//! ```text
//! energy of a step -> mean power of each node -> temperatures -> governors that are due -> caps -> limits, clocks
//! ```
//!
//! In every step of the machine's own length the network `C dT/dt = P + sum of (T_other - T) / R` is integrated with
//! the mean power of the step by the classical Runge-Kutta method of fourth order: for constant power and a step that
//! is short against C x R (files are held to that) as good as exact, and of IEEE + - * / only.

mod governor;

use fairground_machine::{CpuId, CpuMask, Thermal};

use super::duration_meter::DurationMeter;
use super::queue::EngineEvent;
use super::Engine;
use crate::{joules, Energy, EventKind, Time};

use governor::ZoneGovernor;

/// Thousandths in a degree.
const MILLI: f64 = 1e3;

/// The heat of a machine during a run.
#[derive(Debug)]
pub(crate) struct Heat {
    /// Temperature around the machine, degrees Celsius.
    ambient: f64,
    temps: Vec<f64>,
    /// What each node had taken at the last step.
    taken: Vec<Energy>,
    zone_governors: Vec<ZoneGovernor>,
    steps: u64,
    /// The operating point that each frequency domain may have at most.
    caps: Vec<u32>,
    /// How long each clock has been capped.
    capped: Vec<DurationMeter>,
}

impl Heat {
    /// `ambient_mc`: around the machine, if not as its file says; what it is hotter than that at the start stays.
    pub(crate) fn new(machine: &fairground_machine::Machine, ambient_mc: Option<i32>) -> Option<Heat> {
        let thermal = machine.thermal.as_ref()?;
        let shift = ambient_mc.map_or(0, |mc| mc - thermal.ambient_mc);
        let start = f64::from(thermal.start_mc + shift) / MILLI;
        Some(Heat {
            ambient: f64::from(thermal.ambient_mc + shift) / MILLI,
            temps: vec![start; thermal.nodes.len()],
            taken: vec![0; thermal.nodes.len()],
            zone_governors: thermal.zones.iter().map(|zone| ZoneGovernor::new(zone, machine)).collect(),
            steps: 0,
            caps: machine.freq_domains.iter().map(|d| d.opps.len() as u32 - 1).collect(),
            capped: vec![DurationMeter::default(); machine.freq_domains.len()],
        })
    }

    /// One step of `seconds` with these mean powers, W.
    fn integrate(&mut self, thermal: &Thermal, power: &[f64], seconds: f64) {
        let ambient = self.ambient;
        let at = |temps: &[f64], slope: &[f64], h: f64| -> Vec<f64> {
            let moved: Vec<f64> = temps.iter().zip(slope).map(|(t, d)| t + d * h).collect();
            slopes(thermal, ambient, power, &moved)
        };
        let a = slopes(thermal, ambient, power, &self.temps);
        let b = at(&self.temps, &a, seconds / 2.0);
        let c = at(&self.temps, &b, seconds / 2.0);
        let d = at(&self.temps, &c, seconds);
        for (i, t) in self.temps.iter_mut().enumerate() {
            *t += seconds / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]);
        }
    }

    fn milli_c(&self, node: usize) -> i32 {
        (self.temps[node] * MILLI).round() as i32
    }

    /// The cap on a domain may be lower or gone; true if it is another than before.
    fn cap(&mut self, now: Time, domain: usize, opp: u32, top: u32) -> bool {
        if std::mem::replace(&mut self.caps[domain], opp) == opp {
            return false;
        }
        self.capped[domain].set(now, opp < top);
        true
    }
}

/// Change of each node's temperature, K/s.
fn slopes(thermal: &Thermal, ambient: f64, power: &[f64], temps: &[f64]) -> Vec<f64> {
    let mut flow = power.to_vec();
    for link in &thermal.links {
        let [a, b] = link.between.map(|i| i as usize);
        let watts = (temps[a] - temps[b]) / link.k_per_w;
        flow[a] -= watts;
        flow[b] += watts;
    }
    let of = |(i, node): (usize, &fairground_machine::ThermalNode)| {
        let lost = node.to_ambient.map_or(0.0, |r| (temps[i] - ambient) / r);
        (flow[i] - lost) / node.j_per_k
    };
    thermal.nodes.iter().enumerate().map(of).collect()
}

impl Engine {
    /// Time 0: the first step is awaited.
    pub(super) fn arm_heat(&mut self) {
        if let Some(thermal) = &self.machine.thermal {
            self.queue.push(thermal.step_ns, EngineEvent::Heat);
            self.note_heat();
        }
    }

    /// A step of the network of heat is over.
    pub(super) fn heat_step(&mut self) {
        let machine = std::sync::Arc::clone(&self.machine);
        let Some(thermal) = &machine.thermal else { return };
        let by_cpu = self.energy_now().by_cpu(&machine);
        let sum = |cpus: &CpuMask| cpus.iter().map(|cpu| by_cpu[cpu as usize]).sum::<Energy>();
        let seconds = thermal.step_ns as f64 / 1e9;
        let Some(heat) = &mut self.heat else { return };
        let taken: Vec<Energy> = thermal.nodes.iter().map(|n| sum(&n.cpus)).collect();
        let power = taken.iter().zip(&heat.taken).map(|(new, old)| joules(new - old) / seconds);
        let power: Vec<f64> = power.collect();
        heat.taken = taken;
        heat.integrate(thermal, &power, seconds);
        heat.steps += 1;
        let steps = heat.steps;
        self.note_heat();
        for (i, zone) in thermal.zones.iter().enumerate() {
            if steps * thermal.step_ns % zone.polling_ns == 0 {
                self.look(i);
            }
        }
        self.queue.push(self.now + thermal.step_ns, EngineEvent::Heat);
    }

    /// Reports the temperatures of the nodes to the meters, which keep the highest.
    pub(super) fn note_heat(&mut self) {
        let Some(heat) = &self.heat else { return };
        let temps = (0..heat.temps.len()).map(|i| heat.milli_c(i));
        self.meters.temperatures(temps);
    }

    /// One governor looks and decides.
    fn look(&mut self, zone: usize) {
        let machine = std::sync::Arc::clone(&self.machine);
        let (Some(thermal), Some(mut heat)) = (&machine.thermal, self.heat.take()) else { return };
        let hw = &thermal.zones[zone];
        let mc = heat.milli_c(hw.node as usize);
        let first = thermal.nodes[hw.node as usize].cpus.first().unwrap_or(0);
        self.emit(first, EventKind::Temperature { zone: zone as u8, milli_c: mc });
        let idle_ns: Vec<u64> = (0..self.cpus.len() as CpuId).map(|cpu| self.account(cpu).idle_ns).collect();
        heat.zone_governors[zone].look(&machine, hw, mc, &self.opp, &idle_ns);
        for (domain, _) in &hw.cools {
            let domain = *domain as usize;
            let top = machine.freq_domains[domain].opps.len() as u32 - 1;
            let opp = heat.zone_governors.iter().filter_map(|w| w.cap_of(domain as u32)).min().unwrap_or(top);
            if heat.cap(self.now, domain, opp, top) {
                let cpu = machine.freq_domains[domain].cpus.first().unwrap_or(0);
                self.emit(cpu, EventKind::Cooling { state: top - opp });
            }
        }
        self.heat = Some(heat);
        hw.cools.iter().for_each(|(domain, _)| self.limits_change(*domain));
    }

    /// The highest frequency that cooling leaves a domain, kHz.
    pub(super) fn cooled_khz(&self, domain: u32) -> u32 {
        let opps = &self.machine.freq_domains[domain as usize].opps;
        let cap = self.heat.as_ref().map_or(opps.len() - 1, |heat| heat.caps[domain as usize] as usize);
        opps.get(cap).map_or(u32::MAX, |o| o.khz)
    }

    /// Time for which cooling has capped each frequency domain, ns; nothing on a machine without heat.
    pub(super) fn capped_ns(&self) -> Vec<u64> {
        self.heat.as_ref().map_or(Vec::new(), |heat| heat.capped.iter().map(|c| c.read(self.now)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_machine::{Machine, ThermalLink, ThermalNode};

    fn node(name: &str, j_per_k: f64, to_ambient: Option<f64>) -> ThermalNode {
        ThermalNode { name: name.into(), cpus: CpuMask::EMPTY, j_per_k, to_ambient }
    }

    fn heat(thermal: Thermal) -> (Thermal, Heat) {
        let mut machine = Machine::symmetric(1);
        machine.thermal = Some(thermal.clone());
        let heat = Heat::new(&machine, None).unwrap();
        (thermal, heat)
    }

    fn network(nodes: Vec<ThermalNode>, links: Vec<ThermalLink>) -> (Thermal, Heat) {
        heat(Thermal { ambient_mc: 25_000, start_mc: 25_000, step_ns: 100_000_000, nodes, links, zones: Vec::new() })
    }

    /// 2 W into 0.5 J/K over 10 K/W: 25 + 20 x (1 - e^(-t / 5 s)). After 5 s that is 37.642411, in the end 45 degrees.
    #[test]
    fn a_step_of_power_heats_one_node_as_the_closed_form_says() {
        let (thermal, mut heat) = network(vec![node("soc", 0.5, Some(10.0))], vec![]);
        (0..50).for_each(|_| heat.integrate(&thermal, &[2.0], 0.1));
        assert!((heat.temps[0] - 37.642_411_176_571_15).abs() < 1e-6, "{}", heat.temps[0]);
        (0..2000).for_each(|_| heat.integrate(&thermal, &[2.0], 0.1));
        assert!((heat.temps[0] - 45.0).abs() < 1e-9, "{}", heat.temps[0]);
    }

    /// All 2 W leave through the board: it settles at 25 + 2 x 10, and the die 2 W x 5 K/W above it.
    #[test]
    fn heat_flows_through_a_board_to_what_is_around() {
        let nodes = vec![node("die", 0.5, None), node("board", 5.0, Some(10.0))];
        let (thermal, mut heat) = network(nodes, vec![ThermalLink { between: [0, 1], k_per_w: 5.0 }]);
        heat.integrate(&thermal, &[2.0, 0.0], 0.1);
        assert!(heat.temps[0] > 25.3 && heat.temps[1] < 25.01, "{:?}", heat.temps);
        (0..20_000).for_each(|_| heat.integrate(&thermal, &[2.0, 0.0], 0.1));
        assert!((heat.temps[0] - 55.0).abs() < 1e-6 && (heat.temps[1] - 45.0).abs() < 1e-6, "{:?}", heat.temps);
    }

    #[test]
    fn another_ambient_shifts_the_start_too() {
        let mut machine = Machine::symmetric(1);
        let nodes = vec![node("soc", 1.0, Some(1.0))];
        let (ambient_mc, start_mc) = (25_000, 31_000);
        machine.thermal =
            Some(Thermal { ambient_mc, start_mc, step_ns: 1_000_000, nodes, links: vec![], zones: vec![] });
        let heat = Heat::new(&machine, Some(35_000)).unwrap();
        assert_eq!((heat.ambient, heat.temps[0]), (35.0, 41.0));
    }
}

//! Thermal governors: frequency caps from the temperature of a zone.
//!
//! DEVIATION: step-wise is that of 6.12 for all schedulers: in 6.1 a temperature that falls above the trip gives
//! nothing back, one below it an operating point a look, and there is no hysteresis. The power allocator takes a CPU
//! for as loaded as it was not idle, as kernels up to 5.10 do; 6.1 and 6.12 go by the scheduler's utilization of its
//! capacity, which shows a busy CPU at a slow clock as less loaded.

use fairground_machine::{ControllerGains, FreqDomain, Machine, Opp, ThermalGovernor, ThermalZone};

/// State of the governor of one thermal zone.
#[derive(Debug)]
pub(super) struct ZoneGovernor {
    /// The caps that it wants, by frequency domain; none where it wants none.
    caps: Vec<(u32, Option<u32>)>,
    last_mc: Option<i32>,
    state: State,
    /// Idle time of each CPU at the last look, ns.
    idle_ns: Vec<u64>,
}

#[derive(Debug)]
enum State {
    StepWise(Trip),
    PowerAllocator(Controller),
}

#[derive(Debug)]
struct Trip {
    trip_mc: i32,
    hysteresis_mc: i32,
    exceeded: bool,
}

#[derive(Debug)]
struct Controller {
    switch_on_mc: i32,
    control_mc: i32,
    sustainable_mw: f64,
    gains: ControllerGains,
    /// What the sum of errors adds to the budget, mW.
    sum_mw: f64,
}

/// What a clock is taken to be loaded with at least, CPUs.
const LEAST_LOAD: f64 = 0.01;

/// A clock as the power allocator sees it.
struct Actor<'a> {
    opps: &'a [Opp],
    /// Mean number of its CPUs that were busy, each in whole percent.
    load: f64,
    /// What it asks for, weighted, mW.
    wanted: f64,
    /// The most that it can take, mW.
    most: f64,
}

impl ZoneGovernor {
    pub(super) fn new(zone: &ThermalZone, machine: &Machine) -> ZoneGovernor {
        let state = match zone.governor {
            ThermalGovernor::StepWise { trip_mc, hysteresis_mc } => {
                State::StepWise(Trip { trip_mc, hysteresis_mc, exceeded: false })
            }
            ThermalGovernor::PowerAllocator { switch_on_mc, control_mc, sustainable_mw, gains } => {
                State::PowerAllocator(Controller::new(switch_on_mc, control_mc, sustainable_mw, gains))
            }
        };
        let caps = zone.cools.iter().map(|(domain, _)| (*domain, None)).collect();
        ZoneGovernor { caps, last_mc: None, state, idle_ns: vec![0; machine.nr_cpus()] }
    }

    /// The operating point to which this governor caps a domain.
    pub(super) fn cap_of(&self, domain: u32) -> Option<u32> {
        self.caps.iter().find(|(d, _)| *d == domain).and_then(|(_, cap)| *cap)
    }

    /// A look at the zone. `opp`: the present operating point of each frequency domain; `idle_ns`: how long each CPU
    /// has been idle so far.
    pub(super) fn look(&mut self, machine: &Machine, zone: &ThermalZone, mc: i32, opp: &[u32], idle_ns: &[u64]) {
        let rise = self.last_mc.map_or(0, |last| mc - last);
        match &mut self.state {
            State::StepWise(trip) => step(&mut self.caps, machine, trip.is_exceeded(mc), rise),
            State::PowerAllocator(controller) if mc < controller.switch_on_mc => {
                controller.switch_off();
                self.caps.iter_mut().for_each(|(_, cap)| *cap = None);
            }
            State::PowerAllocator(controller) => {
                let actors = actors(machine, zone, opp, &self.idle_ns, idle_ns);
                let granted = share(&actors, controller.budget(mc, actors.iter().map(|a| a.most).sum()));
                for (((domain, cap), actor), mw) in self.caps.iter_mut().zip(&actors).zip(granted) {
                    let top = machine.freq_domains[*domain as usize].opps.len() as u32 - 1;
                    *cap = Some(affordable(actor, mw)).filter(|opp| *opp < top);
                }
            }
        }
        self.last_mc = Some(mc);
        self.idle_ns.copy_from_slice(idle_ns);
    }
}

/// Above the trip a rising temperature takes one operating point and a falling one gives one back, but for the last;
/// below it a falling one gives back all.
fn step(caps: &mut [(u32, Option<u32>)], machine: &Machine, tripped: bool, rise: i32) {
    for (domain, cap) in caps {
        let top = machine.freq_domains[*domain as usize].opps.len() as u32 - 1;
        let now = cap.unwrap_or(top);
        let next = match (tripped, rise.signum()) {
            (true, 1) => now.saturating_sub(1),
            (true, -1) if cap.is_some() => (now + 1).min(top.saturating_sub(1)),
            // A trip that is exceeded at the first look is acted upon.
            (true, _) if cap.is_none() => now.saturating_sub(1),
            (false, -1) => top,
            _ => now,
        };
        *cap = Some(next).filter(|opp| *opp < top);
    }
}

impl Trip {
    /// Once exceeded it is so until the temperature has fallen by the hysteresis.
    fn is_exceeded(&mut self, mc: i32) -> bool {
        let threshold = if self.exceeded { self.trip_mc - self.hysteresis_mc } else { self.trip_mc };
        self.exceeded = mc >= threshold;
        self.exceeded
    }
}

impl Controller {
    fn new(switch_on_mc: i32, control_mc: i32, sustainable_mw: f64, gains: ControllerGains) -> Controller {
        let mut controller = Controller { switch_on_mc, control_mc, sustainable_mw, gains, sum_mw: 0.0 };
        controller.switch_off();
        controller
    }

    fn switch_off(&mut self) {
        self.sum_mw = self.gains.i_max_mw.unwrap_or(0.0);
    }

    /// The power that may be dissipated, mW: what is sustainable, more while colder than the temperature steered to and
    /// less while hotter. Where a board states no constants they are those that the kernel works out: the whole
    /// sustainable power over the span from switch-on to control while hotter, twice that while colder, a tenth of the
    /// latter summed up while hotter.
    fn budget(&mut self, mc: i32, most: f64) -> f64 {
        let error = f64::from(self.control_mc - mc) / 1e3;
        let hotter = self.sustainable_mw * 1e3 / f64::from(self.control_mc - self.switch_on_mc);
        let (k_po, k_pu) = (self.gains.k_po.unwrap_or(hotter), self.gains.k_pu.unwrap_or(2.0 * hotter));
        let k_i = self.gains.k_i.unwrap_or(2.0 * hotter / 10.0);
        if error < f64::from(self.gains.integral_cutoff_mc.unwrap_or(0)) / 1e3 {
            let sum_mw = self.sum_mw + k_i * error;
            self.sum_mw = match self.gains.i_max_mw {
                Some(most_mw) => sum_mw.min(most_mw).max(-self.sustainable_mw),
                None if sum_mw.abs() < most => sum_mw,
                None => self.sum_mw,
            };
        }
        let proportional = error * if error < 0.0 { k_po } else { k_pu };
        (self.sustainable_mw + proportional + self.sum_mw).clamp(0.0, most)
    }
}

fn actors<'a>(machine: &'a Machine, zone: &ThermalZone, opp: &[u32], before: &[u64], now: &[u64]) -> Vec<Actor<'a>> {
    let actor = |(domain, weight): &(u32, f64)| {
        let FreqDomain { cpus, opps, .. } = &machine.freq_domains[*domain as usize];
        let idle = |cpu: usize| now[cpu] - before[cpu];
        let busy_pct = |cpu: usize| zone.polling_ns.saturating_sub(idle(cpu)) * 100 / zone.polling_ns;
        let load = cpus.iter().map(|cpu| busy_pct(cpu as usize)).sum::<u64>() as f64 / 100.0;
        let model = |o: &Opp| o.model_uw() as f64 / 1e3;
        let wanted = load * model(&opps[opp[*domain as usize] as usize]) * weight;
        let most = opps.last().map_or(0.0, model) * cpus.count() as f64;
        Actor { opps, load, wanted, most }
    };
    zone.cools.iter().map(actor).collect()
}

/// Shares a budget out in proportion to requests; what one cannot use goes to those with room. One that wants nothing
/// is granted nothing; without any request, nothing is granted at all: so it is in the kernel.
fn share(actors: &[Actor], budget: f64) -> Vec<f64> {
    let wanted: f64 = actors.iter().map(|a| a.wanted).sum();
    if wanted <= 0.0 {
        return vec![0.0; actors.len()];
    }
    let granted: Vec<f64> = actors.iter().map(|a| (a.wanted / wanted * budget).min(a.most)).collect();
    let extra = budget - granted.iter().sum::<f64>();
    let room: f64 = actors.iter().zip(&granted).map(|(a, mw)| a.most - mw).sum();
    if extra <= 0.0 || room <= 0.0 {
        return granted;
    }
    actors.iter().zip(&granted).map(|(a, mw)| mw + (extra * (a.most - mw) / room).min(a.most - mw)).collect()
}

/// The highest operating point at which the load of now takes no more than this. A clock whose CPUs all idle counts as
/// one of a load of a hundredth: with nothing granted it is kept at its slowest until the next look.
fn affordable(actor: &Actor, mw: f64) -> u32 {
    let load = actor.load.max(LEAST_LOAD);
    let fits = |o: &Opp| o.model_uw() as f64 / 1e3 * load <= mw;
    actor.opps.iter().rposition(fits).unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operating points of 100, 200, ... mW.
    fn machine() -> Machine {
        let mut machine = Machine::symmetric(1);
        machine.freq_domains[0].opps = (1..=5).map(|n| Opp::new(n * 100_000, f64::from(n) * 100.0)).collect();
        machine
    }

    fn zone(governor: ThermalGovernor) -> ThermalZone {
        ThermalZone { name: "z".into(), node: 0, polling_ns: 1000, cools: vec![(0, 1.0)], governor }
    }

    /// Trip 80, hysteresis 5: one point less a look while rising, one back while falling above 75 (but capped still),
    /// all back below it.
    #[test]
    fn step_wise_follows_the_trend_above_the_trip_and_lets_go_below_the_hysteresis() {
        let (machine, zone) = (machine(), zone(ThermalGovernor::StepWise { trip_mc: 80_000, hysteresis_mc: 5_000 }));
        let mut watch = ZoneGovernor::new(&zone, &machine);
        let mut caps = Vec::new();
        for c in [70, 79, 80, 82, 85, 85, 84, 83, 79, 76, 74, 79] {
            watch.look(&machine, &zone, c * 1000, &[4], &[0]);
            caps.push(watch.cap_of(0));
        }
        let n = None;
        assert_eq!(caps, [n, n, Some(3), Some(2), Some(1), Some(1), Some(2), Some(3), Some(3), Some(3), n, n]);
    }

    /// Sustainable 300 mW, 70 to 80 degrees: 30 mW per kelvin too hot, 60 per kelvin too cold, 6 per kelvin and look
    /// summed.
    #[test]
    fn the_budget_is_what_is_sustainable_and_a_controllers_answer_to_the_error() {
        let mut controller = Controller::new(70_000, 80_000, 300.0, ControllerGains::default());
        let budgets = [80_000, 78_000, 82_000, 80_000, 99_000, 60_000].map(|mc| controller.budget(mc, 500.0));
        assert_eq!(budgets, [300.0, 420.0, 300.0 - 60.0 - 12.0, 288.0, 0.0, 500.0]);
    }

    /// Sustainable 300 mW, control 80 degrees, 20 mW a kelvin either way, 10 mW a kelvin and look summed from 75 degrees
    /// on, between -300 and 40 mW, beginning with 40.
    #[test]
    fn a_board_states_the_constants_of_its_controller() {
        let gains = ControllerGains {
            k_po: Some(20.0),
            k_pu: Some(20.0),
            k_i: Some(10.0),
            i_max_mw: Some(40.0),
            integral_cutoff_mc: Some(5_000),
        };
        let mut controller = Controller::new(70_000, 80_000, 300.0, gains);
        let budgets = [72_000, 76_000, 83_000, 82_000, 90_000, 90_000, 81_000].map(|mc| controller.budget(mc, 700.0));
        // 300 + 20 x error + sum: 40 twice (at most), 10, -10, -110, -210, -220.
        assert_eq!(budgets, [500.0, 420.0, 250.0, 250.0, 0.0, 0.0, 60.0]);
        assert_eq!([controller.budget(95_000, 700.0), controller.sum_mw], [0.0, -300.0], "it sinks no further");
        controller.switch_off();
        assert_eq!(controller.budget(75_000, 700.0), 440.0);
    }

    /// A request of twice the power gets twice as much; what it cannot use goes to the other.
    #[test]
    fn a_budget_is_shared_by_wishes_up_to_what_each_can_take() {
        let actor = |wanted, most| Actor { opps: &[], load: 1.0, wanted, most };
        assert_eq!(share(&[actor(200.0, 900.0), actor(100.0, 900.0)], 600.0), [400.0, 200.0]);
        assert_eq!(share(&[actor(200.0, 250.0), actor(100.0, 900.0)], 600.0), [250.0, 350.0]);
        assert_eq!(share(&[actor(0.0, 900.0), actor(300.0, 900.0)], 600.0), [0.0, 600.0]);
        assert_eq!(share(&[actor(0.0, 900.0), actor(0.0, 900.0)], 600.0), [0.0, 0.0]);
    }

    /// Looks of 1 us above the switch-on: idle for all of it, idle but for less than a percent, busy all the time.
    #[test]
    fn a_clock_that_idles_in_the_heat_is_kept_at_its_slowest_until_the_next_look() {
        let gains = ControllerGains::default();
        let governor =
            ThermalGovernor::PowerAllocator { switch_on_mc: 60_000, control_mc: 80_000, sustainable_mw: 300.0, gains };
        let (machine, zone) = (machine(), zone(governor));
        let mut watch = ZoneGovernor::new(&zone, &machine);
        let caps = [1000, 1991, 1991].map(|idle| {
            watch.look(&machine, &zone, 70_000, &[4], &[idle]);
            watch.cap_of(0)
        });
        assert_eq!(caps, [Some(0), Some(0), None]);
    }
}

//! The estimate of a task's utilization: what it knows when the task wakes up, as Linux 6.12 keeps it (one value).

use fairground_machine::Machine;
use fairground_sim::Time;
use fairground_workload::Workload;

use crate::scenario::{check, Scenario};
use crate::seen::{Estimate, Seen};
use crate::tasks::{workload, Phase, Rhythm, MS};
use crate::wrong::Wrong;

/// Long enough for utilization to rise and fall by half of what there is.
const PERIOD: Time = 200 * MS;

/// The largest CPUs are big enough for anything.
fn duties(machine: &Machine) -> Workload {
    let percent = |p: u32| f64::from(p) * 10.24;
    let stable = [Phase::new(percent(75), 10 * PERIOD)];
    let down = (1..=10).rev().map(|p| Phase::new(percent(p * 5), 2 * PERIOD));
    let up = (2..=12).map(|p| Phase::new(percent(p * 5), 2 * PERIOD));
    let end = [Phase::new(percent(5), 8 * PERIOD)];
    let phases = stable.into_iter().chain(down).chain(up).chain(end).collect();
    let cpus = Some(machine.cpus.iter().filter(|c| c.capacity == 1024).map(|c| c.id).collect());
    workload(&[Rhythm { period: PERIOD, phases, cpus }])
}

/// What utilization may have grown by since the tick that the estimate saw last: a tick of 4 ms, of 32 ms to a half.
fn growth(util: f64) -> f64 {
    (1024.0 - util) * (1.0 - 0.5_f64.powf(4.0 / 32.0))
}

/// Not below what the task used last, but for a hundredth and a tick.
fn covers(e: &Estimate) -> bool {
    let est = e.est as f64;
    est * 1.01 + growth(est) >= e.util as f64
}

/// Down by a quarter of the way at least, but for the hundredth that counts as noise.
fn follows((before, now): (&Estimate, &Estimate)) -> bool {
    let (was, is, util) = (before.est as f64, now.est as f64, now.util as f64);
    util >= was || is <= was - (was - util) / 4.0 + 10.24
}

fn judge(_: &Machine, seen: &Seen) -> Result<String, String> {
    let all = &seen.estimates;
    let low = all.iter().filter(|e| !covers(e)).count();
    let stuck = all.iter().zip(&all[1..]).filter(|pair| !follows(*pair)).count();
    let mean = |of: fn(&Estimate) -> u64| all.iter().map(of).sum::<u64>() as f64 / all.len() as f64;
    let (est, util) = (mean(|e| e.est), mean(|e| e.util));
    let figures = format!(
        "{} activations, {low} with too low an estimate, {stuck} where it does not fall; mean {est:.0} of {util:.0}",
        all.len()
    );
    if all.len() > 50 && low == 0 && stuck == 0 && est >= util {
        Ok(figures)
    } else {
        Err(figures)
    }
}

#[test]
fn the_estimate_covers_utilization_and_comes_down_after_it() {
    let scenarios = ["juno-r2", "hikey960", "pixel6"].map(|machine| Scenario {
        machine,
        workload: Box::new(duties),
        judge: Box::new(judge),
        caught: &[Wrong::EstimateStuck, Wrong::EstimateHalved],
    });
    check("util_est::the_estimate_covers_utilization_and_comes_down_after_it", &scenarios);
}

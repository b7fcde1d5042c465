//! Utilization floors: the CPU and the clock that a small task gets which asks for one.

use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::Time;
use fairground_workload::{CapSource, FrequencyCap, Workload};

use crate::scenario::{check, Scenario};
use crate::seen::{Activation, Seen};
use crate::tasks::{capacities, workload, Phase, Rhythm, MS, PERIOD};
use crate::wrong::Wrong;

/// Periods at the beginning of a phase in which the request is on its way: it is made after the first wakeup.
const ON_ITS_WAY: u64 = 2;

/// Floors in the middle between two sizes of CPU, up and down again, eight phases of 32 periods in all; the task itself needs half.
pub fn between_sizes(machine: &Machine, period: Time) -> Rhythm {
    let sizes = [vec![0], capacities(machine)].concat();
    let middles: Vec<u32> = sizes.windows(2).map(|w| (w[0] + w[1]) / 2).collect();
    let turn = middles.iter().chain(middles.iter().rev());
    let phase = |floor: &u32| Phase { floor: *floor as u16, ..Phase::new(f64::from(*floor) / 2.0, 32 * period) };
    Rhythm { period, ..Rhythm::new(turn.cycle().take(8).map(phase).collect()) }
}

fn floors(machine: &Machine) -> Workload {
    workload(&[between_sizes(machine, PERIOD)])
}

/// Capacity of a CPU at the slowest clock that reaches `floor`, or the fastest.
fn capacity_for(machine: &Machine, cpu: CpuId, floor: u16) -> f64 {
    let opps = &machine.freq_domain_of(cpu).opps;
    let at = |khz| machine.capacity_at(cpu, khz);
    let enough = opps.iter().map(|opp| at(opp.khz)).find(|capacity| *capacity >= f64::from(floor));
    enough.unwrap_or(at(machine.max_khz(cpu)))
}

/// Activations with the floor that is in force for them.
fn under_floor<'a>(seen: &'a Seen, thread: &'a Rhythm) -> impl Iterator<Item = (&'a Activation, u16)> {
    let begin = |time: Time| thread.spans().into_iter().map(|span| span.0).rfind(|begin| *begin <= time).unwrap_or(0);
    let settled = move |a: &&Activation| a.woken >= begin(a.woken) + ON_ITS_WAY * thread.period;
    let activations = seen.lives[0].activations.iter().filter(settled);
    activations.filter_map(|a| Some((a, thread.phase_at(a.woken)?.floor)))
}

/// Activations, those on too small a CPU, and those at too slow a clock.
pub fn below_floors(machine: &Machine, seen: &Seen, thread: &Rhythm) -> [u32; 3] {
    let [mut all, mut small, mut slow] = [0; 3];
    for (activation, floor) in under_floor(seen, thread) {
        let (cpu, capacity) = (activation.cpu, machine.cpus[activation.cpu as usize].capacity);
        let khz = seen.khz(cpu, activation.asleep).unwrap_or(0);
        all += 1;
        small += u32::from(capacity <= u32::from(floor) && capacity < 1024);
        slow += u32::from(machine.capacity_at(cpu, khz) < capacity_for(machine, cpu, floor));
    }
    [all, small, slow]
}

pub fn judge_floors(machine: &Machine, seen: &Seen, thread: &Rhythm) -> Result<String, String> {
    let [all, small, slow] = below_floors(machine, seen, thread);
    let figures = format!("{all} activations, {small} on too small a CPU, {slow} at too slow a clock");
    if all > 200 && small == 0 && slow == 0 {
        Ok(figures)
    } else {
        Err(figures)
    }
}

/// Between the smallest and the middle size: a floor for whose sake a tiny task needs a CPU of the middle.
fn middle_floor(machine: &Machine) -> Rhythm {
    let sizes = capacities(machine);
    let floor = (sizes[0] + sizes[1]) / 2;
    Rhythm::new(vec![Phase { floor: floor as u16, ..Phase::new(f64::from(floor) / 8.0, 3008 * MS) }])
}

/// CPUs of the n-th size.
fn of_size(machine: &Machine, n: usize) -> CpuMask {
    let size = capacities(machine)[n];
    machine.cpus.iter().filter(|c| c.capacity == size).map(|c| c.id).collect()
}

const HOT: (Time, Time) = (1000 * MS, 2000 * MS);

/// For a second, cooling holds the CPUs of the middle at their slowest.
fn hot_middle(machine: &Machine) -> Workload {
    let cpus = of_size(machine, 1);
    let max_khz = machine.freq_domain_of(cpus.first().unwrap()).opps[0].khz;
    let cap = FrequencyCap { cpus, max_khz, from_ns: HOT.0, to_ns: Some(HOT.1), by: CapSource::Cooling };
    Workload { frequency_caps: vec![cap], ..workload(&[middle_floor(machine)]) }
}

/// On CPUs of the middle, which are the smallest that reach the floor; on the largest while those do not.
fn judge_heat(machine: &Machine, seen: &Seen) -> Result<String, String> {
    let (middle, large) = (of_size(machine, 1), of_size(machine, 2));
    let thread = middle_floor(machine);
    let (mut cool, mut hot, mut wrong) = (0, 0, 0);
    for (activation, _) in under_floor(seen, &thread) {
        let is_hot = (HOT.0 + PERIOD..HOT.1).contains(&activation.woken);
        let is_turning = !is_hot && (HOT.0..HOT.1 + PERIOD).contains(&activation.woken);
        let wanted = if is_hot { &large } else { &middle };
        hot += u32::from(is_hot);
        cool += u32::from(!is_hot && !is_turning);
        wrong += u32::from(!is_turning && !wanted.test(activation.cpu));
    }
    let figures =
        format!("{cool} cool and {hot} hot activations, {wrong} on another CPU than the smallest that will do");
    if cool > 100 && hot > 50 && wrong == 0 {
        Ok(figures)
    } else {
        Err(figures)
    }
}

#[test]
fn a_floor_gets_a_cpu_and_a_clock_that_reach_it() {
    let scenarios = ["juno-r2", "hikey960", "pixel6"].map(|machine| Scenario {
        machine,
        workload: Box::new(floors),
        judge: Box::new(|machine, seen| judge_floors(machine, seen, &between_sizes(machine, PERIOD))),
        caught: &[Wrong::NoClamps, Wrong::Crowd, Wrong::SlowClock],
    });
    check("clamps::a_floor_gets_a_cpu_and_a_clock_that_reach_it", &scenarios);
}

#[test]
fn a_floor_gets_the_smallest_cpu_that_reaches_it_in_the_heat_too() {
    let (workload, judge) = (Box::new(hot_middle), Box::new(judge_heat));
    let caught = &[Wrong::NoClamps, Wrong::Dearest, Wrong::Clannish];
    let scenario = Scenario { machine: "pixel6", workload, judge, caught };
    check("clamps::a_floor_gets_the_smallest_cpu_that_reaches_it_in_the_heat_too", &[scenario]);
}

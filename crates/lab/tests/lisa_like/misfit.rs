//! Tasks that are too big for their CPU move up as soon as a bigger one is free.

use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::{testing, Time};
use fairground_workload::{Amount, Op, TaskSpec, Workload};

use crate::scenario::{check, Scenario};
use crate::seen::{Seen, Stretch};
use crate::tasks::MS;
use crate::wrong::Wrong;

/// When the first task ends: signals have settled by then.
const FIRST_END: Time = 500 * MS;

/// Share of its life that a task may wait for a CPU.
const WAITS: f64 = 0.01;

/// Between two attempts to balance idle CPUs, 1 ms for each CPU, in ticks of 250 Hz.
fn interval(machine: &Machine) -> Time {
    (machine.nr_cpus() as Time * MS).next_multiple_of(4 * MS)
}

/// A busy task for each CPU, bound to it for a millisecond. They end one after another, 1.5 intervals apart, those that
/// began on large CPUs first.
fn staggered_ends(machine: &Machine) -> Workload {
    let mut order: Vec<CpuId> = machine.all_cpus().iter().collect();
    order.sort_by_key(|cpu| std::cmp::Reverse(machine.cpus[*cpu as usize].capacity));
    let spec = |(turn, cpu): (usize, &CpuId)| {
        let length = FIRST_END + turn as Time * interval(machine) * 3 / 2;
        let program = vec![
            Op::RunWall(Amount::fixed(MS)),
            Op::SetAffinity(machine.all_cpus()),
            Op::RunWall(Amount::fixed(length)),
        ];
        TaskSpec { affinity: Some(CpuMask::single(*cpu)), ..testing::spec(&format!("t{cpu}"), program) }
    };
    testing::workload(Vec::new(), order.iter().enumerate().map(spec).collect())
}

/// When a CPU smaller than `cpu` ran somebody, and `cpu` nobody, at a stretch: the longest, ns.
fn longest_idle_above(machine: &Machine, seen: &Seen, cpu: CpuId) -> Time {
    let capacity = machine.cpus[cpu as usize].capacity;
    let runs = || seen.lives.iter().flat_map(|life| &life.runs);
    let smaller: Vec<&Stretch> = runs().filter(|r| machine.cpus[r.cpu as usize].capacity < capacity).collect();
    let mut own: Vec<(Time, Time)> = runs().filter(|r| r.cpu == cpu).map(|r| (r.begin, r.end)).collect();
    own.push((seen.end, seen.end));
    own.sort_unstable();
    let gaps = own.windows(2).map(|w| (w[0].1, w[1].0));
    gaps.map(|gap| longest_within(&smaller, gap)).max().unwrap_or(0)
}

/// The longest of these stretches, as far as it is within the gap: a task that moves on begins a new one.
fn longest_within(stretches: &[&Stretch], (begin, end): (Time, Time)) -> Time {
    let overlap = |s: &&Stretch| s.end.min(end).saturating_sub(s.begin.max(begin));
    stretches.iter().map(overlap).max().unwrap_or(0)
}

/// The largest share of its life that a task waited.
fn longest_wait(seen: &Seen) -> f64 {
    let waits = seen.lives.iter().map(|life| {
        let ran: Time = life.runs.iter().map(|r| r.end - r.begin).sum();
        let lived = life.died.unwrap_or(seen.end) - life.born;
        1.0 - ran as f64 / lived as f64
    });
    waits.fold(0.0, f64::max)
}

fn judge(machine: &Machine, seen: &Seen) -> Result<String, String> {
    let idle = machine.all_cpus().iter().map(|cpu| longest_idle_above(machine, seen, cpu)).max().unwrap_or(0);
    let waits = longest_wait(seen);
    let figures = format!("a larger CPU idle for {:.3} ms, waits {:.2} %", idle as f64 / 1e6, 100.0 * waits);
    if idle <= interval(machine) && waits <= WAITS {
        Ok(figures)
    } else {
        Err(figures)
    }
}

#[test]
fn busy_tasks_take_large_cpus_as_they_become_free() {
    let scenarios = ["juno-r2", "hikey960", "pixel6"].map(|machine| Scenario {
        machine,
        workload: Box::new(staggered_ends),
        judge: Box::new(judge),
        caught: &[Wrong::NoMisfit, Wrong::Clannish],
    });
    check("misfit::busy_tasks_take_large_cpus_as_they_become_free", &scenarios);
}

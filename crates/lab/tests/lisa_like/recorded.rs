//! Conditions of the scenarios, asked of traces that a kernel wrote under `fairground live`: guest/lisa.sh records them.
//!
//! `FAIRGROUND_RECORDED` names a folder with `machine.toml` and, for each scenario and scheduler, a trace `SCENARIO-NAME.txt`: NAME is
//! `right`, whose condition must hold, or `wrong`, whose must not. `policyN` has the clock in kHz of CPU N and those that share it, before
//! floors are recorded.

use std::path::{Path, PathBuf};

use fairground_machine::{CpuId, FreqDomain, Machine};
use fairground_sim::{SwitchState, TaskId, Time};
use fairground_trace::{open, EventSource, PrevState, Thread, TraceError, TraceEvent, TraceEventKind};

use crate::clamps::{below_floors, between_sizes, judge_floors};
use crate::eas::{judge_energy, one_small, three_small};
use crate::seen::Seen;
use crate::tasks::{Rhythm, MS};

/// N of a thread `tN-M`, as `play` names it: its place in the list of threads.
fn number(thread: Thread) -> Option<TaskId> {
    thread.comm.strip_prefix('t')?.split_once('-')?.0.parse().ok()
}

/// A trace's events as those of a run that begins at `zero`.
struct Reading {
    zero: Time,
    seen: Seen,
}

impl Reading {
    fn event(&mut self, event: &TraceEvent) {
        let seen = &mut self.seen;
        // A clock keeps what it got before the first period.
        if let TraceEventKind::Frequency { cpu, khz } = event.what {
            seen.clocks.push((event.time.saturating_sub(self.zero), cpu, khz));
        }
        let Some(time) = event.time.checked_sub(self.zero) else { return };
        match event.what {
            TraceEventKind::Waking { task, cpu } => {
                if let Some(task) = number(task) {
                    seen.waking(time, task, cpu);
                }
            }
            TraceEventKind::Wakeup { task, cpu, .. } => {
                if let Some(task) = number(task) {
                    seen.woken(task, cpu);
                    seen.placed(time, task, cpu);
                }
            }
            TraceEventKind::Migrate { task, to, .. } => {
                if let Some(task) = number(task) {
                    seen.placed(time, task, to);
                }
            }
            TraceEventKind::Switch { prev, left, next, .. } => {
                let state = match left {
                    PrevState::Runnable => SwitchState::Runnable,
                    PrevState::Sleeping => SwitchState::Sleeping,
                };
                if let Some(task) = number(prev) {
                    seen.leave(time, task, state);
                }
                if let Some(task) = number(next) {
                    seen.run(time, task, event.cpu);
                }
            }
            _ => {}
        }
        seen.end = time;
    }
}

fn for_each_event(path: &Path, mut event: impl FnMut(&TraceEvent)) -> Result<(), TraceError> {
    let mut source = open(path)?;
    while let Some(next) = source.next_event()? {
        event(&next);
    }
    Ok(())
}

/// The clocks before anything is recorded.
fn clocks(folder: &Path, machine: &Machine) -> Vec<(Time, CpuId, u32)> {
    let of = |domain: &FreqDomain| {
        let text = std::fs::read_to_string(folder.join(format!("policy{}", domain.cpus.first()?))).ok()?;
        let khz: u32 = text.trim().parse().ok()?;
        Some(domain.cpus.iter().map(|cpu| (0, cpu, khz)).collect::<Vec<_>>())
    };
    machine.freq_domains.iter().filter_map(of).flatten().collect()
}

/// When the first period of a thread began, of which these are the wakeups. Its timer is absolute, so the last wakeup comes when the last
/// period ends. A wakeup is late by the timer's slack and by interrupts, and never early: the one that is least late counts, so that
/// none falls into the period before.
fn first_period(wakeups: &[Time], thread: &Rhythm) -> Time {
    let period = thread.period;
    let length = thread.spans().last().map_or(0, |span| span.1);
    let last = wakeups.last().copied().unwrap_or(0);
    let first = last.saturating_sub(length);
    let of_timer = wakeups.iter().filter(|time| **time > first + period / 2);
    // How much later than this one the last wakeup is, measured by its period.
    let earlier = |time: &Time| (last - time + period / 2) % period;
    let most = of_timer.map(earlier).max().map_or(0, |most| most.saturating_sub(period / 2));
    first.saturating_sub(most)
}

/// A run of `threads` as a trace has it.
fn read(path: &Path, threads: &[Rhythm], clocks: &[(Time, CpuId, u32)]) -> Result<Seen, TraceError> {
    let mut wakeups = Vec::new();
    for_each_event(path, |event| {
        if matches!(event.what, TraceEventKind::Waking { task, .. } if number(task) == Some(0)) {
            wakeups.push(event.time);
        }
    })?;
    let zero = first_period(&wakeups, &threads[0]);
    let mut reading = Reading { zero, seen: Seen { clocks: clocks.to_vec(), ..Seen::default() } };
    for_each_event(path, |event| reading.event(event))?;
    Ok(reading.seen)
}

/// Activations of more than a tick, 4 ms. v6.12 asks for a clock before it counts the floor of a task that wakes up, so the clock follows at the
/// tick. A guest works as fast with any clock, so activations become no longer by that. `play` may take the work for twice as dear as it is
/// where others run while it measures, so they are three ticks and more.
fn long_floors(machine: &Machine) -> Vec<Rhythm> {
    vec![between_sizes(machine, 128 * MS)]
}

type Threads = fn(&Machine) -> Vec<Rhythm>;
type Judge = fn(&Machine, &Seen, &[Rhythm]) -> Result<String, String>;
/// Whether a run is complete, and wrong in the way that is meant.
type IsWrong = fn(&Machine, &Seen, &[Rhythm]) -> bool;

/// In time, but dear.
fn is_dear(machine: &Machine, seen: &Seen, threads: &[Rhythm]) -> bool {
    judge_energy(machine, seen, threads, f64::INFINITY).is_ok() && judge_energy(machine, seen, threads, 1.20).is_err()
}

const SCENARIOS: [(&str, Threads, Judge, IsWrong); 3] = [
    ("one-small", one_small, |machine, seen, threads| judge_energy(machine, seen, threads, 1.05), is_dear),
    ("three-small", three_small, |machine, seen, threads| judge_energy(machine, seen, threads, 1.20), is_dear),
    (
        "floors",
        long_floors,
        |machine, seen, threads| judge_floors(machine, seen, &threads[0]),
        |machine, seen, threads| {
            let [all, small, _] = below_floors(machine, seen, &threads[0]);
            all > 200 && small > 50
        },
    ),
];

#[test]
fn a_late_last_wakeup_moves_no_period() {
    let thread = &long_floors(&Machine::preset("juno-r2").unwrap())[0];
    let [length, period] = [thread.spans().last().unwrap().1, thread.period];
    let begin = 7 * MS;
    // One that another thread caused, before; then each period's end, all 20 us late but for one that is 10 us late.
    let ends = (1..=length / period).map(|n| begin + n * period + if n == 5 { 10_000 } else { 20_000 });
    let wakeups: Vec<Time> = std::iter::once(begin - MS).chain(ends).collect();
    assert_eq!(first_period(&wakeups, thread), begin + 10_000);
}

#[test]
#[ignore = "of traces from a guest: guest/lisa.sh"]
fn conditions_hold_in_recorded_traces() {
    let folder = PathBuf::from(std::env::var_os("FAIRGROUND_RECORDED").expect("FAIRGROUND_RECORDED"));
    let machine = Machine::load(folder.join("machine.toml")).unwrap();
    let clocks = clocks(&folder, &machine);
    let mut missed = Vec::new();
    for (name, threads, judge, is_wrong) in SCENARIOS {
        let threads = threads(&machine);
        for whose in ["right", "wrong"] {
            let seen = read(&folder.join(format!("{name}-{whose}.txt")), &threads, &clocks).unwrap();
            let verdict = judge(&machine, &seen, &threads);
            println!("= {name}, {whose}: {verdict:?}");
            let is_as_meant = match whose {
                "right" => verdict.is_ok(),
                _ => verdict.is_err() && is_wrong(&machine, &seen, &threads),
            };
            if !is_as_meant {
                missed.push(format!("{name}, {whose}: {verdict:?}"));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

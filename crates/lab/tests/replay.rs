//! A run's trace is imported and run again: on the same machine and under the same scheduler it comes out the same.

use std::io::{BufReader, Seek};
use std::sync::Arc;

use fairground_lab::replay::{import, wakeups, Imported, ReplayRunner};
use fairground_machine::{Machine, MachineSpec, SoftCost};
use fairground_run::experiment::{Experiment, Trace, TraceFormat, TraceHead};
use fairground_sim::{Config, Governor};
use fairground_trace::figures::Figures;
use fairground_trace::import::Selection;
use fairground_trace::Reader;
use fairground_workload::Workload;

const SCHED: &str = "fair:v5.11";

fn experiment(machine: &str, workload: &str, governor: Governor) -> Experiment {
    let (machine, cpus) = MachineSpec::parse(machine).find().unwrap();
    let (workload, _) = Workload::find_bound(workload, &machine, cpus.as_ref()).unwrap();
    Experiment {
        machine: Arc::new(machine),
        workload: Arc::new(workload),
        scheds: vec![SCHED.parse().unwrap()],
        config: Config { governor, ..Config::default() },
        workers: Default::default(),
    }
}

/// Runs a workload, and imports the trace of the run.
fn recorded(experiment: &Experiment) -> Imported {
    let mut file = tempfile::tempfile().unwrap();
    let head = TraceHead {
        format: TraceFormat::Text,
        meta: vec![("sched".into(), SCHED.into())],
        notes: Vec::new(),
        why: false,
        marks: None,
    };
    let ran = experiment.carry_out(0, 1, Some(Trace { head, file: file.try_clone().unwrap() }));
    ran.outcome.unwrap();
    ran.trace.unwrap();
    file.rewind().unwrap();
    let mut reader = Reader::new("trace", BufReader::new(file));
    import("trace", &mut reader, &experiment.machine, Selection::default(), &mut |_| ()).unwrap()
}

/// The imported workload, by way of its file, bound as the run was.
fn again(experiment: &Experiment, imported: &Imported, machine: &str) -> Experiment {
    let mut file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    imported.recording.write(&mut file).unwrap();
    let path = file.path().to_str().unwrap();
    Experiment {
        machine: Arc::clone(&experiment.machine),
        workload: Arc::new({
            let (_, cpus) = MachineSpec::parse(machine).find().unwrap();
            Workload::find_bound(path, &experiment.machine, cpus.as_ref()).unwrap().0
        }),
        scheds: vec![SCHED.parse().unwrap()],
        config: experiment.config,
        workers: Default::default(),
    }
}

/// What the end of a trace may cut, ns: a wakeup that is under way, and a thread that has just been switched to, at most one
/// that is about to end.
fn cut_ns(machine: &Machine) -> u64 {
    machine.costs.soft(SoftCost::Exit).max(10_000.0) as u64
}

/// Run time by thread, wakeups, and placements that are equal.
fn round_trip(machine: &str, workload: &str, governor: Governor) {
    let first = experiment(machine, workload, governor);
    let imported = recorded(&first);
    let second = again(&first, &imported, machine);
    let replay = ReplayRunner { imported: &imported, experiment: &second };
    let (figures, _) = replay.simulate(0, 1).unwrap();
    let (before, after) = (&imported.figures, &figures);
    let all: Vec<usize> = (0..imported.recording.threads.len()).collect();
    let run = |f: &Figures, i: usize| f.threads.get(i).map_or(0, |t| t.run_ns);
    let off = |i: usize| run(after, i).abs_diff(run(before, i));
    let within = |i: usize| off(i) <= cut_ns(&first.machine).max(run(before, i) / 100);
    let same = replay.same(after, &all);
    println!(
        "{machine} {workload} {governor:?}: {} threads, wakeups {} and {}, run time off {:.4} %, of no thread more than {} ns, \
         same CPU {same:.2} %, {:?}",
        all.len(),
        wakeups(before),
        wakeups(after),
        replay.off(after),
        all.iter().map(|i| off(*i)).max().unwrap_or(0),
        imported.counts,
    );
    let worst: Vec<&str> =
        all.iter().filter(|i| !within(**i)).map(|i| imported.recording.threads[*i].name.as_str()).collect();
    // A thread that wakes on a CPU of another speed runs longer or shorter, and so do those that wait behind it.
    let capacity = first.machine.cpus[0].capacity;
    let is_displaced = same < 100.0 && first.machine.cpus.iter().any(|cpu| cpu.capacity != capacity);
    assert!(worst.is_empty() || (is_displaced && replay.off(after) < 1.0), "run time of {worst:?}");
    assert!(wakeups(before).abs_diff(wakeups(after)) <= 1, "wakeups");
    assert!(same >= 95.0, "placements");
}

const MACHINES: [&str; 3] = ["hikey960", "synquacer", "kunpeng920@node0"];

#[test]
fn a_periodic_mix_comes_out_the_same() {
    MACHINES.iter().for_each(|m| round_trip(m, "periodic:tasks=6,duty=25,duration=1", Governor::Performance));
}

#[test]
fn clocks_that_change_are_followed() {
    round_trip("hikey960", "periodic:tasks=6,duty=25,duration=1", Governor::Schedutil);
}

#[test]
fn sched_pipe_comes_out_the_same() {
    MACHINES.iter().for_each(|m| round_trip(m, "sched-pipe:loops=1000,threads", Governor::Performance));
}

#[test]
fn hackbench_comes_out_the_same() {
    MACHINES.iter().for_each(|m| round_trip(m, "hackbench:groups=1,loops=20", Governor::Performance));
}

/// Of hikey960 as long as its trace tells when timers fired: at 0.463 s two CPUs leave their cluster's idle state, and it
/// does not tell which of them was first and took the cluster's longer way (325 or 800 us).
#[test]
fn schbench_comes_out_the_same() {
    for (machine, runtime) in MACHINES.into_iter().zip([0.45, 1.0, 1.0]) {
        round_trip(machine, &format!("schbench:runtime={runtime}"), Governor::Performance);
    }
}

#[test]
fn shell8_comes_out_the_same() {
    MACHINES.iter().for_each(|m| round_trip(m, "shell8:duration=0.3", Governor::Performance));
}

//! Latencies that are computed from a run's trace are those that the run reports.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairground_fair::{Fair, Features};
use fairground_machine::Machine;
use fairground_sim::{Config, Delay, Engine, MetricsObserver, RunMetrics};
use fairground_trace::latency::{total, By, Latency};
use fairground_trace::{EventSource, FtraceText, Names, Reader, RuleNames, TraceEventKind};
use fairground_workload::{Mark, Op, Workload};

/// A run on hikey960, measured from its first event to its last: its metrics, and its trace.
fn run(workload: &str) -> (RunMetrics, Vec<u8>) {
    let machine = Arc::new(Machine::find("hikey960").unwrap());
    let (mut workload, _) = Workload::find_bound(workload, &machine, None).unwrap();
    workload.warmup_ns = 0;
    for task in &mut workload.tasks {
        let unmarked = |op: &Op| if let Op::Mark(_) = op { Op::Mark(Mark::Op) } else { op.clone() };
        task.program = task.program.iter().map(unmarked).collect::<Vec<_>>().into();
    }
    let workload = Arc::new(workload);
    let fair = Fair::new(Arc::clone(&machine), Features::parse("v5.11").unwrap(), Default::default()).unwrap();
    let words = RuleNames::from_scheduler(&fair);
    let mut text = FtraceText::new(Vec::new(), machine.nr_cpus(), Names::new(Arc::clone(&workload)), words, false);
    let mut metrics = MetricsObserver::new(Arc::clone(&machine), &workload);
    let mut engine = Engine::new(machine, workload, Box::new(fair), Config::default());
    let outcome = engine.run(&mut [&mut text, &mut metrics]).unwrap();
    (metrics.finish(&outcome, engine.scheduler()), text.finish().unwrap())
}

/// Of number, sum and greatest.
fn figures(delay: &Delay) -> (u64, u128, u64) {
    (delay.count, delay.total, delay.max)
}

/// From sched_waking to sched_switch, as LISA and Perfetto count: they know the kernel's events alone.
fn from_waking_to_switch(trace: &[u8]) -> (u64, u128, u64) {
    let (mut reader, mut woken, mut seen) = (Reader::new("trace", trace), BTreeMap::new(), (0, 0, 0));
    let mut before = 0;
    while let Some(event) = reader.next_event().unwrap() {
        assert!(event.time >= before, "{event:?} after {before}");
        before = event.time;
        match event.what {
            TraceEventKind::Waking { task, .. } => drop(woken.insert(task.pid, event.time)),
            TraceEventKind::Switch { next, .. } => {
                if let Some(waking) = woken.remove(&next.pid) {
                    let wait = event.time - waking;
                    seen = (seen.0 + 1, seen.1 + u128::from(wait), wait.max(seen.2));
                }
            }
            _ => {}
        }
    }
    seen
}

/// Waits as `stats latency` counts them: run delays.
fn waits(trace: &[u8]) -> (u64, u128, u64) {
    let latency = Latency::read(&mut Reader::new("trace", trace)).unwrap();
    assert_eq!(latency.notes(), [""; 0]);
    let all = total(&latency.rows(By::Pid));
    (all.count, u128::from(all.total), all.max)
}

#[test]
fn timer_wakeups_take_what_the_run_reports() {
    let (metrics, trace) = run("periodic:tasks=6,duty=25,duration=0.5");
    assert!(metrics.wakeup_latency.count > 100 && metrics.wakeup_latency.p50 > 1_000, "{:?}", metrics.wakeup_latency);
    assert_eq!(from_waking_to_switch(&trace), figures(&metrics.wakeup_latency));
    assert_eq!(waits(&trace), figures(&metrics.run_delay));
}

#[test]
fn pipe_wakeups_take_what_the_run_reports() {
    for threads in ["sched-pipe:loops=300,threads", "sched-pipe:loops=300"] {
        let (metrics, trace) = run(threads);
        assert!(metrics.wakeup_latency.count > 500, "{:?}", metrics.wakeup_latency);
        assert_eq!(from_waking_to_switch(&trace), figures(&metrics.wakeup_latency));
        assert_eq!(waits(&trace), figures(&metrics.run_delay));
    }
}

/// Many tasks on each CPU. Some are woken from elsewhere while their CPU still pays for switching them out: there the next
/// task's sched_switch is early, and what the kernel's events alone say falls short by a little.
#[test]
fn a_crowd_waits_as_long_as_the_run_reports() {
    let (metrics, trace) = run("hackbench:groups=2,loops=20");
    assert_eq!(waits(&trace), figures(&metrics.run_delay));
    let (count, total, max) = from_waking_to_switch(&trace);
    let exact = figures(&metrics.wakeup_latency);
    assert_eq!(count, exact.0);
    assert!(total <= exact.1 && max <= exact.2, "{total} of {}, {max} of {}", exact.1, exact.2);
    assert!((exact.1 - total) * 1_000 <= exact.1, "{total} of {} ns", exact.1);
}

use std::sync::Arc;

use fairground_sim::testing::{machine, spec, with_costs, workload, RoundRobin};
use fairground_sim::{Config, Engine, MetricsObserver};
use fairground_workload::testing::Random;
use proptest::prelude::*;

use super::*;
use crate::Reader;
use crate::{FtraceText, Names, RuleNames};

fn read(text: &str) -> Latency {
    Latency::read(&mut Reader::new("t", text.as_bytes())).unwrap()
}

fn switch(at: &str, cpu: u32, prev: &str, state: &str, next: &str) -> String {
    format!("x-1 [{cpu}] {at}: sched_switch: {prev} [120] {state} ==> {next} [120]\n")
}

fn wakeup(at: &str, task: &str) -> String {
    format!("x-1 [0] {at}: sched_wakeup: {task} [120] CPU:000\n")
}

fn waking(at: &str, comm: &str) -> String {
    format!("x-1 [0] {at}: sched_waking: comm={comm} pid=7 prio=120 target_cpu=0\n")
}

fn waits(runtime: u64, count: u64, total: u64, max: (u64, u64)) -> Waits {
    Waits { runtime, count, total, max: max.1 - max.0, max_start: max.0, max_end: max.1 }
}

/// a wakes at 1.000 s and runs from 1.002 to 1.005 s (waits 2 ms); is preempted for 4 ms until 1.009 s, when it runs
/// 1 ms on CPU 1; b, first met as it is switched to, has waited 0.
#[test]
fn a_wait_begins_at_a_wakeup_or_a_preemption() {
    let text = [
        wakeup("1.000", "a:7"),
        switch("1.002", 0, "swapper/0:0", "R", "a:7"),
        wakeup("1.003", "a:7"), // runs already
        switch("1.005", 0, "a:7", "R+", "b:8"),
        switch("1.009", 1, "swapper/1:0", "R", "a:7"),
        switch("1.010", 1, "a:7", "S", "swapper/1:0"),
        switch("1.011", 0, "b:8", "S", "swapper/0:0"),
    ];
    let latency = read(&text.concat());
    let ms = 1_000_000;
    let a = row("a:7".into(), waits(4 * ms, 2, 6 * ms, (1005 * ms, 1009 * ms)));
    let b = row("b:8".into(), waits(6 * ms, 1, 0, (0, 0)));
    assert_eq!(latency.rows(By::Comm), [a.clone(), b.clone()]);
    assert_eq!(latency.rows(By::Pid), [a.clone(), b.clone()]);
    let cpu1 = row("CPU 1".into(), waits(ms, 1, 4 * ms, (1005 * ms, 1009 * ms)));
    // CPU 0: a waits 2 ms and runs 3, b waits 0 and runs 6.
    let cpu0 = row("CPU 0".into(), waits(9 * ms, 2, 2 * ms, (1000 * ms, 1002 * ms)));
    assert_eq!(latency.rows(By::Cpu), [cpu1, cpu0]);
    let all = total(&latency.rows(By::Comm));
    assert_eq!((all.runtime, all.count), (10 * ms, 3));
}

/// The events that `perf sched record` has of a thread that waits 103 us and 5 ms. A thread that is woken as it goes to
/// sleep at 1.006 s waits from then on.
#[test]
fn without_sched_wakeup_a_wait_begins_at_sched_waking() {
    let text = [
        waking("1.000001", "a"),
        switch("1.000104", 0, "swapper/0:0", "R", "a:7"),
        switch("1.000504", 0, "a:7", "S", "swapper/0:0"),
        waking("1.000604", "a"),
        switch("1.005604", 0, "swapper/0:0", "R", "a:7"),
        waking("1.005900", "a"),
        switch("1.006000", 0, "a:7", "S", "swapper/0:0"),
        switch("1.006002", 0, "swapper/0:0", "R", "a:7"),
        waking("1.006100", "a"), // goes to sleep, but then does not
        switch("1.006200", 0, "a:7", "R", "swapper/0:0"),
        switch("1.006203", 0, "swapper/0:0", "R", "a:7"),
    ];
    let latency = read(&text.concat());
    let row = &latency.rows(By::Pid)[0];
    let us = 1_000;
    assert_eq!((row.waits.count, row.waits.total, row.waits.max), (4, 5_108 * us, 5_000 * us));
    let expected = "3 waits are counted from sched_waking, as no sched_wakeup follows it: choosing a CPU is in them";
    assert_eq!(latency.notes(), [expected]);
}

/// Of both events the later one counts, whether the task was asleep by then or not.
#[test]
fn where_both_are_recorded_a_wait_begins_at_sched_wakeup() {
    let text = [
        waking("1.000", "a"),
        wakeup("1.002", "a:7"),
        switch("1.003", 0, "swapper/0:0", "R", "a:7"),
        waking("1.004", "a"),
        wakeup("1.005", "a:7"), // it has not gone to sleep
        switch("1.006", 0, "a:7", "S", "swapper/0:0"),
        switch("1.007", 0, "swapper/0:0", "R", "a:7"), // no wakeup is recorded
    ];
    let latency = read(&text.concat());
    let row = &latency.rows(By::Pid)[0];
    assert_eq!((row.waits.count, row.waits.total, latency.notes().len()), (1, 1_000_000, 0));
}

#[test]
fn tasks_of_one_name_are_taken_together() {
    let text = [
        wakeup("1.0", "w:7"),
        wakeup("1.0", "w:8"),
        wakeup("1.0", "w:9"), // never runs
        switch("1.1", 0, "swapper/0:0", "R", "w:7"),
        switch("1.3", 0, "w:7", "S", "w:8"),
    ];
    let rows = read(&text.concat()).rows(By::Comm);
    // The waits are 0.1 s and 0.3 s.
    assert_eq!(rows, [row("w:(3)".into(), waits(200_000_000, 2, 400_000_000, (1_000_000_000, 1_300_000_000)))]);
}

#[test]
fn run_time_is_what_the_kernel_says_if_it_does() {
    let runtime = |ns: u64| format!("a-7 [0] 1.3: sched_stat_runtime: comm=a pid=7 runtime={ns} [ns]\n");
    let text = [switch("1.1", 0, "x:0", "R", "a:7"), runtime(5), runtime(6), switch("1.4", 0, "a:7", "S", "b:8")];
    // b runs for 0.2 s without a sched_stat_runtime.
    let text = [text.concat(), switch("1.6", 0, "b:8", "S", "x:0")];
    let rows = read(&text.concat()).rows(By::Pid);
    assert_eq!((rows[0].name.as_str(), rows[0].waits.runtime), ("a:7", 11));
    assert_eq!((rows[1].name.as_str(), rows[1].waits.runtime), ("b:8", 0));
}

#[test]
fn of_equal_waits_the_first_is_the_longest() {
    let text = [
        wakeup("1.0", "w:7"),
        switch("1.1", 0, "x:0", "R", "w:7"),
        switch("1.2", 0, "w:7", "R", "x:0"),
        switch("1.3", 0, "x:0", "R", "w:7"),
    ];
    assert_eq!(read(&text.concat()).rows(By::Comm)[0].waits.max_start, 1_000_000_000);
}

#[test]
fn rows_are_sorted_as_perf_sorts_them() {
    let waited = |pid: u32, from: &str| {
        [wakeup(from, &format!("t{pid}:{pid}")), switch("2.0", 0, "x:1", "S", &format!("t{pid}:{pid}"))].concat()
    };
    // 3 and 4 are equal in all: by name, last first.
    let text = [waited(3, "1.5"), waited(4, "1.5"), waited(5, "1.2"), waited(2, "1.9")].concat();
    let rows = read(&text).rows(By::Comm);
    let names: Vec<&str> = rows.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["t5:5", "t4:4", "t3:3", "t2:2"]);
}

#[test]
fn waits_that_end_before_they_begin_are_told() {
    let latency = read(&[wakeup("1.5", "a:7"), switch("1.1", 0, "x:1", "S", "a:7")].concat());
    assert_eq!(latency.rows(By::Comm), []);
    assert_eq!(latency.notes().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whether switching costs anything or not.
    #[test]
    fn waits_are_those_that_the_simulator_measures(seed in any::<u64>(), cpus in 1..5u32, costs in any::<bool>()) {
        let machine = machine(cpus, 1);
        let machine = Arc::new(if costs { with_costs(machine) } else { machine });
        let mut workload = Random::new(seed).workload(cpus as usize);
        workload.warmup_ns = 0;
        let workload = Arc::new(workload);
        let sched = Box::new(RoundRobin::new(cpus as usize));
        let mut trace =
            FtraceText::new(Vec::new(), cpus as usize, Names::new(workload.clone()), RuleNames::new(&[], &[]), false);
        let mut metrics = MetricsObserver::new(machine.clone(), &workload);
        let mut engine = Engine::new(machine, workload, sched, Config { seed, ..Config::default() });
        let outcome = engine.run(&mut [&mut trace, &mut metrics]);
        prop_assert!(outcome.is_ok(), "{:?}", outcome.err());
        let delay = metrics.finish(&outcome.unwrap(), engine.scheduler()).run_delay;
        let text = trace.finish().unwrap();
        let latency = Latency::read(&mut Reader::new("t", text.as_slice())).unwrap();
        prop_assert!(latency.notes().is_empty());
        let all = total(&latency.rows(By::Pid));
        prop_assert_eq!((all.count, u128::from(all.total), all.max), (delay.count, delay.total, delay.max));
        prop_assert!(all.count > 0);
    }
}

#[test]
fn a_run_has_a_row_for_every_name() {
    let spin = |name| spec(name, vec![fairground_workload::Op::Run(fairground_workload::Amount::fixed(1_000))]);
    let workload = Arc::new(workload(vec![], vec![spin("a"), spin("b c")]));
    let mut trace = FtraceText::new(Vec::new(), 2, Names::new(workload.clone()), RuleNames::new(&[], &[]), false);
    let mut engine = Engine::new(Arc::new(machine(2, 1)), workload, Box::new(RoundRobin::new(2)), Config::default());
    engine.run(&mut [&mut trace]).unwrap();
    let text = trace.finish().unwrap();
    let rows = Latency::read(&mut Reader::new("t", text.as_slice())).unwrap().rows(By::Comm);
    let mut names: Vec<&str> = rows.iter().map(|r| r.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a:1000", "b c:1001"]);
    // 1 us of work each, at no cost.
    assert!(rows.iter().all(|r| r.waits.runtime == 1_000), "{rows:?}");
}

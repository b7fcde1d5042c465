//! Idle states, cluster states and governors, by runs whose times and energies are computed by hand.

use fairground_machine::{CpuMask, IdleScope, IdleState, Machine};
use fairground_sim::testing::{self, idle_state, machine, spec, workload};
use fairground_sim::{joules, Config, IdleGovernor, IdleStats, Outcome};
use fairground_workload::{Amount, Object, Op, ProgramBuilder, TaskSpec};

const MS: u64 = 1_000_000;

fn run(m: Machine, tasks: Vec<TaskSpec>, idle: IdleGovernor) -> Outcome {
    let config = Config { start_phase: false, idle, ..Config::default() };
    testing::engine(m, workload(vec![], tasks), config).run(&mut []).expect("the run ends well")
}

/// Four CPUs in one cluster: running takes 400 mW each, WFI 10 mW, the cluster state 2 mW each (in within 1 us, out in
/// 2 us, 5 uJ, pays after 100 us); the cluster itself takes 50 mW, in the cluster state 6 mW.
fn cluster_of_four() -> Machine {
    let mut m = machine(4, 1);
    let states = &mut m.cpu_types[0].idle_states;
    states[0].power_mw = 10.0;
    let mut off = idle_state("off", 3_000, 100_000);
    (off.scope, off.entry_ns, off.wake_ns) = (IdleScope::Cluster, 1_000, 2_000);
    (off.power_mw, off.transition_uj) = (2.0, 5.0);
    states.push(off);
    (m.clusters[0].active_mw, m.clusters[0].idle_mw) = (50.0, 6.0);
    m
}

fn sums(outcome: &Outcome) -> (Vec<f64>, f64) {
    let to_uj = |j: &f64| (j * 1e9).round() / 1e3;
    (outcome.totals.cpu_j().iter().map(to_uj).collect(), to_uj(&joules(outcome.totals.energy.clusters[0])))
}

/// CPU 0 wakes at 0 (to start the thread), at 1 ms (to work 100 us) and at 2 ms (to exit), 2 us each time: all four sleep
/// for 998 + 898 us, in which the cluster state holds. For the other 106 us the three that sleep on are in WFI.
#[test]
fn a_cluster_state_needs_every_cpu_and_one_wake_ends_it() {
    let mut m = cluster_of_four();
    m.cpu_types[0].idle_states[1].entry_ns = 0;
    let a = spec("a", vec![Op::SleepUntil(MS), Op::Run(Amount::fixed(100_000)), Op::SleepUntil(2 * MS)]);
    let outcome = run(m, vec![a], IdleGovernor::Deepest);
    assert_eq!(outcome.end, 2 * MS + 2_000);
    for cpu in 1..4 {
        let held: Vec<u64> = outcome.totals.idle[cpu].iter().map(|s| s.held_ns).collect();
        assert_eq!(held, [106_000, 1_896_000]);
    }
    // CPU 0: 106 us x 400 mW + 1896 us x 2 mW + 3 x 5 uJ. Others: 106 us x 10 mW + 1896 us x 2 mW.
    // Cluster: 106 us x 50 mW + 1896 us x 6 mW.
    assert_eq!(sums(&outcome), (vec![61.192, 4.852, 4.852, 4.852], 16.676));
}

/// In within 1 us, out in 2. Asleep from 0: the way in ends at 1, out at 3. 10 us of work, asleep at 13 and in at 14, woken
/// at 113, out at 115, 10 us of work. So 99 of 125 us at 10 mW and 26 at 400.
#[test]
fn the_ways_in_and_out_take_active_power_and_a_wake_waits_for_the_way_in() {
    let mut m = machine(1, 1);
    let state = &mut m.cpu_types[0].idle_states[0];
    (state.entry_ns, state.wake_ns, state.power_mw) = (1_000, 2_000, 10.0);
    let work = || Op::Run(Amount::fixed(10_000));
    let outcome = run(m, vec![spec("a", vec![work(), Op::Sleep(Amount::fixed(100_000)), work()])], IdleGovernor::Menu);
    assert_eq!((outcome.end, outcome.totals.idle[0][0].held_ns), (125_000, 99_000));
    assert_eq!(sums(&outcome).0, [0.99 + 10.4]);
}

/// The second thread keeps CPU 1 busy to the end: CPU 0 asks for the cluster state and gets WFI, from which it wakes at
/// once and which is never cut short. cpuidle counts the stay of 50 us as too short all the same. Only at 0, before the
/// workload starts, does the cluster state hold; that stay of 2 us loses 98 us x 19 mW (8 its own, 44 / 4 the cluster's).
#[test]
fn one_busy_cpu_keeps_the_others_out_of_the_cluster_state() {
    let a = spec("a", vec![Op::Run(Amount::fixed(10_000)), Op::SleepUntil(60_000), Op::Run(Amount::fixed(40_000))]);
    let b = spec("b", vec![Op::Run(Amount::fixed(100_000))]);
    let outcome = run(cluster_of_four(), vec![a, b], IdleGovernor::Deepest);
    let of = |cpu: usize, state: usize| outcome.totals.idle[cpu][state];
    assert_eq!((of(0, 0).reached, of(0, 0).cut), (1, 0));
    assert_eq!((of(0, 1).usage, of(0, 1).above, of(0, 1).held_ns, of(0, 1).lost_pj), (2, 2, 0, 1_862_000));
    assert_eq!((of(2, 0).held_ns > 90_000, of(2, 1).held_ns), (true, 0));
}

/// Nobody chooses: the CPU is in the second state once it has slept for 300 us, from which it wakes in 40 us instead of 5.
/// Asleep from 0, awake at 5 us; asleep again until 105, awake at 110; until 410, awake at 450 us.
#[test]
fn without_a_driver_a_cpu_goes_deeper_by_itself() {
    let mut m = machine(1, 1);
    m.cpu_types[0].cpuidle = false;
    let states = &mut m.cpu_types[0].idle_states;
    (states[0].wake_ns, states[0].target_residency_ns) = (5_000, 1_000);
    states.push(IdleState { name: "late".into(), wake_ns: 40_000, target_residency_ns: 300_000, ..states[0].clone() });
    let nap = |us: u64| Op::Sleep(Amount::fixed(us * 1_000));
    for governor in [IdleGovernor::Menu, IdleGovernor::Deepest] {
        let outcome = run(m.clone(), vec![spec("a", vec![nap(100), nap(300)])], governor);
        let reached = |state: usize| outcome.totals.idle[0][state].reached;
        assert_eq!((outcome.end, reached(0), reached(1)), (450_000, 2, 1));
    }
}

/// Wakes of 5 us whose logarithm has a standard deviation of ln 2: in the mean they take exp((ln 2)^2 / 2) = 1.272 times as
/// long, and with other seeds otherwise. A tenth that comes 100 us late is of wakes by other CPUs, not of timers.
#[test]
fn wakes_scatter_round_their_median() {
    let wakes_us = |scatter: f64, late_share: f64, seed: u64| {
        let mut m = machine(1, 1);
        let state = &mut m.cpu_types[0].idle_states[0];
        (state.wake_ns, state.wake_scatter) = (5_000, scatter);
        (state.late_ns, state.late_share) = (100_000, late_share);
        let mut p = ProgramBuilder::new();
        p.repeat(Some(4_000), |p| _ = p.op(Op::Sleep(Amount::fixed(100_000))));
        let mut a = spec("a", vec![]);
        a.program = p.build();
        let config = Config { start_phase: false, seed, ..Config::default() };
        let outcome = testing::engine(m, workload(vec![], vec![a]), config).run(&mut []).expect("the run ends well");
        // One more wakes the CPU at the start.
        (outcome.end - 4_000 * 100_000) as f64 / 4_001e3
    };
    assert_eq!(wakes_us(1.0, 0.1, 1), 5.0);
    let means = [1, 2, 3].map(|seed| wakes_us(2.0, 0.1, seed));
    assert!(means.iter().all(|mean| (6.1..6.6).contains(mean)), "{means:?}");
    assert!(means[0] != means[1] && means[1] != means[2]);
}

/// A thread on CPU 0 wakes one that sleeps on CPU 1 every 100 us, which a quarter of the time takes 50 us longer.
#[test]
fn wakes_by_other_cpus_come_late() {
    let mut m = machine(2, 1);
    let state = &mut m.cpu_types[0].idle_states[0];
    (state.late_ns, state.late_share) = (50_000, 0.25);
    let (mut waker, mut woken) = (ProgramBuilder::new(), ProgramBuilder::new());
    waker.repeat(Some(4_000), |p| _ = p.op(Op::SemPost(0)).op(Op::SemWait(1)).op(Op::Run(Amount::fixed(100_000))));
    woken.repeat(Some(4_000), |p| _ = p.op(Op::SemWait(0)).op(Op::SemPost(1)));
    let on = |cpu: u32, mut program: ProgramBuilder| {
        let mut task = spec("a", vec![]);
        (task.program, task.affinity) = (program.build(), Some(CpuMask::single(cpu)));
        task
    };
    let tasks = vec![on(0, waker), on(1, woken)];
    let objects = vec![Object::Semaphore { value: 0 }; 2];
    let config = Config { start_phase: false, ..Config::default() };
    let outcome = testing::engine(m, workload(objects, tasks), config).run(&mut []).expect("the run ends well");
    // 100 us of work, and 25 on average that both CPUs may come late.
    let round_us = outcome.end as f64 / 4e6;
    assert!((120.0..132.0).contains(&round_us), "{round_us}");
}

/// What `idle` makes of stays of `sleep_ns` between spells of 1 us, and the energy. WFI draws 10 mW, the sleep state
/// 2 mW; that pays from 1.5 ms on.
fn stays(idle: IdleGovernor, sleep_ns: u64, times: u64) -> (IdleStats, IdleStats) {
    let mut m = machine(1, 1);
    let mut deep = idle_state("sleep", 500_000, 1_500_000);
    deep.power_mw = 2.0;
    m.cpu_types[0].idle_states[0].power_mw = 10.0;
    m.cpu_types[0].idle_states.push(deep);
    let mut p = ProgramBuilder::new();
    p.repeat(Some(times), |p| {
        p.op(Op::Run(Amount::fixed(1_000))).op(Op::Sleep(Amount::fixed(sleep_ns)));
    });
    let mut a = spec("a", vec![]);
    a.program = p.build();
    let outcome = run(m, vec![a], idle);
    (outcome.totals.idle[0][0], outcome.totals.idle[0][1])
}

/// A hundred stays of 1 ms where 1.5 ms would have paid: each loses 0.5 ms x 8 mW = 4 uJ. (Asleep before the workload
/// starts, at 0: one more, of nothing, which loses 1.5 ms x 8 mW.) Stays of 2 ms lose nothing.
#[test]
fn sleeps_before_break_even_are_counted_with_what_they_lose() {
    let (_, deep) = stays(IdleGovernor::Deepest, MS, 100);
    assert_eq!((deep.reached, deep.cut, deep.above), (101, 101, 101));
    assert_eq!(deep.lost_pj, 100 * 4_000_000 + 12_000_000);
    let (_, deep) = stays(IdleGovernor::Deepest, 2 * MS, 100);
    assert_eq!((deep.reached, deep.cut, deep.lost_pj), (101, 1, 12_000_000));
}

/// Timers of 1 ms: neither governor tries the state that pays from 1.5 ms on but at time 0, when no timer is set. Timers
/// of 2 ms: teo takes it every time. Of 10 ms: menu too, once its eight past stays say so.
#[test]
fn timers_are_believed_by_both_governors() {
    for idle in [IdleGovernor::Menu, IdleGovernor::Teo] {
        let (shallow, deep) = stays(idle, MS, 100);
        assert!(shallow.reached >= 100 && deep.reached <= 1, "{idle:?} {shallow:?} {deep:?}");
        let (_, deep) = stays(idle, 10 * MS, 100);
        assert!(deep.reached >= 85, "{idle:?} {deep:?}");
    }
    let (_, deep) = stays(IdleGovernor::Teo, 2 * MS, 100);
    assert!(deep.reached >= 100 && deep.cut <= 1, "{deep:?}");
}

/// CPU 1 sleeps without a timer and is woken every 300 us from CPU 0. Both governors learn to stay shallow, and few
/// sleeps are cut; always going deep cuts them all.
#[test]
fn wakes_by_others_are_learnt() {
    let cuts = |idle| {
        let mut m = machine(2, 1);
        m.cpu_types[0].idle_states.push(idle_state("sleep", 500_000, 1_500_000));
        let looped = |name: &str, ops: [Op; 2]| {
            let mut p = ProgramBuilder::new();
            p.repeat(Some(200), |p| {
                ops.iter().for_each(|op| {
                    p.op(op.clone());
                });
            });
            let mut s = spec(name, vec![]);
            s.program = p.build();
            s
        };
        let poster = looped("poster", [Op::Run(Amount::fixed(300_000)), Op::SemPost(0)]);
        let waiter = looped("waiter", [Op::SemWait(0), Op::Run(Amount::fixed(1_000))]);
        let config = Config { start_phase: false, idle, ..Config::default() };
        let w = workload(vec![Object::Semaphore { value: 0 }], vec![poster, waiter]);
        let outcome = testing::engine(m, w, config).run(&mut []).expect("the run ends well");
        outcome.totals.idle[1][1].cut
    };
    assert!(cuts(IdleGovernor::Deepest) >= 198);
    for idle in [IdleGovernor::Menu, IdleGovernor::Teo] {
        assert!(cuts(idle) <= 20, "{idle:?}: {}", cuts(idle));
    }
}

//! Reports and warnings about a machine that loads.

use fairground_machine::{presets, Machine, Opp};

fn checks(change: impl FnOnce(&mut Machine)) -> Vec<String> {
    let mut machine = Machine::preset("hikey960").expect("a preset");
    change(&mut machine);
    machine.check().iter().map(|w| w.to_string()).collect()
}

#[test]
fn presets_raise_no_suspicion() {
    for name in presets() {
        let machine = Machine::preset(name).expect("a preset");
        assert_eq!(machine.check(), [], "{name}");
    }
}

#[test]
fn suspicious_figures_are_named() {
    let expect = |change: fn(&mut Machine), warning: &str| assert_eq!(checks(change), [warning]);
    expect(|m| m.clusters[0].idle_mw = 13.0, "`cluster[0-3].idle`: a cluster that draws more idle than active");
    expect(
        |m| m.clusters[1].shares_cache = true,
        "`cluster[4-7].shares_cache`: the cluster is its last-level cache: not a level of its own",
    );
    expect(
        |m| m.freq_domains[1].opps.push(Opp::new(2_400_000, 1500.0)),
        "`freq_domain[4-7].opps`: 2400000 kHz draws no more than 2362000 kHz",
    );
    expect(
        |m| m.cpu_types[0].idle_states[1].power_mw = 6.0,
        "`cpu_type.Cortex-A53.idle.cpu-sleep.power`: draws more than the shallower `WFI`",
    );
    expect(
        |m| m.cpu_types[0].idle_states[0].power_mw = 30.0,
        "`cpu_type.Cortex-A53.idle.WFI.power`: idle draws 30 mW, running at the lowest OPP 28.7 mW",
    );
    expect(
        |m| {
            let wfi = &mut m.cpu_types[1].idle_states[0];
            (wfi.wake_ns, wfi.target_residency_ns) = (1001, 2000);
        },
        "`cpu_type.Cortex-A73.idle.WFI.wake`: wake latency exceeds the exit latency that the kernel sees",
    );
    expect(
        |m| m.cpu_types[1].idle_states[0].target_residency_ns = 199,
        "`cpu_type.Cortex-A73.idle.WFI.residency`: pays off sooner than it can be left",
    );
    expect(|m| m.costs.soft_ns[0] = 0.0, "`costs.soft.syscall`: work that costs nothing");
    expect(|m| m.costs.message_ns[3] = 5, "`costs.message.node`: 0 ns is less than the 5 ns of the nearer `llc`");
    expect(|m| m.costs.line_ns[4] = 59, "`costs.line.node`: 59 ns is less than the 60 ns of the nearer `llc`");
    expect(
        |m| m.figures[0].source = fairground_machine::Source::Estimate(String::new()),
        "`topology`: an estimate without a reason",
    );
}

#[test]
fn smt_that_gains_more_than_cores_is_suspicious() {
    let mut machine = Machine::preset("epyc-7742-2p").expect("a preset");
    machine.cpu_types[0].smt_throughput[1] = 2001;
    let warnings: Vec<String> = machine.check().iter().map(|w| w.to_string()).collect();
    assert_eq!(warnings, ["`cpu_type.Zen2.smt_throughput`: thread 2 gains more than a core of its own"]);
}

#[test]
fn types_that_share_a_cluster_power_down_are_suspicious() {
    assert_eq!(checks(|m| m.cpus[0].cpu_type = 1), Vec::<String>::new(), "both have cluster-sleep, as the third state");
    let found = checks(|m| {
        m.cpus[0].cpu_type = 1;
        m.cpu_types[1].idle_states.remove(1);
    });
    assert_eq!(found, ["`cluster[0-3].cpus`: core types whose cluster states differ share one cluster's power-down"]);
}

#[test]
fn a_description_has_every_level_figure_and_source() {
    let machine = Machine::preset("hikey960").expect("a preset");
    let text = machine.describe();
    for part in [
        "hikey960: HiKey960",
        "clusters     2  0-3 | 4-7",
        "0-3: Cortex-A53, capacity 462",
        "999       250       70.3",
        "cluster-sleep  cluster      800    2900    3700    3500",
        "fitted: asym-prev-first/hikey960/sched-pipe/ops_per_sec/base",
        "Linux 6.12.117, arch/arm64/boot/dts/hisilicon/hi3660.dtsi: idle-states",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(machine.figures.iter().all(|f| text.contains(&f.path)));
}

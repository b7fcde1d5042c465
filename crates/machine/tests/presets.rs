//! The machines that come with the program.

use std::collections::BTreeSet;

use fairground_machine::{presets, Distance, Machine, SoftCost, Source};

fn preset(name: &str) -> Machine {
    Machine::preset(name).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)))
}

fn capacities(machine: &Machine) -> Vec<u32> {
    machine.cpus.iter().map(|c| c.capacity).collect()
}

#[test]
fn presets_load_under_their_own_names_and_survive_a_round_trip() {
    for name in presets() {
        let machine = preset(name);
        assert_eq!(machine.name, name);
        let text = machine.to_toml();
        let again = Machine::from_toml(name, &text).unwrap_or_else(|e| panic!("{:?}\n{text}", miette::Report::new(e)));
        assert_eq!(machine.figures, again.figures);
        assert!(machine == again, "{name}");
    }
}

#[test]
fn hikey960_has_the_capacities_of_its_device_tree() {
    let machine = preset("hikey960");
    assert_eq!(capacities(&machine), [462, 462, 462, 462, 1024, 1024, 1024, 1024]);
    // The table of capacities by OPP, rounded: 999 of 1844 MHz, 1421 of 2362 MHz.
    assert_eq!(machine.capacity_at(0, 999_000).round(), 250.0);
    assert_eq!(machine.capacity_at(4, 1_421_000).round(), 616.0);
    assert_eq!(machine.distance(0, 3), Distance::Llc);
    assert_eq!(machine.distance(3, 4), Distance::Node);
    assert_eq!(machine.cpus_within(5, Distance::Llc).to_string(), "4-7");
    let sleep = &machine.idle_states(4)[2];
    assert_eq!((sleep.name.as_str(), sleep.exit_latency_ns), ("cluster-sleep", 3_700_000));
    assert_eq!(machine.idle_states(0)[0].exit_latency_ns, 1000);
}

#[test]
fn hikey_is_told_the_wakeup_latency_of_its_device_tree() {
    let machine = preset("hikey");
    assert_eq!(capacities(&machine), [1024; 8]);
    assert_eq!(machine.freq_domains.len(), 1);
    assert_eq!(machine.idle_states(0)[1].exit_latency_ns, 950_000);
    assert_eq!(machine.idle_states(0)[2].exit_latency_ns, 1_500_000);
}

#[test]
fn juno_interleaves_its_clusters() {
    let machine = preset("juno-r2");
    assert_eq!(capacities(&machine), [383, 1024, 1024, 383, 383, 383]);
    assert_eq!(machine.clusters[0].cpus.to_string(), "0,3-5");
    assert_eq!(machine.distance(0, 5), Distance::Llc);
}

#[test]
fn epyc_has_every_distance_of_a_server() {
    let machine = preset("epyc-7742-2p");
    assert_eq!((machine.nr_cpus(), machine.cores.len(), machine.llcs.len()), (256, 128, 32));
    assert_eq!(machine.cores[1].to_string(), "1,129");
    assert_eq!(machine.llcs[0].to_string(), "0-3,128-131");
    let to = |cpu| machine.distance(0, cpu);
    assert_eq!(to(128), Distance::Smt);
    assert_eq!(to(3), Distance::Llc);
    assert_eq!(to(4), Distance::Node);
    assert_eq!(to(64), Distance::Remote);
    assert_eq!(machine.slit(0, 64), 32);
    let distances = [Distance::Same, Distance::Smt, Distance::Llc, Distance::Node, Distance::Remote];
    assert_eq!(machine.distances(), distances);
    assert_eq!(machine.type_of(0).smt_throughput, [1000, 1250]);
}

/// Found by other means than by all pairs of CPUs.
#[test]
fn the_distances_of_a_machine_are_those_of_its_pairs_of_cpus() {
    for name in presets() {
        let machine = preset(name);
        let cpus = 0..machine.nr_cpus() as u32;
        let pairs = cpus.clone().flat_map(|a| cpus.clone().map(move |b| (a, b)));
        let expected: BTreeSet<Distance> = pairs.map(|(a, b)| machine.distance(a, b)).collect();
        assert_eq!(machine.distances(), Vec::from_iter(expected), "{name}");
    }
}

#[test]
fn synquacer_is_two_machines_by_its_firmware() {
    let (dt, acpi) = (preset("synquacer"), preset("synquacer-acpi"));
    // The device tree says nothing of the L3: a pair's L2 is the last level. The PPTT does.
    assert_eq!((dt.llcs.len(), dt.llcs[1].to_string()), (12, "2-3".into()));
    assert_eq!((acpi.llcs.len(), acpi.clusters.len()), (1, 12));
    assert_eq!([dt.distance(0, 1), dt.distance(0, 2)], [Distance::Llc, Distance::Node]);
    assert_eq!([acpi.distance(0, 1), acpi.distance(0, 2)], [Distance::Cluster, Distance::Llc]);
    // It is the same hardware: a line and an interrupt take as long.
    for (in_dt, in_acpi) in [(Distance::Llc, Distance::Cluster), (Distance::Node, Distance::Llc)] {
        let of = |m: &Machine, d: Distance| (m.costs.line_ns[d as usize], m.costs.ipi_ns[d as usize]);
        assert_eq!(of(&dt, in_dt), of(&acpi, in_acpi));
    }
    let states = |m: &Machine| m.idle_states(0).iter().map(|s| s.exit_latency_ns / 1000).collect::<Vec<_>>();
    // Without wakeup-latency-us the kernel takes entry + exit.
    assert_eq!(states(&dt), [1, 1500, 1600]);
    assert_eq!(states(&acpi), [1]);
    assert!(dt.type_of(0).cpuidle && !acpi.type_of(0).cpuidle);
    assert!(acpi.describe().contains("Cortex-A53: no cpuidle driver, the kernel sees no idle state"));
}

#[test]
fn kunpeng920_has_clusters_below_its_caches_and_dies_below_its_packages() {
    let machine = preset("kunpeng920");
    assert_eq!((machine.nr_cpus(), machine.clusters.len(), machine.llcs.len()), (96, 24, 4));
    assert_eq!((machine.nodes.clone(), machine.packages.len()), (machine.llcs.clone(), 2));
    let to = |cpu| machine.distance(0, cpu);
    assert_eq!([3, 4, 24, 48].map(to), [Distance::Cluster, Distance::Llc, Distance::Package, Distance::Remote]);
    assert_eq!([24, 48, 72].map(|cpu| machine.slit(0, cpu)), [12, 20, 22]);
    // Firmware without _LPI: the kernel knows of nothing below WFI.
    assert_eq!(machine.idle_states(0).iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["WFI"]);
}

#[test]
fn altra_is_told_of_pairs_alone() {
    let machine = preset("altra-q80");
    assert_eq!((machine.nr_cpus(), machine.llcs.len(), machine.nodes.len()), (160, 80, 2));
    let to = |cpu| machine.distance(0, cpu);
    assert_eq!([1, 2, 80].map(to), [Distance::Llc, Distance::Node, Distance::Remote]);
}

#[test]
fn thunderx2_has_four_threads_a_core_and_two_sockets() {
    let machine = preset("thunderx2-224");
    assert_eq!((machine.nr_cpus(), machine.cores.len(), machine.llcs.len()), (224, 56, 2));
    assert_eq!(machine.cores[0].to_string(), "0,28,56,84");
    assert_eq!(machine.llcs[1].to_string(), "112-223");
    let to = |cpu| machine.distance(0, cpu);
    assert_eq!([to(28), to(1), to(112)], [Distance::Smt, Distance::Llc, Distance::Remote]);
    assert_eq!(machine.type_of(0).smt_throughput, [1000, 1420, 1650, 1860]);
}

#[test]
fn the_made_up_machine_has_as_many_cpus_as_there_may_be_and_every_level_but_threads() {
    let machine = preset("synthetic-1024");
    assert_eq!((machine.nr_cpus(), machine.clusters.len(), machine.llcs.len()), (1024, 128, 8));
    let to = |cpu| (machine.distance(0, cpu), machine.slit(0, cpu));
    let near = [(Distance::Cluster, 10), (Distance::Llc, 10), (Distance::Package, 12)];
    assert_eq!([to(7), to(127), to(128)], near);
    assert_eq!([to(512), to(640)], [(Distance::Remote, 20), (Distance::Remote, 24)]);
    // No figure of it is published.
    assert!(machine.figures.iter().all(|f| matches!(f.source, Source::Estimate(_))));
}

#[test]
fn pixel6_has_the_capacities_of_mail_003_by_either_reading() {
    let (one, three) = (preset("pixel6"), preset("pixel6-cluster-llc"));
    for machine in [&one, &three] {
        assert_eq!(capacities(machine), [160, 160, 160, 160, 498, 498, 1024, 1024]);
        assert_eq!(
            machine.rails().iter().map(|(name, cpus)| format!("{name} {cpus}")).collect::<Vec<_>>(),
            ["S4M_VDD_CPUCL0 0-3", "S3M_VDD_CPUCL1 4-5", "S2M_VDD_CPUCL2 6-7"]
        );
    }
    assert_eq!((one.llcs.len(), three.llcs.len()), (1, 3));
    assert_eq!(one.freq_domains, three.freq_domains);
    assert_eq!((&one.votes, &one.thermal), (&three.votes, &three.thermal));
}

/// The clocks that the big cores' clock demands, at 500, 1745 and 2802 MHz: 300, 1098 and 1401 MHz; and the voltages.
#[test]
fn pixel6_votes_by_the_clock_of_the_other_clusters() {
    let machine = preset("pixel6");
    let little = &machine.freq_domains[0].opps;
    let mhz = |least: u32| little[least as usize].khz / 1000;
    let vote = &machine.votes[1];
    assert_eq!([0, 7, 16].map(|n| mhz(vote.clock[n])), [300, 1098, 1401]);
    assert_eq!([0, 7, 16].map(|n| mhz(vote.voltage[n])), [300, 1401, 1803]);
    // At 738 MHz with the voltage of 1803 MHz a cycle costs what it costs there.
    assert_eq!(little[2].active_mw_at(&little[10]).round(), (little[10].active_mw * 738.0 / 1803.0).round());
}

#[test]
fn capacities_of_other_users_boards_follow_their_device_trees() {
    let distinct = |name: &str| {
        let mut all = capacities(&preset(name));
        all.dedup();
        all
    };
    assert_eq!(distinct("rb5"), [284, 871, 1024]);
    assert_eq!(distinct("sdm845"), [385, 1024]);
    assert_eq!(distinct("apple-m1"), [493, 1024]);
    assert_eq!(distinct("alder-lake"), [1024, 560]);
}

/// Before the fit the parts of a pipe wakeup sum to the half round trip, published or estimated, that they split; the file's
/// comments derive each part.
#[test]
fn the_split_of_a_pipe_wakeup_sums_to_its_half() {
    let halves = [
        ("hikey960", 3350.0),
        ("hikey", 10_500.0),
        ("thunderx2-224", 4030.0),
        ("kunpeng920", 2620.0),
        ("altra-q80", 1760.0),
    ];
    for (name, half_ns) in halves {
        let mut machine = preset(name);
        machine.costs.rescale(1.0);
        use SoftCost::*;
        let soft = [Syscall, PipeWrite, Wakeup, Enqueue, IpiSend, IpiIrq, Pick, SwitchThread, Syscall, PipeRead];
        let soft: f64 =
            soft.iter().map(|kind| machine.costs.soft(*kind)).sum::<f64>() + 2.0 * machine.costs.soft(Probe);
        let cpu = machine.nr_cpus() as u32 - 1;
        let hard = machine.costs.ipi_ns[Distance::Llc as usize] + machine.idle_states(cpu)[0].wake_ns;
        let sum = soft + hard as f64;
        assert!((sum - half_ns).abs() < 0.005 * half_ns, "{name}: {sum}");
    }
}

//! Domains of known machines against expectations worked out by hand from spec 1.

use std::sync::Arc;

use fairground_fair::ffi::FG_SD_SHARE_CPUCAPACITY;
use fairground_fair::{Fair, FairError, Features, Options, PolicySandbox, Topology};
use fairground_machine::testing::Shape;
use fairground_machine::{Cluster, CpuMask, Machine};

fn preset(name: &str) -> Machine {
    Machine::preset(name).unwrap()
}

fn shape(packages: u32, nodes: u32, llcs: u32, clusters: u32, cores: u32, threads: u32) -> Shape {
    Shape {
        packages,
        nodes,
        llcs,
        clusters,
        cores,
        threads,
        siblings_last: false,
        clusters_share_cache: false,
        types: 1,
        idle_states: 1,
        salt: 1,
    }
}

fn build(machine: &Machine, scheduler: &str, options: &Options) -> Topology {
    Topology::new(machine, &Features::parse(scheduler).unwrap(), options).unwrap()
}

fn describe(machine: &Machine, scheduler: &str) -> Vec<String> {
    let topology = build(machine, scheduler, &Options::default());
    topology.describe().lines().map(String::from).collect()
}

fn mask(list: &str) -> CpuMask {
    CpuMask::parse_list(list).unwrap()
}

#[test]
fn hikey960_is_two_clusters_and_an_asymmetric_package() {
    let expected = [
        "0-3: MC 0-3 (0 1 2 3) pct 117 4-8 ms NEWIDLE EXEC FORK AFFINE LLC",
        "     PKG 0-7 (0-3 4-7) pct 125 8-16 ms NEWIDLE EXEC FORK AFFINE ASYM SIBLING",
        "4-7: MC 4-7 (4 5 6 7) pct 117 4-8 ms NEWIDLE EXEC FORK AFFINE LLC",
        "     PKG 0-7 (4-7 0-3) pct 125 8-16 ms NEWIDLE EXEC FORK AFFINE ASYM SIBLING",
    ];
    assert_eq!(describe(&preset("hikey960"), "v5.9"), expected);
}

/// Spec 1.3: the asymmetric domain and all below it balance on wakeups, those above it do not.
#[test]
fn wake_cap_makes_asymmetric_domains_balance_on_wakeups() {
    const OLD: &str = "v5.9-asym-scan+wake-cap";
    let expected = [
        "0-3: MC 0-3 (0 1 2 3) pct 117 4-8 ms NEWIDLE EXEC FORK WAKE AFFINE LLC",
        "     PKG 0-7 (0-3 4-7) pct 125 8-16 ms NEWIDLE EXEC FORK WAKE AFFINE ASYM SIBLING",
        "4-7: MC 4-7 (4 5 6 7) pct 117 4-8 ms NEWIDLE EXEC FORK WAKE AFFINE LLC",
        "     PKG 0-7 (4-7 0-3) pct 125 8-16 ms NEWIDLE EXEC FORK WAKE AFFINE ASYM SIBLING",
    ];
    assert_eq!(describe(&preset("hikey960"), OLD), expected);
    assert_eq!(describe(&preset("hikey"), OLD), describe(&preset("hikey"), "v5.9"));
    let mut machine = shape(1, 1, 2, 1, 2, 1).build();
    for (cpu, capacity) in [(0, 400), (1, 1024), (2, 400), (3, 1024)] {
        machine.cpus[cpu].capacity = capacity;
    }
    let lines = describe(&machine, OLD);
    assert!(lines[0].contains("ASYM") && lines[0].contains("WAKE"), "{lines:?}");
    assert!(lines[1].contains("PKG") && !lines[1].contains("WAKE"), "{lines:?}");
}

#[test]
fn v5_11_lowers_the_default_imbalance_pct() {
    let lines = describe(&preset("hikey960"), "v5.11");
    assert_eq!(lines[1], "     PKG 0-7 (0-3 4-7) pct 117 8-16 ms NEWIDLE EXEC FORK AFFINE ASYM SIBLING");
}

#[test]
fn clusters_of_unequal_cpus_prefer_siblings_since_v7_3() {
    for (scheduler, prefers) in [("v7.2", false), ("v7.3", true), ("v7.3-asym-prefer-sibling", false)] {
        let lines = describe(&preset("hikey960"), scheduler);
        assert!(lines[0].starts_with("0-3: MC 0-3 (0 1 2 3) "), "{scheduler}: {lines:?}");
        assert_eq!(lines[0].ends_with(" SIBLING"), prefers, "{scheduler}: {lines:?}");
    }
}

#[test]
fn hikey_is_symmetric_so_both_levels_prefer_siblings() {
    let expected = [
        "0-3: MC 0-3 (0 1 2 3) pct 117 4-8 ms NEWIDLE EXEC FORK AFFINE LLC SIBLING",
        "     PKG 0-7 (0-3 4-7) pct 125 8-16 ms NEWIDLE EXEC FORK AFFINE SIBLING",
        "4-7: MC 4-7 (4 5 6 7) pct 117 4-8 ms NEWIDLE EXEC FORK AFFINE LLC SIBLING",
        "     PKG 0-7 (4-7 0-3) pct 125 8-16 ms NEWIDLE EXEC FORK AFFINE SIBLING",
    ];
    assert_eq!(describe(&preset("hikey"), "v5.9"), expected);
}

/// Spec 1.1: 24 CPUs a node, clusters of 4 (intervals 4/8), MC of 24 (24/48).
fn two_nodes_of_six_clusters() -> Machine {
    Shape { clusters_share_cache: true, ..shape(2, 1, 1, 6, 4, 1) }.build()
}

#[test]
fn kunpeng_without_the_cluster_level_has_mc_and_numa() {
    let machine = two_nodes_of_six_clusters();
    let topology = build(&machine, "v5.9", &Options::default());
    assert_eq!(topology.summary(0), "MC 0-23, NUMA21 0-47");
    assert_eq!(topology.summary(47), "MC 24-47, NUMA21 0-47");
    let lines = describe(&machine, "v5.9");
    assert!(lines[0].ends_with(" pct 117 24-48 ms NEWIDLE EXEC FORK AFFINE LLC SIBLING"), "{}", lines[0]);
    let numa = "NUMA21 0-47 (0-23 24-47) pct 125 48-96 ms NEWIDLE EXEC FORK AFFINE SERIALIZE OVERLAP NUMA";
    assert_eq!(lines[1].trim(), numa);
}

#[test]
fn kunpeng_with_the_cluster_level_has_clusters_below_mc() {
    let machine = two_nodes_of_six_clusters();
    let topology = build(&machine, "v5.9+cls-domain", &Options::default());
    assert_eq!(topology.summary(5), "CLS 4-7, MC 0-23, NUMA21 0-47");
    let lines = describe(&machine, "v5.9+cls-domain");
    let cluster = "0-3: CLS 0-3 (0 1 2 3) pct 117 4-8 ms NEWIDLE EXEC FORK AFFINE LLC SIBLING";
    assert_eq!(lines[0], cluster);
    let mc = "MC 0-23 (0-3 4-7 8-11 12-15 16-19 20-23) pct 117 24-48 ms NEWIDLE EXEC FORK AFFINE LLC SIBLING";
    assert_eq!(lines[1].trim(), mc);
}

#[test]
fn a_cluster_as_large_as_the_cache_is_no_level() {
    let machine = Shape { clusters_share_cache: true, ..shape(2, 1, 1, 1, 4, 1) }.build();
    let topology = build(&machine, "v5.9+cls-domain", &Options::default());
    assert_eq!(topology.summary(0), "MC 0-3, NUMA21 0-7");
}

#[test]
fn clusters_of_one_cpu_vanish() {
    let machine = Shape { clusters_share_cache: true, ..shape(1, 1, 1, 4, 1, 1) }.build();
    assert_eq!(build(&machine, "v5.9+cls-domain", &Options::default()).summary(0), "MC 0-3");
}

#[test]
fn two_sockets_with_smt_have_threads_cache_and_numa() {
    let machine = shape(2, 1, 1, 1, 4, 2).build();
    let expected = [
        "0-1: SMT 0-1 (0 1) pct 110 2-4 ms NEWIDLE EXEC FORK AFFINE SMT LLC SIBLING",
        "     MC 0-7 (0-1 2-3 4-5 6-7) pct 117 8-16 ms NEWIDLE EXEC FORK AFFINE LLC SIBLING",
        "     NUMA21 0-15 (0-7 8-15) pct 125 16-32 ms NEWIDLE EXEC FORK AFFINE SERIALIZE OVERLAP NUMA",
    ];
    assert_eq!(describe(&machine, "v5.9")[..3], expected);
}

#[test]
fn several_caches_in_a_node_make_a_package_level() {
    let machine = shape(1, 1, 2, 1, 4, 1).build();
    assert_eq!(build(&machine, "v5.9", &Options::default()).summary(0), "MC 0-3, PKG 0-7");
}

#[test]
fn thunderx2_like_cores_have_four_threads() {
    let machine = Shape { siblings_last: true, ..shape(2, 1, 1, 1, 8, 4) }.build();
    let topology = build(&machine, "v5.9", &Options::default());
    assert_eq!(topology.summary(0), "SMT 0,16,32,48, MC 0-7,16-23,32-39,48-55, NUMA21 0-63");
    let lines = describe(&machine, "v5.9");
    assert_eq!(
        lines[0],
        "0,16,32,48: SMT 0,16,32,48 (0 16 32 48) pct 110 4-8 ms NEWIDLE EXEC FORK AFFINE SMT LLC SIBLING"
    );
}

/// Kunpeng 920, 4 nodes: physical chain 1-0-2-3.
fn chain_of_four_nodes() -> Machine {
    let mut machine = shape(2, 2, 1, 1, 2, 1).build();
    let slit = [[10, 12, 20, 22], [12, 10, 22, 24], [20, 22, 10, 12], [22, 24, 12, 10]];
    machine.numa_distance = slit.iter().map(|row| row.to_vec()).collect();
    machine
}

#[test]
fn a_numa_chain_has_overlapping_groups_that_cover_each_level() {
    let lines = describe(&chain_of_four_nodes(), "v5.9");
    // Node 0 (CPUs 0-1) reaches node 1 at 12, node 2 at 20, node 3 at 22; node 1 reaches node 3 at 24 only.
    let spans: Vec<&str> = lines.iter().map(|l| l.split(" pct").next().unwrap().trim()).collect();
    let expected = [
        "0-1: MC 0-1 (0 1)",
        "NUMA12 0-3 (0-1 2-3)",
        "NUMA20 0-5 (0-3 4-7)",
        "NUMA22 0-7 (0-5 4-7)",
        "2-3: MC 2-3 (2 3)",
        "NUMA12 0-3 (2-3 0-1)",
        "NUMA22 0-5 (0-3 0-1,4-7)",
        "NUMA24 0-7 (0-5 0-1,4-7)",
        "4-5: MC 4-5 (4 5)",
        "NUMA12 4-7 (4-5 6-7)",
        "NUMA20 0-1,4-7 (4-7 0-3)",
        "NUMA22 0-7 (0-1,4-7 0-3)",
        "6-7: MC 6-7 (6 7)",
        "NUMA12 4-7 (6-7 4-5)",
        "NUMA22 0-1,4-7 (4-7 0-5)",
        "NUMA24 0-7 (0-1,4-7 0-5)",
    ];
    assert_eq!(spans, expected);
}

/// Spec 1.6: since v5.13 the group that stands for node 2 in a domain without node 3 is node 2 alone.
#[test]
fn groups_of_a_numa_chain_stay_within_their_domain_since_v5_13() {
    let lines = describe(&chain_of_four_nodes(), "v6.1");
    let spans: Vec<&str> = lines.iter().map(|l| l.split(" pct").next().unwrap().trim()).collect();
    let expected = [
        "0-1: MC 0-1 (0 1)",
        "NUMA12 0-3 (0-1 2-3)",
        "NUMA20 0-5 (0-3 4-5)",
        "NUMA22 0-7 (0-5 4-7)",
        "2-3: MC 2-3 (2 3)",
        "NUMA12 0-3 (2-3 0-1)",
        "NUMA22 0-5 (0-3 4-5)",
        "NUMA24 0-7 (0-5 0-1,4-7)",
        "4-5: MC 4-5 (4 5)",
        "NUMA12 4-7 (4-5 6-7)",
        "NUMA20 0-1,4-7 (4-7 0-1)",
        "NUMA22 0-7 (0-1,4-7 0-3)",
        "6-7: MC 6-7 (6 7)",
        "NUMA12 4-7 (6-7 4-5)",
        "NUMA22 0-1,4-7 (4-7 0-1)",
        "NUMA24 0-7 (0-1,4-7 0-5)",
    ];
    assert_eq!(spans, expected);
}

/// The last CPU of a domain links its groups as it sees them, and the others begin elsewhere in that ring: clusters whose ids
/// alternate do not come in the order of ids after one's own.
#[test]
fn groups_follow_each_other_as_the_last_cpu_of_their_domain_sees_them() {
    let mut machine = Machine::symmetric(8);
    let clusters = ["0,2,4", "1,3,5", "6-7"].map(mask);
    for (n, cpus) in clusters.iter().enumerate() {
        cpus.iter().for_each(|cpu| machine.cpus[cpu as usize].cluster = n as u32);
    }
    let whole = |cpus| Cluster { cpus, shares_cache: true, active_mw: 50.0, idle_mw: 50.0 };
    machine.clusters = clusters.map(whole).to_vec();
    let lines = describe(&machine, "v6.12");
    let caches: Vec<&str> = lines.iter().filter_map(|l| l.split_once("MC ")?.1.split(" pct").next()).collect();
    assert_eq!(caches, ["0-7 (0,2,4 1,3,5 6-7)", "0-7 (1,3,5 6-7 0,2,4)", "0-7 (6-7 0,2,4 1,3,5)"]);
}

#[test]
fn a_single_cpu_has_no_domain() {
    let machine = Machine::symmetric(1);
    assert_eq!(describe(&machine, "v5.9"), ["0: no domain (alone)"]);
}

#[test]
fn equal_cpus_behind_one_cache_have_one_domain() {
    let machine = Machine::symmetric(8);
    let expected = ["0-7: MC 0-7 (0 1 2 3 4 5 6 7) pct 117 8-16 ms NEWIDLE EXEC FORK AFFINE LLC SIBLING".to_string()];
    assert_eq!(describe(&machine, "v5.9"), expected);
}

#[test]
fn a_partition_of_equal_cpus_is_a_symmetric_island() {
    let options = Options { partitions: vec![mask("4-7")], isolated: CpuMask::EMPTY };
    let topology = build(&preset("hikey960"), "v5.9", &options);
    assert_eq!(topology.summary(4), "MC 4-7");
    assert_eq!(topology.summary(0), "MC 0-3");
    assert!(!topology.describe().contains("ASYM"));
    // An island of big CPUs beside a partition that is still asymmetric.
    let options = Options { partitions: vec![mask("6-7")], isolated: CpuMask::EMPTY };
    let topology = build(&preset("hikey960"), "v5.9", &options);
    assert_eq!(topology.summary(6), "MC 6-7");
    assert_eq!(topology.summary(4), "MC 4-5, PKG 0-5");
}

#[test]
fn isolated_cpus_have_no_domain() {
    let options = Options { partitions: vec![], isolated: mask("0,4") };
    let topology = build(&preset("hikey960"), "v5.9", &options);
    assert_eq!(topology.summary(1), "MC 1-3, PKG 1-3,5-7");
    assert!(topology.describe().starts_with("0,4: no domain (isolated)\n"));
}

/// One cache, three capacities: A at MC (v5.13), and every level on its own (v5.14).
#[test]
fn asymmetric_flags_follow_the_version() {
    let mut machine = shape(1, 1, 2, 1, 2, 1).build();
    for (cpu, capacity) in [(0, 400), (1, 1024), (2, 400), (3, 1024)] {
        machine.cpus[cpu].capacity = capacity;
    }
    let lines = describe(&machine, "v5.9");
    assert!(lines[0].contains("ASYM") && !lines[1].contains("ASYM"), "{lines:?}");
    let lines = describe(&machine, "v5.9+asym-cap-full");
    assert!(lines[0].contains("ASYM ASYM_FULL") && lines[1].contains("ASYM ASYM_FULL"), "{lines:?}");
}

/// CLS repeats SMT here and goes. Before v6.6 MC's groups do not hear that SMT is now below them.
#[test]
fn groups_take_over_the_flags_of_the_domain_below_since_v6_6() {
    let machine = shape(1, 1, 1, 1, 4, 2).build();
    let shares_capacity = |scheduler: &str| {
        let mut shown = PolicySandbox::new(&machine, &Features::parse(scheduler).unwrap(), 250).unwrap();
        assert_eq!(shown.nr_domains(0), 2, "SMT and MC");
        let flags =
            |shown: &mut PolicySandbox, g| shown.group_mut(0, 1, g).unwrap().flags & FG_SD_SHARE_CPUCAPACITY != 0;
        [flags(&mut shown, 0), flags(&mut shown, 3)]
    };
    assert_eq!(shares_capacity("debian-6.1.192"), [false, false]);
    assert_eq!(shares_capacity("debian-6.1.192+group-flags"), [true, true]);
    assert_eq!(shares_capacity("debian-6.12.117"), [true, true]);
}

#[test]
fn bad_partitions_are_named() {
    let machine = preset("hikey960");
    let features = Features::parse("v5.9").unwrap();
    let overlap = Options { partitions: vec![mask("0-3"), mask("3-5")], isolated: CpuMask::EMPTY };
    let error = Topology::new(&machine, &features, &overlap).err().unwrap();
    assert_eq!(error.to_string(), "partitions 0-3 and 3-5 share CPUs 3: exclusive cpusets are disjoint");
    let beyond = Options { partitions: vec![mask("7-8")], isolated: CpuMask::EMPTY };
    assert!(matches!(Topology::new(&machine, &features, &beyond), Err(FairError::BadPartition { .. })));
}

/// SLIT 32 is beyond the kernel's default of 30, and not beyond the 32 that it sets on Zen.
#[test]
fn forks_and_wakeups_cross_nodes_up_to_the_reclaim_distance() {
    let mut machine = preset("epyc-7742-2p");
    let top = |machine: &Machine| {
        let lines = describe(machine, "v5.11");
        lines.into_iter().find(|line| line.contains("NUMA32")).unwrap()
    };
    assert!(top(&machine).contains("NEWIDLE EXEC FORK AFFINE"), "{}", top(&machine));
    machine.node_reclaim_distance = 30;
    let far = top(&machine);
    assert!(far.contains("NEWIDLE") && !["EXEC", "FORK", "AFFINE"].iter().any(|flag| far.contains(flag)), "{far}");
}

/// Up to v7.0 by all CPUs of a level, also where a partition has but some of them.
#[test]
fn intervals_go_by_the_cpus_of_a_partition_since_v7_1() {
    let options = Options { partitions: vec![mask("6-7")], isolated: CpuMask::EMPTY };
    for (scheduler, island, rest) in
        [("v7.0", "4-8", "8-16"), ("v7.1", "2-4", "6-12"), ("v7.1-weight-in-map", "4-8", "8-16")]
    {
        let lines = build(&preset("hikey960"), scheduler, &options).describe();
        let find = |start: &str| lines.lines().find(|l| l.trim().starts_with(start)).unwrap().to_string();
        assert!(find("6-7: MC 6-7").contains(&format!(" {island} ms ")), "{scheduler}: {lines}");
        assert!(find("PKG 0-5").contains(&format!(" {rest} ms ")), "{scheduler}: {lines}");
    }
}

/// A cache that two partitions have a part of is one since v7.2, and the caches are counted; isolated CPUs have none.
#[test]
fn caches_have_numbers_of_their_own_since_v7_2() {
    let options = Options { partitions: vec![mask("2-3")], isolated: mask("7") };
    let first_cpus = [0, 0, 2, 2, 4, 4, 4, 7];
    for (scheduler, expected) in
        [("v7.1", first_cpus), ("v7.2", [0, 0, 0, 0, 1, 1, 1, -1]), ("v7.2-llc-phys", first_cpus)]
    {
        let features = Features::parse(scheduler).unwrap();
        let fair = Fair::new(Arc::new(preset("hikey960")), features, options.clone()).unwrap();
        let ids: Vec<i32> = (0..8).map(|cpu| fair.cpu(cpu).sd_llc_id).collect();
        assert_eq!(ids, expected, "{scheduler}");
        let shares: Vec<i32> = (0..8).map(|cpu| fair.cpu(cpu).sd_share_id).collect();
        assert_eq!(shares, [0, 0, 2, 2, 4, 4, 4, 7], "{scheduler}");
    }
}

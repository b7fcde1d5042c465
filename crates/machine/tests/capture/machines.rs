//! What is captured of which tree.

use fairground_machine::{capture, Capture, CaptureOptions, Distance, Machine, Opp};
use proptest::prelude::*;

use super::kit::{clocks, clusters, cpus, idle, kernel_distance, shown, source, Sysfs};
use super::trees;
use crate::strategy::machines;

fn preset(name: &str) -> Machine {
    Machine::preset(name).expect("a preset")
}

/// Captures with figures from a preset by name: which one is nearest depends on what presets there are.
fn capture_like(tree: &Sysfs, name: &str) -> Capture {
    let options = CaptureOptions { like: Some(preset(name)), ..tree.options() };
    capture(&options).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)))
}

fn opps(machine: &Machine, domain: usize) -> Vec<(u32, f64)> {
    machine.freq_domains[domain].opps.iter().map(|opp| (opp.khz / 1000, opp.active_mw)).collect()
}

fn capacities(machine: &Machine) -> Vec<u32> {
    machine.cpus.iter().map(|cpu| cpu.capacity).collect()
}

#[test]
fn a_board_is_captured_as_its_preset_describes_it() {
    let notes = ["the governor is schedutil; a run has its own, see `--governor`", CLUSTER_STATES];
    let captured = trees::big_little().capture_with_notes(&notes);
    assert_eq!(captured.title, "HiKey960, 8 CPUs, captured from sysfs");
    let mut expected = preset("hikey960");
    (expected.name, expected.title) = (captured.name.clone(), captured.title.clone());
    expected.figures = captured.figures.clone();
    assert_eq!(captured, expected);
    assert_eq!(captured.check(), []);
}

const CLUSTER_STATES: &str =
    "cpuidle does not say which states a cluster enters as a whole: those with `cluster` in the name";

#[test]
fn every_figure_says_where_it_is_from() {
    let machine = trees::big_little().capture().machine;
    let expected = [
        ("topology", "sysfs, devices/system/cpu/cpuN/topology, cpuN/cache, devices/system/node"),
        ("freq_domain[0-3].transition", "sysfs, cpufreq/policyN/cpuinfo_transition_latency"),
        ("freq_domain[4-7].opps", "debugfs, energy_model"),
        ("cpu_type.Cortex-A53.capacity", "sysfs, devices/system/cpu/cpuN/cpu_capacity"),
        ("cpu_type.Cortex-A73.idle.cpu-sleep.exit_latency", "sysfs, devices/system/cpu/cpuN/cpuidle/stateN"),
        ("cpu_type.Cortex-A73.idle.cpu-sleep.wake", "estimate: from hikey960"),
        ("cluster[0-3].active", "estimate: from hikey960"),
        ("costs.scale", "estimate: from hikey960"),
        ("costs.soft.probe", "estimate: from hikey960"),
        ("costs.line.node", "estimate: from hikey960"),
    ];
    for (path, from) in expected {
        assert_eq!(source(&machine, path), from, "{path}");
    }
}

/// With figures from a machine made in code: those of presets may be fitted anew.
#[test]
fn the_file_reads_as_it_did() {
    let tree = trees::big_little();
    let options = CaptureOptions { like: Some(Machine::symmetric(8)), ..tree.options() };
    insta::assert_snapshot!(capture(&options).expect("a machine").to_toml());
}

#[test]
fn capturing_twice_gives_the_same_bytes() {
    let tree = trees::clustered();
    assert_eq!(tree.capture().to_toml(), tree.capture().to_toml());
}

/// Steps of (4800 - 800) / 8 = 500 MHz. Power is that of a Zen 2 at the same share of its 3400 MHz: at 800 MHz that of
/// 567 MHz, below its lowest 1500 MHz and 600 mW: 600 x 567 / 1500 = 227; at 2300 MHz that of 1629 MHz, between 600 mW
/// and 950 mW at 2000 MHz: 600 + 350 x 129 / 500 = 690.
#[test]
fn threads_share_a_core_and_its_clock() {
    let captured = capture_like(&trees::smt(), "epyc-7742-2p");
    let machine = &captured.machine;
    assert_eq!(machine.title, "Example Desktop 8, 16 CPUs, captured from sysfs");
    assert_eq!(shown(&machine.cores), "0,8 | 1,9 | 2,10 | 3,11 | 4,12 | 5,13 | 6,14 | 7,15");
    assert_eq!((shown(&machine.llcs), clusters(machine)), ("0-15".into(), "0-15".into()));
    assert_eq!(clocks(machine), shown(&machine.cores));
    assert_eq!(machine.cpu_types.len(), 1);
    assert_eq!(machine.cpu_types[0].smt_throughput, [1000, 1250]);
    let opps = opps(machine, 0);
    assert_eq!(
        opps.iter().map(|(mhz, _)| *mhz).collect::<Vec<_>>(),
        [800, 1300, 1800, 2300, 2800, 3300, 3800, 4300, 4800]
    );
    assert_eq!((opps[0].1, opps[3].1, opps[8].1), (227.0, 690.0, 3500.0));
    assert_eq!(
        captured.notes,
        [
            "cpufreq names only the ends of the range of CPUs 0-15: 8 even steps are assumed",
            "cpufreq does not say how long a change of the clock of CPUs 0-15 takes",
            "the governor is powersave; a run has its own, see `--governor`",
            "no cpu_capacity: the kernel takes all CPUs for equal",
            "no energy model is readable in debugfs: power is estimated",
        ]
    );
    // Lent with all else, and odd there too.
    let odd: Vec<_> = machine.check().into_iter().filter(|w| w.key != "freq_domain[0,8].transition").collect();
    assert_eq!(odd, []);
}

/// 253 us is nearest to the 400 us of the lender's C2, entered in 50 and left in 22 us: 253 / 400 of both, and of the
/// 150 uJ. No idle core draws more than the 227 mW of the lowest clock, not even the loop.
#[test]
fn idle_states_take_the_kernels_figures_and_scale_the_lenders() {
    let machine = capture_like(&trees::smt(), "epyc-7742-2p").machine;
    assert_eq!(idle(&machine, 3), "POLL 0/0, C1_ACPI 1/1, C2_ACPI 253/1048");
    let [poll, c1, c2] = machine.idle_states(0) else { panic!("three states") };
    assert!(poll.polling && !c1.polling && !c2.polling);
    assert_eq!((poll.entry_ns, poll.wake_ns, poll.power_mw), (0, 0, 227.0));
    assert_eq!((c1.entry_ns, c1.wake_ns, c1.power_mw), (0, 100, 227.0));
    assert_eq!((c2.entry_ns, c2.wake_ns, c2.power_mw, c2.transition_uj), (31_625, 13_915, 30.0, 94.9));
}

/// The levels of a core are one cache, as large as the larger. Of the lender are the price of its L3 and what memory
/// and modified lines cost.
#[test]
fn caches_have_the_sizes_of_sysfs_and_the_prices_of_the_lender() {
    let machine = capture_like(&trees::smt(), "epyc-7742-2p").machine;
    let caches = machine.caches.as_ref().expect("caches");
    let sizes: Vec<(String, u32, u64)> =
        caches.all.iter().map(|cache| (cache.cpus.to_string(), cache.size_kib, cache.refill_kib_ns)).collect();
    assert_eq!((sizes.len(), &sizes[0], &sizes[8]), (9, &("0,8".into(), 512, 0), &("0-15".into(), 4096, 88)));
    assert_eq!((caches.modified, caches.memory_kib(Distance::Same)), (0.25, 376));
    assert_eq!(source(&machine, "cache[0,8].size"), "sysfs, devices/system/cpu/cpuN/cache/indexN");
    assert_eq!(source(&machine, "cache[0-15].refill_kib"), "estimate: from epyc-7742-2p");
    let tree = trees::smt();
    let options = CaptureOptions { like: Some(Machine::symmetric(1)), ..tree.options() };
    let captured = capture(&options).expect("a machine").machine;
    let reason = "estimate: a round figure, equal-1 says nothing of caches";
    assert_eq!(source(&captured, "refill.memory_kib.node"), reason);
}

#[test]
fn sockets_are_packages_and_nodes() {
    let captured = capture_like(&trees::two_nodes(), "epyc-7742-2p");
    let machine = &captured.machine;
    for groups in [&machine.packages, &machine.nodes, &machine.llcs] {
        assert_eq!(shown(groups), "0,2,4,6 | 1,3,5,7");
    }
    assert_eq!(machine.numa_distance, [[10, 21], [21, 10]]);
    assert_eq!(machine.distances(), [Distance::Same, Distance::Llc, Distance::Remote]);
    assert_eq!(machine.node_reclaim_distance, 32, "Zen, as modalias says");
    assert_eq!(source(machine, "topology.distances"), "sysfs, devices/system/node/nodeN/distance");
    assert_eq!(captured.notes[0], "no cluster is known of CPUs 0-7: a last-level cache is taken to be a cluster");
    let intel = trees::two_nodes();
    intel.put("devices/system/cpu/modalias", "cpu:type:x86,ven0000fam0006mod008F:feature:,0000");
    assert_eq!(intel.capture().machine.node_reclaim_distance, 30);
}

#[test]
fn clusters_below_the_cache_are_a_level() {
    let captured = capture_like(&trees::clustered(), "hikey");
    let machine = &captured.machine;
    assert!(clusters(machine).starts_with("0-3+ | 4-7+ | 8-11+ | 12-15+"), "{}", clusters(machine));
    assert_eq!(machine.clusters.len(), 12);
    assert_eq!((shown(&machine.llcs), shown(&machine.nodes)), ("0-23 | 24-47".into(), "0-23 | 24-47".into()));
    let to = |cpu| machine.distance(0, cpu);
    assert_eq!((to(3), to(4), to(24)), (Distance::Cluster, Distance::Llc, Distance::Package));
    assert_eq!(machine.cpu_types[0].name, "TaiShan-v110");
    assert_eq!(
        captured.notes,
        [
            "no cpufreq for CPUs 0-47: their clock is taken to be fixed",
            "no cpuidle for CPUs 0-47: they are taken to have one shallow state",
            "no energy model is readable in debugfs: power is estimated",
        ]
    );
    // The lender's top, and its shallowest state.
    assert_eq!(machine.freq_domains[0].opps, [Opp::new(1_200_000, 670.0)]);
    assert_eq!(idle(machine, 47), "default 1/1");
}

/// HiKey has neither clusters below its caches nor a second package: between the same CPU (0 ns) and its cache (350,
/// 90, 270 ns) and beyond its node a round figure stands in, cut to what the neighbours allow.
#[test]
fn distances_that_the_lender_lacks_take_round_figures_between_its_own() {
    let machine = capture_like(&trees::clustered(), "hikey").machine;
    let lender = preset("hikey").costs;
    let round = fairground_machine::Costs::plausible();
    let (cluster, llc, package) = (Distance::Cluster as usize, Distance::Llc as usize, Distance::Package as usize);
    assert_eq!(machine.costs.ipi_ns[llc], lender.ipi_ns[llc]);
    assert_eq!(machine.costs.ipi_ns[cluster], round.ipi_ns[cluster].min(lender.ipi_ns[llc]));
    assert_eq!(machine.costs.line_ns[package], round.line_ns[package].max(lender.line_ns[package]));
    let reason = "estimate: a round figure, hikey has no such distance";
    assert_eq!(source(&machine, "costs.refill_kib.cluster"), reason);
    assert_eq!(machine.check(), []);
}

#[test]
fn hybrid_cores_without_clusters_of_their_own_stay_outside_those_of_the_others() {
    let tree = Sysfs::new("0-11");
    let cores = ["0-1", "2-3", "4", "5", "6", "7", "8", "9", "10", "11"];
    tree.groups("core", &cores);
    tree.groups("cluster", &["0-1", "2-3", "4-7", "8-11"]);
    tree.groups("package", &["0-11"]);
    tree.caches(2, 2, "Unified", &["0-1", "2-3", "4-7", "8-11"]);
    tree.caches(3, 3, "Unified", &["0-11"]);
    tree.put_each("0-3", "cpu_capacity", "1024");
    tree.put_each("4-11", "cpu_capacity", "620");
    let machine = tree.capture().machine;
    assert_eq!(clusters(&machine), "0-3 | 4-7+ | 8-11+");
    assert_eq!(machine.cpu_types.iter().map(|kind| kind.name.as_str()).collect::<Vec<_>>(), ["cpu-1024", "cpu-620"]);
    assert_eq!((machine.cpu_types[0].smt_throughput.len(), machine.cpu_types[1].smt_throughput.len()), (2, 1));
}

/// CPUs 2, 3 and 5 are off: kernels take them from all lists but those of cpufreq and the energy model.
#[test]
fn offline_cpus_are_left_out_and_ids_are_dense() {
    let tree = trees::big_little();
    tree.put("devices/system/cpu/online", "0-1,4,6-7");
    for cpu in [2, 3, 5] {
        for part in ["topology", "cache", "cpuidle", "cpu_capacity"] {
            tree.remove(&format!("devices/system/cpu/cpu{cpu}/{part}"));
        }
    }
    for (level, groups) in [("cluster", &["0-1", "4,6-7"][..]), ("package", &["0-1,4,6-7"])] {
        tree.groups(level, groups);
    }
    tree.caches(2, 2, "Unified", &["0-1", "4,6-7"]);
    tree.put("devices/system/node/node0/cpulist", "0-1,4,6-7");
    let machine = tree.capture_with_notes(&[
        "CPUs 2-3,5 are present but not online and are left out",
        "ids are dense here: CPUs 0-4 are the kernel's CPUs 0-1,4,6-7, in this order",
        "the governor is schedutil; a run has its own, see `--governor`",
        CLUSTER_STATES,
    ]);
    assert_eq!((shown(&machine.llcs), clocks(&machine)), ("0-1 | 2-4".into(), "0-1 | 2-4".into()));
    assert_eq!(capacities(&machine), [462, 462, 1024, 1024, 1024]);
    assert_eq!(opps(&machine, 1)[4], (2362, 1571.9));
    let text = tree.capture().to_toml();
    assert!(
        text.contains("# - ids are dense here: CPUs 0-4 are the kernel's CPUs 0-1,4,6-7, in this order\n"),
        "{text}"
    );
}

/// 462 / 462 x 1024.
#[test]
fn the_strongest_cpu_that_is_online_has_1024() {
    let tree = trees::big_little();
    tree.put("devices/system/cpu/online", "0-3");
    tree.groups("package", &["0-3"]);
    tree.put("devices/system/node/node0/cpulist", "0-3");
    let captured = tree.capture();
    assert_eq!(capacities(&captured.machine), [1024; 4]);
    assert!(
        captured.notes.iter().any(|note| note.contains("the greatest cpu_capacity is 462")),
        "{:?}",
        captured.notes
    );
}

#[test]
fn a_container_captures_the_machine_and_says_that_it_may_not_use_all_of_it() {
    for path in ["fs/cgroup/cpuset.cpus.effective", "fs/cgroup/cpuset/cpuset.effective_cpus"] {
        let tree = trees::big_little();
        tree.put(path, "0-1");
        let captured = tree.capture();
        assert_eq!(captured.notes[0], format!("{path} allows CPUs 0-1 only; the machine is captured whole"));
        assert_eq!(captured.machine, trees::big_little().capture().machine);
        tree.put(path, "0-7");
        assert!(!tree.capture().notes[0].contains(path));
    }
}

#[test]
fn a_virtual_machine_that_shows_next_to_nothing_is_captured_with_a_note_for_each_gap() {
    let machine = trees::minimal().capture_with_notes(&[
        "devices/system/node has no CPUs: all are taken to be in one node",
        "cache/indexN/shared_cpu_list is missing for CPUs 0-3: the package, or its part in a node, shares a cache",
        "no cluster is known of CPUs 0-3: a last-level cache is taken to be a cluster",
        "cache/indexN/size is missing for CPUs 0-3: no cache keeps anything of a task that leaves",
        "no cpufreq for CPUs 0-3: their clock is taken to be fixed",
        "no cpu_capacity: the kernel takes all CPUs for equal",
        "no cpuidle for CPUs 0-3: they are taken to have one shallow state",
        "no energy model is readable in debugfs: power is estimated",
    ]);
    assert_eq!((shown(&machine.cores), shown(&machine.llcs)), ("0 | 1 | 2 | 3".into(), "0-3".into()));
    assert_eq!((clusters(&machine), clocks(&machine)), ("0-3".into(), "0-3".into()));
    assert!(!machine.cpu_types[0].cpuidle);
    assert_eq!(machine.numa_distance, [[10]]);
    assert_eq!(machine.check(), []);
}

#[test]
fn even_a_list_of_cpus_alone_is_a_machine() {
    let machine = Sysfs::new("0-5").capture().machine;
    assert_eq!((machine.nr_cpus(), machine.cores.len(), shown(&machine.packages)), (6, 6, "0-5".into()));
}

#[test]
fn without_lists_groups_go_by_ids() {
    let tree = Sysfs::new("0-7");
    for cpu in 0..8u32 {
        let put = |file: &str, id: u32| tree.put_each(&cpu.to_string(), &format!("topology/{file}"), &id.to_string());
        put("physical_package_id", cpu / 4);
        put("core_id", cpu / 2 % 2);
    }
    let machine = tree.capture().machine;
    assert_eq!(shown(&machine.cores), "0-1 | 2-3 | 4-5 | 6-7");
    assert_eq!(shown(&machine.packages), "0-3 | 4-7");
}

#[test]
fn without_a_list_of_online_cpus_each_is_asked() {
    let tree = Sysfs::new("0-3");
    ["online", "present", "possible"].iter().for_each(|file| tree.remove(&format!("devices/system/cpu/{file}")));
    tree.put_each("1-3", "online", "1");
    tree.put_each("2", "online", "0");
    let captured = tree.capture();
    assert_eq!(captured.machine.nr_cpus(), 3);
    assert_eq!(captured.notes[0], "devices/system/cpu/online is missing: CPUs 0-1,3 are taken to be online");
}

#[test]
fn a_copy_may_lie_below_sys_and_have_policies_by_cpu_only() {
    let tree = trees::big_little();
    let whole = tree.capture().machine;
    for (policy, list) in [(0, "0-3"), (4, "4-7")] {
        let from = format!("devices/system/cpu/cpufreq/policy{policy}");
        for file in ["related_cpus", "scaling_available_frequencies", "cpuinfo_transition_latency"] {
            let text = std::fs::read_to_string(tree.root().join(&from).join(file)).expect("a file");
            tree.put_each(list, &format!("cpufreq/{file}"), text.trim());
        }
    }
    tree.remove("devices/system/cpu/cpufreq");
    let below = tree.root().join("copy/sys");
    std::fs::create_dir_all(&below).expect("a directory");
    for part in ["devices", "kernel", "firmware"] {
        std::fs::rename(tree.root().join(part), below.join(part)).expect("a directory");
    }
    let options = CaptureOptions { from: tree.root().join("copy"), ..tree.options() };
    assert_eq!(capture(&options).expect("a machine").machine, whole);
}

#[test]
fn memory_without_cpus_is_no_node() {
    let tree = trees::two_nodes();
    tree.put("devices/system/node/online", "0-2");
    for (node, row) in [(0, "10 17 21"), (1, "17 10 28"), (2, "21 28 10")] {
        tree.put(&format!("devices/system/node/node{node}/distance"), row);
    }
    tree.put("devices/system/node/node1/cpulist", "");
    tree.put("devices/system/node/node2/cpulist", "1,3,5,7");
    let captured = tree.capture();
    assert_eq!(captured.machine.numa_distance, [[10, 21], [21, 10]]);
    assert_eq!(captured.notes[0], "node 1 has no online CPU and is left out");
}

#[test]
fn distances_that_depend_on_the_direction_take_the_greater() {
    let tree = trees::two_nodes();
    tree.put("devices/system/node/node1/distance", "24 10");
    let captured = tree.capture();
    assert_eq!(captured.machine.numa_distance, [[10, 24], [24, 10]]);
    assert!(captured.notes[0].contains("depend on the direction"), "{:?}", captured.notes);
}

#[test]
fn boost_counts_where_it_is_on() {
    let tree = trees::two_nodes();
    let policy = "devices/system/cpu/cpufreq/policy0";
    tree.put(&format!("{policy}/scaling_boost_frequencies"), "3400000");
    assert_eq!(tree.capture().machine.max_khz(0), 3_400_000);
    tree.put("devices/system/cpu/cpufreq/boost", "0");
    assert_eq!(tree.capture().machine.max_khz(0), 2_250_000);
}

#[test]
fn disabled_idle_states_are_left_out() {
    let tree = trees::smt();
    tree.put_each("0-15", "cpuidle/state2/disable", "1");
    let captured = tree.capture();
    assert_eq!(idle(&captured.machine, 0), "POLL 0/0, C1_ACPI 1/1");
    let note = "idle state `C2_ACPI` is disabled on CPUs 0-15 and is left out";
    assert!(captured.notes.iter().any(|n| n == note), "{:?}", captured.notes);
}

/// The strongest core's 900 units stand for the 1571.9 mW of the preset's: 1571.9 / 900 x 300 = 523.97.
/// Its states are called as those of x86, and its kernel, of 2015, has no `residency`.
#[test]
fn an_exynos_is_not_taken_for_x86_by_the_names_of_its_idle_states() {
    let tree = Sysfs::new("0-7");
    let clusters = ["0-3", "4-7"];
    tree.groups("core", &["0", "1", "2", "3", "4", "5", "6", "7"]);
    tree.groups("package", &clusters);
    tree.policy("0-3", &[400_000, 800_000, 1_500_000], 100_000);
    tree.policy("4-7", &[800_000, 1_400_000, 2_100_000], 100_000);
    tree.idle("0-7", &[("C1", 1, 0), ("C2", 80, 0)]);
    for (state, desc) in [(0, "Standby"), (1, "Core power down")] {
        tree.put_each("0-7", &format!("cpuidle/state{state}/desc"), desc);
        cpus("0-7")
            .iter()
            .for_each(|cpu| tree.remove(&format!("devices/system/cpu/cpu{cpu}/cpuidle/state{state}/residency")));
    }
    let captured = tree.capture();
    let notes = captured.notes.join("\n");
    assert!(notes.contains("unknown architecture") && !notes.contains("x86"), "{notes}");
    assert!(notes.contains("cpuidle of CPUs 0-7 lacks files `latency` or `residency`"), "{notes}");
    let captured = capture_like(&tree, "hikey960").machine;
    let kind = &captured.cpu_types[captured.cpus[0].cpu_type as usize].name;
    let from = |figure: &str| source(&captured, &format!("cpu_type.{kind}.idle.C2.{figure}"));
    assert_eq!(from("exit_latency"), "sysfs, devices/system/cpu/cpuN/cpuidle/stateN");
    assert_eq!(from("residency"), "estimate: from hikey960");
    assert_eq!(captured.check(), []);

    tree.put_each("0-7", "cpuidle/state1/desc", "ARM power down");
    assert!(tree.capture().notes.join("\n").contains("arm64"));
    tree.put_each("0-7", "cpuidle/state0/desc", "MWAIT 0x00");
    tree.put_each("0-7", "cpuidle/state1/desc", "MWAIT 0x20");
    assert!(tree.capture().notes.join("\n").contains("x86"));
}

#[test]
fn an_abstract_energy_model_keeps_its_ratios() {
    for (file, text) in [("units", "bogoWatts"), ("flags", "0x5")] {
        let tree = trees::big_little();
        tree.remove("kernel/debug/energy_model");
        tree.energy("0-3", &[(533_000, 20), (1_844_000, 300)]);
        tree.energy("4-7", &[(903_000, 100), (2_362_000, 900)]);
        for domain in ["cpu0", "cpu4"] {
            tree.put(&format!("kernel/debug/energy_model/{domain}/{file}"), text);
        }
        let captured = capture_like(&tree, "hikey960");
        let top = |domain: usize| captured.machine.freq_domains[domain].opps[4].active_mw;
        assert!((top(0) - 523.97).abs() < 0.01 && (top(1) - 1571.9).abs() < 0.01, "{} {}", top(0), top(1));
        let from = "estimate: from hikey960: scale of the abstract energy model";
        assert_eq!(source(&captured.machine, "freq_domain[0-3].opps"), from);
        assert!(captured.notes.iter().any(|note| note.contains("abstract units")), "{:?}", captured.notes);
    }
}

/// Bit 0 of `flags` says uW since v6.0 and said mW in v5.18 and v5.19; before v5.11 there is neither file.
#[test]
fn the_energy_models_unit_goes_by_kernel() {
    for (file, text) in [("flags", "0x1"), ("units", "milliWatts"), ("flags", "")] {
        let tree = trees::big_little();
        tree.remove("kernel/debug/energy_model");
        tree.energy("0-3", &[(533_000, 28), (1_844_000, 245)]);
        tree.energy("4-7", &[(903_000, 243), (2_362_000, 1571)]);
        for domain in ["cpu0", "cpu4"] {
            tree.put(&format!("kernel/debug/energy_model/{domain}/{file}"), text);
        }
        assert_eq!(opps(&tree.capture().machine, 1)[4], (2362, 1571.0), "{file} {text}");
    }
}

#[test]
fn a_debugfs_may_be_elsewhere() {
    let tree = trees::big_little();
    let whole = tree.capture().machine;
    let debugfs = tree.root().join("elsewhere");
    std::fs::rename(tree.root().join("kernel/debug"), &debugfs).expect("a directory");
    assert!(tree.capture().notes.iter().any(|note| note.starts_with("no energy model")));
    let options = CaptureOptions { debugfs: Some(debugfs), ..tree.options() };
    assert_eq!(capture(&options).expect("a machine").machine, whole);
}

#[test]
fn the_choice_of_the_preset_is_explained_and_can_be_made() {
    let tree = trees::big_little();
    let why = tree.capture().notes.pop().expect("a note");
    let parts = [
        "figures that sysfs does not give are from hikey960, the nearest preset: this machine is ",
        "Cortex-A53 + Cortex-A73, arm64, asymmetric, no SMT, 2362 MHz, one node, 8 CPUs, 2 last-level caches; that is ",
    ];
    assert!(parts.iter().all(|part| why.contains(part)), "{why}");
    let like = capture_like(&tree, "rpi5");
    assert_eq!(source(&like.machine, "costs.soft.syscall"), "estimate: from rpi5");
    assert!(!like.notes.iter().any(|note| note.contains("preset")), "{:?}", like.notes);
}

/// What the kernel sees of a CPU: idle states, operating points, capacity.
type KernelView = (Vec<(String, u64, u64, u64, u64)>, Vec<Opp>, u32);

fn kernel_view(machine: &Machine, cpu: u32) -> KernelView {
    let states = machine.idle_states(cpu).iter();
    let states = states.map(|s| (s.name.clone(), s.exit_latency_ns, s.target_residency_ns, s.entry_ns, s.wake_ns));
    (states.collect(), machine.freq_domain_of(cpu).opps.clone(), machine.cpus[cpu as usize].capacity)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 8 + 1))]

    /// A kernel on a random machine shows a tree; captured with its own figures lent, it is that machine.
    #[test]
    fn any_machine_is_captured_from_what_its_kernel_shows(machine in machines()) {
        let tree = Sysfs::from_machine(&machine);
        let options = CaptureOptions { like: Some(machine.clone()), ..tree.options() };
        let captured = capture(&options).map_err(|e| TestCaseError::fail(format!("{e}")))?.machine;
        prop_assert_eq!(shown(&captured.cores), shown(&machine.cores));
        prop_assert_eq!(shown(&captured.llcs), shown(&machine.llcs));
        prop_assert_eq!(shown(&captured.nodes), shown(&machine.nodes));
        prop_assert_eq!(shown(&captured.packages), shown(&machine.packages));
        prop_assert_eq!(clocks(&captured), clocks(&machine));
        prop_assert_eq!(&captured.numa_distance, &machine.numa_distance);
        prop_assert_eq!(&captured.costs.soft_ns, &machine.costs.soft_ns);
        for a in 0..machine.nr_cpus() as u32 {
            prop_assert_eq!(kernel_view(&captured, a), kernel_view(&machine, a));
            for b in 0..a {
                prop_assert_eq!(kernel_distance(&captured, a, b), kernel_distance(&machine, a, b), "{} {}", a, b);
            }
        }
    }
}

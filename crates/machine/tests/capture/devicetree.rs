//! Machines from device trees that were written for this: `boards/NAME.dts`, and `NAME.dtb` as dtc made it of that.

use std::path::{Path, PathBuf};

use fairground_machine::{capture, Capture, CaptureError, CaptureOptions, Machine};
use miette::Diagnostic;

use super::fdt::{cells, text, Node};
use super::kit::{clocks, clusters, idle, shown, source};

fn board(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/capture/boards").join(file)
}

/// Captures a file with figures from a preset by name.
fn try_file(from: &Path, like: &str) -> Result<Capture, CaptureError> {
    let like = Some(Machine::preset(like).expect("a preset"));
    capture(&CaptureOptions { from: from.into(), debugfs: None, name: "captured".into(), like })
}

fn capture_board(file: &str, like: &str) -> Capture {
    try_file(&board(file), like).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)))
}

fn try_blob(blob: &[u8], like: &str) -> Result<Capture, CaptureError> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("board.dtb");
    std::fs::write(&path, blob).expect("a file");
    try_file(&path, like)
}

fn try_tree(tree: &Node) -> Result<Capture, CaptureError> {
    try_blob(&tree.to_blob(), "hikey960")
}

/// A tree whose `/cpus` has these nodes.
fn of_cpus(nodes: impl IntoIterator<Item = Node>) -> Node {
    Node::new("").below([Node::new("cpus").below(nodes)])
}

/// Expects an error with these words in message or help.
#[track_caller]
fn refused(captured: Result<Capture, CaptureError>, parts: &[&str]) {
    let error = captured.expect_err("this should be refused");
    let message = format!("{error}\n{}", error.help().map(|help| help.to_string()).unwrap_or_default());
    for part in parts {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
}

fn capacities(machine: &Machine) -> Vec<u32> {
    machine.cpus.iter().map(|cpu| cpu.capacity).collect()
}

fn points(machine: &Machine, domain: usize) -> Vec<(u32, f64)> {
    machine.freq_domains[domain].opps.iter().map(|opp| (opp.khz / 1000, opp.active_mw)).collect()
}

/// Capacity of a little core: 1024 x (500 x 1500) / (1000 x 2000) = 384. Power: 100 x 500 MHz x 0.7^2 V^2 / 1000 = 24.5
/// mW, and so on; of three voltages the first is the target.
#[test]
fn a_board_of_two_kinds_of_cores() {
    let captured = capture_board("big-little.dtb", "hikey960");
    let machine = &captured.machine;
    assert_eq!(machine.title, "Example 4+4, 8 CPUs, from a device tree");
    assert_eq!(capacities(machine), [384, 384, 384, 384, 1024, 1024, 1024, 1024]);
    assert_eq!((shown(&machine.llcs), clusters(machine)), ("0-3 | 4-7".into(), "0-3 | 4-7".into()));
    assert_eq!((shown(&machine.packages), clocks(machine)), ("0-7".into(), "0-3 | 4-7".into()));
    assert_eq!(points(machine, 0), [(500, 24.5), (1000, 64.0), (1500, 121.5)]);
    assert_eq!(points(machine, 1), [(600, 168.75), (1200, 433.5), (2000, 1000.0)]);
    assert_eq!(machine.freq_domains.iter().map(|d| d.transition_ns).collect::<Vec<_>>(), [200_000, 300_000]);
    assert_eq!(machine.cpu_types.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["Cortex-A53", "Cortex-A73"]);
    // The kernel sees 700 us; the hardware takes 300 and 500 at worst, usually 0.35 and 0.5 of these.
    assert_eq!(idle(machine, 0), "WFI 1/1, cpu-sleep 300/1000, all-sleep* 700/3000");
    let [_, cpu_sleep, all_sleep] = machine.idle_states(4) else { panic!("three states") };
    assert_eq!((cpu_sleep.entry_ns, cpu_sleep.wake_ns), (35_000, 100_000));
    assert_eq!((all_sleep.entry_ns, all_sleep.wake_ns, all_sleep.exit_latency_ns), (105_000, 250_000, 700_000));
    let sizes = |machine: &Machine| -> Vec<(String, u32)> {
        let caches = machine.caches.as_ref().expect("caches");
        caches.all.iter().map(|cache| (cache.cpus.to_string(), cache.size_kib)).collect()
    };
    let sizes = sizes(machine);
    assert_eq!(sizes[3..5], [("3".into(), 32), ("4".into(), 64)]);
    assert_eq!(sizes[8..], [("0-3".into(), 512), ("4-7".into(), 1024)]);
    assert_eq!(captured.notes, [OPP_SUPPORTED]);
    assert_eq!(machine.check(), []);
}

const OPP_SUPPORTED: &str = "opp-supported-hw is not looked at: all operating points are taken, whatever the chip";

#[test]
fn every_figure_says_where_it_is_from() {
    let machine = capture_board("big-little.dtb", "hikey960").machine;
    let expected = [
        ("topology", "device tree, cpu-map, next-level-cache, numa-node-id"),
        ("freq_domain[0-3].transition", "device tree, clock-latency-ns"),
        ("freq_domain[4-7].opps", "device tree, dynamic-power-coefficient x MHz x V^2 of the operating points"),
        ("cpu_type.Cortex-A53.capacity", "device tree, capacity-dmips-mhz x top clock"),
        ("cpu_type.Cortex-A73.idle.cpu-sleep.exit_latency", "device tree, idle-states"),
        (
            "cpu_type.Cortex-A73.idle.cpu-sleep.wake",
            "estimate: usually 0.5 of the 200 us that the device tree declares",
        ),
        ("cpu_type.Cortex-A73.idle.WFI.residency", "Linux, drivers/cpuidle/cpuidle-psci.c: WFI"),
        ("cpu_type.Cortex-A73.idle.cpu-sleep.power", "estimate: from hikey960"),
        ("cluster[0-3].active", "estimate: from hikey960"),
        ("costs.soft.probe", "estimate: from hikey960"),
    ];
    for (path, from) in expected {
        assert_eq!(source(&machine, path), from, "{path}");
    }
}

/// Two sockets of two clusters of two cores of two threads; the states of the outermost domain have no place.
#[test]
fn a_server_of_two_nodes() {
    let captured = capture_board("smt-server.dtb", "thunderx2-224");
    let machine = &captured.machine;
    assert_eq!(shown(&machine.cores), "0-1 | 2-3 | 4-5 | 6-7 | 8-9 | 10-11 | 12-13 | 14-15");
    assert_eq!(clusters(machine), "0-3+ | 4-7+ | 8-11+ | 12-15+");
    assert_eq!((shown(&machine.llcs), shown(&machine.packages)), ("0-7 | 8-15".into(), "0-7 | 8-15".into()));
    assert_eq!((shown(&machine.nodes), machine.slit(0, 8)), ("0-7 | 8-15".into(), 21));
    assert_eq!(capacities(machine), [1024; 16]);
    assert_eq!(idle(machine, 5), "WFI 1/1, core-sleep 50/200, four-sleep* 200/900");
    assert_eq!(machine.freq_domains.len(), 8, "threads share a clock, cores need not");
    assert!(machine.freq_domains.iter().all(|domain| domain.opps.len() == 1 && domain.opps[0].khz == 2_000_000));
    assert_eq!(machine.cpu_types[0].name, "server-core");
    let caches = machine.caches.as_ref().expect("caches");
    let shared: Vec<_> = caches.all.iter().map(|cache| (cache.cpus.to_string(), cache.size_kib)).collect();
    // A core's own caches are one, as large as the largest.
    assert_eq!(shared[0], ("0-1".into(), 512));
    assert_eq!(shared[8..], [("0-7".into(), 8192), ("8-15".into(), 8192)]);
    assert_eq!(
        captured.notes,
        [
            "a machine has idle states of CPUs and of clusters, those of /psci/power-domain-system are left out",
            "no dynamic-power-coefficient with voltages: power is estimated",
            "no capacity-dmips-mhz: the kernel takes all CPUs for equal",
        ]
    );
    assert_eq!(machine.check(), []);
}

/// Flattening is for dtc to do.
#[test]
fn a_source_is_refused_with_the_command_that_flattens_it() {
    let commands =
        ["`dtc -I dts -O dtb -o board.dtb ", "device-tree-compiler", "`cpp -nostdinc -undef -x assembler-with-cpp`"];
    refused(try_file(&board("big-little.dts"), "hikey960"), &commands);
    refused(try_file(&board("big-little.dts"), "hikey960"), &["big-little.dts`: it is the source of a device tree"]);
    let dir = tempfile::tempdir().expect("a directory");
    for (name, source) in [("board.dtsi", "&cpu0 { };"), ("board", "// one\n/dts-v1/;")] {
        let path = dir.path().join(name);
        std::fs::write(&path, source).expect("a file");
        refused(try_file(&path, "hikey960"), &commands);
    }
    let path = dir.path().join("notes.txt");
    std::fs::write(&path, "once upon a time").expect("a file");
    refused(try_file(&path, "hikey960"), &["notes.txt`: it is of an unknown type", "a device tree (.dtb)"]);
}

#[test]
fn without_a_machine_named_the_nearest_lends() {
    let options = CaptureOptions { from: board("big-little.dtb"), debugfs: None, name: "own".into(), like: None };
    let captured = capture(&options).expect("a machine");
    let note = captured.notes.last().expect("a note");
    assert!(note.starts_with("figures that the device tree does not give are from hikey960, the nearest"), "{note}");
    assert_eq!(Machine::from_toml("own.toml", &captured.to_toml()).expect("a machine"), captured.machine);
}

/// The least that is a machine, and what is assumed of it.
#[test]
fn what_is_missing_is_told() {
    let failed = Node::new("cpu@2").with("status", text("fail"));
    let map = Node::new("cpu-map").below([Node::new("cluster0")]);
    let captured = try_tree(&of_cpus([Node::new("cpu@0"), Node::new("cpu@1"), failed, map])).expect("a machine");
    assert_eq!(captured.machine.nr_cpus(), 2);
    assert_eq!((shown(&captured.machine.llcs), clocks(&captured.machine)), ("0-1".into(), "0-1".into()));
    assert_eq!(
        captured.notes,
        [
            "CPUs that have failed (`status`) are left out: 1",
            "no idle-states for CPUs 0-1: they are taken to have one shallow state",
            "cpu-map leaves out CPUs 0-1: it is not used, as the kernel does",
            "no next-level-cache for CPUs 0-1: the package, or its part in a node, shares a cache",
            "no cache size is given for CPUs 0-1: no cache keeps anything of a task that leaves",
            "no operating points for CPUs 0-1: their clock is taken to be fixed",
            "no dynamic-power-coefficient with voltages: power is estimated",
            "no capacity-dmips-mhz: the kernel takes all CPUs for equal",
        ]
    );
}

/// Firmware may know the clocks, and the tree only who shares one. With a Juno's 950 and 1200 MHz: 485 x 950 / 1200 = 383.
#[test]
fn clocks_that_only_firmware_knows_are_lent() {
    let cpu = |n: u32, core: &str, dmips: u32| {
        let cpu = Node::new(&format!("cpu@{n}")).with("compatible", text(&format!("arm,{core}")));
        cpu.with("capacity-dmips-mhz", cells(&[dmips]))
    };
    let cpus = [cpu(0, "cortex-a72", 1024), cpu(1, "cortex-a53", 485), cpu(2, "cortex-a53", 485)];
    let machine = try_blob(&of_cpus(cpus).to_blob(), "juno-r2").expect("a machine").machine;
    assert_eq!(capacities(&machine), [1024, 383, 383]);
    assert_eq!((clocks(&machine), machine.max_khz(0), machine.max_khz(1)), ("0 | 1-2".into(), 1_200_000, 950_000));
    let capacity = source(&machine, "cpu_type.Cortex-A53.capacity");
    assert_eq!(capacity, "estimate: from juno-r2: top clocks; capacity-dmips-mhz from the device tree");
}

/// A good board with a change.
fn changed(change: impl FnOnce(&mut Node)) -> Result<Capture, CaptureError> {
    let mut tree = Node::from_blob(&std::fs::read(board("big-little.dtb")).expect("a board"));
    change(&mut tree);
    try_tree(&tree)
}

/// A good board where a property has another value.
fn with(path: &str, property: &str, value: Vec<u8>) -> Result<Capture, CaptureError> {
    changed(|tree| {
        let node = tree.at(path);
        node.get(property);
        node.set(property, value);
    })
}

#[test]
fn a_tree_that_is_taken_apart_and_put_together_is_the_same_machine() {
    let original = capture_board("big-little.dtb", "hikey960");
    assert_eq!(changed(|_| {}).expect("a machine").machine, original.machine);
}

#[test]
fn figures_that_make_no_sense() {
    let (cpu, dmips) = ("cpus/cpu@0", "capacity-dmips-mhz");
    refused(with(cpu, dmips, cells(&[0])), &["/cpus/cpu@0/capacity-dmips-mhz`: found 0"]);
    refused(with(cpu, dmips, cells(&[1, 2])), &["2 numbers", "one number"]);
    refused(with(cpu, dmips, vec![1]), &["1 bytes", "4 bytes each"]);
    let hz = (1u64 << 63).to_be_bytes().to_vec();
    refused(with("opp-table-0/opp-500000000", "opp-hz", hz), &["opp-hz`: found 9223372036854775808 Hz"]);
    refused(
        with(cpu, "dynamic-power-coefficient", cells(&[u32::MAX])),
        &["dynamic-power-coefficient`: 1", " kW at 500 MHz", "about 100 to 1000"],
    );
    let sleep = "cpus/idle-states/cpu-sleep";
    refused(changed(|tree| tree.at(sleep).remove("entry-latency-us")), &["cpu-sleep/entry-latency-us`: it is missing"]);
    refused(with(sleep, "min-residency-us", cells(&[3_600_000_001])), &["min-residency-us`: found 3600000001"]);
    refused(with("cpus/l2-cache-0", "cache-size", cells(&[1])), &["l2-cache-0/cache-size`: found 1"]);
    refused(with("", "model", vec![0x41]), &["/model`: not a text"]);
    refused(
        changed(|tree| tree.at("cpus/cpu-map/cluster0/core0").rename("heart0")),
        &["/cpus/cpu-map/cluster0/heart0`", "coreN"],
    );
    let phandle = |tree: &mut Node| tree.at(cpu).get("phandle").to_vec();
    refused(
        changed(|tree| {
            let first = phandle(tree);
            tree.at("cpus/cpu-map/cluster0/core1").set("cpu", first);
        }),
        &["/cpus/cpu@0 is in cpu-map twice"],
    );
    refused(with(cpu, "operating-points-v2", cells(&[77])), &["no node has the phandle 0x4d"]);
    refused(
        changed(|tree| {
            let first = phandle(tree);
            tree.at("cpus/cpu@1").set("linux,phandle", first);
        }),
        &["has it, too"],
    );
}

#[test]
fn what_leads_in_a_circle() {
    let looped = changed(|tree| {
        let cache = tree.at("cpus/l2-cache-0");
        cache.set("next-level-cache", cache.get("phandle").to_vec());
    });
    refused(looped, &["next-level-cache`", "a cycle, from /cpus/cpu@0 on"]);
    let domain = |name: &str, own: u32, of: u32| {
        Node::new(name).with("phandle", cells(&[own])).with("power-domains", cells(&[of]))
    };
    let cpu = Node::new("cpu").with("power-domains", cells(&[1]));
    let domains = of_cpus([cpu]).below([domain("a", 1, 2), domain("b", 2, 1)]);
    refused(try_tree(&domains), &["/b/power-domains`", "a cycle, from /cpus/cpu on"]);
}

#[test]
fn what_is_nested_too_deeply_or_too_large() {
    let deep = (0..100).fold(Node::new("a"), |inner, _| Node::new("a").below([inner]));
    refused(try_tree(&Node::new("").below([deep])), &["too many nodes", "64 deep"]);
    refused(try_tree(&Node::new("").repeat("a", 300_000)), &["too many properties"]);
    refused(try_tree(&Node::new("").with(&"a".repeat(300), cells(&[1]))), &["not a valid name", "up to 255 printable"]);
    refused(try_tree(&of_cpus((0..2000).map(|n| Node::new(&format!("cpu@{n}"))))), &["/cpus`: 2000 CPUs", "1 to 1024"]);
    let many = Node::new("cpu").with("phandle", cells(&[1])).with("next-level-cache", cells(&[1; 300]));
    refused(try_tree(&of_cpus([many])), &["next-level-cache`: 300 numbers", "at most 256"]);
    refused(blob_with(|blob| blob.resize(5 << 20, 0)), &["larger than any device tree"]);
}

fn blob_with(change: impl Fn(&mut Vec<u8>)) -> Result<Capture, CaptureError> {
    let mut bytes = std::fs::read(board("big-little.dtb")).expect("a board");
    change(&mut bytes);
    try_blob(&bytes, "hikey960")
}

fn put(bytes: &mut [u8], at: usize, number: u32) {
    bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
}

#[test]
fn blobs_that_are_none() {
    refused(blob_with(|b| b[..4].reverse()), &["board.dtb, byte 0`", "of the wrong endianness"]);
    refused(blob_with(|b| b.truncate(1000)), &["the file has 1000 bytes", "that its header states"]);
    refused(blob_with(|b| b.truncate(20)), &["byte 20`", "the file ends within a number"]);
    refused(blob_with(|b| put(b, 8, 7)), &["byte 8`", "multiples of 4"]);
    refused(blob_with(|b| put(b, 8, u32::MAX - 3)), &["byte 8`", "multiples of 4"]);
    refused(blob_with(|b| put(b, 20, 3)), &["version 3", "version 16 or 17"]);
    refused(blob_with(|b| put(b, 36, 64)), &["the structure has no end"]);
    refused(blob_with(|b| put(b, 56, 5)), &["byte 56`", "the token 5"]);
    // The length of the first property.
    refused(blob_with(|b| put(b, 68, u32::MAX)), &["the file ends within a property"]);
    refused(blob_with(|b| put(b, 72, u32::MAX)), &["not a valid name"]);
}

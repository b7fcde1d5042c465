//! Machines from device trees that were written for this: `boards/NAME.dts`, and `NAME.dtb` as dtc made it of that.

use std::path::{Path, PathBuf};

use fairground_machine::{capture, Capture, CaptureError, CaptureOptions, Machine};
use miette::Diagnostic;

use super::kit::{clocks, clusters, idle, shown, source};

pub fn board(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/capture/boards").join(file)
}

/// Captures a file with figures from a preset by name.
pub fn try_file(from: &Path, like: &str) -> Result<Capture, CaptureError> {
    let like = Some(Machine::preset(like).expect("a preset"));
    capture(&CaptureOptions { from: from.into(), debugfs: None, name: "captured".into(), like })
}

pub fn capture_board(file: &str, like: &str) -> Capture {
    try_file(&board(file), like).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)))
}

pub fn try_source(text: &str) -> Result<Capture, CaptureError> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("board.dts");
    std::fs::write(&path, text).expect("a file");
    try_file(&path, "hikey960")
}

/// Expects an error with these words in message or help.
#[track_caller]
pub fn refused(captured: Result<Capture, CaptureError>, parts: &[&str]) {
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
    let captured = capture_board("big-little.dts", "hikey960");
    let machine = &captured.machine;
    assert_eq!(machine.title, "Example 4+4, 8 CPUs, from a device tree");
    assert_eq!(capacities(machine), [384, 384, 384, 384, 1024, 1024, 1024, 1024]);
    assert_eq!((shown(&machine.llcs), clusters(machine)), ("0-3 | 4-7".into(), "0-3 | 4-7".into()));
    assert_eq!((shown(&machine.packages), clocks(machine)), ("0-7".into(), "0-3 | 4-7".into()));
    assert_eq!(points(machine, 0), [(500, 24.5), (1000, 64.0), (1500, 121.5)]);
    assert_eq!(points(machine, 1), [(600, 168.75), (1200, 433.5), (2000, 1000.0)]);
    assert_eq!(machine.freq_domains.iter().map(|d| d.transition_ns).collect::<Vec<_>>(), [200_000, 300_000]);
    assert_eq!(machine.cpu_types.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["Cortex-A53", "Cortex-A73"]);
    // The kernel sees 700 us, the hardware takes 300 and 500.
    assert_eq!(idle(machine, 0), "WFI 1/1, cpu-sleep 300/1000, all-sleep* 700/3000");
    let [_, cpu_sleep, all_sleep] = machine.idle_states(4) else { panic!("three states") };
    assert_eq!((cpu_sleep.entry_ns, cpu_sleep.wake_ns), (100_000, 200_000));
    assert_eq!((all_sleep.entry_ns, all_sleep.wake_ns, all_sleep.exit_latency_ns), (300_000, 500_000, 700_000));
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
    let machine = capture_board("big-little.dts", "hikey960").machine;
    let expected = [
        ("topology", "device tree, cpu-map, next-level-cache, numa-node-id"),
        ("freq_domain[0-3].transition", "device tree, clock-latency-ns"),
        ("freq_domain[4-7].opps", "device tree, dynamic-power-coefficient x MHz x V^2 of the operating points"),
        ("cpu_type.Cortex-A53.capacity", "device tree, capacity-dmips-mhz x top clock"),
        ("cpu_type.Cortex-A73.idle.cpu-sleep.wake", "device tree, idle-states"),
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
    let captured = capture_board("smt-server.dts", "thunderx2-224");
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

#[test]
fn a_flattened_tree_is_the_machine_of_its_source() {
    for (name, like) in [("big-little", "hikey960"), ("smt-server", "thunderx2-224")] {
        let [source, blob] = ["dts", "dtb"].map(|kind| capture_board(&format!("{name}.{kind}"), like));
        assert_eq!(source.machine, blob.machine);
        assert_eq!(source.notes, blob.notes);
    }
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
    let cpus = "/ { cpus { cpu@0 { }; cpu@1 { }; cpu@2 { status = \"fail\"; }; cpu-map { cluster0 { }; }; }; };";
    let captured = try_source(&format!("/dts-v1/; {cpus}")).expect("a machine");
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
        format!("cpu@{n} {{ compatible = \"arm,{core}\"; capacity-dmips-mhz = <{dmips}>; }};")
    };
    let [a, b, c] = [cpu(0, "cortex-a72", 1024), cpu(1, "cortex-a53", 485), cpu(2, "cortex-a53", 485)];
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("board.dts");
    std::fs::write(&path, format!("/ {{ cpus {{ {a} {b} {c} }}; }};")).expect("a file");
    let machine = try_file(&path, "juno-r2").expect("a machine").machine;
    assert_eq!(capacities(&machine), [1024, 383, 383]);
    assert_eq!((clocks(&machine), machine.max_khz(0), machine.max_khz(1)), ("0 | 1-2".into(), 1_200_000, 950_000));
    let capacity = source(&machine, "cpu_type.Cortex-A53.capacity");
    assert_eq!(capacity, "estimate: from juno-r2: top clocks; capacity-dmips-mhz from the device tree");
}

/// As dtc reads it: labels, references by path, what comes later adds or replaces, expressions, comments, and the
/// places that the preprocessor leaves.
#[test]
fn a_source_may_use_what_dtc_knows() {
    let text = r#"
# 1 "board.dts"
# 1 "<built-in>" 1
/dts-v1/;
/memreserve/ 0x0 (1 << 12);
/ {
	cpus { /* two */
		one: first: cpu@0 { capacity-dmips-mhz = <(2 * (300 + 0xc8) == 1000 ? 500 : 1)>; junk = [00 ff 1234], "a\"b\x41"; };
		cpu@1 { #cells; capacity-dmips-mhz = <7>; gone = <1>; /delete-property/ gone; };
		cpu@2 { };
		/delete-node/ cpu@2;
		unused: cpu@3 { };
		alone: table { opp-shared; opp-1 { opp-hz = /bits/ 64 <(1000 * 1000000)>; opp-microvolt-vdd = <1000000>; }; };
	};
};
/delete-node/ &unused;
&{/cpus/cpu@1} { capacity-dmips-mhz = <1000>; operating-points-v2 = <&{/cpus/table}>; };
&first { operating-points-v2 = <lab: &alone>; dynamic-power-coefficient = <'d'>; }; // 100
"#;
    let captured = try_source(text).expect("a machine");
    assert_eq!(capacities(&captured.machine), [512, 1024]);
    assert_eq!((clocks(&captured.machine), points(&captured.machine, 0)), ("0-1".into(), vec![(1000, 100.0)]));
}

/// Neither its labels nor those below it are taken, nor its number, and it may name what is not there.
#[test]
fn what_is_deleted_leaves_no_trace() {
    let text = r#"
/dts-v1/;
/ {
	cpus {
		spare: cpu@2 { phandle = <1>; next = <&nobody>; inner: state { }; };
		/delete-node/ cpu@2;
		inner: cpu@0 { capacity-dmips-mhz = <500>; operating-points-v2 = <&alone>; };
		spare: cpu@1 { operating-points-v2 = <&alone>; };
		alone: table { opp-shared; opp-1 { opp-hz = /bits/ 64 <1000000000>; opp-microvolt = <1000000>; }; };
	};
};
&spare { capacity-dmips-mhz = <1000>; };
&inner { dynamic-power-coefficient = <100>; };
"#;
    let captured = try_source(text).expect("a machine");
    assert_eq!(capacities(&captured.machine), [512, 1024]);
    let twice = text.replace("/delete-node/ cpu@2;", "");
    refused(try_source(&twice), &["`inner` is the label of two nodes"]);
}

/// A board whose one line is replaced.
fn capture_with_replacement(from: &str, to: &str) -> Result<Capture, CaptureError> {
    let text = std::fs::read_to_string(board("big-little.dts")).expect("a board");
    assert!(text.contains(from), "{from}");
    try_source(&text.replacen(from, to, 1))
}

#[test]
fn what_wants_other_tools_is_refused_by_name() {
    let plain = "run it through `cpp";
    refused(
        capture_with_replacement("/dts-v1/;", "/dts-v1/;\n#include <dt-bindings/x.h>"),
        &["board.dts:3`", "`#include` wants", plain],
    );
    refused(
        capture_with_replacement("<500>", "<LITTLE_DMIPS>"),
        &["board.dts:37`", "`LITTLE_DMIPS`, which may be a macro", plain],
    );
    refused(
        capture_with_replacement("/dts-v1/;", "/dts-v1/; /include/ \"x.dtsi\""),
        &["`/include/` wants other files", plain],
    );
    refused(capture_with_replacement("/dts-v1/;", "/dts-v1/; /plugin/;"), &["`/plugin/` wants other files", "dtc"]);
    refused(capture_with_replacement("\"Example 4+4\"", "/incbin/(\"x\")"), &["`/incbin/` wants other files"]);
}

#[test]
fn sources_that_are_none() {
    refused(try_source("once upon a time"), &["board.dts:1`", "found `once upon a time`", "`/ { ... };`"]);
    refused(try_source("/dts-v1/;"), &["no root node"]);
    refused(try_source("/dts-v1/; / { a = <1>"), &["the source ends", "`;`"]);
    refused(try_source("/dts-v1/; / { /* "), &["a comment without an end"]);
    refused(try_source("/dts-v1/; / { a = \"x"), &["a string without an end"]);
    refused(try_source("/dts-v1/; / { a = <0x100000000>; };"), &["found 0x100000000", "32 bits"]);
    refused(try_source("/dts-v1/; / { a = <(1 / (2 - 2))>; };"), &["a division by zero"]);
    refused(try_source("/dts-v1/; / { a = /bits/ 12 <1>; };"), &["`/bits/ 12`", "8, 16, 32 or 64"]);
    refused(try_source("/dts-v1/; / { a = [0]; };"), &["pairs of hexadecimal digits"]);
    refused(try_source("/dts-v1/; / { x: a { }; x: b { }; };"), &["`x` is the label of two nodes"]);
    refused(try_source("/dts-v1/; &x { };"), &["no node is called `&x`"]);
    refused(
        capture_with_replacement("<&little0>", "<&little9>"),
        &["/cpus/cpu-map", "no node is called `&little9`", "did you mean `&little"],
    );
    let states = "/dts-v1/; / { cpus { sleep: s { };\n cpu@0 {\n x = <&slep>; }; }; };";
    refused(
        try_source(states),
        &["board.dts:3: /cpus/cpu@0/x`", "no node is called `&slep`", "did you mean `&sleep`?"],
    );
    refused(capture_with_replacement("model", "mod\u{f8}l"), &["board.dts:5`"]);
}

#[test]
fn figures_that_make_no_sense() {
    let dmips = "capacity-dmips-mhz = <500>";
    refused(capture_with_replacement(dmips, "capacity-dmips-mhz = <0>"), &["/cpus/cpu@0/capacity-dmips-mhz`: found 0"]);
    refused(capture_with_replacement(dmips, "capacity-dmips-mhz = <1 2>"), &["2 numbers", "one number"]);
    refused(capture_with_replacement(dmips, "capacity-dmips-mhz = [01]"), &["1 bytes", "4 bytes each"]);
    refused(
        capture_with_replacement("<500000000>", "<0x8000000000000000>"),
        &["opp-hz`: found 9223372036854775808 Hz"],
    );
    refused(
        capture_with_replacement("<100>", "<0xffffffff>"),
        &["dynamic-power-coefficient`: 1", " kW at 500 MHz", "about 100 to 1000"],
    );
    refused(capture_with_replacement("entry-latency-us = <100>;", ""), &["cpu-sleep/entry-latency-us`: it is missing"]);
    refused(
        capture_with_replacement("<1000>;\n\t\t\t};", "<3600000001>;\n\t\t\t};"),
        &["min-residency-us`: found 3600000001"],
    );
    refused(capture_with_replacement("<0x80000>", "<1>"), &["l2-cache-0/cache-size`: found 1"]);
    refused(capture_with_replacement("\"Example 4+4\"", "[41]"), &["/model`: no text"]);
    refused(capture_with_replacement("core0 {", "heart0 {"), &["/cpus/cpu-map/cluster0/heart0`", "coreN"]);
    refused(capture_with_replacement("<&little1>", "<&little0>"), &["/cpus/cpu@0 is in cpu-map twice"]);
    refused(capture_with_replacement("<&little_points>", "<77>"), &["no node has the phandle 0x4d"]);
    refused(capture_with_replacement("reg = <0x1>;", "phandle = <1>; linux,phandle = <2>;"), &["has it, too"]);
}

#[test]
fn what_leads_in_a_circle() {
    let l2 = "cache-size = <0x80000>;";
    refused(
        capture_with_replacement(l2, "next-level-cache = <&little_l2>;"),
        &["next-level-cache`", "a cycle, from /cpus/cpu@0 on"],
    );
    let domains = "/ { a: a { power-domains = <&b>; }; b: b { power-domains = <&a>; }; cpus { cpu { power-domains = <&a>; }; }; };";
    refused(try_source(domains), &["/b/power-domains`", "a cycle, from /cpus/cpu on"]);
}

#[test]
fn what_is_nested_too_deeply_or_too_large() {
    let deep = |n: usize| format!("/ {{ {} {} }};", "a { ".repeat(n), "}; ".repeat(n));
    refused(try_source(&deep(100_000)), &["too many nodes", "64 deep"]);
    let brackets = |n: usize| format!("/ {{ a = <{}1{}>; }};", "(".repeat(n), ")".repeat(n));
    refused(try_source(&brackets(100_000)), &["nested too deeply"]);
    refused(try_source(&format!("/ {{ a = <({}1)>; }};", "-".repeat(100_000))), &["nested too deeply"]);
    refused(try_source(&format!("/ {{ {} }};", "a; ".repeat(300_000))), &["too many properties"]);
    refused(try_source(&format!("/ {{ {} = <1>; }};", "a".repeat(300))), &["a name of 300 characters"]);
    let cpus: String = (0..2000).map(|n| format!("cpu@{n} {{ }}; ")).collect();
    refused(try_source(&format!("/ {{ cpus {{ {cpus} }}; }};")), &["/cpus`: 2000 CPUs", "1 to 1024"]);
    let many = format!("/ {{ cpus {{ a: cpu {{ next-level-cache = <{}>; }}; }}; }};", "&a ".repeat(300));
    refused(try_source(&many), &["next-level-cache`: 300 numbers", "at most 256"]);
    refused(try_source(&" ".repeat(5 << 20)), &["larger than any device tree"]);
}

fn blob_with(change: impl Fn(&mut Vec<u8>)) -> Result<Capture, CaptureError> {
    let mut bytes = std::fs::read(board("big-little.dtb")).expect("a board");
    change(&mut bytes);
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("board.dtb");
    std::fs::write(&path, bytes).expect("a file");
    try_file(&path, "hikey960")
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
    refused(blob_with(|b| put(b, 72, u32::MAX)), &["no name"]);
}

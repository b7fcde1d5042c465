//! Trees that no kernel shows: the error names the file and says what was expected.

use fairground_machine::{capture, CaptureOptions, Machine};
use miette::Diagnostic;

use super::kit::Sysfs;
use super::trees;

const CPU0: &str = "devices/system/cpu/cpu0";

/// A HiKey960 with one file overwritten is refused for that file.
#[track_caller]
fn garbled(file: &str, text: &str, parts: &[&str]) {
    let tree = trees::big_little();
    tree.put(file, text);
    tree.refused(file, parts);
}

#[test]
fn what_is_no_number_or_no_list() {
    garbled("devices/system/cpu/online", "0-x", &["found `0-x`", "a list of CPUs such as 0-3,8"]);
    garbled("devices/system/cpu/online", "0-2047", &["found `0-2047`", "all below 1024"]);
    garbled(&format!("{CPU0}/topology/core_cpus_list"), "zero", &["found `zero`"]);
    garbled(&format!("{CPU0}/cpuidle/state1/latency"), "1e3", &["found `1e3`", "a number from 0"]);
    garbled("kernel/debug/energy_model/cpu0/flags", "one", &["found `one`", "hexadecimal"]);
    garbled("kernel/debug/energy_model/cpu0/units", "horses", &["not a unit of power", "bogoWatts"]);
    garbled(&format!("{CPU0}/cache/index2/type"), "Untidy", &["not a cache type", "Unified"]);
}

#[test]
fn values_out_of_range() {
    garbled(&format!("{CPU0}/cpu_capacity"), "0", &["found `0`", "a number from 1 to 1024"]);
    garbled(&format!("{CPU0}/cpu_capacity"), "1025", &["found `1025`"]);
    garbled(&format!("{CPU0}/cpuidle/state2/residency"), "3600000001", &["a number from 0 to 3600000000"]);
    garbled(&format!("{CPU0}/cache/index2/size"), "512", &["a size such as 512K"]);
    garbled(&format!("{CPU0}/cache/index2/size"), "0K", &["a size such as 512K"]);
    garbled(&format!("{CPU0}/cache/index2/level"), "0", &["a number from 1 to 9"]);
    let policy = "devices/system/cpu/cpufreq/policy4";
    garbled(&format!("{policy}/scaling_available_frequencies"), "903000 0", &["found `0`"]);
}

#[test]
fn lists_that_contradict_each_other() {
    let file = format!("{CPU0}/topology/package_cpus_list");
    garbled(&file, "1-7", &["found 1-7", "a list with CPU 0 itself"]);
    garbled(&file, "900", &["found no CPU that is online", "a list with CPU 0 itself"]);
    garbled(&file, "0-6", &["found 0-6", "cpu1/topology/package_cpus_list says 0-7", "one list for all"]);
    let tree = trees::two_nodes();
    tree.put("devices/system/node/node1/cpulist", "0-7");
    tree.refused("devices/system/node/node1/cpulist", &["CPUs 0,2,4,6 are in two nodes"]);
    let tree = trees::big_little();
    tree.put("devices/system/cpu/cpufreq/policy4/related_cpus", "3 4 5 6 7");
    tree.refused("devices/system/cpu/cpufreq/policy4/related_cpus", &["CPU 3 is in two policies"]);
}

#[test]
fn distances_that_are_none() {
    let file = "devices/system/node/node0/distance";
    for (row, parts) in [
        ("10", ["1 distances", "one for each of the 2 nodes"]),
        ("10 10", ["10 to node 1", "10 to the node itself, more to any other"]),
        ("20 10", ["20 to node 0", "10 to the node itself, more to any other"]),
        ("10 255", ["found `255`", "a number from 10 to 254"]),
    ] {
        let tree = trees::two_nodes();
        tree.put(file, row);
        tree.refused(file, &parts);
    }
}

#[test]
fn idle_states_out_of_order() {
    let file = format!("{CPU0}/cpuidle/state2/residency");
    garbled(&file, "1499", &["found 1499 us", "at least the 1500 us of the state before"]);
}

#[test]
fn a_range_of_clocks_upside_down() {
    let tree = trees::smt();
    let file = "devices/system/cpu/cpufreq/policy3/cpuinfo_max_freq";
    tree.put(file, "700000");
    tree.refused(file, &["700000 kHz is less than the 800000 kHz of cpuinfo_min_freq"]);
}

#[test]
fn too_many_threads() {
    let tree = Sysfs::new("0-15");
    tree.groups("core", &["0-15"]);
    tree.refused(&format!("{CPU0}/topology/core_cpus_list"), &["a core of 16 threads", "at most 8"]);
}

/// By themselves the lists make sense; together a core crosses the border of a node.
#[test]
fn levels_that_overlap_in_part() {
    let tree = trees::two_nodes();
    tree.groups("core", &["0-1", "2-3", "4-5", "6-7"]);
    let error = tree.try_capture().expect_err("no machine");
    assert!(error.to_string().contains(&tree.root().display().to_string()), "{error}");
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert!(cause.contains("core 0-1 crosses the border of a"), "{cause}");
}

#[test]
fn what_is_no_tree() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = |tree: &Sysfs| tree.options();
    let tree = trees::minimal();
    let error = capture(&CaptureOptions { from: dir.path().into(), ..options(&tree) }).unwrap_err();
    assert!(error.to_string().ends_with("is not a sysfs tree: `devices/system/cpu` is missing"), "{error}");
    let error = capture(&CaptureOptions { debugfs: Some(dir.path().into()), ..options(&tree) }).unwrap_err();
    assert!(error.to_string().ends_with("is not a debugfs tree: `energy_model` is missing"), "{error}");
    let error = capture(&CaptureOptions { name: "my machine".into(), ..options(&tree) }).unwrap_err();
    assert_eq!(error.to_string(), "`my machine` is not a valid machine name");
    assert!(error.help().is_some_and(|help| help.to_string().contains("letters")));
}

#[test]
fn a_tree_without_cpus() {
    let tree = Sysfs::new("0");
    ["online", "present", "possible", "cpu0"]
        .iter()
        .for_each(|name| tree.remove(&format!("devices/system/cpu/{name}")));
    tree.refused("devices/system/cpu", &["no CPU", "a directory cpuN for each CPU"]);
}

/// A named pipe without a writer would block the process that opens it.
#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_not_opened() {
    let tree = trees::minimal();
    let path = tree.root().join("devices/system/cpu/isolated");
    std::fs::remove_file(&path).expect("a file");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
    let machine: Machine = tree.capture().machine;
    assert_eq!(machine.nr_cpus(), 4);
}

//! The machines of the tests.

use super::kit::Sysfs;

/// A HiKey960 as its kernel shows it: 4 + 4 cores, an L2 for each four, idle states of the device tree, energy model.
pub fn big_little() -> Sysfs {
    let tree = Sysfs::new("0-7");
    tree.put("firmware/devicetree/base/model", "HiKey960\0");
    tree.put("devices/system/cpu/modalias", "cpu:type:aarch64:feature:,0000,0001");
    let clusters = ["0-3", "4-7"];
    tree.groups("core", &["0", "1", "2", "3", "4", "5", "6", "7"]);
    tree.groups("cluster", &clusters);
    tree.groups("package", &["0-7"]);
    tree.caches(0, 1, "Data", &["0", "1", "2", "3", "4", "5", "6", "7"]);
    tree.caches(1, 1, "Instruction", &["0", "1", "2", "3", "4", "5", "6", "7"]);
    tree.caches(2, 2, "Unified", &clusters);
    tree.put_each("4-7", "cache/index0/size", "64K");
    tree.put_each("4-7", "cache/index2/size", "2048K");
    tree.nodes(&["0-7"], &["10"]);
    let khz =
        [[533_000, 999_000, 1_402_000, 1_709_000, 1_844_000], [903_000, 1_421_000, 1_805_000, 2_112_000, 2_362_000]];
    let uw = [[28_700, 70_300, 124_900, 188_000, 245_400], [243_400, 500_200, 804_100, 1_161_600, 1_571_900]];
    let kinds = [("462", "0x00000000410fd034", (1050, 2100)), ("1024", "0x00000000410fd091", (950, 3700))];
    for (i, (capacity, midr, (cpu_sleep, cluster_sleep))) in kinds.into_iter().enumerate() {
        let cpus = clusters[i];
        tree.put_each(cpus, "cpu_capacity", capacity);
        tree.put_each(cpus, "regs/identification/midr_el1", midr);
        tree.policy(cpus, &khz[i], 300_000);
        tree.energy(cpus, &khz[i].into_iter().zip(uw[i]).collect::<Vec<_>>());
        let states = [("WFI", 1, 1), ("cpu-sleep", cpu_sleep, 1500), ("cluster-sleep", cluster_sleep, 3500)];
        tree.idle(cpus, &states);
    }
    tree
}

/// Eight cores of two threads, numbered as x86 servers are, under intel_pstate in active mode: a policy for each
/// thread, and only the ends of its range.
pub fn smt() -> Sysfs {
    let tree = Sysfs::new("0-15");
    tree.put("devices/virtual/dmi/id/sys_vendor", "Example");
    tree.put("devices/virtual/dmi/id/product_name", "Desktop 8");
    tree.put("devices/system/cpu/modalias", "cpu:type:x86,ven0000fam0006mod0097:feature:,0000");
    let cores = ["0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15"];
    tree.groups("core", &cores);
    tree.groups("cluster", &cores);
    tree.groups("package", &["0-15"]);
    tree.caches(0, 1, "Data", &cores);
    tree.caches(1, 1, "Instruction", &cores);
    tree.caches(2, 2, "Unified", &cores);
    tree.caches(3, 3, "Unified", &["0-15"]);
    tree.nodes(&["0-15"], &["10"]);
    tree.idle("0-15", &[("POLL", 0, 0), ("C1_ACPI", 1, 1), ("C2_ACPI", 253, 1048)]);
    for cpu in 0..16 {
        let dir = tree.policy_dir(&cpu.to_string());
        tree.put(&format!("{dir}/cpuinfo_min_freq"), "800000");
        tree.put(&format!("{dir}/cpuinfo_max_freq"), "4800000");
        tree.put(&format!("{dir}/cpuinfo_transition_latency"), "0");
        tree.put(&format!("{dir}/scaling_governor"), "powersave");
    }
    tree
}

/// Two sockets of four cores, each a node with a cache.
pub fn two_nodes() -> Sysfs {
    let tree = Sysfs::new("0-7");
    tree.put("devices/system/cpu/modalias", "cpu:type:x86,ven0002fam0017mod0031:feature:,0000");
    let sockets = ["0,2,4,6", "1,3,5,7"];
    tree.groups("core", &["0", "1", "2", "3", "4", "5", "6", "7"]);
    tree.groups("package", &sockets);
    tree.caches(3, 3, "Unified", &sockets);
    tree.nodes(&sockets, &["10 21", "21 10"]);
    tree.idle("0-7", &[("POLL", 0, 0), ("C1", 1, 2), ("C2", 400, 800)]);
    sockets.iter().for_each(|socket| tree.policy(socket, &[1_500_000, 2_250_000], 1000));
    tree
}

/// Like a Kunpeng 920: nodes of 24 cores that share a cache, clusters of four that share its tags; no cpuidle, no
/// cpufreq.
pub fn clustered() -> Sysfs {
    let tree = Sysfs::new("0-47");
    let fours: Vec<String> = (0..12).map(|i| format!("{}-{}", 4 * i, 4 * i + 3)).collect();
    let ones: Vec<String> = (0..48).map(|cpu| cpu.to_string()).collect();
    let nodes = ["0-23", "24-47"];
    tree.groups("core", &ones.iter().map(String::as_str).collect::<Vec<_>>());
    tree.groups("cluster", &fours.iter().map(String::as_str).collect::<Vec<_>>());
    tree.groups("package", &["0-47"]);
    tree.caches(3, 3, "Unified", &nodes);
    tree.nodes(&nodes, &["10 12", "12 10"]);
    tree.put_each("0-47", "cpu_capacity", "1024");
    tree.put_each("0-47", "regs/identification/midr_el1", "0x00000000481fd010");
    tree
}

/// The least that a virtual machine shows: who is online, a topology, nothing else.
pub fn minimal() -> Sysfs {
    let tree = Sysfs::new("0-3");
    tree.groups("core", &["0", "1", "2", "3"]);
    tree.groups("package", &["0-3"]);
    tree.put_each("0-3", "topology/cluster_id", "-1");
    tree
}

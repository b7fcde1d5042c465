//! Fake sysfs trees: files in a temporary directory, as kernels write them.

use std::fs;
use std::path::{Path, PathBuf};

use fairground_machine::{capture, Capture, CaptureError, CaptureOptions, CpuMask, Distance, IdleScope, Machine};
use miette::Diagnostic;

pub struct Sysfs {
    dir: tempfile::TempDir,
}

/// CPUs in the kernel's list format.
pub fn cpus(list: &str) -> Vec<u32> {
    CpuMask::parse_list(list).expect("a list of CPUs").iter().collect()
}

impl Sysfs {
    /// A tree in which nothing is known but that these CPUs are present and online.
    pub fn new(online: &str) -> Sysfs {
        // Hundreds of small files: in memory where there is such a place.
        let place = Some(Path::new("/dev/shm")).filter(|dir| dir.is_dir()).map(Path::to_path_buf);
        let dir = tempfile::tempdir_in(place.unwrap_or_else(std::env::temp_dir)).expect("a directory");
        let tree = Sysfs { dir };
        for file in ["online", "present", "possible"] {
            tree.put(&format!("devices/system/cpu/{file}"), online);
        }
        tree.put("devices/system/cpu/isolated", "");
        cpus(online).iter().for_each(|cpu| tree.put_dir(&format!("devices/system/cpu/cpu{cpu}")));
        tree
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    pub fn put_dir(&self, path: &str) {
        fs::create_dir_all(self.root().join(path)).expect("a directory");
    }

    /// Writes a file, as sysfs with a line feed.
    pub fn put(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, format!("{text}\n")).expect("a file");
    }

    /// Removes a file or a directory, which must be there.
    pub fn remove(&self, path: &str) {
        let path = self.root().join(path);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    /// Writes a file of each of these CPUs.
    pub fn put_each(&self, list: &str, file: &str, text: &str) {
        cpus(list).iter().for_each(|cpu| self.put(&format!("devices/system/cpu/cpu{cpu}/{file}"), text));
    }

    /// Writes `topology/LEVEL_cpus_list` of all CPUs of each group.
    pub fn groups(&self, level: &str, groups: &[&str]) {
        groups.iter().for_each(|group| self.put_each(group, &format!("topology/{level}_cpus_list"), group));
    }

    /// Writes a cache of all CPUs of each group: 32 KiB at the first level, 512 at the second, 4096 at the third.
    pub fn caches(&self, index: u32, level: u32, kind: &str, groups: &[&str]) {
        for group in groups {
            let size = ["32K", "512K", "4096K"][level as usize - 1];
            let files = [("level", level.to_string()), ("size", size.into()), ("type", kind.into())];
            for (file, text) in files.into_iter().chain([("shared_cpu_list", group.to_string())]) {
                self.put_each(group, &format!("cache/index{index}/{file}"), &text);
            }
        }
    }

    /// Writes NUMA nodes and their distances.
    pub fn nodes(&self, groups: &[&str], slit: &[&str]) {
        self.put("devices/system/node/online", &format!("0-{}", groups.len() - 1));
        for (i, (group, row)) in groups.iter().zip(slit).enumerate() {
            self.put(&format!("devices/system/node/node{i}/cpulist"), group);
            self.put(&format!("devices/system/node/node{i}/distance"), row);
        }
    }

    /// Writes idle states: name, latency and residency in us.
    pub fn idle(&self, list: &str, states: &[(&str, u64, u64)]) {
        for (i, (name, latency, residency)) in states.iter().enumerate() {
            self.put_each(list, &format!("cpuidle/state{i}/name"), name);
            self.put_each(list, &format!("cpuidle/state{i}/latency"), &latency.to_string());
            self.put_each(list, &format!("cpuidle/state{i}/residency"), &residency.to_string());
            self.put_each(list, &format!("cpuidle/state{i}/disable"), "0");
        }
    }

    /// Writes a cpufreq policy with a table of frequencies, greatest first as some drivers do.
    pub fn policy(&self, list: &str, khz: &[u32], latency_ns: u64) {
        let dir = self.policy_dir(list);
        let table: Vec<String> = khz.iter().rev().map(u32::to_string).collect();
        self.put(&format!("{dir}/scaling_available_frequencies"), &table.join(" "));
        self.put(&format!("{dir}/cpuinfo_transition_latency"), &latency_ns.to_string());
        self.put(&format!("{dir}/scaling_governor"), "schedutil");
    }

    /// The directory of a policy, with its CPUs.
    pub fn policy_dir(&self, list: &str) -> String {
        let members: Vec<String> = cpus(list).iter().map(u32::to_string).collect();
        let dir = format!("devices/system/cpu/cpufreq/policy{}", members[0]);
        self.put(&format!("{dir}/related_cpus"), &members.join(" "));
        dir
    }

    /// Writes a performance domain of the energy model, in uW as kernels since v6.0 do.
    pub fn energy(&self, list: &str, states: &[(u32, u64)]) {
        let dir = format!("kernel/debug/energy_model/cpu{}", cpus(list)[0]);
        self.put(&format!("{dir}/cpus"), list);
        self.put(&format!("{dir}/flags"), "0x1");
        for (khz, uw) in states {
            self.put(&format!("{dir}/ps:{khz}/frequency"), &khz.to_string());
            self.put(&format!("{dir}/ps:{khz}/power"), &uw.to_string());
        }
    }

    /// The tree that a kernel would show of a machine.
    pub fn from_machine(machine: &Machine) -> Sysfs {
        let lists = |groups: &[CpuMask]| groups.iter().map(CpuMask::to_string).collect::<Vec<_>>();
        let tree = Sysfs::new(&machine.all_cpus().to_string());
        let groups = |level: &str, groups: &[CpuMask]| {
            lists(groups).iter().for_each(|group| tree.groups(level, &[group]));
        };
        groups("core", &machine.cores);
        groups("package", &machine.packages);
        let clusters: Vec<CpuMask> = machine.clusters.iter().filter(|c| c.shares_cache).map(|c| c.cpus).collect();
        groups("cluster", &clusters);
        lists(&machine.llcs).iter().for_each(|llc| tree.caches(3, 3, "Unified", &[llc]));
        let rows: Vec<String> = machine.numa_distance.iter().map(|row| words(row)).collect();
        let (nodes, rows) = (lists(&machine.nodes), rows.iter().map(String::as_str).collect::<Vec<_>>());
        tree.nodes(&nodes.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
        for domain in &machine.freq_domains {
            let (list, khz) = (domain.cpus.to_string(), domain.opps.iter().map(|opp| opp.khz).collect::<Vec<_>>());
            tree.policy(&list, &khz, domain.transition_ns);
            let states: Vec<_> = domain.opps.iter().map(|opp| (opp.khz, (opp.active_mw * 1000.0) as u64)).collect();
            tree.energy(&list, &states);
        }
        for cpu in &machine.cpus {
            let states: Vec<_> = machine
                .idle_states(cpu.id)
                .iter()
                .map(|s| (s.name.as_str(), s.exit_latency_ns / 1000, s.target_residency_ns / 1000))
                .collect();
            tree.idle(&cpu.id.to_string(), &states);
            tree.put_each(&cpu.id.to_string(), "cpu_capacity", &cpu.capacity.to_string());
        }
        tree
    }

    pub fn options(&self) -> CaptureOptions {
        CaptureOptions { from: self.root().into(), debugfs: None, name: "captured".into(), like: None }
    }

    pub fn try_capture(&self) -> Result<Capture, CaptureError> {
        capture(&self.options())
    }

    pub fn capture(&self) -> Capture {
        self.try_capture().unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)))
    }

    /// Captures and expects these notes, in their order, besides the one on the preset.
    #[track_caller]
    pub fn capture_with_notes(&self, notes: &[&str]) -> Machine {
        let captured = self.capture();
        let others = captured.notes.iter().filter(|note| !note.starts_with("figures that sysfs does not give"));
        assert_eq!(others.collect::<Vec<_>>(), notes);
        captured.machine
    }

    /// Captures and expects an error that names a file of the tree, with these words in message or help.
    #[track_caller]
    pub fn refused(&self, file: &str, parts: &[&str]) {
        let error = self.try_capture().expect_err("this tree should be refused");
        let message = format!("{error}\n{}", error.help().map(|help| help.to_string()).unwrap_or_default());
        let path = self.root().join(file).display().to_string();
        for part in parts.iter().copied().chain([path.as_str()]) {
            assert!(message.contains(part), "no {part:?} in: {message}");
        }
    }

    /// All files, by their paths in the tree, sorted.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut dirs = vec![self.root().to_path_buf()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).expect("a directory") {
                let path = entry.expect("an entry").path();
                if path.is_dir() { &mut dirs } else { &mut files }.push(path);
            }
        }
        files.sort();
        files
    }
}

/// Numbers as sysfs lists them.
pub fn words(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

/// Groups as tests write them: `0-3 | 4-7`.
pub fn shown(groups: &[CpuMask]) -> String {
    groups.iter().map(CpuMask::to_string).collect::<Vec<_>>().join(" | ")
}

/// Clusters as tests write them; those that are a level of their own with a `+`.
pub fn clusters(machine: &Machine) -> String {
    let show = |c: &fairground_machine::Cluster| format!("{}{}", c.cpus, if c.shares_cache { "+" } else { "" });
    machine.clusters.iter().map(show).collect::<Vec<_>>().join(" | ")
}

pub fn clocks(machine: &Machine) -> String {
    shown(&machine.freq_domains.iter().map(|domain| domain.cpus).collect::<Vec<_>>())
}

/// Idle states as the kernel sees them: name, exit latency and residency in us, with a `*` for a cluster's.
pub fn idle(machine: &Machine, cpu: u32) -> String {
    let show = |s: &fairground_machine::IdleState| {
        let cluster = if s.scope == IdleScope::Cluster { "*" } else { "" };
        format!("{}{cluster} {}/{}", s.name, s.exit_latency_ns / 1000, s.target_residency_ns / 1000)
    };
    machine.idle_states(cpu).iter().map(show).collect::<Vec<_>>().join(", ")
}

/// The source of a figure, as reports show it.
pub fn source(machine: &Machine, path: &str) -> String {
    let figure = machine.figures.iter().find(|figure| figure.path == path);
    figure.unwrap_or_else(|| panic!("no figure {path}")).source.to_string()
}

/// The distance of two CPUs as kernels know it: a cluster that is not a level of its own is its last-level cache.
pub fn kernel_distance(machine: &Machine, a: u32, b: u32) -> Distance {
    let cluster = machine.clusters[machine.cpus[a as usize].cluster as usize].cpus;
    match machine.distance(a, b) {
        Distance::Cluster if machine.llcs.contains(&cluster) => Distance::Llc,
        distance => distance,
    }
}

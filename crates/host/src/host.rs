//! This machine: what can be changed on it, by whom, and where.
//!
//! All paths are below a root, `/` but for tests, which lay out files of their own.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fairground_machine::CpuMask;
use fairground_workload::TaskGroup;

/// Directory of the scheduler's knobs within debugfs.
const DEBUGFS: &str = "sys/kernel/debug/sched";

/// A setting of the whole machine, which other programs feel too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemSetting {
    /// These CPUs are offline.
    Offline(CpuMask),
    /// Whether each session is a group of tasks (the sysctl `sched_autogroup_enabled`).
    Autogroup(bool),
    /// A file of debugfs below `sched`, what is written to it, and, of a file that shows more than its value, what
    /// restores a value (see [`debugfs_undo`]).
    Debugfs {
        /// Name of the file: `base_slice_ns`.
        file: &'static str,
        /// What is written.
        value: &'static str,
    },
}

/// Version of the interface of a cgroup hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupVersion {
    /// One hierarchy for each controller.
    V1,
    /// One hierarchy for all.
    V2,
}

/// Where cgroups of a controller can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// The directory in which ours are made.
    pub parent: PathBuf,
    /// Version of its interface.
    pub version: CgroupVersion,
    /// Whether the controller must first be enabled for the children of `parent` (`cgroup.subtree_control`).
    pub to_enable: bool,
}

/// This machine.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
    /// Whether settings of the whole machine may be changed.
    system: bool,
    /// Where cgroups of the controllers cpu and cpuset can be made, or why not.
    cpu: Result<Hierarchy, String>,
    cpuset: Result<Hierarchy, String>,
}

/// A file within a cgroup, and what is written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupFile {
    /// The directory of the cgroup.
    pub dir: PathBuf,
    /// Name of the file and text; in the order in which they are written.
    pub files: Vec<(String, String)>,
}

impl Host {
    /// The machine whose files are below `root`. `system`: settings that other programs feel may be changed too.
    pub fn new(root: &Path, system: bool) -> Host {
        let mounts = read(&root.join("proc/self/mounts")).unwrap_or_default();
        let own = read(&root.join("proc/self/cgroup")).unwrap_or_default();
        let find = |controller| hierarchy(root, &mounts, &own, controller);
        Host { root: root.into(), system, cpu: find("cpu"), cpuset: find("cpuset") }
    }

    /// A path on it.
    pub fn path(&self, below_root: &str) -> PathBuf {
        self.root.join(below_root)
    }

    /// The numbers `N` of all entries `STEMN` of a directory, rising.
    pub fn numbered(&self, below_root: &str, stem: &str) -> Vec<u32> {
        let entries = std::fs::read_dir(self.path(below_root)).into_iter().flatten().flatten();
        let mut numbers: Vec<u32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix(stem)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The file by which a CPU goes offline.
    pub fn online_file(&self, cpu: u32) -> PathBuf {
        self.path(&format!("sys/devices/system/cpu/cpu{cpu}/online"))
    }

    /// The sysctl that makes each session a group of tasks.
    pub fn autogroup_file(&self) -> PathBuf {
        self.path("proc/sys/kernel/sched_autogroup_enabled")
    }

    /// A file of debugfs below `sched`.
    pub fn debugfs_file(&self, file: &str) -> PathBuf {
        self.path(DEBUGFS).join(file)
    }

    /// Release of the running kernel: `6.18.44-amd64`.
    pub fn kernel(&self) -> String {
        read(&self.path("proc/sys/kernel/osrelease")).map_or_else(|| "unknown".into(), |text| text.trim().to_owned())
    }

    /// The scheduler of ours that is nearest to it, `fair:v6.18.44`; `None` if the release cannot be read.
    pub fn nearest_sched(&self) -> Option<String> {
        let kernel = self.kernel();
        let mut numbers = kernel.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u16>().ok());
        let (major, minor) = (numbers.next()??, numbers.next()??);
        let point = numbers.next().flatten().unwrap_or(0);
        Some(format!("fair:v{major}.{minor}.{point}"))
    }

    /// Ticks per second of the running kernel, as its configuration says where that can be read.
    pub fn hz(&self) -> Option<u32> {
        let plain = || read(&self.path(&format!("boot/config-{}", self.kernel())));
        let text = gunzipped(&self.path("proc/config.gz")).or_else(plain)?;
        text.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="))?.trim().parse().ok()
    }

    /// What identifies the time since the machine was started: nothing that was changed before is still so.
    pub fn boot(&self) -> String {
        read(&self.path("proc/sys/kernel/random/boot_id")).unwrap_or_default().trim().to_owned()
    }

    /// What a reader of its figures needs to know, as text.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let cpuinfo = read(&self.path("proc/cpuinfo")).unwrap_or_default();
        let is_virtual = |line: &str| line.starts_with("flags") && line.split_whitespace().any(|f| f == "hypervisor");
        if cpuinfo.lines().any(is_virtual) {
            notes.push("a virtual machine: a wakeup of a halted CPU costs what its hypervisor takes".into());
        }
        if let Ok(Hierarchy { parent, version, .. }) = &self.cpu {
            let quota = match version {
                CgroupVersion::V1 => read(&parent.join("cpu.cfs_quota_us")).filter(|text| text.trim() != "-1"),
                CgroupVersion::V2 => read(&parent.join("cpu.max")).filter(|text| !text.starts_with("max")),
            };
            if let Some(quota) = quota {
                notes.push(format!(
                    "this command's own cgroup has a quota of CPU time ({}): played rounds do",
                    quota.trim()
                ));
            }
        }
        if read(&self.autogroup_file()).is_some_and(|text| text.trim() == "1") {
            notes
                .push("sched_autogroup_enabled is 1: what else runs competes with a round as other sessions do".into());
        }
        notes.extend(self.battery_note());
        notes
    }

    /// That its clocks may be limited, if it runs on battery.
    pub fn battery_note(&self) -> Option<String> {
        let supply = std::fs::read_dir(self.path("sys/class/power_supply")).into_iter().flatten().flatten();
        let discharging = |dir: PathBuf| read(&dir.join("status")).is_some_and(|text| text.trim() == "Discharging");
        let is_discharging = supply.map(|entry| entry.path()).any(discharging);
        is_discharging.then(|| "it runs on battery: clocks may be limited".into())
    }

    /// Why these settings cannot be made here, or these groups; `None` if nothing is known that keeps them.
    pub fn refusal(&self, system: &[SystemSetting], groups: &[TaskGroup]) -> Option<String> {
        system.iter().find_map(|setting| self.refused(setting)).or_else(|| {
            let mut hierarchies = groups.iter().flat_map(|group| self.wanted(group));
            hierarchies.find_map(|hierarchy| hierarchy.as_ref().err().cloned())
        })
    }

    fn refused(&self, setting: &SystemSetting) -> Option<String> {
        let (what, files) = match setting {
            SystemSetting::Offline(cpus) => {
                ("CPUs offline", cpus.iter().map(|cpu| self.online_file(cpu)).collect::<Vec<_>>())
            }
            SystemSetting::Autogroup(_) => ("autogroup", vec![self.autogroup_file()]),
            SystemSetting::Debugfs { file, .. } => ("debugfs", vec![self.debugfs_file(file)]),
        };
        if let Some(missing) = files.iter().find(|file| !file.exists()) {
            return Some(format!("{what}: there is no {}", missing.display()));
        }
        if let Some(file) = files.iter().find(|file| !is_writable(file)) {
            return Some(format!("{what}: {} cannot be written by this user", file.display()));
        }
        if let SystemSetting::Debugfs { file, value } = setting {
            let text = read(&files[0]).unwrap_or_default();
            if debugfs_undo(file, &text, value).is_none() {
                return Some(format!("{what}: {} does not know {value}", files[0].display()));
            }
        }
        (!self.system).then(|| format!("{what}: other programs feel it, so it is only done with --system"))
    }

    /// The hierarchies that a group is made in.
    fn wanted(&self, group: &TaskGroup) -> Vec<&Result<Hierarchy, String>> {
        let mut wanted = Vec::new();
        if !group.files.is_empty() {
            wanted.push(&self.cpu);
        }
        if group.cpus.is_some() {
            wanted.push(&self.cpuset);
        }
        wanted
    }

    /// The cgroups that stand for a group, called `name`: their directories with what is written there.
    ///
    /// # Errors
    /// Why there can be none.
    pub fn cgroups(&self, group: &TaskGroup, name: &str) -> Result<Vec<(Hierarchy, GroupFile)>, String> {
        let mut all: Vec<(Hierarchy, GroupFile)> = Vec::new();
        let mut add = |hierarchy: &Result<Hierarchy, String>, files: Vec<(String, String)>| {
            let hierarchy = hierarchy.clone()?;
            let dir = hierarchy.parent.join(name);
            match all.iter_mut().find(|(_, known)| known.dir == dir) {
                Some((_, known)) => known.files.extend(files),
                None => all.push((hierarchy, GroupFile { dir, files })),
            }
            Ok::<(), String>(())
        };
        if !group.files.is_empty() {
            let version = self.cpu.as_ref().map_or(CgroupVersion::V2, |hierarchy| hierarchy.version);
            add(&self.cpu, group.files.iter().flat_map(|(file, value)| in_version(version, file, value)).collect())?;
        }
        if let Some(cpus) = group.cpus {
            let mut files = Vec::new();
            if let Ok(Hierarchy { parent, version: CgroupVersion::V1, .. }) = &self.cpuset {
                // Without nodes nobody may enter.
                let mems = read(&parent.join("cpuset.mems")).unwrap_or_default();
                files.push(("cpuset.mems".into(), mems.trim().to_owned()));
            }
            files.push(("cpuset.cpus".into(), cpus.to_string()));
            add(&self.cpuset, files)?;
        }
        Ok(all)
    }

    /// Files `cpuset.cpus` of cgroup v1 that name one of these CPUs, those of inner groups first. Their kernel takes a CPU
    /// that goes offline out of them for good.
    pub fn cpusets_with(&self, cpus: &CpuMask) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mounts = read(&self.root.join("proc/self/mounts")).unwrap_or_default();
        let v1 = mounts_of(&mounts).find(|(_, kind, options)| *kind == "cgroup" && has_option(options, "cpuset"));
        if let Some((dir, ..)) = v1 {
            let top = self.below(dir);
            inner_first(&top, &mut |dir| {
                let file = dir.join("cpuset.cpus");
                let names = |text: String| CpuMask::parse_list(text.trim()).is_ok_and(|mask| mask.intersects(cpus));
                // That of the top follows what is online, and cannot be written.
                if dir != top && read(&file).is_some_and(names) {
                    found.push(file);
                }
            });
        }
        found
    }

    fn below(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }
}

/// Calls `each` with `dir` and all directories in it, those farthest in first.
fn inner_first(dir: &Path, each: &mut dyn FnMut(&Path)) {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut inner: Vec<PathBuf> =
        entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()).collect();
    inner.sort();
    inner.iter().for_each(|dir| inner_first(dir, each));
    each(dir);
}

/// What is written to a file of the cpu controller, named and valued as in cgroup v2, in this version.
fn in_version(version: CgroupVersion, file: &str, value: &str) -> Vec<(String, String)> {
    let same = || vec![(file.to_owned(), value.to_owned())];
    if version == CgroupVersion::V2 {
        return same();
    }
    match file {
        // 100 is what v1 calls 1024.
        "cpu.weight" => {
            let shares = value.parse::<u64>().map_or(1024, |weight| weight * 1024 / 100);
            vec![("cpu.shares".into(), shares.to_string())]
        }
        "cpu.max" => {
            let (quota, period) = value.split_once(' ').unwrap_or((value, "100000"));
            let quota = if quota == "max" { "-1" } else { quota };
            vec![("cpu.cfs_period_us".into(), period.into()), ("cpu.cfs_quota_us".into(), quota.into())]
        }
        _ => same(),
    }
}

/// Directory, type and options of each mount.
fn mounts_of(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    text.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (_, dir, kind, options) = (words.next()?, words.next()?, words.next()?, words.next()?);
        Some((dir, kind, options))
    })
}

fn has_option(options: &str, name: &str) -> bool {
    options.split(',').any(|option| option == name)
}

/// Where cgroups with this controller can be made. In v1 within the own group, so that its limits hold; in v2, where a
/// group with processes has no groups with controllers, at the top.
fn hierarchy(root: &Path, mounts: &str, own: &str, controller: &str) -> Result<Hierarchy, String> {
    let below = |dir: &str| root.join(dir.trim_start_matches('/'));
    let writable = |parent: PathBuf, version, to_enable| match is_writable(&parent) {
        true => Ok(Hierarchy { parent, version, to_enable }),
        false => Err(format!("cgroups: {} cannot be written by this user", parent.display())),
    };
    if let Some((dir, ..)) =
        mounts_of(mounts).find(|(_, kind, options)| *kind == "cgroup" && has_option(options, controller))
    {
        // ID:CONTROLLERS:PATH
        let path = own.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            controllers.split(',').any(|c| c == controller).then_some(path)
        });
        let within = below(&format!("{dir}{}", path.unwrap_or_default().trim_end_matches('/')));
        // A container may see its own group as the top.
        let parent = if within.is_dir() { within } else { below(dir) };
        return writable(parent, CgroupVersion::V1, false);
    }
    let (dir, ..) = mounts_of(mounts).find(|(_, kind, _)| *kind == "cgroup2").ok_or("cgroups: none are mounted")?;
    let top = below(dir);
    let has = |file: &str| read(&top.join(file)).is_some_and(|text| text.split_whitespace().any(|c| c == controller));
    if !has("cgroup.controllers") {
        return Err(format!("cgroups: {} has no controller {controller}", top.display()));
    }
    let to_enable = !has("cgroup.subtree_control");
    writable(top, CgroupVersion::V2, to_enable)
}

/// What must be written to a file of debugfs to have again what `text`, its content, says, once `value` is written; `None` if
/// the file does not know the value.
pub fn debugfs_undo(file: &str, text: &str, value: &str) -> Option<String> {
    let words = || text.split_whitespace();
    match file {
        // All features, each with NO_ in front if it is off.
        "features" => {
            let name = value.strip_prefix("NO_").unwrap_or(value);
            words().find(|word| word.strip_prefix("NO_").unwrap_or(word) == name).map(str::to_owned)
        }
        // All models, that in force in parentheses.
        "preempt" => {
            let bare = |word: &str| word.trim_matches(['(', ')']).to_owned();
            words().find(|word| bare(word) == value)?;
            words().find(|word| word.starts_with('(')).map(bare)
        }
        _ => words().next().map(str::to_owned),
    }
}

/// The whole number that a file has; `None` if it cannot be read, or has another text.
pub fn number(path: &Path) -> Option<u64> {
    read(path)?.trim().parse().ok()
}

/// The text of a file; `None` if it cannot be read.
pub fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn gunzipped(path: &Path) -> Option<String> {
    let file = std::fs::File::open(path).ok()?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).take(16 << 20).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Whether this user may write it. Nobody writes a file without that mode, root neither; in directories root may, of cgroups
/// in those of mode 555.
pub fn is_writable(path: &Path) -> bool {
    let is_meant = path.metadata().is_ok_and(|m| m.is_dir() || m.mode() & 0o222 != 0);
    is_meant && nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of a made-up machine, below a root of their own.
    fn laid_out(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        dir
    }

    fn group(files: &[(&str, &str)], cpus: Option<&str>) -> TaskGroup {
        let files = files.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let cpus = cpus.map(|list| CpuMask::parse_list(list).unwrap());
        TaskGroup { path: "/g0".into(), parent: None, files, cpus }
    }

    #[test]
    fn the_kernel_names_the_scheduler() {
        let nearest = |release: &str| {
            let dir = laid_out(&[("proc/sys/kernel/osrelease", release)]);
            Host::new(dir.path(), false).nearest_sched()
        };
        assert_eq!(nearest("6.18.44-fc-v657\n").as_deref(), Some("fair:v6.18.44"));
        assert_eq!(nearest("7.0-rc3\n").as_deref(), Some("fair:v7.0.0"));
        assert_eq!(nearest("x\n"), None);
    }

    #[test]
    fn weights_and_quotas_are_written_as_the_version_has_them() {
        let v1 = laid_out(&[
            ("proc/self/mounts", "c /cg/cpu cgroup rw,cpu,cpuacct 0 0\nc /cg/cpuset cgroup rw,cpuset 0 0\n"),
            ("proc/self/cgroup", "2:cpu,cpuacct:/box\n1:cpuset:/\n"),
            ("cg/cpu/box/tasks", ""),
            ("cg/cpuset/cpuset.mems", "0-1\n"),
        ]);
        let host = Host::new(v1.path(), false);
        let made =
            host.cgroups(&group(&[("cpu.weight", "300"), ("cpu.max", "20000 40000")], Some("0,2")), "ours").unwrap();
        let [(_, cpu), (_, cpuset)] = &made[..] else { panic!("{made:?}") };
        assert_eq!(cpu.dir, v1.path().join("cg/cpu/box/ours"));
        let text = |files: &[(String, String)]| files.iter().map(|(f, v)| format!("{f}={v}")).collect::<Vec<_>>();
        assert_eq!(text(&cpu.files), ["cpu.shares=3072", "cpu.cfs_period_us=40000", "cpu.cfs_quota_us=20000"]);
        assert_eq!(text(&cpuset.files), ["cpuset.mems=0-1", "cpuset.cpus=0,2"]);

        let v2 = laid_out(&[
            ("proc/self/mounts", "c /cg cgroup2 rw 0 0\n"),
            ("proc/self/cgroup", "0::/user.slice\n"),
            ("cg/cgroup.controllers", "cpuset cpu io\n"),
            ("cg/cgroup.subtree_control", "cpu\n"),
        ]);
        let host = Host::new(v2.path(), false);
        let made = host.cgroups(&group(&[("cpu.max", "max 20000")], Some("1")), "ours").unwrap();
        let [(hierarchy, both)] = &made[..] else { panic!("{made:?}") };
        assert_eq!(text(&both.files), ["cpu.max=max 20000", "cpuset.cpus=1"]);
        assert!(!hierarchy.to_enable && host.cpuset.unwrap().to_enable);
    }

    #[test]
    fn what_cannot_be_done_is_said_by_name() {
        let dir = laid_out(&[("sys/kernel/debug/sched/base_slice_ns", "2800000\n")]);
        let refusal = |system, setting| Host::new(dir.path(), system).refusal(&[setting], &[]);
        let slice = SystemSetting::Debugfs { file: "base_slice_ns", value: "1" };
        assert!(refusal(false, slice.clone()).unwrap().contains("--system"));
        assert_eq!(refusal(true, slice), None);
        let preempt = SystemSetting::Debugfs { file: "preempt", value: "full" };
        assert!(refusal(true, preempt).unwrap().contains("there is no"));
        let offline = SystemSetting::Offline(CpuMask::single(1));
        assert!(refusal(true, offline).unwrap().contains("cpu1/online"));
        let groups = [group(&[("cpu.weight", "100")], None)];
        assert_eq!(Host::new(dir.path(), true).refusal(&[], &groups).as_deref(), Some("cgroups: none are mounted"));
    }

    #[test]
    fn a_battery_that_is_used_is_noted() {
        let note = |status: &str| {
            let dir =
                laid_out(&[("sys/class/power_supply/BAT0/status", status), ("sys/class/power_supply/AC/online", "0")]);
            Host::new(dir.path(), false).battery_note()
        };
        assert!(note("Discharging\n").is_some_and(|note| note.contains("battery")));
        assert_eq!((note("Full\n"), note("")), (None, None));
    }

    #[test]
    fn files_that_show_more_than_their_value_are_undone_by_that_value() {
        assert_eq!(debugfs_undo("features", "A NO_B C\n", "NO_A").as_deref(), Some("A"));
        assert_eq!(debugfs_undo("features", "A NO_B C\n", "B").as_deref(), Some("NO_B"));
        assert_eq!(debugfs_undo("features", "A NO_B C\n", "NO_D"), None);
        assert_eq!(debugfs_undo("preempt", "none (full) lazy\n", "lazy").as_deref(), Some("full"));
        assert_eq!(debugfs_undo("preempt", "none (full)\n", "lazy"), None);
        assert_eq!(debugfs_undo("base_slice_ns", "2800000\n", "1").as_deref(), Some("2800000"));
    }

    #[test]
    fn cpusets_that_name_a_cpu_are_found_inner_ones_first() {
        let dir = laid_out(&[
            ("proc/self/mounts", "c /cg cgroup rw,cpuset 0 0\n"),
            ("cg/cpuset.cpus", "0-3\n"),
            ("cg/a/cpuset.cpus", "0-1\n"),
            ("cg/a/b/cpuset.cpus", "1\n"),
            ("cg/c/cpuset.cpus", "0\n"),
        ]);
        let found = Host::new(dir.path(), true).cpusets_with(&CpuMask::single(1));
        assert_eq!(found, ["cg/a/b/cpuset.cpus", "cg/a/cpuset.cpus"].map(|file| dir.path().join(file)));
    }
}

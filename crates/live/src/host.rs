//! What the kernel at hand has of what the scheduler needs. Files are read below a root, so that tests can make one up.

use std::fs;
use std::path::{Path, PathBuf};

use fairground_machine::CpuMask;

/// The files of a kernel.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
}

/// Magic number of the BPF file system (statfs).
const BPF_FS_MAGIC: i64 = 0xcafe_4a11;

impl Host {
    /// The kernel that this program runs on.
    pub fn this() -> Host {
        Host { root: "/".into() }
    }

    /// One whose files are below `root`.
    pub fn below(root: &Path) -> Host {
        Host { root: root.into() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn read(&self, path: &str) -> Option<String> {
        Some(fs::read_to_string(self.path(path)).ok()?.trim().to_string())
    }

    /// All that is missing, in words, each with the name of what would bring it.
    pub fn lacking(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if !self.path("/sys/kernel/sched_ext").is_dir() {
            missing.push("the kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT, v6.12 or later)".into());
        }
        if !self.path("/sys/kernel/btf/vmlinux").exists() {
            missing.push("the kernel says nothing of its types (CONFIG_DEBUG_INFO_BTF)".into());
        }
        if let Some(other) = self.other_scheduler() {
            missing.push(format!("another scheduler of sched_ext runs: {other}"));
        }
        missing
    }

    /// The CPUs that are online; none: the kernel does not say.
    pub fn online(&self) -> Option<CpuMask> {
        CpuMask::parse_list(&self.read("/sys/devices/system/cpu/online")?).ok()
    }

    /// The CPUs that are online, or may come online: not those that the command line (`nosmt=force`) keeps out. None: the kernel does not say.
    pub fn usable(&self) -> Option<CpuMask> {
        if self.read("/sys/devices/system/cpu/smt/control").is_some_and(|control| control == "forceoff") {
            return self.online();
        }
        CpuMask::parse_list(&self.read("/sys/devices/system/cpu/present")?).ok()
    }

    /// Whether schedutil sets the clocks of all CPUs that are online, without which placement is not energy-aware.
    pub fn is_governed_by_schedutil(&self) -> bool {
        let policies = fs::read_dir(self.path("/sys/devices/system/cpu/cpufreq")).into_iter().flatten().flatten();
        let governors: Vec<Option<String>> = policies
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("policy"))
            .map(|entry| Some(fs::read_to_string(entry.path().join("scaling_governor")).ok()?.trim().to_string()))
            .collect();
        !governors.is_empty() && governors.iter().all(|governor| governor.as_deref() == Some("schedutil"))
    }

    /// The name of the scheduler of sched_ext that runs, if one does.
    pub fn other_scheduler(&self) -> Option<String> {
        let state = self.read("/sys/kernel/sched_ext/state")?;
        if state == "disabled" {
            return None;
        }
        Some(self.read("/sys/kernel/sched_ext/root/ops").unwrap_or(state))
    }

    /// Whether this user may load programs.
    pub fn is_privileged() -> bool {
        // SAFETY: no arguments.
        unsafe { libc::geteuid() == 0 }
    }

    /// Whether a folder is of the BPF file system.
    pub fn is_bpf_fs(folder: &Path) -> bool {
        use std::os::unix::ffi::OsStrExt;
        let Ok(path) = std::ffi::CString::new(folder.as_os_str().as_bytes()) else { return false };
        // SAFETY: zeroed is a value of this plain struct.
        let mut found: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: a path that ends, and room for the answer.
        unsafe { libc::statfs(path.as_ptr(), &mut found) == 0 && found.f_type as i64 == BPF_FS_MAGIC }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_kernel_without_sched_ext_is_told_what_it_lacks_by_name() {
        let root = std::env::temp_dir().join(format!("fairground-live-host-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let host = Host::below(&root);
        let missing = host.lacking();
        assert!(missing[0].contains("CONFIG_SCHED_CLASS_EXT") && missing[1].contains("CONFIG_DEBUG_INFO_BTF"));
        file(&root, "sys/kernel/btf/vmlinux", "");
        file(&root, "sys/kernel/sched_ext/state", "disabled\n");
        assert_eq!(host.lacking(), Vec::<String>::new());
        file(&root, "sys/kernel/sched_ext/state", "enabled\n");
        file(&root, "sys/kernel/sched_ext/root/ops", "simple\n");
        assert_eq!(host.lacking(), ["another scheduler of sched_ext runs: simple"]);
        assert!(!host.is_governed_by_schedutil());
        file(&root, "sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "schedutil\n");
        assert!(host.is_governed_by_schedutil());
        file(&root, "sys/devices/system/cpu/cpufreq/policy4/scaling_governor", "performance\n");
        assert!(!host.is_governed_by_schedutil());
        file(&root, "sys/devices/system/cpu/online", "0-3\n");
        file(&root, "sys/devices/system/cpu/present", "0-7\n");
        assert_eq!(host.usable().unwrap().count(), 8);
        file(&root, "sys/devices/system/cpu/smt/control", "forceoff\n");
        assert_eq!(host.usable().unwrap().count(), 4);
        fs::remove_dir_all(&root).unwrap();
    }
}

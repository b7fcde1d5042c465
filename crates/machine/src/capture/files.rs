//! The list of sysfs and debugfs files that are read, and the shell script that collects them into a tarball.

/// Files of a cpufreq policy.
const POLICY: &str = "related_cpus affected_cpus scaling_available_frequencies scaling_boost_frequencies \
                      cpuinfo_min_freq cpuinfo_max_freq cpuinfo_transition_latency scaling_governor";

/// Directories of sysfs, and the files that are read of each. A `#` stands for a number, a `*` for any name.
pub(super) const FILES: [(&str, &str); 18] = [
    ("devices/system/cpu", "online present isolated modalias"),
    ("devices/system/cpu/cpu#", "online cpu_capacity"),
    ("devices/system/cpu/cpu#/regs/identification", "midr_el1"),
    (
        "devices/system/cpu/cpu#/topology",
        "core_cpus_list thread_siblings_list package_cpus_list core_siblings_list cluster_cpus_list \
         physical_package_id die_id cluster_id core_id",
    ),
    ("devices/system/cpu/cpu#/cache/index#", "level type size shared_cpu_list"),
    ("devices/system/cpu/cpu#/cpuidle/state#", "name desc latency residency disable"),
    ("devices/system/cpu/cpu#/cpufreq", POLICY),
    ("devices/system/cpu/cpufreq", "boost"),
    ("devices/system/cpu/cpufreq/policy#", POLICY),
    ("devices/system/node", "online"),
    ("devices/system/node/node#", "cpulist distance"),
    ("kernel/debug/energy_model/*", "cpus flags units"),
    ("kernel/debug/energy_model/*/ps:*", "frequency power"),
    ("firmware/devicetree/base", "model"),
    ("devices/virtual/dmi/id", "sys_vendor product_name"),
    ("fs/cgroup", "cpuset.cpus.effective"),
    ("fs/cgroup/cpuset", "cpuset.effective_cpus"),
    (PROC, "cpuinfo"),
];

/// The directory of processes, which is beside a mounted sysfs and not in it.
const PROC: &str = "proc";

/// What a path is in a tree of which [`FILES`] are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// One of the files.
    File,
    /// A directory above some of them.
    Above,
}

/// The role of a path relative to the root of a tree; none if nothing is read there.
pub(super) fn role(path: &[&str]) -> Option<Role> {
    let (name, parents) = path.split_last()?;
    let is_file = |(dir, files): &(&str, &str)| {
        left_below(dir, parents).is_some_and(|mut left| left.next().is_none())
            && files.split(' ').any(|file| file == *name)
    };
    match FILES.iter().any(is_file) {
        true => Some(Role::File),
        false => FILES.iter().any(|(dir, _)| left_below(dir, path).is_some()).then_some(Role::Above),
    }
}

/// What of a directory's pattern lies below a path; none if the path leads elsewhere.
fn left_below<'a>(dir: &'a str, path: &[&str]) -> Option<std::str::Split<'a, char>> {
    let mut left = dir.split('/');
    path.iter().all(|name| left.next().is_some_and(|pattern| fits(name, pattern))).then_some(left)
}

/// Whether a name is of a pattern: literal, or with a `#` or `*` at its end.
fn fits(name: &str, pattern: &str) -> bool {
    if let Some(prefix) = pattern.strip_suffix('#') {
        let digits = name.strip_prefix(prefix).unwrap_or("");
        return !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    }
    pattern.strip_suffix('*').map_or(name == pattern, |prefix| name.starts_with(prefix))
}

/// The script without the list of files.
const TEMPLATE: &str = include_str!("script.sh");

/// The line of the template that the list replaces.
const HERE: &str = "#FILES\n";

/// A script for a POSIX shell that copies the files of a machine that [`capture`](super::capture()) reads into a
/// tarball, from which they are captured elsewhere. It needs no root, and says what it could not read.
pub fn capture_script() -> String {
    let mut lines = String::new();
    for (dir, files) in FILES {
        let take = format!("take '{}' '{files}'", dir.replace('#', "[0-9]*"));
        lines.push_str(&match dir {
            PROC => format!("case $PWD in */sys) take '../{PROC}' '{files}' ;; *) [ ! -d {PROC} ] || {take} ;; esac\n"),
            _ => take + "\n",
        });
    }
    TEMPLATE.replace(HERE, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role_of(path: &str) -> Option<Role> {
        role(&path.split('/').collect::<Vec<_>>())
    }

    #[test]
    fn paths_have_the_role_that_the_list_gives() {
        assert_eq!(role_of("devices/system/cpu/cpu12/cache/index3/size"), Some(Role::File));
        assert_eq!(role_of("kernel/debug/energy_model/cpu0/ps:1000000/power"), Some(Role::File));
        assert_eq!(role_of("devices/system/cpu/cpu12/cpufreq"), Some(Role::Above));
        assert_eq!(role_of("devices/system/cpu/cpu12/crash_notes"), None);
        assert_eq!(role_of("devices/system/cpu/cpux/online"), None);
        assert_eq!(role_of("etc/passwd"), None);
    }
}

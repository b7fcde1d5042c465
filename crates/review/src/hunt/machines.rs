//! Machines of a hunt that are no presets: made-up ones, and parts of others.

use std::fs;
use std::path::Path;

use fairground_machine::testing::Shape;
use fairground_machine::{CpuMask, Machine};
use xxhash_rust::xxh3::xxh3_64;

/// A machine that nobody has: packages, nodes, caches, clusters, threads, capacities and prices drawn by its number, each from the range
/// that [`Shape`] has for it. Returns its file.
///
/// # Errors
/// If the file cannot be written; the message names it.
pub(super) fn make_up(number: u64, files: &Path) -> Result<String, String> {
    let mut machine = Shape::from_seed(number).build();
    machine.name = format!("made-up-{number}");
    write(&machine, files)
}

/// Machines with fewer CPUs, the boldest first: files below `files`. None where the machine cannot be read or parted.
pub(super) fn smaller(name: &str, files: &Path) -> Vec<String> {
    let Ok(machine) = Machine::find(name) else { return Vec::new() };
    let written = |cpus: &CpuMask| {
        let mut part = machine.keeping(cpus)?;
        // Parts of parts are parts of the first.
        let whole = machine.name.split_once("-cpus-of-").map_or(machine.name.as_str(), |(_, whole)| whole);
        part.name = format!("{}-cpus-of-{whole}", part.nr_cpus());
        write(&part, files).ok()
    };
    parts(&machine).iter().filter_map(written).collect()
}

/// Sets of CPUs to keep, the smallest first.
fn parts(machine: &Machine) -> Vec<CpuMask> {
    let all = machine.all_cpus();
    let clusters: Vec<CpuMask> = machine.clusters.iter().map(|cluster| cluster.cpus).collect();
    let first = |mask: &CpuMask, n: usize| {
        mask.iter().take(n).fold(CpuMask::EMPTY, |mut some, cpu| {
            some.set(cpu);
            some
        })
    };
    let joined = |masks: &mut dyn Iterator<Item = CpuMask>| masks.fold(CpuMask::EMPTY, |all, mask| all.or(&mask));
    let mut parts = Vec::new();
    for groups in [&machine.packages, &machine.nodes, &machine.llcs, &clusters] {
        let half = groups.len().div_ceil(2);
        parts.push(joined(&mut groups[..half].iter().copied()));
        parts.push(joined(&mut groups[half..].iter().copied()));
        if groups.len() <= 4 {
            parts.extend(groups.iter().map(|group| all.minus(group)));
        }
    }
    parts.push(joined(&mut machine.cores.iter().map(|core| first(core, 1))));
    parts.push(joined(&mut clusters.iter().map(|cluster| first(cluster, cluster.count().div_ceil(2)))));
    if clusters.len() <= 4 {
        parts.extend(clusters.iter().map(|cluster| all.minus(cluster).or(&first(cluster, cluster.count() - 1))));
    }
    let mut found: Vec<CpuMask> = Vec::new();
    for part in parts {
        if !part.is_empty() && part != all && !found.contains(&part) {
            found.push(part);
        }
    }
    found.sort_by_key(|part| part.count());
    found
}

/// Writes a machine below `files`, equal ones to the same file. Returns its path.
fn write(machine: &Machine, files: &Path) -> Result<String, String> {
    let text = machine.to_toml();
    let path = files.join(format!("{}.{:016x}.toml", machine.name, xxh3_64(text.as_bytes())));
    fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    Ok(path.display().to_string())
}

/// The name of a machine as it is typed, or of one whose file is written here.
pub(super) fn display_name(machine: &str) -> &str {
    let file = Path::new(machine).file_name().and_then(|name| name.to_str()).unwrap_or(machine);
    file.split('.').next().unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_machines_are_the_same_for_a_number_and_parts_are_smaller() {
        let files = tempfile::tempdir().unwrap();
        for number in 0..20 {
            let made = make_up(number, files.path()).unwrap();
            assert_eq!(made, make_up(number, files.path()).unwrap());
            assert_eq!(display_name(&made), format!("made-up-{number}"));
            let machine = Machine::find(&made).unwrap();
            for part in smaller(&made, files.path()) {
                assert!(Machine::find(&part).unwrap().nr_cpus() < machine.nr_cpus());
            }
        }
        assert!(smaller("nowhere", files.path()).is_empty());
    }

    #[test]
    fn a_part_keeps_what_it_holds_of_each_level() {
        let files = tempfile::tempdir().unwrap();
        let names = |name: &str| {
            let parts = smaller(name, files.path());
            parts.iter().map(|part| display_name(part).to_owned()).collect::<Vec<_>>()
        };
        // The little cluster alone has no CPU of full capacity: it is no machine.
        let parts = smaller("hikey960", files.path());
        let machines: Vec<Machine> = parts.iter().map(|part| Machine::find(part).unwrap()).collect();
        let shapes: Vec<(usize, usize)> = machines.iter().map(|m| (m.nr_cpus(), m.clusters.len())).collect();
        assert_eq!(shapes, [(4, 1), (4, 2), (7, 2), (7, 2)]);
        assert!(machines[1].is_asymmetric() && !machines[0].is_asymmetric());
        assert!(names("rpi5").contains(&"2-cpus-of-rpi5".to_owned()), "{:?}", names("rpi5"));
        let small = Machine::find(&smaller("epyc-7742-2p", files.path())[0]).unwrap();
        assert!(small.nr_cpus() < 256 && small.has_smt());
    }
}

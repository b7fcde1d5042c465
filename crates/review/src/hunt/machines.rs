//! Machines of a hunt that are no presets: made-up ones, and parts of others.

use std::fs;
use std::path::Path;

use fairground_machine::testing::Shape;
use fairground_machine::{CpuMask, IdleScope, Machine, Source};
use xxhash_rust::xxh3::xxh3_64;

/// So many draws of a made-up machine are tried until [`Machine::check`] does not warn of one.
const DRAWS: u64 = 64;

/// A machine that nobody has, drawn by its number, and the first of its draws of which `machine check` does not warn: packages, nodes,
/// caches, clusters, threads, capacities and prices from the ranges that [`Shape`] has for them, power and idle states by
/// [`give_power`]. Returns its file.
///
/// # Errors
/// If `machine check` warns of all [`DRAWS`], or the file cannot be written; the message names it.
pub(super) fn make_up(number: u64, files: &Path) -> Result<String, String> {
    let plausible = (0..DRAWS).map(|draw| drawn(number, draw)).find(|machine| machine.check().is_empty());
    write(&plausible.ok_or_else(|| format!("`machine check` warns of all draws of made-up machine {number}"))?, files)
}

fn drawn(number: u64, draw: u64) -> Machine {
    let seed = if draw == 0 { number } else { xxh3_64(format!("{number} {draw}").as_bytes()) };
    let mut machine = Shape::from_seed(seed).build();
    machine.name = format!("made-up-{number}");
    give_power(&mut machine, seed);
    machine.restate_figures();
    for figure in &mut machine.figures {
        figure.source = Source::Estimate("made up".to_owned());
    }
    machine
}

/// Gives a machine power: of clocks, clusters and idle states, and the times in which clocks change. Each is drawn between the quartiles of the
/// presets, relative to what `machine check` compares it with; CPUs of less capacity have less. A cluster that is its last-level cache is no
/// level of its own.
fn give_power(machine: &mut Machine, seed: u64) {
    let between = |what: &str, least: f64, most: f64| {
        let share = xxh3_64(format!("{seed} {what}").as_bytes()) as f64 / u64::MAX as f64;
        least * (most / least).powf(share)
    };
    let top = |machine: &Machine, cpu| {
        machine.freq_domain_of(cpu).opps.last().map_or((0.0, 0.0), |opp| (f64::from(opp.khz), opp.active_mw))
    };
    let Some(largest) = machine.cpus.iter().max_by_key(|cpu| cpu.capacity).map(|cpu| cpu.id) else { return };
    let full_mw = between("mW/MHz", 0.15, 0.69) * top(machine, largest).0 / 1e3;
    for domain in &mut machine.freq_domains {
        let Some(cpu) = domain.cpus.first().map(|cpu| &machine.cpus[cpu as usize]) else { continue };
        let top_mw = domain.opps.last().map_or(1.0, |opp| opp.active_mw);
        let times = full_mw * f64::from(cpu.capacity) / 1024.0 / top_mw;
        domain.opps.iter_mut().for_each(|opp| opp.active_mw *= times);
        domain.transition_ns = between(&format!("transition {}", cpu.cpu_type), 50_000.0, 500_000.0) as u64;
    }
    for i in 0..machine.clusters.len() {
        let cpus = machine.clusters[i].cpus;
        let all_mw: f64 = cpus.iter().map(|cpu| top(machine, cpu).1).sum();
        let cluster = &mut machine.clusters[i];
        cluster.active_mw = all_mw * between("cluster", 0.016, 0.11);
        cluster.idle_mw = cluster.active_mw / 4.0;
        cluster.shares_cache &= !machine.llcs.contains(&cpus);
    }
    for t in 0..machine.cpu_types.len() {
        let Some(cpu) = machine.cpus.iter().find(|cpu| cpu.cpu_type as usize == t).map(|cpu| cpu.id) else { continue };
        let (_, top_mw) = top(machine, cpu);
        let lowest_mw = machine.freq_domain_of(cpu).opps.first().map_or(0.0, |opp| opp.active_mw);
        for (depth, state) in machine.cpu_types[t].idle_states.iter_mut().enumerate() {
            let drawn = |what, least, most| between(&format!("{what} {t} {depth}"), least, most);
            // mW x ns are 1e-6 uJ.
            let running_uj = top_mw * (state.entry_ns + state.wake_ns) as f64 * 1e-6;
            (state.power_mw, state.transition_uj) = match state.scope {
                IdleScope::Cpu if depth == 0 => (lowest_mw * drawn("power", 0.12, 0.27), state.transition_uj),
                IdleScope::Cpu => (lowest_mw * drawn("power", 0.011, 0.055), running_uj * drawn("energy", 0.12, 0.53)),
                IdleScope::Cluster => (0.0, running_uj * drawn("energy", 0.19, 0.55)),
            };
        }
    }
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
    fn made_up_machines_are_plausible_and_of_many_kinds() {
        let files = tempfile::tempdir().unwrap();
        let made: Vec<Machine> =
            (0..40).map(|number| Machine::find(&make_up(number, files.path()).unwrap()).unwrap()).collect();
        for machine in &made {
            assert_eq!(machine.check(), [], "{}", machine.name);
        }
        let has_deep_states = |m: &Machine| m.cpu_types.iter().any(|cpu_type| cpu_type.idle_states.len() > 1);
        let kinds: [fn(&Machine) -> bool; 3] = [Machine::is_asymmetric, Machine::has_smt, has_deep_states];
        for kind in kinds {
            assert!((10..=30).contains(&made.iter().filter(|machine| kind(machine)).count()));
        }
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

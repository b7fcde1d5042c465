//! Machines written as TOML load back to the same object, and nothing that is read panics.

use fairground_machine::testing::{machine_from_seed, Shape, MAX_CPUS};
use fairground_machine::{preset_text, presets, CpuMask, Machine, ThermalGovernor};
use proptest::prelude::*;

use crate::strategy::machines;

fn reload(machine: &Machine) -> Machine {
    let text = machine.to_toml();
    Machine::from_toml("random.toml", &text).unwrap_or_else(|e| panic!("{:?}\n{text}", miette::Report::new(e)))
}

#[test]
fn symmetric_machines_round_trip_and_their_size_is_brought_into_range() {
    for (asked, given) in [(0, 1), (1, 1), (8, 8), (1024, 1024), (5000, 1024)] {
        let machine = Machine::symmetric(asked);
        assert_eq!(machine.nr_cpus(), given);
        assert_eq!(reload(&machine), machine);
    }
}

#[test]
fn a_type_whose_cpus_differ_in_capacity_round_trips() {
    let mut machine = Machine::symmetric(4);
    machine.cpus[1].capacity = 500;
    machine.cpus[3].capacity = 500;
    machine.restate_figures();
    assert!(machine.to_toml().contains(r#"rows = [["0,2", 1024], ["1,3", 500]]"#));
    assert_eq!(reload(&machine), machine);
}

#[test]
fn rails_votes_and_heat_round_trip() {
    let mut machine = Machine::preset("pixel6").unwrap();
    assert_eq!(reload(&machine), machine);
    machine.freq_domains[1].opps[0].model_mw = Some(30.5);
    machine.votes[0].voltage = vec![0; machine.freq_domains[1].opps.len()];
    let thermal = machine.thermal.as_mut().unwrap();
    thermal.zones[0].governor = ThermalGovernor::StepWise { trip_mc: 80_000, hysteresis_mc: 2_500 };
    thermal.zones[0].cools.push((1, 2.0));
    // A point whose model is not stated has one that tells the truth.
    machine.freq_domains[1].opps.iter_mut().skip(1).for_each(|o| o.model_mw = Some(o.active_mw));
    machine.restate_figures();
    let again = reload(&machine);
    for (a, b) in again.figures.iter().zip(&machine.figures) {
        assert_eq!(a, b);
    }
    assert_eq!(again, machine);
}

#[test]
fn seeds_reach_every_kind_of_machine() {
    let all: Vec<Machine> = (0..300).map(machine_from_seed).collect();
    let some = |f: fn(&Machine) -> bool| all.iter().any(f) && !all.iter().all(f);
    assert!(some(Machine::has_smt));
    assert!(some(Machine::is_asymmetric));
    assert!(some(|m| m.nodes.len() > 1));
    assert!(some(|m| m.packages.len() > 1));
    assert!(some(|m| m.llcs.len() > 1));
    assert!(some(|m| m.clusters[0].shares_cache));
    assert!(some(|m| m.nr_cpus() > 32));
    assert!(all.iter().all(|m| (1..=MAX_CPUS as usize).contains(&m.nr_cpus())));
}

#[test]
fn any_shape_is_cut_to_a_valid_machine() {
    let many = u32::MAX;
    let mut shape = Shape::from_seed(1);
    (shape.packages, shape.nodes, shape.llcs, shape.clusters) = (many, many, many, 0);
    (shape.cores, shape.threads, shape.types, shape.idle_states) = (many, many, many, many);
    reload(&shape.build());
}

proptest! {
    #[test]
    fn generated_machines_load_back_to_the_same_object(machine in machines()) {
        prop_assert_eq!(reload(&machine), machine);
    }

    #[test]
    fn every_cpu_is_in_the_groups_that_it_names(machine in machines()) {
        let find = |groups: &[CpuMask], cpu| groups.iter().position(|g| g.test(cpu)).map(|i| i as u32);
        for cpu in &machine.cpus {
            prop_assert_eq!(find(&machine.cores, cpu.id), Some(cpu.core));
            prop_assert_eq!(find(&machine.llcs, cpu.id), Some(cpu.llc));
            prop_assert_eq!(find(&machine.nodes, cpu.id), Some(cpu.node));
            prop_assert_eq!(find(&machine.packages, cpu.id), Some(cpu.package));
            prop_assert!(machine.clusters[cpu.cluster as usize].cpus.test(cpu.id));
            prop_assert!(machine.freq_domain_of(cpu.id).cpus.test(cpu.id));
        }
    }

    #[test]
    fn distance_is_symmetric_and_grows_with_within(machine in machines(), a in 0..64u32, b in 0..64u32) {
        let n = machine.nr_cpus() as u32;
        let (a, b) = (a % n, b % n);
        let distance = machine.distance(a, b);
        prop_assert_eq!(distance, machine.distance(b, a));
        prop_assert!(machine.cpus_within(a, distance).test(b));
        prop_assert!(machine.distances().contains(&distance));
    }

    #[test]
    fn arbitrary_text_is_refused_without_panic(text in any::<String>()) {
        prop_assert!(Machine::from_toml("x", &text).is_err());
    }

    #[test]
    fn arbitrary_bytes_are_refused_without_panic(bytes in any::<Vec<u8>>()) {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("bytes.toml");
        std::fs::write(&path, bytes)?;
        prop_assert!(Machine::load(&path).is_err());
    }

    /// Overwrites, deletes or inserts a few pieces of a good file: it loads or is refused, at a place within the text.
    #[test]
    fn damaged_presets_never_panic(
        which in 0..5usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..3usize, piece()), 1..4),
    ) {
        let name = presets().nth(which).unwrap_or("hikey");
        let mut lines: Vec<String> = preset_text(name).unwrap_or_default().lines().map(String::from).collect();
        for (at, how, piece) in damage {
            let at = at.index(lines.len());
            match how {
                0 => { lines.remove(at); }
                1 => lines.insert(at, piece),
                _ => lines[at] = replace_value(&lines[at], &piece),
            }
        }
        if let Err(error) = Machine::from_toml(name, &lines.join("\n")) {
            let names_file = error.to_string().starts_with(&format!("{name}:"));
            prop_assert!(names_file, "{}", error);
        }
    }
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| format!("{n:e}")),
        Just("[[0]]".to_string()),
        Just("[]".to_string()),
        Just("{}".to_string()),
        Just("\"0-1023\"".to_string()),
        Just("\"0 cores\"".to_string()),
        Just("\"3 é\"".to_string()),
        Just("nan".to_string()),
        Just("[cpu_type.x]".to_string()),
        "[ -~]{0,12}",
    ]
}

/// Puts `piece` where the value after the last ` = ` of a line begins.
fn replace_value(line: &str, piece: &str) -> String {
    match line.split_once(" = ") {
        Some((key, rest)) => match rest.split_once(',') {
            Some((head, tail)) if head.contains('=') => {
                format!("{key} = {} = {piece},{tail}", head.split('=').next().unwrap_or(""))
            }
            _ => format!("{key} = {piece}"),
        },
        None => piece.to_string(),
    }
}

//! Scores in points: phases score by the rates of the threads that did their work.

use fairground_sim::RunMetrics;
use fairground_workload::{Phase, PhaseId, Points, Section};

use super::Entries;

/// The phases of a score with their numbers, section by section.
fn numbered(points: &Points) -> Vec<(&Section, Vec<(PhaseId, &Phase)>)> {
    let mut next = 0..;
    points.sections.iter().map(|s| (s, next.by_ref().zip(&s.phases).collect())).collect()
}

/// The figures of such a score: the whole, its sections, its phases.
pub(super) fn add(list: &mut Entries, points: &Points) {
    let whole = points.clone();
    let meaning = "points: weighted mean of the sections";
    list.add("score", "points", meaning, move |m| total_points(&whole, m)).usual().higher_is_better();
    for (section, phases) in numbered(points) {
        let full_speed = points.full_speed;
        let owned: Vec<(PhaseId, Phase)> = phases.iter().map(|(id, phase)| (*id, (*phase).clone())).collect();
        let meaning = format!("points of the section {}: geometric mean of its phases", section.name);
        let read = move |m: &RunMetrics| section_points(full_speed, owned.iter().map(|(id, phase)| (*id, phase)), m);
        list.add(&format!("score_{}", section.name), "points", &meaning, read).usual().higher_is_better();
    }
    for (id, phase) in numbered(points).into_iter().flat_map(|(_, phases)| phases) {
        let (full_speed, own) = (points.full_speed, phase.clone());
        let meaning = format!("points of {}", phase.name);
        let read = move |m: &RunMetrics| phase_points(full_speed, id, &own, m);
        list.add(&format!("score_{}", phase.name), "points", &meaning, read).higher_is_better();
    }
}

/// The notes beside such a score.
pub(super) fn notes(points: &Points, run: &RunMetrics) -> Vec<String> {
    let mut notes = Vec::new();
    if points.parts > 1 {
        notes.push(format!("scale: 1/{} of each phase's work is done; points are of work per time", points.parts));
    }
    let phases = numbered(points).into_iter().flat_map(|(_, phases)| phases);
    let missing: Vec<&str> =
        phases.filter(|(id, _)| rate_of(*id, run) == 0.0).map(|(_, phase)| phase.name.as_str()).collect();
    if let Some(first) = missing.first() {
        notes.push(format!("{} phases ended outside of the measured part of the run, {first} first", missing.len()));
    }
    notes
}

fn rate_of(id: PhaseId, run: &RunMetrics) -> f64 {
    run.phase_rates.get(id as usize).copied().unwrap_or(0.0)
}

/// Points of a phase: its work per time. A CPU at full speed makes `full_speed` thousandths of a point.
fn phase_points(full_speed: u64, id: PhaseId, phase: &Phase, run: &RunMetrics) -> f64 {
    rate_of(id, run) * (phase.work_ns as f64 / 1e9) * (full_speed as f64 / 1e3)
}

fn section_points<'a>(full_speed: u64, phases: impl Iterator<Item = (PhaseId, &'a Phase)>, run: &RunMetrics) -> f64 {
    let of_phases: Vec<f64> = phases.map(|(id, phase)| phase_points(full_speed, id, phase, run)).collect();
    geometric_mean(&of_phases)
}

fn total_points(points: &Points, run: &RunMetrics) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (section, phases) in numbered(points) {
        sum += f64::from(section.weight) * section_points(points.full_speed, phases.into_iter(), run);
        weights += f64::from(section.weight);
    }
    sum / weights
}

/// Most rounds of Newton's method: any mean is found within these.
const NEWTON_ROUNDS_MAX: u32 = 10_000;

/// The n-th root of the product of n values; 0 if one is 0. With operations that IEEE 754 defines to the bit: a
/// logarithm may differ between systems. The product is of values near 1. From above the root, which is at most 1 (the
/// geometric mean is at most the arithmetic), Newton's method only falls, until rounding ends it.
fn geometric_mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.iter().any(|v| *v <= 0.0) {
        return 0.0;
    }
    let product: f64 = values.iter().map(|v| v / mean).product();
    let mut root = 1.0;
    for _ in 0..NEWTON_ROUNDS_MAX {
        let power: f64 = values.iter().skip(1).map(|_| root).product();
        let next = ((n - 1.0) * root + product / power) / n;
        if next >= root {
            break;
        }
        root = next;
    }
    root * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, work_ns: u64) -> Phase {
        Phase { name: name.into(), work_ns }
    }

    /// A section of one phase and one of two, weights 1 and 3, 1000 points.
    fn score(parts: u32) -> Points {
        let section = |name: &str, weight, phases| Section { name: name.into(), weight, phases };
        let sections = vec![
            section("crypto", 1, vec![phase("aes", 500_000_000)]),
            section("integer", 3, vec![phase("clang", 1_000_000_000), phase("camera", 2_000_000_000)]),
        ];
        Points { full_speed: 1_000_000, parts, sections }
    }

    fn figures(points: &Points, run: &RunMetrics) -> Vec<(String, f64)> {
        let mut list = Entries(Vec::new());
        add(&mut list, points);
        assert!(list.0.iter().all(|e| e.metric.better.sign() > 0.0));
        list.0.iter().filter_map(|e| Some((e.metric.name.clone(), (e.read)(run)?))).collect()
    }

    /// aes: half a second of work at rates that sum to 3/s: 1.5 CPUs at full speed, 1500 points.
    /// clang: 1 s at 2/s, 2000. camera: 2 s at 0.25/s, 500. sqrt(2000 x 500) = 1000; (1 x 1500 + 3 x 1000) / 4 = 1125.
    #[test]
    fn points_are_rates_then_geometric_means_then_weighted() {
        let run = RunMetrics { phase_rates: vec![3.0, 2.0, 0.25], ..RunMetrics::default() };
        let expected = [
            ("score", 1125.0),
            ("score_crypto", 1500.0),
            ("score_integer", 1000.0),
            ("score_aes", 1500.0),
            ("score_clang", 2000.0),
            ("score_camera", 500.0),
        ];
        for ((name, value), (expected_name, expected)) in figures(&score(1), &run).iter().zip(expected) {
            assert_eq!(name, expected_name);
            assert!((value - expected).abs() < 1e-9, "{name}: {value}");
        }
        assert!(notes(&score(1), &run).is_empty());
    }

    #[test]
    fn a_phase_that_never_ended_and_a_part_of_the_work_are_named() {
        let run = RunMetrics { phase_rates: vec![3.0, 2.0], ..RunMetrics::default() };
        assert_eq!(figures(&score(1), &run)[2], ("score_integer".to_string(), 0.0));
        let said = notes(&score(4), &run);
        assert!(said[0].starts_with("scale: 1/4") && said[1].contains("1 phases ended outside"), "{said:?}");
        assert!(said[1].ends_with("camera first"));
    }

    /// Exponents -4, -3, ..., 6 have the mean 1.
    #[test]
    fn geometric_means_hold_over_many_magnitudes() {
        let mut values = vec![1e-4];
        (1..11).for_each(|i| values.push(values[i - 1] * 10.0));
        assert!((geometric_mean(&values) / 10.0 - 1.0).abs() < 1e-12, "{}", geometric_mean(&values));
        assert_eq!(geometric_mean(&[7.0]), 7.0);
        assert_eq!(geometric_mean(&[7.0, 0.0]), 0.0);
    }
}

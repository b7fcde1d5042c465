//! Utilization floors in force on each CPU, described as mail 003 does: each time the signal of a run queue enters a
//! new period counts once.

use fairground_machine::Machine;
use fairground_sim::RunMetrics;
use fairground_trace::uclamp::Values;

use super::Entries;

/// A figure of the values: its part of the metric's name, its description, and how it is computed.
type Figure = (&'static str, &'static str, fn(&Values) -> f64);

const FIGURES: [Figure; 7] = [
    ("mean", "mean", Values::mean),
    ("std", "standard deviation", |v| v.std().unwrap_or(0.0)),
    ("min", "least", |v| v.quartile(0)),
    ("p25", "lower quartile", |v| v.quartile(1)),
    ("p50", "median", |v| v.quartile(2)),
    ("p75", "upper quartile", |v| v.quartile(3)),
    ("max", "greatest", |v| v.quartile(4)),
];

/// Adds the figures of the floors of each CPU. If no floor was reported, as by a kernel, only their number, 0, is
/// reported.
pub(super) fn add(list: &mut Entries, machine: &Machine) {
    for cpu in 0..machine.nr_cpus() {
        let values = move |m: &RunMetrics| -> Option<Values> {
            let floors = m.floors.get(cpu).filter(|floors| !floors.is_empty())?;
            Some(floors.iter().map(|(floor, n)| (u32::from(*floor), *n)).collect())
        };
        let count = format!("CPU {cpu}: number of reports of the floor in force");
        list.add(&format!("uclamp_min_count_cpu{cpu}"), "count", &count, move |m| {
            values(m).map_or(0.0, |v| v.count() as f64)
        });
        for (part, words, figure) in FIGURES {
            let meaning = format!("CPU {cpu}: floor of utilization in force: {words}");
            let read = move |m: &RunMetrics| Some(figure(&values(m)?));
            // Neither direction is better; with this one, a change has the sign of the figure's.
            list.add_of_samples(&format!("uclamp_min_{part}_cpu{cpu}"), "of 1024", &meaning, read).higher_is_better();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPU 1: 0 three times, 512 once: mean 128, deviation 256; positions 0, 0.75, 1.5, 2.25, 3.
    #[test]
    fn floors_are_described_by_cpu() {
        let floors = vec![Default::default(), [(0, 3), (512, 1)].into_iter().collect()];
        let run = RunMetrics { floors, ..RunMetrics::default() };
        let mut list = Entries(Vec::new());
        add(&mut list, &Machine::symmetric(2));
        let figures = |cpu: &str| -> Vec<f64> {
            list.0.iter().filter(|e| e.metric.name.ends_with(cpu)).filter_map(|e| (e.read)(&run)).collect()
        };
        assert_eq!(figures("_cpu1"), [4.0, 128.0, 256.0, 0.0, 0.0, 0.0, 128.0, 512.0]);
        assert_eq!(figures("_cpu0"), [0.0], "no floor was reported");
    }
}

//! Warnings about figures that are far from those of the presets.
//!
//! A figure is compared with the figures of its class in all presets: those with the same path, names and lists of CPUs
//! taken out. What depends on the size of a thing is compared by a ratio that does not:
//!
//! | figures | compared by |
//! |---|---|
//! | `costs.soft` | clocks of the fastest CPU; the file's value, before `costs.scale`, which is compared by itself |
//! | OPPs | mW for each MHz at the top clock |
//! | cluster power | share of the power of its CPUs at their top clocks |
//! | idle `entry`, `wake`, `residency` | by the exit latency that the kernel is told, which is not compared: firmware's differ widely |
//! | idle power | share of the power of a CPU that runs at its lowest clock; apart: the first state, deeper ones of a CPU, those of a cluster |
//! | idle transitions | share of the energy of a CPU that runs at its top clock for as long as entry and wake take |
//!
//! Not compared: polling states; capacities and efficiencies, which are relative within a machine; idle power of clusters, which is
//! compared with their active power; sizes of caches, which differ a hundredfold by design; thermal figures, which too few presets have; figures of 0.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::{presets, Costs, Distance, FitParam, FreqDomain, IdleScope, Machine, SoftCost};

use super::Warnings;

/// A figure this many times its median, or one part in so many of it, is odd.
const TIMES: f64 = 10.0;

/// A median of fewer presets says nothing.
const PRESETS_MIN: usize = 3;

/// All presets that load, which is all of them.
pub(super) static PRESETS: LazyLock<Vec<Machine>> =
    LazyLock::new(|| presets().filter_map(|name| Machine::preset(name).ok()).collect());

static MEDIANS: LazyLock<BTreeMap<String, Median>> = LazyLock::new(|| medians(&PRESETS));

/// A class of figures in the presets.
struct Median {
    value: f64,
    presets: usize,
}

/// A figure as it is compared.
struct Sample {
    /// Path without names and lists of CPUs.
    class: String,
    /// Path, as in [`crate::Figure::path`].
    key: String,
    value: f64,
    /// What follows the value in messages.
    unit: &'static str,
    /// The operating points by whose power the value is divided, as a path. If those are odd, this says nothing.
    by: Option<String>,
}

fn medians(machines: &[Machine]) -> BTreeMap<String, Median> {
    let mut classes: BTreeMap<String, (Vec<f64>, BTreeSet<usize>)> = BTreeMap::new();
    for (i, machine) in machines.iter().enumerate() {
        for sample in samples(machine) {
            let (values, of) = classes.entry(sample.class).or_default();
            values.push(sample.value);
            of.insert(i);
        }
    }
    classes
        .into_iter()
        .map(|(class, (values, of))| (class, Median { value: median(values), presets: of.len() }))
        .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

impl Machine {
    /// Warns of figures that are more than [`TIMES`] times, or less than one part in [`TIMES`] of, the median of their
    /// class over the presets.
    pub(super) fn check_plausible(&self, found: &mut Warnings) {
        for Sample { class, key, value, unit, by } in samples(self) {
            if by.is_some_and(|by| found.0.iter().any(|warning| warning.key == by)) {
                continue;
            }
            let Some(Median { value: median, presets }) = MEDIANS.get(&class) else { continue };
            let (least, most) = (median / TIMES, median * TIMES);
            if *presets < PRESETS_MIN || (least..=most).contains(&value) {
                continue;
            }
            let off = match value > *median {
                true => format!("{} times", digits(value / median)),
                false => format!("1/{} of", digits(median / value)),
            };
            let [value, median, least, most] = [value, *median, least, most].map(digits);
            found.add(
                key,
                format!(
                    "{value}{unit}, {off} the median of {presets} presets ({median}); expected {least} to {most}{unit}"
                ),
            );
        }
    }
}

/// Three digits, or all of a whole number that has more.
pub(super) fn digits(x: f64) -> String {
    match x {
        _ if x >= 100.0 => format!("{x:.0}"),
        _ => format!("{x:.2e}").parse().map_or_else(|_| x.to_string(), |x: f64| x.to_string()),
    }
}

/// The figures above 0 that can be compared, of those that the machine's file states.
fn samples(machine: &Machine) -> Vec<Sample> {
    let mut all = Vec::new();
    clocks(machine, &mut all);
    clusters(machine, &mut all);
    idle_states(machine, &mut all);
    caches(machine, &mut all);
    costs(machine, &mut all);
    let stated: BTreeSet<&str> = machine.figures.iter().map(|figure| figure.path.as_str()).collect();
    all.retain(|sample| sample.value > 0.0 && sample.value.is_finite() && stated.contains(sample.key.as_str()));
    all
}

/// Frequency, kHz, and power, mW, of the highest operating point.
fn top(domain: &FreqDomain) -> (f64, f64) {
    domain.opps.last().map_or((0.0, 0.0), |opp| (f64::from(opp.khz), opp.active_mw))
}

fn clocks(machine: &Machine, all: &mut Vec<Sample>) {
    for domain in &machine.freq_domains {
        let (khz, mw) = top(domain);
        let mut add = |name: &str, value: f64, unit| {
            let (class, key) = (format!("freq_domain.{name}"), format!("freq_domain[{}].{name}", domain.cpus));
            all.push(Sample { class, key, value, unit, by: None });
        };
        add("transition", domain.transition_ns as f64, " ns");
        add("opps", mw / (khz / 1e3), " mW/MHz at the top clock");
    }
}

fn clusters(machine: &Machine, all: &mut Vec<Sample>) {
    for cluster in &machine.clusters {
        let top_mw: f64 = cluster.cpus.iter().map(|cpu| top(machine.freq_domain_of(cpu)).1).sum();
        all.push(Sample {
            class: "cluster.active".into(),
            key: format!("cluster[{}].active", cluster.cpus),
            value: cluster.active_mw / top_mw,
            unit: " of the power of its CPUs at their top clocks",
            by: cluster.cpus.first().map(|cpu| opps_path(machine.freq_domain_of(cpu))),
        });
    }
}

fn opps_path(domain: &FreqDomain) -> String {
    format!("freq_domain[{}].opps", domain.cpus)
}

fn costs(machine: &Machine, all: &mut Vec<Sample>) {
    let costs = &machine.costs;
    let mut add =
        |path: String, value: f64, unit| all.push(Sample { class: path.clone(), key: path, value, unit, by: None });
    add("costs.scale".into(), costs.scale, "");
    add("costs.jitter".into(), costs.jitter, "");
    add("costs.link".into(), costs.link_gb_per_s.unwrap_or(0.0), " GB/s");
    let ghz = fastest_ghz(machine);
    for kind in SoftCost::variants() {
        add(format!("costs.soft.{}", kind.name()), stated_ns(costs, kind) * ghz, " clocks of the fastest CPU");
    }
    let tables = [
        ("ipi", &costs.ipi_ns),
        ("line", &costs.line_ns),
        ("message", &costs.message_ns),
        ("refill_kib", &costs.refill_kib_ns),
    ];
    for (name, table) in tables {
        for distance in machine.distances() {
            add(format!("costs.{name}.{}", distance.name()), table[distance as usize] as f64, " ns");
        }
    }
}

/// The top clock of the CPU of the greatest capacity, whose time software costs are.
fn fastest_ghz(machine: &Machine) -> f64 {
    let fastest = machine.cpus.iter().max_by_key(|cpu| cpu.capacity);
    fastest.map_or(0.0, |cpu| top(machine.freq_domain_of(cpu.id)).0 / 1e6)
}

/// A price as the file states it, before the scale.
pub(super) fn stated_ns(costs: &Costs, kind: SoftCost) -> f64 {
    if kind.is_scaled() {
        costs.fit_value(FitParam::Soft(kind))
    } else {
        costs.soft(kind)
    }
}

fn caches(machine: &Machine, all: &mut Vec<Sample>) {
    let Some(caches) = &machine.caches else { return };
    let mut add = |class: &str, key: String, value: f64, unit| {
        all.push(Sample { class: class.into(), key, value, unit, by: None })
    };
    for cache in &caches.all {
        add("cache.refill_kib", format!("cache[{}].refill_kib", cache.cpus), cache.refill_kib_ns as f64, " ns");
    }
    add("refill.modified", "refill.modified".into(), caches.modified, "");
    for distance in machine.distances().into_iter().chain([Distance::Node]).filter(|d| *d >= Distance::Node) {
        let path = format!("refill.memory_kib.{}", distance.name());
        add(&path, path.clone(), caches.memory_kib(distance) as f64, " ns");
    }
}

fn idle_states(machine: &Machine, all: &mut Vec<Sample>) {
    for (i, cpu_type) in machine.cpu_types.iter().enumerate() {
        let Some(cpu) = machine.cpus.iter().find(|cpu| cpu.cpu_type == i as u32) else { continue };
        let domain = machine.freq_domain_of(cpu.id);
        let lowest_mw = domain.opps.first().map_or(0.0, |opp| opp.active_mw);
        let (_, top_mw) = top(domain);
        let mut first = true;
        for state in cpu_type.idle_states.iter().filter(|state| !state.polling) {
            let depth = match state.scope {
                IdleScope::Cluster => "cluster",
                IdleScope::Cpu if first => "first",
                IdleScope::Cpu => "deeper",
            };
            first = false;
            let mut add = |name: &str, class: String, value: f64, unit, by| {
                let key = format!("cpu_type.{}.idle.{}.{name}", cpu_type.name, state.name);
                all.push(Sample { class: format!("cpu_type.idle.{class}"), key, value, unit, by });
            };
            let times = [("entry", state.entry_ns), ("wake", state.wake_ns), ("residency", state.target_residency_ns)];
            // Of states that a CPU enters by itself the kernel is told nothing.
            let told = cpu_type.cpuidle || depth == "first";
            for (name, ns) in times.into_iter().filter(|_| told) {
                let share = ns as f64 / state.exit_latency_ns as f64;
                add(name, name.into(), share, " of the exit latency", None);
            }
            let opps = || Some(opps_path(domain));
            let lowest = " of the power at the lowest clock";
            add("power", format!("power, {depth}"), state.power_mw / lowest_mw, lowest, opps());
            // mW x ns are 1e-6 uJ.
            let running_uj = top_mw * (state.entry_ns + state.wake_ns) as f64 * 1e-6;
            let share = " of the energy of running at the top clock through entry and wake";
            add("transition", format!("transition, {depth}"), state.transition_uj / running_uj, share, opps());
        }
    }
}

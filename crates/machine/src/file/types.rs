//! `[cpu_type.NAME]`: capacity, SMT throughput and idle states of a kind of core.

use crate::error::{FileError, FileResult};
use crate::suggest;
use crate::{CpuMask, CpuType, IdleScope, IdleState, WAKE_SCATTER_MAX};

use super::clocks::Clocks;
use super::figure::{Fit, CAPACITY, EFFICIENCY, ENERGY, FACTOR, POWER};
use super::groups::Levels;
use super::node::{Fields, Node};

/// Core types, and the type and capacity of each CPU.
pub(super) struct Types {
    pub types: Vec<CpuType>,
    pub of: Vec<u32>,
    pub capacities: Vec<u32>,
}

/// How a type states its capacity.
enum Strength {
    /// capacity-dmips-mhz; capacity follows from the top frequency.
    Efficiency(f64),
    /// Given, by groups of CPUs.
    Capacity(Vec<(u32, CpuMask)>),
}

pub(super) fn read(node: &Node, levels: &Levels, clocks: &Clocks) -> FileResult<Types> {
    let mut types = Vec::new();
    let mut groups = Vec::new();
    let mut strengths = Vec::new();
    for (name, entry) in node.entries()? {
        let fields = entry.table(&["cpus", "capacity", "efficiency", "smt_throughput", "cpuidle", "idle"])?;
        let cpus_node = fields.need("cpus")?;
        let cpus = levels.cpus(&cpus_node)?;
        strengths.push((read_strength(&fields, levels, &cpus)?, cpus, entry.clone()));
        let smt_throughput = read_smt(&fields, threads_of(levels, &cpus))?;
        let cpuidle = fields.get("cpuidle").map_or(Ok(true), |node| node.boolean())?;
        let idle_states = read_idle_states(&fields.need("idle")?, cpuidle)?;
        types.push(CpuType { name: name.to_string(), idle_states, cpuidle, smt_throughput });
        groups.push((cpus, cpus_node));
    }
    let level = levels.partition("cpu_type", groups, node)?;
    levels.require_within(levels.level("core"), &level, node)?;
    let capacities = capacities(&strengths, levels, clocks, node)?;
    Ok(Types { types, of: level.of, capacities })
}

/// The most threads of a core among `cpus`.
fn threads_of(levels: &Levels, cpus: &CpuMask) -> usize {
    let cores = levels.level("core").groups.iter().filter(|core| core.intersects(cpus));
    cores.map(CpuMask::count).max().unwrap_or(1)
}

fn read_strength(fields: &Fields, levels: &Levels, cpus: &CpuMask) -> FileResult<Strength> {
    let path = |key: &str| format!("{}.{key}", fields.table.path);
    match (fields.get("efficiency"), fields.get("capacity")) {
        (Some(node), None) => Ok(Strength::Efficiency(node.figure(&EFFICIENCY, path("efficiency"), Fit::Never)?)),
        (None, Some(node)) => Ok(Strength::Capacity(read_capacity(&node, path("capacity"), levels, cpus)?)),
        (Some(_), Some(node)) => {
            Err(node.fault_at_key("both `capacity` and `efficiency`").hint("state one; efficiency implies capacity"))
        }
        (None, None) => Err(fields
            .table
            .fault_at_key("neither `capacity` nor `efficiency`")
            .hint("expected `efficiency = { dmips_per_mhz = N, ... }` or `capacity = { of_1024 = N, ... }`")),
    }
}

/// `{ of_1024 = 462, ... }`, or `{ rows = [["0-3", 400], ["4-7", 462]], ... }` where the CPUs of a type differ.
fn read_capacity(node: &Node, path: String, levels: &Levels, cpus: &CpuMask) -> FileResult<Vec<(u32, CpuMask)>> {
    if !node.entries()?.iter().any(|(key, _)| *key == "rows") {
        let value = node.figure(&CAPACITY, path, Fit::Never)?;
        if value < 1.0 || value.fract() != 0.0 {
            return Err(node.fault(format!("a capacity of {value}")).hint("expected a whole number, 1 to 1024"));
        }
        return Ok(vec![(value as u32, *cpus)]);
    }
    let mut rows = Vec::new();
    let mut rest = *cpus;
    for row in node.table(&["rows", "source"])?.need("rows")?.elements()? {
        let [group, capacity] = &row.elements()?[..] else {
            return Err(row.fault("not a pair of CPUs and capacity").hint(r#"expected e.g. ["0-3", 462]"#));
        };
        let mask = levels.cpus(group)?;
        if !mask.is_subset(&rest) {
            let fault = group.fault(format!("{} not of this type, or named twice", mask.minus(&rest)));
            return Err(fault.hint(format!("expected CPUs of {cpus}, each once")));
        }
        rest = rest.minus(&mask);
        rows.push((capacity.integer(1, 1024)?, mask));
    }
    if let Some(cpu) = rest.first() {
        return Err(node.fault(format!("CPU {cpu} has no capacity")).hint(format!("expected all CPUs of {cpus}")));
    }
    node.record(path, show_capacities(&rows), Fit::Never)?;
    Ok(rows)
}

/// Capacities by CPU as reports show them.
pub(super) fn show_capacities(rows: &[(u32, CpuMask)]) -> String {
    rows.iter().map(|(capacity, cpus)| format!("{cpus}: {capacity} of_1024")).collect::<Vec<_>>().join(", ")
}

/// Capacity from efficiency x fmax, normalised so that the largest, `top`, is 1024; rounded down as
/// drivers/base/arch_topology.c does.
pub(super) fn capacity_from(raw: f64, top: f64) -> u32 {
    (raw * 1024.0 / top) as u32
}

/// Capacity of each CPU.
fn capacities(
    strengths: &[(Strength, CpuMask, Node)],
    levels: &Levels,
    clocks: &Clocks,
    node: &Node,
) -> FileResult<Vec<u32>> {
    let mut top: f64 = 0.0;
    for (strength, cpus, _) in strengths {
        if let Strength::Efficiency(dmips) = strength {
            let fastest = clocks.max_khz_of(cpus).into_iter().max().unwrap_or(0);
            top = top.max(dmips * f64::from(fastest));
        }
    }
    let mut capacities = vec![0; levels.n_cpus];
    for (strength, cpus, place) in strengths {
        for cpu in cpus.iter().map(|c| c as usize) {
            capacities[cpu] = match strength {
                Strength::Efficiency(dmips) => capacity_from(dmips * f64::from(clocks.max_khz(cpu)), top),
                Strength::Capacity(rows) => {
                    rows.iter().find(|(_, group)| group.test(cpu as u32)).map_or(0, |(capacity, _)| *capacity)
                }
            };
            if capacities[cpu] == 0 {
                return Err(zero_capacity(place, cpu));
            }
        }
    }
    match capacities.iter().max() {
        Some(1024) => Ok(capacities),
        most => Err(node
            .fault(format!("the largest capacity is {}", most.unwrap_or(&0)))
            .hint("the strongest CPU has 1024; the others are stated relative to it")),
    }
}

fn zero_capacity(place: &Node, cpu: usize) -> Box<FileError> {
    place.fault_at_key(format!("CPU {cpu} has zero capacity")).hint("every CPU has a capacity of at least 1 of 1024")
}

/// `smt_throughput = { ratio = [1.0, 1.25], source = "..." }`, needed where cores have several threads.
fn read_smt(fields: &Fields, threads: usize) -> FileResult<Vec<u32>> {
    let Some(node) = fields.get("smt_throughput") else {
        return match threads {
            1 => Ok(vec![1000]),
            _ => Err(fields.table.fault("missing key `smt_throughput`").hint(format!(
                "cores of this type have {threads} threads: expected `smt_throughput = {{ ratio = [1.0, ...], source = ... }}`"
            ))),
        };
    };
    let ratio = node.table(&["ratio", "source", "spread"])?.need("ratio")?;
    let path = format!("{}.smt_throughput", fields.table.path);
    // One thread has 1 by definition: the magnitude is what the others add.
    let factor = node.file.perturbation_factor(&path);
    let mut permille: Vec<u32> = Vec::new();
    for cell in ratio.elements()? {
        let (value, written) = cell.number()?;
        let turned = (1000.0 + (value - 1.0) * 1000.0 * factor).round();
        let value = if node.file.drawn.is_some() { turned.min(16_000.0) } else { turned };
        let least = f64::from(permille.last().copied().unwrap_or(1000));
        if value < least || value > 16_000.0 || (permille.is_empty() && value != 1000.0) {
            let fault = cell.fault(format!("a throughput of {written} out of order"));
            return Err(fault.hint("expected 1.0 for one busy thread, then values that do not fall, up to 16"));
        }
        permille.push(value as u32);
    }
    if permille.len() != threads {
        let problem = format!("{} throughputs for {threads} threads", permille.len());
        return Err(ratio.fault(problem).hint("expected one value per busy thread of a core"));
    }
    node.record(path, show_smt(&permille), Fit::Never)?;
    Ok(permille)
}

/// SMT throughputs as reports show them.
pub(super) fn show_smt(permille: &[u32]) -> String {
    permille.iter().map(|p| (f64::from(*p) / 1000.0).to_string()).collect::<Vec<_>>().join(" ")
}

/// Reads `idle.NAME` tables, shallowest first. `cpuidle`: whether a driver drives them.
fn read_idle_states(node: &Node, cpuidle: bool) -> FileResult<Vec<IdleState>> {
    let mut states: Vec<IdleState> = Vec::new();
    let mut first_power = [0.0; 2];
    for (name, entry) in node.entries()? {
        let mut state = read_idle_state(name, &entry)?;
        match states.last() {
            Some(last) if cpuidle => require_deeper(&state, last, &entry)?,
            Some(last) => {
                require_later(&state, last, &entry, first_power)?;
                // In a draw, too.
                (state.power_mw, state.transition_uj) = (last.power_mw, last.transition_uj);
            }
            None if state.scope == IdleScope::Cluster => {
                return Err(entry
                    .fault_at_key("the first idle state is one of the cluster")
                    .hint("expected a state of the CPU alone first: it holds until the whole cluster is idle"));
            }
            None => first_power = stated_power(&entry)?,
        }
        states.push(state);
    }
    if states.is_empty() {
        return Err(node.fault("no idle state").hint("every CPU can stop somehow; state at least WFI, HLT or POLL"));
    }
    Ok(states)
}

const IDLE_KEYS: [&str; 12] = [
    "scope",
    "polling",
    "keeps_cache",
    "entry",
    "wake",
    "wake_scatter",
    "late",
    "late_share",
    "exit_latency",
    "residency",
    "power",
    "transition",
];

/// `power` and `transition` of an idle state as the file states them.
fn stated_power(entry: &Node) -> FileResult<[f64; 2]> {
    let fields = entry.table(&IDLE_KEYS)?;
    Ok([fields.need("power")?.stated(&POWER)?, fields.need("transition")?.stated(&ENERGY)?])
}

fn read_idle_state(name: &str, entry: &Node) -> FileResult<IdleState> {
    let fields = entry.table(&IDLE_KEYS)?;
    let path = |key: &str| format!("{}.{key}", entry.path);
    let time = |key: &str| fields.need(key)?.time(path(key));
    let (entry_ns, told_entry_ns) = read_idle_time(&fields.need("entry")?, path("entry"))?;
    let (wake_ns, told_wake_ns) = read_idle_time(&fields.need("wake")?, path("wake"))?;
    let wake_scatter = read_scatter(&fields, path("wake_scatter"))?;
    let (late_ns, late_share) = read_late(entry, &fields)?;
    let exit_latency_ns = match fields.get("exit_latency") {
        Some(node) => node.time(path("exit_latency"))?,
        None => told_entry_ns + told_wake_ns,
    };
    let target_residency_ns = time("residency")?;
    let scope = fields.get("scope").map_or(Ok(IdleScope::Cpu), |node| read_scope(&node))?;
    Ok(IdleState {
        name: name.to_string(),
        scope,
        entry_ns,
        wake_ns,
        wake_scatter,
        late_ns,
        late_share,
        exit_latency_ns,
        target_residency_ns,
        power_mw: fields.need("power")?.figure(&POWER, path("power"), Fit::Never)?,
        transition_uj: fields.need("transition")?.figure(&ENERGY, path("transition"), Fit::Never)?,
        polling: fields.get("polling").map_or(Ok(false), |node| node.boolean())?,
        keeps_cache: fields.get("keeps_cache").map_or(Ok(true), |node| node.boolean())?,
    })
}

/// `wake_scatter`, 1 if it is left out.
fn read_scatter(fields: &Fields, path: String) -> FileResult<f64> {
    let Some(node) = fields.get("wake_scatter") else { return Ok(1.0) };
    let scatter = node.figure_within(&FACTOR, path, Fit::Never, 1.0..=WAKE_SCATTER_MAX)?;
    if !(1.0..=WAKE_SCATTER_MAX).contains(&scatter) {
        let hint = format!("expected a factor, 1 (all wakes take the same) to {WAKE_SCATTER_MAX}");
        return Err(node.fault(format!("a scatter of {scatter}")).hint(hint));
    }
    Ok(scatter)
}

/// `late` and `late_share`, both or none of them: 0 and 0.
fn read_late(entry: &Node, fields: &Fields) -> FileResult<(u64, f64)> {
    let path = |key: &str| format!("{}.{key}", entry.path);
    let (late, share) = match (fields.get("late"), fields.get("late_share")) {
        (None, None) => return Ok((0, 0.0)),
        (Some(late), Some(share)) => (late, share),
        (Some(node), None) | (None, Some(node)) => {
            let hint = "`late` is by how much, `late_share` which part of the wakes by other CPUs: state both";
            return Err(node.fault_at_key("one of `late` and `late_share` alone").hint(hint));
        }
    };
    let late_ns = late.time(path("late"))?;
    let part = share.figure_within(&FACTOR, path("late_share"), Fit::Never, 0.0..=1.0)?;
    if part > 1.0 {
        return Err(share.fault(format!("a share of {part}")).hint("expected 0 to 1, the part of the wakes"));
    }
    Ok((late_ns, part))
}

/// The time that passes, and the one that the file states, of which the kernel is told: in a draw they differ.
fn read_idle_time(node: &Node, path: String) -> FileResult<(u64, u64)> {
    let stated_ns = node.stated_time(&path)?;
    Ok((node.time(path)?, stated_ns))
}

fn read_scope(node: &Node) -> FileResult<IdleScope> {
    match node.text()? {
        "cpu" => Ok(IdleScope::Cpu),
        "cluster" => Ok(IdleScope::Cluster),
        other => Err(node.fault(format!("unknown scope `{other}`")).hint(suggest(other, ["cpu", "cluster"]))),
    }
}

/// Without a driver the CPU goes from state to state by itself, as it sleeps, and nobody knows what it draws there.
fn require_later(state: &IdleState, last: &IdleState, entry: &Node, first_power: [f64; 2]) -> FileResult<()> {
    let residencies = (last.target_residency_ns, state.target_residency_ns);
    let (wrong, hint) = if state.scope == IdleScope::Cluster {
        ("is one of the cluster".to_owned(), "expected scope cpu: each CPU goes there by itself")
    } else if state.polling || last.polling {
        ("polls, or follows one that does".to_owned(), "expected no polling state beside others")
    } else if residencies.1 <= residencies.0 {
        let wrong = format!("has residency {} ns after {} ns", residencies.1, residencies.0);
        (wrong, "expected a longer one: it is the time after which the CPU is in the state")
    } else if stated_power(entry)? != first_power {
        ("draws another power than the first".to_owned(), "expected the same `power` and `transition` in all states")
    } else {
        return Ok(());
    };
    Err(entry.fault_at_key(format!("without a cpuidle driver, the state {wrong}")).hint(hint))
}

/// A later state costs at least as much to leave, pays after at least as long, and needs at least as many CPUs.
fn require_deeper(state: &IdleState, last: &IdleState, entry: &Node) -> FileResult<()> {
    let wrong = if state.exit_latency_ns < last.exit_latency_ns {
        format!("exit latency {} ns after {} ns", state.exit_latency_ns, last.exit_latency_ns)
    } else if state.target_residency_ns < last.target_residency_ns {
        format!("residency {} ns after {} ns", state.target_residency_ns, last.target_residency_ns)
    } else if state.scope == IdleScope::Cpu && last.scope == IdleScope::Cluster {
        format!("a state of the CPU alone after `{}` of the cluster", last.name)
    } else {
        return Ok(());
    };
    Err(entry
        .fault_at_key(format!("idle states out of order: {wrong}"))
        .hint(format!("expected the shallowest first; `{}` comes before `{}`", last.name, state.name)))
}

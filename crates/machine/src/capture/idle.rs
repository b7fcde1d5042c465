//! cpuidle: the states of each CPU as the kernel sees them.

use crate::CpuMask;

use super::cpus::Cpus;
use super::tree::Tree;
use super::{CaptureError, Notes};

/// An hour, us: the longest time that a machine file can state.
pub(super) const MAX_US: i64 = 3_600_000_000;

/// An idle state of a CPU.
#[derive(Clone, PartialEq)]
pub(super) struct State {
    pub name: String,
    /// What the driver says of it; empty if nothing.
    pub desc: String,
    pub exit_latency_us: u64,
    pub residency_us: u64,
    /// Which of `latency` and `residency` the tree lacks: the lender's stand for them.
    pub lacks: Lacks,
    /// Time to get in and time to get out, us, where the tree states both.
    pub entry_and_wake_us: Option<(u64, u64)>,
    pub is_polling: bool,
    /// Whether the cluster enters it. sysfs does not say; the name may.
    pub is_of_cluster: bool,
    /// Whether it is not in the tree: the kernel adds it.
    pub is_added: bool,
}

/// Times that a tree does not state.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Lacks {
    pub latency: bool,
    pub residency: bool,
}

/// The enabled states of each CPU, shallowest first; none where there is no cpuidle.
pub(super) fn read(tree: &Tree, cpus: &Cpus, notes: &mut Notes) -> Result<Vec<Vec<State>>, CaptureError> {
    let mut off: Vec<(String, CpuMask)> = Vec::new();
    let mut all = Vec::new();
    for cpu in cpus.iter() {
        let dir = format!("{}/cpuidle", cpus.dir(cpu));
        let mut states: Vec<State> = Vec::new();
        for index in tree.numbered(&dir, "state") {
            let dir = format!("{dir}/state{index}");
            let state = read_state(tree, &dir, index, &states)?;
            if tree.number(&format!("{dir}/disable"), 0..=i64::MAX)?.unwrap_or(0) == 0 {
                states.push(state);
            } else if let Some((_, cpus)) = off.iter_mut().find(|(name, _)| *name == state.name) {
                cpus.set(cpu);
            } else {
                off.push((state.name, CpuMask::single(cpu)));
            }
        }
        all.push(states);
    }
    for (name, of) in off {
        notes.add(format!("idle state `{name}` is disabled on CPUs {} and is left out", cpus.kernel(&of)));
    }
    let without: CpuMask = cpus.iter().filter(|cpu| all[*cpu as usize].is_empty()).collect();
    if !without.is_empty() {
        notes.add(format!("no cpuidle for CPUs {}: they are taken to have one shallow state", cpus.kernel(&without)));
    }
    let lacking: CpuMask =
        cpus.iter().filter(|cpu| all[*cpu as usize].iter().any(|state| state.lacks != Lacks::default())).collect();
    if !lacking.is_empty() {
        let cpus = cpus.kernel(&lacking);
        notes.add(format!("cpuidle of CPUs {cpus} lacks files `latency` or `residency`: those times are estimates from another machine"));
    }
    if all.iter().flatten().any(|state| state.is_of_cluster) {
        notes.add("cpuidle does not say which states a cluster enters as a whole: those with `cluster` in the name");
    }
    Ok(all)
}

fn read_state(tree: &Tree, dir: &str, index: u32, before: &[State]) -> Result<State, CaptureError> {
    let name = tree.name(&format!("{dir}/name"))?.unwrap_or_else(|| format!("state{index}"));
    let describes = |word: &str| name.to_lowercase().contains(word);
    let is_polling = name.starts_with("POLL") || name.starts_with("snooze");
    // The first state of a CPU is its own: it holds until the whole cluster is idle.
    let is_of_cluster = before.last().is_some_and(|last| describes("cluster") || last.is_of_cluster);
    let mut unique = name.clone();
    while before.iter().any(|state| state.name == unique) {
        unique = format!("{unique}-{index}");
    }
    let time = |file: &str, least: u64| -> Result<Option<u64>, CaptureError> {
        let path = format!("{dir}/{file}");
        let Some(us) = tree.number(&path, 0..=MAX_US)?.map(|us| us as u64) else { return Ok(None) };
        if us < least {
            let expected = format!("at least the {least} us of the state before: the shallowest comes first");
            return Err(tree.garbled(&path, format!("found {us} us"), expected));
        }
        Ok(Some(us))
    };
    let least = before.last().map_or((0, 0), |last| (last.exit_latency_us, last.residency_us));
    let (latency, residency) = (time("latency", least.0)?, time("residency", least.1)?);
    Ok(State {
        exit_latency_us: latency.unwrap_or(least.0),
        residency_us: residency.unwrap_or(least.1),
        lacks: Lacks { latency: latency.is_none(), residency: residency.is_none() },
        desc: tree.name(&format!("{dir}/desc"))?.unwrap_or_default(),
        name: unique,
        entry_and_wake_us: None,
        is_polling,
        is_of_cluster,
        is_added: false,
    })
}

//! Idle states: those that CPUs list, and those of the power domains that they are in.

use crate::CpuMask;

use super::super::idle::{Lacks, State, MAX_US};
use super::super::{CaptureError, Notes};
use super::cpus::Cpus;
use super::nodes::NodeRef;

/// The most idle states of a CPU (the kernel has 10), and the most power domains around each other.
const MAX_STATES: usize = 16;
const MAX_DOMAINS: usize = 8;

/// The characters that the kernel keeps of a state's name (CPUIDLE_NAME_LEN).
const NAME_LEN: usize = 15;

/// What is 0 in PSCI's original format of a power state, and where that has the level (PSCI, CPU_SUSPEND).
const ORIGINAL_FORMAT: u32 = 0xfcfe_0000;
const LEVEL_SHIFT: u32 = 24;

/// What a tree says of idling.
pub(super) struct States {
    /// By CPU, shallowest first; none where there is no cpuidle.
    pub by_cpu: Vec<Vec<State>>,
    /// Groups of CPUs that power down together.
    pub powered: Vec<CpuMask>,
}

pub(super) fn read(cpus: &Cpus, notes: &mut Notes) -> Result<States, CaptureError> {
    let domains = cpus.iter().map(|(_, node)| domains(node)).collect::<Result<Vec<_>, _>>()?;
    let members = |domain: NodeRef| -> CpuMask {
        cpus.iter().filter(|(cpu, _)| domains[*cpu as usize].contains(&domain)).map(|(cpu, _)| cpu).collect()
    };
    let mut states = States { by_cpu: Vec::new(), powered: Vec::new() };
    let mut left_out: Vec<String> = Vec::new();
    let mut raised: Vec<String> = Vec::new();
    for (cpu, node) in cpus.iter() {
        let mut found: Vec<(NodeRef, bool)> =
            listed(node, "cpu-idle-states")?.into_iter().map(|s| (s, is_wide(s))).collect();
        let mut cluster: Option<CpuMask> = None;
        for domain in &domains[cpu as usize] {
            let own = listed(*domain, "domain-idle-states")?;
            let with = members(*domain);
            if own.is_empty() {
                continue;
            }
            let is_of_cluster = with.count() > 1;
            if !is_of_cluster || cluster.get_or_insert(with) == &with {
                found.extend(own.into_iter().map(|state| (state, is_of_cluster)));
            } else if !left_out.contains(&domain.path()) {
                left_out.push(domain.path());
            }
        }
        if let Some(cluster) = cluster.filter(|cluster| !states.powered.contains(cluster)) {
            states.powered.push(cluster);
        }
        states.by_cpu.push(ordered(node, &found, &mut raised)?);
    }
    if !left_out.is_empty() {
        let domains = left_out.join(", ");
        notes.add(format!("a machine has idle states of CPUs and of clusters, those of {domains} are left out"));
    }
    if !raised.is_empty() {
        let names = raised.join(", ");
        notes.add(format!("idle states that are left sooner than a shallower one are taken to take as long: {names}"));
    }
    let without: CpuMask = cpus.mask().iter().filter(|cpu| states.by_cpu[*cpu as usize].is_empty()).collect();
    if !without.is_empty() {
        notes.add(format!("no idle-states for CPUs {without}: they are taken to have one shallow state"));
    }
    Ok(states)
}

/// The power domains that a CPU is in for idling, innermost first.
fn domains(cpu: NodeRef) -> Result<Vec<NodeRef>, CaptureError> {
    let names = cpu.texts("power-domain-names")?;
    let index = names.iter().position(|name| *name == "psci" || *name == "sbi").unwrap_or(0);
    let mut chain: Vec<NodeRef> = Vec::new();
    let (mut at, mut index) = (cpu, index);
    while let Some((domain, arguments)) = at.specifiers("power-domains", "#power-domain-cells")?.get(index) {
        if chain.len() == MAX_DOMAINS || chain.contains(domain) {
            let problem = format!("more than {MAX_DOMAINS} domains, or a cycle, from {} on", cpu.path());
            return Err(at.fault("power-domains", problem, "the domain around this one"));
        }
        // A domain among several of one controller is not one of CPUs that idle.
        if !arguments.is_empty() {
            break;
        }
        chain.push(*domain);
        (at, index) = (*domain, 0);
    }
    Ok(chain)
}

/// The states that a property lists and that are in use.
fn listed<'a>(node: NodeRef<'a>, property: &str) -> Result<Vec<NodeRef<'a>>, CaptureError> {
    let states = node.targets(property)?;
    if states.len() > MAX_STATES {
        return Err(node.fault(property, format!("{} states", states.len()), format!("at most {MAX_STATES}")));
    }
    Ok(states.into_iter().filter(|state| !state.is_disabled()).collect())
}

/// Whether a state that a CPU lists is one of its cluster: by PSCI's level, if that is to be seen, or by its name.
fn is_wide(state: NodeRef) -> bool {
    let param = state.cell("arm,psci-suspend-param").ok().flatten();
    let level = param.filter(|param| param & ORIGINAL_FORMAT == 0).map_or(0, |param| param >> LEVEL_SHIFT);
    level > 0 || state.name().to_lowercase().contains("cluster")
}

/// The states of a CPU, WFI first, which the kernel adds; nodes, and whether the cluster enters them.
fn ordered(cpu: NodeRef, found: &[(NodeRef, bool)], raised: &mut Vec<String>) -> Result<Vec<State>, CaptureError> {
    if found.is_empty() {
        return Ok(Vec::new());
    } else if found.len() > MAX_STATES {
        return Err(cpu.fault("", format!("{} idle states", found.len()), format!("at most {MAX_STATES}")));
    }
    let mut deeper = found.iter().map(|(node, wide)| state(*node, *wide)).collect::<Result<Vec<State>, _>>()?;
    deeper.sort_by_key(|state| (state.is_of_cluster, state.residency_us, state.exit_latency_us));
    let mut states = vec![wfi()];
    for (n, mut state) in (1..).zip(deeper) {
        while states.iter().any(|other| other.name == state.name) {
            state.name = format!("{}-{n}", state.name);
        }
        let least = states.last().map_or((0, 0), |last| (last.exit_latency_us, last.residency_us));
        if (state.exit_latency_us < least.0 || state.residency_us < least.1) && !raised.contains(&state.name) {
            raised.push(state.name.clone());
        }
        state.exit_latency_us = state.exit_latency_us.max(least.0);
        state.residency_us = state.residency_us.max(least.1);
        states.push(state);
    }
    Ok(states)
}

/// The state of CPUs that do nothing, as Linux has it (drivers/cpuidle/cpuidle-psci.c).
fn wfi() -> State {
    State {
        name: "WFI".into(),
        desc: String::new(),
        lacks: Lacks::default(),
        exit_latency_us: 1,
        residency_us: 1,
        entry_and_wake_us: None,
        is_polling: false,
        is_of_cluster: false,
        is_added: true,
    }
}

/// A state as the kernel takes it (drivers/cpuidle/dt_idle_states.c).
fn state(node: NodeRef, is_of_cluster: bool) -> Result<State, CaptureError> {
    let within = |property: &str, us: u32| match i64::from(us) <= MAX_US {
        true => Ok(u64::from(us)),
        false => Err(node.fault(property, format!("found {us}"), format!("at most {MAX_US} us"))),
    };
    let stated = |property: &str| node.cell(property)?.map(|us| within(property, us)).transpose();
    let (entry, exit) = (stated("entry-latency-us")?, stated("exit-latency-us")?);
    let exit_latency_us = match stated("wakeup-latency-us")? {
        Some(wakeup) => wakeup,
        None => {
            let both = within("entry-latency-us", node.need("entry-latency-us")?)?;
            both + within("exit-latency-us", node.need("exit-latency-us")?)?
        }
    };
    if exit_latency_us > MAX_US as u64 {
        return Err(node.fault(
            "exit-latency-us",
            format!("{exit_latency_us} us in all"),
            format!("at most {MAX_US} us"),
        ));
    }
    Ok(State {
        name: node.name().chars().take(NAME_LEN).collect(),
        desc: String::new(),
        lacks: Lacks::default(),
        exit_latency_us,
        residency_us: within("min-residency-us", node.need("min-residency-us")?)?,
        entry_and_wake_us: entry.zip(exit),
        is_polling: false,
        is_of_cluster,
        is_added: false,
    })
}

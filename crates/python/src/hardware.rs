//! Machines for other tools: CPU by CPU, every group listed.

use fairground_machine::{CpuMask, IdleScope};
use pyo3::prelude::*;
use pythonize::pythonize;
use serde_json::{json, Value};

use crate::machine::Machine;

/// The hardware of `given` (a name, a path, a dict or a `Machine`), as a dict:
///
/// - `name`; `nodes`: number of NUMA nodes
/// - `cpus`: for each its `capacity`, of 1024, the name of its `type`, and the numbers of its `cluster` and `freq_domain`
/// - `clusters`: `cpus`, and static power in mW while one is awake (`active`) and while all are off (`idle`)
/// - `freq_domains`: `cpus`, and `opps`, the slowest first: `khz` and `mw` of a running CPU
/// - `idle_states`: by type of CPU, the shallowest first: `name`, `mw`, and `cluster`, whether all of one enter it together
#[pyfunction]
pub fn hardware<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let machine = Machine::from_py(given)?.inner;
    let cpus = machine.cpus.iter().map(|cpu| {
        let kind = &machine.cpu_types[cpu.cpu_type as usize].name;
        json!({ "capacity": cpu.capacity, "type": kind, "cluster": cpu.cluster, "freq_domain": cpu.freq_domain })
    });
    let clusters = machine
        .clusters
        .iter()
        .map(|cluster| json!({ "cpus": ids(&cluster.cpus), "active": cluster.active_mw, "idle": cluster.idle_mw }));
    let domains = machine.freq_domains.iter().map(|domain| {
        let opps = domain.opps.iter().map(|opp| json!({ "khz": opp.khz, "mw": opp.active_mw }));
        json!({ "cpus": ids(&domain.cpus), "opps": opps.collect::<Vec<_>>() })
    });
    let idle_states = machine.cpu_types.iter().map(|kind| {
        let states = kind.idle_states.iter().map(
            |state| json!({ "name": state.name, "mw": state.power_mw, "cluster": state.scope == IdleScope::Cluster }),
        );
        (kind.name.clone(), states.collect::<Value>())
    });
    let hardware = json!({
        "name": machine.name,
        "nodes": machine.nodes.len(),
        "cpus": cpus.collect::<Vec<_>>(),
        "clusters": clusters.collect::<Vec<_>>(),
        "freq_domains": domains.collect::<Vec<_>>(),
        "idle_states": idle_states.collect::<serde_json::Map<_, _>>(),
    });
    Ok(pythonize(given.py(), &hardware)?)
}

fn ids(cpus: &CpuMask) -> Vec<u32> {
    cpus.iter().collect()
}

//! `[thermal]`: the thermal network and its governors.

use crate::error::FileResult;
use crate::suggest;
use crate::{ControllerGains, CpuMask, FreqDomain, Thermal, ThermalGovernor, ThermalLink, ThermalNode, ThermalZone};

use super::figure::{Fit, Quantity, FACTOR, GAIN, HEAT_CAPACITY, HEAT_RESISTANCE, POWER, TEMPERATURE};
use super::groups::Levels;
use super::node::{Fields, Node};

/// The fastest node may lose so much of its excess temperature in a step: what is integrated in fixed steps needs it.
const STIFFNESS_MAX: f64 = 1.0;
/// Governors that look less often than this see nothing of a run.
const POLLING_MAX_NS: u64 = 60_000_000_000;
/// Far more than any machine has.
const ZONES_MAX: usize = 64;
const POLLING_MIN_NS: u64 = 1_000_000;
/// The figures of a step-wise governor.
const STEP_WISE: [&str; 2] = ["trip", "hysteresis"];
/// The figures of a power allocator; the last five may be left out.
const POWER_ALLOCATOR: [&str; 8] =
    ["switch_on", "control", "sustainable", "k_po", "k_pu", "k_i", "i_max", "integral_cutoff"];

pub(super) fn read(node: &Node, levels: &Levels, domains: &[FreqDomain]) -> FileResult<Thermal> {
    let fields = node.table(&["ambient", "start", "step", "node", "link", "zone"])?;
    let ambient_mc = milli_c(&fields, "ambient")?;
    let start_mc = if fields.get("start").is_some() { milli_c(&fields, "start")? } else { ambient_mc };
    let step = fields.need("step")?;
    let step_ns = period(&step, "thermal.step".into())?;
    let nodes = read_nodes(&fields.need("node")?, levels)?;
    let names: Vec<&str> = nodes.iter().map(|n| n.name.as_str()).collect();
    let links = fields.get("link").map_or(Ok(Vec::new()), |node| read_links(&node, &names))?;
    let zones = fields.get("zone").map_or(Ok(Vec::new()), |node| read_zones(&node, &names, levels, domains))?;
    let mut thermal = Thermal { ambient_mc, start_mc, step_ns, nodes, links, zones };
    if node.file.drawn.is_some() {
        thermal.soften(STIFFNESS_MAX);
    }
    if thermal.stiffness() > STIFFNESS_MAX {
        let fault = step.fault("the step is too long for the network");
        return Err(fault.hint("a step times 1/R over C of each node must be at most 1: shorten it"));
    }
    if let Some(zone) = thermal.zones.iter().find(|z| z.polling_ns % step_ns != 0) {
        return Err(step.fault(format!("zone `{}` looks in between steps", zone.name)).hint("expected whole steps"));
    }
    Ok(thermal)
}

fn milli_c(fields: &Fields, key: &str) -> FileResult<i32> {
    Ok(fields.need(key)?.figure(&TEMPERATURE, format!("{}.{key}", fields.table.path), Fit::Never)? as i32)
}

fn period(node: &Node, path: String) -> FileResult<u64> {
    let ns = node.time(path)?;
    if !(POLLING_MIN_NS..=POLLING_MAX_NS).contains(&ns) {
        return Err(node.fault(format!("a period of {ns} ns")).hint("expected 1 ms to 60 s"));
    }
    Ok(ns)
}

/// A figure that must be more than nothing.
fn positive(node: &Node, quantity: &Quantity, path: String) -> FileResult<f64> {
    match node.figure_within(quantity, path, Fit::Never, 1e-6..=quantity.max)? {
        value if value >= 1e-6 => Ok(value),
        value => Err(node.fault(format!("{value} is too little")).hint("expected at least one millionth of the unit")),
    }
}

fn read_nodes(node: &Node, levels: &Levels) -> FileResult<Vec<ThermalNode>> {
    let mut nodes: Vec<ThermalNode> = Vec::new();
    for (name, entry) in node.entries()? {
        let fields = entry.table(&["cpus", "capacity", "to_ambient"])?;
        let path = |key: &str| format!("{}.{key}", entry.path);
        let cpus = fields.get("cpus").map_or(Ok(CpuMask::EMPTY), |node| levels.cpus(&node))?;
        if let Some(other) = nodes.iter().find(|n| n.cpus.intersects(&cpus)) {
            let fault = fields.need("cpus")?.fault(format!("CPUs that heat `{}` already", other.name));
            return Err(fault.hint("each CPU heats one node"));
        }
        let j_per_k = positive(&fields.need("capacity")?, &HEAT_CAPACITY, path("capacity"))?;
        let resistance = |node: Node| positive(&node, &HEAT_RESISTANCE, path("to_ambient"));
        let to_ambient = fields.get("to_ambient").map(resistance).transpose()?;
        nodes.push(ThermalNode { name: name.to_string(), cpus, j_per_k, to_ambient });
    }
    if nodes.is_empty() {
        return Err(node.fault("no node").hint("expected at least one part with a heat capacity"));
    }
    Ok(nodes)
}

fn read_links(node: &Node, names: &[&str]) -> FileResult<Vec<ThermalLink>> {
    let mut links = Vec::new();
    for entry in node.elements()? {
        let fields = entry.table(&["between", "resistance"])?;
        let between = fields.need("between")?;
        let [a, b] = &between.elements()?[..] else {
            return Err(between.fault("not a pair of nodes").hint("expected the names of two"));
        };
        let between = [index(a, names)?, index(b, names)?];
        if between[0] == between[1] {
            return Err(b.fault("a link from a node to itself").hint("expected another node"));
        }
        let path = link_path(names[between[0] as usize], names[between[1] as usize]);
        links.push(ThermalLink { between, k_per_w: positive(&fields.need("resistance")?, &HEAT_RESISTANCE, path)? });
    }
    Ok(links)
}

/// The path of a link's resistance.
pub(super) fn link_path(a: &str, b: &str) -> String {
    format!("thermal.link[{a}, {b}].resistance")
}

fn index(node: &Node, names: &[&str]) -> FileResult<u32> {
    let name = node.text()?;
    let at = names.iter().position(|n| *n == name).map(|i| i as u32);
    at.ok_or_else(|| node.fault(format!("no node `{name}`")).hint(suggest(name, names.iter().copied())))
}

fn read_zones(node: &Node, names: &[&str], levels: &Levels, domains: &[FreqDomain]) -> FileResult<Vec<ThermalZone>> {
    let mut zones = Vec::new();
    for (name, entry) in node.entries()? {
        if zones.len() == ZONES_MAX {
            return Err(entry.fault_at_key("too many zones").hint(format!("expected at most {ZONES_MAX}")));
        }
        let keys = [&["node", "polling", "cools", "governor"][..], &STEP_WISE, &POWER_ALLOCATOR].concat();
        let fields = entry.table(&keys)?;
        zones.push(ThermalZone {
            name: name.to_string(),
            node: index(&fields.need("node")?, names)?,
            polling_ns: period(&fields.need("polling")?, format!("{}.polling", entry.path))?,
            governor: read_governor(&fields)?,
            cools: read_cools(&fields.need("cools")?, levels, domains)?,
        });
    }
    Ok(zones)
}

/// `[{ cpus = "6-7", weight = { factor = 1, source = "..." } }]`; without a weight it is 1.
fn read_cools(node: &Node, levels: &Levels, domains: &[FreqDomain]) -> FileResult<Vec<(u32, f64)>> {
    let mut cools: Vec<(u32, f64)> = Vec::new();
    for entry in node.elements()? {
        let fields = entry.table(&["cpus", "weight"])?;
        let domain = super::votes::domain_of(&fields.need("cpus")?, levels, domains)?;
        if cools.iter().any(|(known, _)| *known == domain) {
            return Err(entry.fault("a clock named twice").hint("expected each clock once"));
        }
        let path = weight_path(&node.path, &domains[domain as usize].cpus);
        let weight = fields.get("weight").map_or(Ok(1.0), |node| positive(&node, &FACTOR, path))?;
        cools.push((domain, weight));
    }
    Ok(cools)
}

/// The path of the weight of a clock in a zone.
pub(super) fn weight_path(cools: &str, cpus: &CpuMask) -> String {
    format!("{cools}[{cpus}].weight")
}

fn read_governor(fields: &Fields) -> FileResult<ThermalGovernor> {
    let node = fields.need("governor")?;
    match node.text()? {
        "step-wise" => {
            refuse(fields, &POWER_ALLOCATOR, "step-wise")?;
            Ok(ThermalGovernor::StepWise {
                trip_mc: milli_c(fields, "trip")?,
                hysteresis_mc: milli_c(fields, "hysteresis")?,
            })
        }
        "power-allocator" => {
            refuse(fields, &STEP_WISE, "power-allocator")?;
            let (switch_on_mc, control_mc) = (milli_c(fields, "switch_on")?, milli_c(fields, "control")?);
            if switch_on_mc >= control_mc {
                let fault = fields.need("switch_on")?.fault("switched on no sooner than where it steers to");
                return Err(fault.hint("expected `switch_on` below `control`"));
            }
            let path = format!("{}.sustainable", fields.table.path);
            let sustainable_mw = positive(&fields.need("sustainable")?, &POWER, path)?;
            let gains = read_gains(fields)?;
            Ok(ThermalGovernor::PowerAllocator { switch_on_mc, control_mc, sustainable_mw, gains })
        }
        other => {
            let valid = ["step-wise", "power-allocator"];
            Err(node.fault(format!("unknown governor `{other}`")).hint(suggest(other, valid)))
        }
    }
}

fn read_gains(fields: &Fields) -> FileResult<ControllerGains> {
    let figure = |key: &str, quantity: &Quantity| {
        let read = |node: Node| node.figure(quantity, format!("{}.{key}", fields.table.path), Fit::Never);
        fields.get(key).map(read).transpose()
    };
    Ok(ControllerGains {
        k_po: figure("k_po", &GAIN)?,
        k_pu: figure("k_pu", &GAIN)?,
        k_i: figure("k_i", &GAIN)?,
        i_max_mw: figure("i_max", &POWER)?,
        integral_cutoff_mc: figure("integral_cutoff", &TEMPERATURE)?.map(|mc| mc as i32),
    })
}

fn refuse(fields: &Fields, keys: &[&str], governor: &str) -> FileResult<()> {
    match keys.iter().find_map(|key| Some((key, fields.get(key)?))) {
        None => Ok(()),
        Some((key, node)) => {
            Err(node.fault_at_key(format!("`{key}` with a {governor} governor")).hint("it belongs to the other one"))
        }
    }
}

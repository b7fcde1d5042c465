//! Clocks, operating points with power, and capacities.

use crate::{CpuId, CpuMask};

use super::super::clocks::{merge_cores, Clock, MAX_KHZ};
use super::super::{energy, CaptureError, Notes};
use super::cpus::Cpus;
use super::nodes::NodeRef;

/// The most operating points of a clock.
const MAX_POINTS: usize = 1024;

/// The greatest power of an operating point, uW: the most that a machine file can state.
const MAX_UW: u128 = 1_000_000_000_000;

/// The longest change of a clock, ns: an hour.
const MAX_TRANSITION_NS: u64 = 3_600_000_000_000;

/// How much a core does at a clock, relative to others.
const DMIPS: &str = "capacity-dmips-mhz";

/// What a tree says of clocks.
pub(super) struct Clocks {
    pub all: Vec<Clock>,
    /// Power, where it is known.
    pub energy: Vec<energy::Domain>,
}

struct Point {
    hz: u64,
    /// uV; none if it is not stated.
    microvolt: Option<u32>,
}

/// The operating points of a table, and the longest change, ns.
#[derive(Default)]
struct Points {
    all: Vec<Point>,
    transition_ns: Option<u64>,
}

/// What the notes report about the tables.
#[derive(Default)]
struct Remarks {
    supported: bool,
    turbo: bool,
    disabled: usize,
    without_voltage: CpuMask,
}

pub(super) fn read(cpus: &Cpus, cores: &[CpuMask], notes: &mut Notes) -> Result<Clocks, CaptureError> {
    let mut remarks = Remarks::default();
    let (mut clocks, mut energy, mut unknown) = (Vec::new(), Vec::new(), CpuMask::EMPTY);
    for members in domains(cpus)? {
        let points = points(cpus, &members, &mut remarks)?;
        energy.extend(power(cpus, &members, &points, &mut remarks)?);
        if points.all.is_empty() {
            unknown = unknown.or(&members);
        }
        let khz = points.all.iter().map(|point| (point.hz / 1000) as u32).collect();
        clocks.push(Clock { cpus: members, khz, is_assumed: false, transition_ns: points.transition_ns });
    }
    if !unknown.is_empty() {
        notes.add(format!("no operating points for CPUs {unknown}: their clock is taken to be fixed"));
    }
    remarks.note(notes);
    if energy.is_empty() && remarks.without_voltage.is_empty() {
        notes.add("no dynamic-power-coefficient with voltages: power is estimated");
    }
    let mut all = merge_cores(clocks, cores);
    all.sort_unstable_by_key(|clock| clock.cpus.first());
    Ok(Clocks { all, energy })
}

impl Remarks {
    fn note(&self, notes: &mut Notes) {
        if self.supported {
            notes.add("opp-supported-hw is not looked at: all operating points are taken, whatever the chip");
        }
        if self.turbo {
            notes.add("operating points of `turbo-mode` are taken like any other");
        }
        if self.disabled > 0 {
            notes.add(format!("operating points that are disabled are left out: {}", self.disabled));
        }
        if !self.without_voltage.is_empty() {
            let cpus = self.without_voltage;
            notes.add(format!("the operating points of CPUs {cpus} state no voltage: power is estimated"));
        }
    }
}

/// By what CPUs are known to share a clock.
#[derive(PartialEq)]
enum Shared<'a> {
    /// Their table of operating points says so.
    Table(NodeRef<'a>),
    /// They name the same domain or clock.
    Named(&'a str, &'a [u8]),
    /// By nothing: it has operating points of its own.
    Alone,
    /// By nothing known: of such CPUs those of a kind, by `compatible` and capacity-dmips-mhz, are taken to run at one
    /// clock.
    Unknown(Option<&'a [u8]>, Option<&'a [u8]>),
}

/// Groups of CPUs with one clock.
fn domains(cpus: &Cpus) -> Result<Vec<CpuMask>, CaptureError> {
    let keys = cpus.iter().map(|(_, node)| shared(node)).collect::<Result<Vec<Shared>, _>>()?;
    let mut left = cpus.mask();
    let mut domains = Vec::new();
    while let Some(cpu) = left.first() {
        let key = &keys[cpu as usize];
        let members = match key {
            Shared::Alone => CpuMask::single(cpu),
            _ => left.iter().filter(|other| keys[*other as usize] == *key).collect(),
        };
        domains.push(members);
        left = left.minus(&members);
    }
    Ok(domains)
}

fn shared<'a>(cpu: NodeRef<'a>) -> Result<Shared<'a>, CaptureError> {
    let table = cpu.targets("operating-points-v2")?.first().copied();
    if let Some(table) = table.filter(|table| table.has_property("opp-shared")) {
        return Ok(Shared::Table(table));
    }
    let named = ["qcom,freq-domain", "performance-domains", "clocks"];
    let named = named.into_iter().find_map(|property| Some(Shared::Named(property, cpu.bytes(property)?)));
    let has_points = || table.is_some() || cpu.has_property("operating-points") || cpu.has_property("clock-frequency");
    let of_kind = || Shared::Unknown(cpu.bytes("compatible"), cpu.bytes(DMIPS));
    Ok(named.unwrap_or_else(|| if has_points() { Shared::Alone } else { of_kind() }))
}

/// The operating points of a clock: of the first of its CPUs that has some.
fn points(cpus: &Cpus, members: &CpuMask, remarks: &mut Remarks) -> Result<Points, CaptureError> {
    let mut points = Points::default();
    for cpu in members.iter().map(|cpu| cpus.node(cpu)) {
        if let Some(table) = cpu.targets("operating-points-v2")?.first() {
            points = table_points(*table, remarks)?;
        } else if let Some(cells) = cpu.cells("operating-points")? {
            points = pairs(cpu, &cells)?;
        } else if let Some(hz) = frequency(cpu, "clock-frequency")? {
            points.all.push(Point { hz, microvolt: None });
        }
        if !points.all.is_empty() {
            break;
        }
    }
    points.all.sort_by_key(|point| point.hz);
    points.all.dedup_by_key(|point| point.hz / 1000);
    Ok(points)
}

/// The table of `operating-points-v2`.
fn table_points(table: NodeRef, remarks: &mut Remarks) -> Result<Points, CaptureError> {
    let mut points = Points::default();
    for node in table.children() {
        if node.is_disabled() {
            remarks.disabled += 1;
            continue;
        }
        remarks.supported |= node.has_property("opp-supported-hw");
        remarks.turbo |= node.has_property("turbo-mode");
        let latency = node.cell("clock-latency-ns")?.map(u64::from).filter(|ns| *ns > 0);
        points.transition_ns = points.transition_ns.max(latency);
        if let Some(hz) = frequency(node, "opp-hz")? {
            points.all.push(Point { hz, microvolt: voltage(node)? });
        }
        if points.all.len() > MAX_POINTS {
            return Err(table.fault("", "too many operating points", format!("at most {MAX_POINTS}")));
        }
    }
    Ok(points)
}

/// The target voltage of the first supply, uV.
fn voltage(node: NodeRef) -> Result<Option<u32>, CaptureError> {
    let named = || node.properties().find(|name| name.starts_with("opp-microvolt-"));
    let Some(property) = Some("opp-microvolt").filter(|name| node.has_property(name)).or_else(named) else {
        return Ok(None);
    };
    Ok(node.cells(property)?.and_then(|cells| cells.first().copied()))
}

/// The first frequency of a property, Hz: 64 bits, or 32 where it is alone.
fn frequency(node: NodeRef, property: &str) -> Result<Option<u64>, CaptureError> {
    let Some(cells) = node.cells(property)? else { return Ok(None) };
    let hz = match cells[..] {
        [hz] => u64::from(hz),
        [high, low, ..] => u64::from(high) << 32 | u64::from(low),
        [] => 0,
    };
    let most = MAX_KHZ as u64 * 1000;
    match (1000..=most).contains(&hz) {
        true => Ok(Some(hz)),
        false => Err(node.fault(property, format!("found {hz} Hz"), format!("from 1000 to {most}, of 64 bits"))),
    }
}

/// operating-points: pairs of kHz and uV, the change in clock-latency, ns.
fn pairs(cpu: NodeRef, cells: &[u32]) -> Result<Points, CaptureError> {
    if cells.len() % 2 != 0 || cells.len() > 2 * MAX_POINTS {
        return Err(cpu.fault("operating-points", format!("{} numbers", cells.len()), "pairs of kHz and uV"));
    }
    let in_range = |khz: u32| (1..=MAX_KHZ).contains(&i64::from(khz));
    if let Some(khz) = cells.iter().step_by(2).find(|khz| !in_range(**khz)) {
        return Err(cpu.fault("operating-points", format!("found {khz} kHz"), format!("from 1 to {MAX_KHZ}")));
    }
    let point = |pair: &[u32]| Point { hz: u64::from(pair[0]) * 1000, microvolt: Some(pair[1]) };
    let transition_ns = cpu.cell("clock-latency")?.map(u64::from).filter(|ns| (1..MAX_TRANSITION_NS).contains(ns));
    Ok(Points { all: cells.chunks_exact(2).map(point).collect(), transition_ns })
}

/// Power from dynamic-power-coefficient, which stands at the first CPU of a clock or at all: uW = coefficient x MHz x
/// mV^2 / 10^6 in whole numbers, as the kernel has it (drivers/opp/of.c).
fn power(
    cpus: &Cpus,
    members: &CpuMask,
    points: &Points,
    remarks: &mut Remarks,
) -> Result<Option<energy::Domain>, CaptureError> {
    let stated = members.iter().map(|cpu| cpus.node(cpu)).find(|node| node.has_property("dynamic-power-coefficient"));
    let Some(node) = stated else { return Ok(None) };
    let coefficient = node.need("dynamic-power-coefficient")?;
    let mut states = Vec::new();
    for point in &points.all {
        let Some(millivolt) = point.microvolt.map(|uv| u128::from(uv / 1000)).filter(|mv| *mv > 0) else { continue };
        let uw = u128::from(coefficient) * u128::from(point.hz / 1_000_000) * millivolt * millivolt / 1_000_000;
        if uw > MAX_UW {
            let problem = format!("{} kW at {} MHz and {millivolt} mV", uw / 1_000_000_000, point.hz / 1_000_000);
            return Err(node.fault("dynamic-power-coefficient", problem, "uW per MHz and V^2, about 100 to 1000"));
        }
        states.push(((point.hz / 1000) as u32, uw as f64 / 1000.0));
    }
    if states.is_empty() && !points.all.is_empty() {
        remarks.without_voltage = remarks.without_voltage.or(members);
    }
    let known = !states.is_empty() && states.iter().any(|(_, mw)| *mw > 0.0);
    Ok(known.then_some(energy::Domain { cpus: *members, states, is_abstract: false }))
}

/// capacity-dmips-mhz by CPU, from which with top clocks capacities follow. None, with a note, where not all CPUs state
/// it: the kernel then takes all for equal (drivers/base/arch_topology.c).
pub(super) fn efficiencies(cpus: &Cpus, notes: &mut Notes) -> Result<Option<Vec<u32>>, CaptureError> {
    let without = cpus.those(|node| !node.has_property(DMIPS));
    if !without.is_empty() {
        let whose = if without == cpus.mask() { String::new() } else { format!(" of CPUs {without}") };
        notes.add(format!("no {DMIPS}{whose}: the kernel takes all CPUs for equal"));
        return Ok(None);
    }
    let efficiency = |(_, node): (CpuId, NodeRef)| match node.need(DMIPS)? {
        0 => Err(node.fault(DMIPS, "found 0", "a number above 0")),
        dmips => Ok(dmips),
    };
    cpus.iter().map(efficiency).collect::<Result<Vec<u32>, _>>().map(Some)
}

//! cpufreq: frequency domains and their frequencies.

use crate::CpuMask;

use super::cpus::Cpus;
use super::tree::Tree;
use super::{CaptureError, Notes};

/// The fastest clock that a machine file can state, kHz.
pub(super) const MAX_KHZ: i64 = 100_000_000;

/// Where a driver names only the ends of its range: the steps between that are assumed.
const STEPS: u32 = 8;

/// The kernel's word for a driver that does not know (CPUFREQ_ETERNAL).
const ETERNAL: i64 = u32::MAX as i64;

const CPUFREQ: &str = "devices/system/cpu/cpufreq";

/// CPUs that share a clock.
pub(super) struct Clock {
    pub cpus: CpuMask,
    /// Rising; empty where there is no cpufreq.
    pub khz: Vec<u32>,
    /// Whether frequencies between the ends are assumed.
    pub is_assumed: bool,
    /// Time of a change, ns, where the driver knows it.
    pub transition_ns: Option<u64>,
}

/// Reads all clocks; CPUs without cpufreq are a clock by themselves, so are all of them together if none has.
pub(super) fn read(tree: &Tree, cpus: &Cpus, cores: &[CpuMask], notes: &mut Notes) -> Result<Vec<Clock>, CaptureError> {
    let mut clocks = Vec::new();
    let mut left = cpus.mask();
    let policies = tree.numbered(CPUFREQ, "policy").into_iter().map(|policy| format!("{CPUFREQ}/policy{policy}"));
    // The links from a CPU to its policy: in copies they may be all there is, or not be there.
    let links = cpus.iter().map(|cpu| format!("{}/cpufreq", cpus.dir(cpu)));
    for dir in policies.chain(links) {
        let members = members(tree, cpus, &dir)?;
        if members.is_subset(&left) && !members.is_empty() {
            clocks.push(read_policy(tree, &dir, members)?);
            left = left.minus(&members);
        } else if let Some(twice) = members.minus(&left).first().filter(|_| dir.starts_with(CPUFREQ)) {
            let problem = format!("CPU {} is in two policies", cpus.kernel(&CpuMask::single(twice)));
            return Err(tree.garbled(&format!("{dir}/related_cpus"), problem, "each CPU in one policy"));
        }
    }
    if !left.is_empty() {
        notes.add(format!("no cpufreq for CPUs {}: their clock is taken to be fixed", cpus.kernel(&left)));
        clocks.push(Clock { cpus: left, khz: Vec::new(), is_assumed: false, transition_ns: None });
    }
    note_ranges(&clocks, cpus, notes);
    note_governors(tree, cpus, notes)?;
    let mut clocks = merge_cores(clocks, cores);
    clocks.sort_unstable_by_key(|clock| clock.cpus.first());
    Ok(clocks)
}

fn members(tree: &Tree, cpus: &Cpus, dir: &str) -> Result<CpuMask, CaptureError> {
    for file in ["related_cpus", "affected_cpus"] {
        if let Some(kernel) = tree.cpu_list(&format!("{dir}/{file}"))? {
            return Ok(cpus.dense(&kernel));
        }
    }
    Ok(CpuMask::EMPTY)
}

fn read_policy(tree: &Tree, dir: &str, cpus: CpuMask) -> Result<Clock, CaptureError> {
    let mut khz = tree.numbers(&format!("{dir}/scaling_available_frequencies"), 1..=MAX_KHZ)?;
    let has_boost = tree.number(&format!("{CPUFREQ}/boost"), 0..=1)? != Some(0);
    if !khz.is_empty() && has_boost {
        khz.extend(tree.numbers(&format!("{dir}/scaling_boost_frequencies"), 1..=MAX_KHZ)?);
    }
    let is_assumed = khz.is_empty();
    if is_assumed {
        khz = assumed(tree, dir)?;
    }
    khz.sort_unstable();
    khz.dedup();
    let latency = tree.number(&format!("{dir}/cpuinfo_transition_latency"), 0..=i64::MAX)?;
    // An hour is more than any clock needs; drivers that change it themselves say 0.
    let transition_ns = latency.filter(|ns| *ns > 0 && *ns != ETERNAL && *ns < 3_600_000_000_000).map(|ns| ns as u64);
    Ok(Clock {
        cpus,
        is_assumed: is_assumed && khz.len() > 2,
        khz: khz.into_iter().map(|khz| khz as u32).collect(),
        transition_ns,
    })
}

/// Even steps between the ends of the range, in whole MHz.
fn assumed(tree: &Tree, dir: &str) -> Result<Vec<i64>, CaptureError> {
    let end = |file: &str| tree.number(&format!("{dir}/{file}"), 1..=MAX_KHZ);
    let (least, most) = (end("cpuinfo_min_freq")?, end("cpuinfo_max_freq")?);
    let (Some(least), Some(most)) = (least.or(most), most.or(least)) else { return Ok(Vec::new()) };
    if least > most {
        let problem = format!("{most} kHz is less than the {least} kHz of cpuinfo_min_freq");
        return Err(tree.garbled(&format!("{dir}/cpuinfo_max_freq"), problem, "the greatest frequency"));
    }
    let step = |i: i64| (least + (most - least) * i / i64::from(STEPS)) / 1000 * 1000;
    let between = (1..i64::from(STEPS)).map(step).filter(|khz| (least..most).contains(khz));
    Ok(std::iter::once(least).chain(between).chain([most]).collect())
}

fn note_ranges(clocks: &[Clock], cpus: &Cpus, notes: &mut Notes) {
    let all = |of: fn(&&Clock) -> bool| {
        let chosen = clocks.iter().filter(of).fold(CpuMask::EMPTY, |all, clock| all.or(&clock.cpus));
        cpus.kernel(&chosen)
    };
    let assumed = all(|clock| clock.is_assumed);
    if !assumed.is_empty() {
        notes
            .add(format!("cpufreq names only the ends of the range of CPUs {assumed}: {STEPS} even steps are assumed"));
    }
    let unknown = all(|clock| !clock.khz.is_empty() && clock.transition_ns.is_none());
    if !unknown.is_empty() {
        notes.add(format!("cpufreq does not say how long a change of the clock of CPUs {unknown} takes"));
    }
}

/// A machine has no governor, and runs have one for all CPUs.
fn note_governors(tree: &Tree, cpus: &Cpus, notes: &mut Notes) -> Result<(), CaptureError> {
    let mut names: Vec<String> = Vec::new();
    let policies = tree.numbered(CPUFREQ, "policy").into_iter().map(|policy| format!("{CPUFREQ}/policy{policy}"));
    for dir in policies.chain(cpus.iter().map(|cpu| format!("{}/cpufreq", cpus.dir(cpu)))) {
        names.extend(tree.name(&format!("{dir}/scaling_governor"))?.filter(|name| !names.contains(name)));
    }
    if names.iter().any(|name| name != "performance") {
        notes.add(format!("the governor is {}; a run has its own, see `--governor`", names.join(", ")));
    }
    Ok(())
}

/// The threads of a core run at one clock, though drivers may have a policy for each: the fastest of them speaks for
/// the core.
pub(super) fn merge_cores(mut clocks: Vec<Clock>, cores: &[CpuMask]) -> Vec<Clock> {
    for core in cores {
        let (mut of_core, others): (Vec<Clock>, Vec<Clock>) =
            clocks.into_iter().partition(|clock| clock.cpus.intersects(core));
        clocks = others;
        let cpus = of_core.iter().fold(CpuMask::EMPTY, |all, clock| all.or(&clock.cpus));
        of_core.sort_by_key(|clock| clock.khz.last().copied());
        clocks.extend(of_core.pop().map(|clock| Clock { cpus, ..clock }));
    }
    clocks
}

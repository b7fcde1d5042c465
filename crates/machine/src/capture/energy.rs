//! The kernel's energy model, from debugfs.

use crate::CpuMask;

use super::cpus::Cpus;
use super::tree::Tree;
use super::{CaptureError, Notes};

/// EM_PERF_DOMAIN_MICROWATTS and EM_PERF_DOMAIN_ARTIFICIAL of `flags`.
const MICROWATTS: u64 = 1;
const ARTIFICIAL: u64 = 4;

/// Bit 0 of `flags` meant mW in v5.18 and v5.19 and has meant uW since: a core's top power is 10 mW to 10 W.
const TOP_UW_MIN: i64 = 10_000;

/// A performance domain of the energy model.
pub(super) struct Domain {
    pub cpus: CpuMask,
    /// kHz and power, rising frequency; never empty.
    pub states: Vec<(u32, f64)>,
    /// Whether powers are on an abstract scale instead of in mW.
    pub is_abstract: bool,
}

/// Reads the domains of CPUs; a GPU's and the like are not looked at.
pub(super) fn read(debugfs: &Tree, cpus: &Cpus, notes: &mut Notes) -> Result<Vec<Domain>, CaptureError> {
    let mut domains: Vec<Domain> = Vec::new();
    for name in debugfs.names("energy_model") {
        let dir = format!("energy_model/{name}");
        let Some(kernel) = debugfs.cpu_list(&format!("{dir}/cpus"))? else { continue };
        let states = read_states(debugfs, &dir)?;
        let Some((_, top)) = states.iter().copied().max_by_key(|(_, power)| *power).filter(|(_, top)| *top > 0) else {
            notes.add(format!("{dir} states no power and is left out"));
            continue;
        };
        let (factor, is_abstract) = unit(debugfs, &dir, top)?;
        let states = states.into_iter().map(|(khz, power)| (khz as u32, power as f64 / factor)).collect();
        domains.push(Domain { cpus: cpus.dense(&kernel), states, is_abstract });
    }
    if domains.is_empty() {
        notes.add("no energy model is readable in debugfs: power is estimated");
    }
    if domains.iter().any(|domain| domain.is_abstract) {
        notes.add("the energy model is in abstract units: its ratios are kept, its scale is estimated");
    }
    Ok(domains)
}

fn read_states(debugfs: &Tree, dir: &str) -> Result<Vec<(i64, i64)>, CaptureError> {
    let mut states = Vec::new();
    for name in debugfs.names(dir).into_iter().filter(|name| name.starts_with("ps:")) {
        let khz = debugfs.number(&format!("{dir}/{name}/frequency"), 1..=100_000_000)?;
        // Enough for any core in uW, and all that a machine file can state in mW.
        let power = debugfs.number(&format!("{dir}/{name}/power"), 0..=1_000_000_000)?;
        states.extend(khz.zip(power));
    }
    states.sort_unstable();
    states.dedup_by_key(|(khz, _)| *khz);
    Ok(states)
}

/// What one mW is in the units of a domain, and whether the unit is abstract. v5.11 to v5.17 say it in `units`, later
/// kernels in `flags`; before, powers were mW.
fn unit(debugfs: &Tree, dir: &str, top: i64) -> Result<(f64, bool), CaptureError> {
    let path = format!("{dir}/units");
    match debugfs.text(&path)?.as_deref() {
        Some("milliWatts") => return Ok((1.0, false)),
        Some("microWatts") => return Ok((1000.0, false)),
        Some("bogoWatts") => return Ok((1.0, true)),
        Some(_) => return Err(debugfs.garbled(&path, "not a unit of power", "milliWatts, microWatts or bogoWatts")),
        None => {}
    }
    Ok(match debugfs.hex(&format!("{dir}/flags"))? {
        None => (1.0, false),
        Some(flags) if flags & MICROWATTS == 0 || flags & ARTIFICIAL != 0 => (1.0, true),
        Some(_) if top >= TOP_UW_MIN => (1000.0, false),
        Some(_) => (1.0, false),
    })
}

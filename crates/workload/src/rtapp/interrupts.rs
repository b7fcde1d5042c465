//! The section `interrupts`, ours: devices that interrupt, which rt-app has no word for.
//!
//! ```json
//! "interrupts": { "eth0": { "cpu": 0, "period": 500, "jitter": 100, "busy": 20, "posts": "packet" } }
//! ```

use fairground_machine::{CpuId, Machine};

use super::fields::Fields;
use super::source::Source;
use crate::error::WorkloadError;
use crate::json::{Member, Span};
use crate::program::{Amount, IrqSource};

/// Every key of a device.
const KEYS: &[&str] = &["cpu", "period", "jitter", "busy", "posts"];

/// A device as read; `posts` names a semaphore of the tasks.
pub(super) struct Device {
    pub irq: IrqSource,
    pub posts: Option<(String, Span)>,
}

/// Reads the section. Without a section there is no device.
pub(super) fn read(
    source: &mut Source,
    section: Option<&Member>,
    machine: &Machine,
) -> Result<Vec<Device>, WorkloadError> {
    let Some(section) = section else { return Ok(Vec::new()) };
    let mut names = Fields::parse(source, &section.value, "`interrupts`")?;
    names.take(|_| true).into_iter().map(|(name, m)| device(source, name, m, machine)).collect()
}

/// `cpu` that takes it; `period` in us, up to `jitter` us longer; `busy`: us of work on a CPU of capacity 1024.
fn device(source: &mut Source, name: String, m: &Member, machine: &Machine) -> Result<Device, WorkloadError> {
    let mut keys = Fields::parse(source, &m.value, &format!("device `{name}`"))?;
    let last = machine.nr_cpus() as i64 - 1;
    let cpu = match keys.get("cpu") {
        Some(cpu) => source.int(cpu, 0, last)? as CpuId,
        None => 0,
    };
    let Some(period) = keys.get("period") else {
        return Err(source.error(m.key_span, format!("device `{name}` has no `period`"), "expected `period` in us"));
    };
    let period = source.int(period, 1, i64::from(i32::MAX))? as u64;
    let mut us = |key: &str| -> Result<u64, WorkloadError> {
        keys.get(key).map_or(Ok(0), |m| Ok(source.int(m, 0, i64::from(i32::MAX))? as u64))
    };
    let (jitter, busy) = (us("jitter")?, us("busy")?);
    let posts = match keys.get("posts") {
        Some(m) => Some((source.string(m)?.to_string(), m.value.span)),
        None => None,
    };
    keys.warn_rest(source, KEYS, "is not a key of a device and is ignored");
    let irq = IrqSource {
        name,
        cpu,
        period: Amount { base: period * 1000, jitter: jitter * 1000 },
        busy: Amount::fixed(busy * 1000),
        posts: None,
    };
    Ok(Device { irq, posts })
}

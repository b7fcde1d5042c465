//! Policy, priority, clamps and CPUs: of a task, and as phases change them.

use fairground_machine::{suggest_from, CpuId, CpuMask, Machine};

use super::fields::Fields;
use super::groups::Groups;
use super::source::Source;
use crate::error::WorkloadError;
use crate::json::{Member, Span};
use crate::program::{GroupId, Policy, SchedAttr, MAX_SLICE_NS, MIN_SLICE_NS};
use crate::warning::WarningKind;

const POLICIES: &[(&str, Option<Policy>)] = &[
    ("SCHED_OTHER", Some(Policy::Other)),
    ("SCHED_BATCH", Some(Policy::Batch)),
    ("SCHED_IDLE", Some(Policy::Idle)),
    ("SCHED_RR", Some(Policy::Rr)),
    ("SCHED_FIFO", Some(Policy::Fifo)),
    ("SCHED_DEADLINE", None),
];

/// rt-app's priority for FIFO and RR.
const RT_PRIORITY: i64 = 10;

/// What an object says about scheduling; absent is unchanged.
#[derive(Clone, Debug, Default)]
pub(super) struct SchedChange {
    /// Policy. With it always comes a priority.
    pub policy: Option<Policy>,
    /// Nice value or real-time priority, and where it is written.
    pub priority: Option<(i64, Span)>,
    pub util_min: Option<u16>,
    pub util_max: Option<u16>,
    /// Custom slice, ns; 0: none any more.
    pub slice_ns: Option<u64>,
}

impl SchedChange {
    pub fn is_empty(&self) -> bool {
        let clamps = self.util_min.is_some() || self.util_max.is_some();
        self.priority.is_none() && !clamps && self.slice_ns.is_none()
    }
}

/// A policy by its name.
pub(super) fn policy(source: &Source, m: &Member) -> Result<Policy, WorkloadError> {
    let name = source.string(m)?;
    match POLICIES.iter().find(|(n, _)| *n == name) {
        Some((_, Some(policy))) => Ok(*policy),
        Some((_, None)) => Err(source.error_with_help(
            m.value.span,
            format!("`{}` is SCHED_DEADLINE, which is not modelled", m.key),
            "expected a fair or real-time policy",
            Some("the subject here is the fair scheduler; a periodic SCHED_FIFO task comes nearest".into()),
        )),
        None => {
            let help = suggest_from(name, "the policies are:", POLICIES.iter().map(|(n, _)| *n));
            let text = format!("unknown policy `{name}`");
            Err(source.error_with_help(m.value.span, text, "expected a policy", Some(help)))
        }
    }
}

/// Reads `policy`, `priority`, the clamps and the slice. `default` is the policy if none is stated (`None` in a phase),
/// `in_force` the one that then stays.
pub(super) fn read(
    source: &mut Source,
    keys: &mut Fields,
    default: Option<Policy>,
    in_force: Policy,
    at: Span,
) -> Result<SchedChange, WorkloadError> {
    let mut change = SchedChange { policy: default, ..SchedChange::default() };
    let mut place = at;
    if let Some(m) = keys.get("policy") {
        change.policy = Some(policy(source, m)?);
        place = m.value.span;
    }
    change.priority = match (keys.get("priority"), change.policy) {
        (Some(m), _) => Some((source.int(m, i64::from(i32::MIN), i64::MAX)?, m.value.span)),
        (None, None) => None,
        (None, Some(Policy::Fifo | Policy::Rr)) => Some((RT_PRIORITY, place)),
        (None, Some(_)) => Some((0, place)),
    };
    change.util_min = clamp(source, keys, "util_min")?;
    change.util_max = clamp(source, keys, "util_max")?;
    let asked = dl_runtime(source, keys, change.policy.unwrap_or(in_force))?;
    change.slice_ns = slice(source, keys)?.or(asked);
    for key in ["dl-period", "dl-deadline"] {
        if let Some(m) = keys.get(key) {
            source.int(m, 0, i64::MAX)?;
            source.warn(WarningKind::Ignored, m.key_span, &m.key, "belongs to SCHED_DEADLINE, which is not modelled");
        }
    }
    Ok(change)
}

/// Under a fair policy Linux takes it for the slice, within bounds; 0: the scheduler's own.
fn dl_runtime(source: &mut Source, keys: &mut Fields, policy: Policy) -> Result<Option<u64>, WorkloadError> {
    let Some(m) = keys.get("dl-runtime") else { return Ok(None) };
    let us = source.int(m, 0, i64::MAX)? as u64;
    if !matches!(policy, Policy::Other | Policy::Batch) {
        let text = format!("means nothing under {}", name_of(policy));
        source.warn(WarningKind::Ignored, m.key_span, &m.key, text);
        return Ok(None);
    }
    let slice = if us == 0 { 0 } else { (us * 1000).clamp(MIN_SLICE_NS, MAX_SLICE_NS) };
    if slice != us * 1000 {
        let text = format!("is a slice of {} us: Linux bounds it so", slice / 1000);
        source.warn(WarningKind::Approximated, m.key_span, &m.key, text);
    }
    Ok(Some(slice))
}

/// -1 leaves a clamp as it is.
fn clamp(source: &Source, keys: &mut Fields, key: &str) -> Result<Option<u16>, WorkloadError> {
    let Some(m) = keys.get(key) else { return Ok(None) };
    Ok(u16::try_from(source.int(m, -1, 1024)?).ok())
}

/// Ours: the slice that sched_setattr() is asked for, us; 0 takes it back.
fn slice(source: &Source, keys: &mut Fields) -> Result<Option<u64>, WorkloadError> {
    let Some(m) = keys.get("slice") else { return Ok(None) };
    let us = source.int(m, 0, i64::MAX)? as u64;
    let (min, max) = (MIN_SLICE_NS / 1000, MAX_SLICE_NS / 1000);
    if us > 0 && !(min..=max).contains(&us) {
        let expected = format!("expected {min} to {max} us, or 0 for the scheduler's own");
        return Err(source.error(m.value.span, format!("`slice` is {us}, out of range"), expected));
    }
    Ok(Some(us * 1000))
}

/// The attributes after `change`, as set_thread_param() of rt-app sets them.
pub(super) fn apply(source: &Source, old: SchedAttr, change: &SchedChange) -> Result<SchedAttr, WorkloadError> {
    let mut new = old;
    if let Some((priority, span)) = change.priority {
        new.policy = change.policy.unwrap_or(old.policy);
        let (min, max) = match new.policy {
            Policy::Fifo | Policy::Rr => (1, 99),
            Policy::Other | Policy::Batch => (-20, 19),
            // rt-app does not set it.
            Policy::Idle => (i64::MIN, i64::MAX),
        };
        if !(min..=max).contains(&priority) {
            let text = format!("`priority` is {priority}, out of range for {}", name_of(new.policy));
            return Err(source.error(span, text, format!("expected {min} to {max}")));
        }
        new.rt_priority = 0;
        match new.policy {
            Policy::Fifo | Policy::Rr => new.rt_priority = priority as u8,
            Policy::Other | Policy::Batch => new.nice = priority as i8,
            Policy::Idle => {}
        }
    }
    new.uclamp_min = change.util_min.unwrap_or(old.uclamp_min);
    new.uclamp_max = change.util_max.unwrap_or(old.uclamp_max);
    new.slice_ns = change.slice_ns.unwrap_or(old.slice_ns);
    Ok(new)
}

pub(super) fn name_of(policy: Policy) -> &'static str {
    POLICIES.iter().find(|(_, p)| *p == Some(policy)).map_or("?", |(n, _)| n)
}

/// The `cpus` of a task or phase.
pub(super) fn cpus(source: &Source, keys: &mut Fields, machine: &Machine) -> Result<Option<CpuMask>, WorkloadError> {
    let Some(m) = keys.get("cpus") else { return Ok(None) };
    let list = source.numbers(m, machine.nr_cpus() as i64, "CPU")?;
    if list.is_empty() {
        return Err(source.error(m.value.span, "`cpus` is empty", "expected at least one CPU"));
    }
    Ok(Some(list.into_iter().map(|c| c as CpuId).collect()))
}

/// Reads the properties that are not modelled.
pub(super) fn unmodelled(source: &mut Source, keys: &mut Fields, machine: &Machine) -> Result<(), WorkloadError> {
    if let Some(m) = keys.get("nodes_membind") {
        source.numbers(m, machine.nodes.len() as i64, "node")?;
        source.warn(WarningKind::Ignored, m.key_span, &m.key, "memory placement is not modelled");
    }
    Ok(())
}

/// The `taskgroup` of a task or phase, if it names one: `Some(None)` is the root group. `policy` is the one in force.
pub(super) fn taskgroup(
    source: &Source,
    keys: &mut Fields,
    policy: Policy,
    groups: &mut Groups,
) -> Result<Option<(Option<GroupId>, Span)>, WorkloadError> {
    let Some(m) = keys.get("taskgroup") else { return Ok(None) };
    let group = groups.id_of(source, source.string(m)?, m.value.span)?;
    if group.is_some() && policy.is_rt() {
        let text = format!("`taskgroup` under {}", name_of(policy));
        return Err(source.error(m.value.span, text, "only fair policies have task groups"));
    }
    Ok(Some((group, m.key_span)))
}

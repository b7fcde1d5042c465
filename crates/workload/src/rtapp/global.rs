//! The `global` section, and the legacy `resources`.

use fairground_machine::{suggest_from, Machine};

use super::fields::Fields;
use super::sched;
use super::source::Source;
use crate::error::WorkloadError;
use crate::json::{Member, Value};
use crate::program::Policy;
use crate::validate::MAX_DURATION_NS;
use crate::warning::WarningKind;

/// What the whole file shares.
pub(super) struct Global {
    /// Length of the run, ns.
    pub duration_ns: Option<u64>,
    /// Policy of tasks that state none.
    pub policy: Policy,
    /// Capacity of the CPU whose speed defines a microsecond of `run`, 1..=1024.
    pub calibration_capacity: u32,
    /// Time of a loop of `run` on that CPU, ns, at least 1: as the file gives it, else 1.
    pub ns_per_loop: u64,
    /// What names of logs begin with.
    pub log_basename: String,
    /// Logs have the sum of the slack of a round's timers.
    pub sums_slack: bool,
    /// Size of the buffer of `mem` and `iorun`, bytes.
    pub mem_buffer: u64,
    /// Whether `iorun` writes to /dev/null.
    pub null_device: bool,
}

/// rt-app's default buffer, bytes.
const MEM_BUFFER: i64 = 4_194_304;

/// Keys about rt-app's own files and memory, and what there is instead.
const NO_EFFECT: &[(&str, &str)] = &[
    ("lock_pages", "there are no pages to lock here"),
    ("logdir", "logs are written where the command's --rtapp-logs says"),
    ("log_size", "logs are written whole, and only where the command's --rtapp-logs says"),
    ("logsize", "logs are written whole, and only where the command's --rtapp-logs says"),
    ("gnuplot", "no plots are written; --rtapp-logs writes what they would show"),
    ("logstats", "has no meaning for rt-app either"),
    ("frag", "has no meaning for rt-app either"),
];

/// Every key of the section.
const KEYS: &[&str] = &[
    "duration",
    "calibration",
    "default_policy",
    "pi_enabled",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "gnuplot",
    "ftrace",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
];

/// What `ftrace` may list.
const FTRACE: &[&str] = &["main", "task", "loop", "event", "stats", "attrs", "none"];

pub(super) fn read(source: &mut Source, section: Option<&Member>, machine: &Machine) -> Result<Global, WorkloadError> {
    let mut global = Global {
        duration_ns: source.dialect.duration_ns,
        policy: Policy::Other,
        calibration_capacity: machine.cpus.first().map_or(1024, |c| c.capacity),
        ns_per_loop: 1,
        log_basename: "rt-app".into(),
        sums_slack: false,
        mem_buffer: MEM_BUFFER as u64,
        null_device: true,
    };
    let Some(section) = section else { return Ok(global) };
    let mut keys = Fields::parse(source, &section.value, "`global`")?;
    if let Some(m) = keys.get("duration") {
        global.duration_ns = duration(source, m)?;
    }
    if let Some(m) = keys.get("default_policy") {
        global.policy = sched::policy(source, m)?;
    }
    if let Some(m) = keys.get("calibration") {
        global.calibration_capacity = calibration(source, m, machine)?;
        if let Value::Int(ns @ 1..) = m.value.value {
            global.ns_per_loop = ns as u64;
        }
    }
    if let Some(m) = keys.get("pi_enabled") {
        if source.bool(m)? {
            source.warn(WarningKind::Ignored, m.key_span, &m.key, "priority inheritance of mutexes is not modelled");
        }
    }
    if let Some(m) = keys.get("mem_buffer_size") {
        global.mem_buffer = source.int(m, 1, i64::MAX)? as u64;
    }
    if let Some(m) = keys.get("io_device") {
        global.null_device = source.string(m)? == "/dev/null";
    }
    if let Some(m) = keys.get("log_basename") {
        global.log_basename = source.string(m)?.into();
    }
    if let Some(m) = keys.get("cumulative_slack") {
        global.sums_slack = source.bool(m)?;
    }
    no_effect(source, &mut keys)?;
    keys.warn_rest(source, KEYS, "is not a key of `global` and is ignored");
    Ok(global)
}

/// Length of the run, ns. As for rt-app only a positive duration ends it. What the command says instead is in range.
fn duration(source: &mut Source, m: &Member) -> Result<Option<u64>, WorkloadError> {
    const LONGEST: u64 = MAX_DURATION_NS / 1_000_000_000;
    let seconds = source.int(m, i64::from(i32::MIN), i64::MAX)?;
    let given = u64::try_from(seconds).ok().filter(|s| *s > 0);
    match (source.dialect.duration_ns, given) {
        (Some(instead), _) => Ok(Some(instead)),
        (None, Some(s)) if s > LONGEST => Err(source.error_with_help(
            m.value.span,
            format!("`duration` is {s} s"),
            format!("expected up to {LONGEST}"),
            Some("a shorter one behind the file's name is taken instead, as in FILE:duration=10".into()),
        )),
        (None, given) => Ok(given.map(|s| s * 1_000_000_000)),
    }
}

fn no_effect(source: &mut Source, keys: &mut Fields) -> Result<(), WorkloadError> {
    for (key, text) in NO_EFFECT {
        if let Some(m) = keys.get(key) {
            source.warn(WarningKind::NoEffect, m.key_span, &m.key, *text);
        }
    }
    let Some(m) = keys.get("ftrace") else { return Ok(()) };
    source.warn(
        WarningKind::NoEffect,
        m.key_span,
        &m.key,
        "every run can be traced; see the command's --trace and --rtapp-marks",
    );
    if matches!(m.value.value, Value::String(_)) {
        for name in source.string(m)?.split(',').map(str::trim).filter(|n| !FTRACE.contains(n)) {
            let text = format!(
                "rt-app rejects the category `{name}`; {}",
                suggest_from(name, "it has:", FTRACE.iter().copied())
            );
            source.warn(WarningKind::Suspicious, m.value.span, &m.key, text);
        }
    }
    Ok(())
}

/// The capacity whose microsecond `run` counts in.
fn calibration(source: &mut Source, m: &Member, machine: &Machine) -> Result<u32, WorkloadError> {
    if let Value::Int(_) = m.value.value {
        source.int(m, 0, i64::MAX)?;
        let text = "says how fast the author's CPU was; `run` is taken as us on a CPU of capacity 1024";
        source.warn(WarningKind::Approximated, m.key_span, &m.key, text);
        return Ok(1024);
    }
    let name = source.string(m)?;
    let number: Option<usize> = name.strip_prefix("CPU").and_then(|n| n.trim().parse().ok());
    let Some(number) = number else {
        return Err(source.error(
            m.value.span,
            format!("`calibration` is `{name}`"),
            "expected \"CPU<number>\" or ns per loop",
        ));
    };
    machine.cpus.get(number).map(|c| c.capacity).ok_or_else(|| {
        let last = machine.nr_cpus().saturating_sub(1);
        source.error(
            m.value.span,
            format!("`calibration` names CPU {number}, which the machine lacks"),
            format!("expected CPU0 to CPU{last}"),
        )
    })
}

/// Types of legacy resources.
const RESOURCES: &[&str] = &[
    "mutex",
    "wait",
    "signal",
    "broadcast",
    "sync",
    "sleep",
    "run",
    "runtime",
    "timer",
    "timer_unique",
    "suspend",
    "resume",
    "mem",
    "iorun",
    "memrun",
    "yield",
    "barrier",
    "fork",
    "sem_post",
    "sem_wait",
];

/// The legacy section only declares what events name anyway: nothing follows from it.
pub(super) fn check_resources(source: &mut Source, section: Option<&Member>) -> Result<(), WorkloadError> {
    let Some(section) = section else { return Ok(()) };
    if section.value.members().is_none() {
        let text = "is a number of resources in old files; they are created as events name them";
        source.warn(WarningKind::NoEffect, section.key_span, &section.key, text);
        return Ok(());
    }
    let mut names = Fields::parse(source, &section.value, "`resources`")?;
    for (_, m) in names.take(|_| true) {
        let mut resource = Fields::parse(source, &m.value, &format!("`{}`", m.key))?;
        if let Some(t) = resource.get("type") {
            let name = source.string(t)?;
            if !RESOURCES.contains(&name) {
                let help = suggest_from(name, "the types are:", RESOURCES.iter().copied());
                let text = format!("`{}` is of unknown type `{name}`", m.key);
                return Err(source.error_with_help(t.value.span, text, "expected a type of resource", Some(help)));
            }
        }
        resource.warn_rest(source, &["type"], "is not read in a resource");
    }
    Ok(())
}

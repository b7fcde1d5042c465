//! Tasks and their phases, as rt-app sees them.

use fairground_machine::{CpuId, CpuMask, Machine};

use super::event::{self, Event, EVENTS, EXTENSIONS};
use super::fields::Fields;
use super::global::Global;
use super::groups::Groups;
use super::sched::{self, SchedChange};
use super::source::Source;
use crate::error::WorkloadError;
use crate::json::{Member, Node, Span, Value};
use crate::options::NS_PER_US;
use crate::program::{GroupId, Policy, SchedAttr, TIMER_SLACK_NS};
use crate::validate::{MAX_TASKS, MAX_TIME_NS};
use crate::warning::WarningKind;

pub(super) struct Task {
    pub name: String,
    pub span: Span,
    /// Threads at the start; 0: only by `fork`.
    pub instances: u32,
    /// Time of the first phase, us after the start.
    pub delay: u64,
    /// Attributes at the start.
    pub attr: SchedAttr,
    pub cpus: Option<CpuMask>,
    /// The CPU it is bound to as a per-CPU kernel thread; `cpus` is that CPU then.
    pub kthread_cpu: Option<CpuId>,
    /// Ours: how much later than asked its sleeps may end.
    pub timer_slack_ns: u64,
    /// Its task group; `None`: the root group.
    pub group: Option<GroupId>,
    /// Name of its process; `None`: the one that all tasks share that name none.
    pub process: Option<String>,
    /// How often the phases run; `None`: for ever.
    pub times: Option<u64>,
    pub phases: Vec<Phase>,
}

pub(super) struct Phase {
    pub span: Span,
    /// How often it runs; `None`: for ever.
    pub times: Option<u64>,
    pub events: Vec<Event>,
    /// What it changes. Policies are resolved as in rt-app: by what is in force when the phase first runs.
    pub change: SchedChange,
    pub cpus: Option<CpuMask>,
    /// The task group it names, and where.
    pub group: Option<(Option<GroupId>, Span)>,
}

/// Keys of a task that a phase has not.
const TASK_KEYS: &[&str] = &["instance", "delay", "phases", "kthread_cpu", "process", "slack"];
/// Keys of a phase besides events.
const PHASE_KEYS: &[&str] = &[
    "loop",
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "cpus",
    "nodes_membind",
    "util_min",
    "util_max",
    "slice",
    "taskgroup",
];

/// Reads the section `tasks`.
pub(super) fn read_all(
    source: &mut Source,
    section: &Node,
    global: &Global,
    groups: &mut Groups,
    machine: &Machine,
) -> Result<Vec<Task>, WorkloadError> {
    let mut keys = Fields::parse(source, section, "`tasks`")?;
    let mut tasks = Vec::new();
    let mut threads = 0u64;
    for (name, member) in keys.take(|_| true) {
        let task = read(source, name, member, global, groups, machine)?;
        threads += u64::from(task.instances);
        if threads > MAX_TASKS {
            let text = format!("with `{}` there are {threads} threads", task.name);
            return Err(source.error(member.key_span, text, format!("expected at most {MAX_TASKS} in all")));
        }
        tasks.push(task);
    }
    Ok(tasks)
}

fn read(
    source: &mut Source,
    name: String,
    member: &Member,
    global: &Global,
    groups: &mut Groups,
    machine: &Machine,
) -> Result<Task, WorkloadError> {
    let span = member.key_span;
    let mut keys = Fields::parse(source, &member.value, &format!("task `{name}`"))?;
    let instances = int_or(source, &mut keys, "instance", 0, 1)? as u32;
    let delay = int_or(source, &mut keys, "delay", i64::from(i32::MIN), 0)?.max(0) as u64;
    let kthread_cpu = kthread_cpu(source, &mut keys, machine)?;
    let timer_slack_ns = timer_slack_ns(source, &mut keys)?;
    let process = process(source, &mut keys, kthread_cpu)?;
    let cpus = sched::cpus(source, &mut keys, machine)?.or(kthread_cpu.map(CpuMask::single));
    let change = sched::read(source, &mut keys, Some(global.policy), global.policy, span)?;
    let attr = sched::apply(source, SchedAttr::default(), &change)?;
    sched::unmodelled(source, &mut keys, machine)?;
    let own = sched::taskgroup(source, &mut keys, attr.policy, groups)?;
    let (group, phases) = (None, Vec::new());
    let mut task = Task {
        name,
        span,
        instances,
        delay,
        attr,
        cpus,
        kthread_cpu,
        timer_slack_ns,
        group,
        process,
        times: None,
        phases,
    };
    match keys.get("phases") {
        Some(phases) => {
            task.times = times(source, &mut keys, None)?;
            task.phases = read_phases(source, phases, attr.policy, groups, machine)?;
            keys.warn_rest(source, &[TASK_KEYS, PHASE_KEYS].concat(), beside_phases());
        }
        None => {
            task.times = keys.get("loop").map(|_| 1);
            let phase = read_phase(source, &mut keys, span, &task.name, attr.policy, groups, machine)?;
            slice_of_runtime(source, &member.value);
            // Properties stand at the task already.
            task.phases = vec![Phase { change: SchedChange::default(), cpus: None, ..phase }];
            keys.warn_rest(source, &known_keys(), "is not a key of a task and is ignored, as by rt-app");
        }
    }
    task.group = group_at_birth(source, own, &task.phases);
    Ok(task)
}

/// A thread has the group that its task or its first phase names, and keeps it.
fn group_at_birth(source: &mut Source, own: Option<(Option<GroupId>, Span)>, phases: &[Phase]) -> Option<GroupId> {
    let (group, _) = own.or(phases.first()?.group)?;
    for (_, span) in phases.iter().filter_map(|p| p.group).filter(|(other, _)| *other != group) {
        let text = "of this phase is another: threads do not change their group during a run";
        source.warn(WarningKind::Ignored, span, "taskgroup", text);
    }
    group
}

/// Ours: the task is a kernel thread of that CPU, and has no `cpus` of its own.
fn kthread_cpu(source: &Source, keys: &mut Fields, machine: &Machine) -> Result<Option<CpuId>, WorkloadError> {
    let Some(m) = keys.get("kthread_cpu") else { return Ok(None) };
    if let Some(cpus) = keys.get("cpus") {
        let text = "`cpus` beside `kthread_cpu`";
        return Err(source.error(cpus.key_span, text, "expected one of them: a kernel thread has its CPU"));
    }
    Ok(Some(source.int(m, 0, machine.nr_cpus() as i64 - 1)? as CpuId))
}

/// Ours: in us, as all times of the file.
fn timer_slack_ns(source: &Source, keys: &mut Fields) -> Result<u64, WorkloadError> {
    let Some(m) = keys.get("slack") else { return Ok(TIMER_SLACK_NS) };
    Ok(source.int(m, 0, MAX_TIME_NS as i64 / NS_PER_US as i64)? as u64 * NS_PER_US)
}

/// Ours: rt-app is one process. Tasks that name the same one are threads of it.
fn process(source: &Source, keys: &mut Fields, kthread_cpu: Option<CpuId>) -> Result<Option<String>, WorkloadError> {
    let Some(m) = keys.get("process") else { return Ok(None) };
    if kthread_cpu.is_some() {
        let text = "`process` beside `kthread_cpu`";
        return Err(source.error(m.key_span, text, "expected one of them: kernel threads are of no process"));
    }
    Ok(Some(source.string(m)?.to_owned()))
}

fn beside_phases() -> &'static str {
    "is not read beside `phases`: events belong into a phase"
}

fn known_keys() -> Vec<&'static str> {
    [TASK_KEYS, PHASE_KEYS, EVENTS, EXTENSIONS].concat()
}

/// rt-app reads `runtime` of a task without phases a second time, as its slice.
fn slice_of_runtime(source: &mut Source, task: &Node) {
    let runtime = task.members().into_iter().flatten().find(|m| m.key == "runtime");
    if let Some(m) = runtime.filter(|m| matches!(m.value.value, Value::Int(_))) {
        let text = "is run; rt-app also sets it as the task's custom slice, which only `dl-runtime` does here";
        source.warn(WarningKind::Approximated, m.key_span, &m.key, text);
    }
}

fn int_or(source: &Source, keys: &mut Fields, key: &str, min: i64, default: i64) -> Result<i64, WorkloadError> {
    keys.get(key).map_or(Ok(default), |m| source.int(m, min, i64::MAX))
}

/// A task's `loop`: negative is for ever, 0 is never.
fn times(source: &Source, keys: &mut Fields, default: Option<u64>) -> Result<Option<u64>, WorkloadError> {
    let Some(m) = keys.get("loop") else { return Ok(default) };
    Ok(u64::try_from(source.int(m, i64::from(i32::MIN), i64::MAX)?).ok())
}

fn read_phases(
    source: &mut Source,
    member: &Member,
    mut policy: Policy,
    groups: &mut Groups,
    machine: &Machine,
) -> Result<Vec<Phase>, WorkloadError> {
    let mut names = Fields::parse(source, &member.value, "`phases`")?;
    let mut phases = Vec::new();
    for (name, m) in names.take(|_| true) {
        let mut keys = Fields::parse(source, &m.value, &format!("phase `{name}`"))?;
        let mut phase = read_phase(source, &mut keys, m.key_span, &name, policy, groups, machine)?;
        keys.warn_rest(source, &known_keys(), "is not a key of a phase and is ignored, as by rt-app");
        if phase.change.priority.is_some() {
            policy = *phase.change.policy.get_or_insert(policy);
        }
        phases.push(phase);
    }
    if phases.is_empty() {
        return Err(source.error(member.value.span, "`phases` is empty", "expected at least one phase"));
    }
    Ok(phases)
}

/// Reads the properties and events of a phase, or of a task that is its own only phase.
fn read_phase(
    source: &mut Source,
    keys: &mut Fields,
    span: Span,
    name: &str,
    policy: Policy,
    groups: &mut Groups,
    machine: &Machine,
) -> Result<Phase, WorkloadError> {
    let times = phase_times(source, keys)?;
    let cpus = sched::cpus(source, keys, machine)?;
    let change = sched::read(source, keys, None, policy, span)?;
    sched::unmodelled(source, keys, machine)?;
    let group = sched::taskgroup(source, keys, change.policy.unwrap_or(policy), groups)?;
    let found = keys.take(|key| event::word_of(key).is_some());
    let events: Result<Vec<Event>, WorkloadError> = found
        .into_iter()
        .filter_map(|(key, m)| event::word_of(&key).map(|word| event::read(source, word, m, groups, machine)))
        .collect();
    let events = events?;
    if events.is_empty() {
        let meant = keys.misspelt(EVENTS).map(|(key, word)| format!("`{key}`: did you mean `{word}`? "));
        let help = format!("{}events are {}", meant.unwrap_or_default(), EVENTS.join(", "));
        let text = format!("`{name}` has no event, so rt-app refuses it");
        return Err(source.error_with_help(span, text, "expected an event in here", Some(help)));
    }
    Ok(Phase { span, times, events, change, cpus, group })
}

/// A phase's `loop`: rt-app counts up until it is equal, so that 0 and less are for ever.
fn phase_times(source: &mut Source, keys: &mut Fields) -> Result<Option<u64>, WorkloadError> {
    let Some(m) = keys.get("loop") else { return Ok(Some(1)) };
    let times = source.int(m, i64::from(i32::MIN), i64::MAX)?;
    if times == 0 {
        source.warn(WarningKind::Suspicious, m.key_span, &m.key, "of a phase is 0, which rt-app runs for ever");
    }
    Ok(u64::try_from(times).ok().filter(|n| *n > 0))
}

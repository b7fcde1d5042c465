//! Parses one event of a phase: its keyword and value.

use fairground_machine::{suggest_from, Machine};

use super::fields::Fields;
use super::groups::{self, Groups};
use super::source::Source;
use crate::clamp::{Clamp, GroupClamp};
use crate::cpuset::{GroupCpus, CPUSET_FILE};
use crate::error::WorkloadError;
use crate::json::{Member, Node, Span, Value};
use crate::program::{ClampOdds, Mark};
use crate::warning::WarningKind;

/// The words of rt-app. A key that begins with one of them is that event; of two words that fit, the longer.
pub const EVENTS: &[&str] = &[
    "lock", "unlock", "wait", "signal", "broad", "sync", "sleep", "runtime", "run", "timer", "suspend", "resume",
    "memrun", "mem", "iorun", "yield", "barrier", "fork", "sem_post", "sem_wait",
];

/// Our words, matched in the same way.
///
/// `pipe_write` and `pipe_read`: `{ "ref": NAME, "bytes": N }` (1..=4096); `socket_send` and `socket_recv`: the same
/// over an AF_UNIX stream; `pipe_poll`, `socket_poll`: NAME; `execve`: a new program image, any value; `reap`: `"one"`
/// or `"all"` children are waited for; `mark`: `"begin"`, `"steady"`, `"op"` or `"end"` for the workload's own score.
/// `stamp`, `stamp_call`: NAME; `sample`: `{ "since": "birth"|"call"|"stamp", "ref": STAMP, "tally": NAME }`;
/// `conclude`: TALLY; `enlist`, `call_listed`, `await_listed`: ROSTER;
/// `serial`: `{ "ref": NAME, "hold": US, "lines": N }`; `draw_clamp`: `{ "util_min": [...], "weight": [...] }`;
/// `cgroup`: `{ "ref": GROUP, "cpu.uclamp.min": PERCENT, "cpu.uclamp.max": PERCENT, "cpuset.cpus": CPUS }`, written in this
/// order.
pub const EXTENSIONS: &[&str] = &[
    "pipe_write",
    "pipe_read",
    "pipe_poll",
    "socket_send",
    "socket_recv",
    "socket_poll",
    "execve",
    "reap",
    "mark",
    "stamp",
    "stamp_call",
    "draw_clamp",
    "sample",
    "conclude",
    "enlist",
    "call_listed",
    "await_listed",
    "serial",
    "cgroup",
];

/// An event of a phase.
pub(super) struct Event {
    /// Its key, for messages.
    pub key: String,
    pub span: Span,
    pub action: Action,
}

/// What an event does. Times in us.
pub(super) enum Action {
    Run(u64),
    RunTime(u64),
    Sleep(u64),
    Timer { name: String, unique: bool, period: u64, absolute: bool },
    Lock(String),
    Unlock(String),
    Wait { cond: String, mutex: Option<String>, signal_first: bool },
    Signal(String),
    Broadcast(String),
    Suspend(Option<String>),
    Resume(String),
    Mem { bytes: u64 },
    IoRun { bytes: u64 },
    MemRun { bytes: u64, accesses: u64, random: bool },
    SemPost(String),
    SemWait(String),
    Yield,
    Barrier(String),
    Fork(String),
    PipeWrite { pipe: String, bytes: u32 },
    PipeRead { pipe: String, bytes: u32 },
    SockSend { sock: String, bytes: u32 },
    SockRecv { sock: String, bytes: u32 },
    PipePoll(String),
    SockPoll(String),
    Execve,
    Reap { all: bool },
    Mark(Mark),
    Stamp(String),
    StampCall(String),
    DrawClamp(Vec<ClampOdds>),
    Sample { since: SampledSince, tally: Option<String> },
    Conclude(String),
    Enlist(String),
    CallListed(String),
    AwaitListed(String),
    Serial { lock: String, hold: u64, lines: u32 },
    Cgroup(Vec<GroupChange>),
}

/// A file of a task group that is written.
pub(super) enum GroupChange {
    Clamp(GroupClamp),
    Cpus(GroupCpus),
}

/// From when a sample counts.
pub(super) enum SampledSince {
    Birth,
    Call,
    Stamp(String),
}

/// An instant that has no name.
#[derive(Clone, Copy)]
enum Instant {
    Birth,
    Call,
}

/// The event word a key begins with.
pub(super) fn word_of(key: &str) -> Option<&'static str> {
    let fitting = EVENTS.iter().chain(EXTENSIONS).filter(|w| key.starts_with(**w));
    fitting.copied().max_by_key(|w| w.len())
}

/// Reads the event that `word` names.
pub(super) fn read(
    source: &mut Source,
    word: &'static str,
    m: &Member,
    groups: &mut Groups,
    machine: &Machine,
) -> Result<Event, WorkloadError> {
    if m.value.value == Value::Missing && word != "suspend" {
        let text = format!("`{}` has no value", m.key);
        return Err(source.error(m.key_span, text, "expected `:` and a value; only `suspend` may stand alone"));
    }
    let action = match word {
        "run" | "runtime" | "sleep" | "mem" | "iorun" => counted(source, word, m)?,
        "timer" => timer(source, m)?,
        "wait" | "sync" => wait(source, word == "sync", m)?,
        "memrun" => memrun(source, m)?,
        "pipe_write" | "pipe_read" | "socket_send" | "socket_recv" => message(source, word, m)?,
        "suspend" => Action::Suspend(match &m.value.value {
            Value::String(_) => Some(source.string(m)?.to_string()),
            Value::Missing => None,
            _ => return Err(source.mismatch(m, "expected a string, or nothing")),
        }),
        "yield" => Action::Yield,
        "execve" => Action::Execve,
        "mark" => mark(source, m)?,
        "reap" => reap(source, m)?,
        "sample" => sample(source, m)?,
        "serial" => serial(source, m)?,
        "cgroup" => cgroup(source, m, groups, machine)?,
        "draw_clamp" => draw_clamp(source, m)?,
        _ => named(source, word, m)?,
    };
    Ok(Event { key: m.key.clone(), span: m.key_span, action })
}

/// Events whose value is a number of us or bytes.
fn counted(source: &Source, word: &str, m: &Member) -> Result<Action, WorkloadError> {
    let n = source.int(m, 0, i64::MAX)? as u64;
    Ok(match word {
        "run" => Action::Run(n),
        "runtime" => Action::RunTime(n),
        "sleep" => Action::Sleep(n),
        "mem" => Action::Mem { bytes: n },
        _ => Action::IoRun { bytes: n },
    })
}

/// Events whose value is the name of an object or task.
fn named(source: &Source, word: &'static str, m: &Member) -> Result<Action, WorkloadError> {
    if m.key == "lock_pages" {
        let help = "`lock_pages` belongs into `global`; here rt-app takes it for a `lock` event".to_string();
        return Err(source.error_with_help(m.key_span, "`lock_pages` in a task", "read as `lock`", Some(help)));
    }
    let name = source.string(m)?.to_string();
    Ok(match word {
        "lock" => Action::Lock(name),
        "unlock" => Action::Unlock(name),
        "signal" => Action::Signal(name),
        "broad" => Action::Broadcast(name),
        "resume" => Action::Resume(name),
        "sem_post" => Action::SemPost(name),
        "sem_wait" => Action::SemWait(name),
        "barrier" => Action::Barrier(name),
        "pipe_poll" => Action::PipePoll(name),
        "socket_poll" => Action::SockPoll(name),
        "stamp" => Action::Stamp(name),
        "stamp_call" => Action::StampCall(name),
        "conclude" => Action::Conclude(name),
        "enlist" => Action::Enlist(name),
        "call_listed" => Action::CallListed(name),
        "await_listed" => Action::AwaitListed(name),
        _ => Action::Fork(name),
    })
}

/// The parts of an event whose value is an object.
struct Parts<'a> {
    event: &'a str,
    node: &'a Node,
    keys: Fields<'a>,
}

impl<'a> Parts<'a> {
    fn parse(source: &mut Source, m: &'a Member) -> Result<Self, WorkloadError> {
        let keys = Fields::parse(source, &m.value, &format!("the value of `{}`", m.key))?;
        Ok(Parts { event: &m.key, node: &m.value, keys })
    }

    fn string(&mut self, source: &Source, key: &str) -> Result<Option<String>, WorkloadError> {
        self.keys.get(key).map(|m| source.string(m).map(str::to_string)).transpose()
    }

    /// A name that rt-app defaults to "unknown".
    fn name(&mut self, source: &mut Source) -> Result<String, WorkloadError> {
        self.name_or_unknown(source, "has no `ref`; rt-app then takes the name \"unknown\"")
    }

    /// The name in an event that rt-app does not have: by the same default.
    fn own_name(&mut self, source: &mut Source) -> Result<String, WorkloadError> {
        self.name_or_unknown(source, "has no `ref`; it shares the object \"unknown\" with all that have none")
    }

    fn name_or_unknown(&mut self, source: &mut Source, text: &str) -> Result<String, WorkloadError> {
        if let Some(name) = self.string(source, "ref")? {
            return Ok(name);
        }
        source.warn(WarningKind::Suspicious, self.node.span, self.event, text);
        Ok("unknown".into())
    }

    fn int(&mut self, source: &Source, key: &str, min: i64, max: i64, default: i64) -> Result<u64, WorkloadError> {
        let value = self.keys.get(key).map(|m| source.int(m, min, max)).transpose()?;
        Ok(value.unwrap_or(default) as u64)
    }

    fn finish(self, source: &mut Source, known: &[&str]) {
        self.keys.warn_rest(source, known, &format!("is not part of `{}` and is ignored", self.event));
    }
}

fn timer(source: &mut Source, m: &Member) -> Result<Action, WorkloadError> {
    let mut parts = Parts::parse(source, m)?;
    let name = parts.name(source)?;
    let period = parts.int(source, "period", 0, i64::MAX, 0)?;
    let mode = parts.string(source, "mode")?.unwrap_or_else(|| "relative".into());
    let absolute = mode.starts_with("absolute");
    if !absolute && mode != "relative" {
        let text = format!("`mode` is `{mode}`, which rt-app takes for `relative`; the modes are relative, absolute");
        source.warn(WarningKind::Suspicious, m.key_span, &m.key, text);
    }
    parts.finish(source, &["ref", "period", "mode"]);
    Ok(Action::Timer { unique: name.starts_with("unique"), name, period, absolute })
}

fn wait(source: &mut Source, signal_first: bool, m: &Member) -> Result<Action, WorkloadError> {
    let mut parts = Parts::parse(source, m)?;
    let cond = parts.name(source)?;
    let mutex = parts.string(source, "mutex")?;
    parts.finish(source, &["ref", "mutex"]);
    Ok(Action::Wait { cond, mutex, signal_first })
}

fn memrun(source: &mut Source, m: &Member) -> Result<Action, WorkloadError> {
    let mut parts = Parts::parse(source, m)?;
    let kind = parts.string(source, "type")?.unwrap_or_else(|| "read".into());
    let pattern = parts.string(source, "pattern")?.unwrap_or_else(|| "sequential".into());
    let bytes = parts.int(source, "size", 1, i64::MAX, 4_194_304)?;
    let accesses = parts.int(source, "count", 0, i64::MAX, 1)?;
    parts.int(source, "stride", 1, i64::MAX, 64)?;
    parts.string(source, "ref")?;
    parts.finish(source, &["type", "size", "count", "stride", "pattern", "ref"]);
    for (value, known) in [(&kind, &["read", "write", "chase"][..]), (&pattern, &["random", "sequential"])] {
        if !known.contains(&value.as_str()) {
            let help = suggest_from(value, "expected one of:", known.iter().copied());
            let text = format!("`{}` has unknown `{value}`", m.key);
            return Err(source.error_with_help(m.value.span, text, "type or pattern", Some(help)));
        }
    }
    Ok(Action::MemRun { bytes, accesses, random: kind == "chase" || pattern == "random" })
}

fn message(source: &mut Source, word: &str, m: &Member) -> Result<Action, WorkloadError> {
    let mut parts = Parts::parse(source, m)?;
    let name = parts.own_name(source)?;
    let max = if word == "pipe_write" { 4096 } else { i64::MAX };
    let bytes = parts.int(source, "bytes", 1, max, 1)? as u32;
    parts.finish(source, &["ref", "bytes"]);
    Ok(match word {
        "pipe_write" => Action::PipeWrite { pipe: name, bytes },
        "pipe_read" => Action::PipeRead { pipe: name, bytes },
        "socket_send" => Action::SockSend { sock: name, bytes },
        _ => Action::SockRecv { sock: name, bytes },
    })
}

fn reap(source: &Source, m: &Member) -> Result<Action, WorkloadError> {
    Ok(Action::Reap { all: one_of(source, m, "number of children", &[("one", false), ("all", true)])? })
}

fn sample(source: &mut Source, m: &Member) -> Result<Action, WorkloadError> {
    let mut parts = Parts::parse(source, m)?;
    let stamp = parts.string(source, "ref")?;
    let given = parts.keys.get("since");
    let since = given.map(|m| {
        one_of(source, m, "instant", &[("birth", Some(Instant::Birth)), ("call", Some(Instant::Call)), ("stamp", None)])
    });
    let since = match (since.transpose()?.flatten(), stamp) {
        (Some(Instant::Birth), None) => SampledSince::Birth,
        (Some(Instant::Call), None) => SampledSince::Call,
        (None, Some(stamp)) => SampledSince::Stamp(stamp),
        (None, None) => {
            let text = format!("`{}` does not say which stamp it counts from", m.key);
            return Err(source.error(m.value.span, text, "expected `ref` with the name of a stamp"));
        }
        (Some(_), Some(_)) => {
            let text = format!("`{}` names a stamp and counts from something else", m.key);
            return Err(source.error(m.value.span, text, "expected `ref` only with `since` \"stamp\""));
        }
    };
    let tally = parts.string(source, "tally")?;
    parts.finish(source, &["since", "ref", "tally"]);
    Ok(Action::Sample { since, tally })
}

fn serial(source: &mut Source, m: &Member) -> Result<Action, WorkloadError> {
    let mut parts = Parts::parse(source, m)?;
    let lock = parts.own_name(source)?;
    let hold = parts.int(source, "hold", 0, i64::MAX, 0)?;
    let lines = parts.int(source, "lines", 0, 1024, 0)? as u32;
    parts.finish(source, &["ref", "hold", "lines"]);
    Ok(Action::Serial { lock, hold, lines })
}

/// Clamps and CPUs of a group that change while threads run; its other files are set in the section `cgroups`.
fn cgroup(source: &mut Source, m: &Member, groups: &mut Groups, machine: &Machine) -> Result<Action, WorkloadError> {
    let mut parts = Parts::parse(source, m)?;
    let path = parts.string(source, "ref")?.unwrap_or_default();
    let Some(group) = groups.id_of(source, &path, m.value.span)? else {
        let text = format!("`{}` names no group", m.key);
        return Err(source.error(m.value.span, text, "expected `ref` with the path of a group below `/`"));
    };
    let mut changes = Vec::new();
    for clamp in [Clamp::Min, Clamp::Max] {
        if let Some(value) = parts.keys.get(clamp.file()) {
            let value = groups::clamp(source, value)?;
            changes.push(GroupChange::Clamp(GroupClamp { group, clamp, value }));
        }
    }
    if let Some(value) = parts.keys.get(CPUSET_FILE) {
        changes.push(GroupChange::Cpus(GroupCpus { group, cpus: groups::cpus(source, value, machine)? }));
    }
    if changes.is_empty() {
        let text = format!("`{}` writes nothing", m.key);
        return Err(source.error(m.value.span, text, "expected `cpu.uclamp.min`, `cpu.uclamp.max` or `cpuset.cpus`"));
    }
    parts.finish(source, &["ref", Clamp::Min.file(), Clamp::Max.file(), CPUSET_FILE]);
    Ok(Action::Cgroup(changes))
}

/// Floors, and how often each is drawn: once, unless weights say otherwise.
fn draw_clamp(source: &mut Source, m: &Member) -> Result<Action, WorkloadError> {
    let mut parts = Parts::parse(source, m)?;
    let problem = |v| format!("has {v}, which is out of range");
    let mut list = |key, range| parts.keys.get(key).map(|m| source.list(m, range, problem)).transpose();
    let floors = list("util_min", 0..=1024)?.unwrap_or_default();
    let weights = list("weight", 1..=u32::MAX.into())?.unwrap_or_else(|| vec![1; floors.len()]);
    if floors.is_empty() || floors.len() != weights.len() {
        let text = format!("`{}` has {} floors and {} weights", m.key, floors.len(), weights.len());
        return Err(source.error(m.value.span, text, "expected `util_min` and, of the same length, `weight`"));
    }
    parts.finish(source, &["util_min", "weight"]);
    let odds = |(floor, weight): (&i64, &i64)| ClampOdds { uclamp_min: *floor as u16, weight: *weight as u32 };
    Ok(Action::DrawClamp(floors.iter().zip(&weights).map(odds).collect()))
}

/// The meaning of one of a few words.
fn one_of<T: Copy>(source: &Source, m: &Member, what: &str, words: &[(&str, T)]) -> Result<T, WorkloadError> {
    let name = source.string(m)?;
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == name) {
        return Ok(*meaning);
    }
    let help = suggest_from(name, "expected one of:", words.iter().map(|(word, _)| *word));
    Err(source.error_with_help(m.value.span, format!("unknown {what} `{name}`"), "expected another word", Some(help)))
}

fn mark(source: &Source, m: &Member) -> Result<Action, WorkloadError> {
    const MARKS: &[(&str, Mark)] =
        &[("begin", Mark::Begin), ("steady", Mark::Steady), ("op", Mark::Op), ("end", Mark::End)];
    Ok(Action::Mark(one_of(source, m, "mark", MARKS)?))
}

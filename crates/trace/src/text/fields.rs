//! The fields of known events, in the forms in which tools print them:
//!
//! ```text
//! prev_comm=a b prev_pid=1 prev_prio=120 prev_state=1 next_comm=c next_pid=2 next_prio=120     raw
//! prev_comm=a b prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=c next_pid=2 next_prio=120 the kernel's
//! a b:1 [120] S ==> c:2 [120]                                                                  cooked by trace-cmd
//! comm=a b pid=1 prio=120 target_cpu=003
//! a b:1 [120] success=1 CPU:003
//! pid=1 comm=a b cpu=0 util_avg=5 uclamp_avg=300 uclamp_min=300 uclamp_max=800                 LISA's module
//! cpu=0 path=(null) comm=a b pid=1 load=5 util=5 rbl_load=5 update_time=9000                  the same
//! ```
//!
//! A name may contain any text, so the fields that follow it are searched from the end.

use super::line::digits;
use super::Thread;
use crate::record::IDLE_EXIT;

/// The kinds of known events, with their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEventKind<'a> {
    /// A context switch (sched_switch).
    Switch {
        /// Thread that stops running; pid 0: the idle task.
        prev: Thread<'a>,
        /// State in which `prev` leaves the CPU.
        left: PrevState,
        /// Thread that starts running; pid 0: the idle task.
        next: Thread<'a>,
        /// The kernel's priority of `next`, if recorded: 100 to 139 is nice -20 to 19, 0 to 98 real time 99 to 1, -1
        /// a deadline.
        prio: Option<i32>,
        /// How much later `next` runs, ns. 0 as recorded: the event is at the end of the switch. Events that
        /// [`AtDecision`] returns are at the decision.
        ///
        /// [`AtDecision`]: crate::AtDecision
        cost: u64,
    },
    /// A wakeup begins: the thread is about to be placed (sched_waking).
    Waking {
        /// The thread that is about to wake.
        task: Thread<'a>,
        /// CPU on which it ran before.
        cpu: u32,
    },
    /// A thread was put on a run queue (sched_wakeup, sched_wakeup_new).
    Wakeup {
        /// The thread that was woken.
        task: Thread<'a>,
        /// CPU of the run queue.
        cpu: u32,
        /// Whether it is a new thread (sched_wakeup_new).
        new: bool,
    },
    /// A migration (sched_migrate_task).
    Migrate {
        /// The thread that changes its CPU.
        task: Thread<'a>,
        /// CPU that the task leaves.
        from: u32,
        /// CPU that the task moves to.
        to: u32,
    },
    /// A new thread or process (sched_process_fork).
    Fork {
        /// The thread that calls fork or clone.
        parent: Thread<'a>,
        /// The child; its comm before exec.
        child: Thread<'a>,
    },
    /// A new program (sched_process_exec).
    Exec {
        /// Pid of the thread.
        pid: u32,
    },
    /// The exit of a thread begins (sched_process_exit).
    Exit {
        /// The thread that exits.
        task: Thread<'a>,
    },
    /// Run time since the last such event (sched_stat_runtime).
    Runtime {
        /// The thread whose run time is accounted.
        task: Thread<'a>,
        /// Duration, ns.
        ns: u64,
    },
    /// Entry into or exit from an idle state (cpu_idle).
    Idle {
        /// CPU that the event is about.
        cpu: u32,
        /// The idle state that the CPU requests; `None`: the CPU leaves idle.
        state: Option<u32>,
    },
    /// A clamped utilization was updated (uclamp_util_se, uclamp_util_cfs).
    Clamps {
        /// The task; `None`: the run queue.
        task: Option<Thread<'a>>,
        /// CPU of the run queue.
        cpu: u32,
        /// Utilization before clamping.
        util: u32,
        /// Utilization after clamping, 0 to 1024.
        clamped: u32,
        /// Effective `uclamp.min`, 0 to 1024.
        min: u32,
        /// Effective `uclamp.max`, 0 to 1024.
        max: u32,
    },
    /// PELT signals were updated (sched_pelt_se, sched_pelt_cfs).
    Signals {
        /// The task; `None`: the run queue.
        task: Option<Thread<'a>>,
        /// CPU of the run queue.
        cpu: u32,
        /// Load: 1024 for a task of nice 0 that is always runnable; for a queue the sum over its tasks.
        load: u64,
        /// Utilization, 0 to 1024.
        util: u64,
        /// Runnable signal: 1024 for each task that is always runnable.
        runnable: u64,
    },
    /// A frequency change (cpu_frequency).
    Frequency {
        /// CPU that the event is about.
        cpu: u32,
        /// The new frequency, kHz.
        khz: u32,
    },
    /// A write to trace_marker (print event).
    Print(&'a str),
}

/// State in which a task leaves its CPU (prev_state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrevState {
    /// The task is still runnable: it was preempted, or it yielded.
    Runnable,
    /// The task sleeps in any state, or is dead.
    Sleeping,
}

impl PrevState {
    /// From the kernel's number: the low byte is 0 if the task is runnable (the bits above say preempted).
    pub(crate) fn from_kernel(state: u64) -> PrevState {
        match state & 0xff {
            0 => PrevState::Runnable,
            _ => PrevState::Sleeping,
        }
    }
}

impl TraceEventKind<'_> {
    /// Whether the event is about threads: a recording begins with the first such event.
    pub(crate) fn is_of_threads(&self) -> bool {
        match self {
            TraceEventKind::Switch { .. } | TraceEventKind::Waking { .. } | TraceEventKind::Wakeup { .. } => true,
            TraceEventKind::Fork { .. } | TraceEventKind::Exec { .. } | TraceEventKind::Exit { .. } => true,
            TraceEventKind::Migrate { .. } | TraceEventKind::Runtime { .. } | TraceEventKind::Idle { .. } => false,
            TraceEventKind::Clamps { .. }
            | TraceEventKind::Signals { .. }
            | TraceEventKind::Frequency { .. }
            | TraceEventKind::Print(_) => false,
        }
    }

    /// Parses the fields of an event. `None` if the event is not known. The error states the expected fields.
    pub fn parse<'a>(event: &str, fields: &'a str) -> Result<Option<TraceEventKind<'a>>, &'static str> {
        let (parsed, expected) = match event {
            "sched_switch" => (switch(fields), "sched_switch with the name and pid of both tasks and the state of one"),
            "sched_waking" => (
                wakeup(fields).map(|(task, cpu)| TraceEventKind::Waking { task, cpu }),
                "sched_waking with comm, pid, target_cpu",
            ),
            "sched_wakeup" | "sched_wakeup_new" => {
                let new = event == "sched_wakeup_new";
                let what = wakeup(fields).map(|(task, cpu)| TraceEventKind::Wakeup { task, cpu, new });
                (what, "sched_wakeup with comm, pid, target_cpu")
            }
            "sched_migrate_task" => (migrate(fields), "sched_migrate_task with comm, pid, orig_cpu, dest_cpu"),
            "sched_process_fork" => (fork(fields), "sched_process_fork with the name and pid of both tasks"),
            "sched_process_exec" => (exec(fields), "sched_process_exec with pid"),
            "sched_process_exit" => (exit(fields), "sched_process_exit with comm, pid"),
            "sched_stat_runtime" => (runtime(fields), "sched_stat_runtime with comm, pid, runtime"),
            "cpu_idle" => (idle(fields), "cpu_idle with state, cpu_id"),
            "uclamp_util_cfs" => {
                (clamps(None, fields), "uclamp_util_cfs with cpu, util_avg, uclamp_avg, uclamp_min, uclamp_max")
            }
            "uclamp_util_se" => (
                task_among(fields).and_then(|(task, others)| clamps(Some(task), &others)),
                "uclamp_util_se with pid, comm, cpu, util_avg, uclamp_avg, uclamp_min, uclamp_max",
            ),
            "sched_pelt_cfs" => (signals(None, fields), "sched_pelt_cfs with cpu, load, util, rbl_load"),
            "sched_pelt_se" => (
                task_among(fields).and_then(|(task, others)| signals(Some(task), &others)),
                "sched_pelt_se with cpu, comm, pid, load, util, rbl_load",
            ),
            "cpu_frequency" => (frequency(fields), "cpu_frequency with state, cpu_id"),
            "print" | "tracing_mark_write" => {
                // In a field-by-field form, the address of the writer comes before the text.
                let said =
                    fields.strip_prefix("ip=").and_then(|f| f.split_once(" buf=")).map_or(fields, |(_, said)| said);
                (Some(TraceEventKind::Print(said.strip_prefix("tracing_mark_write: ").unwrap_or(said))), "")
            }
            _ => return Ok(None),
        };
        parsed.map(Some).ok_or(expected)
    }
}

fn switch(fields: &str) -> Option<TraceEventKind<'_>> {
    match fields.strip_prefix("prev_comm=") {
        Some(fields) => {
            let (left, right) = fields.rsplit_once("next_comm=")?;
            let (prev, rest) = named(left, " prev_pid=")?;
            let (next, after) = named(right, " next_pid=")?;
            let prio = value(after, "next_prio=").and_then(|prio| prio.parse().ok());
            Some(TraceEventKind::Switch { prev, left: state(value(rest, "prev_state=")?)?, next, prio, cost: 0 })
        }
        None => {
            let (left, right) = fields.rsplit_once(" ==> ")?;
            let (prev, rest) = cooked(left)?;
            let (next, _) = cooked(right)?;
            let prio = right.rsplit_once(" [").and_then(|(_, prio)| prio.split(']').next()?.parse().ok());
            Some(TraceEventKind::Switch { prev, left: state(rest.rsplit(' ').next()?)?, next, prio, cost: 0 })
        }
    }
}

fn wakeup(fields: &str) -> Option<(Thread<'_>, u32)> {
    match fields.strip_prefix("comm=") {
        Some(fields) => {
            let (task, rest) = named(fields, " pid=")?;
            Some((task, number(value(rest, "target_cpu=")?)?))
        }
        None => {
            let (task, rest) = cooked(fields)?;
            Some((task, number(value(rest, "CPU:")?)?))
        }
    }
}

fn migrate(fields: &str) -> Option<TraceEventKind<'_>> {
    let (task, rest) = named(fields.strip_prefix("comm=")?, " pid=")?;
    let cpu = |key| number(value(rest, key)?);
    Some(TraceEventKind::Migrate { task, from: cpu("orig_cpu=")?, to: cpu("dest_cpu=")? })
}

/// Parses the kernel's form, and the field-by-field form, in which the parent's fields have other names.
fn fork(fields: &str) -> Option<TraceEventKind<'_>> {
    let (fields, pid) = match fields.strip_prefix("parent_comm=") {
        Some(fields) => (fields, " parent_pid="),
        None => (fields.strip_prefix("comm=")?, " pid="),
    };
    let (left, right) = fields.rsplit_once(" child_comm=")?;
    let (parent, _) = named(left, pid)?;
    let (child, _) = named(right, " child_pid=")?;
    Some(TraceEventKind::Fork { parent, child })
}

fn exec(fields: &str) -> Option<TraceEventKind<'_>> {
    // A file's name may hold anything: what follows it is looked for from the end.
    let (_, rest) = fields.rsplit_once(" pid=")?;
    Some(TraceEventKind::Exec { pid: number(rest.split(' ').next()?)? })
}

fn exit(fields: &str) -> Option<TraceEventKind<'_>> {
    let (task, _) = named(fields.strip_prefix("comm=")?, " pid=")?;
    Some(TraceEventKind::Exit { task })
}

fn runtime(fields: &str) -> Option<TraceEventKind<'_>> {
    let (task, rest) = named(fields.strip_prefix("comm=")?, " pid=")?;
    Some(TraceEventKind::Runtime { task, ns: digits(value(rest, "runtime=")?)? })
}

fn idle(fields: &str) -> Option<TraceEventKind<'_>> {
    let number = |key| number(value(fields, key)?);
    let state = number("state=")?;
    Some(TraceEventKind::Idle { cpu: number("cpu_id=")?, state: (state != IDLE_EXIT).then_some(state) })
}

fn clamps<'a>(task: Option<Thread<'a>>, fields: &str) -> Option<TraceEventKind<'a>> {
    let number = |key| number(value(fields, key)?);
    Some(TraceEventKind::Clamps {
        task,
        cpu: number("cpu=")?,
        util: number("util_avg=")?,
        clamped: number("uclamp_avg=")?,
        min: number("uclamp_min=")?,
        max: number("uclamp_max=")?,
    })
}

fn signals<'a>(task: Option<Thread<'a>>, fields: &str) -> Option<TraceEventKind<'a>> {
    let number = |key| digits(value(fields, key)?);
    Some(TraceEventKind::Signals {
        task,
        cpu: u32::try_from(number("cpu=")?).ok()?,
        load: number("load=")?,
        util: number("util=")?,
        runnable: number("rbl_load=")?,
    })
}

/// The thread, and the other fields. pid and cpu stand on either side of the name.
fn task_among(fields: &str) -> Option<(Thread<'_>, String)> {
    let (before, rest) = fields.split_once("comm=")?;
    let end = rest.rfind(if before.contains("pid=") { " cpu=" } else { " pid=" })?;
    let (comm, after) = rest.split_at(end);
    let others = format!("{before}{after}");
    Some((Thread { comm, pid: number(value(&others, "pid=")?)? }, others))
}

fn frequency(fields: &str) -> Option<TraceEventKind<'_>> {
    let number = |key| number(value(fields, key)?);
    Some(TraceEventKind::Frequency { cpu: number("cpu_id=")?, khz: number("state=")? })
}

/// `NAME pid=PID REST`: the thread, and the rest.
pub fn named<'a>(text: &'a str, pid: &str) -> Option<(Thread<'a>, &'a str)> {
    let (comm, rest) = text.rsplit_once(pid)?;
    let (pid, rest) = rest.trim_start().split_once(' ').unwrap_or((rest, ""));
    Some((Thread { comm, pid: number(pid)? }, rest))
}

/// `NAME:PID [PRIO] REST`: the thread, and the rest.
fn cooked(text: &str) -> Option<(Thread<'_>, &str)> {
    let (thread, rest) = text.rsplit_once(" [")?;
    let (comm, pid) = thread.rsplit_once(':')?;
    let (_, rest) = rest.split_once(']')?;
    Some((Thread { comm, pid: number(pid)? }, rest))
}

/// What stands behind `key` in a list of words.
pub fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_whitespace().find_map(|word| word.strip_prefix(key))
}

fn number(text: &str) -> Option<u32> {
    digits(text)?.try_into().ok()
}

/// Letters, R first if it is runnable; or the number.
fn state(text: &str) -> Option<PrevState> {
    let hex = text.strip_prefix("0x").map(|h| u64::from_str_radix(h, 16).ok());
    match (hex, digits(text)) {
        (Some(hex), _) => hex.map(PrevState::from_kernel),
        (None, Some(state)) => Some(PrevState::from_kernel(state)),
        (None, None) => match text.chars().next().filter(char::is_ascii_alphabetic)? {
            'R' => Some(PrevState::Runnable),
            _ => Some(PrevState::Sleeping),
        },
    }
}

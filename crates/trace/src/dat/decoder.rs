//! Decodes the records of known events.

use std::fmt::Write;

use super::bytes::Order;
use super::format::{Field, Format, Kind};
use crate::names::OURS;
use crate::record::IDLE_EXIT;
use crate::source::push_sanitized;
use crate::text::{PrevState, Thread, TraceEventKind};

/// Offsets of the fields of an event that are read.
#[derive(Debug)]
pub struct EventDecoder {
    /// Least length of a record, bytes.
    len: usize,
    parts: EventFields,
}

/// A thread's name and pid.
type ThreadFields = (Field, Field);

#[derive(Debug)]
enum EventFields {
    Switch {
        prev: ThreadFields,
        state: Field,
        next: ThreadFields,
        prio: Option<Field>,
    },
    Waking {
        task: ThreadFields,
        cpu: Field,
    },
    Wakeup {
        task: ThreadFields,
        cpu: Field,
        new: bool,
    },
    Migrate {
        task: ThreadFields,
        from: Field,
        to: Field,
    },
    Fork {
        parent: ThreadFields,
        child: ThreadFields,
    },
    Exec {
        pid: Field,
    },
    Exit {
        task: ThreadFields,
    },
    Runtime {
        task: ThreadFields,
        ns: Field,
    },
    Idle {
        cpu: Field,
        state: Field,
    },
    Frequency {
        cpu: Field,
        khz: Field,
    },
    Clamps {
        task: Option<ThreadFields>,
        cpu: Field,
        values: [Field; 4],
    },
    Signals {
        task: Option<ThreadFields>,
        cpu: Field,
        values: [Field; 3],
    },
    Print(Field),
    /// An event of ours: what it says is the text of a print.
    Ours {
        name: String,
        fields: Vec<Field>,
    },
}

/// Strings of the present event.
#[derive(Default)]
pub struct EventText {
    first: String,
    second: String,
}

impl EventDecoder {
    /// The decoder for an event format; `None` if the event is not used.
    ///
    /// # Errors
    /// If the format lacks a field; the error is its name.
    pub fn for_format(format: &Format) -> Result<Option<EventDecoder>, &'static str> {
        let field = |name: &'static str| format.field(name).cloned().ok_or(name);
        let task = || Ok::<ThreadFields, &'static str>((field("comm")?, field("pid")?));
        let parts = match format.name.as_str() {
            "sched_switch" => EventFields::Switch {
                prev: (field("prev_comm")?, field("prev_pid")?),
                state: field("prev_state")?,
                next: (field("next_comm")?, field("next_pid")?),
                prio: field("next_prio").ok(),
            },
            "sched_waking" => EventFields::Waking { task: task()?, cpu: field("target_cpu")? },
            name @ ("sched_wakeup" | "sched_wakeup_new") => {
                EventFields::Wakeup { task: task()?, cpu: field("target_cpu")?, new: name == "sched_wakeup_new" }
            }
            "sched_migrate_task" => {
                EventFields::Migrate { task: task()?, from: field("orig_cpu")?, to: field("dest_cpu")? }
            }
            "sched_process_fork" => EventFields::Fork {
                parent: (field("parent_comm")?, field("parent_pid")?),
                child: (field("child_comm")?, field("child_pid")?),
            },
            "sched_process_exec" => EventFields::Exec { pid: field("pid")? },
            "sched_process_exit" => EventFields::Exit { task: task()? },
            "sched_stat_runtime" => EventFields::Runtime { task: task()?, ns: field("runtime")? },
            "cpu_idle" => EventFields::Idle { cpu: field("cpu_id")?, state: field("state")? },
            "cpu_frequency" => EventFields::Frequency { cpu: field("cpu_id")?, khz: field("state")? },
            name @ ("uclamp_util_se" | "uclamp_util_cfs") => EventFields::Clamps {
                task: (name == "uclamp_util_se").then(task).transpose()?,
                cpu: field("cpu")?,
                values: [field("util_avg")?, field("uclamp_avg")?, field("uclamp_min")?, field("uclamp_max")?],
            },
            name @ ("sched_pelt_se" | "sched_pelt_cfs") => EventFields::Signals {
                task: (name == "sched_pelt_se").then(task).transpose()?,
                cpu: field("cpu")?,
                values: [field("load")?, field("util")?, field("rbl_load")?],
            },
            "print" => EventFields::Print(field("buf")?),
            name if name.starts_with(OURS) => {
                let fields = format.fields.iter().filter(|f| !f.name.starts_with("common_")).cloned();
                EventFields::Ours { name: name.to_owned(), fields: fields.collect() }
            }
            _ => return Ok(None),
        };
        let len = parts.fields().iter().map(|f| f.end()).max().unwrap_or(0);
        Ok(Some(EventDecoder { len, parts }))
    }

    /// The record has all that is looked for.
    pub fn fits(&self, record: &[u8]) -> bool {
        record.len() >= self.len
    }

    /// Copies the names and texts of a record.
    pub fn words(&self, record: &[u8], order: Order, words: &mut EventText) {
        let mut copy = |(comm, _): &ThreadFields, to: fn(&mut EventText) -> &mut String| {
            let text = to(words);
            text.clear();
            push_sanitized(text, comm.text(record, order), false);
        };
        match &self.parts {
            EventFields::Switch { prev, next, .. } => {
                copy(prev, |w| &mut w.first);
                copy(next, |w| &mut w.second);
            }
            EventFields::Fork { parent, child } => {
                copy(parent, |w| &mut w.first);
                copy(child, |w| &mut w.second);
            }
            EventFields::Waking { task, .. } | EventFields::Wakeup { task, .. } => copy(task, |w| &mut w.first),
            EventFields::Migrate { task, .. } | EventFields::Runtime { task, .. } => copy(task, |w| &mut w.first),
            EventFields::Exit { task } => copy(task, |w| &mut w.first),
            EventFields::Clamps { task, .. } | EventFields::Signals { task, .. } => {
                task.iter().for_each(|task| copy(task, |w| &mut w.first))
            }
            EventFields::Exec { .. } | EventFields::Idle { .. } | EventFields::Frequency { .. } => {}
            EventFields::Print(text) => {
                words.first.clear();
                push_sanitized(&mut words.first, text.text(record, order).trim_ascii_end(), false);
            }
            EventFields::Ours { name, fields } => {
                words.first.clear();
                words.first.push_str(name);
                fields.iter().enumerate().for_each(|(i, f)| push_field(&mut words.first, i == 0, f, record, order));
            }
        }
    }

    /// The event, with strings borrowed from `text`.
    pub fn event_kind<'a>(&self, record: &[u8], order: Order, words: &'a EventText) -> TraceEventKind<'a> {
        let number = |field: &Field| field.number(record, order) as u32;
        let first = |(_, pid): &ThreadFields| Thread { comm: &words.first, pid: number(pid) };
        let second = |(_, pid): &ThreadFields| Thread { comm: &words.second, pid: number(pid) };
        match &self.parts {
            EventFields::Switch { prev, state, next, prio } => {
                let runnable = state.number(record, order) & 0xff == 0;
                let left = if runnable { PrevState::Runnable } else { PrevState::Sleeping };
                let prio = prio.as_ref().map(|field| number(field) as i32);
                TraceEventKind::Switch { prev: first(prev), left, next: second(next), prio, cost: 0 }
            }
            EventFields::Waking { task, cpu } => TraceEventKind::Waking { task: first(task), cpu: number(cpu) },
            EventFields::Wakeup { task, cpu, new } => {
                TraceEventKind::Wakeup { task: first(task), cpu: number(cpu), new: *new }
            }
            EventFields::Migrate { task, from, to } => {
                TraceEventKind::Migrate { task: first(task), from: number(from), to: number(to) }
            }
            EventFields::Fork { parent, child } => TraceEventKind::Fork { parent: first(parent), child: second(child) },
            EventFields::Exec { pid } => TraceEventKind::Exec { pid: number(pid) },
            EventFields::Exit { task } => TraceEventKind::Exit { task: first(task) },
            EventFields::Runtime { task, ns } => {
                TraceEventKind::Runtime { task: first(task), ns: ns.number(record, order) }
            }
            EventFields::Idle { cpu, state } => {
                let state = Some(number(state)).filter(|state| *state != IDLE_EXIT);
                TraceEventKind::Idle { cpu: number(cpu), state }
            }
            EventFields::Frequency { cpu, khz } => TraceEventKind::Frequency { cpu: number(cpu), khz: number(khz) },
            EventFields::Clamps { task, cpu, values } => {
                let [util, clamped, min, max] = values.each_ref().map(number);
                TraceEventKind::Clamps { task: task.as_ref().map(first), cpu: number(cpu), util, clamped, min, max }
            }
            EventFields::Signals { task, cpu, values } => {
                let [load, util, runnable] = values.each_ref().map(|field| field.number(record, order));
                TraceEventKind::Signals { task: task.as_ref().map(first), cpu: number(cpu), load, util, runnable }
            }
            EventFields::Print(_) | EventFields::Ours { .. } => TraceEventKind::Print(&words.first),
        }
    }
}

impl EventFields {
    fn fields(&self) -> Vec<&Field> {
        fn with_thread_fields<'a>((comm, pid): &'a ThreadFields, others: &[&'a Field]) -> Vec<&'a Field> {
            [&[comm, pid], others].concat()
        }
        match self {
            EventFields::Switch { prev, state, next, prio } => {
                let fields = with_thread_fields(prev, &[state, &next.0, &next.1]);
                fields.into_iter().chain(prio).collect()
            }
            EventFields::Waking { task, cpu } | EventFields::Wakeup { task, cpu, .. } => {
                with_thread_fields(task, &[cpu])
            }
            EventFields::Migrate { task, from, to } => with_thread_fields(task, &[from, to]),
            EventFields::Fork { parent, child } => with_thread_fields(parent, &[&child.0, &child.1]),
            EventFields::Exec { pid } => vec![pid],
            EventFields::Exit { task } => with_thread_fields(task, &[]),
            EventFields::Runtime { task, ns } => with_thread_fields(task, &[ns]),
            EventFields::Idle { cpu, state } => vec![cpu, state],
            EventFields::Frequency { cpu, khz } => vec![cpu, khz],
            EventFields::Clamps { task, cpu, values } => {
                let task = task.iter().flat_map(|(comm, pid)| [comm, pid]);
                task.chain([cpu]).chain(values).collect()
            }
            EventFields::Signals { task, cpu, values } => {
                let task = task.iter().flat_map(|(comm, pid)| [comm, pid]);
                task.chain([cpu]).chain(values).collect()
            }
            EventFields::Print(text) => vec![text],
            EventFields::Ours { fields, .. } => fields.iter().collect(),
        }
    }
}

/// `KEY=VALUE` behind a colon or a space.
fn push_field(text: &mut String, first: bool, field: &Field, record: &[u8], order: Order) {
    text.push_str(if first { ": " } else { " " });
    text.push_str(&field.name);
    text.push('=');
    let n = field.number(record, order);
    // Writing to a string cannot fail.
    let _ = match field.kind {
        Kind::Number { signed: true } => write!(text, "{}", n as i64),
        Kind::Number { signed: false } => write!(text, "{n}"),
        Kind::Text | Kind::Elsewhere { .. } => {
            push_sanitized(text, field.text(record, order), false);
            Ok(())
        }
    };
}

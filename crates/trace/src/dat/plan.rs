//! How the events that are known are taken out of their records.

use std::fmt::Write;

use super::bytes::Order;
use super::format::{Field, Format, Kind};
use crate::clean::push_clean;
use crate::record::{IDLE_EXIT, OURS};
use crate::text::{Left, Thread, What};

/// Where an event has what must be known of it.
#[derive(Debug)]
pub struct Plan {
    /// A record of fewer bytes has not all of it.
    len: usize,
    parts: Parts,
}

/// A thread's name and pid.
type Who = (Field, Field);

#[derive(Debug)]
enum Parts {
    Switch {
        prev: Who,
        state: Field,
        next: Who,
        prio: Option<Field>,
    },
    Waking {
        task: Who,
        cpu: Field,
    },
    Wakeup {
        task: Who,
        cpu: Field,
        new: bool,
    },
    Migrate {
        task: Who,
        from: Field,
        to: Field,
    },
    Fork {
        parent: Who,
        child: Who,
    },
    Exec {
        pid: Field,
    },
    Exit {
        task: Who,
    },
    Runtime {
        task: Who,
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
        task: Option<Who>,
        cpu: Field,
        values: [Field; 4],
    },
    Signals {
        task: Option<Who>,
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

/// Names and texts of the present event.
#[derive(Default)]
pub struct Words {
    first: String,
    second: String,
}

impl Plan {
    /// Of an event; none if it is not known.
    ///
    /// # Errors
    /// The name of a field that it should have.
    pub fn of(format: &Format) -> Result<Option<Plan>, &'static str> {
        let field = |name: &'static str| format.field(name).cloned().ok_or(name);
        let task = || Ok::<Who, &'static str>((field("comm")?, field("pid")?));
        let parts = match format.name.as_str() {
            "sched_switch" => Parts::Switch {
                prev: (field("prev_comm")?, field("prev_pid")?),
                state: field("prev_state")?,
                next: (field("next_comm")?, field("next_pid")?),
                prio: field("next_prio").ok(),
            },
            "sched_waking" => Parts::Waking { task: task()?, cpu: field("target_cpu")? },
            name @ ("sched_wakeup" | "sched_wakeup_new") => {
                Parts::Wakeup { task: task()?, cpu: field("target_cpu")?, new: name == "sched_wakeup_new" }
            }
            "sched_migrate_task" => Parts::Migrate { task: task()?, from: field("orig_cpu")?, to: field("dest_cpu")? },
            "sched_process_fork" => Parts::Fork {
                parent: (field("parent_comm")?, field("parent_pid")?),
                child: (field("child_comm")?, field("child_pid")?),
            },
            "sched_process_exec" => Parts::Exec { pid: field("pid")? },
            "sched_process_exit" => Parts::Exit { task: task()? },
            "sched_stat_runtime" => Parts::Runtime { task: task()?, ns: field("runtime")? },
            "cpu_idle" => Parts::Idle { cpu: field("cpu_id")?, state: field("state")? },
            "cpu_frequency" => Parts::Frequency { cpu: field("cpu_id")?, khz: field("state")? },
            name @ ("uclamp_util_se" | "uclamp_util_cfs") => Parts::Clamps {
                task: (name == "uclamp_util_se").then(task).transpose()?,
                cpu: field("cpu")?,
                values: [field("util_avg")?, field("uclamp_avg")?, field("uclamp_min")?, field("uclamp_max")?],
            },
            name @ ("sched_pelt_se" | "sched_pelt_cfs") => Parts::Signals {
                task: (name == "sched_pelt_se").then(task).transpose()?,
                cpu: field("cpu")?,
                values: [field("load")?, field("util")?, field("rbl_load")?],
            },
            "print" => Parts::Print(field("buf")?),
            name if name.starts_with(OURS) => {
                let fields = format.fields.iter().filter(|f| !f.name.starts_with("common_")).cloned();
                Parts::Ours { name: name.to_owned(), fields: fields.collect() }
            }
            _ => return Ok(None),
        };
        let len = parts.fields().iter().map(|f| f.end()).max().unwrap_or(0);
        Ok(Some(Plan { len, parts }))
    }

    /// The record has all that is looked for.
    pub fn fits(&self, record: &[u8]) -> bool {
        record.len() >= self.len
    }

    /// Copies names and texts.
    pub fn words(&self, record: &[u8], order: Order, words: &mut Words) {
        let mut copy = |(comm, _): &Who, to: fn(&mut Words) -> &mut String| {
            let text = to(words);
            text.clear();
            push_clean(text, comm.text(record, order), false);
        };
        match &self.parts {
            Parts::Switch { prev, next, .. } => {
                copy(prev, |w| &mut w.first);
                copy(next, |w| &mut w.second);
            }
            Parts::Fork { parent, child } => {
                copy(parent, |w| &mut w.first);
                copy(child, |w| &mut w.second);
            }
            Parts::Waking { task, .. } | Parts::Wakeup { task, .. } => copy(task, |w| &mut w.first),
            Parts::Migrate { task, .. } | Parts::Runtime { task, .. } => copy(task, |w| &mut w.first),
            Parts::Exit { task } => copy(task, |w| &mut w.first),
            Parts::Clamps { task, .. } | Parts::Signals { task, .. } => {
                task.iter().for_each(|task| copy(task, |w| &mut w.first))
            }
            Parts::Exec { .. } | Parts::Idle { .. } | Parts::Frequency { .. } => {}
            Parts::Print(text) => {
                words.first.clear();
                push_clean(&mut words.first, text.text(record, order).trim_ascii_end(), false);
            }
            Parts::Ours { name, fields } => {
                words.first.clear();
                words.first.push_str(name);
                fields.iter().enumerate().for_each(|(i, f)| push_field(&mut words.first, i == 0, f, record, order));
            }
        }
    }

    /// What the event says, with the words copied from it.
    pub fn what<'a>(&self, record: &[u8], order: Order, words: &'a Words) -> What<'a> {
        let number = |field: &Field| field.number(record, order) as u32;
        let first = |(_, pid): &Who| Thread { comm: &words.first, pid: number(pid) };
        let second = |(_, pid): &Who| Thread { comm: &words.second, pid: number(pid) };
        match &self.parts {
            Parts::Switch { prev, state, next, prio } => {
                let runnable = state.number(record, order) & 0xff == 0;
                let left = if runnable { Left::Runnable } else { Left::Sleeping };
                let prio = prio.as_ref().map(|field| number(field) as i32);
                What::Switch { prev: first(prev), left, next: second(next), prio }
            }
            Parts::Waking { task, cpu } => What::Waking { task: first(task), cpu: number(cpu) },
            Parts::Wakeup { task, cpu, new } => What::Wakeup { task: first(task), cpu: number(cpu), new: *new },
            Parts::Migrate { task, from, to } => {
                What::Migrate { task: first(task), from: number(from), to: number(to) }
            }
            Parts::Fork { parent, child } => What::Fork { parent: first(parent), child: second(child) },
            Parts::Exec { pid } => What::Exec { pid: number(pid) },
            Parts::Exit { task } => What::Exit { task: first(task) },
            Parts::Runtime { task, ns } => What::Runtime { task: first(task), ns: ns.number(record, order) },
            Parts::Idle { cpu, state } => {
                let state = Some(number(state)).filter(|state| *state != IDLE_EXIT);
                What::Idle { cpu: number(cpu), state }
            }
            Parts::Frequency { cpu, khz } => What::Frequency { cpu: number(cpu), khz: number(khz) },
            Parts::Clamps { task, cpu, values } => {
                let [util, clamped, min, max] = values.each_ref().map(number);
                What::Clamps { task: task.as_ref().map(first), cpu: number(cpu), util, clamped, min, max }
            }
            Parts::Signals { task, cpu, values } => {
                let [load, util, runnable] = values.each_ref().map(|field| field.number(record, order));
                What::Signals { task: task.as_ref().map(first), cpu: number(cpu), load, util, runnable }
            }
            Parts::Print(_) | Parts::Ours { .. } => What::Print(&words.first),
        }
    }
}

impl Parts {
    fn fields(&self) -> Vec<&Field> {
        fn all<'a>((comm, pid): &'a Who, others: &[&'a Field]) -> Vec<&'a Field> {
            [&[comm, pid], others].concat()
        }
        match self {
            Parts::Switch { prev, state, next, prio } => {
                let fields = all(prev, &[state, &next.0, &next.1]);
                fields.into_iter().chain(prio).collect()
            }
            Parts::Waking { task, cpu } | Parts::Wakeup { task, cpu, .. } => all(task, &[cpu]),
            Parts::Migrate { task, from, to } => all(task, &[from, to]),
            Parts::Fork { parent, child } => all(parent, &[&child.0, &child.1]),
            Parts::Exec { pid } => vec![pid],
            Parts::Exit { task } => all(task, &[]),
            Parts::Runtime { task, ns } => all(task, &[ns]),
            Parts::Idle { cpu, state } => vec![cpu, state],
            Parts::Frequency { cpu, khz } => vec![cpu, khz],
            Parts::Clamps { task, cpu, values } => {
                let task = task.iter().flat_map(|(comm, pid)| [comm, pid]);
                task.chain([cpu]).chain(values).collect()
            }
            Parts::Signals { task, cpu, values } => {
                let task = task.iter().flat_map(|(comm, pid)| [comm, pid]);
                task.chain([cpu]).chain(values).collect()
            }
            Parts::Print(text) => vec![text],
            Parts::Ours { fields, .. } => fields.iter().collect(),
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
            push_clean(text, field.text(record, order), false);
            Ok(())
        }
    };
}

//! Objects by kind and name. As in rt-app, names of different kinds do not clash.

use std::collections::{BTreeMap, BTreeSet};

use super::{events, Action, Task};
use crate::builtin::{PIPE, SOCKET};
use crate::program::{ObjId, Object, SeriesId};

/// The one series of a file: what its samples are.
pub(super) const SAMPLES: SeriesId = 0;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Mutex,
    Cond,
    Semaphore,
    Barrier,
    Timer,
    Pipe,
    Socket,
    Stamp,
    Tally,
    Roster,
    Ticket,
}

/// The objects named so far.
pub(super) struct Objects {
    list: Vec<Object>,
    /// Their names, for messages.
    names: Vec<String>,
    ids: BTreeMap<(Kind, String), ObjId>,
    /// Timers by task and name: each thread has its own.
    unique_timers: BTreeMap<(String, String), ObjId>,
    /// Users of each barrier.
    parties: BTreeMap<String, u32>,
    /// Timers that some event uses in absolute mode, which rt-app keeps with the timer.
    absolute: BTreeSet<String>,
}

impl Objects {
    /// The barrier that all threads start from.
    pub const START: ObjId = 0;

    /// Only the start barrier, for `threads` threads.
    pub fn new(threads: u32, tasks: &[Task]) -> Self {
        let mut parties: BTreeMap<String, u32> = BTreeMap::new();
        for task in tasks {
            let of_task = task.phases.iter().flat_map(|p| &p.events);
            let mut names: Vec<&String> =
                of_task.filter_map(|e| if let Action::Barrier(n) = &e.action { Some(n) } else { None }).collect();
            names.sort();
            names.dedup();
            for name in names {
                let users = parties.entry(name.clone()).or_default();
                *users = users.saturating_add(task.instances);
            }
        }
        let absolute = events(tasks)
            .filter_map(|(t, e)| match &e.action {
                Action::Timer { name, unique, absolute: true, .. } => Some(timer_key(t, name, *unique)),
                _ => None,
            })
            .collect();
        let start = Object::Barrier { parties: threads };
        let names = vec!["start".into()];
        Objects { list: vec![start], names, ids: BTreeMap::new(), unique_timers: BTreeMap::new(), parties, absolute }
    }

    /// The object of that kind and name.
    pub fn get(&mut self, kind: Kind, name: &str) -> ObjId {
        let next = self.list.len() as ObjId;
        let id = *self.ids.entry((kind, name.into())).or_insert(next);
        if id == next {
            self.names.push(name.into());
            self.list.push(match kind {
                Kind::Mutex => Object::Mutex,
                Kind::Cond => Object::Cond,
                Kind::Semaphore => Object::Semaphore { value: 0 },
                Kind::Barrier => Object::Barrier { parties: self.parties.get(name).copied().unwrap_or(0) },
                Kind::Timer => Object::Timer { per_task: false },
                Kind::Pipe => PIPE,
                Kind::Stamp => Object::Stamp,
                Kind::Tally => Object::Tally { series: SAMPLES },
                Kind::Roster => Object::Roster,
                Kind::Ticket => Object::Ticket,
                Kind::Socket => SOCKET,
            });
        }
        id
    }

    /// The object of that kind and name, if an event named it.
    pub fn find(&self, kind: Kind, name: &str) -> Option<ObjId> {
        self.ids.get(&(kind, name.into())).copied()
    }

    /// The timer of that name, and whether a missed period restarts it.
    pub fn timer(&mut self, task: &Task, name: &str, unique: bool) -> (ObjId, bool) {
        let relative = !self.absolute.contains(&timer_key(task, name, unique));
        if !unique {
            return (self.get(Kind::Timer, name), relative);
        }
        let next = self.list.len() as ObjId;
        let id = *self.unique_timers.entry((task.name.clone(), name.into())).or_insert(next);
        if id == next {
            self.names.push(name.into());
            self.list.push(Object::Timer { per_task: true });
        }
        (id, relative)
    }

    /// The objects, and their names by index.
    pub fn into_parts(self) -> (Vec<Object>, Vec<String>) {
        (self.list, self.names)
    }
}

/// A timer's name among all tasks.
fn timer_key(task: &Task, name: &str, unique: bool) -> String {
    match unique {
        true => format!("{}\0{name}", task.name),
        false => name.into(),
    }
}

//! The events of a run as tables in memory: one table for each kind of event, one column for each of its fields.
//!
//! Names of events and fields are those of the trace ([`crate::FtraceText`] writes the same as text). What a trace's
//! line begins with are columns of every table: `time_ns`, the CPU, and name and pid of what ran there (`swapper/N`
//! and 0: nothing). Rows are in the order of time.

use std::collections::BTreeMap;
use std::io;

use fairground_sim::{Event, EventKind, Observer, Reason, TaskId, Time};
use serde::{Deserialize, Serialize};

use crate::export::Export;
use crate::names::RealThread;
use crate::record::{Record, Recorder, Value};
use crate::rtapp_marks::UserEvent;
use crate::{Names, Recording, RuleNames};

/// Fills tables with the events of a run.
pub struct EventTables {
    recorder: Recorder,
    why: bool,
    filed: RowSink,
}

/// The tables filled so far.
#[derive(Default)]
struct RowSink {
    recording: Recording,
    rows: u32,
}

/// All events of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventTable {
    /// Index of each event among all events of the run: the order where times are equal.
    pub order: Vec<u32>,
    /// Time of each event, ns; never decreases.
    pub time_ns: Vec<u64>,
    /// CPU of each event.
    pub cpu: Vec<u32>,
    /// Comm of the thread that ran on the CPU.
    pub comm: TextColumn,
    /// Pid of the thread of each event.
    pub pid: Vec<u32>,
    /// The event's own fields, in the order in which a trace has them.
    pub fields: Vec<(String, Column)>,
}

/// Values of a field, one for each row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Column {
    /// Numbers that are never negative.
    Unsigned(Vec<u64>),
    /// A column of integers.
    Signed(Vec<i64>),
    /// A column of strings.
    Text(TextColumn),
}

/// A column of strings, each distinct one stored once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextColumn {
    /// For each row the index into `words`.
    pub codes: Vec<u32>,
    /// The distinct strings, in order of first use.
    pub words: Vec<String>,
    #[serde(skip)]
    index: BTreeMap<String, u32>,
}

impl TextColumn {
    /// The word of a row.
    pub(crate) fn word(&self, row: usize) -> &str {
        &self.words[self.codes[row] as usize]
    }

    fn push(&mut self, word: &str) {
        let code = match self.index.get(word) {
            Some(code) => *code,
            None => {
                // Fewer words than rows, and a run has fewer than 2^32 events.
                let code = self.words.len() as u32;
                self.words.push(word.into());
                self.index.insert(word.into(), code);
                code
            }
        };
        self.codes.push(code);
    }
}

impl Column {
    fn for_value(value: &Value) -> Column {
        match value {
            Value::Text(_) => Column::Text(TextColumn::default()),
            Value::Unsigned(_) => Column::Unsigned(Vec::new()),
            Value::Signed(_) => Column::Signed(Vec::new()),
        }
    }

    fn push(&mut self, value: &Value) {
        match (self, value) {
            (Column::Text(texts), Value::Text(text)) => texts.push(text),
            (Column::Unsigned(numbers), Value::Unsigned(n)) => numbers.push(*n),
            (Column::Signed(numbers), Value::Signed(n)) => numbers.push(*n),
            (column, value) => unreachable!("{value} in {column:?}"),
        }
    }
}

impl EventTable {
    fn push(&mut self, order: u32, record: &Record) {
        self.order.push(order);
        self.time_ns.push(record.time);
        self.cpu.push(record.cpu);
        match record.context {
            Some((comm, pid)) => {
                self.comm.push(comm);
                self.pid.push(pid);
            }
            None => {
                self.comm.push(&format!("swapper/{}", record.cpu));
                self.pid.push(0);
            }
        }
        if self.fields.is_empty() {
            self.fields =
                record.fields.iter().map(|(name, value)| ((*name).into(), Column::for_value(value))).collect();
        }
        debug_assert_eq!(self.fields.len(), record.fields.len(), "{}: each event has the same fields", record.name);
        for ((_, column), (_, value)) in self.fields.iter_mut().zip(&record.fields) {
            column.push(value);
        }
    }

    /// Number of rows in the table.
    pub fn len(&self) -> usize {
        self.time_ns.len()
    }

    /// Whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.time_ns.is_empty()
    }
}

impl EventTables {
    /// `words`: the scheduler's. `why`: ask for the reasons of decisions.
    pub fn new(nr_cpus: usize, names: Names, words: RuleNames, why: bool) -> EventTables {
        EventTables { recorder: Recorder::new(nr_cpus, names, words), why, filed: RowSink::default() }
    }

    /// All events recorded, as tables.
    pub fn finish(mut self) -> Recording {
        self.catch_up(Time::MAX);
        self.filed.recording
    }

    /// Files the switches that are done by `until`.
    fn catch_up(&mut self, until: Time) {
        let filed = &mut self.filed;
        let taken: Result<(), std::convert::Infallible> = self.recorder.catch_up(until, &mut |_, record| {
            filed.file(record);
            Ok(())
        });
        match taken {
            Ok(()) => {}
        }
    }
}

impl Export for EventTables {
    fn head(&mut self, meta: &[(&str, &str)], notes: &[String]) {
        let records = self.recorder.head(meta, notes);
        let lines = records.iter().map(|record| (record.name.to_owned(), record.text()));
        self.filed.recording.head.extend(lines);
    }

    fn name_thread(&mut self, task: TaskId, thread: &RealThread) {
        self.recorder.name_thread(task, thread);
    }

    fn user_event(&mut self, said: &UserEvent) {
        self.catch_up(said.time);
        self.filed.file(&self.recorder.user_event(said));
    }

    /// There is nothing to write: see [`EventTables::finish`].
    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

impl RowSink {
    fn file(&mut self, record: &Record) {
        let tables = &mut self.recording.tables;
        // An event that is known costs no allocation.
        match tables.get_mut(record.name) {
            Some(table) => table.push(self.rows, record),
            None => tables.entry(record.name.to_owned()).or_default().push(self.rows, record),
        }
        self.rows += 1;
    }
}

impl EventTables {
    /// Files what the rules are that come up for the first time.
    fn first_uses(&mut self, event: &Event, reasons: &[Reason]) {
        if matches!(event.kind, EventKind::Decision(_) | EventKind::Balance(_) | EventKind::Pick(_)) {
            self.catch_up(event.time);
            let filed = &mut self.filed;
            let taken: Result<(), std::convert::Infallible> = self.recorder.first_uses(event, reasons, |record| {
                filed.file(record);
                Ok(())
            });
            match taken {
                Ok(()) => {}
            }
        }
    }
}

impl Observer for EventTables {
    fn event(&mut self, event: &Event) {
        self.first_uses(event, &[]);
        let filed = &mut self.filed;
        let taken: Result<(), std::convert::Infallible> = self.recorder.event(event, |_, record| {
            filed.file(record);
            Ok(())
        });
        match taken {
            Ok(()) => {}
        }
    }

    fn wants_reasons(&self) -> bool {
        self.why
    }

    fn wants_clamps(&self) -> bool {
        true
    }

    fn reasons(&mut self, decision: &Event, reasons: &[Reason]) {
        self.catch_up(decision.time);
        if let (EventKind::Decision(d), true) = (&decision.kind, self.why) {
            self.first_uses(decision, reasons);
            let filed = &mut self.filed;
            self.recorder.reasons(decision, d.task, reasons).iter().for_each(|record| filed.file(record));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fairground_sim::testing::{spec, workload};
    use fairground_sim::SwitchState;

    use super::*;

    /// One task is born on CPU 1, runs, and sleeps.
    #[test]
    fn each_kind_of_event_has_a_table_with_its_fields() {
        let names = Names::new(Arc::new(workload(vec![], vec![spec("reader", vec![])])));
        let mut tables = EventTables::new(2, names, RuleNames::new(&[], &[]), false);
        let switch = |prev, prev_state, next| EventKind::Switch { prev, prev_state, next, cost: 0 };
        let events = [
            (0, EventKind::Fork { parent: None, child: 0 }),
            (5, switch(None, SwitchState::Runnable, Some(0))),
            (9, switch(Some(0), SwitchState::Sleeping, None)),
        ];
        for (time, kind) in events {
            tables.event(&Event { time, cpu: 1, kind });
        }
        let recording = tables.finish();
        let tables = recording.tables();
        assert_eq!(tables.keys().collect::<Vec<_>>(), ["sched_process_fork", "sched_switch"]);
        let switches = &tables["sched_switch"];
        assert_eq!((switches.len(), &switches.time_ns, &switches.cpu), (2, &vec![5, 9], &vec![1, 1]));
        // What runs when it happens: at first nothing, then the task.
        assert_eq!(
            (&switches.comm.words, &switches.comm.codes),
            (&vec!["swapper/1".into(), "reader".into()], &vec![0, 1])
        );
        assert_eq!(switches.pid, [0, 1000]);
        let field = |name: &str| &switches.fields.iter().find(|(n, _)| n == name).unwrap().1;
        assert_eq!(field("next_pid"), &Column::Unsigned(vec![1000, 0]));
        assert_eq!(field("prev_state"), &Column::Unsigned(vec![0, 1]));
        assert_eq!(field("next_prio"), &Column::Signed(vec![120, 120]));
        let Column::Text(next) = field("next_comm") else { panic!() };
        assert_eq!((&next.words, &next.codes), (&vec!["reader".into(), "swapper/1".into()], &vec![0, 1]));
    }
}

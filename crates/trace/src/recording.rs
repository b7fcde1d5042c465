//! A run in memory: its events as tables, and the trace header. All statistics of a trace work on it
//! too, because it can be read as one ([`Recording::source`]).

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};

use fairground_sim::{Event, Observer, Reason, TaskId};
use serde::{Deserialize, Serialize};

use crate::columns::{Column, EventTable, TextColumn};
use crate::ftrace::line;
use crate::names::RealThread;
use crate::record::{Record, Value};
use crate::rtapp_marks::UserEvent;
use crate::{EventSource, EventTables, Export, Reader};

/// The events of a run, kept in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// Name and text of the records at time 0.
    pub(crate) head: Vec<(String, String)>,
    /// Events by name.
    pub(crate) tables: BTreeMap<String, EventTable>,
}

impl Recording {
    /// Events by their names. An event that never came has no table.
    pub fn tables(&self) -> &BTreeMap<String, EventTable> {
        &self.tables
    }

    /// A source with the events of the run. `name` is the name of the trace in errors.
    pub fn source(&self, name: &str) -> impl EventSource + '_ {
        Reader::new(name, BufReader::new(Lines::new(self)))
    }

    /// Reads what [`RecordingFile`] wrote.
    ///
    /// # Errors
    /// If the input is not a valid recording: the writer may be code under test.
    pub fn read(input: impl Read) -> Result<Recording, String> {
        let recording: Recording =
            serde_json::from_reader(BufReader::new(input)).map_err(|e| format!("not a recording: {e}"))?;
        for (name, table) in &recording.tables {
            table.whole().map_err(|problem| format!("not a recording: {name}: {problem}"))?;
        }
        Ok(recording)
    }
}

/// Keeps a run and writes it down when it is over, to be read by [`Recording::read`].
pub struct RecordingFile<W> {
    tables: EventTables,
    out: W,
}

impl<W: Write> RecordingFile<W> {
    /// Writes to `out`, which should be buffered.
    pub fn new(out: W, tables: EventTables) -> RecordingFile<W> {
        RecordingFile { tables, out }
    }
}

impl<W: Write> Observer for RecordingFile<W> {
    fn event(&mut self, event: &Event) {
        self.tables.event(event);
    }

    fn wants_reasons(&self) -> bool {
        self.tables.wants_reasons()
    }

    fn wants_clamps(&self) -> bool {
        self.tables.wants_clamps()
    }

    fn reasons(&mut self, decision: &Event, reasons: &[Reason]) {
        self.tables.reasons(decision, reasons);
    }
}

impl<W: Write> Export for RecordingFile<W> {
    fn head(&mut self, meta: &[(&str, &str)], notes: &[String]) {
        self.tables.head(meta, notes);
    }

    fn name_thread(&mut self, task: TaskId, thread: &RealThread) {
        self.tables.name_thread(task, thread);
    }

    fn user_event(&mut self, said: &UserEvent) {
        self.tables.user_event(said);
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, &EventTables::finish(self.tables))?;
        self.out.flush()
    }
}

/// The lines of a trace, made as they are read.
struct Lines<'a> {
    head: std::slice::Iter<'a, (String, String)>,
    /// Each table with the row that comes next.
    tables: Vec<(&'a str, &'a EventTable, usize)>,
    line: Vec<u8>,
    /// Bytes of the line that have been read.
    read: usize,
}

impl<'a> Lines<'a> {
    fn new(recording: &'a Recording) -> Lines<'a> {
        let tables = recording.tables.iter().map(|(name, table)| (name.as_str(), table, 0)).collect();
        Lines { head: recording.head.iter(), tables, line: Vec::new(), read: 0 }
    }

    /// Makes the next line; it is empty if no more events are left.
    fn next(&mut self) -> io::Result<()> {
        self.line.clear();
        self.read = 0;
        if let Some((name, text)) = self.head.next() {
            let fields = vec![("", text.as_str().into())];
            return line(&mut self.line, &Record { time: 0, cpu: 0, context: None, name, fields });
        }
        let left = self.tables.iter_mut().filter(|(_, table, row)| *row < table.len());
        let Some((name, table, row)) = left.min_by_key(|(_, table, row)| table.order[*row]) else { return Ok(()) };
        *row += 1;
        line(&mut self.line, &table.record(name, *row - 1))
    }
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.line.len() {
            self.next()?;
        }
        let n = (&self.line[self.read..]).read(buffer)?;
        self.read += n;
        Ok(n)
    }
}

impl EventTable {
    /// A row as it was recorded.
    fn record<'a>(&'a self, name: &'a str, row: usize) -> Record<'a> {
        let (cpu, pid) = (self.cpu[row], self.pid[row]);
        let context = (pid != 0).then(|| (self.comm.word(row), pid));
        let value = |column: &'a Column| match column {
            Column::Unsigned(numbers) => Value::Unsigned(numbers[row]),
            Column::Signed(numbers) => Value::Signed(numbers[row]),
            Column::Text(texts) => texts.word(row).into(),
        };
        let fields = self.fields.iter().map(|(name, column)| (name.as_str(), value(column))).collect();
        Record { time: self.time_ns[row], cpu, context, name, fields }
    }

    /// Whether all columns are equally long, and every word is there.
    fn whole(&self) -> Result<(), String> {
        let rows = self.len();
        let words = |texts: &TextColumn| match texts.codes.iter().all(|code| (*code as usize) < texts.words.len()) {
            true => Some(texts.codes.len()),
            false => None,
        };
        let length = |column: &Column| match column {
            Column::Unsigned(numbers) => Some(numbers.len()),
            Column::Signed(numbers) => Some(numbers.len()),
            Column::Text(texts) => words(texts),
        };
        let own = [Some(self.order.len()), Some(self.cpu.len()), Some(self.pid.len()), words(&self.comm)];
        match own.into_iter().chain(self.fields.iter().map(|(_, column)| length(column))).all(|n| n == Some(rows)) {
            true => Ok(()),
            false => Err(format!("expected columns of {rows} rows with all their words")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fairground_sim::testing::{spec, workload};
    use fairground_sim::{Decision, DecisionKind, EventKind, Rule, SwitchState};

    use super::*;
    use crate::{FtraceText, Names, RuleNames};

    fn names() -> Names {
        Names::new(Arc::new(workload(vec![], vec![spec("two words", vec![])])))
    }

    fn words() -> RuleNames {
        let rule = Rule { name: "A2", function: "select_idle_sibling", label: "previous CPU", text: "it is idle" };
        RuleNames::new(&[rule], &["CPU {cpu} fits: {a} on {b}"])
    }

    /// A task is born, is placed for a reason, runs and sleeps.
    fn tell(observer: &mut dyn Observer) {
        let switch = |prev, prev_state, next| EventKind::Switch { prev, prev_state, next, cost: 0 };
        let decision =
            Decision { kind: DecisionKind::Fork, task: 0, prev: 1, chosen: 1, rule: 0, probes: 1, group_cpus: 0 };
        let decision = Event { time: 3, cpu: 1, kind: EventKind::Decision(decision) };
        let reason = Reason { note: 0, rule: 0, cpu: Some(1), numbers: [12, 462, 0] };
        observer.event(&Event { time: 0, cpu: 1, kind: EventKind::Fork { parent: None, child: 0 } });
        observer.reasons(&decision, &[reason]);
        observer.event(&decision);
        for (time, kind) in [
            (5, switch(None, SwitchState::Runnable, Some(0))),
            (9, switch(Some(0), SwitchState::Sleeping, None)),
            (9, EventKind::Idle { state: Some(1) }),
            (9, EventKind::Idle { state: None }),
        ] {
            observer.event(&Event { time, cpu: 1, kind });
        }
    }

    fn recorded() -> Recording {
        let mut tables = EventTables::new(2, names(), words(), true);
        tables.head(&[("machine", "mine")], &["partition: 0-1".into()]);
        tell(&mut tables);
        EventTables::finish(tables)
    }

    /// Byte by byte, although each kind of event has a table of its own.
    #[test]
    fn a_recording_reads_as_the_trace_of_its_run() {
        let mut trace = FtraceText::new(Vec::new(), 2, names(), words(), true);
        trace.head(&[("machine", "mine")], &["partition: 0-1".into()]);
        tell(&mut trace);
        let mut text = String::new();
        Lines::new(&recorded()).read_to_string(&mut text).unwrap();
        assert_eq!(text, String::from_utf8(trace.finish().unwrap()).unwrap());
        let recording = recorded();
        let mut source = recording.source("the run");
        let mut events = 0;
        while source.next_event().unwrap().is_some() {
            events += 1;
        }
        assert_eq!((events, source.unknown()), (text.lines().count(), 0));
    }

    #[test]
    fn a_recording_comes_back_as_it_was_written() {
        let mut file = Vec::new();
        let mut out = Box::new(RecordingFile::new(&mut file, EventTables::new(2, names(), words(), true)));
        Export::head(&mut *out, &[("machine", "mine")], &["partition: 0-1".into()]);
        tell(&mut *out);
        Export::finish(out).unwrap();
        let mut lines = String::new();
        Lines::new(&Recording::read(&file[..]).unwrap()).read_to_string(&mut lines).unwrap();
        let mut expected = String::new();
        Lines::new(&recorded()).read_to_string(&mut expected).unwrap();
        assert_eq!(lines, expected);
    }

    /// A worker runs code that may write anywhere.
    #[test]
    fn what_cannot_be_a_recording_is_refused() {
        let refused = |change: &dyn Fn(&mut EventTable)| {
            let mut recording = recorded();
            change(recording.tables.get_mut("sched_switch").unwrap());
            Recording::read(&serde_json::to_vec(&recording).unwrap()[..]).unwrap_err()
        };
        assert!(refused(&|table| table.cpu.truncate(1)).contains("sched_switch: expected columns of 2 rows"));
        assert!(refused(&|table| table.comm.codes[0] = 7).contains("sched_switch"));
        assert!(refused(&|table| table.order.push(1)).contains("sched_switch"));
        assert!(Recording::read(&b"{\"head\":"[..]).unwrap_err().contains("not a recording"));
    }
}

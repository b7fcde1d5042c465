//! Traces: writers and readers of event streams, and statistics over them.
//!
//! [`FtraceText`] writes the kernel's own events in ftrace's raw text form, as `trace-cmd report -R` prints them and as
//! LISA's `TxtTraceParser` and Perfetto read them. It is a [`fairground_sim::Observer`]: events are written as they
//! come, and none is kept. [`Reader`] reads such text, ours and the kernel's. [`open`] detects the format of a file and
//! returns its events as an [`EventSource`]. These modules read them: [`latency`] (how long tasks wait), [`residency`]
//! (how long CPUs sleep), [`frequency`] (time at each frequency), [`energy`] (energy of rails), [`placements`] (each
//! decision with the steps that led to it), [`migrations`] (why tasks move, and how far), [`uclamp`] (clamps of tasks
//! and run queues), [`explain`] (text and counts) and [`diff`] (comparison of two traces). [`rtapp_log`] writes a run
//! like rt-app's own logs, [`rtapp_marks`] adds the trace_marker writes of rt-app's threads to a trace. [`EventTables`]
//! keeps a run in memory, as columns: a [`Recording`], which can be read like a trace. [`tasks`] summarizes each task.
//! [`tracefs`] records the kernel that runs here.

mod at_decision;
mod columns;
pub mod dat;
pub mod decisions;
pub mod diff;
pub mod energy;
pub mod explain;
mod export;
pub mod figures;
pub mod frequency;
mod ftrace;
pub mod import;
pub mod latency;
pub mod left;
pub mod migrations;
mod names;
mod note;
mod open;
mod perfetto;
pub mod picks;
pub mod placements;
mod record;
mod recording;
pub mod residency;
pub mod rtapp_log;
pub mod rtapp_marks;
mod rtapp_rounds;
mod rule_names;
mod run_head;
mod source;
pub mod tasks;
mod text;
#[cfg(unix)]
pub mod tracefs;
pub mod uclamp;

pub use at_decision::AtDecision;
pub use columns::{Column, EventTable, EventTables, TextColumn};
pub use export::{Export, IgnoreBrokenPipe};
pub use ftrace::FtraceText;
pub use names::{Names, RealThread};
pub use note::Note;
pub use open::{open, open_watched, Position};
pub use perfetto::{Hardware, PerfettoReader, PerfettoTrace};
pub use recording::{Recording, RecordingFile};
pub use rule_names::{OwnedRule, RuleNames};
pub use run_head::RunHead;
pub use source::EventSource;
pub use text::{
    named as leading_thread, value as field_value, PrevState, Reader, Thread, TraceError, TraceEvent, TraceEventKind,
};

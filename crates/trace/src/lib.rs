//! What happened, for other tools: exporters of the event stream.
//!
//! [`FtraceText`] writes the kernel's own events in ftrace's raw text form, as `trace-cmd report -R` prints them and
//! as LISA's `TxtTraceParser` and Perfetto read them. It is a [`fairground_sim::Observer`]: events are written as they
//! come, nothing is kept.

mod ftrace;
pub mod latency;
mod names;
mod text;
mod words;

pub use ftrace::FtraceText;
pub use names::Names;
pub use text::{Left, Reader, Thread, TraceError, TraceEvent, What};
pub use words::Words;

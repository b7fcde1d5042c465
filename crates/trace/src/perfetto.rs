//! Reads and writes Perfetto's protobuf traces.
//!
//! A trace is a sequence of packets. Events of the kernel come in bundles of one CPU each; what the kernel has no event
//! for, and counters, are track events, each in a packet of its own:
//!
//! ```text
//! Trace        { packet* }
//! TracePacket  { timestamp, ftrace_events | track_event | track_descriptor | process_tree | compressed_packets | ... }
//! bundle       { cpu, event { timestamp, pid, sched_switch { ... } | ... } *, compact_sched { columns }, ... }
//! TrackEvent   { categories, name, type, track_uuid, counter_value, debug_annotations { name, value } * }
//! ```
//!
//! A track event of ours has the name of the record as its category and the record's fields as annotations, in order,
//! after the CPU (`on_cpu`); so a reader of ours gets back the line that text would have. The reasons of a decision
//! are its annotation `why`, a list of their records.
//!
//! Writing takes a few dozen lines (`wire`): some ten messages, flat, with numbers that never change. A code
//! generator's crate would bring hundreds of messages and a build step for that.
//! Numbers of messages and fields: Perfetto's protos/perfetto/trace (trace_packet.proto, ftrace/*.proto,
//! track_event/*.proto, ps/process_tree.proto, clock_snapshot.proto), as of v0.59.

mod bundle;
mod generic;
mod ids;
mod packets;
mod reader;
mod sorter;
mod track_records;
mod wire;
mod writer;

pub use reader::PerfettoReader;
pub use writer::{Hardware, PerfettoTrace};

pub(crate) use reader::begins_like_one;

#[cfg(test)]
mod tests;

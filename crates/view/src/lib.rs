//! A run or a trace as a page: what each CPU did, and why each task was placed where it was.
//!
//! [`SideReader`] reads the events of a run or trace and makes a [`Side`]: the lanes of its CPUs, its placements with their
//! candidates, the answers of another scheduler. One or two of these are a [`Model`]. [`Model::to_bytes`] packs it, and
//! [`SCRIPT`] with [`STYLE`] draws it: `FairgroundView.mount(element, bytes)`. [`page_body`] is all of it in one page, without requests.
//!
//! Nothing here reads a file, a clock or starts a thread: it is built for `wasm32-unknown-unknown` as well.
//!
//! ```
//! use fairground_trace::Reader;
//! use fairground_view::{Model, SideReader};
//!
//! let text = "a-7 [001] 0.000001: sched_waking: comm=b pid=9 prio=120 target_cpu=000\n\
//!             a-7 [001] 0.000002: sched_wakeup: comm=b pid=9 prio=120 target_cpu=000\n";
//! let side = SideReader::new("trace", "a.txt").read(Reader::new("a.txt", text.as_bytes()))?;
//! assert_eq!((side.decisions.len(), side.threads[1].name.as_str()), (1, "b"));
//! let model = Model::new("a.txt", vec![side]);
//! assert!(model.to_bytes().starts_with(b"FGVIEW1\n"));
//! # Ok::<(), fairground_view::ViewError>(())
//! ```

mod lanes;
mod model;
mod pack;
mod page;
mod reader;
mod texts;

pub use model::{Asked, Cpu, Has, Model, RuleText, Side, Table, Thread, SCHEMA};
pub use page::{page_body, SCRIPT, STYLE};
pub use reader::{Answer, OtherScheduler, SideReader, ViewError};

#[cfg(test)]
mod tests;

//! The simulator for a web page: the playground's half in WebAssembly.
//!
//! A page asks in JSON and gets JSON. This crate finds what is asked for, makes the runs one after another, so that a page
//! can show progress and stop, and hands out what `fairground_lab` says of them. It has no statistics and no models of its own.
//!
//! | module | holds |
//! |---|---|
//! | [`input`] | what a page asks to run: machine, workload, two sides; its limits |
//! | [`link`] | the same as the fragment of a link |
//! | [`session`] | the runs of one input, their report, the rules that moved, their events |
//! | [`catalog`] | what can be chosen: machines, workloads, presets, features, settings |
//! | [`requests`] | the questions, and how each is answered |
//! | `exports` | the functions of the WebAssembly module |
//!
//! ```
//! use fairground_playground::requests::Playground;
//!
//! let mut playground = Playground::default();
//! let opened = playground.answer(
//!     r#"{ "ask": "open", "input": { "version": 1, "machine": "hikey960", "workload": "sched-pipe:loops=20",
//!          "base": "fair:v5.9", "test": "fair:v5.9+asym-prev-first", "seeds": 1, "draws": 0 } }"#,
//! );
//! assert!(opened.contains(r#""runs":2"#), "{opened}");
//! assert!(playground.answer(r#"{ "ask": "next" }"#).contains(r#""side":"base""#));
//! ```

pub mod catalog;
#[cfg(target_family = "wasm")]
mod exports;
pub mod input;
pub mod link;
pub mod requests;
pub mod session;

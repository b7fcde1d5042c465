//! From a patch series to what it changes: `fairground review` and `fairground bisect`.
//!
//! ```text
//! range, mailbox, patch files --Series--> base and patches --Stages--> schedulers --measure--> cells --Review--> an answer
//! features of a name -----------------------------------------/        x Matrix
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`series`] | which patches are meant, and what each changes |
//! | `farm`, `code` | a patched tree without a copy; whether two sources are the same code |
//! | [`stages`] | the schedulers: the base, and each patch that changes code on top |
//! | [`matrix`] | machines and workloads |
//! | [`measure`] | the runs, the verdicts over the whole matrix, and the share of each patch |
//! | [`decisions`] | which decisions changed, on each machine |
//! | [`cost`] | host time of decisions |
//! | [`answer`] | text for the list, Markdown, JSON, HTML, JUnit |
//! | [`hunt`] | the search for the largest changes |
//! | [`bisect`] | the first patch that changes a metric by so much |
//!
//! It is a crate of its own above `fairground_lab`: it builds kernels, which the lab does not, and it has no statistics, no table
//! of decisions and no store of its own. Runs go through [`Executor`](fairground_run::executor::Executor) into the user's
//! store, cell by cell: a review that was killed goes on where it was, and one cell that fails fails alone.
//!
//! ```
//! use fairground_review::stages::Stages;
//!
//! let stages = Stages::of_features("fair:v5.9+wa-prev-idle+asym-prev-first")?;
//! assert_eq!(stages.stages.len(), 3);
//! assert_eq!(stages.name(2), "2/2 +asym-prev-first");
//! # Ok::<(), fairground_review::stages::StagesError>(())
//! ```

pub mod answer;
pub mod bisect;
mod code;
pub mod cost;
pub mod decisions;
mod farm;
pub mod hunt;
pub mod matrix;
pub mod measure;
pub mod series;
pub mod stages;

/// Whether this is the part `long` of the tests.
#[cfg(test)]
fn is_long() -> bool {
    std::env::var("PROPTEST_CASES").is_ok_and(|cases| cases.parse().is_ok_and(|cases: u32| cases > 1000))
}

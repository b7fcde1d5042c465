//! Reproduction of published rows: their values, ours, and the score (design, decisions 6 and 7).
//!
//! `rows` has the rows, their verdicts and the hits, [`score`] the proper score, `over_draws` the tables of both over draws; `request`, `plan` and `quick` the runs that they need; `form` and
//! `run_modes` further figures of a row; the other modules print them.

mod csv;
pub mod document;
mod form;
mod html;
mod markdown;
mod over_draws;
mod plan;
mod plot;
pub mod quick;
mod request;
pub(crate) mod rows;
mod run_modes;
pub mod score;
mod sensitivity_text;
mod supplements;
mod table;

pub use self::csv::csv;
pub use self::form::Variant;
pub use self::html::html;
pub use self::markdown::markdown;
pub use self::request::{PlannedRequest, Request, RequestError, Supplements};
pub use self::rows::{
    reproduce, runs_of, Cells, Executed, Kind, MailScore, ModelHits, OurFigures, PublishedFigures, ReproduceError,
    ReproducedRow, Reproduction, RowModel, Score, SCHEMA, SCORED_PAIRS_MIN,
};
pub use self::run_modes::{ColumnModes, RunMode, RunModes};
pub use self::table::{json, render};

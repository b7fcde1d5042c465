//! Tables that are shown as the mail prints them.

use serde::{Deserialize, Serialize};

/// A table that is shown as the mail prints it. It is not predicted and does not count in the score.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GivenTable {
    /// Description of the table.
    pub what: String,
    /// Why the table is not predicted.
    pub why: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// Rows of the table.
    pub rows: Vec<GivenRow>,
}

/// A row of it. A cell that is not a number in the mail is `None`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GivenRow {
    /// What it is of.
    pub name: String,
    /// Without the patch, by column; empty where the mail has no line.
    #[serde(default)]
    pub base: Vec<f64>,
    /// With the patch.
    #[serde(default)]
    pub test: Vec<f64>,
}

impl GivenTable {
    /// Why it makes no sense.
    pub(super) fn problem(&self) -> Option<String> {
        let cells = |row: &&GivenRow| [&row.base, &row.test].iter().all(|c| [0, self.columns.len()].contains(&c.len()));
        self.rows.iter().find(|row| !cells(row)).map(|row| format!("{}: expected a figure for each column", row.name))
    }
}

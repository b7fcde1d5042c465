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

/// A row of a given table. A cell that is not a number in the mail is NaN, and `null` in JSON.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GivenRow {
    /// Heading of the row.
    pub name: String,
    /// Values without the patch, by column; empty where the mail has no line.
    #[serde(default)]
    pub base: Vec<f64>,
    /// Values with the patch, by column; empty where the mail has no line.
    #[serde(default)]
    pub test: Vec<f64>,
}

impl GivenTable {
    /// Why the table is invalid; `None` if it is valid.
    pub(super) fn problem(&self) -> Option<String> {
        let cells = |row: &&GivenRow| [&row.base, &row.test].iter().all(|c| [0, self.columns.len()].contains(&c.len()));
        self.rows.iter().find(|row| !cells(row)).map(|row| format!("{}: expected a figure for each column", row.name))
    }
}

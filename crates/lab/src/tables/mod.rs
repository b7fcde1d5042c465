//! Layouts of a report: our own, and those that are common on mailing lists.

mod amd;
mod arm;
mod columns;
mod csv;
mod fold;
mod html;
mod json;
mod mail;
mod markdown;
mod mmtests;
mod own;
mod text;

use std::fmt;
use std::str::FromStr;

use fairground_machine::nearest;

pub use self::columns::zeros;
pub use self::csv::{comma_separated, CsvWriter};
pub use self::fold::{ascii, fold};
pub use self::html::{decisions, render_with as page, PairShown};
pub use self::json::{documents, SCHEMA};
pub use self::own::{drawn_rows, legend, pairs, rows, HEAD};
pub use self::text::{finish, number, percent, printable, seed_range, trailer};
use crate::comparison::Report;

/// Columns of text that is written for no terminal.
pub const COLUMNS: usize = 110;

/// A layout of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our own layout, with all values and notes.
    Own,
    /// ASCII of 80 columns, tests side by side, for a mailing list.
    Mail,
    /// The layout of mmtests' compare-mmtests.
    Mmtests,
    /// The layout of AMD's scheduler mails: normalized, `[pct imp](CV)`.
    Amd,
    /// The layout of Arm's scheduler mails: boxed, long form.
    Arm,
    /// A Markdown table.
    Markdown,
    /// Comma-separated, one line per metric and test.
    Csv,
    /// JSON in the documented schema.
    Json,
    /// One page without requests.
    Html,
}

impl Format {
    /// All layouts, in the order in which messages list them.
    pub const ALL: [Format; 9] = [
        Format::Own,
        Format::Mail,
        Format::Mmtests,
        Format::Amd,
        Format::Arm,
        Format::Markdown,
        Format::Csv,
        Format::Json,
        Format::Html,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Own => "own",
            Format::Mail => "mail",
            Format::Mmtests => "mmtests",
            Format::Amd => "amd",
            Format::Arm => "arm",
            Format::Markdown => "markdown",
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Html => "html",
        }
    }

    /// Renders a report in this layout; the text ends with a newline. The legend of our own layout is left out, see
    /// [`legend`].
    pub fn render(self, report: &Report) -> String {
        self.render_for(report, COLUMNS)
    }

    /// Renders a report for a terminal of so many columns, by which only our own layout goes.
    pub fn render_for(self, report: &Report, columns: usize) -> String {
        match self {
            Format::Own => own::render(report, columns),
            Format::Mail => mail::render(report),
            Format::Mmtests => mmtests::render(report),
            Format::Amd => amd::render(report),
            Format::Arm => arm::render(report),
            Format::Markdown => markdown::render(report),
            Format::Csv => csv::render(report),
            Format::Json => json::render(report),
            Format::Html => html::render(report),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        Format::ALL.into_iter().find(|f| f.name() == text).ok_or_else(|| {
            let hint = nearest(text, Format::ALL.map(Format::name)).map(|n| format!("; did you mean {n}?"));
            let all = Format::ALL.map(Format::name).join(", ");
            format!("no format {text:?}{} (known: {all})", hint.unwrap_or_default())
        })
    }
}

#[cfg(test)]
mod tests;

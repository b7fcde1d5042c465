//! Comma-separated: one line per metric and test. An empty field is a figure that does not exist, or a machine, workload
//! or scheduler that is not the same in all sides; notes are joined by semicolons. Failed runs are not part of it; take JSON for those.

use std::io::{self, Write};

use crate::comparison::{Comparison, Report, Row};
use crate::provenance::Provenance;

const HEADER: [&str; 31] = [
    "machine",
    "workload",
    "sched",
    "base",
    "test",
    "metric",
    "unit",
    "better",
    "base_mean",
    "base_sd",
    "base_n",
    "test_mean",
    "test_sd",
    "test_n",
    "improvement_pct",
    "ci95_lo",
    "ci95_hi",
    "significant",
    "pairs_better",
    "pairs_worse",
    "notes",
    "exact",
    "p",
    "p_adjusted",
    "smallest",
    "verdict",
    "model_median_pct",
    "model_ci90_lo",
    "model_ci90_hi",
    "model_p_better",
    "model_draws",
];

pub fn render(report: &Report) -> String {
    let rows = report.comparisons.iter().flat_map(|c| c.rows.iter().map(move |r| record(report, c, r)));
    comma_separated(HEADER.into_iter().chain(Provenance::COLUMNS), rows)
}

/// CSV under a line of names; all rows have as many cells as it. Ends with a newline.
pub fn comma_separated<'a>(
    header: impl IntoIterator<Item = &'a str>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut text = Vec::new();
    let mut writer = CsvWriter::new(&mut text);
    let written = writer
        .row(header)
        .and_then(|()| rows.into_iter().try_for_each(|row| writer.row(row)))
        .and_then(|()| writer.finish());
    // Records of equal length written to memory: there is nothing that could fail.
    debug_assert!(written.is_ok());
    String::from_utf8_lossy(&text).into_owned()
}

/// Writes CSV row by row, the line of names first.
///
/// Names of tasks, files and machines come from outside, and spreadsheets run a cell that begins with `=`, `+`, `-`, `@`,
/// a tab or a carriage return as a formula. Such a cell gets a `'` in front, which they take for the mark of text, unless
/// it is a number.
pub struct CsvWriter<W: Write>(csv::Writer<W>);

impl<W: Write> CsvWriter<W> {
    /// Nothing is written yet.
    pub fn new(out: W) -> CsvWriter<W> {
        CsvWriter(csv::Writer::from_writer(out))
    }

    /// Writes a row, the cells as text that no spreadsheet runs.
    ///
    /// # Errors
    /// If it cannot be written, or has another number of cells than the first.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) -> io::Result<()> {
        self.0.write_record(cells.into_iter().map(|cell| inert(cell.as_ref())))?;
        Ok(())
    }

    /// Writes what is held back.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The cell as a spreadsheet does not take it for a formula.
fn inert(cell: &str) -> String {
    let begins_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    match begins_formula && cell.parse::<f64>().is_err() {
        true => format!("'{cell}"),
        false => cell.to_owned(),
    }
}

fn record(report: &Report, comparison: &Comparison, row: &Row) -> Vec<String> {
    let (base, test, change) = (row.base_summary(), row.test_summary(), &row.change);
    let common = |name| report.common.get(name).unwrap_or_default().to_owned();
    let own = report.provenance.as_ref().map(Provenance::columns);
    let maybe = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    let columns = [
        common("machine"),
        common("workload"),
        common("sched"),
        comparison.base.name.clone(),
        comparison.test.name.clone(),
        row.metric.name.clone(),
        row.metric.unit.clone(),
        row.metric.better.word().into(),
        base.mean.to_string(),
        base.sd.to_string(),
        base.n.to_string(),
        test.mean.to_string(),
        test.sd.to_string(),
        test.n.to_string(),
        maybe(change.improvement_pct),
        maybe(change.ci95.map(|c| c[0])),
        maybe(change.ci95.map(|c| c[1])),
        change.significant.map_or(String::new(), |s| s.to_string()),
        change.signs[0].to_string(),
        change.signs[1].to_string(),
        report.notes.join("; "),
        change.exact.to_string(),
        maybe(change.p),
        maybe(change.p_adjusted),
        change.smallest.to_string(),
        change.verdict.word().into(),
        maybe(row.model.and_then(|model| model.median_pct)),
        maybe(row.model.and_then(|model| model.ci90).map(|c| c[0])),
        maybe(row.model.and_then(|model| model.ci90).map(|c| c[1])),
        maybe(row.model.map(|model| model.p_better)),
        row.model.map_or(String::new(), |model| model.draws.to_string()),
    ];
    columns.into_iter().chain(own.unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        let cells = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-1.5", "+2e3", "a=b", ""];
        let row = cells.map(str::to_owned).to_vec();
        assert_eq!(comma_separated(["=task"], []), "'=task\n");
        let text = comma_separated(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"], [row]);
        let expected = "a,b,c,d,e,f,g,h,i,j\n'=1+1,'+cmd,'-2+3,'@SUM(A1),'\t=1,\"'\r=1\",-1.5,+2e3,a=b,\n";
        assert_eq!(text, expected);
    }
}

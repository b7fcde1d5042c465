//! Figures somebody printed in a mail, as data: `published/NNN.toml`.

use miette::Diagnostic;
use serde::Deserialize;
use thiserror::Error;

use crate::metric::Better;
use crate::tables::nearest;

/// Files that come with the program, by mail.
const BUILT_IN: [(&str, &str); 1] = [("000", include_str!("../../../published/000.toml"))];

/// sigma in percent where a mail prints no error (design, decision 7).
const SIGMA_PCT_WITHOUT_ERROR: f64 = 2.0;

/// All figures of a mail.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// First three digits of the mail's file name.
    pub mail: String,
    /// The mail's file name.
    pub file: String,
    /// What applies to all rows.
    pub note: Option<String>,
    /// Its figures.
    #[serde(rename = "row")]
    pub rows: Vec<PublishedRow>,
}

/// One figure, base against test.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// Names the row; its cells are `ID/base` and `ID/test`.
    pub id: String,
    /// Machine, as the mail describes it.
    pub machine: String,
    /// Benchmark, as the mail names it.
    pub benchmark: String,
    /// Its parameters and the circumstances.
    pub params: String,
    /// What was measured.
    pub metric: String,
    /// Unit.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// Without the patch.
    pub base: Cell,
    /// With the patch.
    pub test: Cell,
    /// The change as the mail itself states it.
    pub reported: Option<String>,
    /// What a reader must know to compare.
    pub note: Option<String>,
    /// Why the row is shown but not judged, e.g. the mail contradicts itself.
    pub not_scored: Option<String>,
    /// Why the row is not run.
    pub not_run: Option<String>,
    /// How we run it.
    pub run: Option<RunSpec>,
}

/// A printed figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// What the mail calls this column.
    pub label: String,
    /// As printed.
    pub value: f64,
    /// Printed error, percent of the value.
    pub error_pct: Option<f64>,
}

/// How a row is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// Machine, as on the command line.
    pub machine: String,
    /// Workload, as on the command line.
    pub workload: String,
    /// Our metric.
    pub metric: String,
    /// Base scheduler.
    pub base: String,
    /// Test scheduler.
    pub test: String,
    /// Frequency governor.
    pub governor: String,
}

/// Why there are no published figures.
#[derive(Debug, Error, Diagnostic)]
pub enum PublishedError {
    /// We have no rows of this mail.
    #[error("no published rows of mail {name:?}")]
    #[diagnostic(help("{help}"))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        help: String,
    },
    /// The file does not parse.
    #[error("published/{mail}.toml does not parse:\n{problem}")]
    Syntax {
        /// The mail.
        mail: String,
        /// What is wrong, with line and column.
        problem: String,
    },
    /// A row contradicts itself.
    #[error("published/{mail}.toml, row {id}: {problem}")]
    Row {
        /// The mail.
        mail: String,
        /// The row.
        id: String,
        /// What is wrong.
        problem: String,
    },
}

impl Mail {
    /// The mails whose rows we have.
    pub fn known() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(mail, _)| *mail)
    }

    /// The rows of a mail.
    ///
    /// # Errors
    /// If there are none.
    pub fn find(name: &str) -> Result<Mail, PublishedError> {
        let (mail, text) = BUILT_IN.iter().find(|(mail, _)| *mail == name).ok_or_else(|| {
            let known: Vec<_> = Mail::known().collect();
            let near = nearest(name, known.iter().copied()).map(|n| format!("did you mean {n}? "));
            let help = format!("{}there are: {}, all", near.unwrap_or_default(), known.join(", "));
            PublishedError::Unknown { name: name.into(), help }
        })?;
        Mail::parse(mail, text)
    }

    fn parse(mail: &str, text: &str) -> Result<Mail, PublishedError> {
        let parsed: Mail =
            toml::from_str(text).map_err(|e| PublishedError::Syntax { mail: mail.into(), problem: e.to_string() })?;
        for row in &parsed.rows {
            row.check().map_err(|problem| PublishedError::Row { mail: mail.into(), id: row.id.clone(), problem })?;
        }
        Ok(parsed)
    }
}

impl PublishedRow {
    fn check(&self) -> Result<(), String> {
        if self.run.is_some() == self.not_run.is_some() {
            return Err("expected either [row.run] or not_run".into());
        }
        let errors = [self.base.error_pct, self.test.error_pct];
        if errors.iter().flatten().any(|e| *e < 0.0) {
            return Err("an error below 0".into());
        }
        Ok(())
    }

    /// The published change in percent of base, positive = better; none where base is 0.
    pub fn improvement_pct(&self) -> Option<f64> {
        let (base, test) = (self.base.value, self.test.value);
        (base != 0.0).then(|| self.better.sign() * (test - base) / base.abs() * 100.0)
    }

    /// Standard error of the change, percentage points: from both cells' errors, 2 where the mail prints none.
    pub fn sigma_pct(&self) -> f64 {
        match (self.base.error_pct, self.test.error_pct) {
            (None, None) => SIGMA_PCT_WITHOUT_ERROR,
            (base, test) => {
                let (base, test) = (base.unwrap_or(0.0), test.unwrap_or(0.0));
                (base * base + test * test).sqrt()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_000_has_all_its_rows() {
        let mail = Mail::find("000").unwrap();
        assert_eq!(mail.rows.len(), 6);
        assert_eq!(mail.rows.iter().filter(|r| r.run.is_some()).count(), 4);
    }

    #[test]
    fn changes_and_errors_follow_from_the_printed_figures() {
        let mail = Mail::find("000").unwrap();
        let of = |i: usize| (mail.rows[i].improvement_pct(), mail.rows[i].sigma_pct());
        assert_eq!(of(0), (Some(100.0), 2.0));
        let (change, sigma) = of(1);
        assert!((change.unwrap() - 22.285).abs() < 5e-4);
        assert!((sigma - 0.488).abs() < 5e-4); // sqrt(0.28^2 + 0.40^2)
        assert_eq!(of(2), (None, 2.0));
        assert!((of(3).0.unwrap() - 0.373).abs() < 5e-4);
    }

    #[test]
    fn an_unknown_mail_is_refused_with_the_list() {
        let PublishedError::Unknown { help, .. } = Mail::find("001").unwrap_err() else { panic!() };
        assert!(help.contains("000, all"), "{help}");
    }

    #[test]
    fn a_typo_is_found_at_its_place() {
        let error = Mail::parse("x", "mail = \"x\"\nfile = \"x\"\nrows = 3\n").unwrap_err();
        assert!(matches!(error, PublishedError::Syntax { ref problem, .. } if problem.contains("rows")), "{error}");
    }
}

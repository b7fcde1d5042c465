//! The answer for a CI system: a test for each patch and each cell. A regression is a failure; what could not be run an error.

use std::fmt::Write;

use fairground_lab::page::escaped;
use fairground_lab::stats::Verdict;

use super::{percent, Review};
use crate::measure::Measured;
use crate::stages::Fate;

/// The answer as JUnit's XML.
pub fn junit(review: &Review) -> String {
    let mut cases = String::new();
    let (mut failures, mut errors, mut skipped) = (0, 0, 0);
    for (number, member) in (1..).zip(&review.stages.members) {
        let inner = match &member.fate {
            Fate::Stage(_) => String::new(),
            Fate::SameCode | Fate::NotCompiled(_) => {
                skipped += 1;
                format!("<skipped message=\"{}\"/>", attribute(&review.fate(member).unwrap_or_default()))
            }
            Fate::DoesNotApply(problem) | Fate::DoesNotCompile(problem) => {
                errors += 1;
                format!("<error message=\"{}\"/>", attribute(problem))
            }
        };
        case(&mut cases, "patches", &format!("{number}/{} {}", review.stages.count(), member.title), &inner);
    }
    for cell in &review.measured.cells {
        let mut inner = String::new();
        for failure in &cell.failures {
            let _ = write!(
                inner,
                "<error message=\"{}\"/>",
                attribute(&format!("{} seed {}: {}", failure.side, failure.seed, failure.message))
            );
        }
        errors += usize::from(!cell.failures.is_empty());
        let worse = worse(review, cell);
        if !worse.is_empty() {
            failures += 1;
            let _ = write!(inner, "<failure message=\"{}\"/>", attribute(&worse.join("; ")));
        } else if cell.identical {
            skipped += 1;
            inner += "<skipped message=\"no decision of this workload reaches the change\"/>";
        }
        case(&mut cases, &cell.cell.machine, &cell.cell.name(), &inner);
    }
    let tests = review.stages.members.len() + review.measured.cells.len();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" \
         errors=\"{errors}\" skipped=\"{skipped}\">\n{cases}</testsuite>\n</testsuites>\n",
        attribute(&review.title())
    )
}

fn worse(review: &Review, cell: &Measured) -> Vec<String> {
    let rows = cell.rows.iter().filter(|judged| judged.row.change.verdict == Verdict::Worse);
    let words = |judged: &crate::measure::Judged| {
        let change = percent(judged.row.change.improvement_pct);
        format!("{} {change}, by {}", judged.row.metric.name, review.attribution(judged).join("; "))
    };
    rows.map(words).collect()
}

fn case(out: &mut String, class: &str, name: &str, inner: &str) {
    let (class, name) = (attribute(class), attribute(name));
    let _ = match inner.is_empty() {
        true => writeln!(out, "<testcase classname=\"{class}\" name=\"{name}\"/>"),
        false => writeln!(out, "<testcase classname=\"{class}\" name=\"{name}\">{inner}</testcase>"),
    };
}

/// Text of an attribute; XML has no control characters.
fn attribute(text: &str) -> String {
    escaped(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

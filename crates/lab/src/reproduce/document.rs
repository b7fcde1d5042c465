//! Generated tables in a written document: what stands between two markers is ours, everything else is the writer's.
//!
//! ```text
//! <!-- reproduce 002: begin 0123456789abcdef -->
//! <!-- reproduce 002: end -->
//! ```
//!
//! `all` instead of a mail stands for the scoreboard of all mails. The number is a checksum of what stands between the
//! markers: an edit by hand is noticed. `by hand` instead of it says that the tables there were not generated yet.

use miette::Diagnostic;
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use super::{markdown, Reproduction};
use crate::published::Mail;

/// What stands for a checksum before the first generated table.
const BY_HAND: &str = "by hand";

/// Why a document cannot take tables, or does not hold those it should.
#[derive(Debug, Error, Diagnostic, PartialEq, Eq)]
pub enum DocumentError {
    /// No place for a table.
    #[error("{file} has no place for the tables of {part}")]
    #[diagnostic(help("put these two lines where they are to stand:\n<!-- reproduce {part}: begin {BY_HAND} -->\n<!-- reproduce {part}: end -->"))]
    NoMarker {
        /// The document.
        file: String,
        /// Mail, or `all`.
        part: String,
    },
    /// Markers that make no sense.
    #[error("{file}:{line}: {problem}")]
    #[diagnostic(help("a table stands between <!-- reproduce PART: begin SUM --> and <!-- reproduce PART: end -->"))]
    Marker {
        /// The document.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// Other tables than ours.
    #[error(
        "{file}:{line}: the table of {part} is not what these results give: expected {expected:?}, found {found:?}"
    )]
    #[diagnostic(help("write it anew with --update"))]
    Stale {
        /// The document.
        file: String,
        /// The first line that differs, from 1.
        line: usize,
        /// Mail, or `all`.
        part: String,
        /// Ours.
        expected: String,
        /// What is there.
        found: String,
    },
}

/// A generated part of a document, by lines.
struct Block<'a> {
    part: &'a str,
    sum: &'a str,
    /// Of the marker that begins it, from 0.
    begin: usize,
    /// Of the marker that ends it.
    end: usize,
}

/// The parts of a result that documents can take, with their tables. The scoreboard only if all mails are in it.
fn parts(result: &Reproduction) -> Vec<(&str, String)> {
    let mails: Vec<&str> = result.mails.iter().map(|mail| mail.mail.as_str()).collect();
    let mut parts: Vec<(&str, String)> =
        mails.iter().map(|mail| (*mail, format!("\n{}\n", markdown::mail_table(result, mail)))).collect();
    if Mail::known().all(|mail| mails.contains(&mail)) {
        parts.push(("all", format!("\n{}\n", markdown::scoreboard(result))));
    }
    parts
}

/// `text` with the tables of `result` in their places.
///
/// # Errors
/// If a part has no place, or markers make no sense.
pub fn update(file: &str, text: &str, result: &Reproduction) -> Result<String, DocumentError> {
    let mut text = text.to_string();
    for (part, table) in parts(result) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let block = place(file, &text, part)?;
        let marker = format!("<!-- reproduce {part}: begin {} -->\n", checksum(&table));
        text = [&lines[..block.begin].concat(), &marker, &table, &lines[block.end..].concat()]
            .map(String::as_str)
            .concat();
    }
    Ok(text)
}

/// Whether `text` holds the tables of `result`.
///
/// # Errors
/// The first line that differs.
pub fn check(file: &str, text: &str, result: &Reproduction) -> Result<(), DocumentError> {
    for (part, table) in parts(result) {
        let block = place(file, text, part)?;
        let found: Vec<&str> = text.lines().skip(block.begin + 1).take(block.end - block.begin - 1).collect();
        let expected: Vec<&str> = table.lines().collect();
        let at = |lines: &[&str], i: usize| lines.get(i).copied().unwrap_or_default().to_string();
        if let Some(i) = (0..found.len().max(expected.len())).find(|i| at(&found, *i) != at(&expected, *i)) {
            return Err(DocumentError::Stale {
                file: file.into(),
                line: block.begin + 2 + i,
                part: part.into(),
                expected: at(&expected, i),
                found: at(&found, i),
            });
        }
    }
    Ok(())
}

/// Whether all generated tables of a document are as they were generated, and how many there are.
///
/// # Errors
/// The first that was edited, or markers that make no sense.
pub fn intact(file: &str, text: &str) -> Result<usize, DocumentError> {
    let blocks = blocks(file, text)?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for block in blocks.iter().filter(|block| block.sum != BY_HAND) {
        if block.sum != checksum(&lines[block.begin + 1..block.end].concat()) {
            let problem = format!("the generated table of {} was edited by hand", block.part);
            return Err(DocumentError::Marker { file: file.into(), line: block.begin + 1, problem });
        }
    }
    Ok(blocks.len())
}

fn place<'a>(file: &str, text: &'a str, part: &str) -> Result<Block<'a>, DocumentError> {
    let no_marker = || DocumentError::NoMarker { file: file.into(), part: part.into() };
    blocks(file, text)?.into_iter().find(|block| block.part == part).ok_or_else(no_marker)
}

fn blocks<'a>(file: &str, text: &'a str) -> Result<Vec<Block<'a>>, DocumentError> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<(&str, &str, usize)> = None;
    let wrong = |line: usize, problem: &str| {
        Err(DocumentError::Marker { file: file.into(), line: line + 1, problem: problem.into() })
    };
    for (i, line) in text.lines().enumerate() {
        let Some(marker) = line.strip_prefix("<!-- reproduce ") else { continue };
        let Some((part, rest)) = marker.strip_suffix(" -->").and_then(|m| m.split_once(": ")) else {
            return wrong(i, "a marker that is not understood");
        };
        match (rest.strip_prefix("begin "), rest, open.take()) {
            (Some(_), _, None) if blocks.iter().any(|b| b.part == part) => {
                return wrong(i, "a second place for this part")
            }
            (Some(sum), _, None) => open = Some((part, sum, i)),
            (None, "end", Some((begun, sum, begin))) if begun == part => {
                blocks.push(Block { part, sum, begin, end: i })
            }
            _ => return wrong(i, "a marker without its other half"),
        }
    }
    match open {
        Some((.., begin)) => wrong(begin, "a marker without its other half"),
        None => Ok(blocks),
    }
}

fn checksum(table: &str) -> String {
    format!("{:016x}", xxh3_64(table.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::reproduce;

    const WRITTEN: &str = "# Title\n\nBefore.\n\n<!-- reproduce 000: begin by hand -->\nold | table\n<!-- reproduce 000: end -->\n\nAfter.";

    fn result() -> Reproduction {
        reproduce(&[Mail::find("000").unwrap()], &[]).unwrap()
    }

    #[test]
    fn tables_are_replaced_and_words_are_not() {
        let result = result();
        let new = update("d.md", WRITTEN, &result).unwrap();
        assert!(
            new.starts_with("# Title\n\nBefore.\n\n<!-- reproduce 000: begin ") && new.ends_with("-->\n\nAfter."),
            "{new}"
        );
        assert!(new.contains("| hikey960/sched-pipe/ops_per_sec |") && !new.contains("old | table"), "{new}");
        assert_eq!(update("d.md", &new, &result).unwrap(), new, "written again it stays");
        assert_eq!((check("d.md", &new, &result), intact("d.md", &new)), (Ok(()), Ok(1)));
    }

    #[test]
    fn an_edit_by_hand_is_noticed() {
        let result = result();
        assert!(matches!(check("d.md", WRITTEN, &result), Err(DocumentError::Stale { line: 6, .. })));
        assert_eq!(intact("d.md", WRITTEN), Ok(1), "not generated yet");
        let new = update("d.md", WRITTEN, &result).unwrap().replacen("149313", "149314", 1);
        assert!(matches!(check("d.md", &new, &result), Err(DocumentError::Stale { .. })));
        assert!(matches!(intact("d.md", &new), Err(DocumentError::Marker { line: 5, .. })));
    }

    #[test]
    fn markers_that_make_no_sense_are_refused() {
        let of = |text: &str| intact("d.md", text).unwrap_err().to_string();
        let begin = "<!-- reproduce 000: begin by hand -->\n";
        let end = "<!-- reproduce 000: end -->\n";
        assert_eq!(of(begin), "d.md:1: a marker without its other half");
        assert_eq!(of(end), "d.md:1: a marker without its other half");
        assert_eq!(of(&[begin, begin, end].concat()), "d.md:2: a marker without its other half");
        assert_eq!(of(&[begin, end, begin, end].concat()), "d.md:3: a second place for this part");
        assert_eq!(of("<!-- reproduce 000 -->\n"), "d.md:1: a marker that is not understood");
        let error = update("d.md", "nothing", &result()).unwrap_err();
        assert_eq!(error, DocumentError::NoMarker { file: "d.md".into(), part: "000".into() });
    }

    #[test]
    fn the_documents_tables_are_as_they_were_generated() {
        let text = include_str!("../../../../docs/reproduction.md");
        assert!(intact("docs/reproduction.md", text).unwrap() > 0);
    }
}

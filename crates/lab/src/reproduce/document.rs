//! Generated tables in a document of one page or several: the text between two markers is generated, the rest is
//! written by hand.
//!
//! ```text
//! <!-- reproduce lb-rework: begin 0123456789abcdef -->
//! <!-- reproduce lb-rework: end -->
//! ```
//!
//! `all` instead of a mail stands for the scoreboard of all mails. The number is a checksum of the text between the
//! markers: it detects an edit by hand. `by hand` instead of it says that the tables there were not generated yet.

use miette::Diagnostic;
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use super::markdown;
use super::rows::Reproduction;
use crate::published::Mail;

/// The text in place of a checksum before the first generated table.
const BY_HAND: &str = "by hand";

/// Why a document cannot take tables, or does not have the expected ones.
#[derive(Debug, Error, Diagnostic, PartialEq, Eq)]
pub enum DocumentError {
    /// The document has no markers for a table.
    #[error("{file} has no place for the tables of {part}")]
    #[diagnostic(help("put these two lines where they are to stand:\n<!-- reproduce {part}: begin {BY_HAND} -->\n<!-- reproduce {part}: end -->"))]
    NoMarker {
        /// Path of the document.
        file: String,
        /// Id of a mail, or `all`.
        part: String,
    },
    /// A marker is invalid.
    #[error("{file}:{line}: {problem}")]
    #[diagnostic(help("a table stands between <!-- reproduce PART: begin SUM --> and <!-- reproduce PART: end -->"))]
    Marker {
        /// Path of the document.
        file: String,
        /// Line number, from 1.
        line: usize,
        /// Description of the error.
        problem: String,
    },
    /// The document's table is not the generated one.
    #[error(
        "{file}:{line}: the table of {part} is not what these results give: expected {expected:?}, found {found:?}"
    )]
    #[diagnostic(help("update it with --update"))]
    Stale {
        /// Path of the document.
        file: String,
        /// The first line that differs, from 1.
        line: usize,
        /// Id of a mail, or `all`.
        part: String,
        /// The text that was generated now.
        expected: String,
        /// The text that the document has.
        found: String,
    },
}

/// A document of one page or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Path of the file or directory, for messages.
    pub name: String,
    /// Pages of the document.
    pub pages: Vec<Page>,
}

/// One file of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Path of the file.
    pub file: String,
    /// Content of the file.
    pub text: String,
}

/// A generated part of a page, by lines.
struct Block<'a> {
    part: &'a str,
    sum: &'a str,
    /// Line of the begin marker, from 0.
    begin: usize,
    /// Line of the end marker, from 0.
    end: usize,
}

/// The parts of a result that documents can contain, with their tables. The scoreboard is a part only if the result has
/// all mails.
fn parts(result: &Reproduction) -> Vec<(&str, String)> {
    let mails: Vec<&str> = result.mails.iter().map(|mail| mail.mail.as_str()).collect();
    let mut parts: Vec<(&str, String)> =
        mails.iter().map(|mail| (*mail, format!("\n{}\n", markdown::mail_table(result, mail)))).collect();
    if Mail::known().all(|mail| mails.contains(&mail)) {
        parts.push(("all", format!("\n{}\n", markdown::scoreboard(result))));
    }
    parts
}

impl Document {
    /// The document with the tables of `result` in their places.
    ///
    /// # Errors
    /// If a part has no markers, or markers are invalid.
    pub fn update(&self, result: &Reproduction) -> Result<Document, DocumentError> {
        let mut document = self.clone();
        for (part, table) in parts(result) {
            let (page, block) = document.place(part)?;
            let lines: Vec<&str> = document.pages[page].text.split_inclusive('\n').collect();
            let begin = format!("<!-- reproduce {part}: begin {} -->\n", checksum(&table));
            let end =
                format!("<!-- reproduce {part}: end -->{}", &lines[block.end][lines[block.end].trim_end().len()..]);
            let text =
                [&*lines[..block.begin].concat(), &begin, &table, &end, &lines[block.end + 1..].concat()].concat();
            document.pages[page].text = text;
        }
        Ok(document)
    }

    /// Checks that the document has the tables of `result`.
    ///
    /// # Errors
    /// If a table differs, with the first line that differs; or if markers are missing or invalid.
    pub fn check(&self, result: &Reproduction) -> Result<(), DocumentError> {
        for (part, table) in parts(result) {
            let (page, block) = self.place(part)?;
            let Page { file, text } = &self.pages[page];
            let found: Vec<&str> = text.lines().skip(block.begin + 1).take(block.end - block.begin - 1).collect();
            let expected: Vec<&str> = table.lines().collect();
            let at = |lines: &[&str], i: usize| lines.get(i).copied().unwrap_or_default().to_string();
            if let Some(i) = (0..found.len().max(expected.len())).find(|i| at(&found, *i) != at(&expected, *i)) {
                return Err(DocumentError::Stale {
                    file: file.clone(),
                    line: block.begin + 2 + i,
                    part: part.into(),
                    expected: at(&expected, i),
                    found: at(&found, i),
                });
            }
        }
        Ok(())
    }

    /// Checks that no generated table was edited, and returns the number of tables.
    ///
    /// # Errors
    /// If a table was edited, or markers are invalid.
    pub fn intact(&self) -> Result<usize, DocumentError> {
        let mut tables = 0;
        for page in &self.pages {
            let blocks = blocks(page)?;
            let lines: Vec<&str> = page.text.split_inclusive('\n').collect();
            for block in blocks.iter().filter(|block| block.sum != BY_HAND) {
                if block.sum != checksum(&lines[block.begin + 1..block.end].concat()) {
                    let problem = format!("the generated table of {} was edited by hand", block.part);
                    return Err(DocumentError::Marker { file: page.file.clone(), line: block.begin + 1, problem });
                }
            }
            tables += blocks.len();
        }
        Ok(tables)
    }

    /// The index of the page that has markers for this part, and the block between them.
    fn place(&self, part: &str) -> Result<(usize, Block<'_>), DocumentError> {
        let mut place = None;
        for (i, page) in self.pages.iter().enumerate() {
            let Some(block) = blocks(page)?.into_iter().find(|block| block.part == part) else { continue };
            if place.is_some() {
                return wrong(page, block.begin, "a second place for this part");
            }
            place = Some((i, block));
        }
        place.ok_or_else(|| DocumentError::NoMarker { file: self.name.clone(), part: part.into() })
    }
}

/// The generated parts of a page. A mail's number in a marker counts as its slug.
fn blocks(page: &Page) -> Result<Vec<Block<'_>>, DocumentError> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<(&str, &str, usize)> = None;
    for (i, line) in page.text.lines().enumerate() {
        let Some(marker) = line.strip_prefix("<!-- reproduce ") else { continue };
        let Some((part, rest)) = marker.strip_suffix(" -->").and_then(|m| m.split_once(": ")) else {
            return wrong(page, i, "a marker that is not understood");
        };
        let part = Mail::slug(part).unwrap_or(part);
        match (rest.strip_prefix("begin "), rest, open.take()) {
            (Some(_), _, None) if blocks.iter().any(|b| b.part == part) => {
                return wrong(page, i, "a second place for this part")
            }
            (Some(sum), _, None) => open = Some((part, sum, i)),
            (None, "end", Some((begun, sum, begin))) if begun == part => {
                blocks.push(Block { part, sum, begin, end: i })
            }
            _ => return wrong(page, i, "a marker without its other half"),
        }
    }
    match open {
        Some((.., begin)) => wrong(page, begin, "a marker without its other half"),
        None => Ok(blocks),
    }
}

fn wrong<T>(page: &Page, line: usize, problem: &str) -> Result<T, DocumentError> {
    Err(DocumentError::Marker { file: page.file.clone(), line: line + 1, problem: problem.into() })
}

fn checksum(table: &str) -> String {
    format!("{:016x}", xxh3_64(table.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::reproduce;

    const WRITTEN: &str = "# Title\n\nBefore.\n\n<!-- reproduce asym-prev-first: begin by hand -->\nold | table\n<!-- reproduce asym-prev-first: end -->\n\nAfter.";

    fn result() -> Reproduction {
        reproduce(&[Mail::find("asym-prev-first").unwrap()], &[]).unwrap()
    }

    fn document(pages: &[(&str, &str)]) -> Document {
        let page = |(file, text): &(&str, &str)| Page { file: file.to_string(), text: text.to_string() };
        Document { name: "d".into(), pages: pages.iter().map(page).collect() }
    }

    fn update(text: &str, result: &Reproduction) -> Result<String, DocumentError> {
        document(&[("d.md", text)]).update(result).map(|mut new| new.pages.remove(0).text)
    }

    fn check(text: &str, result: &Reproduction) -> Result<(), DocumentError> {
        document(&[("d.md", text)]).check(result)
    }

    fn intact(text: &str) -> Result<usize, DocumentError> {
        document(&[("d.md", text)]).intact()
    }

    #[test]
    fn tables_are_replaced_and_words_are_not() {
        let result = result();
        let new = update(WRITTEN, &result).unwrap();
        let begin = "# Title\n\nBefore.\n\n<!-- reproduce asym-prev-first: begin ";
        assert!(new.starts_with(begin) && new.ends_with("-->\n\nAfter."), "{new}");
        assert!(new.contains("| hikey960/sched-pipe/ops_per_sec |") && !new.contains("old | table"), "{new}");
        assert_eq!(update(&new, &result).unwrap(), new, "written again it stays");
        assert_eq!((check(&new, &result), intact(&new)), (Ok(()), Ok(1)));
        let cut = update(WRITTEN.trim_end_matches("\n\nAfter."), &result).unwrap();
        assert!(cut.ends_with("<!-- reproduce asym-prev-first: end -->"), "{cut}");
    }

    #[test]
    fn markers_may_name_mails_by_number() {
        let result = result();
        let new = update(&WRITTEN.replace("asym-prev-first", "000"), &result).unwrap();
        assert_eq!(new, update(WRITTEN, &result).unwrap());
    }

    #[test]
    fn each_table_goes_into_the_page_that_has_a_place_for_it() {
        let result = result();
        let old = document(&[("README.md", "Nothing here."), ("a.md", WRITTEN)]);
        let new = old.update(&result).unwrap();
        assert_eq!((&new.pages[0], &new.pages[1].text), (&old.pages[0], &update(WRITTEN, &result).unwrap()));
        assert_eq!((new.check(&result), new.intact()), (Ok(()), Ok(1)));
        let twice = document(&[("a.md", WRITTEN), ("b.md", WRITTEN)]).update(&result).unwrap_err();
        assert_eq!(twice.to_string(), "b.md:5: a second place for this part");
    }

    #[test]
    fn an_edit_by_hand_is_noticed() {
        let result = result();
        assert!(matches!(check(WRITTEN, &result), Err(DocumentError::Stale { line: 6, .. })));
        assert_eq!(intact(WRITTEN), Ok(1), "not generated yet");
        let new = update(WRITTEN, &result).unwrap().replacen("149313", "149314", 1);
        assert!(matches!(check(&new, &result), Err(DocumentError::Stale { .. })));
        assert!(matches!(intact(&new), Err(DocumentError::Marker { line: 5, .. })));
    }

    #[test]
    fn markers_that_make_no_sense_are_refused() {
        let of = |text: &str| intact(text).unwrap_err().to_string();
        let begin = "<!-- reproduce asym-prev-first: begin by hand -->\n";
        let end = "<!-- reproduce asym-prev-first: end -->\n";
        assert_eq!(of(begin), "d.md:1: a marker without its other half");
        assert_eq!(of(end), "d.md:1: a marker without its other half");
        assert_eq!(of(&[begin, begin, end].concat()), "d.md:2: a marker without its other half");
        assert_eq!(of(&[begin, end, begin, end].concat()), "d.md:3: a second place for this part");
        assert_eq!(of("<!-- reproduce asym-prev-first -->\n"), "d.md:1: a marker that is not understood");
        let error = update("nothing", &result()).unwrap_err();
        assert_eq!(error, DocumentError::NoMarker { file: "d".into(), part: "asym-prev-first".into() });
    }

    #[test]
    fn the_documents_tables_are_as_they_were_generated() {
        let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reproduction");
        let read = |name: &str| std::fs::read_to_string(format!("{pages}/{name}.md")).unwrap();
        let texts: Vec<(&str, String)> = Mail::known().chain(["README"]).map(|name| (name, read(name))).collect();
        let pages: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        assert_eq!(document(&pages).intact(), Ok(6));
    }
}

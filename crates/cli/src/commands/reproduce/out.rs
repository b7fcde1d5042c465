//! The output of `reproduce`: standard output, a file, or the text between the markers of a document.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use fairground_lab::reproduce::document::{Document, Page};
use fairground_lab::reproduce::{self, Reproduction};
use miette::Diagnostic;
use thiserror::Error;

use super::options::{Layout, RowFormat};
use crate::error::{run_failed, Failure};
use crate::output::{print, OutputFile};

/// A document that cannot be read.
#[derive(Debug, Error, Diagnostic)]
#[error("cannot read {path}: {cause}")]
struct CannotRead {
    path: String,
    cause: String,
}

/// The output that results are written to or compared with.
pub enum Writer {
    Printed(RowFormat),
    File(RowFormat, OutputFile),
    Update(PathBuf),
    Check(PathBuf),
}

impl Layout {
    /// Whether results are compared with a document or written into one.
    pub fn is_of_document(&self) -> bool {
        self.update.is_some() || self.check.is_some()
    }

    /// Opens the output. To be called before the work begins, so that a bad path is reported at once.
    pub fn open(&self) -> Result<Writer, Failure> {
        if let Some(path) = self.update.as_ref().or(self.check.as_ref()) {
            read(path)?.intact()?;
        }
        Ok(match (&self.update, &self.check, &self.output) {
            (Some(path), ..) => Writer::Update(path.clone()),
            (_, Some(path), _) => Writer::Check(path.clone()),
            (.., Some(path)) => Writer::File(self.format, OutputFile::create(path)?),
            _ => Writer::Printed(self.format),
        })
    }
}

impl Writer {
    pub fn write(self, result: &Reproduction) -> Result<(), Failure> {
        match self {
            Writer::Printed(format) => print(&rendered(format, result)),
            Writer::File(format, file) => write(file, &rendered(format, result)),
            Writer::Update(path) => {
                // Read again: another process may have written to it meanwhile.
                let old = read(&path)?;
                let new = old.update(result)?;
                for (old, new) in old.pages.iter().zip(&new.pages).filter(|(old, new)| old != new) {
                    write(OutputFile::create(Path::new(&old.file))?, &new.text)?;
                }
                Ok(())
            }
            Writer::Check(path) => read(&path)?.check(result).map_err(run_failed),
        }
    }
}

fn rendered(format: RowFormat, result: &Reproduction) -> String {
    match format {
        RowFormat::Text => reproduce::render(result),
        RowFormat::Markdown => reproduce::markdown(result),
        RowFormat::Csv => reproduce::csv(result),
        RowFormat::Json => reproduce::json(result),
        RowFormat::Html => reproduce::html(result),
    }
}

fn write(mut file: OutputFile, text: &str) -> Result<(), Failure> {
    file.write_all(text.as_bytes()).map_err(|e| run_failed(format!("cannot write the result: {e}")))?;
    file.finish()
}

/// Reads a file, or the pages (`*.md`) of a directory in order of name.
fn read(path: &Path) -> Result<Document, Failure> {
    let files = if path.is_dir() { pages_of(path)? } else { vec![path.into()] };
    let page = |file: PathBuf| {
        let text = fs::read_to_string(&file).map_err(|e| cannot_read(&file, e))?;
        Ok(Page { file: file.display().to_string(), text })
    };
    let pages = files.into_iter().map(page).collect::<Result<_, CannotRead>>()?;
    Ok(Document { name: path.display().to_string(), pages })
}

fn pages_of(dir: &Path) -> Result<Vec<PathBuf>, CannotRead> {
    let entries =
        fs::read_dir(dir).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(|e| cannot_read(dir, e))?;
    let mut pages: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    pages.retain(|path| path.extension().is_some_and(|ext| ext == "md") && path.is_file());
    pages.sort();
    Ok(pages)
}

fn cannot_read(path: &Path, cause: std::io::Error) -> CannotRead {
    CannotRead { path: path.display().to_string(), cause: cause.to_string() }
}

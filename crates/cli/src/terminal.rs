//! Text that is safe to print on a terminal: control characters of inputs are replaced.
//!
//! Names of files, tasks and machines, source lines of errors and a kernel's messages come from outside. An escape
//! sequence in one of them could rewrite what stands on the screen, so everything that is printed passes [`printable`].
//! The lines of an error are coloured by its handler and so have escape sequences of ours: its parts are replaced before it
//! is drawn ([`Printable`]).

use std::error::Error;
use std::fmt;

use fairground_lab::tables::printable;
use miette::{Diagnostic, LabeledSpan, NamedSource, Severity, SourceCode, SourceSpan};

/// An error whose parts are all printable.
#[derive(Debug)]
pub struct Printable {
    message: String,
    code: Option<String>,
    help: Option<String>,
    url: Option<String>,
    severity: Option<Severity>,
    labels: Vec<LabeledSpan>,
    source_code: Option<NamedSource<String>>,
    cause: Option<Box<Printable>>,
    related: Vec<Printable>,
}

impl Printable {
    /// The error with the control characters of all its parts replaced.
    pub fn from_diagnostic(error: &dyn Diagnostic) -> Printable {
        let words =
            |part: Option<Box<dyn fmt::Display + '_>>| part.map(|part| printable(&part.to_string()).into_owned());
        let labels: Vec<LabeledSpan> =
            error.labels().into_iter().flatten().map(|label| printable_label(&label)).collect();
        let cause = match (error.diagnostic_source(), error.source()) {
            (Some(cause), _) => Some(Printable::from_diagnostic(cause)),
            (None, Some(cause)) => Some(Printable::from_error(cause)),
            (None, None) => None,
        };
        Printable {
            message: printable(&error.to_string()).into_owned(),
            code: words(error.code()),
            help: words(error.help()),
            url: words(error.url()),
            severity: error.severity(),
            source_code: error.source_code().and_then(|code| printable_source(code, &labels)),
            labels,
            cause: cause.map(Box::new),
            related: error.related().into_iter().flatten().map(Printable::from_diagnostic).collect(),
        }
    }

    fn from_error(error: &dyn Error) -> Printable {
        Printable {
            message: printable(&error.to_string()).into_owned(),
            code: None,
            help: None,
            url: None,
            severity: None,
            labels: Vec::new(),
            source_code: None,
            cause: error.source().map(|cause| Box::new(Printable::from_error(cause))),
            related: Vec::new(),
        }
    }
}

fn printable_label(label: &LabeledSpan) -> LabeledSpan {
    let words = label.label().map(|words| printable(words).into_owned());
    match label.primary() {
        true => LabeledSpan::new_primary_with_span(words, *label.inner()),
        false => LabeledSpan::new_with_span(words, *label.inner()),
    }
}

/// Lines after the last label that may be drawn.
const CONTEXT_LINES: usize = 3;

/// The source from its beginning to some lines after the last label. Each byte keeps its offset, so labels stay valid.
fn printable_source(code: &dyn SourceCode, labels: &[LabeledSpan]) -> Option<NamedSource<String>> {
    let end = labels.iter().map(|label| label.offset() + label.len()).max()?;
    let contents = code.read_span(&SourceSpan::from((0, end)), 0, CONTEXT_LINES).ok()?;
    let text = String::from_utf8_lossy(contents.data());
    let source = NamedSource::new(printable(contents.name().unwrap_or_default()), printable(&text).into_owned());
    Some(match contents.language() {
        Some(language) => source.with_language(language.to_owned()),
        None => source,
    })
}

impl fmt::Display for Printable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Printable {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &dyn Error)
    }
}

impl Diagnostic for Printable {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        shown(self.code.as_ref())
    }

    fn severity(&self) -> Option<Severity> {
        self.severity
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        shown(self.help.as_ref())
    }

    fn url<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        shown(self.url.as_ref())
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source_code.as_ref().map(|code| code as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.labels.is_empty()).then(|| Box::new(self.labels.iter().cloned()) as Box<dyn Iterator<Item = _>>)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        let related = self.related.iter().map(|error| error as &dyn Diagnostic);
        (!self.related.is_empty()).then(|| Box::new(related) as Box<dyn Iterator<Item = _>>)
    }

    fn diagnostic_source(&self) -> Option<&dyn Diagnostic> {
        self.cause.as_deref().map(|cause| cause as &dyn Diagnostic)
    }
}

fn shown(part: Option<&String>) -> Option<Box<dyn fmt::Display + '_>> {
    part.map(|part| Box::new(part) as Box<dyn fmt::Display>)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_errors_are_replaced_and_labels_stay_in_place() {
        let text = "ok = 1\nba\u{1b}d = 2\n";
        let label = LabeledSpan::at(text.find('d').unwrap()..text.len() - 1, "he\u{1b}re");
        let report = miette::miette!(labels = vec![label], help = "do\u{1b} this", "bad\u{1b}")
            .with_source_code(NamedSource::new("f\u{1b}.toml", text.to_owned()));
        let clean = Printable::from_diagnostic(report.as_ref());
        let mut drawn = String::new();
        let handler = miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::none());
        handler.render_report(&mut drawn, &clean).unwrap();
        assert!(!drawn.contains('\u{1b}'), "{drawn:?}");
        for part in ["bad?", "f?.toml:2", "ba?d = 2", "he?re", "do? this"] {
            assert!(drawn.contains(part), "{part}: {drawn}");
        }
    }
}

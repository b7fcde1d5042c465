//! The characters of a device tree source, with the lines they are on.

use std::path::Path;
use std::rc::Rc;

use super::super::tree::shortened;
use super::super::CaptureError;

/// Directives of the preprocessor.
const DIRECTIVES: [&str; 12] =
    ["include", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "pragma", "error", "warning"];

/// What to do about a source that is not plain.
pub(super) const UNPACK: &str = "plain source: run it through `cpp -nostdinc -undef -x assembler-with-cpp -I DIR`, or \
                                 give the .dtb that `dtc` or the kernel's build makes of it";

/// The place in a source.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// The file and line that the source says it is from, for messages.
    place: Place,
}

/// A line of a file.
#[derive(Clone)]
pub(super) struct Place {
    file: Rc<Path>,
    line: u64,
}

impl Place {
    pub fn shown(&self) -> String {
        format!("{}:{}", self.file.display(), self.line)
    }
}

impl<'a> Lexer<'a> {
    pub fn new(file: &Path, text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0, place: Place { file: file.into(), line: 1 } }
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        self.place.clone()
    }

    /// A fault here.
    pub fn fault(&self, problem: impl Into<String>, expected: impl Into<String>) -> CaptureError {
        CaptureError::Garbled { path: self.place.shown().into(), problem: problem.into(), expected: expected.into() }
    }

    /// A fault that quotes what is here.
    pub fn unexpected(&mut self, expected: impl Into<String>) -> CaptureError {
        let rest = &self.text[self.at..];
        let line = rest.lines().next().unwrap_or("").trim_end();
        match rest.is_empty() {
            true => self.fault("the source ends", expected),
            false => self.fault(format!("found `{}`", shortened(line)), expected),
        }
    }

    /// The next character; skips nothing.
    pub fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Goes on by one character.
    pub fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        self.place.line += u64::from(c == '\n');
        Some(c)
    }

    /// Whether what is here begins so; nothing is skipped.
    pub fn sees(&self, start: &str) -> bool {
        self.text[self.at..].starts_with(start)
    }

    /// Takes what begins so, and the space after it.
    pub fn take(&mut self, start: &str) -> Result<bool, CaptureError> {
        let sees = self.sees(start);
        if sees {
            self.at += start.len();
            self.space()?;
        }
        Ok(sees)
    }

    /// Takes what must be here.
    pub fn need(&mut self, start: &str, what: &str) -> Result<(), CaptureError> {
        match self.take(start)? {
            true => Ok(()),
            false => Err(self.unexpected(format!("`{start}` {what}"))),
        }
    }

    /// Takes the characters of a kind; may be none. Skips nothing.
    pub fn run(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !of(c)).unwrap_or(rest.len());
        self.at += end;
        self.place.line += rest[..end].matches('\n').count() as u64;
        &rest[..end]
    }

    /// Takes a label: `NAME:`.
    pub fn label(&mut self) -> Result<Option<&'a str>, CaptureError> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !after.starts_with(':') {
            return Ok(None);
        }
        self.at += end + 1;
        self.space()?;
        Ok(Some(name))
    }

    /// Skips space, comments, and the lines by which the preprocessor says where the next one is from. Its directives
    /// are refused.
    pub fn space(&mut self) -> Result<(), CaptureError> {
        loop {
            self.run(char::is_whitespace);
            if self.sees("//") {
                self.run(|c| c != '\n');
            } else if self.sees("/*") {
                self.comment()?;
            } else if !(self.sees("#") && self.is_at_line_start() && self.directive()?) {
                return Ok(());
            }
        }
    }

    fn comment(&mut self) -> Result<(), CaptureError> {
        let rest = &self.text[self.at..];
        let Some(end) = rest.find("*/") else {
            return Err(self.fault("a comment without an end", "`*/`"));
        };
        self.place.line += rest[..end].matches('\n').count() as u64;
        self.at += end + 2;
        Ok(())
    }

    fn is_at_line_start(&self) -> bool {
        let before = self.text[..self.at].trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with('\n')
    }

    /// Takes a line such as `# 12 "file.dtsi" 2`; whether it was one. Anything else may be a property's name.
    fn directive(&mut self) -> Result<bool, CaptureError> {
        let line = self.text[self.at + 1..].lines().next().unwrap_or("");
        let words = line.trim_start();
        let word = words.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
        if DIRECTIVES.contains(&word) {
            return Err(self.fault(format!("`#{word}` wants the preprocessor"), UNPACK));
        }
        let words = words.strip_prefix("line").map_or(words, str::trim_start);
        let (number, rest) = words.split_once(' ').unwrap_or((words, ""));
        let Ok(number) = number.parse::<u32>() else { return Ok(false) };
        self.at += 1 + line.len();
        if let Some((file, _)) = rest.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            self.place.file = Path::new(file).into();
        }
        // The number is that of the line after this one, whose line feed is still to come.
        self.place.line = u64::from(number).saturating_sub(1);
        Ok(true)
    }
}

//! A place in a machine file: typed access to values, with errors that name the place.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::{FileError, FileResult};
use crate::suggest;
use crate::{Figure, Perturbation, SourceClass};

use super::tree::{Data, Tree};

/// What all nodes of one file share.
pub struct File<'a> {
    /// Name of the file, for messages.
    pub name: &'a str,
    /// The whole text of the file.
    pub text: &'a str,
    /// Of a machine: classes and expansions of source tags.
    pub(super) sources: BTreeMap<String, (SourceClass, String)>,
    /// Of a machine: figures read so far.
    pub(super) figures: RefCell<Vec<Figure>>,
    /// Of a machine: where the figures stand, bytes.
    pub(super) offsets: RefCell<Vec<usize>>,
    /// Of a machine: a figure that is to be read as more or less than it says.
    pub(super) turn: Option<FigurePerturbation<'a>>,
    /// Of a machine: the factors of a draw by path; what the kernel is told is read as it stands.
    pub(super) drawn: Option<&'a BTreeMap<String, f64>>,
}

/// A figure read as something else than the file says.
pub(super) struct FigurePerturbation<'a> {
    /// Its path, as in [`Figure`].
    pub path: &'a str,
    pub turn: Perturbation,
    /// There is such a figure, and it is a magnitude.
    pub met: Cell<bool>,
}

impl<'a> File<'a> {
    /// A file with this name and text.
    pub fn new(name: &'a str, text: &'a str) -> Self {
        File {
            name,
            text,
            sources: BTreeMap::new(),
            figures: RefCell::default(),
            offsets: RefCell::default(),
            turn: None,
            drawn: None,
        }
    }

    /// How the magnitude at `path` is turned.
    pub(super) fn perturbation(&self, path: &str) -> Option<Perturbation> {
        let found = self.turn.as_ref().filter(|turn| turn.path == path)?;
        found.met.set(true);
        Some(found.turn)
    }

    /// The factor of the draw for the figure at `path`; 1 if the file is read as it stands.
    pub(super) fn drawn_factor(&self, path: &str) -> f64 {
        self.drawn.and_then(|factors| factors.get(path)).copied().unwrap_or(1.0)
    }

    /// How many times what the file says the figures at `path` are, of which there are several: they are not turned to
    /// one value.
    pub(super) fn perturbation_factor(&self, path: &str) -> f64 {
        let several = self.turn.as_ref().filter(|found| matches!(found.turn, Perturbation::Times(_)));
        match several.and_then(|_| self.perturbation(path)) {
            Some(Perturbation::Times(factor)) => factor,
            _ => self.drawn_factor(path),
        }
    }
}

/// A value, its path and its key.
#[derive(Clone)]
pub struct Node<'a> {
    /// The file it is in, for messages.
    pub file: &'a File<'a>,
    /// Dotted path of the key.
    pub path: String,
    /// Where the key stands, bytes.
    pub key_span: Range<usize>,
    /// The value at this node.
    pub tree: &'a Tree,
}

impl<'a> Node<'a> {
    /// The node of the whole file.
    pub fn root(file: &'a File<'a>, tree: &'a Tree) -> Self {
        Node { file, path: String::new(), key_span: 0..0, tree }
    }

    /// A fault at this value.
    pub fn fault(&self, problem: impl Into<String>) -> Box<FileError> {
        FileError::new(self.file.name, self.file.text, self.tree.span.clone(), &self.path, problem)
    }

    /// A fault at this node's key.
    pub fn fault_at_key(&self, problem: impl Into<String>) -> Box<FileError> {
        FileError::new(self.file.name, self.file.text, self.key_span.clone(), &self.path, problem)
    }

    /// A fault for a value of another type than `expected`.
    pub fn wrong_type(&self, expected: &str) -> Box<FileError> {
        self.fault(format!("expected {expected}, found {}", self.tree.kind()))
    }

    /// The entries of this table in file order, with their keys.
    pub fn entries(&self) -> FileResult<Vec<(&'a str, Node<'a>)>> {
        let Data::Table(entries) = &self.tree.data else { return Err(self.wrong_type("a table")) };
        let child = |e: &'a super::tree::Entry| {
            let path = if self.path.is_empty() { e.key.clone() } else { format!("{}.{}", self.path, e.key) };
            (e.key.as_str(), Node { file: self.file, path, key_span: e.key_span.clone(), tree: &e.value })
        };
        Ok(entries.iter().map(child).collect())
    }

    /// This table, whose keys must be among `known`.
    pub fn table(&self, known: &[&'static str]) -> FileResult<Fields<'a>> {
        let entries = self.entries()?;
        for (key, node) in &entries {
            if !known.contains(key) {
                let fault = node.fault_at_key(format!("unknown key `{key}`"));
                return Err(fault.hint(suggest(key, known.iter().copied())));
            }
        }
        Ok(Fields { table: self.clone(), entries })
    }

    /// The elements of this array, `path[0]` and so on.
    pub fn elements(&self) -> FileResult<Vec<Node<'a>>> {
        let Data::Array(items) = &self.tree.data else { return Err(self.wrong_type("an array")) };
        let element = |(i, tree): (usize, &'a Tree)| {
            let path = format!("{}[{i}]", self.path);
            Node { file: self.file, path, key_span: tree.span.clone(), tree }
        };
        Ok(items.iter().enumerate().map(element).collect())
    }

    /// The string at this node.
    pub fn text(&self) -> FileResult<&'a str> {
        match &self.tree.data {
            Data::Text(text) => Ok(text),
            _ => Err(self.wrong_type("a string")),
        }
    }

    /// The boolean at this node.
    pub fn boolean(&self) -> FileResult<bool> {
        match self.tree.data {
            Data::Bool(value) => Ok(value),
            _ => Err(self.wrong_type("true or false")),
        }
    }

    /// The integer at this node; an error unless it is in `lo..=hi`.
    pub fn integer(&self, lo: u32, hi: u32) -> FileResult<u32> {
        let Data::Int(value) = self.tree.data else { return Err(self.wrong_type("an integer")) };
        u32::try_from(value)
            .ok()
            .filter(|v| (lo..=hi).contains(v))
            .ok_or_else(|| self.fault(format!("{value} is out of range")).hint(format!("expected {lo} to {hi}")))
    }

    /// This number, finite and not negative, and how it is written.
    pub fn number(&self) -> FileResult<(f64, String)> {
        let (value, written) = match self.tree.data {
            Data::Int(value) => (value as f64, value.to_string()),
            // Adding zero turns -0.0 into 0.0.
            Data::Float(value) => (value + 0.0, (value + 0.0).to_string()),
            _ => return Err(self.wrong_type("a number")),
        };
        if !value.is_finite() {
            return Err(self
                .fault(format!("{written} is not a valid figure"))
                .hint("expected a finite number, zero or more"));
        }
        if value < 0.0 {
            return Err(self.fault(format!("{written} is negative")).hint("expected zero or more"));
        }
        Ok((value, written))
    }
}

/// A table whose keys are known to be valid.
pub struct Fields<'a> {
    /// The node of the table itself.
    pub table: Node<'a>,
    entries: Vec<(&'a str, Node<'a>)>,
}

impl<'a> Fields<'a> {
    /// The value of `key`, if there.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        self.entries.iter().find(|(k, _)| *k == key).map(|(_, node)| node.clone())
    }

    /// The value of `key`, which must be there.
    pub fn need(&self, key: &str) -> FileResult<Node<'a>> {
        self.get(key).ok_or_else(|| {
            let table = if self.table.path.is_empty() { "the file".into() } else { format!("`{}`", self.table.path) };
            let mut fault = self.table.fault(format!("missing key `{key}`"));
            if self.table.path.is_empty() {
                fault = self.table.fault_at_key(format!("missing key `{key}`"));
            }
            fault.hint(format!("{table} needs `{key}`"))
        })
    }
}

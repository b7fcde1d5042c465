//! [`Note`]: what is to be known of a trace beside its events.

use std::fmt;
use std::ops::Deref;

use serde::{Serialize, Serializer};

/// A sentence on a trace, or on figures made of it. Reads like its text, and is written as such by serde.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// Events or values are missing, damaged, left out or guessed: results may differ from those of a whole trace.
    Loss(String),
    /// Holds for all traces of its kind or of its run, or takes nothing from the results.
    Hint(String),
}

impl Note {
    /// Whether data is missing.
    pub fn is_loss(&self) -> bool {
        matches!(self, Note::Loss(_))
    }

    /// The same note in other words.
    pub fn reworded(&self, reword: impl FnOnce(&str) -> String) -> Note {
        match self {
            Note::Loss(text) => Note::Loss(reword(text)),
            Note::Hint(text) => Note::Hint(reword(text)),
        }
    }

    /// The same note with the name of its trace in front.
    pub(crate) fn of_file(&self, name: &str) -> Note {
        self.reworded(|text| format!("{name}: {text}"))
    }

    /// A loss for each count that is not 0: the count and what happened so often.
    pub fn losses(counts: &[(u64, &str)]) -> Vec<Note> {
        counted(counts).map(Note::Loss).collect()
    }

    /// A hint for each count that is not 0, as [`Self::losses`] has them.
    pub fn hints(counts: &[(u64, &str)]) -> Vec<Note> {
        counted(counts).map(Note::Hint).collect()
    }
}

/// The texts of counts that are not 0.
fn counted<'a>(counts: &'a [(u64, &str)]) -> impl Iterator<Item = String> + 'a {
    counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"))
}

impl Deref for Note {
    type Target = str;

    fn deref(&self) -> &str {
        let (Note::Loss(text) | Note::Hint(text)) = self;
        text
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl PartialEq<&str> for Note {
    fn eq(&self, text: &&str) -> bool {
        **self == **text
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

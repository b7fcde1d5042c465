//! Which threads are asked for, by parts of their names.

use std::collections::BTreeMap;

/// Names that are kept for messages.
const NAMES_MAX: usize = 4096;

/// Parts of names, and what they were held against.
pub(super) struct Asked {
    /// Each with whether some name has it. Empty: all names are asked for.
    parts: Vec<(String, bool)>,
    /// Names that were met, with whether they are asked for.
    names: BTreeMap<String, bool>,
}

impl Asked {
    pub fn new(parts: Vec<String>) -> Asked {
        Asked { parts: parts.into_iter().map(|part| (part, false)).collect(), names: BTreeMap::new() }
    }

    /// Whether a thread of this name is asked for.
    pub fn takes(&mut self, comm: &str) -> bool {
        if self.parts.is_empty() {
            return true;
        }
        if let Some(known) = self.names.get(comm) {
            return *known;
        }
        let mut takes = false;
        for (_, found) in self.parts.iter_mut().filter(|(part, _)| comm.contains(part.as_str())) {
            (takes, *found) = (true, true);
        }
        if self.names.len() < NAMES_MAX {
            self.names.insert(comm.to_owned(), takes);
        }
        takes
    }

    /// Parts that no name has.
    pub fn missed(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter(|(_, found)| !found).map(|(part, _)| part.as_str())
    }

    /// Names that were met, if some were asked for.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }
}

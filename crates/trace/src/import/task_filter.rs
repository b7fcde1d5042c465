//! A filter of threads by parts of their names.

use std::collections::BTreeMap;

/// Names that are kept for messages.
const NAMES_MAX: usize = 4096;

/// Selects threads whose name contains one of some parts, and remembers the names seen.
pub(super) struct TaskFilter {
    /// Each with whether some name contains it. Empty: all names match.
    parts: Vec<(String, bool)>,
    /// Names seen, with whether they match.
    names: BTreeMap<String, bool>,
}

impl TaskFilter {
    pub fn new(parts: Vec<String>) -> TaskFilter {
        TaskFilter { parts: parts.into_iter().map(|part| (part, false)).collect(), names: BTreeMap::new() }
    }

    /// Whether a thread of this name is selected.
    pub fn matches(&mut self, comm: &str) -> bool {
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

    /// Parts that no name contains.
    pub fn unmatched_parts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter(|(_, found)| !found).map(|(part, _)| part.as_str())
    }

    /// Names seen, if the filter has parts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }
}

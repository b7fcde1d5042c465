//! The list of a tree's object files that are linked into the library.

use std::path::Path;

use super::embedded;

/// Targets of the tree's build, as far as their sources are there; see [`resolve`].
pub(super) fn wanted(overlay: &Path) -> Vec<String> {
    resolve(embedded::entries("objects"), &|object| {
        ["c", "S"].iter().any(|end| overlay.join(object).with_extension(end).is_file())
    })
}

/// All that could be wanted of some tree.
pub(super) fn possible() -> Vec<String> {
    resolve(embedded::entries("objects").flat_map(|e| e.split('|')), &|_| true)
}

/// An entry is an object (`kernel/sched/fair.o`), or alternatives of which the first that is there is taken
/// (`a.o | b.o`). `?` before an entry: a tree may do without. An entry without `?` stays though nothing is there: make
/// then says what is missing.
fn resolve<'a>(entries: impl Iterator<Item = &'a str>, is_there: &dyn Fn(&str) -> bool) -> Vec<String> {
    let chosen = entries.filter_map(|entry| {
        let (optional, names) = match entry.trim().strip_prefix('?') {
            Some(rest) => (true, rest),
            None => (false, entry),
        };
        let mut names = names.split('|').map(str::trim).filter(|n| !n.is_empty());
        let first = names.clone().next().filter(|_| !optional);
        names.find(|name| is_there(name)).or(first)
    });
    chosen.map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_name_what_a_tree_has() {
        let there = |name: &str| ["a.o", "new.o", "old.o"].contains(&name);
        let entries = ["a.o", "?gone.o", "? new.o", "missing.o", "gone.o | old.o", "?x.o | y.o"];
        assert_eq!(resolve(entries.into_iter(), &there), ["a.o", "new.o", "missing.o", "old.o"]);
    }
}

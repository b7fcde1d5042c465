//! What is under review: a base, and patches on top of it.

mod diff;
mod git;
mod mail;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

pub use self::diff::{BadDiff, DoesNotApply, FileDiff};
pub(crate) use self::git::Git;
pub(crate) use self::mail::plural;
use crate::farm::Changes;

/// Most that is read of a series, bytes.
const LIMIT: u64 = 256 << 20;

/// A base and the patches on top of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Title of the cover letter, or of the only patch.
    pub title: Option<String>,
    /// The commit that the patches begin on; `None`: the tree as it lies there.
    pub base: Option<String>,
    /// The patches, in their order.
    pub patches: Vec<Patch>,
    /// From where they were taken, and what was left out.
    pub source: String,
}

/// One patch of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// First line of its message.
    pub title: String,
    /// Its commit, or the file that it was read from.
    pub id: String,
    /// Files that it changes, relative to the tree.
    pub files: Vec<String>,
    /// Functions that the headers of its hunks name.
    pub functions: Vec<String>,
    /// How the tree changes.
    pub change: Change,
}

/// How a patch changes a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// By a diff on what was there before.
    Diffs(Vec<FileDiff>),
    /// To what this commit holds.
    Commit(String),
}

/// Why there is no series.
#[derive(Debug, Error, Diagnostic)]
pub enum SeriesError {
    /// A file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// What was given is neither a file nor a range of commits.
    #[error("{word:?} is no file, and {} is not a git repository in which it could be a range of commits", tree.display())]
    #[diagnostic(help("give patch files, a mailbox, or the top directory of a git tree"))]
    Neither {
        /// What was given.
        word: String,
        /// The tree.
        tree: PathBuf,
    },
    /// Nothing was given, and nothing follows from the tree.
    #[error("no series is given")]
    #[diagnostic(help("give a range of commits (v6.12..mine), a mailbox or patch files after the tree"))]
    NotGiven,
    /// Mails, files and ranges do not mix.
    #[error("{word:?} is not a file: a range of commits stands alone")]
    Mixed {
        /// What is not a file.
        word: String,
    },
    /// A mailbox has no whole series.
    #[error("{}: {problem}", path.display())]
    #[diagnostic(help(
        "take the thread from the list's archive (`b4 mbox`, or `t.mbox.gz` of lore), or give the patches as files"
    ))]
    Mailbox {
        /// The mailbox.
        path: PathBuf,
        /// What is missing.
        problem: String,
    },
    /// A file has no diff.
    #[error("{} has no diff", path.display())]
    #[diagnostic(help("a patch is text of `git format-patch`, `git diff` or `diff -u`"))]
    NoDiff {
        /// The file.
        path: PathBuf,
    },
    /// A diff is damaged.
    #[error("{}: {title:?}: {cause}", path.display())]
    #[diagnostic(help("line numbers are of the patch's own text"))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The patch in it.
        title: String,
        /// Line and problem.
        cause: BadDiff,
    },
    /// Git cannot do it.
    #[error("git in {}: {cause}", tree.display())]
    Git {
        /// The repository.
        tree: PathBuf,
        /// What git says.
        cause: String,
    },
    /// A range has merges.
    #[error("{range} is not one commit after another: it has a merge or a root")]
    #[diagnostic(help("rebase it, or give the patches as files: git format-patch"))]
    NotLinear {
        /// The range.
        range: String,
    },
}

/// The functions that hunks of all diffs name, without duplicates.
fn functions(diffs: &[FileDiff]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in diffs.iter().flat_map(FileDiff::functions) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

impl Series {
    /// The series that `words` name: files (patches, a mailbox), or one range of commits of the git tree. Without any, the
    /// commits of a branch since it left the one that it follows.
    ///
    /// # Errors
    /// If a file cannot be read or has no patch, or git knows no such range.
    pub fn find(tree: &Path, words: &[String]) -> Result<Series, SeriesError> {
        let files: Vec<PathBuf> = words.iter().map(PathBuf::from).filter(|path| path.is_file()).collect();
        match words {
            [] => {
                let range = Git::at(tree).and_then(|git| git.upstream()).ok_or(SeriesError::NotGiven)?;
                Self::of_range(tree, &range)
            }
            _ if files.len() == words.len() => Self::of_files(&files),
            [range] => Self::of_range(tree, range),
            _ => {
                let word = words.iter().find(|word| !Path::new(word).is_file()).cloned().unwrap_or_default();
                Err(SeriesError::Mixed { word })
            }
        }
    }

    fn of_range(tree: &Path, range: &str) -> Result<Series, SeriesError> {
        let neither = || SeriesError::Neither { word: range.into(), tree: tree.into() };
        let git = Git::at(tree).ok_or_else(neither)?;
        let (base, patches) = git.series(range)?;
        let title = patches.first().filter(|_| patches.len() == 1).map(|patch| patch.title.clone());
        let source = format!("git {range}, {} on {}", plural(patches.len(), "patch"), git.short(&base)?);
        Ok(Series { title, base: Some(base), patches, source })
    }

    /// Files are patches in the order given; of a file with several mails those of the series that [`mail::choose`] finds.
    fn of_files(files: &[PathBuf]) -> Result<Series, SeriesError> {
        let (mut patches, mut title, mut choices) = (Vec::new(), None, Vec::new());
        for path in files {
            let unreadable = |cause: String| SeriesError::Read { path: path.into(), cause };
            let size = fs::metadata(path).map_err(|e| unreadable(e.to_string()))?.len();
            if size > LIMIT {
                return Err(unreadable(format!("larger than {} MiB", LIMIT >> 20)));
            }
            let content = fs::read(path).map_err(|e| unreadable(e.to_string()))?;
            let mut mails = mail::read(&content).map_err(|e| unreadable(e.to_string()))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match mails.as_deref_mut() {
                None => patches.push(of_text(path, &name, &content)?),
                Some([mail]) if mail.is_cover() => {
                    title = title.or(Some(mail.title.clone()));
                    choices.push(format!("{name} is the cover letter"));
                }
                Some([mail]) => patches.push(of_text(path, &mail.title, mail.body.as_bytes())?),
                Some(_) => {
                    let mailbox = |problem| SeriesError::Mailbox { path: path.clone(), problem };
                    let chosen = mail::choose(mails.unwrap_or_default()).map_err(mailbox)?;
                    for mail in &chosen.mails {
                        patches.push(of_text(path, &mail.title, mail.body.as_bytes())?);
                    }
                    title = title.or(chosen.title);
                    choices.push(if files.len() > 1 { format!("of {name} {}", chosen.words) } else { chosen.words });
                }
            }
        }
        if let Some(path) = files.first().filter(|_| patches.is_empty()) {
            return Err(SeriesError::NoDiff { path: path.clone() });
        }
        // What `git format-patch --cover-letter` writes for its user to replace.
        let title = title.filter(|title| title != "*** SUBJECT HERE ***");
        let title = title.or(patches.first().filter(|_| patches.len() == 1).map(|patch: &Patch| patch.title.clone()));
        if files.len() > 1 {
            choices.insert(0, format!("{} in the order given", plural(patches.len(), "patch")));
        } else if choices.is_empty() {
            choices.push(plural(patches.len(), "patch"));
        }
        let names = files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
        Ok(Series { title, base: None, patches, source: format!("{names}: {}", choices.join("; ")) })
    }
}

fn of_text(path: &Path, title: &str, text: &[u8]) -> Result<Patch, SeriesError> {
    let damaged = |cause| SeriesError::Damaged { path: path.into(), title: title.into(), cause };
    let diffs = diff::parse(text).map_err(damaged)?;
    if diffs.is_empty() {
        return Err(SeriesError::NoDiff { path: path.into() });
    }
    let mut files: Vec<String> = diffs.iter().flat_map(|diff| [diff.old.clone(), diff.new.clone()]).flatten().collect();
    files.sort();
    files.dedup();
    let id = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Patch { title: title.into(), id, files, functions: functions(&diffs), change: Change::Diffs(diffs) })
}

impl Patch {
    /// What of the tree is changed after this patch, where `before` was changed before it. Of a commit, the files `named` by any patch are
    /// its own even where the tree has the same.
    ///
    /// # Errors
    /// If it does not apply, or git fails.
    pub(crate) fn applied(&self, tree: &Path, before: &Changes, named: &BTreeSet<String>) -> Result<Changes, String> {
        let diffs = match &self.change {
            Change::Commit(commit) => {
                let git = Git::at(tree).ok_or("the repository is gone")?;
                return git.changes(commit, named).map_err(|e| e.to_string());
            }
            Change::Diffs(diffs) => diffs,
        };
        let mut after = before.clone();
        for diff in diffs {
            let old = match &diff.old {
                None => content(tree, &after, diff.path()),
                Some(old) => content(tree, &after, old),
            };
            let new = diff.apply(old.as_deref()).map_err(|e| e.to_string())?;
            if let Some(old) = diff.old.as_ref().filter(|old| !diff.is_copy && diff.new.as_ref() != Some(old)) {
                after.insert(old.clone(), None);
            }
            after.insert(diff.path().to_owned(), new);
        }
        Ok(after)
    }
}

/// A file of the tree with these changes; `None` if there is no such file.
pub(crate) fn content(tree: &Path, changes: &Changes, path: &str) -> Option<Vec<u8>> {
    match changes.get(path) {
        Some(content) => content.clone(),
        None => fs::read(tree.join(path)).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "--- a/k/f.c\n+++ b/k/f.c\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
    const NEXT: &str = "--- a/k/f.c\n+++ b/k/f.c\n@@ -1,2 +1,2 @@\n 1\n-two\n+2\n";

    #[test]
    fn patch_files_apply_one_on_the_other_and_the_tree_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        write("k/f.c", "one\ntwo\n");
        let words = [write("a.patch", DIFF), write("b.patch", NEXT)];
        let series = Series::find(dir.path(), &words).unwrap();
        assert!(series.source.ends_with("b.patch: 2 patches in the order given"), "{}", series.source);
        let first = series.patches[0].applied(dir.path(), &Changes::new(), &BTreeSet::new()).unwrap();
        let second = series.patches[1].applied(dir.path(), &first, &BTreeSet::new()).unwrap();
        assert_eq!(second["k/f.c"].as_deref(), Some(b"1\n2\n".as_slice()));
        let refused = series.patches[1].applied(dir.path(), &Changes::new(), &BTreeSet::new()).unwrap_err();
        assert_eq!(refused, "k/f.c: hunk 1, at line 1: its lines are not there");
        assert_eq!(std::fs::read_to_string(dir.path().join("k/f.c")).unwrap(), "one\ntwo\n");
    }

    /// What `git format-patch` writes: a mail a file, none with an id.
    #[test]
    fn mails_in_files_of_their_own_are_taken_as_given() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, tag: &str, diff: &str| {
            let path = dir.path().join(name);
            std::fs::write(
                &path,
                format!("From 1 Mon Sep 17 00:00:00 2001\nSubject: [PATCH {tag}] {name}\n\n{diff}\n"),
            )
            .unwrap();
            path.display().to_string()
        };
        let cover = write("0000-cover.patch", "0/2", "words\n");
        let (first, second) = (write("0001-a.patch", "1/2", DIFF), write("0002-b.patch", "2/2", NEXT));
        let other = write("v2-0001-c.patch", "v2 1/1", DIFF);
        let found = |words: &[&String]| {
            let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            let series = Series::find(dir.path(), &words).unwrap();
            let ids = series.patches.iter().map(|patch| (patch.id.clone(), patch.title.clone())).collect::<Vec<_>>();
            assert!(ids.iter().all(|(id, title)| id == title), "{ids:?}");
            (ids.into_iter().map(|(id, _)| id).collect::<Vec<_>>(), series.title, series.source)
        };
        let (ids, title, source) = found(&[&second]);
        assert_eq!((ids, title.as_deref()), (vec!["0002-b.patch".to_owned()], Some("0002-b.patch")));
        assert!(source.ends_with("0002-b.patch: 1 patch"), "{source}");
        let (ids, title, source) = found(&[&cover, &other, &second, &first]);
        assert_eq!(ids, ["v2-0001-c.patch", "0002-b.patch", "0001-a.patch"]);
        assert_eq!(title.as_deref(), Some("0000-cover.patch"));
        assert!(source.ends_with("3 patches in the order given; 0000-cover.patch is the cover letter"), "{source}");
        let words = write("0003-words.patch", "3/3", "no diff\n");
        let error = Series::find(dir.path(), &[first, words]).unwrap_err().to_string();
        assert!(error.ends_with("0003-words.patch has no diff"), "{error}");
    }

    #[test]
    fn a_rename_takes_its_source_away_and_a_copy_leaves_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("o.c"), "one\n").unwrap();
        let applied = |word: &str, hunk: &str| {
            let text = format!("diff --git a/o.c b/n.c\nsimilarity index 90%\n{word} from o.c\n{word} to n.c\n{hunk}");
            let patch = of_text(Path::new("p.patch"), "p", text.as_bytes()).unwrap();
            let after = patch.applied(dir.path(), &Changes::new(), &BTreeSet::new()).unwrap();
            ["o.c", "n.c"].map(|name| content(dir.path(), &after, name).map(|text| String::from_utf8(text).unwrap()))
        };
        let text = |text: &str| Some(text.to_owned());
        let hunk = "--- a/o.c\n+++ b/n.c\n@@ -1 +1 @@\n-one\n+1\n";
        assert_eq!(applied("copy", hunk), [text("one\n"), text("1\n")]);
        assert_eq!(applied("copy", ""), [text("one\n"), text("one\n")]);
        assert_eq!(applied("rename", hunk), [None, text("1\n")]);
    }

    #[test]
    fn what_is_no_series_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let find = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            Series::find(dir.path(), &words).unwrap_err().to_string()
        };
        assert_eq!(find(&[]), "no series is given");
        assert!(find(&["v6.12..mine"]).contains("is not a git repository"));
        let note = dir.path().join("note.txt");
        std::fs::write(&note, "no diff\n").unwrap();
        assert!(find(&[note.to_str().unwrap()]).ends_with("note.txt has no diff"));
        assert!(find(&[note.to_str().unwrap(), "HEAD"]).contains("\"HEAD\" is not a file"));
    }
}

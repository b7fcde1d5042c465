//! Unified diffs as `git diff`, `git format-patch` and `diff -u` write them, and their application.
//!
//! Crates that do this (`diffy`, `patch`) read one file's diff that ends where the text ends. A mail has several, with words
//! before and a signature behind: where a diff ends is known only to who counts the lines of its hunks. What is left after that
//! is shorter than an adapter, and an error can name file, hunk and line.

use std::fmt;

use thiserror::Error;

/// The change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// Path before, relative to the tree; `None` for a new file.
    pub old: Option<String>,
    /// Path after; `None` for a file that is deleted.
    pub new: Option<String>,
    /// Whether the file before stays beside the one after: `copy from`.
    pub is_copy: bool,
    hunks: Vec<Hunk>,
}

/// A run of lines that are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hunk {
    /// First line before, from 1; 0 for a hunk without lines before.
    start: usize,
    /// The function that the header names; empty if it names none.
    function: String,
    before: Vec<Vec<u8>>,
    after: Vec<Vec<u8>>,
}

/// A text is not a diff that can be applied.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct BadDiff {
    /// Line of the text, from 1.
    pub line: usize,
    problem: String,
}

/// A diff does not apply.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct DoesNotApply {
    /// The file, relative to the tree.
    pub file: String,
    /// The hunk of this file, from 1, and the line where its header expects it; `None` if the file itself does not fit.
    pub hunk: Option<(usize, usize)>,
    reason: String,
}

impl fmt::Display for DoesNotApply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hunk {
            Some((n, line)) => write!(f, "{}: hunk {n}, at line {line}: {}", self.file, self.reason),
            None => write!(f, "{}: {}", self.file, self.reason),
        }
    }
}

impl FileDiff {
    /// The path after the change, or before it if the file is deleted.
    pub fn path(&self) -> &str {
        self.new.as_deref().or(self.old.as_deref()).unwrap_or_default()
    }

    /// Functions that the headers of hunks name, without duplicates.
    pub fn functions(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.hunks.iter().filter_map(|hunk| called(&hunk.function)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The content after the change; `None` if the file is deleted. `old`: its content before, `None` if there is no such file.
    ///
    /// A hunk is looked for at the line that its header names, moved as far as hunks before it were, then ever farther from there.
    /// Its lines must be there as they are: nothing is guessed.
    ///
    /// # Errors
    /// If the file is missing or there already, or the lines of a hunk are nowhere in it.
    pub fn apply(&self, old: Option<&[u8]>) -> Result<Option<Vec<u8>>, DoesNotApply> {
        let refused = |hunk, reason: &str| DoesNotApply { file: self.path().into(), hunk, reason: reason.into() };
        let old = match (old, &self.old) {
            (None, Some(_)) => return Err(refused(None, "there is no such file")),
            (Some(_), None) => return Err(refused(None, "the patch makes this file, and it is there already")),
            (old, _) => old.unwrap_or_default(),
        };
        let mut lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
        let mut shift = 0isize;
        for (n, hunk) in (1..).zip(&self.hunks) {
            // A hunk without lines before goes behind the line that its header names, another begins on it.
            let named = if hunk.before.is_empty() { hunk.start } else { hunk.start.saturating_sub(1) };
            let expected = named.saturating_add_signed(shift);
            if hunk.before.is_empty() && expected > lines.len() {
                return Err(refused(Some((n, hunk.start)), "the file ends before this line"));
            }
            let found = find(&lines, &hunk.before, expected);
            let Some(at) = found else {
                let reason = if find(&lines, &hunk.after, expected).is_some() {
                    "its lines are not there; those that it makes are: it seems to be applied already"
                } else {
                    "its lines are not there"
                };
                return Err(refused(Some((n, hunk.start)), reason));
            };
            lines.splice(at..at + hunk.before.len(), hunk.after.iter().map(Vec::as_slice));
            shift = at as isize - named as isize + hunk.after.len() as isize - hunk.before.len() as isize;
        }
        match self.new {
            Some(_) => Ok(Some(lines.concat())),
            None if lines.is_empty() => Ok(None),
            None => Err(refused(None, "the patch deletes this file, and it holds more than the patch removes")),
        }
    }
}

/// The name before the first parenthesis.
fn called(header: &str) -> Option<&str> {
    let before = header.split_once('(')?.0;
    let name = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
    (!name.is_empty()).then_some(name)
}

/// The place of `wanted` in `lines` that is nearest to `expected`.
fn find(lines: &[&[u8]], wanted: &[Vec<u8>], expected: usize) -> Option<usize> {
    let last = lines.len().checked_sub(wanted.len())?;
    let is_at = |at: &usize| lines[*at..at + wanted.len()].iter().zip(wanted).all(|(line, wanted)| *line == wanted);
    let expected = expected.min(last);
    let near = (0..=last.max(expected)).flat_map(|far| [expected.checked_sub(far), expected.checked_add(far)]);
    near.flatten().filter(|at| *at <= last).find(is_at)
}

/// The diffs in a text, in its order. Text between them is skipped.
///
/// # Errors
/// If a hunk is cut, a path leaves the tree, or a file is binary.
pub fn parse(text: &[u8]) -> Result<Vec<FileDiff>, BadDiff> {
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let mut parser = Parser { lines, at: 0, diffs: Vec::new() };
    while parser.at < parser.lines.len() {
        parser.step()?;
    }
    Ok(parser.diffs)
}

struct Parser<'a> {
    lines: Vec<&'a [u8]>,
    at: usize,
    diffs: Vec<FileDiff>,
}

impl Parser<'_> {
    fn line(&self, at: usize) -> String {
        let line = self.lines.get(at).copied().unwrap_or_default();
        String::from_utf8_lossy(line).trim_end_matches(['\n', '\r']).to_owned()
    }

    fn bad(&self, problem: impl Into<String>) -> BadDiff {
        BadDiff { line: self.at + 1, problem: problem.into() }
    }

    fn step(&mut self) -> Result<(), BadDiff> {
        let line = self.line(self.at);
        if line.starts_with("diff --git ") {
            return self.git_header(&line);
        }
        let is_plain = line.starts_with("--- ") && self.line(self.at + 1).starts_with("+++ ");
        if is_plain && self.line(self.at + 2).starts_with("@@ ") {
            return self.file(None, None, false);
        }
        self.at += 1;
        Ok(())
    }

    /// `diff --git`, and the lines up to the hunks.
    fn git_header(&mut self, header: &str) -> Result<(), BadDiff> {
        let (mut old, mut new) = self.names(header)?;
        let begin = self.at;
        let mut is_copy = false;
        self.at += 1;
        loop {
            let line = self.line(self.at);
            let after = |word: &str| line.strip_prefix(word).map(str::to_owned);
            if line.starts_with("new file mode ") {
                old = None;
            } else if line.starts_with("deleted file mode ") {
                new = None;
            } else if let Some(name) = after("rename from ").or_else(|| after("copy from ")) {
                is_copy = line.starts_with("copy ");
                old = Some(self.inside(&name)?);
            } else if let Some(name) = after("rename to ").or_else(|| after("copy to ")) {
                new = Some(self.inside(&name)?);
            } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
                return Err(self.bad("a binary file: only text can be applied"));
            } else if line.starts_with("--- ") && self.line(self.at + 1).starts_with("+++ ") {
                return self.file(Some(old), Some(new), is_copy);
            } else if !["index ", "old mode ", "new mode ", "similarity ", "dissimilarity "]
                .iter()
                .any(|word| line.starts_with(word))
            {
                break;
            }
            self.at += 1;
        }
        // A rename or copy without a change, or an empty file. A mode alone changes nothing that is compiled.
        debug_assert!(self.at > begin);
        if old != new {
            self.diffs.push(FileDiff { old, new, is_copy, hunks: Vec::new() });
        }
        Ok(())
    }

    /// The paths of `diff --git a/X b/X`.
    fn names(&self, header: &str) -> Result<(Option<String>, Option<String>), BadDiff> {
        let rest = header.trim_start_matches("diff --git ");
        let Some((old, new)) = rest.split_once(' ').filter(|(_, new)| !new.contains(' ')) else {
            return Err(self.bad("a path with a space: no kernel tree has one"));
        };
        let strip = |name: &str| self.inside(name.split_once('/').map_or(name, |(_, path)| path));
        Ok((Some(strip(old)?), Some(strip(new)?)))
    }

    /// A path relative to the tree that does not leave it.
    fn inside(&self, path: &str) -> Result<String, BadDiff> {
        let leaves =
            path.is_empty() || path.starts_with('/') || path.split('/').any(|part| part == ".." || part == ".git");
        match leaves {
            true => Err(self.bad(format!("the path {path:?} leads out of the tree"))),
            false => Ok(path.to_owned()),
        }
    }

    /// `---`, `+++` and the hunks. Paths are those of the header where there is one.
    fn file(&mut self, old: Option<Option<String>>, new: Option<Option<String>>, is_copy: bool) -> Result<(), BadDiff> {
        let path = |line: String| -> Result<Option<String>, BadDiff> {
            let name = line[4..].split('\t').next().unwrap_or_default().trim_end();
            if name == "/dev/null" {
                return Ok(None);
            }
            self.inside(name.split_once('/').map_or(name, |(_, path)| path)).map(Some)
        };
        let (old_line, new_line) = (self.line(self.at), self.line(self.at + 1));
        let old = old.map_or_else(|| path(old_line), Ok)?;
        let new = new.map_or_else(|| path(new_line), Ok)?;
        self.at += 2;
        let mut hunks = Vec::new();
        while self.line(self.at).starts_with("@@ ") {
            hunks.push(self.hunk()?);
        }
        if old.is_none() && new.is_none() {
            return Err(self.bad("neither side names a file"));
        }
        self.diffs.push(FileDiff { old, new, is_copy, hunks });
        Ok(())
    }

    fn hunk(&mut self) -> Result<Hunk, BadDiff> {
        let header = self.line(self.at);
        let Some((start, counts, function)) = hunk_header(&header) else {
            return Err(self.bad(format!("{header:?} is not the header of a hunk")));
        };
        self.at += 1;
        let (mut before, mut after) = (Vec::new(), Vec::new());
        while before.len() < counts[0] || after.len() < counts[1] {
            let Some(line) = self.lines.get(self.at).copied() else {
                return Err(self.bad("the text ends within a hunk"));
            };
            // Mailers take the blank from an empty line of context.
            let (kind, rest) = line.split_first().filter(|(kind, _)| **kind != b'\n').unwrap_or((&b' ', b"\n"));
            match kind {
                b' ' => {
                    before.push(rest.to_vec());
                    after.push(rest.to_vec());
                }
                b'-' => before.push(rest.to_vec()),
                b'+' => after.push(rest.to_vec()),
                b'\\' => self.without_newline(&mut before, &mut after),
                _ => return Err(self.bad("a line of a hunk begins with neither ' ', '-' nor '+': is it wrapped?")),
            }
            self.at += 1;
        }
        if self.line(self.at).starts_with("\\ ") {
            self.without_newline(&mut before, &mut after);
            self.at += 1;
        }
        match [before.len(), after.len()] == counts {
            true => Ok(Hunk { start, function, before, after }),
            false => Err(self.bad("a hunk has other numbers of lines than its header says")),
        }
    }

    /// Takes the end of line from what the line before stands for.
    fn without_newline(&self, before: &mut [Vec<u8>], after: &mut [Vec<u8>]) {
        let kind = self.at.checked_sub(1).and_then(|at| self.lines[at].first()).copied();
        let cut = |lines: &mut [Vec<u8>]| {
            if let Some(line) = lines.last_mut().filter(|line| line.ends_with(b"\n")) {
                line.pop();
            }
        };
        if kind != Some(b'+') {
            cut(before);
        }
        if kind != Some(b'-') {
            cut(after);
        }
    }
}

/// First line before, numbers of lines before and after, and the function of `@@ -12,7 +12,9 @@ int f(void)`.
fn hunk_header(line: &str) -> Option<(usize, [usize; 2], String)> {
    let (ranges, function) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((start, before), (_, after)) = (range(old)?, range(new)?);
    // No file of a tree is longer; a damaged header must neither reserve memory nor leave the range of line numbers.
    let fits = [start, before, after].iter().all(|n| *n < 1 << 24);
    fits.then(|| (start, [before, after], function.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &[u8] = b"one\ntwo\nthree\nfour\nfive\nsix\n";
    const DIFF: &str = "words\ndiff --git a/k/f.c b/k/f.c\nindex 1..2 100644\n--- a/k/f.c\n+++ b/k/f.c\n\
        @@ -2,3 +2,3 @@ static int pick(struct rq *rq)\n two\n-three\n+3\n four\n-- \n2.39\n";

    fn applied(diff: &str, old: &[u8]) -> Result<Option<String>, String> {
        let diffs = parse(diff.as_bytes()).map_err(|e| e.to_string())?;
        assert_eq!(diffs.len(), 1);
        let new = diffs[0].apply(Some(old)).map_err(|e| e.to_string())?;
        Ok(new.map(|new| String::from_utf8(new).unwrap()))
    }

    #[test]
    fn a_signature_behind_a_hunk_is_not_a_part_of_it() {
        assert_eq!(applied(DIFF, OLD).unwrap().unwrap(), "one\ntwo\n3\nfour\nfive\nsix\n");
        let diff = &parse(DIFF.as_bytes()).unwrap()[0];
        assert_eq!((diff.path(), diff.functions()), ("k/f.c", vec!["pick"]));
    }

    #[test]
    fn a_hunk_is_found_where_its_lines_have_moved_to() {
        let moved = [b"0\n0\n0\n".as_slice(), OLD].concat();
        assert!(applied(DIFF, &moved).unwrap().unwrap().contains("two\n3\nfour"));
    }

    #[test]
    fn what_does_not_apply_names_file_and_hunk() {
        let error = applied(DIFF, b"one\ntwo\nother\nfour\n").unwrap_err();
        assert_eq!(error, "k/f.c: hunk 1, at line 2: its lines are not there");
        let again = applied(DIFF, b"one\ntwo\n3\nfour\n").unwrap_err();
        assert!(again.contains("applied already"), "{again}");
        let missing = parse(DIFF.as_bytes()).unwrap()[0].apply(None).unwrap_err();
        assert_eq!(missing.to_string(), "k/f.c: there is no such file");
    }

    #[test]
    fn files_are_made_deleted_and_renamed() {
        let new = "diff --git a/n.c b/n.c\nnew file mode 100644\n--- /dev/null\n+++ b/n.c\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n";
        let made = &parse(new.as_bytes()).unwrap()[0];
        assert_eq!((made.old.as_deref(), made.apply(None).unwrap().unwrap()), (None, b"a\nb".to_vec()));
        assert!(made.apply(Some(b"x")).unwrap_err().to_string().contains("there already"));
        let gone =
            "diff --git a/n.c b/n.c\ndeleted file mode 100644\n--- a/n.c\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n";
        assert_eq!(applied(gone, b"a\nb\n"), Ok(None));
        let moved = "diff --git a/o.c b/n.c\nsimilarity index 100%\nrename from o.c\nrename to n.c\n";
        let moved = &parse(moved.as_bytes()).unwrap()[0];
        assert_eq!((moved.old.as_deref(), moved.new.as_deref()), (Some("o.c"), Some("n.c")));
    }

    #[test]
    fn lines_without_context_go_behind_the_line_that_is_named() {
        let insert = |start: usize| {
            format!("--- a/f.c\n+++ b/f.c\n@@ -{start},0 +{} @@\n+new\n@@ -4 +5 @@\n-four\n+4\n", start + 1)
        };
        assert_eq!(applied(&insert(2), OLD).unwrap().unwrap(), "one\ntwo\nnew\nthree\n4\nfive\nsix\n");
        assert_eq!(applied(&insert(0), OLD).unwrap().unwrap(), "new\none\ntwo\nthree\n4\nfive\nsix\n");
        let end = "--- a/f.c\n+++ b/f.c\n@@ -1 +1,2 @@\n one\n+more\n@@ -6,0 +8 @@\n+end\n";
        assert!(applied(end, OLD).unwrap().unwrap().ends_with("six\nend\n"));
        let beyond = applied(&insert(7), OLD).unwrap_err();
        assert_eq!(beyond, "f.c: hunk 1, at line 7: the file ends before this line");
    }

    #[test]
    fn a_plain_diff_has_its_first_directory_taken_off() {
        let plain = "--- linux.orig/k/f.c\t2026-01-01\n+++ linux/k/f.c\t2026-01-02\n@@ -1 +1 @@\n-one\n+1\n";
        assert_eq!(parse(plain.as_bytes()).unwrap()[0].path(), "k/f.c");
        assert_eq!(applied(plain, b"one\n").unwrap().unwrap(), "1\n");
    }

    #[test]
    fn damaged_diffs_name_the_line() {
        let cut = DIFF.replace(" four\n-- \n2.39\n", "");
        assert_eq!(parse(cut.as_bytes()).unwrap_err().to_string(), "line 10: the text ends within a hunk");
        let wrapped = DIFF.replace("\n four", "\nwrapped");
        assert!(parse(wrapped.as_bytes()).unwrap_err().to_string().contains("is it wrapped?"));
        let out = DIFF.replace("k/f.c", "../f.c");
        assert!(parse(out.as_bytes()).unwrap_err().to_string().contains("leads out of the tree"));
        for header in ["@@ -9223372036854775809,1 +1 @@", "@@ -18446744073709551615 +1 @@", "@@ -1,99999999 +1 @@"] {
            let far = DIFF.replace("@@ -2,3 +2,3 @@ static int pick(struct rq *rq)", header);
            assert!(parse(far.as_bytes()).unwrap_err().to_string().contains("is not the header of a hunk"), "{header}");
        }
        let binary = "diff --git a/x b/x\nindex 1..2\nGIT binary patch\n";
        assert!(parse(binary.as_bytes()).unwrap_err().to_string().contains("binary"));
        assert_eq!(parse(b"no diff at all\n--- a dash\n").unwrap(), vec![]);
    }
}

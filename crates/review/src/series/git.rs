//! Commits of the user's repository, by the `git` program. Nothing in it is written: no lock is taken, no index refreshed, no
//! hook run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Change, Patch, SeriesError};
use crate::farm::Changes;

/// The user's repository.
pub(crate) struct Git<'a> {
    tree: &'a Path,
}

impl<'a> Git<'a> {
    /// The repository whose top directory is `tree`; `None` if it is not one.
    pub fn at(tree: &'a Path) -> Option<Git<'a>> {
        // A file in a linked worktree, a directory otherwise.
        tree.join(".git").exists().then_some(Git { tree })
    }

    fn run(&self, words: &[&str]) -> Result<Vec<u8>, SeriesError> {
        self.fed(words, Vec::new())
    }

    /// Runs git with this as its standard input.
    fn fed(&self, words: &[&str], input: Vec<u8>) -> Result<Vec<u8>, SeriesError> {
        let refused = |cause: String| SeriesError::Git { tree: self.tree.to_owned(), cause };
        let mut git = Command::new("git")
            .arg("-C")
            .arg(self.tree)
            .args(["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"])
            .args(words)
            .env("GIT_OPTIONAL_LOCKS", "0")
            // A partial clone would ask its server for what it lacks.
            .env("GIT_NO_LAZY_FETCH", "1")
            .env_remove("GIT_DIR")
            .env_remove("GIT_INDEX_FILE")
            .env_remove("GIT_WORK_TREE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| refused(format!("cannot start git: {e}")))?;
        let stdin = git.stdin.take();
        // Git answers while it reads: written from here, both would wait for each other. That it stops reading is told by its status.
        let feeding = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
        let output = git.wait_with_output().map_err(|e| refused(format!("git: {e}")))?;
        drop(feeding.join());
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(refused(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        }
    }

    fn lines(&self, words: &[&str]) -> Result<Vec<String>, SeriesError> {
        let text = String::from_utf8_lossy(&self.run(words)?).into_owned();
        Ok(text.lines().map(str::to_owned).collect())
    }

    fn line(&self, words: &[&str]) -> Result<String, SeriesError> {
        Ok(self.lines(words)?.into_iter().next().unwrap_or_default())
    }

    /// The commits of a range, oldest first, and the commit that they begin on. `REV` alone is `REV..HEAD`.
    pub fn series(&self, range: &str) -> Result<(String, Vec<Patch>), SeriesError> {
        let full = if range.contains("..") { range.to_owned() } else { format!("{range}..HEAD") };
        let list =
            self.lines(&["rev-list", "--reverse", "--topo-order", "--parents", "--end-of-options", &full, "--"])?;
        let mut base: Option<String> = None;
        let mut patches = Vec::new();
        for line in &list {
            let mut ids = line.split_whitespace().map(str::to_owned);
            let (Some(commit), Some(parent), None) = (ids.next(), ids.next(), ids.next()) else {
                return Err(SeriesError::NotLinear { range: full });
            };
            if patches.last().is_some_and(|patch: &Patch| patch.change != Change::Commit(parent.clone())) {
                return Err(SeriesError::NotLinear { range: full });
            }
            base.get_or_insert(parent.clone());
            patches.push(self.patch(commit, &parent)?);
        }
        let base = match base {
            Some(base) => base,
            // An empty range begins where it ends: `REV..` is `REV..HEAD`.
            None => {
                let end = full.rsplit("..").next().filter(|end| !end.is_empty()).unwrap_or("HEAD");
                self.line(&["rev-parse", "--verify", "--end-of-options", end])?
            }
        };
        Ok((base, patches))
    }

    fn patch(&self, commit: String, parent: &str) -> Result<Patch, SeriesError> {
        let title = self.line(&["log", "-1", "--no-show-signature", "--no-color", "--format=%s", &commit])?;
        let id = self.line(&["rev-parse", "--short=12", &commit])?;
        let files = self.differing(&[parent, &commit])?;
        let plain = ["--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "-U0"];
        let diff = self.run(&[&["diff"], plain.as_slice(), &[parent, &commit, "--"]].concat())?;
        let functions = super::functions(&super::diff::parse(&diff).unwrap_or_default());
        Ok(Patch { title, id, files, functions, change: Change::Commit(commit) })
    }

    /// Files that differ between two commits, or between one and the work tree.
    fn differing(&self, commits: &[&str]) -> Result<Vec<String>, SeriesError> {
        let words =
            [&["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-color"], commits, &["--"]].concat();
        Ok(fields(&self.run(&words)?).collect())
    }

    /// What of a commit is not in the work tree as it lies there, and the files `read` as the commit has them, whether they differ or not.
    pub fn changes(&self, commit: &str, read: &BTreeSet<String>) -> Result<Changes, SeriesError> {
        let mut objects: BTreeMap<String, Option<String>> = BTreeMap::new();
        objects.extend(self.differing(&[commit])?.into_iter().chain(read.iter().cloned()).map(|path| (path, None)));
        // `MODE TYPE OBJECT<tab>PATH`. A submodule is no file that a build reads.
        for entry in fields(&self.run(&["ls-tree", "-r", "-z", "--full-tree", commit])?) {
            let Some((entry, path)) = entry.split_once('\t') else { continue };
            if let ([_, "blob", object], Some(of_path)) =
                (&entry.split(' ').collect::<Vec<_>>()[..], objects.get_mut(path))
            {
                *of_path = Some((*object).to_owned());
            }
        }
        let contents = self.blobs(objects.values().flatten())?;
        let content = |object: Option<String>| object.and_then(|object| contents.get(&object).cloned());
        Ok(objects.into_iter().map(|(path, object)| (path, content(object))).collect())
    }

    /// The contents of objects, by one process.
    fn blobs<'b>(&self, objects: impl Iterator<Item = &'b String>) -> Result<BTreeMap<String, Vec<u8>>, SeriesError> {
        let wanted: BTreeSet<&String> = objects.collect();
        let list: String = wanted.iter().map(|object| format!("{object}\n")).collect();
        let answer =
            if wanted.is_empty() { Vec::new() } else { self.fed(&["cat-file", "--batch"], list.into_bytes())? };
        let mut rest = answer.as_slice();
        let mut found = BTreeMap::new();
        for object in wanted {
            // `OBJECT blob SIZE`, the content, a line end; `OBJECT missing` of what a partial clone lacks.
            let end = rest.iter().position(|byte| *byte == b'\n');
            let head = String::from_utf8_lossy(&rest[..end.unwrap_or(rest.len())]).into_owned();
            let size = head.strip_prefix(&format!("{object} blob ")).and_then(|size| size.parse::<usize>().ok());
            let content = end.zip(size).and_then(|(end, size)| rest.get(end + 1..end + 1 + size));
            let Some(content) = content else {
                return Err(SeriesError::Git { tree: self.tree.to_owned(), cause: format!("cat-file: {head}") });
            };
            found.insert(object.clone(), content.to_vec());
            rest = rest.get(end.unwrap_or(0) + 2 + content.len()..).unwrap_or_default();
        }
        Ok(found)
    }

    /// A commit in 12 digits.
    pub fn short(&self, commit: &str) -> Result<String, SeriesError> {
        self.line(&["rev-parse", "--short=12", commit])
    }

    /// The range from where a branch left the one that it follows; `None` if it follows none.
    pub fn upstream(&self) -> Option<String> {
        let upstream = self.line(&["rev-parse", "--abbrev-ref", "--symbolic-full-name", "@{upstream}"]).ok()?;
        (!upstream.is_empty()).then(|| format!("{upstream}..HEAD"))
    }
}

/// What ends with a NUL each.
fn fields(text: &[u8]) -> impl Iterator<Item = String> + '_ {
    let fields = text.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    fields.map(|field| String::from_utf8_lossy(field).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(tree: &Path, words: &[&str]) {
        let config = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
        let ran = Command::new("git").arg("-C").arg(tree).args(config).args(words).output().unwrap();
        assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    /// base: a=1 b=1; then a=2; then b gone, c made. The work tree stands at the last, with a changed once more.
    fn repository() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        git(dir.path(), &["init", "-q", "-b", "main"]);
        write("a", "1\n");
        write("b", "1\n");
        git(dir.path(), &["add", "."]);
        git(dir.path(), &["commit", "-qm", "base"]);
        write("a", "2\n");
        git(dir.path(), &["commit", "-qam", "first"]);
        std::fs::remove_file(dir.path().join("b")).unwrap();
        write("c", "1\n");
        git(dir.path(), &["add", "."]);
        git(dir.path(), &["commit", "-qam", "second"]);
        write("a", "mine\n");
        dir
    }

    #[test]
    fn each_commit_is_told_as_what_differs_from_the_work_tree_and_nothing_is_written() {
        let dir = repository();
        let before = std::fs::metadata(dir.path().join(".git/index")).unwrap().modified().unwrap();
        let git = Git::at(dir.path()).unwrap();
        let (base, patches) = git.series("HEAD~2..HEAD").unwrap();
        let told: Vec<_> = patches.iter().map(|p| (p.title.as_str(), p.files.clone())).collect();
        assert_eq!(told, [("first", vec!["a".to_owned()]), ("second", vec!["b".into(), "c".into()])]);
        let changes = git.changes(&base, &BTreeSet::new()).unwrap();
        assert_eq!(changes["a"].as_deref(), Some(b"1\n".as_slice()));
        assert_eq!(changes["b"].as_deref(), Some(b"1\n".as_slice()));
        assert_eq!(changes["c"], None);
        let last = git.changes("HEAD", &BTreeSet::new()).unwrap();
        assert_eq!(last.into_iter().collect::<Vec<_>>(), [("a".to_owned(), Some(b"2\n".to_vec()))]);
        let read = ["b", "c", "nowhere"].map(str::to_owned).into();
        let read: Vec<_> = git.changes("HEAD", &read).unwrap().into_iter().collect();
        let expected = [("a", Some("2\n")), ("b", None), ("c", Some("1\n")), ("nowhere", None)];
        let expected = expected.map(|(path, text)| (path.to_owned(), text.map(|text| text.as_bytes().to_vec())));
        assert_eq!(read, expected, "also what is as in the work tree");
        let after = std::fs::metadata(dir.path().join(".git/index")).unwrap().modified().unwrap();
        assert_eq!(before, after);
        assert_eq!(std::fs::read_to_string(dir.path().join("a")).unwrap(), "mine\n");
    }

    #[test]
    fn the_users_configuration_does_not_change_what_is_read() {
        let dir = repository();
        let body = |value: u32| format!("int f(void)\n{{\n\tint x;\n\n\n\n\n\treturn {value};\n}}\n");
        std::fs::write(dir.path().join("f.c"), body(1)).unwrap();
        git(dir.path(), &["add", "f.c"]);
        git(dir.path(), &["commit", "-qm", "third"]);
        std::fs::write(dir.path().join("f.c"), body(2)).unwrap();
        git(dir.path(), &["commit", "-qm", "fourth", "f.c"]);
        for setting in ["color.ui", "color.diff", "log.showSignature"] {
            git(dir.path(), &["config", setting, if setting.starts_with("color") { "always" } else { "true" }]);
        }
        let (_, patches) = Git::at(dir.path()).unwrap().series("HEAD~1..").unwrap();
        assert_eq!((patches[0].title.as_str(), patches[0].files.as_slice()), ("fourth", ["f.c".to_owned()].as_slice()));
        assert_eq!(patches[0].functions, ["f"]);
    }

    /// More than a pipe holds in both directions, of all kinds of content.
    #[test]
    fn many_files_are_read_at_once() {
        let dir = repository();
        let content = |n: usize| [vec![b'\n'; n % 3], vec![0, n as u8, b'\n'], vec![b'x'; n]].concat();
        for n in 0..2000 {
            std::fs::write(dir.path().join(format!("f {n}\t\u{e4}")), content(n)).unwrap();
        }
        git(dir.path(), &["add", "."]);
        git(dir.path(), &["commit", "-qm", "many"]);
        for n in 0..2000 {
            std::fs::write(dir.path().join(format!("f {n}\t\u{e4}")), "other\n").unwrap();
        }
        let changes = Git::at(dir.path()).unwrap().changes("HEAD", &BTreeSet::new()).unwrap();
        assert!((0..2000).all(|n| changes[&format!("f {n}\t\u{e4}")].as_ref() == Some(&content(n))));
        let lost = Git::at(dir.path()).unwrap().blobs([&"0".repeat(40)].into_iter()).unwrap_err();
        assert!(lost.to_string().ends_with(&format!("cat-file: {} missing", "0".repeat(40))), "{lost}");
    }

    #[test]
    fn an_empty_range_has_a_base_and_no_patch_and_nonsense_is_refused() {
        let dir = repository();
        let git = Git::at(dir.path()).unwrap();
        let (base, patches) = git.series("HEAD").unwrap();
        assert_eq!((base.len(), patches.len()), (40, 0));
        assert_eq!(git.series("HEAD..").unwrap(), (base.clone(), Vec::new()));
        assert_eq!(git.series("..HEAD").unwrap(), (base, Vec::new()));
        assert!(matches!(git.series("no-such-branch"), Err(SeriesError::Git { .. })));
        assert!(matches!(git.series("--output=x"), Err(SeriesError::Git { .. })));
        assert!(!dir.path().join("x").exists());
    }
}

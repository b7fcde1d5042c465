//! A patched tree without a copy of the tree: links to the user's files, and files of our own where a patch changes them.
//!
//! `kernel build` reads a tree by paths, so that it takes this for one. Only directories on the way to a changed file are real ones,
//! and `kernel/sched` as a whole, whose files the build lists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{symlink, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{flock, FlockOperation};
use xxhash_rust::xxh3::Xxh3;

/// What differs from the user's tree: content by path; `None` for a file that is gone.
pub type Changes = BTreeMap<String, Option<Vec<u8>>>;

/// Directories whose files are listed by a build.
const LISTED: &str = "kernel/sched";

/// Hex digits that name a tree.
const DIGITS: usize = 10;

/// A name for a tree with these changes, built with `others`, the same whenever all are.
pub fn name(tree: &Path, changes: &Changes, others: &[Vec<u8>]) -> String {
    let mut hash = Xxh3::new();
    let mut add = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    add(tree.as_os_str().as_encoded_bytes());
    for (path, content) in changes {
        add(path.as_bytes());
        add(&[u8::from(content.is_some())]);
        add(content.as_deref().unwrap_or_default());
    }
    others.iter().for_each(|other| add(other));
    format!("{:032x}", hash.digest128())[..DIGITS].to_owned()
}

/// A tree in use: [`remove`] leaves it in place.
pub struct InUse(#[expect(dead_code, reason = "held for its lock")] File);

/// Makes `dir` show `tree` with these changes. What it showed before goes. `tree` is an absolute path.
///
/// # Errors
/// If a file cannot be read or written; the message names it.
pub fn lay_out(tree: &Path, changes: &Changes, dir: &Path) -> Result<InUse, String> {
    let in_use = hold(dir)?;
    let mut real: BTreeSet<PathBuf> = BTreeSet::from([PathBuf::new()]);
    real.extend(Path::new(LISTED).ancestors().map(Path::to_owned));
    for path in changes.keys() {
        real.extend(Path::new(path).ancestors().skip(1).map(Path::to_owned));
    }
    let farm = Farm { tree, changes, real };
    farm.directory(dir, Path::new(""))?;
    Ok(in_use)
}

/// Makes a directory and says that it is in use, as others may.
fn hold(dir: &Path) -> Result<InUse, String> {
    loop {
        fs::create_dir_all(dir).map_err(failed("create", dir))?;
        let file = File::open(dir).map_err(failed("open", dir))?;
        flock(&file, FlockOperation::LockShared).map_err(|e| failed("lock", dir)(e.into()))?;
        // Who held it before may have removed it.
        let number = |meta: fs::Metadata| (meta.dev(), meta.ino());
        if fs::metadata(dir).map(number).ok() == file.metadata().map(number).ok() {
            return Ok(InUse(file));
        }
    }
}

/// Removes a tree, and first what `others` removes, unless a process is using it.
///
/// # Errors
/// If a file cannot be removed; the message names it.
pub fn remove(dir: &Path, others: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let Ok(file) = File::open(dir) else { return Ok(()) };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => others().and_then(|()| discard(dir)),
        Err(_) => Ok(()),
    }
}

struct Farm<'a> {
    tree: &'a Path,
    changes: &'a Changes,
    /// Directories, relative, that are real ones. Those below [`LISTED`] are as well.
    real: BTreeSet<PathBuf>,
}

enum Entry {
    Directory,
    Link(PathBuf),
    File(Vec<u8>),
}

impl Farm<'_> {
    fn is_real(&self, path: &Path) -> bool {
        self.real.contains(path) || path.starts_with(LISTED) && self.tree.join(path).is_dir()
    }

    /// What a directory holds, by name.
    fn entries(&self, path: &Path) -> Result<BTreeMap<String, Entry>, String> {
        let mut entries = BTreeMap::new();
        let from = self.tree.join(path);
        let listed = match fs::read_dir(&from) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            other => Some(other.map_err(failed("read", &from))?),
        };
        for entry in listed.into_iter().flatten() {
            // No file that a build reads has a name that is not UTF-8.
            let Ok(name) = entry.map_err(failed("read", &from))?.file_name().into_string() else { continue };
            if path.as_os_str().is_empty() && name == ".git" {
                continue;
            }
            let inner = path.join(&name);
            let entry = if self.is_real(&inner) { Entry::Directory } else { Entry::Link(self.tree.join(&inner)) };
            entries.insert(name, entry);
        }
        for made in self.real.iter().filter(|dir| dir.parent() == Some(path)) {
            entries.insert(name_of(made), Entry::Directory);
        }
        for (changed, content) in self.changes.iter().filter(|(changed, _)| Path::new(changed).parent() == Some(path)) {
            let name = name_of(Path::new(changed));
            match content {
                Some(content) => drop(entries.insert(name, Entry::File(content.clone()))),
                None => drop(entries.remove(&name)),
            }
        }
        Ok(entries)
    }

    fn directory(&self, dir: &Path, path: &Path) -> Result<(), String> {
        let here = dir.join(path);
        if !here.is_dir() || here.is_symlink() {
            discard(&here)?;
            fs::create_dir_all(&here).map_err(failed("create", &here))?;
        }
        let entries = self.entries(path)?;
        for old in fs::read_dir(&here).map_err(failed("read", &here))? {
            let old = old.map_err(failed("read", &here))?;
            if !old.file_name().to_str().is_some_and(|name| entries.contains_key(name)) {
                discard(&old.path())?;
            }
        }
        for (name, entry) in entries {
            let at = here.join(&name);
            match entry {
                Entry::Directory => self.directory(dir, &path.join(&name))?,
                Entry::Link(target) if fs::read_link(&at).is_ok_and(|old| old == target) => {}
                Entry::Link(target) => {
                    discard(&at)?;
                    symlink(&target, &at).map_err(failed("link", &at))?;
                }
                Entry::File(content) => {
                    if at.is_symlink() || !fs::read(&at).is_ok_and(|old| old == content) {
                        discard(&at)?;
                        fs::write(&at, content).map_err(failed("write", &at))?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn failed<'a>(doing: &'a str, path: &'a Path) -> impl Fn(io::Error) -> String + 'a {
    move |cause| format!("cannot {doing} {}: {cause}", path.display())
}

/// Removes a link, a file or a directory, links as links.
fn discard(path: &Path) -> Result<(), String> {
    let removed = match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    removed.map_err(failed("remove", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in
            ["Makefile", "kernel/sched/fair.c", "kernel/sched/ext/ext.c", "kernel/fork.c", "include/linux/sched.h"]
        {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        dir
    }

    fn changes(list: &[(&str, Option<&str>)]) -> Changes {
        list.iter().map(|(path, text)| (path.to_string(), text.map(|text| text.as_bytes().to_vec()))).collect()
    }

    #[test]
    fn changed_files_are_ours_and_all_others_the_users() {
        let (tree, dir) = (tree(), tempfile::tempdir().unwrap());
        let farm = dir.path().join("farm");
        let first =
            changes(&[("kernel/sched/fair.c", Some("new")), ("kernel/fork.c", None), ("kernel/new/x.c", Some("x"))]);
        drop(lay_out(tree.path(), &first, &farm).unwrap());
        let read = |path: &str| fs::read_to_string(farm.join(path)).ok();
        assert_eq!(read("kernel/sched/fair.c").as_deref(), Some("new"));
        assert_eq!(read("kernel/sched/ext/ext.c").as_deref(), Some("kernel/sched/ext/ext.c"));
        assert_eq!((read("kernel/fork.c"), read("kernel/new/x.c").as_deref()), (None, Some("x")));
        assert!(farm.join("include").is_symlink() && !farm.join("kernel/sched/ext").is_symlink());
        assert_eq!(fs::read_to_string(tree.path().join("kernel/sched/fair.c")).unwrap(), "kernel/sched/fair.c");

        let second = changes(&[("include/linux/sched.h", Some("h"))]);
        let in_use = lay_out(tree.path(), &second, &farm).unwrap();
        assert_eq!(read("kernel/sched/fair.c").as_deref(), Some("kernel/sched/fair.c"));
        assert_eq!(read("kernel/fork.c").as_deref(), Some("kernel/fork.c"));
        assert_eq!((read("kernel/new/x.c"), read("include/linux/sched.h").as_deref()), (None, Some("h")));
        assert_eq!(fs::read_to_string(tree.path().join("include/linux/sched.h")).unwrap(), "include/linux/sched.h");

        remove(&farm, || panic!("in use")).unwrap();
        assert!(farm.exists());
        drop(in_use);
        remove(&farm, || Err("first the others".into())).unwrap_err();
        assert!(farm.exists());
        remove(&farm, || Ok(())).unwrap();
        assert!(!farm.exists() && tree.path().join("include/linux/sched.h").exists());
    }

    #[test]
    fn a_name_is_of_content() {
        let (tree, one) = (Path::new("/t"), changes(&[("a", Some("1"))]));
        let set = [b"CONFIG_HZ=250".to_vec()];
        assert_eq!(name(tree, &one, &set), name(tree, &one.clone(), &set));
        assert_ne!(name(tree, &one, &set), name(tree, &one, &[]));
        let others =
            [changes(&[("a", Some("2"))]), changes(&[("a", None)]), changes(&[("b", Some("1"))]), Changes::new()];
        assert!(others.iter().all(|other| name(tree, other, &set) != name(tree, &one, &set)));
    }
}

//! Hash of the code that a run's result depends on: whole crates. They are found from the manifests, not from a list.
//!
//! 1. The crates are a package, and all crates that it depends on, directly or not: dependencies in their `Cargo.toml`
//!    that the workspace's `Cargo.toml` has by path.
//! 2. All files of each crate are hashed, and the files that its sources name by a path out of the crate
//!    (`include_str!("../../..")`, `policy/` in a build script); not the folders `tests`, `benches` and `examples`.
//! 3. The text of each file is hashed without comments and tests (see `strip.rs`): a change of these keeps results.
//!
//! `Cargo.lock` stands for all other crates. Machine files are left out: the content of a run's machine is in its key.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::strip;

/// Folder of machine files. The key has the content of the run's machine: a change of one keeps the results on others.
const IN_EACH_KEY: &str = "machines";

/// Folders that no result depends on.
const NO_SOURCES: [&str; 4] = ["tests", "benches", "examples", "target"];

/// The files that are hashed, by their paths below the workspace, and the crates that they belong to.
#[derive(Debug, Default)]
pub struct Sources {
    /// Path below the workspace and text without comments and tests.
    pub files: BTreeMap<PathBuf, String>,
    /// Directories of crates below the workspace.
    pub crates: BTreeSet<PathBuf>,
    /// Files and directories outside of crates that sources name.
    pub named: BTreeSet<PathBuf>,
}

impl Sources {
    /// The sources that the results of `package` depend on.
    pub fn of(workspace: &Path, package: &str) -> Result<Sources, String> {
        let mut sources = Sources { crates: closure(workspace, package)?, ..Sources::default() };
        for file in ["Cargo.lock", "Cargo.toml"] {
            sources.read(workspace, Path::new(file), &mut BTreeSet::new())?;
        }
        for dir in sources.crates.clone() {
            let mut named = BTreeSet::new();
            sources.walk(workspace, &dir, &mut named)?;
            // The crate's own files, and directories that contain it, are not files outside of it.
            named.retain(|path| !path.starts_with(&dir) && !dir.starts_with(path) && !path.starts_with(IN_EACH_KEY));
            for path in named {
                sources.walk(workspace, &path, &mut BTreeSet::new())?;
                sources.named.insert(path);
            }
        }
        Ok(sources)
    }

    /// The hash, 32 hex digits.
    pub fn hash(&self) -> String {
        let mut hash = Xxh3::new();
        for (path, text) in &self.files {
            for part in [path.as_os_str().as_encoded_bytes(), text.as_bytes()] {
                hash.update(&(part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        format!("{:032x}", hash.digest128())
    }

    /// Reads a file, or all files below a directory. Adds the paths that sources name to `named`.
    fn walk(&mut self, workspace: &Path, path: &Path, named: &mut BTreeSet<PathBuf>) -> Result<(), String> {
        if !workspace.join(path).is_dir() {
            return self.read(workspace, path, named);
        }
        let unread = |e| format!("cannot read {}: {e}", path.display());
        let mut of_tests = BTreeSet::new();
        let mut below = Vec::new();
        for entry in fs::read_dir(workspace.join(path)).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            if is_source(&entry.file_name().to_string_lossy(), &entry.path()) {
                below.push(path.join(entry.file_name()));
            }
        }
        below.sort();
        for file in below.iter().filter(|file| file.extension().is_some_and(|e| e == "rs")) {
            let text = fs::read_to_string(workspace.join(file)).map_err(|e| format!("{}: {e}", file.display()))?;
            let home = home_of_modules(file);
            let modules = strip::rust(&text).test_modules;
            of_tests.extend(modules.iter().flat_map(|name| [home.join(name), home.join(format!("{name}.rs"))]));
        }
        self.files.retain(|file, _| !of_tests.iter().any(|test| file.starts_with(test)));
        for path in below.iter().filter(|path| !of_tests.contains(*path)) {
            self.walk(workspace, path, named)?;
        }
        self.files.retain(|file, _| !of_tests.iter().any(|test| file.starts_with(test)));
        Ok(())
    }

    fn read(&mut self, workspace: &Path, path: &Path, named: &mut BTreeSet<PathBuf>) -> Result<(), String> {
        let bytes = fs::read(workspace.join(path)).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let source = String::from_utf8_lossy(&bytes);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let text = match (&*name, path.extension().and_then(|e| e.to_str())) {
            ("Cargo.toml", _) => strip::manifest(&source),
            (_, Some("rs")) => {
                let stripped = strip::rust(&source);
                for up in &stripped.paths {
                    // A path is relative to the directory of the source; in a build script, to that of the crate.
                    let crate_dir: PathBuf = path.components().take(2).collect();
                    let from = [path.parent().unwrap_or(Path::new("")), &crate_dir];
                    let found = from.into_iter().filter_map(|dir| normal(&dir.join(up)));
                    named.extend(found.filter(|path| workspace.join(path).exists()));
                }
                stripped.text
            }
            (_, Some("c" | "h" | "S")) => strip::c(&source),
            _ => source.into_owned(),
        };
        self.files.insert(path.into(), text);
        Ok(())
    }
}

/// The directory that a file's modules are in.
fn home_of_modules(file: &Path) -> PathBuf {
    let dir = file.parent().unwrap_or(Path::new(""));
    match file.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") | None => dir.into(),
        Some(stem) => dir.join(stem),
    }
}

/// Whether this is a source: not a document, a leftover of an editor or a merge, or a folder of tests.
fn is_source(name: &str, path: &Path) -> bool {
    let left = name.starts_with('.') || [".orig", ".md", "~"].iter().any(|end| name.ends_with(end));
    let of_tests = NO_SOURCES.contains(&name) && path.is_dir();
    !left && !of_tests
}

/// The path without `..`; `None` if it leads out of the workspace.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => normal.pop().then_some(())?,
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!normal.as_os_str().is_empty()).then_some(normal)
}

/// Directories of `package` and of all crates of the workspace that it depends on, directly or not.
fn closure(workspace: &Path, package: &str) -> Result<BTreeSet<PathBuf>, String> {
    let members = members(&manifest(workspace, Path::new(""))?);
    let mut found = BTreeMap::new();
    let mut left = vec![package.to_owned()];
    while let Some(name) = left.pop() {
        let Some(dir) = members.get(&name) else {
            return Err(format!("the workspace's Cargo.toml has no path of {name}"));
        };
        if found.insert(name.clone(), dir.clone()).is_some() {
            continue;
        }
        let text = manifest(workspace, dir)?;
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'));
        left.extend(words.filter(|word| *word != name && members.contains_key(*word)).map(str::to_owned));
    }
    Ok(found.into_values().collect())
}

fn manifest(workspace: &Path, dir: &Path) -> Result<String, String> {
    let path = workspace.join(dir).join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    Ok(strip::manifest(&text))
}

/// Directories of the workspace's crates by name: `NAME = { path = "DIR" }`.
fn members(manifest: &str) -> BTreeMap<String, PathBuf> {
    let member = |line: &str| {
        let (name, rest) = line.split_once('=')?;
        let path = rest.split_once("path")?.1.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?;
        Some((name.trim().to_owned(), PathBuf::from(path.split('"').next()?)))
    };
    manifest.lines().filter_map(member).collect()
}

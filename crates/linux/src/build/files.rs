//! Files with errors that name them.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use super::error::BuildError;

/// Wraps an error of the system: what was tried, with which file.
pub(super) fn fail<'a>(doing: &'static str, path: &'a Path) -> impl Fn(io::Error) -> BuildError + 'a {
    move |cause| BuildError::File { doing, path: path.to_owned(), cause }
}

/// The content's xxh3-128 hash as 32 hex digits.
pub(super) fn hash(content: &[u8]) -> String {
    format!("{:032x}", xxh3_128(content))
}

/// A path without `.` and `..`, links not followed.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

/// A text of at most `limit` bytes; bytes that are no UTF-8 are replaced.
pub(super) fn read_text(path: &Path, limit: u64) -> Result<String, BuildError> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(fail("read", path))?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(fail("read", path))?;
    if bytes.len() as u64 > limit {
        let cause = io::Error::other(format!("larger than {} KiB", limit >> 10));
        return Err(BuildError::File { doing: "read", path: path.to_owned(), cause });
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Creates a directory and its parents.
pub(super) fn make_dir(path: &Path) -> Result<(), BuildError> {
    fs::create_dir_all(path).map_err(fail("create", path))
}

/// Writes a file, unless it holds just that: make then sees no newer file. Returns whether it wrote.
pub(super) fn write_changed(path: &Path, content: &[u8]) -> Result<bool, BuildError> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    if let Some(dir) = path.parent() {
        make_dir(dir)?;
    }
    fs::write(path, content).map_err(fail("write", path))?;
    Ok(true)
}

/// Removes a file; that it is gone already is no error.
pub(super) fn remove(path: &Path) -> Result<(), BuildError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(fail("remove", path)(e)),
        _ => Ok(()),
    }
}

/// Removes a directory with all in it, links as links; that it is gone already is no error.
pub(super) fn remove_dir(path: &Path) -> Result<(), BuildError> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(fail("remove", path)(e)),
        _ => Ok(()),
    }
}

/// Names in a directory, sorted; none if there is no such directory.
pub(super) fn names(dir: &Path) -> Result<Vec<String>, BuildError> {
    let entries = match fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(fail("read", dir))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        // Neither a kernel tree nor our own files have a name that is not UTF-8.
        names.extend(entry.map_err(fail("read", dir))?.file_name().into_string().ok());
    }
    names.sort();
    Ok(names)
}

/// All files below a directory, sorted; links are not followed.
pub(super) fn files_below(dir: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let mut found = Vec::new();
    for name in names(dir)? {
        let path = dir.join(name);
        match path.symlink_metadata() {
            Ok(m) if m.is_dir() => found.extend(files_below(&path)?),
            _ => found.push(path),
        }
    }
    Ok(found)
}

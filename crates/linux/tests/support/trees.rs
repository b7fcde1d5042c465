//! Kernel trees of tests.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A tree from the environment.
pub fn tree(variable: &str) -> Option<PathBuf> {
    let tree = std::env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from);
    if tree.is_none() {
        eprintln!("SKIPPED: {variable} names no kernel tree");
    }
    tree
}

/// A tree like `of` whose scheduler can be edited: the rest are links.
pub fn copy(of: &Path) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let link_all = |sub: &str, except: &str| {
        fs::create_dir_all(dir.path().join(sub)).unwrap();
        for entry in fs::read_dir(of.join(sub)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name() != except {
                symlink(entry.path(), dir.path().join(sub).join(entry.file_name())).unwrap();
            }
        }
    };
    link_all("", "kernel");
    link_all("kernel", "sched");
    fs::create_dir(dir.path().join("kernel/sched")).unwrap();
    for entry in fs::read_dir(of.join("kernel/sched")).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_file() {
            fs::copy(entry.path(), dir.path().join("kernel/sched").join(entry.file_name())).unwrap();
        }
    }
    dir
}

//! Kernel trees of tests.

use std::path::PathBuf;

/// A tree from the environment.
pub fn tree(variable: &str) -> Option<PathBuf> {
    let tree = std::env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from);
    if tree.is_none() {
        eprintln!("SKIPPED: {variable} names no kernel tree");
    }
    tree
}

//! The C side as it is embedded in the program, and where it lies beside a tree.

use std::collections::BTreeSet;
use std::path::Path;

use super::error::BuildError;
use super::files;

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Below an overlay: the architecture, where the tree's own build looks for it.
pub(super) const ARCH: &str = "arch/sim";
/// Below an overlay: the rest of the C side, named as in the repository (`crates/linux/kernel`).
pub(super) const REST: &str = "ks";

/// Below the overlay: where objects go. A direct child, so that the build names sources `../FILE` wherever it all lies.
pub(super) const BUILD: &str = "build";

/// Every file: path as in `crates/linux/kernel` (`policy/` for the headers of that name), and content. Sorted.
pub(super) fn files() -> &'static [(&'static str, &'static [u8])] {
    FILES
}

/// The content of all of them as one number, hex.
pub(super) fn digest() -> String {
    let parts = files().iter().flat_map(|(name, content)| [files::hash(name.as_bytes()), files::hash(content)]);
    files::hash(parts.collect::<String>().as_bytes())
}

/// A text file; empty if there is none of that name.
pub(super) fn text(name: &str) -> &'static str {
    let at = FILES.binary_search_by_key(&name, |(n, _)| n);
    at.ok().and_then(|i| std::str::from_utf8(FILES[i].1).ok()).unwrap_or_default()
}

/// Stems of the C files of a directory.
pub(super) fn stems(dir: &str) -> Vec<&'static str> {
    let strip = |name: &'static str| name.strip_prefix(dir)?.strip_prefix('/')?.strip_suffix(".c");
    files().iter().filter_map(|(name, _)| strip(name)).collect()
}

/// Entries of a list file: one a line, `#` begins a comment.
pub(super) fn entries(name: &str) -> impl Iterator<Item = &'static str> {
    text(name).lines().map(|l| l.split('#').next().unwrap_or_default().trim()).filter(|l| !l.is_empty())
}

/// Where a file lies below an overlay.
fn place(name: &str) -> String {
    match name.strip_prefix("arch/") {
        Some(inner) => format!("{ARCH}/{inner}"),
        None => format!("{REST}/{name}"),
    }
}

/// Writes the files below the overlay `to`; what is the same already is left alone, what is no longer ours goes.
pub(super) fn lay_out(to: &Path) -> Result<(), BuildError> {
    let mut ours = BTreeSet::new();
    for (name, content) in FILES {
        let path = to.join(place(name));
        files::write_changed(&path, content)?;
        ours.insert(path);
    }
    for dir in [ARCH, REST] {
        for path in files::files_below(&to.join(dir))? {
            if !ours.contains(&path) {
                files::remove(&path)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_border_and_the_policys_header_are_embedded_and_tests_are_not() {
        assert!(text("include/ks.h").contains("struct ks_kernel"));
        assert!(text("policy/fg.h").contains("FG_MASK_WORDS"));
        assert!(!files().iter().any(|(name, _)| name.starts_with("tests/")));
        assert!(files().is_sorted());
    }

    #[test]
    fn laying_out_twice_touches_nothing_and_removes_what_is_not_ours() {
        let dir = tempfile::tempdir().unwrap();
        lay_out(dir.path()).unwrap();
        let header = dir.path().join("ks/include/ks.h");
        let first = std::fs::metadata(&header).unwrap().modified().unwrap();
        std::fs::write(dir.path().join("ks/left-over.c"), "int x;").unwrap();
        lay_out(dir.path()).unwrap();
        assert_eq!(std::fs::metadata(&header).unwrap().modified().unwrap(), first);
        assert!(!dir.path().join("ks/left-over.c").exists());
    }
}

//! Checks of a kernel source tree, and its release.

use std::path::{Path, PathBuf};

use super::error::BuildError;
use super::files;

/// What every tree we can use has, beside its Makefile.
const NEEDED: [&str; 5] =
    ["Kconfig", "scripts/Kconfig.include", "include/linux/sched.h", "kernel/sched/sched.h", "kernel/sched/fair.c"];

/// Directories of every release, in the order in which archives hold them. Most are not needed; but where a build fails and
/// one of them is missing the tree is not whole.
const PARTS: [&str; 18] = [
    "arch", "block", "certs", "crypto", "drivers", "fs", "include", "init", "ipc", "kernel", "lib", "mm", "net",
    "scripts", "security", "sound", "usr", "virt",
];

/// Most that is read of a top Makefile, bytes.
const MAKEFILE_LIMIT: u64 = 4 << 20;

/// A kernel's source tree. Never written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// Absolute path with symbolic links resolved.
    pub path: PathBuf,
    /// As `make kernelversion` prints it, e.g. `6.12.117` or `6.13.0-rc2`.
    pub release: String,
}

impl Tree {
    /// Looks whether all is there that a build needs.
    pub fn open(path: &Path) -> Result<Tree, BuildError> {
        let not_a_tree = |missing: Vec<String>| BuildError::NotATree { tree: path.to_owned(), missing };
        let real = path.canonicalize().map_err(files::fail("open", path))?;
        if !real.is_dir() {
            return Err(not_a_tree(vec!["the directory itself".into()]));
        }
        let makefile = real.join("Makefile");
        let release = match makefile.is_file() {
            true => release(&files::read_text(&makefile, MAKEFILE_LIMIT)?).ok_or("Makefile with VERSION, PATCHLEVEL"),
            false => Err("Makefile"),
        };
        let mut missing: Vec<String> =
            NEEDED.iter().filter(|f| !real.join(f).is_file()).map(|f| f.to_string()).collect();
        match release {
            Ok(release) if missing.is_empty() => Ok(Tree { path: real, release }),
            Ok(_) => Err(not_a_tree(missing)),
            Err(what) => {
                missing.insert(0, what.to_string());
                Err(not_a_tree(missing))
            }
        }
    }

    /// The error of a build, with what of the tree is its likely cause: that it is not whole, or of a release that was
    /// never tried.
    pub fn blame(&self, error: BuildError) -> BuildError {
        let may_follow = match &error {
            BuildError::File { path, .. } => path.starts_with(&self.path),
            BuildError::Make { .. } | BuildError::Probes { .. } | BuildError::Unresolved { .. } => true,
            BuildError::WithDefaults { .. } | BuildError::Load { .. } => true,
            _ => false,
        };
        if !may_follow {
            return error;
        }
        let missing: Vec<&str> = PARTS.into_iter().filter(|part| !self.path.join(part).is_dir()).collect();
        let error = Box::new(error);
        match (missing.is_empty(), outside_of_range(&self.release)) {
            (false, _) => BuildError::NotWhole { tree: self.path.clone(), missing, error },
            (true, Some(outside)) => BuildError::OutsideOfRange { outside, error },
            (true, None) => *error,
        }
    }

    /// The name a kernel gets if its user gives none.
    pub fn default_name(&self) -> String {
        format!("v{}", self.release)
    }
}

/// The release that a kernel's top Makefile opens with.
fn release(makefile: &str) -> Option<String> {
    let value = |key: &str| {
        let of = |line: &str| Some(line.strip_prefix(key)?.trim_start().strip_prefix('=')?.trim().to_string());
        makefile.lines().take(100).find_map(of)
    };
    let number = |key: &str| value(key).filter(|v| !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit()));
    let (version, level) = (number("VERSION")?, number("PATCHLEVEL")?);
    let sub = number("SUBLEVEL").map_or(String::new(), |s| format!(".{s}"));
    Some(format!("{version}.{level}{sub}{}", value("EXTRAVERSION").unwrap_or_default()))
}

/// The first and the last release of which trees were built and run.
const TRIED: [(u32, u32); 2] = [(5, 10), (7, 3)];

/// Says that a release lies outside the range that was tried.
pub(super) fn outside_of_range(release: &str) -> Option<String> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else { return None };
    let [first, last] = TRIED;
    let range = format!("v{}.{} to v{}.{}", first.0, first.1, last.0, last.1);
    (!(first..=last).contains(&(major, minor)))
        .then(|| format!("release {release} lies outside {range}, which were tried; what differs there is not known"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::fake;

    #[test]
    fn a_tree_tells_its_release() {
        let dir = fake::tree("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\n");
        let tree = Tree::open(dir.path()).unwrap();
        assert_eq!(tree.release, "6.12.117");
        assert_eq!(tree.default_name(), "v6.12.117");
        let rc = release("# SPDX\nVERSION = 6\nPATCHLEVEL = 13\nSUBLEVEL = 0\nEXTRAVERSION = -rc2\n");
        assert_eq!(rc.as_deref(), Some("6.13.0-rc2"));
    }

    #[test]
    fn what_is_missing_in_a_tree_is_named() {
        let dir = fake::tree("VERSION = 6\nPATCHLEVEL = 12\n");
        std::fs::remove_file(dir.path().join("kernel/sched/fair.c")).unwrap();
        std::fs::remove_file(dir.path().join("Kconfig")).unwrap();
        let error = Tree::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("is not a kernel source tree: missing Kconfig, kernel/sched/fair.c"), "{error}");
    }

    #[test]
    fn a_makefile_of_something_else_is_no_kernels() {
        let dir = fake::tree("all:\n\techo VERSION = 6\n");
        let error = Tree::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("missing Makefile with VERSION, PATCHLEVEL"), "{error}");
    }

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let error = Tree::open(Path::new("/nowhere/linux")).unwrap_err().to_string();
        assert!(error.contains("cannot open /nowhere/linux"), "{error}");
    }

    fn failed() -> BuildError {
        let what = "../kernel/bounds.c:2: fatal error: linux/x.h: No such file\nand 1 more error".into();
        BuildError::Make { step: "compiling", what, log: "/log".into() }
    }

    fn whole(version: &str) -> tempfile::TempDir {
        let dir = fake::tree(version);
        PARTS.iter().for_each(|part| fake::write(dir.path(), &format!("{part}/Makefile"), ""));
        dir
    }

    #[test]
    fn a_half_unpacked_tree_is_the_cause_of_whatever_fails_in_it() {
        let dir = whole("VERSION = 6\nPATCHLEVEL = 12\n");
        std::fs::remove_dir_all(dir.path().join("usr")).unwrap();
        std::fs::remove_dir_all(dir.path().join("virt")).unwrap();
        let tree = Tree::open(dir.path()).unwrap();
        let error = tree.blame(failed()).to_string();
        let expected =
            "was not unpacked whole: it lacks usr, virt; compiling failed: ../kernel/bounds.c:2: fatal error: \
                        linux/x.h: No such file";
        assert!(error.ends_with(expected), "{error}");
        let full = BuildError::Full { step: "linking", cache: "/cache".into() };
        assert!(tree.blame(full).to_string().starts_with("linking failed: the file system"));
    }

    #[test]
    fn a_release_outside_of_the_range_is_the_cause_of_what_fails_in_a_whole_tree() {
        let (old, new) = (whole("VERSION = 4\nPATCHLEVEL = 19\n"), whole("VERSION = 6\nPATCHLEVEL = 12\n"));
        let error = Tree::open(old.path()).unwrap().blame(failed()).to_string();
        assert!(error.starts_with("release 4.19 lies outside v5.10 to v7.3"), "{error}");
        assert!(error.contains("; compiling failed: ../kernel/bounds.c:2") && !error.contains('\n'), "{error}");
        let error = Tree::open(new.path()).unwrap().blame(failed()).to_string();
        assert!(error.starts_with("compiling failed:"), "{error}");
    }

    #[test]
    fn a_release_that_was_not_tried_is_named() {
        for tried in ["5.10.262", "6.12.117-mine", "7.3.4", "7.3.0-rc7+"] {
            assert_eq!(outside_of_range(tried), None);
        }
        for untried in ["5.4.300", "7.4.0-rc1", "8.0.0", "4.19.1"] {
            let warning = outside_of_range(untried).unwrap();
            assert!(warning.starts_with(&format!("release {untried} lies outside v5.10 to v7.3")), "{warning}");
        }
    }
}

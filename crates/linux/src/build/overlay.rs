//! A farm of links over a tree, so that another architecture can be laid into it and nothing is written to it.
//!
//! Directories in which the tree's build makes files are real ones here, and all others are links. What an earlier
//! build left in the tree is not linked: make would find it and take it for its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::embedded::{self, BUILD};
use super::error::BuildError;
use super::files;

/// What builds leave and no tree ships, by the end of the name.
const ARTIFACTS: [&str; 10] = [".o", ".a", ".ko", ".cmd", ".d", ".mod", ".order", ".symtypes", ".gcno", ".su"];

/// Left out wherever they lie: the configuration of another build and what was generated from it.
const FOREIGN: [&str; 2] = ["include/config", "include/generated"];

/// Brings the overlay in line with the tree. `objects`: what will be made, e.g. `kernel/sched/fair.o`.
pub(super) fn sync(tree: &Path, overlay: &Path, objects: &[String]) -> Result<(), BuildError> {
    let mut real: BTreeSet<String> = ["", "arch", "include"].into_iter().map(String::from).collect();
    for object in objects.iter().filter(|o| !o.starts_with(embedded::ARCH)) {
        real.extend(Path::new(object).ancestors().skip(1).map(|dir| dir.display().to_string()));
    }
    let farm = Farm { tree, overlay, real };
    farm.directory("")
}

struct Farm<'a> {
    tree: &'a Path,
    overlay: &'a Path,
    /// Directories that are real ones, relative; those below `scripts` are as well.
    real: BTreeSet<String>,
}

impl Farm<'_> {
    fn is_real(&self, dir: &str) -> bool {
        self.real.contains(dir) || dir == "scripts" || dir.starts_with("scripts/")
    }

    /// What is ours in the overlay and not the tree's.
    fn is_ours(&self, path: &str) -> bool {
        [embedded::ARCH, embedded::REST, BUILD].contains(&path)
    }

    fn directory(&self, dir: &str) -> Result<(), BuildError> {
        let here = self.overlay.join(dir);
        if here.is_symlink() {
            files::remove(&here)?;
        }
        files::make_dir(&here)?;
        let links = self.links(dir)?;
        for name in files::names(&here)? {
            let path = join(dir, &name);
            if !links.contains_key(&name) && !self.is_ours(&path) && !self.descends(&path) {
                discard(&here.join(&name))?;
            }
        }
        for (name, target) in &links {
            link(&here.join(name), target)?;
        }
        for name in files::names(&self.tree.join(dir))? {
            let path = join(dir, &name);
            if self.descends(&path) && !self.is_ours(&path) {
                self.directory(&path)?;
            }
        }
        Ok(())
    }

    /// A directory of the tree that is a real one in the overlay.
    fn descends(&self, path: &str) -> bool {
        self.is_real(path) && self.tree.join(path).is_dir()
    }

    /// The links a real directory is to hold, and where they lead.
    fn links(&self, dir: &str) -> Result<BTreeMap<String, PathBuf>, BuildError> {
        let from = self.tree.join(dir);
        let names = files::names(&from)?;
        let built: BTreeSet<&str> = names.iter().filter_map(|n| n.strip_prefix('.')?.strip_suffix(".cmd")).collect();
        let wanted = |name: &&String| {
            let path = join(dir, name);
            !name.starts_with('.')
                && !built.contains(name.as_str())
                && !ARTIFACTS.iter().any(|end| name.ends_with(end))
                && !FOREIGN.contains(&path.as_str())
                && !self.is_ours(&path)
                && !self.descends(&path)
        };
        Ok(names.iter().filter(wanted).map(|name| (name.clone(), from.join(name))).collect())
    }
}

fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() {
        name.into()
    } else {
        format!("{dir}/{name}")
    }
}

fn link(at: &Path, target: &Path) -> Result<(), BuildError> {
    if fs::read_link(at).is_ok_and(|old| old == target) {
        return Ok(());
    }
    discard(at)?;
    symlink(target, at).map_err(files::fail("link", at))
}

/// Removes a link, a file or a directory of links.
fn discard(path: &Path) -> Result<(), BuildError> {
    if path.is_dir() && !path.is_symlink() {
        return files::remove_dir(path);
    }
    files::remove(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::fake;

    fn synced(tree: &Path) -> tempfile::TempDir {
        let overlay = tempfile::tempdir().unwrap();
        sync(tree, overlay.path(), &["kernel/sched/fair.o".into()]).unwrap();
        overlay
    }

    #[test]
    fn an_overlay_shows_the_tree_and_writing_in_it_leaves_the_tree_alone() {
        let tree = fake::tree("VERSION = 6\nPATCHLEVEL = 12\n");
        let before = files::files_below(tree.path()).unwrap();
        let overlay = synced(tree.path());
        assert!(overlay.path().join("kernel/sched/fair.c").is_file());
        assert!(overlay.path().join("include/linux/sched.h").is_file());
        for dir in ["", "arch", "include", "kernel", "kernel/sched", "scripts"] {
            fs::write(overlay.path().join(dir).join("written"), "").unwrap();
        }
        assert_eq!(files::files_below(tree.path()).unwrap(), before);
    }

    #[test]
    fn what_a_build_in_place_left_is_not_shown() {
        let tree = fake::tree("VERSION = 6\nPATCHLEVEL = 12\n");
        let left = [
            ".config",
            "include/config/auto.conf",
            "include/generated/autoconf.h",
            "kernel/sched/fair.o",
            "kernel/sched/.fair.o.cmd",
            "scripts/basic/fixdep",
            "scripts/basic/.fixdep.cmd",
        ];
        left.iter().for_each(|file| fake::write(tree.path(), file, ""));
        let overlay = synced(tree.path());
        let shown: Vec<&&str> = left.iter().filter(|file| overlay.path().join(file).exists()).collect();
        assert_eq!(shown, Vec::<&&str>::new());
    }

    #[test]
    fn an_overlay_follows_its_tree_and_keeps_what_is_ours() {
        let tree = fake::tree("VERSION = 6\nPATCHLEVEL = 12\n");
        fake::write(tree.path(), "kernel/sched/old.c", "");
        let overlay = synced(tree.path());
        fake::write(overlay.path(), "arch/sim/Kconfig", "ours");
        fake::write(overlay.path(), "build/kernel/sched/fair.o", "ours");
        fs::remove_file(tree.path().join("kernel/sched/old.c")).unwrap();
        fake::write(tree.path(), "kernel/sched/new.c", "");
        sync(tree.path(), overlay.path(), &["kernel/sched/fair.o".into()]).unwrap();
        assert!(!overlay.path().join("kernel/sched/old.c").is_symlink());
        assert!(overlay.path().join("kernel/sched/new.c").is_file());
        assert!(overlay.path().join("arch/sim/Kconfig").is_file());
        assert!(overlay.path().join("build/kernel/sched/fair.o").is_file());
    }
}

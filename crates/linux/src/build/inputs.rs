//! Inputs of a built library: every file that the compiler or Kconfig read, with its hash.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::embedded::{self, BUILD};
use super::error::BuildError;
use super::files;

/// Most that is read of a dependency file, bytes.
const LIMIT: u64 = 16 << 20;

/// A file that went into a library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Input {
    /// Relative to the tree, or absolute where it is the system's.
    pub path: String,
    pub size: u64,
    /// Last change, ns since 1970.
    pub mtime: i64,
    /// xxh3-128 of its content, hex.
    pub hash: String,
}

impl Input {
    /// None if there is no such file. What was changed after `start`, ns since 1970, may have been read before or
    /// after that: it counts as changed from then on.
    fn read(tree: &Path, path: String, start: i64) -> Option<Input> {
        let file = tree.join(&path);
        let meta = file.metadata().ok()?;
        let (size, mtime) = (meta.len(), mtime(&meta));
        let hash = if mtime < start { files::hash(&fs::read(&file).ok()?) } else { String::new() };
        Some(Input { path, size, mtime, hash })
    }

    /// Whether the file holds what it held. A file of the same size and date does, unless it is as young as the
    /// record itself (`since`, ns since 1970): then it may have changed within a tick of the file system's clock.
    fn holds(&self, tree: &Path, since: i64) -> bool {
        let file = tree.join(&self.path);
        let Ok(meta) = file.metadata() else { return false };
        let same = meta.len() == self.size && mtime(&meta) == self.mtime && self.mtime < since;
        same || meta.len() == self.size && fs::read(&file).is_ok_and(|content| files::hash(&content) == self.hash)
    }
}

fn mtime(meta: &fs::Metadata) -> i64 {
    meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec())
}

/// Those that are no longer what they were.
pub(super) fn changed<'a>(tree: &Path, inputs: &'a [Input], since: i64) -> Vec<&'a str> {
    inputs.iter().filter(|i| !i.holds(tree, since)).map(|i| i.path.as_str()).collect()
}

/// The content of all of them as one number, hex; where they lie and when they changed does not count.
pub(super) fn digest(inputs: &[Input], others: &[&str]) -> String {
    let mut text = String::new();
    for input in inputs {
        text += &format!("{} {}\n", input.path, input.hash);
    }
    for other in others {
        text += &format!("{} {other}\n", other.len());
    }
    files::hash(text.as_bytes())
}

/// Targets below a build directory, and what each was made of.
pub(super) struct InputRecord {
    build: PathBuf,
    overlay: PathBuf,
    /// Inputs (as in [`Input`]) of each target (relative to the build directory).
    targets: BTreeMap<String, BTreeSet<String>>,
}

impl InputRecord {
    /// Reads what the kernel's build (`.TARGET.cmd`) and ours (`ks/TARGET.d`) recorded.
    pub fn read(overlay: &Path) -> Result<InputRecord, BuildError> {
        let build = overlay.join(BUILD);
        let mut recorded = InputRecord { overlay: overlay.to_owned(), build: build.clone(), targets: BTreeMap::new() };
        for file in files::files_below(&build)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let dir = file.parent().and_then(|d| d.strip_prefix(&build).ok()).unwrap_or(Path::new(""));
            let kernels = name.strip_prefix('.').and_then(|n| n.strip_suffix(".cmd"));
            let ours = name.strip_suffix(".d").filter(|_| dir == Path::new(embedded::REST));
            if let Some(target) = kernels.or(ours) {
                let target = dir.join(target).display().to_string();
                let found = recorded.dependencies(&files::read_text(&file, LIMIT)?, ours.is_some());
                recorded.targets.insert(target, found);
            }
        }
        Ok(recorded)
    }

    /// The files of the tree and of the system in a list of dependencies.
    fn dependencies(&self, text: &str, plain: bool) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        // A recorded command names files as well, but they come again as sources.
        let mut inside = plain;
        for line in text.lines() {
            let starts = line.starts_with("source_") || line.starts_with("deps_");
            inside = plain || starts || inside && line.starts_with([' ', '\t']);
            let words = line.split_whitespace().filter(|w| inside && w.contains('/') && !w.starts_with("$("));
            found.extend(words.filter_map(|word| self.name(word)));
        }
        found
    }

    /// A file as the compiler named it, as [`Input`] does; none for what was generated, and what is ours.
    fn name(&self, word: &str) -> Option<String> {
        if !word.starts_with("../") && !word.starts_with('/') {
            return None;
        }
        let full = files::lexical(&self.build.join(word));
        match full.strip_prefix(&self.overlay) {
            Err(_) => Some(full.display().to_string()),
            Ok(inner) if [BUILD, embedded::ARCH, embedded::REST].iter().any(|own| inner.starts_with(own)) => None,
            Ok(inner) => Some(inner.display().to_string()),
        }
    }

    /// All that went in, sorted: what was compiled, the files of Kconfig, and the makefiles that say how.
    pub fn inputs(&self, tree: &Path, start: i64) -> Result<Vec<Input>, BuildError> {
        let mut paths: BTreeSet<String> = self.targets.values().flatten().cloned().collect();
        paths.extend(kconfigs(&self.build)?);
        let dirs: BTreeSet<String> = paths.iter().filter_map(|p| p.rsplit_once('/')).map(|(d, _)| d.into()).collect();
        paths.extend(dirs.iter().filter(|d| !d.starts_with('/')).map(|d| format!("{d}/Makefile")));
        paths.extend(["Makefile", "Kbuild"].map(String::from));
        let scripts = files::names(&tree.join("scripts"))?;
        let how = scripts.iter().filter(|n| n.starts_with("Makefile") || n.starts_with("Kbuild"));
        paths.extend(how.map(|n| format!("scripts/{n}")));
        Ok(paths.into_iter().filter_map(|path| Input::read(tree, path, start)).collect())
    }

    /// Removes the targets made of one of these, so that they are made again whatever their dates say.
    pub fn forget(&self, changed: &[&str]) -> Result<(), BuildError> {
        for (target, inputs) in &self.targets {
            if changed.iter().any(|path| inputs.contains(*path)) {
                files::remove(&self.build.join(target))?;
            }
        }
        Ok(())
    }
}

/// The files of Kconfig that were read; none before it has run.
pub(super) fn kconfigs(build: &Path) -> Result<Vec<String>, BuildError> {
    let list = build.join("include/config/auto.conf.cmd");
    if !list.exists() {
        return Ok(Vec::new());
    }
    let text = files::read_text(&list, LIMIT)?;
    let names = text.lines().skip_while(|l| !l.starts_with("deps_config")).skip(1);
    let names = names.take_while(|l| l.starts_with('\t')).map(|l| l.trim().trim_end_matches(" \\").to_string());
    Ok(names.filter(|n| !n.starts_with(embedded::ARCH)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::fake;

    const CMD: &str = "savedcmd_kernel/sched/fair.o := gcc -I../include -o fair.o ../kernel/sched/not-this.c\n\n\
        source_kernel/sched/fair.o := ../kernel/sched/fair.c\n\n\
        deps_kernel/sched/fair.o := \\\n    $(wildcard include/config/SMP) \\\n  ../arch/sim/include/asm/page.h \\\n  \
        include/generated/autoconf.h \\\n  ../arch/sim/kernel/../../../include/linux/sched.h \\\n  /usr/include/stdint.h \\\n\n\
        kernel/sched/fair.o: $(deps_kernel/sched/fair.o)\n";

    fn recorded(overlay: &Path) -> InputRecord {
        fake::write(overlay, "build/kernel/sched/.fair.o.cmd", CMD);
        fake::write(overlay, "build/kernel/sched/fair.o", "");
        InputRecord::read(overlay).unwrap()
    }

    #[test]
    fn a_record_names_sources_and_headers_but_nothing_generated_nor_ours() {
        let overlay = tempfile::tempdir().unwrap();
        let recorded = recorded(overlay.path());
        let names: Vec<&String> = recorded.targets["kernel/sched/fair.o"].iter().collect();
        assert_eq!(names, ["/usr/include/stdint.h", "include/linux/sched.h", "kernel/sched/fair.c"]);
    }

    #[test]
    fn makefiles_and_kconfig_files_count_as_inputs() {
        let tree = fake::tree("VERSION = 6\nPATCHLEVEL = 12\n");
        fake::write(tree.path(), "kernel/sched/Makefile", "obj-y += fair.o\n");
        fake::write(tree.path(), "kernel/Kconfig.hz", "");
        let overlay = tempfile::tempdir().unwrap();
        let text = "deps_config := \\\n\tkernel/Kconfig.hz \\\n\tarch/sim/Kconfig \\\n\nx\n";
        fake::write(overlay.path(), "build/include/config/auto.conf.cmd", text);
        let inputs = recorded(overlay.path()).inputs(tree.path(), i64::MAX).unwrap();
        let names: Vec<&str> = inputs.iter().map(|i| i.path.as_str()).collect();
        for name in ["Makefile", "kernel/Kconfig.hz", "kernel/sched/Makefile", "kernel/sched/fair.c"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        assert!(!names.iter().any(|n| n.contains("arch/sim")));
    }

    #[test]
    fn only_content_makes_an_input_changed() {
        let tree = fake::tree("VERSION = 6\nPATCHLEVEL = 12\n");
        let fair = tree.path().join("kernel/sched/fair.c");
        let input = Input::read(tree.path(), "kernel/sched/fair.c".into(), i64::MAX).unwrap();
        let inputs = [input];
        let text = fs::read(&fair).unwrap();
        fs::write(&fair, &text).unwrap();
        assert_eq!(changed(tree.path(), &inputs, i64::MAX), Vec::<&str>::new(), "a new date alone");
        let mut other = text.clone();
        other[0] ^= 1;
        fs::write(&fair, &other).unwrap();
        assert_eq!(changed(tree.path(), &inputs, i64::MAX), ["kernel/sched/fair.c"], "same size");
        fs::remove_file(&fair).unwrap();
        assert_eq!(changed(tree.path(), &inputs, i64::MAX), ["kernel/sched/fair.c"], "gone");
    }

    #[test]
    fn a_change_within_a_tick_of_the_clock_is_seen() {
        let tree = fake::tree("VERSION = 6\nPATCHLEVEL = 12\n");
        let path = "kernel/sched/fair.c";
        let mut input = Input::read(tree.path(), path.into(), i64::MAX).unwrap();
        let now = input.mtime;
        input.hash = files::hash(b"what it was");
        assert_eq!(changed(tree.path(), &[input.clone()], now), [path], "as young as the record");
        assert_eq!(changed(tree.path(), &[input], now + 1), Vec::<&str>::new(), "older: its date is trusted");
    }

    #[test]
    fn what_changes_during_a_build_counts_as_changed_afterwards() {
        let tree = fake::tree("VERSION = 6\nPATCHLEVEL = 12\n");
        let start = Input::read(tree.path(), "Makefile".into(), i64::MAX).unwrap().mtime;
        let input = Input::read(tree.path(), "Makefile".into(), start).unwrap();
        assert_eq!(changed(tree.path(), &[input], start), ["Makefile"]);
    }

    #[test]
    fn targets_made_of_what_changed_are_made_again() {
        let overlay = tempfile::tempdir().unwrap();
        let recorded = recorded(overlay.path());
        let object = overlay.path().join("build/kernel/sched/fair.o");
        recorded.forget(&["kernel/sched/core.c"]).unwrap();
        assert!(object.exists());
        recorded.forget(&["include/linux/sched.h"]).unwrap();
        assert!(!object.exists());
    }

    #[test]
    fn a_digest_is_of_content_and_not_of_dates() {
        let tree = fake::tree("VERSION = 6\nPATCHLEVEL = 12\n");
        let input = Input::read(tree.path(), "Makefile".into(), i64::MAX).unwrap();
        let later = Input { mtime: input.mtime + 1, ..input.clone() };
        let other = Input { hash: files::hash(b""), ..input.clone() };
        let same = digest(&[input], &["a"]);
        assert_eq!(same, digest(&[later], &["a"]));
        assert_ne!(same, digest(&[other], &["a"]));
        assert_ne!(digest(&[], &["a", "b"]), digest(&[], &["ab"]));
    }
}

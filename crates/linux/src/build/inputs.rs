//! Inputs of a built library: every file that the compiler or Kconfig read, with its hash.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, FileTimes};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::embedded::{self, BUILD};
use super::error::BuildError;
use super::files;
use super::kbuild::SCHED;

/// Most that is read of a dependency file, bytes.
const LIMIT: u64 = 16 << 20;
/// Most that is read of a record, bytes.
const RECORD_LIMIT: u64 = 64 << 20;

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
        let meta = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let (size, mtime) = (meta.len(), mtime(&meta));
        let hash = if mtime < start { files::hash(&fs::read(&file).ok()?) } else { String::new() };
        Some(Input { path, size, mtime, hash })
    }

    /// Whether the file has another date than it had.
    fn is_touched(&self, tree: &Path) -> bool {
        tree.join(&self.path).metadata().is_ok_and(|meta| mtime(&meta) != self.mtime)
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

/// What the objects in a work directory are made of, whether or not a library came of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Made {
    /// As [`Record::since`](super::cache::Record).
    pub since: i64,
    pub inputs: Vec<Input>,
    /// Number of the C side, hex: the inputs do not name its files.
    pub own: String,
}

impl Made {
    /// Reads the record; none if no build has ended here since the objects were last made.
    pub fn read(path: &Path) -> Option<Made> {
        serde_json::from_str(&files::read_text(path, RECORD_LIMIT).ok()?).ok()
    }

    /// Writes it as JSON, which [`Made::read`] reads.
    pub fn write(&self, path: &Path) -> Result<(), BuildError> {
        let text = serde_json::to_vec(self).map_err(|e| files::fail("write", path)(e.into()))?;
        files::write_changed(path, &text).map(drop)
    }

    /// Whether a file has another date and the content that it had: make would take it for changed.
    pub fn is_touched(&self, tree: &Path) -> bool {
        self.inputs.iter().any(|input| input.is_touched(tree))
    }
}

/// How many of a kernel's inputs a tree has with another content, or not at all. Hashes are kept in `known`, by path.
pub(super) fn difference(tree: &Path, inputs: &[Input], known: &mut BTreeMap<String, Option<String>>) -> usize {
    let mut differs = |input: &&Input| {
        let hash = known.entry(input.path.clone());
        let hash = hash.or_insert_with(|| fs::read(tree.join(&input.path)).ok().map(|content| files::hash(&content)));
        hash.as_ref() != Some(&input.hash)
    };
    inputs.iter().filter(|input| differs(input)).count()
}

/// Sources of the scheduler that are not among the inputs, sorted.
pub(super) fn left_out(tree: &Path, inputs: &[Input], start: i64) -> Result<Vec<Input>, BuildError> {
    let used: BTreeSet<&str> = inputs.iter().map(|input| input.path.as_str()).collect();
    let mut left_out = Vec::new();
    for file in files::files_below(&tree.join(SCHED))? {
        let path = file.strip_prefix(tree).unwrap_or(&file).display().to_string();
        let is_source = path.ends_with(".c") || path.ends_with(".h");
        if is_source && !path.ends_with(".mod.c") && !used.contains(path.as_str()) {
            left_out.extend(Input::read(tree, path, start));
        }
    }
    Ok(left_out)
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

/// Gives everything below a build directory the date of now, so that make, which goes by dates, takes it for newer than
/// the tree. What has changed was removed before.
pub(super) fn refresh(build: &Path) -> Result<(), BuildError> {
    let now = FileTimes::new().set_modified(SystemTime::now());
    for path in files::files_below(build)?.into_iter().filter(|path| !path.is_symlink()) {
        set_times(&path, now)?;
    }
    Ok(())
}

/// Makes Kconfig's result out of date: make asks Kconfig again, which keeps the dates of what it does not change.
pub(super) fn expire_configuration(build: &Path) -> Result<(), BuildError> {
    let result = build.join("include/config/auto.conf");
    match result.exists() {
        true => set_times(&result, FileTimes::new().set_modified(SystemTime::UNIX_EPOCH)),
        false => Ok(()),
    }
}

fn set_times(path: &Path, times: FileTimes) -> Result<(), BuildError> {
    let file = fs::File::options().append(true).open(path);
    file.and_then(|file| file.set_times(times)).map_err(files::fail("set the date of", path))
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
    fn a_new_date_alone_is_told_apart_from_a_change() {
        let tree = fake::tree("VERSION = 6\nPATCHLEVEL = 12\n");
        let input = Input::read(tree.path(), "Makefile".into(), i64::MAX).unwrap();
        let made = Made { since: i64::MAX, inputs: vec![Input { mtime: 1, ..input.clone() }], own: String::new() };
        assert!(made.is_touched(tree.path()));
        assert_eq!(changed(tree.path(), &made.inputs, made.since), Vec::<&str>::new());
        assert!(!Made { inputs: vec![input], ..made }.is_touched(tree.path()));
    }

    #[test]
    fn a_tree_is_as_far_from_a_kernel_as_it_has_other_files() {
        let (tree, other) =
            (fake::tree("VERSION = 6\nPATCHLEVEL = 12\n"), fake::tree("VERSION = 6\nPATCHLEVEL = 13\n"));
        let read = |path: &str| Input::read(tree.path(), path.into(), i64::MAX).unwrap();
        let inputs = [read("Makefile"), read("kernel/sched/fair.c"), read("include/linux/sched.h")];
        assert_eq!(difference(tree.path(), &inputs, &mut BTreeMap::new()), 0);
        fs::remove_file(other.path().join("kernel/sched/fair.c")).unwrap();
        assert_eq!(difference(other.path(), &inputs, &mut BTreeMap::new()), 2, "another Makefile, no fair.c");
    }

    #[test]
    fn sources_of_the_scheduler_that_nothing_reads_are_left_out() {
        let tree = fake::tree("VERSION = 6\nPATCHLEVEL = 12\n");
        for file in ["kernel/sched/ext/new.c", "kernel/sched/new.h", "kernel/sched/fair.c.orig"] {
            fake::write(tree.path(), file, "");
        }
        let used = [Input::read(tree.path(), "kernel/sched/fair.c".into(), i64::MAX).unwrap()];
        let left_out = left_out(tree.path(), &used, i64::MAX).unwrap();
        let paths: Vec<&str> = left_out.iter().map(|i| i.path.as_str()).collect();
        assert_eq!(paths, ["kernel/sched/ext/new.c", "kernel/sched/new.h", "kernel/sched/sched.h"]);
    }

    #[test]
    fn what_is_refreshed_is_newer_than_the_tree_and_the_configuration_is_asked_again() {
        let build = tempfile::tempdir().unwrap();
        let old = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
        for file in ["include/config/auto.conf", "kernel/sched/fair.o"] {
            fake::write(build.path(), file, "");
            set_times(&build.path().join(file), old).unwrap();
        }
        let before = SystemTime::now();
        refresh(build.path()).unwrap();
        let date = |file: &str| build.path().join(file).metadata().unwrap().modified().unwrap();
        assert!(date("kernel/sched/fair.o") >= before && date("include/config/auto.conf") >= before);
        expire_configuration(build.path()).unwrap();
        assert_eq!(date("include/config/auto.conf"), SystemTime::UNIX_EPOCH);
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

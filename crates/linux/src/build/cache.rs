//! The user's built kernels: a directory for each, found by name.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{flock, FlockOperation};
use serde::{Deserialize, Serialize};

use super::config::IgnoredOption;
use super::error::BuildError;
use super::error::StubbedSymbol;
use super::inputs::{self, Input};
use super::{embedded, files};

/// Name and version of a kernel's record.
const SCHEMA: &str = "fairground-kernel-1";
/// Name of the record.
const RECORD: &str = "kernel.json";
/// Name of the note that the last build failed.
const FAILED: &str = "failed.json";
/// Most that is kept of its error, characters.
const MAX_WHAT: usize = 200;
/// Most that is read of a record, bytes.
const LIMIT: u64 = 64 << 20;

/// A built kernel, ready to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltKernel {
    /// Name of the kernel, as in `linux:NAME`.
    pub name: String,
    /// Its library, a file whose content never changes.
    pub library: PathBuf,
    /// How and of what it was made.
    pub record: Record,
    /// The last build, if it failed: the library is that of an earlier one.
    pub failed: Option<FailedBuild>,
}

/// A build that failed and left the library of an earlier one in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedBuild {
    /// When it failed, seconds since 1970.
    pub when: u64,
    /// The first line of its error.
    pub what: String,
}

impl BuiltKernel {
    /// What a user should know of the kernel before relying on it, a sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let record = &self.record;
        let mut warnings = [record.warnings.as_slice(), &record.beside_others].concat();
        let left_out = if record.tree_is_there() { record.left_out.as_slice() } else { &[] };
        for path in inputs::changed(&record.tree, left_out, record.since) {
            warnings.push(format!("{path} has changed since the build, but it is not compiled"));
        }
        warnings
    }

    /// Whether a file, by its path in the tree, went into the library: a source, a header, a makefile or a file of Kconfig.
    pub fn compiles(&self, path: &str) -> bool {
        self.record.inputs.iter().any(|input| input.path == path)
    }

    /// The files that went into the library: path in the tree, and hash of the content, hex; empty if the file was changed while
    /// the build ran.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.record.inputs.iter().map(|input| (input.path.as_str(), input.hash.as_str()))
    }

    /// Hash of what of the library is loaded, hex: equal hashes, equal code, whatever the names of what is static and the lines.
    pub fn code_hash(&self) -> &str {
        match self.record.code_hash.as_str() {
            // Of a build by an earlier version.
            "" => &self.record.library_hash,
            code => code,
        }
    }

    /// That the library is not what the tree last was, if so.
    pub fn stale(&self) -> Option<String> {
        let failed = self.failed.as_ref()?;
        let (name, what) = (&self.name, &failed.what);
        Some(format!("the last build of linux:{name} failed ({what}): its library is of the build before"))
    }
}

/// What is kept of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub(super) schema: String,
    /// Kernel release of the source tree, e.g. `6.12.117`.
    pub release: String,
    /// Root of the kernel source tree.
    pub tree: PathBuf,
    /// Number of all that went in by content, hex: equal keys, equal libraries.
    pub key: String,
    /// When it was built, seconds since 1970.
    pub built: u64,
    /// Versions of the compiler and the linker.
    pub compiler: String,
    /// CONFIG_NR_CPUS: most CPUs of a machine.
    pub nr_cpus: u32,
    /// Ticks per second that the kernel was built with (CONFIG_HZ).
    pub hz: u32,
    /// What is on of the configuration and concerns the scheduler; names with `CONFIG_`.
    pub options: BTreeMap<String, String>,
    /// What the user's configuration asked for in vain.
    pub ignored: Vec<IgnoredOption>,
    /// Options of the user's configuration that do not concern the scheduler.
    pub unrelated: usize,
    /// Functions of the scheduler that would be observed but are not in this tree.
    pub not_observable: Vec<String>,
    /// Functions that the tree uses and Fairground neither has nor expects.
    pub stubbed: Vec<StubbedSymbol>,
    /// What did not take effect of the tree or of the configuration, a sentence each.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Sources without effect that other kernels of the cache do not have so, a sentence each: with other kernels it is another list.
    #[serde(default)]
    pub(super) beside_others: Vec<String>,
    /// Sources of the scheduler that are not compiled.
    #[serde(default)]
    pub(super) left_out: Vec<Input>,
    /// Number of the border's text, hex: a program with another one cannot load the library.
    pub(super) border: String,
    /// Number of what was made with beside the tree's files, hex.
    pub(super) made_with: String,
    /// Number of all that was asked for of the configuration, also in vain, hex.
    pub(super) asked: String,
    /// Inputs older than this are trusted by size and date, ns since 1970.
    pub(super) since: i64,
    pub(super) inputs: Vec<Input>,
    /// xxh3-128 of the library, hex.
    #[serde(default)]
    pub(super) library_hash: String,
    /// xxh3-128 of what of the library is loaded, hex.
    #[serde(default)]
    pub(super) code_hash: String,
}

/// Whether this process loads libraries that were not built here.
static ANY_LIBRARY: AtomicBool = AtomicBool::new(false);

/// Lets this process load any file as `linux:PATH`. The file's code runs as the user: only the user may decide this,
/// once, as the process begins.
pub fn allow_any_library() {
    ANY_LIBRARY.store(true, Ordering::Relaxed);
}

/// Whether [`allow_any_library`] was called.
pub fn is_any_library_allowed() -> bool {
    ANY_LIBRARY.load(Ordering::Relaxed)
}

impl Record {
    /// With what follows from the rest.
    pub(super) fn sealed(self) -> Record {
        let key = inputs::digest(&self.inputs, &[&self.made_with]);
        Record { schema: SCHEMA.into(), key, border: border(), ..self }
    }

    /// Name of the library beside the record.
    fn library(&self) -> String {
        format!("libksched-{}.so", self.key)
    }

    /// Whether the tree is where it was when this was built.
    pub fn tree_is_there(&self) -> bool {
        self.tree.is_dir()
    }

    /// Whether the tree is there and holds other content than when this was built.
    pub fn tree_changed(&self) -> bool {
        self.tree_is_there() && !inputs::changed(&self.tree, &self.inputs, self.since).is_empty()
    }
}

/// Number of the border between a library and its host.
fn border() -> String {
    let parts = ["include/ks.h", "policy/fg.h", "policy/features.h", "policy/rules.h", "policy/notes.h"];
    files::hash(parts.map(embedded::text).join("\n").as_bytes())
}

/// The user's built kernels.
#[derive(Clone, Debug)]
pub struct Kernels {
    dir: PathBuf,
}

/// Where the user keeps what can be made again: `$FAIRGROUND_CACHE`, else `$XDG_CACHE_HOME/fairground`, else
/// `~/.cache/fairground`. Need not exist yet.
///
/// # Errors
/// [`BuildError::NoCache`] if the environment names no such place.
pub fn user_cache() -> Result<PathBuf, BuildError> {
    let set = |name| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let absolute = |name| set(name).filter(|p: &PathBuf| p.is_absolute());
    match set("FAIRGROUND_CACHE") {
        Some(dir) => std::path::absolute(&dir).map_err(files::fail("find", &dir)),
        None => absolute("XDG_CACHE_HOME")
            .or_else(|| Some(absolute("HOME")?.join(".cache")))
            .map(|cache| cache.join("fairground"))
            .ok_or(BuildError::NoCache),
    }
}

impl Kernels {
    /// Those of the user: `kernels` in [`user_cache`]. Need not exist yet.
    ///
    /// # Errors
    /// As [`user_cache`].
    pub fn user() -> Result<Kernels, BuildError> {
        Ok(Kernels::in_dir(user_cache()?.join("kernels")))
    }

    /// Those below a directory, an absolute path. Need not exist yet.
    pub fn in_dir(dir: PathBuf) -> Kernels {
        Kernels { dir }
    }

    /// Names with a record, sorted.
    fn names(&self) -> Result<Vec<String>, BuildError> {
        let mut names = files::names(&self.dir)?;
        names.retain(|name| self.dir.join(name).join(RECORD).is_file());
        Ok(names)
    }

    /// All of them in the order of their names; an error for each that cannot be used.
    pub fn list(&self) -> Result<Vec<Result<BuiltKernel, BuildError>>, BuildError> {
        Ok(self.names()?.iter().map(|name| self.open(name)).collect())
    }

    /// The kernel `linux:NAME`. A release without its last number (`v6.12`) finds the one that completes it; the
    /// result's name is the whole one.
    pub fn find(&self, name: &str) -> Result<BuiltKernel, BuildError> {
        let names = self.names()?;
        if names.iter().any(|n| n == name) {
            return self.open(name);
        }
        let completes = |full: &&String| {
            is_release(name) && full.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', '-']))
        };
        let found: Vec<&String> = names.iter().filter(completes).collect();
        match found.as_slice() {
            [one] => self.open(one),
            [] => Err(BuildError::Unknown { name: name.into(), help: help(name, &names) }),
            many => {
                let found = many.iter().map(|n| format!("linux:{n}")).collect();
                Err(BuildError::Ambiguous { name: name.into(), found })
            }
        }
    }

    /// Whether this is the content of a library on record. Compared byte by byte: a hash on record does not prove who
    /// made a file.
    pub fn have_built(&self, library: &[u8]) -> Result<bool, BuildError> {
        let is = |kernel: BuiltKernel| fs::read(kernel.library).is_ok_and(|built| built == library);
        Ok(self.list()?.into_iter().flatten().any(is))
    }

    /// Gives a kernel another name as well, whose library no later build of the first one replaces. A kernel of this name that
    /// was made of the same is left as it is.
    ///
    /// # Errors
    /// If the name cannot be one, or a file cannot be written.
    pub fn keep_as(&self, kernel: &BuiltKernel, name: &str) -> Result<BuiltKernel, BuildError> {
        check_name(name)?;
        let held = self.hold(name, &mut || {})?;
        let is_there = |kept: BuiltKernel| kept.record.library_hash == kernel.record.library_hash;
        if !self.open(name).is_ok_and(is_there) {
            held.publish(&kernel.library, &kernel.record)?;
        }
        self.open(name)
    }

    /// Removes a kernel with its objects, unless another process is using them.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), BuildError> {
        check_name(name)?;
        let dir = self.dir.join(name);
        // Opened for reading: none is made where no kernel is.
        let Ok(lock) = File::open(dir.join("lock")) else { return Ok(()) };
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => files::remove_dir(&dir),
            Err(_) => Ok(()),
        }
    }

    /// The kernel of just this name.
    pub(super) fn open(&self, name: &str) -> Result<BuiltKernel, BuildError> {
        let damaged = |problem: String| BuildError::Damaged { name: name.into(), problem };
        let path = self.dir.join(name).join(RECORD);
        let text = files::read_text(&path, LIMIT)?;
        let record: Record = serde_json::from_str(&text).map_err(|e| damaged(format!("{}: {e}", path.display())))?;
        if record.schema != SCHEMA || record.border != border() {
            return Err(damaged("it was built by another version of Fairground".into()));
        }
        let library = self.dir.join(name).join(record.library());
        if !library.is_file() {
            return Err(damaged(format!("{} is gone", library.display())));
        }
        let content = fs::read(&library).map_err(files::fail("read", &library))?;
        if files::hash(&content) != record.library_hash {
            return Err(damaged(format!("{} is not what was built", library.display())));
        }
        let failed = fs::read(self.dir.join(name).join(FAILED)).ok();
        let failed = failed.and_then(|text| serde_json::from_slice(&text).ok());
        Ok(BuiltKernel { name: name.into(), library, record, failed })
    }

    /// Keeps that a build of this name failed, if there is a library that it leaves in place.
    pub(super) fn note_failure(&self, name: &str, error: &BuildError) {
        let dir = self.dir.join(name);
        if dir.join(RECORD).is_file() {
            let text = error.to_string();
            let what =
                text.lines().map(str::trim).filter(|line| !line.is_empty()).take(2).collect::<Vec<_>>().join(" ");
            let when = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
            let failed = FailedBuild { when, what: what.chars().take(MAX_WHAT).collect() };
            // The build's own error matters more than that its note cannot be written.
            let _ = serde_json::to_vec(&failed).map(|text| fs::write(dir.join(FAILED), text));
        }
    }

    /// Forgets that a build of this name failed: the library is what the tree gives.
    pub(super) fn clear_failure(&self, name: &str) -> Result<(), BuildError> {
        files::remove(&self.dir.join(name).join(FAILED))
    }

    /// The work directories of other kernels, of which no build is using one while the answer is kept.
    pub(super) fn other_work(&self, than: &str) -> Result<Vec<OtherWork>, BuildError> {
        let mut others = Vec::new();
        for name in files::names(&self.dir)?.into_iter().filter(|name| name != than) {
            let dir = self.dir.join(&name);
            let Ok(lock) = File::open(dir.join("lock")) else { continue };
            if flock(&lock, FlockOperation::NonBlockingLockShared).is_ok() {
                others.push(OtherWork { work: dir.join("work"), _lock: lock });
            }
        }
        Ok(others)
    }

    /// Locks the directory of a name for building; calls `waits` before it blocks.
    pub(super) fn hold(&self, name: &str, waits: &mut dyn FnMut()) -> Result<BuildLock, BuildError> {
        let dir = self.dir.join(name);
        let text = dir.display().to_string();
        if text.contains([' ', ':', '\t', '\'', '"', '$', '#', '\\']) {
            return Err(BuildError::CachePath { path: self.dir.clone() });
        }
        let path = dir.join("lock");
        loop {
            files::make_dir(&dir)?;
            let lock = File::create(&path).map_err(files::fail("lock", &path))?;
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                waits();
                flock(&lock, FlockOperation::LockExclusive).map_err(|e| files::fail("lock", &path)(e.into()))?;
            }
            // Who held it may have removed it with the kernel.
            let number = |meta: fs::Metadata| (meta.dev(), meta.ino());
            if fs::metadata(&path).map(number).ok() == lock.metadata().map(number).ok() {
                return Ok(BuildLock { dir, _lock: lock });
            }
        }
    }
}

/// Only a whole name is a directory's name.
pub(super) fn check_name(name: &str) -> Result<(), BuildError> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b".-_".contains(&b);
    match !name.is_empty() && name.len() <= 64 && name.bytes().all(fits) && name.as_bytes()[0].is_ascii_alphanumeric() {
        true => Ok(()),
        false => Err(BuildError::Name { name: name.chars().take(80).collect() }),
    }
}

/// `v6.12`: a release that stable ones continue.
fn is_release(name: &str) -> bool {
    let mut numbers = name.strip_prefix('v').into_iter().flat_map(|n| n.split('.'));
    let digits = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    numbers.clone().count() >= 2 && numbers.all(digits)
}

fn help(name: &str, names: &[String]) -> String {
    let build = "build one: fairground kernel build TREE --name NAME";
    match fairground_machine::nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `linux:{near}`? or {build}"),
        None if names.is_empty() => format!("there is none yet; {build}"),
        None => format!("there is {}; or {build}", names.join(", ")),
    }
}

/// The work directory of another kernel than that which is being built.
#[derive(Debug)]
pub(super) struct OtherWork {
    pub work: PathBuf,
    _lock: File,
}

/// The directory of a kernel that is being built.
#[derive(Debug)]
pub(super) struct BuildLock {
    dir: PathBuf,
    _lock: File,
}

impl BuildLock {
    /// The directory of overlay and objects.
    pub fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// Everything that was said during the last build.
    pub fn log(&self) -> PathBuf {
        self.dir.join("build.log")
    }

    /// Makes a library the kernel of this name, all at once. The one before stays for those who have just found it,
    /// older ones go.
    pub fn publish(&self, library: &Path, record: &Record) -> Result<(), BuildError> {
        let before = fs::read(self.dir.join(RECORD)).ok();
        let before = before.and_then(|text| serde_json::from_slice::<Record>(&text).ok()).map(|r| r.library());
        let content = fs::read(library).map_err(files::fail("read", library))?;
        let record = &Record { library_hash: files::hash(&content), ..record.clone() };
        self.appear(&record.library(), |to| fs::write(to, &content))?;
        let text = serde_json::to_vec(record).map_err(|e| files::fail("write", &self.dir.join(RECORD))(e.into()))?;
        self.appear(RECORD, |to| fs::write(to, text))?;
        for name in files::names(&self.dir)? {
            let old = name.starts_with("libksched-") && name != record.library() && Some(&name) != before.as_ref();
            if old {
                files::remove(&self.dir.join(name))?;
            }
        }
        Ok(())
    }

    /// A file that is there whole or not at all.
    fn appear(&self, name: &str, write: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<(), BuildError> {
        let (part, whole) = (self.dir.join(format!("{name}.part")), self.dir.join(name));
        write(&part).map_err(files::fail("write", &part))?;
        fs::rename(&part, &whole).map_err(files::fail("write", &whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::fake;

    #[test]
    fn a_kernel_is_found_by_its_name() {
        let cache = fake::cache(&["mine", "v6.12.117"]);
        assert_eq!(cache.kernels.find("mine").unwrap().name, "mine");
        assert!(cache.kernels.find("v6.12.117").unwrap().library.is_file());
    }

    #[test]
    fn a_release_finds_its_only_stable_version() {
        let cache = fake::cache(&["v6.1.192", "v6.12.117", "v6.12-fix.1"]);
        assert_eq!(cache.kernels.find("v6.1").unwrap().name, "v6.1.192");
        let error = cache.kernels.find("v6.12").unwrap_err();
        assert_eq!(error.to_string(), "`linux:v6.12` could be linux:v6.12-fix.1 or linux:v6.12.117");
        assert!(matches!(cache.kernels.find("v6"), Err(BuildError::Unknown { .. })), "no release");
    }

    #[test]
    fn an_unknown_name_comes_with_the_nearest_and_how_to_build() {
        let help = |names: &[&str], name: &str| {
            let error = fake::cache(names).kernels.find(name).unwrap_err();
            let help = miette::Diagnostic::help(&error).unwrap().to_string();
            help
        };
        assert!(
            help(&["mine", "other"], "mien").starts_with("did you mean `linux:mine`? or build one: fairground kernel")
        );
        assert!(help(&["mine", "other"], "v6.18.0").starts_with("there is mine, other; or build one"));
        assert!(help(&[], "mine").starts_with("there is none yet; build one"));
    }

    #[test]
    fn a_record_that_no_build_of_this_program_left_is_refused_with_what_to_do() {
        let cache = fake::cache(&["mine"]);
        let record = cache.dir.path().join("mine").join(RECORD);
        let text = fs::read_to_string(&record).unwrap();
        fs::write(&record, text.replace(&border(), "0")).unwrap();
        let error = cache.kernels.find("mine").unwrap_err();
        assert!(error.to_string().contains("another version of Fairground"), "{error}");
        fs::write(&record, "{").unwrap();
        assert!(matches!(cache.kernels.find("mine"), Err(BuildError::Damaged { .. })));
    }

    #[test]
    fn a_library_that_is_gone_is_named() {
        let cache = fake::cache(&["mine"]);
        fs::remove_file(cache.kernels.find("mine").unwrap().library).unwrap();
        let error = cache.kernels.find("mine").unwrap_err().to_string();
        assert!(error.ends_with(".so is gone"), "{error}");
    }

    #[test]
    fn a_library_that_was_changed_is_refused() {
        let cache = fake::cache(&["mine"]);
        fs::write(cache.kernels.find("mine").unwrap().library, "other code").unwrap();
        let error = cache.kernels.find("mine").unwrap_err().to_string();
        assert!(error.ends_with(".so is not what was built"), "{error}");
        assert!(!cache.kernels.have_built(b"other code").unwrap());
    }

    #[test]
    fn a_kernel_that_is_kept_stays_when_the_first_is_built_again() {
        let cache = fake::cache(&["mine"]);
        let mine = cache.kernels.find("mine").unwrap();
        let kept = cache.kernels.keep_as(&mine, "kept").unwrap();
        assert_eq!((kept.name.as_str(), kept.record.code_hash), ("kept", mine.record.code_hash.clone()));
        fs::write(&mine.library, "another build").unwrap();
        let before = fs::metadata(&kept.library).unwrap().modified().unwrap();
        let again = cache.kernels.keep_as(&mine, "kept").unwrap();
        assert_eq!(fs::metadata(&again.library).unwrap().modified().unwrap(), before);
        assert!(cache.kernels.keep_as(&mine, "../kept").is_err());

        // What is in use stays; what nobody uses goes as a whole, and its name can be taken anew.
        let held = cache.kernels.hold("kept", &mut || {}).unwrap();
        cache.kernels.remove("kept").unwrap();
        assert!(cache.kernels.open("kept").is_ok());
        drop(held);
        cache.kernels.remove("kept").unwrap();
        cache.kernels.remove("nowhere").unwrap();
        assert!(cache.kernels.open("kept").is_err() && !cache.kernels.dir.join("kept").exists());
        assert_eq!(cache.kernels.keep_as(&mine, "kept").unwrap().name, "kept");
    }

    #[test]
    fn a_library_is_known_by_its_content() {
        let cache = fake::cache(&["mine", "other"]);
        assert!(cache.kernels.have_built(b"other").unwrap());
        assert!(!cache.kernels.have_built(b"another").unwrap());
    }

    #[test]
    fn a_build_that_failed_leaves_a_note_until_one_succeeds() {
        let cache = fake::cache(&["mine"]);
        let error = BuildError::Load { what: "no\nmore".into() };
        cache.kernels.note_failure("mine", &error);
        cache.kernels.note_failure("new", &error);
        assert!(!cache.dir.path().join("new").exists(), "no library is left in place");
        let stale = cache.kernels.find("mine").unwrap().stale().unwrap();
        assert!(
            stale.starts_with("the last build of linux:mine failed (the built library does not load: no more)"),
            "{stale}"
        );
        cache.kernels.clear_failure("mine").unwrap();
        assert_eq!(cache.kernels.find("mine").unwrap().stale(), None);
    }

    #[test]
    fn the_work_of_a_kernel_that_is_being_built_is_not_offered() {
        let cache = fake::cache(&["mine", "other", "third"]);
        let held = cache.kernels.hold("third", &mut || {}).unwrap();
        let offered = || cache.kernels.other_work("mine").unwrap().into_iter().map(|o| o.work).collect::<Vec<_>>();
        assert_eq!(offered(), [cache.dir.path().join("other/work")]);
        drop(held);
        assert_eq!(offered().len(), 2);
    }

    #[test]
    fn publishing_keeps_the_library_before_and_no_other() {
        let cache = fake::cache(&["mine"]);
        let first = cache.kernels.find("mine").unwrap();
        let held = cache.kernels.hold("mine", &mut || {}).unwrap();
        let mut libraries = vec![first.library];
        for content in ["second", "third"] {
            let library = cache.dir.path().join("new.so");
            fs::write(&library, content).unwrap();
            held.publish(&library, &fake::record(content)).unwrap();
            libraries.push(cache.kernels.find("mine").unwrap().library);
        }
        let there: Vec<bool> = libraries.iter().map(|l| l.exists()).collect();
        assert_eq!(there, [false, true, true]);
        assert_eq!(fs::read_to_string(&libraries[2]).unwrap(), "third");
    }

    #[test]
    fn two_builds_of_a_name_go_one_after_the_other() {
        let cache = fake::cache(&[]);
        let first = cache.kernels.hold("mine", &mut || panic!("no process holds it")).unwrap();
        let (kernels, (waits, waiting)) = (cache.kernels.clone(), std::sync::mpsc::channel());
        let second = std::thread::spawn(move || kernels.hold("mine", &mut || waits.send(()).unwrap()).map(drop));
        waiting.recv().unwrap();
        assert!(!second.is_finished());
        drop(first);
        second.join().unwrap().unwrap();
    }

    #[test]
    fn names_that_could_leave_the_cache_are_refused() {
        for name in ["", "..", "a/b", ".hidden", "-v", "a b", "ä", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name("v6.12-fix_2").is_ok());
    }

    #[test]
    fn a_cache_in_which_make_cannot_work_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let error = Kernels::in_dir(dir.path().join("my cache")).hold("mine", &mut || {}).unwrap_err().to_string();
        assert!(error.contains("allows neither spaces nor colons"), "{error}");
    }
}

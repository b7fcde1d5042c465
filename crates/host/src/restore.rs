//! Changes of the machine that are taken back, whatever happens in between.
//!
//! Before anything is changed, a line in a *record* says how to take it back, and is on the disk. When all is taken back the
//! record is removed. So a record that is there belongs to a command that lives, or to one that was killed: a lock tells
//! which. A line that a kill cut off belongs to a change that was not made yet.
//!
//! What is recorded lasts until the machine is restarted, and no longer: a record of an earlier start is only removed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fairground_machine::{CpuId, CpuMask};
use miette::Diagnostic;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::host::{debugfs_undo, read, CgroupVersion, GroupFile, Hierarchy, Host};

const SCHEMA: &str = "fairground-restore-1";
/// How long members of a cgroup of ours may take to end after they were killed.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long another command may hold the lock before it is taken for one that lives.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// How one change is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    /// Write this text to a file.
    Write {
        /// The file.
        path: PathBuf,
        /// The text.
        value: String,
    },
    /// Remove a cgroup of ours; what is still in it is killed.
    RemoveGroup {
        /// Its directory.
        path: PathBuf,
    },
    /// Give a thread of another program its CPUs back.
    Affinity {
        /// The thread.
        tid: i32,
        /// When it began, in ticks since the machine was started: its number may belong to another by now.
        began: u64,
        /// Its CPUs, in the kernel's list format.
        cpus: String,
    },
}

/// The first line of a record.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    schema: String,
    boot: String,
}

/// Why the machine cannot be changed, or not be restored.
#[derive(Debug, Error, Diagnostic)]
pub enum RestoreError {
    /// The record cannot be read or written.
    #[error("cannot {doing} {path}: {cause}")]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file or directory.
        path: String,
        /// The system's reason.
        cause: io::Error,
    },
    /// Another command changes the machine.
    #[error("another `fairground` command is changing this machine: it holds {0}")]
    #[diagnostic(help("wait for it, or end it: it restores what it has changed"))]
    Busy(String),
    /// A file that is no record.
    #[error("{path}, line {line}: {problem}")]
    #[diagnostic(help("restore by hand what it names, then remove it"))]
    Invalid {
        /// The record.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// Something could not be taken back; the record stays.
    #[error("not restored: {0}")]
    #[diagnostic(help(
        "the record stays; `fairground validate --restore` and `fairground machine measure --restore` try again"
    ))]
    Left(String),
}

impl RestoreError {
    fn file(doing: &'static str, path: &Path, cause: io::Error) -> RestoreError {
        RestoreError::File { doing, path: path.display().to_string(), cause }
    }
}

/// The place of the record, held by this command.
pub struct Keeper {
    dir: PathBuf,
    boot: String,
    _lock: Flock<File>,
}

impl Keeper {
    /// Holds the place of the record of `host`, a directory that is made if it is not there.
    ///
    /// # Errors
    /// If another command holds it, or the directory cannot be used.
    pub fn hold(dir: &Path, host: &Host) -> Result<Keeper, RestoreError> {
        std::fs::create_dir_all(dir).map_err(|e| RestoreError::file("make", dir, e))?;
        let path = dir.join("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|e| RestoreError::file("open", &path, e))?;
        let lock = lock(file).map_err(|_| RestoreError::Busy(path.display().to_string()))?;
        Ok(Keeper { dir: dir.into(), boot: host.boot(), _lock: lock })
    }

    fn record(&self) -> PathBuf {
        self.dir.join("restore.jsonl")
    }

    /// Whether a command that was killed has left a record.
    pub fn has_left(&self) -> bool {
        self.record().exists()
    }

    /// Takes back what a command that was killed has left, the last change first. Says what, one change each.
    ///
    /// # Errors
    /// If the record is none, or something cannot be taken back. All else is.
    pub fn restore(&self) -> Result<Vec<String>, RestoreError> {
        let path = self.record();
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text.map_err(|e| RestoreError::file("read", &path, e))?,
        };
        let undos = self.read_record(&text)?;
        let (done, left) = take_back(&undos);
        match left.is_empty() {
            true => {
                self.remove()?;
                Ok(done)
            }
            false => Err(RestoreError::Left(left.join("; "))),
        }
    }

    /// What a record says is to be taken back: nothing if the machine was started anew since.
    fn read_record(&self, text: &str) -> Result<Vec<Undo>, RestoreError> {
        let invalid = |line: usize, problem: String| RestoreError::Invalid {
            path: self.record().display().to_string(),
            line,
            problem,
        };
        // What does not end in a newline was cut off.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut lines = whole.lines().enumerate();
        let Some((_, first)) = lines.next() else { return Ok(Vec::new()) };
        let head: Head = serde_json::from_str(first).map_err(|e| invalid(1, e.to_string()))?;
        if head.schema != SCHEMA {
            return Err(invalid(1, format!("schema {:?}, expected {SCHEMA:?}", head.schema)));
        }
        let undos: Result<Vec<Undo>, _> =
            lines.map(|(i, line)| serde_json::from_str(line).map_err(|e| invalid(i + 1, e.to_string()))).collect();
        Ok(if head.boot == self.boot { undos? } else { Vec::new() })
    }

    fn remove(&self) -> Result<(), RestoreError> {
        let path = self.record();
        std::fs::remove_file(&path).map_err(|e| RestoreError::file("remove", &path, e))
    }

    /// Begins to change the machine.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn begin(&self) -> Result<Changes<'_>, RestoreError> {
        let path = self.record();
        let fail = |doing| move |e| RestoreError::file(doing, &self.record(), e);
        let mut file = OpenOptions::new().create_new(true).append(true).open(&path).map_err(fail("make"))?;
        let head = Head { schema: SCHEMA.into(), boot: self.boot.clone() };
        let line = serde_json::to_string(&head).unwrap_or_default() + "\n";
        file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).map_err(fail("write"))?;
        let synced = File::open(&self.dir).and_then(|dir| dir.sync_all());
        synced.map_err(|e| RestoreError::file("write", &self.dir, e))?;
        Ok(Changes { keeper: self, file, undos: Vec::new(), open: true })
    }
}

/// Locks a file. Processes of a round whose command was killed have it until they are ended, which takes a moment.
fn lock(mut file: File) -> Result<Flock<File>, nix::Error> {
    let begin = Instant::now();
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((_, error)) if begin.elapsed() > LOCK_PATIENCE => return Err(error),
            Err((same, _)) => file = same,
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Changes of the machine since [`Keeper::begin`]. Dropped, they are taken back as far as that can be done.
pub struct Changes<'a> {
    keeper: &'a Keeper,
    file: File,
    undos: Vec<Undo>,
    open: bool,
}

impl Changes<'_> {
    /// Records how a change that follows is taken back.
    fn note(&mut self, undo: Undo) -> Result<(), RestoreError> {
        let line = serde_json::to_string(&undo).unwrap_or_default() + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|e| RestoreError::file("write", &self.keeper.record(), e))?;
        self.undos.push(undo);
        Ok(())
    }

    /// Writes `value` to a file that exists; `undo` takes it back.
    fn write(&mut self, path: &Path, value: &str, undo: &str) -> Result<(), RestoreError> {
        self.note(Undo::Write { path: path.into(), value: undo.into() })?;
        write_to(path, value).map_err(|e| RestoreError::file("write", path, e))
    }

    /// Writes `value` to a file that shows what was last written to it, as files of sysfs do. Before the first write what it shows is
    /// recorded: that is written back at the end, however often the file was written.
    ///
    /// # Errors
    /// If there is no such file, or the kernel refuses the value.
    pub fn set(&mut self, path: &Path, value: &str) -> Result<(), RestoreError> {
        let is_noted = |undo: &Undo| matches!(undo, Undo::Write { path: noted, .. } if noted == path);
        if self.undos.iter().any(is_noted) {
            return write_to(path, value).map_err(|e| RestoreError::file("write", path, e));
        }
        let was = std::fs::read_to_string(path).map_err(|e| RestoreError::file("read", path, e))?;
        self.write(path, value, was.trim())
    }

    /// Makes a cgroup and writes its files.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn make_group(&mut self, hierarchy: &Hierarchy, group: &GroupFile) -> Result<(), RestoreError> {
        if hierarchy.version == CgroupVersion::V2 {
            self.enable(&hierarchy.parent, group)?;
        }
        self.note(Undo::RemoveGroup { path: group.dir.clone() })?;
        std::fs::create_dir(&group.dir).map_err(|e| RestoreError::file("make", &group.dir, e))?;
        for (file, value) in &group.files {
            let path = group.dir.join(file);
            write_to(&path, value).map_err(|e| RestoreError::file("write", &path, e))?;
        }
        Ok(())
    }

    /// Enables the controllers that a group of v2 needs for the groups within `parent`.
    fn enable(&mut self, parent: &Path, group: &GroupFile) -> Result<(), RestoreError> {
        let control = parent.join("cgroup.subtree_control");
        let enabled = read(&control).unwrap_or_default();
        for controller in ["cpu", "cpuset"] {
            let needed = group.files.iter().any(|(file, _)| file.split('.').next() == Some(controller));
            if needed && !enabled.split_whitespace().any(|word| word == controller) {
                self.write(&control, &format!("+{controller}"), &format!("-{controller}"))?;
            }
        }
        Ok(())
    }

    /// Takes CPUs offline. CPUs of cpusets and of other programs' threads that the kernel would forget are recorded.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn take_offline(&mut self, host: &Host, cpus: &CpuMask) -> Result<(), RestoreError> {
        for undo in threads_bound_to(host, cpus) {
            self.note(undo)?;
        }
        for path in host.cpusets_with(cpus) {
            let value = read(&path).unwrap_or_default().trim().to_owned();
            self.note(Undo::Write { path, value })?;
        }
        cpus.iter().try_for_each(|cpu| self.write(&host.online_file(cpu), "0", "1"))
    }

    /// Makes each session a group of tasks, or not.
    ///
    /// # Errors
    /// If there is no such sysctl, or the kernel refuses it.
    pub fn set_autogroup(&mut self, host: &Host, enabled: bool) -> Result<(), RestoreError> {
        let path = host.autogroup_file();
        let was = std::fs::read_to_string(&path).map_err(|e| RestoreError::file("read", &path, e))?;
        self.write(&path, if enabled { "1" } else { "0" }, was.trim())
    }

    /// Writes a value to a knob of debugfs.
    ///
    /// # Errors
    /// If there is no such knob, or the kernel refuses the value.
    pub fn set_debugfs(&mut self, host: &Host, file: &str, value: &str) -> Result<(), RestoreError> {
        let path = host.debugfs_file(file);
        let text = std::fs::read_to_string(&path).map_err(|e| RestoreError::file("read", &path, e))?;
        let undo = debugfs_undo(file, &text, value)
            .ok_or_else(|| RestoreError::file("write", &path, io::Error::other(format!("it does not know {value}"))))?;
        self.write(&path, value, &undo)
    }

    /// Takes all back and removes the record.
    ///
    /// # Errors
    /// If something cannot be taken back: the record stays.
    pub fn undo(mut self) -> Result<(), RestoreError> {
        self.open = false;
        let (_, left) = take_back(&self.undos);
        match left.is_empty() {
            true => self.keeper.remove(),
            false => Err(RestoreError::Left(left.join("; "))),
        }
    }
}

impl Drop for Changes<'_> {
    fn drop(&mut self) {
        if self.open && take_back(&self.undos).1.is_empty() {
            let _ = self.keeper.remove();
        }
    }
}

/// Takes changes back, the last first: what was done, and what could not be.
fn take_back(undos: &[Undo]) -> (Vec<String>, Vec<String>) {
    let (mut done, mut left) = (Vec::new(), Vec::new());
    for undo in undos.iter().rev() {
        match undo.carry_out() {
            Ok(Some(what)) => done.push(what),
            Ok(None) => {}
            Err(error) => left.push(format!("{}: {error}", undo.words())),
        }
    }
    (done, left)
}

impl Undo {
    fn words(&self) -> String {
        match self {
            Undo::Write { path, value } => format!("{} is {value} again", path.display()),
            Undo::RemoveGroup { path } => format!("{} is removed", path.display()),
            Undo::Affinity { tid, cpus, .. } => format!("thread {tid} may use CPUs {cpus} again"),
        }
    }

    /// Says what was done; `None` if there was nothing to do.
    fn carry_out(&self) -> io::Result<Option<String>> {
        let is_done = match self {
            Undo::Write { path, value } => {
                write_to(path, value)?;
                true
            }
            Undo::RemoveGroup { path } => remove_group(path)?,
            Undo::Affinity { tid, began, cpus } => give_cpus_back(*tid, *began, cpus)?,
        };
        Ok(is_done.then(|| self.words()))
    }
}

/// Writes to a file that exists, in one call. Nothing is recorded: this is for values that another, recorded change takes back.
///
/// # Errors
/// If there is no such file, or the kernel refuses the value.
pub fn write_to(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(value.as_bytes())
}

/// Kills what is in a cgroup of ours and removes it; whether it was there.
fn remove_group(path: &Path) -> io::Result<bool> {
    let begin = Instant::now();
    loop {
        match std::fs::remove_dir(path) {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) if begin.elapsed() > PATIENCE => return Err(error),
            Err(_) => {}
        }
        let members = read(&path.join("cgroup.procs")).unwrap_or_default();
        for pid in members.lines().filter_map(|line| line.trim().parse::<i32>().ok()).filter(|pid| *pid > 0) {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Threads of programs, our own included, that may use some of `cpus` but not all that are online: their kernel forgets
/// what a thread asked for when no CPU of it is left.
fn threads_bound_to(host: &Host, cpus: &CpuMask) -> Vec<Undo> {
    let online = read(&host.path("sys/devices/system/cpu/online")).unwrap_or_default();
    let online = CpuMask::parse_list(online.trim()).unwrap_or(CpuMask::EMPTY);
    let numbers = |path: PathBuf| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()).collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    for pid in numbers(host.path("proc")) {
        for tid in numbers(host.path(&format!("proc/{pid}/task"))) {
            let dir = format!("proc/{pid}/task/{tid}");
            let Some(Thread { began, is_kernel: false }) = Thread::read(&host.path(&format!("{dir}/stat"))) else {
                continue;
            };
            let status = read(&host.path(&format!("{dir}/status"))).unwrap_or_default();
            let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
            let Ok(allowed) = CpuMask::parse_list(list.trim()) else { continue };
            if allowed.intersects(cpus) && !online.is_subset(&allowed) {
                found.push(Undo::Affinity { tid, began, cpus: allowed.to_string() });
            }
        }
    }
    found
}

/// What `/proc/PID/stat` says of a thread.
struct Thread {
    began: u64,
    is_kernel: bool,
}

/// PF_KTHREAD
const KERNEL_THREAD: u64 = 0x0020_0000;

impl Thread {
    fn read(path: &Path) -> Option<Thread> {
        let text = read(path)?;
        // ID (COMM) STATE ..., of which flags are field 9 and the start time is field 22.
        let mut fields = text.rsplit_once(") ")?.1.split(' ').skip(9 - 3);
        let flags: u64 = fields.next()?.parse().ok()?;
        let began = fields.nth(22 - 9 - 1)?.trim().parse().ok()?;
        Some(Thread { began, is_kernel: flags & KERNEL_THREAD != 0 })
    }
}

/// When a thread of this machine began: clock ticks since boot (`/proc/TID/stat`, field 22). None: there is no such thread.
pub fn thread_began(tid: u32) -> Option<u64> {
    Thread::read(Path::new(&format!("/proc/{tid}/stat"))).map(|thread| thread.began)
}

/// Whether the thread is still there and was given the CPUs.
fn give_cpus_back(tid: i32, began: u64, cpus: &str) -> io::Result<bool> {
    if u32::try_from(tid).ok().and_then(thread_began) != Some(began) {
        return Ok(false);
    }
    let mask = CpuMask::parse_list(cpus).map_err(io::Error::other)?;
    // SAFETY: all zeros are an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for cpu in mask.iter().filter(|cpu| *cpu < libc::CPU_SETSIZE as CpuId) {
        // SAFETY: the CPU is within the set.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: the set has the size that is stated.
    match unsafe { libc::sched_setaffinity(tid, std::mem::size_of_val(&set), &set) } {
        0 => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ESRCH) => Ok(false),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_begins_once() {
        let own = thread_began(std::process::id());
        assert!(own > Some(0) && own == thread_began(std::process::id()));
        assert!(thread_began(1) <= own && thread_began(0).is_none());
    }

    /// A machine with one CPU that can go offline, a knob and a cpuset.
    fn machine() -> (tempfile::TempDir, Host) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("proc/sys/kernel/random/boot_id", "one\n"),
            ("proc/self/mounts", "c /cg cgroup rw,cpuset 0 0\n"),
            ("proc/sys/kernel/sched_autogroup_enabled", "1\n"),
            ("sys/devices/system/cpu/online", "0-1\n"),
            ("sys/devices/system/cpu/cpu1/online", "1\n"),
            ("sys/kernel/debug/sched/features", "A NO_B\n"),
            ("sys/kernel/debug/sched/base_slice_ns", "2800000\n"),
            ("cg/box/cpuset.cpus", "0-1\n"),
        ] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let host = Host::new(dir.path(), true);
        (dir, host)
    }

    fn text(dir: &tempfile::TempDir, path: &str) -> String {
        std::fs::read_to_string(dir.path().join(path)).unwrap().trim().to_owned()
    }

    const ONLINE: &str = "sys/devices/system/cpu/cpu1/online";
    const SLICE: &str = "sys/kernel/debug/sched/base_slice_ns";

    fn change(changes: &mut Changes, host: &Host, dir: &tempfile::TempDir) {
        changes.take_offline(host, &CpuMask::single(1)).unwrap();
        changes.set_autogroup(host, false).unwrap();
        changes.set_debugfs(host, "base_slice_ns", "10000000").unwrap();
        let parent = dir.path().join("cg");
        let hierarchy = Hierarchy { parent: parent.clone(), version: CgroupVersion::V1, to_enable: false };
        changes.make_group(&hierarchy, &GroupFile { dir: parent.join("ours"), files: vec![] }).unwrap();
    }

    #[test]
    fn all_is_taken_back_at_the_end() {
        let (dir, host) = machine();
        let keeper = Keeper::hold(&dir.path().join("state"), &host).unwrap();
        let mut changes = keeper.begin().unwrap();
        change(&mut changes, &host, &dir);
        assert_eq!((text(&dir, ONLINE).as_str(), text(&dir, SLICE).as_str()), ("0", "10000000"));
        assert_eq!(text(&dir, "proc/sys/kernel/sched_autogroup_enabled"), "0");
        assert!(keeper.has_left() && dir.path().join("cg/ours").exists());
        changes.undo().unwrap();
        assert_eq!((text(&dir, ONLINE).as_str(), text(&dir, SLICE).as_str()), ("1", "2800000"));
        assert_eq!(text(&dir, "proc/sys/kernel/sched_autogroup_enabled"), "1");
        assert!(!keeper.has_left() && !dir.path().join("cg/ours").exists());
    }

    /// What a kill leaves: the kernel has taken the CPU out of the cpuset meanwhile, and the last line is cut off.
    #[test]
    fn what_a_killed_command_left_is_restored_by_the_next() {
        let (dir, host) = machine();
        let keeper = Keeper::hold(&dir.path().join("state"), &host).unwrap();
        let mut changes = keeper.begin().unwrap();
        change(&mut changes, &host, &dir);
        std::mem::forget(changes);
        std::fs::write(dir.path().join("cg/box/cpuset.cpus"), "0\n").unwrap();
        let mut record = OpenOptions::new().append(true).open(keeper.record()).unwrap();
        record.write_all(b"{\"write\":{\"path\":\"/et").unwrap();
        let done = keeper.restore().unwrap();
        assert!(done[0].ends_with("ours is removed"), "the last change first: {done:?}");
        assert_eq!((text(&dir, ONLINE).as_str(), text(&dir, SLICE).as_str()), ("1", "2800000"));
        assert_eq!(text(&dir, "cg/box/cpuset.cpus"), "0-1");
        assert!(!keeper.has_left());
        assert!(keeper.restore().unwrap().is_empty());
    }

    #[test]
    fn a_file_that_is_written_often_gets_back_what_it_had_first() {
        let (dir, host) = machine();
        let keeper = Keeper::hold(&dir.path().join("state"), &host).unwrap();
        let mut changes = keeper.begin().unwrap();
        for value in ["1", "2", "3"] {
            changes.set(&dir.path().join(SLICE), value).unwrap();
        }
        assert_eq!(text(&dir, SLICE), "3");
        let lines = std::fs::read_to_string(keeper.record()).unwrap().lines().count();
        assert_eq!(lines, 2, "a head, and one change");
        changes.undo().unwrap();
        assert_eq!(text(&dir, SLICE), "2800000");
    }

    /// The kernel lets nobody write `/proc/version`.
    #[test]
    fn a_refused_write_is_an_error_that_names_the_file() {
        let (dir, host) = machine();
        let keeper = Keeper::hold(&dir.path().join("state"), &host).unwrap();
        let mut changes = keeper.begin().unwrap();
        let refused = dir.path().join("refused");
        std::os::unix::fs::symlink("/proc/version", &refused).unwrap();
        let error = changes.set(&refused, "1").unwrap_err().to_string();
        assert!(error.contains("cannot write") && error.contains("refused"), "{error}");
        let error = changes.set(&dir.path().join("missing"), "1").unwrap_err().to_string();
        assert!(error.contains("cannot read") && error.contains("missing"), "{error}");
    }

    #[test]
    fn changes_that_are_dropped_are_taken_back() {
        let (dir, host) = machine();
        let keeper = Keeper::hold(&dir.path().join("state"), &host).unwrap();
        change(&mut keeper.begin().unwrap(), &host, &dir);
        assert_eq!(text(&dir, ONLINE), "1");
        assert!(!keeper.has_left());
    }

    #[test]
    fn a_record_of_an_earlier_start_of_the_machine_is_only_removed() {
        let (dir, host) = machine();
        let keeper = Keeper::hold(&dir.path().join("state"), &host).unwrap();
        let mut changes = keeper.begin().unwrap();
        changes.set_debugfs(&host, "base_slice_ns", "1").unwrap();
        std::mem::forget(changes);
        drop(keeper);
        std::fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "two\n").unwrap();
        let keeper = Keeper::hold(&dir.path().join("state"), &host).unwrap();
        assert!(keeper.restore().unwrap().is_empty());
        assert_eq!(text(&dir, SLICE), "1", "a restart has set it anew; here nobody did");
        assert!(!keeper.has_left());
    }

    #[test]
    fn what_cannot_be_taken_back_is_named_and_the_record_stays() {
        let (dir, host) = machine();
        let keeper = Keeper::hold(&dir.path().join("state"), &host).unwrap();
        let mut changes = keeper.begin().unwrap();
        change(&mut changes, &host, &dir);
        std::mem::forget(changes);
        std::fs::remove_file(dir.path().join(SLICE)).unwrap();
        let error = keeper.restore().unwrap_err().to_string();
        assert!(error.contains("base_slice_ns is 2800000 again"), "{error}");
        assert!(keeper.has_left());
        assert_eq!(text(&dir, ONLINE), "1", "all else is restored");
        assert!(keeper.begin().is_err(), "nothing is changed while a record is there");
    }

    #[test]
    fn garbage_is_refused_with_its_line() {
        let (dir, host) = machine();
        let keeper = Keeper::hold(&dir.path().join("state"), &host).unwrap();
        for (text, place) in [
            ("x\n", "line 1"),
            ("{\"schema\":\"y\",\"boot\":\"one\"}\n", "line 1: schema"),
            ("{\"schema\":\"fairground-restore-1\",\"boot\":\"one\"}\n{}\n", "line 2"),
        ] {
            std::fs::write(keeper.record(), text).unwrap();
            let error = keeper.restore().unwrap_err().to_string();
            assert!(error.contains(place), "{error}");
        }
    }

    #[test]
    fn one_command_changes_the_machine_at_a_time() {
        let (dir, host) = machine();
        let held = Keeper::hold(&dir.path().join("state"), &host).unwrap();
        assert!(matches!(Keeper::hold(&dir.path().join("state"), &host), Err(RestoreError::Busy(_))));
        drop(held);
        assert!(Keeper::hold(&dir.path().join("state"), &host).is_ok());
    }

    #[test]
    fn a_thread_is_known_by_its_number_and_its_birth() {
        let own = Thread::read(Path::new("/proc/self/stat")).unwrap();
        assert!(own.began > 0 && !own.is_kernel);
        let tid = std::process::id() as i32;
        assert!(!give_cpus_back(tid, own.began + 1, "0").unwrap());
    }
}

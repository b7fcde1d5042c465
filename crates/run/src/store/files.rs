//! The directory of a store: its files are opened by name in it, and no link is followed.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

/// The database. SQLite adds `-wal` and `-shm`.
pub const DATABASE: &str = "results.sqlite";
/// What SQLite adds to a database's name.
pub const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// Held by every process that uses the store; see [`Guard`].
const LOCK: &str = "lock";

/// Why a directory is refused.
pub enum Refusal {
    /// The error of the system.
    System(io::Error),
    /// What is wrong, and what to do.
    Words(String),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal::System(error)
    }
}

/// The directory, made if it is not there, by a path without links.
pub fn directory(dir: &Path, make: bool) -> Result<PathBuf, Refusal> {
    if make && fs::symlink_metadata(dir).is_err() {
        fs::create_dir_all(dir)?;
    }
    let meta = fs::symlink_metadata(dir)?;
    if meta.is_symlink() {
        return Err(Refusal::Words("it is a symbolic link: name the directory that it leads to".into()));
    }
    if !meta.is_dir() {
        return Err(Refusal::System(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    Ok(fs::canonicalize(dir)?)
}

/// Checks that each file of a store is a regular file with a single link.
pub fn check(dir: &Path) -> Result<(), Refusal> {
    let beside = BESIDE.iter().map(|end| format!("{DATABASE}{end}"));
    for name in beside.chain([DATABASE.to_owned(), LOCK.to_owned()]) {
        let Ok(meta) = fs::symlink_metadata(dir.join(&name)) else { continue };
        let what = match () {
            () if meta.is_symlink() => "is a symbolic link",
            () if !meta.is_file() => "is not a regular file",
            () if meta.nlink() > 1 => "has another name elsewhere (a hard link)",
            () => continue,
        };
        let todo = "a store's files are its own: remove it, copy what it leads to, or name another directory";
        return Err(Refusal::Words(format!("{name} {what}; {todo}")));
    }
    Ok(())
}

/// Files of a store of an earlier version in a directory, if there are any.
pub fn earlier_layout(dir: &Path) -> Option<&'static str> {
    if dir.join("index.sqlite").exists() || dir.join("parts").is_dir() {
        return Some("index.sqlite and parts/");
    }
    let hex = |name: &str| name.len() == 32 && name.bytes().all(|b| b.is_ascii_hexdigit());
    let mut entries = fs::read_dir(dir).ok()?.flatten();
    entries.any(|e| hex(&e.file_name().to_string_lossy()) && e.path().is_dir()).then_some("a file for each run")
}

/// The lock: held shared by each process that uses the store, exclusively by one that puts a damaged database aside.
///
/// Its one line holds the number of results after the last commit of any process, and whether any process met a damaged
/// page. So the loss of results with a damaged write-ahead log is noticed.
pub struct Guard(Flock<File>);

/// What the lock file records of the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// Number of results after the last commit.
    pub results: u64,
    /// Whether a process met a damaged page.
    pub damaged: bool,
}

impl Guard {
    /// Waits while another process puts a database aside, which takes a moment.
    pub fn shared(dir: &Path) -> io::Result<Guard> {
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW);
        Flock::lock(options.open(dir.join(LOCK))?, FlockArg::LockShared).map(Guard).map_err(|(_, e)| e.into())
    }

    /// Whether no other process uses the store; if so, no other can until [`Self::share`].
    pub fn is_alone(&self) -> io::Result<bool> {
        match self.0.relock(FlockArg::LockExclusiveNonblock) {
            Ok(()) => Ok(true),
            Err(nix::errno::Errno::EWOULDBLOCK) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Lets other processes use the store again.
    pub fn share(&self) -> io::Result<()> {
        Ok(self.0.relock(FlockArg::LockShared)?)
    }

    /// The line that the last process wrote; the default in a new store. A line that cannot be read counts as damaged.
    pub fn noted(&self) -> Noted {
        let mut text = String::new();
        let mut file: &File = &self.0;
        let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(64).read_to_string(&mut text));
        match (read, text.trim_end().split_once(' ')) {
            (Ok(0), _) => Noted::default(),
            (Ok(_), Some((results, flag))) if matches!(flag, "whole" | "damaged") => match results.parse() {
                Ok(results) => Noted { results, damaged: flag == "damaged" },
                Err(_) => Noted { results: 0, damaged: true },
            },
            _ => Noted { results: 0, damaged: true },
        }
    }

    /// Writes the line. Errors are ignored: no result depends on it.
    pub fn note(&self, noted: Noted) {
        let line = format!("{:020} {}\n", noted.results, if noted.damaged { "damaged" } else { "whole" });
        let mut file: &File = &self.0;
        let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(line.as_bytes()));
        let _ = file.set_len(line.len() as u64);
    }
}

/// Renames a damaged database and the files that SQLite has beside it. Returns the new path.
pub fn put_aside(dir: &Path) -> io::Result<PathBuf> {
    let name =
        |n: u32| dir.join(if n == 1 { format!("{DATABASE}.damaged") } else { format!("{DATABASE}.damaged.{n}") });
    let aside = (1..).map(name).find(|path| fs::symlink_metadata(path).is_err()).unwrap_or_else(|| name(0));
    for end in [""].iter().chain(&BESIDE) {
        let beside = |path: &Path| PathBuf::from(format!("{}{end}", path.display()));
        let from = beside(&dir.join(DATABASE));
        if fs::symlink_metadata(&from).is_ok() {
            fs::rename(from, beside(&aside))?;
        }
    }
    Ok(aside)
}

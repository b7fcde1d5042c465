//! Where results go: standard output or a file, whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Thread;
#[cfg(feature = "live")]
use std::time::Duration;

use fairground_host::stop::{on_end_signals, INTERRUPT};
use fairground_lab::tables::{printable, COLUMNS};
use fairground_run::experiment::Stop;
use fairground_trace::IgnoreBrokenPipe;
use miette::Diagnostic;
use tempfile::NamedTempFile;
use terminal_size::{terminal_size_of, Width};
use thiserror::Error;

use crate::error::{run_failed, Failure};

/// Temporary files and directories that an end by signal must remove.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What names of temporary files and directories begin with.
pub const TEMPORARY: &str = ".fairground-";

/// A file that cannot be written.
#[derive(Debug, Error, Diagnostic)]
#[error("cannot write {path}: {cause}")]
struct CannotWrite {
    path: String,
    cause: String,
}

impl CannotWrite {
    fn new(path: &Path, error: &io::Error) -> CannotWrite {
        let cause = match error.kind() {
            io::ErrorKind::NotFound => format!("there is no directory {}", directory(path).display()),
            // Not the whole error: that names a temporary file the user never asked for.
            kind => kind.to_string(),
        };
        CannotWrite { path: path.display().to_string(), cause }
    }
}

/// A file that the command reads, and that its output would replace.
#[derive(Debug, Error, Diagnostic)]
#[error("cannot write {path}: this command reads it")]
#[diagnostic(help("name another file for what is written"))]
struct ReplacesInput {
    path: String,
}

/// Whether both paths name the same regular file.
fn is_same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b && a.is_file())
}

/// The directory of a file.
fn directory(path: &Path) -> &Path {
    path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The flag by which the command stops by itself, if it does.
static STOP: Mutex<Option<Stop>> = Mutex::new(None);

/// The thread that sleeps until a signal has set that flag.
static SLEEPER: Mutex<Option<Thread>> = Mutex::new(None);

/// The signal that ended the command; 0: none.
static ENDED_BY: AtomicU8 = AtomicU8::new(0);

/// Ctrl-C, SIGTERM and SIGHUP leave neither half a result nor a temporary file.
///
/// Temporary files are removed by name. Files without a name (O_TMPFILE) would also be gone after SIGKILL, but not every
/// file system has them, linkat() cannot replace a file, and directories of logs need this way anyhow.
pub fn remove_unfinished_on_signals() {
    let end = |signal| {
        let status = 128u8.saturating_add(u8::try_from(signal).unwrap_or(0));
        if let Some(stop) = STOP.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            if !stop.swap(true, Ordering::Relaxed) {
                ENDED_BY.store(status, Ordering::Relaxed);
                if let Some(sleeper) = SLEEPER.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
                    sleeper.unpark();
                }
                return;
            }
            // The second Ctrl-C ends the process at once. Not so the others: timeout(1) sends SIGTERM twice, and a
            // terminal that closes SIGHUP.
            if signal != INTERRUPT {
                return;
            }
        }
        // Locked until the end, so that create_temporary() makes nothing after the last removal.
        let files = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        for path in files.iter().rev() {
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
        std::process::exit(status.into());
    };
    // Without threads, the command ends by signals as any program does.
    let _ = on_end_signals(end);
}

/// A flag that a signal sets instead of ending the process. The command then stops soon and says what it has stored.
/// All phases of a command have the same flag, so that a signal between two of them stops the second.
pub fn stop_on_signals() -> Stop {
    Stop::clone(STOP.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// Sleeps until a signal has set the flag of [`stop_on_signals`], somebody unparks this thread, or `at_most` has passed. It may return
/// earlier.
#[cfg(feature = "live")]
pub fn sleep_until_signal(at_most: Duration) {
    *SLEEPER.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current());
    if !stop_on_signals().load(Ordering::Relaxed) {
        std::thread::park_timeout(at_most);
    }
}

/// Exit status of a command that a signal has stopped, as shells report an end by that signal.
pub fn status_of_signal() -> u8 {
    match ENDED_BY.load(Ordering::Relaxed) {
        0 => 130,
        status => status,
    }
}

/// Creates a temporary file or directory and records it for removal by a signal, which waits until both are done.
pub fn create_temporary<T: AsRef<Path>>(create: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut paths = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    let created = create()?;
    paths.push(created.as_ref().to_owned());
    Ok(created)
}

/// Prints a result. A reader that has gone away (`| head`) is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(printable(text).as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(run_failed(format!("cannot write the result: {e}"))),
        _ => Ok(()),
    }
}

/// Columns for a result: those of the terminal that standard output is, if the result goes there.
pub fn columns(output: Option<&OutputFile>) -> usize {
    let terminal = if output.is_none() { terminal_size_of(io::stdout()) } else { None };
    terminal.map_or(COLUMNS, |(Width(columns), _)| usize::from(columns))
}

/// Prints text that belongs to an output at `path`: to standard error if that output is standard output.
pub fn print_beside(path: &Path, text: &str) -> Result<(), Failure> {
    if is_standard_output(path) {
        complain(text);
        return Ok(());
    }
    print(text)
}

/// Whether a path means standard output. If that is redirected to a file, the shell has opened that file.
fn is_standard_output(path: &Path) -> bool {
    [Path::new("-"), Path::new("/dev/stdout")].contains(&path)
}

/// Prints a message to standard error. A closed standard error is not an error.
pub fn complain(text: &str) {
    complain_drawn(&printable(text));
}

/// Set by `--quiet`.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on there are no notes.
pub fn leave_out_notes() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Prints a note to standard error, unless the user wants none.
pub fn note(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        complain(&format!("note: {text}"));
    }
}

/// Like [`complain`], of text that is printable already and may have escape sequences of ours for colours.
pub fn complain_drawn(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end());
}

/// A file that appears whole, under its name, or not at all. A path that exists and is not a regular file (a pipe,
/// `/dev/null`) is written directly, and so is standard output (`-`).
pub struct OutputFile {
    path: PathBuf,
    target: Target,
}

enum Target {
    Renamed(BufWriter<NamedTempFile>),
    Direct(BufWriter<IgnoreBrokenPipe<File>>),
}

impl OutputFile {
    /// Opened before the work begins, so that a bad path is known at once.
    pub fn create(path: &Path) -> Result<OutputFile, Failure> {
        let fail = |e: io::Error| CannotWrite::new(path, &e);
        let special = std::fs::metadata(path).is_ok_and(|m| !m.is_file());
        let target = if is_standard_output(path) {
            let file = io::stdout().as_fd().try_clone_to_owned().map_err(fail)?;
            Target::Direct(BufWriter::new(IgnoreBrokenPipe(file.into())))
        } else if special {
            let file = File::options().write(true).open(path).map_err(fail)?;
            Target::Direct(BufWriter::new(IgnoreBrokenPipe(file)))
        } else {
            let file = create_temporary(|| temporary(directory(path))).map_err(fail)?;
            Target::Renamed(BufWriter::new(file))
        };
        Ok(OutputFile { path: path.to_owned(), target })
    }

    /// Like [`Self::create`], for a command that reads `inputs`. Refuses to replace one of them.
    pub fn beside(path: &Path, inputs: &[Option<&Path>]) -> Result<OutputFile, Failure> {
        match inputs.iter().flatten().any(|input| is_same_file(path, input)) {
            true => Err(ReplacesInput { path: path.display().to_string() }.into()),
            false => OutputFile::create(path),
        }
    }

    /// A second handle of the open file, for another writer. Nothing may have been written through `self` yet.
    pub fn descriptor(&self) -> Result<File, Failure> {
        let file = match &self.target {
            Target::Renamed(file) => file.get_ref().as_file(),
            Target::Direct(file) => &file.get_ref().0,
        };
        file.try_clone().map_err(|e| CannotWrite::new(&self.path, &e).into())
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file without a name on the same file system, for intermediate data.
    pub fn scratch(&self) -> Result<File, Failure> {
        let file = match &self.target {
            Target::Renamed(_) => tempfile::tempfile_in(directory(&self.path)),
            Target::Direct(_) => tempfile::tempfile(),
        };
        file.map_err(|e| CannotWrite::new(&self.path, &e).into())
    }

    /// Gives the file its name.
    pub fn finish(self) -> Result<(), Failure> {
        let done = match self.target {
            Target::Direct(mut file) => file.flush(),
            Target::Renamed(file) => rename(file, &self.path),
        };
        done.map_err(|e| run_failed(format!("cannot write {}: {e}", self.path.display())))
    }
}

fn rename(file: BufWriter<NamedTempFile>, path: &Path) -> io::Result<()> {
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|e| e.error)
}

/// A temporary file with the permissions of any new file: 0666 less the umask.
fn temporary(dir: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(dir)
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Renamed(file) => file.write(bytes),
            Target::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Renamed(file) => file.flush(),
            Target::Direct(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_of_a_command_have_one_flag() {
        let first = stop_on_signals();
        assert!(std::sync::Arc::ptr_eq(&first, &stop_on_signals()), "what a signal set stays set");
    }
}

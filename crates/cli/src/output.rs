//! Where results go: standard output or a file, whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::Mutex;

use fairground_lab::tables::printable;
use fairground_run::experiment::Stop;
use fairground_trace::IgnoreBrokenPipe;
use miette::Diagnostic;
use tempfile::NamedTempFile;
use thiserror::Error;

use crate::error::{run_failed, Failure};

/// Temporary files and directories that an interrupt must remove.
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

/// Whether both are the same file, by whatever name.
fn is_same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b && a.is_file())
}

/// Where a file is to be.
fn directory(path: &Path) -> &Path {
    path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Set by the first Ctrl-C where a command ends by itself then; the second ends the process.
static STOP: Mutex<Option<Stop>> = Mutex::new(None);

/// Ctrl-C leaves neither half a result nor a temporary file.
pub fn remove_unfinished_on_interrupt() {
    let clean_up = || {
        if let Some(stop) = STOP.lock().ok().and_then(|mut stop| stop.take()) {
            stop.store(true, Ordering::Relaxed);
            return;
        }
        if let Ok(files) = UNFINISHED.lock() {
            for path in files.iter().rev() {
                let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
            }
        }
        // As a shell reports death by SIGINT.
        std::process::exit(130);
    };
    // Fails only if a handler is there already.
    let _ = ctrlc::set_handler(clean_up);
}

/// What becomes true when the user interrupts: the command then ends soon, and says what is kept.
pub fn stop_on_interrupt() -> Stop {
    let stop = Stop::default();
    if let Ok(mut asked) = STOP.lock() {
        *asked = Some(Stop::clone(&stop));
    }
    stop
}

/// What is there is not to stay if the user interrupts.
pub fn remove_on_interrupt(path: &Path) {
    if let Ok(mut paths) = UNFINISHED.lock() {
        paths.push(path.to_owned());
    }
}

/// Prints a result. A reader that has gone away (`| head`) is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(printable(text).as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(run_failed(format!("cannot write the result: {e}"))),
        _ => Ok(()),
    }
}

/// Prints what is said beside an output at `path`: to standard error if that is standard output.
pub fn print_beside(path: &Path, text: &str) -> Result<(), Failure> {
    if is_standard_output(path) {
        complain(text);
        return Ok(());
    }
    print(text)
}

/// Also where it goes to a file, which is then somebody else's to replace.
fn is_standard_output(path: &Path) -> bool {
    [Path::new("-"), Path::new("/dev/stdout")].contains(&path)
}

/// Tells the user something beside the result. Nobody listening is no error.
pub fn complain(text: &str) {
    complain_drawn(&printable(text));
}

/// The same of text that is printable and may have colours of ours.
pub fn complain_drawn(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end());
}

/// A file that appears whole, under its name, or not at all. What exists and is no regular file (a pipe, `/dev/null`)
/// is written directly, and so is standard output, which `-` means.
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
            let file = temporary(directory(path)).map_err(fail)?;
            remove_on_interrupt(file.path());
            Target::Renamed(BufWriter::new(file))
        };
        Ok(OutputFile { path: path.to_owned(), target })
    }

    /// The same, of a command that reads `inputs`: none of them is replaced.
    pub fn beside(path: &Path, inputs: &[Option<&Path>]) -> Result<OutputFile, Failure> {
        match inputs.iter().flatten().any(|input| is_same_file(path, input)) {
            true => Err(ReplacesInput { path: path.display().to_string() }.into()),
            false => OutputFile::create(path),
        }
    }

    /// The same open file, for somebody else to write into. Nothing may have been written through this.
    pub fn descriptor(&self) -> Result<File, Failure> {
        let file = match &self.target {
            Target::Renamed(file) => file.get_ref().as_file(),
            Target::Direct(file) => &file.get_ref().0,
        };
        file.try_clone().map_err(|e| CannotWrite::new(&self.path, &e).into())
    }

    /// Where it is to be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file without a name on the same file system, for what the result is made of.
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

/// Readable by others as far as the umask allows, as any file a command writes.
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

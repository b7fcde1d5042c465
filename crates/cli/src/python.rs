//! The Python package makes designs, reports and runs on Dask. Here is which interpreter does, and what it runs first.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use fairground_run::farm::Farm;
use fairground_run::key::CODE;
use miette::Diagnostic;
use thiserror::Error;

use crate::provenance::made_by;

/// What the interpreter runs first. It reports a missing package, or one that was built from other sources.
const START: &str = include_str!("python/start.py");

/// The interpreter cannot be started.
#[derive(Debug, Error, Diagnostic)]
#[error("cannot start {python}: {cause}")]
#[diagnostic(help("sweeps take Python 3.10 or later; $FAIRGROUND_PYTHON names the interpreter"))]
pub struct NoPython {
    pub python: String,
    pub cause: std::io::Error,
}

/// The interpreter: what $FAIRGROUND_PYTHON names, that of the virtual environment that this command is installed in, or
/// python3.
fn interpreter() -> OsString {
    let of_environment = || {
        let directory = std::env::current_exe().ok()?.parent()?.to_owned();
        let python = directory.join("python3");
        let is_environment = directory.with_file_name("pyvenv.cfg").is_file() && python.is_file();
        is_environment.then(|| python.into_os_string())
    };
    let named = std::env::var_os("FAIRGROUND_PYTHON").filter(|name| !name.is_empty());
    named.or_else(of_environment).unwrap_or_else(|| "python3".into())
}

/// Replaces this process by the package's `fairground sweep` with these arguments. Returns only if that fails.
pub fn sweep(words: Vec<OsString>) -> NoPython {
    let python = interpreter();
    let mut command = Command::new(&python);
    command.env("FAIRGROUND_STUDY_CODE", CODE).arg("-c").arg(START).args(words);
    made_by().command.inspect(|text| _ = command.env("FAIRGROUND_STUDY_COMMAND", text));
    let cause = command.exec();
    NoPython { python: python.to_string_lossy().into_owned(), cause }
}

/// A farm: the workers of the Dask scheduler at this address.
pub fn farm(address: &str) -> Farm {
    let words = ["-c", START, "--columns", address].map(OsString::from);
    Farm { command: std::iter::once(interpreter()).chain(words).collect() }
}

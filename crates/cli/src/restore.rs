//! What commands change on this machine and restore: where the record of it is.

use std::path::{Path, PathBuf};

use fairground_host::{Host, Keeper};
use miette::Diagnostic;
use thiserror::Error;

use crate::error::{End, Failure};
use crate::output::{complain, print};

/// No place for the record of what has to be restored.
#[derive(Debug, Error, Diagnostic)]
#[error("there is no place for the record of what has to be restored")]
#[diagnostic(help("set HOME, XDG_STATE_HOME or FAIRGROUND_STATE to an absolute path"))]
pub struct NoState;

/// Where the record of what has to be restored is: `$FAIRGROUND_STATE`, else `fairground` in `$XDG_STATE_HOME`, else
/// `~/.local/state/fairground`. It is no folder of results: the next command may have another one.
fn state_dir() -> Result<PathBuf, NoState> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let by_default = || Some(absolute("HOME")?.join(".local/state"));
    let within = || absolute("XDG_STATE_HOME").or_else(by_default).map(|dir| dir.join("fairground"));
    absolute("FAIRGROUND_STATE").or_else(within).ok_or(NoState)
}

/// Holds the place of the record.
pub fn hold() -> Result<Keeper, Failure> {
    Ok(Keeper::hold(&state_dir()?, &Host::new(Path::new("/"), true))?)
}

/// Restores what a killed command has left, with words on standard error.
pub fn restore_left(keeper: &Keeper) -> Result<(), Failure> {
    if keeper.has_left() {
        complain("a command that was killed has left changes on this machine; restored:");
        keeper.restore()?.iter().for_each(|what| complain(what));
    }
    Ok(())
}

/// Restores what a command that was killed has left, and does nothing else.
pub fn restore() -> Result<End, Failure> {
    let keeper = hold()?;
    let was_left = keeper.has_left();
    let done = keeper.restore()?;
    let text = match (was_left, done.is_empty()) {
        (false, _) => "nothing to restore\n".into(),
        (true, true) => "nothing was changed any more\n".into(),
        (true, false) => done.join("\n") + "\n",
    };
    print(&text)?;
    Ok(End::Done)
}

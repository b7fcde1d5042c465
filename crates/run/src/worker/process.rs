//! The process of a worker: this program again, with descriptors that it inherits.
//!
//! `std::process::Command` forks where a child is to inherit descriptors, and a fork calls the handlers that libraries of
//! this process have set (`pthread_atfork`). Those of a user's Python process are not ours: OpenBLAS's join its threads, and
//! wait for ever if two threads fork at a time. `posix_spawn` calls none.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::spawn::{posix_spawn, PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags};
use nix::sys::signal::{kill, SigSet, Signal};
use nix::unistd::Pid;

/// A process that runs, or has ended and is known to have.
pub struct Process {
    pid: Pid,
    /// Set once it has been waited for: its number may belong to another process then.
    ended: Option<ExitStatus>,
}

/// What a process gets besides its program.
pub struct Setting<'a> {
    /// Arguments behind the program's name.
    pub arguments: &'a [String],
    /// Variables besides and in place of those of this process.
    pub environment: &'a [(String, String)],
    /// Standard input, output and error.
    pub stdio: [&'a OwnedFd; 3],
    /// Descriptors that it inherits under their numbers, all above 2.
    pub inherited: &'a [OwnedFd],
}

impl Process {
    /// Starts this program once more.
    ///
    /// # Errors
    /// If the system does not start it, or a text has a zero in it.
    pub fn start(setting: &Setting) -> io::Result<Process> {
        let program = c"/proc/self/exe";
        let mut arguments = vec![program.to_owned()];
        for argument in setting.arguments {
            arguments.push(CString::new(argument.as_str())?);
        }
        let environment = environment(setting.environment)?;
        let mut actions = PosixSpawnFileActions::init()?;
        for (from, to) in setting.stdio.iter().zip(0..) {
            actions.add_dup2(from.as_raw_fd(), to)?;
        }
        for fd in setting.inherited {
            // To itself: it survives exec.
            actions.add_dup2(fd.as_raw_fd(), fd.as_raw_fd())?;
        }
        // As std::process does: Rust ignores SIGPIPE, and a child is not to inherit that, nor blocked signals.
        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_flags(PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK)?;
        let mut sigpipe = SigSet::empty();
        sigpipe.add(Signal::SIGPIPE);
        attributes.set_sigdefault(&sigpipe)?;
        attributes.set_sigmask(&SigSet::empty())?;
        let pid = posix_spawn(program, &actions, &attributes, &arguments, &environment)?;
        Ok(Process { pid, ended: None })
    }

    /// Its number.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// If the system does not know it.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.wait_with(libc::WNOHANG)
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// As [`Process::try_wait`].
    pub fn wait(&mut self) -> io::Result<()> {
        self.wait_with(0).map(drop)
    }

    fn wait_with(&mut self, options: libc::c_int) -> io::Result<Option<ExitStatus>> {
        while self.ended.is_none() {
            let mut status = 0;
            // SAFETY: the status is ours.
            match Errno::result(unsafe { libc::waitpid(self.pid.as_raw(), &mut status, options) }) {
                Ok(0) => break,
                Ok(_) => self.ended = Some(ExitStatus::from_raw(status)),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.ended)
    }

    /// Sends it a signal, unless it is known to have ended.
    pub fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            let _ = kill(self.pid, signal);
        }
    }
}

/// The variables of this process with these in place of their own, as `NAME=VALUE`.
fn environment(changes: &[(String, String)]) -> io::Result<Vec<CString>> {
    let is_changed = |name: &OsString| changes.iter().any(|(changed, _)| name == changed.as_str());
    let kept = std::env::vars_os().filter(|(name, _)| !is_changed(name));
    let changed = changes.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let text = |(mut name, value): (OsString, OsString)| {
        name.push("=");
        name.push(value);
        Ok(CString::new(name.into_vec())?)
    };
    kept.chain(changed).map(text).collect()
}

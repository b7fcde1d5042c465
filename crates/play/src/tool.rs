//! A round by the tool that a built-in repeats, or that a file was written for, in the place of our own threads.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairground_machine::CpuMask;
use fairground_sim::{ops_per_sec, RunMetrics};
use fairground_workload::Original;
use thiserror::Error;

use crate::runner::{tie_to_caller, Lifeline};
use crate::{sys, Ended, Round};

/// How long the caller waits at most until it looks whether it is interrupted.
const LOOK_MS: libc::c_int = 100;
/// Bytes of what a tool prints that are read, and characters of it in a message.
const PRINTED_MAX: u64 = 1 << 16;
const SHOWN_MAX: usize = 200;

/// Why a tool gave no figure.
#[derive(Debug, Error)]
pub enum ToolError {
    /// It is not installed.
    #[error("there is no program `{program}`")]
    Missing {
        /// Name of the program, which no folder of PATH has.
        program: &'static str,
    },
    /// It cannot be run or awaited.
    #[error("{command}: {cause}")]
    System {
        /// The command line.
        command: String,
        /// What the system says.
        cause: io::Error,
    },
    /// It failed.
    #[error("{command} failed ({status}): {last}")]
    Failed {
        /// The command line.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The last line that it printed.
        last: String,
    },
    /// Its figure is not where it is expected.
    #[error("{command} printed no figure that is known; its last line: {last}")]
    NoFigure {
        /// The command line.
        command: String,
        /// The last line that it printed.
        last: String,
    },
}

/// The program and its arguments, as one would type them.
pub fn command_line(original: &Original) -> String {
    let words = std::iter::once(original.program).chain(original.arguments.iter().map(String::as_str));
    words.collect::<Vec<_>>().join(" ")
}

/// Runs the tool once on `cpus`. After `limit`, as `stop` becomes true, or if the caller dies, it and all processes of its
/// group are ended.
///
/// # Errors
/// If it cannot be run, fails, or does not print the figure that it should.
pub fn round(original: &Original, cpus: &CpuMask, limit: Duration, stop: &AtomicBool) -> Result<Round, ToolError> {
    let system = |cause| ToolError::System { command: command_line(original), cause };
    let file = sys::memory_file(c"printed").map_err(system)?;
    let before = sys::CpuTimes::read();
    let started = sys::now();
    let (child, _lifeline) = start(original, *cpus, &file).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => ToolError::Missing { program: original.program },
        _ => system(cause),
    })?;
    let Outcome { ended, status, usage } = watch(&child, limit, stop).map_err(system)?;
    let wall_ns = sys::now().saturating_sub(started);
    let printed = text(file).map_err(system)?;
    let last = || last_line(&printed);
    let figure = match original.figure {
        Some(figure) => figure.ns(&printed, original.ops),
        None => Some(wall_ns),
    };
    let window_ns = match (ended, figure) {
        (Ended::Complete, _) if !status.success() => {
            return Err(ToolError::Failed { command: command_line(original), status, last: last() })
        }
        (Ended::Complete, None) => return Err(ToolError::NoFigure { command: command_line(original), last: last() }),
        (_, ns) => ns.unwrap_or(0),
    };
    let us = |t: libc::timeval| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64;
    let cpu_ns = (us(usage.ru_utime) + us(usage.ru_stime)) * 1000;
    let [steal_pct, others_pct] = sys::CpuTimes::shares(before, cpu_ns);
    Ok(Round {
        seed: 0,
        ended,
        metrics: RunMetrics {
            end_ns: window_ns,
            window_ns,
            ops: original.ops,
            ops_per_sec: ops_per_sec(original.ops, window_ns),
            migrations_per_op: None,
            ..RunMetrics::default()
        },
        wall_ns,
        cpu_ns,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        migrations: None,
        threads: 0,
        lost_samples: 0,
        steal_pct,
        others_pct,
    })
}

/// Starts the tool in a process group of its own, and ties that to the end of a pipe that is returned. All that the tool
/// prints goes to `printed`.
fn start(original: &Original, cpus: CpuMask, printed: &File) -> io::Result<(Child, OwnedFd)> {
    let Lifeline { watched, held } = Lifeline::new()?;
    let in_tool = watched.as_raw_fd();
    let mut command = Command::new(original.program);
    command.args(&original.arguments).stdin(Stdio::null()).stdout(printed.try_clone()?).stderr(printed.try_clone()?);
    // The words that are looked for are those of no language.
    command.env("LC_ALL", "C").process_group(0);
    // SAFETY: only system calls, before the tool is executed.
    unsafe {
        command.pre_exec(move || {
            // Kept open over the execution: a pipe tells its group as long as somebody has this end. The other end, which this
            // process still has, is closed by the execution: if the caller is gone by then, that tells.
            sys::checked(libc::fcntl(in_tool, libc::F_SETFD, 0).into())?;
            tie_to_caller(in_tool, libc::getpid())?;
            sys::set_affinity(&cpus)
        })
    };
    Ok((command.spawn()?, held))
}

/// How a tool ended, and what it and its processes used.
struct Outcome {
    ended: Ended,
    status: ExitStatus,
    usage: libc::rusage,
}

/// Awaits the tool; the caller's wish and the end of its time end it.
fn watch(child: &Child, limit: Duration, stop: &AtomicBool) -> io::Result<Outcome> {
    let tool = child.id() as libc::pid_t;
    let deadline = sys::now().saturating_add(limit.as_nanos().min(u64::MAX.into()) as u64);
    // SAFETY: a child of ours that has not been awaited.
    let pidfd = sys::checked(unsafe { libc::syscall(libc::SYS_pidfd_open, tool, 0) })?;
    // SAFETY: ours alone.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd as libc::c_int) };
    let mut outcome = Outcome {
        ended: Ended::Complete,
        status: ExitStatus::from_raw(0),
        // SAFETY: all zeros is a valid state.
        usage: unsafe { std::mem::zeroed() },
    };
    loop {
        let mut poll = libc::pollfd { fd: pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, of ours.
        unsafe { libc::poll(&mut poll, 1, LOOK_MS) };
        let mut status = 0;
        // SAFETY: a child of ours that has not been awaited; both results are ours.
        match unsafe { libc::wait4(tool, &mut status, libc::WNOHANG, &mut outcome.usage) } {
            0 => {}
            -1 => return Err(io::Error::last_os_error()),
            _ => {
                outcome.status = ExitStatus::from_raw(status);
                return Ok(outcome);
            }
        }
        let over = [(Ended::Interrupted, stop.load(Ordering::Relaxed)), (Ended::TimedOut, sys::now() >= deadline)];
        if let Some((why, _)) = over.into_iter().find(|(_, is_so)| *is_so) {
            outcome.ended = why;
            // SAFETY: the group has a member: the tool, which has not been awaited.
            unsafe { libc::kill(-tool, libc::SIGKILL) };
        }
    }
}

/// The beginning of what was printed.
fn text(mut printed: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    printed.rewind()?;
    printed.take(PRINTED_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last line that says something.
fn last_line(printed: &str) -> String {
    let line = printed.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.unwrap_or("nothing").chars().take(SHOWN_MAX).collect()
}

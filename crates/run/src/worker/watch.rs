//! The parent's side of one worker: reads its output, and kills it when it exceeds a limit.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use nix::fcntl::{fcntl, FcntlArg, OFlag};
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::signal::Signal;
use nix::time::clock_getcpuclockid;

use super::exit::{End, ExitReport};
use super::job::{Answer, Reply};
use super::kernel_source;
use super::options::Limits;
use super::process::Process;
use super::shared_state::SharedState;
use crate::experiment::{Attendance, RunError};

/// Time between two checks of a worker.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes that are kept of the end of what a worker prints.
const PRINTS_MAX: usize = 64 << 10;
/// Longest answer that is read, bytes; notes of a run may be many, and the state of a large machine a few times over.
const ANSWER_MAX: usize = 64 << 20;
/// A call that waits, with hardly any CPU time, may take this many times longer than one that uses CPU time.
const PATIENCE: u32 = 6;

/// A worker that runs, as its parent watches it.
pub struct Watch {
    process: Process,
    answers: Source,
    prints: Source,
    place: SharedState,
    limits: Limits,
    /// The built kernel that the worker has loaded, to look things up in.
    library: Option<Arc<File>>,
    /// The call in progress at the last check, and its times since it was first seen.
    begun: u64,
    cpu_at_begin: Duration,
    asleep: Duration,
    last_cpu: Duration,
}

impl Watch {
    /// Watches a process that has just been started; `library` is the built kernel that it runs.
    pub fn new(
        process: Process,
        answers: OwnedFd,
        prints: OwnedFd,
        place: SharedState,
        limits: Limits,
        library: Option<Arc<File>>,
    ) -> Self {
        Watch {
            process,
            answers: Source::new(answers, ANSWER_MAX),
            prints: Source::new(prints, PRINTS_MAX),
            place,
            limits,
            library,
            begun: 0,
            cpu_at_begin: Duration::ZERO,
            asleep: Duration::ZERO,
            last_cpu: Duration::ZERO,
        }
    }

    /// The reply of the worker, which has ended then.
    ///
    /// # Errors
    /// If there is no reply; with a message for the user.
    pub fn attend(&mut self, attendance: Attendance) -> Result<Reply, RunError> {
        let end = loop {
            if let Err(e) = self.wait() {
                break self.kill(End::Lost(e.to_string()));
            }
            if let Some(time) = &attendance.time {
                time.store(self.place.time(), Ordering::Relaxed);
            }
            if attendance.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                break self.kill(End::Stopped);
            }
            if self.answers.bytes.ends_with(b"\n") {
                break self.kill(End::Answered);
            }
            if self.answers.is_full() {
                break self.kill(End::Garbage);
            }
            match self.process.try_wait() {
                Ok(Some(status)) => break self.gone(status),
                Ok(None) => {}
                Err(e) => break self.kill(End::Lost(e.to_string())),
            }
            if let Some(end) = self.overrun() {
                self.ask_where();
                break self.kill(end);
            }
        };
        let reply = matches!(end, End::Answered).then(|| serde_json::from_slice::<Reply>(&self.answers.bytes));
        let end = match reply {
            Some(Ok(Reply { answer: Answer::Fault(what), .. })) => End::Fault(what),
            Some(Ok(reply)) => return Ok(reply),
            Some(Err(_)) => End::Garbage,
            None => end,
        };
        let obituary = self.obituary(end);
        let kind = match () {
            () if obituary.is_lost() => RunError::Lost,
            () if obituary.is_limited() => RunError::Limited,
            () => RunError::Failed,
        };
        Err(kind(obituary.text(&self.prints.bytes)))
    }

    fn obituary(&self, end: End) -> ExitReport {
        let (place, crash) = (&self.place, self.place.crash());
        let source = crash.as_ref().filter(|c| c.in_kernel()).zip(self.library.as_ref());
        let source = source.and_then(|(crash, library)| kernel_source::of(library, crash.instruction));
        let frames = || kernel_source::of_calls(self.library.as_ref()?, &place.frames());
        let source = source.or_else(|| matches!(end, End::Fault(_)).then(frames).flatten());
        ExitReport { end, site: place.site(), time: place.time(), crash, source, limits: self.limits }
    }

    /// The end of the trace that the worker did not write to the file.
    pub fn held(&self) -> Vec<u8> {
        self.place.held()
    }

    /// Reads what is available, or waits until the next check.
    fn wait(&mut self) -> io::Result<()> {
        let open: Vec<&Source> = [&self.answers, &self.prints].into_iter().filter(|s| s.open).collect();
        let mut fds: Vec<PollFd> = open.iter().map(|s| PollFd::new(s.fd.as_fd(), PollFlags::POLLIN)).collect();
        match poll(&mut fds, PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::ZERO)) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        self.answers.read()?;
        self.prints.read()
    }

    /// The end of a process that ended by itself. Reads the rest of its output.
    fn gone(&mut self, status: ExitStatus) -> End {
        let _ = self.answers.read();
        let _ = self.prints.read();
        if self.answers.bytes.ends_with(b"\n") {
            return End::Answered;
        }
        End::Died(status)
    }

    /// Makes a worker that will be killed note its current instruction. This may fail.
    fn ask_where(&mut self) {
        self.process.signal(Signal::SIGABRT);
        for _ in 0..20 {
            let noted = self.place.crash().is_some_and(|crash| !crash.library.is_empty());
            if noted || !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(LOOK / 10);
        }
    }

    fn kill(&mut self, end: End) -> End {
        self.process.signal(Signal::SIGKILL);
        let _ = self.process.wait();
        let _ = self.prints.read();
        end
    }

    /// The limit that is exceeded; `None` if none is.
    fn overrun(&mut self) -> Option<End> {
        // The clock of a process that is ending cannot be read.
        let cpu = self.cpu_time().unwrap_or(self.last_cpu);
        let waits = cpu.saturating_sub(self.last_cpu) < LOOK / 100;
        self.last_cpu = cpu;
        if cpu >= self.limits.cpu {
            return Some(End::CpuLimit);
        }
        let begun = self.place.begun();
        if begun != self.begun || self.place.site().is_none() {
            (self.begun, self.cpu_at_begin, self.asleep) = (begun, cpu, Duration::ZERO);
            return None;
        }
        if cpu.saturating_sub(self.cpu_at_begin) >= self.limits.call {
            return Some(End::Looping);
        }
        // Counted in checks, not by a clock: time in which this process was stopped does not count.
        self.asleep += if waits { LOOK } else { Duration::ZERO };
        (self.asleep >= self.limits.call * PATIENCE).then_some(End::Asleep(self.asleep))
    }

    fn cpu_time(&self) -> Option<Duration> {
        let clock = clock_getcpuclockid(self.process.pid()).ok()?;
        clock.now().ok().map(Duration::from)
    }
}

impl Drop for Watch {
    /// No worker is left running, also if this thread panics.
    fn drop(&mut self) {
        self.process.signal(Signal::SIGKILL);
        let _ = self.process.wait();
    }
}

/// The reading end of a pipe, and the last bytes that came through it.
struct Source {
    fd: File,
    bytes: Vec<u8>,
    max: usize,
    open: bool,
}

impl Source {
    fn new(fd: OwnedFd, max: usize) -> Self {
        let open = fcntl(&fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).is_ok();
        Source { fd: fd.into(), bytes: Vec::new(), max, open }
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= self.max
    }

    /// Reads what is available. Drops the oldest bytes if there are too many.
    fn read(&mut self) -> io::Result<()> {
        let mut chunk = [0; 4096];
        // Limited, so that a worker that prints without end does not keep this thread from checking its limits.
        for _ in 0..64 {
            if !self.open {
                break;
            }
            match self.fd.read(&mut chunk) {
                Ok(0) => self.open = false,
                Ok(n) => {
                    self.bytes.extend_from_slice(&chunk[..n]);
                    let excess = self.bytes.len().saturating_sub(self.max);
                    self.bytes.drain(..excess);
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

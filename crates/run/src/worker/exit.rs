//! How a worker ended, as a message for the user.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::options::Limits;
use super::shared_state::Crash;
use crate::instrumented::{Call, CallSite};

/// Lines of what a worker printed that are shown.
const LINES_MAX: usize = 20;
/// Characters of such a line that are shown.
const LINE_MAX: usize = 500;

/// How a worker ended.
#[derive(Debug)]
pub enum End {
    /// The worker sent an answer.
    Answered,
    /// The code under test reported this fault.
    Fault(String),
    /// The worker ended without an answer. Its parent did not end it.
    Died(ExitStatus),
    /// The answer cannot be read, or is too long.
    Garbage,
    /// The run exceeded its limit of CPU time.
    CpuLimit,
    /// A call exceeded its limit of CPU time.
    Looping,
    /// A call has waited for this long.
    Asleep(Duration),
    /// The run was stopped.
    Stopped,
    /// The worker could not be watched.
    Lost(String),
}

/// Everything known about the end of a worker.
pub struct ExitReport {
    /// How the worker ended.
    pub end: End,
    /// The scheduler's call in progress; `None` if none was.
    pub site: Option<CallSite>,
    /// Virtual time of the last call, ns.
    pub time: u64,
    /// Left by the handler of a deadly signal.
    pub crash: Option<Crash>,
    /// Place of the instruction in the kernel's source.
    pub source: Option<String>,
    /// Limits that the worker ran under.
    pub limits: Limits,
}

impl ExitReport {
    /// Whether the end does not depend on the run: the worker could not be watched, or another process killed it, for
    /// example the kernel when memory was short.
    pub fn is_lost(&self) -> bool {
        match &self.end {
            End::Lost(_) => true,
            End::Died(status) if self.crash.is_none() => matches!(
                status.signal().map(Signal::try_from),
                Some(Ok(Signal::SIGKILL | Signal::SIGTERM | Signal::SIGINT | Signal::SIGHUP))
            ),
            _ => false,
        }
    }

    /// Whether a limit of time or memory ended the run. It may go on under another limit, or on another computer.
    pub fn is_limited(&self) -> bool {
        match &self.end {
            End::CpuLimit | End::Looping | End::Asleep(_) => true,
            End::Died(status) if status.signal() == Some(Signal::SIGXCPU as i32) => true,
            End::Died(_) => self.crash.as_ref().is_some_and(|crash| self.is_full(crash)),
            _ => false,
        }
    }

    /// Whether most of its memory limit was in use.
    fn is_full(&self, crash: &Crash) -> bool {
        crash.in_use > (self.limits.memory_mib << 20) / 10 * 9
    }

    /// The reason, followed by what was printed from the first panic on, or by the last of what was printed.
    pub fn text(&self, prints: &[u8]) -> String {
        let mut text = self.reason();
        let prints = String::from_utf8_lossy(prints);
        let lines: Vec<&str> = prints.lines().filter(|l| !l.trim().is_empty()).collect();
        if !lines.is_empty() {
            text += "\nit printed:";
        }
        // After a panic come its backtrace and often a second panic, so that the last lines do not say the cause.
        let panic = lines.iter().position(|line| line.contains("panicked at"));
        let first = panic.unwrap_or(lines.len().saturating_sub(LINES_MAX));
        for line in lines[first..].iter().take(LINES_MAX) {
            text += &format!("\n  {}", line.chars().take(LINE_MAX).collect::<String>().trim_end());
        }
        text
    }

    fn reason(&self) -> String {
        let (at, limits) = (self.at(), &self.limits);
        match &self.end {
            // BUG() names its place itself.
            End::Fault(what) if what.contains("kernel/sched/") => format!("{what}: {at}"),
            End::Fault(what) => format!("{what}{}: {at}", self.source()),
            End::Looping => {
                let limit = seconds(limits.call);
                format!("the scheduler's code has been looping for {limit} s of CPU time{}: {at}", self.source())
            }
            End::Asleep(time) => format!("the scheduler's code has been waiting for {} s: {at}", seconds(*time)),
            End::CpuLimit => self.cpu_limit(),
            End::Died(status) => match status.signal().map(Signal::try_from) {
                Some(Ok(Signal::SIGXCPU)) => self.cpu_limit(),
                Some(signal) => self.killed(signal.map_or("an unknown signal", Signal::as_str)),
                None => format!("its process ended without an answer, {status}: {at}"),
            },
            End::Garbage => format!("its process sent an answer that cannot be read: {at}"),
            End::Lost(problem) => format!("its process could not be watched, {problem}: {at}"),
            End::Stopped => format!("stopped at {} ns", self.time),
            End::Answered => "its process answered".into(),
        }
    }

    fn cpu_limit(&self) -> String {
        let limit = seconds(self.limits.cpu);
        format!("the run has taken {limit} s of CPU time, the limit set by --cpu-limit: {}", self.at())
    }

    fn killed(&self, signal: &str) -> String {
        let Some(crash) = &self.crash else {
            return format!("its process was killed by {signal}: {}", self.at());
        };
        let limit = self.limits.memory_mib << 20;
        let full = self.is_full(crash);
        let memory = format!(", with {} MiB of the {} MiB in use that it may have", crash.in_use >> 20, limit >> 20);
        format!(
            "its process died of {signal}{}{}{}: {}",
            if matches!(signal, "SIGSEGV" | "SIGBUS") {
                format!(" at address {:#x}", crash.address)
            } else {
                "".into()
            },
            self.instruction(crash),
            if full { memory } else { "".into() },
            self.at()
        )
    }

    /// Where in the kernel's source it was, if that is known.
    fn source(&self) -> String {
        self.source.as_ref().map_or(String::new(), |source| format!(", in {source}"))
    }

    fn instruction(&self, crash: &Crash) -> String {
        if self.source.is_some() {
            return self.source();
        }
        let library = Path::new(&crash.library).file_name().map(|n| n.to_string_lossy().into_owned());
        match (library, crash.instruction) {
            (_, 0) => String::new(),
            (Some(_), offset) if crash.in_kernel() => format!(" (instruction libksched+{offset:#x})"),
            (None, address) => format!(" (instruction {address:#x})"),
            (Some(library), offset) => format!(" (instruction {library}+{offset:#x})"),
        }
    }

    /// The call, task, CPU and time at which the run ended.
    fn at(&self) -> String {
        match self.site {
            None => format!("between calls, at {} ns of virtual time", self.time),
            Some(CallSite { call: Call::Boot, .. }) => "in boot".into(),
            Some(CallSite { call, cpu, task, time }) => {
                let task = task.map_or(String::new(), |t| format!(" of task {t}"));
                format!("in {}{task} on CPU {cpu}, at {time} ns of virtual time", call.word())
            }
        }
    }
}

/// Whole seconds without a fraction.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(prints: &str) -> String {
        let end = End::Fault("broken".into());
        let report = ExitReport { end, site: None, time: 7, crash: None, source: None, limits: Limits::default() };
        report.text(prints.as_bytes())
    }

    #[test]
    fn the_first_panic_is_shown_however_long_its_backtrace_is() {
        let frames: String = (0..99).map(|frame| format!("  {frame}: main\n")).collect();
        let text = printed(&format!("booted\nthread 'main' panicked at a.rs:1:2:\nindex 7\n{frames}"));
        assert_eq!(text.lines().nth(2), Some("  thread 'main' panicked at a.rs:1:2:"));
        assert_eq!(text.lines().count(), 2 + LINES_MAX);
    }

    #[test]
    fn without_a_panic_the_last_lines_are_shown() {
        let text = printed(&(0..99).map(|line| format!("line {line}\n")).collect::<String>());
        assert_eq!(text.lines().last(), Some("  line 98"));
        assert_eq!(text.lines().count(), 2 + LINES_MAX);
    }
}

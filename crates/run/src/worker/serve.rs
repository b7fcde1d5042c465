//! The worker's side: one job, one run, one answer.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use fairground_linux::conformance::{preset_for, WatchOptions, Watcher};
use fairground_linux::{Kernel, Linux, LinuxError};
use fairground_machine::Machine;
use fairground_sim::{Governor, Scheduler};
use fairground_trace::IgnoreBrokenPipe;
use nix::fcntl::{fcntl, FcntlArg, FdFlag};
use nix::sys::resource::{setrlimit, Resource};
use nix::sys::signal::{signal, SigHandler, Signal};

use super::conformance;
use super::job::{Answer, Job, JobKind, Reply};
use super::options::Limits;
use super::shared_state::{Held, SharedState, OPEN_FILES};
use super::signals;
use crate::batch::contained;
use crate::experiment::{Experiment, Logs, RunError};
use crate::instrumented::{Call, CallSite, Instrumented};
use crate::placements::Placements;
use crate::sched_spec::{fair, SchedSpec, SchedSpecError};
use crate::speed::SpeedMeasurement;

/// Makes the scheduler of a job.
pub type Make = dyn Fn(&Job, &Arc<Machine>) -> Result<Box<dyn Scheduler>, String>;

/// The pipe for the answer. Any thread may write to it.
static ANSWERS: OnceLock<File> = OnceLock::new();

/// Does the job on standard input.
pub fn serve(make: &Make) -> ExitCode {
    match receive() {
        Ok((job, place)) => {
            let failed = |words| Reply { answer: Answer::Failed(words), trace_error: None };
            answer(&contained(|| work(&job, place, make)).unwrap_or_else(failed));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("this command serves runs of `fairground` itself: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Ends this worker from within a call of its scheduler: the code under test has reported its own end.
pub fn fault(what: &str) -> ! {
    signals::note_frames(&fairground_linux::fault_frames());
    answer(&Reply { answer: Answer::Fault(what.to_owned()), trace_error: None });
    // Nothing of the process can be relied on: no destructors, no handlers of exit.
    // SAFETY: ends the process.
    unsafe { libc::_exit(1) }
}

/// Writes the reply as one line. An error is ignored: a worker cannot report it.
fn answer(reply: &Reply) {
    let Some(mut answers) = ANSWERS.get() else { return };
    let line = serde_json::to_string(reply).unwrap_or_default() + "\n";
    let _ = answers.write_all(line.as_bytes());
}

/// Reads the job and makes this process fit for it.
fn receive() -> Result<(Job, &'static SharedState), String> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map_err(|e| format!("no job on standard input: {e}"))?;
    let job: Job = serde_json::from_str(&text).map_err(|e| format!("no job on standard input: {e}"))?;
    let system = |e: io::Error| format!("cannot make a worker: {e}");
    die_with(job.parent).map_err(system)?;
    confine(&job.limits).map_err(system)?;
    let answers = inherited(job.descriptors.answers).map_err(system)?;
    ANSWERS.set(answers.into()).map_err(|_| "a worker serves one job")?;
    let place = inherited(job.descriptors.place).and_then(|fd| SharedState::map(&fd)).map_err(system)?;
    let place: &'static SharedState = Box::leak(Box::new(place));
    signals::record_in(place).map_err(system)?;
    Ok((job, place))
}

/// The worker dies with its parent. It ignores an interrupt from the terminal, which the parent handles.
fn die_with(parent: i32) -> io::Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
    if nix::unistd::getppid().as_raw() != parent {
        return Err(io::Error::other("the parent is gone"));
    }
    // SAFETY: no handler of ours.
    unsafe { signal(Signal::SIGINT, SigHandler::SigIgn)? };
    Ok(())
}

/// Sets the limits of this process. The parent checks CPU time more often; this limit holds if the parent cannot.
fn confine(limits: &Limits) -> io::Result<()> {
    let cpu = limits.cpu.as_secs().saturating_add(2);
    setrlimit(Resource::RLIMIT_CPU, cpu, cpu)?;
    let bytes = limits.memory_mib.saturating_mul(1 << 20);
    setrlimit(Resource::RLIMIT_AS, bytes, bytes)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    Ok(())
}

/// Takes an open file over from the parent.
fn inherited(number: i32) -> io::Result<OwnedFd> {
    if number <= 2 {
        return Err(io::Error::other("a descriptor of another use"));
    }
    // SAFETY: checked right after; the parent passes each number once, and no other code here uses it.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    match fcntl(&fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)) {
        Ok(_) => Ok(fd),
        Err(e) => {
            std::mem::forget(fd);
            Err(e.into())
        }
    }
}

/// The kernel in the library that the parent passed.
pub(super) fn kernel(library: i32, job: &Job, machine: &Machine) -> Result<Kernel, String> {
    let path = format!("{OPEN_FILES}{library}");
    // Messages must not show the descriptor's number, which differs from run to run.
    let named = |e: LinuxError| e.full().replace(&path, &job.column.sched);
    let kernel = Kernel::load(Path::new(&path)).map_err(named)?;
    kernel.fits(machine, job.column.config.hz).map_err(named)?;
    Ok(kernel)
}

/// Makes the scheduler of a job: a kernel from the library that the parent passed, or our own.
///
/// # Errors
/// If it cannot serve the machine.
pub fn scheduler(job: &Job, machine: &Arc<Machine>) -> Result<Box<dyn Scheduler>, String> {
    if let Some(library) = job.descriptors.library {
        let kernel = kernel(library, job, machine)?;
        return linux(kernel, job, machine).map_err(|e| e.to_string());
    }
    let spec: SchedSpec = job.column.sched.parse().map_err(|e: SchedSpecError| e.to_string())?;
    let features = spec.features().ok_or("the kernel's library was not handed over")?;
    fair(features, machine).map_err(|e| e.to_string())
}

fn sets_clocks(job: &Job) -> bool {
    job.column.config.governor == Governor::Schedutil
}

/// A kernel under test. It has no names of rules and no reasons: if these are requested, our policy decides beside it.
fn linux(kernel: Kernel, job: &Job, machine: &Arc<Machine>) -> Result<Box<dyn Scheduler>, Box<dyn Error>> {
    let watcher = if job.order.rules() {
        let (features, unobserved) = (preset_for(&kernel.release())?, kernel.unobserved());
        let why = job.order.why();
        let asked = WatchOptions { picks: why, balance: why, schedutil: sets_clocks(job), ..WatchOptions::default() };
        let (watcher, _) = Watcher::new(machine, &features, kernel.hz(), &unobserved, asked)?;
        Some(if why { watcher.with_reasons() } else { watcher })
    } else {
        None
    };
    let mut linux = Linux::new(kernel, fault)?;
    if let Some(watcher) = watcher {
        linux.watch(Box::new(watcher));
    }
    Ok(Box::new(linux))
}

fn work(job: &Job, place: &'static SharedState, make: &Make) -> Reply {
    let answer = job.column.machine().map_err(|e| e.to_string()).and_then(|machine| {
        let machine = Arc::new(machine);
        let experiment = Experiment {
            machine: Arc::clone(&machine),
            workload: Arc::new(job.column.workload.clone()),
            scheds: Vec::new(),
            config: job.column.config,
            workers: Default::default(),
        };
        let made = || within_boot(place, || make(job, &machine)).map(|sched| Box::new(Instrumented::new(sched, place)));
        match &job.order {
            JobKind::Run(..) => Ok(run(job, place, &experiment, made()?)),
            JobKind::Placements => Ok(placements(&experiment, made()?, job.column.config.seed)),
            JobKind::Measure { timed, why } => Ok(measure(&experiment, made()?, *timed, *why)),
            JobKind::Agree { preset, picks, pelt, balance } => {
                let (picks, pelt, balance) = (*picks, *pelt, *balance);
                let asked = WatchOptions { picks, pelt, balance, schedutil: sets_clocks(job) };
                let (sched, found) = within_boot(place, || conformance::watched(job, &machine, preset, asked))?;
                Ok(conformance::judge(
                    experiment.engine(Box::new(Instrumented::new(sched, place)), job.column.config.seed),
                    &found,
                ))
            }
        }
    });
    answer.unwrap_or_else(|problem| Reply { answer: Answer::Refused(problem), trace_error: None })
}

/// Calls `f`; meanwhile the shared memory says that the scheduler boots.
fn within_boot<T>(place: &SharedState, f: impl FnOnce() -> T) -> T {
    place.enter(CallSite { call: Call::Boot, cpu: 0, task: None, time: 0 });
    let made = f();
    place.leave();
    made
}

fn run(job: &Job, place: &SharedState, experiment: &Experiment, sched: Box<dyn Scheduler>) -> Reply {
    let trace = match (&job.order, job.descriptors.trace.map(inherited)) {
        (JobKind::Run(Some(head), _), Some(Ok(fd))) => {
            Some((head.clone(), Held::new(place, IgnoreBrokenPipe(File::from(fd)))))
        }
        (_, Some(Err(e))) => {
            return Reply { answer: Answer::Refused(format!("the trace: {e}")), trace_error: None };
        }
        _ => None,
    };
    let logs = match (&job.order, job.descriptors.logs.map(inherited)) {
        (JobKind::Run(_, Some(plan)), Some(Ok(fd))) => {
            Some(Logs { plan: Arc::new(plan.clone()), file: File::from(fd) })
        }
        (_, Some(Err(e))) => return Reply { answer: Answer::Refused(format!("the logs: {e}")), trace_error: None },
        _ => None,
    };
    let ran = experiment.finish(experiment.engine(sched, job.column.config.seed), trace, logs);
    let answer = match ran.outcome {
        Ok(report) => Answer::Report(report),
        Err(RunError::Failed(problem)) => Answer::Failed(problem),
        Err(error) => Answer::Refused(error.to_string()),
    };
    Reply { answer, trace_error: ran.trace.err().map(|e| e.to_string()) }
}

fn placements(experiment: &Experiment, sched: Box<dyn Scheduler>, seed: u64) -> Reply {
    let answer = match Placements::of(experiment, sched, seed) {
        Ok(placements) => Answer::Placements(placements),
        Err(problem) => Answer::Failed(problem),
    };
    Reply { answer, trace_error: None }
}

fn measure(experiment: &Experiment, sched: Box<dyn Scheduler>, timed: bool, why: bool) -> Reply {
    let answer = match SpeedMeasurement::of(experiment, sched, timed, why) {
        Ok(measured) => Answer::SpeedMeasurement(measured),
        Err(problem) => Answer::Failed(problem),
    };
    Reply { answer, trace_error: None }
}

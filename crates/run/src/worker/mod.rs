//! Runs in separate processes, for code that may crash, loop or exhaust memory: that of a kernel.
//!
//! ```text
//! parent (a thread a run)                 worker (`fairground worker`)
//! Job as JSON ----------- stdin --------> serve: limits, signal handlers, the scheduler, the run
//! watch: watchdogs  <---- memory -------- current call, CPU, task, time; the end of the trace
//!                   <---- stdout, stderr  what the code under test prints; its end is shown if the run fails
//!                   <---- a pipe -------- Reply as JSON, one line
//! ```
//!
//! A worker makes one run and ends, as a kernel's state is global. If a worker fails, its run fails with a message, and
//! the other runs go on. When the parent dies, its workers end too.

mod conformance;
mod exit;
mod job;
mod kernel_source;
pub(crate) mod options;
mod process;
mod serve;
mod shared_state;
mod signals;
mod watch;

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use fairground_sim::Config;
use fairground_trace::Recording;
use nix::fcntl::OFlag;
use nix::sys::memfd::{memfd_create, MFdFlags};
use serde_json::Value;

use crate::column_spec::ColumnSpec;
use crate::experiment::{
    Attendance, Experiment, Outputs, Ran, Recorded, RunError, Stop, Trace, TraceFormat, TraceHead,
};
use crate::memory;
use crate::placements::Placements;
use crate::sched_spec::SchedSpec;
use crate::speed::SpeedMeasurement;

use job::{Answer, Descriptors, Reply};
pub use job::{Job, JobKind};
pub use options::{Limits, Workers};
use process::{Process, Setting};
pub use serve::{fault, scheduler, serve, Make};
use shared_state::SharedState;

/// The answer of a worker is not of the kind that its job asks for.
const ANOTHER_JOB: &str = "the worker has done another job";

impl Workers {
    /// One run of `experiment`, with scheduler `spec`.
    pub fn run(
        &self,
        experiment: &Experiment,
        spec: &SchedSpec,
        seed: u64,
        outputs: Outputs,
        attendance: Attendance,
    ) -> Ran {
        let (head, trace) = outputs.trace.map_or((None, None), |t| (Some(t.head), Some(t.file)));
        let (plan, logs) = outputs.logs.map_or((None, None), |l| (Some(l.plan.as_ref().clone()), Some(l.file)));
        match self.send(experiment, spec, seed, JobKind::Run(head, plan), Files { trace, logs }, attendance) {
            Err(failure) => Ran { outcome: Err(failure.reason), trace: failure.trace },
            Ok(reply) => {
                let outcome = match reply.answer {
                    Answer::Report(report) => Ok(report),
                    Answer::Refused(problem) => Err(RunError::Refused(problem)),
                    Answer::Failed(problem) | Answer::Fault(problem) => Err(RunError::Failed(problem)),
                    Answer::SpeedMeasurement(_) | Answer::Agreement(_) | Answer::Placements(_) => {
                        Err(RunError::Failed(ANOTHER_JOB.into()))
                    }
                };
                Ran { outcome, trace: reply.trace_error.map_or(Ok(()), |e| Err(io::Error::other(e))) }
            }
        }
    }

    /// One run with its events, which the worker writes to memory that this process reads. The format in `head` is ignored.
    ///
    /// # Errors
    /// If the run fails, or its events cannot be kept.
    pub fn recorded(
        &self,
        experiment: &Experiment,
        sched: usize,
        seed: u64,
        head: TraceHead,
        stop: &Stop,
    ) -> Result<Recorded, RunError> {
        let lost = |e: io::Error| RunError::Failed(format!("cannot keep its events: {e}"));
        let memory = memfd_create("fairground-recording", MFdFlags::MFD_CLOEXEC).map_err(|e| lost(e.into()))?;
        let mut memory = File::from(memory);
        let head = TraceHead { format: TraceFormat::Recording, ..head };
        let trace = Trace { head, file: memory.try_clone().map_err(lost)? };
        let ran = experiment.write(sched, seed, Outputs { trace: Some(trace), logs: None }, stop.into());
        let report = ran.outcome?;
        ran.trace.and_then(|()| memory.seek(SeekFrom::Start(0))).map_err(lost)?;
        let recording = Recording::read(memory).map_err(|problem| lost(io::Error::other(problem)))?;
        Ok(Recorded { report, recording })
    }

    /// Measures the host time of a run.
    ///
    /// # Errors
    /// Why there is none.
    pub fn measure(
        &self,
        experiment: &Experiment,
        spec: &SchedSpec,
        timed: bool,
        why: bool,
    ) -> Result<SpeedMeasurement, String> {
        let order = JobKind::Measure { timed, why };
        let reply = self
            .send(experiment, spec, experiment.config.seed, order, Files::default(), Attendance::default())
            .map_err(|f| f.reason.to_string())?;
        match reply.answer {
            Answer::SpeedMeasurement(measured) => Ok(measured),
            Answer::Refused(problem) | Answer::Failed(problem) | Answer::Fault(problem) => Err(problem),
            Answer::Report(_) | Answer::Agreement(_) | Answer::Placements(_) => Err(ANOTHER_JOB.into()),
        }
    }

    /// One run of a kernel with our policy beside it, as `order` asks: what
    /// [`fairground_linux::conformance::Agreement::json`] says of it.
    ///
    /// # Errors
    /// Why there is none.
    pub fn agree(
        &self,
        experiment: &Experiment,
        kernel: &SchedSpec,
        seed: u64,
        order: JobKind,
    ) -> Result<Value, String> {
        let reply = self
            .send(experiment, kernel, seed, order, Files::default(), Attendance::default())
            .map_err(|f| f.reason.to_string())?;
        match reply.answer {
            Answer::Agreement(found) => Ok(found),
            Answer::Refused(problem) | Answer::Failed(problem) | Answer::Fault(problem) => Err(problem),
            Answer::Report(_) | Answer::SpeedMeasurement(_) | Answer::Placements(_) => Err(ANOTHER_JOB.into()),
        }
    }

    /// Every placement of a run.
    ///
    /// # Errors
    /// Why there is none.
    pub fn placements(&self, experiment: &Experiment, spec: &SchedSpec, seed: u64) -> Result<Placements, String> {
        let reply = self
            .send(experiment, spec, seed, JobKind::Placements, Files::default(), Attendance::default())
            .map_err(|f| f.reason.to_string())?;
        match reply.answer {
            Answer::Placements(placements) => Ok(placements),
            Answer::Refused(problem) | Answer::Failed(problem) | Answer::Fault(problem) => Err(problem),
            Answer::Report(_) | Answer::SpeedMeasurement(_) | Answer::Agreement(_) => Err(ANOTHER_JOB.into()),
        }
    }

    /// Has a worker do a job, when there is memory for it.
    fn send(
        &self,
        experiment: &Experiment,
        spec: &SchedSpec,
        seed: u64,
        order: JobKind,
        files: Files,
        attendance: Attendance,
    ) -> Result<Reply, Failure> {
        let _room = memory::reserve(&experiment.workload).map_err(|reason| Failure { reason, trace: Ok(()) })?;
        let cannot =
            |e: io::Error| Failure { reason: RunError::Lost(format!("cannot start a worker: {e}")), trace: Ok(()) };
        let started = Inheritance::new(spec, &files).and_then(|(inheritance, place, answers)| {
            let job = Job {
                column: ColumnSpec {
                    config: Config { seed, ..experiment.config },
                    ..ColumnSpec::new(experiment, spec)
                },
                order,
                limits: self.limits,
                parent: std::process::id() as i32,
                descriptors: inheritance.numbers(),
            };
            let (child, prints) = self.start(&job, inheritance)?;
            Ok(watch::Watch::new(child, answers, prints, place, self.limits, spec.library().cloned()))
        });
        let mut watch = started.map_err(cannot)?;
        watch.attend(attendance).map_err(|reason| {
            // The end of the trace that the worker had buffered. The reader of a pipe may have gone.
            let rest = watch.held();
            let trace = files.trace.map_or(Ok(()), |file| fairground_trace::IgnoreBrokenPipe(file).write_all(&rest));
            Failure { reason, trace }
        })
    }

    /// Starts the process. The pipe carries what it prints.
    fn start(&self, job: &Job, inheritance: Inheritance) -> io::Result<(Process, OwnedFd)> {
        // In a file: to write to a pipe could block on a worker that does not read.
        let mut job_file = File::from(memfd_create("fairground-job", MFdFlags::MFD_CLOEXEC)?);
        job_file.write_all(&serde_json::to_vec(job)?)?;
        job_file.seek(SeekFrom::Start(0))?;
        let (prints, out) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
        let setting = Setting {
            arguments: &self.arguments,
            environment: &self.environment,
            stdio: [&job_file.into(), &out, &out],
            inherited: &inheritance.into_all(),
        };
        Ok((Process::start(&setting)?, prints))
    }
}

/// A run without a reply.
struct Failure {
    reason: RunError,
    /// Whether the trace could be written up to the end of the run.
    trace: io::Result<()>,
}

/// Files that a run writes to.
#[derive(Default)]
struct Files {
    trace: Option<File>,
    logs: Option<File>,
}

/// Open files that a worker inherits.
struct Inheritance {
    answers: OwnedFd,
    place: OwnedFd,
    trace: Option<OwnedFd>,
    logs: Option<OwnedFd>,
    library: Option<OwnedFd>,
}

impl Inheritance {
    /// The files of one worker; and what the parent keeps: the shared memory and the reading end of the answer's pipe.
    fn new(spec: &SchedSpec, files: &Files) -> io::Result<(Self, SharedState, OwnedFd)> {
        let (place, memory) = SharedState::create()?;
        let (answers, to_us) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
        let copy = |file: &File| file.as_fd().try_clone_to_owned();
        let inheritance = Inheritance {
            answers: to_us,
            place: memory,
            trace: files.trace.as_ref().map(copy).transpose()?,
            logs: files.logs.as_ref().map(copy).transpose()?,
            library: spec.library().map(Arc::as_ref).map(copy).transpose()?,
        };
        Ok((inheritance, place, answers))
    }

    fn numbers(&self) -> Descriptors {
        Descriptors {
            answers: self.answers.as_raw_fd(),
            place: self.place.as_raw_fd(),
            trace: self.trace.as_ref().map(AsRawFd::as_raw_fd),
            logs: self.logs.as_ref().map(AsRawFd::as_raw_fd),
            library: self.library.as_ref().map(AsRawFd::as_raw_fd),
        }
    }

    fn into_all(self) -> Vec<OwnedFd> {
        [Some(self.answers), Some(self.place), self.trace, self.logs, self.library].into_iter().flatten().collect()
    }
}

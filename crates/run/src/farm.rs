//! Runs on other computers: a command of its own makes those that a store lacks, and puts them there.
//!
//! ```text
//! this process                              the command (Python, with Dask; `fairground.sweeps.farm.columns`)
//! a FarmPlan as JSON ------- stdin -------> columns by content, the keys and seeds of their runs, the store
//!                    <------ stdout ------- a line for each run whose result is in the store
//! ```
//!
//! "Farm" is Dask's word for computers that work together, as in docs/farm.md; the farm of links of a review is another thing.
//! Afterwards the store has the results, and [`Executor::carry_out`] takes them from there. It makes here what the farm gave no result of:
//! what a limit of time or memory has ended there.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;

use miette::Diagnostic;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::memfd::{memfd_create, MFdFlags};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::column_spec::ColumnSpec;
use crate::executor::{in_words, Executor, Progress, ProgressListener, VirtualTime};
use crate::experiment::Stop;
use crate::key::CODE;
use crate::store::{Store, StoreError};

/// Between two looks at whether to stop, ms.
const LOOK_MS: u16 = 200;

/// Exit code of the command if its input is at fault.
const BAD_INPUT: i32 = 2;

/// The command that makes runs elsewhere, with its arguments.
#[derive(Clone, Debug)]
pub struct Farm {
    /// Program and arguments; it reads a [`FarmPlan`].
    pub command: Vec<OsString>,
}

/// What the command reads.
#[derive(Debug, Serialize, Deserialize)]
pub struct FarmPlan {
    /// Hash of the code that computes runs: another program's results are not ours.
    pub code: String,
    /// Directory of the store.
    pub store: PathBuf,
    /// Columns with runs that the store lacks, each run in one of them.
    pub columns: Vec<FarmColumn>,
}

/// Runs of one scheduler on one machine under one workload.
#[derive(Debug, Serialize, Deserialize)]
pub struct FarmColumn {
    /// Machine, workload and scheduler, for messages.
    pub what: String,
    /// What they have in common.
    pub spec: ColumnSpec,
    /// File with the library of a kernel, readable while this process lives; `None` for our own scheduler.
    pub library: Option<PathBuf>,
    /// Keys, as 32 hex digits, and seeds.
    pub runs: Vec<(String, u64)>,
}

/// Why a farm has not made its runs. Those that are in the store stay there.
#[derive(Debug, Error, Diagnostic)]
pub enum FarmError {
    /// The command cannot be started.
    #[error("cannot start {command}: {cause}")]
    #[diagnostic(help("a farm takes Python 3.10 or later; $FAIRGROUND_PYTHON names the interpreter"))]
    Start {
        /// Its first word, as it was looked for.
        command: String,
        /// What the system says.
        cause: io::Error,
    },
    /// The command cannot be talked to.
    #[error("lost the farm: {0}")]
    Watch(io::Error),
    /// The command has failed; it has said why.
    #[error("the farm has not made all runs ({status}); those that it made are kept")]
    Failed {
        /// Of the command: 1 the farm failed, 2 its input is at fault.
        status: ExitStatus,
    },
    /// The store cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
    /// `stop` became true.
    #[error("stopped")]
    Stopped,
}

impl FarmError {
    /// Whether the input or the command line is at fault, and no run.
    pub fn is_input(&self) -> bool {
        match self {
            FarmError::Start { .. } | FarmError::Store(_) => true,
            FarmError::Failed { status } => status.code() == Some(BAD_INPUT),
            FarmError::Watch(_) | FarmError::Stopped => false,
        }
    }
}

impl Farm {
    /// Makes the runs of `executor` that are not in `store`.
    ///
    /// # Errors
    /// If the command fails, or `stop` became true.
    pub fn make(
        &self,
        executor: &Executor,
        store: &Store,
        stop: &Stop,
        report: ProgressListener,
    ) -> Result<(), FarmError> {
        let missing = executor.missing(store)?;
        let runs: usize = missing.iter().map(|column| column.runs.len()).sum();
        if runs == 0 {
            return Ok(());
        }
        report(Progress::Begun { runs, kept: 0, time: VirtualTime::default() });
        let columns = missing.iter().map(|column| {
            let spec = &column.experiment.scheds[column.sched];
            FarmColumn {
                what: in_words(column.experiment, column.sched),
                spec: ColumnSpec::new(column.experiment, spec),
                library: spec.library().map(|library| path_of(library)),
                runs: column.runs.iter().map(|(key, seed)| (key.to_string(), *seed)).collect(),
            }
        });
        let plan = FarmPlan { code: CODE.into(), store: store.dir().to_owned(), columns: columns.collect() };
        let mut child = self.start(&plan)?;
        let ended = watch(&mut child, stop, report);
        if ended.is_err() {
            // Nobody would read what it reports.
            let _ = child.kill();
        }
        let status = child.wait().and_then(|status| ended.map(|()| status)).map_err(FarmError::Watch)?;
        match status.code() {
            Some(0) => Ok(()),
            _ if stop.load(Ordering::Relaxed) => Err(FarmError::Stopped),
            _ => Err(FarmError::Failed { status }),
        }
    }

    fn start(&self, plan: &FarmPlan) -> Result<Child, FarmError> {
        let started = || {
            let (program, arguments) = self.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            // In a file: to write to a pipe would wait for a reader.
            let mut file = File::from(memfd_create("fairground-plan", MFdFlags::MFD_CLOEXEC)?);
            file.write_all(&serde_json::to_vec(plan)?)?;
            file.seek(SeekFrom::Start(0))?;
            // A group of its own: a terminal's interrupt reaches it once, through this process.
            let mut command = Command::new(program);
            command.args(arguments).stdin(file).stdout(Stdio::piped()).process_group(0).spawn()
        };
        started().map_err(|cause| {
            let command = self.command.first().map(|name| name.to_string_lossy().into_owned());
            FarmError::Start { command: command.unwrap_or_default(), cause }
        })
    }
}

/// A file that this process has opened, for others that read it while this process lives.
fn path_of(file: &File) -> PathBuf {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
}

/// Reports a run for each line, until the command closes its output. Ends it when `stop` becomes true.
fn watch(child: &mut Child, stop: &Stop, report: ProgressListener) -> io::Result<()> {
    let Some(mut lines) = child.stdout.take() else { return Ok(()) };
    let pid = Pid::from_raw(child.id() as i32);
    let (mut buffer, mut interrupted) = ([0; 4096], false);
    loop {
        if stop.load(Ordering::Relaxed) && !std::mem::replace(&mut interrupted, true) {
            // It was not waited for, so the number is still its own.
            kill(pid, Signal::SIGTERM)?;
        }
        let mut ready = [PollFd::new(lines.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, PollTimeout::from(LOOK_MS)) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => continue,
            Ok(_) => {}
            Err(e) => return Err(e.into()),
        }
        match lines.read(&mut buffer)? {
            0 => return Ok(()),
            n => buffer[..n].iter().filter(|b| **b == b'\n').for_each(|_| report(Progress::Done { left: None })),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;

    use super::*;
    use crate::experiment::Experiment;
    use crate::key::ColumnKey;
    use crate::run_config::RunConfig;
    use crate::worker::Workers;

    fn pipe() -> Arc<Experiment> {
        let sched = ["fair:v5.9".to_owned()];
        Arc::new(RunConfig::default().find("hikey960", "sched-pipe:loops=10", &sched).unwrap().0)
    }

    fn shell(script: &str) -> Farm {
        Farm { command: ["sh", "-c", script].map(OsString::from).into() }
    }

    /// What the farm said, and how many runs it reported.
    fn make(farm: &Farm, store: &Store, stop: &Stop) -> (Result<(), FarmError>, usize) {
        let mut executor = Executor::default();
        // Two columns with one run in common.
        for seeds in [&[1, 2][..], &[2, 3]] {
            let _ = executor.ask(&pipe(), 0, seeds);
        }
        let done = AtomicUsize::new(0);
        let made = farm.make(&executor, store, stop, &|progress| {
            if let Progress::Done { .. } = progress {
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
        (made, done.into_inner())
    }

    #[test]
    fn a_plan_has_what_the_store_lacks_and_each_run_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let key = ColumnKey::of(&pipe(), 0).unwrap();
        let record = crate::executor::record(&pipe(), 0, 2, &Stop::default()).unwrap();
        store.put(key.with(2), &record).unwrap();
        let file = dir.path().join("plan.json");
        let script = format!("cat >'{}' && echo && echo", file.display());
        let (made, done) = make(&shell(&script), &store, &Stop::default());
        made.unwrap();
        assert_eq!(done, 2);
        let plan: FarmPlan = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!((plan.code.as_str(), plan.store.as_path()), (CODE, store.dir()));
        let runs: Vec<_> = plan.columns.iter().flat_map(|column| column.runs.clone()).collect();
        assert_eq!(runs, [1, 3].map(|seed| (key.with(seed).to_string(), seed)));
        assert_eq!(plan.columns[0].what, "hikey960 sched-pipe:loops=10 fair:v5.9");
        let arrived = plan.columns[0].spec.experiment(None, Workers::default()).unwrap();
        assert_eq!(ColumnKey::of(&arrived, 0).unwrap(), key);
    }

    #[test]
    fn a_farm_that_fails_is_told_and_one_that_is_stopped_is_interrupted() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let told = |farm: &Farm| make(farm, &store, &Stop::default()).0.unwrap_err().to_string();
        assert_eq!(
            told(&shell("exit 3")),
            "the farm has not made all runs (exit status: 3); those that it made are kept"
        );
        let missing = Farm { command: vec!["./no-such-program".into()] };
        assert!(told(&missing).starts_with("cannot start ./no-such-program: "), "{}", told(&missing));
        // It ends by the signal alone.
        let waits = shell("trap 'exit 130' TERM; for i in $(seq 6000); do sleep 0.01; done");
        let stopped = make(&waits, &store, &Arc::new(true.into())).0;
        assert!(matches!(stopped, Err(FarmError::Stopped)), "{stopped:?}");
    }

    #[test]
    fn nothing_is_started_for_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let key = ColumnKey::of(&pipe(), 0).unwrap();
        for seed in 1..=3 {
            store.put(key.with(seed), &crate::executor::record(&pipe(), 0, seed, &Stop::default()).unwrap()).unwrap();
        }
        make(&shell("exit 3"), &store, &Stop::default()).0.unwrap();
    }
}

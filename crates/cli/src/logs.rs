//! The logs of the threads of an rt-app file: all of them complete, or none.

use std::fs::File;
use std::io::{self, BufReader, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairground_run::experiment::{Experiment, Logs};
use fairground_trace::rtapp_log;
use fairground_workload::rtapp::LogPlan;
use miette::Diagnostic;
use thiserror::Error;

use crate::error::{run_failed, Failure};
use crate::output::{create_temporary, TEMPORARY};

/// Why logs of rt-app cannot be written.
#[derive(Debug, Error, Diagnostic)]
enum NoLogs {
    #[error("`{0}` is not a file in rt-app's grammar, so it has no rt-app logs")]
    #[diagnostic(help(
        "--rtapp-logs and --rtapp-marks are for files in rt-app's grammar; --trace writes the events of any run"
    ))]
    NotRtApp(String),
    #[error("{0} has changed while it was read")]
    Changed(String),
    #[error("cannot write logs into {directory}: {cause}")]
    #[diagnostic(help("expected a directory that is there and can be written"))]
    Directory { directory: String, cause: String },
}

/// The plan of the logs of `workload`, the workload of `experiment`.
pub fn plan(workload: &str, experiment: &Experiment) -> Result<LogPlan, Failure> {
    let plan = LogPlan::find(workload, &experiment.machine)?.ok_or_else(|| NoLogs::NotRtApp(workload.into()))?;
    match plan.fits(&experiment.workload) {
        true => Ok(plan),
        false => Err(NoLogs::Changed(workload.into()).into()),
    }
}

/// The directory that logs are written to.
pub struct LogDirectory {
    path: PathBuf,
    plan: Arc<LogPlan>,
    /// A file without a name for the lines of all threads, in order of time.
    spool: File,
}

impl LogDirectory {
    /// Opens the directory for a run of `workload`, the workload of `experiment`. To be called before the run, so that
    /// a bad path is reported at once.
    pub fn open(path: &Path, workload: &str, experiment: &Experiment) -> Result<LogDirectory, Failure> {
        let plan = plan(workload, experiment)?;
        let spool = tempfile::tempfile_in(path).map_err(|e| cannot_write(path, &e))?;
        Ok(LogDirectory { path: path.to_owned(), plan: Arc::new(plan), spool })
    }

    /// The plan and the file that the run writes to.
    pub fn logs(&self) -> Result<Logs, Failure> {
        let file = self.spool.try_clone().map_err(|e| cannot_write(&self.path, &e))?;
        Ok(Logs { plan: Arc::clone(&self.plan), file })
    }

    /// The run is complete: gives each thread its file.
    pub fn finish(self) -> Result<(), Failure> {
        self.take_apart().map_err(|e| run_failed(format!("cannot write logs into {}: {e}", self.path.display())))
    }

    fn take_apart(&self) -> io::Result<()> {
        let mut spool = &self.spool;
        spool.rewind()?;
        let unfinished = create_temporary(|| tempfile::Builder::new().prefix(TEMPORARY).tempdir_in(&self.path))?;
        let mut done = Vec::new();
        for file in rtapp_log::split(BufReader::new(spool), unfinished.path())? {
            let log = self.path.join(file.file_name().unwrap_or_default());
            if let Err(e) = std::fs::rename(&file, &log) {
                // All of them, or none.
                done.iter().for_each(|log| drop(std::fs::remove_file(log)));
                return Err(e);
            }
            done.push(log);
        }
        Ok(())
    }
}

fn cannot_write(directory: &Path, error: &io::Error) -> Failure {
    let cause = match error.kind() {
        io::ErrorKind::NotFound => "there is no such directory".into(),
        kind => kind.to_string(),
    };
    NoLogs::Directory { directory: directory.display().to_string(), cause }.into()
}

//! A kernel in this worker with our policy beside it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use fairground_fair::Features;
use fairground_linux::conformance::{Agreement, WatchOptions, Watcher};
use fairground_linux::Linux;
use fairground_machine::Machine;
use fairground_sim::{Engine, Scheduler};

use super::job::{Answer, Job, Reply};
use super::serve::{fault, kernel};
use crate::experiment::RunError;

/// Filled while the run goes on.
pub type Findings = Rc<RefCell<Agreement>>;

/// The kernel that the parent passed, with an observer; and where the findings appear.
pub fn watched(
    job: &Job,
    machine: &Arc<Machine>,
    preset: &str,
    asked: WatchOptions,
) -> Result<(Box<dyn Scheduler>, Findings), String> {
    let library = job.descriptors.library.ok_or("our own scheduler needs no referee: name a kernel")?;
    let kernel = kernel(library, job, machine)?;
    let features = Features::parse(preset).map_err(|e| e.to_string())?;
    let (watcher, found) = Watcher::new(machine, &features, kernel.hz(), &kernel.unobserved(), asked)
        .map_err(|e| format!("{preset} cannot judge here: {e}"))?;
    let mut sched = Linux::new(kernel, fault).map_err(|e| e.full())?;
    sched.watch(Box::new(watcher));
    Ok((Box::new(sched), found))
}

/// Makes the run and returns the findings.
pub fn judge(mut engine: Engine, found: &RefCell<Agreement>) -> Reply {
    let answer = match engine.run(&mut []).map_err(RunError::from) {
        Ok(_) => Answer::Agreement(found.borrow().json()),
        Err(RunError::Failed(problem)) => Answer::Failed(problem),
        Err(error) => Answer::Refused(error.to_string()),
    };
    Reply { answer, trace_error: None }
}

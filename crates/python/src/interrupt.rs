//! Long work beside the interpreter: other Python threads go on, and Ctrl-C ends it. Python tells its main thread alone of
//! Ctrl-C.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use fairground_run::experiment::Stop;
use pyo3::prelude::*;

use crate::errors::failed;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(20);

/// What `work` gives. It runs in a thread of its own; once its [`Stop`] is set it should end soon, and what it gives then
/// is thrown away.
///
/// # Errors
/// What a signal handler raised meanwhile, `KeyboardInterrupt` as a rule; a panic of `work`.
pub fn beside<T: Send>(py: Python<'_>, work: impl FnOnce(Stop) -> T + Send) -> PyResult<T> {
    let stop = Stop::default();
    thread::scope(|scope| {
        let (done, wait) = sync_channel(1);
        // Several threads may look at a lock, though only this one does.
        let wait = Mutex::new(wait);
        let its = Arc::clone(&stop);
        let worker = scope.spawn(move || {
            let outcome = work(its);
            // The send succeeds: the receiver lives as long as this scope.
            let _ = done.send(());
            outcome
        });
        let mut raised = None;
        while let Err(RecvTimeoutError::Timeout) = py.detach(|| looked(&wait)) {
            if raised.is_none() {
                raised = py.check_signals().err();
                stop.fetch_or(raised.is_some(), Ordering::Relaxed);
            }
        }
        let outcome = py.detach(|| worker.join());
        match raised {
            Some(error) => Err(error),
            None => outcome.map_err(|_| failed("the program failed; what it printed says where")),
        }
    })
}

/// Waits for the end, but not for long.
fn looked(wait: &Mutex<Receiver<()>>) -> Result<(), RecvTimeoutError> {
    wait.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK)
}

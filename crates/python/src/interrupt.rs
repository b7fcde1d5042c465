//! Long work without the interpreter's lock: other Python threads go on, and Ctrl-C ends it. Python delivers Ctrl-C to
//! its main thread only.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use fairground_run::experiment::Stop;
use pyo3::prelude::*;

use crate::errors::failed;

/// Time between two checks for signals.
const LOOK: Duration = Duration::from_millis(20);

/// Runs `work` in another thread and returns its result. When its [`Stop`] is set, `work` should end soon, and its
/// result is dropped.
///
/// # Errors
/// The exception of a signal handler, usually `KeyboardInterrupt`; a panic of `work`.
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

/// Waits for the end, at most until the next check for signals.
fn looked(wait: &Mutex<Receiver<()>>) -> Result<(), RecvTimeoutError> {
    wait.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK)
}

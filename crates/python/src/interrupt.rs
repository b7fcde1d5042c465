//! Long work beside the interpreter: other Python threads go on, and Ctrl-C ends it. Python tells its main thread alone of
//! Ctrl-C; what other threads do is ended by a [`Stopper`].

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use fairground_run::experiment::Stop;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors::failed;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(20);

thread_local! {
    /// Of the stopper that watches this thread.
    static WATCHED: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// Ends what the threads that it watches do in the compiled half, now and later: `KeyboardInterrupt` is raised there.
#[pyclass(frozen, module = "fairground._fairground")]
pub struct Stopper(Stop);

#[pymethods]
impl Stopper {
    #[new]
    fn new() -> Stopper {
        Stopper(Stop::default())
    }

    /// Watches the calling thread from now on.
    fn watch(&self) {
        WATCHED.set(Some(Arc::clone(&self.0)));
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What `work` gives. It runs in a thread of its own; once its [`Stop`] is set it should end soon, and what it gives then
/// is thrown away.
///
/// # Errors
/// What a signal handler raised meanwhile, `KeyboardInterrupt` as a rule and if a [`Stopper`] was set; a panic of `work`.
pub fn beside<T: Send>(py: Python<'_>, work: impl FnOnce(Stop) -> T + Send) -> PyResult<T> {
    let stop = WATCHED.with_borrow(Clone::clone).unwrap_or_default();
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
            None if stop.load(Ordering::Relaxed) => Err(PyKeyboardInterrupt::new_err("a stopper was set")),
            None => outcome.map_err(|_| failed("the program failed; what it printed says where")),
        }
    })
}

/// Waits for the end, but not for long.
fn looked(wait: &Mutex<Receiver<()>>) -> Result<(), RecvTimeoutError> {
    wait.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK)
}

//! Ends by signal: SIGTERM and SIGHUP stop a command as Ctrl-C does, so that it restores what it has changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use nix::sys::signal::{sigaction, SaFlags, SigAction, SigHandler, SigSet, Signal};

static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

extern "C" fn set_stop(_: libc::c_int) {
    // A load and a store of atomics: allowed in a handler.
    if let Some(stop) = STOP.get() {
        stop.store(true, Ordering::Relaxed);
    }
}

/// From now on SIGTERM and SIGHUP set `stop`. Of several calls in a process the first counts.
///
/// # Errors
/// If the system does not let it handle the signals.
pub fn stop_on_termination(stop: &Arc<AtomicBool>) -> nix::Result<()> {
    let _ = STOP.set(Arc::clone(stop));
    let action = SigAction::new(SigHandler::Handler(set_stop), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler does what handlers may do.
        unsafe { sigaction(signal, &action) }?;
    }
    Ok(())
}

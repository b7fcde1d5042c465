//! Ends by signal: a command that Ctrl-C, SIGTERM or SIGHUP ends first restores what it has changed and removes what it
//! has not finished.

use std::io;
use std::os::raw::c_int;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The signal of Ctrl-C.
pub const INTERRUPT: c_int = SIGINT;

/// From now on a thread of its own calls `handler` with the number of each SIGINT, SIGTERM and SIGHUP. SIGTERM and SIGHUP
/// stay ignored where they are (`nohup`).
///
/// # Errors
/// If the system does not let it handle the signals, or start the thread.
pub fn on_end_signals(mut handler: impl FnMut(c_int) + Send + 'static) -> io::Result<()> {
    let caught = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| *signal == SIGINT || !is_ignored(*signal));
    let mut signals = Signals::new(caught)?;
    let run = move || signals.forever().for_each(&mut handler);
    std::thread::Builder::new().name("signals".into()).spawn(run).map(drop)
}

/// Whether this process was started with the signal ignored.
fn is_ignored(signal: c_int) -> bool {
    // SAFETY: asks only, and fills the struct.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

//! [`Op::Exec`](fairground_workload::Op::Exec): a process of the workload executes the calling program once more, which goes on
//! behind that step.
//!
//! Three things pass through the execve: the memory that all processes share, as an open file; the round, described in another
//! ([`World::again`]); and the thread ([`State`]), on the command line. What the kernel keeps for a process is kept as for any:
//! number, parent and children, group and session, attributes, affinity, timer slack, cgroups.

use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::interp::{exit_thread, State, Task};
use crate::world::{Handle, World};

/// The name under which the program is executed: the first word of its command line.
const NAME: &CStr = c"fairground-play-exec";
/// The program that runs, also if its file has been removed or replaced.
const PROGRAM: &CStr = c"/proc/self/exe";

/// Whether this program has called [`go_on_after_exec`].
static PREPARED: AtomicBool = AtomicBool::new(false);

/// Whether this program goes on where it is executed.
pub fn is_prepared() -> bool {
    PREPARED.load(Ordering::Relaxed)
}

/// Makes workloads playable that execute programs; without it they are refused. To be called first in `main`: a process that such
/// a workload has executed ends in here, and starts up no faster than what comes before.
pub fn go_on_after_exec() {
    let mut words = std::env::args_os();
    if words.next().is_some_and(|word| word.as_bytes() == NAME.to_bytes()) {
        let Err(error) = go_on(words.next());
        eprintln!("error: {}: {error}", NAME.to_string_lossy());
        // The round learns of it by the signal.
        std::process::abort();
    }
    PREPARED.store(true, Ordering::Relaxed);
}

/// The second word of the command line.
#[derive(Serialize, Deserialize)]
struct Carried {
    round: Handle,
    thread: State,
}

fn go_on(word: Option<OsString>) -> io::Result<std::convert::Infallible> {
    let word = word.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    let Carried { round, thread } = serde_json::from_slice(word.as_bytes())?;
    let world: &'static World = Box::leak(Box::new(World::again(round)?));
    Task::live_on(world, thread)?;
    exit_thread()
}

/// Executes the program for a thread, the only one of its process. Returns only if it cannot.
pub fn execute(world: &World, thread: State) -> io::Error {
    let Some(round) = world.handle() else { return io::Error::from_raw_os_error(libc::ENOSYS) };
    let word = serde_json::to_string(&Carried { round, thread }).map_err(io::Error::from);
    let word = match word.and_then(|text| CString::new(text).map_err(io::Error::from)) {
        Ok(word) => word,
        Err(error) => return error,
    };
    let words = [NAME.as_ptr(), word.as_ptr(), std::ptr::null()];
    // SAFETY: words that end in zeros, and a null pointer behind them.
    unsafe { libc::execv(PROGRAM.as_ptr(), words.as_ptr()) };
    io::Error::last_os_error()
}

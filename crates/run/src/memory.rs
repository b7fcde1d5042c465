//! Memory of runs: one that cannot fit is refused with an estimate, and of runs at once so many as fit.
//!
//! What a run takes grows with the threads that it ever creates, as their ids are not reused. A workload file of one line
//! asks for a million threads, and each job takes one such run; the system would kill the process, with all that is done.
//! The estimate never changes a result: it decides whether and when a run begins. It is for the threads of finite workloads;
//! runs in workers count too, as they share the memory of the computer.

use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use fairground_workload::{Workload, MAX_TASKS};

use crate::experiment::RunError;

/// Bytes that a thread of a run takes, rounded up: 2.0 KiB for threads that compute, 2.6 KiB for those of hackbench
/// (peak of the resident memory of runs of a hundred thousand and a million threads, on 8 and 224 CPUs).
const BYTES_PER_THREAD: u64 = 3 << 10;

/// Smaller runs begin at once: many of them fit anywhere.
const SMALL: u64 = 64 << 20;

/// Files with the limit of the control group that this process sees as the root, in version 2 and 1.
#[cfg(unix)]
const GROUP_LIMITS: [&str; 2] = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

static RUNS: Ledger = Ledger::new();

/// What the runs at once are estimated to take.
struct Ledger {
    taken: Mutex<u64>,
    freed: Condvar,
    /// Bytes that they may take in all.
    capacity: OnceLock<u64>,
    /// How often a run found too little left.
    #[cfg(test)]
    full: std::sync::atomic::AtomicU64,
}

/// The memory of a run; given back when dropped.
pub struct Room {
    ledger: &'static Ledger,
    bytes: u64,
}

/// Reserves the memory of a run; waits while other runs of this process leave too little.
///
/// # Errors
/// [`RunError::Limited`] with the estimate if the run does not fit alone.
pub fn reserve(workload: &Workload) -> Result<Option<Room>, RunError> {
    let threads = workload.thread_counts().unwrap_or_default().iter().fold(0, |sum: u64, n| sum.saturating_add(*n));
    // A workload that creates threads without end has no estimate: how many depends on the run, which fails at a million.
    if threads > MAX_TASKS || threads * BYTES_PER_THREAD < SMALL {
        return Ok(None);
    }
    RUNS.reserve(threads).map(Some)
}

impl Ledger {
    const fn new() -> Ledger {
        Ledger {
            taken: Mutex::new(0),
            freed: Condvar::new(),
            capacity: OnceLock::new(),
            #[cfg(test)]
            full: std::sync::atomic::AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reserve(&'static self, threads: u64) -> Result<Room, RunError> {
        let (bytes, capacity) = (threads * BYTES_PER_THREAD, *self.capacity.get_or_init(available));
        if bytes > capacity {
            return Err(RunError::Limited(format!(
                "a run of {threads} threads takes about {} MiB, and {} MiB are available to this process: use fewer threads, or a computer with more memory",
                bytes >> 20,
                capacity >> 20
            )));
        }
        let full = |taken: &mut u64| {
            let is_full = *taken + bytes > capacity;
            #[cfg(test)]
            self.full.fetch_add(is_full.into(), std::sync::atomic::Ordering::Relaxed);
            is_full
        };
        let mut taken = self.freed.wait_while(self.lock(), full).unwrap_or_else(PoisonError::into_inner);
        *taken += bytes;
        Ok(Room { ledger: self, bytes })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        *self.ledger.lock() -= self.bytes;
        self.ledger.freed.notify_all();
    }
}

/// Bytes that this process may still take: what the system has left, within the limits of its control group and of its
/// address space. What cannot be read limits nothing.
#[cfg(unix)]
fn available() -> u64 {
    use nix::sys::resource::{getrlimit, Resource, RLIM_INFINITY};
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let group = GROUP_LIMITS.iter().filter_map(|file| number(&std::fs::read_to_string(file).ok()?));
    let limit = getrlimit(Resource::RLIMIT_AS).map_or(RLIM_INFINITY, |(soft, _)| soft);
    let in_use = kilobytes("/proc/self/status", "VmSize").unwrap_or(0);
    let space = Some(limit).filter(|limit| *limit != RLIM_INFINITY).map(|limit| limit.saturating_sub(in_use));
    group.chain(kilobytes("/proc/meminfo", "MemAvailable")).chain(space).min().unwrap_or(u64::MAX)
}

/// What one allocation may have: nothing else is known of the system.
#[cfg(not(unix))]
fn available() -> u64 {
    isize::MAX as u64
}

/// A line `NAME:  N kB` of a file of /proc, in bytes.
#[cfg(unix)]
fn kilobytes(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn ledger(threads: u64) -> &'static Ledger {
        let ledger = Box::leak(Box::new(Ledger::new()));
        ledger.capacity.set(threads * BYTES_PER_THREAD).unwrap();
        ledger
    }

    #[test]
    fn a_run_that_does_not_fit_alone_is_refused_with_the_estimate() {
        let error = ledger(99_999).reserve(1_000_000).map(drop).unwrap_err();
        assert!(!error.is_result(), "it may fit elsewhere");
        let said = error.to_string();
        assert!(said.starts_with("a run of 1000000 threads takes about 2929 MiB, and 292 MiB are available"), "{said}");
    }

    #[test]
    fn runs_that_do_not_fit_beside_each_other_wait() {
        let ledger = ledger(250_000);
        let [first, _second] = [100_000, 100_000].map(|threads| ledger.reserve(threads).unwrap());
        let (began, begins) = mpsc::channel();
        let third = std::thread::spawn(move || {
            let room = ledger.reserve(100_000).unwrap();
            began.send(*ledger.lock()).unwrap();
            drop(room);
        });
        // The third has seen that it does not fit, and waits as soon as it lets go of the lock, which the drop takes.
        while ledger.full.load(std::sync::atomic::Ordering::Relaxed) == 0 {
            assert!(begins.try_recv().is_err());
            std::thread::yield_now();
        }
        assert!(begins.try_recv().is_err());
        drop(first);
        assert_eq!(begins.recv(), Ok(200_000 * BYTES_PER_THREAD));
        third.join().unwrap();
    }
}

//! What the processes of a round share: one mapping, which all of them inherit, or map again behind an execve.
//!
//! It holds the control block, the objects, a log for each series and each phase of the score, and a record for each
//! thread. Pages that nothing touches take no memory, so there is room for as many threads as a run may have.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use fairground_workload::{Object, Score, Workload, MAX_TASKS};

use crate::sys::{self, Scope};

/// Most reports that a log keeps; what comes later is counted and left out.
pub const LOG_MAX: u64 = 1 << 22;
/// Records of threads. Numbers are never reused, as in the simulator.
const RECORDS: usize = MAX_TASKS as usize;

/// Why a round ended: [`Control::end`].
pub mod end {
    /// It has not.
    pub const NOT_YET: u32 = 0;
    /// Every thread that is not a daemon has exited, or the workload's duration is over.
    pub const COMPLETE: u32 = 1;
    /// A step could not be carried out, or a process died.
    pub const FAILED: u32 = 2;
    /// The time limit was reached.
    pub const TIMED_OUT: u32 = 3;
    /// The user interrupted it.
    pub const INTERRUPTED: u32 = 4;
}

/// What failed: [`Control::fault`].
pub mod fault {
    /// A system or library call of a step; [`super::Control::fault_number`] is its error.
    pub const STEP: u32 = 1;
    /// More threads than a run may have.
    pub const TOO_MANY: u32 = 2;
    /// A process died of a signal; the number is that signal.
    pub const KILLED: u32 = 3;
    /// All processes ended while threads were left.
    pub const GONE: u32 = 4;
    /// The processes could not be set up; the number is the error.
    pub const SETUP: u32 = 5;
}

/// State of a round.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Control {
    /// 1 once all threads of the start may go; a futex.
    pub go: AtomicU32,
    /// Threads of the start that wait for that; a futex.
    pub ready: AtomicU32,
    /// One of [`end`]; a futex.
    pub end: AtomicU32,
    /// Threads alive that are not daemons.
    pub vital: AtomicU32,
    /// The next free record.
    pub next_record: AtomicU32,
    /// One of [`fault`]; 0: none.
    pub fault: AtomicU32,
    /// Number that goes with it.
    pub fault_number: AtomicI32,
    /// Template and step at which it failed.
    pub fault_spec: AtomicU32,
    /// See [`Self::fault_spec`].
    pub fault_op: AtomicU32,
    /// Process group of the workload; 0 before it exists.
    pub group: AtomicI32,
    /// 1 once the supervisor has ended and awaited every process.
    pub reaped: AtomicU32,
    /// When the threads of the start were let go, ns.
    pub started_at: AtomicU64,
    /// When the round ended, ns; 0: not yet.
    pub ended_at: AtomicU64,
    /// The measured window: ns, 0 without; operations at that time.
    pub begin_at: AtomicU64,
    /// See [`Self::begin_at`].
    pub begin_ops: AtomicU64,
    /// See [`Self::begin_at`].
    pub end_at: AtomicU64,
    /// See [`Self::begin_at`].
    pub end_ops: AtomicU64,
    /// Migrations counted at begin, steady mark and end, and operations at the steady mark.
    pub begin_migrations: AtomicU64,
    /// See [`Self::begin_migrations`].
    pub steady_migrations: AtomicU64,
    /// See [`Self::begin_migrations`].
    pub end_migrations: AtomicU64,
    /// See [`Self::begin_migrations`]; [`u64::MAX`] without a steady mark.
    pub steady_ops: AtomicU64,
    /// CPU time of all processes, us.
    pub cpu_us: AtomicU64,
    /// Their voluntary switches.
    pub voluntary: AtomicU64,
    /// Their involuntary ones.
    pub involuntary: AtomicU64,
    /// 1 if migrations are counted.
    pub counts_migrations: AtomicU32,
    /// Their migrations, from the start to the end of the round.
    pub migrations: AtomicU64,
    /// The counter at the end of the round; see [`Self::begin_migrations`].
    pub last_migrations: AtomicU64,
}

/// A thread, as others see it.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Record {
    /// 1 once it has been called off a roster; a futex.
    pub called: AtomicU32,
    /// The thread below it on the roster, plus 1; 0: none.
    pub below: AtomicU32,
    /// When it was called, ns.
    pub called_at: AtomicU64,
    /// Operations it has done.
    pub ops: AtomicU64,
}

/// Room for an object's shared part. What is in it depends on the object.
#[repr(C, align(64))]
pub struct Slot {
    /// Words that are not used by the library's objects.
    pub words: [AtomicU64; 4],
    /// Futexes.
    pub futexes: [AtomicU32; 4],
    mutex: libc::pthread_mutex_t,
    cond: libc::pthread_cond_t,
    barrier: libc::pthread_barrier_t,
    semaphore: libc::sem_t,
}

impl Slot {
    /// The mutex of a mutex, or that under a condition variable which is waited for without one.
    pub fn mutex(&self) -> *mut libc::pthread_mutex_t {
        std::ptr::from_ref(&self.mutex).cast_mut()
    }

    /// The condition variable.
    pub fn cond(&self) -> *mut libc::pthread_cond_t {
        std::ptr::from_ref(&self.cond).cast_mut()
    }

    /// The barrier.
    pub fn barrier(&self) -> *mut libc::pthread_barrier_t {
        std::ptr::from_ref(&self.barrier).cast_mut()
    }

    /// The semaphore.
    pub fn semaphore(&self) -> *mut libc::sem_t {
        std::ptr::from_ref(&self.semaphore).cast_mut()
    }
}

/// How far a log has been written, and what of it is in the window.
#[repr(C, align(64))]
#[derive(Default)]
pub struct LogHead {
    written: AtomicU64,
    begin: AtomicU64,
    /// Where the window ends, plus 1; 0: no end mark.
    end: AtomicU64,
}

/// The mapping.
pub struct Shared {
    file: File,
    base: NonNull<u8>,
    size: usize,
    slots: usize,
    heads: usize,
    nr_logs: usize,
    entries: usize,
    records: usize,
    nr_objects: usize,
}

// SAFETY: all that the mapping holds is atomic, or an object of the C library that threads and processes share.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Maps and initialises it for `workload`, whose threads are of one address space or several.
    ///
    /// # Errors
    /// Where the system refuses the mapping or an object.
    pub fn new(workload: &Workload, scope: Scope) -> io::Result<Shared> {
        let shared = Shared::map(sys::memory_file(c"round")?, workload, true)?;
        shared.control().steady_ops.store(u64::MAX, Ordering::Relaxed);
        for (id, object) in workload.objects.iter().enumerate() {
            shared.slot(id as u32).set_up(object, scope)?;
        }
        Ok(shared)
    }

    /// Maps what [`Self::new`] has made for the same workload in another program.
    ///
    /// # Errors
    /// Where the file is not such a one, or the system refuses the mapping.
    pub fn again(file: File, workload: &Workload) -> io::Result<Shared> {
        Shared::map(file, workload, false)
    }

    /// The file of the mapping.
    pub fn file(&self) -> &File {
        &self.file
    }

    fn map(file: File, workload: &Workload, new: bool) -> io::Result<Shared> {
        let nr_phases = match &workload.score {
            Score::Points(points) => points.sections.iter().map(|section| section.phases.len()).sum(),
            _ => 0,
        };
        let (nr_objects, nr_logs) = (workload.objects.len(), workload.series.len() + nr_phases);
        let slots = std::mem::size_of::<Control>().next_multiple_of(64);
        let heads = slots + nr_objects * std::mem::size_of::<Slot>();
        let records = heads + nr_logs * std::mem::size_of::<LogHead>();
        let entries = records + RECORDS * std::mem::size_of::<Record>();
        let size = entries + nr_logs * LOG_MAX as usize * std::mem::size_of::<u64>();
        if new {
            file.set_len(size as u64)?;
        } else if file.metadata()?.len() != size as u64 {
            return Err(io::Error::other("the shared memory is not that of this workload"));
        }
        let (flags, fd) = (libc::MAP_SHARED | libc::MAP_NORESERVE, file.as_raw_fd());
        // SAFETY: a new mapping, wherever there is room.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0) };
        let base = NonNull::new(base.cast::<u8>()).filter(|_| base != libc::MAP_FAILED);
        let base = base.ok_or_else(io::Error::last_os_error)?;
        Ok(Shared { file, base, size, slots, heads, nr_logs, entries, records, nr_objects })
    }

    /// The control block.
    pub fn control(&self) -> &Control {
        // SAFETY: the mapping begins with it; zeros are a valid state.
        unsafe { self.base.cast().as_ref() }
    }

    /// The shared part of an object.
    pub fn slot(&self, id: u32) -> &Slot {
        assert!((id as usize) < self.nr_objects);
        // SAFETY: within the mapping, by the layout above; zeros are a valid state.
        unsafe { self.base.add(self.slots).cast::<Slot>().add(id as usize).as_ref() }
    }

    /// The record of a thread.
    pub fn record(&self, id: u32) -> &Record {
        assert!((id as usize) < RECORDS);
        // SAFETY: as above.
        unsafe { self.base.add(self.records).cast::<Record>().add(id as usize).as_ref() }
    }

    /// Takes a record for a new thread; `None` if a run may have no more.
    pub fn take_record(&self) -> Option<u32> {
        let id = self.control().next_record.fetch_add(1, Ordering::Relaxed);
        ((id as usize) < RECORDS).then_some(id)
    }

    fn head(&self, log: usize) -> &LogHead {
        assert!(log < self.nr_logs);
        // SAFETY: as above.
        unsafe { self.base.add(self.heads).cast::<LogHead>().add(log).as_ref() }
    }

    fn entry(&self, log: usize, n: u64) -> &AtomicU64 {
        assert!(log < self.nr_logs && n < LOG_MAX);
        // SAFETY: as above.
        unsafe { self.base.add(self.entries).cast::<AtomicU64>().add(log * LOG_MAX as usize + n as usize).as_ref() }
    }

    /// Reports a value.
    pub fn log(&self, log: usize, value: u64) {
        let n = self.head(log).written.fetch_add(1, Ordering::Relaxed);
        if n < LOG_MAX {
            self.entry(log, n).store(value.saturating_add(1), Ordering::Relaxed);
        }
    }

    /// The values of the window, and how many found no room. One that a thread was about to report as it was killed is
    /// not there.
    pub fn logged(&self, log: usize) -> (Vec<u64>, u64) {
        let head = self.head(log);
        let written = head.written.load(Ordering::Acquire);
        let end = head.end.load(Ordering::Acquire).checked_sub(1).unwrap_or(written);
        let begin = head.begin.load(Ordering::Acquire);
        let values = (begin.min(LOG_MAX)..end.min(LOG_MAX)).filter_map(|n| {
            let value = self.entry(log, n).load(Ordering::Relaxed);
            value.checked_sub(1)
        });
        (values.collect(), end.saturating_sub(begin.max(LOG_MAX)))
    }

    /// Operations of all threads so far.
    pub fn all_ops(&self) -> u64 {
        let records = self.control().next_record.load(Ordering::Acquire).min(RECORDS as u32);
        (0..records).map(|id| self.record(id).ops.load(Ordering::Relaxed)).sum()
    }

    /// The measured window begins, if it has not.
    pub fn begin_window(&self, at: u64, migrations: u64) {
        let c = self.control();
        if c.begin_at.compare_exchange(0, at, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            c.begin_ops.store(self.all_ops(), Ordering::Release);
            c.begin_migrations.store(migrations, Ordering::Release);
            for log in 0..self.nr_logs {
                self.head(log).begin.store(self.head(log).written.load(Ordering::Acquire), Ordering::Release);
            }
        }
    }

    /// The measured window ends, unless a later mark says otherwise.
    pub fn end_window(&self, at: u64, migrations: u64) {
        let c = self.control();
        c.end_at.store(at, Ordering::Release);
        c.end_ops.store(self.all_ops(), Ordering::Release);
        c.end_migrations.store(migrations, Ordering::Release);
        for log in 0..self.nr_logs {
            self.head(log).end.store(self.head(log).written.load(Ordering::Acquire) + 1, Ordering::Release);
        }
    }

    /// Ends the round for this reason (one of [`end`]), unless it has ended; says whether it had not.
    pub fn finish(&self, reason: u32) -> bool {
        let c = self.control();
        let first = c.end.compare_exchange(end::NOT_YET, reason, Ordering::AcqRel, Ordering::Acquire).is_ok();
        sys::futex_wake(&c.end, u32::MAX, Scope::Shared);
        first
    }

    /// Ends the round as failed; the first failure is kept.
    pub fn fail(&self, fault: u32, number: i32, spec: u32, op: u32) {
        let c = self.control();
        if c.fault.compare_exchange(0, fault, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            c.fault_number.store(number, Ordering::Release);
            c.fault_spec.store(spec, Ordering::Release);
            c.fault_op.store(op, Ordering::Release);
            self.finish(end::FAILED);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nothing borrows from it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.size) };
    }
}

impl Slot {
    /// Gives the object its state at the start of the run.
    fn set_up(&self, object: &Object, scope: Scope) -> io::Result<()> {
        let many = scope == Scope::Shared;
        let sharing = if many { libc::PTHREAD_PROCESS_SHARED } else { libc::PTHREAD_PROCESS_PRIVATE };
        let result = match *object {
            Object::Futex { value } => {
                self.futexes[0].store(value, Ordering::Relaxed);
                0
            }
            Object::Mutex => self.set_up_mutex(sharing),
            Object::Cond => {
                let result = self.set_up_mutex(sharing);
                // SAFETY: nobody uses the object yet; the attributes are initialised before use.
                result
                    + unsafe {
                        let mut attr = std::mem::zeroed();
                        libc::pthread_condattr_init(&mut attr);
                        libc::pthread_condattr_setpshared(&mut attr, sharing);
                        libc::pthread_cond_init(self.cond(), &attr)
                    }
            }
            // SAFETY: as above.
            Object::Barrier { parties } => unsafe {
                let mut attr = std::mem::zeroed();
                libc::pthread_barrierattr_init(&mut attr);
                libc::pthread_barrierattr_setpshared(&mut attr, sharing);
                libc::pthread_barrier_init(self.barrier(), &attr, parties)
            },
            // SAFETY: as above.
            Object::Semaphore { value } => match unsafe { libc::sem_init(self.semaphore(), many.into(), value) } {
                0 => 0,
                _ => sys::errno(),
            },
            _ => 0,
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(result))
        }
    }

    fn set_up_mutex(&self, sharing: libc::c_int) -> libc::c_int {
        // SAFETY: nobody uses the object yet; the attributes are initialised before use.
        unsafe {
            let mut attr = std::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attr);
            libc::pthread_mutexattr_setpshared(&mut attr, sharing);
            libc::pthread_mutex_init(self.mutex(), &attr)
        }
    }
}

#[cfg(test)]
mod tests {
    use fairground_machine::Machine;

    use super::*;

    fn shared(spec: &str) -> Shared {
        let workload = Workload::find(spec, &Machine::symmetric(2)).unwrap().0;
        Shared::new(&workload, Scope::Private).unwrap()
    }

    #[test]
    fn a_log_has_what_was_reported_within_the_window() {
        let shared = shared("schbench");
        shared.log(0, 1);
        shared.begin_window(5, 0);
        [0, 2, 3].into_iter().for_each(|value| shared.log(0, value));
        assert_eq!(shared.logged(0), (vec![0, 2, 3], 0));
        shared.begin_window(6, 0);
        shared.end_window(7, 0);
        shared.log(0, 4);
        assert_eq!(shared.logged(0), (vec![0, 2, 3], 0), "the first begin and the last end count");
        assert_eq!(shared.control().begin_at.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn operations_of_all_threads_are_summed() {
        let shared = shared("sched-pipe");
        for ops in [3, 4] {
            let id = shared.take_record().unwrap();
            shared.record(id).ops.store(ops, Ordering::Relaxed);
        }
        assert_eq!(shared.all_ops(), 7);
    }

    #[test]
    fn the_first_failure_is_kept() {
        let shared = shared("sched-pipe");
        shared.fail(fault::STEP, 1, 2, 3);
        shared.fail(fault::KILLED, 9, 0, 0);
        let c = shared.control();
        let kept = [&c.fault, &c.fault_spec, &c.fault_op, &c.end].map(|word| word.load(Ordering::Relaxed));
        assert_eq!(kept, [fault::STEP, 2, 3, end::FAILED]);
        assert!(!shared.finish(end::COMPLETE));
    }
}

//! The state of a worker, in memory that it shares with its parent: the parent can read it after the worker has died.
//!
//! The worker writes at each call of the scheduler and from its signal handlers, and keeps the end of the trace here
//! until it is in the file. The parent reads. Code under test may write anything here: every value is checked before
//! use.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering::Relaxed};

use nix::sys::memfd::{memfd_create, MFdFlags};
use nix::sys::mman::{mmap, munmap, MapFlags, ProtFlags};

use crate::instrumented::{Call, CallHooks, CallSite};

/// Bytes of a trace that are buffered; also the most that is lost if the memory itself is lost.
const HELD_MAX: usize = 1 << 16;
/// Bytes of a name, its end marked by a 0.
const NAME_MAX: usize = 128;

/// Most calls that are noted.
const FRAMES_MAX: usize = 12;

/// Where a process finds its open files.
pub const OPEN_FILES: &str = "/proc/self/fd/";

/// Stands for no task.
const NO_TASK: u64 = u64::MAX;

/// Memory that a worker shares with its parent. It outlives the worker, so the parent can report a crash.
#[repr(C)]
pub struct Shared {
    /// Calls begun so far.
    begun: AtomicU64,
    /// Index in [`Call::ALL`] plus 1; 0 between calls.
    call: AtomicU64,
    cpu: AtomicU64,
    task: AtomicU64,
    time: AtomicU64,
    /// Set by the handler of a deadly signal.
    pub(super) signal: AtomicU64,
    /// The address that the signal is about.
    pub(super) address: AtomicU64,
    /// Offset of the instruction in `library`, or its address where that is empty.
    pub(super) instruction: AtomicU64,
    /// Address space in use, bytes.
    pub(super) in_use: AtomicU64,
    library: [AtomicU8; NAME_MAX],
    /// Offsets in the kernel's library of the calls that led to a fault that it reported, the innermost first; 0 after
    /// the last one.
    pub(super) frames: [AtomicU64; FRAMES_MAX],
    /// Bytes of `bytes` that are not in the file yet.
    held: AtomicU64,
    bytes: [AtomicU8; HELD_MAX],
}

impl Shared {
    /// Notes the file in which a deadly instruction is. Called by a signal handler: copies and nothing else.
    pub(super) fn set_library(&self, path: &[u8]) {
        for (to, from) in self.library[..NAME_MAX - 1].iter().zip(path) {
            to.store(*from, Relaxed);
        }
    }
}

/// A mapping of [`Shared`] into this process.
pub struct SharedState(NonNull<Shared>);

// SAFETY: everything behind the pointer is atomic, and the mapping lives as long as this.
unsafe impl Send for SharedState {}
// SAFETY: as above.
unsafe impl Sync for SharedState {}

impl SharedState {
    /// New memory, all 0, and the descriptor by which a worker reaches it.
    ///
    /// # Errors
    /// What the system says.
    pub fn create() -> io::Result<(SharedState, OwnedFd)> {
        let fd = memfd_create("fairground-place", MFdFlags::MFD_CLOEXEC)?;
        nix::unistd::ftruncate(&fd, size_of::<Shared>() as i64)?;
        Ok((SharedState::map(&fd)?, fd))
    }

    /// The memory behind a descriptor from [`SharedState::create`].
    ///
    /// # Errors
    /// What the system says; a descriptor of something else.
    pub fn map(fd: &impl AsFd) -> io::Result<SharedState> {
        if nix::sys::stat::fstat(fd)?.st_size != size_of::<Shared>() as i64 {
            return Err(io::Error::other("not a worker's place"));
        }
        const SIZE: NonZeroUsize = NonZeroUsize::new(size_of::<Shared>()).expect("not empty");
        let rw = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping, as long as the file.
        let memory = unsafe { mmap(None, SIZE, rw, MapFlags::MAP_SHARED, fd, 0)? };
        Ok(SharedState(memory.cast()))
    }

    pub(super) fn shared(&self) -> &Shared {
        // SAFETY: mapped until this is dropped; all bit patterns are valid.
        unsafe { self.0.as_ref() }
    }

    /// Records that a call of the scheduler begins.
    pub fn enter(&self, site: CallSite) {
        let s = self.shared();
        s.cpu.store(site.cpu.into(), Relaxed);
        s.task.store(site.task.map_or(NO_TASK, u64::from), Relaxed);
        s.time.store(site.time, Relaxed);
        s.begun.store(s.begun.load(Relaxed).wrapping_add(1), Relaxed);
        s.call.store(site.call as u64 + 1, Relaxed);
    }

    /// Records that the call has returned.
    pub fn leave(&self) {
        self.shared().call.store(0, Relaxed);
    }

    /// Calls begun so far: it changes as long as something goes on.
    pub fn begun(&self) -> u64 {
        self.shared().begun.load(Relaxed)
    }

    /// Virtual time of the last call, ns.
    pub fn time(&self) -> u64 {
        self.shared().time.load(Relaxed)
    }

    /// The call in progress; `None` between calls.
    pub fn site(&self) -> Option<CallSite> {
        let s = self.shared();
        let call = *Call::ALL.get(usize::try_from(s.call.load(Relaxed)).ok()?.checked_sub(1)?)?;
        let task = u32::try_from(s.task.load(Relaxed)).ok();
        Some(CallSite { call, cpu: s.cpu.load(Relaxed) as u32, task, time: self.time() })
    }

    /// What a deadly signal has left.
    pub fn crash(&self) -> Option<Crash> {
        let s = self.shared();
        let library: Vec<u8> = s.library.iter().map(|b| b.load(Relaxed)).take_while(|b| *b != 0).collect();
        (s.signal.load(Relaxed) != 0).then(|| Crash {
            address: s.address.load(Relaxed),
            instruction: s.instruction.load(Relaxed),
            in_use: s.in_use.load(Relaxed),
            library: String::from_utf8_lossy(&library).into_owned(),
        })
    }

    /// Offsets in the kernel's library of the calls that led to a reported fault, the innermost first.
    pub fn frames(&self) -> Vec<u64> {
        self.shared().frames.iter().map(|frame| frame.load(Relaxed)).take_while(|frame| *frame != 0).collect()
    }

    /// The end of the trace that has not come into the file, whole lines only.
    pub fn held(&self) -> Vec<u8> {
        let s = self.shared();
        let n = (s.held.load(Relaxed) as usize).min(HELD_MAX);
        let mut bytes: Vec<u8> = s.bytes[..n].iter().map(|b| b.load(Relaxed)).collect();
        bytes.truncate(bytes.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1));
        bytes
    }
}

impl Drop for SharedState {
    fn drop(&mut self) {
        // SAFETY: unmaps this mapping; no borrow of it is left.
        let _ = unsafe { munmap(self.0.cast(), size_of::<Shared>()) };
    }
}

impl CallHooks for &SharedState {
    fn enter(&mut self, site: CallSite) {
        SharedState::enter(self, site);
    }

    fn leave(&mut self, _: Call) {
        SharedState::leave(self);
    }
}

/// What the handler of a deadly signal saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The address that the signal is about.
    pub address: u64,
    /// Offset of the instruction in the library, or its address where that has no name.
    pub instruction: u64,
    /// Address space in use, bytes.
    pub in_use: u64,
    /// The file that holds the instruction.
    pub library: String,
}

impl Crash {
    /// Whether the instruction is of the built kernel: it alone is loaded by the number of an open file.
    pub fn in_kernel(&self) -> bool {
        self.library.starts_with(OPEN_FILES)
    }
}

/// A buffered writer whose buffer outlives the process.
pub struct Held<'a, W: Write> {
    place: &'a SharedState,
    out: W,
}

impl<'a, W: Write> Held<'a, W> {
    /// A writer to `out` whose buffer is in `place`.
    pub fn new(place: &'a SharedState, out: W) -> Self {
        Held { place, out }
    }

    fn empty(&mut self) -> io::Result<()> {
        let s = self.place.shared();
        let n = (s.held.load(Relaxed) as usize).min(HELD_MAX);
        let bytes: Vec<u8> = s.bytes[..n].iter().map(|b| b.load(Relaxed)).collect();
        self.out.write_all(&bytes)?;
        s.held.store(0, Relaxed);
        Ok(())
    }
}

impl<W: Write> Write for Held<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let s = self.place.shared();
        let mut held = (s.held.load(Relaxed) as usize).min(HELD_MAX);
        if held == HELD_MAX {
            self.empty()?;
            held = 0;
        }
        let n = bytes.len().min(HELD_MAX - held);
        for (to, from) in s.bytes[held..held + n].iter().zip(bytes) {
            to.store(*from, Relaxed);
        }
        s.held.store((held + n) as u64, Relaxed);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.empty()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_see_the_same() {
        let (parent, fd) = SharedState::create().unwrap();
        let worker = SharedState::map(&fd).unwrap();
        assert_eq!(parent.site(), None);
        let site = CallSite { call: Call::Wake, cpu: 3, task: Some(7), time: 1_250 };
        worker.enter(site);
        assert_eq!((parent.site(), parent.begun(), parent.time()), (Some(site), 1, 1_250));
        worker.leave();
        assert_eq!((parent.site(), parent.begun(), parent.time()), (None, 1, 1_250));
    }

    #[test]
    fn calls_keep_their_numbers() {
        assert!(Call::ALL.iter().enumerate().all(|(i, call)| *call as usize == i));
    }

    #[test]
    fn garbage_is_not_a_call() {
        let (place, _fd) = SharedState::create().unwrap();
        for garbage in [Call::ALL.len() as u64 + 1, u64::MAX] {
            place.shared().call.store(garbage, Relaxed);
            assert_eq!(place.site(), None);
        }
        place.shared().held.store(u64::MAX, Relaxed);
        assert_eq!(place.held(), Vec::<u8>::new());
    }

    #[test]
    fn what_is_held_and_what_is_written_make_the_whole() {
        let (place, _fd) = SharedState::create().unwrap();
        let mut file = Vec::new();
        let mut all = Vec::new();
        let mut out = Held::new(&place, &mut file);
        for i in 0..20_000 {
            let line = format!("line {i}\n");
            out.write_all(line.as_bytes()).unwrap();
            all.extend_from_slice(line.as_bytes());
        }
        out.write_all(b"half a li").unwrap();
        assert!(!file.is_empty() && file.len() < all.len());
        file.extend(place.held());
        assert_eq!(file, all);
    }

    #[test]
    fn another_file_is_refused() {
        let file = std::fs::File::open("Cargo.toml").unwrap();
        assert!(SharedState::map(&file).is_err());
    }
}

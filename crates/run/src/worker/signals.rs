//! Signal handlers: a dying worker notes the place of its end in the memory that it shares with its parent.

use std::ffi::CStr;
use std::io;
use std::os::raw::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use nix::sys::signal::{sigaction, SaFlags, SigAction, SigHandler, SigSet, Signal};

use super::shared_state::{Shared, SharedState, OPEN_FILES};

/// Signals by which code ends itself.
const DEADLY: [Signal; 6] =
    [Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGILL, Signal::SIGFPE, Signal::SIGABRT, Signal::SIGTRAP];

/// Bytes of the handler's stack. The stack of the code under test may be full.
const STACK: usize = 1 << 16;

static SHARED: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());

/// Deadly signals of this thread, which runs the scheduler, note their place in `place`. They still kill.
///
/// # Errors
/// What the system says.
pub fn record_in(place: &'static SharedState) -> io::Result<()> {
    SHARED.store(ptr::from_ref(place.shared()).cast_mut(), Relaxed);
    let stack = Box::leak(vec![0u8; STACK].into_boxed_slice());
    let stack = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK };
    // SAFETY: memory that is never freed.
    if unsafe { libc::sigaltstack(&stack, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // After the handler has returned the instruction is tried again, and its signal kills.
    let flags = SaFlags::SA_ONSTACK | SaFlags::SA_RESETHAND | SaFlags::SA_SIGINFO;
    let action = SigAction::new(SigHandler::SigAction(note), flags, SigSet::empty());
    for signal in DEADLY {
        // SAFETY: the handler only copies plain data.
        unsafe { sigaction(signal, &action)? };
    }
    Ok(())
}

extern "C" fn note(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: set from a place that is never unmapped.
    let Some(shared) = (unsafe { SHARED.load(Relaxed).as_ref() }) else { return };
    // SAFETY: the system passes both with SA_SIGINFO.
    let (address, instruction) = unsafe { ((*info).si_addr() as u64, instruction(context)) };
    shared.address.store(address, Relaxed);
    shared.instruction.store(instruction, Relaxed);
    shared.in_use.store(address_space(), Relaxed);
    shared.signal.store(signal as u64, Relaxed);
    // Last: it takes a lock of the loader, which the code that died may hold.
    note_library(shared, instruction);
}

/// The instruction that was interrupted; 0 where we do not know the registers.
unsafe fn instruction(context: *mut c_void) -> u64 {
    let context = context.cast::<libc::ucontext_t>();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller passes what the system gave.
    return unsafe { (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as u64 };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    return unsafe { (*context).uc_mcontext.pc };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return {
        let _ = context;
        0
    };
}

/// Notes where the kernel's code was as it reported its end: return addresses, the innermost first.
pub fn note_frames(frames: &[u64]) {
    // SAFETY: set from a place that is never unmapped.
    let Some(shared) = (unsafe { SHARED.load(Relaxed).as_ref() }) else { return };
    let mut found = frames.iter().filter_map(|frame| {
        let (library, offset) = place(*frame)?;
        // The call is before the address to which it returns.
        library.to_bytes().starts_with(OPEN_FILES.as_bytes()).then_some(offset - 1)
    });
    shared.frames.iter().zip(&mut found).for_each(|(to, offset)| to.store(offset, Relaxed));
}

/// The file that holds an instruction, and the instruction's offset in it.
fn place(instruction: u64) -> Option<(&'static CStr, u64)> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked about; names live as long as their library, and no library is closed.
    unsafe {
        if libc::dladdr(instruction as *const c_void, found.as_mut_ptr()) == 0 {
            return None;
        }
        let found = found.assume_init();
        (!found.dli_fname.is_null()).then(|| (CStr::from_ptr(found.dli_fname), instruction - found.dli_fbase as u64))
    }
}

fn note_library(shared: &Shared, instruction: u64) {
    if let Some((library, offset)) = place(instruction) {
        shared.instruction.store(offset, Relaxed);
        shared.set_library(library.to_bytes());
    }
}

/// VmSize of this process, bytes, by system calls alone; 0 if it cannot be read.
fn address_space() -> u64 {
    let mut text = [0u8; 32];
    // SAFETY: a constant path, a buffer of our own and its length.
    let n = unsafe {
        let fd = libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return 0;
        }
        let n = libc::read(fd, text.as_mut_ptr().cast(), text.len());
        libc::close(fd);
        n
    };
    let digits = text[..n.max(0) as usize].iter().take_while(|b| b.is_ascii_digit());
    let pages = digits.fold(0u64, |n, b| n * 10 + u64::from(b - b'0'));
    // SAFETY: a question about a constant.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

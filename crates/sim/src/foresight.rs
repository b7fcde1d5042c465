//! Memory that is about to be needed, asked for ahead of time.
//!
//! What is known of a thousand CPUs and ten thousand tasks is more than the caches of one core hold, so most events of a
//! large machine begin by waiting for memory. Which event comes next is mostly known while one is carried out.

/// Bytes that come together.
const LINE: usize = 64;

/// Asks for all of `what`, without waiting for it. Nothing but the time of the host depends on it; where the processor has
/// no such request that can be made, nothing happens.
#[inline(always)]
pub fn fetch_ahead<T>(what: &T) {
    for at in (0..size_of::<T>()).step_by(LINE) {
        fetch_line(std::ptr::from_ref(what).cast::<i8>().wrapping_add(at));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch_line(at: *const i8) {
    use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
    // SAFETY: it may be given any address; that it needs SSE is no condition here, all such processors have it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_line(_at: *const i8) {}

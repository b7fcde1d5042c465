//! Software prefetch.
//!
//! The state of a thousand CPUs and ten thousand tasks is larger than the caches of one core, so most events of a
//! large machine begin by waiting for memory. The next event is mostly known while the present one is carried out.

/// Bytes of a cache line of the host.
const LINE: usize = 64;

/// Prefetches all of `what` into the host's caches. Only the host's run time depends on it; where the processor has
/// no prefetch instruction, nothing happens.
#[inline(always)]
pub fn prefetch_value<T>(what: &T) {
    prefetch_start(what, size_of::<T>());
}

/// The same of the first `bytes` of `what`: the host has room for a dozen requests at a time, so that what is rarely read
/// would stand in the way of what always is.
#[inline(always)]
pub fn prefetch_start<T>(what: &T, bytes: usize) {
    for at in (0..bytes.min(size_of::<T>())).step_by(LINE) {
        fetch_line(std::ptr::from_ref(what).cast::<i8>().wrapping_add(at));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch_line(at: *const i8) {
    use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
    // SAFETY: it takes any address. It needs SSE, which all x86-64 processors have.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_line(_at: *const i8) {}

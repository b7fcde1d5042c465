//! Work in ns: a loop whose time per iteration is measured, as rt-app does.
//!
//! The least of many short rounds counts: what disturbs a round only makes it longer. An iteration depends on the one
//! before it and touches no memory. The walk over a footprint is measured alike, with its lines in the caches.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io;

use fairground_machine::{CpuId, CpuMask};
use serde::{Deserialize, Serialize};

use crate::sys;

/// Bytes from one line that is read to the next.
const LINE: usize = 64;
/// Length of a measured round, ns, about.
const ROUND_NS: f64 = 50_000.0;
/// Rounds that are measured at least.
const ROUNDS_MIN: u32 = 1000;
/// Walks over a footprint that are measured.
const WALKS: u32 = 100;

/// One after another, since each needs what the one before it has made.
#[inline(never)]
pub fn spin(iterations: u64) {
    let mut x = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..iterations {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x);
}

/// How long things take on a CPU that runs at full speed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The CPU on which it was measured.
    pub cpu: CpuId,
    /// Time of an iteration of the loop that work is made of, ns.
    pub iteration_ns: f64,
    /// Time of a walk over a footprint that the caches hold, ns, by its size in KiB.
    walks_ns: BTreeMap<u32, u64>,
}

impl Calibration {
    /// Measures on `cpu`, for about a tenth of a second on a CPU that nobody else uses; the walks over footprints of
    /// `sizes` KiB too.
    ///
    /// # Errors
    /// If the calling process may not use the CPU.
    pub fn measure(cpu: CpuId, sizes: impl IntoIterator<Item = u32>) -> io::Result<Calibration> {
        let sizes: Vec<u32> = sizes.into_iter().collect();
        // A thread of its own: affinity is a thread's.
        let measured = std::thread::spawn(move || {
            sys::set_affinity(&CpuMask::single(cpu))?;
            let iteration_ns = iteration_ns();
            let walk = |kib| Footprint::new(kib).map(|footprint| (kib, least_walk_ns(&footprint)));
            let walks_ns = sizes.into_iter().map(walk).collect::<io::Result<_>>()?;
            Ok(Calibration { cpu, iteration_ns, walks_ns })
        });
        measured.join().unwrap_or_else(|_| Err(io::Error::other("the thread that measures has failed")))
    }

    /// The iterations that take this much work, ns.
    pub fn iterations(&self, work_ns: u64) -> u64 {
        (work_ns as f64 / self.iteration_ns) as u64
    }

    /// Does `work_ns` of work, and reads the lines of the footprint as part of it: all that fit into the work, from
    /// where the last walk stopped.
    pub fn work(&self, work_ns: u64, footprint: Option<&mut Footprint>) {
        let mut left = work_ns;
        if let Some(footprint) = footprint {
            let whole_ns = self.walks_ns.get(&footprint.kib).copied().unwrap_or(0).max(1);
            let lines = footprint.lines() as u64;
            let fitting = (u128::from(lines) * u128::from(left) / u128::from(whole_ns)).min(lines.into()) as u64;
            footprint.walk(fitting as usize);
            left -= (u128::from(whole_ns) * u128::from(fitting) / u128::from(lines)) as u64;
        }
        spin(self.iterations(left));
    }
}

fn iteration_ns() -> f64 {
    let mut iterations = 1000u64;
    let mut least = f64::MAX;
    for _ in 0..ROUNDS_MIN {
        let begin = sys::now();
        spin(iterations);
        let ns = (sys::now() - begin).max(1) as f64;
        least = least.min(ns / iterations as f64);
        iterations = (ROUND_NS / least).max(1000.0) as u64;
    }
    least
}

fn least_walk_ns(footprint: &Footprint) -> u64 {
    let walk = || {
        let begin = sys::now();
        footprint.read(0..footprint.lines());
        sys::now() - begin
    };
    (0..WALKS).map(|_| walk()).min().unwrap_or(0)
}

/// The working set of a thread.
pub struct Footprint {
    base: *const u8,
    kib: u32,
    next: usize,
}

impl Footprint {
    /// Memory of this size, touched; `kib` is above 0.
    pub fn new(kib: u32) -> io::Result<Footprint> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let (size, protection) = (kib as usize * 1024, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a new mapping, wherever there is room.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Written: pages that are only read are all the same page of zeros.
        // SAFETY: the mapping has `size` bytes.
        unsafe { std::ptr::write_bytes(base.cast::<u8>(), 1, size) };
        Ok(Footprint { base: base.cast(), kib, next: 0 })
    }

    fn lines(&self) -> usize {
        self.kib as usize * 1024 / LINE
    }

    fn read(&self, lines: std::ops::Range<usize>) {
        for line in lines {
            // SAFETY: the mapping has that many lines. Volatile: the value is of no use, the read is.
            unsafe { self.base.add(line * LINE).read_volatile() };
        }
    }

    /// Reads this many lines, at most all, from where the last walk stopped.
    fn walk(&mut self, lines: usize) {
        let end = self.next + lines;
        self.read(self.next..end.min(self.lines()));
        if end > self.lines() {
            self.read(0..end - self.lines());
        }
        self.next = end % self.lines();
    }
}

impl Drop for Footprint {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`.
        unsafe { libc::munmap(self.base.cast_mut().cast(), self.kib as usize * 1024) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_becomes_iterations_by_their_measured_time() {
        let calibration = Calibration { cpu: 0, iteration_ns: 0.5, walks_ns: BTreeMap::new() };
        assert_eq!(calibration.iterations(1000), 2000);
        let cpu = sys::affinity().unwrap().first().unwrap();
        let measured = Calibration::measure(cpu, [4]).unwrap();
        assert!(measured.iteration_ns > 0.0 && measured.walks_ns.contains_key(&4), "{measured:?}");
    }

    /// 1 KiB has 16 lines. A walk over all is put at 160 ns: 100 ns of work have room for 10, 1000 for all.
    #[test]
    fn a_burst_reads_the_lines_that_fit_and_goes_on_there() {
        let calibration = Calibration { cpu: 0, iteration_ns: 1.0, walks_ns: [(1, 160)].into_iter().collect() };
        let mut footprint = Footprint::new(1).unwrap();
        calibration.work(100, Some(&mut footprint));
        assert_eq!(footprint.next, 10);
        calibration.work(100, Some(&mut footprint));
        assert_eq!(footprint.next, 4);
        calibration.work(1000, Some(&mut footprint));
        assert_eq!(footprint.next, 4, "all of them once");
    }
}

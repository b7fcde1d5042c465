//! Probes: code that measures a figure by itself, where a workload has no word for it.
//!
//! A null system call, lines that another CPU has modified, and footprints that have to be read from farther away. A thread of its
//! own prepares what it needs on one CPU, has itself moved to another by sched_setaffinity(2), and reads there.
//!
//! Lines are visited in the order of a linear congruential generator of full period, which no prefetcher follows. *Dependent*
//! reads need the value of the read before them for their address; *independent* ones go out as many at a time as the core
//! can have in flight. What a program pays for a line of its footprint lies between the two, so a refill is stated as their geometric
//! mean, and that nine of ten programs lie between them is its spread.

use std::hint::black_box;
use std::io;
use std::time::Instant;

use fairground_machine::{CpuId, CpuMask};
use fairground_play::set_affinity;

use crate::estimate::median;

/// Bytes of a cache line, and lines of a KiB.
const LINE: usize = 64;
const LINES_PER_KIB: f64 = 16.0;
/// Lines that are passed from one CPU to another, a power of two: half of the smallest first-level cache.
const PASSED: usize = 256;
/// System calls of a batch, batches, and how often what passes between CPUs is repeated.
const CALLS: u32 = 500;
const BATCHES: usize = 41;
const PASSES: usize = 31;
/// Lines that one measurement of a walk reads.
const WALK: usize = 1 << 14;
const WALKS: usize = 5;
/// Half of the width of an interval that holds nine of ten, in standard deviations.
const HALF_OF_90: f64 = 1.645;

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// A system call that does nothing, ns.
    Call {
        /// Where.
        cpu: CpuId,
    },
    /// A line that another CPU has modified, taken over to be modified, beyond one that is there already, ns.
    LineOwned {
        /// Who has modified it.
        from: CpuId,
        /// Who takes it.
        to: CpuId,
    },
    /// The same, to be read only.
    LineRead {
        /// Who has modified it.
        from: CpuId,
        /// Who reads it.
        to: CpuId,
    },
    /// 1 KiB of a footprint of this size that is walked over and over, ns.
    Walk {
        /// Where.
        cpu: CpuId,
        /// Size of the footprint, KiB.
        kib: u32,
    },
    /// 1 KiB of a footprint of this size that has been used on another CPU, ns.
    Moved {
        /// Where it was used.
        from: CpuId,
        /// Where it is read.
        to: CpuId,
        /// Size of the footprint, KiB.
        kib: u32,
        /// Share of its lines that were modified, thousandths.
        modified_permille: u32,
    },
}

/// A figure as measured once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The figure, ns.
    pub ns: f64,
    /// Within what factor two thirds of what it may mean lie; 1: it means one thing.
    pub spread: f64,
}

impl Reading {
    fn exact(ns: f64) -> Reading {
        Reading { ns, spread: 1.0 }
    }

    /// Between independent and dependent reads.
    fn between(independent: f64, dependent: f64) -> Reading {
        let (low, high) = (independent.min(dependent).max(f64::MIN_POSITIVE), dependent.max(independent));
        Reading { ns: (low * high).sqrt(), spread: ((high / low).ln() / 2.0 / HALF_OF_90).exp() }
    }
}

impl Probe {
    /// Measures it once, on a thread of its own: some milliseconds, for a walk over memory up to some tenths of a second.
    ///
    /// # Errors
    /// If the thread may not use the CPUs, or if there is no room.
    pub fn measure(&self) -> io::Result<Reading> {
        let probe = self.clone();
        std::thread::spawn(move || probe.measure_here())
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that measures has failed")))
    }

    /// Memory that it needs, KiB.
    pub fn needs_kib(&self) -> u32 {
        match self {
            Probe::Walk { kib, .. } | Probe::Moved { kib, .. } => *kib,
            _ => 0,
        }
    }

    fn measure_here(&self) -> io::Result<Reading> {
        let bind = |cpu: CpuId| set_affinity(&CpuMask::single(cpu));
        match *self {
            Probe::Call { cpu } => {
                bind(cpu)?;
                Ok(Reading::exact(median(&(0..BATCHES).map(|_| call_ns()).collect::<Vec<_>>())))
            }
            Probe::LineOwned { from, to } => Ok(Reading::exact(passed_ns(from, to, Lines::take_all)?)),
            Probe::LineRead { from, to } => Ok(Reading::exact(passed_ns(from, to, Lines::read_dependent)?)),
            Probe::Walk { cpu, kib } => {
                bind(cpu)?;
                let lines = Lines::new(kib as usize * 1024 / LINE)?;
                let mut at = lines.read_independent(0, lines.len());
                let mut walk = |read: fn(&Lines, usize, usize) -> usize| {
                    let times = (0..WALKS).map(|_| timed(|| at = read(&lines, at, WALK)) / WALK as f64);
                    LINES_PER_KIB * median(&times.collect::<Vec<_>>())
                };
                Ok(Reading::between(walk(Lines::read_independent), walk(Lines::read_dependent)))
            }
            Probe::Moved { from, to, kib, modified_permille } => {
                let lines = Lines::new(kib as usize * 1024 / LINE)?;
                let moved = |read: fn(&Lines, usize, usize) -> usize| -> io::Result<f64> {
                    let mut times = Vec::new();
                    for _ in 0..WALKS {
                        bind(from)?;
                        lines.read_independent(0, lines.len());
                        lines.write_share(modified_permille);
                        bind(to)?;
                        times.push(timed(|| _ = black_box(read(&lines, 0, lines.len()))) / lines.len() as f64);
                    }
                    Ok(LINES_PER_KIB * median(&times))
                };
                Ok(Reading::between(moved(Lines::read_independent)?, moved(Lines::read_dependent)?))
            }
        }
    }
}

/// Time of a call, ns.
fn call_ns() -> f64 {
    let calls = || {
        for _ in 0..CALLS {
            // SAFETY: no arguments.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
    };
    timed(calls) / f64::from(CALLS)
}

/// Time that a line takes beyond one that is there already, ns.
fn passed_ns(from: CpuId, to: CpuId, visit: fn(&Lines, usize, usize) -> usize) -> io::Result<f64> {
    let (lines, others) = (Lines::new(PASSED)?, Lines::new(PASSED)?);
    let mut times = Vec::new();
    for _ in 0..PASSES {
        set_affinity(&CpuMask::single(from))?;
        lines.write_share(1000);
        set_affinity(&CpuMask::single(to))?;
        // The code and the clock come to this CPU before the lines do.
        timed(|| _ = black_box(visit(&others, 0, PASSED)));
        let far = timed(|| _ = black_box(visit(&lines, 0, PASSED)));
        let near = timed(|| _ = black_box(visit(&lines, 0, PASSED)));
        times.push((far - near) / PASSED as f64);
    }
    Ok(median(&times).max(0.0))
}

fn timed(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_nanos() as f64
}

/// Cache lines of zeros, a power of two of them, one beside the other.
struct Lines {
    base: *mut usize,
    bytes: usize,
    mask: usize,
}

impl Lines {
    /// At most `lines`, at least one.
    fn new(lines: usize) -> io::Result<Lines> {
        let lines = (lines / 2 + 1).next_power_of_two();
        let bytes = lines * LINE;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, wherever there is room.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Large pages where there are any: address translation is no part of a line's price. No harm if it is refused.
        // SAFETY: the mapping is ours.
        unsafe { libc::madvise(base, bytes, libc::MADV_HUGEPAGE) };
        let all = Lines { base: base.cast(), bytes, mask: lines - 1 };
        // Pages that were never written are all the same one.
        all.write_share(1000);
        Ok(all)
    }

    fn len(&self) -> usize {
        self.mask + 1
    }

    fn line(&self, index: usize) -> *mut usize {
        // SAFETY: the mapping has `mask + 1` lines.
        unsafe { self.base.byte_add((index & self.mask) * LINE) }
    }

    /// The index after this one in an order of full period: the multiplier is 1 modulo 4, the increment odd.
    fn after(index: usize, value: usize) -> usize {
        index.wrapping_mul(0x5851_f42d).wrapping_add(0x14057b7f).wrapping_add(value)
    }

    /// Reads `n` lines from `index` on, each address known only after the line before. Where it came to.
    fn read_dependent(&self, mut index: usize, n: usize) -> usize {
        for _ in 0..n {
            // SAFETY: within the mapping. Volatile: that it is always 0 the compiler must not know.
            index = Self::after(index, unsafe { self.line(index).read_volatile() }) & self.mask;
        }
        index
    }

    /// As [`Self::read_dependent`], with addresses that need no line.
    fn read_independent(&self, mut index: usize, n: usize) -> usize {
        let mut sum = 0usize;
        for _ in 0..n {
            // SAFETY: as above.
            sum = sum.wrapping_add(unsafe { self.line(index).read_volatile() });
            index = Self::after(index, 0) & self.mask;
        }
        black_box(sum);
        index
    }

    /// As [`Self::read_dependent`], of lines that are owned: an atomic addition of 0.
    fn take_all(&self, mut index: usize, n: usize) -> usize {
        use std::sync::atomic::{AtomicUsize, Ordering};
        for _ in 0..n {
            // SAFETY: within the mapping, aligned, and nobody else uses it.
            let value = unsafe { AtomicUsize::from_ptr(self.line(index)) }.fetch_add(0, Ordering::AcqRel);
            index = Self::after(index, value) & self.mask;
        }
        index
    }

    /// Writes this share of the lines, evenly.
    fn write_share(&self, permille: u32) {
        let mut due = 0;
        for line in 0..self.len() {
            due += permille;
            if due >= 1000 {
                due -= 1000;
                // SAFETY: as above.
                unsafe { self.line(line).write_volatile(0) };
            }
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_visits_each_line_once() {
        let lines = Lines::new(1000).unwrap();
        assert_eq!(lines.len(), 512);
        let mut seen = vec![false; lines.len()];
        let mut index = 0;
        for _ in 0..lines.len() {
            assert!(!std::mem::replace(&mut seen[index], true), "{index} twice");
            index = Lines::after(index, 0) & lines.mask;
        }
        assert_eq!(index, 0);
        let ends = [Lines::read_dependent, Lines::read_independent, Lines::take_all].map(|read| read(&lines, 0, 300));
        assert!(ends[0] == ends[1] && ends[1] == ends[2], "{ends:?}");
    }

    /// Nine of ten lie within 1.645 spreads of the geometric mean: 10 and 1000 are a factor of 10 off 100.
    #[test]
    fn a_refill_lies_between_independent_and_dependent_reads() {
        let reading = Reading::between(10.0, 1000.0);
        assert!((reading.ns - 100.0).abs() < 1e-9 && (reading.spread.powf(1.645) - 10.0).abs() < 1e-9, "{reading:?}");
        assert_eq!(Reading::between(5.0, 5.0), Reading { ns: 5.0, spread: 1.0 });
    }

    /// That they come to an end with a figure; how large it is says nothing on a machine that runs tests.
    #[test]
    fn probes_measure_something() {
        let cpu = fairground_play::affinity().unwrap().first().unwrap();
        let walk = Probe::Walk { cpu, kib: 64 };
        for probe in [Probe::Call { cpu }, Probe::LineRead { from: cpu, to: cpu }, walk] {
            let Reading { ns, spread } = probe.measure().unwrap();
            assert!(ns >= 0.0 && ns.is_finite() && spread >= 1.0, "{probe:?}");
        }
        let nowhere = fairground_machine::NR_CPUS as CpuId - 1;
        if !fairground_play::affinity().unwrap().test(nowhere) {
            assert!(Probe::Call { cpu: nowhere }.measure().is_err());
        }
    }
}

//! Caches: how long a task's lines stay cached while it is not running, and what refilling costs.

use crate::{CpuId, CpuMask, Distance};

/// The caches of a machine, and what lies behind them.
#[derive(Clone, Debug, PartialEq)]
pub struct Caches {
    /// All caches, nearer ones of a CPU before farther ones. Any two hold disjoint CPUs, or one holds more than the
    /// other; every CPU has 1 to [`Caches::MAX_LEVELS`].
    pub all: Vec<Cache>,
    /// Share of its footprint that a task writes each time it runs, 0 to 1: after a change of CPU these lines are only
    /// where it ran before, whatever older copies other caches hold.
    pub modified: f64,
    /// Refilling 1 KiB from memory, ns, by the [`Distance`] to the CPU on which the task first ran, in whose node its
    /// memory is; 0 nearer than [`Distance::Node`]: see [`Caches::memory_kib`].
    pub memory_kib_ns: [u64; Distance::COUNT],
}

/// A cache. What a core has for itself at several levels is one cache, as large as the largest of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// The CPUs that share it.
    pub cpus: CpuMask,
    /// Its size, KiB, 1 to [`Cache::MAX_KIB`].
    pub size_kib: u32,
    /// Refilling 1 KiB of nearer caches with unmodified lines from here, ns; not scaled. Of the
    /// nearest cache 0: what hits there take is in the software costs.
    pub refill_kib_ns: u64,
}

impl Cache {
    /// The largest size, KiB: 4 GiB.
    pub const MAX_KIB: u32 = 1 << 22;
}

impl Caches {
    /// The most caches that one CPU has behind each other.
    pub const MAX_LEVELS: usize = 4;

    /// The caches of a CPU by their index in [`Caches::all`], nearest first.
    pub fn for_cpu(&self, cpu: CpuId) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.all.iter().enumerate().filter(move |(_, cache)| cache.cpus.test(cpu)).map(|(i, _)| i)
    }

    /// Refilling 1 KiB from memory of the node of a CPU at this distance, ns.
    pub fn memory_kib(&self, distance: Distance) -> u64 {
        self.memory_kib_ns[distance.max(Distance::Node) as usize]
    }
}

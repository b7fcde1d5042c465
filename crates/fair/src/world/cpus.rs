//! The run queues, and a mask of those that may have changed.

use std::ops::{Index, IndexMut};

use fairground_machine::{CpuId, CpuMask};

use crate::ffi::*;
use crate::storage::Slab;

/// Run queues by CPU. Every access that may write to one marks it as touched.
pub(crate) struct Cpus {
    slab: Slab<FgCpu>,
    touched: CpuMask,
}

impl Cpus {
    /// Marks all of them as touched.
    pub fn new(cpus: Vec<FgCpu>) -> Cpus {
        Cpus { touched: CpuMask::first_n(cpus.len()), slab: Slab::new(cpus) }
    }

    /// Number of CPUs.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// The address of a run queue, for writing: marks it as touched. Panics if there is no such CPU.
    #[inline]
    pub fn ptr(&mut self, cpu: usize) -> *mut FgCpu {
        self.touched.set(cpu as CpuId);
        self.slab.ptr(cpu)
    }

    /// The address of a run queue, for reading. Panics if there is no such CPU.
    #[inline]
    pub fn peek(&self, cpu: usize) -> *const FgCpu {
        self.slab.ptr(cpu)
    }

    /// Marks a run queue as touched that is written through another pointer.
    #[inline]
    pub fn touch(&mut self, cpu: usize) {
        self.touched.set(cpu as CpuId);
    }

    /// CPUs touched since the last [`Self::take_touched`].
    pub fn touched(&self) -> &CpuMask {
        &self.touched
    }

    /// Returns the touched CPUs of `span` and clears their marks.
    pub fn take_touched(&mut self, span: &CpuMask) -> CpuMask {
        let taken = self.touched.and(span);
        self.touched = self.touched.minus(&taken);
        taken
    }
}

impl Index<usize> for Cpus {
    type Output = FgCpu;

    fn index(&self, cpu: usize) -> &FgCpu {
        &self.slab[cpu]
    }
}

impl IndexMut<usize> for Cpus {
    fn index_mut(&mut self, cpu: usize) -> &mut FgCpu {
        self.touched.set(cpu as CpuId);
        &mut self.slab[cpu]
    }
}

//! The run queues, and which of them may have changed.

use std::ops::{Index, IndexMut};

use fairground_machine::{CpuId, CpuMask};

use crate::ffi::*;
use crate::storage::Slab;

/// Run queues by CPU. Who may write to one touches it.
pub(crate) struct Cpus {
    slab: Slab<FgCpu>,
    touched: CpuMask,
}

impl Cpus {
    /// All of them count as touched.
    pub fn new(cpus: Vec<FgCpu>) -> Cpus {
        Cpus { touched: CpuMask::first_n(cpus.len()), slab: Slab::new(cpus) }
    }

    /// Number of CPUs.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// The address of a run queue that is about to be written. Panics if there is no such CPU.
    #[inline]
    pub fn ptr(&mut self, cpu: usize) -> *mut FgCpu {
        self.touched.set(cpu as CpuId);
        self.slab.ptr(cpu)
    }

    /// The address of a run queue that is only read. Panics if there is no such CPU.
    #[inline]
    pub fn peek(&self, cpu: usize) -> *const FgCpu {
        self.slab.ptr(cpu)
    }

    /// A run queue is about to be written by other ways.
    #[inline]
    pub fn touch(&mut self, cpu: usize) {
        self.touched.set(cpu as CpuId);
    }

    /// Those touched since they were last taken.
    pub fn touched(&self) -> &CpuMask {
        &self.touched
    }

    /// Those of `span` touched since they were last taken: they are taken.
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

//! Where no process can be started there is no kernel: their code runs in worker processes only.

use std::io;

use super::SchedSpecError;
use crate::kernel_compat::BuiltWith;

/// A built kernel, of which there is none.
#[derive(Clone)]
pub enum Kernel {}

impl Kernel {
    /// Refuses the scheduler `text`.
    pub fn find(text: &str, _: &str) -> Result<Kernel, SchedSpecError> {
        Err(SchedSpecError::NoKernels { text: text.into() })
    }

    pub fn built_with(&self) -> Option<BuiltWith> {
        match *self {}
    }

    pub fn stale(&self) -> Option<String> {
        match *self {}
    }

    pub fn digest(&self) -> io::Result<u128> {
        match *self {}
    }
}

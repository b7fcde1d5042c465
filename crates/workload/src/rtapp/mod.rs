//! Files in rt-app's grammar. Nothing is read yet.

use fairground_machine::Machine;

use crate::options::{OptionInfo, Options};
use crate::{Warning, Workload, WorkloadError};

/// Options of a file.
pub const FILE_OPTIONS: &[OptionInfo] = &[];

/// How a file is read.
#[derive(Default)]
pub struct Dialect;

impl Dialect {
    pub(crate) fn from_options(_: &Options) -> Self {
        Dialect
    }
}

/// Reads a file.
///
/// # Errors
/// Always, so far.
pub fn load(path: &str, _: &Dialect, _: &Machine) -> Result<(Workload, Vec<Warning>), WorkloadError> {
    let cause = std::io::Error::from(std::io::ErrorKind::Unsupported);
    Err(WorkloadError::Read { file: path.into(), cause })
}

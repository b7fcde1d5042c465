//! Machines and workloads by name, where files are given by their content: no file of this computer is read.

use fairground_machine::{CpuMask, Machine, MachineError, MachineSpec};
use fairground_workload::{Warning, Workload, WorkloadError};

/// The machine of this text, or the preset of this name; and the CPUs that the name selects.
///
/// # Errors
/// If there is no such preset, if the text is invalid, or if the machine does not have the CPUs.
pub fn machine(name: &str, text: Option<&str>) -> Result<(Machine, Option<CpuMask>), MachineError> {
    let spec = MachineSpec::parse(name);
    let machine = match text {
        Some(text) => Machine::from_toml(spec.name, text)?,
        None => Machine::preset(spec.name)?,
    };
    let cpus = spec.cpus(&machine)?;
    Ok((machine, cpus))
}

/// The workload of a file with this name and content, or the built-in of this name; with the options behind its name,
/// and bound to `cpus`. Returns the warnings about it.
///
/// # Errors
/// If there is no such built-in, or if the content or an option is invalid.
pub fn workload(
    name: &str,
    content: Option<(&str, &[u8])>,
    machine: &Machine,
    cpus: Option<&CpuMask>,
) -> Result<(Workload, Vec<Warning>), WorkloadError> {
    let (mut workload, mut warnings) = match content {
        Some((file, content)) => {
            let options = name.strip_prefix(file).and_then(|rest| rest.strip_prefix(':')).unwrap_or_default();
            Workload::from_file_content(file, options, content, machine)?
        }
        None => Workload::builtin(name, machine)?,
    };
    warnings.extend(cpus.map(|cpus| workload.bind(cpus)).unwrap_or_default());
    Ok((workload, warnings))
}

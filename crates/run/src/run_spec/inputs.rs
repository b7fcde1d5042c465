//! What runs name and this program does not have, and what has been looked up in it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairground_machine::{CpuMask, Machine, MachineSpec};
use fairground_workload::{Warning, Workload};

use super::{Perturbed, RunSpecError};
use crate::content::{machine, workload};
use crate::sched_spec::SchedSpec;

/// Content of the files that specs name. No file of this computer is read, so a name means the same on every computer.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Texts of machine files, by the names in specs.
    pub machines: BTreeMap<String, String>,
    /// Contents of workload files, by the names in specs.
    pub workloads: BTreeMap<String, Vec<u8>>,
    /// Built kernels, by what follows `linux:`.
    pub kernels: BTreeMap<String, KernelInput>,
}

/// A built kernel: its code, and the configuration that runs depend on.
#[derive(Clone, Debug)]
pub struct KernelInput {
    /// Content of the kernel's shared object.
    pub library: Vec<u8>,
    /// CONFIG_HZ and CONFIG_NR_CPUS of the kernel; `None` if they are not known.
    pub built_with: Option<(u32, u32)>,
}

/// Most machines in the cache: designs use few machines at a time.
const MACHINES: usize = 256;

/// Looks up the names of specs among inputs and built-ins, and caches what it found for the next spec.
pub struct Resolver {
    inputs: Inputs,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    /// By name without CPUs, and perturbed figures.
    machines: BTreeMap<String, Arc<Machine>>,
    kernels: BTreeMap<String, SchedSpec>,
    /// The last workload, with the key of its machine and its own name.
    workload: Option<([String; 2], FoundWorkload)>,
}

/// A workload, and the warnings about it.
pub(super) type FoundWorkload = (Arc<Workload>, Vec<Warning>);

impl Resolver {
    /// A resolver with these inputs.
    pub fn new(inputs: Inputs) -> Resolver {
        Resolver { inputs, found: Mutex::default() }
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        // Each step of a change leaves the cache valid, so a panic elsewhere does no harm.
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The machine of this name with these figures perturbed, and the CPUs that the name selects.
    pub(super) fn machine(
        &self,
        name: &str,
        figures: &[Perturbed],
    ) -> Result<(Arc<Machine>, Option<CpuMask>), RunSpecError> {
        let input = input_of(name, '@', &self.inputs.machines);
        if input.is_none() && name.contains('/') {
            return Err(RunSpecError::NotAmongInputs { what: "machine", name: name.into() });
        }
        let spec = MachineSpec::parse(name);
        let base = self.kept(spec.name, || Ok(machine(spec.name, input.map(String::as_str))?.0))?;
        let cpus = spec.subset.map(|subset| base.subset(subset)).transpose()?;
        let perturbed = match figures {
            [] => base,
            _ => self.kept(&machine_key(spec.name, figures), || {
                figures
                    .iter()
                    .try_fold(Machine::clone(&base), |m, (path, way, value)| super::perturbed(&m, path, way.by(*value)))
            })?,
        };
        Ok((perturbed, cpus))
    }

    fn kept(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<Machine, RunSpecError>,
    ) -> Result<Arc<Machine>, RunSpecError> {
        if let Some(machine) = self.found().machines.get(key) {
            return Ok(Arc::clone(machine));
        }
        let machine = Arc::new(make()?);
        let mut found = self.found();
        if found.machines.len() >= MACHINES {
            found.machines.clear();
        }
        found.machines.insert(key.into(), Arc::clone(&machine));
        Ok(machine)
    }

    /// The workload of this name for a machine that [`Self::machine`] returned.
    pub(super) fn workload(
        &self,
        name: &str,
        on: (&str, &[Perturbed]),
        machine: &Machine,
        cpus: Option<&CpuMask>,
    ) -> Result<FoundWorkload, RunSpecError> {
        let key = [machine_key(on.0, on.1), name.to_owned()];
        if let Some((_, workload)) = self.found().workload.as_ref().filter(|(known, _)| *known == key) {
            return Ok(workload.clone());
        }
        let names = || [name].into_iter().chain(name.rsplit_once(':').map(|(name, _)| name));
        let content = names().find_map(|name| Some((name, self.inputs.workloads.get(name)?.as_slice())));
        let is_path = name.split(':').next().is_some_and(|name| name.contains('/')) || name.ends_with(".json");
        if content.is_none() && is_path {
            return Err(RunSpecError::NotAmongInputs { what: "workload", name: name.into() });
        }
        let (workload, warnings) = workload(name, content, machine, cpus)?;
        let workload = (Arc::new(workload), warnings);
        self.found().workload = Some((key, workload.clone()));
        Ok(workload)
    }

    /// The scheduler of this name. A kernel must be an input: this computer may have another kernel of this name.
    pub(super) fn sched(&self, name: &str) -> Result<SchedSpec, RunSpecError> {
        let Some(kernel) = name.strip_prefix("linux:") else { return Ok(name.parse()?) };
        if let Some(sched) = self.found().kernels.get(kernel) {
            return Ok(sched.clone());
        }
        let input = self.inputs.kernels.get(kernel);
        let input = input.ok_or_else(|| RunSpecError::NotAmongInputs { what: "scheduler", name: name.into() })?;
        let sched = super::kernel(name, input)?;
        self.found().kernels.insert(kernel.into(), sched.clone());
        Ok(sched)
    }
}

/// The input of this name. If there is none, that of the part of the name before the last `mark`.
fn input_of<'a, T>(name: &str, mark: char, inputs: &'a BTreeMap<String, T>) -> Option<&'a T> {
    inputs.get(name).or_else(|| inputs.get(name.rsplit_once(mark)?.0))
}

fn machine_key(name: &str, figures: &[Perturbed]) -> String {
    format!("{name} {figures:?}")
}

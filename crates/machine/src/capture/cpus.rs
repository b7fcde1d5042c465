//! The captured CPUs, and their ids in the kernel and in the machine.

use crate::{CpuId, CpuMask, NR_CPUS};

use super::tree::Tree;
use super::{CaptureError, Notes};

/// The online CPUs. A machine's ids are dense, so where the kernel's are not, CPUs are renumbered in their order.
pub(super) struct Cpus {
    /// The kernel's id of each CPU.
    ids: Vec<CpuId>,
}

impl Cpus {
    /// Reads who is online.
    pub fn read(tree: &Tree, notes: &mut Notes) -> Result<Cpus, CaptureError> {
        let online = online(tree, notes)?;
        let cpus = Cpus { ids: online.iter().collect() };
        cpus.note_offline(tree, &online, notes)?;
        note_limits(tree, &online, notes)?;
        Ok(cpus)
    }

    pub fn count(&self) -> usize {
        self.ids.len()
    }

    /// All CPUs, by their ids here.
    pub fn mask(&self) -> CpuMask {
        CpuMask::first_n(self.count())
    }

    pub fn iter(&self) -> std::ops::Range<CpuId> {
        0..self.count() as CpuId
    }

    /// The kernel's id of a CPU.
    pub fn kernel_id(&self, cpu: CpuId) -> CpuId {
        self.ids[cpu as usize]
    }

    /// The directory of a CPU.
    pub fn dir(&self, cpu: CpuId) -> String {
        format!("devices/system/cpu/cpu{}", self.ids[cpu as usize])
    }

    /// From the kernel's ids to those here; CPUs that are not online are dropped.
    pub fn dense(&self, kernel: &CpuMask) -> CpuMask {
        self.iter().filter(|cpu| kernel.test(self.ids[*cpu as usize])).collect()
    }

    /// From the ids here to the kernel's.
    pub fn kernel(&self, dense: &CpuMask) -> CpuMask {
        dense.iter().map(|cpu| self.ids[cpu as usize]).collect()
    }

    fn note_offline(&self, tree: &Tree, online: &CpuMask, notes: &mut Notes) -> Result<(), CaptureError> {
        let present = tree.cpu_list("devices/system/cpu/present")?.unwrap_or(*online);
        let offline = present.minus(online);
        if !offline.is_empty() {
            notes.add(format!("CPUs {offline} are present but not online and are left out"));
        }
        if *online != self.mask() {
            let here = self.mask();
            notes.add(format!("ids are dense here: CPUs {here} are the kernel's CPUs {online}, in this order"));
        }
        Ok(())
    }
}

/// `online`; where that is masked, `present` or the directories, less those that say themselves that they are offline.
fn online(tree: &Tree, notes: &mut Notes) -> Result<CpuMask, CaptureError> {
    if let Some(online) = tree.cpu_list("devices/system/cpu/online")? {
        return Ok(online);
    }
    let present = tree.cpu_list("devices/system/cpu/present")?;
    let dirs = tree.numbered("devices/system/cpu", "cpu").into_iter().filter(|cpu| (*cpu as usize) < NR_CPUS);
    let mut online = present.unwrap_or_else(|| dirs.collect());
    for cpu in online.clone().iter() {
        if tree.number(&format!("devices/system/cpu/cpu{cpu}/online"), 0..=1)? == Some(0) {
            online.clear(cpu);
        }
    }
    notes.add(format!("devices/system/cpu/online is missing: CPUs {online} are taken to be online"));
    if online.is_empty() {
        return Err(tree.garbled("devices/system/cpu", "no CPU", "a directory cpuN for each CPU, or a list `online`"));
    }
    Ok(online)
}

/// Notes settings that keep tasks off CPUs. They are not properties of the machine, but the user should know of them.
fn note_limits(tree: &Tree, online: &CpuMask, notes: &mut Notes) -> Result<(), CaptureError> {
    for path in ["fs/cgroup/cpuset.cpus.effective", "fs/cgroup/cpuset/cpuset.effective_cpus"] {
        let Some(allowed) = tree.cpu_list(path)? else { continue };
        if !online.is_subset(&allowed) {
            notes.add(format!("{path} allows CPUs {allowed} only; the machine is captured whole"));
        }
    }
    let isolated = tree.cpu_list("devices/system/cpu/isolated")?.unwrap_or_default().and(online);
    if !isolated.is_empty() {
        notes.add(format!(
            "CPUs {isolated} (the kernel's ids) are isolated from balancing; a machine has no word for that"
        ));
    }
    Ok(())
}

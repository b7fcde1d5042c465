//! A machine from a flattened device tree; sources are flattened by dtc before they come here.
//!
//! `nodes` is the tree and what its properties say, `blob` reads it. Of the tree `cpus` reads who there is, `map` who
//! shares what, `caches`, `clocks` (with power and efficiency) and `states` their parts. Properties are those of the
//! bindings in Linux, Documentation/devicetree/bindings: cpu/cpu-topology, cpu/cpu-capacity, cpu/idle-states,
//! opp/opp-v2, arm/cpus, numa; they are read as the kernel reads them.

mod blob;
mod caches;
mod clocks;
mod cpus;
mod map;
mod nodes;
mod states;

use crate::Source;

use super::hardware::{Hardware, DEVICE_TREE};
use super::{CaptureError, Notes};

use cpus::Cpus;

pub(super) use nodes::DeviceTree;

/// Reads a device tree.
pub(super) fn read(tree: &DeviceTree, notes: &mut Notes) -> Result<Hardware, CaptureError> {
    let cpus = Cpus::read(tree, notes)?;
    let chains = caches::chains(&cpus)?;
    let states = states::read(&cpus, notes)?;
    let topology = map::read(&cpus, &chains, &states.powered, notes)?;
    let caches = caches::read(&cpus, &chains, &topology.cores, notes)?;
    let clocks = clocks::read(&cpus, &topology.cores, notes)?;
    let efficiencies = clocks::efficiencies(&cpus, notes)?;
    let unknown = Source::Estimate("no capacity-dmips-mhz: the kernel takes all CPUs for equal".into());
    let mut seen = Hardware {
        title: cpus.title()?,
        places: &DEVICE_TREE,
        isa: cpus.isa(),
        is_virtual: false,
        is_zen: false,
        core_names: cpus.names()?,
        topology,
        caches,
        capacities: vec![1024; cpus.count()],
        capacity_source: unknown,
        efficiencies,
        clocks: clocks.all,
        idle: states.by_cpu,
        energy: clocks.energy,
    };
    seen.derive_capacities(None);
    Ok(seen)
}

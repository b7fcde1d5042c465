//! Spec 1.7: which domains are asymmetric in capacity.

use std::collections::BTreeSet;

use fairground_machine::{CpuMask, Machine};

use super::levels::{Level, Shape};
use crate::ffi::{FG_SD_ASYM_CPUCAPACITY, FG_SD_ASYM_CPUCAPACITY_FULL};

/// How a partition's domains get the flag.
pub enum Rule {
    /// Up to v5.13: domains of exactly this level, if any.
    OneLevel(Option<usize>),
    /// From v5.14: each domain by how many of this many capacities occur in it.
    ByCapacities(usize),
}

impl Rule {
    /// The rule for partition `map`.
    pub fn new(machine: &Machine, levels: &[Level], shape: &Shape, map: &CpuMask) -> Rule {
        if shape.asym_cap_full {
            Rule::ByCapacities(capacities(machine, map).len())
        } else {
            Rule::OneLevel(asym_level(machine, levels, map))
        }
    }

    /// The asymmetry flags of a domain of level `level` that spans `span`.
    pub fn flags(&self, machine: &Machine, level: usize, span: &CpuMask) -> u32 {
        match self {
            Rule::OneLevel(at) if *at == Some(level) => FG_SD_ASYM_CPUCAPACITY,
            Rule::OneLevel(_) | Rule::ByCapacities(0 | 1) => 0,
            Rule::ByCapacities(all) => match capacities(machine, span).len() {
                0 | 1 => 0,
                n if n < *all => FG_SD_ASYM_CPUCAPACITY,
                _ => FG_SD_ASYM_CPUCAPACITY | FG_SD_ASYM_CPUCAPACITY_FULL,
            },
        }
    }
}

fn capacities(machine: &Machine, span: &CpuMask) -> BTreeSet<u32> {
    span.iter().map(|c| machine.cpus[c as usize].capacity).collect()
}

/// The lowest level at which every CPU of the map sees a CPU of the highest capacity that it can see at any level.
fn asym_level(machine: &Machine, levels: &[Level], map: &CpuMask) -> Option<usize> {
    if capacities(machine, map).len() < 2 {
        return None;
    }
    let best_at = |cpu: u32, level: &Level| capacities(machine, &level.masks[cpu as usize].and(map)).last().copied();
    let lowest = |cpu: u32| {
        let seen: Vec<_> = levels.iter().map(|level| best_at(cpu, level)).collect();
        let best = seen.iter().max().copied().flatten();
        seen.iter().position(|s| *s == best)
    };
    map.iter().filter_map(lowest).max()
}

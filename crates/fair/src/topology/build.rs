//! Spec 1.2: a domain for each CPU and level of a partition.

use fairground_machine::{CpuId, CpuMask, Machine};

use super::asym;
use super::levels::{Level, Shape};
use super::plan::{DomainNode, Plan};
use crate::ffi::*;

/// Adds the domains of partition `map` to the plan, groups not yet.
pub fn build(plan: &mut Plan, machine: &Machine, levels: &[Level], shape: &Shape, map: &CpuMask) {
    let asym = asym::Rule::new(machine, levels, shape, map);
    for cpu in map.iter() {
        for (index, level) in levels.iter().enumerate() {
            let span = level.masks[cpu as usize].and(map);
            let asym = asym.flags(machine, index, &span);
            add_domain(plan, cpu, index, level.domain(cpu, span, shape), asym);
            if !shape.asym_prefer_sibling && asym & FG_SD_ASYM_CPUCAPACITY != 0 {
                spread_less_below(plan, cpu);
            }
            if shape.asym_balance_wake && asym & FG_SD_ASYM_CPUCAPACITY != 0 {
                balance_wakeups(plan, cpu);
            }
            if span == *map {
                break;
            }
        }
    }
}

/// Spec 1.3, adjustment 1, up to v7.2: the domain below the topmost one of the CPU does not prefer siblings.
fn spread_less_below(plan: &mut Plan, cpu: CpuId) {
    let below = plan.built[cpu as usize].iter().rev().nth(1).copied();
    if let Some(below) = below {
        plan.domains[below].sd.flags &= !FG_SD_PREFER_SIBLING;
    }
}

/// Puts a domain on top of the CPU's chain.
fn add_domain(plan: &mut Plan, cpu: CpuId, level: usize, mut sd: FgDomain, asym: u32) {
    let id = plan.domains.len();
    let child = plan.built[cpu as usize].last().copied();
    sd.flags |= asym;
    if let Some(child) = child {
        plan.domains[child].parent = Some(id);
    }
    plan.built[cpu as usize].push(id);
    plan.domains.push(DomainNode { level, parent: None, child, ring: 0, first: 0, sd });
}

/// Up to v5.6 wakeups look for a big enough CPU on the slow path: in all domains of the CPU so far.
fn balance_wakeups(plan: &mut Plan, cpu: CpuId) {
    for &id in &plan.built[cpu as usize] {
        plan.domains[id].sd.flags |= FG_SD_BALANCE_WAKE;
    }
}

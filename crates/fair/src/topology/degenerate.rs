//! Spec 1.5: removes domains without effect (sd_degenerate), and passes some of their properties on.

use fairground_machine::{CpuId, CpuMask};

use super::plan::{DomainId, Plan};
use crate::ffi::*;

/// Flags that mean something only with two groups or more.
const NEEDS_GROUPS: u32 = FG_SD_BALANCE_NEWIDLE
    | FG_SD_BALANCE_EXEC
    | FG_SD_BALANCE_FORK
    | FG_SD_BALANCE_WAKE
    | FG_SD_ASYM_CPUCAPACITY
    | FG_SD_ASYM_CPUCAPACITY_FULL
    | FG_SD_SHARE_CPUCAPACITY
    | FG_SD_CLUSTER
    | FG_SD_SHARE_LLC
    | FG_SD_SERIALIZE
    | FG_SD_ASYM_PACKING
    | FG_SD_PREFER_SIBLING
    | FG_SD_OVERLAP
    | FG_SD_NUMA;

/// Removes the degenerate domains of partition `map`. `renewed`: updates the flags of the groups above (GROUP_FLAGS).
///
/// DEVIATION: the groups of a NUMA domain exist once, and all of them are updated. A kernel has them once for each CPU,
/// and updates only those of the CPU; the flag that then differs, SHARE_LLC, is not read.
pub fn degenerate(plan: &mut Plan, map: &CpuMask, renewed: bool) {
    for cpu in map.iter() {
        plan.lowest[cpu as usize] = plan.built[cpu as usize].first().copied();
        merge_parents(plan, cpu, renewed);
        drop_lowest(plan, cpu);
    }
}

fn merge_parents(plan: &mut Plan, cpu: CpuId, renewed: bool) {
    let Some(mut at) = plan.lowest[cpu as usize] else { return };
    while let Some(parent) = plan.domains[at].parent {
        if parent_useless(plan, at, parent) {
            remove_parent(plan, at, parent, renewed);
        } else {
            at = parent;
        }
    }
}

fn remove_parent(plan: &mut Plan, at: DomainId, parent: DomainId, renewed: bool) {
    let grand = plan.domains[parent].parent;
    let kept = plan.domains[parent].sd.flags & FG_SD_PREFER_SIBLING;
    plan.domains[at].parent = grand;
    if let Some(grand) = grand {
        plan.domains[grand].child = Some(at);
        if renewed {
            plan.local_group(grand).flags = plan.domains[at].sd.flags;
        }
    }
    plan.domains[at].sd.flags |= kept;
}

fn drop_lowest(plan: &mut Plan, cpu: CpuId) {
    let Some(low) = plan.lowest[cpu as usize].filter(|low| useless(plan, *low)) else { return };
    let up = plan.domains[low].parent;
    plan.lowest[cpu as usize] = up;
    if let Some(up) = up {
        plan.domains[up].child = None;
        plan.local_group(up).flags = 0;
    }
}

fn useless(plan: &Plan, id: DomainId) -> bool {
    let sd = &plan.domains[id].sd;
    if sd.weight == 1 {
        return true;
    }
    let uses_groups = sd.flags & NEEDS_GROUPS != 0 && sd.nr_groups > 1;
    !uses_groups && sd.flags & FG_SD_WAKE_AFFINE == 0
}

fn parent_useless(plan: &Plan, id: DomainId, parent: DomainId) -> bool {
    if useless(plan, parent) {
        return true;
    }
    let (sd, up) = (&plan.domains[id].sd, &plan.domains[parent].sd);
    if sd.span != up.span {
        return false;
    }
    let ignored = if up.nr_groups == 1 { NEEDS_GROUPS } else { 0 };
    up.flags & !ignored & !sd.flags == 0
}

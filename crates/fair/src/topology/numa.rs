//! Spec 1.9: how much imbalance between NUMA nodes is allowed.

use fairground_machine::{CpuId, CpuMask};

use super::plan::Plan;
use crate::ffi::{FG_SD_NUMA, FG_SD_SHARE_LLC};

/// Fills imb_numa_nr of every domain of partition `map`.
pub fn allowed_imbalance(plan: &mut Plan, map: &CpuMask) {
    for cpu in map.iter() {
        let chain = plan.built[cpu as usize].clone();
        let Some((at, imbalance, base)) = first_beyond_llc(plan, cpu) else { continue };
        plan.domains[chain[at]].sd.imb_numa_nr = imbalance;
        for id in &chain[at + 1..] {
            let sd = &mut plan.domains[*id].sd;
            sd.imb_numa_nr = imbalance * (sd.weight / base).max(1);
        }
    }
}

/// The first domain that does not share the cache while its child does: its place in the chain, what it allows, and
/// the weight that larger domains are measured by.
fn first_beyond_llc(plan: &Plan, cpu: CpuId) -> Option<(usize, u32, u32)> {
    let chain: Vec<_> = plan.built[cpu as usize].iter().map(|id| &plan.domains[*id].sd).collect();
    let shares = |at: usize| chain[at].flags & FG_SD_SHARE_LLC != 0;
    let at = (1..chain.len()).find(|at| !shares(*at) && shares(at - 1))?;
    let weight = chain[at].weight;
    let imbalance = match weight / chain[at - 1].weight {
        1 => weight >> 3,
        llcs => llcs,
    };
    let numa = chain[at + 1..].iter().find(|sd| sd.flags & FG_SD_NUMA != 0);
    Some((at, imbalance.max(1), numa.map_or(weight, |sd| sd.weight)))
}

//! Caches: which CPUs share them, and their sizes if given.

use crate::{Cache, CpuId, CpuMask};

use super::super::caches::CacheInfo;
use super::super::topology::group_of;
use super::super::{CaptureError, Notes};
use super::cpus::Cpus;
use super::nodes::NodeRef;

/// The most caches one behind the other.
const MAX_LEVELS: usize = 8;

/// The caches beyond the first level that each CPU is behind, nearest first.
pub(super) type Chains<'a> = Vec<Vec<NodeRef<'a>>>;

/// Follows `next-level-cache` from each CPU.
pub(super) fn chains<'a>(cpus: &Cpus<'a>) -> Result<Chains<'a>, CaptureError> {
    cpus.iter().map(|(_, node)| chain(node)).collect()
}

fn chain(cpu: NodeRef) -> Result<Vec<NodeRef>, CaptureError> {
    let mut chain: Vec<NodeRef> = Vec::new();
    let mut at = cpu;
    loop {
        let property =
            ["next-level-cache", "l2-cache", "l3-cache"].into_iter().find(|property| at.has_property(property));
        let Some(property) = property else { return Ok(chain) };
        let Some(next) = at.targets(property)?.first().copied() else { return Ok(chain) };
        if chain.len() == MAX_LEVELS || next == cpu || chain.contains(&next) {
            let problem = format!("more than {MAX_LEVELS} caches, or a cycle, from {} on", cpu.path());
            return Err(at.fault(property, problem, "the next cache on the way to memory"));
        }
        chain.push(next);
        at = next;
    }
}

/// The CPUs behind the last cache of each; none where a CPU has no chain.
pub(super) fn last(cpus: &Cpus, chains: &Chains, cpu: CpuId) -> Option<CpuMask> {
    chains[cpu as usize].last().map(|cache| behind(cpus, chains, *cache))
}

fn behind(cpus: &Cpus, chains: &Chains, cache: NodeRef) -> CpuMask {
    cpus.iter().filter(|(cpu, _)| chains[*cpu as usize].contains(&cache)).map(|(cpu, _)| cpu).collect()
}

/// All caches of data whose size is given, those of fewest CPUs first; none at all, with a note, if some CPU has none.
pub(super) fn read(
    cpus: &Cpus,
    chains: &Chains,
    cores: &[CpuMask],
    notes: &mut Notes,
) -> Result<Vec<CacheInfo>, CaptureError> {
    let mut all: Vec<CacheInfo> = Vec::new();
    let mut known: Vec<NodeRef> = Vec::new();
    let mut add = |cpus: CpuMask, size: Option<u32>| {
        let Some(size_kib) = size else { return };
        match all.iter_mut().find(|cache| cache.cpus == cpus) {
            Some(cache) => cache.size_kib = cache.size_kib.max(size_kib),
            None => all.push(CacheInfo { cpus, size_kib }),
        }
    };
    for (cpu, node) in cpus.iter() {
        add(group_of(cores, cpu), size(node)?);
        for cache in &chains[cpu as usize] {
            if !known.contains(cache) {
                known.push(*cache);
                add(behind(cpus, chains, *cache), size(*cache)?);
            }
        }
    }
    let without: CpuMask = cpus.mask().iter().filter(|cpu| !all.iter().any(|cache| cache.cpus.test(*cpu))).collect();
    if !without.is_empty() {
        notes.add(format!("no cache size is given for CPUs {without}: no cache keeps anything of a task that leaves"));
        return Ok(Vec::new());
    }
    all.sort_by_key(|cache| (cache.cpus.count(), cache.cpus.first()));
    Ok(all)
}

/// The size of what holds data in a cache or CPU, KiB.
fn size(node: NodeRef) -> Result<Option<u32>, CaptureError> {
    for property in ["d-cache-size", "cache-size"] {
        let Some(bytes) = node.cell(property)? else { continue };
        let kib = bytes / 1024;
        if !(1..=Cache::MAX_KIB).contains(&kib) {
            return Err(node.fault(property, format!("found {bytes}"), "bytes, at least 1024"));
        }
        return Ok(Some(kib));
    }
    Ok(None)
}

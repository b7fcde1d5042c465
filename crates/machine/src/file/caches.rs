//! `[[cache]]` and `[refill]`: data caches and refill costs.

use crate::error::FileResult;
use crate::{Cache, Caches, CpuMask, Distance};

use super::costs::{read_by_distance, HOP};
use super::figure::{Fit, FACTOR, SIZE};
use super::groups::Levels;
use super::node::{Fields, Node};
use super::topology::entry_path;

/// Most of a footprint that a draw takes for modified (docs/spec/measured.md, section 2).
const MODIFIED_DRAWN_MAX: f64 = 0.6;

/// Reads both sections of a machine on which `occurring` distances occur; they stand together or not at all.
pub(super) fn read(top: &Fields, levels: &Levels, occurring: &[Distance]) -> FileResult<Option<Caches>> {
    let (node, refill) = match (top.get("cache"), top.get("refill")) {
        (None, None) => return Ok(None),
        (Some(_), None) => (top.need("cache")?, top.need("refill")?),
        (_, Some(refill)) => (top.need("cache")?, refill),
    };
    let all = read_caches(&node, levels)?;
    let fields = refill.table(&["modified", "memory_kib"])?;
    let modified = fields.need("modified")?;
    let share = modified.figure_within(&FACTOR, modified.path.clone(), Fit::Never, 0.0..=MODIFIED_DRAWN_MAX)?;
    if share > 1.0 {
        return Err(modified.fault(format!("a share of {share}")).hint("expected 0 to 1, the part of a footprint"));
    }
    let memory_kib_ns = read_by_distance(&fields.need("memory_kib")?, &memory_distances(occurring), Fit::Never)?;
    Ok(Some(Caches { all, modified: share, memory_kib_ns }))
}

/// The distances by which memory is priced: that of the own node, and those beyond it that occur.
pub(super) fn memory_distances(occurring: &[Distance]) -> Vec<Distance> {
    let beyond = occurring.iter().copied().filter(|distance| *distance > Distance::Node);
    [Distance::Node].into_iter().chain(beyond).collect()
}

fn read_caches(node: &Node, levels: &Levels) -> FileResult<Vec<Cache>> {
    let mut caches: Vec<Cache> = Vec::new();
    for entry in node.elements()? {
        let fields = entry.table(&["cpus", "size", "refill_kib"])?;
        let place = fields.need("cpus")?;
        let groups = levels.groups(&place)?;
        let path = |key: &str| entry_path("cache", &groups, key);
        let size_kib = read_size(&fields.need("size")?, path("size"))?;
        let refill_kib_ns = match fields.get("refill_kib") {
            Some(node) => node.figure(&HOP, path("refill_kib"), Fit::Never)? as u64,
            None => 0,
        };
        require_beside(&groups, &place)?;
        for cpus in groups {
            require_behind(&cpus, &caches, &place)?;
            caches.push(Cache { cpus, size_kib, refill_kib_ns });
        }
    }
    require_some(&caches, levels, node)?;
    Ok(caches)
}

fn read_size(node: &Node, path: String) -> FileResult<u32> {
    let kib = node.figure_within(&SIZE, path, Fit::Never, 1.0..=SIZE.max)?;
    if kib < 1.0 {
        return Err(node
            .fault("a cache of no size")
            .hint("expected 1 KiB or more; leave out a cache that is not there"));
    }
    Ok(kib as u32)
}

/// Caches of one entry have no CPU in common.
fn require_beside(groups: &[CpuMask], place: &Node) -> FileResult<()> {
    let mut known = CpuMask::EMPTY;
    for cpus in groups {
        let twice = known.and(cpus);
        if !twice.is_empty() {
            let fault = place.fault(format!("two caches of CPUs {twice} in one entry"));
            return Err(fault.hint("an entry is of caches beside each other; a farther one has an entry of its own"));
        }
        known = known.or(cpus);
    }
    Ok(())
}

/// A cache holds more CPUs than each before it, or other ones.
fn require_behind(cpus: &CpuMask, before: &[Cache], place: &Node) -> FileResult<()> {
    for nearer in before.iter().filter(|cache| cache.cpus.intersects(cpus)) {
        let other = nearer.cpus;
        if other == *cpus {
            let fault = place.fault(format!("two caches of CPUs {cpus} alone"));
            return Err(fault.hint("state them as one, with the size of the larger"));
        }
        if !other.is_subset(cpus) {
            let fault = place.fault(format!("the cache of CPUs {cpus} after that of CPUs {other}"));
            return Err(fault.hint("nearer caches first; a farther one serves all CPUs of a nearer one"));
        }
    }
    Ok(())
}

fn require_some(caches: &[Cache], levels: &Levels, node: &Node) -> FileResult<()> {
    for cpu in 0..levels.n_cpus as u32 {
        let most = Caches::MAX_LEVELS;
        match caches.iter().filter(|cache| cache.cpus.test(cpu)).count() {
            0 => {
                let fault = node.fault(format!("CPU {cpu} has no cache"));
                return Err(fault.hint("every CPU has one, or the file says nothing of caches"));
            }
            n if n > most => {
                let fault = node.fault(format!("CPU {cpu} has {n} caches behind each other"));
                return Err(fault.hint(format!("expected at most {most}; those of one core count as one")));
            }
            _ => {}
        }
    }
    Ok(())
}

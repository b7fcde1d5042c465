//! Data caches: sizes from sysfs, refill costs from the lender.

use crate::{Cache, CpuMask};

use super::cpus::Cpus;
use super::tree::Tree;
use super::{CaptureError, Notes};

/// A cache of data that a tree describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CacheInfo {
    pub cpus: CpuMask,
    pub size_kib: u32,
}

/// All caches of data, those of fewest CPUs first; of several with the same CPUs the largest. None at all, with a note,
/// if some CPU has none whose size is known.
pub(super) fn read(tree: &Tree, cpus: &Cpus, notes: &mut Notes) -> Result<Vec<CacheInfo>, CaptureError> {
    let mut all: Vec<CacheInfo> = Vec::new();
    for cpu in cpus.iter() {
        let dir = format!("{}/cache", cpus.dir(cpu));
        for index in tree.numbered(&dir, "index") {
            let Some(seen) = read_index(tree, cpus, &format!("{dir}/index{index}"))? else { continue };
            match all.iter_mut().find(|known| known.cpus == seen.cpus) {
                Some(known) => known.size_kib = known.size_kib.max(seen.size_kib),
                None => all.push(seen),
            }
        }
    }
    let without: CpuMask = cpus.iter().filter(|cpu| !all.iter().any(|cache| cache.cpus.test(*cpu))).collect();
    if !without.is_empty() {
        let cpus = cpus.kernel(&without);
        notes.add(format!(
            "cache/indexN/size is missing for CPUs {cpus}: no cache keeps anything of a task that leaves"
        ));
        return Ok(Vec::new());
    }
    all.sort_by_key(|cache| (cache.cpus.count(), cache.cpus.first()));
    Ok(all)
}

/// The cache of an index, if it holds data and its size and CPUs are stated.
fn read_index(tree: &Tree, cpus: &Cpus, dir: &str) -> Result<Option<CacheInfo>, CaptureError> {
    if tree.text(&format!("{dir}/type"))?.as_deref() == Some("Instruction") {
        return Ok(None);
    }
    let path = format!("{dir}/size");
    let (Some(size), Some(shared)) = (tree.text(&path)?, tree.cpu_list(&format!("{dir}/shared_cpu_list"))?) else {
        return Ok(None);
    };
    let kib = size.strip_suffix('K').and_then(|kib| kib.parse::<u32>().ok());
    match kib.filter(|kib| (1..=Cache::MAX_KIB).contains(kib)) {
        Some(size_kib) => Ok(Some(CacheInfo { cpus: cpus.dense(&shared), size_kib })),
        None => Err(tree.garbled(&path, format!("found {size:?}"), "a size such as 512K, at most 4 GiB")),
    }
}

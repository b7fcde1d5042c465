//! The optimal placement, by exhaustive search.

use fairground_machine::{CpuId, Machine};

use super::price::{Price, Pricer};
use super::steady::Steady;

/// Least power of a set of tasks, by either measure; usually of two different placements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// Least [`Price::model_mw`] of all placements.
    pub model_mw: f64,
    /// Least [`Price::power_mw`] of all placements.
    pub power_mw: f64,
}

/// Searches all placements of `tasks`; `None` if no placement fits.
pub fn best(machine: &Machine, pricer: &Pricer, tasks: &[Steady]) -> Option<Best> {
    let mut best: Option<Best> = None;
    each_placement(machine, tasks.len(), &mut |placement| {
        let Some(Price { model_mw, power_mw }) = pricer.price(tasks, placement) else { return };
        let least = best.get_or_insert(Best { model_mw, power_mw });
        least.model_mw = least.model_mw.min(model_mw);
        least.power_mw = least.power_mw.min(power_mw);
    });
    best
}

/// Calls `look` with every placement of `tasks` tasks, the CPU of each. Of CPUs that do not differ and are empty so far
/// only the first is tried.
pub fn each_placement(machine: &Machine, nr_tasks: usize, look: &mut dyn FnMut(&[CpuId])) {
    PlacementSearch { alike: alike(machine), placement: Vec::new(), look }.place(nr_tasks);
}

/// For each CPU the first equivalent one: same type, clock, cluster, cache and node.
fn alike(machine: &Machine) -> Vec<CpuId> {
    let looks = |id: CpuId| {
        let c = &machine.cpus[id as usize];
        (c.capacity, c.cpu_type, c.freq_domain, c.cluster, c.llc, c.node)
    };
    let ids = 0..machine.nr_cpus() as CpuId;
    ids.clone().map(|id| ids.clone().find(|first| looks(*first) == looks(id)).unwrap_or(id)).collect()
}

struct PlacementSearch<'a> {
    alike: Vec<CpuId>,
    /// CPUs of the tasks placed so far.
    placement: Vec<CpuId>,
    look: &'a mut dyn FnMut(&[CpuId]),
}

impl PlacementSearch<'_> {
    /// Tries every CPU for the next task, and recurses for the `left` - 1 tasks after it.
    fn place(&mut self, left: usize) {
        if left == 0 {
            return (self.look)(&self.placement);
        }
        for cpu in 0..self.alike.len() as CpuId {
            if self.is_new(cpu) {
                self.placement.push(cpu);
                self.place(left - 1);
                self.placement.pop();
            }
        }
    }

    fn is_new(&self, cpu: CpuId) -> bool {
        let is_empty = |id: &CpuId| !self.placement.contains(id);
        let like = self.alike[cpu as usize];
        !is_empty(&cpu) || (like..cpu).filter(|id| self.alike[*id as usize] == like).all(|id| !is_empty(&id))
    }
}

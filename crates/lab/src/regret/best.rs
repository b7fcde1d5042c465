//! The best placements, by trying all.

use fairground_machine::{CpuId, Machine};

use super::price::{Price, Pricer};
use super::steady::Steady;

/// The least that tasks can cost, in either currency; two placements, as a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// Least [`Price::model_mw`].
    pub model_mw: f64,
    /// Least [`Price::power_mw`].
    pub power_mw: f64,
}

/// Tries all placements of `tasks`; none: there is no room for them anywhere. CPUs that do not differ are tried once.
pub fn best(machine: &Machine, pricer: &Pricer, tasks: &[Steady]) -> Option<Best> {
    let mut search = Search { pricer, tasks, alike: alike(machine), placement: Vec::new(), best: None };
    search.place();
    search.best
}

/// Of each CPU the first that is like it: same kind, clock, cluster, cache, node.
fn alike(machine: &Machine) -> Vec<CpuId> {
    let looks = |id: CpuId| {
        let c = &machine.cpus[id as usize];
        (c.capacity, c.cpu_type, c.freq_domain, c.cluster, c.llc, c.node)
    };
    let ids = 0..machine.nr_cpus() as CpuId;
    ids.clone().map(|id| ids.clone().find(|first| looks(*first) == looks(id)).unwrap_or(id)).collect()
}

struct Search<'a> {
    pricer: &'a Pricer<'a>,
    tasks: &'a [Steady],
    alike: Vec<CpuId>,
    placement: Vec<CpuId>,
    best: Option<Best>,
}

impl Search<'_> {
    /// Places the next task everywhere, and those after it.
    fn place(&mut self) {
        if self.placement.len() == self.tasks.len() {
            let price = self.pricer.price(self.tasks, &self.placement);
            price.iter().for_each(|price| self.note(price));
            return;
        }
        for cpu in 0..self.alike.len() as CpuId {
            if self.is_new(cpu) {
                self.placement.push(cpu);
                self.place();
                self.placement.pop();
            }
        }
    }

    /// Of empty CPUs that are alike only the first is tried.
    fn is_new(&self, cpu: CpuId) -> bool {
        let is_empty = |id: &CpuId| !self.placement.contains(id);
        let like = self.alike[cpu as usize];
        !is_empty(&cpu) || (like..cpu).filter(|id| self.alike[*id as usize] == like).all(|id| !is_empty(&id))
    }

    fn note(&mut self, price: &Price) {
        let best = self.best.get_or_insert(Best { model_mw: price.model_mw, power_mw: price.power_mw });
        best.model_mw = best.model_mw.min(price.model_mw);
        best.power_mw = best.power_mw.min(price.power_mw);
    }
}

//! The regret of a run: energy of its placements beyond the best ones.

use std::collections::BTreeMap;

use fairground_machine::{CpuId, Machine};

use super::best::{best, Best};
use super::price::{Price, Pricer};
use super::steady::{Steady, SETTLED};
use fairground_run::placements::Placements;

/// Power above the optimum by either measure, percent of the optimum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Regret {
    /// By the kernel's energy model ([`Price::model_mw`]), percent.
    pub model_pct: f64,
    /// By the simulated machine ([`Price::power_mw`]), percent.
    pub power_pct: f64,
}

impl Regret {
    /// The regret of a price; 0 if the optimum is 0.
    fn between(price: &Price, least: &Best) -> Regret {
        let pct = |price: f64, least: f64| if least > 0.0 { (price - least) / least * 100.0 } else { 0.0 };
        Regret { model_pct: pct(price.model_mw, least.model_mw), power_pct: pct(price.power_mw, least.power_mw) }
    }
}

/// The regret of one wakeup's placement.
#[derive(Clone, Debug, PartialEq)]
pub struct WakeupRegret {
    /// Name of the rule that decided.
    pub rule: String,
    /// The present placement of all tasks against the optimal one.
    pub all: Regret,
    /// The chosen CPU against the best CPU for this task, the other tasks unchanged.
    pub one: Regret,
}

/// Regrets of one state (a set of steady tasks) under one scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Wakeups after which all tasks fit.
    pub judged: Vec<WakeupRegret>,
    /// Wakeups after which some CPU was overloaded: that costs throughput, not energy.
    pub unfit: u64,
}

/// Computes the regrets of states on a machine.
pub struct Judge<'m> {
    machine: &'m Machine,
    pricer: Pricer<'m>,
}

impl<'m> Judge<'m> {
    /// A judge for states of this machine.
    pub fn new(machine: &'m Machine) -> Judge<'m> {
        Judge { machine, pricer: Pricer::new(machine) }
    }

    /// The optimum for these tasks; `None` if no placement fits.
    pub fn best(&self, tasks: &[Steady]) -> Option<Best> {
        best(self.machine, &self.pricer, tasks)
    }

    /// Regrets of the wakeups of a run of `tasks` after signals have settled; `least` is the optimum. A task counts
    /// where it was placed last.
    pub fn judge(&self, tasks: &[Steady], least: &Best, run: &Placements) -> Outcome {
        let mut at: Vec<Option<CpuId>> = vec![None; tasks.len()];
        let mut known = TaskLoads { judge: self, tasks, least, of: BTreeMap::new() };
        let mut outcome = Outcome::default();
        for placed in &run.all {
            let task = placed.task as usize;
            let Some(place) = at.get_mut(task) else { continue };
            *place = Some(placed.chosen);
            if placed.kind() != "wake" || placed.time < SETTLED {
                continue;
            }
            let Some(placement) = at.iter().copied().collect::<Option<Vec<CpuId>>>() else { continue };
            match known.regrets(placement, task) {
                Some((all, one)) => outcome.judged.push(WakeupRegret { rule: run.rule(placed).to_owned(), all, one }),
                None => outcome.unfit += 1,
            }
        }
        outcome
    }

    /// The optimum over the CPUs of `task`, the other tasks unchanged.
    fn best_of_one(&self, tasks: &[Steady], placement: &[CpuId], task: usize) -> Option<Best> {
        let mut moved = placement.to_vec();
        let prices = (0..self.machine.nr_cpus() as CpuId).filter_map(|cpu| {
            moved[task] = cpu;
            self.pricer.price(tasks, &moved)
        });
        let least =
            |a: Best, b: Best| Best { model_mw: a.model_mw.min(b.model_mw), power_mw: a.power_mw.min(b.power_mw) };
        prices.map(|p| Best { model_mw: p.model_mw, power_mw: p.power_mw }).reduce(least)
    }
}

/// Regret against the best placement of all tasks, and against the best CPU for one.
type RegretPair = (Regret, Regret);

/// Cache of regrets: steady tasks return to the same placements again and again.
struct TaskLoads<'a> {
    judge: &'a Judge<'a>,
    tasks: &'a [Steady],
    least: &'a Best,
    of: BTreeMap<(usize, Vec<CpuId>), Option<RegretPair>>,
}

impl TaskLoads<'_> {
    /// Regrets of a placement after `task` was placed; `None` if the placement does not fit.
    fn regrets(&mut self, placement: Vec<CpuId>, task: usize) -> Option<RegretPair> {
        let TaskLoads { judge, tasks, least, of } = self;
        let key = (task, placement);
        if let Some(known) = of.get(&key) {
            return *known;
        }
        let regrets = judge.pricer.price(tasks, &key.1).map(|price| {
            // The placement itself is among those.
            let one = judge
                .best_of_one(tasks, &key.1, task)
                .map_or_else(Regret::default, |best| Regret::between(&price, &best));
            (Regret::between(&price, least), one)
        });
        of.insert(key, regrets);
        regrets
    }
}

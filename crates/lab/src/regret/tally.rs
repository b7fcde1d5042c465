//! Distributions of regret over many states.

use std::collections::BTreeMap;

use serde::Serialize;

use super::judge::{Outcome, Regret, WakeupRegret};

/// Regrets below this count as zero, percent: rounding errors.
const NOTHING_PCT: f64 = 1e-6;

/// A distribution of regret, percent of the optimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// Share of values that are zero, percent of all.
    pub none_pct: f64,
    /// Arithmetic mean of the values, percent.
    pub mean: f64,
    /// Median of the values, percent.
    pub p50: f64,
    /// 90th percentile of the values, percent.
    pub p90: f64,
    /// Greatest of the values, percent.
    pub max: f64,
}

impl Distribution {
    /// Summarizes `regrets`; all zero if there are none.
    pub fn from_values(mut regrets: Vec<f64>) -> Distribution {
        let n = regrets.len();
        if n == 0 {
            return Distribution::default();
        }
        regrets.sort_by(f64::total_cmp);
        let nothing = regrets.iter().filter(|r| **r < NOTHING_PCT).count();
        // Nearest rank.
        let rank = |pct: usize| regrets[(n * pct).div_ceil(100).max(1) - 1];
        Distribution {
            none_pct: nothing as f64 / n as f64 * 100.0,
            mean: regrets.iter().sum::<f64>() / n as f64,
            p50: rank(50),
            p90: rank(90),
            max: regrets[n - 1],
        }
    }
}

/// Distributions of regret by two measures of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Distributions {
    /// By the kernel's energy model (`Price::model_mw`), percent.
    pub model: Distribution,
    /// By the simulated machine (`Price::power_mw`), percent.
    pub power: Distribution,
}

impl Distributions {
    fn from_regrets(regrets: &[Regret]) -> Distributions {
        let each = |of: fn(&Regret) -> f64| Distribution::from_values(regrets.iter().map(of).collect());
        Distributions { model: each(|r| r.model_pct), power: each(|r| r.power_pct) }
    }
}

/// Regret of the decisions of one rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleTally {
    /// Name of the placement rule.
    pub rule: String,
    /// Number of wakeups that it decided.
    pub wakeups: u64,
    /// Regret against the best CPU for the task, the other tasks unchanged.
    pub one: Distributions,
}

/// Regret under one scheduler.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SchedulerRegret {
    /// Scheduler as the user typed it.
    pub sched: String,
    /// Number of states in which at least one wakeup led to a placement that fits.
    pub states: u64,
    /// Number of wakeups with a regret.
    pub wakeups: u64,
    /// Share of wakeups that left a CPU overloaded, percent of all.
    pub unfit_pct: f64,
    /// Regret against the best placement of all tasks: distribution of the states' means.
    pub all: Distributions,
    /// By rule, the most frequent first.
    pub rules: Vec<RuleTally>,
}

impl SchedulerRegret {
    /// Summarizes the outcomes of all states.
    pub fn from_outcomes(sched: String, outcomes: &[Outcome]) -> SchedulerRegret {
        let judged: Vec<&WakeupRegret> = outcomes.iter().flat_map(|o| &o.judged).collect();
        let unfit: u64 = outcomes.iter().map(|o| o.unfit).sum();
        let states: Vec<Regret> = outcomes.iter().filter_map(mean).collect();
        let all = judged.len() as u64 + unfit;
        SchedulerRegret {
            sched,
            states: states.len() as u64,
            wakeups: judged.len() as u64,
            unfit_pct: if all == 0 { 0.0 } else { unfit as f64 / all as f64 * 100.0 },
            all: Distributions::from_regrets(&states),
            rules: by_rule(&judged),
        }
    }
}

/// The mean over the wakeups of a state.
fn mean(outcome: &Outcome) -> Option<Regret> {
    let n = outcome.judged.len() as f64;
    let of = |figure: fn(&Regret) -> f64| outcome.judged.iter().map(|j| figure(&j.all)).sum::<f64>() / n;
    (n > 0.0).then(|| Regret { model_pct: of(|r| r.model_pct), power_pct: of(|r| r.power_pct) })
}

fn by_rule(judged: &[&WakeupRegret]) -> Vec<RuleTally> {
    let mut rules: BTreeMap<&str, Vec<Regret>> = BTreeMap::new();
    judged.iter().for_each(|j| rules.entry(&j.rule).or_default().push(j.one));
    let tally = |(rule, regrets): (&str, Vec<Regret>)| RuleTally {
        rule: rule.into(),
        wakeups: regrets.len() as u64,
        one: Distributions::from_regrets(&regrets),
    };
    let mut rules: Vec<RuleTally> = rules.into_iter().map(tally).collect();
    rules.sort_by_key(|r| std::cmp::Reverse(r.wakeups));
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(rule: &str, all: f64, one: f64) -> WakeupRegret {
        let regret = |pct| Regret { model_pct: pct, power_pct: 2.0 * pct };
        WakeupRegret { rule: rule.into(), all: regret(all), one: regret(one) }
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let spread = Distribution::from_values((0..10).map(f64::from).rev().collect());
        assert_eq!(spread, Distribution { none_pct: 10.0, mean: 4.5, p50: 4.0, p90: 8.0, max: 9.0 });
        assert_eq!(Distribution::from_values(Vec::new()), Distribution::default());
        assert_eq!(Distribution::from_values(vec![3.0]).p50, 3.0);
    }

    #[test]
    fn states_count_alike_however_many_wakeups_they_have() {
        let busy = Outcome { judged: vec![judged("a", 2.0, 0.0); 3], unfit: 0 };
        let quiet = Outcome { judged: vec![judged("b", 6.0, 1.0)], unfit: 1 };
        let tally =
            SchedulerRegret::from_outcomes("fair:x".into(), &[busy, quiet, Outcome { judged: Vec::new(), unfit: 3 }]);
        assert_eq!((tally.states, tally.wakeups, tally.unfit_pct), (2, 4, 50.0));
        assert_eq!((tally.all.model.mean, tally.all.power.mean), (4.0, 8.0));
    }

    #[test]
    fn rules_answer_for_their_own_choice_only() {
        let outcome =
            Outcome { judged: vec![judged("a", 9.0, 0.0), judged("b", 9.0, 4.0), judged("b", 9.0, 0.0)], unfit: 0 };
        let rules = SchedulerRegret::from_outcomes("fair:x".into(), &[outcome]).rules;
        let shown: Vec<_> =
            rules.iter().map(|r| (r.rule.as_str(), r.wakeups, r.one.model.none_pct, r.one.model.max)).collect();
        assert_eq!(shown, [("b", 2, 50.0, 4.0), ("a", 1, 100.0, 0.0)]);
    }
}

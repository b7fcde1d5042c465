//! [`Agreement`]: statistics of a kernel's runs beside those of our scheduler.

use std::collections::BTreeMap;

use serde::Serialize;

use fairground_run::placements::{Placement, Placements};

/// Goal: largest difference of a rule's share, percentage points.
const SHARE_GOAL: f64 = 2.0;
/// Goal: largest difference of a figure, percent.
const FIGURE_GOAL: f64 = 5.0;

/// Agreement of two schedulers in free-running simulations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Number of runs of each scheduler.
    pub runs: usize,
    /// Wakeups that the kernel placed, and that our scheduler placed.
    pub wakeups: [u64; 2],
    /// Share of each rule of wakeups, sorted by name.
    pub shares: Vec<Share>,
    /// Rates and latencies of both schedulers.
    pub figures: Vec<Figure>,
    /// Migrations per second by load balancing: the kernel's, and ours.
    pub balanced_per_s: [f64; 2],
    /// The first difference of the first seed's runs; `None` if they never differ.
    pub divergence: Option<Divergence>,
}

/// Share of wakeups that a rule decides, percent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Name of the rule.
    pub rule: String,
    /// Share of the kernel's wakeups that our policy decides alike, by this rule.
    pub kernel_pct: f64,
    /// Share of our wakeups.
    pub ours_pct: f64,
    /// Whether the difference is within the goal.
    pub met: bool,
}

/// A figure of both schedulers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Name, unit last.
    pub name: &'static str,
    /// The kernel's value.
    pub kernel: f64,
    /// Our value.
    pub ours: f64,
    /// Change from the kernel's value to ours, percent; `None` if the kernel's is 0.
    pub change_pct: Option<f64>,
    /// Whether the change is within the goal; `None` for a figure without a goal.
    pub met: Option<bool>,
}

/// The first placement that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Divergence {
    /// Number of placements before it.
    pub after: usize,
    /// Index of the first of these placements whose times differ: the cause is before it. `None` if no times differ.
    pub late: Option<usize>,
    /// The kernel's placement as text; `None` if the kernel's run has ended.
    pub kernel: Option<String>,
    /// Our placement as text; `None` if our run has ended.
    pub ours: Option<String>,
}

impl Agreement {
    /// Compares a kernel's runs with ours; both have the same seeds in the same order.
    pub fn new(kernel: &[Placements], ours: &[Placements]) -> Agreement {
        let sides = [kernel, ours];
        let counts = sides.map(rule_counts);
        let wakeups = [0, 1].map(|side| counts[side].values().sum());
        let sum = |of: &dyn Fn(&Placements) -> f64| sides.map(|runs| runs.iter().map(of).sum::<f64>());
        let seconds = sum(&|p| p.seconds);
        let per_second = |counts: [f64; 2]| [0, 1].map(|side| ratio(counts[side], seconds[side]));
        let per_run = |sums: [f64; 2]| sums.map(|s| ratio(s, kernel.len() as f64));
        let work = |wakes: bool| {
            let counted = sum(&|p| looks(p, wakes)[0]);
            let decisions = sum(&|p| looks(p, wakes)[1]);
            [0, 1].map(|side| ratio(counted[side], decisions[side]))
        };
        let balanced_per_s = per_second(sum(&|p| p.balanced as f64));
        let figures = vec![
            figure("migrations_per_s", per_second(sum(&|p| p.migrations as f64)), true),
            figure("wakeup_latency_p99_us", per_run(sum(&|p| p.wakeup_latency_p99_ns as f64 / 1e3)), true),
            figure("wakeups_per_s", per_second(wakeups.map(|n: u64| n as f64)), false),
            figure("probes_per_wakeup", work(true), false),
            figure("cpus_per_fork", work(false), false),
        ];
        let divergence = kernel.first().zip(ours.first()).and_then(|(kernel, ours)| Divergence::of(kernel, ours));
        let shares = compare(&counts);
        Agreement { runs: kernel.len(), wakeups, shares, figures, balanced_per_s, divergence }
    }

    /// Whether all goals are met.
    pub fn met(&self) -> bool {
        self.shares.iter().all(|s| s.met) && self.figures.iter().all(|f| f.met != Some(false))
    }
}

/// Number of wakeups by rule.
fn rule_counts(runs: &[Placements]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for run in runs {
        for placed in run.all.iter().filter(|p| p.kind() == "wake") {
            match counts.get_mut(run.rule(placed)) {
                Some(count) => *count += 1,
                None => drop(counts.insert(run.rule(placed).to_string(), 1)),
            }
        }
    }
    counts
}

/// Number of CPUs that wakeups (or forks and execs) probed or read for group statistics, and the number of these
/// placements.
fn looks(run: &Placements, wakes: bool) -> [f64; 2] {
    let of = run.all.iter().filter(|p| (p.kind() == "wake") == wakes);
    of.fold([0.0, 0.0], |[looks, n], p| [looks + f64::from(p.probes + p.group_cpus), n + 1.0])
}

fn compare(counts: &[BTreeMap<String, u64>; 2]) -> Vec<Share> {
    let mut rules: Vec<&String> = counts.iter().flat_map(|c| c.keys()).collect();
    rules.sort_unstable();
    rules.dedup();
    let pct = |side: usize, rule: &String| {
        let all: u64 = counts[side].values().sum();
        100.0 * ratio(counts[side].get(rule).copied().unwrap_or(0) as f64, all as f64)
    };
    let share = |rule: &String| {
        let (kernel_pct, ours_pct) = (pct(0, rule), pct(1, rule));
        Share { rule: rule.clone(), kernel_pct, ours_pct, met: (kernel_pct - ours_pct).abs() <= SHARE_GOAL }
    };
    rules.into_iter().map(share).collect()
}

fn figure(name: &'static str, [kernel, ours]: [f64; 2], goal: bool) -> Figure {
    let change_pct = (kernel != 0.0).then(|| 100.0 * (ours / kernel - 1.0));
    let within = change_pct.map_or(ours == 0.0, |pct| pct.abs() <= FIGURE_GOAL);
    Figure { name, kernel, ours, change_pct, met: goal.then_some(within) }
}

/// `a / b`; 0 if `b` is 0.
fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 {
        0.0
    } else {
        a / b
    }
}

impl Divergence {
    fn of(kernel: &Placements, ours: &Placements) -> Option<Divergence> {
        let pairs = || kernel.all.iter().zip(&ours.all);
        let both = kernel.all.len().min(ours.all.len());
        let after = pairs().position(|(k, o)| !k.same(o)).unwrap_or(both);
        if after == kernel.all.len() && after == ours.all.len() {
            return None;
        }
        let late = pairs().take(after).position(|(k, o)| k.time != o.time);
        let words = |run: &Placements| run.all.get(after).map(|placed| words(run, placed));
        Some(Divergence { after, late, kernel: words(kernel), ours: words(ours) })
    }
}

fn words(run: &Placements, p: &Placement) -> String {
    let (time, kind, rule) = (p.time as f64 / 1e9, p.kind(), run.rule(p));
    let rule = fairground_fair::rule_title(rule);
    format!("{time:.9} s: {kind} of task {} from CPU {} to CPU {} by {rule}", p.task, p.prev, p.chosen)
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use fairground_sim::{Decision, DecisionKind};

    use super::*;

    /// Wakes of task 1 at 0 us, 1 us, ..., to these CPUs by these rules.
    fn run(wakes: &[(u32, u16)], migrations: u64, p99_us: u64) -> Placements {
        let wake = |(at, &(chosen, rule)): (usize, &(u32, u16))| {
            let kind = DecisionKind::Wake;
            let decision = Decision { kind, task: 1, prev: 0, chosen, rule, probes: 4, group_cpus: 0 };
            Placement::new(1000 * at as u64, &decision)
        };
        Placements {
            all: wakes.iter().enumerate().map(wake).collect(),
            rules: ["A1", "A2"].map(String::from).to_vec(),
            seconds: 2.0,
            migrations,
            balanced: 2,
            wakeup_latency_p99_ns: 1000 * p99_us,
        }
    }

    #[test]
    fn shares_within_two_points_and_figures_within_five_per_cent_meet_the_goal() {
        let mut wakes = vec![(0, 0); 98];
        wakes.extend([(1, 1), (1, 1)]);
        let kernel = run(&wakes, 100, 100);
        let agreement = |ours| Agreement::new(from_ref(&kernel), &[ours]);
        let all_a1 = agreement(run(&[(0, 0); 100], 104, 96));
        assert!(all_a1.met(), "{all_a1:?}");
        assert_eq!((all_a1.shares[1].kernel_pct, all_a1.shares[1].ours_pct), (2.0, 0.0));
        assert_eq!((all_a1.figures[0].kernel, all_a1.balanced_per_s), (50.0, [1.0, 1.0]));
        assert!(!agreement(run(&wakes, 106, 100)).met());
        assert!(!agreement(run(&wakes, 100, 106)).met());
        wakes[0] = (1, 1);
        assert!(agreement(run(&wakes, 100, 100)).met());
        (wakes[1], wakes[2]) = ((1, 1), (1, 1));
        assert!(!agreement(run(&wakes, 100, 100)).met());
    }

    #[test]
    fn runs_part_where_a_task_goes_elsewhere() {
        let kernel = run(&[(0, 0), (1, 1), (2, 1)], 0, 0);
        let part = |ours: &Placements| Agreement::new(from_ref(&kernel), from_ref(ours)).divergence;
        assert_eq!(part(&kernel), None);
        let mut ours = run(&[(0, 0), (1, 1), (3, 0)], 0, 0);
        ours.all[1].time += 1;
        let found = part(&ours).unwrap();
        assert_eq!((found.after, found.late), (2, Some(1)));
        assert_eq!(
            found.kernel.unwrap(),
            "0.000002000 s: wake of task 1 from CPU 0 to CPU 2 by select_idle_sibling: previous CPU (A2)"
        );
        let shorter = part(&run(&[(0, 0)], 0, 0)).unwrap();
        assert_eq!((shorter.after, shorter.ours), (1, None));
    }
}

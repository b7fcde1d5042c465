//! Which figures carry the doubt: a screening over all of them.
//!
//! Base and test are run on some hundred draws of their own, shortened, with one seed. The change of a metric is regressed
//! on the logarithms of the factors by which each figure is off in each draw; ranks stand for the changes, so that what bends
//! or jumps counts by its direction. Coefficients that noise alone would hardly give are fitted again without the others. The
//! share of a figure in the variance is its coefficient times its correlation with the change (Pratt's measure): its square
//! where figures err independently. Figures of a group err together in part, and what they share counts for each as far as
//! the change follows that figure. What no figure explains by itself stays unattributed.
//!
//! Fits are ours: least squares is nalgebra's, and no library of Rust has a regression of ranks with correlated inputs.

use std::collections::{BTreeMap, BTreeSet};

use fairground_machine::{Draw, Machine, MachineError};
use fairground_workload::Workload;
use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use crate::shortened::shortened;

/// The first draw of screenings: no draw of a comparison.
const FIRST_DRAW: u64 = 1 << 32;

/// The least number of draws.
const RUNS_MIN: usize = 200;

/// Draws for each thing that may be off: fewer than two leave more noise than shares.
const RUNS_PER_INPUT: usize = 2;

/// By how much runs are shortened.
const SHORTER: u32 = 20;

/// Most figures that are listed.
const LISTED: usize = 5;

/// The workload that a screening of `workload` runs, as on the command line: the same, a twentieth as long if it is built in
/// and has a length.
pub fn short_workload(workload: &str) -> String {
    shortened(workload, SHORTER).unwrap_or_else(|| workload.to_owned())
}

/// A design: draws to run, and what is off in them.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// Paths of the figures.
    inputs: Vec<String>,
    draws: Vec<u64>,
    /// Of each draw, the logarithm of the factor by which each figure is off.
    logs: Vec<Vec<f64>>,
}

impl Design {
    /// The design for sides on these machines and workloads, as they are stated.
    ///
    /// # Errors
    /// If the posterior of a machine cannot be read.
    pub fn new<'a>(sides: impl IntoIterator<Item = (&'a Machine, &'a Workload)>) -> Result<Design, MachineError> {
        Design::from_draw(FIRST_DRAW, sides)
    }

    /// As [`Design::new`], with other draws: the first is `first`.
    ///
    /// # Errors
    /// If the posterior of a machine cannot be read.
    pub fn from_draw<'a>(
        first: u64,
        sides: impl IntoIterator<Item = (&'a Machine, &'a Workload)>,
    ) -> Result<Design, MachineError> {
        let (mut laws, mut inputs) = (Vec::new(), BTreeSet::new());
        for (machine, workload) in sides {
            let law = machine.draw_law()?;
            let estimates = workload.estimates();
            let doubts = law.doubts().iter().chain(&estimates);
            inputs.extend(doubts.filter(|(_, doubt)| doubt.spread > 1.0).map(|(path, _)| path.clone()));
            laws.push((law, estimates));
        }
        let runs = RUNS_MIN.max(RUNS_PER_INPUT * inputs.len()) as u64;
        let draws: Vec<u64> = (first..first + runs).collect();
        let logs_in = |draw: &u64| {
            let mut logs = BTreeMap::new();
            for (law, estimates) in &laws {
                let of_workload = estimates
                    .iter()
                    .map(|(path, doubt)| (path.clone(), doubt.factor(path, |name| law.deviation(Draw(*draw), name))));
                for (path, factor) in law.factors(Draw(*draw)).into_iter().chain(of_workload) {
                    logs.entry(path).or_insert(libm::log(factor));
                }
            }
            inputs.iter().map(|path| logs.get(path).copied().unwrap_or(0.0)).collect()
        };
        let logs = draws.iter().map(logs_in).collect();
        Ok(Design { inputs: inputs.into_iter().collect(), draws, logs })
    }

    /// The draws to run base and test on.
    pub fn draws(&self) -> &[u64] {
        &self.draws
    }

    /// The draws with the seed of their runs, which is one for all: what seeds do is not part of a screening.
    pub fn draws_and_seeds(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.draws.iter().map(|draw| (*draw, 1))
    }

    /// The screening of a metric by its change in each of these draws, infinite from 0; draws without it are left out.
    pub fn screen(&self, metric: &str, changes: &[(u64, f64)]) -> Screening {
        let mut screening =
            Screening { metric: metric.into(), draws: changes.len(), shares: Vec::new(), unattributed: 1.0 };
        let ranks = ranks(&changes.iter().map(|(_, pct)| *pct).collect::<Vec<f64>>());
        let (n, p) = (changes.len(), self.inputs.len());
        let variance = ranks.iter().map(|rank| rank * rank).sum::<f64>() / n.max(1) as f64;
        // More inputs than draws tell nothing apart.
        if n <= p + 1 {
            return screening;
        }
        if variance == 0.0 {
            screening.unattributed = 0.0;
            return screening;
        }
        let rows: Vec<&Vec<f64>> = changes
            .iter()
            .filter_map(|(draw, _)| self.draws.iter().position(|known| known == draw))
            .map(|at| &self.logs[at])
            .collect();
        assert_eq!(rows.len(), n, "changes on draws of the design");
        let columns: Vec<Vec<f64>> =
            (0..p).map(|input| standardised(rows.iter().map(|row| row[input]).collect())).collect();
        let target: Vec<f64> = ranks.iter().map(|rank| rank / variance.sqrt()).collect();
        let Some(first) = Fit::least_squares(&columns.iter().collect::<Vec<_>>(), &target) else { return screening };
        let told: Vec<usize> = (0..p).filter(|i| first.is_told(*i)).collect();
        let again = Fit::least_squares(&told.iter().map(|i| &columns[*i]).collect::<Vec<_>>(), &target);
        let correlation = |i: usize| columns[i].iter().zip(&target).map(|(x, y)| x * y).sum::<f64>() / n as f64;
        let mut shares: Vec<Share> =
            self.inputs.iter().map(|path| Share { figure: path.clone(), share: 0.0 }).collect();
        for (i, coefficient) in told.iter().zip(again.iter().flat_map(|fit| &fit.coefficients)) {
            shares[*i].share = (coefficient * correlation(*i)).max(0.0);
        }
        shares.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.figure.cmp(&b.figure)));
        let sum: f64 = shares.iter().map(|share| share.share).sum();
        if sum > 1.0 {
            shares.iter_mut().for_each(|share| share.share /= sum);
        }
        screening.unattributed = (1.0 - sum).max(0.0);
        screening.shares = shares;
        screening
    }
}

/// Coefficients beyond so many of their standard errors are told from noise: of a hundred inputs without influence one is
/// in one screening of twenty.
const TOLD: f64 = 3.5;

/// Singular values below this part of the greatest are none: what is only together in doubt is not told apart.
const RANK: f64 = 1e-9;

/// A least-squares fit of columns of mean 0 and variance 1 to a target of variance 1.
struct Fit {
    coefficients: Vec<f64>,
    /// Standard error of each coefficient.
    errors: Vec<f64>,
}

impl Fit {
    /// The fit, the shortest where several are as good, unless there are no columns or as many as rows.
    fn least_squares(columns: &[&Vec<f64>], target: &[f64]) -> Option<Fit> {
        let (n, p) = (target.len(), columns.len());
        if p == 0 || n <= p + 1 {
            return None;
        }
        let matrix = DMatrix::from_fn(n, p, |row, column| columns[column][row]);
        let target = DVector::from_column_slice(target);
        let svd = matrix.clone().svd(true, true);
        let least = RANK * svd.singular_values.max();
        let solved = svd.solve(&target, least).ok()?;
        let left = (&target - &matrix * &solved).norm_squared() / (n - p - 1) as f64;
        let v_t = svd.v_t?;
        let mut errors = vec![0.0; p];
        for (row, value) in svd.singular_values.iter().enumerate().filter(|(_, value)| **value > least) {
            (0..p).for_each(|i| errors[i] += left * (v_t[(row, i)] / value).powi(2));
        }
        Some(Fit { coefficients: solved.iter().copied().collect(), errors: errors.iter().map(|e| e.sqrt()).collect() })
    }

    fn is_told(&self, i: usize) -> bool {
        self.coefficients[i].abs() > TOLD * self.errors[i]
    }
}

/// Which figures carry the doubt of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Screening {
    /// Name of the metric.
    pub metric: String,
    /// Number of draws in which both sides have it.
    pub draws: usize,
    /// All figures in doubt, the greatest share first; empty where nothing is to be told apart.
    pub shares: Vec<Share>,
    /// Share of the variance that no figure explains by itself, 0 to 1; of no variance 0.
    pub unattributed: f64,
}

/// A figure and its share in the variance of a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Path of the figure.
    pub figure: String,
    /// 0 to 1.
    pub share: f64,
}

/// The part of the variance that must go for the interval to halve.
const HALVES: f64 = 0.75;

impl Screening {
    /// The figures that are worth a line: the first few, with at least one percent.
    pub fn first(&self) -> impl Iterator<Item = &Share> {
        self.shares.iter().take(LISTED).filter(|share| share.share >= 0.01)
    }

    /// What it was told by.
    pub fn basis(&self) -> String {
        format!("by {} draws, built-in workloads a {SHORTER}th as long", self.draws)
    }

    /// The first figures with their shares, those that follow together, and what is not attributed, a line each.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let others: f64 = self.shares.iter().map(|share| share.share).sum::<f64>()
            - self.first().map(|share| share.share).sum::<f64>();
        let rest = [("other figures", others), ("not attributed", self.unattributed)];
        let first = self.first().map(|share| (share.figure.as_str(), share.share));
        first.chain(rest).map(|(name, share)| format!("{:>5.0} %  {name}", share * 100.0))
    }

    /// What to measure: the fewest figures without whose doubt the interval has half of its width, or what the first ones
    /// would bring. It is the interval of the runs of the screening, by ranks.
    pub fn advice(&self) -> String {
        if self.shares.is_empty() {
            let why = match self.unattributed {
                0.0 => "the change is the same in all draws",
                _ => "too few draws have the metric: figures cannot be told apart",
            };
            return why.into();
        }
        let mut left = 1.0;
        let mut names: Vec<&str> = Vec::new();
        for share in self.first() {
            left -= share.share;
            names.push(&share.figure);
            if left <= 1.0 - HALVES {
                return format!("measured, {} would halve the interval of such runs", listed(&names));
            }
        }
        match names.as_slice() {
            [] => "no figure carries as much as one percent of the doubt".into(),
            names => {
                let width = left.max(0.0).sqrt() * 100.0;
                format!("measured, {} would leave {width:.0} % of the width of such runs' interval", listed(names))
            }
        }
    }
}

fn listed(names: &[&str]) -> String {
    match names {
        [one] => (*one).into(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
        [] => String::new(),
    }
}

/// Ranks round 0; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let mut at = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = at as f64 + (equal.len() as f64 - 1.0) / 2.0 - middle;
        equal.iter().for_each(|i| ranks[*i] = rank);
        at += equal.len();
    }
    ranks
}

/// With mean 0 and variance 1; all 0 if they are all the same.
fn standardised(mut values: Vec<f64>) -> Vec<f64> {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter_mut().for_each(|value| *value -= mean);
    let sd = (values.iter().map(|value| value * value).sum::<f64>() / n).sqrt();
    if sd > 0.0 {
        values.iter_mut().for_each(|value| *value /= sd);
    }
    values
}

#[cfg(test)]
mod tests {
    use fairground_machine::Machine;

    use super::*;

    fn design(repeat: u64) -> Design {
        // Of a board that no base cell weighs.
        let machine = Machine { name: "board".into(), ..Machine::preset("hikey960").unwrap() };
        let (workload, _) = Workload::find("sched-pipe", &machine).unwrap();
        Design::from_draw(FIRST_DRAW + repeat * 1000, [(&machine, &workload)]).unwrap()
    }

    /// Changes made by hand: so many standard deviations times each weight, plus noise.
    fn changes(design: &Design, weights: &[(&str, f64)], noise: f64) -> Vec<(u64, f64)> {
        let mut changes: Vec<(u64, f64)> =
            design.draws.iter().map(|draw| (*draw, 20.0 + noise * Draw(*draw).deviation("noise"))).collect();
        for (path, weight) in weights {
            let input = design.inputs.iter().position(|known| known == path).unwrap();
            let off = standardised(design.logs.iter().map(|row| row[input]).collect());
            changes.iter_mut().zip(off).for_each(|((_, change), off)| *change += weight * off);
        }
        changes
    }

    /// `costs.line.node` and `costs.soft.migrate` correlate by 0.5, as half of the variance of lines is common. So the
    /// variance is 9 + 1 + 2 x 3 x 0.5 + 1 + 1 of noise = 14, of which they have 3 x (3 + 0.5) and 1 + 3 x 0.5. Ranks of
    /// what is normal correlate with its parts by the square root of 3 / pi less. With 200 draws the first share is so
    /// give or take 0.05.
    #[test]
    fn shares_are_those_of_the_variance() {
        let weights = [("costs.line.node", 3.0), ("costs.soft.migrate", 1.0), ("costs.soft.exec", 1.0)];
        let by_ranks = 3.0 / std::f64::consts::PI / 14.0;
        for repeat in 0..6 {
            let design = design(repeat);
            let screening = design.screen("ops_per_sec", &changes(&design, &weights, 1.0));
            let share = |name: &str| screening.shares.iter().find(|s| s.figure == name).unwrap().share;
            assert_eq!(screening.shares[0].figure, "costs.line.node");
            assert!((share("costs.line.node") - by_ranks * 10.5).abs() < 0.2, "{}", share("costs.line.node"));
            assert!((share("costs.soft.migrate") - by_ranks * 2.5).abs() < 0.15, "{}", share("costs.soft.migrate"));
            assert!(share("costs.line.llc") < 0.05, "{}", share("costs.line.llc"));
            assert!(share("costs.soft.tick") < 0.05, "{}", share("costs.soft.tick"));
            assert!(screening.unattributed < 0.25, "{}", screening.unattributed);
        }
    }

    #[test]
    fn noise_is_attributed_to_nobody() {
        for repeat in 0..6 {
            let design = design(repeat);
            let screening = design.screen("x", &changes(&design, &[], 1.0));
            assert!(screening.shares[0].share < 0.09, "{:?}", screening.shares[0]);
            assert!(screening.unattributed > 0.8, "{}", screening.unattributed);
        }
    }

    #[test]
    fn what_never_changes_has_no_doubt() {
        let design = design(0);
        let same: Vec<(u64, f64)> = design.draws().iter().map(|draw| (*draw, 0.0)).collect();
        let screening = design.screen("x", &same);
        assert_eq!((screening.shares.len(), screening.unattributed), (0, 0.0));
        assert_eq!(design.screen("x", &same).advice(), "the change is the same in all draws");
        let few: Vec<(u64, f64)> = (0u8..3).zip(design.draws()).map(|(i, draw)| (*draw, i.into())).collect();
        for number in [0, 1, 3] {
            let few = design.screen("x", &few[..number]);
            assert_eq!((few.draws, few.unattributed), (number, 1.0));
            assert!(few.advice().starts_with("too few draws"), "{}", few.advice());
        }
    }

    #[test]
    fn advice_names_what_halves_the_interval_or_what_the_first_would_leave() {
        let of = |shares: &[(&str, f64)]| {
            let shares: Vec<Share> =
                shares.iter().map(|(figure, share)| Share { figure: (*figure).into(), share: *share }).collect();
            let unattributed = 1.0 - shares.iter().map(|share| share.share).sum::<f64>();
            Screening { metric: "x".into(), draws: 200, shares, unattributed }.advice()
        };
        assert_eq!(of(&[("a", 0.8), ("b", 0.1)]), "measured, a would halve the interval of such runs");
        assert_eq!(of(&[("a", 0.5), ("b", 0.3)]), "measured, a and b would halve the interval of such runs");
        assert_eq!(of(&[("a", 0.36), ("b", 0.0)]), "measured, a would leave 80 % of the width of such runs' interval");
        assert_eq!(of(&[("a", 0.0)]), "no figure carries as much as one percent of the doubt");
    }

    #[test]
    fn ranks_of_equal_values_are_equal() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0]), [0.5, -1.0, 0.5]);
        assert_eq!(ranks(&[2.0, 2.0]), [0.0, 0.0]);
    }

    /// What is fixed by a fit, certain or nothing is no input.
    #[test]
    fn inputs_are_what_may_be_off() {
        let names = design(0).inputs;
        let has = |name: &str| names.iter().any(|known| known == name);
        assert!(has("costs.scale") && has("refill.modified") && !has("lines"));
        assert!(names.iter().any(|name| name.starts_with("workload.sched-pipe.footprint.")));
        assert!(!has("cpu_type.Cortex-A53.efficiency"));
        assert!(!has("cpu_type.Cortex-A53.idle.WFI.entry"), "0 times anything is 0");
    }

    /// Two inputs that are one: a fit has no say between them, and halves the coefficient.
    #[test]
    fn what_cannot_be_told_apart_is_shared() {
        let x = standardised((0..100).map(|i| f64::from(i * 37 % 100)).collect());
        let fit = Fit::least_squares(&[&x, &x], &x).unwrap();
        assert!(fit.coefficients.iter().all(|c| (c - 0.5).abs() < 1e-9), "{:?}", fit.coefficients);
        assert!(fit.is_told(0));
    }
}

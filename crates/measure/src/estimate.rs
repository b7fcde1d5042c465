//! From measured times to costs.
//!
//! The time of a serial operation is a sum of costs, each as often as it is paid. How often, the simulator says: each cost in
//! turn is raised a little and every trial simulated again, so that what is measured is exactly what will be charged, and no table of
//! counts can go out of date. Then non-negative least squares, on errors relative to the measured time, find the factors by
//! which the figures of the file are off. Where costs make a thread go another way the sum bends, so it is linearised again at the
//! solution.
//!
//! **Weights.** A row's variance is that of its median over rounds and a misfit common to all workloads, as large as it has to be for the
//! residuals to be what these variances say (chi squared equal to the degrees of freedom). The model is a model: with enough rounds
//! its misfit is what limits a figure. A probe measures a figure itself, and has none.
//!
//! **What cannot be told apart** is joined: its figures keep the ratio that they have in the file, and only their sum is scaled.
//! Joined are, one pair at a time, figures whose columns depend on each other (the normalised Gram matrix has an eigenvalue near 0;
//! those of the columns in its vector that are most alike); a figure that would be 0, with one whose column is like its own; and a figure
//! whose interval would be wider than that of an estimate although it alone would be well known, with that it is traded
//! against, unless that makes the misfit grow.
//!
//! **Spreads** have the noise of the rounds (whole rounds are drawn again, with all that drifts together in them), the misfit, and what
//! a figure may mean (refills, `probe.rs`). Rounds of one run do not tell what another run gives: for that stands the spread of
//! the class `measured`. Besides, the ratios within sums are in doubt by the part of an estimate's spread that
//! figures of a kind do not share (as where `costs.scale` is fitted, what they have in common is known, their split is not). That
//! is part of the spreads of the members, and of all figures that would come out otherwise with other ratios.
//! A figure whose noise and misfit leave an interval as wide as an estimate's is refused and stays as it was.

use fairground_machine::{Draw, Machine};
use nalgebra::{Cholesky, DMatrix, DVector, SymmetricEigen};

use crate::design::{How, Trial};
use crate::nnls::nnls;
use crate::Param;

/// What a trial measured of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Time per operation of each round, ns.
    pub rounds: Vec<f64>,
    /// Within what factor two thirds of what the figure may mean lie.
    pub spread: f64,
}

/// How a figure came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The trials tell it apart from all others.
    Measured,
    /// It is part of a sum that is measured, and keeps its ratio to the other parts.
    PartOfSum,
    /// Its interval is too wide: it stays as it was.
    Unsettled,
    /// It is too small a part of every workload: it stays as it was.
    TooSmall,
}

/// A figure, before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureEstimate {
    /// What of the machine it is.
    pub param: Param,
    /// Its path in the file.
    pub path: String,
    /// Its value in the file, as it is paid, ns.
    pub before_ns: f64,
    /// Its measured value, ns; what came out where that is not taken.
    pub ns: f64,
    /// Within what factor two thirds of what it may be lie.
    pub spread: f64,
    /// The others of its sum, and how its value is to be taken.
    pub with: Vec<String>,
    /// Whether it is taken.
    pub standing: Standing,
}

/// A row: measured time per operation, and what the model says.
#[derive(Clone, Debug, PartialEq)]
pub struct RowFit {
    /// Name of the operation, as its trial has it.
    pub name: String,
    /// Median over rounds, ns.
    pub ns: f64,
    /// Standard error of the median, relative.
    pub error: f64,
    /// Rounds that have it.
    pub rounds: usize,
    /// Part of the rounds that are farther from the median than three times what two thirds of them are.
    pub outliers: f64,
    /// What the simulator says with the figures of the file before, ns.
    pub before_ns: f64,
    /// What it says with those that are written, ns.
    pub model_ns: f64,
}

/// A whole against its parts: a row, predicted from the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Name of the row, as its trial has it.
    pub name: String,
    /// As measured, ns.
    pub ns: f64,
    /// As predicted by a fit without it, ns; `None`: no other row has all of its parts.
    pub predicted_ns: Option<f64>,
}

/// Figures from measured rows, and how well the model gives these rows.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The machine with the figures that are taken.
    pub machine: Machine,
    /// All figures that some trial pays.
    pub figures: Vec<FigureEstimate>,
    /// Measured times beside the model's, in the order of the trials.
    pub rows: Vec<RowFit>,
    /// Rows that are a whole, each predicted from the other rows.
    pub rules: Vec<Rule>,
    /// The misfit common to all rows, relative.
    pub misfit: f64,
}

/// How often the sum is linearised.
const LINEARISED: usize = 3;
/// By how much a cost is raised to see how often it is paid: a part of itself, and ns.
const RAISED_BY: f64 = 0.25;
const RAISED_NS: f64 = 40.0;
/// The least part of some row that a software cost must be to be measured by it.
const LEAST_PART: f64 = 0.02;
/// An eigenvalue of the normalised Gram matrix below which columns depend on each other.
const DEPENDENT: f64 = 1e-5;
/// The least entry of its unit vector by which a column takes part in that.
const PART_OF_VECTOR: f64 = 0.05;
/// The least relative error of a row: the resolution of a histogram.
const LEAST_ERROR: f64 = 0.002;
/// How often the interval of the misfit is halved.
const BISECTED: usize = 14;
/// How often rounds are drawn again.
const DRAWS: u64 = 200;
/// A standard deviation in medians of absolute deviations, and the standard error of a median over that of a mean.
const DEVIATION: f64 = 1.4826;
const MEDIAN_ERROR: f64 = 1.2533;
/// The part of an estimate's log-variance that it does not share with others of its kind (`machines/README.md`, Doubt).
const OWN_PART: f64 = 0.5;
/// The part of the greatest likeness of columns from which on they are about as like.
const ABOUT_AS_LIKE: f64 = 0.9;
/// By what factor the misfit may grow as two figures are joined.
const MISFIT_GROWS: f64 = 1.2;
/// The misfit with which it is found what depends on each other, and candidates for a sum are compared: rows weigh about alike.
const LEAST_MISFIT: f64 = 0.05;
/// The relative error from which on a prediction says nothing.
const NO_PREDICTION: f64 = 0.3;

/// What is known of the rows at one point: times as a linear function of factors on the figures.
struct Problem {
    /// Measured, ns.
    ns: Vec<f64>,
    /// Standard errors of `ns` by row, as parts of it.
    errors: Vec<f64>,
    /// Whether a probe measured it.
    is_probe: Vec<bool>,
    /// What does not depend on the figures that are free, ns.
    fixed: Vec<f64>,
    /// By row, then by free figure: what its value in the file contributes, ns.
    parts: DMatrix<f64>,
    /// By free figure: the logarithm of the spread that an estimate of it has.
    limits: Vec<f64>,
}

/// Free figures in groups, with a factor each.
#[derive(Clone, Debug)]
struct Fit {
    groups: Vec<Vec<usize>>,
    factors: Vec<f64>,
    misfit: f64,
}

/// Estimates the figures of `machine` from what `trials` measured. `predict` gives the time of each row on a machine, in the order of the
/// trials.
///
/// # Errors
/// Those of `predict`.
pub fn estimate<E>(
    machine: &Machine,
    trials: &[(Trial, Vec<Series>)],
    mut predict: impl FnMut(&Machine) -> Result<Vec<f64>, E>,
) -> Result<Estimate, E> {
    let measured: Vec<(&str, bool, &Series)> = trials
        .iter()
        .flat_map(|(trial, series)| trial.rows.iter().zip(series))
        .map(|(row, series)| (&*row.name, row.is_whole, series))
        .collect();
    let params = params(machine, trials);
    let base: Vec<f64> = params.iter().map(|param| param.ns(machine).max(1.0)).collect();
    let limits: Vec<f64> = params.iter().map(|param| param.spread_of_estimate(machine).ln()).collect();
    let mut start = machine.clone();
    if params.iter().any(|param| matches!(param, Param::LineRead(_))) {
        let lines = start.costs.line_ns;
        start.costs.line_read_ns.get_or_insert(lines);
    }
    let before_ns = predict(&start)?;
    let at = |factors: &[f64]| {
        let mut machine = start.clone();
        for ((param, base), factor) in params.iter().zip(&base).zip(factors) {
            param.set(&mut machine, base * factor);
        }
        machine
    };
    let ns: Vec<f64> = measured.iter().map(|(_, _, series)| median(&series.rounds).max(1e-3)).collect();
    let errors: Vec<f64> = measured.iter().zip(&ns).map(|((_, _, series), ns)| error_of(&series.rounds, *ns)).collect();

    let probed = |(trial, series): &(Trial, Vec<Series>)| vec![matches!(trial.how, How::Probe(..)); series.len()];
    let is_probe: Vec<bool> = trials.iter().flat_map(probed).collect();

    let mut factors: Vec<f64> = params.iter().zip(&base).map(|(param, base)| param.ns(&start) / base).collect();
    let mut last = None;
    for _ in 0..LINEARISED {
        let here = at(&factors);
        let now = predict(&here)?;
        let mut parts = DMatrix::zeros(ns.len(), params.len());
        for (k, param) in params.iter().enumerate() {
            let value = param.ns(&here);
            let mut raised = here.clone();
            param.set(&mut raised, value + (value * RAISED_BY).max(RAISED_NS).round());
            let more = param.ns(&raised) - value;
            for (i, then) in predict(&raised)?.iter().enumerate() {
                parts[(i, k)] = (then - now[i]) / more * base[k];
            }
        }
        // By its value in the file, if that is more: what turns out to be little is still a figure.
        let part_of = |i: usize, k: usize| parts[(i, k)] * factors[k].max(1.0) / now[i].max(1e-3);
        let largest: Vec<f64> =
            (0..params.len()).map(|k| (0..ns.len()).map(|i| part_of(i, k)).fold(0.0, f64::max)).collect();
        // What a virtual machine takes to halt and to be woken may be a hundred times what its file borrows, and what a file leaves
        // out is nothing in it.
        let far_from_file = |param| matches!(param, Param::Wake { .. } | Param::Ipi(_) | Param::SocketMessage(_));
        let least = |k: usize| if far_from_file(params[k]) { 1e-4 } else { LEAST_PART };
        let free: Vec<usize> = (0..params.len()).filter(|k| largest[*k] >= least(*k)).collect();
        let fixed = (0..ns.len()).map(|i| now[i] - free.iter().map(|k| parts[(i, *k)] * factors[*k]).sum::<f64>());
        let problem = Problem {
            ns: ns.clone(),
            errors: errors.clone(),
            is_probe: is_probe.clone(),
            fixed: fixed.collect(),
            parts: DMatrix::from_fn(ns.len(), free.len(), |i, j| parts[(i, free[j])]),
            limits: free.iter().map(|k| limits[*k]).collect(),
        };
        let fit = problem.solve();
        let mut moved: f64 = 0.0;
        for (group, factor) in fit.groups.iter().zip(&fit.factors) {
            for j in group {
                moved = moved.max((factor / factors[free[*j]]).ln().abs());
                factors[free[*j]] = *factor;
            }
        }
        last = Some((problem, free, fit, largest));
        if moved < 0.01 {
            break;
        }
    }
    let Some((problem, free, fit, largest)) = last else { unreachable!("linearised at least once") };

    let noise = problem.noise(&fit, &measured.iter().map(|(_, _, series)| &*series.rounds).collect::<Vec<_>>());
    let misfit = problem.misfit_of_factors(&fit);
    let splits = problem.splits(&fit);
    let mut figures = Vec::new();
    let mut taken = start.clone();
    for (k, param) in params.iter().enumerate() {
        let (path, before_ns) = (param.path(machine), param.ns(machine));
        let Some(j) = free.iter().position(|free| *free == k) else {
            // What no trial pays is no figure of this estimate.
            if largest[k] > 0.0 {
                let (with, standing) = (Vec::new(), Standing::TooSmall);
                figures.push(FigureEstimate {
                    param: *param,
                    path,
                    before_ns,
                    ns: before_ns,
                    spread: 1.0,
                    with,
                    standing,
                });
            }
            continue;
        };
        let g = fit.groups.iter().position(|group| group.contains(&j)).unwrap_or(0);
        let group = &fit.groups[g];
        let own = noise[g].hypot(misfit[g]);
        let is_sum = group.len() > 1;
        let meaning = meaning_of(trials, *param).ln();
        let settled = if is_sum { own } else { own.hypot(splits[j]) } < problem.limit_of(group);
        let standing = match (settled, is_sum) {
            (false, _) => Standing::Unsettled,
            (true, true) => Standing::PartOfSum,
            (true, false) => Standing::Measured,
        };
        let value = rounded(base[k] * fit.factors[g]);
        if settled {
            param.set(&mut taken, value);
        }
        let with = group.iter().filter(|other| **other != j).map(|other| params[free[*other]].path(machine)).collect();
        let again = param.spread_of_measured(machine).ln();
        let spread = own.hypot(splits[j]).hypot(meaning).hypot(again).exp();
        figures.push(FigureEstimate { param: *param, path, before_ns, ns: value, spread, with, standing });
    }
    let model_ns = predict(&taken)?;
    let rows = measured.iter().enumerate().map(|(i, (name, _, series))| RowFit {
        name: (*name).into(),
        ns: ns[i],
        error: errors[i],
        rounds: series.rounds.len(),
        outliers: outliers(&series.rounds),
        before_ns: before_ns[i],
        model_ns: model_ns[i],
    });
    let wholes = measured.iter().enumerate().filter(|(_, (_, is_whole, _))| *is_whole);
    let rules = wholes.map(|(i, (name, _, _))| Rule {
        name: (*name).into(),
        ns: ns[i],
        predicted_ns: problem.without(i, &fit),
    });
    let (rows, rules) = (rows.collect(), rules.collect());
    Ok(Estimate { machine: taken, figures, rows, rules, misfit: fit.misfit })
}

/// The figures that some trial may pay, those that probes measure, and the wakes of idle states that are chosen one at a time.
fn params(machine: &Machine, trials: &[(Trial, Vec<Series>)]) -> Vec<Param> {
    let mut params = Param::paid_on(machine);
    for (trial, _) in trials {
        let also = match &trial.how {
            How::Probe(_, param) => Some(*param),
            How::Workload(play) => {
                play.choice.as_ref().map(|choice| Param::Wake { cpu_type: choice.cpu_type, state: choice.state })
            }
        };
        params.extend(also.filter(|param| !params.contains(param)));
    }
    params
}

/// Within what factor the meaning of a figure lies that a probe measures.
fn meaning_of(trials: &[(Trial, Vec<Series>)], param: Param) -> f64 {
    let probes = trials.iter().filter(|(trial, _)| matches!(&trial.how, How::Probe(_, measured) if *measured == param));
    probes.flat_map(|(_, series)| series).map(|series| series.spread).fold(1.0, f64::max)
}

impl Problem {
    fn rows(&self) -> usize {
        self.ns.len()
    }

    /// A probe measures a figure itself: it has no misfit.
    fn misfit_of(&self, row: usize, misfit: f64) -> f64 {
        if self.is_probe[row] {
            0.0
        } else {
            misfit
        }
    }

    /// The relative standard deviation of a row, with this misfit.
    fn deviation(&self, row: usize, misfit: f64) -> f64 {
        self.errors[row].hypot(self.misfit_of(row, misfit))
    }

    /// The least squares problem of these groups: rows in units of their standard deviations.
    fn weighted(&self, groups: &[Vec<usize>], misfit: f64) -> DMatrix<f64> {
        DMatrix::from_fn(self.rows(), groups.len(), |i, g| {
            let part: f64 = groups[g].iter().map(|j| self.parts[(i, *j)]).sum();
            part / self.ns[i] / self.deviation(i, misfit)
        })
    }

    /// The right side for these times.
    fn right(&self, ns: &[f64], misfit: f64) -> DVector<f64> {
        DVector::from_fn(self.rows(), |i, _| (ns[i] - self.fixed[i]) / self.ns[i] / self.deviation(i, misfit))
    }

    fn factors(&self, groups: &[Vec<usize>], misfit: f64) -> (Vec<f64>, f64) {
        let (a, b) = (self.weighted(groups, misfit), self.right(&self.ns, misfit));
        let factors = nnls(&a, &b);
        let residual = &b - &a * DVector::from_row_slice(&factors);
        (factors, residual.norm_squared())
    }

    /// The misfit with which chi squared is what the degrees of freedom say, and the factors.
    fn balanced(&self, groups: &[Vec<usize>]) -> (Vec<f64>, f64) {
        let freedom = self.rows().saturating_sub(groups.len()) as f64;
        let (factors, chi) = self.factors(groups, 0.0);
        if freedom == 0.0 || chi <= freedom {
            return (factors, 0.0);
        }
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..BISECTED {
            let middle = (low + high) / 2.0;
            match self.factors(groups, middle).1 > freedom {
                true => low = middle,
                false => high = middle,
            }
        }
        (self.factors(groups, high).0, high)
    }

    /// The least of the limits of a group's members.
    fn limit_of(&self, group: &[usize]) -> f64 {
        group.iter().map(|j| self.limits[*j]).fold(f64::MAX, f64::min)
    }

    /// Joins what cannot be told apart until all that is left can.
    fn solve(&self) -> Fit {
        let mut groups: Vec<Vec<usize>> = (0..self.parts.ncols()).map(|j| vec![j]).collect();
        loop {
            // Workloads weigh about alike here: beside a row whose rounds agree within a thousandth all others are next to nothing, and
            // what only they tell apart would look the same. A probe weighs more, and tells of one figure alone.
            if let Some((a, b)) = dependent(&self.weighted(&groups, LEAST_MISFIT)) {
                join(&mut groups, a, b);
                continue;
            }
            let (factors, misfit) = self.balanced(&groups);
            let a = self.weighted(&groups, misfit);
            if groups.len() > 1 {
                if let Some((a, b)) =
                    self.vanished(&groups, &a, &factors).or_else(|| self.traded(&groups, &a, &factors, misfit))
                {
                    join(&mut groups, a, b);
                    continue;
                }
            }
            return Fit { groups, factors, misfit };
        }
    }

    /// A figure that came out as 0, and that with which it is joined: of those whose columns are about as like its own as the
    /// likest, that with which the misfit is least.
    fn vanished(&self, groups: &[Vec<usize>], a: &DMatrix<f64>, factors: &[f64]) -> Option<(usize, usize)> {
        let zero = factors.iter().position(|factor| *factor <= 1e-9)?;
        let others = || (0..factors.len()).filter(|other| *other != zero);
        let alike = |g: usize| a.column(zero).dot(&a.column(g)) / (a.column(zero).norm() * a.column(g).norm());
        let likest = others().map(alike).fold(0.0, f64::max);
        let chi = |other: usize| self.factors(&joined(groups, zero, other), LEAST_MISFIT).1;
        let candidates =
            others().filter(|other| alike(*other) >= ABOUT_AS_LIKE * likest).map(|other| (other, chi(other)));
        candidates.reduce(|best, new| if new.1 < best.1 { new } else { best }).map(|(other, _)| (zero, other))
    }

    /// The figure that is known worst, in units of its limit, although it would be known well if the others were; and that which
    /// it is traded against. None that cannot be joined without the rows being missed by more than now: it is not settled.
    fn traded(&self, groups: &[Vec<usize>], a: &DMatrix<f64>, factors: &[f64], misfit: f64) -> Option<(usize, usize)> {
        let gram = a.transpose() * a;
        let covariance = Cholesky::new(gram.clone())?.inverse();
        let limit = |g: usize| self.limit_of(&groups[g]);
        let excess = |g: usize| covariance[(g, g)].sqrt() / factors[g] / limit(g);
        let alone = |g: usize| 1.0 / gram[(g, g)].sqrt() / factors[g];
        let mut bad: Vec<usize> = (0..groups.len()).filter(|g| excess(*g) > 1.0 && alone(*g) <= limit(*g)).collect();
        bad.sort_by(|g, h| excess(*h).total_cmp(&excess(*g)));
        bad.into_iter().find_map(|g| {
            let correlation = |h: usize| covariance[(g, h)] / (covariance[(g, g)] * covariance[(h, h)]).sqrt();
            let others = (0..groups.len()).filter(|h| *h != g);
            let partner = others.reduce(|best, h| if correlation(h) < correlation(best) { h } else { best })?;
            let then = self.balanced(&joined(groups, g, partner)).1;
            (then <= misfit.max(LEAST_ERROR) * MISFIT_GROWS).then_some((g, partner))
        })
    }

    /// The standard deviation of the logarithm of each factor over rounds drawn again.
    fn noise(&self, fit: &Fit, rounds: &[&[f64]]) -> Vec<f64> {
        let a = self.weighted(&fit.groups, fit.misfit);
        let most = rounds.iter().map(|rounds| rounds.len()).max().unwrap_or(0);
        let mut logs = vec![Vec::new(); fit.groups.len()];
        for draw in 1..=DRAWS {
            // The same rounds of all rows: what drifts together stays together.
            let shares: Vec<f64> = (0..most).map(|n| Draw(draw).share(&format!("round {n}"))).collect();
            let again = |rounds: &[f64]| {
                let pick = |share: &f64| rounds[((share * rounds.len() as f64) as usize).min(rounds.len() - 1)];
                median(&shares[..rounds.len()].iter().map(pick).collect::<Vec<_>>())
            };
            let ns: Vec<f64> =
                rounds.iter().map(|rounds| if rounds.is_empty() { 0.0 } else { again(rounds) }).collect();
            let drawn = nnls(&a, &self.right(&ns, fit.misfit));
            for (logs, factor) in logs.iter_mut().zip(drawn) {
                logs.push(factor.max(1e-9).ln());
            }
        }
        let width = |logs: &Vec<f64>| (quantile(logs, 0.8413) - quantile(logs, 0.1587)) / 2.0;
        logs.iter().map(width).collect()
    }

    /// The standard deviation of the logarithm of each factor that comes of the misfit.
    fn misfit_of_factors(&self, fit: &Fit) -> Vec<f64> {
        let a = self.weighted(&fit.groups, fit.misfit);
        let Some(factor) = Cholesky::new(a.transpose() * &a) else { return vec![f64::MAX; fit.groups.len()] };
        let effect = factor.inverse() * a.transpose();
        let of = |g: usize| {
            let variance = (0..self.rows()).map(|i| {
                let misfit = self.misfit_of(i, fit.misfit) / self.deviation(i, fit.misfit);
                (effect[(g, i)] * misfit).powi(2)
            });
            variance.sum::<f64>().sqrt() / fit.factors[g]
        };
        (0..fit.groups.len()).map(of).collect()
    }

    /// The standard deviation of the logarithm of each figure that comes of the ratios within sums: each member's is off by its
    /// own part of an estimate's spread, and the factors are found anew. Figures outside of a sum depend on it, too.
    fn splits(&self, fit: &Fit) -> Vec<f64> {
        let mut variances = vec![0.0; self.parts.ncols()];
        let b = self.right(&self.ns, fit.misfit);
        for (g, group) in fit.groups.iter().enumerate().filter(|(_, group)| group.len() > 1) {
            for member in group {
                let off = self.limits[*member] * OWN_PART.sqrt();
                let mut a = self.weighted(&fit.groups, fit.misfit);
                for i in 0..self.rows() {
                    let more = self.parts[(i, *member)] * (off.exp() - 1.0);
                    a[(i, g)] += more / self.ns[i] / self.deviation(i, fit.misfit);
                }
                let factors = nnls(&a, &b);
                for (h, other) in fit.groups.iter().enumerate() {
                    let moved = (factors[h].max(1e-9) / fit.factors[h].max(1e-9)).ln();
                    for j in other {
                        let itself = if j == member { off } else { 0.0 };
                        variances[*j] += (moved + itself).powi(2);
                    }
                }
            }
        }
        variances.into_iter().map(f64::sqrt).collect()
    }

    /// A row as predicted by the others, ns.
    fn without(&self, row: usize, fit: &Fit) -> Option<f64> {
        let mut a = self.weighted(&fit.groups, fit.misfit);
        let mut b = self.right(&self.ns, fit.misfit);
        a.row_mut(row).fill(0.0);
        b[row] = 0.0;
        let factors = nnls(&a, &b);
        let parts: Vec<f64> =
            fit.groups.iter().map(|group| group.iter().map(|j| self.parts[(row, *j)]).sum::<f64>()).collect();
        let predicted = self.fixed[row] + parts.iter().zip(&factors).map(|(part, factor)| part * factor).sum::<f64>();
        // Only what the row has must be known.
        let has: Vec<usize> = (0..parts.len()).filter(|g| parts[*g] * fit.factors[*g] > 1e-6 * self.ns[row]).collect();
        let known = a.select_columns(&has);
        let covariance = Cholesky::new(known.transpose() * &known)?.inverse();
        let part = DVector::from_fn(has.len(), |g, _| parts[has[g]]);
        let error = part.dot(&(&covariance * &part)).sqrt() / self.ns[row];
        (error < NO_PREDICTION).then_some(predicted)
    }
}

/// Two columns that depend on each other, perhaps with more.
fn dependent(a: &DMatrix<f64>) -> Option<(usize, usize)> {
    let lengths: Vec<f64> = a.column_iter().map(|column| column.norm()).collect();
    let gram = a.transpose() * a;
    let normal = DMatrix::from_fn(a.ncols(), a.ncols(), |i, j| gram[(i, j)] / (lengths[i] * lengths[j]));
    if a.ncols() < 2 {
        return None;
    }
    let eigen = SymmetricEigen::new(normal.clone());
    let least = eigen.eigenvalues.iter().enumerate().min_by(|x, y| x.1.total_cmp(y.1))?;
    if *least.1 >= DEPENDENT {
        return None;
    }
    let vector = eigen.eigenvectors.column(least.0);
    // Of all that take part, the two that are most alike: those that are always paid together come first.
    let takes_part: Vec<usize> = (0..a.ncols()).filter(|j| vector[*j].abs() >= PART_OF_VECTOR).collect();
    let pairs = takes_part.iter().enumerate().flat_map(|(n, i)| takes_part[n + 1..].iter().map(move |j| (*i, *j)));
    // Last digits are nobody's choice: equal ones go by their order.
    let alike = |(i, j): (usize, usize)| (normal[(i, j)] * 1e6).round();
    pairs.reduce(|best, pair| if alike(pair) > alike(best) { pair } else { best })
}

fn join(groups: &mut Vec<Vec<usize>>, a: usize, b: usize) {
    let (first, second) = (a.min(b), a.max(b));
    let more = groups.remove(second);
    groups[first].extend(more);
    groups[first].sort_unstable();
}

fn joined(groups: &[Vec<usize>], a: usize, b: usize) -> Vec<Vec<usize>> {
    let mut groups = groups.to_vec();
    join(&mut groups, a, b);
    groups
}

/// Three digits, and whole from 100 on.
fn rounded(ns: f64) -> f64 {
    let digits = if ns >= 100.0 {
        0
    } else if ns >= 10.0 {
        1
    } else {
        2
    };
    format!("{ns:.digits$}").parse().unwrap_or(ns)
}

fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = part * (sorted.len().max(1) - 1) as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    match (sorted.get(low), sorted.get(high)) {
        (Some(a), Some(b)) => a + (b - a) * (at - low as f64),
        _ => 0.0,
    }
}

pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The standard deviation of most of the values, whatever a few do.
fn deviation(values: &[f64]) -> f64 {
    let middle = median(values);
    DEVIATION * median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

/// The relative standard error of the median.
pub(crate) fn error_of(rounds: &[f64], ns: f64) -> f64 {
    let error = MEDIAN_ERROR * deviation(rounds) / (rounds.len().max(1) as f64).sqrt();
    (error / ns).max(LEAST_ERROR)
}

/// The part of the rounds that is more than three deviations off.
fn outliers(rounds: &[f64]) -> f64 {
    let (middle, deviation) = (median(rounds), deviation(rounds));
    let off = rounds.iter().filter(|ns| (**ns - middle).abs() > 3.0 * deviation.max(LEAST_ERROR * middle));
    off.count() as f64 / rounds.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use fairground_fair::Features;
    use fairground_machine::{IdleState, SoftCost};

    use super::*;
    use crate::design::{design, Places, Play, RowInfo};
    use crate::probe::Probe;
    use crate::simulate;

    const CALL: Param = Param::Soft(SoftCost::Syscall);

    /// Rows of these names, whose rounds are these.
    fn trials(rows: &[(&str, Vec<f64>)]) -> Vec<(Trial, Vec<Series>)> {
        let trial = |(name, rounds): &(&str, Vec<f64>)| {
            let rows = vec![RowInfo { name: (*name).into(), is_whole: name.starts_with("whole") }];
            let how = match name.starts_with("probe") {
                true => How::Probe(Probe::Call { cpu: 0 }, CALL),
                false => How::Workload(Play::default()),
            };
            (Trial { name: (*name).into(), how, rows }, vec![Series { rounds: rounds.clone(), spread: 1.0 }])
        };
        rows.iter().map(trial).collect()
    }

    /// An estimate where each row is a sum of software costs, so often each.
    fn estimated(rows: &[(&str, Vec<f64>)], paid: &[&[(SoftCost, f64)]]) -> Estimate {
        let predict = |machine: &Machine| {
            let row = |kinds: &&[(SoftCost, f64)]| kinds.iter().map(|(kind, n)| n * machine.costs.soft(*kind)).sum();
            Ok::<_, Infallible>(paid.iter().map(row).collect())
        };
        match estimate(&Machine::symmetric(2), &trials(rows), predict) {
            Ok(estimate) => estimate,
            Err(never) => match never {},
        }
    }

    fn figure(estimate: &Estimate, kind: SoftCost) -> FigureEstimate {
        let found = estimate.figures.iter().find(|figure| figure.param == Param::Soft(kind));
        found.unwrap_or_else(|| panic!("no figure for {kind:?}: {estimate:?}")).clone()
    }

    use SoftCost::{Dequeue, Enqueue, Futex, Pick, SchedCall, Syscall, Wakeup};

    /// 70 a call, 200 a call and a futex: the futex takes 130.
    #[test]
    fn what_rows_tell_apart_is_measured() {
        let e = estimated(
            &[("call", vec![70.0; 9]), ("wake", vec![200.0; 9])],
            &[&[(Syscall, 1.0)], &[(Syscall, 1.0), (Futex, 1.0)]],
        );
        assert_eq!((figure(&e, Syscall).ns, figure(&e, Futex).ns), (70.0, 130.0));
        assert_eq!(figure(&e, Futex).standing, Standing::Measured);
        assert!(figure(&e, Futex).spread < 1.11, "{e:?}");
        assert_eq!(e.machine.costs.soft(Futex), 130.0);
        assert!(!e.figures.iter().any(|figure| figure.param == Param::Soft(Wakeup)), "nobody pays it");
    }

    /// Of wakeup (300), enqueue (170) and dequeue (180), 650 in all, each row has all three: twice that much is twice of each.
    #[test]
    fn what_always_comes_together_keeps_its_ratio() {
        let all: &[(SoftCost, f64)] = &[(Wakeup, 1.0), (Enqueue, 1.0), (Dequeue, 1.0)];
        let twice: Vec<(SoftCost, f64)> = all.iter().map(|(kind, n)| (*kind, 2.0 * n)).collect();
        let e = estimated(&[("a", vec![1300.0; 9]), ("b", vec![2600.0; 9])], &[all, &twice]);
        let values = [Wakeup, Enqueue, Dequeue].map(|kind| figure(&e, kind).ns);
        assert_eq!(values, [600.0, 340.0, 360.0]);
        let wakeup = figure(&e, Wakeup);
        assert_eq!((wakeup.standing, wakeup.with.len()), (Standing::PartOfSum, 2));
        // The sum is known, its split is not.
        assert!(wakeup.spread > 1.1 && wakeup.spread < 1.4, "{wakeup:?}");
    }

    /// pick + sched_call and pick + wakeup leave one of three open: two are joined, and all rows are as measured.
    #[test]
    fn three_unknowns_in_two_sums_become_two() {
        let e = estimated(
            &[("yield", vec![500.0; 9]), ("wake", vec![900.0; 9])],
            &[&[(Pick, 1.0), (SchedCall, 1.0)], &[(Pick, 1.0), (Wakeup, 1.0)]],
        );
        let joined = e.figures.iter().filter(|figure| figure.standing == Standing::PartOfSum).count();
        assert_eq!(joined, 2, "{e:?}");
        assert!(e.rows.iter().all(|row| (row.model_ns / row.ns - 1.0).abs() < 0.01), "{e:?}");
    }

    /// A call and a futex that take less than the call alone: a futex of 0 is no figure.
    #[test]
    fn nothing_is_measured_as_zero() {
        let e = estimated(
            &[("call", vec![100.0; 9]), ("wake", vec![90.0; 9]), ("twice", vec![185.0; 9])],
            &[&[(Syscall, 1.0)], &[(Syscall, 1.0), (Futex, 1.0)], &[(Syscall, 2.0), (Futex, 2.0)]],
        );
        let futex = figure(&e, Futex);
        assert!(futex.ns > 10.0 && futex.with == ["costs.soft.syscall"], "{futex:?}");
        assert!(e.machine.costs.soft(Futex) > 10.0, "{e:?}");
        assert!(e.misfit > 0.02, "the rows contradict each other: {}", e.misfit);
    }

    /// A system call that takes 50 in one round and 150 in the next is not known within an estimate's 1.25 after nine.
    #[test]
    fn what_does_not_settle_is_refused_and_stays() {
        let rounds = |low: f64, high: f64| (0..9).map(|i| if i % 2 == 0 { low } else { high }).collect::<Vec<_>>();
        let e =
            estimated(&[("call", rounds(20.0, 200.0)), ("pick", vec![500.0; 9])], &[&[(Syscall, 1.0)], &[(Pick, 1.0)]]);
        let call = figure(&e, Syscall);
        assert_eq!(call.standing, Standing::Unsettled, "{call:?}");
        assert_eq!(e.machine.costs.soft(Syscall), Machine::symmetric(2).costs.soft(Syscall));
        assert_eq!((figure(&e, Pick).standing, e.machine.costs.soft(Pick)), (Standing::Measured, 500.0));
    }

    /// Rows that contradict each other by a fifth leave what a probe measures as it is.
    #[test]
    fn a_probe_has_no_misfit() {
        let both: &[(SoftCost, f64)] = &[(Syscall, 1.0), (Futex, 1.0)];
        let e = estimated(
            &[("probe", vec![70.0; 9]), ("a", vec![200.0; 9]), ("b", vec![300.0; 9])],
            &[&[(Syscall, 1.0)], both, both],
        );
        let call = figure(&e, Syscall);
        assert!((call.ns - 70.0).abs() < 0.5 && call.spread < 1.11 && e.misfit > 0.1, "{e:?}");
        assert!(figure(&e, Futex).spread > 1.15, "{e:?}");
    }

    /// 70 + 130 are the parts of 210: 5 % less. Of a whole with a part of its own nobody knows the sum.
    #[test]
    fn a_whole_is_predicted_from_its_parts() {
        let futexes: &[(SoftCost, f64)] = &[(Syscall, 1.0), (Futex, 1.0)];
        let e = estimated(
            &[
                ("call", vec![70.0; 9]),
                ("wake", vec![200.0; 9]),
                ("whole", vec![210.0; 9]),
                ("whole 2", vec![500.0; 9]),
            ],
            &[&[(Syscall, 1.0)], futexes, futexes, &[(Pick, 1.0)]],
        );
        let predicted = e.rules[0].predicted_ns.unwrap();
        assert!((predicted - 200.0).abs() < 1e-6, "{e:?}");
        assert_eq!(e.rules[1].predicted_ns, None);
    }

    #[test]
    fn rounds_have_their_outliers_counted() {
        let mut rounds: Vec<f64> = (0..19).map(|i| 100.0 + f64::from(i) * 0.1).collect();
        rounds.push(500.0);
        assert_eq!(outliers(&rounds), 0.05);
        assert_eq!((quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), median(&[])), (2.5, 0.0));
        assert_eq!([7.126, 71.26, 712.6].map(rounded), [7.13, 71.3, 713.0]);
    }

    /// A machine, one of other costs, and what trials would measure of the latter.
    struct Planted {
        machine: Machine,
        real: Machine,
        sched: Features,
        measured: Vec<(Trial, Vec<Series>)>,
    }

    /// Rounds scatter by the part of themselves that `scatter` gives for their trial, the same way in each run.
    fn planted(scatter: impl Fn(&str) -> f64) -> Planted {
        let mut machine = Machine::symmetric(2);
        machine.cpu_types[0].cpuidle = false;
        let first = machine.cpu_types[0].idle_states[0].clone();
        machine.cpu_types[0].idle_states.push(IdleState { name: "late".into(), target_residency_ns: 300_000, ..first });
        machine.restate_figures();
        let sched = Features::parse("fair:v6.18").unwrap();
        let places = Places::choose(&machine, &machine.all_cpus()).unwrap();
        let design = design(&machine, &places, &[]);
        let mut real = machine.clone();
        let factors = [0.5, 1.3, 0.8, 1.9, 0.7, 1.1, 1.6, 0.6, 2.2, 0.9, 1.4];
        for (i, param) in Param::paid_on(&machine).into_iter().enumerate() {
            param.set(&mut real, param.ns(&machine) * factors[i % factors.len()]);
        }
        // As a virtual machine halts, and as lines are read.
        real.cpu_types[0].idle_states[0].wake_ns = 12_000;
        real.cpu_types[0].idle_states[1].wake_ns = 40_000;
        let lines = real.costs.line_ns;
        real.costs.line_read_ns = Some(lines.map(|ns| ns * 4 / 5));
        let measured = design.into_iter().map(|trial| {
            let series = simulate::predict(&real, &sched, &trial).unwrap().into_iter().map(|ns| {
                let round = |n: u64| ns * (1.0 + scatter(&trial.name) * Draw(n + 1).deviation(&trial.name));
                Series { rounds: (0..15).map(round).collect(), spread: 1.0 }
            });
            let series = series.collect();
            (trial, series)
        });
        let measured = measured.collect();
        Planted { machine, real, sched, measured }
    }

    impl Planted {
        fn estimate(&self) -> Estimate {
            let predict = |machine: &Machine| {
                let rows = |(trial, _): &(Trial, _)| simulate::predict(machine, &self.sched, trial).unwrap();
                Ok::<_, Infallible>(self.measured.iter().flat_map(rows).collect())
            };
            let Ok(estimate) = estimate(&self.machine, &self.measured, predict);
            estimate
        }
    }

    /// That the rounds of one workload agree says nothing of what the others tell apart.
    #[test]
    fn sums_do_not_depend_on_how_precise_one_row_is() {
        let sums = |scatter: &dyn Fn(&str) -> f64| {
            let estimate = planted(scatter).estimate();
            estimate.figures.into_iter().map(|figure| (figure.path, figure.with)).collect::<Vec<_>>()
        };
        let precise = |name: &str| if name == "pipe ping-pong, llc, CPUs busy" { 0.0 } else { 0.1 };
        assert_eq!(sums(&precise), sums(&|_| 0.1));
    }

    /// Reality is a simulation with other costs: what is found must be those, and sums of them where no workload tells them
    /// apart.
    #[test]
    fn planted_costs_are_found_again() {
        let planted = planted(|_| 0.01);
        let (found, real) = (planted.estimate(), &planted.real);
        for row in &found.rows {
            assert!((row.model_ns / row.ns - 1.0).abs() < 0.04, "{row:?}");
        }
        let standing = |standing: Standing| found.figures.iter().filter(move |figure| figure.standing == standing);
        for figure in standing(Standing::Measured) {
            let planted = figure.param.ns(real);
            let off = (figure.ns / planted).ln().abs();
            assert!(off < 3.0 * figure.spread.ln(), "{figure:?}, planted {planted}");
        }
        assert_eq!(standing(Standing::Unsettled).count(), 0);
        let close = |figure: &&FigureEstimate| (figure.ns / figure.param.ns(real)).ln().abs() < 0.05;
        assert!(standing(Standing::Measured).filter(close).count() >= 12, "{:?}", found.figures);
        for figure in standing(Standing::PartOfSum) {
            let members = || found.figures.iter().filter(|of| of.path == figure.path || figure.with.contains(&of.path));
            let (ours, planted) = members().fold((0.0, 0.0), |sums, of| (sums.0 + of.ns, sums.1 + of.param.ns(real)));
            assert!((ours / planted).ln().abs() < 0.15, "{figure:?}: {ours}, planted {planted}");
        }
        for rule in &found.rules {
            let predicted = rule.predicted_ns.unwrap_or_else(|| panic!("{rule:?}"));
            assert!((predicted / rule.ns - 1.0).abs() < 0.05, "{rule:?}");
        }
    }
}

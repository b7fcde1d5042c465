//! Draws of what is in doubt, weighed by observations of a model: population Monte Carlo.
//!
//! The unknowns are independent normal numbers of mean 0 and variance 1, some hundred; the model gives a logarithm for
//! each of a dozen observations, and takes long. Draws are made in generations. The first are of the prior. After each
//! generation a linear map from the unknowns to the observations is fitted, without coefficients that noise alone may
//! give. A dozen observations tell of as many directions in the space of the unknowns at most, those of the map; a
//! normal distribution in these directions, and the prior in all others, is where the next generation comes from, but
//! for a part that is of the prior again. So a draw differs from the prior in few numbers, and weights stay even,
//! however many unknowns there are.
//!
//! A draw counts as prior times likelihood, divided by the mixture of all distributions that draws were made of
//! (deterministic mixture weights): the map may be as wrong as it likes, weights correct it, at the price of the
//! effective number of draws, (sum of w)^2 / sum of w^2.
//!
//! All numbers are counter-based ([`Draw`]), and functions are libm's: the same draws on every system.

use std::collections::BTreeSet;

use fairground_machine::Draw;
use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// The number of the first draw: none of a comparison or a screening.
const FIRST_NUMBER: u64 = 1 << 33;

/// Part of each later generation that is of the prior: no weight is above that of a prior draw by more than 1/0.15.
const PRIOR_PART: f64 = 0.15;

/// By how much the variance of a proposal is above that of the posterior that it stands for: tails that are too thin make
/// weights that are too great.
const WIDER: f64 = 1.3;

/// Correlations below this, divided by the root of the number of draws, are taken for noise: of a hundred unknowns without
/// influence one in three is taken for one with it.
const TOLD: f64 = 3.0;

/// Directions in which observations leave more of the prior's variance than 1 / (1 + this) are left to the prior.
const LEAST_INFORMATION: f64 = 0.1;

/// Effective draws for each direction from which on a proposal has the mean and the variance of the weighed draws, and not
/// those that follow from the linear map.
const DRAWS_PER_DIRECTION: f64 = 6.0;

/// What is known of one observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Natural logarithm of what was observed.
    pub value: f64,
    /// Variance of the logarithm, above 0.
    pub variance: f64,
}

/// How many draws to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// At least so many.
    pub least: usize,
    /// No more than so many.
    pub most: usize,
    /// Enough between the two, if as many are effective.
    pub effective: usize,
}

impl Effort {
    /// Size of the first generation.
    fn first(&self) -> usize {
        (self.least / 2).max(1)
    }

    /// Size of the others.
    fn generation(&self) -> usize {
        (self.least / 4).max(1)
    }
}

/// One setting of the unknowns, and what the model gives there.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its number, for what is drawn besides the unknowns.
    pub number: u64,
    /// The unknowns, standard deviations.
    pub deviations: Vec<f64>,
    /// What the model gives, as logarithms; none if it gives nothing. Such a draw has no weight.
    pub predicted: Option<Vec<f64>>,
}

/// Draws with their weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Population {
    /// By number, all generations one after another.
    pub samples: Vec<Sample>,
    /// How many of them, the first, are of the prior.
    pub prior: usize,
    /// Weight of each draw; they add up to 1, or are all 0.
    pub weights: Vec<f64>,
    /// How many independent draws of the posterior tell as much; 0 if no draw has a weight.
    pub effective: f64,
    /// The unknowns that are told to have an influence on an observation, by their places.
    pub told: BTreeSet<usize>,
}

/// Draws the unknowns called `names` until enough draws are effective. `model` predicts the observations for the draws of
/// a generation. `report` is given the number of draws and how many of them are effective after each generation.
///
/// # Errors
/// Those of `model`.
pub fn sample<E>(
    names: &[&str],
    observations: &[Observation],
    effort: Effort,
    mut model: impl FnMut(&[Sample]) -> Result<Vec<Option<Vec<f64>>>, E>,
    report: &mut dyn FnMut(usize, f64),
) -> Result<Population, E> {
    let mut proposals: Vec<(usize, Proposal)> = Vec::new();
    let mut samples: Vec<Sample> = Vec::new();
    let mut proposal = Proposal::prior();
    loop {
        let size = if samples.is_empty() { effort.first() } else { effort.generation() };
        let size = size.min(effort.most - samples.len());
        let first = samples.len() as u64;
        let mut generation: Vec<Sample> =
            (first..first + size as u64).map(|i| proposal.sample(FIRST_NUMBER + i, names)).collect();
        let predicted = model(&generation)?;
        generation.iter_mut().zip(predicted).for_each(|(sample, predicted)| sample.predicted = predicted);
        samples.append(&mut generation);
        proposals.push((size, proposal));
        let weights = weights(&samples, observations, &proposals);
        let effective = effective(&weights);
        report(samples.len(), effective);
        let map = LinearMap::fit(&samples, &weights, observations.len(), names.len());
        let enough = samples.len() >= effort.least && effective >= effort.effective as f64;
        if enough || samples.len() >= effort.most {
            let prior = proposals[0].0;
            return Ok(Population { samples, prior, weights, effective, told: map.told() });
        }
        proposal = Proposal::of_map(&map, observations);
        if effective >= DRAWS_PER_DIRECTION * proposal.directions.len() as f64 {
            proposal.fit_moments(&samples, &weights);
        }
    }
}

/// A distribution of draws: normal in some directions, the prior in all others.
#[derive(Clone, Debug)]
struct Proposal {
    directions: Vec<Direction>,
}

/// A direction in the space of unknowns, of length 1 and orthogonal to the others, and the distribution along it.
#[derive(Clone, Debug)]
struct Direction {
    along: DVector<f64>,
    mean: f64,
    variance: f64,
}

impl Proposal {
    fn prior() -> Proposal {
        Proposal { directions: Vec::new() }
    }

    /// The posterior of the linear map with what it leaves unexplained as further noise, in the directions that
    /// observations tell of, widened.
    fn of_map(map: &LinearMap, observations: &[Observation]) -> Proposal {
        let n = observations.len();
        let scale: Vec<f64> =
            observations.iter().zip(&map.rows).map(|(o, row)| 1.0 / libm::sqrt(o.variance + row.left)).collect();
        let unknowns = map.rows.first().map_or(0, |row| row.coefficients.len());
        let scaled = DMatrix::from_fn(n, unknowns, |c, j| map.rows[c].coefficients[j] * scale[c]);
        let missed = DVector::from_fn(n, |c, _| (observations[c].value - map.rows[c].at_zero) * scale[c]);
        let told = SymmetricEigen::new(&scaled * scaled.transpose());
        let direction = |k: usize| {
            let information = told.eigenvalues[k];
            if information < LEAST_INFORMATION {
                return None;
            }
            let vector = told.eigenvectors.column(k);
            let root = libm::sqrt(information);
            let along = scaled.transpose() * vector / root;
            let mean = root * vector.dot(&missed) / (1.0 + information);
            Some(Direction { along, mean, variance: (WIDER / (1.0 + information)).min(1.0) })
        };
        Proposal { directions: (0..n).filter_map(direction).collect() }
    }

    /// Takes mean and variance along each direction from weighed draws; the variance is widened.
    fn fit_moments(&mut self, samples: &[Sample], weights: &[f64]) {
        for direction in &mut self.directions {
            let along: Vec<f64> = samples.iter().map(|sample| direction.along_of(&sample.deviations)).collect();
            let mean: f64 = along.iter().zip(weights).map(|(s, w)| s * w).sum();
            let variance: f64 = along.iter().zip(weights).map(|(s, w)| (s - mean) * (s - mean) * w).sum();
            (direction.mean, direction.variance) = (mean, (WIDER * variance).clamp(1e-6, 1.0));
        }
    }

    fn sample(&self, number: u64, names: &[&str]) -> Sample {
        let draw = Draw(number);
        let mut deviations: Vec<f64> = names.iter().map(|name| draw.deviation(name)).collect();
        if draw.share("part of the prior") >= PRIOR_PART {
            for (k, direction) in self.directions.iter().enumerate() {
                let normal = draw.deviation(&format!("direction {k}"));
                let to = direction.mean + libm::sqrt(direction.variance) * normal;
                let by = to - direction.along_of(&deviations);
                deviations.iter_mut().zip(direction.along.iter()).for_each(|(z, part)| *z += by * part);
            }
        }
        Sample { number, deviations, predicted: None }
    }

    /// Its density over that of the prior.
    fn density(&self, deviations: &[f64]) -> f64 {
        if self.directions.is_empty() {
            return 1.0;
        }
        let log = |direction: &Direction| {
            let s = direction.along_of(deviations);
            let off = s - direction.mean;
            (s * s - off * off / direction.variance - libm::log(direction.variance)) / 2.0
        };
        PRIOR_PART + (1.0 - PRIOR_PART) * libm::exp(self.directions.iter().map(log).sum())
    }
}

impl Direction {
    fn along_of(&self, deviations: &[f64]) -> f64 {
        self.along.iter().zip(deviations).map(|(part, z)| part * z).sum()
    }
}

/// Weights of draws that were made of a mixture of distributions, each given with the number of its draws.
fn weights(samples: &[Sample], observations: &[Observation], proposals: &[(usize, Proposal)]) -> Vec<f64> {
    let all = samples.len() as f64;
    let log = |sample: &Sample| {
        let predicted = sample.predicted.as_ref()?;
        let misses = observations.iter().zip(predicted).map(|(o, y)| (y - o.value) * (y - o.value) / o.variance);
        let mixture: f64 = proposals.iter().map(|(n, of)| *n as f64 / all * of.density(&sample.deviations)).sum();
        Some(-misses.sum::<f64>() / 2.0 - libm::log(mixture))
    };
    let logs: Vec<Option<f64>> = samples.iter().map(log).collect();
    let greatest = logs.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| log.map_or(0.0, |log| libm::exp(log - greatest))).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| if sum > 0.0 { weight / sum } else { 0.0 }).collect()
}

fn effective(weights: &[f64]) -> f64 {
    let (sum, squares) = weights.iter().fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
    if squares > 0.0 {
        sum * sum / squares
    } else {
        0.0
    }
}

/// A linear map from the unknowns to each observation.
struct LinearMap {
    rows: Vec<MapRow>,
}

struct MapRow {
    /// What it gives where all unknowns are 0.
    at_zero: f64,
    /// By unknown; 0 where noise alone may give as much.
    coefficients: Vec<f64>,
    /// Variance that it leaves unexplained.
    left: f64,
}

impl LinearMap {
    /// Fits the map to draws. A part of the counts is of all draws alike, a part goes by weight: near the posterior the
    /// map must be right, and elsewhere know the way. The second is a half, or less where so few draws are effective that
    /// they would leave less than half of all draws' information.
    fn fit(samples: &[Sample], weights: &[f64], observations: usize, unknowns: usize) -> LinearMap {
        let all = samples.len() as f64;
        let by_weight = libm::sqrt(effective(weights) / all).min(0.5);
        let count = |weight: f64| by_weight * weight + (1.0 - by_weight) / all;
        let valid: Vec<(&[f64], &[f64], f64)> = samples
            .iter()
            .zip(weights)
            .filter_map(|(s, w)| Some((&s.deviations[..], s.predicted.as_deref()?, count(*w))))
            .collect();
        let sum: f64 = valid.iter().map(|(.., count)| count).sum();
        let counts = DVector::from_iterator(valid.len(), valid.iter().map(|(.., count)| count / sum));
        let inputs = DMatrix::from_fn(valid.len(), unknowns, |i, j| valid[i].0[j]);
        let row = |c: usize| {
            let target = DVector::from_iterator(valid.len(), valid.iter().map(|(_, predicted, _)| predicted[c]));
            MapRow::fit(&inputs, &target, &counts)
        };
        LinearMap { rows: (0..observations).map(row).collect() }
    }

    fn told(&self) -> BTreeSet<usize> {
        let of_row = |row: &MapRow| -> Vec<usize> {
            (0..row.coefficients.len()).filter(|j| row.coefficients[*j] != 0.0).collect()
        };
        self.rows.iter().flat_map(of_row).collect()
    }
}

impl MapRow {
    /// Takes unknowns in one after another, that of the greatest correlation with what is left first, until noise alone
    /// would give as much.
    fn fit(inputs: &DMatrix<f64>, target: &DVector<f64>, counts: &DVector<f64>) -> MapRow {
        let (n, unknowns) = inputs.shape();
        let mean = |values: &dyn Fn(usize) -> f64| (0..n).map(|i| counts[i] * values(i)).sum::<f64>();
        let effective = effective(counts.as_slice());
        let centre = mean(&|i| target[i]);
        let mut left: Vec<f64> = target.iter().map(|y| y - centre).collect();
        let means: Vec<f64> = (0..unknowns).map(|j| mean(&|i| inputs[(i, j)])).collect();
        let centred = |i: usize, j: usize| inputs[(i, j)] - means[j];
        let spreads: Vec<f64> = (0..unknowns).map(|j| libm::sqrt(mean(&|i| centred(i, j) * centred(i, j)))).collect();
        let (mut taken, mut fitted): (Vec<usize>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut variance = mean(&|i| left[i] * left[i]);
        while ((taken.len() + 2) as f64) < effective / 4.0 && variance > 0.0 {
            let correlation = |j: usize| {
                let product = mean(&|i| left[i] * centred(i, j));
                (product / (spreads[j] * libm::sqrt(variance))).abs()
            };
            let candidates = (0..unknowns).filter(|j| spreads[*j] > 0.0 && !taken.contains(j));
            let best = candidates.map(|j| (correlation(j), j)).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            let Some((_, best)) = best.filter(|(found, _)| *found > TOLD / libm::sqrt(effective)) else { break };
            taken.push(best);
            let k = taken.len();
            let products = DMatrix::from_fn(k, k, |a, b| mean(&|i| centred(i, taken[a]) * centred(i, taken[b])));
            let with_target = DVector::from_fn(k, |a, _| mean(&|i| centred(i, taken[a]) * (target[i] - centre)));
            let Some(solved) = products.cholesky().map(|c| c.solve(&with_target)) else {
                // It is a sum of others.
                taken.pop();
                break;
            };
            fitted = solved.iter().copied().collect();
            for i in 0..n {
                let explained: f64 = taken.iter().zip(&fitted).map(|(j, b)| b * centred(i, *j)).sum();
                left[i] = target[i] - centre - explained;
            }
            variance = mean(&|i| left[i] * left[i]);
        }
        let mut coefficients = vec![0.0; unknowns];
        let mut at_zero = centre;
        for (j, b) in taken.iter().zip(&fitted) {
            coefficients[*j] = *b;
            at_zero -= b * means[*j];
        }
        let freedom = (effective - taken.len() as f64 - 1.0).max(1.0);
        MapRow { at_zero, coefficients, left: variance * effective / freedom }
    }
}

impl Population {
    /// The quantile `p` of a number of each draw, by weight: the least that at least `p` of the weight does not exceed.
    pub fn quantile(&self, values: &[Option<f64>], p: f64) -> f64 {
        weighed_quantile(values.iter().copied().zip(self.weights.iter().copied()), p)
    }

    /// The same of the draws of the prior, which all count the same.
    pub fn prior_quantile(&self, values: &[Option<f64>], p: f64) -> f64 {
        weighed_quantile(values.iter().take(self.prior).map(|value| (*value, 1.0)), p)
    }

    /// Places of draws that all count the same, so many: systematic resampling. Any of the first are as good as any
    /// others: their order is by chance. Empty if no draw has a weight.
    pub fn resampled(&self, count: usize) -> Vec<usize> {
        if self.effective == 0.0 {
            return Vec::new();
        }
        let begin = Draw(FIRST_NUMBER).share("begin of resampling");
        let (mut places, mut sum, mut i) = (Vec::new(), self.weights[0], 0);
        for k in 0..count {
            let mark = (k as f64 + begin) / count as f64;
            while sum < mark && i + 1 < self.weights.len() {
                i += 1;
                sum += self.weights[i];
            }
            places.push(i);
        }
        let mut order: Vec<(f64, usize)> = places
            .iter()
            .zip(0..)
            .map(|(place, k)| (Draw(FIRST_NUMBER + k).share("order of resampling"), *place))
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        order.into_iter().map(|(_, place)| place).collect()
    }
}

fn weighed_quantile(values: impl Iterator<Item = (Option<f64>, f64)>, p: f64) -> f64 {
    let mut sorted: Vec<(f64, f64)> = values.filter_map(|(value, weight)| Some((value?, weight))).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = sorted.iter().map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    for (value, weight) in &sorted {
        sum += weight;
        if sum >= p * all * (1.0 - 1e-12) {
            return *value;
        }
    }
    sorted.last().map_or(f64::NAN, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const UNKNOWNS: usize = 40;

    fn names() -> Vec<String> {
        (0..UNKNOWNS).map(|i| format!("unknown {i}")).collect()
    }

    /// A linear model of three observations, the third of which has noise of its own.
    fn predicted(z: &[f64], number: u64, noise: f64) -> Vec<f64> {
        let first = 0.3 * z[0] + 0.2 * z[1];
        let second = 0.3 * z[0] - 0.2 * z[1] + 0.1 * z[2];
        vec![first, second, 0.25 * z[3] + noise * Draw(number).deviation("noise of the model")]
    }

    const OBSERVATIONS: [Observation; 3] = [
        Observation { value: 0.6, variance: 0.0036 },
        Observation { value: 0.1, variance: 0.0036 },
        Observation { value: -0.5, variance: 0.01 },
    ];

    const EFFORT: Effort = Effort { least: 1024, most: 1024, effective: 100 };

    fn drawn(effort: Effort, noise: f64) -> Population {
        let names = names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let model = |samples: &[Sample]| -> Result<Vec<Option<Vec<f64>>>, Infallible> {
            Ok(samples.iter().map(|s| Some(predicted(&s.deviations, s.number, noise))).collect())
        };
        let mut reported = Vec::new();
        let population =
            sample(&names, &OBSERVATIONS, effort, model, &mut |draws, effective| reported.push((draws, effective)))
                .unwrap();
        assert_eq!(reported.last(), Some(&(population.samples.len(), population.effective)));
        population
    }

    /// Mean and variance of each of the first unknowns in closed form: P = (I + B' S^-1 B)^-1, m = P B' S^-1 d.
    fn exact() -> (DVector<f64>, DMatrix<f64>) {
        let b = DMatrix::from_row_slice(3, 4, &[0.3, 0.2, 0.0, 0.0, 0.3, -0.2, 0.1, 0.0, 0.0, 0.0, 0.0, 0.25]);
        let precision =
            DMatrix::from_diagonal(&DVector::from_iterator(3, OBSERVATIONS.iter().map(|o| 1.0 / o.variance)));
        let covariance = (DMatrix::identity(4, 4) + b.transpose() * &precision * &b).try_inverse().unwrap();
        let d = DVector::from_iterator(3, OBSERVATIONS.iter().map(|o| o.value));
        (&covariance * b.transpose() * precision * d, covariance)
    }

    fn moments(population: &Population, j: usize) -> (f64, f64) {
        let values = || population.samples.iter().map(|s| s.deviations[j]).zip(&population.weights);
        let mean: f64 = values().map(|(z, w)| z * w).sum();
        (mean, values().map(|(z, w)| (z - mean) * (z - mean) * w).sum())
    }

    #[test]
    fn a_linear_model_has_its_posterior() {
        let population = drawn(EFFORT, 0.0);
        let (mean, covariance) = exact();
        assert!(population.effective > 250.0, "{}", population.effective);
        for j in 0..4 {
            let (found, variance) = moments(&population, j);
            let sd = covariance[(j, j)].sqrt();
            // Of so many effective draws the mean is off by sd / 16, a variance by one part of eleven; both by four times
            // that, in one of 16,000.
            assert!((found - mean[j]).abs() < sd / 4.0, "unknown {j}: mean {found}, expected {}", mean[j]);
            let ratio = variance / covariance[(j, j)];
            assert!((0.64..1.36).contains(&ratio), "unknown {j}: variance {variance}, expected {}", covariance[(j, j)]);
        }
        let (found, variance) = moments(&population, 10);
        assert!(found.abs() < 0.25 && (variance - 1.0).abs() < 0.36, "without influence: {found} {variance}");
        assert!((0..4).all(|j| population.told.contains(&j)) && population.told.len() < 10, "{:?}", population.told);
    }

    /// Where a model has noise, a posterior from it is wider, not elsewhere.
    #[test]
    fn noise_of_the_model_costs_draws_and_moves_nothing() {
        let population = drawn(EFFORT, 0.1);
        let (mean, _) = exact();
        assert!(population.effective > 100.0, "{}", population.effective);
        let (found, variance) = moments(&population, 3);
        // Noise of 0.1 doubles the variance of the third observation: mean 0.25 d / (0.0625 + 0.02), variance 0.24.
        assert!((found + 1.515).abs() < 0.25 && (variance - 0.242).abs() < 0.12, "{found} {variance}");
        assert!((moments(&population, 0).0 - mean[0]).abs() < 0.2);
    }

    #[test]
    fn the_effective_number_is_that_of_the_weights() {
        assert_eq!(effective(&[0.25; 4]), 4.0);
        assert_eq!(effective(&[1.0, 0.0, 0.0]), 1.0);
        assert_eq!(effective(&[0.0, 0.0]), 0.0);
        assert!((effective(&[0.5, 0.25, 0.25]) - 8.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn the_same_draws_come_out_to_the_bit() {
        let small = Effort { least: 64, most: 96, effective: 1000 };
        let (first, again) = (drawn(small, 0.1), drawn(small, 0.1));
        assert_eq!(first, again);
        assert_eq!(first.samples.len(), 96, "the limit");
        assert_eq!(first.resampled(32), again.resampled(32));
    }

    #[test]
    fn resampled_draws_come_as_often_as_they_weigh() {
        let sample = |i: u64| Sample { number: i, deviations: vec![i as f64], predicted: Some(vec![0.0]) };
        let weights = vec![0.5, 0.0, 0.25, 0.25];
        let population = Population {
            samples: (0..4).map(sample).collect(),
            prior: 4,
            weights,
            effective: 8.0 / 3.0,
            told: BTreeSet::new(),
        };
        let places = population.resampled(400);
        let times = |place: usize| places.iter().filter(|p| **p == place).count();
        assert_eq!([times(0), times(1), times(2), times(3)], [200, 0, 100, 100]);
        let first = places[..100].iter().filter(|place| **place == 0).count();
        assert!((30..=70).contains(&first), "the first are a sample of all: {first}");
    }

    #[test]
    fn draws_without_a_prediction_have_no_weight() {
        let names = ["a"];
        let observation = [Observation { value: 0.0, variance: 1.0 }];
        let nothing =
            |samples: &[Sample]| -> Result<Vec<Option<Vec<f64>>>, Infallible> { Ok(vec![None; samples.len()]) };
        let effort = Effort { least: 8, most: 16, effective: 1 };
        let population = sample(&names, &observation, effort, nothing, &mut |_, _| {}).unwrap();
        assert_eq!((population.effective, population.resampled(4).len()), (0.0, 0));
        let half = |samples: &[Sample]| -> Result<Vec<Option<Vec<f64>>>, Infallible> {
            Ok(samples.iter().map(|s| (s.number % 2 == 0).then(|| vec![s.deviations[0]])).collect())
        };
        let population = sample(&names, &observation, effort, half, &mut |_, _| {}).unwrap();
        let odd = population.samples.iter().zip(&population.weights).filter(|(s, _)| s.number % 2 == 1);
        assert!(odd.map(|(_, w)| *w).all(|w| w == 0.0) && population.effective > 1.0);
    }

    #[test]
    fn quantiles_are_by_weight() {
        let values = [1.0, 2.0, 3.0, 4.0].map(Some);
        let of = |p| weighed_quantile(values.into_iter().zip([0.1, 0.4, 0.4, 0.1]), p);
        assert_eq!([of(0.05), of(0.5), of(0.51), of(0.95)], [1.0, 2.0, 3.0, 4.0]);
    }
}

//! A figure that a run reports: its name, unit and which way is better.

use serde::{Deserialize, Serialize};

/// Which way a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// A greater value is better.
    Higher,
    /// A smaller value is better.
    Lower,
}

impl Better {
    /// +1 if a greater value is better, -1 if a smaller one is.
    pub fn sign(self) -> f64 {
        match self {
            Better::Higher => 1.0,
            Better::Lower => -1.0,
        }
    }

    /// The word for the direction in tables and JSON: `higher` or `lower`.
    pub fn word(self) -> &'static str {
        match self {
            Better::Higher => "higher",
            Better::Lower => "lower",
        }
    }
}

/// The values that a metric can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Range {
    /// 0 and above: counts, times, rates, energy.
    NotNegative,
    /// 0 to 100: shares in percent.
    Percent,
    /// Any number: temperatures.
    Any,
}

/// The smallest difference between base and test that is of interest: the greater of a share of the base and an
/// amount. What differs by less counts as the same, however sure the difference is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SmallestEffect {
    /// Percent of the base's mean; 0 where a percentage means nothing.
    #[serde(with = "bits")]
    pub pct: f64,
    /// In the metric's unit.
    #[serde(with = "bits")]
    pub amount: f64,
}

impl SmallestEffect {
    /// The effect that is of interest for most metrics of a unit. docs/compare.md gives the reasons.
    fn of_unit(unit: &str) -> SmallestEffect {
        let (pct, amount) = match unit {
            "s" => (1.0, 0.001),
            "us" => (2.0, 0.1),
            "ms" => (2.0, 0.01),
            "count" => (5.0, 10.0),
            "1/op" => (5.0, 0.01),
            "J" => (1.0, 0.0001),
            "mW" => (1.0, 1.0),
            "tasks" => (5.0, 0.05),
            "%" | "C" => (0.0, 1.0),
            "of 1024" => (0.0, 10.0),
            _ => (1.0, 0.0),
        };
        SmallestEffect { pct, amount }
    }

    /// The smallest effect on a base with this mean, in the metric's unit.
    pub fn on(&self, base_mean: f64) -> f64 {
        (self.pct / 100.0 * base_mean.abs()).max(self.amount)
    }
}

/// A percentile of samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentile {
    /// Share of the samples below it, per thousand; above 0 and below 1000.
    pub permille: u32,
    /// Name of the metric that is the number of samples.
    pub samples: String,
}

/// Greatest probability that no sample of a run lies beyond a percentile.
const NOTHING_BEYOND: f64 = 0.025;

impl Percentile {
    /// Fewest samples whose percentile says something of that of all samples there could be: with fewer none lies beyond
    /// it in more than 1 of 40 runs, so that the 95 % interval by order statistics has an open end. For the 99th
    /// percentile 368, for a median 6.
    pub fn samples_min(&self) -> u64 {
        let permille = self.permille.clamp(1, 999);
        let one_side = f64::from(permille.max(1000 - permille)) / 1000.0;
        let (mut n, mut none_beyond) = (0, 1.0);
        while none_beyond > NOTHING_BEYOND {
            none_beyond *= one_side;
            n += 1;
        }
        n
    }
}

/// Name, unit, direction and meaning of a figure, and what a change of it is judged by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Name as in tables, JSON and `--fail-if`, unit last: `wakeup_latency_p99_us`.
    pub name: String,
    /// Unit: `us`, `ops/s`, `count`.
    pub unit: String,
    /// Whether greater or smaller values are better.
    pub better: Better,
    /// What it measures, in one line.
    pub meaning: String,
    /// The values that it can take.
    pub range: Range,
    /// The smallest difference that is of interest.
    pub smallest: SmallestEffect,
    /// Which percentile it is, if it is one.
    pub percentile: Option<Percentile>,
}

impl Metric {
    /// A metric with the range and the smallest effect that its unit has.
    pub fn new(name: impl Into<String>, unit: &str, better: Better, meaning: impl Into<String>) -> Metric {
        let range = match unit {
            "%" => Range::Percent,
            "C" => Range::Any,
            _ => Range::NotNegative,
        };
        let smallest = SmallestEffect::of_unit(unit);
        Metric {
            name: name.into(),
            unit: unit.into(),
            better,
            meaning: meaning.into(),
            range,
            smallest,
            percentile: None,
        }
    }
}

/// A figure of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricValue {
    /// Name, unit, direction and meaning of the value.
    pub metric: Metric,
    /// Value in the metric's unit; finite.
    #[serde(with = "bits")]
    pub value: f64,
}

/// A number, serialized so that it is read back bit by bit.
mod bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.to_bits().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.99^368 = 0.0248, 0.99^367 = 0.0250(1); 0.5^6 = 0.016.
    #[test]
    fn percentiles_need_samples_on_both_sides() {
        let needed = |permille| Percentile { permille, samples: String::new() }.samples_min();
        assert_eq!([500, 900, 950, 990, 995, 10].map(needed), [6, 36, 72, 368, 736, 368]);
    }
}

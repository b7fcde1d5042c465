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
        Metric { name: name.into(), unit: unit.into(), better, meaning: meaning.into(), range, smallest }
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

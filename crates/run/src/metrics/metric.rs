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

/// Name, unit, direction and meaning of a figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Name as in tables, JSON and `--fail-if`, unit last: `wakeup_latency_p99_us`.
    pub name: String,
    /// Unit: `us`, `ops/s`, `count`.
    pub unit: String,
    /// Whether greater or smaller values are better.
    pub better: Better,
    /// What it measures, in one line.
    pub meaning: String,
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

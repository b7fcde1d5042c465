//! Modes of a row: its runs grouped by the values of another metric, with the frequency and mean of each group.

use serde::Serialize;

use crate::comparison::Row;

/// The runs of a row grouped by the values of another metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunModes {
    /// Name of the metric by which runs are grouped.
    pub by: String,
    /// Modes of the base's runs.
    pub base: ColumnModes,
    /// Modes of the test's runs.
    pub test: ColumnModes,
}

/// Modes of one column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnModes {
    /// Least, quartiles and greatest of the row's metric over the seeds: values that occurred.
    pub quartiles: [f64; 5],
    /// One group for each value of the other metric, in ascending order.
    pub kinds: Vec<RunMode>,
}

/// The runs with the same value of the grouping metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunMode {
    /// Value of the grouping metric.
    pub value: f64,
    /// Number of these runs.
    pub n: usize,
    /// Share of all runs, percent.
    pub share_pct: f64,
    /// Mean of the row's metric over these runs.
    pub mean: f64,
}

impl RunModes {
    /// The modes of `row`, grouped by `by`. `None` without runs, or if the two rows have different seeds.
    pub fn from_rows(row: &Row, by: &Row) -> Option<RunModes> {
        if row.seeds != by.seeds {
            return None;
        }
        Some(RunModes {
            by: by.metric.name.clone(),
            base: ColumnModes::from_values(&row.base, &by.base)?,
            test: ColumnModes::from_values(&row.test, &by.test)?,
        })
    }
}

impl ColumnModes {
    fn from_values(values: &[f64], by: &[f64]) -> Option<ColumnModes> {
        let mut seen = by.to_vec();
        seen.sort_by(f64::total_cmp);
        seen.dedup();
        let kind = |value: f64| {
            let of_kind: Vec<f64> = values.iter().zip(by).filter(|(_, b)| **b == value).map(|(v, _)| *v).collect();
            let n = of_kind.len();
            let share_pct = n as f64 / values.len() as f64 * 100.0;
            RunMode { value, n, share_pct, mean: of_kind.iter().sum::<f64>() / n as f64 }
        };
        Some(ColumnModes { quartiles: quartiles(values)?, kinds: seen.into_iter().map(kind).collect() })
    }
}

/// Least value, quartiles and greatest value: at each quarter of the sorted column the nearest value, the lower of two.
fn quartiles(values: &[f64]) -> Option<[f64; 5]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some([0, 1, 2, 3, 4].map(|quarter| sorted[(last * quarter + 1) / 4]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_run::metrics::{Better, Metric};

    #[test]
    fn runs_are_told_apart_by_where_they_started() {
        let metric = |name: &str| Metric::new(name, "", Better::Lower, "");
        let cost = Row::new(metric("p90"), vec![40.0, 60.0, 42.0, 62.0, 61.0], vec![40.0; 5]);
        let start = Row::new(metric("distance"), vec![2.0, 4.0, 2.0, 4.0, 4.0], vec![2.0; 5]);
        let spread = RunModes::from_rows(&cost, &start).unwrap();
        assert_eq!(
            spread.base.kinds,
            [
                RunMode { value: 2.0, n: 2, share_pct: 40.0, mean: 41.0 },
                RunMode { value: 4.0, n: 3, share_pct: 60.0, mean: 61.0 }
            ]
        );
        assert_eq!(spread.base.quartiles, [40.0, 42.0, 60.0, 61.0, 62.0]);
        assert_eq!(spread.test.kinds, [RunMode { value: 2.0, n: 5, share_pct: 100.0, mean: 40.0 }]);
    }

    #[test]
    fn quartiles_are_values_that_occurred() {
        assert_eq!(quartiles(&[]), None);
        assert_eq!(quartiles(&[7.0]), Some([7.0; 5]));
        assert_eq!(quartiles(&[2.0, 1.0]), Some([1.0, 1.0, 1.0, 2.0, 2.0]));
        let eight: Vec<f64> = (0..8).map(f64::from).collect();
        assert_eq!(quartiles(&eight), Some([0.0, 2.0, 3.0, 5.0, 7.0]));
    }
}

//! Utilization clamps of a trace, described as mail 003 does: those of run queues by CPU (`uclamp_util_cfs`), those of
//! tasks by task (`uclamp_util_se`). Each event counts once.

use std::collections::BTreeMap;

use crate::{EventSource, TraceError, TraceEventKind};

/// Grouping of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The run queue of each CPU.
    Cpu,
    /// All threads with the same name.
    Comm,
    /// Each thread by pid.
    Pid,
}

/// The bound that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `uclamp.min`.
    Min,
    /// `uclamp.max`.
    Max,
}

/// The values of a row, and the number of events with each. [`Values::mean`] and quartiles need at least one value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    counts: BTreeMap<u32, u64>,
}

/// Pairs of a value and the number of events with it.
impl FromIterator<(u32, u64)> for Values {
    fn from_iter<I: IntoIterator<Item = (u32, u64)>>(values: I) -> Values {
        Values { counts: values.into_iter().collect() }
    }
}

impl Values {
    fn add(&mut self, value: u32) {
        *self.counts.entry(value).or_default() += 1;
    }

    /// Number of events in this row.
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Mean value over all events.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.counts.iter().map(|(value, n)| f64::from(*value) * *n as f64).sum();
        sum / self.count() as f64
    }

    /// Standard deviation of a sample (n - 1); `None` for a single event.
    pub fn std(&self) -> Option<f64> {
        let (n, mean) = (self.count(), self.mean());
        let squares: f64 = self.counts.iter().map(|(value, n)| (f64::from(*value) - mean).powi(2) * *n as f64).sum();
        (n > 1).then(|| (squares / (n - 1) as f64).sqrt())
    }

    /// The value below which `quarters` fourths of the events lie, 0 (the least) to 4 (the greatest). Interpolated
    /// between neighbours, as pandas does.
    pub fn quartile(&self, quarters: u64) -> f64 {
        let gaps = (self.count() - 1) * quarters;
        let (low, high) = (self.nth(gaps / 4), self.nth(gaps.div_ceil(4)));
        low + (high - low) * (gaps % 4) as f64 / 4.0
    }

    /// The n-th value in ascending order, from 0.
    fn nth(&self, n: u64) -> f64 {
        let mut seen = 0;
        let beyond = |(_, count): &(&u32, &u64)| {
            seen += **count;
            seen > n
        };
        self.counts.iter().find(beyond).map_or(0.0, |(value, _)| f64::from(*value))
    }

    /// Values and their counts, the most frequent first.
    pub fn by_frequency(&self) -> Vec<(u32, u64)> {
        let mut counts: Vec<(u32, u64)> = self.counts.iter().map(|(value, n)| (*value, *n)).collect();
        counts.sort_by_key(|(value, n)| (std::cmp::Reverse(*n), *value));
        counts
    }
}

/// Selects the events that are counted, and their grouping.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Grouping of the rows.
    pub by: By,
    /// Whether `uclamp.min` or `uclamp.max`.
    pub bound: Bound,
    /// Whether events with a value of 0 are counted.
    pub zeros: bool,
    /// Only events of threads with this name, or of the thread `NAME:PID`, and none of run queues; `None`: all events.
    pub task: Option<String>,
}

/// Reads a trace to its end. Returns name and values of each row: CPUs by number, tasks by name.
///
/// # Errors
/// If the trace cannot be read.
pub fn rows<S: EventSource>(trace: &mut S, wanted: &Filter) -> Result<Vec<(String, Values)>, TraceError> {
    // CPUs sort by their number, tasks by their name.
    let mut rows = BTreeMap::<(u32, String), Values>::new();
    while let Some(event) = trace.next_event()? {
        let TraceEventKind::Clamps { task, cpu, min, max, .. } = event.what else { continue };
        let value = match wanted.bound {
            Bound::Min => min,
            Bound::Max => max,
        };
        if value == 0 && !wanted.zeros {
            continue;
        }
        let one = task.map(|t| format!("{}:{}", t.comm, t.pid));
        if wanted.task.as_deref().is_some_and(|name| task.map(|t| t.comm) != Some(name) && one.as_deref() != Some(name))
        {
            continue;
        }
        let row = match (wanted.by, task, one) {
            (By::Cpu, None, _) => (cpu, cpu.to_string()),
            (By::Comm, Some(task), _) => (0, task.comm.to_owned()),
            (By::Pid, Some(_), Some(one)) => (0, one),
            _ => continue,
        };
        rows.entry(row).or_default().add(value);
    }
    Ok(rows.into_iter().map(|((_, name), values)| (name, values)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    fn values(of: &[u32]) -> Values {
        let mut values = Values::default();
        of.iter().for_each(|v| values.add(*v));
        values
    }

    #[test]
    fn values_are_described_as_pandas_does() {
        let v = values(&[80, 10, 30, 20]);
        assert_eq!((v.count(), v.mean()), (4, 35.0));
        // (25^2 + 15^2 + 5^2 + 45^2) / 3 = 2900 / 3
        assert!((v.std().unwrap() - (2900.0f64 / 3.0).sqrt()).abs() < 1e-9);
        // positions 0, 0.75, 1.5, 2.25, 3 of 10, 20, 30, 80
        assert_eq!([0, 1, 2, 3, 4].map(|q| v.quartile(q)), [10.0, 17.5, 25.0, 42.5, 80.0]);
        let one = values(&[512]);
        assert_eq!((one.std(), one.quartile(1), one.quartile(4)), (None, 512.0, 512.0));
    }

    #[test]
    fn frequent_values_come_first_and_small_ones_of_equals() {
        assert_eq!(values(&[7, 512, 0, 512, 7, 512]).by_frequency(), [(512, 3), (7, 2), (0, 1)]);
    }

    const TRACE: &str = "\
a-1 [000] 1.0: uclamp_util_cfs: cpu=0 util_avg=5 uclamp_avg=5 uclamp_min=0 uclamp_max=1024
a-1 [000] 1.1: uclamp_util_se: pid=9 comm=my cpu=3 task cpu=10 util_avg=5 uclamp_avg=300 uclamp_min=300 uclamp_max=800
a-1 [000] 1.2: uclamp_util_cfs: cpu=10 util_avg=5 uclamp_avg=300 uclamp_min=300 uclamp_max=800
a-1 [000] 1.3: uclamp_util_cfs: cpu=2 util_avg=5 uclamp_avg=5 uclamp_min=0 uclamp_max=1024
a-1 [000] 1.4: uclamp_util_se: cpu=1 comm=other pid=8 util_avg=5 uclamp_avg=5 uclamp_min=0 uclamp_max=1024
a-1 [000] 1.5: uclamp_util_cfs: cpu=10 util_avg=5 uclamp_avg=5 uclamp_min=100 uclamp_max=1024
";

    fn read(wanted: &Filter) -> Vec<(String, Vec<(u32, u64)>)> {
        let rows = rows(&mut Reader::new("t", TRACE.as_bytes()), wanted).unwrap();
        rows.into_iter().map(|(name, values)| (name, values.by_frequency())).collect()
    }

    #[test]
    fn queues_count_by_cpu_and_tasks_by_name() {
        let all = Filter { by: By::Cpu, bound: Bound::Min, zeros: true, task: None };
        let row = |name: &str, values: &[(u32, u64)]| (name.to_owned(), values.to_vec());
        assert_eq!(read(&all), [row("0", &[(0, 1)]), row("2", &[(0, 1)]), row("10", &[(100, 1), (300, 1)])]);
        assert_eq!(read(&Filter { zeros: false, ..all.clone() }), [row("10", &[(100, 1), (300, 1)])]);
        let by_task = Filter { by: By::Comm, bound: Bound::Max, ..all.clone() };
        assert_eq!(read(&by_task), [row("my cpu=3 task", &[(800, 1)]), row("other", &[(1024, 1)])]);
        let of = |task: &str| read(&Filter { by: By::Pid, task: Some(task.into()), ..all.clone() });
        assert_eq!(of("other"), [row("other:8", &[(0, 1)])]);
        assert_eq!((of("other:8"), of("other:9")), (of("other"), Vec::new()));
    }
}

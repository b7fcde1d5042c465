//! What a decision leaves behind: values that later decisions read.

use std::fmt;

use fairground_sim::{LeftBehind, Subject};

/// A value before a decision, and after it by both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftValue {
    /// The kernel's function that is to leave it.
    pub function: &'static str,
    /// The value's name there.
    pub name: &'static str,
    /// What it is of.
    pub of: Of,
    /// The kernel's value before the decision, from which both sides start.
    pub before: i128,
    /// As the kernel left it.
    pub kernel: i128,
    /// As our policy left it.
    pub ours: i128,
}

/// What a value is of, as messages name it: `cpu3`, `cpu3 domain 1`, `task 5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Of(pub Subject);

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Subject::Cpu(cpu) => write!(f, "cpu{cpu}"),
            Subject::Domain(cpu, n) => write!(f, "cpu{cpu} domain {n}"),
            Subject::Task(task) => write!(f, "task {task}"),
        }
    }
}

/// Values of one object by name.
pub type Values = Vec<(&'static str, i128)>;

/// Virtual times are alike up to this difference, ns: the kernel divides by a weight with a multiplication by its
/// rounded inverse (__calc_delta), our policy exactly.
const ROUNDING_NS: i128 = 8;
/// Values that are virtual times.
const VIRTUAL_TIMES: [&str; 6] = ["vruntime", "deadline", "vlag", "vprot", "avg_vruntime", "min_vruntime"];

impl LeftValue {
    /// Whether the value is a virtual time.
    fn is_virtual_time(&self) -> bool {
        VIRTUAL_TIMES.contains(&self.name)
    }

    /// The row of the table: `update_idle_cpu_scan: nr_idle_scan`.
    pub fn row(&self) -> String {
        format!("{}: {}", self.function, self.name)
    }

    /// The kernel's side alone; none if the kernel has not changed the value.
    pub fn of_kernel(&self) -> Option<LeftBehind> {
        let LeftValue { function, name, of, before, kernel, .. } = *self;
        // Values are of 64 bits, with or without a sign.
        let (before, after) = (before as i64, kernel as i64);
        (before != after).then_some(LeftBehind { function, value: name, of: of.0, before, after })
    }

    /// Whether both sides have left the same value.
    pub fn is_alike(&self) -> bool {
        // As the kernel does, by the signed difference of what wraps at 2^64.
        let apart = (self.kernel as i64).wrapping_sub(self.ours as i64);
        self.kernel == self.ours || (self.is_virtual_time() && i128::from(apart).abs() <= ROUNDING_NS)
    }

    /// Whether either side has changed it: others say nothing about the decision.
    pub fn is_changed(&self) -> bool {
        self.kernel != self.before || self.ours != self.before
    }

    /// One line for a disagreement.
    pub fn words(&self) -> String {
        let LeftValue { function, name, of, before, kernel, ours } = self;
        format!("left: {function}: {name} of {of}: before {before}, kernel {kernel}, ours {ours}")
    }
}

/// The values of an object, in three readings of the same names.
pub fn compare(function: &'static str, of: Of, before: &Values, kernel: &Values, ours: &Values) -> Vec<LeftValue> {
    let read = before.iter().zip(kernel).zip(ours);
    let values = read.map(|((&(name, before), &(_, kernel)), &(_, ours))| LeftValue {
        function,
        name,
        of,
        before,
        kernel,
        ours,
    });
    values.filter(LeftValue::is_changed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_side_has_changed_is_a_row() {
        let before = vec![("nr_idle_scan", 3), ("overload", 0), ("capacity", 7)];
        let kernel = vec![("nr_idle_scan", 2), ("overload", 0), ("capacity", 7)];
        let ours = vec![("nr_idle_scan", 2), ("overload", 1), ("capacity", 7)];
        let left = compare("update_sd_lb_stats", Of(Subject::Cpu(3)), &before, &kernel, &ours);
        let rows: Vec<_> = left.iter().map(|l| (l.row(), l.kernel == l.ours)).collect();
        let row = |name: &str| format!("update_sd_lb_stats: {name}");
        assert_eq!(rows, [(row("nr_idle_scan"), true), (row("overload"), false)]);
        let vruntime = |kernel| LeftValue {
            function: "task_tick_fair",
            name: "vruntime",
            of: Of(Subject::Task(1)),
            before: 5,
            kernel,
            ours: 3,
        };
        assert!(vruntime(11).is_alike() && vruntime((1 << 64) - 5).is_alike() && !vruntime(12).is_alike());
        assert_eq!(left[1].words(), "left: update_sd_lb_stats: overload of cpu3: before 0, kernel 0, ours 1");
        let changed = left[0].of_kernel().map(|l| (l.value, l.of, l.before, l.after));
        assert_eq!(changed, Some(("nr_idle_scan", Subject::Cpu(3), 3, 2)));
        assert_eq!(left[1].of_kernel(), None, "the kernel has left it as it was");
    }
}

//! What a decision leaves behind: values that later decisions read.

/// A value before a decision, and after it by both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftValue {
    /// The row of the table: the kernel's function that is to leave it, and the value's name there.
    pub row: String,
    /// What it is of, e.g. `cpu3`, for messages.
    pub of: String,
    /// The kernel's value before the decision, from which both sides start.
    pub before: i128,
    /// As the kernel left it.
    pub kernel: i128,
    /// As our policy left it.
    pub ours: i128,
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
        let name = self.row.rsplit_once(": ").map_or("", |(_, name)| name);
        VIRTUAL_TIMES.contains(&name)
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
        let LeftValue { row, of, before, kernel, ours } = self;
        format!("left: {row} of {of}: before {before}, kernel {kernel}, ours {ours}")
    }
}

/// The values of an object, in three readings of the same names.
pub fn compare(function: &str, of: &str, before: &Values, kernel: &Values, ours: &Values) -> Vec<LeftValue> {
    let read = before.iter().zip(kernel).zip(ours);
    let values = read.map(|((&(name, before), &(_, kernel)), &(_, ours))| LeftValue {
        row: format!("{function}: {name}"),
        of: of.into(),
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
        let left = compare("update_sd_lb_stats", "cpu3", &before, &kernel, &ours);
        let rows: Vec<_> = left.iter().map(|l| (l.row.as_str(), l.kernel == l.ours)).collect();
        assert_eq!(rows, [("update_sd_lb_stats: nr_idle_scan", true), ("update_sd_lb_stats: overload", false)]);
        let vruntime = |kernel| LeftValue {
            row: "task_tick_fair: vruntime".into(),
            of: "task 1".into(),
            before: 5,
            kernel,
            ours: 3,
        };
        assert!(vruntime(11).is_alike() && vruntime((1 << 64) - 5).is_alike() && !vruntime(12).is_alike());
        assert_eq!(left[1].words(), "left: update_sd_lb_stats: overload of cpu3: before 0, kernel 0, ours 1");
    }
}

//! Two kernels, each beside the same policy of ours: the rows in which they agree with it unequally are what differs
//! between them. What the policy does not know of either counts in both. And where the runs of the two part ([`Partings`]).

use std::fmt::Write;

use fairground_linux::conformance::{Count, Kind, Tally};
use serde_json::{json, Value};

use super::parting::Partings;
use super::ConformanceReport;

/// Standard errors of the difference of two shares from which a row counts as changed.
const ERRORS: f64 = 3.0;

/// The report of the kernel that another one is compared with.
pub struct Against {
    /// Name of the kernel.
    pub kernel: String,
    /// The release of its tree.
    pub release: String,
    /// Its decisions, judged on the same machines and workloads.
    pub tally: Tally,
    /// Where its runs and those of the kernel that is judged part.
    pub partings: Partings,
}

/// A row of both kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct RowOfBoth {
    /// Kind of the decisions.
    pub kind: Kind,
    /// The rule of our policy.
    pub rule: String,
    /// Decisions of the other kernel.
    pub base: Count,
    /// Decisions of the kernel that is judged.
    pub test: Count,
}

impl RowOfBoth {
    /// Change of the share that agrees, percentage points.
    pub fn shift(&self) -> f64 {
        self.test.percent() - self.base.percent()
    }

    /// Whether the shares differ by more than chance makes them.
    pub fn is_changed(&self) -> bool {
        let (base, test) = (self.base, self.test);
        if base.n == 0 || test.n == 0 {
            return base.n - base.agree + test.n - test.agree > 0;
        }
        let (n, m) = (base.n as f64, test.n as f64);
        let p = (base.agree + test.agree) as f64 / (n + m);
        let error = 100.0 * (p * (1.0 - p) * (1.0 / n + 1.0 / m)).sqrt();
        error > 0.0 && self.shift().abs() > ERRORS * error
    }
}

/// All rows of both, in the order of kinds and rules.
pub fn rows_of_both(base: &Tally, test: &Tally) -> Vec<RowOfBoth> {
    let count = |tally: &Tally, kind, rule: &str| {
        tally.kind(kind).and_then(|of| of.rules.get(rule).copied()).unwrap_or_default()
    };
    let mut rows = Vec::new();
    for kind in Kind::ALL {
        let named = [base, test].into_iter().filter_map(|tally| tally.kind(kind)).flat_map(|of| of.rules.keys());
        let mut rules: Vec<&String> = named.collect();
        rules.sort_unstable();
        rules.dedup();
        rows.extend(rules.into_iter().map(|rule| RowOfBoth {
            kind,
            rule: rule.clone(),
            base: count(base, kind, rule),
            test: count(test, kind, rule),
        }));
    }
    rows
}

impl ConformanceReport {
    /// The rows that differ between this kernel and the other, as text.
    pub fn text_against(&self, other: &Against) -> String {
        let (name, base) = (&self.kernel, &other.kernel);
        let mut out = format!(
            "linux:{name} ({}) against linux:{base} ({}), each beside {}, seed {}\n\n",
            self.release, other.release, self.preset, self.seed
        );
        let rows = rows_of_both(&other.tally, &self.tally());
        let changed: Vec<&RowOfBoth> = rows.iter().filter(|row| row.is_changed()).collect();
        let _ = writeln!(out, "rows in which the two agree unequally: {} of {}", changed.len(), rows.len());
        if !changed.is_empty() {
            let _ = writeln!(
                out,
                "\n{:>9} {:>9} {:>9} {:>9} {:>9}  rule",
                base_word(base),
                "alike %",
                base_word(name),
                "alike %",
                "shift"
            );
        }
        for row in changed {
            let RowOfBoth { kind, base, test, .. } = row;
            let (word, title) = (kind.word(), kind.rule_title(&row.rule));
            let (b, t, shift) = (base.percent(), test.percent(), row.shift());
            let _ = writeln!(out, "{:>9} {b:>9.3} {:>9} {t:>9.3} {shift:>+9.3}  {word}: {title}", base.n, test.n);
        }
        out + "\n" + &other.partings.text()
    }

    /// The same as a member of the JSON report.
    pub fn json_against(&self, other: &Against) -> Value {
        let rows = rows_of_both(&other.tally, &self.tally());
        let row = |row: &RowOfBoth| {
            json!({
                "kind": row.kind.word(),
                "rule": row.rule,
                "base": { "n": row.base.n, "agree": row.base.agree },
                "test": { "n": row.test.n, "agree": row.test.agree },
                "shift_pct": row.shift(),
                "changed": row.is_changed(),
            })
        };
        let rows: Vec<Value> = rows.iter().map(row).collect();
        json!({ "kernel": other.kernel, "release": other.release, "kinds": other.tally.json(), "rows": rows, "parted": other.partings.json() })
    }
}

/// The heading of a column of decisions.
fn base_word(name: &str) -> String {
    name.chars().take(9).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(alike: u64, of: u64) -> Tally {
        let mut tally = Tally::default();
        (0..of).for_each(|i| tally.count(Kind::Wake, "C1", i < alike, true));
        (0..100).for_each(|_| tally.count(Kind::Left, "update_idle_cpu_scan: nr_idle_scan", true, true));
        tally
    }

    #[test]
    fn a_row_is_changed_if_chance_does_not_explain_it() {
        let changed = |base: &Tally, test: &Tally| {
            rows_of_both(base, test)
                .iter()
                .filter(|row| row.is_changed())
                .map(|row| row.rule.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(changed(&tally(970, 1000), &tally(968, 1000)), Vec::<String>::new());
        assert_eq!(changed(&tally(970, 1000), &tally(900, 1000)), ["C1"]);
        assert_eq!(changed(&tally(1000, 1000), &tally(1000, 1000)), Vec::<String>::new());
        assert_eq!(changed(&Tally::default(), &tally(9, 10)), ["C1"]);
    }
}

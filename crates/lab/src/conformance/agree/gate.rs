//! `--fail-if` of `kernel agree`: conditions on how far a kernel and our policy agree.
//!
//! The form is that of [`crate::fail_if`]. A metric is a kind of decisions (`wake`, `pick`, `left`, ...), `all` for all
//! kinds together, or `pelt` for steps of load tracking: with `%` the share that is alike, without the number that is
//! not. Three metrics are numbers only: `topology`, places in which the scheduling domains differ, `changed`, rows in
//! which two kernels agree unequally with our policy, and `parted`, runs in which the two part.

use fairground_linux::conformance::{Count, Kind};

use super::{rows_of_both, Against, ConformancePlan, ConformanceReport, RowOfBoth};
use crate::fail_if::{FailIf, FailIfError};

const ALL: &str = "all";
const PELT: &str = "pelt";
const TOPOLOGY: &str = "topology";
const CHANGED: &str = "changed";
const PARTED: &str = "parted";

/// The conditions of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gate(Vec<FailIf>);

/// What a condition is about.
enum Measured {
    Share(Count),
    Number(usize),
}

impl Gate {
    /// Conditions on what `plan` judges. `against`: with another kernel.
    ///
    /// # Errors
    /// A condition does not parse, is about something that is not judged, or asks for a share of what is a number.
    pub fn new(conditions: &[String], plan: &ConformancePlan, against: bool) -> Result<Gate, FailIfError> {
        let conditions = conditions.iter().map(|text| text.parse()).collect::<Result<Vec<FailIf>, _>>()?;
        let names = names(plan, against);
        for condition in &conditions {
            condition.check_names(&names, "this comparison")?;
            if condition.is_verdict() {
                let problem = "decisions have no verdict: compare with a number".into();
                return Err(FailIfError::Syntax { text: condition.to_string(), problem });
            }
            if condition.is_percent() && [TOPOLOGY, CHANGED, PARTED].contains(&condition.metric()) {
                let problem = format!("{} is a number, not a share: leave the % out", condition.metric());
                return Err(FailIfError::Syntax { text: condition.to_string(), problem });
            }
        }
        Ok(Gate(conditions))
    }

    /// One line for every condition that holds, or that cannot be judged because there was no such decision.
    pub fn held(&self, report: &ConformanceReport, against: Option<&Against>) -> Vec<String> {
        self.0.iter().filter_map(|condition| held(condition, report, against)).collect()
    }
}

/// Metrics of what is judged.
fn names(plan: &ConformancePlan, against: bool) -> Vec<&'static str> {
    let is_judged = |kind: &Kind| match kind {
        Kind::Wake | Kind::Fork | Kind::Exec | Kind::Target | Kind::Left => true,
        Kind::Pick | Kind::Preempt | Kind::Slice => plan.picks,
        Kind::Balance => plan.balance,
        Kind::Frequency => plan.governor == fairground_sim::Governor::Schedutil,
    };
    let kinds = Kind::ALL.into_iter().filter(is_judged).map(Kind::word);
    let more = [(ALL, true), (PELT, plan.pelt), (TOPOLOGY, true), (CHANGED, against), (PARTED, against)];
    kinds.chain(more.into_iter().filter(|(_, judged)| *judged).map(|(name, _)| name)).collect()
}

fn held(condition: &FailIf, report: &ConformanceReport, against: Option<&Against>) -> Option<String> {
    let name = &report.kernel;
    let (value, shown) = match measured(condition.metric(), report, against) {
        Measured::Share(Count { n: 0, .. }) => {
            return Some(format!("{condition} cannot be judged for linux:{name}: there was no such decision"));
        }
        Measured::Share(count) => {
            let (differ, percent) = (count.n - count.agree, count.percent());
            let value = if condition.is_percent() { percent } else { differ as f64 };
            (value, format!("{differ} of {} differ, {percent:.3} % are alike", count.n))
        }
        Measured::Number(number) => (number as f64, number.to_string()),
    };
    condition.holds_for(value).then(|| format!("{condition} holds for linux:{name}: {shown}"))
}

fn measured(metric: &str, report: &ConformanceReport, against: Option<&Against>) -> Measured {
    let tally = report.tally();
    match metric {
        TOPOLOGY => Measured::Number(report.sheets.iter().map(|sheet| sheet.topology.len()).sum()),
        CHANGED => {
            let rows = against.map(|other| rows_of_both(&other.tally, &tally)).unwrap_or_default();
            Measured::Number(rows.iter().filter(|row| RowOfBoth::is_changed(row)).count())
        }
        PARTED => Measured::Number(against.map_or(0, |other| other.partings.found.len())),
        PELT => {
            let (n, agree) = report.pelt().total();
            Measured::Share(Count { n, agree })
        }
        ALL => Measured::Share(
            tally
                .kinds()
                .fold(Count::default(), |sum, (_, of)| Count { n: sum.n + of.all.n, agree: sum.agree + of.all.agree }),
        ),
        word => {
            let of_kind = Kind::of(word).and_then(|kind| tally.kind(kind));
            Measured::Share(of_kind.map(|of| of.all).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use fairground_linux::conformance::Tally;
    use fairground_sim::Governor;

    use super::super::report::tests::sheets;
    use super::super::{FoundParting, Parting, Partings};
    use super::*;

    fn plan() -> ConformancePlan {
        ConformancePlan {
            // Only its name is of a kernel: none is built here.
            kernel: "fair:v6.12".parse().unwrap(),
            hz: 250,
            preset: "fair:v6.12".into(),
            decisions: 1,
            seed: 1,
            picks: true,
            pelt: false,
            balance: false,
            governor: Governor::Performance,
        }
    }

    /// What the conditions say of 603 wakes, of which one differs, and one fork, with two places of the topology.
    fn said(conditions: &[&str], against: Option<&Against>) -> Vec<String> {
        let conditions: Vec<String> = conditions.iter().map(|text| text.to_string()).collect();
        Gate::new(&conditions, &plan(), against.is_some()).unwrap().held(&sheets(), against)
    }

    #[test]
    fn a_share_is_in_percent_and_a_number_counts_what_differs() {
        assert_eq!(said(&["wake<99.8%", "wake>1", "fork<100%", "all>1", "topology>2"], None), Vec::<String>::new());
        let lines = said(&["wake<99.9%", "all>=1", "topology>=2"], None);
        let expected = [
            "wake<99.9% holds for linux:mine: 1 of 603 differ, 99.834 % are alike",
            "all>=1 holds for linux:mine: 1 of 604 differ, 99.834 % are alike",
            "topology>=2 holds for linux:mine: 2",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_did_not_happen_cannot_pass() {
        let lines = said(&["pick<100%"], None);
        assert_eq!(lines, ["pick<100% cannot be judged for linux:mine: there was no such decision"]);
    }

    #[test]
    fn changed_rows_are_those_of_two_kernels() {
        let against = |tally| {
            let parting = Parting { time: 1, rows: Vec::new(), words: Vec::new(), decision: None };
            let found = FoundParting { machine: "smt".into(), workload: "mix".into(), seed: 1, parting };
            let partings = Partings { runs: 2, found: vec![found], ..Partings::default() };
            Against { kernel: "base".into(), release: "6.12.117".into(), tally, partings }
        };
        assert_eq!(said(&["changed>0"], Some(&against(sheets().tally()))), Vec::<String>::new());
        assert_eq!(said(&["parted>=1"], Some(&against(sheets().tally()))), ["parted>=1 holds for linux:mine: 1"]);
        let mut other = Tally::default();
        (0..600).for_each(|_| other.count(Kind::Wake, "C1", false, true));
        let lines = said(&["changed>0"], Some(&against(other)));
        assert_eq!(lines, ["changed>0 holds for linux:mine: 1"]);
    }

    #[test]
    fn what_is_not_judged_is_refused_with_what_is() {
        let refused = |text: &str| Gate::new(&[text.to_owned()], &plan(), false).unwrap_err();
        let FailIfError::UnknownMetric { help, .. } = refused("piks>0") else { panic!("no metric is named so") };
        assert!(help.starts_with("did you mean `pick`? it reports: "), "{help}");
        assert!(matches!(refused("balance>0"), FailIfError::UnknownMetric { .. }), "passes are not judged");
        assert!(matches!(refused("wake=worse"), FailIfError::Syntax { .. }), "decisions have no verdict");
        assert!(matches!(refused("changed>0"), FailIfError::UnknownMetric { .. }), "there is no other kernel");
        assert!(refused("topology>0%").to_string().contains("is a number, not a share"));
    }
}

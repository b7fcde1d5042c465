//! Agreement by kind of decision and by rule row, and its JSON.

use std::collections::BTreeMap;

use fairground_fair::{balance_rule_title, pick_rule_title, rule_title};
use serde_json::{json, Map, Value};

/// Kind of a scheduling decision that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// CPU of a woken task.
    Wake,
    /// CPU of a new task.
    Fork,
    /// CPU of a task that calls exec.
    Exec,
    /// The CPU from which the search of a wakeup starts (wake_affine).
    Target,
    /// The next task of a run queue.
    Pick,
    /// Whether a woken task preempts the current one.
    Preempt,
    /// Whether a tick takes the CPU from the current task.
    Slice,
    /// A balance pass over a domain, or an active balance.
    Balance,
    /// A value that a decision leaves behind, and that later decisions read.
    Left,
    /// The frequency that schedutil requests.
    Frequency,
}

impl Kind {
    /// As people read a rule of such decisions. That of a balance pass may have more behind its name: `spare, stuck`.
    pub fn rule_title(self, rule: &str) -> String {
        let (name, more) = rule.split_at(rule.find(',').unwrap_or(rule.len()));
        let title = match self {
            Kind::Wake | Kind::Fork | Kind::Exec | Kind::Target => rule_title(name),
            Kind::Balance => balance_rule_title(name),
            Kind::Pick | Kind::Preempt | Kind::Slice => pick_rule_title(name),
            Kind::Left | Kind::Frequency => name.to_owned(),
        };
        title + more
    }

    /// Name of the kind in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Wake => "wake",
            Kind::Fork => "fork",
            Kind::Exec => "exec",
            Kind::Target => "target",
            Kind::Pick => "pick",
            Kind::Preempt => "preempt",
            Kind::Slice => "slice",
            Kind::Balance => "balance",
            Kind::Left => "left",
            Kind::Frequency => "frequency",
        }
    }

    /// All variants, in the order of the table.
    pub const ALL: [Kind; 10] = [
        Kind::Wake,
        Kind::Fork,
        Kind::Exec,
        Kind::Target,
        Kind::Pick,
        Kind::Preempt,
        Kind::Slice,
        Kind::Balance,
        Kind::Left,
        Kind::Frequency,
    ];

    /// The kind with this name.
    pub fn of(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.word() == word)
    }
}

/// Decisions, and how many of them are alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of decisions.
    pub n: u64,
    /// Number of these in which the kernel and our policy agree.
    pub agree: u64,
}

/// Decisions of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindTally {
    /// All decisions of the kind.
    pub all: Count,
    /// By the rule of our policy.
    pub rules: BTreeMap<String, Count>,
    /// Those of `all` for which the kernel does not keep all that the policy reads.
    pub not_observable: u64,
}

/// All decisions of a run, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    kinds: BTreeMap<Kind, KindTally>,
}

impl Tally {
    /// Counts a decision. `rule`: the rule of our policy. `observable`: the kernel keeps all that the policy reads.
    pub fn count(&mut self, kind: Kind, rule: &str, agree: bool, observable: bool) {
        let of = self.kinds.entry(kind).or_default();
        if !of.rules.contains_key(rule) {
            of.rules.insert(rule.to_string(), Count::default());
        }
        let row = of.rules.get_mut(rule).into_iter();
        for count in row.chain([&mut of.all]) {
            count.n += 1;
            count.agree += u64::from(agree);
        }
        of.not_observable += u64::from(!observable);
    }

    /// The counts of one kind.
    pub fn kind(&self, kind: Kind) -> Option<&KindTally> {
        self.kinds.get(&kind)
    }

    /// All kinds that occurred.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, &KindTally)> {
        self.kinds.iter().map(|(kind, of)| (*kind, of))
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Tally) {
        for (kind, theirs) in &other.kinds {
            let ours = self.kinds.entry(*kind).or_default();
            ours.all.add(theirs.all);
            ours.not_observable += theirs.not_observable;
            for (rule, count) in &theirs.rules {
                ours.rules.entry(rule.clone()).or_default().add(*count);
            }
        }
    }

    /// `{wake: {n, agree, agree_pct, rules: {RULE: {n, agree}}, not_observable}, ...}`.
    pub fn json(&self) -> Value {
        let kinds = self.kinds.iter().map(|(kind, of)| {
            let rules: Map<String, Value> =
                of.rules.iter().map(|(rule, c)| (rule.clone(), json!({ "n": c.n, "agree": c.agree }))).collect();
            let value = json!({
                "n": of.all.n,
                "agree": of.all.agree,
                "agree_pct": of.all.percent(),
                "rules": rules,
                "not_observable": of.not_observable,
            });
            (kind.word().to_string(), value)
        });
        Value::Object(kinds.collect())
    }

    /// Reads the output of [`Self::json`]; none if `value` has another shape.
    pub fn from_json(value: &Value) -> Option<Tally> {
        let mut tally = Tally::default();
        for (word, of) in value.as_object()? {
            let to = tally.kinds.entry(Kind::of(word)?).or_default();
            to.all = Count::from_json(of)?;
            to.not_observable = of["not_observable"].as_u64()?;
            for (rule, count) in of["rules"].as_object()? {
                to.rules.insert(rule.clone(), Count::from_json(count)?);
            }
        }
        Some(tally)
    }
}

impl Count {
    fn add(&mut self, other: Count) {
        self.n += other.n;
        self.agree += other.agree;
    }

    /// Percentage of `agree`; 100 if `n` is 0.
    pub fn percent(&self) -> f64 {
        match self.n {
            0 => 100.0,
            n => 100.0 * self.agree as f64 / n as f64,
        }
    }

    fn from_json(value: &Value) -> Option<Count> {
        Some(Count { n: value["n"].as_u64()?, agree: value["agree"].as_u64()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> Tally {
        let mut tally = Tally::default();
        tally.count(Kind::Wake, "C1", true, true);
        tally.count(Kind::Wake, "C1", false, true);
        tally.count(Kind::Wake, "C8", true, false);
        tally.count(Kind::Fork, "fork-idlest", true, true);
        tally
    }

    #[test]
    fn what_is_not_observable_stays_in_the_denominator() {
        let json = tally().json();
        assert_eq!(json["wake"]["n"], 3);
        assert_eq!(json["wake"]["agree"], 2);
        assert_eq!(json["wake"]["not_observable"], 1);
        assert_eq!(json["wake"]["rules"]["C1"], json!({ "n": 2, "agree": 1 }));
        assert_eq!(json["fork"]["agree_pct"], 100.0);
    }

    #[test]
    fn tallies_of_several_processes_add_up() {
        let mut sum = Tally::from_json(&tally().json()).unwrap();
        assert_eq!(sum, tally());
        sum.add(&tally());
        let wake = sum.kind(Kind::Wake).unwrap();
        assert_eq!((wake.all.n, wake.all.agree, wake.not_observable), (6, 4, 2));
        assert_eq!(wake.rules["C8"], Count { n: 2, agree: 2 });
        assert_eq!(Tally::from_json(&json!({ "wakes": {} })), None);
    }
}

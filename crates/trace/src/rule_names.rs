//! Owned copy of a scheduler's rule and note names, so that trace writers need not borrow the scheduler.

use fairground_sim::{Reason, Scheduler};

/// Rule and note numbers are below this.
const NUMBERS_MAX: u16 = 1024;

/// Names and descriptions of rules and texts of notes, by number.
#[derive(Clone, Debug)]
pub struct RuleNames {
    rules: Vec<(String, String)>,
    notes: Vec<String>,
    balance_rules: Vec<(String, String)>,
    levels: Vec<String>,
}

impl RuleNames {
    /// `rules`: name and description; `notes`: texts.
    pub fn new(rules: &[(&str, &str)], notes: &[&str]) -> RuleNames {
        RuleNames {
            rules: rules.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
            notes: notes.iter().map(|text| (*text).to_owned()).collect(),
            balance_rules: Vec::new(),
            levels: Vec::new(),
        }
    }

    /// Adds the balance rules (name, description) and the names of domain levels.
    pub fn with_balancing(mut self, rules: &[(&str, &str)], levels: &[&str]) -> RuleNames {
        self.balance_rules = rules.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        self.levels = levels.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Copies the names of `sched`.
    pub fn from_scheduler(sched: &dyn Scheduler) -> RuleNames {
        let rules: Vec<_> = (0..NUMBERS_MAX).map(|r| (sched.rule_name(r), sched.rule_text(r))).collect();
        let notes: Vec<_> = (0..NUMBERS_MAX).map(|n| sched.note_text(n)).collect();
        let balance: Vec<_> =
            (0..NUMBERS_MAX).map(|r| (sched.balance_rule_name(r), sched.balance_rule_text(r))).collect();
        let levels: Vec<_> = (0..=u8::MAX).map(|level| sched.level_name(level)).collect();
        RuleNames::new(&rules, &notes).with_balancing(&balance, &levels)
    }

    /// Name and text of each rule, those of placement before those of balancing with other names.
    pub fn rules(&self) -> impl Iterator<Item = (&str, &str)> {
        let known = |name: &str| self.rules.iter().any(|(other, _)| other == name);
        let more = self.balance_rules.iter().filter(move |(name, _)| !known(name));
        self.rules.iter().chain(more).map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// The name of a rule of balancing.
    pub fn balance_rule(&self, rule: u16) -> &str {
        self.balance_rules.get(usize::from(rule)).map_or("?", |(name, _)| name)
    }

    /// The name of a level of domains.
    pub fn level(&self, level: u8) -> &str {
        self.levels.get(usize::from(level)).map_or("?", String::as_str)
    }

    /// The name of a rule.
    pub fn rule(&self, rule: u16) -> &str {
        self.rules.get(usize::from(rule)).map_or("?", |(name, _)| name)
    }

    /// A reason as a clause.
    pub fn clause(&self, reason: &Reason) -> String {
        let [a, b, c] = reason.numbers;
        match self.notes.get(usize::from(reason.note)).filter(|text| !text.is_empty()) {
            Some(text) => {
                let cpu = reason.cpu.map_or("?".to_owned(), |cpu| cpu.to_string());
                [("a", a), ("b", b), ("c", c)]
                    .iter()
                    .fold(text.replace("{cpu}", &cpu), |text, (name, value)| fill(&text, name, *value))
            }
            None => format!("note {}: {a}, {b}, {c}", reason.note),
        }
    }
}

/// Puts a number where a text names it: `{a}`, or `{a:task}` for `1 task` and `2 tasks`.
fn fill(text: &str, name: &str, value: u64) -> String {
    let mut text = text.replace(&format!("{{{name}}}"), &value.to_string());
    let counted = format!("{{{name}:");
    while let Some((before, (thing, after))) =
        text.split_once(&counted).and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        text = format!("{before}{value} {thing}{}{after}", if value == 1 { "" } else { "s" });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_holds_its_cpu_and_numbers() {
        let words = RuleNames::new(&[], &["{cpu} {c} {a} {a} {b}", ""]);
        let reason = |note, cpu| Reason { note, rule: 0, cpu, numbers: [1, 2, 3] };
        assert_eq!(words.clause(&reason(0, Some(7))), "7 3 1 1 2");
        assert_eq!(words.clause(&reason(0, None)), "? 3 1 1 2");
        let words = RuleNames::new(&[], &["{a:idle CPU} of {b:CPU}, {c", ""]);
        assert_eq!(words.clause(&reason(0, None)), "1 idle CPU of 2 CPUs, {c", "counted things");
        assert_eq!(words.clause(&reason(1, None)), "note 1: 1, 2, 3", "no words");
        assert_eq!(words.clause(&reason(2, None)), "note 2: 1, 2, 3", "unknown");
    }
}

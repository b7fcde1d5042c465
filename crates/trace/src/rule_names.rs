//! Owned copy of a scheduler's rules and notes, so that trace writers need not borrow the scheduler.

use fairground_sim::{Reason, Rule, Scheduler};

/// Rule and note numbers are below this.
const NUMBERS_MAX: u16 = 1024;

/// An owned [`Rule`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedRule {
    /// See [`Rule::name`].
    pub name: String,
    /// See [`Rule::function`].
    pub function: String,
    /// See [`Rule::label`].
    pub label: String,
    /// See [`Rule::text`].
    pub text: String,
}

impl OwnedRule {
    /// A borrowed view of the rule.
    pub fn as_rule(&self) -> Rule<'_> {
        Rule { name: &self.name, function: &self.function, label: &self.label, text: &self.text }
    }
}

impl From<Rule<'_>> for OwnedRule {
    fn from(Rule { name, function, label, text }: Rule) -> OwnedRule {
        let [name, function, label, text] = [name, function, label, text].map(str::to_owned);
        OwnedRule { name, function, label, text }
    }
}

/// Rules of placement and balancing, texts of notes, and names of domain levels, by number.
#[derive(Clone, Debug)]
pub struct RuleNames {
    rules: Vec<OwnedRule>,
    notes: Vec<String>,
    balance_rules: Vec<OwnedRule>,
    pick_rules: Vec<OwnedRule>,
    levels: Vec<String>,
}

impl RuleNames {
    /// Names of the rules of placement and texts of the notes, by number.
    pub fn new(rules: &[Rule], notes: &[&str]) -> RuleNames {
        RuleNames {
            rules: rules.iter().copied().map(OwnedRule::from).collect(),
            notes: notes.iter().map(|text| (*text).to_owned()).collect(),
            balance_rules: Vec::new(),
            pick_rules: Vec::new(),
            levels: Vec::new(),
        }
    }

    /// Adds the rules of balancing and the names of domain levels.
    pub fn with_balancing(mut self, rules: &[Rule], levels: &[&str]) -> RuleNames {
        self.balance_rules = rules.iter().copied().map(OwnedRule::from).collect();
        self.levels = levels.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Adds the rules of picks.
    pub fn with_picks(mut self, rules: &[Rule]) -> RuleNames {
        self.pick_rules = rules.iter().copied().map(OwnedRule::from).collect();
        self
    }

    /// Copies the names of `sched`.
    pub fn from_scheduler(sched: &dyn Scheduler) -> RuleNames {
        let rules: Vec<_> = (0..NUMBERS_MAX).map(|r| sched.rule(r)).collect();
        let notes: Vec<_> = (0..NUMBERS_MAX).map(|n| sched.note_text(n)).collect();
        let balance: Vec<_> = (0..NUMBERS_MAX).map(|r| sched.balance_rule(r)).collect();
        let picks: Vec<_> = (0..NUMBERS_MAX).map(|r| sched.pick_rule(r)).collect();
        let levels: Vec<_> = (0..=u8::MAX).map(|level| sched.level_name(level)).collect();
        RuleNames::new(&rules, &notes).with_balancing(&balance, &levels).with_picks(&picks)
    }

    /// All rules of placement, then the rules of balancing whose names are not those of rules of placement.
    pub fn rules(&self) -> impl Iterator<Item = Rule<'_>> {
        let known = |name: &str| self.rules.iter().any(|other| other.name == name);
        let more = self.balance_rules.iter().filter(move |rule| !known(&rule.name));
        self.rules.iter().chain(more).map(OwnedRule::as_rule)
    }

    /// The rules of picks.
    pub fn pick_rules(&self) -> impl Iterator<Item = Rule<'_>> {
        self.pick_rules.iter().map(OwnedRule::as_rule)
    }

    /// The rule of a pick with this number; its name is `?` if there is none.
    pub fn pick_rule(&self, rule: u16) -> Rule<'_> {
        self.pick_rules.get(usize::from(rule)).map_or(Rule::named("?"), OwnedRule::as_rule)
    }

    /// The rule of balancing with this number; its name is `?` if there is none.
    pub fn balance_rule(&self, rule: u16) -> Rule<'_> {
        self.balance_rules.get(usize::from(rule)).map_or(Rule::named("?"), OwnedRule::as_rule)
    }

    /// The name of the domain level with this number; `?` if there is none.
    pub fn level(&self, level: u8) -> &str {
        self.levels.get(usize::from(level)).map_or("?", String::as_str)
    }

    /// The rule of placement with this number; its name is `?` if there is none.
    pub fn rule(&self, rule: u16) -> Rule<'_> {
        self.rules.get(usize::from(rule)).map_or(Rule::named("?"), OwnedRule::as_rule)
    }

    /// A reason as text.
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

/// Inserts a number where a text names it: `{a}`, or `{a:task}` for `1 task` and `2 tasks`.
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

//! The rules of `policy/rules.h`, `policy/balance_rules.h` and `policy/pick_rules.h`, by number and by name.

use fairground_sim::Rule;

use crate::ffi::{BALANCE_RULES, PICK_RULES, RULES};

/// The rules of placement, by number.
pub fn rules() -> &'static [Rule<'static>] {
    &RULES
}

/// The rules of balancing, by number.
pub fn balance_rules() -> &'static [Rule<'static>] {
    &BALANCE_RULES
}

/// The rules of picks, of tests of wakeups and of ends of slices, by number.
pub fn pick_rules() -> &'static [Rule<'static>] {
    &PICK_RULES
}

/// The name of a rule of a pick, e.g. `earliest`.
pub fn pick_rule_name(rule: u32) -> &'static str {
    numbered(&PICK_RULES, rule).name
}

/// The name of a rule in a verdict, e.g. `A2`.
pub fn rule_name(rule: u32) -> &'static str {
    numbered(&RULES, rule).name
}

/// As people read the rule of placement with this name, see [`Rule::title`]; the name itself if there is none.
pub fn rule_title(name: &str) -> String {
    title(&RULES, name)
}

/// The same of a rule of balancing.
pub fn balance_rule_title(name: &str) -> String {
    title(&BALANCE_RULES, name)
}

/// The same of a rule of a pick, of the test of a wakeup, or of the end of a slice.
pub fn pick_rule_title(name: &str) -> String {
    title(&PICK_RULES, name)
}

/// A rule by its number in a table.
pub(crate) fn numbered(table: &'static [Rule<'static>], rule: u32) -> Rule<'static> {
    table.get(rule as usize).copied().unwrap_or(Rule::named("unknown"))
}

fn title(table: &[Rule], name: &str) -> String {
    table.iter().find(|rule| rule.name == name).map_or_else(|| name.to_owned(), Rule::title)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_every_rule_has_all_words() {
        for table in [rules(), balance_rules(), pick_rules()] {
            let names: BTreeSet<&str> = table.iter().map(|rule| rule.name).collect();
            assert_eq!(names.len(), table.len());
            for rule in table {
                assert!(![rule.function, rule.label, rule.text].contains(&""), "{rule:?}");
                assert!(!rule.label.contains(['=', ':', '(']), "{rule:?}");
            }
        }
    }

    /// A5 comes after the known CPUs, B1 before them.
    #[test]
    fn searches_of_different_order_are_told_apart() {
        let find = |name| *rules().iter().find(|rule| rule.name == name).unwrap();
        let (before, after) = (find("B1"), find("A5"));
        assert_eq!(before.function, after.function);
        assert_ne!(before.label, after.label);
        assert_ne!(before.text, after.text);
        assert_eq!(rule_title("A2"), "select_idle_sibling: previous CPU (A2)");
        assert_eq!(rule_title("x"), "x");
        assert_eq!(balance_rule_title("spare"), "find_busiest_group: group_has_spare (spare)");
    }
}

//! What a scheduler calls the rules by which it decides.

/// A rule of placement or of balancing: one way in which a function of the scheduler ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rule<'a> {
    /// Short id, e.g. `A2`: what traces and JSON hold, for programs to read.
    pub name: &'a str,
    /// The kernel function that decides, e.g. `select_idle_sibling`; empty for none.
    pub function: &'a str,
    /// Which exit of the function it is, in a few words, e.g. `previous CPU`; empty for none.
    pub label: &'a str,
    /// Its condition in full, as a clause; empty for none.
    pub text: &'a str,
}

impl<'a> Rule<'a> {
    /// A rule of which only the name is known.
    pub fn named(name: &'a str) -> Rule<'a> {
        Rule { name, ..Rule::default() }
    }

    /// As people read it: `select_idle_sibling: previous CPU (A2)`; the name alone where nothing else is known.
    pub fn title(&self) -> String {
        let Rule { name, function, label, .. } = self;
        match (function.is_empty(), label.is_empty()) {
            (true, true) => (*name).to_owned(),
            (true, false) => format!("{label} ({name})"),
            (false, true) => format!("{function} ({name})"),
            (false, false) => format!("{function}: {label} ({name})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_begins_with_the_function() {
        let rule = Rule { name: "A2", function: "select_idle_sibling", label: "previous CPU", text: "it is idle" };
        assert_eq!(rule.title(), "select_idle_sibling: previous CPU (A2)");
        assert_eq!(Rule { label: "", ..rule }.title(), "select_idle_sibling (A2)");
        assert_eq!(Rule { function: "", ..rule }.title(), "previous CPU (A2)");
        assert_eq!(Rule::named("A2").title(), "A2");
    }
}

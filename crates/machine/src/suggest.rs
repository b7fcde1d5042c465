//! "Did you mean": the one home of suggestions for names that do not exist, whatever they name.

use std::borrow::Cow;

/// The longest name that gets a suggestion, bytes: comparing a longer one would take too long.
const LONGEST: usize = 64;

/// Characters of the shortest beginning of a name that stands for it.
const ABBREVIATED: usize = 3;

/// The valid name nearest to `name`, if one is near enough to be meant: by one edit; or the shortest that begins with
/// `name`, if that has three characters; or by more edits, one for each three characters beside the first, if the names
/// begin alike or the other has `name` within. An edit inserts, removes or replaces a character, or swaps two neighbours; case does not count. Of
/// several equally near the first.
pub fn nearest<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    let length = name.chars().count();
    let edits_max = 1 + length / 3;
    let distance = |other: &str| {
        let (other, longer) = (other.to_lowercase(), other.chars().count().abs_diff(length));
        let edits = if longer <= edits_max { strsim::damerau_levenshtein(&name, &other) } else { usize::MAX };
        match edits {
            0 | 1 => Some((0, edits)),
            _ if length >= ABBREVIATED && longer <= LONGEST && other.starts_with(&name) => Some((1, longer)),
            _ => (edits <= edits_max && are_alike(&name, &other)).then_some((2, edits)),
        }
    };
    let near = valid.into_iter().filter_map(|other| Some((distance(other)?, other)));
    near.min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

/// Whether `other` begins as `name` does, or has it within.
fn are_alike(name: &str, other: &str) -> bool {
    name.chars().next() == other.chars().next() || other.contains(name)
}

/// `did you mean X? ` where a name is near, and `expected` with the list of what is valid.
pub fn suggest<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> String {
    suggest_from(name, "expected", valid)
}

/// The same with other words than `expected` before the list, such as `the tasks are:`.
pub fn suggest_from<'a>(name: &str, words: &str, valid: impl IntoIterator<Item = &'a str>) -> String {
    let valid: Vec<&str> = valid.into_iter().collect();
    let list: Cow<str> = match valid.is_empty() {
        true => "nothing is expected here".into(),
        false => format!("{words} {}", valid.join(", ")).into(),
    };
    match nearest(name, valid) {
        Some(near) => format!("did you mean `{near}`? {list}"),
        None => list.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_near_by_the_edits_that_a_slip_makes() {
        let metrics = ["ops_per_sec", "energy_j", "idle_cut"];
        assert_eq!(nearest("ops_per_sce", metrics), Some("ops_per_sec"));
        assert_eq!(nearest("Energy", metrics), Some("energy_j"));
        assert_eq!(nearest("idle_cuts", metrics), Some("idle_cut"));
        assert_eq!(nearest("zzz", metrics), None);
        assert_eq!(nearest("", metrics), None);
        assert_eq!(nearest("", ["x"]), Some("x"));
        assert_eq!(nearest("ab", ["abcd", "abc", "abd"]), Some("abc"));
    }

    /// One edit and a third of the length: the bound itself is near, one more is not.
    #[test]
    fn longer_names_may_differ_in_more() {
        assert_eq!(nearest("abcxyz", ["abc"]), Some("abc"));
        assert_eq!(nearest("abcwxyz", ["abc"]), None);
        assert_eq!(nearest("yaml", ["amd"]), None);
    }

    #[test]
    fn the_beginning_of_a_name_is_near_it() {
        let features = ["asym-prio", "asym-prev-first-wide", "asym-prev-first"];
        assert_eq!(nearest("asym-prev", features), Some("asym-prev-first"));
        assert_eq!(nearest("asym-prip", features), Some("asym-prio"));
        assert_eq!(nearest("ASYM-PREV-F", features), Some("asym-prev-first"));
        assert_eq!(nearest("as", ["asym-prev-first"]), None);
    }

    #[test]
    fn what_is_too_long_for_a_typo_is_not_compared() {
        let (name, long) = ("x".repeat(LONGEST), "x".repeat(1 << 20));
        assert_eq!(nearest(&name, [long.as_str()]), None);
        assert_eq!(nearest(&name, [name.as_str()]), Some(name.as_str()));
        let longer = name.clone() + "x";
        assert_eq!(nearest(&longer, [longer.as_str()]), None);
    }

    #[test]
    fn the_list_follows_the_suggestion() {
        assert_eq!(suggest("hz", ["hz", "khz"]), "did you mean `hz`? expected hz, khz");
        assert_eq!(suggest("volt", ["hz", "khz"]), "expected hz, khz");
        assert_eq!(suggest("volt", []), "nothing is expected here");
        assert_eq!(suggest_from("lop", "the phases are:", ["loop"]), "did you mean `loop`? the phases are: loop");
    }
}

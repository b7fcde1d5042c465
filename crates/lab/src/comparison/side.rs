//! Settings and name of each side of a comparison.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// Settings with their values, in the order in which they are shown: `machine`, `workload`, `sched`, then those of
/// [`fairground_run::run_config::SETTINGS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(Vec<(&'static str, String)>);

impl Settings {
    /// A machine, a workload and a scheduler, by their names.
    pub fn new(machine: &str, workload: &str, sched: &str) -> Settings {
        Settings(vec![("machine", machine.into()), ("workload", workload.into()), ("sched", sched.into())])
    }

    /// Adds a setting at the end.
    pub fn push(&mut self, name: &'static str, value: String) {
        self.0.push((name, value));
    }

    /// The value of a setting; `None` if it is not among these.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    fn without(&self, names: &[&str]) -> Settings {
        Settings(self.0.iter().filter(|(name, _)| !names.contains(name)).cloned().collect())
    }

    /// The named settings as a side is typed: the scheduler, then `NAME=VALUE`, with spaces between.
    fn typed(&self, names: &[&str]) -> String {
        let sched = self.get("sched").filter(|_| names.contains(&"sched")).map(str::to_owned);
        let others = self.0.iter().filter(|(name, _)| *name != "sched" && names.contains(name));
        let words: Vec<String> =
            sched.into_iter().chain(others.map(|(name, value)| format!("{name}={value}"))).collect();
        words.join(" ")
    }
}

/// Serializes the settings as an object, in this order.
impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut object = to.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, value)| object.serialize_entry(name, value))?;
        object.end()
    }
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The settings by which the sides differ, as typed: `fair:v5.9`, `governor=schedutil`. The scheduler if all
    /// settings are the same.
    pub name: String,
    /// All settings of the side.
    pub settings: Settings,
}

#[cfg(test)]
impl From<&str> for Side {
    /// A side with this scheduler, for tests.
    fn from(sched: &str) -> Side {
        Side { name: sched.into(), settings: Settings::new("m", "w", sched) }
    }
}

/// Names each side by the settings that differ between sides. Returns the settings that are the same in all sides, too.
pub(crate) fn name_sides(all: &[Settings]) -> (Vec<Side>, Settings) {
    let Some(first) = all.first() else { return (Vec::new(), Settings::default()) };
    let differ = |name: &&str| all.iter().any(|side| side.get(name) != first.get(name));
    let mut names: Vec<&str> = first.0.iter().map(|(name, _)| *name).filter(differ).collect();
    if names.is_empty() {
        names.push("sched");
    }
    let side = |settings: &Settings| Side { name: settings.typed(&names), settings: settings.clone() };
    (all.iter().map(side).collect(), first.without(&names))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(sched: &str, governor: &str) -> Settings {
        let mut settings = Settings::new("hikey960", "sched-pipe", sched);
        settings.push("governor", governor.into());
        settings
    }

    fn named(all: &[Settings]) -> (Vec<String>, Option<String>) {
        let (sides, common) = name_sides(all);
        assert_eq!(common.get("machine"), Some("hikey960"));
        (sides.into_iter().map(|side| side.name).collect(), common.get("sched").map(str::to_owned))
    }

    #[test]
    fn sides_are_named_by_what_differs() {
        let [a, b] = ["fair:v5.9", "fair:v6.12"];
        let [slow, fast] = ["powersave", "performance"];
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(named(&[settings(a, fast), settings(b, fast)]), (names(&[a, b]), None));
        assert_eq!(
            named(&[settings(a, fast), settings(a, slow)]),
            (names(&["governor=performance", "governor=powersave"]), Some(a.into()))
        );
        assert_eq!(
            named(&[settings(a, fast), settings(a, slow), settings(b, fast)]).0,
            names(&[
                "fair:v5.9 governor=performance",
                "fair:v5.9 governor=powersave",
                "fair:v6.12 governor=performance"
            ])
        );
        assert_eq!(named(&[settings(a, fast), settings(a, fast)]), (names(&[a, a]), None));
    }
}

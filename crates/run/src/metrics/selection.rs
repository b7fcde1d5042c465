//! The selection of figures that a table shows.

use std::fmt;
use std::str::FromStr;

use miette::Diagnostic;
use thiserror::Error;

use super::metric::Metric;
use fairground_machine::nearest;

/// A selection of figures: `usual`, `all`, or names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The metrics that tables show by default; they fit a screen.
    Usual,
    /// All that the run reports.
    All,
    /// The metrics of these names.
    Names(Vec<String>),
}

/// A metric that runs do not report.
#[derive(Clone, Debug, Error, Diagnostic, PartialEq, Eq)]
#[error("--metrics: this machine and workload do not report metric {metric:?}")]
#[diagnostic(help("{help}"))]
pub struct SelectionError {
    metric: String,
    /// The most similar name, if there is one, and what prints all.
    help: String,
}

/// Help on a metric that is not one of `known`, which are too many to print: the nearest name, and what prints all.
pub fn help_on_metric<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(name, known).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
    format!("{near}`fairground run MACHINE WORKLOAD --sched SCHED --metrics all` prints all names and what they mean")
}

impl FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Selection, String> {
        match text {
            "usual" => Ok(Selection::Usual),
            "all" => Ok(Selection::All),
            _ => {
                let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
                match names.iter().any(String::is_empty) {
                    true => Err("expected usual, all, or names of metrics with commas between".into()),
                    false => Ok(Selection::Names(names)),
                }
            }
        }
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selection::Usual => f.write_str("usual"),
            Selection::All => f.write_str("all"),
            Selection::Names(names) => f.write_str(&names.join(",")),
        }
    }
}

/// Names of the figures to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected(Vec<String>);

impl Selection {
    /// The selected names, for runs that report `metrics`, of which `usual` are usual.
    ///
    /// # Errors
    /// If they do not report a name; the error has the nearest name.
    pub fn among(&self, metrics: &[Metric], usual: Vec<String>) -> Result<Selected, SelectionError> {
        let known = || metrics.iter().map(|m| m.name.as_str());
        match self {
            Selection::Usual => Ok(Selected(usual)),
            Selection::All => Ok(Selected(known().map(str::to_owned).collect())),
            Selection::Names(names) => match names.iter().find(|name| known().all(|k| k != **name)) {
                None => Ok(Selected(names.clone())),
                Some(metric) => Err(SelectionError { metric: metric.clone(), help: help_on_metric(metric, known()) }),
            },
        }
    }
}

impl Selected {
    /// Adds a name, unless it is selected already.
    pub fn with(mut self, name: &str) -> Selected {
        if !self.has(name) {
            self.0.push(name.to_owned());
        }
        self
    }

    /// Keeps the names of which `keep` is true.
    pub fn only(mut self, keep: impl Fn(&str) -> bool) -> Selected {
        self.0.retain(|name| keep(name));
        self
    }

    /// Names of the selected metrics.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Whether a name is selected.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|n| n == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Better;

    fn metrics() -> Vec<Metric> {
        let metric = |name: &str| Metric::new(name, "count", Better::Lower, "");
        ["energy_j", "idle_cut", "migrations"].map(metric).into()
    }

    fn shown(text: &str) -> Result<Vec<String>, SelectionError> {
        let selected = text.parse::<Selection>().unwrap().among(&metrics(), vec!["energy_j".into()])?;
        Ok(metrics().into_iter().map(|m| m.name).filter(|name| selected.has(name)).collect())
    }

    #[test]
    fn usual_all_or_by_name() {
        assert_eq!(shown("usual").unwrap(), ["energy_j"]);
        assert_eq!(shown("all").unwrap(), ["energy_j", "idle_cut", "migrations"]);
        assert_eq!(shown("migrations, idle_cut").unwrap(), ["idle_cut", "migrations"]);
        assert!("a,,b".parse::<Selection>().is_err());
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest() {
        let error = shown("idle_cut,migration").unwrap_err();
        assert_eq!(error.metric, "migration");
        assert!(error.help.starts_with("did you mean migrations?"), "{}", error.help);
    }
}

//! Names of schedulers as typed: `fair:PRESET+feature-feature`.

use std::fmt;
use std::str::FromStr;

use miette::Diagnostic;
use thiserror::Error;

/// A scheduler under test, as typed and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedSpec {
    /// What stands after `fair:`.
    features: String,
}

/// Why a scheduler's name is not understood.
#[derive(Clone, Debug, Error, Diagnostic, PartialEq, Eq)]
pub enum SpecError {
    /// No `fair:` in front.
    #[error("scheduler {0:?} does not say whose it is")]
    #[diagnostic(help("write fair:PRESET or fair:PRESET+feature-feature, for example fair:v5.9+asym-prev-first"))]
    NoFamily(String),
    /// Something else in front.
    #[error("scheduler {text:?}: there is no family {family:?}")]
    #[diagnostic(help("{hint}"))]
    UnknownFamily {
        /// As typed.
        text: String,
        /// What stands before the colon.
        family: String,
        /// What to write instead.
        hint: String,
    },
    /// The real kernel.
    #[error("scheduler {0:?}: the real kernel's scheduler cannot be run yet")]
    #[diagnostic(help("our own scheduler is fair:PRESET, for example fair:v5.9"))]
    LinuxNotYet(String),
    /// The preset or a feature.
    #[error("scheduler {text:?}: {problem}")]
    #[diagnostic(help("fairground feature list shows presets and features"))]
    Features {
        /// As typed.
        text: String,
        /// What the scheduler says.
        problem: String,
    },
}

impl FromStr for SchedSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<SchedSpec, SpecError> {
        let Some((family, rest)) = text.split_once(':') else {
            return Err(SpecError::NoFamily(text.into()));
        };
        match family {
            "fair" => Ok(SchedSpec { features: rest.into() }),
            "linux" => Err(SpecError::LinuxNotYet(text.into())),
            _ => Err(SpecError::UnknownFamily {
                text: text.into(),
                family: family.into(),
                hint: format!("write fair:{rest}"),
            }),
        }
    }
}

impl fmt::Display for SchedSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fair:{}", self.features)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_prints_as_typed() {
        let spec: SchedSpec = "fair:v5.9+asym-prev-first".parse().unwrap();
        assert_eq!(spec.to_string(), "fair:v5.9+asym-prev-first");
    }

    #[test]
    fn linux_is_refused_by_name() {
        let error = "linux:v6.12".parse::<SchedSpec>().unwrap_err();
        assert_eq!(error, SpecError::LinuxNotYet("linux:v6.12".into()));
    }

    #[test]
    fn other_names_are_not_guessed() {
        assert!(matches!("v5.9".parse::<SchedSpec>(), Err(SpecError::NoFamily(_))));
        assert!(matches!("fare:v5.9".parse::<SchedSpec>(), Err(SpecError::UnknownFamily { .. })));
    }
}

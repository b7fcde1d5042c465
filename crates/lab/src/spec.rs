//! Names of schedulers as typed: `fair:PRESET+feature-feature`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use fairground_fair::{Fair, FairError, Features, Options};
use fairground_machine::Machine;
use fairground_sim::Scheduler;
use miette::Diagnostic;
use thiserror::Error;

/// A scheduler under test, as typed and checked.
#[derive(Clone)]
pub struct SchedSpec {
    text: String,
    features: Features,
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
    #[error(transparent)]
    #[diagnostic(transparent)]
    Fair(#[from] FairError),
}

impl FromStr for SchedSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<SchedSpec, SpecError> {
        let Some((family, rest)) = text.split_once(':') else {
            return Err(SpecError::NoFamily(text.into()));
        };
        match family {
            "fair" => Ok(SchedSpec { text: text.into(), features: Features::parse(text)? }),
            "linux" => Err(SpecError::LinuxNotYet(text.into())),
            _ => Err(SpecError::UnknownFamily {
                text: text.into(),
                family: family.into(),
                hint: format!("write fair:{rest}"),
            }),
        }
    }
}

impl SchedSpec {
    /// A fresh instance for one run on `machine`.
    ///
    /// # Errors
    /// If the scheduler cannot serve this machine.
    pub fn build(&self, machine: &Arc<Machine>) -> Result<Box<dyn Scheduler>, FairError> {
        Ok(Box::new(Fair::new(Arc::clone(machine), self.features.clone(), Options::default())?))
    }
}

impl fmt::Display for SchedSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> SpecError {
        text.parse::<SchedSpec>().err().expect("refused")
    }

    #[test]
    fn a_scheduler_prints_as_typed() {
        let spec: SchedSpec = "fair:v5.9+asym-prev-first".parse().unwrap();
        assert_eq!(spec.to_string(), "fair:v5.9+asym-prev-first");
    }

    #[test]
    fn linux_is_refused_by_name() {
        assert_eq!(refused("linux:v6.12"), SpecError::LinuxNotYet("linux:v6.12".into()));
    }

    #[test]
    fn other_names_are_not_guessed() {
        assert!(matches!(refused("v5.9"), SpecError::NoFamily(_)));
        assert!(matches!(refused("fare:v5.9"), SpecError::UnknownFamily { .. }));
        assert!(matches!(refused("fair:v5.9+asym-prev-frist"), SpecError::Fair(_)));
    }
}

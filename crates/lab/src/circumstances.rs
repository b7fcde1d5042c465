//! What runs happen under besides machine, workload and schedulers; and how all of it is looked up by name.

use std::sync::Arc;

use fairground_machine::{Machine, MachineError, MachineSpec};
use fairground_sim::{ClampLimits, Config, Governor, IdleGovernor};
use fairground_workload::{Warning, WarningKind, Workload, WorkloadError};
use miette::Diagnostic;
use thiserror::Error;

use crate::fit::{self, Misfit};
use crate::setup::Setup;
use crate::spec::{SchedSpec, SpecError};
use crate::worker::Workers;

/// Circumstances, as asked for.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// Ticks per second: 100, 250, 300 or 1000; none: a kernel's own, else the default of [`Config`].
    pub hz: Option<u32>,
    /// Who chooses frequencies.
    pub governor: Governor,
    /// Who chooses idle states.
    pub idle: IdleGovernor,
    /// Limits of utilization clamps.
    pub clamps: ClampLimits,
    /// Temperature around the machine, thousandths of a degree Celsius; none: the machine file's.
    pub ambient_mc: Option<i32>,
}

impl Default for Circumstances {
    fn default() -> Self {
        let Config { governor, idle, clamps, ambient_mc, .. } = Config::default();
        Circumstances { hz: None, governor, idle, clamps, ambient_mc }
    }
}

/// Why there is nothing to run.
#[derive(Debug, Error, Diagnostic)]
pub enum SetupError {
    /// The machine.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Machine(#[from] MachineError),
    /// The workload.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Workload(#[from] WorkloadError),
    /// A workload that no run can finish. The warning says where, and what to do.
    #[error("{0}")]
    NeverEnds(Warning),
    /// A scheduler's name.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Spec(#[from] SpecError),
    /// A built kernel that cannot take part.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Misfit(#[from] Misfit),
    /// Limits that the kernel does not take either.
    #[error("sched_util_clamp_min is {min}, above sched_util_clamp_max, which is {max}")]
    #[diagnostic(help("set both: --sysctl sched_util_clamp_min={max} --sysctl sched_util_clamp_max={max}"))]
    LimitsCross {
        /// The lower.
        min: u16,
        /// The upper.
        max: u16,
    },
}

/// What was found, and what must be said of it.
pub type Found = (Setup, Vec<String>);

impl Circumstances {
    /// Looks machine, workload and schedulers up. A workload that would never end is refused, instead of failing after
    /// an hour of virtual time; other warnings are given back.
    ///
    /// # Errors
    /// The first thing that is not understood or does not fit.
    pub fn find(&self, machine: &str, workload: &str, scheds: &[String]) -> Result<Found, SetupError> {
        let (machine, cpus) = MachineSpec::of(machine).find()?;
        let (workload, warnings) = Workload::find_bound(workload, &machine, cpus.as_ref())?;
        let said = endless_refused(warnings)?;
        let (setup, more) = self.setup(machine, workload, scheds)?;
        Ok((setup, [said, more].concat()))
    }

    /// Looks schedulers up, for a machine and a workload that have been found.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn setup(&self, machine: Machine, workload: Workload, scheds: &[String]) -> Result<Found, SetupError> {
        let scheds = scheds.iter().map(|s| s.parse()).collect::<Result<Vec<SchedSpec>, _>>()?;
        fit::size(&scheds, &machine)?;
        let cold = self.ambient_mc.is_some() && machine.thermal.is_none();
        let said = cold.then(|| format!("{} has no thermal figures: --ambient is of no consequence", machine.name));
        let config = self.config(fit::hz(&scheds, self.hz)?)?;
        let (machine, workload) = (Arc::new(machine), Arc::new(workload));
        Ok((Setup { machine, workload, scheds, config, workers: Workers::default() }, said.into_iter().collect()))
    }

    fn config(&self, hz: u32) -> Result<Config, SetupError> {
        let Circumstances { governor, idle, clamps, ambient_mc, .. } = *self;
        match clamps.min > clamps.max {
            true => Err(SetupError::LimitsCross { min: clamps.min, max: clamps.max }),
            false => Ok(Config { hz, governor, idle, clamps, ambient_mc, ..Config::default() }),
        }
    }
}

/// The warnings in words.
///
/// # Errors
/// One that says that the workload never ends.
pub fn endless_refused(warnings: Vec<Warning>) -> Result<Vec<String>, SetupError> {
    let word = |warning: Warning| match warning.kind {
        WarningKind::NeverEnds => Err(SetupError::NeverEnds(warning)),
        _ => Ok(warning.to_string()),
    };
    warnings.into_iter().map(word).collect()
}

/// What is not as by default in the circumstances of runs, for the notes of a report.
pub fn notes(config: &Config) -> Vec<String> {
    let mut notes = Vec::new();
    if config.hz != Config::default().hz {
        notes.push(format!("hz: {}", config.hz));
    }
    match config.governor {
        Governor::Performance => {}
        Governor::Powersave => notes.push("governor: powersave".into()),
        Governor::Schedutil => notes.push("governor: schedutil".into()),
    }
    if config.idle == IdleGovernor::Teo {
        notes.push("idle governor: teo".into());
    }
    notes.extend(config.clamps.changed().map(|(name, value)| format!("sysctl: {name}={value}")));
    if let Some(mc) = config.ambient_mc {
        notes.push(format!("ambient: {} C", f64::from(mc) / 1e3));
    }
    notes
}

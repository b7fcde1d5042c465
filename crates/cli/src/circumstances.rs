//! Options that several commands share.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use fairground_machine::Machine;
use fairground_run::experiment::Experiment;
use fairground_run::run_config::{ExperimentAndNotes, RunConfig};
use fairground_sim::{ClampLimits, Governor, IdleGovernor};
use fairground_workload::Workload;

use crate::error::Failure;
use crate::output::complain;

/// Circumstances of runs.
#[derive(Args, Clone, Debug)]
pub struct Circumstances {
    /// Ticks per second [default: a linux: scheduler's own, else 250]
    #[arg(long, value_parser = parse_hz)]
    hz: Option<u32>,
    /// Who chooses frequencies
    #[arg(long, value_enum, default_value_t)]
    governor: GovernorName,
    /// Who chooses idle states
    #[arg(long, value_enum, default_value_t)]
    idle_governor: IdleGovernorName,
    /// Limits of utilization clamps, 0 to 1024: sched_util_clamp_min, sched_util_clamp_max,
    /// sched_util_clamp_min_rt_default; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_sysctl)]
    sysctl: Vec<(&'static str, u16)>,
    /// Temperature around the machine, degrees Celsius [default: the machine file's]; the machine begins as much hotter
    /// than that as its file says
    #[arg(long, value_name = "C", value_parser = parse_ambient, allow_negative_numbers = true)]
    ambient: Option<i32>,
}

fn parse_sysctl(text: &str) -> Result<(&'static str, u16), String> {
    let known = || format!("expected NAME=VALUE with one of {}", ClampLimits::NAMES.join(", "));
    let (name, value) = text.split_once('=').ok_or_else(known)?;
    let name = name.strip_prefix("kernel.").unwrap_or(name);
    let name = ClampLimits::NAMES.into_iter().find(|n| *n == name).ok_or_else(known)?;
    match value.parse() {
        Ok(value @ 0..=1024) => Ok((name, value)),
        _ => Err(format!("{name}: expected 0 to 1024")),
    }
}

/// Degrees as thousandths.
fn parse_ambient(text: &str) -> Result<i32, String> {
    match text.parse::<f64>() {
        Ok(celsius) if (-40.0..=100.0).contains(&celsius) => Ok((celsius * 1e3).round() as i32),
        _ => Err("expected -40 to 100 degrees Celsius".into()),
    }
}

/// Ticks per second, as typed.
pub fn parse_hz(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(hz @ (100 | 250 | 300 | 1000)) => Ok(hz),
        _ => Err("expected 100, 250, 300 or 1000, as kernels are configured".into()),
    }
}

/// As typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GovernorName {
    /// Every clock at its top
    #[default]
    Performance,
    /// Every clock at its bottom
    Powersave,
    /// The kernel's own, driven by the scheduler
    Schedutil,
}

/// As typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum IdleGovernorName {
    /// By the pattern of past sleeps and the next timer, as menu of Linux 5.4 to 6.11
    #[default]
    Menu,
    /// By the next timer unless sleeps were mostly cut before it, as teo of Linux 6.12
    Teo,
}

impl From<GovernorName> for Governor {
    fn from(name: GovernorName) -> Governor {
        match name {
            GovernorName::Performance => Governor::Performance,
            GovernorName::Powersave => Governor::Powersave,
            GovernorName::Schedutil => Governor::Schedutil,
        }
    }
}

impl Circumstances {
    /// The circumstances of `governor`, all else by default.
    pub fn with_governor(governor: GovernorName) -> Circumstances {
        let idle_governor = IdleGovernorName::default();
        Circumstances { hz: None, governor, idle_governor, sysctl: Vec::new(), ambient: None }
    }

    /// As the library takes them.
    fn asked(&self) -> RunConfig {
        let idle = match self.idle_governor {
            IdleGovernorName::Menu => IdleGovernor::Menu,
            IdleGovernorName::Teo => IdleGovernor::Teo,
        };
        let mut clamps = ClampLimits::default();
        for (name, value) in &self.sysctl {
            clamps.get_mut(name).into_iter().for_each(|limit| *limit = *value);
        }
        RunConfig { hz: self.hz, governor: self.governor.into(), idle, clamps, ambient_mc: self.ambient }
    }

    /// Looks machine, workload and schedulers up. Warnings go to standard error.
    pub fn experiment(&self, machine: &str, workload: &str, scheds: &[String]) -> Result<Experiment, Failure> {
        Ok(warned(self.asked().find(machine, workload, scheds)?))
    }

    /// Looks schedulers up, for a machine and a workload that have been found.
    pub fn experiment_of(
        &self,
        machine: Machine,
        workload: Workload,
        scheds: &[String],
    ) -> Result<Experiment, Failure> {
        Ok(warned(self.asked().experiment(machine, workload, scheds)?))
    }
}

/// The experiment; its warnings go to standard error.
pub fn warned((experiment, warnings): ExperimentAndNotes) -> Experiment {
    warnings.iter().for_each(|warning| complain(&format!("warning: {warning}")));
    experiment
}

/// Threads to run on.
#[derive(Args, Clone, Debug)]
pub struct Jobs {
    /// Threads to run on; results do not depend on it [default: all CPUs]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

impl Jobs {
    /// As asked for, or as many as the machine has CPUs.
    pub fn count(&self) -> usize {
        let default = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.jobs.map_or_else(default, NonZeroUsize::get)
    }
}

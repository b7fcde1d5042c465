//! Options that several commands share, and what is looked up by name.

use std::num::NonZeroUsize;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use fairground_lab::fit;
use fairground_lab::setup::Setup;
use fairground_lab::spec::SchedSpec;
use fairground_lab::worker::Workers;
use fairground_machine::{Machine, MachineSpec};
use fairground_sim::{ClampLimits, Config, Governor, IdleGovernor};
use fairground_workload::{Warning, WarningKind, Workload};
use miette::Diagnostic;
use thiserror::Error;

use crate::error::Failure;
use crate::output::complain;

/// A workload that no run can finish. The warning says where, and what to do.
#[derive(Debug, Error, Diagnostic)]
#[error("{0}")]
struct NeverEnds(Warning);

/// Limits that the kernel does not take either.
#[derive(Debug, Error, Diagnostic)]
#[error("sched_util_clamp_min is {min}, above sched_util_clamp_max, which is {max}")]
#[diagnostic(help("set both: --sysctl sched_util_clamp_min={max} --sysctl sched_util_clamp_max={max}"))]
struct LimitsCross {
    min: u16,
    max: u16,
}

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

    fn config(&self, hz: u32) -> Result<Config, LimitsCross> {
        let governor = self.governor.into();
        let idle = match self.idle_governor {
            IdleGovernorName::Menu => IdleGovernor::Menu,
            IdleGovernorName::Teo => IdleGovernor::Teo,
        };
        Ok(Config { hz, governor, idle, clamps: self.clamps()?, ambient_mc: self.ambient, ..Config::default() })
    }

    fn clamps(&self) -> Result<ClampLimits, LimitsCross> {
        let mut limits = ClampLimits::default();
        for (name, value) in &self.sysctl {
            limits.get_mut(name).into_iter().for_each(|limit| *limit = *value);
        }
        match limits.min > limits.max {
            true => Err(LimitsCross { min: limits.min, max: limits.max }),
            false => Ok(limits),
        }
    }

    /// Looks machine, workload and schedulers up. Warnings go to standard error; a workload that would never end is
    /// refused, instead of failing after an hour of virtual time.
    pub fn setup(&self, machine: &str, workload: &str, scheds: &[String]) -> Result<Setup, Failure> {
        let (machine, cpus) = MachineSpec::of(machine).find()?;
        let (workload, warnings) = Workload::find_bound(workload, &machine, cpus.as_ref())?;
        for warning in warnings {
            match warning.kind {
                WarningKind::NeverEnds => return Err(NeverEnds(warning).into()),
                _ => complain(&format!("warning: {warning}")),
            }
        }
        self.setup_of(machine, workload, scheds)
    }

    /// Looks schedulers up, for a machine and a workload that have been found.
    pub fn setup_of(&self, machine: Machine, workload: Workload, scheds: &[String]) -> Result<Setup, Failure> {
        let scheds = scheds.iter().map(|s| s.parse()).collect::<Result<Vec<SchedSpec>, _>>()?;
        fit::size(&scheds, &machine)?;
        if self.ambient.is_some() && machine.thermal.is_none() {
            complain(&format!("warning: {} has no thermal figures: --ambient is of no consequence", machine.name));
        }
        let config = self.config(fit::hz(&scheds, self.hz)?)?;
        Ok(Setup {
            machine: Arc::new(machine),
            workload: Arc::new(workload),
            scheds,
            config,
            workers: Workers::default(),
        })
    }
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

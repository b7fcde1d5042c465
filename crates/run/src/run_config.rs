//! The settings of runs besides machine, workload and schedulers; and the lookup of all of these by name.

mod setting;

use std::sync::Arc;

use fairground_machine::{Draw, Machine, MachineError, MachineSpec};
use fairground_sim::{ClampLimits, Config, Governor, IdleGovernor, NoSuchClock};
use fairground_workload::{Warning, WarningKind, Workload, WorkloadError};
use miette::Diagnostic;
use serde_json::Value;
use thiserror::Error;

pub use self::setting::{governor, idle_limit_us, InvalidSetting, Setting, SETTINGS};
use crate::experiment::Experiment;
use crate::kernel_compat::{self, Incompatible};
use crate::sched_spec::{SchedSpec, SchedSpecError};
use crate::worker::Workers;

/// Settings of runs that the user can change: tick rate, governors, utilization clamps and temperature.
#[derive(Clone, Copy, Debug)]
pub struct RunConfig {
    /// Ticks per second: 100, 250, 300 or 1000; `None`: a kernel's CONFIG_HZ, else the default of [`Config`].
    pub hz: Option<u32>,
    /// The cpufreq governor.
    pub governor: Governor,
    /// The cpuidle governor.
    pub idle: IdleGovernor,
    /// Longest exit latency of idle states that are used, ns; `None`: all are.
    pub idle_limit_ns: Option<u64>,
    /// System-wide limits of utilization clamps (the sysctls `sched_util_clamp_*`).
    pub clamps: ClampLimits,
    /// Ambient temperature, thousandths of a degree Celsius; `None`: that of the machine file.
    pub ambient_mc: Option<i32>,
    /// Which draw of the figures in doubt of machine and workload runs are made on; 0: as they are stated.
    pub draw: u64,
}

impl Default for RunConfig {
    fn default() -> Self {
        let Config { governor, idle, clamps, ambient_mc, draw, .. } = Config::default();
        RunConfig { hz: None, governor, idle, idle_limit_ns: None, clamps, ambient_mc, draw }
    }
}

/// Why there is no experiment.
#[derive(Debug, Error, Diagnostic)]
pub enum ExperimentError {
    /// The machine is unknown or invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Machine(#[from] MachineError),
    /// The workload is unknown, invalid, or does not fit the machine.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Workload(#[from] WorkloadError),
    /// The workload would never end. The warning names the place and the remedy.
    #[error("{0}")]
    NeverEnds(Warning),
    /// A scheduler is unknown, or cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Spec(#[from] SchedSpecError),
    /// A built kernel does not fit.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Incompatible(#[from] Incompatible),
    /// The machine lacks a clock that the userspace governor is to set.
    #[error("governor userspace: {problem}")]
    #[diagnostic(help("{help}"))]
    NoSuchClock {
        /// Names the CPUs and the clock.
        problem: String,
        /// The nearest clock, and all.
        help: String,
    },
    /// The lower limit is above the upper limit; Linux refuses this too.
    #[error("sched_util_clamp_min is {min}, above sched_util_clamp_max, which is {max}")]
    #[diagnostic(help("set both: --sysctl sched_util_clamp_min={max} --sysctl sched_util_clamp_max={max}"))]
    LimitsCross {
        /// The requested `sched_util_clamp_min`, 0 to 1024.
        min: u16,
        /// The requested `sched_util_clamp_max`, 0 to 1024.
        max: u16,
    },
}

/// An experiment, and the warnings about it.
pub type ExperimentAndNotes = (Experiment, Vec<String>);

impl RunConfig {
    /// Sets the setting of this name ([`SETTINGS`]) from text: `hz` (ticks per second), `governor`, `idle_governor`,
    /// `idle_limit` (microseconds), `ambient` (degrees Celsius), `draw`, or a limit of utilization clamps by the name of its file.
    ///
    /// # Errors
    /// If there is no such setting, or if it does not take the value.
    pub fn set_text(&mut self, name: &str, text: &str) -> Result<(), InvalidSetting> {
        Setting::find(name)?.set(self, text)
    }

    /// As [`Self::set_text`], from data: a number for a setting that takes numbers, a string for one that takes words.
    ///
    /// # Errors
    /// As [`Self::set_text`], and if the value has the wrong type.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), InvalidSetting> {
        let setting = Setting::find(name)?;
        match value {
            Value::String(text) if !setting.words.is_empty() => setting.set(self, text),
            Value::Number(number) if setting.words.is_empty() => setting.set(self, &number.to_string()),
            _ => Err(setting.invalid("", &value.to_string())),
        }
    }

    /// Looks machine, workload and schedulers up. Refuses a workload that would never end, instead of failing after an
    /// hour of virtual time. Returns the other warnings.
    ///
    /// # Errors
    /// The first name that is unknown or invalid, or does not fit the others.
    pub fn find(
        &self,
        machine: &str,
        workload: &str,
        scheds: &[String],
    ) -> Result<ExperimentAndNotes, ExperimentError> {
        let (machine, cpus) = MachineSpec::parse(machine).find()?;
        let (workload, warnings) = Workload::find_bound(workload, &machine, cpus.as_ref())?;
        let warnings = endless_refused(warnings)?;
        let (experiment, more) = self.experiment(machine, workload, scheds)?;
        Ok((experiment, [warnings, more].concat()))
    }

    /// An experiment on this machine and workload. Looks up the schedulers.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn experiment(
        &self,
        machine: impl Into<Arc<Machine>>,
        workload: impl Into<Arc<Workload>>,
        scheds: &[String],
    ) -> Result<ExperimentAndNotes, ExperimentError> {
        let scheds = scheds.iter().map(|s| s.parse()).collect::<Result<Vec<SchedSpec>, _>>()?;
        self.experiment_of(machine, workload, scheds)
    }

    /// An experiment of this machine, this workload and these schedulers. Machine and workload are drawn here if the draw
    /// is not 0: they are given as they are stated.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn experiment_of(
        &self,
        machine: impl Into<Arc<Machine>>,
        workload: impl Into<Arc<Workload>>,
        scheds: Vec<SchedSpec>,
    ) -> Result<ExperimentAndNotes, ExperimentError> {
        let (mut machine, mut workload): (Arc<Machine>, Arc<Workload>) = (machine.into(), workload.into());
        if self.draw != 0 {
            let law = machine.draw_law()?;
            let deviation = |name: &str| law.deviation(Draw(self.draw), name);
            workload = Arc::new(workload.drawn(&machine, Some(&deviation))?);
            let drawn = machine.with_factors(&law.factors(Draw(self.draw)))?;
            machine = Arc::new(drawn);
        }
        self.has_clocks(&machine)?;
        kernel_compat::size(&scheds, &machine)?;
        let is_ambient_unused = self.ambient_mc.is_some() && machine.thermal.is_none();
        let unused =
            is_ambient_unused.then(|| format!("{} has no thermal figures: --ambient has no effect", machine.name));
        let mut warnings: Vec<String> = unused.into_iter().collect();
        warnings.extend(scheds.iter().filter_map(SchedSpec::stale));
        let config = self.config(kernel_compat::hz(&scheds, self.hz)?)?;
        let experiment = Experiment { machine, workload, scheds, config, workers: Workers::default() };
        Ok((experiment, warnings))
    }

    fn config(&self, hz: u32) -> Result<Config, ExperimentError> {
        self.consistent()?;
        let RunConfig { governor, idle, clamps, ambient_mc, draw, .. } = *self;
        let latency_limit_ns = self.idle_limit_ns.unwrap_or(Config::default().latency_limit_ns);
        Ok(Config { hz, governor, idle, latency_limit_ns, clamps, ambient_mc, draw, ..Config::default() })
    }

    /// Checks that the machine has the clocks that the userspace governor is to set.
    ///
    /// # Errors
    /// If it lacks one; the error names the nearest.
    pub fn has_clocks(&self, machine: &Machine) -> Result<(), ExperimentError> {
        let Governor::Userspace(speed) = self.governor else { return Ok(()) };
        speed.check(machine).map_err(|NoSuchClock { problem, help }| ExperimentError::NoSuchClock { problem, help })
    }

    /// Checks that the settings go together.
    ///
    /// # Errors
    /// If they do not.
    pub fn consistent(&self) -> Result<(), ExperimentError> {
        let (min, max) = (self.clamps.min, self.clamps.max);
        match min > max {
            true => Err(ExperimentError::LimitsCross { min, max }),
            false => Ok(()),
        }
    }
}

/// The texts of the warnings, if the workload ends.
///
/// # Errors
/// A warning that the workload never ends.
pub fn endless_refused(warnings: Vec<Warning>) -> Result<Vec<String>, ExperimentError> {
    let (without_effect, others): (Vec<Warning>, Vec<Warning>) =
        warnings.into_iter().partition(|warning| warning.kind == WarningKind::NoEffect);
    let text = |warning: Warning| match warning.kind {
        WarningKind::NeverEnds => Err(ExperimentError::NeverEnds(warning)),
        _ => Ok(warning.to_string()),
    };
    let others = others.into_iter().map(text).collect::<Result<Vec<String>, _>>()?;
    Ok(one_line(without_effect).into_iter().chain(others).collect())
}

/// One line for what has no effect: each file of rt-app has several such keys.
fn one_line(warnings: Vec<Warning>) -> Option<String> {
    let first = warnings.first()?;
    if warnings.len() == 1 {
        return Some(first.to_string());
    }
    let file = first.at.as_ref().map_or(String::new(), |at| format!("{}: ", at.file));
    let keys: Vec<String> = warnings.iter().map(|warning| format!("`{}`", warning.subject)).collect();
    Some(format!("{file}{} have no effect here; `fairground workload check` says why", keys.join(", ")))
}

/// The settings of a run that differ from their defaults, for the notes of a report.
pub fn notes(config: &Config) -> Vec<String> {
    let mut notes = Vec::new();
    if config.hz != Config::default().hz {
        notes.push(format!("hz: {}", config.hz));
    }
    match config.governor {
        Governor::Performance => {}
        Governor::Powersave => notes.push("governor: powersave".into()),
        Governor::Schedutil => notes.push("governor: schedutil".into()),
        Governor::Userspace(speed) => notes.push(format!("governor: userspace:{speed}")),
    }
    if config.idle == IdleGovernor::Teo {
        notes.push("idle governor: teo".into());
    }
    if let Some(us) = idle_limit_us(config) {
        notes.push(format!("idle limit: {us}us"));
    }
    notes.extend(config.clamps.changed().map(|(name, value)| format!("sysctl: {name}={value}")));
    if let Some(mc) = config.ambient_mc {
        notes.push(format!("ambient: {} C", f64::from(mc) / 1e3));
    }
    if config.draw != 0 {
        notes.push(format!("draw: {}", config.draw));
    }
    notes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_setting_is_read_as_it_is_shown() {
        let machine = Machine::preset("hikey960").unwrap();
        let others = ["300", "userspace:0-3=999000,4-7=1421000", "teo", "12.5", "0", "512", "128", "-12.5", "7"];
        for (setting, other) in SETTINGS.iter().zip(others) {
            let mut settings = RunConfig::default();
            settings.clamps.min = 0;
            assert_eq!(settings.set_text(setting.name, other), Ok(()), "{}", setting.name);
            let config = settings.config(settings.hz.unwrap_or_default()).unwrap();
            assert_eq!(setting.text(&config, &machine), other, "{}", setting.name);
        }
    }

    #[test]
    fn settings_are_set_by_name_or_refused_with_what_was_expected() {
        let mut settings = RunConfig::default();
        let mut set =
            |name: &str, value: Value| settings.set(name, &value).map_err(|e| format!("{}: {}", e.problem, e.help));
        for (name, value) in [
            ("hz", json!(1000)),
            ("governor", json!("schedutil")),
            ("idle_governor", json!("teo")),
            ("idle_limit", json!(100)),
            ("ambient", json!(31.5)),
            ("kernel.sched_util_clamp_min", json!(0)),
        ] {
            assert_eq!(set(name, value), Ok(()), "{name}");
        }
        assert_eq!(
            set("hz", json!(123)).unwrap_err(),
            "hz 123: expected 100, 250, 300 or 1000, as kernels are configured"
        );
        assert!(set("governor", json!("ondemand")).unwrap_err().contains("schedutil"));
        assert!(set("hz", json!("1000")).unwrap_err().contains("hz \"1000\": expected 100"));
        assert_eq!(
            set("governor", json!("schedutill")).unwrap_err(),
            "governor \"schedutill\": did you mean `schedutil`? expected performance, powersave, schedutil or \
             userspace:CLOCK, e.g. userspace:1421MHz or userspace:0-3=999MHz,4-7=1421MHz"
        );
        assert_eq!(set("idle_governor", json!(1)).unwrap_err(), "idle_governor 1: expected menu, teo");
        assert!(set("governor", json!("userspace:x")).unwrap_err().contains("`x` is not a clock"));
        assert!(set("governor", json!("userspace")).unwrap_err().contains("userspace:1421MHz"));
        assert!(set("idle_limit", json!(-1)).unwrap_err().contains("0 to 1000000 microseconds"));
        assert!(set("ambient", json!(101)).unwrap_err().contains("-40 to 100"));
        assert!(set("sched_util_clamp_max", json!(1025)).unwrap_err().contains("0 to 1024"));
        assert!(set("goverour", json!("x")).unwrap_err().contains("did you mean `governor`?"));
        assert_eq!(
            (settings.hz, settings.governor, settings.idle),
            (Some(1000), Governor::Schedutil, IdleGovernor::Teo)
        );
        assert_eq!((settings.ambient_mc, settings.clamps.min), (Some(31_500), 0));
        assert_eq!(settings.idle_limit_ns, Some(100_000));
        settings.clamps.max = 0;
        assert!(settings.consistent().is_ok());
        settings.clamps.min = 1;
        assert!(matches!(settings.consistent(), Err(ExperimentError::LimitsCross { min: 1, max: 0 })));
    }
}

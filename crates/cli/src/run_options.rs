//! Options that several commands share.

use std::num::NonZeroUsize;

use clap::builder::{StringValueParser, TypedValueParser};
use clap::Args;
use fairground_run::experiment::Experiment;
use fairground_run::run_config::{self, ExperimentAndNotes, InvalidSetting, RunConfig, Setting};
use fairground_sim::{ClampLimits, Governor};

use crate::error::Failure;
use crate::output::complain;

/// Settings of a run besides machine, workload and scheduler.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// Ticks per second: 100, 250, 300 or 1000 [default: a linux: scheduler's own, else 250]
    #[arg(long, value_parser = value_of("hz"))]
    hz: Option<String>,
    /// Frequency governor: performance (highest frequency), powersave (lowest frequency), schedutil (the kernel's
    /// own, driven by the scheduler) or userspace:CLOCK, which holds a clock: userspace:1421MHz, or by CPUs
    /// userspace:0-3=999MHz,4-7=1421MHz [default: performance]
    #[arg(long, value_parser = value_of("governor"))]
    governor: Option<String>,
    /// Idle governor: menu (predicts from past sleeps and the next timer, Linux 5.4 to 6.11) or teo (goes by the next
    /// timer unless most sleeps ended before it, Linux 6.12) [default: menu]
    #[arg(long, value_parser = value_of("idle_governor"))]
    idle_governor: Option<String>,
    /// Idle states with a longer exit latency are off, microseconds: 100 or 100us; 0 leaves the first [default: all are on]
    #[arg(long, value_name = "US", value_parser = value_of("idle_limit"), allow_negative_numbers = true)]
    idle_limit: Option<String>,
    /// Limits of utilization clamps, 0 to 1024: sched_util_clamp_min, sched_util_clamp_max,
    /// sched_util_clamp_min_rt_default; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_sysctl)]
    sysctl: Vec<(String, String)>,
    /// Ambient temperature, degrees Celsius [default: the machine file's]; the machine starts above it by as much as
    /// its file says
    #[arg(long, value_name = "C", value_parser = value_of("ambient"), allow_negative_numbers = true)]
    ambient: Option<String>,
    /// Draw of the figures in doubt of machine and workload, by its number: each is varied within what is known of it
    /// (machines/README.md, section Doubt); the same number is the same draw everywhere [default: 0, as they are stated]
    #[arg(long, value_name = "N", value_parser = value_of("draw"), allow_negative_numbers = true)]
    draw: Option<String>,
}

/// Accepts the values of the setting with this name.
fn value_of(name: &'static str) -> impl TypedValueParser<Value = String> {
    StringValueParser::new().try_map(move |text: String| set(name, &text).map(|()| text))
}

fn set(name: &str, text: &str) -> Result<(), String> {
    RunConfig::default().set_text(name, text).map_err(|InvalidSetting { help, .. }| help)
}

fn parse_sysctl(text: &str) -> Result<(String, String), String> {
    let known = || format!("expected NAME=VALUE with one of {}", ClampLimits::NAMES.join(", "));
    let (name, value) = text.split_once('=').ok_or_else(known)?;
    let setting = Setting::find(name).ok().filter(|setting| setting.is_sysctl());
    let setting = setting.ok_or_else(|| fairground_machine::suggest(name, ClampLimits::NAMES))?;
    set(setting.name, value).map_err(|help| format!("{name}: {help}"))?;
    Ok((setting.name.into(), value.into()))
}

/// Reads ticks per second.
pub fn parse_hz(text: &str) -> Result<u32, String> {
    let mut config = RunConfig::default();
    config.set_text("hz", text).map_err(|InvalidSetting { help, .. }| help)?;
    Ok(config.hz.unwrap_or_default())
}

/// Reads the name of a frequency governor.
pub fn parse_governor(text: &str) -> Result<Governor, String> {
    run_config::governor(text).map_err(|InvalidSetting { help, .. }| help)
}

impl RunOptions {
    /// The settings as the library takes them.
    pub fn config(&self) -> Result<RunConfig, Failure> {
        self.config_over(RunConfig::default())
    }

    /// Like [`Self::config`], with `config` in place of the defaults.
    pub fn config_over(&self, mut config: RunConfig) -> Result<RunConfig, Failure> {
        let RunOptions { hz, governor, idle_governor, idle_limit, sysctl, ambient, draw } = self;
        let options = [
            ("hz", hz),
            ("governor", governor),
            ("idle_governor", idle_governor),
            ("idle_limit", idle_limit),
            ("ambient", ambient),
            ("draw", draw),
        ];
        let given = options.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
        for (name, text) in given.chain(sysctl.iter().map(|(name, text)| (name.as_str(), text))) {
            config.set_text(name, text)?;
        }
        Ok(config)
    }

    /// The options that were given, as they can be typed again.
    pub fn typed(&self) -> Vec<String> {
        let RunOptions { hz, governor, idle_governor, idle_limit, sysctl, ambient, draw } = self;
        let named = [
            ("--hz", hz),
            ("--governor", governor),
            ("--idle-governor", idle_governor),
            ("--idle-limit", idle_limit),
            ("--ambient", ambient),
            ("--draw", draw),
        ];
        let given = named.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value.clone()?]));
        let sysctls = sysctl.iter().map(|(name, value)| ["--sysctl".to_owned(), format!("{name}={value}")]);
        given.chain(sysctls).flatten().collect()
    }

    /// Looks machine, workload and schedulers up. Warnings go to standard error.
    pub fn experiment(&self, machine: &str, workload: &str, scheds: &[String]) -> Result<Experiment, Failure> {
        Ok(warned(self.config()?.find(machine, workload, scheds)?))
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
    /// The number of threads.
    pub fn count(&self) -> usize {
        let default = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.jobs.map_or_else(default, NonZeroUsize::get)
    }
}

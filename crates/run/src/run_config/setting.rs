//! The settings of runs by name. One table defines how each is read from text, which values it takes, and how it is
//! shown. The options of commands, the sides of a comparison, experiment files and Python all use this table.

use fairground_machine::{suggest, Machine};
use fairground_sim::{ClampLimits, Config, Governor, IdleGovernor, SetSpeed};
use miette::Diagnostic;
use thiserror::Error;

use super::RunConfig;

/// A value that a setting does not take, or a setting that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Error, Diagnostic)]
#[error("{problem}")]
pub struct InvalidSetting {
    /// Names the setting and the value.
    pub problem: String,
    /// The expected values, and the nearest name.
    #[help]
    pub help: String,
}

/// A setting of runs, with the values that it takes.
pub struct Setting {
    /// Name of the setting, such as `governor`.
    pub name: &'static str,
    /// The words that it takes; empty if it takes numbers.
    pub words: &'static [&'static str],
    /// Describes the numbers that it takes, or what else than the words.
    numbers: &'static str,
    /// Sets it from text. Returns `None` if it does not take this value.
    set: fn(&mut RunConfig, &str) -> Option<()>,
    /// Its value in a run on this machine.
    text: fn(&Config, &Machine) -> String,
}

/// Ticks per second that kernels are configured with.
const RATES: [u32; 4] = [100, 250, 300, 1000];

const GOVERNORS: [(&str, Governor); 3] =
    [("performance", Governor::Performance), ("powersave", Governor::Powersave), ("schedutil", Governor::Schedutil)];

/// What a governor is beside these.
const USERSPACE: &str = " or userspace:CLOCK, e.g. userspace:1421MHz or userspace:0-3=999MHz,4-7=1421MHz";

/// The name of the governor that holds the clock behind it.
const USERSPACE_NAME: &str = "userspace:";

const IDLE_GOVERNORS: [(&str, IdleGovernor); 2] = [("menu", IdleGovernor::Menu), ("teo", IdleGovernor::Teo)];

/// No limit of idle states.
const NO_LIMIT: &str = "none";

const CLAMP: &str = "a whole number, 0 to 1024";

/// All settings, in the order in which they are shown.
pub const SETTINGS: [Setting; 9] = [
    Setting {
        name: "hz",
        words: &[],
        numbers: "100, 250, 300 or 1000, as kernels are configured",
        set: |config, text| {
            config.hz = Some(text.parse().ok().filter(|hz| RATES.contains(hz))?);
            Some(())
        },
        text: |config, _| config.hz.to_string(),
    },
    Setting {
        name: "governor",
        words: &[GOVERNORS[0].0, GOVERNORS[1].0, GOVERNORS[2].0],
        numbers: USERSPACE,
        set: |config, text| {
            config.governor = match text.strip_prefix(USERSPACE_NAME) {
                Some(speed) => Governor::Userspace(speed.parse().ok()?),
                None => value_of(&GOVERNORS, text)?,
            };
            Some(())
        },
        text: |config, _| match config.governor {
            Governor::Userspace(speed) => format!("{USERSPACE_NAME}{speed}"),
            governor => word_of(&GOVERNORS, governor),
        },
    },
    Setting {
        name: "idle_governor",
        words: &[IDLE_GOVERNORS[0].0, IDLE_GOVERNORS[1].0],
        numbers: "",
        set: |config, text| {
            config.idle = value_of(&IDLE_GOVERNORS, text)?;
            Some(())
        },
        text: |config, _| word_of(&IDLE_GOVERNORS, config.idle),
    },
    Setting {
        name: "idle_limit",
        words: &[],
        numbers: "0 to 1000000 microseconds, e.g. 100 or 100us, or none",
        set: |config, text| {
            if text == NO_LIMIT {
                config.idle_limit_ns = None;
                return Some(());
            }
            let us = text.strip_suffix("us").unwrap_or(text).trim_end().parse::<f64>().ok();
            let us = us.filter(|us| (0.0..=1e6).contains(us))?;
            config.idle_limit_ns = Some((us * 1e3).round() as u64);
            Some(())
        },
        text: |config, _| idle_limit_us(config).map_or(NO_LIMIT.into(), |us| us.to_string()),
    },
    Setting {
        name: ClampLimits::NAMES[0],
        words: &[],
        numbers: CLAMP,
        set: |config, text| clamp(&mut config.clamps.min, text),
        text: |config, _| config.clamps.min.to_string(),
    },
    Setting {
        name: ClampLimits::NAMES[1],
        words: &[],
        numbers: CLAMP,
        set: |config, text| clamp(&mut config.clamps.max, text),
        text: |config, _| config.clamps.max.to_string(),
    },
    Setting {
        name: ClampLimits::NAMES[2],
        words: &[],
        numbers: CLAMP,
        set: |config, text| clamp(&mut config.clamps.min_rt_default, text),
        text: |config, _| config.clamps.min_rt_default.to_string(),
    },
    Setting {
        name: "ambient",
        words: &[],
        numbers: "-40 to 100 degrees Celsius",
        set: |config, text| {
            let celsius = text.parse::<f64>().ok().filter(|c| (-40.0..=100.0).contains(c))?;
            config.ambient_mc = Some((celsius * 1e3).round() as i32);
            Some(())
        },
        text: |config, machine| {
            let ambient = config.ambient_mc.or(machine.thermal.as_ref().map(|thermal| thermal.ambient_mc));
            ambient.map_or("none".into(), |mc| (f64::from(mc) / 1e3).to_string())
        },
    },
    Setting {
        name: "draw",
        words: &[],
        numbers: "a whole number, 0 (machine and workload as they are stated) to 18446744073709551615",
        set: |config, text| {
            config.draw = text.parse().ok()?;
            Some(())
        },
        text: |config, _| config.draw.to_string(),
    },
];

/// The longest exit latency of idle states that are used, microseconds; `None`: all are.
pub fn idle_limit_us(config: &Config) -> Option<f64> {
    let is_set = config.latency_limit_ns != Config::default().latency_limit_ns;
    is_set.then_some(config.latency_limit_ns as f64 / 1e3)
}

fn value_of<T: Copy>(words: &[(&str, T)], text: &str) -> Option<T> {
    words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}

fn word_of<T: PartialEq>(words: &[(&str, T)], value: T) -> String {
    words.iter().find(|(_, known)| *known == value).map_or(String::new(), |(word, _)| (*word).into())
}

fn clamp(limit: &mut u16, text: &str) -> Option<()> {
    *limit = text.parse().ok().filter(|value| *value <= 1024)?;
    Some(())
}

impl Setting {
    /// The setting of this name; a sysctl also with `kernel.` in front.
    ///
    /// # Errors
    /// If there is none; the error names the nearest.
    pub fn find(name: &str) -> Result<&'static Setting, InvalidSetting> {
        let bare = name.strip_prefix("kernel.").filter(|bare| ClampLimits::NAMES.contains(bare)).unwrap_or(name);
        SETTINGS.iter().find(|setting| setting.name == bare).ok_or_else(|| {
            let problem = format!("there is no setting {name:?}");
            InvalidSetting { problem, help: suggest(name, SETTINGS.iter().map(|setting| setting.name)) }
        })
    }

    /// Whether this is a sysctl.
    pub fn is_sysctl(&self) -> bool {
        ClampLimits::NAMES.contains(&self.name)
    }

    /// Its value in a run on this machine. An ambient temperature that is not set is that of the machine file, or
    /// `none` if the machine has no thermal figures.
    pub fn text(&self, config: &Config, machine: &Machine) -> String {
        (self.text)(config, machine)
    }

    pub(super) fn set(&self, config: &mut RunConfig, text: &str) -> Result<(), InvalidSetting> {
        (self.set)(config, text).ok_or_else(|| self.invalid(text, &format!("{text:?}")))
    }

    /// The nearest word and all; what is wrong with the clocks behind a governor.
    fn suggest(&self, text: &str, words: &[&str]) -> String {
        let clocks = text.strip_prefix(USERSPACE_NAME).filter(|_| self.numbers == USERSPACE);
        match clocks.map(str::parse::<SetSpeed>) {
            Some(Err(problem)) => problem.to_string(),
            _ => format!("{}{}", suggest(text, words.iter().copied()), self.numbers),
        }
    }

    /// The error for the value `text`; the message shows `shown`.
    pub(super) fn invalid(&self, text: &str, shown: &str) -> InvalidSetting {
        let help = match self.words {
            [] => format!("expected {}", self.numbers),
            words => self.suggest(text, words),
        };
        let shown = if text.parse::<f64>().is_ok() { text } else { shown };
        InvalidSetting { problem: format!("{} {shown}", self.name), help }
    }
}

/// The frequency governor of this name.
///
/// # Errors
/// If there is none; the error names the nearest.
pub fn governor(name: &str) -> Result<Governor, InvalidSetting> {
    let mut config = RunConfig::default();
    config.set_text("governor", name)?;
    Ok(config.governor)
}

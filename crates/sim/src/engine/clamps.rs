//! Limits of utilization clamps, which the administrator of a system sets.

use serde::{Deserialize, Serialize};

/// The greatest values of clamps that take effect. The default of each is 1024, the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClampLimits {
    /// Greatest `uclamp.min` that takes effect (sched_util_clamp_min), 0 to 1024.
    pub min: u16,
    /// Greatest `uclamp.max` that takes effect (sched_util_clamp_max), 0 to 1024.
    pub max: u16,
    /// The minimum of real-time tasks that do not set one (sched_util_clamp_min_rt_default), 0 to 1024.
    pub min_rt_default: u16,
}

impl Default for ClampLimits {
    fn default() -> Self {
        ClampLimits { min: 1024, max: 1024, min_rt_default: 1024 }
    }
}

impl ClampLimits {
    /// Names of the sysctls, in the order of the members.
    pub const NAMES: [&'static str; 3] =
        ["sched_util_clamp_min", "sched_util_clamp_max", "sched_util_clamp_min_rt_default"];

    /// Names and values of those that differ from their defaults.
    pub fn changed(&self) -> impl Iterator<Item = (&'static str, u16)> {
        let values = [self.min, self.max, self.min_rt_default];
        Self::NAMES.into_iter().zip(values).filter(|(_, value)| *value != 1024)
    }
}

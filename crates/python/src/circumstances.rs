//! Circumstances of runs, as keyword arguments.

use std::collections::BTreeMap;

use fairground_lab::circumstances::Circumstances;
use fairground_lab::setup::Setup;
use fairground_sim::{ClampLimits, Governor, IdleGovernor};
use pyo3::prelude::*;

use crate::errors::{input, refused};
use crate::machine::Machine;
use crate::workload::Workload;

/// The arguments that `run` and `compare` share.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    hz: Option<u32>,
    governor: String,
    idle_governor: String,
    sysctl: BTreeMap<String, u16>,
    ambient: Option<f64>,
}

impl Options {
    fn circumstances(&self) -> PyResult<Circumstances> {
        let governor = match self.governor.as_str() {
            "performance" => Governor::Performance,
            "powersave" => Governor::Powersave,
            "schedutil" => Governor::Schedutil,
            other => return Err(refused(format!("governor {other:?}: expected performance, powersave or schedutil"))),
        };
        let idle = match self.idle_governor.as_str() {
            "menu" => IdleGovernor::Menu,
            "teo" => IdleGovernor::Teo,
            other => return Err(refused(format!("idle_governor {other:?}: expected menu or teo"))),
        };
        if let Some(hz) = self.hz.filter(|hz| ![100, 250, 300, 1000].contains(hz)) {
            return Err(refused(format!("hz {hz}: expected 100, 250, 300 or 1000, as kernels are configured")));
        }
        Ok(Circumstances { hz: self.hz, governor, idle, clamps: self.clamps()?, ambient_mc: self.ambient_mc()? })
    }

    fn clamps(&self) -> PyResult<ClampLimits> {
        let mut limits = ClampLimits::default();
        for (name, value) in &self.sysctl {
            let known = || refused(format!("sysctl {name:?}: expected one of {}", ClampLimits::NAMES.join(", ")));
            let limit = limits.get_mut(name.strip_prefix("kernel.").unwrap_or(name)).ok_or_else(known)?;
            if *value > 1024 {
                return Err(refused(format!("sysctl {name}: expected 0 to 1024, not {value}")));
            }
            *limit = *value;
        }
        Ok(limits)
    }

    fn ambient_mc(&self) -> PyResult<Option<i32>> {
        match self.ambient {
            None => Ok(None),
            Some(celsius) if (-40.0..=100.0).contains(&celsius) => Ok(Some((celsius * 1e3).round() as i32)),
            Some(other) => Err(refused(format!("ambient {other}: expected -40 to 100 degrees Celsius"))),
        }
    }

    /// Ready to run, and what must be said of it.
    pub fn setup(&self, machine: Machine, workload: Workload, scheds: &[String]) -> PyResult<(Setup, Vec<String>)> {
        let (mut setup, warnings) =
            self.circumstances()?.setup(machine.inner, workload.inner, scheds).map_err(input)?;
        // A worker is this interpreter, started anew: it finds the package where this one has found it.
        setup.workers.arguments =
            ["-c", "import sys; sys.path[:] = sys.argv[1:]; import fairground._fairground as f; f.serve_worker()"]
                .map(str::to_owned)
                .into();
        Ok((setup, warnings))
    }
}

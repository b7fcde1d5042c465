//! Circumstances of runs, as keyword arguments.

use std::collections::BTreeMap;

use fairground_lab::circumstances::Circumstances;
use fairground_lab::setup::Setup;
use fairground_lab::worker::Workers;
use fairground_sim::{ClampLimits, Governor, IdleGovernor};
use pyo3::prelude::*;

use crate::errors::{input, refused};
use crate::machine::Machine;
use crate::workload::Workload;

/// The arguments that `run` and `compare` share.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    hz: Option<i64>,
    governor: String,
    idle_governor: String,
    sysctl: BTreeMap<String, i64>,
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
        let hz = self.hz.map(|hz| hz as u32);
        Ok(Circumstances { hz, governor, idle, clamps: self.clamps()?, ambient_mc: self.ambient_mc()? })
    }

    fn clamps(&self) -> PyResult<ClampLimits> {
        let mut limits = ClampLimits::default();
        for (name, value) in &self.sysctl {
            let known = || refused(format!("sysctl {name:?}: expected one of {}", ClampLimits::NAMES.join(", ")));
            let limit = limits.get_mut(name.strip_prefix("kernel.").unwrap_or(name)).ok_or_else(known)?;
            let fits = u16::try_from(*value).ok().filter(|value| *value <= 1024);
            *limit = fits.ok_or_else(|| refused(format!("sysctl {name}: expected 0 to 1024, not {value}")))?;
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
    pub fn setup(
        &self,
        py: Python<'_>,
        machine: Machine,
        workload: Workload,
        scheds: &[String],
    ) -> PyResult<(Setup, Vec<String>)> {
        let mut said = workload.warnings;
        let (mut setup, more) = self.circumstances()?.setup(machine.inner, workload.inner, scheds).map_err(input)?;
        said.extend(more);
        setup.workers = workers(py)?;
        Ok((setup, said))
    }
}

/// A worker is this interpreter, started anew: it finds the package where this one has found it.
pub fn workers(py: Python<'_>) -> PyResult<Workers> {
    let path: Vec<String> = py.import("sys")?.getattr("path")?.extract()?;
    let arguments = ["-m", "fairground._worker"].map(str::to_owned).into();
    Ok(Workers { arguments, environment: vec![("PYTHONPATH".into(), path.join(":"))], ..Workers::default() })
}

/// Threads to run on, 0 for one for each CPU of this machine.
pub fn threads(jobs: i64) -> PyResult<usize> {
    match usize::try_from(jobs).map_err(|_| refused("jobs: expected 1 or more"))? {
        0 => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        jobs => Ok(jobs),
    }
}

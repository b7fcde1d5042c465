//! Rows about scheduling domains, which are read from the topology and not run.

use fairground_fair::{Features, Options, Topology};
use fairground_machine::MachineSpec;
use serde::Deserialize;

/// The property of a domain that a row prints.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainCheck {
    /// Machine, as on the command line.
    pub machine: String,
    /// The CPU whose domain it is.
    pub cpu: u32,
    /// The domain's level, e.g. `MC`.
    pub level: String,
    /// The property.
    pub figure: DomainFigure,
    /// Name of the base scheduler, one of ours.
    pub base: String,
    /// Name of the test scheduler, one of ours.
    pub test: String,
}

/// A property of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DomainFigure {
    /// Shortest time between two passes of balancing, ms.
    MinIntervalMs,
    /// Longest time between two passes of balancing, ms.
    MaxIntervalMs,
}

impl DomainCheck {
    /// The property without and with the patch; `None` where the CPU has no domain of this level.
    ///
    /// # Errors
    /// If the machine or a scheduler does not exist.
    pub fn ours(&self) -> Result<[Option<f64>; 2], String> {
        let (machine, _) = MachineSpec::parse(&self.machine).find().map_err(|e| e.to_string())?;
        let of = |sched: &str| -> Result<Option<f64>, String> {
            let features = Features::parse(sched).map_err(|e| e.to_string())?;
            let topology = Topology::new(&machine, &features, &Options::default()).map_err(|e| e.to_string())?;
            let intervals = topology.intervals_ms(self.cpu, &self.level);
            Ok(intervals.map(|[min, max]| match self.figure {
                DomainFigure::MinIntervalMs => f64::from(min),
                DomainFigure::MaxIntervalMs => f64::from(max),
            }))
        };
        Ok([of(&self.base)?, of(&self.test)?])
    }
}

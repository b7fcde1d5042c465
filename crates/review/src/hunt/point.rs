//! A point of the search: a machine, perhaps a draw of it, and a workload with its options.

use std::path::Path;

use fairground_run::run_config::RunConfig;
use serde::Serialize;
use serde_json::{json, Value};

use super::{machines, programs};
use crate::matrix::{typed, Cell};

/// An option of a workload and its range.
pub(super) struct Dimension {
    pub name: &'static str,
    pub from: f64,
    pub to: f64,
    is_whole: bool,
}

/// What is judged. Changes of one kind are compared with each other alone: a mean latency can become ten times as long, energy cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// The workload's main metric.
    Main,
    /// The mean latency of wakeups.
    Latency,
    /// The energy of a run. Its governor is schedutil, for placement decides clocks only there.
    Energy,
}

impl Goal {
    /// The metric's name; `None`: the workload's main one.
    pub fn metric(self) -> Option<&'static str> {
        match self {
            Goal::Main => None,
            Goal::Latency => Some("wakeup_latency_mean_us"),
            Goal::Energy => Some("energy_j"),
        }
    }
}

/// A workload whose options are searched.
pub(super) struct Family {
    pub name: &'static str,
    /// Options that stay as they are: they bound the length of a run.
    pub fixed: &'static str,
    pub dimensions: &'static [Dimension],
    pub goal: Goal,
}

pub(super) const fn whole(name: &'static str, from: f64, to: f64) -> Dimension {
    Dimension { name, from, to, is_whole: true }
}

pub(super) const fn real(name: &'static str, from: f64, to: f64) -> Dimension {
    Dimension { name, from, to, is_whole: false }
}

/// Ranges are what the benchmarks of the list use, from one thread to some more than CPUs of a large node.
pub(super) const FAMILIES: [Family; 13] = [
    Family { name: "hackbench", fixed: "loops=20", dimensions: &[whole("groups", 1.0, 8.0)], goal: Goal::Main },
    Family {
        name: "schbench",
        fixed: "runtime=0.15",
        dimensions: &[
            whole("message-threads", 1.0, 6.0),
            whole("threads", 1.0, 24.0),
            real("cputime", 100.0, 20_000.0),
            real("sleeptime", 100.0, 20_000.0),
        ],
        goal: Goal::Latency,
    },
    Family { name: "periodic", fixed: "duration=0.3", dimensions: PERIODIC, goal: Goal::Latency },
    Family {
        name: "fork-burst",
        fixed: "bursts=10",
        dimensions: &[whole("children", 1.0, 64.0), real("work", 20.0, 5000.0), real("gap", 1.0, 50.0)],
        goal: Goal::Main,
    },
    Family {
        name: "dbench",
        fixed: "duration=0.05",
        dimensions: &[whole("clients", 1.0, 64.0), real("think", 2.0, 200.0), real("hold", 0.2, 20.0)],
        goal: Goal::Main,
    },
    Family {
        name: "server",
        fixed: "duration=0.1",
        dimensions: &[whole("connections", 1.0, 64.0), real("think", 50.0, 5000.0), real("work", 5.0, 2000.0)],
        goal: Goal::Main,
    },
    Family {
        name: "oltp",
        fixed: "duration=0.1",
        dimensions: &[
            whole("clients", 1.0, 48.0),
            real("work", 5.0, 500.0),
            real("locked", 1.0, 100.0),
            real("flush", 5.0, 1000.0),
        ],
        goal: Goal::Main,
    },
    Family {
        name: "kbuild",
        fixed: "files=16",
        dimensions: &[whole("jobs", 1.0, 32.0), real("compile", 0.5, 10.0), real("link", 0.5, 10.0)],
        goal: Goal::Main,
    },
    Family {
        name: "shell8",
        fixed: "duration=0.2",
        dimensions: &[whole("scripts", 1.0, 24.0), real("program", 50.0, 3000.0)],
        goal: Goal::Main,
    },
    // Its length is all there is to vary.
    Family { name: "sched-pipe", fixed: "", dimensions: &[whole("loops", 100.0, 1000.0)], goal: Goal::Main },
    Family { name: "sched-pipe", fixed: "threads", dimensions: &[whole("loops", 100.0, 1000.0)], goal: Goal::Main },
    Family { name: "periodic", fixed: "duration=0.3", dimensions: PERIODIC, goal: Goal::Energy },
    Family {
        name: "jankbench",
        fixed: "duration=0.5",
        dimensions: &[real("frame-scale", 0.5, 2.0), real("background", 1.0, 100.0)],
        goal: Goal::Energy,
    },
];

const PERIODIC: &[Dimension] = &[whole("tasks", 1.0, 64.0), real("duty", 2.0, 95.0), real("periods", 2.0, 40.0)];

/// What stands for a built-in's name in the name of a generated program, [`programs::PROGRAM`] of these numbers.
const PROGRAM: &str = "program";

/// What is run: one of [`FAMILIES`], or a generated program by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Builtin(usize),
    Program(u64),
}

impl Kind {
    pub fn family(self) -> &'static Family {
        match self {
            Kind::Builtin(index) => &FAMILIES[index],
            Kind::Program(_) => &programs::PROGRAM,
        }
    }
}

/// A cell in words. What was made up or generated goes by its name, not by the file that is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// The machine.
    pub machine: String,
    /// The workload with its options.
    pub workload: String,
    /// Options of the command.
    pub options: Vec<String>,
}

impl Named {
    /// The cell in one line.
    pub fn name(&self) -> String {
        [&[self.machine.clone(), self.workload.clone()], self.options.as_slice()].concat().join(" ")
    }
}

/// A point of a field: what is run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// A preset, or the file of a machine that was made up or made smaller.
    pub machine: String,
    pub draw: u64,
    pub kind: Kind,
    pub values: Vec<f64>,
}

impl Point {
    /// The options at coordinates, each taken into 0 to 1.
    pub fn at(machine: &str, draw: u64, kind: Kind, coordinates: &[f64]) -> Point {
        let value = |(dimension, x): (&Dimension, &f64)| {
            let x = x.clamp(0.0, 1.0);
            let value = (dimension.from.ln() + x * (dimension.to.ln() - dimension.from.ln())).exp();
            rounded(dimension, value)
        };
        let values = kind.family().dimensions.iter().zip(coordinates).map(value).collect();
        Point { machine: machine.into(), draw, kind, values }
    }

    /// The workload in words: a built-in with its options, or `program-7:copies=2,...`.
    pub fn workload(&self) -> String {
        let family = self.kind.family();
        let options = family.dimensions.iter().zip(&self.values).map(|(d, value)| format!("{}={value}", d.name));
        let fixed = Some(family.fixed.to_owned()).filter(|fixed| !fixed.is_empty());
        let options: Vec<String> = fixed.into_iter().chain(options).collect();
        let name = match self.kind {
            Kind::Builtin(_) => family.name.to_owned(),
            Kind::Program(number) => format!("{PROGRAM}-{number}"),
        };
        format!("{name}:{}", options.join(","))
    }

    /// The point in words.
    pub fn named(&self) -> Named {
        let machine = machines::display_name(&self.machine).to_owned();
        Named { machine, workload: self.workload(), options: self.options() }
    }

    /// Settings of the run, as a matrix has them.
    pub fn settings(&self) -> Vec<(&'static str, Value)> {
        let governor = (self.kind.family().goal == Goal::Energy).then(|| ("governor", json!("schedutil")));
        let draw = (self.draw != 0).then(|| ("draw", json!(self.draw)));
        governor.into_iter().chain(draw).collect()
    }

    fn options(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.settings().iter().flat_map(|(name, value)| typed(name, &text(value))).collect()
    }

    /// The point as it is run. The file of a program is written below `files`.
    ///
    /// # Errors
    /// If the file cannot be written; the message names it.
    pub fn cell(&self, files: &Path) -> Result<Cell, String> {
        let workload = match self.kind {
            Kind::Builtin(_) => self.workload(),
            Kind::Program(number) => programs::write(number, &self.values, files)?,
        };
        let mut config = RunConfig::default();
        for (name, value) in self.settings() {
            config.set(name, &value).map_err(|error| error.to_string())?;
        }
        Ok(Cell { machine: self.machine.clone(), workload, config, options: self.options(), metrics: None })
    }

    /// Smaller points, the boldest first. Machines are written below `files`.
    pub fn smaller(&self, files: &Path) -> Vec<Point> {
        let mut points = Vec::new();
        if self.draw != 0 {
            points.push(Point { draw: 0, ..self.clone() });
        } else {
            // A draw is of the figures of the whole machine.
            let smaller = machines::smaller(&self.machine, files).into_iter();
            points.extend(smaller.map(|machine| Point { machine, ..self.clone() }));
        }
        for (at, dimension) in self.kind.family().dimensions.iter().enumerate() {
            for part in [0.0, 0.5, 0.75] {
                let value = rounded(dimension, dimension.from + (self.values[at] - dimension.from) * part);
                if value < self.values[at] {
                    let mut smaller = self.clone();
                    smaller.values[at] = value;
                    points.push(smaller);
                }
            }
        }
        points
    }
}

/// Three significant digits, or a whole number.
fn rounded(dimension: &Dimension, value: f64) -> f64 {
    if dimension.is_whole {
        return value.round().clamp(dimension.from, dimension.to);
    }
    let step = 10f64.powi(value.abs().log10().floor() as i32 - 2);
    // Divided, so that 0.3 is written as such.
    let value = (value / step).round() / (1.0 / step).round().max(1.0) * if step > 1.0 { step } else { 1.0 };
    value.clamp(dimension.from, dimension.to)
}

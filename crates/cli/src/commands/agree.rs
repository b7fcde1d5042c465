//! `fairground kernel agree`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use fairground_fair::Features;
use fairground_lab::conformance::agree::{
    judge, ConformancePlan, ConformanceReport, RefereedMachine, RefereedWorkload,
};
use fairground_linux::build::{BuiltKernel, Kernels};
use fairground_linux::conformance::{preset_of, ConformanceMachine, ConformanceWorkload, MACHINES, WORKLOADS};
use fairground_machine::{nearest, Machine};
use fairground_sim::Governor;
use miette::Diagnostic;
use thiserror::Error;

use super::feature::ListFormat;
use crate::error::{run_failed, End, Failure};
use crate::output::{complain, print, OutputFile};
use crate::progress::Progress;
use crate::run_options::{parse_governor, Jobs};
use crate::workers::WorkerOptions;

/// An unknown name of a machine of the referee.
#[derive(Debug, Error, Diagnostic)]
#[error("there is no shape {name:?}")]
#[diagnostic(help("{help}; other machines are named with --machine"))]
struct UnknownShape {
    name: String,
    help: String,
}

/// Shows our policy a built kernel's state at each decision, and counts by rule how often both choose alike.
#[derive(Args)]
pub struct Agree {
    /// A built kernel, as in linux:NAME
    name: String,
    /// Machine of the referee; repeatable [default: all of the governor, unless --machine names others]
    #[arg(long, value_name = "SHAPE", long_help = shape_help())]
    shape: Vec<String>,
    /// Another machine, preset or file; repeatable
    #[arg(long, value_name = "MACHINE")]
    machine: Vec<String>,
    /// Workload: one of the referee's, a built-in with options or an rt-app file; repeatable [default: the referee's of the governor]
    #[arg(long, value_name = "WORKLOAD", long_help = workload_help())]
    workload: Vec<String>,
    /// Wakeups to judge, over all machines and workloads together
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    decisions: u64,
    /// The first seed; others follow where one run is not enough
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Our scheduler, which should decide alike [default: the preset that stands for the tree's release]
    #[arg(long, value_name = "fair:SPEC")]
    preset: Option<String>,
    /// Also judge which task runs next
    #[arg(long)]
    picks: bool,
    /// Also repeat every step of PELT
    #[arg(long)]
    pelt: bool,
    /// Also judge passes of load balancing
    #[arg(long)]
    balance: bool,
    /// Frequency governor: performance, powersave or schedutil; with schedutil its requests are judged, by default on
    /// machines and workloads where wakeups go by energy
    #[arg(long, default_value = "performance", value_parser = parse_governor)]
    governor: Governor,
    /// Write the first disagreements into this directory, a file each, for a test to replay
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    format: ListFormat,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    workers: WorkerOptions,
}

fn shape_help() -> String {
    let lines = MACHINES.iter().map(|s| format!("\n- {}: {}", s.name, s.title));
    format!(
        "Machine of the referee; repeatable [default: all of the governor, unless --machine names others]\n{}",
        lines.collect::<String>()
    )
}

fn workload_help() -> String {
    let lines = WORKLOADS.iter().map(|c| format!("\n- {}: {}", c.name, c.title));
    format!(
        "Workload: one of the referee's, a built-in with options or an rt-app file; repeatable [default: the \
         referee's]\n{}",
        lines.collect::<String>()
    )
}

impl Agree {
    pub fn run(self) -> Result<End, Failure> {
        let (places, loads) = (self.places()?, self.loads());
        let kernel = Kernels::user()?.find(self.name.strip_prefix("linux:").unwrap_or(&self.name))?;
        kernel.stale().into_iter().for_each(|stale| complain(&format!("warning: {stale}")));
        let features = match &self.preset {
            Some(spec) => Features::parse(spec)?,
            None => preset_of(&kernel.record)?,
        };
        for (place, load) in places.iter().flat_map(|p| loads.iter().map(move |load| (p, load))) {
            load.workload(&place.machine, 1)?;
        }
        self.prepare_cases()?;
        let goal = self.goal(&kernel, &features)?;
        let progress = Progress::new(places.len() * loads.len());
        let sheets = judge(&goal, &places, &loads, &self.workers.workers(), self.jobs.count(), &|| progress.step())?;
        drop(progress);
        let notes = features.notes();
        let (preset, release) = (goal.preset, kernel.record.release);
        self.deliver(&ConformanceReport { kernel: kernel.name, release, preset, notes, seed: self.seed, sheets })
    }

    fn goal(&self, kernel: &BuiltKernel, features: &Features) -> Result<ConformancePlan, Failure> {
        Ok(ConformancePlan {
            kernel: format!("linux:{}", kernel.name).parse()?,
            hz: kernel.record.hz,
            preset: features.to_string(),
            decisions: self.decisions,
            seed: self.seed,
            picks: self.picks,
            pelt: self.pelt,
            balance: self.balance,
            governor: self.governor,
        })
    }

    fn places(&self) -> Result<Vec<RefereedMachine>, Failure> {
        let mut places = Vec::new();
        let all = self.shape.is_empty() && self.machine.is_empty();
        for shape in MACHINES.iter().filter(|shape| all && shape.under.includes(self.is_schedutil())) {
            places.push(RefereedMachine { name: shape.name.into(), machine: Arc::new(shape.machine()?) });
        }
        for name in &self.shape {
            let shape = ConformanceMachine::find(name).ok_or_else(|| unknown_shape(name))?;
            places.push(RefereedMachine { name: name.clone(), machine: Arc::new(shape.machine()?) });
        }
        for name in &self.machine {
            places.push(RefereedMachine { name: name.clone(), machine: Arc::new(Machine::find(name)?) });
        }
        Ok(places)
    }

    fn loads(&self) -> Vec<RefereedWorkload> {
        if self.workload.is_empty() {
            let of_governor = WORKLOADS.iter().filter(|course| course.under.includes(self.is_schedutil()));
            return of_governor.map(RefereedWorkload::Builtin).collect();
        }
        let load = |name: &String| {
            ConformanceWorkload::find(name)
                .map_or_else(|| RefereedWorkload::Spec(name.clone()), RefereedWorkload::Builtin)
        };
        self.workload.iter().map(load).collect()
    }

    fn is_schedutil(&self) -> bool {
        self.governor == Governor::Schedutil
    }

    /// Makes the directory before the work, so that an error is reported at once.
    fn prepare_cases(&self) -> Result<(), Failure> {
        let Some(dir) = &self.cases else { return Ok(()) };
        std::fs::create_dir_all(dir).map_err(|e| run_failed(format!("cannot make {}: {e}", dir.display())))
    }

    fn deliver(&self, sheets: &ConformanceReport) -> Result<End, Failure> {
        if let Some(dir) = &self.cases {
            write_cases(dir, sheets)?;
        }
        print(&match self.format {
            ListFormat::Text => sheets.text(),
            ListFormat::Json => format!("{:#}\n", sheets.json()),
        })?;
        let mut end = End::Done;
        for (sheet, (workload, seed, problem)) in sheets.failures() {
            complain(&format!("run failed: {} {workload} seed {seed}: {problem}", sheet.machine.name));
            end = End::RunFailed;
        }
        Ok(end)
    }
}

fn unknown_shape(name: &str) -> UnknownShape {
    let names: Vec<&str> = MACHINES.iter().map(|shape| shape.name).collect();
    let help = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("the shapes are {}", names.join(", ")),
    };
    UnknownShape { name: name.into(), help }
}

/// Writes files `SHAPE-WORKLOAD-KIND-RULE-N.json`, with one count over all of them.
fn write_cases(dir: &Path, sheets: &ConformanceReport) -> Result<(), Failure> {
    for (n, (sheet, found)) in sheets.disagreements().enumerate() {
        let word = |key: &str| found.said[key].as_str().unwrap_or_default().to_owned();
        let name = format!("{}-{}-{}-{}-{n}", sheet.machine.name, found.workload, word("kind"), word("rule"));
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
        let name: String = name.chars().map(plain).collect();
        let path = dir.join(name + ".json");
        let mut file = OutputFile::create(&path)?;
        let text = format!("{:#}\n", found.said["case"]);
        file.write_all(text.as_bytes()).map_err(|e| run_failed(format!("cannot write {}: {e}", path.display())))?;
        file.finish()?;
    }
    Ok(())
}

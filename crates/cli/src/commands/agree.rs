//! `fairground kernel agree`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use fairground_fair::Features;
use fairground_lab::conformance::agree::{
    judge, part, Against, ConformancePlan, ConformanceReport, Gate, Partings, RefereedMachine, RefereedWorkload,
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
    /// A built kernel to compare with, e.g. the one without the patch: both are judged beside the same scheduler of ours,
    /// and compared with each other decision by decision up to where their runs part
    #[arg(long, value_name = "OTHER")]
    against: Option<String>,
    /// Also judge which task runs next, what preempts, and what steps of run queues leave behind
    #[arg(long)]
    picks: bool,
    /// Also repeat every step of PELT
    #[arg(long)]
    pelt: bool,
    /// Also judge passes of load balancing, and what they leave behind
    #[arg(long)]
    balance: bool,
    /// Frequency governor: performance, powersave or schedutil; with schedutil its requests are judged, by default on
    /// machines and workloads where wakeups go by energy
    #[arg(long, default_value = "performance", value_parser = parse_governor)]
    governor: Governor,
    /// Write the first disagreements into this directory, a file each, for a test to replay
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// Exit with 3 if this holds, e.g. wake<99.9%; may be given several times
    ///
    /// METRIC, one of < <= > >=, NUMBER. METRIC is a kind of the table (wake, pick, left, ...), all for all kinds, or pelt.
    /// With % the number is the share that is alike: wake<99.9% holds if more than one wakeup of 1000 differs. Without, it is
    /// the number that differs: all>0. Three metrics are numbers only: topology, places in which the scheduling domains differ,
    /// changed, rows that --against calls changed, and parted, runs in which the two kernels part.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    fail_if: Vec<String>,
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
        let kernel = find(&self.name)?;
        let other = self.against.as_deref().map(find).transpose()?;
        if let Some(other) = &other {
            comparable(&kernel, other)?;
        }
        let features = match &self.preset {
            Some(spec) => Features::parse(spec)?,
            None => preset_of(&other.as_ref().unwrap_or(&kernel).record)?,
        };
        for (place, load) in places.iter().flat_map(|p| loads.iter().map(move |load| (p, load))) {
            load.workload(&place.machine, 1)?;
        }
        let gate = Gate::new(&self.fail_if, &self.goal(&kernel, &features)?, other.is_some())?;
        self.prepare_cases()?;
        // Judged by itself; with another one, both, and compared.
        let kernels = if other.is_some() { 3 } else { 1 };
        let progress = Progress::new(kernels * places.len() * loads.len());
        let judged = |kernel: BuiltKernel| {
            let goal = self.goal(&kernel, &features)?;
            let (workers, jobs) = (self.workers.workers(), self.jobs.count());
            let sheets = judge(&goal, &places, &loads, &workers, jobs, &|| progress.step())?;
            let (preset, release) = (goal.preset, kernel.record.release);
            let notes = features.notes();
            Ok::<_, Failure>(ConformanceReport { kernel: kernel.name, release, preset, notes, seed: self.seed, sheets })
        };
        let parted = |other: &BuiltKernel| {
            let plans = [self.goal(other, &features)?, self.goal(&kernel, &features)?];
            let (workers, jobs) = (self.workers.workers(), self.jobs.count());
            Ok::<_, Failure>(part([&plans[0], &plans[1]], &places, &loads, &workers, jobs, &|| progress.step())?)
        };
        let partings = other.as_ref().map(parted).transpose()?;
        let other = other.map(judged).transpose()?.zip(partings);
        let report = judged(kernel)?;
        drop(progress);
        self.deliver(&report, other, &gate)
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

    fn deliver(
        &self,
        sheets: &ConformanceReport,
        other: Option<(ConformanceReport, Partings)>,
        gate: &Gate,
    ) -> Result<End, Failure> {
        if let Some(dir) = &self.cases {
            write_cases(dir, sheets)?;
        }
        let (other, partings) = other.unzip();
        let against = other.as_ref().zip(partings).map(|(other, partings)| Against {
            kernel: other.kernel.clone(),
            release: other.release.clone(),
            tally: other.tally(),
            partings,
        });
        print(&match (self.format, &against) {
            (ListFormat::Text, None) => sheets.text(),
            (ListFormat::Text, Some(other)) => sheets.text_against(other),
            (ListFormat::Json, None) => format!("{:#}\n", sheets.json()),
            (ListFormat::Json, Some(other)) => {
                let mut report = sheets.json();
                report["against"] = sheets.json_against(other);
                format!("{report:#}\n")
            }
        })?;
        let mut end = End::Done;
        for (sheet, (workload, seed, problem)) in sheets.failures().chain(other.iter().flat_map(|o| o.failures())) {
            complain(&format!("run failed: {} {workload} seed {seed}: {problem}", sheet.machine.name));
            end = End::RunFailed;
        }
        for (machine, workload, seed, problem) in against.iter().flat_map(|other| &other.partings.failures) {
            complain(&format!("run failed: {machine} {workload} seed {seed}: {problem}"));
            end = End::RunFailed;
        }
        Ok(end.unless_held(&gate.held(sheets, against.as_ref())))
    }
}

/// A built kernel by its name, with or without `linux:`.
fn find(name: &str) -> Result<BuiltKernel, Failure> {
    let kernel = Kernels::user()?.find(name.strip_prefix("linux:").unwrap_or(name))?;
    kernel.stale().into_iter().for_each(|stale| complain(&format!("warning: {stale}")));
    Ok(kernel)
}

/// Two kernels that cannot be compared.
#[derive(Debug, Error, Diagnostic)]
#[error("linux:{kernel} cannot be judged against linux:{other}: {what}")]
#[diagnostic(help("{help}"))]
struct NotComparable {
    kernel: String,
    other: String,
    what: String,
    help: String,
}

/// Whether only the trees differ.
fn comparable(kernel: &BuiltKernel, other: &BuiltKernel) -> Result<(), NotComparable> {
    let refused = |what: String, help: &str| {
        let (kernel, other) = (kernel.name.clone(), other.name.clone());
        Err(NotComparable { kernel, other, what, help: help.into() })
    };
    if kernel.library == other.library || kernel.record.key == other.record.key {
        return refused(
            "both are the same library".into(),
            "name the kernel without the patch, built from its own tree",
        );
    }
    let (ours, theirs) = (&kernel.record, &other.record);
    let preempt = |options: &BTreeMap<String, String>| {
        let on = options.keys().filter(|option| option.starts_with("CONFIG_PREEMPT"));
        on.map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    let settings = [
        ("CONFIG_HZ", ours.hz.to_string(), theirs.hz.to_string()),
        ("CONFIG_NR_CPUS", ours.nr_cpus.to_string(), theirs.nr_cpus.to_string()),
        ("preemption", preempt(&ours.options), preempt(&theirs.options)),
    ];
    match settings.into_iter().find(|(_, ours, theirs)| ours != theirs) {
        Some((name, ours, theirs)) => refused(
            format!("{name} is {ours} in the one and {theirs} in the other"),
            "build both with the same configuration: `fairground kernel build TREE --name NAME --set OPTION=VALUE`",
        ),
        None => Ok(()),
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
    let with_case = sheets.disagreements().filter(|(_, found)| !found.said["case"].is_null());
    for (n, (sheet, found)) in with_case.enumerate() {
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

//! `fairground view`.

mod comparison;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use fairground_fair::Features;
use fairground_lab::counterfactual::WhatIf;
use fairground_lab::for_view;
use fairground_lab::page::{escaped, page_with_script};
use fairground_lab::sides::{Common, SideSpec, Sides};
use fairground_machine::{CpuMask, Machine, MachineSpec};
use fairground_run::experiment::Recorded;
use fairground_run::worker::Workers;
use fairground_sim::Governor;
use fairground_trace::{open_watched, EventSource, Note, Recording, RunHead, TraceError, TraceEvent};
use fairground_view::{page_body, Model, Side, SideReader, STYLE};
use fairground_workload::Workload;
use miette::Diagnostic;
use thiserror::Error;

use self::comparison::Saved;
use super::import::{head_of, machine_of, seconds, Backwards};
use super::run::{failure, parse_seed};
use crate::error::{run_failed, End, Failure};
use crate::input::{first_byte, is_trace, refuse_misplaced, to_be_read_twice, trace_notes};
use crate::output::{complain, note, stop_on_signals, OutputFile};
use crate::progress::{Progress, Reading};
use crate::provenance::made_by;
use crate::run_options::RunOptions;
use crate::workers::WorkerOptions;

/// Shows runs, traces or a comparison as a page.
#[derive(Args)]
#[command(override_usage = "fairground view <TRACE> [TRACE] -o <FILE>\n       \
    fairground view <MACHINE> <WORKLOAD> --sched <SCHED> -o <FILE>\n       \
    fairground view <MACHINE> <WORKLOAD> --base <SIDE> --test <SIDE> -o <FILE>\n       \
    fairground view <COMPARISON> -o <FILE>")]
pub struct View {
    /// Trace of any format that is read, base before test; or a machine; or the JSON of a comparison
    what: String,
    /// The trace of the test; or the workload
    second: Option<String>,
    /// Write the page to this file, whole or not at all; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Scheduler of a run, or of sides that do not name one
    #[arg(long, value_name = "SCHED")]
    sched: Option<String>,
    /// The first of two runs: fair:v5.9, governor=performance, 'fair: machine=rpi5'
    #[arg(long, value_name = "SIDE", requires = "test")]
    base: Option<String>,
    /// The second of two runs, written as for --base; of a comparison with several tests, which one
    #[arg(long, value_name = "SIDE")]
    test: Option<String>,
    /// Seed of the runs [default: 1; of a comparison, its first]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_seed)]
    seed: Option<u64>,
    /// Ask this scheduler at each wakeup, too [default: that of the other side, if it is another one and fair:...]
    #[arg(long, value_name = "fair:SPEC")]
    ask: Option<String>,
    /// The machine that was recorded, preset or file [default: as the trace says, if it is ours]
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Only events from S seconds after the beginning on
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    from: Option<u64>,
    /// Only events up to S seconds after the beginning
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    to: Option<u64>,
    /// Of runs: read the energy meters each MS ms
    #[arg(long, value_name = "MS", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    energy_every: u64,
    #[command(flatten)]
    options: RunOptions,
    #[command(flatten)]
    workers: WorkerOptions,
}

/// The words do not say what to show.
#[derive(Debug, Error, Diagnostic)]
enum Unclear {
    #[error("{what} is a machine, and no workload is named")]
    #[diagnostic(help("fairground view {what} WORKLOAD --sched {sched} -o FILE.html"))]
    NoWorkload { what: String, sched: String },
    #[error("{what} {workload}: no scheduler is named")]
    #[diagnostic(help(
        "fairground view {what} {workload} --sched {sched} -o FILE.html, or --base and --test for two runs"
    ))]
    NoSched { what: String, workload: String, sched: String },
    #[error("{option} is for {subject}")]
    #[diagnostic(help("leave out {option}"))]
    NotFor { option: &'static str, subject: &'static str },
    #[error("--ask {sched}: the machine of {label} is not known")]
    #[diagnostic(help("name it with --machine: a preset, or a file as `fairground machine capture` makes it"))]
    NoMachine { sched: String, label: String },
    #[error("--ask takes a scheduler of ours, not {0}")]
    #[diagnostic(help(
        "such as --ask fair:v6.12; a kernel's own scheduler is run as a side: --base or --test linux:NAME"
    ))]
    NotOurs(String),
}

/// A run or a trace to be shown.
struct SideEvents {
    name: &'static str,
    label: String,
    head: RunHead,
    /// Its machine, the machine's name and the CPUs that threads are bound to; `None`: not known.
    machine: Option<(Arc<Machine>, String, Option<CpuMask>)>,
    events: Events,
}

/// Where the events of a side are.
enum Events {
    Run(Box<Recording>),
    Trace(PathBuf),
}

/// A source that shows progress.
struct Watched {
    source: Box<dyn EventSource>,
    progress: Reading,
}

impl EventSource for Watched {
    fn next_event(&mut self) -> Result<Option<TraceEvent<'_>>, TraceError> {
        let event = self.source.next_event()?;
        event.iter().for_each(|event| self.progress.event(event.time));
        Ok(event)
    }

    fn unknown(&self) -> u64 {
        self.source.unknown()
    }

    fn notes(&self) -> Vec<Note> {
        self.source.notes()
    }

    fn unexpected(&self, expected: &str) -> TraceError {
        self.source.unexpected(expected)
    }
}

/// Sides and texts of a page, and its file.
struct PageContent {
    title: String,
    sides: Vec<SideEvents>,
    /// What made it, and from what: lines of text.
    made: String,
    output: OutputFile,
}

/// Two runs, or one.
struct Runs {
    machine: String,
    workload: String,
    sides: Vec<SideSpec>,
    seed: u64,
    /// Hashes that the runs of a comparison had.
    hashes: Option<[String; 2]>,
}

impl View {
    pub fn run(self) -> Result<End, Failure> {
        if let (Some(from), Some(to)) = (self.from, self.to) {
            if to < from {
                return Err(Backwards.into());
            }
        }
        if let Some(sched) = self.ask.as_ref().filter(|sched| !sched.starts_with("fair:")) {
            return Err(Unclear::NotOurs(sched.clone()).into());
        }
        let what = Path::new(&self.what);
        let is_json = what.is_file() && matches!(first_byte(what), Some(b'{' | b'['));
        let PageContent { title, sides, made, mut output } = match &self.second {
            None if is_json => self.of_runs(self.compared()?)?,
            None if !what.exists() && MachineSpec::parse(&self.what).find().is_ok() => {
                let (what, sched) = (self.what.clone(), Features::newest().to_string());
                return Err(Unclear::NoWorkload { what, sched }.into());
            }
            None => self.of_traces(&[what])?,
            Some(second) if is_trace(what) => self.of_traces(&[what, Path::new(second)])?,
            Some(workload) => self.of_runs(self.named_runs(workload)?)?,
        };
        let model = Model::new(&title, self.read(&sides)?);
        let made: String = made.lines().map(|line| format!("<p class=\"soft\">{}</p>\n", escaped(line))).collect();
        let page = page_with_script(&title, STYLE, &escaped(&title), &(page_body(&model) + &made));
        output.write_all(page.as_bytes()).map_err(|e| run_failed(format!("cannot write the page: {e}")))?;
        output.finish()?;
        Ok(End::Done)
    }

    /// Refuses an option that means nothing here.
    fn refuse(&self, given: &[(&'static str, bool)], subject: &'static str) -> Result<(), Failure> {
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Unclear::NotFor { option, subject }.into()),
            None => Ok(()),
        }
    }

    /// Whether an option of runs is given.
    fn gives(&self, option: &str) -> bool {
        self.options.typed().iter().any(|word| word == option)
    }

    /// The settings of runs that no trace takes, and whether each is given.
    fn only_of_runs(&self) -> Vec<(&'static str, bool)> {
        ["--idle-governor", "--idle-limit", "--sysctl", "--ambient", "--draw"]
            .map(|option| (option, self.gives(option)))
            .into()
    }

    /// The runs of a machine and a workload.
    fn named_runs(&self, workload: &str) -> Result<Runs, Failure> {
        self.refuse(&[("--machine", self.machine.is_some())], "traces")?;
        refuse_misplaced("view", &self.what, workload)?;
        let sides = match (&self.base, &self.test, &self.sched) {
            (Some(base), Some(test), _) => vec![SideSpec::parse("--base", base)?, SideSpec::parse("--test", test)?],
            (None, Some(test), Some(base)) => {
                vec![SideSpec::parse("--sched", base)?, SideSpec::parse("--test", test)?]
            }
            (None, None, Some(sched)) => vec![SideSpec::parse("--sched", sched)?],
            _ => {
                let (what, workload) = (self.what.clone(), workload.to_owned());
                return Err(Unclear::NoSched { what, workload, sched: Features::newest().to_string() }.into());
            }
        };
        let (machine, workload) = (self.what.clone(), workload.to_owned());
        Ok(Runs { machine, workload, sides, seed: self.seed.unwrap_or(1), hashes: None })
    }

    /// The first pair of runs of a saved comparison.
    fn compared(&self) -> Result<Runs, Failure> {
        let given = [
            ("--machine", self.machine.is_some()),
            ("--base", self.base.is_some()),
            ("--sched", self.sched.is_some()),
            ("--hz", self.gives("--hz")),
            ("--governor", self.gives("--governor")),
        ];
        self.refuse(&[&given, &*self.only_of_runs()].concat(), "runs that are named, not for a saved comparison")?;
        let Saved { machine, workload, sides, seed, hashes } =
            Saved::read(Path::new(&self.what), self.test.as_deref(), self.seed)?;
        Ok(Runs { machine, workload, sides, seed, hashes })
    }

    fn of_runs(&self, runs: Runs) -> Result<PageContent, Failure> {
        let Runs { machine, workload, sides: specs, seed, hashes } = runs;
        let inputs = [MachineSpec::parse(&machine).file(), Workload::file(&workload), Some(Path::new(&self.what))];
        let output = OutputFile::beside(&self.output, &inputs)?;
        let common = Common {
            machine: &machine,
            workload: &workload,
            sched: self.sched.as_deref(),
            config: self.options.config()?,
        };
        let workers: Workers = self.workers.workers();
        let sides = Sides::find(&specs, &common, &workers)?;
        sides.warnings.iter().for_each(|warning| complain(&format!("warning: {warning}")));
        let names: &[&str] = if sides.experiments.len() == 2 { &["base", "test"] } else { &["run"] };
        let mut shown = Vec::new();
        let progress = Progress::new(sides.experiments.len());
        for (number, (side, experiment)) in sides.named().iter().zip(&sides.experiments).enumerate() {
            let setting = |name| side.settings.get(name).unwrap_or_default();
            let names_of = [setting("machine"), setting("workload"), setting("sched")];
            let every_ns = self.energy_every * 1_000_000;
            let recorded = for_view::record(experiment, names_of, seed, every_ns, &stop_on_signals());
            let Recorded { report, recording } = recorded.map_err(failure)?;
            progress.step();
            if let Some(known) = hashes.as_ref().map(|hashes| &hashes[number]).filter(|known| !known.is_empty()) {
                if *known != format!("{:032x}", report.hash) {
                    progress.aside(|| complain(&format!("warning: {} is not the run of the comparison: another program, machine or workload made that", side.name)));
                }
            }
            let cpus = MachineSpec::parse(setting("machine")).cpus(&experiment.machine)?;
            let head = RunHead::read(&mut recording.source(&side.name))?;
            shown.push(SideEvents {
                name: names[number],
                label: side.name.clone(),
                head,
                machine: Some((Arc::clone(&experiment.machine), setting("machine").to_owned(), cpus)),
                events: Events::Run(Box::new(recording)),
            });
        }
        let mut made = String::new();
        sides.provenance(made_by()).text(&mut made, "");
        Ok(PageContent { title: format!("{machine} {workload}"), sides: shown, made, output })
    }

    fn of_traces(&self, traces: &[&Path]) -> Result<PageContent, Failure> {
        let given = [
            ("--sched", self.sched.is_some()),
            ("--base", self.base.is_some()),
            ("--test", self.test.is_some()),
            ("--seed", self.seed.is_some()),
        ];
        self.refuse(&[&given, &*self.only_of_runs()].concat(), "runs, not for traces")?;
        let inputs: Vec<Option<&Path>> = traces.iter().map(|trace| Some(*trace)).collect();
        let output = OutputFile::beside(&self.output, &inputs)?;
        let names: &[&str] = if traces.len() == 2 { &["base", "test"] } else { &["trace"] };
        let mut shown = Vec::new();
        for (name, trace) in names.iter().zip(traces) {
            to_be_read_twice(trace, "view")?;
            let head = head_of(trace)?;
            let machine = match (&self.machine, head.meta("machine")) {
                (None, None) => None,
                (Some(_), _) => Some(machine_of(trace, self.machine.as_deref())?),
                // A trace that is shown elsewhere than where its machine's file is.
                (None, Some(_)) => machine_of(trace, None).ok().or_else(|| {
                    note(&format!("the machine of {} is not here: no types, no capacities", trace.display()));
                    None
                }),
            };
            let sched = head.meta("sched").map(|sched| format!("{sched}, {}", trace.display()));
            shown.push(SideEvents {
                name,
                label: sched.unwrap_or_else(|| trace.display().to_string()),
                head,
                machine: machine.map(|named| (Arc::new(named.machine), named.name, named.cpus)),
                events: Events::Trace(trace.to_path_buf()),
            });
        }
        let title: Vec<String> = traces.iter().map(|trace| trace.display().to_string()).collect();
        let mut made = String::new();
        made_by().text(&mut made);
        Ok(PageContent { title: title.join(" and "), sides: shown, made, output })
    }

    fn read(&self, shown: &[SideEvents]) -> Result<Vec<Side>, Failure> {
        let mut sides = Vec::new();
        for (number, side) in shown.iter().enumerate() {
            let ask = self.whom(side, shown.get(1 - number.min(1)).filter(|_| shown.len() == 2));
            let what_if = ask.map(|sched| self.what_if(side, sched)).transpose()?;
            let asked = what_if.as_ref().map(|what_if| for_view::ask(what_if, &side.head)).transpose()?;
            let machine = side.machine.as_ref().map(|(machine, ..)| &**machine);
            let reader = SideReader::new(side.name, &side.label)
                .on(machine)
                .asking(asked)
                .between(self.from.unwrap_or(0), self.to.unwrap_or(u64::MAX));
            let read = match &side.events {
                Events::Run(recording) => reader.read(recording.source(&side.label))?,
                Events::Trace(path) => {
                    let (source, position) = open_watched(path)?;
                    reader.read(Watched { source, progress: Reading::new(position) })?
                }
            };
            trace_notes(&read.notes);
            sides.push(read);
        }
        Ok(sides)
    }

    /// The scheduler that is asked at the wakeups of a side.
    fn whom(&self, side: &SideEvents, other: Option<&SideEvents>) -> Option<String> {
        if self.ask.is_some() {
            return self.ask.clone();
        }
        for_view::other_sched(&side.head, &other?.head).filter(|_| side.machine.is_some()).map(str::to_owned)
    }

    fn what_if(&self, side: &SideEvents, sched: String) -> Result<WhatIf, Failure> {
        let Some((machine, name, allowed)) = &side.machine else {
            return Err(Unclear::NoMachine { sched, label: side.label.clone() }.into());
        };
        let config = self.options.config()?;
        let is_trace = matches!(side.events, Events::Trace(_));
        Ok(WhatIf {
            // Of a run, its head says both.
            schedutil: (is_trace && self.gives("--governor")).then_some(config.governor == Governor::Schedutil),
            hz: config.hz.filter(|_| is_trace),
            ..WhatIf::of_all(Arc::clone(machine), name, *allowed, sched)
        })
    }
}

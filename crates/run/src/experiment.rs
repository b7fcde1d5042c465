//! Machine, workload, schedulers and settings, ready to run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::Arc;

use fairground_fair::FairError;
use fairground_machine::Machine;
use fairground_sim::{Config, Engine, HashObserver, MetricsObserver, Observer, Scheduler, SimError};
use fairground_trace::rtapp_log::RtappLog;
use fairground_trace::rtapp_marks::RtappMarks;
use fairground_trace::{
    EventTables, Export, FtraceText, Hardware, IgnoreBrokenPipe, Names, PerfettoTrace, Recording, RecordingFile,
    RuleNames,
};
use fairground_workload::rtapp::LogPlan;
use fairground_workload::Workload;
use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::batch::{RunReport, Runner};
use crate::memory;
use crate::metrics::Metric;
use crate::metrics::{metric_values, metrics, notes, usual};
use crate::metrics::{Selected, Selection, SelectionError};
use crate::sched_spec::{fair, SchedSpec};
use crate::worker::options::Workers;

/// Everything that determines a run but the seed.
pub struct Experiment {
    /// The machine that runs are simulated on.
    pub machine: Arc<Machine>,
    /// The workload: tasks, groups and what each task does.
    pub workload: Arc<Workload>,
    /// Schedulers; the first is the base.
    pub scheds: Vec<SchedSpec>,
    /// Configuration of runs. The seed in it is replaced by that of each run.
    pub config: Config,
    /// Options of workers, for runs that must not happen in this process.
    pub workers: Workers,
}

/// Why a run has no report.
#[derive(Debug, Error, Diagnostic)]
pub enum RunError {
    /// Our scheduler cannot serve the machine.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Fair(#[from] FairError),
    /// The run could not begin.
    #[error("{0}")]
    Refused(String),
    /// The run failed after it began.
    #[error("{0}")]
    Failed(String),
    /// A limit of time or memory ended the run. It may succeed under another limit, or on another computer.
    #[error("{0}")]
    Limited(String),
    /// The process of the run could not be started or watched, or another process killed it. This does not depend on
    /// the run: the next attempt may succeed.
    #[error("{0}")]
    Lost(String),
}

impl RunError {
    /// Whether the same run would fail again, on any computer. Such a failure is a result, and is stored. A run that a
    /// limit ended, or that was lost, has no result.
    pub fn is_result(&self) -> bool {
        !matches!(self, RunError::Limited(_) | RunError::Lost(_))
    }
}

impl From<SimError> for RunError {
    fn from(error: SimError) -> RunError {
        let text = error.to_string().trim_end().to_owned();
        match error {
            SimError::Program { .. } | SimError::Refused { .. } => RunError::Refused(text),
            _ => RunError::Failed(text),
        }
    }
}

/// The outcome of a run, and that of writing its trace.
pub struct Ran {
    /// Its report, or why there is none.
    pub outcome: Result<RunReport, RunError>,
    /// Whether its trace, if one was requested, could be written up to the end of the run.
    pub trace: io::Result<()>,
}

impl From<RunError> for Ran {
    fn from(error: RunError) -> Ran {
        Ran { outcome: Err(error), trace: Ok(()) }
    }
}

/// Format of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TraceFormat {
    /// Text of the kernel's ftrace, as [`FtraceText`] writes it.
    #[default]
    Text,
    /// Perfetto's protobuf, as [`PerfettoTrace`] writes it.
    Perfetto,
    /// Fairground's own event file, as [`RecordingFile`] writes it.
    Recording,
}

/// Format and metadata of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceHead {
    /// The format to write.
    pub format: TraceFormat,
    /// As [`run_facts`].
    pub meta: Vec<(String, String)>,
    /// The settings that differ from their defaults.
    pub notes: Vec<String>,
    /// Whether to write the reasons of every placement too.
    pub why: bool,
    /// If set: also write what rt-app's threads write to `trace_marker` ([`fairground_trace::rtapp_marks`]).
    pub marks: Option<LogPlan>,
}

/// What a trace says of its run: `machine`, `workload` and `sched` by name, `seed`, and the names of the rails whose energy it
/// has.
pub fn run_facts(names: [&str; 3], seed: u64, rails: Option<&Machine>) -> Vec<(String, String)> {
    let [machine, workload, sched] = names.map(str::to_owned);
    let facts = [("machine", machine), ("workload", workload), ("sched", sched), ("seed", seed.to_string())];
    let rails = rails.into_iter().flat_map(|machine| machine.rails().into_iter().enumerate());
    let facts = facts.map(|(key, value)| (key.to_owned(), value)).into_iter();
    facts.chain(rails.map(|(number, (name, _))| (format!("rail{number}"), name.to_owned()))).collect()
}

impl TraceHead {
    fn meta(&self) -> Vec<(&str, &str)> {
        self.meta.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
    }

    /// The notes of the scheduler and of the run.
    fn notes(&self, sched: &dyn Scheduler) -> Vec<String> {
        [sched.notes(), self.notes.clone()].concat()
    }
}

/// A trace to write.
pub struct Trace {
    /// Format and metadata of the trace.
    pub head: TraceHead,
    /// The file to write to, from its current position on.
    pub file: File,
}

/// Logs to write, as rt-app writes them ([`fairground_trace::rtapp_log`]).
pub struct Logs {
    /// Describes which thread logs what, and in which file.
    pub plan: Arc<LogPlan>,
    /// The file to write the lines of all threads to, from its current position on.
    pub file: File,
}

/// Files that a run writes.
#[derive(Default)]
pub struct Outputs {
    /// Trace of the run's events; `None` if no trace is requested.
    pub trace: Option<Trace>,
    /// Its logs. If the logs cannot be written, the run has failed.
    pub logs: Option<Logs>,
}

/// Report and events of a run.
pub struct Recorded {
    /// The figures of the run.
    pub report: RunReport,
    /// The events of the run, in memory.
    pub recording: Recording,
}

/// The virtual time that a run has reached, ns.
pub type SharedTime = Arc<AtomicU64>;

/// When it is set to true, the run fails soon.
pub type Stop = Arc<AtomicBool>;

/// What others see of a run while it is made, and how they stop it.
#[derive(Clone, Default)]
pub struct Attendance {
    /// The run writes its virtual time here.
    pub time: Option<SharedTime>,
    /// Stops the run when it becomes true.
    pub stop: Option<Stop>,
}

impl From<&Stop> for Attendance {
    fn from(stop: &Stop) -> Self {
        Attendance { time: None, stop: Some(Arc::clone(stop)) }
    }
}

impl Experiment {
    /// This experiment on a copy of its machine that `change` has changed.
    pub fn with_machine(&self, change: impl FnOnce(&mut Machine)) -> Experiment {
        let mut machine = Machine::clone(&self.machine);
        change(&mut machine);
        Experiment {
            machine: Arc::new(machine),
            workload: Arc::clone(&self.workload),
            scheds: self.scheds.clone(),
            config: self.config,
            workers: self.workers.clone(),
        }
    }

    /// This experiment with another workload.
    pub fn with_workload(&self, workload: Workload) -> Experiment {
        Experiment { workload: Arc::new(workload), ..self.with_machine(|_| ()) }
    }

    /// The metrics that every run reports.
    pub fn metrics(&self) -> Vec<Metric> {
        metrics(&self.workload, &self.machine)
    }

    /// The metrics of `selection`.
    ///
    /// # Errors
    /// If `selection` names a metric that runs do not report.
    pub fn selected(&self, selection: &Selection) -> Result<Selected, SelectionError> {
        selection.among(&self.metrics(), usual(&self.workload, &self.machine))
    }

    /// One run of a scheduler with a seed: in this process, or in a worker if the scheduler needs one.
    pub fn carry_out(&self, sched: usize, seed: u64, trace: Option<Trace>) -> Ran {
        self.write(sched, seed, Outputs { trace, logs: None }, Attendance::default())
    }

    /// The report of a run. When `stop` becomes true, the run fails soon.
    ///
    /// # Errors
    /// If the run fails.
    pub fn until(&self, stop: &Stop, sched: usize, seed: u64) -> Result<RunReport, RunError> {
        self.write(sched, seed, Outputs::default(), stop.into()).outcome
    }

    /// As [`Self::carry_out`], with all outputs of a run.
    pub fn write(&self, sched: usize, seed: u64, outputs: Outputs, attendance: Attendance) -> Ran {
        let spec = &self.scheds[sched];
        let Some(features) = spec.features().filter(|_| !self.workers.always) else {
            return self.workers.run(self, spec, seed, outputs, attendance);
        };
        let _room = match memory::reserve(&self.workload) {
            Ok(room) => room,
            Err(error) => return error.into(),
        };
        match fair(features, &self.machine) {
            Err(error) => RunError::from(error).into(),
            Ok(sched) => {
                let trace = outputs.trace.map(|t| (t.head, BufWriter::new(IgnoreBrokenPipe(t.file))));
                let mut engine = self.engine(sched, seed);
                attendance.stop.into_iter().for_each(|stop| engine.stop_on(stop));
                attendance.time.into_iter().for_each(|time| engine.show_time(time));
                self.finish(engine, trace, outputs.logs)
            }
        }
    }

    /// The engine of a run that has not begun.
    pub fn engine(&self, sched: Box<dyn Scheduler>, seed: u64) -> Engine {
        let config = Config { seed, ..self.config };
        Engine::new(Arc::clone(&self.machine), Arc::clone(&self.workload), sched, config)
    }

    /// Carries a run out in this process.
    pub fn finish<W: Write>(&self, engine: Engine, trace: Option<(TraceHead, W)>, logs: Option<Logs>) -> Ran {
        let mut exporter = trace.map(|(head, out)| self.exporter(&head, out, engine.scheduler()));
        let mut log = logs.map(|l| RtappLog::new(BufWriter::new(l.file), l.plan, Arc::clone(&self.workload)));
        let mut observers: Vec<&mut dyn Observer> = Vec::new();
        observers.extend(exporter.as_deref_mut().map(|o| o as &mut dyn Observer));
        observers.extend(log.as_mut().map(|o| o as &mut dyn Observer));
        let outcome = self.observe(engine, &mut observers).map_err(RunError::from);
        let logged = log.map_or(Ok(()), |log| log.finish().map(drop));
        let log_error = |e: io::Error| RunError::Failed(format!("cannot write the logs: {e}"));
        let outcome = outcome.and_then(|report| logged.map(|()| report).map_err(log_error));
        Ran { outcome, trace: exporter.map_or(Ok(()), Export::finish) }
    }

    /// One run, with its events in memory: in this process, or in a worker if the scheduler needs one. The format in
    /// `head` is ignored.
    ///
    /// # Errors
    /// As [`Self::carry_out`].
    pub fn recorded(&self, sched: usize, seed: u64, head: TraceHead, stop: &Stop) -> Result<Recorded, RunError> {
        match self.scheds[sched].features().filter(|_| !self.workers.always) {
            Some(features) => {
                let _room = memory::reserve(&self.workload)?;
                let mut engine = self.engine(fair(features, &self.machine)?, seed);
                engine.stop_on(Arc::clone(stop));
                self.recorded_here(engine, &head)
            }
            None => self.workers.recorded(self, sched, seed, head, stop),
        }
    }

    fn recorded_here(&self, engine: Engine, head: &TraceHead) -> Result<Recorded, RunError> {
        let mut tables = Box::new(self.tables(head.why, engine.scheduler()));
        tables.head(&head.meta(), &head.notes(engine.scheduler()));
        let report = match head.marks.clone() {
            None => self.observe(engine, &mut [&mut *tables])?,
            Some(plan) => {
                let mut marks = RtappMarks::new(tables, Arc::new(plan), Arc::clone(&self.workload));
                let report = self.observe(engine, &mut [&mut marks])?;
                tables = marks.into_trace();
                report
            }
        };
        Ok(Recorded { report, recording: EventTables::finish(*tables) })
    }

    fn tables(&self, why: bool, sched: &dyn Scheduler) -> EventTables {
        EventTables::new(
            self.machine.nr_cpus(),
            Names::new(Arc::clone(&self.workload)),
            RuleNames::from_scheduler(sched),
            why,
        )
    }

    fn exporter<'w, W: Write + 'w>(&self, head: &TraceHead, out: W, sched: &dyn Scheduler) -> Box<dyn Export + 'w> {
        let (names, words) = (Names::new(Arc::clone(&self.workload)), RuleNames::from_scheduler(sched));
        let mut exporter: Box<dyn Export + 'w> = match head.format {
            TraceFormat::Text => Box::new(FtraceText::new(out, self.machine.nr_cpus(), names, words, head.why)),
            TraceFormat::Perfetto => {
                Box::new(PerfettoTrace::new(out, Hardware::from_machine(&self.machine), names, words, head.why))
            }
            TraceFormat::Recording => Box::new(RecordingFile::new(out, self.tables(head.why, sched))),
        };
        exporter.head(&head.meta(), &head.notes(sched));
        match head.marks.clone() {
            Some(plan) => Box::new(RtappMarks::new(exporter, Arc::new(plan), Arc::clone(&self.workload))),
            None => exporter,
        }
    }

    /// Runs `engine` and returns its hash and metrics. `observers` receive every event too.
    fn observe(&self, mut engine: Engine, observers: &mut [&mut dyn Observer]) -> Result<RunReport, SimError> {
        let mut hash = HashObserver::for_scheduler(engine.scheduler());
        let mut metrics = MetricsObserver::new(Arc::clone(&self.machine), &self.workload);
        let mut all: Vec<&mut dyn Observer> = vec![&mut hash, &mut metrics];
        for observer in observers {
            all.push(&mut **observer);
        }
        let outcome = engine.run(&mut all)?;
        let run = metrics.finish(&outcome, engine.scheduler());
        Ok(RunReport {
            metrics: metric_values(&self.workload, &self.machine, &run),
            hash: hash.value(),
            notes: [outcome.notes, notes(&self.workload, &self.machine, &run)].concat(),
        })
    }
}

impl Runner for Experiment {
    fn run(&self, sched: usize, seed: u64) -> Result<RunReport, String> {
        self.carry_out(sched, seed, None).outcome.map_err(|e| e.to_string())
    }
}

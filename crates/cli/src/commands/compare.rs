//! `fairground compare`.

mod trace;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use fairground_lab::comparison::Report;
use fairground_lab::fail_if::FailIf;
use fairground_lab::tables::{printable, Format};
use fairground_machine::MachineSpec;
use fairground_run::batch::{BatchError, Plan, Results};
use fairground_run::executor::Executor;
use fairground_run::experiment::Experiment;
use fairground_run::metrics::Selection;
use fairground_run::run_config;
use fairground_workload::Workload;

use crate::circumstances::{Circumstances, Jobs};
use crate::error::{run_failed, End, Failure};
use crate::input::trace_path;
use crate::output::{complain, print, stop_on_interrupt, OutputFile};
use crate::store::{Runs, StoreOptions};
use crate::workers::WorkerOptions;

/// Compares schedulers on a machine under a workload, paired over seeds.
#[derive(Args)]
pub struct Compare {
    /// Preset or file; with CPUs to which the workload is bound behind it as numactl takes them: @node0, @node0-1, @0-3,8
    #[arg(required_unless_present = "trace")]
    machine: Option<String>,
    /// Built-in with options (sched-pipe:loops=50000,threads) or an rt-app file
    #[arg(required_unless_present = "trace")]
    workload: Option<String>,
    /// Compare with this trace how the schedulers under test run what it recorded, instead of with a scheduler
    #[arg(long, value_name = "FILE", conflicts_with_all = ["machine", "workload", "base"], value_parser = trace_path())]
    trace: Option<PathBuf>,
    /// Of --trace: the machine that was recorded [default: as the trace says, if it is ours]
    #[arg(long = "machine", value_name = "MACHINE", requires = "trace")]
    of_machine: Option<String>,
    /// Scheduler to compare against
    #[arg(long, value_name = "SCHED", default_value = "fair:v5.9")]
    base: String,
    /// Scheduler under test; may be given several times
    #[arg(long, value_name = "SCHED", default_value = "fair:v5.9+asym-prev-first")]
    test: Vec<String>,
    /// Pairs of runs: seeds 1 to N
    #[arg(long, value_name = "N", default_value = "8", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: u64,
    /// own, mmtests, amd, arm, markdown, csv or json
    #[arg(long, default_value_t = Format::Own)]
    format: Format,
    /// Which figures: usual, all, or names with commas between
    #[arg(long, value_name = "LIST", default_value_t = Selection::Usual)]
    metrics: Selection,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    store: StoreOptions,
    /// Exit with 3 if this holds for any test, e.g. ops_per_sec<-2%; may be given several times
    ///
    /// METRIC, one of < <= > >=, NUMBER. With % the number is an improvement in percent of base, positive is better:
    /// ops_per_sec<-2% holds if test is more than 2 % worse. Without, it is the mean of test in the metric's unit:
    /// wakeup_latency_p99_us>500.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    fail_if: Vec<String>,
    /// Run everything twice; a run whose events differ has failed
    #[arg(long)]
    check_determinism: bool,
    #[command(flatten)]
    circumstances: Circumstances,
    #[command(flatten)]
    workers: WorkerOptions,
    /// Write the result to this file instead, whole or not at all; - is standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Compare {
    pub fn run(self) -> Result<End, Failure> {
        let conditions = self.fail_if.iter().map(|c| c.parse()).collect::<Result<Vec<FailIf>, _>>()?;
        let output = self.output.as_deref().map(|path| OutputFile::beside(path, &self.inputs())).transpose()?;
        let report = match (&self.trace, &self.machine, &self.workload) {
            (Some(trace), ..) => self.of_trace(trace, &conditions)?,
            (None, machine, workload) => {
                // Required without a trace.
                let names = [machine, workload].map(|name| name.as_deref().unwrap_or_default());
                self.of_workload(names, &conditions)?
            }
        };
        deliver(&self.format.render(&report), output)?;
        Ok(end(&report, &conditions))
    }

    /// The files that are read.
    fn inputs(&self) -> [Option<&Path>; 3] {
        let machine = self.machine.as_deref().or(self.of_machine.as_deref());
        let machine = machine.and_then(|machine| MachineSpec::parse(machine).file());
        [machine, self.workload.as_deref().and_then(Workload::file), self.trace.as_deref()]
    }

    /// `names`: machine and workload.
    fn of_workload(&self, names: [&str; 2], conditions: &[FailIf]) -> Result<Report, Failure> {
        let scheds: Vec<String> = std::iter::once(&self.base).chain(&self.test).cloned().collect();
        let mut experiment = self.circumstances.experiment(names[0], names[1], &scheds)?;
        experiment.workers = self.workers.workers();
        for condition in conditions {
            condition.check(&experiment.metrics())?;
        }
        let selected = experiment.selected(&self.metrics)?;
        let experiment = Arc::new(experiment);
        let plan = self.plan(scheds.len());
        let results = self.results(&experiment, &plan)?;
        let mut report = Report::new(names[0], names[1], &scheds, &plan.seeds, &results);
        run_config::notes(&experiment.config).into_iter().for_each(|note| report.note(note));
        report.keep(&conditions.iter().fold(selected, |selected, c| selected.with(c.metric())));
        Ok(report)
    }

    /// What the store has of a plan, and the rest run.
    fn results(&self, experiment: &Arc<Experiment>, plan: &Plan) -> Result<Results, Failure> {
        // Whoever checks determinism wants every run made.
        let store = if plan.check_determinism { None } else { self.store.open()? };
        let (runs, stop) = (Runs::new(), stop_on_interrupt());
        match Executor::batch(experiment, plan, store.as_ref(), &stop, &|progress| runs.tell(progress)) {
            Err(BatchError::Stopped) => Err(runs.interrupted(store.as_ref())),
            results => Ok(results?),
        }
    }

    fn plan(&self, scheds: usize) -> Plan {
        Plan {
            scheds,
            seeds: (1..=self.seeds).collect(),
            jobs: self.jobs.count(),
            check_determinism: self.check_determinism,
        }
    }
}

/// To the file, or to standard output.
pub fn deliver(text: &str, output: Option<OutputFile>) -> Result<(), Failure> {
    let Some(mut file) = output else { return print(text) };
    file.write_all(printable(text).as_bytes()).map_err(|e| run_failed(format!("cannot write the result: {e}")))?;
    file.finish()
}

fn end(report: &Report, conditions: &[FailIf]) -> End {
    for f in &report.failures {
        complain(&format!("run failed: {} seed {}: {}", f.sched, f.seed, f.message));
    }
    let held: Vec<String> = conditions.iter().flat_map(|c| c.held(report)).collect();
    held.iter().for_each(|line| complain(line));
    match (report.failures.is_empty(), held.is_empty()) {
        (false, _) => End::RunFailed,
        (true, false) => End::ConditionHeld,
        (true, true) => End::Done,
    }
}

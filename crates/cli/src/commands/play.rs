//! `fairground play`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::Args;
use fairground_lab::doubt::quantile;
use fairground_lab::tables::number;
use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_play::{command_line, tool_round, Calibration, CannotPlay, Ended, Player, Round, RoundOptions};
use fairground_run::metrics::{own_metric_values, own_notes, Better, Metric, MetricValue};
use fairground_trace::tracefs::{Recorded, Tracer, TracerError};
use fairground_workload::{Builtin, Original, Workload, TOOLS};
use miette::Diagnostic;
use serde_json::{json, Value};
use thiserror::Error;

use super::run::{parse_seed, RunFormat};
use crate::error::{run_failed, End, Failure};
use crate::input::machine_or_this;
use crate::output::{complain, print, stop_on_signals, OutputFile};
use crate::provenance::made_by;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-play-1";
/// Steal time and others' time above which a note says so, percent.
const STEAL_PCT: f64 = 1.0;
const OTHERS_PCT: f64 = 5.0;
/// The time limit, s, and what a workload with a duration has beyond it.
const TIMEOUT_S: u64 = 60;
const BEYOND_DURATION_S: u64 = 10;

/// CPUs that cannot be used.
#[derive(Debug, Error, Diagnostic)]
#[error("--cpus {asked}: CPUs {missing} are not to be had")]
#[diagnostic(help("this command may use CPUs {allowed}"))]
struct NoSuchCpus {
    asked: CpuMask,
    missing: CpuMask,
    allowed: CpuMask,
}

/// A tool that does not do what the workload does.
#[derive(Debug, Error, Diagnostic)]
#[error("--with {tool}: {tool} does not do what {workload} does")]
#[diagnostic(help(
    "perf does sched-pipe, messaging, and hackbench with its usual messages and groups; hackbench does hackbench; rt-app does files \
     without options after the name, and without pipes, sockets, `process`, `execve` and `reap`"
))]
struct NoOriginal {
    tool: String,
    workload: String,
}

/// Who carries rounds out.
enum Executor {
    /// Threads that carry out the steps of the workload.
    Player(Player),
    /// The tool that the workload repeats, or is written for, on these CPUs.
    Tool(Box<Workload>, Original, CpuMask),
}

impl Executor {
    fn round(&self, options: &RoundOptions, stop: &AtomicBool) -> Result<Round, Failure> {
        match self {
            Executor::Player(player) => player.round(options, stop).map_err(run_failed),
            Executor::Tool(_, original, cpus) => tool_round(original, cpus, options.limit, stop).map_err(run_failed),
        }
    }

    fn workload(&self) -> &Workload {
        match self {
            Executor::Player(player) => player.workload(),
            Executor::Tool(workload, ..) => workload,
        }
    }

    fn figures(&self, round: &Round) -> Vec<MetricValue> {
        let has_own = !matches!(self, Executor::Tool(_, Original { figure: None, .. }, _));
        figures(self.workload(), has_own, round)
    }
}

/// Executes a workload for real on this machine; prints what it measures.
#[derive(Args)]
pub struct Play {
    /// Built-in with options (sched-pipe:loops=50000,threads) or an rt-app file
    workload: String,
    /// Preset or file that describes this machine, by which the workload is read [default: as `machine capture` sees it]
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// CPUs to bind the workload to, as taskset does: 0-1,4 [default: all that this command may use]
    #[arg(long, value_name = "LIST", value_parser = CpuMask::parse_list)]
    cpus: Option<CpuMask>,
    /// Run the tool that the built-in repeats instead, with the same options: perf for sched-pipe and messaging, perf or
    /// hackbench for hackbench; rt-app for a file
    #[arg(long, value_name = "TOOL", conflicts_with = "migrations", value_parser = PossibleValuesParser::new(TOOLS))]
    with: Option<String>,
    /// Rounds; their median and their least and greatest figures are printed
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u64).range(1..=1000))]
    rounds: u64,
    /// Seed of the draws of the first round; each further round has the next
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = parse_seed)]
    seed: u64,
    /// Time after which a round is ended, s [default: 60; of a workload with a duration at least that and 10 more]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: Option<u64>,
    /// Also count migrations, with a perf event in every task; it makes each context switch dearer
    #[arg(long)]
    migrations: bool,
    /// Play one more round, with the first one's seed, and record it: a trace.dat file of all that the kernel schedules
    /// meanwhile. Takes root
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Room for events of each CPU, MiB; a recording ends where one is full
    #[arg(long, value_name = "MIB", default_value = "16", requires = "trace",
          value_parser = clap::value_parser!(u64).range(1..=65_536))]
    trace_buffer: u64,
    /// Also play what could make this machine unusable: more than 10,000 threads, real-time policies, working sets of
    /// more than half of the memory
    #[arg(long)]
    yes: bool,
    /// How to print the figures
    #[arg(long, value_enum, default_value_t)]
    format: RunFormat,
}

impl Play {
    pub fn run(self) -> Result<End, Failure> {
        let (machine, _) = machine_or_this(self.machine.as_deref())?;
        let (workload, cpus) = self.find_workload(&machine)?;
        let fastest = fastest(&machine, &cpus);
        let limit = Duration::from_secs(self.timeout.unwrap_or_else(|| default_timeout(&workload)));
        let original = self.with.as_deref().map(|tool| self.find_original(tool, &workload, &machine)).transpose()?;
        let executor = match original {
            Some(original) => Executor::Tool(Box::new(workload), original, cpus),
            None => Executor::Player(Player::new(workload, &cpus, fastest, self.yes).map_err(|error| match error {
                CannotPlay::Refused(refusal) => refusal.into(),
                CannotPlay::Round(error) => run_failed(error),
            })?),
        };
        let stop = stop_on_signals();
        // Both before the first round, so that what is amiss is known at once.
        let file = self.trace.as_deref().map(OutputFile::create).transpose()?;
        let recording =
            file.map(|file| Ok::<_, TracerError>((Tracer::new(self.trace_buffer << 10)?, file))).transpose()?;
        let mut rounds = Vec::new();
        for n in 0..self.rounds {
            let options = RoundOptions { seed: self.seed.wrapping_add(n), limit, count_migrations: self.migrations };
            let round = executor.round(&options, &stop)?;
            let ended = round.ended;
            rounds.push(round);
            match ended {
                Ended::Complete => {}
                Ended::TimedOut => break,
                Ended::Interrupted => {
                    let done = rounds.len() - 1;
                    return Err(Failure::Interrupted(format!(
                        "interrupted; {done} of {} rounds were done",
                        self.rounds
                    )));
                }
            }
        }
        if let Some((tracer, file)) = recording.filter(|_| rounds.iter().all(|round| round.ended == Ended::Complete)) {
            let options = RoundOptions { seed: self.seed, limit, count_migrations: false };
            record(&tracer, file, || executor.round(&options, &stop))?;
        }
        let report = Report { asked: &self, executor: &executor, cpus, limit, rounds };
        print(&match self.format {
            RunFormat::Text => report.text(),
            RunFormat::Json => report.json(),
        })?;
        Ok(if report.timed_out() { End::RunFailed } else { End::Done })
    }

    /// The tool that the workload repeats, or is written for.
    fn find_original(&self, tool: &str, workload: &Workload, machine: &Machine) -> Result<Original, Failure> {
        let (name, options) = self.workload.split_once(':').unwrap_or((&self.workload, ""));
        let original = match Builtin::by_name(name) {
            Some(builtin) => builtin.original(options, tool, machine)?,
            // With options behind its name the file says something else than rt-app reads.
            None if Path::new(&self.workload).is_file() => Original::of_file(&self.workload, workload, tool),
            None => None,
        };
        original.ok_or_else(|| NoOriginal { tool: tool.into(), workload: self.workload.clone() }.into())
    }

    /// The workload, and the CPUs that its threads may use. Bound to them unless they are all of the machine's.
    fn find_workload(&self, machine: &Machine) -> Result<(Workload, CpuMask), Failure> {
        let allowed = fairground_play::affinity().map_err(run_failed)?;
        let cpus = self.cpus.unwrap_or(allowed);
        let missing = cpus.minus(&allowed);
        if !missing.is_empty() || cpus.is_empty() {
            return Err(NoSuchCpus { asked: cpus, missing, allowed }.into());
        }
        let bound = (!machine.all_cpus().is_subset(&cpus)).then_some(&cpus);
        let (workload, warnings) = Workload::find_bound(&self.workload, machine, bound)?;
        warnings.iter().for_each(|warning| complain(&format!("warning: {warning}")));
        Ok((workload, cpus))
    }
}

/// Records what the kernel schedules during a round.
fn record(
    tracer: &Tracer,
    mut file: OutputFile,
    round: impl FnOnce() -> Result<Round, Failure>,
) -> Result<(), Failure> {
    tracer.start()?;
    let played = round();
    tracer.stop()?;
    if played?.ended == Ended::Interrupted {
        return Err(Failure::Interrupted("interrupted while the last round was recorded; there is no trace".into()));
    }
    let scratch = file.scratch()?;
    let Recorded { events, dropped } = tracer.write(scratch, &mut file)?;
    let path = file.path().display().to_string();
    file.finish()?;
    complain(&format!("{path}: {events} events of the kernel"));
    if dropped > 0 {
        complain(&format!("warning: {dropped} later events found no room; --trace-buffer MIB gives more"));
    }
    Ok(())
}

/// Of the greatest capacity; the first of them.
pub fn fastest(machine: &Machine, cpus: &CpuMask) -> CpuId {
    let capacity = |cpu: CpuId| machine.cpus.get(cpu as usize).map_or(0, |cpu| cpu.capacity);
    let mut best = cpus.first().unwrap_or_default();
    for cpu in cpus.iter() {
        if capacity(cpu) > capacity(best) {
            best = cpu;
        }
    }
    best
}

pub(super) fn default_timeout(workload: &Workload) -> u64 {
    let duration = workload.duration_ns.map_or(0, |ns| ns.div_ceil(1_000_000_000) + BEYOND_DURATION_S);
    duration.max(TIMEOUT_S)
}

/// The figures of a round: the workload's own if it is complete and they are known, then what the system counts.
pub(super) fn figures(workload: &Workload, has_own: bool, round: &Round) -> Vec<MetricValue> {
    let mut figures = Vec::new();
    if round.ended == Ended::Complete && has_own {
        figures = own_metric_values(workload, &round.metrics);
        let counted = round.metrics.migrations_per_op.is_some();
        figures.retain(|figure| counted || figure.metric.name != "migrations_per_op");
    }
    let mut add = |name: &str, unit: &str, meaning: &str, value: f64| {
        figures.push(MetricValue { metric: Metric::new(name, unit, Better::Lower, meaning), value });
    };
    add("wall_s", "s", "from the start until the last thread has exited", round.wall_ns as f64 / 1e9);
    add("cpu_s", "s", "CPU time of all threads from their creation on", round.cpu_ns as f64 / 1e9);
    let voluntary = "switches of a thread that waits for something";
    add("switches_voluntary", "count", voluntary, round.voluntary_switches as f64);
    let involuntary = "switches of a thread that could have gone on";
    add("switches_involuntary", "count", involuntary, round.involuntary_switches as f64);
    if let Some(migrations) = round.migrations {
        add("migrations", "count", "changes of CPU by all threads", migrations as f64);
    }
    figures
}

/// A metric over rounds.
struct Row {
    metric: Metric,
    values: Vec<f64>,
}

impl Row {
    /// Sorted; never empty.
    fn sorted(&self) -> Vec<f64> {
        let mut values = self.values.clone();
        values.sort_by(f64::total_cmp);
        values
    }

    fn median(&self) -> f64 {
        quantile(&self.sorted(), 0.5).unwrap_or(f64::NAN)
    }

    fn least_and_greatest(&self) -> (f64, f64) {
        let values = self.sorted();
        (values[0], values[values.len() - 1])
    }
}

/// The rounds, with what they were asked for, as text or JSON.
struct Report<'a> {
    asked: &'a Play,
    executor: &'a Executor,
    cpus: CpuMask,
    limit: Duration,
    rounds: Vec<Round>,
}

impl Report<'_> {
    fn timed_out(&self) -> bool {
        self.rounds.iter().any(|round| round.ended == Ended::TimedOut)
    }

    /// A row for each figure, in the order of the figures of the first round that has it.
    fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut index: BTreeMap<String, usize> = BTreeMap::new();
        for MetricValue { metric, value } in self.rounds.iter().flat_map(|r| self.executor.figures(r)) {
            let at = *index.entry(metric.name.clone()).or_insert_with(|| {
                rows.push(Row { metric, values: Vec::new() });
                rows.len() - 1
            });
            rows[at].values.push(value);
        }
        rows
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.timed_out() {
            notes.push(format!(
                "round {} was ended after {} s with threads left: it has no score. --timeout S gives it more time",
                self.rounds.len(),
                self.limit.as_secs()
            ));
        }
        if let Some(complete) = self.rounds.iter().find(|round| round.ended == Ended::Complete) {
            notes.extend(own_notes(self.executor.workload(), &complete.metrics));
        }
        let greatest = |of: fn(&Round) -> Option<f64>| self.rounds.iter().filter_map(of).fold(0.0, f64::max);
        let steal = greatest(|round| round.steal_pct);
        if steal > STEAL_PCT {
            notes.push(format!("the hypervisor took up to {steal:.1} % of the CPUs' time from this machine (steal)"));
        }
        let others = greatest(|round| round.others_pct);
        if others > OTHERS_PCT {
            notes.push(format!("others than this workload took up to {others:.0} % of the CPUs' time: a busy machine"));
        }
        if self.asked.migrations && self.rounds.iter().any(|round| round.migrations.is_none()) {
            notes.push("migrations could not be counted: kernel.perf_event_paranoid or CAP_PERFMON forbids it".into());
        }
        let lost: u64 = self.rounds.iter().map(|round| round.lost_samples).sum();
        if lost > 0 {
            notes.push(format!("{lost} samples found no room and are left out"));
        }
        notes
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "workload  {}", self.asked.workload);
        let _ = writeln!(out, "played    on this machine, Linux {}, CPUs {}", kernel(), self.cpus);
        let rounds = self.rounds.len();
        let _ = match self.executor {
            Executor::Tool(_, original, _) => {
                writeln!(out, "by        {}\nrounds    {rounds}\n", command_line(original))
            }
            Executor::Player(player) => {
                let Calibration { cpu, iteration_ns, .. } = player.calibration();
                let _ = writeln!(out, "work      {iteration_ns:.3} ns an iteration, on CPU {cpu}");
                match &self.rounds[..] {
                    [first, .., last] => {
                        writeln!(out, "rounds    {rounds} (seeds {} to {})\n", first.seed, last.seed)
                    }
                    one => {
                        let seed = one.first().map_or(self.asked.seed, |round| round.seed);
                        writeln!(out, "rounds    1 (seed {seed})\n")
                    }
                }
            }
        };
        let rows = self.rows();
        let width = rows.iter().map(|row| row.metric.name.len()).max().unwrap_or(0).max("metric".len());
        let _ = writeln!(
            out,
            "{:width$}  {:>12}  {:>12}  {:>12}  {:6} meaning",
            "metric", "median", "least", "greatest", "unit"
        );
        for row in &rows {
            let (least, greatest) = row.least_and_greatest();
            let [median, least, greatest] = [row.median(), least, greatest].map(number);
            let (name, unit, meaning) = (&row.metric.name, &row.metric.unit, &row.metric.meaning);
            let _ = writeln!(out, "{name:width$}  {median:>12}  {least:>12}  {greatest:>12}  {unit:6} {meaning}");
        }
        let notes = self.notes();
        if !notes.is_empty() {
            out.push('\n');
        }
        notes.iter().for_each(|note| _ = writeln!(out, "note: {note}"));
        out
    }

    fn json(&self) -> String {
        let metrics: Vec<Value> = (self.rows().iter())
            .map(|row| {
                let (least, greatest) = row.least_and_greatest();
                let m = &row.metric;
                json!({
                    "name": m.name, "unit": m.unit, "better": m.better.word(),
                    "median": row.median(), "least": least, "greatest": greatest, "n": row.values.len(),
                })
            })
            .collect();
        let rounds: Vec<Value> = self.rounds.iter().map(|round| self.round(round)).collect();
        let (tool, calibration) = match self.executor {
            Executor::Tool(_, original, _) => (json!(command_line(original)), Value::Null),
            Executor::Player(player) => {
                let Calibration { cpu, iteration_ns, .. } = player.calibration();
                (Value::Null, json!({ "cpu": cpu, "iteration_ns": iteration_ns }))
            }
        };
        let document = json!({
            "schema": SCHEMA,
            "workload": self.asked.workload,
            "machine": self.asked.machine,
            "kernel": kernel(),
            "cpus": self.cpus.to_string(),
            "tool": tool,
            "calibration": calibration,
            "metrics": metrics,
            "rounds": rounds,
            "notes": self.notes(),
            "made_by": made_by(),
        });
        format!("{document:#}\n")
    }

    fn round(&self, round: &Round) -> Value {
        let values = self.executor.figures(round).into_iter().map(|f| (f.metric.name, json!(f.value)));
        json!({
            "seed": matches!(self.executor, Executor::Player(_)).then_some(round.seed),
            "ended": match round.ended {
                Ended::Complete => "complete",
                Ended::TimedOut => "timed out",
                Ended::Interrupted => "interrupted",
            },
            "operations": round.metrics.ops,
            "threads": matches!(self.executor, Executor::Player(_)).then_some(round.threads),
            "steal_pct": round.steal_pct,
            "others_pct": round.others_pct,
            "values": values.collect::<serde_json::Map<_, _>>(),
        })
    }
}

/// Release of the kernel that runs.
pub(super) fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    release.map_or_else(|_| "of unknown release".into(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_show_the_middle_and_the_ends() {
        let row = |values: &[f64]| Row { metric: Metric::new("x", "s", Better::Lower, "x"), values: values.into() };
        assert_eq!((row(&[3.0, 1.0, 2.0]).median(), row(&[3.0, 1.0, 2.0]).least_and_greatest()), (2.0, (1.0, 3.0)));
        assert_eq!(row(&[4.0, 1.0]).median(), 2.5);
    }

    #[test]
    fn a_workload_has_its_duration_and_more() {
        let of = |spec: &str| default_timeout(&Workload::find(spec, &Machine::symmetric(2)).unwrap().0);
        assert_eq!(of("sched-pipe"), 60);
        assert_eq!(of("schbench:runtime=100"), 110);
        assert_eq!(of("schbench:runtime=0.1"), 60);
    }
}

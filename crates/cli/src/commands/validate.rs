//! `fairground validate`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use fairground_host::{Host, Keeper};
use fairground_lab::provenance::Figures;
use fairground_lab::tables::number;
use fairground_machine::{suggest_from, CpuMask, Machine};
use fairground_run::batch::BatchError;
use fairground_run::key::machine_hash;
use fairground_run::sched_spec::SchedSpec;
use fairground_validate::base::Shape;
use fairground_validate::matrix::{matrix, Family, Half, Intervention, HALVING};
use fairground_validate::predict::{PredictError, Prediction, Simulator};
use fairground_validate::report::{results_table, Conditions, Validation, SCHEMA};
use fairground_validate::rounds::{refusal, Head, Outcome, Pair, Plays, RoundsFile, Skipped};
use fairground_validate::score::{learned_error, Cell, CellInput, Score};
use miette::Diagnostic;
use thiserror::Error;

use super::play::fastest;
use crate::error::{run_failed, End, Failure};
use crate::input::capture_this;
use crate::output::{note, print, stop_on_signals, OutputFile};
use crate::progress::Steps;
use crate::provenance::made_by;
use crate::restore::{hold, restore, restore_left};
use crate::run_options::Jobs;
use crate::store::{Runs, StoreOptions};
use crate::workers::WorkerOptions;

/// Passes over the matrix, and with `--quick`.
const ROUNDS: u32 = 10;
const ROUNDS_QUICK: u32 = 6;
/// Draws of the figures in doubt.
const DRAWS: u64 = 20;
/// Length of a round, s.
const SECONDS: f64 = 0.3;

/// There is no such knob.
#[derive(Debug, Error, Diagnostic)]
#[error("--only {name}: there is no such knob in the half `{half}`")]
#[diagnostic(help("{help}"))]
struct NoSuchKnob {
    name: String,
    half: &'static str,
    help: String,
}

/// The file does not describe this machine.
#[derive(Debug, Error, Diagnostic)]
#[error("{machine} lacks CPUs {missing}, on which workloads are played")]
#[diagnostic(help(
    "name a file of this machine, as `fairground machine capture` writes it, or bind this command with taskset"
))]
struct OtherMachine {
    machine: String,
    missing: CpuMask,
}

/// No scheduler of ours is near the kernel.
#[derive(Debug, Error, Diagnostic)]
#[error("the kernel calls itself {0}, which names no release")]
#[diagnostic(help("name the scheduler to simulate: --sched fair:v6.12"))]
struct NoSched(String);

/// A result that cannot be read.
#[derive(Debug, Error, Diagnostic)]
#[error("{path}: {problem}")]
#[diagnostic(help("expected what `fairground validate --export` writes"))]
struct NoResult {
    path: String,
    problem: String,
}

/// Which half of the knobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum HalfName {
    /// What the model is mended by
    #[default]
    Learn,
    /// What the model is judged by, once a release
    Judged,
}

impl From<HalfName> for Half {
    fn from(half: HalfName) -> Half {
        match half {
            HalfName::Learn => Half::Learn,
            HalfName::Judged => Half::Judged,
        }
    }
}

/// How the result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Layout {
    /// Tables for people
    #[default]
    Text,
    /// One JSON object
    Json,
    /// A page with plots
    Html,
}

/// Plays interventions on this machine, simulates them, and scores the predictions.
#[derive(Args)]
pub struct Validate {
    /// File that describes this machine [default: as `machine capture` sees it, its costs borrowed]
    machine: Option<String>,
    /// Folder of the played rounds, which an interrupted command goes on with
    #[arg(long, value_name = "DIR", default_value = "validate")]
    out: PathBuf,
    /// Pairs of rounds of each intervention [default: 10; 6 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Length of a round, s
    #[arg(long, value_name = "S", default_value_t = SECONDS, value_parser = parse_seconds)]
    seconds: f64,
    /// Fewer interventions and fewer rounds
    #[arg(long)]
    quick: bool,
    /// Which half of the knobs; the judged one is opened once a release
    #[arg(long, value_enum, default_value_t)]
    half: HalfName,
    /// Only these knobs, with commas between
    #[arg(long, value_name = "KNOBS", value_delimiter = ',')]
    only: Vec<String>,
    /// Also change what other programs feel: CPUs offline, autogroup, knobs of debugfs; it needs root
    #[arg(long)]
    system: bool,
    /// Scheduler to simulate: fair:v6.12, linux:NAME [default: the preset nearest to the running kernel]
    #[arg(long, value_name = "SCHED")]
    sched: Option<String>,
    /// Draws of the figures in doubt; 0: the machine as it is stated, without intervals
    #[arg(long, value_name = "N", default_value_t = DRAWS, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    doubt: u64,
    /// Factor by which predictions may be off beyond their draws, two thirds within it, as the other half has taught it
    /// [default: 1, none]
    #[arg(long, value_name = "F", default_value_t = 1.0, hide_default_value = true, value_parser = parse_factor)]
    model_error: f64,
    /// Show the matrix and what this machine cannot do; play nothing
    #[arg(long)]
    list: bool,
    /// Play nothing: score the rounds that are in --out
    #[arg(long, conflicts_with = "list")]
    no_play: bool,
    /// Leave out pairs of rounds in which other programs and a hypervisor took more than this share of the CPUs' time, percent
    #[arg(long, value_name = "PCT", value_parser = parse_percent)]
    busy: Option<f64>,
    /// Restore what a command that was killed has changed on this machine, and do nothing else
    #[arg(long, exclusive = true)]
    restore: bool,
    /// Print the table of the results in a folder, as docs/validated.md has it, and do nothing else
    #[arg(long, value_name = "DIR", exclusive = true)]
    table: Option<PathBuf>,
    /// Also write the result to this file, for docs/validated
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    format: Layout,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    store: StoreOptions,
    #[command(flatten)]
    workers: WorkerOptions,
}

/// Reads the length of a round.
fn parse_seconds(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|s| (0.05..=10.0).contains(s)).ok_or_else(|| "expected 0.05 to 10".into())
}

fn parse_factor(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|factor| (1.0..=10.0).contains(factor)).ok_or_else(|| "expected a factor, 1 to 10".into())
}

fn parse_percent(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|pct| (0.0..=100.0).contains(pct)).ok_or_else(|| "expected 0 to 100".into())
}

/// What the command is about: machine, kernel and matrix.
struct Setup {
    host: Host,
    captured: Machine,
    machine: Machine,
    cpus: CpuMask,
    /// Those that the rounds in `--out` may be of.
    all: Vec<Intervention>,
    /// What of it was asked for.
    chosen: Vec<Intervention>,
}

impl Validate {
    pub fn run(self) -> Result<End, Failure> {
        if self.restore {
            return restore();
        }
        if let Some(dir) = &self.table {
            return table(dir);
        }
        // First of all: CPUs that a killed command left offline would be missing from what is found here.
        let keeper = (!self.list && !self.no_play).then(hold).transpose()?;
        keeper.as_ref().map_or(Ok(()), restore_left)?;
        let setup = self.setup()?;
        if self.list {
            print(&self.listed(&setup))?;
            return Ok(End::Done);
        }
        let export = self.export.as_deref().map(OutputFile::create).transpose()?;
        let sched = self.sched(&setup.host)?;
        let (rounds, skipped) = self.play(&setup, keeper.as_ref())?;
        let predicted = self.predict(&setup, &sched, &rounds)?;
        let result = self.result(&setup, &sched, &rounds, skipped, &predicted);
        if let Some(mut file) = export {
            file.write_all(result.json().as_bytes())
                .map_err(|e| run_failed(format!("cannot write the result: {e}")))?;
            file.finish()?;
        }
        print(&match self.format {
            Layout::Text => result.text(),
            Layout::Json => result.json(),
            Layout::Html => result.html(),
        })?;
        Ok(if result.cells.is_empty() { End::RunFailed } else { End::Done })
    }

    fn setup(&self) -> Result<Setup, Failure> {
        let host = Host::new(Path::new("/"), self.system);
        let captured = capture_this()?.machine;
        let machine = match &self.machine {
            Some(name) => Machine::find(name)?,
            None => captured.clone(),
        };
        let cpus = fairground_play::affinity().map_err(run_failed)?;
        let missing = cpus.minus(&machine.all_cpus());
        if !missing.is_empty() {
            return Err(OtherMachine { machine: machine.name, missing }.into());
        }
        let shape = Shape { machine: &machine, cpus: cpus.count() as u32, seconds: self.seconds };
        let all = matrix(&shape, &cpus)?;
        let mut chosen = all.clone();
        chosen.retain(|intervention| intervention.half() == self.half.into() && !(self.quick && intervention.long));
        for name in &self.only {
            if chosen.iter().all(|intervention| intervention.knob != name) {
                let mut knobs: Vec<&str> = chosen.iter().map(|intervention| intervention.knob).collect();
                knobs.sort_unstable();
                knobs.dedup();
                let help = suggest_from(name, "the knobs are:", knobs.iter().copied());
                return Err(NoSuchKnob { name: name.clone(), half: Half::from(self.half).word(), help }.into());
            }
        }
        if !self.only.is_empty() {
            chosen.retain(|intervention| self.only.iter().any(|name| name == intervention.knob));
        }
        Ok(Setup { host, captured, machine, cpus, all, chosen })
    }

    fn passes(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { ROUNDS_QUICK } else { ROUNDS })
    }

    /// The matrix, and what this machine cannot do.
    fn listed(&self, setup: &Setup) -> String {
        let mut out = String::new();
        let (mut cells, mut played) = ([0, 0], 0);
        for (i, family) in Family::ALL.into_iter().enumerate() {
            let _ = writeln!(out, "{}{}", if i > 0 { "\n" } else { "" }, family.words());
            for intervention in setup.chosen.iter().filter(|intervention| intervention.family == family) {
                let Intervention { name, text, metrics, .. } = intervention;
                let _ = writeln!(out, "  {name:26}  {text}");
                let _ = writeln!(out, "  {:26}  {}", "", metrics.join(", "));
                match refusal(&setup.host, &setup.cpus, intervention) {
                    Some(reason) => _ = writeln!(out, "  {:26}  not here: {reason}", ""),
                    None => {
                        cells[i] += metrics.len();
                        played += 1;
                    }
                }
            }
        }
        let seconds = 2.0 * self.seconds * f64::from(self.passes()) * f64::from(played);
        let (half, minutes) = (Half::from(self.half).word(), number((seconds / 6.0).ceil() / 10.0));
        let [knobs, choices] = cells;
        let _ = writeln!(
            out,
            "\nhalf {half}: {} cells can be played here, {knobs} of scheduler knobs and {choices} of workload choices; {} passes \
             take {minutes} min or more, and the simulation as long as it takes",
            knobs + choices,
            self.passes()
        );
        out
    }

    /// The scheduler that is simulated.
    fn sched(&self, host: &Host) -> Result<SchedSpec, Failure> {
        let nearest = || host.nearest_sched().ok_or_else(|| NoSched(host.kernel()));
        let name = self.sched.clone().map_or_else(nearest, Ok)?;
        Ok(name.parse::<SchedSpec>()?)
    }

    /// Plays what can be played; the rounds, and what was not played. Without a keeper nothing is.
    fn play(&self, setup: &Setup, keeper: Option<&Keeper>) -> Result<(RoundsFile, Vec<Skipped>), Failure> {
        let head = Head::new(machine_hash(&setup.captured), setup.host.kernel(), &setup.cpus, self.seconds);
        let mut rounds = RoundsFile::open(&self.out, &head)?;
        let stale = rounds.stale(&setup.all);
        if stale > 0 {
            let dir = self.out.display();
            note(&format!("{stale} pairs of rounds in {dir} are of interventions that have changed since"));
        }
        let mut skipped = Vec::new();
        let Some(keeper) = keeper else { return Ok((rounds, skipped)) };
        let mut playable = Vec::new();
        for intervention in &setup.chosen {
            match refusal(&setup.host, &setup.cpus, intervention) {
                None => playable.push(intervention),
                Some(reason) => {
                    let (name, cells) = (intervention.name.clone(), intervention.metrics.len());
                    skipped.push(Skipped { intervention: name, cells, reason });
                }
            }
        }
        let stop = stop_on_signals();
        let plays = Plays {
            host: &setup.host,
            keeper,
            cpus: setup.cpus,
            fastest: fastest(&setup.captured, &setup.cpus),
            passes: self.passes(),
            length: Duration::from_secs_f64(self.seconds),
            stop: &stop,
        };
        let steps = Steps::new();
        let progress = |done: usize, all: usize| steps.tell(&format!("{done} of {all} pairs of rounds"));
        let Outcome { failed, stopped } = plays.carry_out(&playable, &mut rounds, &progress)?;
        drop(steps);
        if stopped {
            let kept: usize = playable.iter().map(|intervention| rounds.of(intervention).count()).sum();
            let all = playable.len() * self.passes() as usize;
            let dir = self.out.display();
            return Err(Failure::Interrupted(format!(
                "interrupted: {kept} of {all} pairs of rounds are in {dir}; the same command continues from there"
            )));
        }
        skipped.extend(failed);
        Ok((rounds, skipped))
    }

    /// Simulates the interventions that have rounds.
    fn predict(&self, setup: &Setup, sched: &SchedSpec, rounds: &RoundsFile) -> Result<Vec<Prediction>, Failure> {
        let played: Vec<&Intervention> = played(setup, rounds);
        let hz = setup.host.hz();
        let simulator = Simulator::new(&setup.machine, sched.clone(), hz, self.doubt, self.workers.workers())?;
        let store = self.store.open()?;
        let (runs, stop) = (Runs::new(), stop_on_signals());
        let tell = |progress| runs.tell(progress);
        match simulator.predict(&played, self.jobs.count(), store.as_ref(), &stop, &tell) {
            Err(PredictError::Batch(BatchError::Stopped)) => Err(runs.interrupted(store.as_ref())),
            predicted => Ok(predicted?),
        }
    }

    fn result(
        &self,
        setup: &Setup,
        sched: &SchedSpec,
        rounds: &RoundsFile,
        skipped: Vec<Skipped>,
        predicted: &[Prediction],
    ) -> Validation {
        let (mut cells, mut without, mut failures) = (Vec::new(), Vec::new(), Vec::<String>::new());
        let mut inputs = Vec::new();
        let played = played(setup, rounds);
        let counts = |pair: &&Pair| self.busy.is_none_or(|pct| pair.is_quiet(pct));
        for (intervention, prediction) in played.iter().zip(predicted) {
            for metric in intervention.metrics {
                let input = CellInput {
                    knob: intervention.knob.into(),
                    family: intervention.family,
                    intervention: intervention.name.clone(),
                    metric: metric.to_string(),
                    measured: rounds.of(intervention).filter(counts).filter_map(|pair| pair.of(metric)).collect(),
                    predicted: prediction.of(metric),
                    beyond_model: intervention.test.is_beyond_model(),
                };
                match Cell::new(&input, self.model_error.ln()) {
                    Ok(cell) => {
                        cells.push(cell);
                        inputs.push(input);
                    }
                    Err(reason) => {
                        without.push(Skipped { intervention: intervention.name.clone(), cells: 1, reason });
                    }
                }
            }
            for failure in &prediction.failures {
                let failure = format!("{}: a run failed: {failure}", intervention.name);
                if !failures.contains(&failure) {
                    failures.push(failure);
                }
            }
        }
        let pairs = || played.iter().flat_map(|i| rounds.of(i));
        let counted: Vec<&Pair> = pairs().filter(counts).collect();
        let conditions = Conditions::new(&counted, pairs().count() - counted.len(), self.seconds);
        let mut notes = setup.host.notes();
        notes.extend(conditions.notes());
        notes.extend(failures);
        Validation {
            schema: SCHEMA.into(),
            half: self.half.into(),
            halving: HALVING,
            machine: self.machine.clone().unwrap_or_else(|| "captured".into()),
            machine_hash: machine_hash(&setup.machine),
            figures: Figures::count(&setup.machine).words(),
            kernel: setup.host.kernel(),
            // As it names itself: the preset that was nearest.
            sched: sched.features().map_or_else(|| sched.to_string(), |features| features.to_string()),
            cpus: setup.cpus.to_string(),
            draws: self.doubt,
            model_error: self.model_error,
            learned_error: learned_error(&inputs).map(f64::exp),
            conditions,
            knobs: Score::of_family(&cells, Family::Knob),
            choices: Score::of_family(&cells, Family::Choice),
            cells,
            without,
            skipped,
            notes,
            made_by: serde_json::to_value(made_by()).unwrap_or_default(),
        }
    }
}

/// The interventions that have rounds.
fn played<'a>(setup: &'a Setup, rounds: &RoundsFile) -> Vec<&'a Intervention> {
    setup.chosen.iter().filter(|intervention| rounds.of(intervention).next().is_some()).collect()
}

/// Prints the table of the results in a folder.
fn table(dir: &Path) -> Result<End, Failure> {
    let unread = |path: &Path, problem: String| NoResult { path: path.display().to_string(), problem };
    let entries = std::fs::read_dir(dir).map_err(|e| unread(dir, e.to_string()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    let mut results = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(|e| unread(&path, e.to_string()))?;
        let result = Validation::read(&text).map_err(|problem| unread(&path, problem))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        results.push((name, result));
    }
    print(&results_table(&results))?;
    Ok(End::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_shares_are_within_bounds() {
        assert_eq!((parse_seconds("0.05"), parse_seconds("10")), (Ok(0.05), Ok(10.0)));
        for bad in ["0.049", "11", "x", "nan", "-1"] {
            assert!(parse_seconds(bad).is_err(), "{bad}");
        }
        assert_eq!((parse_percent("0"), parse_percent("100")), (Ok(0.0), Ok(100.0)));
        assert!(["-1", "101", "x", "nan"].into_iter().all(|bad| parse_percent(bad).is_err()));
    }
}

//! The runs of one input, made one after another.

use fairground_lab::comparison::Report;
use fairground_lab::doubt::{draws_and_seeds, DrawnRuns, Draws};
use fairground_lab::explain::{Differing, ExplainError};
use fairground_lab::sides::{Sides, SidesError};
use fairground_run::batch::{Results, RunReport};
use fairground_run::experiment::{Experiment, RunError, Stop, TraceHead};
use fairground_run::metrics::{Selection, SelectionError};
use fairground_run::run_config;
use fairground_trace::Recording;
use miette::Diagnostic;
use thiserror::Error;

use crate::input::{Input, InputError};

/// Names of the sides.
pub const SIDES: [&str; 2] = ["base", "test"];

/// Why a session has no answer.
#[derive(Debug, Error, Diagnostic)]
pub enum SessionError {
    /// The input cannot run.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Input(#[from] InputError),
    /// The sides cannot run on a draw.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Sides(#[from] SidesError),
    /// A draw of the machine is not known.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Machine(#[from] fairground_machine::MachineError),
    /// There is no such metric.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Selection(#[from] SelectionError),
    /// The run whose events are asked for failed.
    #[error("{side}, seed {seed}: {error}")]
    Run {
        /// The side.
        side: &'static str,
        /// The seed.
        seed: u64,
        /// Why.
        #[source]
        error: RunError,
    },
    /// The events cannot be compared.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Explain(#[from] ExplainError),
    /// Only one side runs.
    #[error("there is no test to compare with")]
    OneSide,
}

/// A run that was made.
pub struct Made {
    /// Its side, `base` or `test`.
    pub side: &'static str,
    /// Its seed.
    pub seed: u64,
    /// Its draw; 0: the machine as it is stated.
    pub draw: u64,
    /// Its report, or why there is none.
    pub outcome: Result<RunReport, String>,
}

/// The runs of an input.
pub struct Session {
    input: Input,
    sides: Sides,
    draws: Draws,
    /// Warnings about the input.
    pub warnings: Vec<String>,
    /// Runs on the machine as it is stated, pair by pair.
    plain: Vec<Result<RunReport, String>>,
    /// Runs on draws, pair by pair.
    drawn: Vec<Result<RunReport, String>>,
}

impl Session {
    /// Finds everything that the input names.
    ///
    /// # Errors
    /// If the input cannot run.
    pub fn open(input: Input) -> Result<Session, SessionError> {
        let found = input.find()?;
        let sides = found.sides(&found.config)?;
        let number = if found.config.draw == 0 { input.draws } else { 0 };
        let draws = Draws::find(&found.config, draws_and_seeds(number), |config| found.sides(&config))?;
        let warnings = [found.warnings, sides.warnings.clone()].concat();
        Ok(Session { input, sides, draws, warnings, plain: Vec::new(), drawn: Vec::new() })
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.sides.experiments.len() * (self.input.seeds as usize + self.draws.sides().len())
    }

    /// Number of runs that were made.
    pub fn made(&self) -> usize {
        self.plain.len() + self.drawn.len()
    }

    /// Makes the next run, base and test in turn; `None` if all were made.
    pub fn next_run(&mut self) -> Option<Made> {
        let sides = self.sides.experiments.len();
        let (done, number) = (self.plain.len(), self.plain.len() / sides);
        if number < self.input.seeds as usize {
            let (side, seed) = (done % sides, number as u64 + 1);
            let outcome = run(&self.sides.experiments[side], seed);
            self.plain.push(outcome.clone());
            return Some(Made { side: SIDES[side], seed, draw: 0, outcome });
        }
        let (done, number) = (self.drawn.len(), self.drawn.len() / sides);
        let (draw, seed, on_draw) = self.draws.sides().get(number)?;
        let (side, seed, draw) = (done % sides, *seed, *draw);
        let outcome = run(&on_draw.experiments[side], seed);
        self.drawn.push(outcome.clone());
        Some(Made { side: SIDES[side], seed, draw, outcome })
    }

    /// What the pairs of runs that were made say.
    ///
    /// # Errors
    /// If there is one side, or if a law of draws cannot be read.
    pub fn report(&self) -> Result<Report, SessionError> {
        if self.sides.experiments.len() < SIDES.len() {
            return Err(SessionError::OneSide);
        }
        let pairs = self.plain.len() / SIDES.len();
        let column = |side: usize| self.plain.iter().skip(side).step_by(SIDES.len()).take(pairs).cloned().collect();
        let results: Results = vec![column(0), column(1)];
        let seeds: Vec<u64> = (1..=pairs as u64).collect();
        let mut report = self.sides.report(&seeds, &results);
        let drawn: Vec<DrawnRuns> = self
            .drawn
            .chunks_exact(SIDES.len())
            .zip(self.draws.sides())
            .map(|(runs, (draw, seed, _))| DrawnRuns { draw: *draw, seed: *seed, runs: runs.to_vec() })
            .collect();
        if !drawn.is_empty() {
            report.add_model(&drawn);
            report.note_on_draw_laws(self.sides.experiments.iter().map(|experiment| &*experiment.machine))?;
        }
        report.keep(&self.sides.selected(&Selection::Usual, &[])?);
        Ok(report)
    }

    /// The events of the first run of a side, with the reasons of each placement.
    ///
    /// # Errors
    /// If the run fails.
    pub fn recording(&self, side: usize) -> Result<Recording, SessionError> {
        let (seed, input) = (1, &self.input);
        let experiment = &self.sides.experiments[side];
        let sched = experiment.scheds[0].to_string();
        let named = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let (machine, workload) = (named("machine", &input.machine), named("workload", &input.workload));
        let meta = vec![machine, workload, named("sched", &sched), named("seed", &seed.to_string())];
        let notes = run_config::notes(&experiment.config);
        let head = TraceHead { format: Default::default(), meta, notes, why: true, marks: None };
        let recorded = experiment.recorded(0, seed, head, &Stop::default());
        Ok(recorded.map_err(|error| SessionError::Run { side: SIDES[side], seed, error })?.recording)
    }

    /// The placements of the first runs of base and test, side by side.
    ///
    /// # Errors
    /// If there is one side, if a run fails, or if one has no placements.
    pub fn differing(&self) -> Result<Differing, SessionError> {
        if self.sides.experiments.len() < SIDES.len() {
            return Err(SessionError::OneSide);
        }
        let [base, test] = [self.recording(0)?, self.recording(1)?];
        Ok(Differing::of(&(SIDES[0].to_owned(), &base), &(SIDES[1].to_owned(), &test))?)
    }
}

/// One run in this process.
fn run(experiment: &Experiment, seed: u64) -> Result<RunReport, String> {
    experiment.until(&Stop::default(), 0, seed).map_err(|error| error.to_string())
}

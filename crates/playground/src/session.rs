//! The runs of one input, made one after another.

use fairground_lab::comparison::Report;
use fairground_lab::counterfactual::{WhatIf, WhatIfError};
use fairground_lab::doubt::{draws_and_seeds, DrawnRuns, Draws};
use fairground_lab::explain::{Differing, ExplainError};
use fairground_lab::for_view;
use fairground_lab::published::PublishedError;
use fairground_lab::sides::{Sides, SidesError};
use fairground_machine::MachineSpec;
use fairground_run::batch::{Results, RunReport};
use fairground_run::experiment::{Experiment, RunError, Stop};
use fairground_run::metrics::{Selection, SelectionError};
use fairground_trace::{Recording, RunHead, TraceError};
use fairground_view::{Model, SideReader, ViewError};
use miette::Diagnostic;
use thiserror::Error;

use crate::input::{Input, InputError};

/// Names of the sides.
pub const SIDES: [&str; 2] = ["base", "test"];

/// Time between two readings of the energy in a recording.
const ENERGY_EVERY_NS: u64 = 1_000_000;

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
    /// The published rows cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Published(#[from] PublishedError),
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
    /// The other scheduler cannot be asked.
    #[error(transparent)]
    #[diagnostic(transparent)]
    WhatIf(#[from] WhatIfError),
    /// The events cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Trace(#[from] TraceError),
    /// The events cannot be shown.
    #[error(transparent)]
    #[diagnostic(transparent)]
    View(#[from] ViewError),
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
    /// Events of the first run of each side, as far as they were asked for.
    recordings: Vec<Recording>,
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
        let (plain, drawn, recordings) = Default::default();
        Ok(Session { input, sides, draws, warnings, plain, drawn, recordings })
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.sides.experiments.len() * (self.input.seeds as usize + self.draws.sides().len())
    }

    /// The run of the base with this seed.
    pub fn run_of_base(&self, seed: u64) -> Result<RunReport, String> {
        run(&self.sides.experiments[0], seed)
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
    /// If there is one side, or if published rows or a law of draws cannot be read.
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
            let last = drawn.iter().map(|drawn| drawn.draw).max().unwrap_or(0);
            report.note_on_draw_laws(self.sides.experiments.iter().map(|experiment| &*experiment.machine), last)?;
        }
        if self.input.machine_file.is_none() && self.input.figures.is_empty() && self.input.workload_file.is_none() {
            self.sides.add_published(&mut report)?;
        }
        report.keep(&self.sides.selected(&Selection::Usual, &[])?);
        Ok(report)
    }

    /// The placements of the first runs of base and test, side by side.
    ///
    /// # Errors
    /// If there is one side, if a run fails, or if one has no placements.
    pub fn differing(&mut self) -> Result<Differing, SessionError> {
        match self.recordings()? {
            [base, test] => Ok(Differing::of(&(SIDES[0].to_owned(), base), &(SIDES[1].to_owned(), test))?),
            _ => Err(SessionError::OneSide),
        }
    }

    /// What `FairgroundView.mount` shows of the first run of each side, with the choices of the other side's scheduler.
    ///
    /// # Errors
    /// If a run fails, or has more than a page can hold.
    pub fn view(&mut self) -> Result<Vec<u8>, SessionError> {
        self.recordings()?;
        let read = |(recording, side): (&Recording, _)| RunHead::read(&mut recording.source(side));
        let heads = self.recordings.iter().zip(SIDES).map(read).collect::<Result<Vec<_>, _>>()?;
        let mut shown = Vec::new();
        for (number, (side, recording)) in self.sides.named().iter().zip(&self.recordings).enumerate() {
            let machine = &self.sides.experiments[number].machine;
            let others = heads.iter().enumerate().find(|(other, _)| *other != number);
            let ask = others.and_then(|(_, other)| for_view::other_sched(&heads[number], other));
            let machine_name = side.settings.get("machine").unwrap_or_default();
            let cpus = MachineSpec::parse(machine_name).cpus(machine)?;
            let what_if = ask.map(|sched| WhatIf::of_all(machine.clone(), machine_name, cpus, sched.to_owned()));
            let asked = what_if.as_ref().map(|what_if| for_view::ask(what_if, &heads[number])).transpose()?;
            let reader = SideReader::new(SIDES[number], &side.name).on(Some(machine)).asking(asked);
            shown.push(reader.read(recording.source(SIDES[number]))?);
        }
        let Input { machine, workload, .. } = &self.input;
        Ok(Model::new(&format!("{machine} {workload}"), shown).to_bytes())
    }

    /// The events of the first run of each side, with reasons, signals and energy.
    fn recordings(&mut self) -> Result<&[Recording], SessionError> {
        while self.recordings.len() < self.sides.experiments.len() {
            let recording = self.record(self.recordings.len())?;
            self.recordings.push(recording);
        }
        Ok(&self.recordings)
    }

    fn record(&self, side: usize) -> Result<Recording, SessionError> {
        let (seed, named) = (1, self.sides.named());
        let names = ["machine", "workload", "sched"].map(|name| named[side].settings.get(name).unwrap_or_default());
        let recorded = for_view::record(&self.sides.experiments[side], names, seed, ENERGY_EVERY_NS, &Stop::default());
        Ok(recorded.map_err(|error| SessionError::Run { side: SIDES[side], seed, error })?.recording)
    }
}

/// One run in this process.
fn run(experiment: &Experiment, seed: u64) -> Result<RunReport, String> {
    experiment.until(&Stop::default(), 0, seed).map_err(|error| error.to_string())
}

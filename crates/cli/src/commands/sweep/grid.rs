//! Grids: all combinations of levels, run and kept without the Python package.

use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use fairground_lab::provenance::RunColumns;
use fairground_lab::sweep_table::{SweepFormat, SweepTable};
use fairground_linux::build::user_cache;
use fairground_run::batch::BatchError;
use fairground_run::executor::Executor;
use fairground_run::experiment::Stop;
use fairground_run::key::{ColumnKey, Key};
use fairground_run::run_spec::{Resolver, RunSpec, RunSpecError};
use fairground_run::store::{Lookup, Record, Store};
use fairground_run::sweep_file::SweepFile;
use fairground_run::worker::Workers;
use miette::Diagnostic;
use thiserror::Error;

use super::Sweep;
use crate::error::{run_failed, End, Failure};
use crate::output::{complain, print, stop_on_signals, OutputFile};
use crate::provenance::made_by;
use crate::store::{interrupted, Runs};

/// A grid with more runs must be confirmed.
const CONFIRM_ABOVE: u64 = 1_000_000;

/// Points that are looked up at a time: each takes a kilobyte or so.
const POINTS_AT_ONCE: usize = 10_000;

/// Failures that are shown.
const SHOWN_MAX: usize = 20;

/// So many runs are probably a mistake.
#[derive(Debug, Error, Diagnostic)]
#[error("experiment {name} has {runs} runs, more than {CONFIRM_ABOVE}")]
#[diagnostic(help("give --yes if it is meant, or leave levels or seeds out"))]
struct TooLarge {
    name: String,
    runs: u64,
}

/// What is on record of a grid.
#[derive(Default)]
struct Tally {
    kept: u64,
    failed: u64,
    /// Messages of failed runs, [`SHOWN_MAX`] at most.
    shown: Vec<String>,
}

impl Tally {
    fn failure(&mut self, spec: &RunSpec, seed: u64, message: &str) {
        self.failed += 1;
        if self.shown.len() < SHOWN_MAX {
            let spec = RunSpec { seed, ..spec.clone() };
            self.shown.push(format!("run failed: {spec}: {}", message.trim_end()));
        }
    }
}

/// A point of the grid, and the key of its runs without the seed.
struct Point {
    spec: RunSpec,
    key: ColumnKey,
}

impl Point {
    fn keys<'a>(&'a self, seeds: &'a [u64]) -> impl Iterator<Item = (u64, Key)> + 'a {
        seeds.iter().map(|seed| (*seed, self.key.with(*seed)))
    }
}

/// The runs of a point that are on record.
struct PointRuns {
    number: u64,
    made_from: Rc<RunColumns>,
    /// The seed of each run, and the key of its result in the store.
    runs: Vec<(u64, Key)>,
}

/// A table to be written.
struct Table<'a> {
    columns: SweepTable<'a>,
    points: Vec<PointRuns>,
    format: SweepFormat,
    file: OutputFile,
}

impl Table<'_> {
    /// Writes what is on record.
    fn write(mut self, store: &Store) -> Result<(), Failure> {
        let fault = |e: std::io::Error| run_failed(format!("cannot write the table: {e}"));
        let mut rows = self.columns.begin(self.format, &mut self.file).map_err(fault)?;
        for PointRuns { number, made_from, runs } in self.points {
            for (seed, key) in runs {
                match store.get(key) {
                    Lookup::Found(Record { outcome: Ok(run), .. }) => {
                        rows.row(number, &made_from, seed, &run).map_err(fault)?;
                    }
                    // Somebody else has taken it away since.
                    _ => complain(&format!(
                        "warning: not in the table: a result that is gone (point {number}, seed {seed})"
                    )),
                }
            }
        }
        rows.finish().map_err(fault)?;
        self.file.finish()
    }
}

impl Sweep {
    /// The table in this format, its file opened before the work, so that a bad path is known at once.
    fn table<'a>(&self, sweep: &'a SweepFile, format: SweepFormat) -> Result<Option<Table<'a>>, Failure> {
        let Some(path) = &self.output else { return Ok(None) };
        let file = OutputFile::beside(path, &[Some(&self.file)])?;
        Ok(Some(Table { columns: SweepTable::new(sweep, made_by()), points: Vec::new(), format, file }))
    }

    /// Makes the runs that the store lacks, writes their table, and says how many there are.
    pub(super) fn grid(&self, sweep: SweepFile, format: Option<SweepFormat>) -> Result<End, Failure> {
        let runs = sweep.size();
        let mut table = format.map_or(Ok(None), |format| self.table(&sweep, format))?;
        if runs > CONFIRM_ABOVE && !self.yes {
            return Err(TooLarge { name: sweep.name, runs }.into());
        }
        let directory = match &self.store {
            Some(directory) => directory.clone(),
            None => user_cache()?.join("sweeps").join(&sweep.name),
        };
        let store = if self.status { Store::open_to_read(&directory)? } else { Store::open(&directory)? };
        store.warnings().iter().for_each(|warning| complain(&format!("warning: {warning}")));
        let resolver = Resolver::new(sweep.inputs.clone());
        let seeds: Vec<u64> = (1..=sweep.seeds.into()).collect();
        let (mut tally, mut points, mut first) = (Tally::default(), sweep.grid(), 0);
        // What is only read ends by signals at once.
        let stop = (!self.status).then(stop_on_signals);
        loop {
            let chunk: Vec<Point> = points
                .by_ref()
                .take(POINTS_AT_ONCE)
                .map(|spec| Ok(Point { key: spec.keys(&resolver)?.0, spec }))
                .collect::<Result<_, RunSpecError>>()?;
            if chunk.is_empty() {
                break;
            }
            if stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(interrupted(tally.kept, runs, Some(&store)));
            }
            if self.retry {
                forget_failures(&store, &chunk, &seeds)?;
            }
            if let Some(stop) = &stop {
                self.complete(&store, &resolver, &chunk, &seeds, stop, &mut tally)?;
            }
            count(&store, &resolver, first, &chunk, &seeds, &mut tally, table.as_mut())?;
            first += chunk.len() as u64;
        }
        table.map_or(Ok(()), |table| table.write(&store))?;
        self.say(&sweep.name, runs, &tally)
    }

    /// Runs what is missing of these points.
    fn complete(
        &self,
        store: &Store,
        resolver: &Resolver,
        points: &[Point],
        seeds: &[u64],
        stop: &Stop,
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        let mut executor = Executor::default();
        let mut asked = Vec::new();
        for point in points {
            let missing: Vec<u64> = point
                .keys(seeds)
                .filter(|(_, key)| !matches!(store.get(*key), Lookup::Found(_)))
                .map(|(seed, _)| seed)
                .collect();
            match point.spec.experiment(resolver) {
                _ if missing.is_empty() => {}
                Ok((mut experiment, _)) => {
                    experiment.workers = Workers::default();
                    asked.push((point, executor.ask(&Arc::new(experiment), 0, &missing), missing));
                }
                // It fails so everywhere: that is the result of its runs.
                Err(error) => {
                    for seed in missing {
                        let what = RunSpec { seed, ..point.spec.clone() }.to_string();
                        let outcome = Err(error.to_string().trim_end().to_owned());
                        store.put(point.key.with(seed), &Record { what, wall_ns: 0, outcome })?;
                    }
                }
            }
        }
        let runs = Runs::new();
        let outcomes = match executor.carry_out(Some(store), self.threads(), stop, &|progress| runs.tell(progress)) {
            Err(BatchError::Stopped) => return Err(runs.interrupted(Some(store))),
            outcomes => outcomes?,
        };
        // What a limit has ended is not on record.
        for (point, column, missing) in asked {
            for (seed, outcome) in missing.into_iter().zip(outcomes.of(column)) {
                let is_kept = || matches!(store.get(point.key.with(seed)), Lookup::Found(_));
                if let Err(message) = outcome.map(drop).or_else(|message| if is_kept() { Ok(()) } else { Err(message) })
                {
                    tally.failure(&point.spec, seed, &message);
                }
            }
        }
        Ok(())
    }

    fn threads(&self) -> usize {
        let default = || std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        self.jobs.map_or_else(default, std::num::NonZeroUsize::get)
    }

    /// How many runs are on record, and which failed.
    fn say(&self, name: &str, runs: u64, tally: &Tally) -> Result<End, Failure> {
        let mut counts = vec![format!("{} of {runs} runs", tally.kept)];
        if tally.failed > 0 {
            counts.push(format!("{} failed", tally.failed));
        }
        let left = runs.saturating_sub(tally.kept).saturating_sub(tally.failed);
        if left > 0 {
            counts.push(format!("{left} left"));
        }
        print(&format!("{name}: {}\n", counts.join(", ")))?;
        tally.shown.iter().for_each(|line| complain(line));
        if tally.failed > tally.shown.len() as u64 {
            complain(&format!("and {} more", tally.failed - tally.shown.len() as u64));
        }
        Ok(if tally.failed > 0 { End::RunFailed } else { End::Done })
    }
}

fn forget_failures(store: &Store, points: &[Point], seeds: &[u64]) -> Result<(), Failure> {
    for (_, key) in points.iter().flat_map(|point| point.keys(seeds)) {
        if matches!(store.get(key), Lookup::Found(Record { outcome: Err(_), .. })) {
            store.forget(key)?;
        }
    }
    Ok(())
}

/// Counts what is on record of these points, of which `first` is the number of the first.
fn count(
    store: &Store,
    resolver: &Resolver,
    first: u64,
    points: &[Point],
    seeds: &[u64],
    tally: &mut Tally,
    mut table: Option<&mut Table>,
) -> Result<(), Failure> {
    for (number, point) in (first..).zip(points) {
        let mut runs = Vec::new();
        for (seed, key) in point.keys(seeds) {
            match store.get(key) {
                Lookup::Found(Record { outcome: Ok(run), .. }) => {
                    tally.kept += 1;
                    if let Some(table) = &mut table {
                        table.columns.add_figures(&run);
                        runs.push((seed, key));
                    }
                }
                Lookup::Found(Record { outcome: Err(message), .. }) => tally.failure(&point.spec, seed, &message),
                Lookup::Damaged(what) => complain(&format!("warning: a kept result is damaged, run again: {what}")),
                Lookup::Missing => {}
            }
        }
        if let Some(table) = table.as_mut().filter(|_| !runs.is_empty()) {
            let (experiment, _) = point.spec.experiment(resolver)?;
            let made_from = table.columns.made_from(&experiment);
            table.points.push(PointRuns { number, made_from, runs });
        }
    }
    Ok(())
}

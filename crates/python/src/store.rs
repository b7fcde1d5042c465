//! The store of results, and runs that go there.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::ArrayRef;
use fairground_linux::build::user_cache;
use fairground_run::batch::BatchError;
use fairground_run::executor::{Asked, Executor, Progress};
use fairground_run::key::Key;
use fairground_run::metrics::Better;
use fairground_run::run_spec::RunSpec;
use fairground_run::store::{Lookup, Record, StoreError};
use fairground_run::{experiment::Stop, store};
use pyo3::prelude::*;

use crate::errors::{failed, input, refused, store_failed, CannotKeep};
use crate::interrupt::beside;
use crate::options::{threads, workers};
use crate::runs::{parsed, read, Inputs, Outcome, RunKeys};
use crate::table::{counts, figures, texts, Table};

/// A directory of results of runs: what the commands keep, under the same keys. Any number of processes may use it.
#[pyclass(frozen, module = "fairground.sweeps")]
pub struct Store {
    /// None: it is closed.
    store: Mutex<Option<Arc<store::Store>>>,
    /// What was found damaged on opening.
    #[pyo3(get)]
    warnings: Vec<String>,
    #[pyo3(get)]
    read_only: bool,
}

/// A run that has no result: its place among the columns, its seed, and why.
type WithoutResult = (usize, u64, String);

#[pymethods]
impl Store {
    /// Opens a store, or begins one; to read alone: one that is there.
    #[new]
    #[pyo3(signature = (path, *, read_only=false))]
    fn new(py: Python<'_>, path: PathBuf, read_only: bool) -> PyResult<Store> {
        let open = if read_only { store::Store::open_to_read } else { store::Store::open };
        let store = py.detach(|| open(&path)).map_err(store_failed)?;
        let warnings = store.warnings().to_vec();
        Ok(Store { store: Mutex::new(Some(Arc::new(store))), warnings, read_only })
    }

    /// Lets go of the directory. What was recorded stays.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.opened().take()));
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __exit__(&self, py: Python<'_>, _kind: Py<PyAny>, _error: Py<PyAny>, _traceback: Py<PyAny>) {
        self.close(py);
    }

    /// Results on record.
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.get_store()?.len().map_err(store_failed)? as usize)
    }

    /// What is on record of a run; none if there is nothing, or if it was damaged.
    fn get(&self, key: &str) -> PyResult<Option<Outcome>> {
        match self.get_store()?.get(parsed(key)?) {
            Lookup::Found(record) => Ok(Some(Outcome { record, is_result: true })),
            Lookup::Missing | Lookup::Damaged(_) => Ok(None),
        }
    }

    /// Puts a result on record at once, in place of what is there.
    fn put(&self, py: Python<'_>, key: &str, outcome: &Outcome) -> PyResult<()> {
        if !outcome.is_result {
            return Err(refused("a limit has ended this run: it has no result"));
        }
        let (store, key) = (self.get_store()?, parsed(key)?);
        py.detach(|| store.put(key, &outcome.record)).map_err(store_failed)
    }

    /// Positions of the keys that are not on record, ascending; of equal keys the first.
    fn missing(&self, py: Python<'_>, keys: &RunKeys) -> PyResult<Vec<usize>> {
        let store = self.get_store()?;
        py.detach(|| {
            let mut missing = store.missing(&keys.keys)?;
            let mut seen: HashSet<Key> = HashSet::new();
            missing.retain(|position| seen.insert(keys.keys[*position]));
            Ok(missing)
        })
        .map_err(store_failed)
    }

    /// What is on record of these runs.
    fn results(&self, py: Python<'_>, keys: &RunKeys) -> PyResult<Results> {
        let store = self.get_store()?;
        beside(py, |stop| Columns::read(&store, keys, &stop))?.results(py)
    }

    /// Removes the results of the runs at these positions.
    fn forget(&self, py: Python<'_>, keys: &RunKeys, positions: Vec<usize>) -> PyResult<()> {
        let store = self.get_store()?;
        let keys: Vec<Key> = positions.iter().filter_map(|position| keys.keys.get(*position).copied()).collect();
        py.detach(|| keys.into_iter().try_for_each(|key| store.forget(key))).map_err(store_failed)
    }

    /// A text that was kept with the results.
    fn document(&self, name: &str) -> PyResult<Option<String>> {
        self.get_store()?.document(name).map_err(store_failed)
    }

    /// Keeps a text with the results. One that is there already stays as it is.
    fn keep_document(&self, name: &str, text: &str) -> PyResult<()> {
        self.get_store()?.keep_document(name, text).map_err(store_failed)
    }

    /// Writes all results to one file; how many.
    fn export_to(&self, py: Python<'_>, path: PathBuf) -> PyResult<usize> {
        let store = self.get_store()?;
        py.detach(|| store.export(&path)).map(|copied| copied.new).map_err(store_failed)
    }

    /// Takes over the results of such a file that are not on record; how many.
    fn import_from(&self, py: Python<'_>, path: PathBuf) -> PyResult<usize> {
        let store = self.get_store()?;
        py.detach(|| store.import(&path)).map(|copied| copied.new).map_err(store_failed)
    }

    /// Carries runs out on `jobs` threads (0: one for each CPU) and records them as they end. A column is the JSON of a
    /// run, and seeds. `progress` is called once for each run that ended, from any thread.
    ///
    /// Returns the number of failures on record, the runs without a result, and whether the process of one was lost.
    fn carry_out(
        &self,
        py: Python<'_>,
        inputs: &Inputs,
        columns: Vec<(String, Vec<u64>)>,
        jobs: i64,
        progress: Py<PyAny>,
    ) -> PyResult<(usize, Vec<WithoutResult>, bool)> {
        let store = self.get_store()?;
        let specs = columns.iter().map(|(spec, seeds)| Ok((read(spec)?, seeds.as_slice())));
        let specs = specs.collect::<PyResult<Vec<_>>>()?;
        let (jobs, workers) = (threads(jobs)?, workers(py)?);
        let step =
            || Python::attach(|py| progress.call0(py).map(drop).unwrap_or_else(|e| e.write_unraisable(py, None)));
        beside(py, |stop| {
            let mut work = Work { store: &store, inputs, executor: Executor::default(), asked: Vec::new() };
            specs.iter().try_for_each(|(spec, seeds)| work.ask(spec, seeds, &workers, &step))?;
            work.carry_out(&specs, jobs, &stop, &step)
        })?
        .map_err(|error| match error {
            Trouble::Store(error) => store_failed(error),
            Trouble::Run(error) => input(error),
            Trouble::Kept(what) => CannotKeep::new_err(format!(
                "{what}: earlier results are kept; correct the cause and start again to go on"
            )),
            Trouble::Batch(error) => failed(error.to_string()),
        })
    }
}

impl Store {
    fn opened(&self) -> MutexGuard<'_, Option<Arc<store::Store>>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get_store(&self) -> PyResult<Arc<store::Store>> {
        self.opened().clone().ok_or_else(|| refused("this store is closed"))
    }
}

/// Why runs could not be carried out.
enum Trouble {
    Store(StoreError),
    Run(fairground_run::run_spec::RunSpecError),
    /// A result could not be stored.
    Kept(String),
    Batch(BatchError),
}

/// Runs whose results go into a store.
struct Work<'a> {
    store: &'a store::Store,
    inputs: &'a Inputs,
    executor: Executor,
    /// By column; `None`: the column cannot be run, and its failures are stored.
    asked: Vec<Option<Asked>>,
}

impl Work<'_> {
    /// Adds runs. If they cannot begin, stores their failures.
    fn ask(
        &mut self,
        spec: &RunSpec,
        seeds: &[u64],
        workers: &fairground_run::worker::Workers,
        step: &(dyn Fn() + Sync),
    ) -> Result<(), Trouble> {
        let asked = match spec.experiment(&self.inputs.0) {
            Ok((mut experiment, _)) => {
                experiment.workers = workers.clone();
                Some(self.executor.ask(&Arc::new(experiment), 0, seeds))
            }
            Err(error) if error.is_result() => {
                let (key, _) = spec.keys(&self.inputs.0).map_err(Trouble::Run)?;
                for seed in seeds {
                    let spec = RunSpec { seed: *seed, ..spec.clone() };
                    let outcome = Err(error.to_string().trim_end().to_owned());
                    let record = Record { what: spec.to_string(), wall_ns: 0, outcome };
                    self.store.put(key.with(*seed), &record).map_err(Trouble::Store)?;
                    step();
                }
                None
            }
            Err(error) => return Err(Trouble::Run(error)),
        };
        self.asked.push(asked);
        Ok(())
    }

    fn carry_out(
        self,
        specs: &[(RunSpec, &[u64])],
        jobs: usize,
        stop: &Stop,
        step: &(dyn Fn() + Sync),
    ) -> Result<(usize, Vec<WithoutResult>, bool), Trouble> {
        let unkept = Mutex::new(None);
        let begun = std::sync::atomic::AtomicBool::new(false);
        let report = |progress| match progress {
            Progress::Begun { kept, .. } => {
                begun.store(true, Ordering::Relaxed);
                // Another process has made them meanwhile.
                (0..kept).for_each(|_| step());
            }
            Progress::Done { .. } => step(),
            Progress::Trouble(what) if begun.load(Ordering::Relaxed) => {
                *unkept.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
                stop.store(true, Ordering::Relaxed);
            }
            // A damaged result; its run is made again now.
            Progress::Trouble(_) => {}
        };
        let outcomes = self.executor.carry_out(Some(self.store), jobs, stop, &report);
        if let Some(what) = unkept.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(Trouble::Kept(what));
        }
        let outcomes = outcomes.map_err(Trouble::Batch)?;
        let (mut failures, mut without) = (0, Vec::new());
        for (column, ((spec, seeds), asked)) in specs.iter().zip(&self.asked).enumerate() {
            let Some(asked) = asked else {
                failures += seeds.len();
                continue;
            };
            let runs = outcomes.of(*asked);
            let failed = runs.iter().zip(*seeds).filter_map(|(run, seed)| Some((run.as_ref().err()?, *seed)));
            for (message, seed) in failed {
                let key = RunSpec { seed, ..spec.clone() }.key(&self.inputs.0).map_err(Trouble::Run)?;
                match self.store.missing(&[key]).map_err(Trouble::Store)?.is_empty() {
                    true => failures += 1,
                    false => without.push((column, seed, message.clone())),
                }
            }
        }
        Ok((failures, without, outcomes.is_any_lost()))
    }
}

/// What is on record of the runs of a sweep.
#[pyclass(frozen, module = "fairground._fairground")]
pub struct Results {
    /// Of the runs that ended well, by position: `run.position`, `run.hash`, then the figures by name; null where a run
    /// has none.
    #[pyo3(get)]
    table: Py<Table>,
    /// Positions and messages of the runs that failed, ascending.
    #[pyo3(get)]
    failures: Vec<(u64, String)>,
    /// Unit and better end (`higher` or `lower`) of figures, by name.
    #[pyo3(get)]
    metrics: BTreeMap<String, (String, &'static str)>,
    /// Notes of the runs, each once, sorted.
    #[pyo3(get)]
    notes: Vec<String>,
    /// Positions of results that are not as they were written, with what is wrong.
    #[pyo3(get)]
    damaged: Vec<(usize, String)>,
}

/// A figure of the runs that were read so far.
struct MetricColumn {
    unit: String,
    better: Better,
    values: Vec<Option<f64>>,
}

/// Results column by column.
#[derive(Default)]
struct Columns {
    positions: Vec<u64>,
    hashes: Vec<String>,
    metrics: BTreeMap<String, MetricColumn>,
    failures: Vec<(u64, String)>,
    notes: BTreeSet<String>,
    damaged: Vec<(usize, String)>,
}

impl Columns {
    fn read(store: &store::Store, keys: &RunKeys, stop: &Stop) -> Columns {
        let mut columns = Columns::default();
        for (position, key) in keys.keys.iter().enumerate() {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            match store.get(*key) {
                Lookup::Found(record) => columns.add(position, record, keys.notes(position)),
                Lookup::Damaged(what) => columns.damaged.push((position, what)),
                Lookup::Missing => {}
            }
        }
        columns
    }

    fn add(&mut self, position: usize, record: Record, notes: &[String]) {
        let report = match record.outcome {
            Ok(report) => report,
            Err(message) => return self.failures.push((position as u64, message)),
        };
        let row = self.positions.len();
        self.positions.push(position as u64);
        self.hashes.push(format!("{:032x}", report.hash));
        for note in report.notes.iter().chain(notes) {
            if !self.notes.contains(note) {
                self.notes.insert(note.clone());
            }
        }
        for value in report.metrics {
            let metric = value.metric;
            let new = || MetricColumn { unit: metric.unit, better: metric.better, values: Vec::new() };
            let column = self.metrics.entry(metric.name).or_insert_with(new);
            column.values.resize(row, None);
            column.values.push(Some(value.value));
        }
    }

    fn results(self, py: Python<'_>) -> PyResult<Results> {
        let rows = self.positions.len();
        let mut columns: Vec<(String, ArrayRef)> = vec![
            ("run.position".into(), counts(self.positions.into_iter())),
            ("run.hash".into(), texts(self.hashes.iter().map(String::as_str))),
        ];
        let mut metrics = BTreeMap::new();
        for (name, mut column) in self.metrics {
            column.values.resize(rows, None);
            columns.push((name.clone(), figures(column.values.into_iter())));
            metrics.insert(name, (column.unit, column.better.word()));
        }
        Ok(Results {
            table: Py::new(py, Table::named(columns))?,
            failures: self.failures,
            metrics,
            notes: self.notes.into_iter().collect(),
            damaged: self.damaged,
        })
    }
}

/// The store of results that a caller names.
#[derive(FromPyObject)]
pub enum StoreLocation {
    /// True: the store in the user's cache directory. False: no store.
    Default(bool),
    Dir(PathBuf),
}

impl StoreLocation {
    pub fn open(self) -> PyResult<Option<store::Store>> {
        let dir = match self {
            StoreLocation::Default(false) => return Ok(None),
            StoreLocation::Default(true) => user_cache().map_err(input)?.join("results"),
            StoreLocation::Dir(dir) => dir,
        };
        store::Store::open(&dir).map(Some).map_err(input)
    }
}

//! Runs many columns together. Results that are in the store are read from it; the longest runs begin first.
//!
//! [`Executor::ask`] adds a column. [`Executor::carry_out`] runs all columns on a number of threads; the results are
//! looked up afterwards. What is requested twice runs once: a column, and a run that two columns with different lists of
//! seeds have in common. The order of the runs does not change any result. It is chosen so that no long run is left for the end: first the columns without any measured run time, then the
//! column whose runs take longest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::batch::{self, BatchError, Plan, Results, RunReport, Runner};
use crate::experiment::{Attendance, Experiment, Outputs, RunError, SharedTime, Stop};
use crate::key::{ColumnKey, Key};
use crate::store::{Lookup, Record, Store, StoreError};

/// Results of a column of runs, by seed.
pub type Runs = Vec<Result<RunReport, String>>;

/// One scheduler of an experiment, and the seeds to run it with.
struct Column {
    experiment: Arc<Experiment>,
    sched: usize,
    key: Option<ColumnKey>,
    seeds: Vec<u64>,
}

/// Identifies a column, one scheduler of one experiment with a list of seeds, in [`Outcomes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked(usize);

/// Runs the columns that were added to it, and takes from the store the results that are there.
#[derive(Default)]
pub struct Executor {
    columns: Vec<Column>,
    known: BTreeMap<(ColumnKey, Vec<u64>), Asked>,
}

/// Runs of a column of an executor that a store lacks.
pub struct MissingRuns<'a> {
    /// Machine, workload and settings of the column.
    pub experiment: &'a Experiment,
    /// Place of the column's scheduler among those of the experiment.
    pub sched: usize,
    /// Keys and seeds, each key once.
    pub runs: Vec<(Key, u64)>,
}

/// What the executor reports while it runs.
#[derive(Clone, Debug)]
pub enum Progress {
    /// The store was searched; runs begin.
    Begun {
        /// Number of runs, including those whose results are in the store.
        runs: usize,
        /// Number of these that are in the store.
        kept: usize,
        /// The virtual time of the runs that are made.
        time: VirtualTime,
    },
    /// One more run is done.
    Done {
        /// Estimated wall time of the remaining runs; `None` if no run time is known yet.
        left: Option<Duration>,
    },
    /// A problem with the store. The runs go on.
    Trouble(String),
}

/// The virtual time that all runs of an executor have reached together, those in progress included.
#[derive(Clone, Debug, Default)]
pub struct VirtualTime(Arc<Mutex<Times>>);

#[derive(Debug, Default)]
struct Times {
    /// Sum over the runs that have ended, ns.
    ended: u64,
    running: Vec<SharedTime>,
}

impl VirtualTime {
    /// Nanoseconds so far.
    pub fn ns(&self) -> u64 {
        let times = self.times();
        times.running.iter().fold(times.ended, |sum, run| sum.saturating_add(run.load(Ordering::Relaxed)))
    }

    /// The time of one more run.
    fn begin(&self) -> SharedTime {
        let run = SharedTime::default();
        self.times().running.push(Arc::clone(&run));
        run
    }

    /// The run has ended.
    fn end(&self, run: &SharedTime) {
        let mut times = self.times();
        times.running.retain(|other| !Arc::ptr_eq(other, run));
        times.ended = times.ended.saturating_add(run.load(Ordering::Relaxed));
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receives progress, from any thread.
pub type ProgressListener<'a> = &'a (dyn Fn(Progress) + Sync);

/// Results of all columns.
pub struct Outcomes {
    runs: Vec<Runs>,
    lost: bool,
}

impl Outcomes {
    /// Results of one column.
    pub fn of(&self, asked: Asked) -> Runs {
        self.runs[asked.0].clone()
    }

    /// Whether the process of a run was lost: further runs on this machine may be lost too.
    pub fn is_any_lost(&self) -> bool {
        self.lost
    }
}

impl Executor {
    /// Adds a column, unless it was added before.
    pub fn ask(&mut self, experiment: &Arc<Experiment>, sched: usize, seeds: &[u64]) -> Asked {
        // If the library cannot be read, the run reports it.
        let key = ColumnKey::of(experiment, sched).ok();
        let new = Asked(self.columns.len());
        if let Some(key) = key {
            let asked = *self.known.entry((key, seeds.to_vec())).or_insert(new);
            if asked != new {
                return asked;
            }
        }
        self.columns.push(Column { experiment: Arc::clone(experiment), sched, key, seeds: seeds.to_vec() });
        new
    }

    /// The runs that are not in `store`, by column; each once. Without those whose kernel cannot be read, which fail when they are made.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn missing(&self, store: &Store) -> Result<Vec<MissingRuns<'_>>, StoreError> {
        let mut seen = BTreeSet::new();
        let mut missing = Vec::new();
        for column in &self.columns {
            let Some(key) = column.key else { continue };
            let keys: Vec<Key> = column.seeds.iter().map(|seed| key.with(*seed)).collect();
            let places = store.missing(&keys)?.into_iter().filter(|at| seen.insert(keys[*at]));
            let runs: Vec<(Key, u64)> = places.map(|at| (keys[at], column.seeds[at])).collect();
            if !runs.is_empty() {
                missing.push(MissingRuns { experiment: &column.experiment, sched: column.sched, runs });
            }
        }
        Ok(missing)
    }

    /// Runs every scheduler of every experiment with every seed of a plan; results that are in the store are read from
    /// it. Each scheduler is one column, those of the first experiment first. `plan.scheds` is the number of columns.
    /// If the plan checks determinism, every run is made twice, and the store is not used.
    ///
    /// # Errors
    /// As [`Self::carry_out`].
    pub fn batch(
        experiments: &[Arc<Experiment>],
        plan: &Plan,
        store: Option<&Store>,
        stop: &Stop,
        report: ProgressListener,
    ) -> Result<Results, BatchError> {
        let columns = Columns::new(experiments);
        if plan.check_determinism {
            let plan = Plan { scheds: columns.0.len(), ..plan.clone() };
            let time = VirtualTime::default();
            report(Progress::Begun { runs: plan.scheds * plan.seeds.len(), kept: 0, time });
            return batch::run(&plan, &columns, &|| report(Progress::Done { left: None }));
        }
        let mut executor = Executor::default();
        let ask = |(experiment, sched): (Arc<Experiment>, usize)| executor.ask(&experiment, sched, &plan.seeds);
        let asked: Vec<Asked> = columns.0.into_iter().map(ask).collect();
        let outcomes = executor.carry_out(store, plan.jobs, stop, report)?;
        Ok(asked.into_iter().map(|column| outcomes.of(column)).collect())
    }

    /// Runs all columns. If a run fails, the result at its place is its error message; the other runs go on.
    ///
    /// # Errors
    /// If the threads cannot be started, or if `stop` became true. The runs that were done by then are in the store.
    pub fn carry_out(
        self,
        store: Option<&Store>,
        jobs: usize,
        stop: &Stop,
        report: ProgressListener,
    ) -> Result<Outcomes, BatchError> {
        let work = Work::new(&self.columns, store, jobs, stop, report);
        let threads = jobs.min(work.state().left()).max(1);
        let refused = |e: std::io::Error| {
            // The threads that were started stop after their current run.
            work.state().clear();
            BatchError::Threads { jobs: threads, cause: e.to_string() }
        };
        std::thread::scope(|scope| {
            // This thread works too.
            for _ in 1..threads {
                std::thread::Builder::new().spawn_scoped(scope, || work.serve()).map_err(refused)?;
            }
            work.serve();
            Ok(())
        })?;
        if stop.load(Ordering::Relaxed) {
            return Err(BatchError::Stopped);
        }
        Ok(work.finish())
    }
}

/// The schedulers of all experiments, experiment by experiment.
struct Columns(Vec<(Arc<Experiment>, usize)>);

impl Columns {
    fn new(experiments: &[Arc<Experiment>]) -> Columns {
        let columns = |experiment: &Arc<Experiment>| {
            let scheds = experiment.scheds.len();
            std::iter::repeat_n(Arc::clone(experiment), scheds).zip(0..scheds).collect::<Vec<_>>()
        };
        Columns(experiments.iter().flat_map(columns).collect())
    }
}

impl Runner for Columns {
    fn run(&self, sched: usize, seed: u64) -> Result<RunReport, String> {
        let (experiment, sched) = &self.0[sched];
        experiment.run(*sched, seed)
    }
}

/// Makes a run, for a store. If it fails, the record holds the error message.
///
/// # Errors
/// A failure that is not a result: a limit ended the run, or the run was lost.
pub fn record(experiment: &Experiment, sched: usize, seed: u64, stop: &Stop) -> Result<Record, RunError> {
    let begun = Instant::now();
    let outcome = match batch::contained(|| experiment.until(stop, sched, seed)) {
        Ok(Err(error)) if !error.is_result() => return Err(error),
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(panicked) => Err(panicked),
    };
    let what = format!("{} seed {seed}", in_words(experiment, sched));
    Ok(Record { what, wall_ns: begun.elapsed().as_nanos() as u64, outcome })
}

/// Names machine, workload and scheduler for the user.
pub(crate) fn in_words(experiment: &Experiment, sched: usize) -> String {
    let Experiment { machine, workload, scheds, .. } = experiment;
    format!("{} {} {}", machine.name, workload.name, scheds[sched])
}

/// A run: its column, and the place of its seed in that column.
type Place = (usize, usize);

/// A run whose result is that of another, which is made: first the one, then the other.
type Copied = (Place, Place);

/// Columns that are being run.
struct Work<'a> {
    columns: &'a [Column],
    store: Option<&'a Store>,
    jobs: usize,
    stop: &'a Stop,
    report: ProgressListener<'a>,
    time: VirtualTime,
    copied: Vec<Copied>,
    state: Mutex<State>,
}

/// The runs that are left, and the results and run times of those that are done.
struct State {
    columns: Vec<ColumnState>,
    given: BTreeMap<Place, Result<RunReport, String>>,
    /// Whether the process of a run was lost.
    lost: bool,
    /// Columns of which no run was begun and none is in the store. The front is begun first.
    fresh: VecDeque<usize>,
    /// The other columns with runs left, ordered by mean run time; those without a mean first.
    begun: BTreeSet<(Option<Duration>, Reverse<usize>)>,
    /// Wall time of all runs that are done, and their number.
    took: (Duration, u32),
    /// Sum over the columns with a mean: mean run time times number of runs left.
    expected: Duration,
    /// Runs left in columns without a mean.
    unknown: u32,
}

#[derive(Default)]
struct ColumnState {
    /// Places in the column of the runs that are left, ascending.
    left: VecDeque<usize>,
    /// Wall time of the runs that are done, and their number.
    took: (Duration, u32),
}

impl ColumnState {
    /// Mean wall time of the runs that are done.
    fn mean(&self) -> Option<Duration> {
        let (took, n) = self.took;
        (n > 0).then(|| took / n)
    }
}

impl<'a> Work<'a> {
    /// Reads from the store what is there; the rest is left to run.
    fn new(
        columns: &'a [Column],
        store: Option<&'a Store>,
        jobs: usize,
        stop: &'a Stop,
        report: ProgressListener<'a>,
    ) -> Work<'a> {
        let mut state = State::new(columns.len());
        let (mut made, mut copied) = (BTreeMap::<Key, Place>::new(), Vec::new());
        for (c, column) in columns.iter().enumerate() {
            for (s, seed) in column.seeds.iter().enumerate() {
                let key = column.key.map(|key| key.with(*seed));
                if let Some(key) = key {
                    let first = *made.entry(key).or_insert((c, s));
                    if first != (c, s) {
                        copied.push(((c, s), first));
                        continue;
                    }
                }
                match store.zip(key).map_or(Lookup::Missing, |(store, key)| store.get(key)) {
                    Lookup::Found(kept) => {
                        state.note(c, Duration::from_nanos(kept.wall_ns));
                        state.given.insert((c, s), kept.outcome);
                        continue;
                    }
                    Lookup::Damaged(what) => {
                        report(Progress::Trouble(format!("a kept result is damaged, run again: {what}")))
                    }
                    Lookup::Missing => {}
                }
                state.columns[c].left.push_back(s);
            }
        }
        state.order(|c| columns[c].experiment.machine.cpus.len());
        let (kept, time) = (state.given.len(), VirtualTime::default());
        report(Progress::Begun { runs: state.left() + kept, kept, time: time.clone() });
        Work { columns, store, jobs, stop, report, time, copied, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No thread panics while it holds the lock: runs happen without it, and their panics are caught.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs what is left, one after another.
    fn serve(&self) {
        loop {
            let next = self.state().next();
            let Some(place) = next else { return };
            let start = Instant::now();
            let (outcome, recordable) = self.run(place);
            if self.stop.load(Ordering::Relaxed) {
                // A run that was cut short has no result.
                return;
            }
            self.done(place, start.elapsed(), outcome, recordable);
        }
    }

    /// Result of a run, and whether it is to be stored: not if the failure does not depend on the run alone.
    fn run(&self, (c, s): Place) -> (Result<RunReport, String>, bool) {
        let column = &self.columns[c];
        let time = self.time.begin();
        let attendance = Attendance { time: Some(Arc::clone(&time)), stop: Some(Arc::clone(self.stop)) };
        let (sched, seed) = (column.sched, column.seeds[s]);
        let made = batch::contained(|| column.experiment.write(sched, seed, Outputs::default(), attendance).outcome);
        self.time.end(&time);
        match made {
            Ok(Ok(report)) => (Ok(report), true),
            Ok(Err(error)) => {
                self.state().lost |= matches!(error, RunError::Lost(_));
                (Err(error.to_string()), error.is_result())
            }
            Err(panicked) => (Err(panicked), true),
        }
    }

    fn done(&self, (c, s): Place, took: Duration, outcome: Result<RunReport, String>, recordable: bool) {
        let column = &self.columns[c];
        let seed = column.seeds[s];
        if let Some((store, key)) = self.store.zip(column.key).filter(|_| recordable) {
            let what = format!("{} seed {seed}", in_words(&column.experiment, column.sched));
            let record = Record { what, wall_ns: took.as_nanos() as u64, outcome: outcome.clone() };
            if let Err(e) = store.put(key.with(seed), &record) {
                (self.report)(Progress::Trouble(format!("cannot keep the result of {}: {e}", record.what)));
            }
        }
        let mut state = self.state();
        state.note(c, took);
        state.given.insert((c, s), outcome);
        (self.report)(Progress::Done { left: state.expected(self.jobs) });
    }

    /// Results of all columns. Called when no run is left.
    fn finish(self) -> Outcomes {
        let State { mut given, lost, .. } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (copy, made) in self.copied {
            if let Some(outcome) = given.get(&made).cloned() {
                given.insert(copy, outcome);
            }
        }
        let mut take = |place| given.remove(&place).unwrap_or_else(|| unreachable!("every run was made"));
        let columns = self.columns.iter().enumerate();
        let runs = columns.map(|(c, column)| (0..column.seeds.len()).map(|s| take((c, s))).collect()).collect();
        Outcomes { runs, lost }
    }
}

impl State {
    fn new(columns: usize) -> State {
        State {
            columns: (0..columns).map(|_| ColumnState::default()).collect(),
            given: BTreeMap::new(),
            lost: false,
            fresh: VecDeque::new(),
            begun: BTreeSet::new(),
            took: (Duration::ZERO, 0),
            expected: Duration::ZERO,
            unknown: 0,
        }
    }

    /// Orders the columns with runs left. Those without a measured run time are ordered by `size`, the largest first.
    fn order(&mut self, size: impl Fn(usize) -> usize) {
        for (c, column) in self.columns.iter().enumerate().filter(|(_, column)| !column.left.is_empty()) {
            match column.mean() {
                Some(mean) => {
                    self.begun.insert((Some(mean), Reverse(c)));
                    self.expected += mean * column.left.len() as u32;
                }
                None => {
                    self.fresh.push_back(c);
                    self.unknown += column.left.len() as u32;
                }
            }
        }
        self.fresh.make_contiguous().sort_by_key(|c| (Reverse(size(*c)), *c));
    }

    /// Number of runs that are left.
    fn left(&self) -> usize {
        self.columns.iter().map(|column| column.left.len()).sum()
    }

    /// Drops all runs that are left.
    fn clear(&mut self) {
        self.columns.iter_mut().for_each(|column| column.left.clear());
        (self.fresh, self.begun) = Default::default();
        (self.expected, self.unknown) = Default::default();
    }

    /// Records that a run of column `c` took `took`.
    fn note(&mut self, c: usize, took: Duration) {
        let old = self.columns[c].mean();
        for (sum, n) in [&mut self.columns[c].took, &mut self.took] {
            *sum += took;
            *n += 1;
        }
        let mean = self.columns[c].mean();
        if self.begun.remove(&(old, Reverse(c))) {
            self.begun.insert((mean, Reverse(c)));
            let left = self.columns[c].left.len() as u32;
            match old {
                Some(old) => self.expected -= old * left,
                None => self.unknown -= left,
            }
            self.expected += mean.unwrap_or_default() * left;
        }
    }

    /// The next run: of the first column that was not begun; else of the column whose runs take longest.
    fn next(&mut self) -> Option<Place> {
        let c = match self.fresh.pop_front() {
            Some(c) => {
                self.begun.insert((None, Reverse(c)));
                c
            }
            None => self.begun.last()?.1 .0,
        };
        let column = &mut self.columns[c];
        let (mean, s) = (column.mean(), column.left.pop_front()?);
        match mean {
            Some(mean) => self.expected -= mean,
            None => self.unknown -= 1,
        }
        if column.left.is_empty() {
            self.begun.remove(&(mean, Reverse(c)));
        }
        Some((c, s))
    }

    /// Estimated wall time of the runs left on `jobs` threads: each run takes the mean of its column, or of all runs.
    fn expected(&self, jobs: usize) -> Option<Duration> {
        let (took, n) = self.took;
        let mean = (n > 0).then(|| took / n)?;
        Some((self.expected + mean * self.unknown) / jobs.max(1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use fairground_machine::Machine;
    use fairground_workload::Workload;

    use super::*;

    fn experiment(workload: &str) -> Arc<Experiment> {
        let machine = Machine::preset("hikey").unwrap();
        let workload = Workload::find(workload, &machine).unwrap().0;
        let (machine, workload) = (Arc::new(machine), Arc::new(workload));
        let scheds = ["fair:v5.9", "fair:v5.4"].map(|s| s.parse().unwrap()).into();
        let (config, workers) = Default::default();
        Arc::new(Experiment { machine, workload, scheds, config, workers })
    }

    /// A list of all progress that the listener received.
    fn recorder() -> (Arc<Mutex<Vec<Progress>>>, impl Fn(Progress) + Sync) {
        let all = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&all);
        (all, move |progress| received.lock().unwrap().push(progress))
    }

    /// Two columns of three seeds; one of them is requested twice.
    fn carry_out(store: Option<&Store>, jobs: usize, report: ProgressListener) -> Vec<Runs> {
        let mut executor = Executor::default();
        let experiment = experiment("sched-pipe:loops=20,threads");
        let asked = [0, 1, 0].map(|sched| executor.ask(&experiment, sched, &[1, 2, 3]));
        assert_eq!(asked[0], asked[2]);
        let outcomes = executor.carry_out(store, jobs, &Stop::default(), report).unwrap();
        asked.map(|a| outcomes.of(a)).into()
    }

    #[test]
    fn any_number_of_threads_gives_what_an_experiment_gives() {
        let (all, report) = recorder();
        let single = carry_out(None, 1, &report);
        let experiment = experiment("sched-pipe:loops=20,threads");
        let plan = batch::Plan { scheds: 2, seeds: vec![1, 2, 3], jobs: 2, check_determinism: false };
        let experiment = batch::run(&plan, &*experiment, &|| ()).unwrap();
        assert_eq!(single[..2], experiment[..]);
        assert_eq!(single, carry_out(None, 8, &|_| ()));
        let all = all.lock().unwrap();
        let Progress::Begun { runs: 6, kept: 0, time } = &all[0] else { panic!("{:?}", all[0]) };
        assert!(time.ns() > 0 && time.times().running.is_empty(), "{time:?}");
        assert_eq!(all.len(), 7);
        assert!(matches!(all[6], Progress::Done { left: Some(Duration::ZERO) }));
    }

    #[test]
    fn stored_results_are_not_run_again_and_damaged_results_are() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let first = carry_out(Some(&store), 2, &|_| ());
        let (all, report) = recorder();
        assert_eq!(first, carry_out(Some(&store), 2, &report));
        assert!(matches!(all.lock().unwrap()[..], [Progress::Begun { runs: 6, kept: 6, .. }]));

        drop(store);
        let db = rusqlite::Connection::open(dir.path().join("results.sqlite")).unwrap();
        let damage = "UPDATE results SET content = zeroblob(50) WHERE id = (SELECT min(id) FROM results)";
        assert_eq!(db.execute(damage, []).unwrap(), 1);
        drop(db);
        let store = Store::open(dir.path()).unwrap();
        let (all, report) = recorder();
        assert_eq!(first, carry_out(Some(&store), 2, &report));
        let all = all.lock().unwrap();
        assert!(
            matches!(&all[0], Progress::Trouble(words) if words.contains("results.sqlite") && words.contains("checksum")),
            "{all:?}"
        );
        assert!(matches!(all[1], Progress::Begun { runs: 6, kept: 5, .. }));
    }

    #[test]
    fn a_batch_has_a_column_for_each_scheduler_of_each_experiment() {
        let experiments = ["sched-pipe:loops=20,threads", "sched-pipe:loops=10,threads"].map(experiment);
        let plan = batch::Plan { scheds: 4, seeds: vec![1, 2], jobs: 2, check_determinism: false };
        let alone = |e: &Arc<Experiment>| batch::run(&Plan { scheds: 2, ..plan.clone() }, &**e, &|| ()).unwrap();
        let expected = experiments.each_ref().map(alone).concat();
        let batch = |plan: &Plan| Executor::batch(&experiments, plan, None, &Stop::default(), &|_| ()).unwrap();
        assert_eq!(batch(&plan), expected);
        assert_eq!(batch(&Plan { check_determinism: true, ..plan.clone() }), expected);
    }

    #[test]
    fn a_run_that_two_columns_have_in_common_is_made_once() {
        let experiment = experiment("sched-pipe:loops=20,threads");
        let mut executor = Executor::default();
        let asked = [&[1, 2][..], &[2, 3, 1]].map(|seeds| executor.ask(&experiment, 0, seeds));
        let (all, report) = recorder();
        let outcomes = executor.carry_out(None, 2, &Stop::default(), &report).unwrap();
        let [few, more] = asked.map(|asked| outcomes.of(asked));
        assert_eq!([&few[0], &few[1]], [&more[2], &more[0]]);
        assert!(matches!(all.lock().unwrap()[0], Progress::Begun { runs: 3, kept: 0, .. }));
        assert_eq!(more, [2, 3, 1].map(|seed| experiment.run(0, seed)));
    }

    /// `stop` is set after the first run: its result is stored, and the second and third run leave no result.
    #[test]
    fn a_stopped_executor_keeps_the_results_of_finished_runs() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let stop = Stop::default();
        let report = |progress| {
            if matches!(progress, Progress::Done { .. }) {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let executor = || {
            let mut executor = Executor::default();
            executor.ask(&experiment("sched-pipe:loops=20,threads"), 0, &[1, 2, 3]);
            executor
        };
        let stopped = executor().carry_out(Some(&store), 1, &stop, &report);
        assert!(matches!(stopped, Err(BatchError::Stopped)));
        let (all, report) = recorder();
        executor().carry_out(Some(&store), 1, &Stop::default(), &report).unwrap();
        assert!(matches!(all.lock().unwrap()[0], Progress::Begun { runs: 3, kept: 1, .. }));
    }

    /// Column 1 takes longest; the run times of columns 2 and 3 are unknown.
    #[test]
    fn columns_of_unknown_run_time_come_first_and_then_the_longest() {
        let ms = Duration::from_millis;
        let mut state = State::new(4);
        let left: [&[usize]; 4] = [&[1], &[1, 2], &[0, 1], &[0]];
        left.iter().zip(&mut state.columns).for_each(|(left, column)| column.left.extend(*left));
        state.note(0, ms(10));
        state.note(1, ms(30));
        state.order(|c| if c == 3 { 224 } else { 8 });
        assert_eq!((state.left(), state.expected(2)), (6, Some(ms((10 + 30 + 30 + 20 + 20 + 20) / 2))));
        let order: Vec<Place> = std::iter::from_fn(|| state.next()).collect();
        assert_eq!(order, [(3, 0), (2, 0), (1, 1), (1, 2), (0, 1), (2, 1)]);
        assert_eq!((state.left(), state.expected(2)), (0, Some(ms(0))));
    }

    /// Each finished run moves its column in the order, in time logarithmic in the number of columns.
    #[test]
    fn the_order_follows_the_measured_times() {
        let ms = Duration::from_millis;
        let mut state = State::new(2);
        state.columns.iter_mut().for_each(|column| column.left.extend(0..4));
        state.order(|_| 8);
        assert_eq!([state.next(), state.next()], [Some((0, 0)), Some((1, 0))]);
        state.note(0, ms(20));
        assert_eq!(state.next(), Some((0, 1)));
        state.note(1, ms(30));
        assert_eq!(state.next(), Some((1, 1)));
        // Means are now 50 and 30 ms.
        state.note(0, ms(80));
        assert_eq!(state.expected(1), Some(ms(2 * 50 + 2 * 30)));
        assert_eq!(state.next(), Some((0, 2)));
        state.clear();
        assert_eq!((state.left(), state.next(), state.expected(1)), (0, None, Some(ms(0))));
    }
}

//! Many columns of runs, carried out as one: what is on record is taken from there, what takes longest begins first.
//!
//! Columns are collected ([`Executor::ask`]), then run all together on so many threads ([`Executor::carry_out`]), and
//! looked up afterwards. Who asks for what was asked for before gets the same runs. The order has no part in any
//! result; it is chosen so that no long run is left for the end: a column that nobody has taken the time of comes first,
//! then that whose runs take longest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::batch::{self, BatchError, Plan, Results, RunReport, Runner};
use crate::experiment::{Experiment, RunError, Stop};
use crate::key::ColumnKey;
use crate::store::{Lookup, Record, Store};

/// What a column of runs gave, by seed.
pub type Runs = Vec<Result<RunReport, String>>;

/// One scheduler of an experiment, to run with these seeds.
struct Column {
    experiment: Arc<Experiment>,
    sched: usize,
    key: Option<ColumnKey>,
    seeds: Vec<u64>,
}

/// Stands for a column until it has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked(usize);

/// What is to run.
#[derive(Default)]
pub struct Executor {
    columns: Vec<Column>,
    known: BTreeMap<(ColumnKey, Vec<u64>), Asked>,
}

/// What is told while it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// So many runs are needed, of which so many are on record.
    Begun {
        /// Runs.
        runs: usize,
        /// Of these on record.
        kept: usize,
    },
    /// One more is done. None of the rest takes longer than this if all goes on as it did; none if nothing is known yet.
    Done {
        /// Wall time.
        left: Option<Duration>,
    },
    /// A problem of the store that does not stop the runs.
    Trouble(String),
}

/// Takes news, from any thread.
pub type ProgressListener<'a> = &'a (dyn Fn(Progress) + Sync);

/// What all columns gave.
pub struct Outcomes {
    runs: Vec<Runs>,
    lost: bool,
}

impl Outcomes {
    /// Of a column.
    pub fn of(&self, asked: Asked) -> Runs {
        self.runs[asked.0].clone()
    }

    /// Whether the process of a run was lost: more runs here may fare no better.
    pub fn is_any_lost(&self) -> bool {
        self.lost
    }
}

impl Executor {
    /// A column is wanted.
    pub fn ask(&mut self, experiment: &Arc<Experiment>, sched: usize, seeds: &[u64]) -> Asked {
        // A library that cannot be read will say so when it runs.
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

    /// Every scheduler of every experiment with every seed of a plan, what is on record taken from there: one column
    /// each, the schedulers of the first experiment first. `plan.scheds` is their number. A plan that checks determinism
    /// makes every run, twice.
    ///
    /// # Errors
    /// As [`Self::carry_out`].
    pub fn batch(
        experiments: &[Arc<Experiment>],
        plan: &Plan,
        store: Option<&Store>,
        stop: &Stop,
        tell: ProgressListener,
    ) -> Result<Results, BatchError> {
        let columns = Columns::new(experiments);
        if plan.check_determinism {
            let plan = Plan { scheds: columns.0.len(), ..plan.clone() };
            tell(Progress::Begun { runs: plan.scheds * plan.seeds.len(), kept: 0 });
            return batch::run(&plan, &columns, &|| tell(Progress::Done { left: None }));
        }
        let mut executor = Executor::default();
        let ask = |(experiment, sched): (Arc<Experiment>, usize)| executor.ask(&experiment, sched, &plan.seeds);
        let asked: Vec<Asked> = columns.0.into_iter().map(ask).collect();
        let outcomes = executor.carry_out(store, plan.jobs, stop, tell)?;
        Ok(asked.into_iter().map(|column| outcomes.of(column)).collect())
    }

    /// Runs all columns. A run that fails keeps its message in its place; the others are not lost.
    ///
    /// # Errors
    /// If the threads cannot be had, or `stop` became true: what was done until then is on record.
    pub fn carry_out(
        self,
        store: Option<&Store>,
        jobs: usize,
        stop: &Stop,
        tell: ProgressListener,
    ) -> Result<Outcomes, BatchError> {
        let work = Work::new(&self.columns, store, jobs, stop, tell);
        let threads = jobs.min(work.state().left()).max(1);
        let refused = |e: std::io::Error| {
            // Those that were had stop after the run they are at.
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

/// The schedulers of several experiments, one after another.
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

/// A run: its column, and its place in there.
type Place = (usize, usize);

/// Columns at work.
struct Work<'a> {
    columns: &'a [Column],
    store: Option<&'a Store>,
    jobs: usize,
    stop: &'a Stop,
    tell: ProgressListener<'a>,
    state: Mutex<State>,
}

/// The runs that are left, and how long those took that are done.
struct State {
    columns: Vec<ColumnState>,
    given: BTreeMap<Place, Result<RunReport, String>>,
    /// The process of a run was lost.
    lost: bool,
    /// Columns of which no run was begun and none is on record, the one to begin first at the front.
    fresh: VecDeque<usize>,
    /// The other columns with runs left, in the order of their means; without a mean: first.
    begun: BTreeSet<(Option<Duration>, Reverse<usize>)>,
    /// Wall time of all runs that are done, and how many.
    took: (Duration, u32),
    /// Of the columns with a mean: their means times their runs left.
    expected: Duration,
    /// Runs left in columns without a mean.
    unknown: u32,
}

#[derive(Default)]
struct ColumnState {
    /// Places in the column, ascending.
    left: VecDeque<usize>,
    /// Wall time of the runs that are done, and how many.
    took: (Duration, u32),
}

impl ColumnState {
    /// Mean of the runs that are done.
    fn mean(&self) -> Option<Duration> {
        let (took, n) = self.took;
        (n > 0).then(|| took / n)
    }
}

impl<'a> Work<'a> {
    /// What is not on record is left.
    fn new(
        columns: &'a [Column],
        store: Option<&'a Store>,
        jobs: usize,
        stop: &'a Stop,
        tell: ProgressListener<'a>,
    ) -> Work<'a> {
        let mut state = State::new(columns.len());
        for (c, column) in columns.iter().enumerate() {
            for (s, seed) in column.seeds.iter().enumerate() {
                let key = column.key.map(|key| key.with(*seed));
                match store.zip(key).map_or(Lookup::Missing, |(store, key)| store.get(key)) {
                    Lookup::Found(kept) => {
                        state.note(c, Duration::from_nanos(kept.wall_ns));
                        state.given.insert((c, s), kept.outcome);
                        continue;
                    }
                    Lookup::Damaged(what) => {
                        tell(Progress::Trouble(format!("a kept result is damaged, run again: {what}")))
                    }
                    Lookup::Missing => {}
                }
                state.columns[c].left.push_back(s);
            }
        }
        state.order(|c| columns[c].experiment.machine.cpus.len());
        tell(Progress::Begun { runs: state.left() + state.given.len(), kept: state.given.len() });
        Work { columns, store, jobs, stop, tell, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nobody panics while holding it: runs are contained, and happen outside.
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

    /// What a run gave, and whether that can be recorded: not where the end says nothing of the run.
    fn run(&self, (c, s): Place) -> (Result<RunReport, String>, bool) {
        let column = &self.columns[c];
        match batch::contained(|| column.experiment.until(self.stop, column.sched, column.seeds[s])) {
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
            let Experiment { machine, workload, scheds, .. } = &*column.experiment;
            let what = format!("{} {} {} seed {seed}", machine.name, workload.name, scheds[column.sched]);
            let record = Record { what, wall_ns: took.as_nanos() as u64, outcome: outcome.clone() };
            if let Err(e) = store.put(key.with(seed), &record) {
                (self.tell)(Progress::Trouble(format!("cannot keep the result of {}: {e}", record.what)));
            }
        }
        let mut state = self.state();
        state.note(c, took);
        state.given.insert((c, s), outcome);
        (self.tell)(Progress::Done { left: state.expected(self.jobs) });
    }

    /// What every column gave. Called when nothing is left.
    fn finish(self) -> Outcomes {
        let State { mut given, lost, .. } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut one = |place| given.remove(&place).unwrap_or_else(|| unreachable!("every run was made"));
        let columns = self.columns.iter().enumerate();
        let runs = columns.map(|(c, column)| (0..column.seeds.len()).map(|s| one((c, s))).collect()).collect();
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

    /// Orders the runs that are left: of columns that nobody has taken the time of, those of large machines first.
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

    /// Nothing is left.
    fn clear(&mut self) {
        self.columns.iter_mut().for_each(|column| column.left.clear());
        (self.fresh, self.begun) = Default::default();
        (self.expected, self.unknown) = Default::default();
    }

    /// A run of a column has taken so long.
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

    /// The run to make now: of a column that was not begun, those of large machines first; else of the longest.
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

    /// Wall time of what is left on so many threads: each run takes the mean of its column, or of all runs.
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

    fn news() -> (Arc<Mutex<Vec<Progress>>>, impl Fn(Progress) + Sync) {
        let all = Arc::new(Mutex::new(Vec::new()));
        let tell = Arc::clone(&all);
        (all, move |news| tell.lock().unwrap().push(news))
    }

    /// Two columns of three seeds, one of them asked for twice.
    fn carried_out(store: Option<&Store>, jobs: usize, tell: ProgressListener) -> Vec<Runs> {
        let mut campaign = Executor::default();
        let experiment = experiment("sched-pipe:loops=20,threads");
        let asked = [0, 1, 0].map(|sched| campaign.ask(&experiment, sched, &[1, 2, 3]));
        assert_eq!(asked[0], asked[2]);
        let outcomes = campaign.carry_out(store, jobs, &Stop::default(), tell).unwrap();
        asked.map(|a| outcomes.of(a)).into()
    }

    #[test]
    fn any_number_of_threads_gives_what_an_experiment_gives() {
        let (all, tell) = news();
        let one = carried_out(None, 1, &tell);
        let experiment = experiment("sched-pipe:loops=20,threads");
        let plan = batch::Plan { scheds: 2, seeds: vec![1, 2, 3], jobs: 2, check_determinism: false };
        let experiment = batch::run(&plan, &*experiment, &|| ()).unwrap();
        assert_eq!(one[..2], experiment[..]);
        assert_eq!(one, carried_out(None, 8, &|_| ()));
        let all = all.lock().unwrap();
        assert_eq!(all[0], Progress::Begun { runs: 6, kept: 0 });
        assert_eq!(all.len(), 7);
        assert_eq!(all[6], Progress::Done { left: Some(Duration::ZERO) });
    }

    #[test]
    fn what_is_on_record_is_not_run_again_and_what_is_damaged_is() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let first = carried_out(Some(&store), 2, &|_| ());
        let (all, tell) = news();
        assert_eq!(first, carried_out(Some(&store), 2, &tell));
        assert_eq!(*all.lock().unwrap(), [Progress::Begun { runs: 6, kept: 6 }]);

        drop(store);
        let db = rusqlite::Connection::open(dir.path().join("results.sqlite")).unwrap();
        let damage = "UPDATE results SET content = zeroblob(50) WHERE id = (SELECT min(id) FROM results)";
        assert_eq!(db.execute(damage, []).unwrap(), 1);
        drop(db);
        let store = Store::open(dir.path()).unwrap();
        let (all, tell) = news();
        assert_eq!(first, carried_out(Some(&store), 2, &tell));
        let all = all.lock().unwrap();
        assert!(
            matches!(&all[0], Progress::Trouble(words) if words.contains("results.sqlite") && words.contains("checksum")),
            "{all:?}"
        );
        assert_eq!(all[1], Progress::Begun { runs: 6, kept: 5 });
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

    /// The second run is told to stop: neither it nor those behind it leave anything, the first stays on record.
    #[test]
    fn what_is_stopped_leaves_what_was_done() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let stop = Stop::default();
        let tell = |news| {
            if matches!(news, Progress::Done { .. }) {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let asked = || {
            let mut campaign = Executor::default();
            campaign.ask(&experiment("sched-pipe:loops=20,threads"), 0, &[1, 2, 3]);
            campaign
        };
        let stopped = asked().carry_out(Some(&store), 1, &stop, &tell);
        assert!(matches!(stopped, Err(BatchError::Stopped)));
        let (all, tell) = news();
        asked().carry_out(Some(&store), 1, &Stop::default(), &tell).unwrap();
        assert_eq!(all.lock().unwrap()[0], Progress::Begun { runs: 3, kept: 1 });
    }

    /// Column 1 takes longest, nobody knows column 2.
    #[test]
    fn the_unknown_is_tried_first_and_then_what_takes_longest() {
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

    /// Each run that is done moves its column: a run takes a logarithm of the columns, and a million are ordered at once.
    #[test]
    fn the_order_follows_the_times_as_they_come() {
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

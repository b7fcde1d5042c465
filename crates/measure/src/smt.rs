//! Throughput of a core by the number of its threads that are busy.
//!
//! The simulator gives each of `n` busy threads of a core an `n`-th of what the core does then, whatever the threads run. How much that
//! is depends on the code: threads that wait for their own results leave the core to others, threads that keep all its units busy do
//! not. So a piece of work has three equal parts, of one kind each: a chain of steps of which each needs the one before, sums that go
//! on side by side, and a sort, whose branches nobody foresees. It is done by one thread alone, by two at once, and so on up to all,
//! and by another one alone, so that a clock that drifts within a round drifts out. What other code gains is off by as much as that of
//! kernels and that of computations differ: this is part of the spread.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_play::set_affinity;

use crate::estimate::{error_of, median};

/// Time of each part of a piece of work on a thread that is alone, ns, about.
const PART_NS: f64 = 20_000.0;
/// How long pieces of work are done and counted, and how often a part is timed to learn its length.
const WINDOW: Duration = Duration::from_millis(10);
const TRIES: usize = 21;
/// Numbers that are summed and sorted: 4 KiB, which any first-level cache holds twice.
const NUMBERS: usize = 512;
/// By how much gains of kernel code and of computations differ (machines/README.md, Doubt), and the spread of the class `measured`.
const MEANING: f64 = 1.12;
const AGAIN: f64 = 1.1;
/// The relative error of a gain, as a factor, from which on it is known no better than an estimate.
const UNSETTLED: f64 = 1.12;
/// The least gain that is told from none, and rounds that are needed.
const GAIN_MIN: f64 = 0.01;
const ROUNDS_MIN: usize = 3;

/// Throughput of the cores of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct SmtFigure {
    /// Its path in the machine file.
    pub path: String,
    /// What the machine has before: a factor for 1, 2, ... busy threads.
    pub before: Vec<f64>,
    /// What this machine does, to three digits; never falling, and at most the number of threads.
    pub value: Vec<f64>,
    /// Within what factor two thirds of what the threads may add lie.
    pub spread: f64,
    /// Rounds that it is of.
    pub samples: usize,
    /// Whether it is known better than an estimate, and is written.
    pub settled: bool,
}

/// Cores that are measured, one of each kind that has several threads.
pub struct Smt {
    cores: Vec<Core>,
    /// Why kinds are missing.
    pub missing: Vec<String>,
}

struct Core {
    cpu_type: usize,
    threads: Vec<CpuId>,
    work: Option<Work>,
    /// By number of busy threads, from 2 on: throughput over that of one, of each round.
    rounds: Vec<Vec<f64>>,
}

impl Smt {
    /// Chooses the cores, of which all threads are among `allowed`.
    pub fn prepare(machine: &Machine, allowed: &CpuMask) -> Smt {
        let mut smt = Smt { cores: Vec::new(), missing: Vec::new() };
        if !machine.has_smt() {
            smt.missing.push("smt_throughput: no core of this machine has several threads".into());
        }
        for (cpu_type, of) in machine.cpu_types.iter().enumerate().filter(|(_, of)| of.smt_throughput.len() > 1) {
            let threads = of.smt_throughput.len();
            let is_whole = |core: &&CpuMask| {
                let is_of_type =
                    core.first().is_some_and(|cpu| machine.cpus[cpu as usize].cpu_type as usize == cpu_type);
                is_of_type && core.count() == threads && core.is_subset(allowed)
            };
            match machine.cores.iter().find(is_whole) {
                Some(core) => smt.cores.push(Core {
                    cpu_type,
                    threads: core.iter().collect(),
                    work: None,
                    rounds: vec![Vec::new(); threads - 1],
                }),
                None => smt.missing.push(format!(
                    "smt_throughput of {}: there is no core of which this command may use all {threads} threads",
                    of.name
                )),
            }
        }
        smt
    }

    /// Measures each core once: some hundredths of a second.
    ///
    /// # Errors
    /// If a thread may not use its CPU, or cannot be made.
    pub fn round(&mut self) -> io::Result<()> {
        for core in &mut self.cores {
            let work = match core.work {
                Some(work) => work,
                None => *core.work.insert(Work::of_equal_parts(core.threads[0])?),
            };
            let all = core.threads.len();
            let first = throughput(&core.threads[..1], work)?;
            let several = (2..=all).map(|n| throughput(&core.threads[..n], work)).collect::<io::Result<Vec<f64>>>()?;
            let alone = (first + throughput(&core.threads[all - 1..], work)?) / 2.0;
            for (rounds, several) in core.rounds.iter_mut().zip(several) {
                rounds.push(several / alone.max(f64::MIN_POSITIVE));
            }
        }
        Ok(())
    }

    /// The figures of all cores that were measured.
    pub fn figures(&self, machine: &Machine) -> Vec<SmtFigure> {
        self.cores.iter().filter_map(|core| figure(machine, core.cpu_type, &core.rounds)).collect()
    }
}

/// What rounds of throughputs with 2, 3, ... busy threads say. `None` without rounds.
fn figure(machine: &Machine, cpu_type: usize, rounds: &[Vec<f64>]) -> Option<SmtFigure> {
    let of = &machine.cpu_types[cpu_type];
    let samples = rounds.iter().map(Vec::len).min().filter(|samples| *samples > 0)?;
    let mut value = vec![1.0];
    let mut error: f64 = 0.0;
    for (i, rounds) in rounds.iter().enumerate() {
        let least = value[i];
        value.push(((median(rounds) * 1000.0).round() / 1000.0).clamp(least, (i + 2) as f64));
        let gains: Vec<f64> = rounds.iter().map(|throughput| throughput - 1.0).collect();
        error = error.max(error_of(&gains, median(&gains).max(GAIN_MIN)));
    }
    Some(SmtFigure {
        path: format!("cpu_type.{}.smt_throughput", of.name),
        before: of.smt_throughput.iter().map(|permille| f64::from(*permille) / 1000.0).collect(),
        value,
        spread: error.hypot(MEANING.ln()).hypot(AGAIN.ln()).exp(),
        samples,
        settled: samples >= ROUNDS_MIN && error < UNSETTLED.ln(),
    })
}

/// A piece of work: how often each of its parts is repeated.
#[derive(Clone, Copy, Debug)]
struct Work {
    steps: u64,
    sums: u64,
    sorts: u64,
}

/// What the work is done on.
struct Bench {
    numbers: Vec<u64>,
    sorted: Vec<u64>,
}

impl Bench {
    fn new() -> Bench {
        let mut x = 0x9e37_79b9_7f4a_7c15_u64;
        let numbers: Vec<u64> = (0..NUMBERS).map(|_| step(&mut x)).collect();
        Bench { sorted: numbers.clone(), numbers }
    }

    fn chain(&mut self, steps: u64) {
        let mut x = self.numbers[0] | 1;
        for _ in 0..steps {
            step(&mut x);
        }
        black_box(x);
    }

    fn sum(&mut self, sums: u64) {
        for _ in 0..sums {
            let mut lanes = [0u64; 8];
            for numbers in black_box(&self.numbers).chunks_exact(lanes.len()) {
                for (lane, number) in lanes.iter_mut().zip(numbers) {
                    *lane = lane.wrapping_add(number.wrapping_mul(3) ^ (number >> 7));
                }
            }
            black_box(lanes);
        }
    }

    fn sort(&mut self, sorts: u64) {
        for _ in 0..sorts {
            self.sorted.copy_from_slice(black_box(&self.numbers));
            self.sorted.sort_unstable();
            black_box(&self.sorted);
        }
    }

    fn carry_out(&mut self, work: Work) {
        self.chain(work.steps);
        self.sum(work.sums);
        self.sort(work.sorts);
    }
}

/// A step of a generator that needs the one before.
pub(crate) fn step(x: &mut u64) -> u64 {
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    *x
}

impl Work {
    /// Work whose parts take equally long on `cpu`.
    ///
    /// # Errors
    /// If this process may not use the CPU.
    fn of_equal_parts(cpu: CpuId) -> io::Result<Work> {
        let measured = std::thread::spawn(move || {
            set_affinity(&CpuMask::single(cpu))?;
            let mut bench = Bench::new();
            let steps = repetitions(|n| bench.chain(n), 1000);
            let sums = repetitions(|n| bench.sum(n), 10);
            let sorts = repetitions(|n| bench.sort(n), 1);
            Ok(Work { steps, sums, sorts })
        });
        measured.join().unwrap_or_else(|_| Err(io::Error::other("the thread that measures has failed")))
    }
}

/// How often `part` is to be repeated to take [`PART_NS`]; `n` repetitions are timed.
fn repetitions(mut part: impl FnMut(u64), n: u64) -> u64 {
    let times = (0..TRIES).map(|_| {
        let begin = Instant::now();
        part(n);
        begin.elapsed().as_nanos() as f64
    });
    let one = median(&times.collect::<Vec<_>>()).max(1.0) / n as f64;
    (PART_NS / one).clamp(1.0, 1e6) as u64
}

/// Whether threads that wait for each other are to begin.
const WAIT: u32 = 0;
const GO: u32 = 1;
const GIVEN_UP: u32 = 2;

/// Pieces of work that threads on these CPUs do together, each ns.
///
/// # Errors
/// If a thread may not use its CPU, or cannot be made.
fn throughput(cpus: &[CpuId], work: Work) -> io::Result<f64> {
    let (ready, gate) = (AtomicUsize::new(0), AtomicU32::new(WAIT));
    let each = |cpu: CpuId| {
        let bound = set_affinity(&CpuMask::single(cpu));
        let mut bench = Bench::new();
        bench.carry_out(work);
        ready.fetch_add(1, Ordering::Release);
        bound?;
        while gate.load(Ordering::Acquire) == WAIT {
            std::thread::yield_now();
        }
        if gate.load(Ordering::Acquire) == GIVEN_UP {
            return Ok(0.0);
        }
        let begin = Instant::now();
        let mut done = 0.0;
        loop {
            bench.carry_out(work);
            done += 1.0;
            let took = begin.elapsed();
            if took >= WINDOW {
                return Ok(done / took.as_nanos() as f64);
            }
        }
    };
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut failure = None;
        for cpu in cpus {
            let each = &each;
            match std::thread::Builder::new().spawn_scoped(scope, move || each(*cpu)) {
                Ok(thread) => threads.push(thread),
                Err(error) => failure = Some(error),
            }
        }
        // A thread that ends before has failed.
        let is_over = |threads: &[ScopedJoinHandle<_>]| threads.iter().any(ScopedJoinHandle::is_finished);
        while failure.is_none() && ready.load(Ordering::Acquire) < threads.len() && !is_over(&threads) {
            std::thread::sleep(Duration::from_micros(50));
        }
        gate.store(if failure.is_none() { GO } else { GIVEN_UP }, Ordering::Release);
        let failed = || Err(io::Error::other("a thread that measures has failed"));
        let rates: io::Result<Vec<f64>> =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| failed())).collect();
        match failure {
            Some(error) => Err(error),
            None => Ok(rates?.iter().sum()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn siblings() -> Machine {
        Machine::preset("thunderx2-224").unwrap()
    }

    #[test]
    fn a_core_is_measured_only_if_all_its_threads_may_be_used() {
        let machine = siblings();
        let whole = machine.cores[3];
        let smt = Smt::prepare(&machine, &whole.or(&machine.cores[1].minus(&CpuMask::single(1))));
        assert_eq!(
            smt.cores.iter().map(|core| core.threads.clone()).collect::<Vec<_>>(),
            [whole.iter().collect::<Vec<_>>()]
        );
        assert!(smt.missing.is_empty());
        let half: CpuMask = whole.iter().take(2).collect();
        let smt = Smt::prepare(&machine, &half);
        assert!(smt.cores.is_empty() && smt.missing[0].contains("all 4 threads"), "{:?}", smt.missing);
        let smt = Smt::prepare(&Machine::symmetric(2), &CpuMask::first_n(2));
        assert!(smt.cores.is_empty() && smt.missing[0].contains("no core"), "{:?}", smt.missing);
    }

    #[test]
    fn throughputs_never_fall_and_stay_below_the_number_of_threads() {
        let of = |two: f64, three: f64, four: f64| {
            let rounds: Vec<Vec<f64>> = [two, three, four].iter().map(|ratio| vec![*ratio; 5]).collect();
            figure(&siblings(), 0, &rounds).unwrap()
        };
        let plain = of(1.25, 1.4004, 1.5);
        assert_eq!((plain.value, plain.settled), (vec![1.0, 1.25, 1.4, 1.5], true));
        assert_eq!(plain.path, "cpu_type.Vulcan.smt_throughput");
        assert_eq!(plain.before, [1.0, 1.42, 1.65, 1.86]);
        assert_eq!(of(0.9, 0.8, 1.1).value, [1.0, 1.0, 1.0, 1.1]);
        assert_eq!(of(2.3, 2.1, 9.0).value, [1.0, 2.0, 2.1, 4.0]);
    }

    #[test]
    fn what_scatters_more_than_an_estimate_is_not_settled() {
        let scatters = |by: f64| (0..9).map(|i| 1.3 + by * f64::from(i % 3 - 1)).collect::<Vec<_>>();
        let of = |by: f64| figure(&siblings(), 0, &[scatters(0.0), scatters(by), scatters(0.0)]).unwrap();
        assert!(of(0.01).settled && !of(0.3).settled, "{:?}", of(0.3));
        let few = vec![vec![1.3; 2]; 3];
        assert!(!figure(&siblings(), 0, &few).unwrap().settled);
        assert_eq!(figure(&siblings(), 0, &vec![Vec::new(); 3]), None);
    }

    /// That it comes to an end with a figure; how large it is says nothing on a machine that runs tests.
    #[test]
    fn work_is_counted() {
        let allowed = fairground_play::affinity().unwrap();
        let cpus: Vec<CpuId> = allowed.iter().take(2).collect();
        let work = Work { steps: 10, sums: 1, sorts: 1 };
        assert!(throughput(&cpus, work).unwrap() > 0.0);
        let nowhere = fairground_machine::NR_CPUS as CpuId - 1;
        if !allowed.test(nowhere) {
            assert!(throughput(&[cpus[0], nowhere], work).is_err(), "and the other thread does not wait for ever");
        }
    }
}

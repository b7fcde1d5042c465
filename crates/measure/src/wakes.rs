//! How long single wakes of an idle CPU take, where the length of a sleep alone decides in which state it is.
//!
//! The design has their medians. A hypervisor's host makes them scatter: timers run out, and another CPU wakes a thread,
//! after pauses that lead into each state, and each wake is timed by itself. What a wake takes beyond one after the
//! shortest pause is taken for log-normal. Wakes by another CPU that lie beyond what that leaves room for are late ones.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use fairground_machine::{CpuId, CpuMask, Machine, WAKE_SCATTER_MAX};
use fairground_play::set_affinity;

use crate::estimate::median;
use crate::param::idles_by_itself;
use crate::Places;

/// Wakes of each kind and state in a round.
const EACH: usize = 12;
/// The shortest pause, ns: the CPU stays in its first state.
const SHORTEST_NS: u64 = 20_000;
/// The standard normal number that nine tenths lie below.
const NINE_TENTHS: f64 = 1.2816;
/// Wakes by another CPU are late beyond so many standard deviations of the others: by chance one of 740 is.
const LATE_FROM: f64 = 3.0;
/// Late wakes that are needed for their share.
const LATE_MIN: usize = 10;
/// The spread of the class `measured`, and that of an estimate, which a figure must come below.
const AGAIN: f64 = 1.1;
const UNSETTLED: f64 = 1.6;
/// The longest that a thread is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// A figure of the wakes from a state.
#[derive(Clone, Debug, PartialEq)]
pub struct WakeFigure {
    /// Its path in the machine file.
    pub path: String,
    /// What the machine has before: 1 or 0 where the file states nothing.
    pub before: f64,
    /// What this machine's wakes give, to three digits.
    pub value: f64,
    /// `ns` or `factor`.
    pub unit: &'static str,
    /// Within what factor two thirds of what it may be lie.
    pub spread: f64,
    /// Wakes that it is of.
    pub samples: usize,
    /// Whether it is known better than an estimate, and is written.
    pub settled: bool,
}

/// Single wakes of one CPU, by pause.
pub struct Wakes {
    here: CpuId,
    other: Option<CpuId>,
    /// Shortest first; then one that leads into each further state.
    pauses_ns: Vec<u64>,
    /// By pause: how long after its time a thread goes on, ns.
    timers: Vec<Vec<f64>>,
    /// By pause: how long after another CPU has woken it, ns.
    kicks: Vec<Vec<f64>>,
}

impl Wakes {
    /// No wakes yet, of the CPU that is measured; `None` where a governor chooses its states, or it has one only.
    pub fn prepare(machine: &Machine, places: &Places) -> Option<Wakes> {
        let states = machine.idle_states(places.here);
        if !idles_by_itself(machine.type_of(places.here)) || states.len() < 2 {
            return None;
        }
        // As long as in the design.
        let into = states.iter().skip(1).map(|state| state.target_residency_ns / 3 * 4);
        let pauses_ns: Vec<u64> = std::iter::once(SHORTEST_NS).chain(into).collect();
        let none = vec![Vec::new(); pauses_ns.len()];
        let other = places.there.first().map(|(_, cpu)| *cpu);
        Some(Wakes { here: places.here, other, pauses_ns, timers: none.clone(), kicks: none })
    }

    /// Times some wakes of each kind.
    ///
    /// # Errors
    /// If a thread may not use its CPU, or does not wake within 20 seconds.
    pub fn round(&mut self) -> io::Result<()> {
        for (i, pause_ns) in self.pauses_ns.clone().into_iter().enumerate() {
            let here = self.here;
            let timers =
                std::thread::spawn(move || timer_wakes(here, pause_ns)).join().unwrap_or_else(thread_failed)?;
            self.timers[i].extend(timers);
            if let Some(other) = self.other {
                self.kicks[i].extend(kicks(here, other, pause_ns)?);
            }
        }
        Ok(())
    }

    /// The figures of each state but the first.
    pub fn figures(&self, machine: &Machine) -> Vec<WakeFigure> {
        let of = machine.type_of(self.here);
        let mut figures = Vec::new();
        for (i, state) in of.idle_states.iter().enumerate().skip(1) {
            let (timers, kicks) =
                (extra_ns(&self.timers[i], &self.timers[0]), extra_ns(&self.kicks[i], &self.kicks[0]));
            let path = |key: &str| format!("cpu_type.{}.idle.{}.{key}", of.name, state.name);
            let mut add = |key: &str, before: f64, value: f64, unit, error: f64, samples: usize| {
                let spread = error.hypot(AGAIN.ln()).exp();
                let is_valid = unit != "factor" || value <= WAKE_SCATTER_MAX;
                let settled = spread < UNSETTLED && is_valid;
                figures.push(WakeFigure { path: path(key), before, value, unit, spread, samples, settled });
            };
            let Some(deviation) = deviation_of(&timers) else { continue };
            // Of the quotient of two quantiles of a normal sample.
            let error = 1.65 * deviation / (timers.len() as f64).sqrt();
            add("wake_scatter", state.wake_scatter, three_digits(deviation.exp()), "factor", error, timers.len());
            if let Some(late) = Late::among(&kicks, deviation) {
                let n = late.count as f64;
                add(
                    "late",
                    state.late_ns as f64,
                    three_digits(late.by_ns),
                    "ns",
                    late.deviation / n.sqrt(),
                    late.count,
                );
                add("late_share", state.late_share, three_digits(late.share), "factor", 1.0 / n.sqrt(), kicks.len());
            }
        }
        figures
    }
}

/// Late ones among the wakes by another CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Late {
    count: usize,
    share: f64,
    /// The median of what they take longer than the median of all others, ns.
    by_ns: f64,
    /// The standard deviation of its logarithm.
    deviation: f64,
}

impl Late {
    /// `deviation`: that of the logarithm of a wake that is not late. `None` if there are too few.
    fn among(kicks: &[f64], deviation: f64) -> Option<Late> {
        let from = median(kicks) * (LATE_FROM * deviation).exp();
        let (late, others): (Vec<f64>, Vec<f64>) = kicks.iter().copied().partition(|ns| *ns > from);
        if late.len() < LATE_MIN {
            return None;
        }
        let by: Vec<f64> = late.iter().map(|ns| ns - median(&others)).collect();
        let logs: Vec<f64> = by.iter().map(|ns| ns.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64;
        let share = late.len() as f64 / kicks.len() as f64;
        Some(Late { count: late.len(), share, by_ns: median(&by), deviation: variance.sqrt() })
    }
}

/// What each takes beyond the median of `shortest`, ns; what takes no longer is left out.
fn extra_ns(wakes: &[f64], shortest: &[f64]) -> Vec<f64> {
    let least = median(shortest);
    wakes.iter().map(|ns| ns - least).filter(|ns| *ns > 0.0).collect()
}

/// The standard deviation of the logarithm, by the median and what nine tenths lie below; `None` of fewer than ten.
fn deviation_of(wakes: &[f64]) -> Option<f64> {
    let mut sorted = wakes.to_vec();
    sorted.sort_by(f64::total_cmp);
    let high = sorted.get(sorted.len() * 9 / 10)?;
    (sorted.len() >= 10).then(|| (high / median(&sorted)).ln() / NINE_TENTHS)
}

/// Shares are below 1, where `estimate` rounds to hundredths.
fn three_digits(value: f64) -> f64 {
    let scale = 10f64.powi(2 - value.abs().max(1e-9).log10().floor() as i32);
    (value * scale).round() / scale
}

fn thread_failed<T>(_: Box<dyn std::any::Any + Send>) -> io::Result<T> {
    Err(io::Error::other("a thread that measures has failed"))
}

/// How long after their time sleeps of `pause_ns` on `cpu` end, ns.
fn timer_wakes(cpu: CpuId, pause_ns: u64) -> io::Result<Vec<f64>> {
    set_affinity(&CpuMask::single(cpu))?;
    // SAFETY: no pointers; of this thread alone, which ends after this.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let sleep = libc::timespec { tv_sec: 0, tv_nsec: pause_ns.min(999_999_999) as _ };
    let one = |_| {
        let begin = Instant::now();
        // SAFETY: `sleep` is a valid time; nothing is written.
        unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &sleep, std::ptr::null_mut()) };
        begin.elapsed().as_nanos() as f64 - pause_ns as f64
    };
    Ok((0..EACH).map(one).collect())
}

/// How long it takes until a thread on `cpu` goes on that one on `other`, which never sleeps, wakes after each pause, ns.
fn kicks(cpu: CpuId, other: CpuId, pause_ns: u64) -> io::Result<Vec<f64>> {
    let (woken_at, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let epoch = Instant::now();
    let now = || epoch.elapsed().as_nanos() as u64;
    let spin_until = |is_so: &dyn Fn() -> bool| {
        let begin = now();
        while !is_so() {
            if now() > begin + PATIENCE.as_nanos() as u64 {
                return Err(io::Error::other("a thread that was woken did not run"));
            }
            std::hint::spin_loop();
        }
        Ok(())
    };
    let kick = |sleeper: &Thread| {
        let begin = now();
        spin_until(&|| now() >= begin + pause_ns)?;
        woken_at.store(0, Ordering::Release);
        let kicked = now();
        sleeper.unpark();
        spin_until(&|| woken_at.load(Ordering::Acquire) > 0)?;
        Ok(woken_at.load(Ordering::Acquire).saturating_sub(kicked) as f64)
    };
    std::thread::scope(|scope| {
        let (bound, told) = std::sync::mpsc::channel();
        let (now, kick, woken_at, is_over) = (&now, &kick, &woken_at, &is_over);
        let sleeper = scope.spawn(move || {
            let bind = set_affinity(&CpuMask::single(cpu));
            let is_bound = bind.is_ok();
            if bound.send(bind).is_err() || !is_bound {
                return;
            }
            while !is_over.load(Ordering::Acquire) {
                std::thread::park();
                woken_at.store(now(), Ordering::Release);
            }
        });
        let thread = sleeper.thread().clone();
        let kicker = scope.spawn(move || {
            told.recv().unwrap_or_else(|_| Err(io::Error::other("a thread that measures has failed")))?;
            set_affinity(&CpuMask::single(other))?;
            (0..EACH).map(|_| kick(&thread)).collect()
        });
        let kicks = kicker.join().unwrap_or_else(thread_failed);
        is_over.store(true, Ordering::Release);
        sleeper.thread().unpark();
        kicks
    })
}

#[cfg(test)]
mod tests {
    use fairground_machine::Draw;

    use super::*;

    /// Of a log-normal distribution of this median and deviation.
    fn drawn(n: u64, median_ns: f64, deviation: f64) -> impl Iterator<Item = f64> {
        (1..=n).map(move |i| median_ns * (deviation * Draw(i).deviation("a wake")).exp())
    }

    #[test]
    fn a_scatter_is_found_and_what_comes_late_told_apart() {
        let machine = {
            let mut machine = Machine::symmetric(2);
            machine.cpu_types[0].cpuidle = false;
            let first = machine.cpu_types[0].idle_states[0].clone();
            let deeper = fairground_machine::IdleState { name: "halt".into(), target_residency_ns: 300_000, ..first };
            machine.cpu_types[0].idle_states.push(deeper);
            machine
        };
        let places = Places::choose(&machine, &machine.all_cpus()).unwrap();
        let mut wakes = Wakes::prepare(&machine, &places).unwrap();
        assert_eq!((wakes.pauses_ns.clone(), wakes.other), (vec![20_000, 400_000], Some(1)));
        wakes.timers = vec![vec![4_000.0; 100], drawn(2_000, 20_000.0, 0.6).map(|ns| ns + 4_000.0).collect()];
        let kicks = drawn(2_000, 25_000.0, 0.6).enumerate().map(|(i, ns)| match i % 20 {
            0 => 180_000.0 + ns,
            _ => ns + 5_000.0,
        });
        wakes.kicks = vec![vec![5_000.0; 100], kicks.collect()];
        let figures = wakes.figures(&machine);
        let of = |key: &str| figures.iter().find(|figure| figure.path.ends_with(key)).unwrap();
        let scatter = of(".halt.wake_scatter");
        assert!((scatter.value / 0.6f64.exp()).ln().abs() < 0.1 && scatter.settled, "{scatter:?}");
        let (late, share) = (of(".halt.late"), of(".halt.late_share"));
        assert!((160_000.0..200_000.0).contains(&late.value), "{late:?}");
        assert!((0.045..0.058).contains(&share.value) && share.spread < 1.2, "{share:?}");
        // Without late ones nothing is said of them.
        wakes.kicks[1] = drawn(500, 25_000.0, 0.6).collect();
        assert_eq!(wakes.figures(&machine).len(), 1);
    }

    #[test]
    fn where_a_governor_chooses_nothing_is_timed() {
        let machine = Machine::preset("hikey960").unwrap();
        let places = Places::choose(&machine, &machine.all_cpus()).unwrap();
        assert!(Wakes::prepare(&machine, &places).is_none());
    }

    #[test]
    fn wakes_on_this_machine_take_some_time() {
        let allowed = fairground_play::affinity().unwrap();
        let mut cpus = allowed.iter();
        let here = cpus.next().unwrap();
        let timers = std::thread::spawn(move || timer_wakes(here, SHORTEST_NS)).join().unwrap().unwrap();
        assert_eq!(timers.len(), EACH);
        assert!(timers.iter().all(|ns| *ns > 0.0), "{timers:?}");
        if let Some(other) = cpus.next() {
            assert_eq!(kicks(here, other, SHORTEST_NS).unwrap().len(), EACH);
        }
    }
}

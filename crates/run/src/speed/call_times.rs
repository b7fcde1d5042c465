//! Wakeups and forks of a scheduler, timed in host time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::instrumented::{Call, CallHooks, CallSite};

/// Host time spent in timed calls.
#[derive(Default)]
pub struct Meter {
    total: Cell<Duration>,
    calls: Cell<u64>,
    /// Host time of each fork.
    forks: RefCell<Vec<Duration>>,
}

impl Meter {
    fn add(&self, call: Call, time: Duration) {
        if call == Call::Fork {
            self.forks.borrow_mut().push(time);
        }
        self.total.set(self.total.get() + time);
        self.calls.set(self.calls.get() + 1);
    }

    /// ns per call, without the cost of reading the clock; 0 without calls.
    pub fn mean_ns(&self) -> f64 {
        if self.calls.get() == 0 {
            return 0.0;
        }
        let mean = self.total.get().as_nanos() as f64 / self.calls.get() as f64;
        (mean - clock_ns()).max(0.0)
    }

    /// Quantile `q` of the times of forks, ns, without the cost of reading the clock; `None` without forks.
    pub fn fork_ns(&self, q: f64) -> Option<f64> {
        let mut times = self.forks.borrow_mut();
        times.sort_unstable();
        let last = times.len().checked_sub(1)?;
        let at = times[(q * last as f64).round() as usize];
        Some((at.as_nanos() as f64 - clock_ns()).max(0.0))
    }
}

/// Time of an empty measurement, ns: the least of several rounds, as preemption can only lengthen a round.
fn clock_ns() -> f64 {
    const ROUNDS: u32 = 20;
    const N: u32 = 500;
    let round = || (0..N).map(|_| Instant::now().elapsed()).sum::<Duration>();
    let total = (0..ROUNDS).map(|_| round()).min().unwrap_or_default();
    total.as_nanos() as f64 / f64::from(N)
}

/// Measures the times of calls.
pub struct Timing {
    meter: Rc<Meter>,
    start: Option<Instant>,
}

impl Timing {
    /// The meter; it is shared, and can be read after the run.
    pub fn new() -> (Timing, Rc<Meter>) {
        let meter = Rc::new(Meter::default());
        (Timing { meter: Rc::clone(&meter), start: None }, meter)
    }
}

impl CallHooks for Timing {
    fn enter(&mut self, site: CallSite) {
        self.start = matches!(site.call, Call::Fork | Call::Wake).then(Instant::now);
    }

    fn leave(&mut self, call: Call) {
        if let Some(start) = self.start.take() {
            self.meter.add(call, start.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_are_ranked_and_wakeups_are_not_among_them() {
        let meter = Meter::default();
        assert_eq!(meter.fork_ns(0.5), None);
        (1..=100).rev().for_each(|ms| meter.add(Call::Fork, Duration::from_millis(ms)));
        meter.add(Call::Wake, Duration::from_secs(9));
        let ms = |q| meter.fork_ns(q).map(|ns| (ns / 1e6).round());
        assert_eq!((ms(0.0), ms(0.99), ms(1.0)), (Some(1.0), Some(99.0), Some(100.0)));
        assert!(meter.mean_ns() > 100e6);
    }
}

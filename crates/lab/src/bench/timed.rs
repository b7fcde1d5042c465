//! Wakeups and forks of a scheduler, timed in host time.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::around::{Call, Hooks, Site};

/// Host time spent in timed calls.
#[derive(Default)]
pub struct Meter {
    total: Cell<Duration>,
    calls: Cell<u64>,
}

impl Meter {
    fn add(&self, time: Duration) {
        self.total.set(self.total.get() + time);
        self.calls.set(self.calls.get() + 1);
    }

    /// ns per call, without what reading the clock takes; 0 without calls.
    pub fn mean_ns(&self) -> f64 {
        if self.calls.get() == 0 {
            return 0.0;
        }
        let mean = self.total.get().as_nanos() as f64 / self.calls.get() as f64;
        (mean - clock_ns()).max(0.0)
    }
}

/// What an empty measurement shows, ns: the quietest of some rounds, for one that is preempted says nothing of the clock.
fn clock_ns() -> f64 {
    const ROUNDS: u32 = 20;
    const N: u32 = 500;
    let round = || (0..N).map(|_| Instant::now().elapsed()).sum::<Duration>();
    let total = (0..ROUNDS).map(|_| round()).min().unwrap_or_default();
    total.as_nanos() as f64 / f64::from(N)
}

/// Takes the times.
pub struct Timing {
    meter: Rc<Meter>,
    start: Option<Instant>,
}

impl Timing {
    /// The meter can be read after the run.
    pub fn new() -> (Timing, Rc<Meter>) {
        let meter = Rc::new(Meter::default());
        (Timing { meter: Rc::clone(&meter), start: None }, meter)
    }
}

impl Hooks for Timing {
    fn enter(&mut self, site: Site) {
        self.start = matches!(site.call, Call::Fork | Call::Wake).then(Instant::now);
    }

    fn leave(&mut self, _: Call) {
        if let Some(start) = self.start.take() {
            self.meter.add(start.elapsed());
        }
    }
}

//! What is measured by itself in each round, beside the workloads: single wakes, threads of a core, clocks, power, ticks.
//!
//! What fails is left out from then on, with its reason, and the rest goes on.

use std::sync::atomic::AtomicBool;

use fairground_machine::{CpuMask, Machine};

use crate::clocks::{Clock, ClockFigure};
use crate::energy::{Energy, Powers};
use crate::knobs::Knobs;
use crate::smt::{Smt, SmtFigure};
use crate::tick::Ticks;
use crate::wakes::{WakeFigure, Wakes};
use crate::Places;

/// What is measured so.
pub struct Direct<'k, 'a> {
    wakes: Option<Wakes>,
    smt: Option<Smt>,
    clock: Option<Clock<'k, 'a>>,
    energy: Option<Energy<'k, 'a>>,
    ticks: Option<Ticks>,
    missing: Vec<String>,
}

/// What came out.
#[derive(Default)]
pub struct DirectFigures {
    pub wakes: Vec<WakeFigure>,
    pub smt: Vec<SmtFigure>,
    pub clocks: Vec<ClockFigure>,
    pub powers: Powers,
    /// What a tick of a busy CPU took, of each round, ns.
    pub ticks: Option<Vec<f64>>,
    /// Why others are missing.
    pub missing: Vec<String>,
}

impl<'k, 'a> Direct<'k, 'a> {
    /// What can be measured on these CPUs.
    pub fn prepare(knobs: &'k Knobs<'a>, machine: &Machine, places: &Places, allowed: &CpuMask) -> Self {
        let here = places.here;
        let mut smt = Smt::prepare(machine, allowed);
        let mut missing = std::mem::take(&mut smt.missing);
        let clock = Clock::find(knobs, here);
        missing
            .extend(clock.as_ref().err().map(|why| format!("how long the clock of CPU {here} takes to change: {why}")));
        let (energy, why) = Energy::prepare(knobs, machine, here, allowed);
        missing.extend(why);
        let ticks = Ticks::prepare(here);
        missing.extend(ticks.as_ref().err().cloned());
        let wakes = Wakes::prepare(machine, places);
        Direct { wakes, smt: Some(smt), clock: clock.ok(), energy, ticks: ticks.ok(), missing }
    }

    /// Measures each once; what takes long ends early if `stop` is set.
    pub fn round(&mut self, stop: &AtomicBool) {
        let wakes = self.wakes.as_mut().map_or(Ok(()), |wakes| wakes.round().map_err(|error| error.to_string()));
        let smt = self.smt.as_mut().map_or(Ok(()), |smt| smt.round().map_err(|error| error.to_string()));
        let clock = self.clock.as_mut().map_or(Ok(()), Clock::round);
        let energy = self.energy.as_mut().map_or(Ok(()), |energy| energy.round(stop));
        if let Some(ticks) = &mut self.ticks {
            ticks.round();
        }
        if let Err(why) = wakes {
            self.missing.push(format!("how wakes of idle CPUs scatter: {why}"));
            self.wakes = None;
        }
        if let Err(why) = smt {
            self.missing.push(format!("smt_throughput: {why}"));
            self.smt = None;
        }
        if let Err(why) = clock {
            self.missing.push(format!("how long a clock takes to change: {why}"));
            self.clock = None;
        }
        if let Err(why) = energy {
            self.missing.push(format!("energy: {why}"));
            self.energy = None;
        }
    }

    /// The figures of all rounds. `is_busy`: others took so much of the CPUs' time that figures of idle CPUs, of threads of a core, of
    /// power and of ticks say nothing.
    pub fn figures(self, machine: &Machine, is_busy: bool) -> DirectFigures {
        let mut figures = DirectFigures { missing: self.missing, ..DirectFigures::default() };
        if !is_busy {
            figures.wakes = self.wakes.map_or_else(Vec::new, |wakes| wakes.figures(machine));
            figures.powers = self.energy.map_or_else(Powers::default, |energy| energy.powers(machine));
            figures.smt = self.smt.map_or_else(Vec::new, |smt| smt.figures(machine));
        }
        match self.ticks.map(|ticks| ticks.rounds()) {
            _ if is_busy => {}
            Some(Ok(rounds)) => figures.ticks = Some(rounds),
            Some(Err(why)) => figures.missing.push(why),
            None => {}
        }
        match self.clock.map(|clock| clock.figure(machine)) {
            Some(Ok(figure)) => figures.clocks.push(figure),
            Some(Err(why)) => figures.missing.push(format!("how long a clock takes to change: {why}")),
            None => {}
        }
        figures
    }
}

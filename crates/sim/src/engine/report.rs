//! Totals of a run over its measured window, and the text of failures.

use std::fmt::Write;

use fairground_machine::{CpuId, Machine};

use super::objects::Obj;
use super::task::{State, Task, Wait};
use super::{Engine, IdleStats};
use crate::metrics::Meters;
use crate::{joules, EnergyBook, TaskId, Time, Traffic};

/// How many threads a report lists.
const REPORT_THREADS_MAX: usize = 24;

/// Where one CPU's time went, ns. Sums to the elapsed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Work of tasks, system calls included.
    pub task_ns: u64,
    /// Overhead of the kernel: scheduler, context switches and interrupts.
    pub overhead_ns: u64,
    /// Time in idle states, with entering and leaving them, ns.
    pub idle_ns: u64,
    /// Part of `overhead_ns`: in interrupts.
    pub irq_ns: u64,
}

/// Sums from time 0 to `at`.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// Virtual time up to which sums are taken, ns.
    pub at: Time,
    /// Time account of each CPU, by id.
    pub time: Vec<Account>,
    /// By CPU, then by idle state. Stays that have ended.
    pub idle: Vec<Vec<IdleStats>>,
    /// Energy, by consumer and purpose.
    pub energy: EnergyBook,
    /// Time for which cooling capped each frequency domain, ns; empty for a machine without thermal figures.
    pub capped_ns: Vec<u64>,
    /// Time for which each frequency domain ran at its top operating point, ns, idle or not.
    pub top_clock_ns: Vec<u64>,
    /// Lines that moved and time that went into them and into locks.
    pub traffic: Traffic,
    /// Wasted core time, ns; see [`crate::WasteMeter`].
    pub wasted_ns: u64,
    /// Threads away from a balanced placement x time, ns; see [`crate::MisplacementMeter`].
    pub misplaced_ns: u64,
}

impl Totals {
    /// Energy of the whole machine, J.
    pub fn energy_j(&self) -> f64 {
        joules(self.energy.sum())
    }

    /// Energy of each CPU, J.
    pub fn cpu_j(&self) -> Vec<f64> {
        self.energy.cpus.iter().map(|c| joules(c.sum())).collect()
    }

    /// What was added since `earlier`, an older state of the same sums.
    pub fn since(&self, earlier: &Totals) -> Totals {
        let time = self.time.iter().zip(&earlier.time).map(|(a, b)| Account {
            task_ns: a.task_ns - b.task_ns,
            overhead_ns: a.overhead_ns - b.overhead_ns,
            idle_ns: a.idle_ns - b.idle_ns,
            irq_ns: a.irq_ns - b.irq_ns,
        });
        let states = |(a, b): (&Vec<IdleStats>, &Vec<IdleStats>)| a.iter().zip(b).map(|(a, b)| a.since(b)).collect();
        Totals {
            at: self.at - earlier.at,
            time: time.collect(),
            idle: self.idle.iter().zip(&earlier.idle).map(states).collect(),
            energy: self.energy.since(&earlier.energy),
            top_clock_ns: self.top_clock_ns.iter().zip(&earlier.top_clock_ns).map(|(a, b)| a - b).collect(),
            capped_ns: self.capped_ns.iter().zip(&earlier.capped_ns).map(|(a, b)| a - b).collect(),
            traffic: self.traffic.since(&earlier.traffic),
            wasted_ns: self.wasted_ns - earlier.wasted_ns,
            misplaced_ns: self.misplaced_ns - earlier.misplaced_ns,
        }
    }
}

/// The result of a finished run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Virtual time at which the run ended, ns.
    pub end: Time,
    /// Number of events that the engine processed.
    pub nr_events: u64,
    /// Sums from time 0 to the end.
    pub totals: Totals,
    /// The measured window: from [`fairground_workload::Mark::Begin`] (else the warm-up) to the last
    /// [`fairground_workload::Mark::End`] (else the end).
    pub window: Totals,
    /// Delays that ended in the window.
    pub meters: Meters,
    /// Notes that the scheduler left for the user.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Checks what must hold for any run: time is conserved on every CPU, energy is within what the hardware can draw.
    ///
    /// # Errors
    /// The first condition that does not hold.
    pub fn check(&self, machine: &Machine) -> Result<(), String> {
        let t = &self.totals;
        for (cpu, a) in t.time.iter().enumerate() {
            let sum = a.task_ns + a.overhead_ns + a.idle_ns;
            if sum != self.end {
                return Err(format!("time of CPU {cpu}: {a:?} sums to {sum} of {} ns", self.end));
            }
        }
        for (cpu, j) in t.cpu_j().iter().enumerate() {
            let (lo, hi) = power_range(machine, cpu as CpuId);
            let seconds = self.end as f64 / 1e9;
            let transitions: f64 =
                machine.idle_states(cpu as CpuId).iter().map(|s| s.transition_uj / 1e6).fold(0.0, f64::max)
                    * (t.idle[cpu].iter().map(|s| s.usage).sum::<u64>() + 1) as f64;
            let slack = 1e-9 + 1e-6 * hi * seconds;
            if *j < lo * seconds - slack || *j > hi * seconds + transitions + slack {
                return Err(format!("energy of CPU {cpu}: {j} J in {seconds} s, power {lo} to {hi} W"));
            }
        }
        Ok(())
    }
}

/// Least and greatest power of a CPU, W.
fn power_range(machine: &Machine, cpu: CpuId) -> (f64, f64) {
    let opps = &machine.freq_domain_of(cpu).opps;
    let active = opps.iter().map(|o| o.active_mw).chain(opps.iter().filter_map(|o| o.wfi_mw));
    let idle = machine.idle_states(cpu).iter().map(|s| s.power_mw);
    let all = || active.clone().chain(idle.clone());
    (all().fold(f64::MAX, f64::min) / 1e3, all().fold(0.0, f64::max) / 1e3)
}

impl Engine {
    /// The measured window begins, if it has not.
    pub(super) fn begin_statistics(&mut self) {
        if self.begin.is_none() {
            self.begin = Some(self.totals());
            self.meters = Meters::new(self.machine.cpu_types.len());
            self.note_heat();
        }
    }

    /// The measured window ends here, unless a later mark says otherwise.
    pub(super) fn end_statistics(&mut self) {
        self.end = Some((self.totals(), self.meters.clone()));
    }

    pub(super) fn outcome(&mut self) -> Outcome {
        let totals = self.totals();
        let (end, meters) = self.end.take().unwrap_or_else(|| (totals.clone(), std::mem::take(&mut self.meters)));
        let window = match &self.begin {
            Some(begin) if begin.at <= end.at => end.since(begin),
            _ => end,
        };
        Outcome { end: self.now, nr_events: self.nr_events, totals, window, meters, notes: self.sched.notes() }
    }

    fn totals(&mut self) -> Totals {
        let energy = self.energy_now();
        let time = (0..self.cpus.len() as CpuId).map(|cpu| self.account(cpu)).collect();
        Totals {
            at: self.now,
            time,
            idle: self.cpus.iter().map(|c| c.idle_stats.clone()).collect(),
            energy,
            capped_ns: self.capped_ns(),
            top_clock_ns: self.at_top.iter().map(|watch| watch.read(self.now)).collect(),
            traffic: self.env.lines.traffic,
            wasted_ns: self.waste.total_ns(self.now),
            misplaced_ns: self.misplacement.total_ns(self.now),
        }
    }

    /// Where a CPU's time went up to now; overhead that lies ahead does not count yet.
    pub(super) fn account(&mut self, cpu: CpuId) -> Account {
        self.settle(cpu);
        let c = &self.cpus[cpu as usize];
        let ahead = c.busy_until.saturating_sub(self.now);
        let staying = if c.sleeps() { self.now.saturating_sub(c.stay.from) } else { 0 };
        Account {
            task_ns: c.task_ns,
            overhead_ns: c.overhead_ns - ahead,
            idle_ns: c.idle_ns + staying,
            irq_ns: c.irq_ns.min(c.overhead_ns - ahead),
        }
    }

    /// What the threads that are not done do or wait for.
    pub(super) fn report_threads(&self) -> String {
        let mut text = String::new();
        let live = || self.tasks.iter().enumerate().filter(|(_, t)| t.is_live());
        for (id, t) in live().take(REPORT_THREADS_MAX) {
            let name = self.name_of(id as TaskId);
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {name} at step {}: {}", t.pc, self.describe(t));
        }
        let more = live().count().saturating_sub(REPORT_THREADS_MAX);
        if more > 0 {
            let _ = writeln!(text, "  ... and {more} more");
        }
        text
    }

    fn describe(&self, t: &Task) -> String {
        match t.state {
            State::Placing => "being placed".into(),
            State::Queued => format!("runnable on CPU {}", t.rq),
            State::Running => format!("running on CPU {}", t.on_cpu.unwrap_or(t.rq)),
            State::Dead => "exited".into(),
            State::Blocked(Wait::Timer(at)) => format!("sleeping until {at} ns"),
            State::Blocked(Wait::Children) => format!("waiting for {} children", t.live_children),
            State::Blocked(Wait::Child) => format!("waiting for one of {} children", t.live_children),
            State::Blocked(Wait::Nothing) => "sleeping for good".into(),
            State::Blocked(Wait::Data(id)) => format!("waiting for data from {}", self.describe_object(id)),
            State::Blocked(Wait::Space(id)) => format!("waiting for room in {}", self.describe_object(id)),
            State::Blocked(Wait::Object(id)) => format!("waiting for {}", self.describe_object(id)),
        }
    }

    fn describe_object(&self, id: u32) -> String {
        let object = &self.objects[id as usize];
        let detail = match object {
            Obj::Mutex { owner: Some(owner), .. } => {
                let gone = if self.tasks[*owner as usize].is_live() { "" } else { ", which has exited" };
                format!(", held by {}{gone}", self.name_of(*owner))
            }
            Obj::Barrier { parties, arrived, .. } => format!(", {arrived} of {parties} have arrived"),
            Obj::Futex { value, .. } => format!(", whose value is {value}"),
            Obj::Semaphore { value, .. } => format!(", whose value is {value}"),
            _ => String::new(),
        };
        format!("{} {}{detail}", self.workload.objects[id as usize].kind(), self.workload.object_label(id))
    }
}

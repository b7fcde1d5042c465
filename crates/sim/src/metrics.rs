//! Metrics of a run. [`MetricsObserver`] counts events; with the [`Outcome`] it gives [`RunMetrics`].

use std::collections::BTreeMap;
use std::sync::Arc;

use fairground_machine::{Distance, Machine};
use fairground_workload::{Deadline, Mark, Op, PhaseId, SeriesId, Workload};

use crate::hist::Histogram;
use crate::{
    joules, Clamps, DecisionKind, Energy, Event, EventKind, IdleStats, MigrateCause, Observer, Outcome, Scheduler,
    TaskId, Time, Traffic,
};

/// Number of [`MigrateCause`]s.
pub const NR_CAUSES: usize = MigrateCause::ALL.len();

/// Delays that only the engine can measure, since a switch's cost falls after its event. Of the measured
/// window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meters {
    /// From the start of a wakeup until the woken thread's first work can run (switch included), ns; by the core type
    /// on which it runs.
    pub wakeup_latency: Vec<Histogram>,
    /// From being queued (woken, born or preempted) until work can run, ns.
    pub run_delay: Histogram,
    /// What programs reported, by series, in ticks of its clock.
    pub series: Vec<Histogram>,
    /// Time for which tasks waited for lines of their footprints as they came to a CPU, ns, summed over tasks.
    pub refill_ns: u64,
    /// The highest temperature of each thermal node, thousandths of a degree Celsius.
    pub hottest_mc: Vec<i32>,
    /// Samples beyond the deadlines of their series, by series, then by deadline. As short as [`Self::series`].
    pub late: Vec<Vec<u64>>,
    /// By phase of the score: one over the time, 1/s, summed over what was reported to it.
    pub phase_rates: Vec<f64>,
}

impl Meters {
    /// All zero, for a machine with `nr_types` core types.
    pub fn new(nr_types: usize) -> Self {
        Meters { wakeup_latency: vec![Histogram::default(); nr_types], ..Meters::default() }
    }

    /// Wakeup latencies on all core types.
    pub fn all_wakeup_latencies(&self) -> Histogram {
        let mut all = Histogram::default();
        self.wakeup_latency.iter().for_each(|h| all.add(h));
        all
    }

    /// The temperatures of all nodes, thousandths of a degree Celsius.
    pub(crate) fn temperatures(&mut self, milli_c: impl Iterator<Item = i32>) {
        for (i, mc) in milli_c.enumerate() {
            match self.hottest_mc.get_mut(i) {
                Some(hottest) => *hottest = mc.max(*hottest),
                None => self.hottest_mc.push(mc),
            }
        }
    }

    /// A program reports a sample of a series with these deadlines.
    pub fn report(&mut self, series: SeriesId, ticks: u64, deadlines: &[Deadline]) {
        let index = series as usize;
        if index >= self.series.len() {
            self.series.resize_with(index + 1, Histogram::default);
            self.late.resize_with(index + 1, Vec::new);
        }
        self.series[index].record(ticks);
        let late = &mut self.late[index];
        late.resize(deadlines.len(), 0);
        late.iter_mut().zip(deadlines).for_each(|(n, deadline)| *n += u64::from(ticks > deadline.ticks));
    }

    /// A program reports the time that the work of a phase has taken.
    pub fn report_phase(&mut self, phase: PhaseId, ns: u64) {
        let index = phase as usize;
        if index >= self.phase_rates.len() {
            self.phase_rates.resize(index + 1, 0.0);
        }
        self.phase_rates[index] += 1e9 / ns.max(1) as f64;
    }
}

/// A distribution in short, ns. Percentiles have the resolution of [`Histogram`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delay {
    /// Number of samples in the distribution.
    pub count: u64,
    /// Mean of the samples, ns.
    pub mean: f64,
    /// Median of the samples, ns.
    pub p50: u64,
    /// 95th percentile of the samples, ns.
    pub p95: u64,
    /// 99th percentile of the samples, ns.
    pub p99: u64,
    /// Greatest sample, ns.
    pub max: u64,
    /// Sum of all samples, ns.
    pub total: u128,
}

impl From<&Histogram> for Delay {
    fn from(h: &Histogram) -> Self {
        Delay {
            count: h.count(),
            mean: h.mean(),
            p50: h.permille(500),
            p95: h.permille(950),
            p99: h.permille(990),
            max: h.max(),
            total: h.sum(),
        }
    }
}

/// The number of placements that a rule decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleCount {
    /// Kind of the placement: wake, fork or exec.
    pub kind: DecisionKind,
    /// Name of the placement rule.
    pub rule: String,
    /// Number of decisions by this rule.
    pub count: u64,
}

/// What a run is judged by. Counts and sums are of the measured window (see [`Outcome::window`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunMetrics {
    /// Virtual time at which the run ended, ns.
    pub end_ns: Time,
    /// Length of the measured window, ns.
    pub window_ns: u64,
    /// Number of [`Mark::Op`]s in the window.
    pub ops: u64,
    /// [`Mark::Op`]s per second of the window; `None` without ops.
    pub ops_per_sec: Option<f64>,
    /// Migrations per op after [`Mark::Steady`] (after the begin, without one); none without ops.
    pub migrations_per_op: Option<f64>,
    /// Number of migrations: a task was moved to another CPU.
    pub migrations: u64,
    /// Number of migrations by [`MigrateCause`].
    pub migrations_by_cause: [u64; NR_CAUSES],
    /// Number of migrations by [`Distance`] of the two CPUs.
    pub migrations_by_distance: [u64; Distance::COUNT],
    /// Tasks made during the run, the window and what comes before it, by the distance of their first CPU to that of
    /// who made them.
    pub births_by_distance: [u64; Distance::COUNT],
    /// Wakeup latency: from the wakeup until the task runs.
    pub wakeup_latency: Delay,
    /// Wakeup latency by the core type on which the task runs.
    pub wakeup_latency_by_type: Vec<Delay>,
    /// Run delay: from enqueue, or preemption, until the task runs.
    pub run_delay: Delay,
    /// Idle states by core type, then by index: summed over its CPUs.
    pub idle: Vec<Vec<IdleStats>>,
    /// CPU time of each core type: its CPUs x the window, ns.
    pub type_ns: Vec<u64>,
    /// Time in no idle state, ns, by CPU: entering and leaving one is part of it.
    pub busy_ns: Vec<u64>,
    /// Time for which tasks waited for lines of their footprints as they came to a CPU, s, summed over tasks.
    pub refill_s: f64,
    /// Core time that was wasted, s; see [`crate::WasteMeter`].
    pub wasted_core_s: f64,
    /// Threads away from a balanced placement, mean over the window; see [`crate::MisplacementMeter`].
    pub misplaced: f64,
    /// Energy of the measured window, J.
    pub energy_j: f64,
    /// Part of it: static, of clusters.
    pub cluster_j: f64,
    /// Part of it: of running CPUs.
    pub active_j: f64,
    /// Part of it: of idle CPUs.
    pub idle_j: f64,
    /// Part of it: of entering and leaving idle states.
    pub transition_j: f64,
    /// Part of it: static, of supplies.
    pub supply_j: f64,
    /// The highest temperature of each thermal node, thousandths of a degree Celsius.
    pub hottest_mc: Vec<i32>,
    /// Time for which cooling capped each frequency domain, ns; empty for a machine without thermal figures.
    pub capped_ns: Vec<u64>,
    /// Time for which each frequency domain ran at its top operating point, ns, idle or not.
    pub top_clock_ns: Vec<u64>,
    /// Effective `uclamp.min` of each CPU's run queue ([`crate::Clamps`]), and how often each occurred; empty for a
    /// workload without clamps.
    pub floors: Vec<BTreeMap<u16, u64>>,
    /// Mean power of each rail, mW; see [`Machine::rails`].
    pub rail_mw: Vec<f64>,
    /// Lines that moved between CPUs and time that went into them and into locks, summed over CPUs.
    pub traffic: Traffic,
    /// Switches from or to a task.
    pub switches: u64,
    /// What programs reported, by series of the workload, in ticks of its clock. Series without samples may be missing.
    pub series: Vec<Histogram>,
    /// Those of them that were late, by series, then by deadline; as [`Self::series`].
    pub late: Vec<Vec<u64>>,
    /// Rates by phase of the score, 1/s; see [`Meters::phase_rates`]. Phases without reports may be missing.
    pub phase_rates: Vec<f64>,
    /// Decisions by kind and rule.
    pub decisions: Vec<RuleCount>,
}

impl RunMetrics {
    /// Share of the tasks made during the run whose first CPU shares the last-level cache of their parent, percent; 0
    /// without any.
    pub fn births_near_pct(&self) -> f64 {
        let near: u64 = self.births_by_distance[..=Distance::Llc as usize].iter().sum();
        match self.births_by_distance.iter().sum::<u64>() {
            0 => 0.0,
            all => near as f64 / all as f64 * 100.0,
        }
    }

    /// Migrations of one cause.
    pub fn migrations_for(&self, cause: MigrateCause) -> u64 {
        self.migrations_by_cause[cause as usize]
    }
}

/// What is counted from events.
#[derive(Clone, Debug, Default)]
struct Counts {
    ops: u64,
    by_cause: [u64; NR_CAUSES],
    by_distance: [u64; Distance::COUNT],
    switches: u64,
    /// Number of decisions, by [`DecisionKind`] and rule.
    decisions: [Vec<u64>; 3],
    /// Ops and migrations since the steady mark.
    steady: Option<(u64, u64)>,
    floors: Vec<BTreeMap<u16, u64>>,
}

impl Counts {
    fn migrations(&self) -> u64 {
        self.by_cause.iter().sum()
    }
}

/// Counts events of the measured window.
pub struct MetricsObserver {
    machine: Arc<Machine>,
    /// Begin of the window, if time decides; a mark otherwise.
    warmup: Option<Time>,
    measuring: bool,
    /// The workload's threads ask for clamps.
    clamps: bool,
    now: Counts,
    births: [u64; Distance::COUNT],
    /// The task that has come into being and is about to be placed.
    newborn: Option<TaskId>,
    /// As it stood at the last end mark.
    at_end: Option<Counts>,
}

impl MetricsObserver {
    /// An observer of one run.
    pub fn new(machine: Arc<Machine>, workload: &Workload) -> Self {
        let clamps = workload.asks_for_clamps();
        let floors = vec![BTreeMap::new(); if clamps { machine.nr_cpus() } else { 0 }];
        let by_mark = workload.tasks.iter().any(|t| t.program.contains(&Op::Mark(Mark::Begin)));
        MetricsObserver {
            machine,
            warmup: (!by_mark).then_some(workload.warmup_ns),
            measuring: false,
            clamps,
            now: Counts { floors, ..Counts::default() },
            births: [0; Distance::COUNT],
            newborn: None,
            at_end: None,
        }
    }

    /// Tasks are made before the window too, and where they are born may decide the whole run.
    fn count_birth(&mut self, event: &Event) {
        match event.kind {
            EventKind::Fork { parent: Some(_), child } => self.newborn = Some(child),
            EventKind::Decision(d) if d.kind == DecisionKind::Fork && self.newborn == Some(d.task) => {
                self.births[self.machine.distance(event.cpu, d.chosen) as usize] += 1;
                self.newborn = None;
            }
            _ => {}
        }
    }

    /// The metrics of the finished run. `sched` names the rules.
    pub fn finish(&self, outcome: &Outcome, sched: &dyn Scheduler) -> RunMetrics {
        let c = self.at_end.as_ref().unwrap_or(&self.now);
        let w = &outcome.window;
        let idle = self.idle_by_type(outcome);
        let (ops, migrations) = c.steady.unwrap_or((c.ops, c.migrations()));
        RunMetrics {
            end_ns: outcome.end,
            window_ns: w.at,
            ops: c.ops,
            ops_per_sec: ops_per_sec(c.ops, w.at),
            migrations_per_op: (ops > 0).then(|| migrations as f64 / ops as f64),
            migrations: c.migrations(),
            migrations_by_cause: c.by_cause,
            migrations_by_distance: c.by_distance,
            births_by_distance: self.births,
            wakeup_latency: (&outcome.meters.all_wakeup_latencies()).into(),
            wakeup_latency_by_type: outcome.meters.wakeup_latency.iter().map(Delay::from).collect(),
            run_delay: (&outcome.meters.run_delay).into(),
            idle,
            type_ns: self.machine.cpu_types.iter().enumerate().map(|(i, _)| w.at * self.nr_cpus_of(i)).collect(),
            busy_ns: w.idle.iter().map(|states| w.at - states.iter().map(|s| s.held_ns).sum::<u64>()).collect(),
            refill_s: outcome.meters.refill_ns as f64 / 1e9,
            wasted_core_s: w.wasted_ns as f64 / 1e9,
            misplaced: if w.at > 0 { w.misplaced_ns as f64 / w.at as f64 } else { 0.0 },
            energy_j: w.energy_j(),
            cluster_j: joules(w.energy.clusters.iter().sum()),
            active_j: joules(w.energy.active()),
            idle_j: joules(w.energy.idle()),
            transition_j: joules(w.energy.transitions()),
            supply_j: joules(w.energy.supplies.iter().sum()),
            hottest_mc: outcome.meters.hottest_mc.clone(),
            capped_ns: w.capped_ns.clone(),
            top_clock_ns: w.top_clock_ns.clone(),
            floors: c.floors.clone(),
            rail_mw: w.energy.by_rail(&self.machine).iter().map(|rail| mean_mw(rail.sum(), w.at)).collect(),
            traffic: w.traffic,
            switches: c.switches,
            series: outcome.meters.series.clone(),
            late: outcome.meters.late.clone(),
            phase_rates: outcome.meters.phase_rates.clone(),
            decisions: rule_counts(&c.decisions, sched),
        }
    }

    fn nr_cpus_of(&self, cpu_type: usize) -> u64 {
        self.machine.cpus.iter().filter(|c| c.cpu_type as usize == cpu_type).count() as u64
    }

    fn idle_by_type(&self, outcome: &Outcome) -> Vec<Vec<IdleStats>> {
        let states = |t: &fairground_machine::CpuType| vec![IdleStats::default(); t.idle_states.len()];
        let mut sums: Vec<_> = self.machine.cpu_types.iter().map(states).collect();
        for (cpu, stats) in self.machine.cpus.iter().zip(&outcome.window.idle) {
            for (sum, s) in sums[cpu.cpu_type as usize].iter_mut().zip(stats) {
                sum.add(s);
            }
        }
        sums
    }

    fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::Begin => self.measuring = true,
            Mark::Steady if self.measuring => self.now.steady = Some((0, 0)),
            Mark::Op if self.measuring => {
                self.now.ops += 1;
                if let Some((ops, _)) = &mut self.now.steady {
                    *ops += 1;
                }
            }
            Mark::End => self.at_end = Some(self.now.clone()),
            Mark::Steady | Mark::Op => {}
        }
    }

    fn count(&mut self, kind: &EventKind) {
        let c = &mut self.now;
        match *kind {
            EventKind::Switch { .. } => c.switches += 1,
            EventKind::Migrate { from, to, cause, .. } => {
                c.by_cause[cause as usize] += 1;
                c.by_distance[self.machine.distance(from, to) as usize] += 1;
                if let Some((_, migrations)) = &mut c.steady {
                    *migrations += 1;
                }
            }
            EventKind::Decision(d) => {
                let rules = &mut c.decisions[d.kind as usize];
                if rules.len() <= d.rule as usize {
                    rules.resize(d.rule as usize + 1, 0);
                }
                rules[d.rule as usize] += 1;
            }
            EventKind::Clamps(Clamps { cpu, task: None, min, .. }) => {
                c.floors.get_mut(cpu as usize).into_iter().for_each(|floors| *floors.entry(min).or_default() += 1);
            }
            _ => {}
        }
    }
}

/// Operations per second of a window of `window_ns`; `None` without operations.
pub fn ops_per_sec(ops: u64, window_ns: u64) -> Option<f64> {
    (ops > 0 && window_ns > 0).then(|| ops as f64 * 1e9 / window_ns as f64)
}

/// Mean power, mW; 0 if `ns` is 0.
fn mean_mw(energy: Energy, ns: u64) -> f64 {
    if ns == 0 {
        return 0.0;
    }
    joules(energy) / ns as f64 * 1e12
}

fn rule_counts(decisions: &[Vec<u64>; 3], sched: &dyn Scheduler) -> Vec<RuleCount> {
    let kinds = [DecisionKind::Wake, DecisionKind::Fork, DecisionKind::Exec];
    let mut counts = Vec::new();
    for kind in kinds {
        for (rule, count) in decisions[kind as usize].iter().enumerate().filter(|(_, n)| **n > 0) {
            counts.push(RuleCount { kind, rule: sched.rule(rule as u16).name.to_string(), count: *count });
        }
    }
    counts
}

impl Observer for MetricsObserver {
    fn wants_clamps(&self) -> bool {
        self.clamps
    }

    fn event(&mut self, event: &Event) {
        if self.warmup.is_some_and(|t| event.time >= t) {
            self.warmup = None;
            self.measuring = true;
        }
        self.count_birth(event);
        if let EventKind::Mark { mark, .. } = event.kind {
            self.mark(mark);
        } else if self.measuring {
            self.count(&event.kind);
        }
    }
}

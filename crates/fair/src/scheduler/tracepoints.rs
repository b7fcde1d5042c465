//! Tracepoints of load tracking, of estimates of utilization and of utilization clamps.
//!
//! LISA's module, which made the traces of mail 003, uses the kernel's PELT tracepoints: it reports a signal, with the
//! clamps at that time, whenever an update starts a new period of 1024 us (spec 2.2). So does this module. An update
//! within the period reports nothing, so a changed clamp is reported up to a tick later.
//! Estimates (util_est) are reported when they have changed: a task's at its dequeue for sleep, a queue's when a task with one
//! joins or leaves it.
//!
//! DEVIATION: the kernel also reports an estimate that an update leaves as it was. The module also reports a queue when a task's averages join or leave it within a period; and groups.

use fairground_sim::{Clamps, Env, Pick, Signals, TaskId, UtilEst};

use crate::ffi::*;
use crate::sequence::Host;
use crate::world::{is_rt, World};
use crate::Fair;

/// The period of each signal that was reported last. Clamps may be asked for within one whose signals were reported
/// already.
#[derive(Default)]
pub(crate) struct Tracepoints {
    clamps: Periods,
    signals: Periods,
    estimates: Estimates,
}

/// The estimates last reported, by CPU and by task (`enqueued` and `ewma`); 0 before the first report.
#[derive(Default)]
struct Estimates {
    queues: Vec<u32>,
    tasks: Vec<[u32; 2]>,
}

/// Notes a value. Whether it is another one than that reported last.
fn has_changed<T: Copy + Default + PartialEq>(reported: &mut Vec<T>, index: usize, value: T) -> bool {
    if reported.len() <= index {
        reported.resize(index + 1, T::default());
    }
    std::mem::replace(&mut reported[index], value) != value
}

/// The start of the period last reported, by CPU and by task, in us; `u64::MAX` before the first report.
#[derive(Default)]
struct Periods {
    queues: Vec<u64>,
    tasks: Vec<u64>,
}

/// Where the present period of a signal begins: the same as long as it lasts.
fn period(avg: &FgAvg) -> u64 {
    (avg.last_update >> 10).wrapping_sub(u64::from(avg.period_contrib))
}

/// Notes that the period of signal `index` begins at `start`. Whether it is a new one.
fn is_new_period(reported: &mut Vec<u64>, index: usize, start: u64) -> bool {
    if reported.len() <= index {
        reported.resize(index + 1, u64::MAX);
    }
    std::mem::replace(&mut reported[index], start) != start
}

fn pelt_event(cpu: usize, task: Option<TaskId>, avg: &FgAvg) -> Signals {
    let FgAvg { load_avg: load, runnable_avg: runnable, util_avg: util, last_update: updated, .. } = *avg;
    Signals { cpu: cpu as u32, task, load, runnable, util, updated }
}

impl Fair {
    /// The PELT signals of the tasks between which a CPU switches.
    pub(crate) fn emit_switch(&mut self, env: &mut Env, cpu: usize, prev: Option<TaskId>, pick: Pick) {
        let world = &self.queues.world;
        let host = &mut self.sim.on(env);
        host.signals_updated(world, cpu, prev.filter(|p| world.task(*p).cpu as usize == cpu));
        if let Pick::Task(next) = pick {
            host.signals_updated(world, cpu, Some(next));
        }
    }
}

impl Tracepoints {
    /// The signals of a CPU and of a fair task there, those of them that are in a new period. `clamps`: with their
    /// clamps.
    #[cold]
    pub fn emit(&mut self, env: &mut Env, world: &World, clamps: bool, cpu: usize, task: Option<TaskId>) {
        if let Some(task) = task.filter(|p| !is_rt(world.task(*p))) {
            let p = world.task(task);
            let (start, util, min, max) = (period(&p.avg), p.avg.util_avg, p.uclamp_min, p.uclamp_max);
            if env.wants_signals() && is_new_period(&mut self.signals.tasks, task as usize, start) {
                env.signals(pelt_event(cpu, Some(task), &p.avg));
            }
            if env.wants_signals() {
                self.estimate_of_task(env, world, cpu, task);
            }
            if clamps && is_new_period(&mut self.clamps.tasks, task as usize, start) {
                env.clamps(uclamp_event(world, cpu, Some(task), util, [min, max]));
            }
        }
        let rq = &world.cpus[cpu];
        let (start, util) = (period(&rq.cfs), rq.cfs.util_avg);
        let [min, max] = [FG_UCLAMP_MIN, FG_UCLAMP_MAX].map(|id| rq.uclamp[id as usize].value);
        if env.wants_signals() && is_new_period(&mut self.signals.queues, cpu, start) {
            env.signals(pelt_event(cpu, None, &rq.cfs));
        }
        if env.wants_signals() && has_changed(&mut self.estimates.queues, cpu, rq.est_enqueued) {
            env.util_est(UtilEst { cpu: cpu as u32, task: None, enqueued: rq.est_enqueued, ewma: 0, util });
        }
        if clamps && is_new_period(&mut self.clamps.queues, cpu, start) {
            env.clamps(uclamp_event(world, cpu, None, util, [min, max]));
        }
    }
}

impl Tracepoints {
    fn estimate_of_task(&mut self, env: &mut Env, world: &World, cpu: usize, task: TaskId) {
        let p = world.task(task);
        let is_one_value = u32::from(world.sys().feat.value[FG_UTIL_EST]) == FG_UTIL_EST_V68;
        let enqueued = if is_one_value { p.est.ewma } else { p.est.enqueued };
        if has_changed(&mut self.estimates.tasks, task as usize, [enqueued, p.est.ewma]) {
            let (ewma, util) = (p.est.ewma, p.avg.util_avg);
            env.util_est(UtilEst { cpu: cpu as u32, task: Some(task), enqueued, ewma, util });
        }
    }
}

fn uclamp_event(world: &World, cpu: usize, task: Option<TaskId>, util: u64, [min, max]: [u32; 2]) -> Clamps {
    let clamped = world.uclamp_rq_util(cpu, util, task) as u32;
    Clamps { cpu: cpu as u32, task, util: util as u32, clamped, min: min as u16, max: max as u16 }
}

//! What traces are told of load tracking and of utilization clamps.
//!
//! LISA's module, which made the traces of mail 003, hangs on the kernel's PELT hooks: it tells of a signal whenever an
//! update takes it into a new period of 1024 us (spec 2.2), with the clamps of that moment. So do we. Updates that find
//! the signal within its period tell nothing: a clamp that changes is seen up to a tick later.
//!
//! DEVIATION: the module also tells of a queue when a task's averages join or leave it within a period; and of groups.

use fairground_sim::{Clamps, Env, Pick, Signals, TaskId};

use crate::ffi::*;
use crate::rt::is_rt;
use crate::world::World;
use crate::Fair;

/// What was told of which period. Clamps may be asked for within one whose signals were told already.
#[derive(Default)]
pub(crate) struct Told {
    clamps: Periods,
    signals: Periods,
}

/// Which period each signal was last told in.
#[derive(Default)]
struct Periods {
    queues: Vec<u64>,
    tasks: Vec<u64>,
}

/// Where the present period of a signal begins: the same as long as it lasts.
fn period(avg: &FgAvg) -> u64 {
    (avg.last_update >> 10).wrapping_sub(u64::from(avg.period_contrib))
}

/// Whether `now` is new at `at`.
fn renew(told: &mut Vec<u64>, at: usize, now: u64) -> bool {
    if told.len() <= at {
        told.resize(at + 1, u64::MAX);
    }
    std::mem::replace(&mut told[at], now) != now
}

/// What an average says.
fn signals(cpu: usize, task: Option<TaskId>, avg: &FgAvg) -> Signals {
    let FgAvg { load_avg: load, runnable_avg: runnable, util_avg: util, last_update: updated, .. } = *avg;
    Signals { cpu: cpu as u32, task, load, runnable, util, updated }
}

impl Fair {
    /// The signals of a CPU and of a fair task there may have been updated.
    pub(crate) fn tell_signals(&mut self, env: &mut Env, cpu: usize, task: Option<TaskId>) {
        if env.wants_clamps() && self.clamps_asked || env.wants_signals() {
            self.tell(env, cpu, task.filter(|p| !is_rt(self.world.task(*p))));
        }
    }

    /// The same of those between whom a CPU switches.
    pub(crate) fn tell_switch(&mut self, env: &mut Env, cpu: usize, prev: Option<TaskId>, pick: Pick) {
        self.tell_signals(env, cpu, prev.filter(|p| self.world.task(*p).cpu as usize == cpu));
        if let Pick::Task(next) = pick {
            self.tell_signals(env, cpu, Some(next));
        }
    }

    #[cold]
    fn tell(&mut self, env: &mut Env, cpu: usize, task: Option<TaskId>) {
        let clamps = env.wants_clamps() && self.clamps_asked;
        let Told { clamps: clamped, signals: tracked } = &mut self.told;
        if let Some(task) = task {
            let p = self.world.task(task);
            let (now, util, min, max) = (period(&p.avg), p.avg.util_avg, p.uclamp_min, p.uclamp_max);
            if env.wants_signals() && renew(&mut tracked.tasks, task as usize, now) {
                env.signals(signals(cpu, Some(task), &p.avg));
            }
            if clamps && renew(&mut clamped.tasks, task as usize, now) {
                env.clamps(clamps_of(&self.world, cpu, Some(task), util, [min, max]));
            }
        }
        let rq = &self.world.cpus[cpu];
        let (now, util) = (period(&rq.cfs), rq.cfs.util_avg);
        let [min, max] = [FG_UCLAMP_MIN, FG_UCLAMP_MAX].map(|id| rq.uclamp[id as usize].value);
        if env.wants_signals() && renew(&mut tracked.queues, cpu, now) {
            env.signals(signals(cpu, None, &rq.cfs));
        }
        if clamps && renew(&mut clamped.queues, cpu, now) {
            env.clamps(clamps_of(&self.world, cpu, None, util, [min, max]));
        }
    }
}

fn clamps_of(world: &World, cpu: usize, task: Option<TaskId>, util: u64, [min, max]: [u32; 2]) -> Clamps {
    let clamped = world.uclamp_rq_util(cpu, util, task) as u32;
    Clamps { cpu: cpu as u32, task, util: util as u32, clamped, min: min as u16, max: max as u16 }
}

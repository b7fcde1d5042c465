//! The RT class: FIFO and RR, priorities 1..=99, above the fair class.
//!
//! From v6.12 on the deadline server lets fair tasks run before them (`sequence/server.rs`).
//!
//! DEVIATION: no push and pull of RT tasks, and before v6.12 no RT throttling (sched_rt_runtime, 950 ms of each second): rows of
//! the fair scheduler see RT tasks as pressure only (spec 11.3). There is no capacity test: RT tasks request a minimum of 1024 by default, so kernels from v5.6 on
//! with clamps wake them on the largest CPUs first. Of equally near CPUs the first is chosen; kernels from v5.11 on
//! take turns.

use fairground_machine::{CpuId, CpuMask};
use fairground_sim::{Env, TaskId};

use crate::ffi::*;
use crate::world::is_rt;
use crate::Fair;

/// RR_TIMESLICE, as the divider of a second. It is counted in whole ticks, rounded down.
const RR_SLICES_PER_S: u32 = 10;

impl Fair {
    /// select_task_rq_rt: the CPU and the rule (`FG_RULE_RT_*`). It stays unless a current RT task there
    /// has the same priority or a higher one, or can go nowhere else.
    pub(crate) fn select_rt(&self, task: TaskId) -> (CpuId, u32) {
        let p = self.queues.world.task(task);
        let prev = p.cpu as usize;
        let stays = match self.queues.world.curr(prev).map(|c| self.queues.world.task(c)) {
            Some(curr) if is_rt(curr) => curr.nr_allowed > 1 && curr.rt_prio < p.rt_prio,
            _ => true,
        };
        if p.allowed.test(prev as CpuId) && (stays || p.nr_allowed == 1) {
            return (prev as CpuId, FG_RULE_RT_PREV);
        }
        match self.lowest_rt_cpu(task) {
            Some(cpu) => (cpu, FG_RULE_RT_LOWEST),
            None if p.allowed.test(prev as CpuId) => (prev as CpuId, FG_RULE_RT_PREV),
            None => (p.allowed.first().unwrap_or(prev as CpuId), FG_RULE_RT_LOWEST),
        }
    }

    /// find_lowest_rq: among the allowed CPUs of the task's partition those whose highest RT priority is lowest and
    /// below the task's; of these the previous CPU, this CPU if a domain of the previous one spans it, the nearest, the
    /// first.
    fn lowest_rt_cpu(&self, task: TaskId) -> Option<CpuId> {
        let p = self.queues.world.task(task);
        let reachable = p.allowed.and(self.queues.world.root_span(p.cpu as usize));
        let candidates = || reachable.iter();
        let prio = |c: CpuId| self.queues.rqs[c as usize].rt.top_prio();
        let lowest = candidates().map(prio).min().filter(|lowest| *lowest < p.rt_prio)?;
        let mask: CpuMask = candidates().filter(|c| prio(*c) == lowest).collect();
        if mask.test(p.cpu as CpuId) {
            return Some(p.cpu as CpuId);
        }
        for sd in self.queues.world.chain(p.cpu as usize) {
            let sd = &self.queues.world.domains[*sd];
            if sd.flags & FG_SD_WAKE_AFFINE == 0 {
                continue;
            }
            if mask.test(self.sim.here) && sd.span.test(self.sim.here) {
                return Some(self.sim.here);
            }
            if let Some(near) = mask.and(&sd.span).first() {
                return Some(near);
            }
        }
        if mask.test(self.sim.here) {
            return Some(self.sim.here);
        }
        mask.first()
    }

    /// The tick of a running RT task: RR tasks take turns every tenth of a second.
    pub(crate) fn tick_rt(&mut self, env: &mut Env, cpu: usize, task: TaskId) {
        self.queues.world.update_curr_rt(cpu, task);
        self.queues.world.update_rt(cpu, true);
        let p = self.queues.world.task(task);
        if u32::from(p.policy) != FG_SCHED_RR {
            return;
        }
        let prio = p.rt_prio;
        let state = &mut self.states[task as usize];
        state.rr_ticks += 1;
        if state.rr_ticks < env.hz() / RR_SLICES_PER_S {
            return;
        }
        state.rr_ticks = 0;
        if self.queues.rqs[cpu].rt.has_peer(prio) {
            self.requeue_rt(cpu, task);
            self.queues.resched(&mut self.sim.on(env), cpu);
        }
    }

    /// Puts a task behind the others of its priority.
    pub(crate) fn requeue_rt(&mut self, cpu: usize, task: TaskId) {
        let prio = self.queues.world.task(task).rt_prio;
        self.queues.rqs[cpu].rt.remove(task);
        self.queues.rqs[cpu].rt.push(prio, task);
    }
}

//! The deadline server of fair tasks: its timer, and picks before RT tasks.

use fairground_sim::TaskId;

use super::{Host, RunQueues};
use crate::ffi::*;
use crate::world::is_rt;

impl RunQueues {
    /// pick_task_dl: the fair task that runs before the RT tasks of `cpu`, current then. A server that finds none stops.
    pub fn pick_before_rt<H: Host>(&mut self, host: &mut H, cpu: usize) -> Option<TaskId> {
        if !self.world.server_runs(cpu) {
            return None;
        }
        let next = self.pick_next_task(host, cpu);
        if next.is_none() {
            self.world.server_stop(cpu);
        }
        next
    }

    /// The same without RT tasks: `cpu` has nothing to run, so that a server that runs stops.
    pub fn found_nothing(&mut self, cpu: usize) {
        if self.world.server_runs(cpu) {
            self.world.server_stop(cpu);
        }
    }

    /// dl_server_timer, if it is due on `cpu` by `now`, ns.
    pub fn server_timer<H: Host>(&mut self, host: &mut H, cpu: usize, now: u64) {
        if self.world.cpus[cpu].server.expires > now || self.next_server_timer(cpu).is_none() {
            return;
        }
        host.update_clock(&mut self.world, cpu);
        let charges = u32::from(self.world.sys().feat.value[FG_FAIR_SERVER]) == FG_FAIR_SERVER_V619;
        if charges && self.world.curr(cpu).is_some_and(|curr| !is_rt(self.world.task(curr))) {
            self.update_curr(host, cpu);
        }
        if self.world.server_timer(cpu) {
            self.resched(host, cpu);
        }
    }

    /// When the timer of `cpu` expires, ns. There is none while no RT task is queued: see `policy/server.c`.
    pub fn next_server_timer(&self, cpu: usize) -> Option<u64> {
        let rq = &self.world.cpus[cpu];
        (rq.rt_nr_running != 0 && rq.server.expires != 0).then_some(rq.server.expires)
    }

    /// Whether the server of `cpu` started since the last call, beside an RT task that has the CPU.
    pub fn server_asks(&mut self, cpu: usize) -> bool {
        let asked = self.world.cpus[cpu].server.asked != 0;
        if asked {
            self.world.cpus[cpu].server.asked = 0;
        }
        asked
    }
}

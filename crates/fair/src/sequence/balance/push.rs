//! Active balance: the stopper of a source pushes a task that could not be pulled.

use fairground_machine::CpuId;
use fairground_sim::MigrateCause;

use super::super::{Host, RunQueues};
use crate::ffi::*;

impl RunQueues {
    /// active_load_balance_cpu_stop, on the source. False: no task may go.
    pub fn push_task<H: Host>(&mut self, host: &mut H, src: usize) -> bool {
        let mut b = self.world.active_balance(host.jiffies());
        let pushed = self.world.active_begin(src, &mut b) && self.push_one(host, src, &mut b);
        self.world.active_end(src, &mut b, pushed);
        pushed
    }

    /// detach_one_task and attach_one_task. False: no task may go.
    fn push_one<H: Host>(&mut self, host: &mut H, src: usize, b: &mut FgBalance) -> bool {
        host.update_clock(&mut self.world, src);
        let mut next = self.cfs_tasks.oldest(src);
        while let Some(task) = next.filter(|task| !self.world.can_migrate_task(b, *task)) {
            next = self.cfs_tasks.newer(task);
        }
        let Some((task, sd)) = next.zip(self.world.domain_of(b)) else { return false };
        let dst = b.dst_cpu as CpuId;
        host.pushing(sd, src as CpuId, dst);
        self.move_queued(host, task, dst, MigrateCause::Active);
        true
    }
}

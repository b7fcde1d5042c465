//! One attempt to balance a domain (load_balance): look for a source, take tasks off it, put them where they are to go.
//!
//! The policy decides (`policy/fg.h`, "one attempt to balance a domain"). Here are the migrations in their order, the
//! clock updates and the costs.

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::MigrateCause;

use super::super::{Host, RunQueues, Source};
use crate::ffi::*;

/// The result of an attempt to balance a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// False: another CPU balances this domain.
    pub ours: bool,
    /// Number of tasks that were moved.
    pub moved: u32,
}

impl RunQueues {
    /// load_balance of domain `sd`, on behalf of `cpu`.
    pub fn load_balance<H: Host>(&mut self, host: &mut H, sd: usize, cpu: usize, kind: u32) -> Attempt {
        let mut b = self.world.new_balance(sd, cpu, kind, host.jiffies());
        loop {
            if !self.world.should_we_balance(&b) {
                self.world.balance_not_ours(&b);
                return Attempt { ours: false, moved: b.moved };
            }
            if !self.find_source(host, sd, &mut b) {
                self.world.finish_balance(&mut b);
                break;
            }
            match host.balance_source(self, &b) {
                Source::Pull => {}
                Source::AssumePulled => {
                    b.moved = 1;
                    self.world.finish_balance(&mut b);
                    return Attempt { ours: true, moved: 0 };
                }
                Source::Unknown => break,
            }
            let before = b.moved;
            let again = self.move_tasks(host, &mut b) == FG_LB_REDO;
            let active = !again && self.world.finish_balance(&mut b);
            host.balance_pulled(b.moved - before, active);
            if active {
                host.push_requested(&mut self.world, b.src_cpu as usize);
            }
            if !again {
                break;
            }
        }
        Attempt { ours: true, moved: b.moved }
    }

    /// find_busiest_group and find_busiest_queue. False: there is nothing to pull.
    fn find_source<H: Host>(&mut self, host: &mut H, sd: usize, b: &mut FgBalance) -> bool {
        if b.kind == FG_CPU_NEWLY_IDLE && self.world.newidle_stats() {
            self.newidle_blocked(host, sd);
        }
        let looked_at = b.group_cpus;
        let found = self.world.find_busiest_queue(b);
        host.charge(SoftCost::GroupCpu, b.group_cpus - looked_at);
        host.balance_looked(&self.world, b, found);
        found
    }

    /// Batch by batch until the source is done with. FG_LB_REDO: there may be another one.
    fn move_tasks<H: Host>(&mut self, host: &mut H, b: &mut FgBalance) -> u32 {
        if self.world.cpus[b.src_cpu as usize].nr_running <= 1 {
            return FG_LB_END;
        }
        loop {
            self.detach_tasks(host, b);
            self.attach_tasks(host, b);
            match self.world.finish_round(b) {
                FG_LB_MORE => {}
                end_or_redo => return end_or_redo,
            }
        }
    }

    /// detach_tasks: into `self.detached`. A task that is passed over is looked at last from now on.
    fn detach_tasks<H: Host>(&mut self, host: &mut H, b: &mut FgBalance) {
        let (src, dst) = (b.src_cpu as usize, b.dst_cpu as CpuId);
        let cause = match b.kind {
            FG_CPU_NEWLY_IDLE => MigrateCause::NewIdle,
            _ => MigrateCause::Balance,
        };
        host.update_clock(&mut self.world, src);
        self.world.detach_begin(b);
        // Where tasks of other classes count, a round looks at the first ones twice, which turns the order further.
        while let Some(task) = self.cfs_tasks.oldest(src).filter(|_| self.world.detach_more(b)) {
            if !self.world.detach_task(b, task) {
                self.cfs_tasks.renew(src, task);
                continue;
            }
            self.dequeue(host, src, task, FG_DEQUEUE_MOVE);
            self.set_task_cpu(host, task, dst, cause);
            self.detached.push(task);
        }
    }

    /// attach_tasks: the last one taken first.
    fn attach_tasks<H: Host>(&mut self, host: &mut H, b: &FgBalance) {
        if self.detached.is_empty() {
            return;
        }
        let dst = b.dst_cpu as usize;
        host.update_clock(&mut self.world, dst);
        while let Some(task) = self.detached.pop() {
            self.enqueue(host, dst, task, 0);
            self.check_preempt(host, dst, task, 0);
        }
    }
}

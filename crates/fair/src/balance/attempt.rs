//! One attempt to balance a domain: look for a source, take tasks off it, put them where they are to go.
//!
//! Every verdict is the policy's (`policy/fg.h`, "one attempt to balance a domain"); here are the moves in their order,
//! the clocks, and what it costs.

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::{Balance, BalanceKind, BalanceUnit, Env, MigrateCause};

use crate::ffi::*;
use crate::rq::StopWork;
use crate::Fair;

/// What an attempt came to.
pub(crate) struct Attempt {
    /// False: another CPU balances this domain.
    pub ours: bool,
    /// Tasks moved.
    pub moved: u32,
}

impl Fair {
    /// load_balance of domain `sd`, on behalf of `cpu`.
    pub(crate) fn load_balance(&mut self, env: &mut Env, sd: usize, cpu: usize, kind: u32) -> Attempt {
        let mut b = self.world.balance_begin(sd, cpu, kind, env.jiffies());
        loop {
            if !self.world.should_we_balance(&b) {
                self.world.balance_not_ours(&b);
                return Attempt { ours: false, moved: b.moved };
            }
            if !self.find_source(env, sd, &mut b) {
                self.world.balance_end(&mut b);
                break;
            }
            let mut found = self.found(sd, &b);
            let report = env.balancing(found);
            let again = self.move_tasks(env, &mut b) == FG_LB_REDO;
            found.active = !again && self.world.balance_end(&mut b);
            found.moved = b.moved - found.moved;
            env.balanced(report, found);
            if found.active {
                self.ask_stopper(env, found.src as usize, StopWork::Push);
            }
            if !again {
                break;
            }
        }
        Attempt { ours: true, moved: b.moved }
    }

    /// find_busiest_group and find_busiest_queue.
    fn find_source(&mut self, env: &mut Env, sd: usize, b: &mut FgBalance) -> bool {
        if b.kind == FG_CPU_NEWLY_IDLE && self.world.newidle_stats() {
            self.newidle_blocked(env, sd);
        }
        let looked_at = b.group_cpus;
        let found = self.world.find_busiest(b);
        env.charge(self.here, SoftCost::GroupCpu, b.group_cpus - looked_at);
        found
    }

    /// The report of a source just found; `moved` is what the attempt has moved before.
    fn found(&self, sd: usize, b: &FgBalance) -> Balance {
        Balance {
            kind: match b.kind {
                FG_CPU_NOT_IDLE => BalanceKind::Busy,
                FG_CPU_IDLE => BalanceKind::Idle,
                _ => BalanceKind::NewlyIdle,
            },
            level: self.topology().level_of(sd),
            src: b.src_cpu as CpuId,
            dst: b.dst_cpu as CpuId,
            unit: match b.migration {
                FG_MIGRATE_LOAD => BalanceUnit::Load,
                FG_MIGRATE_UTIL => BalanceUnit::Util,
                FG_MIGRATE_TASK => BalanceUnit::Task,
                _ => BalanceUnit::Misfit,
            },
            amount: u64::try_from(b.imbalance).unwrap_or(0),
            rule: b.rule as u16,
            moved: b.moved,
            active: false,
        }
    }

    /// Batch by batch until the source is done with. FG_LB_REDO: there may be another one.
    fn move_tasks(&mut self, env: &mut Env, b: &mut FgBalance) -> u32 {
        if self.world.cpus[b.src_cpu as usize].nr_running <= 1 {
            return FG_LB_END;
        }
        loop {
            self.detach_tasks(env, b);
            self.attach_tasks(env, b);
            match self.world.balance_next(b) {
                FG_LB_MORE => {}
                end_or_redo => return end_or_redo,
            }
        }
    }

    /// detach_tasks: into `self.taken`. Who is passed over is looked at last from now on.
    fn detach_tasks(&mut self, env: &mut Env, b: &mut FgBalance) {
        let (src, dst) = (b.src_cpu as usize, b.dst_cpu as CpuId);
        let cause = match b.kind {
            FG_CPU_NEWLY_IDLE => MigrateCause::NewIdle,
            _ => MigrateCause::Balance,
        };
        self.clock(env, src);
        self.world.detach_begin(b);
        // Where tasks of other classes count, a round looks at the first ones twice, which turns the order further.
        while let Some(task) = self.order.oldest(src).filter(|_| self.world.detach_more(b)) {
            if !self.world.detach_task(b, task) {
                self.order.renew(src, task);
                continue;
            }
            self.dequeue(env, src, task, FG_DEQUEUE_MOVE);
            self.set_task_cpu(env, task, dst, cause);
            self.taken.push(task);
        }
    }

    /// attach_tasks: the last one taken first.
    fn attach_tasks(&mut self, env: &mut Env, b: &FgBalance) {
        if self.taken.is_empty() {
            return;
        }
        let dst = b.dst_cpu as usize;
        self.clock(env, dst);
        while let Some(task) = self.taken.pop() {
            self.enqueue(env, dst, task, 0);
            self.check_preempt(env, dst, task);
        }
    }
}

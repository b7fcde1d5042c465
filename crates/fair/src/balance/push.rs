//! Active balance: the stopper of a source pushes a task that nobody could pull.

use fairground_machine::CpuId;
use fairground_sim::{Balance, BalanceKind, BalanceUnit, Env, MigrateCause};

use crate::ffi::*;
use crate::Fair;

/// Name and text of the rule by which the stopper moves, numbered behind the policy's.
pub(crate) const PUSH_RULE: (&str, &str) = ("push", "the stopper moves a task that could not be pulled");

impl Fair {
    /// active_load_balance_cpu_stop, on the source.
    pub(crate) fn push_task(&mut self, env: &mut Env, src: usize) {
        let mut b = self.world.active_balance(env.jiffies());
        let pushed = self.world.active_begin(src, &mut b) && self.push_one(env, src, &mut b);
        self.world.active_end(src, &mut b, pushed);
    }

    fn push_one(&mut self, env: &mut Env, src: usize, b: &mut FgBalance) -> bool {
        self.clock(env, src);
        let mut next = self.order.oldest(src);
        while let Some(task) = next.filter(|task| !self.world.can_migrate_task(b, *task)) {
            next = self.order.newer(task);
        }
        let Some((task, sd)) = next.zip(self.world.domain_of(b)) else { return false };
        let dst = b.dst_cpu as CpuId;
        let push = Balance {
            kind: BalanceKind::Active,
            level: self.topology().level_of(sd),
            src: src as CpuId,
            dst,
            unit: BalanceUnit::Task,
            amount: 1,
            rule: BALANCE_RULES.len() as u16,
            moved: 1,
            active: false,
        };
        let report = env.balancing(push);
        self.move_queued(env, task, dst, MigrateCause::Active);
        env.balanced(report, push);
        true
    }
}

//! Active balance: the stopper of a source pushes a task that nobody could pull.

use fairground_machine::CpuId;
use fairground_sim::{Balance, BalanceKind, BalanceUnit, Env, MigrateCause};

use crate::ffi::*;
use crate::Fair;

impl Fair {
    /// active_load_balance_cpu_stop, on the source.
    pub(crate) fn push_task(&mut self, env: &mut Env, src: usize) {
        let mut b = self.world.active_balance(env.jiffies(), env.clock(self.here));
        let pushed = self.world.active_begin(src, &mut b) && self.push_one(env, src, &mut b);
        self.world.active_end(src, &mut b, pushed);
    }

    fn push_one(&mut self, env: &mut Env, src: usize, b: &mut FgBalance) -> bool {
        self.clock(env, src);
        let mut next = self.order.oldest(src);
        while let Some(task) = next.filter(|task| !self.world.can_migrate_task(b, *task)) {
            next = self.order.newer(task);
        }
        let dst = b.dst_cpu as CpuId;
        if let Some(task) = next {
            self.move_queued(env, task, dst, MigrateCause::Active);
        }
        if let Some(sd) = self.world.domain_of(b) {
            env.balanced(Balance {
                kind: BalanceKind::Active,
                level: self.topology().level_of(sd),
                src: src as CpuId,
                dst,
                unit: BalanceUnit::Task,
                amount: 1,
                rule: FG_BALANCE_RULE_NONE as u16,
                moved: u32::from(next.is_some()),
                active: false,
            });
        }
        next.is_some()
    }
}

//! Idle balancing for CPUs without a tick (spec 6.10): who is woken for it, and its round.

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::{Env, Ipi};

use crate::ffi::*;
use crate::Fair;

impl Fair {
    /// kick_ilb: an idle CPU is to balance for all of them.
    pub(super) fn kick_ilb(&mut self, env: &mut Env, cpu: usize, kick: u32) {
        let Some(balancer) = self.world.kick_ilb(cpu, kick, env.jiffies()) else { return };
        let asked = &mut self.rqs[balancer as usize].nohz_kick;
        let first = *asked == FG_NOHZ_NO_KICK;
        *asked |= kick;
        if first {
            env.send_ipi(balancer, Ipi::NohzKick);
        }
    }

    /// nohz_csd_func, on the CPU that was asked.
    pub(crate) fn take_nohz_kick(&mut self, env: &mut Env, cpu: usize) {
        let kick = std::mem::take(&mut self.rqs[cpu].nohz_kick);
        if self.world.update_idle_balance(cpu) && !self.rqs[cpu].resched {
            self.rqs[cpu].nohz_pending = kick;
            env.raise_balance(cpu as CpuId);
        }
    }

    /// _nohz_idle_balance: for each CPU whose tick is stopped, this one last; ends early if this one gets work.
    pub(super) fn nohz_idle_balance(&mut self, env: &mut Env, cpu: usize, kick: u32, kind: u32) {
        let mut walk = self.world.nohz_idle_begin(kick, kind, env.jiffies());
        let stopped = self.world.sys().nohz_idle;
        let one_of = self.features().on(FG_ILB_ONE_OF);
        for other in stopped.iter_wrap(cpu as CpuId + 1).map(|c| c as usize).filter(|c| one_of || *c != cpu) {
            if !self.world.idle(other) {
                continue;
            }
            if self.rqs[cpu].resched {
                self.world.nohz_idle_abort(kick);
                return;
            }
            if kick & FG_NOHZ_STATS_KICK != 0 {
                self.nohz_update(env, other);
            }
            if self.world.nohz_idle_cpu(other, kick, &mut walk) {
                self.clock(env, other);
                self.rebalance_domains(env, other, FG_CPU_IDLE);
            }
            self.world.nohz_idled_cpu(other, &mut walk);
        }
        // Before its own domains, which may pull it in (5.9; a round cut short says nothing about it).
        self.world.nohz_idle_others_end(&walk);
        if !one_of {
            self.nohz_idle_self(env, cpu, kick, &mut walk);
        }
        self.world.nohz_idle_end(kick, &walk);
    }

    /// Up to v5.11 the balancer's own turn comes last, and whether it is due or not.
    fn nohz_idle_self(&mut self, env: &mut Env, cpu: usize, kick: u32, walk: &mut FgBalanceWalk) {
        if kick & FG_NOHZ_STATS_KICK != 0 && walk.kind != FG_CPU_NEWLY_IDLE {
            self.update_blocked(env, cpu);
        }
        if self.world.nohz_idle_self(cpu, kick, walk) {
            self.rebalance_domains(env, cpu, FG_CPU_IDLE);
        }
    }

    /// update_nohz_stats: the blocked load of an idle CPU; whether some is left.
    fn nohz_update(&mut self, env: &mut Env, cpu: usize) -> bool {
        if self.world.nohz_stats_due(cpu, env.jiffies()) {
            env.charge(self.here, SoftCost::GroupCpu, 1);
            self.update_blocked(env, cpu);
        }
        self.world.cpus[cpu].has_blocked_load != 0
    }

    /// LBF_NOHZ_STATS: newly idle balancing brings the blocked load of the idle CPUs it looks at up to date.
    pub(super) fn newidle_blocked(&mut self, env: &mut Env, sd: usize) {
        let mut left = false;
        for cpu in self.world.sys().nohz_idle.and(&self.world.domains[sd].span).iter() {
            left |= self.nohz_update(env, cpu as usize);
        }
        self.world.nohz_stats_end(sd, left, env.jiffies());
    }
}

//! Idle balancing for CPUs without a tick (spec 6.10).

use fairground_machine::{CpuId, SoftCost};

use super::super::{Host, RunQueues};
use crate::ffi::*;

impl RunQueues {
    /// _nohz_idle_balance: for each CPU whose tick is stopped, this one last; ends early if this one gets work.
    pub fn nohz_idle_balance<H: Host>(&mut self, host: &mut H, cpu: usize, kick: u32, kind: u32) {
        let mut walk = FgBalanceWalk { jiffies: host.jiffies(), kind, ..FgBalanceWalk::zeroed() };
        self.world.nohz_idle_begin(kick, &mut walk);
        let stopped = self.world.sys().nohz_idle;
        let one_of = self.world.sys().feat.value[FG_ILB_ONE_OF] != 0;
        for other in stopped.iter_wrap(cpu as CpuId + 1).map(|c| c as usize).filter(|c| one_of || *c != cpu) {
            if !self.world.idle_rq(other) {
                continue;
            }
            if self.rqs[cpu].resched {
                self.world.nohz_idle_abort(kick);
                return;
            }
            if kick & FG_NOHZ_STATS_KICK != 0 {
                self.nohz_update(host, other);
            }
            if self.world.nohz_idle_cpu(other, kick, &mut walk) {
                host.update_clock(&mut self.world, other);
                self.rebalance_domains(host, other, FG_CPU_IDLE);
            }
            self.world.nohz_idled_cpu(other, &mut walk);
        }
        // Before its own domains, whose balance may move it forward (5.9; a round cut short does not set it).
        self.world.nohz_idle_others_end(&walk);
        if !one_of {
            self.nohz_idle_self(host, cpu, kick, &mut walk);
        }
        self.world.nohz_idle_end(kick, &walk);
    }

    /// Up to v5.11 the balancer's own turn comes last, and whether it is due or not.
    fn nohz_idle_self<H: Host>(&mut self, host: &mut H, cpu: usize, kick: u32, walk: &mut FgBalanceWalk) {
        if kick & FG_NOHZ_STATS_KICK != 0 && walk.kind != FG_CPU_NEWLY_IDLE {
            self.update_blocked(host, cpu);
        }
        if self.world.nohz_idle_self(cpu, kick, walk) {
            self.rebalance_domains(host, cpu, FG_CPU_IDLE);
        }
    }

    /// update_nohz_stats: the blocked load of an idle CPU; whether some is left.
    fn nohz_update<H: Host>(&mut self, host: &mut H, cpu: usize) -> bool {
        if self.world.nohz_stats_due(cpu, host.jiffies()) {
            host.charge(SoftCost::GroupCpu, 1);
            self.update_blocked(host, cpu);
        }
        self.world.cpus[cpu].has_blocked_load != 0
    }

    /// LBF_NOHZ_STATS: newly idle balancing brings the blocked load of the idle CPUs it looks at up to date.
    pub(super) fn newidle_blocked<H: Host>(&mut self, host: &mut H, sd: usize) {
        let mut left = false;
        for cpu in self.world.sys().nohz_idle.and(&self.world.domains[sd].span).iter() {
            left |= self.nohz_update(host, cpu as usize);
        }
        self.world.nohz_stats_end(sd, left, host.jiffies());
    }
}

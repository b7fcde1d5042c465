//! The periodic pass, newly idle balancing and NOHZ idle balancing (spec 6.1, 6.9, 6.10) without moving a task.
//!
//! What is due, whose turn it is and what a pass leaves behind is the policy's (`policy/balance.c`, `policy/nohz.c`);
//! here are the walks in their order, what they cost, softirqs and IPIs. Everything around the move is there; a pass
//! ends as if it had found the domain balanced.
//!
//! DEVIATION: nothing is pulled, so no domain is ever found imbalanced: nr_balance_failed stays 0 and every interval
//! doubles to its maximum, where the kernel resets it to its minimum whenever it moved a task.

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::{Env, Ipi};

use crate::ffi::*;
use crate::Fair;

impl Fair {
    /// The end of a tick: trigger_load_balance and nohz_balancer_kick.
    pub(crate) fn trigger_balance(&mut self, env: &mut Env, cpu: usize) {
        let jiffies = env.jiffies();
        self.world.update_idle_balance(cpu);
        if self.world.cpus[cpu].sd.is_null() {
            return;
        }
        if self.world.rebalance_due(cpu, jiffies) {
            env.raise_balance(cpu as CpuId);
        }
        match self.world.nohz_balancer_kick(cpu, jiffies) {
            FG_NOHZ_NO_KICK => {}
            kick => self.kick_ilb(env, cpu, kick),
        }
    }

    /// kick_ilb: an idle CPU is to balance for all of them.
    fn kick_ilb(&mut self, env: &mut Env, cpu: usize, kick: u32) {
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

    /// run_rebalance_domains.
    pub(crate) fn balance_softirq(&mut self, env: &mut Env, cpu: usize) {
        env.charge(cpu as CpuId, SoftCost::Balance, 1);
        let kick = std::mem::take(&mut self.rqs[cpu].nohz_pending);
        let kind = self.world.rebalance_kind(cpu);
        if kick != FG_NOHZ_NO_KICK && kind == FG_CPU_IDLE {
            self.nohz_idle_balance(env, cpu, kick, kind);
            return;
        }
        self.update_blocked(env, cpu);
        self.rebalance_domains(env, cpu, kind);
    }

    /// update_blocked_averages.
    fn update_blocked(&mut self, env: &Env, cpu: usize) {
        self.clock(env, cpu);
        self.world.update_blocked_averages(cpu);
        self.world.cpus[cpu].last_blocked = env.jiffies();
    }

    /// rebalance_domains, on behalf of `cpu`.
    fn rebalance_domains(&mut self, env: &mut Env, cpu: usize, kind: u32) {
        let mut walk = self.world.rebalance_begin(cpu, kind, env.jiffies());
        for sd in self.world.chain(cpu).iter().copied() {
            match self.world.rebalance_domain(sd, &mut walk) {
                FG_BALANCE_STOP => break,
                FG_BALANCE_NOW => {
                    let ours = self.load_balance(env, sd, cpu, kind);
                    self.world.rebalanced_domain(sd, &mut walk, ours);
                }
                _ => {}
            }
        }
        self.world.rebalance_end(cpu, &walk);
    }

    /// load_balance. False: another CPU balances this domain.
    fn load_balance(&mut self, env: &mut Env, sd: usize, cpu: usize, kind: u32) -> bool {
        let ours = self.world.should_we_balance(sd, cpu, kind);
        if ours {
            self.update_statistics(env, sd, cpu, kind);
        }
        // out_balanced: whoever leaves the domain to another CPU takes this way too.
        self.world.balance_backoff(sd, kind);
        ours
    }

    /// update_sd_lb_stats: capacities of the local group, the root domain's flags, how far scans of the LLC go.
    fn update_statistics(&mut self, env: &mut Env, sd: usize, cpu: usize, kind: u32) {
        let jiffies = env.jiffies();
        env.charge(self.here, SoftCost::GroupCpu, self.world.domains[sd].weight);
        if self.world.group_capacity_due(sd, kind, jiffies) {
            self.world.update_group_capacity(sd, cpu, jiffies);
        }
        if kind == FG_CPU_NEWLY_IDLE && self.world.newidle_stats() {
            self.newidle_blocked(env, sd);
        }
        self.world.update_root_status(sd, cpu);
        self.world.update_idle_cpu_scan(sd, cpu, kind);
    }

    /// newidle_balance and the rest of going idle.
    pub(crate) fn newly_idle(&mut self, env: &mut Env, cpu: usize) {
        self.world.update_misfit_status(cpu, None);
        self.world.enter_idle(cpu);
        if !self.world.newidle_spared(cpu) {
            self.newidle_balance(env, cpu);
        }
        self.world.update_idle_core(cpu);
    }

    fn newidle_balance(&mut self, env: &mut Env, cpu: usize) {
        let mut walk = self.world.newidle_begin(env.jiffies());
        let balanced = self.world.newidle_gate(cpu, &mut walk);
        if balanced {
            self.update_blocked(env, cpu);
            self.newidle_domains(env, cpu, &mut walk);
        }
        if self.world.nohz_newidle_due(cpu, env.jiffies(), balanced) {
            // nohz_newidle_balance: it expects to idle for long.
            self.nohz_idle_balance(env, cpu, FG_NOHZ_STATS_KICK, FG_CPU_NEWLY_IDLE);
        }
        self.world.newidle_end(cpu, &walk);
    }

    fn newidle_domains(&mut self, env: &mut Env, cpu: usize, walk: &mut FgBalanceWalk) {
        for sd in self.world.chain(cpu).iter().copied() {
            match self.world.newidle_domain(sd, cpu, walk) {
                FG_BALANCE_STOP => break,
                FG_BALANCE_NOW => {
                    let before = env.clock(self.here);
                    self.load_balance(env, sd, cpu, FG_CPU_NEWLY_IDLE);
                    self.world.newidled_domain(sd, walk, env.clock(self.here) - before);
                }
                _ => {}
            }
        }
    }

    /// _nohz_idle_balance: for each CPU whose tick is stopped, this one last; ends early if this one gets work.
    fn nohz_idle_balance(&mut self, env: &mut Env, cpu: usize, kick: u32, kind: u32) {
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
    fn newidle_blocked(&mut self, env: &mut Env, sd: usize) {
        let mut left = false;
        for cpu in self.world.sys().nohz_idle.and(&self.world.domains[sd].span).iter() {
            left |= self.nohz_update(env, cpu as usize);
        }
        self.world.nohz_stats_end(sd, left, env.jiffies());
    }
}

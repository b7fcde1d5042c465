//! The periodic pass (spec 6.1): ticks, softirq, the walk over the domains of a CPU.
//!
//! What is due, whose turn it is and what a pass leaves behind is the policy's (`policy/balance.c`, `policy/nohz.c`);
//! here are the walks in their order, what they cost, softirqs and IPIs. One file for each occasion:
//!
//! | module | what |
//! |---|---|
//! | this one | a CPU's turn |
//! | `newidle` | a CPU is about to idle |
//! | `nohz` | an idle CPU balances for those whose tick is stopped |
//! | `attempt` | one domain is balanced, in all three |
//! | `push` | the stopper moves what an attempt could not |

mod attempt;
mod newidle;
mod nohz;
mod push;

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::Env;

use crate::ffi::*;
use crate::Fair;

pub(crate) use push::PUSH_RULE;

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
    fn update_blocked(&mut self, env: &mut Env, cpu: usize) {
        self.clock(env, cpu);
        self.world.update_blocked_averages(cpu);
        self.ask_frequency(env, cpu);
        self.world.cpus[cpu].last_blocked = env.jiffies();
        self.tell_signals(env, cpu, None);
    }

    /// rebalance_domains, on behalf of `cpu`.
    fn rebalance_domains(&mut self, env: &mut Env, cpu: usize, kind: u32) {
        let mut walk = self.world.rebalance_begin(cpu, kind, env.jiffies());
        for at in 0..self.world.chain(cpu).len() {
            let sd = self.world.chain(cpu)[at];
            match self.world.rebalance_domain(sd, &mut walk) {
                FG_BALANCE_STOP => break,
                FG_BALANCE_NOW => {
                    let attempt = self.load_balance(env, sd, cpu, walk.kind);
                    if attempt.moved > 0 {
                        self.world.rebalance_again(cpu, &mut walk);
                    }
                    self.world.rebalanced_domain(sd, &mut walk, attempt.ours);
                }
                _ => {}
            }
        }
        self.world.rebalance_end(cpu, &walk);
    }
}

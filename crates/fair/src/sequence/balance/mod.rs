//! The passes of load balancing (spec 6.1): which domains of a CPU are balanced, when, and what an attempt does.
//!
//! The policy decides what is due and which CPU balances, and updates the state (`policy/balance.c`, `policy/nohz.c`).
//! Here are the loops over domains and CPUs, and their costs. One file for each kind of pass:
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

use fairground_machine::CpuId;

use super::{Host, RunQueues};
use crate::ffi::*;

/// What the end of a tick asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// The CPU's own domains: [`RunQueues::rebalance`].
    pub softirq: bool,
    /// An idle CPU is to balance for all of them, and why (`FG_NOHZ_*_KICK`): [`RunQueues::nohz_idle_balance`].
    pub ilb: Option<(CpuId, u32)>,
}

impl RunQueues {
    /// The end of a tick: trigger_load_balance and nohz_balancer_kick.
    pub fn balance_due<H: Host>(&mut self, host: &mut H, cpu: usize) -> Due {
        let jiffies = host.jiffies();
        self.world.update_idle_balance(cpu);
        if self.world.cpus[cpu].sd.is_null() {
            return Due { softirq: false, ilb: None };
        }
        let softirq = self.world.rebalance_due(cpu, jiffies);
        let ilb = match self.world.nohz_balancer_kick(cpu, jiffies) {
            FG_NOHZ_NO_KICK => None,
            kick => CpuId::try_from(self.world.kick_ilb(cpu, kick, jiffies)).ok().map(|balancer| (balancer, kick)),
        };
        Due { softirq, ilb }
    }

    /// run_rebalance_domains of a CPU that was not kicked.
    pub fn rebalance<H: Host>(&mut self, host: &mut H, cpu: usize) {
        let kind = self.world.rebalance_kind(cpu);
        self.update_blocked(host, cpu);
        self.rebalance_domains(host, cpu, kind);
    }

    /// update_blocked_averages of `cpu`, after an update of its clock.
    fn update_blocked<H: Host>(&mut self, host: &mut H, cpu: usize) {
        host.update_clock(&mut self.world, cpu);
        self.world.update_blocked_averages(cpu);
        self.request_frequency(host, cpu);
        self.world.cpus[cpu].last_blocked = host.jiffies();
        host.signals_updated(&self.world, cpu, None);
    }

    /// rebalance_domains, on behalf of `cpu`.
    fn rebalance_domains<H: Host>(&mut self, host: &mut H, cpu: usize, kind: u32) {
        let mut walk = FgBalanceWalk { jiffies: host.jiffies(), kind, ..FgBalanceWalk::zeroed() };
        self.world.rebalance_begin(cpu, &mut walk);
        for at in 0..self.world.chain(cpu).len() {
            let sd = self.world.chain(cpu)[at];
            match self.world.rebalance_domain(sd, &mut walk) {
                FG_BALANCE_STOP => break,
                FG_BALANCE_NOW => {
                    let attempt = self.load_balance(host, sd, cpu, walk.kind);
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

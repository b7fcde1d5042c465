//! What starts a balance pass in a simulation: the tick, the softirq, and the interrupt of another CPU.

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::{Env, Ipi};

use crate::ffi::*;
use crate::Fair;

impl Fair {
    /// The end of a tick: the softirq of this CPU, and an interrupt to the CPU that balances for idle ones.
    pub(crate) fn trigger_balance(&mut self, env: &mut Env, cpu: usize) {
        let due = self.queues.balance_due(&mut self.sim.on(env), cpu);
        if due.softirq {
            env.raise_balance(cpu as CpuId);
        }
        if let Some((balancer, kick)) = due.ilb {
            self.kick_ilb(env, balancer, kick);
        }
    }

    /// kick_ilb: an interrupt for the first kick that `balancer` has not taken yet.
    fn kick_ilb(&mut self, env: &mut Env, balancer: CpuId, kick: u32) {
        let pending = &mut self.sim.pending[balancer as usize].nohz_kick;
        let first = *pending == FG_NOHZ_NO_KICK;
        *pending |= kick;
        if first {
            env.send_ipi(balancer, Ipi::NohzKick);
        }
    }

    /// nohz_csd_func, on the CPU that was kicked.
    pub(crate) fn take_nohz_kick(&mut self, env: &mut Env, cpu: usize) {
        let kick = std::mem::take(&mut self.sim.pending[cpu].nohz_kick);
        if self.queues.world.update_idle_balance(cpu) && !self.queues.rqs[cpu].resched {
            self.sim.pending[cpu].nohz_pending = kick;
            env.raise_balance(cpu as CpuId);
        }
    }

    /// run_rebalance_domains: the load balancing softirq of a CPU.
    pub(crate) fn balance_softirq(&mut self, env: &mut Env, cpu: usize) {
        env.charge(cpu as CpuId, SoftCost::Balance, 1);
        let kick = std::mem::take(&mut self.sim.pending[cpu].nohz_pending);
        let kind = self.queues.world.rebalance_kind(cpu);
        if kick != FG_NOHZ_NO_KICK && kind == FG_CPU_IDLE {
            self.queues.nohz_idle_balance(&mut self.sim.on(env), cpu, kick, kind);
        } else {
            self.queues.rebalance(&mut self.sim.on(env), cpu);
        }
    }
}

//! What a recording does not contain: ticks, and the state that balance passes update (capacities, idle CPUs to scan,
//! overutilization, blocked load). Migrations are not computed; they are in the recording.

use fairground_machine::CpuId;

use super::ReplayedState;
use crate::ffi::*;

/// The most ticks carried out after a time without events: by then PELT signals have decayed to nothing.
const TICKS_MAX: u64 = 256;

impl ReplayedState {
    /// Carries out the ticks before `now`.
    pub(super) fn run_ticks(&mut self, now: u64) {
        let tick_ns = self.host.tick_ns;
        let last = now.saturating_sub(self.next_tick) / tick_ns;
        if last > TICKS_MAX {
            self.next_tick = self.next_tick.saturating_add((last - TICKS_MAX).saturating_mul(tick_ns));
        }
        while self.next_tick < now {
            self.host.now = self.host.now.max(self.next_tick);
            (0..self.queues.rqs.len()).for_each(|cpu| self.tick(cpu));
            match self.next_tick.checked_add(tick_ns) {
                Some(next) => self.next_tick = next,
                None => return,
            }
        }
    }

    /// The tick of a CPU. Idle CPUs are assumed to have stopped theirs.
    fn tick(&mut self, cpu: usize) {
        if self.queues.world.cpus[cpu].curr_is_idle != 0 {
            return;
        }
        self.clock(cpu);
        match self.queues.world.curr(cpu) {
            Some(_) => {
                self.queues.tick_fair(&mut self.host, cpu);
                self.reschedule(cpu);
            }
            None => self.queues.world.update_thermal(cpu),
        }
        self.queues.request_frequency(&mut self.host, cpu);
        self.balance(cpu);
    }

    /// The balance passes that a tick requests, carried out at once.
    fn balance(&mut self, cpu: usize) {
        let due = self.queues.balance_due(&mut self.host, cpu);
        self.begin_pass(cpu);
        if due.softirq {
            self.queues.rebalance(&mut self.host, cpu);
        }
        if let Some((balancer, kick)) = due.ilb {
            self.begin_pass(balancer as usize);
            self.queues.nohz_idle_balance(&mut self.host, balancer as usize, kick, FG_CPU_IDLE);
        }
    }

    /// Newidle balancing of a CPU.
    pub(super) fn newly_idle(&mut self, cpu: usize) {
        self.begin_pass(cpu);
        self.queues.newly_idle(&mut self.host, cpu);
    }

    fn begin_pass(&mut self, cpu: usize) {
        (self.host.here, self.host.looked_ns) = (cpu as CpuId, 0);
    }
}

//! Newly idle balancing (spec 6.9): a CPU with nothing left to run looks for work before it idles.

use fairground_machine::CpuId;

use super::super::{Host, RunQueues};
use crate::ffi::*;

impl RunQueues {
    /// newidle_balance. True: there is something to run after all. Else the CPU is ready to idle.
    pub fn newly_idle<H: Host>(&mut self, host: &mut H, cpu: usize) -> bool {
        self.world.update_misfit_status(cpu, None);
        self.world.enter_idle(cpu);
        if self.world.sys().active.test(cpu as CpuId) && !self.world.newidle_spared(cpu) {
            self.newidle_balance(host, cpu);
        }
        let found = self.has_work(cpu);
        match found {
            true => self.world.cpus[cpu].idle_stamp = 0,
            false => self.world.update_idle_core(cpu),
        }
        found
    }

    /// Something is queued, pulled or not.
    fn has_work(&self, cpu: usize) -> bool {
        self.world.cpus[cpu].nr_running > 0
    }

    fn newidle_balance<H: Host>(&mut self, host: &mut H, cpu: usize) {
        let mut walk = FgBalanceWalk { jiffies: host.jiffies(), ..FgBalanceWalk::zeroed() };
        self.world.newidle_begin(&mut walk);
        let open = self.world.newidle_gate(cpu, &mut walk);
        if open {
            self.update_blocked(host, cpu);
            self.newidle_domains(host, cpu, &mut walk);
        }
        if !self.has_work(cpu) && self.world.nohz_newidle_due(cpu, host.jiffies(), open) {
            // nohz_newidle_balance: it expects to idle for long.
            self.nohz_idle_balance(host, cpu, FG_NOHZ_STATS_KICK, FG_CPU_NEWLY_IDLE);
        }
        self.world.newidle_end(cpu, &walk);
    }

    fn newidle_domains<H: Host>(&mut self, host: &mut H, cpu: usize, walk: &mut FgBalanceWalk) {
        for at in 0..self.world.chain(cpu).len() {
            let sd = self.world.chain(cpu)[at];
            walk.dice = host.draw(&self.world, cpu);
            match self.world.newidle_domain(sd, cpu, walk) {
                FG_BALANCE_STOP => break,
                FG_BALANCE_NOW => {
                    let before = host.elapsed_ns();
                    walk.pulled = self.load_balance(host, sd, cpu, FG_CPU_NEWLY_IDLE).moved;
                    let cost = host.elapsed_ns() - before;
                    if self.world.newidled_domain(sd, cpu, walk, cost) == FG_BALANCE_STOP {
                        break;
                    }
                }
                _ => {}
            }
        }
    }
}

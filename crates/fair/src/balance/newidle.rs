//! Newly idle balancing (spec 6.9): a CPU with nothing left to run looks for work before it idles.

use fairground_sim::{draw, Env, Purpose};

use crate::ffi::*;
use crate::Fair;

impl Fair {
    /// newidle_balance. True: there is something to run after all. Else the CPU is ready to idle.
    pub(crate) fn newly_idle(&mut self, env: &mut Env, cpu: usize) -> bool {
        self.world.update_misfit_status(cpu, None);
        self.world.enter_idle(cpu);
        if !self.world.newidle_spared(cpu) {
            self.newidle_balance(env, cpu);
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

    fn newidle_balance(&mut self, env: &mut Env, cpu: usize) {
        let mut walk = self.world.newidle_begin(env.jiffies());
        let open = self.world.newidle_gate(cpu, &mut walk);
        if open {
            self.update_blocked(env, cpu);
            self.newidle_domains(env, cpu, &mut walk);
        }
        if !self.has_work(cpu) && self.world.nohz_newidle_due(cpu, env.jiffies(), open) {
            // nohz_newidle_balance: it expects to idle for long.
            self.nohz_idle_balance(env, cpu, FG_NOHZ_STATS_KICK, FG_CPU_NEWLY_IDLE);
        }
        self.world.newidle_end(cpu, &walk);
    }

    fn newidle_domains(&mut self, env: &mut Env, cpu: usize, walk: &mut FgBalanceWalk) {
        for at in 0..self.world.chain(cpu).len() {
            let sd = self.world.chain(cpu)[at];
            walk.dice = self.dice(env, cpu);
            match self.world.newidle_domain(sd, cpu, walk) {
                FG_BALANCE_STOP => break,
                FG_BALANCE_NOW => {
                    let before = env.clock(self.here);
                    walk.pulled = self.load_balance(env, sd, cpu, FG_CPU_NEWLY_IDLE).moved;
                    let cost = env.clock(self.here) - before;
                    if self.world.newidled_domain(sd, cpu, walk, cost) == FG_BALANCE_STOP {
                        break;
                    }
                }
                _ => {}
            }
        }
    }

    /// 0..1024, another one each time; not thrown where nobody looks at it.
    fn dice(&mut self, env: &Env, cpu: usize) -> u32 {
        if !self.features().on(FG_NI_RANDOM) {
            return 0;
        }
        let throws = &mut self.rqs[cpu].dice_thrown;
        *throws += 1;
        (draw(env.seed(), Purpose::NewIdle, cpu as u64, *throws) % 1024) as u32
    }
}

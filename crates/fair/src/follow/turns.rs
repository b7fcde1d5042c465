//! What happens by itself, and no recording tells: ticks, and what balancing learns while it looks (capacities, idle CPUs
//! to scan, overutilization, blocked load). Who is moved is for the recording to say.

use fairground_machine::CpuId;

use super::Follower;
use crate::ffi::*;
use crate::rt::is_rt;

/// Ticks that are made up for after a time in which nothing was recorded: signals have forgotten all that was before.
const TICKS_MAX: u64 = 256;

impl Follower {
    /// The ticks up to `now`.
    pub(super) fn run_until(&mut self, now: u64) {
        let last = now.saturating_sub(self.next_tick) / self.tick_ns;
        if last > TICKS_MAX {
            self.next_tick = self.next_tick.saturating_add((last - TICKS_MAX).saturating_mul(self.tick_ns));
        }
        while self.next_tick < now {
            self.now = self.now.max(self.next_tick);
            (0..self.world.cpus.len()).for_each(|cpu| self.tick(cpu));
            match self.next_tick.checked_add(self.tick_ns) {
                Some(next) => self.next_tick = next,
                None => return,
            }
        }
    }

    fn jiffies(&self) -> u64 {
        self.now / self.tick_ns
    }

    /// Of a CPU that has one: idle ones are taken to have stopped it.
    fn tick(&mut self, cpu: usize) {
        if self.world.cpus[cpu].curr_is_idle != 0 {
            return;
        }
        self.clock(cpu);
        match self.world.curr(cpu) {
            Some(task) if is_rt(self.world.task(task)) => {
                self.world.update_thermal(cpu);
                self.charge(cpu);
                self.world.update_rt(cpu, true);
            }
            Some(_) => {
                let over = self.charge(cpu);
                let left = self.queues[cpu].left();
                if self.world.entity_tick(cpu, left) || over {
                    self.drop_delayed(cpu);
                }
            }
            None => self.world.update_thermal(cpu),
        }
        self.world.take_frequency(cpu);
        self.turn(cpu);
    }

    /// The end of a tick: this CPU's domains, and those of the idle ones if it would have woken one for that.
    fn turn(&mut self, cpu: usize) {
        let jiffies = self.jiffies();
        self.world.update_idle_balance(cpu);
        if self.world.cpus[cpu].sd.is_null() {
            return;
        }
        if self.world.rebalance_due(cpu, jiffies) {
            self.update_blocked(cpu);
            let kind = self.world.rebalance_kind(cpu);
            self.look_around(cpu, kind);
        }
        let kick = self.world.nohz_balancer_kick(cpu, jiffies);
        let balancer = if kick == FG_NOHZ_NO_KICK { None } else { self.world.kick_ilb(cpu, kick, jiffies) };
        if let Some(balancer) = balancer {
            self.look_for_idle(balancer as usize, kick);
        }
    }

    fn update_blocked(&mut self, cpu: usize) {
        self.clock(cpu);
        self.world.update_blocked_averages(cpu);
        self.world.take_frequency(cpu);
        self.world.cpus[cpu].last_blocked = self.jiffies();
    }

    /// The domains of a CPU whose turn it is.
    fn look_around(&mut self, cpu: usize, kind: u32) {
        let mut walk = self.world.rebalance_begin(cpu, kind, self.jiffies());
        for at in 0..self.world.chain(cpu).len() {
            let sd = self.world.chain(cpu)[at];
            match self.world.rebalance_domain(sd, &mut walk) {
                FG_BALANCE_STOP => break,
                FG_BALANCE_NOW => {
                    let kind = walk.kind;
                    let (ours, _) = self.look(sd, cpu, kind);
                    self.world.rebalanced_domain(sd, &mut walk, ours);
                }
                _ => {}
            }
        }
        self.world.rebalance_end(cpu, &walk);
    }

    /// One look at a domain: whether it was for this CPU to do, and what it took, ns. What it found it is taken to have moved.
    fn look(&mut self, sd: usize, cpu: usize, kind: u32) -> (bool, u64) {
        let mut b = self.world.balance_begin(sd, cpu, kind, self.jiffies());
        if !self.world.should_we_balance(&b) {
            self.world.balance_not_ours(&b);
            return (false, 0);
        }
        if kind == FG_CPU_NEWLY_IDLE && self.world.newidle_stats() {
            self.bring_up_to_date(sd);
        }
        b.moved = u32::from(self.world.find_busiest(&mut b));
        self.world.balance_end(&mut b);
        (true, u64::from(b.group_cpus).saturating_mul(self.prices[cpu][1]))
    }

    /// For all CPUs without a tick.
    fn look_for_idle(&mut self, cpu: usize, kick: u32) {
        let mut walk = self.world.nohz_idle_begin(kick, FG_CPU_IDLE, self.jiffies());
        let stopped = self.world.sys().nohz_idle;
        let one_of = self.world.sys().feat.value[FG_ILB_ONE_OF] != 0;
        for other in stopped.iter_wrap(cpu as CpuId + 1).map(|c| c as usize).filter(|c| one_of || *c != cpu) {
            if !self.world.idle(other) {
                continue;
            }
            if kick & FG_NOHZ_STATS_KICK != 0 && self.world.nohz_stats_due(other, self.jiffies()) {
                self.update_blocked(other);
            }
            if self.world.nohz_idle_cpu(other, kick, &mut walk) {
                self.clock(other);
                self.look_around(other, FG_CPU_IDLE);
            }
            self.world.nohz_idled_cpu(other, &mut walk);
        }
        self.world.nohz_idle_others_end(&walk);
        if !one_of {
            if kick & FG_NOHZ_STATS_KICK != 0 {
                self.update_blocked(cpu);
            }
            if self.world.nohz_idle_self(cpu, kick, &mut walk) {
                self.look_around(cpu, FG_CPU_IDLE);
            }
        }
        self.world.nohz_idle_end(kick, &walk);
    }

    /// Blocked load of the idle CPUs of a domain.
    fn bring_up_to_date(&mut self, sd: usize) {
        let mut left = false;
        for cpu in self.world.sys().nohz_idle.and(&self.world.domains[sd].span).iter() {
            let cpu = cpu as usize;
            if self.world.nohz_stats_due(cpu, self.jiffies()) {
                self.update_blocked(cpu);
            }
            left |= self.world.cpus[cpu].has_blocked_load != 0;
        }
        self.world.nohz_stats_end(sd, left, self.jiffies());
    }

    /// What a CPU learns on its way to idle.
    pub(super) fn newly_idle(&mut self, cpu: usize) {
        self.world.update_misfit_status(cpu, None);
        self.world.enter_idle(cpu);
        if !self.world.newidle_spared(cpu) {
            let mut walk = self.world.newidle_begin(self.jiffies());
            if self.world.newidle_gate(cpu, &mut walk) {
                self.update_blocked(cpu);
                self.newly_idle_domains(cpu, &mut walk);
            }
            self.world.newidle_end(cpu, &walk);
        }
        self.world.update_idle_core(cpu);
    }

    fn newly_idle_domains(&mut self, cpu: usize, walk: &mut FgBalanceWalk) {
        for at in 0..self.world.chain(cpu).len() {
            let sd = self.world.chain(cpu)[at];
            match self.world.newidle_domain(sd, cpu, walk) {
                FG_BALANCE_STOP => break,
                FG_BALANCE_NOW => {
                    let (_, cost) = self.look(sd, cpu, FG_CPU_NEWLY_IDLE);
                    if self.world.newidled_domain(sd, cpu, walk, cost) == FG_BALANCE_STOP {
                        break;
                    }
                }
                _ => {}
            }
        }
    }
}

//! The periodic pass, newly idle balancing and NOHZ idle balancing (spec 6.1, 6.9, 6.10) without moving a task.
//!
//! Everything around the move is there: who balances which domain when, group capacities, blocked averages, the root
//! domain's flags, next_balance, the price of it. A pass ends as if it had found the domain balanced.
//!
//! DEVIATION: nothing is pulled, so no domain is ever found imbalanced: nr_balance_failed stays 0 and every interval
//! doubles to its maximum, where the kernel resets it to its minimum whenever it moved a task.

use fairground_machine::{CpuId, CpuMask, SoftCost};
use fairground_sim::{Env, Ipi};

use crate::ffi::*;
use crate::Fair;

/// nohz: how often blocked load of idle CPUs is looked at, ms (LOAD_AVG_PERIOD).
const BLOCKED_PERIOD_MS: u64 = 32;
/// The floor of max_idle_balance_cost: sysctl_sched_migration_cost, ns.
const MIGRATION_COST_NS: u64 = 500_000;
/// fg_nohz_kick: statistics only, balance too.
const KICK_STATS: u32 = 1;
const KICK_BALANCE: u32 = 2;

impl Fair {
    /// idle(c) of spec 0.
    fn is_idle(&self, cpu: usize) -> bool {
        let rq = &self.world.cpus[cpu];
        rq.curr_is_idle != 0 && rq.nr_running == 0 && rq.ttwu_pending == 0
    }

    /// sidle(c) of spec 0.
    pub(crate) fn is_sched_idle(&self, cpu: usize) -> bool {
        let rq = &self.world.cpus[cpu];
        rq.nr_running > 0 && rq.nr_running == rq.idle_h_nr_running
    }

    /// The end of a tick: trigger_load_balance and nohz_balancer_kick.
    pub(crate) fn trigger_balance(&mut self, env: &mut Env, cpu: usize) {
        let idle = self.is_idle(cpu);
        let jiffies = env.jiffies();
        let rq = &mut self.world.cpus[cpu];
        rq.idle_balance = u8::from(idle);
        if rq.sd.is_null() {
            return;
        }
        if jiffies >= rq.next_balance {
            env.raise_balance(cpu as CpuId);
        }
        if idle {
            return;
        }
        self.nohz_exit_idle(cpu);
        match self.world.nohz_kick(cpu, jiffies) {
            0 => {}
            kick => self.kick_idle_balancer(env, cpu, kick),
        }
    }

    /// kick_ilb: an idle CPU is to balance for all of them.
    fn kick_idle_balancer(&mut self, env: &mut Env, cpu: usize, kick: u32) {
        let jiffies = env.jiffies();
        let sys = self.world.sys_mut();
        if kick == KICK_BALANCE {
            sys.nohz_next_balance = jiffies + 1;
        }
        let idle = sys.nohz_idle;
        let Some(balancer) = idle.iter().find(|c| *c as usize != cpu && self.is_idle(*c as usize)) else { return };
        let asked = &mut self.rqs[balancer as usize].nohz_kick;
        let first = *asked == 0;
        *asked = (*asked).max(kick);
        if first {
            env.send_ipi(balancer, Ipi::NohzKick);
        }
    }

    /// nohz_csd_func, on the CPU that was asked.
    pub(crate) fn take_nohz_kick(&mut self, env: &mut Env, cpu: usize) {
        let kick = std::mem::take(&mut self.rqs[cpu].nohz_kick);
        let idle = self.is_idle(cpu);
        self.world.cpus[cpu].idle_balance = u8::from(idle);
        if idle && !self.rqs[cpu].resched {
            self.rqs[cpu].nohz_pending = kick;
            env.raise_balance(cpu as CpuId);
        }
    }

    /// nohz_balance_enter_idle.
    pub(crate) fn nohz_enter_idle(&mut self, cpu: usize) {
        let rq = &mut self.world.cpus[cpu];
        if rq.sd.is_null() {
            return;
        }
        rq.has_blocked_load = 1;
        let entered = std::mem::replace(&mut rq.tick_stopped, 1) == 0;
        let sys = self.world.sys_mut();
        sys.nohz_has_blocked = 1;
        if !entered {
            return;
        }
        sys.nohz_idle.set(cpu as CpuId);
        sys.nohz_nr_cpus += 1;
        if let Some(llc) = self.world.llc(cpu) {
            llc.nr_busy_cpus -= 1;
        }
    }

    /// nohz_balance_exit_idle, at the first busy tick.
    fn nohz_exit_idle(&mut self, cpu: usize) {
        if std::mem::take(&mut self.world.cpus[cpu].tick_stopped) == 0 {
            return;
        }
        let sys = self.world.sys_mut();
        sys.nohz_idle.clear(cpu as CpuId);
        sys.nohz_nr_cpus -= 1;
        if let Some(llc) = self.world.llc(cpu) {
            llc.nr_busy_cpus += 1;
        }
    }

    /// run_rebalance_domains.
    pub(crate) fn balance_softirq(&mut self, env: &mut Env, cpu: usize) {
        env.charge(cpu as CpuId, SoftCost::Balance, 1);
        let kick = std::mem::take(&mut self.rqs[cpu].nohz_pending);
        let kind = if self.world.cpus[cpu].idle_balance != 0 { FG_CPU_IDLE } else { FG_CPU_NOT_IDLE };
        if kick != 0 && kind == FG_CPU_IDLE {
            self.nohz_idle_balance(env, cpu, kick, kind);
            return;
        }
        self.update_blocked(env, cpu);
        self.balance_domains(env, cpu, kind);
    }

    /// update_blocked_averages.
    fn update_blocked(&mut self, env: &Env, cpu: usize) {
        self.clock(env, cpu);
        self.world.update_blocked_averages(cpu);
        self.world.cpus[cpu].last_blocked = env.jiffies();
    }

    /// _nohz_idle_balance: for each CPU whose tick is stopped, this one last; ends early if this one gets work.
    fn nohz_idle_balance(&mut self, env: &mut Env, cpu: usize, kick: u32, kind: u32) {
        let jiffies = env.jiffies();
        self.world.sys_mut().nohz_has_blocked = 0;
        let mut next_balance = u64::MAX;
        let mut blocked = false;
        let idle = self.world.sys().nohz_idle;
        for other in idle.iter_wrap(cpu as CpuId + 1).filter(|c| *c as usize != cpu) {
            if !self.is_idle(other as usize) {
                continue;
            }
            if self.rqs[cpu].resched {
                self.world.sys_mut().nohz_has_blocked = 1;
                return;
            }
            blocked |= self.nohz_update(env, other as usize);
            if kick == KICK_BALANCE && jiffies >= self.world.cpus[other as usize].next_balance {
                self.balance_domains(env, other as usize, FG_CPU_IDLE);
            }
            next_balance = next_balance.min(self.world.cpus[other as usize].next_balance);
        }
        // Before its own domains, which may pull it in (5.9; a round cut short says nothing about it).
        if next_balance != u64::MAX {
            self.world.sys_mut().nohz_next_balance = next_balance;
        }
        if kind != FG_CPU_NEWLY_IDLE {
            self.update_blocked(env, cpu);
            blocked |= self.world.cpus[cpu].has_blocked_load != 0;
        }
        if kick == KICK_BALANCE {
            self.balance_domains(env, cpu, FG_CPU_IDLE);
        }
        self.nohz_looked(jiffies);
        if blocked {
            self.world.sys_mut().nohz_has_blocked = 1;
        }
    }

    /// The blocked load of idle CPUs is up to date; next time in 32 ms.
    fn nohz_looked(&mut self, jiffies: u64) {
        let sys = self.world.sys_mut();
        sys.nohz_next_blocked = jiffies + ms_to_jiffies(sys.hz, BLOCKED_PERIOD_MS);
    }

    /// update_nohz_stats: the blocked load of an idle CPU, at most once a jiffy; whether some is left.
    fn nohz_update(&mut self, env: &mut Env, cpu: usize) -> bool {
        let rq = &self.world.cpus[cpu];
        if rq.has_blocked_load == 0 {
            return false;
        }
        if env.jiffies() > rq.last_blocked {
            env.charge(self.here, SoftCost::GroupCpu, 1);
            self.update_blocked(env, cpu);
        }
        self.world.cpus[cpu].has_blocked_load != 0
    }

    /// rebalance_domains, on behalf of `cpu`.
    fn balance_domains(&mut self, env: &mut Env, cpu: usize, kind: u32) {
        let jiffies = env.jiffies();
        let busy = kind != FG_CPU_IDLE && !self.is_sched_idle(cpu);
        let mut next_balance = jiffies + 60 * u64::from(env.hz());
        let (mut balancing, mut decayed, mut costs, mut found) = (true, false, 0, false);
        for sd in self.world.chain(cpu).iter().copied() {
            decayed |= self.decay_newidle_cost(sd, jiffies, env.hz());
            costs += self.world.domains[sd].max_newidle_lb_cost;
            if !balancing {
                if decayed {
                    continue;
                }
                break;
            }
            let interval = self.world.balance_interval(sd, busy);
            if jiffies >= self.world.domains[sd].last_balance + interval {
                balancing = self.balance_domain(env, sd, cpu, kind);
                self.world.domains[sd].last_balance = jiffies;
            }
            let interval = self.world.balance_interval(sd, busy);
            next_balance = next_balance.min(self.world.domains[sd].last_balance + interval);
            found = true;
        }
        let rq = &mut self.world.cpus[cpu];
        if decayed {
            rq.max_idle_balance_cost = MIGRATION_COST_NS.max(costs);
        }
        if found {
            rq.next_balance = next_balance;
            let sys = self.world.sys_mut();
            if kind == FG_CPU_IDLE && sys.nohz_next_balance > next_balance {
                sys.nohz_next_balance = next_balance;
            }
        }
    }

    /// Once a second a domain forgets a hundredth of what newly idle balancing cost.
    fn decay_newidle_cost(&mut self, sd: usize, jiffies: u64, hz: u32) -> bool {
        let sd = &mut self.world.domains[sd];
        if jiffies <= sd.next_decay {
            return false;
        }
        sd.max_newidle_lb_cost = sd.max_newidle_lb_cost * 253 / 256;
        sd.next_decay = jiffies + u64::from(hz);
        true
    }

    /// load_balance up to the point where it would look for something to move, then the end of a balanced one.
    /// False: another CPU balances this domain.
    fn balance_domain(&mut self, env: &mut Env, sd: usize, cpu: usize, kind: u32) -> bool {
        let ours = self.world.should_we_balance(sd, cpu, kind);
        if ours {
            self.update_statistics(env, sd, cpu, kind);
        }
        // out_balanced: whoever leaves the domain to another CPU takes this way too.
        let sd = &mut self.world.domains[sd];
        sd.nr_balance_failed = 0;
        if kind != FG_CPU_NEWLY_IDLE && sd.balance_interval < sd.max_interval {
            sd.balance_interval *= 2;
        }
        ours
    }

    /// update_sd_lb_stats: capacities of the local group, the root domain's flags.
    fn update_statistics(&mut self, env: &mut Env, sd: usize, cpu: usize, kind: u32) {
        let jiffies = env.jiffies();
        env.charge(self.here, SoftCost::GroupCpu, self.world.domains[sd].weight);
        if kind != FG_CPU_NEWLY_IDLE || jiffies >= self.world.local_group(sd).next_update {
            self.world.update_group_capacity(sd, cpu, jiffies);
        }
        let span = self.world.domains[sd].span;
        if kind == FG_CPU_NEWLY_IDLE {
            self.newidle_blocked(env, &span);
        }
        let top = self.world.domains[sd].parent.is_null();
        let overutilized = span.iter().any(|c| self.world.cpu_overutilized(c as usize));
        let overload = top && self.overloaded(sd);
        let root = self.world.root(cpu);
        if top {
            root.overload = u32::from(overload);
            root.overutilized = u32::from(overutilized);
        } else if overutilized {
            root.overutilized = 1;
        }
    }

    /// SG_OVERLOAD: some CPU of the domain has more than one task, or one of another group has a misfit (spec 6.3).
    fn overloaded(&self, sd: usize) -> bool {
        let domain = &self.world.domains[sd];
        let asym = domain.flags & FG_SD_ASYM_CPUCAPACITY != 0;
        let local = self.world.local_group(sd).span;
        domain.span.iter().any(|c| {
            let rq = &self.world.cpus[c as usize];
            rq.nr_running > 1 || (asym && rq.misfit_task_load > 0 && !local.test(c) && !self.is_idle(c as usize))
        })
    }

    /// LBF_NOHZ_STATS: newly idle balancing brings the blocked load of the idle CPUs it looks at up to date.
    fn newidle_blocked(&mut self, env: &mut Env, span: &CpuMask) {
        let sys = self.world.sys();
        if sys.nohz_has_blocked == 0 {
            return;
        }
        let idle = sys.nohz_idle;
        let mut left = false;
        for cpu in idle.and(span).iter() {
            left |= self.nohz_update(env, cpu as usize);
        }
        if left && idle.is_subset(span) {
            self.nohz_looked(env.jiffies());
        }
    }

    /// newidle_balance and the rest of going idle.
    pub(crate) fn newly_idle(&mut self, env: &mut Env, cpu: usize) {
        let jiffies = env.jiffies();
        self.world.update_misfit_status(cpu, None);
        self.world.enter_idle(cpu);
        let mut next_balance = jiffies + u64::from(env.hz());
        if self.world.newidle_gate(cpu) {
            self.update_blocked(env, cpu);
            self.newidle_domains(env, cpu, &mut next_balance);
        } else {
            if let Some(sd) = self.world.chain(cpu).first().copied() {
                self.pull_in_next_balance(sd, &mut next_balance);
            }
            self.nohz_newidle(env, cpu);
        }
        let rq = &mut self.world.cpus[cpu];
        rq.next_balance = rq.next_balance.min(next_balance);
        self.world.update_idle_core(cpu);
    }

    fn newidle_domains(&mut self, env: &mut Env, cpu: usize, next_balance: &mut u64) {
        let mut spent = 0;
        for sd in self.world.chain(cpu).iter().copied() {
            let expected = spent + self.world.domains[sd].max_newidle_lb_cost;
            if self.world.cpus[cpu].avg_idle < expected {
                self.pull_in_next_balance(sd, next_balance);
                break;
            }
            if self.world.domains[sd].flags & FG_SD_BALANCE_NEWIDLE != 0 {
                let before = env.clock(self.here);
                self.balance_domain(env, sd, cpu, FG_CPU_NEWLY_IDLE);
                let cost = env.clock(self.here) - before;
                let max = &mut self.world.domains[sd].max_newidle_lb_cost;
                *max = (*max).max(cost);
                spent += cost;
            }
            self.pull_in_next_balance(sd, next_balance);
        }
        let max = &mut self.world.cpus[cpu].max_idle_balance_cost;
        *max = (*max).max(spent);
    }

    /// update_next_balance.
    fn pull_in_next_balance(&mut self, sd: usize, next_balance: &mut u64) {
        let interval = self.world.balance_interval(sd, false);
        *next_balance = (*next_balance).min(self.world.domains[sd].last_balance + interval);
    }

    /// nohz_newidle_balance: a CPU that expects to idle for long brings the others' blocked load up to date.
    fn nohz_newidle(&mut self, env: &mut Env, cpu: usize) {
        let rq = &self.world.cpus[cpu];
        let sys = self.world.sys();
        let due = sys.nohz_has_blocked != 0 && env.jiffies() >= sys.nohz_next_blocked;
        if !rq.sd.is_null() && rq.avg_idle >= MIGRATION_COST_NS && due {
            self.nohz_idle_balance(env, cpu, KICK_STATS, FG_CPU_NEWLY_IDLE);
        }
    }
}

fn ms_to_jiffies(hz: u32, ms: u64) -> u64 {
    (ms * u64::from(hz)).div_ceil(1000)
}

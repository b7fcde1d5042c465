//! A walk over the domains of a CPU on the state of a real kernel: which of them are due, and what the walk leaves
//! behind. What each attempt moved and cost is the kernel's; attempts are judged by themselves.

use fairground_machine::CpuId;

use super::PolicySandbox;
use crate::ffi::*;

/// An attempt that the kernel made within a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassOfWalk {
    /// Index of its domain, the lowest first.
    pub domain: usize,
    /// Number of tasks that it moved.
    pub moved: u32,
    /// Whether it was this CPU's turn.
    pub ours: bool,
    /// What it cost, ns of the kernel's clock.
    pub cost: u64,
    /// Tasks of all classes on the CPU after it.
    pub nr_running: u32,
    /// Fair tasks on it that are SCHED_IDLE.
    pub nr_sched_idle: u32,
    /// A remote wakeup is on its way to the CPU after it.
    pub ttwu_pending: bool,
    /// `balance_interval` of the domain after it, ms.
    pub balance_interval: u32,
    /// Whether the CPU is idle after it.
    pub idle: bool,
}

/// A walk of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkInput {
    /// The CPU whose domains they are.
    pub cpu: CpuId,
    /// Its idle type: one of `FG_CPU_*`.
    pub kind: u32,
    /// The kernel's `jiffies`.
    pub jiffies: u64,
    /// Its attempts, in its order.
    pub passes: Vec<PassOfWalk>,
}

/// Which domains our walk balances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkResult {
    /// Indices of the domains, in our order.
    pub domains: Vec<usize>,
}

impl PolicySandbox {
    /// Carries out a walk on the sandbox's state and changes it: the CPU, its domains, and the turns of idle CPUs. The
    /// state of the CPU follows the kernel's passes.
    pub fn walk(&mut self, input: &WalkInput) -> WalkResult {
        match input.kind {
            FG_CPU_NEWLY_IDLE => self.newidle_walk(input),
            _ => self.periodic_walk(input),
        }
    }

    /// The CPU and the domain as the kernel's pass over it has left them; an empty pass if it made none there.
    fn take_pass(&mut self, input: &WalkInput, domain: usize) -> PassOfWalk {
        let cpu = input.cpu as usize;
        let Some(pass) = input.passes.iter().find(|pass| pass.domain == domain).copied() else {
            let rq = &self.queues.world.cpus[cpu];
            let (nr_running, nr_sched_idle) = (rq.nr_running, rq.idle_h_nr_running);
            let ttwu_pending = rq.ttwu_pending != 0;
            let balance_interval = self.domain_mut(input.cpu, domain).balance_interval;
            let idle = self.queues.world.idle_rq(cpu);
            return PassOfWalk {
                domain,
                moved: 0,
                ours: true,
                cost: 0,
                nr_running,
                nr_sched_idle,
                ttwu_pending,
                balance_interval,
                idle,
            };
        };
        let rq = &mut self.queues.world.cpus[cpu];
        (rq.nr_running, rq.idle_h_nr_running) = (pass.nr_running, pass.nr_sched_idle);
        rq.ttwu_pending = u8::from(pass.ttwu_pending);
        rq.curr_is_idle = u8::from(pass.idle || input.kind == FG_CPU_NEWLY_IDLE);
        self.domain_mut(input.cpu, domain).balance_interval = pass.balance_interval;
        pass
    }

    fn newidle_walk(&mut self, input: &WalkInput) -> WalkResult {
        let cpu = input.cpu as usize;
        let mut result = WalkResult::default();
        // A task is on its way: the kernel's function returns at once.
        if self.queues.world.newidle_spared(cpu) {
            return result;
        }
        let mut walk = FgBalanceWalk { jiffies: input.jiffies, ..FgBalanceWalk::zeroed() };
        self.queues.world.newidle_begin(&mut walk);
        let open = self.queues.world.newidle_gate(cpu, &mut walk);
        for at in 0..if open { self.nr_domains(input.cpu) } else { 0 } {
            let sd = self.queues.world.chain(cpu)[at];
            // NI_RANDOM draws by itself: a domain that the kernel balances has won.
            walk.dice = if input.passes.iter().any(|pass| pass.domain == at) { 0 } else { u32::MAX };
            match self.queues.world.newidle_domain(sd, cpu, &mut walk) {
                FG_BALANCE_STOP => break,
                FG_BALANCE_NOW => {
                    result.domains.push(at);
                    let pass = self.take_pass(input, at);
                    walk.pulled = pass.moved;
                    if self.queues.world.newidled_domain(sd, cpu, &mut walk, pass.cost) == FG_BALANCE_STOP {
                        break;
                    }
                }
                _ => {}
            }
        }
        self.queues.world.newidle_end(cpu, &walk);
        result
    }

    fn periodic_walk(&mut self, input: &WalkInput) -> WalkResult {
        let cpu = input.cpu as usize;
        let mut result = WalkResult::default();
        let mut walk = FgBalanceWalk { jiffies: input.jiffies, kind: input.kind, ..FgBalanceWalk::zeroed() };
        self.queues.world.rebalance_begin(cpu, &mut walk);
        for at in 0..self.nr_domains(input.cpu) {
            let sd = self.queues.world.chain(cpu)[at];
            match self.queues.world.rebalance_domain(sd, &mut walk) {
                FG_BALANCE_STOP => break,
                FG_BALANCE_NOW => {
                    result.domains.push(at);
                    let pass = self.take_pass(input, at);
                    if pass.moved > 0 {
                        self.queues.world.rebalance_again(cpu, &mut walk);
                    }
                    self.queues.world.rebalanced_domain(sd, &mut walk, pass.ours);
                }
                _ => {}
            }
        }
        self.queues.world.rebalance_end(cpu, &walk);
        result
    }
}

#[cfg(test)]
mod tests {
    use fairground_machine::{CpuMask, Machine};

    use super::*;
    use crate::Features;

    /// Four CPUs behind one cache; CPU 0 is about to idle for long, and something waits elsewhere.
    fn newly_idle(features: &str) -> PolicySandbox {
        let mut machine = Machine::symmetric(4);
        machine.llcs = vec![CpuMask::first_n(4)];
        let mut shown = PolicySandbox::new(&machine, &Features::parse(features).unwrap(), 250).unwrap();
        shown.root_mut(0).overload = 1;
        shown.cpu_mut(0).avg_idle = 1_000_000;
        shown
    }

    fn pass(moved: u32, cost: u64) -> PassOfWalk {
        PassOfWalk {
            domain: 0,
            moved,
            ours: true,
            cost,
            nr_running: moved,
            nr_sched_idle: 0,
            ttwu_pending: false,
            balance_interval: 4,
            idle: moved == 0,
        }
    }

    #[test]
    fn a_cpu_to_which_a_task_is_on_its_way_looks_at_no_domain() {
        for (pending, skipped, is_moved) in [(1, 0, false), (0, 1, true)] {
            let mut shown = newly_idle("fair:v7.3");
            (shown.cpu_mut(0).ttwu_pending, shown.cpu_mut(0).next_balance) = (pending, u64::MAX);
            let input = WalkInput { cpu: 0, kind: FG_CPU_NEWLY_IDLE, jiffies: 100, passes: Vec::new() };
            let before = shown.domain_mut(0, 0).newidle_call;
            assert!(shown.walk(&input).domains.is_empty());
            assert_eq!(shown.domain_mut(0, 0).newidle_call - before, skipped, "pending {pending}");
            assert_eq!(shown.cpu_mut(0).next_balance < u64::MAX, is_moved, "pending {pending}");
        }
    }

    #[test]
    fn a_newly_idle_walk_remembers_what_its_passes_cost() {
        let mut shown = newly_idle("fair:v6.12");
        let input = WalkInput { cpu: 0, kind: FG_CPU_NEWLY_IDLE, jiffies: 100, passes: vec![pass(0, 5_000)] };
        assert_eq!(shown.walk(&input).domains, [0]);
        assert_eq!(shown.domain_mut(0, 0).max_newidle_lb_cost, 5_000);
        // Closed: nothing is overloaded.
        let mut shown = newly_idle("fair:v6.12");
        shown.root_mut(0).overload = 0;
        assert_eq!(shown.walk(&input).domains, [0_usize; 0]);
        assert_eq!(shown.domain_mut(0, 0).max_newidle_lb_cost, 0);
    }

    #[test]
    fn a_periodic_walk_sets_the_next_turn_by_who_is_busy_then() {
        let next_balance = |moved| {
            let mut shown = newly_idle("fair:v6.12");
            shown.domain_mut(0, 0).balance_interval = 4;
            let input = WalkInput { cpu: 0, kind: FG_CPU_IDLE, jiffies: 100, passes: vec![pass(moved, 0)] };
            assert_eq!(shown.walk(&input).domains, [0]);
            assert_eq!(shown.domain_mut(0, 0).last_balance, 100);
            shown.cpu_mut(0).next_balance - 100
        };
        // 4 ms are a jiffy; a busy CPU waits 16 times as long, less one.
        assert_eq!((next_balance(0), next_balance(1)), (1, 15));
    }
}

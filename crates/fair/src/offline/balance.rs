//! One attempt to balance a domain on the state of a real kernel: load_balance and active balance as simulations run
//! them, on the kernel's queues.

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::{MigrateCause, TaskId};

use super::PolicySandbox;
use crate::ffi::*;
use crate::rules;
use crate::sequence::{Host, RunQueues, Source};
use crate::world::World;

/// The arguments of an attempt to balance a domain (load_balance).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BalanceInput {
    /// The destination CPU, which balances or for which another CPU does.
    pub cpu: CpuId,
    /// Index of one of its domains, the lowest first.
    pub domain: usize,
    /// Idle type of the CPU, the kernel's cpu_idle_type: one of `FG_CPU_*`.
    pub kind: u32,
    /// The kernel's `jiffies`: ticks since boot, CONFIG_HZ of them a second.
    pub jiffies: u64,
    /// The queues from which the kernel pulled, in its order: the only ones whose tasks are known.
    pub sources: Vec<SourceQueue>,
    /// The stopper that the pass woke is on the wake list of its CPU, which counts it later. A wakeup decides that, not
    /// the pass; 6.12 puts no stopper there.
    pub stopper_is_listed: bool,
}

/// A queue from which tasks may be pulled or pushed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceQueue {
    /// The CPU of the queue.
    pub cpu: CpuId,
    /// ns: the time that its clock is updated to.
    pub clock: u64,
    /// ns: interrupt time of the CPU by then.
    pub irq_ns: u64,
    /// Its fair tasks in the order in which detach_tasks goes through cfs_tasks.
    pub tasks: Vec<u32>,
}

/// A step of an attempt to balance a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A busiest group was found.
    Found {
        /// The lowest CPU of the busiest group.
        group: CpuId,
        /// The CPU of the group's busiest queue; none: the group has no queue to pull from.
        src: Option<CpuId>,
        /// What is moved, the kernel's migration_type: one of `FG_MIGRATE_*`.
        migration: u32,
        /// The amount to be moved, in units of `migration`.
        imbalance: i64,
    },
    /// A task was detached.
    Detached {
        /// Number of the task that was detached.
        task: u32,
        /// CPU whose queue it leaves (`src_cpu`).
        from: CpuId,
        /// CPU that it moves to (`dst_cpu`).
        to: CpuId,
    },
}

/// The result of an attempt to balance a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BalanceResult {
    /// False: another CPU balances this domain.
    pub ours: bool,
    /// What the attempt did, in the kernel's order.
    pub moves: Vec<Move>,
    /// The source's stopper was asked to push its current task.
    pub active: bool,
    /// How the first find_busiest_group ended: a name of `balance_rules.h`.
    pub rule: &'static str,
}

/// Host of the sequences over the queues read from a kernel. Work costs nothing: the kernel's clock does not advance.
struct SandboxHost<'a> {
    jiffies: u64,
    /// Sources that were not chosen yet.
    sources: std::slice::Iter<'a, SourceQueue>,
    /// The source chosen last.
    source: Option<&'a SourceQueue>,
    stopper_is_listed: bool,
    result: BalanceResult,
}

impl<'a> SandboxHost<'a> {
    fn new(jiffies: u64, sources: &'a [SourceQueue]) -> SandboxHost<'a> {
        let result = BalanceResult::default();
        SandboxHost { jiffies, sources: sources.iter(), source: None, stopper_is_listed: false, result }
    }
}

impl Host for SandboxHost<'_> {
    fn update_clock(&mut self, world: &mut World, cpu: usize) {
        let Some(source) = self.source else { return };
        let irq_ns = if source.cpu as usize == cpu { source.irq_ns } else { world.cpus[cpu].prev_irq_ns };
        world.update_rq_clock(cpu, source.clock, irq_ns);
    }

    fn jiffies(&self) -> u64 {
        self.jiffies
    }

    fn charge(&mut self, _work: SoftCost, _n: u32) {}

    fn elapsed_ns(&self) -> u64 {
        0
    }

    fn migrated(&mut self, task: TaskId, from: CpuId, to: CpuId, _cause: MigrateCause) {
        self.result.moves.push(Move::Detached { task, from, to });
    }

    fn balance_looked(&mut self, world: &World, b: &FgBalance, found: bool) {
        if self.result.rule.is_empty() {
            self.result.rule = rule_name(b.rule);
        }
        // A search that ends as balanced may have had a candidate for the busiest group.
        let has_group = found || b.rule == FG_BALANCE_RULE_NO_QUEUE;
        if let Some(group) = world.busiest_group(b).filter(|_| has_group) {
            let src = CpuId::try_from(b.src_cpu).ok().filter(|_| found);
            self.result.moves.push(Move::Found { group, src, migration: b.migration, imbalance: b.imbalance });
        }
    }

    fn balance_source(&mut self, rqs: &mut RunQueues, b: &FgBalance) -> Source {
        // The kernel does not go through the tasks of a queue with one task or none.
        if rqs.world.cpus[b.src_cpu as usize].nr_running <= 1 {
            return Source::Pull;
        }
        let Some(source) = self.sources.next().filter(|source| source.cpu as i32 == b.src_cpu) else {
            return Source::Unknown;
        };
        // A task that may not run on dst_cpu goes to another CPU of its group (LBF_DST_PINNED).
        let all = 0..rqs.world.cpus.len() as CpuId;
        fill(rqs, source, all);
        self.source = Some(source);
        Source::Pull
    }

    fn balance_pulled(&mut self, _moved: u32, active: bool) {
        self.result.active = active;
    }

    /// Counts the stopper on its queue, unless it is not there yet.
    fn push_requested(&mut self, world: &mut World, cpu: usize) {
        if !self.stopper_is_listed {
            world.add_nr_running(cpu);
        }
    }
}

/// Queues the tasks of a source, and the groups there and on possible destinations; nothing else is queued anywhere.
fn fill(rqs: &mut RunQueues, source: &SourceQueue, destinations: impl IntoIterator<Item = CpuId>) {
    let cpu = source.cpu as usize;
    rqs.clear();
    for cpu in std::iter::once(source.cpu).chain(destinations.into_iter().filter(|dst| *dst != source.cpu)) {
        rqs.fill_groups(cpu as usize);
    }
    let curr = rqs.world.curr(cpu);
    for task in &source.tasks {
        rqs.cfs_tasks.add(cpu, *task);
        if curr != Some(*task) {
            rqs.insert_if_queued(cpu, *task);
        }
    }
}

impl PolicySandbox {
    /// Carries out an attempt on the sandbox's state and changes it. Ends early if the policy chooses a source that is
    /// not among [`BalanceInput::sources`].
    pub fn balance(&mut self, input: &BalanceInput) -> BalanceResult {
        let sd = self.queues.world.chain(input.cpu as usize)[input.domain];
        let mut host = SandboxHost::new(input.jiffies, &input.sources);
        host.stopper_is_listed = input.stopper_is_listed;
        self.queues.clear();
        let attempt = self.queues.load_balance(&mut host, sd, input.cpu as usize, input.kind);
        let mut result = host.result;
        result.ours = attempt.ours;
        if result.rule.is_empty() {
            result.rule = rule_name(FG_BALANCE_RULE_NOT_OURS);
        }
        result
    }

    /// Active balance: the task that the stopper of a queue's CPU pushes away (`active` in `policy/fg.h`). Changes the
    /// sandbox's state: the task is on the other CPU, the failures of the domain are reset, and the stopper may be
    /// asked again.
    pub fn push(&mut self, source: &SourceQueue) -> Option<Move> {
        // Active balance reads no task load, so the jiffies do not matter.
        let mut host = SandboxHost::new(0, &[]);
        host.source = Some(source);
        let dst = CpuId::try_from(self.queues.world.cpus[source.cpu as usize].push_cpu).ok();
        let nr_cpus = self.nr_cpus();
        fill(&mut self.queues, source, dst.filter(|dst| (*dst as usize) < nr_cpus));
        self.queues.push_task(&mut host, source.cpu as usize);
        host.result.moves.pop()
    }
}

/// The name of a rule of `balance_rules.h`.
fn rule_name(rule: u32) -> &'static str {
    rules::numbered(&BALANCE_RULES, rule).name
}

#[cfg(test)]
mod tests {
    use fairground_machine::{CpuMask, Machine};

    use super::*;
    use crate::{Features, Pointers};

    /// CPU 1 runs task 0 and has 1, 2 and 3 waiting; the other three CPUs idle.
    fn crowded(changes: &str) -> PolicySandbox {
        let mut machine = Machine::symmetric(4);
        machine.llcs = vec![CpuMask::first_n(4)];
        let features = Features::parse(&format!("fair:debian-6.12.117{changes}")).unwrap();
        let mut shown = PolicySandbox::new(&machine, &features, 250).unwrap();
        shown.sys_mut().active = CpuMask::first_n(4);
        for id in 0..4 {
            let p = shown.task_mut(id);
            *p = FgTask::zeroed();
            (p.id, p.cpu, p.nr_allowed, p.weight, p.on_rq) = (id, 1, 4, 1024, 1);
            (p.allowed, p.on_cpu) = (CpuMask::first_n(4), u8::from(id == 0));
        }
        let rq = shown.cpu_mut(1);
        (rq.nr_running, rq.h_nr_running, rq.curr_is_idle) = (4, 4, 0);
        (rq.fair.load_weight, rq.fair.sum_weight) = (4 * 1024, 4 * 1024);
        shown.point(1, &Pointers { curr: Some(0), ..Pointers::default() });
        shown
    }

    /// By CPU 0, a second after all tasks ran.
    fn attempt(kind: u32, sources: Vec<SourceQueue>) -> BalanceInput {
        BalanceInput { cpu: 0, domain: 0, kind, jiffies: 250, sources, stopper_is_listed: false }
    }

    fn queue(tasks: &[u32]) -> Vec<SourceQueue> {
        vec![SourceQueue { cpu: 1, clock: 1_000_000_000, irq_ns: 0, tasks: tasks.to_vec() }]
    }

    fn taken(done: &BalanceResult) -> Vec<u32> {
        let task = |m: &Move| if let Move::Detached { task, from: 1, to: 0 } = m { Some(*task) } else { None };
        done.moves.iter().filter_map(task).collect()
    }

    #[test]
    fn tasks_leave_in_the_order_of_the_queue_and_the_running_one_stays() {
        let mut shown = crowded("");
        let done = shown.balance(&attempt(FG_CPU_IDLE, queue(&[0, 2, 1, 3])));
        let found = Move::Found { group: 1, src: Some(1), migration: FG_MIGRATE_TASK, imbalance: 2 };
        assert_eq!((done.ours, done.rule, done.moves[0]), (true, "even", found));
        assert_eq!(taken(&done), [2, 1]);
        assert_eq!((shown.cpu_mut(0).nr_running, shown.cpu_mut(1).nr_running), (2, 2));
    }

    #[test]
    fn a_cpu_that_runs_dry_takes_one_task_if_the_kernel_may_be_preempted() {
        for (changes, expected) in [("", &[1][..]), ("-newidle-one", &[1, 2])] {
            let done = crowded(changes).balance(&attempt(FG_CPU_NEWLY_IDLE, queue(&[1, 2, 3, 0])));
            assert_eq!(taken(&done), expected, "{changes}");
        }
    }

    #[test]
    fn a_source_that_was_not_shown_ends_the_attempt_with_what_was_found() {
        let done = crowded("").balance(&attempt(FG_CPU_IDLE, Vec::new()));
        assert!(matches!(done.moves[..], [Move::Found { src: Some(1), .. }]), "{done:?}");
    }

    /// All that waits is bound to CPU 1, so its stopper is asked to push the running task.
    #[test]
    fn a_stopper_on_a_wake_list_is_not_counted_yet() {
        for (stopper_is_listed, expected) in [(false, 5), (true, 4)] {
            let mut shown = crowded("");
            (1..4).for_each(|task| shown.task_mut(task).allowed.clear(0));
            shown.domain_mut(0, 0).nr_balance_failed = 10;
            let attempt = BalanceInput { stopper_is_listed, ..attempt(FG_CPU_IDLE, queue(&[1, 2, 3, 0])) };
            assert!(shown.balance(&attempt).active);
            assert_eq!(shown.cpu_mut(1).nr_running, expected);
        }
    }

    #[test]
    fn a_cpu_out_of_use_balances_nothing() {
        let mut shown = crowded("");
        shown.sys_mut().active.clear(0);
        let done = shown.balance(&attempt(FG_CPU_IDLE, queue(&[1])));
        assert_eq!((done.ours, done.rule, done.moves.len()), (false, "balanced-not-ours", 0));
    }

    /// The stopper of CPU 1 runs there, asked by CPU 0.
    fn asked() -> PolicySandbox {
        let mut shown = crowded("");
        let rq = shown.cpu_mut(1);
        (rq.active_balance, rq.push_cpu, rq.nr_running) = (1, 0, 5);
        shown.point(1, &Pointers::default());
        shown.task_mut(0).on_cpu = 0;
        shown.domain_mut(0, 0).nr_balance_failed = 6;
        shown
    }

    #[test]
    fn the_stopper_pushes_the_first_task_that_may_go_even_one_that_ran_just_now() {
        let mut shown = asked();
        shown.task_mut(2).allowed = CpuMask::first_n(4);
        shown.task_mut(2).allowed.clear(0);
        shown.task_mut(1).exec_start = 1_000_000_000;
        let pushed = shown.push(&queue(&[2, 1, 3, 0])[0]);
        assert_eq!(pushed, Some(Move::Detached { task: 1, from: 1, to: 0 }));
        assert_eq!((shown.cpu_mut(1).active_balance, shown.domain_mut(0, 0).nr_balance_failed), (0, 0));
    }

    #[test]
    fn a_stopper_that_finds_nobody_may_be_asked_again_and_the_failures_stay() {
        let mut shown = asked();
        (0..4).for_each(|task| shown.task_mut(task).allowed.clear(0));
        assert_eq!(shown.push(&queue(&[2, 1, 3, 0])[0]), None);
        assert_eq!((shown.cpu_mut(1).active_balance, shown.domain_mut(0, 0).nr_balance_failed), (0, 6));
        // Its active_balance is not set.
        assert_eq!(crowded("").push(&queue(&[1])[0]), None);
    }
}

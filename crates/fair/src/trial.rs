//! One attempt to balance a domain on a state that was shown: the sequence of `policy/fg.h` without an engine.

use std::collections::VecDeque;

use fairground_machine::CpuId;

use crate::ffi::*;
use crate::shown::Shown;

/// The circumstances of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// For whom.
    pub cpu: CpuId,
    /// Which of its domains, from below.
    pub domain: usize,
    /// `FG_CPU_*`.
    pub kind: u32,
    /// Ticks since boot.
    pub jiffies: u64,
    /// Queues that may be asked to give something, in the order in which they were.
    pub sources: Vec<Source>,
}

/// A queue that may be asked to give something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Whose.
    pub cpu: CpuId,
    /// ns, what its clock is brought to.
    pub clock: u64,
    /// ns, interrupt time of the CPU by then.
    pub irq_ns: u64,
    /// Its fair tasks, those first that are looked at first.
    pub tasks: Vec<u32>,
}

/// What happened in an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A group has too much.
    Found {
        /// Its lowest CPU.
        group: CpuId,
        /// Whose queue is to give; none can.
        src: Option<CpuId>,
        /// `FG_MIGRATE_*`.
        migration: u32,
        /// To be moved, counted as that says.
        imbalance: i64,
    },
    /// A task left.
    Detached {
        /// Who.
        task: u32,
        /// From where.
        from: CpuId,
        /// To where.
        to: CpuId,
    },
}

/// How an attempt went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempted {
    /// Whether it was this CPU's turn.
    pub ours: bool,
    /// In their order.
    pub moves: Vec<Move>,
    /// The source's stopper was asked to push its current task.
    pub active: bool,
    /// How the first look ended: a name of `balance_rules.h`.
    pub rule: &'static str,
}

impl Shown {
    /// Carries an attempt out on the shown state, which it changes. It ends early where the policy chooses a source that
    /// is not among [`Attempt::sources`].
    pub fn balance(&mut self, attempt: &Attempt) -> Attempted {
        let sd = self.world.chain(attempt.cpu as usize)[attempt.domain];
        let Attempt { cpu, kind, jiffies, .. } = *attempt;
        let mut b = self.world.balance_begin(sd, cpu as usize, kind, jiffies);
        let mut done = Attempted { ours: true, ..Attempted::default() };
        let mut sources = attempt.sources.iter();
        let mut next = FG_LB_REDO;
        while next == FG_LB_REDO {
            if !self.world.should_we_balance(&b) {
                self.world.balance_not_ours(&b);
                done.rule = first(done.rule, FG_BALANCE_RULE_NOT_OURS);
                done.ours = false;
                return done;
            }
            let is_found = self.look(&mut b, &mut done);
            if !is_found || self.world.cpus[b.src_cpu as usize].nr_running <= 1 {
                break;
            }
            let Some(source) = sources.next().filter(|source| source.cpu as i32 == b.src_cpu) else { return done };
            next = self.detach(&mut b, source, &mut done.moves);
        }
        done.active = self.world.balance_end(&mut b);
        if done.active {
            self.wake_stopper(b.src_cpu as CpuId);
        }
        done
    }

    /// What the stopper of a queue's CPU moves that has been asked to push a task away (`active` in `policy/fg.h`): it may go,
    /// and has not yet; its domain counts no failures any more, and the stopper may be asked again.
    pub fn push(&mut self, source: &Source) -> Option<Move> {
        let src = source.cpu as usize;
        // A task's load is not asked for, so neither is the jiffy.
        let mut b = self.world.active_balance(0);
        let mut pushed = None;
        if self.world.active_begin(src, &mut b) {
            self.world.update_rq_clock(src, source.clock, source.irq_ns);
            pushed = source.tasks.iter().copied().find(|task| self.world.can_migrate_task(&mut b, *task));
        }
        self.world.active_end(src, &mut b, pushed.is_some());
        pushed.map(|task| Move::Detached { task, from: source.cpu, to: b.dst_cpu as CpuId })
    }

    /// The stopper is one more on its queue; the second of a queue overloads.
    fn wake_stopper(&mut self, cpu: CpuId) {
        self.cpu_mut(cpu).nr_running += 1;
        if self.cpu_mut(cpu).nr_running == 2 {
            self.root_mut(cpu).overload = 1;
        }
    }

    fn look(&mut self, b: &mut FgBalance, done: &mut Attempted) -> bool {
        let is_found = self.world.find_busiest(b);
        done.rule = first(done.rule, b.rule);
        // A look that ends balanced may have had a candidate.
        let is_group = is_found || b.rule == FG_BALANCE_RULE_NO_QUEUE;
        if let Some(group) = self.world.busiest_group(b).filter(|_| is_group) {
            let src = CpuId::try_from(b.src_cpu).ok().filter(|_| is_found);
            done.moves.push(Move::Found { group, src, migration: b.migration, imbalance: b.imbalance });
        }
        is_found
    }

    /// Round after round from one source; `FG_LB_END` or `REDO`.
    fn detach(&mut self, b: &mut FgBalance, source: &Source, moves: &mut Vec<Move>) -> u32 {
        let mut queue: VecDeque<u32> = source.tasks.iter().copied().collect();
        loop {
            self.round(b, source, &mut queue, moves);
            match self.world.balance_next(b) {
                FG_LB_MORE => {}
                next => return next,
            }
        }
    }

    fn round(&mut self, b: &mut FgBalance, source: &Source, queue: &mut VecDeque<u32>, moves: &mut Vec<Move>) {
        let (from, to) = (source.cpu as usize, b.dst_cpu as usize);
        let mut taken = Vec::new();
        self.world.update_rq_clock(from, source.clock, source.irq_ns);
        self.world.detach_begin(b);
        // Where tasks of other classes count, a round looks at the first ones twice, which turns the queue further.
        while !queue.is_empty() && self.world.detach_more(b) {
            let Some(task) = queue.pop_front() else { break };
            if !self.world.detach_task(b, task) {
                queue.push_back(task);
                continue;
            }
            moves.push(Move::Detached { task, from: source.cpu, to: to as CpuId });
            self.world.update_curr(from, None);
            self.world.dequeue_entity(from, task, FG_DEQUEUE_MOVE);
            self.world.task_mut(task).cpu = to as i32;
            taken.push(task);
        }
        let irq_ns = self.world.cpus[to].prev_irq_ns;
        self.world.update_rq_clock(to, source.clock, irq_ns);
        for task in taken.into_iter().rev() {
            self.world.update_curr(to, None);
            self.world.enqueue_entity(to, task, 0);
        }
    }
}

/// The name of the rule by which the first look ended.
fn first(so_far: &'static str, rule: u32) -> &'static str {
    match so_far {
        "" => BALANCE_RULES.get(rule as usize).map_or("unknown", |(name, _)| name),
        named => named,
    }
}

#[cfg(test)]
mod tests {
    use fairground_machine::{CpuMask, Machine};

    use super::*;
    use crate::{Features, Pointers};

    /// CPU 1 runs task 0 and has 1, 2 and 3 waiting; the other three CPUs idle.
    fn crowded(changes: &str) -> Shown {
        let mut machine = Machine::symmetric(4);
        machine.llcs = vec![CpuMask::first_n(4)];
        let features = Features::parse(&format!("fair:debian-6.12.117{changes}")).unwrap();
        let mut shown = Shown::new(&machine, &features, 250).unwrap();
        shown.sys_mut().active = CpuMask::first_n(4);
        for id in 0..4 {
            let p = shown.task_mut(id);
            *p = FgTask::zeroed();
            (p.id, p.cpu, p.nr_allowed, p.weight, p.on_rq) = (id, 1, 4, 1024, 1);
            (p.allowed, p.on_cpu) = (CpuMask::first_n(4), u8::from(id == 0));
        }
        let rq = shown.cpu_mut(1);
        (rq.nr_running, rq.h_nr_running, rq.fair.load_weight, rq.curr_is_idle) = (4, 4, 4 * 1024, 0);
        shown.point(1, &Pointers { curr: Some(0), ..Pointers::default() });
        shown
    }

    /// By CPU 0, a second after all tasks ran.
    fn attempt(kind: u32, sources: Vec<Source>) -> Attempt {
        Attempt { cpu: 0, domain: 0, kind, jiffies: 250, sources }
    }

    fn queue(tasks: &[u32]) -> Vec<Source> {
        vec![Source { cpu: 1, clock: 1_000_000_000, irq_ns: 0, tasks: tasks.to_vec() }]
    }

    fn taken(done: &Attempted) -> Vec<u32> {
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

    #[test]
    fn a_cpu_out_of_use_balances_nothing() {
        let mut shown = crowded("");
        shown.sys_mut().active.clear(0);
        let done = shown.balance(&attempt(FG_CPU_IDLE, queue(&[1])));
        assert_eq!((done.ours, done.rule, done.moves.len()), (false, "balanced-not-ours", 0));
    }

    /// The stopper of CPU 1 runs there, asked by CPU 0.
    fn asked() -> Shown {
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
        // Nobody has asked it.
        assert_eq!(crowded("").push(&queue(&[1])[0]), None);
    }
}

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
    /// ns, clock of the CPU.
    pub now: u64,
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
        let Attempt { cpu, kind, jiffies, now, .. } = *attempt;
        let mut b = self.world.balance_begin(sd, cpu as usize, kind, jiffies, now);
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
        done
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
        for _ in 0..queue.len() {
            if !self.world.detach_more(b) {
                break;
            }
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

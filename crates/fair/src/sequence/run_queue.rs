//! The containers of one CPU's run queue. What is in them is decided elsewhere.

use fairground_sim::TaskId;

use super::DeadlineQueue;
use crate::ffi::*;

/// Queued entities, fair tasks or groups of them, in the order their run queue asks for. The current one is not among
/// them.
pub enum FairQueue {
    /// The queue of CFS, ordered by virtual runtime.
    Vruntime(VruntimeQueue),
    /// The queue of EEVDF, ordered by deadline.
    Deadline(DeadlineQueue),
}

impl FairQueue {
    /// An empty queue for this value of the feature `rq`.
    pub fn new(rq: u8) -> FairQueue {
        match u32::from(rq) {
            FG_RQ_CFS => FairQueue::Vruntime(VruntimeQueue::default()),
            _ => FairQueue::Deadline(DeadlineQueue::default()),
        }
    }

    /// Adds an entity behind its equals.
    pub fn insert(&mut self, vruntime: u64, deadline: u64, id: u32) {
        match self {
            FairQueue::Vruntime(queue) => queue.insert(vruntime, id),
            FairQueue::Deadline(queue) => queue.insert(deadline, vruntime, id),
        }
    }

    /// Removes an entity that was inserted with these times; false if it is not there.
    pub fn remove(&mut self, vruntime: u64, deadline: u64, id: u32) -> bool {
        match self {
            FairQueue::Vruntime(queue) => queue.remove(vruntime, id),
            FairQueue::Deadline(queue) => queue.remove(deadline, id),
        }
    }

    /// Which of them the policy picks from, see `policy/fg.h`. `avg_vruntime`: up to where EEVDF finds them eligible.
    pub fn candidates(&self, avg_vruntime: impl FnOnce() -> u64) -> (Option<u32>, Option<u32>) {
        match self {
            FairQueue::Vruntime(queue) => (queue.left(), queue.second()),
            FairQueue::Deadline(queue) => (queue.first_within(avg_vruntime()), None),
        }
    }

    /// Leftmost by virtual runtime, for CFS, which alone asks for it.
    pub fn left(&self) -> Option<TaskId> {
        match self {
            FairQueue::Vruntime(queue) => queue.left(),
            FairQueue::Deadline(_) => None,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        match self {
            FairQueue::Vruntime(queue) => queue.is_empty(),
            FairQueue::Deadline(queue) => queue.is_empty(),
        }
    }

    /// Removes all entities.
    pub fn clear(&mut self) {
        match self {
            FairQueue::Vruntime(queue) => *queue = VruntimeQueue::default(),
            FairQueue::Deadline(queue) => *queue = DeadlineQueue::default(),
        }
    }

    /// What an entity is ordered by.
    pub fn key(&self, p: &FgTask) -> u64 {
        match self {
            FairQueue::Vruntime(_) => p.vruntime,
            FairQueue::Deadline(_) => p.deadline,
        }
    }

    /// Each entity with its key, see [`Self::key`].
    pub fn iter(&self) -> Box<dyn Iterator<Item = (u64, TaskId)> + '_> {
        match self {
            FairQueue::Vruntime(queue) => Box::new(queue.iter()),
            FairQueue::Deadline(queue) => Box::new(queue.iter()),
        }
    }
}

/// Tasks by virtual runtime; equal ones in the order of arrival.
///
/// A sorted vector, leftmost last: taking the leftmost moves nothing, and with the queue lengths that occur (up to
/// some hundreds) shifting 16-byte entries is cheaper than a tree's nodes; `crates/bench` has both.
#[derive(Default)]
pub struct VruntimeQueue {
    /// Keys and tasks, by falling key; among equal keys the last to arrive comes first.
    entries: Vec<(i64, TaskId)>,
}

impl VruntimeQueue {
    /// Virtual runtime wraps around at 2^64 and starts just below it; as a signed number it has an order.
    fn key(vruntime: u64) -> i64 {
        vruntime as i64
    }

    /// Adds a task behind those of equal virtual runtime.
    pub fn insert(&mut self, vruntime: u64, task: TaskId) {
        let key = Self::key(vruntime);
        let at = self.entries.partition_point(|(k, _)| *k > key);
        self.entries.insert(at, (key, task));
    }

    /// Removes a task; false if it is not there with this virtual runtime.
    pub fn remove(&mut self, vruntime: u64, task: TaskId) -> bool {
        let key = Self::key(vruntime);
        let start = self.entries.partition_point(|(k, _)| *k > key);
        let equal = self.entries[start..].iter().take_while(|(k, _)| *k == key);
        match equal.zip(start..).find(|((_, t), _)| *t == task) {
            Some((_, at)) => {
                self.entries.remove(at);
                true
            }
            None => false,
        }
    }

    /// The task with the smallest virtual runtime.
    pub fn left(&self) -> Option<TaskId> {
        self.entries.last().map(|(_, task)| *task)
    }

    /// The task after the leftmost.
    pub fn second(&self) -> Option<TaskId> {
        self.entries.len().checked_sub(2).map(|at| self.entries[at].1)
    }

    /// Keys and tasks, rightmost first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, TaskId)> + '_ {
        self.entries.iter().map(|(key, task)| (*key as u64, *task))
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Runnable RT tasks, the running one included: highest priority first, equal ones in their order of service.
#[derive(Default)]
pub struct RtQueue {
    entries: Vec<(u8, TaskId)>,
}

impl RtQueue {
    /// Adds a task behind those of equal priority.
    pub fn push(&mut self, prio: u8, task: TaskId) {
        let at = self.entries.partition_point(|(p, _)| *p >= prio);
        self.entries.insert(at, (prio, task));
    }

    /// Removes a task, if it is queued.
    pub fn remove(&mut self, task: TaskId) {
        self.entries.retain(|(_, t)| *t != task);
    }

    /// The task that runs.
    pub fn first(&self) -> Option<TaskId> {
        self.entries.first().map(|(_, task)| *task)
    }

    /// The highest priority queued, 0 if none.
    pub fn top_prio(&self) -> u8 {
        self.entries.first().map_or(0, |(prio, _)| *prio)
    }

    /// Whether another task has this priority too.
    pub fn has_peer(&self, prio: u8) -> bool {
        self.entries.iter().filter(|(p, _)| *p == prio).count() > 1
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The tasks in the order in which they run.
    pub fn iter(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.entries.iter().map(|(_, task)| *task)
    }
}

/// The state of a CPU that is not in `FgCpu`.
pub struct RunQueue {
    /// Queued fair tasks, and task groups that compete as one.
    pub fair: FairQueue,
    /// The queued tasks of each of those groups; none while there are no such groups.
    pub nested: Vec<FairQueue>,
    /// Runnable RT tasks.
    pub rt: RtQueue,
    /// The stopper is current.
    pub stopper: bool,
    /// A reschedule is pending (TIF_NEED_RESCHED of the current task).
    pub resched: bool,
    /// The current task is to be replaced when the CPU next leaves the kernel, or at its next tick
    /// (TIF_NEED_RESCHED_LAZY). Only with `preempt-model=lazy`.
    pub resched_lazy: bool,
    /// When the timer that ends the current slice expires (hrtick), ns.
    pub hrtick_at: Option<u64>,
    /// An RT task is queued, or was when the timer of the deadline server was last looked after.
    pub had_rt: bool,
    /// Groups whose queues here were asked to go on (cfsb_csd_list), oldest first.
    pub unthrottling: Vec<usize>,
    /// Tasks that left on their return to user mode because their groups are throttled (throttled_limbo_list), oldest first.
    pub limbo: Vec<TaskId>,
}

impl RunQueue {
    /// Nothing runnable, with fair tasks ordered for this value of the feature `rq`.
    pub fn new(rq: u8) -> RunQueue {
        RunQueue {
            fair: FairQueue::new(rq),
            nested: Vec::new(),
            rt: RtQueue::default(),
            stopper: false,
            resched: false,
            resched_lazy: false,
            hrtick_at: None,
            had_rt: false,
            unthrottling: Vec::new(),
            limbo: Vec::new(),
        }
    }

    /// clear_tsk_need_resched: the requests of both kinds are done with. Whether there was one.
    pub fn clear_resched(&mut self) -> bool {
        std::mem::take(&mut self.resched) | std::mem::take(&mut self.resched_lazy)
    }
}

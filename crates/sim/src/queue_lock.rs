//! Locks of run queues: a CPU that wants a held lock waits, and takes the lock's line from the CPU of the last holder.
//!
//! Schedulers do not model it. Their reports and the engine's calls show which CPU held which lock, and the price of
//! the work under it for how long:
//!
//! | held | by | as long as |
//! |---|---|---|
//! | queue of a woken or new task | the CPU that enqueues it | [`SoftCost::Enqueue`](fairground_machine::SoftCost::Enqueue) |
//! | queue that balancing takes a task from | the CPU that takes it | `Dequeue` |
//! | own queue, when the current task blocks, in schedule(), in the tick | the CPU itself | `Dequeue`, `Pick`, `Tick` |
//!
//! It is settled when the work is done: if another CPU took the lock meanwhile, the rest of its hold time is charged,
//! and the line. A task that goes to another CPU's wake list takes no lock there, as in the kernel.
//!
//! DEVIATION: of each lock only the last hold is known. A CPU that comes, by its clock, early enough to be done before
//! that does not wait; two such CPUs do not see each other.

use fairground_machine::CpuId;

use crate::Time;

/// The lock of one run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueLock {
    /// Where it was held last.
    last: CpuId,
    from: Time,
    until: Time,
}

impl QueueLock {
    pub(crate) fn new(cpu: CpuId) -> Self {
        QueueLock { last: cpu, from: 0, until: 0 }
    }

    /// It is held on `cpu`: where it was before.
    pub(crate) fn moves_to(&mut self, cpu: CpuId) -> CpuId {
        std::mem::replace(&mut self.last, cpu)
    }

    /// Takes the lock at `at` for `hold_ns`; returns how long that waits, ns.
    pub(crate) fn hold(&mut self, at: Time, hold_ns: u64) -> u64 {
        if at + hold_ns <= self.from {
            return 0;
        }
        self.from = at.max(self.until);
        self.until = self.from + hold_ns;
        self.from - at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 ns each at 1000, 1040 and 1250; one at 900 would be done when the last begins.
    #[test]
    fn holders_of_a_lock_come_one_after_another() {
        let mut lock = QueueLock::new(0);
        assert_eq!([1000, 1040, 1250].map(|at| lock.hold(at, 100)), [0, 60, 0]);
        assert_eq!([lock.hold(900, 100), lock.hold(1300, 100)], [0, 50]);
    }
}

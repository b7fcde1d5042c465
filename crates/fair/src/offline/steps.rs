//! Steps of a fair run queue on the state of a real kernel: what simulations do at an enqueue, a tick, the test of a
//! wakeup and the like.

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::TaskId;

use super::PolicySandbox;
use crate::ffi::*;
use crate::rules;
use crate::sequence::Host;
use crate::world::World;

/// What happens to a fair run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// A task is put on it.
    Enqueue,
    /// A delayed sleeper is woken where it is queued.
    Requeue,
    /// A task leaves it.
    Dequeue,
    /// A woken task is tested against the current one.
    Wakeup,
    /// The tick of the current task.
    Tick,
    /// The current task yields.
    Yield,
    /// A picked task becomes current.
    SetNext,
    /// A task becomes current again, whose properties have changed.
    SetAgain,
    /// The CPU goes idle.
    Idle,
}

/// A step of a fair run queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepInput {
    /// The CPU of the queue.
    pub cpu: CpuId,
    /// The task; [`StepKind::Tick`] and [`StepKind::Yield`] are about the current one, [`StepKind::Idle`] about none.
    pub task: u32,
    /// Which function of the run queue the step is: an enqueue, a dequeue, a tick, ...
    pub kind: StepKind,
    /// `FG_ENQUEUE_*`, `FG_DEQUEUE_*`, or of a wakeup `FG_WF_FORK`.
    pub flags: u32,
    /// A reschedule is pending.
    pub resched: bool,
    /// The queued fair tasks without the current one, in the kernel's order.
    pub queued: Vec<u32>,
    /// The kernel's `jiffies`.
    pub jiffies: u64,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepResult {
    /// The step asked for a reschedule, at once or a lazy one (`preempt-model=lazy`).
    pub resched: bool,
    /// Why it did, or why a wakeup does not preempt: a name of `pick_rules.h`. `none` if there is nothing to say.
    pub rule: &'static str,
}

struct StepHost {
    jiffies: u64,
    resched: bool,
    rule: u32,
}

impl Host for StepHost {
    /// The kernel has done it.
    fn update_clock(&mut self, _world: &mut World, _cpu: usize) {}

    fn jiffies(&self) -> u64 {
        self.jiffies
    }

    fn charge(&mut self, _work: SoftCost, _n: u32) {}

    fn elapsed_ns(&self) -> u64 {
        0
    }

    fn resched(&mut self, _cpu: usize) {
        self.resched = true;
    }

    fn wakeup_tested(&mut self, _world: &World, _cpu: usize, _task: TaskId, rule: u32) {
        self.rule = rule;
    }

    fn slice_ended(&mut self, _world: &World, _cpu: usize, rule: u32) {
        if self.rule == FG_PICK_RULE_NONE {
            self.rule = rule;
        }
    }
}

impl PolicySandbox {
    /// Carries out a step on the sandbox's state and changes it.
    pub fn step(&mut self, input: &StepInput) -> StepResult {
        let StepInput { task, kind, flags, resched, jiffies, .. } = *input;
        let cpu = input.cpu as usize;
        let mut host = StepHost { jiffies, resched: false, rule: FG_PICK_RULE_NONE };
        self.queues.clear();
        input.queued.iter().for_each(|queued| self.queues.insert_queued(cpu, *queued));
        let curr = self.queues.world.curr(cpu).filter(|_| kind != StepKind::Idle);
        input.queued.iter().copied().chain(curr).for_each(|task| self.queues.cfs_tasks.add(cpu, task));
        self.queues.rqs[cpu].resched = resched;
        self.queues.rqs[cpu].resched_lazy = false;
        let queues = &mut self.queues;
        match kind {
            StepKind::Enqueue => queues.enqueue(&mut host, cpu, task, flags),
            StepKind::Requeue => queues.requeue_delayed(&mut host, cpu, task),
            StepKind::Dequeue if flags & FG_DEQUEUE_DELAYED != 0 => {
                queues.dequeue_delayed(&mut host, cpu, task, flags & !(FG_DEQUEUE_SLEEP | FG_DEQUEUE_DELAYED))
            }
            StepKind::Dequeue => queues.dequeue(&mut host, cpu, task, flags),
            StepKind::Wakeup => {
                if queues.fair_preempts(&mut host, cpu, task, flags) {
                    queues.resched(&mut host, cpu);
                }
            }
            StepKind::Tick => queues.tick_fair(&mut host, cpu),
            StepKind::Yield => {
                queues.update_curr(&mut host, cpu);
                queues.world.yield_now(cpu);
            }
            StepKind::SetNext => queues.set_next_fair(cpu, task, true),
            StepKind::SetAgain => queues.set_next_fair(cpu, task, false),
            StepKind::Idle => queues.world.update_idle_core(cpu),
        }
        // The host does not hear of a lazy request, which interrupts nobody.
        let rq = &mut self.queues.rqs[cpu];
        let is_lazy = std::mem::take(&mut rq.resched_lazy);
        rq.resched = false;
        StepResult { resched: host.resched || is_lazy, rule: rules::numbered(&PICK_RULES, host.rule).name }
    }
}

#[cfg(test)]
mod tests {
    use fairground_machine::{CpuMask, Machine};

    use super::*;
    use crate::world::Pointers;
    use crate::Features;

    const MS: u64 = 1_000_000;

    /// CPU 0 at 20 ms: task 0 current since 10 ms, task 1 queued, both at 0; slices of 3 ms.
    fn two(features: &str) -> PolicySandbox {
        let machine = Machine::symmetric(4);
        let mut shown = PolicySandbox::new(&machine, &Features::parse(features).unwrap(), 250).unwrap();
        for task in 0..3 {
            let p = shown.task_mut(task);
            *p = FgTask::zeroed();
            (p.id, p.nr_allowed, p.weight, p.deadline) = (task, 4, 1024, 3 * MS);
            p.allowed = CpuMask::first_n(4);
            (p.on_rq, p.on_cpu) = (u8::from(task < 2), u8::from(task == 0));
        }
        shown.task_mut(0).exec_start = 10 * MS;
        let rq = shown.cpu_mut(0);
        (rq.nr_running, rq.h_nr_running, rq.curr_is_idle) = (2, 2, 0);
        (rq.clock, rq.clock_task) = (20 * MS, 20 * MS);
        (rq.fair.load_weight, rq.fair.sum_weight) = (2048, 2048);
        shown.point(0, &Pointers { curr: Some(0), ..Pointers::default() });
        shown
    }

    fn step(kind: StepKind, task: u32, flags: u32) -> StepInput {
        StepInput { cpu: 0, task, kind, flags, resched: false, queued: vec![1], jiffies: 5 }
    }

    #[test]
    fn a_tick_charges_the_current_task_and_ends_its_slice() {
        let mut shown = two("fair:debian-6.12.117");
        let done = shown.step(&step(StepKind::Tick, 0, 0));
        assert_eq!((done.resched, done.rule), (true, "slice"));
        assert_eq!(shown.task_mut(0).vruntime, 10 * MS);
    }

    #[test]
    fn a_wakeup_that_policies_decide_charges_nobody() {
        for (policy, rule, charged) in [(FG_SCHED_BATCH, "wake-batch", false), (FG_SCHED_OTHER, "preempt-owed", true)] {
            let mut shown = two("fair:debian-6.12.117");
            shown.task_mut(1).policy = policy as u8;
            assert_eq!(shown.step(&step(StepKind::Wakeup, 1, 0)).rule, rule);
            assert_eq!(shown.task_mut(0).vruntime > 0, charged);
        }
    }

    #[test]
    fn a_lazy_reschedule_is_one() {
        let mut shown = two("fair:debian-6.12.117+preempt-model=lazy");
        let done = shown.step(&step(StepKind::Tick, 0, 0));
        assert_eq!((done.resched, done.rule), (true, "slice"));
        // Neither is left for the next step.
        let done = shown.step(&step(StepKind::Idle, 0, 0));
        assert!(!done.resched);
        let mut shown = two("fair:debian-6.12.117+preempt-model=lazy");
        let done = shown.step(&StepInput { resched: true, ..step(StepKind::Tick, 0, 0) });
        assert!(!done.resched, "a reschedule is pending");
    }

    #[test]
    fn from_v72_on_a_requeue_charges_the_current_task_first() {
        for (features, charged) in [("fair:v7.1", false), ("fair:v7.2", true), ("fair:v7.3", true)] {
            let mut shown = two(features);
            (0..2).for_each(|task| shown.task_mut(task).h_load = 1024 * 1024);
            shown.task_mut(1).flags |= FG_TASK_DELAYED;
            shown.cpu_mut(0).h_nr_delayed = 1;
            shown.step(&step(StepKind::Requeue, 1, 0));
            assert_eq!(shown.task_mut(0).vruntime > 0, charged, "{features}");
            assert_eq!(shown.task_mut(1).flags & FG_TASK_DELAYED, 0, "{features}");
        }
    }

    #[test]
    fn from_v70_on_only_a_pick_begins_a_protection() {
        let vprot = |features: &str, kind| {
            let mut shown = two(features);
            shown.point(0, &Pointers::default());
            shown.task_mut(1).vprot = 7 * MS;
            shown.step(&StepInput { queued: vec![0, 1], ..step(kind, 1, 0) });
            shown.task_mut(1).vprot
        };
        for (features, again) in [("fair:v6.19", 3), ("fair:v7.0", 7), ("fair:v7.2", 7)] {
            assert_eq!(vprot(features, StepKind::SetNext), 3 * MS, "{features}");
            assert_eq!(vprot(features, StepKind::SetAgain), again * MS, "{features}");
        }
    }

    #[test]
    fn with_cfs_the_queue_waits_for_a_task_that_comes_back_at_once() {
        for (flags, min) in [(0, 10), (FG_DEQUEUE_SAVE, 0)] {
            let mut shown = two("fair:v6.3");
            shown.step(&step(StepKind::Dequeue, 1, flags));
            assert_eq!(shown.cpu_mut(0).fair.min_vruntime, min * MS);
        }
    }

    #[test]
    fn an_enqueued_task_is_placed_at_the_average() {
        let mut shown = two("fair:debian-6.12.117");
        shown.step(&step(StepKind::Enqueue, 2, FG_ENQUEUE_WAKEUP));
        // Task 0 has run for 10 ms, task 1 has not: the average of both.
        let p = shown.task_mut(2);
        assert_eq!((p.on_rq, p.vruntime), (1, 5 * MS));
        assert_eq!(shown.cpu_mut(0).h_nr_running, 3);
    }

    #[test]
    fn a_wakeup_is_tested_unless_a_reschedule_is_pending() {
        let mut shown = two("fair:debian-6.12.117");
        let done = shown.step(&step(StepKind::Wakeup, 1, 0));
        assert_eq!((done.resched, done.rule), (true, "preempt-owed"));
        let mut shown = two("fair:debian-6.12.117+next-buddy");
        let done = shown.step(&StepInput { resched: true, ..step(StepKind::Wakeup, 1, 0) });
        assert_eq!((done.resched, done.rule), (false, "wake-pending"));
        assert_eq!(shown.pointers(0).next, Some(1), "NEXT_BUDDY does not wait for the test");
    }
}

//! Active balance: what the kernel's stopper pushes, and what ours would.
//!
//! ```text
//! pushing  -> the source queue and the destination CPU -> PolicySandbox; our push
//! detached -> the task that leaves
//! pushed   -> both outcomes
//! ```

use fairground_fair::ffi::*;
use fairground_fair::{Move, PolicySandbox, SourceQueue};
use fairground_machine::CpuId;

use super::state::State;
use super::state_importer::{push_target, SavedState, StateImporter};

/// The outcome of a push.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The task that left, and its destination; none if no task may leave.
    moved: Option<(u32, CpuId)>,
    /// The stopper may be asked again.
    done: bool,
    /// nr_balance_failed of the destination's domains, lowest first.
    failed: Vec<u32>,
}

/// The push of a kernel that is under way, if any.
#[derive(Default)]
pub struct Pushes {
    pending: Option<JudgedPush>,
}

/// The kernel's push and ours.
pub struct JudgedPush {
    /// The queue from which the task is pushed.
    pub source: SourceQueue,
    /// The row of the table: `push`, or `push, stuck` if our policy moves no task.
    pub rule: String,
    /// What the kernel's push did.
    pub kernel: Outcome,
    /// What our policy's push did.
    pub ours: Outcome,
    /// The state before the push, as far as ours changes it.
    pub before: SavedState,
    /// CPU to which the task is pushed.
    dst: CpuId,
    /// Some source has tasks without a number here.
    pub has_own: bool,
}

impl Pushes {
    /// Whether a push has begun and not ended.
    pub fn is_under_way(&self) -> bool {
        self.pending.is_some()
    }

    /// The stopper of a CPU begins to look for a task.
    pub fn begin(&mut self, kernel: &dyn State, src: CpuId, importer: &mut StateImporter, sandbox: &mut PolicySandbox) {
        let dst = importer.push(kernel, sandbox, src);
        let (tasks, is_whole) = importer.movable(kernel, sandbox, src);
        let source = SourceQueue { cpu: src, clock: kernel.clock(), irq_ns: kernel.irq_time(src), tasks };
        let before = importer.keep_push(sandbox, &source, dst);
        let (ours, rule) = pushed(sandbox, &source);
        let (kernel, has_own) = (Outcome::default(), !is_whole);
        self.pending = Some(JudgedPush { source, rule, kernel, ours, before, dst, has_own });
    }

    /// A task leaves. False if no push is under way.
    pub fn detached(&mut self, task: u32, to: CpuId) -> bool {
        let Some(judged) = &mut self.pending else { return false };
        judged.kernel.moved = Some((task, to));
        true
    }

    /// The push is over. None if its begin was not seen.
    pub fn end(&mut self, kernel: &dyn State, sandbox: &PolicySandbox) -> Option<JudgedPush> {
        let mut judged = self.pending.take()?;
        let dst = judged.dst;
        let (mut src, mut sd) = (FgCpu::zeroed(), FgDomain::zeroed());
        kernel.cpu(judged.source.cpu, &mut src);
        judged.kernel.done = src.active_balance == 0;
        for n in 0..sandbox.nr_domains(dst) {
            kernel.domain(dst, n, &mut sd);
            judged.kernel.failed.push(sd.nr_balance_failed);
        }
        Some(judged)
    }
}

/// Runs ours. Returns its outcome and its row.
pub fn pushed(sandbox: &mut PolicySandbox, source: &SourceQueue) -> (Outcome, String) {
    let dst = push_target(sandbox, source.cpu);
    let moved = sandbox.push(source);
    let rule = if moved.is_some() { "push" } else { "push, stuck" };
    let moved = moved.and_then(|m| match m {
        Move::Detached { task, to, .. } => Some((task, to)),
        Move::Found { .. } => None,
    });
    let done = sandbox.cpu_mut(source.cpu).active_balance == 0;
    (Outcome { moved, done, failed: failed(sandbox, dst) }, rule.into())
}

/// nr_balance_failed of a CPU's domains, lowest first.
fn failed(sandbox: &mut PolicySandbox, cpu: CpuId) -> Vec<u32> {
    (0..sandbox.nr_domains(cpu)).map(|n| sandbox.domain_mut(cpu, n).nr_balance_failed).collect()
}

impl Outcome {
    /// The outcome as one line; equal lines are equal outcomes.
    pub fn words(&self) -> String {
        let moved = self.moved.map_or("nobody".into(), |(task, to)| format!("task {task} to cpu{to}"));
        let pending = if self.done { "" } else { "; still asked" };
        format!("{moved}; failed {:?}{pending}", self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_says_who_left_and_whether_the_stopper_is_free() {
        let pushed = Outcome { moved: Some((7, 5)), done: true, failed: vec![0, 3] };
        assert_eq!(pushed.words(), "task 7 to cpu5; failed [0, 3]");
        let stuck = Outcome { moved: None, done: false, failed: vec![4] };
        assert_eq!(stuck.words(), "nobody; failed [4]; still asked");
    }

    #[test]
    fn a_task_leaves_for_a_stopper_only_while_one_pushes() {
        assert!(!Pushes::default().detached(7, 5));
    }
}

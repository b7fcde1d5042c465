//! What the kernel's stopper does for a CPU that could not pull, and what ours would.
//!
//! ```text
//! pushing  -> the queue that is to give and the CPU it is for -> PolicySandbox; ours is carried out
//! detached -> who leaves
//! pushed   -> both outcomes
//! ```

use fairground_fair::ffi::*;
use fairground_fair::{Move, PolicySandbox, SourceQueue};
use fairground_machine::CpuId;

use super::state::State;
use super::state_importer::{push_target, SavedState, StateImporter};

/// What a push came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Who left, and where to; nobody may.
    moved: Option<(u32, CpuId)>,
    /// The stopper may be asked again.
    done: bool,
    /// Failures of the domains of the CPU it is for, from below.
    failed: Vec<u32>,
}

/// Pushes of a kernel, one at a time.
#[derive(Default)]
pub struct Pushes {
    pending: Option<JudgedPush>,
}

/// Both sides of a push.
pub struct JudgedPush {
    /// The queue that is to give.
    pub source: SourceQueue,
    /// The row.
    pub rule: String,
    /// The kernel's.
    pub kernel: Outcome,
    /// Ours.
    pub ours: Outcome,
    /// The state as it was shown, as far as ours changes it.
    pub before: SavedState,
    /// The CPU to push to.
    dst: CpuId,
    /// The kernel does not show all that was looked at.
    pub has_groups: bool,
}

impl Pushes {
    /// The stopper of a CPU has been asked, and is about to look for a task.
    pub fn begin(&mut self, kernel: &dyn State, src: CpuId, importer: &mut StateImporter, sandbox: &mut PolicySandbox) {
        let dst = importer.push(kernel, sandbox, src);
        let (tasks, is_whole) = importer.movable(kernel, sandbox, src);
        let source = SourceQueue { cpu: src, clock: kernel.clock(), irq_ns: kernel.irq_time(src), tasks };
        let before = importer.keep_push(sandbox, &source, dst);
        let (ours, rule) = pushed(sandbox, &source);
        let (kernel, has_groups) = (Outcome::default(), !is_whole);
        self.pending = Some(JudgedPush { source, rule, kernel, ours, before, dst, has_groups });
    }

    /// A task leaves. False: not for a stopper.
    pub fn detached(&mut self, task: u32, to: CpuId) -> bool {
        let Some(judged) = &mut self.pending else { return false };
        judged.kernel.moved = Some((task, to));
        true
    }

    /// The stopper is done. None without a beginning.
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

/// Carries out ours; what came of it, and the row it counts in.
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

/// Failures of the domains of a CPU, from below.
fn failed(sandbox: &mut PolicySandbox, cpu: CpuId) -> Vec<u32> {
    (0..sandbox.nr_domains(cpu)).map(|n| sandbox.domain_mut(cpu, n).nr_balance_failed).collect()
}

impl Outcome {
    /// All of it in a line; outcomes are alike if their lines are.
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

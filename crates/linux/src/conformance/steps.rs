//! Steps of a fair run queue, by the kernel and by us from the same state: what they leave behind, and whether a
//! wakeup preempts or a slice ends.
//!
//! ```text
//! stepping -> the run queue, its tasks, the CPUs of the core -> PolicySandbox
//! stepped  -> our step on the copied state; what both have left
//! ```

use fairground_fair::ffi::*;
use fairground_fair::{avg_vruntime, Pointers, PolicySandbox, StepInput, StepKind};
use fairground_machine::CpuId;
use fairground_sim::Subject;

use super::left::{compare, LeftValue, Of, Values};
use super::state::{State, Step};
use super::state_importer::StateImporter;

/// The step of a kernel that is under way, if any. Steps do not nest but for a pick within a requeue.
#[derive(Default)]
pub struct Steps {
    pending: Option<(Step, Option<StepInput>)>,
}

/// The kernel's step and ours.
pub struct JudgedStep {
    /// What both have left.
    pub left: Vec<LeftValue>,
    /// Of the test of a wakeup and of a tick: our rule, whether the kernel asked for a reschedule, whether ours did.
    pub answer: Option<(&'static str, bool, bool)>,
}

/// A task or its run queue is in a group.
pub struct Grouped;

impl Steps {
    /// Whether a step has begun and not ended.
    pub fn is_under_way(&self) -> bool {
        self.pending.is_some()
    }

    /// Called when the kernel begins a step.
    pub fn begin(
        &mut self,
        kernel: &dyn State,
        step: &Step,
        importer: &mut StateImporter,
        sandbox: &mut PolicySandbox,
    ) {
        let input = if step.grouped { None } else { input(kernel, step, importer, sandbox) };
        if input.as_ref().is_some_and(|input| !is_whole(sandbox, input)) {
            self.pending = None;
            return;
        }
        self.pending = Some((*step, input));
    }

    /// The step is over. None if its begin was not seen, or if it is not about a task with a number.
    pub fn end(
        &mut self,
        kernel: &dyn State,
        after: &Step,
        sandbox: &mut PolicySandbox,
    ) -> Option<Result<JudgedStep, Grouped>> {
        let (step, input) = self.pending.take()?;
        if step.kind != after.kind || step.cpu != after.cpu {
            return None;
        }
        if step.kind != StepKind::Idle && step.task.is_none() {
            return None;
        }
        let Some(input) = input else { return Some(Err(Grouped)) };
        let before = ours(sandbox, &input);
        if input.kind == StepKind::SetNext {
            slices_beside(kernel, sandbox, step.cpu);
        }
        let done = sandbox.step(&input);
        let mut left = Vec::new();
        let (theirs, ours) = (theirs(kernel, sandbox, &input), ours(sandbox, &input));
        for (((of, before), (_, kernel)), (_, ours)) in before.iter().zip(&theirs).zip(&ours) {
            left.extend(compare(function(input.kind), *of, before, kernel, ours));
        }
        let is_asked = |before: u32, after: u32| after & !before != 0;
        // A lazy reschedule that is pending may be asked for again, which does not show.
        let tested = matches!(input.kind, StepKind::Wakeup | StepKind::Tick) && step.resched & LAZY == 0;
        let answer = tested.then(|| (done.rule, is_asked(step.resched, after.resched), done.resched));
        Some(Ok(JudgedStep { left, answer }))
    }
}

/// Bit of [`Step::resched`].
const LAZY: u32 = 2;

/// The kernel's function.
fn function(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Enqueue => "enqueue_task_fair",
        StepKind::Requeue => "requeue_delayed_entity",
        StepKind::Dequeue => "dequeue_task_fair",
        StepKind::Wakeup => "check_preempt_wakeup_fair",
        StepKind::Tick => "task_tick_fair",
        StepKind::Yield => "yield_task_fair",
        StepKind::SetNext | StepKind::SetAgain => "set_next_entity",
        StepKind::Idle => "update_idle_core",
    }
}

/// None: a task group is queued or current, though the task of the step is in none.
fn input(
    kernel: &dyn State,
    step: &Step,
    importer: &mut StateImporter,
    sandbox: &mut PolicySandbox,
) -> Option<StepInput> {
    let Step { cpu, kind, flags, resched, .. } = *step;
    if kind == StepKind::Idle {
        let jiffies = importer.core(kernel, sandbox, cpu);
        return Some(StepInput { cpu, task: 0, kind, flags, resched: false, queued: Vec::new(), jiffies });
    }
    let queued = importer.queue(kernel, sandbox, cpu, 0)?;
    if queued.iter().copied().chain(sandbox.pointers(cpu).curr).any(|entity| sandbox.is_grouped(entity)) {
        return None;
    }
    let task = step.task?;
    importer.task(kernel, sandbox, task);
    kernel.root(cpu, sandbox.root_mut(cpu));
    let jiffies = super::state_importer::keys(kernel, sandbox);
    Some(StepInput { cpu, task, kind, flags, resched: resched & !LAZY != 0, queued, jiffies })
}

/// Whether the task is where the step needs it.
fn is_whole(sandbox: &PolicySandbox, input: &StepInput) -> bool {
    let (queued, current) = (input.queued.contains(&input.task), sandbox.pointers(input.cpu).curr == Some(input.task));
    match input.kind {
        StepKind::SetNext | StepKind::SetAgain | StepKind::Requeue => queued,
        StepKind::Dequeue => queued || current,
        StepKind::Tick | StepKind::Yield => current,
        StepKind::Enqueue => !queued && !current,
        StepKind::Wakeup | StepKind::Idle => true,
    }
}

/// set_protect_slice() reads the slices of the queue when the task has left the tree. What the tree has for the shortest one
/// depends on its shape (`read_slices` in `kernel/arch/kernel/read.c`), so it is read from there.
fn slices_beside(kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId) {
    let mut after = sandbox.cpu_mut(cpu).clone();
    kernel.cpu(cpu, &mut after);
    let queue = &mut sandbox.cpu_mut(cpu).fair;
    (queue.min_slice, queue.max_slice) = (after.fair.min_slice, after.fair.max_slice);
}

/// What the sandbox has now, by object.
fn ours(sandbox: &mut PolicySandbox, input: &StepInput) -> Vec<(Of, Values)> {
    let cpu = input.cpu;
    if input.kind == StepKind::Idle {
        let shared = sandbox.balance_shared(cpu).map_or(0, |shared| shared.has_idle_cores);
        return vec![(Of(Subject::Cpu(cpu)), vec![("has_idle_cores", shared.into())])];
    }
    let pointers = sandbox.pointers(cpu);
    let (rq, features) = (sandbox.cpu_mut(cpu).clone(), sandbox.sys_mut().feat.clone());
    let mut all = vec![(Of(Subject::Cpu(cpu)), of_queue(&rq, &pointers, &features, input.kind))];
    for task in tasks(input, &pointers) {
        all.push((Of(Subject::Task(task)), of_task(sandbox.task_mut(task), pointers.curr == Some(task), &features)));
    }
    all
}

/// What the kernel has now, by object: the same as [`ours`].
fn theirs(kernel: &dyn State, sandbox: &mut PolicySandbox, input: &StepInput) -> Vec<(Of, Values)> {
    let cpu = input.cpu;
    if input.kind == StepKind::Idle {
        let mut shared = FgLlc::zeroed();
        let found = kernel.balance_shared(cpu, &mut shared) || kernel.llc(cpu, &mut shared);
        let value = if found { shared.has_idle_cores } else { 0 };
        return vec![(Of(Subject::Cpu(cpu)), vec![("has_idle_cores", value.into())])];
    }
    let features = sandbox.sys_mut().feat.clone();
    let mut rq = sandbox.cpu_mut(cpu).clone();
    kernel.cpu(cpu, &mut rq);
    let refs = kernel.refs(cpu);
    let pointers = Pointers { curr: refs.fair_curr, next: refs.next, last: refs.last, skip: refs.skip };
    let mut all = vec![(Of(Subject::Cpu(cpu)), of_queue(&rq, &pointers, &features, input.kind))];
    for task in tasks(input, &sandbox.pointers(cpu)) {
        let mut p = sandbox.task_mut(task).clone();
        kernel.task(task, &mut p);
        all.push((Of(Subject::Task(task)), of_task(&p, pointers.curr == Some(task), &features)));
    }
    all
}

/// The task of the step, and the current one if that is another.
fn tasks(input: &StepInput, pointers: &Pointers) -> Vec<u32> {
    let curr = pointers.curr.filter(|curr| *curr != input.task);
    std::iter::once(input.task).chain(curr).collect()
}

fn is_eevdf(features: &FgFeatures) -> bool {
    u32::from(features.value[FG_RQ]) != FG_RQ_CFS
}

fn of_queue(rq: &FgCpu, pointers: &Pointers, features: &FgFeatures, kind: StepKind) -> Values {
    let number = |task: Option<u32>| task.map_or(-1, i128::from);
    let v = match (is_eevdf(features), rq.fair.load_weight) {
        // Of an empty queue it says nothing.
        (true, 0) => 0,
        (true, _) => avg_vruntime(&rq.fair),
        (false, _) => rq.fair.min_vruntime,
    };
    let mut values = vec![
        (if is_eevdf(features) { "avg_vruntime" } else { "min_vruntime" }, i128::from(v)),
        ("next", number(pointers.next)),
        ("last", number(pointers.last)),
        ("skip", number(pointers.skip)),
        ("load.weight", rq.fair.load_weight.into()),
        ("h_nr_queued", rq.h_nr_running.into()),
        ("h_nr_delayed", rq.h_nr_delayed.into()),
        ("h_nr_idle", rq.idle_h_nr_running.into()),
        ("util_est", rq.est_enqueued.into()),
        ("cfs util_avg", rq.cfs.util_avg.into()),
        ("cfs load_avg", rq.cfs.load_avg.into()),
        ("cfs runnable_avg", rq.cfs.runnable_avg.into()),
    ];
    // Elsewhere it follows the step.
    if kind == StepKind::Tick {
        values.push(("misfit_task_load", rq.misfit_task_load.into()));
    }
    values
}

/// `is_curr`: it is the current entity of its run queue.
fn of_task(p: &FgTask, is_curr: bool, features: &FgFeatures) -> Values {
    let (queued, is_eevdf) = (p.on_rq != 0, is_eevdf(features));
    let relative = p.flags & FG_TASK_REL_DEADLINE != 0;
    let by_flag = u32::from(features.value[FG_PROTECT]) == FG_PROTECT_PARITY;
    let protected = i128::from(p.flags & FG_TASK_PROTECTED != 0);
    // A member that is not in use has any value.
    let used = |used: bool, value: i128| if used { value } else { 0 };
    vec![
        ("vruntime", used(queued || !is_eevdf, p.vruntime.into())),
        ("deadline", used(is_eevdf && (queued || relative), p.deadline.into())),
        ("vlag", used(is_eevdf && !queued, p.vlag.into())),
        ("protected", used(is_eevdf && by_flag && is_curr && queued, protected)),
        ("vprot", used(is_eevdf && !by_flag && is_curr && queued, p.vprot.into())),
        ("weight", p.weight.into()),
        ("on_rq", p.on_rq.into()),
        ("sched_delayed", (p.flags & FG_TASK_DELAYED).into()),
        ("util_est", p.est.ewma.into()),
        ("util_avg", p.avg.util_avg.into()),
        ("load_avg", p.avg.load_avg.into()),
        ("runnable_avg", p.avg.runnable_avg.into()),
    ]
}

//! Reports of picks: what a run queue and its tasks look like where one is picked, tested or has to leave.

use fairground_sim::{PickKind, PickReport, QueuedTask, TaskId};

use crate::ffi::*;
use crate::world::{is_rt, World};

/// A task on its queue, whose average vruntime is `v` (with CFS: min_vruntime). `rq` and `protect`: the values of the features of these
/// names.
pub fn queued_task(p: &FgTask, v: u64, rq: u8, protect: u8) -> QueuedTask {
    let (is_eevdf, by_flag) = (u32::from(rq) != FG_RQ_CFS, u32::from(protect) == FG_PROTECT_PARITY);
    let lag = v.wrapping_sub(p.vruntime) as i64;
    if !is_eevdf {
        return QueuedTask { lag, ..QueuedTask::default() };
    }
    // Up to v6.16 a protected task is so until its deadline.
    let end = match (by_flag, p.flags & FG_TASK_PROTECTED != 0) {
        (true, true) => p.deadline,
        (true, false) => p.vruntime,
        (false, _) => p.vprot,
    };
    let protection = if p.on_cpu != 0 { (end.wrapping_sub(p.vruntime) as i64).max(0) } else { 0 };
    QueuedTask { lag, deadline: p.deadline.wrapping_sub(v) as i64, protection }
}

/// Describes a task of the queue of `cpu`, and the current one beside it. Tasks of groups are described on the queue of
/// their group.
pub(crate) fn report(world: &World, kind: PickKind, cpu: usize, task: TaskId, rule: u32) -> PickReport {
    let feat = &world.sys().feat.value;
    let is_eevdf = u32::from(feat[FG_RQ]) != FG_RQ_CFS;
    let state = |task: TaskId| {
        let queue = world.fair_queue(cpu, world.group_of(task));
        let v = if is_eevdf { avg_vruntime(queue) } else { queue.min_vruntime };
        queued_task(world.task(task), v, feat[FG_RQ], feat[FG_PROTECT])
    };
    let other = world.curr(cpu).filter(|curr| *curr != task);
    let other = other.filter(|curr| world.task(*curr).on_rq != 0 && !is_rt(world.task(*curr)));
    PickReport {
        kind,
        cpu: cpu as u32,
        task,
        rule: rule as u16,
        queued: world.cpus[cpu].h_nr_running,
        state: state(task),
        current: other.map(|curr| (curr, state(curr))),
    }
}

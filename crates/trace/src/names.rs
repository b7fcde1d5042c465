//! Names and priorities of the tasks of a run, derived from its workload, or as a kernel says them.
//!
//! The event stream numbers tasks and says who made whom. A program has no conditions, so the templates that a task
//! spawns come in an order that its program alone decides: walking it gives every child its template. What runs on a real
//! kernel has no workload: its threads are named one by one ([`crate::Export::name_thread`]).

use std::sync::Arc;

use fairground_sim::TaskId;
use fairground_workload::{Op, Policy, SpecId, TaskSpec, Workload};

/// How the names of events begin that the kernel does not have.
pub(crate) const OURS: &str = "fairground_";

/// A thread of a real kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealThread {
    /// At most 15 bytes.
    pub comm: String,
    /// Its id, not 0.
    pub pid: u32,
    /// The kernel's priority: 120 is nice 0.
    pub prio: i32,
}

/// pid of task 0 of a workload; idle tasks are pid 0, as in the kernel.
const FIRST_PID: u32 = 1000;

/// Names tasks as they are forked.
pub struct Names {
    /// None: threads of a real kernel.
    workload: Option<Arc<Workload>>,
    /// Templates of the tasks of time 0 that are still to come, last first.
    to_start: Vec<SpecId>,
    tasks: Vec<Walk>,
    /// By task: those of a real kernel.
    threads: Vec<Option<RealThread>>,
}

/// Where a task stands in the list of what it spawns.
struct Walk {
    spec: SpecId,
    /// Next step of the program to look at.
    step: usize,
    /// Repetitions left of the loops around `step`, outermost first; `None`: for ever.
    loops: Vec<Option<u64>>,
    /// Children left of the spawn before `step`, and their template.
    pending: (u32, SpecId),
}

impl Names {
    /// The names before the run begins.
    pub fn new(workload: Arc<Workload>) -> Names {
        let starts = workload.start.iter().flat_map(|s| std::iter::repeat_n(s.spec, s.count as usize));
        let mut to_start: Vec<SpecId> = starts.collect();
        to_start.reverse();
        Names { workload: Some(workload), to_start, tasks: Vec::new(), threads: Vec::new() }
    }

    /// For the threads of a real kernel.
    pub fn without_workload() -> Names {
        Names { workload: None, to_start: Vec::new(), tasks: Vec::new(), threads: Vec::new() }
    }

    /// A task is this thread of a real kernel, from now on.
    pub fn name_thread(&mut self, task: TaskId, thread: &RealThread) {
        let task = task as usize;
        self.threads.resize(self.threads.len().max(task + 1), None);
        self.threads[task] = Some(thread.clone());
    }

    fn real(&self, task: TaskId) -> Option<&RealThread> {
        self.threads.get(task as usize)?.as_ref()
    }

    /// A task came into being. Ids are dense and rise.
    pub fn fork(&mut self, parent: Option<TaskId>, child: TaskId) {
        if self.real(child).is_some() {
            return;
        }
        debug_assert_eq!(child as usize, self.tasks.len(), "task ids are dense");
        let spec = match parent.and_then(|p| self.tasks.get_mut(p as usize)) {
            Some(parent) => self.workload.as_ref().and_then(|workload| parent.next_child(&workload.tasks)),
            None => self.to_start.pop(),
        };
        self.tasks.push(Walk { spec: spec.unwrap_or(SpecId::MAX), step: 0, loops: Vec::new(), pending: (0, 0) });
    }

    /// The comm of a task at this point of the run.
    pub fn comm(&self, task: TaskId) -> &str {
        self.real(task).map_or_else(|| self.spec(task).map_or("?", |s| &s.name), |thread| &thread.comm)
    }

    /// The pid of a task.
    pub fn pid(&self, task: TaskId) -> u32 {
        self.real(task).map_or(FIRST_PID + task, |thread| thread.pid)
    }

    /// Kernel priority at birth: 120 + nice for the fair policies, 99 - rt priority for FIFO and RR.
    pub fn prio(&self, task: TaskId) -> i32 {
        if let Some(thread) = self.real(task) {
            return thread.prio;
        }
        self.spec(task).map_or(120, |s| match s.attr.policy {
            Policy::Fifo | Policy::Rr => 99 - i32::from(s.attr.rt_priority),
            Policy::Other | Policy::Batch | Policy::Idle => 120 + i32::from(s.attr.nice),
        })
    }

    /// Index of the task's template; `None` if the workload has none for it.
    pub(crate) fn template(&self, task: TaskId) -> Option<SpecId> {
        self.tasks.get(task as usize).map(|walk| walk.spec).filter(|spec| *spec != SpecId::MAX)
    }

    fn spec(&self, task: TaskId) -> Option<&TaskSpec> {
        let walk = self.tasks.get(task as usize)?;
        self.workload.as_ref()?.tasks.get(walk.spec as usize)
    }
}

impl Walk {
    /// The template of the next child; `None` if the program spawns no more.
    fn next_child(&mut self, specs: &[TaskSpec]) -> Option<SpecId> {
        let program = &specs.get(self.spec as usize)?.program;
        while self.pending.0 == 0 {
            self.walk(program.get(self.step)?);
        }
        self.pending.0 -= 1;
        Some(self.pending.1)
    }

    fn walk(&mut self, op: &Op) {
        self.step += 1;
        match op {
            Op::Spawn { spec, count, .. } => self.pending = (*count, *spec),
            Op::Loop { times: Some(0), end } => self.step = *end as usize,
            Op::Loop { times, .. } => self.loops.push(*times),
            Op::EndLoop { begin } => match self.loops.last_mut() {
                Some(Some(left)) if *left > 1 => {
                    *left -= 1;
                    self.step = *begin as usize + 1;
                }
                Some(None) => self.step = *begin as usize + 1,
                _ => {
                    self.loops.pop();
                }
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use fairground_sim::testing::{spec, workload};
    use fairground_workload::{ProgramBuilder, Start};

    use super::*;

    fn spawn(spec: SpecId, count: u32) -> Op {
        Op::Spawn { spec, count, thread: true }
    }

    /// main: 2 x (one a, two b), then one c.
    #[test]
    fn children_are_named_by_the_order_of_the_program() {
        let mut main = ProgramBuilder::new();
        main.repeat(Some(0), |b| {
            b.op(spawn(3, 9));
        });
        main.repeat(Some(2), |b| {
            b.op(spawn(1, 1)).op(Op::Yield).op(spawn(2, 2));
        });
        main.op(spawn(3, 1));
        let mut fifo = spec("c", vec![]);
        fifo.attr.policy = Policy::Fifo;
        fifo.attr.rt_priority = 10;
        let templates = vec![spec("main", main.build().to_vec()), spec("a", vec![]), spec("b", vec![]), fifo];
        let start =
            vec![Start { spec: 0, count: 1, cpu: 0, process: 0 }, Start { spec: 2, count: 1, cpu: 0, process: 0 }];
        let workload = Workload { start, ..workload(vec![], templates) };
        let mut names = Names::new(Arc::new(workload));
        names.fork(None, 0);
        names.fork(None, 1);
        for child in 2..9 {
            names.fork(Some(0), child);
        }
        names.fork(Some(0), 9); // more than the program spawns
        let comms: Vec<_> = (0..10).map(|t| names.comm(t)).collect();
        assert_eq!(comms, ["main", "b", "a", "b", "b", "a", "b", "b", "c", "?"]);
        assert_eq!((names.prio(0), names.prio(8)), (120, 89));
    }

    #[test]
    fn threads_of_a_kernel_have_its_names_and_pids() {
        let mut names = Names::without_workload();
        let thread = RealThread { comm: "cat".into(), pid: 4711, prio: 110 };
        names.name_thread(2, &thread);
        names.fork(None, 2);
        assert_eq!((names.comm(2), names.pid(2), names.prio(2)), ("cat", 4711, 110));
        names.name_thread(2, &RealThread { comm: "dog".into(), ..thread });
        assert_eq!((names.comm(2), names.comm(0)), ("dog", "?"));
    }
}

//! What happens around the policy, once for everybody who asks it: tasks onto and off run queues, picks, moves, and the
//! passes of load balancing, in the order that `policy/fg.h` prescribes.
//!
//! Three hosts run these sequences, and so the referee judges the code that simulations run:
//!
//! | host | clock and price | what it adds |
//! |---|---|---|
//! | [`Fair`](crate::Fair) | the engine's | reports, interrupts, tracepoints |
//! | [`PolicySandbox`](crate::PolicySandbox) | the kernel's; free | the queues of a real kernel, shown as they are asked for |
//! | [`ReplayedState`](crate::ReplayedState) | the recording's; looks only | moves that balancing finds are left to the recording |
//!
//! | module | what |
//! |---|---|
//! | `queue` | enqueue, dequeue, preemption, moves, ticks |
//! | `pick` | which task runs next, and what becomes of the one before |
//! | `task_group` | groups that compete as one, within the sequences of `queue` and `pick` |
//! | `balance` | the passes over the domains of a CPU |
//! | `run_queue`, `deadline` | containers of queued entities |
//! | `cfs_tasks` | the order in which balancing looks at tasks |

mod balance;
mod cfs_tasks;
mod deadline;
mod pick;
mod queue;
mod run_queue;
mod task_group;

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::{MigrateCause, TaskId};

use crate::ffi::{FgBalance, FG_RQ};
use crate::world::World;
pub(crate) use cfs_tasks::CfsTasks;
pub use deadline::DeadlineQueue;
pub use run_queue::VruntimeQueue;
pub(crate) use run_queue::{FairQueue, RunQueue};

/// The policy's state of a machine, and the containers that it leaves to its caller.
pub(crate) struct RunQueues {
    pub world: World,
    pub rqs: Vec<RunQueue>,
    /// Which task of a run queue is moved first.
    pub cfs_tasks: CfsTasks,
    /// Tasks between detach_tasks and attach_tasks; empty between calls.
    pub detached: Vec<TaskId>,
}

/// What becomes of a run queue from which load balancing is about to pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Its tasks are detached one by one.
    Pull,
    /// It counts as pulled from, and nothing moves: the recording shows by itself who did.
    AssumePulled,
    /// Its tasks are not known: the attempt ends where it is.
    Unknown,
}

/// Whoever runs the sequences: where time comes from, what work costs, and who wants to know what happened.
///
/// Statically dispatched: a simulation runs nothing but its own reports.
pub(crate) trait Host {
    /// update_rq_clock of `cpu`, with the time and the interrupt time that the caller sees.
    fn update_clock(&mut self, world: &mut World, cpu: usize);

    /// The kernel's `jiffies`: ticks since boot, CONFIG_HZ of them a second.
    fn jiffies(&self) -> u64;

    /// Scheduler work of the calling CPU: `n` units.
    fn charge(&mut self, work: SoftCost, n: u32);

    /// ns: a clock of the calling CPU that advances with what is charged to it.
    fn elapsed_ns(&self) -> u64;

    /// resched_curr: `cpu` is to run schedule(). Once until it has.
    fn resched(&mut self, _cpu: usize) {}

    /// schedutil wants the clock of `cpu` at this frequency.
    fn request_frequency(&mut self, _cpu: usize, _khz: u32) {}

    /// PELT signals of `cpu` and of a task on it may have been updated.
    fn signals_updated(&mut self, _world: &World, _cpu: usize, _task: Option<TaskId>) {}

    /// set_task_cpu has changed the CPU of a task.
    fn migrated(&mut self, _task: TaskId, _from: CpuId, _to: CpuId, _cause: MigrateCause) {}

    /// 0..1024, a new draw at each call, for domains that newly idle balancing may pass over (NI_RANDOM).
    fn draw(&mut self, _world: &World, _cpu: usize) -> u32 {
        0
    }

    /// A look for imbalance in the domain of `b` is over. `found`: it has found a source.
    fn balance_looked(&mut self, _world: &World, _b: &FgBalance, _found: bool) {}

    /// What to do with the source of `b`, whose tasks the host may still fill in.
    fn balance_source(&mut self, _rqs: &mut RunQueues, _b: &FgBalance) -> Source {
        Source::Pull
    }

    /// The source of the last [`Self::balance_looked`] is done with. `moved`: tasks pulled from it. `active`: its stopper is
    /// asked to push one.
    fn balance_pulled(&mut self, _moved: u32, _active: bool) {}

    /// The stopper of `cpu` is asked to push a task away.
    fn push_requested(&mut self, _world: &mut World, _cpu: usize) {}

    /// The stopper of `src` is about to move a task to `dst`, in the domain `sd` of that.
    fn pushing(&mut self, _sd: usize, _src: CpuId, _dst: CpuId) {}
}

impl RunQueues {
    /// Empty run queues around the structs of a machine.
    pub fn new(world: World) -> RunQueues {
        let (nr_cpus, rq) = (world.cpus.len(), world.sys().feat.value[FG_RQ]);
        RunQueues {
            rqs: (0..nr_cpus).map(|_| RunQueue::new(rq)).collect(),
            cfs_tasks: CfsTasks::new(nr_cpus),
            detached: Vec::new(),
            world,
        }
    }

    /// Takes every fair task off the containers, with the policy's structs left as they are.
    pub fn clear(&mut self) {
        for (cpu, rq) in self.rqs.iter_mut().enumerate() {
            if rq.fair.is_empty() && self.cfs_tasks.len(cpu) == 0 && !rq.resched {
                continue;
            }
            rq.fair.clear();
            rq.resched = false;
            self.cfs_tasks.clear(cpu);
        }
    }

    /// Passes on what schedutil wants of the clock of `cpu`, if anything, since signals of the CPU were updated.
    pub fn request_frequency<H: Host>(&mut self, host: &mut H, cpu: usize) {
        if let Some(khz) = self.world.take_frequency(cpu) {
            host.request_frequency(cpu, khz);
        }
    }

    /// resched_curr: once, until schedule() runs there.
    pub fn resched<H: Host>(&mut self, host: &mut H, cpu: usize) {
        if !self.rqs[cpu].resched {
            self.rqs[cpu].resched = true;
            host.resched(cpu);
        }
    }
}

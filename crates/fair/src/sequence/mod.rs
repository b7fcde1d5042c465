//! The code around the policy's functions: enqueue, dequeue, pick, migration, and the passes of load balancing. It
//! makes the policy's calls in the order that `policy/fg.h` prescribes.
//!
//! Three hosts run these sequences, so the referee tests the code that simulations run:
//!
//! | host | clock and costs | what it adds |
//! |---|---|---|
//! | [`Fair`](crate::Fair) | the engine's | reports, interrupts, tracepoints |
//! | [`PolicySandbox`](crate::PolicySandbox) | the kernel's; no costs | the queues of a real kernel, read on demand |
//! | [`ReplayedState`](crate::ReplayedState) | the recording's; only looks cost | migrations as recorded |
//!
//! | module | what |
//! |---|---|
//! | `queue` | enqueue, dequeue, preemption, moves, ticks |
//! | `pick` | which task runs next, and put_prev of the one before |
//! | `hrtick` | the timer that ends a slice between two ticks |
//! | `task_group` | groups that compete as one, within the sequences of `queue` and `pick` |
//! | `bandwidth` | groups whose quota is used up, and their timers |
//! | `server` | the deadline server of fair tasks |
//! | `balance` | the passes over the domains of a CPU |
//! | `run_queue`, `deadline` | containers of queued entities |
//! | `cfs_tasks` | the order in which balancing looks at tasks |

mod balance;
mod bandwidth;
mod cfs_tasks;
mod deadline;
mod hrtick;
mod pick;
mod queue;
mod run_queue;
mod server;
mod task_group;

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::{MigrateCause, TaskId};

use crate::ffi::{FgBalance, FG_MAX_TGS, FG_MAX_TG_DEPTH, FG_PREEMPT_MODEL, FG_PREEMPT_MODEL_FULL, FG_RQ};
use crate::world::{depths, NewGroup, World};
pub(crate) use cfs_tasks::CfsTasks;
pub use deadline::DeadlineQueue;
pub use run_queue::VruntimeQueue;
pub(crate) use run_queue::{FairQueue, RunQueue};

/// The policy's state of a machine, and the containers that it leaves to its caller.
pub(crate) struct RunQueues {
    pub world: World,
    pub rqs: Vec<RunQueue>,
    /// The order in which balancing takes tasks off a run queue.
    pub cfs_tasks: CfsTasks,
    /// Tasks between detach_tasks and attach_tasks; empty between calls.
    pub detached: Vec<TaskId>,
    /// The groups with a quota.
    limited: Vec<bandwidth::LimitedGroup>,
    /// Whether a task that asks for a slice of its own was ever queued.
    slices_asked: bool,
}

/// What load balancing does with the source queue that it has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Its tasks are detached one by one.
    Pull,
    /// The pull counts as done, but moves nothing: migrations are in the recording.
    AssumePulled,
    /// Its tasks are not known: the attempt ends here.
    Unknown,
}

/// The caller of the sequences: it provides the clock and the costs of work, and receives reports.
///
/// Statically dispatched, so that a host without a report does not pay for it.
pub(crate) trait Host {
    /// update_rq_clock of `cpu`, with the time and the interrupt time that the caller sees.
    fn update_clock(&mut self, world: &mut World, cpu: usize);

    /// The kernel's `jiffies`: ticks since boot, CONFIG_HZ of them a second.
    fn jiffies(&self) -> u64;

    /// Charges the calling CPU for `n` units of scheduler work.
    fn charge(&mut self, work: SoftCost, n: u32);

    /// ns: a clock of the calling CPU that advances with what is charged to it.
    fn elapsed_ns(&self) -> u64;

    /// resched_curr: `cpu` must run schedule(). Reported once until it has.
    fn resched(&mut self, _cpu: usize) {}

    /// The timer that ends the slice of the current task of `cpu` is to expire at `at`, ns; `None`: not at all.
    fn set_hrtick(&mut self, _cpu: usize, _at: Option<u64>) {}

    /// smp_call_function_single_async: `cpu` is to call [`RunQueues::unthrottle_asked`].
    fn call_unthrottle(&mut self, _cpu: usize) {}

    /// A pick of `cpu` ends with this task, which is still queued or current, by a rule of `policy/pick_rules.h`.
    fn picked(&mut self, _world: &World, _cpu: usize, _task: TaskId, _rule: u32) {}

    /// A woken or moved task on the queue of `cpu` was tested against the current one; the rule says whether it
    /// preempts.
    fn wakeup_tested(&mut self, _world: &World, _cpu: usize, _task: TaskId, _rule: u32) {}

    /// Time takes the CPU from its current task, by this rule.
    fn slice_ended(&mut self, _world: &World, _cpu: usize, _rule: u32) {}

    /// schedutil requests this frequency for the clock of `cpu`.
    fn request_frequency(&mut self, _cpu: usize, _khz: u32) {}

    /// PELT signals of `cpu` and of a task on it may have been updated.
    fn signals_updated(&mut self, _world: &World, _cpu: usize, _task: Option<TaskId>) {}

    /// set_task_cpu has changed the CPU of a task.
    fn migrated(&mut self, _task: TaskId, _from: CpuId, _to: CpuId, _cause: MigrateCause) {}

    /// 0..1024, a new draw at each call, for domains that newly idle balancing may pass over (NI_RANDOM).
    fn draw(&mut self, _world: &World, _cpu: usize) -> u32 {
        0
    }

    /// find_busiest_group and find_busiest_queue in the domain of `b` have ended. `found`: they found a source.
    fn balance_looked(&mut self, _world: &World, _b: &FgBalance, _found: bool) {}

    /// What to do with the source of `b`. The host may fill in its tasks before it answers.
    fn balance_source(&mut self, _rqs: &mut RunQueues, _b: &FgBalance) -> Source {
        Source::Pull
    }

    /// The pull from the source of the last [`Self::balance_looked`] has ended. `moved`: tasks pulled. `active`: active
    /// balance was started.
    fn balance_pulled(&mut self, _moved: u32, _active: bool) {}

    /// Active balance: the stopper of `cpu` must push a task away.
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
            limited: Vec::new(),
            slices_asked: false,
            world,
        }
    }

    /// Makes the groups that compete as one, of which parents come before their children. No task exists yet.
    ///
    /// # Errors
    /// More groups, or groups deeper within others, than the policy has room for.
    pub fn set_groups(&mut self, groups: &[NewGroup]) -> Result<(), String> {
        let deepest = depths(groups.iter().map(|group| group.parent)).into_iter().max();
        if deepest.is_some_and(|depth| depth >= FG_MAX_TG_DEPTH) || groups.len() > FG_MAX_TGS as usize {
            return Err(format!(
                "expected {FG_MAX_TGS} task groups at most, {FG_MAX_TG_DEPTH} of them one within the other"
            ));
        }
        let order = self.world.sys().feat.value[FG_RQ];
        self.world.make_groups(groups);
        for rq in &mut self.rqs {
            rq.nested = groups.iter().map(|_| FairQueue::new(order)).collect();
        }
        Ok(())
    }

    /// Takes every fair task and group off the containers, with the policy's structs left as they are.
    pub fn clear(&mut self) {
        for (cpu, rq) in self.rqs.iter_mut().enumerate() {
            rq.nested.iter_mut().filter(|queue| !queue.is_empty()).for_each(FairQueue::clear);
            if !rq.clear_resched() && rq.fair.is_empty() && self.cfs_tasks.len(cpu) == 0 {
                continue;
            }
            rq.hrtick_at = None;
            rq.fair.clear();
            self.cfs_tasks.clear(cpu);
        }
    }

    /// Reports schedutil's new request for the clock of `cpu`, if there is one, after its signals were updated.
    pub fn request_frequency<H: Host>(&mut self, host: &mut H, cpu: usize) {
        if let Some(khz) = self.world.take_frequency(cpu) {
            host.request_frequency(cpu, khz);
        }
    }

    /// resched_curr_lazy: what the fair class asks for. With `preempt-model=lazy` a CPU that runs a task is not
    /// interrupted for it: [`RunQueue::resched_lazy`].
    pub fn resched_lazy<H: Host>(&mut self, host: &mut H, cpu: usize) {
        let model = u32::from(self.world.sys().feat.value[FG_PREEMPT_MODEL]);
        if model == FG_PREEMPT_MODEL_FULL || self.world.curr(cpu).is_none() {
            self.resched(host, cpu);
        } else if !self.rqs[cpu].resched {
            self.rqs[cpu].resched_lazy = true;
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

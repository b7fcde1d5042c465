//! A scheduler called as the engine would call it.

use std::sync::Arc;

use fairground_fair::{Fair, Features, Options};
use fairground_machine::testing::Shape;
use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::{Env, Pick, Request, Scheduler, TaskId, TaskInfo, WakeContext};
use fairground_workload::{Policy, SchedAttr};

pub const MS: u64 = 1_000_000;

/// A scheduler and the requests of its last call.
pub struct Rig {
    pub fair: Fair,
    pub env: Env,
    pub now: u64,
    pub requests: Vec<Request>,
}

impl Rig {
    pub fn new(machine: Machine, scheduler: &str) -> Rig {
        Rig::with(machine, scheduler, Options::default())
    }

    pub fn with(machine: Machine, scheduler: &str, options: Options) -> Rig {
        let machine = Arc::new(machine);
        let features = Features::parse(scheduler).unwrap();
        let fair = Fair::new(Arc::clone(&machine), features, options).unwrap();
        Rig { fair, env: Env::new(machine, 250, 1), now: MS, requests: Vec::new() }
    }

    pub fn call<R>(&mut self, cpu: CpuId, f: impl FnOnce(&mut Fair, &mut Env) -> R) -> R {
        self.env.begin(self.now, cpu);
        let result = f(&mut self.fair, &mut self.env);
        self.env.drain(&mut self.requests);
        self.env.take_charge(cpu);
        self.fair.audit(&self.env).unwrap();
        result
    }

    pub fn fork(&mut self, id: TaskId, attr: SchedAttr, affinity: CpuMask) {
        let info = TaskInfo::new(id, attr, affinity);
        self.call(0, |f, e| f.fork(e, 0, None, &info));
    }

    pub fn fair_task(&mut self, id: TaskId, affinity: &str) {
        self.fork(id, SchedAttr::default(), CpuMask::parse_list(affinity).unwrap());
    }

    pub fn rt_task(&mut self, id: TaskId, policy: Policy, prio: u8, affinity: &str) {
        let attr = SchedAttr { policy, rt_priority: prio, ..SchedAttr::default() };
        self.fork(id, attr, CpuMask::parse_list(affinity).unwrap());
    }

    pub fn schedule(&mut self, cpu: CpuId) -> Pick {
        self.call(cpu, |f, e| f.schedule(e, cpu))
    }

    pub fn sleep(&mut self, cpu: CpuId, task: TaskId) -> Pick {
        self.call(cpu, |f, e| f.block(e, cpu, task));
        self.schedule(cpu)
    }

    pub fn wake(&mut self, cpu: CpuId, waker: Option<TaskId>, task: TaskId) {
        let ctx = WakeContext { cpu, waker, sync: false };
        self.call(cpu, |f, e| f.wake(e, ctx, task));
    }

    /// The overload flag of the first partition.
    pub fn overload(&self) -> u32 {
        // SAFETY: linked to a root of the scheduler, which lives.
        unsafe { (*self.fair.cpu(0).rd).overload }
    }

    pub fn asked(&self, wanted: impl Fn(&Request) -> bool) -> bool {
        self.requests.iter().any(wanted)
    }

    pub fn resched_of(&self, cpu: CpuId) -> bool {
        self.asked(|r| matches!(r, Request::Resched { to, .. } if *to == cpu))
    }
}

/// Four CPUs, 0 and 1 behind one cache, 2 and 3 behind another.
pub fn two_caches() -> Machine {
    let mut shape = Shape::from_seed(1);
    (shape.packages, shape.nodes, shape.llcs, shape.clusters) = (1, 1, 2, 1);
    (shape.cores, shape.threads, shape.types) = (2, 1, 1);
    shape.build()
}

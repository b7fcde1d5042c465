//! A toy scheduler and small machines, for tests of everything above the engine. No policy worth the name.

use std::collections::VecDeque;
use std::sync::Arc;

use fairground_machine::{
    Cluster, Costs, CpuId, CpuMask, Distance, FreqDomain, IdleScope, IdleState, Machine, Opp, SoftCost,
};
use fairground_workload::{GroupClamp, Object, Op, Score, Start, TaskSpec, Workload};

use crate::{
    Change, Decision, DecisionKind, Env, Hotplug, IdleView, Ipi, MigrateCause, Pick, Reason, Rule, Scheduler, TaskId,
    TaskInfo, WakeContext,
};

/// Round robin per CPU, a slice of one tick; places on the previous CPU if it idles, else on the lowest idle one,
/// else on the previous.
#[derive(Debug, Default)]
pub struct RoundRobin {
    queues: Vec<VecDeque<TaskId>>,
    current: Vec<Option<TaskId>>,
    tasks: Vec<ToyTask>,
    /// CPUs without any task.
    idle: CpuMask,
    /// Task that the stopper is to move off the CPU.
    evict: Vec<Option<TaskId>>,
    /// CPUs that take tasks.
    active: CpuMask,
    /// The CPU that goes offline.
    leaving: Option<CpuId>,
}

#[derive(Clone, Debug)]
struct ToyTask {
    cpu: CpuId,
    affinity: CpuMask,
    runnable: bool,
}

impl RoundRobin {
    /// For a machine of `nr_cpus`.
    pub fn new(nr_cpus: usize) -> Self {
        RoundRobin {
            queues: vec![VecDeque::new(); nr_cpus],
            current: vec![None; nr_cpus],
            tasks: Vec::new(),
            idle: CpuMask::first_n(nr_cpus),
            evict: vec![None; nr_cpus],
            active: CpuMask::first_n(nr_cpus),
            leaving: None,
        }
    }

    /// A task without an active CPU may use all from now on.
    fn widen(&mut self, env: &mut Env, task: TaskId) {
        if !self.tasks[task as usize].affinity.intersects(&self.active) {
            self.tasks[task as usize].affinity = CpuMask::first_n(self.queues.len());
            env.widened(task);
        }
    }

    fn choose(&self, task: TaskId) -> (CpuId, u16) {
        let t = &self.tasks[task as usize];
        let usable = t.affinity.and(&self.active);
        if usable.test(t.cpu) && self.idle.test(t.cpu) {
            return (t.cpu, 0);
        }
        match self.idle.and(&usable).first() {
            Some(cpu) => (cpu, 1),
            None if usable.test(t.cpu) => (t.cpu, 2),
            None => (usable.first().unwrap_or(0), 2),
        }
    }

    fn place(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, kind: DecisionKind) {
        self.widen(env, task);
        let (chosen, rule) = self.choose(task);
        let prev = self.tasks[task as usize].cpu;
        env.charge(cpu, SoftCost::Probe, 1);
        let queued = self.queues[prev as usize].len() as u64;
        env.reason(Reason { note: 0, rule, cpu: Some(prev), numbers: [queued, 0, 0] });
        env.decided(Decision { kind, task, prev, chosen, rule, probes: 1, group_cpus: 0 });
        let cause = if kind == DecisionKind::Fork { MigrateCause::Fork } else { MigrateCause::Wake };
        self.put(env, task, chosen, cause);
        env.charge(cpu, SoftCost::Enqueue, 1);
        env.enqueued(task, chosen);
        if self.current[chosen as usize].is_none() {
            env.resched(chosen);
        }
    }

    fn put(&mut self, env: &mut Env, task: TaskId, cpu: CpuId, cause: MigrateCause) {
        let t = &mut self.tasks[task as usize];
        t.runnable = true;
        let from = std::mem::replace(&mut t.cpu, cpu);
        if from != cpu {
            env.migrated(task, from, cpu, cause);
        }
        self.queues[cpu as usize].push_back(task);
        self.idle.clear(cpu);
    }
}

impl Scheduler for RoundRobin {
    fn fork(&mut self, env: &mut Env, cpu: CpuId, _parent: Option<TaskId>, child: &TaskInfo) {
        self.tasks.push(ToyTask { cpu, affinity: child.affinity, runnable: false });
        self.place(env, cpu, child.id, DecisionKind::Fork);
    }

    fn exec(&mut self, _env: &mut Env, _cpu: CpuId, _task: TaskId) {}

    fn wake(&mut self, env: &mut Env, ctx: WakeContext, task: TaskId) {
        env.charge(ctx.cpu, SoftCost::Wakeup, 1);
        self.place(env, ctx.cpu, task, DecisionKind::Wake);
    }

    fn block(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        env.charge(cpu, SoftCost::Dequeue, 1);
        self.tasks[task as usize].runnable = false;
    }

    fn exit(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.block(env, cpu, task);
    }

    fn yield_now(&mut self, _env: &mut Env, _cpu: CpuId, _task: TaskId) {}

    fn change(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, change: &Change) {
        let Change::Affinity(mask) = change else { return };
        self.tasks[task as usize].affinity = *mask;
        if !mask.test(cpu) {
            self.evict[cpu as usize] = Some(task);
            env.stop(cpu);
        }
    }

    fn change_group(&mut self, _env: &mut Env, _cpu: CpuId, _new: &GroupClamp) {}

    fn has_hotplug(&self) -> bool {
        true
    }

    fn hotplug(&mut self, env: &mut Env, cpu: CpuId, step: Hotplug) {
        match step {
            Hotplug::Deactivate => {
                self.active.clear(cpu);
                self.leaving = Some(cpu);
                env.resched(cpu);
            }
            Hotplug::Dead => self.leaving = None,
            Hotplug::Activate => self.active.set(cpu),
        }
    }

    fn schedule(&mut self, env: &mut Env, cpu: CpuId) -> Pick {
        env.charge(cpu, SoftCost::Pick, 1);
        let queue = &mut self.queues[cpu as usize];
        if let Some(prev) = self.current[cpu as usize].take() {
            if self.tasks[prev as usize].runnable {
                queue.push_back(prev);
            }
        }
        if self.evict[cpu as usize].is_some() {
            return Pick::Stopper;
        }
        match queue.pop_front() {
            Some(task) => {
                self.current[cpu as usize] = Some(task);
                self.idle.clear(cpu);
                if self.leaving == Some(cpu) {
                    self.evict[cpu as usize] = Some(task);
                    env.stop(cpu);
                }
                Pick::Task(task)
            }
            None => {
                self.idle.set(cpu);
                Pick::Idle
            }
        }
    }

    fn stopper(&mut self, env: &mut Env, cpu: CpuId) {
        let Some(task) = self.evict[cpu as usize].take() else { return };
        self.queues[cpu as usize].retain(|t| *t != task);
        self.widen(env, task);
        let to = self.choose(task).0;
        env.charge(cpu, SoftCost::Migrate, 1);
        self.put(env, task, to, MigrateCause::Affinity);
        env.resched(to);
    }

    fn tick(&mut self, env: &mut Env, cpu: CpuId) {
        env.charge(cpu, SoftCost::Tick, 1);
        if !self.queues[cpu as usize].is_empty() {
            env.resched(cpu);
        }
    }

    fn ipi(&mut self, _env: &mut Env, _cpu: CpuId, _ipi: Ipi) {}

    fn balance(&mut self, _env: &mut Env, _cpu: CpuId) {}

    fn idle_enter(&mut self, _env: &mut Env, _cpu: CpuId, _state: IdleView) {}

    fn idle_exit(&mut self, _env: &mut Env, _cpu: CpuId) {}

    fn tick_stopped(&mut self, _env: &mut Env, _cpu: CpuId, _stopped: bool) {}

    fn frequency_limits(&mut self, _env: &mut Env, _cpus: &CpuMask) {}

    fn rule(&self, rule: u16) -> Rule<'_> {
        Rule::named(["prev-idle", "lowest-idle", "prev-busy"].get(rule as usize).unwrap_or(&"?"))
    }

    fn note_text(&self, note: u16) -> &str {
        ["CPU {cpu} has {a} queued"].get(note as usize).unwrap_or(&"")
    }

    fn notes(&self) -> Vec<String> {
        vec!["toy: round robin, no balancing".into()]
    }

    fn audit(&self, _env: &Env) -> Result<(), String> {
        for (cpu, queue) in self.queues.iter().enumerate() {
            for task in queue.iter().chain(&self.current[cpu]) {
                let t = &self.tasks[*task as usize];
                if t.cpu as usize != cpu || !t.runnable {
                    return Err(format!("task {task} is on the queue of CPU {cpu}: {t:?}"));
                }
            }
        }
        Ok(())
    }
}

/// A CPU-scope idle state that takes no time: exit latency and residency as the kernel sees them, ns.
pub fn idle_state(name: &str, exit_latency_ns: u64, target_residency_ns: u64) -> IdleState {
    IdleState {
        name: name.into(),
        scope: IdleScope::Cpu,
        entry_ns: 0,
        wake_ns: 0,
        exit_latency_ns,
        target_residency_ns,
        power_mw: 0.0,
        transition_uj: 0.0,
        polling: false,
        wake_scatter: 1.0,
        late_ns: 0,
        late_share: 0.0,
        keeps_cache: true,
    }
}

/// `nr_cpus` equal CPUs in cores of `threads`; one cluster, cache, node and clock; WFI only; nothing costs anything
/// but an IPI, 1 ns. Tests change what they are about.
pub fn machine(nr_cpus: u32, threads: u32) -> Machine {
    let mut machine = Machine::symmetric(nr_cpus as usize);
    machine.cpus.iter_mut().for_each(|cpu| cpu.core = cpu.id / threads);
    let core = |c: u32| (c * threads..(c * threads + threads).min(nr_cpus)).collect();
    machine.cores = (0..nr_cpus.div_ceil(threads)).map(core).collect();
    let kind = &mut machine.cpu_types[0];
    kind.idle_states = vec![idle_state("WFI", 1_000, 1_000)];
    kind.smt_throughput = if threads > 1 { vec![1000, 1250] } else { vec![1000] };
    let all = machine.all_cpus();
    machine.clusters = vec![Cluster { cpus: all, shares_cache: true, active_mw: 0.0, idle_mw: 0.0 }];
    let opps = vec![Opp::new(500_000, 100.0), Opp::new(1_000_000, 400.0)];
    machine.freq_domains =
        vec![FreqDomain { cpus: all, opps, transition_ns: 0, slot_ns: 0, reported_ns: None, rail: None }];
    machine.costs = Costs { ipi_ns: [1; Distance::COUNT], ..Costs::free() };
    machine
}

/// Plausible costs, so that everything takes some time: 100 ns an operation, 1 us an IPI, 50 ns a line.
pub fn with_costs(mut machine: Machine) -> Machine {
    machine.costs.soft_ns = [100.0; SoftCost::COUNT];
    machine.costs.soft_ns[SoftCost::Probe as usize] = 10.0;
    machine.costs.ipi_ns = [1_000; Distance::COUNT];
    machine.costs.line_ns = [0, 10, 50, 50, 100, 100, 200];
    machine.costs.refill_kib_ns = [0, 10, 30, 30, 60, 60, 120];
    machine
}

/// A thread template with default attributes but for its timer slack: it has none, so its sleeps end when it says.
pub fn spec(name: &str, program: Vec<Op>) -> TaskSpec {
    TaskSpec { timer_slack_ns: 0, ..TaskSpec::new(name, 0, program.into()) }
}

/// One thread of each template, started from CPU 0 in order.
pub fn workload(objects: Vec<Object>, tasks: Vec<TaskSpec>) -> Workload {
    let start = |spec| Start { spec, count: 1, cpu: 0, process: 0 };
    Workload {
        name: "toy".into(),
        objects,
        object_names: Vec::new(),
        start: (0..tasks.len() as u32).map(start).collect(),
        tasks,
        irqs: Vec::new(),
        frequency_caps: Vec::new(),
        offline: Vec::new(),
        groups: Vec::new(),
        duration_ns: None,
        warmup_ns: 0,
        score: Score::None,
        series: Vec::new(),
    }
}

/// An engine under the toy scheduler.
pub fn engine(machine: Machine, workload: Workload, config: crate::Config) -> crate::Engine {
    let sched = Box::new(RoundRobin::new(machine.nr_cpus()));
    crate::Engine::new(Arc::new(machine), Arc::new(workload), sched, config)
}

//! Schedulers that break a rule no scheduler may break: the run fails and names the rule, nothing panics.

use std::sync::Arc;

use fairground_machine::{CpuId, CpuMask};
use fairground_sim::testing::{machine, spec, workload, RoundRobin};
use fairground_sim::{
    Change, Config, Engine, Env, IdleView, Ipi, MigrateCause, Outcome, Pick, Rule, Scheduler, SimError, TaskId,
    TaskInfo, WakeContext,
};
use fairground_workload::{Amount, GroupClamp, Op};

/// The toy scheduler, but for what `lie` makes of its picks.
struct Liar {
    honest: RoundRobin,
    lie: fn(&mut Env, CpuId, Pick) -> Pick,
}

impl Scheduler for Liar {
    fn fork(&mut self, env: &mut Env, cpu: CpuId, parent: Option<TaskId>, child: &TaskInfo) {
        self.honest.fork(env, cpu, parent, child);
    }
    fn exec(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.honest.exec(env, cpu, task);
    }
    fn wake(&mut self, env: &mut Env, ctx: WakeContext, task: TaskId) {
        self.honest.wake(env, ctx, task);
    }
    fn block(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.honest.block(env, cpu, task);
    }
    fn exit(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.honest.exit(env, cpu, task);
    }
    fn yield_now(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.honest.yield_now(env, cpu, task);
    }
    fn change(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, change: &Change) {
        self.honest.change(env, cpu, task, change);
    }
    fn change_group(&mut self, env: &mut Env, cpu: CpuId, new: &GroupClamp) {
        self.honest.change_group(env, cpu, new);
    }
    fn schedule(&mut self, env: &mut Env, cpu: CpuId) -> Pick {
        let pick = self.honest.schedule(env, cpu);
        (self.lie)(env, cpu, pick)
    }
    fn stopper(&mut self, env: &mut Env, cpu: CpuId) {
        self.honest.stopper(env, cpu);
    }
    fn tick(&mut self, env: &mut Env, cpu: CpuId) {
        self.honest.tick(env, cpu);
    }
    fn ipi(&mut self, _env: &mut Env, _cpu: CpuId, _ipi: Ipi) {}
    fn balance(&mut self, _env: &mut Env, _cpu: CpuId) {}
    fn idle_enter(&mut self, _env: &mut Env, _cpu: CpuId, _state: IdleView) {}
    fn idle_exit(&mut self, _env: &mut Env, _cpu: CpuId) {}
    fn tick_stopped(&mut self, _env: &mut Env, _cpu: CpuId, _stopped: bool) {}
    fn frequency_limits(&mut self, env: &mut Env, cpus: &CpuMask) {
        self.honest.frequency_limits(env, cpus);
    }
    fn rule(&self, rule: u16) -> Rule<'_> {
        self.honest.rule(rule)
    }
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
    fn audit(&self, _env: &Env) -> Result<(), String> {
        Ok(())
    }
}

/// Runs two threads on two CPUs, the second bound to CPU 1, under a liar. Each works 1 us and sleeps 1 ms.
fn run(lie: fn(&mut Env, CpuId, Pick) -> Pick) -> Result<Outcome, SimError> {
    let a = spec("a", vec![Op::Run(Amount::fixed(1_000)), Op::Sleep(Amount::fixed(1_000_000))]);
    let mut b = a.clone();
    (b.name, b.affinity) = ("b".into(), Some(CpuMask::single(1)));
    let sched = Liar { honest: RoundRobin::new(2), lie };
    let config = Config { start_phase: false, ..Config::default() };
    let w = workload(vec![], vec![a, b]);
    Engine::new(Arc::new(machine(2, 1)), Arc::new(w), Box::new(sched), config).run(&mut [])
}

/// The rule that a liar breaks.
fn broken_rule(lie: fn(&mut Env, CpuId, Pick) -> Pick) -> String {
    match run(lie) {
        Err(SimError::Invariant { what, .. }) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn picking_a_task_that_runs_elsewhere() {
    let what = broken_rule(|_, cpu, pick| if cpu == 1 { Pick::Task(0) } else { pick });
    assert_eq!(what, "CPU 1 picked a/0, which is current on CPU 0");
}

#[test]
fn picking_a_task_that_sleeps() {
    let what = broken_rule(|_, cpu, pick| if cpu == 0 { Pick::Task(0) } else { pick });
    assert_eq!(what, "CPU 0 picked a/0, which is asleep");
}

#[test]
fn picking_a_task_of_another_queue() {
    let what = broken_rule(|_, cpu, pick| if cpu == 0 { Pick::Task(1) } else { pick });
    assert_eq!(what, "CPU 0 picked b/1, which is queued on CPU 1");
}

#[test]
fn picking_a_task_that_does_not_exist() {
    assert_eq!(broken_rule(|_, _, _| Pick::Task(7)), "CPU 0 picked task 7, which was never born");
}

#[test]
fn going_idle_over_a_queued_task() {
    let what = broken_rule(|_, cpu, pick| if cpu == 1 { Pick::Idle } else { pick });
    assert_eq!(what, "CPU 1 goes idle while b/1 is on its run queue");
}

#[test]
fn moving_a_task_to_where_it_may_not_run() {
    let what = broken_rule(|env, cpu, pick| {
        if cpu == 0 {
            env.migrated(1, 1, 0, MigrateCause::Balance);
            return Pick::Task(1);
        }
        pick
    });
    assert_eq!(what, "CPU 0 picked b/1, which may only run on 1");
}

/// Two threads take turns on CPU 0, a tick of 4 ms each, though the first forbids itself that CPU at 0. For a tick it
/// may stay, since the stopper may be on its way; at 8 ms it may not.
#[test]
fn running_a_task_where_it_no_longer_may() {
    let work = Op::Run(Amount::fixed(30_000_000));
    let leaves = spec("a", vec![Op::SetAffinity(CpuMask::single(1)), work.clone()]);
    let mut stays = spec("b", vec![work]);
    stays.affinity = Some(CpuMask::single(0));
    let turns = |env: &mut Env, cpu, _| match cpu {
        0 => Pick::Task((env.now() / 4_000_000 % 2) as TaskId),
        _ => Pick::Idle,
    };
    let sched = Liar { honest: RoundRobin::new(2), lie: turns };
    let config = Config { start_phase: false, ..Config::default() };
    let w = workload(vec![], vec![leaves, stays]);
    let result = Engine::new(Arc::new(machine(2, 1)), Arc::new(w), Box::new(sched), config).run(&mut []);
    let what = "CPU 0 picked a/0, which may only run on 1".into();
    assert_eq!(result.unwrap_err(), SimError::Invariant { at: 8_000_000, what });
}

#[test]
fn moving_a_task_to_a_cpu_that_does_not_exist() {
    let what = broken_rule(|env, _, pick| {
        env.migrated(1, 1, 99, MigrateCause::Balance);
        pick
    });
    assert!(what.starts_with("b/1 migrated from CPU 1 to 99"), "{what}");
}

/// Delayed dequeue: a scheduler may keep a sleeper queued, and so move it.
#[test]
fn moving_a_sleeper() {
    let there_and_back = |env: &mut Env, cpu, pick| {
        if cpu == 0 && pick == Pick::Idle && env.now() < 500_000 {
            env.migrated(0, 0, 1, MigrateCause::Balance);
            env.migrated(0, 1, 0, MigrateCause::Balance);
        }
        pick
    };
    run(there_and_back).expect("the run ends well");
    // Not a dead one.
    let what = broken_rule(|env, cpu, pick| {
        if cpu == 0 && pick == Pick::Idle {
            env.migrated(0, 0, 1, MigrateCause::Balance);
            env.migrated(0, 1, 0, MigrateCause::Balance);
        }
        pick
    });
    assert!(what.starts_with("a/0 migrated from CPU 0 to 1, but it is"), "{what}");
}

#[test]
fn rescheduling_for_ever() {
    // Asking for a reschedule within schedule() is answered by that very call, as in the kernel.
    let a = workload(vec![], vec![spec("a", vec![Op::Run(Amount::fixed(1_000))])]);
    let lie = |env: &mut Env, cpu, pick| {
        env.resched(cpu);
        pick
    };
    let sched = Box::new(Liar { honest: RoundRobin::new(1), lie });
    let config = Config { start_phase: false, ..Config::default() };
    let outcome = Engine::new(Arc::new(machine(1, 1)), Arc::new(a), sched, config).run(&mut []);
    assert_eq!(outcome.expect("the run ends well").end, 1_000);
}

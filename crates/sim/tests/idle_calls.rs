//! Calls of the scheduler for idle CPUs: states recorded and cleared, balancing only while awake, no calls for CPUs
//! that no driver puts to sleep. One task on CPU 0 of two; only balancing, 700 ns, and an IPI, 1 ns, cost anything.

use std::sync::{Arc, Mutex};

use fairground_machine::{CpuId, CpuMask, Machine, SoftCost};
use fairground_sim::testing::{idle_state, machine, spec, workload};
use fairground_sim::{
    Change, Config, Engine, Env, IdleGovernor, IdleView, Ipi, Outcome, Pick, Rule, Scheduler, TaskId, TaskInfo,
    WakeContext,
};
use fairground_workload::{Amount, CapSource, FrequencyCap, GroupClamp, Op, Workload};

/// Calls that CPU 1 got, and whether an idle state was recorded for it at the time.
type Log = Arc<Mutex<Vec<(&'static str, bool)>>>;

/// Runs its one task on CPU 0; whenever that blocks, CPU 1 is asked to balance.
struct Kicker {
    runnable: bool,
    heard: Log,
}

impl Kicker {
    fn record(&self, what: &'static str, env: &Env, cpu: CpuId) {
        if cpu == 1 {
            self.heard.lock().unwrap().push((what, env.cpu(cpu).idle.is_some()));
        }
    }
}

impl Scheduler for Kicker {
    fn fork(&mut self, env: &mut Env, cpu: CpuId, _: Option<TaskId>, child: &TaskInfo) {
        self.runnable = true;
        env.enqueued(child.id, cpu);
        env.resched(cpu);
    }
    fn wake(&mut self, env: &mut Env, ctx: WakeContext, task: TaskId) {
        self.runnable = true;
        env.enqueued(task, ctx.cpu);
        env.resched(ctx.cpu);
    }
    fn block(&mut self, env: &mut Env, _: CpuId, _: TaskId) {
        self.runnable = false;
        env.send_ipi(1, Ipi::NohzKick);
    }
    fn ipi(&mut self, env: &mut Env, cpu: CpuId, ipi: Ipi) {
        if ipi == Ipi::NohzKick {
            self.record("kick", env, cpu);
            env.raise_balance(cpu);
        }
    }
    fn balance(&mut self, env: &mut Env, cpu: CpuId) {
        self.record("balance", env, cpu);
        env.charge(cpu, SoftCost::Balance, 1);
    }
    fn idle_enter(&mut self, env: &mut Env, cpu: CpuId, _: IdleView) {
        self.record("enter", env, cpu);
    }
    fn idle_exit(&mut self, env: &mut Env, cpu: CpuId) {
        self.record("exit", env, cpu);
    }
    fn tick_stopped(&mut self, env: &mut Env, cpu: CpuId, stopped: bool) {
        self.record(if stopped { "no tick" } else { "tick" }, env, cpu);
    }
    fn schedule(&mut self, _: &mut Env, cpu: CpuId) -> Pick {
        match cpu == 0 && self.runnable {
            true => Pick::Task(0),
            false => Pick::Idle,
        }
    }
    fn exit(&mut self, _: &mut Env, _: CpuId, _: TaskId) {
        self.runnable = false;
    }
    fn exec(&mut self, _: &mut Env, _: CpuId, _: TaskId) {}
    fn yield_now(&mut self, _: &mut Env, _: CpuId, _: TaskId) {}
    fn change(&mut self, _: &mut Env, _: CpuId, _: TaskId, _: &Change) {}
    fn change_group(&mut self, _: &mut Env, _: CpuId, _: &GroupClamp) {}
    fn stopper(&mut self, _: &mut Env, _: CpuId) {}
    fn tick(&mut self, _: &mut Env, _: CpuId) {}
    fn frequency_limits(&mut self, env: &mut Env, cpus: &CpuMask) {
        if let Some(cpu) = cpus.first() {
            env.charge(cpu, SoftCost::Balance, 1);
        }
    }
    fn rule(&self, _: u16) -> Rule<'_> {
        Rule::named("?")
    }
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
    fn audit(&self, _: &Env) -> Result<(), String> {
        Ok(())
    }
}

fn two_cpus() -> Machine {
    let mut m = machine(2, 1);
    m.costs.soft_ns[SoftCost::Balance as usize] = 700.0;
    m.cpu_types[0].idle_states[0].power_mw = 10.0;
    m
}

/// The task works 10 us, sleeps 10 us, works 10 us.
fn work_and_sleep() -> Workload {
    let work = || Op::Run(Amount::fixed(10_000));
    workload(vec![], vec![spec("t", vec![work(), Op::Sleep(Amount::fixed(10_000)), work()])])
}

fn run(m: Machine, idle: IdleGovernor) -> (Outcome, Vec<(&'static str, bool)>) {
    run_workload(m, idle, work_and_sleep())
}

/// And the calls that CPU 1 got.
fn run_workload(m: Machine, idle: IdleGovernor, w: Workload) -> (Outcome, Vec<(&'static str, bool)>) {
    let heard = Log::default();
    let sched = Kicker { runnable: false, heard: Arc::clone(&heard) };
    let config = Config { start_phase: false, idle, ..Config::default() };
    let outcome =
        Engine::new(Arc::new(m), Arc::new(w), Box::new(sched), config).run(&mut []).expect("the run ends well");
    let heard = heard.lock().unwrap().clone();
    (outcome, heard)
}

#[test]
fn a_state_is_recorded_while_its_cpu_sleeps_and_cleared_before_interrupts_are_served() {
    let (_, heard) = run(two_cpus(), IdleGovernor::Deepest);
    let expected =
        [("no tick", false), ("enter", true), ("exit", false), ("kick", false), ("balance", false), ("enter", true)];
    assert_eq!(heard, expected);
}

/// No time passes between the line that a polling CPU sees and the end of its idle: it would sleep again before the softirq
/// of the same instant.
#[test]
fn a_cpu_that_polls_balances_before_it_sleeps_again() {
    let mut m = two_cpus();
    m.cpu_types[0].idle_states[0].polling = true;
    let (outcome, heard) = run(m, IdleGovernor::Shallowest);
    let after = heard.iter().position(|h| h.0 == "kick").expect("a kick");
    assert_eq!(heard[after..], [("kick", false), ("balance", false), ("enter", true)]);
    // 30 us, of which 700 ns of balancing are not idle.
    assert_eq!((outcome.end, outcome.totals.idle[1][0].held_ns), (30_000, 29_300));
}

/// WFI saves its power all the same, and the tick stops with no governor asked (the shallowest keeps it).
#[test]
fn without_a_driver_no_state_is_recorded() {
    let mut m = two_cpus();
    m.cpu_types[0].cpuidle = false;
    let (outcome, heard) = run(m, IdleGovernor::Shallowest);
    assert_eq!(heard, [("no tick", false), ("kick", false), ("balance", false)]);
    // 29.3 us in WFI at 10 mW and 700 ns at 400 mW, in pJ.
    assert_eq!((outcome.totals.cpu_j()[1] * 1e12).round(), 293_000.0 + 280_000.0);
}

/// With a second state that the rule of no governor may choose: a driver would go deep.
#[test]
fn with_a_driver_the_governor_chooses() {
    let mut m = two_cpus();
    m.cpu_types[0].idle_states.push(idle_state("sleep", 1_000, 2_000));
    let (outcome, _) = run(m, IdleGovernor::Deepest);
    assert!(outcome.totals.idle[1][1].held_ns > 0 && outcome.totals.idle[1][0].held_ns == 0);
}

/// CPU 0 sleeps from 10 to 20 us. At 15 us its clock is halved: the CPU that sets the cap pays for the call.
#[test]
fn a_call_about_a_sleeping_cpu_does_not_charge_it() {
    let m = two_cpus();
    let (cpus, by) = (m.all_cpus(), CapSource::User);
    let cap = FrequencyCap { cpus, max_khz: 500_000, from_ns: 15_000, to_ns: None, by };
    let w = Workload { frequency_caps: vec![cap], ..work_and_sleep() };
    let (outcome, _) = run_workload(m, IdleGovernor::Deepest, w);
    let time = &outcome.totals.time[0];
    assert_eq!((outcome.end, time.task_ns, time.idle_ns, time.overhead_ns), (40_000, 30_000, 10_000, 0));
}

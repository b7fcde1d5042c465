//! What a scheduler does besides placing tasks: timers of its own, tasks held back, frequencies, a refusal.
//! All costs are 0 but that of booting, which is dropped; one CPU, whose clock has 500 MHz and 1 GHz.

use std::sync::Arc;

use fairground_machine::{CpuId, CpuMask, SoftCost};
use fairground_sim::testing::{idle_state, machine, spec, workload};
use fairground_sim::{
    Change, Config, Engine, Env, Event, EventKind, Governor, IdleGovernor, IdleView, Ipi, MigrateCause, Observer,
    Outcome, Pick, Rule, Scheduler, SimError, TaskId, TaskInfo, Time, WakeContext,
};
use fairground_workload::{Amount, GroupClamp, Op, Workload};

const MS: Time = 1_000_000;

/// One task on one CPU, which gets 1 ms of each 2.
#[derive(Default)]
struct Budget {
    runnable: bool,
    throttled: bool,
    admits_it: bool,
    /// Frequency to ask for when the task starts, kHz.
    wish: Option<u32>,
    refusal: Option<&'static str>,
    /// Instead of holding the task back, pushes it to the other CPU as it takes it off the first.
    pushes: bool,
    /// And then picks it nevertheless.
    confused: bool,
    /// After the push CPU 0, 14 us late by then, asks for 1 GHz, and then CPU 1 for 500 MHz.
    at_odds: bool,
    on: CpuId,
}

impl Scheduler for Budget {
    fn boot(&mut self, env: &mut Env, _: &Workload, _: &Config) -> Result<(), String> {
        // Never expires: the timer that the first task sets replaces it.
        env.set_timer(0, 10);
        env.charge(0, SoftCost::Tick, 1);
        self.refusal.map_or(Ok(()), |what| Err(what.into()))
    }
    fn fork(&mut self, env: &mut Env, cpu: CpuId, _: Option<TaskId>, child: &TaskInfo) {
        self.runnable = true;
        env.enqueued(child.id, cpu);
        env.resched(cpu);
        env.set_timer(cpu, MS);
    }
    fn timer(&mut self, env: &mut Env, cpu: CpuId) {
        assert_eq!(env.now() % MS, 0, "a timer at {}", env.now());
        self.throttled = !self.throttled;
        env.resched(cpu);
        env.set_timer(cpu, env.now() + MS);
    }
    fn schedule(&mut self, env: &mut Env, cpu: CpuId) -> Pick {
        if self.pushes && self.throttled && (cpu, self.on) == (0, 0) {
            self.on = 1;
            env.migrated(0, 0, 1, MigrateCause::Rt);
            env.resched(1);
            if self.at_odds {
                env.charge(0, SoftCost::Tick, 10);
                env.request_frequency(0, 1_000_000);
            }
            return if self.confused { Pick::Task(0) } else { Pick::Idle };
        }
        if self.throttled && !self.pushes || !self.runnable || cpu != self.on {
            return Pick::Idle;
        }
        if cpu == 1 && std::mem::take(&mut self.at_odds) {
            env.request_frequency(1, 500_000);
        }
        self.wish.take().into_iter().for_each(|khz| env.request_frequency(cpu, khz));
        Pick::Task(0)
    }
    fn exit(&mut self, env: &mut Env, cpu: CpuId, _: TaskId) {
        self.runnable = false;
        env.set_timer(cpu, Time::MAX);
    }
    fn may_hold_back(&self, _: TaskId) -> bool {
        self.admits_it
    }
    fn exec(&mut self, _: &mut Env, _: CpuId, _: TaskId) {}
    fn wake(&mut self, _: &mut Env, _: WakeContext, _: TaskId) {}
    fn block(&mut self, _: &mut Env, _: CpuId, _: TaskId) {}
    fn yield_now(&mut self, _: &mut Env, _: CpuId, _: TaskId) {}
    fn change(&mut self, _: &mut Env, _: CpuId, _: TaskId, _: &Change) {}
    fn change_group(&mut self, _: &mut Env, _: CpuId, _: &GroupClamp) {}
    fn stopper(&mut self, _: &mut Env, _: CpuId) {}
    fn tick(&mut self, _: &mut Env, _: CpuId) {}
    fn ipi(&mut self, _: &mut Env, _: CpuId, _: Ipi) {}
    fn balance(&mut self, _: &mut Env, _: CpuId) {}
    fn idle_enter(&mut self, _: &mut Env, _: CpuId, _: IdleView) {}
    fn idle_exit(&mut self, _: &mut Env, _: CpuId) {}
    fn tick_stopped(&mut self, _: &mut Env, _: CpuId, _: bool) {}
    fn frequency_limits(&mut self, _: &mut Env, _: &CpuMask) {}
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

#[derive(Default)]
struct Clocks(Vec<(Time, u32)>);

impl Observer for Clocks {
    fn event(&mut self, event: &Event) {
        if let EventKind::Frequency { khz } = event.kind {
            self.0.push((event.time, khz));
        }
    }
}

/// A task of `work` ns under `sched`.
fn run(sched: Budget, work: u64, governor: Governor) -> (Result<Outcome, SimError>, Vec<(Time, u32)>) {
    let mut m = machine(if sched.pushes { 2 } else { 1 }, 1);
    m.freq_domains[0].transition_ns = 1_000;
    m.costs.soft_ns[SoftCost::Tick as usize] = 700.0;
    let w = workload(vec![], vec![spec("t", vec![Op::Run(Amount::fixed(work))])]);
    let config = Config { start_phase: false, governor, ..Config::default() };
    let mut clocks = Clocks::default();
    let outcome = Engine::new(Arc::new(m), Arc::new(w), Box::new(sched), config).run(&mut [&mut clocks]);
    (outcome, clocks.0)
}

/// 2.5 ms of work, 1 ms of each 2: 0-1, 2-3, 4-4.5 ms.
#[test]
fn a_task_is_held_back_until_the_schedulers_timer_lets_it_go() {
    let (outcome, _) = run(Budget { admits_it: true, ..Budget::default() }, 5 * MS / 2, Governor::Performance);
    assert_eq!(outcome.unwrap().end, 9 * MS / 2);
}

/// 1 ms on CPU 0, then 1.5 ms on CPU 1, which an IPI of 1 ns wakes.
#[test]
fn a_task_is_pushed_on_in_the_call_that_takes_it_off_its_cpu() {
    let (outcome, _) = run(Budget { pushes: true, ..Budget::default() }, 5 * MS / 2, Governor::Performance);
    assert_eq!(outcome.unwrap().end, 5 * MS / 2 + 1);
}

/// Idle for 1 ms until the scheduler's timer, with a state that pays from 1.5 ms on: teo knows the timer and never tries
/// it, with nothing learnt.
#[test]
fn idle_governors_know_the_schedulers_timer() {
    let mut m = machine(1, 1);
    m.cpu_types[0].idle_states.push(idle_state("sleep", 500_000, 3 * MS / 2));
    let w = workload(vec![], vec![spec("t", vec![Op::Run(Amount::fixed(5 * MS))])]);
    let config = Config { start_phase: false, idle: IdleGovernor::Teo, ..Config::default() };
    let sched = Box::new(Budget { admits_it: true, ..Budget::default() });
    let outcome = Engine::new(Arc::new(m), Arc::new(w), sched, config).run(&mut []).unwrap();
    let usage: Vec<u64> = outcome.totals.idle[0].iter().map(|s| s.usage).collect();
    assert_eq!(usage, [5, 0]);
}

#[test]
fn a_task_that_stays_on_its_cpu_cannot_be_pushed_on() {
    let sched = Budget { pushes: true, confused: true, ..Budget::default() };
    match run(sched, 5 * MS / 2, Governor::Performance).0 {
        Err(SimError::Invariant { at: MS, what }) => {
            assert!(what.starts_with("t/0 migrated from CPU 0 to 1"), "{what}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn holding_a_task_back_that_has_no_limit_is_losing_it() {
    match run(Budget::default(), 5 * MS / 2, Governor::Performance).0 {
        Err(SimError::Invariant { at, what }) => {
            assert_eq!((at, what.as_str()), (MS, "CPU 0 goes idle while t/0 is on its run queue"));
        }
        other => panic!("{other:?}"),
    }
}

/// The clock begins at the bottom, 500 MHz. The scheduler requests 600 MHz at 0: 1 GHz is the lowest that is not
/// slower. It is reached after 1 us, in which 500 ns of the work are done. The other 99.5 us take as long.
#[test]
fn a_clock_follows_the_schedulers_request_after_its_transition() {
    let (outcome, clocks) = run(Budget { wish: Some(600_000), ..Budget::default() }, 100_000, Governor::Schedutil);
    assert_eq!(clocks, [(0, 500_000), (1_000, 1_000_000)]);
    assert_eq!(outcome.unwrap().end, 100_500);
}

/// The request of CPU 1 comes 1 ns after that of CPU 0, whose clock is 14 us later, 10 * 700 ns at half speed: the
/// later request is the one that lasts.
#[test]
fn requests_of_two_cpus_are_carried_out_in_the_order_in_which_they_are_made() {
    let (_, clocks) = run(Budget { pushes: true, at_odds: true, ..Budget::default() }, MS, Governor::Schedutil);
    let there = MS + 14_000 + 1_000;
    assert_eq!(clocks[2..], [1_000_000, 1_000_000, 500_000, 500_000].map(|khz| (there, khz)), "{clocks:?}");
}

#[test]
fn requests_for_frequencies_are_an_error_under_another_governor() {
    match run(Budget { wish: Some(600_000), ..Budget::default() }, 100_000, Governor::Performance).0 {
        Err(SimError::Invariant { what, .. }) => {
            assert_eq!(what, "CPU 0 asked for 600000 kHz, but the governor is not schedutil");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_refusal_ends_the_run_before_it_begins() {
    let (outcome, clocks) = run(Budget { refusal: Some("no such"), ..Budget::default() }, 1, Governor::Performance);
    assert_eq!(outcome.unwrap_err(), SimError::Refused { what: "no such".into() });
    assert!(clocks.is_empty());
}

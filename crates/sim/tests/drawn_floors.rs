//! Utilisation floors that a program draws: the scheduler sees each, and they come as often as their weights say.

use std::sync::{Arc, Mutex};

use fairground_machine::{CpuId, CpuMask};
use fairground_sim::testing::{machine, spec, workload};
use fairground_sim::{
    Change, Config, Engine, Env, IdleView, Ipi, Pick, Rule, Scheduler, TaskId, TaskInfo, WakeContext,
};
use fairground_workload::{Amount, ClampOdds, GroupClamp, Op, ProgramBuilder, SchedAttr};

/// Attributes that were set.
type Log = Arc<Mutex<Vec<SchedAttr>>>;

/// Runs its one task on CPU 0.
struct Listener {
    runnable: bool,
    heard: Log,
}

impl Scheduler for Listener {
    fn fork(&mut self, env: &mut Env, cpu: CpuId, _: Option<TaskId>, child: &TaskInfo) {
        self.runnable = true;
        env.enqueued(child.id, cpu);
        env.resched(cpu);
    }
    fn change(&mut self, _: &mut Env, _: CpuId, _: TaskId, change: &Change) {
        if let Change::Attr(attr) = change {
            self.heard.lock().unwrap().push(*attr);
        }
    }
    fn schedule(&mut self, _: &mut Env, _: CpuId) -> Pick {
        match self.runnable {
            true => Pick::Task(0),
            false => Pick::Idle,
        }
    }
    fn exit(&mut self, _: &mut Env, _: CpuId, _: TaskId) {
        self.runnable = false;
    }
    fn change_group(&mut self, _: &mut Env, _: CpuId, _: &GroupClamp) {}
    fn wake(&mut self, _: &mut Env, _: WakeContext, _: TaskId) {}
    fn block(&mut self, _: &mut Env, _: CpuId, _: TaskId) {}
    fn exec(&mut self, _: &mut Env, _: CpuId, _: TaskId) {}
    fn yield_now(&mut self, _: &mut Env, _: CpuId, _: TaskId) {}
    fn ipi(&mut self, _: &mut Env, _: CpuId, _: Ipi) {}
    fn balance(&mut self, _: &mut Env, _: CpuId) {}
    fn idle_enter(&mut self, _: &mut Env, _: CpuId, _: IdleView) {}
    fn idle_exit(&mut self, _: &mut Env, _: CpuId) {}
    fn tick_stopped(&mut self, _: &mut Env, _: CpuId, _: bool) {}
    fn stopper(&mut self, _: &mut Env, _: CpuId) {}
    fn tick(&mut self, _: &mut Env, _: CpuId) {}
    fn frequency_limits(&mut self, _: &mut Env, _: &CpuMask) {}
    fn rule(&self, _: u16) -> Rule<'_> {
        Rule::named("?")
    }
    fn note_text(&self, _: u16) -> &str {
        ""
    }
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
    fn audit(&self, _: &Env) -> Result<(), String> {
        Ok(())
    }
}

/// Attributes of a task after each of 8000 draws of 6, 398 and 512 with the odds 1, 2 and 5. The task is born with nice
/// 3 and a ceiling of 700.
fn drawn(seed: u64) -> Vec<SchedAttr> {
    let odds = [(6, 1), (398, 2), (512, 5)].map(|(uclamp_min, weight)| ClampOdds { uclamp_min, weight });
    let mut p = ProgramBuilder::new();
    p.repeat(Some(8000), |p| {
        p.op(Op::DrawUclampMin(odds.into()));
        p.op(Op::Run(Amount::fixed(1000)));
    });
    let mut task = spec("t", p.build().to_vec());
    task.attr = SchedAttr { nice: 3, uclamp_max: 700, ..SchedAttr::default() };
    let heard = Log::default();
    let sched = Box::new(Listener { runnable: false, heard: heard.clone() });
    let config = Config { seed, ..Config::default() };
    let w = Arc::new(workload(vec![], vec![task]));
    Engine::new(Arc::new(machine(1, 1)), w, sched, config).run(&mut []).expect("the run ends well");
    let attrs = heard.lock().unwrap().clone();
    attrs
}

#[test]
fn floors_come_as_often_as_their_weights_say_and_nothing_else_changes() {
    let attrs = drawn(1);
    assert_eq!(attrs.len(), 8000);
    assert!(attrs.iter().all(|a| (a.nice, a.uclamp_max) == (3, 700)));
    for (floor, expected) in [(6, 1000), (398, 2000), (512, 5000)] {
        let count = attrs.iter().filter(|a| a.uclamp_min == floor).count() as i64;
        // Four standard deviations of a binomial count are at most 179.
        assert!((count - expected).abs() < 180, "{floor}: {count}");
    }
}

#[test]
fn the_seed_decides_what_is_drawn() {
    assert_eq!(drawn(7), drawn(7));
    assert_ne!(drawn(7), drawn(8));
}

//! Moving tasks: who is taken from where in which order, and whether work ends up where there is room for it.

#[allow(dead_code)] // each of its users leaves something out
mod rig;

use std::sync::Arc;

use fairground_fair::{Fair, Features, Options, PRESETS};
use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::testing::{spec, workload};
use fairground_sim::{
    Balance, BalanceKind, Config, Engine, Event, EventKind, HashObserver, IdleGovernor, Ipi, MigrateCause, Observer,
    Pick, Request, Scheduler, SimError, TaskId,
};
use fairground_workload::{Amount, Op, Policy, ProgramBuilder, SchedAttr, TaskSpec, Workload};

use rig::{two_caches, Rig, MS};

/// Where tasks are and why they moved.
#[derive(Default)]
struct Moves {
    migrations: Vec<(u64, TaskId, CpuId, CpuId, MigrateCause)>,
    balances: Vec<Balance>,
    /// Who runs, by CPU, and for how long each task has run.
    current: Vec<Option<(TaskId, u64)>>,
    ran_ns: Vec<u64>,
    /// Tasks that stopped being runnable.
    slept: u64,
    now: u64,
}

impl Moves {
    fn by(&self, cause: MigrateCause) -> usize {
        self.migrations.iter().filter(|m| m.4 == cause).count()
    }

    fn switch(&mut self, cpu: usize, next: Option<TaskId>) {
        self.current.resize(self.current.len().max(cpu + 1), None);
        if let Some((task, since)) = self.current[cpu].take() {
            self.ran_ns.resize(self.ran_ns.len().max(task as usize + 1), 0);
            self.ran_ns[task as usize] += self.now - since;
        }
        self.current[cpu] = next.map(|task| (task, self.now));
    }
}

impl Observer for Moves {
    fn event(&mut self, event: &Event) {
        self.now = event.time;
        match event.kind {
            EventKind::Migrate { task, from, to, cause } => self.migrations.push((event.time, task, from, to, cause)),
            EventKind::Balance(balance) => self.balances.push(balance),
            EventKind::Switch { next, .. } => self.switch(event.cpu as usize, next),
            EventKind::Exit { .. } => self.slept += 1,
            _ => {}
        }
    }
}

fn config() -> Config {
    Config { audit_every_ns: 500_000, max_time_ns: 60_000_000_000, ..Config::default() }
}

fn run(machine: &Machine, workload: &Workload, scheduler: &str, config: Config) -> Result<(Moves, String), SimError> {
    let machine = Arc::new(machine.clone());
    let fair = Fair::new(Arc::clone(&machine), Features::parse(scheduler).unwrap(), Options::default()).unwrap();
    let (mut moves, mut hash) = (Moves::default(), HashObserver::new());
    let mut engine = Engine::new(machine, Arc::new(workload.clone()), Box::new(fair), config);
    moves.now = engine.run(&mut [&mut moves, &mut hash])?.end;
    for cpu in 0..moves.current.len() {
        moves.switch(cpu, None);
    }
    Ok((moves, hash.hex()))
}

fn ms(base: u64) -> Amount {
    Amount { base: base * MS, jitter: 0 }
}

/// `n` threads that begin on CPU 0, where they may go anywhere after a millisecond, and then compute; the run lasts
/// `duration_ns`.
fn crowd(n: u32, work: Amount, duration_ns: u64, machine: &Machine) -> Workload {
    let mut task = spec("crowd", Vec::new());
    let mut program = ProgramBuilder::new();
    program.op(Op::Run(ms(1)));
    program.op(Op::SetAffinity(machine.all_cpus()));
    program.op(Op::Run(work));
    (task.program, task.affinity) = (program.build(), Some(CpuMask::of(0)));
    let mut crowd = workload(Vec::new(), vec![task]);
    crowd.start[0].count = n;
    crowd.duration_ns = Some(duration_ns);
    crowd
}

/// Tasks that only compute, all begun on CPU 0 of equal CPUs: within half a second they are spread evenly, and in the two
/// seconds after it no CPU idles, and nobody gets less than its share with one task less on its CPU.
#[test]
fn every_preset_spreads_what_only_computes() {
    for preset in &PRESETS {
        for (cpus, tasks) in [(4, 4), (4, 9), (8, 8), (8, 13)] {
            let machine = Machine::symmetric(cpus);
            let crowd = crowd(tasks, ms(60_000), 2_500 * MS, &machine);
            let (moves, _) = run(&machine, &crowd, preset.name, config()).unwrap();
            let name = preset.name;
            let total: u64 = moves.ran_ns.iter().sum();
            let least = (cpus as u64).min(u64::from(tasks)) * 2_400 * MS - 500 * MS * cpus as u64;
            assert!(total >= least, "{name}, {tasks} on {cpus}: {} ms of CPU time used", total / MS);
            let share = 2_000 * MS / u64::from(tasks.div_ceil(cpus as u32));
            let poorest = moves.ran_ns.iter().min().unwrap();
            assert!(*poorest >= share * 3 / 4, "{name}, {tasks} on {cpus}: {:?}", moves.ran_ns);
        }
    }
}

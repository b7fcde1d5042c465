//! Load balancing: which tasks are pulled from where and in which order, and whether work ends up on idle CPUs.

#[allow(dead_code)] // each of its users leaves something out
use std::sync::Arc;

use fairground_fair::{Fair, Features, Options, PRESETS};
use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::testing::{spec, workload};
use fairground_sim::{
    Balance, BalanceKind, Change, Config, Engine, Event, EventKind, HashObserver, IdleGovernor, Ipi, MigrateCause,
    Observer, Pick, Request, Scheduler, SimError, TaskId,
};
use fairground_workload::{Amount, Op, ProgramBuilder, Start, Workload};

use crate::rig::{two_caches, Rig, MS};

/// Where tasks are and why they moved.
#[derive(Default)]
struct Moves {
    migrations: Vec<(u64, TaskId, CpuId, CpuId, MigrateCause)>,
    balances: Vec<Balance>,
    /// The current task of each CPU, and how long each task has run.
    current: Vec<Option<(TaskId, u64)>>,
    ran_ns: Vec<u64>,
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
    (task.program, task.affinity) = (program.build(), Some(CpuMask::single(0)));
    let mut crowd = workload(Vec::new(), vec![task]);
    crowd.start[0].count = n;
    crowd.duration_ns = Some(duration_ns);
    crowd
}

/// Tasks that only compute, all begun on CPU 0 of equal CPUs: within half a second they are spread evenly, and in the two
/// seconds after it no CPU idles, and no task gets less than its share on a CPU with the most tasks.
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

/// `tasks` that may run on CPU 0 alone and one that runs on CPU 1, all of them cold; task 0 runs on CPU 0.
fn waiting_on_cpu_0(scheduler: &str, tasks: u32) -> Rig {
    let mut rig = Rig::new(Machine::symmetric(2), scheduler);
    rig.fair_task(0, "0");
    rig.fair_task(tasks, "1");
    assert_eq!((rig.schedule(0), rig.schedule(1)), (Pick::Task(0), Pick::Task(tasks)));
    (1..tasks).for_each(|task| rig.fair_task(task, "0"));
    rig.now += 5 * MS;
    rig
}

fn allow(rig: &mut Rig, task: TaskId, cpus: &str) {
    let mask = CpuMask::parse_list(cpus).unwrap();
    rig.call(0, |f, e| f.change(e, 0, task, &Change::Affinity(mask)));
}

/// Queued first, waits longest, goes first; the CPU runs it at once and has not been idle.
#[test]
fn a_cpu_about_to_idle_takes_who_waited_longest_and_runs_it() {
    for scheduler in ["v5.4", "v5.9", "v6.1", "v6.12"] {
        let mut rig = waiting_on_cpu_0(scheduler, 3);
        (0..3).for_each(|task| allow(&mut rig, task, "0-1"));
        assert_eq!(rig.sleep(1, 3), Pick::Task(1), "{scheduler}");
        let pulled = Request::Migrated { task: 1, from: 0, to: 1, cause: MigrateCause::NewIdle };
        let report = rig.requests.iter().position(|r| {
            matches!(r, Request::Balanced(b) if (b.src, b.dst, b.moved, b.kind) == (0, 1, 1, BalanceKind::NewlyIdle))
        });
        let moved = rig.requests.iter().position(|r| *r == pulled);
        assert!(report.is_some() && report < moved, "{scheduler}: {:?}", rig.requests);
        assert_eq!((rig.fair.cpu(1).idle_stamp, rig.fair.cpu(1).curr_is_idle), (0, 0), "{scheduler}");
        // A wakeup is not kept from asking for a reschedule.
        rig.fair_task(4, "1");
        rig.sleep(1, 1);
        rig.wake(0, None, 3);
        rig.now += 5 * MS;
        assert!(matches!(rig.schedule(1), Pick::Task(3 | 4)), "{scheduler}");
    }
}

/// Task 1 is passed over for its affinity, so that it counts as the newest from then on: the next one taken is 3.
#[test]
fn who_is_passed_over_is_looked_at_last() {
    let mut rig = waiting_on_cpu_0("v5.9", 4);
    [0, 2, 3].into_iter().for_each(|task| allow(&mut rig, task, "0-1"));
    assert_eq!(rig.sleep(1, 4), Pick::Task(2));
    allow(&mut rig, 1, "0-1");
    rig.now += 5 * MS;
    assert_eq!(rig.sleep(1, 2), Pick::Task(3));
}

/// ... and a task that was just picked is the newest too, though it was queued first: 0 has run after 2, which waits
/// longer.
#[test]
fn who_ran_last_is_taken_last() {
    let mut rig = waiting_on_cpu_0("v5.11", 3);
    let mut turns = vec![0];
    while turns.len() < 12 && !turns.ends_with(&[2, 0, 1]) {
        let current = *turns.last().unwrap();
        rig.call(0, |f, e| f.yield_now(e, 0, current));
        let Pick::Task(next) = rig.schedule(0) else { panic!("{turns:?}") };
        turns.push(next);
        rig.now += 5 * MS;
    }
    assert!(turns.ends_with(&[2, 0, 1]), "{turns:?}");
    (0..3).for_each(|task| allow(&mut rig, task, "0-1"));
    assert_eq!(rig.sleep(1, 3), Pick::Task(2));
}

/// CPU 2 balances for CPU 3, whose tick is stopped, and wakes it for what it got.
#[test]
fn an_idle_balancer_pulls_for_others() {
    for scheduler in ["v5.4", "v5.9", "v6.12"] {
        let mut rig = Rig::new(Machine::symmetric(4), scheduler);
        (0..3).for_each(|task| rig.fair_task(task, "0"));
        rig.schedule(0);
        rig.now = 25 * 4 * MS;
        (0..3).for_each(|task| allow(&mut rig, task, "0-3"));
        [2, 3].into_iter().for_each(|cpu| rig.call(cpu, |f, e| f.tick_stopped(e, cpu, true)));
        rig.call(0, |f, e| f.tick(e, 0));
        rig.call(2, |f, e| f.ipi(e, 2, Ipi::NohzKick));
        rig.call(2, |f, e| f.balance(e, 2));
        let to_3 = |r: &Request| matches!(r, Request::Migrated { from: 0, to: 3, cause: MigrateCause::Balance, .. });
        assert!(rig.asked(to_3), "{scheduler}: {:?}", rig.requests);
        assert!(rig.resched_of(3), "{scheduler}");
        assert!(matches!(rig.schedule(3), Pick::Task(_)), "{scheduler}");
    }
}

/// A task that outgrew its little CPU runs on without a pause: only the stopper can bring it to a big one.
#[test]
fn the_stopper_pushes_a_misfit_to_a_big_cpu() {
    let machine = Machine::preset("hikey960").unwrap();
    let mut task = spec("grows", Vec::new());
    let mut program = ProgramBuilder::new();
    program.op(Op::SetAffinity(CpuMask::single(1)));
    program.op(Op::Run(ms(200)));
    program.op(Op::SetAffinity(machine.all_cpus()));
    program.op(Op::Run(ms(400)));
    task.program = program.build();
    let grows = workload(Vec::new(), vec![task]);
    for preset in &PRESETS {
        let (moves, _) = run(&machine, &grows, preset.name, config()).unwrap();
        let pushed: Vec<_> = moves.migrations.iter().filter(|m| m.4 == MigrateCause::Active).collect();
        assert!(matches!(pushed[..], [(_, 0, 1, big, _)] if *big >= 4), "{}: {:?}", preset.name, moves.migrations);
        let asked = moves.balances.iter().filter(|b| b.active).count();
        let push = moves.balances.iter().filter(|b| b.kind == BalanceKind::Active).count();
        assert_eq!((asked, push), (1, 1), "{}: {:?}", preset.name, moves.balances);
    }
}

/// CPU 0 balances for the CPUs behind its cache. What may not run there itself goes to CPU 1, where it may.
#[test]
fn what_may_not_run_here_goes_to_a_neighbour_where_it_may() {
    let machine = two_caches();
    for preset in &PRESETS {
        let mut pinned = crowd(2, ms(5_000), 1_000 * MS, &machine);
        let mut program = pinned.tasks[0].program.to_vec();
        program[1] = Op::SetAffinity([1, 2].into_iter().collect());
        (pinned.tasks[0].program, pinned.tasks[0].affinity) = (program.into(), Some(CpuMask::single(2)));
        // Two processes: from v7.2 on the threads of one would stay behind their cache.
        let own = |process| Start { count: 1, process, ..pinned.start[0].clone() };
        pinned.start = [0, 1].map(own).into();
        let (moves, _) = run(&machine, &pinned, preset.name, config()).unwrap();
        let poorest = *moves.ran_ns.iter().min().unwrap();
        assert!(poorest > 700 * MS, "{}: {:?} {:?}", preset.name, moves.ran_ns, moves.migrations);
    }
}

/// A task that may not run elsewhere is never pulled, nor is a per-CPU kernel thread, however long the others idle.
#[test]
fn what_is_bound_stays() {
    let machine = Machine::symmetric(4);
    for preset in &PRESETS {
        let mut bound =
            workload(Vec::new(), vec![spec("bound", vec![Op::Run(ms(400))]), spec("kthread", vec![Op::Run(ms(400))])]);
        bound.tasks[0].affinity = Some(CpuMask::single(0));
        bound.tasks[1].kthread_cpu = Some(0);
        bound.start[0].count = 3;
        let (moves, _) = run(&machine, &bound, preset.name, config()).unwrap();
        assert_eq!(moves.migrations.len(), 0, "{}: {:?}", preset.name, moves.migrations);
    }
}

/// Each cause of migration is met, by the metrics' count as by the events'.
#[test]
fn busy_cpus_and_idle_ones_pull_each_for_its_cause() {
    let machine = Machine::symmetric(4);
    let (uneven, _) = Workload::find("periodic:tasks=14,periods=5+8+11+23,duty=25,duration=2", &machine).unwrap();
    for preset in &PRESETS {
        for idle in [IdleGovernor::Menu, IdleGovernor::Shallowest] {
            let (moves, _) = run(&machine, &uneven, preset.name, Config { idle, ..config() }).unwrap();
            let name = preset.name;
            assert!(moves.by(MigrateCause::NewIdle) > 0, "{name}");
            let told: u32 = moves.balances.iter().map(|b| b.moved).sum();
            let pulled = [MigrateCause::NewIdle, MigrateCause::Balance, MigrateCause::Active].map(|c| moves.by(c));
            assert_eq!(told as usize, pulled.iter().sum::<usize>(), "{name}: {pulled:?}");
            assert!(moves.balances.iter().all(|b| b.src != b.dst && b.amount > 0), "{name}");
        }
    }
}

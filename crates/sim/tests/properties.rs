//! Random machines and programs: every run keeps time and energy, never puts a task on two CPUs (the engine checks
//! these itself and would fail), and is a pure function of its inputs.

use fairground_machine::{CpuMask, IdleScope};
use fairground_sim::testing::{self, idle_state, spec, workload};
use fairground_sim::{Config, HashObserver, IdleGovernor, Outcome, SimError};
use fairground_workload::{Amount, IrqSource, Object, Op, ProgramBuilder, Workload};
use proptest::prelude::*;

const NR_CPUS_MAX: u32 = 6;

fn machines() -> impl Strategy<Value = fairground_machine::Machine> {
    (1..=NR_CPUS_MAX, 1..=2u32, any::<bool>(), any::<bool>(), 256..=1024u32).prop_map(
        |(n, threads, costs, poll, cap)| {
            let mut m = testing::machine(n, threads);
            if costs {
                m = testing::with_costs(m);
            }
            m.cpus[0].capacity = cap;
            let states = &mut m.cpu_types[0].idle_states;
            (states[0].polling, states[0].wake_ns, states[0].power_mw) = (poll, 300, 5.0);
            let mut deep = idle_state("sleep", 50_000, 100_000);
            (deep.scope, deep.entry_ns, deep.wake_ns) = (IdleScope::Cluster, 5_000, 20_000);
            states.push(deep);
            m
        },
    )
}

/// A step that cannot block for ever.
fn steps() -> impl Strategy<Value = Vec<Op>> {
    let amount = (0..200_000u64, 0..50_000u64).prop_map(|(base, jitter)| Amount { base, jitter });
    let one = |op| Just(vec![op]);
    prop_oneof![
        amount.clone().prop_map(|a| vec![Op::Run(a)]),
        amount.clone().prop_map(|a| vec![Op::Sleep(a)]),
        amount.clone().prop_map(|a| vec![Op::RunWall(a)]),
        (1_000..300_000u64, any::<bool>()).prop_map(|(period_ns, relative)| vec![Op::TimerWait {
            timer: 1,
            period_ns,
            relative
        }]),
        amount.prop_map(|a| vec![Op::Lock(0), Op::Run(a), Op::Unlock(0)]),
        one(Op::Yield),
        one(Op::Broadcast(2)),
        one(Op::SemPost(3)),
        one(Op::FutexWake { futex: 4, count: 2 }),
        one(Op::Exec),
        (0..2u32).prop_map(|n| vec![Op::Spawn { spec: 0, count: n, thread: n == 0 }, Op::WaitChildren]),
        any::<u8>().prop_map(|bits| vec![Op::SetAffinity((0..NR_CPUS_MAX).filter(|c| bits >> c & 1 == 1).collect())]),
    ]
}

/// Templates 0 and 1: a short child, and a daemon that is woken by whoever; then the random ones, then a writer and a
/// reader of a pipe and a socket.
fn build(programs: Vec<Vec<Vec<Op>>>, messages: u64, bytes: u32, nr_cpus: u32) -> Workload {
    let looped = |name: &str, times, ops: &[Op]| {
        let mut p = ProgramBuilder::new();
        p.repeat(times, |p| {
            for op in ops {
                p.op(op.clone());
            }
        });
        let mut s = spec(name, vec![]);
        s.program = p.build();
        s.footprint_kib = 16;
        s
    };
    let all = CpuMask::first_n(nr_cpus as usize);
    let allowed = |op: Op| match op {
        Op::SetAffinity(mask) if mask.intersects(&all) => Op::SetAffinity(mask.and(&all)),
        Op::SetAffinity(_) => Op::SetAffinity(all),
        op => op,
    };
    let mut tasks = vec![spec("child", vec![Op::Run(Amount::fixed(3_000))])];
    let mut daemon = looped("daemon", None, &[Op::SemWait(3), Op::Run(Amount::fixed(2_000))]);
    daemon.daemon = true;
    tasks.push(daemon);
    for steps in programs {
        let ops: Vec<Op> = steps.into_iter().flatten().map(allowed).collect();
        tasks.push(looped("random", Some(20), &ops));
    }
    let (pipe, sock) = (5, 6);
    let write = [Op::PipeWrite { pipe, bytes }, Op::SockSend { sock, bytes }];
    let read = [Op::PipeRead { pipe, bytes }, Op::SockRecv { sock, bytes }];
    tasks.push(looped("writer", Some(messages), &write));
    tasks.push(looped("reader", Some(messages), &read));
    let objects = vec![
        Object::Mutex,
        Object::Timer { per_task: true },
        Object::Cond,
        Object::Semaphore { value: 1 },
        Object::Futex { value: 0 },
        Object::Pipe { slots: 2 },
        Object::Socket { sndbuf: 4096, overhead: 768 },
    ];
    let mut w = workload(objects, tasks);
    w.start.remove(0);
    w.irqs.push(IrqSource {
        name: "dev".into(),
        cpu: 0,
        period: Amount { base: 50_000, jitter: 50_000 },
        busy: Amount { base: 100, jitter: 2_000 },
        posts: Some(3),
    });
    w
}

fn run(m: &fairground_machine::Machine, w: &Workload, config: Config) -> (Result<Outcome, SimError>, u128) {
    let mut hash = HashObserver::new();
    let outcome = testing::engine(m.clone(), w.clone(), config).run(&mut [&mut hash]);
    (outcome, hash.value())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn runs_end_well_and_repeat(
        m in machines(),
        programs in prop::collection::vec(prop::collection::vec(steps(), 1..6), 1..6),
        messages in 1..300u64,
        bytes in 1..=4096u32,
        seed in any::<u64>(),
        idle in prop_oneof![Just(IdleGovernor::Menu), Just(IdleGovernor::Shallowest), Just(IdleGovernor::Deepest)],
        eager in any::<bool>(),
    ) {
        let w = build(programs, messages, bytes, m.nr_cpus() as u32);
        let config = Config {
            seed, idle, pipe_eager_writer_wake: eager, audit_every_ns: 1, max_time_ns: 100_000_000_000,
            ..Config::default()
        };
        let (first, hash) = run(&m, &w, config);
        let outcome = first.map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert!(outcome.totals.time.iter().all(|a| a.irq_ns <= a.overhead_ns));
        let (_, again) = run(&m, &w, config);
        prop_assert_eq!(hash, again);
    }
}

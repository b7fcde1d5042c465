//! Random machines and programs: every run keeps time and energy, never puts a task on two CPUs (the engine checks
//! these itself and would fail), and is a pure function of its inputs.

use fairground_machine::{CpuMask, IdleScope};
use fairground_sim::testing::{self, idle_state, spec, workload};
use fairground_sim::{Config, HashObserver, IdleGovernor, Outcome, SimError};
use fairground_workload::{Amount, IrqSource, Object, Op, ProgramBuilder, Report, Series, Since, TimeUnit, Workload};
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
        one(Op::CallListed(7)),
        one(Op::Sample { since: Since::Stamp(8), to: Report::Series(0) }),
        one(Op::Stamp(8)),
        one(Op::WaitChild),
        (0..50_000u64, 0..4u32, 9..11u32).prop_map(|(ns, lines, lock)| vec![Op::Serial {
            lock,
            hold: Amount::fixed(ns),
            lines
        }]),
        (0..2u32).prop_map(|n| vec![Op::Spawn { spec: 0, count: n, thread: n == 0 }, Op::WaitChildren]),
        any::<u8>().prop_map(|bits| vec![Op::SetAffinity((0..NR_CPUS_MAX).filter(|c| bits >> c & 1 == 1).collect())]),
    ]
}

/// Templates 0 and 1: a short child, and a daemon that any thread may wake; then the random ones, then a writer and a
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
    let read = [Op::PipeRead { pipe, bytes }, Op::Poll(sock), Op::SockRecv { sock, bytes }];
    tasks.push(looped("writer", Some(messages), &write));
    tasks.push(looped("reader", Some(messages), &read));
    let objects = vec![
        Object::Mutex,
        Object::Timer { per_task: true },
        Object::Cond,
        Object::Semaphore { value: 1 },
        Object::Futex { value: 0 },
        Object::Pipe { slots: 2 },
        Object::Socket { sndbuf: 8192, overhead: 768 },
        Object::Roster,
        Object::Stamp,
        Object::Ticket,
        Object::KernelMutex,
    ];
    let mut w = workload(objects, tasks);
    w.series = vec![Series {
        name: "s".into(),
        meaning: "".into(),
        tick_ns: 1000,
        unit: TimeUnit::Us,
        mean: true,
        permilles: vec![],
        deadlines: Vec::new(),
    }];
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

/// Mostly sensible, sometimes absurd.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![40 => 1..4u64, 40 => 1_000..1_000_000u64, 1 => any::<u64>(), 1 => 0..=0u64, 1 => Just(1 << 62)]
}

fn wild_amount() -> impl Strategy<Value = Amount> {
    (number(), number()).prop_map(|(base, jitter)| Amount { base, jitter })
}

fn wild_mask() -> impl Strategy<Value = CpuMask> {
    any::<u8>().prop_map(|bits| (0..8).filter(|c| bits >> c & 1 == 1).collect())
}

/// Where [`wild_workload`] has its objects.
const MUTEX: u32 = 0;
const TIMER: u32 = 1;
const COND: u32 = 2;
const SEM: u32 = 3;
const FUTEX: u32 = 4;
const PIPE: u32 = 5;
const SOCK: u32 = 6;
const BARRIER: u32 = 7;

/// Any step, mostly about the right kind of object.
fn wild_op() -> impl Strategy<Value = Op> {
    let id = |right: u32| prop_oneof![30 => Just(right), 1 => 0..8u32, 1 => any::<u32>()];
    let small = || prop_oneof![40 => 1..4u32, 1 => any::<u32>()];
    prop_oneof![
        8 => wild_amount().prop_map(Op::Run),
        8 => wild_amount().prop_map(Op::RunWall),
        8 => wild_amount().prop_map(Op::Sleep),
        8 => number().prop_map(Op::SleepUntil),
        8 => (id(TIMER), number(), any::<bool>()).prop_map(|(timer, period_ns, relative)| Op::TimerWait {
            timer,
            period_ns,
            relative
        }),
        8 => (id(PIPE), small()).prop_map(|(pipe, bytes)| Op::PipeWrite { pipe, bytes }),
        8 => (id(PIPE), small()).prop_map(|(pipe, bytes)| Op::PipeRead { pipe, bytes }),
        8 => (id(SOCK), small()).prop_map(|(sock, bytes)| Op::SockSend { sock, bytes }),
        8 => (id(SOCK), small()).prop_map(|(sock, bytes)| Op::SockRecv { sock, bytes }),
        8 => (id(FUTEX), small()).prop_map(|(futex, expected)| Op::FutexWait { futex, expected }),
        8 => (id(FUTEX), small()).prop_map(|(futex, count)| Op::FutexWake { futex, count }),
        8 => id(MUTEX).prop_map(Op::Lock),
        8 => id(MUTEX).prop_map(Op::Unlock),
        8 => (id(COND), prop::option::of(id(MUTEX))).prop_map(|(cond, mutex)| Op::CondWait { cond, mutex }),
        8 => id(COND).prop_map(Op::Broadcast),
        8 => id(BARRIER).prop_map(Op::BarrierWait),
        8 => prop_oneof![id(SEM).prop_map(Op::SemWait), id(SEM).prop_map(Op::SemPost)],
        8 => prop_oneof![Just(Op::Yield), Just(Op::Exec), Just(Op::WaitChildren), Just(Op::Exit)],
        8 => (0..4u32, 0..3u32, any::<bool>()).prop_map(|(spec, count, thread)| Op::Spawn { spec, count, thread }),
        8 => wild_mask().prop_map(Op::SetAffinity),
        1 => (prop::option::of(number()), small()).prop_map(|(times, end)| Op::Loop { times, end }),
        1 => small().prop_map(|begin| Op::EndLoop { begin }),
    ]
}

/// Nothing about it needs to make sense: objects are in the order of their kinds.
fn wild_workload() -> impl Strategy<Value = Workload> {
    let ops = prop::collection::vec(wild_op(), 0..5);
    let program = (ops, prop::option::of(wild_mask()), any::<bool>(), prop::option::of(number()));
    let posts = prop::option::of(prop_oneof![20 => Just(SEM), 1 => any::<u32>()]);
    let irq = (wild_amount(), wild_amount(), posts, prop_oneof![20 => Just(0u32), 1 => 0..8u32]);
    let programs = prop::collection::vec(program, 1..5);
    (programs, prop::option::of(irq), prop::option::of(number()), number(), number()).prop_map(
        |(programs, irq, duration_ns, warmup_ns, size)| {
            let size = size as u32;
            let objects = vec![
                Object::Mutex,
                Object::Timer { per_task: true },
                Object::Cond,
                Object::Semaphore { value: size },
                Object::Futex { value: size },
                Object::Pipe { slots: size % 300 },
                Object::Socket { sndbuf: size, overhead: size / 8 },
                Object::Barrier { parties: 1 + size % 4 },
            ];
            let task = |(ops, affinity, daemon, times): (Vec<Op>, _, _, _)| {
                let mut p = ProgramBuilder::new();
                p.repeat(times, |p| {
                    ops.into_iter().for_each(|op| {
                        p.op(op);
                    });
                });
                let mut t = spec("wild", vec![]);
                t.program = p.build();
                (t.affinity, t.daemon, t.footprint_kib) = (affinity, daemon, size);
                t
            };
            let mut w = workload(objects, programs.into_iter().map(task).collect());
            (w.duration_ns, w.warmup_ns) = (duration_ns, warmup_ns);
            w.irqs.extend(irq.map(|(period, busy, posts, cpu)| IrqSource {
                name: "d".into(),
                cpu,
                period,
                busy,
                posts,
            }));
            w
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn no_workload_makes_the_engine_panic(w in wild_workload(), costs in any::<bool>(), n in 1..=4u32) {
        let m = testing::machine(n, 1);
        let m = if costs { testing::with_costs(m) } else { m };
        let config = Config { max_events: 3_000, ..Config::default() };
        let (outcome, _) = run(&m, &w, config);
        let refused = matches!(outcome, Err(SimError::Program { .. }));
        let fits = w.duration_ns.is_none_or(|d| d <= config.max_time_ns);
        prop_assert_eq!(refused, w.problem(&m).is_err() || !fits);
    }
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
        idle in prop::sample::select(vec![
            IdleGovernor::Menu, IdleGovernor::Teo, IdleGovernor::Shallowest, IdleGovernor::Deepest,
        ]),
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

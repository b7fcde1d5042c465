//! What a decision costs the host: `cargo bench -p fairground-bench`.

#![allow(missing_docs)]

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::sync::Arc;

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion};
use fairground_fair::{ffi, DeadlineQueue, Fair, Features, Options, Topology, VruntimeQueue};
use fairground_machine::testing::Shape;
use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::{testing, Config, Engine, Env, Request, Scheduler, TaskInfo};
use fairground_workload::{Amount, Object, Op, ProgramBuilder, SchedAttr, Workload};

fn fair(machine: &Arc<Machine>, scheduler: &str) -> Fair {
    let features = Features::parse(scheduler).expect("a scheduler name");
    Fair::new(Arc::clone(machine), features, Options::default()).expect("a machine of our own")
}

fn end_call(env: &mut Env, cpu: u32, requests: &mut Vec<Request>) {
    env.drain(requests);
    env.take_charge(cpu);
}

/// A scheduler with `nr_tasks` sleeping tasks, all forked on CPU 0.
fn with_sleepers(machine: &Arc<Machine>, scheduler: &str, nr_tasks: u32) -> Fair {
    let mut fair = fair(machine, scheduler);
    let mut env = Env::new(Arc::clone(machine), 250, 1);
    let mut requests = Vec::new();
    for id in 0..nr_tasks {
        env.begin(u64::from(id + 1) * 1_000_000, 0);
        let info = TaskInfo::new(id, SchedAttr::default(), machine.all_cpus());
        fair.fork(&mut env, 0, None, &info);
        end_call(&mut env, 0, &mut requests);
        let cpu = fair.task(id).cpu as u32;
        for step in 0..3 {
            env.begin(u64::from(id + 1) * 1_000_000 + 100_000 * (step + 1), cpu);
            match step {
                1 => fair.block(&mut env, cpu, id),
                _ => drop(fair.schedule(&mut env, cpu)),
            }
            end_call(&mut env, cpu, &mut requests);
        }
    }
    fair
}

/// Two packages of 28 cores with four threads each.
fn thunderx2() -> Machine {
    let mut shape = Shape::from_seed(1);
    (shape.packages, shape.nodes, shape.llcs, shape.clusters) = (2, 1, 1, 1);
    (shape.cores, shape.threads, shape.types) = (28, 4, 1);
    shape.build()
}

fn select(c: &mut Criterion) {
    let preset = Machine::preset("hikey960").expect("a preset");
    let cases = [
        ("wake, previous CPU idle", "v5.11", Machine::symmetric(8), ffi::FG_WF_TTWU),
        ("wake, capacity scan", "v5.9", preset, ffi::FG_WF_TTWU),
        ("fork, 8 CPUs", "v5.9", Machine::symmetric(8), ffi::FG_WF_FORK),
        ("fork, 128 CPUs", "v5.9", Machine::symmetric(128), ffi::FG_WF_FORK),
        ("fork, 224 CPUs, v5.4", "v5.4", thunderx2(), ffi::FG_WF_FORK),
        ("fork, 224 CPUs, v5.5", "v5.5", thunderx2(), ffi::FG_WF_FORK),
        ("fork, 224 CPUs, v6.12", "v6.12", thunderx2(), ffi::FG_WF_FORK),
    ];
    for (name, scheduler, machine, flags) in cases {
        let fair = with_sleepers(&Arc::new(machine), scheduler, 2);
        let wake =
            ffi::FgWake { current: std::ptr::null(), now: 10_000_000, this_cpu: 1, flags, why: std::ptr::null_mut() };
        c.bench_function(&format!("select/{name}"), |b| {
            b.iter(|| {
                let mut verdict = ffi::FgVerdict::zeroed();
                // SAFETY: the structs of a scheduler that nobody else uses meanwhile.
                unsafe { ffi::fg_select_task_rq(fair.sys(), fair.task(1), black_box(&wake), &mut verdict) };
                verdict.cpu
            })
        });
    }
}

/// Two nodes of 24 CPUs in clusters of 4, and two of 28 cores with four threads each.
fn servers() -> [(&'static str, Machine); 2] {
    let shape = Shape { packages: 2, nodes: 1, llcs: 1, types: 1, siblings_last: false, ..Shape::from_seed(1) };
    let clustered = Shape { clusters: 6, cores: 4, threads: 1, clusters_share_cache: true, ..shape };
    let threaded = Shape { clusters: 1, cores: 28, threads: 4, clusters_share_cache: false, ..shape };
    [("48 CPUs", clustered.build()), ("224 CPUs", threaded.build())]
}

/// Equal seeds, equal draws.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % n
    }
}

/// A scheduler with one task running on each of about `percent` of the CPUs, and what wakeups read of LLCs set to match:
/// whether some core is idle, and as many CPUs to scan as balancing would leave.
fn busy(machine: &Arc<Machine>, scheduler: &str, percent: u32) -> Fair {
    let mut fair = fair(machine, scheduler);
    let mut env = Env::new(Arc::clone(machine), 250, 1);
    let (mut requests, mut draw, mut id) = (Vec::new(), Draw(1), 0);
    for cpu in machine.all_cpus().iter().filter(|_| draw.below(100) < percent) {
        let info = TaskInfo::new(id, SchedAttr::default(), CpuMask::single(cpu));
        env.begin(1_000_000, 0);
        fair.fork(&mut env, 0, None, &info);
        end_call(&mut env, 0, &mut requests);
        env.begin(2_000_000, cpu);
        fair.schedule(&mut env, cpu);
        end_call(&mut env, cpu, &mut requests);
        id += 1;
    }
    let idle = |cpu: CpuId| fair.cpu(cpu).curr_is_idle != 0;
    for core in &machine.cores {
        let cpu = fair.cpu(core.first().unwrap_or(0));
        // SAFETY: an LLC of the scheduler, which nobody else uses meanwhile.
        if let Some(llc) = unsafe { cpu.llc.as_mut() } {
            llc.has_idle_cores |= u32::from(core.iter().all(idle));
            llc.nr_idle_scan = cpu.sd_llc_size * (10_000 - percent * percent) / 10_000;
        }
    }
    fair
}

/// Sleepers that ran anywhere, and who wakes them from where.
fn wakeups(fair: &Fair, nr_cpus: u32) -> Vec<(ffi::FgTask, ffi::FgWake)> {
    let mut draw = Draw(2);
    let mut one = |_| {
        let mut p = fair.task(0).clone();
        p.id = 1_000_000;
        (p.on_rq, p.on_cpu, p.nr_allowed, p.allowed) = (0, 0, nr_cpus, fair.sys().active);
        (p.cpu, p.recent_used) = (draw.below(nr_cpus) as i32, draw.below(nr_cpus) as i32);
        let this_cpu = draw.below(nr_cpus);
        let sync = if draw.below(2) == 0 { ffi::FG_WF_SYNC } else { 0 };
        let current = fair.cpu(this_cpu).curr;
        let (this_cpu, flags) = (this_cpu as i32, ffi::FG_WF_TTWU | sync);
        (p, ffi::FgWake { current, now: 10_000_000, this_cpu, flags, why: std::ptr::null_mut() })
    };
    (0..1024).map(&mut one).collect()
}

fn decide(fair: &Fair, wakeup: &(ffi::FgTask, ffi::FgWake)) -> ffi::FgVerdict {
    let mut verdict = ffi::FgVerdict::zeroed();
    // SAFETY: the structs of a scheduler that nobody else uses meanwhile, and copies of them.
    unsafe { ffi::fg_select_task_rq(fair.sys(), &wakeup.0, black_box(&wakeup.1), &mut verdict) };
    verdict
}

/// How often each rule decides, and how much it looks at.
fn print_mix(name: &str, fair: &Fair, wakeups: &[(ffi::FgTask, ffi::FgWake)]) {
    let mut mix = BTreeMap::<&str, u32>::new();
    let mut probes = 0;
    for verdict in wakeups.iter().map(|w| decide(fair, w)) {
        *mix.entry(fair.rule(verdict.rule as u16).name).or_default() += 1;
        probes += verdict.probes;
    }
    let share = |(rule, n): (&&str, &u32)| format!("{rule} {}", 100 * n / wakeups.len() as u32);
    let shares: Vec<String> = mix.iter().map(share).collect();
    println!("{name}: {} CPUs looked at in the mean; rules in %: {}", probes / wakeups.len() as u32, shares.join(", "));
}

/// Wakeups on servers of which some or nearly all CPUs are busy.
fn select_on_servers(c: &mut Criterion) {
    for (size, machine) in servers() {
        let (machine, nr_cpus) = (Arc::new(machine.clone()), machine.nr_cpus() as u32);
        for version in ["v5.11", "v6.12"] {
            for percent in [50, 90, 100] {
                let fair = busy(&machine, version, percent);
                let wakeups = wakeups(&fair, nr_cpus);
                let name = format!("select/wake, {size}, {percent} % busy, {version}");
                print_mix(&name, &fair, &wakeups);
                let mut next = 0;
                c.bench_function(&name, |b| {
                    b.iter(|| {
                        next = (next + 1) % wakeups.len();
                        decide(&fair, &wakeups[next]).cpu
                    })
                });
            }
        }
    }
}

fn pelt(c: &mut Criterion) {
    c.bench_function("pelt/update of 1 ms", |b| {
        let mut avg = ffi::FgAvg::zeroed();
        let mut now = 0;
        b.iter(|| {
            now += 1_000_000;
            // SAFETY: a signal of our own.
            unsafe { ffi::fg_pelt_update(&mut avg, black_box(now), 1, 1, 1) }
        })
    });
}

fn topology(c: &mut Criterion) {
    let features = Features::parse("v5.9").expect("a scheduler name");
    for name in ["hikey960", "epyc-7742-2p"] {
        let machine = Machine::preset(name).expect("a preset");
        c.bench_with_input(BenchmarkId::new("topology", name), &machine, |b, machine| {
            b.iter(|| Topology::new(machine, &features, &Options::default()).map(|t| t.partitions().len()))
        });
    }
}

/// One wakeup and one pick on a queue of `n`: our container, and a tree.
fn queues(c: &mut Criterion) {
    for n in [4u64, 64, 1024] {
        c.bench_with_input(BenchmarkId::new("queue/sorted vector", n), &n, |b, n| {
            let mut queue = VruntimeQueue::default();
            (0..*n).for_each(|i| queue.insert(i * 1000, i as u32));
            let mut v = 0u64;
            b.iter(|| {
                v += 1000;
                let left = queue.left().unwrap_or(0);
                queue.remove(v - 1000, left);
                queue.insert(v + (n - 1) * 1000, left);
            })
        });
        c.bench_with_input(BenchmarkId::new("queue/BTreeSet", n), &n, |b, n| {
            let mut queue: BTreeSet<(i64, u32)> = (0..*n).map(|i| (i as i64 * 1000, i as u32)).collect();
            let mut v = 0i64;
            b.iter(|| {
                v += 1000;
                let left = queue.pop_first().map_or(0, |e| e.1);
                queue.insert((v + (*n as i64 - 1) * 1000, left));
            })
        });
    }
}

/// As many tasks as a queue has, at random places in two slices, and V in their middle: half of them are eligible.
struct Switches {
    tasks: Vec<(u64, u64)>,
    next: usize,
}

impl Switches {
    const V: u64 = 3_000_000;

    fn new(n: usize) -> Switches {
        let mut seed = 1u64;
        let mut draw = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % (2 * Self::V)
        };
        // Twice as many as are queued at a time.
        let mut task = |_| {
            let v = draw();
            (v + draw(), v)
        };
        Switches { tasks: (0..2 * n).map(&mut task).collect(), next: 0 }
    }

    /// Who comes in.
    fn next(&mut self) -> (usize, u64, u64) {
        self.next = (self.next + 1) % self.tasks.len();
        let (deadline, vruntime) = self.tasks[self.next];
        (self.next, deadline, vruntime)
    }

    /// Who goes out, `n` steps later.
    fn oldest(&self, n: usize) -> (usize, u64) {
        let at = (self.next + self.tasks.len() - n) % self.tasks.len();
        (at, self.tasks[at].0)
    }
}

/// One switch on an EEVDF queue of `n`: a task comes, one goes, and the first eligible one is found. Our blocks, and a
/// vector in which everybody is looked at.
fn eligible(c: &mut Criterion) {
    for n in [2usize, 8, 64, 512] {
        c.bench_with_input(BenchmarkId::new("eligible/blocks", n), &n, |b, &n| {
            let (mut queue, mut switches) = (DeadlineQueue::default(), Switches::new(n));
            (0..n).for_each(|_| {
                let (task, deadline, vruntime) = switches.next();
                queue.insert(deadline, vruntime, task as u32);
            });
            b.iter(|| {
                let (task, deadline, vruntime) = switches.next();
                queue.insert(deadline, vruntime, task as u32);
                let (gone, deadline) = switches.oldest(n);
                queue.remove(deadline, gone as u32);
                queue.first_within(black_box(Switches::V))
            })
        });
        c.bench_with_input(BenchmarkId::new("eligible/plain scan", n), &n, |b, &n| {
            let (mut queue, mut switches) = (Vec::<(u64, u64, u32)>::new(), Switches::new(n));
            (0..n).for_each(|_| {
                let (task, deadline, vruntime) = switches.next();
                queue.push((deadline, vruntime, task as u32));
            });
            b.iter(|| {
                let (task, deadline, vruntime) = switches.next();
                queue.push((deadline, vruntime, task as u32));
                let (gone, _) = switches.oldest(n);
                if let Some(at) = queue.iter().position(|t| t.2 == gone as u32) {
                    queue.swap_remove(at);
                }
                let bound = black_box(Switches::V);
                queue.iter().filter(|t| t.1 <= bound).min_by_key(|t| t.0).map(|t| t.2)
            })
        });
    }
}

/// Periodic threads of 15 % load, five for each CPU, for 100 ms.
fn periodic(nr_tasks: u32) -> Workload {
    let mut program = ProgramBuilder::new();
    program.op(Op::Sleep(Amount { base: 0, jitter: 10_000_000 })).repeat(None, |p| {
        p.op(Op::Run(Amount { base: 1_400_000, jitter: 200_000 }));
        p.op(Op::TimerWait { timer: 0, period_ns: 10_000_000, relative: true });
    });
    let mut task = testing::spec("periodic", vec![]);
    task.program = program.build();
    let mut workload = testing::workload(vec![Object::Timer { per_task: true }], vec![task]);
    workload.start[0].count = nr_tasks;
    workload.duration_ns = Some(100_000_000);
    workload
}

fn whole_run(c: &mut Criterion) {
    for cpus in [8u32, 128] {
        let machine = Arc::new(Machine::symmetric(cpus as usize));
        let workload = Arc::new(periodic(5 * cpus));
        let run = || {
            let fair = Box::new(fair(&machine, "v5.9"));
            let mut engine = Engine::new(Arc::clone(&machine), Arc::clone(&workload), fair, Config::default());
            engine.run(&mut []).map_or(0, |outcome| outcome.nr_events)
        };
        let mut group = c.benchmark_group("run");
        group.sample_size(20).throughput(criterion::Throughput::Elements(run()));
        group.bench_function(format!("100 ms of {cpus} CPUs"), |b| b.iter(run));
        group.finish();
    }
}

criterion_group!(benches, select, select_on_servers, pelt, topology, queues, eligible, whole_run);
criterion_main!(benches);

//! The workloads that interventions change.
//!
//! Each is short, runs for a given time or a given amount, and measures itself by what its own programs can see: the same
//! marks and samples are read by `fairground play` and by the simulator. Working sets are stated, and `play` reads just
//! those, so that no draw varies them.

use fairground_machine::Machine;
use fairground_workload::{
    Amount, Mark, Object, Op, ProgramBuilder, Report, Score, Series, Since, Start, TaskSpec, TimeUnit, Workload,
    WorkloadError,
};

const US: u64 = 1000;
const MS: u64 = 1_000_000;

/// Working set of a thread that computes, KiB: it fits the first cache of any CPU.
const FOOTPRINT_KIB: u32 = 8;
/// Working set of a thread that only passes messages on, KiB; an estimate, that of sched-pipe.
const MESSAGE_FOOTPRINT_KIB: u32 = 4;
/// What comes before this is not measured, ns: threads come into being, and load tracking begins.
const WARMUP_NS: u64 = 20 * MS;
/// Longer than any round, ns.
const RIVALS_NS: u64 = 600_000 * MS;
/// Work between two looks at the clock of a thread that never sleeps, ns.
const CHUNK_NS: u64 = 200 * US;
/// Threads that never sleep begin at times of their own within this, ns. Else those of all rounds would come to the same
/// CPUs in the same order when they are simulated, and in any order when they are played, and it takes the balancing of
/// a busy CPU longer than a round to undo that.
const ARRIVAL_NS: u64 = 16 * MS;

/// What all base workloads are made for.
#[derive(Clone, Debug)]
pub struct Shape<'a> {
    /// The machine, by which built-in workloads are read.
    pub machine: &'a Machine,
    /// Number of CPUs that workloads may use.
    pub cpus: u32,
    /// Length of a round, s, 0.05 to 10.
    pub seconds: f64,
}

impl Shape<'_> {
    fn duration_ns(&self) -> u64 {
        (self.seconds * 1e9) as u64
    }

    /// `n` of a round of 0.3 s in a round of this length, at least 1.
    fn scaled(&self, n: u32) -> u32 {
        ((f64::from(n) * self.seconds / 0.3).round() as u32).max(1)
    }

    fn blank(&self, name: &str) -> Workload {
        blank(name, self.duration_ns())
    }

    /// A built-in workload. Its own name: draws would vary the working sets of the built-in.
    fn builtin(&self, name: &str, spec: &str) -> Result<Workload, WorkloadError> {
        let (workload, _) = Workload::builtin(spec, self.machine)?;
        Ok(Workload { name: format!("validate-{name}"), ..workload })
    }
}

/// A workload of nothing yet, of this length.
fn blank(name: &str, duration_ns: u64) -> Workload {
    let duration_ns = Some(duration_ns);
    Workload { duration_ns, warmup_ns: WARMUP_NS, ..Workload::empty(&format!("validate-{name}")) }
}

/// A series in us of a clock of 1 ns, with its mean and these percentiles.
fn series(name: &str, meaning: &str, permilles: &[u16]) -> Series {
    Series {
        name: name.into(),
        meaning: meaning.into(),
        tick_ns: 1,
        unit: TimeUnit::Us,
        mean: true,
        permilles: permilles.into(),
        deadlines: Vec::new(),
    }
}

/// Adds `task` as a thread of the start, in this process.
fn start(workload: &mut Workload, task: TaskSpec, process: u32) {
    let spec = workload.tasks.len() as u32;
    workload.tasks.push(task);
    workload.start.push(Start { spec, count: 1, cpu: 0, process });
}

/// How [`ping_pong`] passes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// Pairs of tasks.
    pub pairs: u32,
    /// Bytes of a message, 1 to 4096.
    pub bytes: u32,
    /// By AF_UNIX stream sockets, else by pipes.
    pub sockets: bool,
    /// All tasks are threads of one process, else each is one.
    pub threads: bool,
    /// Working set of a task that it works through between two messages, KiB, and that work, us; 0: neither.
    pub work: (u32, u64),
}

/// The messages of perf bench sched pipe.
pub const PIPE: Messages = Messages { pairs: 1, bytes: 4, sockets: false, threads: false, work: (0, 0) };

/// Pairs of tasks pass a message to and fro: `ops_per_sec` is round trips of all pairs.
pub fn ping_pong(shape: &Shape, how: Messages) -> Workload {
    let channel = match how.sockets {
        true => Object::Socket { sndbuf: 212_992, overhead: 668 },
        false => Object::Pipe { slots: 16 },
    };
    let send = |id: u32| match how.sockets {
        true => Op::SockSend { sock: id, bytes: how.bytes },
        false => Op::PipeWrite { pipe: id, bytes: how.bytes },
    };
    let receive = |id: u32| match how.sockets {
        true => Op::SockRecv { sock: id, bytes: how.bytes },
        false => Op::PipeRead { pipe: id, bytes: how.bytes },
    };
    let (footprint_kib, work_us) = how.work;
    let work = |p: &mut ProgramBuilder| {
        if work_us > 0 {
            p.op(Op::Run(Amount::fixed(work_us * US)));
        }
    };
    let mut workload = Workload { score: Score::OpsPerSec, ..shape.blank("ping-pong") };
    for pair in 0..how.pairs {
        let (there, back) = (2 * pair, 2 * pair + 1);
        workload.objects.extend([channel.clone(), channel.clone()]);
        let (mut ping, mut pong) = (ProgramBuilder::new(), ProgramBuilder::new());
        ping.repeat(None, |p| {
            work(p);
            p.op(send(there)).op(receive(back)).op(Op::Mark(Mark::Op));
        });
        pong.repeat(None, |p| {
            p.op(receive(there));
            work(p);
            p.op(send(back));
        });
        let footprint_kib = footprint_kib.max(MESSAGE_FOOTPRINT_KIB);
        for (i, (name, mut program)) in [("ping", ping), ("pong", pong)].into_iter().enumerate() {
            let process = if how.threads { 0 } else { 2 * pair + i as u32 };
            start(&mut workload, TaskSpec::new(name, footprint_kib, program.build()), process);
        }
    }
    workload
}

/// The beginning of a thread that never sleeps.
fn hog_program() -> ProgramBuilder {
    let mut p = ProgramBuilder::new();
    p.op(Op::Sleep(Amount { base: 0, jitter: ARRIVAL_NS }));
    p
}

/// Threads that never sleep, in two halves, each a process: `first_mean_us` and `second_mean_us` are the time that 200 us of
/// work take in each, `ops_per_sec` all work together in pieces of that size.
pub fn hogs(shape: &Shape, tasks: u32, footprint_kib: u32) -> Workload {
    let mut workload = Workload {
        score: Score::OpsPerSec,
        series: vec![
            series("first", "200 us of work by the first half of the threads", &[]),
            series("second", "200 us of work by the second half of the threads", &[]),
        ],
        ..shape.blank("hogs")
    };
    for i in 0..tasks {
        let half = u32::from(i >= tasks.div_ceil(2));
        let stamp = workload.objects.len() as u32;
        workload.objects.push(Object::Stamp);
        let mut p = hog_program();
        p.repeat(None, |p| {
            p.op(Op::Stamp(stamp));
            p.op(Op::Run(Amount::fixed(CHUNK_NS)));
            p.op(Op::Sample { since: Since::Stamp(stamp), to: Report::Series(half) });
            p.op(Op::Mark(Mark::Op));
        });
        let name = if half == 0 { "first" } else { "second" };
        start(&mut workload, TaskSpec::new(name, footprint_kib.max(FOOTPRINT_KIB), p.build()), half);
    }
    workload
}

/// What [`naps`] are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Naps {
    /// Threads that sleep and work by turns.
    pub nappers: u32,
    /// Threads beside them that never sleep, in a process of their own.
    pub hogs: u32,
    /// Shortest sleep, us; a third of that may be added.
    pub sleep_us: u64,
    /// Work after a sleep, us.
    pub work_us: u64,
}

/// One thread that sleeps 300 us and works 50 us by turns.
pub const NAP: Naps = Naps { nappers: 1, hogs: 0, sleep_us: 300, work_us: 50 };

/// Threads that sleep for a short time, and others that never do: `nap_mean_us` and `nap_p99_us` are the sleeps as who
/// sleeps sees them; with hogs `ops_per_sec` is their work, in pieces of 200 us.
pub fn naps(shape: &Shape, how: Naps) -> Workload {
    let mut workload = Workload {
        score: if how.hogs > 0 { Score::OpsPerSec } else { Score::None },
        series: vec![series("nap", "a sleep until the thread goes on", &[990])],
        ..shape.blank("naps")
    };
    let sleep_ns = how.sleep_us * US;
    for _ in 0..how.nappers {
        let stamp = workload.objects.len() as u32;
        workload.objects.push(Object::Stamp);
        let mut p = ProgramBuilder::new();
        p.repeat(None, |p| {
            p.op(Op::Stamp(stamp));
            p.op(Op::Sleep(Amount { base: sleep_ns, jitter: sleep_ns / 3 }));
            p.op(Op::Sample { since: Since::Stamp(stamp), to: Report::Series(0) });
            p.op(Op::Run(Amount::fixed(how.work_us * US)));
        });
        start(&mut workload, TaskSpec::new("nap", FOOTPRINT_KIB, p.build()), 0);
    }
    add_hogs(&mut workload, how.hogs);
    workload
}

/// Threads that never sleep, in a process of their own, which count their work.
fn add_hogs(workload: &mut Workload, hogs: u32) {
    for _ in 0..hogs {
        let mut p = hog_program();
        p.repeat(None, |p| {
            p.op(Op::Run(Amount::fixed(CHUNK_NS))).op(Op::Mark(Mark::Op));
        });
        start(workload, TaskSpec::new("hog", FOOTPRINT_KIB, p.build()), 1);
    }
}

/// This workload with `hogs` more threads that never sleep and count nothing, in a process of their own.
pub fn beside_hogs(mut workload: Workload, hogs: u32) -> Workload {
    let process = workload.start.iter().map(|start| start.process + 1).max().unwrap_or(0);
    for _ in 0..hogs {
        let mut p = hog_program();
        p.repeat(None, |p| {
            p.op(Op::Run(Amount::fixed(CHUNK_NS)));
        });
        let hog = TaskSpec { daemon: true, ..TaskSpec::new("hog", FOOTPRINT_KIB, p.build()) };
        start(&mut workload, hog, process);
    }
    workload
}

/// Threads that never sleep and of which nothing is measured, until they are ended.
pub fn rivals(tasks: u32) -> Workload {
    beside_hogs(blank("rivals", RIVALS_NS), tasks)
}

/// Three threads, each of which hands a frame on to the next, every 2 ms: `frame_mean_us` and `frame_p90_us` are from the
/// first one's start of work until the last is done.
pub fn frames(shape: &Shape) -> Workload {
    const PERIOD_NS: u64 = 2 * MS;
    let (timer, begun, stage) = (0, 1, [2, 3]);
    let mut workload = Workload {
        objects: vec![
            Object::Timer { per_task: true },
            Object::Stamp,
            Object::Semaphore { value: 0 },
            Object::Semaphore { value: 0 },
        ],
        series: vec![series("frame", "from the first stage's start of work to the last stage's end", &[900])],
        ..shape.blank("frames")
    };
    let work = |us: u64| Op::Run(Amount { base: us * US, jitter: us * US / 5 });
    let mut first = ProgramBuilder::new();
    first.repeat(None, |p| {
        p.op(Op::TimerWait { timer, period_ns: PERIOD_NS, relative: false });
        p.op(Op::Stamp(begun)).op(work(200)).op(Op::SemPost(stage[0]));
    });
    let mut second = ProgramBuilder::new();
    second.repeat(None, |p| {
        p.op(Op::SemWait(stage[0])).op(work(400)).op(Op::SemPost(stage[1]));
    });
    let mut third = ProgramBuilder::new();
    third.repeat(None, |p| {
        p.op(Op::SemWait(stage[1])).op(work(200));
        p.op(Op::Sample { since: Since::Stamp(begun), to: Report::Series(0) });
    });
    for (name, mut program) in [("stage-1", first), ("stage-2", second), ("stage-3", third)] {
        start(&mut workload, TaskSpec::new(name, FOOTPRINT_KIB, program.build()), 0);
    }
    workload
}

/// schbench: one message thread wakes all workers at once. `latency_p50_us` and `latency_p99_us` are from its time stamp
/// until a worker is back.
pub fn requests(shape: &Shape, workers: u32, work_us: u32) -> Result<Workload, WorkloadError> {
    let seconds = shape.seconds;
    let options = format!("message-threads=1,threads={workers},cputime={work_us},sleeptime=1000,runtime={seconds}");
    shape.builtin("requests", &format!("schbench:{options}"))
}

/// hackbench with 8 senders and 8 receivers a group: `time_s`. Each group passes 64,000 messages in a round of 0.3 s,
/// whatever their number.
pub fn messaging(shape: &Shape, groups: u32, options: &str) -> Result<Workload, WorkloadError> {
    let loops = shape.scaled(1000);
    shape.builtin("messaging", &format!("hackbench:groups={groups},fds=8,loops={loops}{options}"))
}

/// Bursts of short-lived children: `burst_mean_us` from the first fork of a burst until all its children have ended,
/// `fork_to_run_p50_us` from a fork until the child runs.
pub fn births(shape: &Shape, children: u32, options: &str) -> Result<Workload, WorkloadError> {
    let bursts = shape.scaled(80);
    shape.builtin("births", &format!("fork-burst:bursts={bursts},children={children},work=200,gap=2{options}"))
}

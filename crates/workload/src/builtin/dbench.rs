//! dbench, as a closed loop: clients that think, pass through one shared serial section, and sometimes flush.
//!
//! What dbench 4.0 does with client.txt on a file system is here three times: CPU work of an operation, a lock of the
//! file system that all clients go through, and a flush that sleeps. What file systems serialize for microseconds
//! (journal, directories, allocation) they do under mutexes and read-write semaphores, whose waiters spin only while
//! the holder runs: so does this one. With `ticket` it is a spin lock.

use std::sync::Arc;

use fairground_machine::CpuId;

use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{OptionInfo, OptionKind, Options, MICRO, NS_PER_S, NS_PER_US};
use crate::program::*;
use crate::validate::MAX_DURATION_NS;

pub(super) const BUILTIN: Builtin = Builtin {
    name: "dbench",
    title: "dbench-like closed loop: clients that share a file system",
    measures:
        "Each client repeats an operation: work of its own, then a section that only one may be in. Reports MB/s at\n\
        5428 bytes an operation, the mean of Debian's client.txt; the first fifth of the time is not counted. Placement\n\
        acts by how clients are spread at fork, by the distance between those who take the lock in turn, and by\n\
        stacking where clients outnumber CPUs: a holder that is preempted keeps all others from the lock.",
    misleads: "A model of the contention, not of a file system: no page cache, no directory, no disk. `think`, `hold` and\n\
        `lines` are estimates that stand for a machine and its file system (the defaults: ThunderX2, memory\n\
        file system, 12 us and 0.9 us of an operation of 16.5 us); of these `think` and `hold` are free to be fitted to\n\
        baseline figures, one for every three of them. Kept: processes, the common start, one flush in 83 operations\n\
        (1.2 %), no communication. Simplified: every operation is the mean one; work varies by half of itself; one\n\
        lock, a mutex that is spun for while its holder runs, stands for all of the file system's.",
    options: OPTIONS,
    build,
};

const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "clients",
        kind: OptionKind::Int { min: 1, max: 10_000 },
        default: "1",
        meaning: "client processes",
        excludes: None,
    },
    OptionInfo {
        name: "duration",
        kind: OptionKind::Decimal { unit: "s", min: MICRO / 1000, max: MAX_DURATION_NS / 1000 },
        default: "10",
        meaning: "length of the run, s (-t; the tool's default is 600), of which a fifth is warm-up",
        excludes: None,
    },
    OptionInfo {
        name: "think",
        kind: OptionKind::Decimal { unit: "us", min: 1000, max: 1_000_000 * MICRO },
        default: "12",
        meaning: "work of an operation outside the shared section, us on a CPU of capacity 1024",
        excludes: None,
    },
    OptionInfo {
        name: "hold",
        kind: OptionKind::Decimal { unit: "us", min: 0, max: 1_000_000 * MICRO },
        default: "0.9",
        meaning: "work of an operation inside it, us on a CPU of capacity 1024",
        excludes: None,
    },
    OptionInfo {
        name: "lines",
        kind: OptionKind::Int { min: 0, max: 1024 },
        default: "4",
        meaning: "cache lines that come over from the last one inside",
        excludes: None,
    },
    OptionInfo {
        name: "flush",
        kind: OptionKind::Decimal { unit: "us", min: 0, max: 10_000_000 * MICRO },
        default: "10",
        meaning: "sleep in a flush, us: 10 in memory, thousands on a disk",
        excludes: None,
    },
    OptionInfo {
        name: "ticket",
        kind: OptionKind::Flag,
        default: "",
        meaning: "the section has a ticket lock: waited for and held with preemption off",
        excludes: None,
    },
    parts::START_CPU,
];

/// Read and written in a pass of Debian's client.txt, over its operations.
const BYTES_PER_OP: u32 = 5428;
/// Operations for one flush: 1.2 % of client.txt.
const OPS_PER_FLUSH: u64 = 83;
/// Part of the run that is warm-up.
const WARMUP_PART: u64 = 5;

/// Working set of a client, KiB; an estimate: its buffers (reads and writes of 4 to 64 KiB), its open files and the
/// loaded script, as far as they live in a second-level cache.
const FOOTPRINT_KIB: u32 = 128;

const LOCK: ObjId = 0;
const READY: ObjId = 1;
const GO: ObjId = 2;
const MAIN: SpecId = 0;
const CLIENT: SpecId = 1;

fn build(options: &Options) -> Result<Workload, WorkloadError> {
    let clients = options.int("clients") as u32;
    let duration_ns = options.ns("duration", NS_PER_S);
    let task = |name: &str, program| TaskSpec::new(name, FOOTPRINT_KIB, program);
    let lock = if options.is_given("ticket") { Object::Ticket } else { Object::KernelMutex };
    Ok(Workload {
        objects: vec![lock, Object::Semaphore { value: 0 }, Object::Futex { value: 0 }],
        object_names: ["file system", "ready", "go"].map(String::from).into(),
        tasks: vec![
            task("dbench", main(clients)),
            // Its sleep stands for a disk that is flushed: no timer ends it.
            TaskSpec { timer_slack_ns: 0, ..task("dbench-client", client(options)) },
        ],
        start: vec![Start { spec: MAIN, count: 1, cpu: options.int("start-cpu") as CpuId, process: 0 }],
        duration_ns: Some(duration_ns),
        warmup_ns: duration_ns / WARMUP_PART,
        score: Score::Throughput { bytes_per_op: BYTES_PER_OP },
        ..parts::blank(options)
    })
}

/// Starts the clients, awaits that all are ready, and lets them go on at once, as with SIGSTOP and SIGCONT.
fn main(clients: u32) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.op(Op::Spawn { spec: CLIENT, count: clients, thread: false });
    p.repeat(Some(clients.into()), |p| {
        p.op(Op::SemWait(READY));
    });
    p.op(Op::FutexStore { futex: GO, value: 1 });
    p.op(Op::FutexWake { futex: GO, count: clients });
    p.op(Op::WaitChildren);
    p.build()
}

fn client(options: &Options) -> Arc<[Op]> {
    let think_ns = options.ns("think", NS_PER_US);
    let hold = Amount::fixed(options.ns("hold", NS_PER_US));
    let lines = options.int("lines") as u32;
    let operation = |p: &mut ProgramBuilder| {
        p.op(Op::Run(Amount { base: think_ns - think_ns / 2, jitter: think_ns / 2 * 2 }));
        p.op(Op::Serial { lock: LOCK, hold, lines });
    };
    let mut p = ProgramBuilder::new();
    p.op(Op::SemPost(READY));
    p.op(Op::FutexWait { futex: GO, expected: 0 });
    p.repeat(None, |p| {
        p.repeat(Some(OPS_PER_FLUSH - 1), |p| {
            operation(p);
            p.op(Op::Mark(Mark::Op));
        });
        operation(p);
        p.op(Op::Sleep(Amount::fixed(options.ns("flush", NS_PER_US))));
        p.op(Op::Mark(Mark::Op));
    });
    p.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    #[test]
    fn the_section_has_a_mutex_or_a_ticket_lock() {
        let lock = |name| Workload::find(name, &small_machine(2)).unwrap().0.objects[LOCK as usize].kind();
        assert_eq!(["dbench", "dbench:ticket"].map(lock), ["kernel mutex", "ticket lock"]);
    }

    #[test]
    fn thinking_varies_by_half_around_its_mean_and_one_operation_in_83_flushes() {
        let w = Workload::find("dbench:clients=4,think=10,hold=2,lines=3,flush=50", &small_machine(2)).unwrap().0;
        let client = &w.tasks[1].program;
        assert_eq!(client[4], Op::Run(Amount { base: 5000, jitter: 10_000 }));
        assert_eq!(client[5], Op::Serial { lock: LOCK, hold: Amount::fixed(2000), lines: 3 });
        assert_eq!(client[3], Op::Loop { times: Some(82), end: 8 });
        let flushes = client.iter().filter(|op| **op == Op::Sleep(Amount::fixed(50_000))).count();
        assert_eq!(flushes, 1);
        assert_eq!((w.duration_ns, w.warmup_ns), (Some(10_000_000_000), 2_000_000_000));
    }
}

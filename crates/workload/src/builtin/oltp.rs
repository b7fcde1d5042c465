//! A database under transactions: clients and backends in pairs, row locks, and a log that commits in groups.

use std::sync::Arc;

use fairground_machine::CpuId;

use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{OptionInfo, OptionKind, Options, MICRO, NS_PER_S, NS_PER_US};
use crate::program::*;

pub(super) const BUILTIN: Builtin = Builtin {
    name: "oltp",
    title: "a database under transactions: backends, row locks, a log",
    measures:
        "A client sends a statement and waits for its result, `statements` times; the last one commits: the backend wakes the log\n\
        writer and sleeps until that has written. Some of a statement's work is done under a lock that it shares with others.\n\
        Reports the time of a transaction as the client sees it. Placement acts by round trips of client and backend, by\n\
        where lock holders run or are preempted, and by the wakeup of all who wait for one commit.",
    misleads: "A model of waiting, not of a database: no pages, no buffers, no index, and a disk that takes `flush` us whatever is written.\n\
        Clients do not think, so that the load is closed: throughput is clients over the mean time. Locks are taken one\n\
        at a time: no deadlock. Which lock a backend takes is fixed: neighbours share one. Who\n\
        commits while the log is written is woken by that write, and waits for no second one as in a database: waits are shorter\n\
        and groups larger. All figures are estimates.",
    options: OPTIONS,
    build,
};

const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "clients",
        kind: OptionKind::Int { min: 1, max: 10_000 },
        default: "16",
        meaning: "clients, and backends",
        excludes: None,
    },
    OptionInfo {
        name: "statements",
        kind: OptionKind::Int { min: 1, max: 1000 },
        default: "5",
        meaning: "statements of a transaction",
        excludes: None,
    },
    OptionInfo {
        name: "work",
        kind: OptionKind::Decimal { unit: "us", min: MICRO, max: 1_000_000 * MICRO },
        default: "60",
        meaning: "mean work of a statement outside of the lock, us on a CPU of capacity 1024",
        excludes: None,
    },
    OptionInfo {
        name: "locked",
        kind: OptionKind::Decimal { unit: "us", min: MICRO / 100, max: 1_000_000 * MICRO },
        default: "10",
        meaning: "work of a statement under the lock, us on a CPU of capacity 1024",
        excludes: None,
    },
    OptionInfo {
        name: "sharing",
        kind: OptionKind::Int { min: 1, max: 10_000 },
        default: "4",
        meaning: "backends that share a lock",
        excludes: None,
    },
    OptionInfo {
        name: "flush",
        kind: OptionKind::Decimal { unit: "us", min: 1000, max: 10_000_000 * MICRO },
        default: "100",
        meaning: "sleep of the log writer for each write, us: an SSD's",
        excludes: None,
    },
    parts::DURATION,
    parts::START_CPU,
];

/// Working sets, KiB; estimates: a backend's plans and hot pages, a client's buffers.
const BACKEND_KIB: u32 = 512;
const CLIENT_KIB: u32 = 32;
/// Bytes of a statement and of its result; estimates.
const STATEMENT_BYTES: u32 = 200;
const RESULT_BYTES: u32 = 400;
/// Work of the log writer for each write, and of a client for each statement, ns; estimates.
const LOG_NS: u64 = 5_000;
const CLIENT_NS: u64 = 5_000;

/// Objects that all share: the log's mutex, what is to be written, and who waits for it.
const LOG: ObjId = 0;
const TO_WRITE: ObjId = 1;
const WRITTEN: ObjId = 2;
const COMMON: u32 = 3;
/// Objects of a pair: socket to the backend, socket back, time stamp.
const PER_PAIR: u32 = 3;

const MAIN: SpecId = 0;
const WRITER: SpecId = 1;
const TRANSACTION: SeriesId = 0;

fn build(options: &Options) -> Result<Workload, WorkloadError> {
    let (clients, sharing) = (options.int("clients") as u32, options.int("sharing") as u32);
    let locks = clients.div_ceil(sharing);
    let mut objects = vec![Object::Mutex, Object::Semaphore { value: 0 }, Object::Cond];
    objects.extend((0..locks).map(|_| Object::Mutex));
    let mut tasks = vec![
        TaskSpec::new("oltp", CLIENT_KIB, main(clients)),
        // Its sleep stands for a disk: no timer ends it.
        TaskSpec { timer_slack_ns: 0, ..TaskSpec::new("oltp-log", CLIENT_KIB, writer(options)) },
    ];
    for pair in 0..clients {
        let first = COMMON + locks + pair * PER_PAIR;
        objects.extend([parts::SOCKET, parts::SOCKET, Object::Stamp]);
        tasks.push(TaskSpec::new("oltp-backend", BACKEND_KIB, backend(options, first, COMMON + pair / sharing)));
        tasks.push(TaskSpec::new("oltp-client", CLIENT_KIB, client(options, first)));
    }
    Ok(Workload {
        objects,
        tasks,
        start: vec![Start { spec: MAIN, count: 1, cpu: options.int("start-cpu") as CpuId, process: 0 }],
        duration_ns: Some(options.ns("duration", NS_PER_S)),
        series: vec![Series {
            name: "transaction".into(),
            meaning: "a transaction's first statement until its commit is answered".into(),
            tick_ns: parts::GETTIMEOFDAY_NS,
            unit: TimeUnit::Us,
            mean: true,
            permilles: vec![500, 950, 990],
            deadlines: Vec::new(),
        }],
        ..parts::blank(options)
    })
}

fn main(clients: u32) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.op(Op::Spawn { spec: WRITER, count: 1, thread: true });
    for pair in 0..clients {
        p.op(Op::Spawn { spec: 2 + 2 * pair, count: 1, thread: true });
        p.op(Op::Spawn { spec: 3 + 2 * pair, count: 1, thread: false });
    }
    p.op(Op::WaitChildren);
    p.build()
}

/// Writes for each commit that is announced. Those who announce one while it writes are woken with the others, as a group.
fn writer(options: &Options) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.op(Op::SemWait(TO_WRITE));
        p.op(Op::Run(parts::varied(LOG_NS)));
        p.op(Op::Sleep(Amount::fixed(options.ns("flush", NS_PER_US))));
        p.op(Op::Lock(LOG));
        p.op(Op::Broadcast(WRITTEN));
        p.op(Op::Unlock(LOG));
    });
    p.build()
}

fn backend(options: &Options, first: ObjId, lock: ObjId) -> Arc<[Op]> {
    let work_ns = options.ns("work", NS_PER_US);
    let statement = |p: &mut ProgramBuilder| {
        p.op(Op::SockRecv { sock: first, bytes: STATEMENT_BYTES });
        p.op(Op::Run(Amount { base: work_ns - work_ns / 2, jitter: work_ns / 2 * 2 }));
        p.op(Op::Lock(lock));
        p.op(Op::Run(Amount::fixed(options.ns("locked", NS_PER_US))));
        p.op(Op::Unlock(lock));
    };
    let answer = Op::SockSend { sock: first + 1, bytes: RESULT_BYTES };
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.repeat(Some(options.int("statements") as u64 - 1), |p| {
            statement(p);
            p.op(answer.clone());
        });
        statement(p);
        // The mutex is held from the announcement to the sleep: the writer cannot wake before that.
        p.op(Op::Lock(LOG));
        p.op(Op::SemPost(TO_WRITE));
        p.op(Op::CondWait { cond: WRITTEN, mutex: Some(LOG) });
        p.op(Op::Unlock(LOG));
        p.op(answer.clone());
    });
    p.build()
}

fn client(options: &Options, first: ObjId) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.op(Op::Stamp(first + 2));
        p.repeat(Some(options.int("statements") as u64), |p| {
            p.op(Op::Run(parts::varied(CLIENT_NS)));
            p.op(Op::SockSend { sock: first, bytes: STATEMENT_BYTES });
            p.op(Op::SockRecv { sock: first + 1, bytes: RESULT_BYTES });
        });
        p.op(Op::Sample { since: Since::Stamp(first + 2), to: Report::Series(TRANSACTION) });
    });
    p.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    fn locks_of(w: &Workload, task: usize) -> Vec<ObjId> {
        w.tasks[task].program.iter().filter_map(|op| if let Op::Lock(lock) = op { Some(*lock) } else { None }).collect()
    }

    #[test]
    fn neighbours_share_a_lock_and_all_share_the_log() {
        let w = Workload::find("oltp:clients=5,sharing=2,statements=1", &small_machine(2)).unwrap().0;
        let locks: Vec<Vec<ObjId>> = (0..5).map(|pair| locks_of(&w, 2 + 2 * pair)).collect();
        assert_eq!(locks.iter().map(|locks| *locks.last().unwrap()).collect::<Vec<_>>(), [LOG; 5]);
        let rows: Vec<ObjId> = locks.iter().map(|locks| locks[0]).collect();
        assert_eq!(rows, [3, 3, 4, 4, 5]);
        assert_eq!(w.objects.len(), 3 + 3 + 5 * 3);
    }
}

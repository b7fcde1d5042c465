//! A server of requests: connections that think, workers that answer, one lock that all answers pass through.

use std::sync::Arc;

use fairground_machine::CpuId;

use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{OptionInfo, OptionKind, Options, MICRO, NS_PER_S, NS_PER_US};
use crate::program::*;

pub(super) const BUILTIN: Builtin = Builtin {
    name: "server",
    title: "request and response: connections that think, a worker for each",
    measures:
        "A client sends a request, its worker answers, the client thinks; with one worker to a connection, as memcached or\n\
        nginx have under light load. Reports the time from request to answer: mean, and percentiles as a load generator\n\
        prints them. Placement acts by the wakeup of the worker and that of the client, by where both are spread, and\n\
        by who shares a CPU with a worker that runs.",
    misleads: "Clients are threads of the same machine and take CPU time (`client` us an exchange), as with a load generator over\n\
        loopback; requests that come over a network are woken by interrupts. A client that waits sends nothing: at\n\
        saturation the load gives way, and the latency of a lone overloaded server is understated. What an answer\n\
        takes is drawn evenly from half to one and a half times `work`. All figures are estimates of a small key-value store.",
    options: OPTIONS,
    build,
};

const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "connections",
        kind: OptionKind::Int { min: 1, max: 10_000 },
        default: "16",
        meaning: "clients, and workers",
        excludes: None,
    },
    OptionInfo {
        name: "think",
        kind: OptionKind::Decimal { unit: "us", min: 1000, max: 10_000_000 * MICRO },
        default: "1000",
        meaning: "mean sleep of a client between an answer and the next request, us",
        excludes: None,
    },
    OptionInfo {
        name: "work",
        kind: OptionKind::Decimal { unit: "us", min: MICRO, max: 1_000_000 * MICRO },
        default: "100",
        meaning: "mean work of an answer, us on a CPU of capacity 1024",
        excludes: None,
    },
    OptionInfo {
        name: "client",
        kind: OptionKind::Decimal { unit: "us", min: 0, max: 1_000_000 * MICRO },
        default: "10",
        meaning: "work of a client for each exchange, us on a CPU of capacity 1024",
        excludes: None,
    },
    OptionInfo {
        name: "hold",
        kind: OptionKind::Decimal { unit: "us", min: 0, max: 1_000_000 * MICRO },
        default: "2",
        meaning: "work of an answer in the section that one worker may be in, us",
        excludes: None,
    },
    parts::DURATION,
    parts::START_CPU,
];

/// Working sets, KiB; estimates: a worker's share of a hash table and its buffers, a client's buffers.
const WORKER_KIB: u32 = 256;
const CLIENT_KIB: u32 = 32;
/// Bytes of a message; an estimate: a short key, a value of some hundred bytes.
const REQUEST_BYTES: u32 = 100;
const ANSWER_BYTES: u32 = 600;
/// Cache lines that the lock's last holder has modified; an estimate.
const LINES: u32 = 4;

const LOCK: ObjId = 0;
/// Objects of a connection: socket to the worker, socket back, time stamp.
const PER_CONNECTION: u32 = 3;
const LATENCY: SeriesId = 0;

fn build(options: &Options) -> Result<Workload, WorkloadError> {
    let connections = options.int("connections") as u32;
    let mut objects = vec![Object::KernelMutex];
    let mut tasks = vec![TaskSpec::new("server", CLIENT_KIB, main(connections))];
    for connection in 0..connections {
        let first = 1 + connection * PER_CONNECTION;
        objects.extend([parts::SOCKET, parts::SOCKET, Object::Stamp]);
        tasks.push(TaskSpec::new("server-worker", WORKER_KIB, worker(options, first)));
        tasks.push(TaskSpec::new("server-client", CLIENT_KIB, client(options, first)));
    }
    Ok(Workload {
        objects,
        tasks,
        start: vec![Start { spec: 0, count: 1, cpu: options.int("start-cpu") as CpuId, process: 0 }],
        duration_ns: Some(options.ns("duration", NS_PER_S)),
        series: vec![Series {
            name: "request".into(),
            meaning: "a request until its client has the answer".into(),
            tick_ns: parts::GETTIMEOFDAY_NS,
            unit: TimeUnit::Us,
            mean: true,
            permilles: vec![500, 990, 999],
            deadlines: Vec::new(),
        }],
        ..parts::blank(options)
    })
}

fn main(connections: u32) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    for connection in 0..connections {
        p.op(Op::Spawn { spec: 1 + 2 * connection, count: 1, thread: true });
    }
    for connection in 0..connections {
        p.op(Op::Spawn { spec: 2 + 2 * connection, count: 1, thread: false });
    }
    p.op(Op::WaitChildren);
    p.build()
}

fn worker(options: &Options, first: ObjId) -> Arc<[Op]> {
    let work_ns = options.ns("work", NS_PER_US);
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.op(Op::SockRecv { sock: first, bytes: REQUEST_BYTES });
        p.op(Op::Serial { lock: LOCK, hold: Amount::fixed(options.ns("hold", NS_PER_US)), lines: LINES });
        p.op(Op::Run(Amount { base: work_ns - work_ns / 2, jitter: work_ns / 2 * 2 }));
        p.op(Op::SockSend { sock: first + 1, bytes: ANSWER_BYTES });
    });
    p.build()
}

fn client(options: &Options, first: ObjId) -> Arc<[Op]> {
    let (think_ns, client_ns) = (options.ns("think", NS_PER_US), options.ns("client", NS_PER_US));
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.op(Op::Sleep(Amount { base: 1, jitter: 2 * think_ns }));
        p.op(Op::Run(Amount::fixed(client_ns)));
        p.op(Op::Stamp(first + 2));
        p.op(Op::SockSend { sock: first, bytes: REQUEST_BYTES });
        p.op(Op::SockRecv { sock: first + 1, bytes: ANSWER_BYTES });
        p.op(Op::Sample { since: Since::Stamp(first + 2), to: Report::Series(LATENCY) });
    });
    p.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    #[test]
    fn each_connection_has_sockets_and_a_stamp_of_its_own() {
        let w = Workload::find("server:connections=2,work=30,hold=1,think=40,client=0", &small_machine(2)).unwrap().0;
        assert_eq!((w.objects.len(), w.tasks.len()), (7, 5));
        let worker = &w.tasks[3].program;
        assert_eq!(worker[1], Op::SockRecv { sock: 4, bytes: REQUEST_BYTES });
        assert_eq!(worker[3], Op::Run(Amount { base: 15_000, jitter: 30_000 }));
        let client = &w.tasks[4].program;
        assert_eq!(client[1], Op::Sleep(Amount { base: 1, jitter: 80_000 }));
        assert_eq!(client[6], Op::Sample { since: Since::Stamp(6), to: Report::Series(0) });
    }
}

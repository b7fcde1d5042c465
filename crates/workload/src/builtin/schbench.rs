//! schbench as of March 2020 (masoncl/schbench 99faedc): message threads wake batches of workers.
//!
//! A worker spins until the wall clock has advanced by its cputime, puts itself on the list of its message thread,
//! wakes that if it sleeps, and waits on a futex of its own. The message thread takes the list and one time stamp for
//! all who are on it, wakes them one by one, waits until a thread is on the list again, and sleeps a while.

use std::sync::Arc;

use fairground_machine::CpuId;

use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{OptionInfo, OptionKind, Options, MICRO, NS_PER_S, NS_PER_US};
use crate::program::*;
use crate::validate::MAX_DURATION_NS;

pub(super) const BUILTIN: Builtin = Builtin {
    name: "schbench",
    title: "schbench of March 2020: wakeup latency of batches of workers",
    measures:
        "Message threads wake their workers in batches; each worker then spins for `cputime` of wall time and goes\n\
        back to sleep. Reports percentiles of the time from the stamp of a batch to the worker's return, us, as the\n\
        tool prints them: a histogram of 256 buckets an octave, and of a bucket its middle. The 99th percentile\n\
        is the headline. Latency of a batch's last includes the waking of all before it.",
    misleads: "The program of that name of today is another one. The clock ticks in us. A worker that is preempted\n\
        while it spins does less work, not more time: the load gives way. Where workers outnumber CPUs the headline is\n\
        the slice of the scheduler, not placement or idle states. Kept: the two thread levels, one stamp a batch, newest\n\
        first, futexes that are not sync, the message thread's random sleep. Simplified: a post to a message\n\
        thread that is about to look at its list costs no system call; locks of thread creation are not modelled.",
    options: OPTIONS,
    build,
};

const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "message-threads",
        kind: OptionKind::Int { min: 1, max: 1000 },
        default: "2",
        meaning: "message threads (-m)",
        excludes: None,
    },
    OptionInfo {
        name: "threads",
        kind: OptionKind::Int { min: 1, max: 10_000 },
        default: "16",
        meaning: "workers of each message thread (-t)",
        excludes: None,
    },
    OptionInfo {
        name: "cputime",
        kind: OptionKind::Decimal { unit: "us", min: MICRO, max: 1_000_000 * MICRO },
        default: "30000",
        meaning: "wall time a worker spins, us (-c)",
        excludes: None,
    },
    OptionInfo {
        name: "sleeptime",
        kind: OptionKind::Decimal { unit: "us", min: MICRO, max: 1_000_000 * MICRO },
        default: "30000",
        meaning: "sleep of a message thread between batches, us, and up to a quarter more (-s)",
        excludes: None,
    },
    OptionInfo {
        name: "runtime",
        kind: OptionKind::Decimal { unit: "s", min: MICRO / 1000, max: MAX_DURATION_NS / 1000 },
        default: "30",
        meaning: "length of the run, s (-r)",
        excludes: None,
    },
    parts::START_CPU,
];

/// Working set of a thread, KiB; an estimate: stack, task_struct and its line of the thread table, as sched-pipe's.
const FOOTPRINT_KIB: u32 = 4;

const MAIN: SpecId = 0;
const LATENCY: SeriesId = 0;

fn build(options: &Options) -> Result<Workload, WorkloadError> {
    let (messengers, workers) = (options.int("message-threads") as u32, options.int("threads") as u32);
    let task = |name: &str, program| TaskSpec::new(name, FOOTPRINT_KIB, program);
    let mut tasks = vec![task("schbench", main(messengers))];
    for roster in 0..messengers {
        let worker = tasks.len() as SpecId + 1;
        tasks.push(task("schbench-msg", messenger(options, roster, worker, workers)));
        tasks.push(task("schbench-worker", worker_of(roster, options.ns("cputime", NS_PER_US))));
    }
    Ok(Workload {
        objects: (0..messengers).map(|_| Object::Roster).collect(),
        tasks,
        start: vec![Start { spec: MAIN, count: 1, cpu: options.int("start-cpu") as CpuId, process: 0 }],
        duration_ns: Some(options.ns("runtime", NS_PER_S)),
        series: vec![Series {
            name: "latency".into(),
            meaning: "a batch's time stamp until its worker is back".into(),
            tick_ns: parts::GETTIMEOFDAY_NS,
            unit: TimeUnit::Us,
            mean: false,
            permilles: vec![500, 750, 900, 950, 990, 995, 999, 1000],
            deadlines: Vec::new(),
        }],
        ..parts::blank(options)
    })
}

fn main(messengers: u32) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    for i in 0..messengers {
        p.op(Op::Spawn { spec: 1 + 2 * i, count: 1, thread: true });
    }
    p.op(Op::WaitChildren);
    p.build()
}

fn messenger(options: &Options, roster: ObjId, worker: SpecId, workers: u32) -> Arc<[Op]> {
    let sleep_ns = options.ns("sleeptime", NS_PER_US);
    let mut p = ProgramBuilder::new();
    p.op(Op::Spawn { spec: worker, count: workers, thread: true });
    p.repeat(None, |p| {
        p.op(Op::CallListed(roster));
        p.op(Op::AwaitListed(roster));
        p.op(Op::Sleep(Amount { base: sleep_ns, jitter: sleep_ns / 4 }));
    });
    p.build()
}

fn worker_of(roster: ObjId, cputime_ns: u64) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.op(Op::RunWall(Amount::fixed(cputime_ns)));
        p.op(Op::Enlist(roster));
        p.op(Op::Sample { since: Since::Call, to: Report::Series(LATENCY) });
    });
    p.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    #[test]
    fn every_message_thread_has_a_list_and_workers_of_its_own() {
        let spec = "schbench:message-threads=2,threads=3,cputime=100,sleeptime=200,runtime=1";
        let w = Workload::find(spec, &small_machine(2)).unwrap().0;
        assert_eq!(w.objects, [Object::Roster, Object::Roster]);
        let messenger = [
            Op::Spawn { spec: 4, count: 3, thread: true },
            Op::Loop { times: None, end: 6 },
            Op::CallListed(1),
            Op::AwaitListed(1),
            Op::Sleep(Amount { base: 200_000, jitter: 50_000 }),
            Op::EndLoop { begin: 1 },
        ];
        assert_eq!(*w.tasks[3].program, messenger);
        assert_eq!(w.tasks[4].program[1], Op::RunWall(Amount::fixed(100_000)));
        assert_eq!(w.tasks[4].program[2], Op::Enlist(1));
    }
}

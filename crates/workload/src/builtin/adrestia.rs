//! adrestia (mfleming/adrestia 7ced8eb): wakeup latency between a main thread and others, over pipes.
//!
//! Every other thread has a start and a result pipe. A step: for every thread main notes the time and writes a byte to
//! its start pipe; the thread reads it, takes the time since, writes to its result pipe; main reads all results. A step
//! yields one figure, the mean over the threads.

use std::sync::Arc;

use fairground_machine::CpuId;

use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{OptionInfo, OptionKind, Options, MICRO, NS_PER_US};
use crate::program::*;

pub(super) const BUILTIN: Builtin = Builtin {
    name: "adrestia",
    title: "adrestia: wakeup latency of threads, back to back or periodic",
    measures:
        "Main stamps the time, wakes a thread through a pipe, and the thread takes the time since. Reports the 90th\n\
        percentile over all steps, whole us, of the mean over the threads. Without `periodic` (wakeup-single) one\n\
        thread is woken back to back, `loops` times `threads` steps; with it (wakeup-periodic) all threads are\n\
        woken in every step, after a sleep of `arrival`.",
    misleads:
        "Placement at wakeup is hardly asked: the pair stays where thread creation put it, in one cluster or in two,\n\
        and that decides the figure. Compare distributions over seeds, and see how many begin in main's cluster. The\n\
        clock ticks in us, so a figure below a few us says little. Kept: the order of stamps, writes and reads,\n\
        the mean in whole us. Simplified: nothing known; the tool's service time is unused there too.",
    options: OPTIONS,
    build,
};

const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "periodic",
        kind: OptionKind::Flag,
        default: "",
        meaning: "sleep before each step and wake all threads in it (wakeup-periodic)",
        excludes: None,
    },
    OptionInfo {
        name: "arrival",
        kind: OptionKind::Decimal { unit: "us", min: 0, max: 1_000_000 * MICRO },
        default: "10",
        meaning: "sleep before a periodic step, us (-a)",
        excludes: None,
    },
    OptionInfo {
        name: "loops",
        kind: OptionKind::Int { min: 1, max: 1_000_000_000 },
        default: "10000",
        meaning: "steps (-l)",
        excludes: None,
    },
    OptionInfo {
        name: "threads",
        kind: OptionKind::Int { min: 1, max: 10_000 },
        default: "1",
        meaning: "threads that are woken (-t); without `periodic` one, that many times as often",
        excludes: None,
    },
    parts::START_CPU,
];

/// Working set of a thread, KiB; an estimate: what sched-pipe's players touch.
const FOOTPRINT_KIB: u32 = 4;
/// Size of both messages.
const MESSAGE_BYTES: u32 = 1;

const LATENCY: SeriesId = 0;
const TALLY: ObjId = 0;
const MAIN: SpecId = 0;

/// The objects of a thread.
struct ThreadObjects {
    stamp: ObjId,
    start: ObjId,
    result: ObjId,
}

impl ThreadObjects {
    fn for_thread(thread: u32) -> ThreadObjects {
        let first = 1 + 3 * thread;
        ThreadObjects { stamp: first, start: first + 1, result: first + 2 }
    }
}

fn build(options: &Options) -> Result<Workload, WorkloadError> {
    let (loops, given) = (options.int("loops") as u64, options.int("threads") as u32);
    let periodic = options.is_given("periodic");
    let (threads, steps) = if periodic { (given, loops) } else { (1, loops * u64::from(given)) };
    let sleep = periodic.then(|| Amount::fixed(options.ns("arrival", NS_PER_US)));
    let task = |program| TaskSpec::new("adrestia", FOOTPRINT_KIB, program);
    let mut objects = vec![Object::Tally { series: LATENCY }];
    objects.extend((0..threads).flat_map(|_| [Object::Stamp, parts::PIPE, parts::PIPE]));
    let mut tasks = vec![task(main(threads, steps, sleep))];
    tasks.extend((0..threads).map(|t| task(thread(&ThreadObjects::for_thread(t), steps))));
    Ok(Workload {
        objects,
        tasks,
        start: vec![Start { spec: MAIN, count: 1, cpu: options.int("start-cpu") as CpuId, process: 0 }],
        series: vec![Series {
            name: "latency".into(),
            meaning: "main's time stamp until the thread it wakes is back: mean of a step".into(),
            tick_ns: parts::GETTIMEOFDAY_NS,
            unit: TimeUnit::Us,
            mean: false,
            permilles: vec![900],
            deadlines: Vec::new(),
        }],
        ..parts::blank(options)
    })
}

fn main(threads: u32, steps: u64, sleep: Option<Amount>) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    for thread in 0..threads {
        p.op(Op::Spawn { spec: 1 + thread, count: 1, thread: true });
    }
    p.op(Op::Mark(Mark::Begin));
    p.repeat(Some(steps), |p| {
        if let Some(arrival) = sleep {
            p.op(Op::Sleep(arrival));
        }
        for ends in (0..threads).map(ThreadObjects::for_thread) {
            p.op(Op::Stamp(ends.stamp));
            p.op(Op::PipeWrite { pipe: ends.start, bytes: MESSAGE_BYTES });
        }
        for ends in (0..threads).map(ThreadObjects::for_thread) {
            p.op(Op::PipeRead { pipe: ends.result, bytes: MESSAGE_BYTES });
        }
        p.op(Op::Conclude(TALLY));
    });
    p.op(Op::Mark(Mark::End));
    p.op(Op::WaitChildren);
    p.build()
}

fn thread(ends: &ThreadObjects, steps: u64) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.repeat(Some(steps), |p| {
        p.op(Op::PipeRead { pipe: ends.start, bytes: MESSAGE_BYTES });
        p.op(Op::Sample { since: Since::Stamp(ends.stamp), to: Report::Tally(TALLY) });
        p.op(Op::PipeWrite { pipe: ends.result, bytes: MESSAGE_BYTES });
    });
    p.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    fn loops(spec: &str) -> (usize, Op) {
        let w = Workload::find(spec, &small_machine(2)).unwrap().0;
        let is_loop = |op: &&Op| matches!(op, Op::Loop { .. });
        (w.tasks.len(), w.tasks[0].program.iter().find(is_loop).unwrap().clone())
    }

    #[test]
    fn single_wakes_one_thread_that_often_and_periodic_all_of_them_in_a_step() {
        assert_eq!(loops("adrestia:loops=5,threads=3"), (2, Op::Loop { times: Some(15), end: 8 }));
        // Sleep; stamp and write for three; read from three; conclude.
        assert_eq!(loops("adrestia:loops=5,threads=3,periodic"), (4, Op::Loop { times: Some(5), end: 17 }));
    }
}

//! `perf bench sched pipe`: two tasks play ping-pong over two pipes.
//!
//! Structure after tools/perf/bench/sched-pipe.c, Linux 6.12: with threads, the main task creates both players and
//! joins them; with processes it forks player 0 and plays 1 itself.

use std::sync::Arc;

use fairground_machine::CpuId;

use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{OptionInfo, OptionKind, Options};
use crate::program::*;

pub(super) const BUILTIN: Builtin = Builtin {
    name: "sched-pipe",
    title: "perf bench sched pipe: ping-pong over two pipes",
    measures:
        "Two tasks exchange 4 bytes over two pipes, strictly in turn. One operation is a round trip: two wakeups,\n\
        two context switches, four system calls. Reports operations per second, and migrations per operation\n\
        once start-up is over. Almost nothing runs besides the wakeup path, so the figure shows which CPU a\n\
        synchronous wakeup picks and what that costs: the waker's own (no interrupt, no overlap), the one the\n\
        wakee last ran on, a sibling, another cluster.",
    misleads: "Only one task is runnable at nearly every moment; nothing competes for a CPU and nothing is moved by\n\
        the load balancer. A scheduler that stacks both tasks on one CPU wins here and loses wherever the two\n\
        could have overlapped. The working set is next to nothing, so migrations look cheaper than they are\n\
        for real programs. On hardware the idle states and the frequency governor move it as much as\n\
        placement does.",
    options: OPTIONS,
    build,
};

const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "loops",
        kind: OptionKind::Int { min: 1, max: 1_000_000_000 },
        default: "1000000",
        meaning: "round trips",
        excludes: None,
    },
    OptionInfo {
        name: "threads",
        kind: OptionKind::Flag,
        default: "",
        meaning: "the tasks are threads of one process (perf's -T)",
        excludes: Some("processes"),
    },
    OptionInfo {
        name: "processes",
        kind: OptionKind::Flag,
        default: "",
        meaning: "the tasks are processes (the default, as perf's)",
        excludes: Some("threads"),
    },
    parts::START_CPU,
];

/// Bytes in a message: perf sends an int.
const MESSAGE_BYTES: u32 = 4;

/// What a migrated player must refill, KiB; an estimate. Per round trip a player touches, of lines that are its own:
/// about 1.5 KiB of kernel stack (entry frame, vfs, pipe and schedule frames), 1 KiB of task_struct (scheduler
/// entity, PELT, signal and fs fields), half a KiB of user stack and text, and with the other player the two
/// pipe_inode_info and the two buffer heads. Kernel text is warm everywhere since both CPUs run it. The sum is
/// 3 to 4 KiB, well inside any L1.
const FOOTPRINT_KIB: u32 = 4;

const PIPE_A: ObjId = 0;
const PIPE_B: ObjId = 1;
const MAIN: SpecId = 0;

fn build(options: &Options) -> Result<Workload, WorkloadError> {
    let loops = options.int("loops") as u64;
    let threads = options.is_given("threads");
    let tasks = if threads {
        vec![
            task("sched-pipe", main_of_threads()),
            task("sched-pipe-0", player_0(loops)),
            task("sched-pipe-1", player_1(loops).build()),
        ]
    } else {
        vec![task("sched-pipe-1", main_of_processes(loops)), task("sched-pipe-0", player_0(loops))]
    };
    Ok(Workload {
        objects: vec![parts::PIPE, parts::PIPE],
        tasks,
        start: vec![Start { spec: MAIN, count: 1, cpu: options.int("start-cpu") as CpuId, process: 0 }],
        score: Score::OpsPerSec,
        ..parts::blank(options)
    })
}

fn task(name: &str, program: Arc<[Op]>) -> TaskSpec {
    TaskSpec::new(name, FOOTPRINT_KIB, program)
}

fn main_of_threads() -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.op(Op::Mark(Mark::Begin));
    p.op(Op::Spawn { spec: 1, count: 1, thread: true });
    p.op(Op::Spawn { spec: 2, count: 1, thread: true });
    p.op(Op::WaitChildren);
    p.op(Op::Mark(Mark::End));
    p.build()
}

fn main_of_processes(loops: u64) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.op(Op::Mark(Mark::Begin));
    p.op(Op::Spawn { spec: 1, count: 1, thread: false });
    for op in player_1(loops).build().iter() {
        p.op(op.shifted(2));
    }
    p.op(Op::WaitChildren);
    p.op(Op::Mark(Mark::End));
    p.build()
}

/// Reads from A, answers on B.
fn player_0(loops: u64) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.repeat(Some(loops), |p| {
        p.op(Op::PipeRead { pipe: PIPE_A, bytes: MESSAGE_BYTES });
        p.op(Op::PipeWrite { pipe: PIPE_B, bytes: MESSAGE_BYTES });
    });
    p.build()
}

/// Writes to A, awaits the answer on B, counts.
fn player_1(loops: u64) -> ProgramBuilder {
    let transient = transient_loops(loops);
    let round_trips = |p: &mut ProgramBuilder, times: u64| {
        p.repeat(Some(times), |p| {
            p.op(Op::PipeWrite { pipe: PIPE_A, bytes: MESSAGE_BYTES });
            p.op(Op::PipeRead { pipe: PIPE_B, bytes: MESSAGE_BYTES });
            p.op(Op::Mark(Mark::Op));
        });
    };
    let mut p = ProgramBuilder::new();
    if transient > 0 {
        round_trips(&mut p, transient);
    }
    p.op(Op::Mark(Mark::Steady));
    round_trips(&mut p, loops - transient);
    p
}

/// Round trips of the start-up transient, in which fork placement and the first wakeups settle: 1 % but at least 100;
/// a tenth where that would be more than a tenth.
fn transient_loops(loops: u64) -> u64 {
    (loops / 100).max(100).min(loops / 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    fn find(spec: &str) -> Workload {
        Workload::find(spec, &small_machine(2)).unwrap().0
    }

    #[test]
    fn transient_is_a_hundredth_or_a_hundred_or_a_tenth() {
        let expected = [(1, 0), (10, 1), (999, 99), (1000, 100), (10_000, 100), (50_000, 500), (1_000_000, 10_000)];
        for (loops, transient) in expected {
            assert_eq!(transient_loops(loops), transient, "{loops}");
        }
    }

    #[test]
    fn threads_are_spawned_by_a_main_task_that_only_waits() {
        let w = find("sched-pipe:loops=50000,threads,start-cpu=1");
        assert_eq!(w.start, [Start { spec: 0, count: 1, cpu: 1, process: 0 }]);
        let (write, read) = (Op::PipeWrite { pipe: 0, bytes: 4 }, Op::PipeRead { pipe: 1, bytes: 4 });
        let player = [
            Op::Loop { times: Some(500), end: 5 },
            write.clone(),
            read.clone(),
            Op::Mark(Mark::Op),
            Op::EndLoop { begin: 0 },
            Op::Mark(Mark::Steady),
            Op::Loop { times: Some(49_500), end: 11 },
            write,
            read,
            Op::Mark(Mark::Op),
            Op::EndLoop { begin: 6 },
        ];
        assert_eq!(*w.tasks[2].program, player);
        assert_eq!(w.tasks[0].program[1], Op::Spawn { spec: 1, count: 1, thread: true });
        assert_eq!(w.tasks[0].program[2], Op::Spawn { spec: 2, count: 1, thread: true });
    }

    #[test]
    fn with_processes_the_main_task_plays_itself() {
        let w = find("sched-pipe:loops=5");
        let main = [
            Op::Mark(Mark::Begin),
            Op::Spawn { spec: 1, count: 1, thread: false },
            Op::Mark(Mark::Steady),
            Op::Loop { times: Some(5), end: 8 },
            Op::PipeWrite { pipe: 0, bytes: 4 },
            Op::PipeRead { pipe: 1, bytes: 4 },
            Op::Mark(Mark::Op),
            Op::EndLoop { begin: 3 },
            Op::WaitChildren,
            Op::Mark(Mark::End),
        ];
        assert_eq!(*w.tasks[0].program, main);
        assert_eq!(w.tasks.len(), 2);
    }
}

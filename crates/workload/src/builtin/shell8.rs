//! shell8 of byte-unixbench (kdlucas/byte-unixbench 986b674): loops of eight shell scripts at once.
//!
//! `looper` runs multi.sh over and over; that starts eight scripts in the background and waits for all. A script:
//! `sort > file`, `od | sort -n > file`, `grep | tee | wc > file`, `rm`: seven programs and its own shell, so 65 forks
//! and as many execs a loop. Only one loop at a time of each copy.

use std::sync::Arc;

use fairground_machine::CpuId;

use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{OptionInfo, OptionKind, Options, MICRO, NS_PER_S, NS_PER_US};
use crate::program::*;
use crate::validate::MAX_DURATION_NS;

pub(super) const BUILTIN: Builtin = Builtin {
    name: "shell8",
    title: "Unixbench shell8: loops of eight concurrent shell scripts",
    measures:
        "Fork, exec and exit of short programs, in pipelines of two and three, eight scripts at once: loops per minute,\n\
        summed over the copies. Nearly every placement is one at fork or exec. One copy shows how fast eight scripts\n\
        are spread over idle CPUs; many copies show throughput, and the kernel's own bottlenecks.",
    misleads: "What a program costs is estimated: the machine's fork, exec and exit, and `program` us of linking and work\n\
        in user space, of which `shared` percent of a lock of the kernel (memory maps, RCU) that all programs of the\n\
        machine go through. `program` is free to be fitted to one baseline figure: a whole program took about\n\
        2.5 ms on a 1.2 GHz A53 and 0.9 ms on ThunderX2 (estimates). Kept: the tree of processes, waits, pipelines\n\
        and exec placement. Simplified: data are a few pages that fit the pipes; no files, no page faults, no\n\
        address-space teardown beyond exit's price. Unixbench's index is loops per minute / 6 x 10.",
    options: OPTIONS,
    build,
};

const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "copies",
        kind: OptionKind::Int { min: 1, max: 1000 },
        default: "1",
        meaning: "loopers at once (-c)",
        excludes: None,
    },
    OptionInfo {
        name: "duration",
        kind: OptionKind::Decimal { unit: "s", min: MICRO / 1000, max: MAX_DURATION_NS / 1000 },
        default: "60",
        meaning: "length of the run, s",
        excludes: None,
    },
    OptionInfo {
        name: "scripts",
        kind: OptionKind::Int { min: 1, max: 100 },
        default: "8",
        meaning: "scripts at once in a loop",
        excludes: None,
    },
    OptionInfo {
        name: "program",
        kind: OptionKind::Decimal { unit: "us", min: MICRO, max: 1_000_000 * MICRO },
        default: "500",
        meaning: "work of a program besides fork, exec and exit, us on a CPU of capacity 1024",
        excludes: None,
    },
    OptionInfo {
        name: "shared",
        kind: OptionKind::Decimal { unit: "percent", min: 0, max: 100 * MICRO },
        default: "5",
        meaning: "part of `program` in which only one program of the machine can be",
        excludes: None,
    },
    parts::START_CPU,
];

/// Working set of a small program, KiB; an estimate: half of a 64 KiB L1 pair for its stack, heap and libc's data.
const FOOTPRINT_KIB: u32 = 32;
/// sort.src, what flows through a pipeline: written in pieces of a page.
const PIECES: u64 = 2;
const PIECE_BYTES: u32 = 4096;
/// Work of a program varies by this part of itself around its mean.
const JITTER_PART: u64 = 5;

const MM: ObjId = 0;
/// Pipes of a script: od to sort, grep to tee, tee to wc.
const PIPES: u32 = 3;
/// Templates of the programs of a script that have pipes: od, sort -n, grep, tee, wc.
const PIPED: u32 = 5;

/// The first templates, shared by all.
const SORT: SpecId = 0;
const RM: SpecId = 1;

/// What a program works.
#[derive(Clone, Copy)]
struct Effort {
    own: Amount,
    shared: Amount,
}

fn build(options: &Options) -> Result<Workload, WorkloadError> {
    let program_ns = options.ns("program", NS_PER_US);
    let shared_ns =
        (u128::from(program_ns) * u128::from(options.millionths("shared")) / 100 / u128::from(MICRO)) as u64;
    let own_ns = program_ns - shared_ns;
    let own = Amount { base: (own_ns - own_ns / JITTER_PART / 2).max(1), jitter: own_ns / JITTER_PART };
    let effort = Effort { own, shared: Amount::fixed(shared_ns) };
    let (copies, scripts) = (options.int("copies") as u32, options.int("scripts") as u32);
    let mut tasks = vec![task("sort", effort.program().build()), task("rm", effort.program().build())];
    let mut start = Vec::new();
    for copy in 0..copies {
        let looper = tasks.len() as SpecId;
        start.push(Start { spec: looper, count: 1, cpu: options.int("start-cpu") as CpuId, process: 0 });
        tasks.push(task("looper", looper_of(looper + 1)));
        tasks.push(task("multi.sh", multi(effort, looper + 2, scripts)));
        for script in 0..scripts {
            let first_pipe = 1 + (copy * scripts + script) * PIPES;
            add_script(&mut tasks, effort, first_pipe);
        }
    }
    let mut objects = vec![Object::Ticket];
    objects.extend((0..copies * scripts * PIPES).map(|_| parts::PIPE));
    Ok(Workload {
        objects,
        tasks,
        start,
        duration_ns: Some(options.ns("duration", NS_PER_S)),
        score: Score::LoopsPerMin,
        ..parts::blank(options)
    })
}

fn task(name: &str, program: Arc<[Op]>) -> TaskSpec {
    TaskSpec::new(name, FOOTPRINT_KIB, program)
}

impl Effort {
    /// A program that was just forked: exec, then its work.
    fn program(self) -> ProgramBuilder {
        let mut p = ProgramBuilder::new();
        p.op(Op::Exec);
        p.op(Op::Serial { lock: MM, hold: self.shared, lines: 0 });
        p.op(Op::Run(self.own));
        p
    }
}

fn looper_of(multi: SpecId) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.op(Op::Spawn { spec: multi, count: 1, thread: false });
        p.op(Op::WaitChild);
        p.op(Op::Mark(Mark::Op));
    });
    p.build()
}

/// Starts the scripts, of which each has `1 + PIPED` templates, and waits for them.
fn multi(effort: Effort, first: SpecId, scripts: u32) -> Arc<[Op]> {
    let mut p = effort.program();
    for script in 0..scripts {
        p.op(Op::Spawn { spec: first + script * (1 + PIPED), count: 1, thread: false });
    }
    p.repeat(Some(scripts.into()), |p| {
        p.op(Op::WaitChild);
    });
    p.build()
}

/// A script's shell and the programs of its pipelines.
fn add_script(tasks: &mut Vec<TaskSpec>, effort: Effort, pipe: ObjId) {
    let od = tasks.len() as SpecId + 1;
    let mut p = effort.program();
    let pipelines: [&[SpecId]; 4] = [&[SORT], &[od, od + 1], &[od + 2, od + 3, od + 4], &[RM]];
    for programs in pipelines {
        for spec in programs {
            p.op(Op::Spawn { spec: *spec, count: 1, thread: false });
        }
        p.repeat(Some(programs.len() as u64), |p| {
            p.op(Op::WaitChild);
        });
    }
    tasks.push(task("tst.sh", p.build()));
    let piped = |reads: Option<ObjId>, writes: Option<ObjId>| {
        let mut p = effort.program();
        p.repeat(Some(PIECES), |p| {
            if let Some(pipe) = reads {
                p.op(Op::PipeRead { pipe, bytes: PIECE_BYTES });
            }
            if let Some(pipe) = writes {
                p.op(Op::PipeWrite { pipe, bytes: PIECE_BYTES });
            }
        });
        p.build()
    };
    let (to_sort, to_tee, to_wc) = (Some(pipe), Some(pipe + 1), Some(pipe + 2));
    tasks.push(task("od", piped(None, to_sort)));
    tasks.push(task("sort", piped(to_sort, None)));
    tasks.push(task("grep", piped(None, to_tee)));
    tasks.push(task("tee", piped(to_tee, to_wc)));
    tasks.push(task("wc", piped(to_wc, None)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    fn spawned(w: &Workload, spec: SpecId) -> u64 {
        let ops = w.tasks[spec as usize].program.iter();
        let children =
            ops.filter_map(|op| if let Op::Spawn { spec, count, .. } = op { Some((*spec, *count)) } else { None });
        children.map(|(spec, count)| u64::from(count) * (1 + spawned(w, spec))).sum()
    }

    /// multi.sh; eight scripts of a shell, sort, od, sort, grep, tee, wc and rm.
    #[test]
    fn a_loop_forks_65_programs() {
        let w = Workload::find("shell8:copies=2", &small_machine(2)).unwrap().0;
        assert_eq!(w.start.len(), 2);
        assert_eq!(w.start.iter().map(|s| spawned(&w, s.spec)).collect::<Vec<_>>(), [1 + 8 * 8, 1 + 8 * 8]);
    }

    #[test]
    fn scripts_share_no_pipe_and_programs_share_the_lock() {
        let w = Workload::find("shell8:copies=2,scripts=3,program=1000,shared=10", &small_machine(2)).unwrap().0;
        let mut writers = vec![0; w.objects.len()];
        for op in w.tasks.iter().flat_map(|t| t.program.iter()) {
            match op {
                Op::PipeWrite { pipe, .. } => writers[*pipe as usize] += 1,
                Op::Serial { lock, hold, .. } => assert_eq!((*lock, hold.base), (MM, 100_000)),
                Op::Run(a) => assert_eq!((a.base, a.jitter), (810_000, 180_000)),
                _ => {}
            }
        }
        assert_eq!(writers[0], 0);
        assert!(writers[1..].iter().all(|n| *n == 1) && writers.len() == 1 + 2 * 3 * 3);
    }
}

//! A kernel build: make with a number of jobs, a compiler for each file, one linker at the end.

use std::sync::Arc;

use fairground_machine::CpuId;

use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{OptionInfo, OptionKind, Options, MICRO, NS_PER_MS};
use crate::program::*;

pub(super) const BUILTIN: Builtin = Builtin {
    name: "kbuild",
    title: "a kernel build: make -j, compilers, a linker",
    measures:
        "make starts a shell for each file, that the compiler driver, that the compiler and, after it, the assembler; as many at\n\
        once as `jobs`; when all are done one linker runs. Reports `time_s` from the first fork to the end. Placement acts\n\
        at fork and exec, and by balancing: the compilers are long, and the last of them decide.",
    misleads: "Work is drawn evenly from half to one and a half times `compile`; that of real files is far more uneven. The default is a\n\
        fiftieth of what a file of a kernel takes, so that a run of a hundred files is short: forks and execs weigh more than\n\
        in a build. No files, no page faults, no memory bandwidth, no job server: make counts its children. All figures\n\
        are estimates.",
    options: OPTIONS,
    build,
};

const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "jobs",
        kind: OptionKind::Int { min: 1, max: 4096 },
        default: "8",
        meaning: "compilers at once (-j)",
        excludes: None,
    },
    OptionInfo {
        name: "files",
        kind: OptionKind::Int { min: 1, max: 100_000 },
        default: "100",
        meaning: "files that are compiled",
        excludes: None,
    },
    OptionInfo {
        name: "compile",
        kind: OptionKind::Decimal { unit: "ms", min: MICRO / 100, max: 100_000 * MICRO },
        default: "10",
        meaning: "mean work of a compiler, ms on a CPU of capacity 1024",
        excludes: None,
    },
    OptionInfo {
        name: "link",
        kind: OptionKind::Decimal { unit: "ms", min: MICRO / 100, max: 100_000 * MICRO },
        default: "20",
        meaning: "work of the linker, ms on a CPU of capacity 1024",
        excludes: None,
    },
    parts::START_CPU,
];

/// Working sets, KiB; estimates: what of a compiler lives in a second-level cache, and of the small programs.
const COMPILER_KIB: u32 = 1024;
const SMALL_KIB: u32 = 64;
/// Work of make for each file, of a shell and of the driver, ns; estimates.
const RULE_NS: u64 = 100_000;
const SHELL_NS: u64 = 300_000;
const DRIVER_NS: u64 = 500_000;
/// An assembler takes this part of a compiler's work; an estimate.
const ASSEMBLER_PART: u64 = 10;

const MAKE: SpecId = 0;
const SHELL: SpecId = 1;
const DRIVER: SpecId = 2;
const COMPILER: SpecId = 3;
const ASSEMBLER: SpecId = 4;
const LINKER: SpecId = 5;

fn build(options: &Options) -> Result<Workload, WorkloadError> {
    let compile_ns = options.ns("compile", NS_PER_MS);
    let uneven = |ns: u64| Amount { base: (ns - ns / 2).max(1), jitter: ns / 2 * 2 };
    Ok(Workload {
        tasks: vec![
            TaskSpec::new("make", SMALL_KIB, make(options)),
            TaskSpec::new("sh", SMALL_KIB, program(parts::varied(SHELL_NS), &[DRIVER])),
            TaskSpec::new("gcc", SMALL_KIB, program(parts::varied(DRIVER_NS), &[COMPILER, ASSEMBLER])),
            TaskSpec::new("cc1", COMPILER_KIB, program(uneven(compile_ns), &[])),
            TaskSpec::new("as", SMALL_KIB, program(uneven((compile_ns / ASSEMBLER_PART).max(1)), &[])),
            TaskSpec::new("ld", COMPILER_KIB, program(Amount::fixed(options.ns("link", NS_PER_MS)), &[])),
        ],
        start: vec![Start { spec: MAKE, count: 1, cpu: options.int("start-cpu") as CpuId, process: 0 }],
        score: Score::Elapsed { parts: 1 },
        ..parts::blank(options)
    })
}

/// Keeps `jobs` files in work until all are done, then links.
fn make(options: &Options) -> Arc<[Op]> {
    let files = options.int("files") as u64;
    let jobs = (options.int("jobs") as u64).min(files);
    let start = |p: &mut ProgramBuilder| {
        p.op(Op::Run(parts::varied(RULE_NS)));
        p.op(Op::Spawn { spec: SHELL, count: 1, thread: false });
    };
    let mut p = ProgramBuilder::new();
    p.op(Op::Mark(Mark::Begin));
    p.repeat(Some(jobs), |p| start(p));
    p.repeat(Some(files - jobs), |p| {
        p.op(Op::WaitChild);
        start(p);
    });
    p.repeat(Some(jobs), |p| {
        p.op(Op::WaitChild);
    });
    p.op(Op::Spawn { spec: LINKER, count: 1, thread: false });
    p.op(Op::WaitChild);
    p.op(Op::Mark(Mark::End));
    p.build()
}

/// A program that was just forked: exec, its work, then others one after another.
fn program(work: Amount, then: &[SpecId]) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.op(Op::Exec);
    p.op(Op::Run(work));
    for spec in then {
        p.op(Op::Spawn { spec: *spec, count: 1, thread: false });
        p.op(Op::WaitChild);
    }
    p.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    #[test]
    fn make_waits_for_one_job_before_it_starts_the_next_and_for_all_before_it_links() {
        let w = Workload::find("kbuild:jobs=3,files=7", &small_machine(2)).unwrap().0;
        let times: Vec<_> = w.tasks[0]
            .program
            .iter()
            .filter_map(|op| if let Op::Loop { times, .. } = op { *times } else { None })
            .collect();
        assert_eq!(times, [3, 4, 3]);
        let few = Workload::find("kbuild:jobs=8,files=2", &small_machine(2)).unwrap().0;
        assert!(few.tasks[0].program.iter().any(|op| matches!(op, Op::Loop { times: Some(2), .. })));
        assert_eq!(w.tasks[2].program[3], Op::WaitChild, "the assembler follows the compiler");
    }
}

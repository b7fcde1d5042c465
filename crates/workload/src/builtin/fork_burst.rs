//! A fork burst: a parent forks some short children, waits for them, and idles until the next burst.

use std::sync::Arc;

use fairground_machine::CpuId;

use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{OptionInfo, OptionKind, Options, MICRO, NS_PER_MS, NS_PER_US};
use crate::program::*;

pub(super) const BUILTIN: Builtin = Builtin {
    name: "fork-burst",
    title: "bursts of short children out of idleness",
    measures:
        "A parent forks `children` one after another, each runs `work` and exits; when the last is gone the machine\n\
        idles for `gap`. Reports the time from the first fork until the parent has seen all of them end, and from the\n\
        creation of a child until it runs. New tasks take the slow path of placement: into which group, and among\n\
        idle CPUs into which. How deep the CPUs sleep depends on `gap`: here a rule that looks for the\n\
        shallowest sleeper, or for one whose sleep has paid for itself, wins or loses.",
    misleads: "Not a published benchmark. Nothing else runs, so most of a burst is the price of fork itself, one child after\n\
        another, and waking a deep sleeper may hide behind it. All bursts are alike: an idle governor learns the gap, as it\n\
        would not in real life. `gap-jitter` helps.",
    options: OPTIONS,
    build,
};

const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "bursts",
        kind: OptionKind::Int { min: 1, max: 100_000 },
        default: "100",
        meaning: "bursts",
        excludes: None,
    },
    OptionInfo {
        name: "children",
        kind: OptionKind::Int { min: 1, max: 10_000 },
        default: "8",
        meaning: "children of a burst",
        excludes: None,
    },
    OptionInfo {
        name: "work",
        kind: OptionKind::Decimal { unit: "us", min: 1000, max: 1_000_000 * MICRO },
        default: "500",
        meaning: "work of a child, us on a CPU of capacity 1024",
        excludes: None,
    },
    OptionInfo {
        name: "interval",
        kind: OptionKind::Decimal { unit: "us", min: 0, max: 1_000_000 * MICRO },
        default: "0",
        meaning: "sleep of the parent between two forks of a burst, us; 0: none",
        excludes: None,
    },
    OptionInfo {
        name: "gap",
        kind: OptionKind::Decimal { unit: "ms", min: 0, max: 100_000 * MICRO },
        default: "10",
        meaning: "sleep of the parent after a burst, ms",
        excludes: None,
    },
    OptionInfo {
        name: "gap-jitter",
        kind: OptionKind::Decimal { unit: "percent", min: 0, max: 100 * MICRO },
        default: "20",
        meaning: "gaps are up to this much longer, uniformly",
        excludes: None,
    },
    OptionInfo {
        name: "threads",
        kind: OptionKind::Flag,
        default: "",
        meaning: "children are threads; processes otherwise",
        excludes: None,
    },
    parts::START_CPU,
];

/// Working set of parent and child, KiB; an estimate: half of a 32 KiB L1, as periodic's tasks.
const FOOTPRINT_KIB: u32 = 16;

const BURST_BEGAN: ObjId = 0;
const BURST: SeriesId = 0;
const FORK: SeriesId = 1;
const MAIN: SpecId = 0;
const CHILD: SpecId = 1;

fn build(options: &Options) -> Result<Workload, WorkloadError> {
    let series = |name: &str, meaning: &str, permilles: &[u16]| Series {
        name: name.into(),
        meaning: meaning.into(),
        tick_ns: 1,
        unit: TimeUnit::Us,
        mean: true,
        permilles: permilles.into(),
        deadlines: Vec::new(),
    };
    let task = |name: &str, program| TaskSpec::new(name, FOOTPRINT_KIB, program);
    Ok(Workload {
        objects: vec![Object::Stamp],
        tasks: vec![task("fork-burst", main(options)), task("fork-child", child(options))],
        start: vec![Start { spec: MAIN, count: 1, cpu: options.int("start-cpu") as CpuId, process: 0 }],
        series: vec![
            series("burst", "first fork until the parent has seen all children end", &[500, 990]),
            series("fork_to_run", "the call that creates a child until that runs", &[500, 900, 990, 1000]),
        ],
        ..parts::blank(options)
    })
}

fn main(options: &Options) -> Arc<[Op]> {
    let (children, thread) = (options.int("children") as u32, options.is_given("threads"));
    let interval_ns = options.ns("interval", NS_PER_US);
    let gap_ns = options.ns("gap", NS_PER_MS);
    let jitter_ns =
        (u128::from(gap_ns) * u128::from(options.millionths("gap-jitter")) / 100 / u128::from(MICRO)) as u64;
    let mut p = ProgramBuilder::new();
    p.repeat(Some(options.int("bursts") as u64), |p| {
        p.op(Op::Sleep(Amount { base: gap_ns, jitter: jitter_ns }));
        p.op(Op::Stamp(BURST_BEGAN));
        if interval_ns == 0 {
            p.op(Op::Spawn { spec: CHILD, count: children, thread });
        } else {
            p.repeat(Some(u64::from(children) - 1), |p| {
                p.op(Op::Spawn { spec: CHILD, count: 1, thread });
                p.op(Op::Sleep(Amount::fixed(interval_ns)));
            });
            p.op(Op::Spawn { spec: CHILD, count: 1, thread });
        }
        p.op(Op::WaitChildren);
        p.op(Op::Sample { since: Since::Stamp(BURST_BEGAN), to: Report::Series(BURST) });
    });
    p.build()
}

fn child(options: &Options) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.op(Op::Sample { since: Since::Birth, to: Report::Series(FORK) });
    p.op(Op::Run(Amount::fixed(options.ns("work", NS_PER_US))));
    p.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    #[test]
    fn an_interval_lies_between_two_forks_and_not_after_the_last() {
        let main = |spec: &str| Workload::find(spec, &small_machine(2)).unwrap().0.tasks[0].program.clone();
        let spawn = |count| Op::Spawn { spec: CHILD, count, thread: false };
        assert!(main("fork-burst:children=5").contains(&spawn(5)));
        let spaced = main("fork-burst:children=5,interval=30,gap=2,gap-jitter=50");
        assert_eq!(spaced[1], Op::Sleep(Amount { base: 2_000_000, jitter: 1_000_000 }));
        let body = [
            Op::Loop { times: Some(4), end: 7 },
            spawn(1),
            Op::Sleep(Amount::fixed(30_000)),
            Op::EndLoop { begin: 3 },
            spawn(1),
            Op::WaitChildren,
        ];
        assert_eq!(spaced[3..9], body);
    }
}

//! Independent periodic tasks: run, then wait for the next period.

use std::sync::Arc;

use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{scaled, OptionInfo, OptionKind, Options, MICRO, NS_PER_MS, NS_PER_S, NS_PER_US};
use crate::program::*;
use crate::validate::MAX_DURATION_NS;

pub(super) const BUILTIN: Builtin = Builtin {
    name: "periodic",
    title: "independent periodic tasks of steady load",
    measures: "Each task runs a fixed piece of work, then sleeps until its next period; tasks do not interact. Every\n\
        start of a period is a placement decision for a task of known utilisation, so it shows where a scheduler\n\
        puts small and large tasks, how it packs or spreads them, what that costs in energy, and how long a\n\
        task waits for a CPU after its timer. Phases are drawn from the seed.",
    misleads:
        "Work is constant, so utilisation estimates settle to an accuracy that no real program grants them. No task\n\
        wakes another: wake-affine and sync logic is never used. Beyond the capacity of the machine periods\n\
        are missed and the load is no longer the one that was asked for. Commensurate periods keep their\n\
        relative phase for the whole run; use several seeds.",
    options: OPTIONS,
    build,
};

const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "tasks",
        kind: OptionKind::Int { min: 1, max: 100_000 },
        default: "8",
        meaning: "number of tasks",
        excludes: None,
    },
    OptionInfo {
        name: "periods",
        kind: OptionKind::List { unit: "ms", min: MICRO / 100, max: 100_000 * MICRO },
        default: "16",
        meaning: "periods, given to the tasks in turn",
        excludes: None,
    },
    OptionInfo {
        name: "duty",
        kind: OptionKind::Decimal { unit: "percent", min: MICRO / 1000, max: 100 * MICRO },
        default: "20",
        meaning: "work in a period, percent of what a CPU of capacity 1024 can do",
        excludes: Some("run"),
    },
    OptionInfo {
        name: "run",
        kind: OptionKind::Decimal { unit: "us", min: MICRO / 1000, max: 100_000_000 * MICRO },
        default: "",
        meaning: "work in a period, us on a CPU of capacity 1024, instead of `duty`",
        excludes: Some("duty"),
    },
    OptionInfo {
        name: "jitter",
        kind: OptionKind::Decimal { unit: "percent", min: 0, max: 100 * MICRO },
        default: "0",
        meaning: "work varies by this much of itself, half below and half above, uniformly",
        excludes: None,
    },
    OptionInfo {
        name: "nice",
        kind: OptionKind::Int { min: -20, max: 19 },
        default: "0",
        meaning: "nice value of all tasks",
        excludes: None,
    },
    OptionInfo {
        name: "duration",
        kind: OptionKind::Decimal { unit: "s", min: MICRO / 1000, max: MAX_DURATION_NS / 1000 },
        default: "10",
        meaning: "length of the run; statistics begin after a tenth of it, but no later than after 1 s",
        excludes: None,
    },
];

/// Working set of one task, KiB; an estimate: a small control loop with its stack and data, half of a 32 KiB L1.
const FOOTPRINT_KIB: u32 = 16;

/// The phases' own timer object: each task has its own phase on it.
const TIMER: ObjId = 0;

fn build(options: &Options) -> Result<Workload, WorkloadError> {
    let periods: Vec<u64> = options.list("periods").iter().map(|p| scaled(*p, NS_PER_MS)).collect();
    let tasks = options.int("tasks") as u32;
    // One program for all tasks of a period: thousands of copies would be memory that every step waits for.
    let programs: Vec<Arc<[Op]>> = periods.iter().map(|period_ns| program(options, *period_ns)).collect();
    let specs = (0..tasks).map(|i| spec(options, i, &programs[i as usize % programs.len()])).collect();
    let duration_ns = options.ns("duration", NS_PER_S);
    Ok(Workload {
        objects: vec![Object::Timer { per_task: true }],
        tasks: specs,
        start: (0..tasks).map(|spec| Start { spec, count: 1, cpu: 0, process: 0 }).collect(),
        duration_ns: Some(duration_ns),
        warmup_ns: (duration_ns / 10).min(NS_PER_S),
        ..parts::blank(options)
    })
}

fn program(options: &Options, period_ns: u64) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.op(Op::Sleep(Amount { base: 0, jitter: period_ns - 1 }));
    p.repeat(None, |p| {
        p.op(Op::Run(work(options, period_ns)));
        p.op(Op::TimerWait { timer: TIMER, period_ns, relative: true });
    });
    p.build()
}

fn spec(options: &Options, index: u32, program: &Arc<[Op]>) -> TaskSpec {
    TaskSpec {
        attr: SchedAttr { nice: options.int("nice") as i8, ..SchedAttr::default() },
        ..TaskSpec::new(&format!("periodic-{index}"), FOOTPRINT_KIB, Arc::clone(program))
    }
}

/// Work in one period, work ns.
fn work(options: &Options, period_ns: u64) -> Amount {
    let mean = if options.is_given("run") {
        options.ns("run", NS_PER_US)
    } else {
        scaled(options.millionths("duty"), period_ns) / 100
    };
    let width = scaled(options.millionths("jitter"), mean) / 100;
    Amount { base: (mean - width / 2).max(1), jitter: width }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    #[test]
    fn periods_go_round_and_duty_is_of_a_full_cpu() {
        let spec = "periodic:tasks=3,periods=5+2.5,duty=15,nice=-3,duration=4";
        let w = Workload::find(spec, &small_machine(2)).unwrap().0;
        let program = |period_ns: u64, work: u64| {
            vec![
                Op::Sleep(Amount { base: 0, jitter: period_ns - 1 }),
                Op::Loop { times: None, end: 5 },
                Op::Run(Amount::fixed(work)),
                Op::TimerWait { timer: 0, period_ns, relative: true },
                Op::EndLoop { begin: 1 },
            ]
        };
        // 15 % of 5 ms = 750 us, of 2.5 ms = 375 us.
        assert_eq!(w.tasks[0].program.to_vec(), program(5_000_000, 750_000));
        assert_eq!(w.tasks[1].program.to_vec(), program(2_500_000, 375_000));
        assert_eq!(w.tasks[2].program, w.tasks[0].program);
        assert_eq!((w.tasks[2].name.as_str(), w.tasks[2].attr.nice), ("periodic-2", -3));
        assert_eq!((w.duration_ns, w.warmup_ns), (Some(4_000_000_000), 400_000_000));
    }

    #[test]
    fn run_replaces_duty_and_jitter_is_centred() {
        let w = Workload::find("periodic:run=100,jitter=20,periods=10", &small_machine(2)).unwrap().0;
        assert_eq!(w.tasks[0].program[2], Op::Run(Amount { base: 90_000, jitter: 20_000 }));
    }

    #[test]
    fn the_bench_workload_exists() {
        let spec = "periodic:tasks=40,periods=5+8+10+16+20+25+40,duty=15";
        assert_eq!(Workload::find(spec, &small_machine(8)).unwrap().0.start.len(), 40);
    }
}

//! Utilisation clamps one property at a time: cases of two or a few threads, whose outcome can be said beforehand.

use std::sync::Arc;

use fairground_machine::{CpuId, CpuMask};

use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{OptionInfo, OptionKind, Options, MICRO, NS_PER_MS, NS_PER_S, NS_PER_US};
use crate::program::*;
use crate::validate::MAX_DURATION_NS;

pub(super) const BUILTIN: Builtin = Builtin {
    name: "uclamp-micro",
    title: "utilisation clamps, one property at a time",
    measures:
        "`boost`: a small periodic task that asks for the floor `min`, among `others` that are like it and ask for nothing.\n\
        Where floors count, its work takes less time than theirs: it gets a CPU and a clock that the floor fits.\n\
        `cap`: a busy task with the ceiling `max`, alone. Where ceilings count it stays on a CPU, and at a clock, of\n\
        no more capacity: a piece of work takes about 1024 / `max` times what it says, and energy falls.\n\
        `no-inheritance`: a task with the floor `min` wants a mutex that a busy task with the ceiling `max` holds\n\
        half of the time. Clamps are not passed on through locks: the wait is as long as the holder is slow.\n\
        `max-aggregation`: a busy task with the ceiling `max` and a periodic one without share one CPU. A run queue's\n\
        clamp is the largest of its runnable tasks': while the other is there the capped task runs fast, too.\n\
        Reports how long a piece of work took, by task; of `wait`, how long the mutex took.",
    misleads: "Not a published benchmark. With a clock that does not follow utilisation (governor performance), or CPUs of one\n\
        kind, clamps change little, as they should. A ceiling below the smallest CPU's lowest clock cannot be met. Times\n\
        include waiting for the CPU; work is constant.",
    options: OPTIONS,
    build,
};

const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "case",
        kind: OptionKind::Choice(&["boost", "cap", "no-inheritance", "max-aggregation"]),
        default: "boost",
        meaning: "which property",
        excludes: None,
    },
    OptionInfo {
        name: "min",
        kind: OptionKind::Int { min: 0, max: 1024 },
        default: "512",
        meaning: "floor that is asked for",
        excludes: None,
    },
    OptionInfo {
        name: "max",
        kind: OptionKind::Int { min: 0, max: 1024 },
        default: "128",
        meaning: "ceiling that is asked for",
        excludes: None,
    },
    OptionInfo {
        name: "others",
        kind: OptionKind::Int { min: 1, max: 1000 },
        default: "3",
        meaning: "tasks of `boost` that ask for nothing",
        excludes: None,
    },
    OptionInfo {
        name: "work",
        kind: OptionKind::Decimal { unit: "us", min: MICRO, max: 1_000_000 * MICRO },
        default: "500",
        meaning: "a piece of work, us on a CPU of capacity 1024",
        excludes: None,
    },
    OptionInfo {
        name: "period",
        kind: OptionKind::Decimal { unit: "ms", min: MICRO / 100, max: 100_000 * MICRO },
        default: "16",
        meaning: "period of the tasks that have one, ms",
        excludes: None,
    },
    OptionInfo {
        name: "duration",
        kind: OptionKind::Decimal { unit: "s", min: MICRO / 1000, max: MAX_DURATION_NS / 1000 },
        default: "4",
        meaning: "length of the run; statistics begin after a quarter of it",
        excludes: None,
    },
    OptionInfo {
        name: "cpu",
        kind: OptionKind::Cpu,
        default: "0",
        meaning: "CPU that the tasks of `max-aggregation` share",
        excludes: None,
    },
];

/// Working set of one task, KiB; an estimate: half of a 32 KiB L1, as periodic's tasks.
const FOOTPRINT_KIB: u32 = 16;

const TIMER: ObjId = 0;
const MUTEX: ObjId = 1;
/// The first of one stamp for each task.
const STAMPS: ObjId = 2;

/// Pieces of work that the periodic task of `max-aggregation` does in a period.
const BURST_PIECES: u64 = 4;

/// The tasks of a case, while they are put together.
struct Case {
    work: Amount,
    period_ns: u64,
    tasks: Vec<TaskSpec>,
    series: Vec<Series>,
}

fn build(options: &Options) -> Result<Workload, WorkloadError> {
    let (min, max) = (options.int("min") as u16, options.int("max") as u16);
    let floor = SchedAttr { uclamp_min: min, ..SchedAttr::default() };
    let ceiling = SchedAttr { uclamp_max: max, ..SchedAttr::default() };
    let mut case = Case {
        work: Amount::fixed(options.ns("work", NS_PER_US)),
        period_ns: options.ns("period", NS_PER_MS),
        tasks: Vec::new(),
        series: Vec::new(),
    };
    match options.int("case") {
        0 => case.boost(floor, options.int("others") as u32),
        1 => case.cap(ceiling),
        2 => case.no_inheritance(floor, ceiling),
        _ => case.max_aggregation(ceiling, options.int("cpu") as CpuId),
    }
    let threads = case.tasks.len() as u32;
    let mut objects = vec![Object::Timer { per_task: true }, Object::Mutex];
    objects.resize((STAMPS + threads) as usize, Object::Stamp);
    let duration_ns = options.ns("duration", NS_PER_S);
    Ok(Workload {
        objects,
        tasks: case.tasks,
        start: (0..threads).map(|spec| Start { spec, count: 1, cpu: 0, process: 0 }).collect(),
        duration_ns: Some(duration_ns),
        warmup_ns: duration_ns / 4,
        series: case.series,
        ..parts::blank(options)
    })
}

impl Case {
    /// A small task with a floor, and some without.
    fn boost(&mut self, floor: SchedAttr, others: u32) {
        let boosted = self.series("boosted", "a piece of the boosted task's work");
        let other = self.series("other", "a piece of the others' work");
        self.add("boosted", floor, |case, p, stamp| case.periodic(p, stamp, 1, boosted));
        for i in 0..others {
            self.add(&format!("other-{i}"), SchedAttr::default(), |case, p, stamp| case.periodic(p, stamp, 1, other));
        }
    }

    /// A busy task with a ceiling.
    fn cap(&mut self, ceiling: SchedAttr) {
        let capped = self.series("capped", "a piece of the capped task's work");
        self.add("capped", ceiling, |case, p, stamp| case.piece(p, stamp, capped));
    }

    /// Who holds the lock is slow, who waits for it would be fast.
    fn no_inheritance(&mut self, floor: SchedAttr, ceiling: SchedAttr) {
        let wait = self.series("wait", "the boosted task's wait for the mutex");
        self.add("holder", ceiling, |case, p, _| {
            p.op(Op::Lock(MUTEX));
            p.op(Op::Run(case.work));
            p.op(Op::Unlock(MUTEX));
            p.op(Op::Run(case.work));
        });
        self.add("boosted", floor, |case, p, stamp| {
            p.op(Op::TimerWait { timer: TIMER, period_ns: case.period_ns, relative: true });
            p.op(Op::Stamp(stamp));
            p.op(Op::Lock(MUTEX));
            p.op(Op::Sample { since: Since::Stamp(stamp), to: Report::Series(wait) });
            p.op(Op::Unlock(MUTEX));
            p.op(Op::Run(case.work));
        });
    }

    /// A busy task with a ceiling and one that comes and goes without, on one CPU.
    fn max_aggregation(&mut self, ceiling: SchedAttr, cpu: CpuId) {
        let capped = self.series("capped", "a piece of the capped task's work");
        let free = self.series("free", "a piece of the uncapped task's work");
        self.add("capped", ceiling, |case, p, stamp| case.piece(p, stamp, capped));
        let plain = SchedAttr::default();
        self.add("free", plain, |case, p, stamp| case.periodic(p, stamp, BURST_PIECES, free));
        self.tasks.iter_mut().for_each(|t| t.affinity = Some(CpuMask::single(cpu)));
    }

    /// A task that does `body` for ever, with a stamp of its own.
    fn add(&mut self, name: &str, attr: SchedAttr, body: impl FnOnce(&Self, &mut ProgramBuilder, ObjId)) {
        let stamp = STAMPS + self.tasks.len() as ObjId;
        let mut p = ProgramBuilder::new();
        p.op(Op::Sleep(Amount { base: 0, jitter: self.period_ns - 1 }));
        p.repeat(None, |p| body(self, p, stamp));
        let program: Arc<[Op]> = p.build();
        self.tasks.push(TaskSpec { attr, ..TaskSpec::new(name, FOOTPRINT_KIB, program) });
    }

    /// A piece of work, timed.
    fn piece(&self, p: &mut ProgramBuilder, stamp: ObjId, to: SeriesId) {
        p.op(Op::Stamp(stamp));
        p.op(Op::Run(self.work));
        p.op(Op::Sample { since: Since::Stamp(stamp), to: Report::Series(to) });
    }

    /// Some of them, then a wait for the next period.
    fn periodic(&self, p: &mut ProgramBuilder, stamp: ObjId, pieces: u64, to: SeriesId) {
        for _ in 0..pieces {
            self.piece(p, stamp, to);
        }
        p.op(Op::TimerWait { timer: TIMER, period_ns: self.period_ns, relative: true });
    }

    fn series(&mut self, name: &str, meaning: &str) -> SeriesId {
        self.series.push(Series {
            name: name.into(),
            meaning: meaning.into(),
            tick_ns: 1,
            unit: TimeUnit::Us,
            mean: true,
            permilles: vec![100, 500, 900],
            deadlines: Vec::new(),
        });
        self.series.len() as SeriesId - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    fn clamps(spec: &str) -> Vec<(String, u16, u16)> {
        let w = Workload::find(spec, &small_machine(4)).unwrap().0;
        w.tasks.iter().map(|t| (t.name.clone(), t.attr.uclamp_min, t.attr.uclamp_max)).collect()
    }

    #[test]
    fn each_case_clamps_whom_it_says() {
        let named = |all: &[(&str, u16, u16)]| all.iter().map(|(n, a, b)| (n.to_string(), *a, *b)).collect::<Vec<_>>();
        let boost = clamps("uclamp-micro:min=300,others=2");
        assert_eq!(boost, named(&[("boosted", 300, 1024), ("other-0", 0, 1024), ("other-1", 0, 1024)]));
        assert_eq!(clamps("uclamp-micro:case=cap,max=99"), named(&[("capped", 0, 99)]));
        let inherit = clamps("uclamp-micro:case=no-inheritance");
        assert_eq!(inherit, named(&[("holder", 0, 128), ("boosted", 512, 1024)]));
        let both = clamps("uclamp-micro:case=max-aggregation");
        assert_eq!(both, named(&[("capped", 0, 128), ("free", 0, 1024)]));
    }

    /// What shares a CPU must not be able to leave it.
    #[test]
    fn tasks_of_max_aggregation_stay_on_their_cpu() {
        let w = Workload::find("uclamp-micro:case=max-aggregation,cpu=2", &small_machine(4)).unwrap().0;
        assert!(w.tasks.iter().all(|t| t.affinity == Some(CpuMask::single(2))));
        let pieces = w.tasks[1].program.iter().filter(|op| matches!(op, Op::Run(_))).count();
        assert_eq!(pieces as u64, BURST_PIECES);
    }
}

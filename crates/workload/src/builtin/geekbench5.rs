//! Geekbench 5's multi-core section: phases in which each core has a copy of the same work, and the app around them.
//!
//! ```text
//! AsyncTask #1  gap, starts the copies, waits for all, next phase ..........
//!   copies          |work|    one thread each, no sharing: the rate of each counts
//! labs.geekbench5   |frame|frame|...|    shows the progress: a burst of frames at 60 Hz
//!   RenderThread, hwuiTask0, hwuiTask1   draw them
//!   others          |.|.|     Java threads and GPU driver, woken as the phase changes
//! ```
//!
//! Phases, sections and gap: "Geekbench 5 CPU Workloads" (November 2019); weights and gap as its users know them. What
//! threads ask of utilisation clamps: mail 003 ([`super::requests`]). How often the app's threads run is inferred from
//! the same tables, which count events of threads: two are taken for a wakeup, its start and its end, and the sum is
//! spread evenly over 21 phases. All work is estimated.

use std::sync::Arc;

use fairground_machine::CpuId;

use super::background::{self, BACKGROUND};
use super::requests::{Requester, Requests, REQUESTS};
use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{OptionInfo, OptionKind, Options, MICRO, NS_PER_MS, NS_PER_US};
use crate::program::*;

pub(super) const BUILTIN: Builtin = Builtin {
    name: "geekbench5",
    title: "Geekbench 5: 21 phases of one copy a core, and the app's own threads",
    measures:
        "In each phase `copies` threads do the same work, from their creation on; then all idle for `gap`. A phase's points\n\
        are the sum of the copies' rates of work, a section's the geometric mean of its phases, and the score is 5 % of\n\
        cryptography, 65 % of integer and 30 % of floating point. `copies=1` is the single-core section. Copies run all\n\
        the time: it shows who moves to a large CPU that falls idle, how clocks rise and heat lowers them, and whether\n\
        the app's threads with high floors disturb. Power is the mean over the run, gaps included.",
    misleads: "Points stand for work per time alone: `points` of them for a CPU of capacity 1024 at its top clock, a figure\n\
        that is free to be fitted to one baseline score. Rates may add up to more than the CPUs can do together: a\n\
        copy that moves to a large CPU that falls idle counts with its mean speed, after others are done; `until-last`\n\
        counts what all do together. Phases differ in name only: same\n\
        work, no memory traffic, no instruction mix, so the points of one phase say nothing of its namesake. The\n\
        work of a copy is estimated at 1 to 2 s on a large CPU. Frames, Java threads and their work are inferred from\n\
        counts of events in mail 003; floors are given there. Copies have the floor of AsyncTask #1, whose name new\n\
        threads inherit: 512 under kernel C, none under B, of which the mail has no line; how many of them keep it\n\
        nobody has counted (`floored`).",
    options: OPTIONS,
    build,
};

const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "copies",
        kind: OptionKind::Int { min: 1, max: 1000 },
        default: "8",
        meaning: "copies of each phase's work, one for each core",
        excludes: None,
    },
    OptionInfo {
        name: "work",
        kind: OptionKind::Decimal { unit: "ms", min: MICRO, max: 100_000 * MICRO },
        default: "1000",
        meaning: "work of a copy in a phase, ms on a CPU of capacity 1024",
        excludes: None,
    },
    OptionInfo {
        name: "scale",
        kind: OptionKind::Part { max: 1000 },
        default: "1",
        meaning: "part of each phase's work that is done",
        excludes: None,
    },
    OptionInfo {
        name: "gap",
        kind: OptionKind::Decimal { unit: "ms", min: 0, max: 100_000 * MICRO },
        default: "2000",
        meaning: "pause between two phases, ms",
        excludes: None,
    },
    OptionInfo {
        name: "points",
        kind: OptionKind::Decimal { unit: "points", min: MICRO / 1000, max: 1_000_000 * MICRO },
        default: "1000",
        meaning: "points of work at the speed of a CPU of capacity 1024",
        excludes: None,
    },
    OptionInfo {
        name: "until-last",
        kind: OptionKind::Flag,
        default: "",
        meaning: "a phase's rate is that of all copies from the first one's creation until the last is done",
        excludes: None,
    },
    OptionInfo {
        name: "frames",
        kind: OptionKind::Int { min: 0, max: 10_000 },
        default: "25",
        meaning: "frames at 60 Hz in which the app shows that a phase begins",
        excludes: None,
    },
    OptionInfo {
        name: "floored",
        kind: OptionKind::Decimal { unit: "of 1", min: 0, max: MICRO },
        default: "1",
        meaning: "part of the copies, rounded up, that have the floor of AsyncTask #1; an estimate",
        excludes: None,
    },
    BACKGROUND,
    REQUESTS,
    parts::START_CPU,
];

/// Sections: name, weight in percent, phases.
const SECTIONS: [(&str, u32, &[&str]); 3] = [
    ("cryptography", 5, &["aes_xts"]),
    (
        "integer",
        65,
        &[
            "text_compression",
            "image_compression",
            "navigation",
            "html5",
            "sqlite",
            "pdf_rendering",
            "text_rendering",
            "clang",
            "camera",
        ],
    ),
    (
        "floating_point",
        30,
        &[
            "n_body_physics",
            "rigid_body_physics",
            "gaussian_blur",
            "face_detection",
            "horizon_detection",
            "image_inpainting",
            "hdr",
            "ray_tracing",
            "structure_from_motion",
            "speech_recognition",
            "machine_learning",
        ],
    ),
];

/// Threads of the app that wake as a phase changes, and how often: their events under kernel B / 2 / 21, rounded.
const OTHERS: [(&str, u64); 7] = [
    ("ThreadPoolForeg", 4),
    ("Chrome_IOThread", 3),
    ("VizWebView", 3),
    ("Chrome_InProcGp", 2),
    ("ThreadPoolServi", 1),
    ("Chrome_ChildIOT", 1),
    ("mali-mem-purge", 1),
];

/// Working set of a copy, KiB; an estimate: what a large core's own cache holds, besides what streams through.
const COPY_KIB: u32 = 512;
/// Working set of the app's other threads, KiB; an estimate: a view tree and its display list.
const APP_KIB: u32 = 64;

/// Work per wakeup of the app's threads, ns on a CPU of capacity 1024; estimates for a progress bar.
const APP_NS: u64 = 1000 * NS_PER_US;
const RENDER_NS: u64 = 1500 * NS_PER_US;
const HWUI_NS: u64 = 500 * NS_PER_US;
const OTHER_NS: u64 = 200 * NS_PER_US;
/// Pause of the other threads between two wakeups, ns; an estimate.
const OTHER_PAUSE: Amount = Amount { base: 5 * NS_PER_MS, jitter: 10 * NS_PER_MS };
/// A frame at 60 Hz, ns.
const FRAME_NS: u64 = 16_666_667;

const FRAME_TIMER: ObjId = 0;
const PHASE_BEGAN: ObjId = 1;
const PROGRESS: ObjId = 2;
const TO_RENDER: ObjId = 3;
const TO_HWUI: [ObjId; 2] = [4, 5];
/// The first of one semaphore for each of [`OTHERS`].
const TO_OTHERS: ObjId = 6;

const APP: SpecId = 0;
/// RenderThread, its two helpers, who runs the phases, and [`OTHERS`].
const FIRST_THREAD: SpecId = 1;
const FIRST_OTHER: SpecId = 5;
const FIRST_COPY: SpecId = FIRST_OTHER + OTHERS.len() as SpecId;

fn build(options: &Options) -> Result<Workload, WorkloadError> {
    let requests = Requests::from_options(options);
    let part_ns = (options.ns("work", NS_PER_MS) / options.int("scale") as u64).max(1);
    let daemon = |name, attr, program| TaskSpec { attr, daemon: true, ..TaskSpec::new(name, APP_KIB, program) };
    let plain = SchedAttr::default();
    let mut tasks = vec![
        // Frames begin with the display's interrupt, not with a timer of the app's.
        TaskSpec { timer_slack_ns: 0, ..TaskSpec::new("labs.geekbench5", APP_KIB, app(options, &requests)) },
        daemon("RenderThread", plain, render_thread(&requests)),
        daemon("hwuiTask0", plain, hwui_task(&requests, 0)),
        daemon("hwuiTask1", plain, hwui_task(&requests, 1)),
        TaskSpec { attr: requests.async_task(), ..TaskSpec::new("AsyncTask #1", APP_KIB, runner(options)) },
    ];
    for (wake, (name, wakes)) in (TO_OTHERS..).zip(OTHERS) {
        tasks.push(daemon(name, requests.steady(), background_thread(wake, wakes)));
    }
    for phase in 0..phases() {
        let program = copy(part_ns, (!options.is_given("until-last")).then_some(phase));
        tasks.push(TaskSpec { attr: requests.async_task(), ..TaskSpec::new("AsyncTask #1", COPY_KIB, program) });
    }
    if plain_copies(options) > 0 {
        let plain: Vec<TaskSpec> =
            tasks[FIRST_COPY as usize..].iter().map(|task| TaskSpec { attr: plain, ..task.clone() }).collect();
        tasks.extend(plain);
    }
    let mut objects = vec![Object::Timer { per_task: false }, Object::Stamp];
    objects.resize(TO_OTHERS as usize + OTHERS.len(), Object::Semaphore { value: 0 });
    let cpu = options.int("start-cpu") as CpuId;
    let mut workload = Workload {
        objects,
        tasks,
        start: vec![Start { spec: APP, count: 1, cpu, process: 0 }],
        score: Score::Points(points(options, part_ns)),
        ..parts::blank(options)
    };
    background::add(options, cpu, &mut workload);
    Ok(workload)
}

/// Copies without the floor of AsyncTask #1, in each phase.
fn plain_copies(options: &Options) -> u32 {
    let copies = options.int("copies") as u64;
    (copies - (copies * options.millionths("floored")).div_ceil(MICRO)) as u32
}

fn phases() -> u32 {
    SECTIONS.iter().map(|(_, _, phases)| phases.len() as u32).sum()
}

/// Each time that is reported is one copy's, or that of all.
fn points(options: &Options, part_ns: u64) -> Points {
    let copies = if options.is_given("until-last") { options.int("copies") as u64 } else { 1 };
    let phase = |name: &&str| Phase { name: (*name).into(), work_ns: part_ns * copies };
    let sections = SECTIONS.iter().map(|(name, weight, phases)| Section {
        name: (*name).into(),
        weight: *weight,
        phases: phases.iter().map(phase).collect(),
    });
    Points {
        full_speed: options.millionths("points") / 1000,
        parts: options.int("scale") as u32,
        sections: sections.collect(),
    }
}

/// Starts everybody, then shows that a phase begins, each time.
fn app(options: &Options, requests: &Requests) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    for spec in FIRST_THREAD..FIRST_COPY {
        p.op(Op::Spawn { spec, count: 1, thread: true });
    }
    p.repeat(Some(phases().into()), |p| {
        p.op(Op::SemWait(PROGRESS));
        p.repeat(Some(options.int("frames") as u64), |p| {
            requests.ask(p, Requester::App);
            p.op(Op::Run(parts::varied(APP_NS)));
            p.op(Op::SemPost(TO_RENDER));
            p.op(Op::TimerWait { timer: FRAME_TIMER, period_ns: FRAME_NS, relative: true });
        });
    });
    p.build()
}

/// The two helpers take turns.
fn render_thread(requests: &Requests) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        for helper in TO_HWUI {
            p.op(Op::SemWait(TO_RENDER));
            requests.ask(p, Requester::Render);
            p.op(Op::SemPost(helper));
            p.op(Op::Run(parts::varied(RENDER_NS)));
        }
    });
    p.build()
}

fn hwui_task(requests: &Requests, i: usize) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.op(Op::SemWait(TO_HWUI[i]));
        requests.ask(p, Requester::Hwui(i));
        p.op(Op::Run(parts::varied(HWUI_NS)));
    });
    p.build()
}

fn background_thread(wake: ObjId, wakes: u64) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.op(Op::SemWait(wake));
        p.repeat(Some(wakes), |p| {
            p.op(Op::Run(parts::varied(OTHER_NS)));
            p.op(Op::Sleep(OTHER_PAUSE));
        });
    });
    p.build()
}

/// One phase after another; the statistics are of all of them and of the gaps between.
fn runner(options: &Options) -> Arc<[Op]> {
    let (copies, gap_ns) = (options.int("copies") as u32, options.ns("gap", NS_PER_MS));
    let plain = plain_copies(options);
    let mut p = ProgramBuilder::new();
    p.op(Op::Mark(Mark::Begin));
    for phase in 0..phases() {
        if phase > 0 {
            p.op(Op::Sleep(Amount::fixed(gap_ns)));
        }
        for semaphore in [PROGRESS].into_iter().chain((TO_OTHERS..).take(OTHERS.len())) {
            p.op(Op::SemPost(semaphore));
        }
        p.op(Op::Stamp(PHASE_BEGAN));
        for (spec, count) in [(FIRST_COPY + phase, copies - plain), (FIRST_COPY + phases() + phase, plain)] {
            if count > 0 {
                p.op(Op::Spawn { spec, count, thread: true });
            }
        }
        p.op(Op::WaitChildren);
        if options.is_given("until-last") {
            p.op(Op::Sample { since: Since::Stamp(PHASE_BEGAN), to: Report::Phase(phase) });
        }
    }
    p.op(Op::Mark(Mark::End));
    p.build()
}

/// Reports to a phase, if it does so itself.
fn copy(work_ns: u64, reports: Option<PhaseId>) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.op(Op::Run(Amount::fixed(work_ns)));
    if let Some(phase) = reports {
        p.op(Op::Sample { since: Since::Birth, to: Report::Phase(phase) });
    }
    p.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    /// Who runs the phases.
    const RUNNER: SpecId = FIRST_OTHER - 1;

    fn found(spec: &str) -> Workload {
        Workload::find(spec, &small_machine(8)).unwrap().0
    }

    fn score(w: &Workload) -> &Points {
        let Score::Points(points) = &w.score else { panic!("{:?}", w.score) };
        points
    }

    #[test]
    fn each_of_21_phases_starts_a_copy_a_core_and_pauses_before_the_next() {
        let w = found("geekbench5:copies=4,work=300,gap=1500");
        let runner = &w.tasks[RUNNER as usize].program;
        let started: Vec<(SpecId, u32)> = runner
            .iter()
            .filter_map(|op| if let Op::Spawn { spec, count, .. } = op { Some((*spec, *count)) } else { None })
            .collect();
        assert_eq!(started, (FIRST_COPY..FIRST_COPY + 21).map(|spec| (spec, 4)).collect::<Vec<_>>());
        let gaps = runner.iter().filter(|op| **op == Op::Sleep(Amount::fixed(1_500_000_000))).count();
        assert_eq!(gaps, 20);
        let last = &w.tasks.last().unwrap().program;
        let sample = Op::Sample { since: Since::Birth, to: Report::Phase(20) };
        assert_eq!(**last, [Op::Run(Amount::fixed(300_000_000)), sample]);
        let sections = &score(&w).sections;
        assert_eq!(sections.iter().map(|s| s.weight).sum::<u32>(), 100);
        assert_eq!(sections.iter().map(|s| s.phases.len()).collect::<Vec<_>>(), [1, 9, 11]);
    }

    /// A quarter of 2 s; ten points are ten thousand thousandths.
    #[test]
    fn a_part_of_the_work_is_known_to_the_score() {
        let w = found("geekbench5:work=2000,scale=1/4,points=10");
        let points = score(&w);
        assert_eq!((points.full_speed, points.parts), (10_000, 4));
        assert!(points.sections.iter().flat_map(|s| &s.phases).all(|p| p.work_ns == 500_000_000));
    }

    /// Then the runner measures, and the work that it measures is that of all copies.
    #[test]
    fn until_the_last_a_phase_is_measured_once() {
        let w = found("geekbench5:copies=3,work=100,until-last");
        assert_eq!(score(&w).sections[0].phases[0].work_ns, 300_000_000);
        let samples = |program: &[Op]| program.iter().filter(|op| matches!(op, Op::Sample { .. })).count();
        assert_eq!(samples(&w.tasks[RUNNER as usize].program), 21);
        assert_eq!(samples(&w.tasks[FIRST_COPY as usize].program), 0);
    }

    #[test]
    fn a_part_of_the_copies_may_have_no_floor() {
        let w = found("geekbench5:requests=c,copies=8,floored=0.3");
        let spawned: Vec<(u16, u32)> = w.tasks[RUNNER as usize]
            .program
            .iter()
            .filter_map(|op| match op {
                Op::Spawn { spec, count, .. } => Some((w.tasks[*spec as usize].attr.uclamp_min, *count)),
                _ => None,
            })
            .collect();
        assert_eq!(spawned, [(512, 3), (0, 5)].repeat(21));
        assert_eq!(found("geekbench5:floored=1").tasks, found("geekbench5").tasks);
    }

    #[test]
    fn copies_have_a_floor_under_kernel_c_alone_and_nobody_without_requests() {
        let floor = |spec: &str, task: SpecId| found(spec).tasks[task as usize].attr.uclamp_min;
        assert_eq!(["b", "c"].map(|r| floor(&format!("geekbench5:requests={r}"), FIRST_COPY)), [0, 512]);
        assert_eq!(["b", "c"].map(|r| floor(&format!("geekbench5:requests={r}"), FIRST_OTHER)), [398, 436]);
        let none = found("geekbench5:requests=none");
        assert!(none.tasks.iter().all(|t| t.attr == SchedAttr::default()));
        let draws = none.tasks.iter().flat_map(|t| t.program.iter()).any(|op| matches!(op, Op::DrawUclampMin(_)));
        assert!(!draws);
    }
}

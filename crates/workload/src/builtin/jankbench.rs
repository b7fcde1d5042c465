//! Jankbench: an app that scrolls and draws, frame by frame, through the threads that a frame takes on Android.
//!
//! ```text
//! TimerDispatch    vsync ................................. vsync ..............
//! droid.benchmark  |-> frame: asks for a floor, works -.
//! RenderThread             syncs (the app goes on) <---'-> buffer -> draws -> submits -> queues the buffer: frame done
//! hwuiTask0, 1                  |works|                                |               |
//! mali-*                                               |-> three, one after another    |
//! surfaceflinger                                                          composes at the next vsync -> composer
//! ```
//!
//! Tests: those of the app as workload-automation names them. Of a frame the app takes the time from its vsync until it
//! is with the display (Android's FrameMetrics, total duration). Its penalty for jank begins at 12 ms. What threads ask
//! of utilisation clamps: mail 003, whose tables are of Geekbench on the same phone ([`super::requests`]).
//!
//! The cost of a frame has not been published. The shares are estimates: app, RenderThread, GPU driver, SurfaceFlinger
//! as 9 : 11 : 2 : 4 for a list. Their sum is bounded by the 136 mW of the mail: at 60 Hz and about 0.4 mW for a unit
//! of capacity, 2 to 4 ms of a large CPU.

use std::sync::Arc;

use fairground_machine::CpuId;

use super::background::{self, BACKGROUND};
use super::requests::{Requester, Requests, REQUESTS};
use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{scaled, OptionInfo, OptionKind, Options, MICRO, NS_PER_MS, NS_PER_S, NS_PER_US};
use crate::program::*;

pub(super) const BUILTIN: Builtin = Builtin {
    name: "jankbench",
    title: "Jankbench: frames at the display's rate, through the threads of Android",
    measures:
        "At each vsync the app makes a frame: its first thread, RenderThread with its helpers, the GPU driver's threads,\n\
        then SurfaceFlinger and the composer, by way of binder. Reports what the app does: the mean duration of a\n\
        frame, ms, number and share of those that took more than 12 ms (`jank`, where the app's penalty begins) and of\n\
        those that took longer than a period of the display (`bad`). Mail 003 reports the mean power. Short work on a\n\
        long chain of wakeups, with floors asked for: it shows which CPUs a scheduler deems cheapest, how far floors\n\
        raise clocks, and how deep the others sleep.",
    misleads: "What frames cost is estimated: `list_view` 2.9 ms of a CPU of capacity 1024, the other tests 2.4 to 3.6;\n\
        `frame-scale` multiplies all of it and is free to be fitted to one baseline power; 0.5 to 2 is the range to sweep.\n\
        Work varies by a fifth: no garbage collection, no new rows, so hardly any jank on an idle phone. Kept: who wakes\n\
        whom, that a late app skips a vsync, that it runs at most a frame ahead, double buffering, sync wakes of binder.\n\
        Simplified: the GPU takes no time, a frame's floors are set by the thread itself, vsync reaches the app in one\n\
        hop, nothing else runs on the phone but for `background`. `all` gives each test the same part of the time, without a pause.",
    options: OPTIONS,
    build,
};

const OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "test",
        kind: OptionKind::Choice(&[
            "all",
            "list_view",
            "image_list_view",
            "shadow_grid",
            "low_hitrate_text",
            "high_hitrate_text",
            "edit_text",
            "overdraw_test",
        ]),
        default: "all",
        meaning: "what is drawn",
        excludes: None,
    },
    OptionInfo {
        name: "hz",
        kind: OptionKind::Int { min: 10, max: 240 },
        default: "60",
        meaning: "refreshes of the display a second: 60, 90 or 120 as phones have them",
        excludes: None,
    },
    OptionInfo {
        name: "duration",
        kind: OptionKind::Decimal { unit: "s", min: MICRO / 10, max: 100_000 * MICRO },
        default: "30",
        meaning: "length of all tests, s, if no frame is late; half a second goes before",
        excludes: None,
    },
    OptionInfo {
        name: "frame-scale",
        kind: OptionKind::Decimal { unit: "times", min: MICRO / 100, max: 100 * MICRO },
        default: "1",
        meaning: "work of all threads, in times of what is estimated",
        excludes: None,
    },
    BACKGROUND,
    REQUESTS,
    parts::START_CPU,
];

/// What a frame of a test costs, us on a CPU of capacity 1024; estimates.
#[derive(Clone, Copy)]
struct Cost {
    app: u64,
    /// Of which [`SYNC_PERCENT`] before the app goes on.
    render: u64,
    hwui: u64,
    /// Each of three threads.
    driver: u64,
}

/// In the order of the option, without `all`.
const TESTS: [Cost; 7] = [
    Cost { app: 900, render: 1100, hwui: 200, driver: 60 },
    Cost { app: 900, render: 1500, hwui: 400, driver: 100 },
    Cost { app: 600, render: 1700, hwui: 200, driver: 120 },
    Cost { app: 1300, render: 1300, hwui: 300, driver: 60 },
    Cost { app: 1000, render: 1000, hwui: 200, driver: 60 },
    Cost { app: 1400, render: 700, hwui: 100, driver: 40 },
    Cost { app: 500, render: 900, hwui: 100, driver: 150 },
];

/// Part of RenderThread's work in which the app waits for it; an estimate.
const SYNC_PERCENT: u64 = 15;
/// SurfaceFlinger's work for a frame, what a binder call takes its server, and a vsync its dispatcher, us on a CPU of
/// capacity 1024; estimates.
const COMPOSE_US: u64 = 400;
const BINDER_US: u64 = 20;
const VSYNC_US: u64 = 20;
/// Bytes of a binder call; an estimate.
const BINDER_BYTES: u32 = 128;
/// Where the app's penalty for jank begins, ns.
const JANK_NS: u64 = 12 * NS_PER_MS;
/// Buffers that RenderThread may fill while a third is shown.
const BUFFERS: u32 = 2;
/// Working sets, KiB; estimates: a view tree and its display list; a service's state.
const APP_KIB: u32 = 64;
const SERVICE_KIB: u32 = 32;

const VSYNC_TIMER: ObjId = 0;
/// Who waits for a vsync: the app, SurfaceFlinger.
const VSYNC: [ObjId; 2] = [1, 2];
/// When the frame began: even frames, odd ones. The app is at most one frame ahead.
const BEGAN: [ObjId; 2] = [3, 4];
const TO_RENDER: ObjId = 5;
const SYNCED: ObjId = 6;
const TO_HWUI: [ObjId; 2] = [7, 8];
const TO_DRIVER: [ObjId; 3] = [9, 10, 11];
const FREE_BUFFERS: ObjId = 12;
const QUEUED: ObjId = 13;
/// Calls and replies of binder: RenderThread to SurfaceFlinger, SurfaceFlinger to the composer.
const TO_FLINGER: [ObjId; 2] = [14, 15];
const TO_COMPOSER: [ObjId; 2] = [16, 17];

const APP: SpecId = 0;
const FLINGER: SpecId = 1;
const COMPOSER: SpecId = 2;
/// Threads of SurfaceFlinger, then of the app.
const FLINGER_THREADS: std::ops::Range<SpecId> = 3..5;
const APP_THREADS: std::ops::Range<SpecId> = 5..11;

const FRAME: SeriesId = 0;

/// What is drawn: costs, and how many pairs of frames.
struct FrameSequence {
    tests: Vec<(Cost, u64)>,
    /// Of the first test, before the statistics begin.
    warmup_pairs: u64,
    /// Factor on all costs, in millionths.
    scale: u64,
    period_ns: u64,
}

fn build(options: &Options) -> Result<Workload, WorkloadError> {
    let (course, requests) = (FrameSequence::from_options(options), Requests::from_options(options));
    let app = |name, attr, program| TaskSpec { attr, daemon: true, ..TaskSpec::new(name, APP_KIB, program) };
    let service = |name, program| TaskSpec { daemon: true, ..TaskSpec::new(name, SERVICE_KIB, program) };
    let (plain, steady) = (SchedAttr::default(), requests.steady());
    let tasks = vec![
        TaskSpec::new("droid.benchmark", APP_KIB, first_thread(&course, &requests)),
        service("surfaceflinger", flinger(&course)),
        service("composer", served(&course, TO_COMPOSER)),
        // It reads a timerfd, and those have no slack.
        TaskSpec { timer_slack_ns: 0, ..service("TimerDispatch", dispatcher(&course)) },
        service("Binder:SF_1", served(&course, TO_FLINGER)),
        app("RenderThread", plain, render_thread(&course, &requests)),
        app("hwuiTask0", plain, hwui_task(&course, &requests, 0)),
        app("hwuiTask1", plain, hwui_task(&course, &requests, 1)),
        app("mali-cmar-backe", steady, driver(&course, 0)),
        app("mali-utility-wo", steady, driver(&course, 1)),
        app("mali-mem-purge", steady, driver(&course, 2)),
    ];
    let cpu = options.int("start-cpu") as CpuId;
    let mut workload = Workload {
        objects: objects(),
        tasks,
        start: [FLINGER, COMPOSER, APP].into_iter().map(|spec| Start { spec, count: 1, cpu, process: 0 }).collect(),
        series: vec![frames_of(&course)],
        ..parts::blank(options)
    };
    background::add(options, cpu, &mut workload);
    Ok(workload)
}

impl FrameSequence {
    fn from_options(options: &Options) -> Self {
        let (hz, test) = (options.int("hz") as u64, options.int("test") as usize);
        let costs = if test == 0 { &TESTS[..] } else { std::slice::from_ref(&TESTS[test - 1]) };
        let frames = options.ns("duration", NS_PER_S) / (NS_PER_S / hz) / costs.len() as u64;
        FrameSequence {
            tests: costs.iter().map(|cost| (*cost, (frames / 2).max(1))).collect(),
            warmup_pairs: (hz / 4).max(1),
            scale: options.millionths("frame-scale"),
            period_ns: NS_PER_S / hz,
        }
    }

    fn work(&self, us: u64) -> Op {
        Op::Run(parts::varied(scaled(self.scale, us * NS_PER_US).max(1)))
    }

    /// The same for each pair of frames, `then` after the warm-up.
    fn pairs(&self, p: &mut ProgramBuilder, then: &[Op], body: impl Fn(&mut ProgramBuilder, Cost)) {
        let first = self.tests[0].0;
        p.repeat(Some(self.warmup_pairs), |p| body(p, first));
        then.iter().for_each(|op| {
            p.op(op.clone());
        });
        for (cost, pairs) in &self.tests {
            p.repeat(Some(*pairs), |p| body(p, *cost));
        }
    }
}

fn objects() -> Vec<Object> {
    let mut objects = vec![Object::Semaphore { value: 0 }; TO_COMPOSER[1] as usize + 1];
    objects[VSYNC_TIMER as usize] = Object::Timer { per_task: false };
    VSYNC.into_iter().for_each(|id| objects[id as usize] = Object::Roster);
    BEGAN.into_iter().for_each(|id| objects[id as usize] = Object::Stamp);
    objects[FREE_BUFFERS as usize] = Object::Semaphore { value: BUFFERS };
    TO_FLINGER.into_iter().chain(TO_COMPOSER).for_each(|id| objects[id as usize] = parts::PIPE);
    objects
}

fn frames_of(course: &FrameSequence) -> Series {
    let deadline = |name: &str, ticks| Deadline { name: name.into(), ticks };
    Series {
        name: "frame".into(),
        meaning: "a frame's vsync until RenderThread has queued it".into(),
        tick_ns: 1,
        unit: TimeUnit::Ms,
        mean: true,
        permilles: vec![500, 950, 990],
        deadlines: vec![deadline("jank", JANK_NS), deadline("bad", course.period_ns)],
    }
}

fn dispatcher(course: &FrameSequence) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.op(Op::TimerWait { timer: VSYNC_TIMER, period_ns: course.period_ns, relative: false });
        p.op(course.work(VSYNC_US));
        VSYNC.into_iter().for_each(|waiting| {
            p.op(Op::CallListed(waiting));
        });
    });
    p.build()
}

/// The app's first thread: waits for RenderThread to take each frame, and in the end for all of them to be done.
fn first_thread(course: &FrameSequence, requests: &Requests) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    for spec in APP_THREADS {
        p.op(Op::Spawn { spec, count: 1, thread: true });
    }
    course.pairs(&mut p, &[], |p, cost| {
        for began in BEGAN {
            p.op(Op::Enlist(VSYNC[0]));
            p.op(Op::StampCall(began));
            requests.ask(p, Requester::App);
            p.op(course.work(cost.app));
            p.op(Op::SemPost(TO_RENDER));
            p.op(Op::SemWait(SYNCED));
        }
    });
    p.op(Op::WaitChildren);
    p.op(Op::Mark(Mark::End));
    p.build()
}

/// The statistics begin when the last frame before the tests is done.
fn render_thread(course: &FrameSequence, requests: &Requests) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    course.pairs(&mut p, &[Op::Mark(Mark::Begin)], |p, cost| {
        let sync_us = cost.render * SYNC_PERCENT / 100;
        for (began, helper) in BEGAN.into_iter().zip(TO_HWUI) {
            p.op(Op::SemWait(TO_RENDER));
            requests.ask(p, Requester::Render);
            p.op(course.work(sync_us));
            p.op(Op::SemPost(SYNCED));
            p.op(Op::SemPost(helper));
            p.op(Op::SemWait(FREE_BUFFERS));
            call(p, TO_FLINGER);
            p.op(course.work(cost.render - sync_us));
            p.op(Op::SemPost(TO_DRIVER[0]));
            call(p, TO_FLINGER);
            p.op(Op::SemPost(QUEUED));
            p.op(Op::Sample { since: Since::Stamp(began), to: Report::Series(FRAME) });
        }
    });
    p.build()
}

/// The helpers take turns: of a pair of frames each has one.
fn hwui_task(course: &FrameSequence, requests: &Requests, i: usize) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    course.pairs(&mut p, &[], |p, cost| {
        p.op(Op::SemWait(TO_HWUI[i]));
        requests.ask(p, Requester::Hwui(i));
        p.op(course.work(cost.hwui));
    });
    p.build()
}

/// Each wakes the next.
fn driver(course: &FrameSequence, i: usize) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    course.pairs(&mut p, &[], |p, cost| {
        for _ in BEGAN {
            p.op(Op::SemWait(TO_DRIVER[i]));
            p.op(course.work(cost.driver));
            TO_DRIVER.get(i + 1).into_iter().for_each(|next| {
                p.op(Op::SemPost(*next));
            });
        }
    });
    p.build()
}

/// A queued frame is composed at the next vsync; then its buffer is free.
fn flinger(course: &FrameSequence) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    for spec in FLINGER_THREADS {
        p.op(Op::Spawn { spec, count: 1, thread: true });
    }
    p.repeat(None, |p| {
        p.op(Op::SemWait(QUEUED));
        p.op(Op::Enlist(VSYNC[1]));
        p.op(course.work(COMPOSE_US));
        call(p, TO_COMPOSER);
        call(p, TO_COMPOSER);
        p.op(Op::SemPost(FREE_BUFFERS));
    });
    p.build()
}

/// A call by binder. It wakes its server sync, as a pipe does.
fn call(p: &mut ProgramBuilder, [request, reply]: [ObjId; 2]) {
    p.op(Op::PipeWrite { pipe: request, bytes: BINDER_BYTES });
    p.op(Op::PipeRead { pipe: reply, bytes: BINDER_BYTES });
}

fn served(course: &FrameSequence, [request, reply]: [ObjId; 2]) -> Arc<[Op]> {
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.op(Op::PipeRead { pipe: request, bytes: BINDER_BYTES });
        p.op(course.work(BINDER_US));
        p.op(Op::PipeWrite { pipe: reply, bytes: BINDER_BYTES });
    });
    p.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    fn found(spec: &str) -> Workload {
        Workload::find(spec, &small_machine(4)).unwrap().0
    }

    /// Times of all loops of a thread.
    fn loops(w: &Workload, spec: SpecId) -> Vec<u64> {
        let program = w.tasks[spec as usize].program.iter();
        program.filter_map(|op| if let Op::Loop { times, .. } = op { *times } else { None }).collect()
    }

    /// 30 s at 60 Hz are 1800 frames, 257 for each of seven tests: 128 pairs. Half a second before is 15 pairs.
    #[test]
    fn all_tests_share_the_time_and_all_threads_of_the_app_draw_the_same_frames() {
        let w = found("jankbench");
        let mut expected = vec![128; 8];
        expected[0] = 15;
        for spec in [APP].into_iter().chain(APP_THREADS) {
            assert_eq!(loops(&w, spec), expected, "{}", w.tasks[spec as usize].name);
        }
        assert_eq!(loops(&found("jankbench:test=edit_text,hz=120,duration=5"), APP), [30, 300]);
        assert_eq!(loops(&found("jankbench:duration=0.1"), APP)[1..], [1; 7], "no test without frames");
    }

    /// What a CPU of capacity 1024 works for a frame, SurfaceFlinger's 400 us and five times 20 us of services
    /// included.
    #[test]
    fn each_test_has_its_costs_within_the_bounds_of_the_published_power() {
        let OptionKind::Choice(names) = OPTIONS[0].kind else { panic!("{:?}", OPTIONS[0].kind) };
        assert_eq!(names.len(), 1 + TESTS.len());
        for (name, cost) in names[1..].iter().zip(TESTS) {
            let app = found(&format!("jankbench:test={name}")).tasks[APP as usize].program.clone();
            let work = Op::Run(parts::varied(cost.app * NS_PER_US));
            assert!(app.contains(&work), "{name}");
            let sum = cost.app + cost.render + cost.hwui + 3 * cost.driver + COMPOSE_US + 4 * BINDER_US + VSYNC_US;
            assert!((2000..4000).contains(&sum), "{name}: {sum}");
        }
    }

    /// 900 us, of which a half, and a fifth to both sides.
    #[test]
    fn one_option_scales_the_work_of_a_frame() {
        let w = found("jankbench:test=list_view,frame-scale=0.5");
        assert!(w.tasks[APP as usize].program.contains(&Op::Run(Amount { base: 360_000, jitter: 180_000 })));
        // A millionth of nothing is still work.
        assert!(Workload::find("jankbench:frame-scale=0.01", &small_machine(4)).is_ok());
    }

    #[test]
    fn deadlines_are_the_penalty_of_the_app_and_the_period_of_the_display() {
        let deadlines = |spec: &str| found(spec).series[0].deadlines.iter().map(|d| d.ticks).collect::<Vec<_>>();
        assert_eq!(deadlines("jankbench"), [12_000_000, 16_666_666]);
        assert_eq!(deadlines("jankbench:hz=120"), [12_000_000, 8_333_333]);
    }

    /// The floor is asked for once a frame, before its work.
    #[test]
    fn floors_are_drawn_for_each_frame() {
        let asks = |spec: &str, task: SpecId| {
            let program = found(spec).tasks[task as usize].program.clone();
            program.windows(2).filter(|w| matches!(w, [Op::DrawUclampMin(_), Op::Run(_)])).count()
        };
        // Two frames a pair, in the warm-up and one test.
        assert_eq!([APP, APP_THREADS.start].map(|t| asks("jankbench:test=shadow_grid", t)), [4, 4]);
        assert_eq!(asks("jankbench:test=shadow_grid,requests=none", APP), 0);
    }
}

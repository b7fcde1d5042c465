//! Small files with the steps rt-app would take, worked out by hand.

use std::path::{Path, PathBuf};

use fairground_machine::{CpuMask, Machine};
use proptest::prelude::*;

use super::*;
use crate::clamp::{Clamp, ClampPercent, GroupClamp};
use crate::cpuset::GroupCpus;
use crate::program::*;
use crate::testing::small_machine;

/// Four CPUs; CPU 3 is of half the capacity.
fn machine() -> Machine {
    let mut machine = small_machine(4);
    machine.cpus[3].capacity = 512;
    machine
}

fn read(text: &str) -> (Workload, Vec<Warning>) {
    read_as(text, Dialect::default())
}

fn read_as(text: &str, dialect: Dialect) -> (Workload, Vec<Warning>) {
    read_on(text, dialect, &machine())
}

fn read_on(text: &str, dialect: Dialect, machine: &Machine) -> (Workload, Vec<Warning>) {
    import("f.json", text.as_bytes(), &dialect, machine).unwrap_or_else(|e| panic!("{e}"))
}

fn refusal(text: &[u8], machine: &Machine) -> WorkloadError {
    let read = import("f.json", text, &Dialect::default(), machine);
    read.err().unwrap_or_else(|| panic!("was read: {}", String::from_utf8_lossy(text)))
}

fn refused(text: &str) -> String {
    refusal(text.as_bytes(), &machine()).to_string()
}

/// The steps of the only task of a file with `body`, after the start barrier.
fn steps(body: &str) -> Vec<Op> {
    let (w, _) = read(&format!("{{ \"tasks\": {{ \"t\": {{ {body} }} }}, \"global\": {{ \"duration\": 1 }} }}"));
    assert_eq!(w.tasks[0].program[0], Op::BarrierWait(0));
    w.tasks[0].program[1..].to_vec()
}

fn lines(warnings: &[Warning], kind: WarningKind) -> Vec<(usize, &str)> {
    let of_kind = warnings.iter().filter(|w| w.kind == kind);
    of_kind.map(|w| (w.at.as_ref().map_or(0, |at| at.line), w.subject.as_str())).collect()
}

const MS: u64 = 1_000_000;

fn run(ms: u64) -> Op {
    Op::Run(Amount::fixed(ms * MS))
}

fn forever(end: u32) -> Op {
    Op::Loop { times: None, end }
}

#[test]
fn a_task_without_phases_and_loop_runs_for_ever() {
    let timer = Op::TimerWait { timer: 1, period_ns: 100 * MS, relative: true };
    let expected = [forever(5), run(10), timer, Op::EndLoop { begin: 1 }];
    assert_eq!(steps(r#""run": 10000, "timer": { "ref": "unique", "period": 100000 }"#), expected);
}

#[test]
fn loop_of_a_task_without_phases_is_its_phases() {
    let expected = [Op::Loop { times: Some(3), end: 4 }, run(1), Op::EndLoop { begin: 1 }];
    assert_eq!(steps(r#""loop": 3, "run": 1000"#), expected);
    assert_eq!(steps(r#""loop": -1, "run": 1000"#)[0], forever(4));
}

#[test]
fn phases_loop_inside_the_task() {
    let body = r#""loop": 2, "phases": { "a": { "loop": 5, "run": 1000 }, "b": { "sleep": 2000 } }"#;
    let expected = [
        Op::Loop { times: Some(2), end: 7 },
        Op::Loop { times: Some(5), end: 5 },
        run(1),
        Op::EndLoop { begin: 2 },
        Op::Sleep(Amount::fixed(2 * MS)),
        Op::EndLoop { begin: 1 },
    ];
    assert_eq!(steps(body), expected);
    assert_eq!(steps(r#""loop": 0, "phases": { "a": { "run": 1000 } }"#), []);
}

#[test]
fn a_phase_with_loop_zero_runs_for_ever() {
    let text = "{ \"tasks\": { \"t\": { \"loop\": 1, \"phases\": {\n\"a\": {\n\"loop\": 0, \"run\": 1 },\n\"b\": { \"run\": 2 } } } },\n\"global\": { \"duration\": 1 } }";
    let (w, warnings) = read(text);
    let work = |us: u64| Op::Run(Amount::fixed(us * 1000));
    assert_eq!(w.tasks[0].program[1..], [forever(4), work(1), Op::EndLoop { begin: 1 }]);
    assert_eq!(lines(&warnings, WarningKind::Suspicious), [(2, "t"), (3, "loop")]);
}

#[test]
fn prefixes_make_events_and_the_longer_word_wins() {
    let words =
        [("run0", "run"), ("runtimeX", "runtime"), ("memrun1", "memrun"), ("memory", "mem"), ("sem_post2", "sem_post")];
    for (key, word) in words {
        assert_eq!(event::word_of(key), Some(word));
    }
    assert_eq!(event::word_of("xrun"), None);
    for ours in EXTENSIONS {
        assert!(!EVENTS.iter().any(|w| ours.starts_with(w)), "{ours}");
    }
}

#[test]
fn every_event_is_run() {
    let body = r#""loop": 1, "runtime": 2000, "lock": "m", "sync": { "ref": "q", "mutex": "m" }, "broad": "q",
        "signal": "q", "unlock": "m", "sem_post": "s", "sem_wait": "s", "yield": "", "barrier": "b",
        "timerA": { "ref": "clock", "period": 1000, "mode": "absolute" },
        "timerB": { "ref": "clock", "period": 2000 }, "pipe_write": { "ref": "p", "bytes": 8 },
        "pipe_read": { "ref": "p", "bytes": 8 }, "socket_send": { "ref": "p", "bytes": 9 },
        "socket_recv": { "ref": "p", "bytes": 9 }, "execve": 1, "mem": 10000000, "iorun": 8388608, "mark": "op""#;
    // Objects in order of appearance: 0 start, 1 m, 2 q, 3 s, 4 b, 5 clock, 6 pipe p, 7 socket p.
    let expected = [
        Op::RunWall(Amount::fixed(2 * MS)),
        Op::Lock(1),
        Op::Signal(2),
        Op::CondWait { cond: 2, mutex: Some(1) },
        Op::Broadcast(2),
        Op::Signal(2),
        Op::Unlock(1),
        Op::SemPost(3),
        Op::SemWait(3),
        Op::Yield,
        Op::BarrierWait(4),
        // `absolute` belongs to the timer, so it holds for both.
        Op::TimerWait { timer: 5, period_ns: MS, relative: false },
        Op::TimerWait { timer: 5, period_ns: 2 * MS, relative: false },
        Op::PipeWrite { pipe: 6, bytes: 8 },
        Op::PipeRead { pipe: 6, bytes: 8 },
        Op::SockSend { sock: 7, bytes: 9 },
        Op::SockRecv { sock: 7, bytes: 9 },
        Op::Exec,
        // 10 MB at 10 GB/s; two buffers of 4 MiB.
        run(1),
        Op::Run(Amount::fixed(600)),
        Op::Mark(Mark::Op),
    ];
    assert_eq!(steps(body), expected);
}

#[test]
fn suspend_waits_for_the_own_name_and_resume_wakes_all() {
    let text = "{ \"tasks\": { \"a\": { \"loop\": 1, \"suspend\", \"run\": 1000 },\n\"b\": { \"loop\": 1, \"suspend\": \"a\" },\n\"c\": { \"loop\": 1, \"resume\": \"a\",\n\"resume\": \"nobody\" } } }";
    let (w, warnings) = read(text);
    // Objects: 0 start, 1 and 2 mutex and condition of `a`, 3 and 4 of `b`, 5 and 6 of `nobody`.
    let suspend = |m, c| vec![Op::Lock(m), Op::CondWait { cond: c, mutex: Some(m) }, Op::Unlock(m)];
    assert_eq!(w.tasks[0].program[1..4], suspend(1, 2));
    assert_eq!(w.tasks[1].program[1..], suspend(3, 4));
    assert_eq!(w.tasks[2].program[1..4], [Op::Lock(1), Op::Broadcast(2), Op::Unlock(1)]);
    let suspicious = lines(&warnings, WarningKind::Suspicious);
    // b's string is ignored and no task resumes b; line 4 resumes `nobody`, for which no task waits.
    assert_eq!(suspicious, [(2, "suspend"), (2, "b-1"), (4, "resume")]);
    let named = Dialect { named_suspend: true, ..Dialect::default() };
    assert_eq!(read_as(text, named).0.tasks[1].program[1..], suspend(1, 2));
}

#[test]
fn duplicates_all_count_unless_the_last_wins() {
    let text = "{ \"tasks\": { \"t\": { \"loop\": 1,\n\"run\": 1000,\n\"sleep\": 1000,\n\"run\": 3000 },\n\"t\": { \"loop\": 1, \"run\": 7000 } } }";
    let sleep = Op::Sleep(Amount::fixed(MS));
    let (w, warnings) = read(text);
    assert_eq!(w.tasks[0].program[1..], [run(1), sleep.clone(), run(3)]);
    assert_eq!((w.tasks[1].name.as_str(), &w.tasks[1].program[1..]), ("t1-1", &[run(7)][..]));
    assert_eq!(warnings, []);
    let one_task = text.replace("\"t\": { \"loop\": 1, \"run\": 7000 }", "");
    let (w, warnings) = read_as(&one_task, Dialect { last_wins: true, ..Dialect::default() });
    assert_eq!(w.tasks[0].program[1..], [run(3), sleep]);
    assert_eq!(lines(&warnings, WarningKind::Ignored), [(2, "run")]);
}

#[test]
fn threads_are_numbered_over_the_file_and_start_together() {
    let text = r#"{ "tasks": { "first": { "instance": 2, "loop": 1, "run": 1 }, "child": { "instance": 0, "loop": 1,
        "run": 1 }, "a_very_long_name": { "delay": 5000, "loop": 1, "fork": "child", "run": 1 } } }"#;
    let (w, warnings) = read(text);
    let names: Vec<&str> = w.tasks.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["first-0", "first-1", "a_very_long_nam", "child-fork"]);
    assert_eq!(w.objects, [Object::Barrier { parties: 3 }]);
    assert_eq!(w.start.len(), 3);
    let us = Op::Run(Amount::fixed(1000));
    let spawn = Op::Spawn { spec: 3, count: 1, thread: true };
    assert_eq!(*w.tasks[2].program, [Op::BarrierWait(0), Op::SleepUntil(5 * MS), spawn, us.clone()]);
    assert_eq!(*w.tasks[3].program, [us]);
    assert_eq!(warnings, []);
}

#[test]
fn barriers_wait_for_the_instances_of_all_their_tasks() {
    let text = r#"{ "tasks": { "a": { "instance": 3, "loop": 1, "barrier": "B", "barrier2": "B" },
        "b": { "loop": 1, "barrier": "B" } } }"#;
    assert_eq!(read(text).0.objects[1], Object::Barrier { parties: 4 });
}

#[test]
fn work_is_counted_at_the_speed_of_the_calibration_cpu() {
    let text = |calibration: &str| {
        format!(
            r#"{{ "tasks": {{ "t": {{ "loop": 1, "run": 1000 }} }}, "global": {{ "calibration": {calibration} }} }}"#
        )
    };
    let work = |calibration: &str| read(&text(calibration)).0.tasks[0].program[1].clone();
    assert_eq!(work("\"CPU0\""), run(1));
    assert_eq!(work("\"CPU3\""), Op::Run(Amount::fixed(MS / 2)));
    assert_eq!(work("128"), run(1));
    assert_eq!(read(&text("128")).1[0].kind, WarningKind::Approximated);
    assert_eq!(refused(&text("\"CPU4\"")), "f.json:1:76: `calibration` names CPU 4, which the machine lacks");
}

#[test]
fn cpus_revert_and_priorities_stay() {
    let body = r#""cpus": [0], "priority": 5, "loop": -1, "phases": {
        "a": { "cpus": [1, 2], "priority": -5, "util_min": 100, "run": 1000 },
        "b": { "run": 2000 },
        "c": { "policy": "SCHED_FIFO", "run": 3000 } }"#;
    let attr = |policy, nice, rt_priority, uclamp_min| {
        Op::SetAttr(SchedAttr { policy, nice, rt_priority, uclamp_min, ..SchedAttr::default() })
    };
    let expected = [
        forever(11),
        Op::SetAffinity(CpuMask::parse_list("1-2").unwrap()),
        // Also after c: rt-app remembers that a's policy was SCHED_OTHER when it first ran.
        attr(Policy::Other, -5, 0, 100),
        run(1),
        Op::SetAffinity(CpuMask::single(0)),
        run(2),
        attr(Policy::Fifo, -5, 10, 100),
        run(3),
        Op::EndLoop { begin: 1 },
    ];
    assert_eq!(steps(body), {
        let mut e = expected.to_vec();
        e[0] = forever(10);
        e
    });
}

#[test]
fn the_first_round_is_written_out_where_it_differs() {
    let body =
        r#""loop": 3, "phases": { "a": { "util_min": 10, "run": 1000 }, "b": { "util_max": 500, "run": 2000 } }"#;
    let attr = |uclamp_min, uclamp_max| Op::SetAttr(SchedAttr { uclamp_min, uclamp_max, ..SchedAttr::default() });
    let expected = [
        attr(10, 1024),
        run(1),
        attr(10, 500),
        run(2),
        Op::Loop { times: Some(2), end: 9 },
        run(1),
        run(2),
        Op::EndLoop { begin: 5 },
    ];
    assert_eq!(steps(body), expected);
}

#[test]
fn slices_last_until_they_are_taken_back() {
    let body = r#""slice": 500, "loop": 2, "phases": {
        "a": { "run": 1000 }, "b": { "slice": 100000, "run": 2000 }, "c": { "slice": 0, "run": 3000 } }"#;
    let slice = |us: u64| Op::SetAttr(SchedAttr { slice_ns: us * 1000, ..SchedAttr::default() });
    let round = [run(1), slice(100_000), run(2), slice(0), run(3)];
    assert_eq!(steps(body)[1..6], round);
    let (w, warnings) = read(&format!("{{ \"tasks\": {{ \"t\": {{ {body} }} }} }}"));
    assert_eq!((w.tasks[0].attr.slice_ns, warnings.len()), (500_000, 0));
}

#[test]
fn what_is_not_run_is_named_with_its_line() {
    let text = "{ \"tasks\": { \"t\": {\n\n\"nodes_membind\": [0],\n\"dl-period\": 5,\n\"lop\": 3,\n\"exec\": 5,\n\"run\": 1 } },\n\"global\": {\n\"duration\": 1,\n\"logdir\": \"/\",\n\"durations\": 1,\n\"pi_enabled\": true,\n\"ftrace\": \"run\" },\n\"extra\": 1 } trailing";
    let (_, warnings) = read(text);
    let ignored = lines(&warnings, WarningKind::Ignored);
    let expected = [
        (3, "nodes_membind"),
        (4, "dl-period"),
        (5, "lop"),
        (6, "exec"),
        (11, "durations"),
        (12, "pi_enabled"),
        (14, "extra"),
        (14, "end of file"),
    ];
    assert_eq!(ignored, expected);
    assert_eq!(lines(&warnings, WarningKind::NoEffect), [(10, "logdir"), (13, "ftrace")]);
    assert_eq!(lines(&warnings, WarningKind::Suspicious), [(13, "ftrace")]);
    let lop = warnings.iter().find(|w| w.subject == "lop").unwrap().to_string();
    assert!(lop.starts_with("f.json:5:1: `lop`: ") && lop.ends_with("did you mean `loop`?"), "{lop}");
}

/// rt-app is not blamed for the default of an event that it does not have.
#[test]
fn an_object_without_a_name_is_told_with_who_takes_what_for_it() {
    let body = "\"timer\": { \"period\": 5 },\n\"serial\": { \"hold\": 1 }";
    let (_, warnings) =
        read(&format!("{{ \"tasks\": {{ \"t\": {{\n{body} }} }}, \"global\": {{ \"duration\": 1 }} }}"));
    let of = |subject| warnings.iter().find(|w| w.subject == subject).expect("a warning").message.as_str();
    assert_eq!(of("timer"), "has no `ref`; rt-app then takes the name \"unknown\"");
    assert_eq!(of("serial"), "has no `ref`; it shares the object \"unknown\" with all that have none");
}

#[test]
fn mistakes_are_refused_with_their_place() {
    let task = |body: &str| format!("{{ \"tasks\": {{ \"t\": {{\n{body} }} }} }}");
    let group_file = |file: &str, value: &str| {
        format!("{{ \"tasks\": {{ \"t\": {{ \"run\": 1 }} }},\n\"cgroups\": {{ \"/a\": {{ \"{file}\": {value} }} }} }}")
    };
    let cases = [
        (task("\"policy\": \"SCHED_DEADLINE\", \"run\": 1"), "f.json:2:11: `policy` is SCHED_DEADLINE, which"),
        (task("\"policy\": \"SCHED_FIF\", \"run\": 1"), "f.json:2:11: unknown policy `SCHED_FIF`"),
        (task("\"lock_pages\": true, \"run\": 1"), "f.json:2:1: `lock_pages` in a task"),
        (task("\"run\": \"1\""), "f.json:2:8: `run` has a string"),
        (task("\"run\": -1"), "f.json:2:8: `run` is -1, out of range"),
        (task("\"run\": 2147483648"), "f.json:2:8: `run` is 2147483648, out of range"),
        (task("\"run\""), "f.json:2:1: `run` has no value"),
        (task("\"loop\": 5"), "f.json:1:14: `t` has no event"),
        (task("\"phases\": {}"), "f.json:2:11: `phases` is empty"),
        (task("\"cpus\": [4], \"run\": 1"), "f.json:2:10: `cpus` names CPU 4, which the machine lacks"),
        (task("\"priority\": 20, \"run\": 1"), "f.json:2:13: `priority` is 20, out of range for SCHED_OTHER"),
        (task("\"util_min\": 1025, \"run\": 1"), "f.json:2:13: `util_min` is 1025, out of range"),
        (task("\"util_min\": 9, \"util_max\": 8, \"run\": 1"), "f.json:1:1: util_min of `t-0` is 9"),
        (task("\"slice\": 99, \"run\": 1"), "f.json:2:10: `slice` is 99, out of range"),
        (task("\"slice\": 100001, \"run\": 1"), "f.json:2:10: `slice` is 100001, out of range"),
        (task("\"slice\": -1, \"run\": 1"), "f.json:2:10: `slice` is -1, out of range"),
        (task("\"fork\": \"u\""), "f.json:2:1: `fork` names no task: `u`"),
        (task("\"loop\": 1, \"fork\": \"t\""), "f.json:2:12: `t-fork` creates itself without end"),
        (task("\"run\": 1, \"unlock\": \"m\""), "f.json:2:11: `t-0` unlocks mutex 1, which it does not hold"),
        (task("\"yield\": 1"), "f.json:1:14: `t-0` loops for ever without"),
        (
            "{ \"tasks\": { \"t\": { \"run\": 1 } },\n\"cgroups\": { \"/a\": { \"cpu.wieght\": 1 } } }".into(),
            "f.json:2:22: no file `cpu.wieght`",
        ),
        (
            "{ \"tasks\": { \"t\": { \"run\": 1 } },\n\"cgroups\": { \"/a\": { \"cpu.max\": [1] } } }".into(),
            "f.json:2:33: `cpu.max` has",
        ),
        (group_file("cpu.uclamp.min", "65536"), "f.json:2:40: `cpu.uclamp.min` is 65536"),
        (group_file("cpu.uclamp.max", "\"most\""), "f.json:2:40: `cpu.uclamp.max` is most"),
        (group_file("cpu.weight", "0"), "f.json:2:36: `cpu.weight` is 0"),
        (group_file("cpu.weight.nice", "20"), "f.json:2:41: `cpu.weight.nice` is 20"),
        (group_file("cpu.idle", "2"), "f.json:2:34: `cpu.idle` is 2"),
        (group_file("cpu.max", "999"), "f.json:2:33: `cpu.max` is 999"),
        (group_file("cpu.max", "\"max 1000001\""), "f.json:2:33: `cpu.max` is max 1000001"),
        (group_file("cpu.max", "\"5000 10000 1\""), "f.json:2:33: `cpu.max` is 5000 10000 1"),
        (group_file("cpu.max.burst", "-1"), "f.json:2:39: `cpu.max.burst` is -1"),
        (
            "{ \"tasks\": { \"t\": { \"run\": 1 } },\n\"cgroups\": { \"/\": { \"cpu.max\": \"max\" } } }".into(),
            "f.json:2:14: the root group",
        ),
        (task("\"cgroup\": { \"ref\": \"/a\" }"), "f.json:2:11: `cgroup` writes nothing"),
        (task("\"cgroup\": { \"cpu.uclamp.min\": 1 }"), "f.json:2:11: `cgroup` names no group"),
        (task("\"cgroup\": { \"ref\": \"/\", \"cpu.uclamp.min\": 1 }"), "f.json:2:11: `cgroup` names no group"),
        (task("\"cgroup\": { \"ref\": \"/a\", \"cpu.uclamp.min\": 101 }"), "f.json:2:44: `cpu.uclamp.min` is 101"),
        (task("\"taskgroup\": \"/a//b\", \"run\": 1"), "f.json:2:14: `/a//b` is not a task group path"),
        (task("\"taskgroup\": \"a\", \"run\": 1"), "f.json:2:14: `a` is not a task group path"),
        (task("\"instance\": 1000001, \"run\": 1"), "f.json:1:14: with `t` there are 1000001 threads"),
        (task("\"instance\": 0, \"run\": 1"), "f.json:1:1: it starts no thread"),
        ("{ \"global\": {} }".into(), "f.json:1:1: no `tasks` in the file"),
        ("{ \"global\": {},\n \"task\": {} }".into(), "f.json:2:2: no `tasks` in the file"),
        ("{ \"global\": {},\n \"Tasks\": {} }".into(), "f.json:2:2: no `tasks` in the file"),
        ("{ \"xyz\": {} }".into(), "f.json:1:1: no `tasks` in the file"),
        ("[]".into(), "f.json:1:1: the file is a list"),
        ("{ \"tasks\" : 3 }".into(), "f.json:1:13: `tasks` is a whole number"),
        ("{ \"tasks\": {}, ".into(), "f.json:1:16: the text ends too early"),
    ];
    for (text, expected) in cases {
        let message = refused(&text);
        assert!(message.starts_with(expected), "{text}\n{message}\n{expected}");
    }
    let bytes = b"{ \"tasks\":\n \xff }";
    let e = refusal(bytes, &machine());
    assert_eq!(e.to_string(), "f.json:2:2: not UTF-8: byte 0xff");
}

#[test]
fn a_misspelt_event_is_told_where_it_is_the_only_one() {
    let error = refusal(b"{ \"tasks\": { \"t\": { \"rnu\": 5 } } }", &machine());
    let help = miette::Diagnostic::help(&error).expect("help").to_string();
    assert!(help.starts_with("`rnu`: did you mean `run`? events are "), "{help}");
}

#[test]
fn a_files_duration_can_be_replaced() {
    let text = r#"{ "tasks": { "t": { "run": 1 } }, "global": { "duration": 5 } }"#;
    assert_eq!(read(text).0.duration_ns, Some(5_000 * MS));
    let dialect = Dialect { duration_ns: Some(MS), ..Dialect::default() };
    assert_eq!(read_as(text, dialect).0.duration_ns, Some(MS));
}

#[test]
fn a_task_that_nothing_ends_is_pointed_at() {
    let text = "{ \"tasks\": { \"s\": { \"run\": 1, \"loop\": 1 },\n  \"t\": { \"run\": 1 } } }";
    let (w, warnings) = read(text);
    assert_eq!(w.duration_ns, None);
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert_eq!(warning.kind, WarningKind::NeverEnds);
    assert!(warning.to_string().starts_with("f.json:2:3: `t-1`: loops for ever"), "{warning}");
}

fn json_files(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            json_files(&path, into);
        } else if path.extension().is_some_and(|e| e == "json") {
            into.push(path);
        }
    }
    into.sort();
}

/// The files of Debian's package rt-app. Those in merge/ are parts of a file in the grammar of 2009, which rt-app
/// refuses too.
#[test]
fn rt_apps_own_examples_are_read() {
    let mut files = Vec::new();
    json_files(Path::new("/usr/share/doc/rt-app/examples"), &mut files);
    if files.is_empty() {
        eprintln!("SKIPPED: package rt-app is not installed, its examples were not read");
        return;
    }
    let machine = small_machine(8);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        json::parse(&text).unwrap_or_else(|e| panic!("{}: {e:?}", file.display()));
        let result = import(&file.to_string_lossy(), text.as_bytes(), &Dialect::default(), &machine);
        let is_part = file.parent().is_some_and(|p| p.ends_with("merge"));
        match result {
            Ok((w, _)) => assert!(!is_part && !w.tasks.is_empty(), "{}", file.display()),
            Err(e) => assert!(is_part && matches!(e, WorkloadError::File(_)), "{e}"),
        }
    }
}

#[test]
fn the_files_we_ship_are_read_without_suspicion() {
    let mut files = Vec::new();
    json_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads"), &mut files);
    assert!(files.len() >= 3);
    let machine = Machine::preset("hikey960").unwrap();
    for file in files {
        let (w, warnings) = Workload::find(&file.to_string_lossy(), &machine).unwrap();
        assert_eq!(lines(&warnings, WarningKind::Suspicious), [], "{}", w.name);
        assert_eq!(lines(&warnings, WarningKind::Ignored), [], "{}", w.name);
        let again = format!("{}:duration=0.5,last-wins", file.display());
        assert_eq!(Workload::find(&again, &machine).unwrap().0.duration_ns, Some(500 * MS));
    }
}

const SAMPLE: &str = include_str!("../../../../workloads/rt-app-tour.json");

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = import("f", &bytes, &Dialect::default(), &machine());
    }

    #[test]
    fn mutated_files_are_read_or_refused(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..12, "[-{}\\[\\]\",:0-9a-z\\\\é]{0,6}"), 1..6),
        last_wins: bool,
    ) {
        let mut text = SAMPLE.to_string();
        for (at, cut, insert) in edits {
            let mut ends = [at.index(text.len()), 0];
            ends[1] = (ends[0] + cut).min(text.len());
            for end in &mut ends {
                while !text.is_char_boundary(*end) {
                    *end -= 1;
                }
            }
            text.replace_range(ends[0]..ends[1], &insert);
        }
        let dialect = Dialect { last_wins, ..Dialect::default() };
        if let Ok(read) = read_text("f", text.as_bytes(), &dialect, &machine()) {
            prop_assert!(read.workload.validate(&machine()).is_ok());
            prop_assert!(read.log.is_some_and(|log| log.fits(&read.workload)));
        }
    }
}

#[test]
fn devices_interrupt_and_post_what_tasks_wait_for() {
    let text = r#"{
        "tasks": { "rx": { "kthread_cpu": 2, "loop": 5, "sem_wait": "packet", "run": 10 } },
        "interrupts": {
            "eth0": { "cpu": 1, "period": 500, "jitter": 100, "busy": 20, "posts": "packet" },
            "noise": { "period": 1000, "busi": 3, "posts": "pocket" }
        }
    }"#;
    let (w, warnings) = read(text);
    let packet = w.objects.iter().position(|o| matches!(o, Object::Semaphore { .. })).map(|i| i as u32);
    let eth0 = IrqSource {
        name: "eth0".into(),
        cpu: 1,
        period: Amount { base: 500_000, jitter: 100_000 },
        busy: Amount::fixed(20_000),
        posts: packet,
    };
    assert!(packet.is_some());
    assert_eq!(w.irqs[0], eth0);
    assert_eq!((w.irqs[1].cpu, w.irqs[1].posts), (0, None));
    assert_eq!((w.tasks[0].kthread_cpu, w.tasks[0].affinity), (Some(2), Some(CpuMask::single(2))));
    assert_eq!(lines(&warnings, WarningKind::Ignored), [(5, "busi")]);
    assert_eq!(lines(&warnings, WarningKind::Suspicious), [(5, "noise")]);
}

#[test]
fn slack_is_how_much_later_sleeps_may_end() {
    let slack =
        |word: &str| read(&format!(r#"{{ "tasks": {{ "t": {{ {word} "sleep": 10 }} }} }}"#)).0.tasks[0].timer_slack_ns;
    assert_eq!([r#""#, r#""slack": 0,"#, r#""slack": 1500,"#].map(slack), [TIMER_SLACK_NS, 0, 1_500_000]);
    assert!(refused(r#"{ "tasks": { "t": { "slack": -1, "sleep": 10 } } }"#).contains("`slack`"));
}

fn capped(caps: &str) -> String {
    format!(r#"{{ "tasks": {{ "t": {{ "run": 1, "loop": 1 }} }}, "thermal_caps": {caps} }}"#)
}

/// The machine has one clock for CPUs 0 to 3.
fn own_clock_for_cpu_3() -> Machine {
    let mut machine = machine();
    let opp = |khz| fairground_machine::Opp::new(khz, 1.0);
    let mut other = machine.freq_domains[0].clone();
    (machine.freq_domains[0].cpus, other.cpus) = (CpuMask::first_n(3), CpuMask::single(3));
    machine.freq_domains[0].opps = vec![opp(500_000), opp(1_000_000)];
    other.opps = vec![opp(800_000), opp(2_000_000)];
    machine.freq_domains.push(other);
    machine.cpus[3].freq_domain = 1;
    machine
}

#[test]
fn caps_limit_whole_clocks_for_a_while() {
    let text = capped(
        r#"[ { "cpus": "0-2", "max_khz": 700000, "from": 100, "to": 2000 },
             { "cpus": [3], "max_khz": 900000, "by": "hardware", "until": 3 },
             { "cpus": "0-3", "max_khz": 2000000, "by": "user" } ]"#,
    );
    let (w, warnings) = read_on(&text, Dialect::default(), &own_clock_for_cpu_3());
    let cap = |cpus: &str, max_khz, from_ns, to_ns, by| FrequencyCap {
        cpus: CpuMask::parse_list(cpus).unwrap(),
        max_khz,
        from_ns,
        to_ns,
        by,
    };
    let expected = [
        cap("0-2", 700_000, 100_000, Some(2_000_000), CapSource::Cooling),
        cap("3", 900_000, 0, None, CapSource::Hardware),
        cap("0-3", 2_000_000, 0, None, CapSource::User),
    ];
    assert_eq!(w.frequency_caps, expected);
    assert_eq!(lines(&warnings, WarningKind::Ignored), [(2, "until")]);
    assert_eq!(lines(&warnings, WarningKind::Suspicious), [(3, "max_khz")]);
}

#[test]
fn caps_that_cannot_be_say_what_can() {
    let error = |cap: &str| {
        let text = capped(&format!("[ {cap} ]"));
        let e = refusal(text.as_bytes(), &own_clock_for_cpu_3());
        let WorkloadError::File(e) = e else { panic!("{e}") };
        format!("{e}; {}", e.help.as_deref().unwrap_or_default())
    };
    assert!(error(r#"{ "cpus": "0-1", "max_khz": 600000 }"#).contains("CPUs 0-1 leaves out CPUs 2, which share"));
    let low = error(r#"{ "cpus": "0-3", "max_khz": 600000 }"#);
    assert!(low.contains("CPUs 3 cannot run at 600000 kHz: their lowest operating point is 800000 kHz"), "{low}");
    assert!(error(r#"{ "cpus": "2-4", "max_khz": 800000 }"#).contains("CPU 4, but the machine has 0 to 3"));
    assert!(error(r#"{ "cpus": "", "max_khz": 800000 }"#).contains("number of CPUs"));
    assert!(error(r#"{ "cpus": "3-", "max_khz": 800000 }"#).contains("`cpus` has `3-`"));
    let backwards = error(r#"{ "cpus": [3], "max_khz": 800000, "from": 5, "to": 5 }"#);
    assert!(backwards.contains("CPUs 3 lasts from 5000 to 5000 ns; let it end after"), "{backwards}");
    assert!(error(r#"{ "cpus": [3], "max_khz": 800000, "by": "colling" }"#).contains("did you mean `cooling`?"));
    assert!(error(r#"{ "cpus": [3] }"#).contains("without `cpus` or `max_khz`"));
    assert!(refused(&capped("{}")).contains("`thermal_caps`"));
    assert!(refused(&capped("[ 3 ]")).contains("a cap is"));
}

#[test]
fn a_device_needs_a_period_and_a_kernel_thread_one_cpu() {
    let with = |task: &str, device: &str| {
        format!(
            r#"{{ "tasks": {{ "t": {{ {task} "run": 1, "loop": 1 }} }}, "interrupts": {{ "d": {{ {device} }} }} }}"#
        )
    };
    assert!(refused(&with("", r#""cpu": 1"#)).contains("device `d` has no `period`"));
    assert!(refused(&with("", r#""period": 0"#)).contains("period"));
    assert!(refused(&with("", r#""period": 10, "cpu": 4"#)).contains("cpu"));
    assert!(refused(&with(r#""kthread_cpu": 1, "cpus": [1],"#, r#""period": 10"#)).contains("`cpus` beside"));
    assert!(refused(&with(r#""kthread_cpu": 9,"#, r#""period": 10"#)).contains("kthread_cpu"));
}

#[test]
fn threads_are_born_into_their_task_groups() {
    let (w, warnings) = read(
        r#"{ "cgroups": { "/a": { "cpu.weight": 300, "cpu.max": "50000 100000" } }, "tasks": {
        "in_a": { "taskgroup": "/a", "run": 1 },
        "deeper": { "phases": { "p": { "taskgroup": "/b/c", "run": 1 }, "q": { "taskgroup": "/b/c/", "run": 1 } } },
        "root": { "taskgroup": "/", "run": 1 }, "none": { "run": 1 } } }"#,
    );
    assert_eq!(w.tasks.iter().map(|t| t.group).collect::<Vec<_>>(), [Some(0), Some(2), None, None]);
    let group = |path: &str, parent, files| TaskGroup { path: path.into(), parent, files, cpus: None };
    let settings = [("cpu.weight", "300"), ("cpu.max", "50000 100000")].map(|(f, v)| (f.into(), v.into()));
    let expected = [group("/a", None, settings.into()), group("/b", None, vec![]), group("/b/c", Some(1), vec![])];
    assert_eq!(w.groups, expected);
    assert_eq!(lines(&warnings, WarningKind::Ignored), []);
}

#[test]
fn tasks_are_threads_of_the_process_that_they_name() {
    let (w, warnings) = read(
        r#"{ "tasks": {
        "x": { "process": "web", "instance": 2, "run": 1 },
        "y": { "run": 1 }, "z": { "process": "db", "run": 1 }, "v": { "process": "web", "run": 1 }, "u": { "run": 1 } } }"#,
    );
    assert_eq!(w.start.iter().map(|s| s.process).collect::<Vec<_>>(), [0, 0, 1, 2, 0, 1]);
    assert_eq!(lines(&warnings, WarningKind::Ignored), []);
    let with = |keys: &str| refused(&format!(r#"{{ "tasks": {{ "t": {{ {keys} "run": 1 }} }} }}"#));
    assert!(with(r#""process": 3,"#).contains("process"));
    assert!(with(r#""process": "a", "kthread_cpu": 1,"#).contains("`process` beside `kthread_cpu`"));
}

/// 38.87 % is 398 of 1024, what mail 003 caps tasks at. The group comes into being as it is named.
#[test]
fn clamps_of_groups_change_where_a_thread_says_so() {
    let (w, warnings) = read(
        r#"{ "tasks": { "t": { "loop": 1, "run": 1,
        "cgroup": { "ref": "/a/b", "cpu.uclamp.max": "38.87", "cpu.uclamp.min": 5 },
        "cgroup2": { "ref": "/a", "cpu.uclamp.min": "max", "cpu.shares": 3 } } } }"#,
    );
    let new =
        |group, clamp, hundredths| Op::SetGroupClamp(GroupClamp { group, clamp, value: ClampPercent { hundredths } });
    let expected = [new(1, Clamp::Min, 500), new(1, Clamp::Max, 3887), new(0, Clamp::Min, 10_000)];
    let written: Vec<&Op> = w.tasks[0].program.iter().filter(|op| matches!(op, Op::SetGroupClamp(_))).collect();
    assert_eq!(written, expected.iter().collect::<Vec<_>>());
    assert_eq!(w.groups.iter().map(|g| g.path.as_str()).collect::<Vec<_>>(), ["/a", "/a/b"]);
    assert_eq!(lines(&warnings, WarningKind::Ignored), [(3, "cpu.shares")]);
}

#[test]
fn a_phase_that_would_move_its_thread_to_another_group_is_named() {
    let (w, warnings) = read(
        r#"{ "tasks": { "t": { "taskgroup": "/a", "phases": {
        "p": { "run": 1 },
        "q": { "taskgroup": "/b", "run": 1 } } } } }"#,
    );
    assert_eq!(w.tasks[0].group, Some(0));
    assert_eq!(lines(&warnings, WarningKind::Ignored), [(3, "taskgroup")]);
}

#[test]
fn words_that_measure_and_meet_are_steps_of_their_own() {
    let body = r#""loop": 1, "stamp": "a", "sample": { "ref": "a" }, "sample2": { "since": "birth", "tally": "sum" },
        "sample3": { "since": "call" }, "conclude": "sum", "enlist": "r", "call_listed": "r", "await_listed": "r",
        "serial": { "ref": "fs", "hold": 7, "lines": 2 }, "pipe_poll": "p", "socket_poll": "p", "reap": "one",
        "reap2": "all""#;
    let (w, _) = read(&format!(r#"{{ "tasks": {{ "t": {{ {body} }} }}, "global": {{ "duration": 1 }} }}"#));
    // Objects in order of appearance: 0 start, 1 a, 2 sum, 3 r, 4 fs, 5 pipe p, 6 socket p.
    let to = Report::Series(0);
    let expected = [
        Op::Stamp(1),
        Op::Sample { since: Since::Stamp(1), to },
        Op::Sample { since: Since::Birth, to: Report::Tally(2) },
        Op::Sample { since: Since::Call, to },
        Op::Conclude(2),
        Op::Enlist(3),
        Op::CallListed(3),
        Op::AwaitListed(3),
        Op::Serial { lock: 4, hold: Amount::fixed(7000), lines: 2 },
        Op::Poll(5),
        Op::Poll(6),
        Op::WaitChild,
        Op::WaitChildren,
    ];
    assert_eq!(w.tasks[0].program[1..], expected);
    assert_eq!(w.series.len(), 1);
    let kinds = ["barrier", "stamp", "tally", "roster", "ticket lock", "pipe", "socket"];
    assert_eq!(w.objects.iter().map(Object::kind).collect::<Vec<_>>(), kinds);
}

#[test]
fn floors_are_drawn_with_weights_or_evenly() {
    let body = r#""loop": 1, "stamp_call": "a", "draw_clamp": { "util_min": [6, 512], "weight": [1, 3] },
        "draw_clamp2": { "util_min": [0, 1024] }"#;
    let (w, _) = read(&format!(r#"{{ "tasks": {{ "t": {{ {body} }} }}, "global": {{ "duration": 1 }} }}"#));
    let odds = |of: [(u16, u32); 2]| of.map(|(uclamp_min, weight)| ClampOdds { uclamp_min, weight });
    let draw = |of| Op::DrawUclampMin(odds(of).into());
    assert_eq!(w.tasks[0].program[1..], [Op::StampCall(1), draw([(6, 1), (512, 3)]), draw([(0, 1), (1024, 1)])]);
    for (value, message) in [
        (r#"{ }"#, "has 0 floors and 0 weights"),
        (r#"{ "util_min": [1, 2], "weight": [1] }"#, "has 2 floors and 1 weights"),
        (r#"{ "util_min": [1025] }"#, "`util_min` has 1025, which is out of range"),
        (r#"{ "util_min": [1], "weight": [0] }"#, "`weight` has 0, which is out of range"),
    ] {
        let text = format!(r#"{{ "tasks": {{ "t": {{ "draw_clamp": {value}, "run": 1 }} }} }}"#);
        assert!(refused(&text).contains(message), "{value}: {}", refused(&text));
    }
}

#[test]
fn a_sample_that_counts_from_nowhere_or_from_two_instants_is_refused() {
    for (event, message) in [
        (r#""sample": { }"#, "does not say which stamp"),
        (r#""sample": { "ref": "a", "since": "call" }"#, "names a stamp and counts from something else"),
        (r#""sample": { "since": "brith" }"#, "unknown instant `brith`"),
        (r#""reap": "some""#, "unknown number of children `some`"),
    ] {
        let text = format!(r#"{{ "tasks": {{ "t": {{ {event} }} }} }}"#);
        let error = refused(&text);
        assert!(error.contains(message), "{event}: {error}");
    }
}

/// Linux 6.12 takes the runtime of a fair thread for its slice, 0.1 to 100 ms; 0 takes it back.
#[test]
fn the_runtime_of_a_fair_policy_is_a_slice() {
    let body = r#""dl-runtime": 500, "loop": 1, "phases": { "a": { "run": 1000 }, "b": { "dl-runtime": 200000, "run": 2000 },
        "c": { "dl-runtime": 0, "run": 3000 } }"#;
    let slice = |us: u64| Op::SetAttr(SchedAttr { slice_ns: us * 1000, ..SchedAttr::default() });
    assert_eq!(steps(body)[..5], [run(1), slice(100_000), run(2), slice(0), run(3)]);
    let (w, warnings) = read(&format!("{{ \"tasks\": {{ \"t\": {{ {body} }} }} }}"));
    assert_eq!(w.tasks[0].attr.slice_ns, 500_000);
    assert_eq!(lines(&warnings, WarningKind::Approximated), [(1, "dl-runtime")]);
    let fifo = r#"{ "tasks": { "t": { "policy": "SCHED_FIFO", "dl-runtime": 500, "run": 1, "loop": 1 } } }"#;
    let (w, warnings) = read(fifo);
    assert_eq!((w.tasks[0].attr.slice_ns, lines(&warnings, WarningKind::Ignored)), (0, vec![(1, "dl-runtime")]));
}

#[test]
fn the_log_has_the_rounds_of_phases_with_what_they_ask_for() {
    let text = r#"{ "tasks": { "t": { "instance": 2, "loop": 1, "phases": {
        "a": { "loop": 2, "run": 3000, "suspend": "", "timer": { "ref": "x", "period": 9 } }, "b": { "runtime": 7 } } } },
        "global": { "calibration": 10, "log_basename": "x", "cumulative_slack": true } }"#;
    let RtappFile { log, warnings, .. } = read_text("f", text.as_bytes(), &Dialect::default(), &machine()).unwrap();
    let log = log.unwrap();
    assert_eq!((log.basename.as_str(), log.sums_slack, log.threads.len()), ("x", true, 2));
    assert!(log.threads.iter().all(|t| t.task == "t" && !t.forked && t.rounds == [Some(2), Some(1)]));
    let step = |phase, begins, event| LoggedStep { phase, begins, event };
    let other = LoggedEvent::Other;
    let expected = [
        step(0, false, other), // start
        step(0, false, other), // loop
        step(1, true, LoggedEvent::Run { us: 3000, perf: 300 }),
        step(1, false, other), // suspend, in three steps
        step(1, false, other),
        step(1, false, other),
        step(1, false, LoggedEvent::Timer { us: 9 }),
        step(0, false, other), // end of the loop
        step(2, true, LoggedEvent::Run { us: 7, perf: 0 }),
    ];
    assert_eq!(*log.threads[1].steps, expected);
    assert!(
        warnings.iter().all(|w| !["log_basename", "cumulative_slack"].contains(&w.subject.as_str())),
        "{warnings:?}"
    );
}

#[test]
fn cpusets_are_set_at_the_start_and_written_by_threads() {
    let file = |section: &str, event: &str| {
        format!(
            r#"{{ "cgroups": {{ "/a": {{ {section} }} }}, "tasks": {{
        "t": {{ "taskgroup": "/a/b", "loop": 1, "run": 1, "cgroup": {{ {event} }} }} }} }}"#
        )
    };
    let mask = |text: &str| CpuMask::parse_list(text).unwrap();
    let (w, warnings) = read(&file(r#""cpuset.cpus": "0-1,3""#, r#""ref": "/a/b", "cpuset.cpus": 3"#));
    assert_eq!(w.groups.iter().map(|g| g.cpus).collect::<Vec<_>>(), [Some(mask("0-1,3")), None]);
    let written: Vec<&Op> = w.tasks[0].program.iter().filter(|op| matches!(op, Op::SetGroupCpus(_))).collect();
    assert_eq!(written, [&Op::SetGroupCpus(GroupCpus { group: 1, cpus: mask("3") })]);
    assert_eq!(lines(&warnings, WarningKind::Ignored), []);
    for bad in [r#""""#, r#""2-9""#, r#""3-1""#, r#""all""#, "[0]"] {
        assert!(refused(&file(&format!(r#""cpuset.cpus": {bad}"#), "")).contains("cpuset.cpus"), "{bad}");
        let event = format!(r#""ref": "/a", "cpuset.cpus": {bad}"#);
        assert!(refused(&file("", &event)).contains("cpuset.cpus"), "{bad}");
    }
    assert!(refused(&file("", r#""ref": "/", "cpuset.cpus": "0""#)).contains("names no group"));
}

#[test]
fn cpus_go_offline_and_come_back() {
    let file = |spans: &str| format!(r#"{{ "tasks": {{ "t": {{ "run": 1, "loop": 1 }} }}, "offline": {spans} }}"#);
    let (w, warnings) =
        read(&file(r#"[ { "cpus": "1-2", "from": 20000, "to": 30000 }, { "cpus": [3], "from": 40000 } ]"#));
    let span = |cpus: &str, from_ns, to_ns| OfflineSpan { cpus: CpuMask::parse_list(cpus).unwrap(), from_ns, to_ns };
    assert_eq!(w.offline, [span("1-2", 20_000_000, Some(30_000_000)), span("3", 40_000_000, None)]);
    assert_eq!(lines(&warnings, WarningKind::Ignored), []);
    let (_, warnings) = read(&file(r#"[ { "cpus": "1", "from": 20000, "two": 30000 } ]"#));
    assert_eq!(lines(&warnings, WarningKind::Ignored).len(), 1, "{warnings:?}");
    for (bad, words) in [
        ("{}", "`offline` has an object"),
        (r#"[ { "cpus": "1" } ]"#, "without `cpus` or `from`"),
        (r#"[ { "cpus": "one", "from": 20000 } ]"#, "`one`"),
        (r#"[ { "cpus": "1", "from": 5 } ]"#, "before 10000 us"),
        (r#"[ { "cpus": "0-3", "from": 20000 } ]"#, "all others already are"),
        (r#"[ { "cpus": "1", "from": 20000 }, { "cpus": "1", "from": 30000 } ]"#, "already are"),
    ] {
        assert!(refused(&file(bad)).contains(words), "{bad}: {}", refused(&file(bad)));
    }
}

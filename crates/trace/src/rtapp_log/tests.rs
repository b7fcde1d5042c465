//! Small files on a machine where nothing but the work takes time: every figure can be worked out by hand.

use std::io::BufReader;

use fairground_sim::testing::{engine, machine};
use fairground_sim::Config;
use fairground_workload::rtapp::{read_text, Dialect};

use super::*;

/// The log files of a run of `text` on `cpus` CPUs, whose sleeps have no timer slack.
fn spool(text: &str, cpus: u32) -> String {
    spool_with_slack(text, cpus, 0)
}

fn spool_with_slack(text: &str, cpus: u32, slack_ns: u64) -> String {
    let machine = machine(cpus, 1);
    let read = read_text("f.json", text.as_bytes(), &Dialect::default(), &machine).unwrap_or_else(|e| panic!("{e}"));
    let mut workload = read.workload;
    workload.tasks.iter_mut().for_each(|task| task.timer_slack_ns = slack_ns);
    let workload = Arc::new(workload);
    let mut log = RtappLog::new(Vec::new(), Arc::new(read.log.expect("a file of rt-app")), Arc::clone(&workload));
    let config = Config { start_phase: false, ..Config::default() };
    engine(machine, (*workload).clone(), config).run(&mut [&mut log]).unwrap();
    String::from_utf8(log.finish().unwrap()).unwrap()
}

/// The figures of a file, by line.
fn figures(spool: &str, file: &str) -> Vec<Vec<i64>> {
    let own = spool.lines().filter_map(|l| l.split_once('\t')).filter(|(name, _)| *name == file);
    let lines = own.skip(1).map(|(_, line)| line.split_whitespace().map(|n| n.parse().unwrap()).collect());
    lines.collect()
}

fn spool_of(task: &str) -> String {
    spool(&format!(r#"{{ "tasks": {{ "t": {{ {task} }} }}, "global": {{ "calibration": 10 }} }}"#), 1)
}

/// 3 of 10 ms are worked: 7 ms are slack, and the timer is in time. 3000 us of 10 ns a loop: 300 thousand loops.
#[test]
fn a_line_has_the_figures_of_a_round() {
    let spool = spool_of(r#""loop": 2, "run": 3000, "timer": { "ref": "unique", "period": 10000 }"#);
    let head = "#idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat";
    assert_eq!(spool.lines().next(), Some(format!("rt-app-t-0.log\t{head}").as_str()));
    let second = "   0      300     3000    10000           10000           20000           10000       7000       3000      10000          0";
    assert_eq!(spool.lines().nth(2), Some(format!("rt-app-t-0.log\t{second}").as_str()));
    let first = [0, 300, 3000, 10_000, 0, 10_000, 0, 7000, 3000, 10_000, 0];
    assert_eq!(figures(&spool, "rt-app-t-0.log")[0], first);
    assert_eq!(spool.lines().count(), 3);
}

/// The timer of the first round ends 50 us late. That is the second one's wake-up latency, and its period begins then.
#[test]
fn timer_slack_is_wakeup_latency() {
    let text = r#"{ "tasks": { "t": { "loop": 2, "run": 3000, "timer": { "ref": "unique", "period": 10000 } } } }"#;
    let spool = spool_with_slack(text, 1, 50_000);
    let second = &figures(&spool, "rt-app-t-0.log")[1];
    assert_eq!(second[4..], [10_050, 20_050, 10_050, 6950, 3000, 10_000, 50]);
}

/// The second of a phase's timers is missed by 5 ms: slack is the last one's, or the sum; the wake-up latency is none.
#[test]
fn slack_of_a_missed_period_is_negative() {
    let task = r#""loop": 1, "timer": { "ref": "unique", "period": 1000 }, "run": 6000,
        "timer": { "ref": "unique", "period": 1000 }"#;
    let text = |sums: bool| {
        format!(
            r#"{{ "tasks": {{ "t": {{ {task} }} }}, "global": {{ "cumulative_slack": {sums}, "log_basename": "x" }} }}"#
        )
    };
    // `run` of a file that gives no ns per loop counts in us.
    assert_eq!(
        figures(&spool(&text(false), 1), "x-t-0.log"),
        [[0, 6000, 6000, 7000, 0, 7000, 0, -5000, 6000, 2000, 0]]
    );
    assert_eq!(figures(&spool(&text(true), 1), "x-t-0.log")[0][7], -4000);
}

#[test]
fn each_round_of_each_phase_has_a_line() {
    let spool = spool_of(
        r#""loop": 2, "phases": { "a": { "loop": 2, "run": 1000 }, "b": { "util_min": 10, "sleep": 500, "run": 2000 } }"#,
    );
    let [run, period] = [2, 3]
        .map(|column| -> Vec<i64> { figures(&spool, "rt-app-t-0.log").iter().map(|line| line[column]).collect() });
    assert_eq!(run, [1000, 1000, 2000, 1000, 1000, 2000]);
    assert_eq!(period, [1000, 1000, 2500, 1000, 1000, 2500]);
}

/// Two threads share a CPU, in turns of 4 ms: the second should wake at 1.5 ms and runs at 4 ms, and the first takes
/// longer because of it.
#[test]
fn waiting_for_a_cpu_is_seen() {
    let text = r#"{ "tasks": { "hog": { "loop": 1, "run": 20000 },
        "late": { "loop": 1, "timer": { "ref": "unique", "period": 1500 }, "run": 1000 } } }"#;
    let spool = spool(text, 1);
    assert_eq!(figures(&spool, "rt-app-late-1.log"), [[1, 1000, 1000, 5000, 0, 5000, 0, 1500, 1000, 1500, 2500]]);
    assert_eq!(figures(&spool, "rt-app-hog-0.log"), [[0, 20_000, 21_000, 21_000, 0, 21_000, 0, 0, 20_000, 0, 0]]);
}

#[test]
fn forked_threads_are_numbered_twice_and_a_round_cut_off_has_no_line() {
    let text = r#"{ "tasks": { "main": { "loop": -1, "fork": "child", "sleep": 400000 },
        "child": { "instance": 0, "loop": 1, "runtime": 1000 } }, "global": { "duration": 1 } }"#;
    let spool = spool(text, 2);
    assert_eq!(figures(&spool, "rt-app-main-0.log").len(), 2);
    for (index, file) in (1..).zip(["rt-app-child-1-0000.log", "rt-app-child-2-0001.log", "rt-app-child-3-0002.log"]) {
        let start = (index - 1) * 400_000;
        assert_eq!(
            figures(&spool, file),
            [[index, 0, 1000, 1000, start, start + 1000, start, 0, 1000, 0, 0]],
            "{spool}"
        );
    }
}

#[test]
fn names_stay_in_their_directory() {
    assert_eq!(file_name("rt-app", "../../etc/a b\n", "-3"), "rt-app-..%2f..%2fetc%2fa%20b%0a-3.log");
    assert_eq!(file_name("../x", "é", "-0"), "%2e.%2fx-%c3%a9-0.log");
    let long = file_name("b", &"x".repeat(1000), "-12-0034");
    assert!(long.len() < 255 && long.ends_with("-12-0034.log"), "{long}");
}

#[test]
fn lines_of_many_threads_are_sorted_into_files() {
    let dir = std::env::temp_dir().join(format!("fairground-rtapp-log-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    let long = "y".repeat(1 << 20);
    let spool: String = (0..40).map(|i| format!("{}.log\t{i} {long}\n", i % 3)).collect();
    let files = split(BufReader::new(spool.as_bytes()), &dir).unwrap();
    let expected = ["0.log", "1.log", "2.log"].map(|name| dir.join(name));
    assert_eq!(files, expected);
    let numbers: Vec<String> =
        std::fs::read_to_string(&files[1]).unwrap().lines().map(|l| l.split(' ').next().unwrap().to_owned()).collect();
    let own: Vec<String> = (0..40).filter(|i| i % 3 == 1).map(|i| i.to_string()).collect();
    assert_eq!(numbers, own);
    std::fs::remove_dir_all(&dir).unwrap();
}

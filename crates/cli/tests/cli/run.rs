use super::{files, json, succeeds};

#[test]
fn a_run_prints_its_metrics_and_hash() {
    let result = json("run hikey960 sched-pipe:loops=100,threads --sched fair:v5.9 --seed 3 --format json");
    assert_eq!(result["schema"], "fairground-run-1");
    assert_eq!(result["seed"], 3);
    assert_eq!(result["hash"].as_str().map(str::len), Some(32));
    let ops = &result["metrics"][0];
    assert_eq!(ops["name"], "ops_per_sec");
    assert!(ops["value"].as_f64().is_some_and(|x| x > 0.0), "{ops}");
}

#[test]
fn text_and_json_are_of_the_same_run() {
    let words = "run hikey sched-pipe:loops=100 --sched fair:v5.9";
    let hash = json(&format!("{words} --format json"))["hash"].as_str().unwrap().to_owned();
    assert!(succeeds(words).contains(&hash));
}

#[test]
fn a_trace_does_not_change_the_run_and_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.txt");
    let words = "run hikey960 sched-pipe:loops=20,threads --sched fair:v5.9 --format json";
    assert_eq!(succeeds(words), succeeds(&format!("{words} --trace {}", path.display())));
    assert_eq!(files(dir.path()), ["trace.txt"]);
    let trace = std::fs::read_to_string(&path).unwrap();
    assert!(trace.ends_with('\n'));
    for event in ["sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new", "sched_process_fork", "cpu_idle"]
    {
        assert!(trace.contains(&format!(": {event}: ")), "no {event}");
    }
    assert!(trace.contains("fairground_decision: kind=wake comm=sched-pipe"), "{trace}");
    assert!(!trace.contains("comm=?"), "every task has a name");
}

#[test]
fn a_trace_may_go_to_a_device() {
    succeeds("run hikey sched-pipe:loops=20 --sched fair:v5.9 --trace /dev/null");
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

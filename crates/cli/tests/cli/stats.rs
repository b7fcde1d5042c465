use super::{fairground, json, refuses, succeeds};

/// As the kernel's `trace` file shows it. pipe waits 12 us and 500 us, dd not at all.
const TRACE: &str = "\
# tracer: nop
          <idle>-0       [000] d.h3.     1.000000: sched_wakeup: comm=my pipe pid=7 prio=120 target_cpu=001
          <idle>-0       [001] d..2.     1.000012: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my pipe next_pid=7 next_prio=120
         my pipe-7       [001] d..2.     1.001012: sched_switch: prev_comm=my pipe prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=dd next_pid=8 next_prio=120
              dd-8       [001] d..2.     1.001512: sched_switch: prev_comm=dd prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=my pipe next_pid=7 next_prio=120
         my pipe-7       [001] d..2.     1.001612: sched_switch: prev_comm=my pipe prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
";

fn with_trace(text: &str, test: impl FnOnce(&str)) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.txt");
    std::fs::write(&path, text).unwrap();
    test(&path.display().to_string());
}

/// Widths and words are those that perf of Linux 6.1 prints, but for its column "Switches", which later ones call "Count".
/// Average: (12 + 500) / 2 us; run time of my pipe 1 + 0.1 ms, of dd 0.5 ms.
#[test]
fn latency_is_printed_as_perf_prints_it() {
    let expected = "
 -------------------------------------------------------------------------------------------------------------------------------------------
  Task                  |   Runtime ms  |  Count   | Avg delay ms    | Max delay ms    | Max delay start           | Max delay end          |
 -------------------------------------------------------------------------------------------------------------------------------------------
  my pipe:7             |      1.100 ms |        2 | avg:   0.256 ms | max:   0.500 ms | max start:     1.001012 s | max end:     1.001512 s
  dd:8                  |      0.500 ms |        1 | avg:   0.000 ms | max:   0.000 ms | max start:     0.000000 s | max end:     0.000000 s
 -----------------------------------------------------------------------------------------------------------------
  TOTAL:                |      1.600 ms |        3 |
 ---------------------------------------------------

";
    with_trace(TRACE, |file| {
        assert_eq!(succeeds(&format!("stats {file}")), expected);
        assert_eq!(succeeds(&format!("stats {file} latency --by pid")), expected);
    });
}

#[test]
fn latency_can_be_told_by_cpu() {
    with_trace(TRACE, |file| {
        let table = succeeds(&format!("stats {file} latency --by cpu"));
        let row = "  CPU 1                 |      1.600 ms |        3 | avg:   0.171 ms | max:   0.500 ms |";
        assert!(table.contains(row), "{table}");
    });
}

#[test]
fn stats_keep_their_contract() {
    with_trace(TRACE, |file| {
        let result = json(&format!("stats {file} --format json"));
        assert_eq!((result["schema"].as_str(), result["kind"].as_str()), (Some("fairground-stats-1"), Some("latency")));
        let row = &result["rows"][0];
        assert_eq!((row["name"].as_str(), row["count"].as_u64()), (Some("my pipe:7"), Some(2)));
        assert_eq!((row["runtime_ns"].as_u64(), row["delay_avg_ns"].as_u64()), (Some(1_100_000), Some(256_000)));
        assert_eq!(row["delay_max_ns"].as_u64(), Some(500_000));
        assert_eq!(row["delay_max_end_ns"].as_u64(), Some(1_001_512_000));
    });
}

#[test]
fn a_trace_that_is_cut_off_is_told() {
    with_trace(&TRACE[..TRACE.len() - 40], |file| {
        let ran = fairground(&format!("stats {file}"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains("trace.txt:6: the last line has no end"), "{}", ran.stderr);
    });
}

#[test]
fn a_trace_without_waits_is_told() {
    let started = TRACE.lines().next().unwrap();
    with_trace(&format!("{started}\n"), |file| {
        let ran = fairground(&format!("stats {file}"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains("no task is seen to wait; sched_switch"), "{}", ran.stderr);
    });
}

#[test]
fn an_unknown_kind_is_told_what_there_is() {
    with_trace(TRACE, |file| {
        refuses(&format!("stats {file} latncy"), &["latncy", "latency"]);
        refuses(&format!("stats {file} --by color"), &["color", "comm", "pid", "cpu"]);
    });
    refuses("stats nowhere.txt", &["cannot read nowhere.txt: there is no such file"]);
}

/// CPU 0 of a hikey960 in cpu-sleep for 1 ms, where 1.5 would have paid, and for 2 ms; CPU 4 in WFI for 0.5 ms.
const SLEEPS: &str = "\
 <idle>-0 [000] d..1. 1.000000: cpu_idle: state=1 cpu_id=0
 <idle>-0 [000] d..1. 1.001000: cpu_idle: state=4294967295 cpu_id=0
 <idle>-0 [000] d..1. 1.002000: cpu_idle: state=1 cpu_id=0
 <idle>-0 [004] d..1. 1.003000: cpu_idle: state=0 cpu_id=4
 <idle>-0 [004] d..1. 1.003500: cpu_idle: state=4294967295 cpu_id=4
 <idle>-0 [000] d..1. 1.004000: cpu_idle: state=4294967295 cpu_id=0
";

#[test]
fn residency_is_told_by_state_and_by_cpu() {
    with_trace(SLEEPS, |file| {
        let by_state = "  cpu  state     sleeps     total ms  share %      mean ms       max ms
  all      0          1        0.500    6.250        0.500        0.500
  all      1          2        3.000    37.50        1.500        2.000
";
        assert_eq!(succeeds(&format!("stats {file} residency")), by_state);
        let by_cpu = "  cpu  state     sleeps     total ms  share %      mean ms       max ms      early
    0      1          2        3.000       75        1.500        2.000          1
    4      0          1        0.500    12.50        0.500        0.500          0
";
        assert_eq!(succeeds(&format!("stats {file} residency --by cpu --machine hikey960")), by_cpu);
    });
}

#[test]
fn residency_keeps_its_contract() {
    with_trace(SLEEPS, |file| {
        let result = json(&format!("stats {file} residency --format json"));
        assert_eq!(
            (result["schema"].as_str(), result["kind"].as_str()),
            (Some("fairground-stats-1"), Some("residency"))
        );
        let row = &result["rows"][1];
        assert_eq!((row["state"].as_u64(), row["count"].as_u64()), (Some(1), Some(2)));
        assert_eq!((row["total_ns"].as_u64(), row["max_ns"].as_u64()), (Some(3_000_000), Some(2_000_000)));
        assert!(row["cpu"].is_null() && row["early"].is_null());
    });
}

#[test]
fn residency_says_what_it_cannot_tell() {
    with_trace(TRACE, |file| {
        let ran = fairground(&format!("stats {file} residency"));
        assert!(ran.code == 0 && ran.stderr.contains("no CPU is seen to idle; cpu_idle"), "{}", ran.stderr);
        refuses(&format!("stats {file} residency --by pid"), &["not by task", "--by cpu"]);
        refuses(&format!("stats {file} --machine hikey960"), &["--machine is for residency", "residency"]);
        refuses(&format!("stats {file} residency --machine hikey690"), &["hikey690"]);
    });
}

/// CPUs 0 and 1 at 500 MHz for 1 ms and at 1 GHz for 3, CPU 4 at 2 GHz all the time.
const CLOCKS: &str = "\
 <idle>-0 [000] d..1. 1.000000: cpu_frequency: state=500000 cpu_id=0
 <idle>-0 [000] d..1. 1.000000: cpu_frequency: state=500000 cpu_id=1
 <idle>-0 [000] d..1. 1.000000: cpu_frequency: state=2000000 cpu_id=4
 <idle>-0 [000] d..1. 1.001000: cpu_frequency: state=1000000 cpu_id=0
 <idle>-0 [000] d..1. 1.001000: cpu_frequency: state=1000000 cpu_id=1
 <idle>-0 [000] d..1. 1.004000: cpu_idle: state=0 cpu_id=0
";

#[test]
fn frequencies_are_told_by_clock_and_by_cpu() {
    with_trace(CLOCKS, |file| {
        let by_clock = "        cpus        kHz        set     total ms  share %
         0-1     500000          1        1.000       25
         0-1    1000000          1        3.000       75
         0-1     875000       mean        4.000
           4    2000000          1        4.000      100
           4    2000000       mean        4.000
";
        assert_eq!(succeeds(&format!("stats {file} frequency")), by_clock);
        assert_eq!(succeeds(&format!("stats {file} frequency --by cpu")).lines().count(), 9);
        let rows = json(&format!("stats {file} frequency --format json"))["rows"].clone();
        assert_eq!((&rows[1]["cpus"][1], &rows[1]["khz"]), (&1.into(), &1_000_000.into()));
        assert_eq!((&rows[1]["total_ns"], &rows[1]["share_pct"]), (&3_000_000.into(), &75.0.into()));
        refuses(&format!("stats {file} frequency --by pid"), &["not by task", "--by cpu"]);
        refuses(&format!("stats {file} frequency --machine hikey960"), &["--machine is for residency"]);
    });
    with_trace(TRACE, |file| {
        let ran = fairground(&format!("stats {file} frequency"));
        assert!(ran.code == 0 && ran.stderr.contains("no clock is seen to change; cpu_frequency"), "{}", ran.stderr);
    });
}

/// Two CPUs behind one cache of hikey960, then one of each.
#[test]
fn migrations_are_told_by_cause_and_distance() {
    let print = "<idle>-0 [000] 1.0: print: tracing_mark_write: fairground_";
    let migrate = "<idle>-0 [000] 1.0: sched_migrate_task: comm=a pid=7 prio=120";
    let trace = format!(
        "{print}meta: machine=hikey960\n\
         {print}balance: kind=newidle level=MC src_cpu=1 dst_cpu=0 unit=task amount=1 rule=spare moved=1 active=0\n\
         {migrate} orig_cpu=1 dest_cpu=0\n{migrate} orig_cpu=0 dest_cpu=4\n"
    );
    with_trace(&trace, |file| {
        let expected = "\
cause           count    share        llc       node
newidle             1   50.0 %          1          0
other               1   50.0 %          0          1
total               2                   1          1
";
        assert_eq!(succeeds(&format!("stats {file} migrations")), expected);
        let result = json(&format!("stats {file} migrations --format json"));
        let row = &result["rows"][0];
        assert_eq!((row["cause"].as_str(), row["by_distance"]["llc"].as_u64()), (Some("newidle"), Some(1)));
        refuses(&format!("stats {file} migrations --by cpu"), &["--by is for latency, residency and frequency"]);
    });
    with_trace(&format!("{migrate} orig_cpu=1 dest_cpu=0\n"), |file| {
        let result = json(&format!("stats {file} migrations --format json"));
        assert!(
            result["rows"][0]["by_distance"].is_null() && result["notes"][0].as_str().unwrap().contains("no machine")
        );
    });
}

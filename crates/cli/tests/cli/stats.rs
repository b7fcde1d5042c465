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
        assert_eq!(succeeds(&format!("stats latency {file}")), expected);
        assert_eq!(succeeds(&format!("stats latency {file} --by pid")), expected);
    });
}

/// What `perf sched record` records: my pipe waits from sched_waking on.
#[test]
fn latency_from_sched_waking_is_noted() {
    with_trace(&TRACE.replace("sched_wakeup", "sched_waking"), |file| {
        let result = json(&format!("stats latency {file} --format json"));
        assert_eq!(
            (result["rows"][0]["name"].as_str(), result["rows"][0]["count"].as_u64()),
            (Some("my pipe:7"), Some(2))
        );
        let note = result["notes"][0].as_str().unwrap();
        assert!(note.starts_with("1 waits are counted from sched_waking"), "{note}");
    });
}

/// No table without rows: a note says which events there are none of, and a file without a byte is refused.
#[test]
fn a_trace_without_the_events_of_a_table_gives_a_note() {
    const TABLES: [(&str, &str); 6] = [
        ("latency", "no task waits for a CPU; expected sched_switch and sched_wakeup events"),
        ("migrations", "no task changes its CPU; expected sched_migrate_task events"),
        ("frequency", "no CPU changes its frequency; expected cpu_frequency events"),
        ("residency", "no CPU enters an idle state; expected cpu_idle events"),
        ("energy", "no energy events; `fairground run --trace FILE --energy-every MS` writes them"),
        ("uclamp", "no clamps; expected uclamp_util_cfs events of a run with clamps"),
    ];
    with_trace("# tracer: nop\n", |file| {
        for (table, note) in TABLES {
            let ran = fairground(&format!("stats {table} {file} --quiet"));
            assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{table}");
            assert!(ran.stderr.contains(note), "{table}: {}", ran.stderr);
        }
    });
    with_trace("", |file| {
        TABLES
            .iter()
            .for_each(|(table, _)| refuses(&format!("stats {table} {file}"), &["is empty: no event was recorded"]));
    });
}

#[test]
fn latency_can_be_told_by_cpu() {
    with_trace(TRACE, |file| {
        let table = succeeds(&format!("stats latency {file} --by cpu"));
        let row = "  CPU 1                 |      1.600 ms |        3 | avg:   0.171 ms | max:   0.500 ms |";
        assert!(table.contains(row), "{table}");
    });
}

#[test]
fn stats_keep_their_contract() {
    with_trace(TRACE, |file| {
        let result = json(&format!("stats latency {file} --format json"));
        assert_eq!((result["schema"].as_str(), result["kind"].as_str()), (Some("fairground-stats-1"), Some("latency")));
        let row = &result["rows"][0];
        assert_eq!((row["name"].as_str(), row["count"].as_u64()), (Some("my pipe:7"), Some(2)));
        assert_eq!((row["runtime_ns"].as_u64(), row["delay_avg_ns"].as_u64()), (Some(1_100_000), Some(256_000)));
        assert_eq!(row["delay_max_ns"].as_u64(), Some(500_000));
        assert_eq!(row["delay_max_end_ns"].as_u64(), Some(1_001_512_000));
    });
}

#[test]
fn a_trace_that_is_cut_off_is_reported() {
    with_trace(&TRACE[..TRACE.len() - 40], |file| {
        let ran = fairground(&format!("stats latency {file}"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains("trace.txt:6: the last line has no end"), "{}", ran.stderr);
    });
}

#[test]
fn a_trace_without_waits_is_reported() {
    let started = TRACE.lines().next().unwrap();
    with_trace(&format!("{started}\n"), |file| {
        let ran = fairground(&format!("stats latency {file}"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains("no task waits for a CPU; expected sched_switch"), "{}", ran.stderr);
    });
}

#[test]
fn an_unknown_kind_is_told_what_there_is() {
    with_trace(TRACE, |file| {
        refuses(&format!("stats latncy {file}"), &["latncy", "latency"]);
        refuses(&format!("stats {file}"), &["`fairground stats latency", "the kind comes before the file"]);
        refuses(&format!("stats latency {file} --by color"), &["color", "comm", "pid", "cpu"]);
    });
    refuses("stats latency nowhere.txt", &["cannot read nowhere.txt: there is no such file"]);
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
        assert_eq!(succeeds(&format!("stats residency {file}")), by_state);
        let by_cpu = "  cpu  state     sleeps     total ms  share %      mean ms       max ms      early
    0      1          2        3.000       75        1.500        2.000          1
    4      0          1        0.500    12.50        0.500        0.500          0
";
        assert_eq!(succeeds(&format!("stats residency {file} --by cpu --machine hikey960")), by_cpu);
    });
}

/// CPU 1 is seen to work and not to idle; of CPUs 2, 3, 5 to 7 of the machine there is nothing.
#[test]
fn residency_is_a_share_of_all_cpus() {
    let busy = " a-9 [001] d..1. 1.001000: sched_waking: comm=b pid=2 prio=120 target_cpu=000\n";
    let (head, rest) = SLEEPS.split_at(SLEEPS.find(" <idle>-0 [000] d..1. 1.001").unwrap());
    with_trace(&[head, busy, rest].concat(), |file| {
        let share = |machine: &str| {
            let result = json(&format!("stats residency {file} --format json {machine}"));
            (result["rows"][1]["share_pct"].clone(), result["notes"][0].as_str().unwrap().to_owned())
        };
        let (seen, note) = share("");
        assert_eq!(seen, 25.0, "3 ms of three times 4");
        assert!(note.ends_with("no cpu_idle of CPU 1: taken never to idle"), "{note}");
        let (all, note) = share("--machine hikey960");
        assert_eq!(all, 9.375, "3 ms of eight times 4");
        assert!(note.ends_with("no cpu_idle of CPU 1-3,5-7: taken never to idle"), "{note}");
    });
}

#[test]
fn residency_keeps_its_contract() {
    with_trace(SLEEPS, |file| {
        let result = json(&format!("stats residency {file} --format json"));
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
        let ran = fairground(&format!("stats residency {file}"));
        assert!(
            ran.code == 0 && ran.stderr.contains("no CPU enters an idle state; expected cpu_idle"),
            "{}",
            ran.stderr
        );
        refuses(&format!("stats residency {file} --by pid"), &["pid", "cpu"]);
        refuses(&format!("stats latency {file} --machine hikey960"), &["unexpected argument '--machine'"]);
        refuses(&format!("stats residency {file} --machine hikey690"), &["hikey690"]);
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
        assert_eq!(succeeds(&format!("stats frequency {file}")), by_clock);
        assert_eq!(succeeds(&format!("stats frequency {file} --by cpu")).lines().count(), 9);
        let rows = json(&format!("stats frequency {file} --format json"))["rows"].clone();
        assert_eq!((&rows[1]["cpus"][1], &rows[1]["khz"]), (&1.into(), &1_000_000.into()));
        assert_eq!((&rows[1]["total_ns"], &rows[1]["share_pct"]), (&3_000_000.into(), &75.0.into()));
        refuses(&format!("stats frequency {file} --by pid"), &["pid", "cpu"]);
        refuses(&format!("stats frequency {file} --machine hikey960"), &["unexpected argument '--machine'"]);
    });
    with_trace(TRACE, |file| {
        let ran = fairground(&format!("stats frequency {file}"));
        assert!(
            ran.code == 0 && ran.stderr.contains("no CPU changes its frequency; expected cpu_frequency"),
            "{}",
            ran.stderr
        );
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
        assert_eq!(succeeds(&format!("stats migrations {file}")), expected);
        let result = json(&format!("stats migrations {file} --format json"));
        let row = &result["rows"][0];
        assert_eq!((row["cause"].as_str(), row["by_distance"]["llc"].as_u64()), (Some("newidle"), Some(1)));
        refuses(&format!("stats migrations {file} --by cpu"), &["unexpected argument '--by'"]);
    });
    with_trace(&format!("{migrate} orig_cpu=1 dest_cpu=0\n"), |file| {
        let result = json(&format!("stats migrations {file} --format json"));
        assert!(
            result["rows"][0]["by_distance"].is_null() && result["notes"][0].as_str().unwrap().contains("no machine")
        );
    });
}

/// Values of CPU 0: 0, 0, 512; of CPU 4: 512. Task b: 512, 512, 300; a: 0.
fn clamps() -> String {
    let cfs = |cpu, min| format!("uclamp_util_cfs: cpu={cpu} util_avg=1 uclamp_avg=1 uclamp_min={min} uclamp_max=1024");
    let se = |comm, pid, min| {
        format!("uclamp_util_se: pid={pid} comm={comm} cpu=0 util_avg=1 uclamp_avg=1 uclamp_min={min} uclamp_max=1024")
    };
    let events = [
        cfs(0, 0),
        cfs(0, 0),
        cfs(0, 512),
        cfs(4, 512),
        se("b", 8, 512),
        se("b", 8, 512),
        se("b", 9, 300),
        se("a", 7, 0),
    ];
    events.map(|event| format!("<idle>-0 [000] 1.0: {event}\n")).concat()
}

/// As pandas prints describe(): mean 512 / 3, of a sample of three deviating by 170.67, 170.67 and 341.33.
#[test]
fn clamps_are_described_as_in_mail_003() {
    with_trace(&clamps(), |file| {
        let by_cpu = [
            "     count        mean         std    min    25%    50%    75%    max",
            "cpu",
            "0      3.0  170.666667  295.603338    0.0    0.0    0.0  256.0  512.0",
            "4      1.0  512.000000         NaN  512.0  512.0  512.0  512.0  512.0",
        ];
        let lines = |text: String| text.lines().map(|l| l.trim_end().to_owned()).collect::<Vec<_>>();
        assert_eq!(lines(succeeds(&format!("stats uclamp {file}"))), by_cpu);
        let by_comm = [
            "      count        mean         std    min    25%    50%    75%    max",
            "task",
            "b       3.0  441.333333  122.398257  300.0  406.0  512.0  512.0  512.0",
        ];
        assert_eq!(lines(succeeds(&format!("stats uclamp {file} --by comm --nonzero"))), by_comm);
        let counts = ["b", "512   2", "300   1", "Name: uclamp_min, events: 3"];
        assert_eq!(lines(succeeds(&format!("stats uclamp {file} --task b"))), counts);
        assert_eq!(lines(succeeds(&format!("stats uclamp {file} --task b:9 --max")))[1], "1024  1");
    });
}

#[test]
fn clamps_keep_their_contract() {
    with_trace(&clamps(), |file| {
        let result = json(&format!("stats uclamp {file} --format json"));
        let row = &result["rows"][1];
        assert_eq!(
            (result["kind"].as_str(), row["cpu"].as_str(), row["q75"].as_f64()),
            (Some("uclamp"), Some("4"), Some(512.0))
        );
        assert!(row["std"].is_null());
        let row = "1,512.0,,512.0,512.0,512.0,512.0,512.0";
        let csv = format!("cpu,count,mean,std,min,q25,q50,q75,max\n0,{row}\n4,{row}\n");
        assert_eq!(succeeds(&format!("stats uclamp {file} --nonzero --format csv")), csv);
        let counts = "task,value,count\nb:8,512,2\nb:9,300,1\n";
        assert_eq!(succeeds(&format!("stats uclamp {file} --task b --by pid --format csv")), counts);
        refuses(&format!("stats uclamp {file} --task b --by cpu"), &["--task is for clamps of tasks"]);
        refuses(&format!("stats latency {file} --nonzero"), &["unexpected argument '--nonzero'"]);
    });
    with_trace(TRACE, |file| {
        let ran = fairground(&format!("stats uclamp {file} --by comm"));
        assert!(ran.code == 0 && ran.stderr.contains("no clamps; expected uclamp_util_se events"), "{}", ran.stderr);
    });
}

/// A member of a member is a column.
#[test]
fn every_kind_of_statistics_is_had_as_csv() {
    with_trace("<idle>-0 [000] 1.0: sched_migrate_task: comm=a pid=7 prio=120 orig_cpu=1 dest_cpu=0\n", |file| {
        assert_eq!(succeeds(&format!("stats migrations {file} --format csv")), "cause,count,by_distance\nother,1,\n");
    });
    with_trace(SLEEPS, |file| {
        let csv = succeeds(&format!("stats residency {file} --format csv"));
        assert!(csv.starts_with("cpu,state,count,total_ns,share_pct,mean_ns,max_ns,early\n,"), "{csv}");
    });
    with_trace(TRACE, |file| {
        let csv = succeeds(&format!("stats latency {file} --format csv"));
        assert!(csv.contains("\nmy pipe:7,1100000,2,256000,500000,"), "{csv}");
    });
}

/// The group has a floor of 25 %, 256, and 60 % = 614 for half a second.
#[test]
fn a_run_tells_the_clamps_of_its_groups() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.txt").display().to_string();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/clamped.json");
    let run = |options: &str| {
        succeeds(&format!("run hikey960 {file} --sched fair:v6.3 --trace {trace} {options}"));
        let rows = json(&format!("stats uclamp {trace} --task draw-0 --format json"));
        let mut values: Vec<u64> =
            rows["rows"].as_array().unwrap().iter().map(|r| r["value"].as_u64().unwrap()).collect();
        values.sort_unstable();
        values
    };
    assert_eq!(run(""), [256, 614]);
    assert_eq!(run("--sysctl sched_util_clamp_min=300"), [256, 300]);
    let refused =
        |options: &str, parts: &[&str]| refuses(&format!("run hikey960 {file} --sched fair:v6.3 {options}"), parts);
    refused("--sysctl sched_util_clamp_max=300", &["sched_util_clamp_min is 1024, above sched_util_clamp_max"]);
    refused("--sysctl sched_latency_ns=3", &["expected sched_util_clamp_min, sched_util_clamp_max"]);
    refused("--sysctl sched_util_clamp_min=1025", &["expected a whole number, 0 to 1024"]);
}

/// LITTLE: 2 mW, 0.5 of them its rail's; of BIG nothing but 1 mW in its idle state.
fn meters() -> String {
    let print = "<idle>-0 [000] 0.0";
    let shown = |ms: u64| {
        let meter = |rail, part, uw: u64| {
            format!(
                "{print}{ms:02}: print: tracing_mark_write: fairground_energy: rail={rail} part={part} energy_pj={}\n",
                ms * uw * 1000
            )
        };
        [meter(0, "active", 1500), meter(0, "static", 500), meter(1, "idle2", 1000)].concat()
    };
    let name = |rail, name| format!("{print}: print: tracing_mark_write: fairground_meta: rail{rail}={name}\n");
    [name(0, "LITTLE"), name(1, "BIG")].into_iter().chain([0, 5, 10, 12].map(shown)).collect()
}

#[test]
fn energy_is_told_by_window_and_rail_and_in_all() {
    with_trace(&meters(), |file| {
        let expected =
            "     from ms        to ms rail           mW             J      active J       idle2 J      static J
       0.000       10.000 LITTLE          2      0.000020      0.000015             -      0.000005
       0.000       10.000 BIG             1      0.000010             -      0.000010             -
       0.000       10.000 all             3      0.000030      0.000015      0.000010      0.000005
      10.000       12.000 LITTLE          2      0.000004      0.000003             -      0.000001
      10.000       12.000 BIG             1      0.000002             -      0.000002             -
      10.000       12.000 all             3      0.000006      0.000003      0.000002      0.000001
       total       12.000 LITTLE          2      0.000024      0.000018             -      0.000006
       total       12.000 BIG             1      0.000012             -      0.000012             -
       total       12.000 all             3      0.000036      0.000018      0.000012      0.000006
";
        assert_eq!(succeeds(&format!("stats energy {file} --every 10")), expected);
        let csv = succeeds(&format!("stats energy {file} --format csv"));
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(
            lines[0],
            "window,from_ns,to_ns,rail,mean_mw,energy_uj,parts_uj.active,parts_uj.idle2,parts_uj.static"
        );
        assert_eq!((lines.len(), lines[1]), (13, "0,0,5000000,LITTLE,2.0,10.0,7.5,,2.5"));
        assert_eq!(lines[12], ",0,12000000,,3.0,36.0,18.0,12.0,6.0");
        refuses(&format!("stats energy {file} --by cpu"), &["unexpected argument '--by'"]);
        refuses(&format!("stats latency {file} --every 5"), &["unexpected argument '--every'"]);
    });
    with_trace(TRACE, |file| {
        let ran = fairground(&format!("stats energy {file}"));
        assert!(ran.code == 0 && ran.stderr.contains("no energy events; `fairground run"), "{}", ran.stderr);
    });
}

/// Parts add up to rails, rails to all, windows to the whole, and that is what the run itself has booked.
#[test]
fn the_energy_of_a_run_adds_up_to_the_microjoule() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.txt").display().to_string();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/measured.json");
    let run = json(&format!(
        "run pixel6 {file} --sched fair:v6.12 --governor schedutil --metrics energy_j --format json \
         --trace {trace} --energy-every 7"
    ));
    let booked = run["metrics"][0]["value"].as_f64().unwrap() * 1e6;
    let stats = json(&format!("stats energy {trace} --every 50 --format json"));
    let rows = stats["rows"].as_array().unwrap();
    let uj = |row: &serde_json::Value| row["energy_uj"].as_f64().unwrap();
    for row in rows {
        let parts: f64 = row["parts_uj"].as_object().unwrap().values().filter_map(|v| v.as_f64()).sum();
        assert!((parts - uj(row)).abs() < 1e-3, "{row}");
    }
    let whole = |row: &&serde_json::Value| row["window"].is_null();
    let all = |row: &&serde_json::Value| row["rail"].is_null();
    let sum = |rows: Vec<&serde_json::Value>| rows.into_iter().map(uj).sum::<f64>();
    let total = sum(rows.iter().filter(whole).filter(all).collect());
    let by_rail = sum(rows.iter().filter(whole).filter(|r| !all(r)).collect());
    let by_window = sum(rows.iter().filter(|r| !whole(r)).filter(all).collect());
    for other in [by_rail, by_window, booked] {
        assert!((other - total).abs() < 1.0, "{other} uJ, not {total}");
    }
    assert!(total > 1e3 && rows.iter().filter(whole).count() == 4, "{total} uJ: {stats}");
}

/// Distances of migrations need the machine at the head of the trace, which a pipe cannot read again.
#[test]
fn a_pipe_cannot_be_read_twice() {
    let command = format!("true | {} stats migrations -", env!("CARGO_BIN_EXE_fairground"));
    let ran = super::Ran::from(std::process::Command::new("sh").arg("-c").arg(command).output().unwrap());
    assert!(ran.code == 2 && ran.stderr.contains("stats migrations reads traces twice"), "{}", ran.stderr);
}

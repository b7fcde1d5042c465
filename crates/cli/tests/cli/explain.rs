use std::path::PathBuf;

use tempfile::TempDir;

use super::{fairground, json, refuses, succeeds};

/// What a trace of ours begins with.
const HEAD: &str = "\
<idle>-0 [000] 0.000000000: print: tracing_mark_write: fairground_meta: machine=board
<idle>-0 [000] 0.000000000: print: tracing_mark_write: fairground_meta: sched=fair:NAME
<idle>-0 [000] 0.000000000: print: tracing_mark_write: fairground_rule: name=A1 function=select_idle_sibling label=target text=it is idle and fits
<idle>-0 [000] 0.000000000: print: tracing_mark_write: fairground_rule: name=A2 function=select_idle_sibling label=previous CPU text=it is idle
<idle>-0 [000] 0.000000000: print: tracing_mark_write: fairground_note: partition: 0-3
";

/// A wakeup of `a reader`, with one reason or without.
fn wakeup(at: &str, cpu: u32, rule: &str, why: Option<&str>) -> String {
    let begin = format!("writer-1001 [004] {at}: ");
    let print = format!("{begin}print: tracing_mark_write: fairground_");
    let why = why.map_or(String::new(), |text| {
        format!("{print}why: pid=1000 rule={rule} note=1 cpu={cpu} a=12 b=462 c=0 text={text}\n")
    });
    format!(
        "{begin}sched_waking: comm=a reader pid=1000 prio=120 success=1 target_cpu=5\n{why}{print}decision: kind=wake \
         comm=a reader pid=1000 prio=120 prev_cpu=5 cpu={cpu} rule={rule} probes=2 group_cpus=0\n"
    )
}

fn write(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn three(dir: &TempDir) -> String {
    let lines = [
        wakeup("1.000000000", 5, "A2", Some("CPU 5 is idle")),
        wakeup("2.500000000", 4, "A1", Some("CPU 4 is idle")),
        wakeup("3.000000000", 5, "A2", None),
    ];
    write(dir, "three.txt", &format!("{HEAD}{}", lines.concat())).display().to_string()
}

#[test]
fn a_trace_is_summed_up_by_rule() {
    let dir = tempfile::tempdir().unwrap();
    let file = three(&dir);
    let expected = "\
machine   board
sched     fair:NAME
decisions 3

    count    share  rule
        2   66.7 %  select_idle_sibling: previous CPU (A2)
        1   33.3 %  select_idle_sibling: target (A1)

note: partition: 0-3
";
    assert_eq!(succeeds(&format!("explain {file}")), expected);
    let by_cpu = succeeds(&format!("explain {file} --by cpu"));
    let row = "CPU 4          1  100.0 %  select_idle_sibling: target (A1)\n";
    assert!(by_cpu.contains(row), "{by_cpu}");
    let by_task = succeeds(&format!("explain {file} --by task --cpu 5"));
    let row = "a reader          2  100.0 %  select_idle_sibling: previous CPU (A2)\n";
    assert!(by_task.contains(row), "{by_task}");
}

#[test]
fn a_task_has_its_placements_listed() {
    let dir = tempfile::tempdir().unwrap();
    let file = three(&dir);
    let listed = succeeds(&format!("explain {file} --task 1000"));
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 3);
    let line = "2.500000000  wake  a reader-1000           CPU   5 -> 4    select_idle_sibling: target (A1), 2 probes";
    assert_eq!(lines[1], line);
    assert_eq!(succeeds(&format!("explain {file} --task 1000 --cpu 4")), format!("{}\n", lines[1]));
}

#[test]
fn one_placement_is_told_in_full() {
    let dir = tempfile::tempdir().unwrap();
    let file = three(&dir);
    let expected = "\
2.500000000  a reader-1000 woken on CPU 4, which runs writer-1001; previous CPU 5
  select_idle_sibling: target (A1)
    CPU 4 is idle
CPU 4 chosen by select_idle_sibling: target (A1) after 2 probes
  it is idle and fits
";
    assert_eq!(succeeds(&format!("explain {file} --at 1500ms")), expected, "the first one after that time");
    assert_eq!(succeeds(&format!("explain {file} --at 2.5 --task 1000 --cpu 4")), expected, "at that time");
}

#[test]
fn what_is_not_there_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let file = three(&dir);
    refuses(
        &format!("explain {file} --task reader"),
        &["no placement of task \"reader\"", "did you mean \"a reader\"?"],
    );
    refuses(&format!("explain {file} --task Render"), &["no placement of task \"Render\"; there are a reader"]);
    refuses(&format!("explain {file} --cpu 7"), &["no placement onto CPU 7"]);
    refuses(
        &format!("explain {file} --at 4s"),
        &["no such placement at 4.000000000 s or after", "is at 3.000000000 s"],
    );
    refuses(&format!("explain {file} --at soon"), &["--at", "1250ms"]);
    refuses("explain nowhere.txt", &["cannot read nowhere.txt"]);
    refuses("explain", &["<FILE>"]);
    refuses(&format!("explain {file} --diff {file}"), &["--diff"]);
    let kernel = write(&dir, "kernel.txt", "a-1 [000] d..2. 1.0: sched_waking: comm=b pid=2 prio=120 target_cpu=000\n");
    refuses(&format!("explain {}", kernel.display()), &["no placement decisions", "fairground run"]);
    let broken = write(&dir, "broken.txt", "a-1 [000] 1.0: sched_waking: comm=b\n");
    refuses(&format!("explain {}", broken.display()), &["broken.txt:1: expected sched_waking with comm"]);
}

#[test]
fn a_trace_without_reasons_says_how_to_get_them() {
    let dir = tempfile::tempdir().unwrap();
    let bare = write(&dir, "bare.txt", &format!("{HEAD}{}", wakeup("1.0", 5, "A2", None)));
    for words in ["", "--at 0", "--task 1000"] {
        let told = succeeds(&format!("explain {} {words}", bare.display()));
        assert!(told.ends_with("`fairground run ... --trace FILE --why` records them\n"), "{told}");
    }
}

#[test]
fn two_traces_are_set_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    let base = three(&dir);
    let lines = [wakeup("1.0", 5, "A1", Some("CPU 5 is idle")), wakeup("2.25", 6, "A2", Some("CPU 6 is idle"))];
    let test = write(&dir, "test.txt", &format!("{HEAD}{}", lines.concat())).display().to_string();
    let told = succeeds(&format!("diff {base} {test}"));
    let expected = format!(
        "\
base  {base}: 3 decisions (machine board, sched fair:NAME)
test  {test}: 2 decisions (machine board, sched fair:NAME)

pairs: the same task's n-th wakeup, fork or exec in each
1 of 2 choose the same CPU, 1 of them by rules of other names; the first that does not comes after 1:

base  2.500000000  a reader-1000 woken on CPU 4, which runs writer-1001; previous CPU 5
        select_idle_sibling: target (A1)
          CPU 4 is idle
      CPU 4 chosen by select_idle_sibling: target (A1) after 2 probes
        it is idle and fits

test  2.250000000  a reader-1000 woken on CPU 4, which runs writer-1001; previous CPU 5
        select_idle_sibling: previous CPU (A2)
          CPU 6 is idle
      CPU 6 chosen by select_idle_sibling: previous CPU (A2) after 2 probes
        it is idle

     base      test     shift  rule
        2         1        -1  select_idle_sibling: previous CPU (A2)
        1         1         0  select_idle_sibling: target (A1)

note: {base}: partition: 0-3
note: {test}: partition: 0-3
"
    );
    assert_eq!(told, expected);
    let other = wakeup("1.0", 5, "A1", None).replace("a reader", "stranger");
    let other = write(&dir, "other.txt", &format!("{HEAD}{other}")).display().to_string();
    let told = succeeds(&format!("diff {base} {other}"));
    assert!(told.contains("\n\nno task's wakeup, fork or exec is in both: "), "{told}");
    let result = json(&format!("diff {base} {test} --format json"));
    assert_eq!(result["schema"], "fairground-explain-diff-1");
    assert_eq!((result["pairs"].as_u64(), result["agree_before"].as_u64()), (Some(2), Some(1)));
    assert_eq!(result["first"]["test"]["cpu"], 6);
    assert_eq!(result["rules"][0]["shift"], -1);
    let same = json(&format!("diff {base} {base} --format json"));
    assert!(same["first"].is_null(), "{same}");
}

#[test]
fn explain_keeps_its_contract() {
    let dir = tempfile::tempdir().unwrap();
    let file = three(&dir);
    let of = |words: &str| json(&format!("explain {file} {words} --format json"));
    let tally = of("--by cpu");
    assert_eq!((tally["schema"].as_str(), tally["count"].as_u64()), (Some("fairground-explain-1"), Some(3)));
    assert_eq!((tally["meta"]["machine"].as_str(), tally["reasons"].as_bool()), (Some("board"), Some(true)));
    let row = &tally["rules"][0];
    assert_eq!((row["cpu"].as_u64(), row["rule"].as_str(), row["count"].as_u64()), (Some(4), Some("A1"), Some(1)));
    assert_eq!(
        (&row["title"], &row["text"]),
        (&serde_json::json!("select_idle_sibling: target (A1)"), &serde_json::json!("it is idle and fits"))
    );
    let list = of("--task 1000");
    assert_eq!(list["decisions"].as_array().map(Vec::len), Some(3));
    let one = &of("--at 1")["decision"];
    assert_eq!((one["time_ns"].as_u64(), one["kind"].as_str()), (Some(1_000_000_000), Some("wake")));
    assert_eq!((one["by"]["task"].as_str(), one["prev_cpu"].as_u64()), (Some("writer"), Some(5)));
    let reason = &one["reasons"][0];
    assert_eq!((reason["rule"].as_str(), reason["cpu"].as_u64()), (Some("A2"), Some(5)));
    assert_eq!(reason["numbers"], serde_json::json!([12, 462, 0]));
}

/// Every decision of a run has its reasons, and the one that decided is the last rule tried.
#[test]
fn a_run_of_ours_can_be_explained() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe.txt");
    let file = path.display();
    succeeds(&format!("run hikey960 sched-pipe:loops=30,threads --sched fair:v5.11 --trace {file} --why"));
    let list = json(&format!("explain {file} --task sched-pipe-0 --format json"));
    let last = list["decisions"].as_array().and_then(|d| d.last()).unwrap().clone();
    let at = last["time_ns"].as_u64().unwrap();
    let one = json(&format!("explain {file} --task sched-pipe-0 --at {at}ns --format json"))["decision"].clone();
    assert_eq!((&one["rule"], &one["cpu"]), (&last["rule"], &last["cpu"]));
    let reason = one["reasons"].as_array().and_then(|r| r.last()).unwrap();
    assert_eq!((&reason["rule"], &reason["cpu"]), (&one["rule"], &one["cpu"]));
    let ran = fairground(&format!("explain {file} --task sched-pipe-0 --at {at}ns"));
    assert!(!ran.stdout.contains("note: the trace has no reasons"), "{}", ran.stdout);
}

/// The trace of a run on a machine of two kinds of CPUs.
fn run_of(dir: &TempDir, workload: &str, sched: &str) -> String {
    let file = dir.path().join("run.txt").display().to_string();
    succeeds(&format!("run hikey960 {workload} --sched {sched} --trace {file}"));
    file
}

#[test]
fn a_recording_is_judged_by_who_ran_and_by_another_scheduler() {
    let dir = tempfile::tempdir().unwrap();
    let file = run_of(&dir, "sched-pipe:loops=200,threads", "fair:v5.9");
    let own = json(&format!("whatif {file} --format json"));
    assert_eq!((own["machine"].as_str(), own["sched"].as_str()), (Some("hikey960"), Some("fair:v5.9")));
    assert!(own["agreement"]["sure_agree_pct"].as_f64().unwrap() >= 99.0, "{own:#}");
    let other = format!("whatif {file} --sched fair:v5.9+asym-prev-first");
    let differs = json(&format!("{other} --format json"));
    assert!(differs["agreement"]["sure_agree_pct"].as_f64().unwrap() < 50.0, "{differs:#}");
    assert_eq!(differs["disagreements"][0]["rule"], "A2");
    let text = succeeds(&other);
    assert!(text.contains("agreement with fair:v5.9+asym-prev-first:") && text.contains("previous CPU"), "{text}");
    let csv = fairground(&format!("{other} --format csv"));
    assert!(csv.stdout.starts_with("rule,judged,agree,") && !csv.stdout.contains("note: "), "{}", csv.stdout);
    assert!(csv.stderr.contains("note: policies, affinities, clamps and groups are not read"), "{}", csv.stderr);
}

#[test]
fn one_wakeup_of_a_recording_is_told_in_full() {
    let dir = tempfile::tempdir().unwrap();
    let file = run_of(&dir, "sched-pipe:loops=200,threads", "fair:v5.9");
    let asked = format!("whatif {file} --sched fair:v5.9+asym-prev-first");
    let one = succeeds(&format!("{asked} --task sched-pipe-0 --nth 100"));
    for part in [
        "sched-pipe-0-1001 woken on CPU",
        "chosen by select_idle_sibling: previous CPU (A2)",
        "\nrecorded: CPU",
        "\nsure\n",
    ] {
        assert!(one.contains(part), "no {part:?} in\n{one}");
    }
    let list = succeeds(&format!("{asked} --task sched-pipe-0"));
    assert_eq!(
        list.lines().count(),
        json(&format!("{asked} --task sched-pipe-0 --format json"))["wakeups"].as_array().unwrap().len()
    );
    let full = json(&format!("{asked} --nth 100 --format json"));
    assert!(!full["wakeup"]["ours"]["reasons"].as_array().unwrap().is_empty(), "{full:#}");
}

/// What was not as by default stands at the head of a trace of ours, and need not be said again.
#[test]
fn settings_are_those_of_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.txt").display().to_string();
    let load = "periodic:tasks=6,duty=10,duration=0.3";
    succeeds(&format!("run hikey960 {load} --sched fair:v6.12 --governor schedutil --hz 1000 --trace {file}"));
    let judged = succeeds(&format!("whatif {file}"));
    assert_eq!(judged, succeeds(&format!("whatif {file} --governor schedutil --hz 1000")));
    assert_ne!(judged, succeeds(&format!("whatif {file} --governor performance")));
}

/// A CPU to which no wakeup went is not a trace without wakeups.
#[test]
fn nothing_onto_a_cpu_is_told_from_nothing_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let file = run_of(&dir, "sched-pipe:loops=50,threads", "fair:v5.9");
    refuses(&format!("whatif {file} --cpu 2"), &["no such wakeup", "were judged"]);
}

#[test]
fn a_recording_that_cannot_be_judged_is_refused_by_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let file = run_of(&dir, "sched-pipe:loops=50,threads", "fair:v5.9");
    refuses(&format!("whatif {file} --machine rpi5"), &["has events of CPU", "rpi5 has CPUs 0 to 3", "--machine"]);
    refuses(&format!("whatif {file} --task sched-pip-0"), &["no such wakeup", "did you mean \"sched-pipe-0\"?"]);
    refuses(&format!("whatif {file} --sched fair:v5.9+asym-prev"), &["asym-prev", "asym-prev-first"]);
    refuses(&format!("explain {file} --nth 3"), &["`fairground whatif"]);
    refuses(&format!("explain {file} --format csv"), &["csv"]);
    refuses(&format!("explain --trace {file}"), &["`fairground whatif TRACE`"]);
    refuses(&format!("explain --diff {file} {file}"), &["`fairground diff BASE TEST`"]);
    let none = write(&dir, "none.txt", "a-1 [000] 1.0: cpu_idle: state=0 cpu_id=0\n").display().to_string();
    refuses(&format!("whatif {none}"), &["does not say which machine"]);
    refuses(&format!("whatif {none} --machine hikey960"), &["no wakeup that can be judged", "sched_waking"]);
    let waking = "a-1 [000] 1.0: sched_waking: comm=b pid=2 prio=120 target_cpu=0\n";
    let waking = write(&dir, "waking.txt", waking).display().to_string();
    for task in ["", "--task b", "--nth 1"] {
        refuses(
            &format!("whatif {waking} --machine hikey960 {task}"),
            &["no sched_wakeup follows", "perf sched record"],
        );
    }
}

/// A pick as a trace with reasons has it.
fn pick(at: &str, kind: &str, task: &str, rule: &str) -> String {
    format!(
        "<idle>-0 [002] {at}: print: tracing_mark_write: fairground_pick: kind={kind} comm={task} pid=7 prio=120 cpu=2 \
         rule={rule} queued=2 lag=1000 deadline=2000000 protection=0 curr_comm=- curr_pid=0 curr_lag=0 curr_deadline=0 \
         curr_protection=0\n"
    )
}

#[test]
fn picks_are_counted_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [pick("1.0", "pick", "a", "only"), pick("2.0", "wakeup", "b", "wake-protected")];
    let rule = "<idle>-0 [000] 0.0: print: tracing_mark_write: fairground_rule: name=only function=pick_next_entity \
                label=only task text=no other task is queued\n";
    let file = write(&dir, "picks.txt", &format!("{HEAD}{rule}{}", lines.concat())).display().to_string();
    let counted = succeeds(&format!("explain {file} --picks"));
    assert!(counted.contains("pick             1  pick_next_entity: only task (only)"), "{counted}");
    let told = succeeds(&format!("explain {file} --picks --at 0.5"));
    assert!(told.contains("1.000000000  a-7 picked on CPU 2, 2 fair tasks queued"), "{told}");
    assert!(told.contains("  a-7: lag 1.000 us (eligible), deadline in 2000.000 us"), "{told}");
    let listed = succeeds(&format!("explain {file} --picks --task b"));
    assert!(listed.contains("b-7 waits on CPU 2: wake-protected"), "{listed}");
    let told = json(&format!("explain {file} --picks --at 0.5 --format json"));
    assert_eq!(told["picks"][0]["state"]["lag_ns"], 1000);
    refuses(&format!("explain {file} --picks --task nobody"), &["no such pick"]);
    refuses(&format!("explain {} --picks", three(&dir)), &["has no picks", "--why"]);
}

/// A kernel's decision is not explained by our policy, which only decides alike.
#[test]
fn a_kernels_decision_is_said_to_be_our_policys_on_the_same_state() {
    let dir = tempfile::tempdir().unwrap();
    let head = HEAD.replace("sched=fair:NAME", "sched=linux:mine");
    let file = write(&dir, "linux.txt", &(head + &wakeup("1.0", 5, "A2", None))).display().to_string();
    let told = succeeds(&format!("explain {file} --at 0.5"));
    assert!(told.contains("CPU 5 chosen as our policy does on the same state by select_idle_sibling"), "{told}");
}

/// Values that a kernel's decisions leave: the first that differs is named with the kernel's function.
#[test]
fn a_diff_names_the_first_value_that_two_kernels_leave_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let trace = |name: &str, scan: i64| {
        let left = |at: &str, value: &str, after: i64| {
            format!(
                "<idle>-0 [002] {at}: print: tracing_mark_write: fairground_left: comm=- pid=0 cpu=2 domain=-1 \
                 function=update_idle_cpu_scan before=0 after={after} value={value}\n"
            )
        };
        let lines = [left("0.5", "cfs util_avg", 7), left("0.6", "nr_idle_scan", scan), wakeup("1.0", 5, "A2", None)];
        let head = HEAD.replace("sched=fair:NAME", "sched=linux:mine");
        write(&dir, name, &(head + &lines.concat())).display().to_string()
    };
    let (base, test) = (trace("base.txt", 4), trace("test.txt", 2));
    let text = succeeds(&format!("diff {base} {test}"));
    let expected = "values that decisions leave behind: 1 alike; then, at 0.600000000 s:\n  \
                    update_idle_cpu_scan: nr_idle_scan of CPU 2: base 0 to 4, test 0 to 2\n";
    assert!(text.contains(expected), "{text}");
    let left = &json(&format!("diff {base} {test} --format json"))["left"];
    assert_eq!((&left["alike"], &left["first"][0]["value"]), (&1.into(), &"nr_idle_scan".into()), "{left:#}");
    assert_eq!((&left["first"][0]["cpu"], &left["first"][0]["test"]["after"]), (&2.into(), &2.into()));
    let same = json(&format!("diff {base} {base} --format json"));
    assert_eq!((&same["left"]["alike"], same["left"]["first"].as_array().map(Vec::len)), (&2.into(), Some(0)));
}

/// Each side's looks at the CPU that the other side chooses are repeated, and work that differs is told.
#[test]
fn a_diff_tells_what_one_side_says_of_the_cpu_that_the_other_chooses() {
    let dir = tempfile::tempdir().unwrap();
    let why =
        "<idle>-0 [004] 2.0: print: tracing_mark_write: fairground_why: pid=1000 rule=A2 note=3 cpu=3 a=411 b=462 \
               c=0 text=CPU 3 would not fit: utilization 411, capacity 462\n";
    let first = wakeup("1.0", 5, "A2", None);
    let base = [first.clone(), why.to_owned(), wakeup("2.0", 5, "A2", None)].concat();
    let test = [first.replace("probes=2", "probes=9"), wakeup("2.0", 3, "A2", None)].concat();
    let base = write(&dir, "base.txt", &format!("{HEAD}{base}")).display().to_string();
    let test = write(&dir, "test.txt", &format!("{HEAD}{test}")).display().to_string();
    let text = succeeds(&format!("diff {base} {test}"));
    let line = "base, of the CPU that test chooses: select_idle_sibling: ";
    assert!(text.contains(line) && text.contains("CPU 3 would not fit: utilization 411, capacity 462\n"), "{text}");
    assert!(text.contains("the first that chooses the same CPU after other work, at 1.000000000 s: "), "{text}");
}

/// NEXT_BUDDY: the first pick that differs is that of the next buddy.
#[test]
fn a_diff_shows_by_which_rule_picks_differ() {
    let dir = tempfile::tempdir().unwrap();
    let trace = |name: &str, sched: &str| {
        let path = dir.path().join(name).display().to_string();
        succeeds(&format!("run hikey960 schbench:runtime=0.1 --sched {sched} --trace {path} --why"));
        path
    };
    let (base, test) = (trace("base.txt", "fair:v6.12"), trace("test.txt", "fair:v6.12+next-buddy"));
    let diff = json(&format!("diff {base} {test} --format json"));
    let picks = &diff["picks"];
    assert_eq!(picks["first"]["test"]["rule"], "buddy", "{picks:#}");
    assert_ne!(picks["first"]["base"]["pid"], picks["first"]["test"]["pid"]);
    let text = succeeds(&format!("diff {base} {test}"));
    assert!(text.contains("by pick_next_entity: next buddy (buddy)"), "{text}");
}

use std::process::{Command, Stdio};

use super::{files, json, refuses, succeeds};

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
fn a_draw_is_the_same_whenever_it_is_asked_for() {
    let of = |draw: &str| json(&format!("run hikey960 sched-pipe:loops=100 --sched fair:v5.9 --format json {draw}"));
    let seventh = of("--draw 7");
    assert_eq!(seventh["hash"], of("--draw 7")["hash"]);
    assert_ne!(seventh["hash"], of("--draw 8")["hash"]);
    assert_ne!(seventh["hash"], of("")["hash"]);
    assert_eq!(of("--draw 0")["hash"], of("")["hash"]);
    assert_eq!(seventh["notes"][0], "draw: 7");
    refuses("run hikey960 sched-pipe --sched fair:v5.9 --draw x", &["whole number"]);
    // As the side of a comparison.
    let sides = "--base 'fair:v5.9 draw=7' --test 'fair:v5.9 draw=8' --seeds 1";
    let compared = json(&format!("compare hikey960 sched-pipe:loops=100 {sides} --format json"));
    assert_eq!(compared["runs"][0]["base_hash"], seventh["hash"]);
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

/// By its ending or by --trace-format; whatever it is called, what reads it sees the same.
#[test]
fn a_trace_dat_says_what_the_text_says() {
    let dir = tempfile::tempdir().unwrap();
    let traced = |file: &str, more: &str| {
        let path = dir.path().join(file).display().to_string();
        let words = "run hikey960 sched-pipe:loops=20,threads --sched fair:v5.11 --why";
        let run = succeeds(&format!("{words} --trace {path} {more}"));
        let asked = [
            "stats latency FILE",
            "stats residency FILE",
            "stats migrations FILE",
            "explain FILE",
            "explain FILE --at 0",
        ];
        let said = asked.map(|words| succeeds(&words.replace("FILE", &path)).replace(&path, "FILE"));
        (std::fs::read(&path).unwrap(), run, said)
    };
    let (text, run, expected) = traced("a.txt", "");
    for (file, more) in [("b.dat", ""), ("c.txt", "--trace-format dat")] {
        let (bytes, same_run, same) = traced(file, more);
        assert!(bytes.starts_with(b"\x17\x08\x44tracing6\0") && bytes.len() % 4096 == 0);
        assert_eq!((same_run, same), (run.clone(), expected.clone()));
        assert_eq!(bytes, traced("again.dat", "").0, "same inputs, same bytes");
    }
    assert_eq!(traced("d.dat", "--trace-format text").0, text);
    assert_eq!(files(dir.path()), ["a.txt", "again.dat", "b.dat", "c.txt", "d.dat"]);
}

#[test]
fn asking_why_changes_neither_the_run_nor_the_other_lines() {
    let dir = tempfile::tempdir().unwrap();
    let words = "run hikey960 sched-pipe:loops=20,threads --sched fair:v5.11 --format json";
    let traced = |file: &str, why: &str| {
        let path = dir.path().join(file);
        let result = succeeds(&format!("{words} --trace {} {why}", path.display()));
        (result, std::fs::read_to_string(&path).unwrap())
    };
    let (plain, without) = traced("plain.txt", "");
    let (asked, with) = traced("why.txt", "--why");
    assert_eq!(plain, asked);
    assert!(!without.contains("fairground_why"));
    assert!(!without.contains("fairground_pick"));
    // Reasons bring lines of two kinds, and the rules that they name.
    let is_reason = |line: &str| line.contains("fairground_why") || line.contains("fairground_pick");
    let (rules, others): (Vec<&str>, Vec<&str>) =
        with.lines().filter(|l| !is_reason(l)).partition(|l| l.contains("fairground_rule"));
    let (fewer, expected): (Vec<&str>, Vec<&str>) = without.lines().partition(|l| l.contains("fairground_rule"));
    assert!(others == expected, "a line that is no reason differs");
    let rule = |line: &&str| line.split_once("fairground_rule").map(|(_, rule)| rule.to_owned());
    let [fewer, rules] = [fewer, rules].map(|lines| lines.iter().filter_map(rule).collect::<Vec<_>>());
    assert!(fewer.iter().all(|rule| rules.contains(rule)) && fewer.len() < rules.len());
    assert!(rules.iter().enumerate().all(|(at, rule)| !rules[..at].contains(rule)), "each is told once: {rules:?}");
    assert!(!without.lines().take(5).any(|line| line.contains("fairground_rule")), "what was traced stands first");
    assert_eq!(with, traced("again.txt", "--why").1, "same inputs, same bytes");
    for head in [
        "fairground_meta: machine=hikey960",
        "fairground_meta: sched=fair:v5.11",
        "fairground_rule: name=A2 function=select_idle_sibling label=previous CPU text=",
    ] {
        assert!(with.contains(head), "no {head}");
    }
    refuses(&format!("{words} --why"), &["--trace"]);
}

/// A pair that ping-pongs on CPUs 2 and 5 alone; the machine stays whole.
#[test]
fn a_workload_bound_to_some_cpus_runs_on_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace.txt");
    let words =
        format!("run hikey@2,5 periodic:tasks=4,duty=40,duration=1 --sched fair:v5.9 --trace {}", file.display());
    let shown = succeeds(&format!("{words} --metrics busy_pct,energy_j"));
    assert!(shown.contains("machine   hikey@2,5"), "{shown}");
    let trace = std::fs::read_to_string(file).unwrap();
    let switched = |line: &&str| line.contains("sched_switch:") && line.contains("next_comm=periodic");
    let cpus: std::collections::BTreeSet<&str> =
        trace.lines().filter(switched).filter_map(|line| line.split(['[', ']']).nth(1)).collect();
    assert_eq!(cpus.into_iter().collect::<Vec<_>>(), ["002", "005"]);
    // Four tasks of 40 % on two CPUs: 80 %, and what waking them and ticks take.
    let busy = shown.lines().find_map(|line| line.strip_prefix("busy_pct")).unwrap();
    let busy: f64 = busy.split_whitespace().next().unwrap().parse().unwrap();
    assert!((80.0..92.0).contains(&busy), "{busy}");
    assert!(succeeds("machine show hikey@2,5").contains("workloads are bound to 2 of 8 CPUs"));
}

/// Whatever the file is called, and whichever way the format was chosen.
#[test]
fn a_trace_of_perfettos_tells_what_text_tells() {
    let dir = tempfile::tempdir().unwrap();
    let words = "run hikey960 sched-pipe:loops=20,threads --sched fair:v5.9 --why";
    let traced = |file: &str, format: &str| {
        let path = dir.path().join(file);
        succeeds(&format!("{words} --trace {} {format}", path.display()));
        (std::fs::read(&path).unwrap(), path.display().to_string())
    };
    let (_, text) = traced("a.txt", "");
    let (bytes, by_ending) = traced("a.pftrace", "");
    let (same, by_name) = traced("b.txt", "--trace-format perfetto");
    assert!(bytes == same && bytes.starts_with(&[10]), "same inputs, same bytes");
    for file in [&by_ending, &by_name] {
        for kind in ["latency", "residency", "frequency", "migrations"] {
            assert_eq!(succeeds(&format!("stats {kind} {file}")), succeeds(&format!("stats {kind} {text}")));
        }
        assert_eq!(succeeds(&format!("explain {file} --at 0.0001")), succeeds(&format!("explain {text} --at 0.0001")));
    }
    assert_eq!(files(dir.path()), ["a.pftrace", "a.txt", "b.txt"]);
    refuses(&format!("{words} --trace-format perfetto"), &["--trace"]);
    std::fs::write(&by_name, &bytes[..bytes.len() / 2]).unwrap();
    succeeds(&format!("stats latency {by_name}"));
    std::fs::write(&by_name, [&bytes[..], b"more"].concat()).unwrap();
    refuses(&format!("stats latency {by_name}"), &["b.txt: byte ", "expected a packet"]);
}

#[test]
fn a_trace_may_go_to_a_device() {
    succeeds("run hikey sched-pipe:loops=20 --sched fair:v5.9 --trace /dev/null");
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_reader_that_leaves_is_not_an_error() {
    let traced = "run hikey sched-pipe:loops=20 --sched fair:v5.9 --trace /dev/stdout";
    // With the trace on standard output, figures go to standard error.
    for (words, beside) in [("machine show epyc-7742-2p", false), (traced, true)] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fairground"))
            .args(words.split(' '))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let has_run = said.starts_with("machine   hikey\n") && said.contains("\nhash  ");
        assert_eq!((output.status.code(), said.is_empty(), has_run), (Some(0), !beside, beside), "{words}: {said}");
    }
}

/// In the middle of a long run: it ends as by the signal, and removes what it has not finished.
#[cfg(unix)]
#[test]
fn a_signal_leaves_no_file() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_fairground"))
            .args(["run", "hikey", "periodic:duration=3600", "--sched", "fair:v5.9", "--trace"])
            .arg(dir.path().join("trace.txt"))
            .spawn()
            .unwrap();
        while files(dir.path()).is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert!(files(dir.path()).is_empty(), "{signal}");
    }
}

/// The command is as good as done when the terminal has gone: it is not to end by that.
#[cfg(unix)]
#[test]
fn what_nohup_ignores_stays_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new("nohup")
        .args([
            env!("CARGO_BIN_EXE_fairground"),
            "run",
            "hikey",
            "periodic:duration=3600",
            "--sched",
            "fair:v5.9",
            "--trace",
        ])
        .arg(dir.path().join("trace.txt"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while files(dir.path()).is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let send = |signal: &str| Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(send("-HUP").success() && send("-TERM").success());
    assert_eq!(child.wait().unwrap().code(), Some(143), "not 129");
}

/// Two threads for three rounds, and one that is forked: a file each, with a head and a line a round.
#[test]
fn logs_have_a_file_for_each_thread_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.json");
    let text = r#"{ "tasks": { "t": { "instance": 2, "loop": 3, "run": 1000, "timer": { "ref": "unique", "period": 5000 } },
        "p": { "loop": 1, "fork": "c", "run": 100 }, "c": { "instance": 0, "loop": 1, "run": 100 } },
        "global": { "log_basename": "../x" } }"#;
    std::fs::write(&file, text).unwrap();
    let logged = |name: &str| {
        let logs = dir.path().join(name);
        std::fs::create_dir(&logs).unwrap();
        let words = format!("run hikey960 {} --sched fair:v6.12 --format json", file.display());
        assert_eq!(succeeds(&words), succeeds(&format!("{words} --rtapp-logs {}", logs.display())));
        let names = files(&logs);
        let texts = names.iter().map(|name| std::fs::read_to_string(logs.join(name)).unwrap());
        (names.clone(), texts.collect::<Vec<String>>())
    };
    let (names, texts) = logged("a");
    assert_eq!(names, ["%2e.%2fx-c-3-0000.log", "%2e.%2fx-p-2.log", "%2e.%2fx-t-0.log", "%2e.%2fx-t-1.log"]);
    assert_eq!(texts.iter().map(|t| t.lines().count()).collect::<Vec<_>>(), [2, 2, 4, 4]);
    assert!(texts.iter().all(|t| t.starts_with("#idx     perf      run   period ")), "{texts:?}");
    assert_eq!((names, texts), logged("b"), "same inputs, same bytes");
}

#[test]
fn logs_need_a_file_in_rt_apps_grammar_and_a_directory_and_come_of_whole_runs_only() {
    refuses("run hikey960 sched-pipe --sched fair:v5.9 --rtapp-logs .", &["`sched-pipe` is not a file in rt-app"]);
    refuses(
        "run hikey960 sched-pipe --sched fair:v5.9 --trace t --rtapp-marks",
        &["`sched-pipe` is not a file in rt-app", "--rtapp-marks"],
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.json");
    // The second thread is never woken: the run fails when the first is done.
    let text = r#"{ "tasks": { "t": { "loop": 3, "run": 1000 }, "u": { "loop": 1, "suspend": "" } } }"#;
    std::fs::write(&file, text).unwrap();
    let words = |logs: &str| {
        format!("run hikey960 {} --sched fair:v6.12 --rtapp-logs {}{logs}", file.display(), dir.path().display())
    };
    refuses(&words("/none"), &["cannot write logs into", "expected a directory that is there"]);
    let ran = super::fairground(&words(""));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("f.json:1:") && ran.stderr.contains("waits for condition variable `u`"),
        "{}",
        ran.stderr
    );
    assert_eq!(files(dir.path()), ["f.json"]);
}

#[test]
fn a_trace_replaces_no_machine_and_no_workload() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["mine.toml", "mine.json"] {
        let file = dir.path().join(name);
        std::fs::write(&file, "mine").unwrap();
        let words = format!("run hikey960 sched-pipe:loops=5 --sched fair:v6.12 --trace {}", file.display());
        refuses(&words, &["this is no file of a trace, and would be replaced"]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    }
}

/// A directory stands where the second log is to be.
#[test]
fn logs_are_all_there_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let (file, logs) = (dir.path().join("f.json"), dir.path().join("logs"));
    let text = r#"{ "tasks": { "t": { "instance": 2, "loop": 1, "run": 1000 } }, "global": { "log_basename": "x" } }"#;
    std::fs::write(&file, text).unwrap();
    std::fs::create_dir_all(logs.join("x-t-1.log")).unwrap();
    let words = format!("run hikey960 {} --sched fair:v6.12 --rtapp-logs {}", file.display(), logs.display());
    let ran = super::fairground(&words);
    assert!(ran.code != 0 && ran.stderr.contains("cannot write logs into"), "{}", ran.stderr);
    assert_eq!(files(&logs), ["x-t-1.log"]);
}

/// What is asked for beside the events that a trace has anyway is in all formats, and changes neither the run nor the
/// other events.
#[test]
fn load_tracking_and_marks_of_rt_app_are_told_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let tour = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/rt-app-tour.json:duration=0.5");
    let run = |name: &str, more: &str| {
        succeeds(&format!("run hikey960 {tour} --sched fair:v6.12 --governor schedutil --trace {} {more}", at(name)))
    };
    let plain = run("plain.txt", "");
    for name in ["more.txt", "more.dat", "more.pftrace"] {
        assert_eq!(run(name, "--util-events --rtapp-marks"), plain);
    }
    let lines = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    let asked = |line: &&str| [" sched_pelt_", " sched_util_est_", ": rtapp_"].iter().any(|event| line.contains(event));
    let more = lines("more.txt");
    let without: Vec<&str> = more.lines().filter(|line| !asked(line)).collect();
    assert_eq!(without, lines("plain.txt").lines().collect::<Vec<_>>());
    for what in [
        "sched_pelt_se: ",
        "sched_pelt_cfs: ",
        "sched_util_est_se: ",
        "sched_util_est_cfs: ",
        "rtapp_loop: event=start ",
        "rtapp_stats: period=",
    ] {
        assert!(more.contains(what), "{what}");
    }
    let stats = succeeds(&format!("stats latency {}", at("more.txt")));
    for other in ["more.dat", "more.pftrace"] {
        assert_eq!(succeeds(&format!("stats latency {}", at(other))), stats, "{other}");
        let same = succeeds(&format!("diff {} {}", at("more.txt"), at(other)));
        let counts: Vec<&str> = same.lines().filter_map(|l| l.strip_suffix(" choose the same CPU")).collect();
        assert!(counts.iter().any(|c| c.split_once(" of ").is_some_and(|(a, b)| a == b)), "{same}");
    }
}

/// Each file of rt-app has several of them.
#[test]
fn keys_without_effect_have_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.json");
    let text = r#"{ "tasks": { "t": { "loop": 3, "run": 1000 } }, "global": { "gnuplot": true, "logdir": "./", "lock_pages": false } }"#;
    std::fs::write(&file, text).unwrap();
    let said = crate::fairground(&format!("run hikey {} --sched fair:v5.9", file.display())).stderr;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(
        lines[0].contains("`gnuplot`, `logdir`, `lock_pages` have no effect here; `fairground workload check`"),
        "{said}"
    );
}

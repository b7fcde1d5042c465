use super::{fairground, files, refuses, succeeds};

#[test]
fn unknown_names_suggest_the_nearest() {
    refuses("compare hikey690 sched-pipe --base fair:v5.9 --test fair:v5.11", &["hikey690", "did you mean `hikey960`"]);
    refuses(
        "compare hikey960 sched-pip --base fair:v5.9 --test fair:v5.11",
        &["sched-pip", "did you mean `sched-pipe`"],
    );
    refuses("compare hikey960 sched-pipe:lops=3 --base fair:v5.9 --test fair:v5.11", &["lops", "loops"]);
    refuses("reproduce 007", &["007", "asym-prev-first"]);
    refuses("run nowhere/x.toml sched-pipe --sched fair:v5.9", &["nowhere/x.toml"]);
    refuses(
        "compare hikey960 sched-pipe --base fair:v5.9 --test fair:v5.11 --format jsno",
        &["jsno", "did you mean json"],
    );
    refuses(
        "compare hikey960 sched-pipe --base fair:v5.9 --test fair:v5.11 --fail-if ops_per_sce<0",
        &["ops_per_sce", "did you mean ops_per_sec"],
    );
}

#[test]
fn cpus_that_a_machine_does_not_have_are_refused_with_those_it_has() {
    let run = |machine: &str| format!("run {machine} sched-pipe --sched fair:v5.9");
    refuses(&run("kunpeng920@node4"), &["there is no node 4", "kunpeng920 has node0 to node3 and CPUs 0-95"]);
    refuses(&run("kunpeng920@nod1"), &["did you mean @node1"]);
    refuses(&run("hikey@6-9"), &["there is no CPU 8-9", "hikey has node0 and CPUs 0-7"]);
    refuses(&run("hikey@"), &["names no CPU"]);
    refuses(&run("hikye@0"), &["did you mean `hikey`"]);
    refuses("machine check hikey@0-3", &["part of a machine", "say `hikey`"]);
    refuses("calibrate hikey@0-3", &["part of a machine"]);
}

#[test]
fn schedulers_are_refused_by_name() {
    refuses("run hikey sched-pipe --sched linux:nobody", &["unknown kernel `linux:nobody`", "fairground kernel"]);
    refuses("run hikey sched-pipe --sched linux:./no.so", &["linux:./no.so", "there is no such file"]);
    refuses("bench --sched linux:./no.so", &["linux:./no.so", "there is no such file"]);
    refuses("run hikey sched-pipe --sched v5.9", &["v5.9", "fair:PRESET"]);
    refuses("run hikey sched-pipe --sched cfs:v5.9", &["cfs", "fair:v5.9"]);
    refuses("run hikey sched-pipe --sched fair:v5.9+asym-prev-frist", &["asym-prev-frist"]);
}

#[test]
fn senseless_numbers_are_refused() {
    refuses("compare hikey sched-pipe --base fair:v5.9 --test fair:v5.11 --seeds 0", &["--seeds"]);
    refuses("compare hikey sched-pipe --base fair:v5.9 --test fair:v5.11 --jobs 0", &["--jobs"]);
    refuses(
        "run hikey sched-pipe --sched fair:v5.9 --seed -1",
        &["invalid value '-1' for '--seed <N>'", "expected 0 to"],
    );
    refuses(
        "compare hikey sched-pipe --base fair:v5.9 --test fair:v5.11 --seeds -1",
        &["invalid value '-1' for '--seeds <N>'"],
    );
    refuses("compare hikey sched-pipe --base fair:v5.9 --test fair:v5.11 --hz 123", &["--hz", "250"]);
    refuses("compare hikey sched-pipe --base fair:v5.9 --test fair:v5.11 --fail-if ops_per_sec", &["no comparison"]);
    refuses("bench --seconds 0", &["--seconds"]);
    refuses(
        "compare hikey sched-pipe --base fair:v5.9 --test fair:v5.11 --cpu-limit 0",
        &["--cpu-limit", "0.1 to 1000000"],
    );
    refuses("run hikey sched-pipe --sched fair:v5.9 --memory-limit 1", &["--memory-limit", "256"]);
}

#[test]
fn a_file_that_cannot_be_written_is_known_before_the_work() {
    refuses(
        "compare hikey sched-pipe --base fair:v5.9 --test fair:v5.11 --output nowhere/at/all.txt",
        &["cannot write nowhere/at/all.txt: there is no directory nowhere/at"],
    );
    refuses("run hikey sched-pipe --sched fair:v5.9 --trace nowhere/at/all.txt", &["cannot write"]);
}

#[test]
fn files_that_are_not_there_are_told_in_the_same_words() {
    for words in
        ["workload check no.json", "machine show no.toml", "machine capture no.dts", "stats latency no", "explain no"]
    {
        refuses(words, &["cannot read", "there is no such file"]);
    }
    let dir = tempfile::tempdir().unwrap();
    let load = dir.path().join("load.json").display().to_string();
    std::fs::write(&load, r#"{ "tasks": { "a": { "run": 1000, "loop": 1 } } }"#).unwrap();
    refuses(&format!("run hikey {load} --sched fair:v5.9 --rtapp-logs no"), &["into no: there is no such directory"]);
}

/// A recording cannot be made again. Options behind a file's name do not hide it, nor does another way to it.
#[test]
fn no_output_replaces_what_the_command_reads() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let around = dir.path().join("..").join(dir.path().file_name().unwrap()).display().to_string();
    let (load, trace, board) = (path("load.json"), path("t.txt"), path("board.toml"));
    std::fs::write(&load, r#"{ "tasks": { "a": { "run": 1000, "loop": 1 } } }"#).unwrap();
    std::fs::write(&board, succeeds("machine show hikey --toml")).unwrap();
    succeeds(&format!("run {board} {load} --sched fair:v5.9 --trace {trace}"));
    let kept = [&load, &trace, &board].map(|file| std::fs::read(file).unwrap());
    let commands = [
        format!("run hikey {load}:duration=1 --sched fair:v5.9 --trace {around}/load.json"),
        format!("run {board}@0-3 {load} --sched fair:v5.9 --trace {board}"),
        format!("import {trace} -o {around}/t.txt"),
        format!("import {trace} -o {board}"),
        format!("compare {board} {load} --base fair:v5.9 --test fair:v5.11 --output {load}"),
        format!("replay {trace} --output {trace}"),
        format!("machine capture {trace} --output {trace}"),
    ];
    commands.iter().for_each(|words| refuses(words, &["cannot write", "this command reads it", "name another file"]));
    assert_eq!([&load, &trace, &board].map(|file| std::fs::read(file).unwrap()), kept);
    // The trace is the command's own.
    succeeds(&format!("run {board} {load} --sched fair:v5.9 --trace {trace}"));
}

#[test]
fn a_refused_command_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("x.txt");
    refuses(
        &format!("compare hikey sched-pip --base fair:v5.9 --test fair:v5.11 --output {}", out.display()),
        &["sched-pip"],
    );
    assert!(files(dir.path()).is_empty());
}

#[test]
fn commands_that_are_not_there_do_not_pretend() {
    let help = fairground("--help").stdout;
    assert!(!help.contains("\n  export "), "{help}");
    refuses("export", &["unrecognized subcommand"]);
}

#[test]
fn errors_are_plain_where_they_are_piped() {
    let message = fairground("compare hikey690 sched-pipe --base fair:v5.9 --test fair:v5.11").stderr;
    assert!(message.is_ascii() && !message.contains('\x1b'), "{message}");
}

/// A thread waits for a signal that no thread sends: that is legal, warned about, and a deadlock.
pub const DEADLOCK: &str = r#"{
    "tasks": { "a": { "run": 1000, "lock": "m", "wait": { "ref": "x", "mutex": "m" }, "unlock": "m", "loop": 1 } },
    "global": { "duration": -1 }
}"#;

#[test]
fn a_run_that_fails_exits_with_1_says_why_and_keeps_its_trace() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deadlock.json");
    std::fs::write(&path, DEADLOCK).unwrap();
    let trace = dir.path().join("trace.txt");
    let words = format!("run hikey {} --sched fair:v5.9 --trace {}", path.display(), trace.display());
    let ran = fairground(&words);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("deadlock"), "{}", ran.stderr);
    assert!(ran.stderr.contains("trace.txt ends where the run failed"), "{}", ran.stderr);
    assert_eq!(files(dir.path()), ["deadlock.json", "trace.txt"]);
    let text = std::fs::read_to_string(&trace).unwrap();
    assert!(text.ends_with('\n'), "whole lines");
    let last = text.lines().rfind(|l| l.contains(": sched_switch: ")).unwrap();
    assert!(last.contains("prev_comm=a-0") && last.contains("prev_state=1"), "the thread goes to sleep: {last}");
}

#[test]
fn a_workload_that_nothing_ends_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("endless.json");
    std::fs::write(&path, "{ \"tasks\": {\n \"a\": { \"run\": 1000 } } }").unwrap();
    let file = path.display();
    let parts = ["endless.json:2:2", "`a-0`: loops for ever", "FILE:duration=10"];
    refuses(&format!("run hikey {file} --sched fair:v5.9"), &parts);
    refuses(&format!("compare hikey {file} --base fair:v5.9 --test fair:v5.11"), &parts);
    succeeds(&format!("run hikey {file}:duration=0.01 --sched fair:v5.9"));
    refuses(&format!("workload check {file}"), &parts);
    assert!(succeeds(&format!("workload check {file}:duration=10")).contains("1 thread template, 0 warnings\n"));
}

/// Each with its line, and in the same words by both.
#[test]
fn bad_cpusets_are_refused_by_check_and_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sets.json");
    let file = path.display();
    let cases = [
        ("\"/a\": {\n \"cpuset.cpus\": \"0-9\" }", "", ["sets.json:2:", "0-9", "0 to 7"]),
        (
            "\"/a\": { \"cpu.weight\": 100 }",
            ",\n \"cgroup\": { \"ref\": \"/b\", \"cpuset.cpus\": \"1\" }",
            ["sets.json:2:", "`/b`, which no task is in", "/a"],
        ),
        ("\"/a\": {\n \"cpuset.cpu\": \"0\" }", "", ["sets.json:2:", "`cpuset.cpu`", "`cpuset.cpus`"]),
    ];
    for (files, event, parts) in cases {
        let tasks = format!("\"t\": {{ \"taskgroup\": \"/a\", \"loop\": 1, \"run\": 1000{event} }}");
        std::fs::write(&path, format!("{{ \"cgroups\": {{ {files} }}, \"tasks\": {{ {tasks} }} }}")).unwrap();
        refuses(&format!("workload check {file} --machine hikey"), &parts);
        refuses(&format!("run hikey {file} --sched fair:v6.12"), &parts);
    }
}

#[test]
fn cpus_that_cannot_go_offline_are_refused_by_check_and_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("offline.json");
    let file = path.display();
    let cases = [
        ("{ \"cpus\": \"8\", \"from\": 20000 }", ["CPUs 8 go offline", "machine with CPUs 0-7"]),
        ("{ \"cpus\": \"0-7\", \"from\": 20000 }", ["all others already are", "leave one CPU online"]),
        ("{ \"cpus\": \"1\", \"from\": 20000, \"to\": 20000 }", ["from 20000 to 20000 us", "leave `to` out"]),
        ("{ \"cpus\": \"2\", \"from\": 20000 }", ["`k-1` is a kernel thread", "bind it to another"]),
        ("{ \"cpus\": \"3\", \"from\": 20000 }", ["the interrupts of `disk` come", "on another CPU"]),
    ];
    for (span, [what, help]) in cases {
        let tasks = "\"t\": { \"loop\": 1, \"run\": 1000 }, \"k\": { \"kthread_cpu\": 2, \"loop\": 1, \"run\": 10 }";
        let irqs = "\"disk\": { \"cpu\": 3, \"period\": 5000, \"busy\": 5 }";
        let text = format!("{{ \"tasks\": {{ {tasks} }}, \"interrupts\": {{ {irqs} }},\n \"offline\": [ {span} ] }}");
        std::fs::write(&path, text).unwrap();
        let parts = ["offline.json", what, help];
        refuses(&format!("workload check {file} --machine hikey"), &parts);
        refuses(&format!("run hikey {file} --sched fair:v6.12"), &parts);
    }
}

#[test]
fn a_duration_that_no_run_may_take_is_refused_where_it_stands() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.json");
    std::fs::write(&path, "{ \"tasks\": { \"a\": { \"run\": 1000 } },\n \"global\": { \"duration\": 7200 } }").unwrap();
    let file = path.display();
    let parts = ["long.json:2:26", "`duration` is 7200 s", "expected up to 3600", "FILE:duration=10"];
    refuses(&format!("workload check {file}"), &parts);
    refuses(&format!("run hikey {file} --sched fair:v5.9"), &parts);
    succeeds(&format!("run hikey {file}:duration=0.01 --sched fair:v5.9"));
}

#[test]
fn failed_runs_are_part_of_the_result() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deadlock.json");
    std::fs::write(&path, DEADLOCK).unwrap();
    let ran = fairground(&format!(
        "compare hikey {} --base fair:v5.9 --test fair:v5.11 --seeds 2 --format json",
        path.display()
    ));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let result: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(result["failures"].as_array().map(Vec::len), Some(4));
    assert!(ran.stderr.contains("run failed: fair:v5.9 seed 1: deadlock"), "{}", ran.stderr);
}

/// A workload file of one line asks for a lot of threads: nearly 1 GiB for each run at once.
#[test]
fn a_run_that_does_not_fit_the_memory_is_refused_with_an_estimate() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("many.json");
    std::fs::write(&file, r#"{"tasks":{"t":{"instance":300000,"loop":-1,"run":1000}},"global":{"duration":1}}"#)
        .unwrap();
    for option in ["", "--in-worker"] {
        let mut shell = std::process::Command::new("sh");
        // The limit of a shell, in KiB, is the command's too.
        let ran: crate::Ran = shell
            .args(["-c", "ulimit -v 700000; exec \"$0\" run hikey960 \"$1\" --sched fair:v5.11 $2"])
            .args([std::path::Path::new(env!("CARGO_BIN_EXE_fairground")), &file, option.as_ref()])
            .output()
            .unwrap()
            .into();
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
        let message = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(message.contains("a run of 300000 threads takes about 878 MiB, and "), "{option}: {message}");
    }
}

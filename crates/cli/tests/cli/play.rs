use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{fairground, json, refuses, succeeds, Ran};

/// A bound that nothing here comes near.
const BOUND: Duration = Duration::from_secs(120);

/// A file whose two tasks of this name never end.
fn endless(dir: &Path, name: &str) -> String {
    let path = dir.join("endless.json");
    let text = format!(r#"{{ "tasks": {{ "{name}": {{ "instance": 2, "loop": -1, "run": 100, "sleep": 1000 }} }} }}"#);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Two tasks whose names begin so. Each executes a program, and then never ends.
fn endless_programs(dir: &Path, name: &str) -> String {
    let path = dir.join("programs.json");
    let phases = r#"{ "first": { "loop": 1, "execve": 1 }, "then": { "loop": -1, "run": 100, "sleep": 1000 } }"#;
    let task = |n: &str| format!(r#""{name}{n}": {{ "process": "{n}", "phases": {phases} }}"#);
    std::fs::write(&path, format!(r#"{{ "tasks": {{ {}, {} }} }}"#, task("a"), task("b"))).unwrap();
    path.display().to_string()
}

/// Threads of any process whose names begin so and live: a zombie is gone, whoever is to await it.
fn threads_named(name: &str) -> usize {
    let entries = |path: std::path::PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    let threads = entries("/proc".into()).flat_map(|process| entries(process.path().join("task")));
    // ID (COMM) STATE ...
    let is_one = |stat: String| {
        let (comm, state) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(") "))?;
        Some(comm.starts_with(name) && !state.starts_with(['Z', 'X']))
    };
    threads.filter(|t| std::fs::read_to_string(t.path().join("stat")).ok().and_then(is_one) == Some(true)).count()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < BOUND, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn rounds_are_played_and_their_figures_printed() {
    let result = json("play sched-pipe:loops=300,threads --rounds 2 --seed 5 --format json");
    assert_eq!(result["schema"], "fairground-play-1");
    let rounds = result["rounds"].as_array().unwrap();
    for (round, seed) in rounds.iter().zip([5, 6]) {
        assert_eq!((&round["seed"], &round["operations"]), (&seed.into(), &300.into()));
        assert_eq!((&round["ended"], &round["threads"]), (&"complete".into(), &3.into()));
    }
    assert_eq!(rounds.len(), 2);
    let ops = &result["metrics"][0];
    assert_eq!((&ops["name"], &ops["n"]), (&"ops_per_sec".into(), &2.into()));
    let [least, median, greatest] = ["least", "median", "greatest"].map(|key| ops[key].as_f64().unwrap());
    assert!(0.0 < least && least <= median && median <= greatest, "{ops}");
    assert!(result["calibration"]["iteration_ns"].as_f64().unwrap() > 0.0);
    let text = succeeds("play ../../workloads/measured.json:duration=0.1 --rounds 1");
    assert!(text.contains("sample_samples") && text.contains("switches_voluntary"), "{text}");
}

#[test]
fn what_cannot_be_played_is_refused() {
    refuses("play dbench", &["object `file system` is a kernel mutex", "`fairground run` simulates it"]);
    refuses("play shed-pipe", &["did you mean `sched-pipe`?"]);
    refuses("play sched-pipe --cpus 500", &["CPUs 500 are not to be had"]);
    refuses("play sched-pipe --rounds 0", &["--rounds"]);
    refuses("play hackbench:groups=400,fds=20", &["only played with --yes", "16001 threads"]);
}

#[test]
fn what_exceeds_its_time_is_ended_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let name = format!("ct{}-", std::process::id());
    let file = endless(dir.path(), &name);
    let Ran { code, stdout, stderr } = fairground(&format!("play {file} --timeout 1"));
    assert_eq!(code, 1, "{stdout}{stderr}");
    assert!(stdout.contains("round 1 was ended after 1 s"), "{stdout}");
    assert!(stderr.contains("warning") && stderr.contains("loops for ever"), "{stderr}");
    assert_eq!(threads_named(&name), 0);
}

/// With the caller go its processes: when it is interrupted before it ends, when it is killed soon after.
#[test]
fn nothing_survives_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let files: [fn(&Path, &str) -> String; 2] = [endless, endless_programs];
    for ((signal, marker), file) in
        [("INT", "ci"), ("KILL", "ck"), ("TERM", "cs")].into_iter().flat_map(|s| files.map(|f| (s, f)))
    {
        let name = format!("{marker}{}-", std::process::id());
        let file = file(dir.path(), &name);
        let mut play = Command::new(env!("CARGO_BIN_EXE_fairground"))
            .args(["play", &file, "--timeout", "600"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("its threads come into being", || threads_named(&name) == 2);
        let sent = Command::new("kill").args([&format!("-{signal}"), &play.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let code = play.wait().unwrap().code();
        if signal == "INT" {
            assert_eq!((code, threads_named(&name)), (Some(130), 0));
        }
        wait_until(signal, || threads_named(&name) == 0);
    }
}

/// Where the tracer can be used, what the kernel schedules is in a file that `stats` and `import` read; elsewhere the
/// message says what is missing, before anything is played.
#[test]
fn a_round_is_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pipe.dat").display().to_string();
    let probe = format!("/sys/kernel/tracing/instances/test-{}", std::process::id());
    let has_tracer = std::fs::create_dir(&probe).and_then(|()| std::fs::remove_dir(&probe)).is_ok();
    let command = format!("play sched-pipe:loops=200,threads --rounds 1 --trace {file} --trace-buffer 4");
    if !has_tracer {
        refuses(&command, &["events of the kernel cannot be recorded", "that takes root, and tracefs"]);
        assert!(!Path::new(&file).exists());
        return;
    }
    let play = Command::new(env!("CARGO_BIN_EXE_fairground"))
        .args(command.split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let instance = format!("/sys/kernel/tracing/instances/fairground-{}", play.id());
    let Ran { code, stdout, stderr } = play.wait_with_output().unwrap().into();
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stderr.contains("pipe.dat: ") && stderr.contains(" events of the kernel"), "{stderr}");
    assert!(!Path::new(&instance).exists());
    let latency = succeeds(&format!("stats latency {file}"));
    assert!(latency.contains("sched-pipe") || latency.contains("writer"), "{latency}");
    assert!(!latency.contains("damaged") && !latency.contains("truncated"), "{latency}");
}

/// A stand-in for rt-app, which fails unless it gets the file. It prints no figure, so there is none but what the system counts.
#[test]
fn a_file_is_run_by_rt_app_in_its_place() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("one.json");
    let events = r#"{ "loop": 1, "stamp": "s", "run": 10, "sample": { "ref": "s" } }"#;
    std::fs::write(&file, format!(r#"{{ "tasks": {{ "t": {events} }} }}"#)).unwrap();
    let tool = dir.path().join("rt-app");
    std::fs::write(&tool, "#!/bin/sh\ngrep -q sample \"$1\" && [ $# = 1 ]\n").unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap_or_default());
    let names = |options: &str| -> Vec<String> {
        let mut play = Command::new(env!("CARGO_BIN_EXE_fairground"));
        play.arg("play").arg(&file).args(["--rounds", "2", "--format", "json"]).args(options.split_whitespace());
        let Ran { code, stdout, stderr } = play.env("PATH", &path).output().unwrap().into();
        assert_eq!(code, 0, "{stdout}{stderr}");
        let result: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        let metrics = result["metrics"].as_array().unwrap().iter();
        metrics.map(|metric| metric["name"].as_str().unwrap().to_owned()).collect()
    };
    let counted = ["wall_s", "cpu_s", "switches_voluntary", "switches_involuntary"];
    assert_eq!(names("--with rt-app"), counted);
    let own = names("");
    assert!(own.contains(&"sample_mean_us".to_owned()) && own.ends_with(&counted.map(str::to_owned)), "{own:?}");
}

/// A stand-in for hackbench, which says how it was called.
#[test]
fn the_tool_that_a_built_in_repeats_runs_in_its_place() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let with = |script: &str, options: &str| -> Ran {
        let tool = dir.path().join("hackbench");
        std::fs::write(&tool, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap_or_default());
        let mut play = Command::new(env!("CARGO_BIN_EXE_fairground"));
        play.args(["play", "hackbench:groups=2,loops=40,scale=1/4,pipe", "--with", "hackbench"]).env("PATH", path);
        play.args(options.split_whitespace()).output().unwrap().into()
    };
    let Ran { code, stdout, stderr } = with("echo Running; echo Time: 0.25", "--rounds 2 --format json");
    assert_eq!(code, 0, "{stdout}{stderr}");
    let result: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(result["tool"], "hackbench -g 2 -l 10 -s 100 -f 20 -p -P");
    let time = &result["metrics"][0];
    assert_eq!((&time["name"], &time["median"], &time["n"]), (&"time_s".into(), &1.0.into(), &2.into()));
    assert!(result["calibration"].is_null() && result["rounds"][0]["seed"].is_null());

    let Ran { code, stderr, .. } = with("echo no room; exit 3", "--rounds 1");
    assert!(code == 1 && stderr.contains("failed (exit status: 3): no room"), "{stderr}");
    let Ran { code, stderr, .. } = with("echo done", "--rounds 1");
    assert!(code == 1 && stderr.contains("printed no figure that is known; its last line: done"), "{stderr}");
    let Ran { code, stdout, .. } = with("sleep 600", "--rounds 1 --timeout 1");
    assert!(code == 1 && stdout.contains("round 1 was ended after 1 s"), "{stdout}");
    // With the caller goes the tool.
    let pid = dir.path().join("pid");
    let script = format!("#!/bin/sh\necho $$ > {0}.part && mv {0}.part {0}\nexec sleep 600\n", pid.display());
    std::fs::write(dir.path().join("hackbench"), script).unwrap();
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap_or_default());
    let mut play = Command::new(env!("CARGO_BIN_EXE_fairground"));
    play.args(["play", "hackbench", "--with", "hackbench", "--timeout", "600"]).env("PATH", path);
    let mut play = play.stdout(Stdio::null()).spawn().unwrap();
    wait_until("the tool runs", || pid.exists());
    let tool = std::fs::read_to_string(&pid).unwrap();
    let lives = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", tool.trim())).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    };
    assert!(lives());
    play.kill().unwrap();
    play.wait().unwrap();
    wait_until("the tool goes", || !lives());

    refuses("play sched-pipe --with rt-app", &["rt-app does not do what sched-pipe does"]);
    refuses("play ../../workloads/ping-pong.json --with rt-app", &["rt-app does not do what", "without pipes"]);
    refuses("play ../../workloads/measured.json:duration=1 --with rt-app", &["files without options after the name"]);
    refuses("play schbench --with perf", &["perf does not do what schbench does"]);
    refuses("play sched-pipe --with lmbench", &["expected one of perf, hackbench, rt-app"]);
}

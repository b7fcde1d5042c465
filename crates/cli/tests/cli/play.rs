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
    for (signal, marker) in [("INT", "ci"), ("KILL", "ck"), ("TERM", "cs")] {
        let name = format!("{marker}{}-", std::process::id());
        let file = endless(dir.path(), &name);
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

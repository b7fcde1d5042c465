//! Runs in processes of their own, through the real command; `fair:` stands in for a kernel.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{fairground, files, json, refuses, succeeds};

#[test]
fn a_worker_gives_what_the_command_itself_gives() {
    for words in [
        "run hikey960 sched-pipe:loops=300,threads --sched fair:v6.12 --format json",
        "run juno-r2 ../../workloads/rt-app-tour.json --sched fair:v5.11 --hz 1000 --governor powersave --format json",
        "compare hikey960 sched-pipe:loops=200,threads --base fair:v5.9 --test fair:v5.11 --seeds 3 --format json",
    ] {
        assert_eq!(succeeds(words), succeeds(&format!("{words} --in-worker")));
    }
}

#[test]
fn any_number_of_workers_gives_the_same_bytes() {
    let words = "compare hikey960 sched-pipe:loops=200,threads --base fair:v5.9 --test fair:v5.11 --seeds 4 --in-worker --check-determinism";
    let one = succeeds(&format!("{words} --jobs 1"));
    assert_eq!(one, succeeds(&format!("{words} --jobs 3")));
}

#[test]
fn a_trace_from_a_worker_is_the_same_file() {
    let dir = tempfile::tempdir().unwrap();
    let trace = |name: &str, more: &str| {
        let path = dir.path().join(name);
        let words = "run hikey960 sched-pipe:loops=100,threads --sched fair:v5.9 --why";
        succeeds(&format!("{words} --trace {} {more}", path.display()));
        std::fs::read_to_string(path).unwrap()
    };
    assert_eq!(trace("here.txt", ""), trace("there.txt", "--in-worker"));
    assert_eq!(files(dir.path()), ["here.txt", "there.txt"]);
}

#[test]
fn a_trace_from_a_worker_may_go_into_a_pipe() {
    let words = "run hikey960 sched-pipe:loops=100,threads --sched fair:v5.9 --in-worker --trace /dev/stdout";
    assert!(succeeds(words).contains("sched_switch"));
}

#[test]
fn a_run_that_fails_in_a_worker_fails_as_here() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deadlock.json");
    std::fs::write(&path, super::errors::DEADLOCK).unwrap();
    let words = format!("run hikey {} --sched fair:v5.9", path.display());
    let (here, there) = (fairground(&words), fairground(&format!("{words} --in-worker")));
    assert_eq!((there.code, &there.stderr), (1, &here.stderr));
    assert!(there.stderr.contains("deadlock at "));
}

#[test]
fn a_run_may_take_so_much_cpu_time() {
    let ran = fairground("run hikey periodic:tasks=20,duration=3000 --sched fair:v5.9 --in-worker --cpu-limit 0.3");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("0.3 s of CPU time, the limit set by --cpu-limit"), "{}", ran.stderr);
}

#[test]
fn worker_is_not_a_command_for_people() {
    refuses("worker", &["serves runs of `fairground` itself", "no job on standard input"]);
    assert!(!fairground("--help").stdout.contains("worker"));
}

/// Process ids of those whose parent is `parent`.
fn children(parent: u32) -> Vec<u32> {
    let of = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let entries = std::fs::read_dir("/proc").unwrap();
    let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
    names.filter(|pid| of(pid) == Some(parent)).filter_map(|pid| pid.parse().ok()).collect()
}

fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(600), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn workers_go_with_their_parent() {
    for signal in ["INT", "KILL"] {
        let mut parent = Command::new(env!("CARGO_BIN_EXE_fairground"))
            .args([
                "compare",
                "hikey",
                "periodic:tasks=1000,duration=3600",
                "--base",
                "fair:v5.9",
                "--test",
                "fair:v5.11",
                "--in-worker",
                "--jobs",
                "2",
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        soon("two workers", || children(parent.id()).len() == 2);
        let workers = children(parent.id());
        let killed = Command::new("kill").args([&format!("-{signal}"), &parent.id().to_string()]).status().unwrap();
        assert!(killed.success());
        parent.wait().unwrap();
        let gone =
            |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |s| s.contains(") Z "));
        soon("the workers' end", || workers.iter().all(gone));
        let mut said = String::new();
        parent.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(!said.contains("run failed"), "{said}");
    }
}

#[test]
fn a_progress_bar_is_for_terminals() {
    assert_eq!(fairground("run hikey sched-pipe:loops=100,threads --sched fair:v5.9 --in-worker").stderr, "");
}

#[test]
fn bench_measures_any_scheduler_in_a_worker_too() {
    let rows = json("bench --seconds 0.05 --sched fair:v5.11 --format json --in-worker");
    assert_eq!(rows["sched"], "fair:v5.11");
    assert!(rows["rows"].as_array().unwrap().iter().all(|r| r["ns_per_decision"].as_f64() > Some(0.0)));
}

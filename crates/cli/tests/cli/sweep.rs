//! `fairground sweep`: grids, and how it becomes the interpreter that has the package. What it does there is tested in `python/tests`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::{refuses, succeeds, Ran};

/// What the package's own command line takes.
const PACKAGE: &str = include_str!("../../../../python/fairground/sweeps/command.py");

fn with_python(dir: &Path, python: &str, words: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
    let command = command.env("FAIRGROUND_PYTHON", python).arg("sweep").args(words).current_dir(dir);
    command.output().expect("the binary runs").into()
}

/// A grid of two schedulers with two seeds, and a design of random points.
const GRID: &str = "experiment = { name = \"pipes\", seeds = 2 }\n\
    fixed = { machine = \"hikey960\", workload = \"sched-pipe:loops=20,threads\" }\n\
    axes = { sched = [\"fair:v5.9\", \"fair:v5.11\"] }\n";
const RANDOM: &str = "experiment = { name = \"pipes\", design = \"random\", points = 3 }\n\
    fixed = { machine = \"hikey960\", workload = \"sched-pipe:loops=20,threads\", sched = \"fair:v5.9\" }\n\
    axes = { features = { asym-prev-first = [false, true] } }\n";

/// A thread that waits for ever on a semaphore of which nobody knows, and one more that ends.
const WAITS: &str = r#"{ "tasks": { "t": { "loop": 2, "run": 100 }, "u": { "loop": 1, "sem_wait": "s" } } }"#;

/// A directory with both.
fn experiments() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("grid.toml"), GRID).unwrap();
    std::fs::write(dir.path().join("random.toml"), RANDOM).unwrap();
    std::fs::write(dir.path().join("-odd.toml"), RANDOM).unwrap();
    dir
}

fn sweep_in(dir: &Path, words: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
    // No interpreter is to be found.
    let command = command.env("FAIRGROUND_PYTHON", "/nowhere/python").arg("sweep").args(words).current_dir(dir);
    command.output().expect("the binary runs").into()
}

#[test]
fn a_grid_needs_no_python() {
    let dir = experiments();
    let status = |expected: &str| {
        let ran = sweep_in(dir.path(), &["grid.toml", "--store", "kept", "--status"]);
        assert_eq!((ran.stdout.as_str(), ran.code), (expected, 0), "{}", ran.stderr);
    };
    let ran = sweep_in(dir.path(), &["grid.toml", "--store", "kept", "--jobs", "2"]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("pipes: 4 of 4 runs\n", 0), "{}", ran.stderr);
    status("pipes: 4 of 4 runs\n");
    std::fs::write(dir.path().join("grid.toml"), GRID.replace("seeds = 2", "seeds = 3")).unwrap();
    status("pipes: 4 of 6 runs, 2 left\n");
    assert_eq!(sweep_in(dir.path(), &["grid.toml", "--store", "kept"]).stdout, "pipes: 6 of 6 runs\n");
    // compare has the same runs under the same keys.
    let words = ["compare", "hikey960", "sched-pipe:loops=20,threads", "--base", "fair:v5.9", "--test", "fair:v5.11"];
    let store = fairground_run::store::Store::open(&dir.path().join("kept")).unwrap();
    let before = store.len().unwrap();
    let mut compare = Command::new(env!("CARGO_BIN_EXE_fairground"));
    let compare = compare.args(words).args(["--seeds", "3", "--doubt", "0", "--store", "kept"]).current_dir(dir.path());
    assert!(compare.output().unwrap().status.success());
    assert_eq!((before, store.len().unwrap()), (6, 6));
}

#[test]
fn the_table_of_a_grid_needs_no_python() {
    let dir = experiments();
    let written = |name: &str, words: &[&str]| {
        let ran = sweep_in(dir.path(), &[&["grid.toml", "--store", "kept", "--output", name], words].concat());
        assert_eq!((ran.stdout.as_str(), ran.code), ("pipes: 4 of 4 runs\n", 0), "{}", ran.stderr);
        std::fs::read_to_string(dir.path().join(name)).unwrap()
    };
    let (csv, json) = (written("t.csv", &[]), written("t.json", &["--status"]));
    assert_eq!(csv, written("again.csv", &["--jobs", "1"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0][..3], ["sched", "seed", "hash"]);
    let made = "version,commit,program_hash,machine_hash,workload_hash,kernel_hash,settings,figures,workload_estimates,command";
    assert!(csv.lines().next().is_some_and(|head| head.ends_with(made)), "{csv}");
    assert_eq!(json["command"], "fairground sweep grid.toml");
    let places: Vec<&[&str]> = rows[1..].iter().map(|row| &row[..2]).collect();
    assert_eq!(places, [["fair:v5.9", "1"], ["fair:v5.9", "2"], ["fair:v5.11", "1"], ["fair:v5.11", "2"]]);
    let run = "run hikey960 sched-pipe:loops=20,threads --sched fair:v5.11 --seed 2 --format json --metrics all";
    let run = crate::json(run);
    let column = rows[0].iter().position(|name| *name == "energy_j").unwrap();
    let energy = run["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == "energy_j").unwrap();
    assert_eq!(run["hash"], rows[4][2]);
    assert_eq!(rows[4][column], energy["value"].to_string());
    assert_eq!((&json["rows"][3]["hash"], &json["rows"][3]["energy_j"]), (&run["hash"], &energy["value"]));
    assert_eq!(json["metrics"]["energy_j"], serde_json::json!({ "unit": "J", "better": "lower" }));
}

/// The first point has no result, so that rows do not begin with it.
#[test]
fn rows_say_what_they_were_made_from() {
    let dir = experiments();
    let workloads = "workload = [\"w.json\", \"sched-pipe:loops=20\", \"dbench:clients=2,duration=1\"]";
    let text = GRID.replace("sched = [", &format!("{workloads}, sched = ["));
    std::fs::write(dir.path().join("w.json"), WAITS).unwrap();
    std::fs::write(dir.path().join("grid.toml"), text.replace(", workload = \"sched-pipe:loops=20,threads\"", ""))
        .unwrap();
    let ran = sweep_in(dir.path(), &["grid.toml", "--store", "kept", "--output", "t.json"]);
    assert!(ran.stdout.starts_with("pipes: 8 of 12 runs, 4 failed"), "{}{}", ran.stdout, ran.stderr);
    let table: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(dir.path().join("t.json")).unwrap()).unwrap();
    let rows = table["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for row in rows {
        let (workload, sched) = (row["workload"].as_str().unwrap(), row["sched"].as_str().unwrap());
        let run = crate::json(&format!("run hikey960 {workload} --sched {sched} --format json"));
        for name in ["machine_hash", "workload_hash", "workload_estimates"] {
            let there = &run["provenance"][name];
            let there = there.as_str().map_or_else(|| there.to_string(), str::to_owned);
            assert_eq!(row[name], there, "{name} of {workload}");
        }
    }
    assert_ne!(rows[0]["workload_hash"], rows[7]["workload_hash"]);
}

#[test]
fn a_table_that_cannot_be_written_is_refused_before_a_run() {
    let dir = experiments();
    std::fs::write(dir.path().join("grid.csv"), GRID).unwrap();
    for (words, part) in [
        (&["grid.toml", "--output", "t.txt"][..], "expected a name that ends in .csv, .json or .parquet"),
        (&["grid.toml", "--output", "nowhere/t.csv"], "there is no directory nowhere"),
        (&["grid.csv", "--output", "grid.csv"], "this command reads it"),
        (&["random.toml", "--output", "t.json"], "JSON is for grids"),
        (&["grid.toml", "--output", "t.json", "--report", "r.html"], "leave out --dask and --report"),
        (&["grid.toml", "--output", "t.parquet"], "/nowhere/python"),
        (&["random.toml", "--output", "t.csv"], "/nowhere/python"),
    ] {
        let ran = sweep_in(dir.path(), &[words, &["--store", "kept"]].concat());
        assert!(ran.code == 2 && ran.stderr.contains(part), "{words:?}: {} {}", ran.code, ran.stderr);
    }
    assert!(!dir.path().join("kept").exists());
}

#[test]
fn a_run_that_cannot_begin_is_a_failure_of_the_grid_and_leaves_the_others() {
    let dir = experiments();
    let text = GRID.replace("sched-pipe:loops=20,threads", "w.json");
    std::fs::write(dir.path().join("w.json"), WAITS).unwrap();
    std::fs::write(dir.path().join("grid.toml"), text).unwrap();
    let ran = sweep_in(dir.path(), &["grid.toml", "--store", "kept"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("pipes: 0 of 4 runs, 4 failed"), "{}", ran.stdout);
    assert_eq!(ran.stderr.matches("run failed: ").count(), 4, "{}", ran.stderr);
    let again = sweep_in(dir.path(), &["grid.toml", "--store", "kept", "--retry"]);
    assert_eq!((again.code, again.stdout), (1, ran.stdout));
}

#[test]
fn a_file_is_checked_without_a_run() {
    let dir = experiments();
    let said = sweep_in(dir.path(), &["grid.toml", "--check"]).stdout;
    assert!(said.starts_with("pipes: grid, 4 runs with seeds 1 to 2\n  machine: hikey960\n"), "{said}");
    assert!(said.contains("  axis sched: fair:v5.9, fair:v5.11\n"), "{said}");
    assert!(sweep_in(dir.path(), &["random.toml", "--check"]).stdout.starts_with("pipes: random, 24 runs"));
    std::fs::write(dir.path().join("grid.toml"), GRID.replace("axes", "axse")).unwrap();
    let ran = sweep_in(dir.path(), &["grid.toml", "--check"]);
    assert!(ran.code == 2 && ran.stderr.contains("did you mean `axes`"), "{}", ran.stderr);
    let missing = sweep_in(dir.path(), &["none.toml"]);
    assert!(missing.code == 2 && missing.stderr.contains("cannot read experiment file"), "{}", missing.stderr);
    assert!(!dir.path().join("kept").exists());
}

/// An interpreter that prints what it is to do, and ends with 7.
#[test]
fn the_interpreter_gets_all_words_and_its_exit_code_is_ours() {
    let dir = tempfile::tempdir().unwrap();
    let python = dir.path().join("python");
    std::fs::write(&python, "#!/bin/sh\nshift 2\nprintf '%s\\n' \"$@\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    let words = ["--jobs", "2", "--store=a dir", "--yes", "--output", "x.csv", "--retry", "--", "-odd.toml"];
    let experiments = experiments();
    let ran = with_python(experiments.path(), python.to_str().unwrap(), &words);
    let said = ["--store=a dir", "--output=x.csv", "--jobs=2", "--yes", "--retry", "--", "-odd.toml"];
    assert_eq!((ran.stdout.lines().collect::<Vec<_>>(), ran.code), (said.to_vec(), 7), "{}", ran.stderr);
}

/// The interpreter is given the program's code hash.
#[test]
fn the_interpreter_can_tell_whether_its_package_is_this_program() {
    let dir = tempfile::tempdir().unwrap();
    let python = dir.path().join("python");
    std::fs::write(&python, "#!/bin/sh\necho $FAIRGROUND_STUDY_CODE\n").unwrap();
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(
        with_python(experiments().path(), python.to_str().unwrap(), &["random.toml"]).stdout.trim(),
        fairground_run::key::CODE
    );
}

#[test]
fn a_missing_interpreter_is_reported() {
    let ran = with_python(experiments().path(), "/nowhere/python", &["random.toml"]);
    assert_eq!(ran.code, 2);
    for part in ["/nowhere/python", "FAIRGROUND_PYTHON", "3.10"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}

/// The interpreter runs apart from what the user has installed.
#[test]
fn an_interpreter_without_the_package_says_what_to_install() {
    let dir = tempfile::tempdir().unwrap();
    let python = dir.path().join("python");
    std::fs::write(&python, "#!/bin/sh\nexec python3 -I -S \"$@\"\n").unwrap();
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    let ran = with_python(experiments().path(), python.to_str().unwrap(), &["random.toml"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    for part in
        ["has no package fairground", "pip install", "FAIRGROUND_PYTHON", "grids none but for --report and Parquet"]
    {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}

#[test]
fn both_command_lines_take_the_same_options() {
    let of = |text: &str, quote: &str| {
        let mut options: Vec<String> = text
            .split(quote)
            .filter_map(|rest| rest.strip_prefix("--"))
            .map(|rest| rest.chars().take_while(char::is_ascii_lowercase).collect())
            .filter(|name: &String| !name.is_empty() && name != "help")
            .collect();
        options.sort();
        options.dedup();
        options
    };
    let mut ours = of(&succeeds("sweep --help"), " ");
    // Of all commands; what they do happens before the interpreter starts.
    // And `check` needs no interpreter.
    ours.retain(|name| !["check", "color", "quiet"].contains(&name.as_str()));
    assert_eq!(ours, of(PACKAGE, "\""));
}

#[test]
fn bad_words_are_refused_before_any_interpreter_starts() {
    refuses("sweep", &["FILE"]);
    refuses("sweep x.toml --jobs 0", &["--jobs"]);
    refuses("sweep x.toml --status --retry", &["--status"]);
}

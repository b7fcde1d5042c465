//! The before side: each script of `tests/before` edits a tree, and what is built from it must decide as our scheduler
//! does with the matching features, and not as it does without them. FAIRGROUND_TREE_6_12 and FAIRGROUND_TREE_6_1 name the
//! trees; a test whose tree is not named says so and passes.

#[path = "support/machines.rs"]
mod machines;
#[path = "support/trees.rs"]
mod trees;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use fairground_fair::Features;
use fairground_linux::build::{Kernels, Request};
use fairground_linux::conformance::{preset_for, Kind, Tally, WatchOptions, Watcher};
use fairground_linux::{die, Kernel, Linux};
use fairground_machine::{IdleScope, IdleState, Machine};
use fairground_sim::{Config, Engine};
use fairground_workload::Workload;
use machines::server;
use serde_json::Value;
use tempfile::TempDir;

/// Placements that must come out alike, %.
const GOAL: f64 = 99.9;

/// An edit may show in few placements: of those that differ without the matching features, one in so many may differ with them.
const MENDED: u64 = 100;

/// A script and what its head says.
struct Script {
    name: String,
    /// `6.1`, `6.12`.
    trees: Vec<String>,
    /// Ours with the matching features; `TREE` stands for the tree's release.
    scheduler: String,
    /// On what it shows.
    shape: String,
}

impl Script {
    fn read(path: &Path) -> Script {
        let text = fs::read_to_string(path).unwrap();
        let head = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("# {key}: ")));
            line.unwrap_or_else(|| panic!("{} has no line `# {key}: `", path.display())).to_string()
        };
        Script {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            trees: head("tree").split_whitespace().map(String::from).collect(),
            scheduler: head("scheduler"),
            shape: head("shape"),
        }
    }

    fn all() -> Vec<Script> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/before");
        let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|e| e == "sed"));
        paths.sort();
        paths.iter().map(|path| Script::read(path)).collect()
    }

    /// A copy of the tree `of` as it says, at `copy`, where an earlier one may be.
    fn apply(&self, of: &Path, copy: &Path) {
        if copy.exists() {
            fs::remove_dir_all(copy).unwrap();
        }
        let edited = edit(self.name.split(".6.").next().unwrap(), of, copy);
        assert!(edited.status.success(), "{}: {}", self.name, String::from_utf8_lossy(&edited.stderr));
    }
}

fn edit(name: &str, of: &Path, copy: &Path) -> Output {
    let edit = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/before/edit");
    Command::new(edit).arg(name).arg(of).arg(copy).output().unwrap()
}

/// A machine on which scripts show, and what runs there.
fn shape(name: &str) -> (Machine, &'static [&'static str]) {
    match name {
        "three-capacities" => {
            let mut m = Machine::symmetric(8);
            for cpu in &mut m.cpus {
                cpu.capacity = [250, 250, 250, 250, 600, 600, 1024, 1024][cpu.id as usize];
            }
            (m, &["referee/mix.json", "tests/before/hot.json"])
        }
        "clustered" => (server(48, 2, 4, 1), &["referee/mix.json", "referee/gather.json"]),
        "two-nodes-equal-exits" => {
            let mut m = server(32, 2, 0, 1);
            m.cpu_types[0].idle_states = equal_exits();
            (m, &["referee/storm.json"])
        }
        other => panic!("there is no shape {other:?}"),
    }
}

/// Two states that take as long to leave, and pay after different times.
fn equal_exits() -> Vec<IdleState> {
    let state = |name: &str, target_residency_ns: u64| IdleState {
        name: name.into(),
        scope: IdleScope::Cpu,
        exit_latency_ns: 40_000,
        target_residency_ns,
        ..IdleState::wfi()
    };
    vec![state("shallow", 50_000), state("deep", 700_000)]
}

/// Set in the child.
const JOB: &str = "FAIRGROUND_BEFORE_JOB";

/// One run of the referee, for [`referee`]: there is one kernel a process.
#[test]
fn child() {
    let Ok(job) = std::env::var(JOB) else { return };
    let words: Vec<&str> = job.split('\t').collect();
    let [library, name, workload, features] = words[..] else { panic!("{job}") };
    let machine = Arc::new(shape(name).0);
    let kernel = Kernel::load(Path::new(library)).unwrap();
    let workload = Path::new(env!("CARGO_MANIFEST_DIR")).join(workload);
    let (workload, _) = Workload::find(&workload.to_string_lossy(), &machine).unwrap();
    let features = Features::parse(features).unwrap();
    let (hz, unobserved) = (kernel.hz(), kernel.unobserved());
    let (watcher, found) = Watcher::new(&machine, &features, hz, &unobserved, WatchOptions::default()).unwrap();
    let mut linux = Linux::new(kernel, die).unwrap();
    linux.watch(Box::new(watcher));
    let config = Config { hz, ..Config::default() };
    Engine::new(machine, Arc::new(workload), Box::new(linux), config).run(&mut []).unwrap();
    let found = found.borrow();
    for disagreement in found.referee.disagreements() {
        eprintln!("{}", disagreement.text);
    }
    println!("\n= {}", found.referee.tally().json());
}

/// What came of showing the kernel's decisions to ours, on a shape.
fn referee(library: &Path, name: &str, features: &str) -> Tally {
    let mut sum = Tally::default();
    for workload in shape(name).1 {
        let job = [&library.to_string_lossy(), name, workload, features].join("\t");
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = command.args(["--exact", "child", "--nocapture"]).env(JOB, job).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}, {workload}, {features}: {error}");
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find_map(|line| line.strip_prefix("= ")).unwrap();
        let json: Value = serde_json::from_str(line).unwrap();
        sum.add(&Tally::from_json(&json).unwrap());
    }
    sum
}

/// Wakeups and forks: how many, and how many of them alike.
fn placed(tally: &Tally) -> (u64, u64) {
    let kinds = [Kind::Wake, Kind::Fork].into_iter().filter_map(|kind| tally.kind(kind));
    kinds.fold((0, 0), |(n, agree), kind| (n + kind.all.n, agree + kind.all.agree))
}

fn differ((n, agree): (u64, u64)) -> u64 {
    n - agree
}

fn pct((n, agree): (u64, u64)) -> f64 {
    100.0 * agree as f64 / n.max(1) as f64
}

/// All scripts for one tree.
fn check(version: &str, variable: &str) {
    let Some(of) = trees::tree(variable) else { return };
    let (dir, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = dir.path().join("tree");
    let kernels = Kernels::in_dir(cache.path().join("kernels"));
    let mut wrong = Vec::new();
    for script in Script::all().iter().filter(|s| s.trees.iter().any(|t| t == version)) {
        script.apply(&of, &tree);
        let request = Request { tree: tree.clone(), name: Some("before".into()), ..Request::default() };
        let kernel = kernels.build(&request, &mut |_| {}).unwrap_or_else(|e| panic!("{}: {e}", script.name)).kernel;
        let release = &kernel.record.release;
        let plain = preset_for(release).unwrap().to_string();
        let matching = script.scheduler.replace("TREE", release);
        let with = placed(&referee(&kernel.library, &script.shape, &matching));
        let without = placed(&referee(&kernel.library, &script.shape, &plain));
        let line =
            format!("{} on {version}: {:.4} % of {}, without {:.4} %", script.name, pct(with), with.0, pct(without));
        println!("= {line}");
        if pct(with) < GOAL || without.1 == without.0 || differ(with) * MENDED > differ(without) {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn edited_6_1_decides_as_ours_with_the_matching_features() {
    check("6.1", "FAIRGROUND_TREE_6_1");
}

#[test]
fn edited_6_12_decides_as_ours_with_the_matching_features() {
    check("6.12", "FAIRGROUND_TREE_6_12");
}

/// A tree of 6.12 in which nothing is where the scripts look for it.
fn strange_tree() -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir_all(tree.path().join("kernel/sched")).unwrap();
    fs::write(tree.path().join("Makefile"), "VERSION = 6\nPATCHLEVEL = 12\n").unwrap();
    fs::write(tree.path().join("kernel/sched/fair.c"), "int nothing;\n").unwrap();
    tree
}

#[test]
fn an_edit_that_does_not_fit_a_tree_says_why_and_leaves_nothing() {
    let tree = strange_tree();
    let copy = tree.path().join("copy");
    let refused = |name: &str, why: &str| {
        let output = edit(name, tree.path(), &copy);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(why), "{error}");
        assert!(!copy.exists());
    };
    refused("004-loop", "004-loop finds 0 of its 4 places");
    refused("004-loop-no-level", "edits kernel/sched/topology.c, and");
    refused("003-no-thermal", "003-no-thermal is for 6.1, and");
    refused("004-lop", "there is no 004-lop for 6.12; there are: ");
}

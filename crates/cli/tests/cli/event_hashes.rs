//! Event hashes of some hundred short runs are as recorded in `tests/hashes`: no change of code changes a run.
//!
//! A row is machine, workload, scheduler, seed, further options of `fairground run` (`-` for none) and hash, with tabs
//! between them. `fair.tsv` takes every machine, every built-in workload, every preset and governor, and every feature
//! that a preset leaves off or on, on a run which it changes where one was found. The workloads beside the tables
//! are the referee's of the same names, for one second. `linux.tsv` does the same on a smaller
//! scale for kernels built from Debian's sources; its first column names package and version, and under any other
//! version its rows are not compared.
//!
//! A deliberate change of physics or behaviour records the hashes again with `FAIRGROUND_RECORD_HASHES=1`, in a commit
//! of its own that names the mechanism, its source and the runs that moved.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use fairground_fair::{feature_details, features, Features, Visible};

use super::json;

/// The workspace: machines and workloads are named from there.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A row of a table, split at its tabs; the hash is the last field.
type Row = Vec<String>;

fn path(table: &str) -> PathBuf {
    Path::new(WORKSPACE).join("tests/hashes").join(table)
}

/// The comment at the head of a table, and its rows.
fn read(table: &str) -> (String, Vec<Row>) {
    let text = std::fs::read_to_string(path(table)).expect("a table");
    let (head, rows): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
    let rows = rows.iter().map(|row| row.split('\t').map(String::from).collect()).collect();
    (head.iter().map(|line| format!("{line}\n")).collect(), rows)
}

/// The hash of the run with these machine, workload, scheduler, seed and options.
fn hash(run: &[&str]) -> String {
    let [machine, workload, sched, seed, options] = run else { panic!("not five fields: {run:?}") };
    let workload = match workload.ends_with(".json") {
        true => format!("{WORKSPACE}/{workload}"),
        false => workload.to_string(),
    };
    let options = if *options == "-" { "" } else { options };
    let run = json(&format!("run {machine} {workload} --sched {sched} --seed {seed} --format json {options}"));
    run["hash"].as_str().expect("a hash").to_string()
}

/// Runs these rows on all cores and compares; with FAIRGROUND_RECORD_HASHES, writes a new table.
fn check(table: &str, rows: &mut [Row], run: &(dyn Fn(&Row) -> String + Sync)) -> String {
    let next = AtomicUsize::new(0);
    let found: Vec<std::sync::OnceLock<String>> = rows.iter().map(|_| Default::default()).collect();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let at = rows.iter().position(|other| std::ptr::eq(row, other)).expect("a row of these");
                    found[at].set(run(row)).expect("each row runs once");
                }
            });
        }
    });
    let mut moved = String::new();
    for (row, found) in rows.iter_mut().zip(found) {
        let found = found.into_inner().expect("every row ran");
        let recorded = row.last_mut().expect("a hash");
        if *recorded != found {
            *recorded = found;
            writeln!(moved, "{}", row.join(" ")).expect("text");
        }
    }
    match (moved.is_empty(), std::env::var_os("FAIRGROUND_RECORD_HASHES")) {
        (false, None) => panic!("{table}: these runs changed, and give now\n{moved}"),
        _ => moved,
    }
}

fn record(table: &str, head: &str, rows: &[Row]) {
    let text: String = rows.iter().map(|row| row.join("\t") + "\n").collect();
    std::fs::write(path(table), head.to_string() + &text).expect("a table that can be written");
}

#[test]
fn runs_of_our_scheduler_are_as_recorded() {
    let (head, mut rows) = read("fair.tsv");
    assert!(rows.len() >= 300, "{} rows", rows.len());
    let moved = check("fair.tsv", &mut rows, &|row| hash(&row[..5].iter().map(String::as_str).collect::<Vec<_>>()));
    if !moved.is_empty() {
        record("fair.tsv", &head, &rows);
    }
}

/// Visible features for which no pair of runs was found that only they decide; unit tests of the policy do.
const WITHOUT_A_RUN: [(&str, &str); 7] = [
    ("llc-phys", "needs partitions within a cache"),
    ("weight-in-map", "needs partitions within a domain"),
    ("est-delayed", "needs a delayed sleeper that becomes real-time"),
    ("freq-dl", "needs deadline tasks, which no workload has"),
    ("interval-reset", "six machines and four workloads of pinned and crowded tasks tried"),
    ("alb-gone", "five machines and five workloads of pinned and crowded tasks tried"),
    ("cache-packing", "needs several caches and asymmetric packing on one machine, which no preset has"),
];

/// What a run was, but for its scheduler, and its features and hash.
type FeatureRun<'a> = ((&'a str, &'a str, &'a str, &'a str), Features, &'a str);

fn feature_run(row: &Row) -> FeatureRun<'_> {
    ((&row[0], &row[1], &row[3], &row[4]), Features::parse(&row[2]).expect("a scheduler"), &row[5])
}

#[test]
fn each_visible_feature_decides_a_recorded_run() {
    let (_, rows) = read("fair.tsv");
    let runs: Vec<FeatureRun> = rows.iter().map(feature_run).collect();
    let mut decided = BTreeSet::new();
    for (at, (place, ours, hash)) in runs.iter().enumerate() {
        for (_, other, _) in runs[..at].iter().filter(|(other, _, theirs)| other == place && theirs != hash) {
            if let [id] = ours.differing(other)[..] {
                decided.insert(features()[id].name);
            }
        }
    }
    let visible = |name: &str| feature_details(name).is_some_and(|details| details.visible != Visible::Unmarked);
    let missing = features().iter().filter(|f| f.ready).map(|f| f.name);
    let mut missing: Vec<&str> = missing.filter(|name| visible(name) && !decided.contains(name)).collect();
    missing.sort_unstable();
    let mut expected = WITHOUT_A_RUN.map(|(name, _)| name);
    expected.sort_unstable();
    assert_eq!(missing, expected);
}

/// `FAIRGROUND_HASHED_KERNELS` lists kernels that are built, as `PACKAGE_VERSION=NAME`, with spaces between them.
#[test]
fn runs_of_kernels_are_as_recorded() {
    let Ok(kernels) = std::env::var("FAIRGROUND_HASHED_KERNELS") else { return };
    let kernels: Vec<(&str, &str)> = kernels.split_whitespace().filter_map(|k| k.split_once('=')).collect();
    let name = |row: &Row| kernels.iter().find(|(package, _)| row[0] == *package).map(|(_, name)| *name);
    let (head, all) = read("linux.tsv");
    let (mut rows, others): (Vec<Row>, Vec<Row>) = all.into_iter().partition(|row| name(row).is_some());
    for (package, _) in &kernels {
        if !rows.iter().any(|row| row[0] == *package) {
            println!("NOT COMPARED: tests/hashes/linux.tsv has no runs of {package}");
        }
    }
    let moved = check("linux.tsv", &mut rows, &|row| {
        let sched = format!("linux:{}", name(row).expect("a kernel"));
        hash(&[&row[1], &row[2], &sched, &row[3], &row[4]])
    });
    if !moved.is_empty() {
        rows.extend(others);
        rows.sort();
        record("linux.tsv", &head, &rows);
    }
}

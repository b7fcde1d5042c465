//! Tells the store which code its results are of: a hash of all sources that a run's figures come from.

use std::fs;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

/// What a run is computed by, below the workspace. What only lays results out is not among it: to change a table must
/// not cost hours of runs.
const SOURCES: [&str; 10] = [
    "Cargo.lock",
    "policy",
    "crates/machine",
    "crates/workload",
    "crates/sim",
    "crates/fair",
    "crates/run/src/batch.rs",
    "crates/run/src/experiment.rs",
    "crates/run/src/metrics",
    "crates/run/src/sched_spec.rs",
];

/// What a run of a study is computed by besides: presets are named there, and kernels run there too.
const OF_STUDIES: [&str; 13] = [
    "Cargo.toml",
    "machines",
    "crates/linux/Cargo.toml",
    "crates/linux/build",
    "crates/linux/build.rs",
    "crates/linux/kernel",
    "crates/linux/src",
    "crates/run/src/instrumented.rs",
    "crates/run/src/run_config.rs",
    "crates/run/src/kernel_compat.rs",
    "crates/run/src/run_spec.rs",
    "crates/run/src/worker",
    "crates/python/src/study.rs",
];

fn main() {
    let code = hashed(&SOURCES);
    println!("cargo::rustc-env=FAIRGROUND_CODE={code}");
    println!("cargo::rustc-env=FAIRGROUND_STUDY_CODE={}", hashed(&[&SOURCES[..], &OF_STUDIES].concat()));
}

/// Of these sources, 32 hex digits.
fn hashed(sources: &[&str]) -> String {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut hash = Xxh3::new();
    for source in sources {
        println!("cargo::rerun-if-changed={}", workspace.join(source).display());
        for file in files(workspace.join(source)) {
            let name = file.strip_prefix(&workspace).unwrap_or(&file);
            let text = fs::read(&file).unwrap_or_else(|e| panic!("cannot read {}: {e}", file.display()));
            for part in [name.as_os_str().as_encoded_bytes(), &text] {
                hash.update(&(part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
    }
    format!("{:032x}", hash.digest128())
}

/// The files at or below `path` in the order of their names, without those that editors and merges leave beside them.
fn files(path: PathBuf) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path];
    }
    let entries = fs::read_dir(&path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()));
    let left = |name: &[u8]| name.starts_with(b".") || name.ends_with(b"~") || name.ends_with(b".orig");
    let kept = entries.flatten().filter(|entry| !left(entry.file_name().as_encoded_bytes()));
    let mut below: Vec<PathBuf> = kept.map(|entry| entry.path()).collect();
    below.sort();
    below.into_iter().flat_map(files).collect()
}

//! Sets `FAIRGROUND_CODE` to the hash of all code that a run's result depends on. It is part of each result's key.

use std::path::Path;

#[path = "build/code_hash.rs"]
mod code_hash;
#[path = "build/strip.rs"]
mod strip;

fn main() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = code_hash::Sources::of(&workspace, env!("CARGO_PKG_NAME"))
        .unwrap_or_else(|problem| panic!("cannot hash the sources of runs: {problem}"));
    println!("cargo::rustc-env=FAIRGROUND_CODE={}", sources.hash());
    for path in sources.crates.iter().chain(&sources.named).chain([&"Cargo.lock".into(), &"Cargo.toml".into()]) {
        println!("cargo::rerun-if-changed={}", workspace.join(path).display());
    }
}

//! Builds the C policy and writes the Rust twins of its header.
//!
//! `policy/fg.h` declares every struct, constant and function. `features.h`, `rules.h`, `notes.h`,
//! `balance_rules.h` and `pick_rules.h` are tables of the features, of the placement rules, of the notes of a decision,
//! of the outcomes of balancing and of the reasons of picks.
//! This script reads them (crates/cheader) and writes `$OUT_DIR/fg.rs` (`build/twins.rs`) and `calls.rs`
//! (`build/calls.rs`). With the policy it compiles a table of `sizeof` and `offsetof`, which `ffi::check_layout`
//! compares with Rust's own.

#[path = "build/calls.rs"]
mod calls;
#[path = "build/twins.rs"]
mod twins;

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use fairground_cheader::{macro_calls, Header};

/// The C compiler's table of sizes and offsets.
const LAYOUT: &str = "fairground_layout";

fn main() {
    if let Err(message) = build() {
        eprintln!("error: {message}");
        process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(|e| e.to_string())?);
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|e| e.to_string())?);
    let policy = here.join("../../policy");
    println!("cargo:rerun-if-changed={}", policy.display());
    println!("cargo:rerun-if-changed=build");

    let header = Header::read(&policy.join("fg.h"), &Header::default())?;
    let table = |file: &str, name| {
        let path = format!("policy/{file}");
        macro_calls(&path, &read(&policy.join(file))?, name)
    };
    let tables = twins::Tables {
        features: table("features.h", "FG_FEATURE")?,
        rules: table("rules.h", "FG_RULE")?,
        notes: table("notes.h", "FG_NOTE")?,
        balance_rules: table("balance_rules.h", "FG_BALANCE_RULE")?,
        pick_rules: table("pick_rules.h", "FG_PICK_RULE")?,
    };
    let layout = twins::layout(&header, &tables);
    let calls = calls::rust(&header)?;
    let rust = twins::rust(&header, &tables)? + &layout.rust(LAYOUT) + &calls.functions;
    write(&out.join("fg.rs"), &rust)?;
    write(&out.join("calls.rs"), &calls.methods)?;
    let layout_c = out.join("layout.c");
    write(&layout_c, &layout.c("fg.h", LAYOUT))?;

    cc::Build::new()
        .include(&policy)
        .file(policy.join("policy.c"))
        .file(&layout_c)
        .std("c11")
        // A thirtieth faster than with 2.
        .opt_level(3)
        .flag("-fno-strict-aliasing")
        // No function can be interposed, so the compiler may inline all of them.
        .flag("-fvisibility=hidden")
        .flag_if_supported("-Wno-missing-field-initializers")
        .compile("fgpolicy");
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

//! One parser under libFuzzer; the environment variable `FUZZ_PARSER` names it. `tests/fuzz.sh` builds this with
//! coverage counters and runs it.
//!
//! One program holds all parsers, where cargo-fuzz has one for each: the crates are built and linked once.
#![no_main]

use std::sync::OnceLock;

use fairground_fuzz::{targets, Target};

static TARGET: OnceLock<&Target> = OnceLock::new();

/// The parser that the environment names.
fn target() -> &'static Target {
    TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_PARSER").unwrap_or_default();
        Target::find(&name).unwrap_or_else(|| {
            let known: Vec<_> = targets().iter().map(|target| target.name).collect();
            eprintln!("FUZZ_PARSER is {name:?}; expected one of {}", known.join(", "));
            std::process::exit(2);
        })
    })
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    target().parse(input);
});

//! Every parser, on what was found before and on some files that were changed at random.

use std::path::{Path, PathBuf};

use fairground_fuzz::{attempt, fuzz, targets, Target, Verdict};

/// Changed files for each parser; `fairground-fuzz` makes more.
const RUNS: u64 = 500;

fn target(name: &str) -> &'static Target {
    targets().iter().find(|target| target.name == name).expect("a parser")
}

/// Files that were not survived once: `found/PARSER/NAME`.
fn found(name: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("found").join(name);
    let files = dir.read_dir().into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    files
}

fn survives(name: &str) {
    let target = target(name);
    for file in found(name) {
        let input = std::fs::read(&file).expect("a file");
        attempt(target, &input).unwrap_or_else(|problem| panic!("{}: {problem}", file.display()));
    }
    let tally =
        fuzz(target, 0..RUNS, |_, _| {}).unwrap_or_else(|finding| panic!("run {}: {}", finding.run, finding.problem));
    assert!(tally.read > 0, "no change was harmless: nothing beyond the head of a file is tried");
    assert!(tally.refused > 0, "every change was harmless: nothing is tried");
}

macro_rules! parsers {
    ($($name:ident)*) => {
        $(#[test] fn $name() { survives(stringify!($name)); })*

        #[test]
        fn no_parser_is_forgotten() {
            let known: Vec<_> = targets().iter().map(|target| target.name).collect();
            assert_eq!(known, [$(stringify!($name)),*]);
            let dirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("found").read_dir().expect("a directory");
            for dir in dirs {
                let name = dir.expect("an entry").file_name().into_string().expect("a name");
                assert!(known.contains(&name.as_str()), "found/{name} is of no parser");
            }
        }
    };
}

parsers! { ftrace perf dat perfetto import rtapp recording workload subset machine tarball dtb }

/// What is looked for is noticed.
#[test]
fn a_parser_that_panics_is_found() {
    let fragile = Target {
        name: "fragile",
        about: "no even bytes",
        seeds: || vec![vec![1; 64]],
        words: &[],
        finish: |_| {},
        run: |input| {
            assert!(input.iter().all(|byte| byte % 2 == 1), "an even byte");
            Verdict::Read
        },
    };
    let finding = fuzz(&fragile, 0..1000, |_, _| {}).unwrap_err();
    assert!(finding.problem.contains("an even byte") && finding.input.iter().any(|byte| byte % 2 == 0));
    assert!(attempt(&fragile, &finding.input).is_err(), "the input alone does it");
}

//! Every parser, on its seeds and on the inputs that it did not survive once.

use std::path::{Path, PathBuf};

use fairground_fuzz::{targets, Target, Verdict};

/// Inputs that were not survived once: `found/PARSER/NAME`.
fn found(name: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("found").join(name);
    let files = dir.read_dir().into_iter().flatten().map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    files
}

fn survives(name: &str) {
    let target = Target::find(name).expect("a parser");
    for file in found(name) {
        let input = std::fs::read(&file).expect("a file");
        target.survives(&input).unwrap_or_else(|problem| panic!("{}: {problem}", file.display()));
    }
    let mut refused = 0;
    let mut survive = |input: &[u8], what: &str| match target.survives(input) {
        Ok(verdict) => refused += usize::from(verdict == Verdict::Refused),
        Err(problem) => panic!("{what}: {problem}"),
    };
    // Text traces leave bad lines out, and are refused only where nothing else comes.
    survive(&b"nothing that a parser takes\n".repeat(2000), "lines of words");
    for (n, seed) in (target.seeds)().iter().enumerate() {
        assert_eq!(target.survives(seed), Ok(Verdict::Read), "seed {n} of {name}");
        // A seed that ends too soon, anywhere in its last kilobyte, and one with a byte changed in its first.
        for cut in (seed.len().saturating_sub(1000)..seed.len()).step_by(37) {
            survive(&seed[..cut], &format!("seed {n}, {cut} bytes of it"));
        }
        for at in (0..seed.len().min(1000)).step_by(37) {
            let mut changed = seed.clone();
            changed[at] ^= 1 << (at % 8);
            survive(&changed, &format!("seed {n}, byte {at} changed"));
        }
    }
    assert!(refused > 0, "neither words nor a changed seed of {name} are refused");
}

macro_rules! parsers {
    ($($name:ident)*) => {
        $(#[test] fn $name() { survives(stringify!($name)); })*

        #[test]
        fn every_parser_is_tested() {
            let known: Vec<_> = targets().iter().map(|target| target.name).collect();
            assert_eq!(known, [$(stringify!($name)),*]);
            let dirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("found").read_dir().expect("a directory");
            for dir in dirs {
                let name = dir.expect("an entry").file_name().into_string().expect("a name");
                assert!(known.contains(&name.as_str()), "found/{name}: not the name of a parser");
            }
        }
    };
}

parsers! { ftrace perf dat perf_data perfetto import rtapp recording workload subset machine tarball dtb link }

#[test]
fn a_panic_is_reported() {
    let fragile = Target {
        name: "fragile",
        seeds: || vec![vec![1; 64]],
        words: &["a\n"],
        repair: |input| input.push(1),
        run: |input| {
            assert!(input.iter().all(|byte| byte % 2 == 1), "an even byte");
            Verdict::Read
        },
    };
    assert_eq!(fragile.survives(&[1, 3]), Ok(Verdict::Read));
    assert!(fragile.survives(&[1, 2]).unwrap_err().contains("an even byte"));
    assert_eq!(fragile.dictionary(), "\"\\x61\\x0a\"\n");
}

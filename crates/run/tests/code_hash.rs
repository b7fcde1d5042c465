//! A change of code that can influence a run gives its results another key; a change of a comment or a test does not.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../build/code_hash.rs"]
mod code_hash;
#[path = "../build/strip.rs"]
mod strip;

use code_hash::Sources;

const PACKAGE: &str = "fairground-run";

/// A copy of the sources of runs, in a temporary directory.
struct Copy {
    dir: tempfile::TempDir,
    sources: Sources,
}

impl Copy {
    fn new() -> Copy {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let sources = Sources::of(&workspace, PACKAGE).unwrap();
        let dir = tempfile::tempdir().unwrap();
        for path in sources.files.keys() {
            let to = dir.path().join(path);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(workspace.join(path), to).unwrap();
        }
        Copy { dir, sources }
    }

    fn hash(&self) -> String {
        Sources::of(self.dir.path(), PACKAGE).unwrap().hash()
    }

    /// The hash with `text` at the end of a file. Restores the file.
    fn with(&self, file: &Path, text: &str) -> String {
        let path = self.dir.path().join(file);
        let before = fs::read(&path).unwrap();
        fs::write(&path, [&before[..], text.as_bytes()].concat()).unwrap();
        let hash = self.hash();
        fs::write(&path, before).unwrap();
        hash
    }

    /// A source of each crate, and one of each directory outside of crates.
    fn one_source_each(&self) -> Vec<PathBuf> {
        let homes = self.sources.crates.iter().map(|dir| dir.join("src")).chain(self.sources.named.clone());
        let is_code = |file: &&PathBuf| file.extension().is_some_and(|e| ["rs", "c"].iter().any(|code| e == *code));
        let first =
            |home: PathBuf| self.sources.files.keys().filter(is_code).find(|file| file.starts_with(&home)).cloned();
        homes.filter_map(first).collect()
    }
}

#[test]
fn a_line_of_any_crate_that_can_influence_a_run_changes_the_key_and_no_comment_and_no_test_does() {
    let copy = Copy::new();
    let plain = copy.hash();
    assert_eq!(plain, copy.sources.hash(), "the copy is complete");
    let sources = copy.one_source_each();
    let crates: Vec<&str> = sources.iter().filter_map(|file| file.to_str()?.split("/src/").next()).collect();
    // Results depend on at least these crates.
    for name in ["machine", "workload", "sim", "fair", "trace", "linux", "run"] {
        assert!(crates.contains(&&*format!("crates/{name}")), "{name} is not among {crates:?}");
    }
    assert!(sources.iter().any(|file| file.starts_with("policy")), "policy is not among {sources:?}");
    let is_rust = |source: &Path| source.extension().is_some_and(|e| e == "rs");
    for source in &sources {
        let line = if is_rust(source) { "\nfn added() {}\n" } else { "\nint added;\n" };
        assert_ne!(copy.with(source, line), plain, "{}", source.display());
    }
    assert_ne!(copy.with(Path::new("Cargo.lock"), "x"), plain);
    for source in &sources {
        let path = copy.dir.path().join(source);
        let comment = if is_rust(source) { "// Added.\n#[cfg(test)]\nmod added { fn a() {} }" } else { "/* Added. */" };
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, format!("{text}\n{comment}\n")).unwrap();
    }
    assert_eq!(copy.hash(), plain, "comments and tests");
}

#[test]
fn a_crate_that_runs_begin_to_depend_on_is_hashed_and_files_of_tests_are_not() {
    let copy = Copy::new();
    let plain = copy.hash();
    let write = |path: &str, text: &str| {
        let path = copy.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("crates/extra/Cargo.toml", "[package]\nname = \"fairground-extra\"\n");
    write("crates/extra/src/lib.rs", "pub fn f() -> u8 { 1 }\n#[cfg(test)]\nmod kit;\n");
    assert_eq!(copy.hash(), plain, "no crate depends on it");
    let append = |path: &str, text: &str| {
        let before = fs::read_to_string(copy.dir.path().join(path)).unwrap();
        write(path, &format!("{before}\n{text}\n"));
    };
    append("Cargo.toml", "[workspace.dependencies]\nfairground-extra = { path = \"crates/extra\" }");
    append("crates/sim/Cargo.toml", "[dependencies]\nfairground-extra.workspace = true");
    let with_extra = copy.hash();
    assert_ne!(with_extra, plain);
    write("crates/extra/tests/all.rs", "fn t() {}");
    write("crates/extra/src/kit.rs", "fn t() {}");
    assert_eq!(copy.hash(), with_extra);
    write("crates/extra/src/lib.rs", "pub fn f() -> u8 { 2 }\n#[cfg(test)]\nmod kit;\n");
    assert_ne!(copy.hash(), with_extra);
}

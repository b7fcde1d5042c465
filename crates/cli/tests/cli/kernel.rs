//! `fairground kernel`, as far as it goes without a kernel.

use std::path::Path;
use std::process::Command;

use crate::Ran;

/// Runs `fairground kernel` with a cache of its own.
fn kernel(cache: &Path, words: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
    command.arg("kernel").args(words).env("FAIRGROUND_CACHE", cache).output().expect("the binary runs").into()
}

/// The same, expecting bad input and this in the message.
fn refuses(cache: &Path, words: &[&str], part: &str) {
    let ran = kernel(cache, words);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    let message = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains(part), "no {part:?} in\n{}", ran.stderr);
}

#[test]
fn the_help_of_build_says_whose_rights_a_tree_has() {
    let dir = tempfile::tempdir().unwrap();
    let help = kernel(dir.path(), &["build", "--help"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("A tree runs with your rights"), "{help}");
}

#[test]
fn what_the_system_says_is_said_once() {
    let dir = tempfile::tempdir().unwrap();
    let said = kernel(dir.path(), &["build", "/nowhere/linux"]).stderr;
    assert_eq!(said.matches("No such file").count(), 1, "{said}");
}

#[test]
fn a_cache_that_is_not_there_yet_lists_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("none");
    let said = kernel(&cache, &["list"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, ""));
    assert!(said.stderr.starts_with("note: no kernel is built: `fairground kernel build TREE`"), "{}", said.stderr);
    let list = kernel(&cache, &["list", "--format", "json"]).stdout;
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    assert_eq!(list, serde_json::json!({ "schema": "fairground-kernels-1", "kernels": [] }));
    assert!(!cache.exists(), "looking makes nothing");
}

#[test]
fn a_kernel_that_cannot_be_used_is_a_note_in_the_list() {
    let cache = tempfile::tempdir().unwrap();
    let dir = cache.path().join("kernels/mine");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("kernel.json"), "{}").unwrap();
    let ran = kernel(cache.path(), &["list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.starts_with("note: the cached kernel `mine` cannot be used"), "{}", ran.stderr);
}

#[test]
fn a_directory_that_is_not_a_kernel_tree_is_refused_with_what_it_lacks() {
    let (cache, tree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = tree.path().to_str().unwrap();
    refuses(
        cache.path(),
        &["build", path],
        "is not a kernel source tree: missing Makefile, Kconfig, scripts/Kconfig.include",
    );
    refuses(cache.path(), &["build", "/nowhere"], "cannot open /nowhere");
}

#[test]
fn a_name_or_an_option_that_cannot_be_is_refused_before_anything_is_built() {
    let (cache, tree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for file in
        ["Kconfig", "scripts/Kconfig.include", "include/linux/sched.h", "kernel/sched/sched.h", "kernel/sched/fair.c"]
    {
        let path = tree.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    std::fs::write(tree.path().join("Makefile"), "VERSION = 6\nPATCHLEVEL = 12\n").unwrap();
    let path = tree.path().to_str().unwrap();
    refuses(cache.path(), &["build", path, "--name", "../mine"], "`../mine` is not a valid kernel name");
    refuses(cache.path(), &["build", path, "--set", "HZ=1000"], "--set: `HZ=1000` sets no option");
    refuses(cache.path(), &["build", path, "--set", "CONFIG_PSI=y"], "CONFIG_PSI cannot be had here");
    let config = tree.path().join("my.config");
    std::fs::write(&config, "CONFIG_SMP=y\nwhat?\n").unwrap();
    refuses(
        cache.path(),
        &["build", path, "--config", config.to_str().unwrap()],
        "my.config:2: `what?` sets no option",
    );
    assert!(!cache.path().join("kernels").exists());
}

#[test]
fn a_referee_without_a_kernel_or_a_machine_says_what_there_is() {
    let cache = tempfile::tempdir().unwrap();
    refuses(cache.path(), &["agree", "mine"], "linux:mine");
    refuses(cache.path(), &["agree", "mine", "--shape", "two-node"], "did you mean two-nodes?");
    refuses(cache.path(), &["agree", "mine", "--shape", "pentagon"], "the shapes are one-llc, smt, clustered");
    refuses(cache.path(), &["agree", "mine", "--machine", "hikey690"], "hikey960");
    refuses(cache.path(), &["agree", "mine", "--decisions", "0"], "--decisions");
}

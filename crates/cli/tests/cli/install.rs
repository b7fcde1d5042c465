//! Completions and man pages, from the one definition of the command.

use std::process::Command;

use crate::{files, refuses, succeeds};

/// The candidates for the last of these words.
fn completed(words: &[&str]) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
    command.env("FAIRGROUND_COMPLETE", "bash").env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string()).arg("--").args(words);
    let output = command.output().expect("the binary runs");
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

#[test]
fn names_of_all_kinds_are_completed() {
    let has = |words: &[&str], expected: &[&str]| {
        let found = completed(words);
        let missing: Vec<&&str> = expected.iter().filter(|name| !found.iter().any(|f| f == **name)).collect();
        assert!(missing.is_empty(), "{words:?}: no {missing:?} in {found:?}");
        let typed = words.last().unwrap();
        assert!(found.iter().all(|name| name.starts_with(typed)), "{words:?}: {found:?}");
    };
    has(&["fairground", "comp"], &["compare", "completions"]);
    has(&["fairground", "run", "hik"], &["hikey", "hikey960"]);
    has(&["fairground", "run", "hikey", "sched"], &["sched-pipe"]);
    has(&["fairground", "run", "hikey", "hackbench:groups=3,lo"], &["hackbench:groups=3,loops="]);
    has(&["fairground", "compare", "a", "b", "--base", "fair:v5."], &["fair:v5.9", "fair:v5.11"]);
    has(&["fairground", "compare", "a", "b", "--test", "fair:v5.9+asym-p"], &["fair:v5.9+asym-prev-first"]);
    has(&["fairground", "feature", "show", "newidle-f"], &["newidle-fail"]);
    has(&["fairground", "reproduce", "asym"], &["asym-prev-first"]);
    has(&["fairground", "compare", "--form"], &["--format"]);
}

#[test]
fn each_shell_has_a_script() {
    for shell in ["bash", "zsh", "fish"] {
        let script = succeeds(&format!("completions {shell}"));
        assert!(script.contains("FAIRGROUND_COMPLETE") && script.contains(shell), "{script}");
    }
    refuses("completions tcsh", &["expected one of bash, zsh, fish"]);
}

/// bash takes the script, and names behind a colon are one word for it.
#[test]
fn bash_reads_the_script() {
    let script = succeeds("completions bash");
    let check = "complete -p fairground; case $COMP_WORDBREAKS in *:*) echo splits;; esac";
    let output = Command::new("bash").args(["-c", &format!("COMP_WORDBREAKS=' :='\n{script}\n{check}")]).output();
    let Ok(output) = output else { return };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("_clap_complete_fairground") && !printed.contains("splits"), "{printed}");
}

#[test]
fn each_command_has_a_man_page() {
    let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for dir in [&first, &second] {
        assert_eq!(succeeds(&format!("man {}", dir.path().display())), "");
    }
    let pages = files(first.path());
    for page in ["fairground.1", "fairground-compare.1", "fairground-kernel-build.1", "fairground-stats-latency.1"] {
        assert!(pages.iter().any(|name| name == page), "{page}: {pages:?}");
    }
    assert!(!pages.iter().any(|name| name.contains("worker")), "{pages:?}");
    for page in &pages {
        let [a, b] = [&first, &second].map(|dir| std::fs::read(dir.path().join(page)).unwrap());
        assert_eq!(a, b, "{page}: the same bytes");
    }
    let compare = std::fs::read_to_string(first.path().join("fairground-compare.1")).unwrap();
    assert!(compare.contains(".TH fairground-compare 1") && compare.contains("\\-\\-seeds"), "{compare}");
    refuses("man no/such/directory", &["cannot write man pages into no/such/directory"]);
}

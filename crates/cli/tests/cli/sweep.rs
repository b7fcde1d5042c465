//! `fairground sweep` becomes the interpreter that has the package. What it does there is tested in `python/tests`.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::{refuses, succeeds, Ran};

/// What the package's own command line takes.
const PACKAGE: &str = include_str!("../../../../python/fairground/sweeps/command.py");

fn with_python(python: &str, words: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
    command.env("FAIRGROUND_PYTHON", python).arg("sweep").args(words).output().expect("the binary runs").into()
}

/// An interpreter that prints what it is to do, and ends with 7.
#[test]
fn the_interpreter_gets_all_words_and_its_exit_code_is_ours() {
    let dir = tempfile::tempdir().unwrap();
    let python = dir.path().join("python");
    std::fs::write(&python, "#!/bin/sh\nshift 2\nprintf '%s\\n' \"$@\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    let words = ["--jobs", "2", "--store=a dir", "--yes", "--output", "x.csv", "--retry", "--", "-odd.toml"];
    let ran = with_python(python.to_str().unwrap(), &words);
    let said = ["--store=a dir", "--output=x.csv", "--jobs=2", "--yes", "--retry", "--", "-odd.toml"];
    assert_eq!((ran.stdout.lines().collect::<Vec<_>>(), ran.code), (said.to_vec(), 7), "{}", ran.stderr);
}

/// The interpreter is given the program's code hash.
#[test]
fn the_interpreter_can_tell_whether_its_package_is_this_program() {
    let dir = tempfile::tempdir().unwrap();
    let python = dir.path().join("python");
    std::fs::write(&python, "#!/bin/sh\necho $FAIRGROUND_STUDY_CODE\n").unwrap();
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(with_python(python.to_str().unwrap(), &["x.toml"]).stdout.trim(), fairground_run::key::CODE);
}

#[test]
fn a_missing_interpreter_is_reported() {
    let ran = with_python("/nowhere/python", &["x.toml"]);
    assert_eq!(ran.code, 2);
    for part in ["/nowhere/python", "FAIRGROUND_PYTHON", "3.10"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}

/// The interpreter runs apart from what the user has installed.
#[test]
fn an_interpreter_without_the_package_says_what_to_install() {
    let dir = tempfile::tempdir().unwrap();
    let python = dir.path().join("python");
    std::fs::write(&python, "#!/bin/sh\nexec python3 -I -S \"$@\"\n").unwrap();
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    let ran = with_python(python.to_str().unwrap(), &["x.toml"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    for part in ["has no package fairground", "pip install", "FAIRGROUND_PYTHON"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}

#[test]
fn both_command_lines_take_the_same_options() {
    let of = |text: &str, quote: &str| {
        let mut options: Vec<String> = text
            .split(quote)
            .filter_map(|rest| rest.strip_prefix("--"))
            .map(|rest| rest.chars().take_while(char::is_ascii_lowercase).collect())
            .filter(|name: &String| !name.is_empty() && name != "help")
            .collect();
        options.sort();
        options.dedup();
        options
    };
    let ours = succeeds("sweep --help");
    assert_eq!(of(&ours, " "), of(PACKAGE, "\""));
}

#[test]
fn bad_words_are_refused_before_any_interpreter_starts() {
    refuses("sweep", &["FILE"]);
    refuses("sweep x.toml --jobs 0", &["--jobs"]);
    refuses("sweep x.toml --look --retry", &["--look"]);
}

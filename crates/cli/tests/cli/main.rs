//! The command as a user runs it: one binary, modules by theme.

mod calibrate;
mod capture;
mod compare;
mod determinism;
mod errors;
mod event_hashes;
mod explain;
mod formats;
mod import;
mod install;
mod kernel;
mod measure;
mod patched;
mod play;
mod project;
mod regret;
mod replay;
mod reproduce;
mod review;
mod run;
mod stats;
mod sweep;
mod terminal;
mod validate;
mod view;
mod worker;

use std::path::Path;
use std::process::{Command, Output};

/// What the command did.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code().expect("not killed"),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

/// Words as a shell reads them: what stands between single quotes is one.
fn split(words: &str) -> Vec<&str> {
    let parts = words.split('\'').enumerate();
    parts.flat_map(|(i, part)| if i % 2 == 0 { part.split_whitespace().collect() } else { vec![part] }).collect()
}

/// Runs `fairground` with these words.
fn fairground(words: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
    command.args(split(words));
    // A store would answer the second of two that are to be alike, and is the user's unless it is named.
    if words.starts_with("compare ") && !words.contains("--store") {
        command.arg("--no-store");
    }
    // Draws are five times the runs.
    if words.starts_with("compare ") && !words.contains("--doubt") {
        command.args(["--doubt", "0"]);
    }
    command.output().expect("the binary runs").into()
}

/// The same, expecting success.
fn succeeds(words: &str) -> String {
    let ran = fairground(words);
    assert_eq!(ran.code, 0, "{words}\n{}{}", ran.stdout, ran.stderr);
    ran.stdout
}

/// The same, expecting success and JSON.
fn json(words: &str) -> serde_json::Value {
    serde_json::from_str(&succeeds(words)).expect("JSON")
}

/// The same, expecting bad input: nothing on standard output, and all of `parts` in the message.
fn refuses(words: &str, parts: &[&str]) {
    let ran = fairground(words);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{words}\n{}", ran.stderr);
    // Messages are wrapped: compare them word by word.
    let unwrapped = ran.stderr.replace("\n  | ", "\n");
    let message = unwrapped.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(message.contains(part), "{words}: no {part:?} in\n{}", ran.stderr);
    }
}

/// Names of the files in a directory, sorted.
fn files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a directory");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

//! The script of `machine capture --script`, under the shells that are there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairground_machine::{capture, capture_script, Capture, CaptureOptions};

use super::archives::capture_file;
use super::kit::Sysfs;
use super::trees;

/// What the script needs besides a shell.
const TOOLS: [&str; 6] = ["sh", "cat", "mkdir", "rm", "tar", "gzip"];

/// Shells, each with where its tools are: the usual ones, and nothing but busybox.
fn shells(dir: &Path) -> Vec<(&'static str, String)> {
    let usual = std::env::var("PATH").unwrap_or_default();
    let find = |name: &str| std::env::split_paths(&usual).map(|dir| dir.join(name)).find(|path| path.is_file());
    let mut shells = vec![("sh", usual.clone())];
    shells
        .extend(["dash", "mksh"].into_iter().filter(|shell| find(shell).is_some()).map(|shell| (shell, usual.clone())));
    match find("busybox") {
        None => eprintln!("SKIPPED: there is no busybox"),
        Some(busybox) => {
            let tools = dir.join("busybox-tools");
            fs::create_dir(&tools).expect("a directory");
            for tool in TOOLS {
                std::os::unix::fs::symlink(&busybox, tools.join(tool)).expect("a link");
            }
            shells.push(("sh", tools.display().to_string()));
        }
    }
    shells
}

/// Runs the script in a directory; the tarball and what was said on standard error.
fn run((shell, tools): &(&str, String), dir: &Path, words: &[&str]) -> (PathBuf, String) {
    let script = dir.join("capture.sh");
    fs::write(&script, capture_script()).expect("a script");
    let at = std::env::split_paths(tools).map(|dir| dir.join(shell)).find(|path| path.is_file()).expect("a shell");
    let mut command = Command::new(at);
    let ran = command.arg(&script).args(words).current_dir(dir).env("PATH", tools).output().expect("a shell");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{shell}, {tools}: {said}");
    (dir.join(words.first().unwrap_or(&"machine.tar.gz")), said)
}

fn capture_tarball(path: &Path) -> Capture {
    capture_file(path).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)))
}

#[test]
fn what_the_script_collects_is_all_that_is_read() {
    for (tree, all) in [(trees::big_little(), true), (trees::smt(), false), (trees::two_nodes(), false)] {
        let expected = tree.capture();
        let dir = tempfile::tempdir().expect("a directory");
        for shell in shells(dir.path()).into_iter().take(if all { usize::MAX } else { 1 }) {
            let (tarball, _) = run(&shell, dir.path(), &["m.tar.gz", &tree.root().display().to_string()]);
            let captured = capture_tarball(&tarball);
            assert_eq!((captured.machine, captured.notes), (expected.machine.clone(), expected.notes.clone()));
            assert!(!dir.path().join("m.tar.gz.d").exists(), "it cleans up");
        }
    }
}

#[test]
fn this_machine_is_the_same_by_the_script() {
    let sysfs = Path::new("/sys");
    if !sysfs.join("devices/system/cpu/cpu0/topology").is_dir() {
        eprintln!("SKIPPED: /sys shows no topology of this machine");
        return;
    }
    let options = CaptureOptions { from: sysfs.into(), debugfs: None, name: "captured".into(), like: None };
    let expected = capture(&options).expect("a machine");
    let dir = tempfile::tempdir().expect("a directory");
    for shell in shells(dir.path()) {
        let (tarball, _) = run(&shell, dir.path(), &[]);
        assert_eq!(capture_tarball(&tarball).machine, expected.machine);
    }
}

/// A cat that writes half of the tarball stands for a full disk.
#[test]
fn a_tarball_that_cannot_be_written_whole_does_not_stay() {
    let tree = Sysfs::new("0-1");
    let dir = tempfile::tempdir().expect("a directory");
    let tools = dir.path().join("tools");
    fs::create_dir(&tools).expect("a directory");
    let usual = std::env::var("PATH").unwrap_or_default();
    let full = format!("#!/bin/sh\nPATH={usual} cat \"$@\"\ncase $1 in all.tar*) exit 1 ;; esac\n");
    fs::write(tools.join("cat"), full).expect("a script");
    fs::set_permissions(tools.join("cat"), fs::Permissions::from_mode(0o755)).expect("a script");
    fs::write(dir.path().join("capture.sh"), capture_script()).expect("a script");
    let mut command = Command::new("sh");
    command.args(["capture.sh", "m.tar.gz"]).arg(tree.root()).current_dir(dir.path());
    let ran = command.env("PATH", format!("{}:{usual}", tools.display())).output().expect("a shell");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && said.contains("capture: cannot write"), "{said}");
    assert!(!dir.path().join("m.tar.gz").exists() && !dir.path().join("m.tar.gz.d").exists());
}

#[test]
fn what_cannot_be_read_is_said() {
    let tree = Sysfs::new("0-1");
    let dir = tempfile::tempdir().expect("a directory");
    for shell in shells(dir.path()) {
        let (_, said) = run(&shell, dir.path(), &["m.tar", &tree.root().display().to_string()]);
        assert!(said.contains("capture: nothing to read in kernel/debug/energy_model/*\n"), "{said}");
        assert!(!said.contains("nothing to read in devices/system/cpu\n"), "{said}");
        fs::remove_file(dir.path().join("m.tar")).expect("a tarball");
    }
}

/// In the tree, and beside one that is called `sys`, as `/proc` is beside `/sys`.
#[test]
fn the_script_collects_cpuinfo() {
    let text = "processor : 0\nvendor_id : AuthenticAMD\nmodel name : AMD EPYC 7742 64-Core Processor\n";
    let inside = trees::smt();
    inside.put("proc/cpuinfo", text);
    let beside = Sysfs::new("0");
    beside.put("sys/devices/system/cpu/online", "0");
    beside.put_dir("sys/devices/system/cpu/cpu0");
    beside.put("proc/cpuinfo", text);
    for tree in [inside.root().to_path_buf(), beside.root().join("sys")] {
        let dir = tempfile::tempdir().expect("a directory");
        let shell = ("sh", std::env::var("PATH").unwrap_or_default());
        let (tarball, said) = run(&shell, dir.path(), &["m.tar.gz", &tree.display().to_string()]);
        assert!(!said.contains("cpuinfo"), "{said}");
        let machine = capture_tarball(&tarball).machine;
        assert_eq!(machine.cpu_types[0].name, "AMD-EPYC-7742", "{}", machine.title);
        assert!(machine.title.contains("AMD EPYC 7742 64-Core Processor"), "{}", machine.title);
    }
}

use std::path::Path;

use super::{fairground, files, refuses, succeeds};

/// The least of a sysfs tree: two CPUs.
fn tiny(dir: &Path) -> String {
    let cpu = dir.join("devices/system/cpu");
    std::fs::create_dir_all(&cpu).unwrap();
    std::fs::write(cpu.join("online"), "0-1\n").unwrap();
    dir.display().to_string()
}

/// The captured file is what `machine capture` is for: it must load, pass its check and run.
fn describes_a_machine_that_runs(words: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("captured.toml");
    let text = succeeds(words);
    assert_eq!(text, succeeds(words), "twice the same");
    std::fs::write(&path, text).unwrap();
    let file = path.display();
    let check = succeeds(&format!("machine check {file}"));
    // epyc-7742-2p lends the time of a change of the clock, which is odd there too.
    let odd: Vec<&str> =
        check.lines().filter(|line| line.starts_with("warning: ") && !line.contains(".transition`: 1000 ns")).collect();
    assert!(odd.is_empty(), "{check}");
    succeeds(&format!("run {file} periodic:tasks=4,duration=1 --sched fair:v5.11"));
}

#[test]
fn this_machine_is_captured_and_runs() {
    if !Path::new("/sys/devices/system/cpu/cpu0/topology").is_dir() {
        eprintln!("SKIPPED: /sys shows no topology of this machine");
        return;
    }
    describes_a_machine_that_runs("machine capture");
}

#[test]
fn a_copied_tree_is_captured_and_runs() {
    let dir = tempfile::tempdir().unwrap();
    describes_a_machine_that_runs(&format!("machine capture --sysfs {} --name tiny", tiny(dir.path())));
}

#[test]
fn notes_go_to_standard_error_and_into_the_file() {
    let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = out.path().join("board.toml");
    let words = format!("machine capture --sysfs {} --output {} --like juno-r2", tiny(dir.path()), path.display());
    let ran = fairground(&words);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let text = std::fs::read_to_string(&path).unwrap();
    let note = "no cpuidle for CPUs 0-1: they are taken to have one shallow state\n";
    assert!(ran.stderr.contains(&format!("note: {note}")), "{}", ran.stderr);
    assert!(text.contains(&format!("# - {note}")) && text.contains("\"estimate: from juno-r2\""), "{text}");
}

#[test]
fn a_tree_that_cannot_be_captured_leaves_no_file() {
    let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = tiny(dir.path());
    let words = |tree: &str, more: &str| {
        format!("machine capture --sysfs {tree} --output {}/board.toml {more}", out.path().display())
    };
    refuses(&words("nowhere", ""), &["cannot read `nowhere`", "there is no such file"]);
    refuses(&words(&out.path().display().to_string(), ""), &["is not a sysfs tree", "mounted on /sys"]);
    refuses(&words(&tree, "--like hikey690"), &["did you mean `hikey960`"]);
    refuses(&words(&tree, "--name a/b"), &["`a/b` is not a valid machine name", "letters"]);
    refuses(&words(&tree, "--debugfs nowhere"), &["`nowhere` is not a debugfs tree"]);
    std::fs::write(dir.path().join("devices/system/cpu/online"), "0-one").unwrap();
    refuses(&words(&tree, ""), &["devices/system/cpu/online", "found `0-one`", "0-3,8"]);
    assert!(files(out.path()).is_empty());
}

/// The way of a machine elsewhere: the script there, its tarball here.
#[test]
fn the_scripts_tarball_is_captured_as_the_tree() {
    let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = tiny(dir.path());
    let (script, tarball) = (out.path().join("capture.sh"), out.path().join("machine.tar.gz"));
    std::fs::write(&script, succeeds("machine capture --script")).unwrap();
    let ran = std::process::Command::new("sh").arg(&script).arg(&tarball).arg(&tree).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(
        succeeds(&format!("machine capture {}", tarball.display())),
        succeeds(&format!("machine capture {tree}"))
    );
    refuses("machine capture --script --name x", &["--script", "cannot be used with"]);
    refuses(&format!("machine capture {tree} --sysfs {tree}"), &["--sysfs", "cannot be used with"]);
}

#[test]
fn a_device_tree_is_captured_and_runs() {
    let boards = concat!(env!("CARGO_MANIFEST_DIR"), "/../machine/tests/capture/boards");
    describes_a_machine_that_runs(&format!("machine capture {boards}/big-little.dtb --name board"));
    refuses(
        &format!("machine capture {boards}/big-little.dts"),
        &["big-little.dts", "source of a device tree", "dtc -I dts -O dtb", "device-tree-compiler"],
    );
}

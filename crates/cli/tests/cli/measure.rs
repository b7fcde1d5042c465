use std::process::Command;

use super::{refuses, succeeds, Ran};

/// A machine that this one is not: no test runs on 224 CPUs of that arrangement.
const OTHER: &str = "thunderx2-224";

#[test]
fn what_does_not_describe_this_machine_is_refused() {
    refuses(
        &format!("machine measure {OTHER}"),
        &["thunderx2-224 does not describe this machine", "captures this machine first"],
    );
    refuses("machine measure thunderx", &["unknown machine `thunderx`", "did you mean `thunderx2-224`?"]);
    refuses("machine measure /no/such.toml", &["cannot read machine file `/no/such.toml`"]);
}

#[test]
fn nothing_is_measured_for_a_file_that_cannot_be_written() {
    refuses(&format!("machine measure {OTHER} --write"), &["--write needs a machine file"]);
    refuses("machine measure --write", &["<FILE>"]);
    refuses("machine measure --output /no/such/directory/x.toml", &["there is no directory /no/such/directory"]);
    refuses("machine measure --rounds 2", &["--rounds"]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("broken.toml");
    std::fs::write(&path, succeeds("machine show hikey960 --toml").replace("[costs.soft]", "[costs.soft]\nsycall = 1"))
        .unwrap();
    let (file, before) = (path.display(), std::fs::read(&path).unwrap());
    refuses(&format!("machine measure {file} --write"), &["broken.toml", "unknown key `sycall`", "`syscall`"]);
    refuses(&format!("machine measure {file} --output {file}"), &["this command reads it"]);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
}

/// What a killed command left, of this or of `validate`, as their record says.
#[test]
fn what_a_killed_command_left_is_restored() {
    let dir = tempfile::tempdir().unwrap();
    let measure = |words: &str| -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
        command.args(["machine", "measure"]).args(words.split_whitespace());
        command.env("FAIRGROUND_STATE", dir.path()).output().expect("the binary runs").into()
    };
    assert_eq!(measure("--restore").stdout, "nothing to restore\n");
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let (knob, record) = (dir.path().join("disable"), dir.path().join("restore.jsonl"));
    let text = format!(
        "{{\"schema\":\"fairground-restore-1\",\"boot\":\"{}\"}}\n{{\"write\":{{\"path\":\"{}\",\"value\":\"0\"}}}}\n",
        boot.trim(),
        knob.display()
    );
    for words in ["--restore", OTHER] {
        std::fs::write(&knob, "1").unwrap();
        std::fs::write(&record, &text).unwrap();
        let Ran { stdout, stderr, .. } = measure(words);
        assert!(format!("{stdout}{stderr}").contains("disable is 0 again"), "{stdout}{stderr}");
        assert!(std::fs::read_to_string(&knob).unwrap() == "0" && !record.exists());
    }
    refuses("machine measure --restore --rounds 3", &["cannot be used with"]);
}

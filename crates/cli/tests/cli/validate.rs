use std::path::Path;
use std::process::{Command, Output};

use super::{refuses, succeeds, Ran};

/// Runs `fairground validate` with these words, its record in `dir`.
fn validate(dir: &Path, words: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
    command.arg("validate").args(words.split_whitespace()).env("FAIRGROUND_STATE", dir.join("state"));
    let output: Output = command.output().expect("the binary runs");
    output.into()
}

#[test]
fn the_matrix_is_listed_with_what_this_machine_cannot_do() {
    for half in ["learn", "judged"] {
        let list = succeeds(&format!("validate --list --half {half}"));
        assert!(list.contains("scheduler knobs") && list.contains("workload choices"), "{list}");
        assert!(list.contains(&format!("half {half}: ")) && list.contains("cells can be played here"), "{list}");
    }
    let quick = succeeds("validate --list --quick");
    assert!(quick.len() < succeeds("validate --list").len());
}

#[test]
fn what_it_cannot_take_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (words, parts) in [
        ("--only nise-all", ["there is no such knob in the half `learn`", "did you mean `nice-all`?"]),
        ("nowhere.toml", ["nowhere.toml", ""]),
        ("--sched fair:v1.0 --only transport", ["v1.0", "fair:"]),
        ("--only transport --out /dev/null/x", ["/dev/null/x", "cannot make"]),
        ("--table /nowhere", ["/nowhere", "--export"]),
    ] {
        let Ran { code, stdout, stderr } = validate(dir.path(), words);
        assert_eq!((code, stdout.as_str()), (2, ""), "{words}\n{stderr}");
        parts.iter().for_each(|part| assert!(stderr.contains(part), "{words}: no {part:?} in\n{stderr}"));
    }
    refuses("validate --seconds 0.01", &["expected 0.05 to 10"]);
    refuses("validate --half both", &["learn", "judged"]);
    refuses("validate --restore --quick", &["cannot be used with"]);
}

/// Really played, simulated on the captured machine, kept and gone on with.
#[test]
fn a_knob_is_played_simulated_and_scored() {
    let dir = tempfile::tempdir().unwrap();
    let words = |more: &str| {
        let out = dir.path().join("out").display().to_string();
        format!("--only ONE --rounds 3 --seconds 0.05 --doubt 3 --no-store --out {out} {more}").replace("ONE", LEARNED)
    };
    let Ran { code, stdout, stderr } = validate(dir.path(), &words("--format json"));
    assert_eq!(code, 0, "{stdout}{stderr}");
    let result: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&result["schema"], &result["half"]), (&"fairground-validate-1".into(), &"learn".into()));
    let cells = result["cells"].as_array().unwrap();
    assert!(!cells.is_empty() && cells.iter().all(|cell| cell["knob"] == LEARNED), "{stdout}");
    assert!(cells.iter().all(|cell| cell["measured"]["pairs"] == 3 && cell["predicted"]["draws"] == 3));

    // The same rounds, not played again: the same result, but for the command.
    let export = dir.path().join("result.json");
    let again = validate(dir.path(), &words(&format!("--no-play --export {}", export.display())));
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert!(again.stdout.contains("median of knobs"), "{}", again.stdout);
    let exported: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&export).unwrap()).unwrap();
    assert_eq!((&exported["cells"], &exported["conditions"]), (&result["cells"], &result["conditions"]));
    // Of a machine that is never as quiet as that.
    let strict = validate(dir.path(), &words("--no-play --busy 0 --format json"));
    let strict: serde_json::Value = serde_json::from_str(&strict.stdout).unwrap();
    let conditions = &strict["conditions"];
    let pairs = |key: &str| conditions[key].as_u64().unwrap();
    assert_eq!(pairs("pairs") + pairs("left_out"), result["conditions"]["pairs"].as_u64().unwrap());
    let table = validate(dir.path(), &format!("--table {}", dir.path().display()));
    assert!(table.stdout.contains("[result.json](validated/result.json)"), "{}{}", table.stdout, table.stderr);

    let other = validate(dir.path(), &words("").replace("0.05", "0.06"));
    assert_eq!((other.code, other.stdout.as_str()), (2, ""));
    assert!(other.stderr.contains("has rounds of") && other.stderr.contains("--out"), "{}", other.stderr);
    assert_eq!(validate(dir.path(), "--restore").stdout, "nothing to restore\n");
}

/// A knob of the half that is learned from, which any user can turn.
const LEARNED: &str = "nice-all";

/// A record that a killed command left: the next command says what it restores.
#[test]
fn a_record_that_is_left_is_restored() {
    let dir = tempfile::tempdir().unwrap();
    let knob = dir.path().join("knob");
    std::fs::write(&knob, "changed").unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let head = serde_json::json!({ "schema": "fairground-restore-1", "boot": boot.trim() });
    let undo = serde_json::json!({ "write": { "path": knob, "value": "as before" } });
    std::fs::create_dir_all(dir.path().join("state")).unwrap();
    let record = dir.path().join("state/restore.jsonl");
    std::fs::write(&record, format!("{head}\n{undo}\n{{\"write\":")).unwrap();
    let Ran { code, stdout, stderr } = validate(dir.path(), "--restore");
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("knob is as before again"), "{stdout}");
    assert_eq!(std::fs::read_to_string(&knob).unwrap(), "as before");
    assert!(!record.exists());
    std::fs::write(&record, "{}\n").unwrap();
    let Ran { code, stderr, .. } = validate(dir.path(), "--restore");
    assert_eq!(code, 2);
    assert!(stderr.contains("restore.jsonl, line 1"), "{stderr}");
}

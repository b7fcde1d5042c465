//! Replays the decisions in `tests/disagreements`: what was corrected stays corrected.

use std::fs;
use std::path::{Path, PathBuf};

use fairground_linux::conformance::{DisagreementCase, Replay};
use serde_json::{json, Value};

fn cases() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/disagreements");
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    cases.sort();
    cases
}

fn replay(path: &Path) -> Replay {
    let case = DisagreementCase::parse(&fs::read_to_string(path).unwrap());
    case.and_then(|case| case.replay()).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn a_decision_once_in_dispute_comes_out_as_its_name_says() {
    let cases = cases();
    assert!(!cases.is_empty());
    for path in cases {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let replay = replay(&path);
        match name.split('-').next() {
            Some("agrees") => assert_eq!(replay.ours, replay.kernel, "{name}: {replay:#?}"),
            Some("differs") => assert_ne!(replay.ours, replay.kernel, "{name}: {replay:#?}"),
            _ => panic!("{name}: expected a name that begins with agrees- or differs-"),
        }
    }
}

/// What the first case says if that member of its state were so.
fn changed(place: &str, value: Value) -> String {
    let mut case: Value = serde_json::from_str(&fs::read_to_string(&cases()[0]).unwrap()).unwrap();
    *case.pointer_mut(place).unwrap() = value;
    DisagreementCase::parse(&case.to_string()).unwrap().replay().unwrap_err().to_string()
}

/// The policy would read what is not there.
#[test]
fn a_state_with_other_cpus_than_its_machine_is_refused() {
    for count in [0, 7, 9, u32::MAX] {
        let expected = format!("case: sys.nr_cpus: the machine has 8, the state {count}");
        assert_eq!(changed("/sys/nr_cpus", json!(count)), expected);
    }
    let sys = json!({ "hz": 250, "nr_cpus": 8, "nr_tgs": 1 });
    assert_eq!(changed("/sys", sys), "case: sys.nr_tgs: the machine has 0, the state 1");
    assert_eq!(changed("/cpus/3/id", json!(300)), "case: cpus[3].id: expected 3, found 300");
}

#[test]
fn a_task_on_a_cpu_that_its_machine_lacks_is_refused() {
    for key in ["cpu", "recent_used"] {
        for cpu in [-1, 8, i32::MAX] {
            let task = json!([{ "id": 3, key: cpu }]);
            assert_eq!(changed("/tasks", task), format!("case: tasks[3].{key}: the machine has no CPU {cpu}"));
        }
    }
}

/// There is room for each task up to the highest number.
#[test]
fn a_task_with_a_number_beyond_all_is_refused() {
    let number = 1 << 20;
    let task = json!([{ "id": number }]);
    assert_eq!(changed("/tasks", task), format!("case: expected a task's number, found {number}"));
}

//! Replays the decisions in `tests/disagreements`: what was corrected stays corrected.

use std::fs;
use std::path::{Path, PathBuf};

use fairground_linux::agree::{Case, Replay};

fn cases() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/disagreements");
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    cases.sort();
    cases
}

fn replay(path: &Path) -> Replay {
    let case = Case::parse(&fs::read_to_string(path).unwrap());
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

//! Files that mean harm, or that an accident has spoilt: each is read, or refused at a place, soon and in little
//! memory.

use std::time::{Duration, Instant};

use fairground_machine::Machine;

use super::*;
use crate::testing::small_machine;

const TOUR: &str = include_str!("../../../../workloads/rt-app-tour.json");

/// Longer than any of these takes in a debug build on a busy machine, and far shorter than what squares or hangs.
const SOON: Duration = Duration::from_secs(600);

fn machine() -> Machine {
    small_machine(4)
}

/// Reads; what is read is fit to run, what is refused says where. The text of a refusal is short.
fn attempt(bytes: &[u8]) -> Result<RtappFile, String> {
    let begun = Instant::now();
    let read = read_text("f.json", bytes, &Dialect::default(), &machine());
    assert!(begun.elapsed() < SOON, "took {:?}", begun.elapsed());
    match read {
        Ok(read) => {
            assert!(
                read.workload.validate(&machine()).is_ok()
                    && read.log.as_ref().is_some_and(|log| log.fits(&read.workload))
            );
            Ok(read)
        }
        Err(WorkloadError::File(e)) => {
            let text = String::from_utf8_lossy(bytes);
            assert!((1..=text.lines().count() + 1).contains(&e.at.line), "{e}");
            let shown = miette::Report::new(*e);
            assert!(format!("{shown:?}").len() < 10_000, "a refusal of {} bytes", format!("{shown:?}").len());
            Err(format!("{shown}"))
        }
        Err(other) => Err(other.to_string()),
    }
}

fn refused(text: &str) -> String {
    attempt(text.as_bytes()).err().unwrap_or_else(|| panic!("was read: {}", text.chars().take(200).collect::<String>()))
}

fn file(task: &str) -> String {
    format!("{{ \"tasks\": {{ \"t\": {{ {task} }} }}, \"global\": {{ \"duration\": 1 }} }}")
}

#[test]
fn numbers_beyond_all_bounds_are_refused_at_their_place() {
    for (key, number) in [
        ("run", "9223372036854775808"),
        ("run", "9223372036854775807"),
        ("run", "1e3"),
        ("loop", "-9223372036854775809"),
    ] {
        let message = refused(&file(&format!("\n\"{key}\": {number}, \"sleep\": 1")));
        assert!(message.starts_with("f.json:2:"), "{message}");
    }
    let long = format!("\n\"run\": {}", "9".repeat(100_000));
    assert!(refused(&file(&long)).starts_with("f.json:2:8: too large a number"), "{:.80}", refused(&file(&long)));
}

#[test]
fn depth_without_end_is_refused() {
    for open in ["[", "{\"a\":", "{\"tasks\":{\"t\":{\"phases\":"] {
        assert!(refused(&open.repeat(100_000)).contains("nested too deeply"), "{open}");
    }
}

/// They would go to terminals, into traces and names of files.
#[test]
fn control_characters_in_names_are_refused() {
    for text in [
        "{ \"tasks\": {\n\"t\\u001b[31m\": { \"run\": 1 } } }".to_owned(),
        "{ \"tasks\": {\n\"t\u{7}\": { \"run\": 1 } } }".to_owned(),
        file("\n\"lock\": \"m\\n\", \"run\": 1"),
        file("\n\"suspend\": \"m\\u0000\", \"run\": 1"),
        file("\n\"timer\": { \"ref\": \"\\u0085\", \"period\": 5 }"),
        file("\n\"unknown\\t\": 1, \"run\": 1"),
    ] {
        let message = refused(&text);
        assert!(message.starts_with("f.json:2:") && message.contains("control character U+"), "{message}");
        assert!(!message.chars().any(char::is_control), "{message:?}");
    }
}

#[test]
fn every_truncation_is_read_or_refused_at_its_end() {
    for end in (0..TOUR.len()).filter(|i| TOUR.is_char_boundary(*i)) {
        let read = attempt(&TOUR.as_bytes()[..end]);
        assert!(read.is_err() || TOUR[end..].trim().is_empty(), "{end}");
    }
}

/// A refusal shows the place, not a line of megabytes.
#[test]
fn a_mistake_in_a_long_line_is_shown_short() {
    let events: String = (0..100_000).map(|i| format!("\"run{i}\": 1, ")).collect();
    assert!(refused(&file(&format!("{events} \"policy\": \"é\""))).contains("unknown policy"));
    assert!(refused(&format!("{{ \"x\": [ {} 0 ] }}", "0,\n".repeat(100_000))).contains("no `tasks`"));
}

#[test]
fn long_names_and_long_lists_of_names_are_told_short() {
    let long = "x".repeat(100_000);
    for task in [format!("\"policy\": \"{long}\", \"run\": 1"), format!("\"{long}\": 1"), format!("\"run{long}\": -1")]
    {
        assert!(refused(&file(&task)).len() < 1000);
    }
    let tasks: String = (0..2000).map(|i| format!("\"task{i}\": {{ \"fork\": \"none\" }}, ")).collect();
    assert!(refused(&format!("{{ \"tasks\": {{ {tasks} }} }}")).contains("names no task"));
    let read = attempt(file(&format!("\"{long}\": 1, \"run\": 1")).as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    assert!(read.warnings[0].to_string().len() < 2000);
}

#[test]
fn what_there_is_too_much_of_is_refused_or_no_longer_told() {
    assert!(refused(&format!("[{}]", "0,".repeat(4_100_000))).contains("too many values"));
    let many = "\"run\": 1, ".repeat(1000);
    let threads = file(&format!("\"instance\": 1000000, {many}"));
    assert!(refused(&threads).contains("steps"), "{:.200}", refused(&threads));
    let odd: String = (0..50_000).map(|i| format!("\"odd{i}\": 1, ")).collect();
    let read = attempt(file(&format!("{odd} \"run\": 1")).as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(read.warnings.len(), 10_001);
}

/// Names by the ten thousand: nothing is looked up in a list.
#[test]
fn many_names_take_no_longer_each() {
    let n = 10_000;
    let each = |event: &dyn Fn(usize) -> String| -> String { (0..n).map(event).collect() };
    let timers = each(&|i| format!("\"timer\": {{ \"ref\": \"r{i}\", \"period\": 9, \"mode\": \"absolute\" }}, "));
    assert!(attempt(file(&timers).as_bytes()).is_ok());
    let forks = each(&|i| format!("\"fork{i}\": \"c{i}\", "));
    let children = each(&|i| format!("\"c{i}\": {{ \"instance\": 0, \"loop\": 1, \"run\": 1 }}, "));
    let text = format!("{{ \"tasks\": {{ {children} \"t\": {{ \"loop\": 1, {forks} }} }} }}");
    assert!(attempt(text.as_bytes()).is_ok());
    let locks = each(&|i| format!("\"lock\": \"m{i}\", ")) + &each(&|i| format!("\"unlock\": \"m{i}\", "));
    assert!(attempt(file(&format!("\"loop\": 1, {locks} \"run\": 1")).as_bytes()).is_ok());
    let chain =
        each(&|i| format!("\"c{i}\": {{ \"loop\": 1, \"sem_wait\": \"s{}\", \"sem_post\": \"s{i}\" }}, ", i + 1));
    let text = format!("{{ \"tasks\": {{ {chain} \"t\": {{ \"loop\": 1, \"sem_post\": \"s{n}\" }} }} }}");
    assert_eq!(attempt(text.as_bytes()).map(|read| read.warnings.len()), Ok(0));
}

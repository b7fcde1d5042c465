//! Generated programs: threads that wake each other in rows, beside some that compute and sleep, as an rt-app file.
//!
//! The number of a program draws its structure: how long rows are, what each thread of a row does when it is woken, and whether it
//! works for itself first. How many rows there are, and how long things take, is searched.

use std::fs;
use std::path::Path;

use serde_json::{json, Map, Value};
use xxhash_rust::xxh3::xxh3_64;

use super::point::{real, whole, Family, Goal};

/// Length of a run, as the option of a file.
const DURATION: &str = "duration=0.2";

/// What is searched of a program. Rows begin anew each `period`; `work` is what one thread does when it is woken; each of the others
/// computes for `busy` and sleeps as long.
pub(super) const PROGRAM: Family = Family {
    name: "program",
    fixed: "",
    dimensions: &[
        whole("rows", 1.0, 16.0),
        real("period", 500.0, 20_000.0),
        real("work", 10.0, 2000.0),
        whole("others", 1.0, 24.0),
        real("busy", 50.0, 20_000.0),
    ],
    goal: Goal::Latency,
};

/// Threads of a row at most.
const LONGEST: u64 = 4;

/// Writes the program below `files`. Returns what `fairground run` takes: its file and options.
///
/// # Errors
/// If the file cannot be written; the message names it.
pub(super) fn write(number: u64, values: &[f64], files: &Path) -> Result<String, String> {
    let text = format!("{:#}\n", program(number, values));
    let path = files.join(format!("program-{number}.{:016x}.json", xxh3_64(text.as_bytes())));
    fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    Ok(format!("{}:{DURATION}", path.display()))
}

fn program(number: u64, values: &[f64]) -> Value {
    let drawn = |what: &str, below: u64| xxh3_64(format!("{number} {what}").as_bytes()) % below;
    let us = |at: usize| (values[at].round() as u64).max(1);
    let (rows, period, work, others, busy) = (us(0), us(1), us(2), us(3), us(4));
    let length = 1 + drawn("length", LONGEST);
    let mut tasks = Map::new();
    for row in 0..rows {
        for at in 0..length {
            let mut steps = Map::new();
            let mut step = |name: &str, value: Value| drop(steps.insert(name.into(), value));
            step("loop", json!(-1));
            match at {
                0 => step("timer", json!({ "ref": "unique", "period": period })),
                _ => step("suspend", json!(name_of(row, at))),
            }
            // From a quarter of the work to four times of it.
            let work = (work << (2 * drawn(&format!("work {at}"), 3)) >> 2).max(1);
            match drawn(&format!("steps {at}"), 4) {
                0 => step("run", json!(work)),
                1 => {
                    step("lock", json!("shared"));
                    step("run", json!(work));
                    step("unlock", json!("shared"));
                }
                2 => {
                    step("run0", json!(work.div_ceil(2)));
                    step("sleep", json!(work));
                    step("run1", json!(work.div_ceil(2)));
                }
                _ => {
                    step("run0", json!(work.div_ceil(2)));
                    step("yield", json!(""));
                    step("run1", json!(work.div_ceil(2)));
                }
            }
            if at + 1 < length {
                step("resume", json!(name_of(row, at + 1)));
                // Some go on after they have woken the next.
                if drawn(&format!("after {at}"), 2) == 0 {
                    step("run2", json!(work));
                }
            }
            tasks.insert(name_of(row, at), steps.into());
        }
    }
    if drawn("others", 4) != 0 {
        tasks.insert("other".into(), json!({ "instance": others, "loop": -1, "run": busy, "sleep": busy }));
    }
    json!({ "global": { "duration": 1 }, "tasks": tasks })
}

fn name_of(row: u64, at: u64) -> String {
    format!("row{row}-{at}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_draws_the_structure_and_values_its_size() {
        let values = [2.0, 1000.0, 100.0, 3.0, 50.0];
        let rows = |number: u64| {
            let program = program(number, &values);
            let names: Vec<String> = program["tasks"].as_object().unwrap().keys().cloned().collect();
            names.iter().filter(|name| name.starts_with("row1-")).count()
        };
        assert_eq!(program(7, &values), program(7, &values));
        let lengths: std::collections::BTreeSet<usize> = (0..50).map(rows).collect();
        assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4]);
        let with_others = (0..50).filter(|number| program(*number, &values)["tasks"]["other"]["instance"] == 3).count();
        assert!((25..50).contains(&with_others), "{with_others}");
    }
}

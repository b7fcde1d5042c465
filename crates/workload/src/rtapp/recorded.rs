//! Files of recordings ([`crate::recorded`]): known by their section `recording`.

use std::collections::BTreeMap;

use fairground_machine::{suggest_from, Machine};

use super::source::Source;
use crate::error::WorkloadError;
use crate::json::{Member, Node, Value};
use crate::recorded::{Priority, Recording, Step, Thread};
use crate::validate::MAX_DURATION_NS;

/// Keys among the steps of a thread.
const STEPS: &[&str] = &["work", "wake", "wake_sync", "fork", "exec", "until", "await", "rest"];
/// Keys of a thread.
const KEYS: &[&str] = &["comm", "cpu", "kthread_cpu", "nice", "rt_priority", "steps"];

/// Whether the file is one.
pub(super) fn is_recording(root: &Node) -> bool {
    root.members().is_some_and(|members| members.iter().any(|m| m.key == "recording"))
}

/// Reads the file whose tree is `root`.
pub(super) fn read(source: &Source, root: &Node, machine: &Machine) -> Result<Recording, WorkloadError> {
    let mut recording = Recording::default();
    let mut threads: &[Member] = &[];
    for m in root.members().unwrap_or(&[]) {
        match m.key.as_str() {
            "recording" => read_header(source, m, &mut recording)?,
            "threads" => threads = members(source, m)?,
            key => return Err(unknown(source, m, key, &["recording", "threads"])),
        }
    }
    if threads.is_empty() {
        let text = "no `threads` in the recording";
        return Err(source.error(root.span, text, "expected a key `threads` with a thread in it"));
    }
    let mut names = BTreeMap::new();
    for (i, m) in threads.iter().enumerate() {
        if names.insert(m.key.as_str(), i as u32).is_some() {
            let text = format!("`{}` is the name of two threads", m.key);
            return Err(source.error(m.key_span, text, "expected another name"));
        }
    }
    for m in threads {
        recording.threads.push(thread(source, m, &names, machine)?);
    }
    births(source, threads, &recording)?;
    Ok(recording)
}

/// Every thread is born once.
fn births(source: &Source, members: &[Member], recording: &Recording) -> Result<(), WorkloadError> {
    let mut born: Vec<u32> = recording.threads.iter().map(|t| u32::from(t.born_on.is_some())).collect();
    for step in recording.threads.iter().flat_map(|t| t.tape.steps()) {
        if let Step::Fork(child) = step {
            born[child as usize] += 1;
        }
    }
    match born.iter().position(|n| *n != 1) {
        None => Ok(()),
        Some(i) => {
            let text = format!("`{}` is born {} times", members[i].key, born[i]);
            Err(source.error(
                members[i].key_span,
                text,
                "expected either a `cpu` to start on or one `fork` that names it",
            ))
        }
    }
}

fn members<'a>(source: &Source, m: &'a Member) -> Result<&'a [Member], WorkloadError> {
    m.value.members().ok_or_else(|| source.mismatch(m, "expected an object"))
}

fn unknown(source: &Source, m: &Member, key: &str, known: &[&str]) -> WorkloadError {
    let help = suggest_from(key, "expected one of:", known.iter().copied());
    source.error_with_help(m.key_span, format!("unknown key `{key}`"), "in a recording", Some(help))
}

fn read_header(source: &Source, m: &Member, recording: &mut Recording) -> Result<(), WorkloadError> {
    for m in members(source, m)? {
        match (&m.value.value, m.key.as_str()) {
            (Value::Array(notes), "notes") => {
                let text = |n: &Node| if let Value::String(text) = &n.value { Some(text.clone()) } else { None };
                recording.notes.extend(notes.iter().filter_map(text));
            }
            _ => recording.about.push((m.key.clone(), source.string(m)?.to_owned())),
        }
    }
    Ok(())
}

fn thread(
    source: &Source,
    m: &Member,
    names: &BTreeMap<&str, u32>,
    machine: &Machine,
) -> Result<Thread, WorkloadError> {
    let mut thread = Thread::new(&m.key, &m.key, None);
    // A recording of a larger machine runs on what there is.
    let nr_cpus = machine.nr_cpus().max(1) as u32;
    let cpu = |m: &Member| source.int(m, 0, i64::MAX).map(|cpu| Some(cpu as u32 % nr_cpus));
    for m in members(source, m)? {
        match m.key.as_str() {
            "comm" => thread.comm = source.string(m)?.to_owned(),
            "cpu" => thread.born_on = cpu(m)?,
            "kthread_cpu" => thread.kthread_cpu = cpu(m)?,
            "nice" => thread.priority = Priority::Nice(source.int(m, -20, 19)? as i8),
            "rt_priority" => thread.priority = Priority::RealTime(source.int(m, 1, 99)? as u8),
            "steps" => {
                for step in members(source, m)? {
                    thread.tape.push(read_step(source, step, names)?);
                }
            }
            key => return Err(unknown(source, m, key, KEYS)),
        }
    }
    Ok(thread)
}

fn read_step(source: &Source, m: &Member, names: &BTreeMap<&str, u32>) -> Result<Step, WorkloadError> {
    let other = || {
        let name = source.string(m)?;
        names.get(name).copied().ok_or_else(|| {
            let help = suggest_from(name, "the threads are:", names.keys().copied().take(20));
            source.error_with_help(
                m.value.span,
                format!("`{}` names no thread: `{name}`", m.key),
                "expected a name",
                Some(help),
            )
        })
    };
    Ok(match m.key.as_str() {
        "work" => Step::Work(micros(source, m, 1_000_000)?),
        "until" => Step::Until(micros(source, m, 1_000)?),
        "wake" => Step::Wake { thread: other()?, sync: false },
        "wake_sync" => Step::Wake { thread: other()?, sync: true },
        "fork" => Step::Fork(other()?),
        "exec" => Step::Exec,
        "await" => Step::Await,
        "rest" => Step::Rest,
        key => return Err(unknown(source, m, key, STEPS)),
    })
}

/// Microseconds, returned in units of 1 / `parts` us.
fn micros(source: &Source, m: &Member, parts: u32) -> Result<u64, WorkloadError> {
    let max = MAX_DURATION_NS / 1000;
    let us = match m.value.value {
        Value::Int(us) => us as f64,
        Value::Float(us) => us,
        _ => return Err(source.mismatch(m, "expected a number of microseconds")),
    };
    if !(0.0..=max as f64).contains(&us) {
        let text = format!("`{}` is {us}, out of range", m.key);
        return Err(source.error(m.value.span, text, format!("expected 0 to {max} us")));
    }
    Ok((us * f64::from(parts)).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Op, Policy};
    use crate::rtapp::{import, Dialect};
    use crate::testing::small_machine;
    use crate::Workload;

    fn read(text: &str) -> Result<Workload, String> {
        let machine = small_machine(4);
        let read = import("r.json", text.as_bytes(), &Dialect::default(), &machine);
        read.map(|(workload, _)| workload).map_err(|e| e.to_string())
    }

    /// A thread of CPU 6, which is 2 where there are 4, gives birth to one, wakes it and sleeps.
    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let mut parent = Thread::new("a \"b\"-1", "a \"b\"", Some(6));
        let steps =
            [Step::Work(1_234_567), Step::Fork(1), Step::Wake { thread: 1, sync: true }, Step::Until(16_000_001)];
        steps.iter().for_each(|s| parent.tape.push(*s));
        parent.priority = Priority::RealTime(50);
        let mut child = Thread::new("c-2", "c", None);
        child.priority = Priority::Nice(-5);
        [Step::Await, Step::Exec].iter().for_each(|s| child.tape.push(*s));
        let about = vec![("of".to_string(), "t.txt".to_string())];
        let recording = Recording { about, notes: vec!["x".into()], threads: vec![parent, child] };
        let mut text = Vec::new();
        recording.write(&mut text).unwrap();
        let w = read(std::str::from_utf8(&text).unwrap()).unwrap();
        assert_eq!((w.start.len(), w.start[0].cpu, w.tasks[0].name.as_str()), (1, 2, "a \"b\""));
        let spawn = Op::Spawn { spec: 1, count: 1, thread: true };
        let wake = Op::Rouse { sem: 1, sync: true };
        assert_eq!(*w.tasks[0].program, [Op::Recorded, Op::Work(1_234_567), spawn, wake, Op::SleepUntil(16_000_001)]);
        assert_eq!(*w.tasks[1].program, [Op::Recorded, Op::SemWait(1), Op::Exec]);
        let attr = [w.tasks[0].attr, w.tasks[1].attr];
        assert_eq!((attr[0].policy, attr[0].rt_priority), (Policy::Fifo, 50));
        assert_eq!((attr[1].policy, attr[1].nice), (Policy::Other, -5));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let one = |body: &str| {
            read(&format!("{{ \"recording\": {{}},\n\"threads\": {{ \"a\": {{ {body} }} }} }}")).unwrap_err()
        };
        assert_eq!(one(r#""cpu": 0, "steps": { "wake": "b" }"#), "r.json:2:50: `wake` names no thread: `b`");
        assert_eq!(one(r#""cpu": 0, "steps": { "works": 1 }"#), "r.json:2:42: unknown key `works`");
        assert_eq!(one(r#""cpu": 0, "steps": { "work": -1 }"#), "r.json:2:50: `work` is -1, out of range");
        assert_eq!(one(r#""steps": { "work": 1 }"#), "r.json:2:14: `a` is born 0 times");
        assert!(read(r#"{ "recording": {} }"#).unwrap_err().contains("no `threads`"));
    }
}

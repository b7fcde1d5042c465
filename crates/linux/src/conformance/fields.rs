//! The policy's structs as JSON and back: members by name, those that are 0 left out.

use fairground_fair::ffi::{Field, Fields};
use fairground_machine::{nearest, CpuMask};
use serde_json::{Map, Number, Value};

/// The members that are not 0.
pub fn write(of: &mut dyn Fields) -> Map<String, Value> {
    let mut map = Map::new();
    of.fields(&mut |name, field| {
        if let Some(value) = write_field(field) {
            map.insert(name.to_string(), value);
        }
    });
    map
}

/// None if all members are 0.
fn write_field(field: Field<'_>) -> Option<Value> {
    match field {
        Field::Number(n) => {
            let n = n.get();
            let number = i64::try_from(n).map(Number::from).or(u64::try_from(n).map(Number::from)).ok()?;
            (n != 0).then_some(Value::Number(number))
        }
        Field::Mask(mask) => (!mask.is_empty()).then(|| Value::String(mask.to_string())),
        Field::Struct(inner) => Some(write(inner)).filter(|map| !map.is_empty()).map(Value::Object),
        Field::List(elements) => {
            let mut values: Vec<Value> = elements.into_iter().map(|e| write_field(e).unwrap_or(Value::Null)).collect();
            while values.last() == Some(&Value::Null) {
                values.pop();
            }
            (!values.is_empty()).then_some(Value::Array(values))
        }
    }
}

/// Sets every member from `from`; a member that it lacks becomes 0.
///
/// # Errors
/// The member and the fault, e.g. `cfs.load: there is no such member`.
pub fn read(to: &mut dyn Fields, from: &Map<String, Value>) -> Result<(), String> {
    let mut known = Vec::new();
    let mut wrong = None;
    to.fields(&mut |name, field| {
        known.push(name);
        if let Err(what) = read_field(field, from.get(name).unwrap_or(&Value::Null)) {
            wrong.get_or_insert(format!("{name}{what}"));
        }
    });
    if let Some(key) = from.keys().find(|key| !known.contains(&key.as_str())) {
        let hint = nearest(key, known).map_or(String::new(), |name| format!("; did you mean `{name}`?"));
        return Err(format!("{key}: there is no such member{hint}"));
    }
    wrong.map_or(Ok(()), Err)
}

/// An error begins with the separator that goes between the member's name and the text.
fn read_field(field: Field<'_>, from: &Value) -> Result<(), String> {
    let bad = |expected: &str| Err(format!(": expected {expected}, found {from}"));
    match (field, from) {
        (Field::Number(n), Value::Null) => set(n.set(0)),
        (Field::Number(n), Value::Number(number)) => {
            let value = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
            value.map_or_else(|| bad("a whole number"), |v| set(n.set(v)))
        }
        (Field::Number(_), _) => bad("a whole number"),
        (Field::Mask(mask), Value::Null) => {
            *mask = CpuMask::EMPTY;
            Ok(())
        }
        (Field::Mask(mask), Value::String(text)) => match CpuMask::parse_list(text) {
            Ok(cpus) => {
                *mask = cpus;
                Ok(())
            }
            Err(_) => bad("CPUs like 0-3,8"),
        },
        (Field::Mask(_), _) => bad("CPUs like 0-3,8"),
        (Field::Struct(inner), Value::Null) => read(inner, &Map::new()).map_err(|e| format!(".{e}")),
        (Field::Struct(inner), Value::Object(map)) => read(inner, map).map_err(|e| format!(".{e}")),
        (Field::Struct(_), _) => bad("members by name"),
        (Field::List(elements), Value::Null) => read_list(elements, &[]),
        (Field::List(elements), Value::Array(values)) => read_list(elements, values),
        (Field::List(_), _) => bad("a list"),
    }
}

fn set(fits: bool) -> Result<(), String> {
    if fits {
        Ok(())
    } else {
        Err(": the number is too large for it".into())
    }
}

fn read_list(elements: Vec<Field<'_>>, values: &[Value]) -> Result<(), String> {
    if values.len() > elements.len() {
        return Err(format!(": expected {} elements at most, found {}", elements.len(), values.len()));
    }
    for (i, element) in elements.into_iter().enumerate() {
        read_field(element, values.get(i).unwrap_or(&Value::Null)).map_err(|e| format!("[{i}]{e}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fairground_fair::ffi::{FgCpu, FgTask};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_struct_reads_back_as_it_was_written() {
        let mut cpu = FgCpu::zeroed();
        cpu.fair.avg_vruntime = -5;
        cpu.clock = u64::MAX;
        cpu.cfs.util_avg = 300;
        cpu.uclamp[1].bucket[4].tasks = 2;
        let written = write(&mut cpu);
        assert_eq!(
            Value::Object(written.clone()),
            json!({
                "clock": u64::MAX, "fair": { "avg_vruntime": -5 }, "cfs": { "util_avg": 300 },
                "uclamp": [null, { "bucket": [null, null, null, null, { "tasks": 2 }] }]
            })
        );
        let mut again = FgCpu::zeroed();
        again.nr_running = 7;
        read(&mut again, &written).unwrap();
        assert_eq!(write(&mut again), written);
        assert_eq!(again.nr_running, 0);
    }

    #[test]
    fn what_cannot_be_read_names_its_place() {
        let mut task = FgTask::zeroed();
        let cases = [
            (json!({ "avg": { "util_afg": 1 } }), "avg.util_afg: there is no such member; did you mean `util_avg`?"),
            (json!({ "policy": 256 }), "policy: the number is too large for it"),
            (json!({ "cpu": "x" }), "cpu: expected a whole number, found \"x\""),
            (json!({ "allowed": "0-" }), "allowed: expected CPUs like 0-3,8, found \"0-\""),
        ];
        for (from, expected) in cases {
            assert_eq!(read(&mut task, from.as_object().unwrap()).unwrap_err(), expected);
        }
    }
}

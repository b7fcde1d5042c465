//! A model as bytes, which the script reads without parsing numbers one by one:
//!
//! ```text
//! FGVIEW1\n                     8 bytes
//! N                             length of the head, 4 bytes, the lowest first
//! HEAD                          N bytes of JSON: the model, and in each side "tables": {NAME: {rows, first, columns: [
//!                               {name, at, bytes, rises, wide}]}}
//! COLUMNS                       each from byte `at` behind the head on, `bytes` long
//! ```
//!
//! A column is one LEB128 number a row: the value, or where it `rises` the difference to the row before, as 2d, or -2d-1 below zero.
//! `wide`: some value does not fit 32 bits. Such columns are small, and DEFLATE makes them half as large again: of a
//! million events some 4 MB are left.

use serde_json::{json, Map, Value};

use crate::model::{Model, Side, Table};

const MAGIC: &[u8; 8] = b"FGVIEW1\n";

impl Model {
    /// The model as bytes, for the script. The same model gives the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut columns = Vec::new();
        let mut head = serde_json::to_value(self).unwrap_or_default();
        for (number, side) in self.sides.iter().enumerate() {
            head["sides"][number]["tables"] = tables(side, &mut columns);
        }
        let head = head.to_string();
        let length = u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes();
        [MAGIC, length.as_slice(), head.as_bytes(), &columns].concat()
    }
}

fn tables(side: &Side, out: &mut Vec<u8>) -> Value {
    let all = [
        ("runs", &side.runs),
        ("idles", &side.idles),
        ("clocks", &side.clocks),
        ("utils", &side.utils),
        ("caps", &side.caps),
        ("power", &side.power),
        ("decisions", &side.decisions),
        ("steps", &side.steps),
        ("numbers", &side.numbers),
        ("answers", &side.answers),
        ("possible", &side.possible),
        ("answer_steps", &side.answer_steps),
        ("answer_numbers", &side.answer_numbers),
    ];
    Value::Object(all.into_iter().map(|(name, of)| (name.to_owned(), table(of, out))).collect::<Map<_, _>>())
}

fn table(table: &Table, out: &mut Vec<u8>) -> Value {
    let column = |(name, rises, values): &(&'static str, bool, Vec<u64>)| {
        let at = out.len();
        let mut before = 0;
        for value in values {
            match rises {
                true => leb128(out, zigzag(before, *value)),
                false => leb128(out, *value),
            }
            before = *value;
        }
        let wide = values.iter().any(|value| *value > u64::from(u32::MAX));
        json!({ "name": name, "at": at, "bytes": out.len() - at, "rises": rises, "wide": wide })
    };
    let columns: Vec<Value> = table.columns.iter().map(column).collect();
    json!({ "rows": table.len(), "first": table.first, "columns": columns })
}

/// The difference between two rows: to the next lane's first row it falls.
fn zigzag(before: u64, value: u64) -> u64 {
    match value.checked_sub(before) {
        Some(more) => more << 1,
        None => ((before - value) << 1) - 1,
    }
}

fn leb128(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 300 is 0b10_0101100: 0xac, 0x02. From 300 to 10 the difference is -290, written as 579: 0xc3, 0x04.
    #[test]
    fn columns_are_as_documented() {
        let mut out = Vec::new();
        let values =
            Table { first: vec![0, 2], columns: vec![("begin", true, vec![150, 5]), ("khz", false, vec![300, 0])] };
        let head = table(&values, &mut out);
        assert_eq!(out, [0xac, 0x02, 0xa1, 0x02, 0xac, 0x02, 0x00]);
        let column =
            |name, at, bytes, rises| json!({ "name": name, "at": at, "bytes": bytes, "rises": rises, "wide": false });
        assert_eq!(
            head,
            json!({ "rows": 2, "first": [0, 2], "columns": [column("begin", 0, 4, true), column("khz", 4, 3, false)] })
        );
    }
}

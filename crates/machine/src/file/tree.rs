//! TOML as a tree in which every key and value knows its place in the text.

use std::ops::Range;

use toml_edit::{ImDocument, Item, TableLike, Value};

use crate::error::{FileError, FileResult};

/// A value and its place in the text.
#[derive(Debug)]
pub struct Tree {
    /// Position in the text, bytes.
    pub span: Range<usize>,
    /// The value without its position.
    pub data: Data,
}

/// What a value is.
#[derive(Debug)]
pub enum Data {
    /// TOML's `true` and `false`.
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// A number with fraction or exponent.
    Float(f64),
    /// A string with its escapes resolved.
    Text(String),
    /// A date or a time.
    Date,
    /// Values in the order of the text.
    Array(Vec<Tree>),
    /// A table, in file order.
    Table(Vec<Entry>),
}

/// A key of a table, in file order.
#[derive(Debug)]
pub struct Entry {
    /// The key without quotes.
    pub key: String,
    /// Position in the text, bytes.
    pub key_span: Range<usize>,
    /// The value behind the `=`.
    pub value: Tree,
}

impl Tree {
    /// Parses `text`; depth is bounded by the parser.
    ///
    /// # Errors
    /// The first syntax error.
    pub fn parse(file: &str, text: &str) -> FileResult<Tree> {
        let document = ImDocument::parse(text).map_err(|e| {
            let span = e.span().unwrap_or(0..0);
            FileError::new(file, text, span, "", e.message().trim().replace('\n', "; "))
        })?;
        Ok(Tree { span: 0..0, data: table(document.as_table(), &(0..0)) })
    }

    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.data {
            Data::Bool(_) => "a boolean",
            Data::Int(_) => "an integer",
            Data::Float(_) => "a float",
            Data::Text(_) => "a string",
            Data::Date => "a date",
            Data::Array(_) => "an array",
            Data::Table(_) => "a table",
        }
    }
}

fn table(table: &dyn TableLike, outer: &Range<usize>) -> Data {
    let entries = table.iter().filter_map(|(name, _)| table.get_key_value(name));
    let entries = entries.filter_map(|(key, item)| {
        let key_span = key.span().unwrap_or_else(|| outer.clone());
        let value = from_item(item, &key_span)?;
        Some(Entry { key: key.get().to_string(), key_span, value })
    });
    Data::Table(entries.collect())
}

/// Implicit tables have no place of their own and take that of their key.
fn from_item(item: &Item, key_span: &Range<usize>) -> Option<Tree> {
    let span = item.span().unwrap_or_else(|| key_span.clone());
    let data = match item {
        Item::None => return None,
        Item::Value(value) => return Some(from_value(value, key_span)),
        Item::Table(t) => table(t, &span),
        Item::ArrayOfTables(tables) => Data::Array(tables.iter().map(|t| from_table(t, &span)).collect()),
    };
    Some(Tree { span, data })
}

fn from_table(t: &toml_edit::Table, outer: &Range<usize>) -> Tree {
    let span = t.span().unwrap_or_else(|| outer.clone());
    Tree { data: table(t, &span), span }
}

fn from_value(value: &Value, outer: &Range<usize>) -> Tree {
    let span = value.span().unwrap_or_else(|| outer.clone());
    let data = match value {
        Value::String(s) => Data::Text(s.value().clone()),
        Value::Integer(i) => Data::Int(*i.value()),
        Value::Float(f) => Data::Float(*f.value()),
        Value::Boolean(b) => Data::Bool(*b.value()),
        Value::Datetime(_) => Data::Date,
        Value::Array(a) => Data::Array(a.iter().map(|v| from_value(v, &span)).collect()),
        Value::InlineTable(t) => table(t, &span),
    };
    Tree { span, data }
}

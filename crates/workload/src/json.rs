//! JSON with the liberties rt-app files take, keeping what other readers lose: order, duplicates, and positions.
//!
//! What is accepted beyond the standard is what json-c accepts by default (comments of both kinds, a trailing comma,
//! strings in single quotes or over several lines, literals in any case, anything after the value), and the bare key
//! (`"suspend",`) that doc/workgen of rt-app accepts before json-c sees it. Duplicate keys are kept as separate
//! members; what they mean is the caller's business.

/// Deepest nesting, as json-c's default.
pub const MAX_DEPTH: usize = 32;

/// Most values of a text. The largest public rt-app file has a few thousand.
pub const MAX_VALUES: usize = 4_000_000;

/// A range of bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value without its position.
    pub value: Value,
    /// Where it is; of a missing value: where its key is.
    pub span: Span,
}

/// A JSON value with the source span of each member.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing: the key stands alone.
    Missing,
    /// JSON `null`.
    Null,
    /// JSON's `true` and `false`.
    Bool(bool),
    /// A number of 64 bits without fraction and exponent; a larger one is an error.
    Int(i64),
    /// A number with a fraction or exponent, finite.
    Float(f64),
    /// A string with its escapes resolved.
    String(String),
    /// An array, in the order of the text.
    Array(Vec<Node>),
    /// Members in the order of the text, duplicates included.
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The key with its escapes resolved.
    pub key: String,
    /// Where the key is.
    pub key_span: Span,
    /// The value that belongs to the key.
    pub value: Node,
}

/// A text that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The outermost value of the text.
    pub root: Node,
    /// Where something other than blanks and comments follows it.
    pub trailing: Option<Span>,
}

/// Why a text is not JSON, even with the liberties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Bytes of the text that the message is about.
    pub span: Span,
    /// What the parser found.
    pub message: String,
    /// What was expected there.
    pub expected: &'static str,
}

impl Node {
    /// The members, if it is an object.
    pub fn members(&self) -> Option<&[Member]> {
        match &self.value {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// What kind of value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Missing => "nothing",
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "a whole number",
            Value::Float(_) => "a number with a fraction",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        }
    }
}

/// Reads one value and notes what follows it.
///
/// # Errors
/// The first place that cannot be read.
pub fn parse(text: &str) -> Result<Document, SyntaxError> {
    let mut reader = Reader { text, at: 0, values: 0 };
    reader.skip_blanks()?;
    let root = reader.value(0)?;
    // json-c stops here: what follows, even a broken comment, cannot fail.
    let trailing = match reader.skip_blanks() {
        Ok(()) if reader.at < text.len() => Some(Span { start: reader.at, end: reader.at + reader.width() }),
        Ok(()) => None,
        Err(e) => Some(e.span),
    };
    Ok(Document { root, trailing })
}

/// Line and column in characters, both from 1, of a byte offset.
pub fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |n| n + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Values begun so far.
    values: usize,
}

type ParseResult<T> = Result<T, SyntaxError>;

impl<'a> Reader<'a> {
    fn remaining(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.remaining().chars().next()
    }

    /// Bytes of the character here; 0 at the end.
    fn width(&self) -> usize {
        self.peek().map_or(0, char::len_utf8)
    }

    fn eat(&mut self, c: char) -> bool {
        let here = self.peek() == Some(c);
        if here {
            self.at += c.len_utf8();
        }
        here
    }

    fn error<T>(&self, start: usize, message: impl Into<String>, expected: &'static str) -> ParseResult<T> {
        let end = (self.at + self.width()).max(start);
        Err(SyntaxError { span: Span { start, end }, message: message.into(), expected })
    }

    fn unexpected<T>(&self, expected: &'static str) -> ParseResult<T> {
        match self.peek() {
            Some(c) => self.error(self.at, format!("unexpected `{}`", c.escape_debug()), expected),
            None => self.error(self.at, "the text ends too early", expected),
        }
    }

    /// Skips whitespace and comments.
    fn skip_blanks(&mut self) -> ParseResult<()> {
        loop {
            let rest = self.remaining();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']).len();
            let rest = self.remaining();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(length) = comment.find("*/") else {
                    return self.error(self.at, "a comment does not end", "`*/`");
                };
                self.at += length + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> ParseResult<Node> {
        let start = self.at;
        if depth > MAX_DEPTH {
            return self.error(start, "nested too deeply", "at most 32 levels, as json-c");
        }
        self.values += 1;
        if self.values > MAX_VALUES {
            return self.error(start, "too many values", "at most four million");
        }
        let value = match self.peek() {
            Some('{') => self.object(depth)?,
            Some('[') => self.array(depth)?,
            Some('"' | '\'') => Value::String(self.string()?),
            Some('-' | '0'..='9') => self.number()?,
            Some(c) if c.is_ascii_alphabetic() => self.literal()?,
            _ => return self.unexpected("a value"),
        };
        Ok(Node { value, span: Span { start, end: self.at } })
    }

    fn object(&mut self, depth: usize) -> ParseResult<Value> {
        self.eat('{');
        let mut members = Vec::new();
        loop {
            self.skip_blanks()?;
            if self.eat('}') {
                return Ok(Value::Object(members));
            }
            members.push(self.member(depth)?);
            self.skip_blanks()?;
            if !self.eat(',') && self.peek() != Some('}') {
                return self.unexpected("`,` or `}`");
            }
        }
    }

    fn member(&mut self, depth: usize) -> ParseResult<Member> {
        let start = self.at;
        if !matches!(self.peek(), Some('"' | '\'')) {
            return self.unexpected("a key in quotes, or `}`");
        }
        let key = self.string()?;
        let key_span = Span { start, end: self.at };
        self.skip_blanks()?;
        let value = match self.peek() {
            Some(':') => {
                self.eat(':');
                self.skip_blanks()?;
                self.value(depth + 1)?
            }
            Some(',' | '}') => Node { value: Value::Missing, span: key_span },
            _ => return self.unexpected("`:` after the key"),
        };
        Ok(Member { key, key_span, value })
    }

    fn array(&mut self, depth: usize) -> ParseResult<Value> {
        self.eat('[');
        let mut items = Vec::new();
        loop {
            self.skip_blanks()?;
            if self.eat(']') {
                return Ok(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.skip_blanks()?;
            if !self.eat(',') && self.peek() != Some(']') {
                return self.unexpected("`,` or `]`");
            }
        }
    }

    fn string(&mut self) -> ParseResult<String> {
        let start = self.at;
        let quote = self.peek().unwrap_or('"');
        self.eat(quote);
        let mut out = String::new();
        loop {
            match self.peek() {
                None => return self.error(start, "a string does not end", "a closing quote"),
                Some(c) if c == quote => {
                    self.eat(quote);
                    return Ok(out);
                }
                Some('\\') => out.push(self.escape()?),
                Some(c) => {
                    self.eat(c);
                    out.push(c);
                }
            }
        }
    }

    fn escape(&mut self) -> ParseResult<char> {
        let start = self.at;
        self.eat('\\');
        let Some(c) = self.peek() else { return self.unexpected("an escape sequence") };
        self.eat(c);
        Ok(match c {
            '"' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.unicode_escape(start)?,
            _ => {
                return self.error(
                    start,
                    format!("unknown escape `\\{}`", c.escape_debug()),
                    "one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u",
                )
            }
        })
    }

    /// After `\u`: four hex digits, and a second group if the first is half of a pair.
    fn unicode_escape(&mut self, start: usize) -> ParseResult<char> {
        let first = self.hex4(start)?;
        let mut code = first;
        if (0xd800..0xdc00).contains(&first) && self.remaining().starts_with("\\u") {
            let back = self.at;
            self.at += 2;
            let second = self.hex4(start)?;
            if (0xdc00..0xe000).contains(&second) {
                code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            } else {
                self.at = back;
            }
        }
        // As json-c: half a pair becomes the replacement character.
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self, start: usize) -> ParseResult<u32> {
        let digits = self.remaining().get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.map(|d| u32::from_str_radix(d, 16)) {
            Some(Ok(code)) => {
                self.at += 4;
                Ok(code)
            }
            _ => self.error(start, "incomplete \\u escape", "four hexadecimal digits"),
        }
    }

    fn number(&mut self) -> ParseResult<Value> {
        let start = self.at;
        let rest = self.remaining();
        let length = rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        self.at += length;
        let digits = &rest[..length];
        let span = Span { start, end: self.at };
        let bad =
            |message: &str, expected| Err(SyntaxError { span, message: format!("{message} `{digits}`"), expected });
        if !digits.contains(['.', 'e', 'E']) {
            return match digits.parse::<i64>() {
                Ok(v) => Ok(Value::Int(v)),
                Err(e) if is_overflow(&e) => bad("too large a number", "a 64-bit number"),
                Err(_) => bad("not a number", "a number"),
            };
        }
        match digits.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(Value::Float(v)),
            Ok(_) => bad("too large a number", "a finite number"),
            Err(_) => bad("not a number", "a number"),
        }
    }

    fn literal(&mut self) -> ParseResult<Value> {
        let start = self.at;
        let rest = self.remaining();
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = &rest[..length];
        self.at += length;
        match word.to_ascii_lowercase().as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "null" => Ok(Value::Null),
            _ => {
                let word: String = word.chars().take(40).collect();
                let span = Span { start, end: self.at };
                let expected = "true, false, null, or text in quotes";
                Err(SyntaxError { span, message: format!("unknown word `{word}`"), expected })
            }
        }
    }
}

fn is_overflow(e: &std::num::ParseIntError) -> bool {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    matches!(e.kind(), PosOverflow | NegOverflow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(text: &str) -> Vec<(String, Value)> {
        let members = parse(text).unwrap().root.members().unwrap().to_vec();
        members.into_iter().map(|m| (m.key, m.value.value)).collect()
    }

    #[test]
    fn liberties_keep_order_duplicates_and_bare_keys() {
        let text =
            "// head\n{ 'run': 1, /* c */ \"suspend\", \"run\" : 02,\n \"list\": [1, TRUE, null,], \"suspend\" }";
        let list = ["1", "true", "null"].map(|t| parse(t).unwrap().root.value);
        let got = keys(text);
        assert_eq!(got[0], ("run".into(), Value::Int(1)));
        assert_eq!(got[1], ("suspend".into(), Value::Missing));
        assert_eq!(got[2], ("run".into(), Value::Int(2)));
        let Value::Array(items) = &got[3].1 else { panic!() };
        assert!(items.iter().map(|n| &n.value).eq(&list));
        assert_eq!(got[4], ("suspend".into(), Value::Missing));
    }

    #[test]
    fn strings_are_unescaped() {
        let text = r#""a\n\u0041\ud83d\ude00\ud800\/""#;
        assert_eq!(parse(text).unwrap().root.value, Value::String("a\nA😀\u{fffd}/".into()));
    }

    #[test]
    fn mistakes_are_placed() {
        let cases = [
            ("", 1, 1, "ends too early"),
            ("{\n  \"a\" 5 }", 2, 7, "unexpected `5`"),
            ("{ \"a\": }", 1, 8, "unexpected `}`"),
            ("{ \"a\": 1,, }", 1, 10, "unexpected `,`"),
            ("[1 2]", 1, 4, "unexpected `2`"),
            ("{\n\"a\": \"x", 2, 6, "a string does not end"),
            ("/* é", 1, 1, "a comment does not end"),
            ("[99999999999999999999]", 1, 2, "too large a number"),
            ("[1e999]", 1, 2, "too large a number"),
            ("[1-2]", 1, 2, "not a number"),
            ("[é, ¤]", 1, 2, "unexpected `é`"),
            ("[yes]", 1, 2, "unknown word `yes`"),
            ("\"\\q\"", 1, 2, "unknown escape"),
            ("\"\\u12\"", 1, 2, "incomplete"),
            ("{ a: 1 }", 1, 3, "unexpected `a`"),
        ];
        for (text, line, column, message) in cases {
            let e = parse(text).unwrap_err();
            assert!(e.message.contains(message), "{text}: {}", e.message);
            assert_eq!(line_column(text, e.span.start), (line, column), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded_and_the_tail_is_noted() {
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(parse(&nested(MAX_DEPTH + 1)).is_ok());
        assert!(parse(&nested(MAX_DEPTH + 2)).unwrap_err().message.contains("too deeply"));
        assert!(parse(&"[".repeat(1_000_000)).is_err());
        assert_eq!(parse("{} // end").unwrap().trailing, None);
        assert_eq!(parse("{} é").unwrap().trailing, Some(Span { start: 3, end: 5 }));
        assert!(parse("{} /*").unwrap().trailing.is_some());
    }

    #[test]
    fn values_are_bounded() {
        let list = |n: usize| format!("[{}]", "0,".repeat(n));
        assert!(parse(&list(MAX_VALUES - 1)).is_ok());
        assert!(parse(&list(MAX_VALUES)).unwrap_err().message.contains("too many values"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*") {
            let _ = parse(&text);
        }

        #[test]
        fn json_like_text_is_read_or_refused(text in r#"[{}\[\]",:'/*\\a-fu0-9.\-+eé \n]{0,80}"#) {
            if let Err(e) = parse(&text) {
                prop_assert!(e.span.start <= e.span.end && e.span.end <= text.len());
                prop_assert!(text.is_char_boundary(e.span.start) && text.is_char_boundary(e.span.end));
            }
        }
    }
}

//! From the text of a header to a [`Header`].

use std::fs;
use std::path::Path;

use crate::{Function, Header, Kind, Member, Pointer, Struct, Type};

pub(crate) const NUMBERS: [&str; 8] = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"];

impl Header {
    /// Reads a file. `included` is what it includes: arrays may have its constants as their lengths.
    ///
    /// # Errors
    /// `file:line: what was found, what was expected`, or why the file cannot be read.
    pub fn read(path: &Path, included: &Header) -> Result<Header, String> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|e| format!("{file}: {e}"))?;
        Header::parse(&file, &text, included)
    }

    /// The same of a text; `file` is for errors.
    pub fn parse(file: &str, text: &str, included: &Header) -> Result<Header, String> {
        let text = blank_comments(text);
        let lines = text.lines().collect();
        let mut parser = Parser { file, included, header: Header::default(), at: 0, lines };
        parser.run()?;
        Ok(parser.header)
    }

    fn constant(&self, name: &str) -> Option<i64> {
        self.constants.iter().find(|(n, _)| n == name).map(|(_, value)| *value)
    }
}

struct Parser<'a> {
    file: &'a str,
    included: &'a Header,
    header: Header,
    /// Index of the line after the one in work.
    at: usize,
    lines: Vec<&'a str>,
}

impl<'a> Parser<'a> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(line) = self.next() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] => {}
                ["typedef", ..] => self.alias(line)?,
                [word, ..] if word.starts_with('#') => self.directive(line)?,
                ["enum", _, "{"] => self.enumeration()?,
                ["struct", name, "{"] => self.structure(name)?,
                ["struct", name] if name.ends_with(';') => {}
                _ => self.prototype(line)?,
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Option<&'a str> {
        let line = self.lines.get(self.at)?;
        self.at += 1;
        Some(line.trim())
    }

    fn error<T>(&self, what: &str) -> Result<T, String> {
        Err(format!("{}:{}: {what}", self.file, self.at))
    }

    /// From `first` to the `;` at the end of a line, which is left out, on one line.
    fn statement(&mut self, first: &str) -> Result<String, String> {
        let mut text = first.to_string();
        while !text.ends_with(';') {
            match self.next() {
                Some(more) if !more.starts_with(['#', '}']) => text = format!("{text} {more}"),
                _ => return self.error(&format!("expected a declaration ending in `;`, found `{first}`")),
            }
        }
        text.pop();
        Ok(text)
    }

    /// `typedef TYPE NAME;`
    fn alias(&mut self, first: &str) -> Result<(), String> {
        let text = self.statement(first)?;
        let Some((ty, name)) = text.strip_prefix("typedef ").and_then(|text| text.rsplit_once(' ')) else {
            return self.error(&format!("expected `typedef type name;`, found `{text}`"));
        };
        if !NUMBERS.contains(&name) {
            self.ty(ty)?;
            self.header.aliases.insert(name.into(), ty.into());
        }
        Ok(())
    }

    /// Enumerators come from the table files; only the macros in between matter.
    fn enumeration(&mut self) -> Result<(), String> {
        while let Some(line) = self.next() {
            match line {
                "};" => return Ok(()),
                _ if line.starts_with('#') => self.directive(line)?,
                _ => {}
            }
        }
        self.error("an enum does not end")
    }

    /// All but definitions are passed over.
    fn directive(&mut self, line: &str) -> Result<(), String> {
        let text = line.trim_start_matches('#').trim_start();
        let Some(define) = text.strip_prefix("define ") else { return Ok(()) };
        let (name, rest) = define.split_at(define.find([' ', '\t', '(']).unwrap_or(define.len()));
        if let Some(params) = rest.strip_prefix('(') {
            let Some((params, _)) = params.split_once(')') else { return self.error("macro without a closing )") };
            let params = params.split(',').map(|p| p.trim().to_string()).collect();
            self.header.macros.insert(name.into(), params);
        } else if rest.trim().is_empty() {
            self.header.marks.push(name.into());
        } else {
            let Some(value) = self.number(rest) else {
                return self.error(&format!("`{name}` is neither a number nor a constant above: `{}`", rest.trim()));
            };
            self.header.constants.push((name.into(), value));
        }
        Ok(())
    }

    /// A number, or a constant above.
    fn number(&self, text: &str) -> Option<i64> {
        let name = text.trim();
        parse_number(name).or_else(|| self.header.constant(name)).or_else(|| self.included.constant(name))
    }

    fn structure(&mut self, name: &str) -> Result<(), String> {
        let mut members = Vec::new();
        loop {
            match self.next() {
                None => return self.error(&format!("struct {name} does not end")),
                Some("};") => break,
                Some("") => {}
                Some(line) => members.push(self.member(line)?),
            }
        }
        self.header.structs.push(Struct { name: name.into(), members });
        Ok(())
    }

    fn member(&mut self, line: &str) -> Result<Member, String> {
        let text = self.statement(line)?;
        if let Some((result, rest)) = text.split_once("(*") {
            let Some((name, params)) = rest.split_once(")(") else {
                return self.error(&format!("expected `result (*name)(parameters);`, found `{text}`"));
            };
            let function = self.signature(&text, result, name, params)?;
            return Ok(Member { name: name.into(), kind: Kind::Function(function) });
        }
        let Some((declaration, length)) = text.split_once('[') else {
            let (name, ty) = self.declarator(&text)?;
            return Ok(Member { name, kind: Kind::Value(ty) });
        };
        let spelled = length.trim_end_matches(']');
        let Some(length) = self.number(spelled) else {
            return self.error(&format!("array size in `{text}` is neither a number nor a constant above"));
        };
        let (name, ty) = self.declarator(declaration)?;
        Ok(Member { name, kind: Kind::Array(ty, length, spelled.into()) })
    }

    fn prototype(&mut self, first: &str) -> Result<(), String> {
        let text = self.statement(first)?;
        let Some((head, params)) = text.split_once('(') else {
            return self.error(&format!("expected a prototype or a struct of the plain form, found `{text}`"));
        };
        let (result, name) = head.split_at(head.rfind([' ', '\t', '*']).map_or(0, |i| i + 1));
        let function = self.signature(&text, result, name, params)?;
        self.header.functions.push(function);
        Ok(())
    }

    /// `params`: up to and with the closing parenthesis.
    fn signature(&self, text: &str, result: &str, name: &str, params: &str) -> Result<Function, String> {
        let result = if result.trim() == "void" { None } else { Some(self.ty(result)?) };
        let Some(params) = params.strip_suffix(')').filter(|p| !p.contains(['(', ')'])) else {
            return self.error(&format!("expected parameters of the plain form, found `{text}`"));
        };
        let params = match params.trim() {
            "void" => Vec::new(),
            list => list.split(',').map(|p| self.declarator(p.trim())).collect::<Result<_, _>>()?,
        };
        Ok(Function { name: name.into(), result, params })
    }

    /// `const struct fg_x *name`, `u32 name`.
    fn declarator(&self, text: &str) -> Result<(String, Type), String> {
        let (head, name) = text.split_at(text.rfind([' ', '\t', '*']).map_or(0, |i| i + 1));
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !plain {
            return self.error(&format!("expected `type name` or `struct x *name`, found `{text}`"));
        }
        Ok((name.into(), self.ty(head)?))
    }

    fn ty(&self, text: &str) -> Result<Type, String> {
        let is_mark = |word: &str| self.header.marks.iter().chain(&self.included.marks).any(|mark| mark == word);
        let mut rest = text.trim();
        let mut marks = Vec::new();
        while let Some((mark, after)) = rest.split_once(' ').filter(|(word, _)| is_mark(word)) {
            marks.push(mark.to_string());
            rest = after;
        }
        let bare = rest.trim_start_matches("const ");
        let (base, is_pointer) = match bare.strip_suffix('*') {
            Some(base) => (base.trim_end(), true),
            None => (bare, false),
        };
        if base.ends_with('*') {
            return self.error(&format!("pointer to pointer in `{text}`"));
        }
        let pointer = match (is_pointer, rest.starts_with("const ")) {
            (false, _) => None,
            (true, true) => Some(Pointer::Const),
            (true, false) => Some(Pointer::Mut),
        };
        let original = self.header.aliases.get(base).or_else(|| self.included.aliases.get(base));
        let alias = original.map(|_| base.to_string());
        let base = original.map_or(base, String::as_str);
        let base = match base.strip_prefix("struct ") {
            Some(name) => name,
            None if NUMBERS.contains(&base) || base == "char" || (base == "void" && is_pointer) => base,
            None => return self.error(&format!("expected u8..u64, s8..s64, char or struct x, found `{base}`")),
        };
        Ok(Type { base: base.into(), pointer, alias, marks })
    }
}

/// The argument lists of all calls of macro `name` in a table; string arguments are joined and unquoted. `file` is for errors.
///
/// # Errors
/// If the macro is not called, or a call has no end.
pub fn macro_calls(file: &str, text: &str, name: &str) -> Result<Vec<Vec<String>>, String> {
    let text = blank_comments(text);
    let mut calls = Vec::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find(&format!("{name}(")) {
        rest = &rest[start + name.len() + 1..];
        let line = text[..text.len() - rest.len()].lines().count();
        let (args, used) = arguments(rest).ok_or_else(|| format!("{file}:{line}: {name} without a closing )"))?;
        calls.push(args);
        rest = &rest[used..];
    }
    if calls.is_empty() {
        return Err(format!("{file}: no {name}(...) found"));
    }
    Ok(calls)
}

fn arguments(text: &str) -> Option<(Vec<String>, usize)> {
    let mut args = vec![String::new()];
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        let last = args.last_mut()?;
        match c {
            '"' => quoted = !quoted,
            _ if quoted => last.push(c),
            ',' => args.push(String::new()),
            ')' => return Some((args, at + 1)),
            _ if c.is_whitespace() => {}
            _ => last.push(c),
        }
    }
    None
}

/// `12`, `0x2fULL`, `(-1)`.
fn parse_number(text: &str) -> Option<i64> {
    let text = text.trim_start_matches('(').trim_end_matches(')').trim_end_matches(['u', 'U', 'l', 'L']);
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Replaces comments by spaces; lines keep their numbers.
fn blank_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("/*") {
        out.push_str(&rest[..start]);
        let end = rest[start..].find("*/").map_or(rest.len(), |i| start + i + 2);
        out.extend(rest[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

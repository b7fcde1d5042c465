//! Reads the plain form that `policy/fg.h` keeps to: one member a line, `#define NAME number`, prototypes.

use std::collections::BTreeMap;

/// What `fg.h` declares, in its order.
pub struct Header {
    pub constants: Vec<(String, u64)>,
    pub structs: Vec<Struct>,
    pub functions: Vec<Function>,
    /// Parameter names of function-like macros, e.g. of `FG_FEATURE`.
    pub macros: BTreeMap<String, Vec<String>>,
}

pub struct Struct {
    pub name: String,
    pub members: Vec<Member>,
}

pub struct Member {
    pub name: String,
    pub ty: Type,
    /// Number of elements, for arrays.
    pub count: Option<u64>,
}

/// `base`, a struct name or a number type, behind a pointer or not.
pub struct Type {
    pub base: String,
    pub pointer: Option<Pointer>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Pointer {
    Mut,
    Const,
}

pub struct Function {
    pub name: String,
    /// None: void.
    pub result: Option<Type>,
    pub params: Vec<(String, Type)>,
}

const NUMBERS: [&str; 8] = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"];

impl Header {
    /// Parses the header. Errors are `file:line: what was found, what was expected`.
    pub fn parse(file: &str, text: &str) -> Result<Header, String> {
        let text = blank_comments(text);
        let mut parser = Parser { file, header: Header::empty(), at: 0, lines: text.lines().collect() };
        parser.run()?;
        Ok(parser.header)
    }

    fn empty() -> Header {
        Header { constants: Vec::new(), structs: Vec::new(), functions: Vec::new(), macros: BTreeMap::new() }
    }

    fn constant(&self, name: &str) -> Option<u64> {
        parse_number(name).or_else(|| self.constants.iter().find(|(n, _)| n == name).map(|(_, v)| *v))
    }
}

struct Parser<'a> {
    file: &'a str,
    header: Header,
    /// Index of the line after the one in work.
    at: usize,
    lines: Vec<&'a str>,
}

impl<'a> Parser<'a> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(line) = self.next() {
            if line.is_empty() || line.starts_with("typedef ") {
            } else if let Some(directive) = line.strip_prefix('#') {
                self.directive(directive.trim())?;
            } else if line.starts_with("enum ") && line.ends_with('{') {
                self.enumeration()?;
            } else if let Some(name) = line.strip_prefix("struct ").and_then(|l| l.strip_suffix(" {")) {
                self.structure(name)?;
            } else {
                self.function(line)?;
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

    /// Enumerators come from the table files; only the macros in between matter.
    fn enumeration(&mut self) -> Result<(), String> {
        while let Some(line) = self.next() {
            match line.strip_prefix('#') {
                Some(directive) => self.directive(directive.trim())?,
                None if line == "};" => return Ok(()),
                None => {}
            }
        }
        self.error("an enum does not end")
    }

    fn directive(&mut self, text: &str) -> Result<(), String> {
        let Some(define) = text.strip_prefix("define ") else { return Ok(()) };
        let (name, rest) = define.split_at(define.find([' ', '\t', '(']).unwrap_or(define.len()));
        if let Some(params) = rest.strip_prefix('(') {
            let Some((params, _)) = params.split_once(')') else { return self.error("macro without a closing )") };
            let params = params.split(',').map(|p| p.trim().to_string()).collect();
            self.header.macros.insert(name.into(), params);
        } else if !rest.trim().is_empty() {
            let Some(value) = parse_number(rest.trim()) else {
                return self.error(&format!("`{name}` is no plain number: `{}`", rest.trim()));
            };
            self.header.constants.push((name.into(), value));
        }
        Ok(())
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

    fn member(&self, line: &str) -> Result<Member, String> {
        let Some(declaration) = line.strip_suffix(';') else {
            return self.error(&format!("expected one member ending in `;`, found `{line}`"));
        };
        let (declaration, count) = match declaration.split_once('[') {
            None => (declaration, None),
            Some((d, count)) => match count.strip_suffix(']').and_then(|c| self.header.constant(c)) {
                Some(count) => (d, Some(count)),
                None => return self.error(&format!("array size in `{line}` is no number and no constant above")),
            },
        };
        let (name, ty) = self.declarator(declaration)?;
        Ok(Member { name, ty, count })
    }

    /// `const struct fg_x *name`, `u32 name`.
    fn declarator(&self, text: &str) -> Result<(String, Type), String> {
        let (head, name) = text.split_at(text.rfind([' ', '\t', '*']).map_or(0, |i| i + 1));
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !plain {
            return self.error(&format!("expected `type name` or `struct fg_x *name`, found `{text}`"));
        }
        Ok((name.into(), self.ty(head)?))
    }

    fn ty(&self, text: &str) -> Result<Type, String> {
        let constant = text.trim().starts_with("const ");
        let bare = text.trim().trim_start_matches("const ");
        let base = bare.trim_end_matches('*').trim_end();
        let pointer = match (bare.len() != base.len() && bare.ends_with('*'), constant) {
            (false, _) => None,
            (true, true) => Some(Pointer::Const),
            (true, false) => Some(Pointer::Mut),
        };
        let base = match base.strip_prefix("struct ") {
            Some(name) if name.starts_with("fg_") => name,
            None if NUMBERS.contains(&base) => base,
            _ => return self.error(&format!("expected u8..u64, s8..s64 or struct fg_x, found `{base}`")),
        };
        if bare.matches('*').count() > 1 {
            return self.error(&format!("pointer to pointer in `{text}`"));
        }
        Ok(Type { base: base.into(), pointer })
    }

    fn function(&mut self, first: &str) -> Result<(), String> {
        let mut text = first.to_string();
        while !text.ends_with(';') {
            match self.next() {
                Some(more) if !more.starts_with('#') => text = format!("{text} {more}"),
                _ => return self.error(&format!("expected a declaration ending in `;`, found `{first}`")),
            }
        }
        let parts = text.strip_suffix(");").and_then(|t| t.split_once('('));
        let Some((head, params)) = parts else {
            return self.error(&format!("expected a prototype or a struct of the plain form, found `{text}`"));
        };
        let (result, name) = head.split_at(head.rfind([' ', '*']).map_or(0, |i| i + 1));
        let result = if result.trim() == "void" { None } else { Some(self.ty(result)?) };
        let params = match params.trim() {
            "void" => Vec::new(),
            list => list.split(',').map(|p| self.declarator(p.trim())).collect::<Result<_, _>>()?,
        };
        self.header.functions.push(Function { name: name.into(), result, params });
        Ok(())
    }
}

/// The argument lists of all calls of macro `name`; string arguments are joined and unquoted.
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

fn parse_number(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches(['u', 'U', 'l', 'L']);
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
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

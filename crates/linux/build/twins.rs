//! Reads `ks.h` and writes Rust for it. The header keeps to a plain form: `#define KS_NAME number`, and structs of
//! numbers, pointers, one-dimensional arrays and pointers to functions.

use std::fmt::Write;

/// What the header declares, in its order.
pub struct Twins {
    constants: Vec<(String, i64)>,
    structs: Vec<Struct>,
}

struct Struct {
    name: String,
    members: Vec<Member>,
}

struct Member {
    name: String,
    /// In Rust.
    ty: String,
    is_function: bool,
}

/// Structs whose functions must all be there, and what their list is called; those of others may be null.
const COMPLETE: [(&str, &str); 2] = [("ks_kernel", "FUNCTIONS"), ("ks_read", "READ_FUNCTIONS")];

fn is_complete(name: &str) -> bool {
    COMPLETE.iter().any(|(complete, _)| *complete == name)
}

impl Twins {
    /// Errors name what was found and in which struct.
    pub fn parse(text: &str) -> Result<Twins, String> {
        let text = without_comments(text);
        let constants = text.lines().filter_map(constant).collect();
        let mut structs = Vec::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find("\nstruct ") {
            rest = &rest[at + "\nstruct ".len()..];
            let Some((name, body)) = rest.split_once(" {\n").filter(|(name, _)| !name.contains([';', '(', '\n']))
            else {
                continue;
            };
            let (body, tail) = body.split_once("\n};").ok_or_else(|| format!("ks.h: struct {name} does not end"))?;
            let members = body.split(';').map(str::trim).filter(|m| !m.is_empty());
            let members: Result<Vec<Member>, String> = members.map(|m| member(name, m)).collect();
            structs.push(Struct { name: name.into(), members: members? });
            rest = tail;
        }
        Ok(Twins { constants, structs })
    }

    /// `ks.rs`.
    pub fn rust(&self) -> String {
        let mut out = String::from("// Written by build.rs from kernel/include/ks.h.\n");
        for (name, value) in &self.constants {
            let ty = if *value < 0 || name.starts_with("KS_PICK_") { "i32" } else { "u32" };
            let _ = writeln!(out, "pub const {name}: {ty} = {value};");
        }
        self.structs.iter().for_each(|s| s.rust(&mut out));
        let rows: Vec<(String, String)> = self.structs.iter().flat_map(Struct::layout_rust).collect();
        let _ = writeln!(out, "pub(crate) const LAYOUT: [(&str, usize); {}] = [", rows.len());
        rows.iter().for_each(|(what, value)| {
            let _ = writeln!(out, "    ({what:?}, {value}),");
        });
        let _ = writeln!(out, "];\nextern \"C\" {{\n    static fairground_ks_layout: [u64; {}];\n}}", rows.len());
        self.functions(&mut out);
        out
    }

    /// Names and places of the functions that a kernel must have.
    fn functions(&self, out: &mut String) {
        for (name, list) in COMPLETE {
            let complete = self.structs.iter().filter(|s| s.name == name);
            let _ = writeln!(out, "pub(crate) const {list}: &[(&str, usize)] = &[");
            for (s, m) in complete.flat_map(|s| s.members.iter().filter(|m| m.is_function).map(move |m| (s, m))) {
                let (ty, member) = (camel(&s.name), rust_name(&m.name));
                let _ = writeln!(out, "    ({:?}, std::mem::offset_of!({ty}, {member})),", m.name);
            }
            out.push_str("];\n");
        }
    }

    /// The table that `fairground_ks_layout` names, in the order of `LAYOUT`.
    pub fn layout_c(&self) -> String {
        let mut out = String::from("#include <stddef.h>\n#include \"ks.h\"\nconst u64 fairground_ks_layout[] = {\n");
        for s in &self.structs {
            let _ = writeln!(out, "\tsizeof(struct {}),", s.name);
            s.members.iter().for_each(|m| {
                let _ = writeln!(out, "\toffsetof(struct {}, {}),", s.name, m.name);
            });
        }
        out + "};\n"
    }
}

impl Struct {
    fn rust(&self, out: &mut String) {
        let name = camel(&self.name);
        let _ = writeln!(out, "#[repr(C)]\n#[derive(Clone, Copy, Debug)]\npub struct {name} {{");
        for m in &self.members {
            let ty = match m.is_function && !is_complete(&self.name) {
                true => format!("Option<{}>", m.ty),
                false => m.ty.clone(),
            };
            let _ = writeln!(out, "    pub {}: {ty},", rust_name(&m.name));
        }
        out.push_str("}\n");
        if !is_complete(&self.name) {
            let _ = writeln!(out, "impl {name} {{\n    pub fn zeroed() -> Self {{");
            out.push_str("        // SAFETY: numbers, null pointers and functions that are not there.\n");
            out.push_str("        unsafe { std::mem::zeroed() }\n    }\n}\n");
        }
    }

    fn layout_rust(&self) -> Vec<(String, String)> {
        let name = camel(&self.name);
        let size = (format!("sizeof(struct {})", self.name), format!("size_of::<{name}>()"));
        let offset = |m: &Member| {
            let what = format!("offsetof(struct {}, {})", self.name, m.name);
            (what, format!("std::mem::offset_of!({name}, {})", rust_name(&m.name)))
        };
        std::iter::once(size).chain(self.members.iter().map(offset)).collect()
    }
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((code, comment)) = rest.split_once("/*") {
        out.push_str(code);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    out + rest
}

/// `#define KS_NAME number`.
fn constant(line: &str) -> Option<(String, i64)> {
    let mut words = line.strip_prefix("#define KS_")?.split_whitespace();
    let (name, value) = (words.next()?, words.next()?);
    Some((format!("KS_{name}"), value.trim_matches(['(', ')']).parse().ok()?))
}

fn member(of: &str, text: &str) -> Result<Member, String> {
    let bad = || format!("ks.h: struct {of}: cannot read `{text}`");
    if let Some((result, rest)) = text.split_once("(*") {
        let (name, params) = rest.split_once(")(").ok_or_else(bad)?;
        let params = params.strip_suffix(')').ok_or_else(bad)?;
        let params = params.split(',').filter(|p| *p != "void");
        let params: Option<Vec<String>> = params.map(|p| declaration(p).map(|(ty, _)| ty)).collect();
        let result = match result.trim() {
            "void" => String::new(),
            ty => format!(" -> {}", rust_type(ty).ok_or_else(bad)?),
        };
        let ty = format!("unsafe extern \"C\" fn({}){result}", params.ok_or_else(bad)?.join(", "));
        return Ok(Member { name: name.into(), ty, is_function: true });
    }
    let (ty, name) = declaration(text).ok_or_else(bad)?;
    Ok(Member { name, ty, is_function: false })
}

/// `const struct x *name`, `u64 name[N]`.
fn declaration(text: &str) -> Option<(String, String)> {
    let (text, count) = match text.trim().strip_suffix(']') {
        Some(array) => array.split_once('[').map(|(t, n)| (t, Some(n)))?,
        None => (text.trim(), None),
    };
    let at = text.rfind([' ', '*'])? + 1;
    let (ty, name) = (rust_type(text[..at].trim())?, text[at..].to_string());
    let ty = match count {
        None => ty,
        // Masks are kept as the machine keeps them.
        Some("KS_MASK_WORDS") if ty == "u64" => "CpuMask".into(),
        Some(n) => format!("[{ty}; {n}]"),
    };
    Some((ty, name))
}

fn rust_type(text: &str) -> Option<String> {
    let (text, is_pointer) = match text.strip_suffix('*') {
        Some(to) => (to.trim(), true),
        None => (text, false),
    };
    let (base, is_const) = match text.strip_prefix("const ") {
        Some(base) => (base, true),
        None => (text, false),
    };
    let base = match base {
        "char" => "std::ffi::c_char".into(),
        "void" => "std::ffi::c_void".into(),
        "u8" | "u16" | "u32" | "u64" => base.into(),
        "s8" | "s16" | "s32" | "s64" => base.replacen('s', "i", 1),
        _ => camel(base.strip_prefix("struct ")?),
    };
    Some(match (is_pointer, is_const) {
        (false, _) => base,
        (true, true) => format!("*const {base}"),
        (true, false) => format!("*mut {base}"),
    })
}

/// `ks_cpu_desc` -> `KsCpuDesc`.
fn camel(name: &str) -> String {
    let capital = |w: &str| w[..1].to_uppercase() + &w[1..];
    name.split('_').filter(|w| !w.is_empty()).map(capital).collect()
}

fn rust_name(name: &str) -> String {
    match name {
        "self" => "this".into(),
        "yield" => "yield_now".into(),
        _ => name.into(),
    }
}

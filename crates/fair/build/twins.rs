//! Writes Rust for what the header declares, and C for the layout table.

use std::fmt::Write;

use crate::header::{Function, Header, Member, Pointer, Struct, Type};

/// The struct whose twin is `fairground_machine::CpuMask`.
const MASK: &str = "fg_mask";

/// What the header counts of the tables beside it: the layout table begins with these.
const NUMBERS: [&str; 4] = ["FG_NR_FEATURES", "FG_NR_RULES", "FG_NR_NOTES", "FG_NR_BALANCE_RULES"];

/// The calls of the tables beside the header, each with its arguments.
pub struct Tables {
    /// `features.h`.
    pub features: Vec<Vec<String>>,
    /// `rules.h`.
    pub rules: Vec<Vec<String>>,
    /// `notes.h`.
    pub notes: Vec<Vec<String>>,
    /// `balance_rules.h`.
    pub balance_rules: Vec<Vec<String>>,
}

/// `fg.rs`.
pub fn rust(header: &Header, tables: &Tables) -> Result<String, String> {
    let mut out = String::from("// Written by build.rs from policy/fg.h and the tables beside it.\n");
    for (name, value) in &header.constants {
        let _ = writeln!(out, "pub const {name}: u32 = {value};");
    }
    header.structs.iter().filter(|s| s.name != MASK).for_each(|s| structure(&mut out, s));
    out.push_str("extern \"C\" {\n");
    header.functions.iter().for_each(|f| function(&mut out, f));
    out.push_str("}\n");
    let lengths = [&tables.features, &tables.rules, &tables.notes, &tables.balance_rules].map(Vec::len);
    layout_rust(&mut out, header, lengths);
    feature_table(&mut out, header, &tables.features)?;
    rule_table(&mut out, header, "FG_RULE", "RULES", &tables.rules)?;
    rule_table(&mut out, header, "FG_BALANCE_RULE", "BALANCE_RULES", &tables.balance_rules)?;
    note_table(&mut out, header, &tables.notes)?;
    Ok(out)
}

/// `fg_task` -> `FgTask`.
fn camel(name: &str) -> String {
    if name == MASK {
        return "CpuMask".into();
    }
    let capital = |w: &str| w[..1].to_uppercase() + &w[1..];
    name.split('_').filter(|w| !w.is_empty()).map(capital).collect()
}

fn base(ty: &Type) -> String {
    match ty.base.strip_prefix('s').filter(|_| !ty.base.starts_with("fg_")) {
        Some(bits) => format!("i{bits}"),
        None if ty.base.starts_with("fg_") => camel(&ty.base),
        None => ty.base.clone(),
    }
}

fn full(ty: &Type) -> String {
    match ty.pointer {
        None => base(ty),
        Some(Pointer::Mut) => format!("*mut {}", base(ty)),
        Some(Pointer::Const) => format!("*const {}", base(ty)),
    }
}

fn member_type(m: &Member) -> String {
    match m.count {
        Some(n) => format!("[{}; {n}]", full(&m.ty)),
        None => full(&m.ty),
    }
}

fn zero(m: &Member) -> String {
    let one = match (m.ty.pointer, m.ty.base.as_str()) {
        (Some(Pointer::Mut), _) => "std::ptr::null_mut()".to_string(),
        (Some(Pointer::Const), _) => "std::ptr::null()".to_string(),
        (None, MASK) => "CpuMask::EMPTY".to_string(),
        (None, b) if b.starts_with("fg_") => format!("{}::zeroed()", camel(b)),
        (None, _) => "0".to_string(),
    };
    match m.count {
        Some(n) => format!("[const {{ {one} }}; {n}]"),
        None => one,
    }
}

fn structure(out: &mut String, s: &Struct) {
    let name = camel(&s.name);
    let _ = writeln!(out, "#[repr(C)]\n#[derive(Clone, Debug)]\npub struct {name} {{");
    for m in &s.members {
        let _ = writeln!(out, "    pub {}: {},", m.name, member_type(m));
    }
    let _ = writeln!(out, "}}\nimpl {name} {{\n    pub const fn zeroed() -> Self {{\n        {name} {{");
    for m in &s.members {
        let _ = writeln!(out, "            {}: {},", m.name, zero(m));
    }
    out.push_str("        }\n    }\n}\n");
    fields(out, s);
}

/// The members by name, for whoever writes a struct down or reads it back. Pointers are none.
fn fields(out: &mut String, s: &Struct) {
    let name = camel(&s.name);
    let _ = writeln!(out, "impl Fields for {name} {{");
    let shown: Vec<_> = s.members.iter().filter(|m| m.ty.pointer.is_none()).collect();
    let visit = if shown.is_empty() { "_" } else { "visit" };
    let _ = writeln!(out, "    fn fields(&mut self, {visit}: &mut dyn FnMut(&'static str, Field<'_>)) {{");
    for m in shown {
        let kind = match m.ty.base.as_str() {
            MASK => "Mask",
            base if base.starts_with("fg_") => "Struct",
            _ => "Number",
        };
        let field = match m.count {
            None => format!("Field::{kind}(&mut self.{})", m.name),
            Some(_) => format!("Field::List(self.{}.iter_mut().map(|x| Field::{kind}(x)).collect())", m.name),
        };
        let _ = writeln!(out, "        visit({:?}, {field});", m.name);
    }
    out.push_str("    }\n}\n");
}

fn function(out: &mut String, f: &Function) {
    let params: Vec<String> = f.params.iter().map(|(name, ty)| format!("{name}: {}", full(ty))).collect();
    let result = f.result.as_ref().map_or(String::new(), |ty| format!(" -> {}", full(ty)));
    let _ = writeln!(out, "    pub fn {}({}){result};", f.name, params.join(", "));
}

/// The table that `layout.c` fills, as Rust sees it. The mask's member is private: its size must do.
fn layout_rust(out: &mut String, header: &Header, numbers: [usize; 4]) {
    let mut rows: Vec<String> = NUMBERS.iter().zip(numbers).map(|(name, n)| format!("({name:?}, {n})")).collect();
    for s in &header.structs {
        let name = camel(&s.name);
        rows.push(format!("(\"sizeof {}\", std::mem::size_of::<{name}>())", s.name));
        for m in s.members.iter().filter(|_| s.name != MASK) {
            rows.push(format!("(\"{}.{}\", std::mem::offset_of!({name}, {}))", s.name, m.name, m.name));
        }
    }
    let _ = writeln!(out, "pub(crate) const LAYOUT: [(&str, usize); {}] = [", rows.len());
    rows.iter().for_each(|row| {
        let _ = writeln!(out, "    {row},");
    });
    let _ = writeln!(out, "];\nextern \"C\" {{ pub(crate) static fairground_layout: [u64; {}]; }}", rows.len());
}

/// `layout.c`.
pub fn layout_c(header: &Header) -> String {
    let mut out = String::from("#include <stddef.h>\n#include \"fg.h\"\nextern const u64 fairground_layout[];\n");
    let _ = writeln!(out, "const u64 fairground_layout[] = {{\n\t{},", NUMBERS.join(",\n\t"));
    for s in &header.structs {
        let _ = writeln!(out, "\tsizeof(struct {}),", s.name);
        for m in s.members.iter().filter(|_| s.name != MASK) {
            let _ = writeln!(out, "\toffsetof(struct {}, {}),", s.name, m.name);
        }
    }
    out.push_str("};\n");
    out
}

/// A macro call's argument by the name that fg.h gives the parameter.
fn argument<'a>(header: &Header, name: &str, call: &'a [String], param: &str) -> Result<&'a str, String> {
    let params = header.macros.get(name).ok_or_else(|| format!("policy/fg.h: no `#define {name}(...)`"))?;
    if params.len() != call.len() {
        return Err(format!("{name}({}...): {} arguments, fg.h names {}", call[0], call.len(), params.len()));
    }
    let at = params.iter().position(|p| p == param);
    at.map(|i| call[i].as_str()).ok_or_else(|| format!("policy/fg.h: {name} has no parameter `{param}`"))
}

fn feature_table(out: &mut String, header: &Header, features: &[Vec<String>]) -> Result<(), String> {
    let mut rows = String::new();
    for (i, call) in features.iter().enumerate() {
        let arg = |param| argument(header, "FG_FEATURE", call, param);
        let _ = writeln!(out, "pub const FG_{}: usize = {i};", arg("id")?);
        let words: Vec<&str> = arg("values")?.split('|').filter(|w| !w.is_empty()).collect();
        let _ = writeln!(
            rows,
            "    FeatureInfo {{ name: {:?}, values: &{words:?}, mail: {:?}, since: {:?}, ready: {}, text: {:?} }},",
            arg("name")?,
            arg("mail")?,
            arg("since")?,
            arg("ready")? == "1",
            arg("text")?
        );
    }
    let _ = writeln!(out, "pub(crate) static FEATURES: [FeatureInfo; {}] = [\n{rows}];", features.len());
    Ok(())
}

/// The rules of the calls of `macro_name`, and constants for their places in the table `table`.
fn rule_table(
    out: &mut String,
    header: &Header,
    macro_name: &str,
    table: &str,
    rules: &[Vec<String>],
) -> Result<(), String> {
    let mut rows = String::new();
    for (i, call) in rules.iter().enumerate() {
        let arg = |param| argument(header, macro_name, call, param);
        let _ = writeln!(out, "pub const {macro_name}_{}: u32 = {i};", arg("id")?);
        let [name, function, label, text] = [arg("name")?, arg("function")?, arg("label")?, arg("text")?];
        let _ =
            writeln!(rows, "    Rule {{ name: {name:?}, function: {function:?}, label: {label:?}, text: {text:?} }},");
    }
    let _ = writeln!(out, "pub(crate) static {table}: [Rule<'static>; {}] = [\n{rows}];", rules.len());
    Ok(())
}

fn note_table(out: &mut String, header: &Header, notes: &[Vec<String>]) -> Result<(), String> {
    let mut rows = String::new();
    for call in notes {
        let _ = writeln!(rows, "    {:?},", argument(header, "FG_NOTE", call, "text")?);
    }
    let _ = writeln!(out, "pub static NOTES: [&str; {}] = [\n{rows}];", notes.len());
    Ok(())
}

//! Writes the Rust twins of the header's constants, structs and functions, and of the tables beside it.

use std::fmt::Write;

use fairground_cheader::{camel, rust_name, Header, Kind, Layout, Member, Pointer, Struct, Type};

/// The struct whose twin is `fairground_machine::CpuMask`; `ffi` imports it.
const MASK: &str = "fg_mask";

/// Constants of the header for the lengths of the tables beside it. The layout table begins with them.
const NUMBERS: [&str; 5] = ["FG_NR_FEATURES", "FG_NR_RULES", "FG_NR_NOTES", "FG_NR_BALANCE_RULES", "FG_NR_PICK_RULES"];

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
    /// `pick_rules.h`.
    pub pick_rules: Vec<Vec<String>>,
}

/// `fg.rs`.
pub fn rust(header: &Header, tables: &Tables) -> Result<String, String> {
    let mut out = String::from("// Written by build.rs from policy/fg.h and the tables beside it.\n");
    for (name, value) in &header.constants {
        let _ = writeln!(out, "pub const {name}: u32 = {value};");
    }
    header.structs.iter().filter(|s| s.name != MASK).for_each(|s| structure(&mut out, s));
    out.push_str("extern \"C\" {\n");
    header.functions.iter().for_each(|f| {
        let _ = writeln!(out, "    {}", f.rust_declaration());
    });
    out.push_str("}\n");
    feature_table(&mut out, header, &tables.features)?;
    rule_table(&mut out, header, "FG_RULE", "RULES", &tables.rules)?;
    rule_table(&mut out, header, "FG_BALANCE_RULE", "BALANCE_RULES", &tables.balance_rules)?;
    rule_table(&mut out, header, "FG_PICK_RULE", "PICK_RULES", &tables.pick_rules)?;
    note_table(&mut out, header, &tables.notes)?;
    Ok(out)
}

/// The sizes and offsets that both compilers report. The mask is left out: its member is private in Rust.
pub fn layout(header: &Header, tables: &Tables) -> Layout {
    let mut layout = Layout::default();
    let tables = [&tables.features, &tables.rules, &tables.notes, &tables.balance_rules, &tables.pick_rules];
    let lengths = tables.map(Vec::len);
    NUMBERS.iter().zip(lengths).for_each(|(name, length)| layout.add(name, length));
    layout.add_structs(header, &[MASK]);
    layout
}

fn zero(member: &Member) -> String {
    let one = |ty: &Type| match (ty.pointer, ty.base.as_str()) {
        (Some(Pointer::Mut), _) => "std::ptr::null_mut()".to_string(),
        (Some(Pointer::Const), _) => "std::ptr::null()".to_string(),
        (None, MASK) => "CpuMask::EMPTY".to_string(),
        (None, base) if ty.is_struct() => format!("{}::zeroed()", camel(base)),
        (None, _) => "0".to_string(),
    };
    match &member.kind {
        Kind::Value(ty) => one(ty),
        Kind::Array(ty, length, _) => format!("[const {{ {} }}; {length}]", one(ty)),
        Kind::Function(_) => "None".to_string(),
    }
}

fn structure(out: &mut String, s: &Struct) {
    let name = camel(&s.name);
    let _ = writeln!(out, "#[repr(C)]\n#[derive(Clone, Debug)]\npub struct {name} {{");
    for m in &s.members {
        let _ = writeln!(out, "    pub {}: {},", rust_name(&m.name), m.rust_type());
    }
    let _ = writeln!(out, "}}\nimpl {name} {{\n    pub const fn zeroed() -> Self {{\n        {name} {{");
    for m in &s.members {
        let _ = writeln!(out, "            {}: {},", rust_name(&m.name), zero(m));
    }
    out.push_str("        }\n    }\n}\n");
    fields(out, s);
}

/// `Fields` for a struct: its members by name, without pointers. Used to write a struct as text and to read it back.
fn fields(out: &mut String, s: &Struct) {
    let name = camel(&s.name);
    let _ = writeln!(out, "impl Fields for {name} {{");
    let shown = s.members.iter().filter_map(|m| m.value_type().filter(|ty| ty.pointer.is_none()).map(|ty| (m, ty)));
    let shown: Vec<(&Member, &Type)> = shown.collect();
    let visit = if shown.is_empty() { "_" } else { "visit" };
    let _ = writeln!(out, "    fn fields(&mut self, {visit}: &mut dyn FnMut(&'static str, Field<'_>)) {{");
    for (m, ty) in shown {
        let kind = match ty.base.as_str() {
            MASK => "Mask",
            _ if ty.is_struct() => "Struct",
            _ => "Number",
        };
        let name = rust_name(&m.name);
        let field = match m.kind {
            Kind::Array(..) if kind == "Mask" => {
                format!("Field::List(self.{name}.iter_mut().map(Field::Mask).collect())")
            }
            Kind::Array(..) => format!("Field::List(self.{name}.iter_mut().map(|x| Field::{kind}(x)).collect())"),
            Kind::Value(_) | Kind::Function(_) => format!("Field::{kind}(&mut self.{name})"),
        };
        let _ = writeln!(out, "        visit({:?}, {field});", m.name);
    }
    out.push_str("    }\n}\n");
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

/// Writes the table `table` of the rules, one for each call of `macro_name`, and a constant for each rule's index.
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

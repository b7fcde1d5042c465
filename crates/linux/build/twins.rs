//! Writes Rust for what `ks.h` declares.

use std::fmt::Write;

use fairground_cheader::{camel, rust_name, Header, Kind, Member, Struct};

/// Structs whose functions must all be there, and what their list is called; those of others may be null.
const COMPLETE: [(&str, &str); 2] = [("ks_kernel", "FUNCTIONS"), ("ks_read", "READ_FUNCTIONS")];

fn is_complete(s: &Struct) -> bool {
    COMPLETE.iter().any(|(complete, _)| *complete == s.name)
}

/// `ks.rs`.
pub fn rust(header: &Header) -> String {
    let mut out = String::from("// Written by build.rs from kernel/include/ks.h.\n");
    for (name, value) in &header.constants {
        let ty = if *value < 0 || name.starts_with("KS_PICK_") { "i32" } else { "u32" };
        let _ = writeln!(out, "pub const {name}: {ty} = {value};");
    }
    header.structs.iter().for_each(|s| structure(&mut out, s));
    COMPLETE.iter().for_each(|(name, list)| functions(&mut out, header, name, list));
    out
}

fn structure(out: &mut String, s: &Struct) {
    let name = camel(&s.name);
    let _ = writeln!(out, "#[repr(C)]\n#[derive(Clone, Copy, Debug)]\npub struct {name} {{");
    for m in &s.members {
        let ty = match &m.kind {
            Kind::Function(_) if !is_complete(s) => format!("Option<{}>", m.rust_type()),
            // Masks are kept as the machine keeps them.
            Kind::Array(ty, _, length) if ty.base == "u64" && length == "KS_MASK_WORDS" => "CpuMask".into(),
            _ => m.rust_type(),
        };
        let _ = writeln!(out, "    pub {}: {ty},", rust_name(&m.name));
    }
    out.push_str("}\n");
    if !is_complete(s) {
        let _ = writeln!(out, "impl {name} {{\n    pub fn zeroed() -> Self {{");
        out.push_str("        // SAFETY: numbers, null pointers and functions that are not there.\n");
        out.push_str("        unsafe { std::mem::zeroed() }\n    }\n}\n");
    }
}

/// Names and places of the functions that a kernel must have.
fn functions(out: &mut String, header: &Header, of_struct: &str, list: &str) {
    let members = header.structs.iter().filter(|s| s.name == of_struct).flat_map(|s| &s.members);
    let _ = writeln!(out, "pub(crate) const {list}: &[(&str, usize)] = &[");
    for Member { name, .. } in members.filter(|m| matches!(m.kind, Kind::Function(_))) {
        let _ = writeln!(out, "    ({name:?}, std::mem::offset_of!({}, {})),", camel(of_struct), rust_name(name));
    }
    out.push_str("];\n");
}

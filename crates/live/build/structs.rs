//! Writes what the loader has to know of the structs of `fg.h` and `live.h`, and C that says where their members are.

use std::fmt::Write;

use fairground_cheader::{Header, Kind, Member, Struct, Type};

/// Lengths of arrays that the loader fills.
const SIZES: [&str; 3] = ["LIVE_IDLE_STATES", "LIVE_GROUP_DEPTHS", "LIVE_GROUPS"];

/// `structs.rs`: the table `STRUCTS`, with all structs of the headers in their order, and the CPUs that the programs are built for.
pub fn rust(headers: &[&Header], max_cpus: usize) -> String {
    let all: Vec<&Struct> = structs(headers).collect();
    let number = |name: &str| all.iter().position(|s| s.name == name);
    let mut out = format!("static STRUCTS: [Struct; {}] = [\n", all.len());
    for s in &all {
        let _ = writeln!(out, "    Struct {{ name: {:?}, members: &[", s.name);
        for member in s.members.iter() {
            let _ =
                writeln!(out, "        Member {{ name: {:?}, what: {} }},", member.name, member_type(member, &number));
        }
        out.push_str("    ] },\n");
    }
    let rows: usize = all.iter().map(|s| 1 + 2 * s.members.len()).sum();
    let _ = writeln!(out, "];\nextern \"C\" {{\n    static live_small: [u64; {rows}];");
    let _ = writeln!(out, "    static live_large: [u64; {rows}];\n}}");
    let _ = writeln!(
        out,
        "/// CPUs that the programs in the kernel are built for.\npub const MAX_CPUS: usize = {max_cpus};"
    );
    for (name, value) in
        headers.iter().flat_map(|header| &header.constants).filter(|(name, _)| SIZES.contains(&name.as_str()))
    {
        let _ = writeln!(out, "/// As in live.h.\npub const {name}: usize = {value};");
    }
    out
}

fn structs<'a>(headers: &'a [&Header]) -> impl Iterator<Item = &'a Struct> {
    headers.iter().flat_map(|header| &header.structs)
}

/// The `What` of a member, as Rust.
fn member_type(member: &Member, number: &dyn Fn(&str) -> Option<usize>) -> String {
    let of = |ty: &Type| match (ty.pointer, number(&ty.base)) {
        (Some(_), Some(to)) => format!("What::Pointer(Some({to}))"),
        (Some(_), None) => "What::Pointer(None)".to_string(),
        (None, Some(is)) => format!("What::Struct({is})"),
        (None, None) => "What::Number".to_string(),
    };
    match &member.kind {
        Kind::Value(ty) | Kind::Array(ty, ..) => of(ty),
        Kind::Function(_) => "What::Pointer(None)".to_string(),
    }
}

/// C: the array `live_NAME`, for each struct its size, and for each member of it where it is and how long.
pub fn places(headers: &[&Header], name: &str) -> String {
    let mut out = format!("#include <stddef.h>\n#include \"live.h\"\nextern const u64 live_{name}[];\n");
    let _ = writeln!(out, "const u64 live_{name}[] = {{");
    for s in structs(headers) {
        let _ = writeln!(out, "\tsizeof(struct {}),", s.name);
        for Member { name, .. } in &s.members {
            let _ = writeln!(out, "\toffsetof(struct {}, {name}), sizeof(((struct {} *)0)->{name}),", s.name, s.name);
        }
    }
    out.push_str("};\n");
    out
}

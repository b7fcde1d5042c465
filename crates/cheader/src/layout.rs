//! Sizes and offsets of the structs of a header, as both compilers have them.

use std::fmt::Write;

use crate::{camel, rust_name, Header};

/// Rows of the table: an expression in C, which also names the row, and one in Rust.
#[derive(Debug, Default)]
pub struct Layout {
    rows: Vec<(String, String)>,
}

impl Layout {
    /// Adds a number that both know, e.g. of the rows of a table.
    pub fn add(&mut self, c: &str, rust: impl ToString) {
        self.rows.push((c.into(), rust.to_string()));
    }

    /// Adds the size of each struct and where its members are. Of `opaque` ones the size must do.
    pub fn add_structs(&mut self, header: &Header, opaque: &[&str]) {
        for s in &header.structs {
            let name = camel(&s.name);
            self.add(&format!("sizeof(struct {})", s.name), format!("std::mem::size_of::<{name}>()"));
            for member in s.members.iter().filter(|_| !opaque.contains(&s.name.as_str())) {
                let c = format!("offsetof(struct {}, {})", s.name, member.name);
                self.add(&c, format!("std::mem::offset_of!({name}, {})", rust_name(&member.name)));
            }
        }
    }

    /// Rust: `LAYOUT`, its own view, and the C compiler's, the static `table`.
    pub fn rust(&self, table: &str) -> String {
        let mut out = format!("pub(crate) const LAYOUT: [(&str, usize); {}] = [\n", self.rows.len());
        for (c, rust) in &self.rows {
            let _ = writeln!(out, "    ({c:?}, {rust}),");
        }
        let _ = writeln!(out, "];\nextern \"C\" {{ pub(crate) static {table}: [u64; {}]; }}", self.rows.len());
        out
    }

    /// C that defines `table`. `include` is the header.
    pub fn c(&self, include: &str, table: &str) -> String {
        let mut out = format!("#include <stddef.h>\n#include \"{include}\"\nextern const u64 {table}[];\n");
        let _ = writeln!(out, "const u64 {table}[] = {{");
        for (c, _) in &self.rows {
            let _ = writeln!(out, "\t{c},");
        }
        out.push_str("};\n");
        out
    }
}

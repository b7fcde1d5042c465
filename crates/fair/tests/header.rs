//! What build.rs accepts of `policy/fg.h`, and how it refuses the rest.

#[path = "../build/header.rs"]
#[allow(dead_code)]
mod header;

use header::{macro_calls, Header, Pointer};

#[test]
fn the_plain_form_is_read() {
    let text =
        "#define N 0x10\n/* a\n * b */\nstruct fg_a {\n\tu64 x;\t/* ns */\n\tstruct fg_a *next;\n\tu8 y[N];\n};\n\
                u32 fg_f(const struct fg_a *a,\n\t s32 n);\n";
    let header = Header::parse("fg.h", text).unwrap();
    assert_eq!(header.constants, [("N".to_string(), 16)]);
    let members = &header.structs[0].members;
    assert_eq!((members[0].name.as_str(), members[0].ty.base.as_str()), ("x", "u64"));
    assert!(members[1].ty.pointer == Some(Pointer::Mut));
    assert_eq!(members[2].count, Some(16));
    let function = &header.functions[0];
    assert_eq!((function.name.as_str(), function.params.len()), ("fg_f", 2));
    assert!(function.params[0].1.pointer == Some(Pointer::Const));
}

#[test]
fn anything_else_is_refused_with_its_line() {
    let cases = [
        ("struct fg_a {\n\tint x;\n};", "fg.h:2: expected u8..u64, s8..s64 or struct fg_x, found `int`"),
        ("struct fg_a {\n\tu8 x, y;\n};", "fg.h:2: expected u8..u64, s8..s64 or struct fg_x, found `u8 x,`"),
        ("struct fg_a {\n\tu8 x:3;\n};", "fg.h:2: expected `type name` or `struct fg_x *name`, found `u8 x:3`"),
        ("struct fg_a {\n\tu8 x[M];\n};", "fg.h:2: array size in `u8 x[M];` is no number and no constant above"),
        ("struct fg_a {\n\tunion {\n};", "fg.h:2: expected one member ending in `;`, found `union {`"),
        ("struct fg_a {\n\tu8 x;\n", "fg.h:2: struct fg_a does not end"),
        ("#define N (1 << 3)\n", "fg.h:1: `N` is no plain number: `(1 << 3)`"),
        ("u32 fg_f(u32 **a);\n", "fg.h:1: pointer to pointer in `u32 **`"),
    ];
    for (text, expected) in cases {
        assert_eq!(Header::parse("fg.h", text).err().unwrap(), expected);
    }
}

#[test]
fn macro_calls_join_their_strings() {
    let calls = macro_calls("features.h", "F(A, \"a\", \"one, \"\n\t\"two\")\nF(B, \"\", \"c\")\n", "F").unwrap();
    assert_eq!(calls, [vec!["A", "a", "one, two"], vec!["B", "", "c"]]);
}

use super::*;

const GOOD: &str = r#"
#ifndef X_H
#define X_H
typedef unsigned int u32;	/* not read */
#define X_MAX 0x10u
#define X_NONE (-1)
#define X_WORDS Y_WORDS
typedef u32 x_flag;
typedef struct x_pair x_twin;
#define X_NULLABLE	/* a mark */
enum x_id {
#define X_ROW(id, name, text) X_##id,
#include "rows.h"
	X_NR
};
struct x_later;

/* A pair. */
struct x_pair {
	u32 first;	/* ; { */
	s64 list[X_MAX];

	const struct x_later *later;
	u64 mask[X_WORDS];
	void (*yield)(void *self,
		      const char *text);
	s32 (*count)(void);
};
X_NULLABLE struct x_pair *x_make(X_NULLABLE const x_twin *from, x_flag
		      flags);
void x_end(void);
#endif
"#;

fn included() -> Header {
    Header { constants: vec![("Y_WORDS".into(), 4)], ..Header::default() }
}

fn good() -> Header {
    Header::parse("x.h", GOOD, &included()).unwrap()
}

#[test]
fn constants_are_numbers_or_name_one() {
    let expected = [("X_MAX", 16), ("X_NONE", -1), ("X_WORDS", 4)].map(|(name, value)| (name.to_string(), value));
    assert_eq!(good().constants, expected);
    assert_eq!(good().macros["X_ROW"], ["id", "name", "text"]);
}

#[test]
fn members_are_spelled_in_rust() {
    let header = good();
    assert_eq!(header.structs.len(), 1, "a forward declaration is not a struct");
    let members: Vec<(&str, String)> =
        header.structs[0].members.iter().map(|m| (rust_name(&m.name), m.rust_type())).collect();
    let expected = [
        ("first", "u32"),
        ("list", "[i64; 16]"),
        ("later", "*const XLater"),
        ("mask", "[u64; 4]"),
        ("yield_now", "unsafe extern \"C\" fn(*mut std::ffi::c_void, *const std::ffi::c_char)"),
        ("count", "unsafe extern \"C\" fn() -> i32"),
    ];
    assert_eq!(members, expected.map(|(name, ty)| (name, ty.to_string())));
}

#[test]
fn prototypes_are_spelled_in_rust() {
    let declarations: Vec<String> = good().functions.iter().map(Function::rust_declaration).collect();
    assert_eq!(declarations, ["pub fn x_make(from: *const XPair, flags: u32) -> *mut XPair;", "pub fn x_end();"]);
}

#[test]
fn other_names_and_marks_change_no_type() {
    let header = good();
    let make = &header.functions[0];
    let named = |ty: &Type| (ty.base.clone(), ty.alias.clone(), ty.marks.len());
    assert_eq!(named(make.result.as_ref().unwrap()), ("x_pair".into(), None, 1));
    assert_eq!(named(&make.params[0].1), ("x_pair".into(), Some("x_twin".into()), 1));
    assert_eq!(named(&make.params[1].1), ("u32".into(), Some("x_flag".into()), 0));
    let later = Header::parse("y.h", "x_flag y_f(X_NULLABLE x_twin *p);", &header).unwrap();
    assert_eq!(later.functions[0].rust_declaration(), "pub fn y_f(p: *mut XPair) -> u32;");
}

#[test]
fn a_layout_names_its_rows_as_c_does() {
    let mut layout = Layout::default();
    layout.add("X_NR", 3);
    layout.add_structs(&good(), &[]);
    let c = layout.c("x.h", "x_layout");
    let rows: Vec<&str> = c.lines().skip(4).take(3).collect();
    assert_eq!(rows, ["\tX_NR,", "\tsizeof(struct x_pair),", "\toffsetof(struct x_pair, first),"]);
    let rust = layout.rust("x_layout");
    assert!(rust.contains("(\"offsetof(struct x_pair, yield)\", std::mem::offset_of!(XPair, yield_now)),"), "{rust}");
    assert!(rust.contains("static x_layout: [u64; 8];"), "{rust}");
    let mut opaque = Layout::default();
    opaque.add_structs(&good(), &["x_pair"]);
    assert!(opaque.rust("x_layout").contains("[u64; 1]"));
}

#[test]
fn what_is_not_of_the_plain_form_is_named_with_its_line() {
    for (text, expected) in [
        ("struct a {\n\tu32 **p;\n};", "x.h:2: pointer to pointer"),
        ("struct a {\n\tint x;\n};", "x.h:2: expected u8..u64"),
        ("struct a {\n\tvoid x;\n};", "x.h:2: expected u8..u64"),
        ("struct a {\n\tu32 x[N];\n};", "x.h:2: array size in `u32 x[N]`"),
        ("struct a {\n\tu32 x[2][2];\n};", "x.h:2: array size in"),
        ("struct a {\n\tu32 x\n};", "x.h:3: expected a declaration ending in `;`"),
        ("struct a {\n\tu32 x, y;\n};", "x.h:2: expected u8..u64"),
        ("struct a {\n\tu32 x:3;\n};", "x.h:2: expected `type name` or `struct x *name`, found `u32 x:3`"),
        ("struct a {\n\tunion {\n};", "x.h:3: expected a declaration ending in `;`, found `union {`"),
        ("struct a {\n\tu32 x;\n", "x.h:2: struct a does not end"),
        ("struct a {\n\tu32 (*f;\n};", "x.h:2: expected `result (*name)(parameters);`"),
        ("enum a {\n\tA,\n", "x.h:2: an enum does not end"),
        ("\n#define N (1 << 3)", "x.h:2: `N` is neither a number nor a constant above"),
        ("u32 f(u32 (*g)(void));", "x.h:1: expected parameters of the plain form"),
        ("typedef int flag;", "x.h:1: expected u8..u64"),
        ("u32 f;", "x.h:1: expected a prototype or a struct"),
        ("u32 f(u32 a)\n#endif", "x.h:2: expected a declaration ending in `;`"),
    ] {
        let error = Header::parse("x.h", text, &included()).unwrap_err();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn a_table_is_read_call_by_call() {
    let text = "/* ROW(no) */\nROW(A, \"a, \"\n  \"b\")\nROW(B, \"c)\")\n";
    assert_eq!(macro_calls("rows.h", text, "ROW").unwrap(), [["A", "a, b"], ["B", "c)"]]);
    assert!(macro_calls("rows.h", "ROW(A", "ROW").unwrap_err().starts_with("rows.h:1: ROW without"));
    assert!(macro_calls("rows.h", "", "ROW").unwrap_err().starts_with("rows.h: no ROW(...) found"));
}

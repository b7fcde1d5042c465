//! Reads our own C headers (`policy/fg.h`, `ks.h` of crates/linux) in build scripts, which write Rust for what they declare.
//!
//! A [`Header`] is what a file declares. [`Type::rust`] and its like spell that in Rust; a [`Layout`] is the table of `sizeof`
//! and `offsetof` that both compilers fill in, so that a wrong spelling is found when the program starts.
//!
//! Why not `bindgen`: it needs libclang, and building Fairground needs nothing but Rust and a C compiler. Our headers keep to a
//! plain form, so that little is to be read, and everything else is an error of the build with its line:
//!
//! - `#define NAME NUMBER`, or the name of a constant before it, also of an included header;
//! - structs of numbers, structs, pointers, arrays of one dimension and pointers to functions, one declarator a statement;
//! - prototypes. Enumerations come from tables ([`macro_calls`]) and are passed over;
//! - other names for types (`typedef u32 fg_bool;`), and marks, macros without a value that stand before a type: what a
//!   prototype says with them is in [`Type::alias`] and [`Type::marks`].

mod layout;
mod read;
mod rust;

pub use layout::Layout;
pub use read::macro_calls;
pub use rust::{camel, rust_name};

use std::collections::BTreeMap;

/// What a header declares, in its order.
#[derive(Debug, Default)]
pub struct Header {
    /// `#define NAME NUMBER`.
    pub constants: Vec<(String, i64)>,
    /// Structs with their members; not those that are only announced.
    pub structs: Vec<Struct>,
    /// Prototypes, in the order of the header.
    pub functions: Vec<Function>,
    /// `typedef TYPE NAME;`: TYPE by NAME, but for those of the numbers.
    pub aliases: BTreeMap<String, String>,
    /// `#define NAME`.
    pub marks: Vec<String>,
    /// Parameter names of function-like macros, e.g. of `FG_FEATURE`.
    pub macros: BTreeMap<String, Vec<String>>,
}

/// `struct NAME { ... };`
#[derive(Debug)]
pub struct Struct {
    /// Name without `struct`.
    pub name: String,
    /// Members in their order.
    pub members: Vec<Member>,
}

/// A member of a struct.
#[derive(Debug)]
pub struct Member {
    /// Name in C.
    pub name: String,
    /// Type of the member.
    pub kind: Kind,
}

/// What a member is.
#[derive(Debug)]
pub enum Kind {
    /// `TYPE name;`
    Value(Type),
    /// `TYPE name[LENGTH];`: the type of the elements, how many these are, and that as the header spells it.
    Array(Type, i64, String),
    /// `RESULT (*name)(PARAMETERS);`
    Function(Function),
}

/// The type of a value.
#[derive(Debug, PartialEq, Eq)]
pub struct Type {
    /// `u8` to `u64`, `s8` to `s64`, `char`, `void` (behind a pointer), or the name of a struct.
    pub base: String,
    /// Behind a pointer, or not.
    pub pointer: Option<Pointer>,
    /// The other name by which the base is called.
    pub alias: Option<String>,
    /// Marks in front of the base type, such as `FG_NULLABLE`.
    pub marks: Vec<String>,
}

/// What a pointer allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointer {
    /// A pointer through which the function may write.
    Mut,
    /// A pointer to const.
    Const,
}

/// A function or a pointer to one.
#[derive(Debug)]
pub struct Function {
    /// Name in C.
    pub name: String,
    /// None: void.
    pub result: Option<Type>,
    /// Name and type of each parameter.
    pub params: Vec<(String, Type)>,
}

#[cfg(test)]
mod tests;

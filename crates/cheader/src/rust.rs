//! How Rust spells what a header declares.

use crate::{Function, Kind, Member, Pointer, Type};

impl Type {
    /// `const struct fg_task *` -> `*const FgTask`, `s32` -> `i32`.
    pub fn rust(&self) -> String {
        let base = self.rust_base();
        match self.pointer {
            None => base,
            Some(Pointer::Mut) => format!("*mut {base}"),
            Some(Pointer::Const) => format!("*const {base}"),
        }
    }

    /// The same without the pointer.
    pub fn rust_base(&self) -> String {
        match self.base.as_str() {
            "u8" | "u16" | "u32" | "u64" => self.base.clone(),
            "s8" | "s16" | "s32" | "s64" => self.base.replacen('s', "i", 1),
            "char" => "std::ffi::c_char".into(),
            "void" => "std::ffi::c_void".into(),
            name => camel(name),
        }
    }

    /// A struct, or a pointer to one.
    pub fn is_struct(&self) -> bool {
        !matches!(self.base.as_str(), "char" | "void") && !crate::read::NUMBERS.contains(&self.base.as_str())
    }
}

impl Member {
    /// The type of its field. A pointer to a function is taken to be non-null.
    pub fn rust_type(&self) -> String {
        match &self.kind {
            Kind::Value(ty) => ty.rust(),
            Kind::Array(ty, length, _) => format!("[{}; {length}]", ty.rust()),
            Kind::Function(function) => {
                let params: Vec<String> = function.params.iter().map(|(_, ty)| ty.rust()).collect();
                format!("unsafe extern \"C\" fn({}){}", params.join(", "), function.rust_result())
            }
        }
    }

    /// The type of its value, or of its elements; none for a pointer to a function.
    pub fn value_type(&self) -> Option<&Type> {
        match &self.kind {
            Kind::Value(ty) | Kind::Array(ty, ..) => Some(ty),
            Kind::Function(_) => None,
        }
    }
}

impl Function {
    /// Its declaration in an `extern "C"` block.
    pub fn rust_declaration(&self) -> String {
        let param = |(name, ty): &(String, Type)| format!("{}: {}", rust_name(name), ty.rust());
        let params: Vec<String> = self.params.iter().map(param).collect();
        format!("pub fn {}({}){};", self.name, params.join(", "), self.rust_result())
    }

    fn rust_result(&self) -> String {
        self.result.as_ref().map_or(String::new(), |ty| format!(" -> {}", ty.rust()))
    }
}

/// `fg_task` -> `FgTask`.
pub fn camel(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').filter(|word| !word.is_empty()).map(capital).collect()
}

/// `name`, or another word for it if it is a keyword of Rust.
pub fn rust_name(name: &str) -> &str {
    match name {
        "self" => "this",
        "yield" => "yield_now",
        "type" => "kind",
        _ => name,
    }
}

//! Writes safe Rust wrappers of the policy's functions. A function with a parameter that points at a struct of `World`
//! becomes a method of `World`, any other a plain function. `world/calls.rs` and `ffi.rs` say why they are safe.
//!
//! A pointer to a struct of the world becomes a number (of a CPU, a task, a domain, ...), a pointer to another struct a
//! reference, `FG_NULLABLE` an `Option`, `fg_bool` a `bool`. A pointer to `fg_sys` is not a parameter: there is one
//! system.

use std::fmt::Write;

use fairground_cheader::{rust_name, Function, Header, Pointer, Type};

/// The system, passed by every method.
const SYS: &str = "fg_sys";
const CPU: &str = "fg_cpu";
const TASK: &str = "fg_task";

/// Structs of the world other than CPUs and tasks, and the slab of `World` that holds them.
const SLABS: [(&str, &str); 4] =
    [("fg_domain", "domains"), ("fg_tg", "tgs"), ("fg_sugov", "sugovs"), ("fg_em", "energy.ems")];

/// Marks of the header: a type name or a macro that qualifies a type.
const BOOL: &str = "fg_bool";
const ENTITY: &str = "fg_entity";
const NULLABLE: &str = "FG_NULLABLE";

/// The wrappers, as Rust text.
pub struct Calls {
    /// Methods of `World`.
    pub methods: String,
    /// Functions.
    pub functions: String,
}

/// Wrappers of all functions of the header.
pub fn rust(header: &Header) -> Result<Calls, String> {
    let (mut methods, mut functions) = (String::new(), String::new());
    for function in &header.functions {
        let is_method = function.params.iter().any(|(_, ty)| is_of_world(ty));
        let out = if is_method { &mut methods } else { &mut functions };
        let call = Call::new(function).map_err(|problem| format!("policy/fg.h: {}: {problem}", function.name))?;
        call.write(out, is_method.then(|| writes_world(header, function)));
    }
    Ok(Calls { methods: format!("// Written by build.rs from policy/fg.h.\nimpl World {{\n{methods}}}\n"), functions })
}

/// Whether the type is a pointer to a struct of the world.
fn is_of_world(ty: &Type) -> bool {
    let slab = SLABS.iter().any(|(name, _)| *name == ty.base);
    ty.pointer.is_some() && (slab || [SYS, CPU, TASK].contains(&ty.base.as_str()))
}

/// Whether the function may write to the world: through a parameter, or through a pointer in a struct that one points
/// at.
fn writes_world(header: &Header, function: &Function) -> bool {
    let is_writable = |ty: &Type| is_of_world(ty) && ty.pointer == Some(Pointer::Mut);
    let holds_writable = |ty: &Type| {
        let members = header.structs.iter().filter(|s| s.name == ty.base).flat_map(|s| &s.members);
        members.filter_map(|member| member.value_type()).any(is_writable)
    };
    function.params.iter().any(|(_, ty)| is_writable(ty) || (!is_of_world(ty) && holds_writable(ty)))
}

/// The parts of a wrapper.
struct Call<'a> {
    function: &'a Function,
    /// `name: type`.
    params: Vec<String>,
    /// Arguments of the call of C.
    args: Vec<String>,
}

impl<'a> Call<'a> {
    fn new(function: &'a Function) -> Result<Call<'a>, String> {
        let mut call = Call { function, params: Vec::new(), args: Vec::new() };
        // The CPU whose queue the entities among the parameters are on.
        let cpu = function.params.iter().find(|(_, ty)| ty.base == CPU).map(|(name, _)| param_name(name));
        for (name, ty) in &function.params {
            let name = param_name(name);
            if is_of_world(ty) {
                call.number(name, ty, cpu)?;
            } else if ty.pointer.is_some() {
                call.reference(name, ty);
            } else {
                let is_bool = ty.alias.as_deref() == Some(BOOL);
                call.params.push(format!("{name}: {}", if is_bool { "bool".into() } else { ty.rust() }));
                call.args.push(if is_bool { format!("u32::from({name})") } else { name.into() });
            }
        }
        Ok(call)
    }

    /// Adds a parameter that names a struct of the world by its number.
    fn number(&mut self, name: &str, ty: &Type, cpu: Option<&str>) -> Result<(), String> {
        let slab = SLABS.iter().find(|(of, _)| *of == ty.base).map(|(_, slab)| slab);
        let is_read = ty.pointer == Some(Pointer::Const);
        let (param, arg) = match (ty.base.as_str(), is_entity(ty), is_nullable(ty)) {
            (SYS, ..) => {
                self.args.push("self.sys.ptr(0)".into());
                return Ok(());
            }
            (TASK, true, true) => {
                let cpu = cpu.ok_or("an entity without a CPU")?;
                ("Option<u32>", format!("self.entity_ptr({cpu}, {name})"))
            }
            (TASK, false, true) => ("Option<u32>", format!("self.task_ptr({name})")),
            (TASK, false, false) => ("u32", format!("self.tasks.ptr({name} as usize)")),
            (CPU, _, false) if is_read => ("usize", format!("self.cpus.peek({name})")),
            (CPU, _, false) => ("usize", format!("self.cpus.ptr({name})")),
            (_, _, false) => ("usize", format!("self.{}.ptr({name})", slab.ok_or("no slab")?)),
            (_, _, true) => return Err(format!("`{name}` may be null, which only a task may be")),
        };
        self.params.push(format!("{name}: {param}"));
        self.args.push(arg);
        Ok(())
    }

    /// Adds a parameter that refers to a struct of the caller's.
    fn reference(&mut self, name: &str, ty: &Type) {
        let (to, null, from) = match ty.pointer {
            Some(Pointer::Mut) => ("&mut ", "null_mut", "from_mut"),
            _ => ("&", "null", "from_ref"),
        };
        let (param, arg) = match is_nullable(ty) {
            true => (
                format!("Option<{to}{}>", ty.rust_base()),
                format!("{name}.map_or(std::ptr::{null}(), std::ptr::{from})"),
            ),
            false => (format!("{to}{}", ty.rust_base()), name.into()),
        };
        self.params.push(format!("{name}: {param}"));
        self.args.push(arg);
    }

    /// `writes`: whether the method writes to the world; none: it is not a method.
    fn write(&self, out: &mut String, writes: Option<bool>) {
        let this = match writes {
            None => "",
            Some(false) => "&self, ",
            Some(true) => "&mut self, ",
        };
        let name = &self.function.name;
        let (result, convert) = result(self.function.result.as_ref());
        let short = rust_name(name.strip_prefix("fg_").unwrap_or(name));
        if writes.is_none() {
            out.push_str("#[allow(dead_code)]\n");
        }
        let _ = writeln!(out, "pub(crate) fn {short}({this}{}){result} {{", self.params.join(", "));
        let _ = writeln!(out, "    // SAFETY: as the head of this module says.");
        let _ = writeln!(out, "    unsafe {{ {name}({}){convert} }}\n}}", self.args.join(", "));
    }
}

/// The result type in Rust, and the conversion from C's.
fn result(ty: Option<&Type>) -> (String, &'static str) {
    match ty {
        None => (String::new(), ""),
        Some(ty) if ty.alias.as_deref() == Some(BOOL) => (" -> bool".into(), " != 0"),
        // The number of a task or of an entity; null is none.
        Some(ty) if ty.pointer.is_some() => (" -> Option<u32>".into(), ".as_ref().map(|p| p.id)"),
        Some(ty) => (format!(" -> {}", ty.rust()), ""),
    }
}

fn is_entity(ty: &Type) -> bool {
    ty.alias.as_deref() == Some(ENTITY)
}

fn is_nullable(ty: &Type) -> bool {
    ty.marks.iter().any(|mark| mark == NULLABLE)
}

/// Numbers are named by what they count.
fn param_name(name: &str) -> &str {
    match name {
        "rq" => "cpu",
        "p" => "task",
        _ => rust_name(name),
    }
}

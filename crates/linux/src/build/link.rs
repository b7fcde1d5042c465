//! Objects to library: the host's side, stubs, and the one exported symbol.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::{BuildError, StubbedSymbol};
use super::flags::Flags;
use super::make::Workshop;
use super::symbols;
use super::{embedded, files, tools};

/// The one name a library exports.
const ENTRY: &str = "ks_kernel";

/// A library that is not yet the user's.
pub(super) struct LinkResult {
    /// Path of the shared library.
    pub library: PathBuf,
    /// xxh3-128 of what of it is loaded, hex: names of symbols, files and lines do not count.
    pub code: String,
    /// Functions without a definition that Fairground did not expect.
    pub stubbed: Vec<StubbedSymbol>,
    /// What would be observed and this tree does not show.
    pub not_observable: Vec<String>,
}

/// Makes the library of `objects`, paths below the build directory.
pub(super) fn link(workshop: &mut Workshop, objects: &[String]) -> Result<LinkResult, BuildError> {
    files::make_dir(&build_path(workshop, ""))?;
    let mut parts: Vec<String> = objects.to_vec();
    for stem in embedded::stems("host") {
        parts.push(compile(workshop, &format!("../{}/host/{stem}.c", embedded::REST), stem)?);
    }
    let script = script(workshop, objects)?;
    gather(workshop, &["-T", &script], &parts, "kernel.o")?;
    let kernel = build_path(workshop, "kernel.o");

    let libc = symbols::libc_symbols()?;
    let missing: BTreeSet<String> = symbols::undefined(&kernel)?.difference(&libc).cloned().collect();
    let (_, new) = symbols::divide(&missing);
    let stubbed = look_into(workshop, objects, &new)?;
    files::write_changed(&build_path(workshop, "stubs.c"), symbols::stubs(&missing).as_bytes())?;
    let stubs = compile(workshop, &local("stubs.c"), "stubs")?;
    gather(workshop, &[], &[local("kernel.o"), stubs], "all.o")?;
    hide(workshop)?;
    let library = build_path(workshop, "libksched.so");
    share(workshop, &local("all.o"), &local("libksched.so"))?;
    Ok(LinkResult { code: code(workshop)?, library, stubbed, not_observable: not_observable(&kernel)? })
}

/// A file of ours below the build directory, as tools that run there name it.
fn local(name: &str) -> String {
    format!("{}/{name}", embedded::REST)
}

fn build_path(workshop: &Workshop, name: &str) -> PathBuf {
    workshop.build().join(local(name))
}

/// Compiles a file of the host's side against the C library.
fn compile(workshop: &mut Workshop, source: &str, stem: &str) -> Result<String, BuildError> {
    let object = local(&format!("{stem}.o"));
    let mut command = tools::command("gcc", &workshop.build());
    command.args(["-std=gnu11", "-O2", "-fPIC", "-fno-strict-aliasing", "-Wall"]).args(workshop.flags().split(' '));
    command.args(includes()).args(["-MMD", "-MF", &format!("{object}.d"), "-c", "-o", &object, source]);
    workshop.must("compiling the host's side", command)?;
    Ok(object)
}

/// Where the border and the policy's header are, from the build directory. For quoted names only: the policy's
/// features.h is not the C library's.
fn includes() -> [String; 4] {
    let dir = |name| format!("../{}/{name}", embedded::REST);
    ["-iquote".into(), dir("include"), "-iquote".into(), dir("policy")]
}

/// The linker script: the tree's own macros say in which order scheduling classes lie.
fn script(workshop: &mut Workshop, objects: &[String]) -> Result<String, BuildError> {
    let model = objects.iter().find(|o| o.starts_with(embedded::ARCH)).or(objects.first());
    let flags = Flags::read(&workshop.build(), model.map_or("", String::as_str))?;
    let (from, to) = (format!("../{}/link.lds", embedded::REST), local("link.lds"));
    let assembler = ["-E", "-P", "-x", "assembler-with-cpp", "-D__ASSEMBLY__", "-DLINKER_SCRIPT", "-o", &to, &from];
    let command = flags.command(&workshop.build(), &assembler);
    workshop.must("preparing the linker script", command)?;
    Ok(to)
}

/// Joins objects into one.
fn gather(workshop: &mut Workshop, options: &[&str], objects: &[String], to: &str) -> Result<(), BuildError> {
    let mut command = tools::command("ld", &workshop.build());
    command.args(["-r", "-o", &local(to)]).args(options).args(objects);
    workshop.must("linking", command)
}

/// Leaves the entry alone visible: kernel/sched has names that the C library has too. What describes exported symbols
/// goes, it would need relocations in the text.
fn hide(workshop: &mut Workshop) -> Result<(), BuildError> {
    let mut command = tools::command("objcopy", &workshop.build());
    command.arg(format!("--keep-global-symbol={ENTRY}"));
    command.args(["--wildcard", "--remove-section=.export_symbol*", "--remove-section=.rela.export_symbol*"]);
    command.arg(local("all.o"));
    workshop.must("linking", command)
}

/// Hash of the library without debug information and names.
fn code(workshop: &mut Workshop) -> Result<String, BuildError> {
    let mut command = tools::command("objcopy", &workshop.build());
    command.args(["--strip-all", &local("libksched.so"), &local("code.so")]);
    workshop.must("linking", command)?;
    let code = build_path(workshop, "code.so");
    let content = std::fs::read(&code).map_err(files::fail("read", &code))?;
    files::remove(&code)?;
    Ok(files::hash(&content))
}

fn shared(workshop: &Workshop, from: &str, to: &str) -> Command {
    let mut command = tools::command("gcc", &workshop.build());
    let rules = ["-Wl,--build-id=none", "-Wl,-z,defs", "-Wl,-z,now", "-Wl,-z,text", "-Wl,-z,noexecstack"];
    command.arg("-shared").args(rules).args(["-o", to, from]);
    command
}

fn share(workshop: &mut Workshop, from: &str, to: &str) -> Result<(), BuildError> {
    let command = shared(workshop, from, to);
    workshop.must("linking", command)
}

/// Who uses each symbol that Fairground does not know, and whether it can be stubbed at all.
fn look_into(
    workshop: &mut Workshop,
    objects: &[String],
    new: &BTreeSet<String>,
) -> Result<Vec<StubbedSymbol>, BuildError> {
    if new.is_empty() {
        return Ok(Vec::new());
    }
    // The linker knows lines; it is let fail for them.
    let command = shared(workshop, &local("kernel.o"), &local("unresolved.so"));
    let (_, said) = workshop.run(command, &mut |_| {})?;
    let mut users = symbols::users(&said, workshop);
    let data = symbols::no_functions(workshop, objects, new)?;
    let mut all = Vec::new();
    for symbol in new {
        // Tables have no lines: the file must do.
        let used_by = match users.remove(symbol) {
            Some(places) => places,
            None => symbols::files_with(workshop, objects, symbol)?,
        };
        all.push(StubbedSymbol { symbol: symbol.clone(), used_by });
    }
    let refused: Vec<StubbedSymbol> = all.iter().filter(|s| data.contains(&s.symbol)).cloned().collect();
    match refused.is_empty() {
        true => Ok(all),
        false => Err(BuildError::Unresolved { symbols: refused }),
    }
}

/// What the C side would observe and this tree does not show, of the list `hooked`.
fn not_observable(kernel: &Path) -> Result<Vec<String>, BuildError> {
    Ok(unhooked(embedded::entries("hooked"), &symbols::defined(kernel)?))
}

/// What the entries that have no symbol among `defined` stand for. An entry: `SYMBOL | SYMBOL: what`.
fn unhooked<'a>(entries: impl Iterator<Item = &'a str>, defined: &BTreeSet<String>) -> Vec<String> {
    let split = entries.map(|e| e.split_once(':').unwrap_or((e, e)));
    let is_there = |symbol: &str| defined.contains(symbol.trim());
    split.filter(|(hooks, _)| !hooks.split('|').any(is_there)).map(|(_, what)| what.trim().to_string()).collect()
}

/// What a library says of itself.
pub(super) struct LoadTest {
    /// Most CPUs it can boot with.
    pub max_cpus: u32,
    /// Ticks per second (CONFIG_HZ) of the kernel.
    pub hz: u32,
}

/// Loads the library in a process of its own.
pub(super) fn load_test(workshop: &mut Workshop, library: &Path) -> Result<LoadTest, BuildError> {
    let source = build_path(workshop, "loadtest.c");
    files::write_changed(&source, include_bytes!("loadtest.c"))?;
    let mut command = tools::command("gcc", &workshop.build());
    command.args(["-O1", "-o", &local("loadtest"), &local("loadtest.c"), "-ldl"]).args(includes());
    workshop.must("compiling the load test", command)?;
    let program = build_path(workshop, "loadtest");
    let out = tools::command(&program.display().to_string(), &workshop.build()).arg(library).output();
    let out = out.map_err(files::fail("run", &program))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    match (out.status.success(), numbers.next(), numbers.next()) {
        (true, Some(max_cpus), Some(hz)) => Ok(LoadTest { max_cpus, hz }),
        _ => {
            let said = String::from_utf8_lossy(&out.stderr);
            Err(BuildError::Load { what: format!("{} ({})", said.trim(), out.status) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_hook_stands_for_is_not_observable() {
        let defined = ["hook_a", "hook_old"].map(String::from).into();
        let entries = ["hook_a: moves", "hook_b: passes (b)", "hook_new | hook_old: picks"];
        assert_eq!(unhooked(entries.into_iter(), &defined), ["passes (b)"]);
    }

    #[test]
    fn the_list_names_hooks_that_the_c_side_has() {
        let sources: String =
            ["balance", "pick", "pelt", "target"].map(|n| embedded::text(&format!("arch/kernel/{n}_hook.h"))).concat()
                + embedded::text("arch/kernel/ks_core.c");
        let listed =
            embedded::entries("hooked").filter_map(|e| e.split_once(':')).flat_map(|(hooks, _)| hooks.split('|'));
        let listed: Vec<&str> = listed.map(str::trim).collect();
        assert_eq!(listed.len(), 15);
        assert!(listed.iter().all(|hook| sources.contains(&format!("{hook}("))), "{listed:?}");
    }
}

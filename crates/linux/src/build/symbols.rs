//! Undefined symbols of the objects: functions are replaced by stubs, which the build reports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::error::BuildError;
use super::flags::Flags;
use super::make::Workshop;
use super::{embedded, files, tools};

/// Places of use that are named for a symbol.
const PLACES: usize = 3;

/// Undefined symbols of an object, weak ones left out.
pub(super) fn undefined(object: &Path) -> Result<BTreeSet<String>, BuildError> {
    // The linker makes that one itself.
    let of = |line: &str| line.trim().strip_prefix("U ").filter(|s| *s != "_GLOBAL_OFFSET_TABLE_").map(String::from);
    Ok(nm(object, &["-u"])?.lines().filter_map(of).collect())
}

/// Defined symbols of an object, local ones included; what a compiler made of a function counts as the function.
pub(super) fn defined(object: &Path) -> Result<BTreeSet<String>, BuildError> {
    // `f.constprop.0` and the like.
    let of = |line: &str| line.split_whitespace().next_back()?.split('.').next().map(String::from);
    Ok(nm(object, &["--defined-only"])?.lines().filter_map(of).collect())
}

/// What the system's C library has.
pub(super) fn libc_symbols() -> Result<BTreeSet<String>, BuildError> {
    let mut command = tools::command("gcc", Path::new("/"));
    let out = command.arg("-print-file-name=libc.so.6").output().map_err(files::fail("run", Path::new("gcc")))?;
    let libc = String::from_utf8_lossy(&out.stdout).trim().to_string();
    // Versions come behind an @.
    let of = |line: &str| line.split_whitespace().next_back()?.split('@').next().map(String::from);
    Ok(nm(Path::new(&libc), &["-D", "--defined-only"])?.lines().filter_map(of).collect())
}

fn nm(file: &Path, options: &[&str]) -> Result<String, BuildError> {
    let mut command = tools::command("nm", Path::new("/"));
    let out = command.args(options).arg(file).output().map_err(files::fail("run", Path::new("nm")))?;
    if !out.status.success() {
        let cause = std::io::Error::other(String::from_utf8_lossy(&out.stderr).trim().to_string());
        return Err(BuildError::File { doing: "read symbols of", path: file.to_owned(), cause });
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Divides what is missing into what Fairground's list expects to be, and what is new.
pub(super) fn divide(missing: &BTreeSet<String>) -> (BTreeSet<String>, BTreeSet<String>) {
    let known: BTreeSet<&str> = embedded::entries("stubs").collect();
    missing.iter().cloned().partition(|symbol| known.contains(symbol.as_str()))
}

/// C text of functions that end the run and say their names.
pub(super) fn stubs(symbols: &BTreeSet<String>) -> String {
    let mut text = String::from("_Noreturn void ks_stub(const char *symbol);\n");
    for symbol in symbols {
        text += &format!("void fgstub_{symbol}(void) __asm__(\"{symbol}\");\n");
        text += &format!("void fgstub_{symbol}(void) {{ ks_stub(\"{symbol}\"); }}\n");
    }
    text
}

/// Those of `new` that are not functions as far as the objects that use them declare them. Asks the compiler, which
/// alone knows: an undefined symbol of an object has no kind.
pub(super) fn no_functions(
    workshop: &mut Workshop,
    objects: &[String],
    new: &BTreeSet<String>,
) -> Result<BTreeSet<String>, BuildError> {
    let build = workshop.build();
    let mut proven = BTreeSet::new();
    for object in objects {
        let uses: BTreeSet<String> = undefined(&build.join(object))?.intersection(new).cloned().collect();
        if uses.is_subset(&proven) {
            continue;
        }
        let source = Path::new("..").join(object).with_extension("c");
        let mut text = format!("#include \"../{}\"\n", source.display());
        for symbol in &uses {
            // A function turns into its address where a value is wanted; nothing else does.
            text += &format!(
                "_Static_assert(__builtin_types_compatible_p(__typeof__(&{symbol}), __typeof__(1 ? {symbol} : {symbol})), \
                 \"KS_DATA {symbol} \");\n"
            );
        }
        files::write_changed(&build.join(embedded::REST).join("kinds.c"), text.as_bytes())?;
        let command = Flags::read(&build, object)?.command(&build, &["-fsyntax-only", "-w", "ks/kinds.c"]);
        let (_, said) = workshop.run(command, &mut |_| {})?;
        let objected = |symbol: &String| said.iter().any(|line| objects_to(line, symbol));
        proven.extend(uses.into_iter().filter(|symbol| !objected(symbol)));
    }
    Ok(new.difference(&proven).cloned().collect())
}

/// Whether a compiler's line speaks of this symbol as data, or as not declared.
fn objects_to(line: &str, symbol: &str) -> bool {
    line.contains(&format!("KS_DATA {symbol} ")) || line.contains(&format!("'{symbol}' undeclared"))
}

/// Sources of the objects that use a symbol, as the user knows them.
pub(super) fn files_with(workshop: &Workshop, objects: &[String], symbol: &str) -> Result<Vec<String>, BuildError> {
    let mut files = Vec::new();
    for object in objects {
        if undefined(&workshop.build().join(object))?.contains(symbol) {
            let source = Path::new("..").join(object).with_extension("c").display().to_string();
            files.extend(workshop.for_user(&source));
        }
    }
    Ok(files)
}

/// Who uses each symbol, from what a linker said that could not resolve them.
pub(super) fn users(said: &[String], workshop: &Workshop) -> BTreeMap<String, Vec<String>> {
    let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in said {
        let Some((place, symbol)) = line.split_once(": undefined reference to `") else { continue };
        let place = place.rsplit(": ").next().unwrap_or(place);
        if place.ends_with(')') {
            // In no line of code, e.g. `kernel.o:(.data+0x10)`.
            continue;
        }
        let symbol = symbol.trim_end_matches('\'').to_string();
        users.entry(symbol).or_default().insert(source_place(place, workshop));
    }
    users.into_iter().map(|(symbol, places)| (symbol, first(places))).collect()
}

/// The first few, and how many more.
fn first(places: BTreeSet<String>) -> Vec<String> {
    let more = places.len().saturating_sub(PLACES);
    let mut first: Vec<String> = places.into_iter().take(PLACES).collect();
    if more > 0 {
        first.push(format!("{more} more places"));
    }
    first
}

/// `FILE:LINE` of a linker as the user knows the file. The linker's paths start at the overlay.
fn source_place(place: &str, workshop: &Workshop) -> String {
    let (path, line) = place.split_once(':').unwrap_or((place, ""));
    match workshop.for_user(&Path::new("..").join(path).display().to_string()) {
        Some(path) => format!("{path}:{line}"),
        None => place.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_say_their_names() {
        let text = stubs(&["seq_printf".to_string()].into());
        assert!(text.contains("ks_stub(\"seq_printf\");"), "{text}");
    }

    #[test]
    fn users_of_a_symbol_are_places_in_the_users_tree() {
        let dir = tempfile::tempdir().unwrap();
        let workshop =
            Workshop::new(Path::new("/home/me/linux"), dir.path().join("o"), dir.path().join("log"), 1).unwrap();
        let said = [
            "/usr/bin/ld: ks/kernel.o: in function `select_task_rq_fair':",
            "ks/kernel.o:(.data.rel+0x908): undefined reference to `init_cred'",
            "./build/../kernel/sched/fair.c:8601: undefined reference to `my_hint'",
            "/usr/bin/ld: ./build/../kernel/sched/fair.c:8600: undefined reference to `my_hint'",
        ];
        let users = users(&said.map(String::from), &workshop);
        let places = ["/home/me/linux/kernel/sched/fair.c:8600", "/home/me/linux/kernel/sched/fair.c:8601"];
        assert_eq!(users["my_hint"], places);
        assert_eq!(users.len(), 1, "no line, no place");
    }

    #[test]
    fn a_name_that_is_part_of_another_is_not_taken_for_it() {
        assert!(objects_to("error: static assertion failed: \"KS_DATA init_css_set \"", "init_css_set"));
        assert!(!objects_to("error: static assertion failed: \"KS_DATA init_css_set \"", "init_css"));
    }
}

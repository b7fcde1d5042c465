//! Errors of kernel builds, each with what the user can do about it.

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::PathBuf;

use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A function that a stub stands for although Fairground's list does not expect it: the tree, or a patch, uses
/// something new. A run that calls it ends there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StubbedSymbol {
    /// Name of the stubbed symbol.
    pub symbol: String,
    /// Where it is used: the first `FILE:LINE` in the order of the files, and how many more; for tables the file.
    pub used_by: Vec<String>,
}

/// Why a kernel cannot be built or found.
#[derive(Debug, Error, Diagnostic)]
pub enum BuildError {
    /// A file of the tree, of the cache or of the user.
    #[error("cannot {doing} {}: {cause}", path.display())]
    #[diagnostic(help("{}", advice(doing, cause)))]
    File {
        /// What was tried: `read`, `write`, ...
        doing: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// What the system said; part of the message, so not a source of its own.
        cause: std::io::Error,
    },
    /// The environment names no place for what is kept.
    #[error("no cache directory: none of FAIRGROUND_CACHE, XDG_CACHE_HOME and HOME is set")]
    #[diagnostic(help("set FAIRGROUND_CACHE to a directory with 100 MB to spare for each kernel"))]
    NoCache,
    /// The cache lies where the kernel's own build refuses to work.
    #[error("the cache {} cannot be used: the kernel's build allows neither spaces nor colons in its path", path.display())]
    #[diagnostic(help("set FAIRGROUND_CACHE to another directory"))]
    CachePath {
        /// Path of the directory.
        path: PathBuf,
    },
    /// A name that could not be a directory or part of `linux:NAME`.
    #[error("`{name}` is not a valid kernel name")]
    #[diagnostic(help("1 to 64 of a-z A-Z 0-9 . _ - , the first a letter or digit, e.g. mine or v6.12-fix"))]
    Name {
        /// The name as the user gave it.
        name: String,
    },
    /// Something else than a kernel's source tree.
    #[error("{} is not a kernel source tree: missing {}", tree.display(), missing.join(", "))]
    #[diagnostic(help(
        "give the top directory of a Linux source tree, the one that holds MAINTAINERS and kernel/sched; if it is that \
         one, it was not unpacked whole"
    ))]
    NotATree {
        /// The path as the user gave it.
        tree: PathBuf,
        /// Files of a kernel tree that the directory does not have.
        missing: Vec<String>,
    },
    /// Programs that are not installed.
    #[error("a build needs programs that are not on the PATH: {}", names(missing))]
    #[diagnostic(help("on Debian: apt install {}", packages(missing)))]
    NoTools {
        /// Each missing program, with the Debian package that has it.
        missing: Vec<(&'static str, &'static str)>,
    },
    /// A line of a configuration file or a `--set` that says nothing.
    #[error("{place}: {problem}")]
    #[diagnostic(help("{help}"))]
    Config {
        /// Where the setting is: `FILE:LINE`, or `--set`.
        place: String,
        /// What is wrong with the setting or record.
        problem: String,
        /// The valid values or the expected form.
        help: String,
    },
    /// An option asked for by `--set` that this tree does not give.
    #[error("--set {option}={wanted}: the tree's Kconfig makes it {got}")]
    #[diagnostic(help("{help}"))]
    NotTaken {
        /// Name of the option, with `CONFIG_`.
        option: String,
        /// The value that `--set` requests.
        wanted: String,
        /// The value after Kconfig; `n` also where there is no such option.
        got: String,
        /// The nearest option that there is, or what else to do.
        help: String,
    },
    /// Features a tree must have and has not.
    #[error("this tree (release {release}) cannot be built; it lacks: {}", missing.join("; "))]
    #[diagnostic(help("each is a small program that did not compile in this tree; the compiler's words are in {}", log.display()))]
    Probes {
        /// Kernel release of the tree, as `make kernelrelease` gives it.
        release: String,
        /// What each failed probe stands for.
        missing: Vec<String>,
        /// Path of the log with the whole output of the compiler.
        log: PathBuf,
    },
    /// The kernel's own build failed.
    #[error("{step} failed: {}", said(what))]
    #[diagnostic(help("the whole log: {}", log.display()))]
    Make {
        /// Name of the step that failed.
        step: &'static str,
        /// The first message, with the user's own paths; empty if none was found.
        what: String,
        /// Path of the log with the whole output of the build.
        log: PathBuf,
    },
    /// No room for objects.
    #[error("{step} failed: the file system of the cache {} is full", cache.display())]
    #[diagnostic(help(
        "free some space, or set FAIRGROUND_CACHE to a directory with 100 MB to spare for each kernel"
    ))]
    Full {
        /// Name of the step that failed.
        step: &'static str,
        /// The directory in which the build works.
        cache: PathBuf,
    },
    /// Symbols that the shim lacks and that are used as data, or in an unknown way.
    #[error("the tree's scheduler needs symbols that Fairground does not provide: {}", uses(symbols))]
    #[diagnostic(help(
        "a missing function would be stubbed (a run ends if it is called), but these are data, or not declared in C: \
         there is nothing to put in their place"
    ))]
    Unresolved {
        /// The missing symbols, each with its users.
        symbols: Vec<StubbedSymbol>,
    },
    /// The library was made and does not load.
    #[error("the built library does not load: {what}")]
    Load {
        /// Error output and exit status of the program that tried to load it.
        what: String,
    },
    /// A build with options on that Fairground does not know.
    #[error("{error}")]
    #[diagnostic(help(
        "{}these are on by the tree's default and new to Fairground: {}; --set NAME=n builds without one",
        own_help(error),
        assignments(options)
    ))]
    WithDefaults {
        /// The error of the step that failed.
        error: Box<BuildError>,
        /// The options with their values; names with `CONFIG_`.
        options: Vec<(String, String)>,
    },
    /// A tree of which parts are missing, so that it does not build.
    #[error("{} was not unpacked whole: it lacks {}; {}", tree.display(), missing.join(", "), first_line(error))]
    #[diagnostic(help("unpack or check out the whole tree again"))]
    NotWhole {
        /// Path of the tree.
        tree: PathBuf,
        /// Directories that every release has and this tree has not.
        missing: Vec<&'static str>,
        /// The error of the step that failed.
        error: Box<BuildError>,
    },
    /// A tree of a release that was never tried does not build.
    #[error("{outside}; {}", first_line(error))]
    #[diagnostic(help("give a tree of a release in between; {}", own_help(error)))]
    OutsideOfRange {
        /// What is said of the release.
        outside: String,
        /// The error of the step that failed.
        error: Box<BuildError>,
    },
    /// No kernel of that name.
    #[error("unknown kernel `linux:{name}`")]
    #[diagnostic(help("{help}"))]
    Unknown {
        /// Name of the kernel, as the user wrote it.
        name: String,
        /// The nearest name or what there is, and how to build one.
        help: String,
    },
    /// A release of which several stable versions are there.
    #[error("`linux:{name}` could be {}", found.join(" or "))]
    #[diagnostic(help("say which"))]
    Ambiguous {
        /// Name of the kernel, as the user wrote it.
        name: String,
        /// The kernels that fit, as `linux:` and their names, sorted.
        found: Vec<String>,
    },
    /// A directory of the cache that no build of ours left so.
    #[error("the cached kernel `{name}` cannot be used: {problem}")]
    #[diagnostic(help("build it again: fairground kernel build TREE --name {name}"))]
    Damaged {
        /// Name of the kernel.
        name: String,
        /// What is wrong with the setting or record.
        problem: String,
    },
}

fn names(missing: &[(&str, &str)]) -> String {
    missing.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

fn packages(missing: &[(&str, &str)]) -> String {
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    packages.join(" ")
}

fn uses(symbols: &[StubbedSymbol]) -> String {
    let line = |s: &StubbedSymbol| format!("\n  {}, used by {}", s.symbol, s.used_by.join(", "));
    symbols.iter().map(line).collect()
}

/// What to do about an error of the system.
fn advice(doing: &str, cause: &std::io::Error) -> &'static str {
    match (cause.kind(), doing) {
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, _) => {
            "free some space, or set FAIRGROUND_CACHE to a directory with 100 MB to spare for each kernel"
        }
        (ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem, "create" | "write" | "remove" | "link") => {
            "set FAIRGROUND_CACHE to a directory that you may write to; the tree itself is only read"
        }
        (ErrorKind::PermissionDenied, _) => "the tree and the cache must be readable for you",
        (ErrorKind::NotFound, _) => "look whether the path is right; a tree must be unpacked whole",
        _ => "look at that file or directory and its file system",
    }
}

/// The first line of an error that says something: what follows is for those who look for more.
fn first_line(error: &BuildError) -> String {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim);
    match (lines.next(), lines.next()) {
        (Some(title), Some(first)) if title.ends_with(':') => format!("{title} {first}"),
        (title, _) => title.unwrap_or_default().into(),
    }
}

fn own_help(error: &BuildError) -> String {
    error.help().map_or(String::new(), |help| format!("{help}; "))
}

fn assignments(options: &[(String, String)]) -> String {
    options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

fn said(what: &str) -> String {
    match what.trim_end() {
        "" => "it printed no error message".into(),
        one if !one.contains('\n') => one.into(),
        many => many.lines().fold(String::new(), |mut all, line| {
            let _ = write!(all, "\n  {line}");
            all
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn an_error_of_the_system_says_what_to_do() {
        let help = |doing, kind: ErrorKind| {
            let error = BuildError::File { doing, path: "/cache/kernels".into(), cause: io::Error::from(kind) };
            assert!(!error.to_string().contains('\n'), "one line");
            let help = error.help().map(|help| help.to_string());
            help.unwrap()
        };
        for doing in ["create", "write", "link"] {
            assert!(help(doing, ErrorKind::ReadOnlyFilesystem).starts_with("set FAIRGROUND_CACHE"));
            assert!(help(doing, ErrorKind::PermissionDenied).contains("the tree itself is only read"));
            assert!(help(doing, ErrorKind::StorageFull).starts_with("free some space"));
        }
        assert!(help("read", ErrorKind::PermissionDenied).contains("readable"));
        assert!(help("open", ErrorKind::NotFound).contains("whether the path is right"));
    }
}

//! Compiler flags of the kernel's build, to compile our C files the same way.

use std::path::Path;
use std::process::Command;

use super::error::BuildError;
use super::{files, tools};

/// Most that is read of a record, bytes.
const LIMIT: u64 = 4 << 20;

/// A compiler and its flags.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flags {
    /// A line for the shell, without source and target.
    line: String,
}

impl Flags {
    /// As recorded for `target`, a path below the build directory.
    pub fn read(build: &Path, target: &str) -> Result<Flags, BuildError> {
        let (dir, name) = target.rsplit_once('/').unwrap_or((".", target));
        let path = build.join(format!("{dir}/.{name}.cmd"));
        let text = files::read_text(&path, LIMIT)?;
        Flags::parse(&text, target).ok_or_else(|| {
            let cause = std::io::Error::other("it records no command of a compiler");
            BuildError::File { doing: "use", path: path.clone(), cause }
        })
    }

    fn parse(text: &str, target: &str) -> Option<Flags> {
        let value = |line: &'_ str| line.split_once(":=").map(|(_, value)| value.trim().to_string());
        let source = text.lines().find(|l| l.starts_with("source_")).and_then(value)?;
        // As make would turn it into a line for the shell; what follows the compiler there is not its business.
        let line = value(text.lines().next()?)?.replace("$$", "$").replace("\\#", "#");
        let line = line.split([';', '|']).next()?.split("&&").next()?.to_string();
        let stem = target.rsplit_once('.').map_or(target, |(stem, _)| stem);
        let own = |w: &&str| *w == source || w.contains("-MMD,") || w.starts_with(&format!("{stem}.")) || w.is_empty();
        let shape = |w: &&str| ["-o", "-S", "-c", "-fverbose-asm"].contains(w);
        let words: Vec<&str> = line.split_whitespace().filter(|w| !own(w) && !shape(w)).collect();
        (words.len() > 1).then(|| Flags { line: words.join(" ") })
    }

    /// The compiler with these flags and `more`, words for the shell without a space in them.
    pub fn command(&self, build: &Path, more: &[&str]) -> Command {
        let mut command = tools::command("sh", build);
        command.args(["-c", &format!("exec {} {}", self.line, more.join(" "))]);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_the_kernels_own_without_source_and_target() {
        let text =
            "savedcmd_kernel/bounds.s := gcc -Wp,-MMD,kernel/.bounds.s.d -I../include -DX='\"a\"' -fverbose-asm -S \
                    -o kernel/bounds.s ../kernel/bounds.c\n\nsource_kernel/bounds.s := ../kernel/bounds.c\n";
        let flags = Flags::parse(text, "kernel/bounds.s").unwrap();
        assert_eq!(flags.line, "gcc -I../include -DX='\"a\"'");
    }

    #[test]
    fn what_follows_the_compiler_is_cut_off() {
        let text =
            "savedcmd_a/b.o := gcc -O2 -c -o a/b.o ../a/b.c ; ./tools/objtool a/b.o\n\nsource_a/b.o := ../a/b.c\n";
        assert_eq!(Flags::parse(text, "a/b.o").unwrap().line, "gcc -O2");
    }

    #[test]
    fn a_record_without_a_command_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        std::fs::write(dir.path().join("a/.b.o.cmd"), "nothing\n").unwrap();
        let error = Flags::read(dir.path(), "a/b.o").unwrap_err().to_string();
        assert!(error.contains("a/.b.o.cmd: it records no command"), "{error}");
    }
}

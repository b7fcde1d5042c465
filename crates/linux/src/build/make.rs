//! Runs the compiler and the kernel's own build, keeps what they say, and finds the first error in it.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::embedded::{self, BUILD};
use super::error::BuildError;
use super::{files, tools};

/// Most lines of a compiler's message that are shown.
const SHOWN: usize = 20;
/// What the library's objects are compiled with beside the kernel's own flags: lines and frame pointers for backtraces.
pub(super) const CODE_FLAGS: &str = "-g1 -fno-omit-frame-pointer -gno-record-gcc-switches";
/// Below the build directory: the flags that differ from place to place.
const PATH_FLAGS: &str = "path.flags";
/// A file system with less room than this is full, bytes.
const ROOM: u64 = 1 << 20;
/// Longest line that is kept whole, bytes.
const LINE_LIMIT: usize = 4096;

/// A place where a kernel is built.
pub(super) struct Workshop<'a> {
    /// The user's source tree; never written to.
    pub tree: &'a Path,
    /// The links over it; objects go to `build` below.
    pub overlay: PathBuf,
    /// Number of parallel jobs of make.
    pub jobs: usize,
    log: File,
    log_path: PathBuf,
}

impl Workshop<'_> {
    /// Opens an empty log.
    pub fn new(tree: &Path, overlay: PathBuf, log_path: PathBuf, jobs: usize) -> Result<Workshop<'_>, BuildError> {
        let log = File::create(&log_path).map_err(files::fail("write", &log_path))?;
        Ok(Workshop { tree, overlay, jobs, log, log_path })
    }

    /// Directory of the object files (make's O=).
    pub fn build(&self) -> PathBuf {
        self.overlay.join(BUILD)
    }

    /// Where all is written down that was said.
    pub fn log_path(&self) -> &Path {
        &self.log_path
    }

    /// Adds a line to the build log.
    pub fn note(&mut self, text: &str) {
        let _ = writeln!(self.log, "{}", text.trim_end());
    }

    /// Calls the tree's own make. `seen` gets each line it prints.
    pub fn make(&mut self, step: &'static str, args: &[String], seen: &mut dyn FnMut(&str)) -> Result<(), BuildError> {
        let mut command = tools::command("make", &self.overlay);
        // What would differ from build to build, or place to place, and is nothing the scheduler sees.
        for (name, value) in [("USER", "fairground"), ("HOST", "sim"), ("TIMESTAMP", "1970-01-01"), ("VERSION", "1")] {
            command.env(format!("KBUILD_BUILD_{name}"), value);
        }
        command.args(["ARCH=sim", &format!("O={BUILD}"), &format!("-j{}", self.jobs)]);
        // The path in a file, so that the recorded commands are the same wherever the overlay lies.
        files::write_changed(&self.build().join(PATH_FLAGS), self.path_flags().as_bytes())?;
        command.arg(format!("KCFLAGS={CODE_FLAGS} @{PATH_FLAGS}")).args(args);
        match self.run(command, seen)? {
            (true, _) => Ok(()),
            (false, lines) => Err(self.failed(step, &lines)),
        }
    }

    /// All of our own flags for the compiler.
    pub fn flags(&self) -> String {
        format!("{CODE_FLAGS} {}", self.path_flags())
    }

    /// No path of this machine gets into an object.
    fn path_flags(&self) -> String {
        format!("-ffile-prefix-map={}=.", self.overlay.display())
    }

    /// Runs a command that must succeed.
    pub fn must(&mut self, step: &'static str, command: Command) -> Result<(), BuildError> {
        match self.run(command, &mut |_| {})? {
            (true, _) => Ok(()),
            (false, lines) => Err(self.failed(step, &lines)),
        }
    }

    /// Runs a command to its end: whether it succeeded, and what it said, which goes to the log as well.
    pub fn run(&mut self, command: Command, seen: &mut dyn FnMut(&str)) -> Result<(bool, Vec<String>), BuildError> {
        let program = PathBuf::from(command.get_program());
        let mut child = merged(&command).spawn().map_err(files::fail("run", &program))?;
        let _ = writeln!(self.log, "# {command:?}");
        let mut lines = Vec::new();
        if let Some(out) = child.stdout.take() {
            let mut out = BufReader::new(out);
            let mut bytes = Vec::new();
            while out.read_until(b'\n', &mut bytes).map_err(files::fail("hear", &program))? > 0 {
                let _ = self.log.write_all(&bytes);
                bytes.truncate(LINE_LIMIT);
                let line = String::from_utf8_lossy(&bytes).trim_end().to_string();
                seen(&line);
                lines.push(line);
                bytes.clear();
            }
        }
        let status = child.wait().map_err(files::fail("await", &program))?;
        Ok((status.success(), lines))
    }

    /// The error of a step, from what was said.
    pub fn failed(&self, step: &'static str, lines: &[String]) -> BuildError {
        if is_full(&self.overlay) || lines.iter().any(|line| line.contains("No space left on device")) {
            return BuildError::Full { step, cache: self.overlay.clone() };
        }
        let what = first_error(lines, &|path| self.for_user(path));
        BuildError::Make { step, what, log: self.log_path.clone() }
    }

    /// A path that the compiler names, as the user knows it: in the tree, or a file of ours.
    pub fn for_user(&self, path: &str) -> Option<String> {
        let build = self.build();
        let full = files::lexical(&build.join(path));
        let inner = full.strip_prefix(&self.overlay).ok()?;
        if inner.starts_with(BUILD) {
            return None;
        }
        if let Ok(own) = inner.strip_prefix(embedded::ARCH) {
            return Some(format!("<fairground>/arch/{}", own.display()));
        }
        if let Ok(own) = inner.strip_prefix(embedded::REST) {
            return Some(format!("<fairground>/{}", own.display()));
        }
        Some(self.tree.join(inner).display().to_string())
    }
}

/// Whether a file system has no room. Programs that could not write do not all say why.
fn is_full(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|fs| fs.f_bavail.saturating_mul(fs.f_frsize) < ROOM)
}

/// The same command through a shell that joins its two outputs, so that lines keep their order.
fn merged(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" \"$@\" 2>&1"]).arg(command.get_program()).args(command.get_args());
    shell.env_clear();
    for (name, value) in command.get_envs() {
        value.map(|value| shell.env(name, value));
    }
    if let Some(dir) = command.get_current_dir() {
        shell.current_dir(dir);
    }
    shell.stdin(Stdio::null()).stdout(Stdio::piped());
    shell
}

/// The first error of a compiler, a linker, Kconfig or a script with the lines that belong to it; paths turned by `turn`.
fn first_error(lines: &[String], turn: &dyn Fn(&str) -> Option<String>) -> String {
    let is_error = |line: &String| {
        line.contains(": error: ")
            || line.contains(": fatal error: ")
            || line.contains(": Error: ")
            || line.contains("undefined reference")
            || is_kconfigs(line)
    };
    let of_make = |line: &String| line.starts_with("make") && line.contains("***") || line.starts_with("***");
    let Some(at) = lines.iter().position(is_error).or_else(|| lines.iter().position(of_make)) else {
        return lines.iter().rev().take(3).rev().fold(String::new(), |all, line| all + line + "\n");
    };
    // `In file included from` and `In function` stand before the message.
    let belongs = |line: &&String| line.contains(": In function") || line.starts_with("In file included from");
    let start = at - lines[..at].iter().rev().take_while(|l| belongs(l) || l.starts_with("    ")).count();
    let more = lines[at + 1..].iter().filter(|l| is_error(l)).count();
    let end = lines[at + 1..].iter().position(|l| !l.starts_with(' ')).map_or(lines.len(), |n| at + 1 + n);
    let mut text = String::new();
    for line in lines[start..end].iter().take(SHOWN) {
        let _ = writeln!(text, "{}", rewrite_line(line, turn));
    }
    if more > 0 {
        let _ = writeln!(text, "and {more} more error{}", if more == 1 { "" } else { "s" });
    }
    text
}

/// Whether a line is an error of Kconfig, which writes `FILE:LINE: MESSAGE`. Its warnings have the same form.
fn is_kconfigs(line: &str) -> bool {
    let Some((path, rest)) = line.split_once(':') else { return false };
    let file = path.rsplit('/').next().unwrap_or(path);
    let Some((number, message)) = rest.split_once(':') else { return false };
    file.starts_with("Kconfig")
        && number.bytes().all(|b| b.is_ascii_digit())
        && !number.is_empty()
        && !message.trim_start().starts_with("warning")
}

/// A line with the path that it names, if any, as the user knows it.
fn rewrite_line(line: &str, turn: &dyn Fn(&str) -> Option<String>) -> String {
    let included = line.trim_start_matches("In file included ").trim_start();
    let lead = line.len() - included.strip_prefix("from ").unwrap_or(included).len();
    let (before, rest) = line.split_at(lead);
    let Some((path, after)) = rest.split_once(':') else { return line.to_string() };
    let named = path.starts_with("../") || path.starts_with('/');
    match named.then(|| turn(path)).flatten() {
        Some(path) => format!("{before}{path}:{after}"),
        None => line.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workshop(dir: &Path) -> Workshop<'_> {
        std::fs::create_dir_all(dir.join("overlay/build")).unwrap();
        Workshop::new(Path::new("/home/me/linux"), dir.join("overlay"), dir.join("log"), 1).unwrap()
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(String::from).collect()
    }

    #[test]
    fn a_compilers_message_names_the_users_own_file() {
        let dir = tempfile::tempdir().unwrap();
        let said = lines(
            "  CC      arch/sim/kernel/ks_fair.o\n\
             In file included from ../arch/sim/kernel/ks_fair.c:3:\n\
             ../arch/sim/kernel/../../../kernel/sched/fair.c: In function 'select_task_rq_fair':\n\
             ../arch/sim/kernel/../../../kernel/sched/fair.c:8601:9: error: 'pref' undeclared\n\
             \x20 601 |  return pref;\n\
             \x20     |         ^~~~\n\
             ../arch/sim/kernel/../../../kernel/sched/fair.c:8700:1: error: another\n\
             make[2]: *** [x] Error 1\n",
        );
        let error = workshop(dir.path()).failed("compiling", &said).to_string();
        assert_eq!(
            error,
            "compiling failed: \n  In file included from <fairground>/arch/kernel/ks_fair.c:3:\n  \
             /home/me/linux/kernel/sched/fair.c: In function 'select_task_rq_fair':\n  \
             /home/me/linux/kernel/sched/fair.c:8601:9: error: 'pref' undeclared\n  \
             \x20 601 |  return pref;\n  \x20     |         ^~~~\n  and 1 more error"
        );
    }

    #[test]
    fn an_assemblers_message_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        let said =
            lines("x.s: Assembler messages:\nx.s:6: Error: symbol `f' is already defined\nmake: *** [y] Error 1\n");
        let error = workshop(dir.path()).failed("compiling", &said).to_string();
        assert_eq!(error, "compiling failed: x.s:6: Error: symbol `f' is already defined");
    }

    #[test]
    fn without_a_compilers_message_makes_own_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        let said = lines("  GEN Makefile\nmake[1]: *** No rule to make target 'x'.  Stop.\nmake: *** [y] Error 2\n");
        let error = workshop(dir.path()).failed("configuring", &said).to_string();
        assert_eq!(error, "configuring failed: make[1]: *** No rule to make target 'x'.  Stop.");
    }

    #[test]
    fn a_full_disk_is_told_whichever_program_met_it() {
        let dir = tempfile::tempdir().unwrap();
        let said = lines("ld: final link failed: No space left on device\nmake: *** [y] Error 2\n");
        let error = workshop(dir.path()).failed("linking", &said).to_string();
        assert!(
            error.starts_with("linking failed: the file system of the cache /") && error.ends_with(" is full"),
            "{error}"
        );
    }

    #[test]
    fn both_outputs_of_a_command_are_kept_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let mut workshop = workshop(dir.path());
        let mut command = tools::command("sh", dir.path());
        command.args(["-c", "echo one; echo two >&2; echo three; exit 1"]);
        let (good, said) = workshop.run(command, &mut |_| {}).unwrap();
        assert_eq!((good, said), (false, lines("one\ntwo\nthree")));
        let log = std::fs::read_to_string(workshop.log_path()).unwrap();
        assert!(log.ends_with("one\ntwo\nthree\n"), "{log}");
    }
}

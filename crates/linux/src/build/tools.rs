//! The programs a build calls, all from the system.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::BuildError;
use super::files;

/// Programs, and the Debian packages that hold them.
const TOOLS: [(&str, &str); 9] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("objcopy", "binutils"),
    ("nm", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("perl", "perl"),
];

/// The variables that reach a build: what else a user has set (ARCH, CC, KCFLAGS, MAKEFLAGS, ...) would change it.
const KEPT: [&str; 4] = ["PATH", "HOME", "TMPDIR", "USER"];

/// Fails unless every program is found on the path.
pub(super) fn check() -> Result<(), BuildError> {
    match missing(env::var_os("PATH").as_deref().unwrap_or_default()) {
        missing if missing.is_empty() => Ok(()),
        missing => Err(BuildError::NoTools { missing }),
    }
}

fn missing(path: &OsStr) -> Vec<(&'static str, &'static str)> {
    let dirs: Vec<PathBuf> = env::split_paths(path).collect();
    let found = |name: &str| dirs.iter().any(|d| d.join(name).is_file());
    TOOLS.into_iter().filter(|(name, _)| !found(name)).collect()
}

/// A command in `dir` with a plain environment and nothing to read.
pub(super) fn command(program: &str, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).stdin(Stdio::null()).env_clear().env("LC_ALL", "C");
    for name in KEPT {
        if let Some(value) = env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// Which compiler and linker these are: another one makes another library.
pub(super) fn identity() -> Result<String, BuildError> {
    let first_line = |program: &'static str| {
        let out = command(program, Path::new("/")).arg("--version").output();
        let out = out.map_err(files::fail("run", Path::new(program)))?;
        Ok(String::from_utf8_lossy(&out.stdout).lines().next().unwrap_or_default().trim().to_string())
    };
    Ok(format!("{}; {}", first_line("gcc")?, first_line("ld")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_program_comes_with_its_package() {
        let dir = tempfile::tempdir().unwrap();
        for (name, _) in TOOLS.iter().filter(|(name, _)| !["flex", "ld", "objcopy"].contains(name)) {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let missing = missing(dir.path().as_os_str());
        assert_eq!(missing, [("ld", "binutils"), ("objcopy", "binutils"), ("flex", "flex")]);
        let error = BuildError::NoTools { missing };
        assert_eq!(error.to_string(), "a build needs programs that are not on the PATH: ld, objcopy, flex");
        let help = miette::Diagnostic::help(&error).unwrap().to_string();
        assert!(help.contains("apt install binutils flex"), "{help}");
    }

    #[test]
    fn what_a_user_has_set_for_other_builds_does_not_reach_ours() {
        let command = command("make", Path::new("/"));
        let names: Vec<&OsStr> = command.get_envs().map(|(name, _)| name).collect();
        assert!(names.iter().all(|n| *n == "LC_ALL" || KEPT.iter().any(|k| n == k)), "{names:?}");
    }
}

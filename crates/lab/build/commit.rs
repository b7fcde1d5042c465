//! Sets `FAIRGROUND_COMMIT` for a build script: the commit of the checkout that a program is built from, 12 hex digits,
//! with `-dirty` behind it if what it is built of was changed since, as `git describe --dirty` says it. In a tarball of
//! `git archive` (those of forges are made by it), the file `archived_commit` names the commit (`.gitattributes`); elsewhere
//! it is `unknown`. Crates that read commits for build scripts take the commit of whatever repository is around, so that a
//! release unpacked in another one's folder would claim that one's commit.

use std::path::Path;
use std::process::Command;

/// What programs are built of, below the workspace.
const SOURCES: [&str; 7] = ["Cargo.lock", "Cargo.toml", "crates", "machines", "policy", "published", "workloads"];

/// Files below git's directory of which one changes when HEAD moves.
const HEADS: [&str; 3] = ["HEAD", "logs/HEAD", "packed-refs"];

/// Sets the variable, and has the build script run again when HEAD moves or a source changes.
pub fn set(workspace: &Path) {
    let commit = commit(workspace).or_else(|| archived(workspace)).unwrap_or("unknown".into());
    println!("cargo::rustc-env=FAIRGROUND_COMMIT={commit}");
    // Files and not their directories: a test that writes a file beside its crate for a moment would have programs linked
    // anew while other tests run them. Without git no commit can change: Cargo.lock stands for all.
    let tracked = git(workspace, &[&["ls-files", "--"][..], &SOURCES].concat()).unwrap_or("Cargo.lock".into());
    for source in tracked.lines().map(|file| workspace.join(file)).filter(|file| file.exists()) {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    for name in HEADS {
        // Cargo runs a script for ever again that names a file that is not there.
        let path = git(workspace, &["rev-parse", "--git-path", name]).map(|path| workspace.join(path));
        if let Some(path) = path.filter(|path| path.exists()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

fn commit(workspace: &Path) -> Option<String> {
    let top = git(workspace, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != workspace.canonicalize().ok()? {
        return None;
    }
    let commit = git(workspace, &["rev-parse", "--short=12", "HEAD"])?;
    let status = [&["status", "--porcelain", "--"][..], &SOURCES].concat();
    Some(if git(workspace, &status)?.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// What `git archive` has written into the file; none in a checkout, where it has a placeholder.
fn archived(workspace: &Path) -> Option<String> {
    let text = std::fs::read_to_string(workspace.join("crates/lab/build/archived_commit")).ok()?;
    let commit = text.trim();
    let is_commit = commit.len() >= 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| commit[..12].to_owned())
}

/// What git prints; none if there is no git, or it fails.
fn git(workspace: &Path, words: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // Set in hooks, these lead elsewhere. Without optional locks `status` writes nothing.
    let ours = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];
    ours.iter().for_each(|name| _ = command.env_remove(name));
    let output = command.env("GIT_OPTIONAL_LOCKS", "0").arg("-C").arg(workspace).args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.trim().to_owned())
}

//! Embeds the C side (`kernel/`, and the headers of `policy/` that it includes), so that an installed program can
//! build kernels. Writes `$OUT_DIR/embedded.rs`: a table of paths and contents, in the order of the paths.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// What the C side includes of `policy/`.
const POLICY: [&str; 6] = ["fg.h", "balance_rules.h", "features.h", "notes.h", "pick_rules.h", "rules.h"];

/// `here`: the crate; `out`: where cargo wants what is generated.
pub fn embed(here: &Path, out: &Path) -> Result<(), String> {
    let (kernel, policy) = (here.join("kernel"), here.join("../../policy"));
    let mut files = Vec::new();
    walk(&kernel, "", &mut files)?;
    for header in POLICY {
        files.push((format!("policy/{header}"), policy.join(header)));
        println!("cargo:rerun-if-changed={}", policy.join(header).display());
    }
    files.sort();
    println!("cargo:rerun-if-changed={}", kernel.display());

    let mut text = String::from("static FILES: &[(&str, &[u8])] = &[\n");
    for (name, path) in files {
        let _ = writeln!(text, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    text.push_str("];\n");
    let to = out.join("embedded.rs");
    fs::write(&to, text).map_err(|e| format!("{}: {e}", to.display()))
}

/// The files below a directory. Tests stay at home.
fn walk(dir: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("{}: {e}", dir.display());
    for entry in fs::read_dir(dir).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{prefix}{name}");
        match path.is_dir() {
            true if name == "tests" => {}
            true => walk(&path, &format!("{name}/"), files)?,
            false => files.push((name, path)),
        }
    }
    Ok(())
}

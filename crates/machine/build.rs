//! Embeds the posteriors in `machines/posterior`, as many as there are: `POSTERIORS`, name and text of each.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// The folder, from this crate.
const FOLDER: &str = "../../machines/posterior";

fn main() {
    if let Err(message) = embed() {
        eprintln!("error: {message}");
        process::exit(1);
    }
}

fn embed() -> Result<(), String> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(|e| e.to_string())?);
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|e| e.to_string())?);
    let folder = here.join(FOLDER);
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut list = String::from("const POSTERIORS: &[(&str, &str)] = &[\n");
    for (name, path) in posteriors(&folder)? {
        println!("cargo:rerun-if-changed={}", path.display());
        let _ = writeln!(list, "    ({name:?}, include_str!({:?})),", path.display().to_string());
    }
    list.push_str("];\n");
    fs::write(out.join("posteriors.rs"), list).map_err(|e| format!("cannot write posteriors.rs: {e}"))
}

/// Name and path of each file, by name; none if there is no folder.
fn posteriors(folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let mut files = Vec::new();
    if !folder.is_dir() {
        return Ok(files);
    }
    let unreadable = |e: std::io::Error| format!("cannot read {}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|ext| ext == "tsv") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            files.push((name, path));
        }
    }
    files.sort();
    Ok(files)
}

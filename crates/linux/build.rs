//! Writes the Rust twins of `kernel/include/ks.h`, the border to a built kernel, and compiles the C compiler's view of
//! the same structs, which `abi::check_layout` compares with Rust's. Embeds the C side into the program.

#[path = "build/embed.rs"]
mod embed;
#[path = "build/twins.rs"]
mod twins;

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use fairground_cheader::{Header, Layout};

/// The C compiler's table of sizes and offsets.
const LAYOUT: &str = "fairground_ks_layout";

fn main() {
    if let Err(message) = build() {
        eprintln!("error: {message}");
        process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(|e| e.to_string())?);
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|e| e.to_string())?);
    embed::embed(&here, &out)?;
    let (include, policy) = (here.join("kernel/include"), here.join("../../policy"));
    let header = include.join("ks.h");
    println!("cargo:rerun-if-changed={}", header.display());
    println!("cargo:rerun-if-changed={}", policy.join("fg.h").display());
    println!("cargo:rerun-if-changed=build");

    let header = Header::read(&header, &Header::read(&policy.join("fg.h"), &Header::default())?)?;
    let mut layout = Layout::default();
    layout.add_structs(&header, &[]);
    write(&out.join("ks.rs"), &(twins::rust(&header) + &layout.rust(LAYOUT)))?;
    let layout_c = out.join("ks_layout.c");
    write(&layout_c, &layout.c("ks.h", LAYOUT))?;
    cc::Build::new().include(&include).include(&policy).file(&layout_c).std("c11").compile("fgkslayout");
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

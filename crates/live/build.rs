//! Builds the scheduler's BPF object from `bpf/` and `policy/`, and tables of the structs that it shares with its loader.
//!
//! clang makes LLVM IR of `bpf/live.bpf.c`, `bpf/arena.py` makes its pointers arena pointers, and llc makes the object,
//! `$OUT_DIR/live.bpf.o`. The environment's `FAIRGROUND_CLANG` and `FAIRGROUND_LLC` name others than clang-19 and llc-19.
//!
//! The policy in the kernel is built for 64 CPUs, or as many as `FAIRGROUND_LIVE_CPUS` says: a multiple of 64 up to 512, for a BPF program
//! has a stack of 512 bytes. The policy of the command is built for 1,024. So their structs differ, and what `crates/fair` builds is copied member by member:
//! `$OUT_DIR/structs.rs` has the names and types of all members, and the C compiler's tables have their places in both.

#[path = "build/structs.rs"]
mod structs;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, process};

use fairground_cheader::Header;

/// CPUs that the scheduler is built for.
fn max_cpus() -> Result<usize, String> {
    let Some(text) = env::var_os("FAIRGROUND_LIVE_CPUS") else { return Ok(64) };
    let number = text.to_str().and_then(|text| text.parse().ok());
    number.filter(|cpus| (64..=512).contains(cpus) && cpus % 64 == 0).ok_or_else(|| {
        format!(
            "FAIRGROUND_LIVE_CPUS: expected a multiple of 64 from 64 to 512, found {}",
            text.to_string_lossy().escape_debug()
        )
    })
}

fn main() {
    if let Err(message) = build() {
        eprintln!("error: {message}");
        process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(|e| e.to_string())?);
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|e| e.to_string())?);
    let (policy, bpf) = (here.join("../../policy"), here.join("bpf"));
    println!("cargo:rerun-if-changed={}", policy.display());
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-env-changed=FAIRGROUND_CLANG");
    println!("cargo:rerun-if-env-changed=FAIRGROUND_LLC");
    println!("cargo:rerun-if-env-changed=FAIRGROUND_LIVE_CPUS");

    let cpus = max_cpus()?;
    // CPUs, and words of a set of them.
    let small = [format!("-DFG_NR_CPUS={cpus}"), format!("-DFG_MASK_WORDS={}", cpus / 64)];
    object(&policy, &bpf, &out, &small)?;
    let fg = Header::read(&policy.join("fg.h"), &Header::default())?;
    let live = Header::read(&bpf.join("live.h"), &fg)?;
    write(&out.join("structs.rs"), &structs::rust(&[&fg, &live], cpus))?;
    for (name, options) in [("small", &small[..]), ("large", &[])] {
        let file = out.join(format!("{name}.c"));
        write(&file, &structs::places(&[&fg, &live], name))?;
        let mut build = cc::Build::new();
        build.include(&policy).include(&bpf).file(&file).std("c11");
        options.iter().for_each(|option| {
            build.flag(option);
        });
        build.try_compile(&format!("live_{name}")).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// `live.bpf.o`.
fn object(policy: &Path, bpf: &Path, out: &Path, small: &[String]) -> Result<(), String> {
    let tool = |variable, usual: &str| env::var(variable).unwrap_or_else(|_| usual.into());
    let (plain, arena, object) = (out.join("live.ll"), out.join("live-arena.ll"), out.join("live.bpf.o"));
    let mut clang = Command::new(tool("FAIRGROUND_CLANG", "clang-19"));
    clang.args(["-g", "-O2", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror", "-Wno-unused-function"]);
    // A chain of calls may have eight functions and no more: what is no function for the verifier is inlined.
    clang.args(["-mllvm", "-inline-threshold=3000", "-fvisibility=hidden"]).args(small);
    clang.arg("-iquote").arg(policy).arg("-iquote").arg(bpf).args(["-S", "-emit-llvm"]);
    run(clang.arg(bpf.join("live.bpf.c")).arg("-o").arg(&plain))?;
    let open = |path: &Path| fs::File::open(path).map_err(|e| format!("{}: {e}", path.display()));
    let create = |path: &Path| fs::File::create(path).map_err(|e| format!("{}: {e}", path.display()));
    run(Command::new("python3").arg(bpf.join("arena.py")).stdin(open(&plain)?).stdout(create(&arena)?))?;
    let mut llc = Command::new(tool("FAIRGROUND_LLC", "llc-19"));
    run(llc.args(["-march=bpf", "-mcpu=v3", "-filetype=obj"]).arg(&arena).arg("-o").arg(&object))
}

fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.stderr(Stdio::inherit()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program}: {status}")),
        Err(error) => Err(format!("{program}: {error}; crates/live needs clang-19, llvm-19 and python3")),
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

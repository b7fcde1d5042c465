//! What commands read: traces, and the machine at hand.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};
use fairground_machine::{capture, Capture, CaptureOptions, Machine, MachineSpec};
use fairground_trace::{open, EventSource, Note};
use fairground_workload::{Builtin, Workload};
use miette::Diagnostic;
use thiserror::Error;

use crate::error::Failure;
use crate::output::{complain, note};

/// Takes the path of a trace that is read once; `-` is standard input.
pub fn trace_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| if path == Path::new("-") { "/dev/stdin".into() } else { path })
}

/// A trace that cannot be read a second time.
#[derive(Debug, Error, Diagnostic)]
#[error("{file} is not a regular file: {reader} reads traces twice")]
struct NotTwice {
    file: String,
    reader: &'static str,
}

/// Whether a trace can be read only once, as a pipe can.
pub fn is_read_once(trace: &Path) -> bool {
    std::fs::metadata(trace).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// Refuses a trace that can be read only once. `reader`: the command that reads it twice, for the message.
pub fn to_be_read_twice(trace: &Path, reader: &'static str) -> Result<(), Failure> {
    match is_read_once(trace) {
        true => Err(NotTwice { file: trace.display().to_string(), reader }.into()),
        false => Ok(()),
    }
}

/// A machine and a workload in the wrong order, or a trace as a workload.
#[derive(Debug, Error, Diagnostic)]
enum Misplaced {
    #[error("`{machine}` is a workload: the machine comes first")]
    #[diagnostic(help("write fairground {verb} {workload} {machine}"))]
    Swapped { verb: &'static str, machine: String, workload: String },
    #[error("`{machine}` is a workload, not a machine")]
    #[diagnostic(help("the machine comes first: fairground {verb} MACHINE {machine}; `fairground machine list` shows those that come along"))]
    Workload { verb: &'static str, machine: String },
    #[error("{file} is a trace, not a workload")]
    #[diagnostic(help("`fairground import {file} --output FILE.json` makes a workload of it, `fairground replay {file}` runs it again"))]
    Trace { file: String },
}

/// Refuses a workload in the place of a machine, and a trace in the place of a workload. What is neither is left to the
/// readers, which know better what is wrong with it. `verb`: the command.
pub fn refuse_misplaced(verb: &'static str, machine: &str, workload: &str) -> Result<(), Failure> {
    if is_workload(machine) {
        let machine = machine.to_owned();
        return Err(match MachineSpec::parse(workload).find().is_ok() {
            true => Misplaced::Swapped { verb, machine, workload: workload.to_owned() }.into(),
            false => Misplaced::Workload { verb, machine }.into(),
        });
    }
    match Workload::file(workload).filter(|file| is_trace(file)) {
        Some(file) => Err(Misplaced::Trace { file: file.display().to_string() }.into()),
        None => Ok(()),
    }
}

/// Whether this can only be a workload: a built-in by name that is no machine, or a file of JSON.
fn is_workload(name: &str) -> bool {
    let bare = name.split_once(':').map_or(name, |(bare, _)| bare);
    let is_builtin = Builtin::by_name(bare).is_some() && !Path::new(name).is_file();
    is_builtin || (Path::new(name).is_file() && first_byte(Path::new(name)) == Some(b'{'))
}

/// Whether a file has an event that can be read. Files of JSON are not looked at.
pub fn is_trace(file: &Path) -> bool {
    let is_json = || matches!(first_byte(file), None | Some(b'{' | b'/'));
    file.is_file()
        && !is_json()
        && open(file).is_ok_and(|mut trace| trace.next_event().is_ok_and(|event| event.is_some()))
}

/// The first byte of a regular file that is no white space; `None` also if there is none among the first thousands.
pub fn first_byte(file: &Path) -> Option<u8> {
    let mut head = Vec::new();
    File::open(file).ok()?.take(4096).read_to_end(&mut head).ok()?;
    head.into_iter().find(|byte| !byte.is_ascii_whitespace())
}

/// The machine at hand, from its sysfs.
pub fn capture_this() -> Result<Capture, Failure> {
    let options = CaptureOptions { from: "/sys".into(), debugfs: None, name: "captured".into(), like: None };
    Ok(capture(&options)?)
}

/// The machine of this name, the machine at hand where there is none; and what its capture notes.
pub fn machine_or_this(name: Option<&str>) -> Result<(Machine, Vec<String>), Failure> {
    match name {
        Some(name) => Ok((Machine::find(name)?, Vec::new())),
        None => capture_this().map(|captured| (captured.machine, captured.notes)),
    }
}

/// Opens a trace in any of the supported formats.
pub fn open_trace(path: &Path) -> Result<Box<dyn EventSource>, Failure> {
    Ok(open(path)?)
}

/// Prints the notes of traces that were read to standard error. What qualifies the result, such as lost events, is not for
/// `--quiet` to hide.
pub fn trace_notes(notes: &[Note]) {
    for said in notes {
        match said.is_loss() {
            true => complain(&format!("note: {said}")),
            false => note(said),
        }
    }
}

//! `fairground import`.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use fairground_lab::replay::{self, Imported};
use fairground_machine::{CpuMask, Machine, MachineSpec};
use fairground_trace::import::Selection;
use fairground_trace::{open_watched, RunHead};
use fairground_workload::rtapp::MAX_FILE_MIB;
use miette::Diagnostic;
use thiserror::Error;

use crate::error::{run_failed, End, Failure};
use crate::input::{is_read_once, open_trace, trace_notes, trace_path};
use crate::output::{complain, print_beside, OutputFile};
use crate::progress::Reading;

/// Turns a trace into a workload that repeats what its threads did.
#[derive(Args)]
pub struct Import {
    /// Trace: ours, or what trace-cmd report, perf script or the kernel print; - is standard input
    #[arg(value_parser = trace_path())]
    trace: PathBuf,
    /// Write the workload to this file, whole or not at all; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The machine that was recorded, preset or file [default: as the trace says, if it is ours]
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Only threads with one of these in their names
    #[arg(long, value_name = "PART", num_args = 1..)]
    tasks: Vec<String>,
    /// Only events from S seconds after the beginning of the trace on
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    from: Option<u64>,
    /// Only events up to S seconds after the beginning of the trace
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    to: Option<u64>,
}

/// Reads seconds, with a fraction or without, as ns.
pub(super) fn seconds(text: &str) -> Result<u64, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    let ns = digits(&format!("{fraction:0<9}")).filter(|_| (1..=9).contains(&fraction.len()));
    let ns = digits(whole).and_then(|s| s.checked_mul(1_000_000_000)).zip(ns).and_then(|(s, ns)| s.checked_add(ns));
    ns.ok_or_else(|| "expected seconds, such as 2 or 1.25".into())
}

/// The machine is named at the head of the trace. A trace that can be read only once has no head left for the import.
#[derive(Debug, Error, Diagnostic)]
#[error("{trace} can be read only once, so the machine that was recorded must be named")]
#[diagnostic(help("name it with --machine, or keep the trace in a file"))]
struct ReadOnce {
    trace: String,
}

/// `--to` comes before `--from`, so no event is selected.
#[derive(Debug, Error, Diagnostic)]
#[error("--to comes before --from")]
#[diagnostic(help("both count seconds from the beginning of the trace"))]
pub(super) struct Backwards;

/// Neither the user nor the trace names the machine.
#[derive(Debug, Error, Diagnostic)]
#[error("{trace} does not say which machine was recorded")]
#[diagnostic(help("name it with --machine: a preset, or a file as `fairground machine capture` makes it"))]
struct UnknownMachine {
    trace: String,
}

impl Import {
    pub fn run(mut self) -> Result<End, Failure> {
        let parts = std::mem::take(&mut self.tasks);
        let selection = Selection { parts, from_ns: self.from.unwrap_or(0), to_ns: self.to };
        if selection.to_ns.is_some_and(|to| to < selection.from_ns) {
            return Err(Backwards.into());
        }
        let machine = machine_of(&self.trace, self.machine.as_deref())?;
        let inputs = [Some(self.trace.as_path()), MachineSpec::parse(&machine.name).file()];
        let mut output = OutputFile::beside(&self.output, &inputs)?;
        let imported = read(&self.trace, &machine.machine, selection)?;
        trace_notes(&imported.notes);
        let failed = |e: io::Error| run_failed(format!("cannot write {}: {e}", self.output.display()));
        imported.recording.write(&mut output).map_err(failed)?;
        output.finish()?;
        let size = std::fs::metadata(&self.output).map_or(0, |m| if m.is_file() { m.len() } else { 0 });
        too_large(&self.output, size).iter().for_each(|note| complain(note));
        print_beside(&self.output, &self.summary(&machine.name, &imported))?;
        Ok(End::Done)
    }

    fn summary(&self, machine: &str, imported: &Imported) -> String {
        let (counts, threads) = (imported.counts, imported.recording.threads.len());
        let mut out = String::new();
        let _ = writeln!(out, "machine   {machine}");
        let _ = writeln!(out, "recorded  {threads} threads, {:.3} s", imported.figures.span_ns as f64 / 1e9);
        let _ = writeln!(out, "sleeps    {} ended by threads, {} by interrupts", counts.by_thread, counts.by_interrupt);
        let _ = writeln!(out, "written   {}", self.output.display());
        out
    }
}

/// A note on a workload of this many bytes if it is too large for `run`.
fn too_large(file: &Path, bytes: u64) -> Option<String> {
    (bytes > MAX_FILE_MIB << 20).then(|| {
        let (file, mib) = (file.display(), bytes >> 20);
        format!(
            "note: {file} has {mib} MiB, but workloads are read up to {MAX_FILE_MIB} MiB: it cannot be run; import less \
             with --tasks, --from and --to"
        )
    })
}

/// A machine with the name that the user gave.
pub struct Named {
    pub name: String,
    pub machine: Machine,
    /// The CPUs that the workload is bound to.
    pub cpus: Option<CpuMask>,
}

/// The machine of a trace: the one that is given, or the one that the trace names at its head.
pub fn machine_of(trace: &Path, given: Option<&str>) -> Result<Named, Failure> {
    let name = match given {
        Some(name) => name.to_owned(),
        None if is_read_once(trace) => return Err(ReadOnce { trace: trace.display().to_string() }.into()),
        None => {
            let name = head_of(trace)?.meta("machine").map(str::to_owned);
            name.ok_or_else(|| UnknownMachine { trace: trace.display().to_string() })?
        }
    };
    let (machine, cpus) = MachineSpec::parse(&name).find()?;
    Ok(Named { name, machine, cpus })
}

/// The head of a trace of ours. Empty for a trace that can be read only once: reading its head would use up its start.
pub fn head_of(trace: &Path) -> Result<RunHead, Failure> {
    match is_read_once(trace) {
        true => Ok(RunHead::default()),
        false => Ok(RunHead::read(&mut *open_trace(trace)?)?),
    }
}

/// Reads the selected part of a trace, and shows progress.
pub fn read(trace: &Path, machine: &Machine, selection: Selection) -> Result<Imported, Failure> {
    let (mut reader, position) = open_watched(trace)?;
    let name = trace.display().to_string();
    let mut progress = Reading::new(position);
    Ok(replay::import(&name, &mut reader, machine, selection, &mut |time| progress.event(time))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_to_the_nanosecond() {
        let good = [("0", 0), ("2", 2_000_000_000), ("1.25", 1_250_000_000), ("0.000000001", 1)];
        good.iter().for_each(|(text, ns)| assert_eq!(seconds(text), Ok(*ns)));
        let bad = ["", ".", "-1", "+1", "1e3", "1.", "1.0000000001", "99999999999", "1.-5"];
        bad.iter().for_each(|text| assert!(seconds(text).is_err(), "{text}"));
    }

    #[test]
    fn a_recording_that_cannot_be_run_is_reported() {
        assert_eq!(too_large(Path::new("r.json"), 64 << 20), None);
        let note = too_large(Path::new("r.json"), (200 << 20) + 7).unwrap();
        assert!(note.contains("r.json has 200 MiB, but workloads are read up to 64 MiB"), "{note}");
    }
}

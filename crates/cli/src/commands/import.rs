//! `fairground import`.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use fairground_lab::replay::{self, Imported};
use fairground_machine::{CpuMask, Machine, MachineSpec};
use fairground_trace::import::Selection;
use fairground_trace::What;
use miette::Diagnostic;
use thiserror::Error;

use crate::error::{run_failed, End, Failure};
use crate::input::{open_trace, trace_notes};
use crate::output::{print, OutputFile};
use crate::progress::Reading;

/// Turns a trace into a workload that repeats what its threads did.
#[derive(Args)]
pub struct Import {
    /// Trace: ours, or what trace-cmd report, perf script or the kernel print
    trace: PathBuf,
    /// Write the workload to this file, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The machine that was recorded, preset or file [default: as the trace says, if it is ours]
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Only threads with one of these in their names
    #[arg(long, value_name = "PART", num_args = 1..)]
    tasks: Vec<String>,
}

/// Nobody says what was recorded.
#[derive(Debug, Error, Diagnostic)]
#[error("{trace} does not say which machine was recorded")]
#[diagnostic(help("name it with --machine: a preset, or a file as `fairground machine capture` makes it"))]
struct UnknownMachine {
    trace: String,
}

impl Import {
    pub fn run(mut self) -> Result<End, Failure> {
        let machine = machine_of(&self.trace, self.machine.as_deref())?;
        let mut output = OutputFile::create(&self.output)?;
        let imported = read(&self.trace, &machine.machine, std::mem::take(&mut self.tasks))?;
        trace_notes(&imported.recording.notes);
        let failed = |e: io::Error| run_failed(format!("cannot write {}: {e}", self.output.display()));
        imported.recording.write(&mut output).map_err(failed)?;
        output.finish()?;
        print(&self.summary(&machine.name, &imported))?;
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

/// A machine, and what the user calls it.
pub struct Named {
    pub name: String,
    pub machine: Machine,
    /// Those that the workload is bound to.
    pub cpus: Option<CpuMask>,
}

/// The machine of a trace: the one that is given, or the one that the trace names at its head.
pub fn machine_of(trace: &Path, given: Option<&str>) -> Result<Named, Failure> {
    let name = match given {
        Some(name) => name.to_owned(),
        None => told(trace, "machine")?.ok_or_else(|| UnknownMachine { trace: trace.display().to_string() })?,
    };
    let (machine, cpus) = MachineSpec::of(&name).find()?;
    Ok(Named { name, machine, cpus })
}

/// What the head of a trace of ours says: machine, workload, sched, seed.
pub fn told(trace: &Path, key: &str) -> Result<Option<String>, Failure> {
    let mut reader = open_trace(trace)?;
    while let Some(event) = reader.next_event()? {
        let What::Print(text) = event.what else { break };
        let said = text.strip_prefix("fairground_meta: ").and_then(|meta| meta.split_once('='));
        if let Some((_, value)) = said.filter(|(name, _)| *name == key) {
            return Ok(Some(value.to_owned()));
        }
    }
    Ok(None)
}

/// Reads a whole trace under signs of life.
pub fn read(trace: &Path, machine: &Machine, parts: Vec<String>) -> Result<Imported, Failure> {
    let mut reader = open_trace(trace)?;
    let name = trace.display().to_string();
    let mut progress = Reading::new();
    Ok(replay::import(&name, &mut reader, machine, Selection { parts }, &mut |time| progress.event(time))?)
}

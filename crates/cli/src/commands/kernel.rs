//! `fairground kernel`.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use fairground_linux::build::{BuiltKernel, Kernels, Record, Request, Step};
use serde_json::{json, Value};

use super::agree::Agree;
use super::feature::ListFormat;
use super::free_run::FreeRun;
use crate::error::{End, Failure};
use crate::output::{note, print};
use crate::progress::Steps;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-kernels-1";

/// Kernels: schedulers built from source trees, `linux:NAME`.
#[derive(Subcommand)]
pub enum KernelCommand {
    /// Build the scheduler of a kernel's source tree; does nothing if it is built and the tree unchanged
    ///
    /// A tree runs with your rights: its makefiles and scripts during the build, its code in each run. Build only trees and
    /// patches that you trust.
    Build(Build),
    /// List the kernels that are built, with their options and whether their trees have changed since
    List {
        /// How to print the list
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
    },
    /// Show our policy a built kernel's state at each decision, and count by rule how often both choose alike
    Agree(Box<Agree>),
    /// Run a built kernel and our own scheduler apart, and compare rules, migrations and latency
    FreeRun(FreeRun),
}

/// Builds the scheduler of a source tree.
#[derive(Args)]
pub struct Build {
    /// Top directory of a Linux source tree; it is only read
    tree: PathBuf,
    /// Build linux:NAME [default: the tree's release, e.g. v6.12.117]
    #[arg(long)]
    name: Option<String>,
    /// A kernel's .config; its options that concern the scheduler are used
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Also check locks, lists and sleeping in atomic context: what is wrong ends the run with the reason
    #[arg(long)]
    debug: bool,
    /// Parallel jobs [default: as many as CPUs]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Set an option, in place of its value in the .config; repeatable
    #[arg(long, value_name = "CONFIG_X=v")]
    set: Vec<String>,
}

impl KernelCommand {
    pub fn run(self) -> Result<End, Failure> {
        match self {
            KernelCommand::Build(build) => build.run(),
            KernelCommand::Agree(agree) => agree.run(),
            KernelCommand::FreeRun(free) => free.run(),
            KernelCommand::List { format } => {
                list(format)?;
                Ok(End::Done)
            }
        }
    }
}

impl Build {
    fn run(self) -> Result<End, Failure> {
        let Build { tree, name, config, debug, jobs, set } = self;
        let steps = Steps::new();
        let mut tell = |step: Step| steps.tell(&step.to_string());
        let built = Kernels::user()?.build(&Request { tree, name, config, set, debug, jobs }, &mut tell)?;
        drop(steps);
        let how = if built.made { "built" } else { "unchanged" };
        print(&summary(&built.kernel, how))?;
        Ok(End::Done)
    }
}

/// What was built, its options, and the options that were ignored.
fn summary(kernel: &BuiltKernel, how: &str) -> String {
    let record = &kernel.record;
    let mut out = format!("linux:{}: {how}, release {}, {}\n", kernel.name, record.release, options(record));
    let mut line = |title: &str, names: Vec<String>| {
        if !names.is_empty() {
            let _ = writeln!(out, "  {title}: {}", names.join(", "));
        }
    };
    line("not observable in this tree", record.not_observable.clone());
    for stubbed in &record.stubbed {
        let users = stubbed.used_by.join(", ");
        line("stubbed", vec![format!("{}, used by {users}: the run ends if it is called", stubbed.symbol)]);
    }
    for ignored in &record.ignored {
        let what = format!("{}={}, built with {}: {}", ignored.option, ignored.wanted, ignored.got, ignored.reason);
        line("ignored", vec![what]);
    }
    for warning in kernel.warnings() {
        line("warning", vec![warning]);
    }
    if record.unrelated > 0 {
        line("ignored", vec![format!("{} options that do not concern the scheduler", record.unrelated)]);
    }
    out
}

/// `HZ 250, up to 512 CPUs, PREEMPT_NONE`.
fn options(record: &Record) -> String {
    let models = ["RT", "LAZY", "VOLUNTARY", "NONE"].map(|model| format!("CONFIG_PREEMPT_{model}"));
    let model = models.iter().find(|m| record.options.contains_key(*m)).map_or("CONFIG_PREEMPT", String::as_str);
    let model = model.trim_start_matches("CONFIG_");
    let debug =
        if record.options.contains_key("CONFIG_DEBUG_LOCK_ALLOC") { ", with checks of a debug build" } else { "" };
    format!("HZ {}, up to {} CPUs, {model}{debug}", record.hz, record.nr_cpus)
}

fn list(format: ListFormat) -> Result<(), Failure> {
    let mut kernels = Vec::new();
    for kernel in Kernels::user()?.list()? {
        match kernel {
            Ok(kernel) => kernels.push(kernel),
            Err(error) => note(&format!("{error}")),
        }
    }
    if kernels.is_empty() && format == ListFormat::Text {
        note("no kernel is built: `fairground kernel build TREE` builds one");
    }
    print(&match format {
        ListFormat::Text => kernels.iter().map(entry).collect(),
        ListFormat::Json => {
            let kernels: Vec<Value> = kernels.iter().map(document).collect();
            format!("{:#}\n", json!({ "schema": SCHEMA, "kernels": kernels }))
        }
    })
}

fn entry(kernel: &BuiltKernel) -> String {
    let record = &kernel.record;
    let changed = match (record.tree_is_there(), record.tree_changed()) {
        (false, _) => ", which is gone",
        (true, true) => ", changed since: build it again",
        (true, false) => "",
    };
    let size = library_bytes(kernel) / 1024;
    let mut out = format!("linux:{:<16} release {}, {}\n", kernel.name, record.release, options(record));
    let _ = writeln!(out, "    {}{changed}", record.tree.display());
    let _ = writeln!(
        out,
        "    built {}, {size} KiB, {} of the configuration ignored",
        age(record.built),
        record.ignored.len()
    );
    let failed = kernel.failed.as_ref();
    let failed = failed
        .map(|f| format!("the last build failed {}: {}; the library is of the build before", age(f.when), f.what));
    for warning in failed.into_iter().chain(kernel.warnings()) {
        let _ = writeln!(out, "    warning: {warning}");
    }
    out
}

/// How long ago, in the largest unit that is at least 1.
fn age(built: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
    let seconds = now.saturating_sub(built);
    let units = [(86400, "day"), (3600, "hour"), (60, "minute")];
    match units.iter().find(|(length, _)| seconds >= *length) {
        Some((length, unit)) if seconds / length == 1 => format!("1 {unit} ago"),
        Some((length, unit)) => format!("{} {unit}s ago", seconds / length),
        None => "just now".into(),
    }
}

fn library_bytes(kernel: &BuiltKernel) -> u64 {
    kernel.library.metadata().map_or(0, |meta| meta.len())
}

fn document(kernel: &BuiltKernel) -> Value {
    let record = &kernel.record;
    json!({
        "name": kernel.name,
        "release": record.release,
        "tree": record.tree.display().to_string(),
        "tree_changed": record.tree_changed(),
        "key": record.key,
        "library": kernel.library.display().to_string(),
        "library_bytes": library_bytes(kernel),
        "built_s": record.built,
        "compiler": record.compiler,
        "nr_cpus": record.nr_cpus,
        "hz": record.hz,
        "options": record.options,
        "ignored": record.ignored,
        "ignored_unrelated": record.unrelated,
        "not_observable": record.not_observable,
        "stubbed": record.stubbed,
        "warnings": kernel.warnings(),
        "failed": kernel.failed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_shown_in_its_largest_unit() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let shown = [0, 59, 61, 7300, 90000].map(|seconds| age(now - seconds));
        assert_eq!(shown, ["just now", "just now", "1 minute ago", "2 hours ago", "1 day ago"]);
        assert_eq!(age(now + 100), "just now");
    }
}

//! Files in rt-app's grammar, read as rt-app reads them.
//!
//! The grammar is that of rt-app's source as of May 2026, quirks included: events are keys that *begin* with an event
//! word, in the order of the text; a phase's `loop` of 0 or less runs for ever; priority and clamps stay as the last
//! phase left them while `cpus` reverts to the task's; `suspend` waits for its own task's name whatever its string
//! says. Every key and event is run, or named with its line in a [`Warning`].
//!
//! rt-app users write duplicate keys and the bare `"suspend",`. rt-app itself cannot read the latter and keeps only the
//! last of the former; its companion doc/workgen renames duplicates (`run`, `run1`) and completes `suspend` before
//! rt-app sees the file. We read a file as that pair does, because a file with duplicates was written for it; the
//! option `last-wins` reads as rt-app alone. (workgen goes by lines, we go by objects: a file that writes several keys
//! on one line reads the same as with one key a line.)
//!
//! Beyond rt-app's words there are ours, for which it has none: [`EXTENSIONS`] among events, `kthread_cpu` (a
//! per-CPU kernel thread) and `slack` (timer slack; a key that begins with `timer` is an event) of a task, `slice` of a
//! task or phase, and the sections `interrupts` (devices, see `interrupts.rs`),
//! `thermal_caps` (limits of frequencies, see `thermal_caps.rs`), `offline` (CPUs that go offline, see `offline.rs`) and
//! `cgroups` (settings of task groups, see
//! `groups.rs`). None begins with a word of rt-app's, so rt-app ignores
//! them all.
//!
//! Where we differ: values outside a C int, and events rt-app would take with a negative time, are errors here;
//! a thread has its policy and CPUs from birth instead of setting them itself after the start; forked threads of a
//! task all have the name `TASK-fork`; a thread has its task group from birth, and phases do not change it; page
//! locking, priority inheritance and memory policy do not exist; logs are written if the command asks for them, by a
//! [`LogPlan`]; a legacy `runtime` of a task is an event only and sets no slice; SCHED_DEADLINE is refused. What is
//! larger than anybody needs is refused: files by their size, their values and the steps they make.
//!
//! Floors, bottom up: `source` places messages, `fields` looks keys up, `global`, `sched`, `event` and
//! `task` read their parts of the tree, and `build` turns the tree into a [`Workload`].

#[cfg(test)]
mod bad_input;
mod build;
mod event;
mod fields;
mod global;
mod groups;
mod interrupts;
mod log;
mod offline;
mod recorded;
mod sched;
mod source;
mod task;
#[cfg(test)]
mod tests;
mod thermal_caps;

use std::fs::File;
use std::io::Read;

use fairground_machine::Machine;

use crate::error::WorkloadError;
use crate::json::{self, Node};
use crate::options::{OptionInfo, OptionKind, Options, MICRO};
use crate::program::Workload;
use crate::validate::MAX_DURATION_NS;
use crate::warning::{Position, Warning, WarningKind};
use fields::Fields;
use groups::Groups;
use source::Source;

pub use event::{EVENTS, EXTENSIONS};
pub use log::{LogPlan, LoggedEvent, LoggedStep, LoggedThread};

/// Largest file that is read, MiB. The largest public rt-app file has some 100 KiB; recordings are longer.
pub const MAX_FILE_MIB: u64 = 64;

/// Every key of a file.
const SECTIONS: &[&str] = &["tasks", "global", "resources", "interrupts", "thermal_caps", "offline", "cgroups"];

/// Options that may follow a file's name after a colon.
pub const FILE_OPTIONS: &[OptionInfo] = &[
    OptionInfo {
        name: "last-wins",
        kind: OptionKind::Flag,
        default: "",
        meaning: "of duplicate keys only the last counts, as for rt-app without workgen",
        excludes: None,
    },
    OptionInfo {
        name: "named-suspend",
        kind: OptionKind::Flag,
        default: "",
        meaning: "`suspend` waits for the name in its string, as up to rt-app 1.0",
        excludes: None,
    },
    OptionInfo {
        name: "duration",
        kind: OptionKind::Decimal { unit: "s", min: MICRO / 1000, max: MAX_DURATION_NS / 1000 },
        default: "",
        meaning: "length of the run, instead of the file's",
        excludes: None,
    },
];

/// How a file is read. The default is rt-app's newest source after workgen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// Of duplicate keys only the last counts, at the place of the first (json-c); otherwise all events count, and of
    /// other keys the first (workgen).
    pub last_wins: bool,
    /// Whether `suspend` honours its string.
    pub named_suspend: bool,
    /// Length of the run instead of the file's, ns.
    pub duration_ns: Option<u64>,
}

impl Dialect {
    pub(crate) fn from_options(options: &Options) -> Self {
        Dialect {
            last_wins: options.is_given("last-wins"),
            named_suspend: options.is_given("named-suspend"),
            duration_ns: options.is_given("duration").then(|| options.millionths("duration") * 1000),
        }
    }
}

/// A workload file that was read and checked.
pub struct RtappFile {
    /// The workload that the file describes, validated.
    pub workload: Workload,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
    /// How rt-app would log the run; none for a recording.
    pub log: Option<LogPlan>,
}

/// Reads and checks the file at `path`.
///
/// # Errors
/// What keeps it from being read or run, with its line.
pub fn load(path: &str, dialect: &Dialect, machine: &Machine) -> Result<RtappFile, WorkloadError> {
    let unreadable = |cause| WorkloadError::Read { file: path.into(), cause };
    let limit = MAX_FILE_MIB << 20;
    let mut bytes = Vec::new();
    File::open(path).and_then(|f| f.take(limit + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(WorkloadError::TooLarge { file: path.into(), limit_mib: MAX_FILE_MIB });
    }
    read_text(path, &bytes, dialect, machine)
}

/// The workload and the warnings of [`read_text`].
///
/// # Errors
/// As [`read_text`].
pub fn import(
    file: &str,
    bytes: &[u8],
    dialect: &Dialect,
    machine: &Machine,
) -> Result<(Workload, Vec<Warning>), WorkloadError> {
    read_text(file, bytes, dialect, machine).map(|read| (read.workload, read.warnings))
}

/// Reads and checks the text of a file; `file` is its name in messages and of the workload.
///
/// # Errors
/// What keeps it from being read or run, with its line.
pub fn read_text(file: &str, bytes: &[u8], dialect: &Dialect, machine: &Machine) -> Result<RtappFile, WorkloadError> {
    let mut source = Source::new(file, text_of(file, bytes)?, *dialect);
    let document =
        json::parse(source.text()).map_err(|e| source.error(e.span, e.message, format!("expected {}", e.expected)))?;
    if let Some(tail) = document.trailing {
        source.warn(WarningKind::Ignored, tail, "end of file", "what follows the closing brace is not read");
    }
    if recorded::is_recording(&document.root) {
        let workload = recorded::read(&source, &document.root, machine)?.workload(file);
        let workload = Workload { duration_ns: dialect.duration_ns, ..workload };
        let warnings = workload.validate(machine)?;
        return Ok(RtappFile { workload, warnings: [source.into_warnings(), warnings].concat(), log: None });
    }
    let mut top = Fields::parse(&mut source, &document.root, "the file")?;
    let global = global::read(&mut source, top.get("global"), machine)?;
    global::check_resources(&mut source, top.get("resources"))?;
    let Some(tasks) = top.get("tasks") else {
        return Err(without_tasks(&source, &document.root, &top));
    };
    let mut groups = Groups::read(&mut source, top.get("cgroups"), machine)?;
    let tasks = task::read_all(&mut source, &tasks.value, &global, &mut groups, machine)?;
    let devices = interrupts::read(&mut source, top.get("interrupts"), machine)?;
    let frequency_caps = thermal_caps::read(&mut source, top.get("thermal_caps"), machine)?;
    let section = top.get("offline");
    let offline = offline::read(&mut source, section, machine)?;
    top.warn_rest(&mut source, SECTIONS, "is not a section of an rt-app file and is ignored");
    let (workload, log) = build::workload(&mut source, &tasks, devices, groups.into_list(), &global, machine)?;
    let workload = Workload { frequency_caps, offline, ..workload };
    offline::check(&source, section, &workload)?;
    Ok(RtappFile { workload, warnings: source.into_warnings(), log: Some(log) })
}

/// Points at the key that may be meant for `tasks`, else at the file.
fn without_tasks(source: &Source, root: &Node, top: &Fields) -> WorkloadError {
    let problem = "no `tasks` in the file";
    match top.nearest("tasks", SECTIONS) {
        Some(m) => {
            source.error_with_help(m.key_span, problem, "expected `tasks`", Some("did you mean `tasks`?".into()))
        }
        None => source.error(root.span, problem, "expected a key `tasks` here"),
    }
}

fn text_of<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, WorkloadError> {
    std::str::from_utf8(bytes).map_err(|e| {
        let valid = String::from_utf8_lossy(&bytes[..e.valid_up_to()]);
        let (line, column) = json::line_column(&valid, valid.len());
        let at = Position { file: file.into(), line, column };
        WorkloadError::NotUtf8 { at, byte: bytes[e.valid_up_to()] }
    })
}

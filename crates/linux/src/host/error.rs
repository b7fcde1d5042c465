//! Errors of loading and booting a built kernel.

use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

/// Why a kernel cannot serve.
#[derive(Debug, Error, Diagnostic)]
pub enum LinuxError {
    /// Rust and C do not agree on a struct of the border: this program is built wrongly.
    #[error("{what} is {theirs} in C and {ours} in Rust: ks.h and its twins differ")]
    Layout {
        /// The `sizeof` or `offsetof` expression that differs.
        what: String,
        /// Value in the Rust code, bytes.
        ours: usize,
        /// Value by the C compiler, bytes.
        theirs: u64,
    },
    /// The dynamic linker refuses the library.
    #[error("cannot load {}: {cause}", .path.display())]
    Load {
        /// Path of the shared library.
        path: PathBuf,
        /// What the dynamic linker says.
        cause: String,
    },
    /// The library is no kernel, or one built for another version of this program.
    #[error("{} does not fit this program: {what}", .path.display())]
    #[diagnostic(help("build it again: fairground kernel build TREE --name NAME"))]
    Foreign {
        /// Path of the shared library.
        path: PathBuf,
        /// What was found and what was expected.
        what: String,
    },
    /// There is a kernel in this process already, and its state is global.
    #[error("a second kernel in one process: the kernel's state is global, so each needs a process of its own")]
    Second,
    /// The machine has more CPUs than the kernel was built for.
    #[error("the machine has {cpus} CPUs, this kernel was built for at most {max}")]
    #[diagnostic(help("build it with CONFIG_NR_CPUS={cpus} or more"))]
    TooManyCpus {
        /// Number of CPUs of the machine.
        cpus: usize,
        /// CONFIG_NR_CPUS of the kernel.
        max: u32,
    },
    /// The run ticks at another rate than the kernel.
    #[error("the run has {run} ticks per second, this kernel was built with CONFIG_HZ={built}")]
    #[diagnostic(help("run it with --hz {built}, or build it with CONFIG_HZ_{run}=y"))]
    Hz {
        /// Ticks per second that the run needs.
        run: u32,
        /// CONFIG_HZ of the kernel.
        built: u32,
    },
    /// The kernel cannot boot on this machine.
    #[error("the kernel does not boot on this machine: {}", errno(*.0))]
    Boot(i32),
    /// The system's clamp limits (sched_util_clamp_*) cannot be set in this kernel.
    #[error("a linux: scheduler has no way yet to set {0}")]
    #[diagnostic(help("leave it out, or run a fair: scheduler"))]
    Sysctl(&'static str),
    /// CPUs of the workload go offline, and the kernel's tree cannot do that here.
    #[error("CPUs go offline: the kernel's release is {0}, and `linux:` does that from v5.11 on")]
    #[diagnostic(help("choose a later tree, or leave the section `offline` out"))]
    NoHotplug(String),
    /// A task group cannot be made.
    #[error("the kernel does not make the task group `{path}`: {}", errno(*.code))]
    Group {
        /// Path of the task group.
        path: String,
        /// Error number of the kernel, negative: `-ENOMEM`, ...
        code: i32,
    },
    /// A file of a task group does not take its value.
    #[error("the kernel does not take `{value}` for {file} of the task group `{path}`: {}", errno(*.code))]
    GroupFile {
        /// Path of the task group.
        path: String,
        /// Name of the cgroup file.
        file: String,
        /// The value that was written.
        value: String,
        /// Error number of the kernel, negative: `-ENOMEM`, ...
        code: i32,
    },
}

impl LinuxError {
    /// Message and advice in one text, for a run's report.
    pub fn full(&self) -> String {
        match self.help() {
            Some(help) => format!("{self}; {help}"),
            None => self.to_string(),
        }
    }
}

/// The message of the system for an error number of the kernel (`-ENOMEM`, ...).
pub(crate) fn errno(code: i32) -> String {
    std::io::Error::from_raw_os_error(code.saturating_neg()).to_string()
}

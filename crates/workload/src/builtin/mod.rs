//! The built-in workloads, as data: what each measures, how it misleads, and what can be set.

mod adrestia;
mod background;
mod dbench;
mod fork_burst;
mod geekbench5;
mod hackbench;
mod jankbench;
mod kbuild;
mod oltp;
mod original;
mod parts;
mod periodic;
mod requests;
mod schbench;
mod sched_pipe;
mod server;
mod shell8;
mod uclamp_micro;

use std::fmt::Write;

use crate::error::WorkloadError;
use crate::options::{OptionInfo, Options};
use crate::program::Workload;

pub use original::{Original, ToolFigure, TOOLS};
pub(crate) use parts::{PIPE, SOCKET};

/// A built-in workload: its name, options and builder.
pub struct Builtin {
    /// Name as typed on the command line.
    pub name: &'static str,
    /// Describes the workload in one line, for a list.
    pub title: &'static str,
    /// What the workload does and measures.
    pub measures: &'static str,
    /// What its figure does not say, and what it is sensitive to.
    pub misleads: &'static str,
    /// The options of the workload.
    pub options: &'static [OptionInfo],
    pub(crate) build: fn(&Options) -> Result<Workload, WorkloadError>,
}

/// All built-ins, by name.
pub fn builtins() -> &'static [Builtin] {
    static BUILTINS: &[Builtin] = &[
        adrestia::BUILTIN,
        dbench::BUILTIN,
        fork_burst::BUILTIN,
        geekbench5::BUILTIN,
        hackbench::HACKBENCH,
        hackbench::MESSAGING,
        jankbench::BUILTIN,
        kbuild::BUILTIN,
        oltp::BUILTIN,
        periodic::BUILTIN,
        schbench::BUILTIN,
        sched_pipe::BUILTIN,
        server::BUILTIN,
        shell8::BUILTIN,
        uclamp_micro::BUILTIN,
    ];
    BUILTINS
}

impl Builtin {
    /// The built-in of that name.
    pub fn by_name(name: &str) -> Option<&'static Builtin> {
        builtins().iter().find(|b| b.name == name)
    }

    /// Everything above in plain text, for `workload show`.
    pub fn describe(&self) -> String {
        let mut text = format!("{}: {}\n\n{}\n\n{}\n\nOptions:\n", self.name, self.title, self.measures, self.misleads);
        for option in self.options {
            let default = if option.default.is_empty() { "-" } else { option.default };
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "  {:<15} {} ({}; default {default})",
                option.name,
                option.meaning,
                option.kind.expected()
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    #[test]
    fn every_table_is_sound_and_every_default_runs() {
        let machine = small_machine(4);
        for b in builtins() {
            for other in b.options.iter().filter_map(|o| o.excludes) {
                assert!(b.options.iter().any(|o| o.name == other), "{}: {other}", b.name);
            }
            let (workload, warnings) = Workload::find(b.name, &machine).unwrap();
            assert_eq!(workload.name, b.name);
            assert_eq!(warnings, [], "{}", b.name);
            assert!(b.describe().contains(b.title) && !b.misleads.is_empty());
        }
    }

    #[test]
    fn what_cannot_be_understood_names_itself_and_its_neighbour() {
        let machine = small_machine(4);
        let cases = [
            ("shed-pipe", "no workload `shed-pipe`", "did you mean `sched-pipe`?"),
            ("sched-pipe:loop=5", "no option `loop`", "did you mean `loops`?"),
            ("sched-pipe:loops=0", "0 is out of range", "1 to"),
            ("sched-pipe:loops=x", "`x` is not a whole number", "whole number"),
            ("sched-pipe:loops", "needs a value", "whole number"),
            ("sched-pipe:loops=5,loops=6", "given twice", "whole number"),
            ("sched-pipe:threads=1", "takes no value", "no value"),
            ("sched-pipe:threads,processes", "together with `threads`", "default"),
            ("jankbench:test=list", "`list` is not one of its values", "one of all, list_view,"),
            ("sched-pipe:start-cpu=4", "`4` is not a CPU of equal-4, which has 0 to 3", "CPU"),
            ("periodic:duty=101", "`101` is out of range", "0.001 to 100"),
            ("periodic:duty=10,run=5", "together with `duty`", "us"),
            ("periodic:periods=5++8", "`` is not a decimal number", "joined by `+`"),
        ];
        for (spec, message, help) in cases {
            let error = Workload::find(spec, &machine).unwrap_err();
            assert!(error.to_string().contains(message), "{spec}: {error}");
            let given = miette::Diagnostic::help(&error).unwrap().to_string();
            assert!(given.contains(help), "{spec}: {given}");
        }
        assert!(matches!(Workload::find("no/such.json", &machine), Err(WorkloadError::Read { .. })));
    }
}

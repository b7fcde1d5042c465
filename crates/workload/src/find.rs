//! Finds and checks the workload that a user names.

use std::path::Path;

use fairground_machine::{suggest_from, Deviations, Machine};

use crate::builtin::{builtins, Builtin};
use crate::error::WorkloadError;
use crate::options::Options;
use crate::program::Workload;
use crate::rtapp::{self, Dialect, LogPlan, RtappFile};
use crate::warning::Warning;

/// What files are called where their options are refused.
const FILE: &str = "rt-app file";

impl Workload {
    /// The workload that `spec` asks for, checked against `machine`.
    ///
    /// `spec` is a built-in with options, `NAME[:OPTION[=VALUE],...]`, or the path of a file in rt-app's grammar,
    /// optionally followed by `:` and the options of [`rtapp::FILE_OPTIONS`]. A built-in's name wins over a file of
    /// the same name; write `./NAME` for the file.
    ///
    /// # Errors
    /// Everything that keeps it from running, with the nearest valid name where a name is wrong.
    pub fn find(spec: &str, machine: &Machine) -> Result<(Workload, Vec<Warning>), WorkloadError> {
        match read_file(spec, machine)? {
            Some(read) => Ok((read.workload, read.warnings)),
            None => Workload::builtin(spec, machine),
        }
    }

    /// The path of the file that [`Workload::find`] would read; none if that would be a built-in.
    pub fn file(spec: &str) -> Option<&Path> {
        as_file(spec).map(|(path, _)| Path::new(path))
    }
}

impl Workload {
    /// As [`Workload::find`], of built-ins alone: no file is looked for.
    ///
    /// # Errors
    /// As [`Workload::find`].
    pub fn builtin(spec: &str, machine: &Machine) -> Result<(Workload, Vec<Warning>), WorkloadError> {
        let (name, options) = spec.split_once(':').unwrap_or((spec, ""));
        match Builtin::by_name(name) {
            Some(builtin) => from_builtin(builtin, options, machine, None),
            None => Err(WorkloadError::Unknown {
                name: name.into(),
                help: suggest_from(name, "the built-ins are:", builtins().iter().map(|b| b.name)),
            }),
        }
    }

    /// The workload of a file called `name` with this content, and with the options of [`rtapp::FILE_OPTIONS`] that
    /// would stand behind its name; checked against `machine`.
    ///
    /// # Errors
    /// As [`Workload::find`].
    pub fn from_file_content(
        name: &str,
        options: &str,
        content: &[u8],
        machine: &Machine,
    ) -> Result<(Workload, Vec<Warning>), WorkloadError> {
        let options = Options::parse(FILE, rtapp::FILE_OPTIONS, options, machine, None)?;
        let read = rtapp::read_text(name, content, &Dialect::from_options(&options), machine)?;
        Ok((read.workload, read.warnings))
    }
}

impl LogPlan {
    /// How the workload that `spec` asks for is logged; none for a built-in or a recording.
    ///
    /// # Errors
    /// As [`Workload::find`].
    pub fn find(spec: &str, machine: &Machine) -> Result<Option<LogPlan>, WorkloadError> {
        Ok(read_file(spec, machine)?.and_then(|read| read.log))
    }
}

/// The file that `spec` names; none if it does not look like a path.
fn read_file(spec: &str, machine: &Machine) -> Result<Option<RtappFile>, WorkloadError> {
    let Some((path, options)) = as_file(spec) else { return Ok(None) };
    let options = Options::parse(FILE, rtapp::FILE_OPTIONS, options, machine, None)?;
    rtapp::load(path, &Dialect::from_options(&options), machine).map(Some)
}

/// The path of a file and the options behind it; none if `spec` does not look like a path.
fn as_file(spec: &str) -> Option<(&str, &str)> {
    let name = spec.split_once(':').map_or(spec, |(name, _)| name);
    if Builtin::by_name(name).is_some() {
        return None;
    }
    if Path::new(spec).is_file() {
        return Some((spec, ""));
    }
    let with_options = spec.rsplit_once(':').filter(|(path, _)| Path::new(path).is_file());
    with_options.or_else(|| looks_like_a_path(spec).then_some((spec, "")))
}

/// A built-in with these options, those that are not given off by so much where they are estimates.
pub(crate) fn from_builtin(
    builtin: &Builtin,
    options: &str,
    machine: &Machine,
    deviations: Deviations,
) -> Result<(Workload, Vec<Warning>), WorkloadError> {
    let options = Options::parse(builtin.name, builtin.options, options, machine, deviations)?;
    let workload = (builtin.build)(&options)?;
    let warnings = workload.validate(machine)?;
    Ok((workload, warnings))
}

/// Whether the user means a path: if there is no such file, the error names the file and not the built-ins.
fn looks_like_a_path(spec: &str) -> bool {
    spec.contains('/') || spec.ends_with(".json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    const LOAD: &[u8] = br#"{ "tasks": { "t": { "loop": 2, "run": 2000 } } }"#;

    #[test]
    fn content_is_read_as_the_file_of_its_name_with_options_behind_it() {
        let machine = small_machine(2);
        let duration =
            |options| Workload::from_file_content("load.json", options, LOAD, &machine).unwrap().0.duration_ns;
        assert_eq!((duration(""), duration("duration=0.5")), (None, Some(500_000_000)));
        let error = Workload::from_file_content("load.json", "duratoin=1", LOAD, &machine).unwrap_err();
        assert!(matches!(error, WorkloadError::UnknownOption { .. }));
        let error = Workload::from_file_content("load.json", "", b"{ tasks", &machine).unwrap_err();
        assert!(error.to_string().contains("load.json"), "{error}");
    }

    #[test]
    fn a_built_in_is_never_looked_for_among_files() {
        let machine = small_machine(2);
        assert_eq!(Workload::builtin("sched-pipe:loops=1", &machine).unwrap().0.name, "sched-pipe:loops=1");
        let error = Workload::builtin("Cargo.toml", &machine).unwrap_err();
        assert!(matches!(error, WorkloadError::Unknown { .. }), "there is such a file");
    }
}

//! The section `cgroups`, ours: what is written to the files of task groups, which rt-app leaves to a script.
//!
//! ```json
//! "cgroups": { "/a": { "cpu.weight": 300, "cpu.max": "50000 100000", "cpuset.cpus": "0-3" } }
//! ```
//!
//! A group that a task names as its `taskgroup` needs no entry here: like rt-app, we make it, with its parents.

use fairground_machine::{suggest_from, CpuMask, Machine};

use super::fields::Fields;
use super::source::Source;
use crate::clamp::ClampPercent;
use crate::cpuset::CPUSET_FILE;
use crate::error::WorkloadError;
use crate::json::{Member, Span, Value};
use crate::program::{GroupId, TaskGroup};

/// Files that can be written.
const FILES: &[&str] = &[
    "cpu.weight",
    "cpu.weight.nice",
    "cpu.max",
    "cpu.max.burst",
    "cpu.idle",
    "cpu.uclamp.min",
    "cpu.uclamp.max",
    CPUSET_FILE,
];
/// More groups than this in one file are taken for a mistake: each costs a run queue on every CPU.
const MAX_GROUPS: usize = 1000;
/// Longest path of a group, bytes: the kernel's PATH_MAX.
const PATH_MAX: usize = 4096;

/// The task groups of a file, parents before their children.
#[derive(Default)]
pub(super) struct Groups {
    list: Vec<TaskGroup>,
}

impl Groups {
    /// Reads the section. Without a section there is no group yet.
    pub fn read(source: &mut Source, section: Option<&Member>, machine: &Machine) -> Result<Groups, WorkloadError> {
        let mut groups = Groups::default();
        let Some(section) = section else { return Ok(groups) };
        let mut paths = Fields::parse(source, &section.value, "`cgroups`")?;
        for (path, member) in paths.take(|_| true) {
            let Some(group) = groups.id_of(source, &path, member.key_span)? else {
                return Err(source.error(member.key_span, "the root group", "expected a group below `/`"));
            };
            let mut files = Fields::parse(source, &member.value, &format!("group `{path}`"))?;
            for (name, value) in files.take(|_| true) {
                let made = &mut groups.list[group as usize];
                match name.as_str() {
                    CPUSET_FILE => made.cpus = Some(cpus(source, value, machine)?),
                    _ => made.files.push(file(source, &name, value)?),
                }
            }
        }
        Ok(groups)
    }

    /// The group of that path, made if it is new; `None` for the root group.
    pub fn id_of(&mut self, source: &Source, path: &str, at: Span) -> Result<Option<GroupId>, WorkloadError> {
        if !path.is_empty() && !path.starts_with('/') {
            return Err(source.error(at, format!("`{path}` is not a task group path"), "expected a path from `/`"));
        }
        let mut parent = None;
        let mut whole = String::new();
        for name in path.trim_end_matches('/').split('/').skip(1) {
            if matches!(name, "" | "." | "..") {
                return Err(source.error(
                    at,
                    format!("`{path}` is not a task group path"),
                    "expected names between the `/`",
                ));
            }
            if self.list.len() > MAX_GROUPS || whole.len() > PATH_MAX {
                break;
            }
            whole = format!("{whole}/{name}");
            let known = self.list.iter().position(|g| g.path == whole);
            parent = Some(known.unwrap_or_else(|| self.add(&whole, parent)) as GroupId);
        }
        let (text, expected) = match () {
            () if whole.len() > PATH_MAX => {
                ("a group's path is too long".into(), format!("expected {PATH_MAX} bytes at most"))
            }
            () if self.list.len() > MAX_GROUPS => {
                (format!("`{path}` is one group more"), format!("expected {MAX_GROUPS} at most"))
            }
            () => return Ok(parent),
        };
        Err(source.error(at, text, expected))
    }

    fn add(&mut self, path: &str, parent: Option<GroupId>) -> usize {
        self.list.push(TaskGroup { path: path.into(), parent, files: Vec::new(), cpus: None });
        self.list.len() - 1
    }

    pub fn into_list(self) -> Vec<TaskGroup> {
        self.list
    }
}

/// What is written to a file that holds a clamp.
pub(super) fn clamp(source: &Source, member: &Member) -> Result<ClampPercent, WorkloadError> {
    let value = text(source, member)?;
    let bad = || source.error(member.value.span, format!("`{}` is {value}", member.key), "expected 0 to 100, or max");
    ClampPercent::parse(&value).ok_or_else(bad)
}

/// What is written to a cpuset: CPUs of the machine, one at least.
pub(super) fn cpus(source: &Source, member: &Member, machine: &Machine) -> Result<CpuMask, WorkloadError> {
    let value = text(source, member)?;
    let last = machine.nr_cpus().saturating_sub(1);
    let known = |cpus: &CpuMask| !cpus.is_empty() && cpus.minus(&machine.all_cpus()).is_empty();
    CpuMask::parse_list(&value).ok().filter(known).ok_or_else(|| {
        let text = format!("`{}` is `{value}`", member.key);
        source.error(member.value.span, text, format!("expected CPUs of 0 to {last}, as in \"0-3,5\""))
    })
}

/// As one writes it to a file.
fn text(source: &Source, member: &Member) -> Result<String, WorkloadError> {
    match &member.value.value {
        Value::String(_) => source.string(member).map(str::to_owned),
        Value::Int(number) => Ok(number.to_string()),
        _ => Err(source.mismatch(member, "expected a number or a string, as one writes it to the file")),
    }
}

fn file(source: &Source, name: &str, member: &Member) -> Result<(String, String), WorkloadError> {
    if !FILES.contains(&name) {
        let help = suggest_from(name, "the files are:", FILES.iter().copied());
        let text = format!("no file `{name}` in a task group");
        return Err(source.error_with_help(
            member.key_span,
            text,
            "expected a file of the cpu or cpuset controller",
            Some(help),
        ));
    }
    let value = text(source, member)?;
    match refusal(name, &value) {
        None => Ok((name.into(), value)),
        Some(expected) => {
            Err(source.error(member.value.span, format!("`{name}` is {value}"), format!("expected {expected}")))
        }
    }
}

/// Shortest and longest period of a bandwidth limit, and the shortest quota, us.
const PERIODS_US: [u64; 2] = [1_000, 1_000_000];
/// Longest quota, us: more does not fit into the kernel's ratio of quota to period.
const MAX_QUOTA_US: u64 = (1 << 44) - 1;

/// What every kernel expects of the file, where it refuses `value`: the ranges are those of cpu_weight_write_u64(),
/// cpu_weight_nice_write_s64(), cpu_max_write(), cpu_burst_write_u64(), cpu_idle_write_s64() and cpu_uclamp_write().
fn refusal(file: &str, value: &str) -> Option<String> {
    let number = |least: i64, most: i64| value.trim().parse().is_ok_and(|n: i64| (least..=most).contains(&n));
    let (is_good, expected) = match file {
        "cpu.weight" => (number(1, 10_000), "1 to 10000".into()),
        "cpu.weight.nice" => (number(-20, 19), "-20 to 19".into()),
        "cpu.idle" => (number(0, 1), "0 or 1".into()),
        "cpu.max" => {
            let [least, most] = PERIODS_US;
            let expected =
                format!("QUOTA PERIOD in us: a quota of {least} or more, or max; a period of {least} to {most}");
            (is_bandwidth(value), expected)
        }
        "cpu.max.burst" => (number(0, MAX_QUOTA_US as i64), format!("us, 0 to {MAX_QUOTA_US}")),
        _ => (ClampPercent::parse(value).is_some(), "0 to 100, or max".into()),
    };
    (!is_good).then_some(expected)
}

/// Reads `max`, `50000` and `50000 100000`.
fn is_bandwidth(value: &str) -> bool {
    let [least, most] = PERIODS_US;
    let within = |word: &str, most: u64| word.parse().is_ok_and(|us: u64| (least..=most).contains(&us));
    let mut words = value.split_whitespace();
    let quota = words.next().is_some_and(|word| word == "max" || within(word, MAX_QUOTA_US));
    quota && words.next().is_none_or(|word| within(word, most)) && words.next().is_none()
}

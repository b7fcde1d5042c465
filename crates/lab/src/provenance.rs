//! Provenance: what a result was made by, and from what.
//!
//! Hashes are by content, 32 hex digits: of a machine as [`Machine::to_toml`] writes it (comments do not count), of a
//! workload's threads (its name does not count), of the program as part of each key ([`CODE`]), of a built kernel's library. The
//! commit is shown and is part of no key: the same sources give the same results.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write;

use fairground_machine::{Machine, MachineSpec, Source};
use fairground_run::experiment::Experiment;
use fairground_run::key::{self, CODE};
use fairground_run::run_config::{idle_limit_us, SETTINGS};
use serde::Serialize;
use serde_json::{json, Map, Value};

use crate::published::{current_id, Mail};

/// Hex digits of a hash in text.
const SHORT: usize = 12;

/// Hex digits of a hash where a line has to be short.
const BRIEF: usize = 8;

/// The program and the command that made a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MadeBy {
    /// Version of the program.
    pub version: &'static str,
    /// Commit of the checkout that the program was built from, 12 hex digits, `-dirty` behind it if its sources had
    /// changed since; `unknown` for a build that was not made in a checkout.
    pub commit: &'static str,
    /// Hash of the code that runs depend on ([`CODE`]).
    pub program_hash: &'static str,
    /// The command, to be pasted into a shell, without options on which no figure depends; `None` if there was none.
    pub command: Option<String>,
}

impl MadeBy {
    /// This code, as a program of this version, commit and command.
    pub fn new(version: &'static str, commit: &'static str, command: Option<String>) -> MadeBy {
        MadeBy { version, commit, program_hash: CODE, command }
    }

    /// The columns of [`Provenance::COLUMNS`] of runs of which the others are these.
    pub(crate) fn columns(&self, run_columns: RunColumns) -> [String; Provenance::COLUMNS.len()] {
        let [machine, workload, kernel, settings, figures, estimates] = run_columns;
        let [version, commit, program] = [self.version, self.commit, self.program_hash].map(String::from);
        let command = self.command.clone().unwrap_or_default();
        [version, commit, program, machine, workload, kernel, settings, figures, estimates, command]
    }

    /// The keys of JSON (docs/json.md).
    pub(crate) fn object(&self) -> Map<String, Value> {
        let MadeBy { version, commit, program_hash, command } = self;
        let keys = [
            ("version", json!(version)),
            ("commit", json!(commit)),
            ("program_hash", json!(program_hash)),
            ("command", json!(command)),
        ];
        keys.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Appends a line for the program and, if there was one, a line for the command.
    pub fn text(&self, out: &mut String) {
        let _ = writeln!(out, "made by: {}", self.head());
        self.add_command(out, "");
    }

    /// The program on one line.
    fn head(&self) -> String {
        format!("fairground {} ({}), program {}", self.version, self.commit, short(self.program_hash))
    }

    /// Appends a line for the command, if there was one.
    fn add_command(&self, out: &mut String, prefix: &str) {
        if let Some(command) = &self.command {
            let _ = writeln!(out, "{prefix}command: {command}");
        }
    }
}

/// The columns of [`Provenance::RUN_COLUMNS`].
pub type RunColumns = [String; Provenance::RUN_COLUMNS.len()];

/// What the result of a comparison, or of a run, which is a comparison's base alone, was made by and from.
#[derive(Clone, Debug, PartialEq)]
pub struct Provenance {
    by: MadeBy,
    sides: Vec<SideProvenance>,
}

/// What one side of a comparison was made from.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct SideProvenance {
    machine_hash: String,
    workload_hash: String,
    /// Of a built kernel's library; none for our own scheduler, or if it cannot be read.
    kernel_hash: Option<String>,
    governor: String,
    idle_governor: String,
    /// Idle states with a longer exit latency are off; none: all are on.
    idle_limit_us: Option<f64>,
    /// Ticks per second.
    hz: u32,
    /// Those that differ from their defaults.
    sysctls: Map<String, Value>,
    /// Ambient temperature, degrees Celsius; none: that of the machine file.
    ambient: Option<f64>,
    /// Which draw of the figures in doubt the runs are on; 0: as they are stated.
    draw: u64,
    figures: Figures,
    /// Number of estimates in the workload, which draws vary too.
    workload_estimates: usize,
}

/// Number of a machine's figures by source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// With a published or measured source.
    pub sourced: usize,
    /// With an estimate and its reason.
    pub estimated: usize,
    /// Fitted to published baseline cells.
    pub fitted: usize,
    /// Those cells, `ROW/base`.
    pub fitted_to: Vec<String>,
}

impl Figures {
    /// Counts the figures of a machine.
    pub fn count(machine: &Machine) -> Figures {
        let mut figures = Figures { sourced: 0, estimated: 0, fitted: 0, fitted_to: Vec::new() };
        for figure in &machine.figures {
            match &figure.source {
                Source::Published(..) => figures.sourced += 1,
                Source::Estimate(_) => figures.estimated += 1,
                Source::Fitted(cell) => {
                    figures.fitted += 1;
                    let cell = current_id(cell.split_whitespace().next().unwrap_or_default()).into_owned();
                    if !figures.fitted_to.contains(&cell) {
                        figures.fitted_to.push(cell);
                    }
                }
            }
        }
        figures
    }

    /// In words: `12 figures sourced, 40 estimated, 0 fitted`.
    pub fn words(&self) -> String {
        let Figures { sourced, estimated, fitted, fitted_to } = self;
        let to = if fitted_to.is_empty() { String::new() } else { format!(" to {}", fitted_to.join(", ")) };
        format!("{sourced} figures sourced, {estimated} estimated, {fitted} fitted{to}")
    }
}

impl SideProvenance {
    fn new(experiment: &Experiment, sched: usize) -> SideProvenance {
        let Experiment { machine, workload, config, .. } = experiment;
        let setting = |name: &str| {
            let setting = SETTINGS.iter().find(|setting| setting.name == name);
            setting.map_or(String::new(), |setting| setting.text(config, machine))
        };
        let kernel = experiment.scheds.get(sched).filter(|sched| sched.features().is_none());
        let sysctls = config.clamps.changed().map(|(name, value)| (name.to_owned(), json!(value)));
        SideProvenance {
            machine_hash: key::machine_hash(machine),
            workload_hash: key::workload_hash(workload),
            kernel_hash: kernel.and_then(|sched| sched.library_digest().ok()).map(|digest| format!("{digest:032x}")),
            governor: setting("governor"),
            idle_governor: setting("idle_governor"),
            idle_limit_us: idle_limit_us(config),
            hz: config.hz,
            sysctls: sysctls.collect(),
            ambient: config.ambient_mc.map(|mc| f64::from(mc) / 1000.0),
            draw: config.draw,
            figures: Figures::count(machine),
            workload_estimates: workload.estimates().len(),
        }
    }

    /// Its figures in words.
    fn figures(&self) -> String {
        match self.workload_estimates {
            0 => self.figures.words(),
            n => format!("{}; {n} estimated in the workload", self.figures.words()),
        }
    }

    /// The keys of JSON, in its order.
    fn object(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(object)) => object,
            _ => Map::new(),
        }
    }
}

impl Provenance {
    /// The provenance of runs of these experiments, each with the index of its scheduler, the base first.
    pub fn new<'a>(by: MadeBy, sides: impl IntoIterator<Item = (&'a Experiment, usize)>) -> Provenance {
        let sides = sides.into_iter().map(|(experiment, sched)| SideProvenance::new(experiment, sched));
        Provenance { by, sides: sides.collect() }
    }

    /// The documented object (docs/json.md) of the base and the test of this number, from 1; of the base alone with 0.
    pub fn json(&self, test: usize) -> Value {
        let sides = [self.sides.first(), self.sides.get(test)].map(|side| side.map(SideProvenance::object));
        let [base, test] = sides.map(Option::unwrap_or_default);
        let mut object = self.by.object();
        let mut own = [Map::new(), Map::new()];
        for (name, value) in &base {
            let other = test.get(name).unwrap_or(&Value::Null);
            let shared = other == value;
            object.insert(name.clone(), if shared { value.clone() } else { Value::Null });
            if !shared {
                own[0].insert(name.clone(), value.clone());
                own[1].insert(name.clone(), other.clone());
            }
        }
        if !own[0].is_empty() {
            let [base, test] = own;
            object.insert("base".into(), base.into());
            object.insert("test".into(), test.into());
        }
        object.into()
    }

    /// Names of the columns that runs of one program and command may differ in.
    pub const RUN_COLUMNS: [&str; 6] =
        ["machine_hash", "workload_hash", "kernel_hash", "settings", "figures", "workload_estimates"];

    /// Names of the columns of comma-separated values: of the program, of the runs, and of the command.
    pub const COLUMNS: [&str; 10] = {
        let [version, commit, program] = ["version", "commit", "program_hash"];
        let [machine, workload, kernel, settings, figures, estimates] = Self::RUN_COLUMNS;
        [version, commit, program, machine, workload, kernel, settings, figures, estimates, "command"]
    };

    /// The columns of [`Self::RUN_COLUMNS`]. Where sides differ, all have a value, with ` / ` between; without a kernel there is
    /// none.
    pub fn run_columns(&self) -> RunColumns {
        let has_kernel = self.sides.iter().any(|side| side.kernel_hash.is_some());
        let kernel = |side: &SideProvenance| side.kernel_hash.clone().unwrap_or_else(|| "-".into());
        [
            self.each(|side| side.machine_hash.clone()),
            self.each(|side| side.workload_hash.clone()),
            if has_kernel { self.each(kernel) } else { String::new() },
            self.settings(),
            self.each(|side| side.figures.words()),
            self.each(|side| side.workload_estimates.to_string()),
        ]
    }

    /// The columns of [`Self::COLUMNS`].
    pub fn columns(&self) -> [String; Self::COLUMNS.len()] {
        self.by.columns(self.run_columns())
    }

    /// The value of all sides; if they differ that of each, with ` / ` between.
    fn each(&self, value: impl Fn(&SideProvenance) -> String) -> String {
        let values: Vec<String> = self.sides.iter().map(value).collect();
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => first.clone(),
            _ => values.join(" / "),
        }
    }

    /// Settings as `NAME=VALUE` with spaces between; where sides differ `NAME=VALUE/VALUE`.
    fn settings(&self) -> String {
        let each = |name: &str, value: &dyn Fn(&SideProvenance) -> String| {
            format!("{name}={}", self.each(value).replace(" / ", "/"))
        };
        let mut words = vec![
            each("governor", &|side| side.governor.clone()),
            each("idle_governor", &|side| side.idle_governor.clone()),
        ];
        if self.sides.iter().any(|side| side.idle_limit_us.is_some()) {
            words.push(each("idle_limit", &|side| side.idle_limit_us.map_or("none".into(), |us| us.to_string())));
        }
        words.push(each("hz", &|side| side.hz.to_string()));
        let sysctls: BTreeSet<&String> = self.sides.iter().flat_map(|side| side.sysctls.keys()).collect();
        let value = |side: &SideProvenance, name| side.sysctls.get(name).map_or("default".into(), Value::to_string);
        words.extend(sysctls.into_iter().map(|name| each(name, &|side| value(side, name))));
        if self.sides.iter().any(|side| side.ambient.is_some()) {
            words.push(each("ambient", &|side| side.ambient.map_or("default".into(), |celsius| celsius.to_string())));
        }
        if self.sides.iter().any(|side| side.draw > 0) {
            words.push(each("draw", &|side| side.draw.to_string()));
        }
        words.join(" ")
    }

    /// One line of less than 80 columns with the hashes by which a result is found again; where sides differ, those of
    /// each.
    pub fn line(&self) -> String {
        let brief = |hash: &str| hash.chars().take(BRIEF).collect::<String>();
        let machine = self.each(|side| brief(&side.machine_hash)).replace(" / ", "/");
        let workload = self.each(|side| brief(&side.workload_hash)).replace(" / ", "/");
        let kernel = self.each(|side| side.kernel_hash.as_deref().map_or("-".into(), brief)).replace(" / ", "/");
        let kernel = if kernel == "-" { String::new() } else { format!(" kernel {kernel}") };
        let MadeBy { version, commit, .. } = self.by;
        format!("fairground {version} ({commit}) machine {machine} workload {workload}{kernel}")
    }

    /// The command, if there was one.
    pub fn command(&self) -> Option<&str> {
        self.by.command.as_deref()
    }

    /// Appends two lines, each after `prefix`.
    pub fn text(&self, out: &mut String, prefix: &str) {
        let machine = self.each(|side| short(&side.machine_hash));
        let workload = self.each(|side| short(&side.workload_hash));
        let kernel = self.each(|side| side.kernel_hash.as_deref().map_or("-".into(), short));
        let kernel = if kernel == "-" { String::new() } else { format!(", kernel {kernel}") };
        let settings = self.settings();
        let figures = self.each(SideProvenance::figures);
        let head = self.by.head();
        let _ = writeln!(
            out,
            "{prefix}made by: {head}; machine {machine}, workload {workload}{kernel}; {settings}; {figures}"
        );
        self.by.add_command(out, prefix);
    }
}

fn short(hash: &str) -> String {
    hash.chars().take(SHORT).collect()
}

/// What repeated rows were made by and from.
#[derive(Clone, Debug, PartialEq)]
pub struct RowsProvenance {
    by: MadeBy,
    /// Name, hash and figures of the machines of the rows that are run.
    machines: Vec<(String, String, Figures)>,
    /// Draws of the figures in doubt on which rows were run too.
    draws: u64,
}

impl RowsProvenance {
    /// The provenance of rows of these mails, run on this number of draws too. A machine that does not load is left out: its
    /// rows are not run either.
    pub fn new(by: MadeBy, mails: &[Mail], draws: u64) -> RowsProvenance {
        let runs = mails.iter().flat_map(|mail| &mail.rows).filter_map(|row| row.run.as_ref());
        let names: BTreeSet<&str> = runs.map(|run| MachineSpec::parse(&run.machine).name).collect();
        let found = names.into_iter().filter_map(|name| {
            let machine = Machine::find(name).ok()?;
            Some((name.to_owned(), key::machine_hash(&machine), Figures::count(&machine)))
        });
        RowsProvenance { by, machines: found.collect(), draws }
    }

    /// Names of the columns of comma-separated values.
    pub const COLUMNS: [&str; 5] = ["version", "commit", "program_hash", "command", "draws"];

    /// The columns of [`Self::COLUMNS`].
    pub fn columns(&self) -> [String; 5] {
        let MadeBy { version, commit, program_hash, command } = &self.by;
        [
            version.to_string(),
            commit.to_string(),
            program_hash.to_string(),
            command.clone().unwrap_or_default(),
            self.draws.to_string(),
        ]
    }

    /// Appends a line for the program, one for the machines, one for the draws if there are any, and one for the command,
    /// each after `prefix`.
    pub fn text(&self, out: &mut String, prefix: &str) {
        let machine = |(name, hash, figures): &(String, String, Figures)| {
            let Figures { sourced, estimated, fitted, .. } = figures;
            format!("{name} {} ({sourced} / {estimated} / {fitted})", short(hash))
        };
        let machines: Vec<String> = self.machines.iter().map(machine).collect();
        let _ = writeln!(out, "{prefix}made by: {}", self.by.head());
        let _ = writeln!(out, "{prefix}machines (figures sourced / estimated / fitted): {}", machines.join(", "));
        if self.draws > 0 {
            let _ = writeln!(out, "{prefix}draws of the figures in doubt: {}", self.draws);
        }
        self.by.add_command(out, prefix);
    }
}

impl Serialize for RowsProvenance {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut object = self.by.object();
        let machine = |(name, hash, figures): &(String, String, Figures)| json!({ "name": name, "machine_hash": hash, "figures": figures });
        object.insert("machines".into(), self.machines.iter().map(machine).collect());
        object.insert("draws".into(), self.draws.into());
        object.serialize(to)
    }
}

/// A command as a shell (bash, zsh, ksh, busybox) reads it: words are quoted where that is needed, and what a terminal would
/// act on is an escape in `$'...'`.
pub fn command_line(words: &[OsString]) -> String {
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsString) -> String {
    let text = word.to_str();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    match text {
        Some(text) if !text.is_empty() && text.chars().all(plain) => text.into(),
        Some(text) if !text.contains(acts) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => escaped(word),
    }
}

/// Whether a terminal acts on a character instead of showing it.
fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(word: &OsString) -> String {
    let mut out = String::from("$'");
    for chunk in word.as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            let _ = match c {
                '\\' | '\'' => write!(out, "\\{c}"),
                _ if !acts(c) => write!(out, "{c}"),
                _ if c.is_ascii() => write!(out, "\\x{:02x}", u32::from(c)),
                _ => write!(out, "\\u{:04x}", u32::from(c)),
            };
        }
        chunk.invalid().iter().for_each(|byte| _ = write!(out, "\\x{byte:02x}"));
    }
    out + "'"
}

#[cfg(test)]
impl Provenance {
    /// A provenance for golden tests, which must not depend on the checkout.
    pub(crate) fn example() -> Provenance {
        let by = MadeBy {
            version: "1.2.3",
            commit: "0123456789ab-dirty",
            program_hash: "aabbccddeeff00112233445566778899",
            command: Some("fairground compare hikey960 sched-pipe --base fair:v5.9 --test 'fair: hz=250'".into()),
        };
        let figures =
            Figures { sourced: 23, estimated: 63, fitted: 1, fitted_to: vec!["mail/machine/row/base".into()] };
        let base = SideProvenance {
            machine_hash: "00112233445566778899aabbccddeeff".into(),
            workload_hash: "ffeeddccbbaa99887766554433221100".into(),
            kernel_hash: None,
            governor: "performance".into(),
            idle_governor: "menu".into(),
            idle_limit_us: None,
            hz: 250,
            sysctls: [("sched_util_clamp_min".to_owned(), json!(256))].into_iter().collect(),
            ambient: None,
            draw: 0,
            figures,
            workload_estimates: 2,
        };
        let test = SideProvenance { hz: 1000, ..base.clone() };
        Provenance { by, sides: vec![base, test] }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};

    use fairground_run::run_config::RunConfig;

    use super::*;

    fn experiment(machine: &str, workload: &str, config: RunConfig) -> Experiment {
        config.find(machine, workload, &["fair:v6.12".into()]).unwrap().0
    }

    fn by() -> MadeBy {
        MadeBy::new("1", "unknown", None)
    }

    #[test]
    fn what_sides_share_is_said_once_and_what_differs_by_side() {
        let config = RunConfig { hz: Some(1000), ..RunConfig::default() };
        let [base, same, other] = [
            experiment("hikey960", "sched-pipe:loops=10", RunConfig::default()),
            experiment("hikey960", "sched-pipe:loops=10", RunConfig::default()),
            experiment("hikey", "sched-pipe:loops=10", config),
        ];
        let provenance = Provenance::new(by(), [(&base, 0), (&same, 0), (&other, 0)]);
        let [same, other] = [provenance.json(1), provenance.json(2)];
        assert_eq!((&same["hz"], &same["governor"], same.get("base")), (&json!(250), &json!("performance"), None));
        assert_eq!(same["figures"]["fitted_to"][0], "asym-prev-first/hikey960/sched-pipe/ops_per_sec/base");
        assert_eq!(
            (&other["hz"], &other["base"]["hz"], &other["test"]["hz"]),
            (&Value::Null, &json!(250), &json!(1000))
        );
        assert_eq!(other["base"]["machine_hash"], same["machine_hash"]);
        assert_ne!(other["test"]["machine_hash"], same["machine_hash"]);
        assert!(other["test"]["governor"].is_null() && other["governor"] == "performance");
        let settings = provenance.settings();
        assert!(settings.ends_with(" hz=250/250/1000"), "{settings}");
    }

    #[test]
    fn hashes_are_of_contents() {
        let hashes = |machine: &str, workload: &str| {
            let side = SideProvenance::new(&experiment(machine, workload, RunConfig::default()), 0);
            (side.machine_hash, side.workload_hash)
        };
        let plain = hashes("hikey", "sched-pipe:loops=10,threads");
        assert_eq!(plain, hashes("hikey", "sched-pipe:threads,loops=10"), "another spelling");
        let [machine, workload] =
            [hashes("hikey960", "sched-pipe:loops=10,threads"), hashes("hikey", "sched-pipe:loops=11,threads")];
        assert!(machine.0 != plain.0 && machine.1 == plain.1 && workload.0 == plain.0 && workload.1 != plain.1);
        assert_eq!(plain.0.len(), 32);
    }

    #[test]
    fn estimates_of_the_workload_are_counted_beside_the_machines() {
        let figures = |workload: &str| {
            let experiment = experiment("hikey960", workload, RunConfig::default());
            let [.., figures, estimates] = Provenance::new(by(), [(&experiment, 0)]).run_columns();
            (figures, estimates.parse::<usize>().unwrap())
        };
        let [estimated, stated] = ["dbench", "dbench:think=100,hold=10,lines=1"].map(figures);
        assert_eq!((estimated.0, estimated.1), (stated.0, stated.1 + 3));
    }

    #[test]
    fn settings_that_change_figures_are_named() {
        let (ambient, draw) =
            (RunConfig { ambient_mc: Some(31_500), ..Default::default() }, RunConfig { draw: 7, ..Default::default() });
        let [plain, ambient, draw] = [RunConfig::default(), ambient, draw].map(|config| {
            let experiment = experiment("hikey960", "sched-pipe:loops=10", config);
            Provenance::new(by(), [(&experiment, 0)]).settings()
        });
        assert_eq!((ambient, draw), (format!("{plain} ambient=31.5"), format!("{plain} draw=7")));
    }

    #[test]
    fn commands_are_quoted_for_a_shell() {
        let line = |words: &[&str]| command_line(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(
            line(&["fairground", "run", "a@0-3,8", "sched-pipe:loops=5"]),
            "fairground run a@0-3,8 sched-pipe:loops=5"
        );
        assert_eq!(line(&["", "fair: hz=100", "it's", "ops<-2%", "*"]), r"'' 'fair: hz=100' 'it'\''s' 'ops<-2%' '*'");
        assert_eq!(line(&["a\u{1b}[31m\n\\", "\u{9b}", "x\u{202e}'"]), r"$'a\x1b[31m\x0a\\' $'\u009b' $'x\u202e\''");
        assert_eq!(command_line(&[OsString::from_vec(vec![b'a', 0xff, b'1'])]), r"$'a\xff1'");
    }

    /// bash, where there is one, gets back what was given.
    #[test]
    fn a_shell_reads_commands_back() {
        let words = ["plain", "", "it's", "a\u{1b}[31m\n\\'", "\u{202e}東", "$HOME `x` \"y\" ~ #"].map(OsString::from);
        let script = format!("printf '%s\\0' {}", command_line(&words));
        let Ok(output) = std::process::Command::new("bash").env("LC_ALL", "C.UTF-8").args(["-c", &script]).output()
        else {
            return;
        };
        let read: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
        let given: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).chain([&b""[..]]).collect();
        assert_eq!(read, given);
    }

    #[test]
    fn rows_have_the_machines_that_they_are_run_on() {
        let provenance = RowsProvenance::new(by(), &[Mail::find("asym-prev-first").unwrap()], 24);
        let json = serde_json::to_value(&provenance).unwrap();
        let names: Vec<&str> = json["machines"].as_array().unwrap().iter().filter_map(|m| m["name"].as_str()).collect();
        assert_eq!(names, ["hikey", "hikey960"]);
        assert_eq!(json["machines"][1]["figures"]["fitted"], 1);
    }
}

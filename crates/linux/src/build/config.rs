//! Kernel configuration: ours, with what a user's `.config` says of the scheduler laid over it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use fairground_machine::NR_CPUS;
use serde::{Deserialize, Serialize};

use super::error::BuildError;
use super::kconfig::Options;
use super::{embedded, files, inputs};

/// Most that is read of a configuration, bytes.
const LIMIT: u64 = 4 << 20;

/// What concerns the scheduler; `*` stands for any end.
const RELEVANT: [&str; 25] = [
    "CC_OPTIMIZE_FOR_*",
    "CFS_BANDWIDTH",
    "CGROUP_SCHED",
    "CPUMASK_OFFSTACK",
    "CPU_FREQ",
    "CPU_FREQ_GOV_SCHEDUTIL",
    "CPU_IDLE",
    "ENERGY_MODEL",
    "FAIR_GROUP_SCHED",
    "GROUP_SCHED_*",
    "HIGH_RES_TIMERS",
    "HZ_*",
    "IRQ_TIME_ACCOUNTING",
    "NODES_SHIFT",
    "NO_HZ_*",
    "NR_CPUS",
    "NUMA",
    "NUMA_BALANCING*",
    "PARAVIRT_TIME_ACCOUNTING",
    "PREEMPT*",
    "PSI*",
    "RT_GROUP_SCHED*",
    "SCHED_*",
    "UCLAMP_*",
    "VIRT_CPU_ACCOUNTING_*",
];

/// What a kernel without devices, memory and user space cannot do, and why.
const NOT_HOSTED: [(&str, &str); 12] = [
    ("NO_HZ_FULL", "no CPU is isolated"),
    ("NUMA_BALANCING", "there are no page faults"),
    ("NUMA_BALANCING_DEFAULT_ENABLED", "there are no page faults"),
    ("PARAVIRT_TIME_ACCOUNTING", "there is no hypervisor"),
    ("PREEMPT_DYNAMIC", "the model is fixed at build"),
    ("PREEMPT_RT", "locks are never contended"),
    ("PSI", "nothing stalls on memory or devices"),
    ("SCHED_AUTOGROUP", "there are no sessions"),
    ("SCHED_CLASS_EXT", "there is no BPF"),
    ("SCHED_CORE", "nothing sets its cookies"),
    ("SCHED_STACK_END_CHECK", "tasks have no stacks"),
    ("VIRT_CPU_ACCOUNTING_GEN", "tasks have no kernel side"),
];

/// Options that the scheduler's sources name and that stay off although a kernel's default is y: they belong to parts
/// of the kernel that are not built.
const KEPT_OFF: [&str; 8] =
    ["COMPAT_32BIT_TIME", "CPU_ISOLATION", "MEMBARRIER", "POSIX_TIMERS", "PROC_SYSCTL", "RSEQ", "RT_MUTEXES", "SYSCTL"];

/// Why an option of the tree is not what the tree's default says.
const DEFAULT_LOST: &str = "something that it depends on is off here";

/// Options of which one only can be y.
const CHOICES: [&[&str]; 4] = [
    &["HZ_100", "HZ_250", "HZ_300", "HZ_1000"],
    &["PREEMPT_NONE", "PREEMPT_VOLUNTARY", "PREEMPT", "PREEMPT_LAZY", "PREEMPT_RT"],
    &["HZ_PERIODIC", "NO_HZ_IDLE", "NO_HZ_FULL"],
    &["CC_OPTIMIZE_FOR_PERFORMANCE", "CC_OPTIMIZE_FOR_PERFORMANCE_O3", "CC_OPTIMIZE_FOR_SIZE"],
];

/// An option that was asked for and is not so in the built kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IgnoredOption {
    /// Name of the option, with `CONFIG_`.
    pub option: String,
    /// The value that the user requested.
    pub wanted: String,
    /// The value that the kernel was built with.
    pub got: String,
    /// Why the option is ignored.
    pub reason: String,
}

/// Options by name, without `CONFIG_`; values as Kconfig writes them, `n` for those that are not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Config(BTreeMap<String, String>);

impl Config {
    /// Reads a file in the form of `.config`.
    pub fn read(path: &Path) -> Result<Config, BuildError> {
        let text = files::read_text(path, LIMIT)?;
        let file = path.display().to_string();
        if text.starts_with('\u{1f}') {
            let problem = "compressed".into();
            let help = format!("unpack it first: zcat {file} > config");
            return Err(BuildError::Config { place: format!("{file}:1"), problem, help });
        }
        Config::parse(&file, &text)
    }

    /// `file` names the text in errors.
    pub fn parse(file: &str, text: &str) -> Result<Config, BuildError> {
        let mut config = Config::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            let unset = line.strip_prefix("# CONFIG_").and_then(|rest| rest.strip_suffix(" is not set"));
            match unset {
                Some(name) => config.put(name, "n"),
                None if line.is_empty() || line.starts_with('#') => {}
                None => config.set(&format!("{file}:{}", at + 1), line)?,
            }
        }
        Ok(config)
    }

    /// Reads the arguments of `--set`.
    pub fn from_settings(settings: &[String]) -> Result<Config, BuildError> {
        let mut config = Config::default();
        for setting in settings {
            config.set("--set", setting)?;
        }
        if let Some(wanted) = config.too_many_cpus() {
            return Err(BuildError::Config {
                place: "--set".into(),
                problem: format!("CONFIG_NR_CPUS={wanted}: Fairground's machines have at most {NR_CPUS} CPUs"),
                help: format!("--set CONFIG_NR_CPUS={NR_CPUS}"),
            });
        }
        match config.0.keys().find_map(|name| not_hosted(name).filter(|_| config.is_on(name)).map(|why| (name, why))) {
            Some((name, why)) => Err(BuildError::Config {
                place: "--set".into(),
                problem: format!("CONFIG_{name} cannot be had here: {why}"),
                help: "leave it out".into(),
            }),
            None => Ok(config),
        }
    }

    fn set(&mut self, place: &str, assignment: &str) -> Result<(), BuildError> {
        let (name, value) = split(assignment).ok_or_else(|| BuildError::Config {
            place: place.into(),
            problem: format!("`{}` sets no option", shorten(assignment)),
            help: "expected CONFIG_NAME=value, the value being y, n, a number or a \"string\"".into(),
        })?;
        self.put(name, value);
        Ok(())
    }

    fn put(&mut self, name: &str, value: &str) {
        self.0.insert(name.into(), value.into());
    }

    /// Names of all options that are set, to `n` as well.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The value of NR_CPUS, if no machine has so many.
    fn too_many_cpus(&self) -> Option<&str> {
        let value = self.0.get("NR_CPUS")?;
        // A number that does not fit is too large as well.
        let fits = value.parse().is_ok_and(|n: usize| n <= NR_CPUS);
        (!fits && value.bytes().all(|b| b.is_ascii_digit())).then_some(value)
    }

    /// These options of this configuration.
    pub fn only(&self, names: &BTreeSet<String>) -> Config {
        Config(self.0.iter().filter(|(name, _)| names.contains(*name)).map(|(n, v)| (n.clone(), v.clone())).collect())
    }

    /// The value of an option; `n` if it is not there.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("n", String::as_str)
    }

    fn is_on(&self, name: &str) -> bool {
        self.get(name) != "n"
    }

    /// `over` laid over this one. Where it chooses one of several that exclude each other, the others go.
    fn overridden_by(mut self, over: &Config) -> Config {
        for choice in CHOICES {
            if choice.iter().any(|name| over.is_on(name)) {
                choice.iter().for_each(|name| drop(self.0.remove(*name)));
            }
        }
        self.0.extend(over.0.iter().map(|(name, value)| (name.clone(), value.clone())));
        self
    }

    /// The options that concern the scheduler.
    pub fn relevant(&self) -> Config {
        Config(self.0.iter().filter(|(name, _)| is_relevant(name)).map(|(n, v)| (n.clone(), v.clone())).collect())
    }

    /// The options that are on, with `CONFIG_`.
    pub fn enabled(&self) -> BTreeMap<String, String> {
        let on = self.0.iter().filter(|(_, value)| *value != "n");
        on.map(|(name, value)| (format!("CONFIG_{name}"), value.clone())).collect()
    }

    /// Text of a configuration fragment for `KCONFIG_ALLCONFIG`.
    pub fn to_text(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, (name, value)| {
            let _ = match value.as_str() {
                "n" => writeln!(text, "# CONFIG_{name} is not set"),
                value => writeln!(text, "CONFIG_{name}={value}"),
            };
            text
        })
    }
}

/// What a kernel is to be configured with.
#[derive(Clone, Debug, Default)]
pub(super) struct ConfigRequest {
    /// Of the user's file: what concerns the scheduler and can be hosted.
    imported: Config,
    /// What a debug build sets over that; empty for others.
    debug: Config,
    set: Config,
    /// What of the file cannot be had, and why; `got` is known after Kconfig.
    not_hosted: Vec<(String, String, String)>,
    /// Options of the tree that Fairground does not know: they take the tree's defaults.
    new: BTreeSet<String>,
    /// Options of the file that do not concern the scheduler.
    pub unrelated: usize,
}

impl ConfigRequest {
    /// The same for a debug build: the options of `debug.config`.
    pub fn with_debug(mut self, is_debug: bool) -> Result<ConfigRequest, BuildError> {
        if is_debug {
            self.debug = Config::parse("debug.config", embedded::text("debug.config"))?;
        }
        Ok(self)
    }

    /// `given`: the user's `.config`; `set`: what overrides it; `of_scheduler`: options that the tree's scheduler
    /// names and that have a default.
    pub fn new(given: &Config, set: Config, of_scheduler: BTreeSet<String>) -> Result<ConfigRequest, BuildError> {
        let base = base()?;
        let is_new = |name: &String| !base.0.contains_key(name) && !is_known(name);
        let new = of_scheduler.into_iter().filter(is_new).collect();
        let mut wanted = ConfigRequest { set, new, ..ConfigRequest::default() };
        for (name, value) in &given.0 {
            // Here is no modprobe: what is a module is there.
            let value = if value == "m" { "y" } else { value };
            match not_hosted(name) {
                _ if !is_relevant(name) && !wanted.new.contains(name) => wanted.unrelated += 1,
                Some(why) if value != "n" => wanted.not_hosted.push((name.clone(), value.into(), why.into())),
                Some(_) => {}
                None => wanted.imported.put(name, value),
            }
        }
        if let Some(value) = wanted.imported.too_many_cpus().map(String::from) {
            let why = format!("Fairground's machines have at most {NR_CPUS} CPUs");
            wanted.not_hosted.push(("NR_CPUS".into(), value, why));
            wanted.imported.put("NR_CPUS", &NR_CPUS.to_string());
        }
        // The user's value of such a choice cannot be used. Our value stays, and "not set" of the other values is
        // dropped.
        for (name, ..) in &wanted.not_hosted {
            for choice in CHOICES.iter().filter(|c| c.contains(&name.as_str())) {
                choice.iter().for_each(|other| drop(wanted.imported.0.remove(*other)));
            }
        }
        Ok(wanted)
    }

    /// The fragment: ours, the user's file, `--set`, the later over the earlier.
    pub fn fragment(&self) -> Result<String, BuildError> {
        self.fragment_with(&Config::default())
    }

    /// The fragment with `defaults`, the tree's own values of what is [`Self::undecided`].
    pub fn fragment_with(&self, defaults: &Config) -> Result<String, BuildError> {
        let ours = base()?.overridden_by(defaults);
        Ok(ours.overridden_by(&self.imported).overridden_by(&self.debug).overridden_by(&self.set).to_text())
    }

    /// Options that take the tree's default: its scheduler has them, Fairground does not know them, and the user says
    /// nothing of them.
    pub fn undecided(&self) -> BTreeSet<String> {
        let decided = |name: &String| self.imported.0.contains_key(name) || self.set.0.contains_key(name);
        self.new.iter().filter(|name| !decided(name)).cloned().collect()
    }

    /// The options of a built kernel that concern the scheduler.
    pub fn relevant(&self, built: &Config) -> Config {
        let mut relevant = built.relevant();
        relevant.0.extend(built.only(&self.new).0);
        relevant.0.extend(built.only(&self.debug.names().map(String::from).collect()).0);
        relevant
    }

    /// What the tree's `defaults` asked for in vain, a sentence each.
    pub fn lost_defaults(&self, defaults: &Config, built: &Config) -> Vec<String> {
        let lost = defaults.0.iter().filter(|(name, value)| built.get(name) != value.as_str());
        let text =
            |name, value, got| format!("CONFIG_{name}={value}, the tree's default, is {got} here: {DEFAULT_LOST}");
        lost.map(|(name, value)| text(name, value, built.get(name))).collect()
    }

    /// What a debug build asked for in vain, a sentence each.
    pub fn lost_checks(&self, built: &Config) -> Vec<String> {
        let asked = self.debug.0.iter().filter(|(name, _)| !self.set.0.contains_key(*name));
        let lost = asked.filter(|(name, value)| built.get(name) != value.as_str());
        lost.map(|(name, _)| format!("CONFIG_{name} of --debug is off: this tree does not have it")).collect()
    }

    /// Refuses an option of `--set` that the tree does not have.
    pub fn check_set(&self, offered: &Options) -> Result<(), BuildError> {
        let Some(name) = self.set.names().find(|name| !offered.has(name)) else { return Ok(()) };
        let help = match offered.nearest(name) {
            Some(near) => format!("did you mean CONFIG_{near}?"),
            None => "no file of the tree's Kconfig, its arch/ apart, defines it".into(),
        };
        let problem = format!("this tree has no option CONFIG_{name}");
        Err(BuildError::Config { place: "--set".into(), problem, help })
    }

    /// All that was asked for as one number, hex.
    pub fn number(&self) -> String {
        let foreign = self.not_hosted.iter().map(|(name, value, _)| format!("{name}={value}\n")).collect::<String>();
        let new = self.new.iter().map(|name| format!("{name}\n")).collect::<String>();
        let debug = self.debug.to_text();
        let parts = [self.imported.to_text(), debug, self.set.to_text(), foreign, new, self.unrelated.to_string()];
        inputs::digest(&[], &parts.each_ref().map(String::as_str))
    }

    /// What the file asked for and `built`, the configuration after Kconfig, has otherwise. What `--set` asked for and
    /// did not get is an error.
    pub fn ignored(&self, built: &Config) -> Result<Vec<IgnoredOption>, BuildError> {
        if let Some((name, wanted)) = self.set.0.iter().find(|(name, wanted)| built.get(name) != wanted.as_str()) {
            return Err(not_taken(name, wanted, built));
        }
        let hosted = self.imported.0.iter().filter(|(name, _)| !self.set.0.contains_key(*name));
        let refused = hosted.map(|(name, value)| (name, value, "the tree's Kconfig, or what Fairground itself needs"));
        // What --set says of the same option goes over it.
        let foreign = self.not_hosted.iter().filter(|(name, ..)| !self.set.0.contains_key(name));
        let foreign = foreign.map(|(name, value, why)| (name, value, why.as_str()));
        let mut all: Vec<IgnoredOption> = refused
            .chain(foreign)
            .filter(|(name, value, _)| built.get(name) != value.as_str())
            .map(|(name, wanted, reason)| IgnoredOption {
                option: format!("CONFIG_{name}"),
                wanted: wanted.clone(),
                got: built.get(name).into(),
                reason: reason.into(),
            })
            .collect();
        all.sort_by(|a, b| a.option.cmp(&b.option));
        Ok(all)
    }
}

fn not_taken(name: &str, wanted: &str, built: &Config) -> BuildError {
    let help = match built.0.contains_key(name) {
        true => "something it depends on, or its range, does not allow it".into(),
        false => match fairground_machine::nearest(name, built.0.keys().map(String::as_str)) {
            Some(near) => format!("no such option is on offer; did you mean CONFIG_{near}?"),
            None => "no such option is on offer: the tree lacks it, or something it depends on is off".into(),
        },
    };
    BuildError::NotTaken { option: format!("CONFIG_{name}"), wanted: wanted.into(), got: built.get(name).into(), help }
}

/// Fairground's own options, `base.config`: those of the user go over them.
fn base() -> Result<Config, BuildError> {
    Config::parse("base.config", embedded::text("base.config"))
}

/// Whether Fairground has decided what the option is.
fn is_known(name: &str) -> bool {
    KEPT_OFF.contains(&name) || not_hosted(name).is_some() || CHOICES.iter().any(|choice| choice.contains(&name))
}

fn is_relevant(name: &str) -> bool {
    RELEVANT.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(stem) => name.starts_with(stem),
        None => name == *pattern,
    })
}

fn not_hosted(name: &str) -> Option<&'static str> {
    NOT_HOSTED.iter().find(|(option, _)| *option == name).map(|(_, why)| *why)
}

/// Name and value of `CONFIG_NAME=value`.
fn split(assignment: &str) -> Option<(&str, &str)> {
    let (name, value) = assignment.trim().strip_prefix("CONFIG_")?.split_once('=')?;
    let word = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let quoted = |s: &str| s.len() >= 2 && s.starts_with('"') && s.ends_with('"') && !s.contains('\n');
    (word(name) && (word(value.strip_prefix('-').unwrap_or(value)) || quoted(value))).then_some((name, value))
}

/// At most so much of a line as says what is meant.
fn shorten(line: &str) -> String {
    line.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::fake;

    fn parse(text: &str) -> Config {
        Config::parse("config", text).unwrap()
    }

    fn request(given: &Config, set: Config) -> ConfigRequest {
        ConfigRequest::new(given, set, BTreeSet::new()).unwrap()
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn a_new_option_takes_the_trees_default_unless_the_user_says_otherwise() {
        let of_scheduler = names(&["BORE_SLICE", "SCHED_BORE", "SCHED_CORE", "SYSCTL", "SMP"]);
        let given = parse("CONFIG_BORE_SLICE=3\n");
        let wanted = ConfigRequest::new(&given, Config::default(), of_scheduler.clone()).unwrap();
        assert_eq!(wanted.undecided(), names(&["SCHED_BORE"]), "known ones keep our value, the file's goes first");
        let defaults = parse("CONFIG_SCHED_BORE=y\n");
        let fragment = wanted.fragment_with(&defaults).unwrap();
        assert!(fragment.contains("CONFIG_SCHED_BORE=y\n") && fragment.contains("CONFIG_BORE_SLICE=3\n"), "{fragment}");
        assert_eq!(wanted.relevant(&parse("CONFIG_BORE_SLICE=3\nCONFIG_EXT4_FS=y\n")), given);

        let set = Config::from_settings(&["CONFIG_SCHED_BORE=n".into()]).unwrap();
        let wanted = ConfigRequest::new(&Config::default(), set, of_scheduler).unwrap();
        assert_eq!(wanted.undecided(), names(&["BORE_SLICE"]));
    }

    #[test]
    fn a_default_of_the_tree_that_does_not_take_effect_is_told() {
        let wanted = ConfigRequest::new(&Config::default(), Config::default(), names(&["SCHED_BORE"])).unwrap();
        let defaults = parse("CONFIG_SCHED_BORE=y\n");
        assert_eq!(wanted.lost_defaults(&defaults, &defaults), Vec::<String>::new());
        let lost = wanted.lost_defaults(&defaults, &parse("CONFIG_SMP=y\n"));
        assert_eq!(lost.len(), 1);
        assert!(lost[0].starts_with("CONFIG_SCHED_BORE=y, the tree's default, is n here"), "{lost:?}");
    }

    #[test]
    fn more_cpus_than_any_machine_has_are_cut_in_a_file_and_refused_in_a_setting() {
        let wanted = request(&parse("CONFIG_NR_CPUS=8192\n"), Config::default());
        let most = parse(&format!("CONFIG_NR_CPUS={NR_CPUS}\n"));
        assert_eq!(wanted.imported, most);
        let ignored = wanted.ignored(&most).unwrap();
        assert_eq!((ignored[0].wanted.as_str(), ignored[0].got.as_str()), ("8192", NR_CPUS.to_string().as_str()));
        assert!(ignored[0].reason.contains("machines have at most"), "{}", ignored[0].reason);
        for text in ["CONFIG_NR_CPUS=8192", "CONFIG_NR_CPUS=99999999999999999999999"] {
            let error = Config::from_settings(&[text.into()]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--set: {text}: ")), "{error}");
        }
        let set = Config::from_settings(&["CONFIG_NR_CPUS=64".into()]).unwrap();
        let wanted = request(&parse("CONFIG_NR_CPUS=8192\n"), set);
        assert_eq!(wanted.ignored(&parse("CONFIG_NR_CPUS=64\n")).unwrap(), []);
    }

    #[test]
    fn our_own_kconfig_allows_as_many_cpus_as_machines_have() {
        let kconfig = embedded::text("arch/Kconfig");
        assert!(kconfig.contains(&format!("range 2 {NR_CPUS}\n")));
    }

    #[test]
    fn a_setting_of_what_the_tree_lacks_is_refused_with_the_nearest_name() {
        let tree = fake::tree("VERSION = 6\nPATCHLEVEL = 12\n");
        fake::write(tree.path(), "Kconfig", "config UCLAMP_TASK\n\tbool \"Clamps\"\n");
        let options = Options::scan(tree.path()).unwrap();
        let refused = |setting: &str| {
            let set = Config::from_settings(&[setting.into()]).unwrap();
            request(&Config::default(), set).check_set(&options)
        };
        assert!(refused("CONFIG_UCLAMP_TASK=y").is_ok());
        let error = refused("CONFIG_UCLAMP_TSK=y").unwrap_err();
        assert_eq!(error.to_string(), "--set: this tree has no option CONFIG_UCLAMP_TSK");
        assert_eq!(miette::Diagnostic::help(&error).unwrap().to_string(), "did you mean CONFIG_UCLAMP_TASK?");
    }

    #[test]
    fn what_concerns_the_scheduler_is_taken_and_the_rest_counted() {
        let given =
            parse("CONFIG_HZ_1000=y\n# CONFIG_HZ_250 is not set\nCONFIG_EXT4_FS=m\nCONFIG_NR_CPUS=64\n# hello\n\n");
        let wanted = request(&given, Config::default());
        assert_eq!(wanted.imported, parse("CONFIG_HZ_1000=y\n# CONFIG_HZ_250 is not set\nCONFIG_NR_CPUS=64\n"));
        assert_eq!(wanted.unrelated, 1);
    }

    #[test]
    fn a_choice_takes_the_place_of_ours() {
        let ours = parse("CONFIG_HZ_250=y\nCONFIG_SMP=y\n");
        let both = ours.overridden_by(&parse("CONFIG_HZ_1000=y\n"));
        assert_eq!(both.to_text(), "CONFIG_HZ_1000=y\nCONFIG_SMP=y\n");
    }

    #[test]
    fn what_cannot_be_hosted_is_named_with_its_reason_and_leaves_our_choice() {
        let given = parse(
            "CONFIG_NO_HZ_FULL=y\n# CONFIG_NO_HZ_IDLE is not set\nCONFIG_SCHED_CORE=y\n# CONFIG_PSI is not set\n",
        );
        let wanted = request(&given, Config::default());
        assert_eq!(wanted.imported, Config::default());
        let ignored = wanted.ignored(&parse("CONFIG_NO_HZ_IDLE=y\n")).unwrap();
        let lines: Vec<String> = ignored.iter().map(|i| format!("{} {}: {}", i.option, i.got, i.reason)).collect();
        assert_eq!(lines, ["CONFIG_NO_HZ_FULL n: no CPU is isolated", "CONFIG_SCHED_CORE n: nothing sets its cookies"]);
    }

    #[test]
    fn what_kconfig_decided_otherwise_is_listed_with_both_values() {
        let given = parse("CONFIG_NR_CPUS=768\nCONFIG_UCLAMP_TASK=y\nCONFIG_ENERGY_MODEL=m\n");
        let wanted = request(&given, Config::default());
        let built = parse("CONFIG_NR_CPUS=512\nCONFIG_UCLAMP_TASK=y\nCONFIG_ENERGY_MODEL=y\n");
        let ignored = wanted.ignored(&built).unwrap();
        assert_eq!(ignored.len(), 1);
        assert_eq!((ignored[0].wanted.as_str(), ignored[0].got.as_str()), ("768", "512"));
    }

    #[test]
    fn a_debug_build_sets_its_options_over_the_file_and_under_set() {
        let set = Config::from_settings(&["CONFIG_DEBUG_LIST=n".into()]).unwrap();
        let given = parse("CONFIG_HZ_1000=y\n");
        let plain = request(&given, set.clone());
        let debug = request(&given, set).with_debug(true).unwrap();
        let fragment = debug.fragment().unwrap();
        for line in ["CONFIG_HZ_1000=y\n", "CONFIG_DEBUG_ATOMIC_SLEEP=y\n", "# CONFIG_DEBUG_LIST is not set\n"] {
            assert!(fragment.contains(line), "{line}: {fragment}");
        }
        assert!(!plain.fragment().unwrap().contains("DEBUG_ATOMIC_SLEEP"));
        assert_ne!(plain.number(), debug.number());
        let built = parse("CONFIG_DEBUG_ATOMIC_SLEEP=y\nCONFIG_SMP=y\n");
        assert_eq!(debug.relevant(&built), parse("CONFIG_DEBUG_ATOMIC_SLEEP=y\n"));
        let lost = debug.lost_checks(&built);
        assert_eq!(lost, ["CONFIG_DEBUG_LOCK_ALLOC of --debug is off: this tree does not have it"]);
        assert_eq!(plain.lost_checks(&built), Vec::<String>::new());
    }

    #[test]
    fn set_goes_over_the_file_and_must_hold() {
        let set = Config::from_settings(&["CONFIG_NR_CPUS=32".into()]).unwrap();
        let wanted = request(&parse("CONFIG_NR_CPUS=64\n"), set);
        assert!(wanted.fragment().unwrap().contains("CONFIG_NR_CPUS=32\n"));
        assert_eq!(wanted.ignored(&parse("CONFIG_NR_CPUS=32\n")).unwrap(), []);
        let error = wanted.ignored(&parse("CONFIG_NR_CPUS=512\n")).unwrap_err();
        assert_eq!(error.to_string(), "--set CONFIG_NR_CPUS=32: the tree's Kconfig makes it 512");
    }

    #[test]
    fn an_option_that_is_not_there_comes_with_the_nearest() {
        let set = Config::from_settings(&["CONFIG_UCLAMP_TSK=y".into()]).unwrap();
        let error = request(&Config::default(), set).ignored(&parse("CONFIG_UCLAMP_TASK=y\n")).unwrap_err();
        let help = miette::Diagnostic::help(&error).unwrap().to_string();
        assert_eq!(help, "no such option is on offer; did you mean CONFIG_UCLAMP_TASK?");
    }

    #[test]
    fn a_setting_that_cannot_be_hosted_is_refused() {
        let error = Config::from_settings(&["CONFIG_SCHED_CORE=y".into()]).unwrap_err();
        assert_eq!(error.to_string(), "--set: CONFIG_SCHED_CORE cannot be had here: nothing sets its cookies");
    }

    #[test]
    fn a_line_that_sets_nothing_is_an_error_with_its_place() {
        for line in
            ["HZ=250", "CONFIG_=y", "CONFIG_HZ", "CONFIG_A=b c", "CONFIG_A=$(shell x)", "CONFIG_A=\"", "CONFIG_A="]
        {
            let error = Config::parse("my.config", &format!("CONFIG_SMP=y\n{line}\n")).unwrap_err();
            assert_eq!(error.to_string(), format!("my.config:2: `{line}` sets no option"));
        }
    }

    #[test]
    fn a_compressed_file_is_told_apart() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [0x1f, 0x8b, 8, 0]).unwrap();
        let error = Config::read(file.path()).unwrap_err();
        assert!(miette::Diagnostic::help(&error).unwrap().to_string().contains("zcat"));
    }
}

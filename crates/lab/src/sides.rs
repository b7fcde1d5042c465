//! The sides of a comparison, base and tests: how each is typed, and the experiment that it means.
//!
//! A side is one setting or several with spaces between: a scheduler (`fair:v6.12`, `linux:mine`), or `NAME=VALUE` of
//! `machine`, `workload`, `sched`, or of [`fairground_run::run_config::SETTINGS`]: `governor=schedutil`. Other settings
//! are those of all sides. A scheduler's name has a colon before any `=`, a setting has none.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairground_fair::Features;
use fairground_machine::{suggest, CpuMask, Machine, MachineError, MachineSpec};
use fairground_run::batch::Results;
use fairground_run::experiment::Experiment;
use fairground_run::kernel_compat;
use fairground_run::metrics::{usual, Metric, Selected, Selection, SelectionError};
use fairground_run::run_config::{
    endless_refused, notes, ExperimentError, InvalidSetting, RunConfig, Setting, SETTINGS,
};
use fairground_run::sched_spec::SchedSpec;
use fairground_run::worker::Workers;
use fairground_sim::Config;
use fairground_workload::Workload;
use miette::Diagnostic;
use thiserror::Error;

use crate::comparison::{name_sides, Report, Settings, Side};
use crate::provenance::{Figures, MadeBy, Provenance};
use crate::published::{beside, PublishedError, SideRun};

/// Settings that a [`RunConfig`] does not hold.
const NAMED: [&str; 3] = ["sched", "machine", "workload"];

/// Whether a word is a setting of a side: `NAME=VALUE` with a valid name.
pub fn is_setting(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| NAMED.contains(&name) || Setting::find(name).is_ok())
}

/// The text of a side is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error, Diagnostic)]
#[error("{option}: {problem}")]
pub struct SideError {
    /// The option that contains the side.
    option: String,
    problem: String,
    /// The expected form, and the nearest name.
    #[help]
    help: String,
}

/// The settings of one side, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideSpec {
    /// The option that contains the side, for messages.
    option: &'static str,
    text: String,
    named: BTreeMap<&'static str, String>,
    config: Vec<(&'static str, String)>,
}

impl SideSpec {
    /// Parses a side. `option` is the name that messages use.
    ///
    /// # Errors
    /// If the text is empty, or names a setting twice, a setting that does not exist, or a value that the setting does
    /// not take. Names of schedulers, machines and workloads are looked up later.
    pub fn parse(option: &'static str, text: &str) -> Result<SideSpec, SideError> {
        let mut side = SideSpec { option, text: text.into(), ..SideSpec::default() };
        for word in text.split_whitespace() {
            side.add(word)?;
        }
        if side.named.is_empty() && side.config.is_empty() {
            let help = "expected a scheduler or NAME=VALUE, or several with spaces between: fair: governor=schedutil";
            return Err(side.error("no setting", help));
        }
        Ok(side)
    }

    /// A side of settings by name: `sched`, `machine`, `workload`, and those of [`SETTINGS`].
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn of_settings(option: &'static str, settings: &[(&str, &str)]) -> Result<SideSpec, SideError> {
        let words: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut side = SideSpec { option, text: words.join(" "), ..SideSpec::default() };
        settings.iter().try_for_each(|(name, value)| side.set(name, value))?;
        Ok(side)
    }

    fn error(&self, problem: &str, help: &str) -> SideError {
        SideError { option: self.option.into(), problem: problem.into(), help: help.into() }
    }

    fn add(&mut self, word: &str) -> Result<(), SideError> {
        let setting = |name: &str| NAMED.contains(&name) || Setting::find(name).is_ok();
        if let Some((name, value)) = word.split_once(':').filter(|(name, _)| setting(name)) {
            return Err(self.error(&format!("`{word}` is not a scheduler"), &format!("write {name}={value}")));
        }
        let (name, value) = match (word.find('='), word.find(':')) {
            (Some(equals), colon) if colon.is_none_or(|colon| equals < colon) => (&word[..equals], &word[equals + 1..]),
            _ => ("sched", word),
        };
        self.set(name, value)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), SideError> {
        match NAMED.into_iter().find(|known| *known == name) {
            Some(name) if value.is_empty() => {
                Err(self.error(&format!("`{name}={value}` names no {name}"), "expected a name"))
            }
            Some(name) => match self.named.insert(name, value.into()) {
                None => Ok(()),
                Some(first) => Err(self.twice(name, &first, value)),
            },
            None => self.add_config(name, value),
        }
    }

    fn add_config(&mut self, name: &str, value: &str) -> Result<(), SideError> {
        let setting = Setting::find(name).map_err(|error| {
            let names = NAMED.into_iter().chain(SETTINGS.iter().map(|setting| setting.name));
            self.error(&error.problem, &suggest(name, names))
        })?;
        let invalid = |InvalidSetting { problem, help }| self.error(&problem, &help);
        RunConfig::default().set_text(name, value).map_err(invalid)?;
        if let Some((_, first)) = self.config.iter().find(|(known, _)| *known == setting.name) {
            return Err(self.twice(setting.name, first, value));
        }
        self.config.push((setting.name, value.into()));
        Ok(())
    }

    fn twice(&self, name: &str, first: &str, second: &str) -> SideError {
        let help = format!("a side has one {name}");
        self.error(&format!("{name} is given twice, as {first} and as {second}"), &help)
    }

    /// The machine that the side names; `None`: that of all sides.
    pub fn machine(&self) -> Option<&str> {
        self.named.get("machine").map(String::as_str)
    }

    /// The workload that the side names; `None`: that of all sides.
    pub fn workload(&self) -> Option<&str> {
        self.named.get("workload").map(String::as_str)
    }

    /// This side with another workload where it names one.
    pub fn with_workload(&self, change: impl Fn(&str) -> String) -> SideSpec {
        let mut side = self.clone();
        side.named.get_mut("workload").into_iter().for_each(|workload| *workload = change(workload));
        side
    }

    /// Whether the side states the setting of this name.
    pub fn sets(&self, name: &str) -> bool {
        self.config.iter().any(|(known, _)| *known == name)
    }

    /// The scheduler of the side, else that of all sides.
    fn sched(&self, all: Option<&str>) -> Result<SchedSpec, SidesError> {
        let Some(sched) = self.named.get("sched").map(String::as_str).or(all) else {
            let SideSpec { option, text, .. } = self;
            let all = if option.starts_with("--") { "--sched" } else { "sched" };
            let help = format!(
                "write {option} '{} {text}', or name the scheduler of all sides with {all}",
                Features::newest()
            );
            return Err(self.error(&format!("`{text}` names no scheduler"), &help).into());
        };
        Ok(sched.parse().map_err(ExperimentError::from)?)
    }

    /// The settings of all sides, overridden by those of this side.
    fn config(&self, all: &RunConfig) -> Result<RunConfig, SidesError> {
        let mut config = *all;
        let invalid = |InvalidSetting { problem, help }| self.error(&problem, &help);
        self.config.iter().try_for_each(|(name, value)| config.set_text(name, value)).map_err(invalid)?;
        Ok(config)
    }
}

/// Settings that apply to every side that does not name its own.
#[derive(Clone, Copy, Debug)]
pub struct Common<'a> {
    /// The machine, as typed.
    pub machine: &'a str,
    /// The workload, as typed.
    pub workload: &'a str,
    /// The scheduler, as typed; `None`: every side names its own.
    pub sched: Option<&'a str>,
    /// All other settings.
    pub config: RunConfig,
}

/// Why the sides cannot be run.
#[derive(Debug, Error, Diagnostic)]
pub enum SidesError {
    /// A side is invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Side(#[from] SideError),
    /// A machine, workload or scheduler cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
    /// A machine or workload is given that no side uses.
    #[error("no side runs {what} `{name}`: each names its own")]
    #[diagnostic(help("name the {what} of one side in place of `{name}`"))]
    Unused {
        /// The kind of thing, `machine` or `workload`.
        what: &'static str,
        /// The name, as typed.
        name: String,
    },
}

impl From<kernel_compat::Incompatible> for SidesError {
    fn from(error: kernel_compat::Incompatible) -> SidesError {
        ExperimentError::from(error).into()
    }
}

/// A machine and a workload, with their names.
#[derive(Clone)]
pub struct MachineWorkload {
    /// Name of the machine.
    pub machine_name: String,
    /// The machine.
    pub machine: Arc<Machine>,
    /// Name of the workload.
    pub workload_name: String,
    /// The workload on this machine.
    pub workload: Arc<Workload>,
}

/// Finds machines and workloads by name, and keeps them for further sides.
#[derive(Default)]
struct Finder {
    machines: BTreeMap<String, (Arc<Machine>, Option<CpuMask>)>,
    workloads: BTreeMap<[String; 2], Arc<Workload>>,
    warnings: Vec<String>,
}

impl Finder {
    fn find(&mut self, machine_name: &str, workload_name: &str) -> Result<MachineWorkload, ExperimentError> {
        let (machine, cpus) = self.machine(machine_name)?;
        let key = [machine_name, workload_name].map(str::to_owned);
        let workload = match self.workloads.get(&key) {
            Some(workload) => Arc::clone(workload),
            None => {
                let (workload, warnings) = Workload::find_bound(workload_name, &machine, cpus.as_ref())?;
                self.warnings.extend(endless_refused(warnings)?);
                let workload = Arc::new(workload);
                self.workloads.insert(key, Arc::clone(&workload));
                workload
            }
        };
        let (machine_name, workload_name) = (machine_name.to_owned(), workload_name.to_owned());
        Ok(MachineWorkload { machine_name, machine, workload_name, workload })
    }

    fn machine(&mut self, name: &str) -> Result<(Arc<Machine>, Option<CpuMask>), MachineError> {
        if let Some((machine, cpus)) = self.machines.get(name) {
            return Ok((Arc::clone(machine), *cpus));
        }
        let (machine, cpus) = MachineSpec::parse(name).find()?;
        let machine = Arc::new(machine);
        self.machines.insert(name.into(), (Arc::clone(&machine), cpus));
        Ok((machine, cpus))
    }
}

/// The experiments of all sides, the base first.
pub struct Sides {
    /// One experiment with one scheduler for each side.
    pub experiments: Vec<Arc<Experiment>>,
    /// Warnings about the sides, without duplicates.
    pub warnings: Vec<String>,
    settings: Vec<Settings>,
}

impl Sides {
    /// Finds machines, workloads and schedulers of the sides.
    ///
    /// # Errors
    /// If something is not found, or does not fit.
    pub fn find(sides: &[SideSpec], common: &Common, workers: &Workers) -> Result<Sides, SidesError> {
        used("machine", common.machine, sides, SideSpec::machine)?;
        used("workload", common.workload, sides, SideSpec::workload)?;
        let mut finder = Finder::default();
        let find = |side: &SideSpec| {
            let machine = side.machine().unwrap_or(common.machine);
            finder.find(machine, side.workload().unwrap_or(common.workload)).map_err(SidesError::from)
        };
        let found = sides.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let mut all = Sides::on(sides, found, common.sched, &common.config, workers)?;
        all.warnings.splice(0..0, finder.warnings);
        Ok(all)
    }

    /// The experiments of sides whose machines and workloads are already known.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn on(
        sides: &[SideSpec],
        found: Vec<MachineWorkload>,
        sched: Option<&str>,
        config: &RunConfig,
        workers: &Workers,
    ) -> Result<Sides, SidesError> {
        let scheds = sides.iter().map(|side| side.sched(sched)).collect::<Result<Vec<_>, _>>()?;
        let mut configs = sides.iter().map(|side| side.config(config)).collect::<Result<Vec<_>, _>>()?;
        let own: Vec<SchedSpec> =
            scheds.iter().zip(&configs).filter(|(_, config)| config.hz.is_none()).map(|(s, _)| s.clone()).collect();
        // Sides without a tick rate share one.
        let hz = kernel_compat::hz(&own, None)?;
        configs.iter_mut().for_each(|config| config.hz = config.hz.or(Some(hz)));
        let mut all = Sides { experiments: Vec::new(), warnings: Vec::new(), settings: Vec::new() };
        for ((found, sched), config) in found.into_iter().zip(scheds).zip(configs) {
            all.push(found, sched, config, workers)?;
        }
        Ok(all)
    }

    fn push(
        &mut self,
        found: MachineWorkload,
        sched: SchedSpec,
        config: RunConfig,
        workers: &Workers,
    ) -> Result<(), SidesError> {
        let mut settings = Settings::new(&found.machine_name, &found.workload_name, &sched.to_string());
        let (mut experiment, warnings) = config.experiment_of(found.machine, found.workload, vec![sched])?;
        experiment.workers = workers.clone();
        for setting in &SETTINGS {
            settings.push(setting.name, setting.text(&experiment.config, &experiment.machine));
        }
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        self.experiments.push(Arc::new(experiment));
        self.settings.push(settings);
        Ok(())
    }

    /// Each side with its settings, named by those that differ.
    pub fn named(&self) -> Vec<Side> {
        name_sides(&self.settings).0
    }

    /// A side as it can be typed: its scheduler, machine and workload where they are not those of the base, and what is
    /// not as by default.
    pub fn typed(&self, side: usize) -> String {
        let (settings, base) = (&self.settings[side], &self.settings[0]);
        let value = |name: &str| settings.get(name).unwrap_or_default();
        let others = ["machine", "workload"].into_iter().filter(|name| settings.get(name) != base.get(name));
        let default = |setting: &&Setting| setting.text(&Config::default(), &self.experiments[side].machine);
        let set = SETTINGS.iter().filter(|setting| value(setting.name) != default(setting)).map(|setting| setting.name);
        let words = others.chain(set).map(|name| format!("{name}={}", value(name)));
        std::iter::once(value("sched").to_owned()).chain(words).collect::<Vec<_>>().join(" ")
    }

    /// The metrics that the base and at least one test report.
    pub fn metrics(&self) -> Vec<Metric> {
        let tests: Vec<Vec<Metric>> = self.tests().map(Experiment::metrics).collect();
        self.base().metrics().into_iter().filter(|metric| tests.iter().any(|test| reports(test, metric))).collect()
    }

    /// For each test, the metrics of `selection` and `more` that the base and this test report.
    ///
    /// # Errors
    /// If there is a selected metric that the base does not report, or that no test reports.
    pub fn selected(&self, selection: &Selection, more: &[&str]) -> Result<Vec<Selected>, SelectionError> {
        let selected = selection.among(&self.metrics(), usual_of(self.base()))?;
        let selected = more.iter().fold(selected, |selected, name| selected.with(name));
        let base = self.base().metrics();
        let of_both = |test: Vec<Metric>| {
            let both = |name: &str| base.iter().any(|metric| metric.name == name && reports(&test, metric));
            selected.clone().only(both)
        };
        Ok(self.tests().map(|test| of_both(test.metrics())).collect())
    }

    fn base(&self) -> &Experiment {
        &self.experiments[0]
    }

    fn tests(&self) -> impl Iterator<Item = &Experiment> {
        self.experiments[1..].iter().map(|experiment| &**experiment)
    }

    /// What results of these sides are made by and from.
    pub fn provenance(&self, by: MadeBy) -> Provenance {
        Provenance::new(by, self.experiments.iter().map(|experiment| (&**experiment, 0)))
    }

    /// Adds published rows of the same machine, workload and schedulers to the comparisons of a report on these sides.
    ///
    /// # Errors
    /// If published rows do not load.
    pub fn add_published(&self, report: &mut Report) -> Result<(), PublishedError> {
        let side = |i: usize| SideRun {
            machine: self.settings[i].get("machine").unwrap_or_default(),
            workload: self.settings[i].get("workload").unwrap_or_default(),
            experiment: &self.experiments[i],
        };
        let fitted_to = Figures::count(&self.base().machine).fitted_to;
        for (i, comparison) in report.comparisons.iter_mut().enumerate() {
            comparison.published = beside(side(0), side(i + 1), &fitted_to)?;
        }
        Ok(())
    }

    /// What runs with these seeds gave: `results` is `[side][seed]`.
    pub fn report(&self, seeds: &[u64], results: &Results) -> Report {
        let mut report = Report::new(&self.settings, seeds, results);
        let of_all = |note: &String| self.experiments.iter().all(|e| notes(&e.config).contains(note));
        notes(&self.base().config).into_iter().filter(of_all).for_each(|note| report.note(note));
        let alone = self.reported_by_some();
        if !alone.is_empty() {
            report.note(format!("not compared, for not all sides report it: {}", alone.join(", ")));
        }
        report
    }

    /// The usual metrics that not all sides report.
    fn reported_by_some(&self) -> Vec<String> {
        let all: Vec<Vec<Metric>> = self.experiments.iter().map(|experiment| experiment.metrics()).collect();
        let mut names: Vec<String> = Vec::new();
        for (experiment, metrics) in self.experiments.iter().zip(&all) {
            let usual = usual_of(experiment);
            let alone =
                |metric: &&Metric| usual.contains(&metric.name) && !all.iter().all(|side| reports(side, metric));
            names.extend(metrics.iter().filter(alone).map(|metric| metric.name.clone()));
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn usual_of(experiment: &Experiment) -> Vec<String> {
    usual(&experiment.workload, &experiment.machine)
}

/// Whether `metrics` has the metric. The text of its meaning may differ between workloads.
fn reports(metrics: &[Metric], metric: &Metric) -> bool {
    let Metric { name, unit, better, .. } = metric;
    metrics.iter().any(|other| (&other.name, &other.unit, other.better) == (name, unit, *better))
}

/// Checks that at least one side uses the name that is given for all sides.
fn used(
    what: &'static str,
    name: &str,
    sides: &[SideSpec],
    own: fn(&SideSpec) -> Option<&str>,
) -> Result<(), SidesError> {
    match sides.iter().any(|side| own(side).is_none_or(|own| own == name)) {
        true => Ok(()),
        false => Err(SidesError::Unused { what, name: name.into() }),
    }
}

#[cfg(test)]
mod tests {
    use fairground_run::batch::Plan;
    use fairground_run::executor::Executor;
    use fairground_run::experiment::Stop;

    use super::*;

    fn common(config: RunConfig) -> Common<'static> {
        Common { machine: "hikey960", workload: "sched-pipe:loops=20,threads", sched: Some("fair:v6.12"), config }
    }

    fn found(texts: &[&str]) -> Result<Sides, SidesError> {
        let sides = texts.iter().map(|text| SideSpec::parse("--test", text)).collect::<Result<Vec<_>, _>>()?;
        Sides::find(&sides, &common(RunConfig::default()), &Workers::default())
    }

    fn report(texts: &[&str]) -> Report {
        let sides = found(texts).unwrap();
        let plan = Plan { scheds: texts.len(), seeds: vec![1, 2], jobs: 2, check_determinism: false };
        let results = Executor::batch(&sides.experiments, &plan, None, &Stop::default(), &|_| ()).unwrap();
        let mut report = sides.report(&plan.seeds, &results);
        report.keep(&sides.selected(&Selection::Usual, &[]).unwrap());
        assert_eq!(report.failures, []);
        report
    }

    fn names(report: &Report) -> [&str; 2] {
        [&report.comparisons[0].base.name, &report.comparisons[0].test.name]
    }

    fn has(report: &Report, metric: &str) -> bool {
        report.comparisons[0].rows.iter().any(|row| row.metric.name == metric)
    }

    fn refused(text: &str) -> String {
        let SideError { option, problem, help } = SideSpec::parse("--test", text).unwrap_err();
        format!("{option}: {problem}; {help}")
    }

    #[test]
    fn two_governors_are_compared_under_one_scheduler() {
        let report = report(&["governor=performance", "governor=powersave"]);
        assert_eq!(names(&report), ["governor=performance", "governor=powersave"]);
        assert_eq!(report.common.get("sched"), Some("fair:v6.12"));
        assert!(!report.comparisons[0].identical() && has(&report, "ops_per_sec"));
        assert!(
            report.notes.iter().all(|note| !note.starts_with("governor") && !note.contains("differ")),
            "{:?}",
            report.notes
        );
    }

    #[test]
    fn two_machines_are_compared_by_what_both_report() {
        let report = report(&["fair:v6.12", "machine=hikey"]);
        assert_eq!(names(&report), ["machine=hikey960", "machine=hikey"]);
        assert_eq!((report.common.get("machine"), report.common.get("sched")), (None, Some("fair:v6.12")));
        assert!(has(&report, "ops_per_sec") && has(&report, "energy_j"));
        assert!(report.notes.iter().any(|note| note.contains("differ in machine")), "{:?}", report.notes);
    }

    #[test]
    fn two_workloads_are_compared_by_what_both_report() {
        let report = report(&["fair:v6.12", "workload=hackbench:groups=1,loops=2"]);
        assert_eq!(names(&report)[1], "workload=hackbench:groups=1,loops=2");
        assert!(has(&report, "migrations") && !has(&report, "ops_per_sec") && !has(&report, "time_s"));
        let alone = report.notes.iter().find(|note| note.starts_with("not compared")).unwrap();
        assert!(alone.contains("ops_per_sec") && alone.contains("time_s") && !alone.contains("energy_j"), "{alone}");
        assert!(found(&["fair:v6.12", "workload=hackbench"]).unwrap().metrics().iter().all(|m| m.name != "time_s"));
    }

    #[test]
    fn sysctls_tick_rates_and_idle_governors_differ_by_side() {
        let sides =
            found(&["hz=1000 sched_util_clamp_min=0", "kernel.sched_util_clamp_min=128 idle_governor=teo"]).unwrap();
        let configs: Vec<_> = sides.experiments.iter().map(|e| (e.config.hz, e.config.clamps.min)).collect();
        assert_eq!(configs, [(1000, 0), (250, 128)]);
        let report = Report::new(&sides.settings, &[], &vec![vec![], vec![]]);
        assert_eq!(
            names(&report),
            ["hz=1000 idle_governor=menu sched_util_clamp_min=0", "hz=250 idle_governor=teo sched_util_clamp_min=128"]
        );
    }

    #[test]
    fn equal_sides_make_the_same_run() {
        let report = report(&["fair:v6.12", "sched=fair:v6.12 governor=performance"]);
        assert_eq!(names(&report), ["fair:v6.12", "fair:v6.12"]);
        assert!(report.comparisons[0].identical());
    }

    #[test]
    fn what_all_sides_share_is_noted_and_what_one_has_names_it() {
        let side = |text| SideSpec::parse("--base", text).unwrap();
        let config = RunConfig { governor: fairground_sim::Governor::Powersave, ..RunConfig::default() };
        let sides = [side("fair:v5.9"), side("fair:v5.9 hz=1000")];
        let sides = Sides::find(&sides, &common(config), &Workers::default()).unwrap();
        let report = sides.report(&[], &vec![vec![], vec![]]);
        assert!(report.notes.contains(&"governor: powersave".into()) && !report.notes.contains(&"hz: 1000".into()));
        assert_eq!(names(&report), ["hz=250", "hz=1000"]);
    }

    #[test]
    fn settings_by_name_are_those_of_words_and_may_have_spaces() {
        let settings = [("sched", "fair:v5.9"), ("machine", "hikey"), ("hz", "1000")];
        let parsed = SideSpec::parse("--base", "sched=fair:v5.9 machine=hikey hz=1000").unwrap();
        assert_eq!(SideSpec::of_settings("--base", &settings).unwrap(), parsed);
        let spaced = SideSpec::of_settings("--base", &[("machine", "my machine.toml")]).unwrap();
        assert_eq!(spaced.machine(), Some("my machine.toml"));
        let twice = SideSpec::of_settings("--base", &[("hz", "100"), ("hz", "250")]).unwrap_err();
        assert!(twice.to_string().contains("hz is given twice"), "{twice}");
    }

    #[test]
    fn mistakes_name_the_option_the_setting_and_what_was_expected() {
        let unknown = refused("fair:v6.12 goverour=schedutil");
        assert!(
            unknown.starts_with("--test: there is no setting \"goverour\"; did you mean `governor`? expected"),
            "{unknown}"
        );
        assert!(unknown.contains("machine") && unknown.contains("hz"), "{unknown}");
        assert!(refused("governor=schedutill").contains("governor \"schedutill\"; did you mean `schedutil`?"));
        assert!(refused("hz=123").contains("hz 123; expected 100, 250"));
        assert!(refused("governor:schedutil").contains("write governor=schedutil"));
        assert!(refused("fair:v5.9 fair:v6.1").contains("sched is given twice, as fair:v5.9 and as fair:v6.1"));
        assert!(refused("hz=100 hz=250").contains("hz is given twice"));
        assert!(refused("machine=").contains("names no machine"));
        assert!(refused(" ").contains("no setting"));
        let message = |error: SidesError| error.to_string();
        assert!(message(found(&["fair:v6.12", "v5.9"]).err().unwrap()).contains("does not name its family"));
        assert!(message(found(&["machine=hikey", "machine=hikey"]).err().unwrap())
            .contains("no side runs machine `hikey960`"));
        let alone = Common { sched: None, ..common(RunConfig::default()) };
        let side = SideSpec::parse("--base", "governor=powersave").unwrap();
        let error = Sides::find(&[side], &alone, &Workers::default()).err().unwrap();
        assert!(error.to_string().contains("--base: `governor=powersave` names no scheduler"), "{error}");
        let help = error.help().unwrap().to_string();
        assert!(help.contains(&format!("--base '{} governor=powersave'", Features::newest())), "{help}");
    }
}

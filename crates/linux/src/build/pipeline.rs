//! A build from tree to library, in the order of its steps.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::cache::{check_name, BuildLock, BuiltKernel, Kernels, Record};
use super::config::{Config, ConfigRequest, IgnoredOption};
use super::error::BuildError;
use super::inputs::{self, Input, InputRecord, Made};
use super::kbuild::{self, Listed, SCHED};
use super::kconfig::Options;
use super::link::{self, LinkResult, LoadTest};
use super::make::{Workshop, CODE_FLAGS};
use super::probes::{self, Findings};
use super::tree::{self, Tree};
use super::{embedded, files, objects, overlay, seed, tools, uncompiled};

/// Names in a work directory. The overlay: links over the tree, and the objects in `build` below.
pub(super) const OVERLAY: &str = "tree";
/// Compiler and release that the objects are of.
pub(super) const MAKER: &str = "maker";
/// Number of the plan that configuration and probes are of.
pub(super) const PREPARED: &str = "prepared";
/// What the objects are made of ([`Made`]).
pub(super) const MADE: &str = "made.json";
/// The tree's defaults of options that Fairground does not know.
pub(super) const DEFAULTS: &str = "defaults.config";

/// What the C side learns from probes, below the build directory.
const PROBED: &str = "include/generated/ks_probes.h";
/// File systems tell time in ticks of at most this.
const TICK: Duration = Duration::from_millis(20);

/// What the user requests of a build.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Root of the kernel source tree.
    pub tree: PathBuf,
    /// `linux:NAME`; none: the tree's release, e.g. `v6.12.117`.
    pub name: Option<String>,
    /// A kernel's `.config` whose scheduler options are taken over.
    pub config: Option<PathBuf>,
    /// Settings `CONFIG_X=v`, which override those of the file.
    pub set: Vec<String>,
    /// Also build checks of locks, lists and sleeping in atomic context, which make runs slower.
    pub debug: bool,
    /// Parallel jobs; none: as many as CPUs.
    pub jobs: Option<NonZeroUsize>,
}

/// A build that succeeded.
#[derive(Clone, Debug)]
pub struct BuildResult {
    /// The kernel that was built.
    pub kernel: BuiltKernel,
    /// Whether anything had to be made; otherwise the library was there already.
    pub made: bool,
}

/// The step at which a build is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Another build of the same name goes first.
    Waiting,
    /// The tree is laid out in the cache.
    LayingOut,
    /// Kconfig, and what the kernel's build needs first.
    Configuring,
    /// Probes are compiled to find which features the tree has.
    Probing,
    /// Objects are compiled: the number that is done, and the largest number that may be needed.
    Compiling(usize, usize),
    /// The objects are linked to a shared library.
    Linking,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Step::Waiting => f.write_str("waiting for another build of the same name"),
            Step::LayingOut => f.write_str("laying the tree out"),
            Step::Configuring => f.write_str("configuring"),
            Step::Probing => f.write_str("probing what the tree has"),
            Step::Compiling(done, all) => write!(f, "compiling {done}/{all}"),
            Step::Linking => f.write_str("linking"),
        }
    }
}

impl Kernels {
    /// Builds a tree, unless its library is there already. A build that fails leaves what was there before, with a
    /// note.
    pub fn build(&self, request: &Request, tell: &mut dyn FnMut(Step)) -> Result<BuildResult, BuildError> {
        let tree = Tree::open(&request.tree)?;
        let name = request.name.clone().unwrap_or_else(|| tree.default_name());
        check_name(&name)?;
        let result = self.build_as(&name, &tree, request, tell).map_err(|error| tree.blame(error));
        match &result {
            Ok(_) => self.clear_failure(&name)?,
            Err(error) => self.note_failure(&name, error),
        }
        let made = result?;
        Ok(BuildResult { kernel: self.open(&name)?, made })
    }

    /// Whether anything had to be made.
    fn build_as(
        &self,
        name: &str,
        tree: &Tree,
        request: &Request,
        tell: &mut dyn FnMut(Step),
    ) -> Result<bool, BuildError> {
        let given = request.config.as_deref().map(Config::read).transpose()?.unwrap_or_default();
        let set = Config::from_settings(&request.set)?;
        let offered = Options::scan(&tree.path)?;
        let wanted = ConfigRequest::new(&given, set, offered.of_scheduler(&tree.path)?)?.with_debug(request.debug)?;
        wanted.check_set(&offered)?;
        tools::check()?;
        let plan = Plan::new(tree, wanted)?;
        let held = self.hold(name, &mut || tell(Step::Waiting))?;
        let before = self.open(name).ok().map(|kernel| kernel.record);
        if before.as_ref().is_some_and(|record| plan.is_done_by(record)) {
            return Ok(false);
        }
        let jobs = request.jobs.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
        let job = Job { kernels: self, name, plan: &plan, held: &held, jobs, before };
        job.run(tell).map_err(|error| plan.blame_defaults(error, &job.defaults()))?;
        Ok(true)
    }
}

/// All that decides what comes out.
struct Plan<'a> {
    tree: &'a Tree,
    wanted: ConfigRequest,
    compiler: String,
    /// Number of the C side, hex.
    own: String,
    /// Number of all but the tree, hex.
    made_with: String,
}

impl Plan<'_> {
    fn new(tree: &Tree, wanted: ConfigRequest) -> Result<Plan<'_>, BuildError> {
        let (fragment, compiler) = (wanted.fragment()?, tools::identity()?);
        let own = embedded::digest();
        let new: String = wanted.undecided().into_iter().collect::<Vec<_>>().join(" ");
        let made_with = inputs::digest(&[], &[&own, &fragment, &new, &compiler, CODE_FLAGS, &tree.release]);
        Ok(Plan { tree, wanted, compiler, own, made_with })
    }

    /// Whether a build of this would make the same again.
    fn is_done_by(&self, record: &Record) -> bool {
        record.made_with == self.made_with
            && record.asked == self.wanted.number()
            && record.tree == self.tree.path
            && inputs::changed(&self.tree.path, &record.inputs, record.since).is_empty()
    }

    /// The error of a build with options on that Fairground does not know: they may be its cause.
    fn blame_defaults(&self, error: BuildError, defaults: &Config) -> BuildError {
        let on = defaults.enabled();
        let is_of_code =
            matches!(&error, BuildError::Make { .. } | BuildError::Unresolved { .. } | BuildError::Load { .. });
        match is_of_code && !on.is_empty() {
            true => BuildError::WithDefaults { error: Box::new(error), options: on.into_iter().collect() },
            false => error,
        }
    }
}

struct Job<'a> {
    kernels: &'a Kernels,
    name: &'a str,
    plan: &'a Plan<'a>,
    held: &'a BuildLock,
    jobs: usize,
    before: Option<Record>,
}

impl Job<'_> {
    fn run(&self, tell: &mut dyn FnMut(Step)) -> Result<(), BuildError> {
        let since = settle();
        tell(Step::LayingOut);
        let mut workshop = self.lay_out()?;
        let made = self.made();
        let changed = self.forget_changed(&workshop, made.as_ref())?;
        // Until the objects are made again, nothing says what they were made of.
        files::remove(&self.held.work().join(MADE))?;
        let built = self.make(&mut workshop, &changed, tell);
        let made = self.record_made(&workshop, since);
        // The error of the build comes first: that the record cannot be written may follow from it.
        let built = built?;
        self.publish(made?, built)
    }

    /// Keeps what the objects were made of.
    fn record_made(&self, workshop: &Workshop, since: i64) -> Result<Made, BuildError> {
        let inputs = InputRecord::read(&workshop.overlay)?.inputs(&self.plan.tree.path, since)?;
        let made = Made { since, inputs, own: self.plan.own.clone() };
        made.write(&self.held.work().join(MADE))?;
        Ok(made)
    }

    /// Everything that make, compiler and linker do.
    fn make(
        &self,
        workshop: &mut Workshop,
        changed: &Option<Vec<String>>,
        tell: &mut dyn FnMut(Step),
    ) -> Result<Built, BuildError> {
        if !self.is_prepared(changed) {
            files::remove(&self.held.work().join(PREPARED))?;
            tell(Step::Configuring);
            self.configure(workshop)?;
            tell(Step::Probing);
            self.probe(workshop)?;
            files::write_changed(&self.held.work().join(PREPARED), self.plan.made_with.as_bytes())?;
        }
        let config = Config::read(&workshop.build().join(".config"))?;
        let ignored = self.plan.wanted.ignored(&config)?;
        let listed = kbuild::listed(workshop)?;
        let objects = [objects::wanted(&workshop.overlay), listed.more.clone()].concat();
        compile(workshop, &objects, tell)?;
        tell(Step::Linking);
        let linked = link::link(workshop, &objects)?;
        let loaded = link::load_test(workshop, &linked.library)?;
        Ok(Built { config, ignored, listed, linked, loaded })
    }

    fn publish(&self, made: Made, built: Built) -> Result<(), BuildError> {
        let (tree, Made { since, inputs, .. }) = (self.plan.tree, made);
        let left_out = inputs::left_out(&tree.path, &inputs, since)?;
        let record = Record {
            release: tree.release.clone(),
            tree: tree.path.clone(),
            built: since_1970().as_secs(),
            compiler: self.plan.compiler.clone(),
            nr_cpus: built.loaded.max_cpus,
            hz: built.loaded.hz,
            options: self.plan.wanted.relevant(&built.config).enabled(),
            warnings: self.warnings(&built),
            beside_others: self.beside_others(&inputs, &left_out)?,
            ignored: built.ignored,
            unrelated: self.plan.wanted.unrelated,
            not_observable: built.linked.not_observable,
            stubbed: built.linked.stubbed,
            code_hash: built.linked.code,
            made_with: self.plan.made_with.clone(),
            since,
            inputs,
            left_out,
            asked: self.plan.wanted.number(),
            ..Record::default()
        };
        self.held.publish(&built.linked.library, &record.sealed())
    }

    /// What of tree and configuration is not in the library.
    fn warnings(&self, built: &Built) -> Vec<String> {
        let mut warnings = self.plan.wanted.lost_defaults(&self.defaults(), &built.config);
        warnings.extend(self.plan.wanted.lost_checks(&built.config));
        warnings.extend(tree::outside_of_range(&self.plan.tree.release));
        for object in &built.listed.not_built {
            warnings.push(format!("{SCHED}/{object} is compiled, although the tree's own makefile does not list it"));
        }
        warnings
    }

    /// Sources that are not in the library, by what other kernels of this release leave out.
    fn beside_others(&self, inputs: &[Input], left_out: &[Input]) -> Result<Vec<String>, BuildError> {
        let others =
            self.kernels.list()?.into_iter().flatten().filter(|other| other.record.release == self.plan.tree.release);
        let others: Vec<BuiltKernel> = others.collect();
        Ok(uncompiled::warnings(inputs, left_out, &others))
    }

    /// What the last run of make here made; none if it is not known.
    fn made(&self) -> Option<Made> {
        Made::read(&self.held.work().join(MADE))
    }

    /// Overlay and C side as they must be. What another compiler made, or of another release, goes.
    fn lay_out(&self) -> Result<Workshop<'_>, BuildError> {
        let (tree, work, plan) = (&self.plan.tree.path, self.held.work(), self.plan);
        let overlay_dir = work.join(OVERLAY);
        let maker = format!("{}\n{}\n", plan.compiler, plan.tree.release);
        if !work.join(MAKER).exists() {
            seed::plant(self.kernels, self.name, tree, &work, &maker, &plan.made_with, &plan.own)?;
        }
        if files::write_changed(&work.join(MAKER), maker.as_bytes())? {
            files::remove_dir(&overlay_dir.join(embedded::BUILD))?;
            files::remove(&work.join(MADE))?;
        }
        overlay::sync(tree, &overlay_dir, &[objects::possible(), kbuild::places(tree)?].concat())?;
        embedded::lay_out(&overlay_dir)?;
        files::make_dir(&overlay_dir.join(embedded::BUILD))?;
        Workshop::new(tree, overlay_dir, self.held.log(), self.jobs)
    }

    /// Removes objects of what has changed since they were made, and names it. None: it is not known of what they were
    /// made.
    fn forget_changed(&self, workshop: &Workshop, made: Option<&Made>) -> Result<Option<Vec<String>>, BuildError> {
        let tree = &self.plan.tree.path;
        let of_library = self.before.as_ref().map(|record| (record.inputs.as_slice(), record.since));
        let of_objects = made.map(|made| (made.inputs.as_slice(), made.since));
        let Some((inputs, since)) = of_objects.or(of_library) else { return Ok(None) };
        let changed = inputs::changed(tree, inputs, since);
        InputRecord::read(&workshop.overlay)?.forget(&changed)?;
        let Some(made) = made else { return Ok(None) };
        let changed = Some(changed.into_iter().map(String::from).collect());
        // Make goes by dates. They tell nothing where content tells all: the C side is the same as well.
        if made.own == self.plan.own && made.is_touched(tree) {
            inputs::refresh(&workshop.build())?;
            if !self.is_prepared(&changed) {
                inputs::expire_configuration(&workshop.build())?;
            }
        }
        Ok(changed)
    }

    /// Whether configuration and probes would give what they gave: nothing they read has changed.
    fn is_prepared(&self, changed: &Option<Vec<String>>) -> bool {
        let same_plan =
            std::fs::read(self.held.work().join(PREPARED)).is_ok_and(|m| m == self.plan.made_with.as_bytes());
        let is_plain_source = |path: &String| path.ends_with(".c") && !path.starts_with("scripts/");
        let sources_only = changed.as_ref().is_some_and(|c| c.iter().all(is_plain_source));
        same_plan && sources_only && !probes::read_sources()
    }

    fn configure(&self, workshop: &mut Workshop) -> Result<(), BuildError> {
        let wanted = &self.plan.wanted;
        let (fragment, defaults) = (self.held.work().join("fragment.config"), self.held.work().join(DEFAULTS));
        let all = format!("KCONFIG_ALLCONFIG={}", fragment.display());
        let undecided = wanted.undecided();
        let mut found = Config::default();
        if !undecided.is_empty() {
            // Kconfig itself says what the tree's defaults are: they may depend on other options.
            files::write_changed(&fragment, wanted.fragment()?.as_bytes())?;
            workshop.make("configuring", &["alldefconfig".into(), all.clone()], &mut |_| {})?;
            found = Config::read(&workshop.build().join(".config"))?.only(&undecided);
        }
        files::write_changed(&defaults, found.to_text().as_bytes())?;
        files::write_changed(&fragment, wanted.fragment_with(&found)?.as_bytes())?;
        workshop.make("configuring", &["allnoconfig".into(), all], &mut |_| {})?;
        // The C side includes it from the start; what it says is known only after the first look at the tree.
        let probed = workshop.build().join(PROBED);
        if !probed.exists() {
            files::write_changed(&probed, b"")?;
        }
        workshop.make("preparing", &["prepare".into()], &mut |_| {})
    }

    /// The tree's own values of options that Fairground does not know, as of the last configuration.
    fn defaults(&self) -> Config {
        Config::read(&self.held.work().join(DEFAULTS)).unwrap_or_default()
    }

    fn probe(&self, workshop: &mut Workshop) -> Result<(), BuildError> {
        let findings = Findings::gather(workshop)?;
        if !findings.missing.is_empty() {
            let release = self.plan.tree.release.clone();
            let log = workshop.log_path().to_owned();
            return Err(BuildError::Probes { release, missing: findings.missing, log });
        }
        files::write_changed(&workshop.build().join(PROBED), findings.header().as_bytes()).map(drop)
    }
}

/// What came of a run of make that succeeded.
struct Built {
    config: Config,
    ignored: Vec<IgnoredOption>,
    listed: Listed,
    linked: LinkResult,
    loaded: LoadTest,
}

/// Waits until no file can be changed from now on and have a date that a change before the build could have, too.
/// Returns that date, ns since 1970.
fn settle() -> i64 {
    thread::sleep(2 * TICK);
    i64::try_from(since_1970().saturating_sub(TICK).as_nanos()).unwrap_or(i64::MAX)
}

fn compile(workshop: &mut Workshop, objects: &[String], tell: &mut dyn FnMut(Step)) -> Result<(), BuildError> {
    let mut done = 0;
    tell(Step::Compiling(done, objects.len()));
    workshop.make("compiling", objects, &mut |line| {
        if line.trim_start().starts_with("CC ") && done < objects.len() {
            done += 1;
            tell(Step::Compiling(done, objects.len()));
        }
    })
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

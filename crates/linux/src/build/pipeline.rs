//! A build from tree to library, in the order of its steps.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::cache::{check_name, BuildLock, BuiltKernel, Kernels, Record};
use super::config::{Config, ConfigRequest};
use super::error::BuildError;
use super::inputs::{self, InputRecord};
use super::link;
use super::make::Workshop;
use super::probes::{self, Findings};
use super::tree::Tree;
use super::{embedded, files, objects, overlay, tools};

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
    /// Builds a tree, unless its library is there already. A build that fails leaves what was there before.
    pub fn build(&self, request: &Request, tell: &mut dyn FnMut(Step)) -> Result<BuildResult, BuildError> {
        let tree = Tree::open(&request.tree)?;
        let name = request.name.clone().unwrap_or_else(|| tree.default_name());
        check_name(&name)?;
        let given = request.config.as_deref().map(Config::read).transpose()?.unwrap_or_default();
        let wanted = ConfigRequest::new(&given, Config::from_settings(&request.set)?);
        tools::check()?;
        let plan = Plan::new(&tree, wanted)?;
        let held = self.hold(&name, &mut || tell(Step::Waiting))?;
        let before = self.open(&name).ok();
        if let Some(kernel) = before.clone().filter(|k| plan.is_done_by(&k.record)) {
            return Ok(BuildResult { kernel, made: false });
        }
        let jobs = request.jobs.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
        Job { plan: &plan, held: &held, jobs, before: before.map(|k| k.record) }.run(tell)?;
        Ok(BuildResult { kernel: self.open(&name)?, made: true })
    }
}

/// All that decides what comes out.
struct Plan<'a> {
    tree: &'a Tree,
    wanted: ConfigRequest,
    fragment: String,
    compiler: String,
    /// Number of all but the tree, hex.
    made_with: String,
}

impl Plan<'_> {
    fn new(tree: &Tree, wanted: ConfigRequest) -> Result<Plan<'_>, BuildError> {
        let (fragment, compiler) = (wanted.fragment()?, tools::identity()?);
        let own = embedded::digest();
        let made_with = inputs::digest(&[], &[&own, &fragment, &compiler, &tree.release]);
        Ok(Plan { tree, wanted, fragment, compiler, made_with })
    }

    /// Whether a build of this would make the same again.
    fn is_done_by(&self, record: &Record) -> bool {
        record.made_with == self.made_with
            && record.asked == self.wanted.number()
            && record.tree == self.tree.path
            && inputs::changed(&self.tree.path, &record.inputs, record.since).is_empty()
    }
}

struct Job<'a> {
    plan: &'a Plan<'a>,
    held: &'a BuildLock,
    jobs: usize,
    before: Option<Record>,
}

impl Job<'_> {
    fn run(&self, tell: &mut dyn FnMut(Step)) -> Result<(), BuildError> {
        let since = since_1970().saturating_sub(TICK);
        let tree = self.plan.tree;
        tell(Step::LayingOut);
        let mut workshop = self.lay_out()?;
        let changed = self.forget_changed(&workshop)?;
        if !self.is_prepared(&changed) {
            files::remove(&self.marker())?;
            tell(Step::Configuring);
            self.configure(&mut workshop)?;
            tell(Step::Probing);
            self.probe(&mut workshop)?;
        }
        let built = Config::read(&workshop.build().join(".config"))?;
        let ignored = self.plan.wanted.ignored(&built)?;
        let objects = objects::wanted(&workshop.overlay);
        compile(&mut workshop, &objects, tell)?;
        tell(Step::Linking);
        let linked = link::link(&mut workshop, &objects)?;
        let loaded = link::load_test(&mut workshop, &linked.library)?;
        let since = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        let record = Record {
            release: tree.release.clone(),
            tree: tree.path.clone(),
            built: since_1970().as_secs(),
            compiler: self.plan.compiler.clone(),
            nr_cpus: loaded.max_cpus,
            hz: loaded.hz,
            options: built.relevant().enabled(),
            ignored,
            unrelated: self.plan.wanted.unrelated,
            not_observable: linked.not_observable,
            stubbed: linked.stubbed,
            made_with: self.plan.made_with.clone(),
            since,
            inputs: InputRecord::read(&workshop.overlay)?.inputs(&tree.path, since)?,
            asked: self.plan.wanted.number(),
            ..Record::default()
        };
        let record = record.sealed();
        self.held.publish(&linked.library, &record)?;
        files::write_changed(&self.marker(), self.plan.made_with.as_bytes()).map(drop)
    }

    /// Says that configuration and probes are those of a plan, if it holds its number.
    fn marker(&self) -> PathBuf {
        self.held.work().join("prepared")
    }

    /// Overlay and C side as they must be. What another compiler made, or of another release, goes.
    fn lay_out(&self) -> Result<Workshop<'_>, BuildError> {
        let tree = &self.plan.tree.path;
        let overlay_dir = self.held.work().join("tree");
        let maker = format!("{}\n{}\n", self.plan.compiler, self.plan.tree.release);
        if files::write_changed(&self.held.work().join("maker"), maker.as_bytes())? {
            files::remove_dir(&overlay_dir.join(embedded::BUILD))?;
        }
        overlay::sync(tree, &overlay_dir, &objects::possible())?;
        embedded::lay_out(&overlay_dir)?;
        files::make_dir(&overlay_dir.join(embedded::BUILD))?;
        Workshop::new(tree, overlay_dir, self.held.log(), self.jobs)
    }

    /// Removes objects of what has changed since the last library, and names it. None: there was no library.
    fn forget_changed(&self, workshop: &Workshop) -> Result<Option<Vec<String>>, BuildError> {
        let Some(before) = &self.before else { return Ok(None) };
        let changed = inputs::changed(&self.plan.tree.path, &before.inputs, before.since);
        InputRecord::read(&workshop.overlay)?.forget(&changed)?;
        Ok(Some(changed.into_iter().map(String::from).collect()))
    }

    /// Whether configuration and probes would give what they gave: nothing they read has changed.
    fn is_prepared(&self, changed: &Option<Vec<String>>) -> bool {
        let same_plan = std::fs::read(self.marker()).is_ok_and(|m| m == self.plan.made_with.as_bytes());
        let is_plain_source = |path: &String| path.ends_with(".c") && !path.starts_with("scripts/");
        let sources_only = changed.as_ref().is_some_and(|c| c.iter().all(is_plain_source));
        same_plan && sources_only && !probes::read_sources()
    }

    fn configure(&self, workshop: &mut Workshop) -> Result<(), BuildError> {
        let fragment = self.held.work().join("fragment.config");
        files::write_changed(&fragment, self.plan.fragment.as_bytes())?;
        let all = format!("KCONFIG_ALLCONFIG={}", fragment.display());
        workshop.make("configuring", &["allnoconfig".into(), all], &mut |_| {})?;
        // The C side includes it from the start; what it says is known only after the first look at the tree.
        let probed = workshop.build().join(PROBED);
        if !probed.exists() {
            files::write_changed(&probed, b"")?;
        }
        workshop.make("preparing", &["prepare".into()], &mut |_| {})
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

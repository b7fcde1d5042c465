//! Doubt: within what factor a figure is known, which figures err together, and machines drawn from that.
//!
//! A figure `x` of spread `f` is log-normal round its stated value: two thirds of what it may be lie within `x / f` and
//! `x * f`, 90 % within a factor `f^1.645`. [`KINDS`] and [`CLASSES`] are the defaults; their reasons stand in
//! `machines/README.md`, section "Doubt".
//!
//! A draw is counter-based: the factor of a figure is a function of the number of the draw and the figure's path, so it
//! depends neither on the order of the file nor on other figures. Draw 0 is the machine as it stands.
//!
//! Where published base cells weigh the figures of a preset, draws of it come from there ([`DrawLaw`], [`Posterior`]).

mod law;
mod posterior;

use std::collections::BTreeMap;

use xxhash_rust::xxh3::Xxh3;

use crate::file;
use crate::{CpuType, Distance, Figure, Machine, MachineError, SoftCost, Source, SourceClass};

pub use self::law::DrawLaw;
pub use self::posterior::{Posterior, EFFECTIVE_MIN};

/// What passes usually of a time into an idle state, or out of it, that a device tree declares: that is the worst case.
pub(crate) struct UsualTime {
    /// The part of the declared time.
    pub part: f64,
    /// Within what factor it is known.
    pub spread: f64,
}

/// Of entries (docs/spec/measured.md, section 2).
pub(crate) const USUAL_ENTRY: UsualTime = UsualTime { part: 0.35, spread: 2.0 };
/// Of wakes (docs/spec/measured.md, section 2).
pub(crate) const USUAL_WAKE: UsualTime = UsualTime { part: 0.5, spread: 1.7 };

impl UsualTime {
    /// What passes usually, in whole ns.
    pub fn ns(&self, declared_ns: u64) -> u64 {
        (declared_ns as f64 * self.part).round() as u64
    }
}

/// The greatest spread that a file may state.
pub(crate) const SPREAD_MAX: f64 = 10.0;

/// The part of a log-variance that a figure shares with others of its kind; the rest is its own. Nothing that was
/// measured tells the parts apart: halves correlate two figures by 0.5.
const COMMON: f64 = 0.5;

/// What sockets share: the price of both directions is known within a factor 1.5, their ratio within 1.15
/// (docs/spec/measured.md, section 2): 2 x (1 - c) x ln(1.5)^2 = ln(1.15)^2.
const COMMON_OF_SOCKETS: f64 = 0.94;

/// Kinds of figures that differ from their class; the first whose pattern fits counts. `*` stands for any text.
const KINDS: &[Kind] = &[
    Kind::exact("topology*"),
    Kind::exact("vote[*"),
    Kind::exact("*.capacity").of("cpu_type."),
    Kind::exact("*.efficiency"),
    Kind::exact("*.exit_latency"),
    Kind::exact("*.residency"),
    Kind::exact("*.reported"),
    Kind::exact("thermal.zone.*"),
    Kind::exact("thermal.ambient"),
    Kind::exact("thermal.start"),
    Kind::exact("thermal.step"),
    Kind::estimated("thermal.*", 2.0),
    Kind { declared: Some(USUAL_ENTRY.spread), ..Kind::shared("*.entry", "idle times") },
    Kind { declared: Some(USUAL_WAKE.spread), estimate: Some(1.5), ..Kind::shared("*.wake", "idle times") },
    Kind::plain("*.late"),
    Kind::plain("*.late_share"),
    Kind::plain("*.wake_scatter"),
    Kind::shared("cpu_type.*.power", "power"),
    Kind::shared("cpu_type.*.transition", "power"),
    Kind::estimated("*.smt_throughput", 1.12),
    Kind::shared("cluster[*", "power"),
    Kind::shared("freq_domain[*.opps", "power"),
    Kind { declared: Some(1.0), stated: Some(1.0), estimate: Some(1.15), ..Kind::plain("cache[*.size") },
    Kind { estimate: Some(1.35), ..Kind::shared("cache[*.refill_kib", "refills") },
    Kind { estimate: Some(1.35), ..Kind::shared("refill.memory_kib.*", "refills") },
    Kind { estimate: Some(1.35), ..Kind::shared("costs.refill_kib.*", "refills") },
    Kind::estimated("refill.modified", 1.6),
    // Not fitted it converts units: the doubt is in the costs.
    Kind { declared: Some(1.0), stated: Some(1.0), estimate: Some(1.0), ..Kind::plain("costs.scale") },
    Kind { estimate: Some(1.5), common: COMMON_OF_SOCKETS, ..Kind::shared("costs.soft.sock_*", "sockets") },
    Kind { estimate: Some(1.5), ..Kind::shared("costs.soft.fork", "processes") },
    Kind { estimate: Some(1.5), ..Kind::shared("costs.soft.exit", "processes") },
    Kind { estimate: Some(1.6), ..Kind::shared("costs.soft.clone_thread", "processes") },
    Kind { estimate: Some(2.0), ..Kind::shared("costs.soft.exec", "processes") },
    Kind { estimate: Some(1.7), ..Kind::shared("costs.soft.probe", "lines") },
    Kind::shared("costs.soft.group_cpu", "lines"),
    Kind::shared("costs.soft.migrate", "lines"),
    Kind { estimate: Some(1.25), ..Kind::shared("costs.soft.syscall", SOFTWARE) },
    Kind { estimate: Some(1.4), ..Kind::shared("costs.soft.pipe_*", SOFTWARE) },
    Kind { estimate: Some(1.4), ..Kind::shared("costs.soft.wakeup", SOFTWARE) },
    Kind { estimate: Some(1.4), ..Kind::shared("costs.soft.*queue", SOFTWARE) },
    Kind { estimate: Some(1.4), ..Kind::shared("costs.soft.ipi_*", SOFTWARE) },
    Kind { estimate: Some(1.4), ..Kind::shared("costs.soft.pick", SOFTWARE) },
    Kind { estimate: Some(1.4), ..Kind::shared("costs.soft.switch_*", SOFTWARE) },
    Kind::shared("costs.soft.*", SOFTWARE),
    Kind { estimate: Some(1.4), ..Kind::shared("costs.ipi.*", "flights of IPIs") },
    Kind { estimate: Some(1.4), ..Kind::shared("costs.line.*", "lines") },
    Kind { estimate: Some(1.4), ..Kind::shared("costs.line_read.*", "lines") },
    Kind::shared("costs.line_next.*", "lines"),
];

/// What the software costs of a machine share.
const SOFTWARE: &str = "software costs";

/// The spreads of the classes, for kinds that [`KINDS`] does not set.
const CLASSES: [(&str, f64); 5] =
    [("measured", 1.1), ("declared", 1.3), ("datasheet", 1.15), ("estimate", 1.6), ("fitted", 1.06)];

/// The parts of half a sched-pipe operation, from the write to the woken reader's return, and how often each is paid.
/// Where `costs.scale` is fitted to sched-pipe, their sum is what was fitted.
const PIPE_HALF: [(SoftCost, f64); 9] = [
    (SoftCost::Syscall, 2.0),
    (SoftCost::PipeWrite, 1.0),
    (SoftCost::PipeRead, 1.0),
    (SoftCost::Wakeup, 1.0),
    (SoftCost::Enqueue, 1.0),
    (SoftCost::IpiSend, 1.0),
    (SoftCost::IpiIrq, 1.0),
    (SoftCost::Pick, 1.0),
    (SoftCost::SwitchThread, 1.0),
];

/// Figures whose paths fit a pattern.
struct Kind {
    /// The whole path, with `*` for any text.
    pattern: &'static str,
    /// What the path must begin with besides.
    prefix: &'static str,
    /// Spread where the class is `declared`; none: that of the class.
    declared: Option<f64>,
    /// Spread where the class is `measured` or `datasheet`; none: that of the class.
    stated: Option<f64>,
    /// Spread of an estimate; none: that of the class.
    estimate: Option<f64>,
    /// What such figures share with others, by name.
    shares: Option<&'static str>,
    /// The part of their log-variance that they share.
    common: f64,
    is_exact: bool,
}

impl Kind {
    const fn plain(pattern: &'static str) -> Kind {
        let (declared, stated, estimate, shares) = (None, None, None, None);
        Kind { pattern, prefix: "", declared, stated, estimate, shares, common: COMMON, is_exact: false }
    }

    const fn exact(pattern: &'static str) -> Kind {
        Kind { is_exact: true, ..Kind::plain(pattern) }
    }

    const fn estimated(pattern: &'static str, spread: f64) -> Kind {
        Kind { estimate: Some(spread), ..Kind::plain(pattern) }
    }

    const fn shared(pattern: &'static str, with: &'static str) -> Kind {
        Kind { shares: Some(with), ..Kind::plain(pattern) }
    }

    const fn of(self, prefix: &'static str) -> Kind {
        Kind { prefix, ..self }
    }

    /// The kind of the figure at `path`; none: it has nothing but its class.
    fn find(path: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| path.starts_with(kind.prefix) && fits(kind.pattern, path))
    }

    fn spread(&self, source: &Source) -> Option<f64> {
        match source {
            Source::Published(SourceClass::Declared, _) => self.declared,
            Source::Published(..) => self.stated,
            Source::Estimate(_) => self.estimate,
            Source::Fitted(_) => None,
        }
    }
}

/// Whether `text` is `pattern`, in which one `*` at most stands at each of start, middle and end.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pattern.rsplit('*').next().filter(|_| pattern.contains('*')) else { return rest.is_empty() };
    let middle: Vec<&str> = parts.collect();
    for part in &middle[..middle.len() - 1] {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Whether the figure at `path` is never drawn, whatever its source: an arrangement, a clock, what the kernel is told.
pub(crate) fn is_exact(path: &str) -> bool {
    Kind::find(path).is_some_and(|kind| kind.is_exact)
}

/// How far a figure may be off, and with which others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubt {
    /// The factor within which two thirds of what it may be lie, at least 1; 1: it is certain.
    pub spread: f64,
    /// What figures that err together are called; none: it errs alone.
    pub shares: Option<&'static str>,
    /// The part of the log-variance that is shared, 0 to 1.
    pub common: f64,
}

impl Doubt {
    /// Doubt of this spread that nothing shares.
    pub fn alone(spread: f64) -> Doubt {
        Doubt { spread, shares: None, common: 0.0 }
    }

    /// The factor of the figure at `path`, by how many standard deviations it and what it shares are off.
    pub fn factor(&self, path: &str, deviation: impl Fn(&str) -> f64) -> f64 {
        if self.spread == 1.0 {
            return 1.0;
        }
        let own = deviation(path) * libm::sqrt(1.0 - self.common);
        let common = self.shares.map_or(0.0, |name| deviation(name) * libm::sqrt(self.common));
        libm::exp(libm::log(self.spread) * (own + common))
    }
}

impl Figure {
    /// How far it may be off: by its own spread, else by its kind, else by the class of its source.
    pub fn doubt(&self) -> Doubt {
        self.doubt_by(&self.source)
    }

    /// As [`Self::doubt`], but what is fitted has the doubt of an estimate: before the fit it was one.
    pub fn doubt_before_fits(&self) -> Doubt {
        match self.source {
            Source::Fitted(_) => self.doubt_by(&Source::Estimate(String::new())),
            _ => self.doubt(),
        }
    }

    fn doubt_by(&self, source: &Source) -> Doubt {
        let kind = Kind::find(&self.path);
        let class = source.class();
        let by_class = CLASSES.iter().find(|(name, _)| *name == class).map_or(1.0, |(_, spread)| *spread);
        let spread = match kind {
            Some(kind) if kind.is_exact => 1.0,
            kind => self.spread.or(kind.and_then(|kind| kind.spread(source))).unwrap_or(by_class),
        };
        let shares = kind.and_then(|kind| kind.shares);
        Doubt { spread, shares, common: kind.filter(|_| shares.is_some()).map_or(0.0, |kind| kind.common) }
    }
}

impl Source {
    /// Its class, as files and tables of doubt name it: `measured`, `declared`, `datasheet`, `estimate` or `fitted`.
    pub fn class(&self) -> &'static str {
        match self {
            Source::Published(class, _) => class.name(),
            Source::Estimate(_) => "estimate",
            Source::Fitted(_) => "fitted",
        }
    }
}

/// How many standard deviations what is in doubt is off, by name; none: all is as it is stated.
pub type Deviations<'a> = Option<&'a dyn Fn(&str) -> f64>;

/// The part of a normal distribution that lies below so many standard deviations: between 0 and 1, all equally likely for
/// those of a draw.
pub fn share_below(deviation: f64) -> f64 {
    libm::erfc(-deviation * std::f64::consts::FRAC_1_SQRT_2) / 2.0
}

/// A standard normal number from two independent numbers that are uniform over all u64 (Box and Muller); the same on every
/// system, for libm is arithmetic alone.
pub fn standard_normal(raw: [u64; 2]) -> f64 {
    // Neither 0 nor 1 is reached.
    let [radius, angle] = raw.map(|raw| ((raw >> 11) as f64 + 0.5) / (1u64 << 53) as f64);
    libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(2.0 * std::f64::consts::PI * angle)
}

/// A numbered draw of all figures in doubt; 0: none is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Draw(pub u64);

impl Draw {
    /// How many standard deviations the thing called `name` is off in this draw: normal, the same on every system.
    pub fn deviation(self, name: &str) -> f64 {
        let mut hash = Xxh3::new();
        hash.update(b"draw of doubt");
        hash.update(&self.0.to_le_bytes());
        hash.update(name.as_bytes());
        let bits = hash.digest128();
        standard_normal([bits as u64, (bits >> 64) as u64])
    }

    /// [`share_below`] of [`Self::deviation`].
    pub fn share(self, name: &str) -> f64 {
        share_below(self.deviation(name))
    }

    /// The factor of the figure at `path`.
    pub fn factor(self, path: &str, doubt: Doubt) -> f64 {
        match self.0 {
            0 => 1.0,
            _ => doubt.factor(path, |name| self.deviation(name)),
        }
    }
}

impl Machine {
    /// This machine with all figures drawn; draw 0 is the machine as it stands. Figures that are certain, arrangements, clocks
    /// and what the kernel is told (exit latencies, residencies, capacities, its energy model) stay.
    ///
    /// What rises or falls along idle states, distances and caches here does so in every draw: a value that would break
    /// the order takes its neighbour's. Shares stay below 1 (of a footprint: 0.6), and thermal nodes slow enough for
    /// the thermal step. So every draw is a machine.
    ///
    /// # Errors
    /// If this machine is one that a file cannot state, or its posterior one that cannot be read.
    pub fn drawn(&self, draw: Draw) -> Result<Machine, MachineError> {
        if draw.0 == 0 {
            return Ok(self.clone());
        }
        self.with_factors(&self.factors(draw)?)
    }

    /// The factors of a draw by path, those of 1 left out.
    ///
    /// # Errors
    /// If the posterior of this machine is one that cannot be read.
    pub fn factors(&self, draw: Draw) -> Result<BTreeMap<String, f64>, MachineError> {
        match draw.0 {
            0 => Ok(BTreeMap::new()),
            _ => Ok(self.draw_law()?.factors(draw)),
        }
    }

    /// How its draws are made: from its posterior if it is a preset that has one and its figures are those of the
    /// preset, else from the stated doubt.
    ///
    /// # Errors
    /// If the posterior of this machine is one that cannot be read.
    pub fn draw_law(&self) -> Result<DrawLaw<'_>, MachineError> {
        Ok(DrawLaw::by(self, Posterior::recorded(self)?))
    }

    /// Whether `costs.scale` is fitted to sched-pipe.
    fn fixes_the_sum(&self) -> bool {
        let scale = self.figures.iter().find(|figure| figure.path == "costs.scale");
        scale.is_some_and(|scale| matches!(&scale.source, Source::Fitted(cell) if cell.contains("/sched-pipe/")))
    }

    /// Makes the parts of half a sched-pipe operation add up to what they do here.
    fn keep_the_sum(&self, factors: &mut BTreeMap<String, f64>) {
        let path = |kind: SoftCost| format!("costs.soft.{}", kind.name());
        let sum = |factors: &BTreeMap<String, f64>| -> f64 {
            let part = |(kind, times): &(SoftCost, f64)| {
                self.costs.soft(*kind) * times * factors.get(&path(*kind)).copied().unwrap_or(1.0)
            };
            PIPE_HALF.iter().map(part).sum()
        };
        let ratio = sum(&BTreeMap::new()) / sum(factors);
        if ratio.is_finite() {
            for (kind, _) in PIPE_HALF {
                *factors.entry(path(kind)).or_insert(1.0) *= ratio;
            }
        }
    }

    /// This machine with each of these figures times its factor, what the kernel is told as it stands; orders are kept
    /// as [`Self::drawn`] says. Paths of no figure, or of one that is never drawn, have no effect.
    ///
    /// # Errors
    /// As [`Self::drawn`].
    pub fn with_factors(&self, factors: &BTreeMap<String, f64>) -> Result<Machine, MachineError> {
        let mut machine = file::load_drawn(&self.name, &self.to_toml(), factors)?;
        for (theirs, ours) in machine.cpu_types.iter_mut().zip(&self.cpu_types) {
            keep_states_in_order(theirs, ours);
        }
        keep_distances_in_order(&mut machine, self);
        keep_caches_in_order(&mut machine, self);
        machine.restate_figures();
        machine.state_told_latencies(self);
        Ok(machine)
    }

    /// An exit latency that followed from entry and wake in `stated` stands by itself now, on the same source.
    fn state_told_latencies(&mut self, stated: &Machine) {
        let is_new = |path: &str| stated.figures.iter().all(|figure| figure.path != path);
        for i in 0..self.figures.len() {
            let path = &self.figures[i].path;
            if let Some(state) = path.strip_suffix(".exit_latency").filter(|_| is_new(path)) {
                let wake = format!("{state}.wake");
                let source = self.figures.iter().find(|f| f.path == wake).map(|f| f.source.clone());
                self.figures[i].source = source.unwrap_or(Source::Estimate(String::new()));
            }
        }
    }
}

/// Makes `drawn` rise if `stated` never falls, or fall if it never rises.
fn keep_order<T: PartialOrd + Copy>(drawn: &mut [T], stated: &[T]) {
    let rises = stated.windows(2).all(|pair| pair[0] <= pair[1]);
    let falls = !rises && stated.windows(2).all(|pair| pair[0] >= pair[1]);
    for i in 1..drawn.len().min(stated.len()) {
        let before = drawn[i - 1];
        if (rises && drawn[i] < before) || (falls && drawn[i] > before) {
            drawn[i] = before;
        }
    }
}

/// Deeper states take longer to enter and to leave, and draw less.
fn keep_states_in_order(drawn: &mut CpuType, stated: &CpuType) {
    fn column<T>(of: &CpuType, get: impl Fn(&crate::IdleState) -> T) -> Vec<T> {
        of.idle_states.iter().map(get).collect()
    }
    let (mut entry, mut wake) = (column(drawn, |s| s.entry_ns), column(drawn, |s| s.wake_ns));
    let mut power = column(drawn, |s| s.power_mw);
    keep_order(&mut entry, &column(stated, |s| s.entry_ns));
    keep_order(&mut wake, &column(stated, |s| s.wake_ns));
    keep_order(&mut power, &column(stated, |s| s.power_mw));
    for (i, state) in drawn.idle_states.iter_mut().enumerate() {
        (state.entry_ns, state.wake_ns, state.power_mw) = (entry[i], wake[i], power[i]);
    }
}

/// What lies farther costs no less. Distances that do not occur have the figure of the next nearer one.
fn keep_distances_in_order(drawn: &mut Machine, stated: &Machine) {
    let (costs, of_stated) = (&mut drawn.costs, &stated.costs);
    for (table, stated) in [
        (&mut costs.ipi_ns, &of_stated.ipi_ns),
        (&mut costs.line_ns, &of_stated.line_ns),
        (&mut costs.message_ns, &of_stated.message_ns),
        (&mut costs.socket_message_ns, &of_stated.socket_message_ns),
        (&mut costs.refill_kib_ns, &of_stated.refill_kib_ns),
    ] {
        keep_order(table, stated);
    }
    for (drawn, stated) in
        [(&mut costs.line_read_ns, &of_stated.line_read_ns), (&mut costs.line_next_ns, &of_stated.line_next_ns)]
    {
        if let (Some(drawn), Some(stated)) = (drawn, stated) {
            keep_order(drawn, stated);
        }
    }
    if let (Some(drawn), Some(stated)) = (&mut drawn.caches, &stated.caches) {
        keep_order(&mut drawn.memory_kib_ns, &stated.memory_kib_ns);
    }
}

/// Farther caches are no smaller and no cheaper, and memory costs no less than any.
fn keep_caches_in_order(drawn: &mut Machine, stated: &Machine) {
    let (Some(drawn), Some(stated)) = (&mut drawn.caches, &stated.caches) else { return };
    let memory = Distance::Node as usize;
    let is_last = stated.all.iter().all(|cache| cache.refill_kib_ns <= stated.memory_kib_ns[memory]);
    for i in 0..drawn.all.len().min(stated.all.len()) {
        let cpus = drawn.all[i].cpus;
        if let Some(nearer) = (0..i).rev().find(|nearer| drawn.all[*nearer].cpus.intersects(&cpus)) {
            let (ours, theirs) = (&stated.all[nearer], &stated.all[i]);
            let (size, price) = (drawn.all[nearer].size_kib, drawn.all[nearer].refill_kib_ns);
            if ours.size_kib <= theirs.size_kib {
                drawn.all[i].size_kib = drawn.all[i].size_kib.max(size);
            }
            if ours.refill_kib_ns <= theirs.refill_kib_ns {
                drawn.all[i].refill_kib_ns = drawn.all[i].refill_kib_ns.max(price);
            }
        }
    }
    if is_last {
        let dearest = drawn.all.iter().map(|cache| cache.refill_kib_ns).max().unwrap_or(0);
        drawn.memory_kib_ns.iter_mut().filter(|ns| **ns > 0).for_each(|ns| *ns = (*ns).max(dearest));
    }
}

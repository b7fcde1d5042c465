//! Warnings: values that are legal in a machine but look like mistakes.

mod fits;
mod plausible;

use std::collections::BTreeMap;
use std::fmt;

use crate::doubt::{USUAL_ENTRY, USUAL_WAKE};
use crate::{CpuType, Distance, FreqDomain, IdleScope, Machine, Opp, SoftCost, Source, SourceClass};

use self::plausible::digits;

/// A warning about a value of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Dotted path in the machine file, as in [`crate::Figure::path`].
    pub key: String,
    /// What is odd, and why it matters, or what was expected.
    pub message: String,
    /// The file and the line, from 1, of the figure; `None` for a machine that was not read with
    /// [`Machine::find_checked`].
    pub place: Option<(String, usize)>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((file, line)) = &self.place {
            write!(f, "{file}:{line}: ")?;
        }
        write!(f, "`{}`: {}", self.key, self.message)
    }
}

impl Machine {
    /// Legal but suspicious figures; empty for a machine without any. Figures are compared with each other and with those
    /// of the presets.
    pub fn check(&self) -> Vec<Warning> {
        let mut found = Warnings(Vec::new());
        self.check_clusters(&mut found);
        self.check_clocks(&mut found);
        for cpu_type in &self.cpu_types {
            check_idle(cpu_type, &mut found);
            check_smt(cpu_type, &mut found);
        }
        self.check_idle_power(&mut found);
        self.check_declared_idle_times(&mut found);
        self.check_costs(&mut found);
        self.check_caches(&mut found);
        self.check_sources(&mut found);
        self.check_plausible(&mut found);
        self.check_fits(&mut found);
        found.0
    }

    /// Equal clocks beside each other are one entry of a file, and are warned of once.
    fn check_clocks(&self, found: &mut Warnings) {
        let mut before = None;
        for domain in &self.freq_domains {
            if before != Some(&domain.opps) {
                check_opps(domain, found);
                check_power_per_clock(domain, found);
                self.check_power_for_capacity(domain, found);
            }
            before = Some(&domain.opps);
        }
    }

    /// A CPU of less capacity than another should not draw more, each at its top clock.
    fn check_power_for_capacity(&self, domain: &FreqDomain, found: &mut Warnings) {
        let top = |domain: &FreqDomain| domain.opps.last().map_or(0.0, |opp| opp.active_mw);
        let Some(own) = domain.cpus.first().map(|cpu| &self.cpus[cpu as usize]) else { return };
        let stronger = self.cpus.iter().filter(|cpu| cpu.capacity > own.capacity);
        let thriftier = stronger.map(|cpu| (top(self.freq_domain_of(cpu.id)), cpu)).filter(|(mw, _)| *mw < top(domain));
        let Some((mw, other)) = thriftier.min_by(|(a, _), (b, _)| a.total_cmp(b)) else { return };
        let message = format!(
            "CPU {} of capacity {} draws {} mW at its top clock, CPU {} of capacity {} only {mw} mW; expected no more power for \
             less capacity",
            own.id,
            own.capacity,
            top(domain),
            other.id,
            other.capacity
        );
        found.add(format!("freq_domain[{}].opps", domain.cpus), message);
    }

    fn check_clusters(&self, found: &mut Warnings) {
        for cluster in &self.clusters {
            let key = |name: &str| format!("cluster[{}].{name}", cluster.cpus);
            if cluster.idle_mw > cluster.active_mw {
                found.add(key("idle"), "a cluster that draws more idle than active");
            }
            if cluster.shares_cache && self.llcs.contains(&cluster.cpus) {
                found.add(key("shares_cache"), "the cluster is its last-level cache: not a level of its own");
            }
            let mut states = cluster.cpus.iter().map(|cpu| self.cluster_states(cpu));
            let first = states.next();
            if states.any(|its| Some(its) != first) {
                found.add(key("cpus"), "core types whose cluster states differ share one cluster's power-down");
            }
        }
    }

    /// The idle states of a CPU that need the whole cluster: index and name.
    fn cluster_states(&self, cpu: u32) -> Vec<(usize, &str)> {
        let states = self.idle_states(cpu).iter().enumerate();
        states.filter(|(_, s)| s.scope == IdleScope::Cluster).map(|(i, s)| (i, s.name.as_str())).collect()
    }

    /// An idle CPU should draw less than one that runs at its lowest OPP.
    /// What a device tree declares of entry and wake is the worst case, which passes hardly ever.
    fn check_declared_idle_times(&self, found: &mut Warnings) {
        for figure in &self.figures {
            let Some((state, time)) = figure.path.rsplit_once('.').filter(|(state, _)| state.contains(".idle.")) else {
                continue;
            };
            let usual = match (time, &figure.source) {
                ("entry", Source::Published(SourceClass::Declared, _)) => USUAL_ENTRY,
                ("wake", Source::Published(SourceClass::Declared, _)) => USUAL_WAKE,
                _ => continue,
            };
            found.add(
                figure.path.clone(),
                format!(
                    "what is declared is the worst case; usually {} of it passes: state that as an estimate with spread \
                     {:.1}, and what the kernel is told as `{state}.exit_latency`",
                    usual.part, usual.spread
                ),
            );
        }
    }

    fn check_idle_power(&self, found: &mut Warnings) {
        for (i, cpu_type) in self.cpu_types.iter().enumerate() {
            let Some(cpu) = self.cpus.iter().find(|cpu| cpu.cpu_type == i as u32) else { continue };
            let running = self.freq_domain_of(cpu.id).opps.first().map_or(0.0, |opp| opp.active_mw);
            for state in cpu_type.idle_states.iter().filter(|state| !state.polling && state.power_mw > running) {
                let key = format!("cpu_type.{}.idle.{}.power", cpu_type.name, state.name);
                found.add(key, format!("idle draws {} mW, running at the lowest OPP {running} mW", state.power_mw));
            }
        }
    }

    fn check_costs(&self, found: &mut Warnings) {
        for kind in SoftCost::variants().filter(|kind| self.costs.soft(*kind) == 0.0) {
            found.add(format!("costs.soft.{}", kind.name()), "work that costs nothing");
        }
        let distances = self.distances();
        let costs = &self.costs;
        let tables = [
            ("ipi", Some(&costs.ipi_ns)),
            ("line", Some(&costs.line_ns)),
            ("line_read", costs.line_read_ns.as_ref()),
            ("line_next", costs.line_next_ns.as_ref()),
            ("message", Some(&costs.message_ns)),
            ("socket_message", Some(&costs.socket_message_ns)),
            ("refill_kib", Some(&costs.refill_kib_ns)),
        ];
        for (name, table) in tables.into_iter().filter_map(|(name, table)| Some((name, table?))) {
            check_rising(name, table, &distances, found);
        }
    }

    /// Along the caches of a CPU sizes and prices rise, and memory comes last. Without these the order in which a task
    /// finds its lines is not the cheapest.
    fn check_caches(&self, found: &mut Warnings) {
        let Some(caches) = &self.caches else { return };
        for (i, cache) in caches.all.iter().enumerate() {
            let key = |name: &str| format!("cache[{}].{name}", cache.cpus);
            let nearer = caches.all[..i].iter().rfind(|nearer| nearer.cpus.intersects(&cache.cpus));
            match nearer {
                None if cache.refill_kib_ns > 0 => found.add(key("refill_kib"), "the nearest cache costs something"),
                Some(nearer) if nearer.size_kib >= cache.size_kib => {
                    found.add(key("size"), format!("no larger than the nearer one of CPUs {}", nearer.cpus));
                }
                Some(nearer) if nearer.refill_kib_ns > cache.refill_kib_ns => {
                    found.add(key("refill_kib"), format!("less than of the nearer one of CPUs {}", nearer.cpus));
                }
                _ => {}
            }
            if cache.refill_kib_ns > caches.memory_kib(Distance::Node) {
                found.add(key("refill_kib"), "more than from memory");
            }
        }
    }

    fn check_sources(&self, found: &mut Warnings) {
        for figure in &self.figures {
            if figure.source == Source::Estimate(String::new()) {
                found.add(figure.path.clone(), "an estimate without a reason");
            }
        }
    }
}

struct Warnings(Vec<Warning>);

impl Warnings {
    fn add(&mut self, key: String, message: impl Into<String>) {
        self.0.push(Warning { key, message: message.into(), place: None });
    }
}

impl Warning {
    /// Adds the place: `lines` are those of figures, by their paths. What is no figure has the place of the first figure of
    /// its section.
    pub(crate) fn locate(&mut self, file: &str, lines: &BTreeMap<String, usize>) {
        let section = self.key.rsplit_once('.').map_or("", |(section, _)| section);
        let of_section = || {
            let own =
                lines.iter().filter(|(path, _)| path.strip_prefix(section).is_some_and(|rest| rest.starts_with('.')));
            own.map(|(_, line)| *line).min()
        };
        let line = lines.get(&self.key).copied().or_else(of_section);
        self.place = line.map(|line| (file.to_owned(), line));
    }
}

/// The energy of a cycle may fall to this share of what it was at a lower clock: static power counts for less at the
/// higher clock, and measured tables scatter.
const FALL: f64 = 0.8;

/// Times that the energy of a cycle may rise from one operating point to the next: the square of the voltages. A rise
/// up to the square of the clocks' ratio is accepted too, as the points of some tables are far apart.
const JUMP: f64 = 3.0;

/// Power divided by clock, the energy of a cycle, goes with the square of the voltage, which rises with the clock.
fn check_power_per_clock(domain: &FreqDomain, found: &mut Warnings) {
    let key = || format!("freq_domain[{}].opps", domain.cpus);
    let per_mhz = |opp: &Opp| opp.active_mw / f64::from(opp.khz) * 1e3;
    let show = |opp: &Opp| format!("{} mW/MHz at {} kHz", digits(per_mhz(opp)), opp.khz);
    for pair in domain.opps.windows(2).filter(|pair| per_mhz(&pair[0]) > 0.0) {
        let rise = per_mhz(&pair[1]) / per_mhz(&pair[0]);
        let clocks = f64::from(pair[1].khz) / f64::from(pair[0].khz);
        if rise > JUMP && rise > clocks * clocks {
            let most = digits(per_mhz(&pair[0]) * JUMP.max(clocks * clocks));
            let message = format!("{} after {}, a jump; expected at most {most}", show(&pair[1]), show(&pair[0]));
            found.add(key(), message);
        }
    }
    let falls = |i: &usize| {
        let highest = domain.opps[..*i].iter().max_by(|a, b| per_mhz(a).total_cmp(&per_mhz(b)))?;
        (per_mhz(&domain.opps[*i]) < FALL * per_mhz(highest)).then_some((*i, highest))
    };
    if let Some((i, highest)) = (1..domain.opps.len()).find_map(|i| falls(&i)) {
        let least = digits(FALL * per_mhz(highest));
        let message = format!(
            "{} after {}: power for each MHz falls; expected at least {least}",
            show(&domain.opps[i]),
            show(highest)
        );
        found.add(key(), message);
    }
}

fn check_opps(domain: &FreqDomain, found: &mut Warnings) {
    let key = || format!("freq_domain[{}].opps", domain.cpus);
    for opp in domain.opps.iter().filter(|o| o.wfi_mw.is_some_and(|wfi| wfi > o.active_mw)) {
        found.add(key(), format!("idle at the voltage of {} kHz draws more than running", opp.khz));
    }
    for pair in domain.opps.windows(2) {
        if pair[1].static_mw < pair[0].static_mw {
            found.add(key(), format!("{} kHz has less static power than {} kHz", pair[1].khz, pair[0].khz));
        }
        if pair[1].active_mw <= pair[0].active_mw {
            let message = format!("{} kHz draws no more than {} kHz", pair[1].khz, pair[0].khz);
            found.add(key(), message);
        }
    }
}

fn check_idle(cpu_type: &CpuType, found: &mut Warnings) {
    let key = |state: &str, name: &str| format!("cpu_type.{}.idle.{state}.{name}", cpu_type.name);
    for state in &cpu_type.idle_states {
        if cpu_type.cpuidle && state.wake_ns > state.exit_latency_ns {
            found.add(key(&state.name, "wake"), "wake latency exceeds the exit latency that the kernel sees");
        }
        // Not against the exit latency: the Hi3660 device tree states less (3500 us against 800 + 2900 us).
        if cpu_type.cpuidle && state.target_residency_ns < state.wake_ns {
            found.add(key(&state.name, "residency"), "pays off sooner than it can be left");
        }
    }
    for pair in cpu_type.idle_states.windows(2) {
        if pair[1].power_mw > pair[0].power_mw {
            found.add(key(&pair[1].name, "power"), format!("draws more than the shallower `{}`", pair[0].name));
        }
    }
}

fn check_smt(cpu_type: &CpuType, found: &mut Warnings) {
    for (i, pair) in cpu_type.smt_throughput.windows(2).enumerate() {
        if pair[1] > pair[0] * (i as u32 + 2) / (i as u32 + 1) {
            let message = format!("thread {} gains more than a core of its own", i + 2);
            found.add(format!("cpu_type.{}.smt_throughput", cpu_type.name), message);
        }
    }
}

fn check_rising(name: &str, table: &[u64; Distance::COUNT], distances: &[Distance], found: &mut Warnings) {
    for pair in distances.windows(2) {
        let (near, far) = (table[pair[0] as usize], table[pair[1] as usize]);
        if far < near {
            let message = format!("{far} ns is less than the {near} ns of the nearer `{}`", pair[0].name());
            found.add(format!("costs.{name}.{}", pair[1].name()), message);
        }
    }
}

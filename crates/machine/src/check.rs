//! Warnings: values that are legal in a machine but look like mistakes.

use std::fmt;

use crate::{CpuType, Distance, FreqDomain, IdleScope, Machine, SoftCost, Source};

/// A warning about a value of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Dotted path in the machine file, as in [`crate::Figure::path`].
    pub key: String,
    /// What is odd, and why it matters.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.key, self.message)
    }
}

impl Machine {
    /// Legal but suspicious figures, in the order of the file; empty for a machine without any.
    pub fn check(&self) -> Vec<Warning> {
        let mut found = Warnings(Vec::new());
        self.check_clusters(&mut found);
        self.freq_domains.iter().for_each(|domain| check_opps(domain, &mut found));
        for cpu_type in &self.cpu_types {
            check_idle(cpu_type, &mut found);
            check_smt(cpu_type, &mut found);
        }
        self.check_idle_power(&mut found);
        self.check_costs(&mut found);
        self.check_caches(&mut found);
        self.check_sources(&mut found);
        found.0
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
            ("ipi", &costs.ipi_ns),
            ("line", &costs.line_ns),
            ("message", &costs.message_ns),
            ("refill_kib", &costs.refill_kib_ns),
        ];
        for (name, table) in tables {
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
        self.0.push(Warning { key, message: message.into() });
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
        if state.wake_ns > state.exit_latency_ns {
            found.add(key(&state.name, "wake"), "wake latency exceeds the exit latency that the kernel sees");
        }
        // Not against the exit latency: the Hi3660 device tree states less (3500 us against 800 + 2900 us).
        if state.target_residency_ns < state.wake_ns {
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

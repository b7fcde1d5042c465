//! Assembles the machine from the captured hardware and the figures of a lender.

use crate::{
    Caches, Cluster, Costs, Cpu, CpuId, CpuMask, CpuType, Distance, Figure, FreqDomain, IdleState, Machine, Opp,
    Source, SourceClass, NODE_RECLAIM_DISTANCE,
};

use super::clocks::Clock;
use super::estimate::{Core, Curve, Lender};
use super::hardware::Hardware;
use super::{caches, energy, idle};
use crate::doubt::{USUAL_ENTRY, USUAL_WAKE};

/// node_reclaim_distance of AMD's and Hygon's Zen.
const ZEN_RECLAIM_DISTANCE: u32 = 32;

/// Where the times of WFI are from, which device trees leave out.
const ADDED_STATE: &str = "Linux, drivers/cpuidle/cpuidle-psci.c: WFI";

/// The machine, with the source of each figure.
pub(super) fn machine(seen: &Hardware, name: &str, lender: &Lender) -> Machine {
    let kinds = kinds(seen);
    let mut parts = Parts { seen, lender, kinds: &kinds, figures: Vec::new() };
    let freq_domains = parts.freq_domains();
    let clusters = parts.clusters(&freq_domains);
    let cpu_types = parts.cpu_types(&freq_domains);
    let topology = &seen.topology;
    let mut machine = Machine {
        name: name.into(),
        title: seen.title.clone(),
        leaves_out: String::new(),
        cpus: parts.cpus(&clusters, &freq_domains),
        cpu_types,
        cores: topology.cores.clone(),
        clusters,
        llcs: topology.llcs.clone(),
        packages: topology.packages.clone(),
        nodes: topology.nodes.clone(),
        numa_distance: topology.slit.clone(),
        node_reclaim_distance: parts.reclaim_distance(),
        freq_domains,
        votes: Vec::new(),
        thermal: None,
        caches: None,
        costs: Costs::free(),
        figures: Vec::new(),
    };
    let occurring = machine.distances();
    machine.caches = parts.caches(&occurring);
    let (costs, figures) = lender.costs(&occurring);
    machine.costs = costs;
    parts.figures.extend(figures);
    machine.figures = parts.figures;
    machine.restate_figures();
    for figure in &mut machine.figures {
        if figure.source == Source::Estimate(String::new()) {
            figure.source = Source::Estimate(lender.reason(&figure.path));
        }
        if !["costs.", "refill.", "cache["].iter().any(|section| figure.path.starts_with(section)) {
            figure.value = in_us(&figure.value);
        }
    }
    machine
}

/// Times of idle states and clocks in us where those are whole, as kernels and presets state them.
fn in_us(value: &str) -> String {
    let ns = value.strip_suffix(" ns").and_then(|ns| ns.parse::<u64>().ok());
    ns.filter(|ns| ns % 1000 == 0).map_or_else(|| value.into(), |ns| format!("{} us", ns / 1000))
}

/// A kind of core: equal name, capacity and idle states.
struct Kind {
    name: String,
    cpus: CpuMask,
    core_name: Option<String>,
    capacity: u32,
    states: Vec<idle::State>,
}

/// The kinds of cores by their first CPUs; a core is of the kind of its first thread.
fn kinds(seen: &Hardware) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for core in &seen.topology.cores {
        let first = core.first().unwrap_or(0) as usize;
        let (core_name, capacity, states) = (&seen.core_names[first], seen.capacities[first], &seen.idle[first]);
        let same = |k: &&mut Kind| (&k.core_name, k.capacity, &k.states) == (core_name, capacity, states);
        match kinds.iter_mut().find(same) {
            Some(kind) => kind.cpus = kind.cpus.or(core),
            None => {
                let name = core_name.clone().unwrap_or_else(|| seen.isa.map_or("cpu", |isa| isa.name()).into());
                let core_name = core_name.clone();
                kinds.push(Kind { name, cpus: *core, core_name, capacity, states: states.clone() });
            }
        }
    }
    kinds.sort_by_key(|kind| kind.cpus.first());
    name_apart(&mut kinds);
    kinds
}

/// Core types of equal name get distinct names by capacity, then by their first CPU.
fn name_apart(kinds: &mut [Kind]) {
    for suffix in [|kind: &Kind| kind.capacity, |kind: &Kind| kind.cpus.first().unwrap_or(0)] {
        let names: Vec<String> = kinds.iter().map(|kind| kind.name.clone()).collect();
        for kind in kinds.iter_mut().filter(|kind| names.iter().filter(|name| **name == kind.name).count() > 1) {
            kind.name = format!("{}-{}", kind.name, suffix(kind));
        }
    }
}

/// What a figure rests on.
fn published(place: &str) -> Source {
    Source::Published(SourceClass::Declared, place.into())
}

struct Parts<'a> {
    seen: &'a Hardware,
    lender: &'a Lender<'a>,
    kinds: &'a [Kind],
    figures: Vec<Figure>,
}

/// Sleeps from which on a CPU of a virtual machine is in its next state: a name, and ns.
const HYPERVISOR_STATES: [(&str, u64); 3] = [("250us", 250_000), ("750us", 750_000), ("2ms", 2_000_000)];

impl<'a> Parts<'a> {
    /// States where the figure at `path` is from; its value is restated at the end.
    fn state(&mut self, path: String, source: Source) {
        self.figures.push(Figure { path, value: String::new(), source, spread: None });
    }

    /// The lender's core that stands for that of a CPU.
    fn lent(&self, cpu: CpuId) -> Core<'a> {
        let kind = self.kinds.iter().find(|kind| kind.cpus.test(cpu)).unwrap_or(&self.kinds[0]);
        self.lender.core(kind.core_name.as_deref(), kind.capacity)
    }

    /// How much more a core draws here at its top than the one that lends its figures.
    fn power(&self, cpu: CpuId, domains: &[FreqDomain]) -> f64 {
        let here = domains.iter().find(|domain| domain.cpus.test(cpu)).and_then(|domain| domain.opps.last());
        let there = self.lent(cpu).top_mw();
        here.filter(|_| there > 0.0).map_or(1.0, |top| top.active_mw / there)
    }

    fn reclaim_distance(&mut self) -> u32 {
        self.state("topology".into(), published(self.seen.places.topology));
        if self.seen.topology.nodes.len() < 2 {
            return NODE_RECLAIM_DISTANCE;
        }
        self.state("topology.distances".into(), published(self.seen.places.distances));
        if !self.seen.is_zen {
            return NODE_RECLAIM_DISTANCE;
        }
        let source = "sysfs, modalias; Linux sets node_reclaim_distance of Zen in arch/x86/kernel/cpu since v5.4";
        self.state("topology.reclaim_distance".into(), published(source));
        ZEN_RECLAIM_DISTANCE
    }

    fn cpus(&self, clusters: &[Cluster], domains: &[FreqDomain]) -> Vec<Cpu> {
        let topology = &self.seen.topology;
        let index = |groups: &[CpuMask], id: CpuId| groups.iter().position(|g| g.test(id)).unwrap_or(0) as u32;
        let clusters: Vec<CpuMask> = clusters.iter().map(|cluster| cluster.cpus).collect();
        let domains: Vec<CpuMask> = domains.iter().map(|domain| domain.cpus).collect();
        let kinds: Vec<CpuMask> = self.kinds.iter().map(|kind| kind.cpus).collect();
        let cpu = |id: CpuId| Cpu {
            id,
            core: index(&topology.cores, id),
            cluster: index(&clusters, id),
            llc: index(&topology.llcs, id),
            package: index(&topology.packages, id),
            node: index(&topology.nodes, id),
            freq_domain: index(&domains, id),
            cpu_type: index(&kinds, id),
            capacity: self.kinds[index(&kinds, id) as usize].capacity,
        };
        (0..self.seen.capacities.len() as CpuId).map(cpu).collect()
    }

    /// The clocks. Of equal ones in a row the first speaks for all, as in a file.
    fn freq_domains(&mut self) -> Vec<FreqDomain> {
        let mut domains: Vec<FreqDomain> = Vec::new();
        let mut before: Option<[Source; 2]> = None;
        for clock in &self.seen.clocks {
            let (domain, sources) = self.freq_domain(clock);
            let same = |last: &FreqDomain| (&last.opps, last.transition_ns) == (&domain.opps, domain.transition_ns);
            if !domains.last().is_some_and(same) || before.as_ref() != Some(&sources) {
                let [transition, opps] = sources.clone();
                self.state(format!("freq_domain[{}].transition", domain.cpus), transition);
                self.state(format!("freq_domain[{}].opps", domain.cpus), opps);
            }
            before = Some(sources);
            domains.push(domain);
        }
        domains
    }

    /// A clock, and the sources of its transition and of its operating points.
    fn freq_domain(&self, clock: &Clock) -> (FreqDomain, [Source; 2]) {
        let lent = self.lent(clock.cpus.first().unwrap_or(0));
        let from = |what: &str| Source::Estimate(format!("from {}, {}{what}", self.lender.name(), lent.kind.name));
        let (transition_ns, transition) = match clock.transition_ns {
            Some(ns) => (ns, published(self.seen.places.transition)),
            None => (lent.transition_ns(), from("")),
        };
        let first = clock.cpus.first().unwrap_or(0);
        let (opps, source) = match self.seen.energy.iter().find(|domain| domain.cpus.test(first)) {
            Some(model) => self.modelled(clock, model),
            None if clock.khz.is_empty() => (vec![lent.fixed_opp()], from(": clock and power at the top")),
            None if clock.is_assumed => (lent.opps(&clock.khz), from(": power; steps between cpufreq's ends assumed")),
            None => {
                let what = format!(": power; frequencies from {}", self.seen.places.frequencies);
                (lent.opps(&clock.khz), from(&what))
            }
        };
        (
            FreqDomain { cpus: clock.cpus, opps, transition_ns, slot_ns: 0, reported_ns: None, rail: None },
            [transition, source],
        )
    }

    /// Operating points of a clock of which the kernel has an energy model.
    fn modelled(&self, clock: &Clock, model: &energy::Domain) -> (Vec<Opp>, Source) {
        let khz: Vec<u32> =
            if clock.khz.is_empty() { model.states.iter().map(|(khz, _)| *khz).collect() } else { clock.khz.clone() };
        let scale = if model.is_abstract { self.abstract_unit() } else { 1.0 };
        let states = model.states.iter().map(|(khz, power)| (*khz, power * scale));
        let all_known = khz.iter().all(|khz| model.states.iter().any(|(known, _)| known == khz));
        let source = match (model.is_abstract, all_known) {
            (false, true) => published(self.seen.places.power),
            (false, false) => Source::Estimate(format!("{}, and between its states on a line", self.seen.places.power)),
            (true, _) => Source::Estimate(format!("from {}: scale of the abstract energy model", self.lender.name())),
        };
        let curve = Curve::new(states);
        (khz.into_iter().map(|khz| Opp::new(khz, curve.mw_at(f64::from(khz)))).collect(), source)
    }

    /// mW of one unit of an abstract energy model: the strongest core draws at its top what the lender's does.
    fn abstract_unit(&self) -> f64 {
        let top = |domain: &&energy::Domain| domain.states.last().map_or(0.0, |(_, power)| *power);
        let models = self.seen.energy.iter().filter(|domain| domain.is_abstract);
        let strongest = models.max_by(|a, b| top(a).total_cmp(&top(b)));
        let lent = |domain: &energy::Domain| self.lent(domain.cpus.first().unwrap_or(0)).top_mw();
        strongest.filter(|domain| top(domain) > 0.0).map_or(1.0, |domain| lent(domain) / top(&domain))
    }

    fn clusters(&self, domains: &[FreqDomain]) -> Vec<Cluster> {
        let cluster = |seen: &super::topology::Cluster| {
            let first = seen.cpus.first().unwrap_or(0);
            let (active_mw, idle_mw) = self.lent(first).cluster_mw(self.power(first, domains), seen.cpus.count());
            Cluster { cpus: seen.cpus, shares_cache: seen.shares_cache, active_mw, idle_mw }
        };
        self.seen.topology.clusters.iter().map(cluster).collect()
    }

    /// Sizes as seen, prices from the lender. Of equal ones in a row the first speaks for all, as in a file.
    fn caches(&mut self, occurring: &[Distance]) -> Option<Caches> {
        let seen = &self.seen.caches;
        if seen.is_empty() {
            return None;
        }
        for (i, cache) in seen.iter().enumerate() {
            let like = |other: &caches::CacheInfo| {
                (other.size_kib, other.cpus.count()) == (cache.size_kib, cache.cpus.count())
            };
            if !i.checked_sub(1).is_some_and(|before| like(&seen[before])) {
                self.state(format!("cache[{}].size", cache.cpus), published(self.seen.places.caches));
            }
        }
        Some(self.lender.caches(seen, occurring))
    }

    fn cpu_types(&mut self, domains: &[FreqDomain]) -> Vec<CpuType> {
        self.kinds.iter().map(|kind| self.cpu_type(kind, domains)).collect()
    }

    fn cpu_type(&mut self, kind: &Kind, domains: &[FreqDomain]) -> CpuType {
        let section = format!("cpu_type.{}", kind.name);
        self.state(format!("{section}.capacity"), self.seen.capacity_source.clone());
        let lent = self.lender.core(kind.core_name.as_deref(), kind.capacity);
        let threads = self.seen.topology.cores.iter().filter(|core| core.intersects(&kind.cpus)).map(CpuMask::count);
        let threads = threads.max().unwrap_or(1);
        let (smt_throughput, is_lent) = lent.smt_throughput(threads);
        if threads > 1 && !is_lent {
            let reason = format!("round figures, no core of {} has {threads} threads", self.lender.name());
            self.state(format!("{section}.smt_throughput"), Source::Estimate(reason));
        }
        let idle_states = self.idle_states(kind, &lent, domains);
        CpuType { name: kind.name.clone(), idle_states, cpuidle: !kind.states.is_empty(), smt_throughput }
    }

    fn idle_states(&mut self, kind: &Kind, lent: &Core, domains: &[FreqDomain]) -> Vec<IdleState> {
        let first = kind.cpus.first().unwrap_or(0);
        let power = self.power(first, domains);
        let domain = domains.iter().find(|domain| domain.cpus.test(first));
        let lowest_mw = domain.and_then(|domain| domain.opps.first()).map_or(0.0, |opp| opp.active_mw);
        if kind.states.is_empty() {
            let only = lent.only_state(power, lowest_mw);
            return if self.seen.is_virtual { self.hypervisor_states(&kind.name, only) } else { vec![only] };
        }
        for state in &kind.states {
            let path = |figure: &str| format!("cpu_type.{}.idle.{}.{figure}", kind.name, state.name);
            for (figure, is_lent) in [("exit_latency", state.lacks.latency), ("residency", state.lacks.residency)] {
                let source = match is_lent {
                    true => Source::Estimate(String::new()),
                    false => published(if state.is_added { ADDED_STATE } else { self.seen.places.idle }),
                };
                self.state(path(figure), source);
            }
            let Some((entry_us, wake_us)) = state.entry_and_wake_us else { continue };
            for (figure, declared_us, usual) in [("entry", entry_us, USUAL_ENTRY), ("wake", wake_us, USUAL_WAKE)] {
                let reason = format!("usually {} of the {declared_us} us that the device tree declares", usual.part);
                let source = Source::Estimate(reason);
                let spread = Some(usual.spread);
                self.figures.push(Figure { path: path(figure), value: String::new(), source, spread });
            }
        }
        lent.idle_states(&kind.states, power, lowest_mw)
    }

    /// What a CPU of a virtual machine is in, the longer it sleeps. That leaving these takes longer is left to
    /// `machine measure`.
    fn hypervisor_states(&mut self, kind: &str, only: IdleState) -> Vec<IdleState> {
        let mut states = vec![only.clone()];
        for (after, residency_ns) in HYPERVISOR_STATES {
            let name = format!("{}-{after}", only.name);
            let reason = "round figure: a hypervisor polls for some 200 us, then its host's CPU goes deeper";
            self.state(format!("cpu_type.{kind}.idle.{name}.residency"), Source::Estimate(reason.into()));
            states.push(IdleState { name, target_residency_ns: residency_ns, ..only.clone() });
        }
        states
    }
}

//! Estimates: figures that sysfs does not give, scaled from another machine.

use crate::{Cache, Caches, Costs, CpuType, Distance, Figure, FreqDomain, IdleState, Machine, Opp, Source};

use super::caches::CacheInfo;
use super::idle::{State, MAX_US};
use crate::doubt::{USUAL_ENTRY, USUAL_WAKE};

/// Throughput of a core with 1, 2, ... busy threads, thousandths, where the preset's cores have fewer threads: round
/// figures for code with many system calls.
const SMT_THROUGHPUT: [u32; 8] = [1000, 1250, 1400, 1500, 1550, 1600, 1600, 1600];

/// Share of a footprint that is written, and ns to refill 1 KiB from a shared cache (16 lines of 15 ns, two in flight)
/// and from memory (16 lines of 100 ns, three in flight), where the lender says nothing of caches.
const MODIFIED: f64 = 0.25;
const SHARED_KIB_NS: u64 = 120;
const MEMORY_KIB_NS: u64 = 533;

/// Power of one running CPU by frequency, interpolated.
pub(super) struct Curve {
    /// kHz and mW, rising frequency; never empty.
    points: Vec<(f64, f64)>,
}

impl Curve {
    pub fn new(points: impl IntoIterator<Item = (u32, f64)>) -> Curve {
        Curve { points: points.into_iter().map(|(khz, mw)| (f64::from(khz), mw)).collect() }
    }

    /// The greatest frequency, kHz.
    fn top_khz(&self) -> f64 {
        self.points.last().map_or(1.0, |(khz, _)| *khz)
    }

    /// The power at the greatest frequency, mW.
    fn top_mw(&self) -> f64 {
        self.points.last().map_or(0.0, |(_, mw)| *mw)
    }

    /// mW at a frequency, kHz: on the line between the points around it; beyond the ends in proportion to it.
    pub fn mw_at(&self, khz: f64) -> f64 {
        let above = self.points.iter().position(|(point, _)| *point >= khz);
        let mw = match above {
            Some(i) if self.points[i].0 == khz => self.points[i].1,
            Some(0) => self.points[0].1 * khz / self.points[0].0,
            Some(i) => {
                let ((lo, lo_mw), (hi, hi_mw)) = (self.points[i - 1], self.points[i]);
                lo_mw + (hi_mw - lo_mw) * (khz - lo) / (hi - lo)
            }
            None => self.top_mw() * khz / self.top_khz(),
        };
        mw.min(MOST)
    }
}

/// The greatest power and energy that a machine file can state, mW and uJ.
const MOST: f64 = 1e9;

/// Three digits: an estimate has no more.
fn rounded(x: f64) -> f64 {
    format!("{x:.2e}").parse().map_or(x, |x: f64| x.min(MOST))
}

/// A machine that lends figures.
pub(super) struct Lender<'a> {
    machine: &'a Machine,
}

/// A kind of core of the lender, as it is compared with a captured one.
pub(super) struct Core<'a> {
    pub kind: &'a CpuType,
    domain: &'a FreqDomain,
    cluster: &'a crate::Cluster,
    curve: Curve,
}

impl<'a> Lender<'a> {
    pub fn new(machine: &'a Machine) -> Lender<'a> {
        Lender { machine }
    }

    pub fn name(&self) -> &'a str {
        &self.machine.name
    }

    /// The kind of core that stands for a captured one: of the same name, else of the nearest capacity.
    pub fn core(&self, name: Option<&str>, capacity: u32) -> Core<'a> {
        let m = self.machine;
        let first = |kind: usize| m.cpus.iter().find(|cpu| cpu.cpu_type as usize == kind).unwrap_or(&m.cpus[0]);
        let kinds = 0..m.cpu_types.len();
        let named =
            kinds.clone().find(|kind| name.is_some_and(|name| m.cpu_types[*kind].name.eq_ignore_ascii_case(name)));
        let kind = named.or_else(|| kinds.min_by_key(|kind| first(*kind).capacity.abs_diff(capacity))).unwrap_or(0);
        let cpu = first(kind);
        let domain = m.freq_domain_of(cpu.id);
        Core {
            kind: &m.cpu_types[kind],
            domain,
            cluster: &m.clusters[cpu.cluster as usize],
            curve: Curve::new(domain.opps.iter().map(|opp| (opp.khz, opp.active_mw))),
        }
    }

    /// All costs of a machine on which `occurring` distances occur, and their figures.
    pub fn costs(&self, occurring: &[Distance]) -> (Costs, Vec<Figure>) {
        let mut costs = self.machine.costs.clone();
        let from = Source::Estimate(format!("from {}", self.name()));
        let theirs = self.machine.figures.iter().filter(|figure| figure.path.starts_with("costs."));
        let mut figures: Vec<Figure> =
            theirs.map(|figure| Figure { source: from.clone(), spread: None, ..figure.clone() }).collect();
        let round = Costs::plausible();
        // A core has some ten lines on their way at once.
        let round_next_ns = round.line_ns.map(|ns| ns / 10);
        let tables = [
            ("ipi", Some(&mut costs.ipi_ns), round.ipi_ns),
            ("line", Some(&mut costs.line_ns), round.line_ns),
            ("line_read", costs.line_read_ns.as_mut(), round.line_ns),
            ("line_next", costs.line_next_ns.as_mut(), round_next_ns),
            ("message", Some(&mut costs.message_ns), round.message_ns),
            ("socket_message", Some(&mut costs.socket_message_ns), round.socket_message_ns),
            ("refill_kib", Some(&mut costs.refill_kib_ns), round.refill_kib_ns),
        ];
        let known = self.machine.distances();
        for (name, table, round) in tables.into_iter().filter_map(|(name, table, round)| Some((name, table?, round))) {
            // What the lender does not have, there is nothing to round.
            if name.ends_with("message") && table.iter().all(|ns| *ns == 0) {
                continue;
            }
            let lent = Distance::ALL.map(|d| self.by_distance(d, table, &round, &known));
            let mut nearer = 0;
            for distance in Distance::ALL {
                let path = format!("costs.{name}.{}", distance.name());
                if !occurring.contains(&distance) {
                    // As a file without this distance is read.
                    table[distance as usize] = nearer;
                    figures.retain(|figure| figure.path != path);
                } else if !known.contains(&distance) {
                    let source = Source::Estimate(format!("a round figure, {} has no such distance", self.name()));
                    figures.push(Figure { path, value: String::new(), source, spread: None });
                    table[distance as usize] = lent[distance as usize];
                }
                nearer = table[distance as usize];
            }
        }
        (costs, figures)
    }

    /// Caches of these sizes. The nearest of a CPU costs nothing more; the others cost what the lender's last one does.
    pub fn caches(&self, seen: &[CacheInfo], occurring: &[Distance]) -> Caches {
        let lent = self.machine.caches.as_ref();
        let last = lent.and_then(|caches| caches.all.last());
        let shared_ns = last.map_or(SHARED_KIB_NS, |cache| cache.refill_kib_ns);
        let cache = |(i, cache): (usize, &CacheInfo)| Cache {
            cpus: cache.cpus,
            size_kib: cache.size_kib,
            refill_kib_ns: if seen[..i].iter().any(|nearer| nearer.cpus.intersects(&cache.cpus)) {
                shared_ns
            } else {
                0
            },
        };
        let mut memory_kib_ns = [0; Distance::COUNT];
        for distance in Distance::ALL.into_iter().filter(|d| *d >= Distance::Node) {
            // As a file is read: what does not occur costs what the next nearer does.
            let stated = distance == Distance::Node || occurring.contains(&distance);
            memory_kib_ns[distance as usize] = match lent {
                Some(caches) if stated => caches.memory_kib(distance),
                None if stated => MEMORY_KIB_NS,
                _ => memory_kib_ns[distance as usize - 1],
            };
        }
        Caches {
            all: seen.iter().enumerate().map(cache).collect(),
            modified: lent.map_or(MODIFIED, |caches| caches.modified),
            memory_kib_ns,
        }
    }

    /// Why a figure without a source of its own is what it is.
    pub fn reason(&self, path: &str) -> String {
        let is_of_caches = path.starts_with("refill.") || path.starts_with("cache[");
        match self.machine.caches {
            None if is_of_caches => format!("a round figure, {} says nothing of caches", self.name()),
            _ => format!("from {}", self.name()),
        }
    }

    /// The lender's figure for a distance; where that does not occur there, a round one between its neighbours.
    fn by_distance(
        &self,
        distance: Distance,
        table: &[u64; Distance::COUNT],
        round: &[u64; Distance::COUNT],
        known: &[Distance],
    ) -> u64 {
        let least = known.iter().rfind(|d| **d <= distance).map_or(0, |d| table[*d as usize]);
        let most = known.iter().find(|d| **d >= distance).map_or(u64::MAX, |d| table[*d as usize]);
        round[distance as usize].min(most).max(least)
    }
}

impl Core<'_> {
    /// Time of a change of the clock, ns.
    pub fn transition_ns(&self) -> u64 {
        self.domain.transition_ns
    }

    /// The operating point of a clock that cannot change.
    pub fn fixed_opp(&self) -> Opp {
        Opp::new(self.top_khz(), self.top_mw())
    }

    /// The top frequency, kHz.
    pub fn top_khz(&self) -> u32 {
        self.curve.top_khz() as u32
    }

    /// Power at the top frequency, mW.
    pub fn top_mw(&self) -> f64 {
        self.curve.top_mw()
    }

    /// Operating points: power as at the same share of the top frequency here.
    pub fn opps(&self, khz: &[u32]) -> Vec<Opp> {
        let top = khz.last().copied().map_or(1.0, f64::from);
        let mw = |khz: u32| rounded(self.curve.mw_at(f64::from(khz) / top * self.curve.top_khz()));
        khz.iter().map(|khz| Opp::new(*khz, mw(*khz))).collect()
    }

    /// Power of a cluster of `cpus` CPUs while it is in use and while it is not, mW; `power` is the captured core's over
    /// this one's. It is in proportion to the power of the CPUs: a lender's cluster may be a socket.
    pub fn cluster_mw(&self, power: f64, cpus: usize) -> (f64, f64) {
        let power = power * cpus as f64 / self.cluster.cpus.count() as f64;
        (rounded(self.cluster.active_mw * power), rounded(self.cluster.idle_mw * power))
    }

    /// Throughput of a core with up to `threads` busy threads, thousandths; whether it is this core's.
    pub fn smt_throughput(&self, threads: usize) -> (Vec<u32>, bool) {
        match self.kind.smt_throughput.get(..threads) {
            Some(known) => (known.to_vec(), true),
            None => (SMT_THROUGHPUT[..threads.min(SMT_THROUGHPUT.len())].to_vec(), false),
        }
    }

    /// Idle states: what the kernel sees is as captured, the rest is taken from the nearest state of this core. Its
    /// times scale with the exit latency, its power with `power`, the captured core's over this one's; an idle core
    /// draws no more than one that runs at its lowest frequency, `lowest_mw`.
    pub fn idle_states(&self, states: &[State], power: f64, lowest_mw: f64) -> Vec<IdleState> {
        let mut shallowest = 0;
        let mut all = Vec::new();
        for state in states {
            let index = self.nearest_state(state, shallowest);
            shallowest = index;
            let like = &self.kind.idle_states[index];
            let before = all.last().map_or((0, 0), |last: &IdleState| (last.exit_latency_ns, last.target_residency_ns));
            all.push(idle_state(&with_lent_times(state, like, before), like, power, lowest_mw));
        }
        all
    }

    /// The one state of a CPU without cpuidle.
    pub fn only_state(&self, power: f64, lowest_mw: f64) -> IdleState {
        let states = &self.kind.idle_states;
        let shallow = states.iter().find(|state| !state.polling).unwrap_or(&states[0]);
        let power_mw = rounded(shallow.power_mw * power).min(lowest_mw);
        IdleState { name: "default".into(), power_mw, ..shallow.clone() }
    }

    /// The state of the same name, else that of the same kind with the nearest exit latency; none shallower than
    /// `shallowest`.
    fn nearest_state(&self, state: &State, shallowest: usize) -> usize {
        let states = &self.kind.idle_states;
        let deeper = shallowest..states.len();
        let named = deeper.clone().find(|i| states[*i].name == state.name);
        let latency_ns = state.exit_latency_us * 1000;
        // The ratio of the latencies, in thousandths; a us more keeps zeros apart.
        let apart = |i: &usize| {
            let (a, b) = (latency_ns + 1000, states[*i].exit_latency_ns + 1000);
            let ratio = 1000 * u128::from(a.max(b)) / u128::from(a.min(b));
            (states[*i].polling != state.is_polling, ratio)
        };
        named.or_else(|| deeper.min_by_key(apart)).unwrap_or(shallowest)
    }
}

/// The state with the lender's times for those that its tree lacks; none is less than in the state before, in ns. As
/// the other times of a state, a lent residency scales with the exit latency.
fn with_lent_times(state: &State, like: &IdleState, before: (u64, u64)) -> State {
    let latency_ns = match state.lacks.latency {
        true => like.exit_latency_ns.max(before.0),
        false => state.exit_latency_us * 1000,
    };
    let scaled =
        u128::from(like.target_residency_ns) * u128::from(latency_ns) / u128::from(like.exit_latency_ns.max(1));
    let residency_ns = scaled.min((MAX_US * 1000) as u128) as u64;
    State {
        exit_latency_us: latency_ns.div_ceil(1000),
        residency_us: if state.lacks.residency {
            residency_ns.max(before.1).div_ceil(1000)
        } else {
            state.residency_us
        },
        ..state.clone()
    }
}

fn idle_state(state: &State, like: &IdleState, power: f64, lowest_mw: f64) -> IdleState {
    let exit_latency_ns = state.exit_latency_us * 1000;
    let like_latency_ns = like.exit_latency_ns.max(1);
    // Of a state that is left at once, nothing can be scaled.
    let share = |ns: u64| {
        (u128::from(ns) * u128::from(exit_latency_ns) / u128::from(like_latency_ns)).min(exit_latency_ns.into())
    };
    let longer = exit_latency_ns as f64 / like_latency_ns as f64;
    let usual = state.entry_and_wake_us.map(|(entry, wake)| (USUAL_ENTRY.ns(entry * 1000), USUAL_WAKE.ns(wake * 1000)));
    let (entry_ns, wake_ns) = usual.unwrap_or((share(like.entry_ns) as u64, share(like.wake_ns) as u64));
    // A loop runs: without one to go by, it draws what the lowest frequency does.
    let lent_mw = if state.is_polling && !like.polling { lowest_mw } else { rounded(like.power_mw * power) };
    IdleState {
        name: state.name.clone(),
        scope: if state.is_of_cluster { crate::IdleScope::Cluster } else { crate::IdleScope::Cpu },
        entry_ns,
        wake_ns,
        exit_latency_ns,
        target_residency_ns: state.residency_us * 1000,
        power_mw: lent_mw.min(lowest_mw),
        transition_uj: rounded(like.transition_uj * power * longer),
        polling: state.is_polling,
        wake_scatter: 1.0,
        late_ns: 0,
        late_share: 0.0,
        keeps_cache: like.keeps_cache,
    }
}

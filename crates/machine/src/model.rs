//! The one in-memory machine object. Everything that needs a topology derives it from here.

use std::collections::BTreeMap;

use crate::{Caches, CpuId, CpuMask, Thermal};

/// A machine: what the hardware is. CPU ids are dense, `cpus[i].id == i`.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Short name, as typed on the command line.
    pub name: String,
    /// What board or system this is.
    pub title: String,
    /// What its energy figures leave out, as text; may be empty.
    pub leaves_out: String,
    /// All CPUs, by id; 1 to [`crate::NR_CPUS`].
    pub cpus: Vec<Cpu>,
    /// Core types, indexed by [`Cpu::cpu_type`].
    pub cpu_types: Vec<CpuType>,
    /// CPUs of each physical core (SMT siblings), indexed by [`Cpu::core`].
    pub cores: Vec<CpuMask>,
    /// CPUs of each cluster (as the kernel's cluster id, or the group that can power down together),
    /// indexed by [`Cpu::cluster`].
    pub clusters: Vec<Cluster>,
    /// CPUs behind each last-level cache, indexed by [`Cpu::llc`].
    pub llcs: Vec<CpuMask>,
    /// CPUs of each physical package, indexed by [`Cpu::package`].
    pub packages: Vec<CpuMask>,
    /// CPUs of each NUMA node, indexed by [`Cpu::node`].
    pub nodes: Vec<CpuMask>,
    /// SLIT distances `[from][to]`, 10 = local.
    pub numa_distance: Vec<Vec<u32>>,
    /// Beyond this SLIT distance the kernel neither forks, execs nor wakes across nodes (node_reclaim_distance):
    /// [`crate::NODE_RECLAIM_DISTANCE`] unless the architecture sets another.
    pub node_reclaim_distance: u32,
    /// Groups of CPUs that share a clock.
    pub freq_domains: Vec<FreqDomain>,
    /// What clocks demand of other clocks.
    pub votes: Vec<Vote>,
    /// Thermal model and governors; none: temperature has no effect.
    pub thermal: Option<Thermal>,
    /// Data caches; none: a task that migrates misses its whole footprint, one that stays misses nothing.
    pub caches: Option<Caches>,
    /// Time that kernel operations, cache misses and messages take.
    pub costs: Costs,
    /// Where every figure comes from, section by section as the format describes them. Empty for a machine made in
    /// code until [`Machine::restate_figures`].
    pub figures: Vec<Figure>,
}

/// One logical CPU (a hardware thread).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Dense id: its index in [`Machine::cpus`].
    pub id: CpuId,
    /// The core of the CPU, as its index into [`Machine::cores`].
    pub core: u32,
    /// The cluster of the CPU, as its index into [`Machine::clusters`].
    pub cluster: u32,
    /// The last-level cache of the CPU, as its index into [`Machine::llcs`].
    pub llc: u32,
    /// The package of the CPU, as its index into [`Machine::packages`].
    pub package: u32,
    /// The NUMA node of the CPU, as its index into [`Machine::nodes`].
    pub node: u32,
    /// The frequency domain of the CPU, as its index into [`Machine::freq_domains`].
    pub freq_domain: u32,
    /// The kind of core, as its index into [`Machine::cpu_types`].
    pub cpu_type: u32,
    /// Capacity at top frequency, 1..=1024; some CPU has 1024 (arch_scale_cpu_capacity).
    pub capacity: u32,
}

/// A kind of core: what all CPUs of this kind share.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuType {
    /// Name of the core type, e.g. `Cortex-A73`.
    pub name: String,
    /// Idle states, shallowest first. Never empty; index 0 is entered when nothing deeper pays.
    pub idle_states: Vec<IdleState>,
    /// Whether a cpuidle driver drives the states. Without one no governor is asked, the tick stops whenever the CPU idles,
    /// and the scheduler sees no state recorded. The CPU then goes into each of the states by itself, as soon as it has slept
    /// for the state's residency: a hypervisor polls for a while before it gives the CPU away, and its host's CPU goes deeper.
    pub cpuidle: bool,
    /// Throughput of a core with 1, 2, ... busy threads, in thousandths of one busy thread; `[1000]` without SMT.
    pub smt_throughput: Vec<u32>,
}

/// The greatest [`IdleState::wake_scatter`]: two thirds of the wakes between a tenth and ten times the median say nothing.
pub const WAKE_SCATTER_MAX: f64 = 10.0;

/// What must be idle together for a state to be entered in hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleScope {
    /// Each CPU enters the state by itself.
    Cpu,
    /// Every CPU of the cluster must ask for this state or a deeper one; until then the deepest CPU state holds.
    Cluster,
}

/// An idle state as the kernel sees it and as the hardware behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleState {
    /// Name, e.g. `WFI`, `cpu-sleep`.
    pub name: String,
    /// Whether the CPU alone or its cluster enters it.
    pub scope: IdleScope,
    /// Time to get in, ns; a wake during entry waits for its end.
    pub entry_ns: u64,
    /// Time from a wake event until the CPU runs instructions again, ns: the median.
    pub wake_ns: u64,
    /// Two thirds of all wakes take between `wake_ns` over this factor and `wake_ns` times it (log-normal); 1, which is
    /// the least: all take the same.
    pub wake_scatter: f64,
    /// How much longer a wake by another CPU takes when it comes late, ns: the hypervisor's host had put its own CPU to
    /// sleep.
    pub late_ns: u64,
    /// Part of the wakes by other CPUs that come late, 0 to 1.
    pub late_share: f64,
    /// Worst-case exit latency as the kernel sees it, ns (device tree: wakeup-latency, else entry + exit).
    pub exit_latency_ns: u64,
    /// Target residency as the kernel sees it: shortest idle period that saves energy, ns.
    pub target_residency_ns: u64,
    /// Power of one CPU in this state, mW.
    pub power_mw: f64,
    /// Energy of one entry and exit beyond power x time, uJ.
    pub transition_uj: f64,
    /// The CPU spins instead of stopping: a wake needs no interrupt.
    pub polling: bool,
    /// Caches outlast it. One that does not keep them empties what the CPU's core has for itself, or of the cluster's
    /// scope what only CPUs of the cluster share, when all who share it are in such a state.
    pub keeps_cache: bool,
}

/// CPUs that can power down together.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The CPUs of the cluster.
    pub cpus: CpuMask,
    /// Whether the kernel sees this cluster as a topology level (cpu-map or PPTT cluster that shares
    /// less than the last-level cache, e.g. Kunpeng 920's CCL).
    pub shares_cache: bool,
    /// Static power while any member is not in a cluster idle state, mW.
    pub active_mw: f64,
    /// Static power while all members are in a cluster idle state, mW.
    pub idle_mw: f64,
}

/// CPUs that share a clock.
#[derive(Clone, Debug, PartialEq)]
pub struct FreqDomain {
    /// The CPUs of the frequency domain.
    pub cpus: CpuMask,
    /// Operating points, rising frequency; never empty.
    pub opps: Vec<Opp>,
    /// Time of one change, ns, the wait for a slot apart.
    pub transition_ns: u64,
    /// Changes begin at multiples of this time only, ns; 0: at once.
    pub slot_ns: u64,
    /// Time of one change as the driver reports it to the kernel, ns; none: `transition_ns`.
    pub reported_ns: Option<u64>,
    /// The supply that feeds it, by name; none: the one that feeds all without a name.
    pub rail: Option<String>,
}

impl FreqDomain {
    /// When a change is there that is asked for at `at`, ns; `u64::MAX` if that is beyond the end of time.
    pub fn changed_at(&self, at: u64) -> u64 {
        let begins = if self.slot_ns == 0 { at } else { at.div_ceil(self.slot_ns).saturating_mul(self.slot_ns) };
        begins.saturating_add(self.transition_ns)
    }

    /// Time of one change as the kernel is told it, ns.
    pub fn reported_transition_ns(&self) -> u64 {
        self.reported_ns.unwrap_or(self.transition_ns)
    }
}

/// An operating point of a frequency domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Opp {
    /// Frequency of the operating point, kHz.
    pub khz: u32,
    /// Power of one running CPU, mW.
    pub active_mw: f64,
    /// What the kernel's energy model believes of it, mW; none: the truth.
    pub model_mw: Option<f64>,
    /// Power of one CPU in its shallowest idle state at this point's voltage, mW; none: the state's own.
    pub wfi_mw: Option<f64>,
    /// Static power of the supply at this point's voltage, whatever the CPUs do, mW.
    pub static_mw: f64,
}

impl Opp {
    /// A point of which no more is known.
    pub fn new(khz: u32, active_mw: f64) -> Opp {
        Opp { khz, active_mw, model_mw: None, wfi_mw: None, static_mw: 0.0 }
    }

    /// Power of one running CPU as the kernel's energy model has it, uW.
    pub fn model_uw(&self) -> u64 {
        (self.model_mw.unwrap_or(self.active_mw) * 1000.0) as u64
    }

    /// Power of one running CPU at this point's clock while the supply is at the voltage of `other`, mW: each cycle
    /// costs what it costs there.
    pub fn active_mw_at(&self, other: &Opp) -> f64 {
        match self.khz == other.khz {
            true => self.active_mw,
            false => other.active_mw * f64::from(self.khz) / f64::from(other.khz),
        }
    }
}

/// The rail of clocks that name none.
pub const UNNAMED_RAIL: &str = "CPU";

/// What one clock demands of another, by operating points: while `from` runs at its n-th, `on` runs no slower than at
/// `clock[n]`, and its supply has at least the voltage of `voltage[n]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    /// The frequency domain that demands; no vote may demand anything of it.
    pub from: u32,
    /// The frequency domain that the demand is made on.
    pub on: u32,
    /// Least operating point of `on`, by that of `from`.
    pub clock: Vec<u32>,
    /// Operating point of `on` whose voltage is the least, by operating point of `from`.
    pub voltage: Vec<u32>,
}

/// How close two CPUs are: the nearest thing they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Distance {
    /// The two CPUs are the same.
    Same,
    /// The CPUs are threads of one core.
    Smt,
    /// One cluster (of those that share a cache or its tags).
    Cluster,
    /// Both are behind one last-level cache.
    Llc,
    /// Both are in one NUMA node.
    Node,
    /// Another node of the same package.
    Package,
    /// The CPUs are in different packages.
    Remote,
}

impl Distance {
    /// Number of distances, for tables indexed by `distance as usize`.
    pub const COUNT: usize = 7;
    /// All distances, nearest first.
    pub const ALL: [Distance; Self::COUNT] = [
        Distance::Same,
        Distance::Smt,
        Distance::Cluster,
        Distance::Llc,
        Distance::Node,
        Distance::Package,
        Distance::Remote,
    ];
}

/// Kinds of software work with a price. Each is ns on a CPU of capacity 1024 at its top frequency and is
/// stretched by 1024 / (current capacity) elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SoftCost {
    /// System call entry and exit.
    Syscall,
    /// Pipe write beyond the system call: locks, buffer handling.
    PipeWrite,
    /// Pipe read beyond the system call, also the return path of a reader that was woken.
    PipeRead,
    /// AF_UNIX stream send beyond the system call.
    SockSend,
    /// AF_UNIX stream receive beyond the system call.
    SockRecv,
    /// Copying 1 KiB between user and kernel.
    CopyKib,
    /// A futex, mutex, barrier, condition variable or semaphore operation that enters the kernel.
    Futex,
    /// The same served in user space without contention.
    LockFast,
    /// Arming a high-resolution timer and going to sleep.
    TimerArm,
    /// Hard interrupt entry and exit of a timer.
    TimerIrq,
    /// Hard interrupt entry and exit of an IPI.
    IpiIrq,
    /// try_to_wake_up besides what is counted separately, including CPU selection's fixed part.
    Wakeup,
    /// Looking at one CPU in a placement scan.
    Probe,
    /// Looking at one CPU in group statistics (fork, exec, balance).
    GroupCpu,
    /// Putting a task on a run queue.
    Enqueue,
    /// Taking a task off a run queue.
    Dequeue,
    /// Sending an inter-processor interrupt, on the sending CPU.
    IpiSend,
    /// schedule() and picking the next task.
    Pick,
    /// Switching to a task of the same address space, or to or from the idle task.
    SwitchThread,
    /// Switching to a task of another address space.
    SwitchProcess,
    /// Moving a task's accounting to another CPU, cache refill not included.
    Migrate,
    /// The periodic scheduler tick besides the timer interrupt, which is a [`SoftCost::TimerIrq`].
    Tick,
    /// The balance softirq besides GroupCpu.
    Balance,
    /// clone() of a thread: same address space.
    CloneThread,
    /// fork() of a process: address space copied.
    Fork,
    /// exec of a new program.
    Exec,
    /// Exit of a task.
    Exit,
    /// sched_yield and attribute changes.
    SchedCall,
}

impl SoftCost {
    /// Number of kinds, for tables indexed by `kind as usize`.
    pub const COUNT: usize = 28;
}

/// What operations cost on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// Factor on the scaled costs, found by a fit; 1 if nothing was fitted. [`Costs::rescale`] changes it.
    pub scale: f64,
    /// ns at capacity 1024, by [`SoftCost`]; `scale` is applied where [`SoftCost::is_scaled`].
    pub soft_ns: [f64; SoftCost::COUNT],
    /// Half width of the spread of one software step of a task, as a share of its cost, 0 to 1: each step takes
    /// uniformly between `1 - jitter` and `1 + jitter` of its price (caches, TLBs, branch predictors).
    pub jitter: f64,
    /// IPI flight: send to the target's interrupt line, ns, by [`Distance`]; not scaled.
    pub ipi_ns: [u64; Distance::COUNT],
    /// Moving one modified cache line between two CPUs to a CPU that will own it (atomic operations, writes), ns, by
    /// [`Distance`]; not scaled.
    pub line_ns: [u64; Distance::COUNT],
    /// The same to a CPU that only reads it, ns, by [`Distance`]; none: as `line_ns`; not scaled.
    pub line_read_ns: Option<[u64; Distance::COUNT]>,
    /// Each further line of data that a CPU copies in a row after the first, which it reads, ns, by [`Distance`]: a CPU has many
    /// lines on their way at once. None: as a line that is read; not scaled.
    pub line_next_ns: Option<[u64; Distance::COUNT]>,
    /// What reading a message that was written on another CPU costs beyond its lines, ns, by [`Distance`]; 0 unless the
    /// machine has measurements that lines do not explain; not scaled.
    pub message_ns: [u64; Distance::COUNT],
    /// What a message of a socket costs its reader besides if another CPU sent it, ns, by [`Distance`]: it has a header of its own
    /// (`struct sk_buff`); not scaled.
    pub socket_message_ns: [u64; Distance::COUNT],
    /// Lines that who reads a message of another CPU reads from there beyond its data, mean, 0 to 1000.
    pub message_lines: f64,
    /// What one direction of the link between two NUMA nodes carries, GB (10^9 bytes) per second, above 0; none: no
    /// limit.
    pub link_gb_per_s: Option<f64>,
    /// Refilling 1 KiB of a migrated task's footprint of which the CPU has nothing, ns, by the [`Distance`] to the CPU
    /// it left; not scaled. Lines that were modified there are among it, [`Caches::modified`] of all.
    pub refill_kib_ns: [u64; Distance::COUNT],
}

impl Costs {
    /// The price of one unit of `kind`, ns at capacity 1024.
    pub fn soft(&self, kind: SoftCost) -> f64 {
        self.soft_ns[kind as usize]
    }

    /// The price of a modified line of another CPU that is read, ns.
    pub fn line_read(&self, distance: Distance) -> u64 {
        self.line_read_ns.as_ref().unwrap_or(&self.line_ns)[distance as usize]
    }

    /// The price of `n` lines of data in a row that another CPU has modified and this one reads, ns.
    pub fn data_lines(&self, distance: Distance, n: u64) -> u64 {
        match n {
            0 => 0,
            _ => self.line_read(distance) + self.line_next(distance) * (n - 1),
        }
    }

    /// The price of each further line of data in a row that is read, ns.
    pub fn line_next(&self, distance: Distance) -> u64 {
        self.line_next_ns.as_ref().map_or(self.line_read(distance), |table| table[distance as usize])
    }

    /// The price of a message that was written on another CPU, its data apart, ns: [`Costs::message_ns`] and the lines
    /// of [`Costs::message_lines`].
    pub fn message(&self, distance: Distance) -> u64 {
        self.message_ns[distance as usize] + (self.message_lines * self.line_read(distance) as f64).round() as u64
    }

    /// Sets the fitted factor to `scale` (above 0).
    pub fn rescale(&mut self, scale: f64) {
        let factor = scale / self.scale;
        SoftCost::variants().filter(|kind| kind.is_scaled()).for_each(|kind| self.soft_ns[kind as usize] *= factor);
        self.scale = scale;
    }
}

/// Where a figure of the machine file comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Dotted path in the file, e.g. `cpu_type.Cortex-A73.idle.cpu-sleep.wake`; entries of arrays of tables go by
    /// the CPUs of their first group, e.g. `freq_domain[4-7].transition`.
    pub path: String,
    /// Value as the file has it, with its unit.
    pub value: String,
    /// Where the value comes from.
    pub source: Source,
    /// The spread that the file states, at least 1; none: that of its class and kind ([`Figure::doubt`]).
    pub spread: Option<f64>,
}

/// A figure of the machine file that is to be stated anew.
#[derive(Clone, Debug, PartialEq)]
pub struct NewFigure {
    /// As [`Figure::path`].
    pub path: String,
    /// Its value as the file has it, before `costs.scale`.
    pub value: NewValue,
    /// The unit of `value`, one that the file has for such figures: `ns`, `factor`, `ratio` or `mW`.
    pub unit: &'static str,
    /// Where it comes from.
    pub source: Source,
    /// As [`Figure::spread`], 1 to 10.
    pub spread: f64,
}

/// What a [`NewFigure`] is set to.
#[derive(Clone, Debug, PartialEq)]
pub enum NewValue {
    /// A number.
    Number(f64),
    /// A list of numbers: `smt_throughput` has one for each busy thread, `opps` a power for each of its rows.
    List(Vec<f64>),
}

impl From<f64> for NewValue {
    fn from(number: f64) -> NewValue {
        NewValue::Number(number)
    }
}

impl Figure {
    /// Whether energy depends on the figure, and times do not: powers of clocks, idle states and clusters, and energies of
    /// transitions.
    pub fn is_power(&self) -> bool {
        let (section, name) = self.path.rsplit_once('.').unwrap_or(("", &self.path));
        match name {
            "active" | "idle" => section.starts_with("cluster["),
            "opps" => section.starts_with("freq_domain["),
            "power" | "transition" => section.starts_with("cpu_type.") && section.contains(".idle."),
            _ => false,
        }
    }
}

/// Where a figure comes from, by its kind of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A published or measured source, expanded from the file's `sources` table, and its class.
    Published(SourceClass, String),
    /// Estimated; holds the reasoning.
    Estimate(String),
    /// Fitted to the named baseline cell (design decision 6).
    Fitted(String),
}

/// How those who published a figure came to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceClass {
    /// Measured on this machine or on the same part.
    Measured,
    /// A vendor's or a kernel's setting: device trees, firmware tables, drivers.
    Declared,
    /// A nominal value of a data sheet or a review.
    Datasheet,
}

impl SourceClass {
    /// All classes.
    pub const ALL: [SourceClass; 3] = [SourceClass::Measured, SourceClass::Declared, SourceClass::Datasheet];

    /// The class of a source whose file states none.
    pub const UNSTATED: SourceClass = SourceClass::Datasheet;

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            SourceClass::Measured => "measured",
            SourceClass::Declared => "declared",
            SourceClass::Datasheet => "datasheet",
        }
    }
}

impl Machine {
    /// Number of CPUs, 1 to [`crate::NR_CPUS`].
    pub fn nr_cpus(&self) -> usize {
        self.cpus.len()
    }

    /// The set of all CPUs of the machine.
    pub fn all_cpus(&self) -> CpuMask {
        CpuMask::first_n(self.nr_cpus())
    }

    /// The nearest thing that two CPUs share.
    #[inline]
    pub fn distance(&self, a: CpuId, b: CpuId) -> Distance {
        let (x, y) = (&self.cpus[a as usize], &self.cpus[b as usize]);
        if a == b {
            Distance::Same
        } else if x.core == y.core {
            Distance::Smt
        } else if x.cluster == y.cluster && self.clusters[x.cluster as usize].shares_cache {
            Distance::Cluster
        } else if x.llc == y.llc {
            Distance::Llc
        } else if x.node == y.node {
            Distance::Node
        } else if x.package == y.package {
            Distance::Package
        } else {
            Distance::Remote
        }
    }

    /// The core type of a CPU.
    #[inline]
    pub fn type_of(&self, cpu: CpuId) -> &CpuType {
        &self.cpu_types[self.cpus[cpu as usize].cpu_type as usize]
    }

    /// The idle states of a CPU, shallowest first.
    #[inline]
    pub fn idle_states(&self, cpu: CpuId) -> &[IdleState] {
        &self.type_of(cpu).idle_states
    }

    /// The frequency domain of a CPU.
    pub fn freq_domain_of(&self, cpu: CpuId) -> &FreqDomain {
        &self.freq_domains[self.cpus[cpu as usize].freq_domain as usize]
    }

    /// The supplies, in the order of the clocks that they feed, each with the CPUs of these.
    pub fn rails(&self) -> Vec<(&str, CpuMask)> {
        let mut rails: Vec<(&str, CpuMask)> = Vec::new();
        for domain in &self.freq_domains {
            let name = domain.rail.as_deref().unwrap_or(UNNAMED_RAIL);
            match rails.iter_mut().find(|(known, _)| *known == name) {
                Some((_, cpus)) => *cpus = cpus.or(&domain.cpus),
                None => rails.push((name, domain.cpus)),
            }
        }
        rails
    }

    /// Whether some core has two or more threads.
    pub fn has_smt(&self) -> bool {
        self.cores.iter().any(|c| c.count() > 1)
    }

    /// The CPUs no farther from `cpu` than `distance`, `cpu` included. Panics if this machine does not have `cpu`.
    pub fn cpus_within(&self, cpu: CpuId, distance: Distance) -> CpuMask {
        (0..self.nr_cpus() as CpuId).filter(|other| self.distance(cpu, *other) <= distance).collect()
    }

    /// The distances that occur between two CPUs of this machine, nearest first; always starts with `Same`.
    pub fn distances(&self) -> Vec<Distance> {
        let mut seen = [false; Distance::COUNT];
        seen[Distance::Smt as usize] = self.has_smt();
        let cpus = self.cpus_of_places();
        for a in &cpus {
            cpus.iter().for_each(|b| seen[self.distance(*a, *b) as usize] = true);
        }
        Distance::ALL.into_iter().filter(|d| seen[*d as usize]).collect()
    }

    /// Of the CPUs of the same cluster, cache, node and package the first, and one on another core: but for siblings, all
    /// others are as far from each CPU as one of these.
    fn cpus_of_places(&self) -> Vec<CpuId> {
        let mut places = BTreeMap::<_, (CpuId, Option<CpuId>)>::new();
        for c in &self.cpus {
            let (first, other) = places.entry((c.cluster, c.llc, c.node, c.package)).or_insert((c.id, None));
            if c.core != self.cpus[*first as usize].core {
                other.get_or_insert(c.id);
            }
        }
        places.into_values().flat_map(|(first, other)| [Some(first), other]).flatten().collect()
    }

    /// Top frequency of a CPU, kHz.
    pub fn max_khz(&self, cpu: CpuId) -> u32 {
        self.freq_domain_of(cpu).opps.last().map_or(0, |opp| opp.khz)
    }

    /// Capacity of a CPU while its clock runs at `khz`: capacity x khz / top frequency, 0.0..=1024.0. SMT siblings
    /// are not considered.
    pub fn capacity_at(&self, cpu: CpuId, khz: u32) -> f64 {
        f64::from(self.cpus[cpu as usize].capacity) * f64::from(khz) / f64::from(self.max_khz(cpu).max(1))
    }

    /// SLIT distance between the nodes of two CPUs, 10 = local.
    pub fn slit(&self, a: CpuId, b: CpuId) -> u32 {
        self.numa_distance[self.cpus[a as usize].node as usize][self.cpus[b as usize].node as usize]
    }

    /// Whether not all CPUs have the same capacity (SD_ASYM_CPUCAPACITY).
    pub fn is_asymmetric(&self) -> bool {
        self.cpus.iter().any(|cpu| cpu.capacity != self.cpus[0].capacity)
    }
}

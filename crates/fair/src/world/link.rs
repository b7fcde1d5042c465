//! Allocates the policy's structs for a machine and sets their pointers: builds domains and groups from the topology's
//! plan.

use fairground_machine::{CpuId, CpuMask, Machine};

use super::cpus::Cpus;
use super::processes::Processes;
use super::slabs::{EnergyModels, Sums, World};
use crate::ffi::*;
use crate::storage::{Pool, Slab};
use crate::topology::Topology;
use crate::Features;

impl World {
    /// Allocates and links the structs of a machine. The caller must call [`Self::set_hz`] before it uses them.
    pub fn new(machine: &Machine, features: &Features, topology: &Topology) -> World {
        let nr_cpus = machine.nr_cpus();
        let mut world = World {
            sys: Slab::new(vec![FgSys::zeroed()]),
            cpus: Cpus::new((0..nr_cpus as CpuId).map(|c| new_cpu(machine, c)).collect()),
            domains: Slab::new(topology.plan().domains.iter().map(|d| d.sd.clone()).collect()),
            groups: Slab::new(topology.plan().rings.iter().flatten().map(|g| g.sg.clone()).collect()),
            sums: Sums::none(),
            llcs: Slab::new(Vec::new()),
            clusters: Slab::new(Vec::new()),
            roots: Slab::new(new_roots(machine, topology)),
            nodes: Slab::new(machine.nodes.clone()),
            energy: EnergyModels::none(),
            sugovs: Slab::new(Vec::new()),
            tasks: Pool::new(FgTask::zeroed),
            processes: Processes::none(),
            tgs: Slab::new(Vec::new()),
            tg_cpus: Slab::new(Vec::new()),
            tg_of: Vec::new(),
            twins: Vec::new(),
            chains: (0..nr_cpus).map(|c| topology.plan().chain_ids(c as CpuId).collect()).collect(),
        };
        world.fill_sys(machine, features, topology);
        for (cpu, at) in machine.cpus.iter().enumerate() {
            world.cpus[cpu].node = world.nodes.ptr(at.node as usize);
            world.server_init(cpu);
        }
        world.link(topology);
        world.link_caches(machine, topology);
        world
    }

    fn link(&mut self, topology: &Topology) {
        self.link_domains(topology);
        self.link_llcs(topology);
        self.link_cpus(topology);
        self.link_clusters(topology);
        self.link_sums();
    }

    /// partition_sched_domains after CPUs went offline or came back: new domains, groups and root domains, which know
    /// nothing of the past.
    pub fn rebuild(&mut self, machine: &Machine, topology: &Topology, jiffies: u64) {
        let nr_cpus = self.cpus.len();
        self.domains = Slab::new(topology.plan().domains.iter().map(|d| d.sd.clone()).collect());
        self.groups = Slab::new(topology.plan().rings.iter().flatten().map(|g| g.sg.clone()).collect());
        self.roots = Slab::new(new_roots(machine, topology));
        self.chains = (0..nr_cpus).map(|c| topology.plan().chain_ids(c as CpuId).collect()).collect();
        for id in 0..self.domains.len() {
            let sd = &mut self.domains[id];
            (sd.last_balance, sd.next_decay) = (jiffies, jiffies);
        }
        for cpu in 0..nr_cpus {
            let rq = &mut self.cpus[cpu];
            (rq.llc, rq.sd_llc) = (std::ptr::null_mut(), std::ptr::null_mut());
            (rq.balance_shared, rq.cluster) = (std::ptr::null_mut(), std::ptr::null_mut());
            rq.counted_idle = 0;
        }
        self.sys_mut().asym_key = u8::from(topology.has(FG_SD_ASYM_CPUCAPACITY));
        self.link(topology);
        self.first_capacities(jiffies);
    }

    /// These CPUs are active: they take tasks.
    pub fn set_active(&mut self, machine: &Machine, active: &CpuMask) {
        let smt = machine.cores.iter().any(|core| core.and(active).count() > 1);
        let sys = self.sys_mut();
        (sys.active, sys.smt_key) = (*active, u8::from(smt));
    }

    /// These CPUs are online: the others are in no mask of cores and nodes.
    pub fn set_online(&mut self, machine: &Machine, online: &CpuMask) {
        self.sys_mut().nr_offline = (self.cpus.len() - online.count()) as u32;
        for (cpu, at) in machine.cpus.iter().enumerate() {
            let core = machine.cores[at.core as usize].and(online);
            self.cpus[cpu].core = if online.test(cpu as CpuId) { core } else { CpuMask::single(cpu as CpuId) };
        }
        for (node, cpus) in machine.nodes.iter().enumerate() {
            self.nodes[node] = cpus.and(online);
        }
    }

    fn fill_sys(&mut self, machine: &Machine, features: &Features, topology: &Topology) {
        let cpus = self.cpus.ptr(0);
        let sys = &mut self.sys[0];
        sys.cpus = cpus;
        sys.nr_cpus = machine.nr_cpus() as u32;
        sys.asym_key = u8::from(topology.has(FG_SD_ASYM_CPUCAPACITY));
        sys.smt_key = u8::from(machine.has_smt());
        sys.active = machine.all_cpus();
        sys.feat = features.raw().clone();
        // Without the static key sched_uclamp_used (UCLAMP_KEY), clamps are always counted.
        sys.uclamp_used = u8::from(!features.on(FG_UCLAMP_KEY));
        sys.uclamp_min_rt = FG_CAPACITY_SCALE;
        sys.uclamp_limit = FgClamps { min: FG_CAPACITY_SCALE, max: FG_CAPACITY_SCALE };
    }

    /// Sets HZ, which the engine gives at its first call, and then the group capacities, whose update times are
    /// jiffies, and the length of an epoch of sched-cache.
    pub fn set_hz(&mut self, hz: u32) {
        self.sys_mut().hz = hz;
        self.set_epoch_period();
        self.first_capacities(0);
    }

    /// Sets parents, children and group rings.
    fn link_domains(&mut self, topology: &Topology) {
        let plan = topology.plan();
        let mut starts = Vec::new();
        let mut start = 0;
        for ring in &plan.rings {
            starts.push(start);
            for i in 0..ring.len() {
                let next = self.groups.ptr(start + (i + 1) % ring.len());
                self.groups[start + i].next = next;
            }
            start += ring.len();
        }
        for (id, node) in plan.domains.iter().enumerate() {
            let at = |id: Option<usize>| id.map_or(std::ptr::null_mut(), |id| self.domains.ptr(id));
            let (parent, child) = (at(node.parent), at(node.child));
            let sd = &mut self.domains[id];
            (sd.parent, sd.child) = (parent, child);
            sd.groups = self.groups.ptr(starts[node.ring] + node.first);
        }
        self.find_twins(topology);
    }

    fn find_twins(&mut self, topology: &Topology) {
        let plan = topology.plan();
        let keys: Vec<_> = plan.rings.iter().flatten().map(|g| (g.level, g.sg.balance_cpu)).collect();
        let mut of_key = std::collections::BTreeMap::<_, Vec<usize>>::new();
        keys.iter().enumerate().for_each(|(id, key)| of_key.entry(key).or_default().push(id));
        let others = |id: usize| of_key[&keys[id]].iter().copied().filter(|other| *other != id).collect();
        self.twins = (0..keys.len()).map(others).collect();
    }

    /// One sched_domain_shared for each last-level cache (spec 1.4), and with BALANCE_SHARED for each asymmetric domain
    /// that is neither a cache's nor of a NUMA level.
    fn link_llcs(&mut self, topology: &Topology) {
        let nr_cpus = self.cpus.len();
        let asym = self.asym_spans();
        let mut spans: Vec<CpuMask> = (0..nr_cpus as CpuId).filter_map(|c| Some(topology.llc(c)?.sd.span)).collect();
        spans.sort_unstable();
        spans.dedup();
        let llc = |span: &CpuMask| FgLlc { nr_busy_cpus: span.count() as u32, ..FgLlc::zeroed() };
        let shared = spans.iter().chain(asym.iter().filter(|span| spans.binary_search(span).is_err()));
        let shared: Vec<CpuMask> = shared.copied().collect();
        self.llcs = Slab::new(shared.iter().map(llc).collect());
        for cpu in 0..nr_cpus {
            let Some(domain) = topology.llc(cpu as CpuId) else { continue };
            let Ok(index) = spans.binary_search(&domain.sd.span) else { continue };
            let llc = self.llcs.ptr(index);
            let flag = FG_SD_SHARE_LLC;
            let highest = |id: &&usize| self.domains[**id].flags & flag != 0 && self.domains[**id].span == spans[index];
            let Some(sd) = self.chains[cpu].iter().find(highest).copied() else { continue };
            self.domains[sd].shared = llc;
            (self.cpus[cpu].llc, self.cpus[cpu].sd_llc) = (llc, self.domains.ptr(sd));
            self.cpus[cpu].balance_shared = llc;
        }
        for cpu in 0..nr_cpus {
            let Some(sd) = self.asym_domain(cpu).filter(|_| !asym.is_empty()) else { continue };
            let Some(index) = shared.iter().position(|span| *span == self.domains[sd].span) else { continue };
            let llc = self.llcs.ptr(index);
            self.domains[sd].shared = llc;
            self.cpus[cpu].balance_shared = llc;
        }
    }

    /// The lowest domain of a CPU with all capacities, unless that is of a NUMA level.
    fn asym_domain(&self, cpu: usize) -> Option<usize> {
        let full = |id: &&usize| self.domains[**id].flags & FG_SD_ASYM_CPUCAPACITY_FULL != 0;
        let sd = self.chains[cpu].iter().find(full).copied()?;
        (self.domains[sd].flags & FG_SD_NUMA == 0).then_some(sd)
    }

    /// With BALANCE_SHARED the spans of these domains, each once.
    fn asym_spans(&self) -> Vec<CpuMask> {
        if self.sys().feat.value[FG_BALANCE_SHARED] == 0 {
            return Vec::new();
        }
        let spans = (0..self.cpus.len()).filter_map(|cpu| Some(self.domains[self.asym_domain(cpu)?].span));
        let mut spans: Vec<CpuMask> = spans.collect();
        spans.sort_unstable();
        spans.dedup();
        spans
    }

    /// The lowest domain of a CPU that has one of `flags`, null if there is none.
    fn lowest_with(&self, cpu: usize, flags: u32) -> *mut FgDomain {
        let found = self.chains[cpu].iter().find(|id| self.domains[**id].flags & flags != 0);
        found.map_or(std::ptr::null_mut(), |id| self.domains.ptr(*id))
    }

    /// Sets the per-CPU pointers and sizes of spec 1.4.
    fn link_cpus(&mut self, topology: &Topology) {
        let full = self.sys().feat.value[FG_ASYM_CAP_FULL] != 0;
        let asym = if full { FG_SD_ASYM_CPUCAPACITY_FULL } else { FG_SD_ASYM_CPUCAPACITY };
        for cpu in 0..self.cpus.len() {
            let id = cpu as CpuId;
            let lowest = self.chains[cpu].first().map_or(std::ptr::null_mut(), |id| self.domains.ptr(*id));
            let (asym, numa) = (self.lowest_with(cpu, asym), self.lowest_with(cpu, FG_SD_NUMA));
            let root = topology.partitions().iter().position(|p| p.test(id));
            let root = self.roots.ptr(root.unwrap_or(topology.partitions().len()));
            let llc = topology.llc(id).map(|d| d.sd.span);
            let rq = &mut self.cpus[cpu];
            (rq.sd, rq.sd_asym_cpucapacity, rq.sd_numa, rq.rd) = (lowest, asym, numa, root);
            rq.sd_llc_size = llc.map_or(1, |span| span.count() as u32);
            rq.sd_llc_id = topology.llc_id(id);
            rq.sd_share_id = topology.first_of_llc(id) as i32;
        }
    }

    /// One object for each cluster, and the per-CPU share id that clusters have had since v6.7. That kernel finds
    /// clusters by their domains; here a cluster without a domain is one too.
    fn link_clusters(&mut self, topology: &Topology) {
        let nr_cpus = self.cpus.len();
        let landed = u32::from(self.sys().feat.value[FG_CLS_SELECT]) == FG_CLS_LANDED;
        let mut spans: Vec<CpuMask> = (0..nr_cpus as CpuId).filter_map(|c| topology.cluster(c).copied()).collect();
        spans.sort_unstable();
        spans.dedup();
        let cluster = |span: &CpuMask| FgCluster { span: *span, weight: span.count() as u32, ..FgCluster::zeroed() };
        self.clusters = Slab::new(spans.iter().map(cluster).collect());
        self.sys_mut().cluster_key = u8::from(topology.has(FG_SD_CLUSTER) || (landed && !spans.is_empty()));
        for cpu in 0..nr_cpus {
            let Some(span) = topology.cluster(cpu as CpuId) else { continue };
            let (Ok(index), Some(first)) = (spans.binary_search(span), span.first()) else { continue };
            let rq = &mut self.cpus[cpu];
            rq.cluster = self.clusters.ptr(index);
            if landed {
                rq.sd_share_id = first as i32;
            }
        }
    }

    /// Sets the capacity of every group (spec 1.8) as build_sched_domains() does: from the last CPU to the first, for
    /// the local groups whose balance CPU it is.
    fn first_capacities(&mut self, jiffies: u64) {
        for cpu in (0..self.cpus.len()).rev() {
            for at in 0..self.chain(cpu).len() {
                let sd = self.chain(cpu)[at];
                if self.local_group(sd).balance_cpu == cpu as i32 {
                    self.renew_group_capacity(sd, cpu, jiffies);
                }
            }
        }
    }
}

fn new_cpu(machine: &Machine, cpu: CpuId) -> FgCpu {
    let hardware = &machine.cpus[cpu as usize];
    let mut rq = FgCpu::zeroed();
    rq.id = cpu as i32;
    rq.curr_is_idle = 1;
    rq.cpu_capacity_orig = hardware.capacity;
    rq.cpu_capacity = hardware.capacity;
    rq.freq_scale = FG_CAPACITY_SCALE;
    rq.pd = machine.freq_domain_of(cpu).cpus.first().unwrap_or(cpu) as i32;
    // No task has run: minimum 0, maximum 1024, and the queue is marked as idle (spec 2.8).
    rq.uclamp[FG_UCLAMP_MAX as usize].value = FG_CAPACITY_SCALE;
    rq.uclamp_idle = 1;
    // The initial average idle times: spec 4.5.
    rq.avg_idle = 2 * u64::from(FG_MIGRATION_COST);
    rq.wake_avg_idle = rq.avg_idle;
    rq.max_idle_balance_cost = u64::from(FG_MIGRATION_COST);
    rq.idle_state = -1;
    rq.core = machine.cores[hardware.core as usize];
    rq
}

/// One root domain for each partition and one for isolated CPUs.
fn new_roots(machine: &Machine, topology: &Topology) -> Vec<FgRoot> {
    let rest = topology.partitions().iter().fold(machine.all_cpus(), |left, p| left.minus(p));
    let root = |span: &CpuMask| FgRoot {
        span: *span,
        max_cpu_capacity: span.iter().map(|c| u64::from(machine.cpus[c as usize].capacity)).max().unwrap_or(0),
        ..FgRoot::zeroed()
    };
    topology.partitions().iter().chain([&rest]).map(root).collect()
}

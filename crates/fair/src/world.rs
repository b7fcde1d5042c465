//! The policy's world: every struct it reads, at its place, with its pointers; and the policy's questions as safe
//! methods.
//!
//! All pointers inside the structs point into the slabs below, which live as long as the world. Each method takes
//! `&mut self` where the policy writes, so no reference into a slab is alive during a call.

use std::sync::Arc;

use fairground_machine::{CpuId, CpuMask, Machine};

use crate::ffi::*;
use crate::storage::{Pool, Slab};
use crate::topology::Topology;
use crate::Features;

/// half a millisecond: sysctl_sched_migration_cost, where max_idle_balance_cost and half of avg_idle start (spec 4.5).
const MIGRATION_COST_NS: u64 = 500_000;

pub(crate) struct World {
    sys: Slab<FgSys>,
    pub cpus: Slab<FgCpu>,
    pub domains: Slab<FgDomain>,
    pub groups: Slab<FgGroup>,
    pub llcs: Slab<FgLlc>,
    roots: Slab<FgRoot>,
    pub tasks: Pool<FgTask>,
    /// For each group the others that stand for the same CPUs at the same level in other CPUs' rings: the kernel
    /// keeps their capacity in one object (sched_group_capacity).
    twins: Vec<Vec<usize>>,
    /// The domains of each CPU, bottom to top.
    chains: Vec<Arc<[usize]>>,
}

impl World {
    /// Lays out the structs of a machine and links them.
    pub fn new(machine: &Machine, features: &Features, topology: &Topology, hz: u32) -> World {
        let nr_cpus = machine.nr_cpus();
        let mut world = World {
            sys: Slab::new(vec![FgSys::zeroed()]),
            cpus: Slab::new((0..nr_cpus as CpuId).map(|c| new_cpu(machine, c)).collect()),
            domains: Slab::new(topology.plan().domains.iter().map(|d| d.sd.clone()).collect()),
            groups: Slab::new(topology.plan().rings.iter().flatten().cloned().collect()),
            llcs: Slab::new(Vec::new()),
            roots: Slab::new(new_roots(machine, topology)),
            tasks: Pool::new(FgTask::zeroed),
            twins: Vec::new(),
            chains: (0..nr_cpus).map(|c| topology.plan().chain_ids(c as CpuId).collect()).collect(),
        };
        world.fill_sys(machine, features, topology, hz);
        world.link_domains(topology);
        world.link_llcs(topology);
        world.link_cpus(topology);
        world.first_capacities();
        world
    }

    fn fill_sys(&mut self, machine: &Machine, features: &Features, topology: &Topology, hz: u32) {
        let cpus = self.cpus.ptr(0);
        let sys = &mut self.sys[0];
        sys.cpus = cpus;
        sys.nr_cpus = machine.nr_cpus() as u32;
        sys.hz = hz;
        sys.asym_key = u8::from(topology.has(FG_SD_ASYM_CPUCAPACITY));
        sys.smt_key = u8::from(machine.has_smt());
        sys.cluster_key = u8::from(topology.has(FG_SD_CLUSTER));
        sys.active = machine.all_cpus();
        sys.feat = features.raw().clone();
    }

    /// Parents, children, group rings.
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
        let mut level_of_ring = vec![0; plan.rings.len()];
        plan.domains.iter().for_each(|d| level_of_ring[d.ring] = d.level);
        let rings = plan.rings.iter().zip(&level_of_ring);
        let keys: Vec<_> = rings.flat_map(|(ring, level)| ring.iter().map(move |g| (*level, g.balance_cpu))).collect();
        let mut of_key = std::collections::BTreeMap::<_, Vec<usize>>::new();
        keys.iter().enumerate().for_each(|(id, key)| of_key.entry(key).or_default().push(id));
        let others = |id: usize| of_key[&keys[id]].iter().copied().filter(|other| *other != id).collect();
        self.twins = (0..keys.len()).map(others).collect();
    }

    /// One shared object for each set of CPUs behind a last-level cache (spec 1.4).
    fn link_llcs(&mut self, topology: &Topology) {
        let nr_cpus = self.cpus.len();
        let mut spans: Vec<CpuMask> = (0..nr_cpus as CpuId).filter_map(|c| Some(topology.llc(c)?.sd.span)).collect();
        spans.sort_unstable();
        spans.dedup();
        let llc = |span: &CpuMask| FgLlc { nr_busy_cpus: span.count() as u32, ..FgLlc::zeroed() };
        self.llcs = Slab::new(spans.iter().map(llc).collect());
        for cpu in 0..nr_cpus {
            let Some(domain) = topology.llc(cpu as CpuId) else { continue };
            let Ok(index) = spans.binary_search(&domain.sd.span) else { continue };
            let llc = self.llcs.ptr(index);
            let flag = FG_SD_SHARE_LLC;
            let highest = |id: &&usize| self.domains[**id].flags & flag != 0 && self.domains[**id].span == spans[index];
            let Some(sd) = self.chains[cpu].iter().find(highest).copied() else { continue };
            self.domains[sd].shared = llc;
            (self.cpus[cpu].llc, self.cpus[cpu].sd_llc) = (llc, self.domains.ptr(sd));
        }
    }

    /// The lowest domain of a CPU that has one of `flags`, null if there is none.
    fn lowest_with(&self, cpu: usize, flags: u32) -> *mut FgDomain {
        let found = self.chains[cpu].iter().find(|id| self.domains[**id].flags & flags != 0);
        found.map_or(std::ptr::null_mut(), |id| self.domains.ptr(*id))
    }

    /// The cached pointers of spec 1.4.
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
            let llc_id = llc.and_then(|span| span.first()).unwrap_or(id);
            let share = topology.lowest_with(id, FG_SD_CLUSTER).and_then(|d| d.sd.span.first());
            let rq = &mut self.cpus[cpu];
            (rq.sd, rq.sd_asym_cpucapacity, rq.sd_numa, rq.rd) = (lowest, asym, numa, root);
            rq.sd_llc_size = llc.map_or(1, |span| span.count() as u32);
            rq.sd_llc_id = llc_id as i32;
            rq.sd_share_id = share.unwrap_or(llc_id) as i32;
        }
    }

    /// Spec 1.8 once for every group, by its balance CPU, as build_sched_domains does: from the last CPU to the first.
    fn first_capacities(&mut self) {
        for cpu in (0..self.cpus.len()).rev() {
            for sd in self.chain(cpu).iter().copied() {
                if self.local_group(sd).balance_cpu == cpu as i32 {
                    self.update_group_capacity(sd, cpu, 0);
                }
            }
        }
    }

    /// The system.
    pub fn sys(&self) -> &FgSys {
        &self.sys[0]
    }

    /// The system, to be changed.
    pub fn sys_mut(&mut self) -> &mut FgSys {
        &mut self.sys[0]
    }

    /// A task.
    pub fn task(&self, task: u32) -> &FgTask {
        &self.tasks[task as usize]
    }

    /// A task, to be changed.
    pub fn task_mut(&mut self, task: u32) -> &mut FgTask {
        &mut self.tasks[task as usize]
    }

    /// What `cpu` runs, if that is a fair or RT task.
    pub fn curr(&self, cpu: usize) -> Option<u32> {
        // SAFETY: null, or a task of the pool.
        unsafe { self.cpus[cpu].curr.as_ref() }.map(|p| p.id)
    }

    /// Says what `cpu` runs.
    pub fn set_curr(&mut self, cpu: usize, task: Option<u32>) {
        self.cpus[cpu].curr = self.task_ptr(task);
    }

    /// The root domain of a CPU.
    pub fn root(&mut self, cpu: usize) -> &mut FgRoot {
        // SAFETY: link_cpus points it at a root of the slab; exclusive by the borrow of self.
        unsafe { &mut *self.cpus[cpu].rd }
    }

    /// What the CPUs behind the cache of `cpu` share.
    pub fn llc(&mut self, cpu: usize) -> Option<&mut FgLlc> {
        // SAFETY: null, or an object of the slab; exclusive by the borrow of self.
        unsafe { self.cpus[cpu].llc.as_mut() }
    }

    /// The domains of a CPU, bottom to top.
    pub fn chain(&self, cpu: usize) -> Arc<[usize]> {
        Arc::clone(&self.chains[cpu])
    }

    /// The first group of a domain.
    pub fn local_group(&self, sd: usize) -> &FgGroup {
        // SAFETY: link_domains points it at a group of the slab.
        unsafe { &*self.domains[sd].groups }
    }

    fn task_ptr(&self, task: Option<u32>) -> *mut FgTask {
        task.map_or(std::ptr::null_mut(), |p| self.tasks.ptr(p as usize))
    }

    // ---- the policy's questions; names and contracts as in policy/fg.h ----
    // SAFETY, for all of them: every pointer handed over, and every pointer in what it points at, is null or an
    // element of this world's slabs; no Rust reference into them is alive, since the methods take `&mut self` and pass
    // addresses only.

    pub fn select(&mut self, task: u32, wake: &WakeArgs) -> FgVerdict {
        let mut verdict = FgVerdict::zeroed();
        let wake = self.wake(wake);
        // SAFETY: see above.
        unsafe { fg_select_task_rq(self.sys.ptr(0), self.tasks.ptr(task as usize), &wake, &mut verdict) };
        verdict
    }

    pub fn commit(&mut self, task: u32, wake: &WakeArgs, verdict: &FgVerdict, scan_ns: u64) {
        let args = self.wake(wake);
        let waker = self.task_ptr(wake.current);
        // SAFETY: see above.
        unsafe { fg_commit_select(self.sys.ptr(0), self.tasks.ptr(task as usize), waker, &args, verdict, scan_ns) };
    }

    fn wake(&self, args: &WakeArgs) -> FgWake {
        FgWake {
            current: self.task_ptr(args.current),
            now: args.now,
            this_cpu: args.this_cpu as i32,
            flags: args.flags,
        }
    }

    pub fn update_rq_clock(&mut self, cpu: usize, now: u64, irq_ns: u64) {
        // SAFETY: see above.
        unsafe { fg_update_rq_clock(self.sys.ptr(0), self.cpus.ptr(cpu), now, irq_ns) }
    }

    pub fn update_blocked_averages(&mut self, cpu: usize) -> bool {
        // SAFETY: see above.
        unsafe { fg_update_blocked_averages(self.sys.ptr(0), self.cpus.ptr(cpu)) != 0 }
    }

    pub fn update_thermal(&mut self, cpu: usize) {
        // SAFETY: see above.
        unsafe { fg_update_thermal(self.sys.ptr(0), self.cpus.ptr(cpu)) }
    }

    pub fn post_init_util(&mut self, cpu: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_post_init_util(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize)) }
    }

    pub fn task_fork(&mut self, cpu: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_task_fork(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize)) }
    }

    pub fn update_curr(&mut self, cpu: usize, left: Option<u32>) {
        // SAFETY: see above.
        unsafe { fg_update_curr(self.sys.ptr(0), self.cpus.ptr(cpu), self.task_ptr(left)) }
    }

    pub fn update_min_vruntime(&mut self, cpu: usize, left: Option<u32>) {
        // SAFETY: see above.
        unsafe { fg_update_min_vruntime(self.cpus.ptr(cpu), self.task_ptr(left)) }
    }

    pub fn enqueue_entity(&mut self, cpu: usize, task: u32, flags: u32) {
        // SAFETY: see above.
        unsafe { fg_enqueue_entity(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize), flags) }
    }

    pub fn dequeue_entity(&mut self, cpu: usize, task: u32, flags: u32) {
        // SAFETY: see above.
        unsafe { fg_dequeue_entity(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize), flags) }
    }

    pub fn migrate_task(&mut self, old: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_migrate_task(self.sys.ptr(0), self.cpus.ptr(old), self.tasks.ptr(task as usize)) }
    }

    pub fn set_next_entity(&mut self, cpu: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_set_next_entity(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize)) }
    }

    pub fn put_prev_entity(&mut self, cpu: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_put_prev_entity(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize)) }
    }

    pub fn pick_entity(&mut self, cpu: usize, left: Option<u32>, second: Option<u32>) -> Option<u32> {
        let (left, second) = (self.task_ptr(left), self.task_ptr(second));
        // SAFETY: see above; the answer is null or a task of the pool.
        unsafe { fg_pick_entity(self.sys.ptr(0), self.cpus.ptr(cpu), left, second).as_ref() }.map(|p| p.id)
    }

    pub fn clear_buddies(&mut self, cpu: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_clear_buddies(self.cpus.ptr(cpu), self.tasks.ptr(task as usize)) }
    }

    pub fn entity_tick(&mut self, cpu: usize, left: Option<u32>) -> bool {
        // SAFETY: see above.
        unsafe { fg_entity_tick(self.sys.ptr(0), self.cpus.ptr(cpu), self.task_ptr(left)) != 0 }
    }

    pub fn check_preempt_wakeup(&mut self, cpu: usize, task: u32) -> bool {
        // SAFETY: see above.
        unsafe { fg_check_preempt_wakeup(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize)) != 0 }
    }

    pub fn yield_entity(&mut self, cpu: usize) {
        // SAFETY: see above.
        unsafe { fg_yield(self.sys.ptr(0), self.cpus.ptr(cpu)) }
    }

    pub fn set_load_weight(&mut self, task: u32) {
        // SAFETY: see above.
        unsafe { fg_set_load_weight(self.tasks.ptr(task as usize)) }
    }

    pub fn update_rt(&mut self, cpu: usize, running: bool) {
        // SAFETY: see above.
        unsafe { fg_update_rt(self.sys.ptr(0), self.cpus.ptr(cpu), u32::from(running)) }
    }

    pub fn enter_idle(&mut self, cpu: usize) {
        // SAFETY: see above.
        unsafe { fg_enter_idle(self.sys.ptr(0), self.cpus.ptr(cpu)) }
    }

    pub fn wake_from_idle(&mut self, cpu: usize) {
        // SAFETY: see above.
        unsafe { fg_wake_from_idle(self.sys.ptr(0), self.cpus.ptr(cpu)) }
    }

    pub fn update_idle_core(&mut self, cpu: usize) {
        // SAFETY: see above.
        unsafe { fg_update_idle_core(self.sys.ptr(0), self.cpus.ptr(cpu)) }
    }

    pub fn update_misfit_status(&mut self, cpu: usize, task: Option<u32>) {
        // SAFETY: see above.
        unsafe { fg_update_misfit_status(self.sys.ptr(0), self.cpus.ptr(cpu), self.task_ptr(task)) }
    }

    pub fn cpu_overutilized(&mut self, cpu: usize) -> bool {
        // SAFETY: see above.
        unsafe { fg_cpu_overutilized(self.sys.ptr(0), self.cpus.ptr(cpu)) != 0 }
    }

    /// Spec 1.8 for the local group of a domain, and for the groups that stand for the same CPUs elsewhere.
    pub fn update_group_capacity(&mut self, sd: usize, cpu: usize, jiffies: u64) {
        // SAFETY: see above.
        let interval = unsafe {
            fg_update_group_capacity(self.sys.ptr(0), self.domains.ptr(sd), self.cpus.ptr(cpu));
            fg_group_capacity_interval(self.sys.ptr(0), self.domains.ptr(sd))
        };
        let Some(id) = self.groups.index_of(self.domains[sd].groups) else { return };
        self.groups[id].next_update = jiffies + interval;
        let g = &self.groups[id];
        let (capacity, min, max, next) = (g.capacity, g.min_capacity, g.max_capacity, g.next_update);
        for i in 0..self.twins[id].len() {
            let twin = &mut self.groups[self.twins[id][i]];
            (twin.capacity, twin.min_capacity, twin.max_capacity, twin.next_update) = (capacity, min, max, next);
        }
    }

    pub fn should_we_balance(&mut self, sd: usize, cpu: usize, kind: u32) -> bool {
        // SAFETY: see above.
        unsafe { fg_should_we_balance(self.sys.ptr(0), self.domains.ptr(sd), self.cpus.ptr(cpu), kind) != 0 }
    }

    pub fn balance_interval(&mut self, sd: usize, busy: bool) -> u64 {
        // SAFETY: see above.
        unsafe { fg_balance_interval(self.sys.ptr(0), self.domains.ptr(sd), u32::from(busy)) }
    }

    pub fn newidle_gate(&mut self, cpu: usize) -> bool {
        // SAFETY: see above.
        unsafe { fg_newidle_gate(self.sys.ptr(0), self.cpus.ptr(cpu)) != 0 }
    }

    pub fn nohz_kick(&mut self, cpu: usize, jiffies: u64) -> u32 {
        // SAFETY: see above.
        unsafe { fg_nohz_kick(self.sys.ptr(0), self.cpus.ptr(cpu), jiffies) }
    }
}

/// The circumstances of a placement, by ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WakeArgs {
    pub current: Option<u32>,
    pub now: u64,
    pub this_cpu: CpuId,
    pub flags: u32,
}

fn new_cpu(machine: &Machine, cpu: CpuId) -> FgCpu {
    let hardware = &machine.cpus[cpu as usize];
    let mut rq = FgCpu::zeroed();
    rq.id = cpu as i32;
    rq.curr_is_idle = 1;
    rq.cpu_capacity_orig = hardware.capacity;
    rq.cpu_capacity = hardware.capacity;
    rq.freq_scale = FG_CAPACITY_SCALE;
    rq.avg_idle = 2 * MIGRATION_COST_NS;
    rq.max_idle_balance_cost = MIGRATION_COST_NS;
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

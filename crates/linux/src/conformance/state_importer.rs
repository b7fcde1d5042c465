//! Copies the kernel's state into the policy's structs.

use std::collections::BTreeSet;
use std::ops::Range;

use fairground_fair::ffi::*;
use fairground_fair::{BalanceInput, GroupRing, Pointers, PolicySandbox, SourceQueue};
use fairground_machine::CpuId;

use super::caches::CacheImporter;
use super::state::{Refs, State};
use crate::KernelEntity;

/// Copies the state that each kind of decision may read.
pub struct StateImporter {
    /// The first CPU behind each last-level cache.
    llcs: Vec<CpuId>,
    /// The first CPU of each asymmetric domain with shared state of its own.
    asym: Vec<CpuId>,
    rings: Vec<GroupRing>,
    groups: Vec<FgGroup>,
    queue: Vec<Option<KernelEntity>>,
    tasks: Vec<Option<u32>>,
    caches: CacheImporter,
    hz: u32,
    /// Wakeups read the domains' scan costs.
    scans_are_timed: bool,
}

impl StateImporter {
    /// An importer for one machine.
    pub fn new(sandbox: &mut PolicySandbox) -> StateImporter {
        let mut llcs: Vec<CpuId> = Vec::new();
        let mut seen = Vec::new();
        for cpu in 0..sandbox.nr_cpus() as CpuId {
            let Some(llc) = sandbox.llc_mut(cpu).map(|llc| std::ptr::from_ref(llc)) else { continue };
            if !seen.contains(&llc) {
                seen.push(llc);
                llcs.push(cpu);
            }
        }
        let asym = (0..sandbox.nr_cpus() as CpuId).filter(|cpu| sandbox.leads_asym_shared(*cpu)).collect();
        let sys = sandbox.sys_mut();
        let scans_are_timed = u32::from(sys.feat.value[FG_SIS_MODE]) != FG_SIS_UTIL;
        let hz = sys.hz;
        StateImporter {
            llcs,
            asym,
            rings: sandbox.rings(),
            groups: Vec::new(),
            queue: Vec::new(),
            tasks: Vec::new(),
            caches: CacheImporter::default(),
            hz,
            scans_are_timed,
        }
    }

    /// Length of a tick, ns.
    pub fn tick_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz.max(1))
    }

    /// Copies what every placement may read. Returns the ticks since boot.
    pub fn system(&self, kernel: &dyn State, sandbox: &mut PolicySandbox) -> u64 {
        task_groups(kernel, sandbox);
        for cpu in 0..sandbox.nr_cpus() as CpuId {
            one_cpu(kernel, sandbox, cpu);
        }
        for cpu in &self.llcs {
            one_llc(kernel, sandbox, *cpu);
        }
        for cpu in &self.asym {
            one_asym(kernel, sandbox, *cpu);
        }
        keys(kernel, sandbox)
    }

    /// Copies what a pass over the `n`-th domain of a CPU may read, without the tasks of its source: the CPUs in the
    /// domain, the domain with its parent and child, their groups, and shared state. Returns the ticks since boot.
    pub fn balance(&mut self, kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId, n: usize) -> u64 {
        let jiffies = keys(kernel, sandbox);
        let span = sandbox.domain_mut(cpu, n).span;
        task_groups(kernel, sandbox);
        for other in span.iter() {
            self.cpu(kernel, sandbox, other);
            all_task_groups_on(kernel, sandbox, other);
        }
        let current = sandbox.pointers(cpu).curr;
        current.into_iter().for_each(|task| self.task(kernel, sandbox, task));
        for near in near(sandbox, cpu, n) {
            kernel.domain(cpu, near, sandbox.domain_mut(cpu, near));
            self.ring(kernel, sandbox, GroupRing { cpu, domain: near });
        }
        kernel.root(cpu, sandbox.root_mut(cpu));
        for near in self.llcs_near(sandbox, cpu, n) {
            one_llc(kernel, sandbox, near);
        }
        one_asym(kernel, sandbox, cpu);
        jiffies
    }

    /// CPUs by which the caches are named that a pass over the `n`-th domain of a CPU reads and writes: its own, and with
    /// cache-aware scheduling all in the domain.
    pub fn llcs_near(&self, sandbox: &mut PolicySandbox, cpu: CpuId, n: usize) -> Vec<CpuId> {
        if !CacheImporter::is_active(sandbox) {
            return vec![cpu];
        }
        let span = sandbox.domain_mut(cpu, n).span;
        self.llcs.iter().copied().filter(|llc| span.test(*llc)).chain([cpu]).collect()
    }

    /// CPUs by which those caches are named of which a pass may record statistics: none without cache-aware scheduling.
    pub fn recorded_llcs(&self, sandbox: &mut PolicySandbox, attempt: &BalanceInput) -> Vec<CpuId> {
        if !CacheImporter::is_active(sandbox) {
            return Vec::new();
        }
        let span = sandbox.domain_mut(attempt.cpu, attempt.domain).span;
        self.llcs.iter().copied().filter(|llc| span.test(*llc)).collect()
    }

    /// Copies what a scan for the preferred cache of a process may read. Returns the ticks since boot.
    pub fn scan(&mut self, kernel: &dyn State, sandbox: &mut PolicySandbox, task: u32, process: u32) -> u64 {
        let jiffies = keys(kernel, sandbox);
        for cpu in 0..sandbox.nr_cpus() as CpuId {
            one_cpu(kernel, sandbox, cpu);
            let current = sandbox.pointers(cpu).curr;
            current.into_iter().for_each(|task| self.task(kernel, sandbox, task));
            kernel.cache_time(process, cpu, sandbox.cache_time_mut(process, cpu));
        }
        self.task(kernel, sandbox, task);
        jiffies
    }

    /// Copies a CPU that a pass may read, with its current task if its process matters.
    fn cpu(&mut self, kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId) {
        one_cpu(kernel, sandbox, cpu);
        if CacheImporter::is_active(sandbox) {
            self.caches.cpu(kernel, sandbox, cpu);
        }
    }

    /// The tasks of a source queue, and whether these are all.
    pub fn movable(&mut self, kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId) -> (Vec<u32>, bool) {
        kernel.movable(cpu, &mut self.tasks);
        let tasks: Vec<u32> = self.tasks.iter().flatten().copied().collect();
        all_task_groups_on(kernel, sandbox, cpu);
        for task in tasks.iter().copied().chain(sandbox.pointers(cpu).curr) {
            self.task(kernel, sandbox, task);
        }
        // Buddies count as cache-hot. Those of the CPU's own queue came with the CPU.
        let groups: BTreeSet<u32> =
            tasks.iter().map(|task| kernel.group_of(*task)).filter(|group| *group > 0).collect();
        for group in groups {
            let buddies = kernel.buddies(cpu, group).map(|buddy| Some(entity_id(sandbox, buddy?)));
            sandbox.point_queue(cpu, Some(group as usize - 1), buddies);
        }
        let is_whole = tasks.len() == self.tasks.len();
        (tasks, is_whole)
    }

    /// Copies what a stopper's push may read, without the tasks: its CPU, and the destination with its domains. Returns
    /// the destination.
    pub fn push(&mut self, kernel: &dyn State, sandbox: &mut PolicySandbox, src: CpuId) -> CpuId {
        keys(kernel, sandbox);
        task_groups(kernel, sandbox);
        self.cpu(kernel, sandbox, src);
        let dst = push_target(sandbox, src);
        self.cpu(kernel, sandbox, dst);
        all_task_groups_on(kernel, sandbox, dst);
        for n in 0..sandbox.nr_domains(dst) {
            kernel.domain(dst, n, sandbox.domain_mut(dst, n));
        }
        dst
    }

    /// Saves the state that a pass may change.
    pub fn keep(&self, sandbox: &mut PolicySandbox, attempt: &BalanceInput) -> SavedState {
        let BalanceInput { cpu, domain, .. } = *attempt;
        let cpus: Vec<CpuId> = sandbox.domain_mut(cpu, domain).span.iter().collect();
        let near = near(sandbox, cpu, domain);
        let llcs = self.llcs_near(sandbox, cpu, domain);
        let tasks = attempt.sources.iter().flat_map(|source| &source.tasks);
        SavedState::new(sandbox, (cpu, near), &cpus, &llcs, tasks)
    }

    /// Saves the state that a push from this queue to `dst` may change.
    pub fn keep_push(&self, sandbox: &mut PolicySandbox, source: &SourceQueue, dst: CpuId) -> SavedState {
        let domains = 0..sandbox.nr_domains(dst);
        SavedState::new(sandbox, (dst, domains), &[source.cpu, dst], &[dst], &source.tasks)
    }

    /// Copies what wakeups may read in addition: the domains of the waker's CPU.
    pub fn domains(&self, kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId) {
        if self.scans_are_timed {
            for n in 0..sandbox.nr_domains(cpu) {
                kernel.domain(cpu, n, sandbox.domain_mut(cpu, n));
            }
        }
    }

    /// Copies what forks and execs may read in addition: the groups of all domains.
    pub fn groups(&mut self, kernel: &dyn State, sandbox: &mut PolicySandbox) {
        for i in 0..self.rings.len() {
            self.ring(kernel, sandbox, self.rings[i]);
        }
    }

    fn ring(&mut self, kernel: &dyn State, sandbox: &mut PolicySandbox, ring: GroupRing) {
        kernel.groups(ring.cpu, ring.domain, &mut self.groups);
        for (g, from) in self.groups.iter().enumerate() {
            let Some(to) = sandbox.group_mut(ring.cpu, ring.domain, g) else { break };
            (to.capacity, to.min_capacity, to.max_capacity) = (from.capacity, from.min_capacity, from.max_capacity);
            (to.imbalance, to.next_update) = (from.imbalance, from.next_update);
        }
    }

    /// Copies a CPU, and who its pointers point at.
    pub fn one_cpu(&self, kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId) {
        one_cpu(kernel, sandbox, cpu);
    }

    /// Copies the CPUs of a CPU's core and the shared state of its cache. Returns the ticks since boot.
    pub fn core(&self, kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId) -> u64 {
        let core = sandbox.cpu_mut(cpu).core;
        core.iter().for_each(|thread| one_cpu(kernel, sandbox, thread));
        one_llc(kernel, sandbox, cpu);
        one_asym(kernel, sandbox, cpu);
        keys(kernel, sandbox)
    }

    /// Copies a task and its signals, and what the groups that it is in have on its CPU.
    pub fn task(&mut self, kernel: &dyn State, sandbox: &mut PolicySandbox, task: u32) {
        let to = sandbox.task_mut(task);
        to.id = task;
        kernel.task(task, to);
        let cpu = to.cpu as CpuId;
        if CacheImporter::is_active(sandbox) {
            self.caches.task(kernel, sandbox, task);
        }
        let mut group = (kernel.group_of(task) as usize).checked_sub(1).filter(|g| *g < sandbox.nr_task_groups());
        sandbox.join_task_group(task, group);
        while let Some(around) = group {
            one_task_group(kernel, sandbox, around, cpu);
            group = sandbox.task_group_parent(around);
        }
    }

    /// Copies the queue of a task group on a CPU (0: the CPU's own) and what is in it for a pick. Returns the queued
    /// entities in the tree's order; none if a task without a number is among them.
    pub fn queue(
        &mut self,
        kernel: &dyn State,
        sandbox: &mut PolicySandbox,
        cpu: CpuId,
        group: u32,
    ) -> Option<Vec<u32>> {
        task_groups(kernel, sandbox);
        kernel.cpu(cpu, sandbox.cpu_mut(cpu));
        let refs = kernel.refs(cpu);
        // A pick reads the current entity of its own class.
        sandbox.point(cpu, &Pointers { curr: refs.fair_curr, ..pointers(&refs) });
        refs.fair_curr.into_iter().for_each(|task| self.task(kernel, sandbox, task));
        let buddies = kernel.buddies(cpu, group);
        let mut queue = std::mem::take(&mut self.queue);
        kernel.queue(cpu, group, &mut queue);
        for entity in queue.iter().copied().chain(buddies).flatten() {
            match entity {
                KernelEntity::Task(task) => self.task(kernel, sandbox, task),
                KernelEntity::Group(group) => one_task_group(kernel, sandbox, group as usize - 1, cpu),
            }
        }
        if let Some(group) = (group as usize).checked_sub(1) {
            one_task_group(kernel, sandbox, group, cpu);
        }
        let of = |entity: Option<KernelEntity>| Some(entity_id(sandbox, entity?));
        let (queued, buddies) = (queue.iter().map(|entity| of(*entity)).collect(), buddies.map(of));
        self.queue = queue;
        sandbox.point_queue(cpu, (group as usize).checked_sub(1), buddies);
        queued
    }
}

/// The state that a pass may change, as it was before.
pub struct SavedState {
    cpu: CpuId,
    root: FgRoot,
    cpus: Vec<(CpuId, FgCpu)>,
    tasks: Vec<(u32, FgTask)>,
    domains: Vec<(usize, FgDomain)>,
    groups: Vec<(usize, usize, FgGroup)>,
    task_groups: Vec<(usize, FgTg)>,
    task_groups_on: Vec<(usize, CpuId, FgTgCpu)>,
    /// By a CPU behind it.
    llcs: Vec<(CpuId, FgLlc)>,
    /// Of the tasks.
    processes: Vec<(u32, FgProcess)>,
    /// How many tasks queued on a CPU prefer each cache.
    llc_counts: Vec<(CpuId, Vec<u32>)>,
}

impl SavedState {
    /// Domains: these of a CPU. Tasks: these, and the current ones of the CPUs.
    fn new<'t>(
        sandbox: &mut PolicySandbox,
        (cpu, domains): (CpuId, Range<usize>),
        cpus: &[CpuId],
        llcs: &[CpuId],
        tasks: impl IntoIterator<Item = &'t u32>,
    ) -> SavedState {
        let root = sandbox.root_mut(cpu).clone();
        let llcs = llcs.iter().filter_map(|cpu| Some((*cpu, sandbox.llc_mut(*cpu)?.clone()))).collect();
        let current = cpus.iter().filter_map(|cpu| sandbox.pointers(*cpu).curr).collect::<Vec<u32>>();
        let tasks: Vec<(u32, FgTask)> =
            tasks.into_iter().copied().chain(current).map(|task| (task, sandbox.task_mut(task).clone())).collect();
        let task_groups = 0..sandbox.nr_task_groups();
        let on = |(group, cpu): (usize, &CpuId)| (group, *cpu, sandbox.task_group_on_mut(group, *cpu).clone());
        let all_on = task_groups.clone().flat_map(|group| cpus.iter().map(move |cpu| (group, cpu)));
        let task_groups_on = all_on.map(on).collect();
        let task_groups = task_groups.map(|group| (group, sandbox.task_group_mut(group).clone())).collect();
        let of = tasks.iter().filter_map(|(task, _)| sandbox.process_of(*task)).collect::<Vec<u32>>();
        let processes = of.into_iter().map(|process| (process, sandbox.process_mut(process).clone())).collect();
        let llc_counts = cpus.iter().map(|cpu| (*cpu, sandbox.llc_counts(*cpu))).collect();
        let cpus = cpus.iter().map(|other| (*other, sandbox.cpu_mut(*other).clone())).collect();
        let (domains_of, groups) = (Vec::new(), Vec::new());
        let mut kept = SavedState {
            cpu,
            root,
            cpus,
            tasks,
            domains: domains_of,
            groups,
            task_groups,
            task_groups_on,
            llcs,
            processes,
            llc_counts,
        };
        for n in domains {
            kept.domains.push((n, sandbox.domain_mut(cpu, n).clone()));
            for g in 0.. {
                let Some(group) = sandbox.group_mut(cpu, n, g).cloned() else { break };
                kept.groups.push((n, g, group));
            }
        }
        kept
    }

    /// Writes the saved state back.
    pub fn restore(self, sandbox: &mut PolicySandbox) {
        let cpu = self.cpu;
        *sandbox.root_mut(cpu) = self.root;
        self.cpus.into_iter().for_each(|(other, rq)| *sandbox.cpu_mut(other) = rq);
        self.tasks.into_iter().for_each(|(task, p)| *sandbox.task_mut(task) = p);
        self.task_groups.into_iter().for_each(|(group, tg)| *sandbox.task_group_mut(group) = tg);
        self.task_groups_on.into_iter().for_each(|(group, cpu, on)| *sandbox.task_group_on_mut(group, cpu) = on);
        self.domains.into_iter().for_each(|(n, sd)| *sandbox.domain_mut(cpu, n) = sd);
        for (n, g, group) in self.groups {
            sandbox.group_mut(cpu, n, g).into_iter().for_each(|to| to.clone_from(&group));
        }
        for (cpu, llc) in self.llcs {
            sandbox.llc_mut(cpu).into_iter().for_each(|to| to.clone_from(&llc));
        }
        self.processes.into_iter().for_each(|(process, state)| *sandbox.process_mut(process) = state);
        for (cpu, counts) in self.llc_counts {
            for (llc, n) in counts.into_iter().enumerate() {
                sandbox.llc_count_mut(cpu, llc).into_iter().for_each(|to| *to = n);
            }
        }
    }
}

/// The destination of a CPU's stopper; the CPU itself if none is set.
pub fn push_target(sandbox: &mut PolicySandbox, src: CpuId) -> CpuId {
    let nr_cpus = sandbox.nr_cpus();
    let dst = CpuId::try_from(sandbox.cpu_mut(src).push_cpu).ok();
    dst.filter(|dst| (*dst as usize) < nr_cpus).unwrap_or(src)
}

/// A domain of a CPU with its child and parent.
fn near(sandbox: &PolicySandbox, cpu: CpuId, n: usize) -> Range<usize> {
    n.saturating_sub(1)..(n + 2).min(sandbox.nr_domains(cpu))
}

fn one_cpu(kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId) {
    kernel.cpu(cpu, sandbox.cpu_mut(cpu));
    sandbox.point(cpu, &pointers(&kernel.refs(cpu)));
}

/// Makes the kernel's task groups, which exist before its tasks, and copies what they have on no CPU.
fn task_groups(kernel: &dyn State, sandbox: &mut PolicySandbox) {
    let nr = kernel.nr_groups().saturating_sub(1);
    if sandbox.nr_task_groups() == 0 && nr > 0 {
        let parent = |group| (kernel.group(group, &mut FgTg::zeroed()) as usize).checked_sub(1);
        let parents: Vec<Option<usize>> = (1..=nr).map(parent).collect();
        // Without them the policy takes all tasks for those of the root group.
        drop(sandbox.set_task_groups(&parents));
    }
    for group in 0..sandbox.nr_task_groups() {
        kernel.group(group as u32 + 1, sandbox.task_group_mut(group));
    }
}

fn one_task_group(kernel: &dyn State, sandbox: &mut PolicySandbox, group: usize, cpu: CpuId) {
    kernel.group_cpu(group as u32 + 1, cpu, sandbox.task_group_on_mut(group, cpu));
}

fn all_task_groups_on(kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId) {
    (0..sandbox.nr_task_groups()).for_each(|group| one_task_group(kernel, sandbox, group, cpu));
}

/// The sandbox's number of a kernel's entity.
pub fn entity_id(sandbox: &PolicySandbox, entity: KernelEntity) -> u32 {
    match entity {
        KernelEntity::Task(task) => task,
        KernelEntity::Group(group) => sandbox.task_group_entity(group as usize - 1),
    }
}

fn one_llc(kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId) {
    if let Some(llc) = sandbox.llc_mut(cpu) {
        kernel.llc(cpu, llc);
    }
}

fn one_asym(kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId) {
    if let Some(shared) = sandbox.asym_shared_mut(cpu) {
        kernel.balance_shared(cpu, shared);
    }
}

/// Copies system-wide state. Returns the ticks since boot.
pub fn keys(kernel: &dyn State, sandbox: &mut PolicySandbox) -> u64 {
    let from = kernel.sys();
    let has_sched_cache = sandbox.llc_count_mut(0, 0).is_some();
    let sys = sandbox.sys_mut();
    sys.asym_key = u8::from(from.asym_key);
    sys.smt_key = u8::from(from.smt_key);
    sys.cluster_key = u8::from(from.cluster_key);
    sys.uclamp_used = u8::from(from.uclamp_used);
    sys.eas = u32::from(from.eas);
    sys.llc_balancing.active = u32::from(from.sched_cache && has_sched_cache);
    sys.active = from.active;
    from.jiffies
}

fn pointers(refs: &Refs) -> Pointers {
    Pointers { curr: refs.curr, next: refs.next, last: refs.last, skip: refs.skip }
}

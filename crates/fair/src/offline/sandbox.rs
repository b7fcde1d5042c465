//! [`PolicySandbox`]: the policy's decisions on the state of another scheduler.

use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::{PickKind, PickReport};

use crate::ffi::{self, *};
use crate::sequence::RunQueues;
use crate::topology::{Options, Topology};
use crate::world::{entity_of_group, group_of_entity, NewGroup, Pointers, WakeArgs, World};
use crate::{picks, rules, why, FairError, Features};

/// The policy's structs of one machine, with this crate's topology, to be overwritten with the state of a real kernel.
///
/// ```text
/// PolicySandbox::new -> at each decision: cpu_mut, task_mut, ... <- the state of the real kernel
///                                 point                  <- the current task and the buddies
///                                 select, pick           -> the policy's decision
/// ```
///
/// Callers must not write pointers in the structs: only [`Self::new`] and [`Self::point`] set them.
pub struct PolicySandbox {
    topology: Topology,
    /// CPUs that are online, and those of them that take tasks.
    online: CpuMask,
    active: CpuMask,
    pub(super) queues: RunQueues,
}

/// The arguments of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placing {
    /// The task to place; its [`FgTask::cpu`] is its previous CPU.
    pub task: u32,
    /// The current task of `this_cpu`, which may be interrupted; none: it idles.
    pub current: Option<u32>,
    /// Clock of `this_cpu`, ns.
    pub now: u64,
    /// The CPU that decides: select_task_rq runs on it.
    pub this_cpu: CpuId,
    /// The kernel's wake flags: `FG_WF_*`, combined.
    pub flags: u32,
}

/// A ring of groups that several domains share, each with another first group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRing {
    /// A CPU with a domain of these groups.
    pub cpu: CpuId,
    /// Index of that domain, 0: the lowest.
    pub domain: usize,
}

impl PolicySandbox {
    /// The machine's CPUs, idle, with the domains that `features` gives them. `hz`: ticks per second.
    ///
    /// # Errors
    /// A machine whose levels do not nest, a C policy built with another struct layout.
    pub fn new(machine: &Machine, features: &Features, hz: u32) -> Result<PolicySandbox, FairError> {
        ffi::check_layout()?;
        let topology = Topology::new(machine, features, &Options::default())?;
        let mut world = World::new(machine, features, &topology);
        world.set_hz(hz);
        let all = machine.all_cpus();
        Ok(PolicySandbox { topology, online: all, active: all, queues: RunQueues::new(world) })
    }

    /// CPUs that take tasks, and how many are online: those, and at most one that is about to go offline. If they have
    /// changed, builds new domains, to be overwritten. Returns whether it has.
    pub fn set_online(
        &mut self,
        machine: &Machine,
        features: &Features,
        active: &CpuMask,
        nr_online: usize,
        jiffies: u64,
    ) -> bool {
        let rebuilds = *active != self.active;
        if !rebuilds && self.online.count() == nr_online {
            return false;
        }
        // CPUs leave one after the other, the lowest first, and levels still count the one that leaves.
        let last = self.active.minus(active).iter().last();
        let online_then = last.map_or(*active, |last| active.or(&CpuMask::single(last)));
        let world = &mut self.queues.world;
        if rebuilds {
            let options = Options::default();
            // The machine was accepted with all CPUs online.
            let built = Topology::of_online(machine, features, &options, active, &online_then);
            let Ok(topology) = built else { return false };
            world.set_online(machine, &online_then);
            world.set_active(machine, active);
            world.sys_mut().scaled_offline = world.sys().nr_offline;
            world.rebuild(machine, &topology, jiffies);
            (self.topology, self.active) = (topology, *active);
        }
        self.online = if nr_online > active.count() { online_then } else { *active };
        world.set_online(machine, &self.online);
        rebuilds
    }

    /// Builds energy models, and performance domains where wakeups may be energy-aware if schedutil sets all clocks.
    pub fn start_energy_awareness(&mut self, machine: &Machine) {
        self.queues.world.start_energy_awareness(machine, &self.topology);
    }

    /// The same, and schedutil sets all clocks from now on.
    pub fn start_governor(&mut self, machine: &Machine) {
        self.start_energy_awareness(machine);
        self.queues.world.start_governor(machine);
    }

    /// schedutil's state of the clock of a CPU, to be overwritten; none if it does not set it.
    pub fn sugov_mut(&mut self, cpu: CpuId) -> Option<&mut FgSugov> {
        self.queues.world.sugov_mut(cpu as usize)
    }

    /// The CPUs on the clock of a CPU; none if schedutil does not set it.
    pub fn clock_cpus(&self, cpu: CpuId) -> CpuMask {
        self.queues.world.clock_cpus(cpu as usize)
    }

    /// The performance domains of a CPU's partition in their order: CPUs and operating points.
    pub fn models(&self, cpu: CpuId) -> Vec<(CpuMask, Vec<FgOpp>)> {
        self.queues.world.models(cpu as usize)
    }

    /// cpufreq_update_util: reports a change of a CPU's utilization to schedutil, which updates its state. `flags` and
    /// the result: `FG_FREQUENCY_*`.
    pub fn update_frequency(&mut self, cpu: CpuId, flags: u32) -> u32 {
        self.queues.world.update_frequency(cpu as usize, flags)
    }

    /// The scheduling domains and groups.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Number of CPUs.
    pub fn nr_cpus(&self) -> usize {
        self.queues.world.cpus.len()
    }

    /// The global state of the policy, to be overwritten.
    pub fn sys_mut(&mut self) -> &mut FgSys {
        self.queues.world.sys_mut()
    }

    /// A CPU, to be overwritten. Panics if there is no such CPU, as do all below.
    pub fn cpu_mut(&mut self, cpu: CpuId) -> &mut FgCpu {
        &mut self.queues.world.cpus[cpu as usize]
    }

    /// A task, to be overwritten; created if it does not exist.
    pub fn task_mut(&mut self, task: u32) -> &mut FgTask {
        self.queues.world.tasks.grow_to(task as usize);
        self.queues.world.task_mut(task)
    }

    /// The root domain of a CPU, to be overwritten.
    pub fn root_mut(&mut self, cpu: CpuId) -> &mut FgRoot {
        self.queues.world.root(cpu as usize)
    }

    /// The sched_domain_shared of the last-level cache of `cpu`, to be overwritten; none if it has no such domain.
    pub fn llc_mut(&mut self, cpu: CpuId) -> Option<&mut FgLlc> {
        self.queues.world.llc_mut(cpu as usize)
    }

    /// Sets the process of a task; none: it has none.
    pub fn point_process(&mut self, task: u32, number: Option<u32>) {
        self.queues.world.tasks.grow_to(task as usize);
        self.queues.world.point_process(task, number);
    }

    /// Number of the process of a task; none: it has none.
    pub fn process_of(&self, task: u32) -> Option<u32> {
        self.queues.world.process_of(task)
    }

    /// A process, to be overwritten; created if it does not exist.
    pub fn process_mut(&mut self, number: u32) -> &mut FgProcess {
        self.queues.world.process_mut(number)
    }

    /// What a CPU has run of a process, to be overwritten; the process is created if it does not exist.
    pub fn cache_time_mut(&mut self, number: u32, cpu: CpuId) -> &mut FgCacheTime {
        self.queues.world.cache_time_mut(number, cpu as usize)
    }

    /// Number of tasks queued on a CPU that prefer the cache of this `sd_llc_id`, to be overwritten; none: nobody counts.
    pub fn llc_count_mut(&mut self, cpu: CpuId, llc: usize) -> Option<&mut u32> {
        self.queues.world.llc_count_mut(cpu as usize, llc)
    }

    /// The same by `sd_llc_id`; empty: nobody counts.
    pub fn llc_counts(&self, cpu: CpuId) -> Vec<u32> {
        self.queues.world.llc_counts(cpu as usize).collect()
    }

    /// task_cache_work: the scan by which the process of a task, current on its CPU, chooses the cache it prefers. False:
    /// it was not made.
    pub fn scan_caches(&mut self, task: u32, jiffies: u64) -> bool {
        self.queues.world.task_cache_work(task, jiffies)
    }

    /// The shared state of the asymmetric domain of `cpu`, to be overwritten; none if that is the cache's, or if there
    /// is none.
    pub fn asym_shared_mut(&mut self, cpu: CpuId) -> Option<&mut FgLlc> {
        self.queues.world.asym_shared_mut(cpu as usize)
    }

    /// What has has_idle_cores and nr_busy_cpus of `cpu` (sd_balance_shared, else the cache's); none if it has no domain.
    pub fn balance_shared(&self, cpu: CpuId) -> Option<&FgLlc> {
        self.queues.world.balance_shared(cpu as usize)
    }

    /// The same, to be changed.
    pub fn shared_of(&mut self, cpu: CpuId) -> Option<&mut FgLlc> {
        self.queues.world.balance_shared_mut(cpu as usize)
    }

    /// Whether `cpu` is the first of the CPUs for which [`Self::balance_shared`] is the same.
    pub fn leads_shared(&self, cpu: CpuId) -> bool {
        self.queues.world.leads_shared(cpu as usize)
    }

    /// has_idle_cores of each state that CPUs share, in the order of the CPUs that lead it.
    pub fn all_shared(&self) -> Vec<u32> {
        let leaders = (0..self.nr_cpus() as CpuId).filter(|cpu| self.leads_shared(*cpu));
        leaders.map(|cpu| self.balance_shared(cpu).map_or(0, |shared| u32::from(shared.has_idle_cores != 0))).collect()
    }

    /// Whether `cpu` is the first of the CPUs that have this state in common.
    pub fn leads_asym_shared(&self, cpu: CpuId) -> bool {
        self.queues.world.leads_asym_shared(cpu as usize)
    }

    /// Number of domains of a CPU.
    pub fn nr_domains(&self, cpu: CpuId) -> usize {
        self.queues.world.chain(cpu as usize).len()
    }

    /// The `n`-th domain of a CPU from below, to be overwritten.
    pub fn domain_mut(&mut self, cpu: CpuId, n: usize) -> &mut FgDomain {
        let id = self.queues.world.chain(cpu as usize)[n];
        &mut self.queues.world.domains[id]
    }

    /// The `g`-th group of the `n`-th domain of a CPU, counted from its local one, to be overwritten; none beyond the
    /// last.
    pub fn group_mut(&mut self, cpu: CpuId, n: usize, g: usize) -> Option<&mut FgGroup> {
        let domain = self.queues.world.chain(cpu as usize)[n];
        self.queues.world.group_mut(domain, g)
    }

    /// All rings of groups, each once.
    pub fn rings(&self) -> Vec<GroupRing> {
        let plan = self.topology.plan();
        let mut seen = vec![false; plan.rings.len()];
        let mut rings = Vec::new();
        for cpu in 0..self.nr_cpus() as CpuId {
            for (domain, id) in plan.chain_ids(cpu).enumerate() {
                if !std::mem::replace(&mut seen[plan.domains[id].ring], true) {
                    rings.push(GroupRing { cpu, domain });
                }
            }
        }
        rings
    }

    /// Makes the task groups of the kernel, each with the one around it (an index into the same list, smaller than its
    /// own); none: the root group. They stay.
    ///
    /// # Errors
    /// More groups, or groups deeper within others, than the policy has room for.
    pub fn set_task_groups(&mut self, parents: &[Option<usize>]) -> Result<(), String> {
        let new = |parent: &Option<usize>| NewGroup { parent: *parent, shares: 0, idle: false, quota: None };
        self.queues.set_groups(&parents.iter().map(new).collect::<Vec<_>>())
    }

    /// Number of task groups besides the root group.
    pub fn nr_task_groups(&self) -> usize {
        self.queues.world.nr_groups()
    }

    /// A task group, to be overwritten.
    pub fn task_group_mut(&mut self, group: usize) -> &mut FgTg {
        let tg = self.queues.world.tg_of(group);
        self.queues.world.group_mut_of(tg)
    }

    /// What a task group has on a CPU, to be overwritten.
    pub fn task_group_on_mut(&mut self, group: usize, cpu: CpuId) -> &mut FgTgCpu {
        let tg = self.queues.world.tg_of(group);
        self.queues.world.group_on_mut(cpu as usize, tg)
    }

    /// The group around a task group; none: the root group.
    pub fn task_group_parent(&self, group: usize) -> Option<usize> {
        let world = &self.queues.world;
        let parent = world.parent_group(world.tg_of(group))?;
        (0..world.nr_groups()).find(|group| world.tg_of(*group) == parent)
    }

    /// Puts a task into a group; none: the root group.
    pub fn join_task_group(&mut self, task: u32, group: Option<usize>) {
        self.queues.world.join_group(task, group);
    }

    /// The group of a task; none: the root group.
    pub fn task_group_of(&self, task: u32) -> Option<usize> {
        let world = &self.queues.world;
        let tg = world.group_of(task)?;
        (0..world.nr_groups()).find(|group| world.tg_of(*group) == tg)
    }

    /// Whether an entity of a queue is a task group, or a task in one.
    pub fn is_grouped(&self, entity: u32) -> bool {
        group_of_entity(entity).is_some() || self.task_group_of(entity).is_some()
    }

    /// The number of a task group as an entity of a queue, among those of tasks.
    pub fn task_group_entity(&self, group: usize) -> u32 {
        entity_of_group(self.queues.world.tg_of(group))
    }

    /// Sets the buddies in the queue of a task group on a CPU (none: the CPU's own), entities all.
    pub fn point_queue(&mut self, cpu: CpuId, group: Option<usize>, buddies: [Option<u32>; 3]) {
        let group = group.map(|group| self.queues.world.tg_of(group));
        self.queues.world.point_queue(cpu as usize, group, buddies);
    }

    /// Sets the pointers of a CPU.
    pub fn point(&mut self, cpu: CpuId, to: &Pointers) {
        // A task of which nothing was copied yet is known by its id already.
        for task in [to.curr, to.next, to.last, to.skip].into_iter().flatten() {
            self.task_mut(task).id = task;
        }
        self.queues.world.point(cpu as usize, to);
    }

    /// The tasks that the pointers of a CPU point at.
    pub fn pointers(&self, cpu: CpuId) -> Pointers {
        self.queues.world.pointers(cpu as usize)
    }

    /// The policy's placement of the task. `why`: receives its notes; old ones are cleared. Does not change the state.
    pub fn select(&mut self, placing: &Placing, mut why: Option<&mut FgWhy>) -> FgVerdict {
        if let Some(why) = &mut why {
            why::clear(why);
        }
        for task in std::iter::once(placing.task).chain(placing.current) {
            self.queues.world.tasks.grow_to(task as usize);
        }
        let args =
            WakeArgs { current: placing.current, now: placing.now, this_cpu: placing.this_cpu, flags: placing.flags };
        self.queues.world.select(placing.task, &args, why)
    }

    /// Writes what a verdict changes, but for what a timed scan cost. Changes the state.
    pub fn commit(&mut self, placing: &Placing, verdict: &FgVerdict) {
        let args =
            WakeArgs { current: placing.current, now: placing.now, this_cpu: placing.this_cpu, flags: placing.flags };
        self.queues.world.commit(placing.task, &args, verdict, 0);
    }

    /// The entity (a task, or a task group) that the policy runs next of the queue of a task group on `cpu` (none: the CPU's
    /// own): the current one, one of `queued`, which are in the order of the kernel's tree, or a buddy. Without `protect` the
    /// current one has no protection. None: there is none. Also the name of the rule, of `pick_rules.h`; in a group
    /// `none`.
    pub fn pick(
        &mut self,
        cpu: CpuId,
        group: Option<usize>,
        queued: &[u32],
        protect: bool,
    ) -> (Option<u32>, &'static str) {
        let (cpu, group) = (cpu as usize, group.map(|group| self.queues.world.tg_of(group)));
        if !protect {
            self.queues.world.cancel_protection(cpu, group);
        }
        self.queues.clear();
        self.queues.fill_queue(cpu, group, queued);
        let mut how = FgPick::zeroed();
        let picked = match group {
            None => self.queues.pick_entity(cpu, &mut how),
            Some(tg) => self.queues.pick_in_group(cpu, tg),
        };
        (picked, rules::pick_rule_name(how.rule))
    }

    /// A pick as reports describe it: the task, and the current one beside it. The number of an unknown rule is that
    /// behind the last one.
    pub fn report(&self, kind: PickKind, cpu: CpuId, task: u32, rule: &str) -> PickReport {
        let number = PICK_RULES.iter().position(|known| known.name == rule).unwrap_or(PICK_RULES.len());
        picks::report(&self.queues.world, kind, cpu as usize, task, number as u32)
    }
}

/// V of a run queue of EEVDF (spec 9.2): up to here a vruntime is eligible.
pub fn avg_vruntime(queue: &FgQueue) -> u64 {
    ffi::avg_vruntime(queue)
}

/// ___update_load_sum: updates the sums of a signal (spec 2.2). `now`: ns of its clock. True: the averages must be
/// updated.
pub fn pelt_update(sa: &mut FgAvg, now: u64, load: u64, runnable: u32, running: bool) -> bool {
    ffi::pelt_update(sa, now, load, runnable, running)
}

/// ___update_load_avg: computes the averages of a signal from its sums. `weight`: of load_avg, 1 for a run queue.
pub fn pelt_averages(sa: &mut FgAvg, weight: u64) {
    ffi::pelt_averages(sa, weight)
}

/// A note of the policy as text: the rule that was tried, and the note's text with its numbers filled in.
pub fn note_words(note: &FgNote) -> String {
    let mut words = format!("{}: ", rules::numbered(&RULES, note.rule.into()).title());
    let mut rest = NOTES.get(usize::from(note.id)).copied().unwrap_or("unknown note");
    while let Some((text, more)) = rest.split_once('{') {
        words.push_str(text);
        let (place, after) = more.split_once('}').unwrap_or((more, ""));
        let (name, noun) = place.split_once(':').map_or((place, None), |(name, noun)| (name, Some(noun)));
        let number = match name {
            "cpu" => i128::from(note.cpu),
            "a" => i128::from(note.a),
            "b" => i128::from(note.b),
            _ => i128::from(note.c),
        };
        words.push_str(&number.to_string());
        if let Some(noun) = noun {
            words.push_str(&format!(" {noun}{}", if number == 1 { "" } else { "s" }));
        }
        rest = after;
    }
    words + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule_name;

    fn two_pairs() -> PolicySandbox {
        let mut machine = Machine::symmetric(4);
        machine.llcs = vec![fairground_machine::CpuMask::first_n(4)];
        PolicySandbox::new(&machine, &Features::preset("debian-6.12.117").unwrap(), 250).unwrap()
    }

    fn sleeper(shown: &mut PolicySandbox, task: u32, cpu: i32) {
        let p = shown.task_mut(task);
        *p = FgTask::zeroed();
        (p.id, p.cpu, p.recent_used, p.nr_allowed, p.weight) = (task, cpu, cpu, 4, 1024);
        p.allowed = fairground_machine::CpuMask::first_n(4);
    }

    fn busy(shown: &mut PolicySandbox, cpu: CpuId, task: u32) {
        sleeper(shown, task, cpu as i32);
        let rq = shown.cpu_mut(cpu);
        (rq.nr_running, rq.h_nr_running, rq.curr_is_idle) = (1, 1, 0);
        shown.point(cpu, &Pointers { curr: Some(task), ..Pointers::default() });
    }

    #[test]
    fn the_verdict_is_about_the_state_that_was_shown() {
        let mut shown = two_pairs();
        sleeper(&mut shown, 0, 2);
        let placing = Placing { task: 0, current: None, now: 0, this_cpu: 0, flags: FG_WF_TTWU };
        assert_eq!(shown.select(&placing, None).cpu, 2);
        busy(&mut shown, 2, 1);
        // The interrupted CPU is idle and shares the cache.
        assert_eq!(shown.select(&placing, None).cpu, 0);
        busy(&mut shown, 0, 2);
        shown.llc_mut(0).unwrap().nr_idle_scan = 4;
        let mut why = FgWhy::zeroed();
        let verdict = shown.select(&Placing { current: Some(2), ..placing }, Some(&mut why));
        assert_eq!((verdict.cpu, rule_name(verdict.rule)), (3, "C8"));
        let last = note_words(&why.note[why.nr as usize - 1]);
        assert!(
            last.starts_with("select_idle_cpu: idle CPU (C8): ") && last.contains('3') && !last.contains('{'),
            "{last}"
        );
    }

    #[test]
    fn a_task_that_was_only_pointed_at_has_its_number() {
        let mut shown = two_pairs();
        shown.point(1, &Pointers { curr: Some(3), next: Some(5), ..Pointers::default() });
        assert_eq!(shown.pointers(1), Pointers { curr: Some(3), next: Some(5), ..Pointers::default() });
    }

    #[test]
    fn groups_of_all_domains_are_reached_by_their_rings() {
        let mut shown = two_pairs();
        assert_eq!(shown.rings(), [GroupRing { cpu: 0, domain: 0 }]);
        shown.group_mut(0, 0, 1).unwrap().capacity = 7;
        // The second group of CPU 0's ring is the first of CPU 1's.
        assert_eq!(shown.group_mut(1, 0, 0).unwrap().capacity, 7);
        assert!(shown.group_mut(0, 0, 4).is_none());
    }

    #[test]
    fn of_queued_tasks_the_first_eligible_one_is_picked() {
        let mut shown = two_pairs();
        for (task, vruntime, deadline) in [(0, 500, 600), (1, 100, 700), (2, 0, 800)] {
            sleeper(&mut shown, task, 0);
            let p = shown.task_mut(task);
            (p.on_rq, p.vruntime, p.deadline) = (1, vruntime, deadline);
        }
        let rq = shown.cpu_mut(0);
        (rq.nr_running, rq.h_nr_running, rq.fair.sum_weight, rq.curr_is_idle) = (3, 3, 3 * 1024, 0);
        // V = 200: the first by deadline has had more than that.
        rq.fair.avg_vruntime = 600 * 1024;
        assert_eq!(shown.pick(0, None, &[0, 1, 2], true), (Some(1), "earliest"));
        assert_eq!(shown.pick(0, None, &[], true), (None, "none"));
    }

    #[test]
    fn a_group_and_the_tasks_in_it_are_grouped() {
        let mut shown = two_pairs();
        shown.set_task_groups(&[None]).unwrap();
        sleeper(&mut shown, 0, 0);
        sleeper(&mut shown, 1, 0);
        shown.join_task_group(1, Some(0));
        assert_eq!([0, 1, shown.task_group_entity(0)].map(|entity| shown.is_grouped(entity)), [false, true, true]);
    }
}

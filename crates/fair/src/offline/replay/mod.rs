//! [`ReplayedState`]: the policy's state, reconstructed from a recording.
//!
//! A recording contains context switches, sleeps, wakeups and migrations. [`ReplayedState`] repeats them on the
//! policy's structs with the sequences that simulations run (`sequence`). So queues, PELT signals, utilization
//! estimates and wakee statistics become what they were in the kernel. Before each wakeup the policy can be asked where
//! it would place the task.
//!
//! | module | what |
//! |---|---|
//! | this one | forks, wakeups, sleeps, moves |
//! | `switch` | context switches |
//! | `background` | ticks and balance passes, which a recording does not contain |
//!
//! Differences of this host of the sequences from a simulation:
//!
//! * A pull that balancing decides on counts as done but moves nothing: migrations are in the recording.
//! * A reschedule is carried out at once, and only dequeues delayed sleepers: context switches are in the recording.
//! * Only reading a CPU in newidle balancing costs time, because its limits depend on that cost.
//! * NI_RANDOM's draws are all 0: a recording has no seed.
//!
//! DEVIATION: recordings do not contain interrupt time, frequency limits, task groups or processes: there are none here,
//! and all tasks are SCHED_OTHER. Ticks come at whole multiples of their period.

mod background;
mod switch;

use fairground_machine::{CpuId, CpuMask, Machine, SoftCost};
use fairground_sim::MigrateCause;

use super::Placing;
use crate::ffi::*;
use crate::sequence::{Host, RunQueues, Source};
use crate::topology::Topology;
use crate::world::{weight_of_nice, WakeArgs, World};
use crate::{ffi, why, FairError, Features};
pub use switch::SwitchTo;

/// The state in which a recording is assumed to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialState {
    /// The system has just booted: no task exists and no time has passed.
    Boot,
    /// Nothing has run for long: CPUs are idle with signals of 0, tasks have no utilization and have woken no task.
    Nothing,
    /// Everything has run all the time: CPUs are busy with one task and another one waits, tasks have full utilization.
    Everything,
}

/// Properties of a recording besides its events.
#[derive(Clone, Copy, Debug)]
pub struct ReplayConfig {
    /// Ticks per second (CONFIG_HZ).
    pub hz: u32,
    /// Whether schedutil set the frequencies in the recording.
    pub schedutil: bool,
    /// The state in which it begins.
    pub initial: InitialState,
    /// Time of its first event, ns.
    pub now: u64,
    /// Sleepers are never dequeue-delayed, whatever the policy does. Whether one is depends on nanoseconds of vruntime,
    /// and recordings are not that exact.
    pub none_delayed: bool,
}

/// Where a task may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// The task may run on all CPUs.
    Any,
    /// On these CPUs; on all if none of them exists.
    Cpus(CpuMask),
    /// It is a kernel thread of this CPU (kthread_is_per_cpu).
    PerCpuKthread(CpuId),
}

/// Initial wakee_flips of a task with [`InitialState::Everything`]: large enough for wake_wide on any machine; it is
/// halved every second.
const FLIPS_BEFORE: u32 = 1024;

/// ns of vruntime: how exact a lag is. A recording has the time of a context switch, but the kernel reads the clock for
/// update_curr some us earlier. With a lag smaller than this it is not certain whether a sleeper was eligible.
const CREDIT_NS: i64 = 10_000;

/// Whether the features delay dequeues (DELAY_DEQUEUE), see [`ReplayConfig::none_delayed`].
pub fn keeps_sleepers(features: &Features) -> bool {
    u32::from(features.get(FG_RQ)) == FG_RQ_EEVDF612
}

/// Host of the sequences during a replay: time and costs.
struct ReplayHost {
    now: u64,
    tick_ns: u64,
    /// CPU of the current balance pass.
    here: CpuId,
    /// ns: cost of the CPUs that this pass has read so far.
    looked_ns: u64,
    /// ns that reading a CPU costs, by CPU: in a placement scan, in group statistics.
    prices: Vec<[u64; 2]>,
}

impl Host for ReplayHost {
    fn update_clock(&mut self, world: &mut World, cpu: usize) {
        world.update_rq_clock(cpu, self.now, 0);
    }

    fn jiffies(&self) -> u64 {
        self.now / self.tick_ns
    }

    fn charge(&mut self, work: SoftCost, n: u32) {
        if work == SoftCost::GroupCpu {
            let price = self.prices[self.here as usize][1];
            self.looked_ns = self.looked_ns.saturating_add(u64::from(n).saturating_mul(price));
        }
    }

    fn elapsed_ns(&self) -> u64 {
        self.looked_ns
    }

    fn balance_source(&mut self, _rqs: &mut RunQueues, _b: &FgBalance) -> Source {
        Source::AssumePulled
    }
}

/// The policy's state of a machine during a replay.
pub struct ReplayedState {
    queues: RunQueues,
    host: ReplayHost,
    /// Number of woken tasks that have not arrived at their CPU yet, by CPU.
    pending: Vec<u32>,
    /// By CPU: whether a second task, without events so far, is assumed to wait there.
    phantom: Vec<bool>,
    /// How often a CPU went idle, by CPU.
    idled: Vec<u64>,
    /// By task: went to sleep with possibly negative lag while others waited; the CPU's `idled` at that time.
    in_debt: Vec<Option<u64>>,
    initial: InitialState,
    /// Time of the next tick, ns.
    next_tick: u64,
}

impl ReplayedState {
    /// The machine under the policy of `features`.
    ///
    /// # Errors
    /// A machine whose levels do not nest, a C policy built with another struct layout.
    pub fn new(machine: &Machine, features: &Features, how: &ReplayConfig) -> Result<ReplayedState, FairError> {
        ffi::check_layout()?;
        let topology = Topology::new(machine, features, &crate::Options::default())?;
        let mut world = World::new(machine, features, &topology);
        world.set_hz(how.hz);
        if how.none_delayed && keeps_sleepers(features) {
            world.sys_mut().feat.value[FG_RQ] = FG_RQ_EEVDF as u8;
        }
        if how.schedutil {
            world.start_energy_awareness(machine, &topology);
            world.start_governor(machine);
        }
        let nr_cpus = machine.nr_cpus();
        let tick_ns = 1_000_000_000 / u64::from(how.hz.max(1));
        let price = |cpu: usize, kind| {
            (machine.costs.soft(kind) * f64::from(FG_CAPACITY_SCALE) / f64::from(machine.cpus[cpu].capacity.max(1)))
                as u64
        };
        let prices = (0..nr_cpus).map(|c| [price(c, SoftCost::Probe), price(c, SoftCost::GroupCpu)]).collect();
        let mut state = ReplayedState {
            queues: RunQueues::new(world),
            host: ReplayHost { now: how.now, tick_ns, here: 0, looked_ns: 0, prices },
            pending: vec![0; nr_cpus],
            phantom: vec![how.initial == InitialState::Everything; nr_cpus],
            idled: vec![0; nr_cpus],
            in_debt: Vec::new(),
            initial: how.initial,
            next_tick: (how.now / tick_ns).saturating_mul(tick_ns),
        };
        (0..nr_cpus).for_each(|cpu| state.begin(cpu));
        Ok(state)
    }

    /// A CPU in the initial state.
    fn begin(&mut self, cpu: usize) {
        self.clock(cpu);
        let full = self.initial == InitialState::Everything;
        let rq = &mut self.queues.world.cpus[cpu];
        if full {
            rq.cfs = full_avg(rq.clock_pelt, u64::from(FG_NICE_0_LOAD), u64::from(rq.cpu_capacity_orig), true);
            (rq.nr_running, rq.h_nr_running, rq.curr_is_idle) = (2, 2, 0);
            (rq.idle_wakee_flips, rq.idle_wakee_flip_ts) = (FLIPS_BEFORE, rq.clock);
        } else {
            self.queues.world.nohz_balance_enter_idle(cpu);
        }
        let size = self.queues.world.cpus[cpu].sd_llc_size;
        if let Some(llc) = self.queues.world.llc_mut(cpu).filter(|_| self.initial == InitialState::Nothing) {
            llc.nr_idle_scan = size;
        }
    }

    /// Advances to `now`, ns, with the ticks and balance passes until then.
    pub fn advance(&mut self, now: u64) {
        self.run_ticks(now);
        self.host.now = self.host.now.max(now);
    }

    /// The policy's state of a CPU. Panics if there is no such CPU, as do all methods below.
    pub fn cpu(&self, cpu: CpuId) -> &FgCpu {
        &self.queues.world.cpus[cpu as usize]
    }

    /// The policy's state of a task. Panics if it has not appeared, as do all methods below.
    pub fn task(&self, task: u32) -> &FgTask {
        self.queues.world.task(task)
    }

    /// Whether the task is queued or current. Delayed sleepers are not runnable.
    pub fn is_runnable(&self, task: u32) -> bool {
        let p = self.queues.world.task(task);
        p.on_rq != 0 && p.flags & FG_TASK_DELAYED == 0
    }

    /// Whether the task was forked and has not been queued yet.
    pub fn is_new(&self, task: u32) -> bool {
        self.queues.world.task(task).flags & FG_TASK_NEW != 0
    }

    /// Adds a task that existed before its first event: asleep, last on `cpu`.
    pub fn appear(&mut self, task: u32, cpu: CpuId, affinity: Affinity) {
        self.clock(cpu as usize);
        self.make(task, cpu, affinity);
        let (full, now) = (self.initial == InitialState::Everything, self.host.now);
        let rq = &self.queues.world.cpus[cpu as usize];
        let (clock, capacity) = (rq.clock_pelt, rq.cpu_capacity_orig);
        let p = self.queues.world.task_mut(task);
        p.wakee_flip_ts = now;
        p.avg.last_update = clock;
        if full {
            p.avg = full_avg(clock, u64::from(p.weight), u64::from(capacity), false);
            p.est.enqueued = capacity;
            p.est.ewma = capacity;
            p.wakee_flips = FLIPS_BEFORE;
        }
    }

    /// A task is forked on `cpu`. [`Self::start`] must follow.
    pub fn born(&mut self, task: u32, parent: Option<u32>, cpu: CpuId, affinity: Affinity) {
        let here = cpu as usize;
        self.clock(here);
        self.make(task, cpu, affinity);
        self.queues.world.task_mut(task).flags |= FG_TASK_NEW;
        if let Some(parent) = parent {
            let parent = self.queues.world.task(parent);
            let wakees = (parent.last_wakee, parent.wakee_flips, parent.wakee_flip_ts);
            let p = self.queues.world.task_mut(task);
            (p.last_wakee, p.wakee_flips, p.wakee_flip_ts) = wakees;
        }
        self.queues.charge_curr(here);
        self.queues.world.task_fork(here, task);
    }

    /// A new task is queued for the first time.
    pub fn start(&mut self, task: u32, cpu: CpuId) {
        let at = cpu as usize;
        self.clock(at);
        self.queues.world.task_mut(task).cpu = cpu as i32;
        self.queues.world.post_init_util(at, task);
        self.queues.enqueue(&mut self.host, at, task, FG_ENQUEUE_INITIAL);
        self.check_preempt(at, task);
    }

    fn make(&mut self, task: u32, cpu: CpuId, affinity: Affinity) {
        let active = self.queues.world.sys().active;
        let (wanted, flags) = match affinity {
            Affinity::Any => (active, 0),
            Affinity::Cpus(cpus) => (cpus.and(&active), 0),
            Affinity::PerCpuKthread(cpu) => {
                ([cpu].into_iter().collect::<CpuMask>().and(&active), FG_TASK_PERCPU_KTHREAD)
            }
        };
        let allowed = if wanted.first().is_some() { wanted } else { active };
        self.queues.world.tasks.grow_to(task as usize);
        // An earlier task of this number may have an entry.
        self.in_debt.get_mut(task as usize).into_iter().for_each(|owed| *owed = None);
        let mut p = FgTask { id: task, cpu: cpu as i32, recent_used: cpu as i32, allowed, ..FgTask::zeroed() };
        p.nr_allowed = allowed.count() as u32;
        p.weight = weight_of_nice(0);
        p.flags = flags;
        *self.queues.world.task_mut(task) = p;
        self.queues.world.uclamp_request(task, 0, &FgClamps::zeroed());
        self.queues.world.uclamp_update(cpu as usize, task, None);
        self.queues.world.set_max_allowed_capacity(task);
    }

    /// The policy's placement of a sleeper; none if it makes none, because the task's dequeue is delayed. Does not
    /// change the state.
    pub fn select(&mut self, placing: &Placing, mut noted: Option<&mut FgWhy>) -> Option<FgVerdict> {
        if self.queues.world.task(placing.task).on_rq != 0 {
            return None;
        }
        noted.iter_mut().for_each(|noted| why::clear(noted));
        Some(self.queues.world.select(placing.task, &args(placing), noted))
    }

    /// Whether a sleeper's dequeue may be delayed, so that no CPU is chosen for it. Recordings are not exact enough to
    /// decide it: the opposite of what [`Self::select`] assumes is as likely.
    pub fn may_be_queued(&self, task: u32) -> bool {
        let cpu = self.queues.world.task(task).cpu as usize;
        let owed = self.in_debt.get(task as usize).copied().flatten();
        owed.is_some_and(|idled| idled == self.idled[cpu])
    }

    /// Notes whether the current task of `cpu`, charged and about to sleep, may have negative lag while others wait.
    pub(super) fn note_debt(&mut self, cpu: usize, task: u32) {
        let at = task as usize;
        self.in_debt.resize(self.in_debt.len().max(at + 1), None);
        let ahead = self.queues.world.avg_vruntime(cpu).wrapping_sub(self.queues.world.task(task).vruntime) as i64;
        let owes = self.queues.world.cpus[cpu].h_nr_running > 1 && ahead < CREDIT_NS;
        let keeps = u32::from(self.queues.world.sys().feat.value[FG_RQ]) == FG_RQ_EEVDF612;
        self.in_debt[at] = (keeps && owes).then_some(self.idled[cpu]);
    }

    /// [`Self::select`] as if the last balance pass had left other scan limits in the last-level caches of the waking
    /// and the previous CPU: `all`: scan all CPUs, else none; `idle_cores`: has_idle_cores is set, if there is SMT.
    pub fn select_after_look(&mut self, placing: &Placing, all: bool, idle_cores: bool) -> Option<FgVerdict> {
        let prev = self.queues.world.task(placing.task).cpu as usize;
        let cpus = [placing.this_cpu as usize, prev];
        let were = cpus.map(|cpu| self.queues.world.llc_mut(cpu).map(|llc| (llc.nr_idle_scan, llc.has_idle_cores)));
        for cpu in cpus {
            let (size, smt) = (self.queues.world.cpus[cpu].sd_llc_size, self.queues.world.sys().smt_key != 0);
            if let Some(llc) = self.queues.world.llc_mut(cpu) {
                llc.nr_idle_scan = if all { size } else { 0 };
                llc.has_idle_cores = u32::from(smt && idle_cores);
            }
        }
        let verdict = self.select(placing, None);
        for (cpu, were) in cpus.into_iter().zip(were).rev() {
            if let (Some(llc), Some(were)) = (self.queues.world.llc_mut(cpu), were) {
                (llc.nr_idle_scan, llc.has_idle_cores) = were;
            }
        }
        verdict
    }

    /// [`Self::select`] as if a task ran on each of these CPUs, which are idle.
    pub fn select_if_busy(&mut self, placing: &Placing, cpus: &CpuMask) -> Option<FgVerdict> {
        let set = |world: &mut World, more: i32| {
            for cpu in cpus.iter() {
                let rq = &mut world.cpus[cpu as usize];
                rq.nr_running = rq.nr_running.saturating_add_signed(more);
                rq.h_nr_running = rq.h_nr_running.saturating_add_signed(more);
                rq.curr_is_idle = u8::from(more < 0);
            }
        };
        set(&mut self.queues.world, 1);
        let verdict = self.select(placing, None);
        set(&mut self.queues.world, -1);
        verdict
    }

    /// wakee_flips of the waker and of the woken task.
    pub fn flips(&self, placing: &Placing) -> [u32; 2] {
        let idle = &self.queues.world.cpus[placing.this_cpu as usize];
        let waker = placing.current.map_or(idle.idle_wakee_flips, |task| self.queues.world.task(task).wakee_flips);
        [waker, self.queues.world.task(placing.task).wakee_flips]
    }

    /// [`Self::select`] as if their wakee_flips were `flips`.
    pub fn select_with_flips(&mut self, placing: &Placing, flips: [u32; 2]) -> Option<FgVerdict> {
        let were = self.flips(placing);
        self.set_flips(placing, flips);
        let verdict = self.select(placing, None);
        self.set_flips(placing, were);
        verdict
    }

    fn set_flips(&mut self, placing: &Placing, [waker, woken]: [u32; 2]) {
        self.queues.world.task_mut(placing.task).wakee_flips = woken;
        match placing.current {
            Some(task) => self.queues.world.task_mut(task).wakee_flips = waker,
            None => self.queues.world.cpus[placing.this_cpu as usize].idle_wakee_flips = waker,
        }
    }

    /// Writes the state changes of a placement, from the policy's verdict, even if the kernel chose another CPU.
    pub fn commit(&mut self, placing: &Placing, verdict: &FgVerdict) {
        let scan_ns = u64::from(verdict.scanned).saturating_mul(self.host.prices[placing.this_cpu as usize][0]);
        self.queues.world.commit(placing.task, &args(placing), verdict, scan_ns);
    }

    /// A sleeper is woken and moves to a CPU. [`Self::arrive`] follows, or another `send`.
    pub fn send(&mut self, task: u32, from: Option<CpuId>, to: CpuId) {
        from.into_iter().for_each(|from| self.expect(from as usize, -1));
        self.expect(to as usize, 1);
        self.move_to(task, to);
    }

    /// A task that was sent to a CPU will not arrive.
    pub fn call_off(&mut self, cpu: CpuId) {
        self.expect(cpu as usize, -1);
    }

    fn expect(&mut self, cpu: usize, more: i32) {
        self.pending[cpu] = self.pending[cpu].saturating_add_signed(more);
        self.queues.world.cpus[cpu].ttwu_pending = u8::from(self.pending[cpu] > 0);
    }

    /// A task that was sent to a CPU is queued there.
    pub fn arrive(&mut self, task: u32) {
        let cpu = self.queues.world.task(task).cpu as usize;
        self.expect(cpu, -1);
        self.wake_here(task);
    }

    /// Enqueues a woken task on its CPU.
    fn wake_here(&mut self, task: u32) {
        let p = self.queues.world.task(task);
        let (cpu, delayed, queued) = (p.cpu as usize, p.flags & FG_TASK_DELAYED != 0, p.on_rq != 0);
        self.clock(cpu);
        if delayed {
            self.queues.requeue_delayed(&mut self.host, cpu, task);
            self.check_preempt(cpu, task);
        } else if !queued {
            let migrated = self.queues.world.task(task).flags & FG_TASK_MIGRATED != 0;
            let flags = FG_ENQUEUE_WAKEUP | if migrated { FG_ENQUEUE_MIGRATED } else { 0 };
            self.queues.enqueue(&mut self.host, cpu, task, flags);
            self.check_preempt(cpu, task);
            self.queues.world.wake_from_idle(cpu);
        }
    }

    /// A task is runnable on `cpu`, whatever its state was.
    pub fn wake_on(&mut self, task: u32, cpu: CpuId) {
        self.move_to(task, cpu);
        self.wake_here(task);
    }

    /// A task has migrated to another CPU; it is queued there if it was queued.
    pub fn move_to(&mut self, task: u32, to: CpuId) {
        let p = self.queues.world.task(task);
        let from = p.cpu as usize;
        if from == to as usize {
            return;
        }
        if !self.is_runnable(task) {
            self.reassign(task, to);
            return;
        }
        if self.queues.world.curr(from) == Some(task) {
            self.queues.put_prev(&mut self.host, from);
        }
        self.queues.move_queued(&mut self.host, task, to, MigrateCause::Balance);
        self.reschedule(from);
        self.reschedule(to as usize);
    }

    /// Sets the CPU of a sleeper (migrate_task_rq_fair).
    fn reassign(&mut self, task: u32, to: CpuId) {
        let from = self.queues.world.task(task).cpu as usize;
        if from == to as usize {
            return;
        }
        if self.queues.world.task(task).on_rq != 0 {
            self.clock(from);
            self.queues.charge_curr(from);
            self.queues.dequeue_delayed(&mut self.host, from, task, 0);
        }
        self.queues.world.migrate_task(from, task);
        self.queues.world.migrate_lag(from, task, self.host.now);
        self.queues.world.task_mut(task).cpu = to as i32;
    }

    /// A task has exited, or its state is no longer needed.
    pub fn forget(&mut self, task: u32) {
        let p = self.queues.world.task(task);
        let (cpu, queued) = (p.cpu as usize, p.on_rq != 0);
        if self.queues.world.curr(cpu) == Some(task) {
            self.queues.put_prev(&mut self.host, cpu);
        }
        if queued {
            self.clock(cpu);
            self.queues.charge_curr(cpu);
            self.dequeue_for_good(cpu, task);
        }
        self.queues.world.migrate_task(cpu, task);
    }

    /// A queued task sleeps; its dequeue is not delayed.
    fn dequeue_for_good(&mut self, cpu: usize, task: u32) {
        if self.queues.world.task(task).flags & FG_TASK_DELAYED == 0 {
            self.queues.dequeue(&mut self.host, cpu, task, FG_DEQUEUE_SLEEP);
        }
        if self.queues.world.task(task).on_rq != 0 {
            self.queues.dequeue_delayed(&mut self.host, cpu, task, 0);
        }
    }

    /// Sets the nice value of a task, -20 to 19: dequeues it, changes it, and enqueues it again.
    pub fn renice(&mut self, task: u32, nice: i32) {
        let p = self.queues.world.task(task);
        let (cpu, queued) = (p.cpu as usize, p.on_rq != 0);
        if p.nice == nice {
            return;
        }
        let runs = queued && self.queues.world.curr(cpu) == Some(task);
        self.clock(cpu);
        if queued {
            self.queues.dequeue(&mut self.host, cpu, task, 0);
        }
        if runs {
            self.queues.put_prev(&mut self.host, cpu);
        }
        self.queues.world.task_mut(task).nice = nice;
        self.queues.world.reweight_task(cpu, task);
        if queued {
            self.queues.enqueue(&mut self.host, cpu, task, 0);
        }
        if runs {
            self.queues.set_next_fair(cpu, task, false);
        }
    }

    /// Sets the utilization clamps of a task, 0 to 1024.
    pub fn clamp(&mut self, task: u32, min: u32, max: u32) {
        self.queues.world.sys_mut().uclamp_used = 1;
        let want = FgClamps { min: min.min(FG_CAPACITY_SCALE), max: max.min(FG_CAPACITY_SCALE) };
        self.queues.world.uclamp_request(task, FG_TASK_ASKED_MIN | FG_TASK_ASKED_MAX, &want);
        let cpu = self.queues.world.task(task).cpu as usize;
        self.queues.world.uclamp_update(cpu, task, None);
    }

    /// Sets arch_scale_freq_capacity of a CPU: current frequency divided by the highest, 1 to 1024.
    pub fn set_frequency(&mut self, cpu: CpuId, scale: u32) {
        self.clock(cpu as usize);
        self.queues.world.cpus[cpu as usize].freq_scale = scale.clamp(1, FG_CAPACITY_SCALE);
    }

    /// The idle loop has entered this idle state (idle_set_state), or has left it.
    pub fn set_idle_state(&mut self, cpu: CpuId, state: Option<FgIdleState>) {
        let state = state.unwrap_or(FgIdleState { index: -1, ..FgIdleState::zeroed() });
        self.queues.world.set_idle_state(cpu as usize, &state, self.host.now);
    }

    fn clock(&mut self, cpu: usize) {
        self.host.update_clock(&mut self.queues.world, cpu);
    }

    /// check_preempt_curr for a task that was queued on `cpu`.
    fn check_preempt(&mut self, cpu: usize, task: u32) {
        self.queues.check_preempt(&mut self.host, cpu, task, 0);
        self.reschedule(cpu);
    }

    /// If a reschedule of `cpu` is pending: picks the next task. The recording has no event if that is the current one.
    fn reschedule(&mut self, cpu: usize) {
        if self.queues.rqs[cpu].clear_resched() {
            self.drop_delayed(cpu);
        }
    }

    /// Dequeues the delayed sleepers that would be picked.
    fn drop_delayed(&mut self, cpu: usize) {
        if self.queues.world.cpus[cpu].h_nr_delayed > 0 {
            self.queues.pick_task(&mut self.host, cpu);
        }
    }
}

fn args(placing: &Placing) -> WakeArgs {
    let Placing { current, now, this_cpu, flags, .. } = *placing;
    WakeArgs { current, now, this_cpu, flags }
}

/// LOAD_AVG_MAX - 1024: the divider of a signal's sums at the beginning of a period.
const DIVIDER: u64 = 47_742 - 1024;

/// The steady signal of an entity that has always run at this load and utilization. `queue`: the signal of a run queue,
/// whose load_sum includes the weights.
fn full_avg(now: u64, load: u64, util: u64, queue: bool) -> FgAvg {
    let mut avg = FgAvg { load_avg: load, runnable_avg: util, util_avg: util, ..FgAvg::zeroed() };
    (avg.last_update, avg.load_sum) = (now, if queue { load * DIVIDER } else { DIVIDER });
    (avg.runnable_sum, avg.util_sum) = (util * DIVIDER, util * DIVIDER);
    avg
}

#[cfg(test)]
mod tests;

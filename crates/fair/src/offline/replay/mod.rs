//! [`ReplayedState`]: the policy's state as it must have been while a recording was made.
//!
//! A recording says which task runs where, sleeps, is woken and where it goes. This repeats it on the policy's own structs with
//! the sequences that simulations run (`sequence`), so that queues, PELT signals, utilization estimates and wakees come out as
//! they would have been. InitialState each wakeup is repeated, the policy can be asked where it would have put the task.
//!
//! | module | what |
//! |---|---|
//! | this one | forks, wakeups, sleeps, moves |
//! | `switch` | context switches |
//! | `background` | ticks and balance passes, which no recording shows |
//!
//! What the host of the sequences does differently here, and why:
//!
//! * A pull that balancing decides on is assumed, not carried out: the recording shows by itself what moved.
//! * A reschedule is carried out at once, for its effect on delayed sleepers alone: a switch is the recording's to show.
//! * Nothing has a price but the CPUs that newly idle balancing looks at, which its limits depend on.
//! * NI_RANDOM's draws are all 0: a recording has no seed.
//!
//! DEVIATION: interrupt time, frequency limits and task groups are in no recording: there are none here, and all tasks are
//! SCHED_OTHER. Ticks come at whole multiples of their period.

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
    /// Nothing ran for long: CPUs are idle and cold, tasks have no utilization and wake nobody.
    Nothing,
    /// Everything ran all the time: CPUs are busy with a task, another one waits, tasks have full utilization.
    Everything,
}

/// What is known of a recording beside its events.
#[derive(Clone, Copy, Debug)]
pub struct ReplayConfig {
    /// Ticks per second.
    pub hz: u32,
    /// schedutil set the clocks.
    pub schedutil: bool,
    /// The state in which it begins.
    pub initial: InitialState,
    /// Time of its first event, ns.
    pub now: u64,
    /// No sleeper stays queued, whatever the policy has for those that owe something: whether one does is a matter of
    /// nanoseconds, which recordings do not tell.
    pub none_delayed: bool,
}

/// Where a task may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// On all CPUs.
    Any,
    /// On these CPUs; on all if none of them exists.
    Cpus(CpuMask),
    /// It is a kernel thread of this CPU (kthread_is_per_cpu).
    PerCpuKthread(CpuId),
}

/// How often a task has changed whom it wakes that was [`InitialState::Everything`]: enough to count as one of many wakees on any
/// machine, and halved every second.
const FLIPS_BEFORE: u32 = 1024;

/// ns of virtual time: so far ahead of its debts nobody is in doubt. Recordings tell when a CPU switches, not when it took the time
/// by which it settles debts; some us lie between.
const CREDIT_NS: i64 = 10_000;

/// Whether sleepers may stay queued (DELAY_DEQUEUE), see [`ReplayConfig::none_delayed`].
pub fn keeps_sleepers(features: &Features) -> bool {
    u32::from(features.get(FG_RQ)) == FG_RQ_EEVDF612
}

/// Time and prices of a recording, as host of the sequences.
struct ReplayHost {
    now: u64,
    tick_ns: u64,
    /// CPU of the balance pass that is going on.
    here: CpuId,
    /// ns: price of the CPUs that this pass has looked at so far.
    looked_ns: u64,
    /// ns that a look at a CPU takes, by CPU: in a placement scan, in group statistics.
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

/// The policy's state of a machine while a recording is repeated.
pub struct ReplayedState {
    queues: RunQueues,
    host: ReplayHost,
    /// Tasks on their way to a CPU, by CPU.
    pending: Vec<u32>,
    /// A task of which nothing was recorded yet may wait there, by CPU.
    phantom: Vec<bool>,
    /// How often a CPU went idle, by CPU.
    idled: Vec<u64>,
    /// Tasks that went to sleep with negative lag while others waited there: how often the CPU had gone idle by then.
    in_debt: Vec<Option<u64>>,
    initial: InitialState,
    /// ns.
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

    /// What the policy keeps of a CPU. Panics if there is no such CPU, as do all below.
    pub fn cpu(&self, cpu: CpuId) -> &FgCpu {
        &self.queues.world.cpus[cpu as usize]
    }

    /// What the policy keeps of a task. Panics if it has not appeared, as do all below.
    pub fn task(&self, task: u32) -> &FgTask {
        self.queues.world.task(task)
    }

    /// It is queued or has its CPU. EEVDF keeps some sleepers queued: they are not.
    pub fn is_runnable(&self, task: u32) -> bool {
        let p = self.queues.world.task(task);
        p.on_rq != 0 && p.flags & FG_TASK_DELAYED == 0
    }

    /// It was born and has not been queued yet.
    pub fn is_new(&self, task: u32) -> bool {
        self.queues.world.task(task).flags & FG_TASK_NEW != 0
    }

    /// A task that was there before: asleep, last on `cpu`.
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

    /// A task is born on `cpu`. [`Self::start`] follows.
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
        // Who bore the number before may have owed something.
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

    /// Where the policy would put a sleeper; none if it chooses no CPU, for the task is still queued. Changes nothing.
    pub fn select(&mut self, placing: &Placing, mut noted: Option<&mut FgWhy>) -> Option<FgVerdict> {
        if self.queues.world.task(placing.task).on_rq != 0 {
            return None;
        }
        noted.iter_mut().for_each(|noted| why::clear(noted));
        Some(self.queues.world.select(placing.task, &args(placing), noted))
    }

    /// No CPU may be chosen for a sleeper, for it may still be queued: that is so close to what recordings can tell that the
    /// opposite of what [`Self::select`] says is as likely.
    pub fn may_be_queued(&self, task: u32) -> bool {
        let cpu = self.queues.world.task(task).cpu as usize;
        let owed = self.in_debt.get(task as usize).copied().flatten();
        owed.is_some_and(|idled| idled == self.idled[cpu])
    }

    /// Notes whether the current task of `cpu`, charged and about to sleep, owes something to those who wait.
    pub(super) fn note_debt(&mut self, cpu: usize, task: u32) {
        let at = task as usize;
        self.in_debt.resize(self.in_debt.len().max(at + 1), None);
        let ahead = self.queues.world.avg_vruntime(cpu).wrapping_sub(self.queues.world.task(task).vruntime) as i64;
        let owes = self.queues.world.cpus[cpu].h_nr_running > 1 && ahead < CREDIT_NS;
        let keeps = u32::from(self.queues.world.sys().feat.value[FG_RQ]) == FG_RQ_EEVDF612;
        self.in_debt[at] = (keeps && owes).then_some(self.idled[cpu]);
    }

    /// The same as [`Self::select`] if the last look for imbalance had left so many CPUs to scan behind each cache, or all of
    /// them, and if idle cores were known there, or none.
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

    /// The same as [`Self::select`] if somebody ran on each of these CPUs, which idle.
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

    /// How often the waker and the woken task have changed whom they wake.
    pub fn flips(&self, placing: &Placing) -> [u32; 2] {
        let idle = &self.queues.world.cpus[placing.this_cpu as usize];
        let waker = placing.current.map_or(idle.idle_wakee_flips, |task| self.queues.world.task(task).wakee_flips);
        [waker, self.queues.world.task(placing.task).wakee_flips]
    }

    /// The same as [`Self::select`] if those numbers were `flips`.
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

    /// What a placement leaves behind, whoever decided: the policy's verdict says what that is.
    pub fn commit(&mut self, placing: &Placing, verdict: &FgVerdict) {
        let scan_ns = u64::from(verdict.scanned).saturating_mul(self.host.prices[placing.this_cpu as usize][0]);
        self.queues.world.commit(placing.task, &args(placing), verdict, scan_ns);
    }

    /// A sleeper is on its way to a CPU. [`Self::arrive`] follows, or another one of these.
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

    /// It is there and is queued.
    pub fn arrive(&mut self, task: u32) {
        let cpu = self.queues.world.task(task).cpu as usize;
        self.expect(cpu, -1);
        self.wake_here(task);
    }

    /// A task wakes up on the CPU on which it is.
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

    /// A task is runnable on `cpu`, whatever was known of it.
    pub fn wake_on(&mut self, task: u32, cpu: CpuId) {
        self.move_to(task, cpu);
        self.wake_here(task);
    }

    /// A task is on another CPU now: queued there if it was queued.
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
            self.queues.put_prev(from);
        }
        self.queues.move_queued(&mut self.host, task, to, MigrateCause::Balance);
        self.reschedule(from);
        self.reschedule(to as usize);
    }

    /// A sleeper belongs to another CPU.
    fn reassign(&mut self, task: u32, to: CpuId) {
        let from = self.queues.world.task(task).cpu as usize;
        if from == to as usize {
            return;
        }
        if self.queues.world.task(task).on_rq != 0 {
            self.clock(from);
            self.queues.charge_curr(from);
            self.queues.dequeue_delayed(&mut self.host, from, task);
        }
        self.queues.world.migrate_task(from, task);
        self.queues.world.migrate_lag(from, task, self.host.now);
        self.queues.world.task_mut(task).cpu = to as i32;
    }

    /// A task has ended, or nothing is to be known of it any more.
    pub fn forget(&mut self, task: u32) {
        let p = self.queues.world.task(task);
        let (cpu, queued) = (p.cpu as usize, p.on_rq != 0);
        if self.queues.world.curr(cpu) == Some(task) {
            self.queues.put_prev(cpu);
        }
        if queued {
            self.clock(cpu);
            self.queues.charge_curr(cpu);
            self.dequeue_for_good(cpu, task);
        }
        self.queues.world.migrate_task(cpu, task);
    }

    /// A queued task sleeps, and does not stay queued for that.
    fn dequeue_for_good(&mut self, cpu: usize, task: u32) {
        if self.queues.world.task(task).flags & FG_TASK_DELAYED == 0 {
            self.queues.dequeue(&mut self.host, cpu, task, FG_DEQUEUE_SLEEP);
        }
        if self.queues.world.task(task).on_rq != 0 {
            self.queues.dequeue_delayed(&mut self.host, cpu, task);
        }
    }

    /// A task has this nice value, -20 to 19: off its queue, changed, back on.
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
            self.queues.put_prev(cpu);
        }
        self.queues.world.task_mut(task).nice = nice;
        self.queues.world.reweight_task(cpu, task);
        if queued {
            self.queues.enqueue(&mut self.host, cpu, task, 0);
        }
        if runs {
            self.queues.set_next_fair(cpu, task);
        }
    }

    /// A task has these utilization clamps, 0 to 1024.
    pub fn clamp(&mut self, task: u32, min: u32, max: u32) {
        self.queues.world.sys_mut().uclamp_used = 1;
        let want = FgClamps { min: min.min(FG_CAPACITY_SCALE), max: max.min(FG_CAPACITY_SCALE) };
        self.queues.world.uclamp_request(task, FG_TASK_ASKED_MIN | FG_TASK_ASKED_MAX, &want);
        let cpu = self.queues.world.task(task).cpu as usize;
        self.queues.world.uclamp_update(cpu, task, None);
    }

    /// The clock of a CPU runs at so much of its top frequency, 1 to 1024.
    pub fn set_frequency(&mut self, cpu: CpuId, scale: u32) {
        self.clock(cpu as usize);
        self.queues.world.cpus[cpu as usize].freq_scale = scale.clamp(1, FG_CAPACITY_SCALE);
    }

    /// The idle loop enters a state of which the kernel is told this, or has left it.
    pub fn set_idle_state(&mut self, cpu: CpuId, state: Option<FgIdleState>) {
        let state = state.unwrap_or(FgIdleState { index: -1, ..FgIdleState::zeroed() });
        self.queues.world.set_idle_state(cpu as usize, &state, self.host.now);
    }

    fn clock(&mut self, cpu: usize) {
        self.host.update_clock(&mut self.queues.world, cpu);
    }

    /// A task was queued beside the current one, which it may preempt.
    fn check_preempt(&mut self, cpu: usize, task: u32) {
        self.queues.check_preempt(&mut self.host, cpu, task);
        self.reschedule(cpu);
    }

    /// If a reschedule of `cpu` is pending: the CPU looks which task is next, of which nothing is recorded if that is the
    /// current one after all.
    fn reschedule(&mut self, cpu: usize) {
        if std::mem::take(&mut self.queues.rqs[cpu].resched) {
            self.drop_delayed(cpu);
        }
    }

    /// Delayed sleepers whose turn would have come are dequeued.
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

/// LOAD_AVG_MAX less its last period: what sums are divided by at the beginning of a period.
const DIVIDER: u64 = 47_742 - 1024;

/// The signal of what has run for ever at this load and utilization. `queue`: of a run queue, whose sum of loads has the
/// weights in it.
fn full_avg(now: u64, load: u64, util: u64, queue: bool) -> FgAvg {
    let mut avg = FgAvg { load_avg: load, runnable_avg: util, util_avg: util, ..FgAvg::zeroed() };
    (avg.last_update, avg.load_sum) = (now, if queue { load * DIVIDER } else { DIVIDER });
    (avg.runnable_sum, avg.util_sum) = (util * DIVIDER, util * DIVIDER);
    avg
}

#[cfg(test)]
mod tests;

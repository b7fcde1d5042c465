//! The policy's questions as methods; names and contracts as in `policy/fg.h`.
//!
//! SAFETY, for all of them: every pointer handed over, and every pointer in what it points at, is null or an element
//! of the world's slabs; no Rust reference into them is alive, since the methods take `&mut self`, or only read,
//! and pass addresses only.

use fairground_machine::CpuId;

use super::{WakeArgs, World};
use crate::ffi::*;

impl World {
    /// `why`: where the policy is to note what it looks at.
    pub fn select(&mut self, task: u32, wake: &WakeArgs, why: Option<&mut FgWhy>) -> FgVerdict {
        let mut verdict = FgVerdict::zeroed();
        let mut wake = self.wake(wake);
        wake.why = why.map_or(std::ptr::null_mut(), std::ptr::from_mut);
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
            why: std::ptr::null_mut(),
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

    pub fn set_frequency_limits(&mut self, cpu: usize, limits: &FgFrequencyLimits) {
        // SAFETY: see above.
        unsafe { fg_set_frequency_limits(self.cpus.ptr(cpu), limits) }
    }

    pub fn enqueue_rt(&mut self, cpu: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_enqueue_rt(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize)) }
    }

    pub fn dequeue_rt(&mut self, cpu: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_dequeue_rt(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize)) }
    }

    pub fn uclamp_request(&mut self, task: u32, asked: u32, want: &FgClamps) {
        // SAFETY: see above.
        unsafe { fg_uclamp_request(self.sys.ptr(0), self.tasks.ptr(task as usize), asked, want) }
    }

    /// `group`: what its task group allows, none in the root group.
    pub fn uclamp_update(&mut self, cpu: usize, task: u32, group: Option<&FgClamps>) {
        let group = group.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: see above.
        unsafe { fg_uclamp_update(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize), group) }
    }

    /// `task`: whose clamps join those of the run queue, if any.
    pub fn uclamp_rq_util(&self, cpu: usize, util: u64, task: Option<u32>) -> u64 {
        // SAFETY: see above.
        unsafe { fg_uclamp_rq_util(self.sys.ptr(0), self.cpus.peek(cpu), util, self.task_ptr(task)) }
    }

    pub fn sugov_start(&mut self, clock: usize, transition_ns: u64) {
        // SAFETY: see above.
        unsafe { fg_sugov_start(self.sys.ptr(0), self.sugovs.ptr(clock), transition_ns) }
    }

    pub fn sugov_limits(&mut self, clock: usize, khz: u32) {
        // SAFETY: see above.
        unsafe { fg_sugov_limits(self.sugovs.ptr(clock), khz) }
    }

    /// `FG_FREQUENCY_*`.
    pub fn update_frequency(&mut self, cpu: usize, flags: u32) -> u32 {
        // SAFETY: see above.
        unsafe { fg_update_frequency(self.sys.ptr(0), self.cpus.ptr(cpu), flags) }
    }

    pub fn set_max_allowed_capacity(&mut self, task: u32) {
        // SAFETY: see above.
        unsafe { fg_set_max_allowed_capacity(self.sys.ptr(0), self.tasks.ptr(task as usize)) }
    }

    /// `now`: the engine's time, which all CPUs share.
    pub fn set_idle_state(&mut self, cpu: usize, state: &FgIdleState, now: u64) {
        // SAFETY: see above.
        unsafe { fg_set_idle_state(self.sys.ptr(0), self.cpus.ptr(cpu), state, now) }
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

    pub fn avg_vruntime(&self, cpu: usize) -> u64 {
        // SAFETY: see above.
        unsafe { fg_avg_vruntime(&raw const (*self.cpus.peek(cpu)).fair) }
    }

    pub fn update_curr(&mut self, cpu: usize, left: Option<u32>) -> bool {
        // SAFETY: see above.
        unsafe { fg_update_curr(self.sys.ptr(0), self.cpus.ptr(cpu), self.entity_ptr(cpu, left)) != 0 }
    }

    pub fn update_min_vruntime(&mut self, cpu: usize, left: Option<u32>) {
        // SAFETY: see above.
        unsafe { fg_update_min_vruntime(self.sys.ptr(0), self.cpus.ptr(cpu), self.entity_ptr(cpu, left)) }
    }

    pub fn enqueue_entity(&mut self, cpu: usize, task: u32, flags: u32) {
        // SAFETY: see above.
        unsafe { fg_enqueue_entity(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize), flags) }
    }

    pub fn dequeue_entity(&mut self, cpu: usize, task: u32, flags: u32) {
        // SAFETY: see above.
        unsafe { fg_dequeue_entity(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize), flags) }
    }

    pub fn requeue_delayed(&mut self, cpu: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_requeue_delayed(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize)) }
    }

    pub fn migrate_task(&mut self, old: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_migrate_task(self.sys.ptr(0), self.cpus.ptr(old), self.tasks.ptr(task as usize)) }
    }

    pub fn migrate_lag(&mut self, old: usize, task: u32, now: u64) {
        // SAFETY: see above.
        unsafe { fg_migrate_lag(self.sys.ptr(0), self.cpus.peek(old), self.tasks.ptr(task as usize), now) }
    }

    pub fn set_next_entity(&mut self, cpu: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_set_next_entity(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize)) }
    }

    pub fn put_prev_entity(&mut self, cpu: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_put_prev_entity(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize)) }
    }

    pub fn pick_entity(&mut self, cpu: usize, first: Option<u32>, second: Option<u32>) -> Option<u32> {
        let (first, second) = (self.entity_ptr(cpu, first), self.entity_ptr(cpu, second));
        // SAFETY: see above; the answer is null, a task of the pool or the entity of a group.
        unsafe { fg_pick_entity(self.sys.ptr(0), self.cpus.peek(cpu), first, second).as_ref() }.map(|p| p.id)
    }

    pub fn clear_buddies(&mut self, cpu: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_clear_buddies(self.cpus.ptr(cpu), self.tasks.ptr(task as usize)) }
    }

    pub fn entity_tick(&mut self, cpu: usize, left: Option<u32>) -> bool {
        // SAFETY: see above.
        unsafe { fg_entity_tick(self.sys.ptr(0), self.cpus.ptr(cpu), self.entity_ptr(cpu, left)) != 0 }
    }

    pub fn check_preempt_wakeup(&mut self, cpu: usize, task: u32, first: Option<u32>) -> bool {
        let (p, first) = (self.tasks.ptr(task as usize), self.entity_ptr(cpu, first));
        // SAFETY: see above.
        unsafe { fg_check_preempt_wakeup(self.sys.ptr(0), self.cpus.ptr(cpu), p, first) != 0 }
    }

    pub fn yield_entity(&mut self, cpu: usize) {
        // SAFETY: see above.
        unsafe { fg_yield(self.sys.ptr(0), self.cpus.ptr(cpu)) }
    }

    pub fn set_load_weight(&mut self, task: u32) {
        // SAFETY: see above.
        unsafe { fg_set_load_weight(self.tasks.ptr(task as usize)) }
    }

    pub fn reweight_task(&mut self, cpu: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_reweight_task(self.sys.ptr(0), self.cpus.ptr(cpu), self.tasks.ptr(task as usize)) }
    }

    pub fn switched_to_fair(&mut self, cpu: usize, task: u32) {
        // SAFETY: see above.
        unsafe { fg_switched_to_fair(self.cpus.peek(cpu), self.tasks.ptr(task as usize)) }
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

    pub fn idle(&self, cpu: usize) -> bool {
        // SAFETY: see above.
        unsafe { fg_idle_rq(self.cpus.peek(cpu)) != 0 }
    }

    pub fn sched_idle(&self, cpu: usize) -> bool {
        // SAFETY: see above.
        unsafe { fg_sched_idle_rq(self.cpus.peek(cpu)) != 0 }
    }

    pub fn update_idle_balance(&mut self, cpu: usize) -> bool {
        // SAFETY: see above.
        unsafe { fg_update_idle_balance(self.cpus.ptr(cpu)) != 0 }
    }

    pub fn rebalance_due(&self, cpu: usize, jiffies: u64) -> bool {
        // SAFETY: see above.
        unsafe { fg_rebalance_due(self.cpus.peek(cpu), jiffies) != 0 }
    }

    pub fn rebalance_kind(&self, cpu: usize) -> u32 {
        // SAFETY: see above.
        unsafe { fg_rebalance_kind(self.cpus.peek(cpu)) }
    }

    pub fn dequeue_next_balance(&mut self, cpu: usize, was_sched_idle: bool, jiffies: u64) {
        // SAFETY: see above.
        unsafe { fg_dequeue_next_balance(self.sys.ptr(0), self.cpus.ptr(cpu), u32::from(was_sched_idle), jiffies) }
    }

    pub fn rebalance_begin(&mut self, cpu: usize, kind: u32, jiffies: u64) -> FgBalanceWalk {
        let mut walk = FgBalanceWalk { jiffies, kind, ..FgBalanceWalk::zeroed() };
        // SAFETY: see above.
        unsafe { fg_rebalance_begin(self.sys.ptr(0), self.cpus.peek(cpu), &mut walk) };
        walk
    }

    pub fn rebalance_domain(&mut self, sd: usize, walk: &mut FgBalanceWalk) -> u32 {
        // SAFETY: see above.
        unsafe { fg_rebalance_domain(self.sys.ptr(0), self.domains.ptr(sd), walk) }
    }

    pub fn rebalance_again(&self, cpu: usize, walk: &mut FgBalanceWalk) {
        // SAFETY: see above.
        unsafe { fg_rebalance_again(self.sys.ptr(0), self.cpus.peek(cpu), walk) }
    }

    pub fn rebalanced_domain(&mut self, sd: usize, walk: &mut FgBalanceWalk, ours: bool) {
        // SAFETY: see above.
        unsafe { fg_rebalanced_domain(self.sys.ptr(0), self.domains.ptr(sd), walk, u32::from(ours)) }
    }

    pub fn rebalance_end(&mut self, cpu: usize, walk: &FgBalanceWalk) {
        // SAFETY: see above.
        unsafe { fg_rebalance_end(self.sys.ptr(0), self.cpus.ptr(cpu), walk) }
    }

    pub fn newidle_begin(&mut self, jiffies: u64) -> FgBalanceWalk {
        let mut walk = FgBalanceWalk { jiffies, ..FgBalanceWalk::zeroed() };
        // SAFETY: see above.
        unsafe { fg_newidle_begin(self.sys.ptr(0), &mut walk) };
        walk
    }

    pub fn newidle_spared(&self, cpu: usize) -> bool {
        // SAFETY: see above.
        unsafe { fg_newidle_spared(self.sys.ptr(0), self.cpus.peek(cpu)) != 0 }
    }

    pub fn newidle_gate(&mut self, cpu: usize, walk: &mut FgBalanceWalk) -> bool {
        // SAFETY: see above.
        unsafe { fg_newidle_gate(self.sys.ptr(0), self.cpus.peek(cpu), walk) != 0 }
    }

    pub fn newidle_domain(&mut self, sd: usize, cpu: usize, walk: &mut FgBalanceWalk) -> u32 {
        // SAFETY: see above.
        unsafe { fg_newidle_domain(self.sys.ptr(0), self.domains.ptr(sd), self.cpus.peek(cpu), walk) }
    }

    pub fn newidled_domain(&mut self, sd: usize, cpu: usize, walk: &mut FgBalanceWalk, cost_ns: u64) -> u32 {
        // SAFETY: see above.
        unsafe { fg_newidled_domain(self.sys.ptr(0), self.domains.ptr(sd), self.cpus.peek(cpu), walk, cost_ns) }
    }

    pub fn newidle_end(&mut self, cpu: usize, walk: &FgBalanceWalk) {
        // SAFETY: see above.
        unsafe { fg_newidle_end(self.cpus.ptr(cpu), walk) }
    }

    /// Spec 1.8 for the local group of a domain.
    pub fn update_group_capacity(&mut self, sd: usize, cpu: usize, jiffies: u64) {
        // SAFETY: see above.
        unsafe { fg_update_group_capacity(self.sys.ptr(0), self.domains.ptr(sd), self.cpus.ptr(cpu), jiffies) };
        self.tell_twins(sd);
    }

    pub fn nohz_balance_enter_idle(&mut self, cpu: usize) {
        // SAFETY: see above.
        unsafe { fg_nohz_balance_enter_idle(self.sys.ptr(0), self.cpus.ptr(cpu)) }
    }

    pub fn nohz_balancer_kick(&mut self, cpu: usize, jiffies: u64) -> u32 {
        // SAFETY: see above.
        unsafe { fg_nohz_balancer_kick(self.sys.ptr(0), self.cpus.ptr(cpu), jiffies) }
    }

    pub fn kick_ilb(&mut self, cpu: usize, kick: u32, jiffies: u64) -> Option<CpuId> {
        // SAFETY: see above.
        let balancer = unsafe { fg_kick_ilb(self.sys.ptr(0), self.cpus.peek(cpu), kick, jiffies) };
        CpuId::try_from(balancer).ok()
    }

    pub fn nohz_stats_due(&self, cpu: usize, jiffies: u64) -> bool {
        // SAFETY: see above.
        unsafe { fg_nohz_stats_due(self.cpus.peek(cpu), jiffies) != 0 }
    }

    pub fn nohz_idle_begin(&mut self, kick: u32, kind: u32, jiffies: u64) -> FgBalanceWalk {
        let mut walk = FgBalanceWalk { jiffies, kind, ..FgBalanceWalk::zeroed() };
        // SAFETY: see above.
        unsafe { fg_nohz_idle_begin(self.sys.ptr(0), kick, &mut walk) };
        walk
    }

    pub fn nohz_idle_abort(&mut self, kick: u32) {
        // SAFETY: see above.
        unsafe { fg_nohz_idle_abort(self.sys.ptr(0), kick) }
    }

    pub fn nohz_idle_cpu(&mut self, cpu: usize, kick: u32, walk: &mut FgBalanceWalk) -> bool {
        // SAFETY: see above.
        unsafe { fg_nohz_idle_cpu(self.cpus.peek(cpu), kick, walk) != 0 }
    }

    pub fn nohz_idled_cpu(&mut self, cpu: usize, walk: &mut FgBalanceWalk) {
        // SAFETY: see above.
        unsafe { fg_nohz_idled_cpu(self.cpus.peek(cpu), walk) }
    }

    pub fn nohz_idle_others_end(&mut self, walk: &FgBalanceWalk) {
        // SAFETY: see above.
        unsafe { fg_nohz_idle_others_end(self.sys.ptr(0), walk) }
    }

    pub fn nohz_idle_self(&mut self, cpu: usize, kick: u32, walk: &mut FgBalanceWalk) -> bool {
        // SAFETY: see above.
        unsafe { fg_nohz_idle_self(self.cpus.peek(cpu), kick, walk) != 0 }
    }

    pub fn nohz_idle_end(&mut self, kick: u32, walk: &FgBalanceWalk) {
        // SAFETY: see above.
        unsafe { fg_nohz_idle_end(self.sys.ptr(0), kick, walk) }
    }

    pub fn newidle_stats(&self) -> bool {
        // SAFETY: see above.
        unsafe { fg_newidle_stats(self.sys.ptr(0)) != 0 }
    }

    pub fn nohz_newidle_due(&self, cpu: usize, jiffies: u64, balanced: bool) -> bool {
        // SAFETY: see above.
        unsafe { fg_nohz_newidle_due(self.sys.ptr(0), self.cpus.peek(cpu), jiffies, u32::from(balanced)) != 0 }
    }

    pub fn nohz_stats_end(&mut self, sd: usize, blocked: bool, jiffies: u64) {
        // SAFETY: see above.
        unsafe { fg_nohz_stats_end(self.sys.ptr(0), self.domains.ptr(sd), u32::from(blocked), jiffies) }
    }
}

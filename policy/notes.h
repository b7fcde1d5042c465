/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The texts of a placement's notes, shown if reasons are wanted: FG_NOTE(id, text)
 * In a text {cpu} is the note's CPU, {a}, {b} and {c} its numbers; {a:task} is the number of such things, in the plural
 * unless it is 1. A text is a clause without a full stop: outputs put the rule that was being tried in front of it.
 */

/* Any look at a CPU. */
FG_NOTE(FREE, "CPU {cpu} is idle")
FG_NOTE(BUSY, "CPU {cpu} is busy with {a:task}")
FG_NOTE(COMING, "CPU {cpu} has no task yet, but is not idle: ttwu_pending")
FG_NOTE(GOING, "CPU {cpu} has no task left, but is not idle: it has not switched to the idle task yet")
FG_NOTE(WANTS, "the task has utilization {a}, uclamp_min {b}, uclamp_max {c}")
FG_NOTE(FITS, "CPU {cpu} fits: utilization {a}, capacity {b}")
FG_NOTE(FITS_CAPPED, "CPU {cpu} fits: uclamp_max {a}, capacity {b}")
FG_NOTE(TOO_SMALL, "CPU {cpu} does not fit: utilization {a}, capacity {b}")
FG_NOTE(BELOW_MIN, "CPU {cpu} does not fit: uclamp_min {a}, capacity {b}")
FG_NOTE(ALMOST_FITS, "CPU {cpu} fits but for uclamp_min {a}: capacity {b}")
FG_NOTE(FAR, "CPU {cpu} shares no last-level cache with CPU {a}")
FG_NOTE(FORBIDDEN, "CPU {cpu} is not in cpus_ptr")
FG_NOTE(SAME, "CPU {cpu} was tried already")

/* Whether the task comes to its waker. */
FG_NOTE(WIDE, "wake_wide: wakee_flips {a} of the waker, {b} of the task, sd_llc_size {c}: wide")
FG_NOTE(NOT_WIDE, "wake_wide: wakee_flips {a} of the waker, {b} of the task, sd_llc_size {c}: not wide")
FG_NOTE(SYNC, "wake_affine_idle: CPU {cpu} has {a:task}, and the waker there is about to sleep (WF_SYNC)")
FG_NOTE(WAKER_LOAD, "wake_affine_weight: the waker's load {a} exceeds cpu_load {b} of CPU {cpu}")
FG_NOTE(LOAD_THIS, "wake_affine_weight: CPU {cpu} has cpu_load {a}, the task's load is {b}, capacity {c}")
FG_NOTE(LOAD_LEFT,
	"wake_affine_weight: CPU {cpu} has cpu_load {a} without the waker, the task's load is {b}, capacity {c}")
FG_NOTE(LOAD_PREV, "wake_affine_weight: CPU {cpu} has cpu_load {a} with the task, capacity {b}, weighed at {c} %")
FG_NOTE(TARGET, "target is CPU {cpu}")

/* Energy-aware wakeups. Energy is in units of the energy model. */
FG_NOTE(FEEC_OVERUTILIZED, "find_energy_efficient_cpu is not asked: the root domain of CPU {cpu} is overutilized")
FG_NOTE(FEEC_NO_DOMAIN, "find_energy_efficient_cpu is not asked: no sd_asym_cpucapacity with CPUs {cpu} and {a}")
FG_NOTE(FEEC_FITS, "CPU {cpu} would fit: utilization {a}, capacity {b}, spare capacity {c}")
FG_NOTE(FEEC_BELOW_MIN, "CPU {cpu} would fit but for uclamp_min {c}: utilization {a}, capacity {b}")
FG_NOTE(FEEC_TOO_SMALL, "CPU {cpu} would not fit: utilization {a}, capacity {b}")
FG_NOTE(FEEC_COSTS, "CPU {cpu}: energy delta {a}, base energy {b}")
FG_NOTE(FEEC_NEGATIVE, "CPU {cpu}: energy {a} is below base energy {b}")
FG_NOTE(FEEC_BEST, "CPU {cpu} is the best so far, but for the previous one")
FG_NOTE(FEEC_LOST_SPARE,
	"CPU {cpu} is out: spare capacity is 0, or no more than that of CPU {a} in the same performance domain")
FG_NOTE(FEEC_LOST_CLOCK,
	"CPU {cpu} is out: CPU {a} in the same performance domain fits better or has as much spare capacity")
FG_NOTE(FEEC_LOST_FIT, "CPU {cpu} is out: its capacity is below uclamp_min, that of CPU {a} is not")
FG_NOTE(FEEC_LOST_CAP, "CPU {cpu} is out: below uclamp_min, and capacity {a} does not exceed the best so far, {b}")
FG_NOTE(FEEC_LOST_ENERGY, "CPU {cpu} is out: energy delta {a}, best so far {b}")
FG_NOTE(FEEC_SAVES, "leaving CPU {cpu} would save energy {a}, the margin is {b}")

/* The search near target. */
FG_NOTE(KTHREAD, "the waker is a per-CPU kthread on CPU {cpu}, nr_running {a}")
FG_NOTE(OTHER_CLUSTER, "CPU {cpu} is in another cluster than CPU {a}: kept in case nothing nearer is idle")
FG_NOTE(HINT, "has_idle_cores is set for the LLC of CPU {cpu}")
FG_NOTE(NO_HINT, "has_idle_cores is not set for the LLC of CPU {cpu}")
FG_NOTE(HINT_WRONG, "no idle core found: has_idle_cores of the LLC of CPU {cpu} is cleared")
FG_NOTE(IDLE_CORE, "the core of CPU {cpu} is idle")
FG_NOTE(REMEMBERED, "CPU {cpu} is kept in case nothing better is found")
FG_NOTE(ISOLATED, "CPU {cpu} is outside the LLC domain")
FG_NOTE(BUDGET, "SIS_PROP: CPU {cpu} pays for {a:CPU}: {b} ns of idle time, avg_scan_cost {c} ns")
FG_NOTE(NO_PURSE, "SIS_PROP: CPU {cpu} has no LLC domain with an avg_scan_cost")
FG_NOTE(IDLE_SCAN, "SIS_UTIL: nr_idle_scan {a} for the {b:CPU} of CPU {cpu}'s LLC")
FG_NOTE(IDLE_SCAN_CORES, "SIS_UTIL: nr_idle_scan {a} for CPU {cpu}'s LLC, but idle cores are not counted")
FG_NOTE(SPENT, "the scan ends before CPU {cpu}: no CPU is left to pay for")
/* The slow path. A group goes by its first CPU; loads are for its capacity. */
FG_NOTE(WALK, "CPU {cpu}'s sched_domain of {a:CPU} is searched")
FG_NOTE(GROUP_FORBIDDEN, "CPU {cpu}'s group has no CPU in cpus_ptr")
FG_NOTE(GROUP_HAS_SPARE, "CPU {cpu}'s group is group_has_spare: idle_cpus {a}, group_util {b}, group_capacity {c}")
FG_NOTE(GROUP_FULLY_BUSY, "CPU {cpu}'s group is group_fully_busy: avg_load {a}, group_util {b}, group_capacity {c}")
FG_NOTE(GROUP_TOO_SMALL,
	"CPU {cpu}'s group is group_misfit_task: utilization {a}, max_capacity {b}, group_capacity {c}")
FG_NOTE(GROUP_IMBALANCED, "CPU {cpu}'s group is group_imbalanced: nr_running {a}, group_util {b}, group_capacity {c}")
FG_NOTE(GROUP_OVERLOADED, "CPU {cpu}'s group is group_overloaded: avg_load {a}, group_util {b}, group_capacity {c}")
FG_NOTE(GROUP_LOAD, "CPU {cpu}'s group has runnable_load {a}, avg_load {b}, spare capacity {c} on one CPU")
FG_NOTE(GROUP_BEST, "CPU {cpu}'s group is the idlest of the others so far")
FG_NOTE(STAY_ALONE, "local group of CPU {cpu}: no other group has a CPU in cpus_ptr")
FG_NOTE(STAY_TYPE, "local group: CPU {cpu}'s has the busier group_type")
FG_NOTE(STAY_LOAD, "local group: CPU {cpu}'s avg_load {a} is not clearly below the local {b}")
FG_NOTE(STAY_CAPACITY, "local group: CPU {cpu}'s max_capacity {a} does not exceed the local {b}")
FG_NOTE(STAY_NODE, "local group: CPU {cpu}'s node has idle_cpus {c}, this one idle_cpus {a} and nr_running {b}")
FG_NOTE(STAY_QUEUED, "local group: CPU {cpu}'s is not clearly less loaded, runnable_load {a}, avg_load {b}")
FG_NOTE(STAY_IDLE, "local group: CPU {cpu}'s idle_cpus {a} do not exceed the local {b}")
FG_NOTE(STAY_EVEN, "local group: CPU {cpu}'s has the same group_type, which is not compared further")
FG_NOTE(STAY_SPARE,
	"local group of CPU {cpu}: spare capacity {a} on one CPU, elsewhere {b}, half of util_avg {c} is needed")
FG_NOTE(LEAVE_FORBIDDEN, "CPU {cpu}'s group: the local one has no CPU in cpus_ptr")
FG_NOTE(LEAVE_TYPE, "CPU {cpu}'s group: its group_type is less busy than the local one's")
FG_NOTE(LEAVE_LOAD, "CPU {cpu}'s group: avg_load {a}, the local one's is {b}")
FG_NOTE(LEAVE_QUEUED,
	"CPU {cpu}'s group: the local one is not less loaded by a margin, runnable_load {a}, avg_load {b}")
FG_NOTE(LEAVE_CAPACITY, "CPU {cpu}'s group: max_capacity {a}, the local one's is {b}")
FG_NOTE(LEAVE_IDLE, "CPU {cpu}'s group: idle_cpus {a}, the local one's {b}")
FG_NOTE(LEAVE_SPARE, "CPU {cpu}'s group: spare capacity {a} on one CPU, locally {b}, half of util_avg {c} is needed")
FG_NOTE(IDLE_STATE, "CPU {cpu}: idle_stamp {a} ns, idle state {b}, exit_latency {c} us")
FG_NOTE(BREAK_EVEN, "CPU {cpu}'s idle state breaks even at {a} ns, the best one's so far at {b} ns")
FG_NOTE(IDLE_NO_STATE, "CPU {cpu}: idle_stamp {a} ns, no idle state")
FG_NOTE(SCHED_IDLE, "CPU {cpu} has SCHED_IDLE tasks only (sched_idle_cpu)")
FG_NOTE(CPU_LOAD, "CPU {cpu} is busy with cpu_load {a}")

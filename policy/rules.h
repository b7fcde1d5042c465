/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules a placement can end with: FG_RULE(id, name, function, label, text)
 *
 * Outputs show `function: label (name)`, such as `select_idle_sibling: previous CPU (A2)`. function is the kernel's that
 * decides. label says which of its exits this is, in a few words. name is that of the tables of the behaviour
 * specification; files keep it, for programs to read. text is the condition in full, as a clause.
 */
FG_RULE(NONE, "none", "select_task_rq", "no rule", "no rule applied")

/* The entry: spec 3. */
FG_RULE(ONLY_CPU, "only-cpu", "select_task_rq", "only CPU allowed", "affinity allows a single CPU")
FG_RULE(FALLBACK, "fallback", "select_fallback_rq", "first CPU allowed",
	"the chosen CPU is not allowed or not active: first one that is, own node first")
FG_RULE(STAY_PREV, "stay-prev", "select_task_rq_fair", "previous CPU",
	"no domain balances this request: the previous CPU stays")

FG_RULE(CURRENT_CPU, "current-cpu", "select_task_rq_fair", "waker's CPU, WF_CURRENT_CPU",
	"the waker asked for its own CPU")

/* The slow path: spec 5. */
FG_RULE(SLOW_PREV, "slow-prev", "find_idlest_cpu", "previous CPU",
	"no CPU of the domain is allowed: the previous CPU stays")
FG_RULE(FORK_LOCAL, "fork-local", "find_idlest_cpu", "fork, parent's CPU",
	"no group is idler than the parent's: the child starts on the parent's CPU")
FG_RULE(FORK_IDLEST, "fork-idlest", "find_idlest_cpu", "fork, idlest CPU",
	"the child starts on the idlest CPU of the idlest group")
FG_RULE(EXEC_LOCAL, "exec-local", "find_idlest_cpu", "exec, same CPU",
	"no group is idler than the caller's: exec stays")
FG_RULE(EXEC_IDLEST, "exec-idlest", "find_idlest_cpu", "exec, idlest CPU",
	"exec moves to the idlest CPU of the idlest group")
FG_RULE(WAKE_LOCAL, "wake-local", "find_idlest_cpu", "wakeup, waker's CPU",
	"slow wakeup: no group is idler than the waker's")
FG_RULE(WAKE_IDLEST, "wake-idlest", "find_idlest_cpu", "wakeup, idlest CPU",
	"slow wakeup: the idlest CPU of the idlest group")

/* Energy-aware wakeups: spec 7.6. */
FG_RULE(FEEC_SYNC, "F0", "find_energy_efficient_cpu", "waker's CPU, sync",
	"the waker is about to leave its CPU to the task, which fits there")
FG_RULE(FEEC_TRIVIAL, "F1", "find_energy_efficient_cpu", "previous CPU, no utilization",
	"the task's utilization is 0, so the previous CPU keeps it")
FG_RULE(FEEC_NEGATIVE, "F2", "find_energy_efficient_cpu", "previous CPU, negative delta",
	"an energy estimate is below that without the task, so the previous CPU keeps it")
FG_RULE(FEEC_NONE, "F3", "find_energy_efficient_cpu", "previous CPU, none fits",
	"no CPU has room for the task, so the previous one keeps it")
FG_RULE(FEEC_FIT, "F4", "find_energy_efficient_cpu", "best fit",
	"the CPU that fits best, for the previous one does not fit as well")
FG_RULE(FEEC_ENERGY, "F5", "find_energy_efficient_cpu", "best energy", "the CPU where the task costs least energy")
FG_RULE(FEEC_CAP, "F6", "find_energy_efficient_cpu", "closest to uclamp_min",
	"no CPU gives the task's uclamp_min, and this one comes closer than the previous one")
FG_RULE(FEEC_MARGIN, "F7", "find_energy_efficient_cpu", "previous CPU, small saving",
	"another CPU costs less energy, but not by 6 % of all, so the previous one keeps it")
FG_RULE(FEEC_PREV, "F8", "find_energy_efficient_cpu", "previous CPU, best energy",
	"nowhere does the task cost less energy than on the previous CPU")

/* The fast path before mail 000: spec 4.1. */
FG_RULE(B1, "B1", "select_idle_capacity", "scan by capacity, tried first",
	"capacities differ, and this search comes before any known CPU: first idle CPU that fits, else the idle one "
	"that "
	"comes closest, else target")
FG_RULE(B2, "B2", "select_idle_sibling", "target", "target is idle")
FG_RULE(B3, "B3", "select_idle_sibling", "previous CPU", "the previous CPU shares target's cache and is idle")
FG_RULE(B4, "B4", "select_idle_sibling", "per-CPU kthread's CPU", "woken by a per-CPU kthread on the previous CPU")
FG_RULE(B5, "B5", "select_idle_sibling", "recent_used_cpu", "recent_used_cpu shares target's cache and is idle")
FG_RULE(B6, "B6", "select_idle_sibling", "target, no LLC domain", "target has no cache domain to search")
FG_RULE(B7, "B7", "select_idle_core", "idle core", "a core of the LLC with all threads idle")
FG_RULE(B7C, "B7c", "select_idle_cluster", "idle CPU of the cluster",
	"an idle CPU of target's cluster, in mail 004's posted loop")
FG_RULE(B8, "B8", "select_idle_cpu", "idle CPU", "an idle CPU of the LLC")
FG_RULE(B9, "B9", "select_idle_smt", "target's sibling", "an idle thread of target's core")
FG_RULE(B9P, "B9p", "select_idle_smt", "previous CPU's sibling", "an idle thread of the previous CPU's core")
FG_RULE(B10, "B10", "select_idle_sibling", "target, none idle", "no idle CPU found: target")

/* The fast path after mail 000: spec 4.2. */
FG_RULE(A1, "A1", "select_idle_sibling", "target", "target is idle, and fits where capacities differ")
FG_RULE(A2, "A2", "select_idle_sibling", "previous CPU",
	"the previous CPU shares target's cache, is idle, and fits where capacities differ")
FG_RULE(A3, "A3", "select_idle_sibling", "per-CPU kthread's CPU", "woken by a per-CPU kthread on the previous CPU")
FG_RULE(A4, "A4", "select_idle_sibling", "recent_used_cpu",
	"recent_used_cpu shares target's cache, is idle, and fits where capacities differ")
FG_RULE(A5, "A5", "select_idle_capacity", "scan by capacity",
	"capacities differ, and no known CPU is idle and fits: first idle CPU that fits, else the idle one that comes "
	"closest, else target")
FG_RULE(A6, "A6", "select_idle_sibling", "target, no LLC domain", "target has no cache domain to search")
FG_RULE(A7, "A7", "select_idle_core", "idle core", "a core of the LLC with all threads idle")
FG_RULE(A7C, "A7c", "select_idle_cluster", "idle CPU of the cluster",
	"an idle CPU of target's cluster, in mail 004's posted loop")
FG_RULE(A8, "A8", "select_idle_cpu", "idle CPU", "an idle CPU of the LLC")
FG_RULE(A9, "A9", "select_idle_smt", "target's sibling", "an idle thread of target's core")
FG_RULE(A9P, "A9p", "select_idle_smt", "previous CPU's sibling", "an idle thread of the previous CPU's core")
FG_RULE(A10, "A10", "select_idle_sibling", "target, none idle", "no idle CPU found: target")

/* The fast path with clusters as they landed: spec 4.4. */
FG_RULE(C1, "C1", "select_idle_sibling", "target", "target is idle, and fits where capacities differ")
FG_RULE(C2, "C2", "select_idle_sibling", "previous CPU",
	"the previous CPU in target's cluster (else cache) is idle, and fits where capacities differ")
FG_RULE(C3, "C3", "select_idle_sibling", "per-CPU kthread's CPU", "woken by a per-CPU kthread on the previous CPU")
FG_RULE(C4, "C4", "select_idle_sibling", "recent_used_cpu",
	"recent_used_cpu in target's cluster (else cache) is idle, and fits where capacities differ")
FG_RULE(C5, "C5", "select_idle_capacity", "scan by capacity",
	"capacities differ, and no known CPU is idle and fits: first idle CPU that fits, else the idle one that comes "
	"closest, else target")
FG_RULE(C6, "C6", "select_idle_sibling", "target, no LLC domain", "target has no cache domain to search")
FG_RULE(C7, "C7", "select_idle_smt", "previous CPU's sibling", "an idle thread of the previous CPU's core")
FG_RULE(C8I, "C8i", "select_idle_cpu", "idle core", "a core of the LLC with all threads idle")
FG_RULE(C8C, "C8c", "select_idle_cpu", "idle CPU of the cluster", "an idle CPU or an idle core of target's cluster")
FG_RULE(C8, "C8", "select_idle_cpu", "idle CPU", "an idle CPU of the LLC")
FG_RULE(C9, "C9", "select_idle_sibling", "previous CPU, other cluster",
	"no idle CPU found nearer: the previous one, idle in another cluster of the LLC")
FG_RULE(C10, "C10", "select_idle_sibling", "recent_used_cpu, other cluster",
	"no idle CPU found nearer: recent_used_cpu, idle in another cluster of the LLC")
FG_RULE(C11, "C11", "select_idle_sibling", "target, none idle", "no idle CPU found: target")

/* RT tasks. The host places them, not this policy. */
FG_RULE(RT_PREV, "rt-prev", "select_task_rq_rt", "previous CPU",
	"no RT task is in the way on the previous CPU, or there is nowhere better")
FG_RULE(RT_LOWEST, "rt-lowest", "find_lowest_rq", "lowest priority",
	"of the CPUs with the lowest RT priority the previous one, this one, or the nearest")

/* The target of a wakeup, from which the fast path searches: spec 3.4. These do not end a placement. */
FG_RULE(TARGET_IDLE, "T1", "wake_affine_idle", "waker's CPU, idle",
	"the waker's CPU is idle and shares the previous one's cache, and the previous one is busy")
FG_RULE(TARGET_BOTH_IDLE, "T2", "wake_affine_idle", "previous CPU, both idle",
	"the waker's CPU and the previous one are idle and share a cache")
FG_RULE(TARGET_SYNC, "T3", "wake_affine_idle", "waker's CPU, sync", "the waker is alone on its CPU and about to sleep")
FG_RULE(TARGET_PREV_IDLE, "T4", "wake_affine_idle", "previous CPU, idle", "the previous CPU is idle")
FG_RULE(TARGET_WEIGHT_THIS, "T5", "wake_affine_weight", "waker's CPU",
	"with the task the waker's CPU would be less loaded for its capacity")
FG_RULE(TARGET_WEIGHT_PREV, "T6", "wake_affine_weight", "previous CPU",
	"with the task the waker's CPU would not be less loaded for its capacity")

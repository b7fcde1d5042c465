/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a look for imbalance in a domain ends (spec 6.4, 6.6): FG_BALANCE_RULE(id, name, function, label, text), shown as
 * rules of placement are (rules.h). Names of what ends with nothing to move begin with `balanced`; they come first, up
 * to MISFIT.
 */
FG_BALANCE_RULE(NONE, "none", "sched_balance_rq", "no look", "nobody looked")
FG_BALANCE_RULE(NOT_OURS, "balanced-not-ours", "should_we_balance", "another CPU's turn",
		"another CPU balances this domain")
FG_BALANCE_RULE(NO_GROUP, "balanced-no-group", "find_busiest_group", "no busiest group",
		"no other group has a fair task that could be moved")
FG_BALANCE_RULE(EAS, "balanced-eas", "find_busiest_group", "energy-aware, not overutilized",
		"wakeups are energy-aware and nothing is overutilized")
FG_BALANCE_RULE(LOCAL_BUSIER, "balanced-local-busier", "find_busiest_group", "local group type is busier",
		"the local group is of a busier type")
FG_BALANCE_RULE(LOCAL_LOAD, "balanced-local-load", "find_busiest_group", "local avg_load is not lower",
		"the local group carries as much load, or as much as the average")
FG_BALANCE_RULE(IMBALANCE_PCT, "balanced-pct", "find_busiest_group", "below imbalance_pct",
		"the difference in load is below imbalance_pct")
FG_BALANCE_RULE(DST_BUSY, "balanced-dst-busy", "find_busiest_group", "CPU_NOT_IDLE",
		"nothing is overloaded and the CPU is busy")
FG_BALANCE_RULE(IDLE_CPUS, "balanced-idle-cpus", "find_busiest_group", "idle_cpus alike",
		"the local group has hardly more idle CPUs")
FG_BALANCE_RULE(SINGLE, "balanced-single", "find_busiest_group", "one task", "the busiest group has one task")
FG_BALANCE_RULE(NO_AMOUNT, "balanced-no-amount", "calculate_imbalance", "imbalance is 0",
		"the amount to be moved comes out as nothing")
FG_BALANCE_RULE(NO_QUEUE, "balanced-no-queue", "find_busiest_queue", "no busiest queue",
		"no queue of the busiest group can give anything")
FG_BALANCE_RULE(PINNED, "balanced-pinned", "detach_tasks", "LBF_ALL_PINNED", "no task of any queue may run on the CPU")
FG_BALANCE_RULE(MISFIT, "misfit", "find_busiest_group", "group_misfit_task", "a task is too big for its CPU")
FG_BALANCE_RULE(ASYM, "asym-packing", "find_busiest_group", "group_asym_packing",
		"the CPU is preferred to one that has work")
FG_BALANCE_RULE(IMBALANCED, "imbalanced", "find_busiest_group", "group_imbalanced",
		"affinity left the busiest group unbalanced at the level below")
FG_BALANCE_RULE(LOAD, "load", "find_busiest_group", "avg_load", "the busiest group carries clearly more load")
FG_BALANCE_RULE(SIBLING, "sibling", "find_busiest_group", "prefer_sibling", "sibling groups share their tasks evenly")
FG_BALANCE_RULE(SMT, "smt", "find_busiest_group", "group_smt_balance", "an idle core takes work off busy siblings")
FG_BALANCE_RULE(EVEN, "even", "find_busiest_group", "idle_cpus",
		"nothing is overloaded, and the local group has clearly more idle CPUs")
FG_BALANCE_RULE(SPARE, "spare", "find_busiest_group", "group_has_spare",
		"the local group has room for what the busiest has too much of")
FG_BALANCE_RULE(NO_CAPACITY, "no-capacity", "find_busiest_group", "group_no_capacity",
		"the busiest group has no capacity left, the local one has (v5.4)")

/* By the host's stopper, without a look of its own. */
FG_BALANCE_RULE(PUSH, "push", "active_load_balance_cpu_stop", "pushed",
		"the stopper moves a task that could not be pulled")
FG_BALANCE_RULE(LLC, "llc", "find_busiest_group", "group_llc_balance",
		"tasks of the busiest group prefer the cache of the CPU")

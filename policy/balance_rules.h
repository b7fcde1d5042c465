/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a look for imbalance in a domain ends (spec 6.4, 6.6): FG_BALANCE_RULE(id, name, text). Names of what ends with
 * nothing to move begin with `balanced`; they come first, up to MISFIT.
 */
FG_BALANCE_RULE(NONE, "none", "nobody looked")
FG_BALANCE_RULE(NOT_OURS, "balanced-not-ours", "another CPU balances this domain")
FG_BALANCE_RULE(NO_GROUP, "balanced-no-group", "no other group has a fair task that could be moved")
FG_BALANCE_RULE(EAS, "balanced-eas", "wakeups are energy-aware and nothing is overutilized")
FG_BALANCE_RULE(LOCAL_BUSIER, "balanced-local-busier", "the local group is of a busier type")
FG_BALANCE_RULE(LOCAL_LOAD, "balanced-local-load", "the local group carries as much load, or as much as the average")
FG_BALANCE_RULE(IMBALANCE_PCT, "balanced-pct", "the difference in load is below imbalance_pct")
FG_BALANCE_RULE(DST_BUSY, "balanced-dst-busy", "nothing is overloaded and the CPU is busy")
FG_BALANCE_RULE(IDLE_CPUS, "balanced-idle-cpus", "the local group has hardly more idle CPUs")
FG_BALANCE_RULE(SINGLE, "balanced-single", "the busiest group has one task")
FG_BALANCE_RULE(NO_AMOUNT, "balanced-no-amount", "the amount to be moved comes out as nothing")
FG_BALANCE_RULE(NO_QUEUE, "balanced-no-queue", "no queue of the busiest group can give anything")
FG_BALANCE_RULE(PINNED, "balanced-pinned", "no task of any queue may run on the CPU")
FG_BALANCE_RULE(MISFIT, "misfit", "a task is too big for its CPU")
FG_BALANCE_RULE(ASYM, "asym-packing", "the CPU is preferred to one that has work")
FG_BALANCE_RULE(IMBALANCED, "imbalanced", "affinity left the busiest group unbalanced at the level below")
FG_BALANCE_RULE(LOAD, "load", "the busiest group carries clearly more load")
FG_BALANCE_RULE(SIBLING, "sibling", "sibling groups share their tasks evenly")
FG_BALANCE_RULE(SMT, "smt", "an idle core takes work off busy siblings")
FG_BALANCE_RULE(EVEN, "even", "nothing is overloaded, and the local group has clearly more idle CPUs")
FG_BALANCE_RULE(SPARE, "spare", "the local group has room for what the busiest has too much of")
FG_BALANCE_RULE(NO_CAPACITY, "no-capacity", "the busiest group has no capacity left, the local one has (v5.4)")

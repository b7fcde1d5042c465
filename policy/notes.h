/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a placement notes for whoever asks why, as people read it: FG_NOTE(id, text)
 * In a text {cpu} is the note's CPU, {a}, {b} and {c} its numbers. A text is a clause without a full stop: outputs
 * put the rule that was being tried in front of it.
 */

/* Any look at a CPU. */
FG_NOTE(FREE, "CPU {cpu} is free")
FG_NOTE(BUSY, "CPU {cpu} is busy with {a} tasks")
FG_NOTE(FITS, "CPU {cpu} fits: utilization {a} on capacity {b}")
FG_NOTE(TOO_SMALL, "CPU {cpu} is too small: utilization {a} on capacity {b}")
FG_NOTE(FAR, "CPU {cpu} shares no last-level cache with CPU {a}")
FG_NOTE(FORBIDDEN, "CPU {cpu} is not allowed")
FG_NOTE(SAME, "CPU {cpu} was looked at already")

/* The slow path. A group goes by its first CPU; loads are for its capacity. */
FG_NOTE(WALK, "CPU {cpu}'s domain of {a} CPUs is searched")
FG_NOTE(GROUP_FORBIDDEN, "CPU {cpu}'s group has no allowed CPU")
FG_NOTE(GROUP_HAS_SPARE, "CPU {cpu}'s group has spare capacity: {a} idle CPUs, utilization {b} of {c}")
FG_NOTE(GROUP_FULLY_BUSY, "CPU {cpu}'s group is fully busy: load {a}, utilization {b} of {c}")
FG_NOTE(GROUP_TOO_SMALL, "CPU {cpu}'s group is too small: utilization {a} on at most {b} a CPU, {c} in all")
FG_NOTE(GROUP_IMBALANCED, "CPU {cpu}'s group is held up by affinity: {a} tasks, utilization {b} of {c}")
FG_NOTE(GROUP_OVERLOADED, "CPU {cpu}'s group is overloaded: load {a}, utilization {b} of {c}")
FG_NOTE(GROUP_LOAD, "CPU {cpu}'s group has load {a} queued, {b} with blocked load, and {c} to spare on one CPU")
FG_NOTE(GROUP_BEST, "CPU {cpu}'s group is the idlest of the others so far")
FG_NOTE(STAY_ALONE, "it stays in CPU {cpu}'s group: no other one may take it")
FG_NOTE(STAY_TYPE, "it stays: the local group is in a better state than CPU {cpu}'s")
FG_NOTE(STAY_LOAD, "it stays: CPU {cpu}'s group is not clearly less loaded, {a} against {b}")
FG_NOTE(STAY_CAPACITY, "it stays: CPU {cpu}'s group is no bigger, {a} against {b}")
FG_NOTE(STAY_NODE, "it stays: the local node has room beside CPU {cpu}'s, {a} idle CPUs and {b} tasks")
FG_NOTE(STAY_IDLE, "it stays: CPU {cpu}'s group has no more idle CPUs, {a} against {b}")
FG_NOTE(STAY_EVEN, "it stays: groups in the state of CPU {cpu}'s are not compared")
FG_NOTE(STAY_SPARE, "it stays in CPU {cpu}'s group: {a} to spare on one CPU, at most {b} elsewhere, utilization {c}")
FG_NOTE(LEAVE_FORBIDDEN, "CPU {cpu}'s group takes it: the local one has no allowed CPU")
FG_NOTE(LEAVE_TYPE, "CPU {cpu}'s group takes it: it is in a better state than the local one")
FG_NOTE(LEAVE_LOAD, "CPU {cpu}'s group takes it: less loaded, {a} against {b}")
FG_NOTE(LEAVE_CAPACITY, "CPU {cpu}'s group takes it: bigger, {a} against {b}")
FG_NOTE(LEAVE_IDLE, "CPU {cpu}'s group takes it: more idle CPUs, {a} against {b}")
FG_NOTE(LEAVE_SPARE, "CPU {cpu}'s group takes it: {a} to spare on one CPU against {b} locally, utilization {c}")
FG_NOTE(IDLE_STATE, "CPU {cpu} idles since {a} ns in state {b}, exit latency {c} us")
FG_NOTE(IDLE_NO_STATE, "CPU {cpu} idles since {a} ns, no state recorded")
FG_NOTE(SCHED_IDLE, "CPU {cpu} has SCHED_IDLE tasks only")
FG_NOTE(CPU_LOAD, "CPU {cpu} is busy with load {a}")

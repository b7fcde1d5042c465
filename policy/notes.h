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

/* Whether the task comes to its waker. */
FG_NOTE(WIDE, "waker and task changed partners {a} and {b} times, too often for a cache of {c} CPUs")
FG_NOTE(NOT_WIDE, "waker and task changed partners {a} and {b} times, not too often for a cache of {c} CPUs")
FG_NOTE(SYNC, "CPU {cpu} has {a} tasks, and the waker there is about to sleep")
FG_NOTE(WAKER_LOAD, "the waker's load {a} is more than all of CPU {cpu}, {b}")
FG_NOTE(LOAD_THIS, "CPU {cpu} without a waker about to sleep has load {a}, the task adds {b}, capacity {c}")
FG_NOTE(LOAD_PREV, "CPU {cpu} has load {a} with the task in it, capacity {b}, weighed at {c} %")
FG_NOTE(TARGET, "target is CPU {cpu}")

/* The search near target. */
FG_NOTE(KTHREAD, "the waker is a per-CPU kthread on CPU {cpu}, which has {a} tasks")
FG_NOTE(OTHER_CLUSTER, "CPU {cpu} is in another cluster than CPU {a}: kept in case nothing nearer is free")
FG_NOTE(HINT, "the LLC of CPU {cpu} may have an idle core")
FG_NOTE(NO_HINT, "the LLC of CPU {cpu} is known to have no idle core")
FG_NOTE(HINT_WRONG, "the LLC of CPU {cpu} has no idle core after all")
FG_NOTE(IDLE_CORE, "the core of CPU {cpu} is idle")
FG_NOTE(REMEMBERED, "CPU {cpu} is kept in case nothing better is found")
FG_NOTE(ISOLATED, "CPU {cpu} is outside the cache domain")
FG_NOTE(BUDGET, "CPU {cpu} pays for {a} looks: {b} ns to spend at {c} ns a scan")
FG_NOTE(NO_PURSE, "CPU {cpu} has no cache domain that says what a scan costs")
FG_NOTE(IDLE_SCAN, "the last balance left {a} looks for the {b} CPUs of CPU {cpu}'s LLC")
FG_NOTE(SPENT, "the budget is spent before CPU {cpu}")

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why a fair task runs, and why the current one does not: FG_PICK_RULE(id, name, function, label, text), shown as rules of
 * placement are (rules.h). First why a wakeup does not preempt the current task, up to WAKE_DELAYED; then why one does;
 * then why time takes the CPU from the current task; then how a pick ends.
 */
FG_PICK_RULE(NONE, "none", "pick_next_task_fair", "no rule", "nothing was picked or tested")

/* A wakeup does not preempt: spec 9.1, 9.2. */
FG_PICK_RULE(WAKE_PENDING, "wake-pending", "check_preempt_wakeup_fair", "reschedule pending",
	     "the current task is to be rescheduled already: the pick decides")
FG_PICK_RULE(WAKE_THROTTLED, "wake-throttled", "check_preempt_wakeup_fair", "group throttled",
	     "the quota (cpu.max) of the woken task's group, or of one around it, is used up")
FG_PICK_RULE(WAKE_BATCH, "wake-batch", "check_preempt_wakeup_fair", "SCHED_BATCH, SCHED_IDLE",
	     "the woken task is of a policy that waits for the current task's slice to end")
FG_PICK_RULE(WAKE_FORK, "wake-fork", "check_preempt_wakeup_fair", "new or delayed task",
	     "a new task, or one that slept where it was queued, is not tested")
FG_PICK_RULE(WAKE_VRUNTIME, "wake-vruntime", "wakeup_preempt_entity", "not behind by wakeup_gran",
	     "the woken task's vruntime is not smaller than the current one's by the wakeup granularity")
FG_PICK_RULE(WAKE_PROTECTED, "wake-protected", "pick_eevdf", "current task protected",
	     "the current task is eligible and protected until its slice ends (RUN_TO_PARITY)")
FG_PICK_RULE(WAKE_INELIGIBLE, "wake-ineligible", "pick_eevdf", "woken task not eligible",
	     "the woken task has had more than its share")
FG_PICK_RULE(WAKE_DEADLINE, "wake-deadline", "pick_eevdf", "current task's deadline",
	     "the current task is eligible and has the earlier deadline")
FG_PICK_RULE(WAKE_OTHER, "wake-other", "pick_eevdf", "another task's deadline",
	     "another task that is queued and eligible has the earlier deadline")
FG_PICK_RULE(WAKE_BUDDY, "wake-buddy", "pick_next_entity", "another next buddy",
	     "another task is the next buddy and eligible")
FG_PICK_RULE(WAKE_DELAYED, "wake-delayed", "pick_next_entity", "delayed task first",
	     "a sleeper that is still queued comes first: it is dequeued, and the test is made again")

/* A wakeup preempts. */
FG_PICK_RULE(PREEMPT_IDLE, "preempt-idle", "check_preempt_wakeup_fair", "current task SCHED_IDLE",
	     "the current task is SCHED_IDLE, the woken one is not")
FG_PICK_RULE(PREEMPT_VRUNTIME, "preempt-vruntime", "wakeup_preempt_entity", "behind by wakeup_gran",
	     "the woken task's vruntime is smaller than the current one's by the wakeup granularity")
FG_PICK_RULE(PREEMPT_SHORT, "preempt-short", "check_preempt_wakeup_fair", "shorter slice",
	     "the woken task asks for a shorter slice than the current one, whose protection ends with that")
FG_PICK_RULE(PREEMPT_OWED, "preempt-owed", "pick_eevdf", "current task not eligible",
	     "the current task has had more than its share, and of the others the woken one has the earliest deadline")
FG_PICK_RULE(PREEMPT_DEADLINE, "preempt-deadline", "pick_eevdf", "woken task's deadline",
	     "the woken task is eligible and has the earliest deadline; the current one is not protected")
FG_PICK_RULE(PREEMPT_BUDDY, "preempt-buddy", "pick_next_entity", "next buddy",
	     "the woken task is the next buddy and eligible")

/* Time takes the CPU from the current task. */
FG_PICK_RULE(SLICE, "slice", "update_deadline", "slice used up", "the current task has used up its slice")
FG_PICK_RULE(PROTECTION, "protection", "update_curr", "protection ended",
	     "the current task is not protected any more, or lost that and is not eligible")
FG_PICK_RULE(TICK_SLICE, "tick-slice", "check_preempt_tick", "slice used up", "the current task has used up its slice")
FG_PICK_RULE(TICK_AHEAD, "tick-ahead", "check_preempt_tick", "a slice ahead of the leftmost",
	     "the current task's vruntime exceeds the leftmost one's by a slice")
FG_PICK_RULE(QUOTA, "quota", "account_cfs_rq_runtime", "quota used up",
	     "the quota (cpu.max) of the current task's group, or of one around it, is used up")
FG_PICK_RULE(SERVER, "server", "update_curr_dl_se", "deadline server used up",
	     "the deadline server of fair tasks has used up its runtime: RT tasks come first again")

/* How a pick ends: spec 9.1, 9.2. */
FG_PICK_RULE(ONLY, "only", "pick_next_entity", "only task", "no other task is queued")
FG_PICK_RULE(BUDDY, "buddy", "pick_next_entity", "next buddy", "the next buddy is eligible")
FG_PICK_RULE(PROTECTED, "protected", "pick_eevdf", "current task protected",
	     "the current task is eligible and protected until its slice ends (RUN_TO_PARITY)")
FG_PICK_RULE(STAYS, "stays", "pick_eevdf", "current task's deadline",
	     "the current task is eligible, and no other eligible one has an earlier deadline")
FG_PICK_RULE(EARLIEST, "earliest", "pick_eevdf", "earliest deadline",
	     "of the eligible tasks the one with the earliest deadline")
FG_PICK_RULE(OWED, "owed", "pick_eevdf", "earliest deadline, current task not eligible",
	     "the current task has had more than its share: of the eligible ones the one with the earliest deadline")
FG_PICK_RULE(LEFTMOST, "leftmost", "pick_next_entity", "least vruntime", "the task with the least vruntime")
FG_PICK_RULE(CFS_NEXT, "next-buddy", "pick_next_entity", "next buddy",
	     "the next buddy, and the leftmost task is not behind it by the wakeup granularity")
FG_PICK_RULE(CFS_LAST, "last-buddy", "pick_next_entity", "last buddy",
	     "the last buddy, and the leftmost task is not behind it by the wakeup granularity")
FG_PICK_RULE(CFS_SKIP, "skip-buddy", "pick_next_entity", "after the skip buddy",
	     "the leftmost task has yielded: the next one in order")

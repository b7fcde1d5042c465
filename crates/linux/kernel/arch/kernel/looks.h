/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included after the tree's sched.h and before its .c files. cpu_rq() becomes ks_look(), which counts the access as
 * work (a "look", see sim.h); irq_time_read() reads the host's interrupt time.
 */
#ifndef KS_LOOKS_H
#define KS_LOOKS_H

#include "sim.h"

#undef cpu_rq
#define cpu_rq(cpu) ks_look(cpu)

/* Not a look: the walk over a CPU's domains. */
#undef for_each_domain
#define for_each_domain(cpu, at) \
	for (at = rcu_dereference_raw(per_cpu(runqueues, cpu).sd); at; at = at->parent)

/* Not a look: a CPU's nohz flags. */
#undef nohz_flags
#define nohz_flags(cpu) (&per_cpu(runqueues, cpu).nohz_flags)

/* Not a look: the run queue passed to sched_group_cookie_match(). */
#define sched_group_cookie_match(rq, p, group)				\
({									\
	u32 look_ = ks_look_as(KS_NR_WORKS);				\
	bool match_ = sched_group_cookie_match(rq, p, group);		\
									\
	ks_look_as(look_);						\
	match_;								\
})

#ifdef CONFIG_IRQ_TIME_ACCOUNTING
#define irq_time_read(cpu) ks_call(irq_time, cpu)
#endif

/*
 * Where a kernel compiled for it checks whether code may sleep, so do we. Headers of the tree that were included before
 * keep their own.
 */
#ifndef CONFIG_DEBUG_ATOMIC_SLEEP
#undef might_sleep
#define might_sleep() do { ks_may_sleep("might_sleep()"); might_resched(); } while (0)
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the tree's sched.h and its .c files: looks at run queues are counted, interrupt time is the host's. */
#ifndef KS_LOOKS_H
#define KS_LOOKS_H

#include "sim.h"

#undef cpu_rq
#define cpu_rq(cpu) ks_look(cpu)

/* The walk over a CPU's domains is no look at what it has to do. */
#undef for_each_domain
#define for_each_domain(cpu, at) \
	for (at = rcu_dereference_check_sched_domain(per_cpu(runqueues, cpu).sd); at; at = at->parent)

/* Nor are its flags for whoever balances. */
#undef nohz_flags
#define nohz_flags(cpu) (&per_cpu(runqueues, cpu).nohz_flags)

/* Nor is being named as the run queue that a group of CPUs is compared with. */
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

#endif

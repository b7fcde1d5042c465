// SPDX-License-Identifier: GPL-2.0-only
/* select_task_rq() of a scheduling class with wake flags (v5.11) */
#include "../probes/tree.h"

int (*ks_probe(const struct sched_class *class))(struct task_struct *p, int cpu, int flags);
int (*ks_probe(const struct sched_class *class))(struct task_struct *p, int cpu, int flags)
{
	return class->select_task_rq;
}

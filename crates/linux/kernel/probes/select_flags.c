// SPDX-License-Identifier: GPL-2.0-only
/* v5.11: wake flags tell select_task_rq() the kind of placement; trees before it pass a flag of domains as well. */
#include "tree.h"

int (*ks_probe(const struct sched_class *class))(struct task_struct *p, int cpu, int flags);
int (*ks_probe(const struct sched_class *class))(struct task_struct *p, int cpu, int flags)
{
	return class->select_task_rq;
}

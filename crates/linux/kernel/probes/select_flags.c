// SPDX-License-Identifier: GPL-2.0-only
/* v5.11: wake flags tell select_task_rq() the kind of placement; before, an argument more does, a flag of domains. */
#include "tree.h"

int ks_kinds = WF_EXEC | WF_FORK | WF_TTWU;

int (*ks_probe(const struct sched_class *class))(struct task_struct *p, int cpu, int flags);
int (*ks_probe(const struct sched_class *class))(struct task_struct *p, int cpu, int flags)
{
	return class->select_task_rq;
}

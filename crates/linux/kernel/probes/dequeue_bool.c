// SPDX-License-Identifier: GPL-2.0-only
/* v6.12: dequeue_task() returns whether the task was dequeued or its dequeue delayed. */
#include "tree.h"

bool (*ks_probe(const struct sched_class *class))(struct rq *rq, struct task_struct *p, int flags);
bool (*ks_probe(const struct sched_class *class))(struct rq *rq, struct task_struct *p, int flags)
{
	return class->dequeue_task;
}

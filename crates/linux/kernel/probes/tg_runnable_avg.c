// SPDX-License-Identifier: GPL-2.0-only
/* v7.3: a group knows how many tasks it has. */
#include "tree.h"

unsigned long ks_probe(struct task_group *tg, struct cfs_rq *cfs_rq);
unsigned long ks_probe(struct task_group *tg, struct cfs_rq *cfs_rq)
{
	return atomic_long_read(&tg->runnable_avg) + cfs_rq->tg_runnable_avg_contrib;
}

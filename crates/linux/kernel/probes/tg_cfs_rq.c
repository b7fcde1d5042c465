// SPDX-License-Identifier: GPL-2.0-only
/* v7.2: a group's queues are per-CPU memory. */
#include "tree.h"

void *ks_probe(struct task_group *tg);
void *ks_probe(struct task_group *tg)
{
	return tg_cfs_rq(tg, 0) ? tg_se(tg, 0) : NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.12: tasks whose dequeue is delayed are counted. */
#include "tree.h"

unsigned long long ks_probe(struct cfs_rq *cfs_rq);
unsigned long long ks_probe(struct cfs_rq *cfs_rq)
{
	return cfs_rq->h_nr_delayed;
}

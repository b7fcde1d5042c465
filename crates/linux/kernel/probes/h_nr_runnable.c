/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.14: replaces h_nr_delayed; it counts queued less delayed. */
#include "tree.h"

unsigned long long ks_probe(struct cfs_rq *cfs_rq);
unsigned long long ks_probe(struct cfs_rq *cfs_rq)
{
	return cfs_rq->h_nr_runnable;
}

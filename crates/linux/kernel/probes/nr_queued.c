// SPDX-License-Identifier: GPL-2.0-only
/* v6.14: the number of entities of a run queue, renamed. 6.12 stable has h_nr_queued, and nr_running still. */
#include "tree.h"

unsigned int ks_probe(struct cfs_rq *cfs_rq);
unsigned int ks_probe(struct cfs_rq *cfs_rq)
{
	return cfs_rq->nr_queued;
}

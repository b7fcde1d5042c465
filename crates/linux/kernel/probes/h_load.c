/* SPDX-License-Identifier: GPL-2.0-only */
/* With CONFIG_FAIR_GROUP_SCHED: h_load, the load as seen from the root, updated once a jiffy. */
#include "tree.h"

unsigned long long ks_probe(struct cfs_rq *cfs_rq);
unsigned long long ks_probe(struct cfs_rq *cfs_rq)
{
	return cfs_rq->h_load + cfs_rq->last_h_load_update;
}

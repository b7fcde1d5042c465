// SPDX-License-Identifier: GPL-2.0-only
/* v6.19: the new name of avg_vruntime. */
#include "tree.h"

long long ks_probe(struct cfs_rq *cfs_rq);
long long ks_probe(struct cfs_rq *cfs_rq)
{
	return cfs_rq->sum_w_vruntime;
}

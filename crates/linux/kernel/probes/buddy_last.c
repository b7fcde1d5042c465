/* SPDX-License-Identifier: GPL-2.0-only */
/* Up to v6.5: the last and skip buddies. */
#include "tree.h"

unsigned long long ks_probe(struct cfs_rq *cfs_rq);
unsigned long long ks_probe(struct cfs_rq *cfs_rq)
{
	return cfs_rq->last != cfs_rq->skip;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* The next buddy. */
#include "tree.h"

unsigned long long ks_probe(struct cfs_rq *cfs_rq);
unsigned long long ks_probe(struct cfs_rq *cfs_rq)
{
	return cfs_rq->next != NULL;
}

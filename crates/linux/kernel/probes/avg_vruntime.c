/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.6: EEVDF. */
#include "tree.h"

unsigned long long ks_probe(struct cfs_rq *cfs_rq);
unsigned long long ks_probe(struct cfs_rq *cfs_rq)
{
	return (unsigned long long)cfs_rq->avg_vruntime;
}

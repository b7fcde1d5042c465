/* SPDX-License-Identifier: GPL-2.0-only */
/* 6.12 stable, 6.18: avg_vruntime sums up vruntimes relative to this one. */
#include "tree.h"

unsigned long long ks_probe(struct cfs_rq *cfs_rq);
unsigned long long ks_probe(struct cfs_rq *cfs_rq)
{
	return cfs_rq->zero_vruntime;
}

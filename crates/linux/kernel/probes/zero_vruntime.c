/* SPDX-License-Identifier: GPL-2.0-only */
/* 6.12 stable, 6.18: the zero of the virtual times summed up in avg_vruntime. */
#include "tree.h"

unsigned long long ks_probe(struct cfs_rq *cfs_rq);
unsigned long long ks_probe(struct cfs_rq *cfs_rq)
{
	return cfs_rq->zero_vruntime;
}

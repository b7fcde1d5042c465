// SPDX-License-Identifier: GPL-2.0-only
/* v7.1: the sum of vruntimes has weights of full precision. */
#include "tree.h"

unsigned int ks_probe(struct cfs_rq *cfs_rq);
unsigned int ks_probe(struct cfs_rq *cfs_rq)
{
	return cfs_rq->sum_shift;
}

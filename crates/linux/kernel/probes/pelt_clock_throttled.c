// SPDX-License-Identifier: GPL-2.0-only
/* v6.18: the signals of a throttled queue stand only while nothing is queued. */
#include "tree.h"

u32 ks_probe(const struct cfs_rq *cfs_rq);
u32 ks_probe(const struct cfs_rq *cfs_rq)
{
	return cfs_rq->pelt_clock_throttled;
}

// SPDX-License-Identifier: GPL-2.0-only
/* v6.0: how long the signals of a queue have stood in all, as of when it became empty. */
#include "tree.h"

u64 ks_probe(const struct cfs_rq *cfs_rq);
u64 ks_probe(const struct cfs_rq *cfs_rq)
{
	return cfs_rq->throttled_pelt_idle + cfs_rq->throttled_clock_pelt + cfs_rq->throttled_clock_pelt_time;
}

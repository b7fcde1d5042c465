/* SPDX-License-Identifier: GPL-2.0-only */
/* v5.14 to v6.6: the idle time that the scans of wakeups may use up. */
#include "tree.h"

unsigned long long ks_probe(struct rq *rq);
unsigned long long ks_probe(struct rq *rq)
{
	return rq->wake_avg_idle + rq->wake_stamp;
}

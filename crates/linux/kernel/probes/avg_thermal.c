/* SPDX-License-Identifier: GPL-2.0-only */
/* v5.7 to v6.9. */
#include "tree.h"

unsigned long long ks_probe(struct rq *rq);
unsigned long long ks_probe(struct rq *rq)
{
	return rq->avg_thermal.load_avg;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.0. */
#include "tree.h"

unsigned long long ks_probe(struct rq *rq);
unsigned long long ks_probe(struct rq *rq)
{
	return rq->clock_idle + rq->clock_pelt_idle;
}

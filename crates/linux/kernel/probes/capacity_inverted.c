/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.2 only. */
#include "tree.h"

unsigned long long ks_probe(struct rq *rq);
unsigned long long ks_probe(struct rq *rq)
{
	return rq->cpu_capacity_inverted;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* rq->avg_irq: trees with interrupt time accounting. */
#include "tree.h"

unsigned long long ks_probe(struct rq *rq);
unsigned long long ks_probe(struct rq *rq)
{
	return rq->avg_irq.util_avg;
}

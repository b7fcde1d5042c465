/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.10: the new name of avg_thermal. */
#include "tree.h"

unsigned long long ks_probe(struct rq *rq);
unsigned long long ks_probe(struct rq *rq)
{
	return rq->avg_hw.load_avg;
}

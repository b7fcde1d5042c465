/* SPDX-License-Identifier: GPL-2.0-only */
/* v5.8. */
#include "tree.h"

unsigned long long ks_probe(struct rq *rq);
unsigned long long ks_probe(struct rq *rq)
{
	return rq->ttwu_pending;
}

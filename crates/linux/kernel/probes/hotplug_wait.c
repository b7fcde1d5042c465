// SPDX-License-Identifier: GPL-2.0-only
/* v5.11: a CPU that goes offline pushes its tasks away one by one (balance_push). */
#include "tree.h"

void *ks_probe(struct rq *rq);
void *ks_probe(struct rq *rq)
{
	return &rq->hotplug_wait;
}

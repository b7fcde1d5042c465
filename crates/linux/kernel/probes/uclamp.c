/* SPDX-License-Identifier: GPL-2.0-only */
/* With CONFIG_UCLAMP_TASK. */
#include "tree.h"

unsigned long long ks_probe(struct rq *rq);
unsigned long long ks_probe(struct rq *rq)
{
	return rq->uclamp[UCLAMP_MIN].value + rq->uclamp_flags;
}

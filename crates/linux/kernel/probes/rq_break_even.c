/* SPDX-License-Identifier: GPL-2.0-only */
/* Mail 001: when the idle state of a CPU breaks even. */
#include "tree.h"

unsigned long long ks_probe(struct rq *rq);
unsigned long long ks_probe(struct rq *rq)
{
	return rq->break_even;
}

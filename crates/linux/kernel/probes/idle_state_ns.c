/* SPDX-License-Identifier: GPL-2.0-only */
/* v5.5: times of idle states in ns. */
#include "tree.h"

unsigned long long ks_probe(struct rq *rq);
unsigned long long ks_probe(struct rq *rq)
{
	return rq->idle_state->exit_latency_ns + rq->idle_state->target_residency_ns;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.6: EEVDF. */
#include "tree.h"

unsigned long long ks_probe(struct sched_entity *se);
unsigned long long ks_probe(struct sched_entity *se)
{
	return se->deadline + (unsigned long long)se->vlag + se->slice;
}

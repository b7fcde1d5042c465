// SPDX-License-Identifier: GPL-2.0-only
/* v6.17: the vruntime up to which the current entity is protected. */
#include "tree.h"

unsigned long long ks_probe(struct sched_entity *se);
unsigned long long ks_probe(struct sched_entity *se)
{
	return se->vprot;
}

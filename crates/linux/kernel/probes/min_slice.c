// SPDX-License-Identifier: GPL-2.0-only
/* v6.12: the shortest slice of an entity and those below it in the tree. */
#include "tree.h"

unsigned long long ks_probe(struct sched_entity *se);
unsigned long long ks_probe(struct sched_entity *se)
{
	return se->min_slice;
}

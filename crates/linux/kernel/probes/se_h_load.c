// SPDX-License-Identifier: GPL-2.0-only
/* v7.3: tasks of all groups compete in one tree, each by its part of the CPU. */
#include "tree.h"

unsigned long ks_probe(struct sched_entity *se);
unsigned long ks_probe(struct sched_entity *se)
{
	return se->h_load.weight;
}

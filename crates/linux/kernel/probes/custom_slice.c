/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.12: a task can request a slice. */
#include "tree.h"

unsigned long long ks_probe(struct sched_entity *se);
unsigned long long ks_probe(struct sched_entity *se)
{
	return se->custom_slice;
}

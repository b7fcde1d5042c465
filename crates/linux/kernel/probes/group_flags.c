/* SPDX-License-Identifier: GPL-2.0-only */
/* v5.15. */
#include "tree.h"

unsigned long long ks_probe(struct sched_group *sg);
unsigned long long ks_probe(struct sched_group *sg)
{
	return sg->flags;
}

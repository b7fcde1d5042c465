// SPDX-License-Identifier: GPL-2.0-only
/* v6.8: check_preempt_curr() of a class has this name. */
#include "tree.h"

void *ks_probe(struct sched_class *class);

void *ks_probe(struct sched_class *class)
{
	return &class->wakeup_preempt;
}

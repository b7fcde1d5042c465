// SPDX-License-Identifier: GPL-2.0-only
/* v6.0: a function tells whether capacities differ; before, only its static key is there. */
#include "tree.h"

bool ks_probe(void);
bool ks_probe(void)
{
	return sched_asym_cpucap_active();
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.8: schedutil tells the minimum of a request from its headroom, and remembers the minimum. */
#include "tree.h"

unsigned long ks_probe(void);
unsigned long ks_probe(void)
{
	return sugov_effective_cpu_perf(0, 0, 0, 0);
}

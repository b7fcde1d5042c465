/* SPDX-License-Identifier: GPL-2.0-only */
/* Up to v6.6. */
#include "tree.h"

unsigned long long ks_probe(struct root_domain *rd);
unsigned long long ks_probe(struct root_domain *rd)
{
	return rd->max_cpu_capacity;
}

// SPDX-License-Identifier: GPL-2.0-only
/* v5.14: what is left of a quota may be used later. */
#include "tree.h"

u64 ks_probe(const struct cfs_bandwidth *b);
u64 ks_probe(const struct cfs_bandwidth *b)
{
	return b->burst;
}

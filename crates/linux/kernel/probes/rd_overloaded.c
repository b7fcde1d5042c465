/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.10: the new name of overload. */
#include "tree.h"

unsigned long long ks_probe(struct root_domain *rd);
unsigned long long ks_probe(struct root_domain *rd)
{
	return rd->overloaded;
}

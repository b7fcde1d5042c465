// SPDX-License-Identifier: GPL-2.0-only
/* v5.9: em_dev_register_perf_domain() registers an energy model for a device. */
#include "tree.h"
#include <linux/energy_model.h>

unsigned long ks_probe(struct em_perf_domain *em);
unsigned long ks_probe(struct em_perf_domain *em)
{
	return em->nr_perf_states + sizeof(&em_dev_register_perf_domain);
}

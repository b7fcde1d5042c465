// SPDX-License-Identifier: GPL-2.0-only
/* v5.11: who registers an energy model tells whether its powers have a unit. */
#include "tree.h"
#include <linux/energy_model.h>

int ks_probe(struct device *dev, struct em_data_callback *callback, cpumask_t *cpus);
int ks_probe(struct device *dev, struct em_data_callback *callback, cpumask_t *cpus)
{
	return em_dev_register_perf_domain(dev, 1, callback, cpus, true);
}

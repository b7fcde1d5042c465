// SPDX-License-Identifier: GPL-2.0-only
/* v5.18: em_dev_register_perf_domain() takes powers in microwatts; its callback's first argument is the device. */
#include "tree.h"
#include <linux/energy_model.h>

static int power(struct device *dev, unsigned long *uw, unsigned long *khz)
{
	return 0;
}

int ks_probe(struct device *dev, cpumask_t *cpus);
int ks_probe(struct device *dev, cpumask_t *cpus)
{
	struct em_data_callback callback = EM_DATA_CB(power);
	int (*check)(struct device *, unsigned long *, unsigned long *) = callback.active_power;

	return check ? em_dev_register_perf_domain(dev, 1, &callback, cpus, true) : 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* v5.18: the device is the first argument of an energy model's callback. */
#include "tree.h"
#include <linux/energy_model.h>

int (*ks_probe(struct em_data_callback *callback))(struct device *dev, unsigned long *power, unsigned long *khz);
int (*ks_probe(struct em_data_callback *callback))(struct device *dev, unsigned long *power, unsigned long *khz)
{
	return callback->active_power;
}

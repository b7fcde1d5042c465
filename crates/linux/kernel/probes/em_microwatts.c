// SPDX-License-Identifier: GPL-2.0-only
/* v6.0: powers of an energy model are in microwatts, before in milliwatts. */
#include "tree.h"
#include <linux/energy_model.h>

int ks_probe = EM_PERF_DOMAIN_MICROWATTS;

// SPDX-License-Identifier: GPL-2.0-only
/* v5.12: what newly idle balancing leaves to the idle task. */
#include "tree.h"

void (*ks_probe)(int cpu) = nohz_run_idle_balance;

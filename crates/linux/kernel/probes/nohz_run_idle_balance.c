// SPDX-License-Identifier: GPL-2.0-only
/* v5.12: the idle task runs what newidle balancing left to it. */
#include "tree.h"

void (*ks_probe)(int cpu) = nohz_run_idle_balance;

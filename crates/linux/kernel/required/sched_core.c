// SPDX-License-Identifier: GPL-2.0-only
/* the scheduler core: kernel/sched/core.c with default_wake_function() */
#include "../probes/tree.h"

int (*ks_probe)(struct wait_queue_entry *wait, unsigned int mode, int flags, void *key) = default_wake_function;

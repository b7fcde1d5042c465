// SPDX-License-Identifier: GPL-2.0-only
/* v6.10: the new name of scheduler_tick(). */
#include <linux/sched.h>

void (*ks_probe)(void) = sched_tick;

// SPDX-License-Identifier: GPL-2.0-only
/* The tree's fair.c, unchanged, and code that needs its private types. */
#include "looks.h"
#include "hooked.h"
#include "pick_hook.h"
#include "balance_hook.h"
#include "target_hook.h"

/* Without CONFIG_HOTPLUG_SMT linux/cpu_smt.h says 1 whatever the machine is. */
#if __has_include(<linux/cpu_smt.h>)
#include <linux/cpu_smt.h>
#undef cpu_smt_num_threads
#define cpu_smt_num_threads ks_smt_threads
extern unsigned int ks_smt_threads;
#endif

#define available_idle_cpu(cpu) (ks_count_probe(cpu), available_idle_cpu(cpu))
/* Up to v6.19, nohz.has_blocked_load has this name. */
#define has_blocked has_blocked_load

#include "../../../kernel/sched/fair.c"
#include "read.c"
#include "balance_hook.c"
#include "pick_hook.c"
#include "target_hook.c"

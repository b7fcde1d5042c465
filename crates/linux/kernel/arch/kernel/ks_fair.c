// SPDX-License-Identifier: GPL-2.0-only
/* The tree's fair.c, unchanged, and code that needs its private types. */
#include "looks.h"
#include "hooked.h"
#include "pick_hook.h"
#include "balance_hook.h"

#define available_idle_cpu(cpu) (ks_count_probe(cpu), available_idle_cpu(cpu))

#include "../../../kernel/sched/fair.c"
#include "read.c"
#include "balance_hook.c"
#include "pick_hook.c"

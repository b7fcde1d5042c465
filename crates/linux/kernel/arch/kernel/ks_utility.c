// SPDX-License-Identifier: GPL-2.0-only
/* The tree's build_utility.c, unchanged, and code that needs its private types. */
#include "sim.h"
#include "../../../kernel/sched/build_utility.c"
#include "governor.c"

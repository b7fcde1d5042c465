// SPDX-License-Identifier: GPL-2.0-only
/* The tree's build_utility.c, unchanged, and what has to see its private types. */
#include "sim.h"
#include "../../../kernel/sched/build_utility.c"
#include "governor.c"

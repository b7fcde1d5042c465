// SPDX-License-Identifier: GPL-2.0-only
/* The tree's build_utility.c, unchanged. */
#include "sim.h"
#include "../../../kernel/sched/build_utility.c"

// SPDX-License-Identifier: GPL-2.0-only
/* The tree's build_utility.c, unchanged, and code that needs its private types. */
#include "sim.h"
#if __has_include("../../../kernel/sched/build_utility.c")
#include "../../../kernel/sched/build_utility.c"
#else
#include "old_utility.h"
#endif
#include "governor.c"

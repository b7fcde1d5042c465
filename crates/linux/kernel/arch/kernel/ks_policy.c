// SPDX-License-Identifier: GPL-2.0-only
/* The tree's build_policy.c, unchanged, and the hooks of PELT. */
#include "looks.h"
#include "pelt_hook.h"
#include "../../../kernel/sched/build_policy.c"
#include "pelt_hook.c"

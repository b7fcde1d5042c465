// SPDX-License-Identifier: GPL-2.0-only
/* The tree's build_policy.c, unchanged. */
#include "looks.h"
#if __has_include("pelt_hook.h")
#include "pelt_hook.h"
#endif
#include "../../../kernel/sched/build_policy.c"
#if __has_include("pelt_hook.h")
#include "pelt_hook.c"
#endif

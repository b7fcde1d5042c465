// SPDX-License-Identifier: GPL-2.0-only
/* The tree's build_policy.c, unchanged, and the hooks of PELT. */
#include "looks.h"
#include "pelt_hook.h"
#if __has_include("../../../kernel/sched/build_policy.c")
#include "../../../kernel/sched/build_policy.c"
#else
/* Before v5.18 each of its parts is an object of its own, and headers have no guards. */
#import "../../../kernel/sched/pelt.h"
#include "../../../kernel/sched/idle.c"
#include "../../../kernel/sched/rt.c"
#include "../../../kernel/sched/cpudeadline.c"
#include "../../../kernel/sched/pelt.c"
#include "../../../kernel/sched/cputime.c"
#include "../../../kernel/sched/deadline.c"
#endif
#include "pelt_hook.c"

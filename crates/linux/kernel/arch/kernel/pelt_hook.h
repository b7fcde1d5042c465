/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included before the tree's build_policy.c: redirects the two steps of every PELT update to hooks (see hooked.h),
 * which report to the host's observer.
 */
#ifndef KS_PELT_HOOK_H
#define KS_PELT_HOOK_H

#include <linux/types.h>
#include "hooked.h"

struct sched_avg;

static noinline int hook____update_load_sum(const char *caller, u64 now, struct sched_avg *sa, unsigned long load,
					    unsigned long runnable, int running);
static noinline void hook____update_load_avg(const char *caller, struct sched_avg *sa, unsigned long weight);
static int tree____update_load_sum(u64 now, struct sched_avg *sa, unsigned long load, unsigned long runnable,
				   int running);
static void tree____update_load_avg(struct sched_avg *sa, unsigned long weight);

#define ___update_load_sum(a, ...) KS_HOOKED(KS_TYPE_##a, ___update_load_sum)(a, __VA_ARGS__)
/* Calls pass &avg, which starts with "&" and cannot be pasted to KS_TYPE_; the weight can. */
#define ___update_load_avg(a, b) KS_HOOKED(KS_TYPE_##b, ___update_load_avg)(a, b)

#endif

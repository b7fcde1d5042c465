/* SPDX-License-Identifier: GPL-2.0-only */
/* Included before the tree's fair.c: redirects the choice of a wakeup's target to a hook that reports it, see hooked.h. */
#ifndef KS_TARGET_HOOK_H
#define KS_TARGET_HOOK_H

#include "hooked.h"

struct sched_domain;
struct task_struct;

#define wake_affine(a, ...) KS_HOOKED(KS_TYPE_##a, wake_affine)(a, __VA_ARGS__)
static noinline int hook_wake_affine(const char *caller, struct sched_domain *sd, struct task_struct *p, int this_cpu,
				     int prev_cpu, int sync);
static int tree_wake_affine(struct sched_domain *sd, struct task_struct *p, int this_cpu, int prev_cpu, int sync);

#endif

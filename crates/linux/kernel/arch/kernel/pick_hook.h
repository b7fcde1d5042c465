/* SPDX-License-Identifier: GPL-2.0-only */
/* Included before the tree's fair.c: redirects picks of the next entity to a hook that reports them, see hooked.h. */
#ifndef KS_PICK_HOOK_H
#define KS_PICK_HOOK_H

#include "hooked.h"

struct cfs_rq;
struct sched_entity;

#ifdef KS_HAS_SE_DEADLINE
static noinline struct sched_entity *hook_pick_eevdf(const char *caller, struct cfs_rq *cfs_rq);
static struct sched_entity *tree_pick_eevdf(struct cfs_rq *cfs_rq);
#define pick_eevdf(a, ...) KS_HOOKED(KS_TYPE_##a, pick_eevdf)(a, ##__VA_ARGS__)
#else
static noinline struct sched_entity *hook_pick_next_entity(const char *caller, struct cfs_rq *cfs_rq,
							   struct sched_entity *curr);
static struct sched_entity *tree_pick_next_entity(struct cfs_rq *cfs_rq, struct sched_entity *curr);
#define pick_next_entity(a, ...) KS_HOOKED(KS_TYPE_##a, pick_next_entity)(a, ##__VA_ARGS__)
#endif

#endif

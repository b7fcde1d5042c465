/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included before the tree's fair.c: redirects picks of the next entity, and what makes an entity the current one, to
 * hooks that report them, see hooked.h.
 */
#ifndef KS_PICK_HOOK_H
#define KS_PICK_HOOK_H

#include "hooked.h"

struct cfs_rq;
struct sched_entity;

/* From v7.0 to v7.2 set_next_entity() has a third argument. */
#define KS_2_OR_3(a, b, c, n, ...) n
#define KS_SET_NEXT(n, a, ...) KS_HOOKED(KS_TYPE_##a, set_next_entity_##n)(a, __VA_ARGS__)
#define KS_SET_NEXT_(n, ...) KS_SET_NEXT(n, __VA_ARGS__)
#define set_next_entity(...) KS_SET_NEXT_(KS_2_OR_3(__VA_ARGS__, 3, 2), __VA_ARGS__)
static noinline void hook_set_next_entity_2(const char *caller, struct cfs_rq *cfs_rq, struct sched_entity *se);
static noinline void hook_set_next_entity_3(const char *caller, struct cfs_rq *cfs_rq, struct sched_entity *se,
					    bool first);
static void tree_set_next_entity_2(struct cfs_rq *cfs_rq, struct sched_entity *se);
static void tree_set_next_entity_3(struct cfs_rq *cfs_rq, struct sched_entity *se, bool first);

#ifdef KS_HAS_SE_DEADLINE
/*
 * Before v6.17 pick_eevdf() takes a run queue. From v6.17 on __pick_eevdf() takes also whether protection of the current
 * entity counts; v7.0 renames it to pick_eevdf(). So a hook exists for each number of arguments.
 */
#define pick_eevdf(...) KS_PICK(pick_eevdf, __VA_ARGS__)
#define __pick_eevdf(...) KS_PICK(__pick_eevdf, __VA_ARGS__)
#define KS_PICK(f, ...) KS_PICK_ARGUMENTS(__VA_ARGS__, 2, 1)(f, __VA_ARGS__)
#define KS_PICK_ARGUMENTS(a, b, n, ...) KS_PICK_##n
#define KS_PICK_1(f, a) KS_HOOKED(KS_TYPE_##a, f##_1)(a)
#define KS_PICK_2(f, a, b) KS_HOOKED(KS_TYPE_##a, f##_2)(a, b)
static noinline struct sched_entity *hook_pick_eevdf_1(const char *caller, struct cfs_rq *cfs_rq);
static noinline struct sched_entity *hook_pick_eevdf_2(const char *caller, struct cfs_rq *cfs_rq, bool protect);
static noinline struct sched_entity *hook___pick_eevdf_2(const char *caller, struct cfs_rq *cfs_rq, bool protect);
static struct sched_entity *tree_pick_eevdf_1(struct cfs_rq *cfs_rq);
static struct sched_entity *tree_pick_eevdf_2(struct cfs_rq *cfs_rq, bool protect);
static struct sched_entity *tree___pick_eevdf_2(struct cfs_rq *cfs_rq, bool protect);

#ifndef KS_HAS_SE_H_LOAD
/*
 * Up to v7.1 pick_next_entity() may take the next buddy before it asks pick_eevdf(). Up to v6.8 it has one argument, from
 * v7.2 on three, and pick_eevdf() takes the buddy.
 */
struct rq;
#define pick_next_entity(...) KS_NEXT_ARGUMENTS(__VA_ARGS__, 3, 2, 1)(__VA_ARGS__)
#define KS_NEXT_ARGUMENTS(a, b, c, n, ...) KS_NEXT_##n
#define KS_NEXT_1(a) KS_HOOKED(KS_TYPE_##a, pick_next_entity_1)(a)
#define KS_NEXT_2(a, b) KS_HOOKED(KS_TYPE_##a, pick_next_entity_2)(a, b)
#define KS_NEXT_3(...) pick_next_entity(__VA_ARGS__)
static noinline struct sched_entity *hook_pick_next_entity_1(const char *caller, struct cfs_rq *cfs_rq);
static noinline struct sched_entity *hook_pick_next_entity_2(const char *caller, struct rq *rq, struct cfs_rq *cfs_rq);
static struct sched_entity *tree_pick_next_entity_1(struct cfs_rq *cfs_rq);
static struct sched_entity *tree_pick_next_entity_2(struct rq *rq, struct cfs_rq *cfs_rq);
#endif
#else
static noinline struct sched_entity *hook_pick_next_entity(const char *caller, struct cfs_rq *cfs_rq,
							   struct sched_entity *curr);
static struct sched_entity *tree_pick_next_entity(struct cfs_rq *cfs_rq, struct sched_entity *curr);
#define pick_next_entity(a, ...) KS_HOOKED(KS_TYPE_##a, pick_next_entity)(a, ##__VA_ARGS__)
#endif

#endif

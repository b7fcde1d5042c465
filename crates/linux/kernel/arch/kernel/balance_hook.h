/* SPDX-License-Identifier: GPL-2.0-only */
/* Before the tree's fair.c: passes of load balancing over a domain are shown, and have their cause; see hooked.h. */
#ifndef KS_BALANCE_HOOK_H
#define KS_BALANCE_HOOK_H

#include "hooked.h"

#define KS_TYPE_int ~, KS_DEFINITION,

/* Whatever the tree calls them. */
#define load_balance(a, ...) KS_HOOKED(KS_TYPE_##a, balance_rq)(a, __VA_ARGS__)
#define sched_balance_rq(a, ...) KS_HOOKED(KS_TYPE_##a, balance_rq)(a, __VA_ARGS__)
#define newidle_balance(a, ...) KS_HOOKED(KS_TYPE_##a, balance_newidle)(a, __VA_ARGS__)
#define sched_balance_newidle(a, ...) KS_HOOKED(KS_TYPE_##a, balance_newidle)(a, __VA_ARGS__)

struct rq;
struct rq_flags;
struct sched_domain;
enum cpu_idle_type;

static noinline int hook_balance_rq(const char *caller, int cpu, struct rq *rq, struct sched_domain *sd,
				    enum cpu_idle_type idle, int *continue_balancing);
static noinline int hook_balance_newidle(const char *caller, struct rq *rq, struct rq_flags *rf);
static int tree_balance_rq(int cpu, struct rq *rq, struct sched_domain *sd, enum cpu_idle_type idle,
			   int *continue_balancing);
static int tree_balance_newidle(struct rq *rq, struct rq_flags *rf);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* Before the tree's fair.c: passes of load balancing over a domain are shown, and have their cause; see hooked.h. */
#ifndef KS_BALANCE_HOOK_H
#define KS_BALANCE_HOOK_H

#include <linux/stop_machine.h>
#include "hooked.h"

#define KS_TYPE_int ~, KS_DEFINITION,

/* Whatever the tree calls them. */
#define load_balance(a, ...) KS_HOOKED(KS_TYPE_##a, balance_rq)(a, __VA_ARGS__)
#define sched_balance_rq(a, ...) KS_HOOKED(KS_TYPE_##a, balance_rq)(a, __VA_ARGS__)
#define newidle_balance(a, ...) KS_HOOKED(KS_TYPE_##a, balance_newidle)(a, __VA_ARGS__)
#define sched_balance_newidle(a, ...) KS_HOOKED(KS_TYPE_##a, balance_newidle)(a, __VA_ARGS__)
/* A call names its environment by the address, which is no token to tell a type by; the second argument is. */
#define find_busiest_queue(a, b) KS_HOOKED(KS_TYPE_##b, find_src_rq)(a, b)
#define sched_balance_find_src_rq(a, b) KS_HOOKED(KS_TYPE_##b, find_src_rq)(a, b)
#define detach_task(a, b) KS_HOOKED(KS_TYPE_##a, detach_task)(a, b)
/* What the stopper is to do is handed over, not called, so it is taken there; any other function stays what it is. */
#define stop_one_cpu_nowait(cpu, fn, arg, work) stop_one_cpu_nowait(cpu, KS_STOPPER_RUNS(#fn, fn), arg, work)
#define KS_STOPPER_RUNS(name, fn) (__builtin_strcmp(name, "active_load_balance_cpu_stop") ? (fn) : hook_push(fn))

struct lb_env;
struct rq;
struct rq_flags;
struct sched_domain;
struct sched_group;
struct task_struct;
enum cpu_idle_type;

static noinline int hook_balance_rq(const char *caller, int cpu, struct rq *rq, struct sched_domain *sd,
				    enum cpu_idle_type idle, int *continue_balancing);
static noinline int hook_balance_newidle(const char *caller, struct rq *rq, struct rq_flags *rf);
static noinline struct rq *hook_find_src_rq(const char *caller, struct lb_env *env, struct sched_group *group);
static noinline void hook_detach_task(const char *caller, struct task_struct *p, struct lb_env *env);
static noinline cpu_stop_fn_t hook_push(cpu_stop_fn_t fn);
static int tree_balance_rq(int cpu, struct rq *rq, struct sched_domain *sd, enum cpu_idle_type idle,
			   int *continue_balancing);
static int tree_balance_newidle(struct rq *rq, struct rq_flags *rf);
static struct rq *tree_find_src_rq(struct lb_env *env, struct sched_group *group);
static void tree_detach_task(struct task_struct *p, struct lb_env *env);

#endif

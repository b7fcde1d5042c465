/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included before the tree's fair.c: redirects its load balancing functions to hooks (see hooked.h), which report to
 * the host's observer. The newidle hook also sets ks_cause.
 */
#ifndef KS_BALANCE_HOOK_H
#define KS_BALANCE_HOOK_H

#include <linux/stop_machine.h>
#include "hooked.h"

/* Older and newer names of the same functions. */
#define load_balance(a, ...) KS_HOOKED(KS_TYPE_##a, balance_rq)(a, __VA_ARGS__)
#define sched_balance_rq(a, ...) KS_HOOKED(KS_TYPE_##a, balance_rq)(a, __VA_ARGS__)
#define newidle_balance(a, ...) KS_HOOKED(KS_TYPE_##a, balance_newidle)(a, __VA_ARGS__)
#define sched_balance_newidle(a, ...) KS_HOOKED(KS_TYPE_##a, balance_newidle)(a, __VA_ARGS__)
#define rebalance_domains(a, ...) KS_HOOKED(KS_TYPE_##a, balance_domains)(a, __VA_ARGS__)
#define sched_balance_domains(a, ...) KS_HOOKED(KS_TYPE_##a, balance_domains)(a, __VA_ARGS__)
/* Calls pass &env, which starts with "&" and cannot be pasted to KS_TYPE_; the second argument can. */
#define find_busiest_queue(a, b) KS_HOOKED(KS_TYPE_##b, find_src_rq)(a, b)
#define sched_balance_find_src_rq(a, b) KS_HOOKED(KS_TYPE_##b, find_src_rq)(a, b)
#define detach_task(a, b) KS_HOOKED(KS_TYPE_##a, detach_task)(a, b)
/*
 * fair.c does not call the functions of active balancing but passes them to stop_one_cpu_nowait(), which it uses for
 * nothing else. hook_push() replaces them there.
 */
#define stop_one_cpu_nowait(cpu, fn, arg, work)				\
do {									\
	int cpu_ = (cpu);						\
									\
	stop_one_cpu_nowait(cpu_, hook_push(cpu_, fn), arg, work);	\
} while (0)

struct lb_env;
struct rq;
struct rq_flags;
struct sched_domain;
struct sched_group;
struct task_struct;
enum cpu_idle_type;

static noinline int hook_balance_rq(const char *caller, int cpu, struct rq *rq, struct sched_domain *sd,
				    enum cpu_idle_type idle, int *continue_balancing);
static noinline void hook_balance_domains(const char *caller, struct rq *rq, enum cpu_idle_type idle);
static noinline int hook_balance_newidle(const char *caller, struct rq *rq, struct rq_flags *rf);
static noinline struct rq *hook_find_src_rq(const char *caller, struct lb_env *env, struct sched_group *group);
static noinline void hook_detach_task(const char *caller, struct task_struct *p, struct lb_env *env);
static noinline cpu_stop_fn_t hook_push(int cpu, cpu_stop_fn_t fn);
static bool pushes_for_llc(int cpu);
static int tree_balance_rq(int cpu, struct rq *rq, struct sched_domain *sd, enum cpu_idle_type idle,
			   int *continue_balancing);
static void tree_balance_domains(struct rq *rq, enum cpu_idle_type idle);
static int tree_balance_newidle(struct rq *rq, struct rq_flags *rf);
static struct rq *tree_find_src_rq(struct lb_env *env, struct sched_group *group);
static void tree_detach_task(struct task_struct *p, struct lb_env *env);

#endif

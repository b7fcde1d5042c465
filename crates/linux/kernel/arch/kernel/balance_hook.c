// SPDX-License-Identifier: GPL-2.0-only
/* Observes load balancing. Included after the tree's fair.c, see balance_hook.h. */

static u32 fg_kind(enum cpu_idle_type idle)
{
	return idle == CPU_NEWLY_IDLE ? FG_CPU_NEWLY_IDLE : idle == CPU_IDLE ? FG_CPU_IDLE : FG_CPU_NOT_IDLE;
}

static int hook_balance_rq(const char *caller, int cpu, struct rq *rq, struct sched_domain *sd,
			   enum cpu_idle_type idle, int *continue_balancing)
{
	struct ks_balance pass = {
		.cpu = cpu,
		.kind = fg_kind(idle),
	};
	int moved;

	if (ks_host->balancing || ks_host->balanced)
		pass.domain = domain_number(cpu, sd);
	ks_show_if(balancing, &pass);
	moved = tree_balance_rq(cpu, rq, sd, idle, continue_balancing);
	pass.ours = *continue_balancing != 0;
	pass.moved = max(moved, 0);
	ks_show_if(balanced, &pass);
	return moved;
}

static u32 fg_migration(enum migration_type type)
{
	switch (type) {
	case migrate_util:
		return FG_MIGRATE_UTIL;
	case migrate_task:
		return FG_MIGRATE_TASK;
	case migrate_misfit:
		return FG_MIGRATE_MISFIT;
#ifdef KS_HAS_SCHED_CACHE_GROUP
	case migrate_llc_task:
		return FG_MIGRATE_LLC;
#endif
	default:
		return FG_MIGRATE_LOAD;
	}
}

static struct rq *hook_find_src_rq(const char *caller, struct lb_env *env, struct sched_group *group)
{
	struct rq *src = tree_find_src_rq(env, group);
	struct ks_found found = {
		.group = cpumask_first(sched_group_span(group)),
		.src = src ? cpu_of(src) : KS_NONE,
		.migration = fg_migration(env->migration_type),
		.imbalance = env->imbalance,
	};

	ks_show_if(found, &found);
	return src;
}

static void hook_detach_task(const char *caller, struct task_struct *p, struct lb_env *env)
{
	int number = ks_task_number(p);

	if (number != KS_NONE)
		ks_show_if(detached, number, env->src_cpu, env->dst_cpu);
	tree_detach_task(p, env);
}

/* The function that was replaced, by the CPU that it pushes from; that CPU has one active balance at a time. */
static DEFINE_PER_CPU(cpu_stop_fn_t, tree_push);

/* The stopper of cpu is asked by cache-aware balancing. */
static bool pushes_for_llc(int cpu)
{
#ifdef LBF_ACTIVE_LB_LLC
	return per_cpu(tree_push, cpu) == active_load_balance_llc_cpu_stop;
#else
	return false;
#endif
}

static int push(void *data)
{
	int src = cpu_of((struct rq *)data), result;

	ks_show_if(pushing, src);
	result = per_cpu(tree_push, src)(data);
	ks_show_if(pushed, src);
	return result;
}

static cpu_stop_fn_t hook_push(int cpu, cpu_stop_fn_t fn)
{
	per_cpu(tree_push, cpu) = fn;
	return push;
}

static void hook_balance_domains(const char *caller, struct rq *rq, enum cpu_idle_type idle)
{
	struct ks_walk walk = { .cpu = cpu_of(rq), .kind = fg_kind(idle) };

	ks_show_if(walking, &walk);
	tree_balance_domains(rq, idle);
	ks_show_if(walked, &walk);
}

static int hook_balance_newidle(const char *caller, struct rq *rq, struct rq_flags *rf)
{
	u32 look = ks_look_as(KS_WORK_GROUP_CPU), cause = ks_cause;
	struct ks_walk walk = { .cpu = cpu_of(rq), .kind = FG_CPU_NEWLY_IDLE };
	int pulled;

	ks_cause = KS_CAUSE_NEWIDLE;
	ks_show_if(walking, &walk);
	pulled = tree_balance_newidle(rq, rf);
	ks_show_if(walked, &walk);
	ks_cause = cause;
	ks_look_as(look);
	return pulled;
}

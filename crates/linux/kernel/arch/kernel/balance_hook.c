// SPDX-License-Identifier: GPL-2.0-only
/* Behind the tree's fair.c, see balance_hook.h. */

static int hook_balance_rq(const char *caller, int cpu, struct rq *rq, struct sched_domain *sd,
			   enum cpu_idle_type idle, int *continue_balancing)
{
	u32 kind = idle == CPU_NEWLY_IDLE ? FG_CPU_NEWLY_IDLE : idle == CPU_IDLE ? FG_CPU_IDLE : FG_CPU_NOT_IDLE;
	int moved;

	ks_call_if(balancing, cpu, sd->level, kind);
	moved = tree_balance_rq(cpu, rq, sd, idle, continue_balancing);
	ks_call_if(balanced, cpu, sd->level, kind, max(moved, 0));
	return moved;
}

static int hook_balance_newidle(const char *caller, struct rq *rq, struct rq_flags *rf)
{
	u32 look = ks_look_as(KS_WORK_GROUP_CPU), cause = ks_cause;
	int pulled;

	ks_cause = KS_CAUSE_NEWIDLE;
	pulled = tree_balance_newidle(rq, rf);
	ks_cause = cause;
	ks_look_as(look);
	return pulled;
}

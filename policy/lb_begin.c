/* SPDX-License-Identifier: GPL-2.0-only */
/* How an attempt begins, and whose turn it is (spec 6.2). */
#include "lb.h"

void fg_balance_begin(const struct fg_sys *sys, struct fg_balance *b)
{
	b->busiest = 0;
	b->dst_cpu = b->this_cpu;
	b->new_dst_cpu = -1;
	b->src_cpu = -1;
	b->src_type = 0;
	b->migration = FG_MIGRATE_LOAD;
	b->flags = 0;
	b->imbalance = 0;
	b->looks = 0;
	b->loop_max = 0;
	b->batch = 0;
	b->moved = 0;
	b->rule = FG_BALANCE_RULE_NONE;
	b->group_cpus = 0;
	for (u32 i = 0; i < FG_MASK_WORDS; i++)
		b->cpus.bits[i] = b->sd->span.bits[i] & sys->active.bits[i];
}

/* One CPU balances for a group: the first idle one. v6.6: one of an idle core comes first. */
static s32 balancing_cpu(const struct fg_sys *sys, const struct fg_balance *b)
{
	const struct fg_group *local = b->sd->groups;
	s32 thread = -1;
	u32 cpu;

	for_each_cpu_and(cpu, &local->balance_mask, &b->cpus, sys->nr_cpus) {
		if (!idle_rq(cpu_rq(sys, cpu)))
			continue;
		if (!feat(sys, FG_SWB_CORE) || siblings_idle(sys, (s32)cpu))
			return (s32)cpu;
		if (thread < 0)
			thread = (s32)cpu;
	}
	return thread >= 0 ? thread : local->balance_cpu;
}

u32 fg_should_we_balance(const struct fg_sys *sys, const struct fg_balance *b)
{
	const struct fg_cpu *dst = cpu_rq(sys, (u32)b->dst_cpu);

	if (!b->sd->groups || !mask_test(&b->cpus, b->dst_cpu))
		return 0;
	/* newidle: a CPU that runs out of tasks pulls for itself; v6.0: unless a task has arrived. */
	if (b->kind == FG_CPU_NEWLY_IDLE)
		return !feat(sys, FG_SWB_NR) || !(dst->nr_running || dst->ttwu_pending);
	return balancing_cpu(sys, b) == b->dst_cpu;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs that are preferred to others for their place: asymmetric packing, and what SMT has to say to it (spec 6.3 to 6.5).
 *
 *	asym-prio=cpu	the preferred CPU pulls
 *	=smt	v5.16: unless that makes siblings share a core
 *	=core	v6.5: between cores only one whose siblings idle
 */
#include "lb.h"

static u32 asym_prefer(s32 a, s32 c)
{
	return a < c;
}

/* Whatever cpu does itself. */
static u32 siblings_idle(const struct fg_sys *sys, s32 cpu)
{
	const struct fg_cpu *rq = cpu_rq(sys, (u32)cpu);
	u32 t;

	for_each_cpu(t, &rq->core, sys->nr_cpus) {
		if ((s32)t != cpu && !idle_rq(cpu_rq(sys, t)))
			return 0;
	}
	return 1;
}

/* v6.5: the place of cpu counts. */
static u32 use_asym_prio(const struct fg_sys *sys, const struct fg_domain *sd, s32 cpu)
{
	if (!(sd->flags & FG_SD_ASYM_PACKING))
		return 0;
	return (sd->flags & FG_SD_SHARE_CPUCAPACITY) || siblings_idle(sys, cpu);
}

/* v5.16 to v6.4: dst is preferred to the CPUs of g, where some of them are threads of a core. */
static u32 asym_smt_can_pull(const struct fg_balance *b, const struct fg_sd_stats *s, const struct fg_group *g)
{
	u32 prefers = asym_prefer(b->dst_cpu, g->asym_prefer_cpu);
	u32 busy = s->other->weight - s->other->idle_cpus;

	if (!(b->sd->groups->flags & FG_SD_SHARE_CPUCAPACITY))
		return busy >= 2 || prefers;
	if (g->flags & FG_SD_SHARE_CPUCAPACITY)
		return busy == s->local->weight - s->local->idle_cpus + 1 && prefers;
	return !s->local->nr && prefers;
}

/* An idle dst is preferred to the CPUs of g, whose sums are in s->other. */
static u32 group_asym(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_sd_stats *s,
		      const struct fg_group *g)
{
	u32 smt = g->flags & FG_SD_SHARE_CPUCAPACITY;

	if (!(b->sd->flags & FG_SD_ASYM_PACKING) || b->kind == FG_CPU_NOT_IDLE || !s->other->h_nr)
		return 0;
	switch (feat(sys, FG_ASYM_PRIO)) {
	case FG_ASYM_PRIO_SMT:
		if (smt || (b->sd->groups->flags & FG_SD_SHARE_CPUCAPACITY))
			return asym_smt_can_pull(b, s, g);
		break;
	case FG_ASYM_PRIO_CORE:
		if (smt && s->other->weight - s->other->idle_cpus != 1)
			return 0;
		if (!use_asym_prio(sys, b->sd, b->dst_cpu))
			return 0;
		break;
	}
	return asym_prefer(b->dst_cpu, g->asym_prefer_cpu);
}

/* v5.16: the only task of cpu stays where it is preferred to dst. */
static u32 asym_keeps_queue(const struct fg_sys *sys, const struct fg_balance *b, s32 cpu)
{
	if (!(b->sd->flags & FG_SD_ASYM_PACKING) || !asym_prefer(cpu, b->dst_cpu))
		return 0;
	switch (feat(sys, FG_ASYM_PRIO)) {
	case FG_ASYM_PRIO_SMT:
		return 1;
	case FG_ASYM_PRIO_CORE:
		return use_asym_prio(sys, b->sd, cpu);
	}
	return 0;
}

/* The running task of the source is wanted on dst. */
static u32 asym_active_balance(const struct fg_sys *sys, const struct fg_balance *b)
{
	u32 prefers = asym_prefer(b->dst_cpu, b->src_cpu);

	if (b->kind == FG_CPU_NOT_IDLE || !(b->sd->flags & FG_SD_ASYM_PACKING))
		return 0;
	if (feat(sys, FG_ASYM_PRIO) != FG_ASYM_PRIO_CORE)
		return prefers;
	return use_asym_prio(sys, b->sd, b->dst_cpu) && (prefers || !use_asym_prio(sys, b->sd, b->src_cpu));
}

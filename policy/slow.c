/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slow path of forks, execs and, up to v5.6, wakeups on asymmetric machines: from a domain down into the idlest
 * group, then to the idlest CPU of that, and again in the domains of that CPU (spec 5.1, 5.4). What makes a group the
 * idlest is in slow_type.c from 002/P11 on (v5.5) and in slow_load.c before.
 */
#include "slow.h"

static const struct fg_group *find_idlest_group(const struct select_ctx *s, const struct fg_domain *sd, s32 cpu,
						u32 flag)
{
	const struct fg_group *idlest = 0;
	u32 leave;

	note(s, FG_NOTE_WALK, cpu, sd->weight, 0);
	if (feat(s->sys, FG_LB_P11))
		leave = idlest_group_by_type(s, sd, cpu, &idlest);
	else
		leave = idlest_group_by_load(s, sd, cpu, flag, &idlest);
	return leave ? idlest : 0;
}

/* The best CPUs of a group seen so far; -1: none. */
struct idlest_cpu {
	s32 idle;
	s32 sched_idle;
	s32 least_loaded;
	u32 pad;
	u64 latency; /* of idle, us */
	u64 stamp;
	u64 break_even; /* ns */
	u64 load; /* of least_loaded */
};

/* Mail 001: of equally deep CPUs the one whose state broke even, or will, first. Idle stamps are not compared. */
static void consider_equally_deep_cpu(const struct select_ctx *s, const struct fg_cpu *rq, struct idlest_cpu *best,
				      u64 latency)
{
	note(s, FG_NOTE_BREAK_EVEN, rq->id, rq->break_even, best->break_even);
	if (latency == best->latency && rq->break_even < best->break_even) {
		best->break_even = rq->break_even;
		best->idle = rq->id;
	}
}

/* Shallowest idle state wins, then the CPU that went idle last: its cache is warmest. */
static void consider_idle_cpu(const struct select_ctx *s, const struct fg_cpu *rq, struct idlest_cpu *best)
{
	u64 latency = rq->idle_exit_latency / 1000;
	u32 has_state = rq->idle_state >= 0;

	note(s, has_state ? FG_NOTE_IDLE_STATE : FG_NOTE_IDLE_NO_STATE, rq->id, rq->idle_stamp, (u64)rq->idle_state);
	note_third(s, latency);

	if (has_state && latency < best->latency) {
		best->latency = latency;
		best->stamp = rq->idle_stamp;
		best->break_even = rq->break_even;
		best->idle = rq->id;
	} else if (feat(s->sys, FG_BREAK_EVEN) && has_state) {
		consider_equally_deep_cpu(s, rq, best, latency);
	} else if ((!has_state || latency == best->latency) && rq->idle_stamp > best->stamp) {
		best->stamp = rq->idle_stamp;
		best->idle = rq->id;
	}
}

static void consider_load(const struct select_ctx *s, const struct fg_cpu *rq, struct idlest_cpu *best)
{
	u64 load = wake_load(s, rq);

	note(s, FG_NOTE_CPU_LOAD, rq->id, load, 0);
	if (load < best->load) {
		best->load = load;
		best->least_loaded = rq->id;
	}
}

/* 1: nothing better than rq can follow. */
global_func u32 consider_cpu(const struct select_ctx *s frame_arg, const struct fg_cpu *rq state_arg,
			     struct idlest_cpu *best frame_arg)
{
	if (yields_to(s, rq)) {
		note(s, FG_NOTE_SCHED_IDLE, rq->id, 0, 0);
		if (best->sched_idle < 0)
			best->sched_idle = rq->id;
		return feat(s->sys, FG_SI_FIRST);
	}
	if (idle_rq(rq))
		consider_idle_cpu(s, rq, best);
	else if (best->idle < 0 && best->sched_idle < 0)
		consider_load(s, rq, best);
	return 0;
}

global_func s32 find_idlest_group_cpu(const struct select_ctx *s frame_arg, const struct fg_group *g state_arg,
				      s32 this_cpu)
{
	struct idlest_cpu best = { -1, -1, this_cpu, 0, 0xffffffff, 0, ~0ull, ~0ull };
	u32 cpu;

	/* No choice; affinity is the caller's. */
	if (g->weight == 1)
		return (s32)mask_next_and(&g->span, &g->span, 0, s->sys->nr_cpus);

	for_each_cpu_and(cpu, &g->span, &s->p->allowed, s->sys->nr_cpus) {
		s->v->group_cpus++;
		if (consider_cpu(s, cpu_rq(s->sys, cpu), &best))
			return (s32)cpu;
	}
	if (best.idle >= 0)
		return best.idle;
	return best.sched_idle >= 0 ? best.sched_idle : best.least_loaded;
}

/* The highest domain of cpu that answers flag and is smaller than weight. */
static const struct fg_domain *highest_domain_below(const struct select_ctx *s, s32 cpu, u32 weight, u32 flag)
{
	const struct fg_domain *tmp, *sd = 0;

	for_each_domain(tmp, rq_of(s, cpu)->sd) {
		if (tmp->weight >= weight)
			break;
		if (tmp->flags & flag)
			sd = tmp;
	}
	return sd;
}

/* p may use a CPU of sd. */
static bpf_noinline u32 domain_allowed(const struct select_ctx *s, const struct fg_domain *sd)
{
	return mask_intersects(&sd->span, &s->p->allowed, s->sys->nr_cpus);
}

/* From sd down to a CPU; cpu is where the walk starts, and where it ends if nothing is idler. */
global_func s32 find_idlest_cpu(struct select_ctx *s frame_arg, const struct fg_domain *sd state_arg, s32 cpu, u32 flag)
{
	if (!domain_allowed(s, sd)) {
		s->v->rule = FG_RULE_SLOW_PREV;
		return s->prev;
	}
	/* A child's averages are not part of a queue's yet: there is nothing to decay. */
	select_sync(s);

	/* Each turn goes down a level or to a smaller domain. */
	for (u32 i = 0; can_loop(i, 2 * FG_MAX_DOMAINS) && sd; i++) {
		const struct fg_group *g = sd->flags & flag ? find_idlest_group(s, sd, cpu, flag) : 0;
		s32 idlest = g ? find_idlest_group_cpu(s, g, cpu) : cpu;

		sd = idlest == cpu ? sd->child : highest_domain_below(s, idlest, sd->weight, flag);
		cpu = idlest;
	}
	return cpu;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scan of target's LLC for a free CPU, and what it may cost (spec 4.5, 4.7).
 *
 *	budget		prop, prop-aged: the time the waking CPU expects to idle, over what a scan has cost so far
 *			util: what the last balance of the LLC left, the fewer the busier it was
 *	order		wrapping ids from target (v5.15: after it), of these in turn
 *			  none, loop	the LLC
 *			  landed	target's cluster, the rest of the LLC
 *			  levels	the same
 *	a look		a free CPU ends the scan; merged, with a hint that a core is idle: only a whole idle core does,
 *			and costs no budget, while a free thread met on the way is remembered for the end
 *
 * Where the specification leaves a choice:
 * - levels goes through the domains that share a cache: it starts above SMT and a find ends everything, as its author
 *   meant (11.2, 4); mail 004's review has both wrong. No machine has more of them than cluster and LLC. Its budget is
 *   made from the size of the LLC unless levels-nr says cluster.
 * - Clusters that do not have a domain (cls-domain) are scanned first too, which no patch proposes: it shows what the
 *   scan alone is worth.
 * - The posted loop (11.2, 5) keeps what a reviewer disliked: no SCHED_IDLE CPUs, nothing at all with SMT.
 * - Without a domain of the waking CPU's own cache to pay from, prop scans nothing, with a hint neither; util does not
 *   ask for it (v6.1).
 * - A core found in target's cluster is the cluster's find (C8c), one beyond it an idle core (C8i).
 */
#include "idle_rows.h"

#define SCAN_NO_LIMIT (~0ull)

struct scan {
	const struct fg_mask *done; /* looked at already; null: nothing */
	u64 nr; /* looks left, and one more: the test comes before the look */
	s32 cpu; /* found, or remembered */
	s32 start;
	u32 cores; /* an idle core is wanted */
	u32 wants_idle; /* until v5.5: SCHED_IDLE CPUs only if the budget ends the scan */
};

static inline u32 scan_seen(const struct scan *scan, s32 cpu)
{
	return scan->done && mask_test(scan->done, cpu);
}

/* How a part of a scan ended. */
#define SCAN_ON 0
#define SCAN_FOUND 1
#define SCAN_SPENT 2

/* Time for scans is halved with each jiffy that passes without the CPU becoming idle again. */
static u64 aged_wake_idle(const struct fg_sys *sys, const struct fg_cpu *rq, u64 now)
{
	u64 jiffies = pos_sub(clock_jiffies(sys, now), rq->wake_stamp);

	return rq->wake_avg_idle >> min_u64(jiffies, 63);
}

/* What this CPU may spend, ns. prop takes but a 512th of its average idle time, which varies widely. */
static u64 scan_time(const struct select_ctx *s)
{
	const struct fg_cpu *rq = rq_of(s, s->w->this_cpu);

	if (feat(s->sys, FG_SIS_MODE) == FG_SIS_PROP_AGED)
		return aged_wake_idle(s->sys, rq, s->w->now);
	return rq->avg_idle / 512;
}

/* SIS_PROP: as many CPUs as that time pays for, at least four; cores without limit. 0: there is nothing to pay from. */
static u64 prop_limit(const struct select_ctx *s, u32 weight, u32 cores)
{
	const struct fg_domain *this_sd = rq_of(s, s->w->this_cpu)->sd_llc;
	u64 time, cost, span_avg, nr;

	if (!this_sd) {
		note(s, FG_NOTE_NO_PURSE, s->w->this_cpu, 0, 0);
		return 0;
	}
	if (cores)
		return SCAN_NO_LIMIT;
	time = scan_time(s);
	cost = this_sd->avg_scan_cost + 1;
	span_avg = weight * time;
	nr = span_avg > 4 * cost ? span_avg / cost : 4;
	note(s, FG_NOTE_BUDGET, s->w->this_cpu, nr - 1, time);
	note_third(s, cost);
	return nr;
}

/* SIS_UTIL: as many CPUs as the last balance thought could be idle. */
static u64 util_limit(const struct select_ctx *s, const struct fg_domain *sd, u32 cores)
{
	const struct fg_llc *llc = rq_of(s, s->target)->llc;

	if (!llc)
		return SCAN_NO_LIMIT;
	cores = cores && llc->nr_idle_scan;
	note(s, cores ? FG_NOTE_IDLE_SCAN_CORES : FG_NOTE_IDLE_SCAN, s->target, llc->nr_idle_scan, sd->weight);
	return (u64)llc->nr_idle_scan + 1;
}

static inline u32 by_levels(const struct select_ctx *s)
{
	return feat(s->sys, FG_CLS_SELECT) == FG_CLS_LEVELS;
}

static u32 scan_weight(const struct select_ctx *s, const struct fg_domain *sd)
{
	const struct fg_cluster *cluster = rq_of(s, s->target)->cluster;

	if (cluster && by_levels(s) && feat(s->sys, FG_LEVELS_NR) == FG_LEVELS_NR_CLUSTER)
		return cluster->weight;
	return sd->weight;
}

/* 0: no scan at all. */
static u64 scan_limit(const struct select_ctx *s, const struct fg_domain *sd, u32 cores)
{
	u64 nr;

	if (feat(s->sys, FG_SIS_MODE) != FG_SIS_UTIL)
		return prop_limit(s, scan_weight(s, sd), cores);
	/* An LLC too busy to be scanned is not worth a search for idle cores either. */
	nr = util_limit(s, sd, cores);
	return nr == 1 ? 0 : nr;
}

/* Whether a thread that p may have counts as met: the 6.12 stable tree asks the set that is being scanned. */
static u32 may_remember(const struct select_ctx *s, const struct scan *scan, s32 cpu)
{
	const struct fg_domain *sd = rq_of(s, s->target)->sd_llc;

	if (!cpu_allowed(s, cpu))
		return 0;
	if (!feat(s->sys, FG_CORE_PROBE_LEFT))
		return 1;
	return mask_test(&sd->span, cpu) && !scan_seen(scan, cpu);
}

static void remember(const struct select_ctx *s, struct scan *scan, s32 cpu)
{
	scan->cpu = cpu;
	note(s, FG_NOTE_REMEMBERED, cpu, 0, 0);
}

/*
 * core_probe of spec 4.5: whether the core is wholly idle. With a free thread in hand its first busy thread ends the
 * look, without one the look goes on for one.
 */
global_func u32 probe_core(const struct select_ctx *s frame_arg, struct scan *scan frame_arg,
			   const struct fg_cpu *c state_arg)
{
	u32 t, idle = 1;

	for_each_cpu(t, &c->core, s->sys->nr_cpus) {
		s32 cpu = (s32)t;

		if (probe_idle(s, cpu)) {
			if (scan->cpu < 0 && may_remember(s, scan, cpu))
				remember(s, scan, cpu);
			continue;
		}
		idle = 0;
		if (scan->cpu >= 0)
			break;
		if (yields_to(s, cpu_rq(s->sys, t)) && may_remember(s, scan, cpu)) {
			remember(s, scan, cpu);
			break;
		}
	}
	if (idle)
		note(s, FG_NOTE_IDLE_CORE, c->id, 0, 0);
	return idle;
}

/* With a hint: whole cores of a part of the scan. */
global_func u32 scan_cores(const struct select_ctx *s frame_arg, struct scan *scan frame_arg,
			   const struct fg_mask *span state_arg)
{
	struct mask_wrap it = mask_wrap_begin(scan->start, s->sys->nr_cpus);

	while (mask_wrap_next(&it, span, &s->p->allowed)) {
		s32 cpu = (s32)it.cpu;

		if (scan_seen(scan, cpu) || !first_of_core(s, span, scan->start, it.cpu))
			continue;
		if (probe_core(s, scan, rq_of(s, cpu))) {
			scan->cpu = cpu;
			return SCAN_FOUND;
		}
	}
	return SCAN_ON;
}

/* Whether the scan ends with cpu. */
global_func u32 scan_cpu(const struct select_ctx *s frame_arg, struct scan *scan frame_arg, s32 cpu)
{
	if (scan_seen(scan, cpu))
		return SCAN_ON;
	if (!--scan->nr) {
		note(s, FG_NOTE_SPENT, cpu, 0, 0);
		return SCAN_SPENT;
	}
	s->v->scanned++;
	if (probe_takes(s, cpu, scan->wants_idle)) {
		scan->cpu = cpu;
		return SCAN_FOUND;
	}
	if (scan->wants_idle && scan->cpu < 0 && yields_to(s, rq_of(s, cpu)))
		remember(s, scan, cpu);
	return SCAN_ON;
}

#ifndef __bpf__
/*
 * scan_cpu() of the CPUs in [from, to), for versions since v5.6 while nobody asks for notes: each word of the sets is read
 * once.
 */
static u32 scan_words(const struct select_ctx *s, struct scan *scan, const struct fg_mask *span, u32 from, u32 to)
{
	u64 nr = scan->nr;
	u32 end = SCAN_ON, looks = 0;

	for (u32 k = from / 64; k * 64 < to && end == SCAN_ON; k++) {
		u64 word = span->bits[k] & s->p->allowed.bits[k];

		if (scan->done)
			word &= ~scan->done->bits[k];
		if (k == from / 64)
			word &= ~0ull << (from % 64);
		if (to - k * 64 < 64)
			word &= (1ull << (to - k * 64)) - 1;
		for (; word; word &= word - 1) {
			const struct fg_cpu *rq = cpu_rq(s->sys, k * 64 + (u32)__builtin_ctzll(word));

			if (!--nr) {
				end = SCAN_SPENT;
				break;
			}
			looks++;
			if (idle_rq(rq) || yields_to(s, rq)) {
				scan->cpu = rq->id;
				end = SCAN_FOUND;
				break;
			}
		}
	}
	scan->nr = nr;
	s->v->probes += looks;
	s->v->scanned += looks;
	return end;
}
#endif

/* Without one: its CPUs, as long as the budget lasts. */
global_func u32 scan_cpus(const struct select_ctx *s frame_arg, struct scan *scan frame_arg,
			  const struct fg_mask *span state_arg)
{
	struct mask_wrap it = mask_wrap_begin(scan->start, s->sys->nr_cpus);
	u32 end = SCAN_ON;

#ifndef __bpf__
	if (!scan->wants_idle && !s->w->why) {
		end = scan_words(s, scan, span, it.pos, it.limit);
		return end == SCAN_ON ? scan_words(s, scan, span, 0, it.again) : end;
	}
#endif
	while (end == SCAN_ON && mask_wrap_next(&it, span, &s->p->allowed))
		end = scan_cpu(s, scan, (s32)it.cpu);
	return end;
}

static u32 scan_span(const struct select_ctx *s, struct scan *scan, const struct fg_mask *span)
{
	return scan->cores ? scan_cores(s, scan, span) : scan_cpus(s, scan, span);
}

/* The row of a scan that makes no difference between clusters. */
static inline enum sibling_row scan_row(const struct scan *scan)
{
	return scan->cores ? ROW_IDLE_CORE : ROW_LLC;
}

/* landed, levels: target's cluster, only the first of which is a row of its own. */
static u32 scan_cluster(struct select_ctx *s, struct scan *scan)
{
	const struct fg_cluster *cluster = rq_of(s, s->target)->cluster;
	u32 landed = clusters_landed(s) && s->sys->cluster_key, end;

	if (!cluster || !(landed || by_levels(s)))
		return SCAN_ON;
	try_row(s, landed ? ROW_CLUSTER : scan_row(scan));
	end = scan_span(s, scan, &cluster->span);
	scan->done = &cluster->span;
	return end;
}

static u32 scan_llc(struct select_ctx *s, struct scan *scan, const struct fg_domain *sd)
{
	try_row(s, scan_row(scan));
	return scan_span(s, scan, &sd->span);
}

/* Whether there is a scan at all. */
static u32 scan_begin(const struct select_ctx *s, struct scan *scan, const struct fg_domain *sd)
{
	scan->done = 0;
	scan->cpu = -1;
	scan->start = s->target + (s32)feat(s->sys, FG_SCAN_NEXT);
	/* SIS_SMT_PREV has asked already. */
	scan->cores =
		feat(s->sys, FG_SIS_MERGED) && (feat(s->sys, FG_SIS_SMT_PREV) ? has_idle_cores(s) : test_idle_cores(s));
	scan->wants_idle = feat(s->sys, FG_SIS_MODE) == FG_SIS_PROP54;
	scan->nr = scan_limit(s, sd, scan->cores);
	return scan->nr != 0;
}

global_func s32 select_idle_cpu(struct select_ctx *s frame_arg, const struct fg_domain *sd state_arg)
{
	struct scan scan;
	u32 end;

	try_row(s, ROW_LLC);
	if (!scan_begin(s, &scan, sd))
		return -1;
	end = scan_cluster(s, &scan);
	if (end == SCAN_ON)
		end = scan_llc(s, &scan, sd);
	if (end == SCAN_SPENT)
		return scan.cpu;
	/* Only a scan that could end says what scans cost, and util does not ask. */
	if (!scan.cores && feat(s->sys, FG_SIS_MODE) != FG_SIS_UTIL)
		s->v->writes |= FG_W_SCAN_COST;
	if (end == SCAN_FOUND)
		return scan.cpu;
	if (scan.cores) {
		clear_idle_cores(s);
		try_row(s, ROW_LLC);
	}
	/* Until v5.5 the SCHED_IDLE CPU met in a scan that had the time to end is forgotten. */
	return scan.wants_idle ? -1 : scan.cpu;
}

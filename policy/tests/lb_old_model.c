/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balancing as in v5.4 written down a second time: spec 6.6 and rows P01 to P03 of 6.7 line by line, with signed numbers and
 * infinities where the kernel wraps. Random domains in random states end by the same rule, with the same group and amount.
 */
#include "random.h"

typedef __int128 num;

#define INF ((num)1 << 100)

enum { OTHER, MISFIT, IMBALANCED, OVERLOADED };

struct stat {
	const struct fg_group *g;
	num load, nr, util, idle, w, c, avg, per_task, misfit;
	num mincap, maxcap;
	int no_cap, type, asym;
};

struct answer {
	u32 rule;
	s32 group; /* first CPU, -1: none */
	num amount; /* 0: nothing is moved */
	int type;
};

struct question {
	struct fg_balance *b;
	struct stat l, best;
	int have;
	num s_load, s_cap, s_avg;
};

static u32 on(enum fg_feature_id id)
{
	return sys.feat.value[id];
}

static num least(num a, num b)
{
	return a < b ? a : b;
}

static int fits(num u, num c)
{
	return u * 1280 < c * 1024;
}

static num pct(const struct question *q)
{
	return q->b->sd->imbalance_pct;
}

static int flag(const struct question *q, u32 f)
{
	return (q->b->sd->flags & f) != 0;
}

static int dst_idle(const struct question *q)
{
	return q->b->kind != FG_CPU_NOT_IDLE;
}

/* Lower ids are preferred. */
static int preferred(s32 a, s32 b)
{
	return a < b;
}

static struct stat stats_of(const struct question *q, const struct fg_group *g)
{
	struct stat s = { 0 };

	s.g = g;
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		const struct fg_cpu *rq = &cpus[c];

		if (!mask_test(&g->span, (s32)c))
			continue;
		s.w++;
		if (!mask_test(&q->b->cpus, (s32)c))
			continue;
		num util = rq->cfs.util_avg > rq->est_enqueued ? rq->cfs.util_avg : rq->est_enqueued;

		s.load += rq->queued.load_avg;
		s.nr += rq->h_nr_running;
		s.util += least(util, rq->cpu_capacity_orig);
		s.idle += rq->curr_is_idle && rq->nr_running == 0 && !rq->ttwu_pending;
		if (flag(q, FG_SD_ASYM_CPUCAPACITY) && rq->misfit_task_load > s.misfit)
			s.misfit = rq->misfit_task_load;
	}
	s.c = g->capacity;
	s.mincap = g->min_capacity;
	s.maxcap = g->max_capacity;
	s.avg = s.load * 1024 / s.c;
	s.per_task = s.nr ? s.load / s.nr : 0;
	s.no_cap = s.nr > s.w && s.c * 100 < s.util * pct(q);
	return s;
}

static int has_capacity(const struct question *q, const struct stat *s)
{
	return s->nr < s->w || s->c * 100 > s->util * pct(q);
}

static void classify(struct stat *s)
{
	s->type = s->no_cap ? OVERLOADED : s->g->imbalance ? IMBALANCED : s->misfit ? MISFIT : OTHER;
}

static int pick(struct question *q, struct stat *g)
{
	const struct stat *l = &q->l, *best = &q->best;

	if (g->type == MISFIT && (!fits(g->maxcap, l->maxcap) || !has_capacity(q, l)))
		return 0;
	if (g->type > best->type)
		return 1;
	if (g->type < best->type || g->avg <= best->avg)
		return 0;
	if (flag(q, FG_SD_ASYM_CPUCAPACITY)) {
		if (g->nr <= g->w && fits(l->mincap, g->mincap))
			return 0;
		if (g->type == MISFIT && g->misfit < best->misfit)
			return 0;
	}
	if (!flag(q, FG_SD_ASYM_PACKING) || !dst_idle(q))
		return 1;
	if (g->nr > 0 && preferred(q->b->dst_cpu, g->g->asym_prefer_cpu)) {
		g->asym = 1;
		return !q->have || preferred(best->g->asym_prefer_cpu, g->g->asym_prefer_cpu);
	}
	return 0;
}

static void look_at_groups(struct question *q)
{
	const struct fg_domain *sd = q->b->sd;
	const struct fg_group *g = sd->groups;

	for (u32 i = 0; i < sd->nr_groups; i++, g = g->next) {
		struct stat s = stats_of(q, g);

		q->s_load += s.load;
		q->s_cap += s.c;
		if (mask_test(&g->span, q->b->dst_cpu)) {
			classify(&s);
			q->l = s;
			continue;
		}
		if (sd->child && (sd->child->flags & FG_SD_PREFER_SIBLING) && has_capacity(q, &q->l) &&
		    s.nr > q->l.nr + 1)
			s.no_cap = 1;
		classify(&s);
		if (pick(q, &s)) {
			q->best = s;
			q->have = 1;
		}
	}
	q->s_avg = q->s_load * 1024 / q->s_cap;
}

static num fix_small(const struct question *q, num amount)
{
	const struct stat *l = &q->l, *best = &q->best;
	const struct fg_cpu *dst = &cpus[q->b->dst_cpu];
	num ptb = best->per_task, ptl = l->per_task, n = 2, s = ptb * 1024 / best->c, now, move = 0, t;

	if (l->nr == 0)
		ptl = dst->h_nr_running ? dst->queued.load_avg / dst->h_nr_running : 0;
	else if (ptb > ptl)
		n = 1;
	if (best->avg + s >= l->avg + s * n)
		return ptb;
	now = (best->c * least(ptb, best->avg) + l->c * least(ptl, l->avg)) / 1024;
	if (best->avg > s)
		move += best->c * least(ptb, best->avg - s);
	t = best->avg * best->c < ptb * 1024 ? best->avg * best->c / l->c : ptb * 1024 / l->c;
	move += l->c * least(ptl, l->avg + t);
	return move / 1024 > now ? ptb : amount;
}

static num amount_of(struct question *q)
{
	const struct stat *l = &q->l;
	struct stat *best = &q->best;
	num above = INF, pull, from, to, amount;

	if (best->type == IMBALANCED && !on(FG_LB_P03))
		best->per_task = least(best->per_task, q->s_avg);
	if (best->type != MISFIT && (best->avg <= q->s_avg || l->avg >= q->s_avg))
		return on(FG_LB_P03) ? 0 : fix_small(q, 0);
	if (best->type == OVERLOADED && l->type == OVERLOADED && best->nr * 1024 > best->c)
		above = (best->nr * 1024 - best->c) * 1024 / best->c;
	pull = best->avg < q->s_avg ? INF : least(best->avg - q->s_avg, above);
	from = pull == INF ? INF : pull * best->c;
	to = q->s_avg < l->avg ? INF : (q->s_avg - l->avg) * l->c;
	amount = least(from, to);
	if (amount != INF)
		amount /= 1024;
	if (best->type == MISFIT && amount < best->misfit)
		amount = best->misfit;
	if (amount < best->per_task && !on(FG_LB_P03))
		return fix_small(q, amount);
	return amount;
}

/* 0: go on with the amount. */
static u32 balanced(const struct question *q, u32 *why)
{
	const struct stat *l = &q->l, *best = &q->best;

	if (!q->have || best->nr == 0)
		return FG_BALANCE_RULE_NO_GROUP;
	*why = FG_BALANCE_RULE_ASYM;
	if (on(FG_LB_P01) && best->asym)
		return 0;
	*why = FG_BALANCE_RULE_IMBALANCED;
	if (best->type == IMBALANCED)
		return 0;
	*why = FG_BALANCE_RULE_NO_CAPACITY;
	if (dst_idle(q) && has_capacity(q, l) && best->no_cap)
		return 0;
	*why = FG_BALANCE_RULE_MISFIT;
	if (best->type == MISFIT)
		return 0;
	*why = FG_BALANCE_RULE_LOAD;
	if (l->avg >= best->avg)
		return FG_BALANCE_RULE_LOCAL_LOAD;
	if (l->avg >= q->s_avg)
		return FG_BALANCE_RULE_LOCAL_LOAD;
	if (q->b->kind == FG_CPU_IDLE)
		return best->type != OVERLOADED && l->idle <= best->idle + 1 ? FG_BALANCE_RULE_IDLE_CPUS : 0;
	return 100 * best->avg <= pct(q) * l->avg ? FG_BALANCE_RULE_IMBALANCE_PCT : 0;
}

static struct answer model(struct fg_balance *b)
{
	struct answer a = { 0, -1, 0, OTHER };
	struct question q;
	u32 why = 0;

	memset(&q, 0, sizeof(q));
	q.b = b;
	look_at_groups(&q);
	if (q.have)
		a.group = q.best.g->balance_cpu;
	if (sys.eas && !root.overutilized) {
		a.rule = FG_BALANCE_RULE_EAS;
		return a;
	}
	if (!on(FG_LB_P01) && flag(&q, FG_SD_ASYM_PACKING) && dst_idle(&q) && q.have &&
	    !preferred(q.best.g->asym_prefer_cpu, b->dst_cpu)) {
		a.amount = q.best.load;
		a.rule = a.amount ? FG_BALANCE_RULE_ASYM : FG_BALANCE_RULE_NO_AMOUNT;
		return a;
	}
	a.rule = balanced(&q, &why);
	if (a.rule)
		return a;
	a.type = q.best.type;
	a.amount = why == FG_BALANCE_RULE_ASYM ? q.best.load : amount_of(&q);
	a.rule = a.amount ? why : FG_BALANCE_RULE_NO_AMOUNT;
	return a;
}

/* ---- random domains ---- */

static u32 one_of(const u32 *of, u32 n)
{
	return of[rnd(n)];
}

#define ONE_OF(...) one_of((const u32[]){ __VA_ARGS__ }, sizeof((u32[]){ __VA_ARGS__ }) / sizeof(u32))

/* Two to five groups of one to four CPUs, the second level being that between them if there are two. */
static void random_groups(void)
{
	u32 size = 1 + rnd(4), nr = 2 + rnd(4), pct = ONE_OF(110, 117, 125), flags = rnd(2) ? SD_DEFAULT : SD_NUMA;

	flags |= (rnd(3) ? 0 : FG_SD_ASYM_CPUCAPACITY) | (rnd(3) ? 0 : FG_SD_ASYM_PACKING);
	kit_init(size * nr);
	kit_preset_v54();
	for (u32 g = 0; g < nr && (flags & FG_SD_ASYM_CPUCAPACITY); g++)
		kit_capacity(g * size, g * size + size - 1, ONE_OF(446, 819, 820, 1024, 1024));
	if (size > 1)
		kit_level(FG_LEVEL_MC, rnd(2) ? SD_MC : SD_MC & ~FG_SD_PREFER_SIBLING, 117, size);
	kit_level(FG_LEVEL_PKG, flags, pct, size * nr);
	kit_finish();
	for (u32 i = 0; i < nr_groups; i++) {
		struct fg_group *g = &groups[i];

		g->asym_prefer_cpu = rnd(4) ? g->balance_cpu : (s32)rnd(sys.nr_cpus);
		g->imbalance = rnd(6) == 0;
		g->capacity -= g->capacity * rnd(4) / 10;
		g->min_capacity -= rnd(3) ? 0 : rnd(300);
	}
}

/* One level of crowding and one of load for all, so that groups come close to each other. */
static void random_queues(void)
{
	u32 crowd = 1 + rnd(4), load = ONE_OF(20, 500, 1024, 1024, 4000), used = ONE_OF(1, 300, 800, 1024);

	for (u32 c = 0; c < sys.nr_cpus; c++) {
		struct fg_cpu *rq = &cpus[c];
		u32 nr = rnd(crowd + 1);

		rq->h_nr_running = nr;
		rq->nr_running = nr + (rnd(8) == 0);
		rq->curr_is_idle = !rq->nr_running && rnd(16);
		rq->ttwu_pending = rnd(16) == 0;
		rq->queued.load_avg = nr * (rnd(3) ? load : rnd(2 * load)) + (rnd(8) ? 0 : rnd(100));
		rq->cfs.load_avg = rq->queued.load_avg + rnd(3000);
		rq->cfs.util_avg = nr || !rnd(4) ? used - rnd(1 + used / 4) : 0;
		rq->est_enqueued = rnd(4) ? 0 : rnd(1100);
		rq->misfit_task_load = rnd(6) ? 0 : rnd(2 * load);
	}
	sys.eas = rnd(10) == 0;
	root.overutilized = (u32)rnd(2);
	sys.feat.value[FG_LB_P01] = (u8)rnd(2);
	sys.feat.value[FG_LB_P02] = (u8)rnd(2);
	sys.feat.value[FG_LB_P03] = rnd(3) == 0;
}

static struct fg_balance random_attempt(void)
{
	struct fg_balance b;

	memset(&b, 0, sizeof(b));
	b.this_cpu = (s32)rnd(sys.nr_cpus);
	b.sd = kit_top((u32)b.this_cpu);
	b.kind = rnd(3);
	fg_balance_begin(&sys, &b);
	for (u32 i = rnd(6) ? 0 : rnd(4); i; i--)
		mask_clear(&b.cpus, (s32)rnd(sys.nr_cpus));
	return b;
}

static s64 as_amount(num n)
{
	/* No group has that much load. */
	return n == INF ? 1ll << 50 : (s64)n;
}

/* 0: they differ. */
static u32 agrees(const struct fg_balance *b, u32 found, const struct answer *a)
{
	static const u32 type[] = { group_has_spare, group_misfit_task, group_imbalanced, group_overloaded };
	s32 group = b->busiest ? b->busiest->balance_cpu : -1;

	if (b->rule != a->rule || group != a->group || found != (a->amount != 0))
		return 0;
	if (!found)
		return 1;
	return b->src_type == type[a->type] && b->migration == FG_MIGRATE_LOAD &&
	       least(b->imbalance, 1ll << 50) == as_amount(a->amount);
}

#define ROUNDS 150000

TEST(random_domains_balance_as_the_second_writing_does)
{
	static u32 seen[FG_NR_BALANCE_RULES];
	u32 differ = 0, unlimited = 0;

	for (u32 i = 0; i < ROUNDS && differ < 5; i++) {
		struct fg_balance b;
		struct answer a;
		u32 found;

		if (i % 8 == 0)
			random_groups();
		random_queues();
		b = random_attempt();
		found = find_busiest_old(&sys, &b);
		/* after it: the local group's capacity and the partition's flags are brought up to date on the way */
		a = model(&b);
		seen[b.rule]++;
		unlimited += a.amount == INF;
		if (agrees(&b, found, &a))
			continue;
		differ++;
		printf("round %u: rule %u, group %d, amount %lld, type %u; by the spec %u, %d, %lld, %d\n", i, b.rule,
		       b.busiest ? b.busiest->balance_cpu : -1, b.imbalance, b.src_type, a.rule, a.group,
		       as_amount(a.amount), a.type);
	}
	CHECK_EQ(differ, 0);
	/* It says something about each of them. */
	CHECK(seen[FG_BALANCE_RULE_EAS] > 1000);
	CHECK(seen[FG_BALANCE_RULE_NO_GROUP] > 1000);
	CHECK(seen[FG_BALANCE_RULE_ASYM] > 1000);
	CHECK(seen[FG_BALANCE_RULE_IMBALANCED] > 1000);
	CHECK(seen[FG_BALANCE_RULE_NO_CAPACITY] > 1000);
	CHECK(seen[FG_BALANCE_RULE_MISFIT] > 1000);
	CHECK(seen[FG_BALANCE_RULE_LOCAL_LOAD] > 1000);
	CHECK(seen[FG_BALANCE_RULE_IDLE_CPUS] > 1000);
	CHECK(seen[FG_BALANCE_RULE_IMBALANCE_PCT] > 1000);
	CHECK(seen[FG_BALANCE_RULE_LOAD] > 1000);
	CHECK(seen[FG_BALANCE_RULE_NO_AMOUNT] > 1000);
	CHECK(unlimited > 100);
}

int main(void)
{
	RUN(random_domains_balance_as_the_second_writing_does);
	return test_report();
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The look for imbalance since 002/P04 against a slow second writing of spec 6.3 and 6.4, and whole attempts against what no
 * attempt may do: random machines, states, tasks, affinities and versions.
 *
 * The model says everything twice where the policy says it once: each group is summed up on its own, each rule reads all it
 * needs anew.
 */
#include "lb_version.h"
#include "random.h"

/* ---- random ---- */

static void random_domains(void)
{
	static const u32 cpus_of[] = { 2, 4, 8, 12, 16, 24 };
	u32 n = cpus_of[rnd(6)], smt = rnd(2), llc = n >= 8 && rnd(2) ? n / 2 : n;

	kit_init(n);
	for (u32 c = 0; c < n; c++)
		kit_capacity(c, c, rnd(3) ? 1024 : 300 + rnd(700));
	if (smt) {
		kit_smt(2, 1);
		kit_level(FG_LEVEL_SMT, SD_SMT, 110, 2);
	}
	if (!smt || n > 2)
		kit_level(FG_LEVEL_MC, SD_MC, 117, llc);
	if (llc < n)
		kit_level(FG_LEVEL_PKG, rnd(2) ? SD_DEFAULT : SD_NUMA, 125, n);
	lb_finish(505);
	sys.asym_key = rnd(2);
	for (u32 c = 0; c < n; c++) {
		for (u32 i = 0; i < KIT_LEVELS; i++) {
			domains[c][i].nr_balance_failed = rnd(6);
			domains[c][i].imb_numa_nr = rnd(4);
		}
	}
	for (u32 i = 0; i < 3; i++)
		lb_flags(i, rnd(3) ? 0 : FG_SD_ASYM_PACKING | FG_SD_ASYM_CPUCAPACITY,
			 rnd(3) ? 0 : FG_SD_PREFER_SIBLING);
	for (u32 i = 0; i < nr_groups; i++) {
		/* as if some cores had one thread only */
		groups[i].flags &= ~(rnd(3) ? 0 : (u32)FG_SD_SHARE_CPUCAPACITY);
		groups[i].imbalance = rnd(8) == 0;
		groups[i].cores = 1 + rnd(4);
	}
}

static void random_lb_version(void)
{
	static const u32 versions[] = { 505, 506, 507, 510, 511, 512, 514, 516, 600, 603, 605, 606, 607, 609, 610 };
	static const u32 parts[] = { FG_LB_P05,	      FG_LB_P06,      FG_LB_P07,	FG_LB_P08,	FG_SPARE_TIE,
				     FG_LLC_SPREAD,   FG_CAP_GREATER, FG_REDUCED_CAP,	FG_SIB_RATIO,	FG_SMT_BALANCE,
				     FG_PSIB_BUSIEST, FG_ASYM_EARLY,  FG_MISFIT_CORE,	FG_LOAD_NOWRAP, FG_MU_GATE,
				     FG_QUEUE_FAIR,   FG_SWB_CORE,    FG_MISFIT_LARGER, FG_SWB_NR,	FG_LOAD_SHIFT };

	lb_version(versions[rnd(15)]);
	for (u32 i = 0; i < 3; i++)
		sys.feat.value[parts[rnd(20)]] ^= 1;
	sys.eas = rnd(4) == 0;
}

static void random_sums(void)
{
	u32 crowd = 1 + rnd(4), heavy = 1 + rnd(2000);

	for (u32 c = 0; c < sys.nr_cpus; c++) {
		struct fg_cpu *rq = &cpus[c];

		lb_state(c, rnd(crowd), rnd(heavy), rnd(1100));
		rq->queued.load_avg = rq->cfs.load_avg / (1 + rnd(3));
		rq->cfs.runnable_avg = rnd(2000);
		rq->est_enqueued = rnd(1100);
		rq->misfit_task_load = rnd(3) ? 0 : rnd(3) * 100;
		rq->ttwu_pending = rnd(16) == 0;
		if (rnd(8) == 0) {
			rq->nr_running++;
			rq->curr_is_idle = 0;
		}
		rq->rt.util_avg = rnd(3) ? 0 : rnd(600);
	}
}

/* ---- the model ---- */

struct model_group {
	const struct fg_group *g;
	u64 load, util, runnable, capacity, misfit, avg;
	u32 h, nr, idle, type;
};

struct model {
	const struct fg_balance *b;
	struct model_group local, best;
	u64 load, capacity, avg;
};

static u32 has(enum fg_feature_id id)
{
	return sys.feat.value[id];
}

static u32 m_idle(u32 c)
{
	return cpus[c].curr_is_idle && !cpus[c].nr_running && !cpus[c].ttwu_pending;
}

static u64 m_load(u32 c)
{
	return has(FG_LB_P06) ? cpus[c].cfs.load_avg : cpus[c].queued.load_avg;
}

static u32 m_core_idles(u32 cpu)
{
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		if (c != cpu && mask_test(&cpus[cpu].core, (s32)c) && !m_idle(c))
			return 0;
	}
	return 1;
}

static u32 m_reduced(u32 c, const struct fg_domain *sd)
{
	return cpus[c].cpu_capacity * sd->imbalance_pct < cpus[c].cpu_capacity_orig * 100;
}

static u32 m_prio_counts(const struct fg_domain *sd, s32 cpu)
{
	return (sd->flags & FG_SD_SHARE_CPUCAPACITY) || m_core_idles((u32)cpu);
}

static u32 m_asym(const struct model *m, const struct model_group *s)
{
	s32 dst = m->b->dst_cpu, theirs = s->g->asym_prefer_cpu;
	u32 smt = s->g->flags & FG_SD_SHARE_CPUCAPACITY, here_smt = m->b->sd->groups->flags & FG_SD_SHARE_CPUCAPACITY;
	u32 busy = s->g->weight - s->idle, here = m->local.g->weight - m->local.idle;

	if (m->b->kind == FG_CPU_NOT_IDLE || !s->h || !(m->b->sd->flags & FG_SD_ASYM_PACKING))
		return 0;
	if (has(FG_ASYM_PRIO) == FG_ASYM_PRIO_SMT && (smt || here_smt)) {
		if (!here_smt)
			return busy >= 2 || dst < theirs;
		if (smt)
			return busy == here + 1 && dst < theirs;
		return m->local.nr == 0 && dst < theirs;
	}
	if (has(FG_ASYM_PRIO) == FG_ASYM_PRIO_CORE && ((smt && busy != 1) || !m_prio_counts(m->b->sd, dst)))
		return 0;
	return dst < theirs;
}

static u32 m_type(const struct model *m, const struct model_group *s, u32 local)
{
	u64 pct = m->b->sd->imbalance_pct;
	u32 waits = has(FG_RUNNABLE_CLASS) && s->capacity * pct < s->runnable * 100;

	if (s->nr > s->g->weight && (s->capacity * 100 < s->util * pct || waits))
		return group_overloaded;
	if (s->g->imbalance)
		return group_imbalanced;
	if (!local && m_asym(m, s))
		return group_asym_packing;
	if (!local && has(FG_SMT_BALANCE) && m->b->kind != FG_CPU_NOT_IDLE && s->h > 1 &&
	    (s->g->flags & FG_SD_SHARE_CPUCAPACITY))
		return group_smt_balance;
	if (s->misfit)
		return group_misfit_task;
	if (s->nr < s->g->weight || (!waits && s->capacity * 100 > s->util * pct))
		return group_has_spare;
	return group_fully_busy;
}

static struct model_group m_sums(const struct model *m, const struct fg_group *g)
{
	struct model_group s = { .g = g, .capacity = g->capacity };
	const struct fg_domain *sd = m->b->sd;
	u32 local = mask_test(&g->span, m->b->dst_cpu);

	for (u32 c = 0; c < sys.nr_cpus; c++) {
		u64 util = cpus[c].cfs.util_avg, misfit = 0;

		if (!mask_test(&g->span, (s32)c) || !mask_test(&m->b->cpus, (s32)c))
			continue;
		if (cpus[c].est_enqueued > util)
			util = cpus[c].est_enqueued;
		s.util += util < cpus[c].cpu_capacity_orig ? util : cpus[c].cpu_capacity_orig;
		s.load += m_load(c);
		s.runnable += cpus[c].cfs.runnable_avg;
		s.h += cpus[c].h_nr_running;
		s.nr += has(FG_LB_P05) ? cpus[c].nr_running : cpus[c].h_nr_running;
		s.idle += m_idle(c);
		if (sd->flags & FG_SD_ASYM_CPUCAPACITY)
			misfit = cpus[c].misfit_task_load;
		else if (has(FG_REDUCED_CAP) && m->b->kind != FG_CPU_NOT_IDLE && cpus[c].h_nr_running == 1 &&
			 m_reduced(c, sd))
			misfit = m_load(c);
		if (!local && !m_idle(c) && misfit > s.misfit)
			s.misfit = misfit;
	}
	s.type = m_type(m, &s, local);
	if (s.type == group_overloaded)
		s.avg = s.load * 1024 / s.capacity;
	return s;
}

static u32 m_gt(u64 a, u64 c)
{
	return a * 1024 > c * 1078;
}

static u32 m_fits(u64 a, u64 c)
{
	return a * 1280 < c * 1024;
}

static u32 m_bigger(const struct model *m, const struct model_group *s)
{
	if (!(m->b->sd->flags & FG_SD_ASYM_CPUCAPACITY) || s->type > group_fully_busy)
		return 0;
	return has(FG_CAP_GREATER) ? m_gt(s->g->min_capacity, cpus[m->b->dst_cpu].cpu_capacity)
				   : m_fits(m->local.g->min_capacity, s->g->min_capacity);
}

static u32 m_helps(const struct model *m, const struct model_group *s)
{
	if (m->local.type != group_has_spare || (has(FG_MISFIT_CORE) && !m_core_idles((u32)m->b->dst_cpu)))
		return 0;
	return has(FG_CAP_GREATER) ? m_gt(cpus[m->b->dst_cpu].cpu_capacity, s->g->max_capacity)
				   : m_fits(s->g->max_capacity, m->local.g->max_capacity);
}

static u32 m_smt(const struct fg_group *g)
{
	return (g->flags & FG_SD_SHARE_CPUCAPACITY) != 0;
}

static u32 m_busier(const struct model *m, const struct model_group *s)
{
	const struct model_group *t = &m->best;
	u32 spare = s->idle < t->idle || (s->idle == t->idle && has(FG_SPARE_TIE) && s->nr > t->nr);
	u32 full =
		has(FG_SMT_BALANCE) ? s->avg > t->avg || (s->avg == t->avg && !(t->g && m_smt(t->g))) : s->avg > t->avg;
	u32 asym = m->b->sd->flags & FG_SD_ASYM_CPUCAPACITY, win = 0;

	if (!s->h || (asym && s->type == group_misfit_task && !m_helps(m, s)))
		return 0;
	if (has(FG_ASYM_EARLY) && m_bigger(m, s))
		return 0;
	if (s->type != t->type)
		return s->type > t->type;
	if (s->type == group_overloaded)
		win = s->avg > t->avg;
	if (s->type == group_asym_packing)
		win = t->g->asym_prefer_cpu < s->g->asym_prefer_cpu;
	if (s->type == group_misfit_task)
		win = has(FG_MISFIT_LARGER) ? s->misfit > t->misfit : s->misfit >= t->misfit;
	if (s->type == group_fully_busy)
		win = full;
	if (s->type == group_smt_balance)
		win = s->idle || t->idle ? spare : full;
	if (s->type == group_has_spare) {
		win = spare;
		if (has(FG_SMT_BALANCE) && t->g && m_smt(t->g) != m_smt(s->g))
			win = !(m_smt(s->g) && s->h <= 1);
	}
	return win && !m_bigger(m, s);
}

static void m_groups(struct model *m)
{
	const struct fg_group *g = m->b->sd->groups;

	m->best.idle = ~0u;
	m->local.g = g;
	for (u32 i = 0; i < m->b->sd->nr_groups; i++, g = g->next) {
		struct model_group s = m_sums(m, g);

		if (i == 0)
			m->local = s;
		else if (m_busier(m, &s))
			m->best = s;
		m->load += s.load;
		m->capacity += s.capacity;
	}
	m->avg = m->load * 1024 / m->capacity;
}

static u32 m_prefers_sibling(const struct model *m)
{
	const struct fg_domain *child = m->b->sd->child;

	return ((has(FG_PSIB_BUSIEST) ? m->best.g->flags : child ? child->flags : 0) & FG_SD_PREFER_SIBLING) != 0;
}

static s64 m_excess(const struct model *m)
{
	s64 nr = m->best.nr, here = m->local.nr, x, cores = m->best.g->cores, mine = m->local.g->cores;

	if (!has(FG_SIB_RATIO) || (cores == mine && m->b->kind != FG_CPU_NOT_IDLE))
		return nr > here ? nr - here : 0;
	if (m->b->kind == FG_CPU_NOT_IDLE || !nr)
		return 0;
	x = mine * nr - cores * here;
	x = (2 * (x > 0 ? x : 0) + mine + cores) / (mine + cores);
	return x <= 1 && here == 0 && nr > 1 ? 2 : x;
}

/* 1: something is to be moved, whatever the amount. */
static u32 m_decides(const struct model *m)
{
	const struct model_group *t = &m->best, *l = &m->local;
	u64 pct = m->b->sd->imbalance_pct;

	if (!t->g)
		return 0;
	if (t->type == group_misfit_task && (has(FG_MISFIT_UNLINK) || has(FG_MU_GATE)))
		return 1;
	if (sys.eas && !root.overutilized)
		return 0;
	if (t->type == group_misfit_task || t->type == group_asym_packing || t->type == group_imbalanced)
		return 1;
	if (l->type > t->type)
		return 0;
	if (l->type == group_overloaded && (l->avg >= t->avg || l->avg >= m->avg || 100 * t->avg <= pct * l->avg))
		return 0;
	if (m_prefers_sibling(m) && l->type == group_has_spare && m_excess(m) > 1)
		return 1;
	if (t->type == group_overloaded)
		return 1;
	if (m->b->kind == FG_CPU_NOT_IDLE)
		return 0;
	if (t->type == group_smt_balance && m_smt(t->g) != m_smt(l->g))
		return 1;
	if (!has(FG_LB_P07))
		return l->idle > t->idle + 1;
	return (t->g->weight == 1 || l->idle > t->idle + 1) && t->h != 1;
}

static s64 m_numa(const struct model *m, s64 x)
{
	if (!(m->b->sd->flags & FG_SD_NUMA))
		return x >> 1;
	if (has(FG_NUMA_IMB) == FG_NUMA_IMB_PAIR && m->best.nr <= 2)
		return 0;
	if (has(FG_NUMA_IMB) == FG_NUMA_IMB_QUARTER && m->best.nr < m->best.g->weight / 4 && (x >> 1) <= 2)
		return 0;
	if (has(FG_NUMA_IMB) == FG_NUMA_IMB_LLC && m->local.nr + 1 <= m->b->sd->imb_numa_nr && x <= 2)
		return 0;
	return x >> 1;
}

static s64 m_amount(struct model *m, u32 *kind)
{
	struct model_group *t = &m->best, *l = &m->local;
	u32 asym = m->b->sd->flags & FG_SD_ASYM_CPUCAPACITY;
	u64 a, c;

	*kind = FG_MIGRATE_TASK;
	if (t->type == group_misfit_task) {
		*kind = asym ? FG_MIGRATE_MISFIT : FG_MIGRATE_LOAD;
		return asym && has(FG_LB_P08) ? 1 : (s64)t->misfit;
	}
	if (t->type == group_asym_packing)
		return t->h;
	if (t->type == group_smt_balance || t->type == group_imbalanced)
		return 1;
	if (l->type == group_has_spare) {
		if (t->type == group_overloaded && !(has(FG_LLC_SPREAD) && (m->b->sd->flags & FG_SD_SHARE_LLC))) {
			if (l->capacity <= l->util && m->b->kind != FG_CPU_NOT_IDLE)
				return 1;
			*kind = FG_MIGRATE_UTIL;
			return l->capacity > l->util ? (s64)(l->capacity - l->util) : 0;
		}
		if ((t->g->weight == 1 && has(FG_LB_P07)) || m_prefers_sibling(m))
			return m_numa(m, m_excess(m));
		return m_numa(m, l->idle - t->idle); /* of 32 bits without a sign */
	}
	*kind = FG_MIGRATE_LOAD;
	if (l->type != group_overloaded) {
		l->avg = l->load * 1024 / l->capacity;
		if (has(FG_LB_AVG_GUARD) && l->avg >= t->avg)
			return 0;
		if (has(FG_LOAD_NOWRAP) && l->avg >= m->avg)
			return 0;
	}
	/* a side on the wrong side of the mean does not count; both: no end, which is some huge number */
	a = t->avg < m->avg ? ~0ull : (t->avg - m->avg) * t->capacity;
	c = m->avg < l->avg ? ~0ull : (m->avg - l->avg) * l->capacity;
	return (s64)((a < c ? a : c) / 1024);
}

static s32 m_queue(const struct model *m, u32 kind, s64 amount)
{
	const struct fg_domain *sd = m->b->sd;
	const struct fg_cpu *dst = &cpus[m->b->dst_cpu];
	double best = 0;
	s32 queue = -1;

	for (u32 c = 0; c < sys.nr_cpus; c++) {
		const struct fg_cpu *rq = &cpus[c];
		u32 lone = rq->h_nr_running == 1, prefers = (s32)c < m->b->dst_cpu && (sd->flags & FG_SD_ASYM_PACKING);
		u64 util = rq->cfs.util_avg;
		double value = 0;

		if (!mask_test(&m->best.g->span, (s32)c) || !mask_test(&m->b->cpus, (s32)c))
			continue;
		if (has(FG_QUEUE_FAIR) && !rq->h_nr_running)
			continue;
		if (lone && (sd->flags & FG_SD_ASYM_CPUCAPACITY) &&
		    (has(FG_CAP_GREATER) ? !m_gt(dst->cpu_capacity, rq->cpu_capacity)
					 : dst->cpu_capacity < rq->cpu_capacity))
			continue;
		if (lone && prefers && has(FG_ASYM_PRIO) == FG_ASYM_PRIO_SMT)
			continue;
		if (lone && prefers && has(FG_ASYM_PRIO) == FG_ASYM_PRIO_CORE && m_prio_counts(sd, (s32)c))
			continue;
		if (has(FG_RUNNABLE_BOOST) && rq->cfs.runnable_avg > util)
			util = rq->cfs.runnable_avg;
		util = util > rq->est_enqueued ? util : rq->est_enqueued;
		if (kind == FG_MIGRATE_LOAD && !(lone && (s64)m_load(c) > amount && !m_reduced(c, sd)))
			value = (double)m_load(c) / rq->cpu_capacity;
		if (kind == FG_MIGRATE_UTIL && !(has(FG_UTIL_SKIP_SINGLE) && rq->h_nr_running <= 1))
			value = (double)(util < rq->cpu_capacity_orig ? util : rq->cpu_capacity_orig);
		if (kind == FG_MIGRATE_TASK)
			value = rq->h_nr_running;
		if (kind == FG_MIGRATE_MISFIT)
			value = (double)rq->misfit_task_load;
		if (value > best) {
			best = value;
			queue = (s32)c;
		}
	}
	return queue;
}

static u32 same_as_model(u32 cpu, u32 level, u32 kind)
{
	/* Capacities are refreshed within the look, so the model comes second. */
	struct fg_balance b = lb_find(cpu, level, kind);
	struct model m = { .b = &b };
	u32 wanted, unit;
	s64 amount = 0;

	m_groups(&m);
	wanted = m_decides(&m);
	CHECK_EQ(balance_rule_moves(b.rule) || b.rule == FG_BALANCE_RULE_NO_AMOUNT ||
			 b.rule == FG_BALANCE_RULE_NO_QUEUE,
		 wanted);
	CHECK_EQ((u64)b.busiest, (u64)m.best.g);
	CHECK_EQ(b.group_cpus, b.sd->weight);
	if (!wanted)
		return 0;
	CHECK_EQ(b.src_type, m.best.type);
	amount = m_amount(&m, &unit);
	CHECK_EQ(b.rule == FG_BALANCE_RULE_NO_AMOUNT, amount == 0);
	if (!amount)
		return 0;
	CHECK_EQ(b.migration, unit);
	/* "no end" is the same wherever it wraps */
	CHECK_EQ(b.imbalance < 1ll << 40 ? b.imbalance : 1ll << 40, amount < 1ll << 40 ? amount : 1ll << 40);
	CHECK_EQ(b.src_cpu, m_queue(&m, unit, amount));
	CHECK_EQ(b.src_cpu < 0, b.rule == FG_BALANCE_RULE_NO_QUEUE);
	return b.src_cpu >= 0;
}

static u32 levels_of(u32 cpu)
{
	u32 n = 0;

	for (const struct fg_domain *sd = cpus[cpu].sd; sd; sd = sd->parent)
		n++;
	return n;
}

TEST(looks_are_those_of_the_model)
{
	u32 found = 0, rules[FG_NR_BALANCE_RULES] = { 0 };

	for (u32 i = 0; i < 60000; i++) {
		u32 cpu;

		if (i % 20 == 0)
			random_domains();
		random_lb_version();
		random_sums();
		cpu = rnd(sys.nr_cpus);
		for (u32 level = 0; level < levels_of(cpu); level++) {
			found += same_as_model(cpu, level, rnd(3));
			rules[lb_find(cpu, level, rnd(3)).rule]++;
		}
	}
	CHECK(found > 20000);
	/*
	 * but for what comes before and after a look (PINNED, the stopper's PUSH), what is the old algorithm's, and LLC, which the
	 * model lacks: lb_cache.c tests it
	 */
	for (u32 r = FG_BALANCE_RULE_NO_GROUP; r < FG_NR_BALANCE_RULES; r++) {
		if (r != FG_BALANCE_RULE_PINNED && r != FG_BALANCE_RULE_NO_CAPACITY && r != FG_BALANCE_RULE_PUSH &&
		    r != FG_BALANCE_RULE_LLC)
			CHECK(rules[r] > 10);
	}
}

/* ---- attempts ---- */

static void random_tasks(void)
{
	u32 n = rnd(4 * sys.nr_cpus), crowded = rnd(sys.nr_cpus);

	for (u32 i = 0; i < n; i++) {
		u32 cpu = rnd(2) ? crowded : rnd(sys.nr_cpus);
		struct fg_task *p = cpus[cpu].curr ? lb_wait(cpu, rnd(1500)) : lb_run(cpu, rnd(1500));

		lb_task_util(p, rnd(600));
		p->policy = rnd(10) ? FG_SCHED_OTHER : FG_SCHED_BATCH;
		p->exec_start = rnd(2) ? cpus[cpu].clock_task : 0;
		if (rnd(3) == 0) {
			kit_allow(p, cpu, cpu);
			for (u32 k = rnd(3); k; k--)
				mask_set(&p->allowed, (s32)rnd(sys.nr_cpus));
		}
		p->flags |= rnd(20) ? 0 : FG_TASK_PERCPU_KTHREAD;
	}
}

static u32 tasks_queued(void)
{
	u32 n = 0;

	for (u32 c = 0; c < sys.nr_cpus; c++)
		n += cpus[c].nr_running;
	return n;
}

/* Tasks moved. */
static u32 check_attempt(u32 cpu, u32 level, u32 kind)
{
	struct fg_domain *sd = &domains[cpu][level];
	u32 before = tasks_queued(), failed = sd->nr_balance_failed;
	struct lb_report r = lb_attempt(cpu, level, kind);

	CHECK_EQ(tasks_queued(), before);
	for (u32 i = 0; i < r.moved; i++) {
		const struct fg_task *p = &lb_task[r.id[i]];

		CHECK_EQ(mask_test(&p->allowed, r.to[i]), 1);
		CHECK_EQ(mask_test(&sd->groups->span, r.to[i]), 1);
		CHECK_EQ(p->cpu, r.to[i]);
		CHECK_EQ(p->on_cpu, 0);
		CHECK(!has(FG_LB_KTHREAD) || !(p->flags & FG_TASK_PERCPU_KTHREAD));
	}
	CHECK(kind != FG_CPU_NEWLY_IDLE || r.moved <= 1);
	CHECK(r.migration != FG_MIGRATE_TASK || r.moved <= r.amount);
	CHECK(r.migration != FG_MIGRATE_MISFIT || r.moved <= 1);
	CHECK(!r.active || (r.moved == 0 && cpus[r.src].active_balance && cpus[r.src].push_cpu == (s32)cpu));
	CHECK(!r.moved || sd->nr_balance_failed == 0);
	CHECK(sd->nr_balance_failed <= failed + 1 || r.active);
	CHECK(sd->balance_interval >= 1 && sd->balance_interval <= 1024);
	if (r.active)
		lb_stopper((u32)r.src);
	return r.moved;
}

TEST(attempts_keep_to_the_rules)
{
	u32 moved = 0;

	for (u32 i = 0; i < 6000; i++) {
		random_domains();
		if (rnd(4) == 0)
			lb_version(504);
		else
			random_lb_version();
		random_tasks();
		for (u32 k = 0; k < 8; k++) {
			u32 cpu = rnd(sys.nr_cpus);

			moved += check_attempt(cpu, rnd(levels_of(cpu)), rnd(3));
		}
	}
	CHECK(moved > 2000);
}

int main(void)
{
	RUN(looks_are_those_of_the_model);
	RUN(attempts_keep_to_the_rules);
	return test_report();
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fast path of every version written down a second time, row by row as spec 4.1 to 4.7 have it: sets are arrays,
 * cores are taken out of them, nothing is clever. Thousands of random wakeups, machines and mixtures of features are
 * compared, with what they looked at and what they ask to be written.
 */
#include "kit.h"

static u64 seed = 7;

static u32 rnd(u32 n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(seed >> 33) % n;
}

/* ---- the model ---- */

struct outcome {
	s32 cpu;
	u32 rule;
	u32 writes;
	u32 probes;
	u32 scanned;
};

static struct outcome o;
static const struct fg_task *task;
static const struct fg_wake *wake;
static s32 target, prev, scan_prev_aff, scan_recent;
static u32 util;
/* Of a scan: the CPUs left, the budget, the thread in hand. */
static u8 left[FG_NR_CPUS];
static u64 nr;
static s32 in_hand;
static struct fg_mask cluster; /* target's */
/* CPUs of a cluster, 0: the machine has none. */
static u32 cluster_size;

#define F(id) (sys.feat.value[FG_##id])
#define LANDED (F(CLS_SELECT) == FG_CLS_LANDED)
#define RULE(b, a, c) (o.rule = LANDED ? FG_RULE_##c : F(ASYM_PREV_FIRST) ? FG_RULE_##a : FG_RULE_##b)

static u32 in(const struct fg_mask *m, s32 c)
{
	return c >= 0 && m->bits[c / 64] >> (c % 64) & 1;
}

static u32 ok(s32 c)
{
	return in(&task->allowed, c);
}

static u32 idle(s32 c)
{
	o.probes++;
	return cpus[c].curr_is_idle && cpus[c].nr_running == 0 && !cpus[c].ttwu_pending;
}

static u32 sidle(s32 c)
{
	return cpus[c].nr_running > 0 && cpus[c].nr_running == cpus[c].idle_h_nr_running;
}

static u32 is_free(s32 c)
{
	return idle(c) || sidle(c);
}

static u32 fit(s32 c)
{
	return !sys.asym_key || !F(ASYM_PREV_FIRST) || util * 1280 < cpus[c].cpu_capacity * 1024;
}

static u32 share_cache(s32 a, s32 b)
{
	return a == b || cpus[a].sd_llc_id == cpus[b].sd_llc_id;
}

static u32 near(s32 c)
{
	if (F(ASYM_CHECK_SCOPE) && F(ASYM_PREV_FIRST) && sys.asym_key && cpus[target].sd_asym_cpucapacity)
		return in(&cpus[target].sd_asym_cpucapacity->span, c);
	return share_cache(c, target);
}

/* c belongs to target's cluster, if there are such. */
static u32 near_cluster(s32 c)
{
	return cluster_size && cpus[c].sd_llc && (u32)c / cluster_size == (u32)target / cluster_size;
}

static u32 far_cluster(s32 c)
{
	return LANDED && sys.cluster_key && c != target && cpus[c].sd_share_id != cpus[target].sd_share_id;
}

static s32 capacity_scan(const struct fg_domain *sd)
{
	u32 best_cap = 0;
	s32 best = target;

	for (u32 i = 0; i < sys.nr_cpus; i++) {
		s32 c = (s32)(((u32)target + i) % sys.nr_cpus);

		if (!in(&sd->span, c) || !ok(c) || !is_free(c))
			continue;
		if (util * 1280 < cpus[c].cpu_capacity * 1024)
			return c;
		if (cpus[c].cpu_capacity > best_cap) {
			best_cap = cpus[c].cpu_capacity;
			best = c;
		}
	}
	return best;
}

static s32 smt_scan(const struct fg_domain *llc, s32 core)
{
	s32 second = -1;

	for (s32 t = 0; t < (s32)sys.nr_cpus; t++) {
		if (!in(&cpus[core].core, t) || !ok(t) || (t == core && F(SMT_NOT_SELF)))
			continue;
		if (F(SMT_IN_LLC) && !in(&llc->span, t))
			continue;
		if (idle(t) || (F(SI_FIRST) && sidle(t)))
			return t;
		if (second < 0 && sidle(t))
			second = t;
	}
	return second;
}

static void drop_core(s32 c)
{
	for (s32 t = 0; t < (s32)sys.nr_cpus; t++)
		left[t] &= !in(&cpus[c].core, t);
}

/* 1: c's core is wholly idle. */
static u32 core_probe(s32 c)
{
	u32 whole = 1;

	for (s32 t = 0; t < (s32)sys.nr_cpus; t++) {
		u32 member = F(CORE_PROBE_LEFT) ? left[t] : ok(t);

		if (!in(&cpus[c].core, t))
			continue;
		if (idle(t)) {
			if (in_hand < 0 && member)
				in_hand = t;
			continue;
		}
		whole = 0;
		if (in_hand >= 0)
			break;
		if (sidle(t) && member) {
			in_hand = t;
			break;
		}
	}
	if (!whole)
		drop_core(c);
	return whole;
}

/* One wrapped walk over the CPUs of span that are left: 0 goes on, 1 found, 2 out of budget. */
static u32 walk(const struct fg_mask *span, s32 start, u32 hint)
{
	u32 fussy = F(SIS_MODE) == FG_SIS_PROP54;

	for (u32 i = 0; i < sys.nr_cpus; i++) {
		s32 c = (s32)(((u32)start + i) % sys.nr_cpus);

		if (!in(span, c) || !left[c])
			continue;
		if (hint) {
			if (core_probe(c)) {
				in_hand = c;
				return 1;
			}
			continue;
		}
		if (--nr == 0)
			return 2;
		o.scanned++;
		if (idle(c) || (!fussy && sidle(c))) {
			in_hand = c;
			return 1;
		}
		if (fussy && in_hand < 0 && sidle(c))
			in_hand = c;
	}
	return 0;
}

/* The budget; 0: no scan. */
static u64 budget(u32 weight, u32 hint)
{
	const struct fg_cpu *this_rq = &cpus[wake->this_cpu];
	u64 ai = this_rq->avg_idle / 512, ac, S;

	if (F(SIS_MODE) == FG_SIS_UTIL)
		return cpus[target].llc->nr_idle_scan ? cpus[target].llc->nr_idle_scan + 1 : 0;
	if (!this_rq->sd_llc)
		return 0;
	if (hint)
		return ~0ull;
	if (F(SIS_MODE) == FG_SIS_PROP_AGED) {
		u64 stamp = this_rq->wake_stamp, jiffies = wake->now / 4000000;

		for (ai = this_rq->wake_avg_idle; stamp < jiffies && ai; stamp++)
			ai /= 2;
	}
	ac = this_rq->sd_llc->avg_scan_cost + 1;
	S = weight * ai;
	return S > 4 * ac ? S / ac : 4;
}

static s32 llc_scan(const struct fg_domain *llc, u32 hint)
{
	s32 start = (target + F(SCAN_NEXT)) % (s32)sys.nr_cpus;
	u32 end = 0, levels = F(CLS_SELECT) == FG_CLS_LEVELS && cluster_size, cluster_weight = 0;

	RULE(B8, A8, C8);
	memset(&cluster, 0, sizeof(cluster));
	for (s32 c = 0; c < (s32)sys.nr_cpus; c++) {
		if (near_cluster(c)) {
			mask_set(&cluster, c);
			cluster_weight++;
		}
	}
	nr = budget(F(LEVELS_NR) && levels ? cluster_weight : llc->weight, hint);
	if (!nr)
		return -1;
	for (s32 c = 0; c < (s32)sys.nr_cpus; c++)
		left[c] = in(&llc->span, c) && ok(c);
	in_hand = -1;
	if (levels)
		hint ? RULE(B7, A7, NONE) : RULE(B8, A8, NONE);
	else
		o.rule = FG_RULE_C8C;
	if (levels || (LANDED && cluster_size)) {
		end = walk(&cluster, start, hint);
		for (s32 c = 0; c < (s32)sys.nr_cpus; c++)
			left[c] &= !in(&cluster, c);
	}
	if (!end) {
		hint ? RULE(B7, A7, C8I) : RULE(B8, A8, C8);
		end = walk(&llc->span, start, hint);
	}
	if (end == 2)
		return in_hand;
	if (!hint && F(SIS_MODE) != FG_SIS_UTIL)
		o.writes |= FG_W_SCAN_COST;
	if (end == 1)
		return in_hand;
	if (hint) {
		o.writes |= FG_W_NO_IDLE_CORES;
		RULE(B8, A8, C8);
	}
	return F(SIS_MODE) == FG_SIS_PROP54 ? -1 : in_hand;
}

/* B7 of spec 4.1, alone before the scans were merged. */
static s32 core_scan(const struct fg_domain *llc)
{
	for (s32 c = 0; c < (s32)sys.nr_cpus; c++)
		left[c] = in(&llc->span, c) && ok(c);
	for (u32 i = 0; i < sys.nr_cpus; i++) {
		s32 c = (s32)(((u32)target + i) % sys.nr_cpus);
		u32 whole = 1;

		if (!left[c])
			continue;
		for (s32 t = 0; whole && t < (s32)sys.nr_cpus; t++)
			whole = !in(&cpus[c].core, t) || idle(t);
		if (whole)
			return c;
		drop_core(c);
	}
	o.writes |= FG_W_NO_IDLE_CORES;
	return -1;
}

static void used_recent(void)
{
	o.writes |= FG_W_RECENT;
}

/* Rows 1 to 4 of 4.4; of 4.1 and 4.2 those before the LLC. */
static s32 known_cpus(void)
{
	s32 r = task->recent_used;
	const struct fg_task *curr = wake->current;

	RULE(B2, A1, C1);
	if (near(target) && is_free(target) && fit(target))
		return target;
	RULE(B3, A2, C2);
	if (prev != target && near(prev) && is_free(prev) && fit(prev)) {
		if (!far_cluster(prev))
			return prev;
		scan_prev_aff = prev;
	}
	RULE(B4, A3, C3);
	if (F(PERCPU_KTHREAD) && curr && curr->flags & FG_TASK_PERCPU_KTHREAD && prev == wake->this_cpu &&
	    cpus[prev].nr_running <= 1 && (!F(KTHREAD_FIT) || (!(wake->flags & FG_WF_IRQ) && fit(prev))))
		return prev;
	RULE(B5, A4, C4);
	if (F(RECENT_PREV))
		used_recent();
	if (r != prev && r != target && ok(r) && near(r) && is_free(r) && fit(r)) {
		if (!far_cluster(r)) {
			used_recent();
			return r;
		}
		scan_recent = r;
	}
	return -1;
}

static s32 llc_rows(void)
{
	const struct fg_domain *llc = cpus[target].sd_llc;
	u32 hint;
	s32 c = -1;

	RULE(B6, A6, C6);
	if (!llc)
		return target;
	hint = sys.smt_key && cpus[target].llc->has_idle_cores;
	if (F(SIS_SMT_PREV) && sys.smt_key && !hint && share_cache(prev, target)) {
		RULE(B9P, A9P, C7);
		c = smt_scan(llc, prev);
	}
	if (c < 0 && !F(SIS_MERGED) && hint) {
		RULE(B7, A7, C8I);
		c = core_scan(llc);
	}
	if (c < 0 && F(CLS_SELECT) == FG_CLS_LOOP && !sys.smt_key && cluster_size) {
		RULE(B7C, A7C, NONE);
		for (u32 i = 0; c < 0 && i < sys.nr_cpus; i++) {
			s32 t = (s32)(((u32)target + i) % sys.nr_cpus);

			if (near_cluster(t) && ok(t) && idle(t))
				c = t;
		}
	}
	if (c < 0)
		c = llc_scan(llc, F(SIS_MERGED) && hint);
	if (c < 0 && sys.smt_key && !F(SIS_SMT_PREV)) {
		RULE(B9, A9, NONE);
		c = smt_scan(llc, target);
	}
	if (c >= 0)
		return c;
	if (scan_prev_aff >= 0) {
		o.rule = FG_RULE_C9;
		return scan_prev_aff;
	}
	if (scan_recent >= 0) {
		o.rule = FG_RULE_C10;
		used_recent();
		return scan_recent;
	}
	RULE(B10, A10, C11);
	return target;
}

static void model(void)
{
	const struct fg_domain *asym = sys.asym_key && F(ASYM_SCAN) ? cpus[target].sd_asym_cpucapacity : 0;

	memset(&o, 0, sizeof(o));
	scan_prev_aff = scan_recent = -1;
	if (sys.asym_key && (F(ASYM_PREV_FIRST) || asym))
		o.writes |= FG_W_SYNC;
	if (!F(ASYM_PREV_FIRST) && asym) {
		o.rule = FG_RULE_B1;
		o.cpu = capacity_scan(asym);
		return;
	}
	o.cpu = known_cpus();
	if (o.cpu < 0 && asym) {
		RULE(NONE, A5, C5);
		o.cpu = capacity_scan(asym);
	} else if (o.cpu < 0) {
		o.cpu = llc_rows();
	}
}

/* ---- random wakeups ---- */

/* CPU x is in no domain: an isolated sibling of the others of its core. */
static void isolate(u32 x)
{
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		for (u32 l = 0; l < KIT_LEVELS; l++)
			mask_clear(&domains[c][l].span, (s32)x);
	}
	for (u32 g = 0; g < nr_groups; g++)
		mask_clear(&groups[g].span, (s32)x);
	if (cpus[x].cluster) {
		mask_clear(&cpus[x].cluster->span, (s32)x);
		cpus[x].cluster->weight--;
		cpus[x].cluster = 0;
	}
	cpus[x].sd = cpus[x].sd_llc = cpus[x].sd_asym_cpucapacity = 0;
	cpus[x].llc = 0;
	cpus[x].balance_shared = 0;
	cpus[x].sd_llc_id = cpus[x].sd_share_id = (s32)x;
	cpus[x].sd_llc_size = 1;
}

/* Threads in cores in clusters in LLCs. */
static void random_machine(u32 landed)
{
	static const u32 cores_of[] = { 1, 2, 4 };
	u32 threads = rnd(2)   ? 1
		      : rnd(2) ? 2
			       : 4,
	    cores = cores_of[rnd(3)], clusters = 1 + rnd(6), llcs_nr = 1 + rnd(2);
	u32 llc = threads * cores * clusters, n = llc * llcs_nr;
	u32 apart = threads > 1 && cores == 1 && llcs_nr == 1 && rnd(2), asym = rnd(5) == 0;

	kit_init(n);
	if (threads > 1)
		kit_smt(threads, apart ? clusters : 1);
	if (asym)
		kit_capacity(0, n / 2, 462);
	if (threads > 1 && !apart)
		kit_level(FG_LEVEL_SMT, SD_SMT, 110, threads);
	cluster_size = cores > 1 && clusters > 1 ? threads * cores : 0;
	if (cluster_size && rnd(3))
		kit_level(FG_LEVEL_CLS, landed ? SD_CLS : SD_MC, 117, cluster_size);
	else if (cluster_size)
		kit_clusters(cluster_size);
	if (llc > threads || apart)
		kit_level(FG_LEVEL_MC, SD_MC | (asym ? FG_SD_ASYM_CPUCAPACITY : 0), 117, llc);
	if (llcs_nr > 1)
		kit_level(FG_LEVEL_PKG, SD_DEFAULT, 117, n);
	kit_finish();
	if (landed && cluster_size)
		kit_landed();
	if (rnd(4) == 0)
		isolate(rnd(n));
	sys.asym_key |= rnd(8) == 0;
}

/* What crates/fair lets be combined. */
static void random_features(u32 cls)
{
	u8 *f = sys.feat.value;
	static const u32 any[] = { FG_ASYM_PREV_FIRST, FG_ASYM_CHECK_SCOPE, FG_RECENT_PREV,  FG_SIS_MERGED,
				   FG_SIS_SMT_PREV,    FG_SMT_IN_LLC,	    FG_SMT_NOT_SELF, FG_SCAN_NEXT,
				   FG_KTHREAD_FIT,     FG_PERCPU_KTHREAD,   FG_SI_FIRST,     FG_CORE_PROBE_LEFT,
				   FG_LEVELS_NR };

	kit_preset_v59();
	for (u32 i = 0; i < sizeof(any) / sizeof(any[0]); i++)
		f[any[i]] = (u8)rnd(2);
	f[FG_CLS_SELECT] = (u8)cls;
	f[FG_SIS_MODE] = (u8)rnd(4);
	if (cls == FG_CLS_LANDED)
		f[FG_ASYM_PREV_FIRST] = f[FG_SIS_MERGED] = f[FG_SIS_SMT_PREV] = 1;
	if (f[FG_SIS_MODE] == FG_SIS_UTIL)
		f[FG_SIS_MERGED] = 1;
	if (f[FG_SIS_MERGED] && f[FG_SIS_MODE] == FG_SIS_PROP54)
		f[FG_SIS_MODE] = FG_SIS_PROP;
	f[FG_LEVELS_NR] &= cls == FG_CLS_LEVELS;
}

static void random_state(void)
{
	u32 busy = rnd(3) ? 60 + rnd(41) : rnd(100);

	for (u32 c = 0; c < sys.nr_cpus; c++) {
		struct fg_cpu *rq = &cpus[c];

		kit_idle(c);
		if (rnd(100) < busy)
			rnd(12) ? kit_busy(c) : kit_sched_idle(c);
		if (!rq->curr_is_idle) {
			rq->nr_running += rnd(4) == 0;
			filler[c].flags = rnd(8) == 0 ? FG_TASK_PERCPU_KTHREAD : 0;
		}
		rq->ttwu_pending = rnd(32) == 0;
		rq->avg_idle = rnd(3) ? rnd(1000000) : 0;
		rq->wake_avg_idle = rnd(500000);
		rq->wake_stamp = rnd(10);
		if (rq->llc) {
			rq->llc->has_idle_cores = rnd(2);
			rq->llc->nr_idle_scan = rnd(4) ? rnd(rq->sd_llc->weight + 1) : 0;
		}
		if (rq->sd_llc)
			rq->sd_llc->avg_scan_cost = rnd(2) ? rnd(5000) : rnd(200000);
	}
}

static struct fg_task random_task(void)
{
	struct fg_task p = kit_task(1, rnd(sys.nr_cpus));

	kit_util(&p, rnd(1024));
	p.recent_used = (s32)rnd(sys.nr_cpus);
	for (u32 c = 0; rnd(2) && c < sys.nr_cpus; c++) {
		if (rnd(4) == 0) {
			mask_clear(&p.allowed, (s32)c);
			p.nr_allowed--;
		}
	}
	return p;
}

static struct fg_why why;
static u32 noted[FG_NR_NOTES];

static void compare(const struct fg_task *p, struct fg_wake *w)
{
	struct select_ctx s;
	struct fg_verdict v, asked;
	s32 cpu;

	memset(&s, 0, sizeof(s));
	memset(&v, 0, sizeof(v));
	s.sys = &sys;
	s.p = p;
	s.w = w;
	s.v = &v;
	s.prev = prev;
	s.target = target;
	s.util_avg = p->avg.util_avg;
	model();
	cpu = select_idle_sibling(&s);
	CHECK_EQ(cpu, o.cpu);
	CHECK_EQ(v.rule, o.rule);
	CHECK_EQ(v.writes, o.writes);
	CHECK_EQ(v.probes, o.probes);
	CHECK_EQ(v.scanned, o.scanned);
	if (v.writes & FG_W_RECENT)
		CHECK_EQ(v.recent_used, prev);
	/* with notes the answer is the same, and the last note has its rule */
	asked = v;
	memset(&v, 0, sizeof(v));
	s.synced = 0;
	why.nr = why.lost = 0;
	w->why = &why;
	CHECK_EQ(select_idle_sibling(&s), cpu);
	CHECK(!memcmp(&v, &asked, sizeof(v)));
	for (u32 i = 0; i < why.nr; i++) {
		CHECK(why.note[i].id < FG_NR_NOTES && why.note[i].rule < FG_NR_RULES && why.note[i].rule);
		noted[why.note[i].id]++;
	}
	w->why = 0;
}

TEST(the_fast_path_of_every_version_is_the_specification)
{
	static u32 seen[FG_NR_RULES];

	for (u32 i = 0; i < 60000; i++) {
		struct fg_task p;
		struct fg_wake w;
		static u32 cls;

		if (i % 20 == 0) {
			cls = rnd(4);
			random_machine(cls == FG_CLS_LANDED);
		}
		random_features(cls);
		random_state();
		p = random_task();
		w.this_cpu = rnd(3) ? p.cpu : (s32)rnd(sys.nr_cpus);
		w.current = cpus[w.this_cpu].curr;
		w.now = rnd(40000000);
		w.flags = FG_WF_TTWU | (rnd(4) ? 0 : FG_WF_IRQ);
		w.why = 0;
		prev = p.cpu;
		target = rnd(2) ? prev : w.this_cpu;
		util = p.est.enqueued | 1; /* odd in v5.9 */
		task = &p;
		wake = &w;
		compare(&p, &w);
		seen[o.rule]++;
		if (test_bad) {
			printf("at wakeup %u\n", i);
			return;
		}
	}
	/* every row of the three tables had its turn */
	for (u32 rule = FG_RULE_B1; rule <= FG_RULE_C11; rule++) {
		if (seen[rule] < 20)
			printf("rule %u: %u times\n", rule, seen[rule]);
		CHECK(seen[rule] >= 20);
	}
	for (u32 id = FG_NOTE_KTHREAD; id <= FG_NOTE_SPENT; id++)
		CHECK(noted[id] > 0);
}

int main(void)
{
	RUN(the_fast_path_of_every_version_is_the_specification);
	return test_report();
}

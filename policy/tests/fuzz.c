/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random machines in random states: a placement changes nothing it looks at, ends on a CPU the task may use, and the
 * fast path agrees with tables 4.1 and 4.2 written down once more as plainly as possible (no masks, no early tricks).
 */
#include "kit.h"

static u64 seed = 42;

static u32 rnd(u32 n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(seed >> 33) % n;
}

static u32 plain_idle(s32 c)
{
	return cpus[c].curr_is_idle && cpus[c].nr_running == 0 && !cpus[c].ttwu_pending;
}

static u32 plain_free(s32 c)
{
	return plain_idle(c) || (cpus[c].nr_running > 0 && cpus[c].nr_running == cpus[c].idle_h_nr_running);
}

static u32 in(const struct fg_mask *m, u32 c)
{
	return m->bits[c / 64] >> (c % 64) & 1;
}

/* util: what the task needs, already clamped. Returns the CPU and its row: 1..10 of B, 101..110 of A. */
static s32 plain_sibling(const struct fg_task *p, const struct fg_wake *w, s32 target, u32 util, u32 *row)
{
	u32 after = sys.feat.value[FG_ASYM_PREV_FIRST], n = sys.nr_cpus;
	u32 base = after ? 99 : 0; /* A1 is B2's twin */
	s32 prev = p->cpu, r = p->recent_used, best = -1;
	const struct fg_domain *asym = sys.asym_key ? cpus[target].sd_asym_cpucapacity : 0;
	const struct fg_domain *llc = cpus[target].sd_llc, *this_llc = cpus[w->this_cpu].sd_llc;
	u32 best_cap = 0;

#define FIT(c) (!after || !sys.asym_key || util * 1280 < cpus[c].cpu_capacity * 1024)
#define NEAR(c) (cpus[c].sd_llc_id == cpus[target].sd_llc_id)
	for (u32 pass = 0; pass < 2; pass++) {
		if (pass == after && asym) {
			*row = after ? 105 : 1;
			for (u32 i = 0; i < n; i++) {
				u32 c = ((u32)target + i) % n;

				if (!in(&asym->span, c) || !in(&p->allowed, c) || !plain_free((s32)c))
					continue;
				if (util * 1280 < cpus[c].cpu_capacity * 1024)
					return (s32)c;
				if (cpus[c].cpu_capacity > best_cap) {
					best_cap = cpus[c].cpu_capacity;
					best = (s32)c;
				}
			}
			return best < 0 ? target : best;
		}
		if (pass)
			break;
		if (!after && asym)
			continue;
		*row = base + 2;
		if (plain_free(target) && FIT(target))
			return target;
		*row = base + 3;
		if (prev != target && NEAR(prev) && plain_free(prev) && FIT(prev))
			return prev;
		*row = base + 4;
		if (w->current && (w->current->flags & FG_TASK_PERCPU_KTHREAD) && prev == w->this_cpu &&
		    cpus[prev].nr_running <= 1)
			return prev;
		*row = base + 5;
		if (r != prev && r != target && NEAR(r) && plain_free(r) && in(&p->allowed, (u32)r) && FIT(r))
			return r;
	}
	base = after ? 100 : 0;
	*row = base + 6;
	if (!llc)
		return target;
	*row = base + 7;
	for (u32 i = 0; sys.smt_key && cpus[target].llc->has_idle_cores && i < n; i++) {
		u32 c = ((u32)target + i) % n, idle = 1;

		if (!in(&llc->span, c) || !in(&p->allowed, c))
			continue;
		for (u32 t = 0; t < n; t++)
			idle &= !in(&cpus[c].core, t) || plain_idle((s32)t);
		if (idle)
			return (s32)c;
	}
	*row = base + 8;
	if (this_llc) {
		u64 span = llc->weight * (cpus[w->this_cpu].avg_idle / 512), cost = this_llc->avg_scan_cost + 1;
		u64 nr = span > 4 * cost ? span / cost : 4;

		for (u32 i = 0; i < n; i++) {
			u32 c = ((u32)target + i) % n;

			if (!in(&llc->span, c) || !in(&p->allowed, c))
				continue;
			if (--nr == 0)
				break;
			if (plain_free((s32)c))
				return (s32)c;
		}
	}
	*row = base + 9;
	for (u32 c = 0; sys.smt_key && c < n; c++) {
		if (!in(&cpus[target].core, c) || !in(&p->allowed, c) || !plain_free((s32)c))
			continue;
		if (!sys.feat.value[FG_SMT_IN_LLC] || in(&llc->span, c))
			return (s32)c;
	}
	*row = base + 10;
	return target;
}

static u32 rule_row(u32 rule)
{
	static const u32 before[] = { FG_RULE_B1, FG_RULE_B2, FG_RULE_B3, FG_RULE_B4, FG_RULE_B5,
				      FG_RULE_B6, FG_RULE_B7, FG_RULE_B8, FG_RULE_B9, FG_RULE_B10 };
	static const u32 after[] = { FG_RULE_A1, FG_RULE_A2, FG_RULE_A3, FG_RULE_A4, FG_RULE_A5,
				     FG_RULE_A6, FG_RULE_A7, FG_RULE_A8, FG_RULE_A9, FG_RULE_A10 };

	for (u32 i = 0; i < 10; i++) {
		if (rule == before[i])
			return 1 + i;
		if (rule == after[i])
			return 101 + i;
	}
	return 0;
}

static void random_machine(void)
{
	static const u32 sizes[] = { 1, 2, 6, 8, 16, 70, 130 };
	u32 n = sizes[rnd(7)], smt = rnd(2) && n % 2 == 0, llc = n <= 2 || rnd(2) ? n : n / 2, asym = rnd(2);

	kit_init(n);
	if (smt)
		kit_smt(2, rnd(2) ? 1 : n / 2);
	if (asym) {
		kit_capacity(0, n / 2, 462);
		kit_capacity(0, n / 4, 160);
	}
	if (rnd(10)) {
		kit_level(FG_LEVEL_MC, SD_MC | (asym && llc == n ? FG_SD_ASYM_CPUCAPACITY : 0), 117, llc);
		if (llc != n)
			kit_level(FG_LEVEL_PKG, (rnd(2) ? SD_DEFAULT : SD_NUMA) | (asym ? FG_SD_ASYM_CPUCAPACITY : 0),
				  125, n);
	}
	kit_finish();
	sys.asym_key |= rnd(8) == 0;
	if (rnd(2))
		kit_preset_v511();
}

/* Up to v5.6: the slow path for big tasks, and 002's last patches as far as they are in. */
static void random_old_version(void)
{
	u8 *f = sys.feat.value;

	f[FG_ASYM_SCAN] = f[FG_ASYM_PREV_FIRST] = 0;
	f[FG_WAKE_CAP] = 1;
	f[FG_LB_P09] = (u8)rnd(2);
	f[FG_LB_P10] = f[FG_LB_P09] && rnd(2);
	f[FG_LB_P11] = f[FG_LB_P09] && rnd(2);
	f[FG_FIG_WRAP] = (u8)rnd(2);
	for (u32 c = 0; sys.asym_key && c < sys.nr_cpus; c++) {
		for (struct fg_domain *sd = cpus[c].sd; sd; sd = sd->parent)
			sd->flags |= FG_SD_BALANCE_WAKE;
	}
}

static void random_state(void)
{
	u32 busy = rnd(100);

	for (u32 c = 0; c < sys.nr_cpus; c++) {
		struct fg_cpu *rq = &cpus[c];

		kit_idle(c);
		if (rnd(100) < busy)
			rnd(8) ? kit_busy(c) : kit_sched_idle(c);
		if (!rq->curr_is_idle) {
			rq->nr_running += rnd(3) == 0;
			filler[c].flags = rnd(8) == 0 ? FG_TASK_PERCPU_KTHREAD : 0;
			filler[c].avg.load_avg = rnd(2000);
		}
		rq->ttwu_pending = rnd(16) == 0;
		rq->cfs.load_avg = rnd(4000);
		rq->queued.load_avg = rq->cfs.load_avg / (1 + c % 3);
		rq->cfs.util_avg = rnd(1100);
		rq->cfs.runnable_avg = rnd(1500);
		rq->est_enqueued = rnd(1100);
		rq->cfs.last_update = rnd(2) ? 0 : (u64)rnd(100) << 20;
		rq->avg_idle = rnd(3) ? rnd(1000000) : 0;
		rq->idle_state = (s32)rnd(4) - 1;
		rq->idle_exit_latency = rnd(3) * 1000;
		rq->idle_stamp = rnd(100);
		if (rq->llc)
			rq->llc->has_idle_cores = rnd(2);
		if (rq->sd_llc)
			rq->sd_llc->avg_scan_cost = rnd(5000);
	}
}

static struct fg_task random_task(void)
{
	struct fg_task p = kit_task(1, rnd(sys.nr_cpus));

	kit_util(&p, rnd(1024));
	p.avg.load_avg = rnd(2000);
	p.recent_used = (s32)rnd(sys.nr_cpus);
	p.wakee_flips = rnd(20);
	if (rnd(2)) {
		memset(&p.allowed, 0, sizeof(p.allowed));
		p.nr_allowed = 0;
		for (u32 c = 0; c < sys.nr_cpus; c++) {
			if (rnd(2)) {
				mask_set(&p.allowed, c);
				p.nr_allowed++;
			}
		}
	}
	return p;
}

/* Any version of the capacity tests, clamps and limits included. */
static void random_capacity_tests(struct fg_task *p)
{
	static const u32 id[] = { FG_UCLAMP_FIT, FG_UFC,   FG_UFC_THERMAL, FG_MISFIT_UNLINK, FG_MU_TRISTATE,
				  FG_MU_SIC,	 FG_MU_OU, FG_HW_PRESSURE, FG_CAPSCAN_NEXT };

	for (u32 i = 0; i < sizeof(id) / sizeof(id[0]); i++)
		sys.feat.value[id[i]] = (u8)rnd(2);
	sys.uclamp_used = (u8)rnd(2);
	p->uclamp_min = rnd(2) ? 0 : rnd(1025);
	p->uclamp_max = rnd(2) ? 1024 : rnd(1025);
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		cpus[c].thermal_pressure = rnd(3) ? 0 : rnd(1200);
		cpus[c].cpufreq_pressure = rnd(3) ? 0 : rnd(1200);
		cpus[c].thermal.load_avg = rnd(3) ? 0 : rnd(1200);
		cpus[c].cpu_capacity_inverted = rnd(4) ? 0 : rnd(1024);
	}
}

/* A sum over everything a placement may look at; it may not change. */
static u64 hash(const void *data, size_t bytes, u64 h)
{
	const u8 *d = data;

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ d[i]) * 1099511628211ull;
	return h;
}

static u64 state_hash(const struct fg_task *p)
{
	u32 n = sys.nr_cpus;
	u64 h = hash(&sys, sizeof(sys), 1);

	h = hash(cpus, n * sizeof(cpus[0]), h);
	h = hash(domains, n * sizeof(domains[0]), h);
	h = hash(groups, nr_groups * sizeof(groups[0]), h);
	h = hash(llcs, n * sizeof(llcs[0]), h);
	h = hash(filler, n * sizeof(filler[0]), h);
	return hash(p, sizeof(*p), h);
}

TEST(the_fast_path_is_the_tables)
{
	u32 seen[128] = { 0 };

	for (u32 i = 0; i < 6000; i++) {
		struct fg_task p;
		struct fg_wake w;
		struct fg_verdict v;
		struct select_ctx s;
		struct fg_avg avg;
		u32 row = 0, util;
		s32 want, got;

		if (i % 20 == 0)
			random_machine();
		random_state();
		p = random_task();
		w.this_cpu = rnd(3) ? p.cpu : (s32)rnd(sys.nr_cpus);
		w.current = cpus[w.this_cpu].curr;
		w.now = 0;
		w.flags = FG_WF_TTWU;
		w.why = 0;
		memset(&s, 0, sizeof(s));
		memset(&v, 0, sizeof(v));
		s.sys = &sys;
		s.p = &p;
		s.w = &w;
		s.v = &v;
		s.prev = p.cpu;
		s.target = rnd(2) ? p.cpu : w.this_cpu;
		s.util_avg = p.avg.util_avg;
		avg = p.avg;
		pelt_decay_blocked(&avg, cpus[p.cpu].cfs.last_update, p.weight);
		util = (u32)(avg.util_avg > p.est.enqueued ? avg.util_avg : p.est.enqueued) | 1;
		if (avg.util_avg > (p.est.enqueued | 1))
			util = (u32)avg.util_avg;
		want = plain_sibling(&p, &w, s.target, util, &row);
		got = select_idle_sibling(&s);
		CHECK_EQ(got, want);
		CHECK_EQ(rule_row(v.rule), row);
		seen[row]++;
		if (test_bad)
			return;
	}
	/* every row had its turn */
	for (u32 row = 1; row <= 10; row++) {
		CHECK(seen[row] > 0);
		CHECK(seen[100 + row] > 0);
	}
}

/* The same question from somebody who also wants to know why. */
static struct fg_verdict ask_why(const struct fg_task *p, u32 this_cpu, u32 flags)
{
	static struct fg_why why;
	struct fg_wake w = { cpus[this_cpu].curr, 1000000, (s32)this_cpu, flags, &why };
	struct fg_verdict v;

	why.nr = 0;
	fg_select_task_rq(&sys, p, &w, &v);
	return v;
}

TEST(placements_look_and_do_not_touch)
{
	static const u32 flags[] = { FG_WF_TTWU, FG_WF_TTWU | FG_WF_SYNC, FG_WF_FORK, FG_WF_EXEC };

	for (u32 i = 0; i < 4000; i++) {
		struct fg_task p;
		struct fg_verdict v, again;
		u32 this_cpu, how;
		u64 before;

		if (i % 20 == 0) {
			random_machine();
			if (rnd(3) == 0)
				random_old_version();
		}
		random_state();
		p = random_task();
		random_capacity_tests(&p);
		this_cpu = rnd(sys.nr_cpus);
		how = flags[rnd(4)];
		if (how == FG_WF_FORK)
			p.flags = FG_TASK_NEW;
		before = state_hash(&p);
		v = kit_wake(&p, this_cpu, how);
		CHECK(state_hash(&p) == before);
		again = kit_wake(&p, this_cpu, how);
		CHECK(!memcmp(&v, &again, sizeof(v)));
		again = ask_why(&p, this_cpu, how);
		CHECK(!memcmp(&v, &again, sizeof(v)));
		CHECK(v.cpu >= 0 && (u32)v.cpu < sys.nr_cpus);
		CHECK(p.nr_allowed == 0 || in(&p.allowed, (u32)v.cpu));
		CHECK(v.rule != FG_RULE_NONE);
		CHECK(v.scanned <= v.probes);
		if (test_bad)
			return;
	}
}

int main(void)
{
	RUN(the_fast_path_is_the_tables);
	RUN(placements_look_and_do_not_touch);
	return test_report();
}

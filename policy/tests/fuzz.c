/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random machines in random states: a placement changes nothing it looks at, ends on a CPU the task may use, and the
 * fast path agrees with tables 4.1 and 4.2 written down once more as plainly as possible (no masks, no early tricks).
 */
#include "random.h"

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

/* The same placement with notes. */
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

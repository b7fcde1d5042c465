/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whole attempts of all versions on random machines with random tasks and affinities: whatever is found, no task gets
 * lost, runs where it may not, or is moved while it runs.
 */
#include "lb_version.h"
#include "random.h"

static void random_domains(void)
{
	u32 n = 4 << rnd(3), smt = rnd(2), flags = rnd(2) ? SD_DEFAULT : SD_NUMA;

	flags |= rnd(3) ? 0 : FG_SD_ASYM_CPUCAPACITY;
	kit_init(n);
	if (smt)
		kit_smt(2, 1);
	for (u32 first = 0; first < n && (flags & FG_SD_ASYM_CPUCAPACITY); first += n / 4)
		kit_capacity(first, first + n / 4 - 1, 1024 >> rnd(3));
	if (smt)
		kit_level(FG_LEVEL_SMT, SD_SMT | (rnd(2) ? FG_SD_ASYM_PACKING : 0), 110, 2);
	kit_level(FG_LEVEL_MC, SD_MC, 117, n / (1 + rnd(2)));
	if (kit_top(0)->weight < n)
		kit_level(FG_LEVEL_PKG, flags, 125, n);
	lb_finish(504 + rnd(109));
	if (rnd(2)) {
		/* v5.4 with some of the patches it can have */
		lb_version(504);
		sys.feat.value[FG_LB_P01] = (u8)rnd(2);
		sys.feat.value[FG_LB_P03] = (u8)rnd(2);
	}
	for (u32 i = 0; i < nr_groups; i++)
		groups[i].imbalance = rnd(8) == 0;
	sys.eas = rnd(8) == 0;
}

static void pin_somewhere(struct fg_task *p)
{
	memset(&p->allowed, 0, sizeof(p->allowed));
	p->nr_allowed = 0;
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		if ((s32)c == p->cpu || rnd(3) == 0) {
			mask_set(&p->allowed, (s32)c);
			p->nr_allowed++;
		}
	}
}

static void random_tasks(void)
{
	u32 crowd = 1 + rnd(5), pinned = rnd(4), load = 50 + rnd(3000);

	for (u32 c = 0; c < sys.nr_cpus; c++) {
		for (u32 nr = rnd(4) ? rnd(crowd + 1) : 0, i = 0; i < nr; i++) {
			struct fg_task *p = i ? lb_wait(c, load / (1 + rnd(4))) : lb_run(c, load / (1 + rnd(4)));

			lb_task_util(p, rnd(1024));
			if (rnd(4) < pinned)
				pin_somewhere(p);
			if (rnd(4) == 0)
				p->exec_start = cpus[c].clock_task;
			if (rnd(8) == 0)
				cpus[c].misfit_task_load = load;
		}
	}
}

static u32 tasks_on(u32 cpu)
{
	u32 nr = 0;

	for (u32 i = 0; i < lb_nr; i++)
		nr += lb_task[i].on_rq && lb_task[i].cpu == (s32)cpu;
	return nr;
}

/* 1: all tasks are where they may be, and counted there. */
static u32 in_order(void)
{
	u32 all = 0;

	for (u32 c = 0; c < sys.nr_cpus; c++) {
		u32 nr = tasks_on(c);

		all += nr;
		if (cpus[c].h_nr_running != nr || cpus[c].nr_running != nr)
			return 0;
		if (cpus[c].curr && cpus[c].curr->cpu != (s32)c)
			return 0;
	}
	for (u32 i = 0; i < lb_nr; i++) {
		if (!mask_test(&lb_task[i].allowed, lb_task[i].cpu))
			return 0;
	}
	return all == lb_nr;
}

/* 1: what an attempt of this kind says of itself is possible. */
static u32 plausible(u32 cpu, u32 level, u32 kind, const struct lb_report *r)
{
	const struct fg_domain *sd = &domains[cpu][level];

	if (r->rule == FG_BALANCE_RULE_NONE || r->rule >= FG_NR_BALANCE_RULES)
		return 0;
	if (!balance_rule_moves(r->rule) && (r->active || (r->moved && r->rule != FG_BALANCE_RULE_PINNED)))
		return 0;
	if (r->moved && (r->active || r->src < 0))
		return 0;
	if (r->src >= 0 && (!mask_test(&sd->span, r->src) || mask_test(&sd->groups->span, r->src)))
		return 0;
	if (r->active && (!cpus[r->src].active_balance || cpus[r->src].push_cpu != (s32)cpu))
		return 0;
	/* No stopper is asked to push a task that the CPU may not run. */
	if (r->active && !mask_test(&cpus[r->src].curr->allowed, (s32)cpu))
		return 0;
	if (sd->balance_interval > 512 || sd->balance_interval < sd->min_interval)
		return 0;
	return kind != FG_CPU_NEWLY_IDLE || r->moved <= 1;
}

/* A CPU that has pulled a task runs one. */
static void run_on_idle_cpus(void)
{
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		s32 i = -1;

		lb_round++;
		if (!cpus[c].curr && tasks_on(c))
			i = lb_next((s32)c);
		if (i < 0)
			continue;
		lb_task[i].on_cpu = 1;
		cpus[c].curr = &lb_task[i];
		cpus[c].curr_is_idle = 0;
		cpus[c].idle_stamp = 0;
	}
}

static u32 kind_of(u32 cpu)
{
	if (!fg_idle_rq(&cpus[cpu]))
		return FG_CPU_NOT_IDLE;
	return rnd(2) ? FG_CPU_IDLE : FG_CPU_NEWLY_IDLE;
}

TEST(nobody_gets_lost)
{
	u32 moved = 0, pushed = 0, asked = 0, bad = 0;

	for (u32 round = 0; round < 8000 && !bad; round++) {
		random_domains();
		random_tasks();
		for (u32 turn = 0; turn < 12 && !bad; turn++) {
			u32 cpu = rnd(sys.nr_cpus), level = 0, kind = kind_of(cpu);
			struct lb_report r;

			while (domains[cpu][level].parent && rnd(2))
				level++;
			r = lb_attempt(cpu, level, kind);
			bad = !in_order() || !plausible(cpu, level, kind, &r);
			moved += r.moved;
			if (r.active) {
				asked++;
				pushed += lb_stopper((u32)r.src) >= 0;
				bad |= !in_order() || cpus[r.src].active_balance;
			}
			run_on_idle_cpus();
			if (bad)
				printf("round %u, turn %u: CPU %u, level %u, kind %u, rule %u, %u moved\n", round, turn,
				       cpu, level, kind, r.rule, r.moved);
		}
	}
	CHECK_EQ(bad, 0);
	CHECK(moved > 1000);
	CHECK(asked > 100);
	CHECK(pushed > 50);
}

int main(void)
{
	RUN(nobody_gets_lost);
	return test_report();
}

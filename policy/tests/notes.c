/* SPDX-License-Identifier: GPL-2.0-only */
/* The notes of placements: scenarios, and every note they make, in order. */
#include "kit.h"

struct expected {
	u32 rule;
	u32 id;
	s32 cpu;
	u64 a;
	u64 b;
	u64 c;
};

static struct fg_why why;

static void check_notes(const struct expected *want, u32 nr)
{
	CHECK_EQ(why.nr, nr);
	for (u32 i = 0; i < nr && i < why.nr; i++) {
		const struct fg_note *got = &why.note[i];

		if (got->rule != want[i].rule || got->id != want[i].id || got->cpu != want[i].cpu ||
		    got->a != want[i].a || got->b != want[i].b || got->c != want[i].c) {
			printf("note %u: rule %u id %u cpu %d a %llu b %llu c %llu\n", i, got->rule, got->id, got->cpu,
			       got->a, got->b, got->c);
			CHECK(0);
		}
	}
}

#define CHECK_NOTES(want) check_notes(want, sizeof(want) / sizeof(want[0]))

static struct fg_verdict ask(const struct fg_task *p, u32 this_cpu, u32 flags)
{
	struct fg_wake w = { cpus[this_cpu].curr, 1000000, (s32)this_cpu, flags, &why };
	struct fg_verdict v;

	why.nr = why.lost = 0;
	fg_select_task_rq(&sys, p, &w, &v);
	return v;
}

/* Clusters of 4 in an LLC of 8; everything busy. */
static void machine(void)
{
	kit_init(8);
	kit_level(FG_LEVEL_CLS, SD_CLS, 117, 4);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 8);
	kit_finish();
	kit_preset_v612();
	kit_busy_range(0, 7);
}

TEST(a_wakeup_over_clusters)
{
	const struct expected want[] = {
		{ 0, FG_NOTE_NOT_WIDE, 0, 1, 0, 8 },
		{ 0, FG_NOTE_BUSY, 0, 1, 0, 0 },
		{ 0, FG_NOTE_SYNC, 0, 1, 0, 0 },
		{ 0, FG_NOTE_TARGET, 0, 0, 0, 0 },
		{ FG_RULE_C1, FG_NOTE_BUSY, 0, 1, 0, 0 },
		{ FG_RULE_C2, FG_NOTE_FREE, 6, 0, 0, 0 },
		{ FG_RULE_C2, FG_NOTE_OTHER_CLUSTER, 6, 0, 0, 0 },
		{ FG_RULE_C3, FG_NOTE_KTHREAD, 0, 1, 0, 0 },
		{ FG_RULE_C4, FG_NOTE_SAME, 6, 0, 0, 0 },
		{ FG_RULE_C8, FG_NOTE_IDLE_SCAN, 0, 2, 8, 0 },
		{ FG_RULE_C8C, FG_NOTE_BUSY, 1, 1, 0, 0 },
		{ FG_RULE_C8C, FG_NOTE_BUSY, 2, 1, 0, 0 },
		{ FG_RULE_C8C, FG_NOTE_SPENT, 3, 0, 0, 0 },
	};
	struct fg_task p;

	machine();
	llcs[0].nr_idle_scan = 2;
	kit_idle(6);
	filler[0].flags = FG_TASK_PERCPU_KTHREAD;
	p = kit_task(1, 6);
	CHECK_EQ(ask(&p, 0, FG_WF_TTWU | FG_WF_SYNC).rule, FG_RULE_C9);
	CHECK_NOTES(want);
}

TEST(a_wakeup_over_a_hint)
{
	const struct expected want[] = {
		{ 0, FG_NOTE_NOT_WIDE, 0, 1, 0, 4 },
		{ 0, FG_NOTE_TARGET, 0, 0, 0, 0 },
		{ FG_RULE_A1, FG_NOTE_BUSY, 0, 1, 0, 0 },
		{ FG_RULE_A4, FG_NOTE_FORBIDDEN, 3, 0, 0, 0 },
		{ FG_RULE_A9P, FG_NOTE_HINT, 0, 0, 0, 0 },
		{ FG_RULE_A8, FG_NOTE_IDLE_SCAN_CORES, 0, 4, 4, 0 },
		{ FG_RULE_A7, FG_NOTE_BUSY, 0, 1, 0, 0 },
		{ FG_RULE_A7, FG_NOTE_FREE, 1, 0, 0, 0 },
		{ FG_RULE_A7, FG_NOTE_REMEMBERED, 1, 0, 0, 0 },
		{ FG_RULE_A7, FG_NOTE_BUSY, 2, 1, 0, 0 },
		{ FG_RULE_A7, FG_NOTE_HINT_WRONG, 0, 0, 0, 0 },
	};
	struct fg_task p;

	kit_init(4);
	kit_smt(2, 1);
	kit_level(FG_LEVEL_SMT, SD_SMT, 110, 2);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_finish();
	kit_preset_v61();
	kit_busy_range(0, 3);
	kit_idle(1);
	llcs[0].has_idle_cores = 1;
	llcs[0].nr_idle_scan = 4;
	p = kit_task(1, 0);
	p.recent_used = 3;
	kit_allow(&p, 0, 2);
	CHECK_EQ(ask(&p, 0, FG_WF_TTWU).rule, FG_RULE_A8);
	CHECK_NOTES(want);
	/* v5.16: the same, but a search for cores has no limit, so none is noted */
	kit_preset_v516();
	ask(&p, 0, FG_WF_TTWU);
	CHECK_EQ(why.nr, sizeof(want) / sizeof(want[0]) - 1);
	CHECK_EQ(why.note[5].id, FG_NOTE_BUSY);
}

/* Two LLCs of 4, waker and prev in different ones. */
static void loaded_llcs(void)
{
	kit_two_llcs(125);
	cpus[0].nr_running = 2;
	cpus[0].cfs.load_avg = 2048;
	cpus[4].cfs.load_avg = 4096;
	cpus[4].cpu_capacity = 512;
}

/*
 * Of 2048 the waker's 1023 leave (task_h_load loses one), the task brings 511: (1025 + 511) * 100 * 512 is less than
 * (4096 - 511) * 112 * 1024.
 */
TEST(a_target_by_load)
{
	const struct expected want[] = {
		{ 0, FG_NOTE_NOT_WIDE, 0, 1, 0, 4 },
		{ 0, FG_NOTE_BUSY, 0, 2, 0, 0 },
		{ 0, FG_NOTE_SYNC, 0, 2, 0, 0 },
		{ 0, FG_NOTE_LOAD_LEFT, 0, 1025, 511, 1024 },
		{ 0, FG_NOTE_LOAD_PREV, 4, 4096, 512, 112 },
		{ 0, FG_NOTE_TARGET, 0, 0, 0, 0 },
		{ FG_RULE_B2, FG_NOTE_BUSY, 0, 2, 0, 0 },
		{ FG_RULE_B3, FG_NOTE_FAR, 4, 0, 0, 0 },
		{ FG_RULE_B5, FG_NOTE_SAME, 4, 0, 0, 0 },
		/* 4 * 100 > 4 * 1: 400 looks, one less is made */
		{ FG_RULE_B8, FG_NOTE_BUDGET, 0, 399, 100, 1 },
		{ FG_RULE_B8, FG_NOTE_BUSY, 0, 2, 0, 0 },
		{ FG_RULE_B8, FG_NOTE_BUSY, 1, 1, 0, 0 },
		{ FG_RULE_B8, FG_NOTE_BUSY, 2, 1, 0, 0 },
		{ FG_RULE_B8, FG_NOTE_BUSY, 3, 1, 0, 0 },
	};
	struct fg_task p;

	loaded_llcs();
	filler[0].avg.load_avg = 1024;
	cpus[0].avg_idle = 51200;
	p = kit_task(1, 4);
	p.avg.load_avg = 512;
	CHECK_EQ(ask(&p, 0, FG_WF_TTWU | FG_WF_SYNC).rule, FG_RULE_B10);
	CHECK_NOTES(want);
}

TEST(a_waker_heavier_than_its_cpu)
{
	const struct expected want[] = {
		{ 0, FG_NOTE_NOT_WIDE, 0, 1, 0, 4 },
		{ 0, FG_NOTE_BUSY, 0, 2, 0, 0 },
		{ 0, FG_NOTE_SYNC, 0, 2, 0, 0 },
		{ 0, FG_NOTE_WAKER_LOAD, 0, 4998, 2048, 0 }, /* 5001 * 2048 / 2049 = 4998.6 */
	};
	struct fg_task p;

	loaded_llcs();
	filler[0].avg.load_avg = 5001;
	p = kit_task(1, 4);
	CHECK_EQ(ask(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
	why.nr = 4;
	CHECK_NOTES(want);
}

/* Flips 16 and 4 in an LLC of 4: 4 >= 4, 16 >= 4 * 4. */
TEST(a_waker_of_many)
{
	const struct expected want[] = {
		{ 0, FG_NOTE_WIDE, 0, 16, 4, 4 },
		{ 0, FG_NOTE_TARGET, 4, 0, 0, 0 },
	};
	struct fg_task p;

	loaded_llcs();
	filler[0].wakee_flips = 16;
	filler[0].last_wakee = 2;
	p = kit_task(1, 4);
	p.wakee_flips = 4;
	ask(&p, 0, FG_WF_TTWU);
	why.nr = 2;
	CHECK_NOTES(want);
	/* nor does it come to where it may not be */
	p.wakee_flips = 0;
	kit_allow(&p, 4, 7);
	ask(&p, 0, FG_WF_TTWU);
	CHECK_EQ(why.note[1].id, FG_NOTE_FORBIDDEN);
	CHECK_EQ(why.note[1].cpu, 0);
	CHECK_EQ(why.note[2].id, FG_NOTE_TARGET);
	CHECK_EQ(why.note[2].cpu, 4);
}

/* A waker that stays counts in full; CPUs without a task are not free while one comes or the last one goes. */
TEST(a_cpu_between_tasks)
{
	const struct expected want[] = {
		{ 0, FG_NOTE_NOT_WIDE, 0, 1, 0, 4 },
		{ 0, FG_NOTE_BUSY, 0, 2, 0, 0 },
		{ 0, FG_NOTE_LOAD_THIS, 0, 2048, 511, 1024 },
		{ 0, FG_NOTE_LOAD_PREV, 4, 4096, 512, 112 },
		{ 0, FG_NOTE_TARGET, 0, 0, 0, 0 },
		{ FG_RULE_B2, FG_NOTE_BUSY, 0, 2, 0, 0 },
		{ FG_RULE_B3, FG_NOTE_FAR, 4, 0, 0, 0 },
		{ FG_RULE_B5, FG_NOTE_SAME, 4, 0, 0, 0 },
		{ FG_RULE_B8, FG_NOTE_BUDGET, 0, 399, 100, 1 },
		{ FG_RULE_B8, FG_NOTE_BUSY, 0, 2, 0, 0 },
		{ FG_RULE_B8, FG_NOTE_COMING, 1, 0, 0, 0 },
		{ FG_RULE_B8, FG_NOTE_GOING, 2, 0, 0, 0 },
		{ FG_RULE_B8, FG_NOTE_BUSY, 3, 1, 0, 0 },
	};
	struct fg_task p;

	loaded_llcs();
	cpus[0].avg_idle = 51200;
	kit_idle(1);
	cpus[1].ttwu_pending = 1;
	kit_idle(2);
	cpus[2].curr_is_idle = 0;
	p = kit_task(1, 4);
	p.avg.load_avg = 512;
	CHECK_EQ(ask(&p, 0, FG_WF_TTWU).rule, FG_RULE_B10);
	CHECK_NOTES(want);
}

/* A note too many is counted, and the answer is the same. */
TEST(a_full_page)
{
	struct fg_wake w;
	struct fg_task p;
	struct fg_verdict v, full;
	u32 notes;

	loaded_llcs();
	p = kit_task(1, 4);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	ask(&p, 0, FG_WF_TTWU);
	notes = why.nr;
	w = (struct fg_wake){ cpus[0].curr, 1000000, 0, FG_WF_TTWU, &why };
	why.nr = FG_MAX_WHY - 2;
	why.lost = 0;
	fg_select_task_rq(&sys, &p, &w, &full);
	CHECK_EQ(why.nr, FG_MAX_WHY);
	CHECK_EQ(why.lost, notes - 2);
	CHECK(!memcmp(&v, &full, sizeof(v)));
}

int main(void)
{
	RUN(a_wakeup_over_clusters);
	RUN(a_wakeup_over_a_hint);
	RUN(a_target_by_load);
	RUN(a_waker_heavier_than_its_cpu);
	RUN(a_waker_of_many);
	RUN(a_cpu_between_tasks);
	RUN(a_full_page);
	return test_report();
}
